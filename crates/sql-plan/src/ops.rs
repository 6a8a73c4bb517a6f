//! The one place where expressions meet the value library: arithmetic, comparison and conversion of values.

use std::cmp::Ordering;

use charset::Collation;
use row_format::ColumnType;
use types::number::Integer;
use types::{Class, Context, Decimal, Fixed, FixedKind, Str, TypeName, Value, ValueError, Warning};

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
    let result = match op {
        ArithOp::Add => types::ops::add(left, right, cx),
        ArithOp::Sub => types::ops::sub(left, right, cx),
        ArithOp::Mul => types::ops::mul(left, right, cx),
        ArithOp::Div => types::ops::div(left, right, cx),
        ArithOp::IntDiv => types::ops::int_div(left, right, cx),
        ArithOp::Mod => types::ops::rem(left, right, cx),
        ArithOp::BitAnd => return Ok(bits(left, right, cx, |a, b| a & b)),
        ArithOp::BitOr => return Ok(bits(left, right, cx, |a, b| a | b)),
        ArithOp::BitXor => return Ok(bits(left, right, cx, |a, b| a ^ b)),
        ArithOp::ShiftLeft => return Ok(shift(left, right, cx, u64::checked_shl)),
        ArithOp::ShiftRight => return Ok(shift(left, right, cx, u64::checked_shr)),
    };
    result.map_err(value_error)
}

fn bits(left: &Value, right: &Value, cx: &mut Context, op: fn(u64, u64) -> u64) -> Value {
    if left.is_null() || right.is_null() {
        return Value::Null;
    }
    Value::UInt(op(to_bits(left, cx), to_bits(right, cx)))
}

/// The places are an int: the low 32 bits of a number, of a text the number at its start.
fn shift(left: &Value, right: &Value, cx: &mut Context, op: fn(u64, u32) -> Option<u64>) -> Value {
    if left.is_null() || right.is_null() {
        return Value::Null;
    }
    let number = to_bits(left, cx);
    let places = right.to_integer(cx).map_or(0, |n| n.bits() as u32);
    Value::UInt(op(number, places).unwrap_or(0))
}

pub fn negate(value: &Value, cx: &mut Context) -> SqlResult<Value> {
    types::ops::neg(value, cx).map_err(value_error)
}

/// The 64 bits of an integer of either sign.
pub fn to_bits(value: &Value, cx: &mut Context) -> u64 {
    // Texts and doubles count as the decimals they are.
    if matches!(value.class(), Class::Str | Class::Double) {
        return value.to_decimal(cx).map_or(0, |d| to_bits(&d.into(), cx));
    }
    match value.to_integer(cx) {
        Some(Integer::Signed(v)) => v as u64,
        Some(Integer::Unsigned(v)) => v,
        None => 0,
    }
}

/// Order of two values that are not NULL.
pub fn compare(how: CompareAs, left: &Value, right: &Value, cx: &mut Context) -> SqlResult<Ordering> {
    let order = match (how, left, right) {
        (CompareAs::Text(c) | CompareAs::Any(c), Value::Str(a), Value::Str(b))
            if a.charset() == b.charset() =>
        {
            Some(a.compare(b, c))
        }
        (CompareAs::Text(c), ..) => types::compare_as(types::CompareAs::Str, left, right, c, cx),
        (CompareAs::Decimal, ..) => {
            types::compare_as(types::CompareAs::Decimal, left, right, Collation::BINARY, cx)
        }
        (CompareAs::Double, ..) => {
            types::compare_as(types::CompareAs::Double, left, right, Collation::BINARY, cx)
        }
        (CompareAs::Int, ..) => types::compare_as(types::CompareAs::Int, left, right, Collation::BINARY, cx),
        (CompareAs::Temporal, ..) => types::compare(left, right, Collation::BINARY, cx),
        (CompareAs::Any(c), ..) => types::compare(left, right, c, cx),
        (CompareAs::Fixed(kind), ..) => match (to_fixed(left, kind, cx), to_fixed(right, kind, cx)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => None,
        },
    };
    // A side that is no date at all sorts first and equals nothing that is one.
    Ok(order.unwrap_or(Ordering::Less))
}

