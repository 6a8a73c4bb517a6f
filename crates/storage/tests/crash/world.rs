//! An engine with two tables on a simulated disk, driven by hand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::{IndexId, Lsn, TableId};
use charset::Collation;
use env::{Clock, ManualClock, SimDisk};
use row_format::{
    Column, ColumnType, IntSize, KeyPart, OldFormat, RowLayout, RowView, Source, encode_row, key,
};
use storage::btree::TreeKind;
use storage::engine::{Engine, EngineConfig, EngineError};
use storage::pool::PoolConfig;
use storage::row::{Direction, KeyRange, ReadMode, RowBuf};
use storage::table::{IndexSpec, Table, TableSource, TableSpec};
use storage::trx::{Isolation, LogOptions, Trx, TrxOptions};
use types::Value;

use crate::events;
use crate::model::{History, Row, State, TABLES, Text};
use crate::workload::Shape;

pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

pub(crate) struct World {
    pub(crate) engine: Arc<Engine>,
    pub(crate) tables: Vec<Arc<Table>>,
    /// The same for rollback and purge.
    source: Arc<Tables>,
    pub(crate) log_options: LogOptions,
    pub(crate) shape: Shape,
}

/// Most worlds keep their whole log, so that it can be read from its beginning; the others give segments back and use them again.
pub(crate) fn keeps_log(seed: u64) -> bool {
    !seed.is_multiple_of(4)
}

/// The dictionary's part for rollback and purge.
#[derive(Default)]
pub(crate) struct Tables(Mutex<Vec<Arc<Table>>>);

impl Tables {
    pub(crate) fn of(engine: &Engine, history: &History) -> Self {
        let tables = Self::default();
        tables.open(engine, history);
        tables
    }

    /// Opens the tables as their definitions are now.
    fn open(&self, engine: &Engine, history: &History) -> Vec<Arc<Table>> {
        let open: Vec<_> = history.specs.iter().map(|spec| engine.open_table(spec.clone())).collect();
        self.0.lock().unwrap().clone_from(&open);
        open
    }
}

impl TableSource for Tables {
    fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.0.lock().unwrap().iter().find(|table| table.spec().id == id).cloned()
    }
    fn table_of_index(&self, id: IndexId) -> Option<Arc<Table>> {
        let has_index = |table: &&Arc<Table>| table.spec().indexes.iter().any(|index| index.id == id);
        self.0.lock().unwrap().iter().find(has_index).cloned()
    }
}

pub(crate) fn config(seed: u64) -> EngineConfig {
    // Some worlds fit their pool, others live from evictions.
    let frames = if seed.is_multiple_of(2) { 24 } else { Shape::of(seed).frames };
    let pool = PoolConfig {
        free_frame_timeout: Duration::from_millis(50),
        doublewrite: true,
        ..PoolConfig::with_frames(frames)
    };
    EngineConfig {
        log_ring_size: 256 << 10,
        log_segment_size: 128 << 10,
        log_pipeline: log::Pipeline::always(3),
        checkpoint_age: 512 << 10,
        pool,
        background: false,
        ..EngineConfig::with_frames(frames)
    }
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::new(Duration::from_secs(1_800_000_000)))
}

impl World {
    pub(crate) fn open(sim: &SimDisk, seed: u64) -> Outcome<Self> {
        let engine = Engine::open(config(seed), sim.disk(), clock())?;
        engine.store().set_reexecute(true);
        if keeps_log(seed) {
            engine.set_log_keeper(|| Lsn(0));
        }
        let log_options = LogOptions {
            replicate: true,
            full_image: seed.is_multiple_of(3),
            event_options: 2,
            texts_in_memory: seed.is_multiple_of(5),
        };
        Ok(Self::of(engine, log_options, Shape::of(seed)))
    }

    pub(crate) fn of(engine: Arc<Engine>, log_options: LogOptions, shape: Shape) -> Self {
        Self { engine, tables: Vec::new(), source: Arc::default(), log_options, shape }
    }

    /// Makes the tables; they count once this is durable.
    pub(crate) fn create_tables(&mut self, history: &mut History) -> Outcome<()> {
        let mut specs = Vec::new();
        for _ in 0..TABLES {
            specs.push(new_table(&self.engine)?);
        }
        self.engine.log().wait_durable(self.engine.log().ready_lsn())?;
        history.defined(specs);
        self.open_tables(history);
        Ok(())
    }

    pub(crate) fn open_tables(&mut self, history: &History) {
        self.tables = self.source.open(&self.engine, history);
    }

    /// Rolls back what the crash had left.
    pub(crate) fn start(&self, history: &History) -> Outcome<()> {
        self.source.open(&self.engine, history);
        Ok(self.engine.start(Arc::clone(&self.source) as Arc<dyn TableSource>)?)
    }

