//! Window functions: their windows, frames and types.
//!
//! The functions of a block are collected in its scope, like aggregates, and become columns of a slot of their own. Windows
//! written alike are one.

use sql_syntax::ast;

use crate::error::{Clause, SqlError, SqlResult};
use crate::expr::{ColumnRef, Expr, Typed};
use crate::meta::{ExprType, FieldType};
use crate::plan::{Bound, Frame, SelectPlan, Window, WindowFunction, WindowKind, WindowPlan};
use crate::planner::Planner;
use crate::typing::compare_as;

/// A window specification with the ones it refines taken in.
struct Spec<'a> {
    partition_by: &'a [ast::OrderItem<'a>],
    order_by: &'a [ast::OrderItem<'a>],
    frame: Option<&'a ast::WindowFrame<'a>>,
}

impl<'a> Planner<'a> {
    pub(crate) fn window_call(&mut self, call: &ast::WindowCall<'a>, clause: Clause) -> SqlResult<Typed> {
        let scope = self.scope();
        if scope.in_window {
            return Err(other(4016, "Window function is not allowed in window specification"));
        }
        if scope.in_aggregate {
            return Err(other(4074, "Window functions can not be used as arguments to group functions."));
        }
        if !scope.aggregates_allowed || !matches!(clause, Clause::Select | Clause::OrderBy) {
            let text = "Window function is allowed only in SELECT list and ORDER BY clause";
            return Err(other(4015, text));
        }
        let spec = match call.over {
            ast::Over::Name(name) => self.named_window(&name, None)?,
            ast::Over::Spec(spec) => self.window_spec(spec)?,
        };
        self.scope_mut().in_window = true;
        let function = self.window_function(call, &spec, clause);
        self.scope_mut().in_window = false;
        let (mut function, window) = function?;
        let slot = match &self.scope().windows {
            Some(windows) => windows.slot,
            None => self.new_slot()?,
        };
        let windows = self.scope_mut().windows.get_or_insert_with(|| WindowPlan {
            slot,
            carried: Vec::new(),
            windows: Vec::new(),
            functions: Vec::new(),
        });
        let text = format!("{window:?}");
        function.window = match windows.windows.iter().position(|w| format!("{w:?}") == text) {
            Some(at) => at,
            None => {
                windows.windows.push(window);
                windows.windows.len() - 1
            }
        };
        let ty = function.ty;
        windows.functions.push(function);
        let column = windows.functions.len() as u16 - 1;
        Ok(Typed::new(Expr::Column(ColumnRef { slot, column }), ty))
    }

    fn named_window(&self, name: &ast::Ident<'a>, before: Option<usize>) -> SqlResult<Spec<'a>> {
        let list: &'a [ast::NamedWindow<'a>] = self.windows.last().copied().unwrap_or_default();
        let list = &list[..before.unwrap_or(list.len())];
        let at = list.iter().position(|w| catalog::same_name(&w.name.text(), &name.text()));
        let Some(at) = at else {
            return Err(other(4009, &format!("Window specification with name '{name}' is not defined")));
        };
        self.refined(&list[at].spec, Some(at))
    }

