//! Random schedules of the whole log: slots, ready LSN, ring waits, group commit, rotation.
//! Run with `cargo nextest run -p log --features shuttle --test schedules`.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Lsn;
use log::{Log, LogConfig, LogReadError};
use support::*;

const ROUNDS: usize = 3000;

fn tiny() -> LogConfig {
    LogConfig { ring_size: 4096, segment_size: 4096, ..config() }
}

#[test]
fn the_ready_lsn_never_passes_a_record_that_is_not_copied() {
    shuttle::check_random(
        || {
            let log = Log::create(MemDisk::new(), config()).unwrap();
            let writers: Vec<_> = (0..3u8)
                .map(|i| {
                    let log = Arc::clone(&log);
                    shuttle::thread::spawn(move || {
                        for _ in 0..2 {
                            let own = append(&log, &[i + 1; 20]);
                            // Its writer may read it at once, but for the appends of others that are under way below it.
                            let mut out = Vec::new();
                            while let Err(e) = log.read(own.start, &mut out) {
                                assert!(
                                    matches!(e, LogReadError::OutOfRange { end, .. } if end <= own.start),
                                    "{e}"
                                );
                                shuttle::thread::yield_now();
                            }
                        }
                    })
                })
                .collect();
            let mut last = Lsn(0);
            for _ in 0..4 {
                let ready = log.ready_lsn();
                assert!(ready >= last);
                last = ready;
                let (mut at, mut out) = (Lsn(4096 + 96), Vec::new());
                while at < ready {
                    log.read(at, &mut out).unwrap();
                    let byte = out[2];
                    assert!((1..=3).contains(&byte) && out[2..].iter().all(|b| *b == byte), "{out:?}");
                    at = at + out.len() as u64;
                }
                shuttle::thread::yield_now();
            }
            for writer in writers {
                writer.join().unwrap();
            }
        },
        ROUNDS,
    );
}

#[test]
fn every_commit_is_durable_when_its_wait_returns() {
    shuttle::check_random(
        || {
            let disk = MemDisk::new();
            let log = Log::create(disk.clone(), tiny()).unwrap();
            let threads: Vec<_> = (0..4u8)
                .map(|i| {
                    let log = Arc::clone(&log);
                    let disk = Arc::clone(&disk);
                    shuttle::thread::spawn(move || {
                        for round in 0..2 {
                            let at = append(&log, &[i; 300]);
                            log.wait_durable(at.end).unwrap();
                            assert!(log.durable_lsn() >= at.end);
                            if i == 0 && round == 0 {
                                log.rotate().unwrap();
                            }
                            // Frames of others may be in flight, in any state.
                            let (known, seed) = (log.durable_lsn(), at.start.0 ^ u64::from(i));
                            let (_, records) = open(&disk.crash(seed), known, tiny()).unwrap();
                            assert!(records.iter().any(|(lsn, _)| *lsn == at.start));
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            let (_, records) = open(&disk.crash(9), log.durable_lsn(), tiny()).unwrap();
            assert_eq!(records.len(), 8);
        },
        ROUNDS / 3,
    );
}

#[test]
fn a_full_ring_never_deadlocks_and_the_tick_does_no_harm() {
    shuttle::check_random(
        || {
            let disk = MemDisk::new();
            let log = Log::create(disk.clone(), tiny()).unwrap();
            let threads: Vec<_> = (0..3u8)
                .map(|i| {
                    let log = Arc::clone(&log);
                    shuttle::thread::spawn(move || {
                        for _ in 0..3 {
                            append(&log, &[i; 900]);
                        }
                        log.tick();
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            log.wait_durable(log.ready_lsn()).unwrap();
            let (_, records) = open(&disk.crash(9), Lsn(0), tiny()).unwrap();
            assert_eq!(records.len(), 9);
        },
        ROUNDS / 3,
    );
}

#[test]
fn a_failed_sync_reaches_every_waiter() {
    shuttle::check_random(
        || {
            let disk = MemDisk::new();
            let log = Log::create(disk.clone(), config()).unwrap();
            disk.fail_sync_after(1);
            let acknowledged = Arc::new(AtomicU64::new(0));
            let threads: Vec<_> = (0..4u8)
                .map(|i| {
                    let log = Arc::clone(&log);
                    let acknowledged = Arc::clone(&acknowledged);
                    shuttle::thread::spawn(move || {
                        for _ in 0..2 {
                            let Ok(at) = log.append(|_, out| out.extend_from_slice(&record(&[i; 30]))) else {
                                return;
                            };
                            if log.wait_durable(at.end).is_ok() {
                                acknowledged.fetch_max(at.end.0, Ordering::Relaxed);
                            }
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            let acknowledged = acknowledged.load(Ordering::Relaxed);
            assert!(acknowledged <= log.durable_lsn().0);
            // The disk lost everything that it held unsynced when the sync failed, of all frames in flight.
            open(&disk.crash(acknowledged), Lsn(acknowledged), config()).unwrap();
        },
        ROUNDS,
    );
}
