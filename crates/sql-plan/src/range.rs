//! Range analysis: which conditions restrict which index parts, and what each index would cost.
//!
//! # Exactness
//! A condition that the range expresses exactly is *consumed*: it is not evaluated again for each row. The executor
//! evaluates it nevertheless (as `TableStep::covered`) when a value turned out not to fit the column's type.

use std::collections::BTreeSet;
use std::sync::Arc;

use catalog::{IndexDef, TableHandle};
use row_format::ColumnType;
use sql_syntax::ast::IndexHintKind;
use types::Context;

use crate::expr::{CompareAs, CompareOp, Expr, Slot, SlotSet, SubqueryKind};
use crate::plan::{Access, Interval, PartRange};
use crate::{cost, covering, order};

/// One way to read a table.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) access: Access,
    /// Rows that match.
    pub(crate) rows: f64,
    /// Rows that are looked at.
    pub(crate) examined: f64,
    pub(crate) cost: f64,
    /// Positions of the conditions that the access expresses exactly.
    pub(crate) consumed: Vec<usize>,
    pub(crate) possible_keys: Vec<usize>,
    pub(crate) key_parts: usize,
}

impl Candidate {
    pub(crate) fn rows(access: Access, rows: f64) -> Self {
        Self {
            access,
            rows,
            examined: rows,
            cost: rows,
            consumed: Vec::new(),
            possible_keys: Vec::new(),
            key_parts: 0,
        }
    }
}

/// A condition as intervals of one column.
struct Sarg {
    condition: usize,
    column: usize,
    intervals: Vec<Interval>,
    exact: bool,
}

/// Rows assumed of a table that nobody has counted yet.
const UNKNOWN_ROWS: f64 = 1000.0;

/// What is known of a table besides its conditions.
pub(crate) struct Wanted<'w> {
    pub(crate) handle: &'w Arc<TableHandle>,
    pub(crate) slot: Slot,
    pub(crate) hints: &'w [(IndexHintKind, Vec<usize>)],
    /// Columns that are read; `None` when rows are locked, which needs the rows themselves.
    pub(crate) columns: Option<&'w BTreeSet<usize>>,
    /// For values that are brought to the columns' types.
    pub(crate) context: &'w Context,
    /// Of a partitioned table: the parts that are read, as far as they are known.
    pub(crate) parts: Option<&'w [usize]>,
    /// ORDER BY columns and LIMIT of a statement that locks what it reads.
    pub(crate) first_rows: Option<&'w (Vec<usize>, f64)>,
}

/// Ranges of one access, unless one list alone has more.
const RANGES_MAX: usize = 16_384;

/// The cheapest access of a table.
pub(crate) fn candidates(
    table: &Wanted<'_>,
    conditions: &[(usize, &Expr)],
    own: &SlotSet,
    bound: &SlotSet,
) -> Candidate {
    let (handle, slot, hints) = (table.handle, table.slot, table.hints);
    let total = handle.row_estimate_of(table.parts).map_or(UNKNOWN_ROWS, |n| n as f64).max(1.0);
    let sargs: Vec<Sarg> =
        conditions.iter().filter_map(|(i, e)| sarg(*i, e, slot, handle, own, bound)).collect();
    let forced = hints.iter().any(|(kind, _)| *kind == IndexHintKind::Force);
    let scan_cost = if forced { total * 1e6 } else { total + 5.0 };
    let mut best =
        Candidate { cost: scan_cost, ..Candidate::rows(Access::Scan { descending: false }, total) };
    let mut possible = Vec::new();
    for (i, index) in handle.def.indexes.iter().enumerate() {
        if index.parts.is_empty() || index.ignored || !allowed(i, hints) {
            continue;
        }
        let Some(mut candidate) = of_index(table, i, index, &sargs, total) else { continue };
        possible.push(i);
        if let (Some((columns, limit)), Access::Range { parts, .. }) = (table.first_rows, &candidate.access)
            && order::follows(index, parts, columns)
        {
            // It stops at the limit, behind those that the other conditions refuse.
            let others = conditions.iter().filter(|(c, _)| !candidate.consumed.contains(c));
            let share: f64 = others.map(|(_, e)| selectivity(e)).product();
            candidate.cost *= (limit / (candidate.rows * share).max(1.0)).min(1.0);
        }
        if candidate.cost < best.cost {
            best = candidate;
        }
    }
    // What the access does not express filters, too.
    let by_key = |e: &Expr| match &best.access {
        Access::Point { .. } => true,
        Access::Range { index, parts, .. } => {
            let used = &handle.def.indexes[*index].parts[..parts.len()];
            used.iter().any(|p| compares_column(e, slot, p.column))
        }
        _ => false,
    };
    let mut share = 1.0;
    for (i, e) in conditions {
        if !best.consumed.contains(i) && !by_key(e) {
            share *= selectivity(e);
        }
    }
    best.rows = (best.rows * share).max(1.0);
    best.possible_keys = possible;
    best
}

