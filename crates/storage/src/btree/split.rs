//! Making room: splits and a growing root.
//!
//! # A split
//! ```text
//!        parent [.. old ..]                  parent [.. old, separator -> new ..]
//!   left <-> old <-> right        =>    left <-> old <-> new <-> right
//! ```
//! One record: the page is allocated, formatted and filled with the records from the chosen slot on, which leave the old page; the
//! links on both sides and the parent follow. When the parent has no room for the separator, nothing is done at this level: the
//! parent is split first, as a record of its own, and the descent begins again.
//!
//! # Where to split
//! So that both sides are about equally full with the new record counted in; but where inserts come in key order (each one slot
//! after the one before, or at the end of the tree) the page is divided there: such loads fill their pages, and at the end of
//! a page nothing moves.
//!
//! # Crash
//! After the record is durable the tree is whole, and the record that wanted the room may be missing: a leaf may be empty.

use std::cmp::Ordering;

use base::{Corruption, PageId, PageNo};
use page_format::{PageKind, PageOp, PageView, RawRecords, SLOT_SIZE, header};

use super::space::Allocation;
use super::{LeafWrite, Tree, Way};
use crate::mtr::{Change, Store, StoreResult};
use crate::pool::{AccessHint, PageWrite};

/// How a page is divided.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    /// First slot that moves to the new page; may be the number of slots.
    at: usize,
    separator: Vec<u8>,
    /// Whether the room is wanted on the new page.
    on_new: bool,
}

impl Tree {
    /// Latches the leaf that covers `key` for changes, with at least `bytes` free: the record and, for a new one,
    /// [`SLOT_SIZE`]. Splits as needed.
    pub fn make_room<'s>(&'s self, store: &'s Store, key: &[u8], bytes: usize) -> StoreResult<LeafWrite<'s>> {
        let largest = page_format::RECORD_SIZE_MAX + SLOT_SIZE;
        if bytes > largest {
            let place = self.page_id(self.root());
            return Err(
                Corruption::new(place, "size of a record", format_args!("at most {largest}"), bytes).into()
            );
        }
        self.append_room(store, key, bytes)
    }

