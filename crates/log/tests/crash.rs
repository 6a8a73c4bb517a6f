//! The end of the log after crashes, and what is refused (core.md 1.4).
#![cfg(not(feature = "shuttle"))]

mod support;

use std::sync::Arc;

use base::{Lsn, crc32c};
use log::{FlushPolicy, Log, LogConfig, LogError, RotateError};
use support::*;

fn small() -> LogConfig {
    LogConfig { ring_size: 16 << 10, segment_size: 8192, ..config() }
}

fn refusal(result: Result<(Arc<Log>, Records), LogError>) -> base::Corruption {
    match result {
        Err(LogError::Corrupt(corruption)) => corruption,
        other => {
            panic!("must be refused as damaged, got {:?}", other.map(|(log, records)| (log, records.len())))
        }
    }
}

/// A log of `count` committed records on one segment; returns their LSNs.
fn committed(disk: &Arc<MemDisk>, count: u8) -> Vec<Lsn> {
    let log = Log::create(disk.clone(), config()).unwrap();
    (0..count).map(|i| commit(&log, &[i; 100]).start).collect()
}

#[test]
fn acknowledged_records_survive_every_crash_and_order_is_kept() {
    for seed in 0..200 {
        let disk = MemDisk::new();
        let log = Log::create(disk.clone(), small()).unwrap();
        let policy = if seed % 2 == 0 { FlushPolicy::Sync } else { FlushPolicy::Write };
        log.set_flush_policy(policy);
        let (mut all, mut acknowledged) = (Vec::new(), 0);
        for i in 0..seed % 40 + 3 {
            let body = vec![i as u8; (i * 37 % 700) as usize];
            let appended = append(&log, &body);
            all.push((appended.start, record(&body)));
            if i % 3 != 2 {
                log.wait_commit(appended.end).unwrap();
            }
            if i % 7 == 6 {
                log.tick();
            }
            if log.durable_lsn() > appended.start {
                acknowledged = all.len();
            }
        }
        let durable = log.durable_lsn();
        let crashed = disk.crash(seed);
        let (log, records) = open(&crashed, durable, small()).unwrap();
        assert!(records.len() >= acknowledged, "seed {seed}: {} of {acknowledged}", records.len());
        assert_eq!(records, all[..records.len()], "seed {seed}");
        // The log goes on after the crash, and a second crash keeps both halves.
        let more = commit(&log, b"after the crash");
        let again = crashed.crash(seed + 1000);
        let (_, second) = open(&again, more.end, small()).unwrap();
        assert_eq!(second[..records.len()], records);
        assert_eq!(second[records.len()..], [(more.start, record(b"after the crash"))]);
    }
}

#[test]
fn stale_frames_past_the_end_are_never_met_again() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    commit(&log, b"kept");
    log.set_flush_policy(FlushPolicy::Write);
    // Three frames are written and not synced; the first of them is lost in the crash, the others survive.
    let lost = append(&log, &[1; 200]);
    log.wait_commit(lost.end).unwrap();
    for body in [[2; 200], [3; 200]] {
        let appended = append(&log, &body);
        log.wait_commit(appended.end).unwrap();
    }
    let mut image = disk.bytes("log/000001.seg");
    let from = (lost.start.0 - 4096) as usize;
    image[from..from + 200].fill(0);
    disk.patch("log/000001.seg", 0, &image);
    let (log, records) = open(&disk, Lsn(0), config()).unwrap();
    assert_eq!(records.len(), 1);
    // The same bytes again: in one segment their frames would chain to the stale ones.
    let again = commit(&log, &[1; 200]);
    let (_, records) = open(&disk.crash(1), again.end, config()).unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(records[1], (again.start, record(&[1; 200])));
}

#[test]
fn a_stale_frame_in_its_own_place_does_not_chain() {
    let disk = MemDisk::new();
    let lsns = committed(&disk, 3);
    // The second record's frame is replaced by one of equal length with right CRCs but another payload: only the chain can tell
    // that the third frame, whole and in its own place, does not belong to it.
    let start = (lsns[1].0 - 4096 - 32) as usize;
    let image = disk.bytes("log/000001.seg");
    let previous = u32::from_le_bytes(image[64 + 24..][..4].try_into().unwrap());
    let place = log::FrameStart { lsn: Lsn(4096 + start as u64), previous_crc: previous };
    let header = log_format::frame::FrameHeader::seal(place, Lsn(0), &[&record(&[9; 100])]);
    disk.patch("log/000001.seg", start, &header.encode());
    disk.patch("log/000001.seg", start + 32, &record(&[9; 100]));
    let (_, records) = open(&disk, Lsn(0), config()).unwrap();
    assert_eq!(records[1..], [(lsns[1], record(&[9; 100]))]);
}

