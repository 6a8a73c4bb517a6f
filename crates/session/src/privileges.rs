//! Which privileges a statement needs, statement by statement. Rows are the planner's matter (`sql_plan::guard`), accounts that of
//! [`crate::account`]; the rest is here.
//!
//! Who may do everything is not looked at further. Errors are MariaDB's: 1044 for databases, 1142 for tables, 1370 for routines,
//! 1227 for what concerns the server.

use accounts::{Privileges as P, RoutineKind};
use client_error::{ClientError, account as denied, connection as error};
use sql_syntax::ast::{self, ObjectName, ShowKind, Statement};

use crate::diagnostics::Level;
use crate::session::Session;
use crate::system_tables::MYSQL;
use crate::variables::Var;

type Outcome = Result<(), ClientError>;

/// Databases that everybody sees; their tables show each reader what is its own.
fn is_virtual(db: &str) -> bool {
    db.eq_ignore_ascii_case("information_schema") || db.eq_ignore_ascii_case("performance_schema")
}

/// Checks a statement before it runs.
pub(crate) fn check(session: &Session, statement: &Statement<'_>) -> Outcome {
    if session.rights.global().has(P::ALL_GLOBAL) {
        return Ok(());
    }
    use Statement as S;
    match statement {
        S::CreateDatabase(s) => {
            let wanted = if s.mode.or_replace { P::CREATE | P::DROP } else { P::CREATE };
            session.need_database(&s.name.text(), wanted)
        }
        S::AlterDatabase(s) => match &s.name {
            Some(name) => session.need_database(&name.text(), P::ALTER),
            None => session.need_database(&session.database, P::ALTER),
        },
        S::DropDatabase { name, .. } => session.need_database(&name.text(), P::DROP),
        S::CreateTable(_) | S::AlterTable(_) | S::DropTable(_) | S::TruncateTable(_) | S::RenameTable(_) => {
            check_table_definition(session, statement)
        }
        S::CreateIndex(s) => session.need_table(&s.table, P::INDEX),
        S::DropIndex(s) => session.need_table(&s.table, P::INDEX),
        S::CreateView(s) => {
            let replaces = s.mode.or_replace || s.alter;
            let wanted = if replaces { P::CREATE_VIEW | P::DROP } else { P::CREATE_VIEW };
            session.need_table(&s.name, wanted)?;
            match &s.definer {
                Some(account) => session.need_definer(&crate::program::definer(session, Some(account))),
                None => Ok(()),
            }
        }
        S::DropView(s) | S::DropSequence(s) => each(s.names, |name| session.need_table(name, P::DROP)),
        S::CreateSequence(s) => session.need_table(&s.name, P::CREATE),
        S::AlterSequence(s) => session.need_table(&s.name, P::ALTER),
        S::LockTables(s) => s.tables.iter().try_for_each(|t| {
            session.need_database(&session.schema_of(&t.name)?, P::LOCK_TABLES)?;
            session.need_some_of_table(&t.name, P::SELECT)
        }),
        S::TableAdmin(s) => {
            let wanted = match s.action {
                ast::AdminAction::Check(_) | ast::AdminAction::Checksum { .. } => P::SELECT,
                _ => P::SELECT | P::INSERT,
            };
            each(s.tables, |name| session.need_some_of_table(name, wanted))
        }
        S::Call(_) | S::CreateRoutine(_) | S::AlterRoutine(_) | S::DropRoutine(_) | S::CreatePackage(_) => {
            check_routine(session, statement)
        }
        S::CreateTrigger(s) => session.need_table(&s.table, P::TRIGGER),
        S::CreateEvent(s) => session.need_database(&session.schema_of(&s.name)?, P::EVENT),
        S::AlterEvent(s) => session.need_database(&session.schema_of(&s.name)?, P::EVENT),
        S::DropEvent(s) => session.need_database(&session.schema_of(&s.name)?, P::EVENT),
        S::LoadData(s) if !s.local && !session.rights.global().has(P::FILE) => Err(session.access_denied()),
        S::Query(q) if writes_file(q) => session.need_global(P::FILE),
        S::Handler(s) if matches!(s.action, ast::HandlerAction::Open { .. }) => {
            session.need_some_of_table(&s.table, P::SELECT)
        }
        S::Show(s) => check_show(session, &s.kind),
        S::Describe(s) => session.need_some_of_table(&s.table, P::SELECT),
        S::Use(name) => session.need_visible(&name.text()),
        S::SetStatement(s) => check(session, &s.statement),
        _ => check_server(session, statement),
    }
}

