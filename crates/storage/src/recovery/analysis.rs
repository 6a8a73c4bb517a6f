//! What one pass over the log says about transactions, ids and GTIDs (docs/design/core.md, section 6).
//!
//! The scan begins at or before redo start and purge position, the Checkpoint record comes later in it. The checkpoint's list of
//! active transactions was taken after its redo start was fixed, so:
//!
//! # Invariants
//! A1. A transaction without an outcome is in the checkpoint's list or has a record in the scan. One that is in the list and whose
//!     outcome stands in the scan, before or after the Checkpoint record, has ended. The lists of other Checkpoint records in the scan
//!     say nothing more, and are not read: a transaction can have ended between the look at it and its record, and when its outcome
//!     lies where outcomes are no longer remembered, it would come to life again. (One follows the named record when a crash came
//!     before the control block.)
//! A2. Every commit at or after the purge position is handed to purge; more than that does no harm, purge finds nothing.
//! A3. Ids that come back from here are above every id in the log.
//! A4. A GTID state says up to where it is exact; commits from there on are added to it in their order.
//! A5. A commit record of trx 0 with the XA flag decides that a prepared transaction is rolled back: from then on it is a loser
//!     like any other, whether or not its rollback had begun.

use base::{Corruption, Gtid, IndexId, Lsn, SpaceId, TableId, TrxId};
use hashbrown::{HashMap, HashSet};
use log_format::record::{
    ActiveTrx, Checkpoint, Commit, GtidState, NextIds, Prepare, Record, TrxState, Xid, commit_flags,
};
use page_format::PageOp;

/// A transaction without an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loser {
    pub id: TrxId,
    /// At or before its first record.
    pub first: Lsn,
    /// Its last record: rollback walks back from here.
    pub last: Lsn,
    /// Prepared transactions are not rolled back: their user decides.
    pub prepared: Option<Branch>,
}

/// A prepared XA transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    pub xid: OwnedXid,
    /// Its Prepare record.
    pub record: Lsn,
    /// Its XA PREPARE is in the binary log.
    pub logged: bool,
    /// The binary log's files decide about it, not its user.
    pub pending: bool,
}

/// Name of a prepared XA transaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnedXid {
    pub format_id: i32,
    pub gtrid: Vec<u8>,
    pub bqual: Vec<u8>,
}

impl OwnedXid {
    pub fn as_xid(&self) -> Xid<'_> {
        Xid { format_id: self.format_id, gtrid: &self.gtrid, bqual: &self.bqual }
    }
}

impl From<Xid<'_>> for OwnedXid {
    fn from(xid: Xid<'_>) -> Self {
        Self { format_id: xid.format_id, gtrid: xid.gtrid.to_vec(), bqual: xid.bqual.to_vec() }
    }
}

/// A commit that purge may still have work for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    pub id: TrxId,
    pub commit: Lsn,
    pub first: Lsn,
    pub last: Lsn,
}

/// The result of the scan.
#[derive(Debug, Default)]
pub struct Recovered {
    /// In order of their ids.
    pub losers: Vec<Loser>,
    /// In commit order.
    pub committed: Vec<Committed>,
    pub purge_position: Lsn,
    pub next: NextIds,
    /// In commit order: a state, and the commits since. The last of a domain and server is the newest.
    pub gtids: Vec<Gtid>,
    /// The record of the last RESET MASTER, if the scan has met one: the binary log begins with its segment.
    pub binlog_starts: Lsn,
    /// At or below every record that commits with a GTID of the last segment refer to; none when there was none.
    pub binlog_needs: Lsn,
    /// Whether the newest commit with a GTID has its events in a file of the binary log; unknown when the scan has met none.
    pub last_in_file: Option<bool>,
    pub extension: Vec<u8>,
    pub records: u64,
    /// Of these, behind the Checkpoint record that the control block names.
    pub records_since_checkpoint: u64,
}

