//! Which pages stay: each rule of lazy promotion and of S3-FIFO as a story, then scan resistance of both.

use super::*;
use crate::pool::evict::SweepLimit;
use crate::pool::state::{OLD, PROMOTE, SCANNED, uses};

const BOTH: [Replacement; 2] = [Replacement::LazyLru, Replacement::S3Fifo];

/// A pool with the midpoint list whose pages 0..pages are in memory and clean.
fn warm(frames: usize, pages: u32, old_blocks_time_ms: u64) -> Rig {
    warm_with(Replacement::LazyLru, frames, pages, old_blocks_time_ms)
}

fn warm_with(replacement: Replacement, frames: usize, pages: u32, old_blocks_time_ms: u64) -> Rig {
    let rig = Rig::new(11, PoolConfig { replacement, old_blocks_time_ms, ..config(frames) });
    for no in 0..pages {
        rig.make(no, 1);
    }
    rig.pool.flush_all().unwrap();
    rig
}

fn flags(rig: &Rig, no: u32) -> u32 {
    let bucket = rig.pool.table.lock(id(no));
    bucket.find(&rig.pool.frames, id(no)).map_or(0, |no| rig.pool.frames.get(no).flags())
}

fn is_promoted(rig: &Rig, no: u32) -> bool {
    flags(rig, no) & PROMOTE != 0
}

/// Looks at `scan` frames from the old end and frees what it may.
fn sweep(rig: &Rig, scan: usize) -> usize {
    rig.pool.sweep(&SweepLimit { free: usize::MAX, scan, dirty: 0, yields: false }).freed
}

fn check_list(rig: &Rig) {
    rig.pool.lru().check(&rig.pool.frames);
}

#[test]
fn a_burst_of_touches_proves_nothing_and_a_later_touch_does() {
    let rig = warm(256, 100, 1000);
    for _ in 0..50 {
        rig.value(5);
    }
    assert!(!is_promoted(&rig, 5));
    rig.pass(1);
    rig.value(5);
    assert!(!is_promoted(&rig, 5), "one tick can be shorter than a second: not yet");
    rig.pass(1);
    rig.value(5);
    assert!(is_promoted(&rig, 5));
}

#[test]
fn without_old_blocks_time_every_touch_promotes() {
    let rig = warm(256, 100, 0);
    rig.value(5);
    assert!(is_promoted(&rig, 5));
}

#[test]
fn old_blocks_time_is_rounded_up_to_seconds() {
    let rig = warm(256, 100, 1001);
    rig.pass(2);
    rig.value(5);
    assert!(!is_promoted(&rig, 5));
    rig.pass(1);
    rig.value(5);
    assert!(is_promoted(&rig, 5));
    // And it can be changed while the server runs; more than 18 hours means 18 hours.
    rig.pool.set_old_blocks_time(u64::MAX);
    rig.pass(65_534);
    rig.value(6);
    assert!(!is_promoted(&rig, 6));
    rig.pool.set_old_blocks_time(0);
    rig.value(6);
    assert!(is_promoted(&rig, 6));
}

#[test]
fn a_scan_hint_never_promotes() {
    let rig = warm(256, 100, 1000);
    for _ in 0..5 {
        rig.pass(10);
        drop(rig.pool.read(id(5), AccessHint::Scan).unwrap());
    }
    assert!(!is_promoted(&rig, 5));
    rig.value(5);
    assert!(is_promoted(&rig, 5));
}

#[test]
fn a_hit_moves_nothing_and_the_sweep_moves_the_page_once() {
    let rig = warm(256, 256, 1000);
    rig.pass(5);
    let old_page = (0..256).rev().find(|no| flags(&rig, *no) & OLD != 0).unwrap();
    rig.value(old_page);
    assert_eq!(flags(&rig, old_page) & (OLD | PROMOTE), OLD | PROMOTE, "decided, not moved");
    assert_eq!(rig.pool.counters().pages_made_young, 0);
    let old_pages = rig.pool.counters().pages_old as usize;
    let freed = sweep(&rig, old_pages);
    assert_eq!(rig.pool.counters().pages_made_young, 1);
    assert_eq!(freed, old_pages - 1);
    assert!(rig.pool.contains(id(old_page)));
    assert_eq!(flags(&rig, old_page) & (OLD | PROMOTE), 0);
    check_list(&rig);
    // Its clock started again: an immediate touch proves nothing.
    rig.value(old_page);
    assert!(!is_promoted(&rig, old_page));
}

