//! Parts of dates and times, arithmetic on them, and conversions between them and numbers.

use types::temporal::{MICROS_PER_SECOND, datetime_of, timestamp_of};
use types::{
    Class, Context, Date, DateTime, Decimal, IntervalUnit, Rounding, Time, Timestamp, TypeName, Value,
    Warning, interval_of,
};

use crate::arguments::{Answer, Args, NULL, ascii, count, some};

/// 1292 for what has no type of its own.
fn warn_truncated(what: &str, value: &Value, ctx: &mut Context) {
    let mut text = Vec::new();
    value.write_text(ctx, &mut text);
    let text = format!("Truncated incorrect {what} value: '{}'", String::from_utf8_lossy(&text));
    ctx.warn(Warning::Numbered { errno: 1292, text });
}

/// The unit an argument names: its number, or its name as text.
pub(crate) fn unit_of(v: &Value) -> Option<IntervalUnit> {
    match v {
        Value::Int(n) => IntervalUnit::ALL.get(usize::try_from(*n).ok()?).copied(),
        Value::Str(s) => IntervalUnit::by_name(&s.to_utf8_lossy().to_ascii_uppercase()),
        _ => None,
    }
}

/// A date whose parts are looked at one by one: zero parts are allowed.
fn loose_datetime(v: &Value, ctx: &mut Context) -> Option<DateTime> {
    v.to_datetime(ctx)
}

macro_rules! date_parts {
    ($($name:ident = |$d:ident| $e:expr;)*) => {
        $(pub(crate) fn $name(args: Args<'_>, ctx: &mut Context) -> Answer {
            let $d = some!(loose_datetime(&args[0], ctx));
            Ok(Value::Int($e as i64))
        })*
    };
}

date_parts! {
    year = |d| d.date.year;
    month = |d| d.date.month;
    day = |d| d.date.day;
    quarter = |d| d.date.month.div_ceil(3);
}

macro_rules! time_parts {
    ($($name:ident = |$t:ident| $e:expr;)*) => {
        $(pub(crate) fn $name(args: Args<'_>, ctx: &mut Context) -> Answer {
            let $t = some!(args[0].to_time(ctx));
            Ok(Value::Int($e as i64))
        })*
    };
}

time_parts! {
    hour = |t| t.hours();
    minute = |t| t.minutes();
    second = |t| t.seconds();
    microsecond = |t| t.fraction();
}

