//! The command line, in mariadb-binlog's spelling.
//!
//! `--name=value`, `--name value`, `-nvalue`; `-` and `_` are the same in long names; a unique prefix of a long name is enough, as
//! everywhere in MariaDB; `--skip-name` and `--disable-name` turn a switch off.

use base::Gtid;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::{Base64, IdFilter, Options, Position, Selection};

/// What is to be done with the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Task {
    #[default]
    Print,
    /// Checks files or a directory of the log.
    Verify,
    /// Writes classic files.
    Convert,
    Help,
    Version,
}

/// How a server is reached, for `--read-from-remote-server`.
#[derive(Debug, Clone, Default)]
pub struct Remote {
    pub host: Option<String>,
    pub port: Option<u16>,
    pub socket: Option<String>,
    pub user: String,
    pub password: String,
    /// Go on with the following files.
    pub to_last_log: bool,
    /// Wait for more at the end.
    pub stop_never: bool,
    /// The id that `stop_never` uses.
    pub server_id: u32,
    /// Write the files as they are.
    pub raw: bool,
}

/// A whole command line.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub task: Task,
    pub files: Vec<String>,
    pub options: Options,
    pub selection: Selection,
    pub start: Option<Position>,
    pub stop: Option<Position>,
    pub remote: Option<Remote>,
    /// Instead of the standard output: a file, or the prefix of files.
    pub result_file: Option<String>,
    /// GTIDs of the positions must make sense with what the logs hold.
    pub gtid_strict_mode: bool,
}

/// An option's long name, its letter, and whether a value follows.
const OPTIONS: [(&str, Option<char>, bool); 44] = [
    ("base64-output", None, true),
    ("binlog-row-event-max-size", None, true),
    ("convert", None, false),
    ("database", Some('d'), true),
    ("disable-log-bin", Some('D'), false),
    ("do-domain-ids", None, true),
    ("do-server-ids", None, true),
    ("flashback", Some('B'), false),
    ("force-if-open", Some('F'), false),
    ("force-read", Some('f'), false),
    ("gtid-strict-mode", None, false),
    ("help", Some('?'), false),
    ("hexdump", Some('H'), false),
    ("host", Some('h'), true),
    ("ignore-domain-ids", None, true),
    ("ignore-server-ids", None, true),
    ("local-load", Some('l'), true),
    ("no-defaults", None, false),
    ("offset", Some('o'), true),
    ("open-files-limit", None, true),
    ("password", Some('p'), true),
    ("port", Some('P'), true),
    ("print-row-count", None, false),
    ("print-row-event-positions", None, false),
    ("protocol", None, true),
    ("raw", None, false),
    ("read-from-remote-server", Some('R'), false),
    ("result-file", Some('r'), true),
    ("rewrite-db", None, true),
    ("server-id", None, true),
    ("set-charset", None, true),
    ("short-form", Some('s'), false),
    ("skip-annotate-row-events", None, false),
    ("socket", Some('S'), true),
    ("start-datetime", None, true),
    ("start-position", Some('j'), true),
    ("stop-datetime", None, true),
    ("stop-never", None, false),
    ("stop-never-slave-server-id", None, true),
    ("stop-position", None, true),
    ("table", Some('T'), true),
    ("to-last-log", Some('t'), false),
    ("user", Some('u'), true),
    ("verbose", Some('v'), false),
];
const MORE: [(&str, Option<char>, bool); 4] = [
    ("verify", None, false),
    ("verify-binlog-checksum", Some('c'), false),
    ("version", Some('V'), false),
    ("ssl", None, false),
];

/// The text of `--help`.
pub const USAGE: &str = "\
Usage: morse-binlog [options] log-files | data directories | segments

