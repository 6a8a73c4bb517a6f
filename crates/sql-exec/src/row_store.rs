//! Rows that are gathered and read again: temporary results, derived tables, rounds of a recursion.
//!
//! They stay in memory as far as there is room, the others follow in a temporary file. Written once, then read from the start
//! as often as is wanted, in the order in which they came.

use sql_plan::error::SqlResult;
use types::Value;

use crate::spill::{Row, RowFile, RowReader, RowWriter, Space, weight};

/// Rows that are being gathered.
pub(crate) struct RowStore {
    space: Space,
    rows: Vec<Row>,
    bytes: usize,
    disk: Option<RowWriter>,
    len: u64,
}

impl RowStore {
    pub(crate) fn new(space: Space) -> Self {
        Self { space, rows: Vec::new(), bytes: 0, disk: None, len: 0 }
    }

    pub(crate) fn add(&mut self, row: Row) -> SqlResult<()> {
        self.len += 1;
        if let Some(disk) = &mut self.disk {
            return disk.row(&[&row]);
        }
        self.bytes += weight(&row);
        if self.bytes > self.space.bytes {
            self.disk.insert(RowWriter::create(&self.space)?).row(&[&row])
        } else {
            self.rows.push(row);
            Ok(())
        }
    }

    pub(crate) fn finish(self) -> SqlResult<KeptRows> {
        let disk = self.disk.map(RowWriter::finish).transpose()?;
        Ok(KeptRows { rows: self.rows, disk, len: self.len })
    }
}

/// Rows that have been gathered.
#[derive(Debug, Default)]
pub(crate) struct KeptRows {
    rows: Vec<Row>,
    disk: Option<RowFile>,
    len: u64,
}

impl KeptRows {
    /// Rows that are in memory anyway.
    pub(crate) fn of(rows: Vec<Row>) -> Self {
        Self { len: rows.len() as u64, rows, disk: None }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn on_disk(&self) -> bool {
        self.disk.is_some()
    }

    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor { rows: self.rows.iter(), disk: self.disk.as_ref(), reader: None }
    }
}

/// A pass over gathered rows.
pub(crate) struct Cursor<'r> {
    rows: std::slice::Iter<'r, Row>,
    disk: Option<&'r RowFile>,
    reader: Option<RowReader>,
}

impl Cursor<'_> {
    /// Puts the next row into a vector that is used again; false at the end.
    pub(crate) fn next_into(&mut self, row: &mut Vec<Value>) -> SqlResult<bool> {
        if let Some(next) = self.rows.next() {
            row.clone_from(next);
            return Ok(true);
        }
        let Some(disk) = self.disk else { return Ok(false) };
        self.reader.get_or_insert_with(|| disk.reader()).row_into(row)
    }

    pub(crate) fn next(&mut self) -> SqlResult<Option<Row>> {
        let mut row = Row::new();
        Ok(self.next_into(&mut row)?.then_some(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(bytes: usize) -> KeptRows {
        let mut store = RowStore::new(Space { bytes, directory: "/tmp".into(), file: u64::MAX });
        for i in 0..10_000 {
            store.add(vec![Value::Int(i), Value::utf8("some text that goes along")]).unwrap();
        }
        store.finish().unwrap()
    }

    #[test]
    fn rows_on_disk_are_read_in_their_order_as_often_as_is_wanted() {
        for bytes in [0, 5_000, usize::MAX] {
            let rows = kept(bytes);
            assert_eq!((rows.len(), rows.on_disk()), (10_000, bytes != usize::MAX));
            for _ in 0..2 {
                let (mut cursor, mut row) = (rows.cursor(), Vec::new());
                for i in 0..10_000 {
                    assert!(cursor.next_into(&mut row).unwrap());
                    assert_eq!(format!("{:?}", row[0]), format!("{:?}", Value::Int(i)));
                }
                assert!(cursor.next().unwrap().is_none());
            }
        }
    }

    #[test]
    fn a_file_that_outgrows_its_limit_is_a_full_table() {
        let mut store = RowStore::new(Space { bytes: 0, directory: "/tmp".into(), file: 100_000 });
        let error = (0..10_000).find_map(|i| store.add(vec![Value::Int(i); 4]).err()).expect("a limit");
        assert!(format!("{error:?}").contains("1114"), "{error:?}");
    }
}
