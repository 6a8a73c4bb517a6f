//! INSERT, REPLACE, UPDATE and DELETE: their rows are found by the same plans as those of a SELECT.

use std::sync::Arc;

use accounts::Privileges;
use catalog::program::TriggerEvent;
use catalog::{TableHandle, same_name};
use sql_syntax::ast;

use crate::access::{self, FromTable, JoinInput};
use crate::duplicate::on_duplicate;
use crate::error::{Clause, SqlError, SqlResult};
use crate::expr::{Expr, Slot};
use crate::plan::{
    Access, AssignValue, Assignment, DeletePlan, InsertPlan, InsertSource, LockMode, LockWaitPolicy,
    QueryPlan, Returning, SelectPlan, Source, UpdatePlan, UpdateTarget, ViewRule,
};
use crate::planner::Planner;
use crate::query::base_scope_table;
use crate::scope::{MergedView, Name, Scope, ScopeTable};

pub(crate) fn insert<'a>(planner: &mut Planner<'a>, insert: &ast::Insert<'a>) -> SqlResult<InsertPlan> {
    refuse_virtual(planner, &insert.table)?;
    let target = insert_target(planner, insert)?;
    let parts = crate::partition::selected(&target.table, insert.partitions)?;
    let (table, slot, columns, rules) = (target.table, target.slot, target.columns, target.rules);
    planner.changes(&table)?;
    let replaces = insert.replace || !insert.on_duplicate.is_empty();
    if replaces && table.def.indexes.iter().any(|i| i.without_overlaps) {
        return Err(SqlError::not_supported("WITHOUT OVERLAPS"));
    }
    let mut reads_target = false;
    let source = match insert.source {
        ast::InsertSource::Query(query) => {
            planner.want_columns(query, insert.on_duplicate)?;
            let (query, reads) = source_query(planner, query, &table)?;
            reads_target = reads;
            if query.columns.len() != columns.len() {
                return Err(SqlError::ColumnCountMismatch { row: 1 });
            }
            InsertSource::Query(query)
        }
        ast::InsertSource::Set(values) => {
            let row = insert_row(planner, &table, slot, values)?;
            InsertSource::Rows(vec![row])
        }
        ast::InsertSource::Values(rows) => {
            let mut out = Vec::with_capacity(rows.len());
            for (i, row) in rows.iter().enumerate() {
                if row.len() != columns.len() && !(row.is_empty() && rows[0].is_empty()) {
                    return Err(SqlError::ColumnCountMismatch { row: i as u64 + 1 });
                }
                out.push(insert_row(planner, &table, slot, row)?);
            }
            InsertSource::Rows(out)
        }
    };
    let empty_rows = matches!(&source, InsertSource::Rows(rows) if rows.iter().all(Vec::is_empty));
    let columns = if empty_rows { Vec::new() } else { columns };
    let (on_duplicate, query_slot) = on_duplicate(planner, insert, &table, slot)?;
    let mut scope = Scope::default();
    scope.add(base_scope_table(slot, table.def.name.clone(), &table))?;
    planner.scopes.push(scope);
    let returning = returning(planner, insert.returning);
    planner.scopes.pop();
    let returning = returning?;
    Ok(InsertPlan {
        table,
        slot,
        columns,
        source,
        reads_target,
        parts,
        on_duplicate,
        query_slot,
        ignore: insert.ignore,
        replace: insert.replace,
        returning,
        rules,
    })
}

/// The query whose rows are inserted, and whether it reads the target or runs programs that may.
fn source_query<'a>(
    planner: &mut Planner<'a>,
    query: &'a ast::Query<'a>,
    target: &Arc<TableHandle>,
) -> SqlResult<(QueryPlan, bool)> {
    // The target comes back into the list of tables if the query names it.
    planner.tables.retain(|t| !Arc::ptr_eq(t, target));
    let query = planner.query(query)?;
    let named = planner.tables.iter().any(|t| Arc::ptr_eq(t, target));
    if !named {
        planner.tables.push(Arc::clone(target));
    }
    Ok((query, named || !planner.routines.is_empty()))
}

/// What an INSERT or REPLACE needs of its table.
fn insert_privileges(insert: &ast::Insert<'_>) -> Privileges {
    if insert.replace {
        Privileges::INSERT | Privileges::DELETE
    } else if insert.on_duplicate.is_empty() {
        Privileges::INSERT
    } else {
        Privileges::INSERT | Privileges::UPDATE
    }
}

