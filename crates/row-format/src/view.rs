//! Reading columns of a body in place.

use base::Corruption;
use types::Value;

use crate::RowLayout;
use crate::layout::Shape;
use crate::packed::{self, le_length};

/// A body with its layout.
#[derive(Debug, Clone, Copy)]
pub struct RowView<'a> {
    layout: &'a RowLayout,
    body: &'a [u8],
}

impl<'a> RowView<'a> {
    /// Checks only that the bitmap is there; every column read checks itself.
    pub fn new(layout: &'a RowLayout, body: &'a [u8]) -> Result<Self, Corruption> {
        if body.len() < layout.bitmap_len() {
            return Err(short(0, layout.bitmap_len(), body.len()));
        }
        Ok(Self { layout, body })
    }

    pub fn layout(&self) -> &'a RowLayout {
        self.layout
    }
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    pub fn is_null(&self, i: usize) -> bool {
        self.body[i / 8] >> (i % 8) & 1 != 0
    }

    /// The value's bytes without length bytes; `None` for NULL.
    #[inline]
    pub fn column(&self, i: usize) -> Result<Option<&'a [u8]>, Corruption> {
        if self.is_null(i) {
            return Ok(None);
        }
        let (mut column, mut at) = self.layout.known_start(i);
        while column < i {
            if !self.is_null(column) {
                at = self.locate(column, at)?.1;
            }
            column += 1;
        }
        let (start, end) = self.locate(i, at)?;
        Ok(Some(&self.body[start..end]))
    }

    /// Same, for a reader of one body that mostly goes on to later columns: the walk begins where the last one ended.
    #[inline]
    pub fn column_after(&self, i: usize, place: &mut Place) -> Result<Option<&'a [u8]>, Corruption> {
        let known = self.layout.known_start(i);
        let goes_on = place.at > 0 && place.next <= i && place.next >= known.0;
        let (mut column, mut at) = if goes_on { (place.next, place.at) } else { known };
        while column < i {
            if !self.is_null(column) {
                at = self.locate(column, at)?.1;
            }
            column += 1;
        }
        if self.is_null(i) {
            *place = Place { next: i + 1, at };
            return Ok(None);
        }
        let (start, end) = self.locate(i, at)?;
        *place = Place { next: i + 1, at: end };
        Ok(Some(&self.body[start..end]))
    }

    /// Every column in order: the bytes without length bytes, or `None` for NULL.
    pub fn columns(&self) -> Columns<'a> {
        Columns { view: *self, next: 0, at: self.layout.bitmap_len() }
    }

    /// The column as a value.
    pub fn value(&self, i: usize) -> Result<Value, Corruption> {
        match self.column(i)? {
            None => Ok(Value::Null),
            Some(bytes) => packed::decode(&self.layout.column(i).ty, bytes),
        }
    }

    /// All columns as values, appended to `out`.
    pub fn values(&self, out: &mut Vec<Value>) -> Result<(), Corruption> {
        for (i, bytes) in self.columns().enumerate() {
            out.push(match bytes? {
                None => Value::Null,
                Some(bytes) => packed::decode(&self.layout.column(i).ty, bytes)?,
            });
        }
        Ok(())
    }

    /// Payload range of column `i` whose packed bytes start at `at`.
    #[inline]
    fn locate(&self, i: usize, at: usize) -> Result<(usize, usize), Corruption> {
        let (start, end) = match self.layout.shape(i) {
            Shape::Fixed(len) => (at, at + usize::from(len)),
            Shape::Prefixed(1) => match self.body.get(at) {
                Some(len) => (at + 1, at + 1 + usize::from(*len)),
                None => return Err(short(i, at + 1, self.body.len())),
            },
            Shape::Prefixed(prefix) => {
                let prefix = usize::from(prefix);
                let Some(length) = self.body.get(at..at + prefix) else {
                    return Err(short(i, at + prefix, self.body.len()));
                };
                (at + prefix, at + prefix + le_length(length))
            }
        };
        if end > self.body.len() {
            return Err(short(i, end, self.body.len()));
        }
        Ok((start, end))
    }
}

/// Where a reader of a body stands: see [`RowView::column_after`]. Good for one body only.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    next: usize,
    /// 0: nowhere yet.
    at: usize,
}

/// See [`RowView::columns`].
pub struct Columns<'a> {
    view: RowView<'a>,
    next: usize,
    at: usize,
}

impl<'a> Iterator for Columns<'a> {
    type Item = Result<Option<&'a [u8]>, Corruption>;

    fn next(&mut self) -> Option<Self::Item> {
        let i = self.next;
        if i >= self.view.layout.len() {
            return None;
        }
        self.next += 1;
        if self.view.is_null(i) {
            return Some(Ok(None));
        }
        match self.view.locate(i, self.at) {
            Ok((start, end)) => {
                self.at = end;
                Some(Ok(Some(&self.view.body[start..end])))
            }
            Err(e) => {
                self.next = self.view.layout.len();
                Some(Err(e))
            }
        }
    }
}

fn short(column: usize, expected: usize, found: usize) -> Corruption {
    Corruption::new(
        format_args!("row column {column}"),
        "body length",
        format_args!("at least {expected} bytes"),
        found,
    )
}
