//! The whole OLTP set of sysbench, with prepared statements and with text, for a moment each: no error but deadlocks.
//!
//! This is about answers, not about speed; docs/benchmarks.md has the speed.

use blackbox::Server;
use std::process::Command;

const TESTS: [&str; 11] = [
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_insert",
    "oltp_delete",
    "oltp_update_index",
    "oltp_update_non_index",
    "select_random_points",
    "select_random_ranges",
    "bulk_insert",
];

fn sysbench(server: &Server, test: &str, extra: &[&str]) -> String {
    let out = Command::new("sysbench")
        .arg(test)
        .args([
            "--db-driver=mysql",
            "--mysql-host=127.0.0.1",
            "--mysql-user=root",
            "--mysql-db=sbtest",
            "--tables=2",
            "--table-size=2000",
        ])
        .arg(format!("--mysql-port={}", server.port))
        .args(extra)
        .output()
        .expect("sysbench is installed");
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    // What fails while tables are made does not show in the exit status.
    assert!(out.status.success() && !text.contains("FATAL"), "{test} {extra:?}:\n{text}");
    text
}

#[test]
fn every_oltp_test_runs_with_both_protocols() {
    let server = Server::start(&[]);
    let mut c = server.client();
    c.run("CREATE DATABASE sbtest");
    for mode in ["--db-ps-mode=auto", "--db-ps-mode=disable"] {
        for test in TESTS {
            let own = ["select_random_points", "select_random_ranges", "bulk_insert"].contains(&test);
            if own || test == TESTS[0] {
                for t in ["sbtest1", "sbtest2", "sbtest3", "sbtest4"] {
                    c.run(&format!("DROP TABLE IF EXISTS sbtest.{t}"));
                }
                sysbench(&server, test, &["--threads=2", "prepare"]);
            }
            // bulk_insert has one table a thread.
            let threads = if test == "bulk_insert" { "--threads=2" } else { "--threads=4" };
            let text = sysbench(&server, test, &[mode, threads, "--time=1", "run"]);
            let errors = text
                .lines()
                .find(|l| l.contains("ignored errors:"))
                .unwrap_or_else(|| panic!("{test}:\n{text}"));
            let deadlocks: u64 =
                errors.split_whitespace().nth(2).and_then(|n| n.parse().ok()).expect("a number");
            let writes = test.contains("write") || test.contains("update") || test.contains("delete");
            assert!(deadlocks == 0 || writes, "{test} {mode}: {errors}");
        }
    }
    for row in c.rows("SHOW TABLES FROM sbtest") {
        assert_eq!(
            c.rows(&format!("CHECK TABLE sbtest.{row}")),
            [format!("sbtest.{row}\tcheck\tstatus\tOK")]
        );
    }
}
