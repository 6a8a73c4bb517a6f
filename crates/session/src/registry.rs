//! Living connections: numbers, the process list, KILL, and limits.
//!
//! # Locking order
//! The registry's map, then one entry's `shown`. Neither is held while a statement runs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::counters::Counters;
use crate::transport::Transport;

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change under these mutexes is one assignment or one map operation.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a kill asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kill {
    No,
    /// End the statement.
    Query,
    /// End the statement and the connection.
    Connection,
}

/// The `Command` column of the process list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Doing {
    Connect,
    Sleep,
    Query,
    Prepare,
    Execute,
    CloseStmt,
    ResetStmt,
    Fetch,
    LongData,
    InitDb,
    FieldList,
    Ping,
    Statistics,
    ChangeUser,
    ResetConnection,
    SetOption,
    BinlogDump,
    Killed,
    Daemon,
}

impl Doing {
    const ALL: [(Self, &str); 19] = [
        (Self::Connect, "Connect"),
        (Self::Sleep, "Sleep"),
        (Self::Query, "Query"),
        (Self::Prepare, "Prepare"),
        (Self::Execute, "Execute"),
        (Self::CloseStmt, "Close stmt"),
        (Self::ResetStmt, "Reset stmt"),
        (Self::Fetch, "Fetch"),
        (Self::LongData, "Long Data"),
        (Self::InitDb, "Init DB"),
        (Self::FieldList, "Field List"),
        (Self::Ping, "Ping"),
        (Self::Statistics, "Statistics"),
        (Self::ChangeUser, "Change user"),
        (Self::ResetConnection, "Reset connection"),
        (Self::SetOption, "Set option"),
        (Self::BinlogDump, "Binlog Dump"),
        (Self::Killed, "Killed"),
        (Self::Daemon, "Daemon"),
    ];
    fn name(code: u8) -> &'static str {
        Self::ALL.get(usize::from(code)).map_or("", |(_, name)| name)
    }
}

/// Something that may be woken out of a wait; told once after the kill flag is set.
pub trait Wake: Send + Sync {
    fn wake(&self);
}

/// What the process list shows beside the atomics.
#[derive(Debug, Default)]
struct Shown {
    user: String,
    host: String,
    database: Option<Arc<str>>,
    /// Text of the running statement; its buffer is reused.
    statement: Vec<u8>,
    has_statement: bool,
    /// What a command without a text is at.
    state: &'static str,
}

/// One living connection.
pub struct Entry {
    pub id: u64,
    pub counters: Counters,
    kill: AtomicU8,
    /// The same as a flag, for functions that take long.
    interrupted: Arc<AtomicBool>,
    doing: AtomicU8,
    /// Microseconds on the server's clock when `doing` began.
    since: AtomicU64,
    query_id: AtomicU64,
    /// When max_statement_time ends the statement, on the server's clock; 0 = never.
    deadline: AtomicU64,
    timed_out: AtomicBool,
    logged_in: AtomicBool,
    in_transaction: AtomicBool,
    /// What has passed the write gate, see [`crate::write_gate`].
    inside: AtomicU8,
    shown: Mutex<Shown>,
    transport: Arc<dyn Transport>,
    wakes: Mutex<Vec<Arc<dyn Wake>>>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("id", &self.id).field("shown", &self.shown).finish_non_exhaustive()
    }
}

/// One row of the process list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub id: u64,
    pub user: String,
    pub host: String,
    pub database: Option<Arc<str>>,
    pub command: &'static str,
    pub seconds: u64,
    pub micros: u64,
    pub in_transaction: bool,
    pub query_id: u64,
    pub statement: Option<Vec<u8>>,
    pub state: &'static str,
}

