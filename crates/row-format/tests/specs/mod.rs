//! The fixtures' spelling of column types and bytes.

use std::sync::Arc;

use charset::Collation;
use row_format::{ColumnType, IntSize};

pub(crate) fn column_type(spec: &str) -> ColumnType {
    let words: Vec<&str> = spec.split(' ').collect();
    let number = |i: usize| words[i].parse::<u16>().unwrap();
    let collation = |i: usize| Collation::by_name(words[i]).unwrap();
    let members = || words[1].split(',').map(|m| m.as_bytes().into()).collect::<Vec<Box<[u8]>>>();
    let int = |name: &str| match name {
        "int1" => IntSize::Tiny,
        "int2" => IntSize::Small,
        "int3" => IntSize::Medium,
        "int4" => IntSize::Int,
        "int8" => IntSize::Big,
        other => panic!("{other}"),
    };
    match words[0] {
        "float" => ColumnType::Float { unsigned: false },
        "double" => ColumnType::Double { unsigned: false },
        "decimal" => {
            ColumnType::Decimal { precision: number(1) as u8, scale: number(2) as u8, unsigned: false }
        }
        "year" => ColumnType::Year,
        "bit" => ColumnType::Bit { bits: number(1) as u8 },
        "date" => ColumnType::Date,
        "time" => ColumnType::Time { fsp: number(1) as u8 },
        "datetime" => ColumnType::DateTime { fsp: number(1) as u8 },
        "timestamp" => ColumnType::Timestamp { fsp: number(1) as u8 },
        "char" => ColumnType::char(number(1), collation(2)),
        "varchar" => ColumnType::varchar(number(1), collation(2)),
        "blob" => ColumnType::Blob { length_bytes: number(1) as u8, collation: collation(2) },
        "enum" => ColumnType::Enum { members: Arc::from(members()), collation: collation(2) },
        "set" => ColumnType::Set { members: Arc::from(members()), collation: collation(2) },
        name => match name.strip_prefix('u') {
            Some(name) => ColumnType::int(int(name), true),
            None => ColumnType::int(int(name), false),
        },
    }
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let text = text.trim_matches('-');
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}