/// Gathers the facts, record by record.
pub(crate) struct Analysis {
    /// The record that the control block names.
    checkpoint: Lsn,
    met_checkpoint: bool,
    open: HashMap<TrxId, Loser>,
    /// Outcomes that were met before the Checkpoint record.
    ended: HashSet<TrxId>,
    /// A prepared transaction of the checkpoint whose Prepare record is not in the scan.
    nameless: Option<TrxId>,
    /// The newest state, which holds the commits below its LSN, and the GTIDs of later ones.
    gtid_state: GtidState,
    gtids: Vec<(Lsn, Gtid)>,
    out: Recovered,
}

impl Analysis {
    pub(crate) fn new(checkpoint: Lsn) -> Self {
        Self {
            checkpoint,
            met_checkpoint: false,
            open: HashMap::new(),
            ended: HashSet::new(),
            nameless: None,
            gtid_state: GtidState::default(),
            gtids: Vec::new(),
            out: Recovered::default(),
        }
    }

    pub(crate) fn note(&mut self, lsn: Lsn, record: &Record<'_>) {
        self.out.records += 1;
        self.out.records_since_checkpoint += u64::from(lsn > self.checkpoint);
        self.note_ids(record);
        match record {
            Record::Commit(commit) => self.commit(lsn, commit),
            Record::Abort(abort) => self.end(abort.trx),
            Record::Prepare(prepare) => self.prepare(lsn, prepare),
            Record::Checkpoint(checkpoint) => self.merge(lsn, checkpoint),
            Record::GtidState(state) => self.note_gtids(lsn, state),
            // Not a link of the chain that rollback walks.
            Record::Extents(_) => {}
            other => {
                if let Some(trx) = other.trx() {
                    self.extend(trx, lsn);
                }
            }
        }
    }

    fn extend(&mut self, trx: TrxId, lsn: Lsn) -> &mut Loser {
        let open = self.open.entry(trx).or_insert(Loser { id: trx, first: lsn, last: lsn, prepared: None });
        open.last = lsn;
        open
    }

    fn end(&mut self, trx: TrxId) {
        self.open.remove(&trx);
        if !self.met_checkpoint {
            self.ended.insert(trx);
        }
    }

    fn prepare(&mut self, lsn: Lsn, prepare: &Prepare<'_>) {
        if let Some(gtid) = prepare.gtid {
            self.note_gtid(lsn, gtid, prepare.flags, prepare.first);
        }
        let pending = prepare.flags & commit_flags::IN_FILE != 0 && prepare.gtid.is_none();
        let branch = Branch { xid: prepare.xid.into(), record: lsn, logged: prepare.gtid.is_some(), pending };
        let open = self.extend(prepare.trx, lsn);
        open.prepared = Some(branch);
        if !prepare.first.is_none() {
            open.first = open.first.min(prepare.first);
        }
    }

    fn commit(&mut self, lsn: Lsn, commit: &Commit) {
        if let Some(gtid) = commit.gtid {
            self.note_gtid(lsn, gtid, commit.flags, commit.first);
        }
        if commit.trx.0 == 0 {
            if commit.flags & commit_flags::XA != 0 {
                self.roll_back_prepared(commit.last);
            }
            return;
        }
        self.end(commit.trx);
        let (id, first, last) = (commit.trx, commit.first, commit.last);
        self.out.committed.push(Committed { id, commit: lsn, first, last });
    }

    /// Events in a file need nothing of the log.
    fn note_gtid(&mut self, lsn: Lsn, gtid: Gtid, flags: u8, first: Lsn) {
        self.gtids.push((lsn, gtid));
        let in_file = flags & commit_flags::IN_FILE != 0;
        self.out.last_in_file = Some(in_file);
        if !in_file {
            self.note_needs(first);
        }
    }

    /// A5. `last` is the record that the decision follows in the transaction's chain.
    fn roll_back_prepared(&mut self, last: Lsn) {
        if let Some(open) = self.open.values_mut().find(|open| open.last == last) {
            open.prepared = None;
        }
    }

