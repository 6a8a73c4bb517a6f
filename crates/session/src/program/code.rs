//! A stored program ready to run: a list of operations, and the statements and expressions they name.
//!
//! # Layout
//! Blocks, loops and branches have become jumps. Every variable of every block has a slot of its own in one list of values, and a
//! statement sees the variables that its place in the text sees as parameters of its plan (see [`super::names`]).
//!
//! # Invariants
//! 1. A program never changes, but for the plans that its units keep: those are renewed when a table or a setting changed.
//! 2. `Enter` and `Leave` of a block have the same static depth; depths of blocks inside are greater, those of handler bodies too.

use std::sync::{Arc, Mutex, PoisonError};

use catalog::ColumnDef;
use sql_plan::plan::Plan;

use super::names::Names;

pub(crate) type Slot = u16;
pub(crate) type At = usize;

#[derive(Debug)]
pub(crate) struct Program {
    /// `schema.name`, for messages.
    pub name: String,
    pub ops: Vec<Op>,
    /// The line of each operation, as messages count them.
    pub lines: Vec<u32>,
    pub units: Vec<Unit>,
    pub variables: Vec<Variable>,
    pub cursors: Vec<Cursor>,
    pub handlers: Vec<Handler>,
}

#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub def: ColumnDef,
}

/// A statement or expression with its plan.
#[derive(Debug)]
pub(crate) struct Unit {
    pub text: Box<[u8]>,
    pub names: Arc<Names>,
    pub kind: UnitKind,
    plan: Mutex<Option<UnitPlan>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitKind {
    /// A statement that is planned.
    Planned,
    /// One that is parsed and routed each time.
    Routed,
    /// `DO expression`
    Expression,
    /// The query of a cursor.
    Query,
}

#[derive(Debug, Clone)]
pub(crate) struct UnitPlan {
    pub plan: Arc<Plan>,
    /// Of the session's settings.
    pub generation: u64,
    /// No table and no routine: it never goes stale by itself.
    pub pure_expression: bool,
}

impl Unit {
    pub(crate) fn new(text: &[u8], names: Arc<Names>, kind: UnitKind) -> Self {
        Self { text: text.into(), names, kind, plan: Mutex::new(None) }
    }
    pub(crate) fn plan(&self) -> Option<UnitPlan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    pub(crate) fn keep(&self, plan: UnitPlan) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan);
    }
}

#[derive(Debug)]
pub(crate) enum Op {
    Run(usize),
    Set {
        slot: Slot,
        unit: usize,
    },
    SetNull(Slot),
    JumpIfNot {
        unit: usize,
        to: At,
        after: At,
    },
    Jump(At),
    Enter {
        depth: u32,
        cursors: std::ops::Range<usize>,
    },
    /// The handlers of the block, after its variables.
    Handle(Vec<usize>),
    Leave,
    /// LEAVE and ITERATE: closes blocks down to `depth`, then jumps.
    Unwind {
        depth: u32,
        to: At,
    },
    /// The end of a handler's body.
    EndHandler {
        exit: Option<(u32, At)>,
    },
    Open {
        cursor: usize,
        args: Vec<(Slot, usize)>,
    },
    Fetch {
        cursor: usize,
        into: Vec<Target>,
    },
    /// FOR loops: jumps when there is no more row.
    FetchOr {
        cursor: usize,
        into: Vec<Slot>,
        to: At,
    },
    Close {
        cursor: usize,
        quiet: bool,
    },
    /// FETCH GROUP NEXT ROW
    NextRow,
    Return(usize),
    CaseNotFound,
    /// A row variable was given a value that has not as many columns as it.
    WrongColumns(usize),
}

/// Where FETCH puts a value.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Slot(Slot),
    User(Box<str>),
}

#[derive(Debug)]
pub(crate) struct Cursor {
    pub name: String,
    /// Its query, or the name of a prepared statement.
    pub unit: Result<usize, String>,
    /// Variables that only its query sees.
    pub params: Vec<Slot>,
}

#[derive(Debug)]
pub(crate) struct Handler {
    pub conditions: Vec<Matches>,
    pub start: At,
}

/// What a handler is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Matches {
    Errno(u16),
    State([u8; 5]),
    Warning,
    NotFound,
    Exception,
}
