//! Which names a clause can see.
//!
//! A query block has one scope. It sees the tables of its FROM clause, then those of the block around it, and so on
//! outwards; HAVING and ORDER BY also see the aliases of the select list.

use std::sync::Arc;

use catalog::{TableHandle, same_name};
use sql_syntax::ast;

use crate::error::{Clause, SqlError, SqlResult};
use crate::expr::{ColumnRef, Expr, Slot, SlotSet, Typed};
use crate::meta::ExprType;
use crate::plan::{Aggregate, ViewRule, WindowPlan};

/// A column that can be named.
#[derive(Debug, Clone)]
pub(crate) struct ScopeColumn {
    pub(crate) name: String,
    pub(crate) org_name: String,
    pub(crate) ty: ExprType,
    pub(crate) flags: u16,
    /// A right-hand column of USING or NATURAL: not found by its bare name, not in `*`.
    pub(crate) merged: bool,
    pub(crate) invisible: bool,
    /// What a merged view's column stands for.
    pub(crate) expr: Option<Box<Expr>>,
}

/// A table that can be named.
#[derive(Debug, Clone)]
pub(crate) struct ScopeTable {
    pub(crate) slot: Slot,
    pub(crate) schema: String,
    pub(crate) alias: String,
    pub(crate) org_table: String,
    pub(crate) columns: Vec<ScopeColumn>,
    pub(crate) handle: Option<Arc<TableHandle>>,
    /// A view whose tables have become tables of the block.
    pub(crate) view: Option<MergedView>,
}

/// A view that was merged into a block.
#[derive(Debug, Clone)]
pub(crate) struct MergedView {
    pub(crate) columns: Vec<ScopeColumn>,
    /// Slots of its tables, of views inside it too.
    pub(crate) slots: Vec<Slot>,
    /// Tables that can be changed through it.
    pub(crate) bases: Vec<ViewBase>,
    /// Where its own conditions begin among those of the views inside it.
    pub(crate) own_from: usize,
}

/// A table that can be changed through a view.
#[derive(Debug, Clone)]
pub(crate) struct ViewBase {
    pub(crate) slot: Slot,
    pub(crate) handle: Arc<TableHandle>,
    pub(crate) rules: Vec<ViewRule>,
}

impl ScopeTable {
    /// Its columns without those that came with system versioning.
    pub(crate) fn own_columns(&self) -> impl Iterator<Item = &ScopeColumn> {
        (0..self.columns.len()).filter(|i| !self.is_hidden(*i)).map(|i| &self.columns[i])
    }

    /// Whether a column came with system versioning: only expressions can name it.
    pub(crate) fn is_hidden(&self, column: usize) -> bool {
        self.handle.as_ref().is_some_and(|h| h.def.columns[column].hidden)
    }
}

/// The names of one query block.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub(crate) tables: Vec<ScopeTable>,
    /// What `*` stands for: table and column, common columns of USING first.
    pub(crate) star: Vec<(Slot, usize)>,
    pub(crate) aliases: Vec<(String, Typed)>,
    /// Where aggregates are collected; `None` where they are not allowed (WHERE, ON).
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) aggregates_allowed: bool,
    pub(crate) in_aggregate: bool,
    /// A view or derived table that becomes part of the block around it if it is a plain join.
    pub(crate) merging: bool,
    /// Inside a window function or specification.
    pub(crate) in_window: bool,
    /// Window functions found so far; the slot of their values when there is one.
    pub(crate) windows: Option<WindowPlan>,
    pub(crate) group_slot: Slot,
    pub(crate) slots: SlotSet,
    /// Slots of outer blocks that this block reads.
    pub(crate) outer_reads: SlotSet,
    /// Parameters of ON DUPLICATE KEY UPDATE: VALUES(col) is allowed.
    pub(crate) insert_values: bool,
}

/// A name as written, split.
pub(crate) struct Name {
    pub(crate) schema: Option<String>,
    pub(crate) table: Option<String>,
    pub(crate) column: String,
}

impl Name {
    pub(crate) fn of(column: &ast::ColumnRef<'_>) -> Self {
        Self {
            schema: column.table.and_then(|t| t.database).map(|d| d.text().into_owned()),
            table: column.table.map(|t| t.name.text().into_owned()),
            column: column.name.text().into_owned(),
        }
    }
    /// As messages show it.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        for part in [&self.schema, &self.table].into_iter().flatten() {
            out.push_str(part);
            out.push('.');
        }
        out.push_str(&self.column);
        out
    }
}

impl Scope {
    /// Whether a query inside this block may leave an aggregate to it.
    pub(crate) fn takes_aggregates(&self) -> bool {
        self.aggregates_allowed && !self.in_aggregate
    }
    pub(crate) fn add(&mut self, table: ScopeTable) -> SqlResult<()> {
        let twice = self.tables.iter().any(|t| {
            t.alias == table.alias
                && (t.schema == table.schema || t.schema.is_empty() || table.schema.is_empty())
        });
        if twice {
            return Err(SqlError::NotUniqueTable(table.alias));
        }
        self.slots.insert(table.slot);
        let shown = table.columns.iter().enumerate().filter(|(_, c)| !c.invisible);
        self.star.extend(shown.map(|(i, _)| (table.slot, i)));
        self.tables.push(table);
        Ok(())
    }

    /// Finds a column among the tables of this block.
    pub(crate) fn find(&self, name: &Name, clause: Clause) -> SqlResult<Option<(&ScopeTable, usize)>> {
        let mut found: Option<(&ScopeTable, usize)> = None;
        for table in &self.tables {
            if name.table.as_ref().is_some_and(|t| *t != table.alias)
                || name.schema.as_ref().is_some_and(|s| *s != table.schema)
            {
                continue;
            }
            let by_table = name.table.is_some();
            let position = table
                .columns
                .iter()
                .position(|c| (by_table || !c.merged) && same_name(&c.name, &name.column));
            let Some(position) = position else { continue };
            if found.is_some() {
                return Err(SqlError::AmbiguousColumn { name: name.text(), clause });
            }
            found = Some((table, position));
        }
        Ok(found)
    }

    pub(crate) fn alias(&self, name: &Name) -> Option<&Typed> {
        if name.table.is_some() {
            return None;
        }
        self.aliases.iter().find(|(alias, _)| same_name(alias, &name.column)).map(|(_, typed)| typed)
    }
}

/// The column as an expression.
pub(crate) fn column_expr(table: &ScopeTable, position: usize) -> Typed {
    let column = &table.columns[position];
    let expr = match &column.expr {
        Some(expr) => Expr::clone(expr),
        None => Expr::Column(ColumnRef { slot: table.slot, column: position as u16 }),
    };
    Typed::new(expr, column.ty)
}
