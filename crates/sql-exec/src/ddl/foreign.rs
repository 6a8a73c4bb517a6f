//! Foreign keys in definitions: made, checked, kept when a table is altered, renamed or dropped.
//!
//! Whoever makes or removes a key holds the exclusive metadata locks of the child and of the parent, so no statement that has planned
//! without the key is still running.

use std::sync::Arc;

use catalog::{CatalogChange, ForeignKeyDef, ReferenceAction, Snapshot, TableDef, TableHandle, same_name};
use row_format::ColumnType;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::relations::{self, index_for, positions};
use sql_syntax::ast;

use super::create::NewIndex;
use super::{DdlContext, storage_error};

/// A key as written.
pub(super) struct NewForeignKey {
    name: Option<String>,
    index: Option<String>,
    columns: Vec<String>,
    parent: (String, String),
    parent_columns: Vec<String>,
    on_delete: ReferenceAction,
    on_update: ReferenceAction,
    /// Where its index stands among the indexes that are written, if it needs one.
    pub(super) place: usize,
}

fn action(written: Option<ast::ReferenceAction>) -> SqlResult<ReferenceAction> {
    Ok(match written {
        None | Some(ast::ReferenceAction::Restrict) => ReferenceAction::Restrict,
        Some(ast::ReferenceAction::Cascade) => ReferenceAction::Cascade,
        Some(ast::ReferenceAction::SetNull) => ReferenceAction::SetNull,
        Some(ast::ReferenceAction::NoAction) => ReferenceAction::NoAction,
        Some(ast::ReferenceAction::SetDefault) => return Err(SqlError::not_supported("SET DEFAULT")),
    })
}

fn references(
    r: &ast::References<'_>,
    child: &str,
    columns: Vec<String>,
    cx: &DdlContext<'_>,
) -> SqlResult<NewForeignKey> {
    let mut parent = cx.table_name(&r.table)?;
    if r.table.database.is_none() {
        parent.0 = child.to_owned();
    }
    let mut parent_columns: Vec<String> = r.columns.iter().map(|c| c.text().into_owned()).collect();
    if parent_columns.is_empty() {
        parent_columns.clone_from(&columns);
    }
    Ok(NewForeignKey {
        name: None,
        index: None,
        columns,
        parent,
        parent_columns,
        on_delete: action(r.on_delete)?,
        on_update: action(r.on_update)?,
        place: usize::MAX,
    })
}

/// FOREIGN KEY of a table in database `schema`.
pub(super) fn of_clause(
    key: &ast::ForeignKey<'_>,
    schema: &str,
    cx: &DdlContext<'_>,
) -> SqlResult<NewForeignKey> {
    let columns = key.columns.iter().map(|c| c.column.text().into_owned()).collect();
    let text = |name: ast::Ident<'_>| name.text().into_owned();
    Ok(NewForeignKey {
        name: key.constraint.map(text),
        index: key.constraint.or(key.name).map(text),
        ..references(&key.references, schema, columns, cx)?
    })
}

/// REFERENCES beside a column.
pub(super) fn of_column(
    r: &ast::References<'_>,
    column: &str,
    schema: &str,
    cx: &DdlContext<'_>,
) -> SqlResult<NewForeignKey> {
    references(r, schema, vec![column.to_owned()], cx)
}

/// The indexes that the keys need and the table does not have.
pub(super) fn add_indexes(keys: &[NewForeignKey], indexes: &mut Vec<NewIndex>) {
    let mut added = 0;
    for key in keys {
        let serves = |i: &NewIndex| {
            i.parts.len() >= key.columns.len()
                && i.parts.iter().zip(&key.columns).all(|(p, c)| same_name(&p.0, c) && p.1.is_none())
        };
        if !indexes.iter().any(serves) {
            let at = key.place.saturating_add(added).min(indexes.len());
            added += 1;
            let index = NewIndex {
                name: key.index.clone(),
                primary: false,
                unique: false,
                parts: key.columns.iter().map(|c| (c.clone(), None, false)).collect(),
                comment: String::new(),
                using_btree: false,
                ignored: false,
                without_overlaps: false,
                ends_hidden: false,
            };
            indexes.insert(at, index);
        }
    }
}