/// A date that exists, for functions that count days.
fn real_date(v: &Value, ctx: &mut Context) -> Option<Date> {
    let found = v.to_datetime(ctx)?;
    let d = found.date;
    if d.month == 0 || d.day == 0 {
        let mut text = Vec::new();
        match v {
            Value::Str(_) | Value::Int(_) | Value::UInt(_) => drop(v.write_text(ctx, &mut text)),
            _ => found.write(&mut text),
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        ctx.warn(Warning::IncorrectValue { as_type: TypeName::DateTime, text });
        return None;
    }
    Some(d)
}

macro_rules! real_parts {
    ($($name:ident = |$d:ident| $e:expr;)*) => {
        $(pub(crate) fn $name(args: Args<'_>, ctx: &mut Context) -> Answer {
            let $d = some!(real_date(&args[0], ctx));
            Ok(Value::Int($e as i64))
        })*
    };
}

real_parts! {
    weekday = |d| d.weekday();
    day_of_week = |d| (d.weekday() + 1) % 7 + 1;
    day_of_year = |d| d.day_of_year();
    to_days = |d| d.day_number();
    week_of_year = |d| week_number(d, 3).1;
}

pub(crate) const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(crate) fn day_name(args: Args<'_>, ctx: &mut Context) -> Answer {
    let d = some!(real_date(&args[0], ctx));
    ascii(DAYS[usize::from(d.weekday())].as_bytes(), ctx)
}

pub(crate) fn month_name(args: Args<'_>, ctx: &mut Context) -> Answer {
    let d = some!(loose_datetime(&args[0], ctx)).date;
    let name = some!(usize::from(d.month).checked_sub(1).and_then(|m| MONTHS.get(m)));
    ascii(name.as_bytes(), ctx)
}

/// Year and week by WEEK's modes 0 to 7. Bit 0: weeks start on Monday. Bit 1: weeks count from 1 and days before the first week belong
/// to the last week of the year before. Bit 2: the first week is the one with the first starting day instead of the one with four days
/// (turned round when weeks start on Monday).
pub(crate) fn week_number(d: Date, mode: u8) -> (u16, u8) {
    let monday = mode & 1 != 0;
    let from_one = mode & 2 != 0;
    let four_days = (mode & 4 != 0) != monday;
    let start_of = |year: u16| {
        let first = Date::new(year, 1, 1);
        let weekday = if monday { first.weekday() } else { (first.weekday() + 1) % 7 };
        let ahead = i64::from((7 - weekday) % 7);
        // The first week holds at least four days of the year, or begins in it.
        if four_days && weekday <= 3 {
            first.day_number() - i64::from(weekday)
        } else {
            first.day_number() + ahead
        }
    };
    let day = d.day_number();
    let week = |start: i64| ((day - start).div_euclid(7) + 1) as u8;
    let start = start_of(d.year);
    if day < start {
        return if from_one {
            (d.year.wrapping_sub(1), week(start_of(d.year.wrapping_sub(1))))
        } else {
            (d.year, 0)
        };
    }
    if from_one && d.year < 9999 && day >= start_of(d.year + 1) {
        return (d.year + 1, 1);
    }
    (d.year, week(start))
}

fn mode_of(args: Args<'_>, ctx: &mut Context) -> u8 {
    args.get(1).and_then(|m| count(m, ctx)).map_or(0, |m| (m & 7) as u8)
}

/// WEEK(date [, mode]).
pub(crate) fn week(args: Args<'_>, ctx: &mut Context) -> Answer {
    let d = some!(real_date(&args[0], ctx));
    let mode = mode_of(args, ctx);
    Ok(Value::Int(i64::from(week_number(d, mode).1)))
}

/// YEARWEEK(date [, mode]).
pub(crate) fn year_week(args: Args<'_>, ctx: &mut Context) -> Answer {
    let d = some!(real_date(&args[0], ctx));
    let (year, week) = week_number(d, mode_of(args, ctx) | 2);
    Ok(Value::Int(i64::from(year) * 100 + i64::from(week)))
}

pub(crate) fn last_day(args: Args<'_>, ctx: &mut Context) -> Answer {
    let d = some!(loose_datetime(&args[0], ctx)).date;
    Ok(d.last_of_month().map_or(Value::Null, Value::Date))
}

/// MAKEDATE(year, day of year).
pub(crate) fn make_date(args: Args<'_>, ctx: &mut Context) -> Answer {
    let year = some!(count(&args[0], ctx));
    let day = some!(count(&args[1], ctx));
    let year = match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        _ => year,
    };
    if !(0..=9999).contains(&year) || day < 1 {
        return NULL;
    }
    let days = Date::new(year as u16, 1, 1).day_number().saturating_add(day - 1);
    Ok(Date::from_day_number(days).map_or(Value::Null, Value::Date))
}

/// MAKETIME(hour, minute, second).
pub(crate) fn make_time(args: Args<'_>, ctx: &mut Context) -> Answer {
    let hour = some!(count(&args[0], ctx));
    let minute = some!(count(&args[1], ctx));
    let seconds = some!(args[2].to_decimal(ctx));
    let micros = some!(seconds.mul(&Decimal::from_u64(1_000_000)));
    let micros = micros.round(0, Rounding::Truncate).to_i64().unwrap_or(-1);
    if (0..60).contains(&minute) && micros >= 60 * MICROS_PER_SECOND {
        warn_truncated("seconds", &args[2], ctx);
    }
    if !(0..60).contains(&minute) || !(0..60 * MICROS_PER_SECOND).contains(&micros) {
        return NULL;
    }
    let fsp = seconds.scale().min(6);
    let whole = hour.unsigned_abs().min(1000) as u32;
    let second = (micros / MICROS_PER_SECOND) as u32;
    let made = Time::new(hour < 0, whole, minute as u32, second, (micros % MICROS_PER_SECOND) as u32);
    let limit = if hour < 0 { -Time::MAX_MICROS } else { Time::MAX_MICROS };
    if made.is_none() {
        let hours = args[0].to_str(ctx).map_or_else(String::new, |s| s.to_utf8_lossy());
        let text = format!("Truncated incorrect time value: '{hours}:{minute:02}:{second:02}'");
        ctx.warn(Warning::Numbered { errno: 1292, text });
    }
    Ok(Value::Time(made.unwrap_or(Time { micros: limit, fsp }).cut(fsp, false)))
}

