//! One dump: from a request to the end of the stream. Runs on its connection's thread.
//!
//! # Stream (replication of MariaDB 10.11 and 11.8 as observed)
//! ```text
//! artificial ROTATE | FORMAT_DESCRIPTION | GTID_LIST, at the head of a file | BINLOG_CHECKPOINT
//! | { [artificial GTID_LIST: what was passed over] | group } ... | HEARTBEAT when nothing came for a while
//! new file: ROTATE | artificial ROTATE | FORMAT_DESCRIPTION | GTID_LIST | BINLOG_CHECKPOINT
//! UNTIL: artificial GTID_LIST with its flag | EOF packet
//! ```
//!
//! # Invariants
//! S1. Groups come whole, in commit order, and only when they are durable (the reader's promise), so a group that was begun is there
//!     again after a reconnect, whatever happened to this server.
//! S2. The dump holds no lock while it sends or waits, and no memory of the size of a group.
//! S3. A position that the stream states never lies before one that it stated in the same file.
//!
//! # Slow and lost replicas
//! Sending blocks this thread alone. The connection's write timeout ends a stuck dump; a replica that is gone is noticed by
//! whoever watches the connection, and [`DumpControl::stopped`] says so.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use base::{Gtid, Lsn};
use binlog::{EmitError, EmitOptions, GroupHead, Next, Position, ReadError, SinkClosed, Start, Wait};
use client_error::{ClientError, replication as error};
use env::Stopwatch;
use event_format::{
    BinlogCheckpoint, Checksum, End, Event, FormatDescription, GtidList, Header, Heartbeat, MetadataLevel,
    Rotate, Stamp, gtid_list_flags, header_flags, write,
};

use crate::acks::Wanted;
use crate::mimic::{self, Sent};
use crate::replica_position::ReplicaPosition;
use crate::replicas::Dump as Registered;
use crate::request::{Capability, DumpRequest, GtidStart};
use crate::running_state::{LastOfDomains, RunningState};
use crate::semi_sync::SemiSync;
use crate::source::{BinaryLog, Groups, LogFile};
use crate::start::{Limit, Skipper, StartError, Until, Verdict, check_known, covers};
use crate::stream::{EventStream, Line};

/// First position of a file, by convention.
const FILE_HEAD: u32 = 4;
/// The longest sleep of a dump without heartbeats.
const LOOK_AROUND: Duration = Duration::from_secs(60);

/// Why a dump is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// KILL QUERY: the client is told that the stream ends.
    Query,
    /// The connection is killed or gone: nobody is told anything.
    Connection,
}

/// What the server says of itself; asked again for each file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpFacts {
    pub server_id: u32,
    pub version: &'static str,
    pub checksum: Checksum,
    pub metadata: MetadataLevel,
    pub row_event_size_max: usize,
}

/// The server around a dump.
pub trait DumpControl: Sync {
    fn facts(&self) -> DumpFacts;
    fn stopped(&self) -> Option<Stop>;
    /// What the process list shows.
    fn set_state(&self, state: &'static str);
    fn wall_seconds(&self) -> u32;
}

/// States of the process list.
pub mod states {
    pub const SENDING: &str = "Sending binlog event to slave";
    pub const WAITING: &str = "Master has sent all binlog to slave; waiting for more updates";
}

/// How a dump ended.
#[derive(Debug)]
pub enum Ended {
    /// As the client asked: EOF was sent.
    Finished,
    /// The client was told the error.
    Refused(ClientError),
    /// The connection is of no use any more.
    Lost,
}

enum Failure {
    Io,
    Told(ClientError),
    Stopped(Stop),
}

impl From<io::Error> for Failure {
    fn from(_: io::Error) -> Self {
        Self::Io
    }
}
impl From<ClientError> for Failure {
    fn from(e: ClientError) -> Self {
        Self::Told(e)
    }
}
impl From<ReadError> for Failure {
    fn from(e: ReadError) -> Self {
        Self::Told(error::fatal_reading(format!("error reading log entry: {e}")))
    }
}

/// Where a stream begins.
pub struct Begin {
    place: Position,
    /// The state there.
    state: Vec<Gtid>,
    skipper: Skipper,
    until: Option<Until>,
    file: LogFile,
}

impl Begin {
    /// A reader from there on: what is open, stays.
    pub fn open(&self, log: &dyn BinaryLog) -> Result<Box<dyn Groups>, ClientError> {
        log.open(Start::At(self.place)).map_err(|e| read_error(&e))
    }

    /// LSN of the place: nothing before it is needed.
    pub fn lsn(&self) -> Lsn {
        self.file.start + self.place.offset
    }

