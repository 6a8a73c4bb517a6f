//! `INTERVAL n unit`: reading it and adding it.

use super::{Date, DateTime, MICROS_PER_DAY, Time, days_in_month};

/// Units of INTERVAL, EXTRACT, TIMESTAMPADD and TIMESTAMPDIFF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

use IntervalUnit as Unit;

impl IntervalUnit {
    pub const ALL: [Self; 20] = [
        Unit::Microsecond,
        Unit::Second,
        Unit::Minute,
        Unit::Hour,
        Unit::Day,
        Unit::Week,
        Unit::Month,
        Unit::Quarter,
        Unit::Year,
        Unit::SecondMicrosecond,
        Unit::MinuteMicrosecond,
        Unit::MinuteSecond,
        Unit::HourMicrosecond,
        Unit::HourSecond,
        Unit::HourMinute,
        Unit::DayMicrosecond,
        Unit::DaySecond,
        Unit::DayMinute,
        Unit::DayHour,
        Unit::YearMonth,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Microsecond => "MICROSECOND",
            Self::Second => "SECOND",
            Self::Minute => "MINUTE",
            Self::Hour => "HOUR",
            Self::Day => "DAY",
            Self::Week => "WEEK",
            Self::Month => "MONTH",
            Self::Quarter => "QUARTER",
            Self::Year => "YEAR",
            Self::SecondMicrosecond => "SECOND_MICROSECOND",
            Self::MinuteMicrosecond => "MINUTE_MICROSECOND",
            Self::MinuteSecond => "MINUTE_SECOND",
            Self::HourMicrosecond => "HOUR_MICROSECOND",
            Self::HourSecond => "HOUR_SECOND",
            Self::HourMinute => "HOUR_MINUTE",
            Self::DayMicrosecond => "DAY_MICROSECOND",
            Self::DaySecond => "DAY_SECOND",
            Self::DayMinute => "DAY_MINUTE",
            Self::DayHour => "DAY_HOUR",
            Self::YearMonth => "YEAR_MONTH",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix("SQL_TSI_").unwrap_or(name);
        Self::ALL.into_iter().find(|u| u.name().eq_ignore_ascii_case(name))
    }

    /// The unit counts days or more: adding it to a DATE gives a DATE.
    pub const fn is_date(self) -> bool {
        matches!(self, Self::Day | Self::Week | Self::Month | Self::Quarter | Self::Year | Self::YearMonth)
    }

    pub const fn has_microseconds(self) -> bool {
        matches!(
            self,
            Self::Microsecond
                | Self::SecondMicrosecond
                | Self::MinuteMicrosecond
                | Self::HourMicrosecond
                | Self::DayMicrosecond
        )
    }

    /// Parts of a compound unit, largest first: microseconds of one of each; `None` for units of one part and YEAR_MONTH.
    const fn parts(self) -> Option<&'static [i64]> {
        const US: i64 = 1;
        const S: i64 = 1_000_000;
        const MI: i64 = 60 * S;
        const H: i64 = 60 * MI;
        const D: i64 = 24 * H;
        Some(match self {
            Self::SecondMicrosecond => &[S, US],
            Self::MinuteMicrosecond => &[MI, S, US],
            Self::MinuteSecond => &[MI, S],
            Self::HourMicrosecond => &[H, MI, S, US],
            Self::HourSecond => &[H, MI, S],
            Self::HourMinute => &[H, MI],
            Self::DayMicrosecond => &[D, H, MI, S, US],
            Self::DaySecond => &[D, H, MI, S],
            Self::DayMinute => &[D, H, MI],
            Self::DayHour => &[D, H],
            _ => return None,
        })
    }
}

/// A length of time: months and microseconds, both signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    pub months: i64,
    pub micros: i128,
}

impl Interval {
    /// `n` of a unit of one part; `micros` is the fraction of a SECOND interval in microseconds.
    pub fn single(unit: IntervalUnit, n: i64, micros: i64) -> Self {
        let wide = i128::from(n);
        let of = |unit_micros: i64| Self { months: 0, micros: wide * i128::from(unit_micros) };
        match unit {
            Unit::Microsecond => of(1),
            Unit::Second => Self { months: 0, micros: wide * 1_000_000 + i128::from(micros) },
            Unit::Minute => of(60_000_000),
            Unit::Hour => of(3_600_000_000),
            Unit::Day => of(MICROS_PER_DAY),
            Unit::Week => of(7 * MICROS_PER_DAY),
            Unit::Month => Self { months: n, micros: 0 },
            Unit::Quarter => Self { months: n.saturating_mul(3), micros: 0 },
            Unit::Year | Unit::YearMonth => Self { months: n.saturating_mul(12), micros: 0 },
            compound => of(compound.parts().and_then(|p| p.last()).copied().unwrap_or(0)),
        }
    }

