//! Indexes that are added to a table beside its writers.
//!
//! # Locks
//! The statement has the table's name for definitions (`DdlContext::lock_shared_name`), so no other definition statement comes in between, and
//! gives up the exclusive lock on the name itself while it builds: only the two moments at the beginning and at the end wait for the
//! table's transactions and hold up new ones. LOCK TABLES keeps its own exclusive lock all the while.
//!
//! # Crash
//! The new trees are in spaces of their own, which nobody names until the dictionary's transaction commits: they go at the next start.

use std::sync::Arc;

use catalog::mdl::MdlMode;
use catalog::{CatalogChange, TableDef, TableHandle};
use sql_plan::error::{SqlError, SqlResult};
use storage::row::OnlineBuild;

use super::{DdlContext, copy, storage_error};

/// A round that meets fewer changes than this is followed by the last one.
const FEW_CHANGES: usize = 500;
/// Rounds beside writers at most: with writers that are faster than the build the last round has more to do.
const ROUNDS_MAX: usize = 20;

/// Builds the indexes at `added` of `def`, which is otherwise the table as it is. Comes back with the name locked exclusively, so that
/// the definition can be put in place.
pub(super) fn build(
    cx: &mut DdlContext<'_>,
    change: &mut CatalogChange,
    old: &Arc<TableHandle>,
    def: &mut TableDef,
    added: &[usize],
) -> SqlResult<()> {
    for at in added {
        let space = change.create_space().map_err(|e| storage_error(e, old.name()))?;
        let tree = change.create_tree(space, false).map_err(|e| storage_error(e, old.name()))?;
        let index = &mut def.indexes[*at];
        (index.space, (index.id, index.root)) = (Some(space), tree);
    }
    let new = copy::open_new(cx, def);
    let failed = |e, cx: &mut DdlContext<'_>| copy::load_error(e, &new, cx.values);
    let kernel = change.trx().kernel().clone();
    let mut build = OnlineBuild::begin(&kernel, &new.table, added.to_vec());
    let name = cx.catalog.locks().of(old.schema(), old.name());
    cx.mdl.release(&name);
    cx.lock(old.schema(), old.name(), MdlMode::Shared)?;
    build.build(&mut || cx.session.interrupted()).map_err(|e| failed(e, cx))?;
    for _ in 0..ROUNDS_MAX {
        let met = build.catch_up(&mut || cx.session.interrupted()).map_err(|e| failed(e, cx))?;
        if met < FEW_CHANGES {
            break;
        }
    }
    cx.mdl.release(&name);
    cx.lock(old.schema(), old.name(), MdlMode::Exclusive)?;
    let now = cx.existing(old.schema(), old.name())?;
    if now.def.id != old.def.id || now.def.version != old.def.version {
        return Err(SqlError::DefinitionChanged);
    }
    build.catch_up(&mut || cx.session.interrupted()).map_err(|e| failed(e, cx))?;
    for at in added {
        def.indexes[*at].since = build.since();
    }
    Ok(())
}
