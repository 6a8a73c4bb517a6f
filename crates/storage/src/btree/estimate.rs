//! How many records a range has, without reading it.
//!
//! Both ends are looked up; below the page where their ways part, the children between them are counted and multiplied by
//! the mean number of records on a few pages among them. Ranges that touch one or two leaves are counted exactly.

use std::ops::Bound;

use base::{Corruption, PageNo};
use page_format::{PageView, header};

use super::{Tree, Way};
use crate::mtr::{Store, StoreResult};
use crate::pool::AccessHint;

/// One page on the way to an end of a range.
#[derive(Debug, Clone, Copy)]
struct Step {
    page: PageNo,
    slot: usize,
    slots: usize,
}

/// Pages of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeSize {
    pub levels: u16,
    pub leaf_pages: u64,
    pub inner_pages: u64,
    /// Estimated from some leaves; delete-marked records count.
    pub records: u64,
}

impl Tree {
    /// Estimated number of records between two keys; delete-marked records count.
    pub fn estimate_range(
        &self,
        store: &Store,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> StoreResult<u64> {
        if let (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) =
            (lower, upper)
            && low > high
        {
            return Ok(0);
        }
        let low = self.path(store, lower, false)?;
        let high = self.path(store, upper, true)?;
        // The tree may have grown between the two descents: then the levels that both have decide.
        let levels = low.len().min(high.len());
        let (low, high) = (&low[low.len() - levels..], &high[high.len() - levels..]);
        let means = self.means_between(store, low, high)?;
        let mut between: Option<u64> = None;
        for (level, (low, high)) in (0..levels).rev().zip(low.iter().zip(high)) {
            let leaf = level == 0;
            between = match between {
                None if low.page == high.page => {
                    let distance = high.slot.saturating_sub(low.slot) as u64;
                    match (leaf, distance) {
                        (true, distance) => Some(distance),
                        (false, 0) => None,
                        (false, distance) => Some(distance - 1),
                    }
                }
                None => Some(rest_of(low, leaf) + high.slot as u64),
                Some(children) => {
                    let mean =
                        means.get(level).copied().unwrap_or((low.slots + high.slots).div_ceil(2) as u64);
                    Some(children.saturating_mul(mean) + rest_of(low, leaf) + high.slot as u64)
                }
            };
        }
        Ok(between.unwrap_or(0))
    }

    /// The pages from the root to an end of a range. At the leaf, `slot` is the number of records before the end.
    fn path(&self, store: &Store, bound: Bound<&[u8]>, upper: bool) -> StoreResult<Vec<Step>> {
        let way = match bound {
            Bound::Included(key) | Bound::Excluded(key) => Way::To(key),
            Bound::Unbounded if upper => Way::Last,
            Bound::Unbounded => Way::First,
        };
        let mut steps = Vec::new();
        let mut id = self.page_id(self.root);
        let mut page = store.pool.read(id, AccessHint::Normal)?;
        self.expect(&page, id, None)?;
        loop {
            let view = PageView::new(&page)?;
            let level = view.level();
            let slot = if level == 0 { leaf_slot(&view, bound, upper)? } else { way.slot(&view)? };
            steps.push(Step { page: id.no, slot, slots: view.slots() });
            if level == 0 {
                return Ok(steps);
            }
            id = self.page_id(view.child(slot)?);
            let child = store.pool.read(id, AccessHint::Normal)?;
            self.expect(&child, id, Some(level - 1))?;
            page = child;
        }
    }

    /// Mean number of records, by level, on pages below two children that lie between the ends. The ends themselves would mislead:
    /// the last leaf of a tree is seldom full.
    fn means_between(&self, store: &Store, low: &[Step], high: &[Step]) -> StoreResult<Vec<u64>> {
        let Some(parted) =
            low.iter().zip(high).find(|(low, high)| low.page == high.page && low.slot < high.slot)
        else {
            return Ok(Vec::new());
        };
        let (first, last) = (parted.0.slot + 1, parted.1.slot);
        let mut seen: Vec<(u64, u64)> = Vec::new();
        let between = last.saturating_sub(first);
        for slot in [first + between / 3, first + between * 2 / 3].into_iter().take(between.min(2)) {
            let id = self.page_id(parted.0.page);
            let mut page = store.pool.read(id, AccessHint::Normal)?;
            // Nothing was latched meanwhile: the page may have become another one, or smaller.
            if self.expect(&page, id, None).is_err() || PageView::new(&page)?.slots() <= slot {
                break;
            }
            let mut slot = slot;
            while header::level(&page) > 0 {
                let view = PageView::new(&page)?;
                let (level, id) = (usize::from(view.level() - 1), self.page_id(view.child(slot)?));
                let child = store.pool.read(id, AccessHint::Normal)?;
                self.expect(&child, id, Some(level as u16))?;
                page = child;
                slot = 0;
                seen.resize(seen.len().max(level + 1), (0, 0));
                seen[level] = (seen[level].0 + PageView::new(&page)?.slots() as u64, seen[level].1 + 1);
            }
        }
        Ok(seen.into_iter().map(|(sum, count)| sum.div_ceil(count.max(1))).collect())
    }

    /// Counts pages by reading the inner ones, and estimates records from up to eight leaves.
    pub fn size(&self, store: &Store) -> StoreResult<TreeSize> {
        let mut size = TreeSize::default();
        let root = self.page_id(self.root);
        let page = store.pool.read(root, AccessHint::Normal)?;
        self.expect(&page, root, None)?;
        size.levels = header::level(&page) + 1;
        drop(page);
        let (mut pages, mut level) = (vec![self.root], size.levels - 1);
        while level > 0 {
            size.inner_pages += pages.len() as u64;
            let mut children = Vec::new();
            for no in pages {
                let id = self.page_id(no);
                let page = store.pool.read(id, AccessHint::Scan)?;
                // A page that has been merged away meanwhile does not count.
                if self.expect(&page, id, Some(level)).is_ok() {
                    let view = PageView::new(&page)?;
                    for slot in 0..view.slots() {
                        children.push(view.child(slot)?);
                    }
                }
            }
            pages = children;
            level -= 1;
        }
        size.leaf_pages = pages.len() as u64;
        let samples = pages.len().clamp(1, 8);
        let mut seen = 0u64;
        for sample in 0..samples {
            let Some(&no) = pages.get(sample * pages.len() / samples) else { break };
            let id = self.page_id(no);
            let page = store.pool.read(id, AccessHint::Scan)?;
            if self.expect(&page, id, Some(0)).is_ok() {
                seen += PageView::new(&page)?.slots() as u64;
            }
        }
        size.records = (seen * size.leaf_pages).div_ceil(samples as u64);
        Ok(size)
    }
}

/// What a page has behind the lower end: on a leaf from its slot on, on an inner page after the child that holds the end.
fn rest_of(low: &Step, leaf: bool) -> u64 {
    low.slots.saturating_sub(low.slot + usize::from(!leaf)) as u64
}

fn leaf_slot(view: &PageView<'_>, bound: Bound<&[u8]>, upper: bool) -> Result<usize, Corruption> {
    match bound {
        Bound::Unbounded => Ok(if upper { view.slots() } else { 0 }),
        Bound::Included(key) if upper => view.upper_bound(key),
        Bound::Excluded(key) if !upper => view.upper_bound(key),
        Bound::Included(key) | Bound::Excluded(key) => Ok(view.lower_bound(key)?.0),
    }
}
