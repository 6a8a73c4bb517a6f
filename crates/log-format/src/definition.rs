//! What a `TableDef` record says of a table: all that its table map events need.
//!
//! # Layout
//! ```text
//! database string | table string | column count varint | columns | key count varint, {column varint, prefix varint}...
//! column      name string | type u8 | metadata string | shape varint | flags u8 | with TEXT: collation varint
//!             | with MEMBERS: count varint, strings
//! shape       packed length * 2, or number of length bytes * 2 + 1
//! ```
//! Names are utf8; members are in the column's character set. The key is the primary key; none when the table has none.

use base::{Corruption, Put, Reader};

/// A table as the binary log describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definition {
    pub database: String,
    pub table: String,
    /// Stored columns, in the order of row bodies.
    pub columns: Vec<DefinedColumn>,
    /// The primary key's columns, with a prefix length in characters or 0.
    pub primary_key: Vec<(u32, u32)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedColumn {
    pub name: String,
    /// Type code and metadata of a table map event.
    pub type_code: u8,
    pub metadata: Vec<u8>,
    pub shape: Shape,
    pub nullable: bool,
    pub unsigned: bool,
    /// Of text types, ENUM and SET.
    pub collation: Option<u16>,
    /// Of ENUM and SET.
    pub members: Option<Vec<Vec<u8>>>,
    /// Its value comes from other columns: events of updates and deletes leave it out.
    pub generated: bool,
}

/// How a column's packed bytes are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Fixed(u32),
    /// So many length bytes come first.
    Prefixed(u8),
}

const NULLABLE: u8 = 1;
const UNSIGNED: u8 = 2;
const TEXT: u8 = 4;
const MEMBERS: u8 = 8;
const GENERATED: u8 = 16;

impl Definition {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_string(self.database.as_bytes());
        out.put_string(self.table.as_bytes());
        out.put_varint(self.columns.len() as u64);
        self.columns.iter().for_each(|c| c.encode(out));
        out.put_varint(self.primary_key.len() as u64);
        for (column, prefix) in &self.primary_key {
            out.put_varint(u64::from(*column));
            out.put_varint(u64::from(*prefix));
        }
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Corruption> {
        let mut reader = Reader::new(bytes);
        Self::take(&mut reader).map_err(|e| e.within("table definition"))
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, Corruption> {
        let (database, table) = (text(reader, "database")?, text(reader, "table")?);
        let count = reader.length("column count")?;
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            columns.push(DefinedColumn::take(reader)?);
        }
        let count = reader.length("key column count")?;
        let mut primary_key = Vec::with_capacity(count);
        for _ in 0..count {
            let column = reader.varint("key column")?;
            if column >= columns.len() as u64 {
                return Err(Corruption::new(
                    "",
                    "key column",
                    format_args!("below {}", columns.len()),
                    column,
                ));
            }
            primary_key.push((column as u32, small(reader, "key prefix")?));
        }
        reader.finish("end of definition")?;
        Ok(Self { database, table, columns, primary_key })
    }
}

