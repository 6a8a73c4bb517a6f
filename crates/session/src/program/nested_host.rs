//! Functions and triggers: their statements run inside a statement, in its transaction.
//!
//! A statement that fails and is handled is undone alone, to a savepoint before it. What nobody handles fails the statement around.

use std::sync::Arc;

use catalog::program::ProgramContext;
use charset::Collation;
use client_error::{ClientError, connection, program as error};
use sql_exec::{ExecContext, ExecSettings, Inside, Workspace};
use sql_plan::error::{SqlError, SqlResult, Warnings};
use sql_plan::plan::{Plan, PlanKind};
use sql_syntax::ast::{self, Statement};
use storage::trx::{Savepoint, Trx};
use types::{Context, SqlMode, Value};

use super::build;
use super::call::identity;
use super::code::{Program, Unit, UnitKind, UnitPlan, Variable};
use super::names::Names;
use super::pure;
use super::run::{self, Host, Raised, Rows};
use super::session_host::is_pure;
use super::signal;
use crate::diagnostics::{Condition, Diagnostics, Level};
use crate::registry::Kill;
use crate::scope::SessionScope;
use crate::sql::Kept;
use crate::write_gate::{GateError, Passing};

pub(crate) struct NestedHost<'s, 'a> {
    pub(super) scope: &'s mut SessionScope<'a>,
    pub(super) trx: &'s mut Trx,
    pub(super) values: &'s mut Context,
    warnings: &'s mut Warnings,
    pub(super) settings: ExecSettings,
    pub(super) variables: Vec<Value>,
    diagnostics: Diagnostics,
    handled: Vec<Condition>,
    pub(super) workspace: Workspace,
    pub(super) schema: Arc<str>,
    pub(super) savepoints: Vec<(String, Savepoint)>,
    before: Before,
}

/// What the statement around has when the program ends.
struct Before {
    database: Option<Arc<str>>,
    /// What `@@sql_mode` says.
    mode: Option<u64>,
    sql_mode: SqlMode,
    collation: Collation,
    last_insert_id: u64,
    row_count: i64,
    value_warnings: (Vec<types::Warning>, u64),
}

impl<'s, 'a> NestedHost<'s, 'a> {
    pub(crate) fn enter(
        scope: &'s mut SessionScope<'a>,
        inside: Inside<'s>,
        variables: Vec<Value>,
        schema: &str,
        context: &ProgramContext,
    ) -> Self {
        let values = inside.values;
        let schema: Arc<str> = Arc::from(schema);
        let before = Before {
            database: scope.database.replace(Arc::clone(&schema)),
            mode: scope.sql_mode.replace(context.sql_mode),
            sql_mode: std::mem::replace(&mut values.sql_mode, super::call::mode_of(context)),
            collation: std::mem::replace(&mut values.collation, context.connection),
            last_insert_id: *scope.last_insert_id,
            row_count: scope.row_count,
            value_warnings: (std::mem::take(&mut values.warnings), std::mem::take(&mut values.warning_count)),
        };
        Self {
            scope,
            trx: inside.trx,
            values,
            warnings: inside.warnings,
            settings: ExecSettings { next_insert_id: 0, ..inside.settings },
            variables,
            diagnostics: Diagnostics::default(),
            handled: Vec::new(),
            workspace: Workspace::default(),
            schema,
            savepoints: Vec::new(),
            before,
        }
    }

    /// `leave_with`, of a trigger: what it warned of is told only when it fails.
    pub(crate) fn leave_quietly<T>(mut self, outcome: Result<T, Raised>) -> SqlResult<(T, Vec<Value>)> {
        if outcome.is_ok() {
            self.diagnostics.clear();
        }
        self.leave_with(outcome)
    }

