//! Stored programs: procedures, functions, triggers, events, packages and the statements of their bodies.

use super::{Account, CreateMode, DataType, Expr, Ident, ObjectName, Query, Statement};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateRoutine<'a> {
    pub mode: CreateMode,
    pub kind: RoutineKind,
    pub definer: Option<Account<'a>>,
    /// CREATE AGGREGATE FUNCTION
    pub aggregate: bool,
    pub name: ObjectName<'a>,
    pub params: &'a [Param<'a>],
    /// Between the parentheses, as written.
    pub params_text: &'a [u8],
    pub returns: Option<DataType<'a>>,
    pub characteristics: &'a [Characteristic<'a>],
    pub body: RoutineBody<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RoutineBody<'a> {
    Sql {
        statement: ProgramStatement<'a>,
        /// As written.
        text: &'a [u8],
    },
    /// `CREATE FUNCTION f RETURNS STRING SONAME 'lib'`
    Soname(&'a [u8]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoutineKind {
    Procedure,
    Function,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param<'a> {
    pub mode: ParamMode,
    pub name: Ident<'a>,
    pub data_type: VariableType<'a>,
    pub default: Option<Expr<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamMode {
    In,
    Out,
    InOut,
}

/// Type of a parameter or program variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VariableType<'a> {
    Type(DataType<'a>),
    /// `TYPE OF [[db.]table.]column`; a name alone is a variable.
    TypeOf(super::ColumnRef<'a>),
    /// `ROW TYPE OF [db.]table`
    RowTypeOf(ObjectName<'a>),
    /// `ROW (a INT, ...)`
    Row(&'a [(Ident<'a>, DataType<'a>)]),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Characteristic<'a> {
    Comment(&'a [u8]),
    LanguageSql,
    NoSql,
    ContainsSql,
    ReadsSqlData,
    ModifiesSqlData,
    Deterministic(bool),
    /// `SQL SECURITY INVOKER` is true.
    Invoker(bool),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterRoutine<'a> {
    pub kind: RoutineKind,
    pub name: ObjectName<'a>,
    pub characteristics: &'a [Characteristic<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropRoutine<'a> {
    pub kind: DropRoutineKind,
    pub if_exists: bool,
    pub name: ObjectName<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropRoutineKind {
    Procedure,
    Function,
    Package,
    PackageBody,
}

/// DROP TRIGGER, DROP EVENT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropObject<'a> {
    pub if_exists: bool,
    pub name: ObjectName<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreatePackage<'a> {
    pub mode: CreateMode,
    pub definer: Option<Account<'a>>,
    pub body: bool,
    pub name: ObjectName<'a>,
    pub characteristics: &'a [Characteristic<'a>],
    /// Between the characteristics and END, as written.
    pub text: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateTrigger<'a> {
    pub mode: CreateMode,
    pub definer: Option<Account<'a>>,
    pub name: ObjectName<'a>,
    pub before: bool,
    pub event: TriggerEvent,
    pub table: ObjectName<'a>,
    pub order: Option<TriggerOrder<'a>>,
    pub header: TriggerHeader<'a>,
    pub body: ProgramStatement<'a>,
    pub text: &'a [u8],
}

/// The text before a trigger's body, as written, each part with the space behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggerHeader<'a> {
    /// From TRIGGER on.
    pub event: &'a [u8],
    /// From ON on.
    pub table: &'a [u8],
    /// From FOR on.
    pub rest: &'a [u8],
    /// FOLLOWS or PRECEDES.
    pub order: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TriggerOrder<'a> {
    Follows(Ident<'a>),
    Precedes(Ident<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateEvent<'a> {
    /// From EVENT to the end, as written.
    pub statement: &'a [u8],
    pub mode: CreateMode,
    pub definer: Option<Account<'a>>,
    pub name: ObjectName<'a>,
    pub schedule: Schedule<'a>,
    pub preserve: Option<bool>,
    pub status: Option<EventStatus>,
    pub comment: Option<&'a [u8]>,
    pub body: ProgramStatement<'a>,
    pub text: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterEvent<'a> {
    pub definer: Option<Account<'a>>,
    pub name: ObjectName<'a>,
    pub schedule: Option<Schedule<'a>>,
    pub preserve: Option<bool>,
    pub rename: Option<ObjectName<'a>>,
    pub status: Option<EventStatus>,
    pub comment: Option<&'a [u8]>,
    pub body: Option<(ProgramStatement<'a>, &'a [u8])>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule<'a> {
    At(Expr<'a>),
    Every { amount: Expr<'a>, unit: super::IntervalUnit, starts: Option<Expr<'a>>, ends: Option<Expr<'a>> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventStatus {
    Enable,
    Disable,
    DisableOnSlave,
}

/// A statement of a stored program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProgramStatement<'a> {
    /// A plain statement, with its text: that is what the binary log and the process list show.
    Sql {
        statement: Statement<'a>,
        text: &'a [u8],
    },
    Block(&'a Block<'a>),
    If {
        branches: &'a [(Expr<'a>, &'a [ProgramStatement<'a>])],
        otherwise: &'a [ProgramStatement<'a>],
    },
    Case(&'a CaseStatement<'a>),
    Loop(&'a LoopStatement<'a>),
    Leave(Ident<'a>),
    Iterate(Ident<'a>),
    Return(Expr<'a>),
    Open {
        cursor: Ident<'a>,
        args: &'a [Expr<'a>],
    },
    Fetch {
        cursor: Ident<'a>,
        into: &'a [super::IntoTarget<'a>],
    },
    FetchGroupNextRow,
    Close(Ident<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block<'a> {
    pub label: Option<Ident<'a>>,
    pub declarations: &'a [Declaration<'a>],
    pub statements: &'a [ProgramStatement<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Declaration<'a> {
    Variables { names: &'a [Ident<'a>], data_type: VariableType<'a>, default: Option<Expr<'a>> },
    Condition { name: Ident<'a>, value: ConditionValue<'a> },
    Cursor { name: Ident<'a>, params: &'a [Param<'a>], query: CursorQuery<'a> },
    Handler { kind: HandlerKind, conditions: &'a [ConditionValue<'a>], statement: ProgramStatement<'a> },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CursorQuery<'a> {
    Query(&'a Query<'a>),
    /// `CURSOR FOR prepared_statement_name`
    Prepared(Ident<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandlerKind {
    Continue,
    Exit,
    Undo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionValue<'a> {
    SqlState(&'a [u8]),
    ErrorCode(u64),
    Name(Ident<'a>),
    SqlWarning,
    NotFound,
    SqlException,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaseStatement<'a> {
    pub operand: Option<Expr<'a>>,
    pub whens: &'a [(Expr<'a>, &'a [ProgramStatement<'a>])],
    /// `None`: no ELSE, which is an error at run time when nothing matches.
    pub otherwise: Option<&'a [ProgramStatement<'a>]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopStatement<'a> {
    pub label: Option<Ident<'a>>,
    pub kind: LoopKind<'a>,
    pub statements: &'a [ProgramStatement<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoopKind<'a> {
    Loop,
    While(Expr<'a>),
    /// `REPEAT ... UNTIL condition`
    Repeat(Expr<'a>),
    /// `FOR i IN [REVERSE] low .. high`
    ForRange {
        variable: Ident<'a>,
        reverse: bool,
        low: Expr<'a>,
        high: Expr<'a>,
    },
    ForCursor {
        variable: Ident<'a>,
        cursor: Ident<'a>,
        args: &'a [Expr<'a>],
    },
    ForQuery {
        variable: Ident<'a>,
        query: &'a Query<'a>,
    },
}
