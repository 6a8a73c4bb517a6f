//! What a table is to the engine: the specification the dictionary hands in and the state kept while it is open.
//!
//! # Invariants
//! T1. `indexes[0]` is the clustered index. Its key is the primary key, or a hidden row id of six bytes.
//! T2. A secondary key is the index columns followed by the clustered key, so it is unique by itself; a unique
//!     secondary index is unique on its index columns alone, unless one of them is NULL.
//! T3. The AUTO_INCREMENT counter only grows. What it has handed out and is not the maximum of the live rows is
//!     remembered on the clustered root page before the row that carries it goes away.

use std::sync::Arc;

use base::{IndexId, PageNo, SpaceId, TableId};
use row_format::{KeyPart, RowLayout};

/// One index of a table.
#[derive(Debug, Clone)]
pub struct IndexSpec {
    pub id: IndexId,
    /// The root never moves.
    pub root: PageNo,
    pub unique: bool,
    /// The index columns, without the clustered key that follows them in a secondary index.
    /// Empty for a clustered index on a hidden row id.
    pub parts: Vec<KeyPart>,
    /// For messages.
    pub name: String,
}

/// One version of one table's definition.
#[derive(Debug, Clone)]
pub struct TableSpec {
    pub id: TableId,
    /// Definition version, written into row records so that readers of the log find the right `TableDef`.
    pub version: u32,
    pub space: SpaceId,
    pub layout: Arc<RowLayout>,
    /// `[0]` is the clustered index.
    pub indexes: Vec<IndexSpec>,
    /// Column number of the AUTO_INCREMENT column.
    pub auto_increment: Option<usize>,
    /// `database.table`, for messages.
    pub name: String,
}

impl TableSpec {
    /// True when rows have no primary key and are told apart by a hidden row id.
    pub fn has_hidden_key(&self) -> bool {
        self.indexes[0].parts.is_empty()
    }
}

/// Finds tables for rollback of recovered transactions and for purge; the catalog or the engine implements it.
pub trait TableSource: Send + Sync {
    /// `None` when the table has been dropped: its changes need neither undo nor purge.
    fn table(&self, id: TableId) -> Option<Arc<Table>>;
}

/// An open table. Shared by all transactions; everything that changes in it is atomic.
#[derive(Debug)]
pub struct Table {
    spec: TableSpec,
}

impl Table {
    pub fn new(spec: TableSpec) -> Arc<Self> {
        assert!(!spec.indexes.is_empty(), "table {} has no clustered index", spec.name);
        Arc::new(Self { spec })
    }

    pub fn spec(&self) -> &TableSpec {
        &self.spec
    }
}
