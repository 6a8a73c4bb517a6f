//! Join order and access paths.
//!
//! Every table gets the cheapest way to find its rows given the tables before it; tables are ordered greedily by that cost
//! unless an outer join or STRAIGHT_JOIN fixes the order. Costs are counted in rows touched; a row found through a secondary
//! index costs a second descent.

use std::collections::BTreeSet;
use std::sync::Arc;

use smallvec::SmallVec;
use sql_syntax::ast::IndexHintKind;

use crate::error::SqlResult;
use crate::expr::{CompareAs, CompareOp, Expr, Slot, SlotSet};
use crate::partition::prune::{self, Filter};
use crate::plan::{Access, OuterEnd, QueryBody, QueryPlan, SelectPlan, Source, StepInfo, TableStep};
use crate::planner::Planner;
use crate::query::{is_always, is_never, slots_of};
use crate::range::{self, Candidate, Wanted};

/// A table of FROM before the join order is known.
#[derive(Debug)]
pub(crate) struct FromTable {
    pub(crate) slot: Slot,
    pub(crate) source: Source,
    pub(crate) alias: String,
    pub(crate) hints: Vec<(IndexHintKind, Vec<usize>)>,
    /// `PARTITION (...)`: the parts that are read.
    pub(crate) parts: Option<Arc<[usize]>>,
    /// What the conditions say of the parts.
    pub(crate) prune: Option<Arc<Filter>>,
    /// The parts that are read, as far as they are known.
    pub(crate) known_parts: Option<Arc<[usize]>>,
    /// The order in which its rows are wanted, and how many of them.
    pub(crate) first_rows: Option<(Vec<usize>, f64)>,
    /// Columns that the statement reads of it; `None` when whole rows are needed.
    pub(crate) columns: Option<BTreeSet<usize>>,
}

impl FromTable {
    pub(crate) fn new(slot: Slot, source: Source, alias: String) -> Self {
        Self {
            slot,
            source,
            alias,
            hints: Vec::new(),
            parts: None,
            prune: None,
            known_parts: None,
            first_rows: None,
            columns: None,
        }
    }
}

/// The right side of a LEFT JOIN: tables `start..=end` of FROM.
#[derive(Debug)]
pub(crate) struct OuterGroup {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) on: Vec<Expr>,
}

/// FROM and WHERE, flattened.
#[derive(Debug, Default)]
pub(crate) struct JoinInput {
    pub(crate) tables: Vec<FromTable>,
    /// WHERE and the conditions of inner joins.
    pub(crate) conditions: Vec<Expr>,
    pub(crate) groups: Vec<OuterGroup>,
    pub(crate) straight: bool,
}

/// A condition that waits for its tables.
struct Condition {
    expr: Expr,
    slots: SlotSet,
    placed: bool,
}

/// Fills `plan.steps`, `gate` and what follows from the access paths.
pub(crate) fn optimise(
    planner: &mut Planner<'_>,
    mut join: JoinInput,
    plan: &mut SelectPlan,
) -> SqlResult<()> {
    let own = slots_of(&join.tables);
    if plan.lock.is_none() {
        note_columns(&mut join, plan);
    }
    simplify_outer_joins(&mut join);
    let written = std::mem::take(&mut join.conditions);
    join.conditions = crate::disjunction::widen(written, &own);
    let mut gate = Vec::new();
    let mut conditions = Vec::new();
    for expr in std::mem::take(&mut join.conditions) {
        if is_always(&expr) {
            continue;
        }
        if is_never(&expr) {
            plan.never = Some("Impossible WHERE");
        }
        let slots = own_slots(&expr, &own);
        if slots.is_empty() && !has_side_effects(&expr) {
            gate.push(expr);
        } else {
            conditions.push(Condition { expr, slots, placed: false });
        }
    }
    plan.gate = Expr::and(gate);
    propagate_constants(&mut conditions, &own);
    prune_parts(planner, &mut join.tables, &join.groups, &conditions);
    let fixed = !join.groups.is_empty() || join.straight;
    let mut bound = SlotSet::default();
    let mut remaining: Vec<(usize, FromTable)> = join.tables.into_iter().enumerate().collect();
    let single = remaining.len() == 1;
    if let [(_, table)] = &mut remaining[..] {
        table.first_rows = crate::order::first_rows_to_change(plan, table.slot);
    }
    while !remaining.is_empty() {
        let pick = if fixed || single { 0 } else { cheapest(planner, &remaining, &conditions, &bound, &own) };
        let (at, table) = remaining.remove(pick);
        // Inner groups stand before the groups around them.
        let group = join.groups.iter().position(|g| (g.start..=g.end).contains(&at));
        let step = match group {
            None => inner_step(planner, table, &mut conditions, &mut bound, &own),
            Some(g) => outer_step(planner, table, at, &mut join.groups[g], &mut bound, &own),
        };
        plan.steps.push(step);
        if group.is_some() {
            let ends = end_groups(&mut join.groups, at, &mut conditions, &bound, &own);
            plan.steps.last_mut().expect("a step was pushed").ends = ends;
        }
    }
    crate::order::use_index_order(plan);
    crate::covering::use_covering_indexes(plan);
    Ok(())
}

