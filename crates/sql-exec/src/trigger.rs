//! Triggers around the change of a row.
//!
//! # Order
//! values of the statement -> BEFORE triggers, which may change them -> NOT NULL -> AUTO_INCREMENT, generated columns, CHECK, foreign
//! keys -> the row is written -> AFTER triggers. So NULL may stand in any column while BEFORE triggers run
//! ([`Nulls::Late`]). Rows that a foreign key changes along fire nothing.
//!
//! A table without triggers costs one look at an empty list.

use std::sync::Arc;

use catalog::program::TriggerEvent;
use catalog::{DefaultValue, TableHandle};
use row_format::RowView;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::plan::{InsertPlan, ViewRule};
use storage::row::RowBuf;
use types::Value;

use crate::computed;
use crate::context::{Firing, Inside};
use crate::exec::Exec;
use crate::partitioned::Parts;
use crate::store::{self, Nulls, StoreMode};

/// Whether a table has triggers for an event.
pub(crate) fn fires(table: &TableHandle, event: TriggerEvent) -> bool {
    !table.triggers.is_empty() && table.triggers.iter().any(|t| t.event == event)
}

/// Whether a table has BEFORE triggers for an event: they see rows in which NULL stands in NOT NULL columns.
pub(crate) fn fires_before(table: &TableHandle, event: TriggerEvent) -> bool {
    !table.triggers.is_empty() && table.triggers.iter().any(|t| t.event == event && t.before)
}

/// Equal values of one column look the same.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Int(a), Value::Int(b)) => a == b,
        _ => format!("{a:?}") == format!("{b:?}"),
    }
}

/// Whether the value of a column comes from elsewhere than the statement.
fn makes_itself(def: &catalog::ColumnDef) -> bool {
    def.auto_increment || def.generated.is_some() || def.row_time.is_some()
}

/// A changed column with its new value, of all that are not computed.
type Changes = Vec<(usize, Value)>;

impl Exec<'_, '_> {
    /// Runs the triggers of one event and time for a row.
    fn fire(
        &mut self,
        table: &Arc<TableHandle>,
        event: TriggerEvent,
        before: bool,
        old: &[Value],
        new: &mut [Value],
    ) -> SqlResult<()> {
        if !table.triggers.iter().any(|t| t.event == event && t.before == before) {
            return Ok(());
        }
        let cx = &mut *self.cx;
        let inside = Inside { trx: cx.trx, values: cx.values, warnings: cx.warnings, settings: cx.settings };
        cx.session.fire(&Firing { table, event, before }, old, new, inside)
    }

    /// All values of a row body.
    fn values_of_body(&self, table: &TableHandle, body: &[u8]) -> SqlResult<Vec<Value>> {
        let mut values = Vec::new();
        let view = RowView::new(&table.table.spec().layout, body);
        view.and_then(|v| v.values(&mut values)).map_err(|c| crate::errors::corrupt(&c))?;
        Ok(values)
    }

    /// BEFORE INSERT, and NOT NULL behind it.
    pub(crate) fn before_insert(
        &mut self,
        plan: &InsertPlan,
        values: &mut [Value],
        mode: StoreMode,
    ) -> SqlResult<()> {
        let table = &plan.table;
        if !fires_before(table, TriggerEvent::Insert) {
            return Ok(());
        }
        let auto = table.def.auto_increment().filter(|c| !plan.columns.contains(c));
        if let Some(auto) = auto {
            values[auto] = store::implicit_default(&table.def.columns[auto].ty);
        }
        if let Some(program) = computed::program_of(table)? {
            self.compute_row(table, program, values, mode)?;
        }
        self.fire(table, TriggerEvent::Insert, true, &[], values)?;
        if let Some(auto) = auto
            && same(&values[auto], &store::implicit_default(&table.def.columns[auto].ty))
        {
            values[auto] = Value::Null;
        }
        let mode = StoreMode { nulls: crate::insert::settled_nulls(plan), ..mode };
        self.settle_nulls(table, &plan.columns, values, mode)
    }