impl Entry {
    /// Starts a command: what the process list says from now on. Called by the connection's thread.
    pub fn begin(&self, doing: Doing, statement: &[u8], now_us: u64) {
        self.since.store(now_us, Ordering::Relaxed);
        {
            let mut shown = guard(&self.shown);
            shown.statement.clear();
            shown.has_statement = !statement.is_empty();
            shown.statement.extend_from_slice(statement);
        }
        self.doing.store(doing as u8, Ordering::Relaxed);
    }
    /// How long the running statement has taken; None when nothing or something else runs.
    pub(crate) fn busy_micros(&self, now_us: u64) -> Option<u64> {
        let doing = self.doing.load(Ordering::Relaxed);
        (doing == Doing::Query as u8 || doing == Doing::Execute as u8)
            .then(|| now_us.saturating_sub(self.since.load(Ordering::Relaxed)))
    }
    /// The command is done; the connection waits for the next.
    pub fn rest(&self, now_us: u64) {
        self.since.store(now_us, Ordering::Relaxed);
        self.doing.store(Doing::Sleep as u8, Ordering::Relaxed);
    }
    pub fn set_identity(&self, user: &str, host: &str) {
        let mut shown = guard(&self.shown);
        user.clone_into(&mut shown.user);
        host.clone_into(&mut shown.host);
        self.logged_in.store(true, Ordering::Relaxed);
    }
    pub fn set_database(&self, database: Option<Arc<str>>) {
        guard(&self.shown).database = database;
    }
    pub(crate) fn inside(&self) -> &AtomicU8 {
        &self.inside
    }
    /// The `State` column while a command without a text runs; empty when it is over.
    pub(crate) fn set_state(&self, state: &'static str) {
        guard(&self.shown).state = state;
    }
    pub fn set_in_transaction(&self, on: bool) {
        self.in_transaction.store(on, Ordering::Relaxed);
    }
    pub fn set_query_id(&self, id: u64) {
        self.query_id.store(id, Ordering::Relaxed);
    }
    /// What was asked by KILL, at the strongest.
    #[inline]
    pub fn killed(&self) -> Kill {
        // Sequentially consistent with the interrupt of a lock owner: see `Session::ensure_trx`.
        match self.kill.load(Ordering::SeqCst) {
            0 => Kill::No,
            1 => Kill::Query,
            _ => Kill::Connection,
        }
    }
    /// max_statement_time of the statement that begins; 0 = none.
    pub(crate) fn set_deadline(&self, deadline_us: u64) {
        self.deadline.store(deadline_us, Ordering::Relaxed);
    }
    /// Whether the kill was max_statement_time's.
    pub(crate) fn timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Relaxed)
    }
    /// A new statement begins: an older KILL QUERY does not concern it.
    pub(crate) fn clear_query_kill(&self) {
        if self.kill.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.timed_out.store(false, Ordering::Relaxed);
        self.interrupted.store(false, Ordering::Relaxed);
        let _ = self.kill.compare_exchange(Kill::Query as u8, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
    /// Set while a kill is pending.
    pub(crate) fn interrupt_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.interrupted)
    }
    /// Registers what a kill has to wake beside the socket.
    pub fn on_kill(&self, wake: Arc<dyn Wake>) {
        guard(&self.wakes).push(wake);
    }
    pub fn is_busy(&self) -> bool {
        let doing = self.doing.load(Ordering::Relaxed);
        doing != Doing::Sleep as u8 && doing != Doing::Connect as u8
    }
    pub fn is_logged_in(&self) -> bool {
        self.logged_in.load(Ordering::Relaxed)
    }
    pub fn user(&self) -> String {
        guard(&self.shown).user.clone()
    }
    pub fn query_id(&self) -> u64 {
        self.query_id.load(Ordering::Relaxed)
    }

    /// KILL. A killed connection sees the end of its stream at its next read, also when it reads already.
    pub fn kill(&self, kill: Kill) {
        self.kill.fetch_max(kill as u8, Ordering::SeqCst);
        self.interrupted.store(true, Ordering::Relaxed);
        for wake in guard(&self.wakes).iter() {
            wake.wake();
        }
        if kill == Kill::Connection {
            self.transport.stop_reading();
        }
    }

    fn process(&self, now_us: u64) -> Process {
        let shown = guard(&self.shown);
        let killed = self.killed() == Kill::Connection;
        let micros = now_us.saturating_sub(self.since.load(Ordering::Relaxed));
        let doing = self.doing.load(Ordering::Relaxed);
        Process {
            id: self.id,
            user: if shown.user.is_empty() { "unauthenticated user".into() } else { shown.user.clone() },
            host: shown.host.clone(),
            database: shown.database.clone(),
            command: if killed { "Killed" } else { Doing::name(doing) },
            seconds: micros / 1_000_000,
            micros,
            in_transaction: self.in_transaction.load(Ordering::Relaxed),
            query_id: self.query_id(),
            statement: (shown.has_statement && self.is_busy()).then(|| shown.statement.clone()),
            state: shown.state,
        }
    }
}

/// Why a connection is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

/// All living connections.
#[derive(Debug, Default)]
pub struct Connections {
    living: Mutex<BTreeMap<u64, Arc<Entry>>>,
    next_id: AtomicU64,
    most: AtomicU32,
    /// Counts of connections that have ended.
    ended: Counters,
}

