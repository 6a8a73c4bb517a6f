//! Definitions as bytes: the `definition` column of the dictionary, and the body of a `TableDef` log record.
//!
//! # Layout of a table definition, format 2
//! ```text
//! format u8 = 2 | table id varint | version varint | space varint | schema, name: string | collation u16
//! comment, options: string | created varint | columns varint, {column} | indexes varint, {index} | rules (`codec_rules`)
//! [formats varint, {old format}]: only when rows have older layouts (`row_format::OldFormat`), or partitions follow
//! [partitions (`partition`)]: only of a partitioned table
//! column: name string | type | flags u8 | width varint (0 = none, else + 1) | decimals u8 (255 = none) | default | comment string |
//!         generated u8 (0 no, 1 virtual, 2 stored) [expression string] | check u8 (0 no, 1) [expression string]
//!         [row time u8 (1 start, 2 end, + 4 hidden)]
//!   flags: 1 nullable, 2 zerofill, 4 on update now, 8 auto_increment, 16 invisible, 32 json, 64 without system versioning, 128 with row time
//! type: code u8, then by code
//!   0 int: size u8, unsigned u8 | 1 float, 2 double: unsigned u8 | 3 decimal: precision u8, scale u8, unsigned u8 | 4 year
//!   5 bit: bits u8 | 6 date | 7 time, 8 datetime, 9 timestamp: fsp u8 | 10 char, 11 varchar: max bytes u16, collation u16
//!   12 blob: length bytes u8, collation u16 | 13 enum, 14 set: collation u16, members varint, {string}
//!   15 fixed: kind u8 (0 uuid, 1 inet4, 2 inet6)
//! default: 0 none | 1 NULL | 2 literal: string (packed column bytes with length bytes) | 3 current timestamp | 4 expression: string
//! index: id varint | root u32 | name string | flags u8 (1 unique, 2 using btree, 4 ignored, 8 with space, 16 with since, 32 without overlaps) | comment string | parts varint, {part}
//!        [space varint] [since varint]
//! part: column varint | prefix varint (0 = none) | descending u8
//! ```
//! Strings are a varint length and bytes. A golden test pins the bytes.

use std::sync::Arc;

use base::{Corruption, IndexId, Lsn, PageNo, Put, Reader, SpaceId, TableId};
use charset::Collation;
use row_format::{Column, ColumnType, IntSize, KeyPart, OldFormat, RowLayout, RowView, encode_column};
use types::FixedKind;

use crate::definition::{
    ColumnDef, DatabaseDef, DefaultLiteral, DefaultValue, Generated, IndexDef, RowTime, TableDef,
};
use crate::partition::Partitioning;

pub(crate) const FORMAT: u8 = 2;

impl TableDef {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(FORMAT);
        out.put_varint(self.id.0);
        out.put_varint(u64::from(self.version));
        out.put_varint(u64::from(self.space.0));
        out.put_string(self.schema.as_bytes());
        out.put_string(self.name.as_bytes());
        out.put_u16(self.collation.id());
        out.put_string(self.comment.as_bytes());
        out.put_string(self.options.as_bytes());
        out.put_varint(self.created);
        out.put_varint(self.columns.len() as u64);
        for column in &self.columns {
            encode_column_def(column, out);
        }
        out.put_varint(self.indexes.len() as u64);
        for index in &self.indexes {
            encode_index(index, out);
        }
        crate::codec_rules::encode(self, out);
        if !self.formats.is_empty() || self.partitioning.is_some() {
            out.put_varint(self.formats.len() as u64);
            self.formats.iter().for_each(|format| format.encode(out));
        }
        if let Some(partitioning) = &self.partitioning {
            partitioning.encode(out);
        }
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Corruption> {
        let r = &mut Reader::new(bytes);
        check_format(r)?;
        let mut def = Self {
            id: TableId(r.varint("table id")?),
            version: r.varint("version")? as u32,
            space: SpaceId(r.varint("space")? as u32),
            schema: text(r, "schema")?,
            name: text(r, "name")?,
            collation: collation(r)?,
            comment: text(r, "comment")?,
            options: text(r, "options")?,
            created: r.varint("created")?,
            columns: Vec::new(),
            formats: Vec::new(),
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            sequence: None,
            period: None,
            partitioning: None,
            temporary: false,
        };
        for _ in 0..r.varint("columns")? {
            def.columns.push(decode_column_def(r)?);
        }
        for _ in 0..r.varint("indexes")? {
            def.indexes.push(decode_index(r, def.columns.len())?);
        }
        crate::codec_rules::decode(&mut def, r)?;
        if !r.is_empty() {
            for _ in 0..r.length("formats")? {
                def.formats.push(OldFormat::decode(r, def.columns.len())?);
            }
        }
        if !r.is_empty() {
            def.partitioning = Some(Arc::new(Partitioning::decode(r, def.indexes.len())?));
        }
        r.finish("table definition")?;
        if def.indexes.is_empty() {
            return Err(Corruption::new("table definition", "indexes", "at least one", 0));
        }
        Ok(def)
    }
}

