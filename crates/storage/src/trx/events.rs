//! What a transaction writes for readers of the binary log beside its row records, and what it remembers of that.
//!
//! - The first row record of each statement says so (`STARTS_STATEMENT`); right behind it stands the statement's text, unless the
//!   transaction keeps it for the server, which makes the group itself when the binary log is in files of its own.
//! - The first row record of each table names the table's definition, a `TableDef` record of the current segment ([`Announce`]). With a
//!   `binlog_row_image` that leaves columns out, each statement's first row record that writes other columns says which.
//! - A SAVEPOINT behind the first row record is a record with the body of its event.
//! - A long transaction's records are listed by `Extents` records, so that they can be read forwards.
//!
//! # Invariants
//! E1. A reader that skips what was rolled back finds all of this in what is left: a rollback forgets here what stands above its
//!     target, and the next row record says it again.
//! E2. The chain of `Extents` records lists, oldest first, every standing record of the transaction up to [`Events::listed`] that a
//!     reader needs; the chain of previous records from the last one back to there has the rest, at most two paces.
//! E3. A transaction with options that do not replicate writes none of this.
//! E4. The log is kept as long as the transaction's rows from the lowest `TableDef` record on that they name: it may stand in a
//!     segment before that of the row, when the segment ends between the two. Then it counts as the transaction's first record, so
//!     that the commit record, checkpoints and recovery know it.

use std::sync::Arc;

use base::{Lsn, TableId};
use log_format::record::{
    Announce, Event, Extents, Record, RollbackTo, Savepoint, Statement, event_options, row_flags,
};
use smallvec::SmallVec;

use super::{Trx, Work};
use crate::kernel::Kernel;
use crate::row::RowError;
use crate::table::Table;

/// Value of binlog_row_image.
const IMAGE_FULL: u8 = 2;

/// Bytes of texts that a transaction keeps in memory; more go into the log.
const TEXTS_MAX: usize = 256 << 10;

/// LSNs in one `Extents` record at most.
const LISTED_MAX: usize = 32 << 10;

/// What the running transaction has told readers of the log.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Tables whose definition has been named, in the order of the row records that name them.
    announced: SmallVec<[Announced; 2]>,
    /// First row record of the running statement.
    statement: Lsn,
    /// Text of the running statement; it is written behind the statement's first row record.
    text: Vec<u8>,
    text_waits: bool,
    text_at: Lsn,
    /// Texts that are in no record, each with the first row record of its statement, and their bytes.
    texts: Vec<StatementText>,
    texts_len: usize,
    /// Buffers that every statement's text uses: the row record it is packed against, and what comes of it.
    row: Vec<u8>,
    packed: Vec<u8>,
    /// The newest `Extents` record, and the newest record that the extents list.
    extents: Lsn,
    listed: Lsn,
    /// The `Event` record of a statement about definitions.
    event: Lsn,
    /// Columns that the running statement writes, by table.
    written: SmallVec<[(TableId, Arc<[u8]>); 1]>,
    /// It has waited for a row lock.
    pub(crate) waited: bool,
}

/// A statement's first row record and its text.
pub type StatementText = (Lsn, Box<[u8]>);

#[derive(Debug, Clone)]
struct Announced {
    table: TableId,
    options: u8,
    written: Option<Arc<[u8]>>,
    /// The row record that says it.
    at: Lsn,
    /// Something else was said of the table since, and is forgotten here.
    outdated: bool,
}

/// What a row record says beside the row.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowMark {
    pub(crate) flags: u8,
    announce: Option<MarkedTable>,
}

/// [`Announce`], with the columns shared.
#[derive(Debug, Clone)]
struct MarkedTable {
    definition: Lsn,
    options: u8,
    written: Option<Arc<[u8]>>,
}

/// What a row record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marked {
    /// The columns that the statement writes matter.
    Written,
    Deleted,
}

impl RowMark {
    pub(crate) fn announce(&self) -> Option<Announce<'_>> {
        let told = self.announce.as_ref()?;
        let written = told.written.as_deref().unwrap_or_default();
        Some(Announce { definition: told.definition, options: told.options, written })
    }
}