#[test]
fn the_sweep_counts_its_visits_to_pages_that_did_not_prove_themselves() {
    let rig = warm(256, 256, 1000);
    let latched: Vec<_> = (0..256).map(|no| rig.pool.read(id(no), AccessHint::Normal).unwrap()).collect();
    // Latched pages cannot be evicted, so the sweep visits and leaves them.
    let old = rig.pool.counters().pages_old;
    assert_eq!(sweep(&rig, 10_000), 0);
    let counters = rig.pool.counters();
    assert_eq!((counters.pages_made_young, counters.pages_made_not_young), (0, old));
    drop(latched);
}

#[test]
fn young_pages_are_saved_too_except_by_the_flush_for_age() {
    let rig = warm(256, 256, 1000);
    rig.pass(5);
    let young = (0..256).find(|no| flags(&rig, *no) & OLD == 0).unwrap();
    rig.set(young, 2);
    assert!(is_promoted(&rig, young));
    rig.pool.flush_all().unwrap();
    assert!(is_promoted(&rig, young), "moving it would not have saved it");
    sweep(&rig, 256);
    assert!(rig.pool.contains(id(young)));
    assert_eq!(rig.pool.counters().pages_made_young, 0, "only old pages count");

    let rig = warm(256, 256, 1000);
    rig.pass(5);
    let old = (0..256).find(|no| flags(&rig, *no) & OLD != 0).unwrap();
    rig.set(old, 2);
    rig.pool.flush_all().unwrap();
    assert_eq!(flags(&rig, old) & (OLD | PROMOTE), 0, "the flush for age moved it");
    assert_eq!(rig.pool.counters().pages_made_young, 1);
}

#[test]
fn new_pages_enter_at_the_midpoint() {
    let rig = warm(256, 250, 1000);
    rig.make(250, 1);
    assert!(flags(&rig, 250) & OLD != 0);
    let old = rig.pool.counters().pages_old as f64 / 251.0;
    assert!((0.28..0.46).contains(&old), "3/8 of the list is old: {old}");
    rig.pool.set_old_blocks_pct(60);
    check_list(&rig);
    let old = rig.pool.counters().pages_old as f64 / 251.0;
    assert!((0.51..0.69).contains(&old), "{old}");
}

#[test]
fn a_short_list_has_no_old_part() {
    let rig = warm(4096, 511, 1000);
    assert_eq!(rig.pool.counters().pages_old, 0);
    rig.make(511, 1);
    assert!(rig.pool.counters().pages_old > 150);
    check_list(&rig);
    rig.pool.flush_all().unwrap();
    rig.pool.discard(id(0));
    assert_eq!(rig.pool.counters().pages_old, 0);
    check_list(&rig);
}

#[test]
fn the_lists_stay_whole_under_random_use() {
    BOTH.into_iter().for_each(check_random_use);
}

fn check_random_use(replacement: Replacement) {
    let rig = Rig::new(12, PoolConfig { replacement, ..config(128) });
    let mut random = env::Random::seeded(12);
    for step in 0..20_000 {
        let no = (random.unit() * random.unit() * 400.0) as u32;
        match random.below(10) {
            0 => drop(rig.make(no, 1)),
            1 => rig.pass(random.below(3)),
            2 => rig.pool.clean_once().unwrap(),
            3 => drop(rig.pool.discard(id(no))),
            _ => match rig.pool.read(id(no), AccessHint::Normal) {
                Ok(_) | Err(PoolError::Missing(_)) => {}
                Err(error) => panic!("{error}"),
            },
        }
        if step % 500 == 0 {
            check_list(&rig);
            let counters = rig.pool.counters();
            assert_eq!(counters.pages_data + counters.pages_free, 128, "{counters:?}");
        }
    }
}

/// Reads each page of a range with several touches, as a scan that fetches rows one by one, `per_second` pages a second.
fn scan(rig: &Rig, pages: std::ops::Range<u32>, per_second: u32) {
    for no in pages {
        for _ in 0..9 {
            drop(rig.pool.read(id(no), AccessHint::Normal).unwrap());
        }
        if no % 16 == 0 {
            rig.pool.clean_once().unwrap();
        }
        if no % per_second == 0 {
            rig.pass(1);
        }
    }
}

/// The scenario of the server test for scan resistance: a pool of 1024 frames; tables t0 and t2 of five times the pool, t1 of
/// 250 pages, t3 of 50. Page ranges of one space stand for the tables.
struct Tables {
    t0: std::ops::Range<u32>,
    t1: std::ops::Range<u32>,
    t2: std::ops::Range<u32>,
    t3: std::ops::Range<u32>,
}

