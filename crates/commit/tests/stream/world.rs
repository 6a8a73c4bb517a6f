//! An engine with tables, its commit order and its binary log, driven by hand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::{IndexId, TableId};
use binlog::{Binlog, ReadError, Start};
use binlog_file::{Files, Names};
use charset::Collation;
use commit::{Committer, FileOptions, FileStart, Found, GtidPositions, Numbering};
use env::{Clock, ManualClock, SimDisk};
use log::FlushPolicy;
use log_format::definition::{DefinedColumn, Definition, Shape};
use row_format::{Column, ColumnType, IntSize, KeyPart, RowLayout, RowView, encode_row, key};
use storage::btree::TreeKind;
use storage::engine::{Engine, EngineConfig, EngineError, Shutdown};
use storage::pool::PoolConfig;
use storage::row::{Direction, KeyRange, ReadMode, RowBuf, RowError, Strength, WaitMode};
use storage::table::{IndexSpec, Table, TableSource, TableSpec};
use storage::trx::{Isolation, LogOptions, Trx, TrxOptions};
use types::Value;

use crate::replica::Reads;

pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A row's columns as they are packed, without length bytes; `None` is NULL.
pub(crate) type Row = Vec<Option<Vec<u8>>>;
/// Rows of each table by their first column.
pub(crate) type State = BTreeMap<String, BTreeMap<i32, Row>>;

pub(crate) const TABLES: usize = 3;
/// FULL
pub(crate) const FULL: u8 = 2;

#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) ring: usize,
    pub(crate) segment: u64,
    pub(crate) policy: FlushPolicy,
    pub(crate) state_interval: u64,
    pub(crate) image: u8,
    /// The binary log is in files of its own.
    pub(crate) files: Option<FileOptions>,
    pub(crate) binlog: bool,
    /// Statements say which columns they write.
    pub(crate) says_written: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            ring: 256 << 10,
            segment: 128 << 10,
            policy: FlushPolicy::Sync,
            state_interval: 16 << 10,
            image: FULL,
            files: None,
            binlog: true,
            says_written: true,
        }
    }
}

pub(crate) struct World {
    pub(crate) engine: Arc<Engine>,
    pub(crate) committer: Arc<Committer>,
    pub(crate) binlog: Arc<Binlog>,
    pub(crate) files: Option<Arc<Files>>,
    /// What the start with files had to say.
    pub(crate) notes: Vec<String>,
    pub(crate) tables: Vec<Arc<Table>>,
    setup: Setup,
}

struct Tables(Vec<Arc<Table>>);

impl TableSource for Tables {
    fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.0.iter().find(|table| table.spec().id == id).cloned()
    }
    fn table_of_index(&self, id: IndexId) -> Option<Arc<Table>> {
        self.0.iter().find(|t| t.spec().indexes.iter().any(|index| index.id == id)).cloned()
    }
}

