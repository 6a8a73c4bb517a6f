//! `+ - * / DIV % -x` with MariaDB's result types.
//!
//! Integers stay integers (unsigned if either side is) and overflow is an error; exact numbers give exact ones; a double or
//! a string on either side makes it a double. NULL on either side gives NULL.

use crate::convert::Class;
use crate::number::Integer;
use crate::{Context, Decimal, Rounding, SqlMode, Value, ValueError, Warning};

pub type ValueResult = Result<Value, ValueError>;

/// What both sides are computed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Decimal,
    Double,
}

fn kind_of(v: &Value) -> Kind {
    match v {
        Value::Time(t) if t.fsp > 0 => Kind::Decimal,
        Value::DateTime(d) if d.fsp > 0 => Kind::Decimal,
        Value::Timestamp(t) if t.fsp > 0 => Kind::Decimal,
        Value::Enum(_) => Kind::Double,
        _ => match v.class() {
            Class::Str | Class::Double => Kind::Double,
            Class::Decimal => Kind::Decimal,
            _ => Kind::Int,
        },
    }
}

fn common(a: &Value, b: &Value) -> Kind {
    match (kind_of(a), kind_of(b)) {
        (Kind::Double, _) | (_, Kind::Double) => Kind::Double,
        (Kind::Decimal, _) | (_, Kind::Decimal) => Kind::Decimal,
        _ => Kind::Int,
    }
}

const fn is_unsigned(v: &Value) -> bool {
    matches!(v, Value::UInt(_) | Value::Bit { .. } | Value::Year(_))
}

fn out_of_range(unsigned: bool) -> ValueError {
    ValueError::OutOfRange { type_name: if unsigned { "BIGINT UNSIGNED" } else { "BIGINT" } }
}

const DOUBLE_RANGE: ValueError = ValueError::OutOfRange { type_name: "DOUBLE" };
const DECIMAL_RANGE: ValueError = ValueError::OutOfRange { type_name: "DECIMAL" };

fn wide(i: Integer) -> i128 {
    match i {
        Integer::Signed(v) => i128::from(v),
        Integer::Unsigned(v) => i128::from(v),
    }
}

/// An integer result of the given signedness.
fn int_result(v: i128, unsigned: bool) -> ValueResult {
    if unsigned {
        u64::try_from(v).map(Value::UInt).map_err(|_| out_of_range(true))
    } else {
        i64::try_from(v).map(Value::Int).map_err(|_| out_of_range(false))
    }
}

fn double_result(v: f64) -> ValueResult {
    if v.is_finite() { Ok(Value::Double(v)) } else { Err(DOUBLE_RANGE) }
}

/// Both sides as `T`, or NULL.
macro_rules! both {
    ($a:ident, $b:ident, $ctx:ident, $read:ident) => {
        match ($a.$read($ctx), $b.$read($ctx)) {
            (Some(x), Some(y)) => (x, y),
            _ => return Ok(Value::Null),
        }
    };
}

fn linear(
    a: &Value,
    b: &Value,
    ctx: &mut Context,
    unsigned: bool,
    int: impl Fn(i128, i128) -> Option<i128>,
    decimal: impl Fn(&Decimal, &Decimal) -> Option<Decimal>,
    double: impl Fn(f64, f64) -> f64,
) -> ValueResult {
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    match common(a, b) {
        Kind::Int => {
            let (x, y) = both!(a, b, ctx, to_integer);
            int(wide(x), wide(y)).map_or_else(|| Err(out_of_range(unsigned)), |v| int_result(v, unsigned))
        }
        Kind::Decimal => {
            let (x, y) = both!(a, b, ctx, to_decimal);
            decimal(&x, &y).map(Value::from).ok_or(DECIMAL_RANGE)
        }
        Kind::Double => {
            let (x, y) = both!(a, b, ctx, to_f64);
            double_result(double(x, y))
        }
    }
}

/// `a + b` of numbers.
pub fn add(a: &Value, b: &Value, ctx: &mut Context) -> ValueResult {
    if let (Value::Int(x), Value::Int(y)) = (a, b) {
        return x.checked_add(*y).map(Value::Int).ok_or_else(|| out_of_range(false));
    }
    if let (Value::Decimal(x), Value::Decimal(y)) = (a, b) {
        return x.add(y).map(Value::from).ok_or(DECIMAL_RANGE);
    }
    let unsigned = is_unsigned(a) || is_unsigned(b);
    linear(a, b, ctx, unsigned, |x, y| Some(x + y), Decimal::add, |x, y| x + y)
}

