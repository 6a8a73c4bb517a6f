//! The query of a view as the dictionary keeps it: every name in full, `*` written out, every column with its name.
//!
//! Names are resolved as the planner does it (from the innermost block outwards), on the tree instead of on types, so that the
//! result prints as the server's SHOW CREATE VIEW. A column of a table without alias is qualified with database and table, one of a
//! view, a derived table or an alias with that name alone.

use catalog::same_name;
use sql_syntax::rewrite::{self, Rewrite};
use sql_syntax::{Arena, ParseOptions, PrintStyle, ast};

use crate::error::{Clause, SqlError, SqlResult};
use crate::planner::PlanContext;
use crate::scope::Name;
use crate::versioning::{MICROSECONDS, is_now};

/// A view's query as text, and the names of its columns.
pub struct ViewText {
    /// With all databases.
    pub full: String,
    /// Without the name of the view's own database.
    pub own: String,
    pub names: Vec<String>,
}

/// The text of a query for a view in database `own`; `names` are the column names that the statement gives, or empty.
pub fn view_text(
    query: &ast::Query<'_>,
    names: &[String],
    own: &str,
    cx: &PlanContext<'_>,
) -> SqlResult<ViewText> {
    let (full, found) = text(query, names, None, cx)?;
    let (short, _) = text(query, names, Some(own), cx)?;
    Ok(ViewText { full, own: short, names: found })
}

fn text(
    query: &ast::Query<'_>,
    names: &[String],
    strip: Option<&str>,
    cx: &PlanContext<'_>,
) -> SqlResult<(String, Vec<String>)> {
    let arena = Arena::new();
    // Names live as long as the tree that they go into.
    let names: Vec<ast::Ident<'_>> = names.iter().map(|n| ast::Ident(n.as_bytes())).collect();
    let mut qualifier = Qualifier {
        arena: &arena,
        cx,
        strip,
        scopes: Vec::new(),
        common: Vec::new(),
        wanted: names,
        nameless: false,
    };
    let (query, found) = qualifier.query(query)?;
    let mut out = Vec::new();
    sql_syntax::print_query(&mut out, query, PrintStyle::default());
    Ok((String::from_utf8_lossy(&out).into_owned(), found))
}

/// A table of FROM, as columns are qualified with it.
struct Source<'a> {
    /// What columns are printed with.
    shown: &'a ast::ObjectName<'a>,
    alias: String,
    /// Empty for derived tables.
    schema: String,
    /// Name, and whether `*` and bare names pass it by: a right-hand column of USING.
    columns: Vec<(String, bool)>,
    /// Columns that only their name finds.
    invisible: Vec<String>,
}

struct Qualifier<'a, 'c> {
    arena: &'a Arena,
    cx: &'c PlanContext<'c>,
    /// The database whose name is left out.
    strip: Option<&'c str>,
    scopes: Vec<Vec<Source<'a>>>,
    /// Common table expressions in sight and their columns.
    common: Vec<(String, Vec<String>)>,
    /// Names for the columns of the next select: the view's own list.
    wanted: Vec<ast::Ident<'a>>,
    /// Inside a query of an expression: its columns need no names.
    nameless: bool,
}

impl<'a> Rewrite<'a> for Qualifier<'a, '_> {
    type Error = SqlError;

