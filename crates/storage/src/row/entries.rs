//! Entries of one secondary index on their way into a new tree: gathered, sorted, checked, appended.
//!
//! # Invariants
//! 1. Memory is bounded: when the entries do not fit, the smallest are kept and built first, and the rows are read again for the
//!    others.

use crate::btree::Tree;
use crate::btree::bulk::BulkBuild;
use crate::mtr::Store;
use crate::table::TableSpec;

use base::TrxId;

use super::RowError;
use super::keys::{KEY_SIZE_MAX, has_null, secondary_key};

/// Entries of one index, gathered for sorting.
pub(super) struct Entries<'a> {
    spec: &'a TableSpec,
    index: usize,
    /// Only entries above this are wanted.
    after: Option<&'a [u8]>,
    /// The largest entry that is kept, when some were left out.
    ceiling: Option<Vec<u8>>,
    sort_bytes: usize,
    bytes: Vec<u8>,
    list: Vec<Entry>,
    entry: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    len: u32,
    /// Length of the index's own columns; 0 when one is NULL, which is equal to nothing.
    own: u32,
}

impl<'a> Entries<'a> {
    pub(super) fn new(spec: &'a TableSpec, index: usize, after: Option<&'a [u8]>, sort_bytes: usize) -> Self {
        let (bytes, list, entry) = (Vec::new(), Vec::new(), Vec::new());
        Self { spec, index, after, ceiling: None, sort_bytes, bytes, list, entry }
    }

    /// Takes the entry of a row, if it is wanted.
    pub(super) fn offer(&mut self, body: &[u8], key: &[u8]) -> Result<(), RowError> {
        self.entry.clear();
        let own = secondary_key(self.spec, self.index, body, key, &mut self.entry)?;
        let below = self.ceiling.as_deref().is_none_or(|c| self.entry.as_slice() <= c);
        if !below || self.after.is_some_and(|a| self.entry.as_slice() <= a) {
            return Ok(());
        }
        if self.entry.len() > KEY_SIZE_MAX {
            return Err(RowError::KeyTooLong { bytes: self.entry.len() });
        }
        let own = if has_null(self.spec, self.index, body)? { 0 } else { own as u32 };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&self.entry);
        self.list.push(Entry { start, len: self.entry.len() as u32, own });
        let used = self.bytes.len() + self.list.len() * size_of::<Entry>();
        if used > self.sort_bytes && self.list.len() > 1 {
            self.ceiling = Some(self.halve());
        }
        Ok(())
    }

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

/// What stopped a build: an error, or an entry whose own columns are another's.
pub(super) enum Stopped {
    Duplicate(Vec<u8>),
    Row(RowError),
}

impl<E: Into<RowError>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::Row(error.into())
    }
}

/// Offers the entries of all rows; asks what it is given now and then whether to stop.
pub(super) type Gather<'a> =
    &'a mut dyn FnMut(&mut Entries<'_>, &mut dyn FnMut() -> bool) -> Result<(), RowError>;

/// Builds the tree of one index. `gather` is called once for each part that fits in memory; `stop` is asked now and then.
pub(super) fn build(
    store: &Store,
    tree: &Tree,
    (spec, index, sort_bytes): (&TableSpec, usize, usize),
    gather: Gather<'_>,
    stop: &mut dyn FnMut() -> bool,
) -> Result<(), Stopped> {
    let mut build = BulkBuild::new(store, tree);
    let (mut after, mut last): (Option<Vec<u8>>, Vec<u8>) = (None, Vec::new());
    loop {
        let mut entries = Entries::new(spec, index, after.as_deref(), sort_bytes);
        gather(&mut entries, stop)?;
        entries.sort();
        for (count, e) in entries.list.iter().enumerate() {
            if count.is_multiple_of(4096) && stop() {
                return Err(Stopped::Row(RowError::Interrupted));
            }
            let key = entries.key(*e);
            let own = &key[..e.own as usize];
            if spec.indexes[index].unique && !own.is_empty() {
                if last == own {
                    return Err(Stopped::Duplicate(key.to_vec()));
                }
                last.clear();
                last.extend_from_slice(own);
            }
            build.push_key(0, TrxId(0), key)?;
        }
        let reached = match (&entries.ceiling, entries.list.last()) {
            (Some(_), Some(e)) => entries.key(*e).to_vec(),
            _ => break,
        };
        after = Some(reached);
    }
    Ok(build.finish()?)
}
