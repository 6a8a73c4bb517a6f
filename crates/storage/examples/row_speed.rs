//! Speed of the row interface, one thread, everything in memory: `cargo run --release -p storage --example row_speed`.
//!
//! The table is sysbench's: `(id int primary key, k int, c char(120), pad char(60))` with an index on k. Commits are appended to the
//! log but not waited for, so the times are the engine's: descent, lock check, log, apply.

use std::sync::Arc;
use std::time::Duration;

use base::{IndexId, Lsn, SpaceId, TableId, TrxId};
use charset::Collation;
use env::{Clock, Random, RealClock, SimDisk};
use log::{FlushPolicy, Log, LogConfig};
use row_format::{Column, ColumnType, IntSize, KeyPart, RowLayout, encode_row, key};
use storage::btree::{Tree, TreeKind, create_space};
use storage::kernel::Kernel;
use storage::mtr::Store;
use storage::pool::{BufferPool, PoolConfig, WalBarrier};
use storage::purge::Purge;
use storage::row::{Change, Direction, KeyRange, ReadMode, RowBuf, Strength, WaitMode};
use storage::table::{IndexSpec, Table, TableSource, TableSpec};
use storage::trx::{Trx, TrxOptions};
use types::Value;

const ROWS: u64 = 100_000;
const ROUNDS: u64 = 200_000;

/// Time this thread has had a processor: other work on the machine does not count.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts a thread's time");
    let nanos = stat.split(' ').next().and_then(|n| n.parse().ok()).expect("nanoseconds first");
    Duration::from_nanos(nanos)
}

struct Barrier(Arc<Log>);

impl WalBarrier for Barrier {
    fn make_durable(&self, page_lsn: Lsn) -> Result<(), String> {
        self.0.wait_durable(page_lsn + 1).map_err(|error| error.to_string())
    }
    fn reserved_lsn(&self) -> Lsn {
        self.0.reserved_lsn()
    }
}

struct One(Arc<Table>);

impl TableSource for One {
    fn table(&self, _: TableId) -> Option<Arc<Table>> {
        Some(Arc::clone(&self.0))
    }
    fn table_of_index(&self, _: IndexId) -> Option<Arc<Table>> {
        Some(Arc::clone(&self.0))
    }
}

struct Bench {
    kernel: Arc<Kernel>,
    table: Arc<Table>,
    random: Random,
}

fn kernel() -> (Arc<Kernel>, storage::kernel::PurgeQueue) {
    let disk = SimDisk::new(1).disk();
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let config = LogConfig {
        ring_size: 64 << 20,
        pipeline: log::Pipeline::default(),
        segment_size: 1 << 30,
        server_id: 1,
        server_uuid: [1; 16],
        clock: Arc::clone(&clock),
    };
    let log = Log::create(Arc::clone(&disk), config).expect("a log");
    log.set_flush_policy(FlushPolicy::Lazy);
    let settings = PoolConfig { doublewrite: false, ..PoolConfig::with_frames(8192) };
    let barrier = Arc::new(Barrier(Arc::clone(&log)));
    let pool = BufferPool::open(disk, settings, barrier, Arc::clone(&clock)).expect("a pool");
    Kernel::new(Store::new(pool, log), clock, TrxId(1))
}

fn sbtest(kernel: &Kernel) -> Arc<Table> {
    let space = SpaceId(1);
    kernel.store.pool.create_space(space).expect("a file");
    create_space(&kernel.store, space).expect("a space");
    let int = Column { ty: ColumnType::int(IntSize::Int, false), nullable: false };
    let char = |n| Column { ty: ColumnType::char(n, Collation::BINARY), nullable: false };
    let layout = Arc::new(RowLayout::new(vec![int.clone(), int, char(120), char(60)]));
    let index = |id: u64, kind, column, unique| {
        let tree = Tree::create(&kernel.store, space, IndexId(id), kind).expect("a tree");
        let parts = vec![KeyPart::ascending(column)];
        let (id, space, since, name) = (IndexId(id), None, Lsn::NONE, format!("i{id}"));
        IndexSpec { id, space, since, root: tree.root(), unique, parts, name }
    };
    let indexes = vec![index(1, TreeKind::Clustered, 0, true), index(2, TreeKind::Secondary, 1, false)];
    let (id, name) = (TableId(1), "sbtest1".to_owned());
    Table::new(TableSpec {
        id,
        version: 1,
        space,
        layout,
        formats: Arc::default(),
        indexes,
        auto_increment: None,
        name,
        definition: Arc::default(),
        partitions: Vec::new(),
    })
}

