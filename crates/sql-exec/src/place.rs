//! Where a HANDLER reads on: the range of an index that a statement scans instead of all of it, and what it came to.

use storage::row::{KeyRange, RowBuf};

/// A scan of one index from a place on.
#[derive(Debug, Default)]
pub struct Place {
    index: usize,
    range: Option<KeyRange>,
    descending: bool,
    row: Option<RowBuf>,
    ended: bool,
}

impl Place {
    pub fn new(index: usize, range: KeyRange, descending: bool) -> Self {
        Self { index, range: Some(range), descending, row: None, ended: false }
    }

    /// Reads no row.
    pub fn nothing() -> Self {
        Self::default()
    }

    pub fn index(&self) -> usize {
        self.index
    }
    pub fn is_descending(&self) -> bool {
        self.descending
    }
    /// The row that was read last.
    pub fn row(&self) -> Option<&RowBuf> {
        self.row.as_ref()
    }
    /// The range had no more rows.
    pub fn ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn ranges(&self) -> Vec<KeyRange> {
        self.range.iter().cloned().collect()
    }
    pub(crate) fn met(&mut self, row: &RowBuf) {
        self.row.get_or_insert_default().clone_from(row);
    }
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }
}
