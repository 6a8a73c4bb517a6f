//! Expressions after name resolution: owned, compact, evaluated many times.
//!
//! # Slots
//! Every table occurrence of a statement, in whatever query block, has a slot number of its own; so have the results of
//! grouping. A column is (slot, column number). A correlated subquery therefore reads its outer row like any other column:
//! the outer block's slot is still positioned on it.
//!
//! # Invariants
//! 1. An `Expr` holds no name that still needs resolution and no reference into the syntax tree.
//! 2. Aggregates occur only in `SelectPlan::group`; elsewhere they have become columns of the group's slot.

use std::sync::Arc;

use catalog::program::RoutineDef;
use charset::Collation;
use types::{FixedKind, Value};

use crate::function::Function;
use crate::meta::ExprType;
use crate::plan::QueryPlan;

/// A table occurrence of a statement.
pub type Slot = u16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnRef {
    pub slot: Slot,
    pub column: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// `<=>`
    NullSafeEq,
}

impl CompareOp {
    /// The operator with its sides exchanged.
    #[must_use]
    pub const fn flip(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            same => same,
        }
    }
    pub const fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Eq | Self::NullSafeEq => order.is_eq(),
            Self::Ne => order.is_ne(),
            Self::Lt => order.is_lt(),
            Self::Le => order.is_le(),
            Self::Gt => order.is_gt(),
            Self::Ge => order.is_ge(),
        }
    }
    pub const fn text(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "<>",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::NullSafeEq => "<=>",
        }
    }
}

/// How two values are compared; decided once from their static types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareAs {
    /// Both sides are integers.
    Int,
    Decimal,
    Double,
    Text(Collation),
    Temporal,
    /// UUID, INET4, INET6: a text that is none makes the comparison UNKNOWN.
    Fixed(FixedKind),
    /// A parameter is involved: the values decide.
    Any(Collation),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithOp {
    Add,
    Sub,
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    Mod,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

impl ArithOp {
    pub const fn text(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::IntDiv => "DIV",
            Self::Mod => "MOD",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
        }
    }
}

/// `IS TRUE`, `IS FALSE`, `IS UNKNOWN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    True,
    False,
    Unknown,
}

/// Target of CAST and of implicit casts of the planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CastTo {
    Signed,
    Unsigned,
    Double,
    Float,
    Decimal { precision: u8, scale: u8 },
    Char { length: Option<u32>, collation: Collation },
    Date,
    Time { fsp: u8 },
    DateTime { fsp: u8 },
    Year,
    Fixed(FixedKind),
}

/// What a query in an expression answers.
#[derive(Debug, Clone)]
pub enum SubqueryKind {
    /// The one value of the one row; NULL when there is none.
    Scalar,
    Exists,
    /// `left IN (subquery)`, or `op ANY` / `op ALL`.
    Compare {
        left: Box<Expr>,
        op: CompareOp,
        compare: CompareAs,
        all: bool,
    },
    /// `row op (subquery)`: NULL when it has no row, an error when it has several.
    Row {
        left: Vec<Expr>,
        op: CompareOp,
        compare: CompareAs,
    },
}

/// A query in an expression.
#[derive(Debug, Clone)]
pub struct Subquery {
    /// Index of its result cache in the execution state.
    pub id: u16,
    pub kind: SubqueryKind,
    pub plan: Box<QueryPlan>,
    /// Reads a column of an outer block: runs again for each outer row.
    pub correlated: bool,
    pub negated: bool,
}

