//! Foreign keys while rows change.
//!
//! # When what is looked at
//! - a row of a child was written: its parent's row is looked for, locked shared, as long as no column of the key is NULL;
//! - a row of a parent went or changed its key: rows of the child are looked for; RESTRICT and NO ACTION refuse, CASCADE and SET
//!   NULL change them, and so on downwards.
//!
//! Both come after the change itself, so that a row may refer to itself; the statement's end undoes what was refused.
//! Rows that a cascade changes are redo but no row events: who replays the statement's events cascades himself.

use std::sync::Arc;

use catalog::{ForeignKeyDef, ReferenceAction, TableHandle};
use row_format::{RowView, key};
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::relations::{ChildKey, ParentKey, TableRelations};
use storage::row::{Direction, KeyRange, ReadMode, RowBuf, Strength, WaitMode};
use storage::trx::Savepoint;
use types::Value;

use crate::exec::Exec;
use crate::versioning;

/// Deepest cascade, as in InnoDB.
const CASCADE_MAX: usize = 15;

fn values_of(table: &TableHandle, body: &[u8], columns: &[usize]) -> SqlResult<Vec<Value>> {
    let view = RowView::new(&table.table.spec().layout, body).map_err(|c| crate::errors::corrupt(&c))?;
    columns.iter().map(|c| view.value(*c).map_err(|c| crate::errors::corrupt(&c))).collect()
}

/// The key of these values in an index; `None` when a value has no place in it: then no row has it.
fn prefix_of(table: &TableHandle, index: usize, values: &[Value]) -> Option<Vec<u8>> {
    let spec = table.table.spec();
    let mut out = Vec::new();
    key::encode_values(&spec.layout, &spec.indexes[index].parts, values, &mut out).ok().map(|()| out)
}

impl Exec<'_, '_> {
    fn relations_of(&self, table: &Arc<TableHandle>) -> Option<TableRelations> {
        if self.relations.is_empty() || !self.cx.settings.foreign_keys {
            return None;
        }
        self.relations.iter().find(|r| Arc::ptr_eq(&r.table, table)).cloned()
    }

    /// Whether changes of a table's rows must be looked at.
    pub(crate) fn has_relations(&self, table: &Arc<TableHandle>) -> bool {
        self.cx.settings.foreign_keys && self.relations.iter().any(|r| Arc::ptr_eq(&r.table, table))
    }

    /// A row was written; `old` is what it was before.
    pub(crate) fn row_written(
        &mut self,
        table: &Arc<TableHandle>,
        old: Option<&[u8]>,
        new: &[u8],
    ) -> SqlResult<()> {
        let Some(relations) = self.relations_of(table) else { return Ok(()) };
        if !versioning::is_current(table, new)? {
            // A version has ended, or is one of the past.
            return old.map_or(Ok(()), |old| self.row_deleted(table, old));
        }
        for parent in &relations.parents {
            self.check_parent(table, parent, old, new)?;
        }
        if let Some(old) = old {
            for child in &relations.children {
                self.parent_changed(table, child, old, Some(new))?;
            }
        }
        Ok(())
    }

    /// A row was deleted.
    pub(crate) fn row_deleted(&mut self, table: &Arc<TableHandle>, old: &[u8]) -> SqlResult<()> {
        let Some(relations) = self.relations_of(table) else { return Ok(()) };
        if !versioning::is_current(table, old)? {
            return Ok(());
        }
        for child in &relations.children {
            self.parent_changed(table, child, old, None)?;
        }
        Ok(())
    }

    /// The parent's row of a child's row must be there.
    pub(crate) fn check_parent(
        &mut self,
        table: &Arc<TableHandle>,
        parent: &ParentKey,
        old: Option<&[u8]>,
        new: &[u8],
    ) -> SqlResult<()> {
        let values = values_of(table, new, &parent.key.columns)?;
        if values.iter().any(Value::is_null) {
            return Ok(());
        }
        if let Some(old) = old
            && same_values(&values_of(table, old, &parent.key.columns)?, &values)
        {
            return Ok(());
        }
        let refused = || SqlError::ForeignKeyChild(constraint_text(&table.def, &parent.key));
        let Some((handle, index)) = &parent.parent else { return Err(refused()) };
        let Some(prefix) = prefix_of(handle, *index, &values) else { return Err(refused()) };
        if self.first_locked(handle, *index, &prefix, Strength::Shared)?.is_some() {
            return Ok(());
        }
        Err(refused())
    }

