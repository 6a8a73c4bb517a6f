//! SIGNAL, RESIGNAL, GET DIAGNOSTICS.

use client_error::{ClientError, program as error};
use sql_syntax::ast::{self, SignalCondition};
use types::Value;

use super::code::Matches;
use super::names::Names;
use super::run::Raised;
use crate::diagnostics::{Condition, Diagnostics, Level};
use crate::output::Output;
use crate::session::{Done, Session};
use crate::statement::{self, Reply};

/// Items that are texts of a condition and nothing else.
const TEXTS: [&str; 11] = [
    "CLASS_ORIGIN",
    "SUBCLASS_ORIGIN",
    "CONSTRAINT_CATALOG",
    "CONSTRAINT_SCHEMA",
    "CONSTRAINT_NAME",
    "CATALOG_NAME",
    "SCHEMA_NAME",
    "TABLE_NAME",
    "COLUMN_NAME",
    "CURSOR_NAME",
    "ROW_NUMBER",
];
/// Longest MESSAGE_TEXT and other item, in characters.
const MESSAGE_MAX: usize = 512;
const ITEM_MAX: usize = 64;

/// Makes the condition and raises it, or adds it when it is a warning.
pub(super) fn raise(
    s: &ast::Signal<'_>,
    values: &[Value],
    handled: Option<&Condition>,
    names: &Names,
    add: impl FnOnce(Level, Condition),
) -> Result<(), Raised> {
    let mut condition = match &s.condition {
        Some(condition) => of_state(state_of(condition, names)?),
        None => handled.cloned().ok_or_else(error::resignal_without_handler)?,
    };
    if s.resignal && handled.is_none() {
        return Err(error::resignal_without_handler().into());
    }
    for (i, (name, _)) in s.items.iter().enumerate() {
        if s.items[..i].iter().any(|(other, _)| other.0.eq_ignore_ascii_case(name.0)) {
            return Err(error::duplicate_item(&name.text().to_uppercase()).into());
        }
    }
    for ((name, _), value) in s.items.iter().zip(values) {
        set_item(&mut condition, &name.text().to_uppercase(), value)?;
    }
    if condition.level != Level::Error {
        add(condition.level, condition);
        return Ok(());
    }
    let error = condition.error.clone();
    add(Level::Error, condition);
    Err(Raised { error, source: None, recorded: true })
}

fn state_of(condition: &SignalCondition<'_>, names: &Names) -> Result<[u8; 5], ClientError> {
    match condition {
        SignalCondition::SqlState(state) => <[u8; 5]>::try_from(*state)
            .ok()
            .filter(|s| s[..2] != *b"00" && s.iter().all(u8::is_ascii_alphanumeric))
            .ok_or_else(|| error::bad_sqlstate(&String::from_utf8_lossy(state))),
        SignalCondition::Name(name) => match names.condition(&name.text()) {
            Some(Matches::State(state)) => Ok(*state),
            Some(_) => Err(error::signal_without_state()),
            None => Err(error::undefined_condition(&name.text())),
        },
    }
}

fn of_state(state: [u8; 5]) -> Condition {
    let (level, error) = match &state[..2] {
        b"01" => (Level::Warning, error::unhandled_warning()),
        b"02" => (Level::Error, error::unhandled_not_found()),
        _ => (Level::Error, error::unhandled_exception()),
    };
    Condition::new(level, ClientError { state, ..error })
}

fn set_item(condition: &mut Condition, name: &str, value: &Value) -> Result<(), ClientError> {
    if value.is_null() {
        return Err(error::item_value(name, "NULL"));
    }
    let text = crate::text::to_string(value);
    match name {
        "MESSAGE_TEXT" => {
            if text.chars().count() > MESSAGE_MAX {
                return Err(error::item_too_long(name));
            }
            condition.error.text = text.into();
        }
        "MYSQL_ERRNO" => {
            let number = crate::text::as_i64(value);
            let errno = u16::try_from(number).ok().filter(|n| *n > 0 && *n < u16::MAX);
            condition.error.errno = errno.ok_or_else(|| error::item_value(name, &text))?;
        }
        _ => {
            let Some(item) = TEXTS.iter().find(|t| **t == name) else { return Ok(()) };
            if text.chars().count() > ITEM_MAX {
                return Err(error::item_too_long(name));
            }
            condition.items.retain(|(n, _)| n != item);
            condition.items.push((item, text));
        }
    }
    Ok(())
}

