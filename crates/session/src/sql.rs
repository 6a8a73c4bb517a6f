//! The bridge to the planner and the executor: what they ask of a session, and how a plan runs inside its transaction.
//!
//! # A planned statement
//! plan (or take the prepared one) -> shared metadata locks, and a check that the plan is still of the tables' current versions ->
//! transaction -> execute into the result writer -> commit when it is its own transaction -> OK or end of rows.
//! A plan that went stale is made again and the statement starts over; nothing has happened by then.

use std::sync::Arc;
use std::time::Duration;

use catalog::mdl::MdlHandle;
use client_error::{ClientError, connection as error};
use sql_exec::{ExecContext, ExecSettings, ExplainColumns, Outcome, RowSink, SinkClosed, Workspace};
use sql_plan::PlanContext;
use sql_plan::error::{SqlError, SqlResult, Warnings};
use sql_plan::meta::ColumnMeta;
use sql_plan::plan::{Plan, PlanKind, VirtualTable};
use sql_syntax::ast::{self, Statement};
use storage::trx::{Isolation, Trx};
use types::{Context, Value};

use crate::counters::Counter;
use crate::diagnostics::Level;
use crate::output::Output;
use crate::prepared::{PreparedPlan, PreparedStatement};
use crate::registry::Kill;
use crate::results::StoredRows;
use crate::scope::{Computed, PlanVariables, SHOWN, SessionScope};
use crate::server::Server;
use crate::session::{Done, Session};
use crate::show::Listing;
use crate::statement::{self, Reply, Then};
use crate::transaction::Need;
use crate::variables::Var;
use crate::write_gate::Passing;