/// A value as UUID, INET4 or INET6; a warning when it is none.
pub fn to_fixed(value: &Value, kind: FixedKind, cx: &mut Context) -> Option<Fixed> {
    if let Value::Fixed(v) = value {
        return Some(*v);
    }
    let text = value.to_str(cx)?;
    let bytes = text.bytes();
    let binary = text.collation().is_binary() && bytes.len() == kind.len();
    let found = if binary { Fixed::from_bytes(kind, bytes) } else { Fixed::parse(kind, bytes) };
    if found.is_none() {
        cx.warn(Warning::IncorrectValue { as_type: TypeName::Fixed(kind), text: text.to_utf8_lossy() });
    }
    found
}

pub fn is_true(value: &Value, cx: &mut Context) -> bool {
    value.to_bool(cx).unwrap_or(false)
}

/// CAST, and the planner's own conversions.
pub fn cast(value: &Value, to: CastTo, cx: &mut Context) -> SqlResult<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    Ok(match to {
        CastTo::Signed => cast_to_signed(value, cx),
        CastTo::Unsigned => cast_to_unsigned(value, cx),
        CastTo::Double => value.to_f64(cx).map_or(Value::Null, Value::Double),
        CastTo::Float => value.to_f64(cx).map_or(Value::Null, |v| Value::Float(v as f32)),
        CastTo::Decimal { precision, scale } => match value.to_decimal(cx) {
            None => Value::Null,
            Some(d) => d
                .fit(precision, scale)
                .unwrap_or_else(|limit| {
                    cx.warn(Warning::OutOfRange);
                    limit
                })
                .into(),
        },
        CastTo::Char { length, collation } if collation.is_binary() && matches!(value, Value::Fixed(_)) => {
            let Value::Fixed(v) = value else { return Ok(Value::Null) };
            Value::Str(cut(Str::new(v.bytes(), collation), length, cx))
        }
        CastTo::Char { length, collation } => {
            let text = checked(to_text(value, collation, cx), value, cx);
            let mut text = cut(text, length, cx);
            // BINARY(n) is filled up with zeros.
            if let Some(length) = length.filter(|l| collation.is_binary() && (*l as usize) > text.len()) {
                if u64::from(length) > cx.max_allowed_packet {
                    let limit = cx.max_allowed_packet;
                    cx.warn(Warning::ResultTooLarge { function: "cast_as_binary", limit });
                    return Ok(Value::Null);
                }
                let mut bytes = text.bytes().to_vec();
                bytes.resize(length as usize, 0);
                text = Str::new(&bytes, collation);
            }
            Value::Str(text)
        }
        CastTo::Date => value.to_date(cx).map_or(Value::Null, Value::Date),
        CastTo::Time { fsp } => value.to_time(cx).map_or(Value::Null, |t| Value::Time(t.with_fsp(fsp))),
        CastTo::DateTime { fsp } => {
            value.to_datetime(cx).map_or(Value::Null, |t| Value::DateTime(t.with_fsp(fsp)))
        }
        CastTo::Fixed(kind) => to_fixed(value, kind, cx).map_or(Value::Null, Value::Fixed),
        CastTo::Year => value.to_i64(cx).map_or(Value::Null, |y| Value::Year(y.clamp(0, 2155) as u16)),
    })
}

