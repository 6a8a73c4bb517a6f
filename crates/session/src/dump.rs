//! COM_BINLOG_DUMP: the connection's thread becomes a dump thread.
//!
//! The binary log, the connection and the process list behind the doors that `replication` names. A semi-synchronous replica has a second,
//! small thread that reads its acknowledgements.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::{Gtid, Lsn};
use binlog::{Position, ReadError, Start};
use client_error::{ClientError, replication as refused};
use event_format::{Checksum, MetadataLevel};
use replication::acks::{AckParser, Heard, Wanted};
use replication::dump::refuse;
use replication::{
    Begin, BinaryLog, DumpControl, DumpFacts, DumpRequest, DumpThread, Ended, Groups, Line, LogFile,
    SemiSync, Stop,
};
use types::Value;

use crate::counters::Counter;
use crate::error_log::Severity;
use crate::registry::{Doing, Entry, Kill, Wake};
use crate::replicas::gtid_list_error;
use crate::server::Server;
use crate::session::Session;
use crate::transport::Transport;
use crate::variables::Var;

/// Stack of the thread that reads acknowledgements.
const ACK_STACK: usize = 64 * 1024;
/// How long a read for acknowledgements may take before it looks whether the dump has ended.
const ACK_TICK: Duration = Duration::from_secs(1);

/// The session's user variables as a request reads them.
struct DumpVariables<'a>(&'a Session);

impl replication::UserVariables for DumpVariables<'_> {
    fn text(&self, name: &str) -> Option<String> {
        match self.0.user_variables.get(name) {
            None | Some(Value::Null) => None,
            Some(value) => Some(crate::text::to_string(value)),
        }
    }
}

/// The server's binary log.
struct Files<'a>(&'a Server);

impl BinaryLog for Files<'_> {
    fn files(&self) -> Vec<LogFile> {
        let binlog = &self.0.backend().binlog;
        let file = |f: binlog::BinlogFile| LogFile {
            segment: f.number,
            name: binlog.name(f.number),
            start: self.0.start_of_file(f.number).unwrap_or(Lsn::NONE),
            size: f.size,
            created: f.created,
        };
        binlog.files().into_iter().map(file).collect()
    }
    fn has_real_positions(&self) -> bool {
        self.0.backend().binlog.is_in_files()
    }
    fn state(&self) -> Vec<Gtid> {
        self.0.committer().positions().state()
    }
    fn locate(&self, wanted: &dyn Fn(&[Gtid]) -> bool) -> Result<Option<(Position, Vec<Gtid>)>, ReadError> {
        Ok(self.0.backend().binlog.lookup(wanted)?.map(|found| (found.position, found.state)))
    }
    fn nearest(&self, segment: u64, offset: u64) -> Result<(u64, Vec<Gtid>), ReadError> {
        self.0.backend().binlog.nearest(segment, offset)
    }
    fn state_at_head(&self, segment: u64) -> Result<Vec<Gtid>, ReadError> {
        self.0.backend().binlog.state_at(segment)
    }
    fn open(&self, start: Start) -> Result<Box<dyn Groups>, ReadError> {
        self.0.backend().binlog.open(start)
    }
}

/// The client's connection.
struct Connection {
    transport: Arc<dyn Transport>,
    entry: Arc<Entry>,
}

impl Line for Connection {
    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.entry.counters.add(Counter::BytesSent, bytes.len() as u64);
        self.transport.write_all(bytes)
    }
    fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.transport.write_now(bytes)?;
        self.entry.counters.add(Counter::BytesSent, sent as u64);
        Ok(sent)
    }
    fn receive(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.transport.read(buf)
    }
}

/// What the dump asks of the server.
struct Control<'a> {
    server: &'a Server,
    entry: &'a Entry,
}

impl DumpControl for Control<'_> {
    fn facts(&self) -> DumpFacts {
        let v = &self.server.variables;
        DumpFacts {
            server_id: v.u64(Var::SERVER_ID) as u32,
            version: crate::handshake::VERSION,
            checksum: if v.u64(Var::BINLOG_CHECKSUM) == 0 { Checksum::None } else { Checksum::Crc32 },
            metadata: match v.u64(Var::BINLOG_ROW_METADATA) {
                0 => MetadataLevel::NoLog,
                1 => MetadataLevel::Minimal,
                _ => MetadataLevel::Full,
            },
            row_event_size_max: v.u64(Var::BINLOG_ROW_EVENT_MAX_SIZE) as usize,
        }
    }
    fn stopped(&self) -> Option<Stop> {
        match self.entry.killed() {
            Kill::No => None,
            Kill::Query => Some(Stop::Query),
            Kill::Connection => Some(Stop::Connection),
        }
    }
    fn set_state(&self, state: &'static str) {
        self.entry.set_state(state);
    }
    fn wall_seconds(&self) -> u32 {
        (self.server.wall_us() / 1_000_000) as u32
    }
}

/// A kill ends the wait of the dump.
struct WakeDump(Arc<dyn Fn() + Send + Sync>);

impl Wake for WakeDump {
    fn wake(&self) {
        (self.0)();
    }
}

