//! The catalog as statements see it: an immutable picture, replaced as a whole by DDL.
//!
//! # Invariants
//! 1. A snapshot never changes. Readers load the current one without a lock; writers hold `Catalog`'s writer mutex.
//! 2. `version` grows with each replacement. A plan made at a version is good while its handles are still in the snapshot.
//! 3. The metadata lock of a name lives as long as anybody uses it and is the same before and after DDL.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use storage::table::Table;

use crate::definition::{DatabaseDef, TableDef};
use crate::engine::DictionaryEngine;
use crate::mdl::MdlLock;
use crate::program::{EventDef, ProgramDef, ProgramKind, RoutineDef, TriggerDef};
use crate::sequence::SequenceCache;
use crate::session_catalog::OWN_VERSION;
use crate::view::ViewDef;

/// One version of one table, opened.
pub struct TableHandle {
    pub def: Arc<TableDef>,
    pub table: Arc<Table>,
    pub lock: Arc<MdlLock>,
    /// ROW START and ROW END of a system-versioned table.
    pub versioning: Option<(usize, usize)>,
    /// In the order of firing.
    pub triggers: Vec<Arc<TriggerDef>>,
    /// Of a sequence: the values that are reserved here.
    pub sequence: Mutex<SequenceCache>,
    /// For statistics.
    pub engine: Arc<dyn DictionaryEngine>,
    /// What the planner makes of the definition's expressions, once: this crate knows no expressions.
    pub program: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// Of a partitioned table: what the planner makes of its partitions, once.
    pub router: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// What ANALYZE TABLE has counted.
    pub statistics: crate::StatisticsCell,
}

impl std::fmt::Debug for TableHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableHandle").field("def", &self.def).finish_non_exhaustive()
    }
}

impl TableHandle {
    pub fn new(
        def: Arc<TableDef>,
        table: Arc<Table>,
        lock: Arc<MdlLock>,
        engine: Arc<dyn DictionaryEngine>,
    ) -> Self {
        Self {
            versioning: def.versioning(),
            def,
            table,
            lock,
            engine,
            triggers: Vec::new(),
            sequence: Mutex::default(),
            program: OnceLock::new(),
            router: OnceLock::new(),
            statistics: Default::default(),
        }
    }
    pub fn name(&self) -> &str {
        &self.def.name
    }
    pub fn schema(&self) -> &str {
        &self.def.schema
    }
    /// About how many values the first `parts` parts of an index have.
    pub fn cardinality(&self, index: usize, parts: usize) -> Option<u64> {
        let rows = self.row_estimate()?;
        let per_key = self.statistics.get().and_then(|s| s.rows_per_key(index, parts));
        Some(per_key.map_or(rows, |n| (rows as f64 / n).round() as u64))
    }
    /// About how many rows the table has, without counting.
    pub fn row_estimate(&self) -> Option<u64> {
        self.engine.row_estimate(&self.table, false)
    }

    /// The same of some of its parts; `None` = all.
    pub fn row_estimate_of(&self, parts: Option<&[usize]>) -> Option<u64> {
        let Some(parts) = parts else { return self.row_estimate() };
        parts.iter().map(|at| self.engine.row_estimate(&self.table.partitions()[*at], false)).sum()
    }
}

/// A database with its tables. Table names compare by bytes, as on a case-sensitive file system.
#[derive(Debug, Clone)]
pub struct Database {
    pub def: DatabaseDef,
    pub tables: BTreeMap<String, Arc<TableHandle>>,
    /// Views share the tables' names: no name is in both.
    pub views: BTreeMap<String, Arc<ViewDef>>,
    /// Procedures and functions by kind and lower case name.
    pub routines: BTreeMap<(ProgramKind, String), Arc<RoutineDef>>,
    pub triggers: BTreeMap<String, Arc<TriggerDef>>,
    /// By lower case name.
    pub events: BTreeMap<String, Arc<EventDef>>,
}

impl Database {
    pub fn new(def: DatabaseDef) -> Self {
        Self {
            def,
            tables: BTreeMap::new(),
            views: BTreeMap::new(),
            routines: BTreeMap::new(),
            triggers: BTreeMap::new(),
            events: BTreeMap::new(),
        }
    }

    pub(crate) fn put_program(&mut self, def: ProgramDef) {
        match def {
            ProgramDef::Routine(r) => {
                self.routines.insert((r.kind, r.kind.key(&r.name)), Arc::new(r));
            }
            ProgramDef::Trigger(t) => {
                let table = t.table.clone();
                let before = self.triggers.insert(t.name.clone(), Arc::new(t));
                self.renew_triggers(&table);
                if let Some(before) = before.filter(|b| b.table != table) {
                    self.renew_triggers(&before.table);
                }
            }
            ProgramDef::Event(e) => {
                self.events.insert(ProgramKind::Event.key(&e.name), Arc::new(e));
            }
        }
    }

    pub(crate) fn remove_program(&mut self, kind: ProgramKind, name: &str) {
        let key = kind.key(name);
        match kind {
            ProgramKind::Procedure | ProgramKind::Function => {
                self.routines.remove(&(kind, key));
            }
            ProgramKind::Trigger => {
                if let Some(trigger) = self.triggers.remove(&key) {
                    self.renew_triggers(&trigger.table);
                }
            }
            ProgramKind::Event => {
                self.events.remove(&key);
            }
        }
    }

