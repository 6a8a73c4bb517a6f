//! What all connections share, and the threads around them.
//!
//! # Threads
//! One accepts connections per listener, one watches for hang-ups, one waits for events, one runs each connection and each event. The
//! engine has its own.
//!
//! # Shutdown
//! stop accepting -> kill every connection (their transactions roll back) -> wait for their threads -> close the engine.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use charset::Collation;
use client_error::{ClientError, connection as error};
use env::Clock;
use env::hangup::HangupWatcher;
use env::net::{Listener, Stream};
use env::thread::JoinHandle;
use jiff::tz::TimeZone;
use replication::{Replicas, SemiSync};

use crate::account_store::AccountStore;
use crate::authentication::Remembered;
use crate::backend::Backend;
use crate::busy_poll::Awake;
use crate::connection;
use crate::counters::Counter;
use crate::error_log::{self, Severity};
use crate::event::{self, Scheduler};
use crate::handshake::Origin;
use crate::login_limits::{Failures, UsageMap};
use crate::output::Output;
use crate::parking::{self, ParkingLot};
use crate::query_log::QueryLogs;
use crate::registry::{Connections, Kill};
use crate::rsa_key::RsaKey;
use crate::tls::{TlsContext, TlsCounters};
use crate::transport::Transport;
use crate::variables::{GlobalVariables, Setting, Var};
use crate::write_gate::WriteGate;
use crate::xa::Branches;

/// Stack of a connection's thread: only touched pages cost memory. A level of an expression takes up to 4 KiB of it while a statement is
/// planned or run, and the parser admits 700 (`MAX_NESTING`).
pub(crate) const CONNECTION_STACK: usize = 8 * 1024 * 1024;
/// How long an accept thread waits before it looks whether the server stops.
const ACCEPT_TICK: Duration = Duration::from_millis(200);
/// How often a connection that hung up while idle is looked at again.
const HANGUP_TICK: Duration = Duration::from_millis(50);

/// A database, as USE needs it.
#[derive(Debug, Clone)]
pub struct FoundDatabase {
    pub name: String,
    pub collation: Collation,
}

/// Where to listen.
#[derive(Debug, Clone)]
pub struct Addresses {
    pub bind: Vec<IpAddr>,
    /// 0 lets the system choose.
    pub port: u16,
    pub socket: Option<PathBuf>,
}

pub struct Server {
    pub variables: GlobalVariables,
    pub connections: Connections,
    pub(crate) accounts: AccountStore,
    pub(crate) failures: Failures,
    pub(crate) usage: UsageMap,
    pub(crate) remembered: Remembered,
    pub(crate) tls: ArcSwapOption<TlsContext>,
    pub(crate) tls_counters: TlsCounters,
    pub(crate) rsa_key: RsaKey,
    pub(crate) query_logs: QueryLogs,
    backend: Backend,
    write_gate: WriteGate,
    scheduler: Scheduler,
    /// Who replicates from here.
    pub replicas: Replicas,
    pub semi_sync: Arc<SemiSync>,
    branches: Branches,
    clock: Arc<dyn Clock>,
    started_us: u64,
    query_ids: AtomicU64,
    /// What the last look for expired files saw.
    pub(crate) expiry_seen: AtomicU64,
    prepared: AtomicU64,
    stopping: AtomicBool,
    stop_asked: (Mutex<bool>, Condvar),
    watcher: HangupWatcher,
    pub(crate) parking: ParkingLot,
    threads: AtomicUsize,
    pub(crate) awake: Awake,
}

