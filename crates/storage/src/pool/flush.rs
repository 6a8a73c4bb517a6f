//! How changed pages get to their files.
//!
//! A batch (up to 64 pages, neighbours together): copy each page under its shared latch, let go; make the log durable up to
//! the newest of them (L6); seal the copies with their checksums; write and sync them to the doublewrite; write them to
//! their files, neighbours with one call. The files are synced later, before a region of the doublewrite is used again or
//! when a checkpoint asks.
//!
//! # Invariants
//! X1. Batches are written one at a time, under the flush mutex, which owns the copies' buffer and FLUSHING.
//! X2. Under the flush mutex latches are only tried: the holder of a latch may be waiting for a frame, thus for this mutex.
//! X3. `unsynced_rec_lsn` takes a batch's oldest rec_lsn before the frames lose it, and gives it up only after all files
//!     were synced with the mutex held. So `oldest_rec_lsn` never skips a page that could still be lost.
//! X4. A page that could not be written is dirty with its old rec_lsn, and its doublewrite copy is kept (its file may hold
//!     half a page now).
//! X5. A page whose place in its file was never written needs no copy for its first write. It was formatted after it was
//!     last durable, which is never; its rec_lsn has held every checkpoint at or before the record that formatted it
//!     first, and holds it until the files are synced. So if the write tears, the first record that redo meets for the page
//!     formats it, and redo does not look at what is there. From the second write on there is a copy.
//!
//! # Crashes
//! See `doublewrite`. Pages that were written but not synced are covered by redo (X3) and, when torn, by their copies.

use super::counters::bump;
use super::evict::sort_for_writing;
use super::frame::FrameNo;
use super::state::IN_LRU;
use super::{BufferPool, PoolError, page};
use crate::doublewrite::{BATCH_MAX, BatchError, Doublewrite};
use base::{Lsn, PAGE_SIZE, PageId, SpaceId};
use env::AlignedBuf;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

/// What the flush mutex protects.
pub(super) struct Flusher {
    doublewrite: Option<Doublewrite>,
    copies: AlignedBuf,
}

/// One page of the batch; its copy lies at the same position in the buffer.
struct Claimed {
    id: PageId,
    no: FrameNo,
    rec_lsn: Lsn,
    is_fresh: bool,
}

impl Flusher {
    pub(super) fn new(doublewrite: Option<Doublewrite>) -> Self {
        Self { doublewrite, copies: AlignedBuf::zeroed(BATCH_MAX * PAGE_SIZE) }
    }

    pub(super) fn space_removed(&mut self, space: SpaceId) {
        if let Some(doublewrite) = &mut self.doublewrite {
            doublewrite.space_removed(space);
        }
    }

    fn copy_mut(&mut self, index: usize) -> &mut [u8; PAGE_SIZE] {
        &mut self.copies.as_chunks_mut::<PAGE_SIZE>().0[index]
    }
}

impl BufferPool {
    pub(super) fn flusher(&self) -> MutexGuard<'_, Flusher> {
        self.flusher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says why pages are not written any more, if so.
    pub fn check_running(&self) -> Result<(), PoolError> {
        match self.stopped.get() {
            Some(why) => Err(PoolError::Stopped(why.clone())),
            None => Ok(()),
        }
    }

    /// From now on nothing is written (M4).
    pub(super) fn stop(&self, why: String) -> PoolError {
        // The first reason stays.
        PoolError::Stopped(self.stopped.get_or_init(|| why).clone())
    }

    /// Writes every page whose oldest change is below `target`, and syncs: afterwards [`BufferPool::oldest_rec_lsn`] is at or
    /// above it. Waits for latches; the caller holds none.
    pub fn flush_to(&self, target: Lsn) -> Result<(), PoolError> {
        loop {
            let candidates = self.dirty_below(target);
            let busy = self.flush_candidates(candidates)?;
            for no in busy {
                // Without the flush mutex (X2): wait until whoever has the page lets go.
                drop(self.frames.lock_shared(no));
            }
            if self.dirty_below(target).is_empty() {
                self.sync_files()?;
                if self.oldest_rec_lsn().is_none_or(|lsn| lsn >= target) {
                    return Ok(());
                }
            }
        }
    }

    /// Writes every dirty page and syncs. Ends only when nobody changes pages any more.
    pub fn flush_all(&self) -> Result<(), PoolError> {
        self.flush_to(Lsn::MAX)
    }

