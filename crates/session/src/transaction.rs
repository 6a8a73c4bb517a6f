//! The session's side of transactions: when one begins, what ends it, its savepoints.
//!
//! # States
//! none -> (BEGIN, or the first statement) open -> COMMIT | ROLLBACK | implicit commit | deadlock -> none
//!
//! With autocommit on, a statement outside of an explicit transaction opens one and ends it before it replies.
//!
//! # Invariants
//! X1. Metadata locks live as long as the transaction and are given back after its row locks.
//! X2. An open engine transaction is interrupted by a kill: its owner is registered with the connection's entry.

use std::sync::{Arc, Mutex, PoisonError};

use accounts::Privileges;
use catalog::mdl::{MdlContext, MdlHandle};
use client_error::{ClientError, connection as error};
use sql_plan::error::SqlError;
use sql_syntax::ast::{self, Completion, TransactionStatement};
use storage::lock::Owner;
use storage::recovery::OwnedXid;
use storage::trx::{Isolation, Savepoint, Trx};
use types::SqlMode;

use crate::counters::Counter;
use crate::output::Output;
use crate::registry::{Kill, Wake};
use crate::server::Server;
use crate::session::{Done, Session};
use crate::settings::isolation_of;
use crate::statement::{Reply, Then};
use crate::variables::Var;
use crate::write_gate::Passing;
use crate::xa::Branch;

/// What a statement asks of its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// No table: only a place to run in.
    Nothing,
    Read,
    Write,
}

/// A row of executions that are one, see [`Session::begin_group`].
pub(crate) struct Group {
    own: bool,
    point: Option<Savepoint>,
}

/// Lets a kill reach the row lock wait of the transaction that runs now, and metadata lock waits.
struct WakeWaits {
    server: std::sync::Weak<Server>,
    connection: u64,
    owner: Arc<Mutex<Option<Arc<Owner>>>>,
}

impl Wake for WakeWaits {
    fn wake(&self) {
        if let Some(owner) = &*self.owner.lock().unwrap_or_else(PoisonError::into_inner) {
            owner.interrupt();
        }
        if let Some(server) = self.server.upgrade() {
            server.locks().kill(self.connection);
            server.semi_sync.wake();
        }
    }
}

/// The transaction of one session.
pub(crate) struct Transaction {
    trx: Option<Trx>,
    /// BEGIN was said, or autocommit is off: it outlives the statement.
    explicit: bool,
    read_only: bool,
    savepoints: Vec<(String, Savepoint)>,
    /// The XA branch that the session works on.
    pub xa: Option<Branch>,
    pub mdl: MdlContext,
    owner: Arc<Mutex<Option<Arc<Owner>>>>,
    /// SET TRANSACTION without a scope: for the next transaction.
    next_isolation: Option<u16>,
    next_read_only: Option<bool>,
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction")
            .field("trx", &self.trx)
            .field("explicit", &self.explicit)
            .finish_non_exhaustive()
    }
}

impl Transaction {
    pub(crate) fn new(server: &Arc<Server>, entry: &crate::registry::Entry) -> Self {
        let owner = Arc::<Mutex<Option<Arc<Owner>>>>::default();
        entry.on_kill(Arc::new(WakeWaits {
            server: Arc::downgrade(server),
            connection: entry.id,
            owner: Arc::clone(&owner),
        }));
        Self {
            trx: None,
            explicit: false,
            read_only: false,
            savepoints: Vec::new(),
            xa: None,
            mdl: server.locks().context(entry.id),
            owner,
            next_isolation: None,
            next_read_only: None,
        }
    }
    /// Whether the client is told SERVER_STATUS_IN_TRANS.
    pub(crate) fn is_active(&self) -> bool {
        self.explicit
    }
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }
    pub(crate) fn set_next(&mut self, isolation: Option<u16>, read_only: Option<bool>) {
        self.next_isolation = isolation.or(self.next_isolation);
        self.next_read_only = read_only.or(self.next_read_only);
    }
    pub(crate) fn forget_next(&mut self) {
        self.next_isolation = None;
        self.next_read_only = None;
    }
    pub(crate) fn trx(&self) -> Option<&Trx> {
        self.trx.as_ref()
    }
    /// The engine's transaction and the metadata locks of the running statement.
    pub(crate) fn parts(&mut self) -> (Option<&mut Trx>, &MdlHandle) {
        (self.trx.as_mut(), &self.mdl)
    }

    /// The prepared engine transaction of the session's own branch.
    pub(crate) fn take_prepared(&mut self) -> Option<Trx> {
        if self.trx.as_ref().is_some_and(Trx::is_prepared) { self.trx.take() } else { None }
    }
    /// Gives a prepared transaction away with its metadata locks; what follows here begins anew.
    pub(crate) fn detach(&mut self, prepared: bool, server: &Server) -> Option<(Trx, MdlContext)> {
        let trx = if prepared { self.take_prepared()? } else { return None };
        let id = self.mdl.id();
        self.mdl.renumber(server.branches().number());
        let fresh = server.locks().context(id);
        Some((trx, std::mem::replace(&mut self.mdl, fresh)))
    }

    /// The engine's transaction has ended: nothing is left of it but the session's locks.
    fn forget(&mut self) {
        *self.owner.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.explicit = false;
        self.read_only = false;
        self.savepoints.clear();
        self.mdl.release_all();
    }
    /// The connection ends or starts anew: rolls back.
    pub(crate) fn abandon(&mut self) {
        // Dropping rolls back; a log that has stopped leaves that to recovery.
        self.trx = None;
        self.forget();
    }
}