impl DatabaseDef {
    /// `format u8 = 2 | name string | collation u16 | comment string`
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(FORMAT);
        out.put_string(self.name.as_bytes());
        out.put_u16(self.collation.id());
        out.put_string(self.comment.as_bytes());
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Corruption> {
        let r = &mut Reader::new(bytes);
        check_format(r)?;
        let def = Self { name: text(r, "name")?, collation: collation(r)?, comment: text(r, "comment")? };
        r.finish("database definition")?;
        Ok(def)
    }
}

pub(crate) fn put_format(out: &mut Vec<u8>) {
    out.put_u8(FORMAT);
}

pub(crate) fn check_format(r: &mut Reader<'_>) -> Result<(), Corruption> {
    match r.u8("format")? {
        FORMAT => Ok(()),
        other => Err(Corruption::new("definition", "format", FORMAT, other)),
    }
}

pub(crate) fn text(r: &mut Reader<'_>, field: &'static str) -> Result<String, Corruption> {
    let bytes = r.string(field)?;
    String::from_utf8(bytes.to_vec())
        .map_err(|_| Corruption::new("definition", field, "UTF-8", bytes.escape_ascii()))
}

pub(crate) fn collation(r: &mut Reader<'_>) -> Result<Collation, Corruption> {
    let id = r.u16("collation")?;
    Collation::by_id(id).ok_or_else(|| Corruption::new("definition", "collation", "a known id", id))
}

pub(crate) fn encode_column_def(c: &ColumnDef, out: &mut Vec<u8>) {
    out.put_string(c.name.as_bytes());
    encode_type(&c.ty, out);
    let bits = [
        c.nullable,
        c.zerofill,
        c.on_update_now,
        c.auto_increment,
        c.invisible,
        c.json,
        c.unversioned,
        c.row_time.is_some(),
    ];
    out.put_u8(bits.iter().enumerate().fold(0, |flags, (i, on)| flags | u8::from(*on) << i));
    out.put_varint(c.width.map_or(0, |w| u64::from(w) + 1));
    out.put_u8(c.decimals.unwrap_or(u8::MAX));
    match &c.default {
        DefaultValue::None => out.put_u8(0),
        DefaultValue::Null => out.put_u8(1),
        DefaultValue::Literal(DefaultLiteral(value)) => {
            let mut packed = Vec::new();
            // A default was converted to the column's type when it was declared.
            encode_column(&c.ty, value, &mut packed).expect("a default has its column's type");
            out.put_u8(2);
            out.put_string(&packed);
        }
        DefaultValue::CurrentTimestamp => out.put_u8(3),
        DefaultValue::Expression(text) => {
            out.put_u8(4);
            out.put_string(text.as_bytes());
        }
    }
    out.put_string(c.comment.as_bytes());
    match &c.generated {
        None => out.put_u8(0),
        Some(generated) => {
            out.put_u8(1 + u8::from(generated.stored));
            out.put_string(generated.expr.as_bytes());
        }
    }
    out.put_u8(u8::from(c.check.is_some()));
    c.check.iter().for_each(|check| out.put_string(check.as_bytes()));
    if let Some(row_time) = c.row_time {
        let end = match row_time {
            RowTime::Start => 1,
            RowTime::End => 2,
        };
        out.put_u8(end | u8::from(c.hidden) << 2);
    }
}

