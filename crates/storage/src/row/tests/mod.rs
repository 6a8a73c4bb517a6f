//! The row interface over the real pool, trees and log, on a simulated disk.

mod basics;
mod formats;
mod hermitage;
mod history;
mod locking;
mod online;
mod overflow;
mod stress;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::{IndexId, Lsn, SpaceId, TableId, TrxId};
use charset::Collation;
use env::{Clock, Disk, ManualClock, RealClock, SimDisk};
use log::{Log, LogConfig};
use row_format::{Column, ColumnType, IntSize, KeyPart, RowLayout, RowView, encode_row, key};
use types::Value;

use super::{ReadMode, RowBuf, RowError, Strength, WaitMode};
use crate::btree::{Tree, TreeKind, create_space};
use crate::kernel::Kernel;
use crate::mtr::Store;
use crate::pool::{BufferPool, PoolConfig, WalBarrier};
use crate::purge::Purge;
use crate::table::{IndexSpec, Table, TableSource, TableSpec};
use crate::trx::{Isolation, Trx, TrxOptions};

struct Barrier(Arc<Log>);

impl WalBarrier for Barrier {
    fn make_durable(&self, page_lsn: Lsn) -> Result<(), String> {
        self.0.wait_durable(page_lsn + 1).map_err(|error| error.to_string())
    }
    fn reserved_lsn(&self) -> Lsn {
        self.0.reserved_lsn()
    }
}

#[derive(Default)]
struct Tables(Mutex<HashMap<TableId, Arc<Table>>>);

impl TableSource for Tables {
    fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.0.lock().unwrap().get(&id).cloned()
    }
    fn table_of_index(&self, id: IndexId) -> Option<Arc<Table>> {
        self.0.lock().unwrap().values().find(|t| t.index_position(id).is_some()).cloned()
    }
}

/// An engine without background threads.
struct World {
    kernel: Arc<Kernel>,
    tables: Arc<Tables>,
    purge: Mutex<Purge>,
}

impl World {
    fn new() -> Self {
        Self::with_frames(512)
    }

    fn with_frames(frames: usize) -> Self {
        let sim = SimDisk::new(7);
        let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
        let still: Arc<dyn Clock> = Arc::new(ManualClock::new(Duration::from_secs(1_800_000_000)));
        let config = LogConfig {
            ring_size: 1 << 24,
            pipeline: log::Pipeline::default(),
            segment_size: 1 << 26,
            server_id: 1,
            server_uuid: [1; 16],
            clock: Arc::clone(&still),
        };
        let log = Log::create(sim.disk(), config).unwrap();
        let disk: Arc<dyn Disk> = sim.disk();
        let settings = PoolConfig { doublewrite: false, ..PoolConfig::with_frames(frames) };
        let pool = BufferPool::open(disk, settings, Arc::new(Barrier(Arc::clone(&log))), still).unwrap();
        let store = Store::new(pool, log);
        store.set_reexecute(true);
        let (kernel, queue) = Kernel::new(store, clock, TrxId(1));
        let tables = Arc::new(Tables::default());
        let purge = Purge::new(Arc::clone(&kernel), Arc::clone(&tables) as Arc<dyn TableSource>, queue);
        Self { kernel, tables, purge: Mutex::new(purge) }
    }

