//! Several frames in flight: landing in order, failures in the middle, crashes with any mixture of their sectors on the device.
#![cfg(not(feature = "shuttle"))]

mod support;

use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use base::Lsn;
use log::{Appended, Log, LogConfig, LogFailed, Pipeline};
use support::*;

struct Waiter<'s> {
    at: Appended,
    thread: ScopedJoinHandle<'s, Result<(), LogFailed>>,
}

impl Waiter<'_> {
    fn is_waiting(&self) -> bool {
        // An acknowledgement that should not be there shows up within this, or in the checks of positions.
        std::thread::sleep(Duration::from_millis(2));
        !self.thread.is_finished()
    }
    fn acknowledged(self) -> bool {
        self.thread.join().unwrap().is_ok()
    }
}

/// Commits in a thread of its own; returns once the wait has surely begun: the sync is in flight when it should be.
fn start<'s>(scope: &'s Scope<'s, '_>, log: &'s Log, disk: &MemDisk, syncs: u64) -> Waiter<'s> {
    let at = append(log, &[syncs as u8; 700]);
    let (begun, wait) = mpsc::channel();
    let thread = scope.spawn(move || {
        begun.send(()).unwrap();
        log.wait_durable(at.end)
    });
    wait.recv().unwrap();
    disk.await_syncs(syncs);
    Waiter { at, thread }
}

fn held() -> (Arc<MemDisk>, Arc<Log>) {
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), config()).unwrap();
    commit(&log, b"before");
    disk.hold_syncs();
    (disk, log)
}

/// Lets everything go when a check inside a scope fails, so that the scope can end.
struct LetGo<'a>(&'a MemDisk);

impl Drop for LetGo<'_> {
    fn drop(&mut self) {
        self.0.release_all();
    }
}

fn let_go(disk: &MemDisk, number: u64) {
    disk.release(number, Hold::Before);
    disk.release(number, Hold::After);
}

#[test]
fn a_frame_lands_when_all_before_it_have() {
    let (disk, log) = held();
    std::thread::scope(|scope| {
        let _go = LetGo(&disk);
        let first = start(scope, &log, &disk, 1);
        let second = start(scope, &log, &disk, 2);
        let before = log.durable_lsn();
        let_go(&disk, 2);
        disk.await_result(2);
        assert!(first.is_waiting() && second.is_waiting());
        assert_eq!(log.durable_lsn(), before);
        let_go(&disk, 1);
        let end = second.at.end;
        assert!(first.acknowledged() && second.acknowledged());
        assert_eq!(log.durable_lsn(), end);
    });
}

#[test]
fn the_next_frame_starts_when_as_many_are_ashore_as_aboard() {
    let (disk, log) = held();
    let (disk, log) = (&*disk, &*log);
    std::thread::scope(|scope| {
        let _go = LetGo(disk);
        let mut waiters = vec![start(scope, log, disk, 1), start(scope, log, disk, 2)];
        let alone = start(scope, log, disk, 2);
        assert!(alone.is_waiting());
        assert_eq!(disk.syncs_begun(), 2, "one ashore, two aboard");
        waiters.extend([alone, start(scope, log, disk, 3)]);
        for _ in 0..8 {
            waiters.push(start(scope, log, disk, 3));
        }
        assert!(waiters.iter().all(Waiter::is_waiting));
        assert_eq!(disk.syncs_begun(), 3, "three in flight are enough");
        disk.release_all();
        assert!(waiters.into_iter().all(Waiter::acknowledged));
        assert_eq!(disk.syncs_begun(), 4, "those that were left ashore share one frame");
    });
}

#[test]
fn one_at_a_time_where_a_sync_is_short() {
    let disk = MemDisk::new();
    let short = Pipeline { frames: 3, overlap_from: Duration::from_nanos(1) };
    let log = Log::create(disk.clone(), LogConfig { pipeline: short, ..config() }).unwrap();
    disk.hold_syncs();
    std::thread::scope(|scope| {
        let _go = LetGo(&disk);
        let waiters: Vec<_> = (0..5).map(|_| start(scope, &log, &disk, 1)).collect();
        assert!(waiters.iter().all(Waiter::is_waiting));
        assert_eq!(disk.syncs_begun(), 1);
        disk.release_all();
        assert!(waiters.into_iter().all(Waiter::acknowledged));
        assert_eq!(disk.syncs_begun(), 2);
    });
}

