//! Stories of two or three transactions, and random histories against the slow checker.

use std::sync::Arc;
use std::time::Duration;

use base::{IndexId, TrxId};
use env::{Clock, RealClock};
use proptest::prelude::*;

use super::*;
use crate::trx::Slots;

const INDEX: IndexId = IndexId(9);
const X_REC: LockMode = LockMode::record(Strength::Exclusive);
const S_REC: LockMode = LockMode::record(Strength::Shared);
const X_NEXT: LockMode = LockMode::next_key(Strength::Exclusive);
const X_GAP: LockMode = LockMode::gap(Strength::Exclusive);

struct Bench {
    table: Arc<LockTable>,
    owners: Vec<Arc<Owner>>,
}

impl Bench {
    fn new(count: usize) -> Self {
        let slots = Arc::new(Slots::new());
        let owners = (0..count).map(|_| Arc::clone(slots.take(true).owner())).collect();
        let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
        Self { table: Arc::new(LockTable::new(clock, slots)), owners }
    }
    fn request(&self, owner: usize, key: &[u8], mode: LockMode) -> Requested {
        self.table.request(LockKey::entry(INDEX, key), &self.owners[owner], mode, None, OnConflict::Queue)
    }
    fn granted(&self, owner: usize, key: &[u8], mode: LockMode) {
        assert!(matches!(self.request(owner, key, mode), Requested::Granted { .. }), "{owner} {mode}");
    }
    fn queued(&self, owner: usize, key: &[u8], mode: LockMode) -> Wait {
        match self.request(owner, key, mode) {
            Requested::Wait(wait) => wait,
            other => panic!("{owner} {mode} does not wait: {other:?}"),
        }
    }
    fn wait(&self, owner: usize, wait: Wait) -> Result<(), LockError> {
        self.table.wait(&self.owners[owner], wait, Duration::from_secs(10))
    }
    /// Waits in a thread and gives the thread, which ends when the wait does.
    fn wait_aside(&self, owner: usize, wait: Wait) -> std::thread::JoinHandle<Result<(), LockError>> {
        let (table, owner) = (Arc::clone(&self.table), Arc::clone(&self.owners[owner]));
        std::thread::spawn(move || table.wait(&owner, wait, Duration::from_secs(10)))
    }
    fn release(&self, owner: usize) {
        self.table.release_all(&self.owners[owner]);
        self.table.check();
        self.owners[owner].open(true);
    }
}

#[test]
fn a_waiter_gets_the_lock_when_the_holder_ends() {
    let bench = Bench::new(2);
    bench.granted(0, b"a", X_REC);
    let wait = bench.queued(1, b"a", S_REC);
    bench.table.check();
    let waiter = bench.wait_aside(1, wait);
    bench.release(0);
    assert_eq!(waiter.join().unwrap(), Ok(()));
    assert_eq!(bench.table.list(false).len(), 1);
    bench.release(1);
    assert!(!bench.table.may_be_locked(LockKey::entry(INDEX, b"a")));
}

#[test]
fn a_newcomer_does_not_overtake_a_waiter() {
    let bench = Bench::new(3);
    bench.granted(0, b"a", S_REC);
    let first = bench.queued(1, b"a", X_REC);
    let second = bench.queued(2, b"a", S_REC);
    bench.release(0);
    assert_eq!(bench.wait(1, first), Ok(()));
    bench.release(1);
    assert_eq!(bench.wait(2, second), Ok(()));
}

#[test]
fn refusing_leaves_nothing_behind() {
    let bench = Bench::new(2);
    bench.granted(0, b"a", X_REC);
    let at = LockKey::entry(INDEX, b"a");
    let refused = bench.table.request(at, &bench.owners[1], S_REC, None, OnConflict::Refuse);
    assert!(matches!(refused, Requested::Refused));
    assert_eq!(bench.owners[1].lock_count(), 0);
    bench.table.check();
}

