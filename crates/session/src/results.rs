//! Result sets: from the executor's values and row bodies to packets, without copies in between.
//!
//! # Invariants
//! R1. Column definitions go out before the first row, in one buffer with it.
//! R2. Until something has been sent, [`ResultWriter::take_back`] removes every trace of the result, so that an error can
//!     take its place.
//! R3. Texts are converted to `character_set_results`; byte strings never.

use charset::{Charset, Collation};
use row_format::ColumnType as StoredType;
use sql_exec::{RowSink, SinkClosed};
use sql_plan::meta::{ColumnMeta, FieldType, NOT_FIXED_DECIMALS, flags};
use types::{Context, Value};
use wire::column::ResultHeader;
use wire::{
    BinaryRow, Capabilities, ColumnDefinition, ColumnFlags, ColumnType, RowPosition, Status, TextRow,
};

use crate::output::Output;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// COM_QUERY
    Text,
    /// COM_STMT_EXECUTE
    Binary,
}

/// Rows that wait for COM_STMT_FETCH.
#[derive(Debug, Default)]
pub(crate) struct StoredRows {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    next: usize,
}

impl StoredRows {
    /// The next row's payload.
    pub(crate) fn next_row(&mut self) -> Option<&[u8]> {
        let end = *self.ends.get(self.next)?;
        let start = if self.next == 0 { 0 } else { self.ends[self.next - 1] };
        self.next += 1;
        Some(&self.bytes[start..end])
    }
    pub(crate) fn is_at_end(&self) -> bool {
        self.next == self.ends.len()
    }
}

/// What a result depends on beside its values.
#[derive(Debug, Clone)]
pub(crate) struct ResultOptions {
    pub format: Format,
    /// `character_set_results`
    pub charset: Option<Charset>,
    /// For the time zone of TIMESTAMP values.
    pub context: Context,
    pub status: Status,
    /// False when the client has the definitions from an earlier execute (CACHE_METADATA).
    pub definitions: bool,
    /// Keep the rows for COM_STMT_FETCH instead of sending them.
    pub cursor: bool,
}

/// Writes one result set.
pub(crate) struct ResultWriter<'a> {
    out: &'a mut Output,
    options: ResultOptions,
    columns: Vec<Sent>,
    column: usize,
    position: RowPosition,
    stored: StoredRows,
    begun: bool,
    start: (usize, u8),
    flushed: bool,
}

/// How a column goes out.
#[derive(Debug, Clone, Copy)]
struct Sent {
    field: FieldType,
    wire: ColumnType,
    decimals: u8,
    /// ZEROFILL: digits of the column.
    zeros: usize,
}

