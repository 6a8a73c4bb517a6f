//! morse-binlog over this server's own log, also after kill -9: text, classic files, and what is damaged.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use blackbox::mariadb::{MariaDb, pipe};
use blackbox::server::tool;
use blackbox::{Client, Server};

const TABLES: [&str; 4] = ["d.t", "d.u", "d.v", "d.quoted"];

const WORKLOAD: &[&str] = &[
    "CREATE DATABASE d CHARACTER SET utf8mb4",
    "USE d",
    "CREATE TABLE t (id INT PRIMARY KEY, a TINYINT, b BIGINT UNSIGNED, c DECIMAL(20,6), d DOUBLE, e FLOAT, f VARCHAR(200), g CHAR(20), \
     h VARBINARY(300), i TEXT, j LONGBLOB, k DATE, l TIME(3), m DATETIME(6), n TIMESTAMP NULL, o YEAR, p BIT(13), \
     q ENUM('x','y','z'), r SET('a','b','c'), s MEDIUMINT) CHARACTER SET utf8mb4",
    "INSERT INTO t VALUES (1,-1,18446744073709551615,-12345.678901,-1e300,1.5,'it''s \u{20ac} \\\\ \\n','c',X'00FF0A27','text',\
     REPEAT('b',70000),'2024-02-29','-12:34:56.789','2024-01-02 03:04:05.678901','2024-01-02 03:04:05',2024,b'1010101010101','y','a,c',\
     -8388608)",
    "INSERT INTO t (id, f) VALUES (2, 'two'), (3, 'three'), (4, NULL)",
    "INSERT INTO t (id, f, h) SELECT id + 10, REPEAT('f', 150), REPEAT('h', 250) FROM t",
    "UPDATE t SET f = CONCAT(id, 'é'), b = id WHERE id > 2",
    "SET binlog_row_image = MINIMAL",
    "UPDATE t SET g = 'minimal' WHERE id > 10",
    "DELETE FROM t WHERE id = 3",
    "SET binlog_row_image = FULL",
    "CREATE TABLE u (a INT, b VARCHAR(50) DEFAULT 'default') CHARACTER SET utf8mb4",
    "INSERT INTO u VALUES (1, 'one'), (2, NULL), (3, REPEAT('z', 40))",
    "FLUSH LOGS",
    "DELETE FROM u WHERE a = 1",
    "CREATE TABLE v (k INT NOT NULL AUTO_INCREMENT PRIMARY KEY, w INT UNIQUE)",
    "INSERT INTO v (w) VALUES (10), (20), (30)",
    "UPDATE v SET k = k + 100, w = w + 1 WHERE w = 20",
    "BEGIN",
    "INSERT INTO u VALUES (100, 'in a transaction')",
    "SAVEPOINT s",
    "INSERT INTO u VALUES (101, 'undone')",
    "ROLLBACK TO s",
    "DELETE FROM v WHERE w = 10",
    "COMMIT",
    "BEGIN",
    "INSERT INTO u VALUES (102, 'never committed')",
    "ROLLBACK",
    "ALTER TABLE u ADD COLUMN c INT DEFAULT 9",
    "INSERT INTO u VALUES (103, 'behind', 7)",
    "SET NAMES latin1",
    "CREATE TABLE lat (a INT, b VARCHAR(20) DEFAULT 'plain')",
    "SET NAMES utf8mb4",
    "CREATE VIEW vw AS SELECT a, b FROM u",
    "CREATE TRIGGER tr AFTER INSERT ON v FOR EACH ROW INSERT INTO u (a, b) VALUES (NEW.k, 'by the trigger')",
    "CREATE PROCEDURE p(n INT) BEGIN INSERT INTO v (w) VALUES (n); UPDATE u SET b = 'p' WHERE a = n; END",
    "CALL p(500)",
    "CALL p(100)",
    "XA START 'x'",
    "INSERT INTO v (w) VALUES (2000)",
    "UPDATE u SET b = 'xa' WHERE a = 100",
    "XA END 'x'",
    "XA PREPARE 'x'",
    "XA COMMIT 'x'",
    "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
    "CREATE TABLE \"quoted\" (a INT, \"b c\" VARCHAR(9) DEFAULT '\\')",
    "INSERT INTO \"quoted\" VALUES (1, '\\n')",
    "SET sql_mode = DEFAULT",
    "SET foreign_key_checks = 0, unique_checks = 0",
    "UPDATE u, v SET u.b = 'both', v.w = v.w + 1 WHERE v.k = 101",
    "SET foreign_key_checks = 1, unique_checks = 1",
    // A statement about a database makes mariadb-binlog say the next one's `use` again.
    "CREATE DATABASE other",
    "CREATE TABLE other.x (a INT) /*! COMMENT = 'to its end' */",
    "DROP DATABASE other",
];

