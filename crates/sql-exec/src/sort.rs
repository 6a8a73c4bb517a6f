//! Sorting: in memory, by runs on disk when the rows are more than `sort_buffer_size`, or with a LIMIT by keeping only as many
//! rows as are wanted.
//!
//! Runs are merged when the result is read; when there are many, they are merged into one first, so that open files are bounded.
//! Equal rows keep the order in which they came: earlier runs win.

use sql_plan::error::SqlResult;
use sql_plan::plan::SortKey;
use types::Context;

use crate::select::{Limit, order};
use crate::spill::{Row, RowReader, RowWriter, Space, weight};

/// Runs that are merged at once.
const FAN_IN: usize = 32;

/// Sorts with a LIMIT keep twice as many rows as are wanted, if those are not too many.
const LIMITED_MAX: u64 = 1 << 20;

/// What a sort has done, for SHOW STATUS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SortWork {
    pub(crate) rows: u64,
    pub(crate) merges: u64,
    pub(crate) files: u64,
    pub(crate) limited: bool,
}

/// Rows with their sort keys.
pub(crate) struct Sorter<'k> {
    keys: &'k [SortKey],
    limit: Limit,
    space: Space,
    rows: Vec<(Row, Row)>,
    bytes: usize,
    runs: Vec<RowReader>,
    pub(crate) work: SortWork,
}

impl<'k> Sorter<'k> {
    pub(crate) fn new(keys: &'k [SortKey], limit: Limit, space: Space) -> Self {
        Self { keys, limit, space, rows: Vec::new(), bytes: 0, runs: Vec::new(), work: SortWork::default() }
    }

    fn is_limited(&self) -> bool {
        self.limit.end() < LIMITED_MAX && !self.keys.is_empty()
    }

    pub(crate) fn add(&mut self, keys: Row, row: Row, cx: &mut Context) -> SqlResult<()> {
        self.work.rows += 1;
        self.bytes += weight(&keys) + weight(&row);
        self.rows.push((keys, row));
        let wanted = self.limit.end();
        if self.is_limited() && self.rows.len() as u64 >= (wanted * 2).max(256) {
            self.work.limited = true;
            self.sort(cx);
            let keep = self.last_wanted(cx);
            self.rows.truncate(keep);
            self.bytes = self.rows.iter().map(|(k, r)| weight(k) + weight(r)).sum();
        }
        if self.bytes > self.space.bytes { self.spill(cx) } else { Ok(()) }
    }

    fn sort(&mut self, cx: &mut Context) {
        let keys = self.keys;
        if !keys.is_empty() {
            self.rows.sort_by(|a, b| order(keys, &a.0, &b.0, cx));
        }
    }

    /// Writes what is in memory as a run.
    fn spill(&mut self, cx: &mut Context) -> SqlResult<()> {
        self.sort(cx);
        let mut writer = RowWriter::create(&self.space)?;
        self.work.files += 1;
        for (keys, row) in self.rows.drain(..) {
            writer.row(&[&keys, &row])?;
        }
        self.bytes = 0;
        self.runs.push(writer.read()?);
        if self.runs.len() >= FAN_IN {
            let runs = std::mem::take(&mut self.runs);
            let mut merge = Merge::new(runs, self.keys, cx)?;
            self.work.merges += 1;
            let mut writer = RowWriter::create(&self.space)?;
            self.work.files += 1;
            while let Some((keys, row)) = merge.next(cx)? {
                writer.row(&[&keys, &row])?;
            }
            self.runs.push(writer.read()?);
        }
        Ok(())
    }

    /// Where the rows that are wanted end, ties included.
    fn last_wanted(&self, cx: &mut Context) -> usize {
        let mut end = usize::try_from(self.limit.end()).unwrap_or(usize::MAX).min(self.rows.len());
        if self.limit.with_ties && end > 0 {
            let last = &self.rows[end - 1].0;
            while end < self.rows.len() && order(self.keys, last, &self.rows[end].0, cx).is_eq() {
                end += 1;
            }
        }
        end
    }

    /// The rows in order.
    pub(crate) fn finish(mut self, cx: &mut Context) -> SqlResult<Sorted<'k>> {
        if self.runs.is_empty() {
            // Of many rows only those that are wanted are kept.
            self.work.limited |= self.is_limited() && self.work.rows > self.limit.end() * 3;
            self.sort(cx);
            let offset = usize::try_from(self.limit.offset).unwrap_or(usize::MAX);
            let end = self.last_wanted(cx);
            let mut rows = std::mem::take(&mut self.rows);
            rows.truncate(end);
            rows.drain(..offset.min(rows.len()));
            return Ok(Sorted::Memory(rows.into_iter(), self.work));
        }
        if !self.rows.is_empty() {
            self.spill(cx)?;
        }
        self.work.merges += 1;
        let merge = Merge::new(self.runs, self.keys, cx)?;
        Ok(Sorted::Disk { merge, limit: self.limit, passed: 0, last: None, work: self.work })
    }
}

/// Sorted rows, one after the other.
pub(crate) enum Sorted<'k> {
    Memory(std::vec::IntoIter<(Row, Row)>, SortWork),
    Disk { merge: Merge<'k>, limit: Limit, passed: u64, last: Option<Row>, work: SortWork },
}

