//! Procedures and event bodies: each statement is a statement of the session, with its own transaction under autocommit, and sends its
//! result set to the client.

use std::sync::Arc;

use client_error::ClientError;
use sql_plan::error::{SqlError, Warnings};
use sql_plan::expr::Expr;
use sql_plan::plan::{Plan, PlanKind};
use types::Value;

use super::code::{Unit, UnitKind, UnitPlan, Variable};
use super::names::Names;
use super::pure;
use super::run::{Host, Raised, Rows};
use crate::diagnostics::{Condition, Diagnostics, Level};
use crate::output::Output;
use crate::registry::Kill;
use crate::session::Session;
use crate::statement::{self, Reply};
use crate::{named, sql};

pub(crate) struct SessionHost<'a> {
    pub session: &'a mut Session,
    pub out: &'a mut Output,
    pub reply: Reply,
}

impl SessionHost<'_> {
    fn raise(&mut self, error: ClientError) -> Raised {
        let recorded = std::mem::take(&mut self.session.error_recorded);
        let killed = self.session.entry.killed() != Kill::No;
        Raised { error, source: killed.then(|| Box::new(SqlError::Interrupted)), recorded }
    }

    /// The unit's plan, made or renewed.
    fn plan(&mut self, unit: &Unit) -> Result<UnitPlan, ClientError> {
        if let Some(kept) = unit.plan()
            && kept.generation == self.session.plan_generation
        {
            return Ok(kept);
        }
        self.replan(unit)
    }

    #[cold]
    fn replan(&mut self, unit: &Unit) -> Result<UnitPlan, ClientError> {
        let arena = sql_syntax::Arena::new();
        let parsed = sql_syntax::parse(&arena, &unit.text, self.session.settings.parse)
            .map_err(|e| client_error::connection::syntax(&e))?;
        let plan = self.with_names(&unit.names, |s| s.session.plan(&parsed.statement, 0))?;
        let plan = Arc::new(plan.ok_or_else(|| client_error::connection::not_supported("this statement"))?);
        let kept = UnitPlan {
            pure_expression: unit.kind == UnitKind::Expression && is_pure(&plan),
            plan,
            generation: self.session.plan_generation,
        };
        unit.keep(kept.clone());
        Ok(kept)
    }

    /// Runs `body` where names of the program mean its variables.
    fn with_names<R>(&mut self, names: &Arc<Names>, body: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.session.locals.replace(Arc::clone(names));
        let result = body(self);
        self.session.locals = before;
        result
    }

    fn run_planned(&mut self, unit: &Unit) -> Result<(), ClientError> {
        loop {
            let kept = self.plan(unit)?;
            let tableless = kept.plan.tables.is_empty() && !kept.plan.writes();
            self.session.begin_statement(!tableless);
            self.session.entry.counters.count(sql::counter_of(&kept.plan));
            if kept.plan.writes() {
                self.session.note_text(&unit.text);
            }
            let reply = Reply { quiet: true, more: true, ..self.reply };
            if sql::run_once(self.session, self.out, &kept.plan, reply)? {
                self.session.affected_in_call += self.session.row_count.max(0) as u64;
                return Ok(());
            }
            self.replan(unit)?;
        }
    }

    /// Statements without a plan go through the session's own routing; of their replies only result sets are sent.
    fn run_routed(&mut self, unit: &Unit) -> Result<(), ClientError> {
        let arena = self.session.take_arena();
        let mark = (self.out.writer().len(), self.out.sequence());
        // A CALL inside a CALL comes by here, too: the one around has to learn what the inner one has sent.
        let sent_before = std::mem::take(&mut self.session.sent_rows);
        let reply = Reply { more: true, ..self.reply };
        let outcome = match sql_syntax::parse(&arena, &unit.text, self.session.settings.parse) {
            Ok(parsed) => self.with_names(&unit.names, |s| {
                statement::run_one(s.session, s.out, &parsed, &unit.text, reply).map(|_| ())
            }),
            Err(e) => Err(client_error::connection::syntax(&e)),
        };
        let mut arena = arena;
        arena.reset();
        self.session.give_arena(arena);
        if !self.session.sent_rows && self.out.writer().len() >= mark.0 {
            self.out.writer().rewind(mark.0, mark.1);
        }
        self.session.sent_rows |= sent_before;
        outcome
    }

    /// Values of SELECT ... INTO.
    fn take_into(&mut self, variables: &[Variable]) -> Result<(), Raised> {
        for (slot, value) in self.session.workspace.take_into() {
            let value = self.convert(&variables[usize::from(slot)], value)?;
            self.session.params[usize::from(slot)] = value;
        }
        Ok(())
    }
}

