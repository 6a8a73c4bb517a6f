//! Row images of events from row bodies of the log.
//!
//! A body is an image of all columns as it stands, unless it keeps long values on overflow pages: then it begins with a list of
//! these columns, and where their values would be it has references:
//! ```text
//! count varint | column index varint each, ascending | null bitmap | packed values, a long one as page u32 | LSN u64 | length u64
//! ```

use base::{Corruption, Lsn, Put, Reader};
use event_format::Bitmap;
use log_format::definition::Shape;

use crate::tables::TableInfo;

/// Where a long value begins: the record that wrote its first piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Long {
    pub(crate) column: usize,
    pub(crate) lsn: Lsn,
    pub(crate) length: u64,
}

/// One packed column of a body.
enum Piece<'a> {
    Null,
    /// Length bytes included.
    Packed(&'a [u8]),
    Long(Long),
}

/// Hands out a body's columns in order.
fn pieces<E: From<Corruption>>(
    table: &TableInfo,
    body: &[u8],
    has_long: bool,
    each: &mut dyn FnMut(usize, Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = Reader::new(body);
    let mut long = Vec::new();
    if has_long {
        for _ in 0..reader.length("overflow columns")? {
            long.push(reader.varint("overflow column")? as usize);
        }
    }
    let nulls = Bitmap(reader.bytes(Bitmap::bytes(table.width()), "null bitmap")?);
    for (i, column) in table.definition.columns.iter().enumerate() {
        if nulls.get(i) {
            each(i, Piece::Null)?;
        } else if long.contains(&i) {
            reader.u32("overflow page")?;
            let (lsn, length) = (Lsn(reader.u64("overflow LSN")?), reader.u64("overflow length")?);
            each(i, Piece::Long(Long { column: i, lsn, length }))?;
        } else {
            let (_, len) = column.extent(reader.rest())?;
            each(i, Piece::Packed(reader.bytes(len, "column")?))?;
        }
    }
    Ok(reader.finish("end of row")?)
}

/// Appends the image of all columns of a body that has long values; `value` gives them.
pub(crate) fn with_long_values<E: From<Corruption>>(
    table: &TableInfo,
    body: &[u8],
    value: &mut dyn FnMut(Long) -> Result<Vec<u8>, E>,
    out: &mut Vec<u8>,
) -> Result<(), E> {
    let nulls = out.len();
    out.resize(nulls + Bitmap::bytes(table.width()), 0xff);
    pieces(table, body, true, &mut |i, piece| {
        let long = match piece {
            Piece::Null => return Ok(()),
            Piece::Packed(bytes) => {
                out.put(bytes);
                None
            }
            Piece::Long(long) => Some(long),
        };
        out[nulls + i / 8] &= !(1 << (i % 8));
        if let Some(long) = long {
            let bytes = value(long)?;
            let Shape::Prefixed(prefix) = table.definition.columns[i].shape else {
                return Err(Corruption::new("row", "overflow column", "one of variable length", i).into());
            };
            out.put(&(bytes.len() as u64).to_le_bytes()[..usize::from(prefix)]);
            out.put(&bytes);
        }
        Ok(())
    })
}

/// Appends the image of some columns of a body without long values.
pub(crate) fn project(
    table: &TableInfo,
    body: &[u8],
    present: Bitmap<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Corruption> {
    let width = table.width();
    let nulls = out.len();
    let count = present.count(width);
    out.resize(nulls + Bitmap::bytes(count), 0xff);
    let mut next = 0;
    pieces(table, body, false, &mut |i, piece| {
        if present.get(i) {
            if let Piece::Packed(bytes) = piece {
                out[nulls + next / 8] &= !(1 << (next % 8));
                out.put(bytes);
            }
            next += 1;
        }
        Ok(())
    })
}

/// The columns in which two bodies without long values differ.
pub(crate) fn changed(table: &TableInfo, before: &[u8], after: &[u8]) -> Result<Vec<u8>, Corruption> {
    let mut old: Vec<Option<&[u8]>> = Vec::with_capacity(table.width());
    let mut reader = Reader::new(before);
    let nulls = Bitmap(reader.bytes(Bitmap::bytes(table.width()), "null bitmap")?);
    for (i, column) in table.definition.columns.iter().enumerate() {
        old.push(match nulls.get(i) {
            true => None,
            false => {
                let (_, len) = column.extent(reader.rest())?;
                Some(reader.bytes(len, "column")?)
            }
        });
    }
    let mut differ = Vec::new();
    pieces::<Corruption>(table, after, false, &mut |i, piece| {
        let same = match piece {
            Piece::Packed(bytes) => old[i] == Some(bytes),
            _ => old[i].is_none(),
        };
        if !same {
            differ.push(i);
        }
        Ok(())
    })?;
    Ok(Bitmap::of(table.width(), differ))
}

/// Columns of an image without those in `left_out`.
pub(crate) fn without(table: &TableInfo, left_out: impl Fn(usize) -> bool) -> Vec<u8> {
    Bitmap::of(table.width(), (0..table.width()).filter(|i| !left_out(*i)))
}
