//! Values of results and parameters: text, numbers and times as the wire wants them.

use types::{Context, Date, DateTime, Time, Value};
use wire::TemporalValue;

/// The text of a value, for messages and settings.
pub(crate) fn to_string(value: &Value) -> String {
    let mut out = Vec::new();
    value.write_text(&Context::default(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The value as an integer column sends it; an unsigned one keeps its bits.
pub(crate) fn as_i64(value: &Value) -> i64 {
    match value {
        Value::Int(v) => *v,
        Value::UInt(v) => *v as i64,
        Value::Year(y) => i64::from(*y),
        Value::Bit { value, .. } => *value as i64,
        other => other.to_i64(&mut Context::default()).unwrap_or(0),
    }
}

pub(crate) fn as_f64(value: &Value) -> f64 {
    match value {
        Value::Double(v) => *v,
        Value::Float(v) => f64::from(*v),
        other => other.to_f64(&mut Context::default()).unwrap_or(0.0),
    }
}

/// The fields of a DATE, DATETIME or TIMESTAMP; None when the value is no such thing.
pub(crate) fn date_time_fields(
    value: &Value,
    date_only: bool,
    context: &mut Context,
) -> Option<TemporalValue> {
    let v = match value {
        Value::DateTime(v) => *v,
        Value::Date(date) => DateTime { date: *date, ..DateTime::default() },
        other => other.to_datetime(context)?,
    };
    let mut t =
        TemporalValue { year: v.date.year, month: v.date.month, day: v.date.day, ..TemporalValue::default() };
    if !date_only {
        t.hour = u32::from(v.hour);
        t.minute = v.minute;
        t.second = v.second;
        t.microsecond = v.micros;
    }
    Some(t)
}

/// The fields of a TIME.
pub(crate) fn time_fields(value: &Value, context: &mut Context) -> Option<TemporalValue> {
    let micros = match value {
        Value::Time(t) => t.micros,
        other => other.to_time(context)?.micros,
    };
    let seconds = micros.unsigned_abs() / 1_000_000;
    Some(TemporalValue {
        negative: micros < 0,
        hour: (seconds / 3600) as u32,
        minute: (seconds / 60 % 60) as u8,
        second: (seconds % 60) as u8,
        microsecond: (micros.unsigned_abs() % 1_000_000) as u32,
        ..TemporalValue::default()
    })
}

/// A parameter sent as DATE, DATETIME or TIMESTAMP; NULL when its fields are out of range.
pub(crate) fn date_time_of(t: &TemporalValue, date_only: bool) -> Value {
    if t.year > 9999 || t.month > 12 || t.day > 31 || t.hour > 23 || t.minute > 59 || t.second > 59 {
        return Value::Null;
    }
    let date = Date { year: t.year, month: t.month, day: t.day };
    if date_only {
        return Value::Date(date);
    }
    let fsp = if t.microsecond == 0 { 0 } else { 6 };
    Value::DateTime(DateTime {
        date,
        hour: t.hour as u8,
        minute: t.minute,
        second: t.second,
        fsp,
        micros: t.microsecond.min(999_999),
    })
}

/// A parameter sent as TIME; clipped to the range of the type.
pub(crate) fn time_of(t: &TemporalValue) -> Value {
    let seconds = i64::from(t.hour) * 3600 + i64::from(t.minute) * 60 + i64::from(t.second);
    let micros = seconds.saturating_mul(1_000_000).saturating_add(i64::from(t.microsecond.min(999_999)));
    let micros = micros.min(Time::MAX_MICROS);
    let fsp = if t.microsecond == 0 { 0 } else { 6 };
    Value::Time(Time { micros: if t.negative { -micros } else { micros }, fsp })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_too_many_days_is_the_longest_time() {
        let sent = |negative, hour| TemporalValue { negative, hour, ..TemporalValue::default() };
        for hour in [839, 2_562_047_789, u32::MAX] {
            for (negative, longest) in [(false, Time::MAX_MICROS), (true, -Time::MAX_MICROS)] {
                let Value::Time(time) = time_of(&sent(negative, hour)) else { panic!("not a TIME") };
                assert_eq!(time.micros, longest, "{hour}");
            }
        }
    }
}
