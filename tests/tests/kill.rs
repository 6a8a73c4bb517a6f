//! KILL QUERY ends a statement that waits, for whatever it is, or computes, within a tenth of a second, and the connection goes on.

use blackbox::Server;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What the reply may take after the KILL. A busy machine may spoil one try, not all of them.
const LIMIT: Duration = Duration::from_millis(100);
const TRIES: usize = 3;

/// A statement that takes long.
struct Case {
    what: &'static str,
    statement: &'static str,
    /// Statements of another connection, which stays in what they leave.
    blocker: &'static [&'static str],
}

const fn case(what: &'static str, statement: &'static str) -> Case {
    Case { what, statement, blocker: &[] }
}

const fn blocked(what: &'static str, blocker: &'static [&'static str], statement: &'static str) -> Case {
    Case { what, statement, blocker }
}

const WAITING: &[Case] = &[
    case("SLEEP", "SELECT SLEEP(100)"),
    case("SLEEP over rows", "SELECT SUM(SLEEP(0.02)) FROM k.big"),
    blocked("GET_LOCK", &["SELECT GET_LOCK('l', 1)"], "SELECT GET_LOCK('l', 100)"),
    blocked(
        "a row lock",
        &["BEGIN", "UPDATE k.small SET v = 'x' WHERE id = 1"],
        "UPDATE k.small SET v = 'y' WHERE id = 1",
    ),
    blocked(
        "a gap lock",
        &["BEGIN", "SELECT * FROM k.small WHERE id > 1000 FOR UPDATE"],
        "INSERT INTO k.small VALUES (2000, 'z')",
    ),
    blocked(
        "a metadata lock of DDL",
        &["BEGIN", "SELECT * FROM k.small LIMIT 1"],
        "ALTER TABLE k.small ADD COLUMN q INT",
    ),
    blocked("a metadata lock of DML", &["LOCK TABLES k.small WRITE"], "SELECT * FROM k.small"),
    blocked(
        "FLUSH TABLES WITH READ LOCK",
        &["FLUSH TABLES WITH READ LOCK"],
        "INSERT INTO k.target VALUES (NULL, 'x')",
    ),
    blocked("LOCK TABLES", &["LOCK TABLES k.small READ"], "LOCK TABLES k.small WRITE"),
    case("MASTER_GTID_WAIT", "SELECT MASTER_GTID_WAIT('0-99-100000', 100)"),
];

const COMPUTING: &[Case] = &[
    case(
        "a constant that is computed while the statement is planned",
        "SELECT LENGTH(REGEXP_REPLACE(REPEAT('ab', 60000), 'a|b', 'c'))",
    ),
    case(
        "a window of many partitions",
        "SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY v ORDER BY id DESC) n FROM k.rows1) q",
    ),
    case(
        "a window whose frames are as long as the table",
        "SELECT MAX(n) FROM (SELECT MAX(v) OVER (ORDER BY id ROWS BETWEEN 100000 PRECEDING AND 1 PRECEDING) n FROM k.rows1) q",
    ),
];

fn prepare(server: &Server) {
    let mut c = server.client();
    c.run("CREATE DATABASE k");
    c.run("USE k");
    c.run("CREATE TABLE k.small (id INT PRIMARY KEY, v VARCHAR(50))");
    c.run("INSERT INTO k.small VALUES (1, 'a'), (2, 'b'), (3, 'c')");
    for table in ["big", "target"] {
        c.run(&format!("CREATE TABLE k.{table} (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100))"));
    }
    c.run("INSERT INTO k.big (v) SELECT 'row' FROM seq_1_to_1000");
}

/// Time from the KILL to the reply; none when the statement had ended before it.
fn kill_once(server: &Server, case: &Case, statement: &str) -> Option<Duration> {
    let mut blocker = server.client();
    for statement in case.blocker {
        blocker.query(statement).unwrap_or_else(|e| panic!("{}: {statement}: {e}", case.what));
    }
    let mut victim = server.client();
    let id = victim.connection_id;
    let (tell, told) = mpsc::channel();
    let statement = statement.to_owned();
    let thread = std::thread::spawn(move || {
        let outcome = victim.query(&statement).map(drop);
        let _ = tell.send((Instant::now(), outcome));
        victim
    });
    // Long enough to be in the middle of it.
    if let Ok((_, outcome)) = told.recv_timeout(Duration::from_millis(250)) {
        outcome.unwrap_or_else(|e| panic!("{}: {e}", case.what));
        return None;
    }
    let mut killer = server.client();
    let begin = Instant::now();
    killer.run(&format!("KILL QUERY {id}"));
    let answer = told.recv_timeout(Duration::from_secs(20));
    let (when, outcome) = answer.unwrap_or_else(|_| panic!("{}: it does not end", case.what));
    if let Err(e) = outcome {
        assert_eq!(e.code(), 1317, "{}: {e}", case.what);
    }
    let mut victim = thread.join().expect("the victim's thread");
    assert_eq!(victim.rows("SELECT 7"), ["7"], "{}: the connection goes on", case.what);
    Some(when.saturating_duration_since(begin))
}

#[test]
fn statements_that_wait_end_at_once() {
    let server = Server::start(&[]);
    prepare(&server);
    let mut slow = Vec::new();
    for case in WAITING {
        let tries: Vec<Option<Duration>> =
            (0..TRIES).map(|_| kill_once(&server, case, case.statement)).collect();
        assert!(!tries.contains(&None), "{}: it does not wait", case.what);
        if tries.iter().flatten().all(|took| *took >= LIMIT) {
            slow.push(format!("{}: {tries:?}", case.what));
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn statements_that_compute_end_at_once() {
    let server = Server::start(&[]);
    prepare(&server);
    let mut c = server.client();
    c.run("CREATE TABLE k.rows1 (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100), KEY (v))");
    c.run("INSERT INTO k.rows1 (v) SELECT MD5(seq) FROM k.seq_1_to_200000");
    for case in COMPUTING {
        let tries: Vec<Option<Duration>> =
            (0..TRIES).map(|_| kill_once(&server, case, case.statement)).collect();
        assert!(!tries.contains(&None), "{}: it ended before the kill", case.what);
        assert!(tries.iter().flatten().any(|took| *took < LIMIT), "{}: {tries:?}", case.what);
    }
}

#[test]
fn a_commit_that_waits_for_a_replica_ends_at_once_and_is_seen() {
    let server = Server::start(&["--rpl-semi-sync-master-timeout=100000"]);
    prepare(&server);
    let mut c = server.client();
    let case = case("a commit that waits for a replica", "INSERT INTO k.target (v) VALUES ('x')");
    for (round, point) in ["AFTER_COMMIT", "AFTER_SYNC"].into_iter().enumerate() {
        c.run("SET GLOBAL rpl_semi_sync_master_enabled = 0");
        c.run(&format!("SET GLOBAL rpl_semi_sync_master_wait_point = '{point}'"));
        c.run("SET GLOBAL rpl_semi_sync_master_enabled = 1");
        let tries: Vec<Option<Duration>> =
            (0..TRIES).map(|_| kill_once(&server, &case, case.statement)).collect();
        assert!(!tries.contains(&None), "{point}: it does not wait");
        assert!(tries.iter().flatten().any(|took| *took < LIMIT), "{point}: {tries:?}");
        let count = (round + 1) * TRIES;
        assert_eq!(c.rows("SELECT COUNT(*) FROM k.target"), [count.to_string()], "{point}");
    }
}
