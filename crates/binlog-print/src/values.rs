//! A column's value of a row image as text, and its type as `-vv` shows it.

use std::io::Write as _;

use event_format::{WireColumn, type_code as code};
use types::Decimal;

use crate::float::general;

/// Appends the value; `None` = NULL.
pub(crate) fn write(column: WireColumn, value: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(bytes) = value else { return out.extend_from_slice(b"NULL") };
    match column.real_code() {
        code::TINY | code::SHORT | code::INT24 | code::LONG | code::LONGLONG => integer(bytes, out),
        code::NEWDECIMAL => {
            let (precision, scale) = column.precision_and_scale();
            match Decimal::unpack(bytes, precision, scale) {
                Some(decimal) => drop(write!(out, "{decimal}")),
                None => hex(bytes, out),
            }
        }
        code::FLOAT => {
            let v = f32::from_bits(le(bytes) as u32);
            drop(write!(out, "{:<20}", general(f64::from(v), 6)));
        }
        code::DOUBLE => drop(write!(out, "{}", general(f64::from_bits(le(bytes)), 20))),
        code::BIT => bits(be(bytes), u32::from(column.bits()), out),
        code::TIMESTAMP => drop(write!(out, "{}", le(bytes))),
        code::TIMESTAMP2 => {
            drop(write!(out, "{}", be(&bytes[..4])));
            fraction(micros(&bytes[4..]), column.meta, out);
        }
        code::DATETIME => old_datetime(le(bytes), out),
        code::DATETIME2 => datetime(bytes, column.meta, out),
        code::TIME => old_time(bytes, out),
        code::TIME2 => time(bytes, column.meta, out),
        code::DATE | code::NEWDATE => {
            let v = le(bytes);
            drop(write!(out, "'{:04}:{:02}:{:02}'", v >> 9, v >> 5 & 15, v & 31));
        }
        code::YEAR => drop(write!(out, "{:04}", 1900 + u32::from(bytes[0]))),
        code::ENUM => drop(write!(out, "{}", le(bytes))),
        code::SET => bits(le(bytes), 8 * bytes.len() as u32, out),
        code::NULL => out.extend_from_slice(b"NULL"),
        _ => text(bytes, out),
    }
}

/// The type's name, and its metadata as a number, as `-vv` shows them.
pub(crate) fn type_name(column: WireColumn) -> (String, u16) {
    let WireColumn { meta, .. } = column;
    let swapped = meta.swap_bytes();
    let name = match column.real_code() {
        code::TINY => "TINYINT".into(),
        code::SHORT => "SHORTINT".into(),
        code::INT24 => "MEDIUMINT".into(),
        code::LONG => "INT".into(),
        code::LONGLONG => "LONGINT".into(),
        code::NEWDECIMAL => {
            let (precision, scale) = column.precision_and_scale();
            return (format!("DECIMAL({precision},{scale})"), swapped);
        }
        code::FLOAT => "FLOAT".into(),
        code::DOUBLE => "DOUBLE".into(),
        code::BIT => format!("BIT({})", column.bits()),
        code::TIMESTAMP => "TIMESTAMP".into(),
        code::TIMESTAMP2 => format!("TIMESTAMP({meta})"),
        code::DATETIME => "DATETIME".into(),
        code::DATETIME2 => format!("DATETIME({meta})"),
        code::TIME => "TIME".into(),
        code::TIME2 => format!("TIME({meta})"),
        code::DATE | code::NEWDATE => "DATE".into(),
        code::YEAR => "YEAR".into(),
        code::ENUM => {
            let len = meta.to_le_bytes()[1];
            return (format!("ENUM({len} byte{})", if len == 1 { "" } else { "s" }), swapped);
        }
        code::SET => return (format!("SET({} bytes)", meta.to_le_bytes()[1]), swapped),
        code::STRING => return (format!("STRING({})", column.max_bytes()), swapped),
        code::VARCHAR | code::VAR_STRING => format!("VARSTRING({meta})"),
        code::VARCHAR_COMPRESSED => format!("VARSTRING({meta}) COMPRESSED"),
        code::BLOB_COMPRESSED => format!("{} COMPRESSED", blob(meta)),
        code::TINY_BLOB..=code::BLOB => blob(meta).into(),
        code::GEOMETRY => "GEOMETRY".into(),
        code::NULL => "NULL_TYPE".into(),
        other => format!("UNKNOWN({other})"),
    };
    (name, meta)
}

