//! Event groups: the events of one committed transaction, as MariaDB writes them.
//!
//! # Layout
//! ```text
//! rows          GTID | {ANNOTATE | TABLE_MAP of each table of the statement | rows events, the last with STATEMENT_END
//!               | or QUERY "SAVEPOINT name"}... | XID
//! definition    GTID (DDL, STANDALONE) | QUERY                           ALTER TABLE: both say which phase of it, when it has two
//! both          GTID (DDL) | QUERY | statements as above | XID                     CREATE TABLE ... SELECT
//! XA PREPARE    GTID (PREPARED_XA) | statements as above | QUERY "XA END name" | XA_PREPARE
//! XA decision   GTID (COMPLETED_XA, STANDALONE) | QUERY "XA COMMIT name" or "XA ROLLBACK name"
//! ```
//! A group that decides about its transaction says which one that is: in XID, else in the status variables of its QUERY.
//! Rows of one table and kind share an event up to `binlog_row_event_max_size`. Only GTID and the last event say where the group stands
//! (as 11.8 does); the others say 0.
//!
//! # Invariants
//! G1. Memory: [`LOOK_AHEAD`] bytes of rows, one event, one row.
//! G2. All table maps of a statement come before its first rows event. A statement whose later rows bring a table that was not seen in
//!     the first [`LOOK_AHEAD`] bytes is cut in two there.

use std::borrow::Cow;
use std::collections::VecDeque;

use base::{Lsn, TableId};
use event_format::{
    Annotate, Bitmap, End, Event, EventKind, GtidEvent, Header, Query, QueryHead, Rows, RowsKind, RowsWriter,
    Stamp, StatusVariable, StatusVariables, XaPrepare, gtid_flags, gtid_flags_extra, header_flags,
    rows_flags,
};
use log_format::record::{Record, commit_flags, event_options};

use crate::api::{EmitError, EmitOptions, EventSink, GroupHead};
use crate::branch::{self, Branch};
use crate::changes::{Change, Changes, Step, UsedTable};
use crate::frames::Frames;
use crate::image;
use crate::tables::{TableInfo, Tables};
use crate::transaction::{Chain, Phase};

/// Bytes of rows that are looked at before a statement's table maps are written.
const LOOK_AHEAD: usize = 1 << 20;

/// "Extra engines" of an XA PREPARE.
const XA_PREPARE_ENGINES: u8 = 0xff;

/// A rows event that is being filled.
struct Open {
    writer: RowsWriter,
    table: usize,
    kind: RowsKind,
    present: Vec<u8>,
    present_after: Vec<u8>,
}

/// Writes the events of one group.
pub(crate) struct GroupWriter<'a> {
    head: &'a GroupHead,
    options: &'a EmitOptions,
    sink: &'a mut dyn EventSink,
    /// The event that is being made; empty between two events.
    out: Vec<u8>,
    open: Option<Open>,
    images: [Vec<u8>; 2],
}

/// A query event of the log: its kind and body as they go out.
struct Logged {
    time: u64,
    kind: u8,
    flags: u32,
    body: Vec<u8>,
}

/// What a group is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contents<'a> {
    pub(crate) chain: Chain,
    /// Texts that are not in the log, by their statement's first row record, in order.
    pub(crate) texts: &'a [(Lsn, Box<[u8]>)],
}

impl From<Chain> for Contents<'_> {
    fn from(chain: Chain) -> Self {
        Self { chain, texts: &[] }
    }
}

