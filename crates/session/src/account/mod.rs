//! Statements about accounts, roles and privileges.
//!
//! # Order of work
//! privileges of the asker -> the writer's mutex -> a copy of the rows in memory -> change it -> write the difference and the
//! statement's event in one transaction -> the copy is the current state. A statement that names several accounts does what it
//! can and answers with an error that names the rest, as MariaDB does.

mod grants;
mod names;
mod roles;
mod users;

use std::sync::Arc;

use accounts::{Accounts, Privileges, Tables};
use catalog::mdl::MdlMode;
use client_error::{ClientError, account as denied, connection as error};
use sql_syntax::ast::Statement;

use crate::account_store;
use crate::output::Output;
use crate::session::{Done, Session};
use crate::statement::Reply;
use crate::write_gate::Passing;

pub(crate) use names::{Named, named, quoted_account};
pub(crate) use roles::{set_default_role, set_role};
pub(crate) use users::set_password;

/// Whether this file's statements are of the kind.
pub(crate) fn is_about_accounts(statement: &Statement<'_>) -> bool {
    use Statement as S;
    matches!(
        statement,
        S::CreateUser(_)
            | S::AlterUser(_)
            | S::DropUser(_)
            | S::RenameUser(_)
            | S::CreateRole(_)
            | S::DropRole(_)
            | S::Grant(_)
            | S::Revoke(_)
    )
}

pub(crate) fn run(
    session: &mut Session,
    out: &mut Output,
    statement: &Statement<'_>,
    text: &[u8],
    reply: Reply,
) -> Result<(), ClientError> {
    use Statement as S;
    match statement {
        S::CreateUser(s) => users::create(session, s, text)?,
        S::AlterUser(s) => users::alter(session, s, text)?,
        S::DropUser(s) => users::drop(session, s, text)?,
        S::RenameUser(s) => users::rename(session, s, text)?,
        S::CreateRole(s) => roles::create(session, s, text)?,
        S::DropRole(s) => roles::drop(session, s, text)?,
        S::Grant(s) => grants::grant(session, s, text)?,
        S::Revoke(s) => grants::revoke(session, s, text)?,
        _ => return Err(error::not_supported("this statement about accounts")),
    }
    session.row_count = 0;
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

/// FLUSH PRIVILEGES: what stands in the tables counts from now on.
pub(crate) fn reload(session: &Session) -> Result<(), ClientError> {
    let server = session.server();
    let _writer = server.accounts.lock();
    let engine = server.dictionary().engine();
    let mut trx = engine.begin();
    let tables = account_store::read(&mut trx, &server.catalog())
        .and_then(|tables| engine.commit(trx).map(|()| tables))
        .map_err(|e| error::internal(&e.to_string()))?;
    server.accounts.publish(tables);
    server.failures.clear();
    server.remembered.clear();
    Ok(())
}

/// What a change leaves to tell after it was written.
type Told = Result<(), ClientError>;

/// Runs `body` on a copy of the rows and makes the copy real. What `body` answers is the statement's outcome, and what it has
/// changed until then stays; an error of the outer kind changes nothing.
fn change(
    session: &mut Session,
    text: &[u8],
    body: impl FnOnce(&mut Session, &Arc<Accounts>, &mut Tables) -> Result<Told, ClientError>,
) -> Result<(), ClientError> {
    session.need_writable()?;
    session.check_numbering(session.numbering())?;
    session.enter_gate(Passing::Ddl)?;
    let outcome = change_admitted(session, text, body);
    session.leave_gate();
    outcome
}

/// Same, past the write gate.
fn change_admitted(
    session: &mut Session,
    text: &[u8],
    body: impl FnOnce(&mut Session, &Arc<Accounts>, &mut Tables) -> Result<Told, ClientError>,
) -> Result<(), ClientError> {
    let server = Arc::clone(session.server());
    let _writer = server.accounts.lock();
    let current = server.accounts.current();
    let mut tables = current.tables.clone();
    let told = body(session, &current, &mut tables)?;
    if told.is_ok() || tables != current.tables {
        write(session, &current.tables, &tables, text)?;
        server.accounts.publish(tables);
    }
    told
}

fn write(session: &mut Session, old: &Tables, new: &Tables, text: &[u8]) -> Result<(), ClientError> {
    let server = Arc::clone(session.server());
    let timeout = session.settings.exec.lock_wait_timeout;
    let snapshot = loop {
        let snapshot = server.catalog();
        for handle in account_store::handles(&snapshot) {
            session
                .transaction
                .mdl
                .lock(&handle.lock, MdlMode::Write, timeout)
                .map_err(|e| ClientError::from(&sql_exec::mdl_error(e)))?;
        }
        let now = server.catalog();
        if account_store::handles(&snapshot).all(|h| now.is_current(h)) {
            break snapshot;
        }
        session.transaction.mdl.release_all();
    };
    let mut trx = server.dictionary().engine().begin();
    let outcome = account_store::write(&mut trx, &snapshot, old, new)
        .and_then(|()| crate::ddl::commit_event(session, trx, text));
    session.transaction.mdl.release_all();
    outcome.map_err(|e| error::internal(&e.to_string()))
}

impl Session {
    /// Error 1227 unless one of `wanted` holds everywhere.
    pub(crate) fn need_global(&self, wanted: Privileges) -> Result<(), ClientError> {
        if self.rights.global().has_any(wanted) {
            return Ok(());
        }
        Err(denied::privilege_needed(&wanted.names()))
    }

    /// Privileges to look at or change the tables of privileges stand in for special ones.
    fn need_create_user(&self, instead: Privileges) -> Result<(), ClientError> {
        if self.rights.database(crate::system_tables::MYSQL).has(instead) {
            return Ok(());
        }
        self.need_global(Privileges::CREATE_USER)
    }

    /// Error 1044 about the database `mysql` unless `wanted` is granted on it.
    pub(crate) fn need_mysql(&self, wanted: Privileges) -> Result<(), ClientError> {
        if self.rights.database(crate::system_tables::MYSQL).has(wanted) {
            return Ok(());
        }
        Err(self.database_denied(crate::system_tables::MYSQL))
    }

    pub(crate) fn database_denied(&self, database: &str) -> ClientError {
        denied::database_denied(self.rights.user(), self.rights.account_host(), database)
    }
}
