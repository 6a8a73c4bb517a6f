//! Simulated crashes of the whole engine: rows, transactions, rollback, purge, checkpoints, recovery.
//!
//! A round is a seed and a disk call. The seed gives the workload; it runs once, undisturbed, and the disk is copied at many of
//! its calls. Each copy is a machine that stops there: its power goes, and the disk decides what becomes of what was not synced, or the
//! process is killed and what was written stays. The engine must come back with a prefix of the commits that holds every
//! acknowledged one, in every index, and be able to go on; the row events of the log must tell the same rows. It may stop again
//! at any call, in recovery and afterwards. In one round of each seed the running engine itself meets the power cut. `SIM_ROUNDS`
//! and `SIM_SEED` choose rounds (`cargo xtask sim`).
//!
//! * [`model`] what was done and what must be there
//! * [`world`] an engine with tables on a simulated disk
//! * [`workload`] one thread, several open transactions, every kind of change
//! * [`events`] the rows as the log alone tells them
//! * [`indexes`] an index that is built beside the workload
//! * [`prepared`] XA transactions that were prepared
//! * [`threads`] many threads, group commit, background threads

mod events;
mod indexes;
mod model;
mod prepared;
mod threads;
mod workload;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use env::{Random, SimDisk};

use storage::engine::Shutdown;

use model::History;
use workload::Run;
use world::{World, keeps_log};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Failures after which a run ends.
const FAILURES_MAX: usize = 20;

#[test]
fn committed_rows_survive_a_crash_at_any_disk_call() {
    let (rounds, first) = (setting("SIM_ROUNDS", 320), setting("SIM_SEED", 1));
    let (mut done, mut seed, mut failed) = (0, first, Vec::new());
    while done < rounds && failed.len() < FAILURES_MAX {
        let mut random = Random::seeded(seed);
        let distance = 2 + random.below(9);
        let run = Run::record(seed, random.below(distance), distance);
        let cut = run.disks[random.below(run.disks.len() as u64) as usize].0;
        // A failed round has told what is wrong when it panicked.
        let mut round = |call, round: &dyn Fn()| {
            failed.extend(catch_unwind(AssertUnwindSafe(round)).is_err().then_some((seed, call)));
        };
        let copies = run.disks.iter().take((rounds - done - 1) as usize);
        done += 1 + copies.len() as u64;
        round(cut, &|| crash_running(seed, cut));
        copies.for_each(|(call, disk)| round(*call, &|| crash_copy(seed, *call, disk, &run.history)));
        seed += 1;
    }
    println!("{done} simulated crashes, seeds {first} to {}", seed - 1);
    assert!(failed.is_empty(), "failed: (seed, call) {failed:?}");
}

/// Crashes that once found a fault: the seed and the call. A change of the workload gives seeds another meaning: then break
/// the code again, and replace them by what `SIM_ROUNDS=2000` finds.
///
/// Two faults have tests of their own instead, because few seeds find them: a start relied on a control block that was written and not synced
/// (`engine::control`), and reported a crash soon after the start that followed a clean shutdown as a clean shutdown (`engine::tests`).
const FOUND: &[(u64, u64)] = &[
    // After a kill, data files held writes that were not synced, and a power cut after the next checkpoint took them back.
    // The hole in a page's history was met by the last start, by the second life, and as a torn page without a copy.
    (402_520, 170),
    (4_000_005, 151),
    (4_000_013, 135),
    (4_000_017, 147),
    (4_000_032, 221),
    // After a kill between a file's removal and the sync of its directory, a power cut brought the file back without its pages.
    (2_000_688, 91),
    // The log ended with the header of an empty segment, which the power cut took: read views were then older than the index that had
    // been built just before, although nothing lay between.
    (2_300_151, 141),
];

#[test]
fn crashes_that_found_a_fault_do_no_harm_any_more() {
    for &(seed, call) in FOUND {
        crash_running(seed, call);
        let run = Run::record(seed, call, u64::MAX);
        for (call, disk) in &run.disks {
            crash_copy(seed, *call, disk, &run.history);
        }
    }
}