    fn window_spec(&self, spec: &ast::WindowSpec<'a>) -> SqlResult<Spec<'a>> {
        self.refined(spec, None)
    }

    /// A specification and the one it names; `before`: where it stands in the WINDOW clause.
    fn refined(&self, spec: &ast::WindowSpec<'a>, before: Option<usize>) -> SqlResult<Spec<'a>> {
        let Some(base) = spec.base else {
            return Ok(Spec { partition_by: spec.partition_by, order_by: spec.order_by, frame: spec.frame });
        };
        let found = self.named_window(&base, before)?;
        if !spec.partition_by.is_empty() {
            let text = format!(
                "Window specification referencing another one '{base}' cannot contain partition list"
            );
            return Err(other(4011, &text));
        }
        if !spec.order_by.is_empty() && !found.order_by.is_empty() {
            let text = format!("Referenced window specification '{base}' already contains order list");
            return Err(other(4012, &text));
        }
        if found.frame.is_some() {
            let text = format!("Referenced window specification '{base}' cannot contain window frame");
            return Err(other(4013, &text));
        }
        let order_by = if spec.order_by.is_empty() { found.order_by } else { spec.order_by };
        Ok(Spec { partition_by: found.partition_by, order_by, frame: spec.frame })
    }

    fn window_function(
        &mut self,
        call: &ast::WindowCall<'a>,
        spec: &Spec<'a>,
        clause: Clause,
    ) -> SqlResult<(WindowFunction, Window)> {
        let mut window = Window {
            partition: self.sort_keys(spec.partition_by, Clause::Select)?,
            order: self.sort_keys(spec.order_by, Clause::Select)?,
        };
        let (kind, args, ty, name) = match &call.function {
            ast::Expr::Aggregate(aggregate) => {
                let args: SqlResult<Vec<Typed>> =
                    aggregate.args.iter().map(|e| self.expr(e, clause)).collect();
                self.window_aggregate(aggregate, args?, &mut window)?
            }
            ast::Expr::Call(function) => {
                let args: SqlResult<Vec<Typed>> =
                    function.args.iter().map(|e| self.expr(e, clause)).collect();
                named_function(&function.name.text().to_lowercase(), args?)?
            }
            _ => return Err(SqlError::not_supported("this function with OVER")),
        };
        self.check_window(&kind, spec, &name)?;
        let frame = self.frame(spec, &window)?;
        Ok((WindowFunction { window: 0, kind, args, frame, ty }, window))
    }

    /// An aggregate over a frame, or one of those that order their partition themselves.
    fn window_aggregate(
        &mut self,
        a: &ast::Aggregate<'a>,
        args: Vec<Typed>,
        window: &mut Window,
    ) -> SqlResult<(WindowKind, Vec<Typed>, ExprType, String)> {
        use ast::AggregateFunction as F;
        let double = ExprType { decimals: 10, ..ExprType::double() };
        match a.function {
            F::Median => {
                let arg = args[0].clone();
                self.order_window(window, &arg, "median")?;
                let half = Typed::new(Expr::Const(types::Value::Double(0.5)), ExprType::double().not_null());
                Ok((WindowKind::PercentileCont, vec![half, arg], double, "median".into()))
            }
            F::PercentileCont | F::PercentileDisc => {
                let continuous = a.function == F::PercentileCont;
                let name = if continuous { "percentile_cont" } else { "percentile_disc" };
                let [item] = a.order_by else {
                    return Err(other(
                        4019,
                        "RANGE-type frame requires ORDER BY clause with single sort key",
                    ));
                };
                let keys = self.sort_keys(&[*item], Clause::Select)?;
                let value = self.expr(&item.expr, Clause::Select)?;
                self.order_window(window, &value, name)?;
                window.order = keys;
                let ty = if continuous { double } else { value.ty.nullable(true) };
                let kind = if continuous { WindowKind::PercentileCont } else { WindowKind::PercentileDisc };
                Ok((kind, vec![args[0].clone(), value], ty, name.into()))
            }
            F::GroupConcat => Err(SqlError::not_supported("GROUP_CONCAT() aggregate as window function")),
            F::JsonArrayAgg => Err(SqlError::not_supported("JSON_ARRAYAGG() aggregate as window function")),
            F::JsonObjectAgg => Err(SqlError::not_supported("JSON_OBJECTAGG() aggregate as window function")),
            _ if a.distinct && !matches!(a.function, F::Min | F::Max) => {
                let name = match a.function {
                    F::Count => "COUNT(DISTINCT)",
                    F::Sum => "SUM(DISTINCT)",
                    F::Avg => "AVG(DISTINCT)",
                    _ => "DISTINCT",
                };
                Err(SqlError::not_supported(format!("{name} aggregate as window function")))
            }
            _ => {
                let built = self.aggregate_of(a, args.clone(), Vec::new())?;
                let ty = built.ty;
                let name = format!("{:?}", built.kind).to_lowercase();
                Ok((WindowKind::Aggregate(Box::new(built)), args, ty, name))
            }
        }
    }

    fn order_window(&mut self, window: &mut Window, value: &Typed, name: &str) -> SqlResult<()> {
        if name != "percentile_disc" && !value.ty.field.is_numeric() && value.ty.field != FieldType::Null {
            return Err(other(4101, "Numeric datatype is required for percentile_cont function"));
        }
        window.order = vec![crate::plan::SortKey {
            compare: compare_as(value, value, "order by")?,
            expr: value.expr.clone(),
            descending: false,
        }];
        Ok(())
    }

    fn check_window(&self, kind: &WindowKind, spec: &Spec<'a>, name: &str) -> SqlResult<()> {
        use WindowKind as K;
        let ranked = matches!(kind, K::Rank | K::DenseRank | K::PercentRank | K::CumeDist | K::Lag | K::Lead);
        if ranked && spec.order_by.is_empty() {
            return Err(other(4018, &format!("No order list in window specification for '{name}'")));
        }
        let shifts = matches!(kind, K::Lag | K::Lead);
        if (ranked && !shifts || matches!(kind, K::RowNumber | K::Ntile)) && spec.frame.is_some() {
            return Err(other(4017, &format!("Window frame is not allowed with '{name}'")));
        }
        Ok(())
    }

    fn frame(&mut self, spec: &Spec<'a>, window: &Window) -> SqlResult<Frame> {
        let Some(written) = spec.frame else {
            let end = if spec.order_by.is_empty() { Bound::Last } else { Bound::Current };
            return Ok(Frame { range: true, start: Bound::First, end });
        };
        use ast::FrameBound as B;
        let (start, end) = (&written.start, written.end.as_ref().unwrap_or(&B::CurrentRow));
        let order = |b: &B<'_>| match b {
            B::UnboundedPreceding => 0,
            B::Preceding(_) => 1,
            B::CurrentRow => 2,
            B::Following(_) => 3,
            B::UnboundedFollowing => 4,
        };
        let bad = matches!(start, B::UnboundedFollowing)
            || matches!(end, B::UnboundedPreceding)
            || order(start) > order(end);
        if bad {
            return Err(other(4014, "Unacceptable combination of window frame bound specifications"));
        }
        if written.exclude != ast::FrameExclude::NoOthers {
            return Err(other(4022, "Frame exclusion is not supported yet"));
        }
        let range = written.unit == ast::FrameUnit::Range;
        let distances = [start, end].iter().any(|b| matches!(b, B::Preceding(_) | B::Following(_)));
        if range && distances {
            if window.order.len() != 1 {
                return Err(other(4019, "RANGE-type frame requires ORDER BY clause with single sort key"));
            }
            let key = self.expr(&spec.order_by[0].expr, Clause::Select)?;
            if !key.ty.field.is_numeric() {
                return Err(other(4021, "Numeric datatype is required for RANGE-type frame"));
            }
        }
        Ok(Frame { range, start: self.bound(start, range)?, end: self.bound(end, range)? })
    }

    fn bound(&mut self, bound: &ast::FrameBound<'a>, range: bool) -> SqlResult<Bound> {
        use ast::FrameBound as B;
        let mut distance = |e: &ast::Expr<'a>| {
            let typed = self.expr(e, Clause::Select)?;
            if !range && !typed.ty.field.is_integer() && !matches!(typed.expr, Expr::Param(_)) {
                return Err(other(4020, "Integer is required for ROWS-type frame"));
            }
            if range && !typed.ty.field.is_numeric() && !matches!(typed.expr, Expr::Param(_)) {
                return Err(other(4021, "Numeric datatype is required for RANGE-type frame"));
            }
            Ok(typed.expr)
        };
        Ok(match bound {
            B::UnboundedPreceding => Bound::First,
            B::UnboundedFollowing => Bound::Last,
            B::CurrentRow => Bound::Current,
            B::Preceding(e) => Bound::Preceding(distance(e)?),
            B::Following(e) => Bound::Following(distance(e)?),
        })
    }

