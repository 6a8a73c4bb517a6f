//! Rows events: images of rows before and after a change.
//!
//! # Layout
//! ```text
//! v1 (23, 24, 25; compressed 166 to 168)   table id u48 | flags u16
//! v2 (30, 31, 32; compressed 169 to 171)   table id u48 | flags u16 | extra length u16, itself included | extra
//! then    columns lenenc | bitmap of the columns in an image | UPDATE: bitmap of those in the image after | images, to the end
//! image   null bitmap, a bit for each column in the image, spare bits 1 | packed values of those that are not NULL
//! ```
//! INSERT has images after, DELETE images before, UPDATE pairs of both. An image of all columns is a row body of `row-format`, byte for
//! byte. In a compressed event everything behind the bitmaps is compressed (see [`crate::compressed`]).

use std::borrow::Cow;

use base::{Corruption, Put, Reader};
use row_format::ColumnType;

use crate::event::{self, take_rest};
use crate::{Bitmap, Checksum, EventKind, Stamp, WireColumn, compressed, lenenc};

/// Bits of [`Rows::flags`].
pub mod rows_flags {
    /// The last rows event of its statement.
    pub const STATEMENT_END: u16 = 0x0001;
    pub const NO_FOREIGN_KEY_CHECKS: u16 = 0x0002;
    pub const RELAXED_UNIQUE_CHECKS: u16 = 0x0004;
    /// The images have every column.
    pub const COMPLETE_ROWS: u16 = 0x0008;
    pub const NO_CHECK_CONSTRAINTS: u16 = 0x0080;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowsKind {
    Write,
    Update,
    Delete,
}

/// A rows event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows<'a> {
    pub change: RowsKind,
    pub table_id: u64,
    /// Of [`rows_flags`].
    pub flags: u16,
    /// Version 2 has them, MariaDB writes version 1.
    pub extra: Option<&'a [u8]>,
    /// Columns of the table.
    pub width: usize,
    /// Columns in the image before; for INSERT in the image after.
    pub present: Bitmap<'a>,
    /// UPDATE: columns in the image after.
    pub present_after: Option<Bitmap<'a>>,
    pub images: Cow<'a, [u8]>,
    /// Stands compressed in the log.
    pub compressed: bool,
}

impl<'a> Rows<'a> {
    /// Kinds by version and compression: the first is INSERT's, then UPDATE's, then DELETE's.
    const FAMILIES: [(EventKind, bool, bool); 4] = [
        (EventKind::WRITE_ROWS_V1, false, false),
        (EventKind::WRITE_ROWS, true, false),
        (EventKind::WRITE_ROWS_COMPRESSED_V1, false, true),
        (EventKind::WRITE_ROWS_COMPRESSED, true, true),
    ];

    pub fn kind(&self) -> EventKind {
        let shape = (self.extra.is_some(), self.compressed);
        let first = Self::FAMILIES.iter().find(|f| (f.1, f.2) == shape).map_or(0, |f| f.0.0);
        EventKind(first + self.change as u8)
    }

    /// Change, version 2, compressed; `None` when the kind is no rows event.
    fn of_kind(kind: EventKind) -> Option<(RowsKind, bool, bool)> {
        Self::FAMILIES.iter().find_map(|(first, v2, compressed)| {
            let change = match kind.0.checked_sub(first.0)? {
                0 => RowsKind::Write,
                1 => RowsKind::Update,
                2 => RowsKind::Delete,
                _ => return None,
            };
            Some((change, *v2, *compressed))
        })
    }