    /// The program has ended: the statement around goes on, or fails with what nobody handled. With the variables.
    pub(crate) fn leave_with<T>(self, outcome: Result<T, Raised>) -> SqlResult<(T, Vec<Value>)> {
        self.scope.database = self.before.database;
        self.scope.sql_mode = self.before.mode;
        self.values.sql_mode = self.before.sql_mode;
        self.values.collation = self.before.collation;
        (self.values.warnings, self.values.warning_count) = self.before.value_warnings;
        *self.scope.last_insert_id = self.before.last_insert_id;
        self.scope.row_count = self.before.row_count;
        for condition in self.diagnostics.conditions() {
            let e = &condition.error;
            let told = SqlError::Other { errno: e.errno, state: e.state, text: e.text.clone().into_owned() };
            let level = match condition.level {
                Level::Note => sql_plan::error::Level::Note,
                Level::Warning => sql_plan::error::Level::Warning,
                Level::Error => sql_plan::error::Level::Error,
            };
            self.warnings.push(level, told);
        }
        match outcome {
            Ok(value) => Ok((value, self.variables)),
            Err(raised) => {
                *self.scope.error_recorded |= raised.recorded;
                let e = raised.error;
                Err(raised.source.map_or_else(
                    || SqlError::Other { errno: e.errno, state: e.state, text: e.text.into_owned() },
                    |source| *source,
                ))
            }
        }
    }

    pub(super) fn raise(&mut self, error: SqlError) -> Raised {
        let client = match &error {
            SqlError::Interrupted => connection::query_interrupted(),
            other => ClientError::from(other),
        };
        let recorded = std::mem::take(self.scope.error_recorded);
        Raised { error: client, source: Some(Box::new(error)), recorded }
    }

    fn plan(&mut self, unit: &Unit) -> Result<UnitPlan, Raised> {
        match unit.plan() {
            Some(kept) if kept.generation == self.scope.plan_generation => Ok(kept),
            _ => self.replan(unit),
        }
    }

    #[cold]
    fn replan(&mut self, unit: &Unit) -> Result<UnitPlan, Raised> {
        let arena = sql_syntax::Arena::new();
        let parsed = sql_syntax::parse(&arena, &unit.text, build::parse_options(self.values.sql_mode))
            .map_err(|e| Raised::from(connection::syntax(&e)))?;
        let plan = self.plan_tree(&parsed.statement, &unit.names)?;
        let kept = UnitPlan {
            pure_expression: unit.kind == UnitKind::Expression && is_pure(&plan),
            plan: Arc::new(plan),
            generation: self.scope.plan_generation,
        };
        unit.keep(kept.clone());
        Ok(kept)
    }

    fn plan_tree(&mut self, statement: &Statement<'_>, names: &Names) -> Result<Plan, Raised> {
        let schema = Arc::clone(&self.schema);
        let planned =
            self.scope.with_planner(&schema, self.values, Some(names), |cx| sql_plan::plan(statement, 0, cx));
        let planned = planned.map_err(|e| self.raise(e))?;
        planned.ok_or_else(|| Raised::from(connection::not_supported("this statement")))
    }

    /// Runs a plan inside the statement around; `None` when it went stale.
    fn run_plan<R>(
        &mut self,
        plan: &Plan,
        body: impl FnOnce(&[Value], &mut ExecContext<'_>) -> SqlResult<R>,
    ) -> Result<Option<R>, Raised> {
        if let Err(e) = self.admit(plan) {
            return match e {
                SqlError::StalePlan => Ok(None),
                e => Err(self.raise(e)),
            };
        }
        let used = self.scope.in_use.len();
        if plan.runs_programs() {
            self.scope.in_use.extend(plan.tables.iter().cloned());
        }
        let point = self.trx.savepoint();
        let mut warnings = Warnings::new();
        let outcome = {
            let mut cx = ExecContext {
                trx: self.trx,
                values: self.values,
                warnings: &mut warnings,
                session: self.scope,
                settings: self.settings,
                workspace: &mut self.workspace,
            };
            body(&self.variables, &mut cx)
        };
        self.scope.in_use.truncate(used);
        self.take(&warnings);
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(e) => {
                let gone = matches!(e, SqlError::Deadlock | SqlError::SnapshotChanged { .. });
                if !gone && self.trx.rollback_to(point).is_err() {
                    return Err(self.raise(SqlError::Deadlock));
                }
                Err(self.raise(e))
            }
        }
    }

