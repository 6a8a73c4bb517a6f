//! Rows that do not fit into memory: temporary files of rows.
//!
//! A file is unlinked as soon as it is made, so nothing of it is left after a crash. Rows are appended, then read from the start.
//!
//! # Layout
//! `length u32 | values`; a value is a tag byte and its fields, little-endian. Only this process reads it.

use std::sync::Arc;

use env::files::Temporary;
use sql_plan::error::{SqlError, SqlResult};
use types::{Date, DateTime, Decimal, EnumValue, Fixed, FixedKind, Str, Time, Timestamp, Value};

/// Bytes that are written or read at a time.
const BLOCK: usize = 64 * 1024;

/// A row of values.
pub(crate) type Row = Vec<Value>;

/// Bytes of memory that a row takes, about.
pub(crate) fn weight(row: &[Value]) -> usize {
    let long = |v: &Value| match v {
        Value::Str(s) if s.len() > 28 => s.len() + 16,
        Value::Decimal(_) | Value::Enum(_) => 48,
        _ => 0,
    };
    24 + row.iter().map(|v| size_of::<Value>() + long(v)).sum::<usize>()
}

/// What rows that are gathered may use.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    /// Bytes of memory: `sort_buffer_size` or `tmp_memory_table_size`.
    pub(crate) bytes: usize,
    /// `tmpdir`
    pub(crate) directory: Arc<str>,
    /// Bytes that one file may take: `tmp_disk_table_size`, or all there are.
    pub(crate) file: u64,
}

/// Rows that are being written.
pub(crate) struct RowWriter {
    file: Temporary,
    written: u64,
    most: u64,
    buffer: Vec<u8>,
}

/// Rows that are written and may be read, by several readers too.
#[derive(Debug, Clone)]
pub(crate) struct RowFile {
    file: Arc<Temporary>,
    end: u64,
}

/// Rows that are being read.
#[derive(Debug)]
pub(crate) struct RowReader {
    file: Arc<Temporary>,
    at: u64,
    end: u64,
    /// Bytes that are read at a time.
    block: usize,
    buffer: Vec<u8>,
    next: usize,
}

pub(crate) fn file_error(e: std::io::Error) -> SqlError {
    let full = matches!(e.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded);
    let (errno, what) = if full { (1021, "Disk full") } else { (3, "Error writing a temporary file") };
    SqlError::Other { errno, state: *b"HY000", text: format!("{what} ({e})") }
}

fn damaged() -> SqlError {
    SqlError::Io { operation: "read of a temporary file".into(), table: String::new() }
}

/// A temporary result that outgrew `tmp_disk_table_size`.
pub(crate) fn over_limit() -> SqlError {
    SqlError::Other { errno: 1114, state: *b"HY000", text: "The table '(temporary)' is full".into() }
}

impl RowWriter {
    pub(crate) fn create(space: &Space) -> SqlResult<Self> {
        let file = Temporary::create(&space.directory).map_err(file_error)?;
        Ok(Self { file, written: 0, most: space.file, buffer: Vec::new() })
    }

    /// Where the next row will stand.
    pub(crate) fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends a row; `parts` follow one another in it.
    pub(crate) fn row(&mut self, parts: &[&[Value]]) -> SqlResult<()> {
        encode(parts, &mut self.buffer);
        if self.buffer.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> SqlResult<()> {
        if self.position() > self.most {
            return Err(over_limit());
        }
        self.file.write_at(&self.buffer, self.written).map_err(file_error)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self) -> SqlResult<RowFile> {
        self.flush()?;
        Ok(RowFile { file: Arc::new(self.file), end: self.written })
    }

    pub(crate) fn read(self) -> SqlResult<RowReader> {
        Ok(self.finish()?.reader())
    }
}

impl RowFile {
    pub(crate) fn reader(&self) -> RowReader {
        self.reader_at(0, BLOCK)
    }

