//! The log gives its space back: checkpoints follow the writes, whatever is old and unfinished beside them.
//!
//! A checkpoint's redo start is the oldest change that is not in its data file. The page cleaner writes such pages by the age of their changes, from half of
//! innodb_log_file_size on, so up to there the redo start may stay where it is through any number of checkpoints; beyond it never does.

use std::path::Path;
use std::time::{Duration, Instant};

use blackbox::{Client, Server};

const LOG_FILE_SIZE: u64 = 4 << 20;

fn log_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("the log's folder");
    let segments =
        entries.map(|e| e.expect("an entry").path()).filter(|p| p.extension().is_some_and(|e| e == "seg"));
    segments.map(|p| p.metadata().map_or(0, |m| m.len())).sum()
}

fn status(c: &mut Client, name: &str) -> u64 {
    let row = c.rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).remove(0);
    row.split('\t').nth(1).and_then(|n| n.parse().ok()).expect("a number")
}

/// Looks until it holds.
fn eventually(what: &str, mut holds: impl FnMut() -> Result<(), String>) {
    let begin = Instant::now();
    loop {
        match holds() {
            Ok(()) => return,
            Err(found) => assert!(begin.elapsed() < Duration::from_secs(120), "{what}: {found}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn write_much(c: &mut Client) {
    for round in 0..300 {
        c.run(&format!("UPDATE k.hot SET v = REPEAT(CHAR(65 + {round} % 26), 1000)"));
    }
}

#[test]
fn the_redo_start_moves_and_space_comes_back_beside_what_is_old() {
    let server = Server::start(&[
        "--log-bin",
        "--max-binlog-size=1M",
        &format!("--innodb-log-file-size={LOG_FILE_SIZE}"),
    ]);
    let mut c = server.client();
    c.run("CREATE DATABASE k");
    c.run("CREATE TABLE k.hot (id INT PRIMARY KEY, v VARCHAR(2000))");
    c.run("CREATE TABLE k.cold (id INT PRIMARY KEY, v VARCHAR(2000))");
    let rows: Vec<String> = (0..50).map(|id| format!("({id}, 'x')")).collect();
    c.run(&format!("INSERT INTO k.hot VALUES {}", rows.join(",")));
    let (mut open, mut reader, mut prepared) = (server.client(), server.client(), server.client());
    open.run("BEGIN");
    open.run("INSERT INTO k.cold VALUES (1, 'open')");
    prepared.run("XA START 'old'");
    prepared.run("INSERT INTO k.cold VALUES (2, 'prepared')");
    prepared.run("XA END 'old'");
    prepared.run("XA PREPARE 'old'");
    reader.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    let before = reader.rows("SELECT COUNT(*) FROM k.hot WHERE v = 'x'");

    write_much(&mut c);
    eventually("the redo start follows", || {
        // Something to take a checkpoint for.
        c.run("UPDATE k.hot SET v = CONCAT('y', id) WHERE id = 1");
        let age = status(&mut c, "Innodb_checkpoint_age");
        if age <= LOG_FILE_SIZE { Ok(()) } else { Err(format!("{age} bytes behind")) }
    });
    assert_eq!(reader.rows("SELECT COUNT(*) FROM k.hot WHERE v = 'x'"), before, "the old snapshot is whole");

    open.run("COMMIT");
    reader.run("COMMIT");
    prepared.run("XA COMMIT 'old'");
    write_much(&mut c);
    let folder = server.data().join("log");
    eventually("space comes back", || {
        c.run("UPDATE k.cold SET v = CONCAT('z', v) WHERE id = 1");
        let newest = c.rows("SHOW BINARY LOGS").pop().expect("a file");
        c.run(&format!("PURGE BINARY LOGS TO '{}'", newest.split('\t').next().expect("a name")));
        let bytes = log_bytes(&folder);
        if bytes <= 3 * LOG_FILE_SIZE { Ok(()) } else { Err(format!("{bytes} bytes of log")) }
    });
    assert_eq!(c.rows("SELECT COUNT(*) FROM k.cold"), ["2"]);
}
