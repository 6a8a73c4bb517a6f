//! Which columns a statement writes: with a `binlog_row_image` that leaves columns out, its events have them.
//!
//! They are those that the statement names, and those whose value it makes: AUTO_INCREMENT, defaults that are computed, stored generated
//! columns, ON UPDATE CURRENT_TIMESTAMP. INSERT ... ON DUPLICATE KEY UPDATE writes the columns of both halves, whichever a row takes.

use std::sync::Arc;

use catalog::program::TriggerEvent;
use catalog::{ColumnDef, DefaultValue, TableHandle};
use row_format::ColumnType;
use sql_plan::plan::{Assignment, InsertPlan, InsertSource, LoadTarget, OnDuplicate};

use crate::exec::Exec;
use crate::trigger;

/// Value of binlog_row_image: its INSERT has all columns, and the updates of INSERT and REPLACE with it.
const FULL_NODUP: u8 = 3;

/// A bit for each column.
struct Columns(Vec<u8>);

impl Columns {
    fn of(table: &TableHandle) -> Self {
        Self(vec![0; table.def.columns.len().div_ceil(8)])
    }
    fn add(&mut self, column: usize) {
        self.0[column / 8] |= 1 << (column % 8);
    }
    fn add_where(&mut self, table: &TableHandle, which: impl Fn(&ColumnDef) -> bool) {
        for (i, _) in table.def.columns.iter().enumerate().filter(|(_, def)| which(def)) {
            self.add(i);
        }
    }
    fn remove_where(&mut self, table: &TableHandle, which: impl Fn(&ColumnDef) -> bool) {
        for (i, _) in table.def.columns.iter().enumerate().filter(|(_, def)| which(def)) {
            self.0[i / 8] &= !(1 << (i % 8));
        }
    }
}

impl Exec<'_, '_> {
    /// Tells the transaction which columns an INSERT, REPLACE or LOAD DATA writes.
    pub(crate) fn say_inserted_columns(&mut self, plan: &InsertPlan) {
        let Some(image) = self.cx.trx.wants_written_columns() else { return };
        let table = &plan.table;
        let mut columns = Columns::of(table);
        let updates = matches!(plan.on_duplicate, OnDuplicate::Update(_));
        // A BEFORE trigger may set any column.
        let changed = trigger::fires_before(table, TriggerEvent::Insert)
            || updates && trigger::fires_before(table, TriggerEvent::Update);
        if image == FULL_NODUP || changed {
            columns.add_where(table, |_| true);
        } else {
            plan.columns.iter().for_each(|column| columns.add(*column));
            if let InsertSource::Load(load) = &plan.source {
                load.sets.iter().for_each(|set| columns.add(set.column));
                for target in &load.targets {
                    if let LoadTarget::Column(column) = target {
                        columns.add(*column);
                    }
                }
            }
            columns.add_where(table, makes_value);
            if let OnDuplicate::Update(assignments) = &plan.on_duplicate {
                assignments.iter().for_each(|a| columns.add(a.column));
                columns.add_where(table, |def| def.on_update_now);
            }
            columns.remove_where(table, |def| def.generated.as_ref().is_some_and(|g| !g.stored));
        }
        self.cx.trx.set_written_columns(&table.table, columns.0.into());
    }

    /// Tells the transaction which columns an UPDATE writes in one of its tables.
    pub(crate) fn say_updated_columns(&mut self, table: &Arc<TableHandle>, assignments: &[Assignment]) {
        if self.cx.trx.wants_written_columns().is_none() {
            return;
        }
        let mut columns = Columns::of(table);
        if trigger::fires_before(table, TriggerEvent::Update) {
            columns.add_where(table, |_| true);
        }
        assignments.iter().for_each(|a| columns.add(a.column));
        columns.add_where(table, |def| def.on_update_now || def.row_time.is_some());
        self.cx.trx.set_written_columns(&table.table, columns.0.into());
    }
}

/// An INSERT that does not name the column computes its value.
fn makes_value(def: &ColumnDef) -> bool {
    def.auto_increment
        || def.row_time.is_some()
        || def.generated.as_ref().is_some_and(|g| g.stored)
        || match def.default {
            DefaultValue::CurrentTimestamp | DefaultValue::Expression(_) => true,
            DefaultValue::Literal(_) => matches!(def.ty, ColumnType::Blob { .. }),
            DefaultValue::None | DefaultValue::Null => false,
        }
}
