//! `sql_safe_updates`: UPDATE and DELETE without LIMIT must find the rows that they change by a key.

use sql_plan::error::{SqlError, SqlResult};
use sql_plan::expr::Slot;
use sql_plan::plan::{Access, SelectPlan};

use crate::exec::Exec;

impl Exec<'_, '_> {
    /// # Errors
    /// A table in `changed` is read from end to end, and the variable forbids that.
    pub(crate) fn need_key(
        &mut self,
        plan: &SelectPlan,
        mut changed: impl Iterator<Item = Slot>,
    ) -> SqlResult<()> {
        if plan.limit.count.is_some() || plan.never.is_some() {
            return Ok(());
        }
        let read_whole = |slot: Slot| plan.steps.iter().any(|s| s.slot == slot && is_whole(&s.access));
        if !changed.any(read_whole) {
            return Ok(());
        }
        let safe = self.cx.session.system_variable("sql_safe_updates", false);
        match safe.and_then(|v| v.to_bool(self.cx.values)) {
            Some(true) => Err(SqlError::KeyNeeded),
            _ => Ok(()),
        }
    }
}

fn is_whole(access: &Access) -> bool {
    match access {
        Access::Scan { .. } | Access::Index { .. } => true,
        Access::Hash { inner, .. } => is_whole(inner),
        Access::Point { .. } | Access::Range { .. } | Access::Rows => false,
    }
}
