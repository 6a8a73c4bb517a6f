//! The catalog of a server: the current snapshot, and changes to it.
//!
//! # A change, and what a crash leaves at each step
//! 1. spaces and trees are made: unreachable, removed at the next start
//! 2. dictionary rows are changed in a transaction: rolled back with it
//! 3. the transaction commits: the change is there after a restart
//! 4. the snapshot is replaced: memory only
//! 5. spaces that the change made unreachable are removed: else at the next start
//!
//! The statement holds exclusive metadata locks on every name it changes from before step 2 until after step 4.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use base::{IndexId, PageNo, SpaceId, TableId};
use charset::Collation;
use env::Clock;
use storage::row::RowError;
use storage::table::{Table, TableSource};
use storage::trx::Trx;

use crate::definition::{DatabaseDef, IndexDef, TableDef};
use crate::dictionary::{self, Entry, OpenAlter};
use crate::engine::DictionaryEngine;
use crate::mdl::Locks;
use crate::partition::PartTrees;
use crate::program::{ProgramDef, ProgramKind, TriggerDef};
use crate::session_catalog::SessionCatalog;
use crate::snapshot::{Database, Snapshot, TableHandle};
use crate::view::ViewDef;

/// Databases that a new server has.
const FIRST_DATABASES: [&str; 2] = ["mysql", "test"];

pub struct Catalog {
    engine: Arc<dyn DictionaryEngine>,
    dictionary: Arc<Table>,
    snapshot: ArcSwap<Snapshot>,
    /// Serialises replacement of the snapshot, for moments only.
    writer: Mutex<()>,
    locks: Arc<Locks>,
    /// Open tables by id, for rollback and purge.
    by_id: Mutex<HashMap<TableId, Arc<Table>>>,
    /// What a crash has left.
    open_alters: Mutex<Vec<OpenAlter>>,
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalog").field("version", &self.snapshot().version).finish_non_exhaustive()
    }
}

impl Catalog {
    /// Reads the dictionary; a new server gets its first databases.
    pub fn open(engine: Arc<dyn DictionaryEngine>, clock: Arc<dyn Clock>) -> Result<Arc<Self>, RowError> {
        let dictionary = engine.open_table(dictionary::spec());
        let catalog = Arc::new(Self {
            by_id: Mutex::new(HashMap::from([(dictionary.spec().id, dictionary.clone())])),
            engine,
            dictionary,
            snapshot: ArcSwap::from_pointee(Snapshot::default()),
            writer: Mutex::new(()),
            locks: Locks::new(clock),
            open_alters: Mutex::default(),
        });
        catalog.load()?;
        if catalog.snapshot().databases.is_empty() {
            let mut change = catalog.change();
            for name in FIRST_DATABASES {
                change.put_database(DatabaseDef {
                    name: name.to_owned(),
                    collation: Collation::UTF8MB4_UCA1400_AI_CI,
                    comment: String::new(),
                })?;
            }
            change.commit()?;
        }
        Ok(catalog)
    }

    fn load(&self) -> Result<(), RowError> {
        let mut trx = self.engine.begin();
        let entries = dictionary::read_all(&self.dictionary, &mut trx)?;
        self.engine.commit(trx)?;
        let mut next = Snapshot { version: 1, ..Snapshot::default() };
        for entry in entries {
            match entry {
                Entry::Database(def) => Edit::PutDatabase(def).apply(self, &mut next),
                Entry::Table(def) => Edit::PutTable(def).apply(self, &mut next),
                Entry::View(def) => Edit::PutView(Arc::from(def)).apply(self, &mut next),
                Entry::Program(def) => Edit::PutProgram(def).apply(self, &mut next),
                Entry::OpenAlter(open) => {
                    self.open_alters.lock().unwrap_or_else(PoisonError::into_inner).push(open);
                }
            }
        }
        next.relate();
        self.snapshot.store(Arc::new(next));
        Ok(())
    }

