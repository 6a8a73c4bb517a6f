//! A real MariaDB beside the server under test: whatever `mariadbd` the machine has, or the one that `MARIADBD` names.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client::Client;

/// A fresh server with a data directory of its own, reached over its socket; killed when dropped.
pub struct MariaDb {
    process: Child,
    directory: TempDir,
}

fn program() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("MARIADBD") {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    places.map(|place| place.join("mariadbd")).find(|file| file.exists())
}

impl MariaDb {
    /// `None`, and a line that says so, when the machine has no MariaDB.
    pub fn start(options: &[&str]) -> Option<Self> {
        let Some(program) = program() else {
            println!("skipped: no mariadbd on this machine (cargo xtask test installs it)");
            return None;
        };
        let directory = tempfile::tempdir().expect("a scratch directory");
        let data = directory.path().join("data");
        // A directory of its own: a server that starts removes the temporary tables of all others that share it.
        let tmpdir = format!("--tmpdir={}", directory.path().display());
        let installed = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .arg(format!("--datadir={}", data.display()))
            .arg(&tmpdir)
            .args(std::env::var("USER").is_err().then_some("--user=root"))
            .output()
            .expect("mariadb-install-db");
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let place = |name: &str| directory.path().join(name).display().to_string();
        let process = Command::new(program)
            .args(["--no-defaults", "--skip-networking", "--user=root", "--innodb-buffer-pool-size=64M"])
            .arg(format!("--datadir={}", data.display()))
            .arg(&tmpdir)
            .arg(format!("--socket={}", place("sock")))
            .arg(format!("--pid-file={}", place("pid")))
            .arg(format!("--log-error={}", place("err")))
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("mariadbd");
        let server = Self { process, directory };
        let deadline = Instant::now() + Duration::from_secs(60);
        while Client::unix(&server.socket()).is_err() {
            assert!(Instant::now() < deadline, "{}", server.error_log());
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("sock")
    }
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }
    pub fn client(&self) -> Client {
        Client::unix(&self.socket()).expect("a connection")
    }
    pub fn error_log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("err")).unwrap_or_default()
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Runs SQL text through MariaDB's own command line client; its complaint if it fails.
pub fn pipe(socket: &Path, sql: &[u8]) -> Result<(), String> {
    use std::io::Write as _;
    let mut client = Command::new("mariadb")
        .args(["--no-defaults", "--binary-mode", "-uroot"])
        .arg(format!("--socket={}", socket.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("mariadb: {e}"))?;
    let mut stdin = client.stdin.take().expect("a pipe");
    let written = stdin.write_all(sql);
    drop(stdin);
    let output = client.wait_with_output().map_err(|e| e.to_string())?;
    match (output.status.success(), written) {
        (true, Ok(())) => Ok(()),
        (_, written) => Err(format!("{} {written:?}", String::from_utf8_lossy(&output.stderr))),
    }
}
