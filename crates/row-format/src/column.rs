//! Column types: what a table definition says and what a table map event needs.

use std::sync::Arc;

use charset::Collation;
use types::FixedKind;

/// Width of an integer column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IntSize {
    Tiny,
    Small,
    Medium,
    Int,
    Big,
}

impl IntSize {
    pub const fn bytes(self) -> usize {
        match self {
            Self::Tiny => 1,
            Self::Small => 2,
            Self::Medium => 3,
            Self::Int => 4,
            Self::Big => 8,
        }
    }
    pub const fn bits(self) -> u32 {
        self.bytes() as u32 * 8
    }
    pub const fn max_unsigned(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
    pub const fn max_signed(self) -> i64 {
        i64::MAX >> (64 - self.bits())
    }
    pub const fn min_signed(self) -> i64 {
        i64::MIN >> (64 - self.bits())
    }
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tinyint",
            Self::Small => "smallint",
            Self::Medium => "mediumint",
            Self::Int => "int",
            Self::Big => "bigint",
        }
    }
}

/// A stored column's type. `fsp` is the number of fraction digits of a temporal type. Lengths are bytes unless said otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnType {
    Int {
        size: IntSize,
        unsigned: bool,
    },
    Float {
        unsigned: bool,
    },
    Double {
        unsigned: bool,
    },
    Decimal {
        precision: u8,
        scale: u8,
        unsigned: bool,
    },
    Year,
    Bit {
        bits: u8,
    },
    Date,
    Time {
        fsp: u8,
    },
    DateTime {
        fsp: u8,
    },
    Timestamp {
        fsp: u8,
    },
    /// CHAR(n), BINARY(n): `max_bytes` is n times the character set's longest character.
    Char {
        max_bytes: u16,
        collation: Collation,
    },
    /// VARCHAR(n), VARBINARY(n).
    VarChar {
        max_bytes: u16,
        collation: Collation,
    },
    /// TINYTEXT to LONGTEXT, TINYBLOB to LONGBLOB, JSON: 1 to 4 length bytes.
    Blob {
        length_bytes: u8,
        collation: Collation,
    },
    /// Members in definition order, in the column's character set.
    Enum {
        members: Arc<[Box<[u8]>]>,
        collation: Collation,
    },
    Set {
        members: Arc<[Box<[u8]>]>,
        collation: Collation,
    },
    /// UUID, INET4, INET6: packed as a BINARY of full length.
    Fixed(FixedKind),
}

/// A stored column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub ty: ColumnType,
    pub nullable: bool,
}

impl ColumnType {
    pub const fn int(size: IntSize, unsigned: bool) -> Self {
        Self::Int { size, unsigned }
    }

    /// CHAR(n) of a collation.
    pub fn char(chars: u16, collation: Collation) -> Self {
        Self::Char { max_bytes: chars * collation.charset().max_len() as u16, collation }
    }

    /// VARCHAR(n) of a collation.
    pub fn varchar(chars: u16, collation: Collation) -> Self {
        Self::VarChar { max_bytes: chars * collation.charset().max_len() as u16, collation }
    }

    /// The collation of a text type (`binary` for byte strings), none for numbers and temporal types.
    pub fn collation(&self) -> Option<Collation> {
        match self {
            Self::Char { collation, .. }
            | Self::VarChar { collation, .. }
            | Self::Blob { collation, .. }
            | Self::Enum { collation, .. }
            | Self::Set { collation, .. } => Some(*collation),
            _ => None,
        }
    }

    /// The type byte of a table map event.
    pub const fn binlog_type(&self) -> u8 {
        match self {
            Self::Int { size, .. } => match size {
                IntSize::Tiny => 1,
                IntSize::Small => 2,
                IntSize::Int => 3,
                IntSize::Big => 8,
                IntSize::Medium => 9,
            },
            Self::Float { .. } => 4,
            Self::Double { .. } => 5,
            Self::Date => 10,
            Self::Year => 13,
            Self::VarChar { .. } => 15,
            Self::Bit { .. } => 16,
            Self::Timestamp { .. } => 17,
            Self::DateTime { .. } => 18,
            Self::Time { .. } => 19,
            Self::Decimal { .. } => 246,
            Self::Blob { .. } => 252,
            Self::Char { .. } | Self::Enum { .. } | Self::Set { .. } | Self::Fixed(_) => 254,
        }
    }

