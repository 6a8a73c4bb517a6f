//! Statements: from text to the family that runs them.
//!
//! # Order of work
//! parse one statement -> clear the diagnostics -> implicit commit if its kind asks for one -> run -> on error roll back the
//! statement (or the transaction) -> end an autocommit transaction -> reply. A text with several statements is a loop over this;
//! the first error ends it.

use accounts::Privileges;
use charset::Charset;
use client_error::{ClientError, account as denied, connection as error};
use sql_syntax::ast::{self, Statement};
use sql_syntax::{Arena, Parsed};
use types::Value;

use crate::counters::Counter;
use crate::diagnostics::{Condition, Level};
use crate::output::Output;
use crate::registry::Kill;
use crate::results::{Format, ResultOptions, ResultWriter};
use crate::session::{Done, Session};
use crate::{binlog_files, program, set, show, sql, table_locks, transaction};

/// How a statement's result goes out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply {
    pub format: Format,
    /// More results of the same command follow.
    pub more: bool,
    /// Column definitions are to be sent.
    pub definitions: bool,
    /// Keep the rows for COM_STMT_FETCH.
    pub cursor: bool,
    /// Only a result set is sent, no OK: a statement of a procedure.
    pub quiet: bool,
}

impl Reply {
    pub(crate) const TEXT: Self =
        Self { format: Format::Text, more: false, definitions: true, cursor: false, quiet: false };
}

/// What the connection does after a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    GoOn,
    /// COMMIT RELEASE and its kin.
    Leave,
}

/// COM_QUERY: runs every statement of `text`. True ends the connection.
pub(crate) fn run_text(session: &mut Session, out: &mut Output, text: &[u8]) -> bool {
    let converted = to_utf8(session.settings.client, text);
    let mut rest = converted.as_deref().unwrap_or(text);
    let mut arena = session.take_arena();
    let mut then = Then::GoOn;
    loop {
        let parsed = match sql_syntax::parse(&arena, rest, session.settings.parse) {
            Ok(parsed) => parsed,
            Err(e) => {
                session.log_general("Query", rest);
                session.begin_statement(true);
                session.fail(out, error::syntax(&e));
                break;
            }
        };
        if let Some(next) = parsed.next
            && !session.multi_statements
        {
            session.begin_statement(true);
            session.fail(out, error::syntax_near(&rest[next..], rest));
            break;
        }
        let reply = Reply { more: parsed.next.is_some(), ..Reply::TEXT };
        let text = &rest[..parsed.end];
        session.log_general("Query", text);
        let mark = session.slow_begin(out);
        let outcome = run_one(session, out, &parsed, text, reply);
        let failed = outcome.is_err();
        match outcome {
            Ok(next) => then = next,
            Err(e) => session.fail(out, e),
        }
        session.slow_end(mark, out, text);
        if failed {
            break;
        }
        let Some(next) = parsed.next else { break };
        if then == Then::Leave || out.is_gone() || session.entry.killed() != Kill::No {
            break;
        }
        rest = &rest[next..];
    }
    arena.reset();
    session.give_arena(arena);
    then == Then::Leave
}

/// The text in utf8mb4 when the client writes in something else.
pub(crate) fn to_utf8(client: Charset, text: &[u8]) -> Option<Vec<u8>> {
    if matches!(client, Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Ascii | Charset::Binary)
        || client.has_ascii() && text.is_ascii()
    {
        return None;
    }
    let mut converted = Vec::with_capacity(text.len() * 2);
    client.convert(text, Charset::Utf8mb4, &mut converted).ok()?;
    Some(converted)
}