pub(crate) fn from_days(args: Args<'_>, ctx: &mut Context) -> Answer {
    let days = some!(count(&args[0], ctx));
    Ok(Value::Date(Date::from_day_number(days).unwrap_or(Date::ZERO)))
}

pub(crate) fn to_seconds(args: Args<'_>, ctx: &mut Context) -> Answer {
    some!(real_date(&args[0], ctx));
    let d = some!(args[0].to_datetime(ctx));
    Ok(Value::Int(d.linear_micros() / MICROS_PER_SECOND))
}

pub(crate) fn date_diff(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (a, b) = (some!(real_date(&args[0], ctx)), some!(real_date(&args[1], ctx)));
    Ok(Value::Int(a.day_number() - b.day_number()))
}

/// TIMESTAMPDIFF(unit, from, to) as (unit, from, to).
pub(crate) fn timestamp_diff(args: Args<'_>, ctx: &mut Context) -> Answer {
    let unit = some!(unit_of(&args[0]));
    let (a, b) = (some!(loose_datetime(&args[1], ctx)), some!(loose_datetime(&args[2], ctx)));
    if [a, b].iter().any(|d| d.date.month == 0 || d.date.day == 0) {
        return NULL;
    }
    Ok(Value::Int(a.difference(b, unit)))
}

/// Adds `n` units to a temporal value or a text.
fn add_units(v: &Value, n: &Value, unit: IntervalUnit, negate: bool, ctx: &mut Context) -> Answer {
    if v.is_null() {
        return NULL;
    }
    let interval = some!(interval_of(n, unit, ctx));
    let interval = if negate { interval.negate() } else { interval };
    let extra_fsp = match (unit, n) {
        (u, _) if u.has_microseconds() => 6,
        (IntervalUnit::Second, Value::Decimal(d)) => d.scale().min(6),
        (IntervalUnit::Second, Value::Str(_) | Value::Double(_)) => 6,
        _ => 0,
    };
    let overflow = |ctx: &mut Context| {
        ctx.warn(Warning::DatetimeOverflow { function: "datetime" });
        NULL
    };
    if let Value::Time(t) = v {
        return match t.plus(interval).filter(|_| !unit.is_date() || unit == IntervalUnit::Day) {
            Some(sum) => Ok(Value::Time(sum.with_fsp(t.fsp.max(extra_fsp)))),
            None => overflow(ctx),
        };
    }
    let from = some!(v.to_datetime(ctx));
    if from.date.month == 0 || from.date.day == 0 {
        let mut text = Vec::new();
        from.date.write(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        ctx.warn(Warning::IncorrectValue { as_type: TypeName::DateTime, text });
        return NULL;
    }
    let Some(sum) = from.plus(interval) else { return overflow(ctx) };
    let sum = sum.with_fsp(from.fsp.max(extra_fsp));
    Ok(match v {
        Value::Date(_) if unit.is_date() => Value::Date(sum.date),
        Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) => Value::DateTime(sum),
        _ => text_result(v, sum, unit, ctx),
    })
}

/// A text or number gives a text: a date if it was one and the unit is of days.
fn text_result(v: &Value, sum: DateTime, unit: IntervalUnit, ctx: &Context) -> Value {
    let had_time = match v {
        Value::Str(s) => types::temporal::parse_datetime(s.bytes()).is_some_and(|f| f.has_time),
        _ => sum.time_micros() != 0,
    };
    let mut out = Vec::new();
    if had_time || !unit.is_date() {
        sum.write(&mut out);
    } else {
        sum.date.write(&mut out);
    }
    Value::str(&out, ctx.collation)
}

