//! Many threads against one engine with its background threads, and the power goes at any moment.
//!
//! Each thread owns three rows: it moves one unit from the first to the second per transaction and counts its turns in the third.
//! So the sum must stay, all three rows must be of one turn, and every acknowledged turn must be among those that survived.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use env::{Clock, ManualClock, Random, RealClock, SimDisk};
use storage::engine::{Engine, EngineConfig, Shutdown};
use storage::row::{Change, Modified, WaitMode};
use storage::table::Table;
use storage::trx::{Isolation, LogOptions, TrxOptions};

use crate::model::{History, Row, Text};
use crate::setting;
use crate::workload::Shape;
use crate::world::{Outcome, World, config, encode, key_of};

const THREADS: i64 = 6;

/// Turns that were acknowledged, and that were begun, by thread.
#[derive(Default)]
struct Turns {
    acknowledged: AtomicI64,
    begun: AtomicI64,
}

fn row(number: i64) -> Row {
    let word = Text { first: b'w', len: (number % 700) as usize };
    Row { number: Some(number), word, long: Text::of(b"").expect("nothing is a text") }
}

fn open(sim: &SimDisk, background: bool) -> Outcome<World> {
    // The lock manager and the threads need a clock that runs; recovery is checked with one that stands.
    let clock: Arc<dyn Clock> = match background {
        true => Arc::new(RealClock::new()),
        false => Arc::new(ManualClock::new(Duration::from_secs(1_800_000_000))),
    };
    let config = EngineConfig { background, ..config(1) };
    let engine = Engine::open(config, sim.disk(), clock)?;
    Ok(World::of(engine, LogOptions::default(), Shape::of(1)))
}

/// One thread's life: turns until the power goes.
fn live(engine: &Engine, table: &Arc<Table>, me: i64, turns: &Turns) -> Outcome<()> {
    for turn in 1.. {
        turns.begun.store(turn, Ordering::SeqCst);
        let isolation = Isolation::ReadCommitted;
        let mut trx = engine.begin(TrxOptions { isolation, ..TrxOptions::default() });
        for (id, number) in [(me * 3, 1_000_000 - turn), (me * 3 + 1, turn), (me * 3 + 2, turn)] {
            let body = encode(table, id, &row(number));
            let mut decide = |_: &[u8], out: &mut Vec<u8>| {
                out.extend_from_slice(&body);
                Change::Update
            };
            let done = trx.modify(table, &key_of(table, id), WaitMode::Wait, &mut decide)?;
            assert_eq!(done, Modified::Updated);
        }
        if turn % 5 == 0 {
            trx.rollback()?;
            continue;
        }
        let record = trx.commit()?.expect("something was written");
        engine.log().wait_commit(record.end)?;
        turns.acknowledged.store(turn, Ordering::SeqCst);
    }
    Ok(())
}

fn prepare(sim: &SimDisk, history: &mut History) -> Outcome<World> {
    let mut world = open(sim, true)?;
    world.create_tables(history)?;
    world.start(history)?;
    let mut trx = world.begin();
    for id in 0..THREADS * 3 {
        let number = if id % 3 == 0 { 1_000_000 } else { 0 };
        trx.insert(&world.tables[0], &encode(&world.tables[0], id, &row(number)))?;
    }
    let record = trx.commit()?.expect("something was written");
    world.engine.log().wait_durable(record.end)?;
    Ok(world)
}

/// Lets the threads work until the power goes after a number of disk calls.
fn until_power_cut(world: &World, sim: &SimDisk, calls: u64) -> Vec<Turns> {
    let turns: Vec<Turns> = (0..THREADS).map(|_| Turns::default()).collect();
    sim.crash_after(sim.calls() + calls);
    std::thread::scope(|scope| {
        for (me, turns) in (0..).zip(&turns) {
            scope.spawn(move || {
                live(&world.engine, &world.tables[0], me, turns).expect_err("only the power cut ends it");
            });
        }
    });
    // Ends the background threads; the log has failed.
    let _ = world.engine.shutdown(Shutdown::LogOnly);
    turns
}

fn check(world: &World, history: &History, turns: &[Turns], context: &str) {
    let table = Table::new(history.specs[0].clone());
    let rows = world.rows(&table, 0, context);
    assert_eq!(world.rows(&table, 1, context), rows, "{context}: the indexes disagree");
    let number = |id: i64| rows[&id].number.expect("never NULL");
    for (me, turns) in (0..).zip(turns) {
        let turn = number(me * 3 + 1);
        assert_eq!(
            (number(me * 3), number(me * 3 + 2)),
            (1_000_000 - turn, turn),
            "{context}: half a transaction"
        );
        let (acknowledged, begun) =
            (turns.acknowledged.load(Ordering::SeqCst), turns.begun.load(Ordering::SeqCst));
        assert!(
            (acknowledged..=begun).contains(&turn),
            "{context}: thread {me} has {turn}, not {acknowledged}..={begun}"
        );
    }
}

#[test]
fn threads_lose_nothing_that_was_acknowledged() {
    let rounds = setting("SIM_ROUNDS", 160).div_ceil(16);
    let first = setting("SIM_SEED", 1);
    for seed in first..first + rounds {
        let context = format!("SIM_SEED={seed}, threads");
        let sim = SimDisk::new(seed);
        let mut history = History::new(&sim);
        let world = prepare(&sim, &mut history).unwrap();
        let turns = until_power_cut(&world, &sim, 20 + Random::seeded(seed).below(600));
        drop(world);
        sim.crash();
        let world = open(&sim, false).unwrap_or_else(|e| panic!("{context}: {e}"));
        check(&world, &history, &turns, &context);
        world.start(&history).unwrap_or_else(|e| panic!("{context}, rollback: {e}"));
        check(&world, &history, &turns, &context);
    }
}
