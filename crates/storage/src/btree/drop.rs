//! Freeing a whole tree inside its space: DROP INDEX, a failed CREATE INDEX.
//!
//! # Crash
//! Pages go from the bottom up; each record frees children and takes them out of their parent, so that what is left is a tree again
//! and the freeing can be taken up where it stopped. The root goes last.

use base::PageNo;
use page_format::{PageOp, PageView, header};

use super::space::Release;
use super::{Tree, Way};
use crate::mtr::{Change, Store, StoreResult};
use crate::pool::AccessHint;

impl Tree {
    /// Frees every page of the tree. Nobody else may use it any more.
    pub fn free(&self, store: &Store) -> StoreResult<()> {
        let id = self.page_id(self.root);
        loop {
            let root = store.pool.read(id, AccessHint::Scan)?;
            self.expect(&root, id, None)?;
            let view = PageView::new(&root)?;
            let (level, empty) = (view.level(), view.slots() == 0);
            drop(root);
            if level == 0 || empty {
                return super::free_page(store, id);
            }
            self.free_leftmost(store)?;
        }
    }

    /// Frees the children of the leftmost inner page whose children are leaves or empty.
    fn free_leftmost(&self, store: &Store) -> StoreResult<()> {
        let mut level = 1;
        loop {
            let Some(mut parent) = self.descend_exclusive(store, Way::First, level)? else { return Ok(()) };
            let view = PageView::new(&parent)?;
            if view.slots() == 0 {
                level += 1;
                continue;
            }
            // At level 1 all children are leaves; above it only the first is known to be empty.
            let count = if level == 1 { view.slots() } else { 1 };
            let children: Vec<PageNo> = (0..count).map(|slot| view.child(slot)).collect::<Result<_, _>>()?;
            let mut releases = Release::begin(store, self.space, &children)?;
            let parent_id = header::page_id(&parent);
            let remove = PageOp::Remove { slot: 0, count: count as u16 };
            let mut changes = vec![Change::new(&mut parent, parent_id, vec![remove])];
            changes.extend(releases.iter_mut().map(|release| release.change()));
            store.change_system(&mut changes)?;
            drop(changes);
            releases.iter().for_each(|release| release.done(store));
            return Ok(());
        }
    }
}
