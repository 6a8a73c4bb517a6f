//! DDL: the executor changes the definitions; here the statement gets its place in the log, its GTID and its reply.
//!
//! The dictionary's transaction holds the statement as a replication event, so that definition, event and GTID are one commit.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use charset::{Charset, Collation};
use client_error::{ClientError, connection as error};
use commit::{Committer, Numbering};
use event_format::{Event, Query, QueryHead, StatusVariable, gtid_flags_extra, header_flags, query_flags};
use log_format::record::commit_flags;
use sql_exec::ddl::{DdlContext, execute_ddl};
use sql_plan::error::Warnings;
use sql_syntax::ast::Statement;
use storage::row::RowError;
use storage::trx::Trx;

use crate::output::Output;
use crate::scope::PlanVariables;
use crate::session::{Done, Session};
use crate::statement::Reply;
use crate::transaction::Need;
use crate::two_phase::Phases;
use crate::variables::Var;
use crate::write_gate::Passing;

/// Type code of MariaDB's query event.
const QUERY_EVENT: u8 = 2;

/// Runs a statement about definitions. Its transaction and the session's have nothing in common: that one has been committed.
pub(crate) fn run(
    session: &mut Session,
    out: &mut Output,
    statement: &Statement<'_>,
    text: &[u8],
    reply: Reply,
) -> Result<(), ClientError> {
    if session.changes_temporaries_only(statement) {
        return run_admitted(session, out, statement, text, reply);
    }
    session.need_writable()?;
    session.check_locked_definitions(statement)?;
    session.enter_gate(Passing::Ddl)?;
    let outcome = run_admitted(session, out, statement, text, reply);
    session.leave_gate();
    session.forget_dropped_locks();
    outcome
}

/// Runs a change of definitions that the session makes itself: its checks before, its locks given back after.
pub(crate) fn guarded(
    session: &mut Session,
    body: impl FnOnce(&mut Session) -> Result<(), ClientError>,
) -> Result<(), ClientError> {
    session.need_writable()?;
    session.enter_gate(Passing::Ddl)?;
    session.values.now_micros = session.now_micros();
    let outcome = body(session);
    session.transaction.mdl.release_all();
    session.leave_gate();
    outcome
}

/// Commits such a change together with the statement's event.
pub(crate) fn commit_change(
    session: &mut Session,
    change: catalog::CatalogChange,
    text: &[u8],
) -> Result<(), ClientError> {
    let server = Arc::clone(session.server());
    let numbering = session.numbering();
    session.check_numbering(numbering)?;
    let event = numbering.map(|_| QueryEvent::of(session).body(text));
    let time = session.values.now_micros as u64;
    let mut committed = commit::Done::default();
    let outcome = change.commit_with(|trx| {
        let logged = event.as_deref().map(|body| LoggedEvent { time, flags: 0, body });
        committed = commit_logged(server.committer(), trx, numbering, logged)?;
        Ok(())
    });
    session.after_commit(&committed);
    outcome.map_err(|e| error::internal(&e.to_string()))
}

