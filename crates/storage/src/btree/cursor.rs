//! Latched leaves with a position.
//!
//! A [`LeafRead`] walks records in both directions; a [`LeafWrite`] stands where a key is or would be, and changes its leaf in
//! place. Both hold the latch of exactly one leaf between calls.
//!
//! # Going from leaf to leaf
//! * Right: latch the right neighbour, then let go of this leaf. Nothing can come between.
//! * Left: try to latch the left neighbour. When that would have to wait, let go, latch the left one, check that it still is
//!   the left neighbour, latch this leaf again from there, and see whether records have come in below the position; if the
//!   structure has changed, go down from the root again.
//!
//! # Positions across latches
//! A [`LeafPosition`] remembers page, page LSN and slot. An LSN names one state of a page, so when it is still the page's LSN the
//! position is good; otherwise seek by key.

use base::{Lsn, PageId, PageNo};
use log::Appended;
use log_format::record::{PagePart, Record};
use page_format::{LeafRecord, PageOp, PageView, header};

use super::{Tree, Way};
use crate::mtr::{Store, StoreResult};
use crate::pool::{AccessHint, PageRead, PageWrite};

/// What a seek looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seek<'k> {
    /// The first record.
    First,
    /// The last record.
    Last,
    /// The first record whose key is not below this.
    AtLeast(&'k [u8]),
    /// The first record whose key is above this.
    Above(&'k [u8]),
    /// The last record whose key is not above this.
    AtMost(&'k [u8]),
    /// The last record whose key is below this.
    Below(&'k [u8]),
}

/// A remembered position; see [`Tree::resume`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafPosition {
    page: PageNo,
    lsn: Lsn,
    slot: usize,
}

/// A leaf latched shared, at a record or behind the end of the tree on one side.
pub struct LeafRead<'s> {
    store: &'s Store,
    tree: &'s Tree,
    /// None only while going left, and after that has failed.
    page: Option<PageRead<'s>>,
    hint: AccessHint,
    /// At a record when below the number of records; `slots` is behind the last record, `usize::MAX` before the first.
    slot: usize,
}

const BEFORE_FIRST: usize = usize::MAX;

impl Tree {
    /// Finds a record. The cursor is not at a record ([`LeafRead::is_valid`]) when there is none in that direction.
    pub fn seek<'s>(&'s self, store: &'s Store, seek: Seek<'_>) -> StoreResult<LeafRead<'s>> {
        self.seek_hinted(store, seek, AccessHint::Normal)
    }

    /// Same, for scans that should not push other pages out of the buffer pool.
    #[inline]
    pub fn seek_hinted<'s>(
        &'s self,
        store: &'s Store,
        seek: Seek<'_>,
        hint: AccessHint,
    ) -> StoreResult<LeafRead<'s>> {
        let way = match seek {
            Seek::First => Way::First,
            Seek::Last => Way::Last,
            Seek::AtLeast(key) | Seek::Above(key) | Seek::AtMost(key) => Way::To(key),
            Seek::Below(key) => Way::Before(key),
        };
        let page = self.descend(store, way, hint)?;
        let mut cursor = LeafRead { store, tree: self, page: Some(page), hint, slot: 0 };
        let view = cursor.view()?;
        let slots = view.slots();
        match seek {
            Seek::First => cursor.settle_right()?,
            Seek::AtLeast(key) => {
                cursor.slot = view.lower_bound(key)?.0;
                cursor.settle_right()?;
            }
            Seek::Above(key) => {
                cursor.slot = view.upper_bound(key)?;
                cursor.settle_right()?;
            }
            Seek::Last => cursor.settle_left(slots, None)?,
            Seek::AtMost(key) => {
                let end = view.upper_bound(key)?;
                cursor.settle_left(end, Some((key, true)))?;
            }
            Seek::Below(key) => {
                let end = view.lower_bound(key)?.0;
                cursor.settle_left(end, Some((key, false)))?;
            }
        }
        Ok(cursor)
    }

    /// Takes up a remembered position again, unless its page has changed since.
    pub fn resume<'s>(
        &'s self,
        store: &'s Store,
        position: LeafPosition,
        hint: AccessHint,
    ) -> StoreResult<Option<LeafRead<'s>>> {
        let page = store.pool.read(self.page_id(position.page), hint)?;
        if header::page_lsn(&page) != position.lsn {
            return Ok(None);
        }
        Ok(Some(LeafRead { store, tree: self, page: Some(page), hint, slot: position.slot }))
    }

    /// Latches the leaf that covers `key` for changes in place.
    #[inline]
    pub fn write<'s>(&'s self, store: &'s Store, key: &[u8]) -> StoreResult<LeafWrite<'s>> {
        loop {
            // A tree without level 0 does not exist: none can only mean that the hint was passed by a growing root.
            if let Some(page) = self.descend_exclusive(store, Way::To(key), 0)? {
                return LeafWrite::at(store, self, page, key);
            }
        }
    }
}

