//! UPDATE and DELETE.
//!
//! # Three ways
//! - one row by its full primary key: found, locked and changed in one descent (`Trx::modify`);
//! - rows of one table whose index is not changed by the statement: changed as the scan finds them;
//! - everything else: the rows are found first, then changed, so that no row is found twice.

use std::collections::HashSet;
use std::sync::Arc;

use catalog::program::TriggerEvent;
use catalog::{DefaultValue, TableHandle};
use row_format::RowView;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::eval::Env;
use sql_plan::expr::{ColumnRef, Expr, SessionValue, Slot, Subquery};
use sql_plan::plan::{Access, AssignValue, Assignment, DeletePlan, SelectPlan, UpdatePlan, UpdateTarget};
use storage::row::{Change, Modified, RowBuf, RowError, WaitMode};
use types::{Context, Value};

use crate::computed;
use crate::context::{SlotState, Work};
use crate::exec::{Exec, Flow};
use crate::outcome::Outcome;
use crate::partitioned::{self, Parts};
use crate::row;
use crate::store::{self, Nulls, StoreMode};
use crate::trigger;
use crate::versioning;
use sql_plan::keys::{self, PointKey};

/// A row to be changed: its target, the row, and its new values.
type FoundRow = (usize, RowBuf, Vec<(usize, Value)>);

impl Exec<'_, '_> {
    pub(crate) fn update(&mut self, plan: &UpdatePlan) -> SqlResult<Outcome> {
        let before = self.cx.warnings.count();
        self.need_key(&plan.select, plan.targets.iter().map(|t| t.slot))?;
        let versioned = plan.portion.is_some() || plan.targets.iter().any(|t| t.table.versioning.is_some());
        self.versions = 0;
        for target in &plan.targets {
            self.say_updated_columns(&target.table, &target.assignments);
        }
        let (mut matched, mut changed) = (0u64, 0u64);
        if let Some(access) = self.point_access(&plan.select)
            && plan.targets.len() == 1
            && is_plain(plan)
            && !self.has_relations(&plan.targets[0].table)
            && !trigger::fires(&plan.targets[0].table, TriggerEvent::Update)
        {
            (matched, changed) = match self.update_point(plan, access)? {
                Some(counts) => counts,
                None => self.update_scanned(plan)?,
            };
        } else if plan.buffered {
            (matched, changed) = self.update_buffered(plan)?;
        } else {
            let (m, c) = self.update_scanned(plan)?;
            matched += m;
            changed += c;
        }
        Ok(Outcome {
            affected_rows: if self.cx.settings.found_rows { matched } else { changed },
            info: format!(
                "Rows matched: {matched}  Changed: {changed}  {}Warnings: {}",
                if versioned { format!("Inserted: {}  ", self.versions) } else { String::new() },
                self.cx.warnings.count() - before
            ),
            ..Outcome::default()
        })
    }

    fn update_mode(&self, ignore: bool, row: u64, table: &TableHandle) -> StoreMode {
        StoreMode { strict: self.cx.values.sql_mode.strict() && !ignore, row, nulls: update_nulls(table) }
    }

    fn update_scanned(&mut self, plan: &UpdatePlan) -> SqlResult<(u64, u64)> {
        let target = &plan.targets[0];
        let limit = self.limit(&plan.select.limit)?;
        let (mut matched, mut changed) = (0u64, 0u64);
        if limit.count == 0 {
            return Ok((0, 0));
        }
        self.rows(&plan.select, &mut |exec| {
            matched += 1;
            let mode = exec.update_mode(plan.ignore, matched, &target.table);
            let changes = exec.assigned_values(target.slot, &target.table, &target.assignments, mode)?;
            let found = std::mem::take(&mut exec.cx.workspace.slots[usize::from(target.slot)].buf);
            let outcome = exec.change_through(target, &found, changes, mode);
            exec.cx.workspace.slots[usize::from(target.slot)].buf = found;
            match outcome {
                Ok(c) => changed += u64::from(c),
                // Left as it is, without a word.
                Err(e) if plan.ignore && partitioned::is_without_partition(&e) => {}
                Err(e) if plan.ignore && can_be_ignored(&e) => exec.cx.warnings.warn(e),
                Err(e) => return Err(e),
            }
            Ok(if matched >= limit.count { Flow::Stop } else { Flow::Continue })
        })?;
        Ok((matched, changed))
    }

