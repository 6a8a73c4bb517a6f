//! Scans of a range of an index, in both directions.
//!
//! # Consistent scans
//! A batch of rows is copied from one leaf while it is latched, each row once; then the latch is released and rows are handed out.
//! Rows whose visible version is older are brought back through the log in the meantime. The batch begins small and doubles, so
//! that a LIMIT 1 does not copy a leaf. Entries of a secondary index lead to their rows one by one; a covering scan makes the row of
//! a live entry's key when every snapshot agrees about the leaf.
//!
//! # Locking scans
//! One record at a time: it is locked under the leaf's latch, then its row is read. Positions are remembered between calls and
//! taken up again when the leaf has not changed; else the scan seeks by the last key it has passed.
//! The lock on the first record of the next leaf is asked for while that leaf is latched and reached from the one before
//! (`LeafRead::move_next` couples), so that no insert can slip in between two leaves.
//!
//! # Range locks (InnoDB's)
//! Under REPEATABLE READ every record passed is locked with its gap, deleted ones too; so is the first one behind the range (only its
//! gap when the range is an equality), or the supremum. A backward
//! scan begins with the gap of the first record above the range. A forward scan whose first record equals the lower bound in all columns of the
//! clustered key locks that record alone. Under READ COMMITTED only live records inside the range are locked.

use std::ops::Bound;
use std::sync::Arc;

use page_format::LeafRecord;

use super::keys::{self, clustered_part};
use super::lock_row::{RowLock, gap_key};
use super::read::{RowOf, Seen, go_back, judge, unfold};
use super::version::Version;
use super::{Direction, KeyRange, ReadMode, RowBuf, RowError, Strength, WaitMode};
use crate::btree::{LeafPosition, LeafRead, Seek};
use crate::lock::{LockKey, LockMode};
use crate::pool::AccessHint;
use crate::table::Table;
use crate::trx::{Isolation, Trx, Work};

/// Rows of the first batch, and of the largest.
const BATCH_MIN: usize = 4;
const BATCH_MAX: usize = 512;

/// A range as byte strings: keys from `lower` (included) up to `upper` (excluded).
#[derive(Debug)]
struct Span {
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
    /// Nothing can be in it.
    empty: bool,
    /// Both bounds are the same included key: an equality.
    equality: bool,
}

impl Span {
    fn of(range: KeyRange) -> Self {
        let equality = match (&range.lower, &range.upper) {
            (Bound::Included(a), Bound::Included(b)) => a == b,
            _ => false,
        };
        let (lower, mut empty) = match range.lower {
            Bound::Unbounded => (None, false),
            Bound::Included(key) => (Some(key), false),
            Bound::Excluded(key) => match after_prefix(key) {
                Some(key) => (Some(key), false),
                None => (None, true),
            },
        };
        let upper = match range.upper {
            Bound::Unbounded => None,
            Bound::Excluded(key) => Some(key),
            Bound::Included(key) => after_prefix(key),
        };
        if let (Some(lower), Some(upper)) = (&lower, &upper) {
            empty |= lower >= upper;
        }
        Self { lower, upper, empty, equality }
    }
    fn is_past_upper(&self, key: &[u8]) -> bool {
        self.upper.as_deref().is_some_and(|upper| key >= upper)
    }
    fn is_below_lower(&self, key: &[u8]) -> bool {
        self.lower.as_deref().is_some_and(|lower| key < lower)
    }
}

/// The smallest byte string above everything that begins with `prefix`.
fn after_prefix(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if last < 0xff {
            prefix.push(last + 1);
            return Some(prefix);
        }
    }
    None
}

/// A row or an entry in the batch: ranges in its bytes.
#[derive(Debug, Clone, Copy)]
struct Copied {
    key: (u32, u32),
    body: (u32, u32),
    version: Version,
    /// The version that was copied is not the visible one.
    older: bool,
    /// Secondary: the visible row has this entry for certain.
    certain: bool,
}

#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    rows: Vec<Copied>,
    next: usize,
}

impl Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
        self.next = 0;
    }
    fn push(&mut self, bytes: &[u8]) -> (u32, u32) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        (start, self.bytes.len() as u32)
    }
    fn push_row(&mut self, record: &LeafRecord<'_>, older: bool) {
        let (key, body) = (self.push(record.key), self.push(record.body));
        self.rows.push(Copied { key, body, version: Version::of(record), older, certain: true });
    }
    fn push_entry(&mut self, record: &LeafRecord<'_>, certain: bool) {
        let key = self.push(record.key);
        self.rows.push(Copied { key, body: (0, 0), version: Version::of(record), older: false, certain });
    }
    fn slice(&self, range: (u32, u32)) -> &[u8] {
        &self.bytes[range.0 as usize..range.1 as usize]
    }
}

