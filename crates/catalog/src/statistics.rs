//! What ANALYZE TABLE has counted: how many values the leading parts of each index have.
//!
//! Kept with the table's handle, in memory: a new definition of the table, or a restart, begins without.

use std::sync::{Arc, PoisonError, RwLock};

/// Counts of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableStatistics {
    pub rows: u64,
    /// For each index, the number of different values of its first part, of its first two parts, and so on.
    pub distinct: Vec<Vec<u64>>,
}

impl TableStatistics {
    /// Rows that share one value of the first `parts` parts of an index.
    pub fn rows_per_key(&self, index: usize, parts: usize) -> Option<f64> {
        let distinct = *self.distinct.get(index)?.get(parts.checked_sub(1)?)?;
        (distinct > 0).then(|| (self.rows as f64 / distinct as f64).max(1.0))
    }
}

/// The newest counts, shared by readers.
#[derive(Debug, Default)]
pub struct StatisticsCell(RwLock<Option<Arc<TableStatistics>>>);

impl StatisticsCell {
    pub fn get(&self) -> Option<Arc<TableStatistics>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
    pub fn set(&self, statistics: TableStatistics) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(statistics));
    }
}