fn tables(replacement: Replacement) -> (Rig, Tables) {
    let rig = Rig::new(13, PoolConfig { replacement, lru_scan_depth: 100, ..config(1024) });
    let t = Tables { t0: 0..5000, t1: 5000..5250, t2: 6000..11_000, t3: 11_000..11_050 };
    for no in 0..11_050 {
        rig.make(no, 1);
        if no % 64 == 0 {
            rig.pool.clean_once().unwrap();
        }
    }
    rig.pool.flush_all().unwrap();
    (rig, t)
}

fn resident(rig: &Rig, pages: &std::ops::Range<u32>) -> usize {
    pages.clone().filter(|no| rig.pool.contains(id(*no))).count()
}

/// Starts again with an empty pool.
fn restart(rig: Rig) -> Rig {
    let config = rig.pool.config().clone();
    drop(rig.pool);
    Rig::on(rig.sim, config).unwrap()
}

#[test]
fn scans_do_not_promote_even_when_the_sweep_comes_late() {
    for replacement in BOTH {
        let (rig, t) = tables(replacement);
        let rig = restart(rig);
        scan(&rig, t.t0, 2000);
        scan(&rig, t.t2, 2000);
        let made_young = rig.pool.counters().pages_made_young;
        // The server test allows 200; about 1000 come without the protection.
        assert_eq!(made_young, 0, "{replacement:?}");
    }
}

#[test]
fn a_scan_does_not_evict_the_working_set() {
    for replacement in BOTH {
        let (rig, t) = tables(replacement);
        let rig = restart(rig);
        scan(&rig, t.t2.clone(), 2000);
        scan(&rig, t.t1.clone(), 2000);
        let loaded = resident(&rig, &t.t1);
        scan(&rig, t.t3.clone(), 2000);
        rig.pass(3);
        scan(&rig, t.t3.clone(), 2000);
        assert_eq!((loaded, resident(&rig, &t.t3)), (250, 50), "{replacement:?}");
        scan(&rig, t.t0, 2000);
        assert_eq!(resident(&rig, &t.t1), 0, "{replacement:?}: read once, gone");
        assert_eq!(resident(&rig, &t.t3), 50, "{replacement:?}: read again later, still there");
    }
}

/// The weak spot of the midpoint list: when pages cross the old part faster than old_blocks_time, nothing is ever promoted.
/// A skewed load on a small pool, 5000 page reads a second.
#[test]
fn a_small_busy_pool_learns_its_hot_pages_with_s3_fifo() {
    let [lazy, fifo] = BOTH.map(|replacement| {
        let rig = Rig::new(14, PoolConfig { replacement, ..config(256) });
        for no in 0..4096 {
            rig.make(no, 1);
        }
        rig.pool.flush_all().unwrap();
        let mut random = env::Random::seeded(14);
        let mut visit = |n: u32| {
            for step in 1..=n {
                // Four fifths of the reads go to an eighth of the pages, and so on inside.
                let no = (4096.0 * random.unit().powi(5)) as u32;
                rig.value(no);
                rig.value(no);
                if step % 5000 == 0 {
                    rig.pass(1);
                }
            }
        };
        visit(20_000);
        let before = rig.pool.counters().reads;
        visit(40_000);
        100 - (rig.pool.counters().reads - before) * 100 / 40_000
    });
    assert!(fifo >= lazy + 3, "hit ratio {lazy}% with the midpoint list, {fifo}% with S3-FIFO");
}

#[test]
fn a_page_in_the_small_queue_proves_itself_after_a_while_of_time_or_loads() {
    let rig = warm_with(Replacement::S3Fifo, 1000, 100, 1000);
    for _ in 0..10 {
        rig.value(99);
    }
    assert_eq!(uses(flags(&rig, 99)), 0, "a burst");
    rig.pass(2);
    rig.value(99);
    rig.value(99);
    assert_eq!(uses(flags(&rig, 99)), 1, "time passed, and the gate is closed again");
    // A small queue holds 100 frames here; half of that must be loaded.
    for no in 100..140 {
        rig.make(no, 1);
    }
    rig.value(98);
    assert_eq!(uses(flags(&rig, 98)), 1, "older than two seconds");
    rig.value(139);
    assert_eq!(uses(flags(&rig, 139)), 0);
    for no in 140..200 {
        rig.make(no, 1);
    }
    rig.value(139);
    assert_eq!(uses(flags(&rig, 139)), 1, "sixty loads passed");
    rig.pass(100);
    for _ in 0..10 {
        drop(rig.pool.read(id(140), AccessHint::Scan).unwrap());
    }
    assert_eq!(uses(flags(&rig, 140)), 0, "a scan never counts");
}