    /// A row whose key begins with `prefix`, locked.
    fn first_locked(
        &mut self,
        table: &Arc<TableHandle>,
        index: usize,
        prefix: &[u8],
        strength: Strength,
    ) -> SqlResult<Option<RowBuf>> {
        let mode = ReadMode::Locking { strength, wait: WaitMode::Wait };
        let mut row = RowBuf::new();
        let mut scan =
            self.cx.trx.scan(&table.table, index, KeyRange::prefix(prefix), Direction::Forward, mode);
        while scan.next(self.cx.trx, &mut row).map_err(|e| self.row_error(e, table, None))? {
            // Old versions refer to nothing and are nobody's parents.
            if versioning::is_current(table, &row.body)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// A parent's row went (`new` is none) or changed.
    fn parent_changed(
        &mut self,
        table: &Arc<TableHandle>,
        child: &ChildKey,
        old: &[u8],
        new: Option<&[u8]>,
    ) -> SqlResult<()> {
        let before = values_of(table, old, &child.columns)?;
        if before.iter().any(Value::is_null) {
            return Ok(());
        }
        let after = new.map(|new| values_of(table, new, &child.columns)).transpose()?;
        if after.as_ref().is_some_and(|after| same_values(&before, after)) {
            return Ok(());
        }
        let Some(prefix) = prefix_of(&child.child, child.index, &before) else { return Ok(()) };
        let action = if new.is_none() { child.key.on_delete } else { child.key.on_update };
        if matches!(action, ReferenceAction::Restrict | ReferenceAction::NoAction) {
            return match self.first_locked(&child.child, child.index, &prefix, Strength::Shared)? {
                Some(_) => Err(SqlError::ForeignKeyParent(constraint_text(&child.child.def, &child.key))),
                None => Ok(()),
            };
        }
        if self.cascades >= CASCADE_MAX {
            return Err(SqlError::ForeignKeyParent(constraint_text(&child.child.def, &child.key)));
        }
        self.cascades += 1;
        let logged = self.cx.trx.set_replicate(false);
        let outcome = self.cascade(child, &prefix, action, after.as_deref());
        self.cx.trx.set_replicate(logged);
        self.cascades -= 1;
        outcome
    }

    /// Changes the child's rows that refer to what the parent's row was.
    fn cascade(
        &mut self,
        child: &ChildKey,
        prefix: &[u8],
        action: ReferenceAction,
        after: Option<&[Value]>,
    ) -> SqlResult<()> {
        let table = &child.child;
        let mode = ReadMode::Locking { strength: Strength::Exclusive, wait: WaitMode::Wait };
        let range = KeyRange::prefix(prefix);
        let mut scan = self.cx.trx.scan(&table.table, child.index, range, Direction::Forward, mode);
        let (mut rows, mut row) = (Vec::new(), RowBuf::new());
        while scan.next(self.cx.trx, &mut row).map_err(|e| self.row_error(e, table, None))? {
            if versioning::is_current(table, &row.body)? {
                rows.push(row.clone());
            }
        }
        drop(scan);
        for row in rows {
            self.count_row()?;
            match (action, after) {
                (ReferenceAction::Cascade, None) => self.remove_row(table, &row)?,
                (ReferenceAction::Cascade, Some(values)) => {
                    let changes = child.key.columns.iter().copied().zip(values.iter().cloned()).collect();
                    self.change_row(table, &row, changes, &None)?;
                }
                _ => {
                    let changes = child.key.columns.iter().map(|c| (*c, Value::Null)).collect();
                    self.change_row(table, &row, changes, &None)?;
                }
            }
        }
        Ok(())
    }

    /// Takes back what was done to one row.
    pub(crate) fn undo_row(&mut self, before: Savepoint, table: &Arc<TableHandle>) -> SqlResult<()> {
        self.cx.trx.rollback_to(before).map_err(|e| self.row_error(e, table, None))
    }

    /// Deletes a row and what its foreign keys say with it.
    pub(crate) fn remove_row(&mut self, table: &Arc<TableHandle>, row: &RowBuf) -> SqlResult<()> {
        if self.cascades == 0 {
            self.cx.session.count(crate::context::Work::RowsDeleted, 1);
        }
        if table.versioning.is_some() {
            self.end_row(table, row)?;
        } else {
            crate::partitioned::delete(self.cx.trx, table, row)?
                .map_err(|e| self.row_error(e, table, None))?;
        }
        self.row_deleted(table, &row.body)
    }
}

fn same_values(a: &[Value], b: &[Value]) -> bool {
    // Values of the same columns: equal ones look the same.
    a.iter().zip(b).all(|(a, b)| format!("{a:?}") == format!("{b:?}"))
}

/// `` `db`.`child`, CONSTRAINT `name` FOREIGN KEY ... ``, as errors 1451 and 1452 show it.
fn constraint_text(child: &catalog::TableDef, key: &ForeignKeyDef) -> String {
    let table = format!("{}.{}", catalog::quote_name(&child.schema), catalog::quote_name(&child.name));
    format!("{table}, {}", child.foreign_key_text(key))
}
