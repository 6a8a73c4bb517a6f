//! CHECKSUM TABLE's value for one row; a table's checksum is the wrapping sum of its rows'.
//!
//! # What is summed
//! CRC-32 (zlib's) over the null bytes, then every column that is not NULL: the packed value without length bytes, CHAR and BINARY
//! padded to their full length. Null bytes: one bit a nullable column, set = NULL, spare bits 1. A table without VARCHAR, TEXT or
//! BLOB columns has one more bit before them, always 1. Columns that the caller hides count as NULL: MariaDB does
//! not compute virtual columns for CHECKSUM TABLE.

use base::Corruption;
use crc_fast::{CrcAlgorithm, Digest};

use crate::{ColumnType, RowView};

/// The row's part of CHECKSUM TABLE; nullable columns that are `hidden` count as NULL.
pub fn row_checksum(row: &RowView<'_>, hidden: impl Fn(usize) -> bool) -> Result<u32, Corruption> {
    let columns = row.layout().columns();
    let fixed = columns.iter().all(|c| !matches!(c.ty, ColumnType::VarChar { .. } | ColumnType::Blob { .. }));
    let mut nulls =
        vec![0xffu8; (usize::from(fixed) + columns.iter().filter(|c| c.nullable).count()).div_ceil(8)];
    let mut bit = usize::from(fixed);
    for (i, column) in columns.iter().enumerate() {
        if column.nullable {
            if !row.is_null(i) && !hidden(i) {
                nulls[bit / 8] &= !(1 << (bit % 8));
            }
            bit += 1;
        }
    }
    let mut digest = Digest::new(CrcAlgorithm::Crc32IsoHdlc);
    digest.update(&nulls);
    for (i, (column, bytes)) in columns.iter().zip(row.columns()).enumerate() {
        let Some(bytes) = bytes? else { continue };
        if column.nullable && hidden(i) {
            continue;
        }
        digest.update(bytes);
        if let ColumnType::Char { max_bytes, collation } = &column.ty {
            let pad = if collation.is_binary() { 0 } else { b' ' };
            digest.update(&vec![pad; usize::from(*max_bytes).saturating_sub(bytes.len())]);
        }
    }
    Ok(digest.finalize() as u32)
}