/// DATE_ADD(date, INTERVAL n unit) as (date, n, unit).
pub(crate) fn date_add(args: Args<'_>, ctx: &mut Context) -> Answer {
    let unit = some!(unit_of(&args[2]));
    add_units(&args[0], &args[1], unit, false, ctx)
}
pub(crate) fn date_sub(args: Args<'_>, ctx: &mut Context) -> Answer {
    let unit = some!(unit_of(&args[2]));
    add_units(&args[0], &args[1], unit, true, ctx)
}
/// ADDDATE(date, days); with a unit it is DATE_ADD.
pub(crate) fn add_date(args: Args<'_>, ctx: &mut Context) -> Answer {
    let unit = args.get(2).and_then(unit_of).unwrap_or(IntervalUnit::Day);
    add_units(&args[0], &args[1], unit, false, ctx)
}
pub(crate) fn sub_date(args: Args<'_>, ctx: &mut Context) -> Answer {
    let unit = args.get(2).and_then(unit_of).unwrap_or(IntervalUnit::Day);
    add_units(&args[0], &args[1], unit, true, ctx)
}
/// TIMESTAMPADD(unit, n, date) as (unit, n, date).
pub(crate) fn timestamp_add(args: Args<'_>, ctx: &mut Context) -> Answer {
    let unit = some!(unit_of(&args[0]));
    add_units(&args[2], &args[1], unit, false, ctx)
}

/// What ADDTIME adds: a time of any number of hours, no date.
fn shift_of(v: &Value, ctx: &mut Context) -> Option<Time> {
    let hours_and_rest = match v {
        Value::Int(_) | Value::UInt(_) => {
            let n = v.to_integer(ctx)?;
            let n = match n {
                types::number::Integer::Signed(n) => i128::from(n),
                types::number::Integer::Unsigned(n) => i128::from(n),
            };
            Some((n < 0, n.unsigned_abs() / 10_000, n.unsigned_abs() / 100 % 100, n.unsigned_abs() % 100))
        }
        Value::Str(s) => {
            let text = s.to_utf8_lossy();
            let (negative, rest) = text.strip_prefix('-').map_or((false, text.as_str()), |r| (true, r));
            let parts: Option<Vec<u128>> = rest.split(':').map(|p| p.parse().ok()).collect();
            parts.and_then(|p| <[u128; 3]>::try_from(p).ok()).map(|[h, m, s]| (negative, h, m, s))
        }
        _ => None,
    };
    let dated = is_dated(v) && matches!(v, Value::Str(_));
    match hours_and_rest {
        // Beyond this a number or text is no interval.
        Some((_, hours, minutes, seconds)) if hours > 87_649_415 || minutes > 59 || seconds > 59 => {}
        Some((negative, hours, minutes, seconds)) => {
            let micros = (hours * 3600 + minutes * 60 + seconds) as i64 * MICROS_PER_SECOND;
            return Some(Time { micros: if negative { -micros } else { micros }, fsp: 0 });
        }
        None if !dated => return v.to_time(ctx),
        None => {}
    }
    let shown = v.to_str(ctx)?.to_utf8_lossy();
    let text = format!("Incorrect INTERVAL DAY TO SECOND value: '{shown}'");
    ctx.warn(Warning::Numbered { errno: 1292, text });
    None
}