    /// Decides where the stream for `request` begins. `is_replica`: the client is a MariaDB replica, which would ask again for
    /// positions that mean nothing here.
    pub fn new(log: &dyn BinaryLog, request: &DumpRequest, is_replica: bool) -> Result<Self, ClientError> {
        match &request.gtid {
            Some(gtid) => Self::by_gtid(log, gtid),
            None => Self::by_position(log, request, is_replica),
        }
    }

    fn by_gtid(log: &dyn BinaryLog, gtid: &GtidStart) -> Result<Self, ClientError> {
        let known = log.state();
        check_known(&gtid.position, &known).map_err(start_error)?;
        let found = log.locate(&|state| covers(&gtid.position, state));
        let (place, state) =
            found.map_err(|e| read_error(&e))?.ok_or_else(|| start_error(StartError::Purged))?;
        let skipper = Skipper::new(&gtid.position, &state, &known, gtid.strict);
        let until = gtid.until.as_ref().map(|(until, before)| Until::new(until, &gtid.position, *before));
        let file = file_of(log, place.segment).ok_or_else(|| start_error(StartError::Purged))?;
        Ok(Self { place, state, skipper, until, file })
    }

    fn by_position(
        log: &dyn BinaryLog,
        request: &DumpRequest,
        is_replica: bool,
    ) -> Result<Self, ClientError> {
        let mut files = log.files().into_iter();
        let name = request.file.rsplit('/').next().unwrap_or("");
        let file = if name.is_empty() { files.next() } else { files.find(|f| f.name == name) };
        let file = file.ok_or_else(error::no_such_log_for_dump)?;
        let position = u64::from(request.position);
        if request.position < FILE_HEAD || position > file.size {
            let what = "Client requested master to start replication from impossible position";
            return Err(error::fatal_reading(placed(
                what,
                request,
                &file.name,
                FILE_HEAD.into(),
                FILE_HEAD.into(),
            )));
        }
        let known = if request.position > FILE_HEAD {
            log.nearest(file.segment, position)
        } else {
            log.state_at_head(file.segment).map(|state| (0, state))
        };
        let (offset, known) = known.map_err(|e| read_error(&e))?;
        let mut state = RunningState::new(known);
        let mut place = Position { segment: file.segment, offset };
        if request.position > FILE_HEAD {
            if is_replica && request.capability == Capability::Gtid && !log.has_real_positions() {
                return Err(error::fatal_reading(error::gtid_start_required().text));
            }
            if !walk_to(log, &file, position, &mut state, &mut place).map_err(|e| read_error(&e))? {
                let what = "binlog truncated in the middle of event; consider out of disk space on master";
                return Err(error::fatal_reading(placed(what, request, &file.name, position, position)));
            }
        }
        let state = state.gtids().to_vec();
        Ok(Self { place, state, skipper: Skipper::nothing(), until: None, file })
    }
}

/// Goes through the groups of a file up to `position`; false when that is not the end of one.
fn walk_to(
    log: &dyn BinaryLog,
    file: &LogFile,
    position: u64,
    state: &mut RunningState,
    place: &mut Position,
) -> Result<bool, ReadError> {
    let mut groups = log.open(Start::At(*place))?;
    loop {
        match groups.next(Wait::No)? {
            Next::Group(head) if head.end.segment == file.segment && head.end.offset <= position => {
                state.advance(head.gtid);
                *place = head.end;
                if head.end.offset == position {
                    return Ok(true);
                }
            }
            // The beginning of a group, or of what stands before the first one.
            Next::Group(head) if log.has_real_positions() && head.position.offset >= position => {
                let is_event = head.position.offset == position || place.offset == 0;
                *place = Position { segment: file.segment, offset: position };
                return Ok(is_event);
            }
            // Behind the last group of the log: what SHOW MASTER STATUS says.
            Next::Nothing => {
                *place = Position { segment: file.segment, offset: position };
                return Ok(position == file.size);
            }
            Next::Group(_) | Next::Rotated { .. } => return Ok(false),
        }
    }
}

fn file_of(log: &dyn BinaryLog, segment: u64) -> Option<LogFile> {
    log.files().into_iter().find(|f| f.segment == segment)
}

fn read_error(e: &ReadError) -> ClientError {
    error::fatal_reading(format!("error reading log entry: {e}"))
}

fn start_error(e: StartError) -> ClientError {
    match e {
        StartError::Ahead(gtid) => error::gtid_ahead(&gtid.to_string()),
        StartError::Diverged(gtid) => error::gtid_diverged(&gtid.to_string()),
        StartError::Purged => error::gtid_purged(),
    }
}

/// An error's text with the places that MariaDB adds.
fn placed(what: &str, request: &DumpRequest, file: &str, event: u64, byte: u64) -> String {
    let first = if request.file.is_empty() && request.gtid.is_some() { "." } else { &request.file };
    let first = if first.is_empty() { file } else { first };
    format!(
        "{what}; the first event '{first}' at {}, the last event read from '{file}' at {event}, the last byte read from '{file}' \
         at {byte}.",
        request.position
    )
}

/// What a dump works with.
pub struct Dump<'a> {
    pub log: &'a dyn BinaryLog,
    pub line: &'a dyn Line,
    pub control: &'a dyn DumpControl,
    pub registered: &'a Registered,
    /// Of a semi-synchronous replica: who waits, and what it is to acknowledge.
    pub semi_sync: Option<(&'a SemiSync, &'a Mutex<Wanted>)>,
}