    fn arena(&self) -> &'a Arena {
        self.arena
    }

    fn enter(&mut self, e: &ast::Expr<'a>) -> SqlResult<Option<ast::Expr<'a>>> {
        use ast::Expr as E;
        Ok(Some(match e {
            E::Column(column) => E::Column(self.column(column)?),
            E::Subquery(query) => E::Subquery(self.inner_query(query)?),
            E::Exists(query) => E::Exists(self.exists(query)?),
            E::InQuery { expr, query, negated } => {
                let operand = rewrite::expr(self, expr)?;
                E::InQuery {
                    expr: self.arena.alloc(operand),
                    query: self.inner_query(query)?,
                    negated: *negated,
                }
            }
            E::Quantified(q) => {
                let (left, query) = (rewrite::expr(self, &q.left)?, self.inner_query(q.query)?);
                E::Quantified(self.arena.alloc(ast::Quantified { left, query, ..**q }))
            }
            E::Unary { op: ast::UnaryOp::Not, expr: E::Binary { op, left, right } } => {
                let Some(op) = negated(*op) else { return Ok(None) };
                let (left, right) = (rewrite::expr(self, left)?, rewrite::expr(self, right)?);
                E::Binary { op, left: self.arena.alloc(left), right: self.arena.alloc(right) }
            }
            E::Aggregate(a) if a.args.is_empty() && a.function == ast::AggregateFunction::Count => {
                let args = self.arena.alloc_slice_copy(&[E::Literal(ast::Literal::Int(0))]);
                E::Aggregate(self.arena.alloc(ast::Aggregate { args, ..**a }))
            }
            E::UserVariable(_) | E::AssignVariable { .. } | E::SystemVariable(_) | E::Param(_) => {
                return Err(SqlError::Other {
                    errno: 1351,
                    state: *b"HY000",
                    text: "View's SELECT contains a variable or parameter".into(),
                });
            }
            _ => return Ok(None),
        }))
    }
}

/// NOT of a comparison is the opposite comparison.
fn negated(op: ast::BinaryOp) -> Option<ast::BinaryOp> {
    use ast::BinaryOp as B;
    Some(match op {
        B::Eq => B::Ne,
        B::Ne => B::Eq,
        B::Lt => B::Ge,
        B::Ge => B::Lt,
        B::Gt => B::Le,
        B::Le => B::Gt,
        _ => return None,
    })
}

