//! BINLOG: the text of morse-binlog brings a MariaDB server's rows into this one, and what cannot be run is named.

use std::process::Command;

use blackbox::mariadb::{MariaDb, pipe};
use blackbox::server::tool;
use blackbox::{Client, Server};

fn morse_binlog(arguments: &[String]) -> Vec<u8> {
    let output = Command::new(tool("morse-binlog")).args(arguments).output().expect("morse-binlog runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn checksums(client: &mut Client, tables: &[&str]) -> Vec<String> {
    tables.iter().flat_map(|table| client.rows(&format!("CHECKSUM TABLE {table}"))).collect()
}

#[test]
fn rows_of_a_mariadb_server_arrive_unchanged() {
    let options = ["--log-bin=log", "--server-id=5", "--binlog-format=ROW"];
    let Some(origin) = MariaDb::start(&options) else { return };
    let server = Server::start(&[]);
    let mut client = origin.client();
    for sql in [
        "CREATE DATABASE d CHARACTER SET utf8mb4",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, a TINYINT, b BIGINT UNSIGNED, c DECIMAL(20,6), d DOUBLE, e FLOAT, f VARCHAR(200), g CHAR(20), \
         h VARBINARY(300), i TEXT, j LONGBLOB, k DATE, l TIME(3), m DATETIME(6), n TIMESTAMP NULL, o YEAR, p BIT(13), \
         q ENUM('x','y','z'), r SET('a','b','c'), s MEDIUMINT, UNIQUE (b))",
        "INSERT INTO t VALUES (1,-1,18446744073709551615,-12345.678901,-1e300,1.5,'it''s \u{20ac} \\\\ \\n','c',X'00FF0A27','text',\
         REPEAT('b',70000),'2024-02-29','-12:34:56.789','2024-01-02 03:04:05.678901','2024-01-02 03:04:05',2024,b'1010101010101','y','a,c',\
         -8388608)",
        "INSERT INTO t (id, f, h) SELECT seq + 1, REPEAT('f', 150), REPEAT('h', 250) FROM seq_1_to_300",
        "UPDATE t SET f = CONCAT(id, 'é'), b = id WHERE id % 3 = 0",
        "SET binlog_row_image = MINIMAL",
        "UPDATE t SET g = 'minimal' WHERE id % 7 = 0",
        "DELETE FROM t WHERE id % 11 = 0",
        "SET binlog_row_image = FULL",
        "CREATE TABLE u (a INT, b VARCHAR(50) DEFAULT 'default')",
        "INSERT INTO u VALUES (1, 'one'), (1, 'one'), (2, NULL), (3, REPEAT('z', 40))",
        "DELETE FROM u WHERE a = 1 LIMIT 1",
        "UPDATE u SET b = 'no key' WHERE b IS NULL",
        "CREATE TABLE v (k INT NOT NULL AUTO_INCREMENT PRIMARY KEY, w INT UNIQUE)",
        "INSERT INTO v (w) VALUES (10), (20), (30)",
        "UPDATE v SET k = k + 100, w = w + 1 WHERE w = 20",
        // Rows that a cascade changes are in no event: whoever runs the text cascades himself.
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
        "CREATE TABLE loose (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES child (id) ON DELETE SET NULL)",
        "INSERT INTO parent VALUES (1), (2), (3)",
        "INSERT INTO child VALUES (10, 1), (20, 2), (21, 2), (30, 3)",
        "INSERT INTO loose VALUES (100, 10), (200, 20), (300, 30)",
        "DELETE FROM parent WHERE id = 2",
        "UPDATE parent SET id = 33 WHERE id = 3",
        "SET foreign_key_checks = 0",
        "DELETE FROM parent WHERE id = 1",
        "SET foreign_key_checks = 1",
        "BEGIN",
        "INSERT INTO u VALUES (100, 'in a transaction')",
        "DELETE FROM v WHERE w = 10",
        "SAVEPOINT first",
        "INSERT INTO u VALUES (101, 'undone')",
        "ROLLBACK TO first",
        "INSERT INTO u VALUES (102, 'kept')",
        "SAVEPOINT `second``s`",
        "COMMIT",
        // A temporary table's statement is not logged, but keeps ROLLBACK TO in the log.
        "CREATE TEMPORARY TABLE passing (a INT)",
        "BEGIN",
        "INSERT INTO u VALUES (103, 'before')",
        "SAVEPOINT third",
        "INSERT INTO u VALUES (104, 'undone here and there')",
        "DROP TEMPORARY TABLE passing",
        "ROLLBACK TO third",
        "COMMIT",
        "SET GLOBAL log_bin_compress = ON",
        "INSERT INTO u SELECT seq, REPEAT('z', 50) FROM seq_1_to_400",
        "SET SESSION binlog_alter_two_phase = ON",
        "ALTER TABLE u ADD COLUMN c INT DEFAULT 9",
        "FLUSH BINARY LOGS",
    ] {
        client.run(sql);
    }
    let sql = morse_binlog(&[origin.data().join("log.000001").display().to_string()]);
    pipe(&server.socket(), &sql).unwrap();
    let tables = ["d.t", "d.u", "d.v", "d.parent", "d.child", "d.loose"];
    let mut copy = server.client();
    assert_eq!(checksums(&mut copy, &tables), checksums(&mut client, &tables));
    // The next generated value is above those that came.
    copy.run("INSERT INTO d.v (w) VALUES (77)");
    assert_eq!(copy.rows("SELECT k FROM d.v WHERE w = 77"), ["4"]);
    assert_eq!(copy.rows("CHECK TABLE d.t, d.u, d.v").iter().filter(|line| line.ends_with("OK")).count(), 3);
}