/// Share of the rows that a condition leaves, by its form alone.
fn selectivity(e: &Expr) -> f64 {
    match e {
        Expr::Compare { op: CompareOp::Eq | CompareOp::NullSafeEq, .. } => 0.1,
        Expr::Compare { op: CompareOp::Ne, .. } => 0.9,
        Expr::Compare { .. } => 0.33,
        Expr::Between { negated: false, .. } => 0.15,
        Expr::In { list, negated: false, .. } => (0.1 * list.len() as f64).min(0.5),
        Expr::Like { negated: false, .. } => 0.1,
        Expr::IsNull { negated: false, .. } => 0.1,
        Expr::Subquery(s) if !s.negated => match s.kind {
            SubqueryKind::Compare { op: CompareOp::Eq, all: false, .. } => 0.1,
            _ => 0.5,
        },
        Expr::Or(list) => list.iter().map(selectivity).sum::<f64>().min(0.9),
        Expr::And(list) => list.iter().map(selectivity).product(),
        _ => 0.8,
    }
}

fn compares_column(e: &Expr, slot: Slot, column: usize) -> bool {
    let mut found = false;
    e.columns(&mut |c| found |= c.slot == slot && usize::from(c.column) == column);
    found
}

fn allowed(index: usize, hints: &[(IndexHintKind, Vec<usize>)]) -> bool {
    let mut wanted: Option<bool> = None;
    for (kind, indexes) in hints {
        let named = indexes.contains(&index);
        match kind {
            IndexHintKind::Ignore if named => return false,
            IndexHintKind::Ignore => {}
            IndexHintKind::Use | IndexHintKind::Force => wanted = Some(wanted.unwrap_or(false) || named),
        }
    }
    wanted.unwrap_or(true)
}

fn of_index(
    table: &Wanted<'_>,
    number: usize,
    index: &IndexDef,
    sargs: &[Sarg],
    total: f64,
) -> Option<Candidate> {
    let mut parts: Vec<PartRange> = Vec::new();
    let mut consumed = Vec::new();
    let mut points = true;
    let mut product = 1.0;
    let mut single_points = true;
    let mut spread = 1usize;
    for part in &index.parts {
        if !points {
            break;
        }
        let Some((intervals, mut used)) = part_intervals(part.column, part.prefix.is_some(), sargs) else {
            break;
        };
        // Lists of values for several parts multiply: the parts behind are conditions then.
        spread = spread.saturating_mul(intervals.len());
        if spread > RANGES_MAX && !parts.is_empty() {
            break;
        }
        points = intervals.iter().all(Interval::is_point);
        single_points &= points && intervals.len() == 1 && matches!(intervals[0], Interval::Eq(_));
        if points {
            product *= intervals.len() as f64;
        } else {
            product *= interval_fraction(&intervals).max(1.0 / total) * total;
        }
        consumed.append(&mut used);
        parts.push(PartRange { intervals });
    }
    if parts.is_empty() {
        return None;
    }
    let whole = parts.len() == index.parts.len() && points;
    let key_parts = parts.len();
    let one_row = whole && index.unique && single_points;
    let counted =
        if one_row { None } else { cost::rows_in_range(table.handle, number, &parts, table.context) };
    let rows = if let Some(rows) = counted {
        rows.clamp(1.0, total.max(1.0))
    } else if whole && index.unique {
        product
    } else if points {
        let counted = table.handle.statistics.get().and_then(|s| s.rows_per_key(number, key_parts));
        let share = counted.unwrap_or_else(|| total.powf(0.3 / key_parts as f64).max(1.0));
        (product * share).min(total)
    } else {
        // The last part is an interval: `product` counts rows already, narrowed by the points before it.
        let narrowed = if key_parts > 1 { product / total.powf(0.5) } else { product };
        narrowed.clamp(1.0, total)
    };
    // An entry that holds all that is read spares the way to its row.
    let alone = number > 0 && table.columns.is_some_and(|c| covering::holds(table.handle, number, c));
    let lookup = if number == 0 || alone { 1.0 } else { 1.5 };
    let access = if one_row {
        let key: Vec<Expr> = parts.into_iter().filter_map(single_point).collect();
        let constant = key.iter().all(Expr::is_fixed);
        Access::Point { index: number, key, constant }
    } else {
        let constant = parts.iter().flat_map(|p| &p.intervals).all(interval_is_fixed);
        Access::Range { index: number, parts, descending: false, constant }
    };
    let cost = rows * lookup + if number == 0 { 1.0 } else { 1.5 };
    let possible_keys = Vec::new();
    Some(Candidate { access, rows, examined: rows, cost, consumed, possible_keys, key_parts })
}

