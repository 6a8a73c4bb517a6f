//! The door: runs a plan.

use sql_plan::error::{SqlError, SqlResult};
use sql_plan::expr::Typed;
use sql_plan::plan::{Into, IntoTarget, Plan, PlanKind, QueryBody, QueryPlan, Returning};
use types::Value;

use crate::context::ExecContext;
use crate::exec::{Exec, Flow};
use crate::outcome::Outcome;
use crate::select::{FieldPlace, RowOut};
use crate::sink::RowSink;

/// Runs a plan whose tables are locked (see [`crate::lock_tables`]).
///
/// On an error the statement's changes are undone by the caller (`Trx::rollback_statement`), or the whole transaction when
/// [`ends_transaction`] says so.
pub fn run(
    plan: &Plan,
    params: &[Value],
    cx: &mut ExecContext<'_>,
    sink: &mut dyn RowSink,
) -> SqlResult<Outcome> {
    let mut exec = Exec::new(plan, params, cx);
    let outcome = exec.run_kind(plan, sink);
    exec.ended();
    outcome
}

/// The value of a plan of one expression (see `sql_plan::plan_expr`).
pub fn evaluate(plan: &Plan, params: &[Value], cx: &mut ExecContext<'_>) -> SqlResult<Value> {
    let PlanKind::Do(exprs) = &plan.kind else { return Ok(Value::Null) };
    let mut exec = Exec::new(plan, params, cx);
    let value = exprs.first().map_or(Ok(Value::Null), |e| e.eval(&mut exec));
    keep_warnings(cx);
    value
}

/// Whether an error rolls the whole transaction back.
pub fn ends_transaction(error: &SqlError) -> bool {
    matches!(error, SqlError::Deadlock | SqlError::SnapshotChanged { .. })
}

/// Warnings of the value library become the statement's.
fn keep_warnings(cx: &mut ExecContext<'_>) {
    if cx.values.warning_count == 0 {
        return;
    }
    for warning in cx.values.warnings.drain(..) {
        cx.warnings.of_value(&warning);
    }
    cx.values.warning_count = 0;
}

impl Exec<'_, '_> {
    pub(crate) fn run_kind(&mut self, plan: &Plan, sink: &mut dyn RowSink) -> SqlResult<Outcome> {
        match &plan.kind {
            PlanKind::Query(query) => match &query.into {
                Into::Client => self.send(query, sink),
                Into::Variables(targets) => self.select_into(query, targets),
                Into::OutFile(target) => self.out_file(query, target),
                Into::DumpFile(path) => self.dump_file(query, path),
            },
            PlanKind::Insert(insert) => {
                let outcome = self.insert(insert)?;
                self.send_returned(insert.returning.as_ref(), outcome, sink)
            }
            PlanKind::Update(update) => self.update(update),
            PlanKind::Delete(delete) => {
                let outcome = self.delete(delete)?;
                self.send_returned(delete.returning.as_ref(), outcome, sink)
            }
            PlanKind::Do(exprs) => {
                for e in exprs {
                    e.eval(self)?;
                }
                Ok(Outcome::default())
            }
        }
    }

    /// The statement has run: what it read is counted, its warnings are the session's.
    pub(crate) fn ended(&mut self) {
        self.tell_rows_read();
        keep_warnings(self.cx);
    }

    fn send(&mut self, query: &QueryPlan, sink: &mut dyn RowSink) -> SqlResult<Outcome> {
        sink.columns(&query.columns).map_err(|_| SqlError::Interrupted)?;
        let mut rows = 0u64;
        let most = self.cx.settings.select_limit;
        if most > 0 {
            let examined = self.start_examining(query)?;
            let done = self.query(query, &mut |exec, row| {
                exec.send_row(row, sink)?;
                rows += 1;
                Ok(if rows >= most { Flow::Stop } else { Flow::Continue })
            });
            match done {
                Err(SqlError::RowsExamined) => self.examined(query, examined)?,
                other => _ = other?,
            }
        }
        let found_rows = self.found.take().unwrap_or(rows);
        Ok(Outcome { has_rows: true, found_rows, ..Outcome::default() })
    }

