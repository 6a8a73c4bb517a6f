//! LOCK TABLES, UNLOCK TABLES, FLUSH TABLES ... WITH READ LOCK, BACKUP LOCK, BACKUP STAGE.
//!
//! LOCK TABLES commits, gives back what an earlier one took, and takes explicit metadata locks in the order of the tables' names, so
//! that two of them do not wait for each other. From then on the planner knows the list: any other table is error 1100.
//!
//! # What ends them
//! UNLOCK TABLES, another LOCK TABLES, START TRANSACTION, the end of the connection. The read lock of FLUSH TABLES WITH READ LOCK ends
//! with UNLOCK TABLES or the connection only.

use std::sync::Arc;

use catalog::mdl::{MdlLock, MdlMode};
use client_error::{ClientError, connection as error};
use sql_plan::LockedTable;
use sql_plan::error::SqlError;
use sql_syntax::ast::{self, Statement, TableLock};

use crate::output::Output;
use crate::session::{Done, Session};
use crate::statement::Reply;
use crate::write_gate::{GateError, Passing};

/// What a session has locked beyond its transaction.
#[derive(Debug, Default)]
pub(crate) struct TableLocks {
    /// LOCK TABLES.
    tables: Option<Vec<LockedTable>>,
    locks: Vec<Arc<MdlLock>>,
    /// FLUSH TABLES WITH READ LOCK.
    read_lock: bool,
    backup_lock: Option<Arc<MdlLock>>,
    backup_stage: usize,
}

/// The stages of BACKUP STAGE and how far each closes the gate.
const STAGES: [(&str, Option<Passing>); 6] = [
    ("END", None),
    ("START", None),
    ("FLUSH", None),
    ("BLOCK_DDL", Some(Passing::Ddl)),
    ("BLOCK_COMMIT", Some(Passing::Commit)),
    ("END", None),
];

impl TableLocks {
    /// The list of LOCK TABLES, for the planner.
    pub(crate) fn tables(&self) -> Option<&[LockedTable]> {
        self.tables.as_deref()
    }
}

impl Session {
    /// Gives back what LOCK TABLES took.
    pub(crate) fn release_table_locks(&mut self) {
        if self.table_locks.tables.take().is_none() {
            return;
        }
        for lock in std::mem::take(&mut self.table_locks.locks) {
            self.transaction.mdl.release_explicit(&lock);
        }
        self.plan_generation += 1;
    }

    /// The connection ends or starts anew.
    pub(crate) fn release_all_locks(&mut self) {
        self.release_table_locks();
        self.user_locks.release_all();
        self.open_read_lock();
        self.set_backup_stage(0);
        if let Some(lock) = self.table_locks.backup_lock.take() {
            self.transaction.mdl.release_explicit(&lock);
        }
    }

    fn open_read_lock(&mut self) {
        if std::mem::take(&mut self.table_locks.read_lock) {
            self.server().write_gate().open(Passing::Statement);
            self.server().write_gate().open(Passing::Commit);
        }
    }

    /// Passes the gate for what changes something; [`Self::leave_gate`] must follow.
    pub(crate) fn enter_gate(&mut self, passing: Passing) -> Result<(), ClientError> {
        if self.table_locks.read_lock {
            return Err(ClientError::from(&SqlError::ConflictingReadLock));
        }
        let timeout = self.settings.exec.lock_wait_timeout;
        self.server().write_gate().enter(&self.entry, passing, timeout).map_err(|e| self.gate_error(e))
    }
    pub(crate) fn leave_gate(&self) {
        self.server().write_gate().leave(&self.entry);
    }

    fn gate_error(&self, error: GateError) -> ClientError {
        match error {
            GateError::Killed => crate::statement::killed_error(self),
            GateError::Timeout => ClientError::from(&SqlError::LockWaitTimeout),
        }
    }

    fn close_gate(&self, passing: Passing) -> Result<(), ClientError> {
        let server = self.server();
        let timeout = self.settings.exec.lock_wait_timeout;
        server
            .write_gate()
            .close(&self.entry, &server.connections, passing, timeout)
            .map_err(|e| self.gate_error(e))
    }

    fn set_backup_stage(&mut self, stage: usize) {
        for (_, closes) in &STAGES[1..=self.table_locks.backup_stage] {
            if let Some(passing) = closes {
                self.server().write_gate().open(*passing);
            }
        }
        self.table_locks.backup_stage = stage;
    }
}

