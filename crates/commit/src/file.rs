//! Commits whose event groups stand in files of their own: two phases, grouped in both.
//!
//! # Steps of a commit
//! 1. Append a Prepare record that says that a file decides; from now on a crash leaves the transaction undecided.
//! 2. Wait for the Prepare record as `innodb_flush_log_at_trx_commit` says: the log's own group commit.
//! 3. Make the group of the transaction's records, without any lock held. A large one is written into its cache file, and synced.
//! 4. Queue. The first to come leads: it takes all that wait, gives them sequence numbers, writes their groups with one write, syncs as
//!    sync_binlog says, and appends their commit records in the same order. Those records need no sync: the file decides.
//!    A group above binlog_large_commit_threshold is not copied: its cache file is renamed to be the next file.
//!
//! # Invariants
//! F1. Order of groups in the files = order of GTIDs = order of commit records (L4): one leader at a time does all three.
//! F2. A commit record of a group is in the log only when the group is in the file, synced if sync_binlog=1.
//! F3. A file is begun when the commit records of all groups before are durable. So the last file and the log decide everything.
//!
//! # Locking
//! `tail` (the writer), then the commit order. Nobody waits for row locks in here.
//!
//! # Crash
//! After 1: undecided, rolled back by recovery. In 4, once the group is whole in a file that the index names: recovery commits it. A group
//! whose Prepare record was lost (possible when it was not waited for) ends the file: it and all behind it are cut off; no reader has
//! had them.

mod begin;
mod records;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use base::{Gtid, Lsn};
use binlog::{Binlog, EmitError, EmitOptions, ReadError, Stage, Undecided};
use binlog_file::{Cache, CacheLimits, Files, HeadFacts, IndexOptions, WriteError, Writer, virtual_lsn};
use event_format::{Checksum, MetadataLevel};
use log::{Appended, FlushPolicy};
use log_format::record::commit_flags;
use storage::recovery::OwnedXid;
use storage::trx::{CommitParts, Committed, Trx};

use self::records::{append_prepare, encode_commit, prepare_record};
use crate::{CommitError, Committer, Done, GtidPositions, Numbering, Written, flags_of};

/// What variables say about the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOptions {
    pub server_id: u32,
    pub version: &'static str,
    /// binlog_checksum, for files that are begun from now on.
    pub checksum: Checksum,
    pub metadata: MetadataLevel,
    pub row_event_size_max: usize,
    /// max_binlog_size
    pub size_max: u64,
    /// sync_binlog: a sync for so many groups; 0 = the operating system decides.
    pub sync_every: u64,
    /// binlog_cache_size, max_binlog_cache_size
    pub cache_memory: usize,
    pub cache_most: u64,
    /// binlog_large_commit_threshold
    pub large: u64,
    /// binlog_gtid_index and its kin, for files that are begun from now on.
    pub index: Option<IndexOptions>,
}

/// The binary log in files, as commits use it.
pub(crate) struct FileLog {
    files: Arc<Files>,
    /// Makes groups of records.
    groups: Arc<Binlog>,
    options: Mutex<FileOptions>,
    tail: Mutex<Tail>,
    queue: Mutex<Queue>,
}

/// The end of the last file.
struct Tail {
    writer: Writer,
    /// With everything that is in the file; the commit order's follow.
    positions: GtidPositions,
    /// Groups since the last sync.
    unsynced: u64,
    /// End of the last commit record of a group in the file.
    committed: Lsn,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Arc<Ticket>>,
    is_led: bool,
}

/// One that waits for a leader.
#[derive(Default)]
struct Ticket {
    state: Mutex<Waiting>,
    told: Condvar,
}

#[derive(Default)]
struct Waiting {
    work: Option<Work>,
    leads: bool,
    outcome: Option<Outcome>,
}

/// A transaction whose group is made.
struct Work {
    cache: Cache,
    numbering: Numbering,
    parts: CommitParts,
    time: u64,
    flags: u8,
    /// End of the record that a crash must not lose if the group stays.
    decided: Lsn,
    ends: Ends,
}

/// What becomes of the transaction behind its group.
enum Ends {
    Commit(Trx),
    Prepare(Trx, OwnedXid),
    RollBack(Trx),
}

/// How it went. The transaction is still there when it goes on, or could not be written.
pub(crate) struct Outcome {
    pub(crate) done: Result<Done, CommitError>,
    pub(crate) trx: Option<Trx>,
}

