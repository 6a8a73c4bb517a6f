//! One thread with several open transactions, whose rows are apart so that nobody waits.

use env::{Random, SimDisk};
use log::FlushPolicy;
use storage::row::{Change, Modified, WaitMode};
use storage::trx::Trx;

use crate::model::{History, Row, State, TABLES};
use crate::world::{Outcome, World, encode, key_of};

const STEPS: usize = 120;
/// Open transactions at most; each has the ids of its own remainder.
const OPEN: usize = 3;
const IDS: u64 = 60;

/// An open transaction and what its commit would make of the rows.
struct Open {
    trx: Trx,
    /// Its own changes, in order: `None` deletes.
    changes: Vec<(usize, i64, Option<Row>)>,
}

/// Disk calls of the whole workload.
pub(crate) fn calls_of(seed: u64) -> u64 {
    let sim = SimDisk::new(seed);
    let mut history = History::new();
    let mut world = World::open(&sim, seed).unwrap();
    run(&mut world, seed, &mut history).unwrap();
    sim.calls()
}

/// Makes the tables and works.
pub(crate) fn run(world: &mut World, seed: u64, history: &mut History) -> Outcome<()> {
    world.create_tables(history)?;
    world.start(history)?;
    run_some(world, seed, history, STEPS)
}

/// Works on existing tables.
pub(crate) fn run_some(world: &mut World, seed: u64, history: &mut History, steps: usize) -> Outcome<()> {
    world.open_tables(history);
    let mut random = Random::seeded(seed);
    let policy = [FlushPolicy::Sync, FlushPolicy::Sync, FlushPolicy::Write, FlushPolicy::Lazy];
    world.engine.log().set_flush_policy(policy[random.below(4) as usize]);
    let mut open: Vec<Option<Open>> = (0..OPEN).map(|_| None).collect();
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
    }
    // What is still open is rolled back here, or by recovery when the log is gone.
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
        let row = some_row(random);
        one.trx.insert(table, &encode(table, id, &row))?;
        one.changes.push((at, id, Some(row)));
        return Ok(());
    }
    let new = (!random.one_in(3)).then(|| some_row(random));
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

fn some_row(random: &mut Random) -> Row {
    let mut bytes = |max: u64| vec![random.below(256) as u8; random.below(max) as usize];
    let word = bytes(1200);
    // Most long values fit their page; some need a chain of overflow pages.
    let long = if word.len().is_multiple_of(7) { bytes(60_000) } else { bytes(100) };
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
        if log.durable_lsn() >= record.end {
            history.acknowledged = number;
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