/// LOCK TABLES.
pub(crate) fn lock_tables(
    session: &mut Session,
    out: &mut Output,
    statement: &ast::LockTables<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    session.release_table_locks();
    let mut tables = Vec::with_capacity(statement.tables.len());
    for table in statement.tables {
        let write = !matches!(table.kind, TableLock::Read | TableLock::ReadLocal);
        let mut found = named(session, &table.name, write)?;
        if let Some(view) = session.server().catalog().view(&found.schema, &found.name) {
            session.need_view_definer(view)?;
        }
        if let Some(alias) = table.alias {
            found.alias = alias.text().into_owned();
        }
        if tables.iter().any(|t: &LockedTable| t.alias == found.alias && t.schema == found.schema) {
            return Err(ClientError::from(&SqlError::NotUniqueTable(found.alias)));
        }
        tables.push(found);
    }
    if tables.iter().any(|t| t.write) {
        session.need_writable_server()?;
    }
    if session.table_locks.read_lock && tables.iter().any(|t| t.write) {
        return Err(ClientError::from(&SqlError::ConflictingReadLock));
    }
    take(session, tables)?;
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

fn named(session: &Session, name: &ast::ObjectName<'_>, write: bool) -> Result<LockedTable, ClientError> {
    let schema = match name.database {
        Some(schema) => schema.text().into_owned(),
        None if session.database.is_empty() => return Err(error::no_database_selected()),
        None => session.database.to_string(),
    };
    if crate::information_schema::table(&schema, "TABLES").is_some() {
        let user = session.account();
        return Err(ClientError::from(&SqlError::AccessDeniedToDatabase { user, schema }));
    }
    let name = name.name.text().into_owned();
    Ok(LockedTable { schema, alias: name.clone(), name, write })
}

/// Takes the locks of `tables`, all or none.
fn take(session: &mut Session, tables: Vec<LockedTable>) -> Result<(), ClientError> {
    // One lock a table, in the stronger mode.
    let mut wanted: Vec<(&str, &str, bool)> = Vec::new();
    for t in &tables {
        match wanted.iter_mut().find(|w| w.0 == t.schema && w.1 == t.name) {
            Some(found) => found.2 |= t.write,
            None => wanted.push((&t.schema, &t.name, t.write)),
        }
    }
    // A temporary table is nobody else's.
    wanted.retain(|(schema, name, _)| session.catalog.temporary(schema, name).is_none());
    wanted.sort_unstable();
    let timeout = session.settings.exec.lock_wait_timeout;
    let mut taken: Vec<Arc<MdlLock>> = Vec::new();
    let outcome = wanted.iter().try_for_each(|(schema, name, write)| {
        let lock = session.server().locks().of(schema, name);
        let mode = if *write { MdlMode::Exclusive } else { MdlMode::NoWrite };
        session.transaction.mdl.lock_explicit(&lock, mode, timeout).map_err(sql_exec::mdl_error)?;
        taken.push(lock);
        let known = session.server().catalog().has(schema, name);
        known
            .then_some(())
            .ok_or_else(|| SqlError::NoSuchTable { schema: (*schema).to_owned(), name: (*name).to_owned() })
    });
    if let Err(e) = outcome {
        for lock in &taken {
            session.transaction.mdl.release_explicit(lock);
        }
        return Err(session.statement_failed(&e));
    }
    session.table_locks.locks = taken;
    session.table_locks.tables = Some(tables);
    session.plan_generation += 1;
    Ok(())
}

/// UNLOCK TABLES.
pub(crate) fn unlock_tables(
    session: &mut Session,
    out: &mut Output,
    reply: Reply,
) -> Result<(), ClientError> {
    if session.table_locks.tables.is_some() {
        session.transaction_commit()?;
        session.release_table_locks();
    }
    session.open_read_lock();
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

/// FLUSH TABLES in all its forms; the reply is the caller's.
pub(crate) fn flush_tables(
    session: &mut Session,
    tables: &[ast::ObjectName<'_>],
    mode: ast::FlushTables,
) -> Result<(), ClientError> {
    match mode {
        // Nothing is cached that a flush would have to write or close.
        ast::FlushTables::Close => return Ok(()),
        ast::FlushTables::WithReadLock => {}
        ast::FlushTables::ForExport => return Err(error::not_supported("FLUSH TABLES ... FOR EXPORT")),
        ast::FlushTables::WithReadLockAndDisableCheckpoint => {
            return Err(error::not_supported("FLUSH TABLES ... AND DISABLE CHECKPOINT"));
        }
    }
    if session.table_locks.tables.is_some() {
        return Err(ClientError::from(&SqlError::LockedTablesOrTransaction));
    }
    if tables.is_empty() {
        return read_lock(session);
    }
    let tables: Result<Vec<_>, _> = tables.iter().map(|t| named(session, t, false)).collect();
    take(session, tables?)
}

/// FLUSH TABLES WITH READ LOCK: running changes end, then commits.
fn read_lock(session: &mut Session) -> Result<(), ClientError> {
    if session.table_locks.read_lock {
        return Ok(());
    }
    session.close_gate(Passing::Statement)?;
    if let Err(e) = session.close_gate(Passing::Commit) {
        session.server().write_gate().open(Passing::Statement);
        return Err(e);
    }
    session.table_locks.read_lock = true;
    Ok(())
}

/// BACKUP.
pub(crate) fn backup(
    session: &mut Session,
    out: &mut Output,
    statement: &ast::Backup<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    match statement {
        ast::Backup::Lock(name) => {
            let table = named(session, name, false)?;
            unlock_backup(session);
            let lock = session.server().locks().of(&table.schema, &table.name);
            let timeout = session.settings.exec.lock_wait_timeout;
            let taken = session.transaction.mdl.lock_explicit(&lock, MdlMode::Shared, timeout);
            taken.map_err(|e| session.statement_failed(&sql_exec::mdl_error(e)))?;
            session.table_locks.backup_lock = Some(lock);
        }
        ast::Backup::Unlock => unlock_backup(session),
        ast::Backup::Stage(name) => backup_stage(session, *name)?,
    }
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

fn unlock_backup(session: &mut Session) {
    if let Some(lock) = session.table_locks.backup_lock.take() {
        session.transaction.mdl.release_explicit(&lock);
    }
}

fn backup_stage(session: &mut Session, name: ast::Ident<'_>) -> Result<(), ClientError> {
    let Some(to) = STAGES.iter().rposition(|(stage, _)| name.is(stage)) else {
        return Err(error::unknown_backup_stage(&name.text()));
    };
    let from = session.table_locks.backup_stage;
    if from == 0 && to != 1 {
        return Err(error::backup_not_running());
    }
    if to <= from {
        return Err(error::wrong_backup_stage(STAGES[to].0, STAGES[from].0));
    }
    if to == STAGES.len() - 1 {
        session.set_backup_stage(0);
        return Ok(());
    }
    for (stage, (_, closes)) in STAGES.iter().enumerate().take(to + 1).skip(from + 1) {
        if let Some(passing) = closes {
            session.close_gate(*passing)?;
        }
        session.table_locks.backup_stage = stage;
    }
    Ok(())
}

impl Session {
    /// Whether LOCK TABLES lets a statement about definitions run.
    pub(crate) fn check_locked_definitions(&self, statement: &Statement<'_>) -> Result<(), ClientError> {
        let Some(locked) = &self.table_locks.tables else { return Ok(()) };
        if matches!(statement, Statement::RenameTable(_)) {
            return Err(ClientError::from(&SqlError::LockedTablesOrTransaction));
        }
        for name in changed_names(statement) {
            let schema = name.database.map_or_else(|| self.database.to_string(), |d| d.text().into_owned());
            let table = name.name.text();
            if self.catalog.temporary(&schema, &table).is_some() {
                continue;
            }
            let found = locked.iter().filter(|t| t.schema == schema && *t.name == *table);
            let refused = match found.map(|t| t.write).max() {
                None => SqlError::TableNotLocked(table.into_owned()),
                Some(true) => continue,
                Some(false) => SqlError::TableLockedForRead(table.into_owned()),
            };
            return Err(ClientError::from(&refused));
        }
        Ok(())
    }

    /// Tables that a statement about definitions removed are not locked any more.
    pub(crate) fn forget_dropped_locks(&mut self) {
        let catalog = self.server().catalog();
        if let Some(locked) = &mut self.table_locks.tables {
            locked.retain(|t| catalog.has(&t.schema, &t.name));
            // The last one is gone: nothing is locked any more.
            if locked.is_empty() {
                self.release_table_locks();
            }
        }
    }
}

impl Session {
    /// Whether a statement about definitions touches no table that other sessions see.
    pub(crate) fn changes_temporaries_only(&self, statement: &Statement<'_>) -> bool {
        match statement {
            Statement::CreateTable(c) => c.temporary,
            Statement::DropTable(d) if d.temporary => true,
            _ => {
                let names = changed_names(statement);
                !names.is_empty() && names.iter().all(|name| self.is_temporary(name))
            }
        }
    }

    /// Whether a name means a temporary table.
    pub(crate) fn is_temporary(&self, name: &ast::ObjectName<'_>) -> bool {
        let schema = name.database.map_or_else(|| self.database.to_string(), |d| d.text().into_owned());
        self.catalog.temporary(&schema, &name.name.text()).is_some()
    }
}

/// The tables that a statement makes, changes or removes.
fn changed_names<'a>(statement: &Statement<'a>) -> Vec<ast::ObjectName<'a>> {
    match statement {
        Statement::CreateTable(c) if !c.temporary => vec![c.name],
        Statement::AlterTable(a) => vec![a.name],
        Statement::DropTable(d) if !d.temporary => d.names.to_vec(),
        Statement::TruncateTable(t) => vec![t.name],
        Statement::RenameTable(r) => r.renames.iter().map(|(from, _)| *from).collect(),
        Statement::CreateIndex(c) => vec![c.table],
        Statement::DropIndex(d) => vec![d.table],
        _ => Vec::new(),
    }
}
