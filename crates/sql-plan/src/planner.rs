//! The state of planning one statement, and the doors to it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use catalog::program::RoutineDef;
use catalog::{Snapshot, TableHandle, ViewDef};
use charset::Collation;
use sql_syntax::ast;
use types::{Context, SqlMode, Value};

use crate::dml;
use crate::error::{Clause, SqlError, SqlResult};
use crate::expr::{Expr, Slot, SlotSet, Typed};
use crate::guard::{Guard, Guarded};
use crate::meta::ExprType;
use crate::plan::{Plan, PlanKind, QueryPlan};
use crate::recursive::CommonTable;
use crate::scope::Scope;
use crate::versioning::Inherited;

/// What the planner asks of the session.
pub trait Variables {
    /// A system variable's value by its lower case name; `None` when there is no such variable.
    fn system(&self, name: &str, global: bool) -> Option<Value>;
    /// The privileges of who runs the statement; `None`: may do everything.
    fn guard(&self) -> Option<Arc<dyn Guard>> {
        None
    }
    /// Set when the session's statement is to end: what the planner computes looks at it.
    fn interrupted(&self) -> Option<Arc<AtomicBool>> {
        None
    }
    /// The expression is a table's: what it names is looked up when it is evaluated.
    fn in_definition(&self) -> bool {
        false
    }
    /// The privileges of an account: a view's definer. `None`: may do everything.
    ///
    /// # Errors
    /// There is no such account.
    fn guard_of(&self, _user: &str, _host: &str) -> SqlResult<Option<Arc<dyn Guard>>> {
        Ok(None)
    }
    /// What is wrong with naming the variable with an explicit scope: it has no value there.
    fn scope_error(&self, _name: &str, _global: bool) -> Option<SqlError> {
        None
    }
}

/// What a statement is planned against.
pub struct PlanContext<'a> {
    pub catalog: Arc<Snapshot>,
    /// Empty when none is chosen.
    pub database: &'a str,
    pub sql_mode: SqlMode,
    pub connection_collation: Collation,
    pub div_precision_increment: u8,
    pub variables: &'a dyn Variables,
    /// For messages: `'root'@'localhost'`.
    pub user: &'a str,
    /// LOCK TABLES: the only tables that may be named.
    pub locked: Option<&'a [LockedTable]>,
    /// Variables of the stored program around the statement.
    pub locals: Option<&'a dyn Locals>,
    /// Fills in virtual tables (information_schema); `None` when there is no such table.
    pub virtual_table: &'a dyn Fn(&str, &str) -> Option<crate::plan::VirtualTable>,
}

/// A variable of a stored program: its value is the statement's parameter `index`.
#[derive(Debug, Clone, Copy)]
pub struct Local {
    pub index: u16,
    pub ty: ExprType,
}

/// What the planner asks of a stored program.
pub trait Locals {
    /// `name`, or the field `name` of the row variable `row` (NEW and OLD are such).
    fn find(&self, row: Option<&str>, name: &str) -> Option<Local>;
    /// The fields of a row variable.
    fn row(&self, name: &str) -> Option<Vec<Local>>;
}

/// A table of LOCK TABLES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedTable {
    pub schema: String,
    pub name: String,
    /// What statements call it: the alias, or the name.
    pub alias: String,
    pub write: bool,
}

