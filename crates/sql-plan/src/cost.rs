//! How many rows a range of an index holds: asked of the storage engine where the values are known when planning.
//!
//! A plan is made once and run often, so the few page reads of an estimate cost a prepared statement nothing. Values of
//! parameters and of joined rows are not known here; `range` assumes a share for them.

use catalog::TableHandle;
use types::{Context, Value};

use crate::expr::Expr;
use crate::fold::ConstEnv;
use crate::keys::{self, Ranges};
use crate::plan::{Interval, PartRange};

/// Ranges of one access that are looked up; the others are taken to be like them.
const DIVES: usize = 16;

/// Rows in the ranges of `parts`; `None` when a value is not known yet, or the pages cannot be read.
pub(crate) fn rows_in_range(
    handle: &TableHandle,
    index: usize,
    parts: &[PartRange],
    context: &Context,
) -> Option<f64> {
    if !parts.iter().flat_map(|p| &p.intervals).all(is_known) {
        return None;
    }
    let mut env = ConstEnv { context: context.clone() };
    let list = match keys::ranges(&mut env, handle, index, parts).ok()? {
        Ranges::List(list) => list,
        Ranges::Unusable => return None,
    };
    let step = list.len().div_ceil(DIVES).max(1);
    let (mut rows, mut dives) = (0.0, 0.0);
    for range in list.iter().step_by(step) {
        rows += handle.engine.records_in_range(&handle.table, index, range)? as f64;
        dives += 1.0;
    }
    Some(if dives > 0.0 { rows / dives * list.len() as f64 } else { 0.0 })
}

fn is_known(interval: &Interval) -> bool {
    let known = |e: &Expr| matches!(e, Expr::Const(_));
    match interval {
        Interval::Eq(e) | Interval::NullSafeEq(e) => known(e),
        Interval::Prefix(e) => matches!(e, Expr::Const(Value::Str(_))),
        Interval::Between { low, high } => low.iter().chain(high).all(|(e, _)| known(e)),
        Interval::Null | Interval::NotNull => true,
    }
}
