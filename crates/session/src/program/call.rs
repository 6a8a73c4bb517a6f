//! CALL, stored functions, compound statements; the compiled programs of a session.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use accounts::{Accounts, Privileges, Rights, RoutineKind};
use catalog::TableHandle;
use catalog::program::{EventDef, ParamMode, ProgramContext, ProgramKind, RoutineDef, TriggerDef};
use client_error::{ClientError, connection, program as error};
use sql_plan::error::{SqlResult, Warnings};
use sql_syntax::ast::{self, ProgramStatement};
use types::{SqlMode, Value};

use super::build;
use super::code::{Program, Variable};
use super::compile::type_of;
use super::names::{Named, Names};
use super::run::{self, Host};
use super::session_host::SessionHost;
use super::trigger::TriggerProgram;
use crate::output::Output;
use crate::session::{Done, Session};
use crate::statement::Reply;
use crate::variables::{Setting, Var};

/// Programs inside one another end here with an error: each takes some of the thread's stack.
const DEPTH_MAX: usize = 300;
/// Compiled programs that a session keeps.
const COMPILED_MAX: usize = 256;

/// What a definition is known by: its address, as long as it is kept.
type Identity = usize;

pub(crate) fn identity<T>(def: &Arc<T>) -> Identity {
    Arc::as_ptr(def) as usize
}

/// A compiled trigger with what its address is known by.
type KeptTrigger = (Arc<TableHandle>, Arc<TriggerDef>, Arc<TriggerProgram>);

/// The compiled programs of a session, and those that run now.
#[derive(Default)]
pub(crate) struct Programs {
    /// The definition is kept, so that no other one gets its address.
    compiled: HashMap<Identity, (Arc<dyn Any + Send + Sync>, Arc<Program>)>,
    /// Triggers belong to a version of their table: its columns are their variables.
    triggers: HashMap<(Identity, Identity), KeptTrigger>,
    /// Privileges of definers, as of the generation of all of them.
    definers: (u64, HashMap<(String, String), Arc<Rights>>),
    stack: Vec<Identity>,
}

impl Programs {
    pub(super) fn find<T>(&self, def: &Arc<T>) -> Option<Arc<Program>> {
        self.compiled.get(&identity(def)).map(|(_, program)| Arc::clone(program))
    }
    pub(super) fn keep<T: Send + Sync + 'static>(&mut self, def: &Arc<T>, program: &Arc<Program>) {
        if self.compiled.len() >= COMPILED_MAX {
            self.compiled.clear();
        }
        let kept: Arc<dyn Any + Send + Sync> = def.clone();
        self.compiled.insert(identity(def), (kept, Arc::clone(program)));
    }
    pub(super) fn find_trigger(
        &self,
        table: &Arc<TableHandle>,
        def: &Arc<TriggerDef>,
    ) -> Option<Arc<TriggerProgram>> {
        self.triggers.get(&(identity(table), identity(def))).map(|(_, _, program)| Arc::clone(program))
    }
    pub(super) fn keep_trigger(
        &mut self,
        table: &Arc<TableHandle>,
        def: &Arc<TriggerDef>,
        program: &Arc<TriggerProgram>,
    ) {
        if self.triggers.len() >= COMPILED_MAX {
            self.triggers.clear();
        }
        let kept = (Arc::clone(table), Arc::clone(def), Arc::clone(program));
        self.triggers.insert((identity(table), identity(def)), kept);
    }
    /// The privileges of an account that has defined a program.
    ///
    /// # Errors
    /// There is no such account.
    pub(crate) fn definer(
        &mut self,
        accounts: &Arc<Accounts>,
        user: &str,
        host: &str,
    ) -> SqlResult<Arc<Rights>> {
        let key = (user.to_owned(), host.to_owned());
        if self.definers.0 == accounts.generation
            && let Some(found) = self.definers.1.get(&key)
        {
            return Ok(Arc::clone(found));
        }
        let rights = crate::rights::of_definer(accounts, user, host)?;
        if self.definers.0 != accounts.generation {
            self.definers = (accounts.generation, HashMap::new());
        }
        self.definers.1.insert(key, Arc::clone(&rights));
        Ok(rights)
    }
    /// How often the program runs already.
    pub(super) fn running(&self, identity: Identity) -> usize {
        self.stack.iter().filter(|i| **i == identity).count()
    }
    pub(super) fn push(&mut self, identity: Identity) -> Result<(), ClientError> {
        if self.stack.len() >= DEPTH_MAX {
            return Err(error::stack_overrun());
        }
        self.stack.push(identity);
        Ok(())
    }
    /// Whether a program runs.
    pub(super) fn is_inside(&self) -> bool {
        !self.stack.is_empty()
    }
    pub(super) fn pop(&mut self) {
        self.stack.pop();
    }
}

