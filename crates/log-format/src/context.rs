//! Contexts: the bytes of a row that an event needs although its change left them alone.
//!
//! With `binlog_row_image=FULL` the record of an update or a delete has the whole body before. MINIMAL and NOBLOB want some columns
//! only, and most of their bytes are in the record anyhow: the splices have what is new, the removed bytes what is old. The context
//! has the rest: the null bitmap, the length bytes on the way to the last column that is wanted, and bytes of the wanted columns
//! that did not change.
//!
//! # Layout
//! `{skip varint | bytes string}...`: ranges of the body before the change, ascending and disjoint; `skip` counts from the end of
//! the range before.
//!
//! # Invariants
//! C1. A reader that fills a [`Sparse`] body from a record finds in it all bytes of the columns for which the context was built.
//! C2. A byte that is not known is never guessed: [`Sparse::columns`] answers with [`Corruption`].

use std::ops::Range;

use base::{Corruption, Put, Reader};
use page_format::Splices;

use crate::definition::{DefinedColumn, Shape};

/// Ranges closer than this are one: what is between them costs no more than another head.
const APART: usize = 3;
/// No body on a page is longer.
const BODY_MAX: usize = 1 << 16;

/// Which columns: by position.
pub type Wanted<'a> = &'a dyn Fn(usize) -> bool;

/// Builds contexts; reusable.
#[derive(Debug, Default)]
pub struct ContextBuf {
    wanted: Vec<Range<usize>>,
    ranges: Vec<Range<usize>>,
    encoded: Vec<u8>,
}

impl ContextBuf {
    /// What a delete's event needs of the body.
    pub fn of_delete(
        &mut self,
        shapes: &[Shape],
        body: &[u8],
        wanted: Wanted<'_>,
    ) -> Result<&[u8], Corruption> {
        self.ranges.clear();
        self.wanted.clear();
        walk(shapes, body, wanted, &mut self.wanted)?;
        self.ranges.append(&mut self.wanted);
        Ok(self.encode(body))
    }

    /// What an update's event needs of both bodies beside the splices between them and the bytes that they removed.
    pub fn of_update(
        &mut self,
        shapes: &[Shape],
        (old, before): (&[u8], Wanted<'_>),
        (new, after): (&[u8], Wanted<'_>),
        splices: Splices<'_>,
    ) -> Result<&[u8], Corruption> {
        self.ranges.clear();
        self.wanted.clear();
        walk(shapes, old, before, &mut self.wanted)?;
        for kept in kept(&splices, old.len()) {
            for range in &self.wanted {
                self.ranges.extend(overlap(range, &(kept.old..kept.old + kept.len)));
            }
        }
        self.wanted.clear();
        walk(shapes, new, after, &mut self.wanted)?;
        for kept in kept(&splices, old.len()) {
            for range in &self.wanted {
                let common = overlap(range, &(kept.new..kept.new + kept.len));
                self.ranges
                    .extend(common.map(|r| r.start - kept.new + kept.old..r.end - kept.new + kept.old));
            }
        }
        Ok(self.encode(old))
    }

    fn encode(&mut self, body: &[u8]) -> &[u8] {
        self.ranges.sort_unstable_by_key(|range| range.start);
        self.encoded.clear();
        let mut written = 0;
        let mut ranges = self.ranges.iter();
        let mut open = ranges.next().cloned();
        while let Some(range) = open {
            let next = ranges.next();
            if let Some(next) = next.filter(|next| next.start < range.end + APART) {
                open = Some(range.start..range.end.max(next.end));
                continue;
            }
            self.encoded.put_varint((range.start - written) as u64);
            self.encoded.put_string(&body[range.clone()]);
            written = range.end;
            open = next.cloned();
        }
        &self.encoded
    }
}

/// Bytes that an update kept: where they stood, where they stand, and how many.
struct Kept {
    old: usize,
    new: usize,
    len: usize,
}

fn kept(splices: &Splices<'_>, old_len: usize) -> impl Iterator<Item = Kept> {
    let (mut old, mut new) = (0usize, 0usize);
    let last = std::iter::once((old_len, 0usize, 0usize));
    splices.iter().map(|s| (s.offset, s.removed, s.inserted.len())).chain(last).map(
        move |(offset, removed, inserted)| {
            let kept = Kept { old, new, len: offset.saturating_sub(old) };
            old = offset.saturating_add(removed);
            new = new.saturating_add(kept.len).saturating_add(inserted);
            kept
        },
    )
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> Option<Range<usize>> {
    let (start, end) = (a.start.max(b.start), a.end.min(b.end));
    (start < end).then_some(start..end)
}

/// The ranges of a whole body that a reader of some columns looks at.
fn walk(
    shapes: &[Shape],
    body: &[u8],
    wanted: Wanted<'_>,
    out: &mut Vec<Range<usize>>,
) -> Result<(), Corruption> {
    let Some(last) = (0..shapes.len()).rev().find(|i| wanted(*i)) else { return Ok(()) };
    let bitmap = shapes.len().div_ceil(8);
    let mut reader = Reader::new(body);
    let nulls = reader.bytes(bitmap, "null bitmap")?;
    out.push(0..bitmap);
    for (i, shape) in shapes.iter().enumerate().take(last + 1) {
        if is_set(nulls, i) {
            continue;
        }
        let at = reader.offset();
        let len = match shape {
            Shape::Fixed(len) => *len as usize,
            Shape::Prefixed(bytes) => {
                let prefix = reader.bytes(usize::from(*bytes), "column length")?;
                out.push(at..reader.offset());
                length(prefix)
            }
        };
        reader.bytes(len, "column")?;
        if wanted(i) {
            out.push(at..reader.offset());
        }
    }
    Ok(())
}

fn is_set(bits: &[u8], i: usize) -> bool {
    bits[i / 8] & 1 << (i % 8) != 0
}

fn length(prefix: &[u8]) -> usize {
    prefix.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b))
}

/// A body of which some bytes are known.
#[derive(Debug, Default)]
pub struct Sparse {
    bytes: Vec<u8>,
    known: Vec<bool>,
}

impl Sparse {
    /// The body that a delete's context describes.
    pub fn of_context(context: &[u8]) -> Result<Self, Corruption> {
        let mut body = Self::default();
        let mut reader = Reader::new(context);
        let mut at = 0usize;
        while !reader.rest().is_empty() {
            let skip = usize::try_from(reader.varint("context skip")?).unwrap_or(usize::MAX);
            at = at.saturating_add(skip);
            let bytes = reader.string("context bytes")?;
            body.put(at, bytes)?;
            at += bytes.len();
        }
        Ok(body)
    }

