//! information_schema's tables of stored programs: ROUTINES, PARAMETERS, TRIGGERS and EVENTS, with MariaDB's columns.
//!
//! A routine is listed to whom something of it is granted, and its body to its definer and to readers of the `mysql` database. A
//! trigger is listed to who has TRIGGER on its table, an event to who has EVENT on its database. Times are in UTC, as in the other
//! tables.

use accounts::{Privileges, Rights, RoutineKind};
use catalog::program::{
    DataAccess, EventDef, EventSchedule, ParamMode, ProgramContext, ProgramKind, RoutineDef, TriggerDef,
};
use catalog::{ColumnDef, Snapshot};
use types::{Context, Timestamp, Value};

use crate::information_schema::{Columns, Kind, Rows, number, s, type_row};
use crate::program::show::event_word;
use crate::show::{definer, mode_text};
use crate::system_tables::MYSQL;
use Kind::{DateTime, DateTime2, LongText, Number, Text};

const ROUTINES: Columns = &[
    ("SPECIFIC_NAME", Text(64)),
    ("ROUTINE_CATALOG", Text(512)),
    ("ROUTINE_SCHEMA", Text(64)),
    ("ROUTINE_NAME", Text(64)),
    ("ROUTINE_TYPE", Text(13)),
    ("DATA_TYPE", Text(64)),
    ("CHARACTER_MAXIMUM_LENGTH", Number),
    ("CHARACTER_OCTET_LENGTH", Number),
    ("NUMERIC_PRECISION", Number),
    ("NUMERIC_SCALE", Number),
    ("DATETIME_PRECISION", Number),
    ("CHARACTER_SET_NAME", Text(64)),
    ("COLLATION_NAME", Text(64)),
    ("DTD_IDENTIFIER", LongText),
    ("ROUTINE_BODY", Text(8)),
    ("ROUTINE_DEFINITION", LongText),
    ("EXTERNAL_NAME", Text(64)),
    ("EXTERNAL_LANGUAGE", Text(64)),
    ("PARAMETER_STYLE", Text(8)),
    ("IS_DETERMINISTIC", Text(3)),
    ("SQL_DATA_ACCESS", Text(64)),
    ("SQL_PATH", Text(64)),
    ("SECURITY_TYPE", Text(7)),
    ("CREATED", DateTime),
    ("LAST_ALTERED", DateTime),
    ("SQL_MODE", Text(8192)),
    ("ROUTINE_COMMENT", LongText),
    ("DEFINER", Text(384)),
    ("CHARACTER_SET_CLIENT", Text(32)),
    ("COLLATION_CONNECTION", Text(64)),
    ("DATABASE_COLLATION", Text(64)),
];
const PARAMETERS: Columns = &[
    ("SPECIFIC_CATALOG", Text(512)),
    ("SPECIFIC_SCHEMA", Text(64)),
    ("SPECIFIC_NAME", Text(64)),
    ("ORDINAL_POSITION", Number),
    ("PARAMETER_MODE", Text(5)),
    ("PARAMETER_NAME", Text(64)),
    ("DATA_TYPE", Text(64)),
    ("CHARACTER_MAXIMUM_LENGTH", Number),
    ("CHARACTER_OCTET_LENGTH", Number),
    ("NUMERIC_PRECISION", Number),
    ("NUMERIC_SCALE", Number),
    ("DATETIME_PRECISION", Number),
    ("CHARACTER_SET_NAME", Text(64)),
    ("COLLATION_NAME", Text(64)),
    ("DTD_IDENTIFIER", LongText),
    ("ROUTINE_TYPE", Text(9)),
];
const TRIGGERS: Columns = &[
    ("TRIGGER_CATALOG", Text(512)),
    ("TRIGGER_SCHEMA", Text(64)),
    ("TRIGGER_NAME", Text(64)),
    ("EVENT_MANIPULATION", Text(6)),
    ("EVENT_OBJECT_CATALOG", Text(512)),
    ("EVENT_OBJECT_SCHEMA", Text(64)),
    ("EVENT_OBJECT_TABLE", Text(64)),
    ("ACTION_ORDER", Number),
    ("ACTION_CONDITION", LongText),
    ("ACTION_STATEMENT", LongText),
    ("ACTION_ORIENTATION", Text(9)),
    ("ACTION_TIMING", Text(6)),
    ("ACTION_REFERENCE_OLD_TABLE", Text(64)),
    ("ACTION_REFERENCE_NEW_TABLE", Text(64)),
    ("ACTION_REFERENCE_OLD_ROW", Text(3)),
    ("ACTION_REFERENCE_NEW_ROW", Text(3)),
    ("CREATED", DateTime2),
    ("SQL_MODE", Text(8192)),
    ("DEFINER", Text(384)),
    ("CHARACTER_SET_CLIENT", Text(32)),
    ("COLLATION_CONNECTION", Text(64)),
    ("DATABASE_COLLATION", Text(64)),
];
const EVENTS: Columns = &[
    ("EVENT_CATALOG", Text(64)),
    ("EVENT_SCHEMA", Text(64)),
    ("EVENT_NAME", Text(64)),
    ("DEFINER", Text(384)),
    ("TIME_ZONE", Text(64)),
    ("EVENT_BODY", Text(8)),
    ("EVENT_DEFINITION", LongText),
    ("EVENT_TYPE", Text(9)),
    ("EXECUTE_AT", DateTime),
    ("INTERVAL_VALUE", Text(256)),
    ("INTERVAL_FIELD", Text(18)),
    ("SQL_MODE", Text(8192)),
    ("STARTS", DateTime),
    ("ENDS", DateTime),
    ("STATUS", Text(18)),
    ("ON_COMPLETION", Text(12)),
    ("CREATED", DateTime),
    ("LAST_ALTERED", DateTime),
    ("LAST_EXECUTED", DateTime),
    ("EVENT_COMMENT", Text(64)),
    ("ORIGINATOR", Number),
    ("CHARACTER_SET_CLIENT", Text(32)),
    ("COLLATION_CONNECTION", Text(64)),
    ("DATABASE_COLLATION", Text(64)),
];