/// A number that does not fit is cut, with a note if it is a double and a warning if a decimal.
fn cast_overflow(value: &Value, double: &'static str, decimal: &'static str, cx: &mut Context) {
    let mut text = Vec::new();
    value.write_text(cx, &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let note = value.class() == Class::Double;
    cx.warn(Warning::CastOverflow { text, as_type: if note { double } else { decimal }, note });
}

fn cast_to_signed(value: &Value, cx: &mut Context) -> Value {
    let before = cx.warning_count;
    let Some(number) = value.to_integer(cx) else { return Value::Null };
    match (value.class(), number) {
        (Class::Double, _)
            if value.to_f64(cx).is_some_and(|v| !(i64::MIN as f64..i64::MAX as f64).contains(&v)) =>
        {
            cast_overflow(value, "SIGNED BIGINT", "INT", cx);
            Value::Int(if matches!(number, Integer::Signed(v) if v < 0) { i64::MIN } else { i64::MAX })
        }
        (Class::Decimal, Integer::Unsigned(_)) => {
            cast_overflow(value, "SIGNED BIGINT", "INT", cx);
            Value::Int(i64::MAX)
        }
        (Class::Decimal, Integer::Signed(i64::MIN)) if !is_whole(value, i64::MIN) => {
            cast_overflow(value, "SIGNED BIGINT", "INT", cx);
            Value::Int(i64::MIN)
        }
        (_, Integer::Signed(v)) => Value::Int(v),
        (class, Integer::Unsigned(v)) => {
            if class == Class::Str && cx.warning_count == before {
                cx.warn(Warning::CastToSigned);
            }
            Value::Int(v as i64)
        }
    }
}

/// Whether the decimal rounds to `limit` instead of being cut to it.
fn is_whole(value: &Value, limit: i64) -> bool {
    match value {
        Value::Decimal(d) => d.round(0, types::Rounding::HalfUp).compare(&Decimal::from_i64(limit)).is_eq(),
        _ => true,
    }
}

fn cast_to_unsigned(value: &Value, cx: &mut Context) -> Value {
    let before = cx.warning_count;
    let Some(number) = value.to_integer(cx) else { return Value::Null };
    match (value.class(), number) {
        (Class::Double | Class::Decimal, Integer::Signed(v)) if v < 0 => {
            cast_overflow(value, "UNSIGNED BIGINT", "UNSIGNED INT", cx);
            Value::UInt(0)
        }
        (Class::Double, Integer::Unsigned(u64::MAX)) => {
            cast_overflow(value, "UNSIGNED BIGINT", "UNSIGNED INT", cx);
            Value::UInt(u64::MAX)
        }
        (Class::Decimal, Integer::Unsigned(u64::MAX)) => {
            let exact = value.to_decimal(cx).is_some_and(|d| d.compare(&Decimal::from_u64(u64::MAX)).is_le());
            if !exact {
                cast_overflow(value, "UNSIGNED BIGINT", "UNSIGNED INT", cx);
            }
            Value::UInt(u64::MAX)
        }
        (_, Integer::Signed(v)) => {
            if v < 0 && cx.warning_count == before {
                cx.warn(Warning::CastToUnsigned);
            }
            Value::UInt(v as u64)
        }
        (_, Integer::Unsigned(v)) => Value::UInt(v),
    }
}

/// Bytes that are to be text: what is no character of it becomes `?`, with warning 1300.
fn checked(text: Str, source: &Value, cx: &mut Context) -> Str {
    let charset = text.charset();
    if let Some(s) = source.as_str().filter(|s| !s.collation().is_binary() && !text.collation().is_binary()) {
        let mut same = Vec::new();
        if let Err(lost) = s.charset().convert(s.bytes(), charset, &mut same) {
            let from = s.charset();
            let end = lost.at + from.decode(&s.bytes()[lost.at..]).map_or(1, |(_, len)| len);
            let character: String = s.bytes()[lost.at..end].iter().map(|b| format!("{b:02X}")).collect();
            let text =
                format!("Cannot convert '{}' character 0x{character} to '{}'", from.name(), charset.name());
            cx.warn(Warning::Numbered { errno: 1977, text });
        }
        return text;
    }
    let from_bytes = source.as_str().is_some_and(|s| s.collation().is_binary());
    if !from_bytes || text.collation().is_binary() || charset.is_valid(text.bytes()) {
        return text;
    }
    let (bytes, mut out) = (text.bytes(), Vec::with_capacity(text.len()));
    cx.warn(invalid_string(charset, &bytes[charset.valid_prefix(bytes)..]));
    let mut at = 0;
    while at < bytes.len() {
        match charset.decode(&bytes[at..]) {
            Some((_, len)) => {
                out.extend_from_slice(&bytes[at..at + len]);
                at += len;
            }
            None => {
                charset.encode(u32::from(b'?'), &mut out);
                at += 1;
            }
        }
    }
    Str::new(&out, text.collation())
}

fn invalid_string(charset: charset::Charset, bytes: &[u8]) -> Warning {
    let mut text: String = bytes.iter().take(6).map(|b| format!("\\x{b:02X}")).collect();
    if bytes.len() > 6 {
        text.push_str("...");
    }
    Warning::InvalidString { charset, text }
}

fn cut(s: Str, length: Option<u32>, cx: &mut Context) -> Str {
    let Some(length) = length else { return s };
    let charset = s.charset();
    let end = charset.char_offset(s.bytes(), length as usize);
    if end >= s.len() {
        return s;
    }
    let text = s.to_utf8_lossy();
    cx.warn(Warning::TruncatedWrongValue { as_type: TypeName::Str, text });
    Str::new(&s.bytes()[..end], s.collation())
}

/// The value as text in the character set of `collation`; NULL becomes the empty string.
pub fn to_text(value: &Value, collation: Collation, cx: &Context) -> Str {
    match value {
        Value::Str(s) if s.charset() == collation.charset() => s.clone().with_collation(collation),
        Value::Str(s) => s.convert(collation),
        other => {
            let mut out = Vec::new();
            other.write_text(cx, &mut out);
            if !collation.charset().has_ascii() {
                return Str::new(&out, Collation::UTF8MB4_BIN).convert(collation);
            }
            Str::new(&out, collation)
        }
    }
}

/// A decimal literal.
pub fn parse_decimal(text: &[u8]) -> Value {
    Decimal::parse(text).value.into()
}

/// A text constant as a value of the temporal type it is compared with.
pub fn text_to_temporal(value: &Value, field: FieldType, cx: &mut Context) -> Option<Value> {
    match field {
        FieldType::Time => value.to_time(cx).map(Value::Time),
        // A DATE compared with a text that has a time of day keeps the time.
        FieldType::Date => value.to_datetime(cx).map(|d| {
            if d.hour == 0 && d.minute == 0 && d.second == 0 && d.micros == 0 {
                Value::Date(d.date)
            } else {
                Value::DateTime(d)
            }
        }),
        FieldType::DateTime | FieldType::Timestamp => value.to_datetime(cx).map(Value::DateTime),
        _ => None,
    }
}

/// A number, or a text that is a number from end to end.
pub fn plain_number(value: &Value, cx: &mut Context) -> Option<f64> {
    let before = cx.warning_count;
    let number = value.to_f64(cx);
    if cx.warning_count != before {
        cx.warning_count = before;
        cx.warnings.truncate(before as usize);
        return None;
    }
    number
}

/// The value as one of the column's type, if that changes nothing about how it compares.
pub fn exact(ty: &ColumnType, value: &Value, cx: &mut Context) -> Option<Value> {
    match ty {
        ColumnType::Fixed(kind) => quiet(cx, |cx| to_fixed(value, *kind, cx)).map(Value::Fixed),
        ColumnType::Decimal { precision, scale, .. } => match value {
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => {
                let d = value.to_decimal(cx)?;
                let fitted = d.fit(*precision, *scale).ok()?;
                fitted.compare(&d).is_eq().then(|| fitted.into())
            }
            _ => None,
        },
        ColumnType::Double { .. } => match value {
            Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_) => {
                value.to_f64(cx).map(Value::Double)
            }
            _ => None,
        },
        ColumnType::Date => match value {
            Value::Date(_) => Some(value.clone()),
            Value::DateTime(d) if d.hour == 0 && d.minute == 0 && d.second == 0 && d.micros == 0 => {
                Some(Value::Date(d.date))
            }
            Value::Str(_) => {
                let found = quiet(cx, |cx| value.to_datetime(cx))?;
                exact(ty, &Value::DateTime(found), cx)
            }
            _ => None,
        },
        ColumnType::DateTime { fsp } => {
            let found = match value {
                Value::Date(_) | Value::DateTime(_) | Value::Str(_) => quiet(cx, |cx| value.to_datetime(cx))?,
                _ => return None,
            };
            let fitted = found.with_fsp(*fsp);
            (fitted.micros == found.micros && fitted.second == found.second)
                .then_some(Value::DateTime(fitted))
        }
        _ => None,
    }
}

