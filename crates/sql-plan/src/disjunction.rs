//! What an OR says of each of its tables.
//!
//! `(a.x = b.y AND a.c = 1) OR (a.x = b.y AND b.d = 2)` is `a.x = b.y AND (a.c = 1 OR b.d = 2)`: what all arms have in common
//! joins, and finds rows by index. And when every arm restricts one table, the OR of those restrictions can be checked as soon
//! as that table is read: `(n1 = 'F' AND n2 = 'G') OR (n1 = 'G' AND n2 = 'F')` lets only F and G of n1 through.

use crate::access::{has_side_effects, has_subquery, own_slots};
use crate::expr::{Expr, Slot, SlotSet};

/// Arms of an OR that are looked at; longer ones are lists of values as a rule.
const ARMS_MAX: usize = 16;

/// The conditions, ORs split as far as possible, and what follows from them for single tables.
pub(crate) fn widen(conditions: Vec<Expr>, own: &SlotSet) -> Vec<Expr> {
    let mut out = Vec::with_capacity(conditions.len());
    for condition in conditions {
        match condition {
            Expr::Or(arms) if arms.len() <= ARMS_MAX && !arms.iter().any(has_side_effects) => {
                split(arms, own, &mut out);
            }
            other => out.push(other),
        }
    }
    out
}

fn split(arms: Vec<Expr>, own: &SlotSet, out: &mut Vec<Expr>) {
    let mut arms: Vec<Vec<Expr>> = arms
        .into_iter()
        .map(|arm| {
            let mut list = Vec::new();
            arm.into_conjuncts(&mut list);
            list
        })
        .collect();
    let text = |e: &Expr| format!("{e:?}");
    let mut common: Vec<String> = arms[0].iter().filter(|e| !has_subquery(e)).map(text).collect();
    for arm in &arms[1..] {
        let mine: Vec<String> = arm.iter().map(text).collect();
        common.retain(|c| mine.contains(c));
    }
    if !common.is_empty() {
        out.extend(arms[0].iter().filter(|e| common.contains(&text(e))).cloned());
        for arm in &mut arms {
            arm.retain(|e| !common.contains(&text(e)));
        }
        // An arm that says nothing more is true whenever the common part is.
        if arms.iter().any(Vec::is_empty) {
            return;
        }
    }
    let mut slots = SlotSet::default();
    arms.iter().flatten().for_each(|e| slots.union(&own_slots(e, own)));
    let tables: Vec<Slot> = (0..SlotSet::CAPACITY).filter(|s| slots.contains(*s)).collect();
    if tables.len() > 1 {
        out.extend(tables.iter().filter_map(|table| restriction(&arms, *table, own)));
    }
    out.push(Expr::Or(arms.into_iter().filter_map(Expr::and).collect()));
}

/// The OR of what each arm asks of one table; `None` when an arm asks nothing.
fn restriction(arms: &[Vec<Expr>], table: Slot, own: &SlotSet) -> Option<Expr> {
    let mut me = SlotSet::default();
    me.insert(table);
    let of_arm = |arm: &Vec<Expr>| {
        let mine = arm.iter().filter(|e| own_slots(e, own) == me && !has_subquery(e)).cloned().collect();
        Expr::and(mine)
    };
    let list: Option<Vec<Expr>> = arms.iter().map(of_arm).collect();
    list.map(Expr::Or)
}