/// Whether an expression needs nothing but variables.
pub(super) fn is_pure(plan: &Plan) -> bool {
    match &plan.kind {
        PlanKind::Do(exprs) => plan.tables.is_empty() && exprs.iter().all(needs_values_only),
        _ => false,
    }
}

fn needs_values_only(e: &Expr) -> bool {
    let mut good = !matches!(
        e,
        Expr::Subquery(_)
            | Expr::UserVariable(_)
            | Expr::AssignVariable(..)
            | Expr::SystemVariable(_)
            | Expr::Session(..)
            | Expr::Routine(_)
    );
    e.children(&mut |c| good &= needs_values_only(c));
    good
}

impl Host for SessionHost<'_> {
    const NESTED: bool = false;

    fn variables(&mut self) -> &mut Vec<Value> {
        &mut self.session.params
    }
    fn diagnostics(&mut self) -> &mut Diagnostics {
        &mut self.session.diagnostics
    }
    fn run(&mut self, unit: &Unit, variables: &[Variable]) -> Result<(), Raised> {
        let outcome = match unit.kind {
            UnitKind::Planned => self.run_planned(unit),
            _ => self.run_routed(unit),
        };
        outcome.map_err(|e| self.raise(e))?;
        self.take_into(variables)
    }
    fn eval(&mut self, unit: &Unit, assigns: bool) -> Result<Value, Raised> {
        let kept = self.plan(unit).map_err(|e| self.raise(e))?;
        if kept.pure_expression
            && let PlanKind::Do(exprs) = &kept.plan.kind
        {
            let session = &mut *self.session;
            let mut outcome = pure::eval(&exprs[0], &session.params, &mut session.values);
            if session.values.warning_count > 0 {
                let mut warnings = Warnings::new();
                let strict = assigns && outcome.is_ok();
                if let Err(e) = pure::settle(&mut session.values, strict, &mut warnings) {
                    outcome = Err(e);
                }
                session.take_warnings(&warnings);
            }
            return outcome.map_err(|e| self.raise(ClientError::from(&e)));
        }
        let mut kept = kept;
        loop {
            match sql::evaluate_once(self.session, &kept.plan).map_err(|e| self.raise(e))? {
                Some(value) => return Ok(value),
                None => kept = self.replan(unit).map_err(|e| self.raise(e))?,
            }
        }
    }
    fn rows(&mut self, unit: &Unit) -> Result<Rows, Raised> {
        let mut kept = self.plan(unit).map_err(|e| self.raise(e))?;
        loop {
            match sql::collect_once(self.session, &kept.plan).map_err(|e| self.raise(e))? {
                Some(rows) => return Ok((kept.plan.columns().len(), rows)),
                None => kept = self.replan(unit).map_err(|e| self.raise(e))?,
            }
        }
    }
    fn prepared_rows(&mut self, name: &str) -> Result<Rows, Raised> {
        named::rows(self.session, name).map_err(|e| self.raise(e))
    }
    fn convert(&mut self, variable: &Variable, value: Value) -> Result<Value, Raised> {
        if pure::fits(&variable.def.ty, &value) {
            return Ok(value);
        }
        let session = &mut *self.session;
        let mut warnings = Warnings::new();
        let outcome = sql_exec::store_variable(&variable.def, value, &mut session.values, &mut warnings);
        session.take_warnings(&warnings);
        outcome.map_err(|e| self.raise(ClientError::from(&e)))
    }
    fn is_true(&mut self, value: &Value) -> Option<bool> {
        (!value.is_null()).then(|| sql_plan::ops::is_true(value, &mut self.session.values))
    }
    fn set_user_variable(&mut self, name: &str, value: Value) {
        self.session.user_variables.insert(name.into(), value);
    }
    fn take_outs(&mut self) -> Vec<(u16, Value)> {
        self.session.workspace.take_outs()
    }
    fn record(&mut self, level: Level, error: ClientError) {
        let max = self.session.settings.max_error_count;
        let condition = Condition::at_row(level, error, self.session.error_row);
        self.session.diagnostics.add_condition(condition, max);
    }
    fn handled(&mut self) -> &mut Vec<Condition> {
        &mut self.session.handled
    }
    fn check_killed(&mut self) -> Result<(), Raised> {
        if self.session.entry.killed() == Kill::No {
            return Ok(());
        }
        let error = self.session.statement_failed(&SqlError::Interrupted);
        Err(self.raise(error))
    }
}
