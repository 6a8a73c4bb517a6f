//! What a column keeps of a value: conversion to the column's type, with what was lost.
//!
//! The caller decides by `sql_mode` and statement whether a problem stops the statement or is a warning; the value is what the
//! column holds in the second case.

use charset::{Charset, Collation};
use types::number::{Integer, f64_to_i64, f64_to_u64, parse_f64, write_f64_within};
use types::temporal::{parse_datetime, parse_time, timestamp_of};
use types::{
    Context, DateTime, Decimal, EnumValue, Fixed, FixedKind, Rounding, SqlMode, Str, Time, Timestamp,
    TypeName, Value, Warning,
};

use crate::{ColumnType, IntSize, set_value};

/// Whether a problem can stop a strict statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Only ever a note: digits after the scale were rounded away.
    Note,
    /// An error in strict mode, else a warning.
    Warning,
}

/// Something of the value that the column does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreProblem {
    pub severity: Severity,
    /// What a lax statement says.
    pub warning: Warning,
    /// What a strict statement stops with.
    pub error: Warning,
}

/// The value as the column holds it.
#[derive(Debug, Clone)]
pub struct Stored {
    pub value: Value,
    pub problem: Option<StoreProblem>,
}

impl Stored {
    fn clean(value: Value) -> Self {
        Self { value, problem: None }
    }
    fn with(value: Value, error: Warning) -> Self {
        let warning = match &error {
            Warning::TooLong | Warning::IncorrectValue { .. } => Warning::Truncated,
            other => other.clone(),
        };
        Self { value, problem: Some(StoreProblem { severity: Severity::Warning, warning, error }) }
    }
    /// Out of range to a lax statement, something else to a strict one.
    fn out_of_range(value: Value, error: Warning) -> Self {
        let warning = Warning::OutOfRange;
        Self { value, problem: Some(StoreProblem { severity: Severity::Warning, warning, error }) }
    }
    fn note(value: Value, warning: Warning) -> Self {
        let error = warning.clone();
        Self { value, problem: Some(StoreProblem { severity: Severity::Note, warning, error }) }
    }
    fn checked(value: Value, problem: Option<Warning>) -> Self {
        match problem {
            Some(warning) => Self::with(value, warning),
            None => Self::clean(value),
        }
    }
}

/// Converts `value` to a column's type. NULL stays NULL.
pub fn store(ty: &ColumnType, value: &Value, ctx: &mut Context) -> Stored {
    if value.is_null() {
        return Stored::clean(Value::Null);
    }
    match ty {
        ColumnType::Int { size, unsigned } => store_int(*size, *unsigned, value, ctx),
        ColumnType::Float { unsigned } => store_double(*unsigned, true, value, ctx),
        ColumnType::Double { unsigned } => store_double(*unsigned, false, value, ctx),
        ColumnType::Decimal { precision, scale, unsigned } => {
            store_decimal(*precision, *scale, *unsigned, value, ctx)
        }
        ColumnType::Year => store_year(value, ctx),
        ColumnType::Bit { bits } => store_bit(*bits, value, ctx),
        ColumnType::Date => store_date(value, ctx),
        ColumnType::Time { fsp } => store_time(*fsp, value, ctx),
        ColumnType::DateTime { fsp } => store_datetime(*fsp, value, ctx),
        ColumnType::Timestamp { fsp } => store_timestamp(*fsp, value, ctx),
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Blob { collation, .. } => store_text(ty, *collation, value, ctx),
        ColumnType::Enum { members, collation } => store_enum(members, *collation, value, ctx),
        ColumnType::Set { members, collation } => store_set(members, *collation, value, ctx),
        ColumnType::Fixed(kind) => store_fixed(*kind, value, ctx),
    }
}

