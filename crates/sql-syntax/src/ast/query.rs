//! SELECT, VALUES, WITH, set operations and what stands in FROM.

use super::{Expr, Ident, ObjectName};

/// A query with the clauses that apply to its whole result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Query<'a> {
    pub with: Option<&'a With<'a>>,
    pub body: QueryBody<'a>,
    pub order_by: &'a [OrderItem<'a>],
    pub limit: Option<&'a Limit<'a>>,
    pub lock: Option<RowLock>,
    pub into: Option<&'a SelectInto<'a>>,
    /// `PROCEDURE ANALYSE(...)`
    pub procedure: Option<&'a super::Call<'a>>,
}

impl<'a> Query<'a> {
    /// A SELECT alone.
    pub fn of(select: &'a Select<'a>, limit: Option<&'a Limit<'a>>) -> Self {
        let body = QueryBody::Select(select);
        Self { with: None, body, order_by: &[], limit, lock: None, into: None, procedure: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueryBody<'a> {
    Select(&'a Select<'a>),
    /// `VALUES (1, 2), (3, 4)`
    Values(&'a [&'a [Expr<'a>]]),
    /// `( query )` with clauses of its own.
    Nested(&'a Query<'a>),
    SetOperation(&'a SetOperation<'a>),
}

/// `first op term op term ...` of one precedence level, applied from the left. INTERSECT binds tighter than UNION
/// and EXCEPT and comes as a `SetOperation` inside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetOperation<'a> {
    pub first: QueryBody<'a>,
    pub rest: &'a [SetTerm<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetTerm<'a> {
    pub op: SetOp,
    /// `ALL`; otherwise DISTINCT.
    pub all: bool,
    pub body: QueryBody<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetOp {
    Union,
    Except,
    Intersect,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct With<'a> {
    pub recursive: bool,
    pub tables: &'a [CommonTable<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommonTable<'a> {
    pub name: Ident<'a>,
    pub columns: &'a [Ident<'a>],
    pub query: &'a Query<'a>,
    /// `CYCLE columns RESTRICT`
    pub cycle: &'a [Ident<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Select<'a> {
    pub options: SelectOptions,
    pub items: &'a [SelectItem<'a>],
    /// Comma list; empty without FROM and for `FROM DUAL`.
    pub from: &'a [TableRef<'a>],
    pub filter: Option<Expr<'a>>,
    pub group_by: &'a [OrderItem<'a>],
    pub rollup: bool,
    pub having: Option<Expr<'a>>,
    pub windows: &'a [NamedWindow<'a>],
}

impl<'a> Select<'a> {
    /// `SELECT items FROM from WHERE filter`.
    pub fn of(items: &'a [SelectItem<'a>], from: &'a [TableRef<'a>], filter: Option<Expr<'a>>) -> Self {
        let options = SelectOptions::default();
        Self { options, items, from, filter, group_by: &[], rollup: false, having: None, windows: &[] }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SelectOptions {
    pub distinct: bool,
    pub straight_join: bool,
    pub high_priority: bool,
    pub small_result: bool,
    pub big_result: bool,
    pub buffer_result: bool,
    pub calc_found_rows: bool,
    /// `SQL_CACHE` is `Some(true)`, `SQL_NO_CACHE` `Some(false)`.
    pub cache: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SelectItem<'a> {
    /// `*`
    All,
    /// `table.*`
    AllOf(ObjectName<'a>),
    Expr(SelectExpr<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectExpr<'a> {
    pub expr: Expr<'a>,
    pub alias: Option<Ident<'a>>,
    /// The expression as written: the name of a column without alias that is no plain column.
    pub text: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderItem<'a> {
    pub expr: Expr<'a>,
    pub descending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit<'a> {
    /// Row count; literal, parameter or program variable. `None` with only ROWS EXAMINED.
    pub count: Option<Expr<'a>>,
    pub offset: Option<Expr<'a>>,
    /// `FETCH FIRST n ROWS WITH TIES`
    pub with_ties: bool,
    /// `ROWS EXAMINED n`
    pub rows_examined: Option<Expr<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLock {
    pub strength: LockStrength,
    pub wait: LockWait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockStrength {
    /// `LOCK IN SHARE MODE`
    Shared,
    /// `FOR UPDATE`
    Exclusive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockWait {
    /// `lock_wait_timeout` of the session.
    Default,
    NoWait,
    /// `WAIT seconds`
    Seconds(u64),
    SkipLocked,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SelectInto<'a> {
    Variables(&'a [IntoTarget<'a>]),
    OutFile { path: &'a [u8], charset: Option<Ident<'a>>, format: super::FileFormat<'a> },
    DumpFile(&'a [u8]),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IntoTarget<'a> {
    /// `@name`
    User(Ident<'a>),
    /// A variable of the stored program, or a field of a row variable.
    Local { name: Ident<'a>, field: Option<Ident<'a>> },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TableRef<'a> {
    Table(&'a TableFactor<'a>),
    Derived(&'a Derived<'a>),
    Join(&'a Join<'a>),
    /// `(a, b)` inside a join: a comma list, or one join in parentheses.
    List(&'a [TableRef<'a>]),
    JsonTable(&'a JsonTable<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableFactor<'a> {
    pub name: ObjectName<'a>,
    pub partitions: &'a [Ident<'a>],
    pub system_time: Option<&'a SystemTime<'a>>,
    pub alias: Option<Ident<'a>>,
    pub hints: &'a [IndexHint<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Derived<'a> {
    pub query: &'a Query<'a>,
    /// For the versioned tables inside.
    pub system_time: Option<&'a SystemTime<'a>>,
    pub alias: Ident<'a>,
    pub columns: &'a [Ident<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Join<'a> {
    pub left: TableRef<'a>,
    pub right: TableRef<'a>,
    pub kind: JoinKind,
    pub natural: bool,
    /// `STRAIGHT_JOIN`
    pub straight: bool,
    pub condition: JoinCondition<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JoinCondition<'a> {
    None,
    On(Expr<'a>),
    Using(&'a [Ident<'a>]),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexHint<'a> {
    pub kind: IndexHintKind,
    pub scope: IndexHintScope,
    /// Empty: `USE INDEX ()`.
    pub indexes: &'a [Ident<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexHintScope {
    All,
    Join,
    OrderBy,
    GroupBy,
}

/// `FOR SYSTEM_TIME ...` of a system-versioned table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SystemTime<'a> {
    AsOf(SystemPoint<'a>),
    Between(SystemPoint<'a>, SystemPoint<'a>),
    FromTo(SystemPoint<'a>, SystemPoint<'a>),
    All,
    /// `BEFORE` exists in DELETE HISTORY only.
    Before(SystemPoint<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SystemPoint<'a> {
    /// `TRANSACTION n`; otherwise a time.
    pub transaction: bool,
    pub value: Expr<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedWindow<'a> {
    pub name: Ident<'a>,
    pub spec: WindowSpec<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSpec<'a> {
    /// The window that this one refines.
    pub base: Option<Ident<'a>>,
    pub partition_by: &'a [OrderItem<'a>],
    pub order_by: &'a [OrderItem<'a>],
    pub frame: Option<&'a WindowFrame<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowFrame<'a> {
    pub unit: FrameUnit,
    pub start: FrameBound<'a>,
    pub end: Option<FrameBound<'a>>,
    pub exclude: FrameExclude,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameUnit {
    Rows,
    Range,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameBound<'a> {
    UnboundedPreceding,
    UnboundedFollowing,
    CurrentRow,
    Preceding(Expr<'a>),
    Following(Expr<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameExclude {
    NoOthers,
    CurrentRow,
    Group,
    Ties,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JsonTable<'a> {
    pub document: Expr<'a>,
    pub path: &'a [u8],
    pub columns: &'a [JsonColumn<'a>],
    pub alias: Ident<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JsonColumn<'a> {
    Ordinality(Ident<'a>),
    Value {
        name: Ident<'a>,
        data_type: super::DataType<'a>,
        type_text: &'a [u8],
        path: &'a [u8],
        on_empty: JsonOn<'a>,
        on_error: JsonOn<'a>,
    },
    Exists {
        name: Ident<'a>,
        data_type: super::DataType<'a>,
        type_text: &'a [u8],
        path: &'a [u8],
    },
    Nested {
        path: &'a [u8],
        columns: &'a [JsonColumn<'a>],
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JsonOn<'a> {
    Null,
    Error,
    Default(&'a [u8]),
}
