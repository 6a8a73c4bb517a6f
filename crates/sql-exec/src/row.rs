//! New row bodies: of values, or of an old body with some columns replaced.

use base::Corruption;
use row_format::{ColumnType, RowLayout, RowView, encode_column, encode_row};
use sql_plan::error::SqlError;
use types::Value;

/// A value that does not have its column's type: a bug of the conversion before.
fn not_converted(column: usize) -> SqlError {
    SqlError::Io { operation: format!("column {column} was not converted"), table: String::new() }
}

/// The body of a whole row.
pub(crate) fn body_of(layout: &RowLayout, values: &[Value], out: &mut Vec<u8>) -> Result<(), SqlError> {
    out.clear();
    encode_row(layout, values, out).map_err(|e| not_converted(e.column))
}

/// `old` with the columns of `changes` replaced; the others are copied as they are.
pub(crate) fn rebuild(
    layout: &RowLayout,
    old: &[u8],
    changes: &[(usize, Value)],
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    out.clear();
    let corrupt = |c: Corruption| crate::errors::corrupt(&c);
    let view = RowView::new(layout, old).map_err(corrupt)?;
    out.extend_from_slice(&old[..layout.bitmap_len()]);
    for (i, bytes) in view.columns().enumerate() {
        let ty = &layout.column(i).ty;
        match changes.iter().rev().find(|(column, _)| *column == i) {
            Some((_, Value::Null)) => out[i / 8] |= 1 << (i % 8),
            Some((_, value)) => {
                out[i / 8] &= !(1 << (i % 8));
                encode_column(ty, value, out).map_err(|()| not_converted(i))?;
            }
            None => {
                if let Some(bytes) = bytes.map_err(corrupt)? {
                    put_packed(ty, bytes, out);
                }
            }
        }
    }
    Ok(())
}

/// A column's packed bytes with the length bytes that stand before them.
fn put_packed(ty: &ColumnType, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes()[..ty.length_bytes()]);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use charset::Collation;
    use row_format::{Column, IntSize};

    #[test]
    fn a_rebuilt_body_equals_one_made_anew() {
        let c = Collation::LATIN1_SWEDISH_CI;
        let layout = RowLayout::new(vec![
            Column { ty: ColumnType::int(IntSize::Int, false), nullable: false },
            Column { ty: ColumnType::varchar(20, c), nullable: true },
            Column { ty: ColumnType::int(IntSize::Big, true), nullable: true },
        ]);
        let (mut old, mut expected, mut found) = (Vec::new(), Vec::new(), Vec::new());
        body_of(&layout, &[Value::Int(1), Value::str(b"abc", c), Value::Null], &mut old).unwrap();
        body_of(&layout, &[Value::Int(1), Value::Null, Value::UInt(9)], &mut expected).unwrap();
        rebuild(&layout, &old, &[(1, Value::Null), (2, Value::UInt(9))], &mut found).unwrap();
        assert_eq!(found, expected);
        rebuild(&layout, &expected, &[(1, Value::str(b"abc", c)), (2, Value::Null)], &mut found).unwrap();
        assert_eq!(found, old);
    }
}