    /// `columns`, the number of leading key columns of the primary key (0 = hidden), and secondary indexes (unique, columns).
    fn table(
        &self,
        id: u64,
        columns: Vec<Column>,
        primary: usize,
        secondary: &[(bool, &[usize])],
    ) -> Arc<Table> {
        let space = SpaceId(id as u32);
        self.kernel.store.pool.create_space(space).unwrap();
        create_space(&self.kernel.store, space).unwrap();
        let layout = Arc::new(RowLayout::new(columns));
        let parts = |columns: &[usize]| columns.iter().map(|c| KeyPart::ascending(*c)).collect::<Vec<_>>();
        let mut indexes = Vec::new();
        let first: Vec<usize> = (0..primary).collect();
        for (at, (unique, columns)) in
            std::iter::once((true, &first[..])).chain(secondary.iter().copied()).enumerate()
        {
            let index = IndexId(id * 100 + at as u64);
            let kind = if at == 0 { TreeKind::Clustered } else { TreeKind::Secondary };
            let tree = Tree::create(&self.kernel.store, space, index, kind).unwrap();
            let name = if at == 0 { "PRIMARY".to_owned() } else { format!("k{at}") };
            let (space, since) = (None, Lsn::NONE);
            let (root, parts) = (tree.root(), parts(columns));
            indexes.push(IndexSpec { id: index, space, since, root, unique, parts, name });
        }
        let table = Table::new(TableSpec {
            id: TableId(id),
            version: 1,
            space,
            layout,
            formats: Arc::default(),
            indexes,
            auto_increment: None,
            name: format!("test.t{id}"),
            definition: Arc::default(),
            partitions: Vec::new(),
        });
        self.tables.0.lock().unwrap().insert(TableId(id), Arc::clone(&table));
        table
    }

    /// `test(id int primary key, value int)`, with an index on `value` if wanted.
    fn pairs(&self, id: u64, indexed: bool) -> Pairs {
        let secondary: &[(bool, &[usize])] = if indexed { &[(false, &[1])] } else { &[] };
        Pairs(self.table(id, vec![int(), int()], 1, secondary))
    }

    fn begin(&self, isolation: Isolation) -> Trx {
        self.begin_with(TrxOptions { isolation, ..TrxOptions::default() })
    }
    fn begin_with(&self, options: TrxOptions) -> Trx {
        self.kernel.begin(options)
    }
    /// Commits and waits for durability, as a session does.
    fn commit(&self, trx: Trx) {
        if let Some(record) = trx.commit().unwrap() {
            self.kernel.store.log.wait_durable(record.end).unwrap();
        }
    }
    /// Runs purge until nothing is left that it may remove.
    fn purge(&self) {
        let mut purge = self.purge.lock().unwrap();
        while purge.run(1000).unwrap().transactions > 0 {}
    }
    fn check(&self, table: &Arc<Table>) {
        let mut trx = self.begin(Isolation::RepeatableRead);
        let report = trx.check_table(table, &mut || false).unwrap();
        assert!(report.is_sound(), "{}: {:#?}", table.spec().name, report.problems);
    }
    /// Records in a tree, delete-marked ones included.
    fn records(&self, table: &Table, index: usize) -> u64 {
        let mut count = 0;
        let mut visit = |_: &page_format::LeafRecord<'_>| {
            count += 1;
            Ok(())
        };
        table.tree(index).check_with(&self.kernel.store, &mut visit).unwrap();
        count
    }
}

fn int() -> Column {
    Column { ty: ColumnType::int(IntSize::Int, false), nullable: false }
}
fn nullable_int() -> Column {
    Column { nullable: true, ..int() }
}
fn varchar(chars: u16) -> Column {
    Column { ty: ColumnType::varchar(chars, Collation::BINARY), nullable: true }
}
fn blob() -> Column {
    Column { ty: ColumnType::Blob { length_bytes: 4, collation: Collation::BINARY }, nullable: true }
}

const EXCLUSIVE: ReadMode = ReadMode::Locking { strength: Strength::Exclusive, wait: WaitMode::Wait };
const SHARED: ReadMode = ReadMode::Locking { strength: Strength::Shared, wait: WaitMode::Wait };

fn body(table: &Table, values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_row(&table.spec().layout, values, &mut out).unwrap();
    out
}
fn key_of(table: &Table, index: usize, values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    key::encode_values(&table.spec().layout, &table.spec().indexes[index].parts, values, &mut out).unwrap();
    out
}
fn values(table: &Table, row: &RowBuf) -> Vec<Value> {
    let mut out = Vec::new();
    RowView::new(&table.spec().layout, &row.body).unwrap().values(&mut out).unwrap();
    out
}