    fn update_buffered(&mut self, plan: &UpdatePlan) -> SqlResult<(u64, u64)> {
        let mut found: Vec<FoundRow> = Vec::new();
        let mut seen: HashSet<(usize, Vec<u8>)> = HashSet::new();
        let mut row = 0u64;
        self.found_rows(&plan.select, &mut |exec| {
            row += 1;
            for (i, target) in plan.targets.iter().enumerate() {
                let slot = &exec.cx.workspace.slots[usize::from(target.slot)];
                if slot.state != SlotState::Packed || !seen.insert((i, slot.buf.key.clone())) {
                    continue;
                }
                let buf = slot.buf.clone();
                let mode = exec.update_mode(plan.ignore, row, &target.table);
                let changes = exec.assigned_values(target.slot, &target.table, &target.assignments, mode)?;
                found.push((i, buf, changes));
            }
            Ok(Flow::Continue)
        })?;
        let (matched, mut changed) = (found.len() as u64, 0);
        for (i, buf, mut changes) in found {
            let mode = self.update_mode(plan.ignore, 1, &plan.targets[i].table);
            if let Some(portion) = &plan.portion {
                self.cut(portion, &buf, &mut changes)?;
            }
            match self.change_through(&plan.targets[i], &buf, changes, mode) {
                Ok(c) => changed += u64::from(c),
                // Left as it is, without a word.
                Err(e) if plan.ignore && partitioned::is_without_partition(&e) => {}
                Err(e) if plan.ignore && can_be_ignored(&e) => self.cx.warnings.warn(e),
                Err(e) => return Err(e),
            }
        }
        Ok((matched, changed))
    }