/// A running scan. Holds no latch between calls.
#[derive(Debug)]
pub struct Scan {
    table: Arc<Table>,
    index: usize,
    span: Span,
    direction: Direction,
    mode: ReadMode,
    hint: AccessHint,
    batch: Batch,
    batch_rows: usize,
    /// The last key that was passed.
    passed: Vec<u8>,
    started: bool,
    position: Option<LeafPosition>,
    finished: bool,
    semi_consistent: bool,
    /// Makes rows of entries alone.
    covering: bool,
    /// The row handed out last is a committed version of a row that another transaction has locked.
    unlocked: bool,
    /// The transaction's read view is not older than the index.
    checked: bool,
    /// Entry of the row handed out last, for `lock_current`.
    current: Vec<u8>,
}

impl Trx {
    /// A scan; rows come from [`Scan::next`].
    pub fn scan(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        range: KeyRange,
        direction: Direction,
        mode: ReadMode,
    ) -> Scan {
        let span = Span::of(range);
        Scan {
            table: Arc::clone(table),
            index,
            finished: span.empty,
            span,
            direction,
            mode,
            hint: AccessHint::Normal,
            batch: Batch::default(),
            batch_rows: BATCH_MIN,
            passed: Vec::new(),
            started: false,
            position: None,
            semi_consistent: false,
            covering: false,
            unlocked: false,
            checked: false,
            current: Vec::new(),
        }
    }
}

impl Scan {
    /// A large scan: it should not push other pages out of the buffer pool.
    #[must_use]
    pub fn large(mut self) -> Self {
        self.hint = AccessHint::Scan;
        self
    }
    /// Columns outside the index and the primary key are not needed and may be NULL. Without effect when a key of the index is not
    /// reversible.
    #[must_use]
    pub fn covering(mut self, covering: bool) -> Self {
        self.covering =
            covering && self.index > 0 && keys::entry_is_reversible(self.table.spec(), self.index);
        self
    }
    /// How many rows the caller expects to take (LIMIT): the first batch is as large.
    #[must_use]
    pub fn expect_rows(mut self, rows: u64) -> Self {
        self.batch_rows = usize::try_from(rows).unwrap_or(BATCH_MAX).clamp(1, BATCH_MAX);
        self
    }
    /// READ COMMITTED's UPDATE: a row that somebody else has locked is handed out in its last committed version, not locked, and
    /// `row_is_locked` says so. If it matches, call `lock_current`.
    #[must_use]
    pub fn semi_consistent(mut self) -> Self {
        self.semi_consistent = true;
        self
    }
    /// False when the row handed out last has to be locked by `lock_current` before it is changed.
    pub fn row_is_locked(&self) -> bool {
        !self.unlocked
    }

    /// The next row, false at the end.
    pub fn next(&mut self, trx: &mut Trx, out: &mut RowBuf) -> Result<bool, RowError> {
        let mut work = trx.work();
        if !self.checked {
            if self.mode == ReadMode::Consistent {
                work.prepare_view();
            }
            work.check_definition(&self.table, self.index)?;
            self.checked = true;
        }
        match self.mode {
            ReadMode::Consistent => self.next_consistent(&mut work, out),
            ReadMode::Locking { strength, wait } => self.next_locked(&mut work, strength, wait, out),
        }
    }

    /// Waits for the row that was handed out unlocked, locks it and reads its newest version; false when it is no longer in the
    /// range.
    pub fn lock_current(&mut self, trx: &mut Trx, row: &mut RowBuf) -> Result<bool, RowError> {
        let ReadMode::Locking { strength, wait } = self.mode else { return Ok(true) };
        self.unlocked = false;
        let mut work = trx.work();
        let key = std::mem::take(&mut row.key);
        if self.index == 0 {
            return work.get_locked(&self.table, 0, &key, strength, wait, row);
        }
        let entry = std::mem::take(&mut self.current);
        let found = work.lock_row_of(&self.table, self.index, &entry, &key, strength, wait, row);
        self.current = entry;
        Ok(found? == RowOf::Found)
    }

