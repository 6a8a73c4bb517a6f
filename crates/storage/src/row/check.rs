//! CHECK TABLE: the trees by themselves, every row against its entries, every entry against its row.
//!
//! It may run beside writers. Rows are those of the transaction's read view; an entry of a visible row must be in its index, marked
//! or not, and a live entry must belong to a version of its row. Each index must lead to as many visible rows as the clustered one.

use std::sync::Arc;

use super::keys::{clustered_part, secondary_key};
use super::undo::entry_is_needed;
use super::{Direction, KeyRange, ReadMode, RowBuf, RowError};
use crate::btree::Seek;
use crate::kernel::Kernel;
use crate::table::Table;
use crate::trx::Trx;

/// How many problems are described; more are counted.
const DESCRIBED_MAX: usize = 20;

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Visible rows.
    pub rows: u64,
    /// Live entries of each secondary index.
    pub entries: Vec<u64>,
    pub problems: Vec<String>,
    pub problem_count: u64,
}

impl CheckReport {
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }
    /// What was found in another part of the same table.
    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.entries.resize(self.entries.len().max(other.entries.len()), 0);
        self.entries.iter_mut().zip(&other.entries).for_each(|(sum, more)| *sum += more);
        self.problem_count += other.problem_count;
        self.problems.extend(other.problems);
        self.problems.truncate(DESCRIBED_MAX);
    }
    fn problem(&mut self, what: impl FnOnce() -> String) {
        self.problem_count += 1;
        if self.problems.len() < DESCRIBED_MAX {
            self.problems.push(what());
        }
    }
}

/// Called for each row and entry; fails when the check is to end.
type Stop<'a> = &'a mut dyn FnMut() -> Result<(), RowError>;

/// Asks `stop` at every so many calls.
fn every(calls: u32, stop: &mut dyn FnMut() -> bool) -> impl FnMut() -> Result<(), RowError> {
    let mut count = 0;
    move || {
        count = (count + 1) % calls;
        if count == 0 && stop() { Err(RowError::Interrupted) } else { Ok(()) }
    }
}

impl Trx {
    /// Checks a table as far as this transaction sees it. `stop` is asked now and then; [`RowError::Interrupted`] after it said yes.
    pub fn check_table(
        &mut self,
        table: &Arc<Table>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<CheckReport, RowError> {
        let mut report = CheckReport::default();
        if !table.partitions().is_empty() {
            for part in table.partitions() {
                report.add(self.check_table(part, stop)?);
            }
            return Ok(report);
        }
        self.take_snapshot();
        let kernel = Arc::clone(&self.kernel);
        for index in 0..table.spec().indexes.len() {
            match table.tree(index).check_until(&kernel.store, stop) {
                Ok(Some(_)) => {}
                Ok(None) => return Err(RowError::Interrupted),
                Err(error) => {
                    report.problem(|| format!("index {}: {error}", table.spec().indexes[index].name));
                }
            }
        }
        if !report.is_sound() {
            return Ok(report);
        }
        let mut stop = every(1024, stop);
        self.check_rows(table, &mut report, &mut stop)?;
        for index in 1..table.spec().indexes.len() {
            check_entries(&kernel, table, index, &mut report, &mut stop)?;
            let rows = self.count_rows(table, index, &mut stop)?;
            if rows != report.rows {
                let name = &table.spec().indexes[index].name;
                let expected = report.rows;
                report.problem(|| format!("index {name} leads to {rows} rows, the table has {expected}"));
            }
        }
        Ok(report)
    }

    fn count_rows(&mut self, table: &Arc<Table>, index: usize, stop: Stop<'_>) -> Result<u64, RowError> {
        let mut scan =
            self.scan(table, index, KeyRange::all(), Direction::Forward, ReadMode::Consistent).large();
        let (mut row, mut count) = (RowBuf::new(), 0);
        while scan.next(self, &mut row)? {
            count += 1;
            stop()?;
        }
        Ok(count)
    }

    fn check_rows(
        &mut self,
        table: &Arc<Table>,
        report: &mut CheckReport,
        stop: Stop<'_>,
    ) -> Result<(), RowError> {
        let mut scan = self.scan(table, 0, KeyRange::all(), Direction::Forward, ReadMode::Consistent).large();
        let (mut row, mut entry) = (RowBuf::new(), Vec::new());
        while scan.next(self, &mut row)? {
            report.rows += 1;
            stop()?;
            for index in 1..table.spec().indexes.len() {
                entry.clear();
                secondary_key(table.spec(), index, &row.body, &row.key, &mut entry)?;
                let leaf = table.tree(index).seek(&self.kernel.store, Seek::AtLeast(&entry))?;
                if !leaf.is_valid() || leaf.key()? != entry {
                    let name = &table.spec().indexes[index].name;
                    report.problem(|| format!("index {name} lacks the entry of row {:02x?}", row.key));
                }
            }
        }
        Ok(())
    }
}

fn check_entries(
    kernel: &Kernel,
    table: &Table,
    index: usize,
    report: &mut CheckReport,
    stop: Stop<'_>,
) -> Result<(), RowError> {
    let tree = table.tree(index);
    let mut leaf = tree.seek(&kernel.store, Seek::First)?;
    let mut live = 0;
    while leaf.is_valid() {
        stop()?;
        let record = leaf.record()?;
        if !record.is_deleted() {
            live += 1;
            // The leaf of the entry stays latched, so its row cannot lose it meanwhile.
            if clustered_part(record.key).is_err()
                || !entry_is_needed(kernel, table, index, record.key, None)?
            {
                let name = &table.spec().indexes[index].name;
                let key = record.key.to_vec();
                report.problem(|| format!("index {name} has an entry that no row has: {key:02x?}"));
            }
        }
        if !leaf.move_next()? {
            break;
        }
    }
    report.entries.push(live);
    Ok(())
}
