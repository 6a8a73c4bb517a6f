//! INSERT and REPLACE.
//!
//! For each row: values in the order of the column list, defaults for the rest, AUTO_INCREMENT, conversion, NOT NULL, body,
//! then the engine. On a duplicate key nothing of the row stays, and the statement's rule applies.

use std::sync::Arc;

use catalog::program::TriggerEvent;
use catalog::{DefaultValue, TableHandle};
use row_format::{ColumnType, IntSize, key};
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::plan::{AssignValue, Assignment, InsertPlan, InsertSource, OnDuplicate, QueryPlan};
use storage::row::{ReadMode, RowBuf, RowError, Strength, WaitMode};
use types::Value;

use crate::computed;
use crate::context::{SlotState, Work};
use crate::exec::{Exec, Flow};
use crate::outcome::Outcome;
use crate::partitioned;
use crate::row;
use crate::row_store::KeptRows;
use crate::store::{self, Nulls, StoreMode};
use crate::trigger;
use crate::update::update_nulls;
use crate::versioning;

/// Counters of one INSERT.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) records: u64,
    duplicates: u64,
    affected: u64,
    /// First generated AUTO_INCREMENT value.
    first_generated: u64,
    /// The last explicit value of the AUTO_INCREMENT column.
    last_explicit: u64,
    /// LAST_INSERT_ID(expr) or the id of the row that ON DUPLICATE KEY UPDATE changed.
    updated_id: u64,
}

impl Exec<'_, '_> {
    pub(crate) fn insert(&mut self, plan: &InsertPlan) -> SqlResult<Outcome> {
        self.say_inserted_columns(plan);
        let mut progress = Progress::default();
        let warnings = self.cx.warnings.count();
        let multi = match &plan.source {
            InsertSource::Rows(rows) => {
                for row in rows {
                    progress.records += 1;
                    self.cx.warnings.at_row(progress.records);
                    self.insert_values(plan, row, &mut progress)?;
                }
                rows.len() > 1
            }
            InsertSource::Query(query) => {
                self.insert_query(plan, query, &mut progress)?;
                true
            }
            InsertSource::Load(load) => {
                self.load(plan, load, &mut progress)?;
                return Ok(self.load_outcome(plan, &progress, warnings));
            }
        };
        Ok(self.insert_outcome(plan, progress, multi, warnings))
    }

    /// The rows of a query: as they come, unless what the query reads may change while the table grows.
    fn insert_query(
        &mut self,
        plan: &InsertPlan,
        query: &QueryPlan,
        progress: &mut Progress,
    ) -> SqlResult<()> {
        if plan.reads_target || !plan.table.triggers.is_empty() || self.has_relations(&plan.table) {
            let rows = self.gather(query)?;
            let mut cursor = rows.cursor();
            while let Some(row) = cursor.next()? {
                self.count_row()?;
                progress.records += 1;
                self.cx.warnings.at_row(progress.records);
                self.insert_selected(plan, row, progress)?;
            }
            return Ok(());
        }
        self.query(query, &mut |exec, out| {
            let row = out.values(exec)?;
            exec.count_row()?;
            progress.records += 1;
            exec.cx.warnings.at_row(progress.records);
            exec.insert_selected(plan, row, progress)?;
            Ok(Flow::Continue)
        })?;
        Ok(())
    }

    /// Rows of a query into a table that nobody else sees yet; answers how many are new.
    pub(crate) fn insert_all(&mut self, plan: &InsertPlan, rows: &KeptRows) -> SqlResult<u64> {
        self.say_inserted_columns(plan);
        let mut progress = Progress::default();
        let mut cursor = rows.cursor();
        while let Some(row) = cursor.next()? {
            self.count_row()?;
            progress.records += 1;
            self.cx.warnings.at_row(progress.records);
            self.insert_selected(plan, row, &mut progress)?;
        }
        // A row that takes another one's place counts once.
        Ok(if plan.replace { progress.records } else { progress.affected })
    }

