//! The MorseDB server: reads options, opens the data directory, serves until it is told to stop.

mod option_files;
mod options;

use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use env::{Clock, MountedDisk, OsDisk, RealClock};
use session::backend::{Backend, EngineError};
use session::error_log::{self, Severity};
use session::event_log::{FileDoor, FilePlace};
use session::server::{self, Addresses, Server};
use session::variables::{GlobalVariables, Setting, Var};

use options::{OptionError, Options};

fn main() -> ExitCode {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let variables = GlobalVariables::new();
    match options::parse(&arguments, &variables, &HostFiles) {
        Ok(Options { print: Some(text), .. }) => {
            println!("morsed would have been started with the following arguments:\n{text}");
        }
        Ok(Options { help: true, verbose, .. }) => {
            print_help();
            if verbose {
                println!("\n{}", options::listing(&variables));
            }
        }
        Ok(Options { version: true, .. }) => {
            println!("morsed  Ver {} (MorseDB {})", session::VERSION, env!("CARGO_PKG_VERSION"));
        }
        Ok(options) => {
            warn_about(&*clock, &options);
            if let Err(text) = serve(&clock, variables, options.skip_ssl) {
                error_log::write(&*clock, Severity::Error, 0, &text);
                error_log::write(&*clock, Severity::Error, 0, "Aborting");
                return ExitCode::FAILURE;
            }
        }
        Err(OptionError { text, exit_code }) => {
            error_log::write(&*clock, Severity::Error, 0, &format!("morsed: {text}"));
            error_log::write(&*clock, Severity::Error, 0, "Aborting");
            return ExitCode::from(exit_code);
        }
    }
    ExitCode::SUCCESS
}

/// The machine's own files.
struct HostFiles;

impl option_files::Files for HostFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        env::host::read_text(path.as_ref()).map_err(|e| e.to_string())
    }
    fn list(&self, directory: &str) -> Result<Vec<String>, String> {
        env::host::files_in(directory.as_ref()).map_err(|e| e.to_string())
    }
    fn home(&self) -> Option<String> {
        std::env::var("HOME").ok().filter(|h| !h.is_empty())
    }
}

fn warn_about(clock: &dyn Clock, options: &Options) {
    for name in &options.ignored {
        error_log::write(clock, Severity::Warning, 0, &format!("morsed: unknown variable 'loose-{name}'"));
    }
    for name in &options.without_effect {
        error_log::write(clock, Severity::Warning, 0, &format!("'{name}' has no effect in this server"));
    }
}

/// `@@datadir` ends with a slash, as clients that put a file's name behind it expect.
fn state_directory(variables: &GlobalVariables) {
    let directory = variables.get(Var::DATADIR);
    if !directory.as_str().ends_with('/') {
        variables.set(Var::DATADIR, Setting::Text(format!("{}/", directory.as_str()).into()));
    }
}

/// Runs the server to its end.
fn serve(clock: &Arc<dyn Clock>, variables: GlobalVariables, skip_ssl: bool) -> Result<(), String> {
    state_host(&variables);
    env::signal::hold_termination().map_err(|e| format!("signals cannot be held: {e}"))?;
    let addresses = addresses(&variables)?;
    let directory = PathBuf::from(variables.get(Var::DATADIR).as_str());
    state_directory(&variables);
    let disk = Arc::new(OsDisk::new(&directory));
    disk.create_root().map_err(|e| format!("Can't create data directory '{}': {e}", directory.display()))?;
    let files = binlog_files(&variables, &disk)?;
    let disk = with_binlog_directory(&variables, disk)?;
    let backend = Backend::open_with(&variables, disk, files, Arc::clone(clock))
        .map_err(|e| format!("Can't open data directory '{}': {}", directory.display(), why(&e)))?;
    let server = Server::new(variables, backend, Arc::clone(clock))
        .map_err(|e| format!("The server can't start: {e}"))?;
    server.adopt_branches().map_err(|e| format!("Prepared transactions can't be taken up: {e}"))?;
    if skip_ssl {
        server.variables.set(Var::HAVE_SSL, Setting::Text("DISABLED".into()));
    } else {
        server.offer_tls().map_err(|e| format!("Failed to setup SSL: {e}"))?;
    }
    server.run_init_file()?;
    let running = server::start(&server, &addresses)
        .map_err(|e| format!("Can't start server: Bind on TCP/IP port {}: {e}", addresses.port));
    let outcome = running.map(|running| {
        let host = addresses.bind.first().map_or_else(|| "127.0.0.1".to_owned(), reachable);
        server.variables.set(Var::PORT, Setting::UInt(u64::from(running.port)));
        println!(
            "MorseDB {} is ready: mariadb -h {host} -P {} -u root",
            env!("CARGO_PKG_VERSION"),
            running.port
        );
        stop_on_signal(&server);
        server.wait_for_stop_request();
        running.stop();
    });
    let closed = server.close().map_err(|e| format!("The shutdown was not clean: {e}"));
    outcome.and(closed)
}

