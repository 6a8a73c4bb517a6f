//! Views in queries: merged into the block that names them, or run on their own.
//!
//! A view whose query is a plain join (no grouping, DISTINCT, LIMIT, set operation) becomes part of the block around it: its tables are
//! tables of that block, its conditions are conditions there, and its columns stand for the expressions of its select list. Anything
//! else, and ALGORITHM=TEMPTABLE, is planned like a derived table.
//!
//! # Invariants
//! 1. A view sees nothing of the statement around it: its query is planned in the view's database with names of its own.
//! 2. `Planner::views` has every view that the statement reads, so that its definition can be locked and compared before running.
//! 3. On the right side of an outer join only views whose columns are plain columns are merged: others would have a value where
//!    there is no row.

use std::sync::Arc;

use catalog::program::ProgramKind;
use catalog::{ViewAlgorithm, ViewCheck, ViewDef};
use sql_syntax::rewrite::{self, Rewrite};
use sql_syntax::{Arena, ast};

use crate::access::{FromTable, JoinInput, OuterGroup};
use crate::error::{SqlError, SqlResult};
use crate::expr::{Expr, Slot};
use crate::guard::Guarded;
use crate::plan::{Source, ViewRule};
use crate::planner::{PlanContext, Planner};
use crate::query::scope_column;
use crate::scope::{MergedView, Scope, ScopeColumn, ScopeTable, ViewBase};
use crate::view_text::parse_body;

/// Views inside views.
const DEPTH_MAX: usize = 64;

/// What an INSERT into a view writes to.
pub(crate) struct ViewTarget {
    pub(crate) base: ViewBase,
    /// Names of the view's columns, and the base table's columns that they are.
    pub(crate) columns: Vec<(String, Option<usize>)>,
}

impl<'a> Planner<'a> {
    /// A view in FROM.
    pub(crate) fn view_factor(
        &mut self,
        view: &Arc<ViewDef>,
        alias: String,
        join: &mut JoinInput,
    ) -> SqlResult<()> {
        if let Some(merged) = self.merge(view, join)? {
            let slot = self.new_slot()?;
            self.guard_slot(slot, &view.schema, &view.name);
            let scope = self.scope_mut();
            for base in &merged.slots {
                scope.slots.insert(*base);
            }
            return scope.add(ScopeTable {
                slot,
                schema: view.schema.clone(),
                alias,
                org_table: view.name.clone(),
                columns: merged.columns.clone(),
                handle: None,
                view: Some(merged),
            });
        }
        let plan = self.in_view(view, |inner, query| inner.query(query))?;
        let slot = self.new_slot()?;
        self.guard_slot(slot, &view.schema, &view.name);
        let columns = plan.columns.iter().map(scope_column).collect();
        self.scope_mut().add(ScopeTable {
            slot,
            schema: view.schema.clone(),
            alias: alias.clone(),
            org_table: view.name.clone(),
            columns,
            handle: None,
            view: None,
        })?;
        join.tables.push(FromTable::new(slot, Source::Derived(Box::new(plan)), alias));
        Ok(())
    }

    /// The one table behind a view, to insert into; `None` for views that cannot take rows.
    pub(crate) fn view_target(&mut self, view: &Arc<ViewDef>) -> SqlResult<Option<ViewTarget>> {
        let mut join = JoinInput::default();
        let Some(merged) = self.merge(view, &mut join)? else { return Ok(None) };
        let ([base], [table]) = (merged.bases.as_slice(), join.tables.as_slice()) else { return Ok(None) };
        if !matches!(table.source, Source::Table(_)) || base.slot != table.slot {
            return Ok(None);
        }
        let column = |e: &Option<Box<Expr>>| match e.as_deref() {
            Some(Expr::Column(c)) if c.slot == base.slot => Some(usize::from(c.column)),
            _ => None,
        };
        let columns: Vec<_> = merged.columns.iter().map(|c| (c.name.clone(), column(&c.expr))).collect();
        Ok(Some(ViewTarget { base: base.clone(), columns }))
    }

