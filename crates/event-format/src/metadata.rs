//! The optional metadata of TABLE_MAP (`binlog_row_metadata` MINIMAL and FULL).
//!
//! # Layout
//! Fields `kind u8 | length lenenc | value`, in the order in which a server writes them:
//! ```text
//! 1 signedness        bit for each numeric column, highest bit of a byte first, set = unsigned (YEAR is unsigned)
//! 2 default charset   collation lenenc, then {index among the character columns lenenc, collation lenenc}... of those that differ
//! 3 column charsets   collation lenenc of each character column; 2 or 3, whichever says it in fewer numbers
//! 7 geometry types    lenenc of each geometry column
//! FULL only:
//! 4 column names      {length u8 or lenenc, name}...
//! 10, 11              as 2, 3, for ENUM and SET columns
//! 5 SET members       of each SET column: count lenenc, {length lenenc, member}...
//! 6 ENUM members      of each ENUM column, likewise
//! 8 primary key       {column lenenc}...
//! 9 primary key       {column lenenc, prefix length in characters lenenc, 0 = whole}..., when a part is a prefix
//! ```
//! Numeric = integers, FLOAT, DOUBLE, DECIMAL, YEAR. Character = CHAR, VARCHAR, TEXT, BLOB and binary strings.

use base::{Corruption, Put, Reader};
use row_format::ColumnType;

use crate::lenenc;
use crate::wire_type::{WireColumn, type_code as code};
use crate::{Bitmap, MapColumn};

const SIGNEDNESS: u8 = 1;
const DEFAULT_CHARSET: u8 = 2;
const COLUMN_CHARSET: u8 = 3;
const COLUMN_NAME: u8 = 4;
const SET_STR_VALUE: u8 = 5;
const ENUM_STR_VALUE: u8 = 6;
const GEOMETRY_TYPE: u8 = 7;
const SIMPLE_PRIMARY_KEY: u8 = 8;
const PRIMARY_KEY_WITH_PREFIX: u8 = 9;
const ENUM_AND_SET_DEFAULT_CHARSET: u8 = 10;
const ENUM_AND_SET_COLUMN_CHARSET: u8 = 11;

/// `binlog_row_metadata`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MetadataLevel {
    #[default]
    NoLog,
    Minimal,
    Full,
}

/// A part of the primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub column: usize,
    /// Characters of a prefix; 0 = the whole column.
    pub prefix: u64,
}

/// What a server said of the columns beyond their types; empty where it did not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OptionalMetadata<'a> {
    /// A bit for each numeric column in order, highest first.
    signedness: &'a [u8],
    /// Collation of each character column, in order.
    pub charsets: Vec<u64>,
    /// Collation of each ENUM and SET column, in order.
    pub enum_and_set_charsets: Vec<u64>,
    /// Of every column.
    pub names: Vec<&'a [u8]>,
    /// Members of each SET column.
    pub set_members: Vec<Vec<&'a [u8]>>,
    /// Members of each ENUM column.
    pub enum_members: Vec<Vec<&'a [u8]>>,
    pub geometry_types: Vec<u64>,
    pub primary_key: Vec<Key>,
}

/// Has a sign.
fn is_numeric(code: u8) -> bool {
    use code::{DOUBLE, FLOAT, INT24, LONG, LONGLONG, NEWDECIMAL, SHORT, TINY, YEAR};
    matches!(code, TINY | SHORT | INT24 | LONG | LONGLONG | FLOAT | DOUBLE | NEWDECIMAL | YEAR)
}

fn is_character(code: u8) -> bool {
    use code::{BLOB, BLOB_COMPRESSED, STRING, TINY_BLOB, VAR_STRING, VARCHAR, VARCHAR_COMPRESSED};
    matches!(code, STRING | VAR_STRING | VARCHAR | TINY_BLOB..=BLOB | BLOB_COMPRESSED | VARCHAR_COMPRESSED)
}

fn is_enum_or_set(code: u8) -> bool {
    matches!(code, code::ENUM | code::SET)
}

impl<'a> OptionalMetadata<'a> {
    /// Whether the numeric column `i`, counted among the numeric ones, is unsigned.
    pub fn is_unsigned(&self, numeric: usize) -> bool {
        self.signedness.get(numeric / 8).is_some_and(|byte| byte << (numeric % 8) & 0x80 != 0)
    }

