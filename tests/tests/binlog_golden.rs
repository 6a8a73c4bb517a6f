//! The same statements on a real MariaDB 11.8 and here: the events must be the same, but for times, positions and numbers.

use blackbox::Client;
use blackbox::mariadb::MariaDb;
use blackbox::server::Server;
use event_format::{Checksum, Event, StatusVariable, StatusVariables};

const COM_BINLOG_DUMP: u8 = 0x12;

/// Events that a dump of everything gives, without those of files.
fn dump(mut client: Client) -> Vec<String> {
    client.run("SET @master_binlog_checksum = @@global.binlog_checksum");
    client.run("SET @mariadb_slave_capability = 4");
    client.run("SET @slave_connect_state = ''");
    let mut request = vec![4, 0, 0, 0];
    // Ends at the end, with annotations.
    request.extend_from_slice(&[3, 0]);
    request.extend_from_slice(&77u32.to_le_bytes());
    client.send(COM_BINLOG_DUMP, &request).expect("a dump");
    let mut told = Vec::new();
    loop {
        let packet = client.receive().expect("an event");
        match packet[0] {
            0 => told.extend(describe(&packet[1..])),
            0xfe => return told,
            _ => panic!("{}", String::from_utf8_lossy(&packet)),
        }
    }
}

/// An event in words, without what differs from server to server; `None` for events of files.
fn describe(bytes: &[u8]) -> Option<String> {
    let (header, event) = event_format::read(bytes, Checksum::Crc32).expect("an event");
    let what = match event {
        Event::Gtid(g) => format!("flags {:#x}, extra {:#x}", g.flags, g.flags_extra),
        Event::Query(q) => {
            let mut status = Vec::new();
            for variable in StatusVariables::new(q.status) {
                match variable.expect("a status variable") {
                    // The last: of servers with default collations that a session may change.
                    StatusVariable::DdlXid(_)
                    | StatusVariable::Microseconds(_)
                    | StatusVariable::CharsetCollations(_) => {}
                    StatusVariable::AlterFlags { flags, .. } => status.push(format!("phase {flags:#x}")),
                    other => status.push(format!("{other:?}")),
                }
            }
            let (database, sql) = (String::from_utf8_lossy(q.database), String::from_utf8_lossy(&q.sql));
            format!("{database}: {sql} [{}] error {}", status.join(" "), q.head.error_code)
        }
        Event::Annotate(a) => String::from_utf8_lossy(a.text).into_owned(),
        Event::TableMap(map) => format!(
            "{} flags {} types {:?} metadata {:?} nullable {:?} optional {:?}",
            String::from_utf8_lossy(map.table),
            map.flags,
            map.types,
            map.metadata,
            map.nullable.0,
            map.optional
        ),
        Event::Rows(rows) => format!(
            "flags {:#x} columns {:?} after {:?} images {}",
            rows.flags,
            rows.present.0,
            rows.present_after.map(|b| b.0.to_vec()),
            rows.images.iter().map(|b| format!("{b:02x}")).collect::<String>()
        ),
        Event::Xid(_) => String::new(),
        _ => return None,
    };
    Some(format!("{} {:#x} {what}", header.kind, header.flags))
}