impl Session {
    /// Opens a transaction for a statement, if none is open, and starts the statement in it.
    pub(crate) fn ensure_trx(&mut self, need: Need) -> Result<(), ClientError> {
        self.branch_admits(need)?;
        if need == Need::Write {
            self.need_writable()?;
            self.check_binlog_format()?;
        }
        if self.transaction.trx.is_none() {
            self.open_trx(need)?;
        }
        let wanted = &self.settings.trx;
        let Some(trx) = &mut self.transaction.trx else { return Ok(()) };
        let mut options = *trx.options();
        if (options.lock_wait_timeout, options.log) != (wanted.lock_wait_timeout, wanted.log) {
            (options.lock_wait_timeout, options.log) = (wanted.lock_wait_timeout, wanted.log);
            trx.set_options(options);
        }
        trx.owner().clear_interrupt();
        // After the clearing: a kill that came before it has set the flag, one that comes after it wakes the owner.
        if self.entry.killed() != Kill::No {
            return Err(self.statement_failed(&SqlError::Interrupted));
        }
        trx.start_statement();
        Ok(())
    }

    /// Error 1290 on a server that is read only, 1792 in such a transaction.
    pub(crate) fn need_writable(&self) -> Result<(), ClientError> {
        self.need_writable_server()?;
        if self.would_be_read_only() { Err(error::read_only_transaction()) } else { Ok(()) }
    }
    /// Error 1290 under `read_only`, unless the user may go round it.
    pub(crate) fn need_writable_server(&self) -> Result<(), ClientError> {
        if self.server().variables.u64(Var::READ_ONLY) != 0
            && !self.rights.global().has(Privileges::READ_ONLY_ADMIN)
        {
            return Err(error::option_prevents("--read-only"));
        }
        Ok(())
    }

    /// How long the client may be silent now: `wait_timeout`, or what `idle_*_transaction_timeout` say inside a transaction.
    pub(crate) fn idle_timeout(&self) -> std::time::Duration {
        let [outside, any, reading, writing] = self.settings.idle_seconds;
        let mut seconds = outside;
        if self.transaction.is_active() {
            let wrote = self.transaction.trx.as_ref().is_some_and(Trx::has_written);
            let special = if wrote { writing } else { reading };
            let limit = if special != 0 { special } else { any };
            if limit != 0 {
                seconds = limit;
            }
        }
        std::time::Duration::from_secs(seconds)
    }

    /// Whether the transaction a statement runs in, open or to be opened, is read only.
    pub(crate) fn would_be_read_only(&self) -> bool {
        if self.transaction.explicit {
            return self.transaction.read_only;
        }
        self.transaction.next_read_only.unwrap_or(self.settings.tx_read_only)
    }

    /// The text of the statement that has just been started, to be logged with its first row.
    pub(crate) fn give_text(&mut self) {
        if let Some(trx) = &mut self.transaction.trx
            && !self.annotation.is_empty()
        {
            trx.set_statement_text(&self.annotation);
        }
        // A statement inside of another has none of its own unless it says so.
        self.annotation.clear();
    }

