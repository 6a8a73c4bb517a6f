//! Common table expressions, plain and recursive.
//!
//! A recursive table is `seed UNION [ALL] step ...`: the terms that do not name the table are its seeds and give its columns
//! their types; the others read it as [`Source::Working`]. Which is which is found by planning: a term that comes across the
//! table before its columns are known is a step, and is planned again when they are.

use sql_syntax::ast;

use crate::access::{FromTable, JoinInput};
use crate::error::{SqlError, SqlResult};
use crate::expr::{ColumnRef, Expr, Slot, Typed};
use crate::meta::ColumnMeta;
use crate::plan::{Into, QueryBody, QueryPlan, RecursivePlan, Source};
use crate::planner::Planner;
use crate::query::scope_column;
use crate::scope::{ScopeColumn, ScopeTable};
use crate::typing::unify;

/// A table of WITH that can be named.
#[derive(Debug)]
pub(crate) struct CommonTable<'a> {
    pub(crate) name: String,
    table: ast::CommonTable<'a>,
    /// WITH RECURSIVE: it may name itself.
    recursive: bool,
    /// Set while it is being planned.
    working: Option<Working>,
}

/// A recursive table inside its own definition.
#[derive(Debug)]
struct Working {
    id: Slot,
    /// `None` until the seeds are planned.
    columns: Option<Vec<ScopeColumn>>,
    met: bool,
}

impl<'a> CommonTable<'a> {
    pub(crate) fn new(table: ast::CommonTable<'a>, recursive: bool) -> Self {
        Self { name: table.name.text().into_owned(), table, recursive, working: None }
    }
}

/// What was allotted before a term was tried.
pub(crate) struct Mark {
    scopes: usize,
    windows: usize,
    common: usize,
    slot: Slot,
    subquery: u16,
}

impl<'a> Planner<'a> {
    /// A reference to the common table at `at`.
    pub(crate) fn common_table(&mut self, at: usize, alias: String, join: &mut JoinInput) -> SqlResult<()> {
        let common = &mut self.common[at];
        if let Some(working) = &mut common.working {
            working.met = true;
            let (id, columns) = (working.id, working.columns.clone());
            // The term is a step: it is planned again when the columns are known.
            let Some(columns) = columns else { return Err(SqlError::StalePlan) };
            return self.add_working(id, columns, alias, join);
        }
        let (table, recursive) = (common.table, common.recursive);
        // A common table sees those before it; of a recursive list also itself.
        let later = self.common.split_off(at + usize::from(recursive));
        let merged = !recursive && table.cycle.is_empty();
        let merged =
            if merged { self.merge_derived(table.query, &alias, table.columns, join) } else { Ok(false) };
        let plan = match merged {
            Ok(false) if recursive => self.recursive_table(at, table).map(Some),
            Ok(false) => self.detached_query(table.query).map(Some),
            Ok(true) => Ok(None),
            Err(e) => Err(e),
        };
        self.common.truncate(at + usize::from(recursive));
        self.common.extend(later);
        self.common[at].working = None;
        match plan? {
            Some(plan) => self.add_derived(plan, alias, table.columns, join),
            None => Ok(()),
        }
    }

    fn add_working(
        &mut self,
        id: Slot,
        columns: Vec<ScopeColumn>,
        alias: String,
        join: &mut JoinInput,
    ) -> SqlResult<()> {
        let slot = self.new_slot()?;
        self.scope_mut().add(ScopeTable {
            slot,
            schema: String::new(),
            alias: alias.clone(),
            org_table: alias.clone(),
            columns,
            handle: None,
            view: None,
        })?;
        join.tables.push(FromTable::new(slot, Source::Working(id), alias));
        Ok(())
    }

    fn recursive_table(&mut self, at: usize, table: ast::CommonTable<'a>) -> SqlResult<QueryPlan> {
        let id = self.new_slot()?;
        self.common[at].working = Some(Working { id, columns: None, met: false });
        let scope = self.scope_mut();
        let (tables, star) = (std::mem::take(&mut scope.tables), std::mem::take(&mut scope.star));
        let plan = self.recursive_query(at, id, table);
        let scope = self.scope_mut();
        (scope.tables, scope.star) = (tables, star);
        plan
    }