/// Runs one parsed statement and replies, or returns its error.
pub(crate) fn run_one(
    session: &mut Session,
    out: &mut Output,
    parsed: &Parsed<'_>,
    text: &[u8],
    reply: Reply,
) -> Result<Then, ClientError> {
    let statement = &parsed.statement;
    session.begin_statement(!keeps_diagnostics(statement));
    session.entry.counters.count(counter_of(statement));
    let commits = commits_implicitly(statement);
    session.branch_admits_statement(statement, commits)?;
    if commits {
        session.commit_for_ddl()?;
    }
    if session.password_expired && !changes_password(statement) {
        return Err(denied::must_change_password());
    }
    crate::privileges::check(session, statement)?;
    if let Some(place) = &session.place
        && changes_something(statement)
    {
        place.count_update(session.now_us())?;
    }
    match statement {
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::LoadData(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Do(_) => {
            sql::run_planned(session, out, statement, text, reply)?;
        }
        Statement::Set(items) => {
            set::run(session, items, text)?;
            session.send_ok(out, &Done::default(), reply.more);
        }
        Statement::SetStatement(s) => return set::for_statement(session, out, s, text, reply),
        Statement::Show(s) => show::run(session, out, s, reply)?,
        Statement::Explain(e) => sql::explain(session, out, e, text, reply)?,
        Statement::Describe(d) => show::describe(session, out, d, reply)?,
        Statement::Use(name) => {
            session.use_database(&name.text())?;
            session.send_ok(out, &Done::default(), reply.more);
        }
        Statement::Transaction(t) => return transaction::run(session, out, t, reply),
        Statement::Xa(x) => crate::xa::run(session, out, x, reply)?,
        Statement::Prepare(p) => crate::named::prepare(session, out, p, reply)?,
        Statement::Execute(e) => return crate::named::execute(session, out, e, reply),
        Statement::Deallocate(name) => crate::named::deallocate(session, out, *name, reply)?,
        Statement::Kill(k) => kill(session, out, k, reply)?,
        Statement::PurgeLogs(p) => binlog_files::purge(session, out, p, reply)?,
        Statement::Reset(r) => binlog_files::reset(session, out, r, reply)?,
        Statement::Flush(f) => flush(session, out, f, reply)?,
        Statement::Call(c) => program::call(session, out, c, reply)?,
        Statement::Compound(body) => program::run_compound(session, out, body, text, reply)?,
        Statement::Signal(s) => program::signal(session, out, s, reply)?,
        Statement::GetDiagnostics(g) => program::get_diagnostics(session, out, g, reply)?,
        Statement::CreateRoutine(_) | Statement::AlterRoutine(_) | Statement::DropRoutine(_) => {
            program::define(session, out, statement, text, reply)?;
        }
        Statement::CreateTrigger(_) | Statement::DropTrigger(_) => {
            program::define_trigger(session, out, statement, reply, text)?;
        }
        Statement::CreateEvent(_) | Statement::AlterEvent(_) | Statement::DropEvent(_) => {
            crate::event::define(session, out, statement, text, reply)?;
        }
        Statement::Handler(h) => crate::handler::run(session, out, h, reply)?,
        Statement::LockTables(l) => table_locks::lock_tables(session, out, l, reply)?,
        Statement::UnlockTables => table_locks::unlock_tables(session, out, reply)?,
        // A comment that says nothing to this version.
        Statement::Empty => session.send_ok(out, &Done::default(), reply.more),
        Statement::Binlog { first, second } => {
            crate::replay::run(session, out, first, *second, reply)?;
        }
        Statement::Backup(b) => table_locks::backup(session, out, b, reply)?,
        Statement::Shutdown { .. } => {
            session.send_ok(out, &Done::default(), reply.more);
            session.server().request_stop();
        }
        s if crate::account::is_about_accounts(s) => {
            crate::account::run(session, out, s, text, reply)?;
        }
        other => sql::run_other(session, out, other, text, reply)?,
    }
    Ok(Then::GoOn)
}

impl Session {
    /// A new statement: forgets the conditions of the one before, unless it is about them.
    pub(crate) fn begin_statement(&mut self, clear: bool) {
        self.error_row = 0;
        if clear {
            self.diagnostics.clear();
        } else {
            self.diagnostics.keep();
        }
    }

    /// Reports an error: to the client and to SHOW WARNINGS.
    pub(crate) fn fail(&mut self, out: &mut Output, error: ClientError) {
        self.row_count = -1;
        out.error(&error);
        if std::mem::take(&mut self.error_recorded) {
            return;
        }
        let failure = Condition::at_row(Level::Error, error, self.error_row);
        self.diagnostics.add_condition(failure, self.settings.max_error_count);
    }

    /// A writer for a result of this session.
    pub(crate) fn result_writer<'a>(&self, out: &'a mut Output, reply: Reply) -> ResultWriter<'a> {
        ResultWriter::new(
            out,
            ResultOptions {
                format: reply.format,
                charset: self.settings.results,
                context: self.context(),
                status: self.status().set(wire::Status::MORE_RESULTS, reply.more),
                definitions: reply.definitions,
                cursor: reply.cursor,
            },
        )
    }

    pub(crate) fn take_arena(&mut self) -> Arena {
        self.arena.take().unwrap_or_default()
    }
    pub(crate) fn give_arena(&mut self, mut arena: Arena) {
        // One very large statement must not keep its memory for ever.
        if arena.allocated_bytes() > 1024 * 1024 {
            arena = Arena::new();
        }
        self.arena = Some(arena);
    }
}

/// What counts against MAX_UPDATES_PER_HOUR.
fn changes_something(statement: &Statement<'_>) -> bool {
    use Statement as S;
    matches!(statement, S::Insert(_) | S::Update(_) | S::Delete(_) | S::LoadData(_))
        || commits_implicitly(statement)
}

