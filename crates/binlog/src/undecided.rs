//! The events of a transaction that has not committed yet, for a binary log in files of its own: its group must stand in the file before
//! the transaction may commit.
//!
//! The group is made of the transaction's records as it would be after the commit. What is not known yet, its sequence number and its
//! places in the file, is left open: the first event (GTID) and the last one are completed when the group is written.

use base::{Gtid, Lsn, TrxId};

use crate::api::{EmitError, EmitOptions, EventSink, GroupHead, Position};
use crate::frames::Frames;
use crate::group::{self, Contents};
use crate::log_files::Binlog;
use crate::transaction::{Chain, Phase};

/// What the group is the end of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Commit,
    /// XA PREPARE: the Prepare record that names the branch.
    Prepare(Lsn),
    /// XA COMMIT or XA ROLLBACK; the transaction's last record is the event that names the branch.
    Decision {
        commits: bool,
    },
}

/// A transaction whose group is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undecided<'a> {
    pub trx: TrxId,
    /// Its last record that is part of the group, and its newest Extents record.
    pub last: Lsn,
    pub extents: Lsn,
    pub stage: Stage,
    /// Without its sequence number.
    pub gtid: Gtid,
    /// Of `log_format::record::commit_flags`.
    pub flags: u8,
    /// In microseconds since 1970.
    pub time: u64,
    pub thread_id: u32,
    /// Texts of statements that are not in the log, by the statement's first row record.
    pub texts: &'a [(Lsn, Box<[u8]>)],
}

impl Binlog {
    /// Gives the events of a running transaction. Its records must be in the log's memory, or durable.
    pub fn emit_undecided(
        &self,
        group: &Undecided<'_>,
        options: &EmitOptions,
        sink: &mut dyn EventSink,
    ) -> Result<(), EmitError> {
        let Undecided { trx, last, extents, gtid, flags, time, thread_id, .. } = *group;
        let phase = match group.stage {
            Stage::Commit => Phase::Commit,
            Stage::Prepare(at) => Phase::Prepare(at),
            Stage::Decision { commits } => Phase::Decision { commits },
        };
        let (position, end) = (Position::default(), Position::default());
        let head = GroupHead { gtid, flags, time, thread_id, commit_id: 0, position, end, span: 0 };
        let chain = Chain { trx, last, extents, phase, decides: true };
        let mut frames = Frames::new(self.source());
        group::emit(&mut frames, self.tables(), &head, Contents { chain, texts: group.texts }, options, sink)
    }
}