/// Error 1005 with errno 150.
fn malformed(def: &TableDef) -> SqlError {
    cannot_create(def, 150, "Foreign key constraint is incorrectly formed")
}

fn cannot_create(def: &TableDef, code: u32, why: &str) -> SqlError {
    let text = format!("Can't create table `{}`.`{}` (errno: {code} \"{why}\")", def.schema, def.name);
    SqlError::Other { errno: 1005, state: *b"HY000", text }
}

/// Checks the keys and puts them into a definition whose columns and indexes are complete.
pub(super) fn finish(keys: Vec<NewForeignKey>, def: &mut TableDef, cx: &mut DdlContext<'_>) -> SqlResult<()> {
    if def.temporary && !keys.is_empty() {
        let text = format!(
            "Create  table `{}`.`{}` with foreign key constraint failed. Temporary tables can't have foreign key constraints.",
            def.schema, def.name
        );
        cx.warnings.warn(SqlError::Other { errno: 150, state: *b"HY000", text });
        return Err(malformed(def));
    }
    for key in keys {
        let own = positions(def, &key.columns).ok_or_else(|| malformed(def))?;
        let is_self = key.parent.0 == def.schema && key.parent.1 == def.name;
        if !is_self {
            cx.lock_exclusive(&key.parent.0, &key.parent.1)?;
        }
        let snapshot = cx.catalog.shared().snapshot();
        let known = snapshot.table(&key.parent.0, &key.parent.1).map(|h| h.def.clone());
        let parent = if is_self { Some(Arc::new(def.clone())) } else { known };
        check_form(&key, &own, parent.as_deref(), def, cx.settings.foreign_keys)?;
        let name = match key.name {
            Some(name) => name,
            None => free_name(def),
        };
        let elsewhere = snapshot.database(&def.schema).is_some_and(|d| {
            let others = d.tables.values().filter(|t| t.def.name != def.name);
            others.flat_map(|t| &t.def.foreign_keys).any(|k| same_name(&k.name, &name))
        });
        if elsewhere || def.foreign_keys.iter().any(|k| same_name(&k.name, &name)) {
            return Err(cannot_create(def, 121, "Duplicate key on write or update"));
        }
        // Columns are known by the names that the parent gives them.
        let parent_columns = match &parent {
            Some(parent) => positions(parent, &key.parent_columns)
                .map(|at| at.iter().map(|i| parent.columns[*i].name.clone()).collect())
                .unwrap_or(key.parent_columns),
            None => key.parent_columns,
        };
        def.foreign_keys.push(ForeignKeyDef {
            name,
            columns: own,
            parent_schema: key.parent.0,
            parent_table: key.parent.1,
            parent_columns,
            on_delete: key.on_delete,
            on_update: key.on_update,
        });
    }
    Ok(())
}

fn check_form(
    key: &NewForeignKey,
    own: &[usize],
    parent: Option<&TableDef>,
    def: &TableDef,
    checked: bool,
) -> SqlResult<()> {
    let sets_null = [key.on_delete, key.on_update].contains(&ReferenceAction::SetNull);
    if sets_null && own.iter().any(|c| !def.columns[*c].nullable) {
        return Err(malformed(def));
    }
    if key.columns.len() != key.parent_columns.len() {
        return Err(SqlError::Other {
            errno: 1239,
            state: *b"42000",
            text: "Incorrect foreign key definition for 'foreign key without name': Key reference and table \
                   reference don't match"
                .into(),
        });
    }
    let Some(parent) = parent else {
        return if checked { Err(malformed(def)) } else { Ok(()) };
    };
    let theirs = positions(parent, &key.parent_columns).ok_or_else(|| malformed(def))?;
    let fits = own.iter().zip(&theirs).all(|(a, b)| same_kind(&def.columns[*a].ty, &parent.columns[*b].ty));
    if !fits || index_for(parent, &theirs).is_none() {
        return Err(malformed(def));
    }
    Ok(())
}

