//! A volume without room: what does not fit fails with MariaDB's errors, everything else goes on, and when room comes back the server
//! works without a restart. On a small tmpfs; where this process may not mount one, the tests say so and try nothing.

use blackbox::{Client, Failure, Server};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A small volume, with a file in it that takes all the room there is.
struct Volume {
    // Unmounted first, then the directory goes.
    mounted: Mounted,
    _directory: tempfile::TempDir,
}

struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

impl Volume {
    fn of_mib(mib: u32) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
            .arg(directory.path())
            .stderr(Stdio::null())
            .status();
        if !mount.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: this process may not mount a volume, a full one cannot be tried");
            return None;
        }
        let mounted = Mounted(directory.path().to_path_buf());
        Some(Self { mounted, _directory: directory })
    }

    fn path(&self) -> &Path {
        &self.mounted.0
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }

    /// Takes all the room but this much.
    fn fill(&self, leave_kib: u64) {
        let free = || {
            let out =
                Command::new("df").args(["-k", "--output=avail"]).arg(self.path()).output().expect("df");
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            text.lines().nth(1).and_then(|n| n.trim().parse::<u64>().ok()).expect("free space")
        };
        let taken = self.filler().metadata().map_or(0, |m| m.len());
        let more = free().saturating_sub(leave_kib) * 1024;
        let status = Command::new("fallocate")
            .args(["-l", &(taken + more).to_string()])
            .arg(self.filler())
            .status()
            .expect("fallocate");
        assert!(status.success(), "the volume was filled");
        assert!(free() <= leave_kib, "it is full");
    }

    fn free(&self) {
        std::fs::remove_file(self.filler()).expect("the filler goes");
    }
}

const ONE_LOG: [&str; 2] = ["--max-binlog-size=8M", "--innodb-log-file-size=32M"];
const IN_FILES: [&str; 3] =
    ["--max-binlog-size=8M", "--innodb-log-file-size=32M", "--binlog-storage-engine=FILE"];

fn code(result: Result<impl std::fmt::Debug, Failure>) -> u16 {
    result.expect_err("it does not fit").code()
}

fn filled(server: &Server) -> Client {
    let mut c = server.client();
    c.run("CREATE DATABASE d");
    c.run("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(200))");
    c.run("INSERT INTO d.t VALUES (1, 'one'), (2, 'two')");
    c
}

fn a_flush_without_room(options: &[&str]) {
    let Some(volume) = Volume::of_mib(160) else { return };
    let server = Server::start_in(volume.path(), options);
    let mut c = filled(&server);
    let files = c.rows("SHOW BINARY LOGS").len();
    volume.fill(0);
    for _ in 0..3 {
        assert_eq!(code(c.query("FLUSH BINARY LOGS")), 1026);
    }
    assert_eq!(c.rows("SHOW BINARY LOGS").len(), files);
    assert!(matches!(code(c.query("CREATE TABLE d.n (id INT PRIMARY KEY)")), 1021 | 1114));
    c.run("UPDATE d.t SET v = 'the log goes on' WHERE id = 1");
    volume.free();
    c.run("FLUSH BINARY LOGS");
    assert_eq!(c.rows("SHOW BINARY LOGS").len(), files + 1);
    c.run("CREATE TABLE d.n (id INT PRIMARY KEY)");
    c.run("INSERT INTO d.n VALUES (1)");
}

#[test]
fn flush_binary_logs_without_room_fails_alone() {
    a_flush_without_room(&ONE_LOG);
}

#[test]
fn flush_binary_logs_without_room_fails_alone_with_a_binary_log_in_files() {
    let Some(volume) = Volume::of_mib(160) else { return };
    let mut server = Server::start_in(volume.path(), &IN_FILES);
    let mut c = filled(&server);
    let files = c.rows("SHOW BINARY LOGS").len();
    volume.fill(0);
    assert_eq!(code(c.query("FLUSH BINARY LOGS")), 1026);
    assert_eq!(c.rows("SHOW BINARY LOGS").len(), files);
    volume.free();
    c.run("UPDATE d.t SET v = 'the log goes on' WHERE id = 1");
    c.run("FLUSH BINARY LOGS");
    assert_eq!(c.rows("SHOW BINARY LOGS").len(), files + 1);
    server.kill();
    server.restart();
    assert_eq!(server.client().rows("SELECT v FROM d.t WHERE id = 1"), ["the log goes on"]);
}

