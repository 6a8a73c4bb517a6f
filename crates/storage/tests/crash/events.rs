//! The rows as the log's row records tell them: what a replica would have that read the log from its beginning.
//!
//! The log is read from the disk by itself, without pages, dictionary and checkpoint. For each commit record, in their order, the
//! transaction's chain is walked back from its last record: compensations lead past what they undid, so what is met
//! stands. Every image is compared with the row as the events before have left it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use base::{Corruption, Lsn, Reader, TableId, TrxId};
use env::{Disk, SimDisk};
use log::{FrameStart, Log, LogConfig};
use log_format::record::{Before, Commit, Record, RowDelete, RowInsert, RowUpdate, row_flags};
use log_format::segment::{SEGMENT_HEADER_SIZE, SegmentHeader};
use page_format::{PageOp, record_flags};
use row_format::OldFormat;
use storage::table::TableSpec;

use crate::model::{State, TABLES};
use crate::world::{clock, decode_body};

/// A stored body, and whether it has overflow columns.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stored {
    /// The record that made it tells its layout.
    at: Lsn,
    long: bool,
    body: Vec<u8>,
}

type Failure = Box<dyn std::error::Error>;

/// What the log says so far.
#[derive(Default)]
struct Events {
    /// Records of transactions.
    records: HashMap<Lsn, Vec<u8>>,
    rows: BTreeMap<(TableId, Vec<u8>), Stored>,
    /// Where tables got other layouts.
    layouts: HashMap<TableId, Vec<Lsn>>,
}

/// The rows that the committed row records in the log of `disk` make.
pub(crate) fn replay(disk: &SimDisk, specs: &[TableSpec], context: &str) -> State {
    // Reading the log syncs it, which must not help the disk that the test is about.
    let disk = disk.fork(0).disk();
    let changes = |spec: &TableSpec| (spec.id, spec.formats.iter().map(OldFormat::until).collect());
    let mut events = Events { layouts: specs.iter().map(changes).collect(), ..Events::default() };
    events.read(disk).unwrap_or_else(|e| panic!("{context}, events: {e}"));
    let mut state = State::default();
    for ((table, key), stored) in &events.rows {
        let place = specs.iter().position(|spec| spec.id == *table);
        let place = place.unwrap_or_else(|| panic!("{context}, events: a row of {table:?}"));
        let spec = &specs[place];
        let old = spec.formats.iter().find(|format| stored.at < format.until());
        let columns = old.map_or(spec.layout.len(), |format| format.shapes().len());
        let mut body =
            events.whole(stored, columns).unwrap_or_else(|e| panic!("{context}, events, key {key:?}: {e}"));
        if let Some(format) = old {
            let mut newest = Vec::new();
            format.upgrade(&body, &mut newest).unwrap_or_else(|e| panic!("{context}, events: {e}"));
            body = newest;
        }
        let (id, row) = decode_body(&spec.layout, &body);
        state[place].insert(id, row);
    }
    let count: usize = (0..TABLES).map(|table| state[table].len()).sum();
    assert_eq!(count, events.rows.len(), "{context}, events: two keys with one id");
    state
}

/// Position of the first frame of the oldest segment.
fn first_frame(disk: &dyn Disk) -> Result<FrameStart, Failure> {
    let names = disk.list("log")?;
    let first = names.iter().filter(|name| name.ends_with(".seg")).min().ok_or("no segment")?;
    let file = disk.open(&format!("log/{first}"), env::OpenMode::Existing, env::Caching::Buffered)?;
    let mut bytes = [0; SEGMENT_HEADER_SIZE];
    file.read_at(&mut bytes, 0)?;
    let (header, crc) = SegmentHeader::decode(&bytes)?;
    if header.number != 1 {
        return Err(format!("the log begins with segment {}", header.number).into());
    }
    Ok(FrameStart { lsn: header.start_lsn + SEGMENT_HEADER_SIZE as u64, previous_crc: crc })
}

