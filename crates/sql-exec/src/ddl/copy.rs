//! Rows of a new or rebuilt table.

use std::sync::Arc;

use base::{Lsn, PageNo, SpaceId};
use catalog::mdl::MdlLock;
use catalog::partition::{PartTrees, Partitioning};
use catalog::{CatalogChange, TableDef, TableHandle};
use row_format::RowView;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::plan::{InsertPlan, InsertSource, OnDuplicate, Plan, PlanKind};
use sql_plan::relations::ParentKey;
use sql_syntax::ast;
use storage::row::{
    BulkLoad, Direction, KeyRange, LoadError, ReadMode, RowBuf, RowError, Strength, WaitMode,
};
use types::Value;

use super::{DdlContext, storage_error};
use crate::computed;
use crate::context::ExecContext;
use crate::exec::Exec;
use crate::partitioned;
use crate::row;
use crate::store::{self, Nulls, StoreMode};

/// Gives a definition a table id, a space and a tree for each index.
pub(super) fn make_trees(change: &mut CatalogChange, def: &mut TableDef) -> SqlResult<()> {
    let failed = |e: RowError| storage_error(e, "");
    def.id = change.new_table_id();
    def.formats.clear();
    if def.partitioning.is_some() {
        return make_parts(change, def);
    }
    def.space = change.create_space().map_err(failed)?;
    // Read views from before do not know this table; its rows look the same to everybody.
    let since = if def.temporary || def.sequence.is_some() { Lsn::NONE } else { change.trx().log_end() };
    for (i, index) in def.indexes.iter_mut().enumerate() {
        (index.space, index.since) = (None, since);
        (index.id, index.root) = change.create_tree(def.space, i == 0).map_err(failed)?;
    }
    Ok(())
}

/// Same, for a table with parts: each has trees of its own, the table itself none.
fn make_parts(change: &mut CatalogChange, def: &mut TableDef) -> SqlResult<()> {
    let Some(partitioning) = &def.partitioning else { return Ok(()) };
    let mut partitioning = Partitioning::clone(partitioning);
    for part in partitioning.parts_mut() {
        *part = new_part(change, def.indexes.len())?;
    }
    def.space = SpaceId(0);
    if let Some(first) = partitioning.parts().next() {
        for (index, (id, _)) in def.indexes.iter_mut().zip(&first.indexes) {
            (index.id, index.root, index.space, index.since) = (*id, PageNo(0), None, first.since);
        }
    }
    def.partitioning = Some(Arc::new(partitioning));
    Ok(())
}

/// The empty trees of one part.
pub(super) fn new_part(change: &mut CatalogChange, indexes: usize) -> SqlResult<PartTrees> {
    let failed = |e: RowError| storage_error(e, "");
    let space = change.create_space().map_err(failed)?;
    let mut part =
        PartTrees { id: change.new_table_id(), space, since: change.trx().log_end(), indexes: Vec::new() };
    for i in 0..indexes {
        part.indexes.push(change.create_tree(space, i == 0).map_err(failed)?);
    }
    Ok(part)
}

/// A table that is not in the catalog yet.
pub(super) fn open_new(cx: &DdlContext<'_>, def: &TableDef) -> Arc<TableHandle> {
    Arc::new(TableHandle::new(
        Arc::new(def.clone()),
        cx.catalog.engine().open_table(def.spec()),
        Arc::new(MdlLock::default()),
        cx.catalog.engine().clone(),
    ))
}

/// AUTO_INCREMENT = n.
pub(super) fn start_auto_increment(
    cx: &DdlContext<'_>,
    change: &mut CatalogChange,
    def: &TableDef,
    value: u64,
) -> SqlResult<()> {
    if def.auto_increment().is_none() {
        return Ok(());
    }
    let table = open_new(cx, def);
    crate::auto::start_at(change.trx(), &table, value).map_err(|e| storage_error(e, &def.name))
}

/// The new trees go on numbering where the old ones stopped: values whose rows are gone, or were rolled back, are not given again.
pub(super) fn keep_auto_increment(
    cx: &DdlContext<'_>,
    change: &mut CatalogChange,
    old: &TableHandle,
    def: &TableDef,
    sources: &[ColumnSource],
) -> SqlResult<()> {
    let (Some(before), Some(now)) = (old.def.auto_increment(), def.auto_increment()) else { return Ok(()) };
    if !matches!(sources[now], ColumnSource::Old(source) if source == before) {
        return Ok(());
    }
    let next = change.trx().next_auto_increment(&old.table).map_err(|e| storage_error(e, &def.name))?;
    start_auto_increment(cx, change, def, next)
}