impl<'a> ResultWriter<'a> {
    pub(crate) fn new(out: &'a mut Output, options: ResultOptions) -> Self {
        let sequence = out.sequence();
        let start = (out.writer().len(), sequence);
        Self {
            out,
            options,
            columns: Vec::new(),
            column: 0,
            position: RowPosition::default(),
            stored: StoredRows::default(),
            begun: false,
            start,
            flushed: false,
        }
    }
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }
    pub(crate) fn into_stored(self) -> StoredRows {
        self.stored
    }
    /// Removes the result; false when a part of it has been sent already (R2).
    pub(crate) fn take_back(&mut self) -> bool {
        if !self.flushed {
            self.out.writer().rewind(self.start.0, self.start.1);
        } else {
            self.out.writer().abandon();
        }
        !self.flushed
    }

    /// Where the value under way is appended.
    #[inline]
    fn buffer(&mut self) -> &mut Vec<u8> {
        if self.options.cursor { &mut self.stored.bytes } else { self.out.writer().payload() }
    }
    #[inline]
    fn binary(&mut self, write: impl FnOnce(&mut BinaryRow<'_>)) {
        let position = self.position;
        let mut row = BinaryRow::resume(self.buffer(), position);
        write(&mut row);
        self.position = row.position();
    }
    fn null(&mut self) {
        match self.options.format {
            Format::Text => TextRow::new(self.buffer()).null(),
            Format::Binary => self.binary(|row| row.null()),
        }
    }
    fn bytes(&mut self, bytes: &[u8]) {
        match self.options.format {
            Format::Text => TextRow::new(self.buffer()).bytes(bytes),
            Format::Binary => self.binary(|row| row.bytes(bytes)),
        }
    }
    /// Text in `collation`, converted when the client wants another character set.
    #[inline]
    fn text(&mut self, bytes: &[u8], collation: Collation) {
        let from = collation.charset();
        match self.options.charset {
            Some(to)
                if to != from
                    && from != Charset::Binary
                    && to != Charset::Binary
                    && !(from.has_ascii() && to.has_ascii() && bytes.is_ascii()) =>
            {
                let mut converted = Vec::with_capacity(bytes.len() * 2);
                // What the client's character set does not have becomes a question mark.
                let _ = from.convert(bytes, to, &mut converted);
                self.bytes(&converted);
            }
            _ => self.bytes(bytes),
        }
    }

    fn text_value(&mut self, value: &Value) {
        match value {
            Value::Null => self.null(),
            Value::Int(v) => TextRow::new(self.buffer()).int(*v),
            Value::UInt(v) => TextRow::new(self.buffer()).uint(*v),
            Value::Str(s) => self.text(s.bytes(), s.collation()),
            Value::Enum(e) => self.text(e.text.bytes(), e.text.collation()),
            Value::Bit { value, bits } => {
                let bytes = value.to_be_bytes();
                self.bytes(&bytes[8 - usize::from(*bits).div_ceil(8).min(8)..]);
            }
            other => {
                let mut text = Vec::with_capacity(32);
                match (other, self.columns.get(self.column).map(|c| c.decimals)) {
                    (Value::Double(v), Some(d)) if d < NOT_FIXED_DECIMALS => {
                        types::number::write_f64_fixed(*v, d, &mut text);
                    }
                    (Value::Float(v), Some(d)) if d < NOT_FIXED_DECIMALS => {
                        types::number::write_f64_fixed(f64::from(*v), d, &mut text);
                    }
                    _ => {
                        other.write_text(&self.options.context, &mut text);
                    }
                }
                self.bytes(&text);
            }
        }
    }

    fn binary_value(&mut self, value: &Value) {
        let Some(sent) = self.columns.get(self.column).copied() else { return };
        if value.is_null() {
            return self.null();
        }
        match sent.wire {
            ColumnType::Tiny
            | ColumnType::Short
            | ColumnType::Long
            | ColumnType::Int24
            | ColumnType::LongLong
            | ColumnType::Year => {
                let v = crate::text::as_i64(value);
                self.binary(|row| row.int(sent.wire, v));
            }
            ColumnType::Float => {
                let v = crate::text::as_f64(value) as f32;
                self.binary(|row| row.float(v));
            }
            ColumnType::Double => {
                let v = crate::text::as_f64(value);
                self.binary(|row| row.double(v));
            }
            ColumnType::Date | ColumnType::DateTime | ColumnType::Timestamp => {
                let date_only = sent.field == FieldType::Date;
                match crate::text::date_time_fields(value, date_only, &mut self.options.context) {
                    Some(t) => self.binary(|row| row.date_time(&t)),
                    None => self.null(),
                }
            }
            ColumnType::Time => match crate::text::time_fields(value, &mut self.options.context) {
                Some(t) => self.binary(|row| row.time(&t)),
                None => self.null(),
            },
            _ => self.text_value_as_bytes(value),
        }
    }

    /// A value of a lenenc type: its text.
    fn text_value_as_bytes(&mut self, value: &Value) {
        match value {
            Value::Int(v) => {
                let v = *v;
                self.binary(|row| row.short(|out| out.extend_from_slice(v.to_string().as_bytes())));
            }
            Value::UInt(v) => {
                let v = *v;
                self.binary(|row| row.short(|out| out.extend_from_slice(v.to_string().as_bytes())));
            }
            other => self.text_value(other),
        }
    }

    fn define(&mut self, meta: &ColumnMeta) {
        let charset = self.options.charset;
        let caps = self.out.capabilities;
        self.out.writer().packet(|p| definition(meta, charset).encode(p, caps));
    }
}

