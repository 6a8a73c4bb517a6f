//! Which pages stay: one of two replacement policies behind one face. docs/design/replacement.md compares them.

use super::fifo::Fifo;
use super::frame::{FrameNo, Frames, NIL};
use super::list::before;
use super::lru::Lru;
use super::state::{OLD, PROMOTE, SCANNED, USES, uses};
use super::touch::AccessClock;
use base::PageId;

/// The policy of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// MariaDB's: a midpoint list with promotions decided at access time.
    LazyLru,
    /// Two queues and a memory of evicted pages, behind a gate of time and loads.
    S3Fifo,
}

/// Counts that only change under the policy's mutex.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct PolicyCounters {
    pub(super) made_young: u64,
    pub(super) made_not_young: u64,
}

enum Queues {
    Lru(Lru),
    Fifo(Fifo),
}

/// The policy's lists, behind the pool's LRU mutex.
pub(super) struct Policy {
    queues: Queues,
    /// Where a sweep that let go of the mutex goes on; moved when its frame leaves its place.
    hand: FrameNo,
    pub(super) counters: PolicyCounters,
}

/// A sweep's place.
pub(super) struct Place {
    pub(super) no: FrameNo,
    previous: FrameNo,
    was_old: bool,
    is_rest: bool,
}

impl Policy {
    pub(super) fn new(policy: Replacement, frames: usize, old_pct: usize, clock: &AccessClock) -> Self {
        let queues = match policy {
            // A list shorter than 8 MiB, or a quarter of a small pool, has no old part.
            Replacement::LazyLru => Queues::Lru(Lru::new((frames / 4).clamp(64, 512), old_pct)),
            Replacement::S3Fifo => Queues::Fifo(Fifo::new(frames, old_pct, clock)),
        };
        Self { queues, hand: NIL, counters: PolicyCounters::default() }
    }

    pub(super) fn len(&self) -> usize {
        match &self.queues {
            Queues::Lru(lru) => lru.len(),
            Queues::Fifo(fifo) => fifo.len(),
        }
    }

    /// Frames on probation: the old part or the small queue.
    pub(super) fn old_len(&self) -> usize {
        match &self.queues {
            Queues::Lru(lru) => lru.old_len(),
            Queues::Fifo(fifo) => fifo.small_len(),
        }
    }

    pub(super) fn set_old_pct(&mut self, frames: &Frames, pct: usize, clock: &AccessClock) {
        match &mut self.queues {
            Queues::Lru(lru) => lru.set_old_pct(frames, pct),
            Queues::Fifo(fifo) => fifo.set_old_pct(pct, clock),
        }
    }

    /// The start of a sweep.
    pub(super) fn start(&self, frames: &Frames) -> Place {
        let no = match &self.queues {
            Queues::Lru(lru) => lru.tail(),
            Queues::Fifo(fifo) => fifo.first(frames),
        };
        Self::place(frames, no, false)
    }

    /// To be taken before the frame is moved or freed.
    fn place(frames: &Frames, no: FrameNo, is_rest: bool) -> Place {
        let (previous, was_old) =
            if no == NIL { (NIL, false) } else { (before(frames, no), frames.get(no).flags() & OLD != 0) };
        Place { no, previous, was_old, is_rest }
    }

    /// The next frame of a sweep, after what happened to the one it was at.
    pub(super) fn advance(&self, frames: &Frames, mut place: Place) -> Place {
        let no = match &self.queues {
            Queues::Lru(_) => place.previous,
            Queues::Fifo(fifo) => fifo.next(frames, place.previous, place.was_old, &mut place.is_rest),
        };
        Self::place(frames, no, place.is_rest)
    }

    /// Remembers a place while the mutex is let go.
    pub(super) fn leave(&mut self, place: &Place) {
        self.hand = place.no;
    }

    /// The place again, or where its frame's neighbour is now.
    pub(super) fn come_back(&mut self, frames: &Frames, place: &Place) -> Place {
        Self::place(frames, std::mem::replace(&mut self.hand, NIL), place.is_rest)
    }

    /// Adds a page that was just read or created.
    pub(super) fn insert_new(
        &mut self,
        frames: &Frames,
        no: FrameNo,
        id: PageId,
        by_scan: bool,
        clock: &AccessClock,
    ) {
        let frame = frames.get(no);
        frame.set_access_time(0);
        frame.clear_flags(PROMOTE | OLD | USES | SCANNED);
        match &mut self.queues {
            Queues::Lru(lru) => lru.insert_new(frames, no),
            Queues::Fifo(fifo) => fifo.insert_new(frames, no, id, by_scan, clock),
        }
    }

    /// Takes a frame out.
    pub(super) fn remove(&mut self, frames: &Frames, no: FrameNo) {
        self.move_hand(frames, no);
        match &mut self.queues {
            Queues::Lru(lru) => lru.remove(frames, no),
            Queues::Fifo(fifo) => fifo.remove(frames, no),
        }
    }

    /// Takes a frame out whose page makes room for another.
    pub(super) fn evict(&mut self, frames: &Frames, no: FrameNo, id: PageId) {
        let flags = frames.get(no).flags();
        let is_news = flags & OLD != 0 && flags & (SCANNED | PROMOTE) != SCANNED;
        self.remove(frames, no);
        if let (Queues::Fifo(fifo), true) = (&mut self.queues, is_news) {
            fifo.remember(id);
        }
    }

    /// What a sweep does first with each frame it visits: a page that proved itself is moved. Returns whether it was.
    pub(super) fn make_young_if_needed(
        &mut self,
        frames: &Frames,
        no: FrameNo,
        clock: &AccessClock,
        count_not_young: bool,
        only_old: bool,
    ) -> bool {
        let frame = frames.get(no);
        let flags = frame.flags();
        if let (Queues::Fifo(fifo), true) = (&mut self.queues, flags & SCANNED != 0 && flags & PROMOTE != 0) {
            if self.hand == no {
                self.hand = before(frames, no);
            }
            fifo.begin_probation(frames, no, clock);
            return true;
        }
        let is_proved = match &self.queues {
            Queues::Lru(_) => flags & PROMOTE != 0,
            Queues::Fifo(_) => uses(flags) > 0,
        };
        if !is_proved {
            if count_not_young && flags & OLD != 0 && frame.access_time() != 0 {
                self.counters.made_not_young += 1;
            }
            return false;
        }
        if flags & OLD != 0 {
            self.counters.made_young += 1;
        } else if only_old {
            return false;
        }
        self.move_hand(frames, no);
        match &mut self.queues {
            Queues::Lru(lru) => lru.make_young(frames, no, clock),
            Queues::Fifo(fifo) => fifo.make_young(frames, no, clock),
        }
        true
    }

    fn move_hand(&mut self, frames: &Frames, no: FrameNo) {
        if self.hand == no {
            self.hand = before(frames, no);
        }
    }

    /// Asserts what the policy promises about its lists.
    #[cfg(test)]
    pub(super) fn check(&self, frames: &Frames) {
        match &self.queues {
            Queues::Lru(lru) => lru.check(frames),
            Queues::Fifo(fifo) => fifo.check(frames),
        }
    }
}
