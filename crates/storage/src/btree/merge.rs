//! Giving room back: merges and a shrinking root.
//!
//! # A merge
//! The right one of two children of one parent moves its records to the left one and is freed; the link of the page after it and the
//! parent follow, all in one record. Records leave the freed page too, so that its LSN changes and no remembered position
//! on it can be taken up again. When a parent is left with few children it is merged in turn, as a record of its own.
//! A root with a single child takes over that child's content.
//!
//! # Crash
//! Removal and merge are separate records: a sparse or empty leaf may stay until something is removed near it again.

use base::{PageId, PageNo};
use page_format::{HEADER_SIZE, PageKind, PageOp, PageView, RawRecords, header};

use super::space::Release;
use super::{Tree, Way};
use crate::mtr::{Change, Store, StoreResult};
use crate::pool::{AccessHint, PageWrite};

const CAPACITY: usize = base::PAGE_SIZE - HEADER_SIZE;

/// Whether a page is so empty that it should be merged.
pub(super) fn is_sparse(view: &PageView<'_>) -> bool {
    view.used() < CAPACITY * 2 / 5
}

/// Two neighbours under one parent.
struct Pair<'s> {
    left: PageWrite<'s>,
    left_id: PageId,
    right: PageWrite<'s>,
    right_id: PageId,
    /// The right one's slot in the parent.
    slot: usize,
}

impl Tree {
    /// Looks whether the leaf that covers `key`, after a removal, should be merged with a neighbour, and so on upwards.
    pub fn shrink(&self, store: &Store, key: &[u8]) -> StoreResult<()> {
        let mut level = 0;
        while self.merge_at(store, key, level)? {
            level += 1;
        }
        if level > 0 {
            self.lower_root(store)?;
        }
        Ok(())
    }

    /// Merges the page at `level` that covers `key` with a neighbour if it is sparse; false when nothing was done.
    fn merge_at(&self, store: &Store, key: &[u8], level: u16) -> StoreResult<bool> {
        let Some(parent) = self.descend_exclusive(store, Way::To(key), level + 1)? else { return Ok(false) };
        let view = PageView::new(&parent)?;
        let (slot, slots) = (view.child_slot(key)?, view.slots());
        for right in [slot, slot + 1] {
            if right == 0 || right >= slots {
                continue;
            }
            let pair = self.latch_pair(store, &view, right, level)?;
            let separator = view.key(right)?;
            let (left_view, right_view) = (PageView::new(&pair.left)?, PageView::new(&pair.right)?);
            let own = if right == slot { &right_view } else { &left_view };
            if !is_sparse(own) {
                return Ok(false);
            }
            let together = left_view.used() + right_view.used() + if level > 0 { separator.len() } else { 0 };
            // Not to the brim, or the next insert would split again what stands together now; an empty page adds nothing.
            let limit = if own.slots() == 0 { CAPACITY } else { CAPACITY * 4 / 5 };
            if together <= limit {
                let separator = separator.to_vec();
                self.merge(store, parent, pair, &separator)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn latch_pair<'s>(
        &self,
        store: &'s Store,
        parent: &PageView<'_>,
        slot: usize,
        level: u16,
    ) -> StoreResult<Pair<'s>> {
        let left_id = self.page_id(parent.child(slot - 1)?);
        let left = store.pool.write(left_id, AccessHint::Normal)?;
        self.expect(&left, left_id, Some(level))?;
        let right_id = self.page_id(parent.child(slot)?);
        let right = store.pool.write(right_id, AccessHint::Normal)?;
        self.expect(&right, right_id, Some(level))?;
        Ok(Pair { left, left_id, right, right_id, slot })
    }

    fn merge<'s>(
        &self,
        store: &'s Store,
        mut parent: PageWrite<'s>,
        pair: Pair<'s>,
        separator: &[u8],
    ) -> StoreResult<()> {
        let Pair { mut left, left_id, mut right, right_id, slot } = pair;
        let view = PageView::new(&right)?;
        let (count, is_leaf, after) = (view.slots(), view.kind() != PageKind::Inner, view.right());
        let mut moved = Vec::new();
        for slot in 0..count {
            let raw = view.raw(slot)?;
            if slot == 0 && !is_leaf {
                // The first child's key stood for minus infinity; on the left page it begins at the separator.
                RawRecords::push(&mut moved, &[&raw[..4], separator].concat());
            } else {
                RawRecords::push(&mut moved, raw);
            }
        }
        let max_trx = header::max_trx(&right);
        let mut after_page = match after {
            PageNo::NONE => None,
            after => Some(store.pool.write(self.page_id(after), AccessHint::Normal)?),
        };
        let mut releases = Release::begin(store, self.space, &[right_id.no])?;
        let end = PageView::new(&left)?.slots() as u16;
        let records = RawRecords::new(count, &moved)?;
        let mut fill = Vec::with_capacity(2);
        if count > 0 {
            fill.push(PageOp::InsertRaw { slot: end, max_trx, records });
        }
        if is_leaf {
            fill.push(PageOp::SetLinks { left: None, right: Some(after) });
        }
        let parent_id = header::page_id(&parent);
        let mut changes = vec![
            Change::new(&mut left, left_id, fill),
            Change::new(&mut right, right_id, vec![PageOp::Remove { slot: 0, count: count as u16 }]),
        ];
        if let Some(page) = &mut after_page {
            let back = PageOp::SetLinks { left: Some(left_id.no), right: None };
            changes.push(Change::new(page, self.page_id(after), vec![back]));
        }
        changes.push(Change::new(
            &mut parent,
            parent_id,
            vec![PageOp::Remove { slot: slot as u16, count: 1 }],
        ));
        changes.extend(releases.iter_mut().map(|release| release.change()));
        store.change_system(&mut changes)?;
        drop(changes);
        releases.iter().for_each(|release| release.done(store));
        Ok(())
    }

