//! The power goes or the process dies at any call of the disk: the binary log and the tables must tell the same.
//!
//! The workload runs once for each seed and is copied at many calls. From each copy the server comes back, rolls back what had no commit
//! record, and is asked for its tables and for its stream. `SIM_ROUNDS` and `SIM_SEED` choose.

use binlog_file::IndexOptions;
use commit::FileOptions;
use env::{Random, SimDisk};
use event_format::{Checksum, MetadataLevel};
use log::FlushPolicy;
use storage::table::TableSpec;

use crate::replica::Replica;
use crate::workload;
use crate::world::{Outcome, Setup, World};

/// What was known outside of the machine, with the disk calls that had been made by then.
#[derive(Default)]
struct Known {
    specs: Vec<TableSpec>,
    acknowledged: Vec<(u64, u64)>,
    /// Sent to a replica that follows.
    sent: Vec<(u64, u64)>,
}

impl Known {
    fn at(notes: &[(u64, u64)], call: u64) -> u64 {
        notes.iter().take_while(|(calls, _)| *calls <= call).map(|(_, seq_no)| *seq_no).last().unwrap_or(0)
    }
}

fn setup(seed: u64, policy: FlushPolicy) -> Setup {
    let ring = if seed.is_multiple_of(2) { 64 << 10 } else { 1 << 20 };
    Setup { ring, segment: 64 << 10, policy, ..Setup::default() }
}

fn run(world: &World, sim: &SimDisk, seed: u64, known: &mut Known) -> Outcome<()> {
    let mut random = Random::seeded(seed);
    world.durable()?;
    let mut replica = Replica { state: world.state(), ..Replica::default() };
    let mut reader = world.reader(binlog::Start::Newest)?;
    replica.last = world.committer.positions().last().next();
    for _ in 0..12 {
        let mut trx = world.begin();
        let size = if random.one_in(8) { 40 } else { 4 };
        if workload::transaction(world, &mut trx, &mut random, size)? {
            let done = world.commit(trx)?;
            if let Some(gtid) = done.gtid {
                known.acknowledged.push((sim.calls(), gtid.seq_no));
            }
        } else {
            trx.rollback()?;
        }
        match random.below(8) {
            0 => _ = world.engine.checkpoint()?,
            1 => world.next_file()?,
            2 | 3 => world.engine.log().tick(),
            _ => {}
        }
        replica.try_follow(&mut *reader)?;
        known.sent.extend(replica.last.map(|gtid| (sim.calls(), gtid.seq_no)));
    }
    Ok(())
}

/// The machine comes back: everything that can be known is consistent. Answers the newest sequence number.
fn come_back(sim: &SimDisk, setup: Setup, specs: &mut Vec<TableSpec>, context: &str) -> (World, u64) {
    let world = World::open(sim, setup, specs).unwrap_or_else(|e| panic!("{context}: {e}"));
    let mut replica = Replica::default();
    replica.follow(&mut *world.reader(binlog::Start::Oldest).unwrap());
    for (name, rows) in world.state() {
        let told = replica.state.remove(&name).unwrap_or_default();
        let differ: Vec<_> =
            rows.keys().chain(told.keys()).filter(|id| rows.get(id) != told.get(id)).collect();
        assert!(differ.is_empty(), "{context}: rows of {name} that the stream tells otherwise: {differ:?}");
    }
    let newest = world.committer.positions().last().next();
    assert_eq!(newest, replica.last, "{context}: the GTID position is the stream's end");
    let seq_no = newest.map_or(0, |gtid| gtid.seq_no);
    (world, seq_no)
}

fn rounds(policy: FlushPolicy, most: u64, first_seed: u64) {
    rounds_of(&|seed| setup(seed, policy), most, first_seed);
}

