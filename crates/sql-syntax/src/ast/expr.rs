//! Expressions: literals, columns, variables, operators, calls. `Expr` is at most 40 bytes.

use super::{Ident, ObjectName, Query, SystemVariable};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expr<'a> {
    Literal(Literal<'a>),
    Column(ColumnRef<'a>),
    /// `?`, numbered from 0 in order of appearance.
    Param(u32),
    /// `@name`
    UserVariable(Ident<'a>),
    /// `@name := value`
    AssignVariable {
        name: Ident<'a>,
        value: &'a Expr<'a>,
    },
    /// `@@[scope.]name`
    SystemVariable(&'a SystemVariable<'a>),
    Unary {
        op: UnaryOp,
        expr: &'a Expr<'a>,
    },
    Binary {
        op: BinaryOp,
        left: &'a Expr<'a>,
        right: &'a Expr<'a>,
    },
    /// Two or more conditions. `XOR` is a `Binary`.
    And(&'a [Expr<'a>]),
    Or(&'a [Expr<'a>]),
    /// `expr IS [NOT] NULL | TRUE | FALSE | UNKNOWN`
    Is {
        expr: &'a Expr<'a>,
        test: IsTest,
        negated: bool,
    },
    Between(&'a Between<'a>),
    InList {
        expr: &'a Expr<'a>,
        list: &'a [Expr<'a>],
        negated: bool,
    },
    InQuery {
        expr: &'a Expr<'a>,
        query: &'a Query<'a>,
        negated: bool,
    },
    Like(&'a Like<'a>),
    /// `expr [NOT] REGEXP pattern`
    Regexp {
        expr: &'a Expr<'a>,
        pattern: &'a Expr<'a>,
        negated: bool,
    },
    /// `(a, b, ...)` or `ROW(a, b, ...)`
    Row(&'a [Expr<'a>]),
    Subquery(&'a Query<'a>),
    Exists(&'a Query<'a>),
    /// `left op ANY | ALL (query)`
    Quantified(&'a Quantified<'a>),
    Case(&'a Case<'a>),
    Cast(&'a Cast<'a>),
    /// `CONVERT(expr USING charset)`
    ConvertUsing {
        expr: &'a Expr<'a>,
        charset: Ident<'a>,
    },
    Collate {
        expr: &'a Expr<'a>,
        collation: Ident<'a>,
    },
    /// `date + INTERVAL n unit`, and DATE_ADD and its kin.
    DateAdd(&'a DateAdd<'a>),
    /// A function by its name: built in, loadable or stored.
    Call(&'a Call<'a>),
    /// A function whose arguments have a syntax of their own.
    Special(&'a Special<'a>),
    Aggregate(&'a Aggregate<'a>),
    /// `function(...) OVER ...`; `function` is a `Call` or an `Aggregate`.
    Window(&'a WindowCall<'a>),
    /// `DEFAULT` as a value in INSERT and UPDATE.
    Default,
    /// `IGNORE` as a value in INSERT and UPDATE.
    Ignore,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal<'a> {
    Null,
    True,
    False,
    Int(u64),
    /// `1.5`, or an integer above the range of `Int`; as written.
    Decimal(&'a [u8]),
    /// `1e3`, as written.
    Double(&'a [u8]),
    /// Unescaped; adjacent literals are joined.
    String(&'a [u8]),
    /// `N'text'`: utf8mb3.
    National(&'a [u8]),
    /// `_charset'text'` and `_charset x'..'`
    Introduced(&'a Introduced<'a>),
    /// `x'4142'`: a string, decoded.
    HexString(&'a [u8]),
    /// `0x4142`: a string, or a number where a number is wanted; decoded.
    HexHybrid(&'a [u8]),
    /// `b'0101'`, `0b0101`: as `HexHybrid`.
    Bits(&'a [u8]),
    /// `DATE'2026-01-01'`
    Date(&'a [u8]),
    Time(&'a [u8]),
    Timestamp(&'a [u8]),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Introduced<'a> {
    /// Without the underscore.
    pub charset: Ident<'a>,
    /// `String`, `HexString`, `HexHybrid` or `Bits`.
    pub value: Literal<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnRef<'a> {
    pub table: Option<&'a ObjectName<'a>>,
    pub name: Ident<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    Neg,
    BitNot,
    /// `NOT x` and `!x`.
    Not,
    /// `BINARY x`
    Binary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    /// `DIV`
    IntDiv,
    Mod,
    BitOr,
    BitAnd,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Eq,
    /// `<=>`
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Xor,
    /// `||` under PIPES_AS_CONCAT
    Concat,
    SoundsLike,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IsTest {
    Null,
    True,
    False,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between<'a> {
    pub expr: Expr<'a>,
    pub low: Expr<'a>,
    pub high: Expr<'a>,
    pub negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Like<'a> {
    pub expr: Expr<'a>,
    pub pattern: Expr<'a>,
    pub escape: Option<Expr<'a>>,
    pub negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantified<'a> {
    pub left: Expr<'a>,
    /// One of the comparisons but `<=>`.
    pub op: BinaryOp,
    /// `ALL`; otherwise `ANY` or `SOME`.
    pub all: bool,
    pub query: &'a Query<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case<'a> {
    pub operand: Option<Expr<'a>>,
    pub whens: &'a [When<'a>],
    pub otherwise: Option<Expr<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct When<'a> {
    pub condition: Expr<'a>,
    pub result: Expr<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cast<'a> {
    pub expr: Expr<'a>,
    pub target: CastType<'a>,
}

/// The types that CAST and CONVERT accept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CastType<'a> {
    Binary {
        length: Option<u64>,
    },
    Char {
        length: Option<u64>,
        charset: super::CharsetSpec<'a>,
    },
    /// `NCHAR(n)`
    NationalChar {
        length: Option<u64>,
    },
    Signed,
    Unsigned,
    Decimal {
        precision: Option<u64>,
        scale: Option<u64>,
    },
    Float,
    Double {
        precision: Option<u64>,
        scale: Option<u64>,
    },
    Date,
    Time {
        precision: Option<u64>,
    },
    DateTime {
        precision: Option<u64>,
    },
    Year,
    /// `INTERVAL DAY_SECOND(n)`, a MariaDB type of CAST only.
    IntervalDaySecond {
        precision: Option<u64>,
    },
    /// A type by its name: UUID, INET4, INET6, JSON ...
    Named(Ident<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DateAdd<'a> {
    pub date: Expr<'a>,
    pub amount: Expr<'a>,
    pub unit: IntervalUnit,
    pub subtract: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call<'a> {
    /// `database.function(...)` is always a stored function.
    pub database: Option<Ident<'a>>,
    /// As written; compare without case.
    pub name: Ident<'a>,
    pub args: &'a [Expr<'a>],
    /// `f(expr AS name)`, as long as `args`; empty when no argument is named.
    pub arg_names: &'a [Option<Ident<'a>>],
}

/// Calls whose arguments are not a plain list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Special<'a> {
    /// `EXTRACT(unit FROM expr)`
    Extract {
        unit: IntervalUnit,
        expr: Expr<'a>,
    },
    /// `TRIM([side] [what] FROM expr)`; `TRIM(x)` has side Both and no `what`.
    Trim {
        side: TrimSide,
        what: Option<Expr<'a>>,
        expr: Expr<'a>,
    },
    /// `POSITION(needle IN haystack)`
    Position {
        needle: Expr<'a>,
        haystack: Expr<'a>,
    },
    TimestampAdd {
        unit: IntervalUnit,
        amount: Expr<'a>,
        date: Expr<'a>,
    },
    TimestampDiff {
        unit: IntervalUnit,
        from: Expr<'a>,
        to: Expr<'a>,
    },
    /// `GET_FORMAT(DATE | TIME | DATETIME | TIMESTAMP, expr)`; the first as written.
    GetFormat {
        kind: Ident<'a>,
        locale: Expr<'a>,
    },
    /// `CHAR(n, ... USING charset)`
    Char {
        args: &'a [Expr<'a>],
        charset: Option<Ident<'a>>,
    },
    /// `WEIGHT_STRING(expr [AS CHAR(n) | AS BINARY(n)] [LEVEL ...])`
    WeightString {
        expr: Expr<'a>,
        length: Option<u64>,
        binary: bool,
        levels: &'a [WeightLevel],
    },
    /// `MATCH (columns) AGAINST (expr [mode])`
    Match {
        columns: &'a [Expr<'a>],
        against: Expr<'a>,
        mode: MatchMode,
    },
    /// `VALUES(column)` or `VALUE(column)` in ON DUPLICATE KEY UPDATE
    Values(ColumnRef<'a>),
    /// `DEFAULT(column)`
    DefaultOf(ColumnRef<'a>),
    /// `NEXT VALUE FOR sequence`, `NEXTVAL(sequence)`
    NextValue(ObjectName<'a>),
    /// `PREVIOUS VALUE FOR sequence`, `LASTVAL(sequence)`
    PreviousValue(ObjectName<'a>),
    /// `SETVAL(sequence, value [, is_used [, round]])`
    SetValue {
        sequence: ObjectName<'a>,
        value: i128,
        is_used: bool,
        round: u64,
    },
    ColumnCreate(&'a [DynamicColumn<'a>]),
    ColumnAdd {
        column: Expr<'a>,
        items: &'a [DynamicColumn<'a>],
    },
    ColumnGet {
        column: Expr<'a>,
        name: Expr<'a>,
        target: CastType<'a>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DynamicColumn<'a> {
    pub name: Expr<'a>,
    pub value: Expr<'a>,
    pub target: Option<CastType<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightLevel {
    pub from: u64,
    pub to: u64,
    pub descending: bool,
    pub reverse: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchMode {
    Natural,
    NaturalWithExpansion,
    Boolean,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aggregate<'a> {
    pub function: AggregateFunction,
    pub distinct: bool,
    /// Empty for `COUNT(*)`.
    pub args: &'a [Expr<'a>],
    /// GROUP_CONCAT, JSON_ARRAYAGG, PERCENTILE_*.
    pub order_by: &'a [super::OrderItem<'a>],
    /// GROUP_CONCAT
    pub separator: Option<&'a [u8]>,
    pub limit: Option<&'a super::Limit<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    StddevPop,
    StddevSamp,
    VarPop,
    VarSamp,
    GroupConcat,
    JsonArrayAgg,
    JsonObjectAgg,
    PercentileCont,
    PercentileDisc,
    Median,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowCall<'a> {
    pub function: Expr<'a>,
    pub over: Over<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Over<'a> {
    Name(Ident<'a>),
    Spec(&'a super::WindowSpec<'a>),
}
