//! The statement's time.

use env::{Clock, RealClock};
use jiff::tz::TimeZone;
use types::temporal::{datetime_of, timestamp_of};
use types::{Context, DateTime, Timestamp, Value};

use crate::arguments::{Answer, Args, count, some};

fn asked(args: Args<'_>, ctx: &mut Context) -> u8 {
    args.first().and_then(|v| count(v, ctx)).unwrap_or(0).clamp(0, 6) as u8
}

fn utc(ctx: &Context) -> DateTime {
    let moment = Timestamp {
        seconds: ctx.now_micros.div_euclid(1_000_000) as u64,
        micros: ctx.now_micros.rem_euclid(1_000_000) as u32,
        fsp: 6,
    };
    datetime_of(moment, &TimeZone::UTC)
}

fn cut(d: DateTime, fsp: u8) -> DateTime {
    d.cut(fsp, false).unwrap_or(d)
}

/// `NOW([fsp])`: the start of the statement.
pub(crate) fn now(args: Args<'_>, ctx: &mut Context) -> Answer {
    let fsp = asked(args, ctx);
    Ok(Value::DateTime(cut(ctx.now(), fsp)))
}

/// `SYSDATE([fsp])`: the moment of evaluation.
pub(crate) fn sysdate(args: Args<'_>, ctx: &mut Context) -> Answer {
    let fsp = asked(args, ctx);
    let since = RealClock::new().wall();
    let moment = Timestamp { seconds: since.as_secs(), micros: since.subsec_micros(), fsp: 6 };
    Ok(Value::DateTime(cut(datetime_of(moment, &ctx.time_zone), fsp)))
}

pub(crate) fn curdate(_: Args<'_>, ctx: &mut Context) -> Answer {
    Ok(Value::Date(ctx.now().date))
}
pub(crate) fn curtime(args: Args<'_>, ctx: &mut Context) -> Answer {
    let fsp = asked(args, ctx);
    Ok(Value::Time(ctx.now().time().cut(fsp, false)))
}
pub(crate) fn utc_date(_: Args<'_>, ctx: &mut Context) -> Answer {
    Ok(Value::Date(utc(ctx).date))
}
pub(crate) fn utc_time(args: Args<'_>, ctx: &mut Context) -> Answer {
    let fsp = asked(args, ctx);
    Ok(Value::Time(utc(ctx).time().cut(fsp, false)))
}
pub(crate) fn utc_timestamp(args: Args<'_>, ctx: &mut Context) -> Answer {
    let fsp = asked(args, ctx);
    Ok(Value::DateTime(cut(utc(ctx), fsp)))
}

/// `SYSTEM`, `+hh:mm`, or a name of the zone database.
fn zone(name: &[u8], ctx: &Context) -> Option<TimeZone> {
    let text = std::str::from_utf8(name).ok()?;
    if text.eq_ignore_ascii_case("system") {
        return Some(ctx.time_zone.clone());
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return TimeZone::get(text).ok(),
    };
    let (hours, minutes) = text[1..].split_once(':')?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let total = hours * 60 + minutes;
    if !(0..60).contains(&minutes) || total > if sign > 0 { 13 * 60 } else { 13 * 60 - 1 } {
        return None;
    }
    jiff::tz::Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok().map(TimeZone::fixed)
}

/// CONVERT_TZ(datetime, from, to).
pub(crate) fn convert_tz(args: Args<'_>, ctx: &mut Context) -> Answer {
    let d = some!(args[0].to_datetime(ctx));
    let (from, to) = (some!(args[1].to_str(ctx)), some!(args[2].to_str(ctx)));
    let (from, to) = (some!(zone(from.bytes(), ctx)), some!(zone(to.bytes(), ctx)));
    if d.date.month == 0 || d.date.day == 0 {
        return Ok(Value::Null);
    }
    Ok(match timestamp_of(d, &from) {
        Some((moment, _)) => Value::DateTime(datetime_of(moment, &to)),
        // Outside the range of TIMESTAMP the value stays.
        None => Value::DateTime(d),
    })
}