Prints classic binlog files and the log of this server as text that a server can run. The options are mariadb-binlog's:
  --base64-output=auto|never|decode-rows   -v, -vv: rows as comments, with types   -s, --short-form   -H, --hexdump
  --start-datetime, --stop-datetime, --start-position, --stop-position (an offset or GTIDs), -o, --offset
  -d, --database, -T, --table, --do-domain-ids, --ignore-domain-ids, --do-server-ids, --ignore-server-ids, --rewrite-db
  -R, --read-from-remote-server with -h, -P, -S, -u, -p; -t, --to-last-log; --stop-never; --raw
  --verify: reads files or a directory of segments and says what is wrong where; --convert: writes segments as classic files
  -r, --result-file, -D, --disable-log-bin, -l, --local-load, --set-charset, --skip-annotate-row-events, -B, --flashback";

/// Reads the arguments behind the program's name.
pub fn parse(arguments: &[String]) -> Result<Request, String> {
    let mut request = Request { gtid_strict_mode: true, ..Request::default() };
    let mut remote = Remote { user: "root".into(), server_id: 65535, ..Remote::default() };
    let mut reads_remote = false;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            request.files.extend(rest.by_ref().cloned());
        } else if let Some(long) = argument.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let (name, on) = named(&name.replace('_', "-"))?;
            let wants = wants_value(name) && name != "password";
            let value = match value {
                None if wants => Some(
                    rest.next().ok_or_else(|| format!("option '--{name}' requires an argument"))?.clone(),
                ),
                given => given,
            };
            let on =
                on && value.as_deref().is_none_or(|v| wants || !matches!(v, "0" | "OFF" | "off" | "FALSE"));
            set(&mut request, &mut remote, &mut reads_remote, name, value.as_deref().unwrap_or(""), on)?;
        } else if argument.len() > 1 && argument.starts_with('-') {
            short(&mut request, &mut remote, &mut reads_remote, &argument[1..], &mut rest)?;
        } else {
            request.files.push(argument.clone());
        }
    }
    finish(&mut request, remote, reads_remote)?;
    Ok(request)
}

fn finish(request: &mut Request, remote: Remote, reads_remote: bool) -> Result<(), String> {
    if let Some(start) = &request.start {
        request.selection.start_at(start);
    }
    if let Some(stop) = &request.stop {
        request.selection.stop_at(stop);
    }
    if remote.raw && !reads_remote {
        return Err("The --raw flag requires one of --read-from-remote-server".into());
    }
    if reads_remote || remote.stop_never {
        request.remote = Some(remote);
    }
    Ok(())
}

/// Letters may stand together; the rest of the argument is the value of one that wants a value.
fn short(
    request: &mut Request,
    remote: &mut Remote,
    reads_remote: &mut bool,
    letters: &str,
    rest: &mut std::slice::Iter<'_, String>,
) -> Result<(), String> {
    let mut letters = letters.chars();
    while let Some(letter) = letters.next() {
        let all = OPTIONS.iter().chain(&MORE);
        let Some((name, _, wants)) = all.clone().find(|(_, l, _)| *l == Some(letter)) else {
            return Err(format!("unknown option '-{letter}'"));
        };
        let mut value = letters.as_str().to_owned();
        if *wants {
            if value.is_empty() && *name != "password" {
                value =
                    rest.next().ok_or_else(|| format!("option '-{letter}' requires an argument"))?.clone();
            }
            return set(request, remote, reads_remote, name, &value, true);
        }
        set(request, remote, reads_remote, name, "", true)?;
    }
    Ok(())
}

/// The option of a name or a unique prefix of it, and whether it is turned on.
fn named(given: &str) -> Result<(&'static str, bool), String> {
    let find = |text: &str| {
        let all = || OPTIONS.iter().chain(&MORE).map(|(name, _, _)| *name);
        let mut matching = all().filter(|name| name.starts_with(text));
        match (all().find(|name| *name == text), matching.next(), matching.next()) {
            (Some(exact), _, _) => Ok(Some(exact)),
            (None, Some(only), None) => Ok(Some(only)),
            (None, Some(first), Some(second)) => {
                Err(format!("ambiguous option '--{text}' ({first}, {second})"))
            }
            (None, None, _) => Ok(None),
        }
    };
    if let Some(name) = find(given)? {
        return Ok((name, true));
    }
    for off in ["skip-", "disable-"] {
        if let Some(name) = given.strip_prefix(off).map(find).transpose()?.flatten() {
            return Ok((name, false));
        }
    }
    Err(format!("unknown option '--{given}'"))
}

