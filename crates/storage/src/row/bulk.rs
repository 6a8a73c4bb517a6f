//! Loading a new table that nobody else sees: ALTER TABLE and CREATE INDEX that copy.
//!
//! Rows that come in key order go to the right end of the clustered tree, a leaf in one record, without undo: the table becomes
//! reachable with the commit of its dictionary row, and its whole space goes without it. Then each secondary index is filled from
//! its sorted entries. A row that is not in order ends this: it and all later ones are inserted as any row.
//!
//! # Invariants
//! 1. Loaded rows carry trx 0 and no roll LSN: every snapshot sees them, nothing looks behind them.
//! 2. Memory is bounded: when the entries of an index do not fit, the smallest ones are built first and the table is read again
//!    for the others.
//!
//! # Crash
//! At any step the new space has no dictionary entry and is removed at the next start.

use std::sync::Arc;

use base::{Lsn, TrxId};

use super::RowError;
use super::keys::{KEY_SIZE_MAX, clustered_key, clustered_part, has_null, secondary_key};
use super::read::unfold;
use super::version::Version;
use crate::btree::Seek;
use crate::btree::bulk::BulkBuild;
use crate::kernel::Kernel;
use crate::table::Table;
use crate::trx::Trx;

/// Bytes of entries that are sorted at a time.
const SORT_BYTES: usize = 64 << 20;

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

/// Entries of one index, gathered for sorting.
#[derive(Default)]
struct Entries {
    bytes: Vec<u8>,
    list: Vec<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    len: u32,
    /// Length of the index's own columns; 0 when one is NULL, which is equal to nothing.
    own: u32,
}

impl Entries {
    fn key(&self, e: Entry) -> &[u8] {
        &self.bytes[e.start..e.start + e.len as usize]
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let key = |e: &Entry| &bytes[e.start..e.start + e.len as usize];
        self.list.sort_unstable_by(|a, b| key(a).cmp(key(b)));
    }

    /// Keeps the smaller half; the largest key that is kept.
    fn halve(&mut self) -> Vec<u8> {
        self.sort();
        self.list.truncate(self.list.len().div_ceil(2));
        let old = std::mem::take(&mut self.bytes);
        for e in &mut self.list {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&old[e.start..e.start + e.len as usize]);
            e.start = start;
        }
        self.list.last().map_or_else(Vec::new, |e| self.key(*e).to_vec())
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
            self.end_build()?;
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

    /// Completes all trees.
    pub fn finish(mut self) -> Result<(), LoadError> {
        self.end_build()
    }

    /// The rows so far get their secondary entries; later rows are inserted.
    fn end_build(&mut self) -> Result<(), LoadError> {
        let Some(build) = self.build.take() else { return Ok(()) };
        build.finish()?;
        self.table.count_rows(self.rows);
        for index in 1..self.table.spec().indexes.len() {
            self.fill(index)?;
        }
        Ok(())
    }

    /// Builds one secondary index, in as many passes over the rows as memory wants.
    fn fill(&self, index: usize) -> Result<(), LoadError> {
        let mut build = BulkBuild::new(&self.kernel.store, self.table.tree(index));
        let mut after: Option<Vec<u8>> = None;
        let mut last: Vec<u8> = Vec::new();
        loop {
            let (entries, more) = self.gather(index, after.as_deref())?;
            for e in &entries.list {
                let key = entries.key(*e);
                let own = &key[..e.own as usize];
                if self.table.spec().indexes[index].unique && !own.is_empty() {
                    if last == own {
                        return Err(self.duplicate(index, key));
                    }
                    last.clear();
                    last.extend_from_slice(own);
                }
                build.push_key(0, TrxId(0), key)?;
            }
            match (more, entries.list.last()) {
                (true, Some(e)) => after = Some(entries.key(*e).to_vec()),
                _ => break,
            }
        }
        Ok(build.finish()?)
    }

    /// Sorted entries above `after`: all of them, or the smallest that fit in memory.
    fn gather(&self, index: usize, after: Option<&[u8]>) -> Result<(Entries, bool), LoadError> {
        let (spec, store) = (self.table.spec(), &self.kernel.store);
        let (mut entries, mut ceiling) = (Entries::default(), None::<Vec<u8>>);
        let (mut body, mut entry) = (Vec::new(), Vec::new());
        let mut leaf = self.table.tree(0).seek(store, Seek::First)?;
        while leaf.is_valid() {
            let record = leaf.record()?;
            let key = record.key;
            body.clear();
            body.extend_from_slice(record.body);
            unfold(self.kernel, self.table, Version::of(&record), &mut body)?;
            entry.clear();
            let own = secondary_key(spec, index, &body, key, &mut entry).map_err(RowError::from)?;
            let below = ceiling.as_deref().is_none_or(|c| entry.as_slice() <= c);
            if below && after.is_none_or(|a| entry.as_slice() > a) {
                if entry.len() > KEY_SIZE_MAX {
                    return Err(RowError::KeyTooLong { bytes: entry.len() }.into());
                }
                let null = has_null(spec, index, &body).map_err(RowError::from)?;
                let start = entries.bytes.len();
                entries.bytes.extend_from_slice(&entry);
                let own = if null { 0 } else { own as u32 };
                entries.list.push(Entry { start, len: entry.len() as u32, own });
                let used = entries.bytes.len() + entries.list.len() * size_of::<Entry>();
                if used > self.sort_bytes && entries.list.len() > 1 {
                    ceiling = Some(entries.halve());
                }
            }
            if !leaf.move_next()? {
                break;
            }
        }
        drop(leaf);
        entries.sort();
        Ok((entries, ceiling.is_some()))
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