/// `a - b` of numbers.
pub fn sub(a: &Value, b: &Value, ctx: &mut Context) -> ValueResult {
    if let (Value::Int(x), Value::Int(y)) = (a, b) {
        return x.checked_sub(*y).map(Value::Int).ok_or_else(|| out_of_range(false));
    }
    if let (Value::Decimal(x), Value::Decimal(y)) = (a, b) {
        return x.sub(y).map(Value::from).ok_or(DECIMAL_RANGE);
    }
    let unsigned = (is_unsigned(a) || is_unsigned(b)) && !ctx.sql_mode.has(SqlMode::NO_UNSIGNED_SUBTRACTION);
    linear(a, b, ctx, unsigned, |x, y| Some(x - y), Decimal::sub, |x, y| x - y)
}

/// `a * b`.
pub fn mul(a: &Value, b: &Value, ctx: &mut Context) -> ValueResult {
    if let (Value::Int(x), Value::Int(y)) = (a, b) {
        return x.checked_mul(*y).map(Value::Int).ok_or_else(|| out_of_range(false));
    }
    if let (Value::Decimal(x), Value::Decimal(y)) = (a, b) {
        return x.mul(y).map(Value::from).ok_or(DECIMAL_RANGE);
    }
    let unsigned = is_unsigned(a) || is_unsigned(b);
    linear(a, b, ctx, unsigned, i128::checked_mul, Decimal::mul, |x, y| x * y)
}

fn by_zero(ctx: &mut Context) -> ValueResult {
    if ctx.sql_mode.has(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
        ctx.warn(Warning::DivisionByZero);
    }
    Ok(Value::Null)
}

/// `a / b`: exact for exact numbers.
pub fn div(a: &Value, b: &Value, ctx: &mut Context) -> ValueResult {
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    if common(a, b) == Kind::Double {
        let (x, y) = both!(a, b, ctx, to_f64);
        return if y == 0.0 { by_zero(ctx) } else { double_result(x / y) };
    }
    let (x, y) = both!(a, b, ctx, to_decimal);
    match x.div(&y, ctx.div_precision_increment) {
        Ok(Some(d)) => Ok(d.into()),
        Ok(None) => by_zero(ctx),
        Err(_) => Err(DECIMAL_RANGE),
    }
}

/// `a DIV b`: the integer part of the quotient.
pub fn int_div(a: &Value, b: &Value, ctx: &mut Context) -> ValueResult {
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    let unsigned = is_unsigned(a) || is_unsigned(b);
    if common(a, b) == Kind::Int {
        let (x, y) = both!(a, b, ctx, to_integer);
        return match wide(y) {
            0 => by_zero(ctx),
            y => int_result(wide(x) / y, unsigned),
        };
    }
    let (x, y) = both!(a, b, ctx, to_decimal);
    let quotient = match x.div(&y, ctx.div_precision_increment) {
        Ok(Some(d)) => d.round(0, Rounding::Truncate),
        Ok(None) => return by_zero(ctx),
        Err(_) => return Err(out_of_range(unsigned)),
    };
    if unsigned {
        quotient.to_u64().map(Value::UInt).map_err(|_| out_of_range(true))
    } else {
        quotient.to_i64().map(Value::Int).map_err(|_| out_of_range(false))
    }
}

/// `a % b`: the remainder with the sign of `a`.
pub fn rem(a: &Value, b: &Value, ctx: &mut Context) -> ValueResult {
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    match common(a, b) {
        Kind::Int => {
            let (x, y) = both!(a, b, ctx, to_integer);
            match wide(y) {
                0 => by_zero(ctx),
                y => int_result(wide(x) % y, is_unsigned(a)),
            }
        }
        Kind::Decimal => {
            let (x, y) = both!(a, b, ctx, to_decimal);
            x.rem(&y).map_or_else(|| by_zero(ctx), |d| Ok(d.into()))
        }
        Kind::Double => {
            let (x, y) = both!(a, b, ctx, to_f64);
            if y == 0.0 { by_zero(ctx) } else { double_result(x % y) }
        }
    }
}

/// `-a`.
pub fn neg(a: &Value, ctx: &mut Context) -> ValueResult {
    if a.is_null() {
        return Ok(Value::Null);
    }
    match kind_of(a) {
        Kind::Int => {
            let Some(v) = a.to_integer(ctx) else { return Ok(Value::Null) };
            int_result(-wide(v), false)
        }
        Kind::Decimal => Ok(a.to_decimal(ctx).map_or(Value::Null, |d| d.negate().into())),
        Kind::Double => a.to_f64(ctx).map_or(Ok(Value::Null), |v| double_result(-v)),
    }
}
