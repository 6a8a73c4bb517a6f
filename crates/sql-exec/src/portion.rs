//! Application-time periods while rows change: what a portion leaves of a row, and keys WITHOUT OVERLAPS.
//!
//! A key WITHOUT OVERLAPS ends with the end and the start of the period. No two rows that are equal before them overlap, so
//! of the rows that end behind the start of a new one only the first can overlap it.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use catalog::TableHandle;
use charset::Collation;
use row_format::{RowView, key};
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::plan::{InsertPlan, PortionPlan};
use storage::row::{Direction, KeyRange, ReadMode, RowBuf, Strength, WaitMode};
use types::Value;

use crate::exec::Exec;
use crate::insert::Progress;
use crate::store::{Nulls, StoreMode};

/// Rows to be inserted for what a portion left of a row.
pub(crate) type Rest = (Arc<InsertPlan>, Vec<Vec<Value>>);

fn values_of(table: &TableHandle, body: &[u8]) -> SqlResult<Vec<Value>> {
    let mut values = Vec::new();
    let view = RowView::new(&table.table.spec().layout, body);
    view.and_then(|v| v.values(&mut values)).map_err(|c| crate::errors::corrupt(&c))?;
    Ok(values)
}

impl Exec<'_, '_> {
    fn is_less(&mut self, a: &Value, b: &Value) -> bool {
        types::compare(a, b, Collation::BINARY, self.cx.values) == Some(Ordering::Less)
    }

    /// Both ends of a portion as its columns hold them.
    fn ends_of(&mut self, portion: &PortionPlan) -> SqlResult<(Value, Value)> {
        use sql_plan::eval::Env;
        let columns = &portion.rest.table.def.columns;
        let (from, to) = (portion.from.eval(self)?, portion.to.eval(self)?);
        let cx = self.context();
        let from = row_format::store(&columns[portion.start].ty, &from, cx).value;
        let to = row_format::store(&columns[portion.end].ty, &to, cx).value;
        Ok((from, to))
    }

    /// What of a row lies outside the portion. `changes` gets the ends of what is inside.
    pub(crate) fn cut(
        &mut self,
        portion: &PortionPlan,
        found: &RowBuf,
        changes: &mut Vec<(usize, Value)>,
    ) -> SqlResult<()> {
        let table = &portion.rest.table;
        let (from, to) = self.ends_of(portion)?;
        let mut old = values_of(table, &found.body)?;
        for (i, column) in table.def.columns.iter().enumerate() {
            if column.auto_increment || column.generated.is_some() || column.row_time.is_some() {
                old[i] = Value::Null;
            }
        }
        let mut rows = Vec::new();
        if self.is_less(&old[portion.start], &from) {
            let mut row = old.clone();
            row[portion.end] = from.clone();
            rows.push(row);
            changes.push((portion.start, from));
        }
        if self.is_less(&to, &old[portion.end]) {
            let mut row = old;
            row[portion.start] = to.clone();
            rows.push(row);
            changes.push((portion.end, to));
        }
        self.versions += rows.len() as u64;
        self.rest = Some((Arc::clone(&portion.rest), rows));
        Ok(())
    }

    /// Inserts what a portion has left of the last row.
    pub(crate) fn insert_rest(&mut self) -> SqlResult<()> {
        let Some((plan, rows)) = self.rest.take() else { return Ok(()) };
        let strict = self.cx.values.sql_mode.strict();
        for row in rows {
            let mode = StoreMode { strict, row: 1, nulls: Nulls::ByMode };
            self.insert_row(&plan, row, mode, &mut Progress::default())?;
        }
        Ok(())
    }

    /// The key WITHOUT OVERLAPS in which a row would overlap another than `own`.
    pub(crate) fn overlapping(
        &mut self,
        table: &Arc<TableHandle>,
        own: Option<&RowBuf>,
        body: &[u8],
    ) -> SqlResult<Option<usize>> {
        if table.def.period.is_none() {
            return Ok(None);
        }
        let keys = (0..table.def.indexes.len()).filter(|i| table.def.indexes[*i].without_overlaps);
        for index in keys {
            if self.overlaps_in(table, index, own, body)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn overlaps_in(
        &mut self,
        table: &Arc<TableHandle>,
        index: usize,
        own: Option<&RowBuf>,
        body: &[u8],
    ) -> SqlResult<bool> {
        let spec = table.table.spec();
        let parts = &spec.indexes[index].parts;
        let values = values_of(table, body)?;
        let own_parts = parts.len() - 2;
        let (end, start) = (parts[own_parts].column, parts[own_parts + 1].column);
        let mut given: Vec<Value> = parts[..own_parts].iter().map(|p| values[p.column].clone()).collect();
        if given.iter().any(Value::is_null) {
            return Ok(false);
        }
        let (mut prefix, mut lower) = (Vec::new(), Vec::new());
        let too_long = |_| SqlError::KeyTooLong(catalog::KEY_BYTES_MAX as u32);
        key::encode_values(&spec.layout, &parts[..own_parts], &given, &mut prefix).map_err(too_long)?;
        given.push(values[start].clone());
        key::encode_values(&spec.layout, &parts[..=own_parts], &given, &mut lower).map_err(too_long)?;
        let range = KeyRange { lower: Bound::Excluded(lower), upper: Bound::Included(prefix) };
        let mode = ReadMode::Locking { strength: Strength::Shared, wait: WaitMode::Wait };
        let mut scan = self.cx.trx.scan(&table.table, index, range, Direction::Forward, mode);
        let mut row = RowBuf::new();
        while scan.next(self.cx.trx, &mut row).map_err(|e| self.row_error(e, table, None))? {
            if own.is_some_and(|own| own.key == row.key) {
                continue;
            }
            let other = values_of(table, &row.body)?;
            return Ok(self.is_less(&other[start], &values[end]));
        }
        Ok(false)
    }

    /// Refuses a changed row that would overlap another.
    pub(crate) fn refuse_overlap(
        &mut self,
        table: &Arc<TableHandle>,
        found: &RowBuf,
        body: &[u8],
    ) -> SqlResult<()> {
        match self.overlapping(table, Some(found), body)? {
            Some(index) => {
                let error = storage::row::RowError::DuplicateKey { index };
                Err(self.row_error(error, table, Some(body)))
            }
            None => Ok(()),
        }
    }
}
