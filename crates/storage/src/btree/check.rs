//! The verifier of a tree: CHECK TABLE, and every test.
//!
//! Goes through the tree in key order with shared latches on the way from the root and on the leaf before, so that it may run
//! beside other work: what is latched cannot change, and what lies ahead is checked when it is reached.

use std::collections::HashSet;

use base::{Corruption, PageId, PageNo};
use page_format::{LeafRecord, PageView, check as check_page, header};

use super::{Tree, is_allocated};
use crate::mtr::{Store, StoreResult};
use crate::pool::{AccessHint, PageRead};

/// What a check counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeCheck {
    pub levels: u16,
    pub leaf_pages: u64,
    pub inner_pages: u64,
    /// Records, delete-marked ones included.
    pub records: u64,
    pub deleted: u64,
    pub empty_leaves: u64,
    /// Bytes of records and slots on leaves.
    pub leaf_bytes: u64,
}

/// Takes each record in key order.
pub type Visit<'v> = &'v mut dyn FnMut(&LeafRecord<'_>) -> Result<(), Corruption>;

struct Walk<'s, 'v> {
    tree: &'s Tree,
    store: &'s Store,
    seen: HashSet<PageNo>,
    last_leaf: Option<(PageNo, PageRead<'s>)>,
    count: TreeCheck,
    visit: Visit<'v>,
    /// Asked at each leaf; the rest is left alone once it has said yes.
    stop: &'v mut dyn FnMut() -> bool,
    stopped: bool,
}

impl Tree {
    /// Verifies pages, order, fences, levels, links, and that each page is allocated and reached once.
    pub fn check(&self, store: &Store) -> StoreResult<TreeCheck> {
        self.check_with(store, &mut |_| Ok(()))
    }

    /// Same; nothing when `stop`, which is asked at each leaf, ended it.
    pub fn check_until(
        &self,
        store: &Store,
        stop: &mut dyn FnMut() -> bool,
    ) -> StoreResult<Option<TreeCheck>> {
        self.walk(store, &mut |_| Ok(()), stop)
    }

    /// Same, and shows every record to `visit`.
    pub fn check_with(&self, store: &Store, visit: Visit<'_>) -> StoreResult<TreeCheck> {
        self.walk(store, visit, &mut || false).map(Option::unwrap_or_default)
    }

    fn walk<'v>(
        &self,
        store: &Store,
        visit: Visit<'v>,
        stop: &'v mut dyn FnMut() -> bool,
    ) -> StoreResult<Option<TreeCheck>> {
        let id = self.page_id(self.root);
        let root = store.pool.read(id, AccessHint::Scan)?;
        self.expect(&root, id, None)?;
        let count = TreeCheck { levels: header::level(&root) + 1, ..TreeCheck::default() };
        let (seen, last_leaf) = (HashSet::new(), None);
        let mut walk = Walk { tree: self, store, seen, last_leaf, count, visit, stop, stopped: false };
        walk.page(id, root, None, None)?;
        if walk.stopped {
            return Ok(None);
        }
        if let Some((no, leaf)) = &walk.last_leaf {
            expect_link(self.page_id(*no), "right link of the last leaf", PageNo::NONE, header::right(leaf))?;
        }
        Ok(Some(walk.count))
    }
}

impl<'s> Walk<'s, '_> {
    /// Checks a page whose keys must be in `low..high`, and all below it.
    fn page(
        &mut self,
        id: PageId,
        page: PageRead<'s>,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
    ) -> StoreResult<()> {
        check_page(&page)?;
        if !self.seen.insert(id.no) {
            return Err(Corruption::new(id, "references to the page", "one", "another").into());
        }
        if !is_allocated(self.store, id)? {
            return Err(Corruption::new(id, "allocation", "used", "free").into());
        }
        let view = PageView::new(&page)?;
        if view.level() == 0 {
            self.stopped = (self.stop)();
            self.leaf(id, &view, low, high)?;
            self.last_leaf = Some((id.no, page));
            return Ok(());
        }
        self.count.inner_pages += 1;
        if view.slots() == 0 {
            return Err(Corruption::new(id, "children", "at least one", 0).into());
        }
        for slot in 0..view.slots() {
            let low = if slot == 0 { low } else { Some(view.key(slot)?) };
            let high = if slot + 1 < view.slots() { Some(view.key(slot + 1)?) } else { high };
            if slot > 0 {
                in_fences(id, view.key(slot)?, low, high)?;
            }
            let child_id = self.tree.page_id(view.child(slot)?);
            let child = self.store.pool.read(child_id, AccessHint::Scan)?;
            self.tree.expect(&child, child_id, Some(view.level() - 1))?;
            self.page(child_id, child, low, high)?;
            if self.stopped {
                return Ok(());
            }
        }
        Ok(())
    }

    fn leaf(
        &mut self,
        id: PageId,
        view: &PageView<'_>,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
    ) -> StoreResult<()> {
        match &self.last_leaf {
            None => expect_link(id, "left link of the first leaf", PageNo::NONE, view.left())?,
            Some((no, leaf)) => {
                expect_link(id, "left link", *no, view.left())?;
                expect_link(self.tree.page_id(*no), "right link", id.no, header::right(leaf))?;
            }
        }
        self.count.leaf_pages += 1;
        self.count.leaf_bytes += view.used() as u64;
        self.count.empty_leaves += u64::from(view.slots() == 0);
        for slot in 0..view.slots() {
            let record = view.record(slot)?;
            in_fences(id, record.key, low, high)?;
            self.count.records += 1;
            self.count.deleted += u64::from(record.is_deleted());
            (self.visit)(&record)?;
        }
        Ok(())
    }
}

fn expect_link(id: PageId, field: &'static str, expected: PageNo, found: PageNo) -> Result<(), Corruption> {
    if expected == found { Ok(()) } else { Err(Corruption::new(id, field, expected, found)) }
}

fn in_fences(id: PageId, key: &[u8], low: Option<&[u8]>, high: Option<&[u8]>) -> Result<(), Corruption> {
    if low.is_some_and(|low| key < low) || high.is_some_and(|high| key >= high) {
        let range = format!("in {:02x?}..{:02x?}", low.unwrap_or(b""), high.unwrap_or(b""));
        return Err(Corruption::new(id, "key", range, format_args!("{key:02x?}")));
    }
    Ok(())
}