/// Runs a statement about definitions that has passed the write gate.
fn run_admitted(
    session: &mut Session,
    out: &mut Output,
    statement: &Statement<'_>,
    text: &[u8],
    reply: Reply,
) -> Result<(), ClientError> {
    session.values.now_micros = session.now_micros();
    let server = Arc::clone(session.server());
    let numbering = session.numbering();
    session.check_numbering(numbering)?;
    let database = database_of(statement);
    let flags = event_flags(&server, statement);
    let event = numbering.map(|_| QueryEvent {
        database: database.unwrap_or(Arc::clone(&session.database)),
        ..QueryEvent::of(session)
    });
    let time = session.values.now_micros as u64;
    session.note_text(text);
    let wanted = numbering.filter(|_| session.variables.bool(Var::BINLOG_ALTER_TWO_PHASE));
    let phases = wanted.zip(event.as_ref()).map(|(numbering, event)| Phases {
        server: &server,
        numbering,
        event,
        text,
        time,
        started: RefCell::default(),
    });
    let mut committed = commit::Done::default();
    let mut commit = |trx: Trx, other_text: Option<&str>| {
        if let Some(phases) = phases.as_ref().filter(|phases| phases.has_started()) {
            committed = phases.end(trx, gtid_flags_extra::COMMIT_ALTER)?;
            return Ok(());
        }
        let body = event.as_ref().map(|event| event.body(other_text.map_or(text, str::as_bytes)));
        let logged = body.as_deref().map(|body| LoggedEvent { time, flags, body });
        committed = commit_logged(server.committer(), trx, numbering, logged)?;
        Ok(())
    };
    let mut begins = || phases.as_ref().map_or(Ok(()), Phases::start);
    let mut warnings = Warnings::new();
    warnings.set_kept_max(session.settings.max_error_count as u32);
    // A transaction that goes on keeps its locks; what the statement itself has locked is given back with it.
    let goes_on = !crate::statement::commits_implicitly(statement);
    if goes_on {
        session.ensure_trx(Need::Read)?;
    }
    let outcome =
        with_context(session, &mut warnings, &mut commit, &mut begins, |cx| execute_ddl(statement, cx));
    session.take_warnings(&warnings);
    if let Some(phases) = &phases {
        for done in phases.finish(outcome.is_ok()) {
            session.after_commit(&done);
        }
    }
    session.after_commit(&committed);
    if goes_on && outcome.is_ok() {
        session.end_statement()?;
    } else if !goes_on {
        session.transaction.mdl.release_all();
    }
    match outcome {
        Ok(outcome) => {
            if let Statement::DropDatabase { name, .. } = statement {
                session.forget_database(&name.text());
            }
            session.row_count = outcome.affected_rows as i64;
            let done = Done { affected_rows: outcome.affected_rows, insert_id: 0, info: outcome.info };
            session.send_ok(out, &done, reply.more);
            Ok(())
        }
        Err(e) => Err(session.statement_failed(&e)),
    }
}

/// CHECK, CHECKSUM, ANALYZE, OPTIMIZE TABLE: a result set with a row a message.
pub(crate) fn table_admin(
    session: &mut Session,
    out: &mut Output,
    statement: &sql_exec::Admin<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    session.values.now_micros = session.now_micros();
    let server = Arc::clone(session.server());
    let mut commit =
        |trx: Trx, _: Option<&str>| commit_logged(server.committer(), trx, None, None).map(|_| ());
    let mut warnings = Warnings::new();
    let mut writer = session.result_writer(out, reply);
    let outcome = with_context(session, &mut warnings, &mut commit, &mut || Ok(()), |cx| {
        sql_exec::table_admin(statement, cx, &mut writer)
    });
    session.take_warnings(&warnings);
    session.transaction.mdl.release_all();
    match outcome {
        Ok(outcome) => {
            let stored = writer.into_stored();
            session.finish_rows(out, outcome.found_rows, stored, reply);
            Ok(())
        }
        Err(e) => {
            writer.take_back();
            Err(session.statement_failed(&e))
        }
    }
}

/// Commits a change of definitions, with the text of its event if it has one.
type CommitDefinition<'a> = dyn FnMut(Trx, Option<&str>) -> Result<(), RowError> + 'a;

