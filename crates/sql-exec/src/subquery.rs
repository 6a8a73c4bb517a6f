//! Queries inside expressions: run once and remembered, or run again for each outer row when they are correlated.

use std::sync::Arc;

use sql_plan::error::{SqlError, SqlResult};
use sql_plan::eval::truth;
use sql_plan::expr::{CompareAs, CompareOp, Expr, Subquery, SubqueryKind};
use types::Value;

use crate::exec::{CachedSubquery, Exec, Flow};
use crate::in_set::InSet;
use crate::select::holds;

pub(crate) fn eval(exec: &mut Exec<'_, '_>, subquery: &Subquery) -> SqlResult<Value> {
    match &subquery.kind {
        SubqueryKind::Scalar => {
            if let Some(CachedSubquery::Value(value)) = &exec.subqueries[usize::from(subquery.id)] {
                return Ok(value.clone());
            }
            let value = scalar(exec, subquery)?;
            remember(exec, subquery, CachedSubquery::Value(value.clone()));
            Ok(value)
        }
        SubqueryKind::Exists => {
            if let Some(CachedSubquery::Value(value)) = &exec.subqueries[usize::from(subquery.id)] {
                return Ok(value.clone());
            }
            let mut found = false;
            exec.query(&subquery.plan, &mut |_, _| {
                found = true;
                Ok(Flow::Stop)
            })?;
            let value = Value::bool(found != subquery.negated);
            remember(exec, subquery, CachedSubquery::Value(value.clone()));
            Ok(value)
        }
        SubqueryKind::Row { left, op, compare } => {
            let rows = exec.collect(&subquery.plan)?;
            if rows.len() > 1 {
                return Err(SqlError::SubqueryMoreThanOneRow);
            }
            let left: SqlResult<Vec<Value>> = left.iter().map(|e| e.eval(exec)).collect();
            let left = left?;
            let Some(row) = rows.first() else { return Ok(Value::Null) };
            Ok(truth(compare_row(exec, *op, *compare, &left, row)?))
        }
        SubqueryKind::Compare { left, op, compare, all } => {
            let found = compare_all(exec, subquery, left, *op, *compare, *all)?;
            Ok(truth(found.map(|f| f != subquery.negated)))
        }
    }
}

/// `(a, b) op (c, d)` of values: equality of all columns, or the order by the first that differ.
fn compare_row(
    exec: &mut Exec<'_, '_>,
    op: CompareOp,
    compare: CompareAs,
    left: &[Value],
    right: &[Value],
) -> SqlResult<Option<bool>> {
    let (mut unknown, last) = (false, left.len() - 1);
    for (i, (a, b)) in left.iter().zip(right).enumerate() {
        let same_op = if op == CompareOp::NullSafeEq { op } else { CompareOp::Eq };
        let same = holds(same_op, compare, a, b, exec.cx.values)?;
        match op {
            CompareOp::Eq | CompareOp::NullSafeEq | CompareOp::Ne => match same {
                Some(true) => {}
                Some(false) => return Ok(Some(op == CompareOp::Ne)),
                None => unknown = true,
            },
            _ if i < last && same == Some(true) => {}
            _ => return holds(op, compare, a, b, exec.cx.values),
        }
    }
    Ok(if unknown { None } else { Some(op != CompareOp::Ne) })
}

fn remember(exec: &mut Exec<'_, '_>, subquery: &Subquery, result: CachedSubquery) {
    if !subquery.correlated {
        exec.subqueries[usize::from(subquery.id)] = Some(result);
    }
}

fn scalar(exec: &mut Exec<'_, '_>, subquery: &Subquery) -> SqlResult<Value> {
    let mut found: Option<Value> = None;
    exec.query(&subquery.plan, &mut |exec, row| {
        if found.is_some() {
            return Err(SqlError::SubqueryMoreThanOneRow);
        }
        found = row.values(exec)?.into_iter().next();
        Ok(Flow::Continue)
    })?;
    Ok(found.unwrap_or_default())
}

fn compare_all(
    exec: &mut Exec<'_, '_>,
    subquery: &Subquery,
    left: &Expr,
    op: CompareOp,
    compare: CompareAs,
    all: bool,
) -> SqlResult<Option<bool>> {
    let left: Vec<Value> = match left {
        Expr::Row(items) => items.iter().map(|e| e.eval(exec)).collect::<SqlResult<_>>()?,
        other => vec![other.eval(exec)?],
    };
    let rows = match &exec.subqueries[usize::from(subquery.id)] {
        Some(CachedSubquery::Rows(rows)) => rows.clone(),
        Some(CachedSubquery::Set(set)) => {
            let set = set.clone();
            return set.find(exec, &left, compare);
        }
        _ => {
            // A correlated query builds its derived tables and hash tables anew.
            let rows = exec.collect(&subquery.plan)?;
            if op == CompareOp::Eq && !all && !subquery.correlated && InSet::fits(compare, &left, &rows) {
                let set = Arc::new(InSet::new(rows, compare, exec.cx.values));
                remember(exec, subquery, CachedSubquery::Set(set.clone()));
                return set.find(exec, &left, compare);
            }
            let rows = Arc::new(rows);
            remember(exec, subquery, CachedSubquery::Rows(rows.clone()));
            rows
        }
    };
    let mut unknown = false;
    for row in rows.iter() {
        let mut matches = Some(true);
        for (a, b) in left.iter().zip(row) {
            match holds(op, compare, a, b, exec.cx.values)? {
                Some(true) => {}
                Some(false) => {
                    matches = Some(false);
                    break;
                }
                None => matches = None,
            }
        }
        match matches {
            Some(m) if m != all => return Ok(Some(!all)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(all) })
}
