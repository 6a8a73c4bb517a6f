//! Expressions: from the syntax tree to [`Typed`].
//!
//! Names are resolved from the innermost block outwards. An aggregate is put into the list of the block that allows it and
//! becomes a column of that block's group slot.

use std::sync::Arc;

use catalog::program::RoutineDef;
use charset::{Charset, Collation};
use sql_syntax::ast;
use types::{FixedKind, Str, Value};

use crate::error::{Clause, SqlError, SqlResult};
use crate::expr::{
    ArithOp, CastTo, ColumnRef, CompareAs, CompareOp, Expr, Subquery, SubqueryKind, Truth, Typed,
};
use crate::fold;
use crate::meta::{Coercibility, ExprType, FieldType, NOT_FIXED_DECIMALS, Nature};
use crate::plan::{Aggregate, AggregateKind, SortKey};
use crate::planner::Planner;
use crate::scope::{Name, column_expr};
use crate::typing::{self, aggregate_collation, compare_as, of_arith, of_value, sort_as, unify};

impl<'a> Planner<'a> {
    /// An expression in the innermost scope.
    pub(crate) fn expr(&mut self, e: &ast::Expr<'a>, clause: Clause) -> SqlResult<Typed> {
        let typed = self.build(e, clause)?;
        Ok(fold::fold(typed, self.cx))
    }

    fn build(&mut self, e: &ast::Expr<'a>, clause: Clause) -> SqlResult<Typed> {
        use ast::Expr as A;
        match e {
            A::Literal(literal) => self.literal(literal),
            A::Column(column) => {
                let name = Name::of(column);
                match self.local(&name) {
                    Some(local) => Ok(local),
                    None => self.column(&name, clause),
                }
            }
            A::Param(n) => Ok(Typed::new(Expr::Param(*n as u16), self.param_type())),
            A::UserVariable(name) => {
                let collation = self.cx.connection_collation;
                let ty = ExprType {
                    field: FieldType::Blob,
                    ..ExprType::text(u32::MAX / 4, collation, Coercibility::Implicit)
                };
                Ok(Typed::new(Expr::UserVariable(name.text().to_lowercase().into()), ty))
            }
            A::AssignVariable { name, value } => {
                let value = self.expr(value, clause)?;
                let ty = value.ty;
                Ok(Typed::new(
                    Expr::AssignVariable(name.text().to_lowercase().into(), Box::new(value.expr)),
                    ty,
                ))
            }
            A::SystemVariable(variable) => self.system_variable(variable),
            A::Unary { op, expr } => self.unary(*op, expr, clause),
            A::Binary { op, left, right } => self.binary(*op, left, right, clause),
            A::And(list) => self.logic(list, clause, true),
            A::Or(list) => self.logic(list, clause, false),
            A::Is { expr, test, negated } => self.is_test(expr, *test, *negated, clause),
            A::Between(b) => self.between(b, clause),
            A::InList { expr, list, negated } => self.in_list(expr, list, *negated, clause),
            A::InQuery { expr, query, negated } => {
                self.quantified(expr, ast::BinaryOp::Eq, query, clause, false, *negated)
            }
            A::Quantified(q) => self.quantified(&q.left, q.op, q.query, clause, q.all, false),
            A::Like(like) => self.like(like, clause),
            A::Regexp { expr, pattern, negated } => {
                let call = self.call_function("regexp", &[**expr, **pattern], clause)?;
                Ok(if *negated { Typed::new(Expr::Not(Box::new(call.expr)), call.ty) } else { call })
            }
            A::Row(items) => {
                let items: SqlResult<Vec<_>> = items.iter().map(|i| self.expr(i, clause)).collect();
                let items = items?;
                let ty = items[0].ty;
                Ok(Typed::new(Expr::Row(items.into_iter().map(|t| t.expr).collect()), ty))
            }
            A::Subquery(query) => self.subquery(query, SubqueryKind::Scalar, false, clause),
            A::Exists(query) => self.subquery(query, SubqueryKind::Exists, false, clause),
            A::Case(case) => self.case(case, clause),
            A::Cast(cast) => self.cast(cast, clause),
            A::ConvertUsing { expr, charset } => {
                let charset = self.charset(charset.text().as_ref())?;
                let arg = self.expr(expr, clause)?;
                let collation = Collation::default_of(charset);
                let ty = ExprType::text(arg.ty.length, collation, Coercibility::Implicit).nullable(true);
                Ok(Typed::new(
                    Expr::Cast { to: CastTo::Char { length: None, collation }, arg: Box::new(arg.expr) },
                    ty,
                ))
            }
            A::Collate { expr, collation } => self.collate(expr, &collation.text(), clause),
            A::DateAdd(add) => self.date_add(add, clause),
            A::Call(call) => self.call(call, clause),
            A::Special(special) => self.special(special, clause),
            A::Aggregate(aggregate) => self.aggregate(aggregate, clause),
            A::Window(call) => self.window_call(call, clause),
            // The grammar has these words as whole values only: here a parameter of EXECUTE stood.
            A::Default | A::Ignore => Err(SqlError::default_as_parameter()),
        }
    }

    fn param_type(&self) -> ExprType {
        ExprType::text(0, self.cx.connection_collation, Coercibility::Coercible)
    }