impl<'a> Qualifier<'a, '_> {
    fn word(&self, text: &str) -> ast::Ident<'a> {
        ast::Ident(self.arena.alloc_slice_copy(text.as_bytes()))
    }

    fn query(&mut self, query: &ast::Query<'a>) -> SqlResult<(&'a ast::Query<'a>, Vec<String>)> {
        let known = self.common.len();
        let wanted = std::mem::take(&mut self.wanted);
        let with = query.with.map(|with| self.with(with)).transpose()?;
        self.wanted = wanted;
        let (body, names) = self.body(&query.body, query.order_by)?;
        self.common.truncate(known);
        let (body, order_by) = body;
        let made = ast::Query { with, body, order_by, into: None, ..*query };
        Ok((self.arena.alloc(made), names))
    }

    /// A query inside an expression.
    fn inner_query(&mut self, query: &ast::Query<'a>) -> SqlResult<&'a ast::Query<'a>> {
        let nameless = std::mem::replace(&mut self.nameless, true);
        let made = self.query(query);
        self.nameless = nameless;
        made.map(|(query, _)| query)
    }

    fn with(&mut self, with: &ast::With<'a>) -> SqlResult<&'a ast::With<'a>> {
        let mut tables = Vec::with_capacity(with.tables.len());
        for table in with.tables {
            let own: Vec<String> = table.columns.iter().map(|c| c.text().into_owned()).collect();
            if with.recursive {
                self.common.push((table.name.text().into_owned(), own.clone()));
            }
            let (query, names) = self.query(table.query)?;
            let columns = if own.is_empty() { names } else { own };
            self.common.push((table.name.text().into_owned(), columns));
            tables.push(ast::CommonTable { query, ..*table });
        }
        let tables = self.arena.alloc_slice_copy(&tables);
        Ok(self.arena.alloc(ast::With { tables, ..*with }))
    }

    /// The body and ORDER BY, whose names are those of the body's tables.
    #[expect(clippy::type_complexity, reason = "body, its order, its names")]
    fn body(
        &mut self,
        body: &ast::QueryBody<'a>,
        order_by: &'a [ast::OrderItem<'a>],
    ) -> SqlResult<((ast::QueryBody<'a>, &'a [ast::OrderItem<'a>]), Vec<String>)> {
        Ok(match body {
            ast::QueryBody::Select(select) => {
                let (select, order_by, names) = self.select(select, order_by)?;
                ((ast::QueryBody::Select(select), order_by), names)
            }
            ast::QueryBody::Values(rows) => {
                let names = (0..rows.first().map_or(0, |r| r.len())).map(|i| format!("column_{i}")).collect();
                ((*body, order_by), names)
            }
            ast::QueryBody::Nested(query) => {
                let (query, names) = self.query(query)?;
                ((ast::QueryBody::Nested(query), order_by), names)
            }
            ast::QueryBody::SetOperation(set) => {
                let ((first, _), names) = self.body(&set.first, &[])?;
                let mut rest = Vec::with_capacity(set.rest.len());
                for term in set.rest {
                    rest.push(ast::SetTerm { body: self.body(&term.body, &[])?.0.0, ..*term });
                }
                let rest = self.arena.alloc_slice_copy(&rest);
                let set = self.arena.alloc(ast::SetOperation { first, rest });
                ((ast::QueryBody::SetOperation(set), order_by), names)
            }
        })
    }

    fn select(
        &mut self,
        select: &ast::Select<'a>,
        order_by: &[ast::OrderItem<'a>],
    ) -> SqlResult<(&'a ast::Select<'a>, &'a [ast::OrderItem<'a>], Vec<String>)> {
        let wanted = std::mem::take(&mut self.wanted);
        self.scopes.push(Vec::new());
        let mut from = Vec::with_capacity(select.from.len());
        for table in select.from {
            from.push(self.table(table)?);
        }
        let mut items = Vec::new();
        for item in select.items {
            match item {
                ast::SelectItem::All => self.star(None, &mut items)?,
                ast::SelectItem::AllOf(name) => self.star(Some(name), &mut items)?,
                ast::SelectItem::Expr(item) => items.push(self.item(item)?),
            }
        }
        if !wanted.is_empty() && wanted.len() != items.len() {
            return Err(SqlError::Other {
                errno: 1353,
                state: *b"HY000",
                text: "View's SELECT and view's field list have different column counts".into(),
            });
        }
        for (item, name) in items.iter_mut().zip(&wanted) {
            item.alias = Some(*name);
        }
        let names: Vec<String> = items.iter().map(name_of).collect();
        let filter = select.filter.as_ref().map(|e| rewrite::expr(self, e)).transpose()?;
        let group_by = self.order(select.group_by)?;
        let having = select.having.as_ref().map(|e| self.named(e)).transpose()?;
        let order_by = self.order(order_by)?;
        let mut windows = Vec::with_capacity(select.windows.len());
        for window in select.windows {
            windows.push(ast::NamedWindow { spec: rewrite::window_spec(self, &window.spec)?, ..*window });
        }
        self.scopes.pop();
        let items: Vec<ast::SelectItem<'a>> = items.into_iter().map(ast::SelectItem::Expr).collect();
        let made = ast::Select {
            items: self.arena.alloc_slice_copy(&items),
            from: self.arena.alloc_slice_copy(&from),
            filter,
            group_by,
            having,
            windows: self.arena.alloc_slice_copy(&windows),
            ..*select
        };
        Ok((self.arena.alloc(made), order_by, names))
    }

    fn item(&mut self, item: &ast::SelectExpr<'a>) -> SqlResult<ast::SelectExpr<'a>> {
        if self.nameless && item.alias.is_none() {
            return Ok(ast::SelectExpr { expr: rewrite::expr(self, &item.expr)?, alias: None, text: b"" });
        }
        let alias = match (item.alias, item.expr) {
            (Some(alias), _) => alias,
            (None, ast::Expr::Column(column)) => column.name,
            (None, ast::Expr::Literal(ast::Literal::String(text))) => ast::Ident(text),
            (None, _) => ast::Ident(item.text),
        };
        Ok(ast::SelectExpr { expr: rewrite::expr(self, &item.expr)?, alias: Some(alias), text: item.text })
    }

    /// Names of the select list stay what they are.
    fn named(&mut self, e: &ast::Expr<'a>) -> SqlResult<ast::Expr<'a>> {
        match e {
            ast::Expr::Column(c) if c.table.is_none() && self.find(&Name::of(c)).is_none() => Ok(*e),
            ast::Expr::Binary { op, left, right } => {
                let (left, right) = (self.named(left)?, self.named(right)?);
                Ok(ast::Expr::Binary {
                    op: *op,
                    left: self.arena.alloc(left),
                    right: self.arena.alloc(right),
                })
            }
            ast::Expr::And(list) => {
                let made: SqlResult<Vec<_>> = list.iter().map(|e| self.named(e)).collect();
                Ok(ast::Expr::And(self.arena.alloc_slice_copy(&made?)))
            }
            other => rewrite::expr(self, other),
        }
    }

    fn order(&mut self, items: &[ast::OrderItem<'a>]) -> SqlResult<&'a [ast::OrderItem<'a>]> {
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            out.push(ast::OrderItem { expr: self.named(&item.expr)?, ..*item });
        }
        Ok(self.arena.alloc_slice_copy(&out))
    }

    /// EXISTS looks for one row of whatever columns.
    fn exists(&mut self, query: &ast::Query<'a>) -> SqlResult<&'a ast::Query<'a>> {
        let made = self.inner_query(query)?;
        if made.limit.is_some() || !matches!(made.body, ast::QueryBody::Select(_)) {
            return Ok(made);
        }
        let one = ast::Expr::Literal(ast::Literal::Int(1));
        let limit = ast::Limit { count: Some(one), offset: None, with_ties: false, rows_examined: None };
        Ok(self.arena.alloc(ast::Query { limit: Some(self.arena.alloc(limit)), ..*made }))
    }

    fn star(
        &mut self,
        of: Option<&ast::ObjectName<'a>>,
        items: &mut Vec<ast::SelectExpr<'a>>,
    ) -> SqlResult<()> {
        let sources = self.scopes.last().map_or(&[][..], Vec::as_slice);
        let mut found = false;
        for source in sources {
            let named = of.is_none_or(|name| {
                name.name.text() == source.alias && name.database.is_none_or(|d| d.text() == source.schema)
            });
            if !named {
                continue;
            }
            found = true;
            for (name, _) in source.columns.iter().filter(|(_, merged)| of.is_some() || !merged) {
                let ident = ast::Ident(self.arena.alloc_slice_copy(name.as_bytes()));
                let column = ast::ColumnRef { table: Some(source.shown), name: ident };
                let expr = ast::Expr::Column(column);
                let (alias, text) = if self.nameless { (None, &b""[..]) } else { (Some(ident), ident.0) };
                items.push(ast::SelectExpr { expr, alias, text });
            }
        }
        match of {
            Some(name) if !found => Err(SqlError::UnknownTable(name.name.text().into_owned())),
            None if !found => Err(SqlError::NoTablesUsed),
            _ => Ok(()),
        }
    }

    /// Where a column is and how it is printed.
    fn find(&self, name: &Name) -> Option<(&Source<'a>, &str)> {
        self.scopes.iter().rev().find_map(|scope| {
            scope.iter().find_map(|source| {
                let fits = name.table.as_ref().is_none_or(|t| *t == source.alias)
                    && name.schema.as_ref().is_none_or(|s| *s == source.schema);
                let shown = source.columns.iter().filter(|(_, merged)| name.table.is_some() || !merged);
                let mut names = shown.map(|(c, _)| c).chain(&source.invisible);
                let found = names.find(|c| same_name(c, &name.column))?;
                fits.then_some((source, found.as_str()))
            })
        })
    }

    fn column(&self, column: &ast::ColumnRef<'a>) -> SqlResult<ast::ColumnRef<'a>> {
        let name = Name::of(column);
        let Some((source, found)) = self.find(&name) else {
            return Err(SqlError::UnknownColumn { name: name.text(), clause: Clause::Select });
        };
        Ok(ast::ColumnRef { table: Some(source.shown), name: self.word(found) })
    }

    fn table(&mut self, table: &ast::TableRef<'a>) -> SqlResult<ast::TableRef<'a>> {
        Ok(match table {
            ast::TableRef::Table(factor) => {
                let made = self.factor(factor)?;
                ast::TableRef::Table(self.arena.alloc(made))
            }
            ast::TableRef::Derived(derived) => {
                let scopes = std::mem::take(&mut self.scopes);
                let nameless = std::mem::take(&mut self.nameless);
                let made = self.query(derived.query);
                (self.scopes, self.nameless) = (scopes, nameless);
                let (query, names) = made?;
                let columns = match derived.columns {
                    [] => names,
                    own => own.iter().map(|c| c.text().into_owned()).collect(),
                };
                self.add(derived.alias, String::new(), columns);
                let system_time = self.time(derived.system_time)?;
                ast::TableRef::Derived(self.arena.alloc(ast::Derived { query, system_time, ..**derived }))
            }
            ast::TableRef::List(list) => {
                let made: SqlResult<Vec<_>> = list.iter().map(|t| self.table(t)).collect();
                ast::TableRef::List(self.arena.alloc_slice_copy(&made?))
            }
            ast::TableRef::Join(join) => {
                let made = self.join(join)?;
                ast::TableRef::Join(self.arena.alloc(made))
            }
            ast::TableRef::JsonTable(_) => return Err(SqlError::not_supported("JSON_TABLE in a view")),
        })
    }

    /// The points of FOR SYSTEM_TIME; the moment now with its microseconds.
    fn time(&mut self, time: Option<&ast::SystemTime<'a>>) -> SqlResult<Option<&'a ast::SystemTime<'a>>> {
        use ast::SystemTime as T;
        let mut point = |p: &ast::SystemPoint<'a>| -> SqlResult<ast::SystemPoint<'a>> {
            let value = match p.value {
                ast::Expr::Call(call) if is_now(call) => {
                    let call = ast::Call { args: MICROSECONDS, ..*call };
                    ast::Expr::Call(self.arena.alloc(call))
                }
                other => other,
            };
            Ok(ast::SystemPoint { value: rewrite::expr(self, &value)?, ..*p })
        };
        let made = match time {
            None => return Ok(None),
            Some(T::All) => T::All,
            Some(T::AsOf(at)) => T::AsOf(point(at)?),
            Some(T::Before(at)) => T::Before(point(at)?),
            Some(T::Between(from, to)) => T::Between(point(from)?, point(to)?),
            Some(T::FromTo(from, to)) => T::FromTo(point(from)?, point(to)?),
        };
        Ok(Some(self.arena.alloc(made)))
    }

    /// A derived table or an alias: its columns are qualified with the alias alone.
    fn add(&mut self, alias: ast::Ident<'a>, schema: String, columns: Vec<String>) {
        let shown = self.arena.alloc(ast::ObjectName { database: None, name: alias });
        let columns = columns.into_iter().map(|c| (c, false)).collect();
        let invisible = Vec::new();
        let source = Source { shown, alias: alias.text().into_owned(), schema, columns, invisible };
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(source);
        }
    }

    fn factor(&mut self, factor: &ast::TableFactor<'a>) -> SqlResult<ast::TableFactor<'a>> {
        let name = factor.name.name.text();
        let alias = factor.alias.unwrap_or(factor.name.name);
        if factor.name.database.is_none()
            && let Some((_, columns)) = self.common.iter().rev().find(|(n, _)| *n == name)
        {
            let columns = columns.clone();
            self.add(alias, String::new(), columns);
            return Ok(*factor);
        }
        let schema = match factor.name.database {
            Some(database) => database.text().into_owned(),
            None if self.cx.database.is_empty() => return Err(SqlError::NoDatabaseSelected),
            None => self.cx.database.to_owned(),
        };
        let database = (self.strip != Some(schema.as_str())).then(|| self.word(&schema));
        let shown = ast::ObjectName { database, name: factor.name.name };
        let system_time = self.time(factor.system_time)?;
        let made = ast::TableFactor { name: shown, system_time, ..*factor };
        if let Some(view) = self.cx.catalog.view(&schema, &name) {
            let columns = view.columns.iter().map(|c| c.name.clone()).collect();
            self.add(alias, schema, columns);
            return Ok(made);
        }
        let mut invisible = Vec::new();
        let columns: Vec<String> = if let Some(table) = (self.cx.virtual_table)(&schema, &name) {
            table.columns.iter().map(|c| c.name.clone()).collect()
        } else {
            let Some(table) = self.cx.catalog.table(&schema, &name) else {
                return Err(SqlError::NoSuchTable { schema, name: name.into_owned() });
            };
            if table.def.temporary {
                let text = format!("View's SELECT refers to a temporary table '{name}'");
                return Err(SqlError::Other { errno: 1352, state: *b"HY000", text });
            }
            invisible.extend(table.def.columns.iter().filter(|c| c.invisible).map(|c| c.name.clone()));
            table.def.columns.iter().filter(|c| !c.invisible).map(|c| c.name.clone()).collect()
        };
        self.add(alias, schema, columns);
        if let Some(source) = self.scopes.last_mut().and_then(|s| s.last_mut()) {
            source.invisible = invisible;
            if factor.alias.is_none() {
                source.shown = self.arena.alloc(shown);
            }
        }
        Ok(made)
    }

    fn join(&mut self, join: &ast::Join<'a>) -> SqlResult<ast::Join<'a>> {
        let from = self.scopes.last().map_or(0, Vec::len);
        let left = self.table(&join.left)?;
        let middle = self.scopes.last().map_or(0, Vec::len);
        let right = self.table(&join.right)?;
        let condition = match join.condition {
            ast::JoinCondition::On(e) => ast::JoinCondition::On(rewrite::expr(self, &e)?),
            ast::JoinCondition::Using(names) => {
                let names = names.iter().map(|n| n.text().into_owned()).collect();
                self.using(from, middle, names, join.kind)
            }
            ast::JoinCondition::None if join.natural => {
                let names = self.common_columns(from, middle);
                self.using(from, middle, names, join.kind)
            }
            ast::JoinCondition::None => ast::JoinCondition::None,
        };
        Ok(ast::Join { left, right, natural: false, condition, ..*join })
    }

    fn common_columns(&self, from: usize, middle: usize) -> Vec<String> {
        let Some(scope) = self.scopes.last() else { return Vec::new() };
        let right = |name: &str| {
            scope[middle..].iter().flat_map(|s| &s.columns).any(|(c, merged)| !merged && same_name(c, name))
        };
        let left = scope[from..middle].iter().flat_map(|s| &s.columns);
        left.filter(|(c, merged)| !merged && right(c)).map(|(c, _)| c.clone()).collect()
    }

    /// `left.a = right.a and ...`; from here on the bare name is that of the side whose rows are always there.
    fn using(
        &mut self,
        from: usize,
        middle: usize,
        names: Vec<String>,
        kind: ast::JoinKind,
    ) -> ast::JoinCondition<'a> {
        let arena = self.arena;
        let mut equal = Vec::new();
        let Some(scope) = self.scopes.last_mut() else { return ast::JoinCondition::None };
        let (head, tail) = scope.split_at_mut(middle);
        for name in &names {
            let find = |sources: &[Source<'a>]| {
                sources.iter().enumerate().find_map(|(i, s)| {
                    let at = s.columns.iter().position(|(c, merged)| !merged && same_name(c, name))?;
                    Some((i, at))
                })
            };
            let (Some(l), Some(r)) = (find(&head[from..]), find(tail)) else { continue };
            let column = |s: &Source<'a>, at: usize| {
                let name = ast::Ident(arena.alloc_slice_copy(s.columns[at].0.as_bytes()));
                ast::Expr::Column(ast::ColumnRef { table: Some(s.shown), name })
            };
            let left = column(&head[from + l.0], l.1);
            let right = column(&tail[r.0], r.1);
            equal.push(ast::Expr::Binary {
                op: ast::BinaryOp::Eq,
                left: arena.alloc(left),
                right: arena.alloc(right),
            });
            if kind == ast::JoinKind::Right {
                head[from + l.0].columns[l.1].1 = true;
            } else {
                tail[r.0].columns[r.1].1 = true;
            }
        }
        match equal.as_slice() {
            [] => ast::JoinCondition::None,
            [one] => ast::JoinCondition::On(*one),
            many => ast::JoinCondition::On(ast::Expr::And(arena.alloc_slice_copy(many))),
        }
    }
}

fn name_of(item: &ast::SelectExpr<'_>) -> String {
    item.alias.map_or_else(|| String::from_utf8_lossy(item.text).into_owned(), |a| a.text().into_owned())
}

/// Reads a view's query back.
pub(crate) fn parse_body<'a>(arena: &'a Arena, view: &'a catalog::ViewDef) -> SqlResult<&'a ast::Query<'a>> {
    let unreadable = || SqlError::Corrupt { table: view.full_name(), detail: "the view's query".into() };
    let parsed = sql_syntax::parse(arena, view.body.as_bytes(), ParseOptions::default());
    match parsed.map_err(|_| unreadable())?.statement {
        ast::Statement::Query(query) => Ok(query),
        _ => Err(unreadable()),
    }
}