    /// The catalog now. Statements keep it while they are planned.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// The version now, without taking a reference to the snapshot.
    pub fn version(&self) -> u64 {
        self.snapshot.load().version
    }

    pub fn locks(&self) -> &Arc<Locks> {
        &self.locks
    }

    pub fn engine(&self) -> &Arc<dyn DictionaryEngine> {
        &self.engine
    }

    /// Spaces that tables live in; every other one is left over from a crash.
    pub fn used_spaces(&self) -> Vec<SpaceId> {
        let snapshot = self.snapshot();
        snapshot.databases.values().flat_map(|d| d.tables.values()).flat_map(|t| t.def.spaces()).collect()
    }

    /// ALTER TABLEs that the last run of the server began and did not end, once.
    pub fn take_open_alters(&self) -> Vec<OpenAlter> {
        std::mem::take(&mut *self.open_alters.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes in a transaction that an ALTER TABLE has begun, or that it has ended.
    pub fn open_alter(&self, trx: &mut Trx, open: &OpenAlter) -> Result<(), RowError> {
        dictionary::put_open_alter(&self.dictionary, trx, open)
    }
    pub fn close_alter(&self, trx: &mut Trx, key: &str) -> Result<(), RowError> {
        dictionary::remove_open_alter(&self.dictionary, trx, key)
    }

    /// Begins a change of the dictionary.
    pub fn change(self: &Arc<Self>) -> CatalogChange {
        self.change_for(None)
    }

    /// Begins a change that may be of a session's temporary tables.
    pub(crate) fn change_for(self: &Arc<Self>, session: Option<Arc<SessionCatalog>>) -> CatalogChange {
        CatalogChange {
            trx: Some(self.engine.begin()),
            catalog: self.clone(),
            session,
            edits: Vec::new(),
            created: Vec::new(),
            dropped: Vec::new(),
            dropped_indexes: Vec::new(),
        }
    }

    /// Opens a table, so that rollback and purge find it.
    pub(crate) fn open_table(&self, def: &TableDef) -> Arc<Table> {
        let table = self.engine.open_table(def.spec());
        let mut by_id = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        for part in table.partitions() {
            by_id.insert(part.spec().id, part.clone());
        }
        if table.partitions().is_empty() {
            by_id.insert(table.spec().id, table.clone());
        }
        table
    }

    /// Removes what nothing names any more.
    pub(crate) fn give_up(&self, tables: &[TableId], spaces: impl Iterator<Item = SpaceId>) {
        for table in tables {
            self.by_id.lock().unwrap_or_else(PoisonError::into_inner).remove(table);
            self.engine.close_table(*table);
        }
        for space in spaces {
            // A file that cannot be removed now is removed at the next start.
            let _left_for_the_next_start = self.engine.drop_space(space);
        }
    }
}

impl TableSource for Catalog {
    fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }
    fn table_of_index(&self, id: IndexId) -> Option<Arc<Table>> {
        let tables = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        tables.values().find(|t| t.spec().indexes.iter().any(|i| i.id == id)).cloned()
    }
}

/// What a change does to the snapshot.
#[derive(Debug)]
enum Edit {
    PutDatabase(DatabaseDef),
    RemoveDatabase(String),
    PutTable(Box<TableDef>),
    RemoveTable { schema: String, name: String },
    PutTemporary(Box<TableDef>),
    RemoveTemporary { schema: String, name: String },
    PutView(Arc<ViewDef>),
    RemoveView { schema: String, name: String },
    PutProgram(Box<ProgramDef>),
    RemoveProgram { kind: ProgramKind, schema: String, name: String },
}

impl Edit {
    fn is_of_session(&self) -> bool {
        matches!(self, Self::PutTemporary(_) | Self::RemoveTemporary { .. })
    }

