//! Column types as TABLE_MAP states them: a type code and its metadata; enough to find a value's bytes.
//!
//! # Metadata of each type
//! ```text
//! FLOAT, DOUBLE            bytes u8                      BLOB, GEOMETRY, BLOB COMPRESSED   number of length bytes u8
//! VARCHAR (also compressed) most bytes u16 little-endian  BIT                              spare bits u8, whole bytes u8
//! TIME2, DATETIME2, TIMESTAMP2   fraction digits u8       DECIMAL                          precision u8, scale u8
//! STRING                   real type u8, length u8: ENUM (247) and SET (248) with their packed length, else CHAR: bits 4 and 5 of the
//!                          real type are bits 8 and 9 of the most bytes, inverted
//! ```
//! Values: fixed bytes, or a length (1 or 2 bytes by the most bytes; BLOB as many as stated) and the bytes.

use base::{Corruption, Reader};
use charset::Collation;
use row_format::{ColumnType, IntSize};

/// Type codes of TABLE_MAP.
pub mod type_code {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    /// TIMESTAMP before 5.3; `mysql56_temporal_format=OFF`.
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TIMESTAMP2: u8 = 17;
    pub const DATETIME2: u8 = 18;
    pub const TIME2: u8 = 19;
    pub const BLOB_COMPRESSED: u8 = 140;
    pub const VARCHAR_COMPRESSED: u8 = 141;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}
use type_code as code;

/// A column of a TABLE_MAP. `meta` is its metadata as a little-endian number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireColumn {
    pub code: u8,
    pub meta: u16,
}

impl WireColumn {
    /// Bytes of a type's metadata; `None` for a type that no MariaDB writes.
    pub(crate) const fn meta_len(code: u8) -> Option<usize> {
        Some(match code {
            code::TINY
            | code::SHORT
            | code::LONG
            | code::NULL
            | code::TIMESTAMP
            | code::LONGLONG
            | code::INT24
            | code::DATE
            | code::TIME
            | code::DATETIME
            | code::YEAR
            | code::NEWDATE => 0,
            code::FLOAT | code::DOUBLE | code::TIMESTAMP2 | code::DATETIME2 | code::TIME2 => 1,
            code::BLOB_COMPRESSED | code::TINY_BLOB..=code::BLOB | code::GEOMETRY => 1,
            code::VARCHAR | code::VARCHAR_COMPRESSED | code::BIT | code::NEWDECIMAL => 2,
            code::ENUM | code::SET | code::VAR_STRING | code::STRING => 2,
            _ => return None,
        })
    }

    /// Whether the metadata is one that the type can have: at most six fraction digits, four length bytes, 64 bits.
    pub(crate) const fn is_sound(self) -> bool {
        let [low, high] = self.meta.to_le_bytes();
        match self.real_code() {
            code::TIMESTAMP2 | code::DATETIME2 | code::TIME2 => low <= 6,
            code::BLOB_COMPRESSED | code::TINY_BLOB..=code::BLOB | code::GEOMETRY => low <= 4,
            code::BIT => low < 8 && self.bits() <= 64,
            code::NEWDECIMAL => low <= 65 && high <= low,
            code::ENUM => high <= 2,
            code::SET => high <= 8,
            _ => true,
        }
    }

    /// The type behind STRING (ENUM, SET or STRING), else the code itself.
    pub const fn real_code(self) -> u8 {
        if self.code != code::STRING {
            return self.code;
        }
        match self.meta as u8 {
            real @ (code::ENUM | code::SET) => real,
            _ => code::STRING,
        }
    }

    /// Most bytes of a CHAR, VARCHAR or BINARY value.
    pub const fn max_bytes(self) -> usize {
        let [low, high] = self.meta.to_le_bytes();
        match self.code {
            // A real type without bits 4 and 5 set hides two bits of the length there.
            code::STRING if low & 0x30 != 0x30 => high as usize | ((low & 0x30) as usize ^ 0x30) << 4,
            code::STRING => high as usize,
            _ => self.meta as usize,
        }
    }

    /// Precision and scale of a DECIMAL.
    pub const fn precision_and_scale(self) -> (u8, u8) {
        let [precision, scale] = self.meta.to_le_bytes();
        (precision, scale)
    }