pub(crate) const TABLES: [(&str, Columns); 4] =
    [("EVENTS", EVENTS), ("PARAMETERS", PARAMETERS), ("ROUTINES", ROUTINES), ("TRIGGERS", TRIGGERS)];

/// Rows of one of these tables that the reader may see; `None` when it is another one.
pub(crate) fn rows(rights: &Rights, catalog: &Snapshot, table: &str) -> Option<Rows> {
    let databases = catalog.databases.values();
    let routines = || {
        let all = databases.clone().flat_map(|d| d.routines.values());
        let mut seen: Vec<_> = all.filter(|r| sees(rights, r)).collect();
        seen.sort_by_cached_key(|r| {
            (r.schema.clone(), r.name.to_lowercase(), r.kind == ProgramKind::Procedure)
        });
        seen.into_iter()
    };
    Some(match table {
        "ROUTINES" => routines().map(|r| routine_row(r, shows_body(rights, r))).collect(),
        "PARAMETERS" => routines().flat_map(|r| parameter_rows(r)).collect(),
        "TRIGGERS" => databases
            .flat_map(|d| d.tables.values())
            .flat_map(|t| &t.triggers)
            .filter(|t| rights.table(&t.schema, &t.table).has(Privileges::TRIGGER))
            .map(|t| trigger_row(t))
            .collect(),
        "EVENTS" => databases
            .flat_map(|d| d.events.values())
            .filter(|e| rights.database(&e.schema).has(Privileges::EVENT))
            .map(|e| event_row(e))
            .collect(),
        _ => return None,
    })
}

fn shows_body(rights: &Rights, routine: &RoutineDef) -> bool {
    let (user, host) = &routine.context.definer;
    rights.database(MYSQL).has(Privileges::SELECT) || (user == rights.user() && host == rights.account_host())
}

fn sees(rights: &Rights, routine: &RoutineDef) -> bool {
    let kind = match routine.kind {
        ProgramKind::Function => RoutineKind::Function,
        _ => RoutineKind::Procedure,
    };
    let granted = rights.routine(&routine.schema, &routine.name, kind);
    shows_body(rights, routine) || granted.has_any(Privileges::ROUTINE | Privileges::CREATE_ROUTINE)
}

fn bytes(text: &[u8]) -> Value {
    Value::str(text, charset::Collation::UTF8MB4_BIN)
}

fn moment(seconds: u64, micros: u32, fsp: u8) -> Value {
    let moment = Timestamp { seconds, micros, fsp };
    Value::Timestamp(moment).to_datetime(&mut Context::default()).map_or(Value::Null, Value::DateTime)
}

/// A time of an event, in the event's time zone.
fn time(def: &EventDef, seconds: Option<i64>) -> Value {
    seconds.map_or(Value::Null, |at| Value::DateTime(crate::event::local_time(at, &def.time_zone)))
}

fn charsets(context: &ProgramContext) -> [Value; 3] {
    [s(context.client.charset().name()), s(context.connection.name()), s(context.database.name())]
}

