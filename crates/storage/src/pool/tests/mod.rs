//! Tests of the pool on the simulated disk.

mod basics;
mod crashes;
mod damage;
mod rec_lsns;
mod replacement;
#[cfg(feature = "shuttle")]
mod schedules;
mod threads;

use super::*;
use base::{PAGE_SIZE, PageNo};
use env::{ManualClock, SimDisk};
use std::sync::atomic::AtomicBool;

/// A log that is durable when told to be.
#[derive(Default)]
struct FakeLog {
    reserved: AtomicU64,
    durable: AtomicU64,
    fails: AtomicBool,
}

impl FakeLog {
    /// Appends a record; returns its start.
    fn append(&self) -> Lsn {
        Lsn(self.reserved.fetch_add(100, Ordering::AcqRel) + 100)
    }
}

impl WalBarrier for FakeLog {
    fn make_durable(&self, page_lsn: Lsn) -> Result<(), String> {
        if self.fails.load(Ordering::Relaxed) {
            return Err("the log's disk is gone".into());
        }
        self.durable.fetch_max(page_lsn.0, Ordering::AcqRel);
        Ok(())
    }
    fn reserved_lsn(&self) -> Lsn {
        Lsn(self.reserved.load(Ordering::Acquire))
    }
}

/// A pool with its surroundings.
struct Rig {
    sim: SimDisk,
    log: Arc<FakeLog>,
    time: Arc<ManualClock>,
    pool: Arc<BufferPool>,
}

const SPACE: SpaceId = SpaceId(1);

fn id(no: u32) -> PageId {
    PageId::new(SPACE, PageNo(no))
}

/// Small, and impatient when nothing is free.
fn config(frames: usize) -> PoolConfig {
    PoolConfig { free_frame_timeout: Duration::from_millis(20), ..PoolConfig::with_frames(frames) }
}

impl Rig {
    fn new(seed: u64, config: PoolConfig) -> Self {
        let rig = Self::on(SimDisk::new(seed), config).unwrap();
        rig.pool.create_space(SPACE).unwrap();
        rig
    }

    fn on(sim: SimDisk, config: PoolConfig) -> Result<Self, PoolError> {
        let log = Arc::new(FakeLog::default());
        log.reserved.store(1000, Ordering::Relaxed);
        let time = Arc::new(ManualClock::new(Duration::ZERO));
        let pool = BufferPool::open(sim.disk(), config, log.clone(), time.clone())?;
        Ok(Self { sim, log, time, pool })
    }

    /// The machine loses power and the pool starts again.
    fn crash(self) -> Self {
        let config = self.pool.config().clone();
        drop(self.pool);
        self.sim.crash();
        Self::on(self.sim, config).unwrap()
    }

    /// The process ends; what it had written stays in the operating system's cache.
    fn kill(self) -> Self {
        let config = self.pool.config().clone();
        drop(self.pool);
        self.sim.kill();
        Self::on(self.sim, config).unwrap()
    }

    fn make(&self, no: u32, value: u64) -> Lsn {
        let page = self.pool.create(id(no)).unwrap();
        self.change(page, value)
    }

    fn set(&self, no: u32, value: u64) -> Lsn {
        let page = self.pool.write(id(no), AccessHint::Normal).unwrap();
        self.change(page, value)
    }

    /// Logs and makes a change as the engine does.
    fn change(&self, mut page: PageWrite<'_>, value: u64) -> Lsn {
        page.mark_dirty(self.log.reserved_lsn());
        let lsn = self.log.append();
        fill(page.id(), page.bytes_mut(), value, lsn);
        lsn
    }

    fn value(&self, no: u32) -> u64 {
        let page = self.pool.read(id(no), AccessHint::Normal).unwrap();
        check(&page)
    }

    /// The next second of the access clock.
    fn pass(&self, seconds: u64) {
        self.time.advance(Duration::from_secs(seconds));
        self.pool.tick();
    }
}

/// Writes a value all over the page, so that a torn or stale part shows.
fn fill(id: PageId, bytes: &mut [u8; PAGE_SIZE], value: u64, lsn: Lsn) {
    bytes[4..8].copy_from_slice(&id.no.0.to_le_bytes());
    bytes[8..12].copy_from_slice(&id.space.0.to_le_bytes());
    bytes[16..24].copy_from_slice(&lsn.0.to_le_bytes());
    for chunk in bytes[24..].as_chunks_mut::<8>().0 {
        *chunk = value.to_le_bytes();
    }
}

/// The value that is all over the page.
fn check(page: &PageRead<'_>) -> u64 {
    assert_eq!(page_format::header::page_id(page), page.id());
    let chunks = page[24..].as_chunks::<8>().0;
    assert!(chunks.iter().all(|chunk| chunk == &chunks[0]), "{} is a mixture", page.id());
    u64::from_le_bytes(chunks[0])
}
