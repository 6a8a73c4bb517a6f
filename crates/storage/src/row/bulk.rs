//! Loading a new table that nobody else sees: ALTER TABLE and CREATE INDEX that copy.
//!
//! Rows that come in key order go to the right end of the clustered tree, a leaf in one record, without undo: the table becomes
//! reachable with the commit of its dictionary row, and its whole space goes without it. Then each secondary index is filled from
//! its sorted entries. A row that is not in order ends this: it and all later ones are inserted as any row.
//!
//! # Invariants
//! 1. Loaded rows carry trx 0 and no roll LSN: every snapshot sees them, nothing looks behind them.
//! 2. Memory is bounded: see `entries`.
//!
//! # Crash
//! At any step the new space has no dictionary entry and is removed at the next start.

use std::sync::Arc;

use base::{Lsn, TrxId};

use super::RowError;
use super::entries::{self, Entries, Stopped};
use super::keys::{KEY_SIZE_MAX, clustered_key, clustered_part};
use super::read::unfold;
use super::version::Version;
use crate::btree::Seek;
use crate::btree::bulk::BulkBuild;
use crate::kernel::Kernel;
use crate::table::Table;
use crate::trx::Trx;

/// Bytes of entries that are sorted at a time.
pub(super) const SORT_BYTES: usize = 64 << 20;

/// A load in progress. Takes rows until [`BulkLoad::finish`].
pub struct BulkLoad<'k> {
    kernel: &'k Kernel,
    table: &'k Arc<Table>,
    /// `None` after a row out of order.
    build: Option<BulkBuild<'k>>,
    key: Vec<u8>,
    last: Vec<u8>,
    stored: Vec<u8>,
    rows: i64,
    sort_bytes: usize,
}

/// Why a load failed.
#[derive(Debug)]
pub enum LoadError {
    /// Two rows are equal in a unique index; the body of one of them.
    Duplicate {
        index: usize,
        body: Vec<u8>,
    },
    Row(RowError),
}

impl<E: Into<RowError>> From<E> for LoadError {
    fn from(error: E) -> Self {
        Self::Row(error.into())
    }
}

impl<'k> BulkLoad<'k> {
    /// `table` is empty and not in the catalog yet.
    pub fn new(kernel: &'k Kernel, table: &'k Arc<Table>) -> Self {
        Self {
            kernel,
            table,
            build: Some(BulkBuild::new(&kernel.store, table.tree(0))),
            key: Vec::new(),
            last: Vec::new(),
            stored: Vec::new(),
            rows: 0,
            sort_bytes: SORT_BYTES,
        }
    }

    /// Sorts fewer bytes at a time.
    #[must_use]
    pub fn sort_bytes(mut self, bytes: usize) -> Self {
        self.sort_bytes = bytes.max(1024);
        self
    }

    /// Adds a row. In ascending order of the clustered key this is cheap; a duplicate of the clustered key or, after a row out of
    /// order, of any unique key is an error.
    pub fn push(&mut self, trx: &mut Trx, body: &[u8]) -> Result<(), LoadError> {
        let duplicate = |e| match e {
            RowError::DuplicateKey { index } => LoadError::Duplicate { index, body: body.to_vec() },
            e => LoadError::Row(e),
        };
        if self.build.is_none() {
            return trx.insert(self.table, body).map_err(duplicate);
        }
        trx.pace()?;
        self.key.clear();
        if self.table.spec().has_hidden_key() {
            trx.work().new_row_id(self.table, &mut self.key)?;
        } else {
            clustered_key(self.table.spec(), body, &mut self.key).map_err(RowError::from)?;
        }
        if self.rows > 0 && self.key <= self.last {
            self.end_build(&mut || false)?;
            return trx.insert(self.table, body).map_err(duplicate);
        }
        if self.key.len() > KEY_SIZE_MAX {
            return Err(RowError::KeyTooLong { bytes: self.key.len() }.into());
        }
        self.stored.clear();
        let mut work = trx.work();
        work.begin_change(self.table)?;
        let flags = work.store_body(self.table, self.key.len(), body, &[], &mut self.stored)?;
        if let Some(build) = &mut self.build {
            build.push_row(flags, TrxId(0), Lsn::NONE, &self.key, &self.stored)?;
        }
        std::mem::swap(&mut self.key, &mut self.last);
        self.rows += 1;
        Ok(())
    }

    /// Completes all trees. `stop` is asked now and then; [`RowError::Interrupted`] after it said yes.
    pub fn finish(mut self, stop: &mut dyn FnMut() -> bool) -> Result<(), LoadError> {
        self.end_build(stop)
    }

    /// The rows so far get their secondary entries; later rows are inserted.
    fn end_build(&mut self, stop: &mut dyn FnMut() -> bool) -> Result<(), LoadError> {
        let Some(build) = self.build.take() else { return Ok(()) };
        build.finish()?;
        self.table.count_rows(self.rows);
        for index in 1..self.table.spec().indexes.len() {
            self.fill(index, stop)?;
        }
        Ok(())
    }

    /// Builds one secondary index, in as many passes over the rows as memory wants.
    fn fill(&self, index: usize, stop: &mut dyn FnMut() -> bool) -> Result<(), LoadError> {
        let (table, store) = (self.table, &self.kernel.store);
        let mut body = Vec::new();
        let mut gather =
            |entries: &mut Entries<'_>, stop: &mut dyn FnMut() -> bool| -> Result<(), RowError> {
                let mut leaf = table.tree(0).seek(store, Seek::First)?;
                let mut count = 0u64;
                while leaf.is_valid() {
                    count += 1;
                    if count.is_multiple_of(4096) && stop() {
                        return Err(RowError::Interrupted);
                    }
                    let record = leaf.record()?;
                    body.clear();
                    body.extend_from_slice(record.body);
                    unfold(self.kernel, table, Version::of(&record), &mut body)?;
                    entries.offer(&body, record.key)?;
                    if !leaf.move_next()? {
                        break;
                    }
                }
                Ok(())
            };
        let what = (table.spec(), index, self.sort_bytes);
        entries::build(store, table.tree(index), what, &mut gather, stop).map_err(|stopped| match stopped {
            Stopped::Duplicate(entry) => self.duplicate(index, &entry),
            Stopped::Row(error) => LoadError::Row(error),
        })
    }

    fn duplicate(&self, index: usize, entry: &[u8]) -> LoadError {
        let read = || -> Result<Vec<u8>, RowError> {
            let key = clustered_part(entry)?;
            let leaf = self.table.tree(0).seek(&self.kernel.store, Seek::AtLeast(key))?;
            let record = leaf.record()?;
            let (version, mut body) = (Version::of(&record), record.body.to_vec());
            drop(leaf);
            unfold(self.kernel, self.table, version, &mut body)?;
            Ok(body)
        };
        match read() {
            Ok(body) => LoadError::Duplicate { index, body },
            Err(e) => LoadError::Row(e),
        }
    }
}

impl Trx {
    /// Where this transaction runs.
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    /// The log's end: what is appended from now on stands at or behind it.
    pub fn log_end(&self) -> Lsn {
        self.kernel.store.log.reserved_lsn()
    }
}
