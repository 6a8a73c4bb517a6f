//! Values read as other types, as expressions do: with a warning where something is lost, never with an error.

use charset::Collation;

use crate::number::{
    Integer, f64_to_i64, f64_to_u64, parse_f64, parse_integer, write_f32, write_f64, write_i64, write_u64,
};
use crate::temporal::{
    datetime_of, parse_date_number, parse_datetime, parse_time, parse_time_number, timestamp_of,
};
use crate::{
    Context, Date, DateTime, Decimal, Interval, IntervalUnit, Rounding, Str, Time, Timestamp, TypeName,
    Value, Warning,
};

/// What a value is in arithmetic and comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    Null,
    Int,
    Decimal,
    Double,
    Str,
    Date,
    Time,
    DateTime,
}

impl Class {
    pub const fn is_temporal(self) -> bool {
        matches!(self, Self::Date | Self::Time | Self::DateTime)
    }
}

/// The text of a warning about a string value.
fn shown(s: &Str) -> String {
    let mut text = s.to_utf8_lossy();
    if let Some((end, _)) = text.char_indices().nth(128) {
        text.truncate(end);
    }
    text
}

/// A text whose digits are not ASCII's bytes, in a character set in which they are.
fn in_ascii(s: &Str) -> Value {
    Value::Str(s.convert(Collation::UTF8MB4_BIN))
}

impl Value {
    pub const fn class(&self) -> Class {
        match self {
            Self::Null => Class::Null,
            Self::Int(_) | Self::UInt(_) | Self::Year(_) | Self::Bit { .. } => Class::Int,
            Self::Float(_) | Self::Double(_) => Class::Double,
            Self::Decimal(_) => Class::Decimal,
            Self::Str(_) | Self::Enum(_) | Self::Fixed(_) => Class::Str,
            Self::Date(_) => Class::Date,
            Self::Time(_) => Class::Time,
            Self::DateTime(_) | Self::Timestamp(_) => Class::DateTime,
        }
    }

    /// The string of a Str or Enum value.
    pub fn as_str(&self) -> Option<&Str> {
        match self {
            Self::Str(s) => Some(s),
            Self::Enum(e) => Some(&e.text),
            _ => None,
        }
    }

    /// As a double; `None` for NULL.
    pub fn to_f64(&self, ctx: &mut Context) -> Option<f64> {
        Some(match self {
            Self::Null => return None,
            Self::Int(v) => *v as f64,
            Self::UInt(v) | Self::Bit { value: v, .. } => *v as f64,
            Self::Float(v) => f64::from(*v),
            Self::Double(v) => *v,
            Self::Decimal(d) => d.to_f64(),
            Self::Str(s) if !s.charset().has_ascii() => return in_ascii(s).to_f64(ctx),
            Self::Str(s) => {
                let found = parse_f64(s.bytes());
                if !found.is_whole(s.bytes()) {
                    ctx.warn(Warning::TruncatedWrongValue { as_type: TypeName::Double, text: shown(s) });
                }
                found.value
            }
            Self::Enum(e) => e.number as f64,
            Self::Fixed(_) => return Self::Str(self.to_str(ctx)?).to_f64(ctx),
            Self::Year(v) => f64::from(*v),
            Self::Date(_) | Self::Time(_) | Self::DateTime(_) | Self::Timestamp(_) => {
                self.to_decimal(ctx)?.to_f64()
            }
        })
    }

    /// As the nearest integer that fits; texts give the number at their start.
    pub fn to_integer(&self, ctx: &mut Context) -> Option<Integer> {
        Some(match self {
            Self::Null => return None,
            Self::Int(v) => Integer::Signed(*v),
            Self::UInt(v) | Self::Bit { value: v, .. } => Integer::from_u64(*v),
            Self::Float(v) => double_to_integer(f64::from(*v)),
            Self::Double(v) => double_to_integer(*v),
            Self::Decimal(d) => match (d.is_negative(), d.to_i64()) {
                (_, Ok(v)) => Integer::Signed(v),
                (true, Err(v)) => Integer::Signed(v),
                (false, Err(_)) => Integer::from_u64(d.to_u64().unwrap_or(u64::MAX)),
            },
            Self::Str(s) if !s.charset().has_ascii() => return in_ascii(s).to_integer(ctx),
            Self::Str(s) => {
                let found = parse_integer(s.bytes());
                if !found.is_whole(s.bytes()) {
                    ctx.warn(Warning::TruncatedWrongValue { as_type: TypeName::Integer, text: shown(s) });
                }
                found.value
            }
            Self::Enum(e) => Integer::from_u64(e.number),
            Self::Fixed(_) => return Self::Str(self.to_str(ctx)?).to_integer(ctx),
            Self::Year(v) => Integer::Signed(i64::from(*v)),
            Self::Date(d) => Integer::Signed(d.to_number() as i64),
            Self::Time(t) => Integer::Signed(t.to_number()),
            Self::DateTime(d) => Integer::Signed(d.to_number() as i64),
            Self::Timestamp(t) => Integer::Signed(datetime_of(*t, &ctx.time_zone).to_number() as i64),
        })
    }

