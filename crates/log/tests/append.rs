//! Appends, waits, frames and counters of a log without crashes.
#![cfg(not(feature = "shuttle"))]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Lsn;
use log::{FlushPolicy, Log, LogConfig, LogReadError};
use support::*;

fn count(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[test]
fn a_commit_is_one_write_and_one_sync_of_its_bytes_and_a_header() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    let (mut syncs, mut offset) = (disk.syncs(), 64);
    disk.take_writes();
    for i in 0..10 {
        let body = vec![i; 100 + usize::from(i)];
        commit(&log, &body);
        let len = 32 + record(&body).len();
        assert_eq!(disk.take_writes(), [("log/000001.seg".to_owned(), offset, len)]);
        offset += len as u64;
        syncs += 1;
        assert_eq!(disk.syncs(), syncs);
    }
    let counters = log.counters();
    assert_eq!((count(&counters.writes), count(&counters.syncs), log.appends()), (10, 10, 10));
    assert_eq!(count(&counters.bytes_written), offset - 64);
    assert_eq!(log.durable_lsn(), Lsn(4096 + offset));
    assert_eq!(log.reserved_lsn(), log.durable_lsn() + 32, "the next header is placed");
}

#[test]
fn what_was_waited_for_lies_below_the_durable_end_also_after_a_crash() {
    for (rotations, fresh) in [(0, false), (1, false), (2, false), (0, true), (1, true)] {
        let disk = MemDisk::new();
        let log = Log::create(disk.clone(), config()).unwrap();
        if !fresh {
            commit(&log, b"a record");
        }
        for _ in 0..rotations {
            log.rotate().unwrap();
        }
        let ready = log.ready_lsn();
        log.wait_durable(ready).unwrap();
        assert_eq!(log.durable_end(), ready, "{rotations} rotations");
        for seed in 0..20 {
            let (log, _) = open(&disk.crash(seed), Lsn::NONE, config()).unwrap();
            assert!(
                log.durable_end() >= ready,
                "{rotations} rotations: {log:?} after a crash, {ready} before"
            );
            assert_eq!(log.durable_end(), log.reserved_lsn());
        }
    }
}

#[test]
fn waiting_for_what_is_durable_costs_nothing() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    let first = append(&log, b"first");
    commit(&log, b"second");
    let syncs = disk.syncs();
    log.wait_durable(first.end).unwrap();
    log.wait_durable(first.start + 1).unwrap();
    log.wait_durable(log.ready_lsn()).unwrap();
    assert_eq!(disk.syncs(), syncs);
}

#[test]
fn flush_policies_differ_in_what_a_commit_waits_for() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    let syncs = disk.syncs();
    log.set_flush_policy(FlushPolicy::Write);
    let written = append(&log, b"written");
    log.wait_commit(written.end).unwrap();
    assert_eq!((log.written_lsn(), disk.syncs()), (written.end, syncs));
    assert!(log.durable_lsn() < written.start);
    log.set_flush_policy(FlushPolicy::Lazy);
    let lazy = append(&log, b"lazy");
    log.wait_commit(lazy.end).unwrap();
    assert_eq!(log.written_lsn(), written.end);
    log.tick();
    assert_eq!(log.durable_lsn(), lazy.end);
    log.set_flush_policy(FlushPolicy::Sync);
    let synced = append(&log, b"synced");
    log.wait_commit(synced.end).unwrap();
    assert_eq!(log.durable_lsn(), synced.end);
}

#[test]
fn publish_runs_before_the_ready_lsn_passes_the_record() {
    let log = Log::create(MemDisk::new(), config()).unwrap();
    let seen = std::cell::Cell::new((Lsn(0), Lsn(0)));
    let appended = log
        .append_then(
            |_, out| out.extend_from_slice(&record(b"commit")),
            |at| seen.set((at.start, log.ready_lsn())),
        )
        .unwrap();
    assert_eq!(seen.get(), (appended.start, appended.start));
    assert_eq!(log.ready_lsn(), appended.end);
}