    fn start_examining(&mut self, query: &QueryPlan) -> SqlResult<u64> {
        let QueryBody::Select(select) = &query.body else { return Ok(0) };
        let Some(e) = &select.limit.examined else { return Ok(0) };
        let most = self.limit_value(e, "LIMIT ROWS EXAMINED")?;
        self.examine = Some(most);
        Ok(most)
    }

    /// LIMIT ROWS EXAMINED ended the query: what has been sent stays, a sort has nothing yet.
    fn examined(&mut self, query: &QueryPlan, most: u64) -> SqlResult<()> {
        self.cx.warnings.warn(SqlError::Other {
            errno: 1931,
            state: *b"HY000",
            text: format!(
                "Query execution was interrupted. The query exceeded LIMIT ROWS EXAMINED {most}. The query result may be incomplete"
            ),
        });
        match &query.body {
            QueryBody::Select(select) if !select.order.is_empty() => Err(SqlError::Other {
                errno: 1028,
                state: *b"HY000",
                text: "Sort aborted: LIMIT ROWS EXAMINED".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Sends what RETURNING has gathered.
    fn send_returned(
        &mut self,
        returning: Option<&Returning>,
        outcome: Outcome,
        sink: &mut dyn RowSink,
    ) -> SqlResult<Outcome> {
        let Some(returning) = returning else { return Ok(outcome) };
        sink.columns(&returning.columns).map_err(|_| SqlError::Interrupted)?;
        for row in std::mem::take(&mut self.returned) {
            self.send_row(RowOut::Values(&row), sink)?;
        }
        Ok(Outcome { has_rows: true, ..outcome })
    }

    /// Keeps the RETURNING row of the row in the slot.
    pub(crate) fn keep_returning(&mut self, returning: Option<&Returning>) -> SqlResult<()> {
        if let Some(returning) = returning {
            let row: SqlResult<Vec<Value>> = returning.output.iter().map(|t| t.expr.eval(self)).collect();
            self.returned.push(row?);
        }
        Ok(())
    }

    fn send_row(&mut self, row: RowOut<'_>, sink: &mut dyn RowSink) -> SqlResult<()> {
        sink.begin_row();
        match row {
            RowOut::Values(values) => values.iter().for_each(|v| sink.value(v)),
            RowOut::Slots(output) => {
                let mut place = FieldPlace::default();
                for typed in output {
                    self.send_field(typed, &mut place, sink)?;
                }
            }
        }
        sink.end_row().map_err(|_| SqlError::Interrupted)
    }

    /// A plain column goes from the row body to the sink; anything else is evaluated. `place` is where the last field was.
    fn send_field(&mut self, typed: &Typed, place: &mut FieldPlace, sink: &mut dyn RowSink) -> SqlResult<()> {
        if let Some((ty, bytes)) = self.packed_field(typed, place)? {
            sink.packed(ty, bytes);
            return Ok(());
        }
        let value = typed.expr.eval(self)?;
        sink.value(&value);
        Ok(())
    }

    fn select_into(&mut self, query: &QueryPlan, targets: &[IntoTarget]) -> SqlResult<Outcome> {
        let rows = self.collect(query)?;
        if rows.len() > 1 {
            return Err(SqlError::Other {
                errno: 1172,
                state: *b"42000",
                text: "Result consisted of more than one row".into(),
            });
        }
        match rows.first() {
            None => self.cx.warnings.warn(SqlError::Other {
                errno: 1329,
                state: *b"02000",
                text: "No data - zero rows fetched, selected, or processed".into(),
            }),
            Some(row) => {
                for (target, value) in targets.iter().zip(row) {
                    match target {
                        IntoTarget::User(name) => self.cx.session.set_user_variable(name, value),
                        IntoTarget::Local(index) => self.cx.workspace.into.push((*index, value.clone())),
                    }
                }
            }
        }
        Ok(Outcome { affected_rows: rows.len() as u64, ..Outcome::default() })
    }
}
