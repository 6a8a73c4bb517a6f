//! Programs of other people that read a binary log: python-mysql-replication and zongji (node) get ours as they get MariaDB's.
//! `cargo xtask test` installs them below `target/clients`; without them the tests say so.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use blackbox::Server;

const WORKLOAD: &[&str] = &[
    "CREATE DATABASE c CHARACTER SET utf8mb4",
    "CREATE TABLE c.t (id INT PRIMARY KEY, a BIGINT, d DECIMAL(12,3), v VARCHAR(50), x BLOB, t DATETIME(3), e ENUM('p','q'), \
     s SET('k','l'), y YEAR, f DOUBLE) CHARACTER SET utf8mb4",
    "INSERT INTO c.t VALUES (1, -5, 12.5, 'one é', 'blob', '2024-02-03 04:05:06.789', 'q', 'k,l', 2024, 1.5), (2, NULL, NULL, NULL, NULL, \
     NULL, NULL, NULL, NULL, NULL)",
    "UPDATE c.t SET a = 7, v = 'changed' WHERE id = 1",
    "FLUSH BINARY LOGS",
    "DELETE FROM c.t WHERE id = 2",
    "CREATE TABLE c.last (n INT)",
    "INSERT INTO c.last VALUES (1)",
];

const FULL: &str = "id=1 a=-5 d=12.500 v=one é x=b'blob' t=2024-02-03 04:05:06.789000 e=q s=k,l y=2024 f=1.5";
const NULLS: &str = "id=2 a=None d=None v=None x=None t=None e=None s=None y=None f=None";

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/clients")
}

fn lines(output: Output) -> Vec<String> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

/// A server behind the workload and the name of its first file.
fn server() -> (Server, String) {
    let server = Server::start(&["--server-id=5", "--binlog-row-metadata=FULL"]);
    let mut c = server.client();
    let first = c.rows("SHOW BINARY LOGS")[0].split('\t').next().expect("a name").to_owned();
    for sql in WORKLOAD {
        c.run(sql);
    }
    (server, first)
}

#[test]
fn python_mysql_replication_reads_the_stream() {
    let python = clients().join("python/bin/python");
    if !python.exists() {
        return println!("skipped: no python-mysql-replication (cargo xtask test installs it)");
    }
    let (server, first) = server();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/stream.py");
    let run = |from: &[&str]| {
        let mut command = Command::new(&python);
        command.arg(&script).arg(server.port.to_string()).args(from).env("PYTHONIOENCODING", "utf8");
        lines(command.output().expect("python runs"))
    };
    let rows = [
        format!("annotate {}", WORKLOAD[2]),
        format!("write t {FULL}"),
        format!("write t {NULLS}"),
        "xid".to_owned(),
        "gtid 0-5-4".to_owned(),
        format!("annotate {}", WORKLOAD[3]),
        format!("update t {FULL} -> {}", FULL.replace("a=-5", "a=7").replace("one é", "changed")),
        "xid".to_owned(),
        "gtid 0-5-5".to_owned(),
        format!("annotate {}", WORKLOAD[5]),
        format!("delete t {NULLS}"),
        "xid".to_owned(),
        "gtid 0-5-6".to_owned(),
        format!("query {}", WORKLOAD[6]),
        "gtid 0-5-7".to_owned(),
        format!("annotate {}", WORKLOAD[7]),
        "write last n=1".to_owned(),
        "xid".to_owned(),
    ];
    // Behind a GTID, and from a file on.
    let mut behind = vec!["gtid 0-5-3".to_owned()];
    behind.extend(rows);
    assert_eq!(run(&["0-5-2"]), behind);
    let mut all = vec!["gtid 0-5-1".to_owned(), format!("query {}", WORKLOAD[0]), "gtid 0-5-2".to_owned()];
    all.push(format!("query {}", WORKLOAD[1]));
    all.extend(behind);
    assert_eq!(run(&["start", &first]), all);
}

#[test]
fn zongji_reads_the_stream() {
    let (server, first) = server();
    for package in ["@vlasky/zongji", "@powersync/mysql-zongji"] {
        let place = clients().join("node");
        if !place.join("node_modules").join(package).exists() {
            println!("skipped: no {package} (cargo xtask test installs it where npm is)");
            continue;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/stream.mjs");
        let mut command = Command::new("node");
        command.arg(script).arg(server.port.to_string()).arg(&first).arg(package).current_dir(&place);
        let told = lines(command.output().expect("node runs"));
        // The packages differ in how they show a decimal.
        let told: Vec<String> = told.iter().map(|l| l.replace("d=12.500", "d=12.5")).collect();
        let full = "id=1 a=-5 d=12.5 v=one é x=blob t=2024-02-03 04:05:06.789 e=q s=k,l y=2024 f=1.5";
        let nulls = NULLS.replace("None", "null");
        let expected = [
            format!("writerows t {full}"),
            format!("writerows t {nulls}"),
            format!("updaterows t {full} -> {}", full.replace("a=-5", "a=7").replace("one é", "changed")),
            format!("deleterows t {nulls}"),
            "writerows last n=1".to_owned(),
        ];
        assert_eq!(told, expected, "{package}");
    }
}
