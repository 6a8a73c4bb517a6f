//! When an index holds every column that is read, rows come from its entries alone.
//!
//! Entries hold sort keys, so only types whose key gives the value back count: numbers and temporal values, no texts.

use std::collections::BTreeSet;
use std::sync::Arc;

use catalog::TableHandle;
use row_format::ColumnType;

use crate::expr::Slot;
use crate::plan::{Access, SelectPlan, Source};

/// Marks the steps that read entries only; a full scan becomes the scan of the narrowest index that holds all it needs.
pub(crate) fn use_covering_indexes(plan: &mut SelectPlan) {
    if plan.lock.is_some() {
        return;
    }
    let used: Vec<(usize, BTreeSet<usize>)> =
        plan.steps.iter().enumerate().map(|(i, s)| (i, columns_of(plan, s.slot))).collect();
    for (i, columns) in used {
        let step = &mut plan.steps[i];
        let Source::Table(handle) = &step.source else { continue };
        let handle = handle.clone();
        match &mut step.access {
            Access::Index { index, .. } | Access::Range { index, .. } => {
                step.info.covering = *index > 0 && holds(&handle, *index, &columns);
            }
            Access::Scan { descending: false } if !plan.ordered_by_index => {
                let narrowest = (1..handle.def.indexes.len())
                    .filter(|index| !handle.def.indexes[*index].ignored && holds(&handle, *index, &columns))
                    .min_by_key(|index| width(&handle, *index));
                if let Some(index) = narrowest {
                    step.access = Access::Index { index, descending: false };
                    step.info.covering = true;
                }
            }
            _ => {}
        }
    }
}

/// Columns of a slot that the block or a query inside it reads.
pub(crate) fn columns_of(plan: &SelectPlan, slot: Slot) -> BTreeSet<usize> {
    let mut out = BTreeSet::new();
    plan.exprs(&mut |e| {
        e.columns(&mut |c| {
            if c.slot == slot {
                out.insert(usize::from(c.column));
            }
        });
    });
    if let Some(group) = &plan.group {
        out.extend(group.carried.iter().filter(|c| c.slot == slot).map(|c| usize::from(c.column)));
    }
    if let Some(windows) = &plan.windows {
        out.extend(windows.carried.iter().filter(|c| c.slot == slot).map(|c| usize::from(c.column)));
    }
    out
}

pub(crate) fn holds(handle: &Arc<TableHandle>, index: usize, columns: &BTreeSet<usize>) -> bool {
    let def = &handle.def;
    let parts = || def.indexes[index].parts.iter().chain(&def.indexes[0].parts);
    let reversible = parts().all(|p| {
        p.prefix.is_none()
            && !matches!(
                def.columns[p.column].ty,
                ColumnType::Char { .. } | ColumnType::VarChar { .. } | ColumnType::Blob { .. }
            )
    });
    reversible && columns.iter().all(|c| parts().any(|p| p.column == *c))
}

fn width(handle: &Arc<TableHandle>, index: usize) -> u64 {
    let def = &handle.def;
    def.indexes[index].parts.iter().map(|p| def.columns[p.column].ty.max_bytes()).sum()
}
