//! A morsed process with a data directory of its own, on a free port of 127.0.0.1.

use crate::client::Client;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The server under test; killed when dropped.
pub struct Server {
    process: Option<Child>,
    directory: PathBuf,
    /// Removes the directory at the end when it is ours.
    _scratch: Option<TempDir>,
    pub port: u16,
    options: Vec<String>,
}

/// Path of the server's program: `MORSED`, else the workspace's debug or release build, whichever is newer.
fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("MORSED") {
        return path.into();
    }
    newest_build("morsed")
}

/// Path of one of the tools beside the server's program.
pub fn tool(name: &str) -> PathBuf {
    match std::env::var_os("MORSED") {
        Some(server) => Path::new(&server).with_file_name(name),
        None => newest_build(name),
    }
}

fn newest_build(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let built = |profile: &str| {
        let path = target.join(profile).join(name);
        let time = path.metadata().and_then(|m| m.modified()).ok()?;
        Some((time, path))
    };
    let newest = [built("release"), built("debug")].into_iter().flatten().max();
    newest.unwrap_or_else(|| panic!("build it first: cargo build --release --package {name}")).1
}

fn free_port() -> u16 {
    let probe = TcpListener::bind("127.0.0.1:0").expect("a free port");
    probe.local_addr().expect("an address").port()
}

impl Server {
    /// A fresh server with small memory; `options` are added to the command line.
    pub fn start(options: &[&str]) -> Self {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let mut server = Self::at(scratch.path(), options);
        server._scratch = Some(scratch);
        server.restart();
        server
    }

    /// The same with everything below `directory`.
    pub fn start_in(directory: &Path, options: &[&str]) -> Self {
        let mut server = Self::at(directory, options);
        server.restart();
        server
    }

    fn at(directory: &Path, options: &[&str]) -> Self {
        let mut all =
            vec!["--innodb-buffer-pool-size=64M".to_owned(), "--innodb-log-file-size=64M".to_owned()];
        all.extend(options.iter().map(|&o| o.to_owned()));
        Self {
            process: None,
            directory: directory.to_path_buf(),
            _scratch: None,
            port: free_port(),
            options: all,
        }
    }

    pub fn data(&self) -> PathBuf {
        self.directory.join("data")
    }
    pub fn socket(&self) -> PathBuf {
        self.directory.join("sock")
    }
    pub fn set_option(&mut self, option: &str) {
        self.options.push(option.to_owned());
    }
    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("the server runs").id()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(program());
        command
            .arg(format!("--datadir={}", self.data().display()))
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--port={}", self.port))
            .args(&self.options)
            .stdin(Stdio::null());
        command
    }

    /// Starts the process again on the same data and waits until it answers.
    pub fn restart(&mut self) {
        assert!(self.process.is_none(), "kill or stop it first");
        let log = self.log_file();
        let process = self.command().stdout(Stdio::null()).stderr(log).spawn().expect("morsed starts");
        self.process = Some(process);
        let begin = Instant::now();
        while Client::tcp(self.port).is_err() {
            let process = self.process.as_mut().expect("just started");
            if let Some(status) = process.try_wait().expect("a status") {
                panic!("morsed ended at start ({status}):\n{}", self.error_log());
            }
            assert!(
                begin.elapsed() < Duration::from_secs(120),
                "morsed does not answer:\n{}",
                self.error_log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts the process where it must refuse; returns what it said.
    pub fn start_fails(&self) -> String {
        let out = self.command().output().expect("morsed starts");
        assert!(!out.status.success(), "morsed started although it must not");
        String::from_utf8_lossy(&out.stderr).into_owned()
    }

    fn log_path(&self) -> PathBuf {
        self.directory.join("log")
    }
    fn log_file(&self) -> Stdio {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(self.log_path());
        file.expect("a log file").into()
    }
    pub fn error_log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    pub fn client(&self) -> Client {
        Client::tcp(self.port).unwrap_or_else(|e| panic!("{e}\n{}", self.error_log()))
    }

    /// kill -9.
    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("the server runs");
        process.kill().expect("killed");
        process.wait().expect("reaped");
    }

    /// SIGTERM, and waits for the end; true when the exit was clean.
    pub fn stop(&mut self) -> bool {
        let mut process = self.process.take().expect("the server runs");
        // SAFETY: a plain system call on the id of our own child, which has not been reaped.
        unsafe { libc::kill(process.id() as i32, libc::SIGTERM) };
        process.wait().expect("reaped").success()
    }

    /// Whether the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.process.as_mut().is_none_or(|p| matches!(p.try_wait(), Ok(Some(_))))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- error log of the server ---\n{}", self.error_log());
        }
    }
}