/// Whether a column of this type keeps the value as it is. False says nothing: ask [`store`].
pub fn keeps(ty: &ColumnType, value: &Value) -> bool {
    match (ty, value) {
        (ColumnType::Int { size, unsigned: false }, Value::Int(v)) => {
            (size.min_signed()..=size.max_signed()).contains(v)
        }
        (ColumnType::Int { size, unsigned: true }, Value::UInt(v)) => *v <= size.max_unsigned(),
        (ColumnType::Char { collation, .. } | ColumnType::VarChar { collation, .. }, Value::Str(s))
            if s.collation() == *collation =>
        {
            let (charset, max) = (collation.charset(), ty.max_bytes() as usize);
            s.len() <= max / charset.max_len()
                && (s.bytes().is_ascii() && charset.has_ascii() || charset == Charset::Binary)
        }
        (ColumnType::Blob { collation, .. }, Value::Str(s)) if s.collation() == *collation => {
            let charset = collation.charset();
            s.len() as u64 <= ty.max_bytes() && (charset == Charset::Binary || charset.is_valid(s.bytes()))
        }
        (ColumnType::Fixed(kind), Value::Fixed(v)) => v.kind() == *kind,
        _ => false,
    }
}

/// UUID, INET4, INET6: from their text, or from as many bytes as they have.
fn store_fixed(kind: FixedKind, value: &Value, ctx: &Context) -> Stored {
    if let Value::Fixed(v) = value
        && v.kind() == kind
    {
        return Stored::clean(value.clone());
    }
    let text = value.to_str(ctx);
    let found = text.as_ref().and_then(|s| {
        let bytes = s.bytes();
        let binary = s.collation().is_binary() && bytes.len() == kind.len();
        if binary { Fixed::from_bytes(kind, bytes) } else { Fixed::parse(kind, bytes) }
    });
    match found {
        Some(v) => Stored::clean(Value::Fixed(v)),
        None => {
            let text = text.map_or_else(String::new, |s| s.to_utf8_lossy());
            let wrong = Warning::IncorrectForColumn { as_type: TypeName::Fixed(kind), text };
            let problem = StoreProblem { severity: Severity::Warning, warning: wrong.clone(), error: wrong };
            Stored { value: Value::Fixed(Fixed::zero(kind)), problem: Some(problem) }
        }
    }
}

/// What is wrong with a text's number: trailing spaces are worth a note, other trailing bytes a warning.
#[derive(Clone)]
enum Doubt {
    Spaces,
    Wrong(Warning),
}

impl Doubt {
    /// The problem of a value that has one of its own or not.
    fn with(doubt: Option<Self>, own: Option<Warning>, value: Value) -> Stored {
        match (doubt, own) {
            (Some(Self::Wrong(warning)), _) | (_, Some(warning)) => Stored::with(value, warning),
            (Some(Self::Spaces), None) => Stored::note(value, Warning::Truncated),
            (None, None) => Stored::clean(value),
        }
    }
}

/// Judges what follows the number at the start of a text.
fn doubt_of(s: &Str, len: usize, as_type: TypeName) -> Option<Doubt> {
    let rest = &s.bytes()[len..];
    if len == 0 {
        Some(Doubt::Wrong(Warning::IncorrectForColumn { as_type, text: s.to_utf8_lossy() }))
    } else if rest.is_empty() {
        None
    } else if rest.iter().all(u8::is_ascii_whitespace) {
        Some(Doubt::Spaces)
    } else {
        Some(Doubt::Wrong(Warning::Truncated))
    }
}

fn number_of_text(s: &Str, as_type: TypeName) -> (Decimal, Option<Doubt>) {
    let found = Decimal::parse(s.bytes());
    (found.value, doubt_of(s, found.len, as_type))
}

