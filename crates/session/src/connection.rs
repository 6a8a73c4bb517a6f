//! The thread of one connection: log-in, then command after command.
//!
//! # Invariants
//! N1. One read and one write to the socket for a command that fits the buffers.
//! N2. Whatever ends the loop, the session's transaction is rolled back and its locks are gone before the thread ends.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use client_error::{ClientError, connection as error};
use env::Clock;
use wire::{Capabilities, Command, FrameError, PacketReader};

use crate::commands;
use crate::compression::CompressedTransport;
use crate::counters::Counter;
use crate::handshake::{self, LOGIN_PACKET_MAX, Origin, Refused};
use crate::output::Output;
use crate::parking::PARK_AFTER;
use crate::registry::{Entry, Kill};
use crate::server::{Leaving, Server};
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
    /// How long the first byte of the next command may take.
    fn wait_for_command(&mut self, idle: Duration) {
        self.idle = idle;
    }
    /// Gives memory back that the next command can have anew.
    fn rest(&mut self) {
        self.reader.rest();
    }
    fn is_inside_packet(&self) -> bool {
        self.reader.has_more()
    }
    pub(crate) fn expect_sequence(&mut self, sequence: u8) {
        self.reader.set_sequence(sequence);
    }
    pub(crate) fn sequence(&self) -> u8 {
        self.reader.sequence()
    }
    /// Another protocol begins below the packets: bytes go through what `wrap` makes of the connection and of what has come already.
    pub(crate) fn change_transport<E>(
        &mut self,
        wrap: impl FnOnce(Arc<dyn Transport>, Vec<u8>) -> Result<Arc<dyn Transport>, E>,
    ) -> Result<Arc<dyn Transport>, E> {
        let rest = self.reader.take_rest();
        self.transport = wrap(Arc::clone(&self.transport), rest)?;
        Ok(Arc::clone(&self.transport))
    }
    pub(crate) fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }
    pub(crate) fn take_any_sequence(&mut self) {
        self.reader.take_any_sequence();
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

/// A connection between two commands: all that its thread needs to go on.
pub(crate) struct Connected {
    pub(crate) session: Session,
    incoming: Incoming,
    out: Output,
    pub(crate) entry: Arc<Entry>,
    /// Nothing came for too long while nobody waited.
    overdue: bool,
    /// Takes it off the books at the end.
    _books: Leaving,
}

impl Connected {
    pub(crate) fn transport(&self) -> &Arc<dyn Transport> {
        self.incoming.transport()
    }
    /// How long its client may be silent.
    pub(crate) fn patience(&self) -> Duration {
        self.session.idle_timeout()
    }
    pub(crate) fn lose_patience(&mut self) {
        self.overdue = true;
    }
    /// Gives memory back.
    pub(crate) fn rest(&mut self) {
        self.incoming.rest();
        self.out.rest();
        self.session.rest();
    }
}

/// Serves a client until it leaves or falls silent. The entry is registered already; `books` takes it off again.
pub(crate) fn serve(
    server: &Arc<Server>,
    entry: &Arc<Entry>,
    transport: Arc<dyn Transport>,
    mut origin: Origin,
    books: Leaving,
) -> Option<Box<Connected>> {
    let seconds = |var| Duration::from_secs(server.variables.u64(var));
    let mut out = Output::new(Arc::clone(&transport), Arc::clone(entry));
    let clock = Arc::clone(server.clock());
    let mut incoming =
        Incoming::new(Arc::clone(&transport), Arc::clone(entry), seconds(Var::CONNECT_TIMEOUT), clock);
    let _ = transport.set_write_timeout(seconds(Var::NET_WRITE_TIMEOUT));
    let identity = match handshake::log_in(&mut incoming, &mut out, server, &mut origin, entry.id) {
        Ok(identity) => identity,
        Err(refused) => {
            refuse(&mut out, &incoming, entry, &refused);
            return None;
        }
    };
    out.go_on(incoming.sequence());
    entry.set_identity(&identity.user, &origin.shown());
    let mut session = Session::new(Arc::clone(server), Arc::clone(entry), identity, origin);
    session.transport = Some(Arc::clone(incoming.transport()));
    if let Err(e) = session.log_in() {
        refuse(&mut out, &incoming, entry, &Refused::Error(e));
        return None;
    }
    session.first_ok(&mut out);
    let mut admitted = out.flush().is_ok();
    if admitted {
        if out.capabilities.contains(Capabilities::COMPRESS) {
            begin_compression(&mut session, &mut incoming, &mut out);
        }
        admitted = session.run_init_connect();
    }
    let entry = Arc::clone(entry);
    let connected = Box::new(Connected { session, incoming, out, entry, overdue: false, _books: books });
    if admitted { go_on(connected) } else { close(connected) }
}

/// Runs commands until the client leaves; answers the connection when it has fallen silent instead.
pub(crate) fn go_on(mut connected: Box<Connected>) -> Option<Box<Connected>> {
    let Connected { session, incoming, out, entry, overdue, .. } = &mut *connected;
    if *overdue {
        leave(incoming, out, entry, &ReadError::Timeout);
    } else if run(session, incoming, out, entry) == Next::Idle {
        return Some(connected);
    }
    close(connected)
}

fn close(mut connected: Box<Connected>) -> Option<Box<Connected>> {
    connected.session.end();
    let server = Arc::clone(connected.session.server());
    server.replicas.forget(connected.entry.id);
    None
}

/// What becomes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// It waits for a command and could do so without a thread.
    Idle,
    End,
}

/// From the first command on both directions are compressed.
fn begin_compression(session: &mut Session, incoming: &mut Incoming, out: &mut Output) {
    let wrap = |inner, rest: Vec<u8>| {
        let wrapped: Arc<dyn Transport> = Arc::new(CompressedTransport::new(inner, &rest));
        Ok::<_, Infallible>(wrapped)
    };
    let Ok(transport) = incoming.change_transport(wrap);
    incoming.take_any_sequence();
    out.set_transport(Arc::clone(&transport));
    session.transport = Some(transport);
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

fn run(session: &mut Session, incoming: &mut Incoming, out: &mut Output, entry: &Entry) -> Next {
    let server = Arc::clone(session.server());
    let mut turn = server.awake.enter();
    loop {
        session.apply_limits(incoming);
        let now = session.now_us();
        if entry.busy_micros(now).is_some_and(|spent| spent >= session.settings.slow.long_us) {
            entry.counters.count(Counter::SlowQueries);
        }
        entry.rest(now);
        let patience = session.idle_timeout();
        let may_park = patience > PARK_AFTER && incoming.transport().socket().is_some();
        incoming.wait_for_command(if may_park { PARK_AFTER } else { patience });
        let transport = Arc::clone(incoming.transport());
        let socket = if incoming.is_inside_packet() { None } else { transport.socket() };
        if let Err(e) = turn.wait(socket, || incoming.command()) {
            if may_park && matches!(e, ReadError::Timeout) && !incoming.is_inside_packet() {
                return Next::Idle;
            }
            leave(incoming, out, entry, &e);
            return Next::End;
        }
        let quit = match Command::decode(incoming.payload(), out.capabilities) {
            Ok(Command::Quit) => {
                session.log_general("Quit", b"");
                return Next::End;
            }
            Ok(Command::ChangeUser(change)) => {
                let change = commands::OwnedChangeUser::of(&change);
                // What the client answers in between may take longer than the silence that parks a connection.
                incoming.wait_for_command(patience);
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
            return Next::End;
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