/// Events of a table `fb.t (id INT PRIMARY KEY, v VARCHAR(20))` in utf8mb4: its number, and `(3, 'three')` written and deleted.
const MAP: &str = "bH4NaxNegQAALQAAAAAAAAAAAGQAAAAAAAEAAmZiAAF0AAIDDwJQAALDjSaO";
const WRITE: &str = "bH4NaxdegQAALAAAAAAAAAAAAGQAAAAAAAEAAgP8AwAAAAV0aHJlZaGxB8w=";
const FORMAT: &str = "bH4Naw9egQAA/AAAAAABAAAAAAQAMTEuOC45LU1hcmlhREItMCtkZWIxM3UxIGZyb20gRGViaWFuLWxvZwAAAAAAAAAAAAAAAAAAEzgNAAgAEgAEBAQE\
EgAA5AAEGggAAAAICAgCAAAACgoKAAAAAAAACgoKAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEEwQADQgICAoKCgHqmlr9";

#[test]
fn what_cannot_be_run_is_named() {
    let server = Server::start(&[]);
    let mut client = server.client();
    assert_eq!(client.fails("BINLOG 'not base64 !!'"), 1575);
    assert_eq!(client.fails("BINLOG ''"), 1149);
    assert_eq!(client.fails("BINLOG 'AAAA'"), 1149);
    assert_eq!(client.fails("BINLOG @a, @b"), 1232);
    assert_eq!(client.fails(&format!("BINLOG '{MAP}\n{WRITE}'")), 1609);
    client.run(&format!("BINLOG '{FORMAT}'"));
    assert_eq!(client.fails(&format!("BINLOG '{MAP}\n{WRITE}'")), 1146);
    // A number that no TABLE_MAP gives: not for this server.
    client.run(&format!("BINLOG '{WRITE}'"));
    client.run("CREATE DATABASE fb");
    client.run("CREATE TABLE fb.t (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8mb4)");
    client.run(&format!("BINLOG '{MAP}\n{WRITE}'"));
    assert_eq!(client.rows("SELECT * FROM fb.t"), ["3\tthree"]);
    assert_eq!(client.fails(&format!("BINLOG '{MAP}\n{WRITE}'")), 1062);
    // The halves of a long text.
    client.run("DELETE FROM fb.t");
    let halves = format!("SET @a = '{MAP}', @b = '{WRITE}'");
    client.run(&halves);
    client.run("BINLOG @a, @b");
    assert_eq!(client.rows("SELECT @a IS NULL, @b IS NULL"), ["1\t1"], "a text that was used is given back");
    assert_eq!(client.rows("SELECT v FROM fb.t"), ["three"]);
    // Inside a transaction it is part of it.
    client.run("DELETE FROM fb.t");
    client.run("BEGIN");
    client.run(&halves);
    client.run("BINLOG @a, @b");
    client.run("ROLLBACK");
    assert!(client.rows("SELECT v FROM fb.t").is_empty());
    client.run("ALTER TABLE fb.t MODIFY v VARCHAR(30) CHARACTER SET utf8mb4");
    client.run(&halves);
    assert_eq!(client.fails("BINLOG @a, @b"), 1677);
    client.run("SET GLOBAL slave_type_conversions = ALL_NON_LOSSY");
    client.run(&halves);
    client.run("BINLOG @a, @b");
    assert_eq!(client.rows("SELECT * FROM fb.t"), ["3\tthree"]);
    client.run("TRUNCATE fb.t");
    client.run(
        "ALTER TABLE fb.t MODIFY v VARCHAR(3) CHARACTER SET utf8mb4, MODIFY id BIGINT, ADD c INT DEFAULT 7",
    );
    client.run(&halves);
    assert_eq!(client.fails("BINLOG @a, @b"), 1677);
    client.run("SET GLOBAL slave_type_conversions = 'ALL_LOSSY,ALL_NON_LOSSY'");
    client.run(&halves);
    client.run("BINLOG @a, @b");
    assert_eq!(client.rows("SELECT * FROM fb.t"), ["3\tthr\t7"]);
    // A TABLE_MAP that ends in the middle.
    assert_eq!(client.fails("BINLOG 'bH4NaxNegQAAHgAAAAAAAAAAAGQAAAAAAAEAAmZi'"), 1610);
}

