//! Figures for Prometheus, over HTTP: `--prometheus-port`, on 127.0.0.1 alone and off unless a port is given.
//!
//! Names are those of mysqld_exporter, so that its dashboards work: `mysql_global_status_*` (those with a common beginning as one metric with a
//! label), `mysql_global_variables_*`, `mysql_up`, `mysql_version_info`.
//!
//! One thread answers one request after the other; a client has two seconds to ask and as long to listen.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use env::net::{Listener, Stream};
use env::thread::JoinHandle;

use crate::server::Server;
use crate::transport::Transport;
use crate::variables::{Scope, Setting, Var};

const PATIENCE: Duration = Duration::from_secs(2);
/// How often the thread looks whether the server stops.
const TICK: Duration = Duration::from_millis(200);
/// Longest request that is read.
const REQUEST_MAX: usize = 8 * 1024;

/// Listens when a port is given. Answers the thread and the port that was bound.
pub(crate) fn start(server: &Arc<Server>) -> std::io::Result<Option<JoinHandle<()>>> {
    let port = server.variables.u64(Var::PROMETHEUS_PORT) as u16;
    if port == 0 {
        return Ok(None);
    }
    let listener = Listener::loopback(port)?;
    let server = Arc::clone(server);
    let thread = env::thread::spawn("prometheus", env::thread::SMALL_STACK, move || {
        while !server.is_stopping() {
            match listener.accept_within(TICK) {
                // A client that goes away in the middle asks again.
                Ok(Some((stream, _))) => _ = answer(&server, &stream),
                Ok(None) => {}
                Err(_) => server.clock().sleep(TICK),
            }
        }
    });
    thread.map(Some)
}

fn answer(server: &Server, stream: &Stream) -> std::io::Result<()> {
    let line: &dyn Transport = stream;
    line.set_read_timeout(PATIENCE)?;
    line.set_write_timeout(PATIENCE)?;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|w| w == b"\r\n\r\n") && request.len() < REQUEST_MAX {
        let n = line.read(&mut piece)?;
        if n == 0 {
            break;
        }
        request.extend_from_slice(&piece[..n]);
    }
    line.write_all(response(server, &request).as_bytes())
}

fn response(server: &Server, request: &[u8]) -> String {
    let first = request.split(|b| *b == b'\r').next().unwrap_or_default();
    let mut words = first.split(|b| *b == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split(|b| *b == b'?').next().unwrap_or_default();
    let (status, body) = match (method, path) {
        (b"GET" | b"HEAD", b"/metrics") => ("200 OK", metrics(server)),
        (b"GET" | b"HEAD", _) => ("404 Not Found", "Metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "GET only\n".to_owned()),
    };
    let mut out = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if method != b"HEAD" {
        out.push_str(&body);
    }
    out
}

/// Everything in Prometheus's text form.
pub(crate) fn metrics(server: &Server) -> String {
    let mut out = String::with_capacity(32 * 1024);
    out.push_str("# HELP mysql_up Whether the server is up.\n# TYPE mysql_up gauge\nmysql_up 1\n");
    let version = crate::handshake::VERSION;
    let _ = writeln!(
        out,
        "# HELP mysql_version_info MySQL version and distribution.\n# TYPE mysql_version_info gauge\n\
         mysql_version_info{{innodb_version=\"{version}\",version=\"{version}\",version_comment=\"MorseDB\"}} 1"
    );
    let mut last = String::new();
    for (name, value) in server.all_status(None, None) {
        let Some(number) = number(&value) else { continue };
        let metric = Metric::of(&name.to_lowercase());
        if metric.name != last {
            let _ = writeln!(
                out,
                "# HELP {0} Generic metric from SHOW GLOBAL STATUS.\n# TYPE {0} {1}",
                metric.name, metric.kind
            );
            last.clone_from(&metric.name);
        }
        let _ = writeln!(out, "{}{} {number}", metric.name, metric.label);
    }
    for var in Var::all().filter(|v| v.def().scope != Scope::Session) {
        let number = match server.variables.get(var) {
            Setting::UInt(n) => n as f64,
            Setting::Int(n) => n as f64,
            Setting::Bool(on) => f64::from(u8::from(on)),
            Setting::Double(n) => n,
            _ => continue,
        };
        let name = format!("mysql_global_variables_{}", var.name());
        let _ = writeln!(
            out,
            "# HELP {name} Generic gauge metric from SHOW GLOBAL VARIABLES.\n# TYPE {name} gauge\n{name} {number}"
        );
    }
    out
}

/// A status variable's value as a number: switches are 0 and 1.
fn number(value: &str) -> Option<f64> {
    match value {
        "ON" | "YES" => Some(1.0),
        "OFF" | "NO" => Some(0.0),
        other => other.parse().ok(),
    }
}

/// The metric of a status variable.
#[derive(Debug, PartialEq, Eq)]
struct Metric {
    name: String,
    label: String,
    kind: &'static str,
}

impl Metric {
    fn of(variable: &str) -> Self {
        let labelled = |name: &str, label: &str, value: &str, kind| Self {
            name: format!("mysql_global_status_{name}"),
            label: if label.is_empty() { String::new() } else { format!("{{{label}=\"{value}\"}}") },
            kind,
        };
        const FAMILIES: [(&str, &str, &str); 4] = [
            ("com_", "commands_total", "command"),
            ("handler_", "handlers_total", "handler"),
            ("connection_errors_", "connection_errors_total", "error"),
            ("innodb_rows_", "innodb_row_ops_total", "operation"),
        ];
        for (start, name, label) in FAMILIES {
            if let Some(rest) = variable.strip_prefix(start) {
                return labelled(name, label, rest, "counter");
            }
        }
        match variable.strip_prefix("innodb_buffer_pool_pages_") {
            Some(state @ ("data" | "free" | "misc" | "old")) => {
                labelled("buffer_pool_pages", "state", state, "gauge")
            }
            Some("dirty") => labelled("buffer_pool_dirty_pages", "", "", "gauge"),
            Some("total") | None => labelled(variable, "", "", "untyped"),
            Some(other) => labelled("buffer_pool_page_changes_total", "operation", other, "counter"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_exporter() {
        let metric = |v| {
            let m = Metric::of(v);
            format!("{}{} {}", m.name, m.label, m.kind)
        };
        assert_eq!(metric("com_select"), "mysql_global_status_commands_total{command=\"select\"} counter");
        assert_eq!(metric("threads_connected"), "mysql_global_status_threads_connected untyped");
        assert_eq!(
            metric("innodb_buffer_pool_pages_free"),
            "mysql_global_status_buffer_pool_pages{state=\"free\"} gauge"
        );
        assert_eq!(
            metric("innodb_buffer_pool_pages_dirty"),
            "mysql_global_status_buffer_pool_dirty_pages gauge"
        );
        assert_eq!(
            metric("innodb_buffer_pool_pages_flushed"),
            "mysql_global_status_buffer_pool_page_changes_total{operation=\"flushed\"} counter"
        );
    }

    #[test]
    fn switches_are_numbers_and_texts_are_not() {
        assert_eq!((number("ON"), number("17"), number("TLSv1.3")), (Some(1.0), Some(17.0), None));
    }
}
