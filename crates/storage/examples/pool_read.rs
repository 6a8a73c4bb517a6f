//! How long a hot page read takes: `cargo run --release -p storage --example pool_read [threads]`.

use base::{Lsn, PageId, PageNo, SpaceId};
use env::{Clock, RealClock, SimDisk};
use std::sync::Arc;
use storage::pool::{AccessHint, BufferPool, PoolConfig, WalBarrier};

struct NoLog;

impl WalBarrier for NoLog {
    fn make_durable(&self, _: Lsn) -> Result<(), String> {
        Ok(())
    }
    fn reserved_lsn(&self) -> Lsn {
        Lsn(1)
    }
}

const PAGES: u32 = 4096;
const ROUNDS: u32 = 2000;

fn main() {
    let threads: u32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    let clock = Arc::new(RealClock::new());
    let config = PoolConfig::with_frames(2 * PAGES as usize);
    let pool =
        BufferPool::open(SimDisk::new(1).disk(), config, Arc::new(NoLog), clock.clone()).expect("opens");
    pool.create_space(SpaceId(1)).expect("a new space");
    for no in 0..PAGES {
        pool.create(id(no)).expect("room").mark_dirty(Lsn(1));
    }
    for (name, pages) in [("16 pages", 16), ("4096 pages", PAGES)] {
        let start = clock.monotonic();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let pool = &*pool;
                scope.spawn(move || read_pages(pool, pages, thread));
            }
        });
        let nanos = (clock.monotonic() - start).as_nanos() as f64;
        println!("{name}: {:.1} ns per read and thread", nanos / f64::from(ROUNDS * PAGES));
    }
}

fn id(no: u32) -> PageId {
    PageId::new(SpaceId(1), PageNo(no))
}

/// In an order that the prefetcher does not guess.
fn read_pages(pool: &BufferPool, pages: u32, thread: u32) {
    let mut no = thread;
    for _ in 0..ROUNDS * PAGES {
        no = no.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let page = pool.read(id((no >> 8) % pages), AccessHint::Normal).expect("in memory");
        std::hint::black_box(page[0]);
    }
}