    /// Puts a view's tables and conditions into `join`; `None` when its query cannot be merged.
    fn merge(&mut self, view: &Arc<ViewDef>, join: &mut JoinInput) -> SqlResult<Option<MergedView>> {
        if view.algorithm == ViewAlgorithm::TempTable {
            return Ok(None);
        }
        let plain_only = self.outer_sides > 0;
        let ordered_too = self.changing;
        let merged = self.in_view(view, |inner, query| {
            let ast::QueryBody::Select(select) = query.body else { return Ok(None) };
            if !inner.is_plain(query, select, ordered_too) {
                return Ok(None);
            }
            inner.scopes.push(Scope { merging: true, ..Scope::default() });
            let made = inner.merge_select(select);
            let scope = inner.scopes.pop();
            if matches!(made, Err(SqlError::InvalidGroupFunction)) {
                return Ok(None);
            }
            let (input, mut merged) = made?;
            if plain_only
                && !merged.columns.iter().all(|c| matches!(c.expr.as_deref(), Some(Expr::Column(_))))
            {
                return Ok(None);
            }
            if let Some(scope) = scope {
                merged.slots.extend(input.tables.iter().map(|t| t.slot));
                merged.bases = bases(view, &scope, &input, merged.own_from);
            }
            Ok(Some((input, merged)))
        })?;
        let Some((mut input, merged)) = merged else { return Ok(None) };
        join.take_in(&mut input);
        Ok(Some(merged))
    }