    /// As a signed integer, cut to the range.
    pub fn to_i64(&self, ctx: &mut Context) -> Option<i64> {
        self.to_integer(ctx).map(|i| match i {
            Integer::Signed(v) => v,
            Integer::Unsigned(_) => i64::MAX,
        })
    }

    /// As an exact number.
    pub fn to_decimal(&self, ctx: &mut Context) -> Option<Decimal> {
        Some(match self {
            Self::Null => return None,
            Self::Int(v) => Decimal::from_i64(*v),
            Self::UInt(v) | Self::Bit { value: v, .. } => Decimal::from_u64(*v),
            Self::Float(v) => double_to_decimal(f64::from(*v)),
            Self::Double(v) => double_to_decimal(*v),
            Self::Decimal(d) => **d,
            Self::Str(s) if !s.charset().has_ascii() => return in_ascii(s).to_decimal(ctx),
            Self::Str(s) => {
                let found = Decimal::parse(s.bytes());
                let rest = &s.bytes()[found.len..];
                if found.len == 0 || found.overflow || !rest.iter().all(u8::is_ascii_whitespace) {
                    ctx.warn(Warning::TruncatedWrongValue { as_type: TypeName::Decimal, text: shown(s) });
                }
                found.value
            }
            Self::Enum(e) => Decimal::from_u64(e.number),
            Self::Fixed(_) => return Self::Str(self.to_str(ctx)?).to_decimal(ctx),
            Self::Year(v) => Decimal::from_u64(u64::from(*v)),
            Self::Date(d) => Decimal::from_u64(d.to_number()),
            Self::Time(t) => with_micros(t.to_number(), t.is_negative(), t.fraction(), t.fsp),
            Self::DateTime(d) => with_micros(d.to_number() as i64, false, d.micros, d.fsp),
            Self::Timestamp(t) => return Self::DateTime(datetime_of(*t, &ctx.time_zone)).to_decimal(ctx),
        })
    }

    /// As SQL's truth value: not zero.
    pub fn to_bool(&self, ctx: &mut Context) -> Option<bool> {
        Some(match self {
            Self::Null => return None,
            Self::Int(v) => *v != 0,
            Self::UInt(v) | Self::Bit { value: v, .. } => *v != 0,
            Self::Decimal(d) => !d.is_zero(),
            other => other.to_f64(ctx)? != 0.0,
        })
    }