impl World {
    /// Opens the directory; `specs` are the tables, empty at the first time.
    pub(crate) fn open(sim: &SimDisk, setup: Setup, specs: &mut Vec<TableSpec>) -> Outcome<Self> {
        let pool =
            PoolConfig { free_frame_timeout: Duration::from_millis(50), ..PoolConfig::with_frames(200) };
        let config = EngineConfig {
            log_ring_size: setup.ring,
            log_segment_size: setup.segment,
            checkpoint_age: 1 << 20,
            flush_policy: setup.policy,
            pool,
            background: false,
            ..EngineConfig::with_frames(200)
        };
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(Duration::from_secs(1_800_000_000)));
        let engine = Engine::open(config, sim.disk(), Arc::clone(&clock))?;
        let found = &engine.report().recovered;
        let positions = GtidPositions::from_gtids(found.gtids.iter().copied());
        let committer = Arc::new(Committer::new(Arc::clone(engine.log()), clock, positions));
        let source = Arc::clone(&committer);
        engine.set_gtid_source(move || source.state());
        committer.keep_for_commits(found.binlog_needs);
        committer.set_state_interval(setup.state_interval);
        let (log, feed) = (Arc::clone(engine.log()), Arc::clone(committer.feed()));
        let binlog = Arc::new(Binlog::new(log, feed, &found.extension, found.binlog_starts));
        let (keeper, extension) = (Arc::clone(&binlog), Arc::clone(&binlog));
        let in_files = setup.files.is_some();
        if in_files {
            // Definitions may stand in the segment before a transaction's first record.
            let (kernel, log) = (Arc::clone(engine.kernel()), Arc::clone(engine.log()));
            engine.set_log_keeper(move || {
                let (needed, segments) = (kernel.needed_log(), log.segments());
                let holding = segments.iter().rposition(|s| s.start <= needed);
                holding.map_or(needed, |at| segments[at.saturating_sub(1)].start)
            });
        } else {
            engine.set_log_keeper(move || keeper.needed());
        }
        engine.set_checkpoint_extension(move || {
            let mut bytes = extension.extension();
            bytes.push(u8::from(in_files));
            bytes
        });
        let (files, notes) = match setup.files {
            Some(options) => {
                let (files, notes) = open_files(sim, &engine, &committer, &binlog, options)?;
                (Some(files), notes)
            }
            None => (None, Vec::new()),
        };
        let mut world = Self { engine, committer, binlog, files, notes, tables: Vec::new(), setup };
        if specs.is_empty() {
            let made: Result<Vec<_>, _> = (0..TABLES).map(|n| new_table(&world.engine, n)).collect();
            let made = made?;
            world.engine.log().wait_durable(world.engine.log().ready_lsn())?;
            *specs = made;
        }
        world.tables = specs.iter().map(|spec| world.engine.open_table(spec.clone())).collect();
        world.engine.start(Arc::new(Tables(world.tables.clone())))?;
        Ok(world)
    }

    /// A reader of the binary log, wherever it is.
    pub(crate) fn reader(&self, start: Start) -> Result<Box<dyn Reads>, ReadError> {
        Ok(match &self.files {
            Some(files) => Box::new(files.reader(start)?),
            None => Box::new(self.binlog.reader(start)?),
        })
    }

    /// FLUSH BINARY LOGS.
    pub(crate) fn next_file(&self) -> Outcome<()> {
        match &self.files {
            Some(_) => Ok(self.committer.next_file(&[])?),
            None => Ok(self.binlog.rotate().map(|_| ())?),
        }
    }

    /// A new world on a disk of its own.
    pub(crate) fn new(setup: Setup) -> (Self, SimDisk, Vec<TableSpec>) {
        let sim = SimDisk::new(7);
        let mut specs = Vec::new();
        let world = Self::open(&sim, setup, &mut specs).expect("a new directory");
        (world, sim, specs)
    }

    pub(crate) fn begin(&self) -> Trx {
        let binlog = self.setup.binlog;
        let texts_in_memory = self.setup.files.is_some();
        let event_options = self.setup.image;
        let log = LogOptions { replicate: binlog, full_image: binlog, event_options, texts_in_memory };
        self.engine.begin(TrxOptions {
            isolation: Isolation::ReadCommitted,
            lock_wait_timeout: Duration::ZERO,
            log,
            ..TrxOptions::default()
        })
    }

    pub(crate) fn commit(&self, trx: Trx) -> Outcome<commit::Done> {
        let numbering = Numbering { domain_id: 0, server_id: 1, seq_no: None, thread_id: 9, flags: 0 };
        Ok(self.committer.commit(trx, self.setup.binlog.then_some(numbering))?)
    }

    /// As a statement says it, if that matters.
    fn say_written(&self, trx: &mut Trx, table: &Table, columns: u8) {
        if self.setup.says_written && trx.wants_written_columns().is_some() {
            trx.set_written_columns(table, [columns].into());
        }
    }

    pub(crate) fn insert(&self, trx: &mut Trx, table: usize, row: &NewRow) -> Result<(), RowError> {
        let table = &self.tables[table];
        self.say_written(trx, table, 0b1111);
        trx.insert(table, &row.encode(table))
    }

    /// Reads the row in order to change it; false when there is none.
    pub(crate) fn find(
        &self,
        trx: &mut Trx,
        table: usize,
        id: i32,
        row: &mut RowBuf,
    ) -> Result<bool, RowError> {
        let table = &self.tables[table];
        let mode = ReadMode::Locking { strength: Strength::Exclusive, wait: WaitMode::Wait };
        trx.get(table, 0, &key_of(table, id), mode, row)
    }

    pub(crate) fn update(
        &self,
        trx: &mut Trx,
        table: usize,
        id: i32,
        new: &NewRow,
    ) -> Result<bool, RowError> {
        let mut row = RowBuf::new();
        if !self.find(trx, table, id, &mut row)? {
            return Ok(false);
        }
        let table = &self.tables[table];
        let body = new.encode(table);
        // Every fourth row is written whole, whether it changes or not.
        let written = if new.id % 4 == 3 { 0b1111 } else { changed_columns(table, &row.body, &body) };
        self.say_written(trx, table, written);
        trx.update(table, &row, &body).map(|()| true)
    }

    pub(crate) fn delete(&self, trx: &mut Trx, table: usize, id: i32) -> Result<bool, RowError> {
        let mut row = RowBuf::new();
        if !self.find(trx, table, id, &mut row)? {
            return Ok(false);
        }
        trx.delete(&self.tables[table], &row).map(|()| true)
    }

    /// What the tables hold.
    pub(crate) fn state(&self) -> State {
        let mut state = State::new();
        for (n, table) in self.tables.iter().enumerate() {
            let mut trx = self.begin();
            let mut scan = trx.scan(table, 0, KeyRange::all(), Direction::Forward, ReadMode::Consistent);
            let mut row = RowBuf::new();
            let rows = state.entry(format!("t{n}")).or_default();
            while scan.next(&mut trx, &mut row).expect("a scan") {
                let view = RowView::new(&table.spec().layout, &row.body).expect("a row");
                let columns: Row = view.columns().map(|c| c.expect("a column").map(<[u8]>::to_vec)).collect();
                let id = i32::from_le_bytes(columns[0].clone().expect("an id").try_into().expect("4 bytes"));
                rows.insert(id, columns);
            }
        }
        state
    }

    pub(crate) fn durable(&self) -> Outcome<()> {
        Ok(self.engine.log().wait_durable(self.engine.log().ready_lsn())?)
    }

    pub(crate) fn shutdown(&self) {
        self.committer.close_files();
        self.engine.shutdown(Shutdown::Fast).expect("a clean shutdown");
    }
}