/// What a procedure takes over and gives back.
struct Saved {
    params: Vec<Value>,
    locals: Option<Arc<Names>>,
    running: Option<Arc<Program>>,
    database: Arc<str>,
    mode: Option<[(Var, Setting); 3]>,
}

const MODE: [Var; 3] = [Var::SQL_MODE, Var::CHARACTER_SET_CONNECTION, Var::COLLATION_CONNECTION];

impl Session {
    /// The session becomes the program's: its variables, database and settings.
    fn enter_program(
        &mut self,
        program: &Arc<Program>,
        variables: Vec<Value>,
        schema: &str,
        context: Option<&ProgramContext>,
    ) -> Saved {
        let mut saved = Saved {
            params: std::mem::replace(&mut self.params, variables),
            locals: self.locals.take(),
            running: self.running.replace(Arc::clone(program)),
            database: Arc::clone(&self.database),
            mode: None,
        };
        if !schema.is_empty() && *self.database != *schema {
            self.database = Arc::from(schema);
        }
        if let Some(context) = context
            && (self.settings.sql_mode.0 != context.sql_mode
                || self.settings.connection != context.connection)
        {
            saved.mode = Some(MODE.map(|var| (var, self.variables.get(var).clone())));
            let settings = [
                Setting::Bits(context.sql_mode),
                Setting::Charset(context.connection.charset()),
                Setting::Collation(context.connection),
            ];
            self.set_mode(MODE.into_iter().zip(settings));
        }
        saved
    }

    fn leave_program(&mut self, saved: Saved) -> Vec<Value> {
        if let Some(mode) = saved.mode {
            self.set_mode(mode.into_iter());
        }
        self.database = saved.database;
        self.running = saved.running;
        self.locals = saved.locals;
        std::mem::replace(&mut self.params, saved.params)
    }

    /// Plans of programs belong to the program's own settings: those do not age.
    fn set_mode(&mut self, settings: impl Iterator<Item = (Var, Setting)>) {
        for (var, setting) in settings {
            self.variables.set(var, setting);
        }
        let generation = self.plan_generation;
        self.refresh_settings();
        self.plan_generation = generation;
    }
}

