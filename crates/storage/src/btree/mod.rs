//! B+trees: clustered and secondary indexes.
//!
//! * [`Tree`]: one index: its space, its root, what its leaves hold. Finds leaves.
//! * [`LeafRead`], [`LeafWrite`]: a latched leaf with a position ([`cursor`]).
//! * [`split`](Tree::make_room) and [`merge`](Tree::shrink): changes of structure.
//! * [`space`]: allocation of pages; [`bulk`]: building from sorted input; [`check`]: the verifier; [`estimate`]: row counts;
//!   [`overflow`]: long values.
//!
//! # Structure
//! The root page never moves: when it is full its content moves to a new child and it becomes that child's parent. Leaves are
//! linked both ways; inner pages are not. The child of slot `i` of an inner page covers the keys from the slot's key (slot 0:
//! minus infinity) up to the next slot's. A leaf may be empty: after a split that moved nothing, or when its neighbours are
//! too full to merge with.
//!
//! # Invariants
//! T1. Every change of structure is one [`System`](log_format::record::System) record, and every prefix of the log gives a
//!     whole tree. Row records only change one leaf in place.
//! T2. A page is reachable from the root exactly once; its level is its parent's less one; all have the tree's index id.
//! T3. Separators are at most the first key of the right page and above the last key of the left one. They may be shorter
//!     than keys.
//! T4. Only a holder of the exclusive latch on the parent changes which keys a page covers. So whoever goes down hand over
//!     hand finds the right leaf without looking aside.
//!
//! # Latches
//! Parent before child, left before right on the leaf level, then allocation pages, then the log. Readers and in-place
//! writers hold at most two shared latches of inner pages; structure changes hold one exclusive latch on an inner page and
//! those of its children that they change; they restart when a level above must change first. Going left is done by trying,
//! or by letting go and taking both latches from the left (see [`cursor`]).

pub mod bulk;
pub mod check;
pub mod cursor;
mod drop;
mod estimate;
mod merge;
pub mod overflow;
mod space;
mod split;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU16, Ordering};

use base::{Corruption, IndexId, PageId, PageNo, SpaceId};
use page_format::{PageKind, PageOp, PageView, header};

pub use cursor::{LeafPosition, LeafRead, LeafWrite, Seek};
pub use estimate::TreeSize;
pub use space::{Allocation, SpaceHints, create_space, free_page, is_allocated};

use crate::mtr::{Change, Store, StoreResult};
use crate::pool::{AccessHint, PageRead, PageWrite};

/// What the leaves of a tree hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeKind {
    /// Rows with transaction id, roll LSN and body.
    Clustered,
    /// Keys with a deleted flag.
    Secondary,
}

impl TreeKind {
    pub fn leaf(self) -> PageKind {
        match self {
            Self::Clustered => PageKind::ClusteredLeaf,
            Self::Secondary => PageKind::SecondaryLeaf,
        }
    }
}

/// One index on disk. Cheap to make; shared by all threads.
#[derive(Debug)]
pub struct Tree {
    space: SpaceId,
    root: PageNo,
    index: IndexId,
    kind: TreeKind,
    /// The root's level when last seen: a hint for the first latch's mode.
    root_level: AtomicU16,
}

/// Where a descent goes at each inner page.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way<'k> {
    /// To the child that covers the key.
    To(&'k [u8]),
    /// To the child that covers what is just below the key.
    Before(&'k [u8]),
    First,
    Last,
}

impl Way<'_> {
    #[inline]
    fn slot(self, view: &PageView<'_>) -> Result<usize, Corruption> {
        match self {
            Self::To(key) => view.child_slot(key),
            Self::Before(key) => view.child_slot_before(key),
            Self::First => Ok(0),
            Self::Last => Ok(view.slots().saturating_sub(1)),
        }
    }
}

impl Tree {
    /// Names a tree that exists.
    pub fn open(space: SpaceId, root: PageNo, index: IndexId, kind: TreeKind) -> Self {
        Self { space, root, index, kind, root_level: AtomicU16::new(1) }
    }

    /// Makes an empty tree. Nothing refers to it yet; a crash leaves at most an allocated page.
    pub fn create(store: &Store, space: SpaceId, index: IndexId, kind: TreeKind) -> StoreResult<Self> {
        let mut allocation = Allocation::begin(store, space)?;
        let id = allocation.id();
        let none = PageNo::NONE;
        let format = PageOp::Format { page: id, kind: kind.leaf(), level: 0, index, left: none, right: none };
        store.change_system(&mut allocation.changes(vec![format]))?;
        allocation.done(store);
        Ok(Self { space, root: id.no, index, kind, root_level: AtomicU16::new(0) })
    }

