//! CHECK, CHECKSUM, ANALYZE, OPTIMIZE and REPAIR TABLE, and the same of a table's partitions by ALTER TABLE.

use std::sync::Arc;

use catalog::TableHandle;
use catalog::mdl::MdlMode;
use row_format::{RowView, row_checksum};
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::meta::{ColumnMeta, ExprType};
use sql_syntax::ast;
use storage::row::{Direction, KeyRange, ReadMode, RowBuf};
use types::Value;

use crate::ddl::{DdlContext, storage_error};
use crate::outcome::Outcome;
use crate::partitioned;
use crate::sink::RowSink;

/// Rows between two looks at the kill flag.
const INTERRUPT_EVERY: u64 = 1024;

/// What is asked about tables as a whole.
pub struct Admin<'s> {
    action: Action,
    tables: &'s [ast::ObjectName<'s>],
    /// ALTER TABLE ... PARTITION: the partitions named, none for ALL.
    partitions: Option<&'s [ast::Ident<'s>]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Checksum { quick: bool },
    Check,
    Analyze,
    Optimize,
    Repair,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Checksum { .. } => "checksum",
            Self::Check => "check",
            Self::Analyze => "analyze",
            Self::Optimize => "optimize",
            Self::Repair => "repair",
        }
    }
}

/// A statement about tables as a whole: CHECK TABLE and its kin, and ALTER TABLE ... CHECK PARTITION and its kin.
pub fn admin_of<'s>(statement: &'s ast::Statement<'s>) -> Option<Admin<'s>> {
    use ast::PartitionAction as P;
    match statement {
        ast::Statement::TableAdmin(s) => {
            let action = match s.action {
                ast::AdminAction::Checksum { quick, .. } => Action::Checksum { quick },
                ast::AdminAction::Check(_) => Action::Check,
                ast::AdminAction::Analyze(_) => Action::Analyze,
                ast::AdminAction::Optimize => Action::Optimize,
                ast::AdminAction::Repair(_) => Action::Repair,
            };
            Some(Admin { action, tables: s.tables, partitions: None })
        }
        ast::Statement::AlterTable(s) => {
            let [ast::AlterAction::Partition(action)] = s.actions else { return None };
            let (action, names) = match action {
                P::Check(names) => (Action::Check, names),
                P::Analyze(names) => (Action::Analyze, names),
                P::Optimize(names) => (Action::Optimize, names),
                P::Repair(names) => (Action::Repair, names),
                _ => return None,
            };
            Some(Admin { action, tables: std::slice::from_ref(&s.name), partitions: Some(names.0) })
        }
        _ => None,
    }
}

/// Runs a statement about tables as a whole. It reads in a transaction of its own.
pub fn table_admin(s: &Admin<'_>, cx: &mut DdlContext<'_>, sink: &mut dyn RowSink) -> SqlResult<Outcome> {
    let mark = cx.mdl.held();
    let outcome = match s.action {
        Action::Checksum { quick } => checksum(s, quick, cx, sink),
        _ => messages(s, cx, sink),
    };
    cx.mdl.release_to(mark);
    outcome
}

/// A table by name, its name locked shared; the error is one of the statement's rows, not its failure.
fn open(
    name: &ast::ObjectName<'_>,
    mode: MdlMode,
    cx: &mut DdlContext<'_>,
) -> SqlResult<(String, Result<Arc<TableHandle>, SqlError>)> {
    let (schema, table) = cx.table_name(name)?;
    if cx.catalog.temporary(&schema, &table).is_none() {
        cx.lock(&schema, &table, mode)?;
    }
    let found = cx.existing(&schema, &table);
    Ok((format!("{schema}.{table}"), found))
}

fn closed(_: crate::sink::SinkClosed) -> SqlError {
    SqlError::Interrupted
}