#[test]
fn records_are_built_for_the_lsn_they_get() {
    let log = Log::create(MemDisk::new(), LogConfig { ring_size: 1 << 20, ..config() }).unwrap();
    let mut threads = Vec::new();
    for _ in 0..4 {
        let log = Arc::clone(&log);
        threads.push(std::thread::spawn(move || {
            let mut mine = Vec::new();
            for _ in 0..500 {
                let at = log.append(|lsn, out| out.extend_from_slice(&record(&lsn.0.to_le_bytes()))).unwrap();
                mine.push(at.start);
            }
            mine
        }));
    }
    let mut all: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 2000);
    let mut out = Vec::new();
    for lsn in all {
        log.read(lsn, &mut out).unwrap();
        assert_eq!(out, record(&lsn.0.to_le_bytes()));
    }
}

#[test]
fn a_full_ring_is_written_out_and_old_records_come_from_segments() {
    let disk = MemDisk::new();
    let log =
        Log::create(disk.clone(), LogConfig { ring_size: 4096, segment_size: 20_000, ..config() }).unwrap();
    let mut records = Vec::new();
    for i in 0..400u32 {
        let body: Vec<u8> = (0..i % 300).map(|b| (b ^ i) as u8).collect();
        records.push((append(&log, &body).start, record(&body)));
    }
    assert!(count(&log.counters().waits) > 0);
    assert!(log.segments().len() > 2, "{:?}", log.segments());
    let mut out = Vec::new();
    for (lsn, bytes) in &records {
        log.read(*lsn, &mut out).unwrap();
        assert_eq!(out, *bytes);
    }
    assert!(count(&log.counters().ring_reads) > 0 && count(&log.counters().file_reads) > 0);
    // Whether the last ones were left longer than their part depends on the tick.
    log.tick();
    let segments = log.segments();
    for pair in segments.windows(2) {
        assert_eq!((pair[0].end, pair[0].number + 1), (pair[1].start, pair[1].number));
        let len = disk.bytes(&pair[0].path).len() as u64;
        assert_eq!(len, pair[0].end - pair[0].start, "a finished segment is cut at its end");
    }
}

#[test]
fn what_is_not_kept_or_not_there_yet_cannot_be_read() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), LogConfig { segment_size: 4096, ..config() }).unwrap();
    let old = commit(&log, &[1; 5000]).start;
    let kept = commit(&log, &[2; 100]).start;
    log.retain_from(kept);
    let mut out = Vec::new();
    assert!(matches!(log.read(old, &mut out), Err(LogReadError::OutOfRange { .. })));
    assert!(matches!(log.read(log.ready_lsn(), &mut out), Err(LogReadError::OutOfRange { .. })));
    log.read(kept, &mut out).unwrap();
    assert_eq!(log.segments().first().unwrap().number, 2);
    assert!(disk.names().contains(&"log/spare".to_owned()), "the retired file waits to be used again");
    let before = log.segments().len();
    commit(&log, &[3; 5000]);
    commit(&log, &[3; 10]);
    assert!(log.segments().len() > before);
    assert!(!disk.names().contains(&"log/spare".to_owned()));
    let (reopened, records) = {
        drop(log);
        let from = log::FrameStart { lsn: kept.0.checked_sub(32).map(Lsn).unwrap(), previous_crc: 0 };
        let mut records = Vec::new();
        let header = disk.bytes("log/000002.seg");
        let crc = u32::from_le_bytes(header[60..64].try_into().unwrap());
        let from = log::FrameStart { previous_crc: crc, ..from };
        let mut visit = |lsn: Lsn, bytes: &[u8]| {
            records.push((lsn, bytes.len()));
            Ok(())
        };
        (Log::open(disk.clone(), config(), from, Lsn(0), &mut visit).unwrap(), records)
    };
    assert_eq!(records.len(), 3);
    assert_eq!(records[0].0, kept);
    reopened.read(kept, &mut out).unwrap();
}