fn each(names: &[ObjectName<'_>], mut check: impl FnMut(&ObjectName<'_>) -> Outcome) -> Outcome {
    names.iter().try_for_each(&mut check)
}

fn writes_file(query: &ast::Query<'_>) -> bool {
    matches!(query.into, Some(ast::SelectInto::OutFile { .. } | ast::SelectInto::DumpFile(_)))
}

fn check_table_definition(session: &Session, statement: &Statement<'_>) -> Outcome {
    use Statement as S;
    match statement {
        S::CreateTable(s) if s.temporary => {
            session.need_database(&session.schema_of(&s.name)?, P::CREATE_TEMPORARY)
        }
        S::CreateTable(s) => {
            let mut wanted = P::CREATE;
            if s.query.is_some() {
                wanted |= P::INSERT;
            }
            if s.mode.or_replace {
                wanted |= P::DROP;
            }
            session.need_table(&s.name, wanted)?;
            match &s.content {
                ast::TableContent::Like(other) => session.need_some_of_table(other, P::SELECT),
                ast::TableContent::Elements(_) => Ok(()),
            }
        }
        S::AlterTable(s) => {
            let renamed = s.actions.iter().find_map(|a| match a {
                ast::AlterAction::Rename { new, .. } => Some(new),
                _ => None,
            });
            match renamed {
                Some(to) => {
                    session.need_table(&s.name, P::ALTER | P::DROP)?;
                    session.need_table(to, P::CREATE | P::INSERT)
                }
                None => session.need_table(&s.name, P::ALTER),
            }
        }
        S::DropTable(s) if s.temporary => Ok(()),
        S::DropTable(s) => each(s.names, |name| session.need_table(name, P::DROP)),
        S::TruncateTable(s) => session.need_table(&s.name, P::DROP),
        S::RenameTable(s) => s.renames.iter().try_for_each(|(from, to)| {
            session.need_table(from, P::ALTER | P::DROP)?;
            session.need_table(to, P::CREATE | P::INSERT)
        }),
        _ => Ok(()),
    }
}

fn check_routine(session: &Session, statement: &Statement<'_>) -> Outcome {
    use Statement as S;
    let kind = |k: ast::RoutineKind| match k {
        ast::RoutineKind::Function => RoutineKind::Function,
        ast::RoutineKind::Procedure => RoutineKind::Procedure,
    };
    match statement {
        S::CreateRoutine(s) => {
            session.need_database(&session.schema_of(&s.name)?, P::CREATE_ROUTINE)?;
            if s.mode.or_replace {
                session.need_routine(&s.name, kind(s.kind), P::ALTER_ROUTINE)
            } else {
                Ok(())
            }
        }
        S::CreatePackage(s) => session.need_database(&session.schema_of(&s.name)?, P::CREATE_ROUTINE),
        S::AlterRoutine(s) => session.need_routine(&s.name, kind(s.kind), P::ALTER_ROUTINE),
        S::DropRoutine(s) => {
            let kind = match s.kind {
                ast::DropRoutineKind::Procedure => RoutineKind::Procedure,
                ast::DropRoutineKind::Function => RoutineKind::Function,
                ast::DropRoutineKind::Package => RoutineKind::Package,
                ast::DropRoutineKind::PackageBody => RoutineKind::PackageBody,
            };
            session.need_routine(&s.name, kind, P::ALTER_ROUTINE)
        }
        S::Call(s) => session.need_routine(&s.procedure, RoutineKind::Procedure, P::EXECUTE),
        _ => Ok(()),
    }
}

fn check_show(session: &Session, kind: &ShowKind<'_>) -> Outcome {
    use ShowKind as K;
    let database = |name: &Option<ast::Ident<'_>>| match name {
        Some(name) => session.need_visible(&name.text()),
        None if session.database.is_empty() => Ok(()),
        None => session.need_visible(&session.database),
    };
    match kind {
        K::Tables { database: db, .. }
        | K::TableStatus { database: db }
        | K::Triggers { database: db, .. } => database(db),
        K::Events { database: db } => match db {
            Some(name) => session.need_database(&name.text(), P::EVENT),
            None => session.need_database(&session.database, P::EVENT),
        },
        K::Columns { table, .. } | K::Index { table } => session.need_some_of_table(table, P::COLUMN),
        K::CreateTable(name) | K::CreateSequence(name) => {
            let db = session.schema_of(name)?;
            let table = name.name.text();
            if is_virtual(&db) || session.rights.table(&db, &table).has_any(P::TABLE) {
                return Ok(());
            }
            let (user, host) = (session.rights.user(), session.rights.client_host());
            Err(denied::table_denied("SHOW", user, host, &db, &table))
        }
        K::CreateView(name) => {
            session.need_table(name, P::SELECT)?;
            session.need_table(name, P::SHOW_VIEW)
        }
        K::CreateDatabase { name, .. } => session.need_visible(&name.text()),
        K::CreateTrigger(_) | K::CreateEvent(_) => Ok(()),
        K::BinaryLogs | K::BinlogStatus | K::BinlogEvents { relay: false, .. } => {
            session.need_global(P::BINLOG_MONITOR)
        }
        K::SlaveStatus { .. } | K::BinlogEvents { relay: true, .. } => session.need_global(P::SLAVE_MONITOR),
        K::SlaveHosts => session.need_global(P::REPLICATION_MASTER_ADMIN),
        K::Engine { .. } => session.need_global(P::PROCESS),
        _ => Ok(()),
    }
}