/// Hands `run` what statements about definitions and whole tables need.
pub(crate) fn with_context<R>(
    session: &mut Session,
    warnings: &mut Warnings,
    commit: &mut CommitDefinition<'_>,
    begins: &mut dyn FnMut() -> Result<(), RowError>,
    run: impl FnOnce(&mut DdlContext<'_>) -> R,
) -> R {
    let server = Arc::clone(session.server());
    let catalog = Arc::clone(&session.catalog);
    let settings = session.exec_settings();
    let account = session.account();
    let database = Arc::clone(&session.database);
    let connection_collation = session.settings.connection;
    let client_charset = session.settings.client;
    let log = session.settings.trx.log;
    let annotation = std::mem::take(&mut session.annotation);
    let locals = session.locals.clone();
    let params = if locals.is_some() { session.params.clone() } else { Vec::new() };
    let server_collation = session
        .variables
        .get(Var::COLLATION_SERVER)
        .as_collation()
        .unwrap_or(Collation::UTF8MB4_UCA1400_AI_CI);
    let (mut scope, parts) = session.split(&server);
    let variables = PlanVariables::of(&scope);
    let mut commit = |trx: Trx, text: Option<&str>| commit(trx, text);
    run(&mut DdlContext {
        catalog: &catalog,
        reader: parts.trx,
        mdl: parts.mdl,
        values: parts.values,
        warnings,
        session: &mut scope,
        workspace: parts.workspace,
        variables: &variables,
        virtual_table: &crate::information_schema::table,
        settings,
        database: &database,
        user: &account,
        connection_collation,
        client_charset,
        server_collation,
        commit: &mut commit,
        begins: &mut || begins(),
        log,
        annotation: &annotation,
        locals: locals.as_deref().map(|names| names as &dyn sql_plan::Locals),
        params: &params,
    })
}

/// Commits a transaction of the server's own tables together with a statement's event.
pub(crate) fn commit_event(session: &mut Session, trx: Trx, text: &[u8]) -> Result<(), RowError> {
    let numbering = session.numbering();
    let event = numbering.map(|_| QueryEvent::of(session).body(text));
    session.values.now_micros = session.now_micros();
    let time = session.values.now_micros as u64;
    let event = event.as_deref().map(|body| LoggedEvent { time, flags: 0, body });
    let done = commit_logged(session.server().committer(), trx, numbering, event)?;
    session.after_commit(&done);
    Ok(())
}

/// Commits the dictionary's transaction together with the statement's event.
pub(crate) fn commit_logged(
    committer: &Committer,
    mut trx: Trx,
    numbering: Option<Numbering>,
    event: Option<LoggedEvent<'_>>,
) -> Result<commit::Done, RowError> {
    let refused = |e: &dyn std::fmt::Display| RowError::Storage(e.to_string());
    let mut numbering = numbering;
    if let Some(LoggedEvent { time, flags, body }) = event {
        trx.append_event(time, QUERY_EVENT, flags, body)?;
        if let Some(numbering) = &mut numbering {
            numbering.flags |= commit_flags::DDL;
        }
    }
    committer.commit_definition(trx, numbering).map_err(|e| refused(&e))
}

/// A query event of a statement about definitions.
pub(crate) struct LoggedEvent<'a> {
    /// When the statement began.
    pub(crate) time: u64,
    /// Of its header.
    pub(crate) flags: u32,
    pub(crate) body: &'a [u8],
}

/// The database that a statement about databases names: its event stands in it, and needs no USE.
fn database_of(statement: &Statement<'_>) -> Option<Arc<str>> {
    let name = match statement {
        Statement::CreateDatabase(s) => Some(s.name.text()),
        Statement::AlterDatabase(s) => s.name.as_ref().map(|name| name.text()),
        Statement::DropDatabase { name, .. } => Some(name.text()),
        _ => None,
    };
    name.map(|name| Arc::from(&*name))
}

fn event_flags(server: &crate::server::Server, statement: &Statement<'_>) -> u32 {
    u32::from(match statement {
        Statement::CreateDatabase(_) | Statement::AlterDatabase(_) => header_flags::SUPPRESS_USE,
        // A table of that name may be a temporary one, and so for the tables of a database.
        Statement::DropTable(_) => header_flags::THREAD_SPECIFIC,
        Statement::DropDatabase { name, .. } => {
            let catalog = server.catalog();
            let dropped = catalog.database(&name.text());
            let has_tables = dropped.is_some_and(|d| !d.tables.is_empty() || !d.views.is_empty());
            header_flags::SUPPRESS_USE | if has_tables { header_flags::THREAD_SPECIFIC } else { 0 }
        }
        _ => 0,
    })
}