    /// Makes a derived table's tables and conditions those of the block; `false` when its query is no plain join, or when
    /// running it once is not the same as computing its columns where they are used.
    pub(crate) fn merge_derived(
        &mut self,
        query: &ast::Query<'a>,
        alias: &str,
        names: &[ast::Ident<'a>],
        join: &mut JoinInput,
    ) -> SqlResult<bool> {
        let ast::QueryBody::Select(select) = query.body else { return Ok(false) };
        let plain = query.into.is_none() && query.procedure.is_none() && self.is_plain(query, select, true);
        if self.changing || !plain {
            return Ok(false);
        }
        let mark = self.mark();
        let around = std::mem::take(&mut self.scopes);
        let outer_sides = std::mem::take(&mut self.outer_sides);
        self.scopes.push(Scope { merging: true, ..Scope::default() });
        let made = self.merge_select(select);
        let inner = self.scopes.pop().unwrap_or_default();
        self.outer_sides = outer_sides;
        self.scopes = around;
        // An aggregate in a query of the select list groups this block: it is no plain join.
        if matches!(made, Err(SqlError::InvalidGroupFunction)) {
            self.back_to(&mark);
            return Ok(false);
        }
        let (mut input, mut merged) = made?;
        let fits = names.is_empty() || names.len() == merged.columns.len();
        for (column, name) in merged.columns.iter_mut().zip(names) {
            column.name = name.text().into_owned();
        }
        let unique = (0..merged.columns.len()).all(|i| {
            let same = |c: &ScopeColumn| catalog::same_name(&c.name, &merged.columns[i].name);
            !merged.columns[..i].iter().any(same)
        });
        let column = |e: &Option<Box<Expr>>| match e.as_deref() {
            Some(Expr::Column(c)) => input.tables.iter().any(|t| t.slot == c.slot),
            Some(e) => outer_sides == 0 && is_repeatable(e),
            None => false,
        };
        if !unique || !fits || !merged.columns.iter().all(|c| column(&c.expr)) {
            self.back_to(&mark);
            return Ok(false);
        }
        merged.slots.extend(input.tables.iter().map(|t| t.slot));
        for table in &inner.tables {
            merged.slots.extend(table.view.iter().flat_map(|v| &v.slots));
        }
        let slot = self.new_slot()?;
        let scope = self.scope_mut();
        for base in &merged.slots {
            scope.slots.insert(*base);
        }
        scope.add(ScopeTable {
            slot,
            schema: String::new(),
            alias: alias.to_owned(),
            org_table: alias.to_owned(),
            columns: merged.columns.clone(),
            handle: None,
            view: Some(merged),
        })?;
        join.take_in(&mut input);
        Ok(true)
    }

    /// The tables, conditions and columns of a view's select, in a scope of its own.
    fn merge_select(&mut self, select: &ast::Select<'a>) -> SqlResult<(JoinInput, MergedView)> {
        let mut input = JoinInput { straight: select.options.straight_join, ..JoinInput::default() };
        self.add_tables(select.from, &mut input)?;
        let own_from = input.conditions.len();
        self.filter(select.filter.as_ref(), &mut input)?;
        let (output, metas) = self.select_list(select.items)?;
        let mut columns = Vec::with_capacity(output.len());
        for (typed, meta) in output.into_iter().zip(&metas) {
            let mut column = scope_column(meta);
            column.ty = typed.ty;
            column.expr = Some(Box::new(typed.expr));
            columns.push(column);
        }
        Ok((input, MergedView { columns, slots: Vec::new(), bases: Vec::new(), own_from }))
    }

    /// Runs `body` with a planner that sees only what the view's query names.
    fn in_view<R>(
        &mut self,
        view: &Arc<ViewDef>,
        body: impl for<'v> FnOnce(&mut Planner<'v>, &ast::Query<'v>) -> SqlResult<R>,
    ) -> SqlResult<R> {
        let name = view.full_name();
        if self.view_stack.contains(&name) || self.view_stack.len() >= DEPTH_MAX {
            return Err(SqlError::Other {
                errno: 1462,
                state: *b"HY000",
                text: format!("`{}`.`{}` contains view recursion", view.schema, view.name),
            });
        }
        if !self.views.iter().any(|v| Arc::ptr_eq(v, view)) {
            self.views.push(view.clone());
        }
        let arena = Arena::new();
        let cx = PlanContext {
            catalog: self.cx.catalog.clone(),
            database: &view.schema,
            locked: None,
            ..*self.cx
        };
        let query = parse_body(&arena, view)?;
        // SQL SECURITY: the tables inside are read with the definer's rights, unless the view says otherwise.
        let guard = if view.invoker {
            self.guarded.guard.clone()
        } else {
            self.cx.variables.guard_of(&view.definer_user, &view.definer_host)?
        };
        let mut inner = Planner::new(&cx);
        inner.guarded = Guarded::by(guard);
        inner.next_slot = self.next_slot;
        inner.next_subquery = self.next_subquery;
        inner.tables = std::mem::take(&mut self.tables);
        inner.views = std::mem::take(&mut self.views);
        inner.view_stack = std::mem::take(&mut self.view_stack);
        inner.view_stack.push(name);
        inner.changing = self.changing;
        inner.inherited = self.inherited.take();
        inner.as_of.clone_from(&self.as_of);
        let outcome = body(&mut inner, query);
        (self.next_slot, self.next_subquery) = (inner.next_slot, inner.next_subquery);
        self.tables = std::mem::take(&mut inner.tables);
        self.views = std::mem::take(&mut inner.views);
        self.view_stack = std::mem::take(&mut inner.view_stack);
        self.view_stack.pop();
        self.inherited = inner.inherited.take();
        outcome.map_err(|e| match e {
            SqlError::NoSuchTable { .. } | SqlError::UnknownColumn { .. } | SqlError::UnknownFunction(_) => {
                invalid(view)
            }
            // Whose rights they are does not matter.
            SqlError::Other { errno: 1142 | 1143 | 1370, .. } => invalid(view),
            other => other,
        })
    }
}

impl JoinInput {
    /// The tables and conditions of a query that becomes part of this one.
    fn take_in(&mut self, input: &mut Self) {
        let offset = self.tables.len();
        self.straight |= input.straight;
        self.tables.append(&mut input.tables);
        self.conditions.append(&mut input.conditions);
        let shift = |g: OuterGroup| OuterGroup { start: g.start + offset, end: g.end + offset, on: g.on };
        self.groups.extend(input.groups.drain(..).map(shift));
    }
}

/// Whether computing the expression again gives the same value and costs little: no query, no function with effects.
fn is_repeatable(e: &Expr) -> bool {
    let mut good = match e {
        Expr::Subquery(_) | Expr::Routine(_) | Expr::AssignVariable(..) | Expr::UserVariable(_) => false,
        Expr::Call { function, .. } => function.is_deterministic(),
        Expr::Session(which, _) => !which.acts(),
        _ => true,
    };
    e.children(&mut |c| good &= is_repeatable(c));
    good
}

/// The view's query names what is not there any more.
fn invalid(view: &ViewDef) -> SqlError {
    SqlError::Other {
        errno: 1356,
        state: *b"HY000",
        text: format!(
            "View '{}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack \
             rights to use them",
            view.full_name()
        ),
    }
}

/// The base tables of a merged view, with the conditions that WITH CHECK OPTION asks of their rows.
fn bases(view: &ViewDef, scope: &Scope, input: &JoinInput, own_from: usize) -> Vec<ViewBase> {
    let mut out: Vec<ViewBase> = Vec::new();
    for table in &scope.tables {
        match (&table.handle, &table.view) {
            (Some(handle), _) => {
                out.push(ViewBase { slot: table.slot, handle: handle.clone(), rules: Vec::new() });
            }
            // As MariaDB has it: only the option of the view that is written to counts, not those of views inside it.
            (None, Some(inner)) => {
                out.extend(inner.bases.iter().map(|b| ViewBase { rules: Vec::new(), ..b.clone() }));
            }
            (None, None) => {}
        }
    }
    let first = match view.check {
        ViewCheck::None => return out,
        ViewCheck::Local => own_from,
        ViewCheck::Cascaded => 0,
    };
    let on = input.conditions[first..].to_vec();
    for base in &mut out {
        let mine: Vec<Expr> = on.iter().filter(|e| reads_only(e, base.slot)).cloned().collect();
        if let Some(condition) = Expr::and(mine) {
            base.rules.push(ViewRule { view: format!("`{}`.`{}`", view.schema, view.name), condition });
        }
    }
    out
}

fn reads_only(e: &Expr, slot: Slot) -> bool {
    let mut only = true;
    e.columns(&mut |c| only &= c.slot == slot);
    only
}

impl<'a> Planner<'a> {
    /// A query that is nothing but a join with conditions.
    fn is_plain(&self, query: &ast::Query<'_>, select: &ast::Select<'_>, ordered_too: bool) -> bool {
        query.with.is_none()
            && query.limit.is_none()
            && query.lock.is_none()
            && (ordered_too || query.order_by.is_empty())
            && !select.options.distinct
            && !select.options.calc_found_rows
            && select.group_by.is_empty()
            && select.having.is_none()
            && select.windows.is_empty()
            && !select.from.is_empty()
            && !has_aggregate(select, &|call| self.is_stored_aggregate(call))
    }