/// Where a column of the new table comes from.
#[derive(Debug, Clone)]
pub(super) enum ColumnSource {
    /// A column of the old table.
    Old(usize),
    Value(Value),
    /// Computed from the row: a default by expression.
    Default,
    /// A generated column.
    Generated,
}

/// Copies every row of `old` into the table of `def`, converted to the new types; answers how many. Rows keep their order unless the
/// primary key changes, so the new trees are built leaf by leaf.
pub(super) fn copy_rows(
    cx: &mut DdlContext<'_>,
    change: &mut CatalogChange,
    old: &Arc<TableHandle>,
    def: &TableDef,
    sources: &[ColumnSource],
    parents: &[ParentKey],
    ignore: bool,
) -> SqlResult<u64> {
    let new = open_new(cx, def);
    let kernel = change.trx().kernel().clone();
    let parts = partitioned::all_parts(&new.table);
    let mut loads: Vec<BulkLoad<'_>> = parts.iter().map(|part| BulkLoad::new(&kernel, part)).collect();
    let mode = ReadMode::Locking { strength: Strength::Shared, wait: WaitMode::Wait };
    let (all, forward) = (KeyRange::all(), Direction::Forward);
    let mut scan = partitioned::scan(change.trx(), old, 0, all, forward, mode, &None, false).large();
    let (mut buf, mut body, mut values) = (RowBuf::new(), Vec::new(), Vec::new());
    let forgets = def.versioning().is_none();
    let mut copied = 0;
    while scan.next(change.trx(), &mut buf).map_err(|e| storage_error(e, old.name()))? {
        // The table is versioned no more: only what it is now stays.
        if forgets && !crate::versioning::is_current(old, &buf.body)? {
            continue;
        }
        values.clear();
        let view =
            RowView::new(&old.table.spec().layout, &buf.body).map_err(|c| crate::errors::corrupt(&c))?;
        let strict = StoreMode {
            strict: cx.values.sql_mode.strict() && !ignore,
            row: copied + 1,
            nulls: Nulls::ByMode,
        };
        for (i, source) in sources.iter().enumerate() {
            values.push(match source {
                ColumnSource::Value(value) => value.clone(),
                ColumnSource::Default | ColumnSource::Generated => Value::Null,
                ColumnSource::Old(column) => {
                    let value = view.value(*column).map_err(|c| crate::errors::corrupt(&c))?;
                    convert_existing(&new, i, value, strict, cx)?
                }
            });
        }
        fill_auto(cx, change, &new, &mut values)?;
        let defaults = |i: usize| matches!(sources.get(i), Some(ColumnSource::Default));
        complete_row(cx, change, &new, &mut values, strict, &defaults)?;
        row::body_of(&new.table.spec().layout, &values, &mut body)?;
        if !parents.is_empty() && crate::versioning::is_current(&new, &body)? {
            check_parents(cx, change, &new, parents, &body)?;
        }
        let into = match sql_plan::partition::router(&new)? {
            None => 0,
            Some(router) => router.part_of(&new.table.spec().layout, &body)?,
        };
        loads[into].push(change.trx(), &body).map_err(|e| load_error(e, &new, cx.values))?;
        copied += 1;
        if copied % 1024 == 0 && cx.session.interrupted() {
            return Err(SqlError::Interrupted);
        }
    }
    for load in loads {
        load.finish(&mut || cx.session.interrupted()).map_err(|e| load_error(e, &new, cx.values))?;
    }
    Ok(copied)
}

pub(super) fn load_error(error: LoadError, new: &TableHandle, values: &mut types::Context) -> SqlError {
    match error {
        LoadError::Duplicate { index, body } => {
            crate::errors::row_error(RowError::DuplicateKey { index }, new, Some(&body), values)
        }
        LoadError::Row(e) => crate::errors::row_error(e, new, None, values),
    }
}