/// Planning of one statement.
pub(crate) struct Planner<'a> {
    pub(crate) cx: &'a PlanContext<'a>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) next_slot: Slot,
    pub(crate) next_subquery: u16,
    pub(crate) tables: Vec<Arc<TableHandle>>,
    /// OUT arguments of stored functions: a value is asked for, not rows.
    pub(crate) outs_allowed: bool,
    /// What ON DUPLICATE KEY UPDATE wants of the query that is planned.
    pub(crate) wanted: Option<crate::duplicate::Wanted>,
    /// Stored functions that are called.
    pub(crate) routines: Vec<Arc<RoutineDef>>,
    /// Common table expressions that can be named, innermost last.
    pub(crate) common: Vec<CommonTable<'a>>,
    /// WINDOW clauses of the blocks that are being planned, innermost last.
    pub(crate) windows: Vec<&'a [ast::NamedWindow<'a>]>,
    /// Views that the statement reads.
    pub(crate) views: Vec<Arc<ViewDef>>,
    /// Views that are being planned, outermost first.
    pub(crate) view_stack: Vec<String>,
    /// Right sides of outer joins around the table that is being planned.
    pub(crate) outer_sides: usize,
    /// Tables are planned to be changed: the order of a view's rows does not count.
    pub(crate) changing: bool,
    /// For values that are converted while planning.
    pub(crate) context: Context,
    /// Whose privileges count.
    pub(crate) guarded: Guarded,
    /// FOR SYSTEM_TIME of the view or derived table that is being planned.
    pub(crate) inherited: Option<Inherited>,
    /// What moment versioned tables are read at, when they say nothing themselves.
    pub(crate) as_of: Option<Typed>,
}

/// Plans a statement that reads or changes rows. `None` for every other kind of statement.
pub fn plan<'a>(
    statement: &ast::Statement<'a>,
    params: u32,
    cx: &'a PlanContext<'a>,
) -> SqlResult<Option<Plan>> {
    let mut planner = Planner::new(cx);
    let kind = match statement {
        ast::Statement::Query(query) => {
            planner.as_of = planner.session_as_of();
            PlanKind::Query(planner.top_query(query)?)
        }
        ast::Statement::Insert(insert) => PlanKind::Insert(dml::insert(&mut planner, insert)?),
        ast::Statement::LoadData(load) => PlanKind::Insert(crate::files::load_data(&mut planner, load)?),
        ast::Statement::Update(update) => PlanKind::Update(dml::update(&mut planner, update)?),
        ast::Statement::Delete(delete) => PlanKind::Delete(dml::delete(&mut planner, delete)?),
        ast::Statement::Do(exprs) => {
            planner.outs_allowed = true;
            planner.scopes.push(Scope::default());
            let exprs: SqlResult<Vec<Expr>> =
                exprs.iter().map(|e| Ok(planner.expr(e, Clause::Select)?.expr)).collect();
            PlanKind::Do(exprs?)
        }
        _ => return Ok(None),
    };
    Ok(Some(planner.finish(kind, params)))
}

/// One expression without tables: SET, LIMIT of SHOW, KILL.
pub fn plan_expr<'a>(e: &ast::Expr<'a>, cx: &'a PlanContext<'a>) -> SqlResult<(Plan, ExprType)> {
    let mut planner = Planner::new(cx);
    planner.outs_allowed = true;
    planner.scopes.push(Scope::default());
    let typed = planner.expr(e, Clause::Select)?;
    let ty = typed.ty;
    Ok((planner.finish(PlanKind::Do(vec![typed.expr]), 0), ty))
}

impl<'a> Planner<'a> {
    pub(crate) fn new(cx: &'a PlanContext<'a>) -> Self {
        Self {
            cx,
            scopes: Vec::new(),
            next_slot: 0,
            next_subquery: 0,
            tables: Vec::new(),
            outs_allowed: false,
            wanted: None,
            routines: Vec::new(),
            common: Vec::new(),
            windows: Vec::new(),
            views: Vec::new(),
            view_stack: Vec::new(),
            outer_sides: 0,
            changing: false,
            context: crate::fold::context(cx),
            guarded: Guarded::by(cx.variables.guard()),
            inherited: None,
            as_of: None,
        }
    }

    fn finish(mut self, kind: PlanKind, params: u32) -> Plan {
        let changed: Vec<Arc<TableHandle>> = match &kind {
            PlanKind::Insert(insert) => vec![insert.table.clone()],
            PlanKind::Update(update) => update.targets.iter().map(|t| t.table.clone()).collect(),
            PlanKind::Delete(delete) => delete.targets.iter().map(|(_, t)| t.clone()).collect(),
            _ => Vec::new(),
        };
        let relations = crate::relations::of(&self.cx.catalog, &changed);
        let parents = relations.iter().flat_map(|r| &r.parents).filter_map(|p| Some(&p.parent.as_ref()?.0));
        let children = relations.iter().flat_map(|r| &r.children).map(|c| &c.child);
        for table in parents.chain(children) {
            if !self.tables.iter().any(|t| Arc::ptr_eq(t, table)) {
                self.tables.push(table.clone());
            }
        }
        Plan {
            kind,
            slots: self.next_slot,
            subqueries: self.next_subquery,
            params: params as u16,
            tables: self.tables,
            views: self.views,
            relations: relations.into(),
            relations_version: self.cx.catalog.relations_version,
            routines: self.routines,
            catalog_version: self.cx.catalog.version,
        }
    }

