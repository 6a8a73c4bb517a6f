//! Rows that are looked up by key: the tables of hash joins.
//!
//! In memory a hash map from the key to the rows. Rows that find no room are sorted by a hash of their key, when all are in, and
//! written to a file in this order, key with them. In memory stays a *fence* for each block of the file: the hash of its first
//! row and where it stands. A lookup asks the map, then reads from the last fence below its hash until the hash is passed.
//!
//! # Layout of a row in the file
//! hash | key | the row's values

use std::collections::HashMap;
use std::sync::LazyLock;

use charset::Collation;
use sql_plan::error::SqlResult;
use sql_plan::expr::{CompareAs, Expr};
use sql_plan::plan::SortKey;
use types::{Context, Value};

use crate::distinct::hash_of;
use crate::select::Limit;
use crate::sort::Sorter;
use crate::spill::{Row, RowFile, RowReader, RowWriter, Space};

/// Bytes of the file between two fences, and read at a time.
const BLOCK: u64 = 8 * 1024;

/// What an entry takes beside its key and row, about.
const OVERHEAD: usize = 64;

static BY_HASH: LazyLock<[SortKey; 1]> =
    LazyLock::new(|| [SortKey { expr: Expr::int(0), compare: CompareAs::Int, descending: false }]);

/// What is looked up: it says what memory it takes and can be a row of values.
pub(crate) trait Keyed {
    fn weight(&self) -> usize;
    fn into_row(self, front: Row) -> Row;
}

/// Rows while they are gathered.
pub(crate) struct KeyedStore<R> {
    space: Space,
    rows: Vec<R>,
    by_key: HashMap<Vec<u8>, Vec<u32>>,
    bytes: usize,
    disk: Option<Sorter<'static>>,
}

/// Rows that can be looked up.
#[derive(Debug)]
pub(crate) struct KeyedRows<R> {
    rows: Vec<R>,
    by_key: HashMap<Vec<u8>, Vec<u32>>,
    disk: Option<HashedFile>,
}

#[derive(Debug)]
pub(crate) struct HashedFile {
    file: RowFile,
    fences: Vec<(i64, u64)>,
}

fn signed_hash(key: &[u8]) -> i64 {
    hash_of(key) as i64
}

impl<R: Keyed> KeyedStore<R> {
    /// `space` is for the rows in memory.
    pub(crate) fn new(space: Space) -> Self {
        Self { space, rows: Vec::new(), by_key: HashMap::new(), bytes: 0, disk: None }
    }

    /// `sorting` is what the rows that go to disk are sorted in.
    pub(crate) fn add(
        &mut self,
        key: Vec<u8>,
        row: R,
        sorting: impl FnOnce() -> Space,
        cx: &mut Context,
    ) -> SqlResult<()> {
        if self.disk.is_none() {
            self.bytes += key.len() + row.weight() + OVERHEAD;
            if self.bytes <= self.space.bytes {
                let number = self.rows.len() as u32;
                self.rows.push(row);
                self.by_key.entry(key).or_default().push(number);
                return Ok(());
            }
        }
        let hash = signed_hash(&key);
        let row = row.into_row(vec![Value::Int(hash), Value::str(&key, Collation::BINARY)]);
        let sorter = self.disk.get_or_insert_with(|| Sorter::new(&*BY_HASH, Limit::NONE, sorting()));
        sorter.add(vec![Value::Int(hash)], row, cx)
    }

    pub(crate) fn finish(self, cx: &mut Context) -> SqlResult<KeyedRows<R>> {
        let disk = self.disk.map(|sorter| HashedFile::write(sorter, &self.space, cx)).transpose()?;
        Ok(KeyedRows { rows: self.rows, by_key: self.by_key, disk })
    }
}

