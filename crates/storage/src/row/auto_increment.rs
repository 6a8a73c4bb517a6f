//! AUTO_INCREMENT values and hidden row ids.
//!
//! Both are counters of the open table, read from the tree when they are first used. The next AUTO_INCREMENT value after a restart is
//! one more than the largest in the tree, or what the clustered root remembers, whichever is larger.
//!
//! # Invariants
//! A1. Before a row goes away that may carry the largest value (a delete, an update of the column, the undo of an insert), the root
//!     remembers the counter. This is its own record, before the row's: a crash in between only skips values.
//! A2. The counter is remembered with everything handed out so far, so removing old rows needs no record each.

use std::sync::atomic::Ordering;

use row_format::{ColumnType, RowView, key};
use types::Value;

use super::RowError;
use super::keys::ROW_ID_SIZE;
use super::read::unfold;
use super::version::Version;
use crate::btree::Seek;
use crate::kernel::Kernel;
use crate::table::Table;
use crate::trx::{Trx, Work};

impl Trx {
    /// Reserves `count` values, `step` apart, the first at `offset` modulo `step` (auto_increment_increment and _offset); returns the
    /// first. Values of transactions that roll back are not given out again.
    pub fn reserve_auto_increment(
        &self,
        table: &Table,
        count: u64,
        step: u64,
        offset: u64,
    ) -> Result<u64, RowError> {
        reserve(&self.kernel, table, count, step, offset)
    }

    /// A row was given `value` explicitly: later ones are larger.
    pub fn note_auto_increment(&self, table: &Table, value: u64) -> Result<(), RowError> {
        current(&self.kernel, table)?;
        table.next_auto.fetch_max(value.saturating_add(1), Ordering::Relaxed);
        Ok(())
    }

    /// The next value that would be given out, for SHOW TABLE STATUS.
    pub fn next_auto_increment(&self, table: &Table) -> Result<u64, RowError> {
        current(&self.kernel, table)
    }

    /// ALTER TABLE ... AUTO_INCREMENT = n: raises the counter, durable with the next commit.
    pub fn raise_auto_increment(&self, table: &Table, next: u64) -> Result<(), RowError> {
        self.note_auto_increment(table, next.saturating_sub(1))?;
        save(&self.kernel, table)
    }
}

fn largest(ty: &ColumnType) -> u64 {
    match ty {
        ColumnType::Int { size, unsigned: true } => size.max_unsigned(),
        ColumnType::Int { size, unsigned: false } => size.max_signed() as u64,
        ColumnType::Float { .. } => 1 << 24,
        ColumnType::Double { .. } => 1 << 53,
        _ => u64::MAX,
    }
}

fn reserve(kernel: &Kernel, table: &Table, count: u64, step: u64, offset: u64) -> Result<u64, RowError> {
    let column = table.spec().auto_increment.ok_or(RowError::AutoIncrementExhausted)?;
    let largest = largest(&table.spec().layout.column(column).ty);
    let (step, mut next) = (step.max(1), current(kernel, table)?);
    // MariaDB ignores an offset above the step.
    let offset = if offset > step { 0 } else { offset.max(1) };
    loop {
        let base = next.max(offset);
        let first = base + (step - (base - offset) % step) % step;
        let last =
            count.max(1).checked_sub(1).and_then(|n| n.checked_mul(step)).and_then(|n| n.checked_add(first));
        let (Some(last), true) = (last, first <= largest) else {
            return Err(RowError::AutoIncrementExhausted);
        };
        let after = last.min(largest).saturating_add(1);
        match table.next_auto.compare_exchange_weak(next, after, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Ok(first),
            Err(found) => next = found,
        }
    }
}

/// The counter; reads it from the tree at first use.
fn current(kernel: &Kernel, table: &Table) -> Result<u64, RowError> {
    if !table.partitions().is_empty() {
        for part in table.partitions() {
            current(kernel, part)?;
        }
        return Ok(table.next_auto.load(Ordering::Relaxed).max(1));
    }
    match table.auto_is_read.load(Ordering::Acquire) {
        false => {
            let saved = table.clustered().counter(&kernel.store)?;
            table.saved_auto.fetch_max(saved, Ordering::Relaxed);
            let next = saved.max(largest_in_tree(kernel, table)?.saturating_add(1)).max(1);
            table.next_auto.fetch_max(next, Ordering::Relaxed);
            table.auto_is_read.store(true, Ordering::Release);
            Ok(table.next_auto.load(Ordering::Relaxed))
        }
        true => Ok(table.next_auto.load(Ordering::Relaxed)),
    }
}

/// The largest value in the first index that begins with the column, or in all rows. Delete-marked ones count.
fn largest_in_tree(kernel: &Kernel, table: &Table) -> Result<u64, RowError> {
    let Some(column) = table.spec().auto_increment else { return Ok(0) };
    let first =
        |i: &crate::table::IndexSpec| i.parts.first().is_some_and(|p| p.column == column && !p.descending);
    let spec = table.spec();
    if let Some(index) = spec.indexes.iter().position(first) {
        let leaf = table.tree(index).seek(&kernel.store, Seek::Last)?;
        if !leaf.is_valid() {
            return Ok(0);
        }
        return Ok(value_of_key(table, index, leaf.key()?));
    }
    let mut leaf = table.clustered().seek(&kernel.store, Seek::First)?;
    let mut most = 0;
    while leaf.is_valid() {
        let record = leaf.record()?;
        // The value of a delete-marked row is remembered (A1), and its layout is not known here.
        let version = Version::of(&record);
        let known = !version.is_deleted() || spec.formats.is_empty();
        if known && !record.has_overflow() {
            let mut body = record.body.to_vec();
            unfold(kernel, table, version, &mut body)?;
            most = most.max(value_in(table, column, &body)?);
        }
        if !leaf.move_next()? {
            break;
        }
    }
    Ok(most)
}