    fn merge(&mut self, lsn: Lsn, checkpoint: &Checkpoint<'_>) {
        if lsn == self.checkpoint {
            self.met_checkpoint = true;
            let ended = std::mem::take(&mut self.ended);
            let listed = checkpoint.active.iter().filter(|a| !ended.contains(&a.trx) && !a.last.is_none());
            listed.for_each(|active| self.merge_active(active));
        }
        self.note_gtids(lsn, &checkpoint.gtids);
        let next = &mut self.out.next;
        next.trx = next.trx.max(checkpoint.next.trx);
        next.table = next.table.max(checkpoint.next.table);
        next.index = next.index.max(checkpoint.next.index);
        next.space = next.space.max(checkpoint.next.space);
        self.out.purge_position = checkpoint.purge_position;
        self.out.extension = checkpoint.extension.to_vec();
    }

    fn merge_active(&mut self, active: &ActiveTrx) {
        let listed = Loser { id: active.trx, first: active.first, last: active.last, prepared: None };
        let open = self.open.entry(active.trx).or_insert(listed);
        open.first = open.first.min(active.first);
        open.last = open.last.max(active.last);
        if active.state == TrxState::Prepared && open.prepared.is_none() {
            self.nameless = Some(active.trx);
        }
    }

    fn note_needs(&mut self, lsn: Lsn) {
        let needs = &mut self.out.binlog_needs;
        if needs.is_none() || !lsn.is_none() && lsn < *needs {
            *needs = lsn;
        }
    }

    /// A4.
    fn note_gtids(&mut self, lsn: Lsn, state: &GtidState) {
        let at = state.as_of(lsn);
        if at >= self.gtid_state.at {
            if state.replaces {
                self.out.binlog_starts = lsn;
            }
            self.gtids.retain(|(commit, _)| *commit >= at);
            self.gtid_state = GtidState { at, ..state.clone() };
            self.note_needs(state.needs);
        }
    }

    /// A3.
    fn note_ids(&mut self, record: &Record<'_>) {
        let next = &mut self.out.next;
        if let Some(trx) = record.trx() {
            next.trx = next.trx.max(TrxId(trx.0 + 1));
        }
        for part in record.parts() {
            next.space = next.space.max(SpaceId(part.page.space.0 + 1));
            if let PageOp::Format { index, .. } = part.op {
                next.index = next.index.max(IndexId(index.0 + 1));
            }
        }
        let table = match record {
            Record::RowInsert(row) => row.table,
            Record::RowUpdate(row) => row.table,
            Record::RowDelete(row) => row.table,
            Record::TableDef(def) => def.table,
            _ => return,
        };
        next.table = next.table.max(TableId(table.0 + 1));
    }

    /// The whole log has been read.
    pub(crate) fn finish(mut self) -> Result<Recovered, Corruption> {
        if !self.met_checkpoint {
            let place = format!("log record at {}", self.checkpoint);
            return Err(Corruption::new(
                place,
                "record type",
                "the Checkpoint record that the control file names",
                "none",
            ));
        }
        if let Some(trx) = self.nameless {
            let place = format!("Checkpoint record at {}", self.checkpoint);
            return Err(Corruption::new(
                place,
                "prepared transaction",
                "its Prepare record in the scan",
                trx,
            ));
        }
        let purge_position = self.out.purge_position;
        self.out.committed.retain(|committed| committed.commit >= purge_position);
        self.out.losers = self.open.into_values().collect();
        self.out.losers.sort_by_key(|loser| loser.id);
        let commits = self.gtids.iter().map(|(_, gtid)| *gtid);
        self.out.gtids = self.gtid_state.gtids.iter().copied().chain(commits).collect();
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use log_format::record::{Abort, Savepoint};

    use super::*;

    fn step(trx: u64) -> Record<'static> {
        Record::Savepoint(Savepoint { trx: TrxId(trx), previous: Lsn::NONE, body: &[] })
    }

