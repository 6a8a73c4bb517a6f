//! SHOW: results that are made here, with MariaDB's columns.
//!
//! Each kind builds a [`Listing`]; LIKE compares the first column, WHERE any of them. `schema` lists databases and what is in
//! them, `server` what the server and its sessions do.

mod absent;
mod accounts;
mod binlog;
mod innodb;
mod modes;
mod programs;
mod schema;
mod server;
mod visible;

use catalog::program::ProgramKind;
use charset::Collation;
use client_error::{ClientError, connection as error};
use sql_exec::RowSink;
use sql_plan::meta::{ColumnMeta, ExprType, FieldType};
use sql_syntax::ast::{self, ShowFilter, ShowKind};
use types::Value;

use crate::counters::Counter;
use crate::output::Output;
use crate::session::Session;
use crate::sql;
use crate::statement::Reply;

pub(crate) use programs::{definer, event_status, mode_text};
pub(crate) use schema::{extra_text, field_list, key_text, table_type};
pub(crate) use server::{applicable_collations, character_sets, collations, engines};
pub(crate) use visible::column_privileges;

/// A result made of values.
#[derive(Debug)]
pub(crate) struct Listing {
    pub columns: Vec<ColumnMeta>,
    pub rows: Vec<Vec<Value>>,
    /// The column that LIKE compares.
    pub like_column: usize,
}

impl Listing {
    fn new(columns: Vec<ColumnMeta>) -> Self {
        Self { columns, rows: Vec::new(), like_column: 0 }
    }
    fn row(&mut self, values: impl IntoIterator<Item = Value>) {
        let row: Vec<_> = values.into_iter().collect();
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }
}

/// A text column, NOT NULL.
fn text(name: &str, length: u32) -> ColumnMeta {
    let mut meta = ColumnMeta::text(name, length);
    meta.ty.nullable = false;
    meta.flags |= sql_plan::meta::flags::NOT_NULL;
    meta
}
/// A text column that may be NULL.
fn nullable(name: &str, length: u32) -> ColumnMeta {
    ColumnMeta::text(name, length)
}
fn bigint(name: &str, length: u32) -> ColumnMeta {
    ColumnMeta::plain(name, ExprType { length, ..ExprType::bigint().not_null() })
}
fn bigint_or_null(name: &str, length: u32) -> ColumnMeta {
    ColumnMeta::plain(name, ExprType { length, ..ExprType::bigint() })
}
fn int(name: &str, length: u32) -> ColumnMeta {
    ColumnMeta::plain(name, ExprType::int(length).not_null())
}
fn date_time(name: &str) -> ColumnMeta {
    ColumnMeta::plain(
        name,
        ExprType { field: FieldType::DateTime, length: 19, decimals: 0, ..ExprType::null() },
    )
}
fn date_time_2(name: &str) -> ColumnMeta {
    ColumnMeta::plain(
        name,
        ExprType { field: FieldType::DateTime, length: 22, decimals: 2, ..ExprType::null() },
    )
}
fn s(text: &str) -> Value {
    Value::utf8(text)
}

/// Runs SHOW.
pub(crate) fn run(
    session: &mut Session,
    out: &mut Output,
    show: &ast::Show<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    let mut listing = list(session, &show.kind)?;
    visible::keep(session, &show.kind, &mut listing);
    // The lists of names carry the pattern in the name of their column.
    if let (ShowKind::Databases | ShowKind::Tables { .. }, Some(ShowFilter::Like(pattern))) =
        (&show.kind, &show.filter)
    {
        let pattern = String::from_utf8_lossy(pattern);
        listing.columns[0].name.push_str(&format!(" ({pattern})"));
    }
    send(session, out, listing, show.filter.as_ref(), reply)
}

/// DESCRIBE is SHOW COLUMNS.
pub(crate) fn describe(
    session: &mut Session,
    out: &mut Output,
    describe: &ast::Describe<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    let mut listing = schema::columns(session, &describe.table, false)?;
    visible::keep(session, &ShowKind::Columns { full: false, table: describe.table }, &mut listing);
    let filter = describe.column.map(ShowFilter::Like);
    send(session, out, listing, filter.as_ref(), reply)
}

