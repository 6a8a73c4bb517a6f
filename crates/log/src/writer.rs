//! A leader's term: seal a frame, write it, sync it; begin a new segment when the current one is full.
//!
//! # Sealing
//! One swap on the reserved LSN at position `q` closes the frame and places the next header (32 bytes) at `q`; when the
//! segment ends, the next segment's header (64 bytes) comes first. The leader then waits for the slots below `q` (a few
//! instructions of other threads), fills the header it placed in the round before, and writes header and payload at once.
//!
//! # Invariants
//! W1. Only the leader holds [`Writer`]; the queue makes it one thread, the mutex makes it safe. So frames are sealed and written
//!     in the order of the stream, each write complete before the next frame is sealed; syncs alone overlap.
//! W2. A byte is written to the file once (1.3), at `lsn - segment start`.
//! W3. Nothing is written to a segment before everything in the segments before is synced. So a segment header testifies that
//!     its start LSN was durable. A term that ends a segment has nothing in flight beside it ([`Work::needs_alone`]).
//! W4. A write or sync that fails is final (L7).
//! W5. Each sync in flight has an open file description of its own, and so has the background's sync of zeros.
//! W6. A disk without room for a frame has not lost anything: once the reserve is spent too, the leader waits until there is room
//!     again, or the server is ending. Until then nobody is acknowledged, and readers of what is written go on.
//!
//! # Why a frame that landed is durable, with other syncs beside it
//! A sync (fdatasync) covers every write to the file that was complete when it began, through whatever description: frame k's
//! sync begins after its write, so its success alone says that frames up to k are on the device (W1). It says so only if the kernel reports
//! a failed write-back to *this* call. Linux keeps the error of a file in a sequence that each open description reads at its own
//! pace: a description is told of each error once. Two calls on one description would share that one answer: the call for frame k+1, which also
//! waits for frame k's pages, could take the error of frame k and let the call for frame k return success. With W5 each call is
//! told of every error since the last call on its description, so frame k's success is true whatever the others saw.
//!
//! Success of frame k+1 says by the same reasoning that frame k is on the device too, but not when k's own call fails: its flush of the
//! device's cache may have failed before the one of k+1, and a later flush says nothing about what that cache lost. So frame k+1 lands only
//! when the calls of all frames before it have returned success (Q4), and after a failure `durable` does not move at all (G2).
//!
//! # A crash
//! - before the write ends: the frame does not verify, the log ends before it; nothing of it was acknowledged.
//! - with frames k and k+1 in flight, any sectors of both on the device: the chain stops at k if k is torn, whatever k+1 looks
//!   like, and nothing of either was acknowledged. The durable LSN that k+1's header states is that of its sealing, when k had not landed: it is at most
//!   k's start and is no testimony against the end there (1.4).
//! - after the next segment's file was made, before its header was written: the file does not count and is made anew.

use std::sync::Arc;

use base::Lsn;
use env::{DiskError, DiskResult, File};
use log_format::frame::{FRAME_HEADER_SIZE, FrameHeader, FrameStart};
use log_format::segment::{SEGMENT_HEADER_SIZE, SegmentHeader, header_crc};

use crate::ahead::Ahead;
use crate::api::LogFailed;
use crate::counters::add;
use crate::log::{HEADERS, Log};
use crate::queue::{Want, Work};
use crate::segments::{Prepared, SegmentFile};
use crate::sync::atomic::Ordering;
use crate::sync::{lock, spin, try_lock};

const FRAME_HEADER: u64 = FRAME_HEADER_SIZE as u64;

/// What only the leader knows.
pub(crate) struct Writer {
    segment: Arc<SegmentFile>,
    /// Descriptions of the segment's file to sync through, one for each frame that may be in flight (W5).
    syncs: Vec<Arc<dyn File>>,
    /// Flights so far. Those that have not landed are consecutive and at most as many as there are descriptions.
    flights: u64,
    /// Header of the frame that is being filled; placed, not yet written.
    pending: FrameStart,
    /// First byte that is not in the file: the pending header, or the segment header before it.
    unwritten: u64,
    /// Joins the two parts of a frame that wraps in the ring, so that it is one write.
    joined: Vec<u8>,
}

