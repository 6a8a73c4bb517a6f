//! Simulated crashes of the whole engine: rows, transactions, rollback, purge, checkpoints, recovery.
//!
//! A round is a seed: it gives the workload, the disk call after which the power goes, and what the disk does with what was
//! not synced. After each crash the engine must come back with a prefix of the commits that holds every acknowledged one, in
//! every index, and be able to go on. `SIM_ROUNDS` and `SIM_SEED` choose rounds (`cargo xtask sim`).
//!
//! * [`model`] what was done and what must be there
//! * [`world`] an engine with tables on a simulated disk
//! * [`workload`] one thread, several open transactions, every kind of change
//! * [`threads`] many threads, group commit, background threads

mod model;
mod threads;
mod workload;
mod world;

use env::{Random, SimDisk};

use model::History;
use world::World;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Crash points of one workload that are tried.
const CALLS_PER_SEED: u64 = 40;

#[test]
fn committed_rows_survive_a_crash_at_any_disk_call() {
    let rounds = setting("SIM_ROUNDS", 160);
    let first = setting("SIM_SEED", 1);
    let mut done = 0;
    let mut seed = first;
    while done < rounds {
        let calls = workload::calls_of(seed);
        let stride = (calls / CALLS_PER_SEED).max(1);
        let offset = Random::seeded(seed).below(stride);
        for call in (0..CALLS_PER_SEED).map(|n| offset + n * stride).take((rounds - done) as usize) {
            crash_round(seed, call);
            done += 1;
        }
        seed += 1;
    }
    println!("{done} simulated crashes, seeds {first} to {}", seed - 1);
}

/// Runs the workload of `seed` until disk call `call`, cuts the power, once more in the middle of recovery, and checks.
fn crash_round(seed: u64, call: u64) {
    let context = format!("SIM_SEED={seed}, power cut after call {call}");
    let sim = SimDisk::new(seed.wrapping_mul(1_000_003) ^ call);
    sim.crash_after(call);
    let mut history = History::new();
    // The error is the power cut.
    let _ = World::open(&sim, seed).and_then(|mut world| workload::run(&mut world, seed, &mut history));
    sim.crash();
    let mut random = Random::seeded(seed ^ call << 20);
    for _ in 0..random.below(3) {
        sim.crash_after(sim.calls() + random.below(200));
        let _ = World::open(&sim, seed).and_then(|world| world.start(&history));
        sim.crash();
    }
    let world = World::open(&sim, seed).unwrap_or_else(|e| panic!("{context}: {e}"));
    let Some(state) = world.check(&history, &context) else { return };
    history.forget_after(state);
    world.start(&history).unwrap_or_else(|e| panic!("{context}, rollback: {e}"));
    assert_eq!(world.check(&history, &context), Some(state), "{context}: rollback changed committed rows");
    world.check_purged(&history, &context);
    go_on(world, seed, &mut history, &sim, &context);
}

/// Life goes on after recovery, and survives another crash.
fn go_on(mut world: World, seed: u64, history: &mut History, sim: &SimDisk, context: &str) {
    workload::run_some(&mut world, seed + 77, history, 15)
        .unwrap_or_else(|e| panic!("{context}, afterwards: {e}"));
    world.engine.log().wait_durable(world.engine.log().ready_lsn()).unwrap();
    history.acknowledged = history.states.len() - 1;
    world.check(history, &format!("{context}, afterwards"));
    drop(world);
    sim.crash();
    let world = World::open(sim, seed).unwrap_or_else(|e| panic!("{context}, second start: {e}"));
    assert!(world.check(history, context).is_some(), "{context}: the tables are gone");
}