/// The stream under way.
struct Running<'a> {
    dump: &'a Dump<'a>,
    request: &'a DumpRequest,
    stream: EventStream<'a>,
    facts: DumpFacts,
    file: LogFile,
    replica: ReplicaPosition,
    /// End of the last group or file head, in the file.
    offset: u64,
    state: RunningState,
    skipper: Skipper,
    /// Passed over since the replica was told.
    skipped: LastOfDomains,
    /// What the replica has of what the stream came by.
    has: LastOfDomains,
    until: Option<Until>,
    scratch: Vec<u8>,
    instead: Vec<u8>,
    last_sent: Stopwatch,
}

impl Dump<'_> {
    /// Serves the request from `begin` to the end of the stream.
    pub fn run(&self, request: &DumpRequest, begin: Begin, groups: &mut dyn Groups) -> Ended {
        let turn = groups.turn();
        if self.semi_sync.is_some() {
            turn.hurry();
        }
        let mut running = Running {
            dump: self,
            request,
            stream: EventStream::new(self.line, self.semi_sync.is_some()).by_turns(&*turn),
            facts: self.control.facts(),
            offset: begin.place.offset,
            file: begin.file,
            replica: ReplicaPosition::default(),
            state: RunningState::new(begin.state),
            skipper: begin.skipper,
            skipped: LastOfDomains::default(),
            has: LastOfDomains::default(),
            until: begin.until,
            scratch: Vec::new(),
            instead: Vec::new(),
            last_sent: Stopwatch::start(),
        };
        let outcome = running.serve(groups);
        match outcome {
            Ok(()) | Err(Failure::Stopped(Stop::Query)) => match running.stream.end() {
                Ok(()) => Ended::Finished,
                Err(_) => Ended::Lost,
            },
            Err(Failure::Told(e)) => match running.stream.error(&e) {
                Ok(()) => Ended::Refused(e),
                Err(_) => Ended::Lost,
            },
            Err(Failure::Io | Failure::Stopped(Stop::Connection)) => Ended::Lost,
        }
    }
}

/// Ends the connection of a request that cannot be served.
pub fn refuse(line: &dyn Line, e: &ClientError) {
    // Whether the client still listens does not matter.
    let _ = EventStream::new(line, false).error(e);
}

