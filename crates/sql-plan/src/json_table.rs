//! JSON_TABLE: its columns and their types.

use charset::Collation;
use functions::json::table::{Column, JsonPath, Otherwise};
use row_format::{ColumnType, IntSize};
use sql_syntax::ast;

use crate::access::{FromTable, JoinInput};
use crate::error::{Clause, SqlError, SqlResult};
use crate::expr::Expr;
use crate::plan::Source;
use crate::planner::Planner;
use crate::scope::{ScopeColumn, ScopeTable};
use crate::typing::of_column;

/// A document as a table.
#[derive(Debug, Clone)]
pub struct JsonTablePlan {
    pub document: Expr,
    pub path: JsonPath,
    pub columns: Vec<Column>,
    /// Of the columns in their order, nested ones where they stand.
    pub types: Vec<ColumnType>,
    pub names: Vec<String>,
}

impl<'a> Planner<'a> {
    pub(crate) fn json_table(&mut self, table: &ast::JsonTable<'a>, join: &mut JoinInput) -> SqlResult<()> {
        // The document may name tables to the left.
        let document = self.expr(&table.document, Clause::On)?.expr;
        let mut plan = JsonTablePlan {
            document,
            path: path(table.path)?,
            columns: Vec::new(),
            types: Vec::new(),
            names: Vec::new(),
        };
        plan.columns = self.json_columns(table.columns, &mut plan)?;
        let slot = self.new_slot()?;
        let alias = table.alias.text().into_owned();
        let columns = plan
            .names
            .iter()
            .zip(&plan.types)
            .map(|(name, ty)| ScopeColumn {
                name: name.clone(),
                org_name: name.clone(),
                ty: of_column(ty, true, None),
                flags: 0,
                merged: false,
                invisible: false,
                expr: None,
            })
            .collect();
        self.scope_mut().add(ScopeTable {
            slot,
            schema: String::new(),
            alias: alias.clone(),
            org_table: alias.clone(),
            columns,
            handle: None,
            view: None,
        })?;
        join.tables.push(FromTable::new(slot, Source::Json(Box::new(plan)), alias));
        // It is read after the tables that its document names: the written order is kept.
        join.straight = true;
        Ok(())
    }

    fn json_columns(
        &self,
        columns: &[ast::JsonColumn<'a>],
        plan: &mut JsonTablePlan,
    ) -> SqlResult<Vec<Column>> {
        let mut out = Vec::new();
        for column in columns {
            out.push(match column {
                ast::JsonColumn::Ordinality(name) => {
                    add(plan, name, ColumnType::Int { size: IntSize::Int, unsigned: false })?;
                    Column::Ordinality
                }
                ast::JsonColumn::Exists { name, data_type, path: at, .. } => {
                    add(plan, name, self.json_type(data_type)?)?;
                    Column::Exists { path: path(at)? }
                }
                ast::JsonColumn::Value { name, data_type, path: at, on_empty, on_error, .. } => {
                    add(plan, name, self.json_type(data_type)?)?;
                    Column::Value {
                        path: path(at)?,
                        whole: matches!(data_type, ast::DataType::Json { .. }),
                        on_empty: otherwise(on_empty),
                        on_error: otherwise(on_error),
                    }
                }
                ast::JsonColumn::Nested { path: at, columns } => {
                    Column::Nested { path: path(at)?, columns: self.json_columns(columns, plan)? }
                }
            });
        }
        Ok(out)
    }

    /// The stored type of a column.
    fn json_type(&self, data_type: &ast::DataType<'a>) -> SqlResult<ColumnType> {
        use ast::DataType as T;
        let collation = |spec: &ast::CharsetSpec<'a>| {
            Ok::<_, SqlError>(self.charset_spec(spec)?.unwrap_or(self.cx.connection_collation))
        };
        let bytes = |length: Option<u64>, default: u64, collation: Collation| {
            let bytes = length.unwrap_or(default).saturating_mul(collation.charset().max_len() as u64);
            u16::try_from(bytes).map_err(|_| SqlError::ColumnTooLong { column: String::new(), max: 65_535 })
        };
        let unsigned = |sign: &ast::Sign| sign.unsigned;
        Ok(match data_type {
            T::Int { size, sign, .. } => {
                let size = match size {
                    ast::IntSize::Tiny => IntSize::Tiny,
                    ast::IntSize::Small => IntSize::Small,
                    ast::IntSize::Medium => IntSize::Medium,
                    ast::IntSize::Normal => IntSize::Int,
                    ast::IntSize::Big => IntSize::Big,
                };
                ColumnType::Int { size, unsigned: unsigned(sign) }
            }
            T::Decimal { precision, scale, sign } => ColumnType::Decimal {
                precision: precision.unwrap_or(10).clamp(1, 65) as u8,
                scale: scale.unwrap_or(0).min(38) as u8,
                unsigned: unsigned(sign),
            },
            T::Float { sign, .. } => ColumnType::Float { unsigned: unsigned(sign) },
            T::Double { sign, .. } => ColumnType::Double { unsigned: unsigned(sign) },
            T::Char { length, charset, .. } => {
                let collation = collation(charset)?;
                ColumnType::Char { max_bytes: bytes(*length, 1, collation)?, collation }
            }
            T::Varchar { length, charset, .. } => {
                let collation = collation(charset)?;
                ColumnType::VarChar { max_bytes: bytes(*length, 1, collation)?, collation }
            }
            T::Text { charset, .. } | T::Json { charset } => {
                ColumnType::Blob { length_bytes: 4, collation: collation(charset)? }
            }
            T::Blob { .. } => ColumnType::Blob { length_bytes: 4, collation: Collation::BINARY },
            T::Date => ColumnType::Date,
            T::Time { precision } => ColumnType::Time { fsp: precision.unwrap_or(0).min(6) as u8 },
            T::DateTime { precision } => ColumnType::DateTime { fsp: precision.unwrap_or(0).min(6) as u8 },
            _ => return Err(SqlError::not_supported("this type in JSON_TABLE")),
        })
    }
}

fn add(plan: &mut JsonTablePlan, name: &ast::Ident<'_>, ty: ColumnType) -> SqlResult<()> {
    let name = name.text().into_owned();
    if plan.names.iter().any(|n| catalog::same_name(n, &name)) {
        return Err(SqlError::DuplicateColumn(name));
    }
    plan.names.push(name);
    plan.types.push(ty);
    Ok(())
}

fn path(text: &[u8]) -> SqlResult<JsonPath> {
    JsonPath::parse(text).map_err(|(errno, text)| SqlError::Other { errno, state: *b"HY000", text })
}

fn otherwise(on: &ast::JsonOn<'_>) -> Otherwise {
    match on {
        ast::JsonOn::Null => Otherwise::Null,
        ast::JsonOn::Error => Otherwise::Error,
        ast::JsonOn::Default(text) => Otherwise::Default((*text).into()),
    }
}
