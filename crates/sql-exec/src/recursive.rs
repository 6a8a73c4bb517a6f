//! WITH RECURSIVE: rounds over the rows that the last round added.

use std::collections::HashSet;
use std::sync::Arc;

use sql_plan::error::{SqlError, SqlResult};
use sql_plan::expr::CompareAs;
use sql_plan::meta::FieldType;
use sql_plan::ops;
use sql_plan::plan::RecursivePlan;
use types::Value;

use crate::exec::{Exec, Flow};
use crate::select::{EmitFn, RowOut, convert_to};

impl Exec<'_, '_> {
    pub(crate) fn recursive(&mut self, plan: &RecursivePlan, emit: &mut EmitFn<'_>) -> SqlResult<Flow> {
        let most = match self.cx.session.system_variable("max_recursive_iterations", false) {
            Some(value) => value.to_i64(self.cx.values).map_or(u64::MAX, |v| v as u64),
            None => u64::MAX,
        };
        let mut seen = (!plan.all).then(HashSet::new);
        let mut total = 0u64;
        let mut added = Vec::new();
        for seed in &plan.seeds {
            for row in self.collect(seed)? {
                self.add_recursive(plan, row, &mut seen, &mut added, &mut total)?;
            }
        }
        let mut round = 0u64;
        while !added.is_empty() {
            let rows = Arc::new(std::mem::take(&mut added));
            for row in rows.iter() {
                if emit(self, RowOut::Values(row))? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            if round >= most {
                self.too_many_rounds(most);
                break;
            }
            round += 1;
            self.forget_round(plan);
            self.working.insert(plan.id, rows);
            for step in &plan.steps {
                for row in self.collect(step)? {
                    self.count_row()?;
                    self.add_recursive(plan, row, &mut seen, &mut added, &mut total)?;
                }
            }
        }
        self.working.remove(&plan.id);
        Ok(Flow::Continue)
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
        seen: &mut Option<HashSet<Vec<u8>>>,
        added: &mut Vec<Vec<Value>>,
        total: &mut u64,
    ) -> SqlResult<()> {
        let mut key = Vec::new();
        for (i, (value, typed)) in row.iter_mut().zip(&plan.columns).enumerate() {
            *value = convert_to(std::mem::take(value), typed, self.cx.values);
            if let (Value::Str(s), FieldType::VarString) = (&*value, typed.ty.field)
                && s.charset().char_count(s.bytes()) > typed.ty.length as usize
            {
                let error = SqlError::DataTooLong { column: plan.names[i].clone(), row: *total + 1 };
                if self.cx.values.sql_mode.strict() {
                    return Err(error);
                }
                let end = s.charset().char_offset(s.bytes(), typed.ty.length as usize);
                let cut = Value::str(&s.bytes()[..end], s.collation());
                self.cx
                    .warnings
                    .warn(SqlError::DataTruncated { column: plan.names[i].clone(), row: *total + 1 });
                *value = cut;
            }
            if plan.unique.is_empty() || plan.unique.contains(&i) {
                ops::hash_key(value, CompareAs::Any(typed.ty.collation), self.cx.values, &mut key);
            }
        }
        if seen.as_mut().is_none_or(|seen| seen.insert(key)) {
            *total += 1;
            added.push(row);
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
