//! XA: transactions whose end is decided in two phases.
//!
//! # States of a session's branch
//! none -> XA START -> active -> XA END -> idle -> XA PREPARE -> prepared -> XA COMMIT | XA ROLLBACK -> none
//!
//! An idle one may commit in one phase or roll back. A deadlock makes an active one *rollback only*. When its session ends, a
//! prepared one is *detached*: any session may decide about it then, also after a restart. With pseudo_slave_mode it is detached at once.
//!
//! # Invariants
//! T1. A name is in [`Branches`] as long as its branch exists, attached or detached, so it cannot be given twice.
//! T2. A detached branch keeps its row locks and its metadata locks: its tables cannot be dropped or altered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use catalog::mdl::{MdlContext, MdlMode};
use client_error::{ClientError, connection as error};
use sql_syntax::ast::{self, Statement, Xa};
use storage::recovery::OwnedXid;
use storage::trx::Trx;

use crate::output::Output;
use crate::server::Server;
use crate::session::{Done, Session};
use crate::statement::Reply;
use crate::transaction::Need;
use crate::variables::Var;

/// Where a session's branch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Active,
    Idle,
    Prepared,
    /// It was rolled back by a deadlock; its user has to be told.
    RollbackOnly,
}

impl State {
    fn refuse(self) -> ClientError {
        error::xa_wrong_state(match self {
            Self::Active => "ACTIVE",
            Self::Idle => "IDLE",
            Self::Prepared => "PREPARED",
            Self::RollbackOnly => "ROLLBACK ONLY",
        })
    }
}

/// The branch of one session.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    xid: OwnedXid,
    state: State,
}

/// All branches of the server by their names.
#[derive(Debug, Default)]
pub(crate) struct Branches {
    all: Mutex<BTreeMap<OwnedXid, Place>>,
    detached: AtomicU64,
}

/// Who has a branch.
#[derive(Debug)]
enum Place {
    /// A session; listed by XA RECOVER once it is prepared.
    Attached { prepared: bool },
    /// Nobody.
    Detached(Box<Detached>),
}

/// A prepared transaction without a session. Dropped undecided, it is left to the next start.
#[derive(Debug)]
struct Detached {
    trx: Trx,
    _locks: MdlContext,
}

impl Branches {
    fn all(&self) -> MutexGuard<'_, BTreeMap<OwnedXid, Place>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// For the metadata locks of a detached branch: numbers from the top, connections have those from below.
    pub(crate) fn number(&self) -> u64 {
        u64::MAX - self.detached.fetch_add(1, Ordering::Relaxed)
    }
    /// False when the name is in use.
    fn begin(&self, xid: &OwnedXid) -> bool {
        let mut all = self.all();
        let free = !all.contains_key(xid);
        if free {
            all.insert(xid.clone(), Place::Attached { prepared: false });
        }
        free
    }
    fn place(&self, xid: &OwnedXid, place: Place) {
        self.all().insert(xid.clone(), place);
    }
    fn end(&self, xid: &OwnedXid) {
        self.all().remove(xid);
    }
    /// Takes up a detached branch; its name stays in use.
    fn attach(&self, xid: &OwnedXid) -> Option<Detached> {
        let mut all = self.all();
        let place = all.get_mut(xid)?;
        if matches!(place, Place::Attached { .. }) {
            return None;
        }
        match std::mem::replace(place, Place::Attached { prepared: true }) {
            Place::Detached(detached) => Some(*detached),
            Place::Attached { .. } => None,
        }
    }
    fn prepared(&self) -> Vec<OwnedXid> {
        let is_prepared = |place: &Place| !matches!(place, Place::Attached { prepared: false });
        self.all().iter().filter(|(_, place)| is_prepared(place)).map(|(xid, _)| xid.clone()).collect()
    }
    /// Prepared transactions are left to the next start.
    pub(crate) fn leave_all(&self) {
        self.all().clear();
    }
}

impl Server {
    /// Takes up what was prepared before the start, with shared locks on the tables it has changed (T2). Before any session.
    pub fn adopt_branches(&self) -> Result<(), String> {
        let backend = self.backend();
        for (xid, trx) in backend.engine.take_prepared() {
            let locks = backend.catalog.locks().context(self.branches().number());
            let changed = trx.tables_in_log().map_err(|e| e.to_string())?;
            let catalog = backend.catalog.snapshot();
            for table in catalog.tables().filter(|table| changed.contains(&table.def.id)) {
                let lock = backend.catalog.locks().of(table.schema(), table.name());
                let taken = locks.lock(&lock, MdlMode::Write, Duration::ZERO);
                taken.map_err(|e| format!("table {}.{}: {e:?}", table.schema(), table.name()))?;
            }
            self.branches().place(&xid, Place::Detached(Box::new(Detached { trx, _locks: locks })));
        }
        Ok(())
    }
}

