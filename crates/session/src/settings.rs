//! A session's variables in the form that every statement looks at: plain fields, renewed when a variable changes.

use std::sync::LazyLock;
use std::time::Duration;

use charset::{Charset, Collation};
use commit::Numbering;
use jiff::tz::{Offset, TimeZone};
use log_format::record::{commit_flags, event_options};
use sql_exec::ExecSettings;
use sql_syntax::ParseOptions;
use storage::trx::{Isolation, LogOptions, TrxOptions};
use types::SqlMode;

use crate::query_log::SlowSettings;
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
    /// max_statement_time; None = no limit.
    pub(crate) statement_time_us: Option<u64>,
    /// A transaction that begins now, unless SET TRANSACTION said otherwise.
    pub(crate) trx: TrxOptions,
    pub(crate) tx_read_only: bool,
    /// What the executor reads; parts that change with the statement are filled in there.
    pub(crate) exec: ExecSettings,
    /// How commits are numbered; None when they are not in the binary log.
    pub(crate) numbering: Option<Numbering>,
    pub(crate) parse: ParseOptions,
    /// binlog_format=STATEMENT
    pub(crate) statement_format: bool,
    /// binlog_annotate_row_events
    pub(crate) annotates: bool,
    pub(crate) slow: SlowSettings,
    /// Seconds that a client may be silent: outside of transactions, inside of any, of one that has not written, of one that has.
    pub(crate) idle_seconds: [u64; 4],
    /// sql_log_off
    pub(crate) hidden_from_general_log: bool,
}

/// What settings depend on beside the session's variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fixed {
    /// The server writes a binary log.
    pub(crate) log_bin: bool,
    /// In files of its own.
    pub(crate) binlog_in_files: bool,
    /// CLIENT_FOUND_ROWS
    pub(crate) found_rows: bool,
}

impl Settings {
    pub(crate) fn of(v: &SessionVariables, fixed: Fixed) -> Self {
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
            statement_time_us: Some((v.get(Var::MAX_STATEMENT_TIME).as_f64() * 1e6) as u64)
                .filter(|t| *t > 0),
            trx: trx_options(v, fixed),
            tx_read_only: v.bool(Var::TRANSACTION_READ_ONLY),
            exec: exec_settings(v, sql_mode, fixed),
            numbering: numbering(v, fixed),
            parse: parse_options(sql_mode),
            // 0 is MIXED, 2 is ROW.
            statement_format: v.u64(Var::BINLOG_FORMAT) == 1,
            annotates: crate::annotation::is_wanted(v),
            slow: SlowSettings::of(v),
            idle_seconds: [
                Var::WAIT_TIMEOUT,
                Var::IDLE_TRANSACTION_TIMEOUT,
                Var::IDLE_READONLY_TRANSACTION_TIMEOUT,
                Var::IDLE_WRITE_TRANSACTION_TIMEOUT,
            ]
            .map(|var| v.u64(var)),
            hidden_from_general_log: v.bool(Var::SQL_LOG_OFF),
        }
    }
}

fn is_logged(v: &SessionVariables, fixed: Fixed) -> bool {
    fixed.log_bin && v.bool(Var::SQL_LOG_BIN)
}

/// The level at this position of `transaction_isolation`.
pub(crate) fn isolation_of(level: u64) -> Isolation {
    match level {
        0 => Isolation::ReadUncommitted,
        1 => Isolation::ReadCommitted,
        3 => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

fn trx_options(v: &SessionVariables, fixed: Fixed) -> TrxOptions {
    let replicate = is_logged(v, fixed);
    TrxOptions {
        isolation: isolation_of(v.u64(Var::TRANSACTION_ISOLATION)),
        lock_wait_timeout: Duration::from_secs(v.u64(Var::INNODB_LOCK_WAIT_TIMEOUT)),
        snapshot_isolation: v.bool(Var::INNODB_SNAPSHOT_ISOLATION),
        log: LogOptions {
            replicate,
            full_image: replicate,
            event_options: event_options(v),
            texts_in_memory: fixed.binlog_in_files,
        },
    }
}

/// What rows events look like.
fn event_options(v: &SessionVariables) -> u8 {
    let mut options = v.u64(Var::BINLOG_ROW_IMAGE) as u8 & event_options::IMAGE;
    if !v.bool(Var::FOREIGN_KEY_CHECKS) {
        options |= event_options::NO_FOREIGN_KEY_CHECKS;
    }
    if !v.bool(Var::UNIQUE_CHECKS) {
        options |= event_options::RELAXED_UNIQUE_CHECKS;
    }
    options
}

fn numbering(v: &SessionVariables, fixed: Fixed) -> Option<Numbering> {
    let seq_no = v.u64(Var::GTID_SEQ_NO);
    is_logged(v, fixed).then(|| Numbering {
        domain_id: v.u64(Var::GTID_DOMAIN_ID) as u32,
        server_id: v.u64(Var::SERVER_ID) as u32,
        seq_no: (seq_no != 0).then_some(seq_no),
        thread_id: 0,
        flags: if v.bool(Var::SKIP_PARALLEL_REPLICATION) { commit_flags::NO_PARALLEL } else { 0 }
            | if v.bool(Var::SKIP_REPLICATION) { commit_flags::SKIP_REPLICATION } else { 0 },
    })
}

fn exec_settings(v: &SessionVariables, sql_mode: SqlMode, fixed: Fixed) -> ExecSettings {
    ExecSettings {
        lock_wait_timeout: Duration::from_secs(v.u64(Var::LOCK_WAIT_TIMEOUT)),
        locking_reads: false,
        found_rows: fixed.found_rows,
        auto_increment_increment: v.u64(Var::AUTO_INCREMENT_INCREMENT),
        auto_increment_offset: v.u64(Var::AUTO_INCREMENT_OFFSET),
        next_insert_id: 0,
        group_concat_max_len: v.u64(Var::GROUP_CONCAT_MAX_LEN),
        select_limit: v.u64(Var::SQL_SELECT_LIMIT),
        // NO_AUTO_VALUE_ON_ZERO
        no_auto_value_on_zero: sql_mode.has(1 << 19),
        check_constraints: v.bool(Var::CHECK_CONSTRAINT_CHECKS),
        foreign_keys: v.bool(Var::FOREIGN_KEY_CHECKS),
        insert_history: v.bool(Var::SYSTEM_VERSIONING_INSERT_HISTORY),
        // KEEP
        alter_history: v.u64(Var::SYSTEM_VERSIONING_ALTER_HISTORY) == 1,
    }
}

pub(crate) fn parse_options(mode: SqlMode) -> ParseOptions {
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
        static SYSTEM: LazyLock<TimeZone> = LazyLock::new(|| TimeZone::try_system().unwrap_or(TimeZone::UTC));
        return Some(SYSTEM.clone());
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