fn wants_value(name: &str) -> bool {
    OPTIONS.iter().chain(&MORE).any(|(n, _, wants)| *n == name && *wants)
}

fn set(
    request: &mut Request,
    remote: &mut Remote,
    reads_remote: &mut bool,
    name: &str,
    value: &str,
    on: bool,
) -> Result<(), String> {
    let options = &mut request.options;
    match name {
        "base64-output" => options.base64 = base64_mode(value)?,
        "verbose" => options.verbose += u8::from(options.verbose < 3),
        "short-form" => options.short_form = on,
        "hexdump" => options.hexdump = on,
        "skip-annotate-row-events" => options.skip_annotate = on,
        "print-row-count" => options.print_row_count = on,
        "print-row-event-positions" => options.print_row_event_positions = on,
        "disable-log-bin" => options.disable_log_bin = on,
        "set-charset" => options.set_charset = Some(value.into()),
        "rewrite-db" => {
            let (from, to) = value.split_once("->").ok_or("Bad syntax in rewrite-db: missing '->'!\n")?;
            options.rewrite.push((from.trim().into(), to.trim().into()));
        }
        "flashback" => options.flashback = on,
        "local-load" => options.load_dir = value.into(),
        "verify" => request.task = Task::Verify,
        "convert" => request.task = Task::Convert,
        "help" => request.task = Task::Help,
        "version" => request.task = Task::Version,
        "gtid-strict-mode" => request.gtid_strict_mode = on,
        "result-file" => request.result_file = Some(value.into()),
        "start-position" => request.start = Some(position(value)?),
        "stop-position" => request.stop = Some(position(value)?),
        "host" => remote.host = Some(value.into()),
        "port" => remote.port = Some(number(name, value)?),
        "socket" => remote.socket = Some(value.into()),
        "user" => remote.user = value.into(),
        "password" => remote.password = value.into(),
        "read-from-remote-server" => *reads_remote = on,
        "raw" => remote.raw = on,
        "to-last-log" => remote.to_last_log = on,
        "stop-never" => {
            remote.stop_never = on;
            remote.to_last_log |= on;
        }
        "stop-never-slave-server-id" => remote.server_id = number(name, value)?,
        "ssl" if on => return Err("TLS is not built into this program".into()),
        "ssl" => {}
        // Accepted, and nothing to do here.
        "no-defaults"
        | "force-if-open"
        | "force-read"
        | "open-files-limit"
        | "protocol"
        | "binlog-row-event-max-size"
        | "verify-binlog-checksum" => {}
        _ => return select(request, name, value),
    }
    Ok(())
}

fn select(request: &mut Request, name: &str, value: &str) -> Result<(), String> {
    let zone = request.options.time_zone.clone();
    let selection = &mut request.selection;
    match name {
        "database" => selection.database = Some(value.into()),
        "table" => selection.table = Some(value.into()),
        "offset" => selection.offset = number(name, value)?,
        "start-datetime" => selection.start_time = Some(time(value, &zone)?),
        "stop-datetime" => selection.stop_time = Some(time(value, &zone)?),
        "do-domain-ids" => selection.domains = Some(IdFilter::only(ids(name, value)?)),
        "ignore-domain-ids" => selection.domains = Some(IdFilter::all_but(ids(name, value)?)),
        "server-id" | "do-server-ids" => selection.servers = Some(IdFilter::only(ids(name, value)?)),
        "ignore-server-ids" => selection.servers = Some(IdFilter::all_but(ids(name, value)?)),
        other => return Err(format!("unknown option '--{other}'")),
    }
    Ok(())
}