/// The parts of COM_BINLOG_DUMP.
pub(crate) struct DumpCommand {
    pub(crate) position: u32,
    pub(crate) flags: u16,
    pub(crate) server_id: u32,
    pub(crate) file: Vec<u8>,
}

/// Serves the dump; the connection ends with it.
pub(crate) fn run(session: &mut Session, command: &DumpCommand) {
    let now = session.now_us();
    session.entry.clear_query_kill();
    session.entry.begin(Doing::BinlogDump, b"", now);
    session.entry.set_deadline(0);
    session.new_query_id();
    session.entry.counters.count(Counter::ComAdminCommands);
    let Some(transport) = session.transport.clone() else { return };
    transport.packets_one_by_one();
    let line = Connection { transport, entry: Arc::clone(&session.entry) };
    let ended = match serve(session, &line, command) {
        Ok(ended) => ended,
        Err(e) => {
            refuse(&line, &e);
            Ended::Refused(e)
        }
    };
    session.entry.set_state("");
    if let Ended::Refused(e) = &ended {
        let text = format!("The dump for the replica with server id {} ended: {e}", command.server_id);
        session.server().log(Severity::Warning, session.entry.id, &text);
    }
}

fn serve(session: &Session, line: &Connection, command: &DumpCommand) -> Result<Ended, ClientError> {
    let server = Arc::clone(session.server());
    if !server.log_bin() {
        return Err(refused::binlog_not_open());
    }
    let variables = DumpVariables(session);
    let request =
        DumpRequest::new(command.position, command.flags, command.server_id, &command.file, &variables)
            .map_err(gtid_list_error)?;
    let connection = session.entry.id;
    let is_replica = server.replicas.registered().iter().any(|r| r.connection == connection);
    let log = Files(&server);
    let begin = Begin::new(&log, &request, is_replica)?;
    let mut groups = begin.open(&log)?;
    let wake: Arc<dyn Fn() + Send + Sync> = Arc::from(groups.interrupt());
    let also = Arc::clone(&wake);
    let registered = server
        .replicas
        .begin(request.server_id, connection, begin.lsn(), move || also())
        .map_err(|_| refused::binlog_in_use())?;
    session.entry.on_kill(Arc::new(WakeDump(wake)));
    let _listed = Listed { server: &server, connection };
    let control = Control { server: &server, entry: &session.entry };
    let wanted = Arc::<Mutex<Wanted>>::default();
    let acks = request.semi_sync.then(|| Acks::start(&server, line, &request, &wanted)).flatten();
    let semi_sync = acks.as_ref().map(|_| (&*server.semi_sync, &*wanted));
    let dump = DumpThread { log: &log, line, control: &control, registered: &registered, semi_sync };
    let ended = dump.run(&request, begin, &mut *groups);
    Ok(ended)
}

/// Takes the dump off the list, whatever ends it.
struct Listed<'a> {
    server: &'a Server,
    connection: u64,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.server.replicas.end(self.connection);
    }
}

/// The acknowledgements of one replica.
struct Acks {
    semi_sync: Arc<SemiSync>,
    server_id: u32,
    transport: Arc<dyn Transport>,
    reading: Option<env::thread::JoinHandle<()>>,
}

impl Acks {
    /// None when no thread can be started: the replica is served without acknowledgements.
    fn start(
        server: &Arc<Server>,
        line: &Connection,
        request: &DumpRequest,
        wanted: &Arc<Mutex<Wanted>>,
    ) -> Option<Self> {
        let semi_sync = Arc::clone(&server.semi_sync);
        let (transport, entry) = (Arc::clone(&line.transport), Arc::clone(&line.entry));
        let (shared, wanted, server_id) = (Arc::clone(&semi_sync), Arc::clone(wanted), request.server_id);
        semi_sync.join(server_id);
        let line = Connection { transport: Arc::clone(&transport), entry };
        let body = move || read_acks(&line, &shared, server_id, &wanted);
        match env::thread::spawn("acks", ACK_STACK, body) {
            Ok(reading) => Some(Self { semi_sync, server_id, transport, reading: Some(reading) }),
            Err(_) => {
                semi_sync.leave(server_id);
                None
            }
        }
    }
}

impl Drop for Acks {
    fn drop(&mut self) {
        self.transport.stop_reading();
        if let Some(reading) = self.reading.take() {
            // A thread that panicked has said so on standard error.
            let _ = reading.join();
        }
        self.semi_sync.leave(self.server_id);
    }
}

/// Reads until the connection ends or says what cannot be understood; then the dump ends.
fn read_acks(line: &Connection, semi_sync: &SemiSync, server_id: u32, wanted: &Mutex<Wanted>) {
    let _ = line.transport.set_read_timeout(ACK_TICK);
    let mut parser = AckParser::default();
    loop {
        match line.receive(parser.spare()) {
            Ok(0) => break,
            Ok(n) => parser.filled(n),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => continue,
            Err(_) => break,
        }
        while let Some(heard) = parser.take() {
            let Heard::Ack { position, file } = heard else { return line.entry.kill(Kill::Connection) };
            let end = wanted.lock().unwrap_or_else(PoisonError::into_inner).cover(&file, position);
            if let Some(end) = end {
                semi_sync.acknowledged(server_id, end, true);
            }
        }
    }
    line.entry.kill(Kill::Connection);
}