    /// The bodies before and after an update.
    pub fn of_update(
        context: &[u8],
        splices: Splices<'_>,
        removed: &[u8],
    ) -> Result<(Self, Self), Corruption> {
        let mut old = Self::of_context(context)?;
        let mut rest = Reader::new(removed);
        for splice in splices.iter() {
            old.put(splice.offset, rest.bytes(splice.removed, "removed bytes")?)?;
        }
        rest.finish("end of removed bytes")?;
        let mut new = Self::default();
        let mut inserted = splices.iter();
        for kept in kept(&splices, old.bytes.len()) {
            for at in kept.old..(kept.old + kept.len).min(old.bytes.len()) {
                if old.known[at] {
                    new.put(kept.new + (at - kept.old), &old.bytes[at..=at])?;
                }
            }
            if let Some(splice) = inserted.next() {
                new.put(kept.new + kept.len, splice.inserted)?;
            }
        }
        Ok((old, new))
    }

    fn put(&mut self, at: usize, bytes: &[u8]) -> Result<(), Corruption> {
        let end = at.saturating_add(bytes.len());
        if end > BODY_MAX {
            return Err(Corruption::new("", "place in a row", format_args!("up to {BODY_MAX}"), end));
        }
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
            self.known.resize(end, false);
        }
        self.bytes[at..end].copy_from_slice(bytes);
        self.known[at..end].fill(true);
        Ok(())
    }

    fn take(&self, at: &mut usize, len: usize) -> Result<&[u8], Corruption> {
        let range = *at..at.saturating_add(len);
        match self.known.get(range.clone()) {
            Some(known) if known.iter().all(|k| *k) => {
                *at = range.end;
                Ok(&self.bytes[range])
            }
            _ => Err(Corruption::new("row", "context", format_args!("bytes {range:?}"), "none")),
        }
    }

