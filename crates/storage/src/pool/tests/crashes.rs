//! Power loss and failing disks.

use super::*;
use env::{Fault, Operation, Rule};

fn rule(operation: Operation, prefix: &str, skip: u64, times: u64, fault: Fault) -> Rule {
    Rule { operation, path_prefix: prefix.into(), skip, times, fault }
}

#[test]
fn torn_pages_are_repaired_from_the_doublewrite() {
    let mut repaired = 0;
    for seed in 0..60 {
        let rig = Rig::new(seed, config(64));
        for no in 0..20 {
            rig.make(no, 1);
        }
        rig.pool.flush_all().unwrap();
        for no in 0..20 {
            rig.set(no, 2);
        }
        // Written, not synced: each page of the file may be lost, kept or torn.
        rig.pool.flush_some(Lsn::MAX, usize::MAX).unwrap();
        let rig = rig.crash();
        repaired += rig.pool.repaired().len();
        for no in 0..20 {
            let value = rig.value(no);
            assert!(value == 1 || value == 2, "page {no} has {value}");
        }
    }
    assert!(repaired > 200, "only {repaired} pages were torn");
}

#[test]
fn what_a_killed_process_had_written_is_synced_by_the_next() {
    for doublewrite in [true, false] {
        for seed in 0..20 {
            let rig = Rig::new(seed, PoolConfig { doublewrite, ..config(64) });
            for no in 0..20 {
                rig.make(no, 1);
            }
            rig.pool.flush_all().unwrap();
            for no in 0..20 {
                rig.set(no, 2);
            }
            rig.pool.flush_some(Lsn::MAX, usize::MAX).unwrap();
            let rig = rig.kill();
            // Recovery reads the pages and finds nothing to redo; a checkpoint begins with the sync.
            (0..20).for_each(|no| assert_eq!(rig.value(no), 2));
            rig.pool.sync_files().unwrap();
            let rig = rig.crash();
            assert!(rig.pool.repaired().is_empty());
            (0..20).for_each(|no| assert_eq!(rig.value(no), 2));
        }
    }
}

#[test]
fn the_doublewrite_is_what_saves_torn_pages() {
    let mut torn = 0;
    for seed in 0..20 {
        let rig = Rig::new(seed, PoolConfig { doublewrite: false, ..config(64) });
        rig.make(0, 1);
        rig.pool.flush_all().unwrap();
        rig.set(0, 2);
        rig.pool.flush_some(Lsn::MAX, usize::MAX).unwrap();
        let rig = rig.crash();
        let read = rig.pool.read(id(0), AccessHint::Normal);
        torn += usize::from(matches!(read, Err(PoolError::Corrupt(_))));
    }
    assert!(torn > 2, "without it {torn} pages were torn");
}

