//! Latch and rec_lsns under random schedules: `cargo test -p storage --features shuttle schedules`.

mod sync {
    pub(super) use shuttle::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    pub(super) use shuttle::sync::{Condvar, Mutex};
    pub(super) use shuttle::thread::yield_now as spin_hint;
    pub(super) const SPINS: u32 = 1;
}

#[expect(clippy::duplicate_mod, reason = "compiled again over shuttle")]
#[path = "../latch.rs"]
mod latch;

#[expect(clippy::duplicate_mod, dead_code, reason = "compiled again over shuttle")]
#[path = "../state.rs"]
mod state;

use base::Lsn;
use latch::{Latch, WaitTable};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use shuttle::thread;
use state::State;

/// A latch and what it must keep true: `inside` counts readers, -1 stands for a writer.
struct Model {
    latch: Latch,
    table: WaitTable,
    inside: AtomicI32,
    a_reader_came: AtomicBool,
}

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            latch: Latch::default(),
            table: WaitTable::new(1),
            inside: AtomicI32::new(0),
            a_reader_came: AtomicBool::new(false),
        })
    }

    fn reader_is_inside(&self) {
        assert!(self.inside.fetch_add(1, Ordering::SeqCst) >= 0, "a reader beside a writer");
        thread::yield_now();
        assert!(self.inside.fetch_sub(1, Ordering::SeqCst) > 0);
    }

    fn read(&self) {
        self.latch.lock_shared(&self.table);
        self.reader_is_inside();
        self.latch.unlock_shared(&self.table);
    }

    fn read_and_tell(&self) {
        self.latch.lock_shared(&self.table);
        self.a_reader_came.store(true, Ordering::SeqCst);
        self.latch.unlock_shared(&self.table);
    }

    /// Stays inside until another reader came.
    fn downgrade_and_wait(&self) {
        self.latch.lock_exclusive(&self.table);
        self.latch.downgrade(&self.table);
        while !self.a_reader_came.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        self.latch.unlock_shared(&self.table);
    }

    fn try_read(&self) {
        if self.latch.try_shared(&self.table) {
            self.reader_is_inside();
            self.latch.unlock_shared(&self.table);
        }
    }

    fn writer_is_inside(&self) {
        assert_eq!(self.inside.swap(-1, Ordering::SeqCst), 0, "a writer beside others");
        thread::yield_now();
        assert_eq!(self.inside.swap(0, Ordering::SeqCst), -1);
    }

    fn write(&self) {
        self.latch.lock_exclusive(&self.table);
        self.writer_is_inside();
        self.latch.unlock_exclusive(&self.table);
    }

    fn try_write(&self) {
        if self.latch.try_exclusive() {
            self.writer_is_inside();
            self.latch.unlock_exclusive(&self.table);
        }
    }

    fn write_then_read(&self) {
        self.latch.lock_exclusive(&self.table);
        self.writer_is_inside();
        self.latch.downgrade(&self.table);
        self.reader_is_inside();
        self.latch.unlock_shared(&self.table);
    }
}

type Step = fn(&Model);

/// Runs each list of steps in a thread of its own; a lost wake-up shows as a deadlock.
fn explore(threads: &'static [&'static [Step]]) {
    let run = move || {
        let model = Model::new();
        let handles: Vec<_> = threads
            .iter()
            .map(|steps| {
                let model = model.clone();
                thread::spawn(move || steps.iter().for_each(|step| step(&model)))
            })
            .collect();
        for handle in handles {
            handle.join().unwrap();
        }
        assert!(model.latch.try_exclusive(), "everybody left, the latch is free");
    };
    shuttle::check_random(run, 3000);
    shuttle::check_pct(run, 1000, 3);
}

#[test]
fn schedules_of_writers_and_readers() {
    explore(&[&[Model::write, Model::read], &[Model::read, Model::write], &[Model::write, Model::write]]);
}

#[test]
fn schedules_with_refused_readers_in_between() {
    explore(&[
        &[Model::write],
        &[Model::read, Model::write],
        &[Model::try_read, Model::try_read, Model::try_read],
        &[Model::try_write, Model::try_read],
    ]);
}

#[test]
fn schedules_with_downgrades() {
    explore(&[&[Model::write_then_read, Model::write], &[Model::read, Model::read], &[Model::write]]);
}

#[test]
fn schedules_where_a_downgrade_lets_waiting_readers_in() {
    explore(&[&[Model::downgrade_and_wait], &[Model::read_and_tell]]);
}

/// A checkpoint must not miss a value that moves back and forth, however the steps fall together.
#[test]
fn schedules_of_failing_flushes_beside_a_checkpoint() {
    let run = || {
        let state = Arc::new(State::default());
        state.mark_dirty(Lsn(100));
        let checkpoint = thread::spawn({
            let state = state.clone();
            move || assert_eq!(state.oldest_rec_lsn(), Some(Lsn(100)))
        });
        for lsn in [200, 300] {
            state.start_flush();
            state.mark_dirty(Lsn(lsn));
            state.cancel_flush();
        }
        state.start_flush();
        checkpoint.join().unwrap();
    };
    shuttle::check_random(run, 20_000);
    shuttle::check_pct(run, 10_000, 4);
}