#[test]
fn a_torn_last_frame_ends_the_log() {
    let disk = MemDisk::new();
    let lsns = committed(&disk, 5);
    disk.damage("log/000001.seg", (lsns[4].0 - 4096) as usize + 50);
    let (log, records) = open(&disk, lsns[3], config()).unwrap();
    assert_eq!(records.len(), 4);
    assert_eq!(
        log.durable_lsn(),
        Lsn(lsns[4].0 - 32 + 64),
        "the next segment's header stands where the torn frame began"
    );
}

#[test]
fn damage_below_what_a_later_frame_knows_durable_is_refused() {
    let disk = MemDisk::new();
    let lsns = committed(&disk, 5);
    for (record, byte) in [(0, 3), (2, 50), (3, 99)] {
        disk.damage("log/000001.seg", (lsns[record].0 - 4096) as usize + byte);
        let found = refusal(open(&disk, Lsn(0), config()));
        assert_eq!(found.field, "chained CRC");
        let offset = lsns[record].0 - 4096 - 32;
        assert!(found.place.contains(&format!("log/000001.seg at offset {offset}")), "{found}");
        assert!(found.expected.contains("durable up to"), "{found}");
        disk.damage("log/000001.seg", (lsns[record].0 - 4096) as usize + byte);
    }
    // A damaged header is found too, and so is damage in front of a torn last frame.
    disk.damage("log/000001.seg", (lsns[2].0 - 4096) as usize - 20);
    assert_eq!(refusal(open(&disk, Lsn(0), config())).field, "header CRC");
    disk.damage("log/000001.seg", (lsns[4].0 - 4096) as usize + 20);
    assert_eq!(refusal(open(&disk, Lsn(0), config())).field, "header CRC");
}

#[test]
fn damage_below_what_the_control_file_knows_durable_is_refused() {
    let disk = MemDisk::new();
    let lsns = committed(&disk, 5);
    disk.damage("log/000001.seg", (lsns[4].0 - 4096) as usize + 50);
    let found = refusal(open(&disk, lsns[4] + 10, config()));
    assert!(found.expected.contains("the control file"), "{found}");
}

#[test]
fn damage_in_a_segment_that_has_a_follower_is_refused() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), small()).unwrap();
    let mut last = Lsn(0);
    while log.segments().len() < 2 {
        last = commit(&log, &[1; 900]).start;
    }
    commit(&log, b"first of the second segment");
    drop(log);
    disk.damage("log/000001.seg", (last.0 - 4096) as usize + 5);
    let found = refusal(open(&disk, Lsn(0), small()));
    assert!(found.expected.contains("segment 2 follows"), "{found}");
    disk.damage("log/000001.seg", (last.0 - 4096) as usize + 5);
    disk.damage("log/000001.seg", 20);
    refusal(open(&disk, Lsn(0), small()));
}

#[test]
fn frames_that_only_the_cache_held_are_synced_before_the_log_goes_on() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    log.set_flush_policy(FlushPolicy::Write);
    let cached = append(&log, b"in the cache");
    log.wait_commit(cached.end).unwrap();
    drop(log);
    // The process was killed, the machine was not: the frame is there, unsynced.
    let (log, records) = open(&disk, Lsn(0), config()).unwrap();
    assert_eq!(records.len(), 1);
    let more = commit(&log, b"more");
    for seed in 0..20 {
        let (_, records) = open(&disk.crash(seed), more.end, config()).unwrap();
        assert_eq!(records.len(), 2);
    }
}

#[test]
fn a_newer_format_is_named() {
    let disk = MemDisk::new();
    committed(&disk, 1);
    let mut header = disk.bytes("log/000001.seg")[..64].to_vec();
    header[8] = 9;
    let crc = crc32c(&header[..60]);
    header[60..].copy_from_slice(&crc.to_le_bytes());
    disk.patch("log/000001.seg", 0, &header);
    let found = refusal(open(&disk, Lsn(0), config()));
    assert_eq!((found.field, found.expected.as_str(), found.found.as_str()), ("format version", "3", "9"));
}

#[test]
fn a_failed_write_is_final_for_everybody() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    let safe = commit(&log, b"safe");
    disk.fail_write_after(0);
    let lost = append(&log, b"lost");
    let failure = log.wait_durable(lost.end).unwrap_err();
    assert!(failure.to_string().contains("write of 'log/000001.seg' failed"), "{failure}");
    assert_eq!(log.wait_durable(lost.end).unwrap_err(), failure);
    assert_eq!(log.append(|_, out| out.push(1)).unwrap_err(), failure);
    log.wait_durable(safe.end).unwrap();
}

