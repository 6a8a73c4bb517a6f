//! Column definitions.
//!
//! # Layout
//! `catalog "def" | schema | table alias | table | name alias | name` as lenenc strings, `extended metadata lenenc string` if
//! both sides have EXTENDED_METADATA, then `12 | collation u16 | length u32 | type u8 | flags u16 | decimals u8 | 0 0`.
//! COM_FIELD_LIST appends the column's default as a lenenc string.

use crate::Capabilities;
use crate::lenenc::{self, PutWire};
use base::{Corruption, Put, Reader};

/// Type codes of columns and parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ColumnType {
    Decimal = 0,
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    NewDate = 14,
    VarChar = 15,
    Bit = 16,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    TinyBlob = 249,
    MediumBlob = 250,
    LongBlob = 251,
    Blob = 252,
    VarString = 253,
    String = 254,
    Geometry = 255,
}

impl ColumnType {
    pub fn from_u8(code: u8) -> Option<Self> {
        use ColumnType::*;
        Some(match code {
            0 => Decimal,
            1 => Tiny,
            2 => Short,
            3 => Long,
            4 => Float,
            5 => Double,
            6 => Null,
            7 => Timestamp,
            8 => LongLong,
            9 => Int24,
            10 => Date,
            11 => Time,
            12 => DateTime,
            13 => Year,
            14 => NewDate,
            15 => VarChar,
            16 => Bit,
            245 => Json,
            246 => NewDecimal,
            247 => Enum,
            248 => Set,
            249 => TinyBlob,
            250 => MediumBlob,
            251 => LongBlob,
            252 => Blob,
            253 => VarString,
            254 => String,
            255 => Geometry,
            _ => return None,
        })
    }
}

/// Column flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ColumnFlags(pub u16);

impl ColumnFlags {
    pub const NOT_NULL: Self = Self(1);
    pub const PRI_KEY: Self = Self(2);
    pub const UNIQUE_KEY: Self = Self(4);
    pub const MULTIPLE_KEY: Self = Self(8);
    pub const BLOB: Self = Self(16);
    pub const UNSIGNED: Self = Self(32);
    pub const ZEROFILL: Self = Self(64);
    pub const BINARY: Self = Self(128);
    pub const ENUM: Self = Self(256);
    pub const AUTO_INCREMENT: Self = Self(512);
    pub const TIMESTAMP: Self = Self(1024);
    pub const SET: Self = Self(2048);
    pub const NO_DEFAULT_VALUE: Self = Self(4096);
    pub const ON_UPDATE_NOW: Self = Self(8192);
    pub const PART_KEY: Self = Self(16384);
    pub const NUM: Self = Self(32768);

    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Describes one column of a result set, or one parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDefinition<'a> {
    pub schema: &'a [u8],
    /// The alias of the table in the statement.
    pub table: &'a [u8],
    pub org_table: &'a [u8],
    /// The alias of the column in the statement.
    pub name: &'a [u8],
    pub org_name: &'a [u8],
    /// Extended type information, already encoded (`0 type-name lenenc` or `1 format lenenc`); mostly empty.
    pub extended: &'a [u8],
    pub collation: u16,
    /// Display width in bytes.
    pub length: u32,
    pub column_type: ColumnType,
    pub flags: ColumnFlags,
    pub decimals: u8,
}

