//! UNION, INTERSECT and EXCEPT.
//!
//! The terms are worked off from the left; what they have given so far is gathered (`row_store`). Rows are brought to the types of
//! the result first. A run of UNIONs shares one set of what has been seen; the right side of INTERSECT and EXCEPT is counted by
//! key in memory, or, when it finds no room there, both sides are sorted by key and merged. UNION ALL alone gathers nothing.

use std::collections::HashMap;

use charset::Collation;
use sql_plan::error::SqlResult;
use sql_plan::expr::{CompareAs, Expr, Typed};
use sql_plan::ops;
use sql_plan::plan::{QueryBody, QueryPlan, SetOp, SetPlan, SetTerm, SortKey};
use types::Value;

use crate::distinct::{Admitted, Distinct};
use crate::exec::{Exec, Flow};
use crate::row_store::{KeptRows, RowStore};
use crate::select::{EmitFn, Limit, RowOut, convert_to};
use crate::sort::{Sorted, Sorter};
use crate::spill::Row;

/// What a key takes in the count of the right side beside its bytes, about.
const OVERHEAD: usize = 56;

/// Rows of one side in the order of their keys, which stand in front.
struct Side<'s> {
    sorted: Sorted<'s>,
    next: Option<Row>,
}

impl Exec<'_, '_> {
    pub(crate) fn set_operation(&mut self, set: &SetPlan, emit: &mut EmitFn<'_>) -> SqlResult<Flow> {
        let limit = self.limit(&set.limit)?;
        let found_rows = matches!(&set.first.body, QueryBody::Select(s) if s.found_rows);
        let plain = set.rest.iter().all(|t| t.op == SetOp::Union && t.all);
        if plain && set.order.is_empty() && !found_rows && !limit.with_ties {
            return self.union_all(set, limit, emit);
        }
        let rows = self.set_rows(set)?;
        let flow = self.emit_set(set, &rows, limit, emit);
        self.found = found_rows.then_some(rows.len());
        flow
    }

    /// The rows of each part, one part after the other.
    fn union_all(&mut self, set: &SetPlan, limit: Limit, emit: &mut EmitFn<'_>) -> SqlResult<Flow> {
        let mut passed = 0u64;
        let mut flow = Flow::Continue;
        let parts = std::iter::once(&set.first).chain(set.rest.iter().map(|t| &t.query));
        for part in parts {
            if passed >= limit.end() {
                break;
            }
            self.set_term(set, part, &mut |exec, out| {
                passed += 1;
                if passed <= limit.offset {
                    return Ok(Flow::Continue);
                }
                let row = exec.set_row(set, out)?;
                flow = emit(exec, RowOut::Values(&row))?;
                Ok(if passed >= limit.end() { Flow::Stop } else { flow })
            })?;
            if flow == Flow::Stop {
                break;
            }
        }
        // What a part would have had without its own LIMIT is nobody's business.
        self.found = None;
        Ok(flow)
    }