    /// Appends everything before the images.
    fn encode_head(&self, out: &mut Vec<u8>) {
        out.put_u48(self.table_id);
        out.put_u16(self.flags);
        if let Some(extra) = self.extra {
            assert!(extra.len() + 2 <= 65535, "{} bytes of extra data", extra.len());
            out.put_u16(extra.len() as u16 + 2);
            out.put(extra);
        }
        lenenc::put(out, self.width as u64);
        assert_eq!(self.present_after.is_some(), self.change == RowsKind::Update, "image after of UPDATE");
        for bitmap in std::iter::once(&self.present).chain(&self.present_after) {
            assert_eq!(bitmap.0.len(), Bitmap::bytes(self.width), "bytes of a bitmap of columns");
            out.put(bitmap.0);
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.encode_head(out);
        if self.compressed {
            compressed::compress(&self.images, out);
        } else {
            out.put(&self.images);
        }
    }

    /// `None` when the kind is no rows event.
    pub(crate) fn decode(kind: EventKind, r: &mut Reader<'a>) -> Result<Option<Self>, Corruption> {
        let Some((change, v2, compressed)) = Self::of_kind(kind) else { return Ok(None) };
        let (table_id, flags) = (r.u48("table id")?, r.u16("rows flags")?);
        let extra = if v2 { Some(take_extra(r)?) } else { None };
        let at = r.offset();
        let width = lenenc::integer(r, "columns")?;
        let bitmap_len = usize::try_from(width.div_ceil(8)).unwrap_or(usize::MAX);
        if bitmap_len > r.remaining() {
            return Err(Corruption::new(format_args!("offset {at}"), "columns", "bitmaps of them", width));
        }
        let present = Bitmap(r.bytes(bitmap_len, "columns present")?);
        let present_after = match change {
            RowsKind::Update => Some(Bitmap(r.bytes(bitmap_len, "columns present after")?)),
            _ => None,
        };
        let rest = take_rest(r);
        let images = if compressed { Cow::Owned(compressed::decompress(rest)?) } else { Cow::Borrowed(rest) };
        let width = width as usize;
        Ok(Some(Self { change, table_id, flags, extra, width, present, present_after, images, compressed }))
    }

    /// The changes in order; `columns` are those of the TABLE_MAP.
    pub fn changes<'r>(&'r self, columns: &'r [WireColumn]) -> Result<RowImages<'r>, Corruption> {
        if columns.len() != self.width {
            return Err(Corruption::new("rows event", "columns", columns.len(), self.width));
        }
        Ok(RowImages { rows: self, columns, reader: Reader::new(&self.images) })
    }
}

fn take_extra<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Corruption> {
    let length = usize::from(r.u16("extra length")?);
    let Some(length) = length.checked_sub(2) else {
        return Err(Corruption::new("", "extra length", "at least 2", length));
    };
    r.bytes(length, "extra data")
}

/// One row's change. INSERT has `after`, DELETE `before`, UPDATE both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowChange<'a> {
    pub before: Option<Image<'a>>,
    pub after: Option<Image<'a>>,
}

/// An image: of each column of the table `None` when it is not in the image, `Some(None)` for NULL, else its bytes without length bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image<'a> {
    pub columns: Vec<Option<Option<&'a [u8]>>>,
    /// The whole image as it stands in the event.
    pub bytes: &'a [u8],
}

/// See [`Rows::changes`].
#[derive(Debug)]
pub struct RowImages<'r> {
    rows: &'r Rows<'r>,
    columns: &'r [WireColumn],
    reader: Reader<'r>,
}

impl<'r> RowImages<'r> {
    fn change(&mut self) -> Result<RowChange<'r>, Corruption> {
        let first = self.image(self.rows.present)?;
        Ok(match (self.rows.change, self.rows.present_after) {
            (RowsKind::Update, Some(present)) => {
                RowChange { before: Some(first), after: Some(self.image(present)?) }
            }
            (RowsKind::Write, _) => RowChange { before: None, after: Some(first) },
            _ => RowChange { before: Some(first), after: None },
        })
    }

    fn image(&mut self, present: Bitmap<'_>) -> Result<Image<'r>, Corruption> {
        let (all, start) = (self.reader.rest(), self.reader.offset());
        let in_image = present.count(self.columns.len());
        let nulls = Bitmap(self.reader.bytes(Bitmap::bytes(in_image), "null bitmap")?);
        let mut columns = Vec::with_capacity(self.columns.len());
        let mut bit = 0;
        for (i, column) in self.columns.iter().enumerate() {
            columns.push(if !present.get(i) {
                None
            } else {
                bit += 1;
                let is_null = nulls.get(bit - 1);
                Some(if is_null { None } else { Some(column.take(&mut self.reader)?) })
            });
        }
        let bytes = &all[..self.reader.offset() - start];
        if bytes.is_empty() {
            // No column at all: the rest cannot be counted.
            return Err(Corruption::new("rows event", "image", "at least one column", "none"));
        }
        Ok(Image { columns, bytes })
    }
}

