//! Temporal values from text and numbers.
//!
//! A datetime is three to seven numbers with punctuation between them, or one run of digits (`YYYYMMDD`, `YYMMDDhhmmss`, ...). A time
//! is `[-][D ]HH:MM[:SS[.f]]` or `[-]HHMMSS[.f]`, or a datetime whose date is left out.

use super::{Date, DateTime, Time, fraction_unit};

/// A temporal value read from a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemporalText<T> {
    pub value: T,
    /// Something other than spaces followed, or the value was cut to the type's range.
    pub cut: bool,
    /// The text had a time of day (for a DATE this means something was lost).
    pub has_time: bool,
    /// A TIME was part of a whole datetime.
    pub has_date: bool,
    /// Digits of the fraction as written, at most 6.
    pub fsp: u8,
}

/// A digit run: value (saturated) and length.
fn run(text: &[u8]) -> (u32, usize) {
    let (value, len) = long_run(text);
    (u32::try_from(value).unwrap_or(u32::MAX), len)
}

fn long_run(text: &[u8]) -> (u64, usize) {
    let len = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let value =
        text[..len].iter().fold(0u64, |n, b| n.saturating_mul(10).saturating_add(u64::from(b - b'0')));
    (value, len)
}

/// Microseconds of a fraction's digits: value, digits kept, digits read.
fn fraction(text: &[u8]) -> (u32, u8, usize) {
    let len = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let kept = len.min(6);
    let value = text[..kept].iter().fold(0u32, |n, b| n * 10 + u32::from(b - b'0'));
    (value * fraction_unit(kept as u8) as u32, kept as u8, len)
}

fn only_spaces(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_whitespace)
}

fn full_year(year: u32, digits: usize) -> u32 {
    match year {
        0..70 if digits == 2 => year + 2000,
        70..100 if digits == 2 => year + 1900,
        _ => year,
    }
}

/// Reads a DATE or DATETIME; `None` when the text is none. The date may have zero parts or a day its month does not have:
/// the caller checks with [`Date::is_allowed`].
pub fn parse_datetime(text: &[u8]) -> Option<TemporalText<DateTime>> {
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let text = &text[start + usize::from(text.get(start) == Some(&b'+'))..];
    let (_, digits) = run(text);
    let compact_date = digits >= 5 && matches!(text.get(digits), None | Some(b'T' | b't' | b'.' | b' '));
    if compact_date && (digits != 8 || text.get(digits) != Some(&b'.')) {
        return compact(text, digits);
    }
    if digits >= 6 && text.get(digits).is_none_or(|b| !b.is_ascii_punctuation()) {
        return compact(text, digits);
    }
    delimited(text)
}

/// Year, month, day, hour, minute, second from a run of digits.
fn compact(text: &[u8], digits: usize) -> Option<TemporalText<DateTime>> {
    let year_digits = if digits == 8 || digits >= 14 { 4 } else { 2 };
    let mut fields = [0u32; 6];
    let mut at = 0;
    let mut count = 0;
    let end = digits.min(year_digits + 10);
    let mut limit = end;
    for (i, field) in fields.iter_mut().enumerate() {
        if i == 3 && at == digits && matches!(text.get(at), Some(b'T' | b't')) {
            at += 1;
            limit = at + run(&text[at..]).1.min(6);
        }
        let len = if i == 0 { year_digits } else { 2 }.min(limit - at);
        if len == 0 {
            break;
        }
        *field = run(&text[at..at + len]).0;
        at += len;
        count += 1;
    }
    if count < 3 {
        return None;
    }
    let mut found =
        TemporalText { value: DateTime::default(), cut: false, has_time: count > 3, has_date: true, fsp: 0 };
    let mut micros = 0;
    if text.get(at) == Some(&b'.') {
        if count < 6 {
            return None;
        }
        let (value, fsp, len) = fraction(&text[at + 1..]);
        (micros, found.fsp) = (value, fsp);
        found.cut = len > 6;
        at += 1 + len;
    }
    // 00-00-00 is the zero date.
    if fields[..3] != [0; 3] {
        fields[0] = full_year(fields[0], year_digits);
    }
    found.cut |= !only_spaces(&text[at..]);
    found.value = check(fields, micros)?.with_fsp(found.fsp);
    Some(found)
}