pub(crate) fn decode_column_def(r: &mut Reader<'_>) -> Result<ColumnDef, Corruption> {
    let name = text(r, "column name")?;
    let ty = decode_type(r)?;
    let flags = r.u8("column flags")?;
    let width = r.varint("width")?;
    let decimals = r.u8("decimals")?;
    let default = match r.u8("default")? {
        0 => DefaultValue::None,
        1 => DefaultValue::Null,
        2 => DefaultValue::Literal(decode_default(&ty, r.string("default")?)?),
        3 => DefaultValue::CurrentTimestamp,
        4 => DefaultValue::Expression(text(r, "default")?),
        other => return Err(Corruption::new("definition", "default", "0 to 4", other)),
    };
    let comment = text(r, "column comment")?;
    let generated = match r.u8("generated")? {
        0 => None,
        kind @ (1 | 2) => Some(Generated { expr: text(r, "generated")?, stored: kind == 2 }),
        other => return Err(Corruption::new("definition", "generated", "0 to 2", other)),
    };
    let check = if r.u8("check")? != 0 { Some(text(r, "check")?) } else { None };
    let on = |bit: u8| flags >> bit & 1 != 0;
    let row_time = if on(7) { r.u8("row time")? } else { 0 };
    Ok(ColumnDef {
        name,
        ty,
        nullable: on(0),
        width: width.checked_sub(1).map(|w| w as u32),
        decimals: (decimals != u8::MAX).then_some(decimals),
        zerofill: on(1),
        default,
        on_update_now: on(2),
        auto_increment: on(3),
        invisible: on(4),
        comment,
        json: on(5),
        generated,
        check,
        row_time: match row_time & 3 {
            0 => None,
            1 => Some(RowTime::Start),
            2 => Some(RowTime::End),
            _ => return Err(Corruption::new("definition", "row time", "0 to 2", row_time)),
        },
        hidden: row_time & 4 != 0,
        unversioned: on(6),
    })
}

fn decode_default(ty: &ColumnType, packed: &[u8]) -> Result<DefaultLiteral, Corruption> {
    let layout = RowLayout::new(vec![Column { ty: ty.clone(), nullable: true }]);
    let mut body = vec![0xfe];
    body.extend_from_slice(packed);
    Ok(DefaultLiteral(RowView::new(&layout, &body)?.value(0)?))
}

fn encode_type(ty: &ColumnType, out: &mut Vec<u8>) {
    match ty {
        ColumnType::Int { size, unsigned } => {
            out.put(&[0, size.bytes() as u8, u8::from(*unsigned)]);
        }
        ColumnType::Float { unsigned } => out.put(&[1, u8::from(*unsigned)]),
        ColumnType::Double { unsigned } => out.put(&[2, u8::from(*unsigned)]),
        ColumnType::Decimal { precision, scale, unsigned } => {
            out.put(&[3, *precision, *scale, u8::from(*unsigned)]);
        }
        ColumnType::Year => out.put_u8(4),
        ColumnType::Bit { bits } => out.put(&[5, *bits]),
        ColumnType::Date => out.put_u8(6),
        ColumnType::Time { fsp } => out.put(&[7, *fsp]),
        ColumnType::DateTime { fsp } => out.put(&[8, *fsp]),
        ColumnType::Timestamp { fsp } => out.put(&[9, *fsp]),
        ColumnType::Char { max_bytes, collation } => put_text_type(10, *max_bytes, *collation, out),
        ColumnType::VarChar { max_bytes, collation } => put_text_type(11, *max_bytes, *collation, out),
        ColumnType::Blob { length_bytes, collation } => {
            out.put(&[12, *length_bytes]);
            out.put_u16(collation.id());
        }
        ColumnType::Enum { members, collation } => put_members(13, members, *collation, out),
        ColumnType::Set { members, collation } => put_members(14, members, *collation, out),
        ColumnType::Fixed(kind) => out.put(&[15, *kind as u8]),
    }
}

fn put_text_type(code: u8, max_bytes: u16, collation: Collation, out: &mut Vec<u8>) {
    out.put_u8(code);
    out.put_u16(max_bytes);
    out.put_u16(collation.id());
}

fn put_members(code: u8, members: &[Box<[u8]>], collation: Collation, out: &mut Vec<u8>) {
    out.put_u8(code);
    out.put_u16(collation.id());
    out.put_varint(members.len() as u64);
    members.iter().for_each(|m| out.put_string(m));
}

