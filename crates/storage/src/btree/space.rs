//! Allocation of pages in a space.
//!
//! # Layout
//! Page 0 and every [`BITMAP_PAGES`]th page hold one bit for each page that follows (`page_format::bitmap`); they are chained by
//! their right links. A page is taken and given back by a part of the record that formats or unlinks it, so that a crash
//! never leaks one.
//!
//! # Latches
//! The bitmap page is latched after all tree pages and held until the record is applied. A freed page may still be latched
//! shared by a reader that is about to find out that it is not the page it looked for; such a reader waits for nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base::{Corruption, IndexId, PageId, PageNo, SpaceId};
use page_format::{BITMAP_PAGES, PageKind, PageOp, first_free, header, is_used};

use crate::mtr::{Change, Store, StoreResult};
use crate::pool::{AccessHint, PageWrite};

/// Where to begin looking for a free page, by space. Only a hint: it may be lost or late.
#[derive(Debug, Default)]
pub struct SpaceHints(Mutex<HashMap<SpaceId, u32>>);

impl SpaceHints {
    fn get(&self, space: SpaceId) -> u32 {
        let hints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hints.get(&space).copied().unwrap_or(0)
    }
    fn set(&self, space: SpaceId, page: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(space, page);
    }
    fn lower(&self, space: SpaceId, page: u32) {
        let mut hints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hints.entry(space).and_modify(|hint| *hint = page.min(*hint));
    }
    /// Forgets a space that has been dropped.
    pub fn forget(&self, space: SpaceId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&space);
    }
}

fn format_bitmap(id: PageId) -> PageOp<'static> {
    let kind = if id.no.0 == 0 { PageKind::SpaceHeader } else { PageKind::Bitmap };
    PageOp::Format { page: id, kind, level: 0, index: IndexId(0), left: PageNo::NONE, right: PageNo::NONE }
}

/// Writes the header page of a new, empty space whose file exists.
pub fn create_space(store: &Store, space: SpaceId) -> StoreResult<()> {
    let id = PageId::new(space, PageNo(0));
    let mut page = store.pool.create(id)?;
    store.change_system(&mut [Change::new(&mut page, id, vec![format_bitmap(id)])])?;
    store.hints.set(space, 1);
    Ok(())
}

/// The bitmap page that describes `page`, latched.
fn bitmap_of<'s>(store: &'s Store, space: SpaceId, page: u32) -> StoreResult<(PageId, PageWrite<'s>)> {
    let id = PageId::new(space, PageNo(page - page % BITMAP_PAGES));
    let bitmap = store.pool.write(id, AccessHint::Normal)?;
    if header::kind(&bitmap).is_some_and(PageKind::is_bitmap) {
        Ok((id, bitmap))
    } else {
        Err(Corruption::new(id, "page kind", "a bitmap page", format_args!("{:?}", header::kind(&bitmap)))
            .into())
    }
}

/// A page being taken: its bitmap page and its own fresh frame stay latched until the record that takes it is applied.
pub struct Allocation<'s> {
    bitmap_id: PageId,
    bitmap: PageWrite<'s>,
    id: PageId,
    page: PageWrite<'s>,
}

impl<'s> Allocation<'s> {
    /// Finds a free page. Dropped without a record, the page stays free.
    pub fn begin(store: &'s Store, space: SpaceId) -> StoreResult<Self> {
        let mut from = store.hints.get(space);
        loop {
            let (bitmap_id, bitmap) = bitmap_of(store, space, from)?;
            if let Some(bit) = first_free(&bitmap, from % BITMAP_PAGES) {
                let id = PageId::new(space, PageNo(bitmap_id.no.0 + bit));
                let page = store.pool.create(id)?;
                return Ok(Self { bitmap_id, bitmap, id, page });
            }
            from = match header::right(&bitmap) {
                PageNo::NONE => extend(store, bitmap_id, bitmap)?,
                next => next.0,
            };
            store.hints.set(space, from);
        }
    }
    /// The page that is being taken.
    pub fn id(&self) -> PageId {
        self.id
    }
    /// The changes for the record: the bitmap's, then the page's.
    pub fn changes<'c, 'a>(&'c mut self, ops: Vec<PageOp<'a>>) -> [Change<'c, 's, 'a>; 2] {
        let mark = PageOp::SetBits { first: self.id.no.0 - self.bitmap_id.no.0, count: 1, used: true };
        [Change::new(&mut self.bitmap, self.bitmap_id, vec![mark]), Change::new(&mut self.page, self.id, ops)]
    }
    /// The record has been applied: hands over the latched page and lets go of the bitmap.
    pub fn done(self, store: &Store) -> PageWrite<'s> {
        store.hints.set(self.id.space, self.id.no.0 + 1);
        self.page
    }
}

