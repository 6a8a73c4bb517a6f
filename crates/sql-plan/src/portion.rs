//! UPDATE and DELETE of a portion of an application-time period.
//!
//! The statement finds the rows whose period meets the portion; of each it changes the part inside. What is left of the row before
//! and behind the portion is inserted as rows of their own, with the triggers of an INSERT and a new AUTO_INCREMENT value.

use std::sync::Arc;

use sql_syntax::ast;

use crate::access::JoinInput;
use crate::error::{Clause, SqlError, SqlResult};
use crate::expr::{CompareOp, Expr, Typed};
use crate::plan::{InsertPlan, InsertSource, OnDuplicate, PortionPlan};
use crate::planner::Planner;
use crate::scope::{Scope, column_expr};

/// Error 4156.
pub fn no_period(name: &str) -> SqlError {
    SqlError::Other { errno: 4156, state: *b"HY000", text: format!("Period `{name}` is not found in table") }
}

impl<'a> Planner<'a> {
    /// The portion of a statement that changes one table, which is in scope; its condition joins the others.
    pub(crate) fn portion(
        &mut self,
        portion: &ast::PeriodPortion<'a>,
        join: &mut JoinInput,
    ) -> SqlResult<PortionPlan> {
        let table = self.scope().tables.first().ok_or(SqlError::NoTablesUsed)?;
        let Some(handle) = table.handle.clone() else {
            let text = format!("'{}' is a view", table.alias);
            return Err(SqlError::Other { errno: 1965, state: *b"42S02", text });
        };
        let name = portion.period.text();
        let period = handle.def.period.as_ref().filter(|p| catalog::same_name(&p.name, &name));
        let period = period.ok_or_else(|| no_period(&name))?;
        let place = |column: &str| handle.def.column(column).ok_or_else(|| no_period(&name));
        let (start, end) = (place(&period.start)?, place(&period.end)?);
        let (starts, ends) = (column_expr(table, start), column_expr(table, end));
        let (from, to) = (self.portion_end(&portion.from)?, self.portion_end(&portion.to)?);
        for (op, left, right) in
            [(CompareOp::Lt, &starts, &to), (CompareOp::Gt, &ends, &from), (CompareOp::Lt, &from, &to)]
        {
            let condition = self.comparison(op, left.clone(), right.clone())?;
            join.conditions.push(condition.expr);
        }
        let own = |i: &usize| {
            let column = &handle.def.columns[*i];
            column.generated.is_none() && column.row_time.is_none() && !column.auto_increment
        };
        let rest = InsertPlan {
            parts: None,
            slot: self.new_slot()?,
            columns: (0..handle.def.columns.len()).filter(own).collect(),
            table: handle.clone(),
            source: InsertSource::Rows(Vec::new()),
            query_slot: None,
            reads_target: false,
            on_duplicate: OnDuplicate::Error,
            ignore: false,
            replace: false,
            returning: None,
            rules: Vec::new(),
        };
        Ok(PortionPlan { start, end, from: from.expr, to: to.expr, rest: Arc::new(rest) })
    }

    fn portion_end(&mut self, e: &ast::Expr<'a>) -> SqlResult<Typed> {
        let not_constant = || SqlError::Other {
            errno: 1487,
            state: *b"HY000",
            text: "Expression in FOR PORTION OF must be constant".into(),
        };
        let around = std::mem::take(&mut self.scopes);
        self.scopes.push(Scope::default());
        let planned = self.expr(e, Clause::Where);
        self.scopes = around;
        let typed = match planned {
            Err(SqlError::UnknownColumn { .. }) => return Err(not_constant()),
            other => other?,
        };
        if has_query(&typed.expr) {
            return Err(SqlError::not_supported("subqueries in FOR PORTION OF"));
        }
        if is_fixed(&typed.expr) { Ok(typed) } else { Err(not_constant()) }
    }
}

fn has_query(e: &Expr) -> bool {
    let mut found = matches!(e, Expr::Subquery(_));
    e.children(&mut |c| found |= has_query(c));
    found
}

fn is_fixed(e: &Expr) -> bool {
    let mut fixed = match e {
        Expr::Call { function, .. } => function.is_deterministic(),
        Expr::Routine(_) | Expr::AssignVariable(..) => false,
        _ => true,
    };
    e.children(&mut |c| fixed &= is_fixed(c));
    fixed
}