/// SIGNAL and RESIGNAL as statements of the session.
pub(crate) fn signal(
    session: &mut Session,
    out: &mut Output,
    s: &ast::Signal<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    let mut values = Vec::with_capacity(s.items.len());
    for (_, e) in s.items {
        values.push(statement::evaluate(session, e)?);
    }
    let handled = session.handled.last().cloned();
    let names = session.locals.clone().unwrap_or_default();
    let max = session.settings.max_error_count;
    let resignal = s.resignal;
    let outcome = raise(s, &values, handled.as_ref(), &names, |_, condition| {
        if resignal {
            // What was handled stays among the conditions; a changed one takes its place.
            session.diagnostics.remove(handled.as_ref());
        } else {
            session.diagnostics.clear();
        }
        session.diagnostics.add_condition(condition, max);
    });
    match outcome {
        Ok(()) => {
            session.send_ok(out, &Done::default(), reply.more);
            Ok(())
        }
        Err(raised) => {
            session.error_recorded = raised.recorded;
            Err(raised.error)
        }
    }
}

/// The values that GET DIAGNOSTICS asks for. An error here is a condition beside those that were there, not the statement's outcome.
pub(super) fn diagnostics(
    g: &ast::GetDiagnostics<'_>,
    number: Option<Value>,
    found: &Diagnostics,
    row_count: i64,
) -> Result<Vec<Value>, ClientError> {
    let Some(number) = number else {
        let item = |(_, name): &(ast::IntoTarget<'_>, ast::Ident<'_>)| {
            if name.is("ROW_COUNT") {
                Value::Int(row_count)
            } else {
                Value::Int(found.conditions().len() as i64)
            }
        };
        return Ok(g.items.iter().map(item).collect());
    };
    let at = usize::try_from(crate::text::as_i64(&number)).ok().and_then(|n| n.checked_sub(1));
    let condition = at.filter(|_| !number.is_null()).and_then(|n| found.conditions().get(n));
    let condition = condition.ok_or_else(error::invalid_condition_number)?;
    Ok(g.items.iter().map(|(_, name)| item_of(condition, &name.text().to_uppercase())).collect())
}

fn item_of(condition: &Condition, name: &str) -> Value {
    match name {
        "RETURNED_SQLSTATE" => Value::utf8(condition.error.sqlstate()),
        "MYSQL_ERRNO" => Value::Int(i64::from(condition.error.errno)),
        "MESSAGE_TEXT" => Value::utf8(&condition.error.text),
        "ROW_NUMBER" => {
            let found = condition.items.iter().find(|(n, _)| *n == name);
            Value::Int(found.and_then(|(_, v)| v.parse().ok()).unwrap_or(0))
        }
        _ => {
            let found = condition.items.iter().find(|(n, _)| *n == name);
            Value::utf8(found.map_or("", |(_, v)| v))
        }
    }
}

/// The slot of a target that is a variable of the program.
pub(super) fn slot_of(target: &ast::IntoTarget<'_>, names: &Names) -> Option<usize> {
    let ast::IntoTarget::Local { name, field } = target else { return None };
    let slot = match field {
        Some(field) => names.field(&name.text(), &field.text())?.0,
        None => match names.variable(&name.text())? {
            super::names::Named::Scalar { slot, .. } => *slot,
            super::names::Named::Row(_) => return None,
        },
    };
    Some(usize::from(slot))
}

/// GET DIAGNOSTICS as a statement of the session.
pub(crate) fn get_diagnostics(
    session: &mut Session,
    out: &mut Output,
    g: &ast::GetDiagnostics<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    let number = match &g.condition {
        Some(e) => Some(statement::evaluate(session, e)?),
        None => None,
    };
    let found = match diagnostics(g, number, &session.diagnostics, session.row_count) {
        Ok(found) => found,
        Err(e) => {
            session.diagnostics.add(Level::Error, e, session.settings.max_error_count);
            session.send_ok(out, &Done::default(), reply.more);
            return Ok(());
        }
    };
    let names = session.locals.clone().unwrap_or_default();
    for ((target, _), value) in g.items.iter().zip(found) {
        match target {
            ast::IntoTarget::User(name) => {
                session.user_variables.insert(name.text().to_lowercase().into(), value);
            }
            ast::IntoTarget::Local { name, .. } => {
                let slot = slot_of(target, &names);
                let running = session.running.clone();
                let variable = slot.and_then(|s| running.as_ref().and_then(|p| p.variables.get(s)));
                let (Some(slot), Some(variable)) = (slot, variable) else {
                    return Err(error::undeclared_variable(&name.text()));
                };
                let mut warnings = sql_plan::error::Warnings::new();
                let stored =
                    sql_exec::store_variable(&variable.def, value, &mut session.values, &mut warnings);
                session.params[slot] = stored.map_err(|e| ClientError::from(&e))?;
            }
        }
    }
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}