/// The integer at the start of a key, by searching for it: keys order as values do.
fn value_of_key(table: &Table, index: usize, found: &[u8]) -> u64 {
    let spec = table.spec();
    let part = &spec.indexes[index].parts[..1];
    let ty = &spec.layout.column(part[0].column).ty;
    let (mut low, mut high) = (0u64, largest(ty));
    // The largest value whose key is not above the one found; 0 when all are.
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let value = match ty {
            ColumnType::Int { unsigned: false, .. } => Value::Int(middle as i64),
            ColumnType::Float { .. } => Value::Float(middle as f32),
            ColumnType::Double { .. } => Value::Double(middle as f64),
            _ => Value::UInt(middle),
        };
        let mut bytes = Vec::new();
        let encoded = key::encode_values(&spec.layout, part, &[value], &mut bytes).is_ok();
        if encoded && (bytes[..] <= *found) { low = middle } else { high = middle - 1 }
    }
    low
}

/// The column's value in a body; negative ones count as 0.
fn value_in(table: &Table, column: usize, body: &[u8]) -> Result<u64, RowError> {
    Ok(match RowView::new(&table.spec().layout, body)?.value(column)? {
        Value::Int(v) => u64::try_from(v).unwrap_or(0),
        Value::UInt(v) => v,
        Value::Float(v) => v.max(0.0) as u64,
        Value::Double(v) => v.max(0.0) as u64,
        _ => 0,
    })
}

/// A1: the root remembers everything handed out so far.
fn save(kernel: &Kernel, table: &Table) -> Result<(), RowError> {
    if let Some(part) = table.partitions().first() {
        return save(kernel, part);
    }
    let next = current(kernel, table)?;
    table.clustered().raise_counter(&kernel.store, next)?;
    table.saved_auto.fetch_max(next, Ordering::Relaxed);
    Ok(())
}

/// Must the root remember the counter before this row may go away?
pub(super) fn must_save(kernel: &Kernel, table: &Table, body: &[u8]) -> Result<bool, RowError> {
    let Some(column) = table.spec().auto_increment else { return Ok(false) };
    current(kernel, table)?;
    Ok(value_in(table, column, body)? >= table.saved_auto.load(Ordering::Relaxed))
}

/// Makes the root remember the counter if this row's going away could lose it. No latch of the table may be held.
pub(super) fn save_before_removal(kernel: &Kernel, table: &Table, body: &[u8]) -> Result<(), RowError> {
    if must_save(kernel, table, body)? { save(kernel, table) } else { Ok(()) }
}

impl Work<'_> {
    pub(super) fn remember_auto_increment(&self, table: &Table, body: &[u8]) -> Result<(), RowError> {
        save_before_removal(self.kernel, table, body)
    }
    pub(super) fn remember_auto_increment_change(
        &self,
        table: &Table,
        old: &[u8],
        new: &[u8],
    ) -> Result<(), RowError> {
        if self.must_remember_auto_increment_change(table, old, new)? {
            save(self.kernel, table)
        } else {
            Ok(())
        }
    }
    /// True also when nobody knows the counter yet: reading it needs latches.
    pub(super) fn must_remember_auto_increment(&self, table: &Table, body: &[u8]) -> Result<bool, RowError> {
        let Some(column) = table.spec().auto_increment else { return Ok(false) };
        let known = table.auto_is_read.load(Ordering::Acquire);
        Ok(!known || value_in(table, column, body)? >= table.saved_auto.load(Ordering::Relaxed))
    }
    pub(super) fn must_remember_auto_increment_change(
        &self,
        table: &Table,
        old: &[u8],
        new: &[u8],
    ) -> Result<bool, RowError> {
        let Some(column) = table.spec().auto_increment else { return Ok(false) };
        let layout = &table.spec().layout;
        if RowView::new(layout, old)?.column(column)? == RowView::new(layout, new)?.column(column)? {
            return Ok(false);
        }
        self.must_remember_auto_increment(table, old)
    }

    /// Appends a new hidden row id as key.
    pub(super) fn new_row_id(&mut self, table: &Table, out: &mut Vec<u8>) -> Result<(), RowError> {
        if table.next_row_id.load(Ordering::Relaxed) == 0 {
            let leaf = table.clustered().seek(&self.kernel.store, Seek::Last)?;
            let mut bytes = [0; 8];
            if leaf.is_valid() && leaf.key()?.len() == ROW_ID_SIZE {
                bytes[2..].copy_from_slice(leaf.key()?);
            }
            table.next_row_id.fetch_max(u64::from_be_bytes(bytes) + 1, Ordering::Relaxed);
        }
        let id = table.next_row_id.fetch_add(1, Ordering::Relaxed);
        out.extend_from_slice(&id.to_be_bytes()[8 - ROW_ID_SIZE..]);
        Ok(())
    }
}