/// What a user whose password has expired may still do.
fn changes_password(statement: &Statement<'_>) -> bool {
    matches!(statement, Statement::Set(_) | Statement::AlterUser(_))
}

/// SHOW WARNINGS and its kin ask about the statement before.
fn keeps_diagnostics(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::Show(s) => matches!(
            s.kind,
            ast::ShowKind::Warnings { .. }
                | ast::ShowKind::Errors { .. }
                | ast::ShowKind::WarningCount
                | ast::ShowKind::ErrorCount
        ),
        Statement::GetDiagnostics(_) => true,
        // SELECT @@warning_count: a query without tables leaves them, too.
        Statement::Query(q) => sql::is_tableless(q),
        _ => false,
    }
}

/// Statements that end the open transaction before they run.
pub(crate) fn commits_implicitly(statement: &Statement<'_>) -> bool {
    use Statement as S;
    matches!(
        statement,
        S::CreateDatabase(_)
            | S::AlterDatabase(_)
            | S::DropDatabase { .. }
            | S::CreateTable(ast::CreateTable { temporary: false, .. })
            | S::AlterTable(_)
            | S::DropTable(ast::DropTable { temporary: false, .. })
            | S::TruncateTable(_)
            | S::RenameTable(_)
            | S::CreateIndex(_)
            | S::DropIndex(_)
            | S::CreateView(_)
            | S::DropView(_)
            | S::CreateSequence(_)
            | S::AlterSequence(_)
            | S::DropSequence(_)
            | S::LockTables(_)
            | S::TableAdmin(_)
            | S::Flush(_)
            | S::Reset(_)
            | S::CreateUser(_)
            | S::AlterUser(_)
            | S::DropUser(_)
            | S::RenameUser(_)
            | S::CreateRole(_)
            | S::DropRole(_)
            | S::Grant(_)
            | S::Revoke(_)
            | S::CreateRoutine(_)
            | S::AlterRoutine(_)
            | S::AlterEvent(_)
            | S::DropRoutine(_)
            | S::CreateTrigger(_)
            | S::DropTrigger { .. }
            | S::CreateEvent(_)
            | S::DropEvent { .. }
    )
}

fn counter_of(statement: &Statement<'_>) -> Counter {
    use Counter::*;
    use Statement as S;
    match statement {
        S::Query(_) => ComSelect,
        S::Insert(i) => sql::insert_counter(i),
        S::Update(_) => ComUpdate,
        S::Delete(_) => ComDelete,
        S::Do(_) => ComDo,
        S::CreateDatabase(_) => ComCreateDb,
        S::AlterDatabase(_) => ComAlterDb,
        S::DropDatabase { .. } => ComDropDb,
        S::CreateTable(_) => ComCreateTable,
        S::AlterTable(_) => ComAlterTable,
        S::DropTable(_) => ComDropTable,
        S::TruncateTable(_) => ComTruncate,
        S::RenameTable(_) => ComRenameTable,
        S::CreateIndex(_) => ComCreateIndex,
        S::DropIndex(_) => ComDropIndex,
        S::Set(_) | S::SetStatement(_) => ComSetOption,
        S::Show(s) => show::counter_of(&s.kind),
        S::Describe(_) => ComShowFields,
        S::Use(_) => ComChangeDb,
        S::Transaction(t) => transaction::counter_of(t),
        S::Prepare(_) => ComPrepareSql,
        S::Execute(_) => ComExecuteSql,
        S::Deallocate(_) => ComDeallocSql,
        S::Kill(_) => ComKill,
        S::Flush(_) => ComFlush,
        S::TableAdmin(t) => match t.action {
            ast::AdminAction::Check(_) => ComCheck,
            ast::AdminAction::Checksum { .. } => ComChecksum,
            ast::AdminAction::Analyze(_) => ComAnalyze,
            _ => ComOptimize,
        },
        _ => ComAdminCommands,
    }
}