impl Running<'_> {
    fn serve(&mut self, groups: &mut dyn Groups) -> Result<(), Failure> {
        self.dump.control.set_state(states::SENDING);
        self.head(self.offset)?;
        if self.until.as_ref().is_some_and(Until::is_reached) {
            return self.until_reached();
        }
        loop {
            self.look_around()?;
            match self.next(groups)? {
                Next::Group(head) => {
                    if self.group(groups, &head)? {
                        return Ok(());
                    }
                }
                Next::Rotated { segment } => self.rotated(segment)?,
                Next::Nothing if self.request.is_non_blocking() => return self.tell_skipped(),
                Next::Nothing => self.heartbeat()?,
            }
        }
    }

    fn look_around(&self) -> Result<(), Failure> {
        if self.dump.registered.is_replaced() {
            let text = placed(
                &error::same_server_id().text,
                self.request,
                &self.file.name,
                self.offset,
                self.offset,
            );
            return Err(ClientError { text: text.into(), ..error::same_server_id() }.into());
        }
        match self.dump.control.stopped() {
            Some(stop) => Err(Failure::Stopped(stop)),
            None => Ok(()),
        }
    }

    /// The next of the log; waits as long as the heartbeat allows.
    fn next(&mut self, groups: &mut dyn Groups) -> Result<Next, Failure> {
        let control = self.dump.control;
        let at_once = groups.next(Wait::No)?;
        if at_once != Next::Nothing || self.request.is_non_blocking() {
            return Ok(at_once);
        }
        self.tell_skipped()?;
        self.stream.rest()?;
        control.set_state(states::WAITING);
        let time = match self.request.heartbeat {
            Some(period) => period.saturating_sub(self.last_sent.elapsed()),
            None => LOOK_AROUND,
        };
        let next = groups.next(Wait::For(time))?;
        if next != Next::Nothing {
            control.set_state(states::SENDING);
        }
        Ok(next)
    }

    /// One group: sent or passed over. True when the stream ends here.
    fn group(&mut self, groups: &mut dyn Groups, head: &GroupHead) -> Result<bool, Failure> {
        let verdict = self.skipper.judge(head.gtid);
        let limit = self.until.as_mut().map_or(Limit::Within, |u| u.judge(head.gtid));
        self.state.advance(head.gtid);
        match (verdict, limit) {
            (Verdict::Hole(gtid), _) => return Err(error::gtid_hole(&gtid.to_string()).into()),
            (Verdict::Skip, _) => {
                self.skipped.note(head.gtid);
                self.has.note(head.gtid);
                self.passed(head);
            }
            (Verdict::Send, Limit::Beyond) => self.passed(head),
            (Verdict::Send, Limit::Within | Limit::Last) => {
                self.tell_skipped()?;
                self.send_group(groups, head)?;
                self.has.note(head.gtid);
            }
        }
        let reached = self.until.as_ref().is_some_and(Until::is_reached);
        if reached {
            self.until_reached()?;
        }
        Ok(reached)
    }

    /// The replica has the group already.
    fn passed(&mut self, head: &GroupHead) {
        self.offset = head.end.offset;
        let end = self.file.start + head.end.offset;
        self.dump.registered.advance(end);
        if let Some((semi_sync, _)) = self.dump.semi_sync
            && !self.skipped.is_empty()
        {
            semi_sync.acknowledged(self.request.server_id, end, false);
        }
    }

    fn send_group(&mut self, groups: &mut dyn Groups, head: &GroupHead) -> Result<(), Failure> {
        let options = EmitOptions {
            checksum: self.facts.checksum,
            annotate: self.request.wants_annotate(),
            metadata: self.facts.metadata,
            row_event_size_max: self.facts.row_event_size_max,
        };
        let end = self.file.start + head.end.offset;
        let mut failure = None;
        let mut sink = |bytes: &[u8], last: bool| {
            self.event(bytes, last.then_some(end)).map_err(|f| {
                failure = Some(f);
                SinkClosed
            })
        };
        match groups.emit(&options, &mut sink) {
            Ok(()) => {}
            Err(EmitError::Sink(_)) => return Err(failure.unwrap_or(Failure::Io)),
            Err(EmitError::Read(e)) => return Err(e.into()),
        }
        self.last_sent = Stopwatch::start();
        self.offset = head.end.offset;
        self.dump.registered.advance(end);
        Ok(())
    }

    /// One event of a group; `ends` with the group's last.
    fn event(&mut self, bytes: &[u8], ends: Option<Lsn>) -> Result<(), Failure> {
        if self.request.capability >= Capability::Gtid {
            return self.put(bytes, ends);
        }
        let mut instead = std::mem::take(&mut self.instead);
        let annotate = self.request.wants_annotate();
        let mimicked =
            mimic::mimic(bytes, self.facts.checksum, self.request.capability, annotate, &mut instead);
        let outcome = match mimicked.map_err(|e| read_error(&e.into()))? {
            Sent::AsItIs => self.put(bytes, ends),
            Sent::Instead => self.put(&instead, ends),
            Sent::Nothing => Ok(()),
            Sent::Impossible => Err(error::no_replacement().into()),
        };
        self.instead = instead;
        outcome
    }

    fn put(&mut self, bytes: &[u8], ends: Option<Lsn>) -> Result<(), Failure> {
        let header = Header::read(bytes).map_err(|e| read_error(&e.into()))?;
        self.replica.sent(&header);
        let mut wants_ack = false;
        if let (Some(end), Some((semi_sync, wanted))) = (ends, self.dump.semi_sync)
            && semi_sync.is_enabled()
        {
            wants_ack = true;
            semi_sync.requested();
            let mut wanted = wanted.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            wanted.note(&self.file.name, self.replica.get(), end);
        }
        Ok(self.stream.event(bytes, wants_ack)?)
    }

    /// Writes an event of the stream's own.
    fn own(&mut self, stamp: &Stamp, event: &Event<'_>, checksum: Checksum) -> Result<(), Failure> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        write(&mut scratch, stamp, event, checksum);
        let outcome = match event {
            // Only what has another form for old clients goes through the door for them.
            Event::GtidList(_) | Event::BinlogCheckpoint(_)
                if stamp.flags & header_flags::ARTIFICIAL == 0 =>
            {
                self.event(&scratch, None)
            }
            _ => self.put(&scratch, None),
        };
        self.last_sent = Stopwatch::start();
        self.scratch = scratch;
        outcome
    }

    fn stamp(&self) -> Stamp {
        Stamp {
            timestamp: self.dump.control.wall_seconds(),
            server_id: self.facts.server_id,
            end: End::Unstated,
            flags: 0,
        }
    }

    /// The head of a file's stream, which begins at `offset` of it.
    fn head(&mut self, offset: u64) -> Result<(), Failure> {
        let at_head = offset == 0;
        let position = offset.max(u64::from(FILE_HEAD));
        let name = self.file.name.clone();
        let artificial = Stamp::artificial(self.facts.server_id);
        let rotate = Event::Rotate(Rotate { position, file: name.as_bytes() });
        let wanted = if self.request.checksum == Some(true) { Checksum::Crc32 } else { Checksum::None };
        self.replica.rotated(position);
        self.own(&artificial, &rotate, wanted)?;
        if self.facts.checksum == Checksum::Crc32 && self.request.checksum.is_none() {
            let text =
                placed(&error::not_checksum_aware().text, self.request, &name, FILE_HEAD.into(), position);
            return Err(error::fatal_reading(text).into());
        }
        let fresh = at_head && self.state.gtids().is_empty() && self.offset == 0;
        let created = if fresh { self.file.created as u32 } else { 0 };
        let stamp = Stamp { timestamp: self.file.created as u32, ..self.stamp() };
        let format = FormatDescription::new(self.facts.version, created, self.facts.checksum);
        self.own(&stamp, &Event::FormatDescription(format), self.facts.checksum)?;
        if at_head {
            let list = GtidList { flags: 0, gtids: self.state.gtids().to_vec() };
            let stamp = Stamp { end: End::Behind(self.replica.get()), ..stamp };
            self.own(&stamp, &Event::GtidList(list), self.facts.checksum)?;
        }
        let checkpoint = Event::BinlogCheckpoint(BinlogCheckpoint { file: name.as_bytes() });
        self.own(&stamp, &checkpoint, self.facts.checksum)
    }

    fn rotated(&mut self, segment: u64) -> Result<(), Failure> {
        self.tell_skipped()?;
        let file = file_of(self.dump.log, segment)
            .ok_or_else(|| ReadError::Gone { what: format!("segment {segment}") })?;
        let next = Event::Rotate(Rotate { position: FILE_HEAD.into(), file: file.name.as_bytes() });
        let end = End::At(self.offset as u32);
        self.own(&Stamp { end, ..self.stamp() }, &next, self.facts.checksum)?;
        self.dump.registered.advance(file.start);
        self.file = file;
        self.facts = self.dump.control.facts();
        self.offset = 0;
        self.head(0)
    }

    /// Moves the replica's position over what it has.
    fn tell_skipped(&mut self) -> Result<(), Failure> {
        if self.skipped.is_empty() {
            return Ok(());
        }
        let gtids = self.skipped.take();
        if self.request.capability < Capability::Gtid {
            return Ok(());
        }
        self.list(GtidList { flags: 0, gtids })
    }

    fn until_reached(&mut self) -> Result<(), Failure> {
        let gtids = self.has.take();
        self.list(GtidList { flags: gtid_list_flags::UNTIL_REACHED, gtids })
    }

    fn list(&mut self, list: GtidList) -> Result<(), Failure> {
        let end = End::At(self.position() as u32);
        let stamp = Stamp { end, ..Stamp::artificial(self.facts.server_id) };
        self.own(&stamp, &Event::GtidList(list), self.facts.checksum)
    }

    /// The position that artificial events state: never behind what the replica thinks (S3).
    fn position(&self) -> u64 {
        self.offset.max(self.replica.get())
    }

    fn heartbeat(&mut self) -> Result<(), Failure> {
        let Some(period) = self.request.heartbeat else { return Ok(()) };
        if self.last_sent.elapsed() < period {
            return Ok(());
        }
        let name = self.file.name.clone();
        let stamp = Stamp {
            end: End::At(self.position() as u32),
            flags: 0,
            ..Stamp::artificial(self.facts.server_id)
        };
        self.own(&stamp, &Event::Heartbeat(Heartbeat { file: name.as_bytes() }), self.facts.checksum)?;
        Ok(self.stream.flush()?)
    }
}
