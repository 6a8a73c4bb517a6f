//! ON DUPLICATE KEY UPDATE, whose values may name columns of the query that is inserted.
//!
//! Before the query is planned, the names in the values are noted. The query's block, when it neither groups nor has window functions,
//! puts the columns of its tables that have such a name behind its select list. The values then see, beside the row in the way,
//! the query's tables with these columns, which are columns of one slot: the executor puts what stands behind the
//! select list there.

use std::convert::Infallible;
use std::sync::Arc;

use accounts::Privileges;
use catalog::TableHandle;
use sql_syntax::rewrite::{self, Rewrite};
use sql_syntax::{Arena, ast};

use crate::dml::assign_value;
use crate::error::{Clause, SqlError, SqlResult};
use crate::expr::{ColumnRef, Expr, Slot, Typed};
use crate::plan::{Assignment, OnDuplicate};
use crate::planner::Planner;
use crate::query::base_scope_table;
use crate::scope::{Name, Scope, ScopeColumn, ScopeTable, column_expr};

/// Names in ON DUPLICATE KEY UPDATE, and the columns of the query that they mean.
pub(crate) struct Wanted {
    names: Vec<Name>,
    /// The block that they may be columns of, by its place in the tree.
    block: usize,
    slot: Slot,
    tables: Vec<ScopeTable>,
    kept: usize,
}

fn place(select: &ast::Select<'_>) -> usize {
    std::ptr::from_ref(select).addr()
}

/// The block whose rows a query gives as they are.
fn block_of<'q, 'a>(query: &'q ast::Query<'a>) -> Option<&'q ast::Select<'a>> {
    match &query.body {
        ast::QueryBody::Select(select) => Some(select),
        ast::QueryBody::Nested(inner) => block_of(inner),
        ast::QueryBody::Values(_) | ast::QueryBody::SetOperation(_) => None,
    }
}

/// Names of columns in the values.
fn names_in(list: &[ast::Assignment<'_>]) -> Vec<Name> {
    struct Collect<'s>(&'s Arena, Vec<Name>);
    impl<'s> Rewrite<'s> for Collect<'s> {
        type Error = Infallible;
        fn arena(&self) -> &'s Arena {
            self.0
        }
        fn enter(&mut self, e: &ast::Expr<'s>) -> Result<Option<ast::Expr<'s>>, Infallible> {
            if let ast::Expr::Column(column) = e {
                self.1.push(Name::of(column));
            }
            Ok(None)
        }
    }
    let arena = Arena::new();
    let mut names = Vec::new();
    for item in list {
        let mut collect = Collect(&arena, Vec::new());
        match rewrite::expr(&mut collect, &item.value) {
            Ok(_) => names.append(&mut collect.1),
            Err(never) => match never {},
        }
    }
    names
}

impl<'a> Planner<'a> {
    /// Before the query of an INSERT is planned.
    pub(crate) fn want_columns(
        &mut self,
        query: &ast::Query<'a>,
        list: &[ast::Assignment<'a>],
    ) -> SqlResult<()> {
        self.wanted = None;
        let names = names_in(list);
        if let Some(select) = block_of(query).filter(|_| !names.is_empty()) {
            let slot = self.new_slot()?;
            self.wanted = Some(Wanted { names, block: place(select), slot, tables: Vec::new(), kept: 0 });
        }
        Ok(())
    }

    /// The columns of this block that the statement wants behind the select list; answers how many there are.
    pub(crate) fn keep_wanted(
        &mut self,
        select: &ast::Select<'a>,
        output: &mut Vec<Typed>,
    ) -> SqlResult<usize> {
        let Some(mut wanted) = self.wanted.take_if(|w| w.block == place(select)) else { return Ok(0) };
        let scope = self.scope();
        let grouped = !select.group_by.is_empty() || !scope.aggregates.is_empty() || scope.windows.is_some();
        if grouped {
            return Ok(0);
        }
        for table in &scope.tables {
            let mut columns: Vec<ScopeColumn> = Vec::new();
            for (i, column) in table.columns.iter().enumerate() {
                let means = |name: &Name| {
                    catalog::same_name(&name.column, &column.name)
                        && name.table.as_ref().is_none_or(|t| *t == table.alias)
                        && name.schema.as_ref().is_none_or(|s| *s == table.schema)
                };
                if !wanted.names.iter().any(means) {
                    continue;
                }
                self.check_star(table.slot, &column.name)?;
                let kept = ColumnRef { slot: wanted.slot, column: wanted.kept as u16 };
                wanted.kept += 1;
                output.push(column_expr(table, i));
                columns.push(ScopeColumn { expr: Some(Box::new(Expr::Column(kept))), ..column.clone() });
            }
            if !columns.is_empty() {
                wanted.tables.push(ScopeTable {
                    slot: wanted.slot,
                    columns,
                    handle: None,
                    view: None,
                    ..table.clone()
                });
            }
        }
        let kept = wanted.kept;
        self.wanted = Some(wanted);
        Ok(kept)
    }
}

/// What becomes of a row that is there already, and the slot of the query's columns that this reads.
pub(crate) fn on_duplicate<'a>(
    planner: &mut Planner<'a>,
    insert: &ast::Insert<'a>,
    table: &Arc<TableHandle>,
    slot: Slot,
) -> SqlResult<(OnDuplicate, Option<Slot>)> {
    if insert.replace {
        return Ok((OnDuplicate::Replace, None));
    }
    if insert.on_duplicate.is_empty() {
        return Ok((if insert.ignore { OnDuplicate::Ignore } else { OnDuplicate::Error }, None));
    }
    let wanted = planner.wanted.take().filter(|w| w.kept > 0);
    let source = wanted.as_ref().map(|w| w.slot);
    let mut own = Scope::default();
    own.add(base_scope_table(slot, table.def.name.clone(), table))?;
    let mut all = Scope { insert_values: true, ..Scope::default() };
    all.add(base_scope_table(slot, table.def.name.clone(), table))?;
    // The query may read a table of the target's name: then the name alone is ambiguous.
    for table in wanted.into_iter().flat_map(|w| w.tables) {
        all.slots.insert(table.slot);
        all.tables.push(table);
    }
    let mut out = Vec::with_capacity(insert.on_duplicate.len());
    for item in insert.on_duplicate {
        let clause = Clause::OnDuplicateKey;
        planner.scopes.push(own);
        planner.guarded.column_for = Some(Privileges::UPDATE);
        let target = planner.column(&Name::of(&item.column), clause);
        planner.guarded.column_for = None;
        own = planner.scopes.pop().unwrap_or_default();
        let Expr::Column(column) = target?.expr else {
            return Err(SqlError::UnknownColumn { name: Name::of(&item.column).text(), clause });
        };
        if matches!(item.value, ast::Expr::Ignore) {
            continue;
        }
        planner.scopes.push(all);
        let value = assign_value(planner, &item.value, clause);
        all = planner.scopes.pop().unwrap_or_default();
        out.push(Assignment { column: usize::from(column.column), value: value? });
    }
    Ok((OnDuplicate::Update(out), source))
}