fn list(session: &mut Session, kind: &ShowKind<'_>) -> Result<Listing, ClientError> {
    use ShowKind as K;
    let listing = match kind {
        K::Databases => schema::databases(session),
        K::Tables { full, database } => schema::tables(session, *full, *database)?,
        K::TableStatus { database } => schema::table_status(session, *database)?,
        K::OpenTables { .. } => schema::open_tables(session),
        K::Triggers { database, .. } => schema::triggers(session, *database)?,
        K::Events { database } => schema::events(session, *database)?,
        K::Columns { full, table } => schema::columns(session, table, *full)?,
        K::Index { table } => schema::indexes(session, table)?,
        K::CreateTable(name) => schema::create_table(session, name)?,
        K::CreateView(name) => schema::create_view(session, name)?,
        K::CreateSequence(name) => schema::create_sequence(session, name)?,
        K::CreateDatabase { if_not_exists, name } => schema::create_database(session, *name, *if_not_exists)?,
        K::ProcedureStatus => programs::routines(session, Some(ProgramKind::Procedure)),
        K::FunctionStatus => programs::routines(session, Some(ProgramKind::Function)),
        K::PackageStatus | K::PackageBodyStatus => programs::routines(session, None),
        K::CreateProcedure(name) => programs::create(session, ProgramKind::Procedure, name)?,
        K::CreateFunction(name) => programs::create(session, ProgramKind::Function, name)?,
        K::CreateTrigger(name) => programs::create_of_trigger(session, name)?,
        K::CreateEvent(name) => programs::create_of_event(session, name)?,
        K::Variables(scope) => server::variables(session, *scope),
        K::Status(scope) => server::status(session, *scope),
        K::ProcessList { full } => server::process_list(session, *full),
        K::Engines => engines(),
        K::Engine { name, what } => innodb::engine(session, *name, *what)?,
        K::CharacterSets => character_sets(),
        K::Collations => collations(),
        K::Privileges => accounts::privileges(),
        K::Grants(account) => accounts::grants(session, account.as_ref())?,
        K::CreateUser(account) => accounts::create_user(session, account.as_ref())?,
        K::Warnings { limit } => server::warnings(session, false, limit.as_ref()),
        K::Errors { limit } => server::warnings(session, true, limit.as_ref()),
        K::WarningCount => server::count("@@session.warning_count", session.diagnostics.warning_count()),
        K::ErrorCount => server::count("@@session.error_count", session.diagnostics.error_count()),
        K::Plugins | K::PluginsSoname(_) => server::plugins(),
        K::Profiles => server::profiles(),
        K::BinaryLogs => server::binary_logs(session)?,
        K::BinlogStatus => server::binlog_status(session),
        K::BinlogEvents { log, from, limit, relay: false, .. } => {
            binlog::events(session, *log, *from, limit.as_ref())?
        }
        K::SlaveHosts => crate::replicas::slave_hosts(session.server()),
        K::SlaveStatus { .. } => server::slave_status(),
        K::Profile { .. } => absent::profile(),
        K::BinlogEvents { relay: true, .. } => absent::relay_log_events(),
        K::Plugin(name) => absent::statistics(*name)?,
        K::CreateServer(name) => return Err(absent::create_server(*name)),
        K::ProcedureCode(_) | K::FunctionCode(_) | K::PackageBodyCode(_) => return Err(absent::code()),
        K::CreatePackage(name) => return Err(absent::package("PACKAGE", name)),
        K::CreatePackageBody(name) => return Err(absent::package("PACKAGE BODY", name)),
        other => return Err(error::not_supported(&format!("SHOW {}", name_of(other)))),
    };
    Ok(listing)
}

fn name_of(kind: &ShowKind<'_>) -> String {
    let debug = format!("{kind:?}");
    debug.split([' ', '(', '{']).next().unwrap_or("").to_uppercase()
}

/// XA RECOVER: the prepared branches.
pub(crate) fn prepared(
    session: &mut Session,
    out: &mut Output,
    sql_format: bool,
    reply: Reply,
) -> Result<(), ClientError> {
    let data = ColumnMeta::text("data", if sql_format { 512 } else { 128 });
    let columns = vec![int("formatID", 11), int("gtrid_length", 11), int("bqual_length", 11), data];
    let mut listing = Listing::new(columns);
    for xid in session.prepared_branches() {
        let text =
            if sql_format { xid_text(&xid).into_bytes() } else { [&xid.gtrid[..], &xid.bqual].concat() };
        let number = |n: usize| Value::Int(n as i64);
        let lengths = [number(xid.gtrid.len()), number(xid.bqual.len())];
        let data = Value::str(&text, Collation::UTF8MB3_GENERAL_CI);
        listing.row([Value::Int(i64::from(xid.format_id))].into_iter().chain(lengths).chain([data]));
    }
    send(session, out, listing, None, reply)
}