    fn literal(&mut self, literal: &ast::Literal<'a>) -> SqlResult<Typed> {
        use ast::Literal as L;
        let value = match literal {
            L::Null => Value::Null,
            L::True => return Ok(Typed::new(Expr::int(1), ExprType::boolean().not_null())),
            L::False => return Ok(Typed::new(Expr::int(0), ExprType::boolean().not_null())),
            L::Int(v) => i64::try_from(*v).map_or(Value::UInt(*v), Value::Int),
            L::Decimal(text) => fold::decimal_literal(text),
            L::Double(text) => fold::double_literal(text)?,
            L::String(text) => Value::Str(self.connection_text(text)),
            L::National(text) => Value::str(text, Collation::UTF8MB3_GENERAL_CI),
            L::Introduced(i) => {
                let charset = self.charset(&i.charset.text())?;
                let bytes = match i.value {
                    L::String(b) | L::HexString(b) | L::HexHybrid(b) | L::Bits(b) => b,
                    _ => return Err(SqlError::not_supported("this introducer")),
                };
                Value::str(bytes, Collation::default_of(charset))
            }
            L::HexHybrid(bytes) | L::Bits(bytes) if bytes.len() <= 8 => return Ok(hybrid(bytes)),
            L::HexString(bytes) | L::HexHybrid(bytes) | L::Bits(bytes) => {
                Value::str(bytes, Collation::BINARY)
            }
            L::Date(text) => fold::temporal_literal(FieldType::Date, text, self.cx)?,
            L::Time(text) => fold::temporal_literal(FieldType::Time, text, self.cx)?,
            L::Timestamp(text) => fold::temporal_literal(FieldType::DateTime, text, self.cx)?,
        };
        let ty = of_value(&value);
        Ok(Typed::new(Expr::Const(value), ty))
    }

    /// A text of the statement, which came in UTF-8, in the connection's character set.
    fn connection_text(&self, text: &[u8]) -> Str {
        let collation = self.cx.connection_collation;
        let charset = collation.charset();
        if charset.is_utf8() || collation.is_binary() || charset.has_ascii() && text.is_ascii() {
            return Str::new(text, collation);
        }
        Str::new(text, Collation::UTF8MB4_BIN).convert(collation)
    }

    /// A variable of the stored program: it hides columns of its name.
    fn local(&self, name: &Name) -> Option<Typed> {
        let locals = self.cx.locals?;
        if name.schema.is_some() {
            return None;
        }
        let local = locals.find(name.table.as_deref(), &name.column)?;
        Some(Typed::new(Expr::Param(local.index), local.ty))
    }

    /// A column by name: this block, then its aliases where they count, then the blocks around it.
    pub(crate) fn column(&mut self, name: &Name, clause: Clause) -> SqlResult<Typed> {
        let depth = self.scopes.len();
        for level in (0..depth).rev() {
            let own = level + 1 == depth;
            let scope = &self.scopes[level];
            let aliases_first = own && clause == Clause::OrderBy && !scope.in_aggregate;
            if aliases_first && let Some(typed) = scope.alias(name) {
                return Ok(typed.clone());
            }
            if let Some((table, position)) = scope.find(name, clause)? {
                let typed = column_expr(table, position);
                let slot = table.slot;
                self.check_column(slot, &table.columns[position].org_name)?;
                if !own {
                    let slots = typed.expr.slots();
                    for inner in &mut self.scopes[level + 1..] {
                        inner.outer_reads.union(&slots);
                    }
                }
                return Ok(typed);
            }
            let aliases_too = own && matches!(clause, Clause::Having | Clause::GroupBy);
            if aliases_too && let Some(typed) = scope.alias(name) {
                return Ok(typed.clone());
            }
        }
        Err(SqlError::UnknownColumn { name: name.text(), clause })
    }

    fn system_variable(&mut self, variable: &ast::SystemVariable<'a>) -> SqlResult<Typed> {
        let name = variable.name.text().to_lowercase();
        let global = variable.scope == Some(ast::Scope::Global);
        if variable.scope.is_some()
            && let Some(error) = self.cx.variables.scope_error(&name, global)
        {
            return Err(error);
        }
        let value =
            self.cx.variables.system(&name, global).ok_or_else(|| SqlError::UnknownVariable(name.clone()))?;
        let ty = match of_value(&value) {
            t if t.field.is_integer() => ExprType { length: 21, ..ExprType::bigint() },
            t => t,
        };
        Ok(Typed::new(Expr::SystemVariable(Box::new((name, global))), ty))
    }

    fn unary(&mut self, op: ast::UnaryOp, arg: &ast::Expr<'a>, clause: Clause) -> SqlResult<Typed> {
        if let (ast::UnaryOp::Neg, ast::Expr::Literal(ast::Literal::Int(v))) = (op, arg)
            && *v > i64::MAX as u64
        {
            // -9223372036854775808 is an integer; what is smaller is a decimal.
            let value = match 0i64.checked_sub_unsigned(*v) {
                Some(v) => Value::Int(v),
                None => fold::decimal_literal(format!("-{v}").as_bytes()),
            };
            let ty = of_value(&value);
            return Ok(Typed::new(Expr::Const(value), ty));
        }
        let arg = self.expr(arg, clause)?;
        let ty = arg.ty;
        if let (ast::UnaryOp::Neg, Expr::Const(Value::Int(i64::MIN))) = (op, &arg.expr) {
            let value = fold::decimal_literal(b"9223372036854775808");
            let ty = of_value(&value);
            return Ok(Typed::new(Expr::Const(value), ty));
        }
        Ok(match op {
            ast::UnaryOp::Neg => {
                let ty = match ty.field {
                    f if f.is_integer() => ExprType { length: ty.length + 1, ..ExprType::bigint() },
                    FieldType::Decimal => {
                        ExprType { length: ty.length + u32::from(ty.unsigned), unsigned: false, ..ty }
                    }
                    FieldType::Float | FieldType::Double => ExprType::double().with_decimals(ty.decimals),
                    _ => ExprType::double(),
                };
                Typed::new(Expr::Negate(Box::new(arg.expr)), ty.nullable(arg.ty.nullable))
            }
            ast::UnaryOp::BitNot => Typed::new(
                Expr::BitNot(Box::new(arg.expr)),
                ExprType::bigint().unsigned().nullable(ty.nullable),
            ),
            ast::UnaryOp::Not => {
                Typed::new(Expr::Not(Box::new(arg.expr)), ExprType::boolean().nullable(ty.nullable))
            }
            ast::UnaryOp::Binary => {
                let to = CastTo::Char { length: None, collation: Collation::BINARY };
                let ty = ExprType::text(ty.length, Collation::BINARY, Coercibility::Implicit)
                    .nullable(ty.nullable);
                Typed::new(Expr::Cast { to, arg: Box::new(arg.expr) }, ty)
            }
        })
    }

