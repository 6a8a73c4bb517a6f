//! morse-binlog beside real MariaDB servers: what it prints of a server's log makes the same rows elsewhere, and undoes them.

use std::path::{Path, PathBuf};
use std::process::Command;

use blackbox::mariadb::{MariaDb, pipe};
use blackbox::server::tool;
use blackbox::{Client, Reply};

const WORKLOAD: &[&str] = &[
    "CREATE DATABASE d",
    "USE d",
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a TINYINT, b BIGINT UNSIGNED, c DECIMAL(20,6), d DOUBLE, e FLOAT, f VARCHAR(200) \
     CHARACTER SET utf8mb4, g CHAR(20), h VARBINARY(300), i TEXT, j LONGBLOB, k DATE, l TIME(3), m DATETIME(6), n TIMESTAMP NULL, o YEAR, \
     p BIT(13), q ENUM('x','y','z'), r SET('a','b','c'), s MEDIUMINT, u JSON)",
    "INSERT INTO t VALUES (1,-1,18446744073709551615,-12345.678901,-1e300,1.5,'it''s \u{20ac} \\\\ \\n','c',X'00FF0A27','text',REPEAT('b',70000),\
     '2024-02-29','-12:34:56.789','2024-01-02 03:04:05.678901','2024-01-02 03:04:05',2024,b'1010101010101','y','a,c',-8388608,'{\"a\":1}')",
    "INSERT INTO t (a) VALUES (1),(NULL),(3)",
    "INSERT INTO t (f, h) SELECT REPEAT('f', 150), REPEAT('h', 250) FROM seq_1_to_300",
    "UPDATE t SET f = CONCAT(id, 'é'), b = id WHERE id % 3 = 0",
    "SET binlog_row_image = MINIMAL",
    "UPDATE t SET g = 'minimal' WHERE id % 7 = 0",
    "DELETE FROM t WHERE id % 11 = 0",
    "SET binlog_row_image = FULL",
    "CREATE TABLE u (id INT, v VARCHAR(50), w TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6))",
    "SET binlog_format = STATEMENT",
    "SET @text = 'it''s', @number = -5, @decimal = 1.25, @double = 0.1e0, @none = NULL",
    "INSERT INTO u (id, v) VALUES (@number, @text), (@decimal, @none), (RAND() * 1000, @double)",
    "SET time_zone = '+05:30', timestamp = 1700000000.25",
    "INSERT INTO u (id, v) VALUES (7, NOW(6))",
    "SET timestamp = DEFAULT, sql_mode = 'ANSI_QUOTES'",
    "INSERT INTO u (id, v) SELECT LAST_INSERT_ID(), 'back\\\\slash' FROM seq_1_to_3",
    "SET binlog_format = ROW, sql_mode = DEFAULT",
    "BEGIN",
    "INSERT INTO u (id) VALUES (100)",
    "SAVEPOINT s",
    "INSERT INTO u (id) VALUES (101)",
    "ROLLBACK TO s",
    "UPDATE t SET i = 'in a transaction' WHERE id < 5",
    "COMMIT",
    "XA START 'x', 'y', 3",
    "INSERT INTO u (id, v) VALUES (200, 'xa')",
    "XA END 'x', 'y', 3",
    "XA PREPARE 'x', 'y', 3",
    "XA COMMIT 'x', 'y', 3",
    "ALTER TABLE u ADD COLUMN x INT DEFAULT 9",
    "SET GLOBAL log_bin_compress = ON",
    "INSERT INTO u (id, v) SELECT seq, REPEAT('z', 50) FROM seq_1_to_400",
    "SET GLOBAL log_bin_compress = OFF",
    "CREATE TABLE gone (a INT)",
    "DROP TABLE gone",
    "RENAME TABLE u TO `odd``name`",
];

