//! Statements that change definitions: databases, tables, indexes.
//!
//! The session has committed its transaction before. Each statement takes exclusive metadata locks on the names it changes,
//! makes what is new, changes the dictionary's rows in one transaction, and gives the locks back when the change is durable.

mod alter;
mod columns;
mod copy;
mod create;
mod create_select;
mod database;
mod drop;
mod foreign;
mod online;
mod partition;
mod partition_alter;
mod partition_function;
mod periods;
mod rules;
mod sequence;
mod versioning;
mod view;
mod way;

pub use columns::variable;
pub use create_select::variable_of;

use std::sync::Arc;
use std::time::Duration;

use catalog::mdl::{MdlHandle, MdlMode};
use catalog::{CatalogChange, SessionCatalog, TableHandle};
use charset::{Charset, Collation};
use sql_plan::error::{SqlError, SqlResult, Warnings};
use sql_plan::plan::VirtualTable;
use sql_plan::{Locals, PlanContext, Variables};
use sql_syntax::ast;
use storage::row::RowError;
use storage::trx::{LogOptions, Trx};
use types::Context;

use crate::context::{ExecSettings, SessionState, Workspace, mdl_error};
use crate::outcome::Outcome;

/// Longest name of a database, table, column or index, in characters.
const NAME_MAX: usize = 64;

/// How a change of definitions commits: waits until it is durable.
/// The second argument is the text
/// that the binary log repeats instead of the statement's own.
pub type CommitFn<'a> = dyn FnMut(Trx, Option<&str>) -> Result<(), RowError> + 'a;

/// Called by ALTER TABLE and its kin when all is checked and the work begins.
pub type BeginFn<'a> = dyn FnMut() -> Result<(), RowError> + 'a;

/// What statements about definitions and tables as a whole run in.
pub struct DdlContext<'a> {
    pub catalog: &'a Arc<SessionCatalog>,
    pub mdl: &'a MdlHandle,
    pub values: &'a mut Context,
    pub warnings: &'a mut Warnings,
    pub session: &'a mut dyn SessionState,
    pub workspace: &'a mut Workspace,
    pub variables: &'a dyn Variables,
    pub virtual_table: &'a dyn Fn(&str, &str) -> Option<VirtualTable>,
    /// Variables of the program that runs the statement, by name, and the values of all its variables.
    pub locals: Option<&'a dyn Locals>,
    pub params: &'a [types::Value],
    pub settings: ExecSettings,
    /// Empty when none is chosen.
    pub database: &'a str,
    /// `'root'@'localhost'`, for messages.
    pub user: &'a str,
    pub connection_collation: Collation,
    pub client_charset: Charset,
    /// collation_server: of databases that name none.
    pub server_collation: Collation,
    /// Commits the dictionary's transaction; the session logs the statement with it.
    pub commit: &'a mut CommitFn<'a>,
    pub begins: &'a mut BeginFn<'a>,
    /// The session's transaction: what CREATE TEMPORARY TABLE ... SELECT reads in.
    pub reader: Option<&'a mut Trx>,
    /// How rows are logged that a statement writes beside a definition: CREATE TABLE ... SELECT.
    pub log: LogOptions,
    /// The statement as the events of such rows repeat it; empty when they do not.
    pub annotation: &'a [u8],
}

/// True for the statements that [`execute_ddl`] runs: they commit the session's transaction before and after.
pub fn is_ddl(statement: &ast::Statement<'_>) -> bool {
    use ast::Statement as S;
    matches!(
        statement,
        S::CreateDatabase(_)
            | S::AlterDatabase(_)
            | S::DropDatabase { .. }
            | S::CreateTable(_)
            | S::AlterTable(_)
            | S::DropTable(_)
            | S::TruncateTable(_)
            | S::RenameTable(_)
            | S::CreateIndex(_)
            | S::DropIndex(_)
            | S::CreateView(_)
            | S::DropView(_)
            | S::CreateSequence(_)
            | S::AlterSequence(_)
            | S::DropSequence(_)
    )
}