/// A table `t.n (id INT PRIMARY KEY, a INT, b VARCHAR(10), c DECIMAL(10,2), d DOUBLE, e BIGINT)` in latin1, and two rows of it.
const TYPED_MAP: &str = "APFTZRNQhAAAMwAAAAAAAAAAAAcCAAAAAAEAAXQAAW4ABgMDD/YFCAUKAAoCCD7ZUT/o";
const TYPED_ROWS: &str = "APFTZRdQhAAAagAAAAAAAAAAAAcCAAAAAAEABj/AAQAAAPv///8KYWJjZGVmZ2hpaoAABNI4AAAAAAAA9D8AGnEYAgAAAMACAAAALAEAAAHpf////5wAAAAgX6ACQv//////////lGuWQQ==";

/// What a MariaDB 11.8 refuses of each setting; what it converts is in tests/sql/row_types.test.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "a BIGINT",
            "a SMALLINT",
            "a TINYINT",
            "a DECIMAL(12,1)",
            "a DOUBLE",
            "a VARCHAR(20)",
            "a MEDIUMINT",
            "b VARCHAR(20) CHARACTER SET latin1",
            "b VARCHAR(5) CHARACTER SET latin1",
            "b CHAR(10) CHARACTER SET latin1",
            "b TEXT CHARACTER SET latin1",
            "b VARCHAR(300) CHARACTER SET latin1",
            "b INT",
            "b TINYTEXT CHARACTER SET latin1",
            "b BLOB",
            "c DECIMAL(12,2)",
            "c DECIMAL(10,1)",
            "c DECIMAL(8,2)",
            "c DECIMAL(12,4)",
            "c INT",
            "c DOUBLE",
            "c FLOAT",
            "d FLOAT",
            "d DECIMAL(20,2)",
            "d INT",
            "e INT",
            "e SMALLINT",
            "e DECIMAL(20,0)",
            "e DOUBLE",
            "e FLOAT",
        ],
    ),
    (
        "ALL_NON_LOSSY",
        &[
            "a SMALLINT",
            "a TINYINT",
            "a DECIMAL(12,1)",
            "a DOUBLE",
            "a VARCHAR(20)",
            "a MEDIUMINT",
            "b VARCHAR(5) CHARACTER SET latin1",
            "b INT",
            "c DECIMAL(10,1)",
            "c DECIMAL(8,2)",
            "c INT",
            "c DOUBLE",
            "c FLOAT",
            "d FLOAT",
            "d DECIMAL(20,2)",
            "d INT",
            "e INT",
            "e SMALLINT",
            "e DECIMAL(20,0)",
            "e DOUBLE",
            "e FLOAT",
        ],
    ),
    (
        "ALL_LOSSY",
        &[
            "a BIGINT",
            "a DECIMAL(12,1)",
            "a DOUBLE",
            "a VARCHAR(20)",
            "b VARCHAR(20) CHARACTER SET latin1",
            "b CHAR(10) CHARACTER SET latin1",
            "b TEXT CHARACTER SET latin1",
            "b VARCHAR(300) CHARACTER SET latin1",
            "b INT",
            "b TINYTEXT CHARACTER SET latin1",
            "b BLOB",
            "c DECIMAL(12,2)",
            "c DECIMAL(12,4)",
            "c INT",
            "d INT",
            "e DECIMAL(20,0)",
            "e DOUBLE",
            "e FLOAT",
        ],
    ),
    (
        "ALL_LOSSY,ALL_NON_LOSSY",
        &[
            "a DECIMAL(12,1)",
            "a DOUBLE",
            "a VARCHAR(20)",
            "b INT",
            "c INT",
            "d INT",
            "e DECIMAL(20,0)",
            "e DOUBLE",
            "e FLOAT",
        ],
    ),
];

#[test]
fn types_that_the_setting_does_not_let_be_converted_are_refused() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.run("CREATE DATABASE t");
    client.run(&format!("BINLOG '{FORMAT}'"));
    for (setting, columns) in REFUSED {
        client.run(&format!("SET GLOBAL slave_type_conversions = '{setting}'"));
        for column in *columns {
            client.run(
                "CREATE OR REPLACE TABLE t.n (id INT PRIMARY KEY, a INT, b VARCHAR(10) CHARACTER SET latin1, c DECIMAL(10,2), \
                 d DOUBLE, e BIGINT)",
            );
            client.run(&format!("ALTER TABLE t.n MODIFY {column}"));
            let outcome = client.fails(&format!("BINLOG '{TYPED_MAP}\n{TYPED_ROWS}'"));
            assert_eq!(outcome, 1677, "{setting}: {column}");
            assert!(client.rows("SELECT * FROM t.n").is_empty(), "{setting}: {column}");
        }
    }
}