fn kill(session: &mut Session, out: &mut Output, k: &ast::Kill<'_>, reply: Reply) -> Result<(), ClientError> {
    let how = if k.query { Kill::Query } else { Kill::Connection };
    match &k.target {
        ast::KillTarget::Connection(expr) => {
            let id = number(session, expr)?;
            kill_connection(session, id, how)?;
        }
        ast::KillTarget::QueryId(expr) => {
            let id = number(session, expr)?;
            let entry = session.server().connections.by_query(id).ok_or_else(|| error::no_such_query(id))?;
            if !may_kill(session, &entry.user()) {
                return Err(denied::not_owner_of_thread(entry.id));
            }
            entry.kill(Kill::Query);
        }
        ast::KillTarget::User(account) => {
            let user = account_user(account);
            if !may_kill(session, &user) {
                return Err(denied::privilege_needed(Privileges::CONNECTION_ADMIN.name()));
            }
            let me = session.entry.id;
            let mut killed = 0;
            for entry in session.server().connections.all() {
                if entry.user() == user && entry.id != me {
                    entry.kill(how);
                    killed += 1;
                }
            }
            session.send_ok(out, &Done { affected_rows: killed, ..Done::default() }, reply.more);
            return Ok(());
        }
    }
    if session.entry.killed() != Kill::No {
        return Err(killed_error(session));
    }
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

fn account_user(account: &ast::Account<'_>) -> String {
    match account {
        ast::Account::Name { user, .. } => String::from_utf8_lossy(user).into_owned(),
        _ => String::new(),
    }
}

/// Why a killed statement ended.
pub(crate) fn killed_error(session: &Session) -> ClientError {
    match session.entry.killed() {
        Kill::Connection if session.server().is_stopping() => error::server_shutdown(),
        Kill::Connection => error::connection_killed(),
        _ if session.entry.timed_out() => error::statement_timeout(),
        _ => error::query_interrupted(),
    }
}

/// KILL by connection number.
pub(crate) fn kill_connection(session: &Session, id: u64, how: Kill) -> Result<(), ClientError> {
    let entry = session.server().connections.get(id).ok_or_else(|| error::no_such_thread(id))?;
    if !may_kill(session, &entry.user()) {
        return Err(denied::not_owner_of_thread(id));
    }
    entry.kill(how);
    Ok(())
}

/// Connections of one's own, or all.
fn may_kill(session: &Session, user: &str) -> bool {
    session.identity.user == user || session.rights.global().has(Privileges::CONNECTION_ADMIN)
}

fn number(session: &mut Session, expr: &ast::Expr<'_>) -> Result<u64, ClientError> {
    let value = evaluate(session, expr)?;
    Ok(u64::try_from(crate::text::as_i64(&value)).unwrap_or(0))
}

/// The value of an expression without tables.
pub(crate) fn evaluate(session: &mut Session, expr: &ast::Expr<'_>) -> Result<Value, ClientError> {
    sql::evaluate(session, expr)
}

fn flush(
    session: &mut Session,
    out: &mut Output,
    f: &ast::Flush<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    match f.what {
        ast::FlushWhat::Tables { tables, mode, .. } => table_locks::flush_tables(session, tables, mode)?,
        ast::FlushWhat::Items(items) => {
            for item in items {
                match item {
                    ast::FlushItem::Status { .. } => session.entry.counters.reset(),
                    ast::FlushItem::UserResources => session.server().usage.forget_hours(),
                    ast::FlushItem::Privileges => crate::account::reload(session)?,
                    ast::FlushItem::Ssl => session.server().renew_tls()?,
                    ast::FlushItem::Hosts | ast::FlushItem::QueryCache | ast::FlushItem::ErrorLogs => {}
                    ast::FlushItem::GeneralLogs => session.server().reopen_query_logs(true, false),
                    ast::FlushItem::SlowLogs => session.server().reopen_query_logs(false, true),
                    ast::FlushItem::EngineLogs => binlog_files::flush(session, None)?,
                    ast::FlushItem::Logs => {
                        session.server().reopen_query_logs(true, true);
                        binlog_files::flush(session, None)?;
                    }
                    ast::FlushItem::BinaryLogs { delete_domains } => {
                        binlog_files::flush(session, *delete_domains)?;
                    }
                    ast::FlushItem::RelayLogs { .. } | ast::FlushItem::DesKeyFile => {}
                    ast::FlushItem::Plugin(name) if name.text().to_lowercase().ends_with("_statistics") => {}
                    _ => return Err(error::not_supported("this kind of FLUSH")),
                }
            }
        }
    }
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

/// COM_FIELD_LIST: the columns of a table, without a result set around them.
pub(crate) fn field_list(session: &mut Session, out: &mut Output, table: &[u8], wild: &[u8]) {
    session.begin_statement(true);
    session.entry.counters.count(Counter::ComShowFields);
    match show::field_list(session, &String::from_utf8_lossy(table), &String::from_utf8_lossy(wild)) {
        Ok(columns) => {
            let caps = out.capabilities;
            let charset = session.settings.results;
            for (meta, default) in &columns {
                out.writer().packet(|p| {
                    crate::results::definition(meta, charset).encode(p, caps);
                    match default {
                        Some(text) => wire::lenenc::PutWire::put_lenenc_string(p, text.as_bytes()),
                        None => p.push(wire::lenenc::NULL),
                    }
                });
            }
            let status = session.status();
            out.eof(status, 0);
        }
        Err(e) => session.fail(out, e),
    }
}