/// What is known to differ: see docs/compatibility.md.
const STATEMENTS: &[&str] = &[
    "SET NAMES utf8mb4",
    "CREATE DATABASE g",
    "USE g",
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a TINYINT, b BIGINT UNSIGNED, c DECIMAL(20,6), d DOUBLE, e FLOAT, \
     f VARCHAR(200) CHARACTER SET utf8mb4, g CHAR(20) CHARACTER SET latin1, h VARBINARY(300), i TEXT, j LONGBLOB, k DATE, l TIME(3), \
     m DATETIME(6), n TIMESTAMP NULL, o YEAR, p BIT(13), q ENUM('x','y','z'), r SET('a','b','c'), s MEDIUMINT, KEY (a))",
    "INSERT INTO t VALUES (1,-1,18446744073709551615,-12345.678901,-1e300,1.5,'it''s \u{20ac}','c',X'00FF0A27','text',REPEAT('b',70000),\
     '2024-02-29','-12:34:56.789','2024-01-02 03:04:05.678901','2024-01-02 03:04:05',2024,b'1010101010101','y','a,c',-8388608)",
    "INSERT INTO t (a) VALUES (1),(NULL),(3)",
    "UPDATE t SET f = CONCAT(id, 'x'), b = id WHERE id > 1",
    "UPDATE t SET id = 50, a = 7 WHERE id = 3",
    "UPDATE t SET a = 1 WHERE id = 2",
    "INSERT INTO t (id, a) VALUES (50, 1) ON DUPLICATE KEY UPDATE a = 9",
    "DELETE FROM t WHERE id = 1",
    "SET foreign_key_checks = 0, unique_checks = 0",
    "INSERT INTO t (id, a) VALUES (60, 5)",
    "SET foreign_key_checks = 1, unique_checks = 1",
    "SET binlog_row_image = MINIMAL",
    "UPDATE t SET a = 100 WHERE id = 50",
    "DELETE FROM t WHERE id = 50",
    "SET binlog_row_image = FULL_NODUP",
    "UPDATE t SET a = 44 WHERE id = 4",
    "SET binlog_row_image = FULL",
    "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE w (id INT PRIMARY KEY, v INT)",
    "BEGIN",
    "INSERT INTO u VALUES (1, 1), (2, 2)",
    "INSERT INTO w VALUES (1, 1), (2, 2)",
    "DELETE FROM u WHERE id = 77",
    "COMMIT",
    "UPDATE u, w SET u.v = 9, w.v = 8 WHERE u.id = w.id AND u.id = 1",
    "BEGIN",
    "INSERT INTO u VALUES (5, 5)",
    "ROLLBACK",
    "BEGIN",
    "SAVEPOINT nothing_yet",
    "INSERT INTO u VALUES (10, 10)",
    "SAVEPOINT a",
    "INSERT INTO u VALUES (11, 11)",
    "SAVEPOINT `inner`",
    "ROLLBACK TO a",
    "SAVEPOINT `b``c`",
    "UPDATE u SET v = 12 WHERE id = 10",
    "INSERT INTO u VALUES (13, 13)",
    "RELEASE SAVEPOINT `b``c`",
    "SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')",
    "SAVEPOINT \"d`e\"",
    "COMMIT",
    "SET sql_mode = DEFAULT",
    "BEGIN",
    "SAVEPOINT a",
    "INSERT INTO u VALUES (14, 14)",
    "SAVEPOINT gone",
    "ROLLBACK TO a",
    "SAVEPOINT gone",
    "COMMIT",
    "XA START 'b'",
    "INSERT INTO u VALUES (15, 15)",
    "SAVEPOINT x",
    "INSERT INTO u VALUES (16, 16)",
    "ROLLBACK TO x",
    "XA END 'b'",
    "XA PREPARE 'b'",
    "XA COMMIT 'b'",
    "SET sql_log_bin = 0",
    "INSERT INTO u VALUES (6, 6)",
    "SET sql_log_bin = 1",
    "TRUNCATE TABLE u",
    "ALTER TABLE w ADD COLUMN x INT DEFAULT 3",
    "RENAME TABLE w TO w2",
    "INSERT INTO w2 VALUES (9, 9, 9)",
    "CREATE INDEX i ON w2 (x)",
    "DROP INDEX i ON w2",
    "SET binlog_alter_two_phase = ON",
    "ALTER TABLE w2 ADD COLUMN y INT",
    "ALTER TABLE w2 ADD COLUMN IF NOT EXISTS y INT",
    "CREATE INDEX iy ON w2 (y)",
    "DROP INDEX iy ON w2",
    "INSERT INTO w2 VALUES (10, 9, 9, 9), (11, 9, 9, 9)",
    "! ALTER TABLE w2 ADD UNIQUE (v)",
    "! ALTER TABLE w2 DROP COLUMN nope",
    "ALTER TABLE w2 RENAME TO w3",
    "ALTER TABLE w3 RENAME w2, ADD COLUMN z INT",
    "ALTER TABLE w2 FORCE",
    "ALTER TABLE w2 COMMENT 'c'",
    "ALTER TABLE w2 AUTO_INCREMENT = 5",
    "CREATE TEMPORARY TABLE passing (a INT)",
    "ALTER TABLE passing ADD COLUMN b INT",
    "DROP TEMPORARY TABLE passing",
    "SET binlog_alter_two_phase = OFF",
    "CREATE TABLE IF NOT EXISTS u (id INT)",
    "DROP TABLE u, w2",
    "DROP TABLE IF EXISTS nope, t",
    "DROP TABLE IF EXISTS nope",
    "DROP DATABASE g",
];

