//! Long columns: values that do not fit a row's page stand in a chain of overflow pages.
//!
//! # Layout of a stored body with overflow columns (record flag OVERFLOW)
//! ```text
//! count varint | column index varint each, ascending | body, in which these columns are
//!     first page u32 | LSN of the record that wrote it u64 | length u64      instead of length bytes and value
//! ```
//!
//! # Invariants
//! W1. Chunks are logged last to first, before the row record that refers to the first one; each names the next one's page and
//!     LSN. So a value can be read from its pages, or from the log when a page has been given back and used again.
//! W2. An update that leaves a long column as it was keeps its chain. A chain is given back by the purge of the transaction
//!     that deleted the row or replaced the value, or by the rollback of the one that wrote it.

use base::{Corruption, Lsn, PageNo, Put, Reader, SpaceId};
use log_format::record::{LongValue, Overflow, Record};
use page_format::{OVERFLOW_CAPACITY, PageOp, RECORD_SIZE_MAX, clustered_size, record_flags};
use row_format::Shapes;

use super::RowError;
use super::images::Needs;
use crate::btree::Allocation;
use crate::btree::overflow::{OverflowRef, read_value};
use crate::kernel::Kernel;
use crate::table::Table;
use crate::trx::Work;

/// Bytes of a reference.
const REFERENCE: usize = 4 + 8 + 8;

/// Where a long value begins.
pub(crate) type Chain = OverflowRef;

/// A chain of a row's old version: its column, and its value.
pub(crate) type Kept<'a> = (usize, Chain, &'a [u8]);

fn take_chain(reader: &mut Reader<'_>) -> Result<Chain, Corruption> {
    Ok(Chain {
        page: PageNo(reader.u32("overflow page")?),
        lsn: Lsn(reader.u64("overflow LSN")?),
        length: reader.u64("overflow length")?,
    })
}

fn put_chain(chain: Chain, out: &mut Vec<u8>) {
    out.put_u32(chain.page.0);
    out.put_u64(chain.lsn.0);
    out.put_u64(chain.length);
}

/// One column of a stored body.
#[derive(Debug, Clone, Copy)]
struct Piece<'a> {
    column: usize,
    /// Packed bytes, length bytes included, or none for a long column.
    packed: &'a [u8],
    chain: Option<Chain>,
}

/// Takes a stored body apart. `has_overflow` is the record's flag.
fn pieces<'a>(
    shapes: Shapes<'_>,
    stored: &'a [u8],
    has_overflow: bool,
    mut each: impl FnMut(Piece<'a>),
) -> Result<&'a [u8], Corruption> {
    let mut reader = Reader::new(stored);
    let mut long = Vec::new();
    if has_overflow {
        for _ in 0..reader.length("overflow columns")? {
            long.push(reader.varint("overflow column")? as usize);
        }
    }
    let bitmap = reader.bytes(shapes.bitmap_len(), "null bitmap")?;
    for column in 0..shapes.len() {
        if bitmap[column / 8] >> (column % 8) & 1 != 0 {
            continue;
        }
        if long.contains(&column) {
            let chain = Some(take_chain(&mut reader)?);
            each(Piece { column, packed: &[], chain });
            continue;
        }
        let len = shapes.packed_len(column, reader.rest())?;
        each(Piece { column, packed: reader.bytes(len, "column")?, chain: None });
    }
    reader.finish("end of row")?;
    Ok(bitmap)
}

/// The chains of a stored body.
pub(crate) fn chains(
    shapes: Shapes<'_>,
    stored: &[u8],
    has_overflow: bool,
) -> Result<Vec<(usize, Chain)>, Corruption> {
    let mut found = Vec::new();
    if has_overflow {
        pieces(shapes, stored, true, |p| found.extend(p.chain.map(|c| (p.column, c))))?;
    }
    Ok(found)
}

impl Work<'_> {
    /// Logs values of the row that is about to be changed for the change's event: those on overflow pages, which may long be out of
    /// the log. A row's image is in the log once (L2); this is where the image is not. `new_body` is the row after an update.
    pub(super) fn log_long_values(
        &mut self,
        table: &Table,
        values: &[Kept<'_>],
        needs: &Needs,
        new_body: Option<&[u8]>,
    ) -> Result<(), RowError> {
        if matches!(needs, Needs::Nothing) {
            return Ok(());
        }
        self.ensure_id();
        let spec = table.spec();
        let after = new_body.map(|body| row_format::RowView::new(&spec.layout, body)).transpose()?;
        let piece = self.kernel.store.log.record_size_max() / 4;
        for (column, _, value) in values {
            if let Needs::Columns(columns) = needs
                && !columns.before(spec, *column)
            {
                // The image after an update has a value that stays, too; a new one stands in this transaction.
                let stays = match &after {
                    Some(row) => row.column(*column)? == Some(*value),
                    None => false,
                };
                if !stays || !columns.after(spec, *column) {
                    continue;
                }
            }
            for bytes in value.chunks(piece) {
                let (trx, previous, column) = (self.t.id, self.t.last, *column as u32);
                let record = Record::LongValue(LongValue { trx, previous, column, bytes });
                let appended = self.kernel.store.log.append(|lsn, out| record.encode(lsn, out))?;
                self.t.appended(appended);
            }
        }
        Ok(())
    }
}