impl<'r> Iterator for RowImages<'r> {
    type Item = Result<RowChange<'r>, Corruption>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let next = self.change();
        if next.is_err() {
            take_rest(&mut self.reader);
        }
        Some(next)
    }
}

/// Writes a rows event of version 1 image by image into a buffer that holds nothing after it.
#[derive(Debug)]
pub struct RowsWriter {
    start: usize,
    images: usize,
    stamp: Stamp,
}

impl RowsWriter {
    const FLAGS: usize = crate::Header::LEN + 6;

    /// Begins an event. `head.images` are the first images, mostly none; `head` must not be compressed.
    pub fn begin(out: &mut Vec<u8>, stamp: &Stamp, head: &Rows<'_>) -> Self {
        assert!(!head.compressed, "a compressed event is written whole");
        let start = event::begin(out, stamp, head.kind());
        head.encode_head(out);
        let images = out.len();
        out.put(&head.images);
        Self { start, images, stamp: *stamp }
    }

    /// Bytes of images so far.
    pub fn images_len(&self, out: &[u8]) -> usize {
        out.len() - self.images
    }

    /// Bytes of the event so far.
    pub fn len(&self, out: &[u8]) -> usize {
        out.len() - self.start
    }

    /// Completes the event and returns its length.
    pub fn finish(self, out: &mut Vec<u8>, statement_end: bool, checksum: Checksum) -> usize {
        if statement_end {
            out[self.start + Self::FLAGS] |= rows_flags::STATEMENT_END as u8;
        }
        event::finish(out, self.start, self.stamp.end, checksum)
    }
}

/// Writes one image of `columns` columns, in order; ask it for each column of the image.
#[derive(Debug)]
pub struct ImageWriter {
    nulls: usize,
    columns: usize,
    next: usize,
}

impl ImageWriter {
    pub fn begin(out: &mut Vec<u8>, columns: usize) -> Self {
        let nulls = out.len();
        out.resize(nulls + Bitmap::bytes(columns), 0xff);
        Self { nulls, columns, next: 0 }
    }

    pub fn null(&mut self) {
        assert!(self.next < self.columns, "more than {} columns", self.columns);
        self.next += 1;
    }

    /// A value's bytes without length bytes.
    pub fn value(&mut self, out: &mut Vec<u8>, ty: &ColumnType, bytes: &[u8]) {
        self.value_of_length(out, ty, bytes.len() as u64);
        out.put(bytes);
    }

    /// Begins a value of `length` bytes that the caller appends: large ones come in pieces.
    pub fn value_of_length(&mut self, out: &mut Vec<u8>, ty: &ColumnType, length: u64) {
        let i = self.next;
        self.null();
        out[self.nulls + i / 8] &= !(1 << (i % 8));
        out.put(&length.to_le_bytes()[..ty.length_bytes()]);
    }
}

/// Appends the image of the columns in `present`. `values`: each column of the table, its bytes without length bytes or NULL, as
/// [`row_format::RowView::columns`] gives them.
pub fn write_image<'v>(
    out: &mut Vec<u8>,
    types: impl Iterator<Item = &'v ColumnType>,
    present: Bitmap<'_>,
    values: impl Iterator<Item = Result<Option<&'v [u8]>, Corruption>>,
    width: usize,
) -> Result<(), Corruption> {
    let mut image = ImageWriter::begin(out, present.count(width));
    for (i, (ty, value)) in types.zip(values).enumerate() {
        match value? {
            _ if !present.get(i) => {}
            None => image.null(),
            Some(bytes) => image.value(out, ty, bytes),
        }
    }
    Ok(())
}
