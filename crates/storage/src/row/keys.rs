//! Keys of rows: clustered and secondary.
//!
//! # Layout
//! ```text
//! clustered   the primary key's parts, or the hidden row id u48 big-endian
//! secondary   the index's parts | clustered key | length of the clustered key
//! length      one byte below 0xff, or u16 big-endian and the byte 0xff
//! ```
//! All parts are self-terminating, so what stands before the length orders entries already; the length lets a reader cut the
//! clustered key off an entry without knowing the collations.

use base::Corruption;
use row_format::{RowView, key};
use smallvec::SmallVec;

use crate::table::TableSpec;

/// Bytes of a hidden row id.
pub(crate) const ROW_ID_SIZE: usize = 6;
/// Longest key of an index entry, the clustered key included.
pub(crate) const KEY_SIZE_MAX: usize = 3072 + 1024;

const LONG: u8 = 0xff;

/// Appends the clustered key of a row that has a primary key.
pub fn clustered_key(spec: &TableSpec, body: &[u8], out: &mut Vec<u8>) -> Result<(), Corruption> {
    let row = RowView::new(&spec.layout, body)?;
    key::encode(&spec.layout, &spec.indexes[0].parts, &row, out)
}

/// Appends the key of a row in a secondary index; returns the length of the index's own parts.
pub fn secondary_key(
    spec: &TableSpec,
    index: usize,
    body: &[u8],
    clustered: &[u8],
    out: &mut Vec<u8>,
) -> Result<usize, Corruption> {
    let start = out.len();
    let row = RowView::new(&spec.layout, body)?;
    key::encode(&spec.layout, &spec.indexes[index].parts, &row, out)?;
    let own = out.len() - start;
    out.extend_from_slice(clustered);
    put_length(clustered.len(), out);
    Ok(own)
}

fn put_length(len: usize, out: &mut Vec<u8>) {
    match u8::try_from(len) {
        Ok(len) if len < LONG => out.push(len),
        _ => {
            let len = u16::try_from(len).expect("a clustered key fits a page");
            out.extend_from_slice(&len.to_be_bytes());
            out.push(LONG);
        }
    }
}

/// The clustered key inside a secondary entry's key.
pub fn clustered_part(entry: &[u8]) -> Result<&[u8], Corruption> {
    let (rest, len) = match entry {
        [rest @ .., LONG] if rest.len() >= 2 => {
            let (rest, len) = rest.split_at(rest.len() - 2);
            (rest, usize::from(u16::from_be_bytes([len[0], len[1]])))
        }
        [rest @ .., len] => (rest, usize::from(*len)),
        [] => (entry, usize::MAX),
    };
    let start = rest.len().checked_sub(len);
    start.map(|start| &rest[start..]).ok_or_else(|| {
        Corruption::new("secondary index entry", "length of the clustered key", "inside the entry", len)
    })
}

/// Can the columns of the index and of the primary key be read back from an entry?
pub(crate) fn entry_is_reversible(spec: &TableSpec, index: usize) -> bool {
    let parts = spec.indexes[index].parts.iter().chain(&spec.indexes[0].parts);
    parts.into_iter().all(|part| key::is_reversible(&spec.layout, part))
}

/// Appends a body with the columns that a reversible entry has; the others are NULL.
pub(crate) fn body_of_entry(
    spec: &TableSpec,
    index: usize,
    entry: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Corruption> {
    let layout = &spec.layout;
    let mut payload = Vec::with_capacity(entry.len());
    let mut found: SmallVec<[(usize, usize, usize); 8]> = SmallVec::new();
    let mut rest = entry;
    for part in spec.indexes[index].parts.iter().chain(&spec.indexes[0].parts) {
        let start = payload.len();
        if key::decode_part(layout, part, &mut rest, &mut payload)? {
            found.push((part.column, start, payload.len()));
        }
    }
    found.sort_unstable();
    found.dedup_by_key(|(column, ..)| *column);
    let start = out.len();
    out.resize(start + layout.bitmap_len(), 0xff);
    let last = found.last().map_or(0, |f| f.0 + 1);
    let mut found = found.into_iter().peekable();
    for column in 0..last {
        let description = layout.column(column);
        if let Some((_, from, to)) = found.next_if(|f| f.0 == column) {
            out[start + column / 8] &= !(1 << (column % 8));
            out.extend_from_slice(&(to - from).to_le_bytes()[..description.ty.length_bytes()]);
            out.extend_from_slice(&payload[from..to]);
        } else if let (false, Some(len)) = (description.nullable, description.ty.fixed_len()) {
            // A reader knows where columns stand behind those that are never NULL: they take their room, unread.
            out[start + column / 8] &= !(1 << (column % 8));
            out.resize(out.len() + len, 0);
        }
    }
    Ok(())
}

/// True when a part of the index is NULL in this row: then a unique index allows equals.
pub(crate) fn has_null(spec: &TableSpec, index: usize, body: &[u8]) -> Result<bool, Corruption> {
    let row = RowView::new(&spec.layout, body)?;
    Ok(spec.indexes[index].parts.iter().any(|part| row.is_null(part.column)))
}

/// True when the two bodies differ in a column of the index.
pub(crate) fn columns_differ(
    spec: &TableSpec,
    index: usize,
    old: &[u8],
    new: &[u8],
) -> Result<bool, Corruption> {
    let (old, new) = (RowView::new(&spec.layout, old)?, RowView::new(&spec.layout, new)?);
    for part in &spec.indexes[index].parts {
        if old.column(part.column)? != new.column(part.column)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clustered_key_comes_off_an_entry_at_every_length() {
        for len in [0usize, 1, 6, 254, 255, 256, 3000] {
            let clustered: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let mut entry = b"own parts".to_vec();
            entry.extend_from_slice(&clustered);
            put_length(len, &mut entry);
            assert_eq!(clustered_part(&entry), Ok(&clustered[..]), "{len}");
        }
    }

    #[test]
    fn an_entry_shorter_than_its_length_is_corrupt() {
        assert!(clustered_part(b"").is_err());
        assert!(clustered_part(b"ab\x05").is_err());
        assert!(clustered_part(b"\xff\xff\xff").is_err());
    }
}