fn base64_mode(value: &str) -> Result<Base64, String> {
    match value.to_ascii_lowercase().as_str() {
        "auto" | "unspec" => Ok(Base64::Auto),
        "never" => Ok(Base64::Never),
        "decode-rows" => Ok(Base64::DecodeRows),
        _ => Err(format!(
            "Unknown option to base64-output: {value}\nAlternatives are: 'NEVER','AUTO','UNSPEC','DECODE-ROWS'"
        )),
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("Unknown suffix or number '{value}' used for option '--{name}'"))
}

fn ids(name: &str, value: &str) -> Result<Vec<u32>, String> {
    value.split(',').map(|id| number(name, id.trim())).collect()
}

/// A number, or GTIDs of different domains.
fn position(value: &str) -> Result<Position, String> {
    if let Ok(offset) = value.parse() {
        return Ok(Position::Offset(offset));
    }
    let mut gtids: Vec<Gtid> = Vec::new();
    for text in value.split(',') {
        let bad = || format!("Could not parse GTID '{text}': expected domain-server-sequence");
        let mut parts = text.trim().splitn(3, '-');
        let mut part = || parts.next().ok_or_else(bad);
        let (domain, server, number) = (part()?, part()?, part()?);
        let gtid = Gtid {
            domain_id: domain.parse().map_err(|_| bad())?,
            server_id: server.parse().map_err(|_| bad())?,
            seq_no: number.parse().map_err(|_| bad())?,
        };
        if gtids.iter().any(|g| g.domain_id == gtid.domain_id) {
            return Err(format!("Found repeated domain {domain} in '{value}'"));
        }
        gtids.push(gtid);
    }
    Ok(Position::Gtids(gtids))
}

/// A date and time in the zone; the date alone means midnight.
fn time(value: &str, zone: &TimeZone) -> Result<u32, String> {
    let wrong = || format!("Incorrect date and time argument: {value}");
    let text = value.trim().replace(' ', "T");
    let text = if text.contains('T') { text } else { format!("{text}T00:00:00") };
    let local: DateTime = text.parse().map_err(|_| wrong())?;
    let second = zone.to_timestamp(local).map_err(|_| wrong())?.as_second();
    u32::try_from(second).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Request, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn spellings() {
        let request =
            of("-vv --base64=decode-rows --stop_position 77 -d db -Ttab --skip-print-row-count a b").unwrap();
        assert_eq!((request.options.verbose, request.options.base64), (2, Base64::DecodeRows));
        assert_eq!(request.stop, Some(Position::Offset(77)));
        assert_eq!(request.selection.database.as_deref(), Some(&b"db"[..]));
        assert_eq!(request.selection.table.as_deref(), Some(&b"tab"[..]));
        assert!(!request.options.print_row_count);
        assert_eq!(request.files, ["a", "b"]);
    }

    #[test]
    fn positions_may_be_gtids_of_different_domains() {
        let gtid = |domain_id, seq_no| Gtid { domain_id, server_id: 1, seq_no };
        let request = of("--start-position=0-1-5,3-1-7").unwrap();
        assert_eq!(request.start, Some(Position::Gtids(vec![gtid(0, 5), gtid(3, 7)])));
        assert!(of("--start-position=0-1-5,0-1-7").is_err());
        assert!(of("--start-position=0-1").is_err());
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(of("--nothing").unwrap_err(), "unknown option '--nothing'");
        assert_eq!(of("--stop-position").unwrap_err(), "option '--stop-position' requires an argument");
        assert!(of("--base64-output=x").unwrap_err().contains("Alternatives"));
        assert!(of("--raw f").is_err());
        assert!(of("--start").unwrap_err().starts_with("ambiguous option"));
    }
}