    pub(crate) fn begin(&self) -> Trx {
        let isolation = Isolation::ReadCommitted;
        self.engine.begin(TrxOptions {
            isolation,
            lock_wait_timeout: Duration::ZERO,
            log: self.log_options,
            ..TrxOptions::default()
        })
    }

    /// Which state of the history the tables show, in every index; `None` when there are no tables yet. It must not be
    /// older than state `from`.
    pub(crate) fn check(&self, history: &History, from: usize, context: &str) -> Option<usize> {
        if history.specs.is_empty() {
            return None;
        }
        let tables: Vec<_> = history.specs.iter().map(|spec| Table::new(spec.clone())).collect();
        let state: State = std::array::from_fn(|at| self.rows(&tables[at], 0, context));
        for (at, table) in tables.iter().enumerate() {
            for index in 1..table.spec().indexes.len() {
                let by_number = self.rows(table, index, context);
                let ids = by_number.keys().chain(state[at].keys());
                let different: Vec<_> = ids.filter(|id| by_number.get(id) != state[at].get(id)).collect();
                let shown = different.iter().map(|id| (*id, by_number.get(*id), state[at].get(*id)));
                let shown: Vec<_> = shown.collect();
                assert!(shown.is_empty(), "{context}: table {at}, (id, by index, by id) disagree: {shown:?}");
            }
        }
        let found = history.states[from..].iter().rposition(|candidate| **candidate == state);
        Some(found.map(|at| from + at).unwrap_or_else(|| describe(history, from, &state, context)))
    }

    /// The row events that the log of `disk` holds make the newest state.
    pub(crate) fn check_events(&self, disk: &SimDisk, history: &History, context: &str) {
        let told = events::replay(disk, &history.specs, context);
        for (table, (told, rows)) in told.iter().zip(history.newest()).enumerate() {
            let ids = told.keys().chain(rows.keys());
            let different = ids.filter(|id| told.get(id) != rows.get(id));
            let different: Vec<_> = different.map(|id| (*id, told.get(id), rows.get(id))).collect();
            assert!(
                different.is_empty(),
                "{context}: table {table}, (id, by events, row) differ: {different:?}"
            );
        }
    }

    pub(crate) fn rows(&self, table: &Arc<Table>, index: usize, context: &str) -> BTreeMap<i64, Row> {
        let mut trx = self.begin();
        let mut scan = trx.scan(table, index, KeyRange::all(), Direction::Forward, ReadMode::Consistent);
        let (mut row, mut rows) = (RowBuf::new(), BTreeMap::new());
        while scan
            .next(&mut trx, &mut row)
            .unwrap_or_else(|e| panic!("{context}: scan of index {index}: {e}"))
        {
            let (id, row) = decode(table, &row);
            assert_eq!(rows.insert(id, row), None, "{context}: row {id} twice in index {index}");
        }
        rows
    }

    /// Purges everything: then the trees hold the live rows and nothing else.
    pub(crate) fn check_purged(&self, history: &History, context: &str) {
        self.engine.log().wait_durable(self.engine.log().ready_lsn()).unwrap();
        while self.engine.purge_some(1000).unwrap_or_else(|e| panic!("{context}: purge: {e}")) > 0 {}
        for (at, spec) in history.specs.iter().enumerate() {
            let table = Table::new(spec.clone());
            for index in 0..spec.indexes.len() {
                let mut records = 0;
                let mut visit = |_: &page_format::LeafRecord<'_>| {
                    records += 1;
                    Ok(())
                };
                let checked = table.tree(index).check_with(self.engine.store(), &mut visit);
                checked.unwrap_or_else(|e| panic!("{context}: table {at}, index {index}: {e}"));
                let rows = history.newest()[at].len();
                assert_eq!(records, rows, "{context}: table {at}, index {index} holds garbage or lacks rows");
            }
        }
    }
}

/// Says where the tables differ from the closest states.
fn describe(history: &History, from: usize, state: &State, context: &str) -> usize {
    let earlier = history.states.iter().position(|candidate| **candidate == *state);
    let newest = history.newest();
    let mut differences = Vec::new();
    for table in 0..TABLES {
        let ids = state[table].keys().chain(newest[table].keys());
        differences
            .extend(ids.filter(|id| state[table].get(id) != newest[table].get(id)).map(|id| (table, *id)));
    }
    differences.sort_unstable();
    differences.dedup();
    panic!(
        "{context}: the rows are those of no state from {from} to {} (an earlier one: {earlier:?}); against the newest differ {:?}",
        history.states.len() - 1,
        differences
    )
}