fn owned(xid: &ast::Xid<'_>) -> Result<OwnedXid, ClientError> {
    if xid.gtrid.is_empty() {
        return Err(error::xa_invalid());
    }
    let format_id = i32::try_from(xid.format).map_err(|_| error::xa_invalid())?;
    Ok(OwnedXid { format_id, gtrid: xid.gtrid.to_vec(), bqual: xid.bqual.to_vec() })
}

/// Runs an XA statement.
pub(crate) fn run(
    session: &mut Session,
    out: &mut Output,
    statement: &Xa<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    match statement {
        Xa::Start { xid, join, resume } => start(session, &owned(xid)?, *join, *resume)?,
        Xa::End { xid, suspend, .. } => end(session, &owned_or_unknown(xid), *suspend)?,
        Xa::Prepare(xid) => prepare(session, &owned_or_unknown(xid))?,
        Xa::Commit { xid, one_phase } => commit(session, &owned_or_unknown(xid), *one_phase)?,
        Xa::Rollback(xid) => roll_back(session, &owned_or_unknown(xid))?,
        Xa::Recover { sql_format } => return crate::show::prepared(session, out, *sql_format, reply),
    }
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

/// A name that XA START would refuse is one that nobody has.
fn owned_or_unknown(xid: &ast::Xid<'_>) -> OwnedXid {
    let format_id = i32::try_from(xid.format).unwrap_or(-1);
    OwnedXid { format_id, gtrid: xid.gtrid.to_vec(), bqual: xid.bqual.to_vec() }
}

fn start(session: &mut Session, xid: &OwnedXid, join: bool, resume: bool) -> Result<(), ClientError> {
    if let Some(branch) = &mut session.transaction.xa
        && branch.state == State::Idle
        && resume
    {
        if branch.xid != *xid {
            return Err(error::xa_unknown());
        }
        branch.state = State::Active;
        return Ok(());
    }
    if join || resume {
        return Err(error::xa_invalid());
    }
    if let Some(branch) = &session.transaction.xa {
        return Err(branch.state.refuse());
    }
    if session.is_busy() {
        return Err(error::xa_outside());
    }
    if !session.server().branches().begin(xid) {
        return Err(error::xa_duplicate());
    }
    session.transaction.xa = Some(Branch { xid: xid.clone(), state: State::Active });
    session.begin_branch()
}

/// The session's branch when it is in `wanted` and has this name.
fn own<'s>(session: &'s mut Session, xid: &OwnedXid, wanted: State) -> Result<&'s mut Branch, ClientError> {
    let Some(branch) = &mut session.transaction.xa else {
        return Err(error::xa_wrong_state("NON-EXISTING"));
    };
    if branch.state != wanted {
        return Err(branch.state.refuse());
    }
    if branch.xid != *xid {
        return Err(error::xa_unknown());
    }
    Ok(branch)
}

fn end(session: &mut Session, xid: &OwnedXid, suspend: bool) -> Result<(), ClientError> {
    if suspend {
        return Err(error::xa_invalid());
    }
    own(session, xid, State::Active)?.state = State::Idle;
    Ok(())
}

fn prepare(session: &mut Session, xid: &OwnedXid) -> Result<(), ClientError> {
    own(session, xid, State::Idle)?;
    if let Err(e) = session.prepare_branch(xid) {
        session.forget_branch();
        session.transaction_rollback();
        return Err(e);
    }
    session.server().branches().place(xid, Place::Attached { prepared: true });
    if let Some(branch) = &mut session.transaction.xa {
        branch.state = State::Prepared;
    }
    // The text of a binary log prepares and decides in one session, with other transactions in between.
    if session.variables.bool(Var::PSEUDO_SLAVE_MODE) {
        session.detach_branch();
        session.transaction.abandon();
    }
    Ok(())
}

/// The branch that XA COMMIT and XA ROLLBACK name is another one: a detached one, for a session that has nothing open.
fn detached(session: &Session, xid: &OwnedXid) -> Result<Detached, ClientError> {
    if session.transaction.xa.is_some() || session.is_busy() {
        return Err(error::xa_outside());
    }
    session.server().branches().attach(xid).ok_or_else(error::xa_unknown)
}

