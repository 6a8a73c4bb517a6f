//! DATE, TIME, DATETIME and TIMESTAMP as values.
//!
//! Fields are kept, not a day number: `0000-00-00`, `2024-00-15` and (with ALLOW_INVALID_DATES) `2024-02-31` are values.
//! `fsp` is the number of fraction digits shown, 0 to 6.

mod interval;
mod parse;
mod zone;

pub use interval::{Interval, IntervalUnit};
pub use parse::{TemporalText, parse_date_number, parse_datetime, parse_time, parse_time_number};
pub use zone::{datetime_of, timestamp_of};

use crate::SqlMode;
use crate::number::write_u64;

pub const MICROS_PER_SECOND: i64 = 1_000_000;
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Year 0-9999, month 0-12, day 0-31; zero parts are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date {
    pub year: u16,
    pub month: u8,
    pub day: u8,
}

/// A signed duration within ±838:59:59.999999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Time {
    /// Signed microseconds.
    pub micros: i64,
    pub fsp: u8,
}

/// A date and a time of day, without a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DateTime {
    pub date: Date,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub fsp: u8,
    pub micros: u32,
}

/// A moment: seconds since 1970 UTC (0 with 0 micros = the zero datetime), shown in the session's time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamp {
    pub seconds: u64,
    pub micros: u32,
    pub fsp: u8,
}

impl Date {
    pub const ZERO: Self = Self { year: 0, month: 0, day: 0 };
    pub const MAX: Self = Self { year: 9999, month: 12, day: 31 };

    pub const fn new(year: u16, month: u8, day: u8) -> Self {
        Self { year, month, day }
    }
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }
    /// The date exists in the calendar.
    pub fn is_real(self) -> bool {
        self.month > 0 && self.day > 0 && self.day <= days_in_month(self.year, self.month)
    }

    /// Whether `sql_mode` allows the date as a value. Zero parts are checked by the modes, days by the month unless
    /// ALLOW_INVALID_DATES.
    pub fn is_allowed(self, mode: SqlMode) -> bool {
        if self.month > 12 || self.day > 31 || self.year > 9999 {
            return false;
        }
        if self.is_zero() {
            return !mode.has(SqlMode::NO_ZERO_DATE);
        }
        if self.month == 0 || self.day == 0 {
            return !mode.has(SqlMode::NO_ZERO_IN_DATE);
        }
        mode.has(SqlMode::ALLOW_INVALID_DATES) || self.day <= days_in_month(self.year, self.month)
    }

    /// TO_DAYS: days since year 0, where 0000-01-01 is day 1 (MariaDB's year 0 is no leap year). Zero months and days count as
    /// one less than the first; the zero date is 0.
    pub fn day_number(self) -> i64 {
        if self.is_zero() {
            return 0;
        }
        // Years start in March here, so that the leap day is the last: 306 days lie between March and the next January.
        let (year, month) = match self.month {
            0..=2 => (i64::from(self.year) - 1, i64::from(self.month) + 12),
            month => (i64::from(self.year), i64::from(month)),
        };
        let before_month = (153 * (month - 3) + 2).div_euclid(5);
        let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        let days = year * 365 + leap_days + before_month + i64::from(self.day) + 59;
        days + i64::from(self.year == 0 && self.month <= 2)
    }

    /// FROM_DAYS: the date of a day number; `None` outside the calendar.
    pub fn from_day_number(days: i64) -> Option<Self> {
        if !(366..=3_652_424).contains(&days) {
            return None;
        }
        // Days since the first of March of year 0, in eras of 400 years.
        let days = days - 60;
        let era = days.div_euclid(146_097);
        let in_era = days.rem_euclid(146_097);
        let year_in_era = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
        let in_year = in_era - (365 * year_in_era + year_in_era / 4 - year_in_era / 100);
        let month = (5 * in_year + 2) / 153;
        let day = in_year - (153 * month + 2) / 5 + 1;
        let year = era * 400 + year_in_era + i64::from(month >= 10);
        let month = if month < 10 { month + 3 } else { month - 9 };
        Some(Self::new(year as u16, month as u8, day as u8))
    }

    /// 0 = Monday.
    pub fn weekday(self) -> u8 {
        (self.day_number() + 5).rem_euclid(7) as u8
    }

    /// 1 = the first of January.
    pub fn day_of_year(self) -> u16 {
        (self.day_number() - Self::new(self.year, 1, 1).day_number() + 1) as u16
    }

    pub fn write(self, out: &mut Vec<u8>) {
        put_digits(u64::from(self.year), 4, out);
        out.push(b'-');
        put_digits(u64::from(self.month), 2, out);
        out.push(b'-');
        put_digits(u64::from(self.day), 2, out);
    }

    /// YYYYMMDD.
    pub fn to_number(self) -> u64 {
        u64::from(self.year) * 10_000 + u64::from(self.month) * 100 + u64::from(self.day)
    }

    pub const fn at_midnight(self) -> DateTime {
        DateTime { date: self, hour: 0, minute: 0, second: 0, fsp: 0, micros: 0 }
    }
}

