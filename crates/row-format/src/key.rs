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
use charset::Collation;
use types::Value;

use crate::{ColumnType, EncodeError, RowLayout, RowView, encode_column, packed};

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
            let sign = if *unsigned { 0 } else { 0x80 };
            match payload {
                [a, b, c, d] => out.extend_from_slice(&[d ^ sign, *c, *b, *a]),
                [a, b, c, d, e, f, g, h] => out.extend_from_slice(&[h ^ sign, *g, *f, *e, *d, *c, *b, *a]),
                other => {
                    out.extend(other.iter().rev());
                    out[start] ^= sign;
                }
            }
        }
        ColumnType::Float { .. } | ColumnType::Double { .. } => {
            out.extend(payload.iter().rev());
            // Minus zero equals zero.
            if out[start] == 0x80 && out[start + 1..].iter().all(|b| *b == 0) {
                out[start] = 0;
            }
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
        | ColumnType::Fixed(_)
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

/// True if [`decode_part`] gives the part's column back: everything but text whose key is weights, and prefixes.
pub fn is_reversible(layout: &RowLayout, part: &KeyPart) -> bool {
    let ty = &layout.column(part.column).ty;
    part.prefix.is_none() && ty.length_bytes() == 0
        || part.prefix.is_none() && ty.collation().is_some_and(Collation::key_keeps_text)
}

/// True if every one of `columns` can be read from an index with these parts.
pub fn is_covering(layout: &RowLayout, parts: &[KeyPart], columns: &[usize]) -> bool {
    columns.iter().all(|c| parts.iter().any(|p| p.column == *c && is_reversible(layout, p)))
}

/// Reads one part's field from the start of `key` and appends the column's packed bytes (without length bytes) to `payload`; false for NULL.
/// The part must be reversible.
pub fn decode_part(
    layout: &RowLayout,
    part: &KeyPart,
    key: &mut &[u8],
    payload: &mut Vec<u8>,
) -> Result<bool, Corruption> {
    let column = layout.column(part.column);
    let flip = if part.descending { 0xff } else { 0 };
    if column.nullable {
        match take(key, 1)?[0] ^ flip {
            0 => return Ok(false),
            1 => {}
            other => return Err(Corruption::new("key", "NULL byte", "0 or 1", other)),
        }
    }
    let Some(len) = column.ty.fixed_len() else {
        let inverted: Vec<u8>;
        let mut bytes = *key;
        if part.descending {
            inverted = key.iter().map(|b| !b).collect();
            bytes = &inverted;
        }
        let collation = column.ty.collation().unwrap_or(Collation::BINARY);
        let used = collation
            .text_of_key(bytes, payload)
            .ok_or_else(|| Corruption::new("key", "text", "an escaped text", format_args!("{bytes:02x?}")))?;
        take(key, used)?;
        return Ok(true);
    };
    let start = payload.len();
    payload.extend(take(key, len)?.iter().map(|b| b ^ flip));
    let field = &mut payload[start..];
    match &column.ty {
        ColumnType::Int { unsigned, .. } => {
            if !unsigned {
                field[0] ^= 0x80;
            }
            field.reverse();
        }
        ColumnType::Float { .. } | ColumnType::Double { .. } => {
            if field[0] & 0x80 != 0 {
                field[0] ^= 0x80;
            } else {
                field.iter_mut().for_each(|b| *b = !*b);
            }
            field.reverse();
        }
        ColumnType::Date | ColumnType::Enum { .. } | ColumnType::Set { .. } => field.reverse(),
        _ => {}
    }
    Ok(true)
}

/// Reads a whole key of reversible parts as values.
pub fn decode(layout: &RowLayout, parts: &[KeyPart], mut key: &[u8]) -> Result<Vec<Value>, Corruption> {
    let mut payload = Vec::new();
    let mut values = Vec::with_capacity(parts.len());
    for part in parts {
        payload.clear();
        values.push(match decode_part(layout, part, &mut key, &mut payload)? {
            false => Value::Null,
            true => packed::decode(&layout.column(part.column).ty, &payload)?,
        });
    }
    Ok(values)
}

fn take<'a>(key: &mut &'a [u8], len: usize) -> Result<&'a [u8], Corruption> {
    let Some((taken, rest)) = key.split_at_checked(len) else {
        return Err(Corruption::new("key", "length", format_args!("at least {len} bytes"), key.len()));
    };
    *key = rest;
    Ok(taken)
}