    /// Appends a body that has the wanted columns, and NULL in all others.
    pub fn columns(
        &self,
        columns: &[DefinedColumn],
        wanted: Wanted<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Corruption> {
        let start = out.len();
        let bitmap = columns.len().div_ceil(8);
        out.resize(start + bitmap, 0xff);
        let Some(last) = (0..columns.len()).rev().find(|i| wanted(*i)) else { return Ok(()) };
        let mut at = 0;
        let nulls = self.take(&mut at, bitmap)?;
        for (i, column) in columns.iter().enumerate().take(last + 1) {
            if is_set(nulls, i) {
                continue;
            }
            let mut end = at;
            let len = match column.shape {
                Shape::Fixed(len) => len as usize,
                Shape::Prefixed(bytes) => {
                    length(self.take(&mut end, usize::from(bytes))?) + usize::from(bytes)
                }
            };
            if wanted(i) {
                out[start + i / 8] &= !(1 << (i % 8));
                out.extend_from_slice(self.take(&mut at, len)?);
            } else {
                at = at.saturating_add(len);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use page_format::SplicesBuf;
    use proptest::prelude::*;

    const SHAPES: [Shape; 5] =
        [Shape::Fixed(4), Shape::Prefixed(1), Shape::Fixed(2), Shape::Prefixed(2), Shape::Fixed(1)];

    fn columns() -> Vec<DefinedColumn> {
        SHAPES
            .iter()
            .map(|shape| DefinedColumn {
                name: String::new(),
                type_code: 15,
                metadata: Vec::new(),
                shape: *shape,
                nullable: true,
                unsigned: false,
                collation: None,
                members: None,
                generated: false,
            })
            .collect()
    }

    type Row = Vec<Option<Vec<u8>>>;

    /// The body of the columns that are wanted.
    fn body(row: &Row, wanted: Wanted<'_>) -> Vec<u8> {
        let mut out = vec![0xff];
        for (i, (value, shape)) in row.iter().zip(SHAPES).enumerate() {
            let Some(value) = value.as_ref().filter(|_| wanted(i)) else { continue };
            out[0] &= !(1 << i);
            if let Shape::Prefixed(bytes) = shape {
                out.extend_from_slice(&(value.len() as u32).to_le_bytes()[..usize::from(bytes)]);
            }
            out.extend_from_slice(value);
        }
        out
    }

    fn row() -> impl Strategy<Value = Row> {
        let values = SHAPES.map(|shape| {
            let len = match shape {
                Shape::Fixed(len) => len as usize..len as usize + 1,
                Shape::Prefixed(_) => 0..20,
            };
            // Few letters, so that two rows have much in common.
            proptest::option::weighted(0.8, proptest::collection::vec(0u8..3, len))
        });
        values.to_vec()
    }

    proptest! {
        #[test]
        fn wanted_columns_of_an_update_come_back(old in row(), new in row(), before: u8, after: u8) {
            let (in_before, in_after) = (|i: usize| before >> i & 1 == 1, |i: usize| after >> i & 1 == 1);
            let (whole_old, whole_new) = (body(&old, &|_| true), body(&new, &|_| true));
            let mut splices = SplicesBuf::new();
            splices.diff(&whole_old, &whole_new);
            let mut buffer = ContextBuf::default();
            let context = buffer
                .of_update(&SHAPES, (&whole_old, &in_before), (&whole_new, &in_after), splices.splices())
                .unwrap();
            let (sparse_old, sparse_new) =
                Sparse::of_update(context, splices.splices(), splices.removed()).unwrap();
            let (mut a, mut b) = (Vec::new(), Vec::new());
            sparse_old.columns(&columns(), &in_before, &mut a).unwrap();
            sparse_new.columns(&columns(), &in_after, &mut b).unwrap();
            prop_assert_eq!(a, body(&old, &in_before));
            prop_assert_eq!(b, body(&new, &in_after));
        }

        #[test]
        fn wanted_columns_of_a_delete_come_back(old in row(), before: u8) {
            let wanted = |i: usize| before >> i & 1 == 1;
            let whole = body(&old, &|_| true);
            let mut buffer = ContextBuf::default();
            let context = buffer.of_delete(&SHAPES, &whole, &wanted).unwrap();
            prop_assert!(context.len() <= whole.len() + 2 * SHAPES.len());
            let mut out = Vec::new();
            Sparse::of_context(context).unwrap().columns(&columns(), &wanted, &mut out).unwrap();
            prop_assert_eq!(out, body(&old, &wanted));
        }

        #[test]
        fn garbage_is_an_error_or_some_row(context in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(sparse) = Sparse::of_context(&context) {
                let _ = sparse.columns(&columns(), &|_| true, &mut Vec::new());
            }
        }
    }

    #[test]
    fn bytes_are_as_documented() {
        let old: Row =
            vec![Some(vec![1, 0, 0, 0]), Some(b"abc".to_vec()), None, Some(b"long".to_vec()), Some(vec![7])];
        let whole = body(&old, &|_| true);
        let mut buffer = ContextBuf::default();
        assert_eq!(buffer.of_delete(&SHAPES, &whole, &|i| i == 0).unwrap(), b"\x00\x05\xe4\x01\0\0\0");
        // The length of the column between stands beside the last one.
        assert_eq!(
            buffer.of_delete(&SHAPES, &whole, &|i| i == 4).unwrap(),
            b"\x00\x01\xe4\x04\x01\x03\x03\x02\x04\x00\x04\x01\x07"
        );
        assert_eq!(buffer.of_delete(&SHAPES, &whole, &|_| false).unwrap(), b"");
    }

    #[test]
    fn a_byte_that_is_not_known_is_not_guessed() {
        let whole = body(&vec![Some(vec![1, 0, 0, 0]), None, None, None, Some(vec![7])], &|_| true);
        let mut buffer = ContextBuf::default();
        let sparse = Sparse::of_context(buffer.of_delete(&SHAPES, &whole, &|i| i == 0).unwrap()).unwrap();
        assert!(sparse.columns(&columns(), &|i| i == 4, &mut Vec::new()).is_err());
    }
}