impl Connections {
    /// Registers a connection, unless `max` are living (one more for administrators is not kept back).
    pub fn admit(
        &self,
        transport: Arc<dyn Transport>,
        host: &str,
        now_us: u64,
        max: u64,
    ) -> Result<Arc<Entry>, TooMany> {
        let mut living = guard(&self.living);
        if living.len() as u64 >= max {
            return Err(TooMany);
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        let entry = Arc::new(Entry {
            id,
            counters: Counters::new(),
            kill: AtomicU8::new(0),
            interrupted: Arc::default(),
            doing: AtomicU8::new(Doing::Connect as u8),
            since: AtomicU64::new(now_us),
            query_id: AtomicU64::new(0),
            deadline: AtomicU64::new(0),
            timed_out: AtomicBool::new(false),
            logged_in: AtomicBool::new(false),
            in_transaction: AtomicBool::new(false),
            inside: AtomicU8::new(0),
            shown: Mutex::new(Shown { host: host.to_owned(), ..Shown::default() }),
            transport,
            wakes: Mutex::default(),
        });
        living.insert(id, Arc::clone(&entry));
        self.most.fetch_max(living.len() as u32, Ordering::Relaxed);
        Ok(entry)
    }

    /// The connection has ended.
    pub fn remove(&self, entry: &Entry) {
        let mut living = guard(&self.living);
        if living.remove(&entry.id).is_some() {
            self.ended.absorb(&entry.counters);
        }
    }

    pub fn get(&self, id: u64) -> Option<Arc<Entry>> {
        guard(&self.living).get(&id).cloned()
    }
    /// Ends statements that run longer than their max_statement_time.
    pub(crate) fn end_overdue(&self, now_us: u64) {
        let overdue = |e: &&Arc<Entry>| {
            let deadline = e.deadline.load(Ordering::Relaxed);
            deadline != 0 && deadline <= now_us && e.is_busy() && e.killed() == Kill::No
        };
        let late: Vec<_> = guard(&self.living).values().filter(overdue).cloned().collect();
        for entry in late {
            entry.deadline.store(0, Ordering::Relaxed);
            entry.timed_out.store(true, Ordering::Relaxed);
            entry.kill(Kill::Query);
        }
    }
    pub(crate) fn by_query(&self, query_id: u64) -> Option<Arc<Entry>> {
        guard(&self.living).values().find(|e| e.query_id() == query_id && e.is_busy()).cloned()
    }
    pub fn all(&self) -> Vec<Arc<Entry>> {
        guard(&self.living).values().cloned().collect()
    }
    pub fn len(&self) -> usize {
        guard(&self.living).len()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Most connections at one time.
    pub fn most(&self) -> u64 {
        u64::from(self.most.load(Ordering::Relaxed))
    }
    pub fn opened(&self) -> u64 {
        self.next_id.load(Ordering::Relaxed)
    }
    pub fn running(&self) -> u64 {
        guard(&self.living).values().filter(|e| e.is_busy()).count() as u64
    }

    /// Rows of SHOW PROCESSLIST, by number.
    pub fn processes(&self, now_us: u64) -> Vec<Process> {
        guard(&self.living).values().map(|e| e.process(now_us)).collect()
    }

    /// Counts of everything since the start (C2).
    pub fn totals(&self) -> Counters {
        let living = guard(&self.living);
        let sum = Counters::new();
        sum.absorb(&self.ended);
        living.values().for_each(|e| sum.absorb(&e.counters));
        sum
    }
    /// Counts something that belongs to no living connection.
    pub fn count_ended(&self, counter: crate::counters::Counter) {
        let _living = guard(&self.living);
        self.ended.count(counter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Counter;
    use std::time::Duration;

    struct Nowhere;
    impl Transport for Nowhere {
        fn read(&self, _: &mut [u8]) -> std::io::Result<usize> {
            Ok(0)
        }
        fn write_all(&self, _: &[u8]) -> std::io::Result<()> {
            Ok(())
        }
        fn set_read_timeout(&self, _: Duration) -> std::io::Result<()> {
            Ok(())
        }
        fn set_write_timeout(&self, _: Duration) -> std::io::Result<()> {
            Ok(())
        }
        fn stop_reading(&self) {}
    }

    #[test]
    fn the_limit_holds_and_ended_connections_make_room() {
        let all = Connections::default();
        let one = all.admit(Arc::new(Nowhere), "localhost", 0, 1).unwrap();
        assert_eq!(all.admit(Arc::new(Nowhere), "localhost", 0, 1).unwrap_err(), TooMany);
        one.counters.count(Counter::Questions);
        all.remove(&one);
        let two = all.admit(Arc::new(Nowhere), "localhost", 0, 1).unwrap();
        assert_eq!((two.id, all.most()), (2, 1));
        two.counters.count(Counter::Questions);
        assert_eq!(all.totals().get(Counter::Questions), 2);
    }

    #[test]
    fn a_kill_of_the_query_does_not_reach_the_next_one() {
        struct Woken(AtomicBool);
        impl Wake for Woken {
            fn wake(&self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let all = Connections::default();
        let one = all.admit(Arc::new(Nowhere), "localhost", 0, 1).unwrap();
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        one.on_kill(woken.clone());
        one.begin(Doing::Query, b"SELECT 1", 5);
        one.kill(Kill::Query);
        assert!(woken.0.load(Ordering::Relaxed));
        assert_eq!(one.killed(), Kill::Query);
        one.clear_query_kill();
        assert_eq!(one.killed(), Kill::No);
        one.kill(Kill::Connection);
        one.clear_query_kill();
        assert_eq!(one.killed(), Kill::Connection);
        assert_eq!(all.processes(7)[0].command, "Killed");
    }
}
