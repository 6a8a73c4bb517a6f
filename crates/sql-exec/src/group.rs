//! GROUP BY and aggregates, by hashing.
//!
//! A group keeps its accumulators and, of its first row, the columns that are used after grouping. When all rows are in, each
//! group puts those columns back into their slots and its results into the group's slot; what follows reads them like any row.
//! Groups come out in the order of their keys.
//!
//! When the groups take more than `tmp_memory_table_size`, rows of further groups are put aside in a file and grouped when the
//! groups in memory are done, in as many rounds as it takes. Then the groups of each round come in order, not all of them.
//! What GROUP_CONCAT, JSON_ARRAYAGG and DISTINCT gather inside a group stays in memory.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use sql_plan::error::{SqlError, SqlResult};
use sql_plan::expr::{ArithOp, CastTo, ColumnRef, Expr};
use sql_plan::meta::FieldType;
use sql_plan::ops;
use sql_plan::plan::{Aggregate, AggregateKind, GroupPlan, SelectPlan, SortKey};
use storage::row::ReadMode;
use types::Value;

use crate::context::Work;
use crate::exec::{Exec, Flow};
use crate::join::{JoinRun, RowFn};
use crate::select::{compare_sorted, order};
use crate::spill::{RowWriter, weight};

struct Group {
    /// WITH ROLLUP: as many leading keys as the group is for; the others stand for all.
    level: usize,
    keys: Vec<Value>,
    carried: Vec<Value>,
    accumulators: Vec<Accumulator>,
}

/// The groups of a block, as far as there is room for them.
struct GroupTable {
    groups: Vec<Group>,
    by_key: HashMap<Vec<u8>, usize>,
    /// What the groups take, about; what they may take.
    bytes: usize,
    room: usize,
    /// Rows of groups that found no room.
    aside: Option<RowWriter>,
}

impl GroupTable {
    fn new(room: usize) -> Self {
        Self { groups: Vec::new(), by_key: HashMap::new(), bytes: 0, room, aside: None }
    }
}

/// Whether a row found its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placed {
    Done,
    NoRoom,
}

/// Columns of a row that its grouping reads.
fn inputs(plan: &SelectPlan, group: &GroupPlan) -> Vec<ColumnRef> {
    let mut out: Vec<ColumnRef> = group.carried.clone();
    let mut note = |e: &Expr| {
        e.columns(&mut |c| {
            if plan.steps.iter().any(|s| s.slot == c.slot) && !out.contains(&c) {
                out.push(c);
            }
        });
    };
    group.keys.iter().for_each(|k| note(&k.expr));
    for aggregate in &group.aggregates {
        aggregate.args.iter().for_each(|t| note(&t.expr));
        aggregate.order.iter().for_each(|k| note(&k.expr));
    }
    out
}

/// The running state of one aggregate in one group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accumulator {
    count: u64,
    sum: Value,
    /// Welford's mean and sum of squared deviations.
    mean: f64,
    squares: f64,
    bits: u64,
    /// GROUP_CONCAT: sort keys and text of each row.
    texts: Vec<(Vec<Value>, Vec<u8>)>,
    /// LIMIT of GROUP_CONCAT: rows to leave out, rows to take.
    limit: Option<(u64, u64)>,
    seen: HashSet<Vec<u8>>,
}

impl Exec<'_, '_> {
    pub(crate) fn grouped(
        &mut self,
        plan: &SelectPlan,
        group: &GroupPlan,
        mode: ReadMode,
        open: bool,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        let mut table = GroupTable::new(self.size_variable("tmp_memory_table_size", 16 << 20));
        if open {
            if !group.keys.is_empty() {
                self.cx.session.count(Work::TemporaryTables, 1);
            }
            let inputs = inputs(plan, group);
            let mut run = JoinRun::new(plan, mode, None, self.cx.trx.options().isolation);
            self.join(&mut run, 0, &mut |exec| {
                if exec.group_row(group, &mut table)? == Placed::NoRoom {
                    exec.put_aside(&inputs, &mut table)?;
                }
                Ok(Flow::Continue)
            })?;
            if let Some(aside) = std::mem::take(&mut table.aside) {
                return self.groups_on_disk(plan, group, &inputs, table, aside, row);
            }
        }
        self.emit_groups(plan, group, table.groups, row)
    }