    /// Appends the column's bytes of the metadata block of a table map event.
    pub fn binlog_metadata(&self, out: &mut Vec<u8>) {
        match self {
            Self::Float { .. } => out.push(4),
            Self::Double { .. } => out.push(8),
            Self::VarChar { max_bytes, .. } => out.extend_from_slice(&max_bytes.to_le_bytes()),
            Self::Bit { bits } => out.extend_from_slice(&[bits % 8, bits / 8]),
            Self::Timestamp { fsp } | Self::DateTime { fsp } | Self::Time { fsp } => out.push(*fsp),
            Self::Decimal { precision, scale, .. } => out.extend_from_slice(&[*precision, *scale]),
            Self::Blob { length_bytes, .. } => out.push(*length_bytes),
            Self::Char { max_bytes, .. } => {
                // Lengths above 255 hide their two high bits, inverted, in the type byte.
                let high = ((max_bytes & 0x300) >> 4) as u8;
                out.extend_from_slice(&[254 ^ high, *max_bytes as u8]);
            }
            Self::Fixed(kind) => out.extend_from_slice(&[254, kind.len() as u8]),
            Self::Enum { .. } => out.extend_from_slice(&[247, self.fixed_len().unwrap_or(1) as u8]),
            Self::Set { .. } => out.extend_from_slice(&[248, self.fixed_len().unwrap_or(1) as u8]),
            Self::Int { .. } | Self::Year | Self::Date => {}
        }
    }

    /// Packed length of a type whose values all take the same space.
    pub fn fixed_len(&self) -> Option<usize> {
        Some(match self {
            Self::Int { size, .. } => size.bytes(),
            Self::Float { .. } => 4,
            Self::Double { .. } => 8,
            Self::Decimal { precision, scale, .. } => decimal_packed_len(*precision, *scale),
            Self::Year => 1,
            Self::Bit { bits } => usize::from(bits.div_ceil(8)),
            Self::Date => 3,
            Self::Time { fsp } => 3 + fraction_len(*fsp),
            Self::DateTime { fsp } => 5 + fraction_len(*fsp),
            Self::Timestamp { fsp } => 4 + fraction_len(*fsp),
            Self::Enum { members, .. } => 1 + usize::from(members.len() > 255),
            Self::Set { members, .. } => match members.len().div_ceil(8) {
                0 | 1 => 1,
                n @ 2..=4 => n,
                _ => 8,
            },
            Self::Char { .. } | Self::VarChar { .. } | Self::Blob { .. } | Self::Fixed(_) => return None,
        })
    }

    /// Bytes of the length before a value of variable length; 0 for fixed types.
    pub fn length_bytes(&self) -> usize {
        match self {
            Self::Char { max_bytes, .. } | Self::VarChar { max_bytes, .. } => {
                1 + usize::from(*max_bytes > 255)
            }
            Self::Blob { length_bytes, .. } => usize::from(*length_bytes),
            Self::Fixed(_) => 1,
            _ => 0,
        }
    }

    /// Most bytes of a value, without its length bytes.
    pub fn max_bytes(&self) -> u64 {
        match self {
            Self::Char { max_bytes, .. } | Self::VarChar { max_bytes, .. } => u64::from(*max_bytes),
            Self::Fixed(kind) => kind.len() as u64,
            Self::Blob { length_bytes, .. } => u64::MAX >> (64 - 8 * u32::from(*length_bytes).max(1)),
            _ => self.fixed_len().unwrap_or(0) as u64,
        }
    }
}

/// Bytes that hold the fraction of a temporal value.
pub(crate) const fn fraction_len(fsp: u8) -> usize {
    fsp.div_ceil(2) as usize
}

/// Bytes of a decimal: nine digits in four, the rest in as few as they need.
pub(crate) const fn decimal_packed_len(precision: u8, scale: u8) -> usize {
    const DIGITS_TO_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
    let (int, frac) = (precision.saturating_sub(scale) as usize, scale as usize);
    int / 9 * 4 + DIGITS_TO_BYTES[int % 9] + frac / 9 * 4 + DIGITS_TO_BYTES[frac % 9]
}