#[derive(Debug, Clone)]
pub enum Expr {
    Const(Value),
    Param(u16),
    Column(ColumnRef),
    /// Two values, three-valued logic.
    Compare {
        op: CompareOp,
        compare: CompareAs,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Xor(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    IsNull {
        arg: Box<Expr>,
        negated: bool,
    },
    IsTruth {
        arg: Box<Expr>,
        truth: Truth,
        negated: bool,
    },
    Arith {
        op: ArithOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Negate(Box<Expr>),
    BitNot(Box<Expr>),
    Between {
        arg: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        compare: [CompareAs; 2],
        negated: bool,
    },
    In {
        arg: Box<Expr>,
        list: Vec<Expr>,
        compare: CompareAs,
        negated: bool,
    },
    Like {
        arg: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        collation: Collation,
        negated: bool,
    },
    /// `CASE WHEN`; the simple form has become comparisons.
    Case {
        arms: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Cast {
        to: CastTo,
        arg: Box<Expr>,
    },
    /// COLLATE: the same text under another collation.
    Collate(Box<Expr>, Collation),
    Call {
        function: Function,
        args: Vec<Expr>,
    },
    Subquery(Box<Subquery>),
    /// `@name`; assignment stores a value and is one.
    UserVariable(Box<str>),
    AssignVariable(Box<str>, Box<Expr>),
    /// `@@[global.]name`: name and whether the global value is meant.
    SystemVariable(Box<(String, bool)>),
    /// DATABASE(), LAST_INSERT_ID() and other values of the session.
    Session(SessionValue, Vec<Expr>),
    /// VALUES(col) in ON DUPLICATE KEY UPDATE: the row that was to be inserted.
    InsertValue(u16),
    /// A row constructor, operand of a comparison of rows.
    Row(Vec<Expr>),
    /// A stored function.
    Routine(Box<RoutineCall>),
}

/// A call of a stored function.
#[derive(Debug, Clone)]
pub struct RoutineCall {
    pub def: Arc<RoutineDef>,
    pub args: Vec<Expr>,
    /// OUT and INOUT parameters, by position, and what gets their values.
    pub outs: Vec<(usize, OutTarget)>,
}

/// A variable that an OUT parameter of a function is written to.
#[derive(Debug, Clone)]
pub enum OutTarget {
    /// A variable of the user, by lower case name.
    User(Box<str>),
    /// A variable of the program around, by parameter.
    Param(u16),
}

/// Functions whose value the session knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionValue {
    Database,
    User,
    CurrentUser,
    ConnectionId,
    /// With an argument: sets it.
    LastInsertId,
    RowCount,
    FoundRows,
    Version,
    CurrentRole,
    /// User locks: GET_LOCK(name, seconds) and its kin.
    GetLock,
    ReleaseLock,
    ReleaseAllLocks,
    IsFreeLock,
    IsUsedLock,
    /// Positions of replicas.
    BinlogGtidPos,
    MasterGtidWait,
    MasterPosWait,
    /// Sequences: database, name; of SETVAL the value, whether it is used, the round.
    NextValue,
    PreviousValue,
    SetValue,
}

impl SessionValue {
    /// Whether evaluating it does something.
    pub fn acts(self) -> bool {
        matches!(
            self,
            Self::LastInsertId
                | Self::GetLock
                | Self::ReleaseLock
                | Self::ReleaseAllLocks
                | Self::BinlogGtidPos
                | Self::MasterGtidWait
                | Self::MasterPosWait
                | Self::NextValue
                | Self::PreviousValue
                | Self::SetValue
        )
    }
}

/// An expression with its static type and its text, which names result columns and appears in messages.
#[derive(Debug, Clone)]
pub struct Typed {
    pub expr: Expr,
    pub ty: ExprType,
}

impl Typed {
    pub fn new(expr: Expr, ty: ExprType) -> Self {
        Self { expr, ty }
    }
}

impl Expr {
    pub const fn int(v: i64) -> Self {
        Self::Const(Value::Int(v))
    }
    /// Direct operands.
    pub fn children<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match self {
            Self::Const(_)
            | Self::Param(_)
            | Self::Column(_)
            | Self::UserVariable(_)
            | Self::SystemVariable(_)
            | Self::InsertValue(_) => {}
            Self::Compare { left, right, .. } | Self::Xor(left, right) | Self::Arith { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Self::And(list)
            | Self::Or(list)
            | Self::Row(list)
            | Self::Session(_, list)
            | Self::Call { args: list, .. } => {
                list.iter().for_each(visit);
            }
            Self::Routine(call) => call.args.iter().for_each(visit),
            Self::Not(arg)
            | Self::IsNull { arg, .. }
            | Self::IsTruth { arg, .. }
            | Self::Negate(arg)
            | Self::BitNot(arg)
            | Self::Cast { arg, .. }
            | Self::Collate(arg, _)
            | Self::AssignVariable(_, arg) => visit(arg),
            Self::Between { arg, low, high, .. } => {
                visit(arg);
                visit(low);
                visit(high);
            }
            Self::In { arg, list, .. } => {
                visit(arg);
                list.iter().for_each(visit);
            }
            Self::Like { arg, pattern, escape, .. } => {
                visit(arg);
                visit(pattern);
                if let Some(escape) = escape {
                    visit(escape);
                }
            }
            Self::Case { arms, otherwise } => {
                for (when, then) in arms {
                    visit(when);
                    visit(then);
                }
                if let Some(otherwise) = otherwise {
                    visit(otherwise);
                }
            }
            Self::Subquery(sub) => {
                match &sub.kind {
                    SubqueryKind::Compare { left, .. } => visit(left),
                    SubqueryKind::Row { left, .. } => left.iter().for_each(&mut *visit),
                    SubqueryKind::Scalar | SubqueryKind::Exists => {}
                }
                sub.plan.outer_exprs(visit);
            }
        }
    }

    /// Direct operands, to change; a subquery's own expressions are not visited.
    pub fn children_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Self::Const(_)
            | Self::Param(_)
            | Self::Column(_)
            | Self::UserVariable(_)
            | Self::SystemVariable(_)
            | Self::InsertValue(_) => {}
            Self::Compare { left, right, .. } | Self::Xor(left, right) | Self::Arith { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Self::And(list)
            | Self::Or(list)
            | Self::Row(list)
            | Self::Session(_, list)
            | Self::Call { args: list, .. } => {
                list.iter_mut().for_each(visit);
            }
            Self::Routine(call) => call.args.iter_mut().for_each(visit),
            Self::Not(arg)
            | Self::IsNull { arg, .. }
            | Self::IsTruth { arg, .. }
            | Self::Negate(arg)
            | Self::BitNot(arg)
            | Self::Cast { arg, .. }
            | Self::Collate(arg, _)
            | Self::AssignVariable(_, arg) => visit(arg),
            Self::Between { arg, low, high, .. } => {
                visit(arg);
                visit(low);
                visit(high);
            }
            Self::In { arg, list, .. } => {
                visit(arg);
                list.iter_mut().for_each(visit);
            }
            Self::Like { arg, pattern, escape, .. } => {
                visit(arg);
                visit(pattern);
                if let Some(escape) = escape {
                    visit(escape);
                }
            }
            Self::Case { arms, otherwise } => {
                for (when, then) in arms {
                    visit(when);
                    visit(then);
                }
                if let Some(otherwise) = otherwise {
                    visit(otherwise);
                }
            }
            Self::Subquery(sub) => match &mut sub.kind {
                SubqueryKind::Compare { left, .. } => visit(left),
                SubqueryKind::Row { left, .. } => left.iter_mut().for_each(visit),
                SubqueryKind::Scalar | SubqueryKind::Exists => {}
            },
        }
    }

    /// Calls `visit` for every column read here or in a query inside.
    pub fn columns(&self, visit: &mut dyn FnMut(ColumnRef)) {
        if let Self::Column(c) = self {
            visit(*c);
        }
        self.children(&mut |child| child.columns(visit));
    }

    /// Slots whose row this expression needs.
    pub fn slots(&self) -> SlotSet {
        let mut set = SlotSet::default();
        self.columns(&mut |c| set.insert(c.slot));
        set
    }

    /// True when the value cannot change within one execution.
    pub fn is_fixed(&self) -> bool {
        let mut fixed = self.is_fixed_itself();
        if !matches!(self, Self::Session(..)) {
            self.children(&mut |c| fixed = fixed && c.is_fixed());
        }
        fixed
    }

    /// What stands under it apart.
    fn is_fixed_itself(&self) -> bool {
        match self {
            Self::Column(_)
            | Self::Subquery(_)
            | Self::UserVariable(_)
            | Self::AssignVariable(..)
            | Self::InsertValue(_) => false,
            Self::Session(value, _) => !value.acts(),
            Self::Call { function, .. } => function.is_deterministic(),
            Self::Routine(call) => call.def.deterministic,
            _ => true,
        }
    }

    /// True when it has the same value in every execution.
    pub fn is_constant(&self) -> bool {
        let mut constant = match self {
            Self::Param(_) | Self::Session(..) | Self::SystemVariable(_) | Self::Routine(_) => false,
            Self::Call { function, .. } if function.reads_statement() => false,
            // A time becomes a date and time by the statement's day.
            Self::Cast { to: CastTo::Date | CastTo::DateTime { .. }, arg } => {
                !matches!(**arg, Self::Const(Value::Time(_)))
            }
            other => other.is_fixed_itself(),
        };
        self.children(&mut |c| constant = constant && c.is_constant());
        constant
    }

    /// It has a function that changes something or may answer otherwise at each call.
    pub fn is_volatile(&self) -> bool {
        let mut volatile = match self {
            Self::Session(value, _) => value.acts(),
            Self::Call { function, .. } => !function.is_deterministic(),
            Self::Routine(call) => !call.def.deterministic,
            Self::AssignVariable(..) => true,
            _ => false,
        };
        self.children(&mut |c| volatile = volatile || c.is_volatile());
        volatile
    }

    /// Splits `a AND (b AND c)` into its conditions.
    pub fn into_conjuncts(self, out: &mut Vec<Expr>) {
        match self {
            Self::And(list) => list.into_iter().for_each(|e| e.into_conjuncts(out)),
            other => out.push(other),
        }
    }

    /// The conjunction of a list; `None` when it is empty.
    pub fn and(mut list: Vec<Expr>) -> Option<Expr> {
        match list.len() {
            0 => None,
            1 => list.pop(),
            _ => Some(Self::And(list)),
        }
    }
}

/// A small set of slots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SlotSet([u64; 4]);

impl SlotSet {
    /// Slots a statement can have.
    pub const CAPACITY: u16 = 256;

    pub fn insert(&mut self, slot: Slot) {
        self.0[usize::from(slot / 64)] |= 1 << (slot % 64);
    }
    pub fn contains(&self, slot: Slot) -> bool {
        self.0[usize::from(slot / 64)] & (1 << (slot % 64)) != 0
    }
    pub fn is_subset(&self, of: &Self) -> bool {
        self.0.iter().zip(&of.0).all(|(a, b)| a & !b == 0)
    }
    pub fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
    pub fn union(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }
}
