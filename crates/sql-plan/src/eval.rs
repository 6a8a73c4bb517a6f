//! Evaluation of expressions.
//!
//! The tree is walked over an [`Env`], which gives columns, parameters and session values. Integers, the bulk of OLTP work,
//! are compared and added without leaving the match; everything else goes through `ops`, the one place that calls the value
//! library's conversions.
//!
//! NULL is UNKNOWN in logic: AND and OR follow three-valued logic and stop as soon as the answer is known.

use charset::Collation;
use types::{Context, Value};

use crate::error::{SqlError, SqlResult};
use crate::expr::{ColumnRef, CompareAs, CompareOp, Expr, RoutineCall, SessionValue, Subquery, Truth};
use crate::like;
use crate::ops;

/// Where an expression finds what is not in it.
pub trait Env {
    fn column(&mut self, column: ColumnRef) -> SqlResult<Value>;
    fn param(&self, n: u16) -> Value;
    fn context(&mut self) -> &mut Context;
    fn subquery(&mut self, subquery: &Subquery) -> SqlResult<Value>;
    fn insert_value(&mut self, column: u16) -> SqlResult<Value>;
    fn user_variable(&mut self, name: &str) -> Value;
    fn set_user_variable(&mut self, name: &str, value: &Value);
    fn system_variable(&mut self, name: &str, global: bool) -> SqlResult<Value>;
    fn session_value(&mut self, which: SessionValue, args: &[Value]) -> SqlResult<Value>;
    /// Runs a stored function.
    fn routine(&mut self, call: &RoutineCall, _args: Vec<Value>) -> SqlResult<Value> {
        Err(SqlError::not_supported(format!("the function {} here", call.def.full_name())))
    }
}

impl Expr {
    pub fn eval<E: Env + ?Sized>(&self, env: &mut E) -> SqlResult<Value> {
        match self {
            Self::Const(value) => Ok(value.clone()),
            Self::Column(column) => env.column(*column),
            Self::Param(n) => Ok(env.param(*n)),
            Self::Arith { op, left, right } => {
                let (left, right) = (left.eval(env)?, right.eval(env)?);
                ops::arith(*op, &left, &right, env.context()).map_err(|e| ops::name_expression(e, self))
            }
            Self::Compare { op, compare, left, right } => {
                let left = left.eval(env)?;
                if left.is_null() && *op != CompareOp::NullSafeEq {
                    return Ok(Value::Null);
                }
                let right = right.eval(env)?;
                Ok(truth(compare_values(*op, *compare, &left, &right, env.context())?))
            }
            Self::And(_)
            | Self::Or(_)
            | Self::Xor(..)
            | Self::Not(_)
            | Self::Between { .. }
            | Self::In { .. } => Ok(truth(self.eval_truth(env)?)),
            Self::IsNull { arg, negated } => Ok(Value::bool(arg.eval(env)?.is_null() != *negated)),
            Self::IsTruth { arg, truth: wanted, negated } => {
                let found = match arg.eval_truth(env)? {
                    Some(true) => Truth::True,
                    Some(false) => Truth::False,
                    None => Truth::Unknown,
                };
                Ok(Value::bool((found == *wanted) != *negated))
            }
            Self::Negate(arg) => {
                let value = arg.eval(env)?;
                ops::negate(&value, env.context()).map_err(|e| ops::name_expression(e, self))
            }
            Self::BitNot(arg) => {
                let value = arg.eval(env)?;
                if value.is_null() {
                    return Ok(Value::Null);
                }
                Ok(Value::UInt(!ops::to_bits(&value, env.context())))
            }
            Self::Like { arg, pattern, escape, collation, negated } => {
                eval_like(env, arg, pattern, escape.as_deref(), *collation, *negated)
            }
            Self::Case { arms, otherwise } => {
                for (when, then) in arms {
                    if when.eval_truth(env)? == Some(true) {
                        return then.eval(env);
                    }
                }
                otherwise.as_ref().map_or(Ok(Value::Null), |e| e.eval(env))
            }
            Self::Cast { to, arg } => {
                let value = arg.eval(env)?;
                ops::cast(&value, *to, env.context())
            }
            Self::Collate(arg, collation) => {
                let value = arg.eval(env)?;
                Ok(match value {
                    Value::Null => Value::Null,
                    Value::Str(s) if s.charset() == collation.charset() => {
                        Value::Str(s.with_collation(*collation))
                    }
                    other => Value::Str(ops::to_text(&other, *collation, env.context())),
                })
            }
            Self::Call { function, args } => {
                let values: SqlResult<smallvec::SmallVec<[Value; 4]>> =
                    args.iter().map(|a| a.eval(env)).collect();
                function
                    .call(&values?, env.context())
                    .map_err(|e| ops::name_expression(ops::value_error(e), self))
            }
            Self::Subquery(subquery) => env.subquery(subquery),
            Self::UserVariable(name) => Ok(env.user_variable(name)),
            Self::AssignVariable(name, arg) => {
                let value = arg.eval(env)?;
                env.set_user_variable(name, &value);
                Ok(value)
            }
            Self::SystemVariable(variable) => env.system_variable(&variable.0, variable.1),
            Self::Session(which, args) => {
                let values: SqlResult<Vec<Value>> = args.iter().map(|a| a.eval(env)).collect();
                env.session_value(*which, &values?)
            }
            Self::Routine(call) => {
                let values: SqlResult<Vec<Value>> = call.args.iter().map(|a| a.eval(env)).collect();
                env.routine(call, values?)
            }
            Self::InsertValue(column) => env.insert_value(*column),
            Self::Row(_) => Err(SqlError::OperandColumns(1)),
        }
    }