/// A sync to be made: of everything below `end`.
pub(crate) struct Flight {
    /// Consecutive.
    pub(crate) number: u64,
    pub(crate) end: u64,
    file: Arc<dyn File>,
}

impl Writer {
    pub(crate) fn new(segment: Arc<SegmentFile>, syncs: Vec<Arc<dyn File>>, pending: FrameStart) -> Self {
        Self { segment, syncs, flights: 0, unwritten: pending.lsn.0, pending, joined: Vec::new() }
    }
}

impl Work for Log {
    fn is_covered(&self, want: Want) -> bool {
        match want {
            Want::Written(end) => self.written.0.load(Ordering::Acquire) >= end,
            Want::Durable(end) => self.durable.load(Ordering::Acquire) >= end,
            Want::Segment(number) => self.segment.load(Ordering::Acquire) >= number,
        }
    }

    fn failure(&self) -> Option<LogFailed> {
        Self::failure(self)
    }

    fn write(&self, want: Want, alone: bool) -> Result<Option<Flight>, LogFailed> {
        if let Some(failure) = Self::failure(self) {
            return Err(failure);
        }
        let mut writer = lock(&self.writer);
        self.term(&mut writer, want, alone).map_err(|e| self.fail(&e.to_string()))
    }

    fn sync(&self, flight: &Flight) -> Result<(), LogFailed> {
        self.sync_through(&*flight.file).map_err(|e| self.fail(&e.to_string()))
    }

    fn land(&self, end: u64) {
        if !self.failed.load(Ordering::Acquire) {
            self.durable.store(end, Ordering::Release);
            self.durable_end.store(end + FRAME_HEADER, Ordering::Release);
        }
    }

    fn needs_alone(&self, want: Want) -> bool {
        // A start that moves in between costs a term that waits for nothing.
        let from = self.segment_from.load(Ordering::Acquire);
        let full = || self.reserved.0.load(Ordering::Acquire) >= from + self.config.segment_size;
        matches!(want, Want::Segment(_)) || full()
    }

    fn is_slow(&self) -> bool {
        self.sync_time.estimate() >= self.config.pipeline.overlap_from
    }

    fn poison(&self) {
        self.fail("the log writer panicked");
    }
}

impl Log {
    fn term(&self, writer: &mut Writer, want: Want, alone: bool) -> DiskResult<Option<Flight>> {
        let empty = self.reserved.0.load(Ordering::Acquire) == writer.pending.lsn.0 + FRAME_HEADER;
        let next = if alone { self.next_segment(writer, want)? } else { None };
        if !empty || next.is_some() {
            let end = self.seal(writer, next.is_some());
            self.write_up_to(writer, end)?;
            if let Some(next) = next {
                self.switch(writer, next, end)?;
                return Ok(None);
            }
            lock(&self.index).push(writer.pending);
        }
        if !matches!(want, Want::Durable(_)) || self.durable.load(Ordering::Acquire) >= writer.unwritten {
            return Ok(None);
        }
        writer.flights += 1;
        let file = Arc::clone(&writer.syncs[(writer.flights % writer.syncs.len() as u64) as usize]);
        Ok(Some(Flight { number: writer.flights, end: writer.unwritten, file }))
    }

    fn sync_through(&self, file: &dyn File) -> DiskResult<()> {
        let begin = self.config.clock.monotonic();
        file.sync_data()?;
        self.sync_time.observe(self.config.clock.monotonic().saturating_sub(begin));
        add(&self.counters.syncs, 1);
        Ok(())
    }

    /// The next segment's file if this round must end the current segment. Its size is soft: when the disk is full the
    /// current one goes on.
    fn next_segment(&self, writer: &Writer, want: Want) -> DiskResult<Option<Prepared>> {
        let forced = matches!(want, Want::Segment(number) if number > writer.segment.number);
        let full =
            self.reserved.0.load(Ordering::Acquire) - writer.segment.start.0 >= self.config.segment_size;
        if !forced && (!full || self.space.is_low()) {
            return Ok(None);
        }
        // Whoever holds it makes the file. The size is soft: the stream goes on here meanwhile (F3).
        let next = if forced { Some(lock(&self.next)) } else { try_lock(&self.next) };
        let Some(mut next) = next else { return Ok(None) };
        let file = match next.file.take() {
            Some(file) => file,
            // Nothing is lost: a wish for a segment has made the file before it came here, and the size is soft.
            None => match self.space.prepare(next.number) {
                Err(_) if !forced => return Ok(None),
                other => other?,
            },
        };
        next.number += 1;
        Ok(Some(file))
    }

