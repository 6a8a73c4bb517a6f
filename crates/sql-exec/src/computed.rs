//! What writing a row computes and checks: defaults by expression, generated columns, CHECK constraints.
//!
//! A generated column is stored whatever its kind, so reading and indexing know nothing of it; it is computed whenever a row is
//! written. Checks see the complete row. A check that is UNKNOWN holds.

use std::sync::Arc;

use catalog::TableHandle;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::eval::Env;
use sql_plan::expr::{ColumnRef, Expr, SessionValue, Subquery};
use sql_plan::plan::ViewRule;
use sql_plan::program::{self, TableProgram};
use types::{Context, Value};

use crate::exec::Exec;
use crate::store::{self, StoreMode};

/// Expressions of a definition over one row's values; the session's answers are the statement's.
struct RowEnv<'r, 'c, 'p> {
    values: &'r [Value],
    exec: &'r mut Exec<'c, 'p>,
}

impl Env for RowEnv<'_, '_, '_> {
    fn column(&mut self, column: ColumnRef) -> SqlResult<Value> {
        Ok(self.values.get(usize::from(column.column)).cloned().unwrap_or_default())
    }
    fn param(&self, n: u16) -> Value {
        self.exec.param(n)
    }
    fn context(&mut self) -> &mut Context {
        self.exec.context()
    }
    fn subquery(&mut self, subquery: &Subquery) -> SqlResult<Value> {
        self.exec.subquery(subquery)
    }
    fn insert_value(&mut self, column: u16) -> SqlResult<Value> {
        self.exec.insert_value(column)
    }
    fn user_variable(&mut self, name: &str) -> Value {
        self.exec.user_variable(name)
    }
    fn set_user_variable(&mut self, name: &str, value: &Value) {
        self.exec.set_user_variable(name, value);
    }
    fn system_variable(&mut self, name: &str, global: bool) -> SqlResult<Value> {
        self.exec.system_variable(name, global)
    }
    fn session_value(&mut self, which: SessionValue, args: &[Value]) -> SqlResult<Value> {
        self.exec.session_value(which, args)
    }
}

/// What a write must do beside storing its values.
pub(crate) fn program_of(table: &Arc<TableHandle>) -> SqlResult<Option<&TableProgram>> {
    program::of(table)
}

impl Exec<'_, '_> {
    /// An expression of a table's definition over a row.
    fn eval_in_row(&mut self, expr: &Expr, values: &[Value]) -> SqlResult<Value> {
        expr.eval(&mut RowEnv { values, exec: self })
    }

    /// The default of a column, for a row whose other values are known as far as they are.
    pub(crate) fn column_default(
        &mut self,
        table: &Arc<TableHandle>,
        column: usize,
        values: &[Value],
        mode: StoreMode,
    ) -> SqlResult<Value> {
        if let Some(program) = program_of(table)?
            && let Some(expr) = program.default_of(column)
        {
            let value = self.eval_in_row(expr, values)?;
            self.divided_by_zero(mode)?;
            return store::convert(table, column, value, mode, self.cx.values, self.cx.warnings);
        }
        store::default_of(&table.def.columns[column], mode, self.cx.values, self.cx.warnings)
    }

    /// Computes the generated columns of a row whose own values are complete.
    pub(crate) fn compute_row(
        &mut self,
        table: &Arc<TableHandle>,
        program: &TableProgram,
        values: &mut [Value],
        mode: StoreMode,
    ) -> SqlResult<()> {
        for (column, expr) in &program.generated {
            let value = self.eval_in_row(expr, values)?;
            self.divided_by_zero(mode)?;
            values[*column] = store::convert(table, *column, value, mode, self.cx.values, self.cx.warnings)?;
        }
        Ok(())
    }

    /// The first constraint that a row does not meet, as an error.
    pub(crate) fn check_row(
        &mut self,
        table: &Arc<TableHandle>,
        program: &TableProgram,
        values: &[Value],
    ) -> SqlResult<()> {
        if !self.cx.settings.check_constraints {
            return Ok(());
        }
        for check in &program.checks {
            let met = check.expr.eval_truth(&mut RowEnv { values, exec: self });
            self.cx.values.warnings.clear();
            self.cx.values.warning_count = 0;
            if met? == Some(false) {
                let (schema, name) = (&table.def.schema, &table.def.name);
                return Err(SqlError::ConstraintFailed {
                    constraint: check.name.clone(),
                    table: format!("`{schema}`.`{name}`"),
                });
            }
        }
        Ok(())
    }
}

impl Exec<'_, '_> {
    /// Whether a row may be written through a view: WITH CHECK OPTION.
    pub(crate) fn check_view(&mut self, rules: &[ViewRule], values: &[Value]) -> SqlResult<()> {
        for rule in rules {
            if rule.condition.eval_truth(&mut RowEnv { values, exec: self })? != Some(true) {
                return Err(SqlError::ViewCheckFailed(rule.view.clone()));
            }
        }
        Ok(())
    }
}

/// A value that a statement gives for a generated column: an error in strict mode, else it is put aside.
pub(crate) fn refuse_value(
    table: &TableHandle,
    column: usize,
    mode: StoreMode,
    warnings: &mut sql_plan::error::Warnings,
) -> SqlResult<()> {
    let (column, name) = (&table.def.columns[column].name, &table.def.name);
    let error = SqlError::Other {
        errno: 1906,
        state: *b"HY000",
        text: format!(
            "The value specified for generated column '{column}' in table '{name}' has been ignored"
        ),
    };
    if mode.strict {
        return Err(error);
    }
    warnings.warn(error);
    Ok(())
}