/// The binary log in files, reconciled with the engine's log.
fn open_files(
    sim: &SimDisk,
    engine: &Arc<Engine>,
    committer: &Committer,
    groups: &Arc<Binlog>,
    options: FileOptions,
) -> Outcome<(Arc<Files>, Vec<String>)> {
    let files = Files::open(sim.disk(), Names::new("binlog", None, "./"))?;
    let recovered = &engine.report().recovered;
    let found = Found {
        gtids: recovered.gtids.clone(),
        is_in_file: recovered.last_in_file.unwrap_or_else(|| recovered.extension.get(8) == Some(&1)),
        pending: engine.take_pending(),
        prepared: engine.take_prepared(),
    };
    let mut start = FileStart::decide(&files, found)?;
    start.carry_out(&files, engine.log(), committer.now_micros())?;
    engine.add_losers(std::mem::take(&mut start.losers));
    engine.return_prepared(std::mem::take(&mut start.prepared));
    engine.kernel().trxs.decide_in_file();
    let positions = std::mem::take(&mut start.positions);
    committer.log_to_files(Arc::clone(&files), Arc::clone(groups), options, positions)?;
    Ok((files, std::mem::take(&mut start.notes)))
}

/// A row to be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewRow {
    pub(crate) id: i32,
    pub(crate) number: Option<i32>,
    pub(crate) word: Vec<u8>,
    pub(crate) long: Vec<u8>,
}

