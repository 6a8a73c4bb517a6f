//! TABLE_MAP (19): which table the rows events behind it mean by a number, and what its columns are.
//!
//! # Layout
//! ```text
//! table id u48 | flags u16 = 1 | database length u8, name, NUL | table length u8, name, NUL | columns lenenc | type codes, one byte each
//! | metadata length lenenc, metadata (see [`crate::WireColumn`]) | nullable bitmap | optional metadata, to the end (see [`crate::metadata`])
//! ```

use base::{Corruption, Put, Reader};
use row_format::ColumnType;

use crate::event::take_rest;
use crate::lenenc;
use crate::metadata::{self, Key, MetadataLevel, OptionalMetadata};
use crate::{Bitmap, WireColumn};

/// A table's number, name and columns for the rows events of one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableMap<'a> {
    /// 48 bits.
    pub table_id: u64,
    pub flags: u16,
    pub database: &'a [u8],
    pub table: &'a [u8],
    /// Type codes, one a column.
    pub types: &'a [u8],
    pub metadata: &'a [u8],
    /// Set = the column can be NULL.
    pub nullable: Bitmap<'a>,
    /// What [`OptionalMetadata`] reads.
    pub optional: &'a [u8],
}

impl<'a> TableMap<'a> {
    /// CHAR lengths above 255 are stated exactly.
    pub const EXACT_LENGTHS: u16 = 1;
    /// No table: the end of statements without rows.
    pub const DUMMY_TABLE_ID: u64 = 0x00ff_ffff;

    pub fn width(&self) -> usize {
        self.types.len()
    }

    /// The columns with their metadata.
    pub fn columns(&self) -> Result<Vec<WireColumn>, Corruption> {
        let mut r = Reader::new(self.metadata);
        let mut columns = Vec::with_capacity(self.types.len());
        for (i, code) in self.types.iter().enumerate() {
            let unknown = || Corruption::new(format_args!("column {i}"), "type code", "a known type", code);
            let meta = match WireColumn::meta_len(*code).ok_or_else(unknown)? {
                0 => 0,
                1 => u16::from(r.u8("column metadata")?),
                _ => r.u16("column metadata")?,
            };
            let column = WireColumn { code: *code, meta };
            if !column.is_sound() {
                return Err(Corruption::new(
                    format_args!("column {i}"),
                    "column metadata",
                    "of its type",
                    meta,
                ));
            }
            columns.push(column);
        }
        r.finish("end of column metadata")?;
        Ok(columns)
    }

    /// Names, signs, character sets and the like, as far as the server wrote them.
    pub fn optional_metadata(&self) -> Result<OptionalMetadata<'a>, Corruption> {
        OptionalMetadata::decode(self.optional, &self.columns()?)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u48(self.table_id);
        out.put_u16(self.flags);
        for name in [self.database, self.table] {
            lenenc::put_short_string(out, name);
            out.put_u8(0);
        }
        lenenc::put(out, self.types.len() as u64);
        out.put(self.types);
        lenenc::put_string(out, self.metadata);
        assert_eq!(self.nullable.0.len(), Bitmap::bytes(self.types.len()), "bytes of the nullable bitmap");
        out.put(self.nullable.0);
        out.put(self.optional);
    }

    pub(crate) fn decode(r: &mut Reader<'a>) -> Result<Self, Corruption> {
        let (table_id, flags) = (r.u48("table id")?, r.u16("flags")?);
        let mut name = |field| {
            let name = lenenc::short_string(r, field)?;
            r.u8(field)?;
            Ok(name)
        };
        let (database, table) = (name("database")?, name("table")?);
        let types = lenenc::string(r, "column types")?;
        let metadata = lenenc::string(r, "column metadata")?;
        let nullable = Bitmap(r.bytes(Bitmap::bytes(types.len()), "nullable bitmap")?);
        Ok(Self { table_id, flags, database, table, types, metadata, nullable, optional: take_rest(r) })
    }
}

/// A column as its table defines it.
#[derive(Debug, Clone, Copy)]
pub struct MapColumn<'a> {
    pub ty: &'a ColumnType,
    pub nullable: bool,
    pub name: &'a [u8],
}

/// What a TABLE_MAP says of a table's columns: made once for a version of its definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDescription {
    types: Vec<u8>,
    metadata: Vec<u8>,
    nullable: Vec<u8>,
    optional: Vec<u8>,
}

impl TableDescription {
    /// `primary_key` is empty when there is none; `level` is `binlog_row_metadata`.
    pub fn new(columns: &[MapColumn<'_>], primary_key: &[Key], level: MetadataLevel) -> Self {
        let mut metadata = Vec::new();
        for column in columns {
            column.ty.binlog_metadata(&mut metadata);
        }
        let nullable = columns.iter().enumerate().filter(|(_, c)| c.nullable).map(|(i, _)| i);
        Self {
            types: columns.iter().map(|c| c.ty.binlog_type()).collect(),
            metadata,
            nullable: Bitmap::of(columns.len(), nullable),
            optional: metadata::encode(columns, primary_key, level),
        }
    }

    /// The event that gives the table a number.
    pub fn event<'a>(&'a self, table_id: u64, database: &'a [u8], table: &'a [u8]) -> TableMap<'a> {
        TableMap {
            table_id,
            flags: TableMap::EXACT_LENGTHS,
            database,
            table,
            types: &self.types,
            metadata: &self.metadata,
            nullable: Bitmap(&self.nullable),
            optional: &self.optional,
        }
    }
}
