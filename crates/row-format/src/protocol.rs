//! A column's packed bytes straight into a result row, text or binary, without a [`types::Value`] between.
//!
//! Both append what the protocol wants for a value that is not NULL: a length-encoded string, or in the binary protocol the fixed
//! form of numbers and temporal values. Strings keep their bytes: a caller whose client wants another character set converts
//! the value instead.

use jiff::tz::TimeZone;
use types::number::{write_f32, write_f64, write_i64, write_u64};
use types::temporal::datetime_of;
use types::{Date, DateTime, Decimal, Fixed, Time};

use crate::packed::{self, be_u64, enum_text, le_i64, le_u64, write_set};
use crate::{ColumnType, IntSize};

/// Appends a length-encoded string.
pub fn put_string(bytes: &[u8], out: &mut Vec<u8>) {
    match bytes.len() {
        len @ 0..251 => out.push(len as u8),
        len @ 251..0x1_0000 => {
            out.push(0xfc);
            out.extend_from_slice(&(len as u16).to_le_bytes());
        }
        len @ 0x1_0000..0x100_0000 => {
            out.push(0xfd);
            out.extend_from_slice(&(len as u32).to_le_bytes()[..3]);
        }
        len => {
            out.push(0xfe);
            out.extend_from_slice(&(len as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

/// Appends what `write` writes as a length-encoded string of less than 251 bytes.
fn short(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.push(0);
    write(out);
    out[at] = (out.len() - at - 1) as u8;
}

/// Appends a column of a text-protocol row.
pub fn put_text(ty: &ColumnType, bytes: &[u8], zone: &TimeZone, out: &mut Vec<u8>) {
    match ty {
        ColumnType::VarChar { .. } | ColumnType::Blob { .. } => put_string(bytes, out),
        ColumnType::Char { max_bytes, collation } => put_char(bytes, *max_bytes, collation.is_binary(), out),
        ColumnType::Bit { .. } => put_string(bytes, out),
        ColumnType::Enum { members, .. } => {
            put_string(enum_text(members, le_u64(bytes)).unwrap_or(b""), out);
        }
        ColumnType::Set { members, .. } => {
            let mut text = Vec::new();
            write_set(members, le_u64(bytes), &mut text);
            put_string(&text, out);
        }
        _ => short(out, |out| write_short(ty, bytes, zone, out)),
    }
}

/// BINARY(n) has its zeros back.
fn put_char(bytes: &[u8], max_bytes: u16, binary: bool, out: &mut Vec<u8>) {
    if !binary || bytes.len() >= usize::from(max_bytes) {
        return put_string(bytes, out);
    }
    let mut padded = bytes.to_vec();
    padded.resize(usize::from(max_bytes), 0);
    put_string(&padded, out);
}

/// Appends the text of a number or temporal value.
fn write_short(ty: &ColumnType, bytes: &[u8], zone: &TimeZone, out: &mut Vec<u8>) {
    match ty {
        ColumnType::Int { size, unsigned: false } => write_i64(le_i64(bytes, *size), out),
        ColumnType::Int { unsigned: true, .. } => write_u64(le_u64(bytes), out),
        ColumnType::Float { .. } => write_f32(f32::from_bits(le_u64(bytes) as u32), out),
        ColumnType::Double { .. } => write_f64(f64::from_bits(le_u64(bytes)), out),
        ColumnType::Decimal { precision, scale, .. } => {
            if let Some(d) = Decimal::unpack(bytes, *precision, *scale) {
                d.write(out);
            }
        }
        ColumnType::Year => {
            let year = packed::year(bytes);
            if year == 0 { out.extend_from_slice(b"0000") } else { write_u64(u64::from(year), out) }
        }
        ColumnType::Date => packed::date(bytes).write(out),
        ColumnType::Time { fsp } => packed::time(bytes, *fsp).write(out),
        ColumnType::DateTime { fsp } => packed::datetime(bytes, *fsp).write(out),
        ColumnType::Timestamp { fsp } => datetime_of(packed::timestamp(bytes, *fsp), zone).write(out),
        ColumnType::Fixed(kind) => {
            if let Some(v) = Fixed::from_stored(*kind, bytes) {
                v.write(out);
            }
        }
        _ => {}
    }
}

/// Appends a column of a binary-protocol row.
pub fn put_binary(ty: &ColumnType, bytes: &[u8], zone: &TimeZone, out: &mut Vec<u8>) {
    match ty {
        ColumnType::Int { size: IntSize::Medium, unsigned } => {
            let v = if *unsigned { le_u64(bytes) as i64 } else { le_i64(bytes, IntSize::Medium) };
            out.extend_from_slice(&(v as i32).to_le_bytes());
        }
        ColumnType::Int { .. } | ColumnType::Float { .. } | ColumnType::Double { .. } => {
            out.extend_from_slice(bytes)
        }
        ColumnType::Year => out.extend_from_slice(&packed::year(bytes).to_le_bytes()),
        ColumnType::Date => put_binary_datetime(packed::date(bytes).at_midnight(), out),
        ColumnType::DateTime { fsp } => put_binary_datetime(packed::datetime(bytes, *fsp), out),
        ColumnType::Timestamp { fsp } => {
            put_binary_datetime(datetime_of(packed::timestamp(bytes, *fsp), zone), out);
        }
        ColumnType::Time { fsp } => put_binary_time(packed::time(bytes, *fsp), out),
        _ => put_text(ty, bytes, zone, out),
    }
}

/// Length byte 0 (all zero), 4 (date), 7 (date and time) or 11 (with microseconds), then as many bytes.
pub fn put_binary_datetime(d: DateTime, out: &mut Vec<u8>) {
    let clock = d.hour != 0 || d.minute != 0 || d.second != 0;
    let len = match (d.date == Date::ZERO, clock, d.micros != 0) {
        (_, _, true) => 11,
        (_, true, false) => 7,
        (false, false, false) => 4,
        (true, false, false) => 0,
    };
    out.push(len);
    let year = d.date.year.to_le_bytes();
    let fields = [year[0], year[1], d.date.month, d.date.day, d.hour, d.minute, d.second];
    out.extend_from_slice(&fields[..usize::from(len.min(7))]);
    if len == 11 {
        out.extend_from_slice(&d.micros.to_le_bytes());
    }
}

/// Length byte 0, 8 or 12: sign, days u32, hours, minutes, seconds, microseconds u32.
pub fn put_binary_time(t: Time, out: &mut Vec<u8>) {
    let len = match (t.micros, t.fraction()) {
        (0, _) => 0,
        (_, 0) => 8,
        _ => 12,
    };
    out.push(len);
    if len == 0 {
        return;
    }
    out.push(u8::from(t.is_negative()));
    out.extend_from_slice(&(t.hours() / 24).to_le_bytes());
    out.extend_from_slice(&[(t.hours() % 24) as u8, t.minutes(), t.seconds()]);
    if len == 12 {
        out.extend_from_slice(&t.fraction().to_le_bytes());
    }
}

/// The number of a BIT column's bytes.
pub fn bit_number(bytes: &[u8]) -> u64 {
    be_u64(bytes)
}
