//! What a table is to the engine: the specification the dictionary hands in and the state kept while it is open.
//!
//! # Invariants
//! T1. `indexes[0]` is the clustered index. Its key is the primary key, or a hidden row id of six bytes.
//! T2. A secondary key is the index columns followed by the clustered key, so it is unique by itself; a unique
//!     secondary index is unique on its index columns alone, unless one of them is NULL.
//! T3. The AUTO_INCREMENT counter only grows. What it has handed out and is not the maximum of the live rows is
//!     remembered on the clustered root page before the row that carries it goes away.
//! T5. A table with partitions has no trees that anybody reads: its rows lie in those of `partitions`, whose specifications have the
//!     same layout and the same indexes by position. Which row lies where is not the engine's business. All of them count
//!     AUTO_INCREMENT values together.
//! T4. A row version made by a record below `formats.last().until` may have an older layout (`row_format::OldFormat`). Who changes or
//!     deletes such a row gives it the newest layout first, so a body that stands delete-marked has the layout of its delete.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use base::{IndexId, Lsn, PageNo, SpaceId, TableId};
use row_format::{KeyPart, OldFormat, RowLayout, Shapes};

use crate::btree::{Tree, TreeKind};

/// One index of a table.
#[derive(Debug, Clone)]
pub struct IndexSpec {
    pub id: IndexId,
    /// A space of its own: an index that was built beside writers. Otherwise the table's.
    pub space: Option<SpaceId>,
    /// Read views below this LSN cannot use the index: it lacks entries of what they see.
    pub since: Lsn,
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
    /// Layouts that rows had before, oldest first.
    pub formats: Arc<[OldFormat]>,
    /// `[0]` is the clustered index.
    pub indexes: Vec<IndexSpec>,
    /// Column number of the AUTO_INCREMENT column.
    pub auto_increment: Option<usize>,
    /// `database.table`, for messages.
    pub name: String,
    /// What a `TableDef` record says of it: [`log_format::definition`]. Empty for a table whose rows never become events.
    pub definition: Arc<[u8]>,
    /// Of a partitioned table: its parts, each with trees of its own (T5).
    pub partitions: Vec<TableSpec>,
}

impl TableSpec {
    /// True when rows have no primary key and are told apart by a hidden row id.
    pub fn has_hidden_key(&self) -> bool {
        self.indexes[0].parts.is_empty()
    }

    /// The layout of a row version that the record at `roll` made; `None` = the newest one.
    #[inline]
    pub(crate) fn old_format(&self, roll: Lsn) -> Option<&OldFormat> {
        match self.formats.last() {
            Some(last) if roll < last.until() => self.formats.iter().find(|f| roll < f.until()),
            _ => None,
        }
    }

    /// How the columns of such a version are found.
    pub(crate) fn shapes_of(&self, roll: Lsn) -> Shapes<'_> {
        self.old_format(roll).map_or_else(|| self.layout.shapes(), OldFormat::shapes)
    }
}

/// Finds tables for rollback of recovered transactions and for purge; the catalog or the engine implements it.
pub trait TableSource: Send + Sync {
    /// `None` when the table has been dropped: its changes need neither undo nor purge.
    fn table(&self, id: TableId) -> Option<Arc<Table>>;
    /// The table that has the index.
    fn table_of_index(&self, id: IndexId) -> Option<Arc<Table>>;
}

/// Has the table no newer definition? Rows that were read before this is asked have layouts that it knows (T4).
pub(crate) fn is_current(tables: &dyn TableSource, table: &Arc<Table>) -> bool {
    tables.table(table.spec.id).is_none_or(|now| Arc::ptr_eq(&now, table))
}

/// An open table. Shared by all transactions; everything that changes in it is atomic.
#[derive(Debug)]
pub struct Table {
    spec: TableSpec,
    trees: Vec<Tree>,
    partitions: Vec<Arc<Self>>,
    /// Next AUTO_INCREMENT value; 0 = not read from a tree yet. Shared by the parts of a partitioned table.
    pub(crate) next_auto: Arc<AtomicU64>,
    /// The trees have been asked for the largest AUTO_INCREMENT value.
    pub(crate) auto_is_read: AtomicBool,
    /// Values below this are remembered on the clustered root.
    pub(crate) saved_auto: AtomicU64,
    /// Next hidden row id; 0 = not read from the tree yet.
    pub(crate) next_row_id: AtomicU64,
    row_estimate: AtomicI64,
    /// Its newest `TableDef` record; 0 = none yet.
    defined_at: AtomicU64,
}

impl Table {
    /// # Panics
    /// Without a clustered index.
    pub fn new(spec: TableSpec) -> Arc<Self> {
        Self::counting(spec, Arc::default())
    }

    fn counting(mut spec: TableSpec, next_auto: Arc<AtomicU64>) -> Arc<Self> {
        assert!(!spec.indexes.is_empty(), "table {} has no clustered index", spec.name);
        let kind = |at: usize| if at == 0 { TreeKind::Clustered } else { TreeKind::Secondary };
        let indexes = spec.indexes.iter().enumerate();
        let trees = indexes
            .map(|(at, i)| Tree::open(i.space.unwrap_or(spec.space), i.root, i.id, kind(at)))
            .collect();
        let parts = std::mem::take(&mut spec.partitions).into_iter();
        let partitions = parts.map(|part| Self::counting(part, Arc::clone(&next_auto))).collect();
        Arc::new(Self {
            spec,
            trees,
            partitions,
            next_auto,
            auto_is_read: AtomicBool::new(false),
            saved_auto: AtomicU64::new(0),
            next_row_id: AtomicU64::new(0),
            row_estimate: AtomicI64::new(-1),
            defined_at: AtomicU64::new(0),
        })
    }

    pub fn spec(&self) -> &TableSpec {
        &self.spec
    }
    /// The parts of a partitioned table, in their order; empty for every other table.
    pub fn partitions(&self) -> &[Arc<Self>] {
        &self.partitions
    }
    pub fn tree(&self, index: usize) -> &Tree {
        &self.trees[index]
    }
    pub(crate) fn clustered(&self) -> &Tree {
        &self.trees[0]
    }
    pub(crate) fn defined_at(&self) -> Lsn {
        Lsn(self.defined_at.load(Ordering::Acquire))
    }
    pub(crate) fn set_defined_at(&self, lsn: Lsn) {
        self.defined_at.fetch_max(lsn.0, Ordering::AcqRel);
    }
    /// Position of an index by its id.
    pub(crate) fn index_position(&self, id: IndexId) -> Option<usize> {
        self.spec.indexes.iter().position(|i| i.id == id)
    }

    /// Rows that statistics believe in, or `None` before the first estimate. Never exact.
    pub fn known_rows(&self) -> Option<u64> {
        u64::try_from(self.row_estimate.load(Ordering::Relaxed)).ok()
    }
    pub(crate) fn set_row_estimate(&self, rows: u64) {
        self.row_estimate.store(i64::try_from(rows).unwrap_or(i64::MAX), Ordering::Relaxed);
    }
    /// Keeps the estimate moving with inserts and deletes; does nothing before the first estimate.
    pub(crate) fn count_rows(&self, change: i64) {
        let known = self.row_estimate.load(Ordering::Relaxed);
        if known >= 0 {
            self.row_estimate.store((known + change).max(0), Ordering::Relaxed);
        }
    }
}