/// Which parts of partitioned tables the conditions leave. Of the right side of an outer join its own condition counts.
fn prune_parts(
    planner: &Planner<'_>,
    tables: &mut [FromTable],
    groups: &[OuterGroup],
    conditions: &[Condition],
) {
    for (at, table) in tables.iter_mut().enumerate() {
        let Source::Table(handle) = &table.source else { continue };
        if handle.def.partitioning.is_none() {
            continue;
        }
        let group = groups.iter().find(|g| (g.start..=g.end).contains(&at));
        let filter = match group {
            Some(group) => prune::filter_of(handle, table.slot, group.on.iter()),
            None => prune::filter_of(handle, table.slot, conditions.iter().map(|c| &c.expr)),
        };
        let known = filter.as_ref().and_then(|f| prune::known_parts(handle, f, &planner.context));
        table.known_parts = prune::both(&table.parts, &known);
        table.prune = filter.map(Arc::new);
    }
}

/// Which columns of each table are read: an index may hold them all.
fn note_columns(join: &mut JoinInput, plan: &SelectPlan) {
    for at in 0..join.tables.len() {
        let slot = join.tables[at].slot;
        let mut columns = crate::covering::columns_of(plan, slot);
        for e in join.conditions.iter().chain(join.groups.iter().flat_map(|g| &g.on)) {
            e.columns(&mut |c| {
                if c.slot == slot {
                    columns.insert(usize::from(c.column));
                }
            });
        }
        join.tables[at].columns = Some(columns);
    }
}

/// Slots of this block that an expression reads.
pub(crate) fn own_slots(e: &Expr, own: &SlotSet) -> SlotSet {
    let mut set = SlotSet::default();
    e.columns(&mut |c| {
        if own.contains(c.slot) {
            set.insert(c.slot);
        }
    });
    set
}

pub(crate) fn has_side_effects(e: &Expr) -> bool {
    let mut found = match e {
        Expr::AssignVariable(..) | Expr::UserVariable(_) => true,
        Expr::Call { function, .. } => !function.is_deterministic(),
        _ => false,
    };
    e.children(&mut |c| found |= has_side_effects(c));
    found
}

/// `a LEFT JOIN b ... WHERE b.x = 1` is an inner join: the condition is never true for the row of NULLs. So is an outer join
/// inside the right side of another one whose condition rejects its NULLs.
fn simplify_outer_joins(join: &mut JoinInput) {
    loop {
        let found = (0..join.groups.len()).rev().find_map(|g| {
            let group = &join.groups[g];
            let mut slots = SlotSet::default();
            join.tables[group.start..=group.end].iter().for_each(|t| slots.insert(t.slot));
            let around = (g + 1..join.groups.len())
                .find(|o| join.groups[*o].start <= group.start && join.groups[*o].end >= group.end);
            let outside = around.map_or(&join.conditions, |o| &join.groups[o].on);
            outside.iter().any(|c| rejects_nulls(c, &slots)).then_some((g, around))
        });
        let Some((g, around)) = found else { return };
        let on = std::mem::take(&mut join.groups[g].on);
        match around {
            Some(o) => join.groups[o].on.extend(on),
            None => join.conditions.extend(on),
        }
        join.groups.remove(g);
    }
}

fn rejects_nulls(e: &Expr, slots: &SlotSet) -> bool {
    let strict = |e: &Expr| matches!(e, Expr::Column(c) if slots.contains(c.slot));
    match e {
        Expr::Compare { op, left, right, .. } => {
            *op != CompareOp::NullSafeEq && (strict(left) || strict(right))
        }
        Expr::Between { arg, negated, .. } => !negated && strict(arg),
        Expr::In { arg, .. } | Expr::Like { arg, .. } => strict(arg),
        Expr::IsNull { arg, negated } => *negated && strict(arg),
        _ => false,
    }
}