fn delimited(text: &[u8]) -> Option<TemporalText<DateTime>> {
    let mut fields = [0u32; 6];
    let (mut at, mut count, mut year_digits) = (0, 0, 0);
    let mut found =
        TemporalText { value: DateTime::default(), cut: false, has_time: false, has_date: true, fsp: 0 };
    let mut micros = 0;
    while count < 6 {
        let (value, len) = run(&text[at..]);
        if len == 0 {
            break;
        }
        fields[count] = value;
        if count == 0 {
            year_digits = len;
        }
        count += 1;
        at += len;
        let after = at;
        at = match count {
            1 | 2 => separator(text, at)?,
            3 => day_separator(text, at),
            4 | 5 => separator(text, at).unwrap_or(at),
            _ => at,
        };
        if at == after {
            break;
        }
        // A separator without a number after it belongs to what follows the value.
        if !text.get(at).is_some_and(u8::is_ascii_digit) {
            at = if count >= 3 && only_spaces(&text[after + 1..]) { text.len() } else { after };
            break;
        }
    }
    if count < 3 {
        return None;
    }
    found.has_time = count > 3;
    if count == 6 && text.get(at) == Some(&b'.') {
        let (value, fsp, len) = fraction(&text[at + 1..]);
        (micros, found.fsp) = (value, fsp);
        found.cut = len > 6;
        at += 1 + len;
    }
    // 00-00-00 is the zero date.
    if fields[..3] != [0; 3] {
        fields[0] = full_year(fields[0], year_digits);
    }
    found.cut |= !only_spaces(&text[at..]);
    found.value = check(fields, micros)?.with_fsp(found.fsp);
    Some(found)
}

fn separator(text: &[u8], at: usize) -> Option<usize> {
    let marks = text[at..].iter().take_while(|b| b.is_ascii_punctuation()).count();
    (marks > 0).then_some(at + marks)
}

/// Between day and hour: `T`, spaces, or punctuation.
fn day_separator(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'T' | b't') => at + 1,
        Some(b) if b.is_ascii_whitespace() => {
            at + text[at..].iter().take_while(|b| b.is_ascii_whitespace()).count()
        }
        _ => separator(text, at).unwrap_or(at),
    }
}

/// Field ranges; days are checked against 31 only.
fn check(fields: [u32; 6], micros: u32) -> Option<DateTime> {
    let [year, month, day, hour, minute, second] = fields;
    if year > 9999 || month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let date = Date::new(year as u16, month as u8, day as u8);
    Some(DateTime::new(date, hour as u8, minute as u8, second as u8, micros))
}

