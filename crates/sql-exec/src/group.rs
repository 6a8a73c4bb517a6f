//! GROUP BY and aggregates, by hashing.
//!
//! A group keeps its accumulators and, of its first row, the columns that are used after grouping. When all rows are in, each
//! group puts those columns back into their slots and its results into the group's slot; what follows reads them like any row.
//! Groups come out in the order of their keys.
//!
//! Rows that come in the order of the groups, because the join starts with an index on the keys, need one group at a time.
//!
//! When the groups take more than `tmp_memory_table_size`, rows of further groups are put aside in a file and grouped when the
//! groups in memory are done, in as many rounds as it takes; the finished groups are sorted then. What DISTINCT has seen inside the
//! groups and what GROUP_CONCAT and JSON_ARRAYAGG gather has room of its own (`gathered`).

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use catalog::program::RoutineDef;
use row_format::KeyPart;
use smallvec::SmallVec;
use sql_plan::error::SqlResult;
use sql_plan::expr::{ArithOp, CastTo, ColumnRef, CompareAs, Expr};
use sql_plan::meta::FieldType;
use sql_plan::ops;
use sql_plan::plan::{Access, Aggregate, AggregateKind, GroupPlan, SelectPlan, SortKey, Source};
use storage::row::ReadMode;
use types::Value;

use crate::context::{Inside, RoutineState, SlotRow, Work};
use crate::exec::{Exec, Flow};
use crate::gathered::{Gathered, Member, gathers, member_text};
use crate::join::{JoinRun, RowFn};
use crate::select::{Limit, compare_sorted};
use crate::sort::Sorter;
use crate::spill::{Row, RowWriter, Space, weight};

struct Group {
    /// Its place among the groups of its round.
    number: usize,
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
    space: Space,
    /// Rows of groups that found no room, their level in front.
    aside: Option<RowWriter>,
    gathered: Gathered,
}

impl GroupTable {
    fn new(space: Space, sorting: Space) -> Self {
        Self {
            groups: Vec::new(),
            by_key: HashMap::new(),
            bytes: 0,
            gathered: Gathered::new(space.clone(), sorting),
            space,
            aside: None,
        }
    }
}

/// Where finished groups go: on, or, when they come in several rounds, through a sort.
enum Finished<'f, 's, 'k> {
    Now(&'f mut RowFn<'s>),
    Sorted(Sorter<'k>),
}