/// ADDTIME, SUBTIME.
fn shift_time(args: Args<'_>, ctx: &mut Context, sign: i64) -> Answer {
    let by = some!(shift_of(&args[1], ctx));
    let micros = by.micros * sign;
    let is_datetime = is_dated(&args[0])
        && !matches!(&args[0], Value::Str(s)
        if !types::temporal::parse_datetime(s.bytes()).is_some_and(|f| f.has_time));
    if is_datetime {
        let d = some!(args[0].to_datetime(ctx));
        let sum = some!(DateTime::from_linear_micros(d.linear_micros() + micros));
        let sum = sum.with_fsp(d.fsp.max(by.fsp));
        return Ok(as_given(&args[0], Value::DateTime(sum), ctx));
    }
    let t = some!(args[0].to_time(ctx));
    let sum = t.micros + micros;
    if sum.abs() > Time::MAX_MICROS {
        let mut text = Vec::new();
        Time { micros: sum, fsp: t.fsp.max(by.fsp) }.write(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        ctx.warn(Warning::TruncatedWrongValue { as_type: TypeName::Time, text });
    }
    let sum = sum.clamp(-Time::MAX_MICROS, Time::MAX_MICROS);
    Ok(as_given(&args[0], Value::Time(Time { micros: sum, fsp: t.fsp.max(by.fsp) }), ctx))
}

/// A date or datetime, or a text that looks like one.
fn is_dated(v: &Value) -> bool {
    match v {
        Value::Str(s) => s.len() >= 8 && s.bytes().iter().skip(1).any(|b| matches!(b, b'-' | b'/')),
        other => matches!(other.class(), Class::Date | Class::DateTime),
    }
}

/// A date or datetime, or a text that is one and not only looks so.
fn is_datetime(v: &Value) -> bool {
    let parses = |s: &types::Str| types::temporal::parse_datetime(s.bytes()).is_some_and(|f| f.has_time);
    is_dated(v) && v.as_str().is_none_or(parses)
}

/// A text argument gives a text, with six digits of a fraction that is not zero.
fn as_given(given: &Value, result: Value, ctx: &Context) -> Value {
    if given.class() != Class::Str {
        return result;
    }
    let shown = match result {
        Value::Time(t) => Value::Time(t.with_fsp(if t.fraction() > 0 { 6 } else { 0 })),
        Value::DateTime(d) => Value::DateTime(d.with_fsp(if d.micros > 0 { 6 } else { 0 })),
        other => other,
    };
    shown.to_str(ctx).map_or(Value::Null, Value::Str)
}
pub(crate) fn add_time(args: Args<'_>, ctx: &mut Context) -> Answer {
    shift_time(args, ctx, 1)
}
pub(crate) fn sub_time(args: Args<'_>, ctx: &mut Context) -> Answer {
    shift_time(args, ctx, -1)
}

/// TIMEDIFF(a, b): both times or both datetimes.
pub(crate) fn time_diff(args: Args<'_>, ctx: &mut Context) -> Answer {
    for arg in args {
        if let Value::Str(s) = arg
            && !is_datetime(arg)
            && types::temporal::parse_time(s.bytes()).is_none()
        {
            let text = s.to_utf8_lossy();
            ctx.warn(Warning::IncorrectValue { as_type: TypeName::Time, text });
            return NULL;
        }
    }
    let (micros, fsp) = match (is_datetime(&args[0]), is_datetime(&args[1])) {
        (true, true) => {
            let (a, b) = (some!(args[0].to_datetime(ctx)), some!(args[1].to_datetime(ctx)));
            (a.linear_micros() - b.linear_micros(), a.fsp.max(b.fsp))
        }
        (false, false) => {
            let (a, b) = (some!(args[0].to_time(ctx)), some!(args[1].to_time(ctx)));
            (a.micros - b.micros, a.fsp.max(b.fsp))
        }
        _ => return NULL,
    };
    if micros.abs() > Time::MAX_MICROS {
        // What is told has at most as many seconds as an int.
        let most = i64::from(i32::MAX) * MICROS_PER_SECOND;
        let mut text = Vec::new();
        Time { micros: micros.clamp(-most, most), fsp }.write(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        ctx.warn(Warning::TruncatedWrongValue { as_type: TypeName::Time, text });
    }
    Ok(Value::Time(Time { micros: micros.clamp(-Time::MAX_MICROS, Time::MAX_MICROS), fsp }))
}

/// EXTRACT(unit FROM value) as (unit, value).
pub(crate) fn extract(args: Args<'_>, ctx: &mut Context) -> Answer {
    use IntervalUnit as U;
    let unit = some!(unit_of(&args[0]));
    let v = &args[1];
    if unit.is_date() && unit != U::Day && matches!(v, Value::Time(_)) {
        return Ok(Value::Int(0));
    }
    if unit.is_date() && unit != U::Day {
        let d = some!(v.to_datetime(ctx)).date;
        return Ok(Value::Int(match unit {
            U::Year => i64::from(d.year),
            U::Month => i64::from(d.month),
            U::Quarter => i64::from(d.month.div_ceil(3)),
            U::Week => i64::from(week_number(d, 0).1),
            _ => i64::from(d.year) * 100 + i64::from(d.month),
        }));
    }
    if let Some(n) = long_time(v) {
        let time = Time { micros: ((n / 100 % 100) * 60 + n % 100) * MICROS_PER_SECOND, fsp: 0 };
        let hours = n / 10_000;
        let clock = Time { micros: time.micros + hours % 24 * 3600 * MICROS_PER_SECOND, fsp: 0 };
        return Ok(Value::Int(day_part(hours / 24, clock, unit)));
    }
    if is_dated(v) || matches!(v.class(), Class::Int | Class::Decimal | Class::Double) {
        let d = some!(v.to_datetime(ctx));
        return Ok(Value::Int(day_part(i64::from(d.date.day), d.time(), unit)));
    }
    let t = some!(v.to_time(ctx));
    let magnitude = Time { micros: t.micros.abs(), fsp: t.fsp };
    let n = day_part(
        i64::from(t.hours() / 24),
        Time { micros: magnitude.micros % (86_400 * MICROS_PER_SECOND), ..magnitude },
        unit,
    );
    Ok(Value::Int(if t.is_negative() { -n } else { n }))
}

/// An integer of at most ten digits is a time HHMMSS of any length for the units below months.
fn long_time(v: &Value) -> Option<i64> {
    match v {
        Value::Int(n) if (0..10_000_000_000).contains(n) && n % 100 < 60 && n / 100 % 100 < 60 => Some(*n),
        _ => None,
    }
}

/// The digits of a unit's parts, two a part, six for microseconds.
fn day_part(day: i64, t: Time, unit: IntervalUnit) -> i64 {
    use IntervalUnit as U;
    let (h, m, s) = (i64::from(t.hours()), i64::from(t.minutes()), i64::from(t.seconds()));
    let us = i64::from(t.fraction());
    let second = s * 1_000_000 + us;
    match unit {
        U::Day => day,
        U::Hour => h,
        U::Minute => m,
        U::Second => s,
        U::Microsecond => us,
        U::DayHour => day * 100 + h,
        U::DayMinute => day * 10_000 + h * 100 + m,
        U::DaySecond => day * 1_000_000 + h * 10_000 + m * 100 + s,
        U::DayMicrosecond => (day * 1_000_000 + h * 10_000 + m * 100 + s) * 1_000_000 + us,
        U::HourMinute => h * 100 + m,
        U::HourSecond => h * 10_000 + m * 100 + s,
        U::HourMicrosecond => (h * 10_000 + m * 100) * 1_000_000 + second,
        U::MinuteSecond => m * 100 + s,
        U::MinuteMicrosecond => m * 100_000_000 + second,
        U::SecondMicrosecond => second,
        _ => 0,
    }
}

pub(crate) fn date(args: Args<'_>, ctx: &mut Context) -> Answer {
    Ok(args[0].to_date(ctx).map_or(Value::Null, Value::Date))
}
pub(crate) fn time(args: Args<'_>, ctx: &mut Context) -> Answer {
    Ok(args[0].to_time(ctx).map_or(Value::Null, Value::Time))
}

/// TIMESTAMP(datetime [, time]).
pub(crate) fn timestamp(args: Args<'_>, ctx: &mut Context) -> Answer {
    let d = some!(args[0].to_datetime(ctx));
    let Some(by) = args.get(1) else { return Ok(Value::DateTime(d)) };
    let by = some!(by.to_time(ctx));
    let sum = some!(DateTime::from_linear_micros(d.linear_micros() + by.micros));
    Ok(Value::DateTime(sum.with_fsp(d.fsp.max(by.fsp))))
}

/// SEC_TO_TIME(seconds).
pub(crate) fn sec_to_time(args: Args<'_>, ctx: &mut Context) -> Answer {
    let d = some!(args[0].to_decimal(ctx));
    let edge = if d.is_negative() { i64::MIN } else { i64::MAX };
    let micros = d
        .mul(&Decimal::from_u64(1_000_000))
        .map_or(edge, |micros| micros.round(0, Rounding::Truncate).to_i64().unwrap_or_else(|limit| limit));
    let fsp = match args[0].class() {
        Class::Int => 0,
        Class::Str | Class::Double => 6,
        _ => d.scale().min(6),
    };
    let limit = if fsp == 0 { Time::MAX_MICROS - 999_999 } else { Time::MAX_MICROS };
    if micros.unsigned_abs() > limit.unsigned_abs() {
        warn_truncated("seconds", &args[0], ctx);
    }
    Ok(Value::Time(Time { micros: micros.clamp(-limit, limit), fsp }))
}

pub(crate) fn time_to_sec(args: Args<'_>, ctx: &mut Context) -> Answer {
    let t = some!(args[0].to_time(ctx));
    if t.fsp == 0 {
        return Ok(Value::Int(t.micros / MICROS_PER_SECOND));
    }
    Ok(Decimal::from_scaled(t.micros, 6).round(i32::from(t.fsp), Rounding::Truncate).into())
}

/// Months since year 0 of a period YYMM or YYYYMM.
/// Months since the year 0 of a period YYMM or YYYYMM; what is no such period counts as 0.
fn period_months(period: u64) -> u64 {
    if period == 0 || period > 999_912 {
        return 0;
    }
    let year = match period / 100 {
        year @ 0..70 => year + 2000,
        year @ 70..100 => year + 1900,
        year => year,
    };
    year * 12 + period % 100 - 1
}

pub(crate) fn period_add(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (period, n) = (some!(args[0].to_integer(ctx)).bits(), some!(args[1].to_integer(ctx)).bits());
    // Months are counted in 32 bits and wrap.
    let months = u64::from((period_months(period) as u32).wrapping_add(n as u32));
    if months == 0 {
        return Ok(Value::Int(0));
    }
    let year = match months / 12 {
        year @ 0..70 => year + 2000,
        year @ 70..100 => year + 1900,
        year => year,
    };
    Ok(Value::Int((year * 100 + months % 12 + 1) as i64))
}

pub(crate) fn period_diff(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (a, b) = (some!(args[0].to_integer(ctx)).bits(), some!(args[1].to_integer(ctx)).bits());
    Ok(Value::Int(period_months(a) as i64 - period_months(b) as i64))
}

/// `UNIX_TIMESTAMP([datetime])`.
pub(crate) fn unix_timestamp(args: Args<'_>, ctx: &mut Context) -> Answer {
    let Some(v) = args.first() else { return Ok(Value::Int(ctx.now_micros.div_euclid(MICROS_PER_SECOND))) };
    let (moment, fsp) = match v {
        Value::Timestamp(t) => (*t, t.fsp),
        other => {
            let d = some!(other.to_datetime(ctx));
            let (moment, _) = some!(timestamp_of(d, &ctx.time_zone));
            if moment.seconds == 0 && moment.micros == 0 {
                return NULL;
            }
            (moment, d.fsp)
        }
    };
    if fsp == 0 {
        return Ok(Value::Int(moment.seconds as i64));
    }
    let micros = moment.seconds as i64 * MICROS_PER_SECOND + i64::from(moment.micros);
    Ok(Decimal::from_scaled(micros, 6).round(i32::from(fsp), Rounding::Truncate).into())
}

/// FROM_UNIXTIME(seconds [, format]).
pub(crate) fn from_unixtime(args: Args<'_>, ctx: &mut Context) -> Answer {
    let d = some!(args[0].to_decimal(ctx));
    let fsp = match args[0].class() {
        Class::Int => 0,
        Class::Double | Class::Str => 6,
        _ => d.scale().min(6),
    };
    let micros = some!(d.mul(&Decimal::from_u64(1_000_000))).round(0, Rounding::Truncate);
    let micros = micros.to_i64().unwrap_or_else(|limit| limit);
    if micros / MICROS_PER_SECOND > i64::from(u32::MAX) {
        warn_truncated("unixtime", &args[0], ctx);
        return NULL;
    }
    if micros <= 0 {
        return NULL;
    }
    let moment = Timestamp {
        seconds: (micros / MICROS_PER_SECOND) as u64,
        micros: (micros % MICROS_PER_SECOND) as u32,
        fsp,
    };
    let local = datetime_of(moment, &ctx.time_zone);
    match args.get(1) {
        None => Ok(Value::DateTime(local)),
        Some(format) => crate::date_format::date_format(&[Value::DateTime(local), format.clone()], ctx),
    }
}