/// DATA_TYPE to DTD_IDENTIFIER, nine cells. Lengths are INT here.
fn type_cells(column: &ColumnDef) -> Vec<Value> {
    let mut row = type_row(column);
    for length in &mut row[1..3] {
        if let Value::Int(n) = length {
            *n = (*n).min(i64::from(i32::MAX));
        }
    }
    row.push(s(&column.type_text()));
    row
}

fn routine_row(def: &RoutineDef, body: bool) -> Vec<Value> {
    let context = &def.context;
    let mut row = vec![s(&def.name), s("def"), s(&def.schema), s(&def.name), s(def.kind.word())];
    row.extend(def.returns.as_ref().map_or_else(
        || {
            let mut none = vec![Value::Null; 9];
            none[0] = s("");
            none
        },
        type_cells,
    ));
    let access = match def.access {
        DataAccess::ContainsSql => "CONTAINS SQL",
        DataAccess::NoSql => "NO SQL",
        DataAccess::ReadsSqlData => "READS SQL DATA",
        DataAccess::ModifiesSqlData => "MODIFIES SQL DATA",
    };
    row.extend([
        s("SQL"),
        if body { bytes(&context.body) } else { Value::Null },
        Value::Null,
        Value::Null,
        s("SQL"),
        s(if def.deterministic { "YES" } else { "NO" }),
        s(access),
        Value::Null,
        s(if def.invoker { "INVOKER" } else { "DEFINER" }),
        moment(context.created, 0, 0),
        moment(context.modified, 0, 0),
        mode_text(context.sql_mode),
        s(&context.comment),
        definer(context),
    ]);
    row.extend(charsets(context));
    row
}

/// The result of a function stands at position 0.
fn parameter_rows(def: &RoutineDef) -> Rows {
    let row = |at: usize, mode: Value, name: Value, column: &ColumnDef| {
        let mut row = vec![s("def"), s(&def.schema), s(&def.name), number(at as u64), mode, name];
        row.extend(type_cells(column));
        row.push(s(def.kind.word()));
        row
    };
    let result = def.returns.iter().map(|column| row(0, Value::Null, Value::Null, column));
    let parameters = def.params.iter().enumerate().map(|(i, p)| {
        let mode = match p.mode {
            ParamMode::In => "IN",
            ParamMode::Out => "OUT",
            ParamMode::InOut => "INOUT",
        };
        row(i + 1, s(mode), s(&p.column.name), &p.column)
    });
    result.chain(parameters).collect()
}

fn trigger_row(def: &TriggerDef) -> Vec<Value> {
    let context = &def.context;
    let hundredths = (def.created_us % 1_000_000 / 10_000 * 10_000) as u32;
    let mut row = vec![
        s("def"),
        s(&def.schema),
        s(&def.name),
        s(event_word(def.event)),
        s("def"),
        s(&def.schema),
        s(&def.table),
        number(u64::from(def.order)),
        Value::Null,
        bytes(&context.body),
        s("ROW"),
        s(if def.before { "BEFORE" } else { "AFTER" }),
        Value::Null,
        Value::Null,
        s("OLD"),
        s("NEW"),
        moment(def.created_us / 1_000_000, hundredths, 2),
        mode_text(context.sql_mode),
        definer(context),
    ];
    row.extend(charsets(context));
    row
}

fn event_row(def: &EventDef) -> Vec<Value> {
    let context = &def.context;
    let null = || Value::Null;
    let (kind, at, amount, unit, starts, ends) = match &def.schedule {
        EventSchedule::At(at) => ("ONE TIME", time(def, Some(*at)), null(), null(), null(), null()),
        EventSchedule::Every { amount, unit, starts, ends } => {
            ("RECURRING", null(), s(amount), s(unit), time(def, *starts), time(def, *ends))
        }
    };
    let status = crate::show::event_status(def.status);
    let mut row = vec![
        s("def"),
        s(&def.schema),
        s(&def.name),
        definer(context),
        s(&def.time_zone),
        s("SQL"),
        bytes(&context.body),
        s(kind),
        at,
        amount,
        unit,
        mode_text(context.sql_mode),
        starts,
        ends,
        s(status),
        s(if def.preserve { "PRESERVE" } else { "NOT PRESERVE" }),
        moment(context.created, 0, 0),
        moment(context.modified, 0, 0),
        time(def, def.last_executed),
        s(&context.comment),
        number(u64::from(def.originator)),
    ];
    row.extend(charsets(context));
    row
}