#[test]
fn a_changed_row_is_locked_by_its_writer_once_somebody_asks() {
    let bench = Bench::new(2);
    let writer = Arc::clone(&bench.owners[0]);
    writer.set_trx_id(TrxId(7));
    let at = LockKey::entry(INDEX, b"a");
    let ask = |id| bench.table.request(at, &bench.owners[1], X_REC, Some((&writer, id)), OnConflict::Queue);
    let Requested::Wait(wait) = ask(TrxId(7)) else { panic!("the writer holds the row") };
    assert_eq!(writer.lock_count(), 1);
    bench.release(0);
    assert_eq!(bench.wait(1, wait), Ok(()));
    // The writer has ended: its id locks nothing any more.
    bench.release(1);
    assert!(matches!(ask(TrxId(7)), Requested::Granted { new: true }));
    assert_eq!(writer.lock_count(), 0);
}

#[test]
fn an_insert_waits_for_the_gap_and_holds_nothing_afterwards() {
    let bench = Bench::new(2);
    bench.granted(0, b"m", X_GAP);
    assert!(bench.table.gaps_locked(INDEX));
    let wait = bench.queued(1, b"m", LockMode::INSERT_INTENTION);
    let waiter = bench.wait_aside(1, wait);
    bench.release(0);
    assert_eq!(waiter.join().unwrap(), Ok(()));
    assert_eq!(bench.owners[1].lock_count(), 0);
    assert!(!bench.table.gaps_locked(INDEX));
    bench.table.check();
}

#[test]
fn a_timeout_withdraws_the_request_and_lets_the_next_one_in() {
    let bench = Bench::new(3);
    bench.granted(0, b"a", S_REC);
    let wait = bench.queued(1, b"a", X_REC);
    let next = bench.queued(2, b"a", S_REC);
    let timed_out = bench.table.wait(&bench.owners[1], wait, Duration::ZERO);
    assert_eq!(timed_out, Err(LockError::Timeout));
    assert_eq!(bench.wait(2, next), Ok(()));
    bench.table.check();
    assert_eq!(bench.owners[1].lock_count(), 0);
}

#[test]
fn a_kill_wakes_the_waiter() {
    let bench = Bench::new(2);
    bench.granted(0, b"a", X_REC);
    let wait = bench.queued(1, b"a", X_REC);
    let waiter = bench.wait_aside(1, wait);
    bench.owners[1].interrupt();
    assert_eq!(waiter.join().unwrap(), Err(LockError::Interrupted));
    bench.table.check();
}

#[test]
fn the_cheaper_of_two_is_the_victim_of_a_deadlock() {
    let bench = Bench::new(2);
    bench.owners[0].add_weight(1000);
    bench.owners[1].add_weight(10);
    bench.granted(0, b"a", X_REC);
    bench.granted(1, b"b", X_REC);
    let first = bench.queued(1, b"a", X_REC);
    let cheap = bench.wait_aside(1, first);
    let second = bench.queued(0, b"b", X_REC);
    let dear = bench.wait_aside(0, second);
    assert_eq!(cheap.join().unwrap(), Err(LockError::Deadlock));
    bench.release(1);
    assert_eq!(dear.join().unwrap(), Ok(()));
    let report = bench.table.latest_deadlock().expect("a deadlock was seen");
    assert_eq!(report.members[report.victim].weight, 10);
    assert!(report.to_string().contains("WE ROLL BACK TRANSACTION"));
}

#[test]
fn a_transaction_that_yields_is_the_victim_whatever_it_wrote() {
    let bench = Bench::new(2);
    bench.owners[0].add_weight(1000);
    bench.owners[0].set_yields(true);
    bench.granted(0, b"a", X_REC);
    bench.granted(1, b"b", X_REC);
    let first = bench.queued(1, b"a", X_REC);
    let other = bench.wait_aside(1, first);
    let second = bench.queued(0, b"b", X_REC);
    assert_eq!(bench.wait(0, second), Err(LockError::Deadlock));
    bench.release(0);
    assert_eq!(other.join().unwrap(), Ok(()));
}

#[test]
fn two_readers_that_both_want_to_write_deadlock() {
    let bench = Bench::new(2);
    bench.granted(0, b"a", S_REC);
    bench.granted(1, b"a", S_REC);
    let first = bench.queued(0, b"a", X_REC);
    let waiter = bench.wait_aside(0, first);
    let second = bench.queued(1, b"a", X_REC);
    let outcome = bench.wait(1, second);
    match outcome {
        Err(LockError::Deadlock) => bench.release(1),
        // The thread of the other was later to walk, and it is the victim by its slot.
        other => assert_eq!(other, Ok(()), "one of the two must go on"),
    }
    if outcome.is_err() {
        assert_eq!(waiter.join().unwrap(), Ok(()));
    }
}

