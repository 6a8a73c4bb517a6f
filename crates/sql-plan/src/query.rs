//! Query blocks: FROM, WHERE, the select list, GROUP BY, HAVING, ORDER BY, LIMIT; set operations around them.

use row_format::ColumnType;
use sql_syntax::ast;
use types::Value;

use crate::access::{self, FromTable, JoinInput};
use crate::error::{Clause, SqlError, SqlResult};
use crate::expr::{ColumnRef, Expr, SlotSet, Typed};
use crate::meta::{ColumnMeta, ExprType};
use crate::plan::{
    GroupPlan, Into, IntoTarget, LimitPlan, LockMode, LockWaitPolicy, QueryBody, QueryPlan, SelectPlan,
    Series, SetOp, SetPlan, SetTerm, SortKey, Source,
};
use crate::planner::Planner;
use crate::recursive::CommonTable;
use crate::scope::{Name, Scope, ScopeColumn, ScopeTable, column_expr};
use crate::typing::{sort_as, unify};

/// A set operation of so many parts gives each part the slots of the one before.
const MANY_PARTS: usize = 16;

impl<'a> Planner<'a> {
    pub(crate) fn top_query(&mut self, query: &ast::Query<'a>) -> SqlResult<QueryPlan> {
        let mut plan = self.query(query)?;
        match query.into {
            None => {}
            Some(ast::SelectInto::Variables(targets)) => {
                let mut names: Vec<IntoTarget> = Vec::new();
                for target in *targets {
                    self.add_target(target, &mut names)?;
                }
                if names.len() != plan.columns.len() {
                    return Err(SqlError::Other {
                        errno: 1222,
                        state: *b"21000",
                        text: "The used SELECT statements have a different number of columns".into(),
                    });
                }
                plan.into = Into::Variables(names);
            }
            Some(ast::SelectInto::DumpFile(path)) => plan.into = Into::DumpFile((*path).into()),
            Some(ast::SelectInto::OutFile { path, charset, format }) => {
                plan.into = self.out_file(path, *charset, format)?;
            }
        }
        Ok(plan)
    }

    fn add_target(&self, target: &ast::IntoTarget<'a>, out: &mut Vec<IntoTarget>) -> SqlResult<()> {
        let (row, name) = match target {
            ast::IntoTarget::User(name) => {
                out.push(IntoTarget::User(name.text().to_lowercase().into()));
                return Ok(());
            }
            ast::IntoTarget::Local { name, field: Some(field) } => (Some(name.text()), field.text()),
            ast::IntoTarget::Local { name, field: None } => (None, name.text()),
        };
        if let Some(local) = self.cx.locals.and_then(|l| l.find(row.as_deref(), &name)) {
            out.push(IntoTarget::Local(local.index));
            return Ok(());
        }
        let fields = self.cx.locals.filter(|_| row.is_none()).and_then(|l| l.row(&name));
        let fields = fields.ok_or_else(|| SqlError::UndeclaredVariable(name.into_owned()))?;
        out.extend(fields.iter().map(|f| IntoTarget::Local(f.index)));
        Ok(())
    }

    pub(crate) fn query(&mut self, query: &ast::Query<'a>) -> SqlResult<QueryPlan> {
        if query.procedure.is_some() {
            return Err(SqlError::not_supported("PROCEDURE ANALYSE"));
        }
        let known = self.common.len();
        if let Some(with) = query.with {
            self.common.extend(with.tables.iter().map(|t| CommonTable::new(*t, with.recursive)));
        }
        let plan = self.query_body(query);
        self.common.truncate(known);
        plan
    }

    fn query_body(&mut self, query: &ast::Query<'a>) -> SqlResult<QueryPlan> {
        match query.body {
            ast::QueryBody::Select(select) => self.select(select, query.order_by, query.limit, query.lock),
            ast::QueryBody::Nested(inner) if query.order_by.is_empty() && query.limit.is_none() => {
                match query.lock {
                    // `(SELECT ...) FOR UPDATE`
                    Some(_) if inner.order_by.is_empty() && inner.limit.is_none() && inner.lock.is_none() => {
                        self.query(&ast::Query { lock: query.lock, ..*inner })
                    }
                    _ => self.query(inner),
                }
            }
            // `(SELECT ... ORDER BY a) LIMIT 1`
            ast::QueryBody::Nested(inner)
                if query.order_by.is_empty() && inner.limit.is_none() && inner.into.is_none() =>
            {
                self.query(&ast::Query { limit: query.limit, ..*inner })
            }
            ast::QueryBody::Nested(_) => self.set_operation(&query.body, &[], query),
            ast::QueryBody::SetOperation(set) => self.set_operation(&set.first, set.rest, query),
            ast::QueryBody::Values(rows) if query.order_by.is_empty() && query.limit.is_none() => {
                self.values_query(rows)
            }
            ast::QueryBody::Values(_) => self.set_operation(&query.body, &[], query),
        }
    }