/// A transaction that is larger than the room there is, beside small ones.
fn a_large_transaction_without_room(options: &[&str]) {
    let Some(volume) = Volume::of_mib(200) else { return };
    let mut server = Server::start_in(volume.path(), options);
    let mut c = filled(&server);
    c.run("CREATE TABLE d.big (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(1000))");
    c.run("INSERT INTO d.big (v) VALUES (REPEAT('v', 900))");
    let mut other = server.client();
    c.run("BEGIN");
    let mut rows = 1;
    let error = loop {
        match c.query("INSERT INTO d.big (v) SELECT v FROM d.big LIMIT 2000") {
            Ok(_) => rows += 1,
            Err(e) => break e,
        }
        other.run("UPDATE d.t SET v = CONCAT('step ', id) WHERE id = 1");
        assert!(rows < 500, "the volume never fills");
    };
    assert_eq!(error.code(), 1114, "{error}");
    assert!(error.to_string().contains("The table 'big' is full"), "{error}");
    for _ in 0..100 {
        other.run("UPDATE d.t SET v = 'others go on' WHERE id = 2");
    }
    c.run("ROLLBACK");
    assert_eq!(c.rows("SELECT COUNT(*) FROM d.big"), ["1"]);
    other.run("INSERT INTO d.t VALUES (3, 'three')");
    c.run("DROP TABLE d.big");
    server.kill();
    server.restart();
    assert_eq!(server.client().rows("SELECT v FROM d.t ORDER BY id"), ["step 1", "others go on", "three"]);
}

#[test]
fn a_large_transaction_that_does_not_fit_fails_and_others_go_on() {
    a_large_transaction_without_room(&ONE_LOG);
}

#[test]
fn a_large_transaction_that_does_not_fit_fails_with_a_binary_log_in_files() {
    a_large_transaction_without_room(&IN_FILES);
}

/// Small transactions until nothing fits; then room comes back.
fn room_comes_back(options: &[&str]) {
    let Some(volume) = Volume::of_mib(160) else { return };
    let mut server = Server::start_in(volume.path(), options);
    let mut c = filled(&server);
    c.run("CREATE TABLE d.big (id INT AUTO_INCREMENT PRIMARY KEY, b LONGBLOB)");
    volume.fill(4096);
    let mut kept = 0;
    let error = loop {
        match c.query("INSERT INTO d.big (b) VALUES (REPEAT('b', 300000))") {
            Ok(_) => kept += 1,
            Err(e) => break e,
        }
        assert!(kept < 400, "the volume never fills");
    };
    assert!(matches!(error.code(), 1114 | 1026), "{error}");
    let mut other = server.client();
    for _ in 0..50 {
        // It may fit or not: it is answered, and what it says holds.
        match other.query("INSERT INTO d.big (b) VALUES (REPEAT('b', 300000))") {
            Ok(_) => kept += 1,
            Err(e) => assert!(matches!(e.code(), 1114 | 1026), "{e}"),
        }
    }
    assert_eq!(
        other.rows("SELECT COUNT(*), SUM(LENGTH(b)) FROM d.big"),
        [format!("{kept}\t{}", kept * 300_000)]
    );
    volume.free();
    c.run("INSERT INTO d.big (b) VALUES (REPEAT('b', 300000))");
    c.run("FLUSH BINARY LOGS");
    server.kill();
    server.restart();
    assert_eq!(server.client().rows("SELECT COUNT(*) FROM d.big"), [(kept + 1).to_string()]);
}

#[test]
fn the_server_works_again_when_room_comes_back() {
    room_comes_back(&ONE_LOG);
}

#[test]
fn the_server_works_again_when_room_comes_back_with_a_binary_log_in_files() {
    room_comes_back(&IN_FILES);
}
