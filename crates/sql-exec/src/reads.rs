//! How rows are asked for, counted for SHOW STATUS (`Handler_read_*`).
//!
//! A statement counts in its own [`Reads`], so that a row costs no call into the session; the sums are told when it ends.
//! A call that finds the end counts like one that finds a row, as in MariaDB.

use storage::row::Direction;

use crate::context::Work;
use crate::exec::Exec;

/// The calls of one statement.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Reads {
    first: u64,
    key: u64,
    last: u64,
    next: u64,
    prev: u64,
    /// Rows taken in the order of a sort.
    sorted: u64,
    /// Rows of a scan of a whole table.
    scan: u64,
}

impl Reads {
    /// A row by its whole key.
    pub(crate) fn point(&mut self) {
        self.key += 1;
    }

    /// A row that a sort has put in its place.
    pub(crate) fn in_sorted_order(&mut self) {
        self.sorted += 1;
    }

    /// `calls` for the rows of a whole table in no order that was asked for.
    pub(crate) fn whole_table(&mut self, calls: u64) {
        self.scan += calls;
    }

    /// `calls` for the rows of a range of an index that begins at the index's end or not.
    pub(crate) fn range(&mut self, at_end: bool, direction: Direction, calls: u64) {
        let Some(others) = calls.checked_sub(1) else { return };
        let (end, rest) = match direction {
            Direction::Forward => (&mut self.first, &mut self.next),
            Direction::Backward => (&mut self.last, &mut self.prev),
        };
        *(if at_end { end } else { &mut self.key }) += 1;
        *rest += others;
    }
}

impl Exec<'_, '_> {
    /// The statement has ended.
    pub(crate) fn tell_reads(&mut self) {
        let Reads { first, key, last, next, prev, sorted, scan } = std::mem::take(&mut self.reads);
        let told = [
            (Work::ReadFirst, first),
            (Work::ReadKey, key),
            (Work::ReadLast, last),
            (Work::ReadNext, next),
            (Work::ReadPrev, prev),
            (Work::ReadSorted, sorted),
            (Work::ReadScan, scan),
        ];
        for (work, calls) in told.into_iter().filter(|(_, calls)| *calls > 0) {
            self.cx.session.count(work, calls);
        }
    }
}