fn checksum(
    s: &Admin<'_>,
    quick: bool,
    cx: &mut DdlContext<'_>,
    sink: &mut dyn RowSink,
) -> SqlResult<Outcome> {
    sink.columns(&[
        ColumnMeta::text("Table", 128),
        ColumnMeta::plain("Checksum", ExprType { length: 22, ..ExprType::bigint() }),
    ])
    .map_err(closed)?;
    let mut rows = 0;
    for name in s.tables {
        let (full_name, found) = open(name, MdlMode::Shared, cx)?;
        let value = match found {
            // Live checksums are not kept: QUICK has nothing to say.
            Ok(_) if quick => Value::Null,
            Ok(handle) => Value::UInt(u64::from(sum_rows(&handle, cx)?)),
            Err(e) => {
                cx.warnings.push(sql_plan::error::Level::Error, e);
                Value::Null
            }
        };
        sink.begin_row();
        sink.value(&Value::utf8(&full_name));
        sink.value(&value);
        sink.end_row().map_err(closed)?;
        rows += 1;
    }
    Ok(Outcome { has_rows: true, found_rows: rows, ..Outcome::default() })
}

fn sum_rows(handle: &Arc<TableHandle>, cx: &mut DdlContext<'_>) -> SqlResult<u32> {
    let failed = |e| storage_error(e, handle.name());
    let mut trx = cx.catalog.engine().begin();
    let (all, forward, mode) = (KeyRange::all(), Direction::Forward, ReadMode::Consistent);
    let mut scan = partitioned::scan(&mut trx, handle, 0, all, forward, mode, &None, false).large();
    let generated = |i: usize| handle.def.columns.get(i)?.generated.as_ref();
    let computed = |i: usize| generated(i).is_some_and(|g| !g.stored);
    let (mut buf, mut sum, mut rows) = (RowBuf::new(), 0u32, 0u64);
    while scan.next(&mut trx, &mut buf).map_err(failed)? {
        let view = RowView::new(&handle.table.spec().layout, &buf.body);
        let row = view.and_then(|v| row_checksum(&v, computed)).map_err(|c| crate::errors::corrupt(&c))?;
        sum = sum.wrapping_add(row);
        rows += 1;
        if rows.is_multiple_of(INTERRUPT_EVERY) && cx.session.interrupted() {
            return Err(SqlError::Interrupted);
        }
    }
    trx.rollback().map_err(failed)?;
    Ok(sum)
}

