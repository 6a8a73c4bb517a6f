//! Packed column bytes to values.
//!
//! # Layouts
//! ```text
//! DATE       3 bytes LE: year << 9 | month << 5 | day
//! TIME(f)    3 bytes BE hours << 12 | minutes << 6 | seconds, then the fraction; the whole is offset by 0x800000 (of the first
//!            three bytes), so that negative times sort first
//! DATETIME(f) 5 bytes BE (year * 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 | second, offset by 1 << 39, then the
//!            fraction
//! TIMESTAMP(f) 4 bytes BE seconds, then the fraction
//! fraction   f = 1, 2: hundredths in 1 byte; 3, 4: 1/10000 in 2 bytes BE; 5, 6: microseconds in 3 bytes BE
//! ```

use std::sync::Arc;

use base::Corruption;
use charset::Collation;
use types::{Date, DateTime, Decimal, EnumValue, Fixed, Str, Time, Timestamp, Value};

use crate::column::fraction_len;
use crate::{ColumnType, IntSize};

/// Little-endian length of 1 to 4 bytes.
pub(crate) fn le_length(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b))
}

pub(crate) fn le_u64(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

pub(crate) fn be_u64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// A signed little-endian integer of the size of `bytes`.
pub(crate) fn le_i64(bytes: &[u8], size: IntSize) -> i64 {
    let unused = 64 - size.bits();
    (le_u64(bytes) << unused) as i64 >> unused
}

/// Microseconds of one unit of a fraction of `len` bytes.
const FRACTION_UNIT: [u32; 4] = [1_000_000, 10_000, 100, 1];

/// A column's value of its packed bytes (without length bytes), which have the type's length.
pub fn decode(ty: &ColumnType, bytes: &[u8]) -> Result<Value, Corruption> {
    Ok(match ty {
        ColumnType::Int { size, unsigned: false } => Value::Int(le_i64(bytes, *size)),
        ColumnType::Int { unsigned: true, .. } => Value::UInt(le_u64(bytes)),
        ColumnType::Float { .. } => Value::Float(f32::from_bits(le_u64(bytes) as u32)),
        ColumnType::Double { .. } => Value::Double(f64::from_bits(le_u64(bytes))),
        ColumnType::Decimal { precision, scale, .. } => Decimal::unpack(bytes, *precision, *scale)
            .ok_or_else(|| Corruption::new("row", "decimal", "digits", format_args!("{bytes:02x?}")))?
            .into(),
        ColumnType::Year => Value::Year(year(bytes)),
        ColumnType::Bit { bits } => Value::Bit { value: be_u64(bytes), bits: *bits },
        ColumnType::Date => Value::Date(date(bytes)),
        ColumnType::Time { fsp } => Value::Time(time(bytes, *fsp)),
        ColumnType::DateTime { fsp } => Value::DateTime(datetime(bytes, *fsp)),
        ColumnType::Timestamp { fsp } => Value::Timestamp(timestamp(bytes, *fsp)),
        ColumnType::Char { max_bytes, collation } if collation.is_binary() => {
            let mut padded = bytes.to_vec();
            padded.resize(usize::from(*max_bytes).max(bytes.len()), 0);
            Value::str(&padded, *collation)
        }
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Blob { collation, .. } => Value::str(bytes, *collation),
        ColumnType::Enum { members, collation } => {
            let number = le_u64(bytes);
            let text = enum_text(members, number).ok_or_else(|| {
                Corruption::new("row", "enum", format_args!("0 to {}", members.len()), number)
            })?;
            Value::Enum(Box::new(EnumValue { number, text: Str::new(text, *collation) }))
        }
        ColumnType::Fixed(kind) => Value::Fixed(
            Fixed::from_stored(*kind, bytes)
                .ok_or_else(|| Corruption::new("row", kind.name(), kind.len(), bytes.len()))?,
        ),
        ColumnType::Set { members, collation } => {
            Value::Enum(Box::new(set_value(members, *collation, le_u64(bytes))))
        }
    })
}

pub(crate) fn year(bytes: &[u8]) -> u16 {
    if bytes[0] == 0 { 0 } else { 1900 + u16::from(bytes[0]) }
}

pub(crate) fn date(bytes: &[u8]) -> Date {
    let v = le_u64(bytes);
    Date { year: (v >> 9) as u16, month: (v >> 5 & 15) as u8, day: (v & 31) as u8 }
}

pub(crate) fn time(bytes: &[u8], fsp: u8) -> Time {
    let len = fraction_len(fsp);
    let bits = 8 * len as u32;
    let packed = be_u64(bytes) as i64 - (0x80_0000 << bits);
    let magnitude = packed.unsigned_abs();
    let (clock, part) = (magnitude >> bits, magnitude & ((1 << bits) - 1));
    let seconds = (clock >> 12 & 0x3ff) * 3600 + (clock >> 6 & 63) * 60 + (clock & 63);
    let micros = (seconds * 1_000_000 + part * u64::from(FRACTION_UNIT[len])) as i64;
    Time { micros: if packed < 0 { -micros } else { micros }, fsp }
}

fn fraction(bytes: &[u8]) -> u32 {
    be_u64(bytes) as u32 * FRACTION_UNIT[bytes.len().min(3)]
}

pub(crate) fn datetime(bytes: &[u8], fsp: u8) -> DateTime {
    let v = be_u64(&bytes[..5]) & 0x7f_ffff_ffff;
    let year_month = v >> 22;
    DateTime {
        date: Date::new((year_month / 13) as u16, (year_month % 13) as u8, (v >> 17 & 31) as u8),
        hour: (v >> 12 & 31) as u8,
        minute: (v >> 6 & 63) as u8,
        second: (v & 63) as u8,
        fsp,
        micros: fraction_or_zero(&bytes[5..]),
    }
}

pub(crate) fn timestamp(bytes: &[u8], fsp: u8) -> Timestamp {
    Timestamp { seconds: be_u64(&bytes[..4]), micros: fraction_or_zero(&bytes[4..]), fsp }
}

fn fraction_or_zero(bytes: &[u8]) -> u32 {
    if bytes.is_empty() { 0 } else { fraction(bytes) }
}

/// The text of an ENUM's number; 0 is the empty text of a wrong value.
pub(crate) fn enum_text(members: &Arc<[Box<[u8]>]>, number: u64) -> Option<&[u8]> {
    match number {
        0 => Some(b""),
        n => members.get(usize::try_from(n - 1).ok()?).map(|m| &**m),
    }
}

/// Appends a SET's members, separated by commas.
pub(crate) fn write_set(members: &[Box<[u8]>], bits: u64, out: &mut Vec<u8>) {
    let mut first = true;
    for (i, member) in members.iter().enumerate().take(64) {
        if bits >> i & 1 != 0 {
            if !first {
                out.push(b',');
            }
            first = false;
            out.extend_from_slice(member);
        }
    }
}

/// A SET's value of its bits.
pub fn set_value(members: &[Box<[u8]>], collation: Collation, bits: u64) -> EnumValue {
    let mut text = Vec::new();
    write_set(members, bits, &mut text);
    EnumValue { number: bits, text: Str::new(&text, collation) }
}

/// Appends a fraction of `fsp` digits.
fn put_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    let len = fraction_len(fsp);
    out.extend_from_slice(&(micros / FRACTION_UNIT[len]).to_be_bytes()[4 - len..]);
}

