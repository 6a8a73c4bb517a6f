//! Memcmp-ordered keys.
//!
//! # Layout
//! One field a part, in order: for a nullable column one byte, 0 = NULL (nothing follows), 1 = a value; then
//! - integers: big-endian, sign bit flipped when signed; YEAR, BIT, ENUM, SET: big-endian;
//! - FLOAT, DOUBLE: big-endian bits, all flipped when negative, else the sign bit flipped;
//! - DECIMAL, TIME, DATETIME, TIMESTAMP: their packed form, which is memcmp-ordered; DATE: big-endian;
//! - text and byte strings: the collation's sort key, cut to the part's prefix length before.
//!
//! All bytes of a descending part are inverted, the NULL byte too.

use base::Corruption;
use types::Value;

use crate::{ColumnType, EncodeError, RowLayout, RowView, encode_column};

/// One column of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart {
    /// Index in the layout.
    pub column: usize,
    /// Characters (text) or bytes (byte strings) that are indexed; none = the whole value.
    pub prefix: Option<u16>,
    pub descending: bool,
}

impl KeyPart {
    pub const fn ascending(column: usize) -> Self {
        Self { column, prefix: None, descending: false }
    }
}

/// Appends the key of a row.
pub fn encode(
    layout: &RowLayout,
    parts: &[KeyPart],
    row: &RowView<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Corruption> {
    for part in parts {
        encode_part(layout, part, row.column(part.column)?, out);
    }
    Ok(())
}

/// Appends the key of given values, one for each of the first `values.len()` parts: a whole key or a leading part of one.
/// The values must be of their columns' types.
pub fn encode_values(
    layout: &RowLayout,
    parts: &[KeyPart],
    values: &[Value],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let mut packed = Vec::new();
    for (part, value) in parts.iter().zip(values) {
        if value.is_null() {
            encode_part(layout, part, None, out);
            continue;
        }
        packed.clear();
        let ty = &layout.column(part.column).ty;
        encode_column(ty, value, &mut packed)
            .map_err(|()| EncodeError { column: part.column, found: format!("{value:?}") })?;
        encode_part(layout, part, Some(&packed[ty.length_bytes()..]), out);
    }
    Ok(())
}

/// Appends one part's field for a column's packed bytes (without length bytes).
pub fn encode_part(layout: &RowLayout, part: &KeyPart, payload: Option<&[u8]>, out: &mut Vec<u8>) {
    let start = out.len();
    let column = layout.column(part.column);
    if column.nullable {
        out.push(u8::from(payload.is_some()));
    }
    if let Some(payload) = payload {
        put_payload(&column.ty, part.prefix, payload, out);
    }
    if part.descending {
        for byte in &mut out[start..] {
            *byte = !*byte;
        }
    }
}

fn put_payload(ty: &ColumnType, prefix: Option<u16>, payload: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    match ty {
        ColumnType::Int { unsigned, .. } => {
            out.extend(payload.iter().rev());
            if !unsigned {
                out[start] ^= 0x80;
            }
        }
        ColumnType::Float { .. } | ColumnType::Double { .. } => {
            out.extend(payload.iter().rev());
            let negative = out[start] & 0x80 != 0;
            for byte in &mut out[start..] {
                *byte = if negative { !*byte } else { *byte };
            }
            if !negative {
                out[start] |= 0x80;
            }
        }
        ColumnType::Date | ColumnType::Enum { .. } | ColumnType::Set { .. } => {
            out.extend(payload.iter().rev())
        }
        ColumnType::Decimal { .. }
        | ColumnType::Year
        | ColumnType::Bit { .. }
        | ColumnType::Time { .. }
        | ColumnType::DateTime { .. }
        | ColumnType::Timestamp { .. } => out.extend_from_slice(payload),
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Blob { collation, .. } => {
            let end = match prefix {
                Some(chars) => collation.charset().char_offset(payload, usize::from(chars)),
                None => payload.len(),
            };
            collation.sort_key(&payload[..end], out);
        }
    }
}
