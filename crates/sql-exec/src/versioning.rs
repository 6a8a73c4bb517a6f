//! Writes to system-versioned tables.
//!
//! A row says in two columns when it began and when it ended; a current row ends at the greatest time. All other work is that of an
//! ordinary table, with three differences:
//! - a new row begins at the statement's time;
//! - an UPDATE of versioned columns makes the current row begin now, and inserts what it was before as a row that ends now;
//! - a DELETE lets the current row end now. Only DELETE HISTORY removes rows.
//!
//! The end is the last part of every unique key, so old versions are in nobody's way. A row that would end when it began leaves no
//! version: it was made by the same statement, or at the same `@@timestamp`.

use std::sync::Arc;

use catalog::TableHandle;
use row_format::RowView;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::plan::DeletePlan;
use sql_plan::versioning::CURRENT_END;
use storage::row::{RowBuf, RowError};
use types::{Context, Timestamp, Value};

use crate::exec::{Exec, Flow};
use crate::row;

/// The statement's time.
pub(crate) fn now(cx: &Context) -> Timestamp {
    Timestamp {
        seconds: cx.now_micros.div_euclid(1_000_000) as u64,
        micros: cx.now_micros.rem_euclid(1_000_000) as u32,
        fsp: 6,
    }
}

fn moment(table: &TableHandle, body: &[u8], column: usize) -> SqlResult<Timestamp> {
    let view = RowView::new(&table.table.spec().layout, body);
    match view.and_then(|v| v.value(column)).map_err(|c| crate::errors::corrupt(&c))? {
        Value::Timestamp(at) => Ok(at),
        _ => Ok(Timestamp::default()),
    }
}

fn before(a: Timestamp, b: Timestamp) -> bool {
    (a.seconds, a.micros) < (b.seconds, b.micros)
}

/// Whether a row is the current version, or its table has no others.
pub(crate) fn is_current(table: &TableHandle, body: &[u8]) -> SqlResult<bool> {
    match table.versioning {
        Some((_, end)) => Ok(!before(moment(table, body, end)?, CURRENT_END)),
        None => Ok(true),
    }
}

/// Whether an UPDATE of these columns leaves a version behind.
pub(crate) fn keeps_history(table: &TableHandle, changes: &[(usize, Value)]) -> bool {
    let versioned = |c: usize| !table.def.columns[c].unversioned && table.def.columns[c].generated.is_none();
    table.versioning.is_some() && changes.iter().any(|(column, _)| versioned(*column))
}

/// Gives a row its life, where it is not `given`.
pub(crate) fn fill(table: &TableHandle, values: &mut [Value], given: &dyn Fn(usize) -> bool, cx: &Context) {
    let Some((start, end)) = table.versioning else { return };
    for (column, value) in [(start, now(cx)), (end, CURRENT_END)] {
        if values[column].is_null() || !given(column) {
            values[column] = Value::Timestamp(value);
        }
    }
}

/// Gives a new row its life. `given` are columns whose values the statement may set itself.
pub(crate) fn begin(
    table: &TableHandle,
    values: &mut [Value],
    given: &[usize],
    cx: &Context,
) -> SqlResult<()> {
    let Some((start, end)) = table.versioning else { return Ok(()) };
    fill(table, values, &|column| given.contains(&column), cx);
    match (&values[start], &values[end]) {
        (Value::Timestamp(a), Value::Timestamp(b)) if !given.is_empty() && !before(*a, *b) => {
            let text = |value: &Value| {
                let mut out = Vec::new();
                value.write_text(cx, &mut out);
                String::from_utf8_lossy(&out).into_owned()
            };
            let (names, a, b) = (&table.def.columns, text(&values[start]), text(&values[end]));
            Err(SqlError::Other {
                errno: 4112,
                state: *b"HY000",
                text: format!(
                    "Incorrect system-version range '{}' value: '{a}' and '{}' value: '{b}'",
                    names[start].name, names[end].name
                ),
            })
        }
        _ => Ok(()),
    }
}

impl Exec<'_, '_> {
    /// Keeps what a changed row was before as a version that ends now.
    pub(crate) fn keep_version(&mut self, table: &Arc<TableHandle>, found: &RowBuf) -> SqlResult<()> {
        let Some((start, end)) = table.versioning else { return Ok(()) };
        let now = now(self.cx.values);
        if !before(moment(table, &found.body, start)?, now) {
            return Ok(());
        }
        let mut version = Vec::new();
        let ends = [(end, Value::Timestamp(now))];
        row::rebuild(&table.table.spec().layout, &found.body, &ends, &mut version)?;
        let kept = self.cx.trx.insert(&table.table, &version);
        kept.map_err(|e| self.row_error(e, table, Some(&version)))
    }

    /// Lets a current row end now.
    pub(crate) fn end_row(&mut self, table: &Arc<TableHandle>, found: &RowBuf) -> SqlResult<()> {
        let Some((_, end)) = table.versioning else { return Ok(()) };
        let ends = [(end, Value::Timestamp(now(self.cx.values)))];
        let mut version = Vec::new();
        row::rebuild(&table.table.spec().layout, &found.body, &ends, &mut version)?;
        match self.cx.trx.update(&table.table, found, &version) {
            // A version that ends now is there: this one has not been seen by anybody.
            Err(RowError::DuplicateKey { .. }) => self.cx.trx.delete(&table.table, found).map(|_| ()),
            other => other.map(|_| ()),
        }
        .map_err(|e| self.row_error(e, table, Some(&version)))
    }

    /// DELETE HISTORY. No trigger and no foreign key is concerned.
    pub(crate) fn delete_history(&mut self, plan: &DeletePlan) -> SqlResult<u64> {
        let (slot, table) = &plan.targets[0];
        let mut affected = 0;
        self.rows(&plan.select, &mut |exec| {
            let found = std::mem::take(&mut exec.cx.workspace.slots[usize::from(*slot)].buf);
            let gone = exec.cx.trx.delete(&table.table, &found);
            exec.cx.workspace.slots[usize::from(*slot)].buf = found;
            gone.map_err(|e| exec.row_error(e, table, None))?;
            affected += 1;
            Ok(Flow::Continue)
        })?;
        Ok(affected)
    }
}
