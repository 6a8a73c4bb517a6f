//! Statements that change rows, and those that read or call without being queries.

use super::{ColumnRef, Expr, Ident, Limit, ObjectName, OrderItem, Query, SelectItem, TableRef};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Insert<'a> {
    /// `REPLACE`
    pub replace: bool,
    pub priority: Priority,
    pub ignore: bool,
    pub table: ObjectName<'a>,
    pub partitions: &'a [Ident<'a>],
    /// Empty: all columns.
    pub columns: &'a [ColumnRef<'a>],
    /// Whether a column list stood there: `INSERT INTO t () VALUES ()`.
    pub has_columns: bool,
    pub source: InsertSource<'a>,
    pub on_duplicate: &'a [Assignment<'a>],
    pub returning: &'a [SelectItem<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InsertSource<'a> {
    /// Rows of `VALUES`; a row may be empty. Values may be `Expr::Default` and `Expr::Ignore`.
    Values(&'a [&'a [Expr<'a>]]),
    /// `SET a = 1, ...`: the columns are in `Insert::columns`, the values here.
    Set(&'a [Expr<'a>]),
    Query(&'a Query<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Priority {
    #[default]
    Normal,
    Low,
    High,
    Delayed,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assignment<'a> {
    pub column: ColumnRef<'a>,
    pub value: Expr<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update<'a> {
    pub low_priority: bool,
    pub ignore: bool,
    /// One plain table, or several: then no ORDER BY and no LIMIT before 11.8.
    pub tables: &'a [TableRef<'a>],
    pub portion: Option<&'a PeriodPortion<'a>>,
    pub assignments: &'a [Assignment<'a>],
    pub filter: Option<Expr<'a>>,
    pub order_by: &'a [OrderItem<'a>],
    pub limit: Option<&'a Limit<'a>>,
}

/// `FOR PORTION OF period FROM a TO b`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeriodPortion<'a> {
    pub period: Ident<'a>,
    pub from: Expr<'a>,
    pub to: Expr<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delete<'a> {
    pub low_priority: bool,
    pub quick: bool,
    pub ignore: bool,
    /// `DELETE HISTORY FROM t BEFORE SYSTEM_TIME x`
    pub history: Option<&'a super::SystemTime<'a>>,
    /// Of the multi-table form: the tables whose rows go. Empty in the single-table form.
    pub targets: &'a [ObjectName<'a>],
    pub tables: &'a [TableRef<'a>],
    pub portion: Option<&'a PeriodPortion<'a>>,
    pub filter: Option<Expr<'a>>,
    pub order_by: &'a [OrderItem<'a>],
    pub limit: Option<&'a Limit<'a>>,
    pub returning: &'a [SelectItem<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadData<'a> {
    pub xml: bool,
    pub priority: Priority,
    pub concurrent: bool,
    pub local: bool,
    pub path: &'a [u8],
    pub duplicates: OnDuplicate,
    pub table: ObjectName<'a>,
    pub partitions: &'a [Ident<'a>],
    pub charset: Option<Ident<'a>>,
    /// LOAD XML: `ROWS IDENTIFIED BY '<tag>'`
    pub row_tag: Option<&'a [u8]>,
    pub format: FileFormat<'a>,
    pub ignore_lines: u64,
    pub targets: &'a [LoadTarget<'a>],
    pub assignments: &'a [Assignment<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnDuplicate {
    Error,
    Replace,
    Ignore,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadTarget<'a> {
    Column(ColumnRef<'a>),
    Variable(Ident<'a>),
}

/// FIELDS and LINES of LOAD DATA and SELECT ... INTO OUTFILE. `None`: the default.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct FileFormat<'a> {
    pub fields_terminated: Option<&'a [u8]>,
    pub fields_enclosed: Option<&'a [u8]>,
    pub optionally_enclosed: bool,
    pub fields_escaped: Option<&'a [u8]>,
    pub lines_starting: Option<&'a [u8]>,
    pub lines_terminated: Option<&'a [u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Handler<'a> {
    pub table: ObjectName<'a>,
    pub action: HandlerAction<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HandlerAction<'a> {
    Open {
        alias: Option<Ident<'a>>,
    },
    Close,
    Read {
        index: Option<Ident<'a>>,
        position: HandlerPosition<'a>,
        filter: Option<Expr<'a>>,
        limit: Option<Limit<'a>>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HandlerPosition<'a> {
    First,
    Next,
    Prev,
    Last,
    /// `op (key, ...)`
    Key {
        op: super::BinaryOp,
        key: &'a [Expr<'a>],
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallStatement<'a> {
    /// `[database.][package.]name`
    pub procedure: ObjectName<'a>,
    pub package: Option<Ident<'a>>,
    pub args: &'a [Expr<'a>],
}
