//! System-versioned tables in queries: which versions of its rows a table in FROM shows.
//!
//! The two columns that hold when a row began and ended are ordinary columns. So FOR SYSTEM_TIME is a condition on them that
//! joins the table's own conditions where the table is named; without it the table shows its current rows, those whose end is the
//! greatest time.
//!
//! | clause | rows |
//! |---|---|
//! | none | `end = greatest` |
//! | AS OF a | `start <= a AND end > a` |
//! | BETWEEN a AND b | `start <= b AND end > a AND a <= b` |
//! | FROM a TO b | `start < b AND end > a AND a < b` |
//! | ALL | every one |
//!
//! FOR SYSTEM_TIME of a view, derived table or common table goes to the versioned tables inside that have none of their own; when
//! there is none the clause is an error.

use catalog::TableHandle;
use sql_syntax::ast;
use types::{Timestamp, Value};

use crate::access::JoinInput;
use crate::error::{Clause, SqlError, SqlResult};
use crate::expr::{CompareOp, Expr, Slot, Typed};
use crate::meta::{ExprType, FieldType};
use crate::planner::Planner;
use crate::scope::{Scope, column_expr};

/// The end of rows that are current: the greatest TIMESTAMP(6).
pub const CURRENT_END: Timestamp = Timestamp { seconds: u32::MAX as u64, micros: 999_999, fsp: 6 };

/// FOR SYSTEM_TIME, its points planned.
#[derive(Debug, Clone)]
pub(crate) enum Period {
    All,
    AsOf(Typed),
    Between(Typed, Typed),
    FromTo(Typed, Typed),
    /// Of DELETE HISTORY.
    Before(Typed),
}

/// The clause of a view or derived table, for the tables inside.
#[derive(Debug)]
pub(crate) struct Inherited {
    period: Period,
    used: bool,
}

/// Error 4124.
pub fn not_versioned(table: &str) -> SqlError {
    let text = format!("Table `{table}` is not system-versioned");
    SqlError::Other { errno: 4124, state: *b"HY000", text }
}

fn illegal(what: &str) -> SqlError {
    let text = format!("Illegal parameter data type {what} for operation 'FOR SYSTEM_TIME'");
    SqlError::Other { errno: 4079, state: *b"HY000", text }
}

impl<'a> Planner<'a> {
    /// Runs `body` for what stands behind a name that may have a FOR SYSTEM_TIME clause of its own.
    pub(crate) fn in_period<R>(
        &mut self,
        time: Option<&ast::SystemTime<'a>>,
        name: &str,
        body: impl FnOnce(&mut Self) -> SqlResult<R>,
    ) -> SqlResult<R> {
        let Some(time) = time else { return body(self) };
        let period = self.period(time, name)?;
        let before = self.inherited.replace(Inherited { period, used: false });
        let outcome = body(self);
        let used = std::mem::replace(&mut self.inherited, before).is_some_and(|i| i.used);
        let out = outcome?;
        if used { Ok(out) } else { Err(not_versioned(name)) }
    }

    /// The condition that a table in FROM puts on its rows.
    pub(crate) fn add_versions(
        &mut self,
        handle: &TableHandle,
        time: Option<&ast::SystemTime<'a>>,
        slot: Slot,
        join: &mut JoinInput,
    ) -> SqlResult<()> {
        let Some(columns) = handle.def.versioning() else {
            return if time.is_some() { Err(not_versioned(handle.name())) } else { Ok(()) };
        };
        if self.guarded.changes_tables() && time.is_some() {
            return Err(SqlError::TableLockedForRead(handle.name().to_owned()));
        }
        let period = match (time, &mut self.inherited) {
            (Some(time), _) => Some(self.period(time, handle.name())?),
            (None, Some(inherited)) => {
                inherited.used = true;
                Some(inherited.period.clone())
            }
            (None, None) if self.changing => None,
            (None, None) => self.as_of.clone().map(Period::AsOf),
        };
        let conditions = self.versions(slot, columns, period.as_ref())?;
        join.conditions.extend(conditions);
        Ok(())
    }

