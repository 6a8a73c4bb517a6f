//! The log itself: positions, append, waits.
//!
//! # Append
//! 1. Read the reserved LSN and build the record for it in a scratch buffer of the thread.
//! 2. Wait if the record would overwrite unwritten bytes of the ring (nothing is held meanwhile).
//! 3. Set the slot, swap the reserved LSN; on a lost race clear the slot and start over.
//! 4. Copy into the ring, run `publish`, clear the slot.
//!
//! # Invariants
//! G1. `reserved + HEADERS <= written + ring size` before the leader places headers: appends leave that room.
//! G2. After a failure nothing is acknowledged: `durable` never moves again and every wait for more ends with the failure.
//! G3. No record begins from `durable` to `durable_end`: headers stand there. When everything is durable, `durable_end` is the
//!     reserved LSN. No LSN that [`Log::wait_durable`] has waited for is above it, also after a crash: a start places no fewer headers
//!     behind the log's end than had been placed there.

use std::cell::Cell;
use std::sync::{Arc, Condvar, OnceLock};
use std::time::Duration;

use base::Lsn;
use env::File;
use log_format::frame::{FRAME_HEADER_SIZE, FrameStart};
use log_format::segment::SEGMENT_HEADER_SIZE;

use crate::ahead::Ahead;
use crate::api::{Appended, FlushPolicy, LogConfig, LogFailed, RotateError, SegmentInfo};
use crate::counters::{LogCounters, add};
use crate::index::FrameIndex;
use crate::queue::{Queue, Role, Want, Work};
use crate::reader::BlockCache;
use crate::ring::Ring;
use crate::segments::{Next, SegmentFile, Space};
use crate::slots::Slots;
use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use crate::sync::{Mutex, Padded, PlainMutex, RwLock, lock};
use crate::sync_time::SyncTime;
use crate::writer::Writer;

/// Headers that one round may place between two records.
pub(crate) const HEADERS: u64 = (FRAME_HEADER_SIZE + SEGMENT_HEADER_SIZE) as u64;

/// Scratch buffers above this are not kept.
const SCRATCH_KEPT: usize = 1 << 20;

/// The log. All methods may be called from any thread.
pub struct Log {
    pub(crate) config: LogConfig,
    pub(crate) ring: Ring,
    pub(crate) reserved: Padded<AtomicU64>,
    pub(crate) written: Padded<AtomicU64>,
    pub(crate) durable: AtomicU64,
    /// Where the first record that is not durable begins (G3).
    pub(crate) durable_end: AtomicU64,
    /// A ready LSN that was seen once; saves the walk over the slots when nothing has moved.
    ready_seen: Padded<AtomicU64>,
    pub(crate) slots: Slots,
    pub(crate) queue: Queue,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) segments: RwLock<Vec<Arc<SegmentFile>>>,
    /// First LSN that may be read; moves before a file goes.
    pub(crate) first: AtomicU64,
    /// The ring holds nothing below: where this run began.
    pub(crate) ring_from: u64,
    pub(crate) index: Mutex<FrameIndex>,
    pub(crate) next: Mutex<Next>,
    pub(crate) space: Space,
    pub(crate) blocks: BlockCache,
    /// Number of the current segment.
    pub(crate) segment: AtomicU64,
    /// Where the current segment begins; set by the leader before any record can be reserved behind it.
    pub(crate) segment_from: AtomicU64,
    pub(crate) sync_time: SyncTime,
    pub(crate) failure: OnceLock<LogFailed>,
    pub(crate) failed: AtomicBool,
    policy: AtomicU8,
    nudged: AtomicBool,
    /// What [`Log::ask_durable`] wants.
    sync_wanted: AtomicU64,
    nudge: (PlainMutex<()>, Condvar),
    /// Locked by whoever makes space ahead, around the work.
    pub(crate) ahead: Mutex<Ahead>,
    pub(crate) counters: LogCounters,
}