    /// While the root has a single child, takes over the child's content.
    fn lower_root(&self, store: &Store) -> StoreResult<()> {
        loop {
            let id = self.page_id(self.root);
            let mut root = store.pool.write(id, AccessHint::Normal)?;
            self.expect(&root, id, None)?;
            let view = PageView::new(&root)?;
            if view.level() == 0 || view.slots() != 1 {
                return Ok(());
            }
            let child_id = self.page_id(view.child(0)?);
            let counter = header::counter(&root);
            let mut child = store.pool.write(child_id, AccessHint::Normal)?;
            self.expect(&child, child_id, Some(view.level() - 1))?;
            let view = PageView::new(&child)?;
            let (kind, level, count) = (view.kind(), view.level(), view.slots());
            let mut moved = Vec::new();
            for slot in 0..count {
                RawRecords::push(&mut moved, view.raw(slot)?);
            }
            let max_trx = header::max_trx(&child);
            let records = RawRecords::new(count, &moved)?;
            let (index, none) = (self.index, PageNo::NONE);
            let mut ops = vec![PageOp::Format { page: id, kind, level, index, left: none, right: none }];
            if count > 0 {
                ops.push(PageOp::InsertRaw { slot: 0, max_trx, records });
            }
            if counter > 0 {
                ops.push(PageOp::SetCounter { value: counter });
            }
            let mut releases = Release::begin(store, self.space, &[child_id.no])?;
            let mut changes = vec![
                Change::new(&mut root, id, ops),
                Change::new(&mut child, child_id, vec![PageOp::Remove { slot: 0, count: count as u16 }]),
            ];
            changes.extend(releases.iter_mut().map(|release| release.change()));
            store.change_system(&mut changes)?;
            drop(changes);
            releases.iter().for_each(|release| release.done(store));
            self.note_root_level(level);
        }
    }
}
