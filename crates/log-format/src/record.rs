//! Log records: what they say, and their bytes.
//!
//! # Layout
//! ```text
//! length varint (bytes that follow) | type u8 | flags u8 | body
//! ```
//! Links to earlier LSNs are varint distances from the record's own first byte; 0 = none. The bodies are drawn in the modules
//! of each family:
//! * [`row`]: `RowInsert`, `RowUpdate`, `RowDelete`, `SecIndex`, `Overflow`, `RowUndo`: changes of one transaction to one page.
//! * [`system`]: `System` (structure changes), `Checkpoint`, `TableDef`, `GtidState`.
//! * [`transaction`]: `Commit`, `Abort`, `Prepare`, `Savepoint`, `RollbackTo`, `Extents`, `Statement`, `Event`, `LongValue`.
//!
//! # Invariants
//! R1. `decode(lsn, encode(lsn, r)) = r` for every record whose links point below `lsn`.
//! R2. `decode` never panics; it returns [`Corruption`] for anything `encode` does not write, trailing bytes included.
//! R3. Flags that this version does not know are corruption, so a later version can give them a meaning.
//! R4. Codes and layouts are fixed by golden tests; a change of either needs a new format version of the segment.

mod link;
pub mod row;
pub mod system;
pub mod transaction;

pub use row::{
    Announce, Before, OverDeleted, Overflow, PreviousVersion, RowDelete, RowInsert, RowUndo, RowUpdate,
    SecIndex, event_options, row_flags,
};
pub use system::{ActiveTrx, Checkpoint, GtidState, NextIds, PagePart, System, TableDef, TrxState};
pub use transaction::{
    Abort, Commit, Event, Extents, LongValue, Prepare, RollbackTo, Savepoint, Statement, Xid, commit_flags,
};

use base::{Corruption, Lsn, Put, Reader, TrxId};