/// Runs a conversion; one that warns gives nothing and leaves no warning.
fn quiet<T>(cx: &mut Context, convert: impl FnOnce(&mut Context) -> Option<T>) -> Option<T> {
    let (count, kept) = (cx.warning_count, cx.warnings.len());
    let found = convert(cx);
    if cx.warning_count != count {
        cx.warning_count = count;
        cx.warnings.truncate(kept);
        return None;
    }
    found
}

/// Appends bytes that are equal for values that compare equal: for grouping, DISTINCT, hash joins and UNION.
pub fn hash_key(value: &Value, compare: CompareAs, cx: &mut Context, out: &mut Vec<u8>) {
    match (value, compare) {
        (Value::Null, _) => out.push(0),
        (Value::Int(v), _) => {
            out.push(1);
            out.extend_from_slice(&i128::from(*v).to_be_bytes());
        }
        (Value::UInt(v), _) => {
            out.push(1);
            out.extend_from_slice(&i128::from(*v).to_be_bytes());
        }
        (Value::Str(s), CompareAs::Text(c) | CompareAs::Any(c)) => {
            out.push(2);
            if s.charset() == c.charset() || c.is_binary() {
                c.sort_key(s.bytes(), out);
            } else {
                c.sort_key(s.convert(c).bytes(), out);
            }
        }
        (Value::Str(s), _) => {
            out.push(2);
            s.collation().sort_key(s.bytes(), out);
        }
        (Value::Float(_) | Value::Double(_), _) => {
            let v = value.to_f64(cx).unwrap_or(0.0);
            out.push(3);
            out.extend_from_slice(&(if v == 0.0 { 0.0 } else { v }).to_be_bytes());
        }
        (Value::Decimal(d), _) => {
            // Trailing zeros do not make another number.
            let mut text = Vec::new();
            d.write(&mut text);
            if text.contains(&b'.') {
                while text.ends_with(b"0") {
                    text.pop();
                }
            }
            if text.ends_with(b".") {
                text.pop();
            }
            out.push(4);
            out.extend_from_slice(&text);
            out.push(0);
        }
        (other, _) => {
            out.push(5);
            other.write_text(cx, out);
            out.push(0);
        }
    }
}

