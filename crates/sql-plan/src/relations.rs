//! Foreign keys around the tables that a statement changes.
//!
//! Found when the statement is planned, so that all tables that it may read or change for a key's sake are locked before it runs.
//! A plan is good for one set of foreign keys: the snapshot's `relations_version` tells when there is another.

use std::sync::Arc;

use catalog::{ForeignKeyDef, ReferenceAction, Snapshot, TableDef, TableHandle, same_name};

/// A key of a child: where its parent's row is looked up.
#[derive(Debug, Clone)]
pub struct ParentKey {
    pub key: ForeignKeyDef,
    /// The parent and the index that has the key's columns in front; `None`: it is not there.
    pub parent: Option<(Arc<TableHandle>, usize)>,
}

/// A key of which a table is the parent: where the child's rows are looked up.
#[derive(Debug, Clone)]
pub struct ChildKey {
    pub key: ForeignKeyDef,
    pub child: Arc<TableHandle>,
    /// The child's index with the key's columns in front.
    pub index: usize,
    /// The parent's columns.
    pub columns: Vec<usize>,
}

/// The foreign keys of one table.
#[derive(Debug, Clone)]
pub struct TableRelations {
    pub table: Arc<TableHandle>,
    pub parents: Vec<ParentKey>,
    pub children: Vec<ChildKey>,
}

/// The index whose first columns are these, in this order.
pub fn index_for(def: &TableDef, columns: &[usize]) -> Option<usize> {
    def.indexes.iter().position(|i| {
        i.parts.len() >= columns.len()
            && i.parts.iter().zip(columns).all(|(p, c)| p.column == *c && p.prefix.is_none())
    })
}

/// Positions of columns by name; `None` if one is missing.
pub fn positions(def: &TableDef, names: &[String]) -> Option<Vec<usize>> {
    names.iter().map(|n| def.columns.iter().position(|c| same_name(&c.name, n))).collect()
}

/// The relations of the changed tables, and of those that a cascade may change.
pub fn of(snapshot: &Arc<Snapshot>, changed: &[Arc<TableHandle>]) -> Vec<TableRelations> {
    let mut out: Vec<TableRelations> = Vec::new();
    if !snapshot.has_foreign_keys() {
        return out;
    }
    let snapshot = snapshot.shared();
    let mut waiting: Vec<_> = changed.iter().filter(|t| !t.def.temporary).cloned().collect();
    while let Some(table) = waiting.pop() {
        if out.iter().any(|r| Arc::ptr_eq(&r.table, &table)) {
            continue;
        }
        let parents = table.def.foreign_keys.iter().map(|key| parent_of(snapshot, key)).collect();
        let mut children = Vec::new();
        for child in snapshot.children(table.schema(), table.name()) {
            for key in child.def.foreign_keys.iter().filter(|k| points_at(k, &table.def)) {
                let columns = positions(&table.def, &key.parent_columns);
                let index = index_for(&child.def, &key.columns);
                let (Some(columns), Some(index)) = (columns, index) else { continue };
                let restricts =
                    |a: ReferenceAction| matches!(a, ReferenceAction::Restrict | ReferenceAction::NoAction);
                if !restricts(key.on_delete) || !restricts(key.on_update) {
                    waiting.push(child.clone());
                }
                children.push(ChildKey { key: key.clone(), child: child.clone(), index, columns });
            }
        }
        out.push(TableRelations { table, parents, children });
    }
    out.retain(|r| !r.parents.is_empty() || !r.children.is_empty());
    out
}

/// Where the parent of a key is.
pub fn parent_of(snapshot: &Snapshot, key: &ForeignKeyDef) -> ParentKey {
    let parent = snapshot.table(&key.parent_schema, &key.parent_table).and_then(|handle| {
        let columns = positions(&handle.def, &key.parent_columns)?;
        Some((handle.clone(), index_for(&handle.def, &columns)?))
    });
    ParentKey { key: key.clone(), parent }
}

fn points_at(key: &ForeignKeyDef, table: &TableDef) -> bool {
    key.parent_schema == table.schema && key.parent_table == table.name
}