    /// Whether a call means a stored aggregate function.
    fn is_stored_aggregate(&self, call: &ast::Call<'_>) -> bool {
        let schema = call.database.map_or_else(|| self.cx.database.into(), |d| d.text());
        let found = self.cx.catalog.routine(ProgramKind::Function, &schema, &call.name.text());
        found.is_some_and(|def| def.aggregate)
    }
}

/// Whether the select list groups without saying so.
fn has_aggregate(select: &ast::Select<'_>, stored: &dyn Fn(&ast::Call<'_>) -> bool) -> bool {
    struct Search<'s, 'f>(&'s Arena, &'f dyn Fn(&ast::Call<'_>) -> bool);
    impl<'s> Rewrite<'s> for Search<'s, '_> {
        type Error = ();
        fn arena(&self) -> &'s Arena {
            self.0
        }
        fn enter(&mut self, e: &ast::Expr<'s>) -> Result<Option<ast::Expr<'s>>, ()> {
            match e {
                ast::Expr::Aggregate(_) | ast::Expr::Window(_) => Err(()),
                ast::Expr::Call(call) if (self.1)(call) => Err(()),
                _ => Ok(None),
            }
        }
    }
    let arena = Arena::new();
    select.items.iter().any(|item| match item {
        ast::SelectItem::Expr(item) => rewrite::expr(&mut Search(&arena, stored), &item.expr).is_err(),
        ast::SelectItem::All | ast::SelectItem::AllOf(_) => false,
    })
}
