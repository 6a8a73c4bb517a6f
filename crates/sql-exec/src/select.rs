//! Query blocks: join, group, HAVING, DISTINCT, ORDER BY, LIMIT, in this order, each only where the plan has it.
//!
//! Without grouping, DISTINCT and sorting a row goes from its slot to the consumer without being copied.

use std::cmp::Ordering;
use std::time::Duration;

use row_format::{ColumnType, Place, RowView};
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::eval::compare_values;
use sql_plan::expr::{CompareAs, CompareOp, Expr, Slot, Typed};
use sql_plan::ops;
use sql_plan::plan::{Access, LimitPlan, LockWaitPolicy, QueryBody, QueryPlan, SelectPlan, SortKey};
use storage::trx::TrxOptions;
use types::{Context, Value};

use crate::context::{SlotState, Work};
use crate::distinct::{Admitted, Distinct};
use crate::exec::{Exec, Flow};
use crate::join::JoinRun;
use crate::row_store::{KeptRows, RowStore};
use crate::sort::Sorter;
use crate::spill::Space;

/// A result row: still in the slots, or made already.
#[derive(Clone, Copy)]
pub(crate) enum RowOut<'r> {
    Slots(&'r [Typed]),
    Values(&'r [Value]),
}

impl RowOut<'_> {
    pub(crate) fn values(&self, exec: &mut Exec<'_, '_>) -> SqlResult<Vec<Value>> {
        match self {
            Self::Values(values) => Ok(values.to_vec()),
            Self::Slots(output) => {
                let mut place = FieldPlace::default();
                output.iter().map(|t| exec.field(t, &mut place)).collect()
            }
        }
    }
}

/// The type of a stored field and its bytes, which NULL has none of.
type PackedField<'r> = (&'r ColumnType, Option<&'r [u8]>);

/// Where the last field of an output row was found: the next one is mostly behind it.
#[derive(Default)]
pub(crate) struct FieldPlace {
    slot: Option<Slot>,
    place: Place,
}

/// The consumer of result rows.
pub(crate) type EmitFn<'f> = dyn FnMut(&mut Exec<'_, '_>, RowOut<'_>) -> SqlResult<Flow> + 'f;

/// LIMIT and OFFSET of one execution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) offset: u64,
    pub(crate) count: u64,
    /// Rows equal to the last one come too; without any order that is every row.
    pub(crate) with_ties: bool,
}

impl Limit {
    /// All rows.
    pub(crate) const NONE: Self = Self { offset: 0, count: u64::MAX, with_ties: false };

    pub(crate) fn end(self) -> u64 {
        self.offset.saturating_add(self.count)
    }
}