/// `a.x = b.y AND a.x = 5` gives `b.y = 5`: another way to start.
fn propagate_constants(conditions: &mut Vec<Condition>, own: &SlotSet) {
    let equal = |e: &Expr| match e {
        Expr::Compare {
            op: CompareOp::Eq,
            compare: c @ (CompareAs::Int | CompareAs::Any(_)),
            left,
            right,
        } => Some(((**left).clone(), (**right).clone(), *c)),
        _ => None,
    };
    let pairs: Vec<_> = conditions.iter().filter_map(|c| equal(&c.expr)).collect();
    let mut more = Vec::new();
    for (left, right, compare) in &pairs {
        let (Expr::Column(l), Expr::Column(r)) = (left, right) else { continue };
        if *compare != CompareAs::Int || !own.contains(l.slot) || !own.contains(r.slot) {
            continue;
        }
        for (a, b, c) in &pairs {
            let (column, value) = match (a, b) {
                (Expr::Column(x), v) if v.is_fixed() => (x, v),
                (v, Expr::Column(x)) if v.is_fixed() => (x, v),
                _ => continue,
            };
            let target = if column == l {
                r
            } else if column == r {
                l
            } else {
                continue;
            };
            more.push(Expr::Compare {
                op: CompareOp::Eq,
                compare: *c,
                left: Box::new(Expr::Column(*target)),
                right: Box::new(value.clone()),
            });
        }
    }
    for expr in more {
        let slots = own_slots(&expr, own);
        conditions.push(Condition { expr, slots, placed: false });
    }
}

fn usable<'c>(conditions: &'c [Condition], bound: &SlotSet, slot: Slot) -> Vec<(usize, &'c Expr)> {
    let mut reach = *bound;
    reach.insert(slot);
    conditions
        .iter()
        .enumerate()
        .filter(|(_, c)| !c.placed && c.slots.contains(slot) && c.slots.is_subset(&reach))
        .map(|(i, c)| (i, &c.expr))
        .collect()
}

/// The table to read next: each is tried first, the rest follow greedily, and the whole counts.
fn cheapest(
    planner: &Planner<'_>,
    remaining: &[(usize, FromTable)],
    conditions: &[Condition],
    bound: &SlotSet,
    own: &SlotSet,
) -> usize {
    let tables: Vec<&FromTable> = remaining.iter().map(|(_, t)| t).collect();
    let mut best = (0, f64::INFINITY);
    for first in 0..tables.len() {
        let (mut cost, mut rows) = (0.0, 1.0);
        let mut bound = *bound;
        let mut left: Vec<usize> = (0..tables.len()).collect();
        let mut next = first;
        loop {
            left.retain(|t| *t != next);
            let step = step_cost(planner, tables[next], conditions, &bound, own);
            cost += rows * step.0;
            rows = (rows * step.1).max(1.0);
            bound.insert(tables[next].slot);
            if left.is_empty() || cost >= best.1 {
                break;
            }
            let cheaper = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
            let costs = left.iter().map(|t| {
                let (cost, rows) = step_cost(planner, tables[*t], conditions, &bound, own);
                (*t, cost + rows)
            });
            next = costs.min_by(cheaper).map_or(left[0], |(t, _)| t);
        }
        if cost < best.1 {
            best = (first, cost);
        }
    }
    best.0
}

/// How many rows a query is taken to have: those that its join looks at.
fn rows_of(query: &QueryPlan) -> f64 {
    match &query.body {
        QueryBody::Select(select) => {
            let product: f64 = select.steps.iter().map(|s| s.info.rows.max(1) as f64).product();
            let one_group = select.group.as_ref().is_some_and(|g| g.keys.is_empty());
            let limit = match select.limit.count.as_ref().and_then(crate::plan::as_const) {
                Some(types::Value::Int(n)) => *n as f64,
                _ => f64::INFINITY,
            };
            if one_group { 1.0 } else { product.min(limit) }
        }
        QueryBody::Set(set) => rows_of(&set.first) + set.rest.iter().map(|t| rows_of(&t.query)).sum::<f64>(),
        QueryBody::Values(rows) => rows.len() as f64,
        QueryBody::Series(series) => series.len() as f64,
        QueryBody::Recursive(r) => r.seeds.iter().chain(&r.steps).map(rows_of).sum::<f64>(),
    }
}

