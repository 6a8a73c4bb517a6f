//! CREATE, ALTER and DROP EVENT.

use catalog::program::{EventDef, EventSchedule, EventStatus, ProgramDef, ProgramKind};
use client_error::{ClientError, connection, program as error};
use sql_syntax::ast::{self, Expr, Schedule, Statement};
use types::Value;

use super::schedule;
use crate::diagnostics::Level;
use crate::output::Output;
use crate::program;
use crate::session::{Done, Session};
use crate::statement::{self, Reply};
use crate::variables::Var;

/// The statements about events.
pub(crate) fn define(
    session: &mut Session,
    out: &mut Output,
    statement: &Statement<'_>,
    text: &[u8],
    reply: Reply,
) -> Result<(), ClientError> {
    crate::ddl::guarded(session, |session| match statement {
        Statement::CreateEvent(c) => create(session, c),
        Statement::AlterEvent(a) => alter(session, a, text),
        Statement::DropEvent(d) => drop(session, d, text),
        _ => Ok(()),
    })?;
    session.row_count = 0;
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

fn status_of(status: ast::EventStatus) -> EventStatus {
    match status {
        ast::EventStatus::Enable => EventStatus::Enabled,
        ast::EventStatus::Disable => EventStatus::Disabled,
        ast::EventStatus::DisableOnSlave => EventStatus::SlaveSideDisabled,
    }
}

/// Seconds since 1970 of the statement.
fn now(session: &Session) -> i64 {
    session.now_micros().div_euclid(1_000_000)
}

fn shown(value: &Value) -> String {
    if value.is_null() { "NULL".to_owned() } else { crate::text::to_string(value) }
}

/// A time of the schedule in seconds since 1970; `Err` has the value that is none.
fn moment(session: &mut Session, e: &Expr<'_>) -> Result<Result<i64, Value>, ClientError> {
    let value = statement::evaluate(session, e)?;
    let mut context = session.context();
    let local = value.to_datetime(&mut context).filter(|d| d.date.is_real());
    let found = local.and_then(|d| types::temporal::timestamp_of(d, &context.time_zone));
    // What was odd about the value is the error's to say.
    session.diagnostics.clear();
    Ok(found.map(|(at, _)| at.seconds as i64).ok_or(value))
}

/// Evaluates a schedule.
fn schedule_of(session: &mut Session, written: &Schedule<'_>) -> Result<EventSchedule, ClientError> {
    let (amount, unit, starts, ends) = match written {
        Schedule::At(at) => {
            let at = moment(session, at)?.map_err(|value| error::incorrect_at("AT", &shown(&value)))?;
            return Ok(EventSchedule::At(at));
        }
        Schedule::Every { amount, unit, starts, ends } => (amount, unit, starts, ends),
    };
    let unit = sql_plan::interval_unit(*unit);
    let name = unit.name();
    if unit.has_microseconds() {
        return Err(connection::not_supported("MICROSECOND"));
    }
    let value = statement::evaluate(session, amount)?;
    session.diagnostics.clear();
    let amount = schedule::shown_amount(&value, unit, &mut session.context());
    let amount =
        amount.filter(|a| schedule::interval(a, name).is_some()).ok_or_else(error::event_interval_bad)?;
    let starts = match starts {
        Some(e) => moment(session, e)?.map_err(|value| error::incorrect_at("STARTS", &shown(&value)))?,
        None => now(session),
    };
    let ends = match ends {
        Some(e) => match moment(session, e)? {
            Ok(ends) if ends > starts => Some(ends),
            _ => return Err(error::event_ends_before_starts()),
        },
        None => None,
    };
    Ok(EventSchedule::Every { amount, unit: name.to_owned(), starts: Some(starts), ends })
}

/// Whether a schedule has no time any more.
fn is_past(schedule: &EventSchedule, now: i64) -> bool {
    match schedule {
        EventSchedule::At(at) => *at < now,
        EventSchedule::Every { ends, .. } => ends.is_some_and(|ends| ends < now),
    }
}

fn check_name(session: &Session, name: &ast::ObjectName<'_>) -> Result<(String, String), ClientError> {
    let (schema, name) = program::name_of(session, name)?;
    if session.server().catalog().database(&schema).is_none() {
        return Err(ClientError::from(&sql_plan::error::SqlError::UnknownDatabase(schema)));
    }
    Ok((schema, name))
}

fn put(session: &mut Session, text: &[u8], def: EventDef) -> Result<(), ClientError> {
    program::commit_definition(session, text, |change| change.put_program(ProgramDef::Event(def)))
}

fn create(session: &mut Session, c: &ast::CreateEvent<'_>) -> Result<(), ClientError> {
    let (schema, name) = check_name(session, &c.name)?;
    let mut context = program::context_of(session, &schema, c.text);
    context.definer = program::definer(session, c.definer.as_ref());
    session.need_definer(&context.definer)?;
    context.comment = c.comment.map(|c| String::from_utf8_lossy(c).into_owned()).unwrap_or_default();
    let now = now(session);
    let schedule = schedule_of(session, &c.schedule)?;
    program::check_event(session, &schema, &name, &context, &c.body)?;
    program::lock_name(session, ProgramKind::Event, &schema, &name)?;
    let mut def = EventDef {
        schema,
        name,
        context,
        schedule,
        preserve: c.preserve == Some(true),
        status: c.status.map_or(EventStatus::Enabled, status_of),
        time_zone: session.variables.get(Var::TIME_ZONE).as_str().to_owned(),
        last_executed: None,
        originator: session.variable(Var::SERVER_ID, false).as_u64() as u32,
    };
    let text = event_text(&def, c);
    let exists = session.server().catalog().event(&def.schema, &def.name).is_some();
    if exists && !c.mode.or_replace {
        let exists = error::event_exists(&def.name);
        if !c.mode.if_not_exists {
            return Err(exists);
        }
        session.warn(Level::Note, exists);
        program::commit_definition(session, &text, |_| Ok(()))?;
        warn_switched_off(session);
        return Ok(());
    }
    session.note_missing_definer(&def.context.definer);
    if is_past(&def.schedule, now) {
        if !def.preserve {
            session.warn(Level::Note, error::event_removed());
            let (schema, name) = (def.schema, def.name);
            return program::commit_definition(session, &text, |change| {
                if exists { change.remove_program(ProgramKind::Event, &schema, &name) } else { Ok(()) }
            });
        }
        def.status = EventStatus::Disabled;
        session.warn(Level::Note, error::event_in_the_past());
    }
    put(session, &text, def)?;
    warn_switched_off(session);
    Ok(())
}

/// The statement as the binary log has it: with its definer.
fn event_text(def: &EventDef, c: &ast::CreateEvent<'_>) -> Vec<u8> {
    let (user, host) = &def.context.definer;
    let create = if c.mode.or_replace { "CREATE OR REPLACE" } else { "CREATE" };
    let quote = catalog::quote_name;
    let mut out = format!("{create} DEFINER={}@{} ", quote(user), quote(host)).into_bytes();
    out.extend_from_slice(c.statement);
    out
}

fn warn_switched_off(session: &mut Session) {
    if session.server().variables.u64(Var::EVENT_SCHEDULER) == 0 {
        session.warn(Level::Warning, error::scheduler_off());
    }
}

fn alter(session: &mut Session, a: &ast::AlterEvent<'_>, text: &[u8]) -> Result<(), ClientError> {
    let (schema, name) = check_name(session, &a.name)?;
    let renamed = a.rename.as_ref().map(|name| check_name(session, name)).transpose()?;
    if renamed.as_ref().is_some_and(|(s, n)| *s == schema && catalog::same_name(n, &name)) {
        return Err(error::event_same_name());
    }
    let body = a.body.map_or(&b""[..], |(_, text)| text);
    let mut context = program::context_of(session, &schema, body);
    context.definer = program::definer(session, a.definer.as_ref());
    session.need_definer(&context.definer)?;
    let now = now(session);
    let schedule = a.schedule.as_ref().map(|s| schedule_of(session, s)).transpose()?;
    if let Some((body, _)) = &a.body {
        program::check_event(session, &schema, &name, &context, body)?;
    }
    program::lock_name(session, ProgramKind::Event, &schema, &name)?;
    let Some(found) = session.server().catalog().event(&schema, &name).cloned() else {
        return Err(error::event_missing(&name));
    };
    if let Some((to_schema, to_name)) = &renamed {
        session.need_database(to_schema, accounts::Privileges::EVENT)?;
        program::lock_name(session, ProgramKind::Event, to_schema, to_name)?;
        if session.server().catalog().event(to_schema, to_name).is_some() {
            return Err(error::event_exists(to_name));
        }
    }
    let mut def = EventDef::clone(&found);
    context.created = def.context.created;
    context.comment = match a.comment {
        Some(comment) => String::from_utf8_lossy(comment).into_owned(),
        None => def.context.comment.clone(),
    };
    if a.body.is_none() {
        context.body.clone_from(&def.context.body);
    }
    def.context = context;
    def.preserve = a.preserve.unwrap_or(def.preserve);
    if let Some(status) = a.status {
        def.status = status_of(status);
    }
    if let Some(schedule) = schedule {
        def.time_zone = session.variables.get(Var::TIME_ZONE).as_str().to_owned();
        def.last_executed = None;
        if is_past(&schedule, now) {
            if !def.preserve {
                return Err(error::event_not_changed());
            }
            def.status = EventStatus::Disabled;
            session.warn(Level::Note, error::event_in_the_past());
        }
        def.schedule = schedule;
    }
    if let Some((to_schema, to_name)) = renamed {
        (def.schema, def.name) = (to_schema, to_name);
    }
    program::commit_definition(session, text, |change| {
        if def.schema != found.schema || def.name != found.name {
            change.remove_program(ProgramKind::Event, &found.schema, &found.name)?;
        }
        change.put_program(ProgramDef::Event(def))
    })
}

fn drop(session: &mut Session, d: &ast::DropObject<'_>, text: &[u8]) -> Result<(), ClientError> {
    let (schema, name) = check_name(session, &d.name)?;
    program::lock_name(session, ProgramKind::Event, &schema, &name)?;
    if session.server().catalog().event(&schema, &name).is_none() {
        if !d.if_exists {
            return Err(error::event_missing(&name));
        }
        session.warn(Level::Note, error::missing("Event", &name));
        return program::commit_definition(session, text, |_| Ok(()));
    }
    program::commit_definition(session, text, |change| {
        change.remove_program(ProgramKind::Event, &schema, &name)
    })
}
