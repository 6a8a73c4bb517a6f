//! Segment files: names, space ahead of the tail, recycling, the disk-full reserve.
//!
//! # Files in `log/`
//! - `NNNNNN.seg`: segment N. The last one is allocated ahead of the stream and zeroed a little ahead; some time after a segment
//!   has ended its file is cut at its last byte.
//! - `spare`: a retired segment waiting to be used again (its blocks are written, so a sync has no metadata to journal).
//! - `reserve`: allocated blocks that are given up when the disk is full, so that rollback and checkpoint can finish.
//!
//! # Why zeros ahead (measured on ext4, 4 KiB writes, each with fdatasync)
//! Into zeroed blocks 115 us, into allocated but unwritten blocks 193 us (the extent conversion is journaled), appending
//! 234 us. With 700-byte writes the three are 120, 105 and 145 us. So a little zeroing ahead by the background tick is worth its
//! bytes, appending is never right, and a retired segment is best used again.
//!
//! # Invariants
//! F1. A byte of the stream is never overwritten: zeros go only to offsets at or past `zeroed`, and the leader moves `zeroed`
//!     past its write, under the same mutex, before it writes there.
//! F2. Directory entries are synced before a segment receives its first byte.
//! F3. The leader waits for no change of a file's size that somebody else can make: files are cut, and blocks allocated ahead, by the
//!     background, under a mutex of its own, and a segment to come has its first blocks allocated, zeroed and durable before it is offered.
//!     Cutting and allocating are journaled, and a sync behind them waits for the journal: every commit waited for that, once a segment.
//!
//! F4. A file is renamed, and so used again, only after its cut: none is under way then and none will come.
//!
//! # A crash
//! Between the end of a segment and its cut: the file is longer than its part of the stream, which ends where the next segment says. The
//! next start cuts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Lsn;
use env::{Caching, Disk, DiskError, DiskResult, File, OpenMode};

use crate::sync::{Mutex, lock};

pub(crate) const DIR: &str = "log";
const SPARE: &str = "log/spare";
const RESERVE: &str = "log/reserve";

/// Space is allocated in steps of this (or the segment size, when that is smaller).
const ALLOCATION_STEP: u64 = 64 << 20;
/// And of this when the disk has no room for such a step.
const SMALL_STEP: u64 = 1 << 20;
const BLOCK: u64 = 4096;
/// Bytes of a segment to come that are zeroed and durable before the stream gets there.
const READY: u64 = 4 << 20;

pub(crate) fn path_of(number: u64) -> String {
    format!("{DIR}/{number:06}.seg")
}