impl<'a> ColumnDefinition<'a> {
    /// What a prepare says about each parameter: nothing is known before the execute.
    pub const PARAMETER: ColumnDefinition<'static> = ColumnDefinition {
        schema: b"",
        table: b"",
        org_table: b"",
        name: b"?",
        org_name: b"",
        extended: b"",
        collation: 63,
        length: 0,
        column_type: ColumnType::Null,
        flags: ColumnFlags::BINARY,
        decimals: 0,
    };

    pub fn encode(&self, out: &mut Vec<u8>, caps: Capabilities) {
        out.put_lenenc_string(b"def");
        for s in [self.schema, self.table, self.org_table, self.name, self.org_name] {
            out.put_lenenc_string(s);
        }
        if caps.contains(Capabilities::EXTENDED_METADATA) {
            out.put_lenenc_string(self.extended);
        }
        out.put_u8(12);
        out.put_u16(self.collation);
        out.put_u32(self.length);
        out.put_u8(self.column_type as u8);
        out.put_u16(self.flags.0);
        out.put_u8(self.decimals);
        out.put_u16(0);
    }

    pub fn decode(payload: &'a [u8], caps: Capabilities) -> Result<Self, Corruption> {
        let mut r = Reader::new(payload);
        lenenc::string(&mut r, "catalog")?;
        let schema = lenenc::string(&mut r, "schema")?;
        let table = lenenc::string(&mut r, "table alias")?;
        let org_table = lenenc::string(&mut r, "table")?;
        let name = lenenc::string(&mut r, "name alias")?;
        let org_name = lenenc::string(&mut r, "name")?;
        let extended = if caps.contains(Capabilities::EXTENDED_METADATA) {
            lenenc::string(&mut r, "extended metadata")?
        } else {
            b""
        };
        let fixed = lenenc::integer(&mut r, "fixed length")?;
        if fixed != 12 {
            return Err(Corruption::new("column definition", "fixed length", 12, fixed));
        }
        let collation = r.u16("collation")?;
        let length = r.u32("length")?;
        let code = r.u8("type")?;
        let column_type = ColumnType::from_u8(code)
            .ok_or_else(|| Corruption::new("column definition", "type", "a known type", code))?;
        let flags = ColumnFlags(r.u16("flags")?);
        let decimals = r.u8("decimals")?;
        Ok(Self {
            schema,
            table,
            org_table,
            name,
            org_name,
            extended,
            collation,
            length,
            column_type,
            flags,
            decimals,
        })
    }
}

/// The first packet of a result set: `columns lenenc`, and under CACHE_METADATA whether definitions follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultHeader {
    pub columns: u64,
    pub definitions_follow: bool,
}

impl ResultHeader {
    pub fn encode(&self, out: &mut Vec<u8>, caps: Capabilities) {
        out.put_lenenc(self.columns);
        if caps.contains(Capabilities::CACHE_METADATA) {
            out.put_u8(u8::from(self.definitions_follow));
        }
    }
    pub fn decode(payload: &[u8], caps: Capabilities) -> Result<Self, Corruption> {
        let mut r = Reader::new(payload);
        let columns = lenenc::integer(&mut r, "columns")?;
        let definitions_follow =
            !caps.contains(Capabilities::CACHE_METADATA) || r.u8("definitions follow")? != 0;
        Ok(Self { columns, definitions_follow })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_round_trip_with_and_without_extended_metadata() {
        let c = ColumnDefinition {
            schema: b"test",
            table: b"a",
            org_table: b"t",
            name: b"x",
            org_name: b"col",
            extended: b"\x01\x04json",
            collation: 45,
            length: 400,
            column_type: ColumnType::VarString,
            flags: ColumnFlags::NOT_NULL.with(ColumnFlags::PRI_KEY),
            decimals: 31,
        };
        for caps in [Capabilities::SERVER, Capabilities::SERVER | Capabilities::EXTENDED_METADATA] {
            let mut out = Vec::new();
            c.encode(&mut out, caps);
            let expected = if caps.contains(Capabilities::EXTENDED_METADATA) {
                c
            } else {
                ColumnDefinition { extended: b"", ..c }
            };
            assert_eq!(ColumnDefinition::decode(&out, caps), Ok(expected));
        }
    }

    #[test]
    fn every_type_code_maps_to_itself() {
        for code in 0..=255u8 {
            if let Some(t) = ColumnType::from_u8(code) {
                assert_eq!(t as u8, code);
            }
        }
    }
}
