//! What the session may do: kept beside it, renewed when accounts change.
//!
//! Privileges that hold everywhere are those of the log-in or the last SET ROLE, as on a MariaDB server; those of databases, tables
//! and routines count at once.

use std::sync::Arc;

use accounts::{Privileges, Rights, RoutineKind};
use client_error::{ClientError, account as denied, connection as error};

use crate::session::Session;
use crate::system_tables::MYSQL;

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
        let names = command_names(missing);
        denied::table_denied(&names, self.rights.user(), &self.shown_host(), db, table)
    }

    pub(crate) fn column_denied(&self, missing: Privileges, column: &str, table: &str) -> ClientError {
        let names = command_names(missing);
        denied::column_denied(&names, self.rights.user(), &self.shown_host(), column, table)
    }

    pub(crate) fn routine_denied(&self, missing: Privileges, db: &str, name: &str) -> ClientError {
        let names = command_names(missing).to_lowercase();
        denied::routine_denied(&names, self.rights.user(), &self.shown_host(), &format!("{db}.{name}"))
    }

    /// The host in messages about commands: where the client is, not the account's pattern.
    fn shown_host(&self) -> String {
        self.origin.host.clone()
    }

    /// Whether a table, view or sequence of that name exists.
    pub(crate) fn relation_exists(&self, db: &str, table: &str) -> bool {
        self.server().catalog().table(db, table).is_some()
            || crate::information_schema::table(db, table).is_some()
    }

    /// Whether there is such a routine. There are no stored routines yet.
    pub(crate) fn routine_exists(&self, _db: &str, _name: &str, _kind: RoutineKind) -> bool {
        false
    }

    pub(crate) fn now_seconds(&self) -> u64 {
        u64::try_from(self.server().wall_us() / 1_000_000).unwrap_or(0)
    }
}
