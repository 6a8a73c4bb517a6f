//! Expressions made anew with parts replaced: names resolved, forbidden parts found.
//!
//! A [`Rewrite`] looks at each node from the top; what it does not replace is copied with its operands rewritten. Queries inside an
//! expression are the rewriter's own business: a rewriter that does not replace them leaves them as they are.

use crate::Arena;
use crate::ast::*;

/// What becomes of the nodes of an expression.
pub trait Rewrite<'a> {
    type Error;

    fn arena(&self) -> &'a Arena;

    /// The node that stands for `expr`; `None`: a copy with its operands rewritten.
    fn enter(&mut self, expr: &Expr<'a>) -> Result<Option<Expr<'a>>, Self::Error>;
}

/// `expr` rewritten.
pub fn expr<'a, R: Rewrite<'a>>(r: &mut R, e: &Expr<'a>) -> Result<Expr<'a>, R::Error> {
    if let Some(replaced) = r.enter(e)? {
        return Ok(replaced);
    }
    Ok(match *e {
        Expr::AssignVariable { name, value } => Expr::AssignVariable { name, value: boxed(r, value)? },
        Expr::Unary { op, expr } => Expr::Unary { op, expr: boxed(r, expr)? },
        Expr::Binary { op, left, right } => {
            Expr::Binary { op, left: boxed(r, left)?, right: boxed(r, right)? }
        }
        Expr::And(items) => Expr::And(list(r, items)?),
        Expr::Or(items) => Expr::Or(list(r, items)?),
        Expr::Row(items) => Expr::Row(list(r, items)?),
        Expr::Is { expr, test, negated } => Expr::Is { expr: boxed(r, expr)?, test, negated },
        Expr::Between(b) => {
            let (operand, low, high) = (expr(r, &b.expr)?, expr(r, &b.low)?, expr(r, &b.high)?);
            Expr::Between(r.arena().alloc(Between { expr: operand, low, high, negated: b.negated }))
        }
        Expr::InList { expr, list: items, negated } => {
            Expr::InList { expr: boxed(r, expr)?, list: list(r, items)?, negated }
        }
        Expr::InQuery { expr, query, negated } => Expr::InQuery { expr: boxed(r, expr)?, query, negated },
        Expr::Like(l) => {
            let (operand, pattern) = (expr(r, &l.expr)?, expr(r, &l.pattern)?);
            let escape = optional(r, l.escape.as_ref())?;
            Expr::Like(r.arena().alloc(Like { expr: operand, pattern, escape, negated: l.negated }))
        }
        Expr::Regexp { expr, pattern, negated } => {
            Expr::Regexp { expr: boxed(r, expr)?, pattern: boxed(r, pattern)?, negated }
        }
        Expr::Quantified(q) => {
            let left = expr(r, &q.left)?;
            Expr::Quantified(r.arena().alloc(Quantified { left, ..*q }))
        }
        Expr::Case(c) => {
            let operand = optional(r, c.operand.as_ref())?;
            let mut whens = Vec::with_capacity(c.whens.len());
            for when in c.whens {
                whens.push(When { condition: expr(r, &when.condition)?, result: expr(r, &when.result)? });
            }
            let otherwise = optional(r, c.otherwise.as_ref())?;
            let whens = r.arena().alloc_slice_copy(&whens);
            Expr::Case(r.arena().alloc(Case { operand, whens, otherwise }))
        }
        Expr::Cast(c) => {
            let operand = expr(r, &c.expr)?;
            Expr::Cast(r.arena().alloc(Cast { expr: operand, target: c.target }))
        }
        Expr::ConvertUsing { expr, charset } => Expr::ConvertUsing { expr: boxed(r, expr)?, charset },
        Expr::Collate { expr, collation } => Expr::Collate { expr: boxed(r, expr)?, collation },
        Expr::DateAdd(d) => {
            let (date, amount) = (expr(r, &d.date)?, expr(r, &d.amount)?);
            Expr::DateAdd(r.arena().alloc(DateAdd { date, amount, ..*d }))
        }
        Expr::Call(call) => {
            let args = list(r, call.args)?;
            Expr::Call(r.arena().alloc(Call { args, ..*call }))
        }
        Expr::Special(s) => {
            let made = special(r, s)?;
            Expr::Special(r.arena().alloc(made))
        }
        Expr::Aggregate(a) => Expr::Aggregate(aggregate(r, a)?),
        Expr::Window(w) => window(r, w)?,
        Expr::Literal(_)
        | Expr::Column(_)
        | Expr::Param(_)
        | Expr::UserVariable(_)
        | Expr::SystemVariable(_)
        | Expr::Subquery(_)
        | Expr::Exists(_)
        | Expr::Default
        | Expr::Ignore => *e,
    })
}

fn boxed<'a, R: Rewrite<'a>>(r: &mut R, e: &Expr<'a>) -> Result<&'a Expr<'a>, R::Error> {
    let made = expr(r, e)?;
    Ok(r.arena().alloc(made))
}

fn optional<'a, R: Rewrite<'a>>(r: &mut R, e: Option<&Expr<'a>>) -> Result<Option<Expr<'a>>, R::Error> {
    e.map(|e| expr(r, e)).transpose()
}

/// Each expression of a list rewritten.
pub fn list<'a, R: Rewrite<'a>>(r: &mut R, items: &[Expr<'a>]) -> Result<&'a [Expr<'a>], R::Error> {
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        out.push(expr(r, item)?);
    }
    Ok(r.arena().alloc_slice_copy(&out))
}

/// The expressions of ORDER BY, GROUP BY, PARTITION BY rewritten.
pub fn order_items<'a, R: Rewrite<'a>>(
    r: &mut R,
    items: &[OrderItem<'a>],
) -> Result<&'a [OrderItem<'a>], R::Error> {
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        out.push(OrderItem { expr: expr(r, &item.expr)?, ..*item });
    }
    Ok(r.arena().alloc_slice_copy(&out))
}

fn aggregate<'a, R: Rewrite<'a>>(r: &mut R, a: &Aggregate<'a>) -> Result<&'a Aggregate<'a>, R::Error> {
    let args = list(r, a.args)?;
    let order_by = order_items(r, a.order_by)?;
    Ok(r.arena().alloc(Aggregate { args, order_by, ..*a }))
}

/// Windows: the function, and the expressions of its specification.
fn window<'a, R: Rewrite<'a>>(r: &mut R, w: &WindowCall<'a>) -> Result<Expr<'a>, R::Error> {
    let function = expr(r, &w.function)?;
    let over = match w.over {
        Over::Name(name) => Over::Name(name),
        Over::Spec(spec) => {
            let made = window_spec(r, spec)?;
            Over::Spec(r.arena().alloc(made))
        }
    };
    Ok(Expr::Window(r.arena().alloc(WindowCall { function, over })))
}

/// The expressions of a window's specification rewritten.
pub fn window_spec<'a, R: Rewrite<'a>>(r: &mut R, spec: &WindowSpec<'a>) -> Result<WindowSpec<'a>, R::Error> {
    let partition_by = order_items(r, spec.partition_by)?;
    let order_by = order_items(r, spec.order_by)?;
    Ok(WindowSpec { partition_by, order_by, ..*spec })
}

fn special<'a, R: Rewrite<'a>>(r: &mut R, s: &Special<'a>) -> Result<Special<'a>, R::Error> {
    Ok(match *s {
        Special::Extract { unit, expr: e } => Special::Extract { unit, expr: expr(r, &e)? },
        Special::Trim { side, what, expr: e } => {
            Special::Trim { side, what: optional(r, what.as_ref())?, expr: expr(r, &e)? }
        }
        Special::Position { needle, haystack } => {
            Special::Position { needle: expr(r, &needle)?, haystack: expr(r, &haystack)? }
        }
        Special::TimestampAdd { unit, amount, date } => {
            Special::TimestampAdd { unit, amount: expr(r, &amount)?, date: expr(r, &date)? }
        }
        Special::TimestampDiff { unit, from, to } => {
            Special::TimestampDiff { unit, from: expr(r, &from)?, to: expr(r, &to)? }
        }
        Special::GetFormat { kind, locale } => Special::GetFormat { kind, locale: expr(r, &locale)? },
        Special::Char { args, charset } => Special::Char { args: list(r, args)?, charset },
        Special::WeightString { expr: e, length, binary, levels } => {
            Special::WeightString { expr: expr(r, &e)?, length, binary, levels }
        }
        Special::Match { columns, against, mode } => {
            Special::Match { columns: list(r, columns)?, against: expr(r, &against)?, mode }
        }
        Special::Values(column) => Special::Values(plain_column(r, column)?),
        Special::DefaultOf(column) => Special::DefaultOf(plain_column(r, column)?),
        other => other,
    })
}

/// A column where only a column can stand.
fn plain_column<'a, R: Rewrite<'a>>(r: &mut R, column: ColumnRef<'a>) -> Result<ColumnRef<'a>, R::Error> {
    Ok(match r.enter(&Expr::Column(column))? {
        Some(Expr::Column(found)) => found,
        _ => column,
    })
}