fn store_int(size: IntSize, unsigned: bool, value: &Value, ctx: &mut Context) -> Stored {
    let (exact, problem): (Result<Integer, Integer>, _) = match value {
        Value::Double(_) | Value::Float(_) => {
            let v = value.to_f64(ctx).unwrap_or(0.0);
            let found = match f64_to_i64(v) {
                Ok(v) => Ok(Integer::Signed(v)),
                Err(i64::MIN) => Err(Integer::Signed(i64::MIN)),
                Err(_) => f64_to_u64(v).map(Integer::from_u64).map_err(Integer::from_u64),
            };
            (found, None)
        }
        Value::Str(s) => {
            let (d, problem) = number_of_text(s, TypeName::Integer);
            (decimal_to_integer(&d), problem)
        }
        Value::Decimal(d) => (decimal_to_integer(d), None),
        other => (Ok(other.to_integer(ctx).unwrap_or(Integer::Signed(0))), None),
    };
    let (integer, mut out_of_range) = match exact {
        Ok(i) => (i, false),
        Err(i) => (i, true),
    };
    let stored = match (unsigned, integer) {
        (false, Integer::Signed(v)) => {
            let kept = v.clamp(size.min_signed(), size.max_signed());
            out_of_range |= kept != v;
            Value::Int(kept)
        }
        (false, Integer::Unsigned(_)) => {
            out_of_range = true;
            Value::Int(size.max_signed())
        }
        (true, Integer::Signed(v)) if v < 0 => {
            out_of_range = true;
            Value::UInt(0)
        }
        (true, v) => {
            let kept = v.bits().min(size.max_unsigned());
            out_of_range |= kept != v.bits();
            Value::UInt(kept)
        }
    };
    Doubt::with(problem, out_of_range.then_some(Warning::OutOfRange), stored)
}

fn decimal_to_integer(d: &Decimal) -> Result<Integer, Integer> {
    if d.is_negative() {
        return d.to_i64().map(Integer::Signed).map_err(Integer::Signed);
    }
    d.to_u64().map(Integer::from_u64).map_err(Integer::from_u64)
}

fn store_double(unsigned: bool, float: bool, value: &Value, ctx: &mut Context) -> Stored {
    let (v, doubt, overflow) = match value {
        Value::Str(s) => {
            let found = parse_f64(s.bytes());
            (found.value, doubt_of(s, found.len, TypeName::Double), found.overflow)
        }
        other => (other.to_f64(ctx).unwrap_or(0.0), None, false),
    };
    let limit = if float { f64::from(f32::MAX) } else { f64::MAX };
    let kept = v.clamp(if unsigned { 0.0 } else { -limit }, limit);
    let value = if float { Value::Float(kept as f32) } else { Value::Double(kept) };
    Doubt::with(doubt, (overflow || kept != v).then_some(Warning::OutOfRange), value)
}

fn store_decimal(precision: u8, scale: u8, unsigned: bool, value: &Value, ctx: &mut Context) -> Stored {
    let (d, problem) = match value {
        Value::Str(s) => number_of_text(s, TypeName::Decimal),
        other => (other.to_decimal(ctx).unwrap_or(Decimal::ZERO), None),
    };
    if unsigned && d.is_negative() {
        let zero = Decimal::ZERO.round(i32::from(scale), Rounding::Truncate);
        return Doubt::with(problem, Some(Warning::OutOfRange), zero.into());
    }
    match d.fit(precision, scale) {
        Err(limit) => Doubt::with(problem, Some(Warning::OutOfRange), limit.into()),
        Ok(fitted) if problem.is_none() && fitted != d => Stored::note(fitted.into(), Warning::Truncated),
        Ok(fitted) => Doubt::with(problem, None, fitted.into()),
    }
}

fn store_year(value: &Value, ctx: &mut Context) -> Stored {
    let (year, problem) = match value {
        Value::Year(v) => return Stored::clean(Value::Year(*v)),
        Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) | Value::Time(_) => {
            let year = if let Value::Time(_) = value {
                0
            } else {
                value.to_date(ctx).map_or(0, |d| i64::from(d.year))
            };
            let text = shown(value, ctx);
            (year, Some(Doubt::Wrong(Warning::IncorrectValue { as_type: TypeName::Year, text })))
        }
        Value::Str(s) => {
            let (d, problem) = number_of_text(s, TypeName::Year);
            let n = d.to_i64().unwrap_or(-1);
            let short = s.bytes().iter().filter(|b| b.is_ascii_digit()).count() < 4;
            (if n == 0 && short && problem.is_none() { 2000 } else { n }, problem)
        }
        other => (other.to_i64(ctx).unwrap_or(-1), None),
    };
    let full = match year {
        0 => Some(0),
        1..70 => Some(year + 2000),
        70..100 => Some(year + 1900),
        1901..=2155 => Some(year),
        _ => None,
    };
    match full {
        Some(v) => Doubt::with(problem, None, Value::Year(v as u16)),
        None => Doubt::with(problem, Some(Warning::OutOfRange), Value::Year(0)),
    }
}