/// The kind and text of a line of an answer.
type Line = (&'static str, String);

/// The four columns of CHECK and its kin.
fn messages(s: &Admin<'_>, cx: &mut DdlContext<'_>, sink: &mut dyn RowSink) -> SqlResult<Outcome> {
    let columns = [("Table", 128), ("Op", 10), ("Msg_type", 10), ("Msg_text", 1536)];
    let columns: Vec<ColumnMeta> =
        columns.iter().map(|(name, length)| ColumnMeta::text(name, *length)).collect();
    let mut answers = Vec::new();
    for name in s.tables {
        let changes = s.action == Action::Optimize || s.action == Action::Repair && s.partitions.is_some();
        let mode = if changes { MdlMode::Exclusive } else { MdlMode::Shared };
        let (full_name, found) = open(name, mode, cx)?;
        let lines = match found {
            Ok(handle) => answer(s, &handle, cx)?,
            Err(e) => {
                let text = match &e {
                    SqlError::NoSuchTable { .. } => Some(format!("Table '{full_name}' doesn't exist")),
                    SqlError::Other { errno: 1347, text, .. } => Some(text.clone()),
                    _ => None,
                };
                let failed = |text| vec![("Error", text), ("status", "Operation failed".to_owned())];
                text.map(failed).unwrap_or_default()
            }
        };
        answers.push((full_name, lines));
    }
    sink.columns(&columns).map_err(closed)?;
    let mut rows = 0;
    for (full_name, lines) in answers {
        for (kind, text) in lines {
            sink.begin_row();
            for field in [full_name.as_str(), s.action.name(), kind, text.as_str()] {
                sink.value(&Value::utf8(field));
            }
            sink.end_row().map_err(closed)?;
            rows += 1;
        }
    }
    Ok(Outcome { has_rows: true, found_rows: rows, ..Outcome::default() })
}

fn answer(s: &Admin<'_>, handle: &Arc<TableHandle>, cx: &mut DdlContext<'_>) -> SqlResult<Vec<Line>> {
    let ok = ("status", "OK".to_owned());
    let wrong_name = || vec![("error", "Wrong partition name or partition list".to_owned())];
    let parts = match s.partitions {
        None => (0..partitioned::all_parts(&handle.table).len()).collect(),
        Some(names) => match crate::ddl::parts_named(handle, names)? {
            Some(parts) => parts,
            None => return Ok(wrong_name()),
        },
    };
    match s.action {
        Action::Check => check(handle, &parts, cx),
        Action::Analyze => {
            cx.catalog.engine().row_estimate(&handle.table, true);
            handle.statistics.set(crate::analyze::count(handle, cx)?);
            Ok(vec![ok])
        }
        Action::Optimize => {
            crate::ddl::rebuild(handle.schema(), handle.name(), cx)?;
            let note = match s.partitions {
                None => "Table does not support optimize, doing recreate + analyze instead",
                Some(_) => {
                    "Table does not support optimize on partitions. All partitions will be rebuilt and analyzed."
                }
            };
            Ok(vec![("note", note.to_owned()), ok])
        }
        _ if s.partitions.is_some() => {
            let mut misplaced = 0;
            for part in parts {
                misplaced += count_misplaced(handle, part, cx)?;
            }
            if misplaced == 0 {
                return Ok(vec![ok]);
            }
            crate::ddl::divide_anew(handle, cx)?;
            Ok(vec![("warning", format!("Moved {misplaced} misplaced rows")), ok])
        }
        _ => Ok(vec![("note", "The storage engine for the table doesn't support repair".to_owned())]),
    }
}

/// CHECK of some parts of a table: trees, rows and entries, and that each row lies where it belongs.
fn check(handle: &Arc<TableHandle>, parts: &[usize], cx: &mut DdlContext<'_>) -> SqlResult<Vec<Line>> {
    let failed = |e| storage_error(e, handle.name());
    for at in parts {
        let part = &partitioned::all_parts(&handle.table)[*at];
        let mut trx = cx.catalog.engine().begin();
        let report = trx.check_table(part, &mut || cx.session.interrupted()).map_err(failed)?;
        trx.rollback().map_err(failed)?;
        if !report.is_sound() {
            let mut lines: Vec<Line> = report.problems.into_iter().map(|p| ("Warning", p)).collect();
            lines.push(("error", "Corrupt".to_owned()));
            return Ok(lines);
        }
        if count_misplaced(handle, *at, cx)? > 0 {
            let (partitioning, name) = (handle.def.partitioning.as_ref(), handle.name());
            let partition = partitioning.map(|p| &p.partitions[at / p.parts_per_partition()].name);
            let partition = partition.map_or("", String::as_str);
            let repair =
                format!("Upgrade required. Please do \"REPAIR TABLE `{name}`\" or dump/reload to fix it!");
            return Ok(vec![
                ("error", "Found a misplaced row".to_owned()),
                ("error", format!("Partition {partition} returned error")),
                ("error", repair),
            ]);
        }
    }
    Ok(vec![("status", "OK".to_owned())])
}

/// Rows of a part that belong into another one, or into none.
fn count_misplaced(handle: &Arc<TableHandle>, part: usize, cx: &mut DdlContext<'_>) -> SqlResult<u64> {
    let failed = |e| storage_error(e, handle.name());
    if handle.table.partitions().is_empty() {
        return Ok(0);
    }
    let mut trx = cx.catalog.engine().begin();
    let (all, forward, mode) = (KeyRange::all(), Direction::Forward, ReadMode::Consistent);
    let only = Some(Arc::from([part]));
    let mut scan = partitioned::scan(&mut trx, handle, 0, all, forward, mode, &only, false).large();
    let (mut buf, mut rows, mut misplaced) = (RowBuf::new(), 0u64, 0);
    while scan.next(&mut trx, &mut buf).map_err(failed)? {
        match partitioned::part_of(handle, &buf.body) {
            Ok(right) if Arc::ptr_eq(right, &handle.table.partitions()[part]) => {}
            Ok(_) => misplaced += 1,
            Err(e) if partitioned::is_without_partition(&e) => misplaced += 1,
            Err(e) => return Err(e),
        }
        rows += 1;
        if rows.is_multiple_of(INTERRUPT_EVERY) && cx.session.interrupted() {
            return Err(SqlError::Interrupted);
        }
    }
    trx.rollback().map_err(failed)?;
    Ok(misplaced)
}