pub(crate) fn put_date(d: Date, out: &mut Vec<u8>) {
    let v = u32::from(d.year) << 9 | u32::from(d.month) << 5 | u32::from(d.day);
    out.extend_from_slice(&v.to_le_bytes()[..3]);
}

pub(crate) fn put_time(t: Time, fsp: u8, out: &mut Vec<u8>) {
    let len = fraction_len(fsp);
    let bits = 8 * len as u32;
    let clock = i64::from(t.hours()) << 12 | i64::from(t.minutes()) << 6 | i64::from(t.seconds());
    let packed = clock << bits | i64::from(if len == 0 { 0 } else { t.fraction() / FRACTION_UNIT[len] });
    let offset = (0x80_0000 << bits) + if t.is_negative() { -packed } else { packed };
    out.extend_from_slice(&offset.to_be_bytes()[8 - 3 - len..]);
}

pub(crate) fn put_datetime(d: DateTime, fsp: u8, out: &mut Vec<u8>) {
    let day = (u64::from(d.date.year) * 13 + u64::from(d.date.month)) << 5 | u64::from(d.date.day);
    let v = day << 17 | u64::from(d.hour) << 12 | u64::from(d.minute) << 6 | u64::from(d.second);
    out.extend_from_slice(&(v | 1 << 39).to_be_bytes()[3..]);
    put_fraction(d.micros, fsp, out);
}

pub(crate) fn put_timestamp(t: Timestamp, fsp: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&(t.seconds as u32).to_be_bytes());
    put_fraction(t.micros, fsp, out);
}