impl NewRow {
    pub(crate) fn small(id: i32) -> Self {
        Self { id, number: Some(id * 10), word: format!("word {id}").into(), long: Vec::new() }
    }
    fn encode(&self, table: &Table) -> Vec<u8> {
        let number = self.number.map_or(Value::Null, |n| Value::Int(n.into()));
        let text = |bytes: &[u8]| Value::str(bytes, Collation::BINARY);
        let values = [Value::Int(self.id.into()), number, text(&self.word), text(&self.long)];
        let mut out = Vec::new();
        encode_row(&table.spec().layout, &values, &mut out).expect("the row fits its columns");
        out
    }
}

/// A bit for each column that differs.
fn changed_columns(table: &Table, old: &[u8], new: &[u8]) -> u8 {
    let layout = &table.spec().layout;
    let view = |body| RowView::new(layout, body).expect("a row");
    let (old, new) = (view(old), view(new));
    let differs = |i: &usize| old.column(*i).expect("a column") != new.column(*i).expect("a column");
    (0..layout.columns().len()).filter(differs).fold(0, |bits, i| bits | 1 << i)
}

fn key_of(table: &Table, id: i32) -> Vec<u8> {
    let mut out = Vec::new();
    let parts = &table.spec().indexes[0].parts;
    key::encode_values(&table.spec().layout, parts, &[Value::Int(id.into())], &mut out).expect("a key");
    out
}

/// `test.t<n>(id int primary key, number int null, word varchar(2000), long longblob, key (number))`
fn new_table(engine: &Engine, n: usize) -> Result<TableSpec, EngineError> {
    let space = engine.create_space()?;
    let columns = vec![
        ("id", ColumnType::int(IntSize::Int, false), false),
        ("number", ColumnType::int(IntSize::Int, false), true),
        ("word", ColumnType::varchar(2000, Collation::BINARY), false),
        ("long", ColumnType::Blob { length_bytes: 4, collation: Collation::BINARY }, false),
    ];
    let mut indexes = Vec::new();
    for (at, kind) in [TreeKind::Clustered, TreeKind::Secondary].into_iter().enumerate() {
        let (id, root) = engine.create_tree(space, kind)?;
        let parts = vec![KeyPart::ascending(at)];
        indexes.push(IndexSpec {
            id,
            space: None,
            since: base::Lsn::NONE,
            root,
            unique: at == 0,
            parts,
            name: format!("index{at}"),
        });
    }
    let defined = |(name, ty, nullable): &(&str, ColumnType, bool)| {
        let mut metadata = Vec::new();
        ty.binlog_metadata(&mut metadata);
        DefinedColumn {
            name: (*name).to_owned(),
            type_code: ty.binlog_type(),
            metadata,
            shape: match ty.fixed_len() {
                Some(len) => Shape::Fixed(len as u32),
                None => Shape::Prefixed(ty.length_bytes() as u8),
            },
            nullable: *nullable,
            unsigned: false,
            collation: ty.collation().map(Collation::id),
            members: None,
            generated: false,
        }
    };
    let definition = Definition {
        database: "test".into(),
        table: format!("t{n}"),
        columns: columns.iter().map(defined).collect(),
        primary_key: vec![(0, 0)],
    };
    let mut encoded = Vec::new();
    definition.encode(&mut encoded);
    let columns = columns.into_iter().map(|(_, ty, nullable)| Column { ty, nullable }).collect();
    Ok(TableSpec {
        id: engine.new_table_id(),
        version: 1,
        space,
        layout: Arc::new(RowLayout::new(columns)),
        formats: Arc::default(),
        indexes,
        auto_increment: None,
        name: format!("test.t{n}"),
        definition: encoded.into(),
        partitions: Vec::new(),
    })
}
