//! SHOW of stored programs.

use catalog::program::{EventDef, EventSchedule, EventStatus, ProgramContext, ProgramKind};
use client_error::{ClientError, connection, program as error};
use sql_plan::error::SqlError;
use sql_syntax::ast::ObjectName;
use types::Value;

use super::{Listing, date_time, nullable, s, text};
use crate::program::show::{create_routine, create_trigger};
use crate::session::Session;

/// Seconds since 1970 in the session's time zone.
pub(super) fn moment(session: &Session, seconds: u64) -> Value {
    let moment = types::Timestamp { seconds, micros: 0, fsp: 0 };
    Value::Timestamp(moment).to_datetime(&mut session.context()).map_or(Value::Null, Value::DateTime)
}

pub(crate) fn mode_text(mode: u64) -> Value {
    use crate::variables::{Setting, Var};
    s(&Setting::Bits(mode).text(Var::SQL_MODE.def()).unwrap_or_default())
}

fn charsets(context: &ProgramContext) -> [Value; 3] {
    [s(context.client.charset().name()), s(context.connection.name()), s(context.database.name())]
}

pub(crate) fn definer(context: &ProgramContext) -> Value {
    s(&format!("{}@{}", context.definer.0, context.definer.1))
}

fn charset_columns() -> [sql_plan::meta::ColumnMeta; 3] {
    [text("character_set_client", 32), text("collation_connection", 64), text("Database Collation", 64)]
}

/// SHOW PROCEDURE STATUS, SHOW FUNCTION STATUS.
pub(super) fn routines(session: &Session, kind: Option<ProgramKind>) -> Listing {
    let mut columns = vec![
        text("Db", 64),
        text("Name", 64),
        text("Type", 13),
        text("Definer", 384),
        date_time("Modified"),
        date_time("Created"),
        text("Security_type", 7),
        super::schema::blob_text("Comment", false),
    ];
    columns.extend(charset_columns());
    let mut list = Listing::new(columns);
    list.like_column = 1;
    let catalog = session.server().catalog();
    for def in catalog.databases.values().flat_map(|d| d.routines.values()) {
        if Some(def.kind) != kind {
            continue;
        }
        let context = &def.context;
        let row = [
            s(&def.schema),
            s(&def.name),
            s(def.kind.word()),
            definer(context),
            moment(session, context.modified),
            moment(session, context.created),
            s(if def.invoker { "INVOKER" } else { "DEFINER" }),
            s(&context.comment),
        ];
        list.row(row.into_iter().chain(charsets(context)));
    }
    list
}

/// The database and name as written.
fn named(session: &Session, name: &ObjectName<'_>) -> Result<(String, String), ClientError> {
    let schema = match name.database {
        Some(schema) => schema.text().into_owned(),
        None if session.database.is_empty() => return Err(connection::no_database_selected()),
        None => session.database.to_string(),
    };
    Ok((schema, name.name.text().into_owned()))
}

fn bytes(text: &[u8]) -> Value {
    Value::str(text, charset::Collation::UTF8MB4_BIN)
}

/// SHOW CREATE PROCEDURE, SHOW CREATE FUNCTION.
pub(super) fn create(
    session: &Session,
    kind: ProgramKind,
    name: &ObjectName<'_>,
) -> Result<Listing, ClientError> {
    let (schema, name) = named(session, name)?;
    let found = session.server().catalog().routine(kind, &schema, &name).cloned();
    let def = found.ok_or_else(|| error::missing(kind.word(), &name))?;
    let (first, second) = match kind {
        ProgramKind::Function => ("Function", "Create Function"),
        _ => ("Procedure", "Create Procedure"),
    };
    let mut columns = vec![text(first, 64), text("sql_mode", 8192), nullable(second, 1024)];
    columns.extend(charset_columns());
    let mut list = Listing::new(columns);
    let row = [s(&def.name), mode_text(def.context.sql_mode), bytes(&create_routine(&def))];
    list.row(row.into_iter().chain(charsets(&def.context)));
    Ok(list)
}

/// SHOW CREATE TRIGGER.
pub(super) fn create_of_trigger(session: &Session, name: &ObjectName<'_>) -> Result<Listing, ClientError> {
    let (schema, name) = named(session, name)?;
    let found = session.server().catalog().trigger(&schema, &name).cloned();
    let def = found.ok_or_else(error::trigger_missing)?;
    let mut columns = vec![text("Trigger", 64), text("sql_mode", 8192), text("SQL Original Statement", 1024)];
    columns.extend(charset_columns());
    columns.push(super::date_time_2("Created"));
    let mut list = Listing::new(columns);
    let row = [s(&def.name), mode_text(def.context.sql_mode), bytes(&create_trigger(&def))];
    let created = moment_2(session, def.created_us);
    list.row(row.into_iter().chain(charsets(&def.context)).chain([created]));
    Ok(list)
}