impl Server {
    pub fn new(
        variables: GlobalVariables,
        backend: Backend,
        clock: Arc<dyn Clock>,
    ) -> std::io::Result<Arc<Self>> {
        let started_us = clock.monotonic().as_micros() as u64;
        state_facts(&variables);
        let accounts = AccountStore::open(&backend).map_err(std::io::Error::other)?;
        let server = Arc::new(Self {
            variables,
            connections: Connections::default(),
            accounts,
            failures: Failures::default(),
            usage: UsageMap::default(),
            remembered: Remembered::default(),
            tls: ArcSwapOption::empty(),
            tls_counters: TlsCounters::default(),
            rsa_key: RsaKey::default(),
            query_logs: QueryLogs::default(),
            backend,
            write_gate: WriteGate::default(),
            scheduler: Scheduler::default(),
            replicas: Replicas::default(),
            semi_sync: Arc::default(),
            branches: Branches::default(),
            clock,
            started_us,
            query_ids: AtomicU64::new(1),
            expiry_seen: AtomicU64::new(0),
            prepared: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            stop_asked: (Mutex::new(false), Condvar::new()),
            watcher: HangupWatcher::new()?,
            parking: ParkingLot::new()?,
            threads: AtomicUsize::new(0),
            awake: Awake::new(env::thread::cores()),
        });
        server.start_replication();
        server.scheduler.set(server.variables.u64(Var::EVENT_SCHEDULER) == 1);
        server.renew_query_logs();
        Ok(server)
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
    pub(crate) fn branches(&self) -> &Branches {
        &self.branches
    }
    pub(crate) fn write_gate(&self) -> &WriteGate {
        &self.write_gate
    }
    pub(crate) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }
    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }
    pub(crate) fn log(&self, severity: Severity, thread: u64, text: &str) {
        error_log::write(&*self.clock, severity, thread, text);
    }

    /// Microseconds on the monotonic clock.
    pub fn now_us(&self) -> u64 {
        self.clock.monotonic().as_micros() as u64
    }
    /// Microseconds since 1970.
    pub fn wall_us(&self) -> i64 {
        self.clock.wall().as_micros() as i64
    }
    pub fn uptime_seconds(&self) -> u64 {
        (self.now_us() - self.started_us) / 1_000_000
    }
    pub(crate) fn has_connections(&self) -> bool {
        self.threads.load(Ordering::SeqCst) > 0
    }
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
    pub fn take_query_ids(&self, n: u64) -> u64 {
        self.query_ids.fetch_add(n, Ordering::Relaxed)
    }

    /// Offers TLS to clients, with the certificate that the variables name; FLUSH SSL reads it anew.
    pub fn offer_tls(&self) -> Result<(), String> {
        let context = TlsContext::new(&self.variables, self.wall_us() / 1_000_000)?;
        self.tls.store(Some(Arc::new(context)));
        let yes = |var| self.variables.set(var, Setting::Text(Arc::from("YES")));
        self.variables.set(Var::VERSION_SSL_LIBRARY, Setting::Text(Arc::from("rustls")));
        yes(Var::HAVE_SSL);
        yes(Var::HAVE_OPENSSL);
        Ok(())
    }

    /// FLUSH SSL: reads certificate and key anew; connections keep what they have.
    pub(crate) fn renew_tls(&self) -> Result<(), ClientError> {
        if self.tls.load().is_none() {
            return Ok(());
        }
        self.offer_tls()
            .map_err(|e| ClientError::new(2026, b"HY000", format!("Failed to refresh SSL, error: {e}")))
    }

    /// Runs `init_file`; called before clients are let in.
    pub fn run_init_file(self: &Arc<Self>) -> Result<(), String> {
        crate::internal::run_init_file(self)
    }

    /// Counts a new prepared statement against max_prepared_stmt_count.
    pub fn admit_prepared(&self) -> Result<(), ClientError> {
        let max = self.variables.u64(Var::MAX_PREPARED_STMT_COUNT);
        let before = self.prepared.fetch_add(1, Ordering::Relaxed);
        if before < max {
            return Ok(());
        }
        self.prepared.fetch_sub(1, Ordering::Relaxed);
        Err(error::too_many_prepared(max))
    }
    pub fn forget_prepared(&self, n: u64) {
        self.prepared.fetch_sub(n, Ordering::Relaxed);
    }
    pub fn prepared_count(&self) -> u64 {
        self.prepared.load(Ordering::Relaxed)
    }

    /// SET GLOBAL: stores the value and lets it work.
    pub fn set_global(&self, var: Var, setting: Setting) {
        self.variables.set(var, setting.clone());
        self.apply_global(var.keeper(), &setting);
    }

    /// Asks for a shutdown, from a signal or from SQL.
    pub fn request_stop(&self) {
        let (asked, told) = &self.stop_asked;
        *asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        told.notify_all();
    }
    /// Waits until a shutdown is asked for.
    pub fn wait_for_stop_request(&self) {
        let (asked, told) = &self.stop_asked;
        let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        while !*asked {
            asked = told.wait(asked).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Values of variables that say what this server is.
fn state_facts(variables: &GlobalVariables) {
    let text = |var, value: &str| variables.set(var, Setting::Text(Arc::from(value)));
    text(Var::VERSION, crate::handshake::VERSION);
    text(Var::VERSION_COMPILE_MACHINE, std::env::consts::ARCH);
    text(Var::SYSTEM_TIME_ZONE, TimeZone::system().iana_name().unwrap_or("UTC"));
    let host = env::host::name();
    for (var, end) in [(Var::GENERAL_LOG_FILE, ".log"), (Var::LOG_SLOW_QUERY_FILE, "-slow.log")] {
        if variables.get(var).as_str().is_empty() {
            text(var, &format!("{host}{end}"));
        }
    }
    let engine = variables.get(Var::BINLOG_STORAGE_ENGINE);
    if engine.text(Var::BINLOG_STORAGE_ENGINE.def()).is_none_or(|engine| *engine != *"FILE") {
        text(Var::LOG_BIN_BASENAME, "log/");
    }
    if variables.u64(Var::LOG_BIN) == 0 {
        variables.set(Var::LOG_BIN_BASENAME, Setting::Null);
    }
}

/// The running threads of a server.
pub struct Running {
    server: Arc<Server>,
    threads: Vec<JoinHandle<()>>,
    /// The TCP port that was bound.
    pub port: u16,
}

/// Binds the addresses and serves them.
pub fn start(server: &Arc<Server>, addresses: &Addresses) -> std::io::Result<Running> {
    let mut listeners = Vec::new();
    let mut port = addresses.port;
    for ip in &addresses.bind {
        let listener = Listener::tcp(*ip, port)?;
        port = listener.port().unwrap_or(port);
        listeners.push(listener);
    }
    if let Some(path) = &addresses.socket {
        listeners.push(Listener::unix(path)?);
    }
    // First: whoever finds the server answering finds its figures, too.
    let mut threads: Vec<_> = crate::prometheus::start(server)?.into_iter().collect();
    for listener in listeners {
        let server = Arc::clone(server);
        threads.push(env::thread::spawn("accept", env::thread::SMALL_STACK, move || {
            accept_loop(&server, &listener)
        })?);
    }
    let watching = Arc::clone(server);
    threads.push(env::thread::spawn("hangups", env::thread::SMALL_STACK, move || watch_hangups(&watching))?);
    let clocked = Arc::clone(server);
    threads.push(env::thread::spawn("event_scheduler", CONNECTION_STACK, move || event::serve(&clocked))?);
    let parked = Arc::clone(server);
    threads.push(env::thread::spawn("parked", env::thread::SMALL_STACK, move || parking::watch(&parked))?);
    Ok(Running { server: Arc::clone(server), threads, port })
}

impl Running {
    /// Ends all connections and waits for them.
    pub fn stop(self) {
        self.server.stopping.store(true, Ordering::SeqCst);
        self.server.backend.engine.log().wait_for_space_no_more();
        loop {
            // Again and again, until nobody accepts any more: a connection may have been accepted just before. Dumps end last: a commit may still wait for the
            // acknowledgement of a replica.
            let all = self.server.connections.all();
            let is_dump = |id| self.server.replicas.is_dump(id);
            let others = all.iter().any(|entry| !is_dump(entry.id));
            for entry in all.iter().filter(|entry| !others || !is_dump(entry.id)) {
                entry.kill(Kill::Connection);
            }
            if self.threads.iter().all(JoinHandle::is_finished) && !self.server.has_connections() {
                break;
            }
            self.server.clock.sleep(Duration::from_millis(10));
        }
        for thread in self.threads {
            // A thread that panicked has said so on standard error.
            let _ = thread.join();
        }
    }
}

fn accept_loop(server: &Arc<Server>, listener: &Listener) {
    while !server.is_stopping() {
        match listener.accept_within(ACCEPT_TICK) {
            Ok(Some((stream, peer))) => {
                let uid = stream.peer_uid();
                keep_alive(server, &stream);
                admit(server, stream, Origin::of(peer, uid));
            }
            Ok(None) => {}
            // Out of descriptors or a connection that died in the queue: the next one may do better.
            Err(_) => server.clock.sleep(Duration::from_millis(10)),
        }
    }
}

/// tcp_keepalive_*: the system notices a peer that has vanished. A socket that takes none of it works without.
fn keep_alive(server: &Server, stream: &Stream) {
    let seconds = |var| server.variables.u64(var) as u32;
    let [time, interval, probes] =
        [Var::TCP_KEEPALIVE_TIME, Var::TCP_KEEPALIVE_INTERVAL, Var::TCP_KEEPALIVE_PROBES].map(seconds);
    let _ = stream.keep_alive(time, interval, probes);
}

fn admit(server: &Arc<Server>, stream: Stream, origin: Origin) {
    let stream = Arc::new(stream);
    let transport: Arc<dyn Transport> = Arc::<Stream>::clone(&stream);
    // One more: it may be an administrator, who is known after the log-in.
    let max = server.variables.u64(Var::MAX_CONNECTIONS) + 1;
    let Ok(entry) = server.connections.admit(Arc::clone(&transport), &origin.shown(), server.now_us(), max)
    else {
        server.connections.count_ended(Counter::AbortedConnects);
        Output::refuse(&*transport, &error::too_many_connections());
        return;
    };
    // Without the watcher a hang-up is noticed at the next read or write, later but surely.
    let _ = server.watcher.add(&*stream, entry.id);
    drop(stream);
    let books = Leaving::new(Arc::clone(server), entry);
    let shared = Arc::clone(server);
    spawn_session("connection", move || {
        let entry = Arc::clone(&books.entry);
        if let Some(idle) = connection::serve(&shared, &entry, transport, origin, books) {
            parking::park(&shared, idle);
        }
    });
}

/// Starts the thread of a session. Without one the session is off the books again, when `body` is dropped with its [`Leaving`].
pub(crate) fn spawn_session(name: &str, body: impl FnOnce() + Send + 'static) -> bool {
    env::thread::spawn(name, CONNECTION_STACK, body).is_ok()
}

/// Takes a session off the books, also when its thread panics.
pub(crate) struct Leaving {
    server: Arc<Server>,
    entry: Arc<crate::registry::Entry>,
}

impl Leaving {
    pub(crate) fn new(server: Arc<Server>, entry: Arc<crate::registry::Entry>) -> Self {
        server.threads.fetch_add(1, Ordering::SeqCst);
        Self { server, entry }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.server.connections.remove(&self.entry);
        self.server.threads.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Tells what went wrong in the engine's threads. A log that has failed ends the server (L7).
fn watch_engine(server: &Server, told_full: &mut bool) {
    let engine = &server.backend.engine;
    let is_full = engine.log().waits_for_space();
    if is_full && !*told_full {
        let text = "InnoDB: the disk is full: the log waits for somebody to free space; commits wait with it";
        server.log(Severity::Error, 0, text);
    }
    *told_full = is_full;
    for error in engine.take_background_errors() {
        server.log(Severity::Error, 0, &format!("InnoDB: {error}"));
    }
    if engine.is_stopped() {
        let reason = engine.log().failure().map(|f| f.to_string()).unwrap_or_default();
        server.log(Severity::Error, 0, &format!("InnoDB: {reason}; the server stops"));
        server.request_stop();
    }
}

/// Ends the statement of a client that has gone: its transaction rolls back and its locks go at once.
fn watch_hangups(server: &Arc<Server>) {
    let mut gone = Vec::new();
    let mut told_full = false;
    while !server.is_stopping() {
        watch_engine(server, &mut told_full);
        server.connections.end_overdue(server.now_us());
        server.expire_logs_sometimes();
        let tick = if gone.is_empty() { ACCEPT_TICK } else { HANGUP_TICK };
        if server.watcher.wait(tick, &mut gone).is_err() {
            server.clock.sleep(tick);
        }
        gone.retain(|id| {
            let Some(entry) = server.connections.get(*id) else { return false };
            let busy = entry.is_busy();
            if busy {
                entry.kill(Kill::Connection);
            }
            // An idle one may be about to read a last command: looked at again until its thread has ended.
            !busy
        });
    }
}