impl Session {
    /// Runs `body` with what the planner needs.
    fn with_planner<R>(&self, body: impl FnOnce(&PlanContext<'_>) -> R) -> R {
        self.with_planner_over(&crate::information_schema::table, body)
    }

    /// Same, with virtual tables.
    fn with_planner_over<R>(
        &self,
        virtual_table: &dyn Fn(&str, &str) -> Option<VirtualTable>,
        body: impl FnOnce(&PlanContext<'_>) -> R,
    ) -> R {
        let variables = PlanVariables {
            server: self.server(),
            variables: &self.variables,
            computed: self.computed(),
            rights: &self.rights,
            entry: &self.entry,
        };
        let account = self.account();
        body(&PlanContext {
            catalog: self.catalog.snapshot(),
            database: &self.database,
            sql_mode: self.settings.sql_mode,
            connection_collation: self.settings.connection,
            div_precision_increment: self.variables.u64(Var::DIV_PRECISION_INCREMENT) as u8,
            variables: &variables,
            user: &account,
            locked: self.table_locks.tables(),
            locals: self.locals.as_deref().map(|names| names as &dyn sql_plan::Locals),
            virtual_table,
        })
    }

    pub(crate) fn plan(&self, statement: &Statement<'_>, params: u32) -> Result<Option<Plan>, ClientError> {
        self.with_planner(|cx| sql_plan::plan(statement, params, cx)).map_err(|e| ClientError::from(&e))
    }

    /// Plans a statement of a program in its database.
    pub(crate) fn plan_for(
        &self,
        statement: &Statement<'_>,
        schema: &str,
        names: &crate::program::Names,
    ) -> SqlResult<Option<Plan>> {
        self.with_planner(|cx| {
            let cx = PlanContext {
                catalog: Arc::clone(&cx.catalog),
                database: schema,
                locals: Some(names),
                ..*cx
            };
            sql_plan::plan(statement, 0, &cx)
        })
    }

    /// The packet after a result set of OUT parameters.
    pub(crate) fn finish_out_params(&mut self, out: &mut Output) {
        let ok = wire::OkPacket {
            status: self
                .status()
                .set(wire::Status::MORE_RESULTS, true)
                .set(wire::Status::PS_OUT_PARAMS, true),
            ..wire::OkPacket::default()
        };
        out.end_of_rows(&ok);
    }

    pub(crate) fn exec_settings(&self) -> ExecSettings {
        let serializable = |t: &Trx| t.options().isolation == Isolation::Serializable;
        ExecSettings {
            locking_reads: self.transaction.is_active() && self.transaction.trx().is_some_and(serializable),
            next_insert_id: self.next_insert_id,
            ..self.settings.exec
        }
    }
}

/// Plans and runs a statement that is not prepared.
pub(crate) fn run_planned(
    session: &mut Session,
    out: &mut Output,
    statement: &Statement<'_>,
    text: &[u8],
    reply: Reply,
) -> Result<(), ClientError> {
    if session.locals.is_none() {
        session.params.clear();
    }
    loop {
        let Some(plan) = session.plan(statement, 0)? else {
            return Err(error::not_supported("this statement"));
        };
        if plan.writes() {
            session.note_text(text);
        }
        if let Some(path) = crate::files::local_path(&plan)
            && session.upload.is_none()
        {
            session.upload = Some(crate::files::upload(session, out, path)?);
        }
        let ran = run_plan(session, out, &plan, reply);
        if !matches!(ran, Ok(Ran::Stale)) {
            session.upload = None;
        }
        match ran? {
            Ran::Done(_) => return Ok(()),
            Ran::Stale => {}
        }
    }
}

/// Runs a plan of a procedure's statement; false when it went stale.
pub(crate) fn run_once(
    session: &mut Session,
    out: &mut Output,
    plan: &Plan,
    reply: Reply,
) -> Result<bool, ClientError> {
    Ok(matches!(run_plan(session, out, plan, reply)?, Ran::Done(_)))
}

/// The value of a plan of one expression; `None` when it went stale.
pub(crate) fn evaluate_once(session: &mut Session, plan: &Plan) -> Result<Option<Value>, ClientError> {
    without_reply(session, plan, sql_exec::evaluate)
}

/// The rows of a query; `None` when it went stale.
pub(crate) fn collect_once(
    session: &mut Session,
    plan: &Plan,
) -> Result<Option<Vec<Vec<Value>>>, ClientError> {
    without_reply(session, plan, |plan, params, cx| {
        let mut kept = Kept::default();
        sql_exec::run(plan, params, cx, &mut kept)?;
        Ok(kept.rows)
    })
}

/// Runs a plan as a statement of its own that answers nothing.
fn without_reply<R>(
    session: &mut Session,
    plan: &Plan,
    run: impl FnOnce(&Plan, &[Value], &mut ExecContext<'_>) -> SqlResult<R>,
) -> Result<Option<R>, ClientError> {
    session.values.now_micros = session.now_micros();
    let held = session.transaction.mdl.held();
    let timeout = session.settings.exec.lock_wait_timeout;
    match session.lock_tables(plan, timeout) {
        Ok(()) => {}
        Err(SqlError::StalePlan) => {
            session.transaction.mdl.release_to(held);
            return Ok(None);
        }
        Err(e) => return Err(session.statement_failed(&e)),
    }
    let alone = plan.tables.is_empty() && plan.routines.is_empty();
    if let Err(e) = session.ensure_trx(if alone { Need::Nothing } else { Need::Read }) {
        session.transaction.mdl.release_to(held);
        return Err(e);
    }
    let settings = session.exec_settings();
    session.note_in_use(plan);
    let mut warnings = Warnings::new();
    let outcome = execute(session, settings, &mut warnings, |cx, params| run(plan, params, cx));
    session.in_use.clear();
    session.leave_gate();
    session.take_warnings(&warnings);
    match outcome {
        Ok(value) => {
            session.end_statement()?;
            Ok(Some(value))
        }
        Err(e) => Err(session.statement_failed(&e)),
    }
}

/// What became of a plan.
enum Ran {
    Done(StoredRows),
    /// Its tables have changed since it was made; nothing has happened.
    Stale,
}

/// What a plan is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Rows,
    /// ANALYZE: the plan with what its steps did, as a table or as JSON.
    Analysis {
        json: bool,
    },
}

fn run_plan(session: &mut Session, out: &mut Output, plan: &Plan, reply: Reply) -> Result<Ran, ClientError> {
    run_for(session, out, plan, Purpose::Rows, reply)
}

fn run_for(
    session: &mut Session,
    out: &mut Output,
    plan: &Plan,
    purpose: Purpose,
    reply: Reply,
) -> Result<Ran, ClientError> {
    session.values.now_micros = session.now_micros();
    session.values.seeded.clear();
    session.note_accesses(plan);
    if !plan.writes_shared() {
        let outcome = run_admitted(session, out, plan, purpose, reply);
        // A function may have passed the gate.
        if !plan.routines.is_empty() {
            session.leave_gate();
        }
        return outcome;
    }
    session.enter_gate(Passing::Statement)?;
    let outcome = run_admitted(session, out, plan, purpose, reply);
    session.leave_gate();
    outcome
}

/// Runs a plan that has passed the write gate if it must.
fn run_admitted(
    session: &mut Session,
    out: &mut Output,
    plan: &Plan,
    purpose: Purpose,
    reply: Reply,
) -> Result<Ran, ClientError> {
    let held = session.transaction.mdl.held();
    let timeout = session.settings.exec.lock_wait_timeout;
    let locked = session.lock_tables(plan, timeout);
    match locked {
        Ok(()) => {}
        Err(SqlError::StalePlan) => {
            session.transaction.mdl.release_to(held);
            return Ok(Ran::Stale);
        }
        Err(e) => return Err(session.statement_failed(&e)),
    }
    let need = match plan {
        p if p.writes_shared() => Need::Write,
        p if p.tables.is_empty() && p.routines.is_empty() => Need::Nothing,
        _ => Need::Read,
    };
    if let Err(e) = session.ensure_trx(need) {
        session.transaction.mdl.release_to(held);
        return Err(e);
    }
    if plan.writes() {
        session.give_text();
    }
    let settings = session.exec_settings();
    session.note_in_use(plan);
    let mut writer = session.result_writer(out, reply);
    let mut warnings = Warnings::new();
    warnings.set_kept_max(session.settings.max_error_count as u32);
    let outcome = execute(session, settings, &mut warnings, |cx, params| match purpose {
        Purpose::Rows => sql_exec::run(plan, params, cx, &mut writer),
        Purpose::Analysis { json } => sql_exec::run_analyzed(plan, params, cx, json, &mut writer),
    });
    session.in_use.clear();
    session.take_warnings(&warnings);
    match outcome {
        // A function that was interrupted has answered with something; the query has not.
        Ok(outcome) if outcome.has_rows && session.entry.killed() != Kill::No => {
            writer.take_back();
            Err(session.statement_failed(&SqlError::Interrupted))
        }
        Ok(outcome) => {
            let has_rows = writer.has_begun();
            let stored = writer.into_stored();
            finish(session, out, &outcome, has_rows, stored, reply).map(Ran::Done)
        }
        Err(e) => {
            writer.take_back();
            Err(session.statement_failed(&e))
        }
    }
}

/// The parts of a session that a statement works with beside what expressions see.
pub(crate) struct Parts<'a> {
    pub(crate) trx: Option<&'a mut Trx>,
    pub(crate) mdl: &'a MdlHandle,
    pub(crate) values: &'a mut Context,
    pub(crate) workspace: &'a mut Workspace,
    pub(crate) params: &'a [Value],
}

impl Session {
    /// Remembers the tables of a statement whose functions and triggers must not change them.
    fn note_in_use(&mut self, plan: &Plan) {
        if plan.runs_programs() {
            self.in_use.clone_from(&plan.tables);
        }
    }