/// What `create` and `open` agree on: an empty segment whose header is durable.
pub(crate) struct Tail {
    pub(crate) segments: Vec<Arc<SegmentFile>>,
    /// Descriptions of the current segment to sync through.
    pub(crate) syncs: Vec<Arc<dyn File>>,
    pub(crate) pending: FrameStart,
    pub(crate) index: FrameIndex,
    pub(crate) space: Space,
}

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Log {
    pub(crate) fn assemble(config: LogConfig, tail: Tail) -> Arc<Self> {
        let current = Arc::clone(tail.segments.last().expect("there is a current segment"));
        let pending = tail.pending.lsn.0;
        let first = tail.segments[0].start.0;
        let mut index = tail.index;
        index.push_first(tail.pending);
        Arc::new(Self {
            ring: Ring::new(config.ring_size),
            reserved: Padded(AtomicU64::new(pending + FRAME_HEADER_SIZE as u64)),
            written: Padded(AtomicU64::new(pending)),
            durable: AtomicU64::new(pending),
            durable_end: AtomicU64::new(pending + FRAME_HEADER_SIZE as u64),
            ready_seen: Padded(AtomicU64::new(0)),
            slots: Slots::new(),
            queue: Queue::new(config.pipeline.frames),
            segment: AtomicU64::new(current.number),
            segment_from: AtomicU64::new(current.start.0),
            sync_time: SyncTime::default(),
            next: Mutex::new(Next { number: current.number + 1, file: None }),
            writer: Mutex::new(Writer::new(current, tail.syncs, tail.pending)),
            segments: RwLock::new(tail.segments),
            first: AtomicU64::new(first),
            ring_from: pending,
            index: Mutex::new(index),
            space: tail.space,
            blocks: BlockCache::new(),
            failure: OnceLock::new(),
            failed: AtomicBool::new(false),
            policy: AtomicU8::new(1),
            nudged: AtomicBool::new(false),
            sync_wanted: AtomicU64::new(0),
            nudge: (PlainMutex::new(()), Condvar::new()),
            ahead: Mutex::new(Ahead::new(pending)),
            counters: LogCounters::default(),
            config,
        })
    }

    /// Appends one record. `build` writes the whole record, envelope included, for the given start LSN into an empty
    /// buffer; it is called again when the reservation loses a race. Blocks only when the ring is full of unwritten bytes.
    pub fn append(&self, build: impl FnMut(Lsn, &mut Vec<u8>)) -> Result<Appended, LogFailed> {
        self.append_then(build, |_| ())
    }

    /// Same; `publish` runs after the reservation and before the ready LSN can pass the record. It must not block or append.
    pub fn append_then(
        &self,
        mut build: impl FnMut(Lsn, &mut Vec<u8>),
        publish: impl FnOnce(Appended),
    ) -> Result<Appended, LogFailed> {
        let mut scratch = SCRATCH.take();
        let reserved = self.reserve(&mut scratch, &mut build);
        let result = reserved.map(|(appended, in_flight)| {
            // SAFETY: the swap in `reserve` gave this range to this thread (R1), and it fits (R2, G1).
            unsafe { self.ring.write(appended.start.0, &scratch) };
            publish(appended);
            in_flight.count();
            drop(in_flight);
            appended
        });
        if scratch.capacity() <= SCRATCH_KEPT {
            SCRATCH.set(scratch);
        }
        if let Ok(appended) = &result {
            self.nudge_if_behind(appended.end.0);
        }
        result
    }

    /// Steps 1 to 3 of an append: the record stands in `scratch`, its range is ours.
    fn reserve(
        &self,
        scratch: &mut Vec<u8>,
        build: &mut impl FnMut(Lsn, &mut Vec<u8>),
    ) -> Result<(Appended, crate::slots::InFlight<'_>), LogFailed> {
        loop {
            let start = self.reserved.0.load(Ordering::Acquire);
            scratch.clear();
            build(Lsn(start), scratch);
            let len = scratch.len();
            assert!(0 < len && len <= self.record_size_max(), "a record of {len} bytes");
            let end = start + len as u64;
            let in_ring = end + HEADERS - self.ring.size().min(end + HEADERS);
            if in_ring > self.written.0.load(Ordering::Acquire) {
                add(&self.counters.waits, 1);
                self.wait(Want::Written(in_ring))?;
                continue;
            }
            if self.failed.load(Ordering::Relaxed) {
                return Err(self.failure_reason());
            }
            let in_flight = self.slots.enter(start);
            if self.reserved.0.compare_exchange(start, end, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Ok((Appended { start: Lsn(start), end: Lsn(end) }, in_flight));
            }
        }
    }

    /// End of the reserved stream: the next record starts here, or after a header placed here.
    pub fn reserved_lsn(&self) -> Lsn {
        Lsn(self.reserved.0.load(Ordering::Acquire))
    }

    /// Start of the segment that the next record goes into. Asked again after an append, it tells in which segment the record is;
    /// it may for a moment be an LSN at which no segment begins after all, never one that is too low.
    pub fn segment_from(&self) -> Lsn {
        Lsn(self.segment_from.load(Ordering::Acquire))
    }

    /// Everything below is completely in the ring or the file.
    pub fn ready_lsn(&self) -> Lsn {
        let reserved = self.reserved.0.load(Ordering::Acquire);
        if self.ready_seen.0.load(Ordering::Acquire) == reserved {
            return Lsn(reserved);
        }
        // A slot whose swap is about to fail can hold the minimum back below what was ready before.
        let ready = self.slots.minimum(reserved);
        Lsn(self.ready_seen.0.fetch_max(ready, Ordering::AcqRel).max(ready))
    }

    /// Everything below is in the file.
    pub fn written_lsn(&self) -> Lsn {
        Lsn(self.written.0.load(Ordering::Acquire))
    }

    /// Everything below survives a crash. Always a frame end: a record is durable when its first byte is below.
    pub fn durable_lsn(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::Acquire))
    }

    /// Where the first record that a crash could lose begins, behind the headers that follow the durable LSN: the end of what a reader
    /// may see. It is in one order with the LSNs that [`Log::reserved_lsn`] and [`Log::ready_lsn`] have told (G3), which a frame's end is not.
    pub fn durable_end(&self) -> Lsn {
        Lsn(self.durable_end.load(Ordering::Acquire))
    }

    /// Waits until the stream below `end` is durable, at most the ready LSN; group commit.
    pub fn wait_durable(&self, end: Lsn) -> Result<(), LogFailed> {
        self.wait(Want::Durable(end.0))
    }

    /// Waits as the flush policy wants it for a commit record that ends at `end`.
    pub fn wait_commit(&self, end: Lsn) -> Result<(), LogFailed> {
        match self.flush_policy() {
            FlushPolicy::Sync => self.wait(Want::Durable(end.0)),
            FlushPolicy::Write => self.wait(Want::Written(end.0)),
            FlushPolicy::Lazy if self.failed.load(Ordering::Acquire) => Err(self.failure_reason()),
            FlushPolicy::Lazy => Ok(()),
        }
    }

    /// Has the background thread make the stream below `end` (at most the ready LSN) durable, if commits wait for their sync. For who
    /// will wait for it later.
    pub fn ask_durable(&self, end: Lsn) {
        if self.flush_policy() == FlushPolicy::Sync && self.durable_lsn() < end {
            self.sync_wanted.fetch_max(end.0, Ordering::AcqRel);
            self.wake();
        }
    }

    pub(crate) fn wait(&self, want: Want) -> Result<(), LogFailed> {
        if self.is_covered(want) {
            return Ok(());
        }
        if self.queue.wait(self, want)? == Role::Follower {
            add(&self.counters.followers, 1);
        }
        Ok(())
    }

    pub fn flush_policy(&self) -> FlushPolicy {
        match self.policy.load(Ordering::SeqCst) {
            0 => FlushPolicy::Lazy,
            2 => FlushPolicy::Write,
            _ => FlushPolicy::Sync,
        }
    }

    pub fn set_flush_policy(&self, policy: FlushPolicy) {
        let code = match policy {
            FlushPolicy::Lazy => 0,
            FlushPolicy::Sync => 1,
            FlushPolicy::Write => 2,
        };
        self.policy.store(code, Ordering::SeqCst);
    }

    /// A frame start at or before the record at `lsn`, from which a scan meets it.
    pub fn frame_start_before(&self, lsn: Lsn) -> FrameStart {
        lock(&self.index).before(lsn)
    }

    /// Declares that nothing below `lsn` will be read again; whole segments below go.
    pub fn retain_from(&self, lsn: Lsn) {
        let retired: Vec<_> = {
            let mut segments = self.segments.write().unwrap_or_else(std::sync::PoisonError::into_inner);
            let keep = segments.partition_point(|segment| segment.start <= lsn).max(1) - 1;
            self.first.fetch_max(segments[keep].start.0, Ordering::AcqRel);
            segments.drain(..keep).collect()
        };
        if retired.is_empty() {
            return;
        }
        lock(&self.index).retain_from(Lsn(self.first.load(Ordering::Acquire)));
        for segment in retired {
            // Before another segment gets the file (F4). It is only space: one that could not be cut is used again as it is.
            let _ = segment.cut();
            // The file is only space: one that could not be removed now goes at the next start.
            let _ = self.space.retire(segment.number);
        }
    }

    /// Kept segments, oldest first; the last is the current one.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        let segments = self.segments.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let end = self.written_lsn();
        let info = |i: usize, segment: &Arc<SegmentFile>| SegmentInfo {
            number: segment.number,
            path: segment.path(),
            start: segment.start,
            end: segments.get(i + 1).map_or(end.max(segment.start), |next| next.start),
            created: segment.created,
        };
        segments.iter().enumerate().map(|(i, segment)| info(i, segment)).collect()
    }

    /// The kept segment that holds `lsn`: its number, start, end (as in [`SegmentInfo`]) and time.
    pub fn segment_at(&self, lsn: Lsn) -> Option<(u64, Lsn, Lsn, u64)> {
        let segments = self.segments.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let after = segments.partition_point(|segment| segment.start <= lsn);
        let segment = &segments[after.checked_sub(1)?];
        let end =
            segments.get(after).map_or_else(|| self.written_lsn().max(segment.start), |next| next.start);
        Some((segment.number, segment.start, end, segment.created))
    }

    /// Ends the current segment now (FLUSH BINARY LOGS); returns the new one's number. The next one's file is made here, before the
    /// leader needs it, so that a disk without room for it is the caller's error alone.
    pub fn rotate(&self) -> Result<u64, RotateError> {
        let next = self.segment.load(Ordering::Acquire) + 1;
        self.make_next().map_err(RotateError::NoFile)?;
        self.wait(Want::Segment(next))?;
        Ok(self.segment.load(Ordering::Acquire))
    }

    /// The volume has room for `bytes` more of log, beside the reserve and some room for everybody else.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        self.space.has_room_for(bytes)
    }

    /// The disk is full, the reserve is spent, and the log waits for room (W6).
    pub fn waits_for_space(&self) -> bool {
        self.space.waits()
    }

    /// The server is ending: a full disk is not waited for any more (W6).
    pub fn wait_for_space_no_more(&self) {
        self.space.give_up();
    }

    /// The disk is full and the log lives on its reserve: new changes must be refused (rollback, commit and checkpoint
    /// may go on) until this is false again. Looks for new room itself, so that a dropped table helps at once.
    pub fn space_is_low(&self) -> bool {
        self.space.is_low() && (self.space.hold_reserve().is_err() || self.space.is_low())
    }

    pub fn counters(&self) -> &LogCounters {
        &self.counters
    }

    /// Records appended (`Innodb_log_write_requests`).
    pub fn appends(&self) -> u64 {
        self.slots.appends()
    }

    /// Largest record that `append` takes.
    pub fn record_size_max(&self) -> usize {
        self.config.ring_size / 4
    }

    /// Asks the background thread for a write when a quarter of the ring waits, so that appends seldom meet a full ring.
    fn nudge_if_behind(&self, end: u64) {
        let behind = end.saturating_sub(self.written.0.load(Ordering::Relaxed));
        if behind > self.ring.size() / 4 && !self.nudged.swap(true, Ordering::AcqRel) {
            let _guard = self.nudge.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            self.nudge.1.notify_one();
        }
    }

    /// For the background thread between two ticks: returns after `timeout`, or earlier when the ring fills.
    pub fn wait_for_work(&self, timeout: Duration) {
        let guard = self.nudge.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !self.nudged.load(Ordering::Acquire) && !self.failed.load(Ordering::Acquire) {
            drop(self.nudge.1.wait_timeout(guard, timeout));
        }
    }

    /// Ends a [`Log::wait_for_work`] now.
    pub fn wake(&self) {
        let _guard = self.nudge.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.nudged.store(true, Ordering::Release);
        self.nudge.1.notify_all();
    }

    /// Why the log has stopped, if it has.
    pub fn failure(&self) -> Option<LogFailed> {
        self.failed.load(Ordering::Acquire).then(|| self.failure_reason())
    }

    /// The work of the background thread, once a second and after each nudge: writes and syncs what policies 0 and 2 left or
    /// somebody asked for, prepares space ahead of the tail.
    pub fn tick(&self) {
        let nudged = self.nudged.swap(false, Ordering::AcqRel);
        let end = self.ready_lsn().0;
        // A failure is recorded for everyone else; the background thread has nobody to tell.
        if self.flush_policy() != FlushPolicy::Sync && !nudged {
            let _ = self.wait(Want::Durable(end));
        } else if nudged {
            let wanted = self.sync_wanted.load(Ordering::Acquire);
            let asked = wanted > self.durable.load(Ordering::Acquire);
            let _ = self.wait(if asked { Want::Durable(wanted) } else { Want::Written(end) });
        }
        self.prepare_ahead();
    }

    /// Makes everything durable and refuses later appends.
    pub fn shutdown(&self) -> Result<(), LogFailed> {
        self.wait_for_space_no_more();
        let durable = self.wait(Want::Durable(self.ready_lsn().0));
        // What is left longer than its part of the stream is cut by the next start.
        let _ = self.cut_finished();
        self.fail("it was shut down");
        durable
    }

    /// Records the final failure (the first one stays) and lets every wait end.
    pub(crate) fn fail(&self, reason: &str) -> LogFailed {
        let failure = self.failure.get_or_init(|| LogFailed { reason: reason.into() }).clone();
        self.failed.store(true, Ordering::Release);
        self.nudge.1.notify_all();
        failure
    }

    pub(crate) fn failure_reason(&self) -> LogFailed {
        self.failure.get().cloned().unwrap_or_else(|| LogFailed { reason: "unknown".into() })
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("reserved", &self.reserved_lsn())
            .field("written", &self.written_lsn())
            .field("durable", &self.durable_lsn())
            .finish_non_exhaustive()
    }
}