    fn load_outcome(&self, plan: &InsertPlan, progress: &Progress, warnings: u32) -> Outcome {
        let (deleted, skipped) =
            if plan.replace { (progress.duplicates, 0) } else { (0, progress.duplicates) };
        let warnings = self.cx.warnings.count() - warnings;
        Outcome {
            affected_rows: progress.affected,
            info: format!(
                "Records: {}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}",
                progress.records
            ),
            insert_id: progress.first_generated,
            last_insert_id: progress.first_generated,
            ..Outcome::default()
        }
    }

    fn insert_outcome(&self, plan: &InsertPlan, progress: Progress, multi: bool, warnings: u32) -> Outcome {
        let has_auto = plan.table.def.auto_increment().is_some();
        let insert_id = match (progress.first_generated, progress.updated_id) {
            (0, 0) if has_auto => progress.last_explicit,
            (0, updated) => updated,
            (generated, _) => generated,
        };
        let info = if multi {
            format!(
                "Records: {}  Duplicates: {}  Warnings: {}",
                progress.records,
                progress.duplicates,
                self.cx.warnings.count() - warnings
            )
        } else {
            String::new()
        };
        Outcome {
            affected_rows: progress.affected,
            insert_id,
            last_insert_id: if progress.first_generated != 0 {
                progress.first_generated
            } else {
                progress.updated_id
            },
            info,
            ..Outcome::default()
        }
    }

    fn store_mode(&self, plan: &InsertPlan, progress: &Progress) -> StoreMode {
        StoreMode {
            strict: self.cx.values.sql_mode.strict() && !plan.ignore,
            row: progress.records,
            nulls: insert_nulls(plan),
        }
    }

    /// A row of VALUES.
    fn insert_values(
        &mut self,
        plan: &InsertPlan,
        row: &[AssignValue],
        progress: &mut Progress,
    ) -> SqlResult<()> {
        let mode = self.store_mode(plan, progress);
        let table = &plan.table;
        let mut values = self.defaults(plan, mode)?;
        let mut late = self.late_defaults(plan);
        let reads_row = row.iter().any(|v| matches!(v, AssignValue::Expr(e) if !e.is_fixed()));
        for (column, value) in plan.columns.iter().zip(row) {
            let def = &table.def.columns[*column];
            let value = match value {
                AssignValue::Default if matches!(def.default, DefaultValue::Expression(_)) => {
                    late.push(*column);
                    continue;
                }
                AssignValue::Default if def.generated.is_some() || def.row_time.is_some() => continue,
                AssignValue::Default => store::default_of(def, mode, self.cx.values, self.cx.warnings)?,
                AssignValue::Expr(e) => {
                    if reads_row {
                        self.set_values(plan.slot, values.clone());
                    }
                    e.eval(self)?
                }
            };
            values[*column] = self.store_insert(plan, *column, value, mode)?;
        }
        self.fill_defaults(plan, late, &mut values, mode)?;
        self.insert_row(plan, values, mode, progress)
    }

    /// Columns that the statement does not name whose default is computed from the row.
    pub(crate) fn late_defaults(&self, plan: &InsertPlan) -> Vec<usize> {
        let columns = &plan.table.def.columns;
        let computed = |i: &usize| {
            matches!(columns[*i].default, DefaultValue::Expression(_)) && !plan.columns.contains(i)
        };
        if columns.iter().any(|c| matches!(c.default, DefaultValue::Expression(_))) {
            (0..columns.len()).filter(computed).collect()
        } else {
            Vec::new()
        }
    }

    pub(crate) fn fill_defaults(
        &mut self,
        plan: &InsertPlan,
        mut late: Vec<usize>,
        values: &mut [Value],
        mode: StoreMode,
    ) -> SqlResult<()> {
        late.sort_unstable();
        for column in late {
            values[column] = self.column_default(&plan.table, column, values, mode)?;
        }
        Ok(())
    }