/// One record of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<'a> {
    RowInsert(RowInsert<'a>),
    RowUpdate(RowUpdate<'a>),
    RowDelete(RowDelete<'a>),
    SecIndex(SecIndex<'a>),
    Overflow(Overflow<'a>),
    RowUndo(RowUndo<'a>),
    System(System<'a>),
    Commit(Commit),
    Abort(Abort),
    Savepoint(Savepoint<'a>),
    RollbackTo(RollbackTo),
    Extents(Extents),
    Prepare(Prepare<'a>),
    Statement(Statement<'a>),
    Event(Event<'a>),
    TableDef(TableDef<'a>),
    GtidState(GtidState),
    Checkpoint(Checkpoint<'a>),
    LongValue(LongValue<'a>),
}

/// The type byte of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecordType {
    RowInsert = 1,
    RowUpdate = 2,
    RowDelete = 3,
    SecIndex = 4,
    Overflow = 5,
    RowUndo = 6,
    System = 7,
    Commit = 8,
    Abort = 9,
    Savepoint = 10,
    RollbackTo = 11,
    Extents = 12,
    Prepare = 13,
    Statement = 14,
    Event = 15,
    TableDef = 16,
    GtidState = 17,
    Checkpoint = 18,
    LongValue = 19,
}

impl RecordType {
    pub const ALL: [Self; 19] = [
        Self::RowInsert,
        Self::RowUpdate,
        Self::RowDelete,
        Self::SecIndex,
        Self::Overflow,
        Self::RowUndo,
        Self::System,
        Self::Commit,
        Self::Abort,
        Self::Savepoint,
        Self::RollbackTo,
        Self::Extents,
        Self::Prepare,
        Self::Statement,
        Self::Event,
        Self::TableDef,
        Self::GtidState,
        Self::Checkpoint,
        Self::LongValue,
    ];
    pub fn from_u8(v: u8) -> Option<Self> {
        Self::ALL.get(usize::from(v).checked_sub(1)?).copied()
    }
}

/// The envelope of a record, without its body: what a scan needs to step from record to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    pub record_type: RecordType,
    pub flags: u8,
    /// Bytes of the whole record, the length field included.
    pub size: usize,
    /// Bytes before the body.
    pub body_at: usize,
}

impl Envelope {
    /// Reads the envelope at the start of `bytes`, which may go on beyond the record but must hold all of it.
    pub fn decode(lsn: Lsn, bytes: &[u8]) -> Result<Self, Corruption> {
        Self::read(bytes).map_err(|found| found.within(format_args!("record at {lsn}")))
    }
    fn read(bytes: &[u8]) -> Result<Self, Corruption> {
        let mut reader = Reader::new(bytes);
        let length = reader.length("record length")?;
        let size = reader.offset() + length;
        let code = reader.u8("record type")?;
        let record_type = RecordType::from_u8(code).ok_or_else(|| {
            Corruption::new("", "record type", format_args!("1..={}", RecordType::ALL.len()), code)
        })?;
        let flags = reader.u8("record flags")?;
        if reader.offset() > size {
            return Err(Corruption::new("", "record length", "at least 2", length));
        }
        Ok(Self { record_type, flags, size, body_at: reader.offset() })
    }
}

impl<'a> Record<'a> {
    pub fn record_type(&self) -> RecordType {
        match self {
            Self::RowInsert(_) => RecordType::RowInsert,
            Self::RowUpdate(_) => RecordType::RowUpdate,
            Self::RowDelete(_) => RecordType::RowDelete,
            Self::SecIndex(_) => RecordType::SecIndex,
            Self::Overflow(_) => RecordType::Overflow,
            Self::RowUndo(_) => RecordType::RowUndo,
            Self::System(_) => RecordType::System,
            Self::Commit(_) => RecordType::Commit,
            Self::Abort(_) => RecordType::Abort,
            Self::Savepoint(_) => RecordType::Savepoint,
            Self::RollbackTo(_) => RecordType::RollbackTo,
            Self::Extents(_) => RecordType::Extents,
            Self::Prepare(_) => RecordType::Prepare,
            Self::Statement(_) => RecordType::Statement,
            Self::Event(_) => RecordType::Event,
            Self::TableDef(_) => RecordType::TableDef,
            Self::GtidState(_) => RecordType::GtidState,
            Self::Checkpoint(_) => RecordType::Checkpoint,
            Self::LongValue(_) => RecordType::LongValue,
        }
    }

    /// The transaction that wrote the record, if a transaction did.
    pub fn trx(&self) -> Option<TrxId> {
        let trx = match self {
            Self::RowInsert(r) => r.trx,
            Self::RowUpdate(r) => r.trx,
            Self::RowDelete(r) => r.trx,
            Self::SecIndex(r) => r.trx,
            Self::Overflow(r) => r.trx,
            Self::RowUndo(r) => r.trx,
            Self::Commit(r) => r.trx,
            Self::Abort(r) => r.trx,
            Self::Savepoint(r) => r.trx,
            Self::RollbackTo(r) => r.trx,
            Self::Extents(r) => r.trx,
            Self::Prepare(r) => r.trx,
            Self::Statement(r) => r.trx,
            Self::Event(r) => r.trx,
            Self::LongValue(r) => r.trx,
            Self::System(_) | Self::TableDef(_) | Self::GtidState(_) | Self::Checkpoint(_) => return None,
        };
        (trx.0 != 0).then_some(trx)
    }

    /// The link to the transaction's previous record (for a compensation: to the next one to undo).
    pub fn previous(&self) -> Lsn {
        match self {
            Self::RowInsert(r) => r.previous,
            Self::RowUpdate(r) => r.previous,
            Self::RowDelete(r) => r.previous,
            Self::SecIndex(r) => r.previous,
            Self::Overflow(r) => r.previous,
            Self::RowUndo(r) => r.undo_next,
            Self::Commit(r) => r.last,
            Self::Abort(r) => r.last,
            Self::Savepoint(r) => r.previous,
            Self::RollbackTo(r) => r.undo_next,
            Self::Prepare(r) => r.last,
            Self::Statement(r) => r.previous,
            Self::Event(r) => r.previous,
            Self::LongValue(r) => r.previous,
            Self::Extents(_)
            | Self::System(_)
            | Self::TableDef(_)
            | Self::GtidState(_)
            | Self::Checkpoint(_) => Lsn::NONE,
        }
    }

    /// The changes of pages, in the order in which they are applied.
    pub fn parts(&self) -> &[PagePart<'a>] {
        match self {
            Self::RowInsert(r) => std::slice::from_ref(&r.part),
            Self::RowUpdate(r) => std::slice::from_ref(&r.part),
            Self::RowDelete(r) => std::slice::from_ref(&r.part),
            Self::SecIndex(r) => std::slice::from_ref(&r.part),
            Self::Overflow(r) => &r.parts,
            Self::RowUndo(r) => std::slice::from_ref(&r.part),
            Self::System(r) => &r.parts,
            _ => &[],
        }
    }

    /// Appends the whole record, as it stands at `lsn`.
    pub fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) {
        let start = out.len();
        // Two bytes are the length of nearly every record; other lengths move the body.
        out.extend_from_slice(&[0, 0, self.record_type() as u8, 0]);
        let flags = match self {
            Self::RowInsert(r) => r.encode(lsn, out),
            Self::RowUpdate(r) => r.encode(lsn, out),
            Self::RowDelete(r) => r.encode(lsn, out),
            Self::SecIndex(r) => r.encode(lsn, out),
            Self::Overflow(r) => r.encode(lsn, out),
            Self::RowUndo(r) => r.encode(lsn, out),
            Self::System(r) => r.encode(lsn, out),
            Self::Commit(r) => r.encode(lsn, out),
            Self::Abort(r) => r.encode(lsn, out),
            Self::Savepoint(r) => r.encode(lsn, out),
            Self::RollbackTo(r) => r.encode(lsn, out),
            Self::Extents(r) => r.encode(lsn, out),
            Self::Prepare(r) => r.encode(lsn, out),
            Self::Statement(r) => r.encode(lsn, out),
            Self::Event(r) => r.encode(lsn, out),
            Self::TableDef(r) => r.encode(out),
            Self::GtidState(r) => r.encode(lsn, out),
            Self::Checkpoint(r) => r.encode(lsn, out),
            Self::LongValue(r) => r.encode(lsn, out),
        };
        out[start + 3] = flags;
        let length = out.len() - start - 2;
        let mut field = Vec::new();
        match length {
            0x80..0x4000 => {
                out[start] = length as u8 | 0x80;
                out[start + 1] = (length >> 7) as u8;
            }
            _ => {
                field.put_varint(length as u64);
                out.splice(start..start + 2, field);
            }
        }
    }

    /// Reads the record that starts at `lsn`; `bytes` is exactly that record.
    pub fn decode(lsn: Lsn, bytes: &'a [u8]) -> Result<Self, Corruption> {
        Self::read(lsn, bytes).map_err(|found| found.within(format_args!("record at {lsn}")))
    }

    fn read(lsn: Lsn, bytes: &'a [u8]) -> Result<Self, Corruption> {
        let envelope = Envelope::read(bytes)?;
        if envelope.size != bytes.len() {
            return Err(Corruption::new("", "record length", bytes.len(), envelope.size));
        }
        let mut reader = Reader::new(&bytes[envelope.body_at..]);
        let (r, flags) = (&mut reader, envelope.flags);
        let record = match envelope.record_type {
            RecordType::RowInsert => Self::RowInsert(RowInsert::decode(lsn, flags, r)?),
            RecordType::RowUpdate => Self::RowUpdate(RowUpdate::decode(lsn, flags, r)?),
            RecordType::RowDelete => Self::RowDelete(RowDelete::decode(lsn, flags, r)?),
            RecordType::SecIndex => Self::SecIndex(SecIndex::decode(lsn, flags, r)?),
            RecordType::Overflow => Self::Overflow(Overflow::decode(lsn, flags, r)?),
            RecordType::RowUndo => Self::RowUndo(RowUndo::decode(lsn, flags, r)?),
            RecordType::System => Self::System(System::decode(lsn, flags, r)?),
            RecordType::Commit => Self::Commit(Commit::decode(lsn, flags, r)?),
            RecordType::Abort => Self::Abort(Abort::decode(lsn, flags, r)?),
            RecordType::Savepoint => Self::Savepoint(Savepoint::decode(lsn, flags, r)?),
            RecordType::RollbackTo => Self::RollbackTo(RollbackTo::decode(lsn, flags, r)?),
            RecordType::Extents => Self::Extents(Extents::decode(lsn, flags, r)?),
            RecordType::Prepare => Self::Prepare(Prepare::decode(lsn, flags, r)?),
            RecordType::Statement => Self::Statement(Statement::decode(lsn, flags, r)?),
            RecordType::Event => Self::Event(Event::decode(lsn, flags, r)?),
            RecordType::TableDef => Self::TableDef(TableDef::decode(flags, r)?),
            RecordType::GtidState => Self::GtidState(GtidState::decode(lsn, flags, r)?),
            RecordType::Checkpoint => Self::Checkpoint(Checkpoint::decode(lsn, flags, r)?),
            RecordType::LongValue => Self::LongValue(LongValue::decode(lsn, flags, r)?),
        };
        reader.finish("end of record")?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests;
