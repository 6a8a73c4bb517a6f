//! Row changes of a transaction, from its records.
//!
//! Two records of one UPDATE that changed the primary key become one change; values on overflow pages are put into the images; a
//! statement's text is unpacked with the record of its first row.

use std::collections::VecDeque;
use std::sync::Arc;

use base::{Corruption, Lsn, TableId};
use event_format::{Bitmap, RowsKind};
use hashbrown::HashMap;
use log_format::context::Sparse;
use log_format::record::{
    Announce, Before, LongValue, Record, RowDelete, RowInsert, RowUpdate, Statement, event_options, row_flags,
};
use page_format::{PageOp, record_flags};

use crate::api::ReadError;
use crate::columns::Images;
use crate::frames::Frames;
use crate::group::Contents;
use crate::image::{self, Long};
use crate::tables::{TableInfo, Tables};
use crate::transaction::Records;

/// A table in a group, with the options of the session that changed it.
#[derive(Debug, Clone)]
pub(crate) struct UsedTable {
    pub(crate) id: TableId,
    pub(crate) options: u8,
    pub(crate) info: Arc<TableInfo>,
    pub(crate) images: Images,
    written: Box<[u8]>,
}

impl UsedTable {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.info, &other.info) && self.options == other.options && self.written == other.written
    }
}

/// What a group is made of, in order.
#[derive(Debug)]
pub(crate) enum Step {
    Row(Change),
    /// SAVEPOINT: the body of its event.
    Savepoint(Vec<u8>),
}

impl Step {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Row(change) => change.before.len() + change.after.len(),
            Self::Savepoint(body) => body.len(),
        }
    }
    /// A savepoint is a statement of its own.
    pub(crate) fn starts_statement(&self) -> bool {
        match self {
            Self::Row(change) => change.starts_statement,
            Self::Savepoint(_) => true,
        }
    }
    pub(crate) fn row(&self) -> Option<&Change> {
        match self {
            Self::Row(change) => Some(change),
            Self::Savepoint(_) => None,
        }
    }
}

/// One changed row. Images have all columns, or those that its event needs and NULL in the others.
#[derive(Debug)]
pub(crate) struct Change {
    /// Index into [`Changes::tables`].
    pub(crate) table: usize,
    pub(crate) kind: RowsKind,
    pub(crate) starts_statement: bool,
    /// Number of its statement in the group, from 1.
    pub(crate) statement: u64,
    /// Of UPDATE and DELETE.
    pub(crate) before: Vec<u8>,
    /// Of UPDATE and INSERT.
    pub(crate) after: Vec<u8>,
}

impl Change {
    fn of(table: usize, kind: RowsKind, before: Vec<u8>, after: Vec<u8>) -> Self {
        Self { table, kind, starts_statement: false, statement: 0, before, after }
    }
}

/// A row body as a record has it.
struct Body<'a> {
    bytes: &'a [u8],
    has_long: bool,
}

/// Hands out changes in order.
pub(crate) struct Changes<'a> {
    frames: &'a mut Frames,
    definitions: &'a Tables,
    records: Records,
    tables: Vec<UsedTable>,
    /// What was said last of a table: an index into `tables`.
    named: HashMap<TableId, usize>,
    /// Statements begun so far, and the texts that have been met, by the number of their statement.
    statements: u64,
    texts: VecDeque<(u64, Vec<u8>)>,
    /// The record that started the statement: the dictionary of its text.
    base: (Lsn, Vec<u8>),
    /// Texts that are not in the log.
    kept: &'a [(Lsn, Box<[u8]>)],
    /// Long values before the next change.
    long: HashMap<u32, Vec<u8>>,
    record: Vec<u8>,
}

impl<'a> Changes<'a> {
    pub(crate) fn new(
        frames: &'a mut Frames,
        definitions: &'a Tables,
        contents: Contents<'a>,
    ) -> Result<Self, ReadError> {
        let records = Records::new(frames, contents.chain)?;
        Ok(Self {
            frames,
            definitions,
            records,
            tables: Vec::new(),
            named: HashMap::new(),
            statements: 0,
            texts: VecDeque::new(),
            base: Default::default(),
            kept: contents.texts,
            long: HashMap::new(),
            record: Vec::new(),
        })
    }

