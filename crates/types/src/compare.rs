//! How values of different types compare.

use std::cmp::Ordering;

use charset::Collation;

use crate::convert::Class;
use crate::number::Integer;
use crate::{Context, DateTime, Value};

/// The type both sides are read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareAs {
    Int,
    Decimal,
    Double,
    Str,
    Time,
    DateTime,
}

impl CompareAs {
    /// The rule for two classes: equal classes as themselves, a temporal value drags the other side to its type, exact
    /// numbers stay exact, everything else is a double.
    pub const fn of(a: Class, b: Class) -> Self {
        match (a, b) {
            (Class::Str, Class::Str) => Self::Str,
            (Class::Null, Class::Str) | (Class::Str, Class::Null) => Self::Str,
            (Class::Time, Class::Date | Class::DateTime) | (Class::Date | Class::DateTime, Class::Time) => {
                Self::DateTime
            }
            (Class::Time, _) | (_, Class::Time) => Self::Time,
            (Class::Date | Class::DateTime, _) | (_, Class::Date | Class::DateTime) => Self::DateTime,
            (Class::Str | Class::Double, _) | (_, Class::Str | Class::Double) => Self::Double,
            (Class::Decimal, _) | (_, Class::Decimal) => Self::Decimal,
            (Class::Int | Class::Null, Class::Int | Class::Null) => Self::Int,
        }
    }
}

/// Compares two values by [`CompareAs::of`]; `None` if either is NULL or cannot be read as the common type.
pub fn compare(a: &Value, b: &Value, collation: Collation, ctx: &mut Context) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => Some(x.cmp(y)),
        (Value::Str(x), Value::Str(y)) if x.charset() == y.charset() => Some(x.compare(y, collation)),
        (Value::Timestamp(x), Value::Timestamp(y)) => Some((x.seconds, x.micros).cmp(&(y.seconds, y.micros))),
        // Members of one ENUM compare as text like any string.
        _ => compare_as(CompareAs::of(class(a, b), class(b, a)), a, b, collation, ctx),
    }
}

/// An ENUM beside a number is its number.
fn class(v: &Value, other: &Value) -> Class {
    match (v, other.class()) {
        (Value::Enum(_), Class::Int | Class::Decimal | Class::Double) => Class::Int,
        _ => v.class(),
    }
}

/// Compares two values as a given type.
pub fn compare_as(
    kind: CompareAs,
    a: &Value,
    b: &Value,
    collation: Collation,
    ctx: &mut Context,
) -> Option<Ordering> {
    if a.is_null() || b.is_null() {
        return None;
    }
    match kind {
        CompareAs::Int => Some(compare_integers(a.to_integer(ctx)?, b.to_integer(ctx)?)),
        CompareAs::Decimal => Some(a.to_decimal(ctx)?.compare(&b.to_decimal(ctx)?)),
        CompareAs::Double => a.to_f64(ctx)?.partial_cmp(&b.to_f64(ctx)?),
        CompareAs::Str => {
            let (x, y) = (a.to_str(ctx)?, b.to_str(ctx)?);
            let common = collation.charset();
            if x.charset() == y.charset() || collation.is_binary() {
                return Some(x.compare(&y, collation));
            }
            let into = |s: &crate::Str| {
                if s.charset() == common { s.clone() } else { s.convert(collation) }
            };
            Some(into(&x).compare(&into(&y), collation))
        }
        CompareAs::Time => Some(a.to_time(ctx)?.micros.cmp(&b.to_time(ctx)?.micros)),
        CompareAs::DateTime => {
            let key = |d: DateTime| d.sort_number();
            Some(key(a.to_datetime(ctx)?).cmp(&key(b.to_datetime(ctx)?)))
        }
    }
}

fn compare_integers(a: Integer, b: Integer) -> Ordering {
    match (a, b) {
        (Integer::Signed(x), Integer::Signed(y)) => x.cmp(&y),
        (Integer::Unsigned(x), Integer::Unsigned(y)) => x.cmp(&y),
        (Integer::Signed(_), Integer::Unsigned(_)) => Ordering::Less,
        (Integer::Unsigned(_), Integer::Signed(_)) => Ordering::Greater,
    }
}
