//! Which expressions may divide a table: integers made of columns by functions that answer the same for the same row, whoever asks.

use catalog::TableDef;
use row_format::ColumnType;
use sql_plan::error::{Clause, SqlError, SqlResult};
use sql_plan::meta::FieldType;
use sql_plan::program;
use sql_syntax::{Arena, ast};

use super::partition::error;

/// What the arguments of a function must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Anything,
    Date,
    Time,
    DateTime,
    Timestamp,
}

fn function(name: &str) -> Option<Takes> {
    Some(match name {
        "abs" | "ceil" | "ceiling" | "floor" | "mod" => Takes::Anything,
        "day" | "dayofmonth" | "dayofweek" | "dayofyear" | "month" | "quarter" | "to_days" | "to_seconds"
        | "weekday" | "year" | "yearweek" | "datediff" => Takes::Date,
        "hour" | "minute" | "second" | "microsecond" => Takes::DateTime,
        "time_to_sec" => Takes::Time,
        "unix_timestamp" => Takes::Timestamp,
        _ => return None,
    })
}

struct Walk<'w> {
    arena: &'w Arena,
    def: &'w TableDef,
}

fn not_allowed() -> SqlError {
    error(1564, "This partition function is not allowed")
}

fn wrong_expression() -> SqlError {
    let text =
        "Constant, random or timezone-dependent expressions in (sub)partitioning function are not allowed";
    error(1486, text)
}

impl Walk<'_> {
    /// Columns that stand as arguments themselves.
    fn check_arguments(&self, args: &[ast::Expr<'_>], takes: Takes) -> SqlResult<()> {
        for arg in args {
            let ast::Expr::Column(column) = arg else { continue };
            let Some(at) = self.def.column(&column.name.text()) else { continue };
            let ty = &self.def.columns[at].ty;
            let fits = match takes {
                Takes::Anything => !matches!(ty, ColumnType::Timestamp { .. }),
                Takes::Date => matches!(ty, ColumnType::Date | ColumnType::DateTime { .. }),
                Takes::Time => matches!(ty, ColumnType::Time { .. } | ColumnType::DateTime { .. }),
                Takes::DateTime => matches!(ty, ColumnType::Time { .. } | ColumnType::DateTime { .. }),
                Takes::Timestamp => matches!(ty, ColumnType::Timestamp { .. }),
            };
            if !fits {
                return Err(wrong_expression());
            }
        }
        Ok(())
    }
}

impl<'w> sql_syntax::rewrite::Rewrite<'w> for Walk<'w> {
    type Error = SqlError;

    fn arena(&self) -> &'w Arena {
        self.arena
    }

    fn enter(&mut self, e: &ast::Expr<'w>) -> Result<Option<ast::Expr<'w>>, SqlError> {
        use ast::BinaryOp as B;
        use ast::Expr as E;
        match e {
            E::Column(_) | E::Literal(_) => Ok(None),
            E::Unary { op: ast::UnaryOp::Neg, .. } => Ok(None),
            E::Binary { op: B::Add | B::Sub | B::Mul | B::IntDiv | B::Mod, .. } => Ok(None),
            E::Call(call) if call.database.is_none() => {
                let name = call.name.text().to_lowercase();
                let takes = match function(&name) {
                    Some(takes) => takes,
                    None if ["rand", "now", "sysdate", "curdate", "uuid"].contains(&&*name) => {
                        return Err(wrong_expression());
                    }
                    None => return Err(not_allowed()),
                };
                self.check_arguments(call.args, takes)?;
                Ok(None)
            }
            E::Special(ast::Special::Extract { expr, .. }) => {
                self.check_arguments(std::slice::from_ref(expr), Takes::DateTime).or_else(|e| {
                    self.check_arguments(std::slice::from_ref(expr), Takes::Date).map_err(|_| e)
                })?;
                Ok(None)
            }
            _ => Err(not_allowed()),
        }
    }
}

fn is_integer(field: FieldType) -> bool {
    use FieldType as F;
    matches!(field, F::Tiny | F::Short | F::Int24 | F::Long | F::LongLong | F::Year | F::Bit)
}

/// # Errors
/// 1564, 1486, 1491, 1659, and unknown columns.
pub(super) fn check_function(expr: &ast::Expr<'_>, def: &TableDef, sub: bool) -> SqlResult<()> {
    let arena = Arena::new();
    let copy = program::text_of(expr, false);
    sql_syntax::rewrite::expr(&mut Walk { arena: &arena, def }, expr)?;
    let columns = program::columns_read(def, &copy, Clause::Partition)?;
    if columns.is_empty() {
        return Err(wrong_expression());
    }
    if columns.iter().any(|c| matches!(def.columns[*c].ty, ColumnType::Blob { .. })) {
        return Err(error(1502, "A BLOB field is not allowed in partition function"));
    }
    let ty = program::type_of(def, &copy, Clause::Partition)?;
    if is_integer(ty.field) {
        return Ok(());
    }
    if let ast::Expr::Column(_) = expr {
        let name = &def.columns[columns[0]].name;
        let text = format!("Field '{name}' is of a not allowed type for this type of partitioning");
        return Err(error(1659, text));
    }
    let what = if sub { "SUBPARTITION" } else { "PARTITION" };
    Err(error(1491, format!("The {what} function returns the wrong type")))
}
