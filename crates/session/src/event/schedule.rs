//! When an event is due: pure arithmetic over its schedule.

use catalog::program::{EventDef, EventSchedule, EventStatus};
use catalog::{quote_name, quote_text};
use jiff::tz::TimeZone;
use types::{Context, DateTime, Interval, IntervalUnit, Timestamp, Value, interval_of};

use crate::settings::parse_time_zone;

/// Longest interval in seconds: as in MariaDB a signed 32 bit number.
const SECONDS_MAX: i128 = i32::MAX as i128;

pub(super) fn zone_of(def: &EventDef) -> TimeZone {
    parse_time_zone(&def.time_zone).unwrap_or(TimeZone::UTC)
}

/// Seconds since 1970 as a local time.
pub(crate) fn local_time(seconds: i64, zone: &str) -> DateTime {
    local(seconds, &parse_time_zone(zone).unwrap_or(TimeZone::UTC))
}

fn local(seconds: i64, zone: &TimeZone) -> DateTime {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    types::temporal::datetime_of(Timestamp { seconds, micros: 0, fsp: 0 }, zone)
}

/// The length of an interval as it is kept; `None` when it is no length of time.
pub(super) fn interval(amount: &str, unit: &str) -> Option<Interval> {
    let unit = IntervalUnit::by_name(unit)?;
    let value = Value::utf8(amount.trim_matches('\''));
    let interval = interval_of(&value, unit, &mut Context::default())?;
    let fits = interval.months > 0 || interval.micros >= 1_000_000;
    (fits && interval.micros / 1_000_000 <= SECONDS_MAX && interval.months <= i64::from(i32::MAX) / 12)
        .then_some(interval)
}

/// An interval as SHOW EVENTS has it: `2`, or `'1:30'` of a unit of several parts.
pub(super) fn shown_amount(value: &Value, unit: IntervalUnit, context: &mut Context) -> Option<String> {
    let interval = interval_of(value, unit, context)?;
    let seconds = i64::try_from(interval.micros / 1_000_000).ok()?;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    Some(match unit {
        IntervalUnit::YearMonth => format!("'{}-{}'", interval.months / 12, interval.months % 12),
        IntervalUnit::DayHour => format!("'{days} {}'", hours % 24),
        IntervalUnit::DayMinute => format!("'{days} {}:{}'", hours % 24, minutes % 60),
        IntervalUnit::DaySecond => {
            format!("'{days} {}:{}:{}'", hours % 24, minutes % 60, seconds % 60)
        }
        IntervalUnit::HourMinute => format!("'{hours}:{}'", minutes % 60),
        IntervalUnit::HourSecond => format!("'{hours}:{}:{}'", minutes % 60, seconds % 60),
        IntervalUnit::MinuteSecond => format!("'{minutes}:{}'", seconds % 60),
        IntervalUnit::Second => seconds.to_string(),
        _ => value.to_i64(context)?.to_string(),
    })
}

/// When an event is due next, if it is not over: never before `now` but for one that has not run yet.
pub(super) fn next(def: &EventDef, now: i64) -> Option<i64> {
    if def.status != EventStatus::Enabled {
        return None;
    }
    match &def.schedule {
        EventSchedule::At(at) => def.last_executed.is_none().then_some(*at),
        EventSchedule::Every { amount, unit, starts, ends } => {
            let start = starts.unwrap_or(def.context.created as i64);
            let due = match def.last_executed {
                None => start,
                Some(_) if now < start => start,
                Some(last) => after(start, interval(amount, unit)?, now.max(last), &zone_of(def))?,
            };
            ends.is_none_or(|ends| due <= ends).then_some(due)
        }
    }
}

/// The first time behind `now` of those that start at `start` and lie an interval apart.
fn after(start: i64, every: Interval, now: i64, zone: &TimeZone) -> Option<i64> {
    if every.months == 0 {
        let every = i64::try_from(every.micros / 1_000_000).ok().filter(|s| *s > 0)?;
        return start.checked_add((now - start).div_euclid(every).checked_add(1)?.checked_mul(every)?);
    }
    // Months have different lengths: counted on the calendar of the event's time zone, always from the start.
    let first = local(start, zone);
    let mut n = first.difference(local(now, zone), IntervalUnit::Month) / every.months;
    loop {
        let interval = Interval { months: every.months.checked_mul(n)?, micros: 0 };
        let (at, _) = types::temporal::timestamp_of(first.plus(interval)?, zone)?;
        if at.seconds as i64 > now {
            return Some(at.seconds as i64);
        }
        n += 1;
    }
}

/// CREATE EVENT as SHOW CREATE has it, in the event's time zone.
pub(crate) fn show_create(def: &EventDef) -> Vec<u8> {
    use std::fmt::Write;
    let (user, host) = &def.context.definer;
    let zone = zone_of(def);
    let time = |seconds: i64| {
        let mut out = Vec::new();
        local(seconds, &zone).write(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    };
    let mut out = format!(
        "CREATE DEFINER={}@{} EVENT {} ON SCHEDULE ",
        quote_name(user),
        quote_name(host),
        quote_name(&def.name)
    );
    // Writing to a text cannot fail.
    let _infallible = match &def.schedule {
        EventSchedule::At(at) => write!(out, "AT '{}'", time(*at)),
        EventSchedule::Every { amount, unit, starts, ends } => {
            let mut text = format!("EVERY {amount} {unit}");
            starts.iter().for_each(|at| text.push_str(&format!(" STARTS '{}'", time(*at))));
            ends.iter().for_each(|at| text.push_str(&format!(" ENDS '{}'", time(*at))));
            write!(out, "{text}")
        }
    };
    out.push_str(if def.preserve { " ON COMPLETION PRESERVE" } else { " ON COMPLETION NOT PRESERVE" });
    out.push_str(match def.status {
        EventStatus::Enabled => " ENABLE",
        EventStatus::Disabled => " DISABLE",
        EventStatus::SlaveSideDisabled => " DISABLE ON SLAVE",
    });
    if !def.context.comment.is_empty() {
        let _infallible = write!(out, " COMMENT {}", quote_text(&def.context.comment));
    }
    out.push_str(" DO ");
    let mut out = out.into_bytes();
    out.extend_from_slice(&def.context.body);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const UTC: TimeZone = TimeZone::UTC;

    #[test]
    fn times_are_counted_from_the_start() {
        let minute = interval("1", "MINUTE").unwrap();
        assert_eq!(after(100, minute, 100, &UTC), Some(160));
        assert_eq!(after(100, minute, 159, &UTC), Some(160));
        assert_eq!(after(100, minute, 100 + 3600, &UTC), Some(100 + 3660));
        // 2024-01-31: the last day of February, then of March again.
        let month = interval("1", "MONTH").unwrap();
        let start = 1_706_659_200;
        let february = after(start, month, start, &UTC).unwrap();
        assert_eq!(february, 1_709_164_800);
        assert_eq!(after(start, month, february, &UTC), Some(1_711_843_200));
    }

    #[test]
    fn an_interval_is_a_positive_length() {
        for (amount, unit) in [("0", "SECOND"), ("-1", "DAY"), ("x", "SECOND"), ("99999999999", "SECOND")] {
            assert!(interval(amount, unit).is_none(), "{amount} {unit}");
        }
        assert_eq!(interval("'1:30'", "HOUR_MINUTE").unwrap().micros, 5400 * 1_000_000);
        let shown = shown_amount(&Value::utf8("1 26:3"), IntervalUnit::DayMinute, &mut Context::default());
        assert_eq!(shown.as_deref(), Some("'2 2:3'"));
    }
}