    /// Reads from the row at `at` on, `block` bytes at a time.
    pub(crate) fn reader_at(&self, at: u64, block: usize) -> RowReader {
        RowReader { file: self.file.clone(), at, end: self.end, block, buffer: Vec::new(), next: 0 }
    }
}

impl RowReader {
    /// Sees to it that `n` bytes are in the buffer; false at the end of the file.
    fn want(&mut self, n: usize) -> SqlResult<bool> {
        if self.buffer.len() - self.next >= n {
            return Ok(true);
        }
        self.buffer.drain(..self.next);
        self.next = 0;
        let missing = (n - self.buffer.len()).max(self.block) as u64;
        let more = missing.min(self.end - self.at) as usize;
        let have = self.buffer.len();
        self.buffer.resize(have + more, 0);
        self.file.read_at(&mut self.buffer[have..], self.at).map_err(file_error)?;
        self.at += more as u64;
        Ok(self.buffer.len() >= n)
    }

    pub(crate) fn row(&mut self) -> SqlResult<Option<Row>> {
        let mut row = Row::new();
        Ok(self.row_into(&mut row)?.then_some(row))
    }

    /// Reads a row into a vector that is used again; false at the end.
    pub(crate) fn row_into(&mut self, row: &mut Row) -> SqlResult<bool> {
        row.clear();
        if !self.want(4)? {
            return Ok(false);
        }
        let length: [u8; 4] = self.buffer[self.next..self.next + 4].try_into().map_err(|_| damaged())?;
        self.next += 4;
        let length = u32::from_le_bytes(length) as usize;
        if !self.want(length)? {
            return Err(damaged());
        }
        let mut bytes = &self.buffer[self.next..self.next + length];
        self.next += length;
        while !bytes.is_empty() {
            row.push(take(&mut bytes).ok_or_else(damaged)?);
        }
        Ok(true)
    }
}

fn encode(parts: &[&[Value]], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    parts.iter().copied().flatten().for_each(|v| put(v, out));
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// Rows one behind the other, as in a file.
pub(crate) fn encode_rows(rows: &[Row]) -> Vec<u8> {
    let mut out = Vec::new();
    rows.iter().for_each(|row| encode(&[row], &mut out));
    out
}

pub(crate) fn decode_rows(mut bytes: &[u8]) -> SqlResult<Vec<Row>> {
    let mut rows = Vec::new();
    while !bytes.is_empty() {
        let length = u32::from_le_bytes(some(&mut bytes).ok_or_else(damaged)?);
        let mut own = several(&mut bytes, length as usize).ok_or_else(damaged)?;
        let mut row = Row::new();
        while !own.is_empty() {
            row.push(take(&mut own).ok_or_else(damaged)?);
        }
        rows.push(row);
    }
    Ok(rows)
}

fn put_text(s: &Str, out: &mut Vec<u8>) {
    out.extend_from_slice(&s.collation().id().to_le_bytes());
    out.extend_from_slice(&(s.len() as u32).to_le_bytes());
    out.extend_from_slice(s.bytes());
}

fn put(value: &Value, out: &mut Vec<u8>) {
    let mut tagged = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(bytes);
    };
    match value {
        Value::Null => tagged(0, &[]),
        Value::Int(v) => tagged(1, &v.to_le_bytes()),
        Value::UInt(v) => tagged(2, &v.to_le_bytes()),
        Value::Float(v) => tagged(3, &v.to_le_bytes()),
        Value::Double(v) => tagged(4, &v.to_le_bytes()),
        Value::Decimal(d) => {
            let mut text = Vec::new();
            d.write(&mut text);
            tagged(5, &[text.len() as u8]);
            out.extend_from_slice(&text);
        }
        Value::Str(s) => {
            tagged(6, &[]);
            put_text(s, out);
        }
        Value::Date(d) => {
            tagged(7, &d.year.to_le_bytes());
            out.extend_from_slice(&[d.month, d.day]);
        }
        Value::Time(t) => {
            tagged(8, &t.micros.to_le_bytes());
            out.push(t.fsp);
        }
        Value::DateTime(d) => {
            tagged(9, &d.date.year.to_le_bytes());
            out.extend_from_slice(&[d.date.month, d.date.day, d.hour, d.minute, d.second, d.fsp]);
            out.extend_from_slice(&d.micros.to_le_bytes());
        }
        Value::Timestamp(t) => {
            tagged(10, &t.seconds.to_le_bytes());
            out.extend_from_slice(&t.micros.to_le_bytes());
            out.push(t.fsp);
        }
        Value::Year(y) => tagged(11, &y.to_le_bytes()),
        Value::Bit { value, bits } => {
            tagged(12, &value.to_le_bytes());
            out.push(*bits);
        }
        Value::Enum(e) => {
            tagged(13, &e.number.to_le_bytes());
            put_text(&e.text, out);
        }
        Value::Fixed(f) => {
            let kind = match f.kind() {
                FixedKind::Uuid => 0,
                FixedKind::Inet4 => 1,
                FixedKind::Inet6 => 2,
            };
            tagged(14, &[kind]);
            out.extend_from_slice(f.bytes());
        }
    }
}

fn some<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*head)
}