/// Statements about the server as a whole.
fn check_server(session: &Session, statement: &Statement<'_>) -> Outcome {
    use Statement as S;
    match statement {
        S::Flush(s) => {
            let only_status = matches!(s.what, ast::FlushWhat::Items(items)
                if items.iter().all(|i| matches!(i, ast::FlushItem::Status { global: false, .. })));
            if only_status { Ok(()) } else { session.need_global(P::RELOAD) }
        }
        S::Reset(_) | S::Backup(ast::Backup::Stage(_)) => session.need_global(P::RELOAD),
        S::PurgeLogs(_) => session.need_global(P::BINLOG_ADMIN),
        S::ChangeMaster(_) | S::Slave(_) => session.need_global(P::REPLICATION_SLAVE_ADMIN),
        S::Binlog { .. } => session.need_global(P::BINLOG_REPLAY),
        S::Shutdown { .. } => session.need_global(P::SHUTDOWN),
        S::CreateServer(_) | S::AlterServer(_) | S::DropServer { .. } => {
            session.need_global(P::FEDERATED_ADMIN)
        }
        S::Plugin(s) => {
            let wanted = if s.install { P::INSERT } else { P::DELETE };
            if session.rights.table(MYSQL, "plugin").has(wanted) {
                return Ok(());
            }
            Err(session.table_denied(wanted, MYSQL, "plugin"))
        }
        _ => Ok(()),
    }
}

impl Session {
    /// The database of a name.
    pub(crate) fn schema_of(&self, name: &ObjectName<'_>) -> Result<String, ClientError> {
        match name.database {
            Some(db) => Ok(db.text().into_owned()),
            None if self.database.is_empty() => Err(error::no_database_selected()),
            None => Ok(self.database.to_string()),
        }
    }

    /// Error 1044 unless all of `wanted` is granted on the database.
    pub(crate) fn need_database(&self, db: &str, wanted: P) -> Outcome {
        if !is_virtual(db) && self.rights.database(db).has(wanted) {
            return Ok(());
        }
        Err(self.database_denied(db))
    }

    /// Error 1044 unless something in the database is granted.
    pub(crate) fn need_visible(&self, db: &str) -> Outcome {
        if db.is_empty() || is_virtual(db) || self.rights.sees_database(db) {
            return Ok(());
        }
        Err(self.database_denied(db))
    }

    /// Error 1142 unless all of `wanted` is granted on the table.
    pub(crate) fn need_table(&self, name: &ObjectName<'_>, wanted: P) -> Outcome {
        let (db, table) = (self.schema_of(name)?, name.name.text());
        if is_virtual(&db) {
            return Ok(());
        }
        let missing = wanted.without(self.rights.table(&db, &table));
        if missing.is_empty() { Ok(()) } else { Err(self.table_denied(missing, &db, &table)) }
    }

    /// Same, where a privilege on some column is enough; of [`P::COLUMN`] any privilege.
    pub(crate) fn need_some_of_table(&self, name: &ObjectName<'_>, wanted: P) -> Outcome {
        let (db, table) = (self.schema_of(name)?, name.name.text());
        if is_virtual(&db) {
            return Ok(());
        }
        let held = self.rights.table(&db, &table) | self.rights.some_column(&db, &table);
        if wanted == P::COLUMN {
            let enough = held.has_any(P::COLUMN);
            return if enough { Ok(()) } else { Err(self.table_denied(P::SELECT, &db, &table)) };
        }
        let missing = wanted.without(held);
        if missing.is_empty() { Ok(()) } else { Err(self.table_denied(missing, &db, &table)) }
    }