/// RETURNING, over the tables in scope.
fn returning<'a>(planner: &mut Planner<'a>, items: &[ast::SelectItem<'a>]) -> SqlResult<Option<Returning>> {
    if items.is_empty() {
        return Ok(None);
    }
    let (output, columns) = planner.select_list(items)?;
    Ok(Some(Returning { output, columns }))
}

/// The table that an INSERT writes to, named itself or through a view.
struct InsertTarget {
    table: Arc<TableHandle>,
    slot: Slot,
    columns: Vec<usize>,
    rules: Vec<ViewRule>,
}

fn insert_target<'a>(planner: &mut Planner<'a>, insert: &ast::Insert<'a>) -> SqlResult<InsertTarget> {
    let (schema, name) = planner.table_name(&insert.table)?;
    planner.check_table(&schema, &name, insert_privileges(insert))?;
    let Some(view) = planner.view(&schema, &name) else {
        let table = planner.base_table(&insert.table, &name)?;
        if table.def.sequence.is_some() {
            return Err(SqlError::not_supported("INSERT into a sequence"));
        }
        let slot = planner.new_slot()?;
        planner.guard_slot(slot, &schema, &name);
        let columns = insert_columns(planner, &table, insert)?;
        for column in &columns {
            planner.check_column_for(slot, &table.def.columns[*column].name, Privileges::INSERT)?;
        }
        return Ok(InsertTarget { table, slot, columns, rules: Vec::new() });
    };
    planner.changing = true;
    let found = planner.view_target(&view)?;
    planner.changing = false;
    let refused = || SqlError::Other {
        errno: 1471,
        state: *b"HY000",
        text: format!("The target table {name} of the INSERT is not insertable-into"),
    };
    let target = found.ok_or_else(refused)?;
    let mut columns = Vec::new();
    if insert.columns.is_empty() {
        for (_, column) in &target.columns {
            columns.push(column.ok_or_else(refused)?);
        }
    }
    for column in insert.columns {
        let name = Name::of(column);
        let clause = Clause::InsertInto;
        let found = target.columns.iter().find(|(n, _)| same_name(n, &name.column));
        let (_, base) = found.ok_or_else(|| SqlError::UnknownColumn { name: name.text(), clause })?;
        columns.push(base.ok_or_else(refused)?);
    }
    let base = target.base;
    Ok(InsertTarget { table: base.handle, slot: base.slot, columns, rules: base.rules })
}

pub(crate) fn refuse_virtual(planner: &Planner<'_>, name: &ast::ObjectName<'_>) -> SqlResult<()> {
    let (schema, table) = planner.table_name(name)?;
    if (planner.cx.virtual_table)(&schema, &table).is_some() {
        return Err(SqlError::AccessDeniedToDatabase { user: planner.cx.user.to_owned(), schema });
    }
    Ok(())
}

fn insert_columns(
    planner: &Planner<'_>,
    table: &TableHandle,
    insert: &ast::Insert<'_>,
) -> SqlResult<Vec<usize>> {
    if insert.columns.is_empty() {
        return Ok((0..table.def.columns.len()).filter(|i| !table.def.columns[*i].invisible).collect());
    }
    let mut out: Vec<usize> = Vec::with_capacity(insert.columns.len());
    let with_history = planner.inserts_history();
    for column in insert.columns {
        let name = Name::of(column);
        let clause = Clause::InsertInto;
        let found = table
            .def
            .column(&name.column)
            .filter(|i| !table.def.columns[*i].hidden || with_history)
            .filter(|_| name.table.as_ref().is_none_or(|t| *t == table.def.name))
            .ok_or_else(|| SqlError::UnknownColumn { name: name.text(), clause })?;
        if out.contains(&found) {
            return Err(SqlError::ColumnSpecifiedTwice(name.column));
        }
        out.push(found);
    }
    Ok(out)
}