impl<'s> LeafRead<'s> {
    #[inline]
    fn page(&self) -> &page_format::Page {
        self.page.as_ref().expect("a cursor is not used after it has failed")
    }
    #[inline]
    pub fn view(&self) -> StoreResult<PageView<'_>> {
        Ok(PageView::new(self.page())?)
    }
    /// Whether the cursor is at a record.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.view().is_ok_and(|view| self.slot < view.slots())
    }
    pub fn slot(&self) -> usize {
        self.slot
    }
    /// Moves to another record of this leaf, as counted in [`view`](Self::view).
    pub fn set_slot(&mut self, slot: usize) {
        self.slot = slot;
    }
    pub fn page_id(&self) -> PageId {
        header::page_id(self.page())
    }
    /// The record at the cursor; an error when there is none.
    #[inline]
    pub fn record(&self) -> StoreResult<LeafRecord<'_>> {
        Ok(self.view()?.record(self.slot)?)
    }
    /// The key at the cursor; an error when there is none.
    #[inline]
    pub fn key(&self) -> StoreResult<&[u8]> {
        Ok(self.view()?.key(self.slot)?)
    }
    /// Newest transaction that changed this secondary leaf.
    pub fn max_trx(&self) -> base::TrxId {
        header::max_trx(self.page())
    }
    pub fn position(&self) -> LeafPosition {
        LeafPosition { page: self.page_id().no, lsn: header::page_lsn(self.page()), slot: self.slot }
    }

    /// Moves to the next record; false at the end of the tree.
    #[inline]
    pub fn move_next(&mut self) -> StoreResult<bool> {
        let slots = self.view()?.slots();
        if self.slot >= slots && self.slot != BEFORE_FIRST {
            return Ok(false);
        }
        self.slot = self.slot.wrapping_add(1);
        if self.slot < slots {
            return Ok(true);
        }
        self.settle_right()?;
        Ok(self.is_valid())
    }

    /// Moves to the next record only if it is on this leaf: the latch is kept.
    #[inline]
    pub fn move_next_on_leaf(&mut self) -> StoreResult<bool> {
        let next = self.slot.wrapping_add(1);
        if next < self.view()?.slots() {
            self.slot = next;
            return Ok(true);
        }
        Ok(false)
    }

    /// Moves to the record before; false at the start of the tree.
    pub fn move_prev(&mut self) -> StoreResult<bool> {
        if self.slot == BEFORE_FIRST {
            return Ok(false);
        }
        if self.slot > 0 && self.slot <= self.view()?.slots() {
            self.slot -= 1;
            return Ok(true);
        }
        let bound = if self.is_valid() { Some(self.key()?.to_vec()) } else { None };
        self.settle_left(0, bound.as_deref().map(|key| (key, false)))?;
        Ok(self.is_valid())
    }

    /// Moves to the record before only if it is on this leaf: the latch is kept.
    pub fn move_prev_on_leaf(&mut self) -> StoreResult<bool> {
        if self.slot == BEFORE_FIRST || self.slot == 0 {
            return Ok(false);
        }
        self.slot -= 1;
        Ok(true)
    }

    /// From a position behind the last record of this leaf to the next record, if any.
    #[inline]
    fn settle_right(&mut self) -> StoreResult<()> {
        loop {
            let view = self.view()?;
            if self.slot < view.slots() || view.right() == PageNo::NONE {
                return Ok(());
            }
            let id = self.tree.page_id(view.right());
            let right = self.store.pool.read(id, self.hint)?;
            self.tree.expect(&right, id, Some(0))?;
            self.page = Some(right);
            self.slot = 0;
        }
    }

    /// Puts the cursor at the record before slot `end` of this leaf, going left as far as needed.
    /// `bound`: the records looked for are below this key (or equal to it, if set).
    fn settle_left(&mut self, end: usize, bound: Option<(&[u8], bool)>) -> StoreResult<()> {
        let mut end = end;
        loop {
            if end > 0 {
                self.slot = end - 1;
                return Ok(());
            }
            let left = self.view()?.left();
            if left == PageNo::NONE {
                self.slot = BEFORE_FIRST;
                return Ok(());
            }
            let id = self.tree.page_id(left);
            if let Some(page) = self.store.pool.try_read(id)? {
                self.tree.expect(&page, id, Some(0))?;
                self.page = Some(page);
                end = self.view()?.slots();
            } else {
                end = self.wait_left(left, bound)?;
            }
        }
    }

    /// The slow way left: nothing may be latched while waiting for the left neighbour. Returns the new `end`.
    #[cold]
    fn wait_left(&mut self, left: PageNo, bound: Option<(&[u8], bool)>) -> StoreResult<usize> {
        let (pool, tree) = (&self.store.pool, self.tree);
        let (here, left) = (self.page_id(), tree.page_id(left));
        let lsn = header::page_lsn(self.page());
        self.page = None;
        let neighbour = pool.read(left, self.hint)?;
        if tree.expect(&neighbour, left, Some(0)).is_ok() && header::right(&neighbour) == here.no {
            // The order of latches is kept: left, then right. An unchanged LSN says that nothing came in below the position.
            if header::page_lsn(&*pool.read(here, self.hint)?) == lsn {
                self.page = Some(neighbour);
                return Ok(self.view()?.slots());
            }
        }
        drop(neighbour);
        let way = match bound {
            Some((key, true)) => Way::To(key),
            Some((key, false)) => Way::Before(key),
            None => Way::Last,
        };
        self.page = Some(tree.descend(self.store, way, self.hint)?);
        let view = self.view()?;
        Ok(match bound {
            Some((key, true)) => view.upper_bound(key)?,
            Some((key, false)) => view.lower_bound(key)?.0,
            None => view.slots(),
        })
    }
}