#[test]
fn a_circle_that_a_grant_closes_is_found() {
    // 1 waits for 0 and, behind it, for 2; 2 waits for 1. There is no circle of first blockers until 0 has gone.
    let bench = Bench::new(3);
    bench.granted(1, b"b", X_REC);
    bench.granted(0, b"a", S_REC);
    bench.granted(2, b"a", S_REC);
    let first = bench.queued(1, b"a", X_REC);
    let one = bench.wait_aside(1, first);
    let second = bench.queued(2, b"b", X_REC);
    let two = bench.wait_aside(2, second);
    bench.release(0);
    let (one_ended, two_ended);
    // Both have written nothing: the higher slot is the victim.
    two_ended = two.join().unwrap();
    assert_eq!(two_ended, Err(LockError::Deadlock));
    bench.release(2);
    one_ended = one.join().unwrap();
    assert_eq!(one_ended, Ok(()));
}

#[test]
fn an_insert_into_an_own_locked_gap_splits_the_gap_lock() {
    let bench = Bench::new(2);
    bench.granted(0, b"m", X_NEXT);
    bench.table.inherit_on_insert(LockKey::entry(INDEX, b"m"), b"k");
    bench.table.check();
    let wait = bench.queued(1, b"k", LockMode::INSERT_INTENTION);
    assert_eq!(bench.table.wait(&bench.owners[1], wait, Duration::ZERO), Err(LockError::Timeout));
    bench.granted(1, b"k", X_REC);
}

#[test]
fn locks_of_a_removed_entry_move_to_the_next_as_gap_locks() {
    let bench = Bench::new(3);
    bench.granted(0, b"k", X_REC);
    let wait = bench.queued(1, b"k", X_REC);
    let waiter = bench.wait_aside(1, wait);
    bench.table.inherit_on_remove(b"k", LockKey::supremum(INDEX));
    assert_eq!(waiter.join().unwrap(), Ok(()), "the waiter looks again");
    bench.table.check();
    assert_eq!(bench.owners[1].lock_count(), 0);
    let at = LockKey::supremum(INDEX);
    let insert =
        bench.table.request(at, &bench.owners[2], LockMode::INSERT_INTENTION, None, OnConflict::Refuse);
    assert!(matches!(insert, Requested::Refused));
    let locks = bench.table.list(false);
    assert_eq!(locks.len(), 1);
    assert_eq!((locks[0].mode, &locks[0].key), (X_GAP, &None));
}

#[test]
fn read_committed_gives_a_row_back_and_leaves_no_gap_to_inherit() {
    let bench = Bench::new(2);
    bench.owners[0].set_locks_gaps(false);
    bench.granted(0, b"a", X_REC);
    bench.granted(0, b"b", X_REC);
    bench.table.release(LockKey::entry(INDEX, b"a"), &bench.owners[0], X_REC);
    bench.granted(1, b"a", X_REC);
    bench.table.inherit_on_remove(b"b", LockKey::supremum(INDEX));
    bench.table.check();
    assert_eq!(bench.owners[0].lock_count(), 0);
}

#[derive(Debug, Clone)]
enum Step {
    Request { owner: usize, key: u8, mode: LockMode, implicit: Option<usize> },
    EndWait { owner: usize },
    ReleaseOne { owner: usize, key: u8, mode: LockMode },
    End { owner: usize },
    Insert { successor: u8, new: u8 },
    Remove { key: u8 },
}