    /// What rows of a table meet a period; the current rows when there is none.
    pub(crate) fn versions(
        &mut self,
        slot: Slot,
        (start, end): (usize, usize),
        period: Option<&Period>,
    ) -> SqlResult<Vec<Expr>> {
        let scope = self.scope();
        let table = scope.tables.iter().find(|t| t.slot == slot).expect("the table was added");
        let (start, end) = (column_expr(table, start), column_expr(table, end));
        let mut out = Vec::new();
        let mut put = |op, left: &Typed, right: &Typed| -> SqlResult<()> {
            out.push(self.comparison(op, left.clone(), right.clone())?.expr);
            Ok(())
        };
        match period {
            Some(Period::All) => {}
            None => {
                let current = Typed::new(Expr::Const(Value::Timestamp(CURRENT_END)), end.ty);
                put(CompareOp::Eq, &end, &current)?;
            }
            Some(Period::AsOf(at)) => {
                put(CompareOp::Le, &start, at)?;
                put(CompareOp::Gt, &end, at)?;
            }
            Some(Period::Between(from, to)) => {
                put(CompareOp::Le, &start, to)?;
                put(CompareOp::Gt, &end, from)?;
                put(CompareOp::Le, from, to)?;
            }
            Some(Period::FromTo(from, to)) => {
                put(CompareOp::Lt, &start, to)?;
                put(CompareOp::Gt, &end, from)?;
                put(CompareOp::Lt, from, to)?;
            }
            Some(Period::Before(at)) => put(CompareOp::Lt, &end, at)?,
        }
        Ok(out)
    }

    /// Rows of the past: what DELETE HISTORY removes.
    pub(crate) fn past_versions(
        &mut self,
        handle: &TableHandle,
        time: &ast::SystemTime<'a>,
        slot: Slot,
    ) -> SqlResult<Vec<Expr>> {
        let columns = handle.def.versioning().ok_or_else(|| not_versioned(handle.name()))?;
        let period = self.period(time, handle.name())?;
        let mut out = self.versions(slot, columns, Some(&period))?;
        let table = self.scope().tables.iter().find(|t| t.slot == slot).expect("the table was added");
        let end = column_expr(table, columns.1);
        let current = Typed::new(Expr::Const(Value::Timestamp(CURRENT_END)), end.ty);
        out.push(self.comparison(CompareOp::Lt, end, current)?.expr);
        Ok(out)
    }

    fn period(&mut self, time: &ast::SystemTime<'a>, table: &str) -> SqlResult<Period> {
        let mut point = |p: &ast::SystemPoint<'a>| self.point(p, table);
        Ok(match time {
            ast::SystemTime::All => Period::All,
            ast::SystemTime::AsOf(at) => Period::AsOf(point(at)?),
            ast::SystemTime::Between(from, to) => Period::Between(point(from)?, point(to)?),
            ast::SystemTime::FromTo(from, to) => Period::FromTo(point(from)?, point(to)?),
            ast::SystemTime::Before(at) => Period::Before(point(at)?),
        })
    }

    /// A moment: it sees no table.
    fn point(&mut self, point: &ast::SystemPoint<'a>, table: &str) -> SqlResult<Typed> {
        if point.transaction {
            let text = format!("Transaction-precise system versioning for `{table}` is not supported");
            return Err(SqlError::Other { errno: 4111, state: *b"HY000", text });
        }
        let around = std::mem::take(&mut self.scopes);
        self.scopes.push(Scope::default());
        let planned = match &point.value {
            // The moment now has its microseconds here.
            ast::Expr::Call(call) if is_now(call) => self.call_function("now", MICROSECONDS, Clause::Where),
            other => self.expr(other, Clause::Where),
        };
        self.scopes = around;
        match planned {
            Err(SqlError::UnknownColumn { name, .. }) => Err(illegal(&name)),
            Ok(Typed { expr: Expr::Row(_), .. }) => Err(illegal("row")),
            Ok(typed) if matches!(typed.ty.field, FieldType::Double | FieldType::Float) => {
                Err(illegal("double"))
            }
            other => other,
        }
    }

    /// `@@system_versioning_insert_history`: INSERT may say when a row began and ended.
    pub(crate) fn inserts_history(&self) -> bool {
        let value = self.cx.variables.system("system_versioning_insert_history", false);
        matches!(value, Some(Value::Int(1)))
    }

    /// `@@system_versioning_asof`, unless it is DEFAULT.
    pub(crate) fn session_as_of(&self) -> Option<Typed> {
        let value = self.cx.variables.system("system_versioning_asof", false)?;
        let text = value.as_str()?;
        if text.bytes().eq_ignore_ascii_case(b"default") {
            return None;
        }
        let ty = ExprType::text(26, text.collation(), crate::meta::Coercibility::Coercible);
        Some(Typed::new(Expr::Const(value.clone()), ty.not_null()))
    }
}

/// The argument of NOW(6).
pub(crate) const MICROSECONDS: &[ast::Expr<'static>] = &[ast::Expr::Literal(ast::Literal::Int(6))];

/// NOW() without an argument.
pub(crate) fn is_now(call: &ast::Call<'_>) -> bool {
    call.args.is_empty()
        && ["now", "current_timestamp", "localtime", "localtimestamp"].iter().any(|name| call.name.is(name))
}
