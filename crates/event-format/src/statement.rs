//! Events that carry statements or what a statement needs, except QUERY.
//!
//! # Layouts
//! ```text
//! ANNOTATE (160)            statement, to the end
//! INTVAR (5)                kind u8 (1 = LAST_INSERT_ID(), 2 = next AUTO_INCREMENT value) | value u64
//! RAND (13)                 seed 1 u64 | seed 2 u64
//! USER_VAR (14)             name length u32 | name | is NULL u8
//!                           | not NULL: type u8 (0 string, 1 double, 2 integer, 4 decimal), collation u32, length u32, value, attributes
//!   attributes              chunks to the end: 0 = signed, 1 = unsigned, 2 = data type name: length u8, name
//! BEGIN_LOAD_QUERY (17), APPEND_BLOCK (9)   file id u32 | bytes of the file, to the end
//! DELETE_FILE (11)          file id u32
//! EXECUTE_LOAD_QUERY (18)   QUERY's post-header | file id u32, place of the file name in the statement: start u32, end u32
//!                           | duplicate handling u8 | the rest of QUERY
//! ```

use base::{Corruption, Put, Reader};

use crate::event::take_rest;
use crate::lenenc::{long_string, put_long_string};
use crate::query::QueryHead;

/// The text of the statement whose row events follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotate<'a> {
    pub text: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntVarKind {
    LastInsertId,
    InsertId,
}

/// A number that the next QUERY uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntVar {
    pub kind: IntVarKind,
    pub value: u64,
}

impl IntVar {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(match self.kind {
            IntVarKind::LastInsertId => 1,
            IntVarKind::InsertId => 2,
        });
        out.put_u64(self.value);
    }
    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, Corruption> {
        let kind = match r.u8("kind")? {
            1 => IntVarKind::LastInsertId,
            2 => IntVarKind::InsertId,
            other => return Err(Corruption::new("offset 0", "kind", "1 or 2", other)),
        };
        Ok(Self { kind, value: r.u64("value")? })
    }
}

/// The seeds of RAND() in the next QUERY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rand {
    pub seed1: u64,
    pub seed2: u64,
}

impl Rand {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u64(self.seed1);
        out.put_u64(self.seed2);
    }
    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, Corruption> {
        Ok(Self { seed1: r.u64("seed 1")?, seed2: r.u64("seed 2")? })
    }
}

/// A user variable that the next QUERY reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserVar<'a> {
    pub name: &'a [u8],
    /// `None` = NULL.
    pub value: Option<UserValue<'a>>,
}

/// The value of a user variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserValue<'a> {
    pub kind: u8,
    pub collation: u32,
    pub bytes: &'a [u8],
    pub attributes: &'a [u8],
}

impl UserValue<'_> {
    pub const STRING: u8 = 0;
    pub const REAL: u8 = 1;
    pub const INT: u8 = 2;
    pub const DECIMAL: u8 = 4;

    pub fn is_unsigned(&self) -> bool {
        self.attributes.first() == Some(&1)
    }
}

impl<'a> UserVar<'a> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_long_string(out, self.name);
        let Some(value) = &self.value else { return out.put_u8(1) };
        out.put_u8(0);
        out.put_u8(value.kind);
        out.put_u32(value.collation);
        put_long_string(out, value.bytes);
        out.put(value.attributes);
    }
    pub(crate) fn decode(r: &mut Reader<'a>) -> Result<Self, Corruption> {
        let name = long_string(r, "name")?;
        if r.u8("null flag")? != 0 {
            take_rest(r);
            return Ok(Self { name, value: None });
        }
        let (kind, collation) = (r.u8("type")?, r.u32("collation")?);
        let bytes = long_string(r, "value")?;
        let value = UserValue { kind, collation, bytes, attributes: take_rest(r) };
        Ok(Self { name, value: Some(value) })
    }
}

/// A piece of a file of LOAD DATA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadBlock<'a> {
    pub file_id: u32,
    pub bytes: &'a [u8],
}

impl<'a> LoadBlock<'a> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u32(self.file_id);
        out.put(self.bytes);
    }
    pub(crate) fn decode(r: &mut Reader<'a>) -> Result<Self, Corruption> {
        Ok(Self { file_id: r.u32("file id")?, bytes: take_rest(r) })
    }
}

/// The first piece of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeginLoad<'a>(pub LoadBlock<'a>);

/// The file is not needed: its statement failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeleteFile {
    pub file_id: u32,
}

/// LOAD DATA of a file that came before in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecuteLoad<'a> {
    pub head: QueryHead,
    pub file_id: u32,
    /// Where the file's name stands in the statement.
    pub name_start: u32,
    pub name_end: u32,
    /// 0 = error, 1 = IGNORE, 2 = REPLACE.
    pub duplicates: u8,
    pub status: &'a [u8],
    pub database: &'a [u8],
    pub sql: &'a [u8],
}

impl<'a> ExecuteLoad<'a> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.head.encode(out, self.database.len(), self.status.len());
        out.put_u32(self.file_id);
        out.put_u32(self.name_start);
        out.put_u32(self.name_end);
        out.put_u8(self.duplicates);
        out.put(self.status);
        out.put(self.database);
        out.put_u8(0);
        out.put(self.sql);
    }
    pub(crate) fn decode(r: &mut Reader<'a>) -> Result<Self, Corruption> {
        let (head, database_len, status_len) = QueryHead::decode(r)?;
        let (file_id, name_start, name_end) =
            (r.u32("file id")?, r.u32("start of the name")?, r.u32("end of the name")?);
        let duplicates = r.u8("duplicate handling")?;
        let status = r.bytes(status_len, "status variables")?;
        let database = r.bytes(database_len, "database")?;
        r.u8("end of database")?;
        let sql = take_rest(r);
        if name_start > name_end || name_end as usize > sql.len() {
            return Err(Corruption::new(
                "",
                "place of the file name",
                format_args!("within {}", sql.len()),
                name_end,
            ));
        }
        Ok(Self { head, file_id, name_start, name_end, duplicates, status, database, sql })
    }
}