fn decode_type(r: &mut Reader<'_>) -> Result<ColumnType, Corruption> {
    let flag = |r: &mut Reader<'_>| Ok::<bool, Corruption>(r.u8("unsigned")? != 0);
    Ok(match r.u8("type")? {
        0 => {
            let size = match r.u8("integer size")? {
                1 => IntSize::Tiny,
                2 => IntSize::Small,
                3 => IntSize::Medium,
                4 => IntSize::Int,
                8 => IntSize::Big,
                other => return Err(Corruption::new("definition", "integer size", "1, 2, 3, 4 or 8", other)),
            };
            ColumnType::Int { size, unsigned: flag(r)? }
        }
        1 => ColumnType::Float { unsigned: flag(r)? },
        2 => ColumnType::Double { unsigned: flag(r)? },
        3 => ColumnType::Decimal { precision: r.u8("precision")?, scale: r.u8("scale")?, unsigned: flag(r)? },
        4 => ColumnType::Year,
        5 => ColumnType::Bit { bits: r.u8("bits")? },
        6 => ColumnType::Date,
        7 => ColumnType::Time { fsp: r.u8("fsp")? },
        8 => ColumnType::DateTime { fsp: r.u8("fsp")? },
        9 => ColumnType::Timestamp { fsp: r.u8("fsp")? },
        10 => ColumnType::Char { max_bytes: r.u16("max bytes")?, collation: collation(r)? },
        11 => ColumnType::VarChar { max_bytes: r.u16("max bytes")?, collation: collation(r)? },
        12 => ColumnType::Blob { length_bytes: r.u8("length bytes")?, collation: collation(r)? },
        code @ (13 | 14) => {
            let collation = collation(r)?;
            let mut members = Vec::new();
            for _ in 0..r.varint("members")? {
                members.push(r.string("member")?.into());
            }
            let members = members.into();
            if code == 13 {
                ColumnType::Enum { members, collation }
            } else {
                ColumnType::Set { members, collation }
            }
        }
        15 => ColumnType::Fixed(match r.u8("fixed type")? {
            0 => FixedKind::Uuid,
            1 => FixedKind::Inet4,
            2 => FixedKind::Inet6,
            other => return Err(Corruption::new("definition", "fixed type", "0 to 2", other)),
        }),
        other => return Err(Corruption::new("definition", "type", "0 to 15", other)),
    })
}

fn encode_index(index: &IndexDef, out: &mut Vec<u8>) {
    out.put_varint(index.id.0);
    out.put_u32(index.root.0);
    out.put_string(index.name.as_bytes());
    let flags = [
        index.unique,
        index.using_btree,
        index.ignored,
        index.space.is_some(),
        !index.since.is_none(),
        index.without_overlaps,
    ];
    out.put_u8(flags.iter().enumerate().fold(0, |flags, (i, on)| flags | u8::from(*on) << i));
    out.put_string(index.comment.as_bytes());
    out.put_varint(index.parts.len() as u64);
    for part in &index.parts {
        out.put_varint(part.column as u64);
        out.put_varint(part.prefix.map_or(0, u64::from));
        out.put_u8(u8::from(part.descending));
    }
    index.space.iter().for_each(|space| out.put_varint(u64::from(space.0)));
    if !index.since.is_none() {
        out.put_varint(index.since.0);
    }
}