impl<R> KeyedRows<R> {
    /// Numbers of the rows in memory with this key.
    pub(crate) fn numbers(&self, key: &[u8]) -> &[u32] {
        self.by_key.get(key).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn row(&self, number: u32) -> &R {
        &self.rows[number as usize]
    }

    pub(crate) fn is_on_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// The keys of the rows on disk, one after the other.
    pub(crate) fn keys_on_disk(&self) -> Keys {
        Keys(self.disk.as_ref().map(|disk| disk.file.reader()))
    }

    /// The rows on disk with this key.
    pub(crate) fn on_disk(&self, key: &[u8]) -> Option<Probe> {
        self.disk.as_ref().map(|disk| disk.probe(key))
    }
}

impl HashedFile {
    fn write(sorter: Sorter<'_>, space: &Space, cx: &mut Context) -> SqlResult<Self> {
        let mut sorted = sorter.finish(cx)?;
        let mut writer = RowWriter::create(space)?;
        let mut fences: Vec<(i64, u64)> = Vec::new();
        while let Some(row) = sorted.next(cx)? {
            let at = writer.position();
            if let Value::Int(hash) = row[0]
                && fences.last().is_none_or(|(_, last)| at - last >= BLOCK)
            {
                fences.push((hash, at));
            }
            writer.row(&[&row])?;
        }
        Ok(Self { file: writer.finish()?, fences })
    }

    fn probe(&self, key: &[u8]) -> Probe {
        let hash = signed_hash(key);
        // Rows of the same hash may begin in the block before the first fence that has it.
        let after = self.fences.partition_point(|(first, _)| *first < hash);
        let at = after.checked_sub(1).map_or(0, |fence| self.fences[fence].1);
        Probe { reader: self.file.reader_at(at, BLOCK as usize), hash, key: key.to_vec() }
    }
}

/// A pass over the keys of a file.
pub(crate) struct Keys(Option<RowReader>);

impl Keys {
    pub(crate) fn next_key(&mut self) -> SqlResult<Option<Vec<u8>>> {
        let Some(reader) = &mut self.0 else { return Ok(None) };
        Ok(match reader.row()?.as_deref() {
            Some([_, Value::Str(key), ..]) => Some(key.bytes().to_vec()),
            _ => None,
        })
    }
}

/// One lookup in the file.
pub(crate) struct Probe {
    reader: RowReader,
    hash: i64,
    key: Vec<u8>,
}

impl Probe {
    /// The next row with the key, without hash and key.
    pub(crate) fn next(&mut self) -> SqlResult<Option<Row>> {
        while let Some(mut row) = self.reader.row()? {
            match &row[..] {
                [Value::Int(hash), ..] if *hash < self.hash => {}
                [Value::Int(hash), Value::Str(key), ..] if *hash == self.hash => {
                    if key.bytes() == self.key {
                        return Ok(Some(row.split_off(2)));
                    }
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spill::weight;

    impl Keyed for Row {
        fn weight(&self) -> usize {
            weight(self)
        }
        fn into_row(self, mut front: Row) -> Row {
            front.extend(self);
            front
        }
    }

    fn space(bytes: usize) -> Space {
        Space { bytes, directory: "/tmp".into(), file: u64::MAX }
    }

    #[test]
    fn a_key_finds_its_rows_in_memory_and_on_disk() {
        let mut cx = Context::default();
        for bytes in [0, 20_000, usize::MAX] {
            let mut store = KeyedStore::new(space(bytes));
            for i in 0..6_000i64 {
                let key = (i % 500).to_be_bytes().to_vec();
                store.add(key, vec![Value::Int(i)], || space(50_000), &mut cx).unwrap();
            }
            let rows = store.finish(&mut cx).unwrap();
            for k in 0..501i64 {
                let key = k.to_be_bytes();
                let mut found: Vec<Row> = rows.numbers(&key).iter().map(|n| rows.row(*n).clone()).collect();
                if let Some(mut probe) = rows.on_disk(&key) {
                    while let Some(row) = probe.next().unwrap() {
                        found.push(row);
                    }
                }
                let expected: Vec<Row> =
                    (0..6_000).filter(|i| i % 500 == k).map(|i| vec![Value::Int(i)]).collect();
                assert_eq!(format!("{found:?}"), format!("{expected:?}"), "key {k} with {bytes} bytes");
            }
        }
    }
}