    fn commit(trx: u64, seq_no: u64) -> Record<'static> {
        let gtid = (seq_no > 0).then_some(Gtid { domain_id: 0, server_id: 1, seq_no });
        let (first, last) = (Lsn(1), Lsn(2));
        Record::Commit(Commit {
            trx: TrxId(trx),
            first,
            last,
            extents: Lsn::NONE,
            time: 0,
            flags: 0,
            gtid,
            thread_id: 0,
        })
    }

    fn checkpoint(active: &[(u64, u64, u64)], purge: u64) -> Record<'static> {
        let state = TrxState::Active;
        let entry =
            |&(trx, first, last)| ActiveTrx { trx: TrxId(trx), first: Lsn(first), last: Lsn(last), state };
        let next = NextIds { trx: TrxId(50), table: TableId(7), index: IndexId(8), space: SpaceId(9) };
        Record::Checkpoint(Checkpoint {
            redo_start: Lsn(100),
            purge_position: Lsn(purge),
            next,
            active: active.iter().map(entry).collect(),
            gtids: GtidState {
                at: Lsn(120),
                gtids: vec![Gtid { domain_id: 0, server_id: 1, seq_no: 5 }],
                ..GtidState::default()
            },
            extension: b"ext",
        })
    }

    fn run(records: &[(u64, Record<'_>)], at: u64) -> Recovered {
        let mut analysis = Analysis::new(Lsn(at));
        records.iter().for_each(|(lsn, record)| analysis.note(Lsn(*lsn), record));
        analysis.finish().unwrap()
    }

    fn losers(recovered: &Recovered) -> Vec<(u64, u64, u64)> {
        recovered.losers.iter().map(|l| (l.id.0, l.first.0, l.last.0)).collect()
    }

    #[test]
    fn outcomes_on_both_sides_of_the_checkpoint_count() {
        let records = [
            (100, step(1)),
            (110, step(2)),
            (120, commit(3, 0)),
            (130, checkpoint(&[(1, 100, 100), (2, 90, 110), (3, 50, 60), (4, 40, 45), (5, 10, 20)], 0)),
            (140, step(4)),
            (150, commit(2, 0)),
            (160, Record::Abort(Abort { trx: TrxId(1), last: Lsn(100) })),
            (170, step(70)),
        ];
        let recovered = run(&records, 130);
        assert_eq!(losers(&recovered), [(4, 40, 140), (5, 10, 20), (70, 170, 170)]);
        assert_eq!(recovered.committed.iter().map(|c| c.id.0).collect::<Vec<_>>(), [3, 2]);
        assert_eq!(recovered.next.trx, TrxId(71));
        assert_eq!(recovered.next.space, SpaceId(9));
    }

    #[test]
    fn a_transaction_that_ended_beside_another_checkpoint_stays_ended() {
        // Both commit between the look at the active transactions and the Checkpoint record: one of before the named one, and one whose
        // control block was never written. The first one's commit is below the scan, too.
        let records = [
            (100, checkpoint(&[(1, 80, 90)], 0)),
            (130, checkpoint(&[(2, 120, 125)], 0)),
            (140, step(3)),
            (150, commit(3, 0)),
            (155, commit(2, 0)),
            (160, checkpoint(&[(2, 120, 125), (3, 140, 140), (4, 170, 0)], 0)),
            (180, step(5)),
        ];
        assert_eq!(losers(&run(&records, 130)), [(5, 180, 180)]);
    }

    #[test]
    fn an_id_that_never_wrote_is_nobody() {
        let recovered = run(&[(130, checkpoint(&[(6, 120, 0)], 0))], 130);
        assert_eq!(losers(&recovered), []);
        assert_eq!(recovered.extension, b"ext");
    }

    #[test]
    fn commits_below_the_purge_position_are_done() {
        let recovered = run(&[(110, commit(1, 0)), (120, commit(2, 0)), (130, checkpoint(&[], 120))], 130);
        assert_eq!(recovered.committed.iter().map(|c| c.id.0).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn the_newest_gtid_of_a_domain_wins() {
        let recovered = run(&[(110, commit(1, 4)), (130, checkpoint(&[], 0)), (140, commit(2, 6))], 130);
        assert_eq!(recovered.gtids.iter().map(|g| g.seq_no).collect::<Vec<_>>(), [5, 6]);
        let recovered = run(&[(110, commit(1, 4)), (130, checkpoint(&[], 0))], 130);
        assert_eq!(recovered.gtids.iter().map(|g| g.seq_no).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn the_named_checkpoint_must_be_there() {
        let mut analysis = Analysis::new(Lsn(130));
        analysis.note(Lsn(100), &step(1));
        assert_eq!(analysis.finish().unwrap_err().field, "record type");
    }
}