fn blob(length_bytes: u16) -> &'static str {
    match length_bytes {
        1 => "TINYBLOB/TINYTEXT",
        2 => "BLOB/TEXT",
        3 => "MEDIUMBLOB/MEDIUMTEXT",
        _ => "LONGBLOB/LONGTEXT",
    }
}

fn le(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

fn be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// The log does not say whether the column is unsigned: a negative number is shown both ways.
fn integer(bytes: &[u8], out: &mut Vec<u8>) {
    let (v, unused) = (le(bytes), 64 - 8 * bytes.len() as u32);
    let signed = (v << unused) as i64 >> unused;
    drop(write!(out, "{signed}"));
    if signed < 0 {
        drop(write!(out, " ({v})"));
    }
}

fn bits(v: u64, count: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(b"b'");
    out.extend((0..count.min(64)).rev().map(|i| b'0' + (v >> i & 1) as u8));
    out.push(b'\'');
}

/// Characters as they are, control characters as `\xHH`. Quotes are not escaped: these lines are comments.
fn text(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for b in bytes {
        if *b > 0x1f {
            out.push(*b);
        } else {
            drop(write!(out, "\\x{b:02x}"));
        }
    }
    out.push(b'\'');
}

fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"X'");
    bytes.iter().for_each(|b| drop(write!(out, "{b:02X}")));
    out.push(b'\'');
}

/// Microseconds of a packed fraction.
fn micros(bytes: &[u8]) -> u64 {
    be(bytes) * [1_000_000, 10_000, 100, 1][bytes.len().min(3)]
}

/// `.` and as many digits as the column has.
fn fraction(micros: u64, digits: u16, out: &mut Vec<u8>) {
    if digits > 0 {
        let text = format!("{micros:06}");
        out.push(b'.');
        out.extend_from_slice(&text.as_bytes()[..usize::from(digits.min(6))]);
    }
}

fn datetime(bytes: &[u8], digits: u16, out: &mut Vec<u8>) {
    let v = be(&bytes[..5]) & 0x7f_ffff_ffff;
    let (year, month) = ((v >> 22) / 13, (v >> 22) % 13);
    let (day, hour, minute, second) = (v >> 17 & 31, v >> 12 & 31, v >> 6 & 63, v & 63);
    drop(write!(out, "'{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"));
    fraction(micros(&bytes[5..]), digits, out);
    out.push(b'\'');
}

fn time(bytes: &[u8], digits: u16, out: &mut Vec<u8>) {
    let fraction_bits = 8 * (bytes.len() as u32 - 3);
    let packed = be(bytes) as i64 - (0x80_0000 << fraction_bits);
    let magnitude = packed.unsigned_abs();
    let clock = magnitude >> fraction_bits;
    let part = magnitude & ((1 << fraction_bits) - 1);
    let sign = if packed < 0 { "-" } else { "" };
    drop(write!(out, "'{sign}{:02}:{:02}:{:02}", clock >> 12 & 0x3ff, clock >> 6 & 63, clock & 63));
    fraction(part * [1_000_000, 10_000, 100, 1][(bytes.len() - 3).min(3)], digits, out);
    out.push(b'\'');
}

/// TIME before 5.3: a signed number of the digits hhmmss.
fn old_time(bytes: &[u8], out: &mut Vec<u8>) {
    let signed = (le(bytes) << 40) as i64 >> 40;
    let v = signed.unsigned_abs();
    let sign = if signed < 0 { "-" } else { "" };
    drop(write!(out, "'{sign}{:02}:{:02}:{:02}'", v / 10000, v / 100 % 100, v % 100));
}

/// DATETIME before 5.3: a number of the digits YYYYMMDDhhmmss.
fn old_datetime(v: u64, out: &mut Vec<u8>) {
    let (date, time) = (v / 1_000_000, v % 1_000_000);
    drop(write!(
        out,
        "'{:04}-{:02}-{:02} {:02}:{:02}:{:02}'",
        date / 10000,
        date / 100 % 100,
        date % 100,
        time / 10000,
        time / 100 % 100,
        time % 100
    ));
}