/// A leaf latched exclusively, at the place of a key.
pub struct LeafWrite<'s> {
    store: &'s Store,
    page: PageWrite<'s>,
    tree: &'s Tree,
    slot: usize,
    exact: bool,
}

impl<'s> LeafWrite<'s> {
    pub(super) fn at(store: &'s Store, tree: &'s Tree, page: PageWrite<'s>, key: &[u8]) -> StoreResult<Self> {
        let (slot, exact) = PageView::new(&page)?.lower_bound(key)?;
        Ok(Self { store, page, tree, slot, exact })
    }
    #[inline]
    pub fn view(&self) -> StoreResult<PageView<'_>> {
        Ok(PageView::new(&self.page)?)
    }
    /// The slot of the first record on the leaf that is not below the key: the key's own, or where it belongs.
    pub fn slot(&self) -> u16 {
        self.slot as u16
    }
    /// Whether the record at the slot has the key.
    pub fn exact(&self) -> bool {
        self.exact
    }
    pub fn page_id(&self) -> PageId {
        header::page_id(&self.page)
    }
    pub fn max_trx(&self) -> base::TrxId {
        header::max_trx(&self.page)
    }
    /// The record at the slot; an error when it is behind the last one of the leaf.
    #[inline]
    pub fn record(&self) -> StoreResult<LeafRecord<'_>> {
        Ok(self.view()?.record(self.slot)?)
    }
    /// Looks for another key that belongs on this leaf.
    pub fn find(&mut self, key: &[u8]) -> StoreResult<bool> {
        (self.slot, self.exact) = self.view()?.lower_bound(key)?;
        Ok(self.exact)
    }
    /// Whether a new record of `size` bytes fits; else see [`Tree::make_room`].
    #[inline]
    pub fn has_room(&self, size: usize) -> StoreResult<bool> {
        Ok(self.view()?.has_room(size))
    }
    /// Whether the record at the slot may grow by `bytes`.
    pub fn can_grow(&self, bytes: usize) -> StoreResult<bool> {
        Ok(self.view()?.free() >= bytes)
    }
    /// Whether so little is left on the leaf that [`Tree::shrink`] should look at it.
    pub fn is_sparse(&self) -> StoreResult<bool> {
        Ok(super::merge::is_sparse(&self.view()?))
    }

    /// Logs the record that `record` makes of the page part, and changes the leaf. The position stays: after an insert it is
    /// at the new record, after a removal at the one that followed.
    #[inline]
    pub fn log<'a>(
        &mut self,
        op: PageOp<'a>,
        record: impl FnOnce(PagePart<'a>) -> Record<'a>,
    ) -> StoreResult<Appended> {
        self.store.change_one(&mut self.page, op, record)
    }

    /// A change that no transaction owns (purge).
    pub fn log_system(&mut self, op: PageOp<'_>) -> StoreResult<Appended> {
        self.log(op, |part| Record::System(log_format::record::System { parts: vec![part] }))
    }

    /// Copies the first key above the position's key, which may be on another leaf: the name of the gap here.
    /// False when there is none.
    pub fn next_key(&self, out: &mut Vec<u8>) -> StoreResult<bool> {
        out.clear();
        let view = self.view()?;
        let next = self.slot + usize::from(self.exact);
        if next < view.slots() {
            out.extend_from_slice(view.key(next)?);
            return Ok(true);
        }
        let mut right = view.right();
        let mut held: PageRead<'_>;
        while right != PageNo::NONE {
            let id = self.tree.page_id(right);
            held = self.store.pool.read(id, AccessHint::Normal)?;
            self.tree.expect(&held, id, Some(0))?;
            let view = PageView::new(&held)?;
            if view.slots() > 0 {
                out.extend_from_slice(view.key(0)?);
                return Ok(true);
            }
            right = view.right();
        }
        Ok(false)
    }
}