impl Sorted<'_> {
    pub(crate) fn work(&self) -> SortWork {
        match self {
            Self::Memory(_, work) | Self::Disk { work, .. } => *work,
        }
    }

    pub(crate) fn next(&mut self, cx: &mut Context) -> SqlResult<Option<Row>> {
        match self {
            Self::Memory(rows, _) => Ok(rows.next().map(|(_, row)| row)),
            Self::Disk { merge, limit, passed, last, .. } => loop {
                let Some((keys, row)) = merge.next(cx)? else { return Ok(None) };
                *passed += 1;
                if *passed <= limit.offset {
                    continue;
                }
                if *passed > limit.end() {
                    let tied = limit.with_ties
                        && last.as_ref().is_some_and(|l| order(merge.keys, l, &keys, cx).is_eq());
                    return Ok(tied.then_some(row));
                }
                if limit.with_ties && *passed == limit.end() {
                    *last = Some(keys);
                }
                return Ok(Some(row));
            },
        }
    }
}

/// The merge of sorted runs.
pub(crate) struct Merge<'k> {
    keys: &'k [SortKey],
    /// A binary heap by the next row of each run.
    heads: Vec<Head>,
}

struct Head {
    keys: Row,
    row: Row,
    run: usize,
    reader: RowReader,
}

impl<'k> Merge<'k> {
    fn new(runs: Vec<RowReader>, keys: &'k [SortKey], cx: &mut Context) -> SqlResult<Self> {
        let mut merge = Self { keys, heads: Vec::with_capacity(runs.len()) };
        for (run, mut reader) in runs.into_iter().enumerate() {
            if let Some(mut both) = reader.row()? {
                let row = both.split_off(keys.len());
                merge.heads.push(Head { keys: both, row, run, reader });
            }
        }
        for at in (0..merge.heads.len() / 2).rev() {
            merge.sink(at, cx);
        }
        Ok(merge)
    }

    fn before(&self, a: usize, b: usize, cx: &mut Context) -> bool {
        let (a, b) = (&self.heads[a], &self.heads[b]);
        order(self.keys, &a.keys, &b.keys, cx).then(a.run.cmp(&b.run)).is_lt()
    }

    fn sink(&mut self, mut at: usize, cx: &mut Context) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heads.len() && self.before(child, least, cx) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heads.swap(at, least);
            at = least;
        }
    }

    fn next(&mut self, cx: &mut Context) -> SqlResult<Option<(Row, Row)>> {
        let Some(head) = self.heads.first_mut() else { return Ok(None) };
        let found = match head.reader.row()? {
            Some(mut both) => {
                let row = both.split_off(self.keys.len());
                (std::mem::replace(&mut head.keys, both), std::mem::replace(&mut head.row, row))
            }
            None => {
                let gone = self.heads.swap_remove(0);
                (gone.keys, gone.row)
            }
        };
        self.sink(0, cx);
        Ok(Some(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql_plan::expr::{CompareAs, Expr};
    use types::Value;

    fn sorted(n: i64, bytes: usize, limit: Limit) -> (Vec<i64>, SortWork) {
        let keys = [SortKey { expr: Expr::int(0), compare: CompareAs::Int, descending: false }];
        let mut cx = Context::default();
        let space = Space { bytes, directory: "/tmp".into(), file: u64::MAX };
        let mut sorter = Sorter::new(&keys, limit, space);
        for i in 0..n {
            let key = i * 7919 % n;
            sorter.add(vec![Value::Int(key)], vec![Value::Int(key), Value::Int(i)], &mut cx).unwrap();
        }
        let mut sorted = sorter.finish(&mut cx).unwrap();
        let mut out = Vec::new();
        while let Some(row) = sorted.next(&mut cx).unwrap() {
            match row[0] {
                Value::Int(v) => out.push(v),
                _ => panic!("an integer went in"),
            }
        }
        (out, sorted.work())
    }

    const ALL: Limit = Limit { offset: 0, count: u64::MAX, with_ties: false };

    #[test]
    fn runs_on_disk_give_the_same_rows() {
        let expected: Vec<i64> = (0..20_000).collect();
        let (memory, work) = sorted(20_000, usize::MAX, ALL);
        assert_eq!((memory, work.files), (expected.clone(), 0));
        let (disk, work) = sorted(20_000, 16 * 1024, ALL);
        assert_eq!(disk, expected);
        assert!(work.files > FAN_IN as u64, "{work:?}");
    }

    #[test]
    fn offset_and_limit_hold_on_disk_too() {
        let limit = Limit { offset: 100, count: LIMITED_MAX * 2, with_ties: false };
        let (rows, work) = sorted(5_000, 8 * 1024, limit);
        assert_eq!(rows, (100..5_000).collect::<Vec<i64>>());
        assert!(work.merges > 0);
        let few = Limit { offset: 2, count: 3, with_ties: false };
        let (rows, work) = sorted(5_000, 64 * 1024, few);
        assert_eq!(rows, vec![2, 3, 4]);
        assert!(work.limited && work.files == 0);
    }
}