    fn lock_tables(&mut self, plan: &Plan, timeout: Duration) -> SqlResult<()> {
        sql_exec::lock_tables(plan, &self.catalog, &self.transaction.mdl, timeout)
    }

    /// Borrows what expressions see and what statements work with apart from each other.
    pub(crate) fn split<'a>(&'a mut self, server: &'a Server) -> (SessionScope<'a>, Parts<'a>) {
        let computed = self.computed_without_database();
        let read_only = self.would_be_read_only();
        let (trx_options, numbering) = (self.settings.trx, self.numbering());
        let (trx, mdl) = self.transaction.parts();
        let scope = SessionScope {
            server,
            entry: &self.entry,
            variables: &self.variables,
            computed: Computed { database: &self.database, ..computed },
            user_variables: &mut self.user_variables,
            last_insert_id: &mut self.last_insert_id,
            last_values: &mut self.last_values,
            trx_options,
            numbering,
            row_count: self.row_count,
            found_rows: self.found_rows,
            user: &self.identity.user,
            origin_host: &self.origin.host,
            own_rights: &self.rights,
            acting: None,
            tls: self.origin.tls.as_ref(),
            shown: &self.shown,
            user_locks: &mut self.user_locks,
            programs: &mut self.programs,
            in_use: &mut self.in_use,
            plan_generation: self.plan_generation,
            read_only,
            database: None,
            sql_mode: None,
            mdl,
            catalog: &self.catalog,
            error_recorded: &mut self.error_recorded,
            upload: &mut self.upload,
        };
        let parts = Parts {
            trx,
            mdl,
            values: &mut self.values,
            workspace: &mut self.workspace,
            params: &self.params,
        };
        (scope, parts)
    }
}