impl Events {
    fn read(&mut self, disk: Arc<dyn Disk>) -> Result<(), Failure> {
        let from = first_frame(&*disk)?;
        let config = LogConfig {
            ring_size: 1 << 16,
            pipeline: log::Pipeline::default(),
            segment_size: 1 << 16,
            server_id: 1,
            server_uuid: [0; 16],
            clock: clock(),
        };
        let mut visit = |lsn, bytes: &[u8]| self.record(lsn, bytes);
        Log::scan(disk, config, from, Lsn(0), &mut visit)?;
        Ok(())
    }

    fn record(&mut self, lsn: Lsn, bytes: &[u8]) -> Result<(), Corruption> {
        let record = Record::decode(lsn, bytes)?;
        if let Record::Commit(commit) = record {
            return self.commit(lsn, &commit);
        }
        if record.trx().is_some() {
            self.records.insert(lsn, bytes.to_vec());
        }
        Ok(())
    }

    fn commit(&mut self, lsn: Lsn, commit: &Commit) -> Result<(), Corruption> {
        let mut chain = Vec::new();
        let mut at = commit.last;
        while !at.is_none() {
            let record = self.chained(at, commit.trx)?;
            chain.push(at);
            at = record.previous();
        }
        if chain.last() != Some(&commit.first) && chain.last().is_some_and(|first| *first < commit.first) {
            return Err(wrong(lsn, "first record", commit.first, format_args!("{:?}", chain.last())));
        }
        for at in chain.into_iter().rev() {
            let bytes = self.records[&at].clone();
            match Record::decode(at, &bytes)? {
                Record::RowInsert(insert) => self.insert(at, &insert)?,
                Record::RowUpdate(update) => self.update(at, &update)?,
                Record::RowDelete(delete) => self.delete(at, &delete)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn chained(&self, at: Lsn, trx: TrxId) -> Result<Record<'_>, Corruption> {
        let bytes =
            self.records.get(&at).ok_or_else(|| wrong(at, "record", "one of a transaction", "none"))?;
        let record = Record::decode(at, bytes)?;
        if record.trx() != Some(trx) {
            return Err(wrong(at, "trx", trx, format_args!("{:?}", record.trx())));
        }
        Ok(record)
    }

    fn insert(&mut self, at: Lsn, insert: &RowInsert<'_>) -> Result<(), Corruption> {
        is_replicated(at, insert.flags)?;
        let flags = match insert.part.op {
            PageOp::InsertRow { flags, .. } | PageOp::ReplaceRow { flags, .. } => flags,
            _ => return Err(wrong(at, "operation", "an insert", "another")),
        };
        let new = Stored { at, long: flags & record_flags::OVERFLOW != 0, body: insert.body().to_vec() };
        match self.rows.insert((insert.table, insert.key().to_vec()), new) {
            None => Ok(()),
            Some(_) => Err(wrong(at, "key of an insert", "a new one", "one that is there")),
        }
    }

    fn update(&mut self, at: Lsn, update: &RowUpdate<'_>) -> Result<(), Corruption> {
        let row = self.rows.get_mut(&(update.table, update.key.to_vec()));
        let row = row.ok_or_else(|| wrong(at, "key of an update", "one that is there", "none"))?;
        let PageOp::UpdateRow { flags, splices, .. } = update.part.op else {
            return Err(wrong(at, "operation", "an update", "another"));
        };
        let mut new = Vec::new();
        splices
            .apply(&row.body, &mut new)
            .ok_or_else(|| wrong(at, "splices", "those of the row", "others"))?;
        is_before(
            at,
            row,
            update.flags,
            match update.before {
                Before::Full(body) => Some(body),
                Before::Removed(_) => None,
            },
        )?;
        let mut old = Vec::new();
        update.old_body(&new, &mut old)?;
        if old != row.body {
            return Err(wrong(at, "body before", "that of the row", "another"));
        }
        // Only a row that gets the newest layout changes without an event.
        let layouts = self.layouts.get(&update.table).map_or(&[][..], Vec::as_slice);
        if !layouts.iter().any(|from| row.at < *from && *from <= at) {
            is_replicated(at, update.flags)?;
        }
        *row = Stored { at, long: flags & record_flags::OVERFLOW != 0, body: new };
        Ok(())
    }

    fn delete(&mut self, at: Lsn, delete: &RowDelete<'_>) -> Result<(), Corruption> {
        is_replicated(at, delete.flags)?;
        let row = self.rows.remove(&(delete.table, delete.key.to_vec()));
        let row = row.ok_or_else(|| wrong(at, "key of a delete", "one that is there", "none"))?;
        is_before(at, &row, delete.flags, delete.before)
    }

    /// The body with its long values, which stand in records too.
    fn whole(&self, stored: &Stored, columns: usize) -> Result<Vec<u8>, Corruption> {
        if !stored.long {
            return Ok(stored.body.clone());
        }
        // Integers, then the two strings.
        let length_bytes = [0, 0, 0, 2, 4].into_iter().skip(5 - columns);
        let mut reader = Reader::new(&stored.body);
        let mut long = Vec::new();
        for _ in 0..reader.length("overflow columns")? {
            long.push(reader.varint("overflow column")?);
        }
        let bitmap = reader.bytes(1, "null bitmap")?;
        let mut body = bitmap.to_vec();
        for (column, size) in length_bytes.enumerate() {
            if bitmap[0] >> column & 1 != 0 {
                continue;
            }
            if long.contains(&(column as u64)) {
                reader.u32("overflow page")?;
                let (first, length) = (Lsn(reader.u64("overflow LSN")?), reader.u64("overflow length")?);
                body.extend_from_slice(&length.to_le_bytes()[..size]);
                self.value(first, length, &mut body)?;
            } else if size == 0 {
                body.extend_from_slice(reader.bytes(4, "int")?);
            } else {
                let mut length = [0; 8];
                length[..size].copy_from_slice(reader.bytes(size, "length")?);
                body.extend_from_slice(&length[..size]);
                body.extend_from_slice(reader.bytes(u64::from_le_bytes(length) as usize, "value")?);
            }
        }
        reader.finish("end of row")?;
        Ok(body)
    }

    fn value(&self, mut at: Lsn, length: u64, out: &mut Vec<u8>) -> Result<(), Corruption> {
        let end = out.len() + length as usize;
        while !at.is_none() {
            let bytes = self.records.get(&at).ok_or_else(|| wrong(at, "record", "a chunk", "none"))?;
            let Record::Overflow(chunk) = Record::decode(at, bytes)? else {
                return Err(wrong(at, "record", "a chunk", "another"));
            };
            let PageOp::FormatOverflow { next_lsn, bytes, .. } = chunk.parts[1].op else {
                return Err(wrong(at, "operation", "a chunk", "another"));
            };
            out.extend_from_slice(bytes);
            at = next_lsn;
        }
        if out.len() == end { Ok(()) } else { Err(wrong(at, "length of a value", end, out.len())) }
    }
}

fn is_replicated(at: Lsn, flags: u8) -> Result<(), Corruption> {
    if flags & row_flags::REPLICATE != 0 { Ok(()) } else { Err(wrong(at, "flags", "an event", flags)) }
}

/// The image before, if the record has one, is the row, and so is what the record says of its long values.
fn is_before(at: Lsn, row: &Stored, flags: u8, before: Option<&[u8]>) -> Result<(), Corruption> {
    if row.long != (flags & row_flags::OVERFLOW_BEFORE != 0) {
        return Err(wrong(at, "overflow before", row.long, !row.long));
    }
    if before.is_some_and(|before| before != row.body) {
        return Err(wrong(at, "image before", "the row", "another"));
    }
    Ok(())
}

fn wrong(
    at: Lsn,
    field: &'static str,
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> Corruption {
    Corruption::new(format_args!("record at {at}"), field, expected, found)
}