/// What a client is told of a column.
pub(crate) fn definition(meta: &ColumnMeta, results: Option<Charset>) -> ColumnDefinition<'_> {
    let ty = &meta.ty;
    let text = ty.field.is_text() && !ty.collation.is_binary();
    let (collation, length) = if text {
        let shown = match results {
            Some(charset) if charset != ty.collation.charset() => Collation::default_of(charset),
            _ => ty.collation,
        };
        (told_collation(shown), ty.length.saturating_mul(shown.charset().max_len() as u32))
    } else {
        (Collation::BINARY.id(), ty.length)
    };
    ColumnDefinition {
        schema: meta.schema.as_bytes(),
        table: meta.table.as_bytes(),
        org_table: meta.org_table.as_bytes(),
        name: meta.name.as_bytes(),
        org_name: meta.org_name.as_bytes(),
        extended: b"",
        collation,
        length,
        column_type: wire_type(ty.field),
        flags: told_flags(meta.flags),
        decimals: ty.decimals,
    }
}

/// NUM is the client library's own; whatever is part of a key carries PART_KEY.
fn told_flags(flags: u16) -> ColumnFlags {
    const KEYS: u16 = ColumnFlags::PRI_KEY.0 | ColumnFlags::UNIQUE_KEY.0 | ColumnFlags::MULTIPLE_KEY.0;
    let part = if flags & KEYS != 0 { ColumnFlags::PART_KEY.0 } else { 0 };
    ColumnFlags(flags & !ColumnFlags::NUM.0 | part)
}

/// The number by which a column definition names a collation: old clients do not know those of UCA 14.0.0, which are named by
/// the `unicode_ci` collation of their character set.
fn told_collation(collation: Collation) -> u16 {
    match (collation.id(), collation.charset()) {
        (2048.., Charset::Utf8mb4) => 224,
        (2048.., Charset::Utf8mb3) => 192,
        (2048.., Charset::Ucs2) => 128,
        (2048.., Charset::Utf16) => 101,
        (2048.., Charset::Utf32) => 160,
        (id, _) => id,
    }
}

fn wire_type(field: FieldType) -> ColumnType {
    ColumnType::from_u8(field.code()).unwrap_or(ColumnType::VarString)
}

