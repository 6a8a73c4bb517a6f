//! mariadb-dump of this server: what it writes makes the same database again, here and on a real MariaDB.

use std::path::Path;
use std::process::Command;

use blackbox::mariadb::{MariaDb, pipe};
use blackbox::{Client, Server};

const MIXED: &[&str] = &[
    "CREATE DATABASE d CHARACTER SET utf8mb4",
    "USE d",
    "CREATE TABLE parent (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40) NOT NULL DEFAULT 'x', UNIQUE KEY n (name), \
     KEY p (name(5))) COMMENT='it''s'",
    "CREATE TABLE child (id INT UNSIGNED PRIMARY KEY, pid INT, a INT CHECK (a > 0), \
     s VARCHAR(50) AS (CONCAT('\u{e9}', a)) STORED, v INT AS (a + 1) VIRTUAL, CONSTRAINT fk FOREIGN KEY (pid) REFERENCES parent (id) ON DELETE CASCADE, \
     CONSTRAINT c2 CHECK (id < 1000), KEY (v))",
    "CREATE TABLE types (id INT PRIMARY KEY, a BIGINT UNSIGNED, b DECIMAL(20,6), c DOUBLE, d VARCHAR(200), e CHAR(20), \
     f VARBINARY(300), g LONGBLOB, h TIME(3), i DATETIME(6), j TIMESTAMP NULL, k BIT(13), l ENUM('x','y'), m SET('a','b'), \
     n JSON, o UUID, p INET6, q INT AS (JSON_VALUE(n, '$.a')) VIRTUAL)",
    "CREATE TABLE keyless (a INT, b VARCHAR(10))",
    "INSERT INTO parent VALUES (1, '\u{1f600}'), (2, 'back\\\\slash'), (3, 'quo''te'), (4, 'new\\nline')",
    "INSERT INTO child (id, pid, a) VALUES (1, 1, 5), (2, NULL, 7), (3, 3, NULL)",
    "INSERT INTO types (id, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) VALUES (1, 18446744073709551615, -12345.678901, \
     -1e300, '\u{20ac}', 'c', X'00FF0A271A', REPEAT(X'DEADBEEF00', 20000), '-12:34:56.789', '2024-01-02 03:04:05.678901', \
     '2024-01-02 03:04:05', b'1010101010101', 'y', 'a,b', '{\"a\":1}', '123e4567-e89b-12d3-a456-426655440000', '::1')",
    "INSERT INTO types (id) VALUES (2)",
    "INSERT INTO keyless VALUES (1, NULL), (NULL, ''), (1, NULL)",
    "CREATE VIEW last AS SELECT id, name FROM parent WHERE id > 1",
    // Dumped before the view that it reads.
    "CREATE VIEW first AS SELECT last.id, child.a FROM last JOIN child ON child.pid = last.id",
    "CREATE PROCEDURE p (IN a INT, OUT b VARCHAR(20)) COMMENT 'c' BEGIN SET b = CONCAT(a, '; \u{fc}'); END",
    "CREATE FUNCTION f (x INT) RETURNS INT DETERMINISTIC RETURN x + 1",
];

fn dump(socket: &Path, options: &[&str]) -> Vec<u8> {
    let output = Command::new("mariadb-dump")
        .args(["--no-defaults", "-uroot"])
        .arg(format!("--socket={}", socket.display()))
        .args(options)
        .output()
        .expect("mariadb-dump runs");
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && complaint.is_empty(), "{options:?}: {complaint}");
    output.stdout
}

/// What a database holds (`child` by its rows: CHECKSUM TABLE of MariaDB 10.11 leaves out stored generated
/// columns, that of 11.8 does not), in words that do not name it.
fn contents(client: &mut Client, database: &str) -> Vec<String> {
    client.run(&format!("USE {database}"));
    let mut out: Vec<String> = ["parent", "types", "keyless"]
        .iter()
        .map(|t| client.rows(&format!("CHECKSUM TABLE {t}")).join("").replace(&format!("{database}."), ""))
        .collect();
    out.extend(client.rows("SELECT * FROM child"));
    out.extend(client.rows("SELECT * FROM first"));
    out.extend(client.rows("SELECT f(1)"));
    client.run("CALL p(1, @b)");
    out.extend(client.rows("SELECT @b"));
    for (table, schema) in [("ROUTINES", "ROUTINE_SCHEMA"), ("PARAMETERS", "SPECIFIC_SCHEMA")] {
        let columns = if table == "ROUTINES" {
            "ROUTINE_NAME, ROUTINE_TYPE, DATA_TYPE, DTD_IDENTIFIER, ROUTINE_DEFINITION, IS_DETERMINISTIC, ROUTINE_COMMENT, DEFINER"
        } else {
            "SPECIFIC_NAME, ORDINAL_POSITION, PARAMETER_MODE, PARAMETER_NAME, DATA_TYPE, CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION"
        };
        out.extend(client.rows(&format!(
            "SELECT {columns} FROM information_schema.{table} WHERE {schema} = '{database}' ORDER BY 1, 2"
        )));
    }
    out
}

#[test]
fn a_dump_makes_the_same_database_again() {
    let Some(maria) = MariaDb::start(&[]) else { return };
    let server = Server::start(&[]);
    let mut ours = server.client();
    ours.run("SET NAMES utf8mb4");
    MIXED.iter().for_each(|sql| drop(ours.run(sql)));
    let whole = ["--routines", "--triggers", "--events", "--single-transaction", "d"];
    // The second takes LOCK TABLES, the third moves to the next log file by COM_REFRESH.
    let plain = ["--routines", "d"];
    let locked = ["--routines", "--flush-logs", "--lock-all-tables", "--master-data=2", "d"];
    let expected = contents(&mut ours, "d");
    for options in [&whole[..], &plain[..], &locked[..]] {
        let text = dump(&server.socket(), options);
        let mut theirs = maria.client();
        theirs.run("SET NAMES utf8mb4");
        for (client, socket) in [(&mut ours, server.socket()), (&mut theirs, maria.socket())] {
            client.run("DROP DATABASE IF EXISTS e");
            client.run("CREATE DATABASE e CHARACTER SET utf8mb4");
            pipe(&socket, &[b"USE e;\n", &text[..]].concat()).unwrap();
            assert_eq!(contents(client, "e"), expected, "{options:?} on {}", socket.display());
        }
    }
}

#[test]
fn information_schema_can_be_used_as_a_database() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.run("USE information_schema");
    let names = client.rows("SHOW TABLES");
    for name in ["EVENTS", "PARAMETERS", "ROUTINES", "TRIGGERS"] {
        assert!(names.iter().any(|n| n == name), "{names:?}");
        assert_eq!(client.rows(&format!("SELECT COUNT(*) FROM {}", name.to_lowercase())), ["0"]);
    }
}
