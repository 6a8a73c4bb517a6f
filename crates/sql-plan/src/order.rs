//! When the access order is the wanted order, nothing is sorted.

use catalog::IndexDef;

use crate::expr::{ColumnRef, Expr, Slot};
use crate::plan::{Access, Interval, PartRange, SelectPlan, SortKey, Source, TableStep};

/// Drops the sort, or replaces a scan by an ordered index, where that is cheaper.
pub(crate) fn use_index_order(plan: &mut SelectPlan) {
    if plan.group.is_some()
        || plan.windows.is_some()
        || plan.limit.with_ties
        || plan.order.is_empty()
        || plan.distinct && plan.steps.len() > 1
    {
        return;
    }
    let limited = plan.limit.count.is_some();
    let first = plan.steps.first().and_then(|step| first_rows_to_change(plan, step.slot));
    let first = first.filter(|_| plan.steps.len() == 1).map(|(_, limit)| limit);
    let Some(step) = plan.steps.first_mut() else { return };
    if step.outer_end.is_some() {
        return;
    }
    let Source::Table(handle) = &step.source else { return };
    let handle = handle.clone();
    let Some((columns, descending)) = plain_order(&plan.order, step.slot) else { return };
    let satisfied = match &mut step.access {
        Access::Point { .. } => true,
        Access::Range { index, parts, descending: d, .. } => {
            let fits = follows(&handle.def.indexes[*index], parts, &columns);
            if fits {
                *d = descending;
            }
            fits
        }
        Access::Scan { descending: d } => {
            let clustered =
                follows(&handle.def.indexes[0], &[], &columns) && !handle.def.indexes[0].parts.is_empty();
            if clustered {
                *d = descending;
            }
            clustered
        }
        Access::Index { .. } | Access::Hash { .. } | Access::Rows => false,
    };
    if satisfied || limited && switch_to_ordered_index(step, &columns, descending, first) {
        plan.order.clear();
        plan.ordered_by_index = true;
    }
}

/// ORDER BY plain columns of one table, all in the same direction.
fn plain_order(order: &[SortKey], slot: Slot) -> Option<(Vec<usize>, bool)> {
    let descending = order[0].descending;
    let mut columns = Vec::with_capacity(order.len());
    for key in order {
        match key.expr {
            Expr::Column(ColumnRef { slot: s, column }) if s == slot && key.descending == descending => {
                columns.push(usize::from(column));
            }
            _ => return None,
        }
    }
    Some((columns, descending))
}

/// Whether an index read with these part ranges gives rows ordered by `columns`.
pub(crate) fn follows(index: &IndexDef, ranges: &[PartRange], columns: &[usize]) -> bool {
    let mut wanted = columns.iter().peekable();
    for (i, part) in index.parts.iter().enumerate() {
        let Some(next) = wanted.peek() else { return true };
        if part.prefix.is_some() || part.descending {
            return false;
        }
        if part.column == **next {
            // Several intervals are read in key order, so the part itself is ordered; parts after it are not.
            wanted.next();
            let several = ranges.get(i).is_some_and(|r| r.intervals.len() > 1);
            if several && wanted.peek().is_some() {
                return false;
            }
            continue;
        }
        let fixed = ranges
            .get(i)
            .is_some_and(|r| r.intervals.len() == 1 && matches!(r.intervals[0], Interval::Eq(_)));
        if !fixed {
            return false;
        }
    }
    // A unique key that is used up orders everything after it; a secondary index goes on with the clustered key.
    wanted.peek().is_none()
}

/// What a row costs that is found through a secondary index, beside one of a scan.
const LOOKUP: f64 = 3.0;

/// The columns of ORDER BY and the LIMIT, where a statement locks the first rows of one table.
pub(crate) fn first_rows_to_change(plan: &SelectPlan, slot: Slot) -> Option<(Vec<usize>, f64)> {
    let limit = match plan.limit.count.as_ref().and_then(crate::plan::as_const) {
        Some(types::Value::Int(n)) if plan.lock.is_some() => *n as f64,
        _ => return None,
    };
    let (columns, _) = plan.order.first().and_then(|_| plain_order(&plan.order, slot))?;
    Some((columns, limit))
}

/// With a LIMIT, reading in order and stopping early beats a full scan and a sort.
/// `first`: the limit of a statement that locks what it reads; with conditions, a scan of the index is expected to meet as many
/// rows that match after its share of the table.
fn switch_to_ordered_index(
    step: &mut TableStep,
    columns: &[usize],
    descending: bool,
    first: Option<f64>,
) -> bool {
    let Source::Table(handle) = &step.source else { return false };
    let (examined, rows) = (step.info.examined as f64, step.info.rows as f64);
    let stops_early = first.is_some_and(|limit| limit * examined / rows.max(1.0) * LOOKUP < examined);
    if !matches!(step.access, Access::Scan { .. }) || step.on.is_some() && !stops_early {
        return false;
    }
    let found = handle
        .def
        .indexes
        .iter()
        .enumerate()
        .skip(1)
        .find(|(_, index)| !index.ignored && follows(index, &[], columns));
    let Some((index, _)) = found else { return false };
    step.access = Access::Index { index, descending };
    true
}