    fn binary(
        &mut self,
        op: ast::BinaryOp,
        left: &ast::Expr<'a>,
        right: &ast::Expr<'a>,
        clause: Clause,
    ) -> SqlResult<Typed> {
        use ast::BinaryOp as B;
        if op == B::Concat {
            return self.call_function("concat", &[*left, *right], clause);
        }
        if op == B::SoundsLike {
            let left = self.call_function("soundex", &[*left], clause)?;
            let right = self.call_function("soundex", &[*right], clause)?;
            return self.comparison(CompareOp::Eq, left, right);
        }
        if let Some(op) = compare_op(op) {
            match (left, right) {
                (ast::Expr::Row(_), ast::Expr::Subquery(query)) => {
                    return self.row_subquery(op, left, query, clause);
                }
                (ast::Expr::Subquery(query), ast::Expr::Row(_)) => {
                    return self.row_subquery(op.flip(), right, query, clause);
                }
                _ => {}
            }
        }
        let (left, right) = (self.expr(left, clause)?, self.expr(right, clause)?);
        if let Some(op) = compare_op(op) {
            return self.comparison(op, left, right);
        }
        let nullable = left.ty.nullable || right.ty.nullable;
        let arith = match op {
            B::Xor => {
                return Ok(Typed::new(
                    Expr::Xor(Box::new(left.expr), Box::new(right.expr)),
                    ExprType::boolean().nullable(nullable),
                ));
            }
            B::Add => ArithOp::Add,
            B::Sub => ArithOp::Sub,
            B::Mul => ArithOp::Mul,
            B::Div => ArithOp::Div,
            B::IntDiv => ArithOp::IntDiv,
            B::Mod => ArithOp::Mod,
            B::BitAnd => ArithOp::BitAnd,
            B::BitOr => ArithOp::BitOr,
            B::BitXor => ArithOp::BitXor,
            B::ShiftLeft => ArithOp::ShiftLeft,
            B::ShiftRight => ArithOp::ShiftRight,
            other => return Err(SqlError::not_supported(format!("operator {other:?}"))),
        };
        self.arith(arith, left, right)
    }

    pub(crate) fn arith(&mut self, arith: ArithOp, left: Typed, right: Typed) -> SqlResult<Typed> {
        for side in [&left, &right] {
            if matches!(side.expr, Expr::Row(_)) {
                return Err(SqlError::OperandColumns(1));
            }
        }
        let (left, right) = (self.json_number(left, &right)?, right);
        let right = self.json_number(right, &left)?;
        let ty = of_arith(arith, &left.ty, &right.ty, self.cx.div_precision_increment);
        Ok(Typed::new(Expr::Arith { op: arith, left: Box::new(left.expr), right: Box::new(right.expr) }, ty))
    }

    /// `left op right`; rows compare column by column.
    pub(crate) fn comparison(&mut self, op: CompareOp, left: Typed, right: Typed) -> SqlResult<Typed> {
        let nullable = op != CompareOp::NullSafeEq && (left.ty.nullable || right.ty.nullable);
        match (&left.expr, &right.expr) {
            (Expr::Row(a), Expr::Row(b)) => {
                let compare = CompareAs::Any(self.cx.connection_collation);
                return Ok(Typed::new(compare_rows(op, a, b, compare)?, ExprType::boolean()));
            }
            (Expr::Row(_), _) | (_, Expr::Row(_)) => {
                let name = |t: &Typed| match t.expr {
                    Expr::Row(_) => "row",
                    _ if t.ty.nature == Nature::Boolean => "boolean",
                    _ => t.ty.field.name(),
                };
                return Err(SqlError::IllegalParameterTypes {
                    left: name(&left),
                    right: name(&right),
                    operation: op.text().to_owned(),
                });
            }
            _ => {}
        }
        let (left, right) = (self.json_scalar(left, &right)?, right);
        let right = self.json_scalar(right, &left)?;
        let compare = compare_as(&left, &right, op.text())?;
        let (left, right) = fold::coerce_constants(left, right, compare, self.cx);
        Ok(Typed::new(
            Expr::Compare { op, compare, left: Box::new(left), right: Box::new(right) },
            ExprType::boolean().nullable(nullable),
        ))
    }