/// Cost and rows of reading a table once after those in `bound`.
fn step_cost(
    planner: &Planner<'_>,
    table: &FromTable,
    conditions: &[Condition],
    bound: &SlotSet,
    own: &SlotSet,
) -> (f64, f64) {
    let usable = usable(conditions, bound, table.slot);
    let found = choose(planner, table, &usable, bound, own);
    // A table that nothing connects with the tables so far multiplies rows: it waits.
    let product = if bound.is_empty() || found.is_connected { 1.0 } else { 1e6 };
    let hash = hash_keys(table, &found.candidate.access, &usable, own, bound).is_some();
    // A hash table is built once and then looked up.
    let cost = if hash { found.candidate.cost / 8.0 + 1.0 } else { found.candidate.cost };
    (cost * product, found.candidate.rows)
}

/// The access path of one table and what it makes of its conditions.
struct Choice {
    candidate: Candidate,
    is_connected: bool,
}

fn choose(
    planner: &Planner<'_>,
    table: &FromTable,
    conditions: &[(usize, &Expr)],
    bound: &SlotSet,
    own: &SlotSet,
) -> Choice {
    let is_connected = conditions.iter().any(|(_, e)| own_slots(e, own).intersects(bound));
    let candidate = match &table.source {
        Source::Table(handle) => {
            let wanted = Wanted {
                handle,
                slot: table.slot,
                hints: &table.hints,
                columns: table.columns.as_ref(),
                context: &planner.context,
                parts: table.known_parts.as_deref(),
                first_rows: table.first_rows.as_ref(),
            };
            range::candidates(&wanted, conditions, own, bound)
        }
        Source::Derived(query) => Candidate::rows(Access::Rows, rows_of(query).max(2.0)),
        Source::Virtual(_) | Source::Working(_) | Source::Json(_) => Candidate::rows(Access::Rows, 100.0),
    };
    Choice { candidate, is_connected }
}

fn inner_step(
    planner: &Planner<'_>,
    table: FromTable,
    conditions: &mut [Condition],
    bound: &mut SlotSet,
    own: &SlotSet,
) -> TableStep {
    let (mut candidate, hash) = {
        let usable = usable(conditions, bound, table.slot);
        let choice = choose(planner, &table, &usable, bound, own);
        let hash = hash_keys(&table, &choice.candidate.access, &usable, own, bound);
        (choice.candidate, hash)
    };
    for consumed in &candidate.consumed {
        conditions[*consumed].placed = true;
    }
    let covered: Vec<Expr> = candidate.consumed.iter().map(|i| conditions[*i].expr.clone()).collect();
    if let Some(access) = hash {
        candidate.access = access;
    }
    bound.insert(table.slot);
    let mut on = place(conditions, bound);
    filter_hashed(&mut candidate.access, table.slot, &mut on);
    step(table, candidate, Expr::and(on), Expr::and(covered))
}

/// Conditions on a hashed table's own rows keep rows out of the hash table, instead of being checked at each match.
fn filter_hashed(access: &mut Access, slot: Slot, on: &mut Vec<Expr>) {
    let Access::Hash { filter, .. } = access else { return };
    let mut me = SlotSet::default();
    me.insert(slot);
    let (own, rest): (Vec<Expr>, Vec<Expr>) =
        on.drain(..).partition(|e| e.slots() == me && !has_side_effects(e) && !has_subquery(e));
    *on = rest;
    *filter = Expr::and(own).map(Box::new);
}

pub(crate) fn has_subquery(e: &Expr) -> bool {
    let mut found = matches!(e, Expr::Subquery(_) | Expr::Routine(_));
    e.children(&mut |c| found |= has_subquery(c));
    found
}