    /// The value as a condition; `None` is UNKNOWN.
    pub fn eval_truth<E: Env + ?Sized>(&self, env: &mut E) -> SqlResult<Option<bool>> {
        match self {
            Self::Compare { op, compare, left, right } => {
                let left = left.eval(env)?;
                if left.is_null() && *op != CompareOp::NullSafeEq {
                    return Ok(None);
                }
                let right = right.eval(env)?;
                compare_values(*op, *compare, &left, &right, env.context())
            }
            Self::And(list) => {
                let mut unknown = false;
                for e in list {
                    match e.eval_truth(env)? {
                        Some(false) => return Ok(Some(false)),
                        None => unknown = true,
                        Some(true) => {}
                    }
                }
                Ok(if unknown { None } else { Some(true) })
            }
            Self::Or(list) => {
                let mut unknown = false;
                for e in list {
                    match e.eval_truth(env)? {
                        Some(true) => return Ok(Some(true)),
                        None => unknown = true,
                        Some(false) => {}
                    }
                }
                Ok(if unknown { None } else { Some(false) })
            }
            Self::Xor(a, b) => Ok(match (a.eval_truth(env)?, b.eval_truth(env)?) {
                (Some(a), Some(b)) => Some(a != b),
                _ => None,
            }),
            Self::Not(arg) => Ok(arg.eval_truth(env)?.map(|t| !t)),
            Self::Between { arg, low, high, compare, negated } => {
                let arg = arg.eval(env)?;
                let (low, high) = (low.eval(env)?, high.eval(env)?);
                let above = compare_values(CompareOp::Ge, compare[0], &arg, &low, env.context())?;
                let below = compare_values(CompareOp::Le, compare[1], &arg, &high, env.context())?;
                let inside = match (above, below) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                };
                Ok(inside.map(|i| i != *negated))
            }
            Self::In { arg, list, compare, negated } => {
                let arg = arg.eval(env)?;
                if arg.is_null() {
                    return Ok(None);
                }
                let mut unknown = false;
                for item in list {
                    let item = item.eval(env)?;
                    match compare_values(CompareOp::Eq, *compare, &arg, &item, env.context())? {
                        Some(true) => return Ok(Some(!negated)),
                        None => unknown = true,
                        Some(false) => {}
                    }
                }
                Ok(if unknown { None } else { Some(*negated) })
            }
            other => {
                let value = other.eval(env)?;
                Ok(match value {
                    Value::Null => None,
                    Value::Int(v) => Some(v != 0),
                    Value::UInt(v) => Some(v != 0),
                    other => Some(ops::is_true(&other, env.context())),
                })
            }
        }
    }
}

/// A truth value as SQL's integer.
pub fn truth(t: Option<bool>) -> Value {
    t.map_or(Value::Null, Value::bool)
}

/// `left op right`; UNKNOWN when a side is NULL and the operator is not `<=>`.
pub fn compare_values(
    op: CompareOp,
    compare: CompareAs,
    left: &Value,
    right: &Value,
    cx: &mut Context,
) -> SqlResult<Option<bool>> {
    if let (Value::Int(a), Value::Int(b)) = (left, right) {
        return Ok(Some(op.holds(a.cmp(b))));
    }
    if left.is_null() || right.is_null() {
        return Ok((op == CompareOp::NullSafeEq).then(|| left.is_null() && right.is_null()));
    }
    if let CompareAs::Fixed(kind) = compare {
        let (left, right) = (ops::to_fixed(left, kind, cx), ops::to_fixed(right, kind, cx));
        return Ok(left.zip(right).map(|(a, b)| op.holds(a.cmp(&b))));
    }
    Ok(Some(op.holds(ops::compare(compare, left, right, cx)?)))
}

fn eval_like<E: Env + ?Sized>(
    env: &mut E,
    arg: &Expr,
    pattern: &Expr,
    escape: Option<&Expr>,
    collation: Collation,
    negated: bool,
) -> SqlResult<Value> {
    let (arg, pattern) = (arg.eval(env)?, pattern.eval(env)?);
    let escape = match escape {
        None => Some('\\'),
        Some(e) => {
            let value = e.eval(env)?;
            let text = ops::to_text(&value, Collation::UTF8MB4_BIN, env.context());
            let text = text.to_utf8_lossy();
            let mut chars = text.chars();
            let first = chars.next();
            if chars.next().is_some() {
                return Err(SqlError::WrongArguments("ESCAPE".into()));
            }
            first
        }
    };
    if arg.is_null() || pattern.is_null() {
        return Ok(Value::Null);
    }
    let cx = env.context();
    let (arg, pattern) = (ops::to_text(&arg, collation, cx), ops::to_text(&pattern, collation, cx));
    Ok(Value::bool(like::matches(collation, arg.bytes(), pattern.bytes(), escape) != negated))
}