fn store_bit(bits: u8, value: &Value, ctx: &mut Context) -> Stored {
    let max = u64::MAX >> (64 - u32::from(bits));
    let found = match value {
        // A string's bytes are the number, big-endian.
        Value::Str(s) => {
            let bytes = s.bytes();
            let start = bytes.iter().position(|b| *b != 0).unwrap_or(bytes.len());
            (bytes.len() - start <= 8).then(|| bytes[start..].iter().fold(0, |n, b| n << 8 | u64::from(*b)))
        }
        Value::Decimal(d) => match d.to_u64() {
            Ok(v) => Some(v),
            Err(limit) => {
                return Stored::with(Value::Bit { value: limit.min(max), bits }, Warning::OutOfRange);
            }
        },
        other => other.to_integer(ctx).map(Integer::bits),
    };
    match found.filter(|v| *v <= max) {
        Some(value) => Stored::clean(Value::Bit { value, bits }),
        None => Stored::out_of_range(Value::Bit { value: max, bits }, Warning::TooLong),
    }
}

/// A datetime of any value, with the problem of reading it.
fn read_datetime(value: &Value, as_type: TypeName, ctx: &mut Context) -> (Option<DateTime>, Option<Warning>) {
    let incorrect = |ctx: &Context| {
        let mut text = Vec::new();
        value.write_text(ctx, &mut text);
        Warning::IncorrectValue { as_type, text: String::from_utf8_lossy(&text).into_owned() }
    };
    match value {
        Value::Str(s) => match parse_datetime(s.bytes()) {
            Some(found) if found.value.date.is_allowed(ctx.sql_mode) => {
                (Some(found.value), found.cut.then(|| incorrect(ctx)))
            }
            _ => (None, Some(incorrect(ctx))),
        },
        other => {
            let before = ctx.warnings.len();
            let found = other.to_datetime(ctx);
            ctx.warnings.truncate(before);
            match found {
                Some(d) => (Some(d), None),
                None => (None, Some(incorrect(ctx))),
            }
        }
    }
}

fn store_date(value: &Value, ctx: &mut Context) -> Stored {
    let (found, problem) = read_datetime(value, TypeName::Date, ctx);
    let d = found.unwrap_or_default();
    let stored = Value::Date(d.date);
    match problem {
        None if d.time_micros() != 0 => Stored::note(stored, Warning::Truncated),
        problem => Stored::checked(stored, problem),
    }
}

fn rounds(ctx: &Context) -> bool {
    ctx.sql_mode.has(SqlMode::TIME_ROUND_FRACTIONAL)
}

fn store_datetime(fsp: u8, value: &Value, ctx: &mut Context) -> Stored {
    let (found, problem) = read_datetime(value, TypeName::DateTime, ctx);
    match found.map(|d| d.cut(fsp, rounds(ctx))) {
        Some(Some(d)) => Stored::checked(Value::DateTime(d), problem),
        Some(None) => Stored::with(Value::DateTime(DateTime::default().with_fsp(fsp)), Warning::OutOfRange),
        None => Stored::checked(Value::DateTime(DateTime::default().with_fsp(fsp)), problem),
    }
}

fn store_timestamp(fsp: u8, value: &Value, ctx: &mut Context) -> Stored {
    if let Value::Timestamp(t) = value
        && t.fsp <= fsp
    {
        return Stored::clean(Value::Timestamp(Timestamp { fsp, ..*t }));
    }
    let zero = Value::Timestamp(Timestamp { fsp, ..Timestamp::default() });
    let (found, problem) = read_datetime(value, TypeName::DateTime, ctx);
    let Some(local) = found.and_then(|d| d.cut(fsp, rounds(ctx))) else {
        return Stored::checked(zero, problem);
    };
    match timestamp_of(local, &ctx.time_zone) {
        Some((t, false)) => Stored::checked(Value::Timestamp(t), problem),
        Some((t, true)) => Stored::with(
            Value::Timestamp(t),
            Warning::IncorrectValue { as_type: TypeName::DateTime, text: shown(value, ctx) },
        ),
        None if !local.date.is_real() => Stored::with(
            zero,
            Warning::IncorrectValue { as_type: TypeName::DateTime, text: shown(value, ctx) },
        ),
        None => Stored::out_of_range(
            zero,
            Warning::IncorrectValue { as_type: TypeName::DateTime, text: shown(value, ctx) },
        ),
    }
}