    /// Appends the value as text, in the character set of its collation (ASCII for all but strings); false for NULL.
    pub fn write_text(&self, ctx: &Context, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Null => return false,
            Self::Int(v) => write_i64(*v, out),
            Self::UInt(v) => write_u64(*v, out),
            Self::Float(v) => write_f32(*v, out),
            Self::Double(v) => write_f64(*v, out),
            Self::Decimal(d) => d.write(out),
            Self::Str(s) => out.extend_from_slice(s.bytes()),
            Self::Date(d) => d.write(out),
            Self::Time(t) => t.write(out),
            Self::DateTime(d) => d.write(out),
            Self::Timestamp(t) => datetime_of(*t, &ctx.time_zone).write(out),
            Self::Year(v) => crate::temporal::put_digits(u64::from(*v), 4, out),
            Self::Bit { value, bits } => {
                out.extend_from_slice(&value.to_be_bytes()[8 - usize::from(bits.div_ceil(8))..]);
            }
            Self::Enum(e) => out.extend_from_slice(e.text.bytes()),
            Self::Fixed(v) => v.write(out),
        }
        true
    }

    /// As a string; numbers and temporal values in the connection's collation, BIT in `binary`.
    pub fn to_str(&self, ctx: &Context) -> Option<Str> {
        match self {
            Self::Null => None,
            Self::Str(s) => Some(s.clone()),
            Self::Enum(e) => Some(e.text.clone()),
            other => {
                let mut out = Vec::new();
                other.write_text(ctx, &mut out);
                let collation = match other {
                    Self::Bit { .. } => Collation::BINARY,
                    _ => ctx.collation,
                };
                if !collation.charset().has_ascii() {
                    return Some(Str::new(&out, Collation::UTF8MB4_BIN).convert(collation));
                }
                Some(Str::new(&out, collation))
            }
        }
    }

    /// As a DATETIME; `None` for NULL and, with a warning, for what is no date the mode allows. A TIME counts from today.
    pub fn to_datetime(&self, ctx: &mut Context) -> Option<DateTime> {
        let found = match self {
            Self::Null => return None,
            Self::Date(d) => Some(d.at_midnight()),
            Self::DateTime(d) => Some(*d),
            Self::Timestamp(t) => return Some(datetime_of(*t, &ctx.time_zone)),
            Self::Time(t) => {
                let today = ctx.now().date.at_midnight();
                DateTime::from_linear_micros(today.linear_micros() + t.micros).map(|d| d.with_fsp(t.fsp))
            }
            Self::Str(s) if !s.charset().has_ascii() => return in_ascii(s).to_datetime(ctx),
            Self::Str(_) | Self::Enum(_) => {
                let s = self.as_str()?;
                let found = parse_datetime(s.bytes()).filter(|f| f.value.date.is_allowed(ctx.sql_mode));
                if found.is_none_or(|f| f.cut) {
                    let text = shown(s);
                    ctx.warn(match found {
                        Some(_) => Warning::TruncatedWrongValue { as_type: TypeName::DateTime, text },
                        None => Warning::IncorrectValue { as_type: TypeName::DateTime, text },
                    });
                }
                return found.map(|f| f.value);
            }
            Self::Double(_) | Self::Float(_) | Self::Decimal(_) => {
                let d = self.to_decimal(ctx)?;
                split_micros(&d).and_then(|(negative, n, micros, fsp)| {
                    parse_date_number(n, micros).filter(|_| !negative).map(|d| d.with_fsp(fsp))
                })
            }
            Self::Year(_) => None,
            _ => match self.to_integer(ctx)? {
                Integer::Signed(v) => u64::try_from(v).ok().and_then(|v| parse_date_number(v, 0)),
                Integer::Unsigned(v) => parse_date_number(v, 0),
            },
        };
        let allowed = found.filter(|d| d.date.is_allowed(ctx.sql_mode));
        if allowed.is_none() {
            self.warn_incorrect(ctx, TypeName::DateTime);
        }
        allowed
    }

    /// As a DATE: a datetime without its time.
    pub fn to_date(&self, ctx: &mut Context) -> Option<Date> {
        self.to_datetime(ctx).map(|d| d.date)
    }

    /// As a TIME.
    pub fn to_time(&self, ctx: &mut Context) -> Option<Time> {
        match self {
            Self::Null => None,
            Self::Time(t) => Some(*t),
            Self::Date(_) => Some(Time::default()),
            Self::DateTime(d) => Some(d.time()),
            Self::Timestamp(t) => Some(datetime_of(*t, &ctx.time_zone).time()),
            Self::Str(s) if !s.charset().has_ascii() => in_ascii(s).to_time(ctx),
            Self::Str(_) | Self::Enum(_) => {
                let s = self.as_str()?;
                let found = parse_time(s.bytes());
                if found.is_none_or(|f| f.cut) {
                    ctx.warn(Warning::TruncatedWrongValue { as_type: TypeName::Time, text: shown(s) });
                }
                found.map(|f| f.value)
            }
            _ => {
                let d = self.to_decimal(ctx)?;
                let found = split_micros(&d).and_then(|(negative, n, micros, fsp)| {
                    parse_time_number(negative, n, micros).map(|(t, cut)| (t.with_fsp(fsp), cut))
                });
                if found.is_none_or(|(_, cut)| cut) {
                    let mut text = Vec::new();
                    self.write_text(ctx, &mut text);
                    let text = String::from_utf8_lossy(&text).into_owned();
                    ctx.warn(Warning::TruncatedWrongValue { as_type: TypeName::Time, text });
                }
                found.map(|(t, _)| t)
            }
        }
    }

    /// As a moment of the session's time zone; `None` outside the range of TIMESTAMP.
    pub fn to_timestamp(&self, ctx: &mut Context) -> Option<Timestamp> {
        if let Self::Timestamp(t) = self {
            return Some(*t);
        }
        let local = self.to_datetime(ctx)?;
        timestamp_of(local, &ctx.time_zone).map(|(t, _)| t)
    }

    fn warn_incorrect(&self, ctx: &mut Context, as_type: TypeName) {
        let mut text = Vec::new();
        self.write_text(ctx, &mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        ctx.warn(Warning::IncorrectValue { as_type, text });
    }
}