/// Before 11.4 there is no FULL_NODUP, and a GTID event does not name the connection.
fn is_recent(client: &mut Client) -> bool {
    let version = client.rows("SELECT VERSION()").join("");
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next(), parts.next()) >= (Some(11), Some(4))
}

/// Every image of every kind of statement: named, defaulted, generated and automatic columns, keys of all kinds, REPLACE.
fn image_statements(image: &str) -> Vec<String> {
    const WITH: &[&str] = &[
        "CREATE DATABASE gi",
        "USE gi",
        "SET binlog_row_image = FULL, timestamp = 1700000000",
        "CREATE TABLE m (id INT PRIMARY KEY AUTO_INCREMENT, a INT DEFAULT 5, b VARCHAR(20), c INT, \
         ts TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, gs INT AS (a+1) STORED, gv INT AS (a+2) VIRTUAL, \
         x BLOB, y TEXT DEFAULT 'q', ex INT DEFAULT (1+1))",
        "CREATE TABLE np (a INT, b VARCHAR(20), g INT AS (a+1) STORED)",
        "CREATE TABLE un (a INT NOT NULL, b VARCHAR(20), c INT, k INT NOT NULL, PRIMARY KEY (a), UNIQUE u1 (c), UNIQUE u2 (b))",
        "CREATE TABLE nn (a INT NOT NULL, b VARCHAR(20), UNIQUE (a))",
        "SET binlog_row_image = IMAGE",
        "INSERT INTO m (b) VALUES ('i1')",
        "INSERT INTO m (id, b) VALUES (10, 'i2')",
        "INSERT INTO m SET c = 3",
        "INSERT INTO m () VALUES ()",
        "INSERT INTO m (id, a) VALUES (20, DEFAULT)",
        "INSERT INTO m (id, x, y) VALUES (30, REPEAT('x', 20000), REPEAT('y', 20000))",
        "SET timestamp = 1700000100",
        "UPDATE m SET b = 'i1', c = 4 WHERE id = 10",
        "UPDATE m SET c = 4 WHERE id = 10",
        "UPDATE m SET a = 6 WHERE id = 10",
        "UPDATE m SET a = 7 WHERE id = 30",
        "UPDATE m SET y = 'short' WHERE id = 30",
        "UPDATE m SET x = REPEAT('z', 30000), c = 1 WHERE id = 30",
        "UPDATE m SET id = 31 WHERE id = 30",
        "UPDATE m SET b = CONCAT(id, 'b'), c = c",
        "INSERT INTO m (id, b) VALUES (10, 'x') ON DUPLICATE KEY UPDATE c = 99",
        "INSERT INTO m (id, b) VALUES (40, 'x') ON DUPLICATE KEY UPDATE c = 99",
        "REPLACE INTO m (id, b) VALUES (40, 'rep')",
        "REPLACE INTO m (id, b) VALUES (41, 'rep')",
        "DELETE FROM m WHERE id = 31",
        "DELETE FROM m WHERE id > 30",
        "INSERT INTO np (a, b) VALUES (1, 'x'), (2, 'y')",
        "INSERT INTO np (a) VALUES (3)",
        "UPDATE np SET a = 9 WHERE a = 1",
        "DELETE FROM np WHERE a = 2",
        "INSERT INTO un VALUES (1, 'a', 1, 1), (2, 'b', 2, 2), (3, 'c', 3, 3)",
        "REPLACE INTO un VALUES (1, 'z', 9, 9)",
        "REPLACE INTO un VALUES (8, 'b', 9, 9)",
        "REPLACE INTO un VALUES (8, 'b', 8, 9)",
        "REPLACE INTO un (a, b, c, k) VALUES (3, 'c', 8, 9)",
        "REPLACE INTO un VALUES (3, 'c', 8, 9)",
        "UPDATE un SET k = 100",
        "INSERT INTO nn VALUES (1, 'x'), (2, 'y')",
        "UPDATE nn SET b = 'z' WHERE a = 1",
        "DELETE FROM nn WHERE a = 2",
        "INSERT INTO nn (a) SELECT 7",
        "UPDATE m, nn SET m.b = 'mt', nn.b = 'two' WHERE m.id = 10 AND nn.a = 1",
        "INSERT INTO nn VALUES (50, 'one'), (51, 'two')",
        "UPDATE nn SET a = 52, b = 'kept' WHERE a = 51",
        "SET timestamp = DEFAULT, binlog_row_image = FULL",
        "DROP DATABASE gi",
    ];
    WITH.iter().map(|sql| sql.replace("IMAGE", image)).collect()
}

