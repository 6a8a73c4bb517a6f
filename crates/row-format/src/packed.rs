//! Packed column bytes to values.

use base::Corruption;
use types::{Date, Value};

use crate::{ColumnType, IntSize};

/// Little-endian length of 1 to 4 bytes.
pub(crate) fn le_length(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b))
}

pub(crate) fn le_u64(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

pub(crate) fn be_u64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// A signed little-endian integer of the size of `bytes`.
pub(crate) fn le_i64(bytes: &[u8], size: IntSize) -> i64 {
    let unused = 64 - size.bits();
    (le_u64(bytes) << unused) as i64 >> unused
}

/// A column's value of its packed bytes (without length bytes), which have the type's length.
pub(crate) fn decode(ty: &ColumnType, bytes: &[u8]) -> Result<Value, Corruption> {
    Ok(match ty {
        ColumnType::Int { size, unsigned: false } => Value::Int(le_i64(bytes, *size)),
        ColumnType::Int { unsigned: true, .. } => Value::UInt(le_u64(bytes)),
        ColumnType::Float { .. } => Value::Float(f32::from_bits(le_u64(bytes) as u32)),
        ColumnType::Double { .. } => Value::Double(f64::from_bits(le_u64(bytes))),
        ColumnType::Year => Value::Year(if bytes[0] == 0 { 0 } else { 1900 + u16::from(bytes[0]) }),
        ColumnType::Bit { bits } => Value::Bit { value: be_u64(bytes), bits: *bits },
        ColumnType::Date => {
            let v = le_u64(bytes);
            Value::Date(Date { year: (v >> 9) as u16, month: (v >> 5 & 15) as u8, day: (v & 31) as u8 })
        }
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Blob { collation, .. } => Value::str(bytes, *collation),
        _ => return Err(Corruption::new("row", "column type", "a supported type", format_args!("{ty:?}"))),
    })
}