impl Time {
    /// Largest magnitude: 838:59:59.999999.
    pub const MAX_MICROS: i64 = ((838 * 60 + 59) * 60 + 59) * MICROS_PER_SECOND + 999_999;

    /// From fields; `None` beyond 838:59:59.999999.
    pub fn new(negative: bool, hours: u32, minutes: u32, seconds: u32, micros: u32) -> Option<Self> {
        if hours > 838 {
            return None;
        }
        let whole = (i64::from(hours) * 60 + i64::from(minutes)) * 60 + i64::from(seconds);
        let total = whole * MICROS_PER_SECOND + i64::from(micros);
        let micros = if negative { -total } else { total };
        (total <= Self::MAX_MICROS).then_some(Self { micros, fsp: 0 })
    }

    #[must_use]
    pub fn with_fsp(mut self, fsp: u8) -> Self {
        self.fsp = fsp.min(6);
        self
    }
    pub fn is_negative(self) -> bool {
        self.micros < 0
    }
    pub fn hours(self) -> u32 {
        (self.micros.unsigned_abs() / 3_600_000_000) as u32
    }
    pub fn minutes(self) -> u8 {
        (self.micros.unsigned_abs() / 60_000_000 % 60) as u8
    }
    pub fn seconds(self) -> u8 {
        (self.micros.unsigned_abs() / 1_000_000 % 60) as u8
    }
    pub fn fraction(self) -> u32 {
        (self.micros.unsigned_abs() % 1_000_000) as u32
    }

    /// Drops the digits after `fsp` (or rounds half up), and shows `fsp` digits.
    #[must_use]
    pub fn cut(self, fsp: u8, round: bool) -> Self {
        let unit = fraction_unit(fsp);
        let micros = self.micros.abs() + if round { unit / 2 } else { 0 };
        let kept = (micros - micros % unit).min(Self::MAX_MICROS - Self::MAX_MICROS % unit);
        Self { micros: kept * self.micros.signum(), fsp }
    }

    pub fn write(self, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        let hours = u64::from(self.hours());
        if hours < 100 {
            put_digits(hours, 2, out);
        } else {
            write_u64(hours, out);
        }
        out.push(b':');
        put_digits(u64::from(self.minutes()), 2, out);
        out.push(b':');
        put_digits(u64::from(self.seconds()), 2, out);
        write_fraction(self.fraction(), self.fsp, out);
    }

    /// HHMMSS with the sign, without the fraction.
    pub fn to_number(self) -> i64 {
        let n =
            i64::from(self.hours()) * 10_000 + i64::from(self.minutes()) * 100 + i64::from(self.seconds());
        if self.is_negative() { -n } else { n }
    }
}

impl DateTime {
    pub const fn new(date: Date, hour: u8, minute: u8, second: u8, micros: u32) -> Self {
        Self { date, hour, minute, second, fsp: 0, micros }
    }
    #[must_use]
    pub fn with_fsp(mut self, fsp: u8) -> Self {
        self.fsp = fsp.min(6);
        self
    }

    /// Microseconds of the time of day.
    pub fn time_micros(self) -> i64 {
        let seconds = (i64::from(self.hour) * 60 + i64::from(self.minute)) * 60 + i64::from(self.second);
        seconds * MICROS_PER_SECOND + i64::from(self.micros)
    }

    pub fn time(self) -> Time {
        Time { micros: self.time_micros(), fsp: self.fsp }
    }

    /// Microseconds since day number 0; exact for real dates.
    pub fn linear_micros(self) -> i64 {
        self.date.day_number() * MICROS_PER_DAY + self.time_micros()
    }