/// Microseconds since 1970, with two decimals.
fn moment_2(session: &Session, micros: u64) -> Value {
    let hundredths = micros % 1_000_000 / 10_000 * 10_000;
    let moment = types::Timestamp { seconds: micros / 1_000_000, micros: hundredths as u32, fsp: 2 };
    Value::Timestamp(moment).to_datetime(&mut session.context()).map_or(Value::Null, Value::DateTime)
}

/// SHOW TRIGGERS of a database; LIKE compares the table.
pub(super) fn triggers(session: &Session, schema: &str) -> Result<Listing, ClientError> {
    let mut columns = vec![
        text("Trigger", 64),
        text("Event", 6),
        text("Table", 64),
        super::schema::blob_text("Statement", true),
        text("Timing", 6),
        super::date_time_2("Created"),
        text("sql_mode", 8192),
        nullable("Definer", 384),
    ];
    columns.extend(charset_columns());
    let mut list = Listing::new(columns);
    list.like_column = 2;
    let catalog = session.server().catalog();
    let Some(database) = catalog.database(schema) else {
        return Err(ClientError::from(&SqlError::UnknownDatabase(schema.to_owned())));
    };
    for trigger in database.tables.values().flat_map(|t| &t.triggers) {
        let context = &trigger.context;
        let row = [
            s(&trigger.name),
            s(crate::program::show::event_word(trigger.event)),
            s(&trigger.table),
            bytes(&context.body),
            s(if trigger.before { "BEFORE" } else { "AFTER" }),
            moment_2(session, trigger.created_us),
            mode_text(context.sql_mode),
            definer(context),
        ];
        list.row(row.into_iter().chain(charsets(context)));
    }
    Ok(list)
}

/// A time of an event, in the event's time zone.
fn event_time(def: &EventDef, seconds: Option<i64>) -> Value {
    seconds.map_or(Value::Null, |at| Value::DateTime(crate::event::local_time(at, &def.time_zone)))
}

/// SHOW EVENTS of a database.
pub(super) fn events(session: &Session, schema: &str) -> Listing {
    let mut columns = vec![
        text("Db", 64),
        text("Name", 64),
        text("Definer", 384),
        text("Time zone", 64),
        text("Type", 9),
        date_time("Execute at"),
        nullable("Interval value", 256),
        nullable("Interval field", 18),
        date_time("Starts"),
        date_time("Ends"),
        text("Status", 18),
        super::bigint("Originator", 10),
    ];
    columns.extend(charset_columns());
    let mut list = Listing::new(columns);
    list.like_column = 1;
    let catalog = session.server().catalog();
    for def in catalog.database(schema).iter().flat_map(|d| d.events.values()) {
        let (kind, at, amount, unit, starts, ends) = match &def.schedule {
            EventSchedule::At(at) => ("ONE TIME", Some(*at), Value::Null, Value::Null, None, None),
            EventSchedule::Every { amount, unit, starts, ends } => {
                ("RECURRING", None, s(amount), s(unit), *starts, *ends)
            }
        };
        let row = [
            s(&def.schema),
            s(&def.name),
            definer(&def.context),
            s(&def.time_zone),
            s(kind),
            event_time(def, at),
            amount,
            unit,
            event_time(def, starts),
            event_time(def, ends),
            s(event_status(def.status)),
            Value::Int(i64::from(def.originator)),
        ];
        list.row(row.into_iter().chain(charsets(&def.context)));
    }
    list
}

pub(crate) fn event_status(status: EventStatus) -> &'static str {
    match status {
        EventStatus::Enabled => "ENABLED",
        EventStatus::Disabled => "DISABLED",
        EventStatus::SlaveSideDisabled => "SLAVESIDE_DISABLED",
    }
}

/// SHOW CREATE EVENT.
pub(super) fn create_of_event(session: &Session, name: &ObjectName<'_>) -> Result<Listing, ClientError> {
    let (schema, name) = named(session, name)?;
    session.need_database(&schema, accounts::Privileges::EVENT)?;
    let found = session.server().catalog().event(&schema, &name).cloned();
    let def = found.ok_or_else(|| error::event_missing(&name))?;
    let mut columns =
        vec![text("Event", 64), text("sql_mode", 8192), text("time_zone", 64), text("Create Event", 1024)];
    columns.extend(charset_columns());
    let mut list = Listing::new(columns);
    let create = bytes(&crate::event::show_create(&def));
    let row = [s(&def.name), mode_text(def.context.sql_mode), s(&def.time_zone), create];
    list.row(row.into_iter().chain(charsets(&def.context)));
    Ok(list)
}
