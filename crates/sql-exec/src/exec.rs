//! The state of one running statement, and the environment of its expressions.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::TableHandle;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::eval::Env;
use sql_plan::expr::{ColumnRef, Expr, OutTarget, RoutineCall, SessionValue, Slot, Subquery};
use sql_plan::plan::Plan;
use sql_plan::relations::TableRelations;
use storage::row::{ReadMode, RowError, Strength, WaitMode};
use storage::trx::Isolation;
use types::{Context, Value};

use crate::analysis::Analysis;
use crate::context::{ExecContext, Inside, SlotState, Work};
use crate::errors;
use crate::join::HashTable;
use crate::row_store::KeptRows;
use crate::spill::Space;

/// Whether to go on with the next row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    Stop,
}

/// Rows between two looks at the kill flag.
const INTERRUPT_EVERY: u32 = 1024;

/// One execution of one plan.
pub(crate) struct Exec<'c, 'p> {
    pub(crate) cx: &'c mut ExecContext<'p>,
    pub(crate) params: &'c [Value],
    pub(crate) subqueries: Vec<Option<CachedSubquery>>,
    /// Rows of derived and virtual tables, by slot.
    pub(crate) derived: HashMap<Slot, Arc<KeptRows>>,
    pub(crate) hashes: HashMap<Slot, Arc<HashTable>>,
    /// What the last round added to each recursive table.
    pub(crate) working: HashMap<Slot, Arc<KeptRows>>,
    /// SQL_CALC_FOUND_ROWS: the rows that the query just run has without its LIMIT.
    pub(crate) found: Option<u64>,
    /// Rows of RETURNING, sent when the statement has succeeded.
    pub(crate) returned: Vec<Vec<Value>>,
    /// LIMIT ROWS EXAMINED: how many rows may still be looked at.
    pub(crate) examine: Option<u64>,
    /// What sorts and what is gathered may use, asked of the session once.
    pub(crate) sort_space: Option<Space>,
    pub(crate) row_space: Option<Space>,
    /// ANALYZE: what each step does.
    pub(crate) analysis: Option<Box<Analysis>>,
    pub(crate) relations: Arc<[TableRelations]>,
    /// Cascades around the row that is changed now.
    pub(crate) cascades: usize,
    /// Old versions that the statement's updates have left.
    pub(crate) versions: u64,
    /// What FOR PORTION OF has left of the row that is being changed.
    pub(crate) rest: Option<crate::portion::Rest>,
    /// The row an INSERT is about to write, for VALUES(col).
    pub(crate) insert_row: Vec<Value>,
    /// Plain reads lock shared: those of SERIALIZABLE transactions, and those that a change of rows depends on.
    shared_reads: bool,
    rows_until_check: u32,
    pub(crate) reads: crate::reads::Reads,
}

/// The remembered result of an uncorrelated subquery.
#[derive(Debug, Clone)]
pub(crate) enum CachedSubquery {
    Value(Value),
    /// Rows of the right side of IN and of quantified comparisons.
    Rows(Arc<Vec<Vec<Value>>>),
    /// The right side of IN, by key.
    Set(Arc<crate::in_set::InSet>),
}

impl<'c, 'p> Exec<'c, 'p> {
    pub(crate) fn new(plan: &Plan, params: &'c [Value], cx: &'c mut ExecContext<'p>) -> Self {
        let slots = &mut cx.workspace.slots;
        if slots.len() < usize::from(plan.slots) {
            slots.resize_with(usize::from(plan.slots), Default::default);
        }
        for slot in &mut slots[..usize::from(plan.slots)] {
            slot.state = SlotState::Null;
        }
        let shared_reads = cx.settings.locking_reads
            || plan.writes() && cx.trx.options().isolation >= Isolation::RepeatableRead;
        let subqueries = usize::from(plan.subqueries);
        let relations = plan.relations.clone();
        Self {
            shared_reads,
            params,
            relations,
            subqueries: vec![None; subqueries],
            ..Self::of_definitions(cx)
        }
    }

    /// An execution without a plan: expressions of definitions for rows that DDL writes.
    pub(crate) fn of_definitions(cx: &'c mut ExecContext<'p>) -> Self {
        Self {
            cx,
            params: &[],
            shared_reads: false,
            subqueries: Vec::new(),
            derived: HashMap::new(),
            hashes: HashMap::new(),
            working: HashMap::new(),
            found: None,
            returned: Vec::new(),
            examine: None,
            sort_space: None,
            row_space: None,
            analysis: None,
            relations: Arc::new([]),
            cascades: 0,
            versions: 0,
            rest: None,
            insert_row: Vec::new(),
            rows_until_check: INTERRUPT_EVERY,
            reads: crate::reads::Reads::default(),
        }
    }

    /// Called for each row that is looked at: looks at the kill flag now and then.
    pub(crate) fn count_row(&mut self) -> SqlResult<()> {
        if let Some(left) = &mut self.examine {
            let Some(fewer) = left.checked_sub(1) else { return Err(SqlError::RowsExamined) };
            *left = fewer;
        }
        self.cx.warnings.next_row();
        self.rows_until_check -= 1;
        if self.rows_until_check == 0 {
            self.rows_until_check = INTERRUPT_EVERY;
            self.cx.session.count(Work::RowsRead, u64::from(INTERRUPT_EVERY));
            if self.cx.session.interrupted() {
                return Err(SqlError::Interrupted);
            }
        }
        Ok(())
    }