    fn insert_selected(
        &mut self,
        plan: &InsertPlan,
        mut row: Vec<Value>,
        progress: &mut Progress,
    ) -> SqlResult<()> {
        let mode = self.store_mode(plan, progress);
        let mut values = self.defaults(plan, mode)?;
        if let Some(slot) = plan.query_slot {
            self.set_values(slot, row.split_off(plan.columns.len()));
        }
        for (column, value) in plan.columns.iter().zip(row) {
            values[*column] = self.store_insert(plan, *column, value, mode)?;
        }
        let late = self.late_defaults(plan);
        self.fill_defaults(plan, late, &mut values, mode)?;
        self.insert_row(plan, values, mode, progress)
    }

    /// AUTO_INCREMENT columns keep NULL until the row is complete.
    pub(crate) fn store_insert(
        &mut self,
        plan: &InsertPlan,
        column: usize,
        value: Value,
        mode: StoreMode,
    ) -> SqlResult<Value> {
        let def = &plan.table.def.columns[column];
        let own_life = def.row_time.is_some() && !self.cx.settings.insert_history;
        if def.generated.is_some() || own_life {
            // CREATE TABLE ... SELECT passes what it selects for them by.
            let selected = own_life && matches!(&plan.source, InsertSource::Rows(rows) if rows.is_empty());
            if !value.is_null() && !selected {
                computed::refuse_value(&plan.table, column, mode, self.cx.warnings)?;
            }
            return Ok(Value::Null);
        }
        let own_value = def.auto_increment || def.row_time.is_some();
        if value.is_null() && (own_value || is_auto_timestamp(def)) {
            if own_value {
                return Ok(Value::Null);
            }
            return Ok(store::now_for(&def.ty, self.cx.values));
        }
        self.divided_by_zero(mode)?;
        store::convert(&plan.table, column, value, mode, self.cx.values, self.cx.warnings)
    }

    /// Strict mode makes an error of a division by zero inside a value.
    pub(crate) fn divided_by_zero(&mut self, mode: StoreMode) -> SqlResult<()> {
        let cx = &mut *self.cx.values;
        if cx.warnings.is_empty() {
            return Ok(());
        }
        for warning in std::mem::take(&mut cx.warnings) {
            if mode.strict && !warning.is_note() {
                return Err(sql_plan::ops::warning_of(&warning));
            }
            self.cx.warnings.of_value(&warning);
        }
        self.cx.values.warning_count = 0;
        Ok(())
    }

    /// Every column's value before the statement's own: its default where the statement gives none.
    pub(crate) fn defaults(&mut self, plan: &InsertPlan, mode: StoreMode) -> SqlResult<Vec<Value>> {
        let def = &plan.table.def;
        // No column is named twice.
        if plan.columns.len() == def.columns.len() {
            return Ok(vec![Value::Null; def.columns.len()]);
        }
        let mut values = Vec::with_capacity(def.columns.len());
        for (i, column) in def.columns.iter().enumerate() {
            values.push(if plan.columns.contains(&i) {
                Value::Null
            } else {
                store::default_of(column, mode, self.cx.values, self.cx.warnings)?
            });
        }
        Ok(values)
    }

    pub(crate) fn insert_row(
        &mut self,
        plan: &InsertPlan,
        mut values: Vec<Value>,
        mode: StoreMode,
        progress: &mut Progress,
    ) -> SqlResult<()> {
        self.before_insert(plan, &mut values, mode)?;
        let mode = StoreMode { nulls: Nulls::ByMode, ..mode };
        let explicit = progress.last_explicit;
        let generated = self.fill_auto_increment(&plan.table, &mut values, progress)?;
        let given = if self.cx.settings.insert_history { &plan.columns[..] } else { &[] };
        versioning::begin(&plan.table, &mut values, given, self.cx.values)?;
        if let Some(program) = computed::program_of(&plan.table)? {
            self.compute_row(&plan.table, program, &mut values, mode)?;
            match self.check_row(&plan.table, program, &values) {
                Err(e @ SqlError::ConstraintFailed { .. }) if plan.ignore => {
                    self.cx.warnings.warn(e);
                    return Ok(());
                }
                other => other?,
            }
        }
        if !plan.rules.is_empty() {
            match self.check_view(&plan.rules, &values) {
                Err(e @ SqlError::ViewCheckFailed(_)) if plan.ignore => {
                    self.cx.warnings.warn(e);
                    return Ok(());
                }
                other => other?,
            }
        }
        let mut body = std::mem::take(&mut self.cx.workspace.body);
        let outcome = self.write_row(plan, &values, &mut body, mode, progress);
        self.cx.workspace.body = body;
        if !outcome? {
            return Ok(());
        }
        self.after_insert(&plan.table, &mut values)?;
        if plan.returning.is_some() {
            self.set_values(plan.slot, values);
            self.keep_returning(plan.returning.as_ref())?;
        }
        match generated {
            Some(id) if progress.first_generated == 0 => progress.first_generated = id,
            Some(_) => {}
            None if progress.last_explicit != explicit && (progress.last_explicit as i64) > 0 => {
                let table = &plan.table;
                self.cx
                    .trx
                    .note_auto_increment(&table.table, progress.last_explicit)
                    .map_err(|e| self.row_error(e, table, None))?;
            }
            None => {}
        }
        Ok(())
    }

