//! Which keys have been seen, where the answer is wanted at once: UNION DISTINCT of a recursion.
//!
//! Keys gather in memory; when they find no room any more they become a *run* on disk that is looked up by hash (`keyed_rows`),
//! and memory begins anew. Several runs are made one from time to time, so that a lookup reads few files.

use std::collections::HashSet;

use sql_plan::error::SqlResult;
use types::Context;

use crate::keyed_rows::{Keyed, KeyedRows, KeyedStore};
use crate::spill::{Row, Space};

/// Runs that are looked through before they are made one.
const RUNS: usize = 8;
/// What a key takes in memory beside its bytes, about.
const OVERHEAD: usize = 48;

/// A key alone: nothing stands behind it.
#[derive(Debug)]
struct Nothing;

impl Keyed for Nothing {
    fn weight(&self) -> usize {
        0
    }
    fn into_row(self, front: Row) -> Row {
        front
    }
}

pub(crate) struct SeenKeys {
    space: Space,
    sorting: Space,
    keys: HashSet<Vec<u8>>,
    bytes: usize,
    runs: Vec<KeyedRows<Nothing>>,
}

impl SeenKeys {
    pub(crate) fn new(space: Space, sorting: Space) -> Self {
        Self { space, sorting, keys: HashSet::new(), bytes: 0, runs: Vec::new() }
    }

    /// True when the key is new.
    pub(crate) fn insert(&mut self, key: Vec<u8>, cx: &mut Context) -> SqlResult<bool> {
        if self.keys.contains(&key) {
            return Ok(false);
        }
        for run in &self.runs {
            if let Some(mut probe) = run.on_disk(&key)
                && probe.next()?.is_some()
            {
                return Ok(false);
            }
        }
        self.bytes += key.len() + OVERHEAD;
        self.keys.insert(key);
        if self.bytes > self.space.bytes {
            self.write_run(cx)?;
        }
        Ok(true)
    }

    fn write_run(&mut self, cx: &mut Context) -> SqlResult<()> {
        let mut store = KeyedStore::new(Space { bytes: 0, ..self.space.clone() });
        for key in self.keys.drain() {
            store.add(key, Nothing, || self.sorting.clone(), cx)?;
        }
        if self.runs.len() >= RUNS {
            for run in self.runs.drain(..) {
                let mut keys = run.keys_on_disk();
                while let Some(key) = keys.next_key()? {
                    store.add(key, Nothing, || self.sorting.clone(), cx)?;
                }
            }
        }
        self.bytes = 0;
        self.runs.push(store.finish(cx)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_new_once_in_memory_and_in_runs() {
        let mut cx = Context::default();
        for bytes in [3_000, usize::MAX] {
            let space = Space { bytes, directory: "/tmp".into(), file: u64::MAX };
            let mut seen = SeenKeys::new(space.clone(), space);
            let mut new = 0;
            for i in 0..3_000i64 {
                let key = (i * 7919 % 1_000).to_be_bytes().to_vec();
                let first = seen.insert(key, &mut cx).unwrap();
                assert_eq!(first, i < 1_000, "key number {i}");
                new += i64::from(first);
            }
            assert_eq!(new, 1_000);
            assert_eq!(seen.runs.is_empty(), bytes == usize::MAX);
            assert!(seen.runs.len() <= RUNS);
        }
    }
}
