//! Moments and local times.

use jiff::civil;
use jiff::tz::TimeZone;

use super::{Date, DateTime, Timestamp};

/// The last second a TIMESTAMP holds: 2106-02-07 06:28:15 UTC.
const LAST_SECOND: i64 = u32::MAX as i64;

/// The local time of a moment.
pub fn datetime_of(moment: Timestamp, zone: &TimeZone) -> DateTime {
    if moment.seconds == 0 && moment.micros == 0 {
        return DateTime::default().with_fsp(moment.fsp);
    }
    let seconds = moment.seconds as i64;
    let offset = jiff::Timestamp::from_second(seconds).map_or(0, |t| zone.to_offset(t).seconds());
    let linear = (seconds + i64::from(offset)) * 1_000_000 + i64::from(moment.micros);
    DateTime::from_linear_micros(linear + Date::new(1970, 1, 1).day_number() * super::MICROS_PER_DAY)
        .unwrap_or_default()
        .with_fsp(moment.fsp)
}

/// The moment of a local time; `None` outside 1970-01-01 00:00:01 to 2106-02-07 06:28:15 UTC. The zero datetime is the zero moment. A
/// time that a clock skipped is the moment of the skip; the flag tells. A time that came twice is the first one.
pub fn timestamp_of(local: DateTime, zone: &TimeZone) -> Option<(Timestamp, bool)> {
    if local.date.is_zero() && local.time_micros() == 0 {
        return Some((Timestamp { seconds: 0, micros: 0, fsp: local.fsp }, false));
    }
    if !local.date.is_real() {
        return None;
    }
    let date = local.date;
    let wall = civil::DateTime::new(
        date.year as i16,
        date.month as i8,
        date.day as i8,
        local.hour as i8,
        local.minute as i8,
        local.second as i8,
        0,
    )
    .ok()?;
    let ambiguous = zone.to_ambiguous_timestamp(wall);
    let skipped = matches!(ambiguous.offset(), jiff::tz::AmbiguousOffset::Gap { .. });
    let mut moment = ambiguous.compatible().ok()?;
    let mut micros = local.micros;
    if skipped && let Some(change) = zone.preceding(moment + jiff::SignedDuration::from_secs(1)).next() {
        moment = change.timestamp();
        micros = 0;
    }
    let seconds = moment.as_second();
    if !(0..=LAST_SECOND).contains(&seconds) || (seconds == 0 && micros == 0) {
        return None;
    }
    Some((Timestamp { seconds: seconds as u64, micros, fsp: local.fsp }, skipped))
}
