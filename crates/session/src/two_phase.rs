//! ALTER TABLE in two event groups (`binlog_alter_two_phase`): replicas begin the work when this server does, not when it is done.
//!
//! # Groups
//! ```text
//! START ALTER      GTID with the phase | QUERY with the phase: when the statement is checked and holds the table's name
//! COMMIT ALTER     the same with the START's number, in one commit with the definition
//! ROLLBACK ALTER   the same, when the work has failed
//! ```
//! # Crash
//! START's transaction puts a row into the dictionary that the end's transaction takes away. A start of the server that finds the row
//! writes the ROLLBACK ALTER that is missing ([`end_left_open`]): what was begun is undone here, and no replica waits for ever.
//! START's number is not known before its commit, so it is looked for in the binary log behind the state that the row has.

use std::cell::RefCell;

use base::{Gtid, Put, Reader};
use binlog::{EmitError, EmitOptions, EventSink, Next, ReadError, SinkClosed, Start, Wait};
use catalog::OpenAlter;
use commit::{Done, Numbering};
use event_format::{
    Checksum, Event, EventKind, Header, MetadataLevel, Query, StatusVariable, StatusVariables,
    gtid_flags_extra,
};
use storage::row::RowError;
use storage::trx::Trx;

use crate::backend::Backend;
use crate::ddl::{LoggedEvent, QueryEvent, commit_logged};
use crate::server::Server;

const ENDS: u8 = gtid_flags_extra::COMMIT_ALTER | gtid_flags_extra::ROLLBACK_ALTER;

/// One statement.
pub(crate) struct Phases<'a> {
    pub(crate) server: &'a Server,
    pub(crate) numbering: Numbering,
    pub(crate) event: &'a QueryEvent,
    pub(crate) text: &'a [u8],
    /// When it began.
    pub(crate) time: u64,
    pub(crate) started: RefCell<Option<Started>>,
}

/// The first group is in the log.
pub(crate) struct Started {
    key: String,
    done: Done,
    /// The second one is, too.
    ended: bool,
}

impl Phases<'_> {
    pub(crate) fn has_started(&self) -> bool {
        self.started.borrow().is_some()
    }

    /// START ALTER.
    pub(crate) fn start(&self) -> Result<(), RowError> {
        let backend = self.server.backend();
        let key = format!("{} {}", backend.engine.log().reserved_lsn().0, self.event.thread_id);
        let body = self.event.body_of_phase(self.text, Some((gtid_flags_extra::START_ALTER, 0)));
        let domain = self.numbering.domain_id;
        let last = backend.committer.positions().last().find(|gtid| gtid.domain_id == domain);
        let row = Row { domain_id: domain, server_id: self.numbering.server_id, before: last, body: &body };
        let open = OpenAlter { key: key.clone(), bytes: row.encode() };
        let mut done = Done::default();
        let mut change = backend.catalog.change();
        backend.catalog.open_alter(change.trx(), &open)?;
        change.commit_with(|trx| {
            let event = LoggedEvent { time: self.time, flags: 0, body: &body };
            done = commit_logged(&self.server.backend().committer, trx, Some(self.numbering), Some(event))?;
            Ok(())
        })?;
        *self.started.borrow_mut() = Some(Started { key, done, ended: false });
        Ok(())
    }

    /// COMMIT ALTER or ROLLBACK ALTER, in one commit with what `trx` has done.
    pub(crate) fn end(&self, mut trx: Trx, phase: u8) -> Result<Done, RowError> {
        let mut started = self.started.borrow_mut();
        let Some(started) = started.as_mut() else { return Ok(Done::default()) };
        let backend = self.server.backend();
        backend.catalog.close_alter(&mut trx, &started.key)?;
        let start = started.done.gtid.map_or(0, |gtid| gtid.seq_no);
        let body = self.event.body_of_phase(self.text, Some((phase, start)));
        let event = LoggedEvent { time: self.time, flags: 0, body: &body };
        let numbering = Numbering { seq_no: None, ..self.numbering };
        let done = commit_logged(&backend.committer, trx, Some(numbering), Some(event))?;
        started.ended = true;
        Ok(done)
    }

    /// The statement is over: what else was committed for it, in order.
    pub(crate) fn finish(&self, success: bool) -> Vec<Done> {
        let Some((start, ended)) = self.started.borrow().as_ref().map(|s| (s.done, s.ended)) else {
            return Vec::new();
        };
        let mut all = vec![start];
        if !success && !ended {
            let mut rolled_back = Done::default();
            let written = self.server.backend().catalog.change().commit_with(|trx| {
                rolled_back = self.end(trx, gtid_flags_extra::ROLLBACK_ALTER)?;
                Ok(())
            });
            // A log that has stopped takes nothing; the next start ends it.
            if written.is_ok() {
                all.push(rolled_back);
            }
        }
        all
    }
}

/// What the dictionary says of one that is open.
struct Row<'a> {
    domain_id: u32,
    server_id: u32,
    /// The last GTID of the domain before START's, if there was one.
    before: Option<Gtid>,
    /// START's QUERY behind its common header.
    body: &'a [u8],
}

