//! One thread with several open transactions, whose rows are apart so that nobody waits.

use env::{Random, SimDisk};
use log::FlushPolicy;
use storage::engine::Shutdown;
use storage::row::{Change, Modified, ReadMode, RowBuf, Strength, WaitMode};
use storage::trx::Trx;

use crate::indexes::Building;
use crate::model::{History, Row, State, TABLES, Text};
use crate::world::{Outcome, World, alter, encode, key_of};

/// How much a workload does.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    steps: usize,
    word_max: u64,
    long_max: u64,
    /// Of a pool that nearly holds everything.
    pub(crate) frames: usize,
}

impl Shape {
    /// Seeds below 1000 are of one, large shape; the others are of many.
    pub(crate) fn of(seed: u64) -> Self {
        if seed < 1000 {
            return Self { steps: 120, word_max: 1200, long_max: 60_000, frames: 128 };
        }
        let mut random = Random::seeded(!seed);
        let steps = 20 + random.below(50) as usize;
        let word_max = [1200, 1200, 1200, 200][random.below(4) as usize];
        Self { steps, word_max, long_max: 1 + random.below(40_000), frames: 64 }
    }
}

/// Open transactions at most; each has the ids of its own remainder.
const OPEN: usize = 3;
const IDS: u64 = 60;

/// An open transaction and what its commit would make of the rows.
struct Open {
    trx: Trx,
    /// Its own changes, in order: `None` deletes.
    changes: Vec<(usize, i64, Option<Row>)>,
}

/// What a whole undisturbed run did, and the disk as it was at some of its calls.
pub(crate) struct Run {
    pub(crate) history: History,
    pub(crate) disks: Vec<(u64, SimDisk)>,
}

impl Run {
    /// Runs the workload of `seed`; keeps the disk as it is after `first` calls, and then again every `distance` calls.
    pub(crate) fn record(seed: u64, first: u64, distance: u64) -> Self {
        let sim = SimDisk::new(seed);
        sim.record_at(first, distance);
        let mut history = History::new(&sim);
        let mut world = World::open(&sim, seed).expect("nothing is wrong with the disk");
        let done = run(&mut world, seed, &mut history);
        done.unwrap_or_else(|e| panic!("SIM_SEED={seed}, without a crash: {e}"));
        Self { history, disks: sim.take_recorded() }
    }
}

/// Makes the tables, works, and in some runs stops in order.
pub(crate) fn run(world: &mut World, seed: u64, history: &mut History) -> Outcome<()> {
    world.create_tables(history)?;
    world.start(history)?;
    run_some(world, seed, history, world.shape.steps)?;
    if seed.is_multiple_of(5) {
        world.engine.shutdown(Shutdown::Fast)?;
    }
    Ok(())
}

/// Works on existing tables.
pub(crate) fn run_some(world: &mut World, seed: u64, history: &mut History, steps: usize) -> Outcome<()> {
    world.open_tables(history);
    let mut random = Random::seeded(seed);
    let policy = [FlushPolicy::Sync, FlushPolicy::Sync, FlushPolicy::Write, FlushPolicy::Lazy];
    world.engine.log().set_flush_policy(policy[random.below(4) as usize]);
    let mut open: Vec<Option<Open>> = (0..OPEN).map(|_| None).collect();
    let mut building: Option<Building> = None;
    for _ in 0..steps {
        let at = random.below(OPEN as u64) as usize;
        let mut one = match open[at].take() {
            Some(one) => one,
            None => Open { trx: world.begin(), changes: Vec::new() },
        };
        statement(world, &mut one, history.newest(), at, &mut random)?;
        match random.below(5) {
            0 | 1 => commit(world, one, history, &mut random)?,
            2 => one.trx.rollback()?,
            _ => open[at] = Some(one),
        }
        chores(world, &mut random)?;
        match random.below(20) {
            0 => {
                roll_back(&mut open)?;
                let table = random.below(TABLES as u64) as usize;
                match building.take() {
                    Some(build) => Building::finish(build, world, history)?,
                    None if random.one_in(2) => alter(world, history, table, random.one_in(2))?,
                    None => building = Building::begin(world, history, table)?,
                }
            }
            1 | 2 => building.iter_mut().try_for_each(Building::go_on)?,
            _ => {}
        }
    }
    // What is still open is rolled back here, or by recovery when the log is gone.
    Ok(())
}

fn roll_back(open: &mut [Option<Open>]) -> Outcome<()> {
    for one in open.iter_mut().filter_map(Option::take) {
        one.trx.rollback()?;
    }
    Ok(())
}