fn run(client: &mut Client, recent: bool) {
    // A running server may have another format: MIXED is MariaDB's default.
    client.run("SET binlog_format = ROW");
    for sql in STATEMENTS {
        match sql.strip_prefix("! ") {
            Some(refused) => drop(client.query(refused).expect_err(refused)),
            None if recent || !sql.contains("FULL_NODUP") => drop(client.run(sql)),
            None => {}
        }
    }
    for image in ["MINIMAL", "NOBLOB", "FULL", "FULL_NODUP"] {
        for sql in image_statements(image) {
            client.run(&sql);
        }
    }
}

#[test]
fn events_are_those_of_a_real_server() {
    let options = ["--log-bin=log", "--server-id=5", "--binlog-format=ROW"];
    // GOLDEN_SOCKET: a running 11.8 with a binary log, instead of the machine's own MariaDB.
    let running = std::env::var_os("GOLDEN_SOCKET");
    let started = if running.is_none() { MariaDb::start(&options) } else { None };
    let real = || match (&running, &started) {
        (Some(socket), _) => Some(Client::unix(socket.as_ref()).expect("a running server")),
        (None, started) => started.as_ref().map(MariaDb::client),
    };
    let Some(mut theirs) = real() else { return };
    let recent = is_recent(&mut theirs);
    if !recent {
        println!("skipped: the events are those of 11.8, this MariaDB is older (MARIADBD, GOLDEN_SOCKET)");
        return;
    }
    let ours = Server::start(&["--server-id=5"]);
    run(&mut theirs, recent);
    run(&mut ours.client(), recent);
    let begin = |events: Vec<String>| -> Vec<String> {
        let first =
            events.iter().rposition(|e| e.contains("CREATE DATABASE g ")).expect("the first statement");
        let told = |e: &String| if recent { e.clone() } else { e.replace(", extra 0x10", ", extra 0x0") };
        events[first - 1..].iter().map(told).collect()
    };
    let theirs = begin(dump(real().expect("the same server")));
    let ours = begin(dump(ours.client()));
    let mut different = Vec::new();
    for (i, (a, b)) in theirs.iter().zip(&ours).enumerate() {
        if a != b {
            different.push(format!("event {i}\n  MariaDB {a}\n  here    {b}"));
        }
    }
    assert!(different.is_empty() && theirs.len() == ours.len(), "{}", different.join("\n"));
}
