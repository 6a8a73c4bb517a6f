//! Columns of a rows event whose type is not the table's: whether `slave_type_conversions` lets them be converted.
//!
//! # Rules (as MariaDB's)
//! ```text
//! integers                     to a larger one nothing is lost, to a smaller one something may be
//! FLOAT to DOUBLE              nothing is lost; the other way round, or to and from DECIMAL, something may be
//! DECIMAL, BIT, fractions of seconds   nothing is lost when every digit has a place
//! CHAR, VARCHAR, BLOB, TEXT    nothing is lost when the longest value fits; the bytes are those of the table's character set
//! ```
//! An event does not say whether an integer has a sign: it has the sign of the table's.

use charset::Collation;
use event_format::WireColumn;
use row_format::{ColumnType, IntSize};

/// `slave_type_conversions`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Conversions {
    pub lossy: bool,
    pub non_lossy: bool,
}

/// How a column's values are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As the table holds them.
    Same,
    /// As this type, and converted.
    As(ColumnType),
}

/// None when the event's type may not be converted to the table's.
pub(crate) fn reading(wire: WireColumn, ty: &ColumnType, allowed: Conversions) -> Option<Reading> {
    if wire == wire_of(ty) {
        return Some(Reading::Same);
    }
    let from = type_of(wire, ty)?;
    let may = if loses_nothing(&from, ty)? { allowed.non_lossy } else { allowed.lossy };
    may.then_some(Reading::As(from))
}

/// What a TABLE_MAP says of the table's own column.
pub(crate) fn wire_of(ty: &ColumnType) -> WireColumn {
    let mut metadata = Vec::new();
    ty.binlog_metadata(&mut metadata);
    metadata.resize(2, 0);
    WireColumn { code: ty.binlog_type(), meta: u16::from_le_bytes([metadata[0], metadata[1]]) }
}

/// The event's type, with what it does not say taken from the table's.
fn type_of(wire: WireColumn, like: &ColumnType) -> Option<ColumnType> {
    let [low, high] = wire.meta.to_le_bytes();
    let unsigned = match like {
        ColumnType::Int { unsigned, .. }
        | ColumnType::Float { unsigned }
        | ColumnType::Double { unsigned }
        | ColumnType::Decimal { unsigned, .. } => *unsigned,
        _ => false,
    };
    let collation = like.collation().unwrap_or(Collation::BINARY);
    let int = |size| ColumnType::Int { size, unsigned };
    Some(match wire.code {
        1 => int(IntSize::Tiny),
        2 => int(IntSize::Small),
        3 => int(IntSize::Int),
        8 => int(IntSize::Big),
        9 => int(IntSize::Medium),
        4 => ColumnType::Float { unsigned },
        5 => ColumnType::Double { unsigned },
        246 => ColumnType::Decimal { precision: low, scale: high, unsigned },
        15 => ColumnType::VarChar { max_bytes: wire.meta, collation },
        16 => ColumnType::Bit { bits: high.checked_mul(8)?.checked_add(low)? },
        17 => ColumnType::Timestamp { fsp: low },
        18 => ColumnType::DateTime { fsp: low },
        19 => ColumnType::Time { fsp: low },
        252 => ColumnType::Blob { length_bytes: low, collation },
        // ENUM and SET stand under the same code.
        254 if low != 247 && low != 248 => {
            ColumnType::Char { max_bytes: u16::from((low ^ 254) & 0x30) << 4 | u16::from(high), collation }
        }
        _ => return None,
    })
}

/// None when one is never converted to the other.
fn loses_nothing(from: &ColumnType, to: &ColumnType) -> Option<bool> {
    use ColumnType as T;
    Some(match (from, to) {
        (T::Int { size: from, .. }, T::Int { size: to, .. }) => from.bytes() <= to.bytes(),
        (T::Float { .. }, T::Double { .. }) => true,
        (T::Double { .. }, T::Float { .. })
        | (T::Float { .. } | T::Double { .. }, T::Decimal { .. })
        | (T::Decimal { .. }, T::Float { .. } | T::Double { .. }) => false,
        (T::Decimal { precision, scale, .. }, T::Decimal { precision: digits, scale: fraction, .. }) => {
            scale <= fraction && precision - scale <= digits - fraction
        }
        (T::Bit { bits: from }, T::Bit { bits: to }) => from <= to,
        (T::Time { fsp: from }, T::Time { fsp: to })
        | (T::DateTime { fsp: from }, T::DateTime { fsp: to })
        | (T::Timestamp { fsp: from }, T::Timestamp { fsp: to }) => from <= to,
        (
            T::Char { .. } | T::VarChar { .. } | T::Blob { .. },
            T::Char { .. } | T::VarChar { .. } | T::Blob { .. },
        ) => from.max_bytes() <= to.max_bytes(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Conversions = Conversions { lossy: true, non_lossy: true };
    const NON_LOSSY: Conversions = Conversions { lossy: false, non_lossy: true };

    fn varchar(max_bytes: u16) -> ColumnType {
        ColumnType::VarChar { max_bytes, collation: Collation::BINARY }
    }

    #[test]
    fn what_fits_needs_one_permission_and_what_may_not_the_other() {
        let (small, big) = (ColumnType::int(IntSize::Small, true), ColumnType::int(IntSize::Big, true));
        let wire = wire_of(&small);
        assert_eq!(reading(wire, &small, Conversions::default()), Some(Reading::Same));
        assert_eq!(reading(wire, &big, Conversions::default()), None);
        assert_eq!(reading(wire, &big, NON_LOSSY), Some(Reading::As(small.clone())));
        assert_eq!(reading(wire_of(&big), &small, NON_LOSSY), None);
        assert_eq!(reading(wire_of(&big), &small, ALL), Some(Reading::As(big)));
    }

    #[test]
    fn texts_go_by_their_longest_value_and_kinds_do_not_mix() {
        let blob = ColumnType::Blob { length_bytes: 1, collation: Collation::BINARY };
        assert!(reading(wire_of(&varchar(20)), &varchar(30), NON_LOSSY).is_some());
        assert!(reading(wire_of(&varchar(255)), &blob, NON_LOSSY).is_some());
        assert!(reading(wire_of(&varchar(256)), &blob, NON_LOSSY).is_none());
        let long = ColumnType::Char { max_bytes: 700, collation: Collation::BINARY };
        assert_eq!(reading(wire_of(&long), &varchar(700), NON_LOSSY), Some(Reading::As(long)));
        assert!(reading(wire_of(&varchar(20)), &ColumnType::Date, ALL).is_none());
        assert!(reading(wire_of(&ColumnType::Year), &ColumnType::int(IntSize::Int, false), ALL).is_none());
    }
}
