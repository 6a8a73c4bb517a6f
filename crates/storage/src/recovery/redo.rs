//! Redo: the pages' part of one record, applied to the pages that do not have it yet (core.md 2.2).
//!
//! # Invariants
//! D1. A part is applied iff the page's LSN is below the record's, by the function that made the change. The page's LSN must then be
//!     the one the record was made on: anything else is a hole in the history, and recovery stops.
//! D2. A page that the record formats need not be readable: if its file holds nothing or a torn page, it is made afresh.
//! D3. Records of a space without a file are passed over: the space was dropped later. If its table still exists, opening
//!     the table finds the file missing and says so.
//! D4. No page is newer than the log: one that is says that the log was durable further than it can be read.

use base::{Corruption, Lsn, PageId, SpaceId};
use hashbrown::HashSet;
use log_format::record::{PagePart, Record};
use page_format::apply;

use crate::pool::{AccessHint, BufferPool, PageWrite, PoolError};

pub(crate) struct Redo<'p> {
    pool: &'p BufferPool,
    gone: HashSet<SpaceId>,
    /// The page with the highest LSN that was met.
    newest: (Lsn, PageId),
}

impl<'p> Redo<'p> {
    pub(crate) fn new(pool: &'p BufferPool) -> Self {
        Self { pool, gone: HashSet::new(), newest: (Lsn::NONE, PageId::default()) }
    }

    /// Redoes the record at `lsn`.
    pub(crate) fn record(&mut self, lsn: Lsn, record: &Record<'_>) -> Result<(), RedoError> {
        for parts in record.parts().chunk_by(|a, b| a.page == b.page) {
            self.page(lsn, parts).map_err(|e| e.within(lsn))?;
        }
        Ok(())
    }

    /// The parts of one record for one page.
    fn page(&mut self, lsn: Lsn, parts: &[PagePart<'_>]) -> Result<(), RedoError> {
        let (id, first) = (parts[0].page, &parts[0]);
        let formats = first.op.is_format();
        let Some(mut page) = self.latch(id, formats)? else { return Ok(()) };
        if page.page_lsn() >= lsn {
            self.newest = self.newest.max((page.page_lsn(), id));
            return Ok(());
        }
        if !formats && page.page_lsn() != first.previous {
            let found = page.page_lsn();
            return Err(Corruption::new(id, "page_lsn before redo", first.previous, found).into());
        }
        page.mark_dirty(lsn);
        for part in parts {
            apply(page.bytes_mut(), &part.op, lsn)?;
        }
        Ok(())
    }

    /// D4; the log ends at `end`.
    pub(crate) fn finish(&self, end: Lsn) -> Result<(), Corruption> {
        let (lsn, page) = self.newest;
        if lsn < end {
            return Ok(());
        }
        let found = format_args!("{lsn}, so acknowledged log is missing").to_string();
        Err(Corruption::new(page, "page_lsn", format_args!("below the end of the log, {end}"), found))
    }

    fn latch(&mut self, id: PageId, formats: bool) -> Result<Option<PageWrite<'p>>, RedoError> {
        if self.gone.contains(&id.space) {
            return Ok(None);
        }
        let page = match self.pool.write(id, AccessHint::Normal) {
            Err(PoolError::Missing(_) | PoolError::Corrupt(_)) if formats => self.pool.create(id),
            other => other,
        };
        match page {
            Ok(page) => Ok(Some(page)),
            Err(PoolError::NoSpace(space)) => {
                self.gone.insert(space);
                Ok(None)
            }
            Err(PoolError::Missing(id)) => {
                Err(Corruption::new(id, "page", "the page that a record changes", "never written").into())
            }
            Err(PoolError::Corrupt(e)) => Err(e.into()),
            Err(e) => Err(RedoError::Pool(e)),
        }
    }
}

/// Why recovery cannot go on.
#[derive(Debug)]
pub(crate) enum RedoError {
    Pool(PoolError),
    Corrupt(Corruption),
}

impl From<Corruption> for RedoError {
    fn from(e: Corruption) -> Self {
        Self::Corrupt(e)
    }
}

impl RedoError {
    fn within(self, lsn: Lsn) -> Self {
        match self {
            Self::Corrupt(e) => Self::Corrupt(e.within(format_args!("redo of the record at {lsn}"))),
            other => other,
        }
    }
}