    /// The groups in memory, then the rows that were put aside: each round takes in as many of their groups as there is room for.
    fn groups_on_disk(
        &mut self,
        plan: &SelectPlan,
        group: &GroupPlan,
        inputs: &[ColumnRef],
        mut table: GroupTable,
        mut aside: RowWriter,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        self.cx.session.count(Work::TemporaryDiskTables, 1);
        loop {
            let next = GroupTable::new(table.room);
            if self.emit_groups(plan, group, std::mem::replace(&mut table, next).groups, row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            let mut reader = aside.read()?;
            while let Some(values) = reader.row()? {
                self.count_row()?;
                self.restore(inputs, &values);
                if self.group_row(group, &mut table)? == Placed::NoRoom {
                    self.put_aside(inputs, &mut table)?;
                }
            }
            match std::mem::take(&mut table.aside) {
                Some(more) => aside = more,
                None => return self.emit_groups(plan, group, table.groups, row),
            }
        }
    }

    /// Writes what the grouping needs of the current row.
    fn put_aside(&mut self, inputs: &[ColumnRef], table: &mut GroupTable) -> SqlResult<()> {
        use sql_plan::eval::Env;
        let values: SqlResult<Vec<Value>> = inputs.iter().map(|c| self.column(*c)).collect();
        if table.aside.is_none() {
            table.aside = Some(RowWriter::create(&self.temporary_directory())?);
            self.cx.session.count(Work::TemporaryFiles, 1);
        }
        match &mut table.aside {
            Some(aside) => aside.row(&[&values?]),
            None => Ok(()),
        }
    }

    fn emit_groups(
        &mut self,
        plan: &SelectPlan,
        group: &GroupPlan,
        mut groups: Vec<Group>,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        if groups.is_empty() && group.keys.is_empty() {
            for step in &plan.steps {
                self.set_null(step.slot);
            }
            groups.push(Group {
                level: 0,
                keys: Vec::new(),
                carried: vec![Value::Null; group.carried.len()],
                accumulators: vec![Accumulator::default(); group.aggregates.len()],
            });
        }
        if plan.order.is_empty() {
            let cx = &mut *self.cx.values;
            groups.sort_by(|a, b| group_order(group, a, b, cx));
        }
        for found in groups {
            self.restore(&group.carried, &found.carried);
            let mut results = Vec::with_capacity(group.aggregates.len());
            for (aggregate, accumulator) in group.aggregates.iter().zip(found.accumulators) {
                results.push(self.result(aggregate, accumulator)?);
            }
            if group.rollup {
                results.extend(found.keys);
            }
            self.set_values(group.slot, results);
            if self.passes(plan.having.as_ref())? && row(self)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn group_row(&mut self, group: &GroupPlan, table: &mut GroupTable) -> SqlResult<Placed> {
        let GroupTable { groups, by_key, bytes: held, room, .. } = table;
        if group.keys.is_empty() {
            if groups.is_empty() {
                let first = self.first_row(group, Vec::new(), 0)?;
                groups.push(first);
            }
            self.accumulate_all(group, &mut groups[0])?;
            return Ok(Placed::Done);
        }
        let mut keys = Vec::with_capacity(group.keys.len());
        let mut bytes = Vec::new();
        let mut ends = smallvec::SmallVec::<[usize; 8]>::new();
        for key in &group.keys {
            ends.push(bytes.len());
            let value = key.expr.eval(self)?;
            ops::hash_key(&value, key.compare, self.cx.values, &mut bytes);
            keys.push(value);
        }
        let levels = group.keys.len();
        let least = if group.rollup { 0 } else { levels };
        for level in (least..=levels).rev() {
            if level < levels {
                // The level is part of the key: NULL as a value is another group than all values.
                bytes.truncate(ends[level]);
                bytes.push(u8::MAX);
            }
            let at = match by_key.get(&bytes) {
                Some(at) => *at,
                // ROLLUP's groups of several levels stay together in memory.
                None if *held > *room && !group.rollup => return Ok(Placed::NoRoom),
                None => {
                    let mut own = keys.clone();
                    own[level..].fill(Value::Null);
                    let first = self.first_row(group, own, level)?;
                    *held += weight(&first.keys)
                        + weight(&first.carried)
                        + bytes.len()
                        + first.accumulators.len() * size_of::<Accumulator>();
                    groups.push(first);
                    by_key.insert(bytes.clone(), groups.len() - 1);
                    groups.len() - 1
                }
            };
            self.accumulate_all(group, &mut groups[at])?;
        }
        Ok(Placed::Done)
    }

    fn accumulate_all(&mut self, group: &GroupPlan, found: &mut Group) -> SqlResult<()> {
        for (aggregate, accumulator) in group.aggregates.iter().zip(&mut found.accumulators) {
            self.accumulate(aggregate, accumulator)?;
        }
        Ok(())
    }

    fn first_row(&mut self, group: &GroupPlan, keys: Vec<Value>, level: usize) -> SqlResult<Group> {
        use sql_plan::eval::Env;
        let carried: SqlResult<Vec<Value>> = group.carried.iter().map(|c| self.column(*c)).collect();
        Ok(Group {
            level,
            keys,
            carried: carried?,
            accumulators: vec![Accumulator::default(); group.aggregates.len()],
        })
    }

    /// Puts the columns of a group's first row back into their slots.
    fn restore(&mut self, columns: &[ColumnRef], carried: &[Value]) {
        let mut rows: HashMap<u16, Vec<Value>> = HashMap::new();
        for (column, value) in columns.iter().zip(carried) {
            let row = rows.entry(column.slot).or_default();
            let at = usize::from(column.column);
            if row.len() <= at {
                row.resize(at + 1, Value::Null);
            }
            row[at] = value.clone();
        }
        for (slot, row) in rows {
            self.set_values(slot, row);
        }
    }

    fn accumulate(&mut self, aggregate: &Aggregate, acc: &mut Accumulator) -> SqlResult<()> {
        let mut values = smallvec::SmallVec::<[Value; 2]>::new();
        for arg in &aggregate.args {
            values.push(arg.expr.eval(self)?);
        }
        self.feed(aggregate, &values, acc)
    }

    /// Adds a row's arguments to an aggregate.
    pub(crate) fn feed(
        &mut self,
        aggregate: &Aggregate,
        values: &[Value],
        acc: &mut Accumulator,
    ) -> SqlResult<()> {
        use AggregateKind as K;
        if aggregate.kind == K::CountAll {
            acc.count += 1;
            return Ok(());
        }
        let json = matches!(aggregate.kind, K::JsonArrayAgg | K::JsonObjectAgg);
        if !json && values.iter().any(Value::is_null) {
            return Ok(());
        }
        let cx = &mut *self.cx.values;
        if aggregate.distinct {
            let mut key = Vec::new();
            for (value, arg) in values.iter().zip(&aggregate.args) {
                ops::hash_key(value, sql_plan::expr::CompareAs::Any(arg.ty.collation), cx, &mut key);
            }
            if !acc.seen.insert(key) {
                return Ok(());
            }
        }
        acc.count += 1;
        let value = &values[0];
        match aggregate.kind {
            K::CountAll | K::Count => {}
            K::Sum | K::Avg => {
                if let (Value::Decimal(sum), Value::Decimal(v)) = (&mut acc.sum, value)
                    && sum.accumulate(v)
                {
                    return Ok(());
                }
                acc.sum = if acc.sum.is_null() {
                    match (aggregate.ty.field, value) {
                        (FieldType::Double, v) => Value::Double(v.to_f64(cx).unwrap_or(0.0)),
                        (_, Value::Int(_)) => value.clone(),
                        (_, v) => v.to_decimal(cx).map_or(Value::Null, Value::from),
                    }
                } else {
                    add(&acc.sum, value, aggregate.ty.field, cx)?
                };
            }
            K::Min | K::Max => {
                let better = acc.sum.is_null() || {
                    let found = ops::compare(aggregate.compare, value, &acc.sum, cx)?;
                    if aggregate.kind == K::Min { found.is_lt() } else { found.is_gt() }
                };
                if better {
                    acc.sum = value.clone();
                }
            }
            K::BitAnd | K::BitOr | K::BitXor => {
                let bits = ops::to_bits(value, cx);
                acc.bits = match aggregate.kind {
                    K::BitAnd if acc.count == 1 => bits,
                    K::BitAnd => acc.bits & bits,
                    K::BitOr => acc.bits | bits,
                    _ => acc.bits ^ bits,
                };
            }
            K::StddevPop | K::StddevSamp | K::VarPop | K::VarSamp => {
                let x = value.to_f64(cx).unwrap_or(0.0);
                let delta = x - acc.mean;
                acc.mean += delta / acc.count as f64;
                acc.squares += delta * (x - acc.mean);
            }
            K::GroupConcat => {
                let mut text = Vec::new();
                for value in values {
                    text.extend_from_slice(ops::to_text(value, aggregate.ty.collation, cx).bytes());
                }
                let keys: SqlResult<Vec<Value>> = aggregate.order.iter().map(|k| k.expr.eval(self)).collect();
                acc.texts.push((keys?, text));
                if acc.limit.is_none() && aggregate.limit.count.is_some() {
                    let limit = self.limit(&aggregate.limit)?;
                    acc.limit = Some((limit.offset, limit.count));
                }
            }
            K::JsonArrayAgg | K::JsonObjectAgg => {
                let text = json_member(aggregate, values, cx);
                let keys: SqlResult<Vec<Value>> = aggregate.order.iter().map(|k| k.expr.eval(self)).collect();
                acc.texts.push((keys?, text));
                if acc.limit.is_none() && aggregate.limit.count.is_some() {
                    let limit = self.limit(&aggregate.limit)?;
                    acc.limit = Some((limit.offset, limit.count));
                }
            }
        }
        Ok(())
    }

    /// Takes a row's arguments out of a count or an exact sum again.
    pub(crate) fn take_out(
        &mut self,
        aggregate: &Aggregate,
        values: &[Value],
        acc: &mut Accumulator,
    ) -> SqlResult<()> {
        if aggregate.kind != AggregateKind::CountAll && values.iter().any(Value::is_null) {
            return Ok(());
        }
        acc.count -= 1;
        if matches!(aggregate.kind, AggregateKind::Sum | AggregateKind::Avg) {
            acc.sum = match acc.count {
                0 => Value::Null,
                _ => {
                    let cx = &mut *self.cx.values;
                    match (acc.sum.to_decimal(cx), values[0].to_decimal(cx)) {
                        (Some(a), Some(b)) => a.sub(&b).map_or(Value::Null, Value::from),
                        _ => Value::Null,
                    }
                }
            };
        }
        Ok(())
    }

    /// The value of an aggregate over the rows that were fed.
    pub(crate) fn result(&mut self, aggregate: &Aggregate, acc: Accumulator) -> SqlResult<Value> {
        use AggregateKind as K;
        let (_, scale) = aggregate.ty.precision();
        let n = acc.count as f64;
        Ok(match aggregate.kind {
            K::CountAll | K::Count => Value::Int(acc.count as i64),
            K::Sum => match acc.sum {
                Value::Int(v) => types::Decimal::from_i64(v).into(),
                Value::Decimal(d) => d.with_scale(scale).into(),
                other => other,
            },
            K::Avg => match acc.sum {
                Value::Null => Value::Null,
                sum => {
                    let found =
                        ops::arith(ArithOp::Div, &sum, &Value::Int(acc.count as i64), self.cx.values)?;
                    match aggregate.ty.field {
                        FieldType::Decimal => {
                            let to = CastTo::Decimal { precision: 65, scale };
                            ops::cast(&found, to, self.cx.values)?
                        }
                        _ => found,
                    }
                }
            },
            K::Min | K::Max => acc.sum,
            K::BitAnd => Value::UInt(if acc.count == 0 { u64::MAX } else { acc.bits }),
            K::BitOr | K::BitXor => Value::UInt(acc.bits),
            K::VarPop | K::StddevPop if acc.count == 0 => Value::Null,
            K::VarSamp | K::StddevSamp if acc.count < 2 => Value::Null,
            K::VarPop => Value::Double(acc.squares / n),
            K::VarSamp => Value::Double(acc.squares / (n - 1.0)),
            K::StddevPop => Value::Double((acc.squares / n).sqrt()),
            K::StddevSamp => Value::Double((acc.squares / (n - 1.0)).sqrt()),
            K::GroupConcat | K::JsonArrayAgg | K::JsonObjectAgg => {
                self.group_concat(aggregate, acc.texts, acc.limit)
            }
        })
    }

    fn group_concat(
        &mut self,
        aggregate: &Aggregate,
        mut texts: Vec<(Vec<Value>, Vec<u8>)>,
        limit: Option<(u64, u64)>,
    ) -> Value {
        if texts.is_empty() {
            return Value::Null;
        }
        let keys: &[SortKey] = &aggregate.order;
        if !keys.is_empty() {
            let cx = &mut *self.cx.values;
            texts.sort_by(|a, b| order(keys, &a.0, &b.0, cx));
        }
        if let Some((offset, count)) = limit {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            texts = texts.into_iter().skip(offset).take(count).collect();
        }
        let (open, close, between): (&[u8], &[u8], &[u8]) = match aggregate.kind {
            AggregateKind::JsonArrayAgg => (b"[", b"]", b","),
            AggregateKind::JsonObjectAgg => (b"{", b"}", b", "),
            _ => (b"", b"", b","),
        };
        let separator = aggregate.separator.as_deref().unwrap_or(between);
        let max = usize::try_from(self.cx.settings.group_concat_max_len).unwrap_or(usize::MAX);
        let mut out = open.to_vec();
        for (i, (_, text)) in texts.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(separator);
            }
            out.extend_from_slice(text);
            if out.len() > max {
                let whole = aggregate.ty.collation.charset().valid_prefix(&out[..max]);
                out.truncate(whole);
                self.cx.warnings.warn(SqlError::GroupConcatCut { row: i as u64 + 1 });
                return Value::str(&out, aggregate.ty.collation);
            }
        }
        out.extend_from_slice(close);
        Value::str(&out, aggregate.ty.collation)
    }
}

/// Order of the groups: by their keys, and sums over all values of a key behind those of each value.
fn group_order(group: &GroupPlan, a: &Group, b: &Group, cx: &mut types::Context) -> Ordering {
    for (i, key) in group.keys.iter().enumerate() {
        let rolled = (a.level <= i, b.level <= i);
        if rolled != (false, false) {
            return rolled.0.cmp(&rolled.1);
        }
        let found = compare_sorted(key.compare, &a.keys[i], &b.keys[i], cx);
        if found.is_ne() {
            return if key.descending { found.reverse() } else { found };
        }
    }
    Ordering::Equal
}

/// An element of JSON_ARRAYAGG, or `"key":value` of JSON_OBJECTAGG; the planner has made JSON of the value.
fn json_member(aggregate: &Aggregate, values: &[Value], cx: &mut types::Context) -> Vec<u8> {
    let mut out = Vec::new();
    let collation = aggregate.ty.collation;
    if aggregate.kind == AggregateKind::JsonObjectAgg {
        let key = ops::to_text(&values[0], collation, cx);
        functions::json::write_string(&mut out, key.bytes());
        out.push(b':');
    }
    out.extend_from_slice(ops::to_text(&values[values.len() - 1], collation, cx).bytes());
    out
}

fn add(sum: &Value, value: &Value, field: FieldType, cx: &mut types::Context) -> SqlResult<Value> {
    match (sum, value) {
        (Value::Int(a), Value::Int(b)) => match a.checked_add(*b) {
            Some(v) => Ok(Value::Int(v)),
            None => Ok(exact_sum(sum, value, cx)),
        },
        _ if field == FieldType::Double => {
            Ok(Value::Double(sum.to_f64(cx).unwrap_or(0.0) + value.to_f64(cx).unwrap_or(0.0)))
        }
        _ => Ok(exact_sum(sum, value, cx)),
    }
}

fn exact_sum(sum: &Value, value: &Value, cx: &mut types::Context) -> Value {
    match (sum.to_decimal(cx), value.to_decimal(cx)) {
        (Some(a), Some(b)) => a.add(&b).map_or_else(|| a.into(), Value::from),
        _ => sum.clone(),
    }
}