fn new_table(engine: &Engine) -> Result<TableSpec, EngineError> {
    let space = engine.create_space()?;
    let column = |ty, nullable| Column { ty, nullable };
    let columns = vec![
        column(ColumnType::int(IntSize::Int, false), false),
        column(ColumnType::int(IntSize::Int, false), true),
        column(ColumnType::varchar(2000, Collation::BINARY), false),
        column(ColumnType::Blob { length_bytes: 4, collation: Collation::BINARY }, false),
    ];
    let mut indexes = Vec::new();
    for (at, kind) in [TreeKind::Clustered, TreeKind::Secondary].into_iter().enumerate() {
        let (id, root) = engine.create_tree(space, kind)?;
        let parts = vec![KeyPart::ascending(at)];
        indexes.push(IndexSpec {
            id,
            space: None,
            since: Lsn::NONE,
            root,
            unique: at == 0,
            parts,
            name: format!("index{at}"),
        });
    }
    Ok(TableSpec {
        id: engine.new_table_id(),
        version: 1,
        space,
        layout: Arc::new(RowLayout::new(columns)),
        formats: Arc::default(),
        indexes,
        auto_increment: None,
        name: format!("test.t{space}"),
        // Its rows become events; what it says is not looked at here.
        definition: Arc::from(&b"definition"[..]),
        partitions: Vec::new(),
    })
}

/// Columns of a table that has the additional one.
const WITH_EXTRA: usize = 5;
const EXTRA: Value = Value::Int(7);

/// Adds a column behind the first one, or drops it again, and touches no row. Nobody has changed the table without committing.
pub(crate) fn alter(world: &mut World, history: &mut History, at: usize, null: bool) -> Outcome<()> {
    let mut specs = history.specs.clone();
    let spec = &mut specs[at];
    let mut columns = spec.layout.columns().to_vec();
    let mut sources: Vec<Source> = (0..columns.len() as u32).map(Source::Column).collect();
    if columns.len() == WITH_EXTRA {
        columns.remove(1);
        sources.remove(1);
    } else {
        columns.insert(1, Column { ty: ColumnType::int(IntSize::Int, false), nullable: true });
        let value = Source::Value([7, 0, 0, 0].as_slice().into());
        sources.insert(1, if null { Source::Null } else { value });
    }
    let mut formats: Vec<_> = spec.formats.iter().map(|format| format.followed_by(&sources)).collect();
    formats.push(OldFormat::new(&spec.layout, world.engine.log().reserved_lsn(), sources));
    for index in &mut spec.indexes[1..] {
        index.parts = vec![KeyPart { column: columns.len() - 3, ..index.parts[0] }];
    }
    (spec.layout, spec.formats) = (Arc::new(RowLayout::new(columns)), formats.into());
    spec.version += 1;
    world.engine.log().wait_durable(world.engine.log().ready_lsn())?;
    history.defined(specs);
    world.open_tables(history);
    Ok(())
}

pub(crate) fn encode(table: &Table, id: i64, row: &Row) -> Vec<u8> {
    let number = row.number.map_or(Value::Null, Value::Int);
    let bytes = |text: Text| Value::str(&text.bytes(), Collation::BINARY);
    let mut out = Vec::new();
    let mut values = vec![Value::Int(id), number, bytes(row.word), bytes(row.long)];
    if table.spec().layout.len() == WITH_EXTRA {
        values.insert(1, EXTRA);
    }
    encode_row(&table.spec().layout, &values, &mut out).expect("the row fits its columns");
    out
}

pub(crate) fn key_of(table: &Table, id: i64) -> Vec<u8> {
    let mut out = Vec::new();
    let values = [Value::Int(id)];
    key::encode_values(&table.spec().layout, &table.spec().indexes[0].parts, &values, &mut out)
        .expect("an int is a key");
    out
}

fn decode(table: &Table, row: &RowBuf) -> (i64, Row) {
    decode_body(&table.spec().layout, &row.body)
}

pub(crate) fn decode_body(layout: &RowLayout, body: &[u8]) -> (i64, Row) {
    let mut values = Vec::new();
    let view = RowView::new(layout, body).expect("a whole row");
    view.values(&mut values).expect("whole values");
    if layout.len() == WITH_EXTRA {
        let extra = values.remove(1);
        assert!(matches!(extra, Value::Null | Value::Int(7)), "extra column {extra:?}");
    }
    let text = |value: &Value| match value {
        Value::Str(text) => Text::of(text.bytes()).expect("bytes as they were written"),
        other => panic!("not a string: {other:?}"),
    };
    let number = match values[1] {
        Value::Int(number) => Some(number),
        _ => None,
    };
    let Value::Int(id) = values[0] else { panic!("id {:?}", values[0]) };
    (id, Row { number, word: text(&values[2]), long: text(&values[3]) })
}