fn several<'b>(bytes: &mut &'b [u8], n: usize) -> Option<&'b [u8]> {
    let (head, rest) = bytes.split_at_checked(n)?;
    *bytes = rest;
    Some(head)
}

fn take_text(bytes: &mut &[u8]) -> Option<Str> {
    let collation = charset::Collation::by_id(u16::from_le_bytes(some(bytes)?))?;
    let length = u32::from_le_bytes(some(bytes)?) as usize;
    Some(Str::new(several(bytes, length)?, collation))
}

fn take(bytes: &mut &[u8]) -> Option<Value> {
    let [tag] = some(bytes)?;
    Some(match tag {
        0 => Value::Null,
        1 => Value::Int(i64::from_le_bytes(some(bytes)?)),
        2 => Value::UInt(u64::from_le_bytes(some(bytes)?)),
        3 => Value::Float(f32::from_le_bytes(some(bytes)?)),
        4 => Value::Double(f64::from_le_bytes(some(bytes)?)),
        5 => {
            let [length] = some(bytes)?;
            Decimal::parse(several(bytes, usize::from(length))?).value.into()
        }
        6 => Value::Str(take_text(bytes)?),
        7 => {
            let year = u16::from_le_bytes(some(bytes)?);
            let [month, day] = some(bytes)?;
            Value::Date(Date { year, month, day })
        }
        8 => {
            let micros = i64::from_le_bytes(some(bytes)?);
            let [fsp] = some(bytes)?;
            Value::Time(Time { micros, fsp })
        }
        9 => {
            let year = u16::from_le_bytes(some(bytes)?);
            let [month, day, hour, minute, second, fsp] = some(bytes)?;
            let micros = u32::from_le_bytes(some(bytes)?);
            Value::DateTime(DateTime { date: Date { year, month, day }, hour, minute, second, fsp, micros })
        }
        10 => {
            let seconds = u64::from_le_bytes(some(bytes)?);
            let micros = u32::from_le_bytes(some(bytes)?);
            let [fsp] = some(bytes)?;
            Value::Timestamp(Timestamp { seconds, micros, fsp })
        }
        11 => Value::Year(u16::from_le_bytes(some(bytes)?)),
        12 => {
            let value = u64::from_le_bytes(some(bytes)?);
            let [bits] = some(bytes)?;
            Value::Bit { value, bits }
        }
        13 => {
            let number = u64::from_le_bytes(some(bytes)?);
            Value::Enum(Box::new(EnumValue { number, text: take_text(bytes)? }))
        }
        14 => {
            let [kind] = some(bytes)?;
            let kind = match kind {
                0 => FixedKind::Uuid,
                1 => FixedKind::Inet4,
                _ => FixedKind::Inet6,
            };
            Value::Fixed(Fixed::from_bytes(kind, several(bytes, kind.len())?)?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use charset::Collation;

    #[test]
    fn rows_come_back_as_they_went() {
        let rows: Vec<Row> = (0..5000i64)
            .map(|i| {
                vec![
                    Value::Int(i),
                    Value::Null,
                    Value::str(&vec![b'x'; i as usize % 300], Collation::UTF8MB4_BIN),
                    Decimal::parse(format!("{i}.50").as_bytes()).value.into(),
                    Value::Date(Date { year: 2026, month: 1, day: 31 }),
                    Value::Double(i as f64 / 3.0),
                ]
            })
            .collect();
        let space = Space { bytes: 0, directory: "/tmp".into(), file: u64::MAX };
        let mut writer = RowWriter::create(&space).unwrap();
        for row in &rows {
            writer.row(&[&row[..2], &row[2..]]).unwrap();
        }
        let mut reader = writer.read().unwrap();
        for row in &rows {
            assert_eq!(format!("{:?}", reader.row().unwrap()), format!("{:?}", Some(row)));
        }
        assert!(reader.row().unwrap().is_none());
    }
}
