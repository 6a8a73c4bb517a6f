//! Statements without a plan that functions and triggers run inside a statement: savepoints, and definitions of temporary tables.
//!
//! Savepoints have a level of their own in each function: it neither sees nor removes those around it. Temporary tables are the
//! session's, whatever becomes of the statement around.

use accounts::Privileges;
use charset::{Charset, Collation};
use client_error::{ClientError, connection};
use sql_exec::ddl::{DdlContext, execute_ddl};
use sql_plan::error::{SqlError, Warnings};
use sql_syntax::ast::{self, Statement, TransactionStatement};

use super::names::Names;
use super::nested_host::NestedHost;
use super::run::Raised;
use crate::scope::PlanVariables;
use crate::variables::Var;

impl NestedHost<'_, '_> {
    pub(super) fn savepoint(&mut self, statement: &TransactionStatement<'_>) -> Result<(), Raised> {
        let (TransactionStatement::Savepoint(name)
        | TransactionStatement::RollbackTo(name)
        | TransactionStatement::Release(name)) = statement
        else {
            return Err(client_error::program::commit_inside().into());
        };
        let name = name.text();
        let found = self.savepoints.iter().rposition(|(n, _)| catalog::same_name(n, &name));
        if let TransactionStatement::Savepoint(_) = statement {
            found.map(|at| self.savepoints.remove(at));
            self.savepoints.push((name.into_owned(), self.trx.savepoint()));
            return Ok(());
        }
        let at = found.ok_or_else(|| connection::no_such_savepoint(&name))?;
        if let TransactionStatement::Release(_) = statement {
            self.savepoints.truncate(at);
            return Ok(());
        }
        let point = self.savepoints[at].1;
        self.savepoints.truncate(at + 1);
        match self.trx.rollback_to(point) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.raise(SqlError::Deadlock)),
        }
    }

    /// CREATE and DROP TEMPORARY TABLE.
    pub(super) fn temporary_table(
        &mut self,
        statement: &Statement<'_>,
        text: &[u8],
        names: &Names,
    ) -> Result<(), Raised> {
        self.check_temporary(statement)?;
        let mut warnings = Warnings::new();
        let variables =
            PlanVariables { rights: &self.scope.rights().clone(), ..PlanVariables::of(self.scope) };
        let rights = self.scope.rights().clone();
        let account = format!("'{}'@'{}'", rights.user(), rights.account_host());
        let settings = self.scope.variables;
        let server_collation = settings.get(Var::COLLATION_SERVER).as_collation();
        let point = self.trx.savepoint();
        let log = self.trx.options().log;
        let mut commit = |_, _: Option<&str>| {
            Err(storage::row::RowError::Storage("a function changes a table of all".to_owned()))
        };
        let outcome = execute_ddl(
            statement,
            &mut DdlContext {
                catalog: self.scope.catalog,
                reader: Some(&mut *self.trx),
                mdl: self.scope.mdl,
                connection_collation: self.values.collation,
                values: self.values,
                warnings: &mut warnings,
                session: self.scope,
                workspace: &mut self.workspace,
                variables: &variables,
                virtual_table: &crate::information_schema::table,
                settings: self.settings,
                database: &self.schema,
                user: &account,
                client_charset: settings
                    .get(Var::CHARACTER_SET_CLIENT)
                    .as_charset()
                    .unwrap_or(Charset::Utf8mb4),
                server_collation: server_collation.unwrap_or(Collation::UTF8MB4_UCA1400_AI_CI),
                commit: &mut commit,
                begins: &mut || Ok(()),
                log,
                annotation: text,
                locals: Some(names),
                params: &self.variables,
            },
        );
        self.take(&warnings);
        match outcome {
            Ok(outcome) => {
                self.scope.row_count = outcome.affected_rows as i64;
                Ok(())
            }
            Err(e) => {
                if self.trx.rollback_to(point).is_err() {
                    return Err(self.raise(SqlError::Deadlock));
                }
                Err(self.raise(e))
            }
        }
    }

    /// Whether the statement may make its table, and whether what it drops is free.
    fn check_temporary(&self, statement: &Statement<'_>) -> Result<(), ClientError> {
        let schema_of = |name: &ast::ObjectName<'_>| {
            name.database.map_or_else(|| self.schema.to_string(), |d| d.text().into_owned())
        };
        match statement {
            Statement::CreateTable(c) => {
                let (schema, rights) = (schema_of(&c.name), self.scope.rights());
                if rights.database(&schema).has(Privileges::CREATE_TEMPORARY) {
                    return Ok(());
                }
                let (user, host) = (rights.user(), rights.account_host());
                let text = format!("Access denied for user '{user}'@'{host}' to database '{schema}'");
                Err(ClientError::new(1044, b"42000", text))
            }
            Statement::DropTable(d) => {
                let used = d.names.iter().find(|name| {
                    let (schema, table) = (schema_of(name), name.name.text());
                    self.scope.in_use.iter().any(|t| t.schema() == schema && t.name() == table)
                });
                match used {
                    Some(name) => {
                        let text = format!("Can't reopen table: '{}'", name.name.text());
                        Err(ClientError::new(1137, b"HY000", text))
                    }
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