    /// Rows in the order and number that ORDER BY and LIMIT say; the slots hold each row when `row` is called.
    fn found_rows(&mut self, plan: &SelectPlan, row: &mut crate::join::RowFn<'_>) -> SqlResult<()> {
        let limit = self.limit(&plan.limit)?;
        if limit.count == 0 {
            return Ok(());
        }
        if plan.order.is_empty() {
            let mut taken = 0;
            self.rows(plan, &mut |exec| {
                taken += 1;
                let flow = row(exec)?;
                Ok(if taken >= limit.count { Flow::Stop } else { flow })
            })?;
            return Ok(());
        }
        let slot = usize::from(plan.steps[0].slot);
        let mut rows: Vec<(Vec<Value>, RowBuf)> = Vec::new();
        self.rows(plan, &mut |exec| {
            let keys: SqlResult<Vec<Value>> = plan.order.iter().map(|k| k.expr.eval(exec)).collect();
            rows.push((keys?, exec.cx.workspace.slots[slot].buf.clone()));
            Ok(Flow::Continue)
        })?;
        self.count_sort(plan);
        self.cx.session.count(Work::SortRows, rows.len() as u64);
        let cx = &mut *self.cx.values;
        rows.sort_by(|a, b| crate::select::order(&plan.order, &a.0, &b.0, cx));
        for (_, buf) in rows.into_iter().take(usize::try_from(limit.count).unwrap_or(usize::MAX)) {
            self.reads.in_sorted_order();
            self.cx.workspace.slots[slot].buf = buf;
            self.cx.workspace.slots[slot].state = SlotState::Packed;
            if row(self)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }

    /// New values of the assigned columns for the row in `slot`, converted. Later assignments see earlier ones.
    pub(crate) fn assigned_values(
        &mut self,
        slot: Slot,
        table: &Arc<TableHandle>,
        assignments: &[Assignment],
        mode: StoreMode,
    ) -> SqlResult<Vec<(usize, Value)>> {
        let chained = reads_assigned(slot, assignments);
        let mut out = Vec::with_capacity(assignments.len());
        if chained {
            let row = &mut self.cx.workspace.slots[usize::from(slot)];
            row.values.clear();
            let view = RowView::new(&table.table.spec().layout, &row.buf.body);
            let read = view.and_then(|v| v.values(&mut row.values));
            read.map_err(|c| crate::errors::corrupt(&c))?;
            row.state = SlotState::Values;
        }
        let result = self.assign_each(slot, table, assignments, mode, chained, &mut out);
        if chained {
            self.cx.workspace.slots[usize::from(slot)].state = SlotState::Packed;
        }
        result.map(|()| out)
    }

    fn assign_each(
        &mut self,
        slot: Slot,
        table: &Arc<TableHandle>,
        assignments: &[Assignment],
        mode: StoreMode,
        chained: bool,
        out: &mut Vec<(usize, Value)>,
    ) -> SqlResult<()> {
        for assignment in assignments {
            let def = &table.def.columns[assignment.column];
            let value = match &assignment.value {
                AssignValue::Default if def.generated.is_some() => continue,
                AssignValue::Default if def.row_time.is_some() => {
                    return Err(SqlError::NoDefault(def.name.clone()));
                }
                AssignValue::Default if matches!(def.default, DefaultValue::Expression(_)) => {
                    let row = self.slot_values(slot)?;
                    self.column_default(table, assignment.column, &row, mode)?
                }
                AssignValue::Default => store::default_of(def, mode, self.cx.values, self.cx.warnings)?,
                AssignValue::Expr(e) => e.eval(self)?,
            };
            if def.generated.is_some() || def.row_time.is_some() {
                if !value.is_null() {
                    computed::refuse_value(table, assignment.column, mode, self.cx.warnings)?;
                }
                continue;
            }
            self.divided_by_zero(mode)?;
            let value =
                store::convert(table, assignment.column, value, mode, self.cx.values, self.cx.warnings)?;
            if chained {
                self.cx.workspace.slots[usize::from(slot)].values[assignment.column] = value.clone();
            }
            out.push((assignment.column, value));
        }
        Ok(())
    }

    /// Changes a row, and has the AUTO_INCREMENT counter pass a value that it was given.
    fn change_through(
        &mut self,
        target: &UpdateTarget,
        found: &RowBuf,
        changes: Vec<(usize, Value)>,
        mode: StoreMode,
    ) -> SqlResult<bool> {
        let table = &target.table;
        let auto = table.def.auto_increment();
        let given =
            changes.iter().find(|(column, _)| Some(*column) == auto).and_then(|(_, value)| match value {
                Value::Int(v) => u64::try_from(*v).ok(),
                Value::UInt(v) => Some(*v),
                _ => None,
            });
        let changed = self.change_viewed(target, found, changes, mode)?;
        if let Some(value) = given.filter(|_| changed) {
            let noted = self.cx.trx.note_auto_increment(&table.table, value);
            noted.map_err(|e| self.row_error(e, table, None))?;
        }
        Ok(changed)
    }

    /// Changes a row, if the view that it is changed through allows what it becomes.
    fn change_viewed(
        &mut self,
        target: &UpdateTarget,
        found: &RowBuf,
        changes: Vec<(usize, Value)>,
        mode: StoreMode,
    ) -> SqlResult<bool> {
        let fires = trigger::fires(&target.table, TriggerEvent::Update);
        self.versions += u64::from(versioning::keeps_history(&target.table, &changes));
        if !fires && !target.rules.is_empty() {
            let mut values = Vec::new();
            let view = RowView::new(&target.table.table.spec().layout, &found.body);
            view.and_then(|v| v.values(&mut values)).map_err(|c| crate::errors::corrupt(&c))?;
            for (column, value) in &changes {
                values[*column] = value.clone();
            }
            self.check_view(&target.rules, &values)?;
        }
        if !fires && !self.has_relations(&target.table) {
            let changed = self.change_row(&target.table, found, changes, &target.parts)?;
            self.insert_rest()?;
            return Ok(changed);
        }
        let before = self.cx.trx.savepoint();
        let outcome = if fires {
            let mode = StoreMode { nulls: Nulls::ByMode, ..mode };
            self.change_own_row(&target.table, found, changes, &target.rules, &target.parts, mode)
        } else {
            self.change_row(&target.table, found, changes, &target.parts)
                .and_then(|changed| self.insert_rest().map(|()| changed))
        };
        if matches!(outcome, Err(SqlError::ForeignKeyChild(_) | SqlError::ForeignKeyParent(_))) {
            // UPDATE IGNORE goes on without this row.
            self.undo_row(before, &target.table)?;
        }
        outcome
    }

    /// All values of the row in a slot.
    fn slot_values(&mut self, slot: Slot) -> SqlResult<Vec<Value>> {
        let row = &self.cx.workspace.slots[usize::from(slot)];
        let width = row.layout.as_ref().map_or(row.values.len(), |l| l.columns().len());
        (0..width).map(|i| row.column(i).map_err(|c| crate::errors::corrupt(&c))).collect()
    }

    /// Adds the generated columns to the changes of a row, and checks its constraints.
    fn complete_changes(
        &mut self,
        table: &Arc<TableHandle>,
        found: &RowBuf,
        changes: &mut Vec<(usize, Value)>,
    ) -> SqlResult<()> {
        let Some(program) = computed::program_of(table)? else { return Ok(()) };
        let mut values = Vec::new();
        let view = RowView::new(&table.table.spec().layout, &found.body);
        view.and_then(|v| v.values(&mut values)).map_err(|c| crate::errors::corrupt(&c))?;
        for (column, value) in changes.iter() {
            values[*column] = value.clone();
        }
        let mode = StoreMode { strict: self.cx.values.sql_mode.strict(), row: 1, nulls: Nulls::ByMode };
        self.compute_row(table, program, &mut values, mode)?;
        self.check_row(table, program, &values)?;
        for (column, _) in &program.generated {
            changes.push((*column, values[*column].clone()));
        }
        Ok(())
    }

    /// Writes the changed row; false when nothing is different.
    pub(crate) fn change_row(
        &mut self,
        table: &Arc<TableHandle>,
        found: &RowBuf,
        mut changes: Vec<(usize, Value)>,
        parts: &Parts,
    ) -> SqlResult<bool> {
        let layout = &table.table.spec().layout;
        let mut body = std::mem::take(&mut self.cx.workspace.body);
        let outcome = (|| {
            row::rebuild(layout, &found.body, &changes, &mut body)?;
            let versions = versioning::keeps_history(table, &changes);
            if body == found.body && !versions {
                return Ok(false);
            }
            if let Some((start, _)) = table.versioning.filter(|_| versions) {
                changes.push((start, Value::Timestamp(versioning::now(self.cx.values))));
                row::rebuild(layout, &found.body, &changes, &mut body)?;
            }
            if stamp_now(table, &mut changes, self.cx.values) || table.def.has_expressions() {
                self.complete_changes(table, found, &mut changes)?;
                row::rebuild(layout, &found.body, &changes, &mut body)?;
            }
            self.refuse_overlap(table, found, &body)?;
            if self.cascades == 0 {
                self.cx.session.count(Work::RowsUpdated, 1);
            }
            partitioned::update(self.cx.trx, table, found, &body, parts)?
                .map_err(|e| self.row_error(e, table, Some(&body)))?;
            if versions {
                self.keep_version(table, found)?;
            }
            Ok(true)
        })();
        let outcome = match outcome {
            Ok(true) if self.has_relations(table) => {
                // A cascade needs the buffer for its own rows.
                let written = body.clone();
                self.row_written(table, Some(&found.body), &written).map(|()| true)
            }
            other => other,
        };
        self.cx.workspace.body = body;
        outcome
    }

    /// UPDATE of one row by its primary key, in one descent. `None` when the key cannot be built exactly.
    fn update_point(&mut self, plan: &UpdatePlan, key: &[Expr]) -> SqlResult<Option<(u64, u64)>> {
        let target = &plan.targets[0];
        let step = &plan.select.steps[0];
        let table = &target.table;
        let mut buffer = std::mem::take(&mut self.cx.workspace.key);
        self.reads.point();
        let built = keys::point_key(self, table, 0, key, &mut buffer);
        let counts = match built {
            Ok(PointKey::Ready) => {
                let mode = self.update_mode(plan.ignore, 1, table);
                let (mut problem, mut matched) = (None, false);
                let (params, values, warnings) = (self.params, &mut *self.cx.values, &mut *self.cx.warnings);
                let modified = self.cx.trx.modify(&table.table, &buffer, WaitMode::Wait, &mut |body, out| {
                    let mut env = BodyEnv { table, body, params, context: &mut *values };
                    match decide_update(
                        &mut env,
                        step.on.as_ref(),
                        table,
                        &target.assignments,
                        mode,
                        warnings,
                        out,
                    ) {
                        Ok(decision) => {
                            matched = decision.is_some();
                            decision.unwrap_or(Change::Keep)
                        }
                        Err(e) => {
                            problem = Some(e);
                            Change::Keep
                        }
                    }
                });
                match (modified, problem) {
                    (_, Some(e)) => Err(e),
                    (Ok(Modified::Updated), None) => Ok(Some((1, 1))),
                    (Ok(_), None) => Ok(Some((u64::from(matched), 0))),
                    // The slow way finds it again and can say which value is there twice.
                    (Err(RowError::DuplicateKey { .. }), None) => Ok(None),
                    (Err(e), None) => Err(self.row_error(e, table, None)),
                }
            }
            Ok(PointKey::Nothing) => Ok(Some((0, 0))),
            Ok(PointKey::Unusable) => Ok(None),
            Err(e) => Err(e),
        };
        self.cx.workspace.key = buffer;
        counts
    }

    pub(crate) fn delete(&mut self, plan: &DeletePlan) -> SqlResult<Outcome> {
        self.need_key(&plan.select, plan.targets.iter().map(|(slot, _)| *slot))?;
        let affected = if plan.history {
            self.delete_history(plan)?
        } else if let Some(key) = self.point_access(&plan.select)
            && plan.targets[0].1.versioning.is_none()
            && plan.targets.len() == 1
            && plan.portion.is_none()
            && plan.returning.is_none()
            && plan.select.steps[0].on.is_none()
            && plan.select.gate.is_none()
            && !self.has_relations(&plan.targets[0].1)
            && !trigger::fires(&plan.targets[0].1, TriggerEvent::Delete)
        {
            match self.delete_point(plan, key)? {
                Some(affected) => affected,
                None => self.delete_scanned(plan)?,
            }
        } else if plan.buffered {
            self.delete_buffered(plan)?
        } else {
            self.delete_scanned(plan)?
        };
        Ok(Outcome { affected_rows: affected, ..Outcome::default() })
    }

    fn delete_point(&mut self, plan: &DeletePlan, key: &[Expr]) -> SqlResult<Option<u64>> {
        let table = &plan.targets[0].1;
        let mut buffer = std::mem::take(&mut self.cx.workspace.key);
        self.reads.point();
        let outcome = match keys::point_key(self, table, 0, key, &mut buffer) {
            Ok(PointKey::Ready) => {
                match self.cx.trx.modify(&table.table, &buffer, WaitMode::Wait, &mut |_, _| Change::Delete) {
                    Ok(modified) => Ok(Some(u64::from(modified == Modified::Deleted))),
                    Err(e) => Err(self.row_error(e, table, None)),
                }
            }
            Ok(PointKey::Nothing) => Ok(Some(0)),
            Ok(PointKey::Unusable) => Ok(None),
            Err(e) => Err(e),
        };
        self.cx.workspace.key = buffer;
        outcome
    }

    fn delete_scanned(&mut self, plan: &DeletePlan) -> SqlResult<u64> {
        let (slot, table) = &plan.targets[0];
        let limit = self.limit(&plan.select.limit)?;
        let mut affected = 0u64;
        if limit.count == 0 {
            return Ok(0);
        }
        self.rows(&plan.select, &mut |exec| {
            exec.keep_returning(plan.returning.as_ref())?;
            let before = exec.cx.trx.savepoint();
            match exec.delete_row(table, *slot) {
                Err(e @ SqlError::ForeignKeyParent(_)) if plan.ignore => {
                    exec.undo_row(before, table)?;
                    exec.cx.warnings.warn(e);
                    return Ok(Flow::Continue);
                }
                other => other?,
            }
            affected += 1;
            Ok(if affected >= limit.count { Flow::Stop } else { Flow::Continue })
        })?;
        Ok(affected)
    }

    /// The key expressions of a plan that reads one row of one table by its primary key.
    fn point_access<'p>(&self, plan: &'p SelectPlan) -> Option<&'p [Expr]> {
        let is_partitioned = |source: &sql_plan::plan::Source| match source {
            sql_plan::plan::Source::Table(handle) => handle.def.partitioning.is_some(),
            _ => false,
        };
        match plan.steps.as_slice() {
            // ANALYZE counts what a join does.
            [step]
                if self.analysis.is_none()
                    && plan.never.is_none()
                    && plan.limit.count.is_none()
                    && step.outer_end.is_none() =>
            {
                match &step.access {
                    Access::Point { index: 0, key, .. } if !is_partitioned(&step.source) => Some(key),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn delete_row(&mut self, table: &Arc<TableHandle>, slot: Slot) -> SqlResult<()> {
        let row = std::mem::take(&mut self.cx.workspace.slots[usize::from(slot)].buf);
        let outcome = self.remove_own_row(table, &row);
        self.cx.workspace.slots[usize::from(slot)].buf = row;
        outcome
    }

    fn delete_buffered(&mut self, plan: &DeletePlan) -> SqlResult<u64> {
        let mut found: Vec<(usize, RowBuf)> = Vec::new();
        let mut seen: HashSet<(usize, Vec<u8>)> = HashSet::new();
        self.found_rows(&plan.select, &mut |exec| {
            for (i, (slot, _)) in plan.targets.iter().enumerate() {
                let row = &exec.cx.workspace.slots[usize::from(*slot)];
                if row.state == SlotState::Packed && seen.insert((i, row.buf.key.clone())) {
                    found.push((i, row.buf.clone()));
                    exec.keep_returning(plan.returning.as_ref())?;
                }
            }
            Ok(Flow::Continue)
        })?;
        let mut affected = 0;
        for (i, buf) in &found {
            let table = &plan.targets[*i].1;
            let before = self.cx.trx.savepoint();
            if let Some(portion) = &plan.portion {
                self.cut(portion, buf, &mut Vec::new())?;
            }
            match self.remove_own_row(table, buf) {
                Err(e @ SqlError::ForeignKeyParent(_)) if plan.ignore => {
                    self.undo_row(before, table)?;
                    self.cx.warnings.warn(e);
                }
                // A cascade of this statement has taken it along.
                Err(SqlError::RowGone) if self.has_relations(table) => {}
                other => {
                    other?;
                    affected += 1;
                }
            }
        }
        Ok(affected)
    }
}

/// NULL of NOT NULL columns of a table whose rows change.
pub(crate) fn update_nulls(table: &TableHandle) -> Nulls {
    if trigger::fires_before(table, TriggerEvent::Update) { Nulls::Late } else { Nulls::ByMode }
}

/// What UPDATE IGNORE passes by with a warning.
fn can_be_ignored(error: &SqlError) -> bool {
    matches!(
        error,
        SqlError::DuplicateEntry { .. }
            | SqlError::ConstraintFailed { .. }
            | SqlError::ViewCheckFailed(_)
            | SqlError::ForeignKeyChild(_)
            | SqlError::ForeignKeyParent(_)
    )
}

/// Whether the row's new values depend on nothing but the row, constants and parameters, and change nothing but the row.
fn is_plain(plan: &UpdatePlan) -> bool {
    let target = &plan.targets[0];
    let single = target.assignments.len() == 1 || !reads_assigned(target.slot, &target.assignments);
    let values = target.assignments.iter().all(|a| match &a.value {
        AssignValue::Default => true,
        AssignValue::Expr(e) => reads_row_only(e),
    });
    let numbers = target.table.def.auto_increment();
    single
        && values
        && target.assignments.iter().all(|a| Some(a.column) != numbers)
        && target.rules.is_empty()
        && !target.table.def.has_expressions()
        && target.table.versioning.is_none()
        && plan.portion.is_none()
        && plan.select.gate.is_none()
        && plan.select.steps[0].on.as_ref().is_none_or(reads_row_only)
}

fn reads_row_only(e: &Expr) -> bool {
    let mut good = !matches!(
        e,
        Expr::Subquery(_)
            | Expr::UserVariable(_)
            | Expr::AssignVariable(..)
            | Expr::SystemVariable(_)
            | Expr::Session(..)
            | Expr::InsertValue(_)
            | Expr::Routine(_)
    ) && !matches!(e, Expr::Call { function, .. } if !function.is_deterministic());
    e.children(&mut |c| good &= reads_row_only(c));
    good
}

fn reads_assigned(slot: Slot, assignments: &[Assignment]) -> bool {
    let mut found = false;
    for (i, assignment) in assignments.iter().enumerate() {
        if let AssignValue::Expr(e) = &assignment.value {
            e.columns(&mut |c| {
                found |= c.slot == slot && assignments[..i].iter().any(|a| a.column == usize::from(c.column));
            });
        }
    }
    found
}

/// Sets ON UPDATE CURRENT_TIMESTAMP columns that the statement does not assign; true when there is one.
fn stamp_now(table: &TableHandle, changes: &mut Vec<(usize, Value)>, cx: &mut Context) -> bool {
    let mut stamped = false;
    for (i, def) in table.def.columns.iter().enumerate() {
        if def.on_update_now && !changes.iter().any(|(c, _)| *c == i) {
            changes.push((i, store::now_for(&def.ty, cx)));
            stamped = true;
        }
    }
    stamped
}

/// The decision on one row under its leaf's latch: `None` when it does not match.
fn decide_update(
    env: &mut BodyEnv<'_>,
    on: Option<&Expr>,
    table: &Arc<TableHandle>,
    assignments: &[Assignment],
    mode: StoreMode,
    warnings: &mut sql_plan::error::Warnings,
    out: &mut Vec<u8>,
) -> SqlResult<Option<Change>> {
    if let Some(on) = on
        && on.eval_truth(env)? != Some(true)
    {
        return Ok(None);
    }
    let mut changes = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let value = match &assignment.value {
            AssignValue::Default => {
                store::default_of(&table.def.columns[assignment.column], mode, env.context, warnings)?
            }
            AssignValue::Expr(e) => e.eval(env)?,
        };
        for warning in std::mem::take(&mut env.context.warnings) {
            env.context.warning_count = 0;
            if mode.strict && !warning.is_note() {
                return Err(sql_plan::ops::warning_of(&warning));
            }
            warnings.of_value(&warning);
        }
        let value = store::convert(table, assignment.column, value, mode, env.context, warnings)?;
        changes.push((assignment.column, value));
    }
    let layout = &table.table.spec().layout;
    row::rebuild(layout, env.body, &changes, out)?;
    if out.as_slice() == env.body {
        return Ok(Some(Change::Keep));
    }
    if stamp_now(table, &mut changes, env.context) {
        row::rebuild(layout, env.body, &changes, out)?;
    }
    Ok(Some(Change::Update))
}

/// The environment of expressions that read one row body, constants and parameters.
struct BodyEnv<'b> {
    table: &'b TableHandle,
    body: &'b [u8],
    params: &'b [Value],
    context: &'b mut Context,
}

fn not_here() -> SqlError {
    SqlError::Io { operation: "an expression that needs its session".into(), table: String::new() }
}

impl Env for BodyEnv<'_> {
    fn column(&mut self, column: ColumnRef) -> SqlResult<Value> {
        let view = RowView::new(&self.table.table.spec().layout, self.body);
        view.and_then(|v| v.value(usize::from(column.column))).map_err(|c| crate::errors::corrupt(&c))
    }
    fn param(&self, n: u16) -> Value {
        self.params.get(usize::from(n)).cloned().unwrap_or_default()
    }
    fn context(&mut self) -> &mut Context {
        self.context
    }
    fn subquery(&mut self, _: &Subquery) -> SqlResult<Value> {
        Err(not_here())
    }
    fn insert_value(&mut self, _: u16) -> SqlResult<Value> {
        Err(not_here())
    }
    fn user_variable(&mut self, _: &str) -> Value {
        Value::Null
    }
    fn set_user_variable(&mut self, _: &str, _: &Value) {}
    fn system_variable(&mut self, _: &str, _: bool) -> SqlResult<Value> {
        Err(not_here())
    }
    fn session_value(&mut self, _: SessionValue, _: &[Value]) -> SqlResult<Value> {
        Err(not_here())
    }
}