/// What the engine promises per page: at a crash, redo brings a page to its last durable change if the page is whole and
/// not older than what the checkpoint says.
#[test]
fn at_every_crash_pages_are_whole_and_no_older_than_the_checkpoint() {
    for seed in 0..150 {
        let rig = Rig::new(seed, config(16));
        let mut random = env::Random::seeded(seed);
        // Changes so far per page: (lsn, value); and what the last checkpoint vouches for.
        let mut history: Vec<Vec<(Lsn, u64)>> = vec![Vec::new(); 40];
        let mut vouched = Lsn(0);
        let calls = rig.sim.calls();
        rig.sim.crash_after(calls + 20 + random.below(600));
        for step in 1.. {
            let no = random.below(40) as u32;
            let done = (|| -> Result<(), PoolError> {
                let page = if history[no as usize].is_empty() {
                    rig.pool.create(id(no))?
                } else {
                    rig.pool.write(id(no), AccessHint::Normal)?
                };
                let lsn = rig.change(page, step);
                history[no as usize].push((lsn, step));
                match random.below(8) {
                    0 => rig.pool.clean_once()?,
                    1 => {
                        let reserved = rig.log.reserved_lsn();
                        rig.pool.flush_to(Lsn(reserved.0.saturating_sub(random.below(2000))))?;
                    }
                    2 => rig.pool.sync_files()?,
                    _ => {}
                }
                let reserved = rig.log.reserved_lsn();
                vouched = vouched.max(rig.pool.oldest_rec_lsn().unwrap_or(reserved).min(reserved));
                Ok(())
            })();
            if done.is_err() {
                break;
            }
        }
        let durable = rig.log.durable.load(Ordering::Relaxed);
        let rig = rig.crash();
        for (no, changes) in history.iter().enumerate() {
            let must = changes.iter().rev().find(|(lsn, _)| *lsn <= vouched);
            match rig.pool.read(id(no as u32), AccessHint::Normal) {
                Ok(page) => {
                    let value = check(&page);
                    let lsn = page.page_lsn();
                    assert!(changes.contains(&(lsn, value)), "seed {seed}: page {no} was never like that");
                    assert!(lsn.0 <= durable, "seed {seed}: page {no} is ahead of the log");
                    assert!(must.is_none_or(|(must, _)| *must <= lsn), "seed {seed}: page {no} is too old");
                }
                // Redo begins with the record that formats the page: it does not look at what is there.
                Err(PoolError::Missing(_) | PoolError::Corrupt(_)) => {
                    assert!(must.is_none(), "seed {seed}: page {no} is lost");
                }
                Err(error) => panic!("seed {seed}: page {no}: {error}"),
            }
        }
    }
}

#[test]
fn a_crash_during_the_repair_is_repaired() {
    for seed in 0..40 {
        let rig = Rig::new(seed, config(64));
        for no in 0..20 {
            rig.make(no, 1);
        }
        rig.pool.flush_all().unwrap();
        for no in 0..20 {
            rig.set(no, 2);
        }
        rig.pool.flush_some(Lsn::MAX, usize::MAX).unwrap();
        let config = rig.pool.config().clone();
        rig.sim.crash();
        for calls in [12, 25, 40] {
            rig.sim.crash_after(rig.sim.calls() + calls);
            drop(Rig::on(rig.sim.clone(), config.clone()));
            rig.sim.crash();
        }
        let rig = Rig::on(rig.sim.clone(), config).unwrap();
        for no in 0..20 {
            assert!((1..=2).contains(&rig.value(no)), "seed {seed}, page {no}");
        }
    }
}

#[test]
fn a_page_that_cannot_be_written_stays_dirty_and_is_written_later() {
    for fault in [Fault::Io, Fault::Full, Fault::HalfWrite] {
        let rig = Rig::new(21, config(64));
        for no in 0..3 {
            rig.make(no, 1);
        }
        rig.pool.flush_all().unwrap();
        let first = rig.log.reserved_lsn();
        for no in 0..3 {
            rig.set(no, 2);
        }
        rig.sim.add_rule(rule(Operation::Write, "spaces", 0, 1, fault));
        let error = rig.pool.flush_all().unwrap_err();
        assert!(matches!(&error, PoolError::Disk(e) if e.path == "spaces/000001.morse"), "{error}");
        let counters = rig.pool.counters();
        assert_eq!(counters.pages_dirty, 3);
        assert_eq!(rig.pool.oldest_rec_lsn(), Some(first));
        assert_eq!((rig.value(0), rig.value(2)), (2, 2), "still served from memory");
        rig.pool.flush_all().unwrap();
        assert_eq!(rig.pool.counters().pages_dirty, 0);
        let rig = rig.crash();
        assert_eq!((rig.value(0), rig.value(1), rig.value(2)), (2, 2, 2));
    }
}

