//! Spaces and trees as the dictionary makes and drops them.
//!
//! # A crash
//! A space or tree that was made and whose dictionary row did not commit is unreachable: a space without a row is removed by
//! [`Engine::remove_orphan_spaces`] at the next start. A space is dropped after the dictionary's commit is durable; a crash
//! before the file is gone leaves it to the same removal.

use std::sync::atomic::Ordering;

use base::{IndexId, PageNo, SpaceId};

use crate::btree::{self, Tree, TreeKind};
use crate::engine::{DICTIONARY_SPACE, Engine, EngineError};

impl Engine {
    /// Makes an empty space, durable by name; its pages are in the log.
    pub fn create_space(&self) -> Result<SpaceId, EngineError> {
        let space = SpaceId(self.next_space.fetch_add(1, Ordering::Relaxed));
        self.pool().create_space(space)?;
        btree::create_space(&self.kernel.store, space)?;
        Ok(space)
    }

    /// Makes an empty tree: what its `IndexSpec` needs.
    pub fn create_tree(&self, space: SpaceId, kind: TreeKind) -> Result<(IndexId, PageNo), EngineError> {
        let index = self.new_index_id();
        let tree = Tree::create(&self.kernel.store, space, index, kind)?;
        Ok((index, tree.root()))
    }

    /// Gives the pages of a secondary index back. The commit that made it unreachable is durable, and nobody uses it any more. A crash
    /// in the middle leaves pages that no tree has, until the table is rebuilt.
    pub fn drop_tree(&self, space: SpaceId, index: IndexId, root: PageNo) -> Result<(), EngineError> {
        Ok(Tree::open(space, root, index, TreeKind::Secondary).free(&self.kernel.store)?)
    }

    /// Removes a space with everything in it. The commit that made it unreachable is durable, and nobody uses it any more.
    pub fn drop_space(&self, space: SpaceId) -> Result<(), EngineError> {
        self.kernel.store.hints.forget(space);
        Ok(self.pool().drop_space(space)?)
    }

    /// Removes the spaces that the dictionary does not name; `used` is read from its committed rows before [`Engine::start`].
    pub fn remove_orphan_spaces(&self, used: &[SpaceId]) -> Result<Vec<SpaceId>, EngineError> {
        let mut removed = Vec::new();
        for space in self.pool().spaces()? {
            if space != DICTIONARY_SPACE && !used.contains(&space) {
                self.drop_space(space)?;
                removed.push(space);
            }
        }
        Ok(removed)
    }
}