/// Types whose values can be each other's: lengths of texts may differ, nothing else.
fn same_kind(a: &ColumnType, b: &ColumnType) -> bool {
    use ColumnType as T;
    match (a, b) {
        (T::Char { .. } | T::VarChar { .. }, T::Char { .. } | T::VarChar { .. }) => {
            a.collation() == b.collation()
        }
        (T::Blob { .. }, _) | (_, T::Blob { .. }) => false,
        (a, b) => a == b,
    }
}

fn free_name(def: &TableDef) -> String {
    let taken = |name: &String| def.foreign_keys.iter().any(|k| same_name(&k.name, name));
    (1..).map(|n| format!("{}_ibfk_{n}", def.name)).find(|n| !taken(n)).unwrap_or_default()
}

/// The keys of an altered table with their columns where they are now; `moved` says where each old column went.
pub(super) fn keep(
    old: &TableDef,
    def: &mut TableDef,
    moved: &dyn Fn(usize) -> Option<usize>,
) -> SqlResult<()> {
    let keys = std::mem::take(&mut def.foreign_keys);
    for mut key in keys {
        for column in &mut key.columns {
            *column = moved(*column).ok_or_else(|| SqlError::Other {
                errno: 1828,
                state: *b"HY000",
                text: format!(
                    "Cannot drop column '{}': needed in a foreign key constraint '{}'",
                    old.columns[*column].name, key.name
                ),
            })?;
        }
        if key.parent_schema == old.schema && key.parent_table == old.name {
            for name in &mut key.parent_columns {
                let at = old.column(name).and_then(moved);
                if let Some(at) = at {
                    name.clone_from(&def.columns[at].name);
                }
            }
        }
        def.foreign_keys.push(key);
    }
    Ok(())
}

/// Each key of the table, and each that refers to it, must still have an index.
pub(super) fn check_indexes(
    old: &TableDef,
    def: &TableDef,
    renamed: &Renamed,
    snapshot: &Snapshot,
) -> SqlResult<()> {
    let lost = |columns: &[usize]| {
        let index = index_for(old, columns).map(|i| old.indexes[i].name.clone()).unwrap_or_default();
        let text = format!("Cannot drop index '{index}': needed in a foreign key constraint");
        SqlError::Other { errno: 1553, state: *b"HY000", text }
    };
    for key in &def.foreign_keys {
        if index_for(def, &key.columns).is_none() {
            let names: Vec<String> = key.columns.iter().map(|c| def.columns[*c].name.clone()).collect();
            return Err(lost(&positions(old, &names).unwrap_or_default()));
        }
    }
    for child in snapshot.children(&old.schema, &old.name) {
        for key in &child.def.foreign_keys {
            if key.parent_schema != old.schema || key.parent_table != old.name {
                continue;
            }
            let Some(before) = positions(old, &key.parent_columns) else { continue };
            let names: Vec<String> = key.parent_columns.iter().map(|n| renamed.now(n).to_owned()).collect();
            let now = positions(def, &names);
            if now.is_none_or(|now| index_for(def, &now).is_none()) {
                return Err(lost(&before));
            }
        }
    }
    Ok(())
}

/// Columns that an ALTER TABLE gives other names: old and new.
#[derive(Default)]
pub(super) struct Renamed(Vec<(String, String)>);

impl Renamed {
    pub(super) fn of(old: &TableDef, def: &TableDef, moved: &dyn Fn(usize) -> Option<usize>) -> Self {
        let pairs = old.columns.iter().enumerate().filter_map(|(at, column)| {
            let now = &def.columns.get(moved(at)?)?.name;
            (*now != column.name).then(|| (column.name.clone(), now.clone()))
        });
        Self(pairs.collect())
    }
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn now<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.iter().find(|(old, _)| same_name(old, name)).map_or(name, |(_, new)| new)
    }
}