/// Runs a statement about definitions.
pub fn execute_ddl<'s>(statement: &ast::Statement<'s>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    use ast::Statement as S;
    let mark = cx.mdl.held();
    let outcome = match statement {
        S::CreateDatabase(s) => database::create(s, cx),
        S::AlterDatabase(s) => database::alter(s, cx),
        S::DropDatabase { name, if_exists } => database::drop(&name.text(), *if_exists, cx),
        S::CreateTable(s) => create::table(s, cx),
        S::AlterTable(s) => alter::table(s, cx),
        S::DropTable(s) => drop::tables(s, cx),
        S::TruncateTable(s) => drop::truncate(s, cx),
        S::RenameTable(s) => drop::rename(s, cx),
        S::CreateIndex(s) => alter::create_index(s, cx),
        S::DropIndex(s) => alter::drop_index(s, cx),
        S::CreateView(s) => view::create(s, cx),
        S::DropView(s) => view::drop(s, cx),
        S::CreateSequence(s) => sequence::create(s, cx),
        S::AlterSequence(s) => sequence::alter(s, cx),
        S::DropSequence(s) => sequence::drop(s, cx),
        _ => Err(SqlError::not_supported("this statement")),
    };
    // What fills a temporary table was read in the session's transaction, which keeps its locks.
    if !matches!(statement, S::CreateTable(s) if s.temporary) {
        cx.mdl.release_to(mark);
    }
    outcome
}

/// Copies a table whose name is locked exclusively into a new space.
pub(crate) fn rebuild(schema: &str, name: &str, cx: &mut DdlContext<'_>) -> SqlResult<()> {
    alter::rebuild(schema, name, cx)
}

pub(crate) use partition_alter::{divide_anew, parts_named};