/// The body of a query event with this text.
pub(crate) fn query_event(session: &Session, text: &str) -> Vec<u8> {
    QueryEvent::of(session).body(text.as_bytes())
}

/// What a query event says of its session.
pub(crate) struct QueryEvent {
    pub(crate) thread_id: u32,
    /// The last six bytes are the three collations.
    status: Vec<u8>,
    /// The client's bytes are those of the text in utf8.
    is_utf8: bool,
    database: Arc<str>,
}

impl QueryEvent {
    /// The status variables that MariaDB writes for a statement about definitions.
    fn of(session: &Session) -> Self {
        let mut flags = 0;
        let mut set = |on: bool, flag: u32| flags |= if on { flag } else { 0 };
        set(session.variables.bool(Var::SQL_AUTO_IS_NULL), query_flags::AUTO_IS_NULL);
        set(!session.settings.autocommit, query_flags::NOT_AUTOCOMMIT);
        set(!session.variables.bool(Var::FOREIGN_KEY_CHECKS), query_flags::NO_FOREIGN_KEY_CHECKS);
        set(!session.variables.bool(Var::UNIQUE_CHECKS), query_flags::RELAXED_UNIQUE_CHECKS);
        set(!session.variables.bool(Var::CHECK_CONSTRAINT_CHECKS), query_flags::NO_CHECK_CONSTRAINT_CHECKS);
        set(session.variables.bool(Var::EXPLICIT_DEFAULTS_FOR_TIMESTAMP), query_flags::EXPLICIT_TIMESTAMPS);
        let server = session.variables.get(Var::COLLATION_SERVER).as_collation();
        let connection = session.settings.connection;
        let spoken = session.settings.client;
        let client = match spoken {
            // SET NAMES says both.
            spoken if spoken == connection.charset() => connection,
            Charset::Utf8mb4 => Collation::UTF8MB4_GENERAL_CI,
            Charset::Utf8mb3 => Collation::UTF8MB3_GENERAL_CI,
            other => Collation::default_of(other),
        };
        let mut status = Vec::new();
        for variable in [
            StatusVariable::Flags2(flags),
            StatusVariable::SqlMode(session.settings.sql_mode.0),
            StatusVariable::Catalog(b"std"),
            StatusVariable::Charset {
                client: client.id(),
                connection: connection.id(),
                server: server.map_or(0, Collation::id),
            },
        ] {
            variable.encode(&mut status);
        }
        let is_utf8 = matches!(spoken, Charset::Utf8mb3 | Charset::Utf8mb4);
        Self { thread_id: session.entry.id as u32, status, is_utf8, database: Arc::clone(&session.database) }
    }

    fn body(&self, text: &[u8]) -> Vec<u8> {
        self.body_of_phase(text, None)
    }

    /// The same, as a phase of ALTER TABLE: which, and the number of the first one's group.
    pub(crate) fn body_of_phase(&self, text: &[u8], phase: Option<(u8, u64)>) -> Vec<u8> {
        let database = self.database.as_bytes();
        let mut status = Cow::Borrowed(&self.status[..]);
        if !self.is_utf8 && !text.is_ascii() {
            // Statements stand in the log in utf8.
            let client = status.len() - 6;
            status.to_mut()[client..client + 2]
                .copy_from_slice(&Collation::UTF8MB4_GENERAL_CI.id().to_le_bytes());
        }
        if let Some((flags, start_alter)) = phase {
            StatusVariable::AlterFlags { flags, start_alter }.encode(status.to_mut());
        }
        let query = Query {
            head: QueryHead { thread_id: self.thread_id, ..QueryHead::default() },
            status: &status,
            database: &database[..database.len().min(255)],
            sql: text.into(),
            compressed: false,
        };
        let mut out = Vec::new();
        Event::Query(query).encode(&mut out);
        out
    }
}