#[test]
fn a_failed_sync_is_final_also_when_a_later_one_would_work() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    disk.fail_sync_after(0);
    let lost = append(&log, b"lost");
    std::thread::scope(|scope| {
        let waits: Vec<_> = (0..8).map(|_| scope.spawn(|| log.wait_durable(lost.end))).collect();
        for wait in waits {
            wait.join().unwrap().unwrap_err();
        }
    });
    let syncs = disk.syncs();
    disk.fail_sync_after(u64::MAX);
    log.wait_durable(lost.end).unwrap_err();
    log.tick();
    log.shutdown().unwrap_err();
    assert_eq!(disk.syncs(), syncs, "no second sync is tried");
    assert!(log.durable_lsn() <= lost.start);
}

#[test]
fn ring_waits_end_when_the_log_fails() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), LogConfig { ring_size: 4096, ..config() }).unwrap();
    disk.fail_write_after(0);
    let failed = (0..100).find_map(|_| log.append(|_, out| out.extend_from_slice(&record(&[1; 500]))).err());
    assert!(failed.is_some());
}

#[test]
fn a_full_disk_leaves_the_reserve_for_rollback_and_checkpoint() {
    let disk = MemDisk::new();
    let size = 64 << 10;
    let config = LogConfig { ring_size: 16 << 10, segment_size: size, ..config() };
    let log = Log::create(disk.clone(), config.clone()).unwrap();
    assert!(!log.space_is_low());
    disk.set_space(Some(0));
    // The first segment's blocks are there; the reserve pays for as much again.
    let mut low_at = None;
    for written in (0..size * 3 / 2).step_by(1000) {
        commit(&log, &[1; 1000]);
        log.tick();
        low_at = low_at.or(log.space_is_low().then_some(written));
    }
    assert!(low_at.is_some_and(|at| at >= size - 8192), "{low_at:?}");
    assert!(log.space_is_low());
    assert_eq!(log.segments().len(), 1, "the segment goes on past its soft size");
    disk.set_space(Some(u64::MAX));
    log.tick();
    assert!(!log.space_is_low(), "space came back and the reserve is held again");
    commit(&log, &[1; 1000]);
    assert_eq!(log.segments().len(), 2);
}

#[test]
fn shutdown_makes_everything_durable_and_refuses_more() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    append(&log, b"not waited for");
    log.shutdown().unwrap();
    assert!(log.append(|_, out| out.push(1)).unwrap_err().to_string().contains("shut down"));
    let (_, records) = open(&disk.crash(3), Lsn(0), config()).unwrap();
    assert_eq!(records.len(), 1);
}

#[test]
fn a_rotation_without_room_is_an_error_of_the_caller_alone() {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    commit(&log, b"before");
    disk.set_space(Some(0));
    for _ in 0..3 {
        let error = log.rotate().unwrap_err();
        assert!(matches!(&error, RotateError::NoFile(e) if e.is_full()), "{error}");
    }
    commit(&log, b"the log goes on in its segment");
    assert_eq!(log.segments().len(), 1);
    disk.set_space(Some(u64::MAX));
    assert_eq!(log.rotate().unwrap(), 2);
    commit(&log, b"in the next one");
    let (_, records) = open(&disk.crash(3), Lsn(0), config()).unwrap();
    assert_eq!(records.len(), 3);
}

/// A log whose reserve and segment are spent, and a thread that commits on and on.
fn starved(disk: &Arc<MemDisk>) -> (Arc<Log>, std::thread::JoinHandle<usize>) {
    let config = LogConfig { ring_size: 16 << 10, segment_size: 64 << 10, ..config() };
    let log = Log::create(disk.clone(), config).unwrap();
    disk.set_space(Some(0));
    let committer = std::thread::spawn({
        let log = log.clone();
        move || {
            let one = || {
                let appended = log.append(|_, out| out.extend_from_slice(&record(&[1; 1000]))).ok()?;
                log.wait_durable(appended.end).ok()
            };
            (0..1000).take_while(|_| one().is_some()).count()
        }
    });
    while !log.waits_for_space() {
        std::thread::yield_now();
    }
    (log, committer)
}

#[test]
fn a_log_without_any_room_waits_until_there_is_some() {
    let disk = MemDisk::new();
    let (log, committer) = starved(&disk);
    assert!(log.failure().is_none());
    assert!(!log.has_room_for(1 << 30));
    disk.set_space(None);
    assert_eq!(committer.join().unwrap(), 1000);
    assert!(!log.waits_for_space());
}

#[test]
fn a_server_that_ends_does_not_wait_for_room() {
    let disk = MemDisk::new();
    let (log, committer) = starved(&disk);
    log.wait_for_space_no_more();
    assert!(committer.join().unwrap() < 1000);
    assert!(log.failure().is_some());
    disk.set_space(None);
    let (_, records) = open(&disk.crash(3), Lsn(0), config()).unwrap();
    assert!(records.len() >= 64, "what was acknowledged is there: {}", records.len());
}