    fn emit_set(
        &mut self,
        set: &SetPlan,
        rows: &KeptRows,
        limit: Limit,
        emit: &mut EmitFn<'_>,
    ) -> SqlResult<Flow> {
        let mut cursor = rows.cursor();
        let mut row = Row::new();
        if set.order.is_empty() {
            let mut passed = 0u64;
            while cursor.next_into(&mut row)? {
                passed += 1;
                if passed > limit.end() && !limit.with_ties {
                    break;
                }
                if passed > limit.offset && emit(self, RowOut::Values(&row))? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            return Ok(Flow::Continue);
        }
        let mut sorter = Sorter::new(&set.order, limit, self.sort_space());
        while cursor.next_into(&mut row)? {
            self.set_values(set.slot, row.clone());
            let keys: SqlResult<Vec<Value>> = set.order.iter().map(|k| k.expr.eval(self)).collect();
            sorter.add(keys?, std::mem::take(&mut row), self.cx.values)?;
        }
        self.emit_sorted(sorter, emit)
    }

    /// All rows of the operations, in the types of the result.
    fn set_rows(&mut self, set: &SetPlan) -> SqlResult<KeptRows> {
        let mut rows = self.set_part(set, &set.first)?;
        let mut rest = &set.rest[..];
        while let Some(term) = rest.first() {
            let same = |t: &&SetTerm| (t.op, t.all) == (term.op, term.all);
            let run = match term.op {
                SetOp::Union => rest.iter().take_while(same).count(),
                SetOp::Except | SetOp::Intersect => 1,
            };
            rows = match (term.op, term.all) {
                (SetOp::Union, true) => self.append(set, &rows, &rest[..run])?,
                (SetOp::Union, false) => self.union(set, &rows, &rest[..run])?,
                _ => self.keep_by(set, &rows, term)?,
            };
            rest = &rest[run..];
        }
        Ok(rows)
    }

    /// Runs one part. Where parts share their slots, what the one before remembers by slot is forgotten.
    fn set_term(&mut self, set: &SetPlan, part: &QueryPlan, emit: &mut EmitFn<'_>) -> SqlResult<Flow> {
        if let Some(shared) = &set.shared {
            self.derived.retain(|slot, _| !shared.contains(slot));
            self.hashes.retain(|slot, _| !shared.contains(slot));
        }
        self.query(part, emit)
    }

    fn set_row(&mut self, set: &SetPlan, out: RowOut<'_>) -> SqlResult<Row> {
        let mut row = out.values(self)?;
        for (value, typed) in row.iter_mut().zip(&set.columns) {
            *value = convert_to(std::mem::take(value), typed, self.cx.values);
        }
        Ok(row)
    }

    fn set_part(&mut self, set: &SetPlan, part: &QueryPlan) -> SqlResult<KeptRows> {
        let mut rows = RowStore::new(self.row_space());
        self.set_term(set, part, &mut |exec, out| {
            rows.add(exec.set_row(set, out)?)?;
            Ok(Flow::Continue)
        })?;
        rows.finish()
    }

    fn append(&mut self, set: &SetPlan, left: &KeptRows, terms: &[SetTerm]) -> SqlResult<KeptRows> {
        let mut rows = RowStore::new(self.row_space());
        let mut cursor = left.cursor();
        while let Some(row) = cursor.next()? {
            rows.add(row)?;
        }
        for term in terms {
            self.set_term(set, &term.query, &mut |exec, out| {
                rows.add(exec.set_row(set, out)?)?;
                Ok(Flow::Continue)
            })?;
        }
        rows.finish()
    }

    /// Each row once.
    fn union(&mut self, set: &SetPlan, left: &KeptRows, terms: &[SetTerm]) -> SqlResult<KeptRows> {
        let mut rows = RowStore::new(self.row_space());
        let mut seen = Distinct::new(self.row_space());
        let mut cursor = left.cursor();
        while let Some(row) = cursor.next()? {
            self.add_distinct(set, row, &mut seen, &mut rows)?;
        }
        for term in terms {
            self.set_term(set, &term.query, &mut |exec, out| {
                let row = exec.set_row(set, out)?;
                exec.add_distinct(set, row, &mut seen, &mut rows)?;
                Ok(Flow::Continue)
            })?;
        }
        let mut rest = seen.rest()?;
        while let Some(row) = rest.next()? {
            rows.add(row)?;
        }
        rows.finish()
    }

    fn add_distinct(
        &mut self,
        set: &SetPlan,
        row: Row,
        seen: &mut Distinct,
        rows: &mut RowStore,
    ) -> SqlResult<()> {
        let key = self.set_key(&set.columns, &row);
        match seen.admit(key.clone()) {
            Admitted::New => rows.add(row),
            Admitted::Known => Ok(()),
            Admitted::NoRoom => seen.put_aside(&key, &row),
        }
    }

    fn set_key(&mut self, columns: &[Typed], row: &[Value]) -> Vec<u8> {
        let mut out = Vec::new();
        for (value, typed) in row.iter().zip(columns) {
            ops::hash_key(value, CompareAs::Any(typed.ty.collation), self.cx.values, &mut out);
        }
        out
    }

    /// INTERSECT and EXCEPT: rows of the left side by how often they are on the right one.
    fn keep_by(&mut self, set: &SetPlan, left: &KeptRows, term: &SetTerm) -> SqlResult<KeptRows> {
        let right = self.set_part(set, &term.query)?;
        let space = self.row_space();
        let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
        let (mut bytes, mut row) = (0, Row::new());
        let mut cursor = right.cursor();
        while cursor.next_into(&mut row)? {
            let key = self.set_key(&set.columns, &row);
            let length = key.len() + OVERHEAD;
            let count = counts.entry(key).or_default();
            *count += 1;
            bytes += if *count == 1 { length } else { 0 };
            if bytes > space.bytes {
                return self.keep_by_merge(set, left, &right, term);
            }
        }
        let mut rows = RowStore::new(space.clone());
        let mut seen = Distinct::new(space);
        let mut cursor = left.cursor();
        while let Some(row) = cursor.next()? {
            let key = self.set_key(&set.columns, &row);
            let on_the_right = match counts.get_mut(&key) {
                // ALL counts: each row of the right side takes one of the left.
                Some(0) | None => false,
                Some(count) => {
                    *count -= u64::from(term.all);
                    true
                }
            };
            match (on_the_right == (term.op == SetOp::Intersect), term.all) {
                (false, _) => {}
                (true, true) => rows.add(row)?,
                (true, false) => self.add_distinct(set, row, &mut seen, &mut rows)?,
            }
        }
        let mut rest = seen.rest()?;
        while let Some(row) = rest.next()? {
            rows.add(row)?;
        }
        rows.finish()
    }

    /// The same with both sides sorted by key.
    fn keep_by_merge(
        &mut self,
        set: &SetPlan,
        left: &KeptRows,
        right: &KeptRows,
        term: &SetTerm,
    ) -> SqlResult<KeptRows> {
        let by_key =
            [SortKey { expr: Expr::int(0), compare: CompareAs::Text(Collation::BINARY), descending: false }];
        let mut left = self.sorted_side(set, left, &by_key)?;
        let mut right = self.sorted_side(set, right, &by_key)?;
        let mut rows = RowStore::new(self.row_space());
        while let Some(key) = left.key() {
            while right.key().is_some_and(|other| other < key) {
                right.advance(self.cx.values)?;
            }
            let (mut mine, mut others) = (0u64, 0u64);
            while right.key().is_some_and(|other| other == key) {
                others += 1;
                right.advance(self.cx.values)?;
            }
            while left.key().is_some_and(|other| other == key) {
                mine += 1;
                let keep = match (term.op == SetOp::Intersect, term.all) {
                    (true, true) => mine <= others,
                    (false, true) => mine > others,
                    (intersect, false) => mine == 1 && (others > 0) == intersect,
                };
                let mut row = left.advance(self.cx.values)?;
                if keep {
                    row.remove(0);
                    rows.add(row)?;
                }
            }
        }
        rows.finish()
    }

    fn sorted_side<'s>(
        &mut self,
        set: &SetPlan,
        rows: &KeptRows,
        by_key: &'s [SortKey],
    ) -> SqlResult<Side<'s>> {
        let mut sorter = Sorter::new(by_key, Limit::NONE, self.sort_space());
        let mut cursor = rows.cursor();
        while let Some(row) = cursor.next()? {
            let key = Value::str(&self.set_key(&set.columns, &row), Collation::BINARY);
            let mut keyed = vec![key.clone()];
            keyed.extend(row);
            sorter.add(vec![key], keyed, self.cx.values)?;
        }
        let mut side = Side { sorted: sorter.finish(self.cx.values)?, next: None };
        side.advance(self.cx.values)?;
        Ok(side)
    }
}

impl Side<'_> {
    fn key(&self) -> Option<Vec<u8>> {
        match self.next.as_deref() {
            Some([Value::Str(key), ..]) => Some(key.bytes().to_vec()),
            _ => None,
        }
    }

    /// Gives the current row away and goes to the next one.
    fn advance(&mut self, cx: &mut types::Context) -> SqlResult<Row> {
        let next = self.sorted.next(cx)?;
        Ok(std::mem::replace(&mut self.next, next).unwrap_or_default())
    }
}
