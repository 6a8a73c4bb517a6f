//! DATE_FORMAT, TIME_FORMAT and GET_FORMAT.

use types::number::write_u64;
use types::{Context, Date, DateTime, Time};

use crate::arguments::{Answer, Args, NULL, ascii, some, text};
use crate::calendar::{DAYS, MONTHS, week_number};

/// The fields a format reads: a date, and a time whose hours may exceed a day.
struct Fields {
    date: Date,
    hours: u32,
    minute: u8,
    second: u8,
    micros: u32,
}

fn pad(v: u64, width: usize, out: &mut Vec<u8>) {
    let mut digits = Vec::new();
    write_u64(v, &mut digits);
    out.resize(out.len() + width.saturating_sub(digits.len()), b'0');
    out.extend_from_slice(&digits);
}

/// Appends a specifier of the time of day.
fn clock(c: u8, f: &Fields, out: &mut Vec<u8>) {
    let twelve = match f.hours % 24 % 12 {
        0 => 12,
        h => u64::from(h),
    };
    let half = if f.hours % 24 < 12 { &b"AM"[..] } else { b"PM" };
    match c {
        b'f' => pad(u64::from(f.micros), 6, out),
        b'H' => pad(u64::from(f.hours), 2, out),
        b'k' => write_u64(u64::from(f.hours), out),
        b'h' | b'I' => pad(twelve, 2, out),
        b'l' => write_u64(twelve, out),
        b'i' => pad(u64::from(f.minute), 2, out),
        b's' | b'S' => pad(u64::from(f.second), 2, out),
        b'p' => out.extend_from_slice(half),
        b'r' => {
            for (i, part) in [twelve, u64::from(f.minute), u64::from(f.second)].into_iter().enumerate() {
                if i > 0 {
                    out.push(b':');
                }
                pad(part, 2, out);
            }
            out.push(b' ');
            out.extend_from_slice(half);
        }
        b'T' => {
            for (i, part) in [f.hours, u32::from(f.minute), u32::from(f.second)].into_iter().enumerate() {
                if i > 0 {
                    out.push(b':');
                }
                pad(u64::from(part), 2, out);
            }
        }
        _ => {}
    }
}

/// Appends one specifier; `None` when the date has not what it needs.
fn specifier(c: u8, f: &Fields, out: &mut Vec<u8>) -> Option<()> {
    let d = f.date;
    let day_known = || (d.month > 0 && d.day > 0 || d.year > 0).then_some(());
    let weekday = || -> Option<usize> {
        day_known()?;
        Some(usize::from(d.weekday()))
    };
    match c {
        b'M' => out.extend_from_slice(MONTHS.get(usize::from(d.month).checked_sub(1)?)?.as_bytes()),
        b'b' => out.extend_from_slice(&MONTHS.get(usize::from(d.month).checked_sub(1)?)?.as_bytes()[..3]),
        b'W' => out.extend_from_slice(DAYS[weekday()?].as_bytes()),
        b'a' => out.extend_from_slice(&DAYS[weekday()?].as_bytes()[..3]),
        b'D' => {
            write_u64(u64::from(d.day), out);
            let suffix: &[u8] = match d.day {
                11..=13 => b"th",
                n => match n % 10 {
                    1 => b"st",
                    2 => b"nd",
                    3 => b"rd",
                    _ => b"th",
                },
            };
            out.extend_from_slice(suffix);
        }
        b'Y' => pad(u64::from(d.year), 4, out),
        b'y' => pad(u64::from(d.year % 100), 2, out),
        b'm' => pad(u64::from(d.month), 2, out),
        b'c' => write_u64(u64::from(d.month), out),
        b'd' => pad(u64::from(d.day), 2, out),
        b'e' => write_u64(u64::from(d.day), out),
        b'j' if d.is_zero() => return None,
        b'j' => pad(u64::from(d.day_of_year()), 3, out),
        b'w' => write_u64((weekday()? as u64 + 1) % 7, out),
        b'f' | b'H' | b'k' | b'h' | b'I' | b'l' | b'i' | b's' | b'S' | b'p' | b'r' | b'T' => clock(c, f, out),
        b'U' | b'u' => pad(u64::from(week_number(d, u8::from(c == b'u')).1), 2, out),
        b'V' | b'v' => pad(u64::from(week_number(d, if c == b'v' { 3 } else { 2 }).1), 2, out),
        b'X' | b'x' => pad(u64::from(week_number(d, if c == b'x' { 3 } else { 2 }).0), 4, out),
        other => out.push(other),
    }
    Some(())
}