#[test]
fn a_hinted_scan_takes_nothing_from_running_point_reads() {
    let rig = Rig::new(15, PoolConfig { replacement: Replacement::S3Fifo, ..config(256) });
    for no in 0..45_000 {
        rig.make(no, 1);
        if no % 64 == 0 {
            rig.pool.clean_once().unwrap();
        }
    }
    rig.pool.flush_all().unwrap();
    let mut random = env::Random::seeded(15);
    // Hit ratio of 10,000 point reads; each page of a scan beside them is asked for three times.
    let mut visit = |scanned: std::ops::Range<u32>| {
        let (mut hits, mut scanned) = (0, scanned);
        for step in 1..=10_000 {
            let no = (4096.0 * random.unit().powi(5)) as u32;
            hits += u32::from(rig.pool.contains(id(no)));
            rig.value(no);
            rig.value(no);
            for page in scanned.by_ref().take(4) {
                (0..3).for_each(|_| drop(rig.pool.read(id(page), AccessHint::Scan).unwrap()));
            }
            if step % 16 == 0 {
                rig.pool.clean_once().unwrap();
            }
            if step % 5000 == 0 {
                rig.pass(1);
            }
        }
        f64::from(hits) / 100.0
    };
    (0..6).for_each(|_| _ = visit(0..0));
    let before = (visit(0..0) + visit(0..0) + visit(0..0)) / 3.0;
    let (during, after) = (visit(5000..45_000), visit(0..0));
    assert!(
        during > before - 1.0 && after > before - 1.0,
        "{before:.2} % before, {during:.2} during, {after:.2} after"
    );
    check_list(&rig);
}

#[test]
fn a_scanned_page_goes_first_unless_somebody_else_wanted_it() {
    let rig = restart(warm_with(Replacement::S3Fifo, 1000, 200, 1000)); // nothing is loaded, nothing remembered
    let scanned = |no: u32| drop(rig.pool.read(id(no), AccessHint::Scan).unwrap());
    rig.value(10);
    (20..30).for_each(scanned);
    rig.value(25);
    assert_eq!(sweep(&rig, 10), 9);
    assert!(rig.pool.contains(id(10)));
    let kept: Vec<u32> = (20..30).filter(|no| rig.pool.contains(id(*no))).collect();
    assert_eq!(kept, [25], "on probation now");
    assert_eq!(flags(&rig, 25) & (OLD | PROMOTE | SCANNED), OLD);
    rig.value(24);
    assert!(flags(&rig, 24) & OLD != 0, "the scan's pages are news again");
    check_list(&rig);
}

#[test]
fn used_pages_go_from_the_small_queue_to_the_main_queue_and_lose_a_use_a_round() {
    let rig = warm_with(Replacement::S3Fifo, 1000, 200, 1000);
    assert_eq!(rig.pool.counters().pages_old, 200, "all on probation");
    rig.pool.set_old_blocks_time(0);
    for no in 0..10 {
        rig.value(no);
    }
    assert_eq!(sweep(&rig, 10), 0);
    let counters = rig.pool.counters();
    assert_eq!((counters.pages_made_young, counters.pages_old), (10, 190), "ten were used");
    for _ in 0..10 {
        rig.value(0);
    }
    assert_eq!(uses(flags(&rig, 0)), 3, "no more than three");
    check_list(&rig);
    let freed = sweep(&rig, 10_000);
    assert_eq!(freed, 200, "a sweep that goes on takes every page in the end");
    check_list(&rig);
}

#[test]
fn a_page_that_comes_back_soon_enters_the_main_queue() {
    let rig = warm_with(Replacement::S3Fifo, 1000, 200, 1000);
    assert!(sweep(&rig, 150) >= 100);
    let gone: Vec<u32> = (0..200).filter(|no| !rig.pool.contains(id(*no))).take(2).collect();
    rig.value(gone[0]);
    assert_eq!(flags(&rig, gone[0]) & OLD, 0, "it was remembered");
    drop(rig.pool.read(id(gone[1]), AccessHint::Scan).unwrap());
    assert!(flags(&rig, gone[1]) & OLD != 0, "a scan that comes round proves nothing");
}