/// Runs the workload of `seed` until the power goes after disk call `call`.
fn crash_running(seed: u64, call: u64) {
    let sim = SimDisk::new(seed.wrapping_mul(1_000_003) ^ call);
    sim.crash_after(call);
    let mut history = History::new(&sim);
    // The error is the power cut.
    let _ = World::open(&sim, seed).and_then(|mut world| workload::run(&mut world, seed, &mut history));
    crash_round(seed, call, &sim, &mut history);
}

/// The machine of a copied disk stops.
fn crash_copy(seed: u64, call: u64, disk: &SimDisk, whole: &History) {
    let sim = disk.fork(seed.wrapping_mul(1_000_003) ^ call);
    let mut history = whole.at(call, &sim);
    crash_round(seed, call, &sim, &mut history);
}

/// How a machine stops.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stop {
    Power,
    Process,
}

impl Stop {
    fn happen(self, sim: &SimDisk) {
        match self {
            Self::Power => sim.crash(),
            Self::Process => sim.kill(),
        }
    }
}

/// The machine stops and comes back; now and then it works for a while and stops again, up to three times; then life goes on.
fn crash_round(seed: u64, call: u64, sim: &SimDisk, history: &mut History) {
    let mut random = Random::seeded(seed ^ call << 20);
    for life in 1.. {
        let stop = if random.one_in(4) { Stop::Process } else { Stop::Power };
        let context = &format!("SIM_SEED={seed}, call {call}, {stop:?} lost, life {life}");
        stop.happen(sim);
        let Some(mut world) = come_back(seed, stop, sim, history, &mut random, context) else { return };
        if life == 3 || !random.one_in(3) {
            return go_on(world, seed, history, sim, &mut random, context);
        }
        sim.crash_after(sim.calls() + random.below(400));
        // The error is the power cut.
        let _ = workload::run_some(&mut world, seed + 100 + life, history, 25);
    }
}

/// Recovery, which the machine may not survive at first, and all checks. `None` when there are no tables yet.
fn come_back(
    seed: u64,
    stop: Stop,
    sim: &SimDisk,
    history: &mut History,
    random: &mut Random,
    context: &str,
) -> Option<World> {
    for _ in 0..random.below(3) {
        sim.crash_after(sim.calls() + random.below(200));
        let _ = World::open(sim, seed).and_then(|world| world.start(history));
        stop.happen(sim);
    }
    let world = World::open(sim, seed).unwrap_or_else(|e| panic!("{context}: {e}"));
    let kept = if stop == Stop::Power { history.durable } else { history.written };
    let state = world.check(history, kept, context)?;
    history.forget_after(state);
    // The log is read as a whole: now and then is enough here.
    if keeps_log(seed) && random.one_in(2) {
        world.check_events(sim, history, context);
    }
    world.start(history).unwrap_or_else(|e| panic!("{context}, rollback: {e}"));
    assert_eq!(
        world.check(history, state, context),
        Some(state),
        "{context}: rollback changed committed rows"
    );
    world.check_purged(history, context);
    Some(world)
}

/// Life goes on after recovery, and survives another crash, or a shutdown and then a crash.
fn go_on(
    mut world: World,
    seed: u64,
    history: &mut History,
    sim: &SimDisk,
    random: &mut Random,
    context: &str,
) {
    workload::run_some(&mut world, seed + 77, history, 15)
        .unwrap_or_else(|e| panic!("{context}, afterwards: {e}"));
    world.engine.log().wait_durable(world.engine.log().ready_lsn()).unwrap();
    history.all_durable();
    world.check(history, history.durable, &format!("{context}, afterwards"));
    let clean = random.one_in(3);
    if clean {
        world.engine.shutdown(Shutdown::Fast).unwrap_or_else(|e| panic!("{context}, shutdown: {e}"));
    }
    drop(world);
    sim.crash();
    let world = World::open(sim, seed).unwrap_or_else(|e| panic!("{context}, last start: {e}"));
    assert_eq!(world.engine.report().was_clean, clean, "{context}, last start");
    assert!(world.check(history, history.durable, context).is_some(), "{context}: the tables are gone");
    if keeps_log(seed) && random.one_in(2) {
        world.check_events(sim, history, &format!("{context}, last start"));
    }
}
