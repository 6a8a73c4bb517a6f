//! The server's error log: lines on standard error in MariaDB's form.

use env::Clock;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Note,
    Warning,
    Error,
}

/// Writes one line: `2026-11-30 10:11:50 0 [Note] text`. `thread` is the connection's number, 0 for the server itself.
pub fn write(clock: &dyn Clock, severity: Severity, thread: u64, text: &str) {
    eprintln!("{}", line(clock.wall().as_secs() as i64, &TimeZone::system(), severity, thread, text));
}

fn line(unix_seconds: i64, zone: &TimeZone, severity: Severity, thread: u64, text: &str) -> String {
    let when = zone.to_datetime(Timestamp::from_second(unix_seconds).unwrap_or(Timestamp::UNIX_EPOCH));
    let tag = match severity {
        Severity::Note => "Note",
        Severity::Warning => "Warning",
        Severity::Error => "ERROR",
    };
    format!("{} {thread} [{tag}] {text}", when.strftime("%Y-%m-%d %H:%M:%S"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_mariadbs_form() {
        let got = line(1_796_033_510, &TimeZone::UTC, Severity::Error, 7, "Aborting");
        assert_eq!(got, "2026-11-30 10:11:50 7 [ERROR] Aborting");
    }
}