/// Reads a TIME; `None` when the text is none.
pub fn parse_time(text: &[u8]) -> Option<TemporalText<Time>> {
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut at = start;
    let negative = text.get(at) == Some(&b'-');
    at += usize::from(matches!(text.get(at), Some(b'-' | b'+')));
    let text = &text[at..];
    if !negative && let Some(outcome) = time_of_datetime(text) {
        return outcome;
    }
    let (first, len) = run(text);
    if len == 0 && text.first() != Some(&b'.') {
        return None;
    }
    let mut at = len;
    let mut days = 0;
    let (hours, minutes, seconds);
    let spaced = text[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let next = text.get(at + spaced).copied();
    if spaced > 0 && next.is_some_and(|b| b.is_ascii_digit()) {
        days = first;
        at += spaced;
        let (h, len) = run(&text[at..]);
        at += len;
        (hours, minutes, seconds, at) = clock(text, at, h);
    } else if text.get(at) == Some(&b':') && text.get(at + 1).is_some_and(u8::is_ascii_digit) {
        (hours, minutes, seconds, at) = clock(text, at, first);
    } else {
        let all = long_run(text).0;
        let hours_of = u32::try_from(all / 10_000).unwrap_or(u32::MAX);
        (hours, minutes, seconds) = (hours_of, (all / 100 % 100) as u32, (all % 100) as u32);
    }
    let mut found =
        TemporalText { value: Time::default(), cut: false, has_time: true, has_date: false, fsp: 0 };
    let mut micros = 0;
    if text.get(at) == Some(&b'.') {
        let (value, fsp, len) = fraction(&text[at + 1..]);
        (micros, found.fsp) = (value, fsp);
        found.cut = len > 6;
        at += 1 + len;
    }
    // An exponent makes it a number in no time's spelling.
    if matches!(text.get(at), Some(b'e' | b'E')) && text.get(at + 1).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    if minutes > 59 || seconds > 59 {
        return None;
    }
    found.cut |= !only_spaces(&text[at..]);
    let total_hours = days.saturating_mul(24).saturating_add(hours);
    let limit = if negative { -Time::MAX_MICROS } else { Time::MAX_MICROS };
    match Time::new(negative, total_hours, minutes, seconds, micros) {
        Some(time) => found.value = time.with_fsp(found.fsp),
        None => {
            found.value = Time { micros: limit, fsp: 6 };
            found.fsp = 6;
            found.cut = true;
        }
    }
    Some(found)
}

/// `:MM[:SS]` after the hours.
fn clock(text: &[u8], mut at: usize, hours: u32) -> (u32, u32, u32, usize) {
    let mut parts = [0, 0];
    for part in &mut parts {
        if text.get(at) != Some(&b':') {
            break;
        }
        let (value, len) = run(&text[at + 1..]);
        if len == 0 {
            break;
        }
        *part = value;
        at += 1 + len;
    }
    (hours, parts[0], parts[1], at)
}

/// The time of a text that is a whole datetime; `None` when it is not one, `Some(None)` when it looks like one and is wrong.
fn time_of_datetime(text: &[u8]) -> Option<Option<TemporalText<Time>>> {
    let digits = run(text).1;
    let looks = match text.get(digits) {
        None => digits >= 12,
        Some(b'.') => digits >= 12 || digits <= 4,
        Some(b'T' | b't') => digits >= 6,
        Some(b':') => text.iter().any(|b| matches!(b, b' ' | b'T' | b't')),
        Some(b'-' | b'/' | b'@') => true,
        _ => false,
    };
    let has_clock = digits >= 12
        || text.iter().skip_while(|b| b.is_ascii_digit()).any(|b| matches!(b, b' ' | b'T' | b't'));
    if !looks || !has_clock || text.len() < 12 {
        return None;
    }
    match parse_datetime(text) {
        Some(found) if found.has_time => Some(Some(TemporalText {
            value: found.value.time(),
            cut: found.cut,
            has_time: true,
            has_date: true,
            fsp: found.fsp,
        })),
        Some(_) => None,
        None => Some(None),
    }
}

/// A DATE or DATETIME of a number: `YYMMDD`, `YYYYMMDD`, `YYMMDDhhmmss`, `YYYYMMDDhhmmss`.
pub fn parse_date_number(n: u64, micros: u32) -> Option<DateTime> {
    let (date, time) = match n {
        0 => (0, 0),
        1..101 => return None,
        101..=691_231 => (n + 20_000_000, 0),
        700_101..=991_231 => (n + 19_000_000, 0),
        10_000_101..=99_991_231 => (n, 0),
        101_000_000..=691_231_235_959 => (n / 1_000_000 + 20_000_000, n % 1_000_000),
        700_101_000_000..=991_231_235_959 => (n / 1_000_000 + 19_000_000, n % 1_000_000),
        10_000_101_000_000..=99_991_231_235_959 => (n / 1_000_000, n % 1_000_000),
        _ => return None,
    };
    let fields = [
        (date / 10_000) as u32,
        (date / 100 % 100) as u32,
        (date % 100) as u32,
        (time / 10_000) as u32,
        (time / 100 % 100) as u32,
        (time % 100) as u32,
    ];
    check(fields, if time == 0 { 0 } else { micros })
}

/// A TIME of a number `HHMMSS` (or of a datetime's number); the flag says that it was cut to the range.
pub fn parse_time_number(negative: bool, n: u64, micros: u32) -> Option<(Time, bool)> {
    if n > 9_999_999
        && !negative
        && let Some(found) = parse_date_number(n, micros)
    {
        return Some((found.time(), false));
    }
    let hours = u32::try_from(n / 10_000).unwrap_or(u32::MAX);
    let (minutes, seconds) = ((n / 100 % 100) as u32, (n % 100) as u32);
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let limit = Time { micros: if negative { -Time::MAX_MICROS } else { Time::MAX_MICROS }, fsp: 6 };
    Some(Time::new(negative, hours, minutes, seconds, micros).map_or((limit, true), |t| (t, false)))
}