    /// Inserts, and applies the duplicate rule; true when a row was inserted.
    fn write_row(
        &mut self,
        plan: &InsertPlan,
        values: &[Value],
        body: &mut Vec<u8>,
        mode: StoreMode,
        progress: &mut Progress,
    ) -> SqlResult<bool> {
        let table = &plan.table;
        row::body_of(&table.table.spec().layout, values, body)?;
        // Who is going to change the row in the way locks it for that at once.
        let strength = match plan.on_duplicate {
            OnDuplicate::Replace | OnDuplicate::Update(_) => Strength::Exclusive,
            OnDuplicate::Error | OnDuplicate::Ignore => Strength::Shared,
        };
        loop {
            if let Some(index) = self.overlapping(table, None, body)? {
                let error = self.row_error(RowError::DuplicateKey { index }, table, Some(body));
                if !plan.ignore {
                    return Err(error);
                }
                progress.duplicates += 1;
                self.cx.warnings.warn(error);
                return Ok(false);
            }
            let before = self.cx.trx.savepoint();
            self.cx.session.count(Work::RowsWritten, 1);
            let written = match partitioned::insert_or_lock(self.cx.trx, table, body, strength, &plan.parts) {
                Err(e) if plan.ignore && partitioned::is_without_partition(&e) => {
                    progress.duplicates += 1;
                    self.cx.warnings.warn(e);
                    return Ok(false);
                }
                other => other?,
            };
            let index = match written {
                Ok(()) => {
                    if self.has_relations(table) {
                        match self.row_written(table, None, body) {
                            Err(e @ SqlError::ForeignKeyChild(_)) if plan.ignore => {
                                self.undo_row(before, table)?;
                                self.cx.warnings.warn(e);
                                return Ok(false);
                            }
                            other => other?,
                        }
                    }
                    progress.affected += 1;
                    return Ok(true);
                }
                Err(RowError::DuplicateKey { index }) => index,
                Err(e) => return Err(self.row_error(e, table, Some(body))),
            };
            let error = self.row_error(RowError::DuplicateKey { index }, table, Some(body));
            match &plan.on_duplicate {
                OnDuplicate::Error => return Err(error),
                OnDuplicate::Ignore => {
                    progress.duplicates += 1;
                    self.cx.warnings.warn(error);
                    return Ok(false);
                }
                OnDuplicate::Replace => {
                    if let Some(found) = self.row_in_the_way(table, index, body)? {
                        if self.can_overwrite(table, index) {
                            self.overwrite(table, &found, body, progress)?;
                            return Ok(true);
                        }
                        self.remove_own_row(table, &found)?;
                        progress.affected += 1;
                        progress.duplicates += 1;
                    }
                }
                OnDuplicate::Update(assignments) => {
                    let Some(found) = self.row_in_the_way(table, index, body)? else { continue };
                    progress.duplicates += 1;
                    self.update_duplicate(plan, assignments, values, found, mode, progress)?;
                    return Ok(false);
                }
            }
        }
    }

