//! GRANT and REVOKE: of privileges at each level, of roles, of PROXY.

use accounts::account::PUBLIC;
use accounts::change::Refused;
use accounts::tables::{ProxyGrant, RoutineKey};
use accounts::{Privileges, RoutineKind, Tables};
use client_error::{ClientError, account as error, connection};
use sql_syntax::ast::{self, GrantObjectKind, GrantTarget, PrivilegeKind as P};
use types::SqlMode;

use super::change;
use super::names::{Named, named, role_named};
use super::users::{apply_options, auth_of, new_account};
use crate::session::Session;

/// What privileges are about.
enum Level {
    Global,
    Database(String),
    Table { db: String, table: String },
    Routine { db: String, name: String, kind: RoutineKind },
}

/// Privileges of a statement, checked against the level.
struct Wanted {
    level: Level,
    whole: Privileges,
    columns: Vec<(String, Privileges)>,
}

fn bits_of(kind: P) -> Privileges {
    use Privileges as B;
    match kind {
        P::All | P::Usage => B::NONE,
        P::Select => B::SELECT,
        P::Insert => B::INSERT,
        P::Update => B::UPDATE,
        P::Delete => B::DELETE,
        P::References => B::REFERENCES,
        P::Index => B::INDEX,
        P::Alter => B::ALTER,
        P::Create => B::CREATE,
        P::Drop => B::DROP,
        P::Execute => B::EXECUTE,
        P::Reload => B::RELOAD,
        P::Shutdown => B::SHUTDOWN,
        P::Process => B::PROCESS,
        P::File => B::FILE,
        P::GrantOption => B::GRANT,
        P::ShowDatabases => B::SHOW_DATABASES,
        P::Super => B::SUPER,
        P::CreateTemporaryTables => B::CREATE_TEMPORARY,
        P::LockTables => B::LOCK_TABLES,
        P::ReplicationSlave => B::REPLICATION_SLAVE,
        P::BinlogMonitor => B::BINLOG_MONITOR,
        P::CreateView => B::CREATE_VIEW,
        P::ShowView => B::SHOW_VIEW,
        P::CreateRoutine => B::CREATE_ROUTINE,
        P::AlterRoutine => B::ALTER_ROUTINE,
        P::CreateUser => B::CREATE_USER,
        P::Event => B::EVENT,
        P::Trigger => B::TRIGGER,
        P::CreateTablespace => B::CREATE_TABLESPACE,
        P::DeleteHistory => B::DELETE_HISTORY,
        P::SetUser => B::SET_USER,
        P::FederatedAdmin => B::FEDERATED_ADMIN,
        P::ConnectionAdmin => B::CONNECTION_ADMIN,
        P::ReadOnlyAdmin => B::READ_ONLY_ADMIN,
        P::ReplicationSlaveAdmin => B::REPLICATION_SLAVE_ADMIN,
        P::ReplicationMasterAdmin => B::REPLICATION_MASTER_ADMIN,
        P::BinlogAdmin => B::BINLOG_ADMIN,
        P::BinlogReplay => B::BINLOG_REPLAY,
        P::SlaveMonitor => B::SLAVE_MONITOR,
        P::ShowCreateRoutine => B::SHOW_CREATE_ROUTINE,
    }
}

fn level_of(session: &Session, on: &ast::GrantObject<'_>) -> Result<Level, ClientError> {
    let current = || match &*session.database {
        "" => Err(connection::no_database_selected()),
        name => Ok(name.to_owned()),
    };
    let object = |name: &ast::ObjectName<'_>| -> Result<(String, String), ClientError> {
        let db = name.database.map_or_else(current, |d| Ok(d.text().into_owned()))?;
        Ok((db, name.name.text().into_owned()))
    };
    let routine = |name: &ast::ObjectName<'_>, kind| {
        let (db, name) = object(name)?;
        Ok(Level::Routine { db, name, kind })
    };
    match (&on.target, on.kind) {
        (GrantTarget::Global, _) => Ok(Level::Global),
        (GrantTarget::CurrentDatabase, _) => Ok(Level::Database(current()?)),
        (GrantTarget::Database(name), _) => Ok(Level::Database(name.text().into_owned())),
        (GrantTarget::Object(name), GrantObjectKind::Table) => {
            let (db, table) = object(name)?;
            Ok(Level::Table { db, table })
        }
        (GrantTarget::Object(name), GrantObjectKind::Function) => routine(name, RoutineKind::Function),
        (GrantTarget::Object(name), GrantObjectKind::Procedure) => routine(name, RoutineKind::Procedure),
        (GrantTarget::Object(name), GrantObjectKind::Package) => routine(name, RoutineKind::Package),
        (GrantTarget::Object(name), GrantObjectKind::PackageBody) => routine(name, RoutineKind::PackageBody),
    }
}