/// Some changes; now and then the statement or a savepoint is rolled back.
fn statement(
    world: &World,
    one: &mut Open,
    committed: &State,
    class: usize,
    random: &mut Random,
) -> Outcome<()> {
    one.trx.start_statement();
    let savepoint = one.trx.savepoint();
    let before = one.changes.len();
    for _ in 0..1 + random.below(6) {
        let table = random.below(TABLES as u64) as usize;
        let id = (random.below(IDS / OPEN as u64) * OPEN as u64) as i64 + class as i64;
        change(world, one, committed, (table, id), random)?;
    }
    match random.below(8) {
        0 => one.trx.rollback_statement()?,
        1 => one.trx.rollback_to(savepoint)?,
        _ => return Ok(()),
    }
    one.changes.truncate(before);
    Ok(())
}

fn change(
    world: &World,
    one: &mut Open,
    committed: &State,
    (at, id): (usize, i64),
    random: &mut Random,
) -> Outcome<()> {
    let table = &world.tables[at];
    let own = one.changes.iter().rev().find(|(t, i, _)| (*t, *i) == (at, id));
    let exists = own.map_or(committed[at].contains_key(&id), |(_, _, row)| row.is_some());
    if !exists {
        let row = some_row(world.shape, random);
        one.trx.insert(table, &encode(table, id, &row))?;
        one.changes.push((at, id, Some(row)));
        return Ok(());
    }
    if random.one_in(10) {
        return move_key(world, one, committed, (at, id), random);
    }
    let new = (!random.one_in(3)).then(|| some_row(world.shape, random));
    let body = new.as_ref().map(|row| encode(table, id, row));
    let mut decide = |_: &[u8], out: &mut Vec<u8>| match &body {
        Some(body) => {
            out.extend_from_slice(body);
            Change::Update
        }
        None => Change::Delete,
    };
    let done = one.trx.modify(table, &key_of(table, id), WaitMode::NoWait, &mut decide)?;
    assert_ne!(done, Modified::Missing, "row {id} of table {at} is gone");
    one.changes.push((at, id, new));
    Ok(())
}

/// Gives a row another primary key, if a free one is found.
fn move_key(
    world: &World,
    one: &mut Open,
    committed: &State,
    (at, id): (usize, i64),
    random: &mut Random,
) -> Outcome<()> {
    let (table, new_id) = (&world.tables[at], (id + OPEN as i64) % IDS as i64);
    let own = one.changes.iter().rev().find(|(t, i, _)| (*t, *i) == (at, new_id));
    if own.map_or(committed[at].contains_key(&new_id), |(_, _, row)| row.is_some()) {
        return Ok(());
    }
    let mode = ReadMode::Locking { strength: Strength::Exclusive, wait: WaitMode::NoWait };
    let mut row = RowBuf::new();
    assert!(one.trx.get(table, 0, &key_of(table, id), mode, &mut row)?, "row {id} of table {at} is gone");
    let new = some_row(world.shape, random);
    one.trx.update(table, &row, &encode(table, new_id, &new))?;
    one.changes.push((at, id, None));
    one.changes.push((at, new_id, Some(new)));
    Ok(())
}

fn some_row(shape: Shape, random: &mut Random) -> Row {
    let mut text = |max: u64| Text::new(random.below(256) as u8, random.below(max) as usize);
    let word = text(shape.word_max);
    // Most long values fit their page; some need a chain of overflow pages.
    let long = if word.len.is_multiple_of(7) { text(shape.long_max) } else { text(100) };
    Row { number: (!random.one_in(5)).then(|| random.below(20) as i64), word, long }
}

fn commit(world: &World, one: Open, history: &mut History, random: &mut Random) -> Outcome<()> {
    let mut state = history.newest().clone();
    for (table, id, row) in one.changes {
        match row {
            Some(row) => state[table].insert(id, row),
            None => state[table].remove(&id),
        };
    }
    // Before the call: a commit whose call fails may have happened.
    let number = history.commit(state);
    let log = world.engine.log();
    if let Some(record) = one.trx.commit()? {
        if random.one_in(4) {
            return Ok(());
        }
        log.wait_commit(record.end)?;
        if log.flush_policy() != FlushPolicy::Lazy || log.written_lsn() >= record.end {
            history.acknowledge(number, log.durable_lsn() >= record.end);
        }
    }
    Ok(())
}

/// What the background threads do, at odd moments.
fn chores(world: &World, random: &mut Random) -> Outcome<()> {
    let engine = &world.engine;
    match random.below(20) {
        0 => drop(engine.checkpoint()?),
        1 => engine.pool().clean_once()?,
        2 => engine.pool().flush_to(engine.log().durable_lsn())?,
        3 => engine.log().tick(),
        4 | 5 => drop(engine.purge_some(3)?),
        6 => drop(engine.log().rotate()?),
        _ => {}
    }
    Ok(())
}
