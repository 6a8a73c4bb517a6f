//! Layouts that a table's rows had before: columns are added, dropped and moved without touching rows.
//!
//! A row's bytes do not say which layout they have. The log does: a row version is named by the LSN of the record that made it, and
//! a definition changes while nobody else writes the table, so all versions below the LSN of the change have the layout before, and
//! all others the layout after.
//!
//! # Layout of an old format in a definition
//! ```text
//! until varint | columns varint, {shape varint: packed length * 2, or number of length bytes * 2 + 1}
//! | sources varint, {0 NULL | 1 column varint | 2 string (packed bytes, length bytes included)}
//! ```
//!
//! # Invariants
//! H1. Formats stand in the order of their LSNs. A version has the first one whose `until` is above its LSN, or the newest layout.
//! H2. The sources of each format lead to the newest layout, not to the next format: reading an old row is one step.

use base::{Corruption, Lsn, Put, Reader};

use crate::RowLayout;
use crate::layout::Shape;

/// Where a column of the newest layout comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The column did not exist and is NULL in old rows.
    Null,
    /// A column of the old format.
    Column(u32),
    /// The column did not exist; its default at the time, packed, with length bytes.
    Value(Box<[u8]>),
}

/// A layout of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldFormat {
    until: Lsn,
    shapes: Vec<Shape>,
    sources: Vec<Source>,
}

/// How the columns of a body are found: by the newest layout or by an old one.
#[derive(Debug, Clone, Copy)]
pub struct Shapes<'a>(&'a [Shape]);

impl Shapes<'_> {
    pub fn len(&self) -> usize {
        self.0.len()
    }
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub fn bitmap_len(&self) -> usize {
        self.0.len().div_ceil(8)
    }
    /// Number of length bytes before a column's value.
    pub fn length_bytes(&self, column: usize) -> usize {
        match self.0[column] {
            Shape::Fixed(_) => 0,
            Shape::Prefixed(bytes) => usize::from(bytes),
        }
    }
    pub fn is_fixed(&self, column: usize) -> bool {
        matches!(self.0[column], Shape::Fixed(_))
    }
    /// Length of a column's packed bytes at the start of `rest`, with its length bytes.
    pub fn packed_len(&self, column: usize, rest: &[u8]) -> Result<usize, Corruption> {
        Ok(match self.0[column] {
            Shape::Fixed(len) => usize::from(len),
            Shape::Prefixed(bytes) => {
                let prefix = Reader::new(rest).bytes(usize::from(bytes), "column length")?;
                usize::from(bytes) + prefix.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b))
            }
        })
    }
}

impl RowLayout {
    pub fn shapes(&self) -> Shapes<'_> {
        Shapes(self.all_shapes())
    }

    /// Are bodies of this layout also bodies of the other one: the same columns to a reader that looks for bytes?
    pub fn packs_like(&self, other: &Self) -> bool {
        self.all_shapes() == other.all_shapes()
    }
}

impl OldFormat {
    /// The layout of rows up to now, when the columns of the newest one come from `sources`.
    pub fn new(layout: &RowLayout, until: Lsn, sources: Vec<Source>) -> Self {
        Self { until, shapes: layout.all_shapes().to_vec(), sources }
    }

    /// Versions made by records below this LSN may have the format.
    pub fn until(&self) -> Lsn {
        self.until
    }

    pub fn shapes(&self) -> Shapes<'_> {
        Shapes(&self.shapes)
    }

    /// The column of the newest layout that an old one has become, if it is still there.
    pub fn becomes(&self, column: usize) -> Option<usize> {
        self.sources.iter().position(|s| matches!(s, Source::Column(c) if *c as usize == column))
    }

    /// The same format after one more change, whose columns come from `next` (H2).
    #[must_use]
    pub fn followed_by(&self, next: &[Source]) -> Self {
        let source = |s: &Source| match s {
            Source::Column(column) => self.sources[*column as usize].clone(),
            other => other.clone(),
        };
        Self { until: self.until, shapes: self.shapes.clone(), sources: next.iter().map(source).collect() }
    }

    /// Appends the body in the newest layout of a whole one in this format.
    pub fn upgrade(&self, body: &[u8], out: &mut Vec<u8>) -> Result<(), Corruption> {
        let shapes = self.shapes();
        let mut reader = Reader::new(body);
        let bitmap = reader.bytes(shapes.bitmap_len(), "null bitmap")?;
        let mut columns: Vec<Option<&[u8]>> = Vec::with_capacity(shapes.len());
        for column in 0..shapes.len() {
            let null = bitmap[column / 8] >> (column % 8) & 1 != 0;
            columns.push(if null {
                None
            } else {
                let len = shapes.packed_len(column, reader.rest())?;
                Some(reader.bytes(len, "column")?)
            });
        }
        reader.finish("end of row")?;
        let start = out.len();
        out.resize(start + self.sources.len().div_ceil(8), 0xff);
        for (i, source) in self.sources.iter().enumerate() {
            let packed = match source {
                Source::Null => None,
                Source::Value(packed) => Some(&packed[..]),
                Source::Column(column) => columns[*column as usize],
            };
            if let Some(packed) = packed {
                out[start + i / 8] &= !(1 << (i % 8));
                out.extend_from_slice(packed);
            }
        }
        Ok(())
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_varint(self.until.0);
        out.put_varint(self.shapes.len() as u64);
        for shape in &self.shapes {
            out.put_varint(match *shape {
                Shape::Fixed(len) => u64::from(len) * 2,
                Shape::Prefixed(bytes) => u64::from(bytes) * 2 + 1,
            });
        }
        out.put_varint(self.sources.len() as u64);
        for source in &self.sources {
            match source {
                Source::Null => out.put_u8(0),
                Source::Column(column) => {
                    out.put_u8(1);
                    out.put_varint(u64::from(*column));
                }
                Source::Value(packed) => {
                    out.put_u8(2);
                    out.put_string(packed);
                }
            }
        }
    }

    /// Reads a format that leads to a layout of `columns` columns.
    pub fn decode(r: &mut Reader<'_>, columns: usize) -> Result<Self, Corruption> {
        let wrong =
            |field: &'static str, found: u64| Corruption::new("old format", field, "a known one", found);
        let until = Lsn(r.varint("old format's LSN")?);
        let mut shapes = Vec::new();
        for _ in 0..r.length("old columns")? {
            let shape = r.varint("column shape")?;
            shapes.push(match (shape & 1, shape >> 1) {
                (0, len) => Shape::Fixed(u16::try_from(len).map_err(|_| wrong("packed length", len))?),
                (_, bytes @ 1..=4) => Shape::Prefixed(bytes as u8),
                (_, bytes) => return Err(wrong("length bytes", bytes)),
            });
        }
        let mut sources = Vec::new();
        for _ in 0..r.length("column sources")? {
            sources.push(match r.u8("column source")? {
                0 => Source::Null,
                1 => match r.varint("source column")? {
                    column if column < shapes.len() as u64 => Source::Column(column as u32),
                    column => return Err(wrong("source column", column)),
                },
                2 => Source::Value(r.string("column value")?.into()),
                other => return Err(wrong("column source", other.into())),
            });
        }
        if sources.len() != columns {
            return Err(Corruption::new("old format", "column sources", columns, sources.len()));
        }
        Ok(Self { until, shapes, sources })
    }
}