/// Number in a segment's file name.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".seg")?;
    (digits.len() >= 6 && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// One segment's file.
pub(crate) struct SegmentFile {
    pub(crate) number: u64,
    pub(crate) start: Lsn,
    pub(crate) created: u64,
    pub(crate) file: Arc<dyn File>,
    /// Blocks are allocated below this offset.
    allocated: AtomicU64,
    /// Zeros or stream below this offset (F1).
    zeroed: AtomicU64,
    /// Held while zeros are written; the description that they are synced through while the stream may still reach them.
    zeroing: Mutex<Option<Arc<dyn File>>>,
    /// Held while the file's size changes.
    sizing: Mutex<()>,
    /// Where the file is to be cut; 0 = nowhere.
    cut_at: AtomicU64,
}

/// A segment to come, and the descriptions that frames in it will be synced through (W5).
pub(crate) struct Prepared {
    pub(crate) segment: SegmentFile,
    pub(crate) syncs: Vec<Arc<dyn File>>,
}

impl SegmentFile {
    pub(crate) fn new(
        number: u64,
        start: Lsn,
        created: u64,
        file: Arc<dyn File>,
        allocated: u64,
        zeroed: u64,
    ) -> Self {
        Self {
            number,
            start,
            created,
            file,
            allocated: AtomicU64::new(allocated),
            zeroed: AtomicU64::new(zeroed),
            zeroing: Mutex::new(None),
            sizing: Mutex::new(()),
            cut_at: AtomicU64::new(0),
        }
    }

    /// A prepared segment whose place in the stream is now known.
    pub(crate) fn started(self, start: Lsn, created: u64) -> Self {
        Self { start, created, ..self }
    }

    pub(crate) fn path(&self) -> String {
        path_of(self.number)
    }

    pub(crate) fn allocated(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    pub(crate) fn zeroed(&self) -> u64 {
        self.zeroed.load(Ordering::Acquire)
    }

    /// The stream has left this segment: its file gets no more space, and is cut at offset `end` by [`SegmentFile::cut`].
    pub(crate) fn finish(&self, end: u64) {
        *lock(&self.zeroing) = None;
        self.zeroed.store(u64::MAX, Ordering::Release);
        self.allocated.store(u64::MAX, Ordering::Release);
        self.cut_at.store(end, Ordering::Release);
    }

    pub(crate) fn is_to_be_cut(&self) -> bool {
        self.cut_at.load(Ordering::Acquire) != 0
    }

    /// Cuts the file where the stream has left it, in pieces that a sync can wait for: the device may have to discard them. Blocks that
    /// are being allocated meanwhile go too: no others are after `finish`.
    pub(crate) fn cut(&self) -> DiskResult<()> {
        const PIECE: u64 = 1 << 20;
        let _guard = lock(&self.sizing);
        let end = self.cut_at.swap(0, Ordering::AcqRel);
        if end == 0 {
            return Ok(());
        }
        let mut len = self.file.len()?;
        while len > end + PIECE {
            len -= PIECE;
            self.file.set_len(len)?;
        }
        self.file.set_len(end)
    }

    /// Called by the leader before it writes up to offset `end` (F1).
    pub(crate) fn claim(&self, end: u64) {
        if end > self.zeroed.load(Ordering::Acquire) {
            let _guard = lock(&self.zeroing);
            self.zeroed.fetch_max(end.next_multiple_of(BLOCK), Ordering::AcqRel);
        }
    }

    /// Writes zeros up to `target` in steps that a leader can wait for; returns the bytes written.
    pub(crate) fn zero_to(&self, target: u64) -> DiskResult<u64> {
        const STEP: usize = 256 << 10;
        let zeros = vec![0u8; STEP];
        let target = target.min(self.allocated());
        let mut done = 0;
        loop {
            let guard = lock(&self.zeroing);
            let from = self.zeroed.load(Ordering::Acquire);
            if from >= target {
                break;
            }
            let len = (target - from).min(STEP as u64);
            self.file.write_at(&zeros[..len as usize], from)?;
            self.zeroed.store(from + len, Ordering::Release);
            drop(guard);
            done += len;
        }
        Ok(done)
    }

    /// Makes what [`SegmentFile::zero_to`] wrote durable; nothing to do once the stream has left.
    pub(crate) fn sync_zeros(&self) -> DiskResult<()> {
        let file = lock(&self.zeroing).clone();
        file.map_or(Ok(()), |file| file.sync_data())
    }
}

/// The segment to come: its number, and its file once it has been made ready. Whoever makes it holds the lock around this.
pub(crate) struct Next {
    pub(crate) number: u64,
    pub(crate) file: Option<Prepared>,
}

/// Creates, recycles and retires segment files.
pub(crate) struct Space {
    disk: Arc<dyn Disk>,
    segment_size: u64,
    /// Descriptions to sync a segment through.
    syncs: usize,
    reserve_held: std::sync::atomic::AtomicBool,
    /// A full disk is an error, not something to wait for.
    gives_up: std::sync::atomic::AtomicBool,
    /// A frame waits for room (W6).
    waits: std::sync::atomic::AtomicBool,
    /// Serialises renames and removals.
    files: Mutex<()>,
}

impl Space {
    pub(crate) fn new(disk: Arc<dyn Disk>, segment_size: u64, syncs: usize) -> Self {
        Self {
            disk,
            segment_size,
            syncs,
            reserve_held: false.into(),
            gives_up: false.into(),
            waits: false.into(),
            files: Mutex::new(()),
        }
    }

    fn step(&self) -> u64 {
        ALLOCATION_STEP.min(self.segment_size.next_multiple_of(BLOCK))
    }

    /// The disk is full and the reserve is spent.
    pub(crate) fn is_low(&self) -> bool {
        !self.reserve_held.load(Ordering::Relaxed)
    }

    pub(crate) fn give_up(&self) {
        self.gives_up.store(true, Ordering::Relaxed);
    }
    pub(crate) fn set_waits(&self, waits: bool) {
        self.waits.store(waits, Ordering::Relaxed);
    }
    pub(crate) fn waits(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }
    pub(crate) fn gives_up(&self) -> bool {
        self.gives_up.load(Ordering::Relaxed)
    }

    /// Whether the volume has so many bytes beside the reserve, and a step more for everybody else. A volume that does not say has them.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        let wanted = bytes.saturating_add(self.step());
        !self.is_low() && !self.disk.free_space().is_ok_and(|free| free < wanted)
    }

    /// Allocates the reserve if it is missing; a full disk is not an error.
    pub(crate) fn hold_reserve(&self) -> DiskResult<()> {
        if !self.is_low() {
            return Ok(());
        }
        let _guard = lock(&self.files);
        let file = self.disk.open(RESERVE, OpenMode::Create, Caching::Buffered)?;
        match file.allocate(0, self.step()) {
            Ok(()) => {
                self.reserve_held.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(e) if e.is_full() => {
                drop(file);
                self.disk.remove(RESERVE)
            }
            Err(e) => Err(e),
        }
    }

    fn release_reserve(&self) -> DiskResult<bool> {
        let _guard = lock(&self.files);
        if !self.reserve_held.swap(false, Ordering::Relaxed) {
            return Ok(false);
        }
        self.disk.remove(RESERVE)?;
        Ok(true)
    }

    /// Allocates blocks up to at least `end` for bytes that must be written now: out of the reserve if the disk is full.
    pub(crate) fn allocate_now(&self, segment: &SegmentFile, end: u64) -> DiskResult<()> {
        match self.allocate(segment, end) {
            Err(e) if e.is_full() && self.release_reserve()? => self.allocate(segment, end),
            other => other,
        }
    }

    /// Allocates blocks up to at least `end`, and further by a step; on a disk that is nearly full by a small one.
    pub(crate) fn allocate(&self, segment: &SegmentFile, end: u64) -> DiskResult<()> {
        if end <= segment.allocated() {
            return Ok(());
        }
        let _guard = lock(&segment.sizing);
        let from = segment.allocated();
        if end <= from {
            return Ok(());
        }
        let (long, short) = (self.step(), SMALL_STEP.min(self.step()));
        // A segment that is nearly full needs little more, and what is left over must be cut.
        let fits = self
            .segment_size
            .next_multiple_of(BLOCK)
            .saturating_sub(from)
            .max((end - from).next_multiple_of(short));
        let mut len = (end - from).next_multiple_of(long).min(fits);
        match segment.file.allocate(from, len) {
            Err(e) if e.is_full() && short < long => {
                len = (end - from).next_multiple_of(short);
                segment.file.allocate(from, len)?;
            }
            other => other?,
        }
        segment.allocated.fetch_max(from + len, Ordering::Relaxed);
        Ok(())
    }

    /// Opens the file of a segment to come: the spare, or a new one with its first blocks allocated. Directory synced (F2).
    pub(crate) fn prepare(&self, number: u64) -> DiskResult<Prepared> {
        let path = path_of(number);
        let recycled = {
            let _guard = lock(&self.files);
            let spare = self.disk.exists(SPARE)?;
            if spare {
                self.disk.rename(SPARE, &path)?;
            }
            spare
        };
        let file = self.disk.open(&path, OpenMode::Create, Caching::Buffered)?;
        let written = if recycled { file.len()? / BLOCK * BLOCK } else { 0 };
        let segment = SegmentFile::new(number, Lsn::NONE, 0, file, written, written);
        if let Err(e) = self.allocate(&segment, SMALL_STEP.min(self.step())) {
            self.disk.remove(&path)?;
            return Err(e);
        }
        self.disk.sync_dir(DIR)?;
        let again = || self.disk.open(&path, OpenMode::Existing, Caching::Buffered);
        *lock(&segment.zeroing) = Some(again()?);
        let syncs = (0..self.syncs).map(|_| again()).collect::<DiskResult<_>>()?;
        Ok(Prepared { segment, syncs })
    }

    /// Allocates, zeroes and syncs the first blocks of a segment to come, as far as the disk has room for them.
    pub(crate) fn make_ready(&self, segment: &SegmentFile) -> DiskResult<()> {
        let ready = READY.min(self.segment_size.next_multiple_of(BLOCK));
        match self.allocate(segment, ready) {
            Err(e) if e.is_full() => {}
            other => other?,
        }
        match segment.zero_to(ready) {
            Err(e) if e.is_full() => {}
            other => {
                other?;
            }
        }
        segment.sync_zeros()
    }

    /// Removes a segment nobody needs, or keeps its file as the spare.
    pub(crate) fn retire(&self, number: u64) -> DiskResult<()> {
        let _guard = lock(&self.files);
        let path = path_of(number);
        let gone = |result: Result<(), DiskError>| match result {
            Err(e) if e.is_missing() => Ok(()),
            other => other,
        };
        if self.disk.exists(SPARE)? {
            gone(self.disk.remove(&path))
        } else {
            gone(self.disk.rename(&path, SPARE))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(feature = "shuttle"))]
    #[test]
    fn a_full_segment_takes_no_more_space_than_it_needs_and_is_cut_at_its_end() {
        let mib = |n: u64| n << 20;
        let disk = Arc::new(env::SimDisk::new(1));
        disk.create_dir(DIR).unwrap();
        let space = Space::new(disk, mib(8), 1);
        let segment = space.prepare(1).unwrap().segment;
        assert_eq!(segment.allocated(), mib(8));
        space.allocate(&segment, mib(8) + 1).unwrap();
        assert_eq!(segment.allocated(), mib(9));
        segment.finish(mib(5) + 7);
        segment.cut().unwrap();
        assert_eq!(segment.file.len().unwrap(), mib(5) + 7);
        assert!(!segment.is_to_be_cut());
    }

    #[test]
    fn names_are_numbers_of_six_digits_or_more() {
        assert_eq!(path_of(7), "log/000007.seg");
        assert_eq!(number_of("000007.seg"), Some(7));
        assert_eq!(number_of("1234567.seg"), Some(1_234_567));
        for other in ["7.seg", "spare", "reserve", "00000a.seg", "000007.tmp"] {
            assert_eq!(number_of(other), None, "{other}");
        }
    }
}