/// A parent or columns of it got other names: the keys of its children follow.
pub(super) fn follow_rename(
    from: (&str, &str),
    to: (&str, &str),
    renamed: &Renamed,
    change: &mut CatalogChange,
    cx: &mut DdlContext<'_>,
) -> SqlResult<()> {
    let snapshot = cx.catalog.shared().snapshot();
    for child in snapshot.children(from.0, from.1) {
        if child.schema() == from.0 && child.name() == from.1 {
            continue;
        }
        cx.lock_exclusive(child.schema(), child.name())?;
        let mut def = TableDef::clone(&child.def);
        let keys = def.foreign_keys.iter_mut();
        for key in keys.filter(|k| k.parent_schema == from.0 && k.parent_table == from.1) {
            for name in &mut key.parent_columns {
                *name = renamed.now(name).to_owned();
            }
        }
        point_at(&mut def, from, to);
        change.put_table(def).map_err(|e| storage_error(e, child.name()))?;
    }
    Ok(())
}

/// Keys of a definition that refer to `from` refer to `to`.
pub(super) fn point_at(def: &mut TableDef, from: (&str, &str), to: (&str, &str)) {
    for key in &mut def.foreign_keys {
        if key.parent_schema == from.0 && key.parent_table == from.1 {
            (key.parent_schema, key.parent_table) = (to.0.to_owned(), to.1.to_owned());
        }
    }
}

/// A table that others refer to cannot go, unless they go with it.
pub(super) fn check_drop(
    table: &TableHandle,
    with: &[(String, String)],
    cx: &DdlContext<'_>,
) -> SqlResult<()> {
    if !cx.settings.foreign_keys || table.def.temporary {
        return Ok(());
    }
    let children = cx.catalog.shared().snapshot().children(table.schema(), table.name());
    let stays = |c: &Arc<TableHandle>| !with.iter().any(|(s, n)| s == c.schema() && n == c.name());
    if children.iter().any(stays) { Err(SqlError::ForeignKeyParent(String::new())) } else { Ok(()) }
}

/// TRUNCATE looks at no row: a table that others refer to is refused.
pub(super) fn check_truncate(table: &TableHandle, cx: &DdlContext<'_>) -> SqlResult<()> {
    if !cx.settings.foreign_keys || table.def.temporary {
        return Ok(());
    }
    let children = cx.catalog.shared().snapshot().children(table.schema(), table.name());
    let Some(child) = children.iter().find(|c| c.name() != table.name() || c.schema() != table.schema())
    else {
        return Ok(());
    };
    let (schema, name) = (table.schema(), table.name());
    let key = child.def.foreign_keys.iter().find(|k| k.parent_schema == schema && k.parent_table == name);
    // Here the parent is named with its database.
    let text = key.map_or_else(String::new, |k| {
        let short = format!("REFERENCES {} ", catalog::quote_name(name));
        let full = format!("REFERENCES {}.{} ", catalog::quote_name(schema), catalog::quote_name(name));
        child.def.foreign_key_text(k).replacen(&short, &full, 1)
    });
    Err(SqlError::Other {
        errno: 1701,
        state: *b"42000",
        text: format!(
            "Cannot truncate a table referenced in a foreign key constraint (`{}`.`{}`, {text})",
            child.schema(),
            child.name()
        ),
    })
}

/// Parents that the rows of a new definition are checked against; a table's own rows are not there yet.
pub(super) fn parents_of(def: &TableDef, since: usize, snapshot: &Snapshot) -> Vec<relations::ParentKey> {
    let keys = def.foreign_keys.iter().skip(since);
    keys.filter(|k| k.parent_schema != def.schema || k.parent_table != def.name)
        .map(|k| relations::parent_of(snapshot, k))
        .collect()
}
