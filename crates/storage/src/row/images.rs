//! What the record of an update or a delete keeps for its event: `binlog_row_image`.
//!
//! - FULL and FULL_NODUP, and rows of tables without a primary key or one that can stand for it: the whole body before.
//! - MINIMAL: the primary key before, and after an update the columns that the statement writes.
//! - NOBLOB: all columns without BLOB and TEXT ones, but for those of the primary key and, after, those that the statement writes.
//!
//! Of the last two only those bytes are kept that the record does not have anyhow (`log_format::context`), if that is less than the
//! body. A delete keeps the whole body also when the context is more than half of it: an insert over the deleted row then need not.

use std::sync::Arc;

use base::Corruption;
use log_format::context::ContextBuf;
use log_format::definition::Shape;
use log_format::record::event_options;
use page_format::Splices;
use row_format::{ColumnType, KeyPart};

use crate::table::{Table, TableSpec};
use crate::trx::Work;

/// Values of binlog_row_image.
const MINIMAL: u8 = 0;
const NOBLOB: u8 = 1;

/// What an event needs of the rows of a table.
#[derive(Debug)]
pub(super) enum Needs {
    /// There is no event.
    Nothing,
    /// All columns.
    Whole,
    Columns(Columns),
}

/// Columns of images before and after a change.
#[derive(Debug)]
pub(super) struct Columns {
    no_blob: bool,
    written: Option<Arc<[u8]>>,
}

/// Buffers for contexts.
#[derive(Debug, Default)]
pub(super) struct ContextScratch {
    shapes: Vec<Shape>,
    buffer: ContextBuf,
}

impl Columns {
    /// Of the row before the change.
    pub(super) fn before(&self, spec: &TableSpec, column: usize) -> bool {
        event_key(spec).is_some_and(|key| key.iter().any(|part| part.column == column))
            || self.no_blob && !is_blob(spec, column)
    }
    /// Of the row after an update.
    pub(super) fn after(&self, spec: &TableSpec, column: usize) -> bool {
        let written = self.written.as_deref().unwrap_or_default();
        written.get(column / 8).is_some_and(|bits| bits & 1 << (column % 8) != 0)
            || self.no_blob && !is_blob(spec, column)
    }
}

/// What tells rows apart for replicas: the primary key, else the first unique one of whole columns that are never NULL.
fn event_key(spec: &TableSpec) -> Option<&[KeyPart]> {
    if !spec.has_hidden_key() {
        return Some(&spec.indexes[0].parts);
    }
    let never_null = |part: &KeyPart| part.prefix.is_none() && !spec.layout.column(part.column).nullable;
    let key = spec.indexes[1..].iter().find(|index| index.unique && index.parts.iter().all(never_null))?;
    Some(&key.parts)
}

fn is_blob(spec: &TableSpec, column: usize) -> bool {
    matches!(spec.layout.column(column).ty, ColumnType::Blob { .. })
}

impl Work<'_> {
    /// What events of updates of this table need.
    pub(super) fn needs_of_update(&self, table: &Table) -> Needs {
        match self.needs_of_delete(table) {
            // Which columns the event has is known only when the rows are compared.
            Needs::Columns(Columns { written: None, .. }) => Needs::Whole,
            needs => needs,
        }
    }

    /// What events of deletes of this table need.
    pub(super) fn needs_of_delete(&self, table: &Table) -> Needs {
        let log = self.t.options.log;
        if !self.replicates(table) || !log.full_image {
            return Needs::Nothing;
        }
        let spec = table.spec();
        let no_blob = match log.event_options & event_options::IMAGE {
            MINIMAL => false,
            NOBLOB => true,
            _ => return Needs::Whole,
        };
        if !self.may_leave_columns_out(table) {
            return Needs::Whole;
        }
        Needs::Columns(Columns { no_blob, written: self.t.events.written(spec.id).cloned() })
    }
}

impl Work<'_> {
    /// Whether an event of this table has fewer columns with one of the images that leave some out.
    pub(crate) fn may_leave_columns_out(&self, table: &Table) -> bool {
        let spec = table.spec();
        let image = self.t.options.log.event_options & event_options::IMAGE;
        let has_blobs = || (0..spec.layout.columns().len()).any(|i| is_blob(spec, i));
        event_key(spec).is_some() && (image != NOBLOB || has_blobs())
    }
}

impl ContextScratch {
    fn shape_columns(&mut self, spec: &TableSpec) {
        self.shapes.clear();
        self.shapes.extend(spec.layout.columns().iter().map(|column| match column.ty.fixed_len() {
            Some(len) => Shape::Fixed(len as u32),
            None => Shape::Prefixed(column.ty.length_bytes() as u8),
        }));
    }

    pub(super) fn of_delete(
        &mut self,
        spec: &TableSpec,
        columns: &Columns,
        body: &[u8],
    ) -> Result<&[u8], Corruption> {
        self.shape_columns(spec);
        self.buffer.of_delete(&self.shapes, body, &|i| columns.before(spec, i))
    }

    pub(super) fn of_update(
        &mut self,
        spec: &TableSpec,
        columns: &Columns,
        (old, new): (&[u8], &[u8]),
        splices: Splices<'_>,
    ) -> Result<&[u8], Corruption> {
        self.shape_columns(spec);
        let (before, after) = (|i: usize| columns.before(spec, i), |i: usize| columns.after(spec, i));
        self.buffer.of_update(&self.shapes, (old, &before), (new, &after), splices)
    }
}
