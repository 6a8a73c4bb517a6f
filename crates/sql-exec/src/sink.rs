//! Where result rows go. The session implements it over its network buffer.
//!
//! # Order of calls
//! `columns` once, then for each row `begin_row`, one field call for each column in order, `end_row`. A statement without a
//! result set calls nothing.

use row_format::ColumnType;
use sql_plan::meta::ColumnMeta;
use types::Value;

/// The client is gone or its buffer refuses more: the statement stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinkClosed;

/// A consumer of result rows.
pub trait RowSink {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<(), SinkClosed>;
    fn begin_row(&mut self);
    /// A column straight from a row body: its packed bytes without length bytes, `None` = NULL.
    fn packed(&mut self, ty: &ColumnType, bytes: Option<&[u8]>);
    fn value(&mut self, value: &Value);
    fn end_row(&mut self) -> Result<(), SinkClosed>;
}