    /// Latches the leaf of the next record.
    fn advance<'s>(&self, table: &'s Table, work: &Work<'s>) -> Result<LeafRead<'s>, RowError> {
        let (store, tree) = (&work.kernel.store, table.tree(self.index));
        if let Some(position) = self.position
            && let Some(mut leaf) = tree.resume(store, position, self.hint)?
        {
            match self.direction {
                Direction::Forward => leaf.move_next()?,
                Direction::Backward => leaf.move_prev()?,
            };
            return Ok(leaf);
        }
        let seek = match (self.direction, self.started) {
            (Direction::Forward, true) => Seek::Above(&self.passed),
            (Direction::Backward, true) => Seek::Below(&self.passed),
            (Direction::Forward, false) => self.span.lower.as_deref().map_or(Seek::First, Seek::AtLeast),
            (Direction::Backward, false) => self.span.upper.as_deref().map_or(Seek::Last, Seek::Below),
        };
        Ok(tree.seek_hinted(store, seek, self.hint)?)
    }

    fn is_outside(&self, key: &[u8]) -> bool {
        match self.direction {
            Direction::Forward => self.span.is_past_upper(key),
            Direction::Backward => self.span.is_below_lower(key),
        }
    }

    fn pass(&mut self, key: &[u8], position: Option<LeafPosition>) {
        self.passed.clear();
        self.passed.extend_from_slice(key);
        self.started = true;
        self.position = position;
    }

    fn next_consistent(&mut self, work: &mut Work<'_>, out: &mut RowBuf) -> Result<bool, RowError> {
        loop {
            while let Some(row) = self.batch.rows.get(self.batch.next).copied() {
                self.batch.next += 1;
                if self.hand_out(work, row, out)? {
                    return Ok(true);
                }
            }
            if self.finished {
                return Ok(false);
            }
            self.fill(work)?;
        }
    }

    /// Copies the next rows of one leaf into the batch.
    fn fill(&mut self, work: &mut Work<'_>) -> Result<(), RowError> {
        work.prepare_view();
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        let end = self.copy_leaf(work, &mut batch);
        self.batch = batch;
        let (position, finished, last) = end?;
        self.finished = finished;
        if let Some(last) = last {
            self.pass(&last, position);
        }
        self.batch_rows = (self.batch_rows * 2).min(BATCH_MAX);
        Ok(())
    }

    /// Position and key of the last record passed, and whether the scan has ended.
    #[expect(clippy::type_complexity, reason = "three facts about one moment")]
    fn copy_leaf(
        &self,
        work: &Work<'_>,
        batch: &mut Batch,
    ) -> Result<(Option<LeafPosition>, bool, Option<Vec<u8>>), RowError> {
        let (kernel, own) = (work.kernel, work.t.id);
        let view = work.t.view().filter(|_| work.t.options.isolation != Isolation::ReadUncommitted);
        let mut leaf = self.advance(&self.table, work)?;
        let settled = match view {
            Some(view) => leaf.max_trx() < view.low(),
            None => true,
        };
        if !leaf.is_valid() {
            return Ok((None, true, None));
        }
        let page = leaf.view()?;
        let mut slot = leaf.slot();
        let last = loop {
            let record = page.record(slot)?;
            if self.is_outside(record.key) {
                return Ok((None, true, None));
            }
            if self.index == 0 {
                let seen = judge(kernel, view, own, &record);
                if !matches!(seen, Seen::Deleted) {
                    batch.push_row(&record, matches!(seen, Seen::Older));
                }
            } else if !(settled && record.is_deleted()) {
                batch.push_entry(&record, settled && view.is_some());
            }
            let next = match self.direction {
                Direction::Forward => Some(slot + 1).filter(|next| *next < page.slots()),
                Direction::Backward => slot.checked_sub(1),
            };
            match next {
                Some(next) if batch.rows.len() < self.batch_rows => slot = next,
                _ => break record.key.to_vec(),
            }
        };
        leaf.set_slot(slot);
        Ok((Some(leaf.position()), false, Some(last)))
    }