    /// Whether REPLACE changes the row in the way instead of deleting it and inserting another: as in MariaDB, when no other row can be
    /// in the way and nobody could tell.
    fn can_overwrite(&self, table: &Arc<TableHandle>, index: usize) -> bool {
        table.table.spec().indexes[index + 1..].iter().all(|index| !index.unique)
            && !self.has_relations(table)
            && !trigger::fires(table, TriggerEvent::Delete)
    }

    fn overwrite(
        &mut self,
        table: &Arc<TableHandle>,
        found: &RowBuf,
        body: &[u8],
        progress: &mut Progress,
    ) -> SqlResult<()> {
        progress.affected += 1;
        if found.body == body {
            return Ok(());
        }
        self.cx.session.count(Work::RowsUpdated, 1);
        let changed = partitioned::update(self.cx.trx, table, found, body, &None)?;
        changed.map_err(|e| self.row_error(e, table, Some(body)))?;
        self.keep_version(table, found)?;
        progress.affected += 1;
        progress.duplicates += 1;
        Ok(())
    }

    /// The row whose key equals the new row's in a unique index, locked; `None` when it has gone meanwhile.
    fn row_in_the_way(
        &mut self,
        table: &Arc<TableHandle>,
        index: usize,
        body: &[u8],
    ) -> SqlResult<Option<RowBuf>> {
        let spec = table.table.spec();
        let mut wanted = Vec::new();
        let view = row_format::RowView::new(&spec.layout, body).map_err(|c| crate::errors::corrupt(&c))?;
        key::encode(&spec.layout, &spec.indexes[index].parts, &view, &mut wanted)
            .map_err(|c| crate::errors::corrupt(&c))?;
        let mode = ReadMode::Locking { strength: Strength::Exclusive, wait: WaitMode::Wait };
        let mut found = RowBuf::new();
        let part = partitioned::part_of(table, body)?;
        match self.cx.trx.get(part, index, &wanted, mode, &mut found) {
            Ok(true) => Ok(Some(found)),
            Ok(false) => Ok(None),
            Err(e) => Err(self.row_error(e, table, None)),
        }
    }

    fn update_duplicate(
        &mut self,
        plan: &InsertPlan,
        assignments: &[Assignment],
        values: &[Value],
        found: RowBuf,
        mode: StoreMode,
        progress: &mut Progress,
    ) -> SqlResult<()> {
        let table = &plan.table;
        self.insert_row = values.to_vec();
        let slot = &mut self.cx.workspace.slots[usize::from(plan.slot)];
        slot.layout = Some(table.table.spec().layout.clone());
        slot.buf = found.clone();
        slot.state = SlotState::Packed;
        let mode = StoreMode { nulls: update_nulls(table), ..mode };
        let changes = self.assigned_values(plan.slot, table, assignments, mode)?;
        let after = plan.returning.is_some().then(|| changes.clone());
        let kept = u64::from(versioning::keeps_history(table, &changes));
        let changed = if trigger::fires(table, TriggerEvent::Update) {
            let mode = StoreMode { nulls: Nulls::ByMode, ..mode };
            self.change_own_row(table, &found, changes, &[], &plan.parts, mode)
        } else {
            self.change_row(table, &found, changes, &plan.parts)
        };
        let changed = match changed {
            Err(e) if plan.ignore && partitioned::is_without_partition(&e) => {
                self.cx.warnings.warn(e);
                return Ok(());
            }
            other => other?,
        };
        if let Some(after) = after {
            self.return_changed(plan, &found, after)?;
        }
        progress.affected += if changed { 2 + kept } else { u64::from(self.cx.settings.found_rows) };
        if let Some(auto) = table.def.auto_increment() {
            let view = row_format::RowView::new(&table.table.spec().layout, &found.body);
            if let Ok(Value::Int(id)) = view.and_then(|v| v.value(auto)) {
                progress.updated_id = id as u64;
            }
        }
        Ok(())
    }