/// CALL.
pub(crate) fn call(
    session: &mut Session,
    out: &mut Output,
    statement: &ast::CallStatement<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    let def = find(session, statement)?;
    let limit = session.variables.u64(Var::MAX_SP_RECURSION_DEPTH);
    if session.programs.running(identity(&def)) as u64 > limit {
        return Err(error::recursion_limit(limit, &def.name));
    }
    let program = build::for_session(session, &def)?;
    let mut variables = vec![Value::Null; program.variables.len()];
    let mut targets = Vec::new();
    for (i, (param, arg)) in def.params.iter().zip(statement.args).enumerate() {
        if param.mode != ParamMode::In {
            let target = target(session, arg).ok_or_else(|| error::out_argument(i + 1, &def.full_name()))?;
            targets.push((i, target));
        }
        if param.mode != ParamMode::Out {
            let value = crate::statement::evaluate(session, arg)?;
            let mut host = SessionHost { session, out, reply };
            variables[i] = host.convert(&program.variables[i], value).map_err(|e| e.error)?;
        }
    }
    // The body does what its definer may do, unless it says otherwise.
    let own = if def.invoker { None } else { session.work_as(&def.context.definer)? };
    let rights = &session.rights;
    let admitted = if rights.routine(&def.schema, &def.name, RoutineKind::Procedure).has(Privileges::EXECUTE)
    {
        session.programs.push(identity(&def))
    } else {
        Err(session.routine_denied(Privileges::EXECUTE, &def.schema, &def.name))
    };
    if let Err(e) = admitted {
        session.work_again_as(own);
        return Err(e);
    }
    let affected = std::mem::take(&mut session.affected_in_call);
    let saved = session.enter_program(&program, variables, &def.schema, Some(&def.context));
    let outcome = run::run(&mut SessionHost { session, out, reply }, &program);
    let variables = session.leave_program(saved);
    session.programs.pop();
    session.work_again_as(own);
    let total = std::mem::replace(&mut session.affected_in_call, affected);
    session.affected_in_call += total;
    if let Err(raised) = outcome {
        session.error_recorded = raised.recorded;
        return Err(raised.error);
    }
    give_back(session, out, reply, &targets, &variables, &program.variables)?;
    session.row_count = total as i64;
    // Of a call inside a call the client sees the result sets alone.
    if !session.programs.is_inside() {
        session.send_ok(out, &Done { affected_rows: total, ..Done::default() }, reply.more);
    }
    Ok(())
}

fn find(session: &Session, statement: &ast::CallStatement<'_>) -> Result<Arc<RoutineDef>, ClientError> {
    if statement.package.is_some() {
        return Err(connection::not_supported("packages"));
    }
    let schema = match statement.procedure.database {
        Some(schema) => schema.text().into_owned(),
        None if session.database.is_empty() => return Err(connection::no_database_selected()),
        None => session.database.to_string(),
    };
    let name = statement.procedure.name.text();
    let found = session.server().catalog().routine(ProgramKind::Procedure, &schema, &name).cloned();
    let def = found.ok_or_else(|| error::missing("PROCEDURE", &format!("{schema}.{name}")))?;
    if def.params.len() != statement.args.len() {
        let (expected, got) = (def.params.len(), statement.args.len());
        return Err(error::arguments("PROCEDURE", &def.full_name(), expected, got));
    }
    Ok(def)
}

/// Where the value of an OUT argument goes.
enum OutTarget {
    User(Box<str>),
    Local(u16),
    Param(u16),
}

fn target(session: &Session, arg: &ast::Expr<'_>) -> Option<OutTarget> {
    match arg {
        ast::Expr::UserVariable(name) => Some(OutTarget::User(name.text().to_lowercase().into())),
        ast::Expr::Param(n) => Some(OutTarget::Param(*n as u16)),
        ast::Expr::Column(column) => local_slot(session.locals.as_deref()?, column).map(OutTarget::Local),
        _ => None,
    }
}

/// The slot that a name in an argument means.
pub(super) fn local_slot(names: &Names, column: &ast::ColumnRef<'_>) -> Option<u16> {
    let name = column.name.text();
    match column.table {
        None => match names.variable(&name)? {
            Named::Scalar { slot, .. } => Some(*slot),
            Named::Row(_) => None,
        },
        Some(row) if row.database.is_none() => names.field(&row.name.text(), &name).map(|(slot, _)| slot),
        Some(_) => None,
    }
}

fn give_back(
    session: &mut Session,
    out: &mut Output,
    reply: Reply,
    targets: &[(usize, OutTarget)],
    variables: &[Value],
    defs: &[Variable],
) -> Result<(), ClientError> {
    let mut to_client = Vec::new();
    for (i, target) in targets {
        let value = variables[*i].clone();
        match target {
            OutTarget::User(name) => {
                session.user_variables.insert(name.clone(), value);
            }
            OutTarget::Local(slot) => {
                let slot = usize::from(*slot);
                let running = session.running.clone();
                let Some(variable) = running.as_ref().and_then(|p| p.variables.get(slot)) else { continue };
                let mut host = SessionHost { session, out, reply };
                let value = host.convert(variable, value).map_err(|e| e.error)?;
                session.params[slot] = value;
            }
            OutTarget::Param(n) => {
                session.out_params.push((*n, value.clone()));
                to_client.push((*i, value));
            }
        }
    }
    if !to_client.is_empty() && reply.format == crate::results::Format::Binary && !reply.quiet {
        send_out_params(session, out, reply, &to_client, defs);
    }
    Ok(())
}