    /// Locks the plan's tables and asks whether the statement may do what it does here.
    fn admit(&mut self, plan: &Plan) -> SqlResult<()> {
        if plan.writes_shared() {
            if self.scope.read_only {
                let e = connection::read_only_transaction();
                return Err(SqlError::Other { errno: e.errno, state: e.state, text: e.text.into_owned() });
            }
            if let Some(table) = plan.tables.iter().find(|t| plan.changes(t) && self.is_in_use(t)) {
                let e = error::table_in_use(table.name());
                return Err(SqlError::Other { errno: e.errno, state: e.state, text: e.text.into_owned() });
            }
            let timeout = self.settings.lock_wait_timeout;
            let gate = self.scope.server.write_gate();
            gate.enter(self.scope.entry, Passing::Statement, timeout).map_err(|e| match e {
                GateError::Killed => SqlError::Interrupted,
                GateError::Timeout => SqlError::LockWaitTimeout,
            })?;
        }
        sql_exec::lock_tables(plan, self.scope.catalog, self.scope.mdl, self.settings.lock_wait_timeout)
    }

    fn is_in_use(&self, table: &Arc<catalog::TableHandle>) -> bool {
        self.scope.in_use.iter().any(|t| t.schema() == table.schema() && t.name() == table.name())
    }

    pub(super) fn take(&mut self, warnings: &Warnings) {
        for (level, condition) in warnings.list() {
            let level = match level {
                sql_plan::error::Level::Note => Level::Note,
                sql_plan::error::Level::Warning => Level::Warning,
                sql_plan::error::Level::Error => Level::Error,
            };
            self.record(level, ClientError::from(condition));
        }
    }

    fn run_planned(&mut self, unit: &Unit, variables: &[Variable]) -> Result<(), Raised> {
        let mut kept = self.plan(unit)?;
        if !kept.plan.tables.is_empty() || kept.plan.writes() {
            self.diagnostics.clear();
        } else {
            self.diagnostics.keep();
        }
        let outcome = loop {
            let plan = Arc::clone(&kept.plan);
            let ran = self.run_plan(&plan, |params, cx| {
                let mut nowhere = Kept::default();
                sql_exec::run(&plan, params, cx, &mut nowhere)
            })?;
            match ran {
                Some(outcome) => break outcome,
                None => kept = self.replan(unit)?,
            }
        };
        self.scope.row_count = if outcome.has_rows { -1 } else { outcome.affected_rows as i64 };
        if outcome.last_insert_id != 0 {
            *self.scope.last_insert_id = outcome.last_insert_id;
        }
        for (slot, value) in self.workspace.take_into() {
            let value = self.convert(&variables[usize::from(slot)], value)?;
            self.variables[usize::from(slot)] = value;
        }
        Ok(())
    }

    fn run_routed(&mut self, unit: &Unit, variables: &[Variable]) -> Result<(), Raised> {
        let arena = sql_syntax::Arena::new();
        let parsed = sql_syntax::parse(&arena, &unit.text, build::parse_options(self.values.sql_mode))
            .map_err(|e| Raised::from(connection::syntax(&e)))?;
        match parsed.statement {
            Statement::Set(items) => items.iter().try_for_each(|item| self.set(item, &unit.names)),
            Statement::Call(call) => self.call(call, &unit.names, variables),
            Statement::Signal(s) => {
                let handled = self.handled.last().cloned();
                let values = self.items(s.items.iter().map(|(_, e)| e), &unit.names)?;
                signal::raise(s, &values, handled.as_ref(), &unit.names, |level, condition| {
                    self.diagnostics.clear();
                    self.diagnostics.add_condition(Condition { level, ..condition }, u64::MAX);
                })
            }
            Statement::GetDiagnostics(g) => self.get_diagnostics(g, &unit.names, variables),
            Statement::Transaction(t) => self.savepoint(&t),
            Statement::CreateTable(_) | Statement::DropTable(_) => {
                self.temporary_table(&parsed.statement, &unit.text, &unit.names)
            }
            _ => Err(connection::not_supported("this statement in a function or trigger").into()),
        }
    }