    /// NULL in a NOT NULL column after the BEFORE triggers. `named`: columns that the statement gave values.
    fn settle_nulls(
        &mut self,
        table: &Arc<TableHandle>,
        named: &[usize],
        values: &mut [Value],
        mode: StoreMode,
    ) -> SqlResult<()> {
        for (i, def) in table.def.columns.iter().enumerate() {
            if !values[i].is_null() || def.nullable || makes_itself(def) {
                continue;
            }
            if named.contains(&i) && store::is_now_for_null(def) {
                values[i] = store::now_for(&def.ty, self.cx.values);
                continue;
            }
            let missing = !named.contains(&i) && matches!(def.default, DefaultValue::None);
            let error = if missing {
                SqlError::NoDefault(def.name.clone())
            } else {
                SqlError::ColumnCannotBeNull(def.name.clone())
            };
            if mode.strict || !missing && mode.nulls == Nulls::Refused {
                return Err(error);
            }
            self.cx.warnings.warn(error);
            values[i] = store::implicit_default(&def.ty);
        }
        Ok(())
    }

    /// AFTER INSERT.
    pub(crate) fn after_insert(&mut self, table: &Arc<TableHandle>, values: &mut [Value]) -> SqlResult<()> {
        if table.triggers.is_empty() {
            return Ok(());
        }
        self.fire(table, TriggerEvent::Insert, false, &[], values)
    }

    /// Deletes a row of the statement's own with the triggers around it.
    pub(crate) fn remove_own_row(&mut self, table: &Arc<TableHandle>, row: &RowBuf) -> SqlResult<()> {
        if !fires(table, TriggerEvent::Delete) {
            self.remove_row(table, row)?;
            return self.insert_rest();
        }
        let old = self.values_of_body(table, &row.body)?;
        self.fire(table, TriggerEvent::Delete, true, &old, &mut [])?;
        self.remove_row(table, row)?;
        self.insert_rest()?;
        self.fire(table, TriggerEvent::Delete, false, &old, &mut [])
    }

    /// Changes a row of the statement's own with the triggers around it; false when nothing is different. AFTER triggers run then,
    /// too.
    pub(crate) fn change_own_row(
        &mut self,
        table: &Arc<TableHandle>,
        found: &RowBuf,
        changes: Changes,
        rules: &[ViewRule],
        parts: &Parts,
        mode: StoreMode,
    ) -> SqlResult<bool> {
        let old = self.values_of_body(table, &found.body)?;
        let mut new = old.clone();
        let mut assigned = vec![false; new.len()];
        for (column, value) in changes {
            new[column] = value;
            assigned[column] = true;
        }
        if fires_before(table, TriggerEvent::Update) {
            if let Some(program) = computed::program_of(table)? {
                self.compute_row(table, program, &mut new, mode)?;
            }
            let given = new.clone();
            self.fire(table, TriggerEvent::Update, true, &old, &mut new)?;
            for (i, value) in given.iter().enumerate() {
                assigned[i] |= !same(value, &new[i]);
            }
            let every: Vec<usize> = (0..new.len()).collect();
            self.settle_nulls(table, &every, &mut new, mode)?;
        }
        if !rules.is_empty() {
            self.check_view(rules, &new)?;
        }
        let columns = &table.def.columns;
        let changes = (0..new.len())
            .filter(|i| assigned[*i] && columns[*i].generated.is_none() && columns[*i].row_time.is_none());
        let changes: Changes = changes.map(|i| (i, new[i].clone())).collect();
        let changed = self.change_row(table, found, changes, parts)?;
        if table.triggers.iter().any(|t| t.event == TriggerEvent::Update && !t.before) {
            // The row as it was written is in the buffer.
            let body = if changed { std::mem::take(&mut self.cx.workspace.body) } else { found.body.clone() };
            let mut new = self.values_of_body(table, &body)?;
            if changed {
                self.cx.workspace.body = body;
            }
            self.insert_rest()?;
            self.fire(table, TriggerEvent::Update, false, &old, &mut new)?;
        }
        self.insert_rest()?;
        Ok(changed)
    }
}
