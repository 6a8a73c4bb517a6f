//! WITH RECURSIVE: rounds over the rows that the last round added.

use std::sync::Arc;

use sql_plan::error::{SqlError, SqlResult};
use sql_plan::expr::CompareAs;
use sql_plan::meta::FieldType;
use sql_plan::ops;
use sql_plan::plan::{QueryPlan, RecursivePlan};
use types::Value;

use crate::exec::{Exec, Flow};
use crate::row_store::RowStore;
use crate::seen_keys::SeenKeys;
use crate::select::{EmitFn, RowOut, convert_to};

/// What the rounds have made.
struct Round {
    /// The keys of all rows so far; absent for UNION ALL.
    seen: Option<SeenKeys>,
    added: RowStore,
    total: u64,
}

impl Exec<'_, '_> {
    pub(crate) fn recursive(&mut self, plan: &RecursivePlan, emit: &mut EmitFn<'_>) -> SqlResult<Flow> {
        let most = match self.cx.session.system_variable("max_recursive_iterations", false) {
            Some(value) => value.to_i64(self.cx.values).map_or(u64::MAX, |v| v as u64),
            None => u64::MAX,
        };
        let mut round = Round {
            seen: (!plan.all).then(|| SeenKeys::new(self.row_space(), self.sort_space())),
            added: RowStore::new(self.row_space()),
            total: 0,
        };
        for seed in &plan.seeds {
            self.recursive_part(plan, seed, &mut round)?;
        }
        let mut rounds = 0u64;
        loop {
            let rows =
                Arc::new(std::mem::replace(&mut round.added, RowStore::new(self.row_space())).finish()?);
            if rows.len() == 0 {
                break;
            }
            let (mut cursor, mut row) = (rows.cursor(), Vec::new());
            while cursor.next_into(&mut row)? {
                if emit(self, RowOut::Values(&row))? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            if rounds >= most {
                self.too_many_rounds(most);
                break;
            }
            rounds += 1;
            self.forget_round(plan);
            self.working.insert(plan.id, rows);
            for step in &plan.steps {
                self.recursive_part(plan, step, &mut round)?;
            }
        }
        self.working.remove(&plan.id);
        Ok(Flow::Continue)
    }

    fn recursive_part(&mut self, plan: &RecursivePlan, part: &QueryPlan, round: &mut Round) -> SqlResult<()> {
        self.query(part, &mut |exec, out| {
            exec.count_row()?;
            let row = out.values(exec)?;
            exec.add_recursive(plan, row, round)?;
            Ok(Flow::Continue)
        })?;
        Ok(())
    }

    /// What the steps remember of the last round's rows.
    fn forget_round(&mut self, plan: &RecursivePlan) {
        self.derived.retain(|slot, _| !plan.slots.contains(slot));
        self.hashes.retain(|slot, _| !plan.slots.contains(slot));
        for id in plan.subqueries.clone() {
            self.subqueries[usize::from(id)] = None;
        }
    }

    /// Brings a row to the types of the table and keeps it unless it is there already.
    fn add_recursive(
        &mut self,
        plan: &RecursivePlan,
        mut row: Vec<Value>,
        round: &mut Round,
    ) -> SqlResult<()> {
        let mut key = Vec::new();
        for (i, (value, typed)) in row.iter_mut().zip(&plan.columns).enumerate() {
            *value = convert_to(std::mem::take(value), typed, self.cx.values);
            if let (Value::Str(s), FieldType::VarString) = (&*value, typed.ty.field)
                && s.charset().char_count(s.bytes()) > typed.ty.length as usize
            {
                let error = SqlError::DataTooLong { column: plan.names[i].clone(), row: round.total + 1 };
                if self.cx.values.sql_mode.strict() {
                    return Err(error);
                }
                let end = s.charset().char_offset(s.bytes(), typed.ty.length as usize);
                let cut = Value::str(&s.bytes()[..end], s.collation());
                self.cx
                    .warnings
                    .warn(SqlError::DataTruncated { column: plan.names[i].clone(), row: round.total + 1 });
                *value = cut;
            }
            if plan.unique.is_empty() || plan.unique.contains(&i) {
                ops::hash_key(value, CompareAs::Any(typed.ty.collation), self.cx.values, &mut key);
            }
        }
        let new = match &mut round.seen {
            Some(seen) => seen.insert(key, self.cx.values)?,
            None => true,
        };
        if new {
            round.total += 1;
            round.added.add(row)?;
        }
        Ok(())
    }

    fn too_many_rounds(&mut self, most: u64) {
        self.cx.warnings.warn(SqlError::Other {
            errno: 1931,
            state: *b"HY000",
            text: format!(
                "Query execution was interrupted. The query exceeded max_recursive_iterations = {most}. The query result may be incomplete"
            ),
        });
    }
}
