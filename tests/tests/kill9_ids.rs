//! Ids after a crash: a table that the log says nothing of, because it has no rows, keeps its id; what is made behind the crash gets
//! another, and rollback finds the rows of each where they are.

use blackbox::Server;

fn made_just_before_a_crash(options: &[&str], clause: &str) {
    let mut all = vec!["--innodb-flush-log-at-trx-commit=1"];
    all.extend_from_slice(options);
    let mut server = Server::start(&all);
    let mut c = server.client();
    c.run("CREATE DATABASE k");
    c.run(&format!("CREATE TABLE k.before (id INT PRIMARY KEY) {clause}"));
    server.kill();
    server.restart();
    let mut c = server.client();
    c.run(&format!("CREATE TABLE k.behind (id INT PRIMARY KEY) {clause}"));
    c.run("CREATE TABLE k.other (id INT)");
    let mut open = server.client();
    open.run("BEGIN");
    open.run("INSERT INTO k.before VALUES (1), (11)");
    open.run("INSERT INTO k.behind VALUES (1), (11)");
    // What is open is in the log behind this.
    c.run("INSERT INTO k.other VALUES (1)");
    server.kill();
    server.restart();
    let mut c = server.client();
    for name in ["before", "behind"] {
        // Waits for the rollback.
        let rows = c.rows(&format!("SELECT COUNT(*) FROM k.{name} FOR UPDATE"));
        assert_eq!(rows, ["0"], "{name} {options:?}");
    }
}

const PARTITIONS: &str =
    "PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (10), PARTITION q VALUES LESS THAN (20))";

#[test]
fn tables_without_rows_keep_their_ids() {
    made_just_before_a_crash(&["--log-bin"], "");
    made_just_before_a_crash(&["--skip-log-bin"], "");
}

#[test]
fn partitions_without_rows_keep_their_ids() {
    made_just_before_a_crash(&["--log-bin"], PARTITIONS);
}