/// The table of the isolation stories: `(id, value)`.
#[derive(Clone)]
struct Pairs(Arc<Table>);

impl Pairs {
    fn key(&self, id: i64) -> Vec<u8> {
        key_of(&self.0, 0, &[Value::Int(id)])
    }
    fn body(&self, id: i64, value: i64) -> Vec<u8> {
        body(&self.0, &[Value::Int(id), Value::Int(value)])
    }
    fn pair(&self, row: &RowBuf) -> (i64, i64) {
        match values(&self.0, row)[..] {
            [Value::Int(id), Value::Int(value)] => (id, value),
            ref other => panic!("not a pair: {other:?}"),
        }
    }
    fn insert(&self, trx: &mut Trx, id: i64, value: i64) -> Result<(), RowError> {
        trx.insert(&self.0, &self.body(id, value))
    }
    fn read(&self, trx: &mut Trx, id: i64, mode: ReadMode) -> Result<Option<i64>, RowError> {
        let mut row = RowBuf::new();
        Ok(trx.get(&self.0, 0, &self.key(id), mode, &mut row)?.then(|| self.pair(&row).1))
    }
    fn get(&self, trx: &mut Trx, id: i64) -> Option<i64> {
        self.read(trx, id, ReadMode::Consistent).unwrap()
    }
    /// `UPDATE test SET value = v WHERE id = id`: true when there was one.
    fn update(&self, trx: &mut Trx, id: i64, value: i64) -> Result<bool, RowError> {
        let body = self.body(id, value);
        let mut decide = |_: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(&body);
            super::Change::Update
        };
        let done = trx.modify(&self.0, &self.key(id), WaitMode::Wait, &mut decide)?;
        Ok(done != super::Modified::Missing)
    }
    fn delete(&self, trx: &mut Trx, id: i64) -> Result<bool, RowError> {
        let mut decide = |_: &[u8], _: &mut Vec<u8>| super::Change::Delete;
        let done = trx.modify(&self.0, &self.key(id), WaitMode::Wait, &mut decide)?;
        Ok(done != super::Modified::Missing)
    }
    /// Rows that `wanted` takes, by a scan of the clustered index.
    fn select(
        &self,
        trx: &mut Trx,
        mode: ReadMode,
        wanted: impl Fn(i64, i64) -> bool,
    ) -> Result<Vec<(i64, i64)>, RowError> {
        let mut scan = trx.scan(&self.0, 0, super::KeyRange::all(), super::Direction::Forward, mode);
        let (mut row, mut found) = (RowBuf::new(), Vec::new());
        while scan.next(trx, &mut row)? {
            let (id, value) = self.pair(&row);
            if wanted(id, value) {
                found.push((id, value));
            } else {
                trx.unlock_row(&self.0, &row);
            }
        }
        Ok(found)
    }
    fn all(&self, trx: &mut Trx) -> Vec<(i64, i64)> {
        self.select(trx, ReadMode::Consistent, |_, _| true).unwrap()
    }
    /// `UPDATE test SET value = f(value) WHERE wanted`, as a scanning statement.
    fn update_where(
        &self,
        trx: &mut Trx,
        wanted: impl Fn(i64, i64) -> bool,
        f: impl Fn(i64) -> i64,
    ) -> Result<usize, RowError> {
        let mut scan = trx.scan(&self.0, 0, super::KeyRange::all(), super::Direction::Forward, EXCLUSIVE);
        let (mut row, mut count) = (RowBuf::new(), 0);
        while scan.next(trx, &mut row)? {
            let (id, value) = self.pair(&row);
            if wanted(id, value) {
                trx.update(&self.0, &row, &self.body(id, f(value)))?;
                count += 1;
            } else {
                trx.unlock_row(&self.0, &row);
            }
        }
        Ok(count)
    }
}