fn rounds_of(setup: &dyn Fn(u64) -> Setup, most: u64, first_seed: u64) {
    let policy = setup(0).policy;
    let mut notes = Vec::new();
    let (mut done, mut seed) = (0, first_seed);
    while done < most {
        let sim = SimDisk::new(seed);
        let mut random = Random::seeded(seed + 77);
        let distance = 3 + random.below(20);
        let mut known = Known::default();
        let world = World::open(&sim, setup(seed), &mut known.specs).unwrap();
        sim.record_at(sim.calls() + 1, distance);
        run(&world, &sim, seed, &mut known).unwrap();
        let copies = sim.take_recorded();
        drop(world);
        for (call, disk) in copies.into_iter().take((most - done) as usize) {
            done += 1;
            let sim = disk.fork(seed << 20 ^ call);
            let power = random.below(4) > 0;
            let context = format!("seed {seed}, call {call}, {policy:?}, power lost {power}");
            if power {
                sim.crash()
            } else {
                sim.kill()
            };
            let setup = setup(seed);
            let (world, newest) = come_back(&sim, setup, &mut known.specs, &context);
            notes.extend_from_slice(&world.notes);
            let sent = Known::at(&known.sent, call);
            assert!(sent <= newest, "{context}: a replica has {sent}, the primary {newest}");
            if policy == FlushPolicy::Sync {
                let acknowledged = Known::at(&known.acknowledged, call);
                assert!(
                    acknowledged <= newest,
                    "{context}: {acknowledged} was acknowledged, {newest} is there"
                );
            }
            if random.one_in(3) {
                // It goes on, and stops again somewhere.
                sim.crash_after(sim.calls() + random.below(300));
                let mut later = Known::default();
                // The error is the power cut.
                let _ = run(&world, &sim, seed + 1000, &mut later);
                drop(world);
                sim.crash();
                let (world, again) = come_back(&sim, setup, &mut known.specs, &format!("{context}, again"));
                assert!(again >= newest, "{context}: {again} after {newest}");
                world.shutdown();
            } else {
                world.shutdown();
            }
        }
        seed += 1;
    }
    if setup(0).files.is_some() {
        for what in ["are committed", "are rolled back", "is cut off"] {
            assert!(
                notes.iter().any(|note| note.contains(what)),
                "no start had to tell that transactions {what}"
            );
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn rows_and_stream_agree_after_a_crash_with_every_commit_synced() {
    rounds(FlushPolicy::Sync, setting("SIM_ROUNDS", 60), setting("SIM_SEED", 1));
}

#[test]
fn rows_and_stream_agree_after_a_crash_with_commits_written() {
    rounds(FlushPolicy::Write, setting("SIM_ROUNDS", 60), setting("SIM_SEED", 1000));
}

#[test]
fn rows_and_stream_agree_after_a_crash_with_commits_in_memory() {
    rounds(FlushPolicy::Lazy, setting("SIM_ROUNDS", 60), setting("SIM_SEED", 2000));
}

/// Small caches and files, so that groups spill, become files by a rename, and files end.
pub(crate) fn in_files(seed: u64, policy: FlushPolicy) -> Setup {
    let files = FileOptions {
        server_id: 1,
        version: "11.8.9-MariaDB",
        checksum: Checksum::Crc32,
        metadata: MetadataLevel::NoLog,
        row_event_size_max: 8192,
        size_max: 24 << 10,
        sync_every: 1,
        cache_memory: 4 << 10,
        cache_most: u64::MAX,
        large: if seed.is_multiple_of(3) { 6 << 10 } else { 1 << 20 },
        index: seed.is_multiple_of(2).then_some(IndexOptions { page_size: 128, span_min: 512 }),
    };
    Setup { files: Some(files), ..setup(seed, policy) }
}

#[test]
fn rows_and_files_agree_after_a_crash_with_every_commit_synced() {
    let setup = |seed| in_files(seed, FlushPolicy::Sync);
    rounds_of(&setup, setting("SIM_ROUNDS", 60), setting("SIM_SEED", 3000));
}

#[test]
fn rows_and_files_agree_after_a_crash_with_the_engines_log_written() {
    let setup = |seed| in_files(seed, FlushPolicy::Write);
    rounds_of(&setup, setting("SIM_ROUNDS", 60), setting("SIM_SEED", 4000));
}

#[test]
fn rows_and_files_agree_after_a_crash_with_the_engines_log_in_memory() {
    let setup = |seed| in_files(seed, FlushPolicy::Lazy);
    rounds_of(&setup, setting("SIM_ROUNDS", 60), setting("SIM_SEED", 5000));
}