fn outer_step(
    planner: &Planner<'_>,
    table: FromTable,
    at: usize,
    group: &mut OuterGroup,
    bound: &mut SlotSet,
    own: &SlotSet,
) -> TableStep {
    let mut conditions: Vec<Condition> = std::mem::take(&mut group.on)
        .into_iter()
        .map(|expr| Condition { slots: own_slots(&expr, own), expr, placed: false })
        .collect();
    let (mut candidate, hash) = {
        let usable = usable(&conditions, bound, table.slot);
        let choice = choose(planner, &table, &usable, bound, own);
        let hash = hash_keys(&table, &choice.candidate.access, &usable, own, bound);
        (choice.candidate, hash)
    };
    for consumed in &candidate.consumed {
        conditions[*consumed].placed = true;
    }
    let covered: Vec<Expr> = candidate.consumed.iter().map(|i| conditions[*i].expr.clone()).collect();
    if let Some(access) = hash {
        candidate.access = access;
    }
    bound.insert(table.slot);
    let last = at == group.end;
    let mut on = Vec::new();
    for condition in conditions {
        if condition.placed {
            continue;
        }
        if last || condition.slots.is_subset(bound) {
            on.push(condition.expr);
        } else {
            group.on.push(condition.expr);
        }
    }
    filter_hashed(&mut candidate.access, table.slot, &mut on);
    let mut step = step(table, candidate, Expr::and(on), Expr::and(covered));
    // Steps are in FROM order when there is an outer join.
    step.outer_end = (at == group.start).then_some(group.end);
    step
}

/// The outer groups whose last table is `at`, innermost first, each with the conditions around it that can be checked now.
fn end_groups(
    groups: &mut [OuterGroup],
    at: usize,
    conditions: &mut [Condition],
    bound: &SlotSet,
    own: &SlotSet,
) -> SmallVec<[OuterEnd; 1]> {
    let mut ends = SmallVec::new();
    for g in 0..groups.len() {
        if groups[g].end != at {
            continue;
        }
        let start = groups[g].start;
        let around = groups[g + 1..].iter_mut().find(|o| o.start <= start && o.end >= at);
        let after = match around {
            None => place(conditions, bound),
            Some(around) => {
                let (now, later) = around.on.drain(..).partition(|e| own_slots(e, own).is_subset(bound));
                around.on = later;
                now
            }
        };
        ends.push(OuterEnd { start, after: Expr::and(after) });
    }
    ends
}

/// Conditions whose tables are all there now.
fn place(conditions: &mut [Condition], bound: &SlotSet) -> Vec<Expr> {
    let mut out = Vec::new();
    for condition in conditions.iter_mut() {
        if !condition.placed && condition.slots.is_subset(bound) {
            condition.placed = true;
            out.push(condition.expr.clone());
        }
    }
    out
}

/// A hash join where no index helps: the keys of both sides.
fn hash_keys(
    table: &FromTable,
    access: &Access,
    conditions: &[(usize, &Expr)],
    own: &SlotSet,
    bound: &SlotSet,
) -> Option<Access> {
    // The rows of JSON_TABLE are others for each row before it.
    let fixed = !matches!(table.source, Source::Json(_));
    if bound.is_empty()
        || !fixed
        || !matches!(access, Access::Scan { .. } | Access::Index { .. } | Access::Rows)
    {
        return None;
    }
    let slot = table.slot;
    let (mut build, mut probe, mut compares) = (Vec::new(), Vec::new(), Vec::new());
    let mut me = SlotSet::default();
    me.insert(slot);
    for (_, e) in conditions {
        let Expr::Compare { op: CompareOp::Eq, compare, left, right } = e else { continue };
        if !matches!(compare, CompareAs::Int | CompareAs::Text(_)) {
            continue;
        }
        let (l, r) = (own_slots(left, own), own_slots(right, own));
        // The table is built once: its side reads nothing but its own row.
        let sides = if l == me && left.slots() == me && !r.contains(slot) && !r.is_empty() {
            (left, right)
        } else if r == me && right.slots() == me && !l.contains(slot) && !l.is_empty() {
            (right, left)
        } else {
            continue;
        };
        build.push((**sides.0).clone());
        probe.push((**sides.1).clone());
        compares.push(*compare);
    }
    (!build.is_empty()).then(|| Access::Hash {
        inner: Box::new(access.clone()),
        filter: None,
        build,
        probe,
        compare: compares,
    })
}

fn step(table: FromTable, candidate: Candidate, on: Option<Expr>, covered: Option<Expr>) -> TableStep {
    TableStep {
        slot: table.slot,
        source: table.source,
        alias: table.alias,
        access: candidate.access,
        on,
        covered,
        outer_end: None,
        ends: SmallVec::new(),
        info: StepInfo {
            rows: candidate.rows.max(1.0) as u64,
            examined: candidate.examined.max(1.0) as u64,
            possible_keys: candidate.possible_keys,
            covering: false,
            parts: table.parts,
            prune: table.prune,
            known_parts: table.known_parts,
            key_parts: candidate.key_parts,
        },
    }
}