/// Hands `run` what the executor needs of the session.
pub(crate) fn execute<R>(
    session: &mut Session,
    settings: ExecSettings,
    warnings: &mut Warnings,
    run: impl FnOnce(&mut ExecContext<'_>, &[Value]) -> SqlResult<R>,
) -> SqlResult<R> {
    let server = session.server_handle();
    let (mut scope, parts) = session.split(&server);
    let Some(trx) = parts.trx else { return Err(SqlError::Interrupted) };
    let mut cx = ExecContext {
        trx,
        values: parts.values,
        warnings,
        session: &mut scope,
        settings,
        workspace: parts.workspace,
    };
    run(&mut cx, parts.params)
}

/// A statement that succeeded: ends its transaction, remembers what it did, replies.
fn finish(
    session: &mut Session,
    out: &mut Output,
    outcome: &Outcome,
    has_rows: bool,
    stored: StoredRows,
    reply: Reply,
) -> Result<StoredRows, ClientError> {
    session.end_statement()?;
    session.next_insert_id = 0;
    if outcome.last_insert_id != 0 {
        session.last_insert_id = outcome.last_insert_id;
    }
    if has_rows {
        session.found_rows = outcome.found_rows;
        return Ok(session.finish_rows(out, outcome.found_rows, stored, reply));
    }
    session.row_count = outcome.affected_rows as i64;
    if reply.quiet {
        return Ok(stored);
    }
    let done = Done {
        affected_rows: outcome.affected_rows,
        insert_id: outcome.insert_id,
        info: outcome.info.clone(),
    };
    session.send_ok(out, &done, reply.more);
    Ok(stored)
}

impl Session {
    /// Closes a result set: the packet after its rows, or the word that rows wait for COM_STMT_FETCH.
    pub(crate) fn finish_rows(
        &mut self,
        out: &mut Output,
        rows: u64,
        stored: StoredRows,
        reply: Reply,
    ) -> StoredRows {
        self.row_count = -1;
        self.sent_rows = true;
        self.entry.counters.add(Counter::RowsSent, rows);
        let state = self.take_state(out.capabilities);
        let ok = wire::OkPacket {
            status: self
                .status()
                .set(wire::Status::MORE_RESULTS, reply.more)
                .set(wire::Status::CURSOR_EXISTS, reply.cursor),
            warnings: self.diagnostics.wire_count(),
            session_state: &state,
            ..wire::OkPacket::default()
        };
        out.end_of_rows(&ok);
        stored
    }

    /// A statement failed: undoes what it did and says why.
    pub(crate) fn statement_failed(&mut self, why: &SqlError) -> ClientError {
        self.undo_statement(why);
        self.error_row = why.row().unwrap_or(self.error_row);
        match why {
            SqlError::Interrupted => statement::killed_error(self),
            other => ClientError::from(other),
        }
    }

    /// Warnings of the executor and of the value library become conditions.
    pub(crate) fn take_warnings(&mut self, warnings: &Warnings) {
        self.error_row = warnings.row();
        if warnings.count() == 0 {
            return;
        }
        for (level, condition, row) in warnings.with_rows() {
            let level = match level {
                sql_plan::error::Level::Note => Level::Note,
                sql_plan::error::Level::Warning => Level::Warning,
                sql_plan::error::Level::Error => Level::Error,
            };
            self.warn_at(level, ClientError::from(condition), row);
        }
        let kept = warnings.list().len() as u64;
        self.diagnostics.count_only(u64::from(warnings.count()).saturating_sub(kept));
    }
}

/// What is remembered of a prepared statement.
pub(crate) struct Prepared {
    pub params: u16,
    pub plan: Option<PreparedPlan>,
}

/// Parses and plans a statement that will run later.
pub(crate) fn prepare(session: &mut Session, text: &[u8]) -> Result<Prepared, ClientError> {
    let arena = session.take_arena();
    let outcome = prepare_in(session, &arena, text);
    let mut arena = arena;
    arena.reset();
    session.give_arena(arena);
    outcome
}

fn prepare_in(
    session: &mut Session,
    arena: &sql_syntax::Arena,
    text: &[u8],
) -> Result<Prepared, ClientError> {
    let options = sql_syntax::ParseOptions { params: true, ..session.settings.parse };
    let parsed = sql_syntax::parse(arena, text, options).map_err(|e| error::syntax(&e))?;
    if let Some(next) = parsed.next {
        return Err(error::syntax_near(&text[next..], text));
    }
    if matches!(parsed.statement, Statement::Prepare(_) | Statement::Execute(_) | Statement::Deallocate(_)) {
        return Err(error::not_preparable());
    }
    let params = u16::try_from(parsed.params).map_err(|_| error::too_many_placeholders())?;
    let plan = session.plan(&parsed.statement, parsed.params)?.map(|plan| PreparedPlan {
        plan: Arc::new(plan),
        database: Arc::clone(&session.database),
        generation: session.plan_generation,
    });
    Ok(Prepared { params, plan })
}

/// Runs `body` with a database chosen; what it chooses itself stays chosen only if it was this one before.
pub(crate) fn in_database<R>(
    session: &mut Session,
    database: &Arc<str>,
    body: impl FnOnce(&mut Session) -> R,
) -> R {
    if session.database == *database {
        return body(session);
    }
    let before = std::mem::replace(&mut session.database, Arc::clone(database));
    let result = body(session);
    session.database = before;
    result
}

/// Runs a prepared statement with the session's parameters, in the database in which it was prepared.
pub(crate) fn run_prepared(
    session: &mut Session,
    out: &mut Output,
    statement: &mut PreparedStatement,
    reply: Reply,
) -> Result<Then, ClientError> {
    let database = Arc::clone(&statement.database);
    in_database(session, &database, |session| run_prepared_here(session, out, statement, reply))
}

fn run_prepared_here(
    session: &mut Session,
    out: &mut Output,
    statement: &mut PreparedStatement,
    mut reply: Reply,
) -> Result<Then, ClientError> {
    loop {
        let Some(prepared) = &statement.plan else {
            return run_text_again(session, out, statement, reply);
        };
        let current =
            prepared.generation == session.plan_generation && *prepared.database == *session.database;
        if current {
            let plan = Arc::clone(&prepared.plan);
            let tableless = plan.tables.is_empty() && !plan.writes();
            session.begin_statement(!tableless);
            session.entry.counters.count(counter_of(&plan));
            if plan.writes() {
                session.note_prepared_text(statement);
            }
            if let Ran::Done(stored) = run_plan(session, out, &plan, reply)? {
                statement.told_columns = true;
                statement.cursor = reply.cursor.then_some(stored);
                return Ok(Then::GoOn);
            }
        }
        // The tables or the session's settings have changed: plan again.
        session.entry.counters.count(Counter::ComStmtReprepare);
        let again = prepare(session, &statement.text)?;
        // Also the character set that the definitions name may be another one now.
        statement.told_columns = false;
        reply.definitions = true;
        statement.plan = again.plan;
    }
}

/// A prepared statement without a plan: parsed and routed like a text.
fn run_text_again(
    session: &mut Session,
    out: &mut Output,
    statement: &PreparedStatement,
    reply: Reply,
) -> Result<Then, ClientError> {
    let text = Arc::clone(&statement.text);
    let arena = session.take_arena();
    let options = sql_syntax::ParseOptions { params: true, ..session.settings.parse };
    let outcome = match sql_syntax::parse(&arena, &text, options) {
        Ok(parsed) => statement::run_one(session, out, &parsed, &text[..parsed.end], reply),
        Err(e) => Err(error::syntax(&e)),
    };
    let mut arena = arena;
    arena.reset();
    session.give_arena(arena);
    outcome
}

/// Runs a prepared statement for its effect: one row of a bulk execute.
pub(crate) fn run_for_effect(
    session: &mut Session,
    out: &mut Output,
    statement: &mut PreparedStatement,
) -> Result<Done, ClientError> {
    let mark = (out.writer().len(), out.sequence());
    run_prepared(session, out, statement, Reply { format: crate::results::Format::Binary, ..Reply::TEXT })?;
    let affected = session.row_count.max(0) as u64;
    out.writer().rewind(mark.0, mark.1);
    Ok(Done { affected_rows: affected, insert_id: session.last_insert_id, info: String::new() })
}

pub(crate) fn counter_of(plan: &Plan) -> Counter {
    match &plan.kind {
        PlanKind::Query(_) => Counter::ComSelect,
        PlanKind::Insert(_) => Counter::ComInsert,
        PlanKind::Update(_) => Counter::ComUpdate,
        PlanKind::Delete(_) => Counter::ComDelete,
        PlanKind::Do(_) => Counter::ComDo,
    }
}

/// The counter of an INSERT or REPLACE.
pub(crate) fn insert_counter(i: &ast::Insert<'_>) -> Counter {
    let from_query = matches!(i.source, ast::InsertSource::Query(_));
    match (i.replace, from_query) {
        (false, false) => Counter::ComInsert,
        (false, true) => Counter::ComInsertSelect,
        (true, false) => Counter::ComReplace,
        (true, true) => Counter::ComReplaceSelect,
    }
}

/// Whether a query reads no table: it leaves the conditions of the statement before alone.
pub(crate) fn is_tableless(query: &ast::Query<'_>) -> bool {
    matches!(query.body, ast::QueryBody::Select(s) if s.from.is_empty())
}

/// The value of an expression without tables.
pub(crate) fn evaluate(session: &mut Session, expr: &ast::Expr<'_>) -> Result<Value, ClientError> {
    session.values.now_micros = session.now_micros();
    let (plan, _) =
        session.with_planner(|cx| sql_plan::plan_expr(expr, cx)).map_err(|e| ClientError::from(&e))?;
    session.ensure_trx(Need::Nothing)?;
    let settings = session.exec_settings();
    let mut warnings = Warnings::new();
    let outcome =
        execute(session, settings, &mut warnings, |cx, params| sql_exec::evaluate(&plan, params, cx));
    session.take_warnings(&warnings);
    match outcome {
        Ok(value) => {
            session.end_statement()?;
            crate::program::settle_outs(session)?;
            Ok(value)
        }
        Err(e) => {
            session.workspace.take_outs();
            Err(session.statement_failed(&e))
        }
    }
}

/// Statements of the dictionary and of maintenance; what nobody runs is refused here.
pub(crate) fn run_other(
    session: &mut Session,
    out: &mut Output,
    statement: &Statement<'_>,
    text: &[u8],
    reply: Reply,
) -> Result<(), ClientError> {
    if let Some(admin) = sql_exec::admin_of(statement) {
        return crate::ddl::table_admin(session, out, &admin, reply);
    }
    if sql_exec::ddl::is_ddl(statement) {
        return crate::ddl::run(session, out, statement, text, reply);
    }
    Err(error::not_supported(&statement_name(statement)))
}

fn statement_name(statement: &Statement<'_>) -> String {
    let debug = format!("{statement:?}");
    debug.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// Keeps the rows of a SHOW for which `condition` holds: the listing becomes a virtual table, and the condition the WHERE clause
/// of a query over it.
pub(crate) fn filter(
    session: &mut Session,
    listing: &mut Listing,
    condition: &ast::Expr<'_>,
) -> Result<(), ClientError> {
    let name =
        ast::ObjectName { database: Some(ast::Ident(b"information_schema")), name: ast::Ident(b"SHOW") };
    let table = ast::TableFactor { name, partitions: &[], system_time: None, alias: None, hints: &[] };
    let from = [ast::TableRef::Table(&table)];
    let select = ast::Select::of(&[ast::SelectItem::All], &from, Some(*condition));
    let query = ast::Query::of(&select, None);
    let columns: Arc<[ColumnMeta]> = listing.columns.clone().into();
    let find = |_: &str, name: &str| {
        (name == SHOWN).then(|| VirtualTable { name: SHOWN, columns: Arc::clone(&columns) })
    };
    let planned = session.with_planner_over(&find, |cx| sql_plan::plan(&Statement::Query(&query), 0, cx));
    let Some(plan) = planned.map_err(|e| ClientError::from(&e))? else { return Ok(()) };
    session.ensure_trx(Need::Nothing)?;
    let settings = session.exec_settings();
    let mut kept = Kept::default();
    let mut warnings = Warnings::new();
    session.shown = std::mem::take(&mut listing.rows);
    let outcome =
        execute(session, settings, &mut warnings, |cx, params| sql_exec::run(&plan, params, cx, &mut kept));
    session.shown.clear();
    session.take_warnings(&warnings);
    match outcome {
        Ok(_) => {
            session.end_statement()?;
            listing.rows = kept.rows;
            Ok(())
        }
        Err(e) => Err(session.statement_failed(&e)),
    }
}

/// A sink that keeps rows as values.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) rows: Vec<Vec<Value>>,
    row: Vec<Value>,
}

impl RowSink for Kept {
    fn columns(&mut self, _: &[ColumnMeta]) -> Result<(), SinkClosed> {
        Ok(())
    }
    fn begin_row(&mut self) {
        self.row.clear();
    }
    fn packed(&mut self, ty: &row_format::ColumnType, bytes: Option<&[u8]>) {
        let value = bytes.map_or(Ok(Value::Null), |b| row_format::decode(ty, b));
        self.row.push(value.unwrap_or_default());
    }
    fn value(&mut self, value: &Value) {
        self.row.push(value.clone());
    }
    fn end_row(&mut self) -> Result<(), SinkClosed> {
        self.rows.push(std::mem::take(&mut self.row));
        Ok(())
    }
}

/// EXPLAIN FORMAT=JSON: one document.
fn explain_as_json(plan: &Plan, sink: &mut dyn RowSink) -> Result<u64, SinkClosed> {
    sink.columns(&[ColumnMeta::text("EXPLAIN", 78)])?;
    sink.begin_row();
    sink.value(&Value::utf8(&sql_exec::explain_json(plan)));
    sink.end_row()?;
    Ok(1)
}

/// ANALYZE: runs a statement and answers with its plan and what the plan's steps did.
fn analyze(
    session: &mut Session,
    out: &mut Output,
    statement: &Statement<'_>,
    text: &[u8],
    json: bool,
    reply: Reply,
) -> Result<(), ClientError> {
    if session.locals.is_none() {
        session.params.clear();
    }
    loop {
        let Some(plan) = session.plan(statement, 0)? else {
            return Err(error::not_supported("ANALYZE of this statement"));
        };
        if plan.writes() {
            session.note_text(text);
        }
        if let Ran::Done(_) = run_for(session, out, &plan, Purpose::Analysis { json }, reply)? {
            return Ok(());
        }
    }
}

/// EXPLAIN: the plan as rows.
pub(crate) fn explain(
    session: &mut Session,
    out: &mut Output,
    explain: &ast::Explain<'_>,
    text: &[u8],
    reply: Reply,
) -> Result<(), ClientError> {
    let ast::ExplainTarget::Statement(statement) = &explain.target else {
        return Err(error::not_supported("EXPLAIN FOR CONNECTION"));
    };
    if explain.kind == ast::ExplainKind::Analyze {
        let json = explain.format == ast::ExplainFormat::Json;
        return analyze(session, out, statement, text, json, reply);
    }
    let Some(plan) = session.plan(statement, 0)? else {
        return Err(error::not_supported("EXPLAIN of this statement"));
    };
    let mut writer = session.result_writer(out, reply);
    // A client that has gone is noticed when the reply is sent.
    let with = match explain.kind {
        ast::ExplainKind::Extended => ExplainColumns::Filtered,
        ast::ExplainKind::Partitions => ExplainColumns::Partitions,
        _ => ExplainColumns::Usual,
    };
    let rows = if explain.format == ast::ExplainFormat::Json {
        explain_as_json(&plan, &mut writer).unwrap_or(0)
    } else {
        sql_exec::explain(&plan, with, &mut writer).unwrap_or(0)
    };
    let stored = writer.into_stored();
    session.finish_rows(out, rows, stored, reply);
    Ok(())
}