impl Outcome {
    fn failed(error: CommitError, trx: Option<Trx>) -> Self {
        Self { done: Err(error), trx }
    }
}

impl Work {
    /// An ordinary transaction of rows.
    fn is_plain(&self) -> bool {
        const OTHERS: u8 = commit_flags::DDL | commit_flags::NOT_TRANSACTIONAL | commit_flags::XA;
        self.flags & OTHERS == 0 && matches!(self.ends, Ends::Commit(_))
    }
}

impl Ends {
    fn into_trx(self) -> Trx {
        match self {
            Self::Commit(trx) | Self::Prepare(trx, _) | Self::RollBack(trx) => trx,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these protect changes by whole assignments; a failed write is taken back by who made it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FileLog {
    fn new(files: Arc<Files>, groups: Arc<Binlog>, options: FileOptions, tail: Tail) -> Self {
        let (options, tail) = (Mutex::new(options), Mutex::new(tail));
        Self { files, groups, options, tail, queue: Mutex::default() }
    }

    fn options(&self) -> FileOptions {
        *lock(&self.options)
    }
}

impl FileOptions {
    fn head(&self, now: u64, is_first: bool) -> HeadFacts {
        let (server_id, version, checksum, index) = (self.server_id, self.version, self.checksum, self.index);
        HeadFacts { server_id, version, checksum, now: (now / 1_000_000) as u32, is_first, index }
    }
}

/// Which transaction, and what its group is the end of.
pub(crate) enum Want<'a> {
    Commit,
    Prepare(&'a OwnedXid),
    /// XA ROLLBACK.
    RollBack,
}

impl Committer {
    /// From now on groups stand in files; `positions` is the state behind what is there. Begins the first file of this start.
    pub fn log_to_files(
        &self,
        files: Arc<Files>,
        groups: Arc<Binlog>,
        options: FileOptions,
        positions: GtidPositions,
    ) -> Result<(), env::DiskError> {
        let log = Arc::clone(&self.log);
        files.set_engine(Box::new(move |end| log.wait_durable(end).map_err(|e| e.to_string())));
        let number = files.next_number()?;
        let head = options.head(self.now(), true);
        let writer = Writer::begin(Arc::clone(&files), number, &head, positions.state())?;
        self.order().positions = positions.clone();
        let tail = Tail { writer, positions, unsynced: 0, committed: Lsn::NONE };
        let set = self.file.set(FileLog::new(files, groups, options, tail));
        assert!(set.is_ok(), "the binary log is moved to files once");
        Ok(())
    }

    pub fn set_file_options(&self, options: FileOptions) {
        if let Some(file) = self.file.get() {
            *lock(&file.options) = options;
        }
    }

    /// A transaction with a group, in file mode; see the module.
    pub(crate) fn commit_in_file(
        &self,
        file: &FileLog,
        trx: Trx,
        numbering: Numbering,
        want: &Want<'_>,
    ) -> Outcome {
        if let Some(why) = file.files.failure() {
            return Outcome::failed(CommitError::file(why), Some(trx));
        }
        match self.prepared_work(file, trx, numbering, want) {
            Ok(work) => self.submit(file, work),
            Err(outcome) => *outcome,
        }
    }

    /// Steps 1 to 3.
    fn prepared_work(
        &self,
        file: &FileLog,
        mut trx: Trx,
        numbering: Numbering,
        want: &Want<'_>,
    ) -> Result<Work, Box<Outcome>> {
        let parts = trx.commit_parts().expect("what has events has changed something");
        let (time, flags) = (self.now(), flags_of(&parts, Some((Gtid::default(), numbering))));
        let pending = match want {
            Want::Commit if !parts.prepared => {
                Some(OwnedXid { format_id: 0, gtrid: Vec::new(), bqual: Vec::new() })
            }
            Want::Prepare(xid) => Some((*xid).clone()),
            _ => None,
        };
        let mut prepare = parts.last;
        let mut decided = parts.last + 1;
        if let Some(xid) = &pending {
            match append_prepare(&mut trx, &parts, time, xid) {
                Ok(record) => (prepare, decided) = (record.start, record.end),
                Err(e) => return Err(Box::new(Outcome::failed(CommitError::NotWritten(e), Some(trx)))),
            }
        }
        let stage = match want {
            Want::Commit if parts.prepared => Stage::Decision { commits: true },
            Want::Commit => Stage::Commit,
            Want::Prepare(_) => Stage::Prepare(prepare),
            Want::RollBack => Stage::Decision { commits: false },
        };
        let gtid = Gtid { domain_id: numbering.domain_id, server_id: numbering.server_id, seq_no: 0 };
        let (CommitParts { trx: id, last, extents, .. }, thread_id) = (parts, numbering.thread_id);
        let group = Undecided {
            trx: id,
            last,
            extents,
            stage,
            gtid,
            flags,
            time,
            thread_id,
            texts: trx.statement_texts(),
        };
        // Records that have left the log's memory are read from its segments, where only what is durable is read.
        let waits = pending.is_some() && self.log.flush_policy() == FlushPolicy::Sync;
        let waited = if waits { self.log.wait_durable(decided) } else { Ok(()) };
        let made =
            waited.map_err(CommitError::NotWritten).and_then(|()| self.make_group(file, &group, decided));
        let waited = made.and_then(|cache| {
            let wait = if pending.is_some() { self.log.wait_commit(decided) } else { Ok(()) };
            wait.map(|()| cache).map_err(CommitError::NotWritten)
        });
        match waited {
            Ok(cache) => {
                let ends = match want {
                    Want::Commit => Ends::Commit(trx),
                    Want::Prepare(xid) => Ends::Prepare(trx, (*xid).clone()),
                    Want::RollBack => Ends::RollBack(trx),
                };
                Ok(Work { cache, numbering, parts, time, flags, decided, ends })
            }
            Err(e) => {
                if pending.is_some() {
                    trx.withdraw();
                }
                Err(Box::new(Outcome::failed(e, Some(trx))))
            }
        }
    }

    /// `decided` is the end of the records that it is made of.
    fn make_group(&self, file: &FileLog, group: &Undecided<'_>, decided: Lsn) -> Result<Cache, CommitError> {
        let options = file.options();
        let gtids = self.order().positions.len();
        let limits = CacheLimits {
            memory: options.cache_memory,
            most: options.cache_most,
            gtids,
            large: options.large,
        };
        let emit = EmitOptions {
            checksum: options.checksum,
            annotate: true,
            metadata: options.metadata,
            row_event_size_max: options.row_event_size_max,
        };
        let mut cache = Writer::cache(&file.files, limits, options.checksum);
        let mut outcome = file.groups.emit_undecided(group, &emit, &mut cache);
        if let Err(EmitError::Read(ReadError::Gone { .. })) = &outcome {
            self.log.wait_durable(decided).map_err(CommitError::NotWritten)?;
            cache = Writer::cache(&file.files, limits, options.checksum);
            outcome = file.groups.emit_undecided(group, &emit, &mut cache);
        }
        if cache.is_full() {
            return Err(CommitError::CacheFull);
        }
        if let Some(e) = cache.take_error() {
            return Err(CommitError::disk(&e));
        }
        outcome.map_err(|e| CommitError::file(&e.to_string()))?;
        if cache.is_on_disk() && cache.body_len() >= options.large {
            cache.make_durable().map_err(|e| CommitError::disk(&e))?;
        }
        Ok(cache)
    }

    /// Step 4, from the side of one that comes.
    fn submit(&self, file: &FileLog, work: Work) -> Outcome {
        let ticket = Arc::new(Ticket::default());
        lock(&ticket.state).work = Some(work);
        let leads = {
            let mut queue = lock(&file.queue);
            queue.waiting.push(Arc::clone(&ticket));
            !std::mem::replace(&mut queue.is_led, true)
        };
        if leads {
            self.lead(file);
        }
        loop {
            let mut state = lock(&ticket.state);
            while state.outcome.is_none() && !state.leads {
                state = ticket.told.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if let Some(outcome) = state.outcome.take() {
                return outcome;
            }
            state.leads = false;
            drop(state);
            self.lead(file);
        }
    }

    /// Serves all that wait now, then leaves the lead to the first of those that have come since.
    fn lead(&self, file: &FileLog) {
        let mut tail = lock(&file.tail);
        let tickets = std::mem::take(&mut lock(&file.queue).waiting);
        let mut work: Vec<Work> = tickets.iter().filter_map(|t| lock(&t.state).work.take()).collect();
        let mut outcomes = Vec::with_capacity(work.len());
        while !work.is_empty() {
            let options = file.options();
            let is_large = |w: &Work| w.cache.is_on_disk() && w.cache.body_len() >= options.large;
            if is_large(&work[0]) {
                let large = work.remove(0);
                outcomes.push(self.commit_large(file, &mut tail, &options, large));
            } else {
                let end = work.iter().position(is_large).unwrap_or(work.len());
                let rest = work.split_off(end);
                outcomes.extend(self.commit_run(file, &mut tail, &options, work));
                work = rest;
            }
        }
        drop(tail);
        for (ticket, outcome) in tickets.iter().zip(outcomes) {
            lock(&ticket.state).outcome = Some(outcome);
            ticket.told.notify_one();
        }
        let mut queue = lock(&file.queue);
        match queue.waiting.first() {
            Some(next) => {
                lock(&next.state).leads = true;
                next.told.notify_one();
            }
            None => queue.is_led = false,
        }
    }

    /// Several groups with one write and one sync.
    fn commit_run(
        &self,
        file: &FileLog,
        tail: &mut Tail,
        options: &FileOptions,
        mut work: Vec<Work>,
    ) -> Vec<Outcome> {
        let before = (tail.writer.mark(), tail.positions.clone());
        let groups = match write_groups(tail, options, &mut work) {
            Ok(groups) => groups,
            Err(e) if e.is_final => return undecided(&e, work),
            Err(e) => {
                tail.positions = before.1;
                return match tail.writer.undo(before.0) {
                    Ok(()) => not_written(&e, work),
                    Err(e) => undecided(&e, work),
                };
            }
        };
        let decided = work.iter().map(|w| w.decided).max().unwrap_or(Lsn::NONE);
        tail.writer.publish(decided, tail.unsynced == 0 && self.log.durable_lsn() >= decided);
        let outcomes =
            work.into_iter().zip(groups).map(|(w, group)| self.end_in_order(tail, w, group)).collect();
        if tail.writer.len() >= options.size_max {
            // A file that cannot be begun now leaves this one in use; the next commit tries again.
            let _ = self.rotate_file(file, tail, options);
        }
        outcomes
    }

    /// F1: the engine's part, one by one. Semi-synchronous replication hides the commit, when it does, before the record can be seen.
    fn end_in_order(&self, tail: &mut Tail, work: Work, group: Group) -> Outcome {
        let mut order = self.order();
        let gate = self.closed_gate();
        if let Some(gate) = gate {
            gate.announce(self.log.reserved_lsn());
        }
        let (mut outcome, held) = self.append_end(work, group.gtid);
        let end = outcome.done.as_ref().ok().and_then(|done| Some((done.record?, done.end?)));
        if let Some(gate) = gate {
            gate.written(
                end.map(|(start, end)| Written { record: Appended { start, end }, place: group.end }),
            );
        }
        if let (Ok(done), Some((_, end))) = (&mut outcome.done, end) {
            done.place = Some(group.end);
            order.positions.advance(group.gtid);
            tail.committed = tail.committed.max(end);
        }
        drop(order);
        if let Some(held) = held {
            held.release();
        }
        outcome
    }

    /// Writes the record; a transaction that is committed still holds its locks.
    fn append_end(&self, work: Work, gtid: Gtid) -> (Outcome, Option<Committed>) {
        let Work { numbering, parts, time, flags, ends, .. } = work;
        let flags = flags | commit_flags::IN_FILE;
        let numbered = Some((gtid, numbering));
        let outcome = match ends {
            Ends::Commit(trx) => {
                let build = |lsn: Lsn, out: &mut Vec<u8>| {
                    encode_commit(&parts, parts.trx, time, flags, numbered, lsn, out)
                };
                match trx.commit_with(build) {
                    Ok(committed) => {
                        let done = Done::of(Some(gtid), committed.record());
                        return (Outcome { done: Ok(done), trx: None }, Some(committed));
                    }
                    // The group is in the file: the next start commits it.
                    Err((trx, e)) => {
                        trx.abandon();
                        Outcome::failed(CommitError::Unknown(e), None)
                    }
                }
            }
            Ends::Prepare(mut trx, xid) => {
                let record = prepare_record(&parts, time, flags, &xid, Some(gtid));
                let build = |lsn: Lsn, out: &mut Vec<u8>| record.encode(lsn, out);
                let done = trx.prepare_with(true, build, |_| ());
                let done =
                    done.map(|record| Done::of(Some(gtid), Some(record))).map_err(CommitError::Unknown);
                Outcome { done, trx: Some(trx) }
            }
            Ends::RollBack(mut trx) => {
                let build = |lsn: Lsn, out: &mut Vec<u8>| {
                    encode_commit(&parts, base::TrxId(0), time, flags, numbered, lsn, out);
                };
                let done = trx.decide_rollback_with(build, |_| ());
                let done =
                    done.map(|record| Done::of(Some(gtid), Some(record))).map_err(CommitError::Unknown);
                Outcome { done, trx: Some(trx) }
            }
        };
        (outcome, None)
    }

    /// A large group: its cache file becomes the next file.
    fn commit_large(
        &self,
        file: &FileLog,
        tail: &mut Tail,
        options: &FileOptions,
        mut work: Work,
    ) -> Outcome {
        if let Err(e) = self.before_next_file(tail, work.decided) {
            return Outcome::failed(CommitError::Unknown(e), None);
        }
        let gtid = tail.positions.next(work.numbering);
        let head = options.head(self.now(), false);
        match tail.writer.adopt(&mut work.cache, gtid.seq_no, &head, tail.positions.state()) {
            Ok(Some(place)) => {
                tail.positions.advance(gtid);
                tail.unsynced = 0;
                let group = Group { gtid, end: virtual_lsn(place.number, place.end) };
                let outcome = self.end_in_order(tail, work, group);
                if tail.writer.len() >= options.size_max {
                    let _ = self.rotate_file(file, tail, options);
                }
                outcome
            }
            Ok(None) => {
                let mut outcomes = self.commit_run(file, tail, options, vec![work]);
                outcomes.pop().expect("one outcome for one transaction")
            }
            Err(e) if e.is_final => undecided(&e, vec![work]).pop().expect("one outcome"),
            Err(e) => not_written(&e, vec![work]).pop().expect("one outcome"),
        }
    }

    /// F3.
    fn before_next_file(&self, tail: &Tail, also: Lsn) -> Result<(), log::LogFailed> {
        self.log.wait_durable(tail.committed.max(also))
    }

    fn rotate_file(&self, file: &FileLog, tail: &mut Tail, options: &FileOptions) -> Result<(), CommitError> {
        if let Some(why) = file.files.failure() {
            return Err(CommitError::file(why));
        }
        self.before_next_file(tail, Lsn::NONE).map_err(CommitError::NotWritten)?;
        let head = options.head(self.now(), false);
        let outcome = tail.writer.rotate(&head, tail.positions.state());
        outcome.map_err(|e| written_error(&e))?;
        tail.unsynced = 0;
        Ok(())
    }
}

/// A group that is in a file.
#[derive(Clone, Copy)]
struct Group {
    gtid: Gtid,
    /// As replicas acknowledge it.
    end: Lsn,
}

/// Numbers the groups and writes them, synced when it is time.
fn write_groups(tail: &mut Tail, options: &FileOptions, work: &mut [Work]) -> Result<Vec<Group>, WriteError> {
    let mut groups = Vec::with_capacity(work.len());
    // All of these have their row locks now: a replica may apply them side by side.
    let together = work.iter().filter(|w| w.is_plain()).count() > 1;
    let id = if together { virtual_lsn(tail.writer.number(), tail.writer.len()).0 } else { 0 };
    for one in work.iter_mut() {
        let gtid = tail.positions.next(one.numbering);
        let commit_id = if one.is_plain() { id } else { 0 };
        let place = tail.writer.append(&mut one.cache, gtid.seq_no, commit_id)?;
        tail.positions.advance(gtid);
        groups.push(Group { gtid, end: virtual_lsn(place.number, place.end) });
    }
    tail.writer.write_gathered()?;
    tail.unsynced += work.len() as u64;
    if options.sync_every > 0 && tail.unsynced >= options.sync_every {
        tail.writer.sync()?;
        tail.unsynced = 0;
    }
    Ok(groups)
}

fn written_error(e: &WriteError) -> CommitError {
    match &e.no_room {
        Some(path) => CommitError::NoRoom(path.as_str().into()),
        None => CommitError::file(&e.reason),
    }
}

/// The groups are not in the file and never will be.
fn not_written(e: &WriteError, work: Vec<Work>) -> Vec<Outcome> {
    let one = |w: Work| {
        let mut trx = w.ends.into_trx();
        if !trx.is_prepared() {
            trx.withdraw();
        }
        Outcome::failed(written_error(e), Some(trx))
    };
    work.into_iter().map(one).collect()
}

/// Nobody knows whether the groups are in the file: the next start does. The transactions keep their locks.
fn undecided(e: &WriteError, work: Vec<Work>) -> Vec<Outcome> {
    let one = |w: Work| {
        w.ends.into_trx().abandon();
        Outcome::failed(CommitError::file(&e.reason), None)
    };
    work.into_iter().map(one).collect()
}