    /// Whether each column is unsigned; `None` when the server did not say.
    pub fn unsigned(&self, columns: &[WireColumn]) -> Option<Vec<bool>> {
        if self.signedness.is_empty() {
            return None;
        }
        let mut numeric = 0;
        let one = |column: &WireColumn| {
            let counts = is_numeric(column.real_code());
            numeric += usize::from(counts);
            counts && self.is_unsigned(numeric - 1)
        };
        Some(columns.iter().map(one).collect())
    }

    /// The collation of each column that has one; all `None` when the server did not say.
    pub fn collations(&self, columns: &[WireColumn]) -> Vec<Option<u64>> {
        let (mut text, mut listed) = (self.charsets.iter(), self.enum_and_set_charsets.iter());
        let one = |column: &WireColumn| match column.real_code() {
            c if is_character(c) => text.next().copied(),
            c if is_enum_or_set(c) => listed.next().copied(),
            _ => None,
        };
        columns.iter().map(one).collect()
    }

    pub(crate) fn decode(bytes: &'a [u8], columns: &[WireColumn]) -> Result<Self, Corruption> {
        let count = |wanted: fn(u8) -> bool| columns.iter().filter(|c| wanted(c.real_code())).count();
        let (characters, enums) = (count(is_character), count(is_enum_or_set));
        let mut found = Self::default();
        let mut r = Reader::new(bytes);
        while !r.is_empty() {
            let kind = r.u8("metadata kind")?;
            let value = lenenc::string(&mut r, "metadata value")?;
            let mut v = Reader::new(value);
            match kind {
                SIGNEDNESS => found.signedness = value,
                DEFAULT_CHARSET => found.charsets = default_and_others(&mut v, characters)?,
                COLUMN_CHARSET => found.charsets = integers(&mut v)?,
                ENUM_AND_SET_DEFAULT_CHARSET => {
                    found.enum_and_set_charsets = default_and_others(&mut v, enums)?;
                }
                ENUM_AND_SET_COLUMN_CHARSET => found.enum_and_set_charsets = integers(&mut v)?,
                COLUMN_NAME => found.names = strings(&mut v)?,
                SET_STR_VALUE => found.set_members = string_lists(&mut v)?,
                ENUM_STR_VALUE => found.enum_members = string_lists(&mut v)?,
                GEOMETRY_TYPE => found.geometry_types = integers(&mut v)?,
                SIMPLE_PRIMARY_KEY => {
                    let whole = |c: u64| Key { column: c as usize, prefix: 0 };
                    found.primary_key = integers(&mut v)?.into_iter().map(whole).collect();
                }
                PRIMARY_KEY_WITH_PREFIX => {
                    let numbers = integers(&mut v)?;
                    let part = |p: &[u64]| Key { column: p[0] as usize, prefix: p[1] };
                    found.primary_key = numbers.chunks_exact(2).map(part).collect();
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

fn integers(r: &mut Reader<'_>) -> Result<Vec<u64>, Corruption> {
    let mut out = Vec::new();
    while !r.is_empty() {
        out.push(lenenc::integer(r, "metadata number")?);
    }
    Ok(out)
}

fn strings<'a>(r: &mut Reader<'a>) -> Result<Vec<&'a [u8]>, Corruption> {
    let mut out = Vec::new();
    while !r.is_empty() {
        out.push(lenenc::string(r, "metadata text")?);
    }
    Ok(out)
}

fn string_lists<'a>(r: &mut Reader<'a>) -> Result<Vec<Vec<&'a [u8]>>, Corruption> {
    let mut out = Vec::new();
    while !r.is_empty() {
        let count = lenenc::count(r, "member count")?;
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            list.push(lenenc::string(r, "member")?);
        }
        out.push(list);
    }
    Ok(out)
}

/// A default for `count` columns, then the columns that differ from it.
fn default_and_others(r: &mut Reader<'_>, count: usize) -> Result<Vec<u64>, Corruption> {
    let mut out = vec![lenenc::integer(r, "default character set")?; count];
    while !r.is_empty() {
        let at = lenenc::integer(r, "column")?;
        let charset = lenenc::integer(r, "character set")?;
        match usize::try_from(at).ok().and_then(|i| out.get_mut(i)) {
            Some(place) => *place = charset,
            None => {
                return Err(Corruption::new(
                    "",
                    "column of a character set",
                    format_args!("below {count}"),
                    at,
                ));
            }
        }
    }
    Ok(out)
}

