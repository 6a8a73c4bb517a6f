//! WITH ROLLUP: what stands after grouping reads the keys from the group, where they are NULL in the sums over all of them.

use crate::expr::{ColumnRef, Expr, Slot};
use crate::plan::{SelectPlan, SortKey};

/// Replaces every occurrence of a key behind the grouping by its column of the group's slot; the keys stand behind `aggregates` columns.
pub(crate) fn replace_keys(keys: &[SortKey], slot: Slot, aggregates: usize, plan: &mut SelectPlan) {
    // Expressions have no equality of their own: two that print alike are alike.
    let texts: Vec<String> = keys.iter().map(|k| format!("{:?}", k.expr)).collect();
    let replace = |e: &mut Expr| replace(e, &texts, slot, aggregates);
    for typed in &mut plan.output {
        replace(&mut typed.expr);
        typed.ty.nullable = true;
    }
    plan.having.iter_mut().for_each(replace);
    plan.order.iter_mut().for_each(|k| replace(&mut k.expr));
    if let Some(windows) = &mut plan.windows {
        for window in &mut windows.windows {
            window.partition.iter_mut().chain(&mut window.order).for_each(|k| replace(&mut k.expr));
        }
        windows.functions.iter_mut().flat_map(|f| &mut f.args).for_each(|t| replace(&mut t.expr));
    }
}

fn replace(e: &mut Expr, texts: &[String], slot: Slot, aggregates: usize) {
    if !matches!(e, Expr::Const(_)) {
        let text = format!("{e:?}");
        if let Some(at) = texts.iter().position(|t| *t == text) {
            *e = Expr::Column(ColumnRef { slot, column: (aggregates + at) as u16 });
            return;
        }
    }
    e.children_mut(&mut |child| replace(child, texts, slot, aggregates));
}