fn morse_binlog(arguments: &[String]) -> Vec<u8> {
    let output = Command::new(tool("morse-binlog")).args(arguments).output().expect("morse-binlog runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The log files of a server, oldest first, the one being written left out.
fn files(server: &MariaDb) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(server.data())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e.len() == 6 && e.to_string_lossy().parse::<u32>().is_ok()))
        .collect();
    names.sort();
    names.pop();
    names
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// CHECKSUM TABLE of every table of the database.
fn checksums(client: &mut Client) -> Vec<String> {
    let names = client.rows(
        "SELECT CONCAT('`d`.`', REPLACE(table_name, '`', '``'), '`') FROM information_schema.tables WHERE table_schema = 'd' ORDER BY 1",
    );
    assert!(!names.is_empty());
    names.iter().flat_map(|name| client.rows(&format!("CHECKSUM TABLE {name}"))).collect()
}

fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.run(sql);
    }
}

#[test]
fn a_server_that_runs_the_text_has_the_same_rows() {
    let options = ["--log-bin=log", "--server-id=5", "--binlog-format=ROW"];
    let (Some(origin), Some(copy)) = (MariaDb::start(&options), MariaDb::start(&[])) else { return };
    let mut client = origin.client();
    run(&mut client, WORKLOAD);
    client.run("FLUSH BINARY LOGS");
    let files = files(&origin);
    let sql = morse_binlog(&files.iter().map(|p| text(p)).collect::<Vec<_>>());
    pipe(&copy.socket(), &sql).unwrap();
    assert_eq!(checksums(&mut copy.client()), checksums(&mut client));

    // The server itself sends the same.
    let name = files[0].file_name().unwrap().to_string_lossy().into_owned();
    let remote = ["-R".to_owned(), "--socket".into(), text(&origin.socket()), name.clone()];
    assert_eq!(morse_binlog(&remote), morse_binlog(&[text(&files[0])]));
    let scratch = tempfile::tempdir().unwrap();
    let prefix = format!("--result-file={}/raw-", scratch.path().display());
    let raw: Vec<String> = [&["--raw".to_owned(), prefix][..], &remote].concat();
    morse_binlog(&raw);
    let same = std::fs::read(scratch.path().join(format!("raw-{name}"))).unwrap()
        == std::fs::read(&files[0]).unwrap();
    assert!(same, "--raw writes the file as the server has it");
}

#[test]
fn flashback_undoes_the_changes_of_rows() {
    let options = ["--log-bin=log", "--server-id=5", "--binlog-format=ROW"];
    let Some(server) = MariaDb::start(&options) else { return };
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), w BLOB)",
            "CREATE TABLE u (a INT, b TEXT)",
            "INSERT INTO t SELECT seq, CONCAT('v', seq), REPEAT('w', seq) FROM seq_1_to_300",
            "INSERT INTO u VALUES (1, 'one'), (1, 'one'), (2, NULL)",
        ],
    );
    let before = checksums(&mut client);
    client.run("FLUSH BINARY LOGS");
    let Reply::Rows { rows, .. } = client.run("SHOW MASTER STATUS") else { panic!("no status") };
    let file = server.data().join(rows[0][0].as_deref().unwrap());
    run(
        &mut client,
        &[
            "UPDATE t SET v = 'changed' WHERE id > 100",
            "BEGIN",
            "DELETE FROM t WHERE id < 150",
            "INSERT INTO t VALUES (1, 'again', NULL)",
            "UPDATE t SET v = 'twice', w = NULL WHERE id = 1",
            "DELETE FROM u WHERE b = 'one'",
            "COMMIT",
            "INSERT INTO u VALUES (3, 'three')",
            "FLUSH BINARY LOGS",
        ],
    );
    assert_ne!(checksums(&mut client), before);
    let sql = morse_binlog(&["--flashback".to_owned(), text(&file)]);
    pipe(&server.socket(), &sql).unwrap();
    assert_eq!(checksums(&mut client), before);
}