    fn recursive_query(&mut self, at: usize, id: Slot, table: ast::CommonTable<'a>) -> SqlResult<QueryPlan> {
        let query = table.query;
        let mut bodies: Vec<(ast::QueryBody<'a>, bool)> = Vec::new();
        match query.body {
            ast::QueryBody::SetOperation(set)
                if set.rest.iter().all(|t| t.op == ast::SetOp::Union) && query.with.is_none() =>
            {
                bodies.push((set.first, true));
                bodies.extend(set.rest.iter().map(|t| (t.body, t.all)));
            }
            _ => {
                // Not of the shape that can recurse: a plain query, unless it names itself after all.
                let plan = self.query(query);
                return if self.met(at) { Err(violates(&table)) } else { plan };
            }
        }
        let mut seeds = Vec::new();
        let mut steps = Vec::new();
        for (i, (body, _)) in bodies.iter().enumerate() {
            let mark = self.mark();
            match self.body(body) {
                Ok(plan) => seeds.push(plan),
                Err(SqlError::StalePlan) if self.met(at) => {
                    self.back_to(&mark);
                    steps.push(i);
                }
                Err(e) => return Err(e),
            }
            if let Some(working) = &mut self.common[at].working {
                working.met = false;
            }
        }
        if steps.is_empty() {
            return self.query(query);
        }
        if seeds.is_empty() {
            return Err(other(4005, format!("No anchors for recursive WITH element '{}'", table.name)));
        }
        if !query.order_by.is_empty() || query.limit.is_some() {
            return Err(SqlError::not_supported("ORDER BY and LIMIT of a recursive table"));
        }
        let columns = self.recursive_columns(&seeds, table)?;
        self.common[at].working.as_mut().expect("it is being planned").columns =
            Some(columns.iter().map(scope_column).collect());
        let (first_slot, first_subquery) = (self.next_slot, self.next_subquery);
        let mut plans = Vec::new();
        for step in &steps {
            let plan = self.body(&bodies[*step].0)?;
            if plan.columns.len() != columns.len() {
                return Err(SqlError::UnionColumnCount);
            }
            if matches!(&plan.body, QueryBody::Select(s) if s.group.is_some()) {
                return Err(violates(&table));
            }
            plans.push(plan);
        }
        let all = steps.iter().all(|s| bodies[*s].1) && table.cycle.is_empty();
        let typed = columns
            .iter()
            .enumerate()
            .map(|(i, c)| Typed::new(Expr::Column(ColumnRef { slot: id, column: i as u16 }), c.ty))
            .collect();
        let recursive = RecursivePlan {
            id,
            seeds,
            steps: plans,
            all,
            unique: cycle_columns(&table, &columns)?,
            columns: typed,
            names: columns.iter().map(|c| c.name.clone()).collect(),
            slots: first_slot..self.next_slot,
            subqueries: first_subquery..self.next_subquery,
        };
        Ok(QueryPlan { body: QueryBody::Recursive(Box::new(recursive)), columns, into: Into::Client })
    }

    fn met(&self, at: usize) -> bool {
        self.common[at].working.as_ref().is_some_and(|w| w.met)
    }

    /// The columns that the seeds give the table.
    fn recursive_columns(
        &self,
        seeds: &[QueryPlan],
        table: ast::CommonTable<'a>,
    ) -> SqlResult<Vec<ColumnMeta>> {
        let mut types: Vec<_> = seeds[0].columns.iter().map(|c| c.ty).collect();
        for seed in &seeds[1..] {
            if seed.columns.len() != types.len() {
                return Err(SqlError::UnionColumnCount);
            }
            for (ty, column) in types.iter_mut().zip(&seed.columns) {
                *ty = unify(ty, &column.ty, "UNION")?;
            }
        }
        if !table.columns.is_empty() && table.columns.len() != types.len() {
            return Err(other(
                4002,
                "WITH column list and SELECT field list have different column counts".into(),
            ));
        }
        let names = (0..types.len()).map(|i| match table.columns.get(i) {
            Some(name) => name.text().into_owned(),
            None => seeds[0].columns[i].name.clone(),
        });
        Ok(names.zip(&types).map(|(name, ty)| ColumnMeta::plain(name, ty.nullable(true))).collect())
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            scopes: self.scopes.len(),
            windows: self.windows.len(),
            common: self.common.len(),
            slot: self.next_slot,
            subquery: self.next_subquery,
        }
    }

    /// Gives back what a term took that has to be planned again.
    pub(crate) fn back_to(&mut self, mark: &Mark) {
        self.scopes.truncate(mark.scopes);
        self.windows.truncate(mark.windows);
        self.common.truncate(mark.common);
        self.next_slot = mark.slot;
        self.next_subquery = mark.subquery;
    }
}

/// CYCLE columns RESTRICT: rows equal in these columns come once.
fn cycle_columns(table: &ast::CommonTable<'_>, columns: &[ColumnMeta]) -> SqlResult<Vec<usize>> {
    let find = |name: &ast::Ident<'_>| {
        columns.iter().position(|c| catalog::same_name(&c.name, &name.text())).ok_or_else(|| {
            SqlError::UnknownColumn { name: name.text().into_owned(), clause: crate::error::Clause::Select }
        })
    };
    table.cycle.iter().map(find).collect()
}

fn violates(table: &ast::CommonTable<'_>) -> SqlError {
    other(
        4008,
        format!("Restrictions imposed on recursive definitions are violated for table '{}'", table.name),
    )
}

fn other(errno: u16, text: String) -> SqlError {
    SqlError::Other { errno, state: *b"HY000", text }
}
