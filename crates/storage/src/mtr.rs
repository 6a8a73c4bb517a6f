//! Mini-transactions: one log record, the pages it changes, and nothing in between.
//!
//! A change of pages is always made here, in this order:
//! 1. the caller holds the exclusive latches of all pages that change;
//! 2. every operation is validated on its page, so that nothing is logged that cannot be done;
//! 3. every page is marked dirty with the log's reserved LSN, which is at or below the record's own;
//! 4. the record is appended, with the distance to each page's LSN;
//! 5. every operation is applied with the record's LSN.
//!
//! # Invariants
//! M1. A page's bytes change only by [`page_format::apply`] of an operation that is in the log (P1, L6).
//! M2. A checkpoint that reads the reserved LSN and then the dirty pages misses no change: 3 comes before 4.
//! M3. All parts of a record are redone or none: recovery has the whole record or not.
//! M4. Parts of one page in one record stand together in its order; redo compares the page's LSN once for all of them.
//!
//! # Crash
//! Before 4 nothing has happened. After 4 the record may or may not be durable; the pages cannot reach their files before it
//! is (L6).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Corruption, Lsn, PageId};
use log::{Appended, Log, LogFailed, LogReadError};
use log_format::record::{PagePart, Record, System};
use page_format::{Page, PageOp, apply, apply_validated, header, validate};

use crate::btree::SpaceHints;
use crate::pool::{BufferPool, PageWrite, PoolError};

/// Why a page operation did not happen. Nothing has been changed or logged, unless the log itself has failed.
#[derive(Debug)]
pub enum StoreError {
    Pool(PoolError),
    Log(LogFailed),
    /// An old record could not be read.
    LogRead(LogReadError),
    Corrupt(Corruption),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool(error) => error.fmt(f),
            Self::Log(error) => error.fmt(f),
            Self::LogRead(error) => error.fmt(f),
            Self::Corrupt(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<PoolError> for StoreError {
    fn from(error: PoolError) -> Self {
        Self::Pool(error)
    }
}
impl From<LogFailed> for StoreError {
    fn from(error: LogFailed) -> Self {
        Self::Log(error)
    }
}
impl From<Corruption> for StoreError {
    fn from(error: Corruption) -> Self {
        Self::Corrupt(error)
    }
}

pub type StoreResult<T> = Result<T, StoreError>;

/// Pages and the log that describes their changes: what trees are made on.
pub struct Store {
    pub pool: Arc<BufferPool>,
    pub log: Arc<Log>,
    pub(crate) hints: SpaceHints,
    reexecute: AtomicBool,
}

/// A latched page and the operations that a record performs on it, in order.
pub struct Change<'c, 'p, 'a> {
    pub page: &'c mut PageWrite<'p>,
    pub id: PageId,
    pub ops: Vec<PageOp<'a>>,
}

impl<'c, 'p, 'a> Change<'c, 'p, 'a> {
    pub fn new(page: &'c mut PageWrite<'p>, id: PageId, ops: Vec<PageOp<'a>>) -> Self {
        Self { page, id, ops }
    }
}

impl Store {
    /// The environment variable `MORSEDB_CHECK_REDO=1` turns the re-execution check on.
    pub fn new(pool: Arc<BufferPool>, log: Arc<Log>) -> Self {
        let reexecute = std::env::var_os("MORSEDB_CHECK_REDO").is_some_and(|value| value == "1");
        Self { pool, log, hints: SpaceHints::default(), reexecute: AtomicBool::new(reexecute) }
    }

    /// Whether each change is made a second time, from the record's bytes, on a copy of the page, and compared.
    pub fn set_reexecute(&self, on: bool) {
        self.reexecute.store(on, Ordering::Relaxed);
    }