fn decode_index(r: &mut Reader<'_>, columns: usize) -> Result<IndexDef, Corruption> {
    let (id, root, name) = (r.varint("index id")?, r.u32("root")?, text(r, "index name")?);
    let flags = r.u8("index flags")?;
    let comment = text(r, "index comment")?;
    let mut parts = Vec::new();
    for _ in 0..r.varint("parts")? {
        let column = r.varint("part column")? as usize;
        if column >= columns {
            return Err(Corruption::new(
                "definition",
                "part column",
                format_args!("below {columns}"),
                column,
            ));
        }
        let prefix = r.varint("prefix")?;
        parts.push(KeyPart {
            column,
            prefix: (prefix != 0).then_some(prefix as u16),
            descending: r.u8("descending")? != 0,
        });
    }
    let space = if flags & 8 != 0 { Some(SpaceId(r.varint("index space")? as u32)) } else { None };
    let since = if flags & 16 != 0 { Lsn(r.varint("index since")?) } else { Lsn::NONE };
    Ok(IndexDef {
        space,
        since,
        id: IndexId(id),
        root: PageNo(root),
        name,
        unique: flags & 1 != 0,
        parts,
        comment,
        using_btree: flags & 2 != 0,
        ignored: flags & 4 != 0,
        without_overlaps: flags & 32 != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::CheckDef;
    use types::Value;

    fn sample() -> TableDef {
        let latin = Collation::LATIN1_SWEDISH_CI;
        let column = |name: &str, ty, default| ColumnDef {
            name: name.into(),
            ty,
            nullable: false,
            width: None,
            decimals: None,
            zerofill: false,
            default,
            on_update_now: false,
            auto_increment: false,
            invisible: false,
            comment: String::new(),
            json: false,
            generated: None,
            check: None,
            row_time: None,
            hidden: false,
            unversioned: false,
        };
        TableDef {
            id: TableId(300),
            version: 2,
            space: SpaceId(7),
            schema: "d".into(),
            name: "t".into(),
            columns: vec![
                ColumnDef {
                    auto_increment: true,
                    width: Some(11),
                    ..column("id", ColumnType::int(IntSize::Int, false), DefaultValue::None)
                },
                column(
                    "c",
                    ColumnType::Char { max_bytes: 10, collation: latin },
                    DefaultValue::Literal(DefaultLiteral(Value::str(b"x", latin))),
                ),
            ],
            formats: Vec::new(),
            indexes: vec![IndexDef {
                space: None,
                since: Lsn::NONE,
                id: IndexId(9),
                root: PageNo(3),
                name: PRIMARY_NAME.into(),
                unique: true,
                parts: vec![KeyPart::ascending(0)],
                comment: String::new(),
                using_btree: false,
                ignored: false,
                without_overlaps: false,
            }],
            collation: latin,
            comment: "k".into(),
            options: String::new(),
            created: 5,
            checks: vec![CheckDef { name: "k".into(), expr: "`id` > 0".into() }],
            foreign_keys: Vec::new(),
            sequence: None,
            period: None,
            partitioning: None,
            temporary: false,
        }
    }
    const PRIMARY_NAME: &str = crate::definition::PRIMARY;

    #[test]
    fn the_bytes_of_a_table_definition_are_pinned() {
        let mut bytes = Vec::new();
        sample().encode(&mut bytes);
        let golden: &[u8] = &[
            2, 0xac, 2, 2, 7, 1, b'd', 1, b't', 8, 0, 1, b'k', 0, 5, 2, // head
            2, b'i', b'd', 0, 4, 0, 8, 12, 255, 0, 0, 0, 0, // id
            1, b'c', 10, 10, 0, 8, 0, 0, 0, 255, 2, 2, 1, b'x', 0, 0, 0, // c
            1, 9, 3, 0, 0, 0, 7, b'P', b'R', b'I', b'M', b'A', b'R', b'Y', 1, 0, 1, 0, 0, 0, // PRIMARY
            1, 1, b'k', 8, b'`', b'i', b'd', b'`', b' ', b'>', b' ', b'0', 0,
            0, // checks, foreign keys, sequence
        ];
        assert_eq!(bytes, golden);
        assert_eq!(TableDef::decode(&bytes).unwrap(), sample());
    }

    #[test]
    fn versioned_tables_and_periods_round_trip() {
        let mut def = sample();
        let system = |name: &str, row_time| ColumnDef {
            row_time: Some(row_time),
            hidden: true,
            ..ColumnDef::new(name, ColumnType::Timestamp { fsp: 6 })
        };
        def.columns[1].unversioned = true;
        def.columns.push(system("row_start", RowTime::Start));
        def.columns.push(system("row_end", RowTime::End));
        def.indexes[0].without_overlaps = true;
        def.period =
            Some(crate::definition::PeriodDef { name: "p".into(), start: "s".into(), end: "e".into() });
        let mut bytes = Vec::new();
        def.encode(&mut bytes);
        assert_eq!(TableDef::decode(&bytes).unwrap(), def);
        assert_eq!(def.versioning(), Some((2, 3)));
    }

    #[test]
    fn every_cut_of_a_definition_is_refused() {
        let mut bytes = Vec::new();
        sample().encode(&mut bytes);
        for cut in 0..bytes.len() {
            assert!(TableDef::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn every_type_round_trips() {
        let c = Collation::UTF8MB4_BIN;
        let members: Arc<[Box<[u8]>]> = vec![b"a".as_slice().into(), b"b".as_slice().into()].into();
        for ty in [
            ColumnType::int(IntSize::Big, true),
            ColumnType::Float { unsigned: true },
            ColumnType::Double { unsigned: false },
            ColumnType::Decimal { precision: 10, scale: 2, unsigned: false },
            ColumnType::Year,
            ColumnType::Bit { bits: 9 },
            ColumnType::Date,
            ColumnType::Time { fsp: 3 },
            ColumnType::DateTime { fsp: 6 },
            ColumnType::Timestamp { fsp: 0 },
            ColumnType::VarChar { max_bytes: 400, collation: c },
            ColumnType::Blob { length_bytes: 4, collation: c },
            ColumnType::Enum { members: members.clone(), collation: c },
            ColumnType::Set { members, collation: c },
            ColumnType::Fixed(FixedKind::Inet6),
        ] {
            let mut bytes = Vec::new();
            encode_type(&ty, &mut bytes);
            assert_eq!(decode_type(&mut Reader::new(&bytes)).unwrap(), ty);
        }
    }
}