impl Events {
    /// Something stands that makes an event group.
    pub(crate) fn has_any(&self) -> bool {
        !self.announced.is_empty() || !self.event.is_none()
    }
    pub(crate) fn extents(&self) -> Lsn {
        self.extents
    }
    pub(crate) fn start_statement(&mut self) {
        self.statement = Lsn::NONE;
        self.text_at = Lsn::NONE;
        self.text_waits = false;
        self.written.clear();
    }
    /// Columns that the running statement writes in a table, if it has said so.
    pub(crate) fn written(&self, table: TableId) -> Option<&Arc<[u8]>> {
        self.written.iter().find(|(id, _)| *id == table).map(|(_, columns)| columns)
    }
    fn row_logged(&mut self, table: TableId, mark: RowMark, at: Lsn) {
        if mark.flags & row_flags::STARTS_STATEMENT != 0 {
            self.statement = at;
        }
        if let Some(announce) = mark.announce {
            let (options, written) = (announce.options, announce.written);
            self.announced.push(Announced { table, options, written, at, outdated: false });
            self.forget_between(table);
        }
    }

    /// Of what was said of a table its first word, which tells that there is something, and its last one are enough.
    fn forget_between(&mut self, table: TableId) {
        let said = |a: &Announced| a.table == table;
        let (first, last) = (self.announced.iter().position(said), self.announced.iter().rposition(said));
        let (Some(first), Some(last)) = (first, last) else { return };
        if let Some(between) = self.announced[first + 1..].iter().position(said).map(|i| first + 1 + i)
            && between < last
        {
            self.announced.remove(between);
            self.announced[first].outdated = true;
        }
    }

    /// E1.
    fn forget_above(&mut self, target: Lsn) {
        self.announced.retain(|announced| announced.at <= target);
        if self.statement > target {
            self.statement = Lsn::NONE;
        }
        if self.text_at > target {
            (self.text_at, self.text_waits) = (Lsn::NONE, true);
        }
        self.texts.retain(|(at, _)| *at <= target);
        self.texts_len = self.texts.iter().map(|(_, text)| text.len()).sum();
        if self.event > target {
            self.event = Lsn::NONE;
        }
    }
}

impl Kernel {
    /// The `TableDef` record of a table in the current segment, appended now if there is none.
    fn define(&self, table: &Table) -> Result<Lsn, RowError> {
        let log = &self.store.log;
        let defined = table.defined_at();
        if defined >= log.segment_from() {
            return Ok(defined);
        }
        let spec = table.spec();
        let record = Record::TableDef(log_format::record::TableDef {
            table: spec.id,
            version: spec.version,
            definition: &spec.definition,
        });
        let appended = log.append(|lsn, out| record.encode(lsn, out))?;
        table.set_defined_at(appended.start);
        Ok(appended.start)
    }
}