    fn open_trx(&mut self, need: Need) -> Result<(), ClientError> {
        let mut options = self.settings.trx;
        // A statement without tables is no transaction that SET TRANSACTION or autocommit would speak of.
        if need != Need::Nothing || self.transaction.explicit {
            if let Some(level) = self.transaction.next_isolation.take() {
                options.isolation = isolation_of(u64::from(level));
            }
            if !self.transaction.explicit {
                self.transaction.read_only = self.would_be_read_only();
                self.transaction.next_read_only = None;
                if !self.settings.autocommit {
                    self.transaction.explicit = true;
                    self.entry.set_in_transaction(true);
                }
            }
        }
        let trx = self.server().begin(options)?;
        trx.owner().set_connection(self.entry.id);
        let mut owner = self.transaction.owner.lock().unwrap_or_else(PoisonError::into_inner);
        *owner = Some(Arc::clone(trx.owner()));
        drop(owner);
        self.transaction.trx = Some(trx);
        Ok(())
    }

    /// The level of the transaction that runs or would begin now.
    pub(crate) fn isolation(&self) -> Isolation {
        match (&self.transaction.trx, self.transaction.next_isolation) {
            (Some(trx), _) => trx.options().isolation,
            (None, Some(level)) => isolation_of(u64::from(level)),
            (None, None) => self.settings.trx.isolation,
        }
    }

    /// How a commit of this session is numbered; None when it is not in the binary log.
    pub(crate) fn numbering(&self) -> Option<commit::Numbering> {
        let thread_id = self.entry.id as u32;
        self.settings.numbering.map(|numbering| commit::Numbering { thread_id, ..numbering })
    }

    /// Several executions that succeed or fail as one: rows of a bulk execute.
    pub(crate) fn begin_group(&mut self) -> Result<Group, ClientError> {
        let own = !self.transaction.explicit && self.settings.autocommit;
        if own {
            self.transaction.explicit = true;
        }
        self.ensure_trx(Need::Read)?;
        Ok(Group { own, point: self.transaction.trx.as_ref().map(Trx::savepoint) })
    }

    /// Ends a group: its own transaction commits or rolls back, another one keeps or loses the group's changes.
    pub(crate) fn end_group(&mut self, group: &Group, success: bool) -> Result<(), ClientError> {
        match (group.own, success) {
            (true, true) => self.transaction_commit(),
            (true, false) => {
                self.transaction_rollback();
                Ok(())
            }
            (false, true) => Ok(()),
            (false, false) => {
                // A deadlock has rolled back everything already.
                if let (Some(trx), Some(point)) = (&mut self.transaction.trx, group.point)
                    && trx.rollback_to(point).is_err()
                {
                    self.transaction_rollback();
                }
                Ok(())
            }
        }
    }

    /// A statement succeeded: ends its transaction when it was its own.
    pub(crate) fn end_statement(&mut self) -> Result<(), ClientError> {
        if self.transaction.explicit { Ok(()) } else { self.transaction_commit() }
    }

    /// A statement failed: undoes it, or the whole transaction when the error says so.
    pub(crate) fn undo_statement(&mut self, why: &SqlError) {
        let whole = match why {
            SqlError::Deadlock | SqlError::SnapshotChanged { .. } => true,
            SqlError::LockWaitTimeout => self.variables.bool(Var::INNODB_ROLLBACK_ON_TIMEOUT),
            _ => false,
        };
        if whole || !self.transaction.explicit {
            self.transaction_rollback();
            self.branch_lost();
        } else if let Some(trx) = &mut self.transaction.trx
            && trx.rollback_statement().is_err()
        {
            // What cannot be undone in part is undone whole, by recovery if need be.
            self.transaction_rollback();
            self.branch_lost();
        }
    }

    /// COMMIT.
    pub(crate) fn transaction_commit(&mut self) -> Result<(), ClientError> {
        let Some(trx) = self.transaction.trx.take() else {
            self.close_transaction();
            return Ok(());
        };
        let wrote = trx.has_written();
        if wrote && let Err(e) = self.enter_commit() {
            self.transaction.trx = Some(trx);
            self.transaction_rollback();
            return Err(e);
        }
        let numbering = if wrote { self.numbering() } else { None };
        if let Some(refused) = self.check_numbering(numbering).err() {
            // A log that has stopped cannot undo; recovery will.
            let _ = trx.rollback();
            self.close_transaction();
            return Err(refused);
        }
        let outcome = self.server().committer().commit(trx, numbering);
        self.close_transaction();
        if wrote {
            self.leave_commit();
            self.entry.counters.count(Counter::HandlerCommit);
        }
        self.committed_as(outcome)
    }

