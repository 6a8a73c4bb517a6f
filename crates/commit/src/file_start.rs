//! The start with a binary log in files: what the last file and the engine's log say together.
//!
//! # Rules
//! - Groups whose GTIDs the engine's log has are decided. Of the others, in the order of the file: a commit whose transaction is pending
//!   happens, so do XA PREPARE of a pending branch and XA COMMIT or ROLLBACK of a prepared one.
//! - The first group whose transaction the engine has lost ends the file, and so does a torn one: it and what is behind it are cut off.
//! - Pending transactions without a group have not happened.
//! - When the newest commits stand in the engine's one log, the files are of an earlier time: they are set aside.

use base::{Gtid, Lsn, TrxId};
use binlog_file::{BranchName, Decision, Files, LastFile};
use log_format::record::{Commit, Prepare, Record, commit_flags};
use storage::recovery::OwnedXid;
use storage::trx::{CommitParts, Trx};

use crate::GtidPositions;

/// What recovery of the engine has found.
#[derive(Debug)]
pub struct Found {
    /// GTIDs in commit order.
    pub gtids: Vec<Gtid>,
    /// The newest commit with a GTID has its events in a file.
    pub is_in_file: bool,
    /// Transactions that a file decides about.
    pub pending: Vec<(OwnedXid, Trx)>,
    /// Transactions that their user decides about.
    pub prepared: Vec<(OwnedXid, Trx)>,
}

/// What is to be done with a transaction, by the group with this GTID.
enum Action {
    Commit(Trx, Gtid),
    Prepare(OwnedXid, Trx, Gtid),
    RollBack(Trx, Gtid),
}

/// What the start has come to.
#[derive(Debug, Default)]
pub struct FileStart {
    pub positions: GtidPositions,
    /// To be rolled back.
    pub losers: Vec<Trx>,
    /// Their user still decides about them.
    pub prepared: Vec<(OwnedXid, Trx)>,
    /// For the error log.
    pub notes: Vec<String>,
    actions: Vec<Action>,
    /// Number of the last file, and its end.
    cut: Option<(u64, u64)>,
    sets_aside: bool,
}

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, gtid) = match self {
            Self::Commit(_, gtid) => ("Commit", gtid),
            Self::Prepare(_, _, gtid) => ("Prepare", gtid),
            Self::RollBack(_, gtid) => ("RollBack", gtid),
        };
        write!(f, "{what}({gtid})")
    }
}

impl FileStart {
    /// Decides; nothing is changed yet.
    pub fn decide(files: &Files, found: Found) -> Result<Self, String> {
        let last = files.last_file().map_err(|e| format!("the last file of the binary log: {e}"))?;
        let engine = GtidPositions::from_gtids(found.gtids.iter().copied());
        match last {
            Some(last) if found.is_in_file || engine.is_empty() => {
                Ok(Self::from_file(files, &last, &engine, found))
            }
            last => Ok(Self::from_engine(last.as_ref(), engine, found)),
        }
    }

    /// There are no files, or older ones.
    fn from_engine(last: Option<&LastFile>, engine: GtidPositions, found: Found) -> Self {
        let mut start = Self { positions: engine, prepared: found.prepared, ..Self::default() };
        if let Some(last) = last {
            let there = GtidPositions::from_gtids(last.gtids(last.groups.len()));
            if there != start.positions {
                start.sets_aside = true;
                start.notes.push(format!(
                    "the files of the binary log end at '{}', the server's commits at '{}': they were made without these files, which \
                     are no part of the binary log any more",
                    there.state_text(),
                    start.positions.state_text()
                ));
            }
        }
        if !found.pending.is_empty() {
            start.notes.push(format!(
                "{} prepared transactions have no file of the binary log that could decide about them: they are rolled back",
                found.pending.len()
            ));
        }
        start.losers.extend(found.pending.into_iter().map(|(_, trx)| trx));
        start
    }

    fn from_file(files: &Files, last: &LastFile, engine: &GtidPositions, found: Found) -> Self {
        let mut start = Self { prepared: found.prepared, ..Self::default() };
        let mut pending = found.pending;
        let known =
            |gtid: &Gtid| engine.of_server(gtid.domain_id, gtid.server_id).is_some_and(|n| gtid.seq_no <= n);
        let decided = last.groups.iter().rposition(|g| known(&g.gtid)).map_or(0, |at| at + 1);
        let mut kept = decided;
        while let Some(group) = last.groups.get(kept) {
            if !start.follow(&group.decision, group.gtid, &mut pending) {
                break;
            }
            kept += 1;
        }
        let name = files.names().file(last.number);
        let end = last.groups.get(kept).map_or(last.end, |lost| lost.start);
        if kept < last.groups.len() {
            let lost = last.groups[kept].gtid;
            start.notes.push(format!(
                "{name}: the transaction {lost} at offset {end} was lost with the engine's log \
                 (innodb_flush_log_at_trx_commit is not 1); the file is cut off there"
            ));
        } else if end < last.len {
            let why = last.torn.as_deref().unwrap_or("no whole event");
            start.notes.push(format!("{name} is cut off at offset {end}, it had {} bytes: {why}", last.len));
        }
        start.cut = Some((last.number, end));
        start.positions = GtidPositions::from_gtids(last.gtids(kept));
        start.add_missing(engine, &name);
        if !start.actions.is_empty() {
            start.notes.push(format!(
                "{} prepared transactions are committed: they stand in {name}",
                start.actions.len()
            ));
        }
        if !pending.is_empty() {
            start.notes.push(format!(
                "{} prepared transactions are rolled back: they do not stand in {name}",
                pending.len()
            ));
        }
        start.losers.extend(pending.into_iter().map(|(_, trx)| trx));
        start
    }