    /// The inverse of [`DateTime::linear_micros`]; `None` outside the calendar.
    pub fn from_linear_micros(micros: i64) -> Option<Self> {
        let date = Date::from_day_number(micros.div_euclid(MICROS_PER_DAY))?;
        let rest = micros.rem_euclid(MICROS_PER_DAY);
        let second = rest / MICROS_PER_SECOND;
        Some(Self {
            date,
            hour: (second / 3600) as u8,
            minute: (second / 60 % 60) as u8,
            second: (second % 60) as u8,
            fsp: 0,
            micros: (rest % MICROS_PER_SECOND) as u32,
        })
    }

    /// Drops the digits after `fsp` (or rounds half up), and shows `fsp` digits; `None` when rounding leaves the calendar.
    pub fn cut(self, fsp: u8, round: bool) -> Option<Self> {
        let unit = fraction_unit(fsp) as u32;
        let mut kept = self.with_fsp(fsp);
        kept.micros -= self.micros % unit;
        if round && self.micros % unit * 2 >= unit && unit > 1 {
            if kept.micros + unit < 1_000_000 {
                kept.micros += unit;
            } else {
                kept.micros = 0;
                let next = Self::from_linear_micros(kept.linear_micros() + MICROS_PER_SECOND)?;
                return Some(next.with_fsp(fsp));
            }
        }
        Some(kept)
    }

    pub fn write(self, out: &mut Vec<u8>) {
        self.date.write(out);
        out.push(b' ');
        put_digits(u64::from(self.hour), 2, out);
        out.push(b':');
        put_digits(u64::from(self.minute), 2, out);
        out.push(b':');
        put_digits(u64::from(self.second), 2, out);
        write_fraction(self.micros, self.fsp, out);
    }

    /// YYYYMMDDhhmmss without the fraction.
    pub fn to_number(self) -> u64 {
        let time = u64::from(self.hour) * 10_000 + u64::from(self.minute) * 100 + u64::from(self.second);
        self.date.to_number() * 1_000_000 + time
    }

    /// Fields in order in one number, for comparisons that must work on invalid dates too.
    pub fn sort_number(self) -> u64 {
        let date =
            (u64::from(self.date.year) << 4 | u64::from(self.date.month)) << 5 | u64::from(self.date.day);
        let time = (u64::from(self.hour) << 6 | u64::from(self.minute)) << 6 | u64::from(self.second);
        (date << 17 | time) << 20 | u64::from(self.micros)
    }
}

/// Microseconds of the last digit shown.
const fn fraction_unit(fsp: u8) -> i64 {
    match fsp {
        0 => 1_000_000,
        1 => 100_000,
        2 => 10_000,
        3 => 1_000,
        4 => 100,
        5 => 10,
        _ => 1,
    }
}

pub(crate) fn write_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    if fsp > 0 {
        out.push(b'.');
        put_digits(u64::from(micros) / fraction_unit(fsp) as u64, usize::from(fsp), out);
    }
}

/// Appends at least `width` digits.
pub(crate) fn put_digits(v: u64, width: usize, out: &mut Vec<u8>) {
    let mut unit = 10u64.pow(width as u32 - 1);
    if v / unit >= 10 {
        return write_u64(v, out);
    }
    while unit > 0 {
        out.push(b'0' + (v / unit % 10) as u8);
        unit /= 10;
    }
}

pub const fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0))
}

/// 0 for month 0.
pub const fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_numbers_are_the_server_s() {
        for (date, days) in [
            (Date::new(0, 1, 1), 1),
            (Date::new(0, 3, 1), 60),
            (Date::new(1, 1, 1), 366),
            (Date::new(1970, 1, 1), 719_528),
            (Date::new(2007, 10, 7), 733_321),
            (Date::new(2024, 2, 29), 739_310),
            (Date::MAX, 3_652_424),
        ] {
            assert_eq!(date.day_number(), days, "{date:?}");
        }
        let mut date = Date::new(1, 1, 1);
        for days in 366..3_652_424 {
            assert_eq!(Date::from_day_number(days), Some(date));
            assert_eq!(date.day_number(), days);
            date.day += 1;
            if date.day > days_in_month(date.year, date.month) {
                (date.month, date.day) = (date.month + 1, 1);
            }
            if date.month > 12 {
                (date.year, date.month) = (date.year + 1, 1);
            }
        }
        assert_eq!(Date::new(2024, 1, 1).weekday(), 0);
    }
}
