//! Joins: nested loops over the steps of a plan, with index lookups, and hash tables where no index helps.
//!
//! Rows are pushed: a step positions its slot on each of its rows and calls the next step; after the last step the row is
//! complete and goes to the consumer, which answers whether it wants more. A hash table that outgrows its memory goes on in a file
//! (`keyed_rows`).

use std::ops::Bound;
use std::sync::Arc;

use catalog::TableHandle;
use charset::Collation;
use smallvec::SmallVec;
use sql_plan::error::SqlResult;
use sql_plan::expr::{CompareAs, Expr, Slot};
use sql_plan::ops;
use sql_plan::partition::prune;
use sql_plan::plan::{Access, SelectPlan, Source, TableStep};
use storage::row::{Direction, KeyRange, ReadMode, RowBuf};
use storage::trx::Isolation;
use types::Value;

use crate::context::{SlotState, Work};
use crate::exec::{Exec, Flow};
use crate::group::comes_grouped;
use crate::keyed_rows::{Keyed, KeyedRows, KeyedStore, Probe};
use crate::partitioned::{self, Parts, TableScan};
use crate::place::Place;
use crate::row_store::KeptRows;
use crate::spill::{Row, weight};
use sql_plan::keys::{self, PointKey, Ranges};

/// Called for each complete row of a join.
pub(crate) type RowFn<'f> = dyn FnMut(&mut Exec<'_, '_>) -> SqlResult<Flow> + 'f;

/// Rows of one step by the key that joins them.
pub(crate) type HashTable = KeyedRows<StoredRow>;

/// Hash tables of joins may take as many times `tmp_memory_table_size`.
const HASH_ROOM: usize = 8;

#[derive(Debug)]
pub(crate) enum StoredRow {
    Packed(RowBuf),
    Values(Vec<Value>),
}

impl Keyed for StoredRow {
    fn weight(&self) -> usize {
        match self {
            Self::Packed(buf) => size_of::<Self>() + buf.key.len() + buf.body.len(),
            Self::Values(values) => weight(values),
        }
    }

    /// On disk a packed row is its key and its body.
    fn into_row(self, mut front: Row) -> Row {
        match self {
            Self::Packed(buf) => {
                front.push(Value::str(&buf.key, Collation::BINARY));
                front.push(Value::str(&buf.body, Collation::BINARY));
            }
            Self::Values(values) => front.extend(values),
        }
        front
    }
}

/// What a join carries along.
pub(crate) struct JoinRun<'r> {
    pub(crate) plan: &'r SelectPlan,
    pub(crate) mode: ReadMode,
    /// How many rows the consumer will take at most, for a join of one table.
    pub(crate) expect: Option<u64>,
    /// READ COMMITTED's UPDATE looks at a locked row's committed version before it waits.
    semi_consistent: bool,
    /// Whether the outer join group that starts at each step has found a match.
    matched: SmallVec<[bool; 8]>,
    /// Of partitioned tables: the parts that each step reads, when it has begun.
    parts: SmallVec<[Option<Parts>; 8]>,
}

impl<'r> JoinRun<'r> {
    pub(crate) fn new(
        plan: &'r SelectPlan,
        mode: ReadMode,
        expect: Option<u64>,
        isolation: Isolation,
    ) -> Self {
        let semi_consistent = plan.semi_consistent && isolation <= Isolation::ReadCommitted;
        let matched = SmallVec::from_elem(false, plan.steps.len());
        Self { plan, mode, expect, semi_consistent, matched, parts: SmallVec::new() }
    }
}