/// NULL in a column that became NOT NULL is a truncation here, not "cannot be null".
fn convert_existing(
    new: &TableHandle,
    column: usize,
    value: Value,
    mode: StoreMode,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Value> {
    let def = &new.def.columns[column];
    if value.is_null() && !def.nullable && !def.auto_increment {
        let truncated = SqlError::DataTruncated { column: def.name.clone(), row: mode.row };
        if mode.strict {
            return Err(truncated);
        }
        cx.warnings.warn(truncated);
        return Ok(store::implicit_default(&def.ty));
    }
    if value.is_null() {
        return Ok(Value::Null);
    }
    store::convert(new, column, value, mode, cx.values, cx.warnings)
}

/// A new AUTO_INCREMENT column numbers the rows.
fn fill_auto(
    cx: &mut DdlContext<'_>,
    change: &mut CatalogChange,
    new: &Arc<TableHandle>,
    values: &mut [Value],
) -> SqlResult<()> {
    let Some(column) = new.def.auto_increment() else { return Ok(()) };
    if !values[column].is_null() {
        return Ok(());
    }
    let id = crate::auto::next(change.trx(), new, 1, 1).map_err(|e| storage_error(e, new.name()))?;
    let mode = StoreMode { strict: true, row: 1, nulls: Nulls::ByMode };
    values[column] = store::convert(new, column, Value::UInt(id), mode, cx.values, cx.warnings)?;
    Ok(())
}

/// New foreign keys hold for the rows that are there.
fn check_parents(
    cx: &mut DdlContext<'_>,
    change: &mut CatalogChange,
    table: &Arc<TableHandle>,
    parents: &[ParentKey],
    body: &[u8],
) -> SqlResult<()> {
    let mut exec_cx = in_change(cx, change);
    let mut exec = Exec::of_definitions(&mut exec_cx);
    parents.iter().try_for_each(|parent| exec.check_parent(table, parent, None, body))
}

/// What the definition computes and checks of a row.
fn complete_row(
    cx: &mut DdlContext<'_>,
    change: &mut CatalogChange,
    table: &Arc<TableHandle>,
    values: &mut [Value],
    mode: StoreMode,
    is_default: &dyn Fn(usize) -> bool,
) -> SqlResult<()> {
    let Some(program) = computed::program_of(table)? else { return Ok(()) };
    let mut exec_cx = in_change(cx, change);
    let mut exec = Exec::of_definitions(&mut exec_cx);
    for (column, _) in &program.defaults {
        if is_default(*column) {
            values[*column] = exec.column_default(table, *column, values, mode)?;
        }
    }
    exec.compute_row(table, program, values, mode)?;
    exec.check_row(table, program, values)
}

/// Rows of a select into a new table.
pub(super) fn fill_from_query(
    cx: &mut DdlContext<'_>,
    change: &mut CatalogChange,
    def: &TableDef,
    plan: &Plan,
    targets: &[usize],
    on_duplicate: ast::OnDuplicate,
) -> SqlResult<u64> {
    let table = open_new(cx, def);
    let PlanKind::Query(query) = &plan.kind else { return Ok(0) };
    // What a temporary table is filled with is read in the session's transaction, which goes on.
    let reader = if def.temporary { cx.reader.as_deref_mut() } else { None };
    let rows = {
        let mut exec_cx = ExecContext {
            trx: match reader {
                Some(reader) => reader,
                None => change.trx(),
            },
            values: cx.values,
            warnings: cx.warnings,
            session: cx.session,
            settings: cx.settings,
            workspace: cx.workspace,
        };
        Exec::new(plan, cx.params, &mut exec_cx).lock_what_is_read().gather(query)?
    };
    let mut exec_cx = in_change(cx, change);
    let insert = InsertPlan {
        table,
        slot: 0,
        columns: targets.to_vec(),
        source: InsertSource::Rows(Vec::new()),
        on_duplicate: match on_duplicate {
            ast::OnDuplicate::Error => OnDuplicate::Error,
            ast::OnDuplicate::Ignore => OnDuplicate::Ignore,
            ast::OnDuplicate::Replace => OnDuplicate::Replace,
        },
        query_slot: None,
        reads_target: false,
        parts: None,
        ignore: on_duplicate == ast::OnDuplicate::Ignore,
        replace: on_duplicate == ast::OnDuplicate::Replace,
        returning: None,
        rules: Vec::new(),
    };
    Exec::of_definitions(&mut exec_cx).insert_all(&insert, &rows)
}

/// What the executor needs to write rows in the change's transaction.
fn in_change<'a>(cx: &'a mut DdlContext<'_>, change: &'a mut CatalogChange) -> ExecContext<'a> {
    ExecContext {
        trx: change.trx(),
        values: cx.values,
        warnings: cx.warnings,
        session: cx.session,
        settings: cx.settings,
        workspace: cx.workspace,
    }
}
