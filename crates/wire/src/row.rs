//! Rows: text and binary.
//!
//! # Layout
//! - Text row: per column 0xfb for NULL or a lenenc string.
//! - Binary row: `0x00 | null bitmap, (columns + 9) / 8 bytes, column i is bit i + 2 | values of the columns that are not NULL`.
//!   Integers and floats are little-endian in the width of the column's type; strings, decimals and bits are lenenc;
//!   DATE, DATETIME, TIMESTAMP: `0`, `4 | year u16, month, day`, `7 | .. hour, minute, second`, `11 | .. microseconds u32`;
//!   TIME: `0`, `8 | negative, days u32, hour, minute, second`, `12 | .. microseconds u32`.

use crate::ColumnType;
use crate::lenenc::{self, NULL, PutWire};
use base::{Corruption, Put, Reader};

/// A date or time as its fields; `hour` of a TIME may exceed 23.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TemporalValue {
    pub negative: bool,
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u32,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

/// Appends the values of one text row.
#[derive(Debug)]
pub struct TextRow<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> TextRow<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }
    pub fn null(&mut self) {
        self.out.put_u8(NULL);
    }
    pub fn bytes(&mut self, value: &[u8]) {
        self.out.put_lenenc_string(value);
    }
    pub fn int(&mut self, value: i64) {
        let mut digits = [0; 20];
        let start = format_u64(value.unsigned_abs(), &mut digits);
        if value < 0 {
            self.out.put_u8((digits.len() - start) as u8 + 1);
            self.out.put_u8(b'-');
            self.out.put(&digits[start..]);
        } else {
            self.bytes(&digits[start..]);
        }
    }
    pub fn uint(&mut self, value: u64) {
        let mut digits = [0; 20];
        let start = format_u64(value, &mut digits);
        self.bytes(&digits[start..]);
    }
    /// A value whose text `write` appends: at most 250 bytes, so that its length is one byte.
    pub fn short(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let at = self.out.len();
        self.out.put_u8(0);
        write(self.out);
        let len = self.out.len() - at - 1;
        assert!(len <= 250, "a short value of {len} bytes");
        self.out[at] = len as u8;
    }
}

/// Decimal digits of `v` at the end of `digits`; returns where they start.
fn format_u64(mut v: u64, digits: &mut [u8; 20]) -> usize {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (v % 10) as u8;
        v /= 10;
        if v == 0 {
            return at;
        }
    }
}

/// Reads the values of a text row, in order.
pub fn decode_text_row(payload: &[u8], columns: usize) -> Result<Vec<Option<&[u8]>>, Corruption> {
    let mut r = Reader::new(payload);
    let mut out = Vec::with_capacity(columns.min(payload.len() + 1));
    for _ in 0..columns {
        out.push(lenenc::nullable_string(&mut r, "value")?);
    }
    r.finish("row")?;
    Ok(out)
}

/// Where a binary row stands between two columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowPosition {
    bitmap: usize,
    column: usize,
}

impl RowPosition {
    /// The column that is written next.
    pub fn column(self) -> usize {
        self.column
    }
}

/// Appends the values of one binary row; one call per column, in order.
#[derive(Debug)]
pub struct BinaryRow<'a> {
    out: &'a mut Vec<u8>,
    bitmap: usize,
    column: usize,
}

