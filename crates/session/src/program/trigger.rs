//! Triggers: made, dropped, and run for a row.
//!
//! A definition is one row of the dictionary; the table's handle has its triggers in the order of firing and is renewed with them, so
//! a plan that was made before runs none of them by mistake. CREATE and DROP hold the table's metadata lock exclusively.
//!
//! # A row's trigger
//! The columns of OLD and NEW are its first variables. It runs in the transaction and statement that fired it, with its definer's
//! privileges, its own sql_mode and collation; what it leaves in NEW is the row that is written.

use std::sync::Arc;

use accounts::Privileges;
use catalog::mdl::MdlMode;
use catalog::program::{ProgramDef, ProgramKind, TriggerDef, TriggerEvent};
use catalog::{TableDef, TableHandle};
use client_error::{ClientError, connection, program as error};
use sql_exec::{Firing, Inside};
use sql_plan::error::{SqlError, SqlResult};
use sql_syntax::ast::{self, Statement, TriggerOrder};
use types::Value;

use super::build;
use super::call::{identity, mode_of};
use super::code::{Op, Program};
use super::define as definition;
use super::nested_host::NestedHost;
use super::run;
use crate::diagnostics::Level;
use crate::output::Output;
use crate::rights::{guard, planning_error};
use crate::scope::SessionScope;
use crate::session::{Done, Session};
use crate::statement::Reply;

/// A trigger compiled for one version of its table.
#[derive(Debug)]
pub(crate) struct TriggerProgram {
    program: Arc<Program>,
    /// Columns whose value it reads, of OLD or NEW.
    reads: Vec<String>,
    /// Columns of NEW that it sets.
    sets: Vec<String>,
}

