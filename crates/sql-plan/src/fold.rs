//! Constant folding, and constants brought to the type they are compared with.

use types::{Context, FixedKind, Value};

use crate::error::{SqlError, SqlResult};
use crate::eval::Env;
use crate::expr::{CastTo, ColumnRef, CompareAs, Expr, SessionValue, Subquery, Typed};
use crate::meta::{ExprType, FieldType};
use crate::ops;
use crate::planner::PlanContext;

/// Evaluates what never changes. What would fail or warn is left for the execution, which reports it.
pub(crate) fn fold(typed: Typed, cx: &PlanContext<'_>) -> Typed {
    let foldable = match &typed.expr {
        Expr::Const(_) | Expr::Row(_) | Expr::Column(_) | Expr::Param(_) => false,
        other => other.is_constant(),
    };
    if !foldable {
        return typed;
    }
    // What is killed meanwhile is left for the execution too, which does not begin.
    let interrupted = cx.variables.interrupted();
    let mut env = ConstEnv { context: Context { interrupted, ..context(cx) } };
    match typed.expr.eval(&mut env) {
        Ok(value) if env.context.warning_count == 0 => Typed::new(Expr::Const(value), typed.ty),
        _ => typed,
    }
}

pub(crate) fn context(cx: &PlanContext<'_>) -> Context {
    Context {
        sql_mode: cx.sql_mode,
        div_precision_increment: cx.div_precision_increment,
        ..Context::default()
    }
}

/// Constants compared with a column of another type are converted once, not for each row.
pub(crate) fn coerce_constants(
    left: Typed,
    right: Typed,
    compare: CompareAs,
    cx: &PlanContext<'_>,
) -> (Expr, Expr) {
    let convert = |this: Typed, other: &ExprType| -> Expr {
        let Expr::Const(value) = &this.expr else { return this.expr };
        let mut context = context(cx);
        let converted = match compare {
            CompareAs::Temporal if this.ty.field.is_text() && other.field.is_temporal() => {
                ops::text_to_temporal(value, other.field, &mut context)
            }
            CompareAs::Fixed(kind) if !value.is_null() => {
                ops::to_fixed(value, kind, &mut context).map(Value::Fixed)
            }
            CompareAs::Text(collation) => match value {
                Value::Str(s) if s.charset() != collation.charset() => Some(Value::Str(s.convert(collation))),
                _ => None,
            },
            _ => None,
        };
        match converted {
            Some(value) if context.warning_count == 0 => Expr::Const(value),
            _ => this.expr,
        }
    };
    let (left_ty, right_ty) = (left.ty, right.ty);
    (convert(left, &right_ty), convert(right, &left_ty))
}

/// Brings the result of CASE and its kin to its static type, where values alone would not say.
pub(crate) fn to_type(typed: Typed) -> Typed {
    let to = match typed.ty.field {
        FieldType::Decimal => {
            let (precision, scale) = typed.ty.precision();
            CastTo::Decimal { precision: precision as u8, scale }
        }
        FieldType::Double => CastTo::Double,
        FieldType::VarString | FieldType::Blob | FieldType::String => {
            CastTo::Char { length: None, collation: typed.ty.collation }
        }
        FieldType::DateTime => CastTo::DateTime { fsp: typed.ty.decimals.min(6) },
        FieldType::Uuid => CastTo::Fixed(FixedKind::Uuid),
        FieldType::Inet4 => CastTo::Fixed(FixedKind::Inet4),
        FieldType::Inet6 => CastTo::Fixed(FixedKind::Inet6),
        _ => return typed,
    };
    Typed::new(Expr::Cast { to, arg: Box::new(typed.expr) }, typed.ty)
}

/// `1.50`: exactly as written.
pub(crate) fn decimal_literal(text: &[u8]) -> Value {
    ops::parse_decimal(text)
}

pub(crate) fn double_literal(text: &[u8]) -> SqlResult<Value> {
    let text = String::from_utf8_lossy(text);
    match text.parse::<f64>() {
        Ok(v) if v.is_finite() => Ok(Value::Double(v)),
        _ => Err(SqlError::Other {
            errno: 1367,
            state: *b"22007",
            text: format!("Illegal double '{text}' value found during parsing"),
        }),
    }
}

/// `DATE'2026-01-31'` and its kin.
pub(crate) fn temporal_literal(field: FieldType, text: &[u8], cx: &PlanContext<'_>) -> SqlResult<Value> {
    let mut context = context(cx);
    let source = Value::str(text, cx.connection_collation);
    match ops::text_to_temporal(&source, field, &mut context) {
        Some(value) if context.warning_count == 0 => Ok(value),
        _ => {
            let kind = match field {
                FieldType::Date => "DATE",
                FieldType::Time => "TIME",
                _ => "DATETIME",
            };
            Err(SqlError::Other {
                errno: 1525,
                state: *b"HY000",
                text: format!("Incorrect {kind} value: '{}'", String::from_utf8_lossy(text)),
            })
        }
    }
}

/// Nothing but constants.
pub(crate) struct ConstEnv {
    pub(crate) context: Context,
}

fn not_constant() -> SqlError {
    SqlError::not_supported("a value that is not constant")
}

impl Env for ConstEnv {
    fn column(&mut self, _: ColumnRef) -> SqlResult<Value> {
        Err(not_constant())
    }
    fn param(&self, _: u16) -> Value {
        Value::Null
    }
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }
    fn subquery(&mut self, _: &Subquery) -> SqlResult<Value> {
        Err(not_constant())
    }
    fn insert_value(&mut self, _: u16) -> SqlResult<Value> {
        Err(not_constant())
    }
    fn user_variable(&mut self, _: &str) -> Value {
        Value::Null
    }
    fn set_user_variable(&mut self, _: &str, _: &Value) {}
    fn system_variable(&mut self, _: &str, _: bool) -> SqlResult<Value> {
        Err(not_constant())
    }
    fn session_value(&mut self, _: SessionValue, _: &[Value]) -> SqlResult<Value> {
        Err(not_constant())
    }
}
