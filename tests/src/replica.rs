//! A real MariaDB server as a replica of the server under test, with a data directory of its own on a free port of 127.0.0.1.
//!
//! `MARIADB_DIRS` names directories (`:` between them), each with a `mariadbd` and a `mariadb-install-db` of one version; without it the
//! installed one is used, from the PATH or where Debian puts it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client::Client;

/// One installed MariaDB.
#[derive(Debug, Clone)]
pub struct Version {
    server: PathBuf,
    install: PathBuf,
}

fn find(name: &str, directories: &[PathBuf]) -> PathBuf {
    let found = directories.iter().map(|d| d.join(name)).find(|p| p.exists());
    found.unwrap_or_else(|| panic!("install a MariaDB server: no {name} in {directories:?}"))
}

impl Version {
    /// Every version there is to test with, at least one.
    pub fn all() -> Vec<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut usual: Vec<PathBuf> = std::env::split_paths(&path).collect();
        usual.extend(["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"].map(PathBuf::from));
        let of = |directories: &[PathBuf]| Self {
            server: find("mariadbd", directories),
            install: find("mariadb-install-db", directories),
        };
        match std::env::var_os("MARIADB_DIRS") {
            Some(list) => std::env::split_paths(&list).map(|d| of(&[d])).collect(),
            None => vec![of(&usual)],
        }
    }
}

/// A running replica; killed when dropped.
pub struct Replica {
    process: Child,
    scratch: TempDir,
    /// What its version prints.
    pub version: String,
}

impl Replica {
    /// A fresh server; `options` are added to its command line.
    pub fn start(program: &Version, server_id: u32, options: &[&str]) -> Self {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let at = |name: &str| scratch.path().join(name);
        std::fs::create_dir(at("tmp")).expect("a directory for temporary files");
        let installed = Command::new(&program.install)
            .arg("--no-defaults")
            .arg(format!("--datadir={}", at("data").display()))
            .args([
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
                "--force",
            ])
            .arg(format!("--tmpdir={}", at("tmp").display()))
            .arg("--user=root")
            .output()
            .expect("mariadb-install-db runs");
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let log = std::fs::File::create(at("out")).expect("a log file");
        let process = Command::new(&program.server)
            .arg("--no-defaults")
            .arg(format!("--datadir={}", at("data").display()))
            .arg(format!("--tmpdir={}", at("tmp").display()))
            .arg(format!("--socket={}", at("sock").display()))
            .arg(format!("--pid-file={}", at("pid").display()))
            .arg(format!("--log-error={}", at("err").display()))
            .arg(format!("--server-id={server_id}"))
            .args(["--skip-networking", "--user=root", "--log-bin=bin", "--log-slave-updates=OFF"])
            .args([
                "--innodb-buffer-pool-size=32M",
                "--innodb-log-file-size=32M",
                "--innodb-flush-log-at-trx-commit=0",
            ])
            .args(options)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("mariadbd starts");
        let mut replica = Self { process, scratch, version: String::new() };
        replica.wait_until_up();
        replica.version = replica.client().rows("SELECT VERSION()").concat();
        replica
    }

    fn wait_until_up(&mut self) {
        let begin = Instant::now();
        while Client::unix(&self.socket()).is_err() {
            let ended = self.process.try_wait().expect("a status");
            assert!(
                ended.is_none() && begin.elapsed() < Duration::from_secs(60),
                "mariadbd does not answer ({ended:?}):\n{}",
                self.error_log()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn socket(&self) -> PathBuf {
        self.scratch.path().join("sock")
    }
    pub fn error_log(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.scratch.path().join(name)).unwrap_or_default();
        read("out") + &read("err")
    }
    pub fn client(&self) -> Client {
        Client::unix(&self.socket()).unwrap_or_else(|e| panic!("{e}\n{}", self.error_log()))
    }

    /// Follows the server at `port` of 127.0.0.1 by GTID; `more` are further options of CHANGE MASTER.
    pub fn follow(&self, port: u16, more: &str) {
        let mut c = self.client();
        c.run(&format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='root', MASTER_SSL=0, \
             MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos{more}"
        ));
        c.run("START SLAVE");
    }

    /// A column of SHOW SLAVE STATUS.
    pub fn status(&self, name: &str) -> String {
        let mut c = self.client();
        let crate::Reply::Rows { columns, rows } = c.run("SHOW SLAVE STATUS") else { return String::new() };
        let Some(at) = columns.iter().position(|c| c.eq_ignore_ascii_case(name)) else {
            panic!("SHOW SLAVE STATUS has no {name}");
        };
        rows.first().and_then(|r| r[at].clone()).unwrap_or_default()
    }

    /// Panics when replication has stopped with an error.
    pub fn check(&self) {
        for (errno, text) in [("Last_SQL_Errno", "Last_SQL_Error"), ("Last_IO_Errno", "Last_IO_Error")] {
            let number = self.status(errno);
            // 2003, 2013, 2026, 1158, 1159: the primary was away for a moment.
            if !["0", "2002", "2003", "2013", "1158", "1159", "1160"].contains(&&*number) {
                panic!("{} {}: {}\n{}", self.version, number, self.status(text), self.error_log());
            }
        }
    }

    /// Waits until it has applied `position`.
    pub fn catch_up(&self, position: &str) {
        let begin = Instant::now();
        let mut c = self.client();
        while c.rows(&format!("SELECT MASTER_GTID_WAIT('{position}', 1)")) != ["0"] {
            self.check();
            let limit = begin.elapsed() < Duration::from_secs(120);
            assert!(
                limit,
                "{} is at {} ({}), not at {position}\n{}",
                self.version,
                c.rows("SELECT @@GLOBAL.gtid_slave_pos").concat(),
                self.status("Slave_IO_State"),
                self.error_log()
            );
        }
    }

    pub fn data(&self) -> &Path {
        self.scratch.path()
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