impl DefinedColumn {
    fn encode(&self, out: &mut Vec<u8>) {
        out.put_string(self.name.as_bytes());
        out.put_u8(self.type_code);
        out.put_string(&self.metadata);
        out.put_varint(match self.shape {
            Shape::Fixed(len) => u64::from(len) * 2,
            Shape::Prefixed(bytes) => u64::from(bytes) * 2 + 1,
        });
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        out.put_u8(
            flag(self.nullable, NULLABLE)
                | flag(self.unsigned, UNSIGNED)
                | flag(self.collation.is_some(), TEXT)
                | flag(self.members.is_some(), MEMBERS)
                | flag(self.generated, GENERATED),
        );
        if let Some(collation) = self.collation {
            out.put_varint(u64::from(collation));
        }
        if let Some(members) = &self.members {
            out.put_varint(members.len() as u64);
            members.iter().for_each(|m| out.put_string(m));
        }
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, Corruption> {
        let name = text(reader, "column name")?;
        let type_code = reader.u8("column type")?;
        let metadata = reader.string("column metadata")?.to_vec();
        let shape = small(reader, "column shape")?;
        let shape = match (shape & 1, shape >> 1) {
            (0, len) => Shape::Fixed(len),
            (_, bytes @ 1..=4) => Shape::Prefixed(bytes as u8),
            (_, bytes) => return Err(Corruption::new("", "length bytes", "1 to 4", bytes)),
        };
        let flags = reader.u8("column flags")?;
        if flags & !(NULLABLE | UNSIGNED | TEXT | MEMBERS | GENERATED) != 0 {
            return Err(Corruption::new("", "column flags", "0 to 31", flags));
        }
        let mut collation = None;
        if flags & TEXT != 0 {
            let id = reader.varint("collation")?;
            let id = u16::try_from(id).map_err(|_| Corruption::new("", "collation", "16 bits", id))?;
            collation = Some(id);
        }
        let mut members = None;
        if flags & MEMBERS != 0 {
            let count = reader.length("member count")?;
            let mut list = Vec::with_capacity(count);
            for _ in 0..count {
                list.push(reader.string("member")?.to_vec());
            }
            members = Some(list);
        }
        let (nullable, unsigned) = (flags & NULLABLE != 0, flags & UNSIGNED != 0);
        let generated = flags & GENERATED != 0;
        Ok(Self { name, type_code, metadata, shape, nullable, unsigned, collation, members, generated })
    }

    /// Packed bytes at the start of `rest`, length bytes included: how many of them are length bytes, and how many there are.
    pub fn extent(&self, rest: &[u8]) -> Result<(usize, usize), Corruption> {
        let (prefix, len) = match self.shape {
            Shape::Fixed(len) => (0, len as usize),
            Shape::Prefixed(bytes) => {
                let prefix = Reader::new(rest).bytes(usize::from(bytes), "column length")?;
                let len = prefix.iter().rev().fold(0usize, |n, b| n << 8 | usize::from(*b));
                (usize::from(bytes), len + usize::from(bytes))
            }
        };
        if rest.len() < len {
            return Err(Corruption::new("row image", "column", format_args!("{len} bytes"), rest.len()));
        }
        Ok((prefix, len))
    }
}

fn text(reader: &mut Reader<'_>, field: &'static str) -> Result<String, Corruption> {
    let bytes = reader.string(field)?;
    String::from_utf8(bytes.to_vec())
        .map_err(|_| Corruption::new("", field, "utf8", format_args!("{bytes:02x?}")))
}

fn small(reader: &mut Reader<'_>, field: &'static str) -> Result<u32, Corruption> {
    let v = reader.varint(field)?;
    u32::try_from(v).map_err(|_| Corruption::new("", field, "32 bits", v))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> Definition {
        let column = |name: &str, type_code, metadata: &[u8], shape| DefinedColumn {
            name: name.to_owned(),
            type_code,
            metadata: metadata.to_vec(),
            shape,
            nullable: false,
            unsigned: false,
            collation: None,
            members: None,
            generated: false,
        };
        Definition {
            database: "test".into(),
            table: "t".into(),
            columns: vec![
                DefinedColumn { unsigned: true, ..column("id", 3, &[], Shape::Fixed(4)) },
                DefinedColumn {
                    nullable: true,
                    collation: Some(2304),
                    ..column("c", 15, &[0x90, 1], Shape::Prefixed(2))
                },
                DefinedColumn {
                    generated: true,
                    members: Some(vec![b"x".to_vec(), b"".to_vec()]),
                    collation: Some(45),
                    ..column("e", 254, &[247, 1], Shape::Fixed(1))
                },
            ],
            primary_key: vec![(0, 0)],
        }
    }

    #[test]
    fn bytes_are_as_documented() {
        let mut out = Vec::new();
        definition().encode(&mut out);
        let golden: &[u8] = b"\x04test\x01t\x03\
            \x02id\x03\x00\x08\x02\
            \x01c\x0f\x02\x90\x01\x05\x05\x80\x12\
            \x01e\xfe\x02\xf7\x01\x02\x1c\x2d\x02\x01x\x00\
            \x01\x00\x00";
        assert_eq!(out, golden);
        assert_eq!(Definition::decode(&out), Ok(definition()));
    }

    #[test]
    fn damage_is_an_error_everywhere() {
        let mut out = Vec::new();
        definition().encode(&mut out);
        for cut in 0..out.len() {
            assert!(Definition::decode(&out[..cut]).is_err(), "{cut}");
        }
        for at in 0..out.len() {
            let mut damaged = out.clone();
            damaged[at] ^= 0x80;
            let _ = Definition::decode(&damaged);
        }
    }

    #[test]
    fn a_column_knows_its_packed_bytes() {
        let d = definition();
        assert_eq!(d.columns[0].extent(&[1, 2, 3, 4, 5]), Ok((0, 4)));
        assert_eq!(d.columns[1].extent(&[3, 0, 7, 7, 7, 9]), Ok((2, 5)));
        assert!(d.columns[1].extent(&[3, 0, 7]).is_err());
        assert!(d.columns[1].extent(&[3]).is_err());
    }
}