    fn items<'e>(
        &mut self,
        exprs: impl Iterator<Item = &'e ast::Expr<'e>>,
        names: &Names,
    ) -> Result<Vec<Value>, Raised> {
        exprs.map(|e| self.eval_tree(e, names)).collect()
    }

    /// An expression of a statement that has no plan.
    fn eval_tree(&mut self, e: &ast::Expr<'_>, names: &Names) -> Result<Value, Raised> {
        let exprs = [*e];
        loop {
            let plan = self.plan_tree(&Statement::Do(&exprs), names)?;
            if let Some(value) = self.run_plan(&plan, |params, cx| sql_exec::evaluate(&plan, params, cx))? {
                return Ok(value);
            }
        }
    }

    fn set(&mut self, item: &ast::SetItem<'_>, names: &Names) -> Result<(), Raised> {
        let ast::SetItem::User { name, value } = item else {
            return Err(connection::not_supported("SET of system variables in a function or trigger").into());
        };
        let value = self.eval_tree(value, names)?;
        self.set_user_variable(&name.text().to_lowercase(), value);
        Ok(())
    }

    /// A procedure called by a function or trigger runs as a part of it.
    fn call(
        &mut self,
        statement: &ast::CallStatement<'_>,
        names: &Names,
        variables: &[Variable],
    ) -> Result<(), Raised> {
        use catalog::program::{ParamMode, ProgramKind};
        let schema =
            statement.procedure.database.map_or_else(|| self.schema.to_string(), |d| d.text().into_owned());
        let name = statement.procedure.name.text();
        let found = self.scope.server.catalog().routine(ProgramKind::Procedure, &schema, &name).cloned();
        let def = found.ok_or_else(|| error::missing("PROCEDURE", &format!("{schema}.{name}")))?;
        if def.params.len() != statement.args.len() {
            let (expected, got) = (def.params.len(), statement.args.len());
            return Err(error::arguments("PROCEDURE", &def.full_name(), expected, got).into());
        }
        let id = identity(&def);
        if self.scope.programs.running(id) > 0 {
            return Err(error::recursion_limit(0, &def.name).into());
        }
        let program = build::for_scope(self.scope, &def, self.values)?;
        check_inside(&program)?;
        let mut args = vec![Value::Null; program.variables.len()];
        for (i, (param, arg)) in def.params.iter().zip(statement.args).enumerate() {
            if param.mode != ParamMode::Out {
                let value = self.eval_tree(arg, names)?;
                args[i] = self.convert(&program.variables[i], value)?;
            }
        }
        self.scope.programs.push(id)?;
        let inside =
            Inside { trx: self.trx, values: self.values, warnings: self.warnings, settings: self.settings };
        let mut host = NestedHost::enter(self.scope, inside, args, &def.schema, &def.context);
        let outcome = run::run(&mut host, &program);
        let outcome = host.leave_with(outcome);
        self.scope.programs.pop();
        let (_, values) = outcome.map_err(|e| self.raise(e))?;
        for (i, (param, arg)) in def.params.iter().zip(statement.args).enumerate() {
            if param.mode == ParamMode::In {
                continue;
            }
            match arg {
                ast::Expr::UserVariable(name) => {
                    self.set_user_variable(&name.text().to_lowercase(), values[i].clone());
                }
                ast::Expr::Column(column) => {
                    let slot = super::call::local_slot(names, column)
                        .ok_or_else(|| error::out_argument(i + 1, &def.full_name()))?;
                    let slot = usize::from(slot);
                    self.variables[slot] = self.convert(&variables[slot], values[i].clone())?;
                }
                _ => return Err(error::out_argument(i + 1, &def.full_name()).into()),
            }
        }
        Ok(())
    }

    fn get_diagnostics(
        &mut self,
        g: &ast::GetDiagnostics<'_>,
        names: &Names,
        variables: &[Variable],
    ) -> Result<(), Raised> {
        let number = match &g.condition {
            Some(e) => Some(self.eval_tree(e, names)?),
            None => None,
        };
        let row_count = self.scope.row_count;
        let found = match signal::diagnostics(g, number, &self.diagnostics, row_count) {
            Ok(found) => found,
            Err(e) => {
                self.diagnostics.add(Level::Error, e, u64::MAX);
                return Ok(());
            }
        };
        for ((target, _), value) in g.items.iter().zip(found) {
            match target {
                ast::IntoTarget::User(name) => self.set_user_variable(&name.text().to_lowercase(), value),
                ast::IntoTarget::Local { name, .. } => {
                    let slot = signal::slot_of(target, names)
                        .ok_or_else(|| error::undeclared_variable(&name.text()))?;
                    self.variables[slot] = self.convert(&variables[slot], value)?;
                }
            }
        }
        Ok(())
    }
}