impl Work<'_> {
    /// Whether changes of this table's rows become events.
    pub(crate) fn replicates(&self, table: &Table) -> bool {
        self.t.options.log.replicate && !table.spec().definition.is_empty()
    }

    /// What the next row record of this table says beside the row.
    pub(crate) fn row_mark(&mut self, table: &Table, about: Marked) -> Result<RowMark, RowError> {
        let log = self.t.options.log;
        if !self.replicates(table) {
            return Ok(RowMark::default());
        }
        let mut mark = RowMark { flags: row_flags::REPLICATE, announce: None };
        let events = &self.t.events;
        if events.statement.is_none() {
            mark.flags |= row_flags::STARTS_STATEMENT;
        }
        let id = table.spec().id;
        let told = events.announced.iter().rev().find(|announced| announced.table == id);
        let written = events.written(id);
        let same = told.is_some_and(|told| {
            !told.outdated
                && told.options == log.event_options
                && (about == Marked::Deleted || told.written.as_ref() == written)
        });
        if !same {
            let written = written.cloned();
            // E4. First the promise, then a definition that it covers.
            self.t.slot.keep_from(self.kernel.store.log.segment_from());
            let definition = self.kernel.define(table)?;
            mark.announce = Some(MarkedTable { definition, options: log.event_options, written });
        }
        Ok(mark)
    }

    /// A row record with this mark has been appended.
    pub(crate) fn row_appended(&mut self, table: &Table, mark: RowMark, record: log::Appended) {
        self.t.appended(record);
        if let Some(announce) = &mark.announce
            && announce.definition < self.kernel.store.log.segment_from()
        {
            self.t.first = self.t.first.min(announce.definition);
        }
        if mark.flags & row_flags::STARTS_STATEMENT != 0 || mark.announce.is_some() {
            self.t.events.row_logged(table.spec().id, mark, record.start);
        }
    }

    /// Everything above `target` has been undone; the newest compensation, if there is one, leads to `leads_to`.
    pub(crate) fn rolled_back_to(&mut self, target: Lsn, leads_to: Lsn) -> Result<(), RowError> {
        if leads_to > target {
            // What needed no compensation must not seem to stand.
            let (trx, undo_next) = (self.t.id, target);
            let record = Record::RollbackTo(RollbackTo { trx, undo_next });
            let appended = self.kernel.store.log.append(|lsn, out| record.encode(lsn, out))?;
            self.t.appended(appended);
        }
        self.t.events.forget_above(target);
        if self.t.events.listed > target {
            self.unlist_above(target)?;
        }
        Ok(())
    }

    /// E2 after a rollback: extents that are undone go, the one that is undone in part is written again without that part.
    fn unlist_above(&mut self, target: Lsn) -> Result<(), RowError> {
        let mut buffer = Vec::new();
        while !self.t.events.extents.is_none() {
            let at = self.t.events.extents;
            crate::row::read_record(self.kernel, at, &mut buffer)?;
            let Record::Extents(extents) = Record::decode(at, &buffer)? else {
                let place = format_args!("record at {at}").to_string();
                return Err(base::Corruption::new(place, "record type", "Extents", "another").into());
            };
            self.t.events.extents = extents.before;
            let standing: Vec<Lsn> = extents.records.into_iter().filter(|lsn| *lsn <= target).collect();
            if !standing.is_empty() {
                return self.list(&standing);
            }
            self.t.events.listed = Lsn::NONE;
        }
        Ok(())
    }

    /// Appends an `Extents` record for records in falling order.
    fn list(&mut self, records: &[Lsn]) -> Result<(), RowError> {
        let Some(newest) = records.first() else { return Ok(()) };
        let (trx, before) = (self.t.id, self.t.events.extents);
        let record = Record::Extents(Extents { trx, before, records: records.to_vec() });
        let appended = self.kernel.store.log.append(|lsn, out| record.encode(lsn, out))?;
        self.t.events.extents = appended.start;
        self.t.events.listed = *newest;
        Ok(())
    }

    /// E2: lists what has been appended since the last `Extents` record.
    pub(crate) fn list_records(&mut self) -> Result<(), RowError> {
        if !self.t.options.log.replicate || self.t.events.announced.is_empty() {
            return Ok(());
        }
        let mut found = Vec::new();
        let mut buffer = Vec::new();
        let mut at = self.t.last;
        while at > self.t.events.listed {
            crate::row::read_record(self.kernel, at, &mut buffer)?;
            let record = Record::decode(at, &buffer)?;
            if matches!(
                record,
                Record::RowInsert(_)
                    | Record::RowUpdate(_)
                    | Record::RowDelete(_)
                    | Record::Statement(_)
                    | Record::LongValue(_)
                    | Record::Savepoint(_)
            ) {
                found.push(at);
            }
            at = record.previous();
        }
        let most = (self.kernel.store.log.record_size_max() / 8).min(LISTED_MAX);
        // Oldest first, so that each Extents record is older than the next.
        found.rchunks(most).try_for_each(|records| self.list(records))
    }
}

impl Trx {
    /// Whether what it has done so far makes an event group.
    pub fn has_events(&self) -> bool {
        self.state.events.has_any()
    }

