//! What the session may do: kept beside it, renewed when accounts change.
//!
//! Privileges that hold everywhere are those of the log-in or the last SET ROLE, as on a MariaDB server; those of databases, tables
//! and routines count at once.

use std::sync::Arc;

use accounts::{Accounts, Privileges, Rights, RoutineKind};
use catalog::program::ProgramKind;
use client_error::{ClientError, account as denied, connection as error};
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::guard::Guard;

use crate::session::Session;
use crate::system_tables::MYSQL;
use crate::variables::{Setting, Var};

/// Names in messages about tables: `GRANT`, not `GRANT OPTION`.
fn command_names(missing: Privileges) -> String {
    missing.names().replace("GRANT OPTION", "GRANT")
}

impl Session {
    /// Looks whether accounts have changed; call before a command runs.
    pub(crate) fn renew_rights(&mut self) {
        if self.server().accounts.generation() != self.rights.generation() {
            let global = self.rights.global();
            let role = self.rights.role().to_owned();
            self.rights = Arc::new(self.rights_now(&role).with_global(global));
            // Plans were made under other privileges.
            self.plan_generation += 1;
        }
    }

    /// After a log-in or SET ROLE: everything anew.
    pub(crate) fn take_role(&mut self, role: &str) {
        self.rights = Arc::new(self.rights_now(role));
        self.plan_generation += 1;
    }

    fn rights_now(&self, role: &str) -> Rights {
        Rights::new(
            self.server().accounts.current(),
            (&self.identity.account_user, &self.identity.account_host),
            (&self.origin.host, &self.origin.address),
            role,
        )
    }

    /// After a log-in: limits of the server and of the account.
    pub(crate) fn take_place(&mut self) -> Result<(), ClientError> {
        self.place = None;
        let server = Arc::clone(self.server());
        let is_admin = self.rights.global().has(Privileges::CONNECTION_ADMIN);
        let max = server.variables.u64(Var::MAX_CONNECTIONS);
        if !is_admin && server.connections.len() as u64 > max {
            return Err(error::too_many_connections());
        }
        let accounts = server.accounts.current();
        let (user, host) = (&self.identity.account_user, &self.identity.account_host);
        let Some(account) = accounts.tables.account(user, host) else { return Ok(()) };
        let server_max = match server.variables.get(Var::MAX_USER_CONNECTIONS) {
            _ if is_admin => 0,
            Setting::Int(n) => n,
            other => other.as_u64() as i64,
        };
        let now = server.now_us();
        self.place = Some(server.usage.enter((user, host), &account.limits, server_max, now)?);
        if account.limits.statement_time > 0.0 {
            let seconds = Setting::Double(account.limits.statement_time);
            self.variables.set(Var::MAX_STATEMENT_TIME, seconds);
            self.refresh_settings();
        }
        Ok(())
    }

    /// The role of the log-in.
    pub(crate) fn default_role(&self) -> String {
        let accounts = self.server().accounts.current();
        let (user, host) = (&self.identity.account_user, &self.identity.account_host);
        let role = accounts.tables.account(user, host).map(|a| a.default_role.clone()).unwrap_or_default();
        if !role.is_empty() && accounts.may_take(user, host, &role) { role } else { String::new() }
    }

    /// Whether the tables of privileges can be read anyway, so that nothing is given away by an error's text.
    pub(crate) fn sees_accounts(&self) -> bool {
        self.rights.database(MYSQL).has(Privileges::SELECT)
    }

    /// Error 1045 of a statement.
    pub(crate) fn access_denied(&self) -> ClientError {
        let with_password = if self.identity.with_password { "YES" } else { "NO" };
        error::access_denied(self.rights.user(), self.rights.account_host(), with_password)
    }

    pub(crate) fn table_denied(&self, missing: Privileges, db: &str, table: &str) -> ClientError {
        table_denied(&self.rights, missing, db, table)
    }

    pub(crate) fn column_denied(&self, missing: Privileges, column: &str, table: &str) -> ClientError {
        column_denied(&self.rights, missing, column, table)
    }

    pub(crate) fn routine_denied(&self, missing: Privileges, db: &str, name: &str) -> ClientError {
        // GRANT OPTION is named when nothing else is missing.
        let others = missing.without(Privileges::GRANT);
        let names = command_names(if others.is_empty() { missing } else { others }).to_lowercase();
        denied::routine_denied(&names, self.rights.user(), self.rights.client_host(), &format!("{db}.{name}"))
    }

    /// Whether a table, view or sequence of that name exists.
    pub(crate) fn relation_exists(&self, db: &str, table: &str) -> bool {
        self.catalog.snapshot().has(db, table) || crate::information_schema::table(db, table).is_some()
    }