/// As XA statements take it: `'gtrid'[,'bqual'[,format]]`, in hexadecimal where it has other than plain characters.
fn xid_text(xid: &storage::recovery::OwnedXid) -> String {
    let quoted = |bytes: &[u8]| {
        let plain = bytes.iter().all(|b| (b' '..0x7f).contains(b) && *b != b'\'' && *b != b'\\');
        match std::str::from_utf8(bytes) {
            Ok(text) if plain => format!("'{text}'"),
            _ => {
                let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
                format!("X'{hex}'")
            }
        }
    };
    let mut text = quoted(&xid.gtrid);
    if !xid.bqual.is_empty() || xid.format_id != 1 {
        text.push(',');
        text.push_str(&quoted(&xid.bqual));
    }
    if xid.format_id != 1 {
        text.push_str(&format!(",{}", xid.format_id));
    }
    text
}

/// Filters and sends a listing.
fn send(
    session: &mut Session,
    out: &mut Output,
    mut listing: Listing,
    filter: Option<&ShowFilter<'_>>,
    reply: Reply,
) -> Result<(), ClientError> {
    let like = listing.like_column;
    match filter {
        Some(ShowFilter::Like(pattern)) => {
            listing.rows.retain(|row| {
                let first = row.get(like).map(crate::text::to_string).unwrap_or_default();
                sql_plan::like::matches(Collation::UTF8MB3_GENERAL_CI, first.as_bytes(), pattern, Some('\\'))
            });
        }
        Some(ShowFilter::Where(condition)) => sql::filter(session, &mut listing, condition)?,
        None => {}
    }
    let found = listing.rows.len() as u64;
    let mut writer = session.result_writer(out, reply);
    // A client that has gone is noticed when the buffer is sent.
    let _ = writer.columns(&listing.columns);
    for row in &listing.rows {
        writer.begin_row();
        row.iter().for_each(|value| writer.value(value));
        if writer.end_row().is_err() {
            return Ok(());
        }
    }
    let stored = writer.into_stored();
    session.found_rows = found;
    session.finish_rows(out, found, stored, reply);
    Ok(())
}

/// The Com_ counter of a SHOW.
pub(crate) fn counter_of(kind: &ShowKind<'_>) -> Counter {
    use Counter as C;
    use ShowKind as K;
    match kind {
        K::Databases => C::ComShowDatabases,
        K::Tables { .. } => C::ComShowTables,
        K::TableStatus { .. } => C::ComShowTableStatus,
        K::OpenTables { .. } => C::ComShowOpenTables,
        K::Triggers { .. } => C::ComShowTriggers,
        K::Events { .. } => C::ComShowEvents,
        K::Columns { .. } => C::ComShowFields,
        K::Index { .. } => C::ComShowKeys,
        K::Variables(_) => C::ComShowVariables,
        K::Status(_) => C::ComShowStatus,
        K::CreateDatabase { .. } => C::ComShowCreateDb,
        K::CreateTable(_) => C::ComShowCreateTable,
        K::ProcessList { .. } => C::ComShowProcesslist,
        K::Engines => C::ComShowStorageEngines,
        K::Engine { .. } => C::ComShowEngineStatus,
        K::CharacterSets => C::ComShowCharsets,
        K::Collations => C::ComShowCollations,
        K::Privileges => C::ComShowPrivileges,
        K::Grants(_) => C::ComShowGrants,
        K::Warnings { .. } | K::WarningCount => C::ComShowWarnings,
        K::Errors { .. } | K::ErrorCount => C::ComShowErrors,
        K::Plugins => C::ComShowPlugins,
        K::BinaryLogs => C::ComShowBinlogs,
        K::BinlogStatus => C::ComShowBinlogStatus,
        _ => C::ComAdminCommands,
    }
}