/// The block for a table map of these columns.
pub(crate) fn encode(columns: &[MapColumn<'_>], primary_key: &[Key], level: MetadataLevel) -> Vec<u8> {
    let mut out = Vec::new();
    if level == MetadataLevel::NoLog {
        return out;
    }
    signedness(columns, &mut out);
    let texts = columns.iter().filter(|c| !is_listed(c.ty)).filter_map(|c| c.ty.collation());
    charsets(texts.map(|c| c.id()), (DEFAULT_CHARSET, COLUMN_CHARSET), &mut out);
    if level == MetadataLevel::Minimal {
        return out;
    }
    field(&mut out, COLUMN_NAME, |out| columns.iter().for_each(|c| lenenc::put_string(out, c.name)));
    let listed = columns.iter().filter(|c| is_listed(c.ty)).filter_map(|c| c.ty.collation());
    charsets(listed.map(|c| c.id()), (ENUM_AND_SET_DEFAULT_CHARSET, ENUM_AND_SET_COLUMN_CHARSET), &mut out);
    field(&mut out, SET_STR_VALUE, |out| members(columns, out, |ty| matches!(ty, ColumnType::Set { .. })));
    field(&mut out, ENUM_STR_VALUE, |out| members(columns, out, |ty| matches!(ty, ColumnType::Enum { .. })));
    let kind =
        if primary_key.iter().any(|k| k.prefix != 0) { PRIMARY_KEY_WITH_PREFIX } else { SIMPLE_PRIMARY_KEY };
    field(&mut out, kind, |out| {
        for part in primary_key {
            lenenc::put(out, part.column as u64);
            if kind == PRIMARY_KEY_WITH_PREFIX {
                lenenc::put(out, part.prefix);
            }
        }
    });
    out
}

fn is_listed(ty: &ColumnType) -> bool {
    matches!(ty, ColumnType::Enum { .. } | ColumnType::Set { .. })
}

/// Appends a field, unless its value is empty.
fn field(out: &mut Vec<u8>, kind: u8, value: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = Vec::new();
    value(&mut bytes);
    if !bytes.is_empty() {
        out.put_u8(kind);
        lenenc::put_string(out, &bytes);
    }
}

fn signedness(columns: &[MapColumn<'_>], out: &mut Vec<u8>) {
    let unsigned: Vec<bool> = columns
        .iter()
        .filter_map(|c| match c.ty {
            ColumnType::Int { unsigned, .. }
            | ColumnType::Float { unsigned }
            | ColumnType::Double { unsigned }
            | ColumnType::Decimal { unsigned, .. } => Some(*unsigned),
            ColumnType::Year => Some(true),
            _ => None,
        })
        .collect();
    let mut bits = vec![0u8; Bitmap::bytes(unsigned.len())];
    for i in (0..unsigned.len()).filter(|i| unsigned[*i]) {
        bits[i / 8] |= 0x80 >> (i % 8);
    }
    field(out, SIGNEDNESS, |out| out.put(&bits));
}

/// Either a default and the columns that differ, or every column's own.
fn charsets(ids: impl Iterator<Item = u16>, (by_default, by_column): (u8, u8), out: &mut Vec<u8>) {
    let ids: Vec<u16> = ids.collect();
    let uses = |id: u16| ids.iter().filter(|other| **other == id).count();
    let Some(default) = ids.iter().copied().max_by_key(|id| uses(*id)) else { return };
    // Pairs of place and number for those that differ, against a number for each.
    if 2 * (ids.len() - uses(default)) < ids.len() {
        field(out, by_default, |out| {
            lenenc::put(out, default.into());
            for (i, id) in ids.iter().enumerate().filter(|(_, id)| **id != default) {
                lenenc::put(out, i as u64);
                lenenc::put(out, u64::from(*id));
            }
        });
    } else {
        field(out, by_column, |out| ids.iter().for_each(|id| lenenc::put(out, u64::from(*id))));
    }
}

/// Members of each column of the wanted type.
fn members(columns: &[MapColumn<'_>], out: &mut Vec<u8>, wanted: fn(&ColumnType) -> bool) {
    for column in columns.iter().filter(|c| wanted(c.ty)) {
        if let ColumnType::Enum { members, .. } | ColumnType::Set { members, .. } = column.ty {
            lenenc::put(out, members.len() as u64);
            members.iter().for_each(|m| lenenc::put_string(out, m));
        }
    }
}