    /// Makes the next segment's file if there is none yet, ready for the first frames (F3).
    pub(crate) fn make_next(&self) -> DiskResult<()> {
        let mut next = lock(&self.next);
        if next.file.is_none() {
            let prepared = self.space.prepare(next.number)?;
            if let Err(e) = self.space.make_ready(&prepared.segment) {
                self.fail(&e.to_string()); // W4
                return Err(e);
            }
            next.file = Some(prepared);
        }
        Ok(())
    }

    /// Cuts the segments that the stream has left.
    pub(crate) fn cut_finished(&self) -> DiskResult<()> {
        let left: Vec<_> = {
            let segments = self.segments.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            let finished = segments.iter().rev().skip(1).take_while(|segment| segment.is_to_be_cut());
            finished.cloned().collect()
        };
        left.iter().try_for_each(|segment| segment.cut())
    }

    /// Blocks for bytes that must be written now (W6).
    fn allocate_for_frame(&self, segment: &SegmentFile, end: u64) -> DiskResult<()> {
        const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(100);
        loop {
            match self.space.allocate_now(segment, end) {
                Err(e) if e.is_full() && !self.space.gives_up() => {
                    self.space.set_waits(true);
                    self.config.clock.sleep(LOOK_AGAIN);
                }
                other => {
                    self.space.set_waits(false);
                    return other;
                }
            }
        }
    }

    /// Closes the frame at the current end and places what comes after it; the frame is then whole in the ring up to the
    /// returned LSN.
    fn seal(&self, writer: &mut Writer, segment_ends: bool) -> u64 {
        let gap = if segment_ends { HEADERS } else { FRAME_HEADER };
        let end = if segment_ends {
            self.end_segment(gap)
        } else {
            self.reserved.0.fetch_add(gap, Ordering::AcqRel)
        };
        let mut round = 0;
        while self.slots.minimum(end) < end {
            spin(round);
            round += 1;
        }
        let payload = writer.pending.lsn.0 + FRAME_HEADER;
        // SAFETY: all slots are past `end`, so no writer is left in this range, and it is not yet written (R2).
        let (head, tail) = unsafe { self.ring.parts(payload, end) };
        let parts: &[&[u8]] = if tail.is_empty() { &[head] } else { &[head, tail] };
        let header = FrameHeader::seal(writer.pending, Lsn(self.durable.load(Ordering::Acquire)), parts);
        // SAFETY: the header's place was reserved by the leader in the round before (R1).
        unsafe { self.ring.write(writer.pending.lsn.0, &header.encode()) };
        writer.pending = FrameStart { lsn: Lsn(end), previous_crc: header.chained_crc };
        end
    }

    /// Reserves the headers between two segments; who reserves behind them sees the new segment's start.
    fn end_segment(&self, gap: u64) -> u64 {
        loop {
            let end = self.reserved.0.load(Ordering::Acquire);
            self.segment_from.store(end, Ordering::Release);
            let swapped =
                self.reserved.0.compare_exchange(end, end + gap, Ordering::AcqRel, Ordering::Relaxed);
            if swapped.is_ok() {
                return end;
            }
        }
    }

    /// One write of everything that is sealed, up to `end`.
    fn write_up_to(&self, writer: &mut Writer, end: u64) -> DiskResult<()> {
        let from = writer.unwritten;
        let segment = &writer.segment;
        let offset = from - segment.start.0;
        self.allocate_for_frame(segment, end - segment.start.0)?;
        segment.claim(end - segment.start.0);
        // SAFETY: sealed bytes: no writer is left, and they are released only below by `written` (R2).
        let (head, tail) = unsafe { self.ring.parts(from, end) };
        if tail.is_empty() {
            segment.file.write_at(head, offset)?;
        } else {
            writer.joined.clear();
            writer.joined.extend_from_slice(head);
            writer.joined.extend_from_slice(tail);
            segment.file.write_at(&writer.joined, offset)?;
        }
        add(&self.counters.writes, 1);
        add(&self.counters.bytes_written, end - from);
        writer.unwritten = end;
        self.written.0.store(end, Ordering::Release);
        Ok(())
    }