/// Values of a row; they may read columns of the row that were set before (`VALUES (1, a + 1)`).
fn insert_row<'a>(
    planner: &mut Planner<'a>,
    table: &Arc<TableHandle>,
    slot: Slot,
    row: &[ast::Expr<'a>],
) -> SqlResult<Vec<AssignValue>> {
    let literal_only =
        row.iter().all(|e| matches!(e, ast::Expr::Literal(_) | ast::Expr::Param(_) | ast::Expr::Default));
    let mut scope = Scope::default();
    if !literal_only {
        scope.add(base_scope_table(slot, table.def.name.clone(), table))?;
    }
    planner.scopes.push(scope);
    let values = row.iter().map(|e| assign_value(planner, e, Clause::Values)).collect();
    planner.scopes.pop();
    values
}

pub(crate) fn assign_value<'a>(
    planner: &mut Planner<'a>,
    e: &ast::Expr<'a>,
    clause: Clause,
) -> SqlResult<AssignValue> {
    match e {
        // An UPDATE has left out what it is to IGNORE.
        ast::Expr::Default | ast::Expr::Ignore => Ok(AssignValue::Default),
        other => {
            let typed = planner.expr(other, clause)?;
            if let Expr::Row(_) = typed.expr {
                return Err(SqlError::OperandColumns(1));
            }
            Ok(AssignValue::Expr(typed.expr))
        }
    }
}

/// `a = 1, b = DEFAULT`: the slot of each column and its new value.
pub(crate) fn assignments<'a>(
    planner: &mut Planner<'a>,
    list: &[ast::Assignment<'a>],
    clause: Clause,
) -> SqlResult<Vec<(Slot, Assignment)>> {
    assignments_for(planner, list, clause, Privileges::UPDATE)
}

/// Assignments to columns on which `wanted` is needed.
pub(crate) fn assignments_for<'a>(
    planner: &mut Planner<'a>,
    list: &[ast::Assignment<'a>],
    clause: Clause,
    wanted: Privileges,
) -> SqlResult<Vec<(Slot, Assignment)>> {
    let mut out = Vec::with_capacity(list.len());
    for item in list {
        planner.guarded.column_for = Some(wanted);
        let target = planner.column(&Name::of(&item.column), clause);
        planner.guarded.column_for = None;
        let target = target?;
        let Expr::Column(column) = target.expr else {
            if planner.scope().tables.iter().any(|t| t.view.is_some()) {
                return Err(SqlError::Other {
                    errno: 1348,
                    state: *b"HY000",
                    text: format!("Column '{}' is not updatable", item.column.name.text()),
                });
            }
            return Err(SqlError::UnknownColumn { name: Name::of(&item.column).text(), clause });
        };
        let mut tables = planner.scope().tables.iter();
        if tables.any(|t| t.slot == column.slot && t.is_hidden(usize::from(column.column))) {
            return Err(SqlError::UnknownColumn { name: Name::of(&item.column).text(), clause });
        }
        if matches!(item.value, ast::Expr::Ignore) {
            continue;
        }
        let value = assign_value(planner, &item.value, clause)?;
        out.push((column.slot, Assignment { column: usize::from(column.column), value }));
    }
    Ok(out)
}

/// FROM, WHERE, ORDER BY and LIMIT of UPDATE and DELETE, as a select that locks.
fn find_rows<'a>(
    planner: &mut Planner<'a>,
    join: JoinInput,
    order_by: &[ast::OrderItem<'a>],
    limit: Option<&'a ast::Limit<'a>>,
) -> SqlResult<SelectPlan> {
    let order = planner.sort_keys(order_by, Clause::OrderBy)?;
    let limit = planner.limit(limit)?;
    let mut plan = SelectPlan {
        steps: Vec::new(),
        gate: None,
        output: Vec::new(),
        group: None,
        having: None,
        windows: None,
        distinct: false,
        order,
        limit,
        lock: Some((LockMode::Exclusive, LockWaitPolicy::Default)),
        never: None,
        ordered_by_index: false,
        found_rows: false,
        semi_consistent: false,
        hidden: 0,
        order_listed: Vec::new(),
    };
    access::optimise(planner, join, &mut plan)?;
    Ok(plan)
}

pub(crate) fn update<'a>(planner: &mut Planner<'a>, update: &ast::Update<'a>) -> SqlResult<UpdatePlan> {
    planner.scopes.push(Scope::default());
    let plan = update_in_scope(planner, update);
    planner.scopes.pop();
    plan
}