#[test]
fn rotation_begins_a_segment_at_once_and_every_time() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    assert_eq!(log.rotate().unwrap(), 2);
    assert_eq!(log.rotate().unwrap(), 3);
    commit(&log, b"in the third");
    let numbers: Vec<_> = log.segments().iter().map(|segment| segment.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    drop(log);
    let (log, records) = open(&disk, Lsn(0), config()).unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(log.segments().len(), 4);
}

#[test]
fn whoever_ends_a_segment_changes_the_size_of_no_file() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    let fill = |bytes: usize| (0..bytes / 10_000).for_each(|_| _ = commit(&log, &[9; 10_000]));
    let len = |path: &str| disk.bytes(path).len() as u64;
    fill(800_000);
    disk.take_writes();
    log.tick();
    let ready: usize = disk.take_writes().iter().filter(|w| w.0 == "log/000002.seg").map(|w| w.2).sum();
    assert_eq!(
        (ready, len("log/000002.seg")),
        (1 << 20, 1 << 20),
        "the next file has its first blocks, zeroed"
    );
    let syncs = disk.syncs();
    let commits = 40;
    fill(commits * 10_000);
    assert_eq!(
        disk.syncs() - syncs,
        commits as u64,
        "the commit that ends the segment has one sync like the others"
    );
    let ended = log.segments()[0].clone();
    assert_eq!(log.segments().len(), 2);
    assert!(len(&ended.path) > ended.end - ended.start, "it is not cut yet");
    let crashed = disk.crash(1);
    log.tick();
    assert_eq!(len(&ended.path), ended.end - ended.start, "the background cuts it");
    let (reopened, records) = open(&crashed, Lsn(0), config()).unwrap();
    assert_eq!(records.len(), 80 + commits);
    let len = crashed.bytes(&ended.path).len() as u64;
    assert_eq!((len, reopened.segments().len()), (ended.end - ended.start, 3), "or the next start");
}

#[test]
fn a_file_that_is_used_again_is_cut_before() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    (0..120).for_each(|_| _ = commit(&log, &[9; 10_000]));
    let kept = commit(&log, b"kept").start;
    let ended = log.segments()[0].clone();
    log.retain_from(kept);
    assert_eq!(disk.bytes("log/spare").len() as u64, ended.end - ended.start);
    log.rotate().unwrap();
    let body = [7; 12_000];
    let last = commit(&log, &body).start;
    log.tick();
    let mut out = Vec::new();
    log.read(last, &mut out).unwrap();
    assert_eq!(out, record(&body));
}

#[test]
fn frame_starts_lead_a_scan_to_every_record() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), LogConfig { ring_size: 1 << 20, ..config() }).unwrap();
    let mut lsns = Vec::new();
    for _ in 0..50 {
        lsns.push(commit(&log, &[9; 10_000]).start);
    }
    let starts: Vec<_> = lsns.iter().map(|&lsn| log.frame_start_before(lsn)).collect();
    let end = log.frame_start_before(log.reserved_lsn());
    drop(log);
    for (i, start) in starts.into_iter().enumerate() {
        assert!(start.lsn < lsns[i]);
        let copy = disk.crash(1);
        let mut seen = Vec::new();
        let mut visit = |lsn: Lsn, _: &[u8]| {
            seen.push(lsn);
            Ok(())
        };
        Log::open(copy, config(), start, Lsn(0), &mut visit).unwrap();
        assert!(seen.ends_with(&lsns[i..]));
    }
    Log::open(disk.crash(1), config(), end, Lsn(0), &mut |_, _| panic!("nothing is there")).unwrap();
}