impl Bench {
    fn key(&self, id: u64) -> Vec<u8> {
        let mut out = Vec::new();
        let spec = self.table.spec();
        key::encode_values(&spec.layout, &spec.indexes[0].parts, &[Value::Int(id as i64)], &mut out)
            .expect("a key");
        out
    }
    fn body(&mut self, id: u64) -> Vec<u8> {
        let mut text = |n: usize| {
            let bytes: Vec<u8> = (0..n).map(|_| b'0' + self.random.below(10) as u8).collect();
            Value::str(bytes.as_slice(), Collation::BINARY)
        };
        let (c, pad) = (text(119), text(59));
        let values = [Value::Int(id as i64), Value::Int(self.random.below(ROWS) as i64), c, pad];
        let mut out = Vec::new();
        encode_row(&self.table.spec().layout, &values, &mut out).expect("a row");
        out
    }
    fn begin(&self) -> Trx {
        self.kernel.begin(TrxOptions::default())
    }
    fn load(&mut self) {
        let mut trx = self.begin();
        for id in 0..ROWS {
            let body = self.body(id);
            trx.insert(&self.table, &body).expect("an insert");
        }
        trx.commit().expect("a commit");
    }
    /// Nanoseconds of one `work`, which gets a random id and a prepared body for it.
    fn measure(
        &mut self,
        name: &str,
        rounds: u64,
        mut work: impl FnMut(&Arc<Kernel>, &Arc<Table>, &[u8], &[u8]),
    ) {
        let ids: Vec<u64> = (0..rounds).map(|_| self.random.below(ROWS)).collect();
        let prepared: Vec<_> = ids.iter().take(4096).map(|id| (self.key(*id), self.body(*id))).collect();
        let start = cpu_time();
        for at in 0..rounds as usize {
            let (key, body) = &prepared[at % prepared.len()];
            work(&self.kernel, &self.table, key, body);
        }
        let spent = cpu_time() - start;
        println!("{name:<48} {:>8.0} ns", spent.as_nanos() as f64 / rounds as f64);
    }
}

fn main() {
    let (kernel, queue) = kernel();
    let table = sbtest(&kernel);
    let mut purge = Purge::new(Arc::clone(&kernel), Arc::new(One(Arc::clone(&table))), queue);
    let mut bench = Bench { kernel, table, random: Random::seeded(7) };
    bench.load();
    let mut run_purge = || while purge.run(10_000).expect("purge").transactions > 0 {};
    run_purge();
    reads(&mut bench);
    writes(&mut bench, &mut run_purge);
}

fn reads(bench: &mut Bench) {
    let mut trx = bench.begin();
    let mut row = RowBuf::new();
    bench.measure("get by primary key, one snapshot", ROUNDS, |_, table, key, _| {
        assert!(trx.get(table, 0, key, ReadMode::Consistent, &mut row).expect("a read"));
    });
    bench.measure("begin, get by primary key, commit", ROUNDS, |kernel, table, key, _| {
        let mut trx = kernel.begin(TrxOptions::default());
        assert!(trx.get(table, 0, key, ReadMode::Consistent, &mut row).expect("a read"));
        trx.commit().expect("a commit");
    });
    bench.measure("scan of 100 rows by primary key", ROUNDS / 20, |_, table, key, _| {
        let range = KeyRange { lower: std::ops::Bound::Included(key.to_vec()), ..KeyRange::all() };
        let mut scan = trx.scan(table, 0, range, Direction::Forward, ReadMode::Consistent).expect_rows(100);
        for _ in 0..100 {
            if !scan.next(&mut trx, &mut row).expect("a row") {
                break;
            }
        }
    });
}

fn writes(bench: &mut Bench, purge: &mut dyn FnMut()) {
    // Only c differs: bytes 8 + 1 (bitmap) + 1 (length) on.
    let c = |old: &[u8], new: &[u8], out: &mut Vec<u8>| {
        out.extend_from_slice(old);
        out[10..129].copy_from_slice(&new[10..129]);
        Change::Update
    };
    let mut trx = bench.begin();
    bench.measure("update of one column by primary key (modify)", ROUNDS, |_, table, key, body| {
        trx.modify(table, key, WaitMode::Wait, &mut |old, out| c(old, body, out)).expect("an update");
    });
    trx.commit().expect("a commit");
    bench.measure("begin, update of one column, commit", ROUNDS, |kernel, table, key, body| {
        let mut trx = kernel.begin(TrxOptions::default());
        trx.modify(table, key, WaitMode::Wait, &mut |old, out| c(old, body, out)).expect("an update");
        trx.commit().expect("a commit");
    });
    purge();
    bench.measure("begin, get for update, update, commit", ROUNDS, |kernel, table, key, body| {
        let mut trx = kernel.begin(TrxOptions::default());
        let mode = ReadMode::Locking { strength: Strength::Exclusive, wait: WaitMode::Wait };
        let (mut row, mut new) = (RowBuf::new(), Vec::new());
        assert!(trx.get(table, 0, key, mode, &mut row).expect("a read"));
        c(&row.body, body, &mut new);
        trx.update(table, &row, &new).expect("an update");
        trx.commit().expect("a commit");
    });
    purge();
    let whole = |body: &[u8], out: &mut Vec<u8>| {
        out.extend_from_slice(body);
        Change::Update
    };
    bench.measure("begin, update with the indexed column, commit", ROUNDS / 4, |kernel, table, key, body| {
        let mut trx = kernel.begin(TrxOptions::default());
        trx.modify(table, key, WaitMode::Wait, &mut |_, out| whole(body, out)).expect("an update");
        trx.commit().expect("a commit");
    });
    purge();
    bench.measure("begin, delete and insert, commit", ROUNDS / 4, |kernel, table, key, body| {
        let mut trx = kernel.begin(TrxOptions::default());
        trx.modify(table, key, WaitMode::Wait, &mut |_, _| Change::Delete).expect("a delete");
        trx.insert(table, body).expect("an insert");
        trx.commit().expect("a commit");
    });
    let before = cpu_time();
    purge();
    let spent = cpu_time() - before;
    println!(
        "{:<48} {:>8.0} ns",
        "purge of one such transaction",
        spent.as_nanos() as f64 / (ROUNDS / 4) as f64
    );
}
