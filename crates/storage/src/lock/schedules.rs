//! Random schedules of the lock table, explored by shuttle. Time stands still, so a lost wake-up or an undetected deadlock ends
//! in "all threads blocked", which shuttle reports.

use std::time::Duration;

use base::{IndexId, TrxId};
use env::{Clock, ManualClock};
use shuttle::rand::Rng;
use shuttle::sync::Arc as ShuttleArc;
use shuttle::sync::atomic::{AtomicU32, Ordering};
use shuttle::thread::{self, spawn};
use std::sync::Arc;

use super::*;
use crate::trx::Slots;

const INDEX: IndexId = IndexId(1);
const ITERATIONS: usize = 20_000;

struct Shared {
    table: LockTable,
    slots: Arc<Slots>,
    /// Who is inside, by key: 1000 for an exclusive holder, 1 for each shared one.
    inside: [AtomicU32; 3],
}

fn shared() -> ShuttleArc<Shared> {
    let slots = Arc::new(Slots::new());
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(Duration::ZERO));
    let table = LockTable::new(clock, Arc::clone(&slots) as Arc<dyn Owners>);
    ShuttleArc::new(Shared { table, slots, inside: [const { AtomicU32::new(0) }; 3] })
}

/// One transaction: locks a few keys, checks that the locks exclude, ends. False when it was a deadlock's victim.
fn transact(shared: &Shared, id: u64, plan: &[(usize, Strength)]) -> bool {
    let slot = shared.slots.take(true);
    let owner = slot.owner();
    owner.set_trx_id(TrxId(id));
    let mut held: Vec<(usize, u32)> = Vec::new();
    let mut alive = true;
    for (key, strength) in plan {
        let bytes = [*key as u8];
        let at = LockKey::entry(INDEX, &bytes);
        let mode = LockMode::next_key(*strength);
        let locked = match shared.table.request(at, owner, mode, None, OnConflict::Queue) {
            Requested::Granted { .. } => Ok(()),
            Requested::Wait(wait) => shared.table.wait(owner, wait, Duration::from_secs(1)),
            Requested::Refused => unreachable!("queueing"),
        };
        if let Err(why) = locked {
            assert_eq!(why, LockError::Deadlock);
            alive = false;
            break;
        }
        let weight = if *strength == Strength::Exclusive { 1000 } else { 1 };
        if held.iter().any(|(k, _)| k == key) {
            continue;
        }
        let before = shared.inside[*key].fetch_add(weight, Ordering::SeqCst);
        assert!(before == 0 || (weight == 1 && before < 1000), "two exclude each other on key {key}");
        held.push((*key, weight));
        thread::yield_now();
    }
    for (key, weight) in held {
        shared.inside[key].fetch_sub(weight, Ordering::SeqCst);
    }
    shared.table.release_all(owner);
    shared.slots.give_back(&slot);
    alive
}

#[test]
fn schedules_locks_exclude_and_every_deadlock_is_broken() {
    shuttle::check_random(
        || {
            let shared = shared();
            let threads: Vec<_> = (0..3u64)
                .map(|n| {
                    let shared = ShuttleArc::clone(&shared);
                    let mut rng = shuttle::rand::thread_rng();
                    let plan: Vec<_> = (0..3)
                        .map(|_| {
                            let x = rng.gen_range(0..3) != 0;
                            let strength = if x { Strength::Exclusive } else { Strength::Shared };
                            (rng.gen_range(0..3usize), strength)
                        })
                        .collect();
                    spawn(move || transact(&shared, n + 1, &plan))
                })
                .collect();
            let alive = threads.into_iter().map(|t| t.join().unwrap()).filter(|alive| *alive).count();
            assert!(alive > 0, "not everybody can be a victim");
            assert!(shared.table.list(false).is_empty());
            for key in 0..3u8 {
                assert!(!shared.table.may_be_locked(LockKey::entry(INDEX, &[key])));
            }
            assert!(!shared.table.gaps_locked(INDEX));
        },
        ITERATIONS,
    );
}

#[test]
fn schedules_an_implicit_lock_made_explicit_never_outlives_its_transaction() {
    shuttle::check_random(
        || {
            let shared = shared();
            let writer = shared.slots.take(true);
            writer.owner().set_trx_id(TrxId(5));
            let waiter = {
                let (shared, holder) = (ShuttleArc::clone(&shared), Arc::clone(writer.owner()));
                spawn(move || {
                    let slot = shared.slots.take(true);
                    let (owner, at) = (slot.owner(), LockKey::entry(INDEX, b"k"));
                    let mode = LockMode::record(Strength::Exclusive);
                    let implicit = Some((&holder, TrxId(5)));
                    match shared.table.request(at, owner, mode, implicit, OnConflict::Queue) {
                        Requested::Wait(wait) => {
                            assert_eq!(shared.table.wait(owner, wait, Duration::from_secs(1)), Ok(()));
                        }
                        Requested::Granted { new } => assert!(new),
                        Requested::Refused => unreachable!("queueing"),
                    }
                    shared.table.release_all(owner);
                    shared.slots.give_back(&slot);
                })
            };
            shared.table.release_all(writer.owner());
            shared.slots.give_back(&writer);
            // The slot serves the next transaction, which must not inherit anything.
            let next = shared.slots.take(true);
            next.owner().set_trx_id(TrxId(6));
            waiter.join().unwrap();
            assert_eq!(next.owner().lock_count(), 0);
            assert!(shared.table.list(false).is_empty());
        },
        ITERATIONS,
    );
}

#[test]
fn schedules_an_insert_gets_through_when_the_gap_is_left() {
    shuttle::check_random(
        || {
            let shared = shared();
            let holder = shared.slots.take(true);
            let at = LockKey::supremum(INDEX);
            let mode = LockMode::next_key(Strength::Shared);
            let granted = shared.table.request(at, holder.owner(), mode, None, OnConflict::Queue);
            assert!(matches!(granted, Requested::Granted { .. }));
            let inserters: Vec<_> = (0..2)
                .map(|_| {
                    let shared = ShuttleArc::clone(&shared);
                    spawn(move || {
                        let slot = shared.slots.take(true);
                        let (owner, mode) = (slot.owner(), LockMode::INSERT_INTENTION);
                        let asked = shared.table.request(at, owner, mode, None, OnConflict::Queue);
                        if let Requested::Wait(wait) = asked {
                            assert_eq!(shared.table.wait(owner, wait, Duration::from_secs(1)), Ok(()));
                        }
                        assert_eq!(owner.lock_count(), 0, "an insert intention holds nothing");
                        shared.table.release_all(owner);
                        shared.slots.give_back(&slot);
                    })
                })
                .collect();
            shared.table.release_all(holder.owner());
            shared.slots.give_back(&holder);
            inserters.into_iter().for_each(|t| t.join().unwrap());
            assert!(!shared.table.gaps_locked(INDEX));
        },
        ITERATIONS,
    );
}