impl DdlContext<'_> {
    /// The schema and name of a table as written, both allowed as names.
    pub(crate) fn table_name(&self, name: &ast::ObjectName<'_>) -> SqlResult<(String, String)> {
        let schema = match name.database {
            Some(schema) => schema.text().into_owned(),
            None if self.database.is_empty() => return Err(SqlError::NoDatabaseSelected),
            None => self.database.to_owned(),
        };
        let table = name.name.text().into_owned();
        check_name(&schema, SqlError::IncorrectDatabaseName)?;
        check_name(&table, SqlError::IncorrectTableName)?;
        if schema.eq_ignore_ascii_case("information_schema")
            || schema.eq_ignore_ascii_case("performance_schema")
        {
            return Err(SqlError::AccessDeniedToDatabase { user: self.user.to_owned(), schema });
        }
        Ok((schema, table))
    }

    pub(crate) fn lock(&mut self, schema: &str, table: &str, mode: MdlMode) -> SqlResult<()> {
        let lock = self.catalog.locks().of(schema, table);
        let timeout: Duration = self.settings.lock_wait_timeout;
        self.mdl.lock(&lock, mode, timeout).map_err(mdl_error)
    }

    /// Locks a name for change, unless it is that of a temporary table, which the session has for itself.
    pub(crate) fn lock_exclusive(&mut self, schema: &str, table: &str) -> SqlResult<()> {
        match self.catalog.temporary(schema, table) {
            Some(_) => Ok(()),
            None => self.lock_shared_name(schema, table),
        }
    }

    /// Locks a name against change, unless it is that of a temporary table.
    pub(crate) fn lock_to_read(&mut self, schema: &str, table: &str) -> SqlResult<()> {
        match self.catalog.temporary(schema, table) {
            Some(_) => Ok(()),
            None => self.lock(schema, table, MdlMode::Shared),
        }
    }

    /// Locks a name that all sessions see for change: the database is held too, so that it cannot be dropped meanwhile. First comes a
    /// lock that only statements about definitions take: one that has given up the name itself for a while, because it builds an
    /// index beside writers, keeps it, and others of its kind wait there without holding anybody up.
    pub(crate) fn lock_shared_name(&mut self, schema: &str, table: &str) -> SqlResult<()> {
        self.lock(schema, "", MdlMode::Shared)?;
        self.lock(schema, &format!("{table}\0definition"), MdlMode::Exclusive)?;
        self.lock(schema, table, MdlMode::Exclusive)
    }

    /// Locks a name against being dropped or changed, and waits for no reader or writer.
    pub(crate) fn lock_shared(&mut self, schema: &str, table: &str) -> SqlResult<()> {
        self.lock(schema, "", MdlMode::Shared)?;
        self.lock(schema, table, MdlMode::Shared)
    }

    /// A table that must exist, after its name was locked.
    pub(crate) fn existing(&self, schema: &str, name: &str) -> SqlResult<Arc<TableHandle>> {
        let snapshot = self.catalog.snapshot();
        if let Some(found) = snapshot.table(schema, name) {
            return Ok(found.clone());
        }
        if snapshot.view(schema, name).is_some() {
            let text = format!("'{schema}.{name}' is not of type 'BASE TABLE'");
            return Err(SqlError::Other { errno: 1347, state: *b"HY000", text });
        }
        Err(SqlError::NoSuchTable { schema: schema.to_owned(), name: name.to_owned() })
    }

    /// Commits a change of temporary tables: nobody else hears of it.
    pub(crate) fn commit_temporary(&mut self, change: CatalogChange) -> SqlResult<()> {
        change.commit().map_err(|e| storage_error(e, ""))
    }

    pub(crate) fn commit(&mut self, change: CatalogChange) -> SqlResult<()> {
        change.commit_with(|trx| (self.commit)(trx, None)).map_err(|e| storage_error(e, ""))
    }

    /// Commits a change that the binary log tells in other words; also one that changes nothing here, and may change something
    /// elsewhere.
    pub(crate) fn commit_as(&mut self, change: CatalogChange, text: &str) -> SqlResult<()> {
        change.commit_with(|trx| (self.commit)(trx, Some(text))).map_err(|e| storage_error(e, ""))
    }

    /// A table's name in a text for the binary log.
    pub(crate) fn logged_name(&self, schema: &str, table: &str) -> String {
        let table = catalog::quote_name(table);
        if schema == self.database { table } else { format!("{}.{table}", catalog::quote_name(schema)) }
    }

    /// What expressions of the statement are planned against.
    pub(crate) fn plan_context(&self) -> PlanContext<'_> {
        PlanContext {
            catalog: self.catalog.snapshot(),
            database: self.database,
            sql_mode: self.values.sql_mode,
            connection_collation: self.connection_collation,
            div_precision_increment: self.values.div_precision_increment,
            variables: self.variables,
            user: self.user,
            locked: None,
            locals: None,
            virtual_table: self.virtual_table,
        }
    }

    pub(crate) fn now_seconds(&self) -> u64 {
        u64::try_from(self.values.now_micros / 1_000_000).unwrap_or(0)
    }
}

/// A storage error of a statement about definitions.
pub(crate) fn storage_error(error: RowError, table: &str) -> SqlError {
    match error {
        RowError::DefinitionChanged => SqlError::DefinitionChanged,
        RowError::Deadlock => SqlError::Deadlock,
        RowError::LockWaitTimeout | RowError::NoWait => SqlError::LockWaitTimeout,
        RowError::Interrupted => SqlError::Interrupted,
        RowError::Corrupt(found) => SqlError::Corrupt { table: table.to_owned(), detail: found.to_string() },
        RowError::Full if table.is_empty() => {
            SqlError::Other { errno: 1021, state: *b"HY000", text: "Disk full".to_owned() }
        }
        RowError::Full => SqlError::TableFull(table.to_owned()),
        other => SqlError::Io { operation: other.to_string(), table: table.to_owned() },
    }
}

/// Names are 1 to 64 characters and do not end with a space.
pub(crate) fn check_name(name: &str, wrong: fn(String) -> SqlError) -> SqlResult<()> {
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(wrong(name.to_owned()));
    }
    if name.chars().count() > NAME_MAX {
        return Err(SqlError::IdentifierTooLong(name.to_owned()));
    }
    Ok(())
}