fn single_point(part: PartRange) -> Option<Expr> {
    match part.intervals.into_iter().next() {
        Some(Interval::Eq(e)) => Some(e),
        _ => None,
    }
}

fn interval_is_fixed(i: &Interval) -> bool {
    match i {
        Interval::Eq(e) | Interval::NullSafeEq(e) | Interval::Prefix(e) => e.is_fixed(),
        Interval::Between { low, high } => low.iter().chain(high).all(|(e, _)| e.is_fixed()),
        Interval::Null | Interval::NotNull => true,
    }
}

/// Share of the rows that intervals take, without looking at the data.
fn interval_fraction(intervals: &[Interval]) -> f64 {
    let one = |i: &Interval| match i {
        Interval::Between { low: Some(_), high: Some(_) } | Interval::Prefix(_) => 0.05,
        Interval::Between { .. } => 0.33,
        Interval::NotNull => 0.9,
        _ => 0.01,
    };
    intervals.iter().map(one).sum::<f64>().min(1.0)
}

/// The intervals of one column: the best point set, or all bounds together.
fn part_intervals(column: usize, prefix: bool, sargs: &[Sarg]) -> Option<(Vec<Interval>, Vec<usize>)> {
    let mine = || sargs.iter().filter(|s| s.column == column);
    let points =
        mine().filter(|s| s.intervals.iter().all(Interval::is_point)).min_by_key(|s| s.intervals.len());
    if let Some(s) = points {
        let used = if s.exact && !prefix { vec![s.condition] } else { Vec::new() };
        return Some((s.intervals.clone(), used));
    }
    // One lower and one upper bound of different conditions make one interval.
    let (mut low, mut high) = (None, None);
    let mut used = Vec::new();
    let mut other: Option<&Sarg> = None;
    for s in mine() {
        let mut taken = false;
        if let [Interval::Between { low: l, high: h }] = s.intervals.as_slice()
            && !prefix
        {
            let fits = (l.is_none() || low.is_none()) && (h.is_none() || high.is_none());
            if fits {
                low = low.or_else(|| l.clone());
                high = high.or_else(|| h.clone());
                taken = true;
                if s.exact {
                    used.push(s.condition);
                }
            }
        }
        if !taken && other.is_none() {
            other = Some(s);
        }
    }
    if low.is_some() || high.is_some() {
        return Some((vec![Interval::Between { low, high }], used));
    }
    let s = other?;
    if prefix && !s.intervals.iter().all(|i| matches!(i, Interval::Prefix(_))) {
        return None;
    }
    let used = if s.exact && !prefix { vec![s.condition] } else { Vec::new() };
    Some((s.intervals.clone(), used))
}