/// Values of OUT parameters for a client that called by a prepared statement: a result set of one row.
fn send_out_params(
    session: &mut Session,
    out: &mut Output,
    reply: Reply,
    values: &[(usize, Value)],
    defs: &[Variable],
) {
    use sql_exec::RowSink;
    let columns: Vec<_> = values
        .iter()
        .map(|(i, _)| sql_plan::meta::ColumnMeta::plain(defs[*i].def.name.clone(), type_of(&defs[*i].def)))
        .collect();
    let reply = Reply { more: true, definitions: true, cursor: false, ..reply };
    let mut writer = session.result_writer(out, reply);
    // A client that has gone is noticed when the reply is sent.
    let _ = writer.columns(&columns);
    writer.begin_row();
    for (_, value) in values {
        writer.value(value);
    }
    let _ = writer.end_row();
    session.finish_out_params(out);
}

/// Values that functions have for variables of the running program by OUT parameters go there before anything else runs. Parameters of a
/// prepared statement get none.
pub(crate) fn settle_outs(session: &mut Session) -> Result<(), ClientError> {
    let outs = session.workspace.take_outs();
    let Some(program) = session.running.clone().filter(|_| session.locals.is_some()) else { return Ok(()) };
    for (slot, value) in outs {
        let slot = usize::from(slot);
        let Some(variable) = program.variables.get(slot) else { continue };
        let mut warnings = Warnings::new();
        let stored = sql_exec::store_variable(&variable.def, value, &mut session.values, &mut warnings);
        session.take_warnings(&warnings);
        session.params[slot] = stored.map_err(|e| ClientError::from(&e))?;
    }
    Ok(())
}

/// BEGIN NOT ATOMIC and its kin: a program without a name, run at once.
pub(crate) fn run_compound(
    session: &mut Session,
    out: &mut Output,
    body: &ProgramStatement<'_>,
    text: &[u8],
    reply: Reply,
) -> Result<(), ClientError> {
    let program = Arc::new(build::compound(session, body, text)?);
    let variables = vec![Value::Null; program.variables.len()];
    let affected = std::mem::take(&mut session.affected_in_call);
    let saved = session.enter_program(&program, variables, "", None);
    let outcome = run::run(&mut SessionHost { session, out, reply }, &program);
    session.leave_program(saved);
    let total = std::mem::replace(&mut session.affected_in_call, affected);
    if let Err(raised) = outcome {
        session.error_recorded = raised.recorded;
        return Err(raised.error);
    }
    session.row_count = total as i64;
    session.send_ok(out, &Done { affected_rows: total, ..Done::default() }, reply.more);
    Ok(())
}

/// Runs the body of an event in the session of its definer.
pub(crate) fn run_event(
    session: &mut Session,
    out: &mut Output,
    def: &Arc<EventDef>,
) -> Result<(), ClientError> {
    let program = Arc::new(build::event(session, def)?);
    let variables = vec![Value::Null; program.variables.len()];
    session.programs.push(identity(def))?;
    let saved = session.enter_program(&program, variables, &def.schema, Some(&def.context));
    let outcome = run::run(&mut SessionHost { session, out, reply: Reply::TEXT }, &program);
    session.leave_program(saved);
    session.programs.pop();
    // What is still open is no transaction that anybody could end.
    session.transaction_commit()?;
    outcome.map(|_| ()).map_err(|raised| raised.error)
}

/// The mode that a program runs in.
pub(super) fn mode_of(context: &ProgramContext) -> SqlMode {
    SqlMode(context.sql_mode)
}