    pub(crate) fn table(&self, index: usize) -> &UsedTable {
        &self.tables[index]
    }

    /// The text of a statement, once; it is met right behind the statement's first change.
    pub(crate) fn take_text(&mut self, statement: u64) -> Option<Vec<u8>> {
        while self.texts.front().is_some_and(|(number, _)| *number < statement) {
            self.texts.pop_front();
        }
        if self.texts.front()?.0 != statement {
            return None;
        }
        self.texts.pop_front().map(|(_, text)| text)
    }

    /// The next change or savepoint; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Step>, ReadError> {
        let mut deleted: Option<Change> = None;
        loop {
            let mut record = std::mem::take(&mut self.record);
            let next = self.records.next(self.frames, &mut record);
            let found = match next {
                Ok(Some(lsn)) => self.take(lsn, &record, &mut deleted),
                Ok(None) => Ok(Some(None)),
                Err(e) => Err(e),
            };
            self.record = record;
            match found? {
                None => {}
                Some(None) if deleted.is_some() => {
                    let missing =
                        Corruption::new("event group", "record", "the second half of an UPDATE", "none");
                    return Err(missing.into());
                }
                Some(step) => return Ok(step),
            }
        }
    }

    /// One record: nothing yet, or a change or savepoint.
    fn take(
        &mut self,
        lsn: Lsn,
        bytes: &[u8],
        deleted: &mut Option<Change>,
    ) -> Result<Option<Option<Step>>, ReadError> {
        let record = Record::decode(lsn, bytes).map_err(|e| self.frames.corrupt(lsn, e))?;
        let (flags, announce, table) = match &record {
            Record::Statement(s) => return self.statement(lsn, s).map(|()| None),
            Record::LongValue(v) => {
                self.long_value(v);
                return Ok(None);
            }
            Record::Savepoint(s) => return Ok(Some(Some(Step::Savepoint(s.body.to_vec())))),
            Record::RowInsert(r) => (r.flags, r.announce, r.table),
            Record::RowUpdate(r) => (r.flags, r.announce, r.table),
            Record::RowDelete(r) => (r.flags, r.announce, r.table),
            _ => {
                let found = Corruption::new("", "record type", "one of a row", "another");
                return Err(self.frames.corrupt(lsn, found));
            }
        };
        if flags & row_flags::REPLICATE == 0 {
            self.long.clear();
            return Ok(None);
        }
        if let Some(announce) = announce {
            self.announce(table, announce)?;
        }
        let starts = flags & row_flags::STARTS_STATEMENT != 0;
        if starts {
            self.statements += 1;
            self.base.0 = lsn;
            self.base.1.clear();
            self.base.1.extend_from_slice(bytes);
            if let Ok(at) = self.kept.binary_search_by_key(&lsn, |(base, _)| *base) {
                self.texts.push_back((self.statements, self.kept[at].1.to_vec()));
            }
        }
        let Some(table) = self.named.get(&table).copied() else {
            let found = Corruption::new("", "table definition", "one that was named before", "none");
            return Err(self.frames.corrupt(lsn, found));
        };
        let mut change = self.change(lsn, &record, table)?;
        (change.starts_statement, change.statement) = (starts, self.statements);
        self.long.clear();
        if flags & row_flags::KEY_UPDATE == 0 {
            return Ok(Some(Some(Step::Row(change))));
        }
        match deleted.take() {
            None => {
                *deleted = Some(change);
                Ok(None)
            }
            Some(first) => {
                let update = Change { kind: RowsKind::Update, after: change.after, ..first };
                Ok(Some(Some(Step::Row(update))))
            }
        }
    }

    fn statement(&mut self, lsn: Lsn, s: &Statement<'_>) -> Result<(), ReadError> {
        if s.base != self.base.0 {
            let found = Corruption::new("", "base record", self.base.0, s.base);
            return Err(self.frames.corrupt(lsn, found));
        }
        let mut text = Vec::new();
        log_format::text::unpack(s.packed, &self.base.1, &mut text)
            .map_err(|e| self.frames.corrupt(lsn, e))?;
        self.texts.push_back((self.statements, text));
        Ok(())
    }

    fn long_value(&mut self, v: &LongValue<'_>) {
        self.long.entry(v.column).or_default().extend_from_slice(v.bytes);
    }

    fn announce(&mut self, id: TableId, announce: Announce<'_>) -> Result<(), ReadError> {
        let lsn = announce.definition;
        let frames = &mut *self.frames;
        let info =
            self.definitions.get(lsn, || {
                let mut bytes = Vec::new();
                frames.record(lsn, &mut bytes)?;
                match Record::decode(lsn, &bytes) {
                    Ok(Record::TableDef(def)) if def.table == id => Ok(def.definition.to_vec()),
                    Ok(_) => Err(frames
                        .corrupt(lsn, Corruption::new("", "record", "the table's definition", "another"))),
                    Err(e) => Err(frames.corrupt(lsn, e)),
                }
            })?;
        let image = announce.options & event_options::IMAGE;
        let images = Images::new(&info, image, announce.written);
        // The parts of one table are one table to replicas.
        let whole = self.tables.iter().find(|known| known.info.definition == info.definition);
        let (shown, info) = whole.map_or((id, info), |known| (known.id, Arc::clone(&known.info)));
        let used = UsedTable {
            id: shown,
            options: announce.options,
            written: announce.written.into(),
            info,
            images,
        };
        let index = self.tables.iter().position(|known| known.is(&used)).unwrap_or_else(|| {
            self.tables.push(used);
            self.tables.len() - 1
        });
        self.named.insert(id, index);
        Ok(())
    }

    fn change(&mut self, lsn: Lsn, record: &Record<'_>, table: usize) -> Result<Change, ReadError> {
        let changed = match record {
            Record::RowInsert(r) => self.inserted(r, table),
            Record::RowUpdate(r) => self.updated(r, table),
            Record::RowDelete(r) => self.deleted(r, table),
            _ => return Err(Corruption::new("", "record type", "one of a row", "another").into()),
        };
        changed.map_err(|e| match e {
            ReadError::Corrupt(found) => self.frames.corrupt(lsn, found),
            other => other,
        })
    }

    fn inserted(&mut self, r: &RowInsert<'_>, table: usize) -> Result<Change, ReadError> {
        let has_long = match r.part.op {
            PageOp::InsertRow { flags, .. } | PageOp::ReplaceRow { flags, .. } => {
                flags & record_flags::OVERFLOW != 0
            }
            _ => false,
        };
        let after = self.image(table, Body { bytes: r.body(), has_long }, None)?;
        Ok(Change::of(table, RowsKind::Write, Vec::new(), after))
    }

    fn updated(&mut self, r: &RowUpdate<'_>, table: usize) -> Result<Change, ReadError> {
        let old = match (r.before, r.context, r.splices()) {
            (Before::Full(old), ..) => old,
            (Before::Removed(removed), Some(context), Some(splices)) => {
                let (old, new) = Sparse::of_update(context, splices, removed)?;
                let used = &self.tables[table];
                let (mut before, mut after) = (Vec::new(), Vec::new());
                let wanted = Bitmap(&used.images.update_before);
                old.columns(&used.info.definition.columns, &|i| wanted.get(i), &mut before)?;
                let wanted = used.images.update_after().ok_or_else(no_columns)?;
                new.columns(&used.info.definition.columns, &|i| Bitmap(wanted).get(i), &mut after)?;
                return Ok(Change::of(table, RowsKind::Update, before, after));
            }
            _ => {
                return Err(
                    Corruption::new("", "row before the change", "the whole row", "a part of it").into()
                );
            }
        };
        let mut new = Vec::new();
        let applied = r.splices().and_then(|splices| splices.apply(old, &mut new));
        if applied.is_none() {
            return Err(Corruption::new("", "splices", "those of the row before", "others").into());
        }
        let had_long = r.flags & row_flags::OVERFLOW_BEFORE != 0;
        let has_long =
            matches!(r.part.op, PageOp::UpdateRow { flags, .. } if flags & record_flags::OVERFLOW != 0);
        let known = self.tables[table].images.update_after().is_some();
        let wanted = known.then(|| self.tables[table].images.update_before.clone());
        let before = self.image(table, Body { bytes: old, has_long: had_long }, wanted)?;
        // A value that stays is the one before; one that is new stands in this transaction.
        let kept = if had_long { chains(&self.tables[table].info, old)? } else { Vec::new() };
        if has_long && !kept.is_empty() {
            let new_chains = chains(&self.tables[table].info, &new)?;
            self.long.retain(|column, _| {
                let of = |all: &[Long]| all.iter().find(|long| long.column == *column as usize).copied();
                of(&kept).is_some_and(|old| of(&new_chains) == Some(old))
            });
        } else {
            self.long.clear();
        }
        let wanted = self.tables[table].images.update_after().map(<[u8]>::to_vec);
        let after = self.image(table, Body { bytes: &new, has_long }, wanted)?;
        Ok(Change::of(table, RowsKind::Update, before, after))
    }

    fn deleted(&mut self, r: &RowDelete<'_>, table: usize) -> Result<Change, ReadError> {
        let images = &self.tables[table].images;
        // Which columns of a row with a new key have changed may have to be found out.
        let compared = r.flags & row_flags::KEY_UPDATE != 0 && images.update_after().is_none();
        let wanted = images.delete.clone();
        let Some(old) = r.before else {
            let Some(context) = r.context else {
                return Err(Corruption::new("", "row before the change", "the whole row", "none").into());
            };
            let columns = &self.tables[table].info.definition.columns;
            let mut before = Vec::new();
            Sparse::of_context(context)?.columns(columns, &|i| Bitmap(&wanted).get(i), &mut before)?;
            return Ok(Change::of(table, RowsKind::Delete, before, Vec::new()));
        };
        let had_long = r.flags & row_flags::OVERFLOW_BEFORE != 0;
        let before =
            self.image(table, Body { bytes: old, has_long: had_long }, (!compared).then_some(wanted))?;
        Ok(Change::of(table, RowsKind::Delete, before, Vec::new()))
    }

    /// The image of all columns. A long value is one of those that were logged before the change, or stands in overflow records; one
    /// that is not among the wanted columns becomes empty.
    fn image(&mut self, table: usize, body: Body<'_>, wanted: Option<Vec<u8>>) -> Result<Vec<u8>, ReadError> {
        let mut out = Vec::with_capacity(body.bytes.len());
        if !body.has_long {
            out.extend_from_slice(body.bytes);
            return Ok(out);
        }
        let used = &self.tables[table];
        let (frames, long) = (&mut *self.frames, &self.long);
        let left_out = |column: usize| wanted.as_ref().is_some_and(|wanted| !Bitmap(wanted).get(column));
        image::with_long_values(
            &used.info,
            body.bytes,
            &mut |value: Long| match long.get(&(value.column as u32)) {
                _ if left_out(value.column) => Ok(Vec::new()),
                Some(bytes) => Ok(bytes.clone()),
                None => overflow(frames, value),
            },
            &mut out,
        )?;
        Ok(out)
    }
}