fn shown(value: &Value, ctx: &Context) -> String {
    let mut text = Vec::new();
    value.write_text(ctx, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn store_time(fsp: u8, value: &Value, ctx: &mut Context) -> Stored {
    let incorrect =
        |ctx: &Context| Warning::IncorrectValue { as_type: TypeName::Time, text: shown(value, ctx) };
    // The time, whether it was cut, and whether a date was lost.
    let (found, cut, dated) = match value {
        Value::Str(s) => match parse_time(s.bytes()) {
            Some(found) => (Some(found.value), found.cut, found.has_date),
            None => (None, true, false),
        },
        other => {
            let before = ctx.warnings.len();
            let found = other.to_time(ctx);
            let cut = ctx.warnings.len() > before;
            ctx.warnings.truncate(before);
            let dated = match other {
                Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) => true,
                Value::Time(_) => false,
                // Numbers of eight digits and more are dates.
                number => number.to_f64(ctx).is_some_and(|n| n > 9_999_999.0),
            };
            (found, cut, dated)
        }
    };
    let Some(time) = found else {
        return Stored::with(Value::Time(Time::default().with_fsp(fsp)), incorrect(ctx));
    };
    let stored = Value::Time(time.cut(fsp, rounds(ctx)));
    match (cut, dated) {
        (true, _) if time.micros.abs() == Time::MAX_MICROS => Stored::out_of_range(stored, incorrect(ctx)),
        (true, _) => Stored::with(stored, incorrect(ctx)),
        (false, true) => Stored::note(stored, Warning::Truncated),
        (false, false) => Stored::clean(stored),
    }
}

/// A value's bytes in the column's character set, and the first bytes that have no place there.
fn text_in(collation: Collation, value: &Value, ctx: &Context) -> (Str, Option<Warning>) {
    let Some(text) = value.to_str(ctx) else { return (Str::new(b"", collation), None) };
    let to = collation.charset();
    let from = text.charset();
    let bad = |at: usize| {
        let rest = &text.bytes()[at..];
        let shown: String = rest.iter().take(6).map(|b| format!("\\x{b:02X}")).collect();
        let text = if rest.len() > 6 { shown + "..." } else { shown };
        Warning::IncorrectForColumn { as_type: TypeName::Str, text }
    };
    if to == Charset::Binary {
        return (text.with_collation(collation), None);
    }
    if from == to || from == Charset::Binary && !to.is_wide() {
        let whole = if to == Charset::Ascii { text.len() } else { to.valid_prefix(text.bytes()) };
        if whole == text.len() {
            return (text.with_collation(collation), None);
        }
        return (Str::new(&with_marks(text.bytes(), to), collation), Some(bad(whole)));
    }
    let mut out = Vec::with_capacity(text.len());
    match from.convert(text.bytes(), to, &mut out) {
        Ok(()) => (Str::new(&out, collation), None),
        Err(e) => (Str::new(&out, collation), Some(bad(e.at))),
    }
}

/// The text with `?` for every byte that is no character.
fn with_marks(bytes: &[u8], charset: Charset) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
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
    out
}