    /// Ends the current segment at `end`, where the next one's header has been placed.
    fn switch(&self, writer: &mut Writer, next: Prepared, end: u64) -> DiskResult<()> {
        if self.durable.load(Ordering::Acquire) < end {
            self.sync_through(&*writer.syncs[0])?; // W3
            self.land(end);
        }
        writer.segment.finish(end - writer.segment.start.0);
        let header = SegmentHeader {
            server_id: self.config.server_id,
            number: next.segment.number,
            start_lsn: Lsn(end),
            server_uuid: self.config.server_uuid,
            previous_crc: writer.pending.previous_crc,
            created: self.config.clock.wall().as_secs(),
        };
        let encoded = header.encode();
        // SAFETY: the place was reserved in `seal` by this round (R1).
        unsafe { self.ring.write(end, &encoded) };
        let pending =
            FrameStart { lsn: Lsn(end + SEGMENT_HEADER_SIZE as u64), previous_crc: header_crc(&encoded) };
        let segment = Arc::new(next.segment.started(header.start_lsn, header.created));
        lock(&self.index).push_first(pending);
        {
            let mut segments = self.segments.write().unwrap_or_else(std::sync::PoisonError::into_inner);
            segments.push(Arc::clone(&segment));
        }
        let joined = std::mem::take(&mut writer.joined);
        *writer =
            Writer { segment, syncs: next.syncs, flights: writer.flights, pending, unwritten: end, joined };
        if self.durable.load(Ordering::Acquire) == end {
            self.durable_end.store(end + HEADERS, Ordering::Release);
        }
        self.segment.store(header.number, Ordering::Release);
        Ok(())
    }

    /// Background: the reserve, blocks and zeros ahead of the tail, the next segment's file.
    pub(crate) fn prepare_ahead(&self) {
        if self.failed.load(Ordering::Acquire) {
            return;
        }
        match self.try_prepare_ahead() {
            Err(e) if !e.is_full() => {
                self.fail(&e.to_string());
            }
            _ => {}
        }
    }

    fn try_prepare_ahead(&self) -> Result<(), DiskError> {
        self.cut_finished()?;
        self.space.hold_reserve()?;
        let segment = {
            let segments = self.segments.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            Arc::clone(segments.last().expect("there is a current segment"))
        };
        let written = self.written.0.load(Ordering::Acquire);
        let mut ahead = lock(&self.ahead);
        ahead.look(self.config.clock.monotonic(), written, self.counters.syncs.load(Ordering::Relaxed));
        let tail = written.saturating_sub(segment.start.0);
        let target = (tail + ahead.bytes()).min(self.config.segment_size.max(tail));
        if !self.space.is_low() {
            self.space.allocate(&segment, target)?;
        }
        if segment.zeroed() < tail + ahead.bytes() / 2 {
            self.zero_ahead(&segment, target, &mut ahead)?;
        }
        self.prepare_next(tail)
    }

    /// Writes zeros up to `target` as long as they pay.
    fn zero_ahead(&self, segment: &SegmentFile, target: u64, ahead: &mut Ahead) -> DiskResult<()> {
        while ahead.zeros_pay() {
            let begin = self.config.clock.monotonic();
            let zeroed = segment.zero_to(target.min(segment.zeroed().saturating_add(ahead.piece())))?;
            if zeroed == 0 {
                break;
            }
            segment.sync_zeros()?; // W5
            ahead.observe(zeroed, self.config.clock.monotonic().saturating_sub(begin));
            add(&self.counters.bytes_zeroed, zeroed);
            add(&self.counters.zero_syncs, 1);
        }
        Ok(())
    }

    /// Makes the next segment's file once the current one is three quarters full.
    fn prepare_next(&self, tail: u64) -> DiskResult<()> {
        if tail < self.config.segment_size / 4 * 3 || self.space.is_low() {
            return Ok(());
        }
        self.make_next()
    }
}