    /// A new handle for a table whose triggers changed, so that plans with the old ones are thrown away.
    fn renew_triggers(&mut self, table: &str) {
        let triggers = self.triggers_of(table);
        if let Some(handle) = self.tables.get_mut(table) {
            let mut renewed = TableHandle::new(
                handle.def.clone(),
                handle.table.clone(),
                handle.lock.clone(),
                handle.engine.clone(),
            );
            renewed.triggers = triggers;
            *handle = Arc::new(renewed);
        }
    }

    /// The triggers of a table in the order of firing.
    pub(crate) fn triggers_of(&self, table: &str) -> Vec<Arc<TriggerDef>> {
        let mut found: Vec<_> = self.triggers.values().filter(|t| t.table == table).cloned().collect();
        found.sort_by_key(|t| (t.event, !t.before, t.order));
        found
    }

    /// Kinds and names of all programs.
    pub(crate) fn programs(&self) -> Vec<(ProgramKind, String)> {
        let routines = self.routines.values().map(|r| (r.kind, r.name.clone()));
        let triggers = self.triggers.values().map(|t| (ProgramKind::Trigger, t.name.clone()));
        let events = self.events.values().map(|e| (ProgramKind::Event, e.name.clone()));
        routines.chain(triggers).chain(events).collect()
    }
}

#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub version: u64,
    /// Grows when tables with foreign keys change: plans that change rows know all keys around them.
    pub relations_version: u64,
    /// Children by parent: schema and name of each.
    pub(crate) children: Arc<Children>,
    pub databases: BTreeMap<String, Arc<Database>>,
    /// What lies under a session's temporary tables; `None` = there are none.
    pub(crate) below: Option<Arc<Self>>,
}

/// Tables with foreign keys, by the table that they refer to.
pub(crate) type Children = BTreeMap<(String, String), Vec<(String, String)>>;

impl Snapshot {
    /// Finds the foreign keys again, after a change.
    pub(crate) fn relate(&mut self) {
        let mut children = Children::new();
        for table in self.databases.values().flat_map(|d| d.tables.values()) {
            for key in &table.def.foreign_keys {
                let parent = (key.parent_schema.clone(), key.parent_table.clone());
                let own = (table.def.schema.clone(), table.def.name.clone());
                let list = children.entry(parent).or_default();
                if !list.contains(&own) {
                    list.push(own);
                }
            }
        }
        if !children.is_empty() || !self.children.is_empty() {
            self.relations_version += 1;
        }
        self.children = Arc::new(children);
    }

    pub fn has_foreign_keys(&self) -> bool {
        !self.children.is_empty()
    }

    /// Tables whose foreign keys refer to this one.
    pub fn children(&self, schema: &str, name: &str) -> Vec<Arc<TableHandle>> {
        // Temporary tables have no foreign keys, and those of others do not see them.
        let shared = self.below.as_deref().unwrap_or(self);
        let known = self.children.get(&(schema.to_owned(), name.to_owned()));
        known.into_iter().flatten().filter_map(|(s, n)| shared.table(s, n).cloned()).collect()
    }

    pub fn database(&self, name: &str) -> Option<&Arc<Database>> {
        self.databases.get(name)
    }

    pub fn table(&self, schema: &str, name: &str) -> Option<&Arc<TableHandle>> {
        self.databases.get(schema)?.tables.get(name)
    }

    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableHandle>> {
        self.databases.values().flat_map(|database| database.tables.values())
    }

    pub fn view(&self, schema: &str, name: &str) -> Option<&Arc<ViewDef>> {
        self.databases.get(schema)?.views.get(name)
    }

    /// Whether a view is still what it was.
    pub fn is_current_view(&self, view: &Arc<ViewDef>) -> bool {
        self.view(&view.schema, &view.name).is_some_and(|now| Arc::ptr_eq(now, view))
    }

    /// Whether a table or a view has the name.
    pub fn has(&self, schema: &str, name: &str) -> bool {
        self.table(schema, name).is_some() || self.view(schema, name).is_some()
    }

    /// A procedure or function; names compare without case.
    pub fn routine(&self, kind: ProgramKind, schema: &str, name: &str) -> Option<&Arc<RoutineDef>> {
        self.databases.get(schema)?.routines.get(&(kind, kind.key(name)))
    }

    pub fn trigger(&self, schema: &str, name: &str) -> Option<&Arc<TriggerDef>> {
        self.databases.get(schema)?.triggers.get(name)
    }

    pub fn event(&self, schema: &str, name: &str) -> Option<&Arc<EventDef>> {
        self.databases.get(schema)?.events.get(&ProgramKind::Event.key(name))
    }

    /// What all sessions see: the tables of views.
    pub fn shared(self: &Arc<Self>) -> &Arc<Self> {
        self.below.as_ref().unwrap_or(self)
    }

    /// Whether a session's temporary tables are those of the version `then`.
    pub fn has_same_temporaries(&self, then: u64) -> bool {
        self.version / OWN_VERSION == then / OWN_VERSION
    }

    /// Whether `handle` is still the current version of its table, be it hidden by a temporary one.
    pub fn is_current(&self, handle: &Arc<TableHandle>) -> bool {
        self.table(handle.schema(), handle.name()).is_some_and(|now| Arc::ptr_eq(now, handle))
            || self.below.as_ref().is_some_and(|below| below.is_current(handle))
    }
}
