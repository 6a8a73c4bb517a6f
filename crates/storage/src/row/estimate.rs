//! Row counts for the optimizer: estimates from the pages near the ends of a range, never a scan.

use std::ops::Bound;

use super::{KeyRange, RowError};
use crate::kernel::Kernel;
use crate::table::Table;

impl Kernel {
    /// Estimated rows in a range of an index; delete-marked ones count.
    pub fn records_in_range(&self, table: &Table, index: usize, range: &KeyRange) -> Result<u64, RowError> {
        if !table.partitions().is_empty() {
            let rows = |part| self.records_in_range(part, index, range);
            return table.partitions().iter().map(|part| rows(part)).sum();
        }
        let (low, high);
        // A bound may be a prefix: what begins with it lies between it and it with 0xff behind.
        let lower = match &range.lower {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(key) => Bound::Included(&key[..]),
            Bound::Excluded(key) => {
                low = above(key);
                Bound::Excluded(&low[..])
            }
        };
        let upper = match &range.upper {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Excluded(key) => Bound::Excluded(&key[..]),
            Bound::Included(key) => {
                high = above(key);
                Bound::Included(&high[..])
            }
        };
        Ok(table.tree(index).estimate_range(&self.store, lower, upper)?)
    }

    /// Estimated rows of the table. Looked up in the tree at first, then kept moving by inserts and deletes;
    /// `refresh` looks again.
    pub fn row_estimate(&self, table: &Table, refresh: bool) -> Result<u64, RowError> {
        if !table.partitions().is_empty() {
            return table.partitions().iter().map(|part| self.row_estimate(part, refresh)).sum();
        }
        if let (Some(rows), false) = (table.known_rows(), refresh) {
            return Ok(rows);
        }
        let rows = table.clustered().size(&self.store)?.records;
        table.set_row_estimate(rows);
        Ok(rows)
    }
}

fn above(prefix: &[u8]) -> Vec<u8> {
    let mut key = prefix.to_vec();
    key.extend_from_slice(&[0xff; 8]);
    key
}