/// Appends the whole body of a stored one.
pub(crate) fn load(
    kernel: &Kernel,
    space: SpaceId,
    shapes: Shapes<'_>,
    stored: &[u8],
    has_overflow: bool,
    out: &mut Vec<u8>,
) -> Result<(), RowError> {
    if !has_overflow {
        out.extend_from_slice(stored);
        return Ok(());
    }
    let mut found = Vec::new();
    let bitmap = pieces(shapes, stored, true, |p| found.push(p))?;
    out.extend_from_slice(bitmap);
    for piece in found {
        let Some(chain) = piece.chain else {
            out.extend_from_slice(piece.packed);
            continue;
        };
        let prefix = shapes.length_bytes(piece.column);
        out.extend_from_slice(&chain.length.to_le_bytes()[..prefix]);
        read_value(&kernel.store, space, chain, out)?;
    }
    Ok(())
}

impl Work<'_> {
    /// Appends to `out` what is stored on the leaf for `body`; returns the record's flags. Values move out, longest first, until
    /// the row fits. `kept` are chains of the row's old version with their values, to be kept where the value is the same.
    pub(crate) fn store_body(
        &mut self,
        table: &Table,
        key_len: usize,
        body: &[u8],
        kept: &[Kept<'_>],
        out: &mut Vec<u8>,
    ) -> Result<u8, RowError> {
        let size = clustered_size(key_len, body.len());
        if size <= RECORD_SIZE_MAX {
            out.extend_from_slice(body);
            return Ok(0);
        }
        let shapes = table.spec().layout.shapes();
        let mut columns = Vec::new();
        let bitmap = pieces(shapes, body, false, |p| columns.push(p))?;
        let long = choose_long(shapes, &columns, size).ok_or(RowError::RowTooLarge { bytes: size })?;
        out.put_varint(long.len() as u64);
        long.iter().for_each(|column| out.put_varint(*column as u64));
        out.extend_from_slice(bitmap);
        for piece in &columns {
            if !long.contains(&piece.column) {
                out.extend_from_slice(piece.packed);
                continue;
            }
            let value = &piece.packed[shapes.length_bytes(piece.column)..];
            let same = kept.iter().find(|(column, _, old)| *column == piece.column && *old == value);
            let chain = match same {
                Some((_, chain, _)) => *chain,
                None => self.write_chain(table, value)?,
            };
            put_chain(chain, out);
        }
        Ok(record_flags::OVERFLOW)
    }

    /// Writes a value, last chunk first (W1).
    fn write_chain(&mut self, table: &Table, value: &[u8]) -> Result<Chain, RowError> {
        let index = table.spec().indexes[0].id;
        let (mut next, mut next_lsn) = (PageNo::NONE, Lsn::NONE);
        for bytes in value.chunks(OVERFLOW_CAPACITY).rev() {
            let trx = self.ensure_id();
            let previous = self.t.last;
            let mut allocation = Allocation::begin(&self.kernel.store, table.spec().space)?;
            let page = allocation.id();
            let op = PageOp::FormatOverflow { page, index, next, next_lsn, bytes };
            let mut changes = allocation.changes(vec![op]);
            let record = self.kernel.store.change_many(&mut changes, |parts| {
                let parts = [parts[0], parts[1]];
                Record::Overflow(Overflow { trx, previous, parts })
            })?;
            self.t.appended(record);
            drop(changes);
            drop(allocation.done(&self.kernel.store));
            (next, next_lsn) = (page.no, record.start);
        }
        Ok(Chain { page: next, lsn: next_lsn, length: value.len() as u64 })
    }
}

/// The columns that move out: the longest that can, until the rest fits.
fn choose_long(shapes: Shapes<'_>, columns: &[Piece<'_>], size: usize) -> Option<Vec<usize>> {
    let mut candidates: Vec<&Piece<'_>> =
        columns.iter().filter(|p| !shapes.is_fixed(p.column) && p.packed.len() > 2 * REFERENCE).collect();
    candidates.sort_by_key(|p| std::cmp::Reverse(p.packed.len()));
    let (mut size, mut long) = (size + 1, Vec::new());
    for piece in candidates {
        if size <= RECORD_SIZE_MAX {
            break;
        }
        size = size + REFERENCE + 2 - piece.packed.len();
        long.push(piece.column);
    }
    long.sort_unstable();
    (size <= RECORD_SIZE_MAX).then_some(long)
}