    /// A compound unit's text: numbers with anything between them; with too few numbers the last ones are meant, `None` with
    /// too many.
    pub fn compound(unit: IntervalUnit, text: &[u8]) -> Option<Self> {
        let negative = text.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'-');
        let mut numbers = text.split(|b| !b.is_ascii_digit()).filter(|n| !n.is_empty());
        let mut found: Vec<(i64, &[u8])> = Vec::new();
        let wanted = unit.parts().map_or(2, <[i64]>::len);
        for digits in numbers.by_ref().take(wanted) {
            let value =
                digits.iter().fold(0i64, |n, b| n.saturating_mul(10).saturating_add(i64::from(b - b'0')));
            found.push((value, digits));
        }
        if numbers.next().is_some() {
            return None;
        }
        let missing = wanted - found.len();
        let sign = if negative { -1 } else { 1 };
        let Some(parts) = unit.parts() else {
            let year_month = |i: usize| i.checked_sub(missing).and_then(|i| found.get(i)).map_or(0, |f| f.0);
            let months = year_month(0).saturating_mul(12).saturating_add(year_month(1));
            return Some(Self { months: sign * months, micros: 0 });
        };
        let mut micros = 0i128;
        for ((value, digits), part) in found.iter().zip(&parts[missing..]) {
            let value = match (*part, unit.has_microseconds()) {
                // `1.5` seconds are half a million microseconds; digits after the sixth do not count.
                (1, true) => (0..6).fold(0, |n, i| n * 10 + digits.get(i).map_or(0, |b| i64::from(b - b'0'))),
                _ => *value,
            };
            micros += i128::from(value) * i128::from(*part);
        }
        Some(Self { months: 0, micros: i128::from(sign) * micros })
    }

    #[must_use]
    pub fn negate(self) -> Self {
        Self { months: self.months.saturating_neg(), micros: -self.micros }
    }
}

impl DateTime {
    /// Adds an interval; `None` outside the calendar or when the date has zero parts that the interval needs.
    pub fn plus(self, interval: Interval) -> Option<Self> {
        let mut d = self;
        if interval.months != 0 {
            let months = i64::from(d.date.year) * 12 + i64::from(d.date.month) - 1;
            let total = months.checked_add(interval.months)?;
            if !(0..120_000).contains(&total) {
                return None;
            }
            d.date.year = (total / 12) as u16;
            d.date.month = (total % 12 + 1) as u8;
            d.date.day = d.date.day.min(days_in_month(d.date.year, d.date.month));
        }
        if interval.micros == 0 {
            return Some(d);
        }
        if d.date.month == 0 || d.date.day == 0 {
            return None;
        }
        let linear = i64::try_from(i128::from(d.linear_micros()) + interval.micros).ok()?;
        if linear < 0 {
            return None;
        }
        Self::from_linear_micros(linear).map(|r| r.with_fsp(self.fsp))
    }

    /// Whole units from `self` to `later` (TIMESTAMPDIFF); both dates must be real.
    pub fn difference(self, later: Self, unit: IntervalUnit) -> i64 {
        let micros = later.linear_micros() - self.linear_micros();
        match unit {
            Unit::Month => self.whole_months(later),
            Unit::Quarter => self.whole_months(later) / 3,
            Unit::Year => self.whole_months(later) / 12,
            _ => {
                let one = Interval::single(unit, 1, 0).micros;
                (i128::from(micros) / one.max(1)) as i64
            }
        }
    }

    fn whole_months(self, later: Self) -> i64 {
        if later.linear_micros() < self.linear_micros() {
            return -later.whole_months(self);
        }
        let months = |d: Self| i64::from(d.date.year) * 12 + i64::from(d.date.month);
        let part = |d: Self| (d.date.day, d.time_micros());
        months(later) - months(self) - i64::from(part(later) < part(self))
    }
}

impl Time {
    /// Adds an interval without months; `None` beyond the range.
    pub fn plus(self, interval: Interval) -> Option<Self> {
        let micros = i64::try_from(i128::from(self.micros) + interval.micros).ok()?;
        (interval.months == 0 && micros.abs() <= Self::MAX_MICROS).then_some(Self { micros, fsp: self.fsp })
    }
}

impl Date {
    /// The last day of the month; `None` for month 0.
    pub fn last_of_month(self) -> Option<Self> {
        let day = days_in_month(self.year, self.month);
        (day > 0).then_some(Self { day, ..self })
    }
}