    /// One round of the cleaner: writes at most `pages_max` of the pages below `target`, oldest first, without waiting for
    /// latches. Returns how many were written.
    pub(crate) fn flush_some(&self, target: Lsn, pages_max: usize) -> Result<usize, PoolError> {
        let mut candidates: Vec<(Lsn, PageId, FrameNo)> = self
            .dirty_below(target)
            .into_iter()
            .filter_map(|(id, no)| Some((self.frames.get(no).rec_lsn()?, id, no)))
            .collect();
        if candidates.len() > pages_max {
            candidates.select_nth_unstable(pages_max);
            candidates.truncate(pages_max);
        }
        let before = self.counting.written.load(Ordering::Relaxed);
        self.flush_candidates(candidates.into_iter().map(|(_, id, no)| (id, no)).collect())?;
        Ok((self.counting.written.load(Ordering::Relaxed) - before) as usize)
    }

    pub(super) fn dirty_below(&self, target: Lsn) -> Vec<(PageId, FrameNo)> {
        (1..=self.free.used())
            .filter(|no| self.frames.get(*no).rec_lsn().is_some_and(|lsn| lsn < target))
            .filter_map(|no| Some((self.frames.get(no).page_id()?, no)))
            .collect()
    }

    /// Writes the candidates that are dirty and not latched exclusively; returns the frames that were.
    pub(super) fn flush_candidates(
        &self,
        mut candidates: Vec<(PageId, FrameNo)>,
    ) -> Result<Vec<FrameNo>, PoolError> {
        sort_for_writing(&mut candidates, &self.frames);
        self.promote_before_flush(&candidates);
        let mut busy = Vec::new();
        for batch in candidates.chunks(BATCH_MAX) {
            let mut flusher = self.flusher();
            busy.extend(self.flush_batch(&mut flusher, batch.to_vec())?);
        }
        Ok(busy)
    }

    /// Old pages that proved themselves are saved now, before a sweep finds them clean.
    fn promote_before_flush(&self, candidates: &[(PageId, FrameNo)]) {
        for some in candidates.chunks(BATCH_MAX) {
            let mut lru = self.lru();
            for (_, no) in some {
                if self.frames.get(*no).flags() & IN_LRU != 0 {
                    lru.make_young_if_needed(&self.frames, *no, &self.clock, false, true);
                }
            }
        }
    }

    /// Writes one batch; returns the frames whose latch was taken.
    pub(super) fn flush_batch(
        &self,
        flusher: &mut Flusher,
        mut candidates: Vec<(PageId, FrameNo)>,
    ) -> Result<Vec<FrameNo>, PoolError> {
        self.check_running()?;
        sort_for_writing(&mut candidates, &self.frames);
        candidates.truncate(BATCH_MAX);
        self.make_region_free(flusher)?;
        let (claimed, busy, newest) = self.claim(flusher, &candidates);
        if claimed.is_empty() {
            return Ok(busy);
        }
        self.write_claimed(flusher, &claimed, newest)?;
        Ok(busy)
    }

    /// Copies what can be written now, in the order of the candidates; also returns the newest page LSN among the copies.
    fn claim(
        &self,
        flusher: &mut Flusher,
        candidates: &[(PageId, FrameNo)],
    ) -> (Vec<Claimed>, Vec<FrameNo>, Lsn) {
        let (mut claimed, mut busy, mut newest) = (Vec::new(), Vec::new(), Lsn::NONE);
        for (id, no) in candidates {
            let Some(latched) = self.frames.try_shared(*no) else {
                busy.push(*no);
                continue;
            };
            if !latched.frame().holds(*id) {
                continue;
            }
            let Some((rec_lsn, is_fresh)) = latched.frame().start_flush() else { continue };
            let copy = flusher.copy_mut(claimed.len());
            copy.copy_from_slice(&latched[..]);
            newest = newest.max(page::page_lsn(copy));
            claimed.push(Claimed { id: *id, no: *no, rec_lsn, is_fresh });
        }
        (claimed, busy, newest)
    }

    fn write_claimed(
        &self,
        flusher: &mut Flusher,
        claimed: &[Claimed],
        newest: Lsn,
    ) -> Result<(), PoolError> {
        if let Err(why) = self.barrier.make_durable(newest) {
            self.cancel(claimed);
            return Err(self.stop(why));
        }
        for index in 0..claimed.len() {
            page::set_crc(flusher.copy_mut(index));
        }
        let region = match self.write_copies(flusher, claimed) {
            Ok(region) => region,
            Err(error) => {
                self.cancel(claimed);
                return Err(error);
            }
        };
        let (failed, first_error) = self.write_pages(&flusher.copies, claimed);
        if let (Some(doublewrite), Some(region)) = (&mut flusher.doublewrite, region) {
            let copied = failed.iter().map(|index| &claimed[*index]).filter(|c| !c.is_fresh);
            doublewrite.written(region, copied.map(|c| c.id).collect());
        }
        self.finish(claimed, &failed);
        first_error.map_or(Ok(()), Err)
    }