#[cfg(test)]
mod tests {
    use types::Value;

    use super::*;
    use crate::{Column, ColumnType, IntSize, RowView, encode_row};

    fn layout(types: &[ColumnType]) -> RowLayout {
        RowLayout::new(types.iter().map(|ty| Column { ty: ty.clone(), nullable: true }).collect())
    }

    fn int() -> ColumnType {
        ColumnType::Int { size: IntSize::Int, unsigned: false }
    }

    fn text() -> ColumnType {
        ColumnType::VarChar { max_bytes: 100, collation: charset::Collation::LATIN1_SWEDISH_CI }
    }

    fn word(s: &str) -> Value {
        Value::str(s.as_bytes(), charset::Collation::LATIN1_SWEDISH_CI)
    }

    fn values(layout: &RowLayout, body: &[u8]) -> Vec<String> {
        let mut out = Vec::new();
        RowView::new(layout, body).unwrap().values(&mut out).unwrap();
        out.iter().map(|v| format!("{v:?}")).collect()
    }

    #[test]
    fn an_old_row_reads_as_one_of_the_newest_layout() {
        let old = layout(&[int(), text()]);
        let new = layout(&[text(), int(), int(), text()]);
        let sources = vec![
            Source::Column(1),
            Source::Null,
            Source::Column(0),
            Source::Value(b"\x02xy".as_slice().into()),
        ];
        let format = OldFormat::new(&old, Lsn(7), sources);
        for first in [Value::Int(5), Value::Null] {
            let (mut body, mut upgraded, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
            encode_row(&old, &[first.clone(), word("abc")], &mut body).unwrap();
            format.upgrade(&body, &mut upgraded).unwrap();
            encode_row(&new, &[word("abc"), Value::Null, first, word("xy")], &mut wanted).unwrap();
            assert_eq!(upgraded, wanted, "{:?}", values(&new, &upgraded));
        }
        assert_eq!((format.becomes(0), format.becomes(1)), (Some(2), Some(0)));
    }

    #[test]
    fn a_second_change_leads_straight_to_the_newest_layout() {
        let first = OldFormat::new(&layout(&[int()]), Lsn(1), vec![Source::Column(0), Source::Null]);
        // The first column goes, a new one comes.
        let next = [Source::Column(1), Source::Value(b"\x01z".as_slice().into())];
        let both = first.followed_by(&next);
        let (mut body, mut upgraded) = (Vec::new(), Vec::new());
        encode_row(&layout(&[int()]), &[Value::Int(9)], &mut body).unwrap();
        both.upgrade(&body, &mut upgraded).unwrap();
        let mut wanted = Vec::new();
        encode_row(&layout(&[int(), text()]), &[Value::Null, word("z")], &mut wanted).unwrap();
        assert_eq!(upgraded, wanted);
        assert_eq!(both.becomes(0), None);
    }

    #[test]
    fn bytes_are_as_documented_and_damage_is_an_error() {
        let sources = vec![Source::Column(1), Source::Null, Source::Value(b"\x01z".as_slice().into())];
        let format = OldFormat::new(&layout(&[int(), text()]), Lsn(300), sources);
        let mut out = Vec::new();
        format.encode(&mut out);
        assert_eq!(out, b"\xac\x02\x02\x08\x03\x03\x01\x01\x00\x02\x02\x01z");
        assert_eq!(OldFormat::decode(&mut Reader::new(&out), 3), Ok(format.clone()));
        assert!(OldFormat::decode(&mut Reader::new(&out), 2).is_err());
        for cut in 0..out.len() {
            assert!(OldFormat::decode(&mut Reader::new(&out[..cut]), 3).is_err(), "{cut}");
        }
        let mut body = Vec::new();
        encode_row(&layout(&[int(), text()]), &[Value::Int(1), word("ab")], &mut body).unwrap();
        for cut in 0..body.len() {
            assert!(format.upgrade(&body[..cut], &mut Vec::new()).is_err(), "{cut}");
        }
    }
}
