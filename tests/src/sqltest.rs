//! The text format of `tests/sql/*.test`: a statement, then what it answers.
//!
//! # Layout
//! ```text
//! # a comment
//! SELECT 1, NULL;            a statement ends with ';' at the end of a line
//! 1<TAB>NULL                 its rows, one a line; NULL is NULL; tabs, newlines and backslashes are \t \n \\
//!                            an empty line ends the answer
//! @b SELECT 2;               runs on connection b (the default is a)
//! 2
//!
//! INSERT INTO t VALUES (1);
//! = 1                        rows affected, when not 0
//!
//! SELECT nope;
//! ! 1054 42S22 Unknown column 'nope' in 'SELECT'
//!
//! $$ CREATE PROCEDURE p()     up to '$$' at the end of a line: a text with ';' in it
//! BEGIN
//!   SELECT 1; SELECT 2;
//! END$$
//!
//! CALL p();
//! 1
//! --                         between the answers of one statement
//! 2
//! --
//!
//! ```
//! Each file runs in a fresh database `t`. Expected results are recorded from a real MariaDB, so they cannot drift.

use crate::client::{Client, Failure, Reply};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::Server;

/// One statement of a file with its expected answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Comment lines and blank lines before it, kept when recording.
    pub before: String,
    pub connection: String,
    pub sql: String,
    /// Its text ends with `$$`.
    pub long: bool,
    pub expected: Vec<String>,
    pub line: usize,
}

/// Splits a file into steps; text after the last step comes second.
pub fn parse(text: &str) -> (Vec<Step>, String) {
    let mut steps = Vec::new();
    let mut before = String::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            before.push_str(line);
            before.push('\n');
            continue;
        }
        let (connection, first) = match line.strip_prefix('@').and_then(|l| l.split_once(' ')) {
            Some((name, rest)) if name.chars().all(|c| c.is_ascii_lowercase()) => (name.to_owned(), rest),
            _ => ("a".to_owned(), line),
        };
        let long = first.starts_with("$$ ");
        let end = if long { "$$" } else { ";" };
        let mut sql = first.strip_prefix("$$ ").unwrap_or(first).to_owned();
        while !sql.ends_with(end) {
            let Some((_, next)) = lines.next() else { break };
            sql.push('\n');
            sql.push_str(next);
        }
        let mut expected = Vec::new();
        while let Some((_, next)) = lines.next_if(|(_, l)| !l.is_empty()) {
            expected.push(next.to_owned());
        }
        lines.next_if(|(_, l)| l.is_empty());
        sql.truncate(sql.len() - sql.strip_suffix(end).map_or(0, |_| end.len()));
        steps.push(Step {
            before: std::mem::take(&mut before),
            connection,
            sql,
            long,
            expected,
            line: at + 1,
        });
    }
    (steps, before)
}

fn escaped(cell: &str) -> String {
    cell.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\0', "\\0")
}

/// The answer as the file shows it.
pub fn shown(answer: &Result<Reply, Failure>) -> Vec<String> {
    match answer {
        Err(e) => vec![format!("! {}", escaped(&e.to_string()))],
        Ok(Reply::Ok { affected: 0, .. }) => Vec::new(),
        Ok(Reply::Ok { affected, .. }) => vec![format!("= {affected}")],
        Ok(Reply::Rows { rows, .. }) => {
            let cell = |c: &Option<String>| c.as_deref().map_or_else(|| "NULL".into(), escaped);
            let line = |r: &Vec<Option<String>>| r.iter().map(cell).collect::<Vec<_>>().join("\t");
            // A row of one empty value would look like the end of the answer.
            rows.iter().map(line).map(|l| if l.is_empty() { "\\e".into() } else { l }).collect()
        }
    }
}

/// Runs every `.test` file of a folder of `tests` that SQL_TEST_FILE names (all without it) on a server with these options, or, with
/// SQL_TEST_SOCKET, on the MariaDB behind that socket; with SQL_TEST_RECORD writes the answers, else panics where they differ.
pub fn run_folder(name: &str, options: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("a folder of tests").map(|e| e.expect("an entry").path()).collect();
    let filter = std::env::var("SQL_TEST_FILE").unwrap_or_default();
    files.retain(|f| f.extension().is_some_and(|e| e == "test") && f.to_string_lossy().contains(&filter));
    files.sort();
    assert!(!files.is_empty(), "no test files");
    let socket = std::env::var("SQL_TEST_SOCKET").ok();
    let server = socket.is_none().then(|| Server::start(options));
    let connect = || match (&socket, &server) {
        (Some(path), _) => Client::unix(Path::new(path)).expect("the reference server"),
        (None, Some(server)) => server.client(),
        (None, None) => unreachable!("one of both is there"),
    };
    let mut failed = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let (differences, recorded) = run(&text, connect);
        if std::env::var_os("SQL_TEST_RECORD").is_some() {
            std::fs::write(&file, recorded).expect("written");
        } else if !differences.is_empty() {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            failed.push(format!("{name}:\n{}", differences.join("\n")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Runs a file; returns what differs, and the file as this server would have it.
pub fn run(text: &str, mut connect: impl FnMut() -> Client) -> (Vec<String>, String) {
    let mut setup = connect();
    setup.run("DROP DATABASE IF EXISTS t");
    setup.run("CREATE DATABASE t");
    let mut clients: BTreeMap<String, Client> = BTreeMap::new();
    let (steps, tail) = parse(text);
    let mut differences = Vec::new();
    let mut recorded = String::new();
    for step in steps {
        let client = clients.entry(step.connection.clone()).or_insert_with(|| {
            let mut c = connect();
            c.run("USE t");
            c
        });
        let mut got = Vec::new();
        for (n, reply) in client.query_all(&step.sql).iter().enumerate() {
            if n > 0 {
                got.push("--".to_owned());
            }
            got.extend(shown(reply));
        }
        if got != step.expected {
            differences.push(format!(
                "line {}: {}\n  expected: {}\n  got:      {}",
                step.line,
                step.sql,
                step.expected.join("\n            "),
                got.join("\n            ")
            ));
        }
        let prefix = if step.connection == "a" { String::new() } else { format!("@{} ", step.connection) };
        let (start, end) = if step.long { ("$$ ", "$$") } else { ("", ";") };
        let _ = writeln!(recorded, "{}{prefix}{start}{}{end}", step.before, step.sql);
        for line in got {
            let _ = writeln!(recorded, "{line}");
        }
        recorded.push('\n');
    }
    recorded.push_str(&tail);
    (differences, recorded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_statements_and_their_answers() {
        let (steps, tail) =
            parse("# first\nSELECT 1,\n 2;\n1\t2\n\n@b DO 1;\n\nSELECT x;\n! 1054 42S22 no\n");
        assert_eq!(tail, "");
        assert_eq!(steps.len(), 3);
        assert_eq!(
            (steps[0].sql.as_str(), steps[0].expected.len(), steps[0].before.as_str()),
            ("SELECT 1,\n 2", 1, "# first\n")
        );
        assert_eq!((steps[1].connection.as_str(), steps[1].expected.len()), ("b", 0));
        assert_eq!(steps[2].expected, ["! 1054 42S22 no"]);
        let (steps, _) = parse("$$ CREATE PROCEDURE p()\nBEGIN SELECT 1;\nEND$$\n\n@b CALL p();\n1\n--\n");
        assert_eq!(
            (steps[0].sql.as_str(), steps[0].long),
            ("CREATE PROCEDURE p()\nBEGIN SELECT 1;\nEND", true)
        );
        assert_eq!(steps[1].expected, ["1", "--"]);
    }
}