#[cold]
fn no_columns() -> Corruption {
    Corruption::new("", "written columns", "those of the statement", "none")
}

/// Long values that a stored body refers to.
fn chains(table: &TableInfo, body: &[u8]) -> Result<Vec<Long>, Corruption> {
    let mut found = Vec::new();
    let mut unused = Vec::new();
    image::with_long_values::<Corruption>(
        table,
        body,
        &mut |long| {
            found.push(long);
            Ok(Vec::new())
        },
        &mut unused,
    )?;
    Ok(found)
}

/// A value from its overflow records.
fn overflow(frames: &mut Frames, value: Long) -> Result<Vec<u8>, ReadError> {
    let mut out = Vec::new();
    let mut record = Vec::new();
    let mut at = value.lsn;
    while !at.is_none() && (out.len() as u64) < value.length {
        frames.record(at, &mut record)?;
        let decoded = Record::decode(at, &record).map_err(|e| frames.corrupt(at, e))?;
        let Record::Overflow(chunk) = decoded else {
            return Err(
                frames.corrupt(at, Corruption::new("", "record", "a piece of a long value", "another"))
            );
        };
        let PageOp::FormatOverflow { next_lsn, bytes, .. } = chunk.parts[1].op else {
            return Err(
                frames.corrupt(at, Corruption::new("", "page operation", "FormatOverflow", "another"))
            );
        };
        out.extend_from_slice(bytes);
        at = next_lsn;
    }
    if out.len() as u64 != value.length {
        let found = Corruption::new("", "long value", format_args!("{} bytes", value.length), out.len());
        return Err(frames.corrupt(value.lsn, found));
    }
    Ok(out)
}