    fn apply_to_session(self, session: &SessionCatalog) {
        match self {
            Self::PutTemporary(def) => session.put(*def),
            Self::RemoveTemporary { schema, name } => session.remove(&schema, &name),
            _ => {}
        }
    }

    fn apply(self, catalog: &Catalog, snapshot: &mut Snapshot) {
        let database = |snapshot: &mut Snapshot, schema: &str, edit: &mut dyn FnMut(&mut Database)| {
            if let Some(found) = snapshot.databases.get_mut(schema) {
                edit(Arc::make_mut(found));
            }
        };
        match self {
            Self::PutDatabase(def) => {
                let name = def.name.clone();
                match snapshot.databases.get_mut(&name) {
                    Some(found) => Arc::make_mut(found).def = def,
                    None => {
                        snapshot.databases.insert(name, Arc::new(Database::new(def)));
                    }
                }
            }
            Self::RemoveDatabase(name) => {
                snapshot.databases.remove(&name);
            }
            Self::PutTable(def) => {
                let table = catalog.open_table(&def);
                let lock = catalog.locks.of(&def.schema, &def.name);
                let engine = catalog.engine.clone();
                let triggers =
                    snapshot.databases.get(&def.schema).map_or(Vec::new(), |d| d.triggers_of(&def.name));
                let mut handle = TableHandle::new(Arc::new(*def), table, lock, engine);
                handle.triggers = triggers;
                let handle = Arc::new(handle);
                database(snapshot, &handle.def.schema, &mut |d| {
                    d.tables.insert(handle.def.name.clone(), handle.clone());
                });
            }
            Self::RemoveTable { schema, name } => database(snapshot, &schema, &mut |d| {
                d.tables.remove(&name);
            }),
            // They are applied to the session.
            Self::PutTemporary(_) | Self::RemoveTemporary { .. } => {}
            Self::PutView(def) => database(snapshot, &def.schema, &mut |d| {
                d.views.insert(def.name.clone(), def.clone());
            }),
            Self::RemoveView { schema, name } => database(snapshot, &schema, &mut |d| {
                d.views.remove(&name);
            }),
            Self::PutProgram(def) => {
                let schema = def.schema().to_owned();
                let mut def = Some(*def);
                database(snapshot, &schema, &mut |d| def.take().into_iter().for_each(|p| d.put_program(p)));
            }
            Self::RemoveProgram { kind, schema, name } => {
                database(snapshot, &schema, &mut |d| d.remove_program(kind, &name));
            }
        }
    }
}

/// One atomic change of the dictionary. Dropped without [`Self::commit`] it leaves nothing behind.
pub struct CatalogChange {
    catalog: Arc<Catalog>,
    /// Whose temporary tables may change.
    session: Option<Arc<SessionCatalog>>,
    trx: Option<Trx>,
    edits: Vec<Edit>,
    created: Vec<SpaceId>,
    dropped: Vec<(Vec<TableId>, Vec<SpaceId>)>,
    /// Secondary indexes that go from a table that stays, with the table's space.
    dropped_indexes: Vec<(SpaceId, IndexDef)>,
}

impl CatalogChange {
    /// The transaction that the change is part of: rows copied in it commit with it.
    pub fn trx(&mut self) -> &mut Trx {
        self.trx.as_mut().expect("the transaction ends with the change")
    }

    pub fn new_table_id(&self) -> TableId {
        self.catalog.engine.new_table_id()
    }

    /// A new, empty space; it goes again if the change does not commit.
    pub fn create_space(&mut self) -> Result<SpaceId, RowError> {
        let space = self.catalog.engine.create_space()?;
        self.created.push(space);
        Ok(space)
    }

    pub fn create_tree(&mut self, space: SpaceId, clustered: bool) -> Result<(IndexId, PageNo), RowError> {
        self.catalog.engine.create_tree(space, clustered)
    }

    /// The spaces and the runtime state of a table are given up when the change has committed.
    pub fn drop_table(&mut self, table: &TableDef) {
        self.dropped.push((table.storage_ids().collect(), table.spaces().collect()));
    }