impl<'a> BinaryRow<'a> {
    pub fn new(out: &'a mut Vec<u8>, columns: usize) -> Self {
        out.put_u8(0);
        let bitmap = out.len();
        out.resize(bitmap + (columns + 9) / 8, 0);
        Self { out, bitmap, column: 0 }
    }
    /// Goes on with a row that was left at `position`; nothing may have been appended to `out` since.
    pub fn resume(out: &'a mut Vec<u8>, position: RowPosition) -> Self {
        Self { out, bitmap: position.bitmap, column: position.column }
    }
    pub fn position(&self) -> RowPosition {
        RowPosition { bitmap: self.bitmap, column: self.column }
    }
    pub fn null(&mut self) {
        let bit = self.column + 2;
        self.out[self.bitmap + bit / 8] |= 1 << (bit % 8);
        self.column += 1;
    }
    /// A lenenc value: strings, blobs, decimals as text, bits.
    pub fn bytes(&mut self, value: &[u8]) {
        self.out.put_lenenc_string(value);
        self.column += 1;
    }
    /// An integer in the width of `column_type`; other types are a bug.
    pub fn int(&mut self, column_type: ColumnType, value: i64) {
        match column_type {
            ColumnType::Tiny => self.out.put_u8(value as u8),
            ColumnType::Short | ColumnType::Year => self.out.put_u16(value as u16),
            ColumnType::Long | ColumnType::Int24 => self.out.put_u32(value as u32),
            ColumnType::LongLong => self.out.put_u64(value as u64),
            other => panic!("an integer in a column of type {other:?}"),
        }
        self.column += 1;
    }
    pub fn float(&mut self, value: f32) {
        self.out.put_u32(value.to_bits());
        self.column += 1;
    }
    pub fn double(&mut self, value: f64) {
        self.out.put_u64(value.to_bits());
        self.column += 1;
    }
    /// DATE, DATETIME or TIMESTAMP.
    pub fn date_time(&mut self, v: &TemporalValue) {
        let with_time = v.hour != 0 || v.minute != 0 || v.second != 0;
        let len = match () {
            () if v.microsecond != 0 => 11,
            () if with_time => 7,
            () if v.year != 0 || v.month != 0 || v.day != 0 => 4,
            () => 0,
        };
        self.out.put_u8(len);
        if len >= 4 {
            self.out.put_u16(v.year);
            self.out.put(&[v.month, v.day]);
        }
        if len >= 7 {
            self.out.put(&[v.hour as u8, v.minute, v.second]);
        }
        if len == 11 {
            self.out.put_u32(v.microsecond);
        }
        self.column += 1;
    }
    pub fn time(&mut self, v: &TemporalValue) {
        let days = u32::from(v.day) + v.hour / 24;
        let hour = (v.hour % 24) as u8;
        let zero = days == 0 && hour == 0 && v.minute == 0 && v.second == 0 && v.microsecond == 0;
        let len = if zero {
            0
        } else if v.microsecond == 0 {
            8
        } else {
            12
        };
        self.out.put_u8(len);
        if len > 0 {
            self.out.put_u8(u8::from(v.negative));
            self.out.put_u32(days);
            self.out.put(&[hour, v.minute, v.second]);
        }
        if len == 12 {
            self.out.put_u32(v.microsecond);
        }
        self.column += 1;
    }
    /// A value that `write` appends in the form its column's type asks for.
    pub fn encoded(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(self.out);
        self.column += 1;
    }
    /// A value of any lenenc type whose text `write` appends: at most 250 bytes.
    pub fn short(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        TextRow::new(self.out).short(write);
        self.column += 1;
    }
}

/// A date or time of a binary row or parameter.
pub(crate) fn temporal(r: &mut Reader<'_>, column_type: ColumnType) -> Result<TemporalValue, Corruption> {
    let at = r.offset();
    let len = r.u8("temporal length")?;
    let mut v = TemporalValue::default();
    if column_type == ColumnType::Time {
        if !matches!(len, 0 | 8 | 12) {
            return Err(Corruption::new(format_args!("offset {at}"), "time length", "0, 8 or 12", len));
        }
        if len > 0 {
            v.negative = r.u8("sign")? != 0;
            let days = r.u32("days")?;
            let hour = r.u8("hour")?;
            v.hour = days.saturating_mul(24).saturating_add(u32::from(hour));
            v.minute = r.u8("minute")?;
            v.second = r.u8("second")?;
        }
        if len == 12 {
            v.microsecond = r.u32("microsecond")?;
        }
        return Ok(v);
    }
    if !matches!(len, 0 | 4 | 7 | 11) {
        return Err(Corruption::new(format_args!("offset {at}"), "date length", "0, 4, 7 or 11", len));
    }
    if len >= 4 {
        v.year = r.u16("year")?;
        v.month = r.u8("month")?;
        v.day = r.u8("day")?;
    }
    if len >= 7 {
        v.hour = u32::from(r.u8("hour")?);
        v.minute = r.u8("minute")?;
        v.second = r.u8("second")?;
    }
    if len == 11 {
        v.microsecond = r.u32("microsecond")?;
    }
    Ok(v)
}

/// One value of a binary row or of a statement's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BinaryValue<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Bytes(&'a [u8]),
    /// DATE, DATETIME, TIMESTAMP.
    Date(TemporalValue),
    Time(TemporalValue),
}