    /// Bits of a BIT column.
    pub const fn bits(self) -> u16 {
        let [spare, whole] = self.meta.to_le_bytes();
        whole as u16 * 8 + spare as u16
    }

    /// How a value's bytes are found.
    fn shape(self) -> Shape {
        let [low, high] = self.meta.to_le_bytes();
        Shape::Fixed(match self.real_code() {
            code::NULL => 0,
            code::TINY | code::YEAR => 1,
            code::SHORT => 2,
            code::INT24 | code::DATE | code::NEWDATE | code::TIME => 3,
            code::LONG | code::FLOAT | code::TIMESTAMP => 4,
            code::LONGLONG | code::DOUBLE | code::DATETIME => 8,
            code::TIME2 => 3 + usize::from(low.div_ceil(2)).min(3),
            code::TIMESTAMP2 => 4 + usize::from(low.div_ceil(2)).min(3),
            code::DATETIME2 => 5 + usize::from(low.div_ceil(2)).min(3),
            code::BIT => usize::from(self.bits().div_ceil(8)),
            code::NEWDECIMAL => {
                let ty = ColumnType::Decimal { precision: low, scale: high, unsigned: false };
                ty.fixed_len().unwrap_or(0)
            }
            code::ENUM | code::SET => usize::from(high),
            code::STRING | code::VAR_STRING | code::VARCHAR | code::VARCHAR_COMPRESSED => {
                return Shape::Prefixed(1 + usize::from(self.max_bytes() > 255));
            }
            // Blobs: `meta_len` let nothing else in.
            _ => return Shape::Prefixed(usize::from(low).min(8)),
        })
    }

    /// Takes a value that is not NULL: its bytes without length bytes.
    pub fn take<'a>(self, r: &mut Reader<'a>) -> Result<&'a [u8], Corruption> {
        match self.shape() {
            Shape::Fixed(len) => r.bytes(len, "column value"),
            Shape::Prefixed(prefix) => {
                let length = r.bytes(prefix, "column length")?;
                let length = length.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
                r.bytes(usize::try_from(length).unwrap_or(usize::MAX), "column value")
            }
        }
    }

    /// The type by which [`row_format::decode`] reads a value; `None` where it needs what TABLE_MAP does not say (ENUM, SET) or the type
    /// is stored no more.
    pub fn column_type(self, unsigned: bool, collation: Collation) -> Option<ColumnType> {
        let fsp = self.meta as u8;
        Some(match self.real_code() {
            code::TINY => ColumnType::Int { size: IntSize::Tiny, unsigned },
            code::SHORT => ColumnType::Int { size: IntSize::Small, unsigned },
            code::INT24 => ColumnType::Int { size: IntSize::Medium, unsigned },
            code::LONG => ColumnType::Int { size: IntSize::Int, unsigned },
            code::LONGLONG => ColumnType::Int { size: IntSize::Big, unsigned },
            code::FLOAT => ColumnType::Float { unsigned },
            code::DOUBLE => ColumnType::Double { unsigned },
            code::YEAR => ColumnType::Year,
            code::DATE | code::NEWDATE => ColumnType::Date,
            code::TIME2 => ColumnType::Time { fsp },
            code::DATETIME2 => ColumnType::DateTime { fsp },
            code::TIMESTAMP2 => ColumnType::Timestamp { fsp },
            code::BIT => ColumnType::Bit { bits: u8::try_from(self.bits()).ok()? },
            code::NEWDECIMAL => {
                let (precision, scale) = self.precision_and_scale();
                ColumnType::Decimal { precision, scale, unsigned }
            }
            code::STRING => ColumnType::Char { max_bytes: self.max_bytes() as u16, collation },
            code::VARCHAR | code::VAR_STRING => ColumnType::VarChar { max_bytes: self.meta, collation },
            code::TINY_BLOB..=code::BLOB | code::GEOMETRY => {
                ColumnType::Blob { length_bytes: self.meta as u8, collation }
            }
            _ => return None,
        })
    }
}

enum Shape {
    Fixed(usize),
    /// Bytes of the length.
    Prefixed(usize),
}