/// CREATE and DROP TRIGGER.
pub(crate) fn define(
    session: &mut Session,
    out: &mut Output,
    statement: &Statement<'_>,
    reply: Reply,
    text: &[u8],
) -> Result<(), ClientError> {
    crate::ddl::guarded(session, |session| match statement {
        Statement::CreateTrigger(c) => create(session, c),
        Statement::DropTrigger(d) => drop(session, d, text),
        _ => Ok(()),
    })?;
    session.row_count = 0;
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

fn event_of(event: ast::TriggerEvent) -> TriggerEvent {
    match event {
        ast::TriggerEvent::Insert => TriggerEvent::Insert,
        ast::TriggerEvent::Update => TriggerEvent::Update,
        ast::TriggerEvent::Delete => TriggerEvent::Delete,
    }
}

/// Locks a table whose triggers change.
fn lock_table(session: &Session, schema: &str, table: &str) -> Result<(), ClientError> {
    let locks = session.server().locks();
    let timeout = session.settings.exec.lock_wait_timeout;
    let failed = |e| ClientError::from(&sql_exec::mdl_error(e));
    let mdl = &session.transaction.mdl;
    mdl.lock(&locks.of(schema, ""), MdlMode::Shared, timeout).map_err(failed)?;
    mdl.lock(&locks.of(schema, table), MdlMode::Exclusive, timeout).map_err(failed)
}

/// The table that a new trigger is for.
fn table_of(session: &Session, schema: &str, table: &str) -> Result<Arc<TableHandle>, ClientError> {
    if schema.eq_ignore_ascii_case(crate::system_tables::MYSQL) {
        return Err(error::trigger_on_system_table());
    }
    if crate::information_schema::table(schema, table).is_some() {
        let user = session.account();
        let schema = schema.to_owned();
        return Err(ClientError::from(&SqlError::AccessDeniedToDatabase { user, schema }));
    }
    if session.catalog.temporary(schema, table).is_some() {
        return Err(error::trigger_on_view(table));
    }
    let catalog = session.server().catalog();
    if catalog.view(schema, table).is_some() {
        return Err(connection::wrong_object(schema, table, "BASE TABLE"));
    }
    let missing = || SqlError::NoSuchTable { schema: schema.to_owned(), name: table.to_owned() };
    let found = catalog.table(schema, table).cloned().ok_or_else(|| ClientError::from(&missing()))?;
    if found.def.sequence.is_some() {
        return Err(error::trigger_on_view(table));
    }
    Ok(found)
}

fn create(session: &mut Session, c: &ast::CreateTrigger<'_>) -> Result<(), ClientError> {
    let (schema, name) = definition::name_of(session, &c.name)?;
    let table_schema = c.table.database.map_or_else(|| schema.clone(), |d| d.text().into_owned());
    let table_name = c.table.name.text().into_owned();
    table_of(session, &table_schema, &table_name)?;
    if table_schema != schema {
        return Err(error::trigger_in_wrong_schema());
    }
    let context = definition::context_of(session, &schema, c.text);
    let mut def = TriggerDef {
        schema,
        name,
        context,
        table: table_name,
        event: event_of(c.event),
        before: c.before,
        header: [c.header.event, c.header.table, c.header.rest].map(<[u8]>::to_vec),
        order: 0,
        created_us: u64::try_from(session.now_micros()).unwrap_or(0),
    };
    def.context.definer = definition::definer(session, c.definer.as_ref());
    session.need_definer(&def.context.definer)?;
    lock_table(session, &def.schema, &def.table)?;
    let table = table_of(session, &def.schema, &def.table)?;
    if let Some(found) = session.server().catalog().trigger(&def.schema, &def.name).cloned() {
        let exists = error::trigger_exists(&format!("{}.{}", def.schema, def.name));
        match () {
            () if c.mode.or_replace && found.table != def.table => return Err(error::trigger_missing()),
            () if c.mode.or_replace => {}
            () if c.mode.if_not_exists => {
                session.warn(Level::Note, exists);
                return Ok(());
            }
            () => return Err(exists),
        }
    }
    build::with_types(session, &def.schema, &def.context, |types| {
        build::compile_trigger(&def, &table.def, &c.body, c.text, types)
    })?;
    check_fields(&def, &table.def, c.text)?;
    session.note_missing_definer(&def.context.definer);
    let text = event_text(&def, c.mode.or_replace, c.header.order);
    let changed = placed(def, &table, c.order.as_ref())?;
    definition::commit(session, &text, |change| {
        changed.into_iter().try_for_each(|def| change.put_program(ProgramDef::Trigger(def)))
    })
}

/// The statement as the binary log has it: with its definer.
fn event_text(def: &TriggerDef, or_replace: bool, order: &[u8]) -> Vec<u8> {
    let create = super::show::create_trigger(def);
    let (head, body) = create.split_at(create.len() - def.context.body.len());
    let mut out = if or_replace { b"CREATE OR REPLACE".to_vec() } else { b"CREATE".to_vec() };
    out.extend_from_slice(&head[b"CREATE".len()..]);
    out.extend_from_slice(order);
    out.extend_from_slice(body);
    out
}

/// The new trigger at its place among those of the same event and time, and those whose number changes.
fn placed(
    def: TriggerDef,
    table: &TableHandle,
    order: Option<&TriggerOrder<'_>>,
) -> Result<Vec<TriggerDef>, ClientError> {
    let alike = |t: &&Arc<TriggerDef>| t.event == def.event && t.before == def.before && t.name != def.name;
    let mut list: Vec<TriggerDef> =
        table.triggers.iter().filter(alike).map(|t| TriggerDef::clone(t)).collect();
    let at = match order {
        None => list.len(),
        Some(TriggerOrder::Follows(other) | TriggerOrder::Precedes(other)) => {
            let other = other.text();
            let found = list.iter().position(|t| t.name == *other);
            let found = found.ok_or_else(|| error::referenced_trigger(&other))?;
            found + usize::from(matches!(order, Some(TriggerOrder::Follows(_))))
        }
    };
    list.insert(at, def);
    Ok(numbered(list))
}

/// Numbers the triggers in their order; those that change.
fn numbered(list: Vec<TriggerDef>) -> Vec<TriggerDef> {
    let renumber = |(i, def): (usize, TriggerDef)| {
        let order = i as u32 + 1;
        (def.order != order).then_some(TriggerDef { order, ..def })
    };
    list.into_iter().enumerate().filter_map(renumber).collect()
}

/// NEW and OLD must be there for the event, and their columns in the table.
fn check_fields(def: &TriggerDef, table: &TableDef, body: &[u8]) -> Result<(), ClientError> {
    let options = build::parse_options(mode_of(&def.context));
    for (row, field) in sql_syntax::fields_of(body, options, &["OLD", "NEW"]) {
        let (row, missing_for) = [("OLD", TriggerEvent::Insert), ("NEW", TriggerEvent::Delete)][row];
        if def.event == missing_for {
            return Err(error::no_such_row(super::show::event_word(def.event), row));
        }
        if table.column(&field).is_none() {
            return Err(error::unknown_field(&field, row));
        }
    }
    Ok(())
}

fn drop(session: &mut Session, d: &ast::DropObject<'_>, text: &[u8]) -> Result<(), ClientError> {
    let schema = match d.name.database {
        Some(schema) => schema.text().into_owned(),
        None if session.database.is_empty() => return Err(connection::no_database_selected()),
        None => session.database.to_string(),
    };
    let name = d.name.name.text().into_owned();
    let find = |session: &Session| session.server().catalog().trigger(&schema, &name).cloned();
    if let Some(found) = find(session) {
        session.need_on_table(&schema, &found.table, Privileges::TRIGGER)?;
        lock_table(session, &schema, &found.table)?;
    }
    let Some(found) = find(session) else {
        if !d.if_exists {
            return Err(error::trigger_missing());
        }
        session.warn(Level::Note, error::trigger_missing());
        return definition::commit(session, text, |_| Ok(()));
    };
    let table = session.server().catalog().table(&schema, &found.table).cloned();
    let alike = |t: &&Arc<TriggerDef>| t.event == found.event && t.before == found.before && t.name != name;
    let rest: Vec<TriggerDef> =
        table.iter().flat_map(|t| &t.triggers).filter(alike).map(|t| TriggerDef::clone(t)).collect();
    definition::commit(session, text, |change| {
        change.remove_program(ProgramKind::Trigger, &schema, &name)?;
        numbered(rest).into_iter().try_for_each(|def| change.put_program(ProgramDef::Trigger(def)))
    })
}

/// Runs the triggers of a table for one row.
pub(crate) fn fire(
    scope: &mut SessionScope<'_>,
    firing: &Firing<'_>,
    old: &[Value],
    new: &mut [Value],
    inside: Inside<'_>,
) -> SqlResult<()> {
    let Inside { trx, values, warnings, settings } = inside;
    for def in firing.table.triggers.iter().filter(|t| t.event == firing.event && t.before == firing.before) {
        let caller = scope.work_as(&def.context.definer)?;
        let inside = Inside { trx: &mut *trx, values: &mut *values, warnings: &mut *warnings, settings };
        let outcome = compiled(scope, def, firing.table, inside.values).map_err(planning_error);
        let outcome = outcome.and_then(|program| {
            allowed(scope, def, &program)?;
            run_one(scope, def, &program.program, old, new, inside)
        });
        scope.work_again_as(caller);
        outcome?;
    }
    Ok(())
}

fn compiled(
    scope: &mut SessionScope<'_>,
    def: &Arc<TriggerDef>,
    table: &Arc<TableHandle>,
    values: &types::Context,
) -> Result<Arc<TriggerProgram>, ClientError> {
    if let Some(found) = scope.programs.find_trigger(table, def) {
        return Ok(found);
    }
    let program = Arc::new(build::trigger_for_scope(scope, def, &table.def, values)?);
    check_fields(def, &table.def, &def.context.body)?;
    let (reads, sets) = uses(def, &table.def, &program);
    let made = Arc::new(TriggerProgram { program, reads, sets });
    scope.programs.keep_trigger(table, def, &made);
    Ok(made)
}

/// The columns that a trigger reads, and those that it sets. What it names as often as it sets it is not read.
fn uses(def: &TriggerDef, table: &TableDef, program: &Program) -> (Vec<String>, Vec<String>) {
    let width = table.columns.len();
    let first_new = if def.event == TriggerEvent::Insert { 0 } else { width };
    let mut set = vec![0usize; width];
    for op in &program.ops {
        if let Op::Set { slot, .. } | Op::SetNull(slot) = op
            && let Some(column) = usize::from(*slot).checked_sub(first_new).filter(|c| *c < width)
        {
            set[column] += 1;
        }
    }
    let options = build::parse_options(mode_of(&def.context));
    let named = sql_syntax::fields_of(&def.context.body, options, &["OLD", "NEW"]);
    let mut reads = Vec::new();
    for (column, set) in table.columns.iter().zip(&set) {
        let of_row = |wanted: usize| {
            named
                .iter()
                .filter(|(row, name)| *row == wanted && catalog::same_name(name, &column.name))
                .count()
        };
        if of_row(0) > 0 || of_row(1) > *set {
            reads.push(column.name.clone());
        }
    }
    let sets = table.columns.iter().zip(&set).filter(|(_, n)| **n > 0).map(|(c, _)| c.name.clone()).collect();
    (reads, sets)
}

/// What the definer needs on the table.
fn allowed(scope: &SessionScope<'_>, def: &TriggerDef, program: &TriggerProgram) -> SqlResult<()> {
    let rights = scope.rights();
    let Some(guard) = guard(rights) else { return Ok(()) };
    let (schema, table) = (&def.schema, &def.table);
    if !rights.table(schema, table).has(Privileges::TRIGGER) {
        return Err(guard.table_denied(Privileges::TRIGGER, schema, table));
    }
    for (columns, wanted) in [(&program.reads, Privileges::SELECT), (&program.sets, Privileges::UPDATE)] {
        for column in columns {
            let held = rights.table(schema, table) | rights.column(schema, table, column);
            if !held.has(wanted) {
                return Err(guard.column_denied(wanted, column, table));
            }
        }
    }
    Ok(())
}

fn run_one(
    scope: &mut SessionScope<'_>,
    def: &Arc<TriggerDef>,
    program: &Arc<Program>,
    old: &[Value],
    new: &mut [Value],
    inside: Inside<'_>,
) -> SqlResult<()> {
    let mut variables = Vec::with_capacity(program.variables.len());
    variables.extend_from_slice(old);
    variables.extend_from_slice(new);
    variables.resize(program.variables.len(), Value::Null);
    scope.programs.push(identity(def)).map_err(planning_error)?;
    let mut host = NestedHost::enter(scope, inside, variables, &def.schema, &def.context);
    let outcome = run::run(&mut host, program);
    let outcome = host.leave_quietly(outcome);
    scope.programs.pop();
    let (_, variables) = outcome?;
    if def.before {
        new.clone_from_slice(&variables[old.len()..old.len() + new.len()]);
    }
    Ok(())
}