#[test]
fn a_failure_in_the_middle_lets_nothing_behind_it_land() {
    let orders = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]];
    for (order, failing) in orders.iter().flat_map(|order| (1..=3).map(move |failing| (order, failing))) {
        let (disk, log) = held();
        disk.fail_syncs(&[failing]);
        std::thread::scope(|scope| {
            let _go = LetGo(&disk);
            let first = start(scope, &log, &disk, 1);
            let second = start(scope, &log, &disk, 2);
            let waiting = start(scope, &log, &disk, 2);
            let third = start(scope, &log, &disk, 3);
            for number in order {
                let_go(&disk, *number);
                disk.await_result(*number);
            }
            let all = [first, second, waiting, third];
            let ends: Vec<_> = all.iter().map(|waiter| waiter.at.end).collect();
            let frames = [1, 2, 3, 3];
            for ((waiter, frame), end) in all.into_iter().zip(frames).zip(ends) {
                let acknowledged = waiter.acknowledged();
                assert!(
                    !acknowledged || frame < failing,
                    "{order:?}, {failing} fails: {frame} was acknowledged"
                );
                assert!(!acknowledged || log.durable_lsn() >= end);
            }
        });
        let failure = log.failure().expect("a failed sync is final");
        assert!(failure.to_string().contains("fdatasync"), "{failure}");
        disk.release_all();
        let durable = log.durable_lsn();
        assert_eq!(log.append(|_, out| out.push(1)).unwrap_err(), failure);
        for seed in 0..8 {
            let (_, records) = open(&disk.crash(seed), durable, config()).unwrap();
            assert!(records.last().unwrap().0 < durable || records.len() > 1);
        }
    }
}

#[test]
fn an_error_that_another_call_was_told_of_fails_the_frame_that_it_hit() {
    let (disk, log) = held();
    disk.fail_syncs(&[2]);
    std::thread::scope(|scope| {
        let _go = LetGo(&disk);
        let first = start(scope, &log, &disk, 1);
        let second = start(scope, &log, &disk, 2);
        // The second call is told that pages were lost, those of the first frame too, and is still on its way back.
        disk.release(2, Hold::Before);
        disk.await_result(2);
        let_go(&disk, 1);
        assert!(!first.acknowledged(), "its pages are lost, whoever was told first");
        disk.release_all();
        assert!(!second.acknowledged());
    });
}

#[test]
fn a_crash_with_frames_in_flight_ends_the_log_at_the_first_torn_one() {
    let (disk, log) = held();
    std::thread::scope(|scope| {
        let _go = LetGo(&disk);
        let waiters: Vec<_> = (1..=2).map(|frame| start(scope, &log, &disk, frame)).collect();
        let (durable, mut lengths) = (log.durable_lsn(), [0; 4]);
        for seed in 0..400 {
            let (again, records) = open(&disk.crash(seed), durable, config()).unwrap();
            lengths[records.len()] += 1;
            let expected = [Lsn(4096 + 96), waiters[0].at.start, waiters[1].at.start];
            let found: Vec<_> = records.iter().map(|(lsn, _)| *lsn).collect();
            assert_eq!(found, expected[..records.len()], "seed {seed}");
            commit(&again, b"it goes on");
        }
        assert!(lengths[0] == 0 && lengths[1..].iter().all(|count| *count > 5), "{lengths:?}");
        disk.release_all();
    });
}

#[test]
fn a_later_frame_on_the_device_is_no_testimony_for_one_that_never_got_there() {
    let (disk, log) = held();
    std::thread::scope(|scope| {
        let _go = LetGo(&disk);
        let waiters: Vec<_> = (1..=2).map(|frame| start(scope, &log, &disk, frame)).collect();
        let image = disk.bytes("log/000001.seg");
        let header = |at: Lsn| {
            let from = (at.0 - 4096) as usize - 32;
            log_format::frame::FrameHeader::decode(image[from..from + 32].try_into().unwrap()).unwrap()
        };
        let (first, second) = (header(waiters[0].at.start), header(waiters[1].at.start));
        assert_eq!(second.durable_lsn, first.start_lsn, "it was sealed when the first had not landed");
        let crashed = disk.crash(0);
        let mut lost = image.clone();
        let from = (first.start_lsn.0 - 4096) as usize;
        lost[from..from + 732].fill(0);
        crashed.patch("log/000001.seg", 0, &lost);
        let (_, records) = open(&crashed, log.durable_lsn(), config()).unwrap();
        assert_eq!(records.len(), 1, "the whole second frame is out of the stream");
        disk.release_all();
    });
}

#[test]
fn a_segment_ends_with_nothing_in_flight() {
    let (disk, log) = held();
    let log = &*log;
    std::thread::scope(|scope| {
        let _go = LetGo(&disk);
        let first = start(scope, log, &disk, 1);
        let second = start(scope, log, &disk, 2);
        let rotation = scope.spawn(move || log.rotate());
        std::thread::sleep(Duration::from_millis(5));
        let_go(&disk, 2);
        assert!(second.is_waiting());
        assert!(!rotation.is_finished());
        assert_eq!(log.segments().len(), 1);
        let_go(&disk, 1);
        assert!(first.acknowledged() && second.acknowledged());
        disk.release_all();
        assert_eq!(rotation.join().unwrap().unwrap(), 2);
    });
    // A full segment ends likewise, while others commit.
    let small = LogConfig { segment_size: 8192, ring_size: 16 << 10, ..config() };
    let disk = MemDisk::new();
    let log = Log::create(disk.clone(), small.clone()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..6u8 {
            let log = &log;
            scope.spawn(move || (0..60).for_each(|_| _ = commit(log, &[thread; 300])));
        }
    });
    assert!(log.segments().len() > 8);
    let (_, records) = open(&disk.crash(5), log.durable_lsn(), small).unwrap();
    assert_eq!(records.len(), 360);
}