    /// Same, for up to a whole page of records behind all others.
    pub(super) fn append_room<'s>(
        &'s self,
        store: &'s Store,
        key: &[u8],
        bytes: usize,
    ) -> StoreResult<LeafWrite<'s>> {
        loop {
            if let Some(page) = self.room_at(store, key, 0, bytes)? {
                return LeafWrite::at(store, self, page, key);
            }
        }
    }

    /// The page at `level` that covers `key`, with room; none when the tree is not that high any more.
    fn room_at<'s>(
        &self,
        store: &'s Store,
        key: &[u8],
        level: u16,
        bytes: usize,
    ) -> StoreResult<Option<PageWrite<'s>>> {
        loop {
            let Some(parent) = self.descend_exclusive(store, Way::To(key), level + 1)? else {
                let Some(page) = self.descend_exclusive(store, Way::To(key), level)? else { return Ok(None) };
                if PageView::new(&page)?.free() >= bytes {
                    return Ok(Some(page));
                }
                if header::page_id(&page).no == self.root() {
                    self.raise_root(store, page)?;
                }
                continue;
            };
            let parent_view = PageView::new(&parent)?;
            let slot = parent_view.child_slot(key)?;
            let id = self.page_id(parent_view.child(slot)?);
            let page = store.pool.write(id, AccessHint::Normal)?;
            self.expect(&page, id, Some(level))?;
            let view = PageView::new(&page)?;
            if view.free() >= bytes {
                return Ok(Some(page));
            }
            let plan = plan(&view, key, bytes)?;
            let entry = 4 + plan.separator.len();
            if parent_view.has_room(entry) {
                let half = self.split(store, parent, slot, page, id, &plan)?;
                if PageView::new(&half)?.free() >= bytes {
                    return Ok(Some(half));
                }
                continue;
            }
            drop((page, parent));
            self.room_at(store, key, level + 1, entry + SLOT_SIZE)?;
        }
    }

    /// Divides `page`, the child of `parent` at `slot`, and keeps the half where the room is.
    fn split<'s>(
        &self,
        store: &'s Store,
        mut parent: PageWrite<'s>,
        slot: usize,
        mut page: PageWrite<'s>,
        id: PageId,
        plan: &Plan,
    ) -> StoreResult<PageWrite<'s>> {
        let view = PageView::new(&page)?;
        let (kind, level, right) = (view.kind(), view.level(), view.right());
        let moved_count = view.slots() - plan.at;
        let mut moved = Vec::new();
        for slot in plan.at..view.slots() {
            RawRecords::push(&mut moved, view.raw(slot)?);
        }
        let max_trx = header::max_trx(&page);
        let mut right_page = match right {
            PageNo::NONE => None,
            right => Some(store.pool.write(self.page_id(right), AccessHint::Normal)?),
        };
        let mut allocation = Allocation::begin(store, self.space)?;
        let new = allocation.id().no;
        let is_leaf = kind != PageKind::Inner;
        let left = if is_leaf { id.no } else { PageNo::NONE };
        let mut fill =
            vec![PageOp::Format { page: allocation.id(), kind, level, index: self.index, left, right }];
        // Links of inner pages stay none; setting them forgets the run of ascending inserts.
        let link = PageOp::SetLinks { left: None, right: Some(if is_leaf { new } else { PageNo::NONE }) };
        let mut empty = vec![link];
        if moved_count > 0 {
            let records = RawRecords::new(moved_count, &moved)?;
            fill.push(PageOp::InsertRaw { slot: 0, max_trx, records });
            empty.insert(0, PageOp::Remove { slot: plan.at as u16, count: moved_count as u16 });
        }
        let entry = PageOp::InsertChild { slot: slot as u16 + 1, child: new, key: &plan.separator };
        let parent_id = header::page_id(&parent);
        let mut changes: Vec<Change<'_, '_, '_>> = allocation.changes(fill).into();
        changes.push(Change::new(&mut page, id, empty));
        if let Some(right_page) = &mut right_page {
            let back = PageOp::SetLinks { left: Some(new), right: None };
            changes.push(Change::new(right_page, self.page_id(right), vec![back]));
        }
        changes.push(Change::new(&mut parent, parent_id, vec![entry]));
        store.change_system(&mut changes)?;
        drop(changes);
        let new_page = allocation.done(store);
        Ok(if plan.on_new { new_page } else { page })
    }

    /// Moves the content of the full root to a new child and makes the root its parent.
    fn raise_root<'s>(&self, store: &'s Store, mut root: PageWrite<'s>) -> StoreResult<()> {
        let view = PageView::new(&root)?;
        let (kind, level, slots) = (view.kind(), view.level(), view.slots());
        let mut moved = Vec::new();
        for slot in 0..slots {
            RawRecords::push(&mut moved, view.raw(slot)?);
        }
        let (max_trx, counter) = (header::max_trx(&root), header::counter(&root));
        let mut allocation = Allocation::begin(store, self.space)?;
        let (id, child) = (self.page_id(self.root), allocation.id());
        let (index, left, right) = (self.index, PageNo::NONE, PageNo::NONE);
        let records = RawRecords::new(slots, &moved)?;
        let fill = vec![
            PageOp::Format { page: child, kind, level, index, left, right },
            PageOp::InsertRaw { slot: 0, max_trx, records },
        ];
        let mut ops = vec![
            PageOp::Format { page: id, kind: PageKind::Inner, level: level + 1, index, left, right },
            PageOp::InsertChild { slot: 0, child: child.no, key: b"" },
        ];
        if counter > 0 {
            ops.push(PageOp::SetCounter { value: counter });
        }
        let mut changes: Vec<Change<'_, '_, '_>> = allocation.changes(fill).into();
        changes.push(Change::new(&mut root, id, ops));
        store.change_system(&mut changes)?;
        drop(changes);
        self.note_root_level(level + 1);
        allocation.done(store);
        Ok(())
    }
}

fn plan(view: &PageView<'_>, key: &[u8], bytes: usize) -> Result<Plan, Corruption> {
    if view.kind() == PageKind::Inner { plan_inner(view, key, bytes) } else { plan_leaf(view, key, bytes) }
}