    /// The block's window functions, out of its scope; names of windows must differ and what they say must be right.
    pub(crate) fn window_plan(&mut self) -> SqlResult<Option<WindowPlan>> {
        let list: &'a [ast::NamedWindow<'a>] = self.windows.last().copied().unwrap_or_default();
        for (i, window) in list.iter().enumerate() {
            if list[..i].iter().any(|w| catalog::same_name(&w.name.text(), &window.name.text())) {
                let text = format!("Multiple window specifications with the same name '{}'", window.name);
                return Err(other(4010, &text));
            }
            self.refined(&window.spec, Some(i))?;
        }
        Ok(self.scope_mut().windows.take())
    }

    /// Notes which columns of the rows must survive until the functions are computed. Comes after the grouping is known.
    pub(crate) fn carry_windows(&self, plan: &mut SelectPlan) {
        let Some(mut windows) = plan.windows.take() else { return };
        let scope = self.scope();
        let mut carried: Vec<ColumnRef> = Vec::new();
        let mut carry = |e: &Expr| {
            e.columns(&mut |c| {
                let own = scope.slots.contains(c.slot) || c.slot == scope.group_slot;
                if own && !carried.contains(&c) {
                    carried.push(c);
                }
            });
        };
        plan.output.iter().for_each(|t| carry(&t.expr));
        plan.order.iter().for_each(|k| carry(&k.expr));
        windows.carried = carried;
        plan.windows = Some(windows);
    }
}

fn named_function(name: &str, args: Vec<Typed>) -> SqlResult<(WindowKind, Vec<Typed>, ExprType, String)> {
    let ratio = ExprType { decimals: 10, ..ExprType::double() };
    let first = args.first().map_or(ExprType::null(), |t| t.ty.nullable(true));
    let (kind, ty) = match name {
        "row_number" => (WindowKind::RowNumber, ExprType::bigint().not_null()),
        "rank" => (WindowKind::Rank, ExprType::bigint().not_null()),
        "dense_rank" => (WindowKind::DenseRank, ExprType::bigint().not_null()),
        "percent_rank" => (WindowKind::PercentRank, ratio),
        "cume_dist" => (WindowKind::CumeDist, ratio),
        "ntile" => (WindowKind::Ntile, ExprType::bigint()),
        "lag" => (WindowKind::Lag, first),
        "lead" => (WindowKind::Lead, first),
        "first_value" => (WindowKind::FirstValue, first),
        "last_value" => (WindowKind::LastValue, first),
        "nth_value" => (WindowKind::NthValue, first),
        _ => return Err(SqlError::not_supported(format!("{name} with OVER"))),
    };
    Ok((kind, args, ty, name.to_owned()))
}

fn other(errno: u16, text: &str) -> SqlError {
    SqlError::Other { errno, state: *b"HY000", text: text.to_owned() }
}