    /// The doublewrite's part; `None` when it is off or not needed (X5).
    fn write_copies(&self, flusher: &mut Flusher, claimed: &[Claimed]) -> Result<Option<usize>, PoolError> {
        let Some(doublewrite) = &mut flusher.doublewrite else { return Ok(None) };
        let copies = flusher.copies.as_chunks::<PAGE_SIZE>().0;
        let needed = claimed.iter().zip(copies).filter(|(c, _)| !c.is_fresh);
        let pages: Vec<_> = needed.map(|(c, copy)| (c.id, copy)).collect();
        if pages.is_empty() {
            return Ok(None);
        }
        match doublewrite.write(&pages) {
            Ok((region, bytes)) => {
                bump(&self.counting.doublewrite_batches);
                bump(&self.counting.file_syncs);
                self.counting.doublewrite_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
                Ok(Some(region))
            }
            Err(BatchError::Write(error)) => Err(error.into()),
            Err(BatchError::Sync(error)) => Err(self.stop(error.to_string())),
        }
    }

    /// Writes the copies to their files, runs of neighbours with one call. Returns the positions that failed, and why.
    fn write_pages(&self, copies: &[u8], claimed: &[Claimed]) -> (Vec<usize>, Option<PoolError>) {
        let (mut failed, mut first_error) = (Vec::new(), None);
        let mut start = 0;
        while start < claimed.len() {
            let first = claimed[start].id;
            let mut end = start + 1;
            while end < claimed.len()
                && claimed[end].id.space == first.space
                && claimed[end].id.no.0 - first.no.0 == (end - start) as u32
            {
                end += 1;
            }
            let run = &copies[start * PAGE_SIZE..end * PAGE_SIZE];
            let written = match self.spaces.get(first.space) {
                Ok(file) => file.write(first.no, run).map_err(PoolError::from),
                // Dropped meanwhile: there is nowhere to write to, and no need.
                Err(PoolError::NoSpace(_)) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = written {
                failed.extend(start..end);
                first_error.get_or_insert(error);
            }
            start = end;
        }
        (failed, first_error)
    }

    /// Hands the rec_lsns over (X3) and says in the frames what became of them.
    fn finish(&self, claimed: &[Claimed], failed: &[usize]) {
        let is_written = |index: &usize| !failed.contains(index);
        let written: Vec<usize> = (0..claimed.len()).filter(is_written).collect();
        if let Some(oldest) = written.iter().map(|index| claimed[*index].rec_lsn).min() {
            self.unsynced_rec_lsn.fetch_min(oldest.0, Ordering::AcqRel);
        }
        for index in &written {
            if self.frames.get(claimed[*index].no).end_flush() {
                self.counting.dirty.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.counting.written.fetch_add(written.len() as u64, Ordering::Relaxed);
        for index in failed {
            self.frames.get(claimed[*index].no).cancel_flush();
        }
    }

    fn cancel(&self, claimed: &[Claimed]) {
        for page in claimed {
            self.frames.get(page.no).cancel_flush();
        }
    }

    /// Syncs the data files if the doublewrite has no region left.
    fn make_region_free(&self, flusher: &mut Flusher) -> Result<(), PoolError> {
        let Some(doublewrite) = &flusher.doublewrite else { return Ok(()) };
        if doublewrite.has_free_region() {
            return Ok(());
        }
        self.sync_written(flusher)?;
        let Some(doublewrite) = &mut flusher.doublewrite else { return Ok(()) };
        if !doublewrite.has_free_region() {
            // Every region keeps copies of pages that could not be written.
            doublewrite.retry_held(&self.spaces)?;
            self.sync_written(flusher)?;
        }
        Ok(())
    }

    /// Syncs the data files that were written, so that [`BufferPool::oldest_rec_lsn`] may move on.
    pub fn sync_files(&self) -> Result<(), PoolError> {
        self.check_running()?;
        let mut flusher = self.flusher();
        self.sync_written(&mut flusher)
    }

    fn sync_written(&self, flusher: &mut Flusher) -> Result<(), PoolError> {
        self.check_running()?;
        match self.spaces.sync() {
            Ok(files) => {
                self.counting.file_syncs.fetch_add(files, Ordering::Relaxed);
                // Nobody writes pages while the flush mutex is held, so all of them are durable now.
                self.unsynced_rec_lsn.store(u64::MAX, Ordering::Release);
                if let Some(doublewrite) = &mut flusher.doublewrite {
                    doublewrite.files_synced();
                }
                Ok(())
            }
            Err(error) => Err(self.stop(error.to_string())),
        }
    }
}