    pub fn space(&self) -> SpaceId {
        self.space
    }
    pub fn root(&self) -> PageNo {
        self.root
    }
    pub fn index(&self) -> IndexId {
        self.index
    }
    pub fn kind(&self) -> TreeKind {
        self.kind
    }
    pub(crate) fn page_id(&self, no: PageNo) -> PageId {
        PageId::new(self.space, no)
    }

    /// Levels of the tree: 1 when the root is a leaf.
    pub fn depth(&self, store: &Store) -> StoreResult<u16> {
        Ok(self.read_root(store, AccessHint::Normal)?.1 + 1)
    }

    /// The counter on the root page: see [`PageOp::SetCounter`].
    pub fn counter(&self, store: &Store) -> StoreResult<u64> {
        Ok(header::counter(&self.read_root(store, AccessHint::Normal)?.0))
    }

    /// Raises the counter on the root page to at least `value`, as its own record.
    pub fn raise_counter(&self, store: &Store, value: u64) -> StoreResult<()> {
        let id = self.page_id(self.root);
        let mut root = store.pool.write(id, AccessHint::Normal)?;
        self.expect(&root, id, None)?;
        if header::counter(&root) < value {
            let op = PageOp::SetCounter { value };
            store.change_system(&mut [Change::new(&mut root, id, vec![op])])?;
        }
        Ok(())
    }

    /// Fails unless a page is one of this tree's (at `level`, if given).
    #[inline]
    pub(crate) fn expect(
        &self,
        page: &page_format::Page,
        id: PageId,
        level: Option<u16>,
    ) -> Result<(), Corruption> {
        let found = header::level(page);
        if header::index_id(page) == self.index && level.is_none_or(|level| level == found) {
            let kind = if found == 0 { self.kind.leaf() } else { PageKind::Inner };
            if header::kind(page) == Some(kind) {
                return Ok(());
            }
        }
        Err(self.unexpected(page, id, level))
    }

    #[cold]
    fn unexpected(&self, page: &page_format::Page, id: PageId, level: Option<u16>) -> Corruption {
        let level = level.map_or_else(|| "any level".to_owned(), |level| format!("level {level}"));
        Corruption::new(
            id,
            "page of a tree",
            format_args!("{level} of index {}, leaves {:?}", self.index, self.kind.leaf()),
            format_args!(
                "level {} of index {}, kind {:?}",
                header::level(page),
                header::index_id(page),
                header::kind(page)
            ),
        )
    }

    fn read_root<'s>(&self, store: &'s Store, hint: AccessHint) -> StoreResult<(PageRead<'s>, u16)> {
        let id = self.page_id(self.root);
        let root = store.pool.read(id, hint)?;
        self.expect(&root, id, None)?;
        let level = header::level(&root);
        self.note_root_level(level);
        Ok((root, level))
    }

    #[inline]
    fn note_root_level(&self, level: u16) {
        if self.root_level.load(Ordering::Relaxed) != level {
            self.root_level.store(level, Ordering::Relaxed);
        }
    }

    /// Goes down hand over hand to a leaf, with shared latches.
    #[inline]
    pub(crate) fn descend<'s>(
        &self,
        store: &'s Store,
        way: Way<'_>,
        hint: AccessHint,
    ) -> StoreResult<PageRead<'s>> {
        let (mut page, mut level) = self.read_root(store, hint)?;
        while level > 0 {
            let view = PageView::new(&page)?;
            let id = self.page_id(view.child(way.slot(&view)?)?);
            let child = store.pool.read(id, hint)?;
            level -= 1;
            self.expect(&child, id, Some(level))?;
            page = child;
        }
        Ok(page)
    }

    /// Goes down with shared latches to the page at `level`, which is latched exclusively.
    /// None when the tree is not that high.
    #[inline]
    pub(crate) fn descend_exclusive<'s>(
        &self,
        store: &'s Store,
        way: Way<'_>,
        target: u16,
    ) -> StoreResult<Option<PageWrite<'s>>> {
        loop {
            if self.root_level.load(Ordering::Relaxed) <= target {
                let id = self.page_id(self.root);
                let root = store.pool.write(id, AccessHint::Normal)?;
                self.expect(&root, id, None)?;
                let level = header::level(&root);
                self.note_root_level(level);
                if level == target {
                    return Ok(Some(root));
                }
                if level < target {
                    return Ok(None);
                }
            }
            let (mut page, mut level) = self.read_root(store, AccessHint::Normal)?;
            while level > target {
                let view = PageView::new(&page)?;
                let id = self.page_id(view.child(way.slot(&view)?)?);
                level -= 1;
                if level == target {
                    let child = store.pool.write(id, AccessHint::Normal)?;
                    self.expect(&child, id, Some(level))?;
                    return Ok(Some(child));
                }
                let child = store.pool.read(id, AccessHint::Normal)?;
                self.expect(&child, id, Some(level))?;
                page = child;
            }
        }
    }
}
