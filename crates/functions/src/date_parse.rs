//! STR_TO_DATE: a text read by a format.

use types::{Context, Date, DateTime, SqlMode, Time, TypeName, Value, Warning};

use crate::arguments::{Answer, Args, some};
use crate::calendar::{DAYS, MONTHS};

/// What a format's specifiers make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Date,
    Time { fsp: u8 },
    DateTime { fsp: u8 },
}

/// The kind of a format.
pub(crate) fn kind_of(format: &[u8]) -> Kind {
    let specifiers = || format.windows(2).filter(|w| w[0] == b'%').map(|w| w[1]);
    let date = specifiers().any(|c| b"MVUXYWabcjmvuxywdDeyr".contains(&c) && c != b'r');
    let time = specifiers().any(|c| b"fHISThiklprs".contains(&c));
    let fsp = if specifiers().any(|c| c == b'f') { 6 } else { 0 };
    match (date, time) {
        (_, false) => Kind::Date,
        (false, true) => Kind::Time { fsp },
        (true, true) => Kind::DateTime { fsp },
    }
}

#[derive(Default)]
struct Found {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
    day_of_year: u32,
    afternoon: Option<bool>,
    twelve: bool,
    weekday: Option<u32>,
    /// Week number, first day Monday, year given with it.
    week: Option<(u32, bool, bool)>,
    week_year: Option<u32>,
}

struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn number(&mut self, most: usize) -> Option<u32> {
        let len = self.0.iter().take(most).take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(len);
        self.0 = rest;
        (len > 0).then(|| digits.iter().fold(0, |n, b| n * 10 + u32::from(b - b'0')))
    }
    /// The index of the name at the start, whole or its first three letters.
    fn name(&mut self, names: &[&str], short: bool) -> Option<u32> {
        for (i, name) in names.iter().enumerate() {
            let name = if short { &name.as_bytes()[..3] } else { name.as_bytes() };
            if self.0.len() >= name.len() && self.0[..name.len()].eq_ignore_ascii_case(name) {
                self.0 = &self.0[name.len()..];
                return Some(i as u32);
            }
        }
        None
    }
    fn skip_spaces(&mut self) {
        while let [b' ', rest @ ..] = self.0 {
            self.0 = rest;
        }
    }
    fn expect(&mut self, byte: u8) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        (*first == byte).then(|| self.0 = rest)
    }
}

fn read(text: &mut Text<'_>, format: &[u8], f: &mut Found) -> Option<()> {
    let mut format = format.iter();
    while let Some(b) = format.next() {
        text.skip_spaces();
        if text.0.is_empty() {
            break;
        }
        if *b == b' ' {
            continue;
        }
        if *b != b'%' {
            text.expect(*b)?;
            continue;
        }
        let Some(c) = format.next() else { break };
        specifier(text, *c, f)?;
    }
    Some(())
}

fn specifier(text: &mut Text<'_>, c: u8, f: &mut Found) -> Option<()> {
    match c {
        b'Y' => {
            let before = text.0.len();
            let year = text.number(4)?;
            f.year = if before - text.0.len() == 2 { short_year(year) } else { year };
        }
        b'y' => {
            let before = text.0.len();
            let year = text.number(2)?;
            f.year = if before - text.0.len() <= 2 { short_year(year) } else { year };
        }
        b'm' | b'c' => f.month = text.number(2)?,
        b'M' => f.month = text.name(&MONTHS, false)? + 1,
        b'b' => f.month = text.name(&MONTHS, true)? + 1,
        b'd' | b'e' => f.day = text.number(2)?,
        b'D' => {
            f.day = text.number(2)?;
            text.0 = text.0.get(2..)?;
        }
        b'h' | b'I' | b'l' | b'H' | b'k' | b'i' | b's' | b'S' | b'f' | b'p' => clock(text, c, f)?,
        b'W' => f.weekday = Some(text.name(&DAYS, false)? + 1),
        b'a' => f.weekday = Some(text.name(&DAYS, true)? + 1),
        b'w' => {
            let day = text.number(1)?;
            if day > 6 {
                return None;
            }
            f.weekday = Some(if day == 0 { 7 } else { day });
        }
        b'j' => f.day_of_year = text.number(3)?,
        b'U' | b'u' | b'V' | b'v' => {
            let week = text.number(2)?;
            if week > 53 {
                return None;
            }
            f.week = Some((week, c == b'u' || c == b'v', c == b'V' || c == b'v'));
        }
        b'X' | b'x' => f.week_year = Some(text.number(4)?),
        b'r' => {
            read(text, b"%I:%i:%S %p", f)?;
        }
        b'T' => read(text, b"%H:%i:%S", f)?,
        b'.' => skip(text, |b| b.is_ascii_punctuation()),
        b'@' => skip(text, |b| b.is_ascii_alphabetic()),
        b'#' => skip(text, |b| b.is_ascii_digit()),
        _ => return None,
    }
    Some(())
}

