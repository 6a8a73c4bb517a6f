//! A table's columns with what can be computed once: the bitmap's size and the offsets that never change.

use crate::Column;

/// Columns in stored order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowLayout {
    columns: Vec<Column>,
    /// Offset of each column's packed bytes for the leading columns of fixed size that cannot be NULL, and of the first after them.
    fixed: Vec<u32>,
    /// How each column's packed bytes are found.
    shapes: Vec<Shape>,
    bitmap_len: usize,
}

/// Packed length of a column, or the number of its length bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Fixed(u16),
    Prefixed(u8),
}

impl RowLayout {
    pub fn new(columns: Vec<Column>) -> Self {
        let bitmap_len = columns.len().div_ceil(8);
        let mut fixed = Vec::new();
        let mut at = bitmap_len as u32;
        for column in &columns {
            fixed.push(at);
            match column.ty.fixed_len() {
                Some(len) if !column.nullable => at += len as u32,
                _ => break,
            }
        }
        let shape = |c: &Column| match c.ty.fixed_len() {
            Some(len) => Shape::Fixed(len as u16),
            None => Shape::Prefixed(c.ty.length_bytes() as u8),
        };
        let shapes = columns.iter().map(shape).collect();
        Self { columns, fixed, shapes, bitmap_len }
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    pub fn column(&self, i: usize) -> &Column {
        &self.columns[i]
    }
    pub(crate) fn shape(&self, i: usize) -> Shape {
        self.shapes[i]
    }
    pub(crate) fn all_shapes(&self) -> &[Shape] {
        &self.shapes
    }
    pub fn len(&self) -> usize {
        self.columns.len()
    }
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }
    /// Bytes of the null bitmap.
    pub fn bitmap_len(&self) -> usize {
        self.bitmap_len
    }
    /// The last column at or before `i` whose offset is the same in every row, with that offset.
    pub(crate) fn known_start(&self, i: usize) -> (usize, usize) {
        let column = i.min(self.fixed.len() - 1);
        (column, self.fixed[column] as usize)
    }
    /// An estimate of the body's size, to reserve space.
    pub fn typical_len(&self) -> usize {
        let one = |c: &Column| c.ty.fixed_len().unwrap_or(16 + c.ty.length_bytes());
        self.bitmap_len + self.columns.iter().map(one).sum::<usize>()
    }
}
