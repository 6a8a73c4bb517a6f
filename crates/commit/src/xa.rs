//! Two-phase commit: preparing, and deciding about what is prepared.
//!
//! XA PREPARE is ordered like a commit: it is an event group of its own and gets a GTID. So is the decision: a commit record with the
//! XA flag, of trx 0 when it is a rollback, behind an `Event` record that names the branch.
//!
//! # Crash
//! Before the Prepare record is durable the transaction is a loser. A decision that is in the log stands: a commit as any other, a
//! rollback goes on after the restart.

use base::{Lsn, TrxId};
use log_format::record::{Commit, Prepare, Record};
use storage::recovery::OwnedXid;
use storage::table::TableSource;
use storage::trx::{CommitParts, Trx};

use crate::file::Want;
use crate::{CommitError, Committer, Done, Numbering, flags_of};

/// XA_PREPARE_LOG_EVENT
const XA_EVENT: u8 = 38;

impl Committer {
    /// XA PREPARE of a transaction that has written something; waits as for a commit.
    pub fn prepare(
        &self,
        slot: &mut Option<Trx>,
        xid: &OwnedXid,
        numbering: Option<Numbering>,
    ) -> Result<Done, CommitError> {
        let trx = slot.as_mut().expect("a transaction is prepared");
        if let Some((file, numbering)) = self.file_for(trx, numbering)
            && let Some(trx) = slot.take()
        {
            let outcome = self.commit_in_file(file, trx, numbering, &Want::Prepare(xid));
            *slot = outcome.trx;
            return outcome.done;
        }
        let trx = slot.as_mut().expect("a transaction is prepared");
        let parts = trx.commit_parts().expect("what is prepared has changed something");
        let time = self.now();
        let (gtid, record) = self.numbered(numbering, &parts, |numbered, tell| {
            let CommitParts { trx: id, first, last, extents, .. } = parts;
            let prepare = Prepare {
                trx: id,
                first,
                last,
                extents,
                time,
                flags: flags_of(&parts, numbered),
                xid: xid.as_xid(),
                gtid: numbered.map(|(gtid, _)| gtid),
                thread_id: numbered.map_or(0, |(_, numbering)| numbering.thread_id),
            };
            let logged = numbered.is_some();
            let build = |lsn, out: &mut Vec<u8>| Record::Prepare(prepare).encode(lsn, out);
            let record = trx.prepare_with(logged, build, tell)?;
            Ok((Some(record), record))
        })?;
        self.waited(Done::of(gtid, Some(record)))
    }

    /// XA COMMIT of a prepared transaction.
    pub fn commit_prepared(
        &self,
        mut trx: Trx,
        xid: &OwnedXid,
        numbering: Option<Numbering>,
    ) -> Result<Done, CommitError> {
        let numbering = self.name_branch(&mut trx, xid, numbering)?;
        self.commit(trx, numbering)
    }

    /// XA ROLLBACK of a prepared transaction: the decision is durable before anything is undone. `tables` are for one of before
    /// the start.
    pub fn roll_back_prepared(
        &self,
        mut trx: Trx,
        xid: &OwnedXid,
        tables: &dyn TableSource,
        numbering: Option<Numbering>,
    ) -> Result<Done, CommitError> {
        let numbering = self.name_branch(&mut trx, xid, numbering)?;
        if let Some((file, numbering)) = self.file_for(&trx, numbering) {
            let outcome = self.commit_in_file(file, trx, numbering, &Want::RollBack);
            if let Some(trx) = outcome.trx.filter(|trx| !trx.is_prepared()) {
                // Where it stops, recovery goes on; its rows stay locked until then.
                let _ = trx.rollback_with(tables);
            }
            return outcome.done;
        }
        let parts = trx.commit_parts().expect("what is prepared has changed something");
        let (time, last) = (self.now(), parts.last);
        let (gtid, record) = self.numbered(numbering, &parts, |numbered, tell| {
            let decision = Commit {
                trx: TrxId(0),
                first: last,
                last,
                extents: Lsn::NONE,
                time,
                flags: flags_of(&parts, numbered),
                gtid: numbered.map(|(gtid, _)| gtid),
                thread_id: numbered.map_or(0, |(_, numbering)| numbering.thread_id),
            };
            let build = |lsn, out: &mut Vec<u8>| Record::Commit(decision).encode(lsn, out);
            let record = trx.decide_rollback_with(build, tell)?;
            Ok((Some(record), record))
        })?;
        let done = self.waited(Done::of(gtid, Some(record)))?;
        // Where it stops, recovery goes on; its rows stay locked until then.
        let _ = trx.rollback_with(tables);
        Ok(done)
    }

    /// The event that the decision is made of. A branch whose XA PREPARE is not in the binary log has no decision there either.
    fn name_branch(
        &self,
        trx: &mut Trx,
        xid: &OwnedXid,
        numbering: Option<Numbering>,
    ) -> Result<Option<Numbering>, CommitError> {
        assert!(trx.is_prepared(), "decided about what is prepared");
        let Some(numbering) = numbering.filter(|_| trx.is_logged_as_prepared()) else { return Ok(None) };
        let appended = trx.append_event(self.now(), XA_EVENT, 0, &event_body(xid));
        appended.map(|()| Some(numbering)).map_err(CommitError::NotWritten)
    }
}

/// `one phase u8 | format id u32 | gtrid length u32 | bqual length u32 | gtrid | bqual`, as in MariaDB's event.
fn event_body(xid: &OwnedXid) -> Vec<u8> {
    let mut body = vec![0];
    body.extend_from_slice(&xid.format_id.to_le_bytes());
    body.extend_from_slice(&(xid.gtrid.len() as u32).to_le_bytes());
    body.extend_from_slice(&(xid.bqual.len() as u32).to_le_bytes());
    body.extend_from_slice(&xid.gtrid);
    body.extend_from_slice(&xid.bqual);
    body
}