    /// What JSON_EXTRACT found counts as a number beside one: true is 1, a string what it begins with.
    fn json_number(&mut self, this: Typed, other: &Typed) -> SqlResult<Typed> {
        let field = other.ty.field;
        let number =
            field.is_integer() || matches!(field, FieldType::Decimal | FieldType::Float | FieldType::Double);
        let inside = match &this.expr {
            Expr::Collate(inside, _) => inside,
            other => other,
        };
        match inside {
            Expr::Call { function, .. } if number && function.name() == "json_extract" => {
                self.library_call("<json number>", vec![this])
            }
            // Computed already.
            Expr::Const(Value::Str(_)) if number && this.ty.nature == Nature::Json => {
                self.library_call("<json number>", vec![this])
            }
            _ => Ok(this),
        }
    }

    /// A string that JSON_EXTRACT found compares with a text by what stands between its quotes.
    fn json_scalar(&mut self, this: Typed, other: &Typed) -> SqlResult<Typed> {
        let this = self.json_number(this, other)?;
        let extracts = |t: &Typed| t.ty.nature == Nature::Json && !matches!(t.expr, Expr::Column(_));
        if extracts(&this) && other.ty.field.is_text() && !extracts(other) {
            return self.library_call("json_unquote", vec![this]);
        }
        Ok(this)
    }