    /// Commits that the file has lost keep their numbers (sync_binlog is not 1).
    fn add_missing(&mut self, engine: &GtidPositions, name: &str) {
        for gtid in engine.state() {
            if self.positions.of_server(gtid.domain_id, gtid.server_id).is_none_or(|n| n < gtid.seq_no) {
                self.notes.push(format!(
                    "{name} has lost committed transactions up to {gtid} (sync_binlog is not 1)"
                ));
                self.positions.advance(gtid);
            }
        }
    }

    /// False when the engine knows nothing of the transaction.
    fn follow(&mut self, decision: &Decision, gtid: Gtid, pending: &mut Vec<(OwnedXid, Trx)>) -> bool {
        let action = match decision {
            Decision::Nothing => return true,
            Decision::Commit(number) => {
                let at = pending.iter().position(|(_, trx)| trx.id() == Some(TrxId(*number)));
                at.map(|at| Action::Commit(pending.swap_remove(at).1, gtid))
            }
            Decision::XaPrepare(name) => {
                let at = pending.iter().position(|(xid, _)| is_called(xid, name));
                at.map(|at| pending.swap_remove(at)).map(|(xid, trx)| Action::Prepare(xid, trx, gtid))
            }
            Decision::XaCommit(name) => self.prepared(name).map(|trx| Action::Commit(trx, gtid)),
            Decision::XaRollback(name) => self.prepared(name).map(|trx| Action::RollBack(trx, gtid)),
        };
        let is_known = action.is_some();
        self.actions.extend(action);
        is_known
    }

    /// A prepared branch of the engine, or of an action before.
    fn prepared(&mut self, name: &BranchName) -> Option<Trx> {
        if let Some(at) = self.prepared.iter().position(|(xid, _)| is_called(xid, name)) {
            return Some(self.prepared.swap_remove(at).1);
        }
        let at = self
            .actions
            .iter()
            .position(|a| matches!(a, Action::Prepare(xid, ..) if is_called(xid, name)))?;
        match self.actions.remove(at) {
            Action::Prepare(_, trx, _) => Some(trx),
            _ => None,
        }
    }

    /// Does it: the engine's log says what the file says, durable, and the file ends where it ends.
    pub fn carry_out(&mut self, files: &Files, log: &log::Log, now: u64) -> Result<(), String> {
        let mut end = Lsn::NONE;
        for action in std::mem::take(&mut self.actions) {
            let record = match action {
                Action::Commit(trx, gtid) => {
                    let parts = trx.commit_parts().expect("it has changed something");
                    let commit = commit(&parts, parts.trx, parts.first, gtid, now);
                    let done = trx.commit_with(|lsn, out| Record::Commit(commit).encode(lsn, out));
                    done.map(storage::trx::Committed::release).map_err(|(_, e)| e)
                }
                Action::Prepare(xid, mut trx, gtid) => {
                    let parts = trx.commit_parts().expect("it has changed something");
                    let CommitParts { trx: id, first, last, extents, .. } = parts;
                    let (flags, time) = (commit_flags::IN_FILE, now);
                    let (gtid, thread_id) = (Some(gtid), 0);
                    let prepare = Prepare {
                        trx: id,
                        first,
                        last,
                        extents,
                        time,
                        flags,
                        xid: xid.as_xid(),
                        gtid,
                        thread_id,
                    };
                    let done =
                        trx.prepare_with(true, |lsn, out| Record::Prepare(prepare).encode(lsn, out), |_| ());
                    self.prepared.push((xid, trx));
                    done.map(Some)
                }
                Action::RollBack(mut trx, gtid) => {
                    let parts = trx.commit_parts().expect("it has changed something");
                    let decision = commit(&parts, TrxId(0), parts.last, gtid, now);
                    let done = trx
                        .decide_rollback_with(|lsn, out| Record::Commit(decision).encode(lsn, out), |_| ());
                    self.losers.push(trx);
                    done.map(Some)
                }
            };
            let record = record.map_err(|e| e.to_string())?;
            end = end.max(record.map_or(Lsn::NONE, |r| r.end));
        }
        log.wait_durable(end).map_err(|e| e.to_string())?;
        if self.sets_aside {
            files.set_aside().map_err(|e| e.to_string())?;
        }
        match self.cut {
            Some((number, end)) => files.cut(number, end).map_err(|e| e.to_string()),
            None => Ok(()),
        }
    }
}

fn commit(parts: &CommitParts, trx: TrxId, first: Lsn, gtid: Gtid, time: u64) -> Commit {
    let mut flags = commit_flags::IN_FILE;
    if parts.prepared {
        flags |= commit_flags::XA;
    }
    Commit { trx, first, last: parts.last, extents: Lsn::NONE, time, flags, gtid: Some(gtid), thread_id: 0 }
}

fn is_called(xid: &OwnedXid, (format_id, gtrid, bqual): &BranchName) -> bool {
    xid.format_id as u32 == *format_id && xid.gtrid == *gtrid && xid.bqual == *bqual && !gtrid.is_empty()
}
