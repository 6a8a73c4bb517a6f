//! CREATE TABLE ... SELECT.
//!
//! A column of the select that is a table's column brings its definition along, without what belongs to the table: AUTO_INCREMENT,
//! generation, constraints. Columns that only the statement defines come first, then those of the select in its order.

use std::sync::Arc;

use catalog::{ColumnDef, DefaultLiteral, DefaultValue, Snapshot, TableDef, TableHandle, same_name};
use charset::Collation;
use row_format::{ColumnType, IntSize};
use sql_plan::PlanContext;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::expr::Expr;
use sql_plan::meta::{ColumnMeta, FieldType};
use sql_plan::plan::{PlanKind, QueryBody, QueryPlan};
use sql_syntax::ast;
use storage::trx::LogOptions;
use types::{FixedKind, Value};

use super::create::{NewElements, finish};
use super::{DdlContext, copy, storage_error};
use crate::outcome::Outcome;

pub(super) fn table(
    s: &ast::CreateTable<'_>,
    mut def: TableDef,
    mut new: NewElements<'_>,
    existing: Option<Arc<TableHandle>>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Outcome> {
    let Some(query) = s.query else { return Err(SqlError::TableMustHaveColumns) };
    let plan = {
        let context = PlanContext { locals: cx.locals, ..cx.plan_context() };
        sql_plan::plan(&ast::Statement::Query(query), 0, &context)?
    };
    let Some(plan) = plan else { return Err(SqlError::not_supported("this SELECT")) };
    for table in &plan.tables {
        cx.lock_to_read(table.schema(), table.name())?;
    }
    let PlanKind::Query(query) = &plan.kind else { return Err(SqlError::not_supported("this SELECT")) };
    let snapshot = cx.catalog.snapshot();
    let mut selected: Vec<ColumnDef> = Vec::with_capacity(query.columns.len());
    for (i, meta) in query.columns.iter().enumerate() {
        if selected.iter().any(|c| same_name(&c.name, &meta.name)) {
            return Err(SqlError::DuplicateColumn(meta.name.clone()));
        }
        selected.push(match def.column(&meta.name) {
            Some(at) => def.columns.remove(at),
            None => column_of(meta, &snapshot, may_be_missing(query, i)),
        });
    }
    let first = def.columns.len();
    let targets: Vec<usize> = (first..first + selected.len()).collect();
    def.columns.extend(selected);
    new.add_times(&mut def)?;
    finish(&mut def, new.indexes)?;
    new.rules.finish(&mut def)?;
    super::foreign::finish(new.foreign, &mut def, cx)?;
    super::create::divide(s, &mut def, cx)?;
    let mut change = cx.catalog.change();
    if let Some(old) = existing {
        super::drop::remove(&mut change, &old)?;
    }
    copy::make_trees(&mut change, &mut def)?;
    // A replica gets the definition as text and the rows as rows.
    let text = super::create::logged_text(&def, s.mode.or_replace, cx);
    change.trx().start_statement();
    change.trx().set_log_options(cx.log);
    if !cx.annotation.is_empty() {
        change.trx().set_statement_text(cx.annotation);
    }
    let records = copy::fill_from_query(cx, &mut change, &def, &plan, &targets, s.on_duplicate)?;
    change.trx().set_log_options(LogOptions::default());
    let temporary = def.temporary;
    change.put_table(def).map_err(|e| storage_error(e, ""))?;
    if temporary {
        cx.commit_temporary(change)?;
    } else {
        cx.commit_as(change, &text)?;
    }
    Ok(Outcome {
        affected_rows: records,
        info: format!("Records: {records}  Duplicates: 0  Warnings: {}", cx.warnings.count()),
        ..Outcome::default()
    })
}

/// An aggregate over no row at all leaves the other columns without a value.
fn may_be_missing(query: &QueryPlan, column: usize) -> bool {
    let QueryBody::Select(select) = &query.body else { return false };
    let Some(group) = select.group.as_ref().filter(|g| g.keys.is_empty()) else { return false };
    let mut found = false;
    if let Some(output) = select.output.get(column) {
        output.expr.columns(&mut |c| found |= c.slot != group.slot);
        found |= matches!(output.expr, Expr::Subquery(_));
    }
    found
}

/// A column that holds what a select's column gives.
pub(super) fn column_of(meta: &ColumnMeta, snapshot: &Snapshot, missing: bool) -> ColumnDef {
    let nullable = meta.ty.nullable || missing;
    let source = snapshot.table(&meta.schema, &meta.org_table);
    if let Some(column) = source.and_then(|t| Some(&t.def.columns[t.def.column(&meta.org_name)?])) {
        return copy_of(column, &meta.name, nullable);
    }
    let ty = type_of(meta);
    let default = if nullable { DefaultValue::Null } else { DefaultValue::None };
    let width = matches!(ty, ColumnType::Int { .. }).then(|| meta.ty.length.clamp(1, 21));
    ColumnDef { width, nullable, default, ..ColumnDef::new(meta.name.clone(), ty) }
}

/// A variable that holds what a query's column gives.
pub fn variable_of(meta: &ColumnMeta) -> ColumnDef {
    ColumnDef::new(meta.name.clone(), type_of(meta))
}

fn copy_of(column: &ColumnDef, name: &str, nullable: bool) -> ColumnDef {
    let zero = |ty: &ColumnType| match ty {
        ColumnType::Int { unsigned: true, .. } => Value::UInt(0),
        _ => Value::Int(0),
    };
    let default = match &column.default {
        _ if column.auto_increment => DefaultValue::Literal(DefaultLiteral(zero(&column.ty))),
        DefaultValue::Null if nullable => DefaultValue::Null,
        DefaultValue::Null => DefaultValue::None,
        // The row that it would be computed from is another one here.
        DefaultValue::Expression(text) if text.contains('`') => DefaultValue::Null,
        other => other.clone(),
    };
    ColumnDef {
        name: name.to_owned(),
        nullable,
        default,
        auto_increment: false,
        invisible: false,
        json: false,
        generated: None,
        check: None,
        row_time: None,
        hidden: false,
        unversioned: false,
        ..column.clone()
    }
}

fn type_of(meta: &ColumnMeta) -> ColumnType {
    let t = &meta.ty;
    let int = |size| ColumnType::int(size, t.unsigned);
    match t.field {
        FieldType::Tiny => int(IntSize::Tiny),
        FieldType::Short => int(IntSize::Small),
        FieldType::Int24 => int(IntSize::Medium),
        FieldType::Long => int(if t.length > 9 && meta.org_table.is_empty() && t.length > 11 {
            IntSize::Big
        } else {
            IntSize::Int
        }),
        FieldType::LongLong => int(IntSize::Big),
        FieldType::Year => ColumnType::Year,
        FieldType::Bit => ColumnType::Bit { bits: t.length.clamp(1, 64) as u8 },
        FieldType::Float => ColumnType::Float { unsigned: t.unsigned },
        FieldType::Double => ColumnType::Double { unsigned: t.unsigned },
        FieldType::Decimal => {
            let (precision, scale) = t.precision();
            ColumnType::Decimal { precision: precision.clamp(1, 65) as u8, scale, unsigned: t.unsigned }
        }
        FieldType::Date => ColumnType::Date,
        FieldType::Time => ColumnType::Time { fsp: t.decimals.min(6) },
        FieldType::DateTime => ColumnType::DateTime { fsp: t.decimals.min(6) },
        FieldType::Timestamp => ColumnType::Timestamp { fsp: t.decimals.min(6) },
        FieldType::Uuid => ColumnType::Fixed(FixedKind::Uuid),
        FieldType::Inet4 => ColumnType::Fixed(FixedKind::Inet4),
        FieldType::Inet6 => ColumnType::Fixed(FixedKind::Inet6),
        FieldType::Null => ColumnType::Char { max_bytes: 0, collation: Collation::BINARY },
        FieldType::String if t.length <= 255 => ColumnType::char(t.length as u16, t.collation),
        FieldType::Blob => ColumnType::Blob {
            length_bytes: match u64::from(t.length) {
                0..=0xff => 1,
                0x100..=0xffff => 2,
                0x1_0000..=0xff_ffff => 3,
                _ => 4,
            },
            collation: t.collation,
        },
        FieldType::String | FieldType::VarString | FieldType::Enum | FieldType::Set => {
            let widest = t.collation.charset().max_len() as u32;
            if t.length.saturating_mul(widest) <= 65_532 {
                ColumnType::varchar(t.length as u16, t.collation)
            } else {
                ColumnType::Blob { length_bytes: 4, collation: t.collation }
            }
        }
    }
}
