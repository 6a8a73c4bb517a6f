//! A session's variables in the form that every statement looks at: plain fields, renewed when a variable changes.

use charset::{Charset, Collation};
use jiff::tz::{Offset, TimeZone};
use sql_syntax::ParseOptions;
use types::SqlMode;

use crate::variables::{SessionVariables, Var};

/// What statements read of the session's variables.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub autocommit: bool,
    pub sql_mode: SqlMode,
    /// What statements are written in.
    pub client: Charset,
    /// What results are converted to; None leaves them as they are.
    pub results: Option<Charset>,
    pub connection: Collation,
    pub time_zone: TimeZone,
    pub max_allowed_packet: u64,
    pub max_error_count: u64,
    pub sql_notes: bool,
    /// `u64::MAX` = no limit.
    pub select_limit: u64,
    /// max_statement_time; None = no limit.
    pub(crate) statement_time_us: Option<u64>,
    pub(crate) parse: ParseOptions,
}

impl Settings {
    pub(crate) fn of(v: &SessionVariables) -> Self {
        let sql_mode = SqlMode(v.u64(Var::SQL_MODE));
        Self {
            autocommit: v.bool(Var::AUTOCOMMIT),
            sql_mode,
            client: v.get(Var::CHARACTER_SET_CLIENT).as_charset().unwrap_or(Charset::Utf8mb4),
            results: v.get(Var::CHARACTER_SET_RESULTS).as_charset(),
            connection: v
                .get(Var::COLLATION_CONNECTION)
                .as_collation()
                .unwrap_or(Collation::UTF8MB4_UCA1400_AI_CI),
            time_zone: parse_time_zone(v.get(Var::TIME_ZONE).as_str()).unwrap_or(TimeZone::UTC),
            max_allowed_packet: v.u64(Var::MAX_ALLOWED_PACKET),
            max_error_count: v.u64(Var::MAX_ERROR_COUNT),
            sql_notes: v.bool(Var::SQL_NOTES),
            select_limit: v.u64(Var::SQL_SELECT_LIMIT),
            statement_time_us: Some((v.get(Var::MAX_STATEMENT_TIME).as_f64() * 1e6) as u64)
                .filter(|t| *t > 0),
            parse: parse_options(sql_mode),
        }
    }
}

fn parse_options(mode: SqlMode) -> ParseOptions {
    ParseOptions {
        ansi_quotes: mode.has(SqlMode::ANSI_QUOTES),
        pipes_as_concat: mode.has(SqlMode::PIPES_AS_CONCAT),
        // HIGH_NOT_PRECEDENCE
        high_not_precedence: mode.has(1 << 29),
        no_backslash_escapes: mode.has(SqlMode::NO_BACKSLASH_ESCAPES),
        ignore_space: mode.has(SqlMode::IGNORE_SPACE),
        params: false,
    }
}

/// `SYSTEM`, `+05:30`, or a name of the time zone database.
pub(crate) fn parse_time_zone(text: &str) -> Option<TimeZone> {
    if text.eq_ignore_ascii_case("SYSTEM") {
        return Some(TimeZone::try_system().unwrap_or(TimeZone::UTC));
    }
    if let Some(sign @ ('+' | '-')) = text.chars().next() {
        let (hours, minutes) = text[1..].split_once(':')?;
        let digits = |s: &str| s.len() <= 2 && !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(hours) || !digits(minutes) {
            return None;
        }
        let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
        let total = hours * 60 + minutes;
        let fits = if sign == '+' { total <= 14 * 60 } else { total < 13 * 60 };
        let seconds = if sign == '+' { total * 60 } else { -total * 60 };
        return (fits && minutes < 60)
            .then(|| Offset::from_seconds(seconds).ok().map(TimeZone::fixed))
            .flatten();
    }
    TimeZone::get(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_zones_are_offsets_or_names() {
        for good in ["SYSTEM", "+00:00", "-12:59", "+14:00", "+5:30", "Europe/Berlin", "UTC"] {
            assert!(parse_time_zone(good).is_some(), "{good}");
        }
        for bad in ["foo", "+14:01", "-13:00", "+1:99", "+", "", "+1"] {
            assert!(parse_time_zone(bad).is_none(), "{bad}");
        }
    }
}