/// Whether the rows come in the order of the groups: the join starts with an index that begins with the keys.
pub(crate) fn comes_grouped(plan: &SelectPlan, group: &GroupPlan) -> bool {
    let Some(step) = plan.steps.first().filter(|s| s.outer_end.is_none()) else { return false };
    let Source::Table(handle) = &step.source else { return false };
    let index = match &step.access {
        Access::Scan { descending: false } => 0,
        Access::Index { index, descending: false } | Access::Range { index, descending: false, .. } => *index,
        _ => return false,
    };
    let Some(index) = handle.def.indexes.get(index) else { return false };
    let in_order = |(key, part): (&SortKey, &KeyPart)| {
        let column = ColumnRef { slot: step.slot, column: part.column as u16 };
        let own = matches!(&key.expr, Expr::Column(c) if *c == column);
        own && part.prefix.is_none() && !part.descending && !key.descending
    };
    !group.rollup
        && !group.keys.is_empty()
        && group.keys.len() <= index.parts.len()
        && group.keys.iter().zip(&index.parts).all(in_order)
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
    pub(crate) texts: crate::gathered::Texts,
    routine: RoutineState,
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
        let mut table = GroupTable::new(self.row_space(), self.sort_space());
        if open {
            if !group.keys.is_empty() {
                self.cx.session.count(Work::TemporaryTables, 1);
            }
            let inputs = inputs(plan, group);
            let levels = group.keys.len();
            let least = if group.rollup { 0 } else { levels };
            let mut run = JoinRun::new(plan, mode, None, self.cx.trx.options().isolation);
            if comes_grouped(plan, group) {
                let flow = self
                    .join(&mut run, 0, &mut |exec| exec.group_next(plan, group, &inputs, &mut table, row))?;
                if flow == Flow::Stop || table.groups.is_empty() {
                    return Ok(flow);
                }
                return self.finish_groups(plan, group, table, &mut Finished::Now(row));
            }
            self.join(&mut run, 0, &mut |exec| {
                exec.group_row(group, least..=levels, &inputs, &mut table)?;
                Ok(Flow::Continue)
            })?;
            if let Some(aside) = std::mem::take(&mut table.aside) {
                return self.groups_on_disk(plan, group, &inputs, table, aside, row);
            }
        }
        self.finish_groups(plan, group, table, &mut Finished::Now(row))
    }

    /// A row of rows that come in the order of the groups: when it begins a group, the one before is finished. What comes of that
    /// uses the slots, so the row is put into its group first, and the join gets its slots back.
    fn group_next(
        &mut self,
        plan: &SelectPlan,
        group: &GroupPlan,
        inputs: &[ColumnRef],
        table: &mut GroupTable,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        let mut key = Vec::new();
        for part in &group.keys {
            let value = part.expr.eval(self)?;
            ops::hash_key(&value, part.compare, self.cx.values, &mut key);
        }
        let levels = group.keys.len();
        if table.groups.is_empty() || table.by_key.contains_key(&key) {
            self.group_row(group, levels..=levels, inputs, table)?;
            return Ok(Flow::Continue);
        }
        let mut next = GroupTable::new(table.space.clone(), table.gathered.sorting().clone());
        self.group_row(group, levels..=levels, inputs, &mut next)?;
        let done = std::mem::replace(table, next);
        let slots = &mut self.cx.workspace.slots;
        let joined: SmallVec<[SlotRow; 4]> =
            plan.steps.iter().map(|s| std::mem::take(&mut slots[usize::from(s.slot)])).collect();
        let flow = self.finish_groups(plan, group, done, &mut Finished::Now(row));
        for (step, slot) in plan.steps.iter().zip(joined) {
            self.cx.workspace.slots[usize::from(step.slot)] = slot;
        }
        flow
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
        let order = finished_order(group);
        let mut finished = match plan.order.is_empty() {
            true => Finished::Sorted(Sorter::new(&order, Limit::NONE, self.sort_space())),
            false => Finished::Now(row),
        };
        loop {
            let next = GroupTable::new(table.space.clone(), self.sort_space());
            let done = std::mem::replace(&mut table, next);
            if self.finish_groups(plan, group, done, &mut finished)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            let mut reader = aside.read()?;
            while let Some(mut values) = reader.row()? {
                self.count_row()?;
                let level = match values.pop() {
                    Some(Value::Int(level)) => level as usize,
                    _ => group.keys.len(),
                };
                self.restore(inputs, &values);
                self.group_row(group, level..=level, inputs, &mut table)?;
            }
            match std::mem::take(&mut table.aside) {
                Some(more) => aside = more,
                None => break,
            }
        }
        let flow = self.finish_groups(plan, group, table, &mut finished)?;
        let Finished::Sorted(sorter) = finished else { return Ok(flow) };
        let mut sorted = sorter.finish(self.cx.values)?;
        while let Some(values) = sorted.next(self.cx.values)? {
            if self.emit_group(plan, group, values, row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Writes what the grouping needs of the current row, for its group of one level.
    fn put_aside(&mut self, inputs: &[ColumnRef], level: usize, table: &mut GroupTable) -> SqlResult<()> {
        use sql_plan::eval::Env;
        let values: SqlResult<Vec<Value>> = inputs.iter().map(|c| self.column(*c)).collect();
        if table.aside.is_none() {
            table.aside = Some(RowWriter::create(&table.space)?);
            self.cx.session.count(Work::TemporaryFiles, 1);
        }
        match &mut table.aside {
            Some(aside) => aside.row(&[&values?, &[Value::Int(level as i64)]]),
            None => Ok(()),
        }
    }

    /// Computes the results of the groups and sends each on.
    fn finish_groups(
        &mut self,
        plan: &SelectPlan,
        group: &GroupPlan,
        table: GroupTable,
        finished: &mut Finished<'_, '_, '_>,
    ) -> SqlResult<Flow> {
        let GroupTable { mut groups, mut gathered, .. } = table;
        if groups.is_empty() && group.keys.is_empty() {
            for step in &plan.steps {
                self.set_null(step.slot);
            }
            groups.push(Group {
                number: 0,
                level: 0,
                keys: Vec::new(),
                carried: vec![Value::Null; group.carried.len()],
                accumulators: vec![Accumulator::default(); group.aggregates.len()],
            });
        }
        while let Some(late) = gathered.next_distinct()? {
            let aggregate = &group.aggregates[late.aggregate];
            let accumulator = &mut groups[late.group].accumulators[late.aggregate];
            self.admit_member(aggregate, late, accumulator, &mut gathered)?;
        }
        gathered.finish(self.cx.values)?;
        if gathered.on_disk() {
            self.cx.session.count(Work::TemporaryDiskTables, 1);
            self.cx.session.count(Work::TemporaryFiles, 1);
        }
        if plan.order.is_empty() && matches!(finished, Finished::Now(_)) {
            let cx = &mut *self.cx.values;
            groups.sort_by(|a, b| group_order(group, a, b, cx));
        }
        for found in groups {
            let mut values = found.carried;
            for (i, (aggregate, mut acc)) in group.aggregates.iter().zip(found.accumulators).enumerate() {
                self.take_texts(aggregate, &mut acc, &gathered, (found.number, i))?;
                values.push(self.result(aggregate, acc)?);
            }
            let mut keys = Vec::new();
            if let Finished::Sorted(_) = finished {
                for (i, key) in found.keys.iter().enumerate() {
                    keys.extend([Value::Int(i64::from(found.level <= i)), key.clone()]);
                }
            }
            if group.rollup {
                values.extend(found.keys);
            }
            match finished {
                Finished::Sorted(sorter) => sorter.add(keys, values, self.cx.values)?,
                Finished::Now(row) => {
                    if self.emit_group(plan, group, values, *row)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
            }
        }
        Ok(Flow::Continue)
    }

    /// Puts a group's columns and results into their slots and sends it on.
    fn emit_group(
        &mut self,
        plan: &SelectPlan,
        group: &GroupPlan,
        mut values: Row,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        let results = values.split_off(group.carried.len());
        self.restore(&group.carried, &values);
        self.set_values(group.slot, results);
        if self.passes(plan.having.as_ref())? { row(self) } else { Ok(Flow::Continue) }
    }

    /// Puts the current row into its groups of some levels.
    fn group_row(
        &mut self,
        group: &GroupPlan,
        levels: RangeInclusive<usize>,
        inputs: &[ColumnRef],
        table: &mut GroupTable,
    ) -> SqlResult<()> {
        if group.keys.is_empty() {
            if table.groups.is_empty() {
                let first = self.first_row(group, Vec::new(), 0, 0)?;
                table.groups.push(first);
            }
            return self.accumulate_all(group, 0, table);
        }
        let mut keys = Vec::with_capacity(group.keys.len());
        let mut bytes = Vec::new();
        let mut ends = SmallVec::<[usize; 8]>::new();
        for key in &group.keys {
            ends.push(bytes.len());
            let value = key.expr.eval(self)?;
            ops::hash_key(&value, key.compare, self.cx.values, &mut bytes);
            keys.push(value);
        }
        for level in levels.rev() {
            if level < group.keys.len() {
                // The level is part of the key: NULL as a value is another group than all values.
                bytes.truncate(ends[level]);
                bytes.push(u8::MAX);
            }
            let at = match table.by_key.get(&bytes) {
                Some(at) => *at,
                None if table.bytes > table.space.bytes => {
                    self.put_aside(inputs, level, table)?;
                    continue;
                }
                None => {
                    let mut own = keys.clone();
                    own[level..].fill(Value::Null);
                    let number = table.groups.len();
                    let first = self.first_row(group, own, level, number)?;
                    table.bytes += weight(&first.keys)
                        + weight(&first.carried)
                        + bytes.len()
                        + first.accumulators.len() * size_of::<Accumulator>();
                    table.groups.push(first);
                    table.by_key.insert(bytes.clone(), number);
                    number
                }
            };
            self.accumulate_all(group, at, table)?;
        }
        Ok(())
    }

    fn accumulate_all(&mut self, group: &GroupPlan, at: usize, table: &mut GroupTable) -> SqlResult<()> {
        let accumulators = &mut table.groups[at].accumulators;
        for (i, (aggregate, accumulator)) in group.aggregates.iter().zip(accumulators).enumerate() {
            self.accumulate(aggregate, (at, i), accumulator, &mut table.gathered)?;
        }
        Ok(())
    }

    fn first_row(
        &mut self,
        group: &GroupPlan,
        keys: Vec<Value>,
        level: usize,
        number: usize,
    ) -> SqlResult<Group> {
        use sql_plan::eval::Env;
        let carried: SqlResult<Vec<Value>> = group.carried.iter().map(|c| self.column(*c)).collect();
        Ok(Group {
            number,
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

    fn accumulate(
        &mut self,
        aggregate: &Aggregate,
        place: (usize, usize),
        acc: &mut Accumulator,
        gathered: &mut Gathered,
    ) -> SqlResult<()> {
        let mut values = SmallVec::<[Value; 2]>::new();
        for arg in &aggregate.args {
            values.push(arg.expr.eval(self)?);
        }
        if !aggregate.distinct && !gathers(aggregate) {
            return self.feed(aggregate, &values, acc);
        }
        let json = matches!(aggregate.kind, AggregateKind::JsonArrayAgg | AggregateKind::JsonObjectAgg);
        if !json && values.iter().any(Value::is_null) {
            return Ok(());
        }
        let mut keys = Vec::new();
        if gathers(aggregate) {
            for key in &aggregate.order {
                keys.push(key.expr.eval(self)?);
            }
        }
        let member = Member { group: place.0, aggregate: place.1, values: values.into_vec(), keys };
        if aggregate.distinct && !gathered.is_new(aggregate, &member, self.cx.values)? {
            return Ok(());
        }
        self.admit_member(aggregate, member, acc, gathered)
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
        if let Some(def) = &aggregate.stored {
            return self.stored_step(def, Some(values.to_vec()), acc).map(|_| ());
        }
        let json = matches!(aggregate.kind, K::JsonArrayAgg | K::JsonObjectAgg);
        if !json && values.iter().any(Value::is_null) {
            return Ok(());
        }
        let cx = &mut *self.cx.values;
        acc.count += 1;
        let value = &values[0];
        match aggregate.kind {
            K::CountAll | K::Count | K::Stored => {}
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
            K::GroupConcat | K::JsonArrayAgg | K::JsonObjectAgg => {
                let text = member_text(aggregate, values, cx);
                self.add_text(aggregate, acc, Vec::new(), text)?;
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
            K::GroupConcat | K::JsonArrayAgg | K::JsonObjectAgg => self.group_concat(aggregate, acc.texts),
            K::Stored => {
                let mut acc = acc;
                match &aggregate.stored {
                    Some(def) => self.stored_step(def, None, &mut acc)?,
                    None => Value::Null,
                }
            }
        })
    }

    /// A stored aggregate function gets a row, or learns that its group has ended.
    fn stored_step(
        &mut self,
        def: &Arc<RoutineDef>,
        row: Option<Vec<Value>>,
        acc: &mut Accumulator,
    ) -> SqlResult<Value> {
        let cx = &mut *self.cx;
        let settings = cx.settings;
        let inside = Inside { trx: cx.trx, values: cx.values, warnings: cx.warnings, settings };
        cx.session.feed_routine(def, row, &mut acc.routine, inside)
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

/// The same order, by the keys that a sort of finished groups has: for each key whether it stands for all values, and its value.
fn finished_order(group: &GroupPlan) -> Vec<SortKey> {
    let rolled = SortKey { expr: Expr::int(0), compare: CompareAs::Int, descending: false };
    group.keys.iter().flat_map(|key| [rolled.clone(), key.clone()]).collect()
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