impl<'a> Row<'a> {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_u32(self.domain_id);
        out.put_u32(self.server_id);
        out.put_u64(self.before.map_or(0, |gtid| gtid.seq_no));
        out.extend_from_slice(self.body);
        out
    }
    fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut r = Reader::new(bytes);
        let (domain_id, server_id) = (r.u32("domain").ok()?, r.u32("server").ok()?);
        let seq_no = r.u64("sequence number").ok()?;
        let before = (seq_no != 0).then_some(Gtid { domain_id, server_id, seq_no });
        Some(Self { domain_id, server_id, before, body: r.rest() })
    }
}

/// Ends what the last run of the server has left open. Before clients come; `is_logged`: there is a binary log.
pub(crate) fn end_left_open(backend: &Backend, is_logged: bool, now_micros: u64) -> Result<(), String> {
    for open in backend.catalog.take_open_alters() {
        let row = Row::decode(&open.bytes).ok_or("the row of an open ALTER TABLE cannot be read")?;
        let start = if is_logged { start_of(backend, &row).map_err(|e| e.to_string())? } else { None };
        let ended = backend.catalog.change().commit_with(|mut trx| {
            backend.catalog.close_alter(&mut trx, &open.key)?;
            let Some(start) = start else {
                return commit_logged(&backend.committer, trx, None, None).map(|_| ());
            };
            let body = rollback_body(row.body, start)?;
            let event = LoggedEvent { time: now_micros, flags: 0, body: &body };
            let (domain_id, server_id) = (row.domain_id, row.server_id);
            let numbering = Numbering { domain_id, server_id, seq_no: None, thread_id: 0, flags: 0 };
            commit_logged(&backend.committer, trx, Some(numbering), Some(event)).map(|_| ())
        });
        ended.map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// START's QUERY as that of ROLLBACK ALTER.
fn rollback_body(start: &[u8], number: u64) -> Result<Vec<u8>, RowError> {
    let Event::Query(query) = Event::decode(EventKind::QUERY, start)? else { return Ok(start.to_vec()) };
    let mut status = Vec::new();
    for variable in StatusVariables::new(query.status) {
        match variable? {
            StatusVariable::AlterFlags { .. } => {
                let flags = gtid_flags_extra::ROLLBACK_ALTER;
                StatusVariable::AlterFlags { flags, start_alter: number }.encode(&mut status);
            }
            other => other.encode(&mut status),
        }
    }
    let mut out = Vec::new();
    Event::Query(Query { status: &status, ..query }).encode(&mut out);
    Ok(out)
}

/// The number of the START ALTER that belongs to the row and has no end; none when it is not in the log any more.
fn start_of(backend: &Backend, row: &Row<'_>) -> Result<Option<u64>, ReadError> {
    let before = row.before.map_or(0, |gtid| gtid.seq_no);
    let covers = |state: &[Gtid]| {
        state.iter().filter(|g| g.domain_id == row.domain_id).all(|gtid| gtid.seq_no <= before)
    };
    let Some(found) = backend.binlog.lookup(&covers)? else { return Ok(None) };
    let mut groups = backend.binlog.open(Start::At(found.position))?;
    let options = EmitOptions {
        checksum: Checksum::None,
        annotate: false,
        metadata: MetadataLevel::NoLog,
        row_event_size_max: 8192,
    };
    let mut open = None;
    loop {
        match groups.next(Wait::No)? {
            Next::Group(head) if head.gtid.domain_id == row.domain_id => {
                let mut group = Head::default();
                match groups.emit(&options, &mut group) {
                    Ok(()) | Err(EmitError::Sink(_)) => {}
                    Err(EmitError::Read(e)) => return Err(e),
                }
                match group.phase {
                    Some((gtid_flags_extra::START_ALTER, _)) if group.is_of(row) => {
                        open = Some(head.gtid.seq_no)
                    }
                    Some((phase, start)) if phase & ENDS != 0 && open == Some(start) => open = None,
                    _ => {}
                }
            }
            Next::Group(_) | Next::Rotated { .. } => {}
            Next::Nothing => return Ok(open),
        }
    }
}

/// The first two events of a group: whether it is a phase, and of what.
#[derive(Default)]
struct Head {
    events: usize,
    phase: Option<(u8, u64)>,
    query: Vec<u8>,
}

impl Head {
    fn is_of(&self, row: &Row<'_>) -> bool {
        let (Some(own), Some(other)) = (query_of(&self.query), query_of(row.body)) else { return false };
        own.head.thread_id == other.head.thread_id && own.database == other.database && own.sql == other.sql
    }
}

fn query_of(body: &[u8]) -> Option<Query<'_>> {
    match Event::decode(EventKind::QUERY, body) {
        Ok(Event::Query(query)) => Some(query),
        _ => None,
    }
}

impl EventSink for Head {
    fn event(&mut self, bytes: &[u8], _: bool) -> Result<(), SinkClosed> {
        self.events += 1;
        let Ok((_, event)) = event_format::read(bytes, Checksum::None) else { return Err(SinkClosed) };
        match event {
            Event::Gtid(gtid) if gtid.flags_extra & (ENDS | gtid_flags_extra::START_ALTER) != 0 => {
                self.phase = Some((gtid.flags_extra & !gtid_flags_extra::THREAD_ID, gtid.start_alter));
                Ok(())
            }
            Event::Query(_) if self.events == 2 => {
                self.query.extend_from_slice(&bytes[Header::LEN..]);
                Err(SinkClosed)
            }
            // Another group: not of interest.
            _ => Err(SinkClosed),
        }
    }
}