    /// The statement has ended: counts the rows since the last look at the kill flag.
    pub(crate) fn tell_rows_read(&mut self) {
        let rows = INTERRUPT_EVERY - self.rows_until_check;
        self.rows_until_check = INTERRUPT_EVERY;
        self.cx.session.count(Work::RowsRead, u64::from(rows));
        self.tell_reads();
    }

    pub(crate) fn set_values(&mut self, slot: Slot, values: Vec<Value>) {
        let row = &mut self.cx.workspace.slots[usize::from(slot)];
        row.values = values;
        row.state = SlotState::Values;
    }

    pub(crate) fn set_null(&mut self, slot: Slot) {
        self.cx.workspace.slots[usize::from(slot)].state = SlotState::Null;
    }

    /// Evaluates an optional condition: absent is true.
    pub(crate) fn passes(&mut self, condition: Option<&Expr>) -> SqlResult<bool> {
        match condition {
            None => Ok(true),
            Some(e) => Ok(e.eval_truth(self)? == Some(true)),
        }
    }

    pub(crate) fn row_error(&self, error: RowError, table: &TableHandle, body: Option<&[u8]>) -> SqlError {
        errors::row_error(error, table, body, self.cx.values)
    }

    /// Shared locks for all reads that follow: rows of a query go into a new table.
    pub(crate) fn lock_what_is_read(mut self) -> Self {
        self.shared_reads |= self.cx.trx.options().isolation >= Isolation::RepeatableRead;
        self
    }

    /// The mode of a read that the plan asks to lock, or the session's for plain reads.
    pub(crate) fn read_mode(
        &self,
        lock: Option<(sql_plan::plan::LockMode, sql_plan::plan::LockWaitPolicy)>,
    ) -> ReadMode {
        use sql_plan::plan::{LockMode, LockWaitPolicy};
        match lock {
            None if self.shared_reads => {
                ReadMode::Locking { strength: Strength::Shared, wait: WaitMode::Wait }
            }
            None => ReadMode::Consistent,
            Some((mode, wait)) => ReadMode::Locking {
                strength: match mode {
                    LockMode::Shared => Strength::Shared,
                    LockMode::Exclusive => Strength::Exclusive,
                },
                wait: match wait {
                    LockWaitPolicy::Default | LockWaitPolicy::Seconds(1..) => WaitMode::Wait,
                    LockWaitPolicy::NoWait | LockWaitPolicy::Seconds(0) => WaitMode::NoWait,
                    LockWaitPolicy::SkipLocked => WaitMode::SkipLocked,
                },
            },
        }
    }
}

impl Env for Exec<'_, '_> {
    fn column(&mut self, column: ColumnRef) -> SqlResult<Value> {
        let slot = &self.cx.workspace.slots[usize::from(column.slot)];
        slot.column(usize::from(column.column)).map_err(|c| errors::corrupt(&c))
    }
    fn param(&self, n: u16) -> Value {
        let written = self.cx.workspace.outs.iter().rev().find(|(slot, _)| *slot == n);
        if let Some((_, value)) = written {
            return value.clone();
        }
        self.params.get(usize::from(n)).cloned().unwrap_or_default()
    }
    fn context(&mut self) -> &mut Context {
        self.cx.values
    }
    fn subquery(&mut self, subquery: &Subquery) -> SqlResult<Value> {
        crate::subquery::eval(self, subquery)
    }
    fn insert_value(&mut self, column: u16) -> SqlResult<Value> {
        Ok(self.insert_row.get(usize::from(column)).cloned().unwrap_or_default())
    }
    fn user_variable(&mut self, name: &str) -> Value {
        self.cx.session.user_variable(name)
    }
    fn set_user_variable(&mut self, name: &str, value: &Value) {
        self.cx.session.set_user_variable(name, value);
    }
    fn system_variable(&mut self, name: &str, global: bool) -> SqlResult<Value> {
        self.cx
            .session
            .system_variable(name, global)
            .ok_or_else(|| SqlError::UnknownVariable(name.to_owned()))
    }
    fn routine(&mut self, call: &RoutineCall, args: Vec<Value>) -> SqlResult<Value> {
        let cx = &mut *self.cx;
        let settings = cx.settings;
        let inside = Inside { trx: cx.trx, values: cx.values, warnings: cx.warnings, settings };
        let (value, params) = cx.session.call_routine(call, args, inside)?;
        for (i, target) in &call.outs {
            let out = params.get(*i).cloned().unwrap_or_default();
            match target {
                OutTarget::User(name) => cx.session.set_user_variable(name, &out),
                OutTarget::Param(slot) => cx.workspace.outs.push((*slot, out)),
            }
        }
        Ok(value)
    }
    fn session_value(&mut self, which: SessionValue, args: &[Value]) -> SqlResult<Value> {
        self.cx.session.session_value(which, args, self.cx.warnings)
    }
}
