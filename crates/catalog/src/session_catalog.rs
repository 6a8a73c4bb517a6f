//! The catalog as one session sees it: its temporary tables lie over the tables of all.
//!
//! # Invariants
//! 1. A temporary table is in no dictionary row and in no other session's snapshot; its rows never become events. What a crash
//!    leaves of it is a space that nothing names, which the next start removes.
//! 2. A temporary table hides a table or view of its name, for its session alone.
//! 3. The version differs whenever the session would see something else: below [`OWN_VERSION`] the catalog's, above it the
//!    number of changes to the session's own tables.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charset::Collation;

use crate::catalog::{Catalog, CatalogChange};
use crate::definition::{DatabaseDef, TableDef};
use crate::engine::DictionaryEngine;
use crate::mdl::{Locks, MdlLock};
use crate::snapshot::{Database, Snapshot, TableHandle};

/// One change of the session's own tables, in a version.
pub(crate) const OWN_VERSION: u64 = 1 << 40;

/// Schema and name.
type Name = (String, String);

pub struct SessionCatalog {
    catalog: Arc<Catalog>,
    /// Changes of `own` so far.
    changes: AtomicU64,
    own: Mutex<Own>,
}

#[derive(Default)]
struct Own {
    tables: BTreeMap<Name, Arc<TableHandle>>,
    /// The catalog's snapshot of this version with `tables` over it.
    overlaid: Option<(u64, Arc<Snapshot>)>,
}

impl std::fmt::Debug for SessionCatalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionCatalog").field("version", &self.version()).finish_non_exhaustive()
    }
}

impl SessionCatalog {
    pub fn new(catalog: &Arc<Catalog>) -> Arc<Self> {
        Arc::new(Self { catalog: catalog.clone(), changes: AtomicU64::new(0), own: Mutex::default() })
    }

    /// The catalog of all sessions.
    pub fn shared(&self) -> &Arc<Catalog> {
        &self.catalog
    }
    pub fn locks(&self) -> &Arc<Locks> {
        self.catalog.locks()
    }
    pub fn engine(&self) -> &Arc<dyn DictionaryEngine> {
        self.catalog.engine()
    }

    pub fn version(&self) -> u64 {
        self.catalog.version() + self.changes.load(Ordering::Acquire) * OWN_VERSION
    }

    /// What the session sees now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        if self.changes.load(Ordering::Acquire) == 0 {
            return self.catalog.snapshot();
        }
        let mut own = self.own();
        let below = self.catalog.snapshot();
        if let Some((version, overlaid)) = &own.overlaid
            && *version == below.version
        {
            return overlaid.clone();
        }
        let mut over = Snapshot::clone(&below);
        over.version += self.changes.load(Ordering::Acquire) * OWN_VERSION;
        for ((schema, name), table) in &own.tables {
            // A temporary table outlives its database.
            let database = over.databases.entry(schema.clone()).or_insert_with(|| gone(schema));
            let database = Arc::make_mut(database);
            database.views.remove(name);
            database.tables.insert(name.clone(), table.clone());
        }
        over.below = Some(below.clone());
        let over = Arc::new(over);
        own.overlaid = Some((below.version, over.clone()));
        over
    }

    /// A temporary table of the session.
    pub fn temporary(&self, schema: &str, name: &str) -> Option<Arc<TableHandle>> {
        if self.changes.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.own().tables.get(&(schema.to_owned(), name.to_owned())).cloned()
    }

    /// The temporary tables, the newest first.
    pub fn temporaries(&self) -> Vec<Arc<TableHandle>> {
        let mut tables: Vec<_> = self.own().tables.values().cloned().collect();
        tables.sort_by_key(|table| std::cmp::Reverse(table.def.id));
        tables
    }

    /// Begins a change of the dictionary, or of the session's temporary tables.
    pub fn change(self: &Arc<Self>) -> CatalogChange {
        self.catalog.change_for(Some(self.clone()))
    }

    /// The session ends or starts anew: its temporary tables go. No transaction of it is open.
    pub fn drop_temporaries(&self) {
        let tables = std::mem::take(&mut *self.own()).tables;
        if tables.is_empty() {
            return;
        }
        self.changes.fetch_add(1, Ordering::AcqRel);
        for table in tables.values() {
            self.catalog.give_up(&[table.def.id], table.def.spaces());
        }
    }

    pub(crate) fn put(&self, def: TableDef) {
        let table = self.catalog.open_table(&def);
        let name = (def.schema.clone(), def.name.clone());
        // Nobody else knows the table: its metadata lock is its own.
        let lock = Arc::<MdlLock>::default();
        let handle = TableHandle::new(Arc::new(def), table, lock, self.catalog.engine().clone());
        self.edit(|tables| drop(tables.insert(name, Arc::new(handle))));
    }

    pub(crate) fn remove(&self, schema: &str, name: &str) {
        self.edit(|tables| drop(tables.remove(&(schema.to_owned(), name.to_owned()))));
    }

    fn edit(&self, edit: impl FnOnce(&mut BTreeMap<Name, Arc<TableHandle>>)) {
        let mut own = self.own();
        edit(&mut own.tables);
        own.overlaid = None;
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A database that has been dropped.
fn gone(name: &str) -> Arc<Database> {
    let collation = Collation::UTF8MB4_UCA1400_AI_CI;
    Arc::new(Database::new(DatabaseDef { name: name.to_owned(), collation, comment: String::new() }))
}

impl Drop for SessionCatalog {
    fn drop(&mut self) {
        self.drop_temporaries();
    }
}