impl Exec<'_, '_> {
    /// Type and bytes of an output field that is a plain column of a stored row.
    pub(crate) fn packed_field(
        &self,
        typed: &Typed,
        at: &mut FieldPlace,
    ) -> SqlResult<Option<PackedField<'_>>> {
        let Expr::Column(c) = &typed.expr else { return Ok(None) };
        let slot = &self.cx.workspace.slots[usize::from(c.slot)];
        let (SlotState::Packed, Some(layout)) = (slot.state, &slot.layout) else { return Ok(None) };
        if at.slot != Some(c.slot) {
            *at = FieldPlace { slot: Some(c.slot), place: Place::default() };
        }
        let column = usize::from(c.column);
        let view = RowView::new(layout, &slot.buf.body);
        let bytes = view.and_then(|v| v.column_after(column, &mut at.place));
        Ok(Some((&layout.column(column).ty, bytes.map_err(|c| crate::errors::corrupt(&c))?)))
    }

    /// The value of an output field.
    fn field(&mut self, typed: &Typed, at: &mut FieldPlace) -> SqlResult<Value> {
        match self.packed_field(typed, at)? {
            Some((_, None)) => Ok(Value::Null),
            Some((ty, Some(bytes))) => row_format::decode(ty, bytes).map_err(|c| crate::errors::corrupt(&c)),
            None => typed.expr.eval(self),
        }
    }

    pub(crate) fn query(&mut self, query: &QueryPlan, emit: &mut EmitFn<'_>) -> SqlResult<Flow> {
        match &query.body {
            QueryBody::Select(select) => self.select(select, emit),
            QueryBody::Set(set) => self.set_operation(set, emit),
            QueryBody::Recursive(recursive) => self.recursive(recursive, emit),
            QueryBody::Series(series) => {
                for number in series.numbers() {
                    self.count_row()?;
                    if emit(self, RowOut::Values(&[Value::UInt(number)]))? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
                Ok(Flow::Continue)
            }
            QueryBody::Values(rows) => {
                for row in rows {
                    let values: SqlResult<Vec<Value>> = row.iter().map(|e| e.eval(self)).collect();
                    if emit(self, RowOut::Values(&values?))? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
                Ok(Flow::Continue)
            }
        }
    }

    pub(crate) fn limit(&mut self, plan: &LimitPlan) -> SqlResult<Limit> {
        Ok(Limit {
            offset: plan.offset.as_ref().map_or(Ok(0), |e| self.limit_value(e, "OFFSET"))?,
            count: plan.count.as_ref().map_or(Ok(u64::MAX), |e| self.limit_value(e, "LIMIT"))?,
            with_ties: plan.with_ties,
        })
    }

    pub(crate) fn limit_value(&mut self, e: &Expr, what: &str) -> SqlResult<u64> {
        match e.eval(self)? {
            Value::Int(v) if v >= 0 => Ok(v as u64),
            Value::UInt(v) => Ok(v),
            // Parameters of client libraries come as text now and then.
            Value::Str(s) => std::str::from_utf8(s.bytes())
                .ok()
                .and_then(|t| t.parse().ok())
                .ok_or_else(|| SqlError::WrongArguments(what.into())),
            _ => Err(SqlError::WrongArguments(what.into())),
        }
    }

    pub(crate) fn select(&mut self, plan: &SelectPlan, emit: &mut EmitFn<'_>) -> SqlResult<Flow> {
        let limit = self.limit(&plan.limit)?;
        if limit.count == 0 && !plan.found_rows {
            return Ok(Flow::Continue);
        }
        if plan.order.is_empty() {
            let mut passed = 0u64;
            let mut pass = |exec: &mut Exec<'_, '_>, row: RowOut<'_>| {
                passed += 1;
                if passed <= limit.offset {
                    return Ok(Flow::Continue);
                }
                if passed > limit.end() && !limit.with_ties {
                    return Ok(if plan.found_rows { Flow::Continue } else { Flow::Stop });
                }
                let flow = emit(exec, row)?;
                let full = passed == limit.end() && !plan.found_rows && !limit.with_ties;
                Ok(if full { Flow::Stop } else { flow })
            };
            if plan.distinct {
                self.distinct_rows(plan, &mut pass)?;
            } else {
                self.rows(plan, &mut |exec| pass(exec, RowOut::Slots(&plan.output)))?;
            }
            self.found = plan.found_rows.then_some(passed);
            return Ok(Flow::Continue);
        }
        self.select_sorted(plan, limit, emit)
    }

    /// Each output row once; those that found no room in the set come last.
    fn distinct_rows(&mut self, plan: &SelectPlan, emit: &mut EmitFn<'_>) -> SqlResult<()> {
        let mut seen = Distinct::new(self.row_space());
        let flow = self.rows(plan, &mut |exec| {
            let key = exec.row_key(&plan.output[..plan.output.len() - plan.hidden])?;
            if !seen.is_full() {
                return match seen.admit(key) {
                    Admitted::New => emit(exec, RowOut::Slots(&plan.output)),
                    _ => Ok(Flow::Continue),
                };
            }
            if seen.admit(key.clone()) == Admitted::NoRoom {
                seen.put_aside(&key, &RowOut::Slots(&plan.output).values(exec)?)?;
            }
            Ok(Flow::Continue)
        })?;
        if flow == Flow::Stop {
            return Ok(());
        }
        self.count_aside(&seen);
        let mut rest = seen.rest()?;
        while let Some(row) = rest.next()? {
            self.count_row()?;
            if emit(self, RowOut::Values(&row))? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn count_aside(&mut self, seen: &Distinct) {
        if seen.has_aside() {
            self.cx.session.count(Work::TemporaryDiskTables, 1);
            self.cx.session.count(Work::TemporaryFiles, 1);
        }
    }

    fn select_sorted(&mut self, plan: &SelectPlan, limit: Limit, emit: &mut EmitFn<'_>) -> SqlResult<Flow> {
        let mut seen = plan.distinct.then(|| Distinct::new(self.row_space()));
        let mut sorter = Sorter::new(&plan.order, limit, self.sort_space());
        let mut passed = 0u64;
        self.rows(plan, &mut |exec| {
            let admitted = match &mut seen {
                None => None,
                Some(seen) => {
                    let key = exec.row_key(&plan.output[..plan.output.len() - plan.hidden])?;
                    match seen.admit(key.clone()) {
                        Admitted::Known => return Ok(Flow::Continue),
                        Admitted::New => None,
                        Admitted::NoRoom => Some((seen, key)),
                    }
                }
            };
            let row: SqlResult<Vec<Value>> = plan.output.iter().map(|t| t.expr.eval(exec)).collect();
            let row = row?;
            let mut keys = Vec::with_capacity(plan.order.len());
            for (i, key) in plan.order.iter().enumerate() {
                keys.push(match plan.order_listed.get(i) {
                    Some(Some(at)) => row[usize::from(*at)].clone(),
                    _ => key.expr.eval(exec)?,
                });
            }
            if let Some((seen, key)) = admitted {
                keys.extend(row);
                seen.put_aside(&key, &keys)?;
                return Ok(Flow::Continue);
            }
            passed += 1;
            sorter.add(keys, row, exec.cx.values)?;
            Ok(Flow::Continue)
        })?;
        if let Some(seen) = seen {
            self.count_aside(&seen);
            let mut rest = seen.rest()?;
            while let Some(mut keys) = rest.next()? {
                self.count_row()?;
                passed += 1;
                let row = keys.split_off(plan.order.len());
                sorter.add(keys, row, self.cx.values)?;
            }
        }
        self.count_sort(plan);
        let flow = self.emit_sorted(sorter, emit);
        self.found = plan.found_rows.then_some(passed);
        flow
    }

    /// A sort of what a plan reads begins.
    pub(crate) fn count_sort(&mut self, plan: &SelectPlan) {
        let by_range = plan.steps.first().is_some_and(|s| matches!(s.access, Access::Range { .. }));
        self.cx.session.count(if by_range { Work::SortRange } else { Work::SortScan }, 1);
    }

    pub(crate) fn emit_sorted(&mut self, sorter: Sorter<'_>, emit: &mut EmitFn<'_>) -> SqlResult<Flow> {
        let mut sorted = sorter.finish(self.cx.values)?;
        let work = sorted.work();
        self.cx.session.count(Work::SortMergePasses, work.merges);
        self.cx.session.count(Work::SortLimited, u64::from(work.limited));
        self.cx.session.count(Work::TemporaryFiles, work.files);
        let mut rows = 0;
        let mut flow = Flow::Continue;
        while let Some(row) = sorted.next(self.cx.values)? {
            rows += 1;
            flow = emit(self, RowOut::Values(&row))?;
            if flow == Flow::Stop {
                break;
            }
        }
        self.cx.session.count(Work::SortRows, if work.limited { rows } else { work.rows });
        Ok(flow)
    }

    /// `sort_buffer_size` and `tmpdir`.
    pub(crate) fn sort_space(&mut self) -> Space {
        if let Some(space) = &self.sort_space {
            return space.clone();
        }
        let bytes = self.size_variable("sort_buffer_size", 2 << 20);
        let space = Space { bytes, directory: self.temporary_directory().into(), file: u64::MAX };
        self.sort_space.insert(space).clone()
    }

    /// `tmp_memory_table_size`, `tmp_disk_table_size` and `tmpdir`: what is gathered otherwise.
    pub(crate) fn row_space(&mut self) -> Space {
        if let Some(space) = &self.row_space {
            return space.clone();
        }
        let bytes = self.size_variable("tmp_memory_table_size", 16 << 20);
        let file = self.size_variable("tmp_disk_table_size", usize::MAX) as u64;
        let space = Space { bytes, directory: self.temporary_directory().into(), file };
        self.row_space.insert(space).clone()
    }

    fn temporary_directory(&mut self) -> String {
        match self.cx.session.system_variable("tmpdir", true) {
            Some(Value::Str(s)) if !s.is_empty() => s.to_utf8_lossy(),
            _ => "/tmp".to_owned(),
        }
    }

    fn size_variable(&mut self, name: &str, default: usize) -> usize {
        let value = self.cx.session.system_variable(name, false);
        let bytes = value.and_then(|v| v.to_i64(self.cx.values)).and_then(|v| usize::try_from(v).ok());
        bytes.unwrap_or(default)
    }

    /// Rows after grouping and HAVING, in the slots.
    pub(crate) fn rows(&mut self, plan: &SelectPlan, row: &mut crate::join::RowFn<'_>) -> SqlResult<Flow> {
        let Some((_, LockWaitPolicy::Seconds(seconds))) = plan.lock else { return self.rows_now(plan, row) };
        // WAIT n: another patience for this block's locks.
        let before = *self.cx.trx.options();
        let lock_wait_timeout = Duration::from_secs(seconds);
        self.cx.trx.set_options(TrxOptions { lock_wait_timeout, ..before });
        let flow = self.rows_now(plan, row);
        self.cx.trx.set_options(before);
        flow
    }

    fn rows_now(&mut self, plan: &SelectPlan, row: &mut crate::join::RowFn<'_>) -> SqlResult<Flow> {
        match &plan.windows {
            Some(windows) => self.windowed(plan, windows, row),
            None => self.rows_before_windows(plan, row),
        }
    }

    pub(crate) fn rows_before_windows(
        &mut self,
        plan: &SelectPlan,
        row: &mut crate::join::RowFn<'_>,
    ) -> SqlResult<Flow> {
        let mode = self.read_mode(plan.lock);
        let open = plan.never.is_none() && self.passes(plan.gate.as_ref())?;
        if let Some(group) = &plan.group {
            return self.grouped(plan, group, mode, open, row);
        }
        if !open {
            return Ok(Flow::Continue);
        }
        let limited = plan.order.is_empty()
            && !plan.found_rows
            && plan.windows.is_none()
            && plan.steps.len() == 1
            && plan.steps[0].on.is_none();
        let expect =
            if limited && plan.limit.count.is_some() { Some(self.limit(&plan.limit)?.end()) } else { None };
        let mut run = JoinRun::new(plan, mode, expect, self.cx.trx.options().isolation);
        self.join(&mut run, 0, &mut |exec| {
            if exec.passes(plan.having.as_ref())? { row(exec) } else { Ok(Flow::Continue) }
        })
    }

    /// Bytes that are equal for equal output rows.
    pub(crate) fn row_key(&mut self, output: &[Typed]) -> SqlResult<Vec<u8>> {
        let mut key = Vec::new();
        for typed in output {
            let value = typed.expr.eval(self)?;
            ops::hash_key(&value, CompareAs::Any(typed.ty.collation), self.cx.values, &mut key);
        }
        Ok(key)
    }

    /// All rows of a query, where they are few or wanted in memory.
    pub(crate) fn collect(&mut self, query: &QueryPlan) -> SqlResult<Vec<Vec<Value>>> {
        let mut rows = Vec::new();
        self.query(query, &mut |exec, out| {
            rows.push(out.values(exec)?);
            Ok(Flow::Continue)
        })?;
        Ok(rows)
    }

    /// All rows of a query, on disk what finds no room.
    pub(crate) fn gather(&mut self, query: &QueryPlan) -> SqlResult<KeptRows> {
        let mut rows = RowStore::new(self.row_space());
        self.query(query, &mut |exec, out| {
            rows.add(out.values(exec)?)?;
            Ok(Flow::Continue)
        })?;
        let rows = rows.finish()?;
        if rows.on_disk() {
            self.cx.session.count(Work::TemporaryDiskTables, 1);
            self.cx.session.count(Work::TemporaryFiles, 1);
        }
        Ok(rows)
    }
}

/// A value as the common type of a UNION's column.
pub(crate) fn convert_to(value: Value, typed: &Typed, cx: &mut Context) -> Value {
    use sql_plan::expr::CastTo;
    use sql_plan::meta::FieldType;
    let to = match typed.ty.field {
        FieldType::Decimal => {
            let (precision, scale) = typed.ty.precision();
            CastTo::Decimal { precision: precision.min(65) as u8, scale }
        }
        FieldType::Double if !matches!(value, Value::Double(_)) => CastTo::Double,
        FieldType::VarString | FieldType::Blob if !matches!(value, Value::Str(_)) => {
            CastTo::Char { length: None, collation: typed.ty.collation }
        }
        FieldType::DateTime => CastTo::DateTime { fsp: typed.ty.decimals.min(6) },
        _ => return value,
    };
    ops::cast(&value, to, cx).unwrap_or(value)
}

/// Order of two rows by their sort keys; NULL is lowest.
pub(crate) fn order(keys: &[SortKey], a: &[Value], b: &[Value], cx: &mut Context) -> Ordering {
    for (key, (a, b)) in keys.iter().zip(a.iter().zip(b)) {
        let found = compare_sorted(key.compare, a, b, cx);
        if found.is_ne() {
            return if key.descending { found.reverse() } else { found };
        }
    }
    Ordering::Equal
}

pub(crate) fn compare_sorted(compare: CompareAs, a: &Value, b: &Value, cx: &mut Context) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => {
            if let (Value::Int(a), Value::Int(b)) = (a, b) {
                return a.cmp(b);
            }
            // Values of one column compare; a conversion that fails leaves them as they came.
            ops::compare(compare, a, b, cx).unwrap_or(Ordering::Equal)
        }
    }
}

/// `a op b` for quantified subqueries.
pub(crate) fn holds(
    op: CompareOp,
    compare: CompareAs,
    a: &Value,
    b: &Value,
    cx: &mut Context,
) -> SqlResult<Option<bool>> {
    compare_values(op, compare, a, b, cx)
}