    /// Makes a row of what was copied; false when it is not visible.
    fn hand_out(&mut self, work: &mut Work<'_>, row: Copied, out: &mut RowBuf) -> Result<bool, RowError> {
        out.clear();
        let key = self.batch.slice(row.key);
        if self.index > 0 {
            let clustered = clustered_part(key)?;
            out.key.extend_from_slice(clustered);
            if row.certain && self.covering {
                keys::body_of_entry(self.table.spec(), self.index, key, &mut out.body)?;
                return Ok(true);
            }
            if row.certain {
                return Ok(work.lookup(&self.table, clustered, &mut out.body)?.is_some());
            }
            return work.lookup_entry(&self.table, self.index, key, clustered, &mut out.body);
        }
        out.key.extend_from_slice(key);
        out.body.extend_from_slice(self.batch.slice(row.body));
        let mut version = row.version;
        if row.older
            && let Some(view) = work.t.view()
            && !go_back(work.kernel, view, work.t.id, key, &mut version, &mut out.body)?
        {
            return Ok(false);
        }
        unfold(work.kernel, &self.table, version, &mut out.body)?;
        Ok(true)
    }

    fn next_locked(
        &mut self,
        work: &mut Work<'_>,
        strength: Strength,
        wait: WaitMode,
        out: &mut RowBuf,
    ) -> Result<bool, RowError> {
        work.t.latest_locks.clear();
        self.unlocked = false;
        if !self.started && self.direction == Direction::Backward {
            self.lock_above(work, strength)?;
        }
        while !self.finished {
            match self.lock_next(work, strength, wait, out)? {
                Step::Row => return Ok(true),
                Step::Entry => {
                    if self.lock_row(work, strength, wait, out)? {
                        return Ok(true);
                    }
                    work.unlock_latest();
                }
                Step::Passed => {}
                Step::End => self.finished = true,
                Step::Wait(queued) => work.wait(queued)?,
            }
        }
        Ok(false)
    }

    /// Locks the next record under its leaf's latch.
    fn lock_next(
        &mut self,
        work: &mut Work<'_>,
        strength: Strength,
        wait: WaitMode,
        out: &mut RowBuf,
    ) -> Result<Step, RowError> {
        let table = Arc::clone(&self.table);
        let index_id = table.spec().indexes[self.index].id;
        let (key, position, step) = {
            let leaf = self.advance(&table, work)?;
            if !leaf.is_valid() {
                return self.lock_end(work, None, strength);
            }
            let record = leaf.record()?;
            if self.is_outside(record.key) {
                return self.lock_end(work, Some(record.key), strength);
            }
            let version = Version::of(&record);
            let writer = match self.index {
                0 => work.other_writer(record.trx),
                index => work.entry_writer(&table, index, record.key, leaf.max_trx())?,
            };
            let deleted = record.is_deleted();
            let gaps = work.t.locks_gaps();
            let step = if deleted && !gaps && writer.is_none() {
                Step::Passed
            } else {
                let mode = self.mode_for(record.key, deleted, strength, gaps);
                let at = LockKey::entry(index_id, record.key);
                let patience =
                    if self.semi_consistent && self.index == 0 { WaitMode::SkipLocked } else { wait };
                match work.request_read(at, mode, writer, patience)? {
                    RowLock::MustWait(queued) => return Ok(Step::Wait(queued)),
                    RowLock::Skip if patience != wait => return self.committed_version(work, leaf, out),
                    RowLock::Skip => Step::Passed,
                    RowLock::Held { .. } if self.index == 0 => {
                        work.check_snapshot(version.trx)?;
                        if deleted { Step::Passed } else { Step::Row }
                    }
                    RowLock::Held { .. } if deleted => Step::Passed,
                    RowLock::Held { .. } => Step::Entry,
                }
            };
            out.clear();
            if matches!(step, Step::Row) {
                out.key.extend_from_slice(record.key);
                out.body.extend_from_slice(record.body);
            }
            let key = record.key.to_vec();
            let position = leaf.position();
            let recent = leaf.max_trx();
            drop(leaf);
            if self.index > 0 && deleted {
                work.check_deleted_entry(&table, self.index, &key, recent)?;
            }
            if matches!(step, Step::Row) {
                unfold(work.kernel, &table, version, &mut out.body)?;
            }
            (key, position, step)
        };
        self.pass(&key, Some(position));
        Ok(step)
    }

    /// Before a backward scan: the gap between its first record and the one above the range, which names it.
    fn lock_above(&self, work: &mut Work<'_>, strength: Strength) -> Result<(), RowError> {
        if !work.t.locks_gaps() || self.finished {
            return Ok(());
        }
        let tree = self.table.tree(self.index);
        let Some(upper) = self.span.upper.as_deref() else {
            return work.lock_gap(gap_key(tree.index(), None), strength);
        };
        let leaf = tree.seek(&work.kernel.store, Seek::AtLeast(upper))?;
        let next = if leaf.is_valid() { Some(leaf.key()?) } else { None };
        work.lock_gap(gap_key(tree.index(), next), strength)
    }