    /// binlog_row_image, if events of this transaction may leave columns out, so that what a statement writes should be said.
    pub fn wants_written_columns(&self) -> Option<u8> {
        let log = self.state.options.log;
        let image = log.event_options & event_options::IMAGE;
        (log.replicate && log.full_image && image != IMAGE_FULL).then_some(image)
    }

    /// The columns, a bit each, that the running statement writes in a table. Events of rows that it changes without having said so
    /// have more columns than they need.
    pub fn set_written_columns(&mut self, table: &Table, columns: Arc<[u8]>) {
        for part in table.partitions() {
            self.set_written_columns(part, Arc::clone(&columns));
        }
        let id = table.spec().id;
        if !self.work().may_leave_columns_out(table) {
            return;
        }
        let written = &mut self.state.events.written;
        match written.iter_mut().find(|(told, _)| *told == id) {
            Some((_, known)) => *known = columns,
            None => written.push((id, columns)),
        }
    }

    /// The running statement's text: binlog_annotate_row_events. It is logged when the statement changes its first row.
    pub fn set_statement_text(&mut self, text: &[u8]) {
        let events = &mut self.state.events;
        events.text.clear();
        events.text.extend_from_slice(text);
        events.text_waits = true;
    }

    /// Appends the replication event of a statement about definitions; the last record before the commit.
    pub fn append_event(
        &mut self,
        time: u64,
        event_type: u8,
        event_flags: u32,
        body: &[u8],
    ) -> Result<(), log::LogFailed> {
        let appended = self.append_chained(|trx, previous, lsn, out| {
            Record::Event(Event { trx, previous, time, event_type, event_flags, body }).encode(lsn, out);
        })?;
        self.state.events.event = appended.start;
        Ok(())
    }

    /// Texts of statements that stand in no record.
    pub fn statement_texts(&self) -> &[StatementText] {
        &self.state.events.texts
    }

    /// Whether a SAVEPOINT is an event of the group: there are rows before it.
    pub fn wants_savepoints(&self) -> bool {
        self.state.options.log.replicate && !self.state.events.announced.is_empty()
    }

    /// Appends the event of a SAVEPOINT, below the point that it names.
    pub fn append_savepoint(&mut self, body: &[u8]) -> Result<(), log::LogFailed> {
        let build = |trx, previous, lsn, out: &mut Vec<u8>| {
            Record::Savepoint(Savepoint { trx, previous, body }).encode(lsn, out);
        };
        self.append_chained(build).map(|_| ())
    }

    /// A row operation has succeeded: the statement's text follows its first row record.
    #[inline]
    pub(crate) fn annotate(&mut self) -> Result<(), RowError> {
        let events = &self.state.events;
        if events.text_waits && !events.statement.is_none() { self.append_text() } else { Ok(()) }
    }

    fn append_text(&mut self) -> Result<(), RowError> {
        let events = &mut self.state.events;
        events.text_waits = false;
        let base = events.statement;
        if self.state.options.log.texts_in_memory && events.texts_len + events.text.len() <= TEXTS_MAX {
            events.texts_len += events.text.len();
            events.texts.push((base, events.text.as_slice().into()));
            events.text_at = base;
            return Ok(());
        }
        crate::row::read_record(&self.kernel, base, &mut events.row)?;
        // What is packed may outgrow its text by a few bytes.
        const HEAD_MAX: usize = 64;
        events.packed.clear();
        events.packed.reserve(events.text.len() + HEAD_MAX);
        log_format::text::pack(&events.text, &events.row, &mut events.packed);
        // A text that no record can hold is left out; the rows do not need it.
        if events.packed.len() + HEAD_MAX > self.kernel.store.log.record_size_max() {
            return Ok(());
        }
        let packed = std::mem::take(&mut events.packed);
        let appended = self.append_chained(|trx, previous, lsn, out| {
            Record::Statement(Statement { trx, previous, base, packed: &packed }).encode(lsn, out);
        })?;
        self.state.events.packed = packed;
        self.state.events.text_at = appended.start;
        Ok(())
    }
}
