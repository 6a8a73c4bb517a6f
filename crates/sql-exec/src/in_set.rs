//! The rows of an uncorrelated `x IN (SELECT ...)`, hashed once and looked up for each row outside.
//!
//! # Invariants
//! 1. Two values have the same key exactly when the comparison calls them equal: each is brought to the comparison's type first.
//! 2. Rows with a NULL are kept apart: they never match, but they make "no match" unknown.

use std::collections::HashSet;

use sql_plan::error::SqlResult;
use sql_plan::expr::{CompareAs, CompareOp};
use sql_plan::ops;
use types::{Context, Value};

use crate::exec::Exec;
use crate::select::holds;

#[derive(Debug)]
pub(crate) struct InSet {
    rows: Vec<Vec<Value>>,
    keys: HashSet<Vec<u8>>,
    /// Numbers of rows that have a NULL.
    with_null: Vec<usize>,
}

impl InSet {
    /// Whether keys decide: not for a handful of rows, nor where the values of each pair decide how they compare.
    pub(crate) fn fits(compare: CompareAs, left: &[Value], rows: &[Vec<Value>]) -> bool {
        if rows.len() < 8 || left.is_empty() {
            return false;
        }
        match compare {
            CompareAs::Int | CompareAs::Decimal | CompareAs::Double | CompareAs::Text(_) => left.len() == 1,
            CompareAs::Any(_) => left.iter().enumerate().all(|(i, l)| {
                let mut classes = rows.iter().map(|r| class(&r[i])).filter(|c| *c != NULL);
                let first = classes.next().unwrap_or(MIXED);
                first != MIXED && (l.is_null() || class(l) == first) && classes.all(|c| c == first)
            }),
            CompareAs::Temporal | CompareAs::Fixed(_) => false,
        }
    }

    pub(crate) fn new(rows: Vec<Vec<Value>>, compare: CompareAs, cx: &mut Context) -> Self {
        let mut keys = HashSet::with_capacity(rows.len());
        let mut with_null = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            if row.iter().any(Value::is_null) {
                with_null.push(i);
            } else if let Some(key) = key_of(row, compare, cx) {
                keys.insert(key);
            }
        }
        Self { rows, keys, with_null }
    }

    /// `left IN (rows)`.
    pub(crate) fn find(
        &self,
        exec: &mut Exec<'_, '_>,
        left: &[Value],
        compare: CompareAs,
    ) -> SqlResult<Option<bool>> {
        let null = left.iter().any(Value::is_null);
        if matches!(compare, CompareAs::Any(_)) && !self.same_classes(left) {
            return self.find_slowly(exec, left, compare);
        }
        if null && left.len() == 1 {
            return Ok(if self.rows.is_empty() { Some(false) } else { None });
        }
        if !null && key_of(left, compare, exec.cx.values).is_some_and(|k| self.keys.contains(&k)) {
            return Ok(Some(true));
        }
        if !null && (left.len() == 1 || self.with_null.is_empty()) {
            return Ok(if self.with_null.is_empty() { Some(false) } else { None });
        }
        self.find_slowly(exec, left, compare)
    }

    /// Whether the values are of the kinds that the keys were made of.
    fn same_classes(&self, left: &[Value]) -> bool {
        left.iter().enumerate().all(|(i, l)| {
            let of_column = self.rows.iter().map(|r| class(&r[i])).find(|c| *c != NULL);
            l.is_null() || of_column.is_none_or(|c| c == class(l))
        })
    }

    /// Row by row; one that differs nowhere but at NULLs makes the answer unknown.
    fn find_slowly(
        &self,
        exec: &mut Exec<'_, '_>,
        left: &[Value],
        compare: CompareAs,
    ) -> SqlResult<Option<bool>> {
        let mut unknown = false;
        for row in &self.rows {
            let mut found = Some(true);
            for (a, b) in left.iter().zip(row) {
                match holds(CompareOp::Eq, compare, a, b, exec.cx.values)? {
                    Some(true) => {}
                    Some(false) => {
                        found = Some(false);
                        break;
                    }
                    None => found = None,
                }
            }
            match found {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { None } else { Some(false) })
    }
}

/// Values of one class have equal keys exactly when they are equal.
fn class(value: &Value) -> i32 {
    match value {
        Value::Null => NULL,
        Value::Int(_) | Value::UInt(_) => 1,
        Value::Str(s) => 2 + i32::from(s.collation().id()),
        _ => MIXED,
    }
}

const NULL: i32 = -1;
const MIXED: i32 = 0;

/// Bytes that are equal for rows that the comparison calls equal; `None` when a value cannot be brought to its type.
fn key_of(row: &[Value], compare: CompareAs, cx: &mut Context) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for value in row {
        match (compare, value) {
            (CompareAs::Decimal, v) => {
                let decimal = v.to_decimal(cx)?;
                ops::hash_key(&Value::from(decimal), compare, cx, &mut out);
            }
            (CompareAs::Double, v) => {
                let double = v.to_f64(cx)?;
                ops::hash_key(&Value::Double(double), compare, cx, &mut out);
            }
            (CompareAs::Text(c), v) if !matches!(v, Value::Str(_)) => {
                let text = Value::Str(ops::to_text(v, c, cx));
                ops::hash_key(&text, compare, cx, &mut out);
            }
            (_, v) => ops::hash_key(v, compare, cx, &mut out),
        }
    }
    Some(out)
}