fn update_in_scope<'a>(planner: &mut Planner<'a>, update: &ast::Update<'a>) -> SqlResult<UpdatePlan> {
    let mut join = JoinInput::default();
    planner.changing = true;
    let added = planner.add_targets(update.tables, Privileges::UPDATE, &mut join);
    planner.changing = false;
    added?;
    let portion = update.portion.map(|p| planner.portion(p, &mut join)).transpose()?;
    let sets = assignments(planner, update.assignments, Clause::Set)?;
    planner.filter(update.filter.as_ref(), &mut join)?;
    let mut targets: Vec<UpdateTarget> = Vec::new();
    for (slot, assignment) in sets {
        let (table, rules) = target_table(planner, slot, "UPDATE")?;
        planner.check_target(slot, Privileges::UPDATE)?;
        match targets.iter_mut().find(|t| t.slot == slot) {
            Some(target) => target.assignments.push(assignment),
            None => {
                let parts = join.tables.iter().find(|t| t.slot == slot).and_then(|t| t.parts.clone());
                targets.push(UpdateTarget { slot, table, parts, assignments: vec![assignment], rules });
            }
        }
    }
    let mut select = find_rows(planner, join, update.order_by, update.limit)?;
    select.semi_consistent = true;
    let buffered = select.steps.len() > 1
        || portion.is_some()
        || !select.order.is_empty()
        || targets.iter().any(|t| moves_in_scan(&select, t) || may_move_by_trigger(t))
        || reads_itself(&select, &targets);
    Ok(UpdatePlan { select, targets, ignore: update.ignore, buffered, portion })
}

/// The table of a slot that the statement changes, and what a view asks of its rows.
fn target_table(
    planner: &Planner<'_>,
    slot: Slot,
    verb: &str,
) -> SqlResult<(Arc<TableHandle>, Vec<ViewRule>)> {
    let tables = &planner.scope().tables;
    let direct = tables.iter().find(|t| t.slot == slot);
    if let Some(handle) = direct.and_then(|t| t.handle.as_ref()).filter(|h| h.def.sequence.is_some()) {
        return Err(crate::error::not_of_sequences(handle.schema(), handle.name()));
    }
    if let Some(handle) = direct.and_then(|t| t.handle.clone()) {
        planner.changes(&handle)?;
        return Ok((handle, Vec::new()));
    }
    let views = || tables.iter().filter_map(|t| t.view.as_ref());
    if let Some(base) = views().flat_map(|v| &v.bases).find(|b| b.slot == slot) {
        planner.changes(&base.handle)?;
        return Ok((base.handle.clone(), base.rules.clone()));
    }
    let name = direct.map_or_else(String::new, |t| t.alias.clone());
    Err(SqlError::Other {
        errno: 1288,
        state: *b"HY000",
        text: format!("The target table {name} of the {verb} is not updatable"),
    })
}

/// The slot whose rows a DELETE of a named table removes: of a view its only table.
fn delete_slot(table: &ScopeTable) -> Slot {
    match &table.view {
        Some(MergedView { bases, slots, .. }) if bases.len() == 1 && slots.len() == 1 => bases[0].slot,
        _ => table.slot,
    }
}

/// The index that finds the rows is changed: a changed row could be found again.
fn moves_in_scan(select: &SelectPlan, target: &UpdateTarget) -> bool {
    let Some(step) = select.steps.iter().find(|s| s.slot == target.slot) else { return true };
    if matches!(step.access, Access::Point { .. }) {
        return false;
    }
    let def = &target.table.def;
    let Some(index) = step.access.index() else { return true };
    let changed = |column: usize| target.assignments.iter().any(|a| a.column == column);
    // A row that moves to another part may be met there again.
    if crate::partition::router(&target.table).ok().flatten().is_some_and(|r| {
        let computed = |c: &usize| def.columns[*c].generated.is_some() || def.columns[*c].on_update_now;
        r.columns().iter().any(|c| changed(*c) || computed(c))
    }) {
        return true;
    }
    let parts = def.indexes[index].parts.iter().chain(&def.indexes[0].parts);
    // A versioned row begins anew.
    let begins = def.versioning().map(|(start, _)| start);
    parts.into_iter().any(|p| changed(p.column) || begins == Some(p.column))
        || def
            .columns
            .iter()
            .enumerate()
            .any(|(i, c)| c.on_update_now && def.indexes[index].parts.iter().any(|p| p.column == i))
}