    pub(crate) fn body(&mut self, body: &ast::QueryBody<'a>) -> SqlResult<QueryPlan> {
        self.locked_body(body, None)
    }

    /// A part of a set operation. What is said of locks behind the last part is said of that part's rows.
    fn locked_body(&mut self, body: &ast::QueryBody<'a>, lock: Option<ast::RowLock>) -> SqlResult<QueryPlan> {
        match body {
            ast::QueryBody::Select(select) => self.select(select, &[], None, lock),
            ast::QueryBody::Nested(_) if lock.is_some() => Err(SqlError::Other {
                errno: 1221,
                state: *b"HY000",
                text: "Incorrect usage of lock options and SELECT in brackets".into(),
            }),
            ast::QueryBody::Nested(inner) => self.query(&unordered(inner)),
            ast::QueryBody::Values(rows) => self.values_query(rows),
            ast::QueryBody::SetOperation(set) => {
                let whole = ast::Query {
                    with: None,
                    body: *body,
                    order_by: &[],
                    limit: None,
                    lock,
                    into: None,
                    procedure: None,
                };
                self.set_operation(&set.first, set.rest, &whole)
            }
        }
    }

    fn values_query(&mut self, rows: &[&'a [ast::Expr<'a>]]) -> SqlResult<QueryPlan> {
        self.scopes.push(Scope::default());
        let built: SqlResult<Vec<Vec<Typed>>> =
            rows.iter().map(|row| row.iter().map(|e| self.expr(e, Clause::Values)).collect()).collect();
        self.scopes.pop();
        let built = built?;
        let width = built.first().map_or(0, Vec::len);
        if built.iter().any(|r| r.len() != width) {
            return Err(SqlError::Other {
                errno: 4099,
                state: *b"HY000",
                text: "The used table value constructor has a different number of values".into(),
            });
        }
        let mut columns = Vec::new();
        for i in 0..width {
            let mut ty = built[0][i].ty;
            for row in &built[1..] {
                ty = unify(&ty, &row[i].ty, "VALUES")?;
            }
            let name = match rows[0][i] {
                ast::Expr::Literal(ast::Literal::String(text)) => String::from_utf8_lossy(text).into_owned(),
                ast::Expr::Literal(ast::Literal::Int(v)) => v.to_string(),
                ref other => {
                    let mut text = Vec::new();
                    sql_syntax::print_expr(&mut text, other, sql_syntax::PrintStyle::default());
                    String::from_utf8_lossy(&text).into_owned()
                }
            };
            columns.push(ColumnMeta::plain(name, ty));
        }
        // Every value has its column's type.
        let typed = |(i, t): (usize, Typed)| match columns[i].ty.field {
            field if field == t.ty.field => t.expr,
            _ => crate::fold::fold(crate::fold::to_type(Typed::new(t.expr, columns[i].ty)), self.cx).expr,
        };
        let rows = built.into_iter().map(|r| r.into_iter().enumerate().map(typed).collect()).collect();
        Ok(QueryPlan { body: QueryBody::Values(rows), columns, into: Into::Client })
    }

    fn set_operation(
        &mut self,
        first: &ast::QueryBody<'a>,
        rest: &[ast::SetTerm<'a>],
        outer: &ast::Query<'a>,
    ) -> SqlResult<QueryPlan> {
        let start = self.next_slot;
        let first = self.body(first)?;
        let share = rest.len() >= MANY_PARTS;
        let mut end = self.next_slot;
        let mut columns: Vec<ColumnMeta> = first
            .columns
            .iter()
            .map(|c| {
                if rest.is_empty() {
                    c.clone()
                } else {
                    ColumnMeta { flags: c.flags & 1, ..ColumnMeta::plain(c.name.clone(), c.ty) }
                }
            })
            .collect();
        let mut terms = Vec::with_capacity(rest.len());
        for (i, term) in rest.iter().enumerate() {
            if share {
                self.next_slot = start;
            }
            let query = self.locked_body(&term.body, outer.lock.filter(|_| i + 1 == rest.len()))?;
            end = end.max(self.next_slot);
            if query.columns.len() != columns.len() {
                return Err(SqlError::UnionColumnCount);
            }
            for (column, other) in columns.iter_mut().zip(&query.columns) {
                let ty = unify(&column.ty, &other.ty, "UNION")?;
                *column = ColumnMeta::plain(std::mem::take(&mut column.name), ty);
            }
            let op = match term.op {
                ast::SetOp::Union => SetOp::Union,
                ast::SetOp::Except => SetOp::Except,
                ast::SetOp::Intersect => SetOp::Intersect,
            };
            terms.push(SetTerm { op, all: term.all, query });
        }
        self.next_slot = end;
        let slot = self.new_slot()?;
        let mut scope = Scope::default();
        scope.add(ScopeTable {
            slot,
            schema: String::new(),
            alias: String::new(),
            org_table: String::new(),
            columns: columns.iter().map(scope_column).collect(),
            handle: None,
            view: None,
        })?;
        self.scopes.push(scope);
        let typed: Vec<Typed> = columns
            .iter()
            .enumerate()
            .map(|(i, c)| Typed::new(Expr::Column(ColumnRef { slot, column: i as u16 }), c.ty))
            .collect();
        let order = self.order_of_set(outer.order_by, &typed);
        let limit = self.limit(outer.limit);
        self.scopes.pop();
        let set = SetPlan {
            first,
            rest: terms,
            slot,
            order: order?,
            limit: limit?,
            columns: typed,
            shared: share.then_some(start..end),
        };
        Ok(QueryPlan { body: QueryBody::Set(Box::new(set)), columns, into: Into::Client })
    }

    fn select(
        &mut self,
        select: &ast::Select<'a>,
        order_by: &[ast::OrderItem<'a>],
        limit: Option<&'a ast::Limit<'a>>,
        lock: Option<ast::RowLock>,
    ) -> SqlResult<QueryPlan> {
        let group_slot = self.new_slot()?;
        self.scopes.push(Scope { group_slot, ..Scope::default() });
        self.windows.push(select.windows);
        let plan = self.select_in_scope(select, order_by, limit, lock);
        self.windows.pop();
        self.scopes.pop();
        plan
    }

    fn select_in_scope(
        &mut self,
        select: &ast::Select<'a>,
        order_by: &[ast::OrderItem<'a>],
        limit: Option<&'a ast::Limit<'a>>,
        lock: Option<ast::RowLock>,
    ) -> SqlResult<QueryPlan> {
        if select.rollup && !order_by.is_empty() {
            return Err(SqlError::WrongUsage { first: "CUBE/ROLLUP", second: "ORDER BY" });
        }
        let mut join = JoinInput { straight: select.options.straight_join, ..JoinInput::default() };
        self.add_tables(select.from, &mut join)?;
        self.filter(select.filter.as_ref(), &mut join)?;
        self.scope_mut().aggregates_allowed = true;
        let (mut output, columns) = self.select_list(select.items)?;
        self.scope_mut().aliases =
            columns.iter().map(|c| c.name.clone()).zip(output.iter().cloned()).collect();
        let keys = self.group_by(select.group_by, &output)?;
        let having = select.having.as_ref().map(|e| self.expr(e, Clause::Having)).transpose()?;
        let (order, order_listed) = self.order_by(order_by, &output)?;
        let limit = self.limit(limit)?;
        if limit.with_ties && order_by.is_empty() {
            return Err(SqlError::Other {
                errno: 4180,
                state: *b"HY000",
                text: "FETCH ... WITH TIES requires ORDER BY clause to be present".into(),
            });
        }
        let hidden = self.keep_wanted(select, &mut output)?;
        let windows = self.window_plan()?;
        let mut plan = SelectPlan {
            steps: Vec::new(),
            gate: None,
            output,
            group: None,
            having: having.map(|t| t.expr),
            windows,
            distinct: select.options.distinct,
            order,
            limit,
            lock: lock.map(lock_of),
            never: None,
            ordered_by_index: false,
            found_rows: select.options.calc_found_rows,
            semi_consistent: false,
            hidden,
            order_listed,
        };
        self.group_plan(keys, select, &mut plan);
        self.carry_windows(&mut plan);
        access::optimise(self, join, &mut plan)?;
        Ok(QueryPlan { body: QueryBody::Select(Box::new(plan)), columns, into: Into::Client })
    }

    pub(crate) fn filter(&mut self, filter: Option<&ast::Expr<'a>>, join: &mut JoinInput) -> SqlResult<()> {
        if let Some(filter) = filter {
            let typed = self.expr(filter, Clause::Where)?;
            if matches!(typed.expr, Expr::Row(_)) {
                return Err(SqlError::OperandColumns(1));
            }
            typed.expr.into_conjuncts(&mut join.conditions);
        }
        Ok(())
    }

    /// Decides whether the block groups, and what must survive of a group's first row.
    fn group_plan(&mut self, keys: Vec<Typed>, select: &ast::Select<'a>, plan: &mut SelectPlan) {
        let scope = self.scope_mut();
        let aggregates = std::mem::take(&mut scope.aggregates);
        let (slot, slots) = (scope.group_slot, scope.slots);
        if aggregates.is_empty() && keys.is_empty() {
            return;
        }
        let keys: Vec<SortKey> = keys
            .into_iter()
            .zip(select.group_by)
            .map(|(t, item)| {
                let any = crate::expr::CompareAs::Any(t.ty.collation);
                let compare = sort_as(&t, "group by").unwrap_or(any);
                SortKey { expr: t.expr, compare, descending: item.descending }
            })
            .collect();
        if select.rollup {
            crate::rollup::replace_keys(&keys, slot, aggregates.len(), plan);
        }
        let mut carried: Vec<ColumnRef> = Vec::new();
        let mut carry = |e: &Expr| {
            e.columns(&mut |c| {
                if slots.contains(c.slot) && !carried.contains(&c) {
                    carried.push(c);
                }
            });
        };
        plan.output.iter().for_each(|t| carry(&t.expr));
        plan.having.iter().for_each(&mut carry);
        plan.order.iter().for_each(|k| carry(&k.expr));
        if let Some(windows) = &plan.windows {
            windows.exprs(&mut |e| carry(e));
        }
        plan.group = Some(GroupPlan { keys, rollup: select.rollup, slot, carried, aggregates });
    }

    pub(crate) fn select_list(
        &mut self,
        items: &[ast::SelectItem<'a>],
    ) -> SqlResult<(Vec<Typed>, Vec<ColumnMeta>)> {
        let (mut output, mut columns) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                ast::SelectItem::All => {
                    if self.scope().tables.is_empty() {
                        return Err(SqlError::NoTablesUsed);
                    }
                    self.star(None, &mut output, &mut columns)?;
                }
                ast::SelectItem::AllOf(name) => self.star(Some(name), &mut output, &mut columns)?,
                ast::SelectItem::Expr(item) => {
                    let typed = self.expr(&item.expr, Clause::Select)?;
                    if let Expr::Row(items) = &typed.expr {
                        return Err(SqlError::OperandColumns(if items.is_empty() { 0 } else { 1 }));
                    }
                    columns.push(self.column_meta(&typed, item));
                    output.push(typed);
                }
            }
        }
        Ok((output, columns))
    }

    fn star(
        &mut self,
        of: Option<&ast::ObjectName<'a>>,
        output: &mut Vec<Typed>,
        columns: &mut Vec<ColumnMeta>,
    ) -> SqlResult<()> {
        let scope = self.scope();
        let Some(name) = of else {
            for (slot, column) in &scope.star {
                if let Some(table) = scope.tables.iter().find(|t| t.slot == *slot) {
                    self.check_star(*slot, &table.columns[*column].name)?;
                    output.push(column_expr(table, *column));
                    columns.push(meta_of(table, *column, table.columns[*column].name.clone()));
                }
            }
            return Ok(());
        };
        let mut found = false;
        for table in &scope.tables {
            let schema_fits = name.database.is_none_or(|d| d.text() == table.schema);
            if name.name.text() != table.alias || !schema_fits {
                continue;
            }
            found = true;
            for (i, column) in table.columns.iter().enumerate().filter(|(_, c)| !c.invisible) {
                self.check_star(table.slot, &column.name)?;
                output.push(column_expr(table, i));
                columns.push(meta_of(table, i, column.name.clone()));
            }
        }
        if !found {
            let (schema, name) = self.table_name(name)?;
            return Err(SqlError::UnknownTable(format!("{schema}.{name}")));
        }
        Ok(())
    }

    fn column_meta(&self, typed: &Typed, item: &ast::SelectExpr<'a>) -> ColumnMeta {
        let alias = item.alias.map(|a| a.text().into_owned()).or_else(|| self.name_in_view(&item.expr));
        if let Expr::Column(c) = &typed.expr
            && let ast::Expr::Column(written) = &item.expr
        {
            let name = alias.unwrap_or_else(|| written.name.text().into_owned());
            for scope in self.scopes.iter().rev() {
                if let Some(table) = scope.tables.iter().find(|t| t.slot == c.slot) {
                    return meta_of(table, usize::from(c.column), name);
                }
            }
            return ColumnMeta::plain(name, typed.ty);
        }
        let name = alias.unwrap_or_else(|| match &item.expr {
            ast::Expr::Literal(ast::Literal::String(text)) => String::from_utf8_lossy(text).into_owned(),
            // NAME_CONST is its name.
            ast::Expr::Call(call) if call.name.is("name_const") && call.database.is_none() => {
                match call.args.first() {
                    Some(ast::Expr::Literal(ast::Literal::String(text))) => {
                        String::from_utf8_lossy(text).into_owned()
                    }
                    _ => String::from_utf8_lossy(item.text).into_owned(),
                }
            }
            _ => String::from_utf8_lossy(item.text).into_owned(),
        });
        ColumnMeta::plain(name, typed.ty)
    }

    /// A column of a view that is part of the block is called as the view calls it, however it is written. `mysql.user` is one to
    /// clients.
    fn name_in_view(&self, e: &ast::Expr<'a>) -> Option<String> {
        let ast::Expr::Column(written) = e else { return None };
        let name = Name::of(written);
        let (table, column) = self
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.find(&name, Clause::Select).transpose())
            .and_then(Result::ok)?;
        let server_view = table.schema == "mysql" && table.org_table == "user";
        (table.view.is_some() || server_view).then(|| table.columns[column].name.clone())
    }

    fn group_by(&mut self, items: &[ast::OrderItem<'a>], output: &[Typed]) -> SqlResult<Vec<Typed>> {
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            let key = match position(&item.expr, output, Clause::GroupBy)? {
                Some(typed) => typed,
                None => self.expr(&item.expr, Clause::GroupBy)?,
            };
            let group_slot = self.scope().group_slot;
            if key.expr.slots().contains(group_slot) {
                return Err(SqlError::InvalidGroupFunction);
            }
            keys.push(key);
        }
        Ok(keys)
    }

    /// ORDER BY of a set operation: it sees the result's columns only.
    fn order_of_set(&mut self, items: &[ast::OrderItem<'a>], output: &[Typed]) -> SqlResult<Vec<SortKey>> {
        let mut keys = Vec::new();
        for (i, item) in items.iter().enumerate() {
            match self.order_by(std::slice::from_ref(item), output) {
                Ok((key, _)) => keys.extend(key),
                Err(SqlError::InvalidGroupFunction | SqlError::Other { errno: 4015, .. }) => {
                    let n = i + 1;
                    return Err(SqlError::Other {
                        errno: 3028,
                        state: *b"HY000",
                        text: format!(
                            "Expression #{n} of ORDER BY contains aggregate function and applies to a UNION"
                        ),
                    });
                }
                Err(e) => return Err(e),
            }
        }
        Ok(keys)
    }

    /// The keys of ORDER BY, and which of them are columns of the select list that may have another value at the next look.
    fn order_by(
        &mut self,
        items: &[ast::OrderItem<'a>],
        output: &[Typed],
    ) -> SqlResult<(Vec<SortKey>, Vec<Option<u16>>)> {
        let (mut keys, mut from) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
        for item in items {
            let typed = match position(&item.expr, output, Clause::OrderBy)? {
                Some(typed) => typed,
                None => self.expr(&item.expr, Clause::OrderBy)?,
            };
            if typed.expr.is_constant() {
                continue;
            }
            let compare = sort_as(&typed, "order by")?;
            let listed = self.listed(&item.expr).filter(|at| output[*at].expr.is_volatile());
            from.push(listed.map(|at| at as u16));
            keys.push(SortKey { expr: typed.expr, compare, descending: item.descending });
        }
        Ok((keys, from))
    }

    /// The column of the select list that an item of ORDER BY names by position or alias.
    fn listed(&self, item: &ast::Expr<'a>) -> Option<usize> {
        match item {
            ast::Expr::Literal(ast::Literal::Int(n)) => usize::try_from(*n).ok()?.checked_sub(1),
            ast::Expr::Column(c) if c.table.is_none() => {
                let name = c.name.text();
                self.scope().aliases.iter().position(|(alias, _)| catalog::same_name(alias, &name))
            }
            _ => None,
        }
    }

    pub(crate) fn limit(&mut self, limit: Option<&'a ast::Limit<'a>>) -> SqlResult<LimitPlan> {
        let Some(limit) = limit else { return Ok(LimitPlan::default()) };
        let count = limit.count.as_ref().map(|e| self.expr(e, Clause::Limit)).transpose()?.map(|t| t.expr);
        let offset = limit.offset.as_ref().map(|e| self.expr(e, Clause::Limit)).transpose()?.map(|t| t.expr);
        let examined = limit.rows_examined.as_ref().map(|e| self.expr(e, Clause::Limit)).transpose()?;
        Ok(LimitPlan { count, offset, with_ties: limit.with_ties, examined: examined.map(|t| t.expr) })
    }

    /// A comma list of table references: an inner join without condition.
    pub(crate) fn add_tables(&mut self, list: &[ast::TableRef<'a>], join: &mut JoinInput) -> SqlResult<()> {
        list.iter().try_for_each(|table| self.from(table, join))
    }

    fn from(&mut self, table: &ast::TableRef<'a>, join: &mut JoinInput) -> SqlResult<()> {
        match table {
            ast::TableRef::Table(factor) => self.table_factor(factor, join),
            ast::TableRef::Derived(derived) => {
                let alias = derived.alias.text().into_owned();
                self.in_period(derived.system_time, &alias.clone(), |planner| {
                    if planner.merge_derived(derived.query, &alias, derived.columns, join)? {
                        return Ok(());
                    }
                    let plan = planner.detached_query(derived.query)?;
                    planner.add_derived(plan, alias, derived.columns, join)
                })
            }
            ast::TableRef::List(list) => self.add_tables(list, join),
            ast::TableRef::Join(inner) => self.join(inner, join),
            ast::TableRef::JsonTable(table) => self.json_table(table, join),
        }
    }

    /// A derived table sees neither its siblings nor the blocks around it.
    pub(crate) fn detached_query(&mut self, query: &ast::Query<'a>) -> SqlResult<QueryPlan> {
        let around = std::mem::take(&mut self.scopes);
        let plan = self.query(&unordered(query));
        self.scopes = around;
        plan
    }

    fn table_factor(&mut self, factor: &ast::TableFactor<'a>, join: &mut JoinInput) -> SqlResult<()> {
        let time = factor.system_time;
        let alias = factor.alias.unwrap_or(factor.name.name).text().into_owned();
        if factor.name.database.is_none()
            && let Some(at) = self.common.iter().rposition(|c| c.name == factor.name.name.text())
        {
            return self.in_period(time, &alias.clone(), |planner| planner.common_table(at, alias, join));
        }
        let (schema, name) = self.table_name(&factor.name)?;
        if let Some(table) = (self.cx.virtual_table)(&schema, &name) {
            if time.is_some() {
                return Err(crate::versioning::not_versioned(&name));
            }
            if schema == "mysql" {
                self.check_from(&schema, &name)?;
            }
            let slot = self.new_slot()?;
            let columns = table.columns.iter().map(scope_column).collect();
            self.scope_mut().add(ScopeTable {
                slot,
                schema,
                alias: alias.clone(),
                org_table: name,
                columns,
                handle: None,
                view: None,
            })?;
            join.tables.push(FromTable::new(slot, Source::Virtual(table), alias));
            return Ok(());
        }
        self.check_from(&schema, &name)?;
        if let Some(view) = self.view(&schema, &name) {
            if !factor.partitions.is_empty() {
                return Err(crate::partition::not_partitioned());
            }
            return self.in_period(time, &name, |planner| planner.view_factor(&view, alias, join));
        }
        if self.cx.catalog.table(&schema, &name).is_none()
            && let Some(series) = Series::of_name(&name)
        {
            let ty = ExprType { length: 20, ..ExprType::bigint() };
            let columns = vec![ColumnMeta { flags: 1, ..ColumnMeta::plain("seq", ty.unsigned().not_null()) }];
            let plan = QueryPlan { body: QueryBody::Series(series), columns, into: Into::Client };
            return self.add_derived(plan, alias, &[], join);
        }
        let handle = self.base_table(&factor.name, &alias)?;
        let slot = self.new_slot()?;
        self.guard_slot(slot, &schema, &name);
        self.scope_mut().add(base_scope_table(slot, alias.clone(), &handle))?;
        let mut table = FromTable::new(slot, Source::Table(handle.clone()), alias);
        table.parts = crate::partition::selected(&handle, factor.partitions)?;
        for hint in factor.hints {
            let mut indexes = Vec::new();
            for name in hint.indexes {
                let name = name.text();
                let known = handle.def.index(&name).filter(|i| !handle.def.indexes[*i].ignored);
                let index = known.ok_or_else(|| SqlError::UnknownKey {
                    key: name.into_owned(),
                    table: table.alias.clone(),
                })?;
                indexes.push(index);
            }
            table.hints.push((hint.kind, indexes));
        }
        join.tables.push(table);
        self.add_versions(&handle, time, slot, join)
    }

    pub(crate) fn add_derived(
        &mut self,
        plan: QueryPlan,
        alias: String,
        names: &[ast::Ident<'a>],
        join: &mut JoinInput,
    ) -> SqlResult<()> {
        if !names.is_empty() && names.len() != plan.columns.len() {
            return Err(SqlError::Other {
                errno: 4002,
                state: *b"HY000",
                text: "WITH column list and SELECT field list have different column counts".into(),
            });
        }
        let slot = self.new_slot()?;
        let mut columns: Vec<ScopeColumn> = plan.columns.iter().map(scope_column).collect();
        for (column, name) in columns.iter_mut().zip(names) {
            column.name = name.text().into_owned();
        }
        for (i, column) in columns.iter().enumerate() {
            if columns[..i].iter().any(|c| catalog::same_name(&c.name, &column.name)) {
                return Err(SqlError::DuplicateColumn(column.name.clone()));
            }
        }
        self.scope_mut().add(ScopeTable {
            slot,
            schema: String::new(),
            alias: alias.clone(),
            org_table: alias.clone(),
            columns,
            handle: None,
            view: None,
        })?;
        join.tables.push(FromTable::new(slot, Source::Derived(Box::new(plan)), alias));
        Ok(())
    }

    fn join(&mut self, node: &ast::Join<'a>, join: &mut JoinInput) -> SqlResult<()> {
        join.straight |= node.straight;
        let (first, second) = if node.kind == ast::JoinKind::Right {
            (&node.right, &node.left)
        } else {
            (&node.left, &node.right)
        };
        let (from, star) = (self.scope().tables.len(), self.scope().star.len());
        self.from(first, join)?;
        let (middle, start) = (self.scope().tables.len(), join.tables.len());
        let star_middle = self.scope().star.len();
        let kept = join.conditions.len();
        let outer = usize::from(node.kind != ast::JoinKind::Inner);
        self.outer_sides += outer;
        let right = self.from(second, join);
        self.outer_sides -= outer;
        right?;
        let end = join.tables.len();
        let plain = !node.natural && !matches!(node.condition, ast::JoinCondition::Using(_));
        if node.kind == ast::JoinKind::Right && plain {
            // The left side was read second; `*` shows it first.
            self.scope_mut().star[star..].rotate_left(star_middle - star);
        }
        let mut conditions = Vec::new();
        match node.condition {
            ast::JoinCondition::None => {}
            ast::JoinCondition::On(e) => {
                // ON sees the tables of its own join, not those before it.
                let before: Vec<ScopeTable> = self.scope_mut().tables.drain(..from).collect();
                let typed = self.expr(&e, Clause::On);
                self.scope_mut().tables.splice(0..0, before);
                typed?.expr.into_conjuncts(&mut conditions);
            }
            ast::JoinCondition::Using(names) => {
                let names: Vec<String> = names.iter().map(|n| n.text().into_owned()).collect();
                self.using(&names, from, middle, &mut conditions)?;
                self.merge_star(star, &names);
            }
        }
        if node.natural {
            let tables = &self.scope().tables;
            let left = tables[from..middle].iter().flat_map(ScopeTable::own_columns).filter(|c| !c.merged);
            let right: Vec<&ScopeColumn> =
                tables[middle..].iter().flat_map(ScopeTable::own_columns).collect();
            let names: Vec<String> = left
                .filter(|l| right.iter().any(|r| catalog::same_name(&r.name, &l.name)))
                .map(|c| c.name.clone())
                .collect();
            self.using(&names, from, middle, &mut conditions)?;
            self.merge_star(star, &names);
        }
        if node.kind == ast::JoinKind::Inner {
            join.conditions.extend(conditions);
            return Ok(());
        }
        for table in &mut self.scope_mut().tables[middle..] {
            for column in &mut table.columns {
                column.ty.nullable = true;
                column.flags &= !crate::meta::flags::NOT_NULL;
            }
        }
        // Inner joins inside the right side belong to its condition.
        conditions.extend(join.conditions.drain(kept..));
        join.groups.push(access::OuterGroup { start, end: end - 1, on: conditions });
        Ok(())
    }

    /// Columns that USING or NATURAL made one come first in what a join adds to `*`.
    fn merge_star(&mut self, from: usize, names: &[String]) {
        let scope = self.scope_mut();
        let tail = scope.star.split_off(from);
        let column = |(slot, column): &(crate::expr::Slot, usize)| {
            let table = scope.tables.iter().find(|t| t.slot == *slot).expect("a table of the block");
            &table.columns[*column]
        };
        let kept: Vec<_> = tail.into_iter().filter(|c| !column(c).merged).collect();
        let (common, rest): (Vec<_>, Vec<_>) =
            kept.into_iter().partition(|c| names.iter().any(|n| catalog::same_name(n, &column(c).name)));
        scope.star.extend(common);
        scope.star.extend(rest);
    }

    fn using(&mut self, names: &[String], from: usize, middle: usize, out: &mut Vec<Expr>) -> SqlResult<()> {
        for name in names {
            let side = |planner: &Self, range: std::ops::Range<usize>| -> SqlResult<(usize, usize)> {
                let tables = &planner.scope().tables[range.clone()];
                tables
                    .iter()
                    .enumerate()
                    .find_map(|(t, table)| {
                        let at = table
                            .columns
                            .iter()
                            .position(|c| !c.merged && catalog::same_name(&c.name, name))?;
                        Some((range.start + t, at))
                    })
                    .ok_or_else(|| SqlError::UnknownColumn { name: name.clone(), clause: Clause::On })
            };
            let left = side(self, from..middle)?;
            let right = side(self, middle..self.scope().tables.len())?;
            for (t, _) in [left, right] {
                self.check_column(self.scope().tables[t].slot, name)?;
            }
            let typed = |planner: &Self, (t, c): (usize, usize)| column_expr(&planner.scope().tables[t], c);
            let equal = self.comparison(crate::expr::CompareOp::Eq, typed(self, left), typed(self, right))?;
            out.push(equal.expr);
            self.scope_mut().tables[right.0].columns[right.1].merged = true;
        }
        Ok(())
    }
}

/// Rows of a table have no order: ORDER BY of a plain SELECT counts only with a LIMIT. The result of a set operation stays sorted.
fn unordered<'a>(query: &ast::Query<'a>) -> ast::Query<'a> {
    match (query.limit, &query.body) {
        (None, ast::QueryBody::Select(_) | ast::QueryBody::Nested(_)) => {
            ast::Query { order_by: &[], ..*query }
        }
        _ => *query,
    }
}

fn lock_of(lock: ast::RowLock) -> (LockMode, LockWaitPolicy) {
    let mode = match lock.strength {
        ast::LockStrength::Shared => LockMode::Shared,
        ast::LockStrength::Exclusive => LockMode::Exclusive,
    };
    let wait = match lock.wait {
        ast::LockWait::Default => LockWaitPolicy::Default,
        ast::LockWait::NoWait => LockWaitPolicy::NoWait,
        ast::LockWait::Seconds(s) => LockWaitPolicy::Seconds(s),
        ast::LockWait::SkipLocked => LockWaitPolicy::SkipLocked,
    };
    (mode, wait)
}

/// `ORDER BY 2`: the second output column.
fn position(e: &ast::Expr<'_>, output: &[Typed], clause: Clause) -> SqlResult<Option<Typed>> {
    let ast::Expr::Literal(ast::Literal::Int(n)) = e else { return Ok(None) };
    if output.is_empty() {
        return Ok(None);
    }
    let at = usize::try_from(*n).ok().and_then(|n| n.checked_sub(1));
    match at.and_then(|at| output.get(at)) {
        Some(typed) => Ok(Some(typed.clone())),
        None => Err(SqlError::UnknownColumn { name: n.to_string(), clause }),
    }
}

pub(crate) fn scope_column(meta: &ColumnMeta) -> ScopeColumn {
    ScopeColumn {
        name: meta.name.clone(),
        org_name: meta.name.clone(),
        ty: meta.ty,
        flags: meta.flags,
        merged: false,
        invisible: false,
        expr: None,
    }
}

/// The type of a table's column; DOUBLE(p, s) has its number of digits.
fn column_type(c: &catalog::ColumnDef) -> ExprType {
    let ty = crate::typing::of_column(&c.ty, c.nullable, c.width);
    match (&c.ty, c.decimals) {
        (ColumnType::Double { .. } | ColumnType::Float { .. }, Some(decimals)) => ExprType { decimals, ..ty },
        _ => ty,
    }
}

/// The names of a base table.
pub(crate) fn base_scope_table(
    slot: crate::expr::Slot,
    alias: String,
    handle: &std::sync::Arc<catalog::TableHandle>,
) -> ScopeTable {
    scope_table_of(slot, alias, &handle.def, Some(handle.clone()))
}

/// The names of a table by its definition.
pub(crate) fn scope_table_of(
    slot: crate::expr::Slot,
    alias: String,
    def: &catalog::TableDef,
    handle: Option<std::sync::Arc<catalog::TableHandle>>,
) -> ScopeTable {
    let columns = def
        .columns
        .iter()
        .enumerate()
        .map(|(i, c)| ScopeColumn {
            name: c.name.clone(),
            org_name: c.name.clone(),
            ty: column_type(c),
            flags: crate::typing::column_flags(def, i),
            merged: false,
            invisible: c.invisible,
            expr: None,
        })
        .collect();
    ScopeTable {
        slot,
        schema: def.schema.clone(),
        alias,
        org_table: def.name.clone(),
        columns,
        handle,
        view: None,
    }
}

fn meta_of(table: &ScopeTable, column: usize, name: String) -> ColumnMeta {
    let c = &table.columns[column];
    ColumnMeta {
        schema: table.schema.clone(),
        table: table.alias.clone(),
        org_table: table.org_table.clone(),
        name,
        org_name: c.org_name.clone(),
        ty: c.ty,
        flags: c.flags,
    }
}

/// True when the expression is the constant false or NULL.
pub(crate) fn is_never(e: &Expr) -> bool {
    match e {
        Expr::Const(Value::Null) => true,
        Expr::Const(Value::Int(v)) => *v == 0,
        _ => false,
    }
}

/// True when the expression is a constant that is true.
pub(crate) fn is_always(e: &Expr) -> bool {
    matches!(e, Expr::Const(Value::Int(v)) if *v != 0)
}

/// Slots of tables in FROM order.
pub(crate) fn slots_of(tables: &[FromTable]) -> SlotSet {
    let mut set = SlotSet::default();
    tables.iter().for_each(|t| set.insert(t.slot));
    set
}