fn write(format: &[u8], f: &Fields) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut bytes = format.iter();
    while let Some(b) = bytes.next() {
        match (b, bytes.as_slice().first()) {
            (b'%', Some(c)) => {
                bytes.next();
                specifier(*c, f, &mut out)?;
            }
            (other, _) => out.push(*other),
        }
    }
    Some(out)
}

/// DATE_FORMAT(date, format).
pub(crate) fn date_format(args: Args<'_>, ctx: &mut Context) -> Answer {
    let format = some!(args[1].to_str(ctx));
    let d: DateTime = some!(args[0].to_datetime(ctx));
    if format.is_empty() {
        return NULL;
    }
    let fields = Fields {
        date: d.date,
        hours: u32::from(d.hour),
        minute: d.minute,
        second: d.second,
        micros: d.micros,
    };
    match write(format.bytes(), &fields) {
        Some(out) => text(&out, format.collation()),
        None => NULL,
    }
}

/// TIME_FORMAT(time, format).
pub(crate) fn time_format(args: Args<'_>, ctx: &mut Context) -> Answer {
    let format = some!(args[1].to_str(ctx));
    let t: Time = some!(args[0].to_time(ctx));
    if format.is_empty() {
        return NULL;
    }
    let fields = Fields {
        date: Date::ZERO,
        hours: t.hours(),
        minute: t.minutes(),
        second: t.seconds(),
        micros: t.fraction(),
    };
    // A time has no date to show.
    let dated = format.bytes().windows(2).any(|w| w[0] == b'%' && b"abcDdejMmUuVvWwXxYy".contains(&w[1]));
    match write(format.bytes(), &fields).filter(|_| !dated) {
        Some(mut out) => {
            if t.is_negative() {
                out.insert(0, b'-');
            }
            text(&out, format.collation())
        }
        None => NULL,
    }
}

/// GET_FORMAT(DATE | TIME | DATETIME, locale) as (kind, locale).
pub(crate) fn get_format(args: Args<'_>, ctx: &mut Context) -> Answer {
    let kind = some!(args[0].to_str(ctx)).to_utf8_lossy().to_ascii_uppercase();
    let locale = some!(args[1].to_str(ctx)).to_utf8_lossy().to_ascii_uppercase();
    let format = match (kind.as_str(), locale.as_str()) {
        ("DATE", "USA") => "%m.%d.%Y",
        ("DATE", "JIS" | "ISO") => "%Y-%m-%d",
        ("DATE", "EUR") => "%d.%m.%Y",
        ("DATE", "INTERNAL") => "%Y%m%d",
        ("DATETIME" | "TIMESTAMP", "USA" | "EUR") => "%Y-%m-%d %H.%i.%s",
        ("DATETIME" | "TIMESTAMP", "JIS" | "ISO") => "%Y-%m-%d %H:%i:%s",
        ("DATETIME" | "TIMESTAMP", "INTERNAL") => "%Y%m%d%H%i%s",
        ("TIME", "USA") => "%h:%i:%s %p",
        ("TIME", "JIS" | "ISO") => "%H:%i:%s",
        ("TIME", "EUR") => "%H.%i.%s",
        ("TIME", "INTERNAL") => "%H%i%s",
        _ => return NULL,
    };
    ascii(format.as_bytes(), ctx)
}