impl Context {
    /// The statement's start in the session's time zone, with microseconds.
    pub fn now(&self) -> DateTime {
        let moment = Timestamp {
            seconds: self.now_micros.div_euclid(1_000_000) as u64,
            micros: self.now_micros.rem_euclid(1_000_000) as u32,
            fsp: 6,
        };
        datetime_of(moment, &self.time_zone)
    }
}

fn double_to_integer(v: f64) -> Integer {
    match f64_to_i64(v) {
        Ok(v) => Integer::Signed(v),
        Err(i64::MIN) => Integer::Signed(i64::MIN),
        Err(_) => Integer::from_u64(f64_to_u64(v).unwrap_or(u64::MAX)),
    }
}

fn double_to_decimal(v: f64) -> Decimal {
    Decimal::from_f64(v).map_or(Decimal::ZERO, |p| p.value)
}

/// `n.micros` with `fsp` digits after the point.
fn with_micros(n: i64, negative: bool, micros: u32, fsp: u8) -> Decimal {
    let whole = Decimal::from_i64(n);
    if fsp == 0 {
        return whole;
    }
    let part = Decimal::from_scaled(i64::from(micros), 6);
    let sum = whole.add(&if negative { part.negate() } else { part }).unwrap_or(whole);
    sum.round(i32::from(fsp), Rounding::Truncate)
}

/// Sign, integer part, microseconds (cut) and digits after the point.
fn split_micros(d: &Decimal) -> Option<(bool, u64, u32, u8)> {
    let whole = d.round(0, Rounding::Truncate);
    let n = whole.abs().to_u64().unwrap_or_else(|limit| limit);
    let part = d.abs().sub(&whole.abs())?;
    let micros = part.mul(&Decimal::from_u64(1_000_000))?.round(0, Rounding::Truncate).to_u64().ok()?;
    Some((d.is_negative(), n, micros as u32, d.scale().min(6)))
}

impl From<Integer> for Value {
    fn from(i: Integer) -> Self {
        match i {
            Integer::Signed(v) => Self::Int(v),
            Integer::Unsigned(v) => Self::UInt(v),
        }
    }
}

/// Reads a numeric literal's text: integer, decimal or (with an exponent) double.
pub fn literal_number(text: &[u8]) -> Option<Value> {
    if text.iter().any(|b| matches!(b, b'e' | b'E')) {
        let found = parse_f64(text);
        return (found.len == text.len() && !found.overflow).then_some(Value::Double(found.value));
    }
    if text.contains(&b'.') {
        let found = Decimal::parse(text);
        return (found.len == text.len()).then(|| Value::from(found.value));
    }
    let found = parse_integer(text);
    if found.overflow {
        return Some(Value::from(Decimal::parse(text).value));
    }
    (found.len == text.len() && found.len > 0).then(|| found.value.into())
}

/// The length of time that `value` units are; `None` for NULL and for a text with more numbers than the unit has parts.
pub fn interval_of(value: &Value, unit: IntervalUnit, ctx: &mut Context) -> Option<Interval> {
    use IntervalUnit as Unit;
    match unit {
        Unit::Second => {
            let d = value.to_decimal(ctx)?;
            let micros = d.mul(&Decimal::from_u64(1_000_000))?.round(0, Rounding::Truncate).to_i64();
            let micros = micros.unwrap_or_else(|limit| limit);
            Some(Interval { months: 0, micros: i128::from(micros) })
        }
        Unit::Microsecond
        | Unit::Minute
        | Unit::Hour
        | Unit::Day
        | Unit::Week
        | Unit::Month
        | Unit::Quarter
        | Unit::Year => Some(Interval::single(unit, value.to_i64(ctx)?, 0)),
        _ => {
            let text = value.to_str(ctx)?;
            Interval::compound(unit, text.bytes())
        }
    }
}