/// What a procedure may not contain when a function or trigger calls it.
fn check_inside(program: &Program) -> Result<(), ClientError> {
    for unit in program.units.iter().filter(|u| matches!(u.kind, UnitKind::Planned | UnitKind::Routed)) {
        let arena = sql_syntax::Arena::new();
        if let Ok(parsed) = sql_syntax::parse(&arena, &unit.text, sql_syntax::ParseOptions::default()) {
            super::allowed::check(super::compile::Flavour::Function, &parsed.statement)?;
            if let Statement::Query(q) = parsed.statement
                && q.into.is_none()
            {
                return Err(error::result_set_inside(false));
            }
        }
    }
    Ok(())
}

impl Host for NestedHost<'_, '_> {
    const NESTED: bool = true;

    fn variables(&mut self) -> &mut Vec<Value> {
        &mut self.variables
    }
    fn diagnostics(&mut self) -> &mut Diagnostics {
        &mut self.diagnostics
    }
    fn run(&mut self, unit: &Unit, variables: &[Variable]) -> Result<(), Raised> {
        match unit.kind {
            UnitKind::Planned => self.run_planned(unit, variables),
            _ => self.run_routed(unit, variables),
        }
    }
    fn eval(&mut self, unit: &Unit, assigns: bool) -> Result<Value, Raised> {
        let mut kept = self.plan(unit)?;
        if kept.pure_expression
            && let PlanKind::Do(exprs) = &kept.plan.kind
        {
            let mut outcome = pure::eval(&exprs[0], &self.variables, self.values);
            if self.values.warning_count > 0 {
                let mut warnings = Warnings::new();
                let strict = assigns && outcome.is_ok();
                if let Err(e) = pure::settle(self.values, strict, &mut warnings) {
                    outcome = Err(e);
                }
                self.take(&warnings);
            }
            return outcome.map_err(|e| self.raise(e));
        }
        loop {
            let plan = Arc::clone(&kept.plan);
            match self.run_plan(&plan, |params, cx| sql_exec::evaluate(&plan, params, cx))? {
                Some(value) => return Ok(value),
                None => kept = self.replan(unit)?,
            }
        }
    }
    fn rows(&mut self, unit: &Unit) -> Result<Rows, Raised> {
        let mut kept = self.plan(unit)?;
        loop {
            let plan = Arc::clone(&kept.plan);
            let rows = self.run_plan(&plan, |params, cx| {
                let mut kept = Kept::default();
                sql_exec::run(&plan, params, cx, &mut kept)?;
                Ok(kept.rows)
            })?;
            match rows {
                Some(rows) => return Ok((plan.columns().len(), rows)),
                None => kept = self.replan(unit)?,
            }
        }
    }
    fn prepared_rows(&mut self, _: &str) -> Result<Rows, Raised> {
        Err(error::dynamic_sql_inside().into())
    }
    fn convert(&mut self, variable: &Variable, value: Value) -> Result<Value, Raised> {
        if pure::fits(&variable.def.ty, &value) {
            return Ok(value);
        }
        let mut warnings = Warnings::new();
        let outcome = sql_exec::store_variable(&variable.def, value, self.values, &mut warnings);
        self.take(&warnings);
        outcome.map_err(|e| self.raise(e))
    }
    fn is_true(&mut self, value: &Value) -> Option<bool> {
        (!value.is_null()).then(|| sql_plan::ops::is_true(value, self.values))
    }
    fn set_user_variable(&mut self, name: &str, value: Value) {
        self.scope.user_variables.insert(name.into(), value);
    }
    fn take_outs(&mut self) -> Vec<(u16, Value)> {
        self.workspace.take_outs()
    }
    fn record(&mut self, level: Level, error: ClientError) {
        self.diagnostics.add(level, error, u64::MAX);
    }
    fn handled(&mut self) -> &mut Vec<Condition> {
        &mut self.handled
    }
    fn check_killed(&mut self) -> Result<(), Raised> {
        if self.scope.entry.killed() == Kill::No { Ok(()) } else { Err(self.raise(SqlError::Interrupted)) }
    }
}
