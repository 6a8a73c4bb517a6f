//! Many threads at once.

use super::*;
use crate::cleaner::Cleaner;

/// Every page holds one value all over; writers raise it. Readers must never see a mixture or a step back, though pages go
/// out and come in all the time.
#[test]
fn readers_see_whole_pages_that_only_move_forward() {
    let rig = Rig::new(31, PoolConfig { free_frame_timeout: Duration::from_secs(20), ..config(32) });
    for no in 0..100 {
        rig.make(no, 1);
    }
    let cleaner = Cleaner::start(rig.pool.clone()).unwrap();
    let floor: Vec<AtomicU64> = (0..100).map(|_| AtomicU64::new(1)).collect();
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (rig, floor) = (&rig, &floor);
            scope.spawn(move || {
                let mut random = env::Random::seeded(thread);
                for _ in 0..3000 {
                    let no = random.below(100) as u32;
                    let seen = floor[no as usize].load(Ordering::SeqCst);
                    if random.one_in(3) {
                        let page = rig.pool.write(id(no), AccessHint::Normal).unwrap();
                        let value = u64::from_le_bytes(page[24..32].try_into().unwrap());
                        assert!(value >= seen);
                        rig.change(page, value + 1);
                        floor[no as usize].fetch_max(value + 1, Ordering::SeqCst);
                    } else {
                        assert!(rig.value(no) >= seen, "page {no} went back");
                    }
                }
            });
        }
        let rig = &rig;
        scope.spawn(move || {
            for _ in 0..30 {
                let target = rig.log.reserved_lsn();
                rig.pool.flush_to(target).unwrap();
                assert!(rig.pool.oldest_rec_lsn().is_none_or(|lsn| lsn >= target));
            }
        });
    });
    assert_eq!(cleaner.take_error(), None);
    drop(cleaner);
    rig.pool.flush_all().unwrap();
    let counters = rig.pool.counters();
    assert_eq!((counters.pages_dirty, counters.pages_misc), (0, 0), "{counters:?}");
    rig.pool.lru().check(&rig.pool.frames);
    let rig = rig.crash();
    for no in 0..100 {
        assert_eq!(rig.value(no), floor[no as usize].load(Ordering::SeqCst));
    }
}

#[test]
fn one_thread_reads_a_missing_page_and_the_others_wait_for_it() {
    let rig = Rig::new(32, config(64));
    rig.make(7, 7);
    rig.pool.flush_all().unwrap();
    for _ in 0..200 {
        assert!(rig.pool.discard(id(7)));
        let before = rig.pool.counters().reads;
        let gate = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    gate.wait();
                    assert_eq!(rig.value(7), 7);
                });
            }
        });
        assert_eq!(rig.pool.counters().reads - before, 1);
    }
}

#[test]
fn spaces_come_and_go_while_others_are_used() {
    let rig = Rig::new(33, PoolConfig { free_frame_timeout: Duration::from_secs(20), ..config(64) });
    for no in 0..100 {
        rig.make(no, 1);
    }
    let cleaner = Cleaner::start(rig.pool.clone()).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (rig, stop) = (&rig, &stop);
            scope.spawn(move || {
                let mut random = env::Random::seeded(thread);
                while !stop.load(Ordering::Relaxed) {
                    let no = random.below(100) as u32;
                    let page = rig.pool.write(id(no), AccessHint::Normal).unwrap();
                    rig.change(page, 1);
                }
            });
        }
        for space in 2..80 {
            rig.pool.create_space(SpaceId(space)).unwrap();
            for no in 0..30 {
                let page = rig.pool.create(PageId::new(SpaceId(space), PageNo(no))).unwrap();
                rig.change(page, u64::from(space));
            }
            rig.pool.drop_space(SpaceId(space)).unwrap();
            assert_eq!(rig.pool.resident_pages(SpaceId(space)), 0);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(cleaner.take_error(), None);
    drop(cleaner);
    rig.pool.flush_all().unwrap();
    let counters = rig.pool.counters();
    assert_eq!((counters.pages_dirty, counters.pages_misc), (0, 0), "{counters:?}");
    assert!((0..100).all(|no| rig.value(no) == 1));
}