    /// Same, of a table by its full name.
    pub(crate) fn need_on_table(&self, db: &str, table: &str, wanted: P) -> Outcome {
        let missing = wanted.without(self.rights.table(db, table));
        if missing.is_empty() { Ok(()) } else { Err(self.table_denied(missing, db, table)) }
    }

    /// Error 1227 unless a program may be made for this definer.
    pub(crate) fn need_definer(&self, (user, host): &(String, String)) -> Outcome {
        let own = user == self.rights.user() && host == self.rights.account_host();
        // The active role may be one, too: it is named without a host.
        let role = self.rights.role();
        let own_role = !role.is_empty() && user == role && (host == "%" || host.is_empty());
        if own || own_role { Ok(()) } else { self.need_global(P::SET_USER) }
    }

    /// Note 1449 when there is no account of a program's definer.
    pub(crate) fn note_missing_definer(&mut self, (user, host): &(String, String)) {
        if self.server().accounts.current().tables.account(user, host).is_none() {
            self.warn(Level::Note, client_error::account::no_such_definer(user, host));
        }
    }

    /// Error 1370 unless all of `wanted` is granted on the routine.
    pub(crate) fn need_routine(&self, name: &ObjectName<'_>, kind: RoutineKind, wanted: P) -> Outcome {
        let (db, name) = (self.schema_of(name)?, name.name.text());
        let missing = wanted.without(self.rights.routine(&db, &name, kind));
        if missing.is_empty() { Ok(()) } else { Err(self.routine_denied(missing, &db, &name)) }
    }

    /// Error 1227 unless the variable may be set so.
    pub(crate) fn need_variable(&self, var: Var, global: bool) -> Outcome {
        if self.rights.global().has(P::ALL_GLOBAL) {
            return Ok(());
        }
        let wanted = if global { of_global(var.name()) } else { of_session(var.name()) };
        if wanted.is_empty() { Ok(()) } else { self.need_global(wanted) }
    }
}

/// What SET GLOBAL of a variable needs.
fn of_global(name: &str) -> P {
    match name {
        "max_connections"
        | "max_connect_errors"
        | "max_password_errors"
        | "max_user_connections"
        | "connect_timeout"
        | "disconnect_on_expired_password"
        | "extra_max_connections"
        | "init_connect"
        | "proxy_protocol_networks"
        | "secure_auth"
        | "slow_launch_time"
        | "thread_pool_size" => P::CONNECTION_ADMIN,
        "read_only" => P::READ_ONLY_ADMIN,
        "server_id"
        | "gtid_domain_id"
        | "gtid_binlog_state"
        | "master_verify_checksum"
        | "replicate_annotate_row_events" => P::REPLICATION_MASTER_ADMIN,
        "binlog_format"
        | "sql_log_bin"
        | "sync_binlog"
        | "expire_logs_days"
        | "log_bin_compress"
        | "log_bin_compress_min_len"
        | "log_bin_trust_function_creators"
        | "max_binlog_cache_size"
        | "max_binlog_size"
        | "max_binlog_stmt_cache_size"
        | "max_binlog_total_size"
        | "slave_connections_needed_for_purge" => P::BINLOG_ADMIN,
        "binlog_alter_two_phase"
        | "binlog_checksum"
        | "binlog_large_commit_threshold"
        | "slave_transaction_retries" => P::SUPER,
        "init_slave" | "read_binlog_speed_limit" | "sync_master_info" | "sync_relay_log" => {
            P::REPLICATION_SLAVE_ADMIN
        }
        n if n.starts_with("rpl_semi_sync_master") => P::REPLICATION_MASTER_ADMIN,
        n if n.starts_with("rpl_semi_sync_slave")
            || n.starts_with("slave_")
            || n.starts_with("relay_log")
            || n.starts_with("replicate_")
            || n.starts_with("gtid_") =>
        {
            P::REPLICATION_SLAVE_ADMIN
        }
        n if n.starts_with("binlog_") => P::BINLOG_ADMIN,
        _ => P::SUPER,
    }
}

/// What SET SESSION of a variable needs; most need nothing.
fn of_session(name: &str) -> P {
    match name {
        "sql_log_bin"
        | "binlog_format"
        | "binlog_direct_non_transactional_updates"
        | "binlog_annotate_row_events"
        | "binlog_row_image" => P::BINLOG_ADMIN,
        "gtid_domain_id" | "gtid_seq_no" | "server_id" | "pseudo_thread_id" => P::BINLOG_REPLAY,
        _ => P::NONE,
    }
}
