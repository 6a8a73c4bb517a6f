//! The thread of one connection: log-in, then command after command.
//!
//! # Invariants
//! N1. One read and one write to the socket for a command that fits the buffers.
//! N2. Whatever ends the loop, the session's transaction is rolled back and its locks are gone before the thread ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use client_error::{ClientError, connection as error};
use env::Clock;
use wire::{Command, FrameError, PacketReader};

use crate::commands;
use crate::counters::Counter;
use crate::handshake::{self, LOGIN_PACKET_MAX, Origin, Refused};
use crate::output::Output;
use crate::registry::{Entry, Kill};
use crate::server::Server;
use crate::session::Session;
use crate::transport::Transport;
use crate::variables::Var;

/// Why no packet came.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The client closed the connection, or it was killed.
    End,
    Timeout,
    Frame(FrameError),
    Io,
}

impl ReadError {
    /// What the client is told, if it can still hear.
    pub(crate) fn told(&self) -> Option<ClientError> {
        match self {
            Self::Frame(FrameError::TooLarge { .. }) => Some(error::packet_too_large()),
            Self::Frame(FrameError::Sequence { .. }) => Some(error::packets_out_of_order()),
            Self::End | Self::Timeout | Self::Io => None,
        }
    }
}

/// The receiving half of a connection.
pub(crate) struct Incoming {
    reader: PacketReader,
    transport: Arc<dyn Transport>,
    entry: Arc<Entry>,
    /// How long the first byte of a command may take, and how long the rest of a packet.
    idle: Duration,
    inside: Duration,
    /// What the socket is set to.
    set: Duration,
    /// Until then the log-in has to be over, whatever dribbles in.
    deadline: Option<Duration>,
    clock: Arc<dyn Clock>,
}

impl Incoming {
    pub(crate) fn new(
        transport: Arc<dyn Transport>,
        entry: Arc<Entry>,
        timeout: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let incoming = Self {
            reader: PacketReader::new(LOGIN_PACKET_MAX),
            transport,
            entry,
            idle: timeout,
            inside: timeout,
            set: timeout,
            deadline: Some(clock.monotonic() + timeout),
            clock,
        };
        // A socket that cannot be set up fails at its first read.
        let _ = incoming.transport.set_read_timeout(timeout);
        incoming
    }
    /// The log-in is over: limits of a session.
    pub(crate) fn set_limits(&mut self, payload_max: usize, idle: Duration, inside: Duration) {
        self.deadline = None;
        self.reader.set_payload_max(payload_max);
        self.idle = idle;
        self.inside = inside;
    }
    pub(crate) fn expect_sequence(&mut self, sequence: u8) {
        self.reader.set_sequence(sequence);
    }
    pub(crate) fn sequence(&self) -> u8 {
        self.reader.sequence()
    }
    pub(crate) fn payload(&self) -> &[u8] {
        self.reader.payload()
    }

    /// Reads one whole payload.
    pub(crate) fn read(&mut self) -> Result<(), ReadError> {
        loop {
            if self.reader.poll().map_err(ReadError::Frame)? {
                return Ok(());
            }
            let mut wanted = if self.reader.has_more() { self.inside } else { self.idle };
            if let Some(deadline) = self.deadline {
                let left = deadline.saturating_sub(self.clock.monotonic());
                if left.is_zero() {
                    return Err(ReadError::Timeout);
                }
                wanted = wanted.min(left);
            }
            if wanted != self.set {
                self.transport.set_read_timeout(wanted).map_err(|_| ReadError::Io)?;
                self.set = wanted;
            }
            match self.transport.read(self.reader.spare()) {
                Ok(0) => return Err(ReadError::End),
                Ok(n) => {
                    self.entry.counters.add(Counter::BytesReceived, n as u64);
                    self.reader.filled(n);
                }
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Err(ReadError::Timeout);
                }
                Err(_) => return Err(ReadError::Io),
            }
        }
    }

    /// The next command.
    fn command(&mut self) -> Result<(), ReadError> {
        self.reader.restart();
        self.read()
    }
}

/// Serves a client until it leaves. The entry is registered already and is removed by the caller.
pub(crate) fn serve(server: &Arc<Server>, entry: &Arc<Entry>, transport: Arc<dyn Transport>, origin: Origin) {
    let seconds = |var| Duration::from_secs(server.variables.u64(var));
    let mut out = Output::new(Arc::clone(&transport), Arc::clone(entry));
    let clock = Arc::clone(server.clock());
    let mut incoming =
        Incoming::new(Arc::clone(&transport), Arc::clone(entry), seconds(Var::CONNECT_TIMEOUT), clock);
    let _ = transport.set_write_timeout(seconds(Var::NET_WRITE_TIMEOUT));
    let identity = match handshake::log_in(&mut incoming, &mut out, server, &origin, entry.id) {
        Ok(identity) => identity,
        Err(refused) => return refuse(&mut out, &incoming, entry, &refused),
    };
    out.go_on(incoming.sequence());
    entry.set_identity(&identity.user, &origin.shown());
    let mut session = Session::new(Arc::clone(server), Arc::clone(entry), identity, origin);
    session.transport = Some(Arc::clone(&transport));
    if let Err(e) = session.log_in() {
        return refuse(&mut out, &incoming, entry, &Refused::Error(e));
    }
    session.first_ok(&mut out);
    if out.flush().is_ok() {
        run(&mut session, &mut incoming, &mut out, entry);
    }
    session.end();
    server.replicas.forget(entry.id);
}

fn refuse(out: &mut Output, incoming: &Incoming, entry: &Entry, refused: &Refused) {
    entry.counters.count(Counter::AbortedConnects);
    if let Refused::Error(e) = refused {
        out.start(incoming.sequence());
        out.error(e);
        // Whether the client still listens does not matter any more.
        let _ = out.flush();
    }
}

fn run(session: &mut Session, incoming: &mut Incoming, out: &mut Output, entry: &Entry) {
    loop {
        session.apply_limits(incoming);
        entry.rest(session.now_us());
        if let Err(e) = incoming.command() {
            return leave(incoming, out, entry, &e);
        }
        let quit = match Command::decode(incoming.payload(), out.capabilities) {
            Ok(Command::Quit) => return,
            Ok(Command::ChangeUser(change)) => {
                let change = commands::OwnedChangeUser::of(&change);
                out.start(incoming.sequence());
                commands::change_user(session, incoming, out, &change)
            }
            Ok(command) => {
                out.start(incoming.sequence());
                commands::run(session, out, command)
            }
            Err(e) => {
                let told = crate::replicas::malformed(incoming.payload(), &e);
                out.start(incoming.sequence());
                out.error(&told);
                false
            }
        };
        if out.flush().is_err() || quit || entry.killed() == Kill::Connection {
            return;
        }
    }
}

/// The stream of commands ended other than by COM_QUIT.
fn leave(incoming: &Incoming, out: &mut Output, entry: &Entry, why: &ReadError) {
    if entry.killed() == Kill::Connection {
        // Nothing was asked, so nothing is answered: the stream ends.
        return;
    }
    entry.counters.count(Counter::AbortedClients);
    if let Some(e) = why.told() {
        out.start(incoming.sequence().wrapping_add(1));
        out.error(&e);
        let _ = out.flush();
    }
}
