//! CHECK, CHECKSUM, ANALYZE and OPTIMIZE TABLE.

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

/// Runs a statement about tables as a whole. It reads in a transaction of its own.
pub fn table_admin(
    s: &ast::TableAdmin<'_>,
    cx: &mut DdlContext<'_>,
    sink: &mut dyn RowSink,
) -> SqlResult<Outcome> {
    let mark = cx.mdl.held();
    let outcome = match &s.action {
        ast::AdminAction::Checksum { quick, .. } => checksum(s, *quick, cx, sink),
        ast::AdminAction::Check(_) => messages(s, "check", cx, sink),
        ast::AdminAction::Analyze(_) => messages(s, "analyze", cx, sink),
        ast::AdminAction::Optimize => messages(s, "optimize", cx, sink),
        ast::AdminAction::Repair(_) => messages(s, "repair", cx, sink),
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
    s: &ast::TableAdmin<'_>,
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

/// The four columns of CHECK and its kin.
fn messages(
    s: &ast::TableAdmin<'_>,
    operation: &'static str,
    cx: &mut DdlContext<'_>,
    sink: &mut dyn RowSink,
) -> SqlResult<Outcome> {
    let columns = [("Table", 128), ("Op", 10), ("Msg_type", 10), ("Msg_text", 1536)];
    let columns: Vec<ColumnMeta> =
        columns.iter().map(|(name, length)| ColumnMeta::text(name, *length)).collect();
    sink.columns(&columns).map_err(closed)?;
    let mut rows = 0;
    for name in s.tables {
        let mode = if operation == "optimize" { MdlMode::Exclusive } else { MdlMode::Shared };
        let (full_name, found) = open(name, mode, cx)?;
        let lines = match found {
            Ok(handle) => answer(operation, &handle, cx)?,
            Err(e) => vec![
                ("Error", format!("Table '{full_name}' doesn't exist")),
                ("status", "Operation failed".to_owned()),
            ]
            .into_iter()
            .filter(|_| matches!(e, SqlError::NoSuchTable { .. }))
            .collect(),
        };
        for (kind, text) in lines {
            sink.begin_row();
            for field in [full_name.as_str(), operation, kind, text.as_str()] {
                sink.value(&Value::utf8(field));
            }
            sink.end_row().map_err(closed)?;
            rows += 1;
        }
    }
    Ok(Outcome { has_rows: true, found_rows: rows, ..Outcome::default() })
}

fn answer(
    operation: &str,
    handle: &Arc<TableHandle>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Vec<(&'static str, String)>> {
    let ok = vec![("status", "OK".to_owned())];
    match operation {
        "check" => {
            let mut trx = cx.catalog.engine().begin();
            let report = trx
                .check_table(&handle.table, &mut || cx.session.interrupted())
                .map_err(|e| storage_error(e, handle.name()))?;
            trx.rollback().map_err(|e| storage_error(e, handle.name()))?;
            if report.is_sound() {
                return Ok(ok);
            }
            let mut lines: Vec<_> = report.problems.into_iter().map(|p| ("Warning", p)).collect();
            lines.push(("error", "Corrupt".to_owned()));
            Ok(lines)
        }
        "analyze" => {
            cx.catalog.engine().row_estimate(&handle.table, true);
            handle.statistics.set(crate::analyze::count(handle, cx)?);
            Ok(ok)
        }
        "optimize" => {
            crate::ddl::rebuild(handle.schema(), handle.name(), cx)?;
            let note = "Table does not support optimize, doing recreate + analyze instead".to_owned();
            Ok(vec![("note", note), ("status", "OK".to_owned())])
        }
        _ => Ok(vec![("note", "The storage engine for the table doesn't support repair".to_owned())]),
    }
}