    /// Keeps the GTID that a commit got, or says why it failed.
    pub(crate) fn committed_as(
        &mut self,
        outcome: Result<commit::Done, commit::CommitError>,
    ) -> Result<(), ClientError> {
        match outcome {
            Ok(done) => {
                self.after_commit(&done);
                Ok(())
            }
            Err(e) => Err(commit_error(&e)),
        }
    }

    /// A commit by itself passes the write gate, one inside a statement has passed with it. A commit of the session that closed the
    /// gate would wait for ever.
    fn enter_commit(&mut self) -> Result<(), ClientError> {
        if self.entry.inside().load(std::sync::atomic::Ordering::Relaxed) != 0 {
            return Ok(());
        }
        self.enter_gate(Passing::Commit)
    }

    /// The statement around it, if there is one, leaves by itself.
    fn leave_commit(&mut self) {
        if self.entry.inside().load(std::sync::atomic::Ordering::Relaxed) == Passing::Commit as u8 {
            self.leave_gate();
        }
    }

    /// ROLLBACK.
    pub(crate) fn transaction_rollback(&mut self) {
        if let Some(trx) = self.transaction.trx.take() {
            let wrote = trx.has_written();
            // A log that has stopped cannot undo; recovery will.
            let _ = trx.rollback();
            if wrote {
                self.entry.counters.count(Counter::HandlerRollback);
            }
        }
        self.close_transaction();
    }

    /// XA START: like BEGIN.
    pub(crate) fn begin_branch(&mut self) -> Result<(), ClientError> {
        self.begin(false, None)
    }

    /// Whether something is open that a branch must not mix with.
    pub(crate) fn is_busy(&self) -> bool {
        self.transaction.explicit || self.transaction.trx.is_some() || self.table_locks.tables().is_some()
    }

    /// XA PREPARE. A branch that has changed nothing leaves no record.
    pub(crate) fn prepare_branch(&mut self, xid: &OwnedXid) -> Result<(), ClientError> {
        if !self.transaction.trx.as_ref().is_some_and(Trx::has_written) {
            return Ok(());
        }
        self.enter_commit()?;
        let numbering = self.numbering();
        let server = Arc::clone(self.server());
        let outcome = server.committer().prepare(&mut self.transaction.trx, xid, numbering);
        self.leave_commit();
        self.committed_as(outcome)
    }

    pub(crate) fn close_transaction(&mut self) {
        let was_explicit = self.transaction.explicit;
        self.transaction.forget();
        if was_explicit {
            self.entry.set_in_transaction(false);
        }
    }

    /// The implicit commit before DDL and its kin.
    pub(crate) fn commit_for_ddl(&mut self) -> Result<(), ClientError> {
        self.transaction_commit()
    }

    fn begin(
        &mut self,
        consistent_snapshot: bool,
        access: Option<ast::AccessMode>,
    ) -> Result<(), ClientError> {
        if access == Some(ast::AccessMode::ReadWrite) {
            self.need_writable_server()?;
        }
        self.transaction_commit()?;
        self.release_table_locks();
        let next = self.transaction.next_read_only.take().unwrap_or(self.settings.tx_read_only);
        self.transaction.read_only = access.map_or(next, |a| a == ast::AccessMode::ReadOnly);
        self.transaction.explicit = true;
        self.entry.set_in_transaction(true);
        if consistent_snapshot {
            self.ensure_trx(Need::Read)?;
            if let Some(trx) = &mut self.transaction.trx
                && trx.options().isolation == Isolation::RepeatableRead
            {
                trx.take_snapshot();
            }
        }
        Ok(())
    }
}

/// BEGIN, COMMIT, ROLLBACK, SAVEPOINT and their kin.
pub(crate) fn run(
    session: &mut Session,
    out: &mut Output,
    statement: &TransactionStatement<'_>,
    reply: Reply,
) -> Result<Then, ClientError> {
    let mut then = Then::GoOn;
    match statement {
        TransactionStatement::Begin { consistent_snapshot, access } => {
            session.begin(*consistent_snapshot, *access)?
        }
        TransactionStatement::Commit(completion) => {
            let (isolation, read_only) = characteristics(session);
            session.transaction_commit()?;
            // What SET TRANSACTION said was for the transaction that ends here, even if it never began.
            session.transaction.forget_next();
            then = complete(session, *completion, isolation, read_only)?;
        }
        TransactionStatement::Rollback(completion) => {
            let (isolation, read_only) = characteristics(session);
            session.transaction_rollback();
            session.transaction.forget_next();
            then = complete(session, *completion, isolation, read_only)?;
        }
        TransactionStatement::Savepoint(name) => savepoint(session, &name.text())?,
        TransactionStatement::RollbackTo(name) => rollback_to(session, &name.text())?,
        TransactionStatement::Release(name) => {
            let at = find(session, &name.text())?;
            session.transaction.savepoints.truncate(at);
        }
    }
    session.send_ok(out, &Done::default(), reply.more);
    Ok(then)
}