    /// Logs `record`, whose only part is `op` on `page`, and applies it.
    #[inline]
    pub fn change_one<'a>(
        &self,
        page: &mut PageWrite<'_>,
        op: PageOp<'a>,
        record: impl FnOnce(PagePart<'a>) -> Record<'a>,
    ) -> StoreResult<Appended> {
        validate(page, &op)?;
        let part = PagePart { page: header::page_id(page), previous: page.page_lsn(), op };
        let record = record(part);
        let before = self.copy_for_check(page);
        page.mark_dirty(self.log.reserved_lsn());
        let appended = self.log.append(|lsn, out| record.encode(lsn, out))?;
        apply_validated(page.bytes_mut(), &op, appended.start);
        if let Some(before) = before {
            check_again(&record, appended.start, vec![(part.page, before)], &[&**page]);
        }
        Ok(appended)
    }

    /// Logs one record with the operations on all pages, and applies them. `record` gets the parts in order.
    pub fn change_many<'a>(
        &self,
        changes: &mut [Change<'_, '_, 'a>],
        record: impl FnOnce(&[PagePart<'a>]) -> Record<'a>,
    ) -> StoreResult<Appended> {
        let mut parts = Vec::with_capacity(changes.len() + 2);
        for change in changes.iter() {
            dry_run(change)?;
            let previous = change.page.page_lsn();
            parts.extend(change.ops.iter().map(|&op| PagePart { page: change.id, previous, op }));
        }
        let record = record(&parts);
        let mut before = Vec::new();
        for change in changes.iter_mut() {
            if let Some(copy) = self.copy_for_check(change.page) {
                before.push((change.id, copy));
            }
            change.page.mark_dirty(self.log.reserved_lsn());
        }
        let appended = self.log.append(|lsn, out| record.encode(lsn, out))?;
        for change in changes.iter_mut() {
            for op in &change.ops {
                apply(change.page.bytes_mut(), op, appended.start)?;
            }
        }
        if !before.is_empty() {
            let after: Vec<&Page> = changes.iter().map(|change| &**change.page).collect();
            check_again(&record, appended.start, before, &after);
        }
        Ok(appended)
    }

    /// A change of structure that no transaction owns.
    pub fn change_system(&self, changes: &mut [Change<'_, '_, '_>]) -> StoreResult<Appended> {
        self.change_many(changes, |parts| Record::System(System { parts: parts.to_vec() }))
    }

    fn copy_for_check(&self, page: &PageWrite<'_>) -> Option<Box<Page>> {
        self.reexecute.load(Ordering::Relaxed).then(|| Box::new(**page))
    }
}

/// Validates operations that build on each other: on a copy, unless there is only one.
fn dry_run(change: &Change<'_, '_, '_>) -> Result<(), Corruption> {
    if let [op] = change.ops.as_slice() {
        return validate(change.page, op);
    }
    let mut copy = Box::new(**change.page);
    change.ops.iter().try_for_each(|op| apply(&mut copy, op, Lsn::MAX))
}

/// Performs the record again, from its bytes, on copies of the pages, and compares.
///
/// # Panics
/// When a page differs: then recovery would not restore what the server works with.
fn check_again(record: &Record<'_>, lsn: Lsn, mut copies: Vec<(PageId, Box<Page>)>, after: &[&Page]) {
    let mut bytes = Vec::new();
    record.encode(lsn, &mut bytes);
    let decoded = match Record::decode(lsn, &bytes) {
        Ok(decoded) => decoded,
        Err(found) => panic!("record at {lsn} does not decode: {found}"),
    };
    for part in decoded.parts() {
        let Some((_, copy)) = copies.iter_mut().find(|(id, _)| *id == part.page) else {
            panic!("record at {lsn} names {}, which was not latched", part.page);
        };
        let previous = header::page_lsn(copy);
        assert!(
            previous == part.previous || previous == lsn,
            "record at {lsn}: previous LSN of {}",
            part.page
        );
        if let Err(found) = apply(copy, &part.op, lsn) {
            panic!("record at {lsn} does not apply again: {found}");
        }
    }
    for ((id, copy), after) in copies.iter().zip(after) {
        if copy[4..] != after[4..] {
            let at = (4..copy.len()).find(|&at| copy[at] != after[at]).unwrap_or_default();
            panic!("record at {lsn} applied again gives another byte {at} on {id}: {record:?}");
        }
    }
}