/// The half written page must find its copy even when many batches went by since.
#[test]
fn copies_of_half_written_pages_are_kept() {
    let rig = Rig::new(22, config(512));
    for no in 0..300 {
        rig.make(no, 1);
    }
    rig.pool.flush_all().unwrap();
    rig.set(0, 2);
    rig.sim.add_rule(rule(Operation::Write, "spaces", 0, 1, Fault::HalfWrite));
    rig.pool.flush_all().unwrap_err();
    let latched = rig.pool.read(id(0), AccessHint::Normal).unwrap();
    let latched_frame = rig.pool.table.lock(id(0)).find(&rig.pool.frames, id(0)).unwrap();
    for round in 3..30 {
        for no in 1..70 {
            rig.set(no, round);
        }
        let mut others = rig.pool.dirty_below(Lsn::MAX);
        others.retain(|(_, no)| *no != latched_frame);
        rig.pool.flush_candidates(others).unwrap();
    }
    drop(latched);
    rig.pool.sync_files().unwrap();
    let rig = rig.crash();
    assert_eq!(rig.pool.repaired(), [id(0)]);
    assert_eq!(rig.value(0), 2);
    assert_eq!(rig.value(1), 29);
}

#[test]
fn a_disk_that_fails_for_long_and_heals_loses_nothing() {
    let rig = Rig::new(23, config(64));
    for no in 0..50 {
        rig.make(no, 1);
    }
    rig.pool.flush_all().unwrap();
    rig.sim.add_rule(rule(Operation::Write, "spaces", 0, u64::MAX, Fault::HalfWrite));
    for round in 2..40 {
        // Different pages each time, so that every region has to keep some.
        rig.set(round, u64::from(round));
        let frame = rig.pool.table.lock(id(round)).find(&rig.pool.frames, id(round)).unwrap();
        rig.pool.flush_candidates(vec![(id(round), frame)]).unwrap_err();
    }
    rig.sim.clear_rules();
    rig.pool.flush_all().unwrap();
    let rig = rig.crash();
    assert!(rig.pool.repaired().is_empty());
    for no in 2..40 {
        assert_eq!(rig.value(no), u64::from(no));
    }
}

#[test]
fn a_full_volume_shows_when_a_page_is_created_and_not_later() {
    let rig = Rig::new(24, config(64));
    rig.sim.set_capacity((8 * (4096 + 64 * PAGE_SIZE) + 16 * PAGE_SIZE) as u64);
    let mut made = 0;
    let error = loop {
        match rig.pool.create(id(made)) {
            Ok(page) => drop(rig.change(page, 5)),
            Err(error) => break error,
        }
        made += 1;
    };
    assert!(matches!(&error, PoolError::Disk(e) if e.is_full()), "{error}");
    assert_eq!(made, 16);
    rig.pool.flush_all().unwrap();
    let rig = rig.crash();
    assert!((0..made).all(|no| rig.value(no) == 5));
}

#[test]
fn a_read_error_names_the_file_and_costs_no_frame() {
    let rig = Rig::new(25, config(32));
    rig.make(1, 1);
    rig.pool.flush_all().unwrap();
    rig.pool.discard(id(1));
    rig.sim.add_rule(rule(Operation::Read, "spaces", 0, 1, Fault::Io));
    let error = rig.pool.read(id(1), AccessHint::Normal).unwrap_err();
    assert!(error.to_string().starts_with("read of 'spaces/000001.morse' failed"), "{error}");
    assert_eq!(rig.pool.counters().pages_free, 32);
    assert_eq!(rig.value(1), 1);
}

#[test]
fn a_failed_sync_is_final() {
    for prefix in ["spaces", "doublewrite"] {
        let rig = Rig::new(26, config(32));
        rig.make(1, 1);
        rig.pool.flush_all().unwrap();
        rig.set(1, 1);
        rig.sim.add_rule(rule(Operation::Sync, prefix, 0, 1, Fault::Io));
        let first = rig.pool.flush_all().unwrap_err();
        assert!(matches!(first, PoolError::Stopped(_)), "{first}");
        let calls = rig.sim.calls();
        let second = rig.pool.flush_all().unwrap_err();
        assert_eq!(first.to_string(), second.to_string());
        assert!(rig.pool.sync_files().is_err());
        assert_eq!(rig.sim.calls(), calls, "the disk is not touched again");
        assert!(rig.pool.oldest_rec_lsn().is_some(), "no checkpoint may pass what was not synced");
        assert_eq!(rig.value(1), 1, "pages in memory can still be read");
    }
}