/// Makes the events of a group.
pub(crate) fn emit(
    frames: &mut Frames,
    tables: &Tables,
    head: &GroupHead,
    contents: Contents<'_>,
    options: &EmitOptions,
    sink: &mut dyn EventSink,
) -> Result<(), EmitError> {
    let chain = contents.chain;
    let mut writer =
        GroupWriter { head, options, sink, out: Vec::new(), open: None, images: Default::default() };
    let branch = match chain.phase {
        Phase::Commit => None,
        Phase::Prepare(at) => Some(branch::prepared(frames, at)?),
        Phase::Decision { commits } => {
            return writer.decision(&branch::decided(frames, chain.last)?, commits);
        }
    };
    let event = logged_event(frames, chain.last)?;
    let mut changes = Changes::new(frames, tables, contents)?;
    let mut queue = VecDeque::new();
    let more = fill(&mut changes, &mut queue)?;
    let has_rows = !queue.is_empty();
    writer.gtid(event.as_ref(), has_rows, branch.as_ref())?;
    if let Some(mut event) = event {
        if chain.decides && !has_rows {
            name_transaction(&mut event, chain)?;
        }
        writer.logged(&event, !has_rows)?;
    }
    if has_rows {
        writer.rows(&mut changes, queue, more)?;
        match &branch {
            Some(branch) => writer.prepare(branch)?,
            None => writer.end(chain)?,
        }
    }
    Ok(())
}

/// Adds the transaction's number to the status variables of a query.
fn name_transaction(event: &mut Logged, chain: Chain) -> Result<(), EmitError> {
    let kind = EventKind(event.kind);
    if let Event::Query(query) = Event::decode(kind, &event.body)? {
        let mut status = Vec::with_capacity(query.status.len() + 9);
        let mut named = false;
        for variable in StatusVariables::new(query.status) {
            let variable = variable?;
            // The number comes before the phase of an ALTER TABLE.
            if matches!(variable, StatusVariable::AlterFlags { .. }) {
                StatusVariable::DdlXid(chain.trx.0).encode(&mut status);
                named = true;
            }
            variable.encode(&mut status);
        }
        if !named {
            StatusVariable::DdlXid(chain.trx.0).encode(&mut status);
        }
        let mut body = Vec::with_capacity(event.body.len() + 9);
        Event::Query(Query { status: &status, ..query }).encode(&mut body);
        event.body = body;
    }
    Ok(())
}

/// The phase of ALTER TABLE that a query is, and the number of the first phase's group.
fn alter_phase(event: &Logged) -> Result<Option<(u8, u64)>, EmitError> {
    let Event::Query(query) = Event::decode(EventKind(event.kind), &event.body)? else { return Ok(None) };
    for variable in StatusVariables::new(query.status) {
        if let StatusVariable::AlterFlags { flags, start_alter } = variable? {
            return Ok(Some((flags, start_alter)));
        }
    }
    Ok(None)
}

/// The event of a statement about definitions is its transaction's last record.
fn logged_event(frames: &mut Frames, last: Lsn) -> Result<Option<Logged>, EmitError> {
    let mut record = Vec::new();
    frames.record(last, &mut record)?;
    Ok(match Record::decode(last, &record).map_err(|e| frames.corrupt(last, e))? {
        Record::Event(e) => {
            Some(Logged { time: e.time, kind: e.event_type, flags: e.event_flags, body: e.body.to_vec() })
        }
        _ => None,
    })
}

/// Reads changes of one statement ahead, at least two so that its text has been met. True when the statement goes on behind them. The
/// first change of the next statement stays last in the queue.
fn fill(changes: &mut Changes<'_>, queue: &mut VecDeque<Step>) -> Result<More, EmitError> {
    let mut bytes = 0;
    while queue.len() < 2 || bytes < LOOK_AHEAD {
        let Some(step) = changes.next()? else { return Ok(More::Nothing) };
        bytes += step.bytes();
        let ends = matches!(queue.back(), Some(Step::Savepoint(_)));
        let next_begins = (ends || step.starts_statement()) && !queue.is_empty();
        queue.push_back(step);
        if next_begins {
            return Ok(More::Statement);
        }
    }
    Ok(More::Rows)
}

/// What follows the changes in the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum More {
    /// The last change in the queue begins another statement.
    Statement,
    /// The statement may go on.
    Rows,
    Nothing,
}