fn store_text(ty: &ColumnType, collation: Collation, value: &Value, ctx: &mut Context) -> Stored {
    let charset = collation.charset();
    let max = ty.max_bytes() as usize;
    let short = short_number(ty, value, max / charset.max_len());
    let (text, problem) = text_in(collation, short.as_ref().map_or(value, |(text, _)| text), ctx);
    let limit = match ty {
        // CHAR(n) and VARCHAR(n) count characters.
        ColumnType::Char { .. } | ColumnType::VarChar { .. } => {
            charset.char_offset(text.bytes(), max / charset.max_len())
        }
        _ if text.len() > max => {
            let mut end = max;
            while end > 0 && !charset.is_valid(&text.bytes()[..end]) && max - end < 4 {
                end -= 1;
            }
            end
        }
        _ => max,
    };
    if text.len() <= limit && short.is_some_and(|(_, fits)| !fits) {
        return Stored::with(Value::Str(text), Warning::TooLong);
    }
    if text.len() <= limit {
        return Stored::checked(Value::Str(text), problem);
    }
    let (kept, lost) = text.bytes().split_at(limit);
    let stored = Value::str(kept, collation);
    let only_pad = charset.trim_end(lost).is_empty() && !collation.is_binary();
    match (problem, ty) {
        (Some(warning), _) => Stored::with(stored, warning),
        (None, ColumnType::Char { .. }) if only_pad => Stored::clean(stored),
        (None, _) if only_pad => Stored::note(stored, Warning::Truncated),
        (None, _) => Stored::with(stored, Warning::TooLong),
    }
}

/// A floating number as a CHAR or VARCHAR holds it, with fewer digits if need be, and whether it fits so.
fn short_number(ty: &ColumnType, value: &Value, chars: usize) -> Option<(Value, bool)> {
    if !matches!(ty, ColumnType::Char { .. } | ColumnType::VarChar { .. }) {
        return None;
    }
    let number = match value {
        Value::Double(v) => *v,
        // A FLOAT has six digits.
        Value::Float(v) => format!("{v:.5e}").parse().ok()?,
        _ => return None,
    };
    let mut text = Vec::new();
    let fits = write_f64_within(number, chars, &mut text);
    Some((Value::str(&text, Collation::UTF8MB3_GENERAL_CI), fits))
}

fn trim_spaces(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
    &bytes[..end]
}

fn store_enum(members: &[Box<[u8]>], collation: Collation, value: &Value, ctx: &mut Context) -> Stored {
    let make = |number: u64| {
        let text = number.checked_sub(1).and_then(|i| members.get(i as usize)).map_or(&b""[..], |m| m);
        Value::Enum(Box::new(EnumValue { number, text: Str::new(text, collation) }))
    };
    let found = match value {
        Value::Str(_) | Value::Enum(_) => {
            let (text, _) = text_in(collation, value, ctx);
            let bytes = trim_spaces(text.bytes());
            let by_text = members.iter().position(|m| collation.equal(m, bytes)).map(|i| i as u64 + 1);
            by_text.or_else(|| {
                let number: u64 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
                (1..=members.len() as u64).contains(&number).then_some(number)
            })
        }
        Value::Decimal(d) => {
            let number = d.round(0, Rounding::Truncate).to_u64().unwrap_or(0);
            (1..=members.len() as u64).contains(&number).then_some(number)
        }
        other => {
            let number = other.to_integer(ctx).map_or(0, Integer::bits);
            (1..=members.len() as u64).contains(&number).then_some(number)
        }
    };
    match found {
        Some(number) => Stored::clean(make(number)),
        None => Stored::with(make(0), Warning::Truncated),
    }
}

fn store_set(members: &[Box<[u8]>], collation: Collation, value: &Value, ctx: &mut Context) -> Stored {
    let all = if members.len() >= 64 { u64::MAX } else { (1 << members.len()) - 1 };
    let (bits, lost) = match value {
        Value::Str(_) | Value::Enum(_) => {
            let (text, _) = text_in(collation, value, ctx);
            let bytes = trim_spaces(text.bytes());
            let number: Option<u64> = std::str::from_utf8(bytes).ok().and_then(|t| t.parse().ok());
            let (mut bits, mut lost) = (0u64, false);
            for part in bytes.split(|b| *b == b',').filter(|_| !bytes.is_empty()) {
                match members.iter().position(|m| collation.equal(m, part)) {
                    Some(i) => bits |= 1u64.checked_shl(i as u32).unwrap_or(0),
                    None => lost = true,
                }
            }
            match number {
                Some(n) if lost && bits == 0 && n <= all => (n, false),
                _ => (bits, lost),
            }
        }
        other => {
            let n = other.to_integer(ctx).map_or(0, Integer::bits);
            (n & all, n & !all != 0)
        }
    };
    let stored = Value::Enum(Box::new(set_value(members, collation, bits)));
    Stored::checked(stored, lost.then_some(Warning::Truncated))
}
