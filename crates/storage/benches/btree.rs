//! Nanoseconds of the tree's hot paths on one thread: `cargo bench -p storage --bench btree`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use base::{IndexId, Lsn, SpaceId, TableId, TrxId};
use env::{Clock, ManualClock, Random, SimDisk};
use log::{Log, LogConfig};
use log_format::record::{Before, PreviousVersion, Record, RowDelete, RowInsert, RowUpdate};
use page_format::{PageOp, SLOT_SIZE, SplicesBuf, Stamp, clustered_size};
use storage::btree::{Seek, Tree, TreeKind, create_space};
use storage::mtr::Store;
use storage::pool::{BufferPool, PoolConfig, WalBarrier};

const SPACE: SpaceId = SpaceId(1);
const TABLE: TableId = TableId(1);
const TRX: TrxId = TrxId(100_000);
const ROWS: u32 = 100_000;

struct Barrier(Arc<Log>);

impl WalBarrier for Barrier {
    fn make_durable(&self, page_lsn: Lsn) -> Result<(), String> {
        self.0.wait_durable(page_lsn + 1).map_err(|error| error.to_string())
    }
    fn reserved_lsn(&self) -> Lsn {
        self.0.reserved_lsn()
    }
}

fn store() -> Store {
    let sim = SimDisk::new(1);
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(Duration::ZERO));
    let config = LogConfig {
        ring_size: 1 << 30,
        pipeline: log::Pipeline::default(),
        segment_size: 1 << 30,
        server_id: 1,
        server_uuid: [0; 16],
        clock: Arc::clone(&clock),
    };
    let log = Log::create(sim.disk(), config).expect("log");
    let barrier = Arc::new(Barrier(Arc::clone(&log)));
    let pool = BufferPool::open(sim.disk(), PoolConfig::with_frames(16_384), barrier, clock).expect("pool");
    pool.create_space(SPACE).expect("space");
    let store = Store::new(pool, log);
    create_space(&store, SPACE).expect("space");
    store
}

fn insert(store: &Store, tree: &Tree, key: &[u8], body: &[u8]) {
    let size = clustered_size(key.len(), body.len());
    let mut leaf = tree.write(store, key).expect("leaf");
    if !leaf.has_room(size).expect("view") {
        drop(leaf);
        leaf = tree.make_room(store, key, size + SLOT_SIZE).expect("room");
    }
    let op = PageOp::InsertRow { slot: leaf.slot(), flags: 0, stamp: Stamp::Own(TRX), key, body };
    let record = |part| {
        Record::RowInsert(RowInsert {
            trx: TRX,
            previous: Lsn::NONE,
            table: TABLE,
            table_version: 1,
            announce: None,
            flags: 1,
            part,
            over: None,
        })
    };
    leaf.log(op, record).expect("insert");
}

fn update(store: &Store, tree: &Tree, key: &[u8], new: &[u8], splices: &mut SplicesBuf) {
    let mut leaf = tree.write(store, key).expect("leaf");
    let old = leaf.record().expect("record");
    let version = PreviousVersion { trx: old.trx, roll: old.roll };
    let before = old.body.to_vec();
    splices.diff(&before, new);
    let (stamp, splices) = (Stamp::Own(TRX), splices.splices());
    let op = PageOp::UpdateRow { slot: leaf.slot(), flags: 0, stamp, splices };
    let record = |part| {
        Record::RowUpdate(RowUpdate {
            trx: TRX,
            previous: Lsn::NONE,
            table: TABLE,
            table_version: 1,
            announce: None,
            flags: 1,
            part,
            version,
            key,
            before: Before::Full(&before),
            context: None,
        })
    };
    leaf.log(op, record).expect("update");
}

fn mark(store: &Store, tree: &Tree, key: &[u8]) {
    let mut leaf = tree.write(store, key).expect("leaf");
    let old = leaf.record().expect("record");
    let version = PreviousVersion { trx: old.trx, roll: old.roll };
    let op = PageOp::MarkRow { slot: leaf.slot(), deleted: true, stamp: Stamp::Own(TRX) };
    let record = |part| {
        Record::RowDelete(RowDelete {
            trx: TRX,
            previous: Lsn::NONE,
            table: TABLE,
            table_version: 1,
            announce: None,
            flags: 1,
            part,
            version,
            key,
            before: None,
            context: None,
        })
    };
    leaf.log(op, record).expect("delete");
}

/// Nanoseconds this thread has run: others on the machine do not count.
fn ran() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
    stat.split(' ').next().and_then(|field| field.parse().ok()).expect("time on the processor")
}

fn measure(name: &str, count: u32, mut work: impl FnMut(u32)) {
    let mut best = f64::MAX;
    for _ in 0..3 {
        let start = ran();
        for n in 0..count {
            work(n);
        }
        best = best.min((ran() - start) / f64::from(count));
    }
    println!("{name:32} {best:8.0} ns");
}

fn main() {
    let store = store();
    let tree = Tree::create(&store, SPACE, IndexId(1), TreeKind::Clustered).expect("tree");
    let start = ran();
    for n in 0..ROWS {
        insert(&store, &tree, &n.to_be_bytes(), &[7; 190]);
    }
    let loaded = (ran() - start) / f64::from(ROWS);
    println!("{:32} {loaded:8.0} ns", "insert in key order");
    println!("depth {}", tree.depth(&store).expect("depth"));
    let mut random = Random::seeded(3);
    let keys: Vec<[u8; 4]> =
        (0..4096).map(|_| (random.below(u64::from(ROWS)) as u32).to_be_bytes()).collect();
    let key = |n: u32| &keys[n as usize % keys.len()];
    measure("point lookup", 1_000_000, |n| {
        let cursor = tree.seek(&store, Seek::AtLeast(key(n))).expect("seek");
        black_box(cursor.record().expect("record").body.len());
    });
    let start = ran();
    let mut cursor = tree.seek(&store, Seek::First).expect("seek");
    let mut rows = 0u32;
    while cursor.is_valid() {
        black_box(cursor.record().expect("record").body.len());
        rows += 1;
        cursor.move_next().expect("next");
    }
    drop(cursor);
    println!("{:32} {:8.0} ns", "scan, per row", (ran() - start) / f64::from(rows));
    let mut splices = SplicesBuf::new();
    measure("update in place", 200_000, |n| {
        let mut body = [7; 190];
        body[5..9].copy_from_slice(&n.to_le_bytes());
        update(&store, &tree, key(n), &body, &mut splices);
    });
    measure("delete-mark", 200_000, |n| mark(&store, &tree, key(n)));
    let keys = Tree::create(&store, SPACE, IndexId(2), TreeKind::Clustered).expect("tree");
    let start = ran();
    for _ in 0..ROWS {
        insert(&store, &keys, &random.next_u64().to_be_bytes(), &[7; 190]);
    }
    let loaded = (ran() - start) / f64::from(ROWS);
    println!("{:32} {loaded:8.0} ns", "insert in random order");
}
