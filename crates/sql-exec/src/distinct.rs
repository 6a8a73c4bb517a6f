//! Which rows have been seen: the set behind DISTINCT and UNION.
//!
//! Keys are kept in memory as far as there is room. From then on a row whose key is not in memory is put aside, into one of
//! several files by a hash of its key; when all rows are in, each file is gone through with a set of its own, and what finds no
//! room there goes to files by the next bits of the hash. So a row costs as many writes as the set is deep: one file more for
//! each time that the keys are sixteen times what the memory holds.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use charset::Collation;
use sql_plan::error::SqlResult;
use types::Value;

use crate::spill::{Row, RowFile, RowReader, RowWriter, Space};

const FILES: usize = 16;
const BITS: u32 = 4;
/// What a key takes in the set beside its bytes, about.
const OVERHEAD: usize = 48;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admitted {
    New,
    Known,
    /// To be put aside with [`Distinct::put_aside`].
    NoRoom,
}

/// A hash that is the same in each run: rows are spread by it over files.
pub(crate) fn hash_of(key: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(key)
}

pub(crate) struct Distinct {
    space: Space,
    seen: HashSet<Vec<u8>>,
    bytes: usize,
    level: u32,
    aside: Vec<Option<RowWriter>>,
}

impl Distinct {
    pub(crate) fn new(space: Space) -> Self {
        Self::at_level(space, 0)
    }

    fn at_level(space: Space, level: u32) -> Self {
        Self { space, seen: HashSet::new(), bytes: 0, level, aside: Vec::new() }
    }

    /// Whether new keys find no room. Keys whose hashes are wholly equal cannot be spread any more: they always do.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > self.space.bytes && self.level * BITS < u64::BITS
    }

    /// Whether a key is new.
    pub(crate) fn admit(&mut self, key: Vec<u8>) -> Admitted {
        if self.is_full() {
            return if self.seen.contains(&key) { Admitted::Known } else { Admitted::NoRoom };
        }
        let bytes = key.len() + OVERHEAD;
        if self.seen.insert(key) {
            self.bytes += bytes;
            Admitted::New
        } else {
            Admitted::Known
        }
    }

    /// Keeps a row of which it is not known whether its key is new.
    pub(crate) fn put_aside(&mut self, key: &[u8], row: &[Value]) -> SqlResult<()> {
        let at = (hash_of(key) >> (self.level * BITS)) as usize % FILES;
        if self.aside.is_empty() {
            self.aside.resize_with(FILES, || None);
        }
        let file = &mut self.aside[at];
        if file.is_none() {
            *file = Some(RowWriter::create(&self.space)?);
        }
        match file {
            Some(file) => file.row(&[row, &[Value::str(key, Collation::BINARY)]]),
            None => Ok(()),
        }
    }

    pub(crate) fn has_aside(&self) -> bool {
        !self.aside.is_empty()
    }

    /// The rows that were put aside and are new.
    pub(crate) fn rest(self) -> SqlResult<Rest> {
        let mut rest = Rest { space: self.space, pending: Vec::new(), current: None };
        rest.take_files(self.aside, self.level + 1)?;
        Ok(rest)
    }
}

/// Rows that were put aside, gone through file by file.
pub(crate) struct Rest {
    space: Space,
    pending: Vec<(RowFile, u32)>,
    current: Option<(RowReader, Distinct)>,
}

impl Rest {
    fn take_files(&mut self, files: Vec<Option<RowWriter>>, level: u32) -> SqlResult<()> {
        for file in files.into_iter().flatten() {
            self.pending.push((file.finish()?, level));
        }
        Ok(())
    }

    pub(crate) fn next(&mut self) -> SqlResult<Option<Row>> {
        loop {
            let Some((reader, set)) = &mut self.current else {
                let Some((file, level)) = self.pending.pop() else { return Ok(None) };
                self.current = Some((file.reader(), Distinct::at_level(self.space.clone(), level)));
                continue;
            };
            let Some(mut row) = reader.row()? else {
                if let Some((_, set)) = self.current.take() {
                    self.take_files(set.aside, set.level + 1)?;
                }
                continue;
            };
            let key = match row.pop() {
                Some(Value::Str(key)) => key.bytes().to_vec(),
                _ => Vec::new(),
            };
            match set.admit(key.clone()) {
                Admitted::New => return Ok(Some(row)),
                Admitted::Known => {}
                Admitted::NoRoom => set.put_aside(&key, &row)?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_comes_once_however_little_room_there_is() {
        for bytes in [0, 1_000, usize::MAX] {
            let mut set = Distinct::new(Space { bytes, directory: "/tmp".into(), file: u64::MAX });
            let mut found = Vec::new();
            for i in 0..20_000i64 {
                let n = i * 7919 % 3_000;
                let key = n.to_be_bytes().to_vec();
                match set.admit(key.clone()) {
                    Admitted::New => found.push(n),
                    Admitted::Known => {}
                    Admitted::NoRoom => set.put_aside(&key, &[Value::Int(n)]).unwrap(),
                }
            }
            assert_eq!(set.has_aside(), bytes != usize::MAX);
            let mut rest = set.rest().unwrap();
            while let Some(row) = rest.next().unwrap() {
                match row[..] {
                    [Value::Int(n)] => found.push(n),
                    _ => panic!("{row:?}"),
                }
            }
            found.sort_unstable();
            assert_eq!(found, (0..3_000).collect::<Vec<i64>>());
        }
    }
}