/// An error of the value library as one of ours; the expression's text is filled in by [`name_expression`].
pub fn value_error(error: ValueError) -> SqlError {
    match error {
        ValueError::OutOfRange { type_name } => {
            SqlError::ValueOutOfRange { kind: type_name.to_owned(), expression: String::new() }
        }
        ValueError::IllegalMix { operation } => SqlError::Other {
            errno: 1267,
            state: *b"HY000",
            text: format!("Illegal mix of collations for operation '{operation}'"),
        },
        ValueError::WrongArgCount { function } => SqlError::WrongParameterCount(function),
        ValueError::IllegalType { type_name, operation } => SqlError::Other {
            errno: 4079,
            state: *b"HY000",
            text: format!("Illegal parameter data type {type_name} for operation '{operation}'"),
        },
        ValueError::WrongArguments { function } => SqlError::WrongArguments(function.to_owned()),
        ValueError::Strict(warning) => warning_of(&warning),
        ValueError::DivisionByZero => SqlError::DivisionByZero,
        ValueError::Regexp { text } => {
            SqlError::Other { errno: 1139, state: *b"42000", text: format!("Regex error '{text}'") }
        }
        ValueError::Interrupted => SqlError::Interrupted,
        ValueError::NotSupported { what } => SqlError::NotSupported(what),
    }
}

/// A warning of the value library as a condition.
pub fn warning_of(warning: &Warning) -> SqlError {
    let other = |errno: u16, text: String| SqlError::Other { errno, state: *b"22007", text };
    match warning {
        Warning::TruncatedWrongValue { as_type: TypeName::Str, text } => {
            other(1292, format!("Truncated incorrect CHAR({}) value: '{text}'", 0))
        }
        Warning::TruncatedWrongValue { as_type, text } => {
            SqlError::TruncatedValue { kind: as_type.text().to_owned(), value: text.clone() }
        }
        Warning::IncorrectValue { as_type, text } | Warning::IncorrectForColumn { as_type, text } => {
            other(1292, format!("Incorrect {} value: '{text}'", as_type.text()))
        }
        Warning::Truncated | Warning::TooLong => other(1265, "Data truncated for column".into()),
        Warning::OutOfRange => other(1264, "Out of range value".into()),
        Warning::NullToNotNull => other(1048, "Column cannot be null".into()),
        Warning::DivisionByZero => SqlError::DivisionByZero,
        Warning::DatetimeOverflow { function } => {
            other(1441, format!("Datetime function: {function} field overflow"))
        }
        Warning::InvalidString { charset, text } => {
            other(1300, format!("Invalid {} character string: '{text}'", charset.name()))
        }
        Warning::ResultTooLarge { function, limit } => other(
            1301,
            format!("Result of {function}() was larger than max_allowed_packet ({limit}) - truncated"),
        ),
        Warning::GroupConcatCut { row } => SqlError::GroupConcatCut { row: *row },
        Warning::CastOverflow { text, as_type, .. } => {
            other(1916, format!("Got overflow when converting '{text}' to {as_type}. Value truncated"))
        }
        Warning::Numbered { errno, text } | Warning::Noted { errno, text } => {
            SqlError::Other { errno: *errno, state: *b"HY000", text: text.clone() }
        }
        Warning::CastToSigned => other(
            1105,
            "Cast to signed converted positive out-of-range integer to it's negative complement".into(),
        ),
        Warning::CastToUnsigned => {
            other(1105, "Cast to unsigned converted negative integer to it's positive complement".into())
        }
        Warning::WrongForFunction { what, text, function } => {
            other(1411, format!("Incorrect {what} value: '{text}' for function {function}"))
        }
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
