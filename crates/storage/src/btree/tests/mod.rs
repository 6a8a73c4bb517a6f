//! Trees on the real buffer pool and log, over a simulated disk.

mod concurrent;
mod model;
mod redo;
mod structure;

use std::sync::Arc;
use std::time::Duration;

use base::{IndexId, Lsn, PageId, PageNo, SpaceId, TableId, TrxId};
use env::{Clock, Disk, ManualClock, SimDisk};
use log::{FrameStart, Log, LogConfig};
use log_format::record::{PagePart, PreviousVersion, Record, RowDelete, RowInsert, SecIndex};
use page_format::{PageOp, SLOT_SIZE, Stamp, clustered_size};

use super::{Seek, Tree, TreeKind, create_space};
use crate::mtr::Store;
use crate::pool::{BufferPool, PoolConfig, WalBarrier};

const SPACE: SpaceId = SpaceId(3);
const INDEX: IndexId = IndexId(11);
const TRX: TrxId = TrxId(1000);

struct Barrier(Arc<Log>);

impl WalBarrier for Barrier {
    fn make_durable(&self, page_lsn: Lsn) -> Result<(), String> {
        self.0.wait_durable(page_lsn + 1).map_err(|error| error.to_string())
    }
    fn reserved_lsn(&self) -> Lsn {
        self.0.reserved_lsn()
    }
}

/// A store on a simulated disk.
struct World {
    sim: SimDisk,
    store: Store,
    config: LogConfig,
    first_frame: FrameStart,
}

fn pool(disk: Arc<dyn Disk>, log: &Arc<Log>, frames: usize) -> Arc<BufferPool> {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(Duration::ZERO));
    let config = PoolConfig { doublewrite: false, ..PoolConfig::with_frames(frames) };
    BufferPool::open(disk, config, Arc::new(Barrier(Arc::clone(log))), clock).unwrap()
}

impl World {
    fn new(frames: usize) -> Self {
        let world = Self::without_space(frames);
        create_space(&world.store, SPACE).unwrap();
        world
    }
    /// With a file for the space, and nothing in it.
    fn without_space(frames: usize) -> Self {
        let sim = SimDisk::new(7);
        let config = LogConfig {
            ring_size: 1 << 22,
            pipeline: log::Pipeline::default(),
            segment_size: 1 << 26,
            server_id: 1,
            server_uuid: [1; 16],
            clock: Arc::new(ManualClock::new(Duration::from_secs(1_800_000_000))),
        };
        let log = Log::create(sim.disk(), config.clone()).unwrap();
        let first_frame = log.frame_start_before(log.reserved_lsn());
        let pool = pool(sim.disk(), &log, frames);
        pool.create_space(SPACE).unwrap();
        let store = Store::new(pool, log);
        store.set_reexecute(true);
        Self { sim, store, config, first_frame }
    }
    fn clustered(&self) -> Tree {
        Tree::create(&self.store, SPACE, INDEX, TreeKind::Clustered).unwrap()
    }
    fn secondary(&self) -> Tree {
        Tree::create(&self.store, SPACE, INDEX, TreeKind::Secondary).unwrap()
    }
    /// All records of the log, in order.
    fn records(&self) -> Vec<(Lsn, Vec<u8>)> {
        self.store.log.wait_durable(self.store.log.reserved_lsn()).unwrap();
        self.store.log.shutdown().unwrap();
        let mut records = Vec::new();
        let mut visit = |lsn, bytes: &[u8]| {
            records.push((lsn, bytes.to_vec()));
            Ok(())
        };
        Log::open(self.sim.disk(), self.config.clone(), self.first_frame, Lsn::NONE, &mut visit).unwrap();
        records
    }
}

/// Inserts a row in place, or after making room; false when the key is there.
fn insert_row(store: &Store, tree: &Tree, key: &[u8], body: &[u8]) -> bool {
    let size = clustered_size(key.len(), body.len());
    let mut leaf = tree.write(store, key).unwrap();
    if leaf.exact() {
        return false;
    }
    if !leaf.has_room(size).unwrap() {
        drop(leaf);
        leaf = tree.make_room(store, key, size + SLOT_SIZE).unwrap();
        if leaf.exact() {
            return false;
        }
    }
    let op = PageOp::InsertRow { slot: leaf.slot(), flags: 0, stamp: Stamp::Own(TRX), key, body };
    leaf.log(op, |part| {
        Record::RowInsert(RowInsert {
            trx: TRX,
            previous: Lsn::NONE,
            table: TableId(5),
            table_version: 1,
            announce: None,
            flags: 0,
            part,
            over: None,
        })
    })
    .unwrap();
    true
}

/// Removes a record as purge does; false when it is not there.
fn remove(store: &Store, tree: &Tree, key: &[u8]) -> bool {
    let mut leaf = tree.write(store, key).unwrap();
    if !leaf.exact() {
        return false;
    }
    leaf.log_system(PageOp::Remove { slot: leaf.slot(), count: 1 }).unwrap();
    let sparse = leaf.is_sparse().unwrap();
    drop(leaf);
    if sparse {
        tree.shrink(store, key).unwrap();
    }
    true
}

fn insert_key(store: &Store, tree: &Tree, key: &[u8]) -> bool {
    let mut leaf = tree.make_room(store, key, key.len() + 1 + SLOT_SIZE).unwrap();
    if leaf.exact() {
        return false;
    }
    let op = PageOp::InsertKey { slot: leaf.slot(), deleted: false, trx: TRX, key };
    leaf.log(op, |part| {
        Record::SecIndex(SecIndex { trx: TRX, previous: Lsn::NONE, index: INDEX, part, key })
    })
    .unwrap();
    true
}

fn mark_deleted(store: &Store, tree: &Tree, key: &[u8]) {
    let mut leaf = tree.write(store, key).unwrap();
    let record = leaf.record().unwrap();
    let version = PreviousVersion { trx: record.trx, roll: record.roll };
    let op = PageOp::MarkRow { slot: leaf.slot(), deleted: true, stamp: Stamp::Own(TRX) };
    leaf.log(op, |part: PagePart<'_>| {
        Record::RowDelete(RowDelete {
            trx: TRX,
            previous: Lsn::NONE,
            table: TableId(5),
            table_version: 1,
            announce: None,
            flags: 0,
            part,
            version,
            key,
            before: None,
            context: None,
        })
    })
    .unwrap();
}

fn keys(store: &Store, tree: &Tree) -> Vec<Vec<u8>> {
    let mut cursor = tree.seek(store, Seek::First).unwrap();
    let mut found = Vec::new();
    while cursor.is_valid() {
        found.push(cursor.key().unwrap().to_vec());
        cursor.move_next().unwrap();
    }
    found
}

fn keys_backwards(store: &Store, tree: &Tree) -> Vec<Vec<u8>> {
    let mut cursor = tree.seek(store, Seek::Last).unwrap();
    let mut found = Vec::new();
    while cursor.is_valid() {
        found.push(cursor.key().unwrap().to_vec());
        cursor.move_prev().unwrap();
    }
    found
}

fn used_pages(store: &Store) -> u32 {
    let page = store.pool.read(PageId::new(SPACE, PageNo(0)), crate::pool::AccessHint::Normal).unwrap();
    page_format::used_count(&page)
}