    /// Same, of parts that go from a partitioned table that stays.
    pub fn drop_parts<'p>(&mut self, parts: impl IntoIterator<Item = &'p PartTrees>) {
        let (ids, spaces) = parts.into_iter().map(|part| (part.id, part.space)).unzip();
        self.dropped.push((ids, spaces));
    }

    /// The tree of a secondary index is given up when the change has committed; its table stays, in `space`.
    pub fn drop_index(&mut self, space: SpaceId, index: IndexDef) {
        self.dropped_indexes.push((space, index));
    }

    pub fn put_database(&mut self, def: DatabaseDef) -> Result<(), RowError> {
        let dictionary = self.catalog.dictionary.clone();
        dictionary::put_database(&dictionary, self.trx(), &def)?;
        self.edits.push(Edit::PutDatabase(def));
        Ok(())
    }

    /// The database's tables are removed by the caller, each with [`Self::remove_table`].
    pub fn remove_database(&mut self, name: &str) -> Result<(), RowError> {
        let dictionary = self.catalog.dictionary.clone();
        let snapshot = self.catalog.snapshot();
        for (kind, program) in snapshot.database(name).map(|d| d.programs()).unwrap_or_default() {
            dictionary::remove_program(&dictionary, self.trx(), kind, name, &program)?;
        }
        dictionary::remove_database(&dictionary, self.trx(), name)?;
        self.edits.push(Edit::RemoveDatabase(name.to_owned()));
        Ok(())
    }

    /// A temporary table becomes one of the session's.
    pub fn put_table(&mut self, def: TableDef) -> Result<(), RowError> {
        if def.temporary {
            self.edits.push(Edit::PutTemporary(Box::new(def)));
            return Ok(());
        }
        let dictionary = self.catalog.dictionary.clone();
        dictionary::put_table(&dictionary, self.trx(), &def)?;
        self.edits.push(Edit::PutTable(Box::new(def)));
        Ok(())
    }

    pub fn remove_table(&mut self, schema: &str, name: &str) -> Result<(), RowError> {
        let dictionary = self.catalog.dictionary.clone();
        dictionary::remove_table(&dictionary, self.trx(), schema, name)?;
        self.edits.push(Edit::RemoveTable { schema: schema.to_owned(), name: name.to_owned() });
        Ok(())
    }

    pub fn remove_temporary(&mut self, schema: &str, name: &str) {
        self.edits.push(Edit::RemoveTemporary { schema: schema.to_owned(), name: name.to_owned() });
    }

    pub fn put_view(&mut self, def: ViewDef) -> Result<(), RowError> {
        let dictionary = self.catalog.dictionary.clone();
        dictionary::put_view(&dictionary, self.trx(), &def)?;
        self.edits.push(Edit::PutView(Arc::new(def)));
        Ok(())
    }

    pub fn remove_view(&mut self, schema: &str, name: &str) -> Result<(), RowError> {
        let dictionary = self.catalog.dictionary.clone();
        dictionary::remove_view(&dictionary, self.trx(), schema, name)?;
        self.edits.push(Edit::RemoveView { schema: schema.to_owned(), name: name.to_owned() });
        Ok(())
    }

    pub fn put_program(&mut self, def: ProgramDef) -> Result<(), RowError> {
        let dictionary = self.catalog.dictionary.clone();
        dictionary::put_program(&dictionary, self.trx(), &def)?;
        self.edits.push(Edit::PutProgram(Box::new(def)));
        Ok(())
    }

    pub fn remove_program(&mut self, kind: ProgramKind, schema: &str, name: &str) -> Result<(), RowError> {
        let dictionary = self.catalog.dictionary.clone();
        dictionary::remove_program(&dictionary, self.trx(), kind, schema, name)?;
        self.edits.push(Edit::RemoveProgram { kind, schema: schema.to_owned(), name: name.to_owned() });
        Ok(())
    }