    fn mode_for(&self, key: &[u8], deleted: bool, strength: Strength, gaps: bool) -> LockMode {
        let exact_start = !self.started
            && self.index == 0
            && !deleted
            && self.direction == Direction::Forward
            && self.span.lower.as_deref() == Some(key);
        if gaps && !exact_start { LockMode::next_key(strength) } else { LockMode::record(strength) }
    }

    /// The scan leaves its range at `key`, or the index.
    fn lock_end(
        &self,
        work: &mut Work<'_>,
        key: Option<&[u8]>,
        strength: Strength,
    ) -> Result<Step, RowError> {
        if !work.t.locks_gaps() {
            return Ok(Step::End);
        }
        if self.direction == Direction::Backward {
            // Its last record is locked with the gap below it; if there is none, the gap above the range is all there is.
            return Ok(Step::End);
        }
        let at = gap_key(self.table.spec().indexes[self.index].id, key);
        let extent = if self.span.equality || key.is_none() {
            LockMode::gap(strength)
        } else {
            LockMode::next_key(strength)
        };
        match work.request(at, extent, None, WaitMode::Wait)? {
            RowLock::MustWait(queued) => Ok(Step::Wait(queued)),
            _ => Ok(Step::End),
        }
    }

    /// Semi-consistent read: the version before the one that another transaction is making.
    fn committed_version(
        &mut self,
        work: &mut Work<'_>,
        leaf: LeafRead<'_>,
        out: &mut RowBuf,
    ) -> Result<Step, RowError> {
        let record = leaf.record()?;
        let mut version = Version::of(&record);
        out.clear();
        out.key.extend_from_slice(record.key);
        out.body.extend_from_slice(record.body);
        let position = leaf.position();
        drop(leaf);
        let mut buffer = Vec::new();
        let mut exists = true;
        while exists && work.other_writer(version.trx).is_some() {
            exists =
                super::version::step_back(work.kernel, &out.key, &mut version, &mut out.body, &mut buffer)?;
        }
        let key = out.key.clone();
        self.pass(&key, Some(position));
        if !exists || version.is_deleted() {
            return Ok(Step::Passed);
        }
        unfold(work.kernel, &self.table, version, &mut out.body)?;
        self.unlocked = true;
        Ok(Step::Row)
    }

    /// Locks and reads the row of the secondary entry passed last.
    fn lock_row(
        &mut self,
        work: &mut Work<'_>,
        strength: Strength,
        wait: WaitMode,
        out: &mut RowBuf,
    ) -> Result<bool, RowError> {
        self.current.clear();
        self.current.extend_from_slice(&self.passed);
        let key = clustered_part(&self.current)?.to_vec();
        let locked = work.lock_row_of(&self.table, self.index, &self.current, &key, strength, wait, out)?;
        Ok(locked == RowOf::Found)
    }
}

/// What locking one record came to.
enum Step {
    /// A row is in the buffer.
    Row,
    /// A live secondary entry is locked; its row is next.
    Entry,
    /// Nothing to hand out here.
    Passed,
    End,
    Wait(crate::lock::Wait),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_become_half_open_spans() {
        let span = |lower, upper| Span::of(KeyRange { lower, upper });
        let inc = |k: &[u8]| Bound::Included(k.to_vec());
        let exc = |k: &[u8]| Bound::Excluded(k.to_vec());
        let eq = span(inc(b"a\xff"), inc(b"a\xff"));
        assert_eq!((eq.lower.as_deref(), eq.upper.as_deref()), (Some(&b"a\xff"[..]), Some(&b"b"[..])));
        assert!(eq.equality && !eq.empty);
        let open = span(exc(b"a"), exc(b"c"));
        assert_eq!((open.lower.as_deref(), open.upper.as_deref()), (Some(&b"b"[..]), Some(&b"c"[..])));
        assert!(span(exc(b"\xff\xff"), Bound::Unbounded).empty);
        assert!(span(inc(b"b"), inc(b"a")).empty);
        assert_eq!(span(Bound::Unbounded, inc(b"\xff")).upper, None);
    }
}