impl RowSink for ResultWriter<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<(), SinkClosed> {
        self.begun = true;
        self.columns = columns
            .iter()
            .map(|m| Sent {
                field: m.ty.field,
                wire: wire_type(m.ty.field),
                decimals: m.ty.decimals,
                zeros: if m.flags & flags::ZEROFILL == 0 { 0 } else { m.ty.length as usize },
            })
            .collect();
        let caps = self.out.capabilities;
        let definitions = self.options.definitions || !caps.contains(Capabilities::CACHE_METADATA);
        let header = ResultHeader { columns: columns.len() as u64, definitions_follow: definitions };
        self.out.writer().packet(|p| header.encode(p, caps));
        if definitions {
            columns.iter().for_each(|meta| self.define(meta));
        }
        let status = self.options.status.set(Status::CURSOR_EXISTS, self.options.cursor);
        if !self.options.cursor {
            self.out.eof_after_columns(status, 0);
        }
        Ok(())
    }

    #[inline]
    fn begin_row(&mut self) {
        self.column = 0;
        if !self.options.cursor {
            self.out.writer().begin();
        }
        if self.options.format == Format::Binary {
            let columns = self.columns.len();
            self.position = BinaryRow::new(self.buffer(), columns).position();
        }
    }

    #[inline]
    fn packed(&mut self, ty: &StoredType, bytes: Option<&[u8]>) {
        let Some(bytes) = bytes else {
            self.null();
            self.column += 1;
            return;
        };
        match (ty, self.options.charset) {
            (
                StoredType::VarChar { collation, .. }
                | StoredType::Blob { collation, .. }
                | StoredType::Char { collation, .. },
                Some(charset),
            ) if collation.charset() != charset && !collation.is_binary() => self.text(bytes, *collation),
            (StoredType::Enum { collation, .. } | StoredType::Set { collation, .. }, Some(charset))
                if collation.charset() != charset =>
            {
                match row_format::decode(ty, bytes) {
                    Ok(value) => return self.value(&value),
                    Err(_) => self.null(),
                }
            }
            // DOUBLE(p, s) has its number of digits.
            (StoredType::Double { .. } | StoredType::Float { .. }, _)
                if self.options.format == Format::Text
                    && self.columns.get(self.column).is_some_and(|c| c.decimals < NOT_FIXED_DECIMALS) =>
            {
                match row_format::decode(ty, bytes) {
                    Ok(value) => return self.value(&value),
                    Err(_) => self.null(),
                }
            }
            _ => match self.columns.get(self.column).map_or(0, |c| c.zeros) {
                width if width > 0 && self.options.format == Format::Text => {
                    match row_format::decode(ty, bytes) {
                        Ok(value) => self.zerofilled(&value, width),
                        Err(_) => self.null(),
                    }
                }
                _ => self.packed_as_is(ty, bytes),
            },
        }
        self.column += 1;
    }

    #[inline]
    fn value(&mut self, value: &Value) {
        match self.options.format {
            Format::Text => match self.columns.get(self.column).map_or(0, |c| c.zeros) {
                0 => self.text_value(value),
                width => self.zerofilled(value, width),
            },
            Format::Binary => self.binary_value(value),
        }
        self.column += 1;
    }

    #[inline]
    fn end_row(&mut self) -> Result<(), SinkClosed> {
        if self.options.cursor {
            let end = self.stored.bytes.len();
            self.stored.ends.push(end);
            return Ok(());
        }
        self.out.writer().end();
        let before = self.out.writer().len();
        self.out.flush_if_full().map_err(|_| SinkClosed)?;
        self.flushed |= self.out.writer().len() < before;
        Ok(())
    }
}

impl ResultWriter<'_> {
    /// A number of a ZEROFILL column.
    fn zerofilled(&mut self, value: &Value, width: usize) {
        let text = match value {
            Value::Int(v) => format!("{v:0>width$}"),
            Value::UInt(v) => format!("{v:0>width$}"),
            // YEAR(2).
            Value::Year(y) if width == 2 => format!("{:02}", y % 100),
            Value::Decimal(_) | Value::Float(_) | Value::Double(_) => {
                let mut text = Vec::new();
                value.write_text(&self.options.context, &mut text);
                let text = String::from_utf8_lossy(&text);
                format!("{text:0>width$}")
            }
            other => return self.text_value(other),
        };
        self.text_value(&Value::utf8(&text));
    }

    #[inline]
    fn packed_as_is(&mut self, ty: &StoredType, bytes: &[u8]) {
        let position = self.position;
        let (options, stored, out) = (&self.options, &mut self.stored, &mut *self.out);
        let buffer = if options.cursor { &mut stored.bytes } else { out.writer().payload() };
        let zone = &options.context.time_zone;
        match options.format {
            Format::Text => row_format::protocol::put_text(ty, bytes, zone, buffer),
            Format::Binary => {
                let mut row = BinaryRow::resume(buffer, position);
                row.encoded(|out| row_format::protocol::put_binary(ty, bytes, zone, out));
                self.position = row.position();
            }
        }
    }
}
