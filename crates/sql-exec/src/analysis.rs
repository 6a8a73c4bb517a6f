//! ANALYZE: a statement is run, and its plan is shown with what each step really did.
//!
//! Counts are kept by step, only while a statement is analyzed. A hash join counts the rows that its table was built of, once.

use std::collections::HashMap;

use sql_plan::error::SqlResult;
use sql_plan::meta::ColumnMeta;
use sql_plan::plan::{Plan, TableStep};
use types::Value;

use crate::context::ExecContext;
use crate::exec::Exec;
use crate::outcome::Outcome;
use crate::sink::{RowSink, SinkClosed};

/// What a step did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StepCount {
    /// How often its rows were asked for.
    pub(crate) loops: u64,
    /// Rows that were looked at, and those that its conditions let through.
    pub(crate) read: u64,
    pub(crate) passed: u64,
}

impl StepCount {
    /// Rows looked at in one loop.
    pub(crate) fn rows(self) -> Option<f64> {
        (self.loops > 0).then(|| self.read as f64 / self.loops as f64)
    }

    /// How many rows of a hundred went on.
    pub(crate) fn filtered(self) -> Option<f64> {
        let share = if self.read == 0 { 100.0 } else { 100.0 * self.passed as f64 / self.read as f64 };
        (self.loops > 0).then(|| share.min(100.0))
    }
}

/// The counts of a statement's steps, by where each step of the plan is in memory.
#[derive(Debug, Default)]
pub(crate) struct Analysis(HashMap<usize, StepCount>);

impl Analysis {
    pub(crate) fn step(&mut self, step: &TableStep) -> &mut StepCount {
        self.0.entry(std::ptr::from_ref(step).addr()).or_default()
    }

    pub(crate) fn of(&self, step: &TableStep) -> StepCount {
        self.0.get(&std::ptr::from_ref(step).addr()).copied().unwrap_or_default()
    }
}

/// Rows that nobody sees.
struct Unseen;

impl RowSink for Unseen {
    fn columns(&mut self, _: &[ColumnMeta]) -> Result<(), SinkClosed> {
        Ok(())
    }
    fn begin_row(&mut self) {}
    fn packed(&mut self, _: &row_format::ColumnType, _: Option<&[u8]>) {}
    fn value(&mut self, _: &Value) {}
    fn end_row(&mut self) -> Result<(), SinkClosed> {
        Ok(())
    }
}

/// Runs a plan as [`crate::run()`] does, keeps its rows back and sends the plan with its counts instead.
pub fn run_analyzed(
    plan: &Plan,
    params: &[Value],
    cx: &mut ExecContext<'_>,
    json: bool,
    sink: &mut dyn RowSink,
) -> SqlResult<Outcome> {
    let mut exec = Exec::new(plan, params, cx);
    exec.analysis = Some(Box::default());
    let ran = exec.run_kind(plan, &mut Unseen);
    let analysis = exec.analysis.take().unwrap_or_default();
    exec.ended();
    let outcome = ran?;
    let sent = match json {
        true => crate::explain_json::send(plan, Some(&analysis), sink),
        false => {
            crate::explain::send_rows(plan, crate::explain::ExplainColumns::Filtered, Some(&analysis), sink)
        }
    };
    let found_rows = sent.map_err(|_| sql_plan::error::SqlError::Interrupted)?;
    Ok(Outcome { has_rows: true, found_rows, ..outcome })
}
