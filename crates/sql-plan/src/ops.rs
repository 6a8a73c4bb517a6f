//! The one place where expressions meet the value library: arithmetic, comparison and conversion of values.

use std::cmp::Ordering;

use charset::Collation;
use types::{Context, Str, Value, ValueError};

use crate::error::{SqlError, SqlResult};
use crate::expr::{ArithOp, CastTo, CompareAs, Expr};
use crate::meta::FieldType;

/// `left op right`; NULL when a side is NULL.
pub fn arith(op: ArithOp, left: &Value, right: &Value, cx: &mut Context) -> SqlResult<Value> {
    if let (Value::Int(a), Value::Int(b)) = (left, right) {
        let result = match op {
            ArithOp::Add => a.checked_add(*b),
            ArithOp::Sub => a.checked_sub(*b),
            ArithOp::Mul => a.checked_mul(*b),
            _ => None,
        };
        if let Some(v) = result {
            return Ok(Value::Int(v));
        }
    }
    let _ = cx;
    Err(SqlError::not_supported("this arithmetic"))
}

pub fn negate(value: &Value, _cx: &mut Context) -> SqlResult<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Int(v) if *v != i64::MIN => Ok(Value::Int(-v)),
        _ => Err(SqlError::not_supported("this negation")),
    }
}

pub fn to_bits(value: &Value, _cx: &mut Context) -> u64 {
    match value {
        Value::Int(v) => *v as u64,
        Value::UInt(v) => *v,
        _ => 0,
    }
}

/// Order of two values that are not NULL.
pub fn compare(how: CompareAs, left: &Value, right: &Value, _cx: &mut Context) -> SqlResult<Ordering> {
    match (how, left, right) {
        (CompareAs::Text(c) | CompareAs::Any(c), Value::Str(a), Value::Str(b)) => Ok(a.compare(b, c)),
        _ => Err(SqlError::not_supported("this comparison")),
    }
}

pub fn is_true(value: &Value, _cx: &mut Context) -> bool {
    match value {
        Value::Int(v) => *v != 0,
        Value::UInt(v) => *v != 0,
        Value::Double(v) => *v != 0.0,
        _ => false,
    }
}

pub fn cast(_value: &Value, _to: CastTo, _cx: &mut Context) -> SqlResult<Value> {
    Err(SqlError::not_supported("CAST"))
}

pub fn to_text(value: &Value, collation: Collation, _cx: &mut Context) -> Str {
    match value {
        Value::Str(s) => s.convert(collation),
        Value::Int(v) => Str::new(v.to_string().as_bytes(), collation),
        Value::UInt(v) => Str::new(v.to_string().as_bytes(), collation),
        _ => Str::new(b"", collation),
    }
}

pub fn parse_decimal(text: &[u8]) -> Value {
    Value::str(text, Collation::BINARY)
}

pub fn text_to_temporal(_value: &Value, _field: FieldType, _cx: &mut Context) -> Option<Value> {
    None
}

/// An error of the value library as one of ours; the expression's text is filled in by [`name_expression`].
pub fn value_error(error: ValueError) -> SqlError {
    match error {
        ValueError::OutOfRange { type_name } => {
            SqlError::ValueOutOfRange { kind: type_name.to_owned(), expression: String::new() }
        }
        ValueError::WrongArgCount { function } => SqlError::WrongParameterCount(function),
        ValueError::WrongArguments { function } => SqlError::WrongArguments(function.to_owned()),
        ValueError::DivisionByZero => SqlError::DivisionByZero,
        ValueError::Interrupted => SqlError::Interrupted,
        ValueError::NotSupported { what } => SqlError::NotSupported(what),
        other => SqlError::Other { errno: 1105, state: *b"HY000", text: format!("{other:?}") },
    }
}

/// "BIGINT value is out of range in '9223372036854775807 + 1'".
pub fn name_expression(error: SqlError, e: &Expr) -> SqlError {
    match error {
        SqlError::ValueOutOfRange { kind, expression } if expression.is_empty() => {
            SqlError::ValueOutOfRange { kind, expression: crate::print::text(e) }
        }
        other => other,
    }
}