fn modes() -> impl Strategy<Value = LockMode> {
    let strengths = prop_oneof![Just(Strength::Shared), Just(Strength::Exclusive)];
    let extents = prop_oneof![
        3 => Just(Extent::Record),
        1 => Just(Extent::Gap),
        2 => Just(Extent::NextKey),
        1 => Just(Extent::InsertIntention)
    ];
    (strengths, extents).prop_map(|(strength, extent)| match extent {
        Extent::InsertIntention => LockMode::INSERT_INTENTION,
        _ => LockMode::new(strength, extent),
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (owner, key) = (0..5usize, 0..4u8);
    let step = prop_oneof![
        8 => (owner.clone(), key.clone(), modes(), proptest::option::of(owner.clone()))
            .prop_map(|(owner, key, mode, implicit)| Step::Request { owner, key, mode, implicit }),
        3 => owner.clone().prop_map(|owner| Step::EndWait { owner }),
        1 => (owner.clone(), key.clone(), modes())
            .prop_map(|(owner, key, mode)| Step::ReleaseOne { owner, key, mode }),
        2 => owner.prop_map(|owner| Step::End { owner }),
        1 => (key.clone(), 10..14u8).prop_map(|(successor, new)| Step::Insert { successor, new }),
        1 => key.prop_map(|key| Step::Remove { key }),
    ];
    proptest::collection::vec(step, 1..80)
}

/// Owners act one after the other; a queued request stays pending until its owner ends the wait.
fn run(bench: &Bench, steps: Vec<Step>) {
    let mut pending: Vec<Option<Wait>> = bench.owners.iter().map(|_| None).collect();
    let id = |owner: usize| TrxId(100 + owner as u64);
    for (owner, slot) in bench.owners.iter().enumerate() {
        slot.set_trx_id(id(owner));
    }
    for step in steps {
        match step {
            Step::Request { owner, key, mode, implicit } => {
                if pending[owner].is_some() {
                    continue;
                }
                let implicit = implicit.filter(|h| *h != owner && mode != LockMode::INSERT_INTENTION);
                // A row can be implicitly locked by one who could have been granted it.
                let at = LockKey::entry(INDEX, std::slice::from_ref(&key));
                let held = bench.table.list(false);
                let conflicts = |h: usize| {
                    held.iter().any(|l| {
                        l.key.as_deref() == at.key
                            && l.slot != bench.owners[h].slot
                            && X_REC.waits_for(l.mode)
                            && !l.waiting
                    })
                };
                let holder = implicit.filter(|h| !conflicts(*h)).map(|h| (&bench.owners[h], id(h)));
                match bench.table.request(at, &bench.owners[owner], mode, holder, OnConflict::Queue) {
                    Requested::Wait(wait) => pending[owner] = Some(wait),
                    Requested::Granted { .. } => {}
                    Requested::Refused => panic!("a queueing request is never refused"),
                }
            }
            Step::EndWait { owner } => {
                if let Some(wait) = pending[owner].take() {
                    let _ = bench.table.wait(&bench.owners[owner], wait, Duration::ZERO);
                }
            }
            Step::ReleaseOne { owner, key, mode } => {
                if pending[owner].is_none() {
                    bench.table.release(LockKey::entry(INDEX, &[key]), &bench.owners[owner], mode);
                }
            }
            Step::End { owner } => {
                if let Some(wait) = pending[owner].take() {
                    let _ = bench.table.wait(&bench.owners[owner], wait, Duration::ZERO);
                }
                bench.table.release_all(&bench.owners[owner]);
                bench.owners[owner].open(true);
                bench.owners[owner].set_trx_id(id(owner));
            }
            Step::Insert { successor, new } => {
                bench.table.inherit_on_insert(LockKey::entry(INDEX, &[successor]), &[new]);
            }
            Step::Remove { key } => {
                bench.table.inherit_on_remove(&[key], LockKey::entry(INDEX, &[key + 1]));
            }
        }
        bench.table.check();
        if pending.iter().all(Option::is_none) {
            bench.owners.iter().for_each(|o| bench.table.check_owner(o));
        }
    }
    for (owner, wait) in pending.into_iter().enumerate() {
        if let Some(wait) = wait {
            let _ = bench.table.wait(&bench.owners[owner], wait, Duration::ZERO);
        }
        bench.table.release_all(&bench.owners[owner]);
    }
    bench.table.check();
    assert!(bench.table.list(false).is_empty(), "everybody has released everything");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_histories_keep_every_promise(steps in steps()) {
        run(&Bench::new(5), steps);
    }
}