fn commit(session: &mut Session, xid: &OwnedXid, one_phase: bool) -> Result<(), ClientError> {
    let own = session.transaction.xa.as_ref().filter(|branch| branch.xid == *xid).map(|branch| branch.state);
    match own {
        Some(State::RollbackOnly) => {
            session.forget_branch();
            session.transaction_rollback();
            Err(error::xa_rolled_back_by_deadlock())
        }
        Some(State::Idle) if one_phase => {
            session.forget_branch();
            session.transaction_commit()
        }
        Some(State::Prepared) if !one_phase => {
            session.forget_branch();
            session.commit_branch(xid)
        }
        Some(State::Prepared) => Err(error::xa_invalid()),
        Some(state) => Err(state.refuse()),
        None => {
            let found = detached(session, xid)?;
            if one_phase {
                session.server().branches().place(xid, Place::Detached(Box::new(found)));
                return Err(error::xa_invalid());
            }
            let Detached { trx, _locks } = found;
            let outcome = session.decide(trx, xid, true);
            session.server().branches().end(xid);
            outcome
        }
    }
}

fn roll_back(session: &mut Session, xid: &OwnedXid) -> Result<(), ClientError> {
    let own = session.transaction.xa.as_ref().filter(|branch| branch.xid == *xid).map(|branch| branch.state);
    match own {
        Some(State::Active) => Err(State::Active.refuse()),
        Some(State::Prepared) => {
            session.forget_branch();
            session.roll_back_branch(xid)
        }
        Some(_) => {
            session.forget_branch();
            session.transaction_rollback();
            Ok(())
        }
        None => {
            let Detached { trx, _locks } = detached(session, xid)?;
            let outcome = session.decide(trx, xid, false);
            session.server().branches().end(xid);
            outcome
        }
    }
}

impl Session {
    /// The name is free again.
    fn forget_branch(&mut self) {
        if let Some(branch) = self.transaction.xa.take() {
            self.server().branches().end(&branch.xid);
        }
    }

    /// A deadlock has rolled the transaction back.
    pub(crate) fn branch_lost(&mut self) {
        if let Some(branch) = &mut self.transaction.xa {
            branch.state = State::RollbackOnly;
        }
    }

    /// The session ends: a prepared branch goes on without it, any other is rolled back by the caller.
    pub(crate) fn detach_branch(&mut self) {
        let Some(branch) = self.transaction.xa.take() else { return };
        let prepared = branch.state == State::Prepared;
        let server = Arc::clone(self.server());
        match self.transaction.detach(prepared, &server) {
            Some((trx, locks)) => {
                let place = Place::Detached(Box::new(Detached { trx, _locks: locks }));
                self.server().branches().place(&branch.xid, place);
                self.user_locks = crate::user_locks::UserLocks::new((*self.transaction.mdl).clone());
            }
            None => self.server().branches().end(&branch.xid),
        }
    }

    /// What a statement that reads or changes tables may not do between XA END and the decision.
    pub(crate) fn branch_admits(&self, need: Need) -> Result<(), ClientError> {
        match &self.transaction.xa {
            Some(branch) if branch.state != State::Active && need != Need::Nothing => {
                Err(branch.state.refuse())
            }
            _ => Ok(()),
        }
    }

    /// Statements that begin, end or commit a transaction are refused inside a branch, savepoints where it is not active.
    pub(crate) fn branch_admits_statement(
        &self,
        statement: &Statement<'_>,
        commits: bool,
    ) -> Result<(), ClientError> {
        use ast::TransactionStatement as T;
        let Some(branch) = &self.transaction.xa else { return Ok(()) };
        let refused = match statement {
            Statement::Transaction(T::Begin { .. } | T::Commit(_) | T::Rollback(_)) => true,
            Statement::Transaction(_) => branch.state != State::Active,
            _ => commits,
        };
        if refused { Err(branch.state.refuse()) } else { Ok(()) }
    }

    /// Names of prepared branches.
    pub(crate) fn prepared_branches(&self) -> Vec<OwnedXid> {
        self.server().branches().prepared()
    }

    /// Commits or rolls back a detached transaction.
    fn decide(&mut self, trx: Trx, xid: &OwnedXid, commits: bool) -> Result<(), ClientError> {
        let numbering = self.numbering();
        let server = Arc::clone(self.server());
        let outcome = if commits {
            server.committer().commit_prepared(trx, xid, numbering)
        } else {
            server.committer().roll_back_prepared(trx, xid, &**server.dictionary(), numbering)
        };
        self.committed_as(outcome)
    }

    /// XA COMMIT of the session's own branch.
    fn commit_branch(&mut self, xid: &OwnedXid) -> Result<(), ClientError> {
        match self.transaction.take_prepared() {
            Some(trx) => {
                let outcome = self.decide(trx, xid, true);
                self.close_transaction();
                outcome
            }
            // It has changed nothing.
            None => self.transaction_commit(),
        }
    }

    fn roll_back_branch(&mut self, xid: &OwnedXid) -> Result<(), ClientError> {
        match self.transaction.take_prepared() {
            Some(trx) => {
                let outcome = self.decide(trx, xid, false);
                self.close_transaction();
                outcome
            }
            None => {
                self.transaction_rollback();
                Ok(())
            }
        }
    }
}