/// A value of `column_type` that is not NULL.
pub fn decode_binary_value<'a>(
    r: &mut Reader<'a>,
    column_type: ColumnType,
    unsigned: bool,
) -> Result<BinaryValue<'a>, Corruption> {
    use ColumnType::*;
    let int =
        |signed: i64, raw: u64| if unsigned { BinaryValue::UInt(raw) } else { BinaryValue::Int(signed) };
    Ok(match column_type {
        Null => BinaryValue::Null,
        Tiny => {
            let v = r.u8("tiny")?;
            int(i64::from(v as i8), u64::from(v))
        }
        Short | Year => {
            let v = r.u16("short")?;
            int(i64::from(v as i16), u64::from(v))
        }
        Long | Int24 => {
            let v = r.u32("long")?;
            int(i64::from(v as i32), u64::from(v))
        }
        LongLong => {
            let v = r.u64("longlong")?;
            int(v as i64, v)
        }
        Float => BinaryValue::Float(f32::from_bits(r.u32("float")?)),
        Double => BinaryValue::Double(f64::from_bits(r.u64("double")?)),
        Date | NewDate | DateTime | Timestamp => BinaryValue::Date(temporal(r, column_type)?),
        Time => BinaryValue::Time(temporal(r, column_type)?),
        Decimal | NewDecimal | VarChar | VarString | String | Bit | Json | Enum | Set | TinyBlob
        | MediumBlob | LongBlob | Blob | Geometry => BinaryValue::Bytes(lenenc::string(r, "bytes")?),
    })
}

/// Reads the values of a binary row, in order. `columns` gives each column's type and whether it is unsigned.
pub fn decode_binary_row<'a>(
    payload: &'a [u8],
    columns: &[(ColumnType, bool)],
) -> Result<Vec<BinaryValue<'a>>, Corruption> {
    let mut r = Reader::new(payload);
    let tag = r.u8("tag")?;
    if tag != 0 {
        return Err(Corruption::new("binary row", "tag", 0, tag));
    }
    let bitmap = r.bytes((columns.len() + 9) / 8, "null bitmap")?;
    let mut out = Vec::with_capacity(columns.len());
    for (i, (column_type, unsigned)) in columns.iter().enumerate() {
        let bit = i + 2;
        out.push(if bitmap[bit / 8] >> (bit % 8) & 1 == 1 {
            BinaryValue::Null
        } else {
            decode_binary_value(&mut r, *column_type, *unsigned)?
        });
    }
    r.finish("row")?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_values_are_what_a_client_reads() {
        let mut out = Vec::new();
        let mut row = TextRow::new(&mut out);
        row.int(i64::MIN);
        row.int(0);
        row.uint(u64::MAX);
        row.null();
        row.bytes(&[b'x'; 300]);
        row.short(|o| o.extend_from_slice(b"2026-11-30"));
        let got = decode_text_row(&out, 6).unwrap();
        assert_eq!(got[0], Some(b"-9223372036854775808".as_slice()));
        assert_eq!(got[1], Some(b"0".as_slice()));
        assert_eq!(got[2], Some(b"18446744073709551615".as_slice()));
        assert_eq!(got[3], None);
        assert_eq!(got[4].unwrap().len(), 300);
        assert_eq!(got[5], Some(b"2026-11-30".as_slice()));
        assert!(decode_text_row(&out, 7).is_err());
    }

    #[test]
    fn binary_values_of_every_width_round_trip() {
        use ColumnType::*;
        let stamp = TemporalValue {
            year: 2026,
            month: 11,
            day: 30,
            hour: 10,
            minute: 9,
            second: 8,
            ..Default::default()
        };
        let micro = TemporalValue { microsecond: 7, ..stamp };
        let day = TemporalValue { year: 2026, month: 11, day: 30, ..Default::default() };
        let time = TemporalValue { negative: true, hour: 838, minute: 59, second: 59, ..Default::default() };
        let mut out = Vec::new();
        let mut row = BinaryRow::new(&mut out, 12);
        row.int(Tiny, -1);
        row.int(Short, -2);
        row.null();
        row.int(Long, -3);
        row.int(LongLong, -4);
        row.float(1.5);
        row.double(-2.5);
        row.bytes(b"abc");
        row.date_time(&stamp);
        row.date_time(&micro);
        row.date_time(&day);
        row.time(&time);

        let types =
            [Tiny, Short, Long, Long, LongLong, Float, Double, VarString, DateTime, DateTime, Date, Time];
        let got = decode_binary_row(&out, &types.map(|t| (t, false))).unwrap();
        assert_eq!(
            got,
            [
                BinaryValue::Int(-1),
                BinaryValue::Int(-2),
                BinaryValue::Null,
                BinaryValue::Int(-3),
                BinaryValue::Int(-4),
                BinaryValue::Float(1.5),
                BinaryValue::Double(-2.5),
                BinaryValue::Bytes(b"abc"),
                BinaryValue::Date(stamp),
                BinaryValue::Date(micro),
                BinaryValue::Date(day),
                BinaryValue::Time(time),
            ]
        );
        for cut in 0..out.len() {
            assert!(decode_binary_row(&out[..cut], &types.map(|t| (t, false))).is_err());
        }
    }
}
