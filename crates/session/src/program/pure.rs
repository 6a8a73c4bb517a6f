//! The short way for the bulk of a program's expressions: those that need nothing but its variables.

use row_format::{ColumnType, IntSize};
use sql_plan::error::{SqlError, SqlResult, Warnings};
use sql_plan::eval::Env;
use sql_plan::expr::{ColumnRef, Expr, SessionValue, Subquery};
use sql_plan::ops;
use types::{Context, Value};

struct Variables<'a> {
    params: &'a [Value],
    context: &'a mut Context,
}

/// The value of an expression over variables.
pub(super) fn eval(e: &Expr, params: &[Value], context: &mut Context) -> SqlResult<Value> {
    e.eval(&mut Variables { params, context })
}

/// Warnings of the value library become the statement's, or its error: a division by zero in strict mode.
pub(super) fn settle(context: &mut Context, strict: bool, warnings: &mut Warnings) -> SqlResult<()> {
    context.warning_count = 0;
    let strict = strict && context.sql_mode.strict();
    for warning in std::mem::take(&mut context.warnings) {
        if strict && ops::warning_of(&warning) == SqlError::DivisionByZero {
            return Err(SqlError::DivisionByZero);
        }
        warnings.of_value(&warning);
    }
    Ok(())
}

/// Whether the value is one that a variable of this type holds as it is.
pub(super) fn fits(ty: &ColumnType, value: &Value) -> bool {
    match (ty, value) {
        (_, Value::Null) => true,
        (ColumnType::Int { size, unsigned: false }, Value::Int(v)) => match size {
            IntSize::Big => true,
            IntSize::Int => i32::try_from(*v).is_ok(),
            _ => false,
        },
        _ => false,
    }
}

fn elsewhere<T>() -> SqlResult<T> {
    Err(SqlError::not_supported("this expression among variables alone"))
}

impl Env for Variables<'_> {
    fn column(&mut self, _: ColumnRef) -> SqlResult<Value> {
        elsewhere()
    }
    fn param(&self, n: u16) -> Value {
        self.params.get(usize::from(n)).cloned().unwrap_or_default()
    }
    fn context(&mut self) -> &mut Context {
        self.context
    }
    fn subquery(&mut self, _: &Subquery) -> SqlResult<Value> {
        elsewhere()
    }
    fn insert_value(&mut self, _: u16) -> SqlResult<Value> {
        elsewhere()
    }
    fn user_variable(&mut self, _: &str) -> Value {
        Value::Null
    }
    fn set_user_variable(&mut self, _: &str, _: &Value) {}
    fn system_variable(&mut self, _: &str, _: bool) -> SqlResult<Value> {
        elsewhere()
    }
    fn session_value(&mut self, _: SessionValue, _: &[Value]) -> SqlResult<Value> {
        elsewhere()
    }
}