    fn logic(&mut self, list: &[ast::Expr<'a>], clause: Clause, and: bool) -> SqlResult<Typed> {
        let mut out = Vec::with_capacity(list.len());
        let mut nullable = false;
        for item in list {
            let typed = self.expr(item, clause)?;
            nullable |= typed.ty.nullable;
            match (typed.expr, and) {
                (Expr::And(inner), true) | (Expr::Or(inner), false) => out.extend(inner),
                (other, _) => out.push(other),
            }
        }
        let expr = if and { Expr::And(out) } else { Expr::Or(out) };
        Ok(Typed::new(expr, ExprType::boolean().nullable(nullable)))
    }

    fn is_test(
        &mut self,
        arg: &ast::Expr<'a>,
        test: ast::IsTest,
        negated: bool,
        clause: Clause,
    ) -> SqlResult<Typed> {
        let arg = Box::new(self.expr(arg, clause)?.expr);
        let expr = match test {
            ast::IsTest::Null => Expr::IsNull { arg, negated },
            ast::IsTest::True => Expr::IsTruth { arg, truth: Truth::True, negated },
            ast::IsTest::False => Expr::IsTruth { arg, truth: Truth::False, negated },
            ast::IsTest::Unknown => Expr::IsTruth { arg, truth: Truth::Unknown, negated },
        };
        Ok(Typed::new(expr, ExprType::boolean().not_null()))
    }

    fn between(&mut self, b: &ast::Between<'a>, clause: Clause) -> SqlResult<Typed> {
        let arg = self.expr(&b.expr, clause)?;
        let (low, high) = (self.expr(&b.low, clause)?, self.expr(&b.high, clause)?);
        let compare = [compare_as(&arg, &low, "between")?, compare_as(&arg, &high, "between")?];
        let nullable = arg.ty.nullable || low.ty.nullable || high.ty.nullable;
        let (_, low) = fold::coerce_constants(arg.clone(), low, compare[0], self.cx);
        let (_, high) = fold::coerce_constants(arg.clone(), high, compare[1], self.cx);
        Ok(Typed::new(
            Expr::Between {
                arg: Box::new(arg.expr),
                low: Box::new(low),
                high: Box::new(high),
                compare,
                negated: b.negated,
            },
            ExprType::boolean().nullable(nullable),
        ))
    }

    fn in_list(
        &mut self,
        arg: &ast::Expr<'a>,
        list: &[ast::Expr<'a>],
        negated: bool,
        clause: Clause,
    ) -> SqlResult<Typed> {
        let arg = self.expr(arg, clause)?;
        if let Expr::Row(_) = arg.expr {
            return self.row_in_list(arg, list, negated, clause);
        }
        let mut nullable = arg.ty.nullable;
        let mut compare: Option<CompareAs> = None;
        let mut mixed = false;
        let mut out = Vec::with_capacity(list.len());
        for item in list {
            let item = self.expr(item, clause)?;
            nullable |= item.ty.nullable;
            let this = compare_as(&arg, &item, "in")?;
            if !matches!(item.expr, Expr::Const(Value::Null)) {
                mixed |= compare.is_some_and(|c| c != this);
                compare.get_or_insert(this);
            }
            out.push(fold::coerce_constants(arg.clone(), item, this, self.cx).1);
        }
        let collation = arg.ty.collation;
        let compare =
            if mixed { CompareAs::Any(collation) } else { compare.unwrap_or(CompareAs::Any(collation)) };
        Ok(Typed::new(
            Expr::In { arg: Box::new(arg.expr), list: out, compare, negated },
            ExprType::boolean().nullable(nullable),
        ))
    }

    fn row_in_list(
        &mut self,
        arg: Typed,
        list: &[ast::Expr<'a>],
        negated: bool,
        clause: Clause,
    ) -> SqlResult<Typed> {
        let mut any = Vec::with_capacity(list.len());
        for item in list {
            let item = self.expr(item, clause)?;
            any.push(self.comparison(CompareOp::Eq, arg.clone(), item)?.expr);
        }
        let any = Expr::Or(any);
        let expr = if negated { Expr::Not(Box::new(any)) } else { any };
        Ok(Typed::new(expr, ExprType::boolean()))
    }

    fn quantified(
        &mut self,
        left: &ast::Expr<'a>,
        op: ast::BinaryOp,
        query: &ast::Query<'a>,
        clause: Clause,
        all: bool,
        negated: bool,
    ) -> SqlResult<Typed> {
        let left = self.expr(left, clause)?;
        let op = compare_op(op).ok_or_else(|| SqlError::not_supported("this operator before a subquery"))?;
        let kind = SubqueryKind::Compare {
            left: Box::new(left.expr.clone()),
            op,
            compare: CompareAs::Any(left.ty.collation),
            all,
        };
        let mut typed = self.subquery(query, kind, negated, clause)?;
        if let Expr::Subquery(sub) = &mut typed.expr {
            let width = if let Expr::Row(items) = &left.expr { items.len() } else { 1 };
            if sub.plan.columns.len() != width {
                return Err(SqlError::OperandColumns(width as u32));
            }
            let right = Typed::new(Expr::Const(Value::Null), sub.plan.columns[0].ty);
            let text = sub.plan.columns.iter().find(|c| c.ty.field.is_text());
            if let (SubqueryKind::Compare { compare, .. }, Some(text)) = (&mut sub.kind, text)
                && width > 1
            {
                *compare = CompareAs::Any(text.ty.collation);
            }
            if let SubqueryKind::Compare { compare, .. } = &mut sub.kind
                && width == 1
                && !matches!(left.expr, Expr::Param(_))
            {
                *compare = compare_as(&left, &right, op.text())?;
            }
        }
        Ok(typed)
    }

    /// `(a, b) = (SELECT ...)`: the one row of the query.
    fn row_subquery(
        &mut self,
        op: CompareOp,
        row: &ast::Expr<'a>,
        query: &ast::Query<'a>,
        clause: Clause,
    ) -> SqlResult<Typed> {
        let row = self.expr(row, clause)?;
        let Expr::Row(left) = row.expr else { return Err(SqlError::OperandColumns(1)) };
        let compare = CompareAs::Any(self.cx.connection_collation);
        let width = left.len();
        let typed = self.subquery(query, SubqueryKind::Row { left, op, compare }, false, clause)?;
        if let Expr::Subquery(sub) = &typed.expr
            && sub.plan.columns.len() != width
        {
            if let [column] = sub.plan.columns.as_slice() {
                return Err(SqlError::IllegalParameterTypes {
                    left: "row",
                    right: column.ty.field.name(),
                    operation: op.text().to_owned(),
                });
            }
            return Err(SqlError::OperandColumns(width as u32));
        }
        Ok(typed)
    }

    fn subquery(
        &mut self,
        query: &ast::Query<'a>,
        kind: SubqueryKind,
        negated: bool,
        _clause: Clause,
    ) -> SqlResult<Typed> {
        let id = self.next_subquery;
        self.next_subquery += 1;
        let (plan, reads) = self.nested_query(query)?;
        let ty = match &kind {
            SubqueryKind::Scalar if plan.columns.len() != 1 => return Err(SqlError::OperandColumns(1)),
            SubqueryKind::Scalar => plan.columns[0].ty.nullable(true),
            SubqueryKind::Exists => ExprType::boolean().not_null(),
            SubqueryKind::Compare { .. } | SubqueryKind::Row { .. } => ExprType::boolean(),
        };
        let sub = Subquery { id, kind, plan: Box::new(plan), correlated: !reads.is_empty(), negated };
        Ok(Typed::new(Expr::Subquery(Box::new(sub)), ty))
    }

    fn like(&mut self, like: &ast::Like<'a>, clause: Clause) -> SqlResult<Typed> {
        let (arg, pattern) = (self.expr(&like.expr, clause)?, self.expr(&like.pattern, clause)?);
        let escape = match &like.escape {
            Some(e) => Some(Box::new(self.expr(e, clause)?.expr)),
            None => None,
        };
        let collation = match (arg.ty.field.is_text(), pattern.ty.field.is_text()) {
            (false, false) => self.cx.connection_collation,
            _ => aggregate_collation(&arg.ty, &pattern.ty, "like")?.0,
        };
        let nullable = arg.ty.nullable || pattern.ty.nullable;
        Ok(Typed::new(
            Expr::Like {
                arg: Box::new(arg.expr),
                pattern: Box::new(pattern.expr),
                escape,
                collation,
                negated: like.negated,
            },
            ExprType::boolean().nullable(nullable),
        ))
    }

    fn case(&mut self, case: &ast::Case<'a>, clause: Clause) -> SqlResult<Typed> {
        let operand = case.operand.as_ref().map(|e| self.expr(e, clause)).transpose()?;
        let mut arms = Vec::new();
        let mut ty: Option<ExprType> = None;
        for when in case.whens {
            let condition = self.expr(&when.condition, clause)?;
            let condition = match &operand {
                Some(operand) => self.comparison(CompareOp::Eq, operand.clone(), condition)?,
                None => condition,
            };
            let result = self.expr(&when.result, clause)?;
            ty = Some(ty.map_or(Ok(result.ty), |t| unify(&t, &result.ty, "case"))?);
            arms.push((condition.expr, result.expr));
        }
        let otherwise = case.otherwise.as_ref().map(|e| self.expr(e, clause)).transpose()?;
        let last = otherwise.as_ref().map_or(ExprType::null(), |t| t.ty);
        let ty = unify(&ty.unwrap_or(ExprType::null()), &last, "case")?;
        let otherwise = otherwise.map(|t| Box::new(t.expr));
        Ok(fold::to_type(Typed::new(Expr::Case { arms, otherwise }, ty)))
    }

    fn cast(&mut self, cast: &ast::Cast<'a>, clause: Clause) -> SqlResult<Typed> {
        let arg = self.expr(&cast.expr, clause)?;
        let fsp = |p: Option<u64>| p.unwrap_or(0).min(6) as u8;
        use ast::CastType as C;
        let (to, ty) = match cast.target {
            C::Signed => (CastTo::Signed, ExprType::bigint()),
            C::Unsigned => (CastTo::Unsigned, ExprType::bigint().unsigned()),
            C::Float => {
                (CastTo::Float, ExprType { field: FieldType::Float, length: 12, ..ExprType::double() })
            }
            C::Double { .. } => (CastTo::Double, ExprType::double()),
            C::Decimal { precision, scale } => {
                let (p, s) = (precision.unwrap_or(10), scale.unwrap_or(0));
                if p > u64::from(typing::DECIMAL_DIGITS_MAX) {
                    return Err(SqlError::PrecisionTooBig {
                        column: "cast".into(),
                        max: typing::DECIMAL_DIGITS_MAX,
                    });
                }
                if s > u64::from(typing::DECIMAL_SCALE_MAX) {
                    return Err(SqlError::ScaleTooBig {
                        column: "cast".into(),
                        max: u32::from(typing::DECIMAL_SCALE_MAX),
                    });
                }
                if s > p {
                    return Err(SqlError::ScaleOverPrecision(String::new()));
                }
                let (p, s) = (if p == 0 { 10 } else { p as u8 }, s as u8);
                (CastTo::Decimal { precision: p, scale: s }, ExprType::decimal(u32::from(p), s))
            }
            C::Date => (CastTo::Date, typing::temporal(FieldType::Date, 0)),
            C::Time { precision } => {
                (CastTo::Time { fsp: fsp(precision) }, typing::temporal(FieldType::Time, fsp(precision)))
            }
            C::DateTime { precision } => (
                CastTo::DateTime { fsp: fsp(precision) },
                typing::temporal(FieldType::DateTime, fsp(precision)),
            ),
            C::Year => (CastTo::Year, ExprType { field: FieldType::Year, length: 4, ..ExprType::bigint() }),
            C::Binary { length } => self.cast_to_text(&arg, length, Collation::BINARY),
            C::NationalChar { length } => self.cast_to_text(&arg, length, Collation::UTF8MB3_GENERAL_CI),
            C::Char { length, charset } => {
                let collation = self.charset_spec(&charset)?.unwrap_or(self.cx.connection_collation);
                self.cast_to_text(&arg, length, collation)
            }
            C::IntervalDaySecond { .. } => return Err(SqlError::not_supported("CAST to INTERVAL")),
            C::Named(name) => {
                let kinds = [FixedKind::Uuid, FixedKind::Inet4, FixedKind::Inet6];
                let Some(kind) = kinds.into_iter().find(|k| name.is(k.name())) else {
                    return Err(SqlError::not_supported(format!("CAST to {name}")));
                };
                (CastTo::Fixed(kind), typing::fixed(kind))
            }
        };
        let nullable = arg.ty.nullable || ty.field.is_temporal();
        Ok(Typed::new(Expr::Cast { to, arg: Box::new(arg.expr) }, ty.nullable(nullable)))
    }

    fn cast_to_text(&self, arg: &Typed, length: Option<u64>, collation: Collation) -> (CastTo, ExprType) {
        let length = length.map(|l| u32::try_from(l).unwrap_or(u32::MAX));
        let ty = ExprType::text(length.unwrap_or(arg.ty.length), collation, Coercibility::Implicit);
        (CastTo::Char { length, collation }, ty)
    }

    fn collate(&mut self, arg: &ast::Expr<'a>, name: &str, clause: Clause) -> SqlResult<Typed> {
        let arg = self.expr(arg, clause)?;
        let from = if arg.ty.field.is_text() {
            arg.ty.collation.charset()
        } else {
            self.cx.connection_collation.charset()
        };
        let collation = self.collation(name, Some(from))?;
        if collation.charset() != from && arg.ty.field != FieldType::Null {
            return Err(SqlError::CollationNotForCharset {
                collation: collation.name().into(),
                charset: from.name().into(),
            });
        }
        let ty = ExprType {
            collation,
            coercibility: Coercibility::Explicit,
            field: FieldType::VarString,
            decimals: NOT_FIXED_DECIMALS,
            ..arg.ty
        };
        Ok(Typed::new(Expr::Collate(Box::new(arg.expr), collation), ty))
    }

    fn aggregate(&mut self, a: &ast::Aggregate<'a>, clause: Clause) -> SqlResult<Typed> {
        let (args, order, level) = self.aggregate_input(a.args, a.order_by, clause)?;
        let built = self.aggregate_of(a, args, order)?;
        self.add_aggregate(built, level)
    }

    /// Arguments and order of an aggregate, and the block that computes it.
    fn aggregate_input(
        &mut self,
        args: &[ast::Expr<'a>],
        order: &[ast::OrderItem<'a>],
        clause: Clause,
    ) -> SqlResult<(Vec<Typed>, Vec<SortKey>, usize)> {
        let scope = self.scope();
        let own = scope.aggregates_allowed
            && !scope.in_aggregate
            && matches!(clause, Clause::Select | Clause::Having | Clause::OrderBy);
        if !own && !self.scopes.iter().any(crate::scope::Scope::takes_aggregates) {
            return Err(SqlError::InvalidGroupFunction);
        }
        let around = std::mem::replace(&mut self.scope_mut().in_aggregate, true);
        let args: SqlResult<Vec<Typed>> = args.iter().map(|e| self.expr(e, clause)).collect();
        let order = self.sort_keys(order, clause);
        self.scope_mut().in_aggregate = around;
        let args = args?;
        let level = self.aggregate_level(&args, own, clause).ok_or(SqlError::InvalidGroupFunction)?;
        Ok((args, order?, level))
    }

    /// A stored aggregate function.
    pub(crate) fn stored_aggregate(
        &mut self,
        def: Arc<RoutineDef>,
        ty: ExprType,
        args: &[ast::Expr<'a>],
        clause: Clause,
    ) -> SqlResult<Typed> {
        let (args, _, level) = self.aggregate_input(args, &[], clause)?;
        if args.iter().any(|t| matches!(t.expr, Expr::Row(_))) {
            return Err(SqlError::OperandColumns(1));
        }
        let built = Aggregate {
            kind: AggregateKind::Stored,
            distinct: false,
            args,
            order: Vec::new(),
            separator: None,
            limit: self.limit(None)?,
            ty,
            compare: CompareAs::Int,
            stored: Some(def),
        };
        self.add_aggregate(built, level)
    }

    /// The result of an aggregate is a column of its block's group.
    fn add_aggregate(&mut self, built: Aggregate, level: usize) -> SqlResult<Typed> {
        let ty = built.ty;
        let scope = &mut self.scopes[level];
        let column = scope.aggregates.len() as u16;
        scope.aggregates.push(built);
        Ok(Typed::new(Expr::Column(ColumnRef { slot: scope.group_slot, column }), ty))
    }

    /// The block that computes an aggregate: the innermost one that its arguments read or, where it has no place there, the
    /// outermost one inside that where it has; `own`: the current one is such. Without arguments of any block, the current one
    /// first.
    fn aggregate_level(&self, args: &[Typed], own: bool, clause: Clause) -> Option<usize> {
        let last = self.scopes.len() - 1;
        let mut slots = crate::expr::SlotSet::default();
        args.iter().for_each(|t| t.expr.columns(&mut |c| slots.insert(c.slot)));
        let read = (0..=last).rev().find(|level| self.scopes[*level].slots.intersects(&slots));
        if read.is_none() && own {
            return Some(last);
        }
        // A block that groups is no plain join, so it cannot be merged.
        if self.scopes[read.unwrap_or(0)..=last].iter().any(|scope| scope.merging) {
            return None;
        }
        // What reads an outer block alone is an outer block's, too, but for HAVING.
        let own = own && (read == Some(last) || clause == Clause::Having);
        let fits = |level: usize| if level == last { own } else { self.scopes[level].takes_aggregates() };
        (read.unwrap_or(0)..=last).find(|level| fits(*level))
    }

    /// An aggregate over arguments that are built.
    pub(crate) fn aggregate_of(
        &mut self,
        a: &ast::Aggregate<'a>,
        mut args: Vec<Typed>,
        order: Vec<SortKey>,
    ) -> SqlResult<Aggregate> {
        if args.iter().any(|t| matches!(t.expr, Expr::Row(_))) {
            return Err(SqlError::OperandColumns(1));
        }
        use ast::AggregateFunction as F;
        let kind = match a.function {
            F::Count if args.is_empty() => AggregateKind::CountAll,
            F::Count => AggregateKind::Count,
            F::Sum => AggregateKind::Sum,
            F::Avg => AggregateKind::Avg,
            F::Min => AggregateKind::Min,
            F::Max => AggregateKind::Max,
            F::BitAnd => AggregateKind::BitAnd,
            F::BitOr => AggregateKind::BitOr,
            F::BitXor => AggregateKind::BitXor,
            F::StddevPop => AggregateKind::StddevPop,
            F::StddevSamp => AggregateKind::StddevSamp,
            F::VarPop => AggregateKind::VarPop,
            F::VarSamp => AggregateKind::VarSamp,
            F::GroupConcat => AggregateKind::GroupConcat,
            F::JsonArrayAgg | F::JsonObjectAgg => {
                let last = args.pop().ok_or_else(|| SqlError::WrongParameterCount("json_arrayagg".into()))?;
                let last = self.as_json(last)?;
                args.push(last);
                if a.function == F::JsonArrayAgg {
                    AggregateKind::JsonArrayAgg
                } else {
                    AggregateKind::JsonObjectAgg
                }
            }
            F::PercentileCont | F::PercentileDisc | F::Median => {
                return Err(SqlError::not_supported("this function without OVER"));
            }
        };
        let ty = self.aggregate_type(kind, &args);
        let compare = match args.first() {
            Some(arg) => compare_as(arg, arg, "min")?,
            None => CompareAs::Int,
        };
        let separator = a.separator.map(Into::into);
        let limit = self.limit(a.limit)?;
        Ok(Aggregate { kind, distinct: a.distinct, args, order, separator, limit, ty, compare, stored: None })
    }

    fn aggregate_type(&self, kind: AggregateKind, args: &[Typed]) -> ExprType {
        use AggregateKind as K;
        let arg = args.first().map_or(ExprType::bigint(), |t| t.ty);
        let exact = arg.field.is_integer() || arg.field == FieldType::Decimal;
        match kind {
            K::CountAll | K::Count => ExprType::bigint().not_null(),
            K::Sum if exact => {
                let (precision, scale) = arg.precision();
                ExprType::decimal((precision + 22).min(typing::DECIMAL_DIGITS_MAX), scale)
            }
            K::Avg if exact => {
                let (precision, scale) = arg.precision();
                let more = self.cx.div_precision_increment;
                ExprType::decimal(
                    (precision + u32::from(more)).min(typing::DECIMAL_DIGITS_MAX),
                    (scale + more).min(typing::DECIMAL_SCALE_MAX),
                )
            }
            K::Min | K::Max => arg.nullable(true),
            K::BitAnd | K::BitOr | K::BitXor => ExprType::bigint().unsigned().not_null(),
            K::GroupConcat | K::JsonArrayAgg | K::JsonObjectAgg => {
                let collation =
                    if arg.field.is_text() { arg.collation } else { self.cx.connection_collation };
                let json = kind != K::GroupConcat;
                ExprType {
                    field: FieldType::Blob,
                    nature: if json { Nature::Json } else { Nature::Plain },
                    ..ExprType::text(1 << 18, collation, Coercibility::Implicit)
                }
            }
            K::StddevPop | K::StddevSamp | K::VarPop | K::VarSamp if exact => {
                let decimals = arg.decimals + self.cx.div_precision_increment;
                ExprType { decimals, ..ExprType::double() }
            }
            K::Sum if arg.field.is_real() => ExprType::double().with_decimals(arg.decimals),
            _ if arg.field.is_real() => {
                ExprType::double().with_decimals(arg.decimals.saturating_add(self.cx.div_precision_increment))
            }
            _ => ExprType::double(),
        }
    }

    pub(crate) fn sort_keys(
        &mut self,
        items: &[ast::OrderItem<'a>],
        clause: Clause,
    ) -> SqlResult<Vec<SortKey>> {
        items
            .iter()
            .map(|item| {
                let typed = self.expr(&item.expr, clause)?;
                Ok(SortKey {
                    compare: sort_as(&typed, "order by")?,
                    expr: typed.expr,
                    descending: item.descending,
                })
            })
            .collect()
    }

    /// A character set by name.
    pub(crate) fn charset(&self, name: &str) -> SqlResult<Charset> {
        Charset::by_name(name).ok_or_else(|| SqlError::UnknownCharset(name.to_owned()))
    }

    /// A collation by name; `uca1400_ai_ci` alone is completed by the character set.
    pub(crate) fn collation(&self, name: &str, charset: Option<Charset>) -> SqlResult<Collation> {
        Collation::by_name(name)
            .or_else(|| Collation::by_name(&format!("{}_{name}", charset?.name())))
            .ok_or_else(|| SqlError::UnknownCollation(name.to_owned()))
    }

    /// CHARACTER SET and COLLATE of a type.
    pub(crate) fn charset_spec(&self, spec: &ast::CharsetSpec<'a>) -> SqlResult<Option<Collation>> {
        let charset = spec.charset.map(|c| self.charset(&c.text())).transpose()?;
        let collation = match spec.collation {
            Some(name) => Some(self.collation(&name.text(), charset)?),
            None if spec.binary => charset.map(Collation::bin_of),
            None => charset.map(Collation::default_of),
        };
        if let (Some(charset), Some(collation)) = (charset, collation)
            && collation.charset() != charset
        {
            return Err(SqlError::CollationNotForCharset {
                collation: collation.name().into(),
                charset: charset.name().into(),
            });
        }
        Ok(collation)
    }
}

/// `0x41`, `b'101'`: a number among numbers, bytes among texts.
fn hybrid(bytes: &[u8]) -> Typed {
    let value = bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b));
    let ty = ExprType::text(bytes.len() as u32, Collation::BINARY, Coercibility::Coercible).not_null();
    Typed::new(Expr::Const(Value::Bit { value, bits: bytes.len() as u8 * 8 }), ty)
}

/// Rows column by column; in an order the first columns that differ decide.
fn compare_rows(op: CompareOp, a: &[Expr], b: &[Expr], compare: CompareAs) -> SqlResult<Expr> {
    if a.len() != b.len() {
        return Err(SqlError::OperandColumns(a.len() as u32));
    }
    let pair = |op: CompareOp, i: usize| match (&a[i], &b[i]) {
        (Expr::Row(x), Expr::Row(y)) => compare_rows(op, x, y, compare),
        (Expr::Row(row), _) | (_, Expr::Row(row)) => Err(SqlError::OperandColumns(row.len() as u32)),
        (x, y) => Ok(Expr::Compare { op, compare, left: Box::new(x.clone()), right: Box::new(y.clone()) }),
    };
    let last = a.len() - 1;
    let strict = match op {
        CompareOp::Eq | CompareOp::NullSafeEq => {
            let all: SqlResult<Vec<Expr>> = (0..=last).map(|i| pair(op, i)).collect();
            return Ok(Expr::And(all?));
        }
        CompareOp::Ne => {
            let same = compare_rows(CompareOp::Eq, a, b, compare)?;
            return Ok(Expr::Not(Box::new(same)));
        }
        CompareOp::Le => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Gt,
        other => other,
    };
    (0..last).rev().try_fold(pair(op, last)?, |rest, i| {
        Ok(Expr::Or(vec![pair(strict, i)?, Expr::And(vec![pair(CompareOp::Eq, i)?, rest])]))
    })
}

/// The comparison that an operator is, if it is one.
pub(crate) fn compare_op(op: ast::BinaryOp) -> Option<CompareOp> {
    use ast::BinaryOp as B;
    Some(match op {
        B::Eq => CompareOp::Eq,
        B::NullSafeEq => CompareOp::NullSafeEq,
        B::Ne => CompareOp::Ne,
        B::Lt => CompareOp::Lt,
        B::Le => CompareOp::Le,
        B::Gt => CompareOp::Gt,
        B::Ge => CompareOp::Ge,
        _ => return None,
    })
}
