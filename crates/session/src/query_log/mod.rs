//! The general log and the slow query log, in files and in the tables `mysql.general_log` and `mysql.slow_log`.
//!
//! | module | what |
//! | --- | --- |
//! | `general` | a line for each command when it arrives |
//! | `slow` | a paragraph for each statement that took long, when it has ended |
//! | `table` | rows in the tables |
//!
//! Files lie in the data directory unless their names are absolute. They are opened by the first line that goes into them, and closed by
//! FLUSH LOGS, by another name and by turning the log off, so that they can be moved away.
//!
//! # Locking order
//! One mutex a log, held while a line is written. A log that is off costs a statement one load of a byte that nobody writes.
//!
//! # A failure
//! A line that cannot be written is told once in the error log; the log is turned off until it is turned on again.

mod general;
mod slow;
mod table;

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::error_log::Severity;
use crate::server::Server;
use crate::variables::Var;

pub(crate) use slow::{Accesses, SlowSettings};

const GENERAL: u8 = 1;
const SLOW: u8 = 2;
const TO_FILE: u8 = 4;
const TO_TABLE: u8 = 8;

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    General,
    Slow,
}

impl Which {
    const fn file(self) -> Var {
        match self {
            Self::General => Var::GENERAL_LOG_FILE,
            Self::Slow => Var::LOG_SLOW_QUERY_FILE,
        }
    }
    const fn bit(self) -> u8 {
        match self {
            Self::General => GENERAL,
            Self::Slow => SLOW,
        }
    }
}

#[derive(Default)]
struct File {
    open: Option<Box<dyn Write + Send>>,
    /// The second of the last line: a time is written when it changes.
    second: i64,
}

/// Both logs of the server.
#[derive(Default)]
pub(crate) struct QueryLogs {
    switches: AtomicU8,
    general: Mutex<File>,
    slow: Mutex<File>,
}

impl QueryLogs {
    fn has(&self, bits: u8) -> bool {
        self.switches.load(Ordering::Relaxed) & bits == bits
    }
    pub(crate) fn general_is_on(&self) -> bool {
        self.has(GENERAL)
    }
    pub(crate) fn slow_is_on(&self) -> bool {
        self.has(SLOW)
    }
    fn file(&self, which: Which) -> &Mutex<File> {
        match which {
            Which::General => &self.general,
            Which::Slow => &self.slow,
        }
    }
    fn close(&self, which: Which) {
        *self.file(which).lock().unwrap_or_else(PoisonError::into_inner) = File::default();
    }
}

impl Server {
    /// The variables of the logs have changed, or the server starts.
    pub(crate) fn renew_query_logs(&self) {
        let v = &self.variables;
        let on = |var, bit| if v.u64(var) != 0 { bit } else { 0 };
        let output = v.u64(Var::LOG_OUTPUT);
        // NONE, FILE, TABLE by their places; NONE beside another one wins.
        let output = if output & 1 != 0 { 0 } else { (output & 6) as u8 * (TO_FILE / 2) };
        let mut switches = on(Var::GENERAL_LOG, GENERAL) | on(Var::LOG_SLOW_QUERY, SLOW) | output;
        if output == 0 {
            switches = 0;
        }
        self.query_logs.switches.store(switches, Ordering::Relaxed);
        self.reopen_query_logs(true, true);
    }
    /// FLUSH GENERAL LOGS, FLUSH SLOW LOGS: the next line opens the file anew.
    pub(crate) fn reopen_query_logs(&self, general: bool, slow: bool) {
        if general {
            self.query_logs.close(Which::General);
        }
        if slow {
            self.query_logs.close(Which::Slow);
        }
    }

    /// Appends what `make` writes for a line of this second; the flag says that the second is another than the last line's.
    fn append(&self, which: Which, wall_us: i64, make: impl FnOnce(&mut Vec<u8>, bool)) {
        let second = wall_us.div_euclid(1_000_000);
        let mut file = self.query_logs.file(which).lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = Vec::new();
        if file.open.is_none() {
            match self.open_log(which) {
                Ok(opened) => file.open = Some(opened),
                Err(e) => return self.log_failed(which, &e),
            }
            self.put_head(&mut out);
        }
        make(&mut out, file.second != second);
        file.second = second;
        let outcome = file.open.as_mut().map_or(Ok(()), |f| f.write_all(&out));
        if let Err(e) = outcome {
            self.log_failed(which, &e);
        }
    }
    fn open_log(&self, which: Which) -> std::io::Result<Box<dyn Write + Send>> {
        let name = self.variables.get(which.file()).as_str().to_owned();
        let directory = PathBuf::from(self.variables.get(Var::DATADIR).as_str());
        Ok(Box::new(env::host::append_or_create(&directory.join(name))?))
    }
    fn log_failed(&self, which: Which, e: &std::io::Error) {
        self.query_logs.switches.fetch_and(!which.bit(), Ordering::Relaxed);
        let name = self.variables.get(which.file()).as_str().to_owned();
        let text = format!(
            "Could not use {name} for logging (error {e}). Turning logging off for the server process"
        );
        self.log(Severity::Error, 0, &text);
    }
    fn put_head(&self, out: &mut Vec<u8>) {
        let v = &self.variables;
        let socket = v.get(Var::SOCKET).as_str().to_owned();
        let head = format!(
            "morsed, Version: {}. started with:\nTcp port: {}  Unix socket: {}\nTime\t\t    Id Command\tArgument\n",
            crate::handshake::VERSION,
            v.u64(Var::PORT),
            if socket.is_empty() { "(null)" } else { &socket },
        );
        out.extend_from_slice(head.as_bytes());
    }
}

/// `261130 16:22:56`, in the time zone of the machine.
fn stamp(wall_us: i64, zone: &TimeZone) -> String {
    let when = zone.to_datetime(Timestamp::from_microsecond(wall_us).unwrap_or(Timestamp::UNIX_EPOCH));
    when.strftime("%y%m%d %k:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_has_the_form_that_tools_read() {
        assert_eq!(stamp(1_796_055_776_000_000, &TimeZone::UTC), "261130 16:22:56");
        assert_eq!(stamp(1_796_021_776_000_000, &TimeZone::UTC), "261130  6:56:16");
    }
}
