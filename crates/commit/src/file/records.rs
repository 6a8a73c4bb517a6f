//! The records of both phases.

use base::{Gtid, Lsn};
use log_format::record::{Commit, Prepare, Record, Xid, commit_flags};
use storage::recovery::OwnedXid;
use storage::trx::{CommitParts, Trx};

use crate::Numbering;

pub(super) fn append_prepare(
    trx: &mut Trx,
    parts: &CommitParts,
    time: u64,
    xid: &OwnedXid,
) -> Result<log::Appended, log::LogFailed> {
    let record = prepare_record(parts, time, commit_flags::IN_FILE, xid, None);
    trx.prepare_pending_with(|lsn, out| record.encode(lsn, out))
}

pub(super) fn prepare_record<'a>(
    parts: &CommitParts,
    time: u64,
    flags: u8,
    xid: &'a OwnedXid,
    gtid: Option<Gtid>,
) -> Record<'a> {
    let CommitParts { trx, first, last, extents, .. } = *parts;
    let xid: Xid<'a> = xid.as_xid();
    Record::Prepare(Prepare { trx, first, last, extents, time, flags, xid, gtid, thread_id: 0 })
}

pub(super) fn encode_commit(
    parts: &CommitParts,
    trx: base::TrxId,
    time: u64,
    flags: u8,
    numbered: Option<(Gtid, Numbering)>,
    lsn: Lsn,
    out: &mut Vec<u8>,
) {
    let CommitParts { first, last, extents, .. } = *parts;
    let gtid = numbered.map(|(gtid, _)| gtid);
    let thread_id = numbered.map_or(0, |(_, numbering)| numbering.thread_id);
    let first = if trx.0 == 0 { last } else { first };
    Record::Commit(Commit { trx, first, last, extents, time, flags, gtid, thread_id }).encode(lsn, out);
}