/// A BEFORE trigger may change any column.
fn may_move_by_trigger(target: &UpdateTarget) -> bool {
    target.table.triggers.iter().any(|t| t.before && t.event == TriggerEvent::Update)
}

/// A subquery reads a changed table.
fn reads_itself(select: &SelectPlan, targets: &[UpdateTarget]) -> bool {
    let mut found = false;
    let mut look = |e: &Expr| found |= matches!(e, Expr::Subquery(_));
    select.exprs(&mut |e| walk(e, &mut look));
    for target in targets {
        for assignment in &target.assignments {
            if let AssignValue::Expr(e) = &assignment.value {
                walk(e, &mut look);
            }
        }
    }
    found
}

fn walk(e: &Expr, look: &mut dyn FnMut(&Expr)) {
    look(e);
    e.children(&mut |c| walk(c, look));
}

pub(crate) fn delete<'a>(planner: &mut Planner<'a>, delete: &ast::Delete<'a>) -> SqlResult<DeletePlan> {
    planner.scopes.push(Scope::default());
    let plan = match delete.history {
        Some(time) => delete_history(planner, delete, time),
        None => delete_in_scope(planner, delete),
    };
    planner.scopes.pop();
    plan
}

/// DELETE HISTORY: a scan of one table.
fn delete_history<'a>(
    planner: &mut Planner<'a>,
    delete: &ast::Delete<'a>,
    time: &ast::SystemTime<'a>,
) -> SqlResult<DeletePlan> {
    let [ast::TableRef::Table(factor)] = delete.tables else { return Err(SqlError::NoTablesUsed) };
    let (schema, name) = planner.table_name(&factor.name)?;
    planner.check_table(&schema, &name, Privileges::DELETE_HISTORY)?;
    if planner.view(&schema, &name).is_some() {
        let text = format!("'{name}' is a view");
        return Err(SqlError::Other { errno: 1965, state: *b"42S02", text });
    }
    let table = planner.base_table(&factor.name, &name)?;
    planner.changes(&table)?;
    let slot = planner.new_slot()?;
    planner.scope_mut().add(base_scope_table(slot, name.clone(), &table))?;
    let mut join = JoinInput::default();
    join.tables.push(FromTable::new(slot, Source::Table(table.clone()), name));
    join.conditions = planner.past_versions(&table, time, slot)?;
    let select = find_rows(planner, join, &[], None)?;
    let targets = vec![(slot, table)];
    Ok(DeletePlan {
        select,
        targets,
        ignore: false,
        buffered: false,
        returning: None,
        history: true,
        portion: None,
    })
}

fn delete_in_scope<'a>(planner: &mut Planner<'a>, delete: &ast::Delete<'a>) -> SqlResult<DeletePlan> {
    let mut join = JoinInput::default();
    planner.changing = true;
    let added = planner.add_targets(delete.tables, Privileges::DELETE, &mut join);
    planner.changing = false;
    added?;
    let portion = delete.portion.map(|p| planner.portion(p, &mut join)).transpose()?;
    planner.filter(delete.filter.as_ref(), &mut join)?;
    let mut targets = Vec::new();
    if delete.targets.is_empty() {
        let slot = planner.scope().tables.first().map(delete_slot).ok_or(SqlError::NoTablesUsed)?;
        planner.check_target(slot, Privileges::DELETE)?;
        targets.push((slot, target_table(planner, slot, "DELETE")?.0));
    }
    for name in delete.targets {
        let found = planner
            .scope()
            .tables
            .iter()
            .find(|t| t.alias == name.name.text() && name.database.is_none_or(|d| d.text() == t.schema));
        let slot = found.map(delete_slot).ok_or_else(|| SqlError::Other {
            errno: 1109,
            state: *b"42S02",
            text: format!("Unknown table '{}' in MULTI DELETE", name.name),
        })?;
        planner.check_target(slot, Privileges::DELETE)?;
        targets.push((slot, target_table(planner, slot, "DELETE")?.0));
    }
    let returning = returning(planner, delete.returning)?;
    let select = find_rows(planner, join, delete.order_by, delete.limit)?;
    let buffered =
        select.steps.len() > 1 || portion.is_some() || !select.order.is_empty() || reads_itself(&select, &[]);
    let ignore = delete.ignore;
    Ok(DeletePlan { select, targets, ignore, buffered, returning, history: false, portion })
}