impl GroupWriter<'_> {
    fn stamp(&self, end: End) -> Stamp {
        let flags = if self.head.flags & commit_flags::SKIP_REPLICATION != 0 {
            header_flags::SKIP_REPLICATION
        } else {
            0
        };
        Stamp {
            timestamp: (self.head.time / 1_000_000) as u32,
            server_id: self.head.gtid.server_id,
            end,
            flags,
        }
    }

    fn write(&mut self, event: &Event<'_>, stamp: Stamp, last: bool) -> Result<(), EmitError> {
        debug_assert!(self.open.is_none(), "a rows event is open");
        self.out.clear();
        event_format::write(&mut self.out, &stamp, event, self.options.checksum);
        self.sink.event(&self.out, last)?;
        self.out.clear();
        Ok(())
    }

    fn gtid(
        &mut self,
        event: Option<&Logged>,
        has_rows: bool,
        prepares: Option<&Branch>,
    ) -> Result<(), EmitError> {
        let (head, has_event) = (self.head, event.is_some());
        let mut flags = 0;
        let mut set = |on: bool, bit: u8| flags |= if on { bit } else { 0 };
        set(head.flags & commit_flags::NO_PARALLEL == 0, gtid_flags::ALLOW_PARALLEL);
        set(head.flags & commit_flags::WAITED != 0, gtid_flags::WAITED);
        set(has_event, gtid_flags::DDL);
        set(has_event && !has_rows, gtid_flags::STANDALONE);
        set(!has_event && head.flags & commit_flags::NOT_TRANSACTIONAL == 0, gtid_flags::TRANSACTIONAL);
        set(prepares.is_some(), gtid_flags::PREPARED_XA);
        set(head.commit_id != 0, gtid_flags::GROUP_COMMIT_ID);
        let logged = event;
        let mut event = GtidEvent { flags, xa: prepares.map(Branch::name), ..self.numbered() };
        if prepares.is_some() {
            event.flags_extra |= gtid_flags_extra::MULTI_ENGINE;
            event.extra_engines = XA_PREPARE_ENGINES;
        }
        if let Some((phase, start_alter)) = logged.map(alter_phase).transpose()?.flatten() {
            event.flags_extra |= phase;
            event.start_alter = start_alter;
        }
        let mut stamp = self.stamp(End::At(head.position.offset as u32));
        stamp.flags |= header_flags::SUPPRESS_USE;
        self.write(&Event::Gtid(event), stamp, false)
    }

    /// What is the same in every GTID event.
    fn numbered(&self) -> GtidEvent<'static> {
        let head = self.head;
        GtidEvent {
            seq_no: head.gtid.seq_no,
            domain_id: head.gtid.domain_id,
            commit_id: head.commit_id,
            flags_extra: if head.thread_id != 0 { gtid_flags_extra::THREAD_ID } else { 0 },
            thread_id: head.thread_id,
            ..GtidEvent::default()
        }
    }

    /// The end of an XA PREPARE.
    fn prepare(&mut self, branch: &Branch) -> Result<(), EmitError> {
        self.query(&format!("XA END {}", branch.text()), self.stamp(End::Unstated), false)?;
        let event = Event::XaPrepare(XaPrepare { one_phase: false, xa: branch.name() });
        self.write(&event, self.stamp(End::At(self.head.end.offset as u32)), true)
    }

    /// The whole group of a decision.
    fn decision(&mut self, branch: &Branch, commits: bool) -> Result<(), EmitError> {
        const FLAGS: u8 = gtid_flags::COMPLETED_XA | gtid_flags::STANDALONE | gtid_flags::TRANSACTIONAL;
        let parallel = self.head.flags & commit_flags::NO_PARALLEL == 0;
        let flags = FLAGS | if parallel { gtid_flags::ALLOW_PARALLEL } else { 0 };
        let event = GtidEvent { flags, xa: Some(branch.name()), ..self.numbered() };
        self.write(&Event::Gtid(event), self.stamp(End::At(self.head.position.offset as u32)), false)?;
        let text = format!("XA {} {}", if commits { "COMMIT" } else { "ROLLBACK" }, branch.text());
        self.query(&text, self.stamp(End::At(self.head.end.offset as u32)), true)
    }

    fn query(&mut self, sql: &str, stamp: Stamp, last: bool) -> Result<(), EmitError> {
        self.query_with(sql, &[], stamp, last)
    }

    fn query_with(&mut self, sql: &str, status: &[u8], stamp: Stamp, last: bool) -> Result<(), EmitError> {
        let query = Query {
            head: QueryHead { thread_id: self.head.thread_id, ..QueryHead::default() },
            status,
            database: &[],
            sql: Cow::Borrowed(sql.as_bytes()),
            compressed: false,
        };
        self.write(&Event::Query(query), stamp, last)
    }

    fn logged(&mut self, event: &Logged, last: bool) -> Result<(), EmitError> {
        let end = if last { End::At(self.head.end.offset as u32) } else { End::Unstated };
        let mut stamp = self.stamp(end);
        stamp.timestamp = (event.time / 1_000_000) as u32;
        stamp.flags |= event.flags as u16;
        self.out.clear();
        let kind = EventKind(event.kind);
        event_format::write_opaque(&mut self.out, &stamp, kind, &event.body, self.options.checksum);
        self.sink.event(&self.out, last)?;
        self.out.clear();
        Ok(())
    }

    /// XID, or COMMIT of a group that is not transactional.
    fn end(&mut self, chain: Chain) -> Result<(), EmitError> {
        let stamp = self.stamp(End::At(self.head.end.offset as u32));
        if self.head.flags & commit_flags::NOT_TRANSACTIONAL == 0 {
            return self.write(&Event::Xid(chain.trx.0), stamp, true);
        }
        let mut status = Vec::new();
        if chain.decides {
            StatusVariable::DdlXid(chain.trx.0).encode(&mut status);
        }
        self.query_with("COMMIT", &status, stamp, true)
    }

    /// All statements, of which the queue holds the beginning of the first.
    fn rows(
        &mut self,
        changes: &mut Changes<'_>,
        mut queue: VecDeque<Step>,
        mut more: More,
    ) -> Result<(), EmitError> {
        while !queue.is_empty() {
            if let Some(Step::Savepoint(body)) = queue.front() {
                self.savepoint(body)?;
                queue.pop_front();
                if more == More::Statement {
                    more = fill(changes, &mut queue)?;
                }
                continue;
            }
            let first = queue.front().and_then(Step::row);
            let text = first.and_then(|first| changes.take_text(first.statement));
            if let Some(text) = text.filter(|_| self.options.annotate) {
                let stamp = self.stamp(End::Unstated);
                self.write(&Event::Annotate(Annotate { text: &text }), stamp, false)?;
            }
            let mut mapped = Vec::new();
            loop {
                let own = queue.len() - usize::from(more == More::Statement);
                self.map_tables(changes, queue.iter().take(own).filter_map(Step::row), &mut mapped)?;
                for step in queue.drain(..own) {
                    step.row().map_or(Ok(()), |change| self.row(changes, change))?;
                }
                if more != More::Rows {
                    break;
                }
                more = fill(changes, &mut queue)?;
            }
            self.close(true)?;
            if more == More::Statement {
                more = fill(changes, &mut queue)?;
            }
        }
        Ok(())
    }

    /// The body says all but the common header.
    fn savepoint(&mut self, body: &[u8]) -> Result<(), EmitError> {
        let mut stamp = self.stamp(End::Unstated);
        stamp.flags |= header_flags::SUPPRESS_USE;
        event_format::write_opaque(&mut self.out, &stamp, EventKind::QUERY, body, self.options.checksum);
        self.sink.event(&self.out, false)?;
        self.out.clear();
        Ok(())
    }

    /// G2: maps the tables of `ahead` that are not mapped yet; in mid-statement that begins a new one.
    fn map_tables<'c>(
        &mut self,
        changes: &Changes<'_>,
        ahead: impl Iterator<Item = &'c Change>,
        mapped: &mut Vec<TableId>,
    ) -> Result<(), EmitError> {
        let mut wanted = Vec::new();
        for change in ahead {
            let id = |table: &usize| changes.table(*table).id;
            if !wanted.iter().any(|table| id(table) == id(&change.table)) {
                wanted.push(change.table);
            }
        }
        if wanted.iter().all(|table| mapped.contains(&changes.table(*table).id)) {
            return Ok(());
        }
        if !mapped.is_empty() {
            self.close(true)?;
            mapped.clear();
        }
        for table in wanted {
            let used = changes.table(table);
            let definition = &used.info.definition;
            let event = used.info.description(self.options.metadata).event(
                used.id.0,
                definition.database.as_bytes(),
                definition.table.as_bytes(),
            );
            let stamp = self.stamp(End::Unstated);
            self.write(&Event::TableMap(event), stamp, false)?;
            mapped.push(used.id);
        }
        Ok(())
    }

    /// Adds a row to the open event, or to a new one.
    fn row(&mut self, changes: &Changes<'_>, change: &Change) -> Result<(), EmitError> {
        let used = changes.table(change.table);
        let (present, present_after) = columns(used, change)?;
        let mut images = std::mem::take(&mut self.images);
        let (first, second) = match change.kind {
            RowsKind::Write => (&change.after, None),
            RowsKind::Delete => (&change.before, None),
            RowsKind::Update => (&change.before, Some(&change.after)),
        };
        images.iter_mut().for_each(Vec::clear);
        project(&used.info, first, &present, &mut images[0])?;
        if let Some(second) = second {
            project(&used.info, second, &present_after, &mut images[1])?;
        }
        let needed = images[0].len() + images[1].len();
        let fits = self.open.as_ref().is_some_and(|open| {
            open.table == change.table
                && open.kind == change.kind
                && open.present == present
                && open.present_after == present_after
                && open.writer.len(&self.out) - Header::LEN + needed <= self.options.row_event_size_max
        });
        if !fits {
            self.close(false)?;
            self.begin(used.id.0, &used.info, used.options, change, (present, present_after));
        }
        self.out.extend_from_slice(&images[0]);
        self.out.extend_from_slice(&images[1]);
        self.images = images;
        Ok(())
    }

    fn begin(
        &mut self,
        table_id: u64,
        info: &TableInfo,
        options: u8,
        change: &Change,
        (present, present_after): (Vec<u8>, Vec<u8>),
    ) {
        let mut flags = 0;
        if options & event_options::NO_FOREIGN_KEY_CHECKS != 0 {
            flags |= rows_flags::NO_FOREIGN_KEY_CHECKS;
        }
        if options & event_options::RELAXED_UNIQUE_CHECKS != 0 {
            flags |= rows_flags::RELAXED_UNIQUE_CHECKS;
        }
        let head = Rows {
            change: change.kind,
            table_id,
            flags,
            extra: None,
            width: info.width(),
            present: Bitmap(&present),
            present_after: (change.kind == RowsKind::Update).then_some(Bitmap(&present_after)),
            images: Cow::Borrowed(&[]),
            compressed: false,
        };
        self.out.clear();
        let stamp = self.stamp(End::Unstated);
        let writer = RowsWriter::begin(&mut self.out, &stamp, &head);
        self.open = Some(Open { writer, table: change.table, kind: change.kind, present, present_after });
    }

    /// Sends the open event, if there is one.
    fn close(&mut self, statement_end: bool) -> Result<(), EmitError> {
        if let Some(open) = self.open.take() {
            open.writer.finish(&mut self.out, statement_end, self.options.checksum);
            self.sink.event(&self.out, false)?;
            self.out.clear();
        }
        Ok(())
    }
}

fn project(table: &TableInfo, body: &[u8], present: &[u8], out: &mut Vec<u8>) -> Result<(), EmitError> {
    if present == table.all {
        out.extend_from_slice(body);
        return Ok(());
    }
    Ok(image::project(table, body, Bitmap(present), out)?)
}

/// The columns in a change's images: of the first, and of the image after an UPDATE.
fn columns(used: &UsedTable, change: &Change) -> Result<(Vec<u8>, Vec<u8>), EmitError> {
    let images = &used.images;
    Ok(match change.kind {
        RowsKind::Write => (images.insert.clone(), Vec::new()),
        RowsKind::Delete => (images.delete.clone(), Vec::new()),
        RowsKind::Update => {
            let after = images.after_update(&used.info, &change.before, &change.after)?;
            (images.update_before.clone(), after)
        }
    })
}