/// Chooses where to divide a leaf so that `bytes` fit at the place of `key`: a new record before the first one that is not
/// below it, or growth of the record that has it.
fn plan_leaf(view: &PageView<'_>, key: &[u8], bytes: usize) -> Result<Plan, Corruption> {
    let slots = view.slots();
    let (place, grows) = view.lower_bound(key)?;
    // The insert before this one went to the slot before: a run in key order, or the end of the tree.
    let run = !grows && place > 0 && header::last_insert(view.page()) == place;
    let at_end = !grows && place == slots && view.right() == PageNo::NONE;
    // The page as it will be: an item for each record, and one for the new record.
    let mut items = item_sizes(view)?;
    if grows {
        items[place] += bytes;
    } else {
        items.insert(place, bytes);
    }
    let cut = match (run || at_end, place * 2 >= slots) {
        // The run leaves a full page behind and goes on in front of what follows it.
        (true, true) => place,
        // What follows the run leaves, and the run goes on here.
        (true, false) => place + 1,
        (false, _) => balanced_cut(&items),
    };
    let on_new = place >= cut;
    // Items and slots differ by one behind the new record.
    let at = if grows || on_new { cut } else { cut - 1 };
    let key_of = |item: usize| match item.cmp(&place) {
        Ordering::Equal if !grows => Ok(key),
        Ordering::Greater if !grows => view.key(item - 1),
        _ => view.key(item),
    };
    Ok(Plan { at, separator: shortest_between(key_of(cut - 1)?, key_of(cut)?), on_new })
}

/// Chooses where to divide an inner page so that an entry of `bytes` fits behind the one that covers `key`. Both sides keep
/// at least one child.
fn plan_inner(view: &PageView<'_>, key: &[u8], bytes: usize) -> Result<Plan, Corruption> {
    let slots = view.slots();
    let place = view.child_slot(key)? + 1;
    let items = item_sizes(view)?;
    let total: usize = items.iter().sum();
    let (mut at, mut best_size, mut left) = (slots - 1, usize::MAX, 0);
    if place < slots || header::last_insert(view.page()) != slots {
        for (index, size) in items.iter().enumerate().take(slots - 1) {
            left += size;
            let cut = index + 1;
            // An entry that stands just before the cut belongs to the old page.
            let larger =
                if place <= cut { (left + bytes).max(total - left) } else { left.max(total - left + bytes) };
            if larger < best_size {
                (at, best_size) = (cut, larger);
            }
        }
    }
    Ok(Plan { at, separator: view.key(at)?.to_vec(), on_new: place > at })
}

fn item_sizes(view: &PageView<'_>) -> Result<Vec<usize>, Corruption> {
    let mut items = Vec::with_capacity(view.slots() + 1);
    for slot in 0..view.slots() {
        items.push(view.raw(slot)?.len() + SLOT_SIZE);
    }
    Ok(items)
}

/// The item before which to cut, so that the larger side is as small as possible; at least one item stays on each side.
fn balanced_cut(items: &[usize]) -> usize {
    let total: usize = items.iter().sum();
    let (mut left, mut best, mut best_size) = (0, 1, usize::MAX);
    for (index, size) in items.iter().enumerate().take(items.len() - 1) {
        left += size;
        let larger = left.max(total - left);
        if larger < best_size {
            (best, best_size) = (index + 1, larger);
        }
    }
    best
}

/// The shortest key above `low` and at most `high`.
fn shortest_between(low: &[u8], high: &[u8]) -> Vec<u8> {
    let shared = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    high[..(shared + 1).min(high.len())].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_is_as_short_as_it_can_be() {
        assert_eq!(shortest_between(b"abc", b"abd"), b"abd");
        assert_eq!(shortest_between(b"abc", b"b"), b"b");
        assert_eq!(shortest_between(b"abc", b"azzzz"), b"az");
        assert_eq!(shortest_between(b"ab", b"abc"), b"abc");
    }

    #[test]
    fn a_cut_balances_bytes_and_leaves_no_side_empty() {
        assert_eq!(balanced_cut(&[10, 10, 10, 10]), 2);
        assert_eq!(balanced_cut(&[1, 1, 1, 100]), 3);
        assert_eq!(balanced_cut(&[100, 1, 1]), 1);
        assert_eq!(balanced_cut(&[8000, 8160]), 1);
    }
}