/// A condition on one column of the table by values that are known before it is read.
fn sarg(
    condition: usize,
    e: &Expr,
    slot: Slot,
    handle: &TableHandle,
    own: &SlotSet,
    bound: &SlotSet,
) -> Option<Sarg> {
    let known = |e: &Expr| {
        let mut good = true;
        e.columns(&mut |c| good &= c.slot != slot && (!own.contains(c.slot) || bound.contains(c.slot)));
        good && !changes_by_row(e)
    };
    let column_of = |e: &Expr| match e {
        Expr::Column(c) if c.slot == slot => Some(usize::from(c.column)),
        _ => None,
    };
    let ty = |column: usize| &handle.def.columns[column].ty;
    match e {
        Expr::Compare { op, compare, left, right } => {
            let (column, value, op) = match (column_of(left), column_of(right)) {
                (Some(c), _) if known(right) => (c, &**right, *op),
                (_, Some(c)) if known(left) => (c, &**left, op.flip()),
                _ => return None,
            };
            let exact = fits(ty(column), *compare)?;
            let between = |low, high| Interval::Between { low, high };
            let v = value.clone();
            let interval = match op {
                CompareOp::Eq => Interval::Eq(v),
                CompareOp::NullSafeEq => Interval::NullSafeEq(v),
                CompareOp::Lt => between(None, Some((v, false))),
                CompareOp::Le => between(None, Some((v, true))),
                CompareOp::Gt => between(Some((v, false)), None),
                CompareOp::Ge => between(Some((v, true)), None),
                CompareOp::Ne => return None,
            };
            Some(Sarg { condition, column, intervals: vec![interval], exact })
        }
        Expr::Between { arg, low, high, compare, negated: false } => {
            let column = column_of(arg).filter(|_| known(low) && known(high))?;
            let exact = fits(ty(column), compare[0])? & fits(ty(column), compare[1])?;
            let interval = Interval::Between {
                low: Some(((**low).clone(), true)),
                high: Some(((**high).clone(), true)),
            };
            Some(Sarg { condition, column, intervals: vec![interval], exact })
        }
        Expr::In { arg, list, compare, negated: false } => {
            let column = column_of(arg).filter(|_| list.iter().all(known))?;
            let exact = fits(ty(column), *compare)?;
            Some(Sarg {
                condition,
                column,
                intervals: list.iter().cloned().map(Interval::Eq).collect(),
                exact,
            })
        }
        Expr::IsNull { arg, negated } => {
            let column = column_of(arg)?;
            let interval = if *negated { Interval::NotNull } else { Interval::Null };
            Some(Sarg { condition, column, intervals: vec![interval], exact: true })
        }
        Expr::Like { arg, pattern, escape: None, collation, negated: false } => {
            let column = column_of(arg).filter(|_| known(pattern) && pattern.is_fixed())?;
            let same = ty(column).collation() == Some(*collation);
            same.then(|| Sarg {
                condition,
                column,
                intervals: vec![Interval::Prefix((**pattern).clone())],
                exact: false,
            })
        }
        Expr::Or(list) => {
            let mut sides = list.iter().map(|e| sarg(condition, e, slot, handle, own, bound));
            let mut all = sides.next()??;
            for side in sides {
                let side = side?;
                if side.column != all.column {
                    return None;
                }
                all.intervals.extend(side.intervals);
                all.exact &= side.exact;
            }
            Some(all)
        }
        _ => None,
    }
}

/// A condition as intervals of one column of a table, by values that are the same for the whole statement.
pub(crate) fn intervals_of(
    e: &Expr,
    slot: Slot,
    handle: &Arc<TableHandle>,
) -> Option<(usize, Vec<Interval>)> {
    let found = sarg(0, e, slot, handle, &SlotSet::default(), &SlotSet::default())?;
    found.intervals.iter().all(interval_is_fixed).then_some((found.column, found.intervals))
}

/// A value that may be another for the next row although it reads none; an uncorrelated subquery is run once.
fn changes_by_row(e: &Expr) -> bool {
    let mut found = match e {
        Expr::Subquery(s) => s.correlated,
        Expr::AssignVariable(..) | Expr::UserVariable(_) => true,
        Expr::Call { function, .. } => !function.is_deterministic(),
        _ => false,
    };
    if !matches!(e, Expr::Subquery(_)) {
        e.children(&mut |c| found |= changes_by_row(c));
    }
    found
}

/// Whether an index on a column of this type finds what the comparison means, and whether exactly that.
fn fits(ty: &ColumnType, compare: CompareAs) -> Option<bool> {
    match ty {
        ColumnType::Int { .. } => match compare {
            CompareAs::Int | CompareAs::Decimal | CompareAs::Double | CompareAs::Any(_) => Some(true),
            CompareAs::Text(_) | CompareAs::Temporal | CompareAs::Fixed(_) => None,
        },
        ColumnType::Decimal { .. } => match compare {
            CompareAs::Int | CompareAs::Decimal | CompareAs::Any(_) => Some(false),
            _ => None,
        },
        ColumnType::Double { .. } => match compare {
            CompareAs::Int | CompareAs::Decimal | CompareAs::Double | CompareAs::Any(_) => Some(false),
            _ => None,
        },
        ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => match compare {
            CompareAs::Temporal | CompareAs::Any(_) => Some(false),
            _ => None,
        },
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Blob { collation, .. } => match compare {
            CompareAs::Text(c) if c == *collation => Some(true),
            CompareAs::Any(c) if c == *collation => Some(true),
            _ => None,
        },
        ColumnType::Fixed(kind) => (compare == CompareAs::Fixed(*kind)).then_some(true),
        ColumnType::Float { .. }
        | ColumnType::Year
        | ColumnType::Bit { .. }
        | ColumnType::Time { .. }
        | ColumnType::Enum { .. }
        | ColumnType::Set { .. } => None,
    }
}
