//! Values to packed column bytes.

use charset::Collation;
use types::Value;

use crate::{ColumnType, RowLayout, packed};

/// The value is not of the column's type: the caller did not convert it first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeError {
    pub column: usize,
    pub found: String,
}

/// Appends a body. Every value must already be of its column's type (see `store`).
pub fn encode_row(layout: &RowLayout, values: &[Value], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    out.resize(start + layout.bitmap_len(), 0xff);
    for (i, (column, value)) in layout.columns().iter().zip(values).enumerate() {
        if value.is_null() {
            continue;
        }
        out[start + i / 8] &= !(1 << (i % 8));
        encode_column(&column.ty, value, out)
            .map_err(|()| EncodeError { column: i, found: format!("{value:?}") })?;
    }
    Ok(())
}

/// Appends one value, length bytes included.
#[expect(clippy::result_unit_err, reason = "the caller knows the column and the value")]
pub fn encode_column(ty: &ColumnType, value: &Value, out: &mut Vec<u8>) -> Result<(), ()> {
    match (ty, value) {
        (ColumnType::Int { size, unsigned }, _) => {
            let v = match value {
                Value::Int(v) if !unsigned || *v >= 0 => *v as u64,
                Value::UInt(v) if *unsigned || i64::try_from(*v).is_ok() => *v,
                _ => return Err(()),
            };
            out.extend_from_slice(&v.to_le_bytes()[..size.bytes()]);
        }
        (ColumnType::Float { .. }, Value::Float(v)) => out.extend_from_slice(&v.to_le_bytes()),
        (ColumnType::Double { .. }, Value::Double(v)) => out.extend_from_slice(&v.to_le_bytes()),
        (ColumnType::Year, Value::Year(v)) => out.push(v.checked_sub(1900).unwrap_or(0) as u8),
        (ColumnType::Bit { bits }, Value::Bit { value, .. }) => {
            out.extend_from_slice(&value.to_be_bytes()[8 - usize::from(bits.div_ceil(8))..]);
        }
        (ColumnType::Decimal { precision, scale, .. }, Value::Decimal(d)) => {
            let Ok(fitted) = d.fit(*precision, *scale) else { return Err(()) };
            fitted.pack(*precision, *scale, out);
        }
        (ColumnType::Date, Value::Date(d)) => packed::put_date(*d, out),
        (ColumnType::Time { fsp }, Value::Time(t)) => packed::put_time(*t, *fsp, out),
        (ColumnType::DateTime { fsp }, Value::DateTime(d)) => packed::put_datetime(*d, *fsp, out),
        (ColumnType::Timestamp { fsp }, Value::Timestamp(t)) => packed::put_timestamp(*t, *fsp, out),
        (ColumnType::Enum { .. } | ColumnType::Set { .. }, Value::Enum(e)) => {
            out.extend_from_slice(&e.number.to_le_bytes()[..ty.fixed_len().unwrap_or(1)]);
        }
        (ColumnType::Char { .. } | ColumnType::VarChar { .. } | ColumnType::Blob { .. }, Value::Str(s)) => {
            let bytes = match ty {
                ColumnType::Char { collation, .. } => trim_pad(s.bytes(), *collation),
                _ => s.bytes(),
            };
            if bytes.len() as u64 > ty.max_bytes() {
                return Err(());
            }
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes()[..ty.length_bytes()]);
            out.extend_from_slice(bytes);
        }
        (ColumnType::Fixed(kind), Value::Fixed(v)) if v.kind() == *kind => {
            out.push(kind.len() as u8);
            out.extend_from_slice(&v.stored()[..kind.len()]);
        }
        _ => return Err(()),
    }
    Ok(())
}

/// CHAR is packed without its trailing spaces, BINARY without its trailing zeros.
fn trim_pad(bytes: &[u8], collation: Collation) -> &[u8] {
    if !collation.is_binary() {
        return collation.charset().trim_end(bytes);
    }
    let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1);
    &bytes[..end]
}