fn wanted(
    session: &Session,
    privileges: &[ast::Privilege<'_>],
    on: &ast::GrantObject<'_>,
    grant_option: bool,
) -> Result<Wanted, ClientError> {
    let level = level_of(session, on)?;
    let possible = match &level {
        Level::Global => Privileges::ALL_GLOBAL,
        Level::Database(_) => Privileges::DATABASE,
        Level::Table { .. } => Privileges::TABLE,
        Level::Routine { .. } => Privileges::ROUTINE,
    };
    let mut whole = if grant_option { Privileges::GRANT } else { Privileges::NONE };
    let mut columns: Vec<(String, Privileges)> = Vec::new();
    for privilege in privileges {
        let bits = bits_of(privilege.kind);
        if privilege.kind == P::All {
            whole |= possible.without(Privileges::GRANT);
        } else if privilege.columns.is_empty() {
            whole |= bits;
        } else if !matches!(level, Level::Table { .. }) || !Privileges::COLUMN.has(bits) {
            return Err(error::illegal_grant());
        }
        for column in privilege.columns {
            let name = column.text().into_owned();
            match columns.iter_mut().find(|(c, _)| catalog::same_name(c, &name)) {
                Some((_, held)) => *held |= bits,
                None => columns.push((name, bits)),
            }
        }
    }
    if !possible.has(whole) {
        return Err(match level {
            Level::Database(_) => error::global_privileges_in_database(),
            _ => error::illegal_grant(),
        });
    }
    Ok(Wanted { level, whole, columns })
}

impl Wanted {
    fn all(&self) -> Privileges {
        self.columns.iter().fold(self.whole, |all, (_, p)| all | *p)
    }

    /// Who passes a privilege on must have it, with GRANT OPTION.
    fn check_asker(&self, session: &Session) -> Result<(), ClientError> {
        let rights = &session.rights;
        let needed = self.all() | Privileges::GRANT;
        match &self.level {
            Level::Global if !rights.global().has(needed) => Err(session.access_denied()),
            Level::Database(db) if !rights.database(db).has(needed) => Err(session.database_denied(db)),
            Level::Table { db, table } => {
                let held = rights.table(db, table);
                let missing = needed.without(held | rights.some_column(db, table));
                if !missing.is_empty() {
                    return Err(session.table_denied(missing, db, table));
                }
                for (column, access) in &self.columns {
                    let missing = access.without(held | rights.column(db, table, column));
                    if !missing.is_empty() {
                        return Err(session.column_denied(missing, column, table));
                    }
                }
                Ok(())
            }
            Level::Routine { db, name, kind } => {
                let missing = needed.without(rights.routine(db, name, *kind));
                if missing.is_empty() { Ok(()) } else { Err(session.routine_denied(missing, db, name)) }
            }
            _ => Ok(()),
        }
    }

    /// What a GRANT is about must exist, except a table that may be made.
    fn check_object(&self, session: &Session) -> Result<(), ClientError> {
        let catalog = session.server().catalog();
        match &self.level {
            Level::Table { db, table } => {
                if let Some(view) = catalog.view(db, table) {
                    return match self.columns.iter().find(|(c, _)| !view.has_column(c)) {
                        Some((column, _)) => Err(error::unknown_column(column, table)),
                        None => Ok(()),
                    };
                }
                let Some(handle) = catalog.table(db, table) else {
                    let known = session.relation_exists(db, table);
                    return if known || self.whole.has(Privileges::CREATE) && self.columns.is_empty() {
                        Ok(())
                    } else {
                        Err(connection::no_such_table(db, table))
                    };
                };
                for (column, _) in &self.columns {
                    if handle.def.column(column).is_none() {
                        return Err(error::unknown_column(column, table));
                    }
                }
                Ok(())
            }
            Level::Database(db)
                if db.eq_ignore_ascii_case("information_schema") && !self.all().is_empty() =>
            {
                Err(session.database_denied(db))
            }
            Level::Routine { db, name, kind } if !session.routine_exists(db, name, *kind) => {
                Err(error::no_such_routine(kind.name(), name))
            }
            _ => Ok(()),
        }
    }

    fn give(&self, tables: &mut Tables, to: &Named, grantor: &str) -> Result<(), Refused> {
        let who = to.grantee();
        match &self.level {
            Level::Global => tables.grant_global(who, self.whole),
            Level::Database(db) => tables.grant_database(who, db, self.whole),
            Level::Table { db, table } => {
                tables.grant_table(who, (db, table), self.whole, &self.columns, grantor)
            }
            Level::Routine { db, name, kind } => {
                tables.grant_routine(routine_key(to, db, name, *kind), self.whole, grantor)
            }
        }
    }

    fn take(&self, tables: &mut Tables, from: &Named) -> Result<(), ClientError> {
        let who = from.grantee();
        let outcome = match &self.level {
            Level::Global => tables.revoke_global(who, self.whole),
            Level::Database(db) => tables.revoke_database(who, db, self.whole),
            Level::Table { db, table } => tables.revoke_table(who, (db, table), self.whole, &self.columns),
            Level::Routine { db, name, kind } => {
                tables.revoke_routine(&routine_key(from, db, name, *kind), self.whole)
            }
        };
        let (user, host) = (&from.user, &from.host);
        outcome.map_err(|refused| match (refused, &self.level) {
            (Refused::NoSuchTableGrant, Level::Table { table, .. }) => {
                error::no_table_grant(user, host, table)
            }
            (Refused::NoSuchRoutineGrant, Level::Routine { name, .. }) => {
                error::no_routine_grant(user, host, name)
            }
            _ => connection::no_grants(user, host),
        })
    }
}

fn routine_key(who: &Named, db: &str, name: &str, kind: RoutineKind) -> RoutineKey {
    RoutineKey {
        host: who.host.clone(),
        db: db.to_owned(),
        user: who.user.clone(),
        name: name.to_lowercase(),
        kind,
    }
}

pub(super) fn grant(session: &mut Session, s: &ast::Grant<'_>, sql: &[u8]) -> Result<(), ClientError> {
    match s {
        ast::Grant::Privileges { privileges, on, to, options } => {
            let wanted = wanted(session, privileges, on, options.grant_option)?;
            wanted.check_asker(session)?;
            wanted.check_object(session)?;
            change(session, sql, |session, _, tables| {
                for spec in *to {
                    let who = holder(session, tables, spec, options)?;
                    wanted.give(tables, &who, &session.grantor()).map_err(|_| error::no_matching_user())?;
                }
                Ok(Ok(()))
            })
        }
        ast::Grant::Roles { roles, to, admin_option } => change(session, sql, |session, _, tables| {
            for role in *roles {
                let role = role_named(session, tables, role)?;
                need_admin(session, &role.user)?;
                for spec in *to {
                    let who = holder(session, tables, spec, &ast::UserOptions::default())?;
                    tables.grant_role(&role.user, who.grantee(), *admin_option).map_err(|refused| {
                        match refused {
                            Refused::RoleCycle => error::cannot_grant_role(&role.user, &who.shown()),
                            _ => error::no_matching_user(),
                        }
                    })?;
                }
            }
            Ok(Ok(()))
        }),
        ast::Grant::Proxy { on, to, grant_option } => change(session, sql, |session, _, tables| {
            let on = super::names::user_named(session, on)?;
            need_proxy(session, &on)?;
            for spec in *to {
                let who = holder(session, tables, spec, &ast::UserOptions::default())?;
                let grant = ProxyGrant { with_grant: *grant_option, grantor: session.grantor() };
                tables
                    .grant_proxy(on.grantee(), who.grantee(), grant)
                    .map_err(|_| error::no_matching_user())?;
            }
            Ok(Ok(()))
        }),
    }
}

/// Whom a GRANT names; a user with a password is made when it is not there.
fn holder(
    session: &Session,
    tables: &mut Tables,
    spec: &ast::UserSpec<'_>,
    options: &ast::UserOptions<'_>,
) -> Result<Named, ClientError> {
    let who = named(session, tables, &spec.account)?;
    if who.is_role {
        if who.user == PUBLIC {
            tables.ensure_public();
        }
        return Ok(who);
    }
    let auth = auth_of(spec.auth)?;
    let creates = !auth.is_empty() || !session.settings.sql_mode.has(SqlMode::NO_AUTO_CREATE_USER);
    match tables.account_mut(&who.user, &who.host) {
        Some(account) => {
            if !auth.is_empty() {
                session.need_create_user(Privileges::UPDATE)?;
                account.auth = auth;
                account.password_changed = Some(session.now_seconds());
            }
            apply_options(account, options);
        }
        None if creates && !who.user.is_empty() => {
            session.need_create_user(Privileges::INSERT).map_err(|_| error::cannot_create_with_grant())?;
            tables.put(new_account(session, &who, auth, options));
        }
        None => return Err(error::no_matching_user()),
    }
    Ok(who)
}

/// The role may be passed on: by what the user was granted, or its active role.
fn need_admin(session: &Session, role: &str) -> Result<(), ClientError> {
    let rights = &session.rights;
    let accounts = session.server().accounts.current();
    let by_user = accounts.is_admin_of(rights.user(), rights.account_host(), role);
    let by_role = || {
        !rights.role().is_empty()
            && accounts.closure(rights.role()).iter().any(|r| accounts.is_admin_of(r, "", role))
    };
    if by_user || by_role() {
        return Ok(());
    }
    Err(error::access_denied_plain(rights.user(), rights.account_host()))
}

fn need_proxy(session: &Session, on: &Named) -> Result<(), ClientError> {
    let rights = &session.rights;
    let own = session.own_account();
    if own == *on {
        return Ok(());
    }
    let accounts = session.server().accounts.current();
    let fits = |(k, grant): (&accounts::tables::ProxyKey, &ProxyGrant)| {
        grant.with_grant
            && k.user == own.user
            && k.host == own.host
            && (k.proxied_user.is_empty() || k.proxied_user == on.user)
            && (k.proxied_host.is_empty() || k.proxied_host == on.host)
    };
    if accounts.tables.proxies.iter().any(fits) {
        return Ok(());
    }
    Err(error::access_denied_plain(rights.user(), rights.account_host()))
}

pub(super) fn revoke(session: &mut Session, s: &ast::Revoke<'_>, sql: &[u8]) -> Result<(), ClientError> {
    match s {
        ast::Revoke::Privileges { privileges, on, from } => {
            let wanted = wanted(session, privileges, on, false)?;
            wanted.check_asker(session)?;
            change(session, sql, |session, _, tables| {
                for account in *from {
                    let who = named(session, tables, account)?;
                    wanted.take(tables, &who)?;
                }
                Ok(Ok(()))
            })
        }
        ast::Revoke::All { from } => {
            session.need_create_user(Privileges::UPDATE)?;
            change(session, sql, |session, _, tables| {
                let mut failed = false;
                for account in *from {
                    let who = named(session, tables, account)?;
                    failed |= tables.revoke_all(who.grantee()).is_err();
                }
                Ok(if failed { Err(error::cannot_revoke_all()) } else { Ok(()) })
            })
        }
        ast::Revoke::Roles { roles, from, admin_option } => change(session, sql, |session, _, tables| {
            for role in *roles {
                let role = role_named(session, tables, role)?;
                need_admin(session, &role.user)?;
                for account in *from {
                    let who = named(session, tables, account)?;
                    tables
                        .revoke_role(&role.user, who.grantee(), *admin_option)
                        .map_err(|_| error::cannot_revoke_role(&role.user, &who.shown()))?;
                }
            }
            Ok(Ok(()))
        }),
        ast::Revoke::Proxy { on, from } => change(session, sql, |session, _, tables| {
            let on = super::names::user_named(session, on)?;
            need_proxy(session, &on)?;
            for account in *from {
                let who = named(session, tables, account)?;
                tables
                    .revoke_proxy(on.grantee(), who.grantee())
                    .map_err(|_| connection::no_grants(&who.user, &who.host))?;
            }
            Ok(Ok(()))
        }),
    }
}