    /// The triggers of a table as this change has left them.
    fn triggers_of(&self, schema: &str, table: &str) -> Vec<TriggerDef> {
        let snapshot = self.catalog.snapshot();
        let database = snapshot.database(schema);
        let mut all: BTreeMap<String, TriggerDef> = database
            .map(|d| d.triggers.iter().map(|(name, t)| (name.clone(), TriggerDef::clone(t))).collect())
            .unwrap_or_default();
        for edit in &self.edits {
            match edit {
                Edit::PutProgram(def) if def.schema() == schema => {
                    if let ProgramDef::Trigger(t) = &**def {
                        all.insert(t.name.clone(), t.clone());
                    }
                }
                Edit::RemoveProgram { kind: ProgramKind::Trigger, schema: s, name } if s == schema => {
                    all.remove(name);
                }
                _ => {}
            }
        }
        all.into_values().filter(|t| t.table == table).collect()
    }

    pub fn has_triggers(&self, (schema, table): (&str, &str)) -> bool {
        !self.triggers_of(schema, table).is_empty()
    }

    /// The triggers of a table go with it, or follow its new name in the same database.
    pub fn move_triggers(&mut self, (schema, table): (&str, &str), to: Option<&str>) -> Result<(), RowError> {
        for trigger in self.triggers_of(schema, table) {
            match to {
                None => self.remove_program(ProgramKind::Trigger, schema, &trigger.name)?,
                Some(name) => {
                    let [event, _, rest] = trigger.header;
                    let on = format!("ON {} ", crate::quote_name(name)).into_bytes();
                    let moved = TriggerDef { table: name.to_owned(), header: [event, on, rest], ..trigger };
                    self.put_program(ProgramDef::Trigger(moved))?;
                }
            }
        }
        Ok(())
    }

    /// Commits through the engine's plain commit.
    pub fn commit(self) -> Result<(), RowError> {
        let engine = self.catalog.engine.clone();
        self.commit_with(|trx| engine.commit(trx))
    }

    /// Commits with `commit`, which returns when the change is durable; then the new snapshot is there for all.
    pub fn commit_with(mut self, commit: impl FnOnce(Trx) -> Result<(), RowError>) -> Result<(), RowError> {
        let trx = self.trx.take().expect("a change commits once");
        commit(trx)?;
        self.created.clear();
        let (own, shared): (Vec<_>, Vec<_>) = self.edits.drain(..).partition(Edit::is_of_session);
        if let Some(session) = &self.session {
            own.into_iter().for_each(|edit| edit.apply_to_session(session));
        }
        if !shared.is_empty() {
            let _writer = self.catalog.writer.lock().unwrap_or_else(PoisonError::into_inner);
            let mut next = Snapshot::clone(&self.catalog.snapshot());
            next.version += 1;
            for edit in shared {
                edit.apply(&self.catalog, &mut next);
            }
            next.relate();
            self.catalog.snapshot.store(Arc::new(next));
        }
        for (tables, spaces) in self.dropped.drain(..) {
            self.catalog.give_up(&tables, spaces.into_iter());
        }
        for (space, index) in self.dropped_indexes.drain(..) {
            // What is not given back now costs space until the table is rebuilt, or until the next start.
            let _only_space = match index.space {
                Some(own) => self.catalog.engine.drop_space(own),
                None => self.catalog.engine.drop_tree(space, index.id, index.root),
            };
        }
        Ok(())
    }
}

impl Drop for CatalogChange {
    fn drop(&mut self) {
        if let Some(trx) = self.trx.take() {
            // What cannot be undone now is undone at the next start.
            let _left_for_the_next_start = trx.rollback();
        }
        for space in self.created.drain(..) {
            let _left_for_the_next_start = self.catalog.engine.drop_space(space);
        }
    }
}