fn morse_binlog(arguments: &[&str]) -> Output {
    Command::new(tool("morse-binlog")).args(arguments).output().expect("morse-binlog runs")
}

fn text_of(arguments: &[&str]) -> Vec<u8> {
    let output = morse_binlog(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn checksums(client: &mut Client) -> Vec<String> {
    TABLES.iter().flat_map(|table| client.rows(&format!("CHECKSUM TABLE {table}"))).collect()
}

/// A server that was killed behind the workload, its log, and the checksums of its tables.
fn killed() -> (Server, String, Vec<String>) {
    let mut server = Server::start(&[]);
    let mut client = server.client();
    for sql in WORKLOAD {
        client.run(sql);
    }
    let sums = checksums(&mut client);
    server.kill();
    let log = server.data().join("log").display().to_string();
    (server, log, sums)
}

#[test]
fn a_killed_servers_log_makes_its_rows_elsewhere() {
    let (_server, log, sums) = killed();
    let sql = text_of(&[&log]);
    let copy = Server::start(&[]);
    pipe(&copy.socket(), &sql).unwrap();
    assert_eq!(checksums(&mut copy.client()), sums);
    if let Some(mariadb) = MariaDb::start(&[]) {
        pipe(&mariadb.socket(), &sql).unwrap();
        assert_eq!(checksums(&mut mariadb.client()), sums);
    }
}

#[test]
fn converted_files_are_mariadbs() {
    let (_server, log, sums) = killed();
    let scratch = tempfile::tempdir().unwrap();
    let prefix = format!("--result-file={}/classic", scratch.path().display());
    text_of(&["--convert", &prefix, &log]);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(scratch.path()).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 2, "FLUSH LOGS began another file: {files:?}");
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    text_of(&[&["--verify"], &names[..]].concat());
    let ours = text_of(&names);
    let theirs = Command::new("mariadb-binlog").arg("--no-defaults").args(&names).output();
    let Ok(theirs) = theirs else {
        return println!("skipped: no mariadb-binlog on this machine (cargo xtask test installs it)");
    };
    assert!(theirs.status.success(), "{}", String::from_utf8_lossy(&theirs.stderr));
    // What the statements are does not depend on the tool's version; what its comments say does.
    let statements = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(statements(&ours), statements(&theirs.stdout));
    if let Some(mariadb) = MariaDb::start(&[]) {
        pipe(&mariadb.socket(), &theirs.stdout).unwrap();
        assert_eq!(checksums(&mut mariadb.client()), sums);
    }
}

#[test]
fn damage_is_named_with_its_place() {
    let (_server, log, _) = killed();
    let sound = text_of(&["--verify", &log]);
    assert!(String::from_utf8_lossy(&sound).lines().all(|line| line.contains(": ok, ")));
    let first = Path::new(&log).join("000001.seg");
    let mut bytes = std::fs::read(&first).unwrap();
    // A byte of the 70,000 that one row brought.
    let at = bytes.windows(64).position(|w| w.iter().all(|b| *b == b'b')).expect("the row's bytes") + 32;
    bytes[at] ^= 1;
    std::fs::write(&first, &bytes).unwrap();
    let output = morse_binlog(&["--verify", &log]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("DAMAGED") && said.contains("000001"), "{said}");
}
