//! Sparse index of frame starts: where a scan may begin. One entry for every [`SPACING`] bytes of log and each segment's start.

use std::collections::VecDeque;

use base::Lsn;
use log_format::frame::FrameStart;

const SPACING: u64 = 64 << 10;

#[derive(Default)]
pub(crate) struct FrameIndex {
    /// In LSN order.
    starts: VecDeque<FrameStart>,
    /// The frame that is being filled now.
    pending: FrameStart,
}

impl FrameIndex {
    pub(crate) fn push(&mut self, start: FrameStart) {
        if self.starts.back().is_none_or(|last| start.lsn - last.lsn >= SPACING) {
            self.starts.push_back(start);
        }
        self.pending = start;
    }

    /// A segment's first frame is always an entry: what comes before may go.
    pub(crate) fn push_first(&mut self, start: FrameStart) {
        self.starts.push_back(start);
        self.pending = start;
    }

    /// The last known frame start at or before `lsn`; the first one if all are later.
    pub(crate) fn before(&self, lsn: Lsn) -> FrameStart {
        if self.pending.lsn <= lsn {
            return self.pending;
        }
        let after = self.starts.partition_point(|start| start.lsn <= lsn);
        self.starts.get(after.saturating_sub(1)).copied().unwrap_or(self.pending)
    }

    /// Forgets frames that begin below `lsn`.
    pub(crate) fn retain_from(&mut self, lsn: Lsn) {
        while self.starts.front().is_some_and(|start| start.lsn < lsn) {
            self.starts.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_at_or_before_is_found() {
        let mut index = FrameIndex::default();
        for i in 0..10u32 {
            index.push(FrameStart { lsn: Lsn(1000 + u64::from(i) * 40_000), previous_crc: i });
        }
        assert_eq!(index.before(Lsn(1000)).previous_crc, 0);
        assert_eq!(index.before(Lsn(80_999)).previous_crc, 0);
        assert_eq!(index.before(Lsn(81_000)).previous_crc, 2);
        assert_eq!(index.before(Lsn(361_000)).previous_crc, 9, "the pending frame is exact");
        index.retain_from(Lsn(81_000));
        assert_eq!(index.before(Lsn(5)).previous_crc, 2);
    }
}
