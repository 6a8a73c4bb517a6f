//! What the catalog asks of the storage engine.

use std::sync::Arc;

use base::{IndexId, PageNo, SpaceId, TableId};
use storage::row::{KeyRange, RowError};
use storage::table::{Table, TableSpec};
use storage::trx::Trx;

/// The dictionary's space, and the empty clustered tree that a new directory has in it.
pub(crate) const DICTIONARY_SPACE: SpaceId = SpaceId(0);
pub(crate) const DICTIONARY_INDEX: IndexId = IndexId(1);
pub(crate) const DICTIONARY_ROOT: PageNo = PageNo(1);

/// The engine, as DDL needs it.
pub trait DictionaryEngine: Send + Sync {
    /// A transaction for dictionary rows.
    fn begin(&self) -> Trx;
    /// Commits and waits until it is durable.
    fn commit(&self, trx: Trx) -> Result<(), RowError>;
    fn new_table_id(&self) -> TableId;
    fn create_space(&self) -> Result<SpaceId, RowError>;
    fn create_tree(&self, space: SpaceId, clustered: bool) -> Result<(IndexId, PageNo), RowError>;
    fn drop_space(&self, space: SpaceId) -> Result<(), RowError>;
    /// Gives the pages of a secondary index in a table's space back.
    fn drop_tree(&self, space: SpaceId, index: IndexId, root: PageNo) -> Result<(), RowError>;
    fn open_table(&self, spec: TableSpec) -> Arc<Table>;
    fn close_table(&self, id: TableId);
    /// About how many rows a table has; `refresh` looks again. `None` = unknown.
    fn row_estimate(&self, _table: &Table, _refresh: bool) -> Option<u64> {
        None
    }
    /// About how many rows of an index lie in a range. `None` = unknown.
    fn records_in_range(&self, _table: &Table, _index: usize, _range: &KeyRange) -> Option<u64> {
        None
    }
}