/// The one log's segments are where `binlog_directory` says; a path that is not absolute is one in the data directory.
fn with_binlog_directory(
    variables: &GlobalVariables,
    disk: Arc<OsDisk>,
) -> Result<Arc<dyn env::Disk>, String> {
    let given = variables.get(Var::BINLOG_DIRECTORY);
    if given.as_str().is_empty() {
        return Ok(disk);
    }
    let inner = OsDisk::new(disk.root().join(given.as_str()));
    inner
        .create_root()
        .map_err(|e| format!("Can't create binlog directory '{}': {e}", inner.root().display()))?;
    Ok(Arc::new(MountedDisk::new(disk, "log", Arc::new(inner))))
}

/// The door to the binary log's own files, if it has some.
fn binlog_files(variables: &GlobalVariables, datadir: &Arc<OsDisk>) -> Result<Option<FileDoor>, String> {
    let Some(place) = FilePlace::of(variables)? else { return Ok(None) };
    let disk: Arc<dyn env::Disk> = match &place.directory {
        None => Arc::clone(datadir) as _,
        Some(directory) => {
            let disk = OsDisk::new(directory);
            disk.create_root().map_err(|e| format!("Can't create directory '{directory}': {e}"))?;
            Arc::new(disk)
        }
    };
    Ok(Some(FileDoor { disk, names: place.names() }))
}

/// The reason in words; a lock that is held has one of its own.
fn why(error: &EngineError) -> String {
    match error {
        EngineError::Disk(e) if e.operation == "lock" && e.source.kind() == ErrorKind::WouldBlock => {
            "another server is using it".to_owned()
        }
        other => other.to_string(),
    }
}

/// Fills in what variables say of this machine and process.
fn state_host(variables: &GlobalVariables) {
    variables.set(Var::HOSTNAME, Setting::Text(env::host::name().into()));
}

/// An address a client on this machine can use.
fn reachable(bind: &IpAddr) -> String {
    if bind.is_unspecified() { "127.0.0.1".to_owned() } else { bind.to_string() }
}

/// A thread that turns SIGTERM and SIGINT into a request to stop.
fn stop_on_signal(server: &Arc<Server>) {
    let server = Arc::clone(server);
    let waiting = env::thread::spawn("signals", env::thread::SMALL_STACK, move || {
        // A wait that fails cannot be repaired; the server can still be stopped by SQL.
        if env::signal::wait_termination().is_ok() {
            server.request_stop();
        }
    });
    // Nobody joins it: the process may end while it waits.
    drop(waiting);
}

fn addresses(variables: &GlobalVariables) -> Result<Addresses, String> {
    let port = variables.u64(Var::PORT) as u16;
    let text = variables.get(Var::BIND_ADDRESS);
    let mut bind = Vec::new();
    for part in text.as_str().split(',').map(str::trim).filter(|p| !p.is_empty()) {
        bind.push(match part {
            "*" | "0.0.0.0" => IpAddr::from([0, 0, 0, 0]),
            "localhost" => IpAddr::from([127, 0, 0, 1]),
            other => other.parse().map_err(|_| format!("Can't bind to '{other}': not an IP address"))?,
        });
    }
    if variables.u64(Var::SKIP_NETWORKING) != 0 {
        bind.clear();
    }
    let socket = match variables.get(Var::SOCKET) {
        Setting::Text(path) if !path.is_empty() => Some(PathBuf::from(&*path)),
        _ => None,
    };
    if bind.is_empty() && socket.is_none() {
        return Err("Neither a TCP address nor a socket to listen on".into());
    }
    Ok(Addresses { bind, port, socket })
}

fn print_help() {
    println!(
        "Usage: morsed [--defaults-file=FILE] [--name=value ...]\n\n\
         Every system variable that MariaDB takes as an option is one here; SHOW VARIABLES lists them.\n\
         The common ones: --datadir=DIR (./data), --port=N (3306), --bind-address=IP (127.0.0.1), --socket=FILE,\n\
         --innodb-buffer-pool-size=N, --innodb-log-file-size=N, --innodb-flush-log-at-trx-commit=0|1|2,\n\
         --skip-log-bin, --server-id=N, --max-connections=N."
    );
}
