//! Long column values: chains of overflow pages.
//!
//! A value is cut into chunks of one page. Each chunk is one [`Overflow`] record of the writing transaction, which takes the page and
//! fills it; the last chunk comes first, so that every chunk names the page and the record of the next. The row then holds an
//! [`OverflowRef`].
//!
//! # Invariants
//! O1. An overflow page is written once. Its page LSN is the LSN in the reference as long as it holds that chunk: a reader that
//!     finds another one (the page was freed and used again) reads the value of its old row version from the log by LSN.
//! O2. A chunk belongs to exactly one row version's value; an update that keeps the value keeps the reference.
//!
//! # Crash
//! Chunks without a row are undone with their transaction.

use base::{Corruption, IndexId, Lsn, PageId, PageNo, SpaceId, TrxId};
use log::Log;
use log_format::record::{Overflow, Record, RowUndo};
use page_format::{BITMAP_PAGES, OVERFLOW_CAPACITY, OverflowView, PageOp, header};

use super::space::{Allocation, Release};
use crate::mtr::{Store, StoreError, StoreResult};
use crate::pool::{AccessHint, PoolError};

/// What a row holds in place of a long value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverflowRef {
    pub page: PageNo,
    /// Record that wrote the first chunk.
    pub lsn: Lsn,
    /// Bytes of the whole value.
    pub length: u64,
}

/// Writes a value as overflow pages. `last` is the transaction's newest record before, and becomes the newest one after.
pub fn write_value(
    store: &Store,
    space: SpaceId,
    index: IndexId,
    trx: TrxId,
    last: &mut Lsn,
    value: &[u8],
) -> StoreResult<OverflowRef> {
    let mut written = OverflowRef { page: PageNo::NONE, lsn: Lsn::NONE, length: value.len() as u64 };
    let mut end = value.len();
    loop {
        let start = end.saturating_sub(1) / OVERFLOW_CAPACITY * OVERFLOW_CAPACITY;
        let mut allocation = Allocation::begin(store, space)?;
        let page = allocation.id();
        let fill = PageOp::FormatOverflow {
            page,
            index,
            next: written.page,
            next_lsn: written.lsn,
            bytes: &value[start..end],
        };
        let previous = *last;
        let appended = store.change_many(&mut allocation.changes(vec![fill]), |parts| {
            Record::Overflow(Overflow { trx, previous, parts: [parts[0], parts[1]] })
        })?;
        allocation.done(store);
        *last = appended.start;
        written = OverflowRef { page: page.no, lsn: appended.start, ..written };
        if start == 0 {
            return Ok(written);
        }
        end = start;
    }
}

/// Appends a value to `out`: from its pages while they hold it, else from the log.
pub fn read_value(store: &Store, space: SpaceId, value: OverflowRef, out: &mut Vec<u8>) -> StoreResult<()> {
    let end = out.len() as u64 + value.length;
    let (mut page, mut lsn) = (value.page, value.lsn);
    while !lsn.is_none() {
        (page, lsn) = read_chunk(store, PageId::new(space, page), lsn, out)?;
    }
    if out.len() as u64 == end {
        return Ok(());
    }
    let place = PageId::new(space, value.page);
    let found = value.length + out.len() as u64 - end;
    Err(Corruption::new(place, "length of an overflow value", value.length, found).into())
}

fn read_chunk(store: &Store, id: PageId, lsn: Lsn, out: &mut Vec<u8>) -> StoreResult<(PageNo, Lsn)> {
    match store.pool.read(id, AccessHint::Normal) {
        Ok(page) if header::page_lsn(&page) == lsn => {
            let view = OverflowView::new(&page)?;
            out.extend_from_slice(view.bytes);
            return Ok((view.next, view.next_lsn));
        }
        Ok(_) | Err(PoolError::Missing(_)) => {}
        Err(error) => return Err(error.into()),
    }
    read_logged_chunk(&store.log, lsn, out)
}

/// Appends the chunk that the record at `lsn` wrote; returns where the next one is.
pub fn read_logged_chunk(log: &Log, lsn: Lsn, out: &mut Vec<u8>) -> StoreResult<(PageNo, Lsn)> {
    let mut bytes = Vec::new();
    log.read(lsn, &mut bytes).map_err(StoreError::LogRead)?;
    match Record::decode(lsn, &bytes)? {
        Record::Overflow(Overflow { parts: [_, part], .. }) => {
            let PageOp::FormatOverflow { next, next_lsn, bytes, .. } = part.op else {
                return Err(Corruption::new(part.page, "page operation", "FormatOverflow", "another").into());
            };
            out.extend_from_slice(bytes);
            Ok((next, next_lsn))
        }
        other => {
            let place = format!("record at {lsn}");
            Err(Corruption::new(place, "record type", "Overflow", format_args!("{:?}", other.record_type()))
                .into())
        }
    }
}

/// Gives back all pages of a value that no row version refers to any more (purge); one record for each page, last to first, so
/// that a purge that is repeated after a crash finds those that are left. It asks the pages alone: the chunks' records may be
/// older than the log, and behind the first page that holds something else everything has been given back before.
pub fn free_value(store: &Store, space: SpaceId, value: OverflowRef) -> StoreResult<()> {
    let (mut pages, mut page, mut lsn) = (Vec::new(), value.page, value.lsn);
    while !lsn.is_none() {
        let id = PageId::new(space, page);
        let held = match store.pool.read(id, AccessHint::Normal) {
            Ok(held) if header::page_lsn(&held) == lsn => held,
            Ok(_) | Err(PoolError::Missing(_)) => break,
            Err(error) => return Err(error.into()),
        };
        pages.push(id);
        let view = OverflowView::new(&held)?;
        (page, lsn) = (view.next, view.next_lsn);
    }
    for id in pages.into_iter().rev() {
        if super::is_allocated(store, id)? {
            super::free_page(store, id)?;
        }
    }
    Ok(())
}

/// Undoes an [`Overflow`] record: gives its page back, as a compensation. Returns the LSN of that.
pub fn undo_chunk(store: &Store, page: PageId, trx: TrxId, undone: Lsn, undo_next: Lsn) -> StoreResult<Lsn> {
    let mut releases = Release::begin(store, page.space, &[page.no])?;
    let mut start = Lsn::NONE;
    for release in &mut releases {
        let op = PageOp::SetBits { first: page.no.0 % BITMAP_PAGES, count: 1, used: false };
        let record = |part| Record::RowUndo(RowUndo { trx, undone, undo_next, part });
        start = store.change_one(release.bitmap(), op, record)?.start;
        release.done(store);
    }
    Ok(start)
}
