//! DROP TABLE, TRUNCATE TABLE, RENAME TABLE.

use sql_plan::error::{SqlError, SqlResult};
use sql_syntax::ast;

use catalog::{CatalogChange, Snapshot, TableDef, ViewDef};

use super::{DdlContext, copy, storage_error};
use crate::outcome::Outcome;

pub(super) fn tables(s: &ast::DropTable<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let mut names = Vec::with_capacity(s.names.len());
    for name in s.names {
        names.push(cx.table_name(name)?);
    }
    // Locks are taken in name order, so that two such statements do not wait for each other.
    let mut sorted = names.clone();
    sorted.sort();
    sorted.dedup();
    for (schema, table) in &sorted {
        cx.lock_exclusive(schema, table)?;
    }
    let (mut missing, mut views) = (Vec::new(), Vec::new());
    for (schema, table) in names {
        let found = cx.catalog.snapshot().table(&schema, &table).cloned();
        if cx.catalog.snapshot().view(&schema, &table).is_some() {
            views.push(format!("{schema}.{table}"));
            continue;
        }
        let Some(handle) = found.filter(|_| !s.temporary) else {
            missing.push(format!("{schema}.{table}"));
            continue;
        };
        let mut change = cx.catalog.change();
        change.remove_table(&schema, &table).map_err(|e| storage_error(e, &table))?;
        change.drop_space(handle.def.space, handle.def.id);
        cx.commit(change)?;
    }
    if let Some(view) = views.first() {
        let is_view = SqlError::Other { errno: 1965, state: *b"42S02", text: format!("'{view}' is a view") };
        if !s.if_exists {
            return Err(is_view);
        }
        cx.warnings.note(is_view);
    }
    if missing.is_empty() {
        return Ok(Outcome::default());
    }
    if s.if_exists {
        for name in missing {
            cx.warnings.note(SqlError::NoSuchTableNote(name));
        }
        return Ok(Outcome::default());
    }
    Err(SqlError::UnknownTable(missing.join(",")))
}

/// A table without rows takes the place of the old one.
pub(super) fn truncate(s: &ast::TruncateTable<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let (schema, name) = cx.table_name(&s.name)?;
    cx.lock_exclusive(&schema, &name)?;
    let old = cx.existing(&schema, &name)?;
    let mut def = TableDef::clone(&old.def);
    let mut change = cx.catalog.change();
    copy::make_trees(&mut change, &mut def)?;
    change.put_table(def).map_err(|e| storage_error(e, &name))?;
    change.drop_space(old.def.space, old.def.id);
    cx.commit(change)?;
    Ok(Outcome::default())
}

/// All renames of a statement happen together; each sees the ones before it.
pub(super) fn rename(s: &ast::RenameTable<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let mut names = Vec::with_capacity(s.renames.len());
    for (from, to) in s.renames {
        names.push((cx.table_name(from)?, cx.table_name(to)?));
    }
    let mut sorted: Vec<_> = names.iter().flat_map(|(from, to)| [from.clone(), to.clone()]).collect();
    sorted.sort();
    sorted.dedup();
    for (schema, table) in &sorted {
        cx.lock_exclusive(schema, table)?;
    }
    let snapshot = cx.catalog.snapshot();
    let mut change = cx.catalog.change();
    // Names as the renames so far have left them: `None` = free.
    let mut moved: Vec<((String, String), Option<TableDef>)> = Vec::new();
    for (from, to) in names {
        let now = |name: &(String, String)| match moved.iter().rev().find(|(n, _)| n == name) {
            Some((_, def)) => def.clone(),
            None => snapshot.table(&name.0, &name.1).map(|h| TableDef::clone(&h.def)),
        };
        if let Some(view) = snapshot.view(&from.0, &from.1) {
            rename_view(view, &from, &to, &snapshot, &mut change)?;
            continue;
        }
        let source = now(&from);
        let Some(mut def) = source else {
            if s.if_exists {
                cx.warnings.note(SqlError::NoSuchTable { schema: from.0, name: from.1 });
                continue;
            }
            return Err(SqlError::NoSuchTable { schema: from.0, name: from.1 });
        };
        if now(&to).is_some() || snapshot.view(&to.0, &to.1).is_some() {
            return Err(SqlError::TableExists(to.1));
        }
        if snapshot.database(&to.0).is_none() {
            return Err(SqlError::UnknownDatabase(to.0));
        }
        def.schema.clone_from(&to.0);
        def.name.clone_from(&to.1);
        change.remove_table(&from.0, &from.1).map_err(|e| storage_error(e, &from.1))?;
        change.put_table(def.clone()).map_err(|e| storage_error(e, &to.1))?;
        moved.push((from, None));
        moved.push((to, Some(def)));
    }
    cx.commit(change)?;
    Ok(Outcome::default())
}

/// A view keeps its query; it cannot leave its database.
fn rename_view(
    view: &ViewDef,
    from: &(String, String),
    to: &(String, String),
    snapshot: &Snapshot,
    change: &mut CatalogChange,
) -> SqlResult<()> {
    if from.0 != to.0 {
        let text = format!("Changing schema from '{}' to '{}' is not allowed", from.0, to.0);
        return Err(SqlError::Other { errno: 1450, state: *b"HY000", text });
    }
    if snapshot.has(&to.0, &to.1) {
        return Err(SqlError::TableExists(to.1.clone()));
    }
    change.remove_view(&from.0, &from.1).map_err(|e| storage_error(e, &from.1))?;
    change.put_view(ViewDef { name: to.1.clone(), ..view.clone() }).map_err(|e| storage_error(e, &to.1))
}