/// Makes the bitmap page after `last`; returns its page number.
fn extend<'s>(store: &'s Store, last: PageId, mut bitmap: PageWrite<'s>) -> StoreResult<u32> {
    let Some(next) = last.no.0.checked_add(BITMAP_PAGES) else {
        return Err(Corruption::new(last, "pages of a space", "below 2^32", "more").into());
    };
    let id = PageId::new(last.space, PageNo(next));
    let mut page = store.pool.create(id)?;
    let link = PageOp::SetLinks { left: None, right: Some(id.no) };
    store.change_system(&mut [
        Change::new(&mut bitmap, last, vec![link]),
        Change::new(&mut page, id, vec![format_bitmap(id)]),
    ])?;
    Ok(next)
}

/// Pages of one bitmap page being given back with the record that makes them unreachable.
pub(crate) struct Release<'s> {
    id: PageId,
    bitmap: PageWrite<'s>,
    freed: Vec<u32>,
}

impl<'s> Release<'s> {
    /// Latches the bitmap pages that describe `pages`, in ascending order.
    pub(crate) fn begin(store: &'s Store, space: SpaceId, pages: &[PageNo]) -> StoreResult<Vec<Self>> {
        let mut sorted: Vec<u32> = pages.iter().map(|page| page.0).collect();
        sorted.sort_unstable();
        let mut releases: Vec<Self> = Vec::new();
        for page in sorted {
            let bit = page % BITMAP_PAGES;
            match releases.last_mut() {
                Some(last) if last.id.no.0 == page - bit => last.freed.push(bit),
                _ => {
                    let (id, bitmap) = bitmap_of(store, space, page)?;
                    releases.push(Self { id, bitmap, freed: vec![bit] });
                }
            }
        }
        Ok(releases)
    }
    pub(crate) fn change<'a>(&mut self) -> Change<'_, 's, 'a> {
        let mut ops: Vec<PageOp<'a>> = Vec::new();
        for &bit in &self.freed {
            match ops.last_mut() {
                Some(PageOp::SetBits { first, count, .. }) if *first + *count == bit => *count += 1,
                _ => ops.push(PageOp::SetBits { first: bit, count: 1, used: false }),
            }
        }
        Change::new(&mut self.bitmap, self.id, ops)
    }
    /// The bitmap page itself, for a record of another kind.
    pub(crate) fn bitmap(&mut self) -> &mut PageWrite<'s> {
        &mut self.bitmap
    }
    /// Lets later allocations find the pages; call it when the record is applied.
    pub(crate) fn done(&self, store: &Store) {
        if let Some(lowest) = self.freed.first() {
            store.hints.lower(self.id.space, self.id.no.0 + lowest);
        }
    }
}

/// Gives back a page that nothing refers to any more (an overflow page), as its own record.
pub fn free_page(store: &Store, id: PageId) -> StoreResult<()> {
    let mut releases = Release::begin(store, id.space, &[id.no])?;
    let mut changes: Vec<_> = releases.iter_mut().map(|release| release.change()).collect();
    store.change_system(&mut changes)?;
    drop(changes);
    releases.iter().for_each(|release| release.done(store));
    Ok(())
}

/// Whether a page is allocated.
pub fn is_allocated(store: &Store, id: PageId) -> StoreResult<bool> {
    let bitmap = PageId::new(id.space, PageNo(id.no.0 - id.no.0 % BITMAP_PAGES));
    Ok(is_used(&*store.pool.read(bitmap, AccessHint::Normal)?, id.no.0 % BITMAP_PAGES))
}