/// What AND CHAIN carries over.
fn characteristics(session: &Session) -> (Option<u16>, bool) {
    let isolation = session.transaction.trx.as_ref().map(|t| t.options().isolation as u16);
    (isolation, session.transaction.read_only)
}

fn complete(
    session: &mut Session,
    completion: Completion,
    isolation: Option<u16>,
    read_only: bool,
) -> Result<Then, ClientError> {
    // completion_type: 1 CHAIN, 2 RELEASE.
    let default = session.variables.u64(Var::COMPLETION_TYPE);
    let release = completion.release.unwrap_or(default == 2 && completion.chain != Some(true));
    let chain = completion.chain.unwrap_or(default == 1 && completion.release != Some(true));
    if chain {
        session.transaction.next_isolation = isolation;
        let access = if read_only { ast::AccessMode::ReadOnly } else { ast::AccessMode::ReadWrite };
        session.begin(false, Some(access))?;
    }
    Ok(if release { Then::Leave } else { Then::GoOn })
}

fn find(session: &Session, name: &str) -> Result<usize, ClientError> {
    let found = session.transaction.savepoints.iter().rposition(|(n, _)| catalog::same_name(n, name));
    found.ok_or_else(|| error::no_such_savepoint(name))
}

fn savepoint(session: &mut Session, name: &str) -> Result<(), ClientError> {
    if !session.transaction.explicit && session.settings.autocommit {
        // Outside of a transaction there is nothing to come back to.
        return Ok(());
    }
    session.ensure_trx(Need::Read)?;
    session.entry.counters.count(Counter::HandlerSavepoint);
    let transaction = &mut session.transaction;
    transaction.savepoints.retain(|(n, _)| !catalog::same_name(n, name));
    log_savepoint(session, name)?;
    let transaction = &mut session.transaction;
    if let Some(trx) = &transaction.trx {
        transaction.savepoints.push((name.to_owned(), trx.savepoint()));
    }
    Ok(())
}

/// A savepoint behind rows is an event of their group.
fn log_savepoint(session: &mut Session, name: &str) -> Result<(), ClientError> {
    if !session.transaction.trx.as_ref().is_some_and(Trx::wants_savepoints) {
        return Ok(());
    }
    let quote = if session.settings.sql_mode.has(SqlMode::ANSI_QUOTES) { '"' } else { '`' };
    let doubled = name.replace(quote, &format!("{quote}{quote}"));
    let body = crate::ddl::query_event(session, &format!("SAVEPOINT {quote}{doubled}{quote}"));
    let Some(trx) = &mut session.transaction.trx else { return Ok(()) };
    trx.append_savepoint(&body).map_err(|e| error::internal(&e.to_string()))
}

fn rollback_to(session: &mut Session, name: &str) -> Result<(), ClientError> {
    let at = find(session, name)?;
    session.entry.counters.count(Counter::HandlerSavepointRollback);
    let transaction = &mut session.transaction;
    let point = transaction.savepoints[at].1;
    if let Some(trx) = &mut transaction.trx
        && let Err(e) = trx.rollback_to(point)
    {
        session.transaction_rollback();
        return Err(error::internal(&e.to_string()));
    }
    transaction.savepoints.truncate(at + 1);
    Ok(())
}

/// The Com_ counter.
pub(crate) fn counter_of(statement: &TransactionStatement<'_>) -> Counter {
    match statement {
        TransactionStatement::Begin { .. } => Counter::ComBegin,
        TransactionStatement::Commit(_) => Counter::ComCommit,
        TransactionStatement::Rollback(_) => Counter::ComRollback,
        TransactionStatement::RollbackTo(_) => Counter::ComRollbackToSavepoint,
        TransactionStatement::Savepoint(_) => Counter::ComSavepoint,
        TransactionStatement::Release(_) => Counter::ComReleaseSavepoint,
    }
}

/// What a client is told of a commit that failed.
pub(crate) fn commit_error(e: &commit::CommitError) -> ClientError {
    match e {
        commit::CommitError::CacheFull => error::cache_full(),
        commit::CommitError::NoRoom(file) => error::no_room(file),
        e => error::commit_failed(&e.to_string()),
    }
}