#[test]
fn a_scan_can_begin_right_behind_a_segment_that_is_gone() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    commit(&log, &[1; 100_000 / 8]);
    let from = log.rotate().map(|_| log.reserved_lsn()).unwrap();
    let start = log.frame_start_before(from);
    let kept = commit(&log, b"kept").start;
    assert_eq!(log.frame_start_before(kept), start);
    log.retain_from(start.lsn);
    assert_eq!(log.segments().len(), 1);
    drop(log);
    let mut seen = Vec::new();
    let mut visit = |lsn: Lsn, _: &[u8]| {
        seen.push(lsn);
        Ok(())
    };
    let log = Log::open(disk.clone(), config(), start, Lsn(0), &mut visit).unwrap();
    // The same holds for the segment that a start begins.
    let start = log.frame_start_before(log.reserved_lsn());
    log.retain_from(start.lsn);
    drop(log);
    Log::open(disk, config(), start, Lsn(0), &mut |_, _| panic!("nothing is there")).unwrap();
    assert_eq!(seen, [kept]);
}

#[test]
fn every_indexed_frame_start_can_be_scanned_from_when_all_before_is_gone() {
    let disk = MemDisk::new();
    let small = LogConfig { ring_size: 1 << 20, segment_size: 150_000, ..config() };
    let log = Log::create(disk.clone(), small.clone()).unwrap();
    let lsns: Vec<_> = (0..60).map(|_| commit(&log, &[9; 10_000]).start).collect();
    let starts: Vec<_> = lsns.iter().map(|lsn| log.frame_start_before(*lsn + 1)).collect();
    for (i, start) in starts.iter().enumerate() {
        log.retain_from(start.lsn);
        let mut last = Lsn(0);
        let mut visit = |lsn: Lsn, _: &[u8]| {
            last = lsn;
            Ok(())
        };
        Log::open(disk.crash(1), small.clone(), *start, Lsn(0), &mut visit).unwrap();
        assert_eq!(Some(&last), lsns.last(), "from the start before record {i}");
    }
}

#[test]
fn many_threads_commit_in_few_syncs() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), LogConfig { ring_size: 1 << 20, ..config() }).unwrap();
    let barrier = std::sync::Barrier::new(32);
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let appended = append(&log, &[5; 50]);
                    barrier.wait();
                    log.wait_durable(appended.end).unwrap();
                    assert!(log.durable_lsn() >= appended.end);
                }
            });
        }
    });
    let syncs = count(&log.counters().syncs);
    assert!(syncs <= 40, "32 records that stand in the ring are one frame: {syncs} syncs for 20 rounds");
}

#[test]
fn what_was_asked_for_is_durable_after_the_tick() {
    let log = Log::create(MemDisk::new(), config()).unwrap();
    let appended = append(&log, b"of a large transaction");
    log.tick();
    assert!(log.durable_lsn() <= appended.start, "nobody waits for it");
    log.ask_durable(appended.start + 1);
    log.wait_for_work(std::time::Duration::from_secs(3600));
    log.tick();
    assert!(log.durable_lsn() > appended.start);
    let syncs = count(&log.counters().syncs);
    log.ask_durable(appended.start + 1);
    log.tick();
    assert_eq!(count(&log.counters().syncs), syncs, "it is already");
}

#[test]
fn space_ahead_is_zeroed_and_allocated_by_the_tick_alone() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), LogConfig { segment_size: 8 << 20, ..config() }).unwrap();
    commit(&log, b"before");
    log.tick();
    disk.take_writes();
    let counters = log.counters();
    assert!(count(&counters.zero_syncs) >= 1);
    assert!(count(&counters.bytes_zeroed) >= (4 << 20) - 4096);
    let written = commit(&log, b"after");
    assert_eq!(disk.take_writes().len(), 1);
    log.tick();
    assert_eq!(disk.take_writes(), [], "enough zeros are left");
    let mut out = Vec::new();
    drop(log);
    let (log, records) = open(&disk, Lsn(0), config()).unwrap();
    assert_eq!(records.len(), 2);
    log.read(written.start, &mut out).unwrap();
    assert_eq!(out, record(b"after"));
}