    pub(crate) fn scope(&self) -> &Scope {
        self.scopes.last().expect("an expression is planned inside a scope")
    }

    pub(crate) fn scope_mut(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("an expression is planned inside a scope")
    }

    pub(crate) fn new_slot(&mut self) -> SqlResult<Slot> {
        if self.next_slot >= SlotSet::CAPACITY {
            return Err(SqlError::not_supported("more than 256 tables in a statement"));
        }
        self.next_slot += 1;
        Ok(self.next_slot - 1)
    }

    /// Plans a query inside an expression; also answers which outer slots it reads.
    pub(crate) fn nested_query(&mut self, query: &ast::Query<'a>) -> SqlResult<(QueryPlan, SlotSet)> {
        let first_own = self.next_slot;
        let plan = self.query(query)?;
        let mut reads = SlotSet::default();
        plan.outer_exprs(&mut |e| {
            e.columns(&mut |c| {
                if c.slot < first_own {
                    reads.insert(c.slot);
                }
            });
        });
        Ok((plan, reads))
    }

    /// The schema and name of a table as written.
    pub(crate) fn table_name(&self, name: &ast::ObjectName<'_>) -> SqlResult<(String, String)> {
        let schema = match name.database {
            Some(schema) => schema.text().into_owned(),
            None if self.cx.database.is_empty() => return Err(SqlError::NoDatabaseSelected),
            None => self.cx.database.to_owned(),
        };
        Ok((schema, name.name.text().into_owned()))
    }

    /// A base table, remembered as one the statement uses under the name `alias`.
    pub(crate) fn base_table(
        &mut self,
        name: &ast::ObjectName<'_>,
        alias: &str,
    ) -> SqlResult<Arc<TableHandle>> {
        let (schema, name) = self.table_name(name)?;
        let snapshot = self.snapshot();
        let handle = snapshot.table(&schema, &name).cloned();
        // What information_schema shows is made for the statement, and a temporary table is the session's: nobody can lock them.
        if let Some(locked) = self.cx.locked
            && !handle.as_ref().is_some_and(|t| t.def.temporary)
            && !schema.eq_ignore_ascii_case("information_schema")
            && !schema.eq_ignore_ascii_case("performance_schema")
            && !locked.iter().any(|t| t.schema == schema && t.name == name && t.alias == alias)
        {
            return Err(SqlError::TableNotLocked(alias.to_owned()));
        }
        let handle = handle.ok_or(SqlError::NoSuchTable { schema, name })?;
        if !self.tables.iter().any(|t| Arc::ptr_eq(t, &handle)) {
            self.tables.push(handle.clone());
        }
        Ok(handle)
    }

    pub(crate) fn view(&self, schema: &str, name: &str) -> Option<Arc<ViewDef>> {
        self.snapshot().view(schema, name).cloned()
    }

    /// The tables that the statement sees; those of a view are never temporary.
    pub(crate) fn snapshot(&self) -> &'a Arc<Snapshot> {
        if self.view_stack.is_empty() { &self.cx.catalog } else { self.cx.catalog.shared() }
    }

    /// A table whose rows the statement changes: it may have been locked for reading only.
    pub(crate) fn changes(&self, table: &TableHandle) -> SqlResult<()> {
        let Some(locked) = self.cx.locked.filter(|_| !table.def.temporary) else { return Ok(()) };
        let mut found = locked.iter().filter(|t| t.schema == table.schema() && t.name == table.name());
        if found.any(|t| t.write) {
            Ok(())
        } else {
            Err(SqlError::TableLockedForRead(table.name().to_owned()))
        }
    }
}