#[test]
fn without_the_log_no_page_is_written() {
    let rig = Rig::new(27, config(32));
    let lsn = rig.make(1, 1);
    rig.log.fails.store(true, Ordering::Relaxed);
    let calls = rig.sim.calls();
    assert!(matches!(rig.pool.flush_all(), Err(PoolError::Stopped(_))));
    assert_eq!(rig.sim.calls(), calls);
    assert_eq!(rig.pool.counters().pages_dirty, 1);

    let rig = Rig::new(27, config(32));
    assert_eq!(rig.log.durable.load(Ordering::Relaxed), 0);
    rig.make(1, 1);
    rig.pool.flush_all().unwrap();
    assert_eq!(rig.log.durable.load(Ordering::Relaxed), lsn.0, "the log went first");
}

#[test]
fn damage_in_the_doublewrite_never_reaches_a_page() {
    for seed in 0..200u64 {
        let rig = Rig::new(seed, config(32));
        for no in 0..8 {
            rig.make(no, 1);
        }
        rig.pool.flush_all().unwrap();
        let config = rig.pool.config().clone();
        drop(rig.pool);
        // Somewhere in the first region's header or images.
        rig.sim.flip_bit("doublewrite.morse", env::Random::seeded(seed).below(8 * 4600));
        rig.sim.crash();
        let rig = Rig::on(rig.sim.clone(), config).unwrap();
        assert!((0..8).all(|no| rig.value(no) == 1));
    }
}

#[test]
fn a_page_that_a_panic_left_half_changed_is_never_written() {
    let rig = Rig::new(28, config(32));
    rig.make(1, 1);
    rig.pool.flush_all().unwrap();
    std::thread::scope(|scope| {
        let change = scope.spawn(|| {
            let mut page = rig.pool.write(id(1), AccessHint::Normal).unwrap();
            page.mark_dirty(rig.log.reserved_lsn());
            page.bytes_mut()[100] = 9;
            panic!("a bug in the middle of a change");
        });
        assert!(change.join().is_err());
    });
    let error = rig.pool.flush_all().unwrap_err();
    assert!(error.to_string().ends_with("a thread panicked while it changed page 1:1"), "{error}");
    assert_eq!(rig.crash().value(1), 1);
}

/// New pages go out without copies; from the second write on there is one. What a torn first write leaves is the business of
/// the record that formats the page, see `at_every_crash_pages_are_whole_and_no_older_than_the_checkpoint`.
#[test]
fn the_first_write_of_a_new_page_needs_no_copy() {
    let rig = Rig::new(29, config(128));
    for no in 0..100 {
        rig.make(no, 1);
    }
    rig.pool.flush_all().unwrap();
    let counters = rig.pool.counters();
    assert_eq!((counters.pages_flushed, counters.doublewrite_batches), (100, 0));
    rig.set(7, 2);
    rig.make(100, 1);
    rig.pool.flush_all().unwrap();
    assert_eq!(rig.pool.counters().doublewrite_batches, 1, "page 7 was there before");

    // A page below others that were written counts as written, and so does every page of a file that was opened.
    let rig = Rig::new(29, config(128));
    rig.make(9, 1);
    rig.pool.flush_all().unwrap();
    rig.make(8, 1);
    rig.pool.flush_all().unwrap();
    assert_eq!(rig.pool.counters().doublewrite_batches, 1);
    let rig = rig.crash();
    rig.make(10, 1);
    rig.pool.flush_all().unwrap();
    assert_eq!(rig.pool.counters().doublewrite_batches, 1, "the file has sixteen pages");
    rig.make(16, 1);
    rig.pool.flush_all().unwrap();
    assert_eq!(rig.pool.counters().doublewrite_batches, 1, "and grows by new ones");
}