    /// RETURNING of ON DUPLICATE KEY UPDATE shows the row as it is now.
    fn return_changed(
        &mut self,
        plan: &InsertPlan,
        found: &RowBuf,
        changes: Vec<(usize, Value)>,
    ) -> SqlResult<()> {
        let layout = &plan.table.table.spec().layout;
        let view = row_format::RowView::new(layout, &found.body).map_err(|c| crate::errors::corrupt(&c))?;
        let columns = 0..plan.table.def.columns.len();
        let values: Result<Vec<Value>, _> = columns.map(|i| view.value(i)).collect();
        let mut values = values.map_err(|c| crate::errors::corrupt(&c))?;
        for (column, value) in changes {
            values[column] = value;
        }
        self.set_values(plan.slot, values);
        self.keep_returning(plan.returning.as_ref())
    }

    /// Gives the AUTO_INCREMENT column its value; the generated one, if it was generated.
    fn fill_auto_increment(
        &mut self,
        table: &Arc<TableHandle>,
        values: &mut [Value],
        progress: &mut Progress,
    ) -> SqlResult<Option<u64>> {
        let Some(column) = table.def.auto_increment() else { return Ok(None) };
        let explicit = match &values[column] {
            Value::Null => None,
            Value::Int(0) | Value::UInt(0) if !self.cx.settings.no_auto_value_on_zero => None,
            Value::Int(v) => Some(*v as u64),
            Value::UInt(v) => Some(*v),
            _ => Some(0),
        };
        if let Some(v) = explicit {
            progress.last_explicit = v;
            return Ok(None);
        }
        let id = match std::mem::take(&mut self.cx.settings.next_insert_id) {
            0 => match self.next_auto_increment(table) {
                Err(SqlError::AutoIncrementExhausted) => {
                    return Err(self.no_auto_increment(table, column, progress.records));
                }
                next => next?,
            },
            forced => forced,
        };
        // The largest number of all is none that the counter gives.
        if id == u64::MAX {
            return Err(SqlError::AutoIncrementExhausted);
        }
        let mode = StoreMode { strict: true, row: progress.records, nulls: Nulls::ByMode };
        let value = store::convert(table, column, Value::UInt(id), mode, self.cx.values, self.cx.warnings)
            .map_err(|_| self.no_auto_increment(table, column, progress.records))?;
        values[column] = value;
        Ok(Some(id))
    }

    /// The counter has left the column. One that has no larger number to go to says so otherwise.
    fn no_auto_increment(&self, table: &TableHandle, column: usize, row: u64) -> SqlError {
        let def = &table.def.columns[column];
        match def.ty {
            ColumnType::Int { size: IntSize::Big, unsigned: true } => SqlError::AutoIncrementExhausted,
            _ => SqlError::AutoIncrementOutOfRange { column: def.name.clone(), row },
        }
    }

    fn next_auto_increment(&mut self, table: &Arc<TableHandle>) -> SqlResult<u64> {
        let settings = &self.cx.settings;
        let (increment, offset) = (settings.auto_increment_increment, settings.auto_increment_offset);
        crate::auto::next(self.cx.trx, table, increment, offset).map_err(|e| self.row_error(e, table, None))
    }
}

/// NULL of NOT NULL columns: the only row of a statement must not have it.
pub(crate) fn insert_nulls(plan: &InsertPlan) -> Nulls {
    if trigger::fires_before(&plan.table, TriggerEvent::Insert) { Nulls::Late } else { settled_nulls(plan) }
}

/// Same, behind the BEFORE triggers.
pub(crate) fn settled_nulls(plan: &InsertPlan) -> Nulls {
    match &plan.source {
        InsertSource::Rows(rows) if rows.len() == 1 && !plan.ignore => Nulls::Refused,
        _ => Nulls::ByMode,
    }
}

/// A TIMESTAMP NOT NULL column with CURRENT_TIMESTAMP takes the time for NULL.
fn is_auto_timestamp(def: &catalog::ColumnDef) -> bool {
    !def.nullable
        && matches!(def.ty, ColumnType::Timestamp { .. })
        && def.default == DefaultValue::CurrentTimestamp
}