impl Exec<'_, '_> {
    /// Runs the join of a plan from step `at` on.
    pub(crate) fn join(&mut self, run: &mut JoinRun<'_>, at: usize, row: &mut RowFn<'_>) -> SqlResult<Flow> {
        let plan = run.plan;
        let Some(step) = plan.steps.get(at) else { return row(self) };
        if let Some(end) = step.outer_end {
            run.matched[at] = false;
            if self.step_rows(run, at, step, row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            if run.matched[at] {
                return Ok(Flow::Continue);
            }
            for s in &plan.steps[at..=end] {
                self.set_null(s.slot);
            }
            let ended = plan.steps[end].ends.iter().position(|e| e.start == at).unwrap_or(0);
            return self.enter_next(run, end, ended, row);
        }
        self.step_rows(run, at, step, row)
    }

    /// The row of step `at` is there: checks it and goes on.
    fn accept(
        &mut self,
        run: &mut JoinRun<'_>,
        at: usize,
        step: &TableStep,
        check_covered: bool,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        self.count_row()?;
        if let Some(analysis) = &mut self.analysis
            && !matches!(step.access, Access::Hash { .. })
        {
            analysis.step(step).read += 1;
        }
        if !self.passes(step.on.as_ref())? || check_covered && !self.passes(step.covered.as_ref())? {
            self.give_back(run, step);
            return Ok(Flow::Continue);
        }
        if let Some(analysis) = &mut self.analysis {
            analysis.step(step).passed += 1;
        }
        self.enter_next(run, at, 0, row)
    }

    /// Step `at` has its row: the outer joins that end here, from the one at `ended` on, have found a match.
    fn enter_next(
        &mut self,
        run: &mut JoinRun<'_>,
        at: usize,
        ended: usize,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        let plan = run.plan;
        for end in plan.steps[at].ends.iter().skip(ended) {
            run.matched[end.start] = true;
            if !self.passes(end.after.as_ref())? {
                return Ok(Flow::Continue);
            }
        }
        self.join(run, at + 1, row)
    }

    /// READ COMMITTED gives the lock of a row back that did not match.
    fn give_back(&mut self, run: &JoinRun<'_>, step: &TableStep) {
        if let (ReadMode::Locking { .. }, Source::Table(handle)) = (run.mode, &step.source) {
            let slot = &self.cx.workspace.slots[usize::from(step.slot)];
            self.cx.trx.unlock_row(&handle.table, &slot.buf);
        }
    }

    fn step_rows(
        &mut self,
        run: &mut JoinRun<'_>,
        at: usize,
        step: &TableStep,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        if let Some(analysis) = &mut self.analysis
            && !matches!(step.access, Access::Hash { .. })
        {
            analysis.step(step).loops += 1;
        }
        match (&step.source, &step.access) {
            (_, Access::Hash { inner, filter, build, probe, compare }) => {
                self.hash_rows(run, at, step, (inner, filter.as_deref(), build, probe, compare), row)
            }
            (Source::Table(handle), access) => {
                self.prepare_slot(step.slot, handle);
                self.table_rows(run, at, step, handle, access, row)
            }
            (Source::Json(table), _) => {
                for values in self.json_rows(table)? {
                    self.set_values(step.slot, values);
                    if self.accept(run, at, step, true, row)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
                Ok(Flow::Continue)
            }
            (Source::Derived(_) | Source::Virtual(_) | Source::Working(_), _) => {
                let rows = self.derived_rows(step)?;
                let mut cursor = rows.cursor();
                loop {
                    let slot = &mut self.cx.workspace.slots[usize::from(step.slot)];
                    slot.state = SlotState::Values;
                    if !cursor.next_into(&mut slot.values)? {
                        return Ok(Flow::Continue);
                    }
                    if self.accept(run, at, step, true, row)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
            }
        }
    }

    fn prepare_slot(&mut self, slot: Slot, handle: &Arc<TableHandle>) {
        let row = &mut self.cx.workspace.slots[usize::from(slot)];
        let layout = &handle.table.spec().layout;
        // A reused plan finds its layout here: no reference count is touched that other sessions touch too.
        if !row.layout.as_ref().is_some_and(|l| Arc::ptr_eq(l, layout)) {
            row.layout = Some(layout.clone());
        }
        row.state = SlotState::Packed;
    }

    fn table_rows(
        &mut self,
        run: &mut JoinRun<'_>,
        at: usize,
        step: &TableStep,
        handle: &Arc<TableHandle>,
        access: &Access,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        match access {
            Access::Point { index, key, .. } => {
                let mut buffer = std::mem::take(&mut self.cx.workspace.key);
                let built = keys::point_key(self, handle, *index, key, &mut buffer);
                let found = match built {
                    Ok(PointKey::Ready) => self.lookup(run, at, step, handle, *index, &buffer),
                    Ok(PointKey::Nothing) => Ok(false),
                    Ok(PointKey::Unusable) => {
                        self.cx.workspace.key = buffer;
                        let all = vec![KeyRange::all()];
                        return self.scan(run, at, step, handle, *index, all, Direction::Forward, true, row);
                    }
                    Err(e) => Err(e),
                };
                self.cx.workspace.key = buffer;
                if found? { self.accept(run, at, step, false, row) } else { Ok(Flow::Continue) }
            }
            Access::Range { index, parts, descending, .. } => {
                let direction = direction(*descending);
                match keys::ranges(self, handle, *index, parts)? {
                    Ranges::List(mut list) => {
                        if *descending {
                            list.reverse();
                        }
                        self.scan(run, at, step, handle, *index, list, direction, false, row)
                    }
                    Ranges::Unusable => {
                        let all = vec![KeyRange::all()];
                        self.scan(run, at, step, handle, *index, all, direction, true, row)
                    }
                }
            }
            Access::Scan { descending } => {
                let all = vec![KeyRange::all()];
                self.scan(run, at, step, handle, 0, all, direction(*descending), false, row)
            }
            Access::Index { index, descending } => {
                let place = self.cx.workspace.place.as_ref();
                let (ranges, checks) = (place.map(Place::ranges), place.is_some());
                let ranges = ranges.unwrap_or_else(|| vec![KeyRange::all()]);
                let flow =
                    self.scan(run, at, step, handle, *index, ranges, direction(*descending), checks, row)?;
                if let (Flow::Continue, Some(place)) = (flow, &mut self.cx.workspace.place) {
                    place.end();
                }
                Ok(flow)
            }
            Access::Hash { .. } | Access::Rows => Ok(Flow::Continue),
        }
    }

    /// Reads one row by a full unique key into the slot.
    fn lookup(
        &mut self,
        run: &mut JoinRun<'_>,
        at: usize,
        step: &TableStep,
        handle: &Arc<TableHandle>,
        index: usize,
        key: &[u8],
    ) -> SqlResult<bool> {
        self.reads.point();
        let parts = &self.parts_read(run, at, step, handle)?;
        let row = &mut self.cx.workspace.slots[usize::from(step.slot)];
        row.state = SlotState::Packed;
        match partitioned::get(self.cx.trx, handle, index, key, run.mode, &mut row.buf, parts)? {
            Ok(found) => Ok(found),
            Err(e) => Err(self.row_error(e, handle, None)),
        }
    }

    /// The parts of a partitioned table that a step reads: those that the statement names, without those whose rows its conditions
    /// cannot want. `None` = all, and of other tables.
    fn parts_read(
        &mut self,
        run: &mut JoinRun<'_>,
        at: usize,
        step: &TableStep,
        handle: &TableHandle,
    ) -> SqlResult<Parts> {
        let Some(filter) = &step.info.prune else { return Ok(step.info.parts.clone()) };
        if let Some(Some(known)) = run.parts.get(at) {
            return Ok(known.clone());
        }
        let wanted = prune::parts_within(self, handle, filter)?;
        let parts = prune::both(&step.info.parts, &wanted);
        run.parts.resize(run.plan.steps.len(), None);
        run.parts[at] = Some(parts.clone());
        Ok(parts)
    }

    /// Whether what comes behind needs the rows of a step in the order of its index.
    fn relies_on_order(&self, plan: &SelectPlan, at: usize) -> bool {
        let grouped = || plan.group.as_ref().is_some_and(|group| comes_grouped(plan, group));
        // MariaDB reads a whole index in its order, too.
        matches!(plan.steps[at].access, Access::Index { .. })
            || self.cx.workspace.place.is_some()
            || at == 0 && (plan.ordered_by_index || grouped())
    }

    #[expect(clippy::too_many_arguments, reason = "one scan's whole description")]
    fn scan(
        &mut self,
        run: &mut JoinRun<'_>,
        at: usize,
        step: &TableStep,
        handle: &Arc<TableHandle>,
        index: usize,
        ranges: Vec<KeyRange>,
        direction: Direction,
        check_covered: bool,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        let in_no_order = matches!(step.access, Access::Scan { descending: false });
        for range in ranges {
            let from = if direction == Direction::Forward { &range.lower } else { &range.upper };
            let at_end = matches!(from, Bound::Unbounded);
            let mut calls = 0;
            let flow = self.scan_range(
                run,
                at,
                step,
                handle,
                index,
                range,
                direction,
                check_covered,
                &mut calls,
                row,
            );
            if in_no_order {
                self.reads.whole_table(calls);
            } else {
                self.reads.range(at_end, direction, calls);
            }
            if flow? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// One range of a scan; `calls` counts how often it asks for a row.
    #[expect(clippy::too_many_arguments, reason = "one scan's whole description")]
    fn scan_range(
        &mut self,
        run: &mut JoinRun<'_>,
        at: usize,
        step: &TableStep,
        handle: &Arc<TableHandle>,
        index: usize,
        range: KeyRange,
        direction: Direction,
        check_covered: bool,
        calls: &mut u64,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        let slot = usize::from(step.slot);
        // A whole table passes through the buffer pool without staying: point reads beside it keep their pages.
        let whole = range == KeyRange::all() && run.expect.is_none();
        let in_order = handle.def.partitioning.is_some() && self.relies_on_order(run.plan, at);
        let parts = &self.parts_read(run, at, step, handle)?;
        let mut scan =
            partitioned::scan(self.cx.trx, handle, index, range, direction, run.mode, parts, in_order);
        if whole {
            scan = scan.large();
        }
        if step.info.covering {
            scan = scan.covering(true);
        }
        if let Some(rows) = run.expect {
            scan = scan.expect_rows(rows);
        }
        if run.semi_consistent {
            scan = scan.semi_consistent();
        }
        loop {
            let target = &mut self.cx.workspace.slots[slot];
            target.state = SlotState::Packed;
            *calls += 1;
            match scan.next(self.cx.trx, &mut target.buf) {
                Ok(true) => {}
                Ok(false) => return Ok(Flow::Continue),
                Err(e) => return Err(self.row_error(e, handle, None)),
            }
            if let Some(place) = &mut self.cx.workspace.place {
                place.met(&self.cx.workspace.slots[slot].buf);
            }
            if !scan.row_is_locked() && !self.lock_matching(step, handle, &mut scan, check_covered)? {
                continue;
            }
            if self.accept(run, at, step, check_covered, row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
    }

    /// The slot holds the committed version of a row that somebody else has locked. If it matches, waits for the row and puts its
    /// newest version there; false when there is nothing to do with it.
    fn lock_matching(
        &mut self,
        step: &TableStep,
        handle: &TableHandle,
        scan: &mut TableScan,
        check_covered: bool,
    ) -> SqlResult<bool> {
        self.count_row()?;
        if !self.passes(step.on.as_ref())? || check_covered && !self.passes(step.covered.as_ref())? {
            return Ok(false);
        }
        let target = &mut self.cx.workspace.slots[usize::from(step.slot)];
        scan.lock_current(self.cx.trx, &mut target.buf).map_err(|e| self.row_error(e, handle, None))
    }

    fn hash_rows(
        &mut self,
        run: &mut JoinRun<'_>,
        at: usize,
        step: &TableStep,
        (inner, filter, build, probe, compare): (&Access, Option<&Expr>, &[Expr], &[Expr], &[CompareAs]),
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        let table = match self.hashes.get(&step.slot) {
            Some(table) => table.clone(),
            None => {
                let table = Arc::new(self.build_hash(run, at, step, (inner, filter), build, compare)?);
                self.hashes.insert(step.slot, table.clone());
                table
            }
        };
        let Some(key) = self.join_key(probe, compare)? else { return Ok(Flow::Continue) };
        for number in table.numbers(&key) {
            let slot = &mut self.cx.workspace.slots[usize::from(step.slot)];
            match table.row(*number) {
                StoredRow::Packed(buf) => {
                    slot.buf.clone_from(buf);
                    slot.state = SlotState::Packed;
                }
                StoredRow::Values(values) => {
                    slot.values.clone_from(values);
                    slot.state = SlotState::Values;
                }
            }
            if self.accept(run, at, step, true, row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        match table.on_disk(&key) {
            Some(probe) => self.hash_rows_on_disk(run, at, step, probe, row),
            None => Ok(Flow::Continue),
        }
    }

    fn hash_rows_on_disk(
        &mut self,
        run: &mut JoinRun<'_>,
        at: usize,
        step: &TableStep,
        mut probe: Probe,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        let packed = matches!(step.source, Source::Table(_));
        while let Some(values) = probe.next()? {
            match &values[..] {
                [Value::Str(key), Value::Str(body)] if packed => {
                    let slot = &mut self.cx.workspace.slots[usize::from(step.slot)];
                    slot.buf.clear();
                    slot.buf.key.extend_from_slice(key.bytes());
                    slot.buf.body.extend_from_slice(body.bytes());
                    slot.state = SlotState::Packed;
                }
                _ => self.set_values(step.slot, values),
            }
            if self.accept(run, at, step, true, row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn build_hash(
        &mut self,
        run: &mut JoinRun<'_>,
        at: usize,
        step: &TableStep,
        (inner, filter): (&Access, Option<&Expr>),
        build: &[Expr],
        compare: &[CompareAs],
    ) -> SqlResult<HashTable> {
        let mut space = self.row_space();
        space.bytes = space.bytes.saturating_mul(HASH_ROOM);
        let sorting = self.sort_space();
        let mut table = KeyedStore::new(space);
        let mut read = 0;
        match &step.source {
            Source::Table(handle) => {
                let handle = handle.clone();
                self.prepare_slot(step.slot, &handle);
                let index = inner.index().unwrap_or(0);
                let parts = &self.parts_read(run, at, step, &handle)?;
                let (all, forward, mode) = (KeyRange::all(), Direction::Forward, run.mode);
                let scan = partitioned::scan(self.cx.trx, &handle, index, all, forward, mode, parts, false);
                let mut scan = scan.large();
                loop {
                    self.reads.whole_table(1);
                    let slot = &mut self.cx.workspace.slots[usize::from(step.slot)];
                    match scan.next(self.cx.trx, &mut slot.buf) {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(e) => return Err(self.row_error(e, &handle, None)),
                    }
                    self.count_row()?;
                    read += 1;
                    if !self.passes(filter)? {
                        continue;
                    }
                    if let Some(key) = self.join_key(build, compare)? {
                        let buf = self.cx.workspace.slots[usize::from(step.slot)].buf.clone();
                        table.add(key, StoredRow::Packed(buf), || sorting.clone(), self.cx.values)?;
                    }
                }
            }
            Source::Derived(_) | Source::Virtual(_) | Source::Working(_) | Source::Json(_) => {
                let rows = self.derived_rows(step)?;
                let mut cursor = rows.cursor();
                while let Some(values) = cursor.next()? {
                    self.set_values(step.slot, values.clone());
                    read += 1;
                    if !self.passes(filter)? {
                        continue;
                    }
                    if let Some(key) = self.join_key(build, compare)? {
                        table.add(key, StoredRow::Values(values), || sorting.clone(), self.cx.values)?;
                    }
                }
            }
        }
        let table = table.finish(self.cx.values)?;
        if let Some(analysis) = &mut self.analysis {
            let count = analysis.step(step);
            count.loops += 1;
            count.read += read;
        }
        if table.is_on_disk() {
            self.cx.session.count(Work::TemporaryDiskTables, 1);
            self.cx.session.count(Work::TemporaryFiles, 1);
        }
        Ok(table)
    }

    /// The bytes of a join key; `None` when a part is NULL, which joins nothing.
    fn join_key(&mut self, exprs: &[Expr], compare: &[CompareAs]) -> SqlResult<Option<Vec<u8>>> {
        let mut out = Vec::new();
        for (e, compare) in exprs.iter().zip(compare) {
            let value = e.eval(self)?;
            if value.is_null() {
                return Ok(None);
            }
            ops::hash_key(&value, *compare, self.cx.values, &mut out);
        }
        Ok(Some(out))
    }

    /// All rows of a derived or virtual table, made once.
    fn derived_rows(&mut self, step: &TableStep) -> SqlResult<Arc<KeptRows>> {
        if let Source::Working(id) = &step.source {
            return Ok(self.working.get(id).cloned().unwrap_or_default());
        }
        if let Some(rows) = self.derived.get(&step.slot) {
            return Ok(rows.clone());
        }
        let rows = match &step.source {
            Source::Derived(query) => self.gather(query)?,
            Source::Virtual(table) => KeptRows::of(self.cx.session.virtual_rows(table.name)?),
            Source::Table(_) | Source::Working(_) | Source::Json(_) => KeptRows::default(),
        };
        let rows = Arc::new(rows);
        self.derived.insert(step.slot, rows.clone());
        Ok(rows)
    }
}

fn direction(descending: bool) -> Direction {
    if descending { Direction::Backward } else { Direction::Forward }
}