/// Reads a specifier of the time of day.
fn clock(text: &mut Text<'_>, c: u8, f: &mut Found) -> Option<()> {
    match c {
        b'h' | b'I' | b'l' => {
            f.hour = text.number(2)?;
            f.twelve = true;
            if !(1..=12).contains(&f.hour) {
                return None;
            }
        }
        b'H' | b'k' => f.hour = text.number(2)?,
        b'i' => f.minute = text.number(2)?,
        b's' | b'S' => f.second = text.number(2)?,
        b'f' => {
            let before = text.0.len();
            let digits = text.number(6)?;
            f.micros = digits * 10u32.pow(6 - (before - text.0.len()) as u32);
        }
        b'p' => {
            let half = text.0.get(..2)?.to_ascii_uppercase();
            f.afternoon = Some(match half.as_slice() {
                b"AM" => false,
                b"PM" => true,
                _ => return None,
            });
            text.0 = &text.0[2..];
        }
        _ => return None,
    }
    Some(())
}

fn skip(text: &mut Text<'_>, of: fn(&u8) -> bool) {
    let len = text.0.iter().take_while(|b| of(b)).count();
    text.0 = &text.0[len..];
}

const fn short_year(year: u32) -> u32 {
    if year < 70 {
        year + 2000
    } else if year < 100 {
        year + 1900
    } else {
        year
    }
}

/// The date that the fields make, from a day of the year or a week if these are given.
fn date(f: &Found) -> Option<Date> {
    if f.day_of_year > 0 {
        let days = Date::new(f.year as u16, 1, 1).day_number() + i64::from(f.day_of_year) - 1;
        return Date::from_day_number(days);
    }
    if let (Some((week, monday, strict)), Some(weekday)) = (f.week, f.weekday) {
        let year = if strict { f.week_year? } else { f.year };
        let first = Date::new(year as u16, 1, 1);
        let start = i64::from(if monday { first.weekday() } else { (first.weekday() + 1) % 7 });
        let offset = if monday { i64::from(weekday) - 1 } else { i64::from(weekday % 7) };
        let whole_first = if monday { start <= 3 } else { start == 0 };
        let skip = if whole_first { 0 } else { 7 };
        let days = first.day_number() - start + skip + (i64::from(week) - 1) * 7 + offset;
        return Date::from_day_number(days);
    }
    (f.year <= 9999 && f.month <= 12 && f.day <= 31)
        .then(|| Date::new(f.year as u16, f.month as u8, f.day as u8))
}

/// STR_TO_DATE(text, format).
pub(crate) fn str_to_date(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let format = some!(args[1].to_str(ctx));
    let found = parse(s.bytes(), format.bytes(), ctx);
    if found.as_ref().is_none_or(|(_, cut)| *cut) {
        let text = s.to_utf8_lossy();
        ctx.warn(match found {
            Some(_) => Warning::TruncatedWrongValue { as_type: TypeName::DateTime, text },
            None => Warning::WrongForFunction { what: "datetime", text, function: "str_to_date" },
        });
    }
    Ok(found.map_or(Value::Null, |(v, _)| v))
}

fn parse(s: &[u8], format: &[u8], ctx: &Context) -> Option<(Value, bool)> {
    let mut text = Text(s);
    let mut f = Found::default();
    read(&mut text, format, &mut f)?;
    if let Some(afternoon) = f.afternoon {
        if !f.twelve {
            return None;
        }
        f.hour = f.hour % 12 + if afternoon { 12 } else { 0 };
    }
    if f.minute > 59 || f.second > 59 {
        return None;
    }
    let cut = !text.0.iter().all(u8::is_ascii_whitespace);
    let value = match kind_of(format) {
        Kind::Time { fsp } => Value::Time(
            Time::new(false, f.hour, f.minute, f.second, f.micros).filter(|_| f.hour < 24)?.with_fsp(fsp),
        ),
        kind => {
            let date = date(&f)?;
            // The day is not checked against the month here.
            let mode = SqlMode(ctx.sql_mode.0 | SqlMode::ALLOW_INVALID_DATES);
            if f.hour > 23 || !date.is_allowed(mode) {
                return None;
            }
            match kind {
                Kind::DateTime { fsp } => Value::DateTime(
                    DateTime::new(date, f.hour as u8, f.minute as u8, f.second as u8, f.micros).with_fsp(fsp),
                ),
                _ => Value::Date(date),
            }
        }
    };
    Some((value, cut))
}
