//! DATE, TIME, DATETIME and TIMESTAMP as values.
//!
//! Fields are kept, not a day number: `0000-00-00`, `2024-00-15` and (with ALLOW_INVALID_DATES) `2024-02-31` are values.
//! `fsp` is the number of fraction digits shown, 0 to 6.

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

impl Time {
    /// Largest magnitude: 838:59:59.999999.
    pub const MAX_MICROS: i64 = ((838 * 60 + 59) * 60 + 59) * 1_000_000 + 999_999;
}