    /// Whether there is such a routine. There are no packages yet.
    pub(crate) fn routine_exists(&self, db: &str, name: &str, kind: RoutineKind) -> bool {
        let kind = match kind {
            RoutineKind::Procedure => ProgramKind::Procedure,
            RoutineKind::Function => ProgramKind::Function,
            RoutineKind::Package | RoutineKind::PackageBody => return false,
        };
        self.server().catalog().routine(kind, db, name).is_some()
    }

    /// Takes over the privileges of an account: a routine's definer. Answers the own ones when they are others;
    /// [`Self::work_again_as`] brings them back.
    ///
    /// # Errors
    /// There is no such account.
    pub(crate) fn work_as(
        &mut self,
        (user, host): &(String, String),
    ) -> Result<Option<Arc<Rights>>, ClientError> {
        if user == self.rights.user() && host == self.rights.account_host() {
            return Ok(None);
        }
        let accounts = self.server().accounts.current();
        if accounts.tables.account(user, host).is_none() {
            return Err(denied::no_such_definer(user, host));
        }
        let definer = Arc::new(Rights::new(accounts, (user, host), (host, ""), ""));
        Ok(Some(self.exchange_rights(definer)))
    }

    /// # Errors
    /// The account that a view works as is not there.
    pub(crate) fn need_view_definer(&self, view: &catalog::ViewDef) -> Result<(), ClientError> {
        let accounts = self.server().accounts.current();
        let (user, host) = (&view.definer_user, &view.definer_host);
        if view.invoker || accounts.tables.account(user, host).is_some() {
            return Ok(());
        }
        Err(denied::no_such_definer(user, host))
    }

    pub(crate) fn work_again_as(&mut self, own: Option<Arc<Rights>>) {
        if let Some(own) = own {
            self.exchange_rights(own);
        }
    }

    fn exchange_rights(&mut self, rights: Arc<Rights>) -> Arc<Rights> {
        // What was planned under one must not run under the other, unless both may do everything.
        if guard(&self.rights).is_some() || guard(&rights).is_some() {
            self.plan_generation += 1;
        }
        std::mem::replace(&mut self.rights, rights)
    }

    pub(crate) fn now_seconds(&self) -> u64 {
        u64::try_from(self.server().wall_us() / 1_000_000).unwrap_or(0)
    }
}

/// Error 1370 unless a stored function may be called.
pub(crate) fn need_execute(rights: &Rights, db: &str, name: &str) -> Result<(), ClientError> {
    if rights.routine(db, name, RoutineKind::Function).has(Privileges::EXECUTE) {
        return Ok(());
    }
    let routine = format!("{db}.{name}");
    Err(denied::routine_denied("execute", rights.user(), rights.client_host(), &routine))
}

// The host in messages about commands: where the client is, not the account's pattern.

pub(crate) fn table_denied(rights: &Rights, missing: Privileges, db: &str, table: &str) -> ClientError {
    denied::table_denied(&command_names(missing), rights.user(), rights.client_host(), db, table)
}

pub(crate) fn column_denied(rights: &Rights, missing: Privileges, column: &str, table: &str) -> ClientError {
    denied::column_denied(&command_names(missing), rights.user(), rights.client_host(), column, table)
}

/// The privileges of a program's definer.
pub(crate) fn of_definer(accounts: &Arc<Accounts>, user: &str, host: &str) -> SqlResult<Arc<Rights>> {
    if accounts.tables.account(user, host).is_none() {
        return Err(planning_error(denied::no_such_definer(user, host)));
    }
    Ok(Arc::new(Rights::new(Arc::clone(accounts), (user, host), (host, ""), "")))
}

/// What statements are planned under; `None`: nothing needs a look.
pub(crate) fn guard(rights: &Arc<Rights>) -> Option<Arc<dyn Guard>> {
    let every = Privileges::SELECT | Privileges::INSERT | Privileges::UPDATE | Privileges::DELETE;
    if rights.global().has(every) {
        return None;
    }
    Some(Arc::new(RightsGuard(Arc::clone(rights))))
}

struct RightsGuard(Arc<Rights>);

pub(crate) fn planning_error(e: ClientError) -> SqlError {
    SqlError::Other { errno: e.errno, state: e.state, text: e.text.into_owned() }
}

impl Guard for RightsGuard {
    fn on_table(&self, schema: &str, table: &str) -> (Privileges, Privileges) {
        (self.0.table(schema, table), self.0.some_column(schema, table))
    }
    fn on_column(&self, schema: &str, table: &str, column: &str) -> Privileges {
        self.0.column(schema, table, column)
    }
    fn table_denied(&self, missing: Privileges, schema: &str, table: &str) -> SqlError {
        planning_error(table_denied(&self.0, missing, schema, table))
    }
    fn column_denied(&self, missing: Privileges, column: &str, table: &str) -> SqlError {
        planning_error(column_denied(&self.0, missing, column, table))
    }
}
