//! Random transactions, one after the other or several open at once, and what they leave.

use env::{Random, SimDisk};
use event_format::{Event, Query, QueryHead};
use storage::row::RowError;
use storage::table::TableSpec;
use storage::trx::Trx;

use crate::replica::Replica;
use crate::world::{NewRow, Outcome, Setup, State, TABLES, World};

const IDS: u64 = 60;

fn bytes(random: &mut Random, long: bool) -> Vec<u8> {
    let len = match (long, random.below(12)) {
        (false, n) => n * 9,
        (true, 0) => 20_000 + random.below(40_000),
        (true, 1) => 9000,
        (true, n) => n,
    };
    let seed = random.next_u64();
    (0..len).map(|i| (seed >> (i % 50)) as u8 ^ i as u8).collect()
}

fn row(random: &mut Random, id: i32) -> NewRow {
    let number = (!random.one_in(5)).then(|| random.below(1000) as i32);
    NewRow { id, number, word: bytes(random, false), long: bytes(random, true) }
}

/// One row operation; what a key that is taken or missing says is no failure.
fn operate(world: &World, trx: &mut Trx, random: &mut Random, table: usize) -> Outcome<()> {
    let id = random.below(IDS) as i32;
    let outcome = match random.below(6) {
        0 | 1 => {
            let new = row(random, id);
            world.insert(trx, table, &new)
        }
        2 | 3 => {
            let new = row(random, id);
            world.update(trx, table, id, &new).map(|_| ())
        }
        4 => {
            // The key changes.
            let other = random.below(IDS) as i32;
            let new = row(random, other);
            world.update(trx, table, id, &new).map(|_| ())
        }
        _ => world.delete(trx, table, id).map(|_| ()),
    };
    match outcome {
        Ok(()) | Err(RowError::DuplicateKey { .. } | RowError::RowGone) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

fn statement(world: &World, trx: &mut Trx, random: &mut Random, number: u64) -> Outcome<()> {
    trx.start_statement();
    if !random.one_in(4) {
        trx.set_statement_text(format!("STATEMENT {number}").as_bytes());
    }
    let several = random.one_in(4);
    let table = random.below(TABLES as u64) as usize;
    for _ in 0..=random.below(6) {
        let table = if several { random.below(TABLES as u64) as usize } else { table };
        operate(world, trx, random, table)?;
    }
    if random.one_in(6) {
        trx.rollback_statement()?;
    }
    Ok(())
}

/// The body of a savepoint's event.
fn savepoint_event(number: u64) -> Vec<u8> {
    let query = Query {
        head: QueryHead::default(),
        status: &[],
        database: b"d",
        sql: format!("SAVEPOINT `s{number}`").into_bytes().into(),
        compressed: false,
    };
    let mut body = Vec::new();
    Event::Query(query).encode(&mut body);
    body
}

/// A transaction with savepoints; true when it is to be committed.
pub(crate) fn transaction(world: &World, trx: &mut Trx, random: &mut Random, size: u64) -> Outcome<bool> {
    let mut savepoints = vec![trx.savepoint()];
    for number in 0..=random.below(size) {
        statement(world, trx, random, number)?;
        match random.below(5) {
            0 => {
                if trx.wants_savepoints() {
                    trx.append_savepoint(&savepoint_event(number))?;
                }
                savepoints.push(trx.savepoint());
            }
            1 => {
                let to = random.below(savepoints.len() as u64) as usize;
                trx.rollback_to(savepoints[to])?;
                savepoints.truncate(to + 1);
            }
            _ => {}
        }
    }
    Ok(!random.one_in(6))
}

/// Runs transactions; calls `committed` with the state after each commit that is acknowledged.
pub(crate) fn run(
    world: &World,
    random: &mut Random,
    transactions: u64,
    committed: &mut dyn FnMut(State),
) -> Outcome<()> {
    for _ in 0..transactions {
        let mut trx = world.begin();
        let size = if random.one_in(10) { 60 } else { 5 };
        if transaction(world, &mut trx, random, size)? {
            world.commit(trx)?;
            committed(world.state());
        } else {
            trx.rollback()?;
        }
        match random.below(12) {
            0 => _ = world.engine.checkpoint()?,
            1 => _ = world.binlog.rotate()?,
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn the_stream_is_the_tables_whatever_is_rolled_back() {
    for seed in 1..=80u64 {
        // Small rings: most records are read from segments; large ones: from memory.
        let ring = if seed.is_multiple_of(2) { 64 << 10 } else { 4 << 20 };
        // Every binlog_row_image.
        let image = (seed / 2 % 4) as u8;
        let says_written = !seed.is_multiple_of(5);
        let setup = Setup { ring, segment: 64 << 10, image, says_written, ..Setup::default() };
        let sim = SimDisk::new(seed);
        let mut specs: Vec<TableSpec> = Vec::new();
        let world = World::open(&sim, setup, &mut specs).unwrap();
        let mut random = Random::seeded(seed);
        let mut live = Replica::default();
        let mut reader = world.binlog.reader(binlog::Start::Oldest).unwrap();
        run(&world, &mut random, 30, &mut |state| {
            live.follow(&mut reader);
            for (name, rows) in &state {
                assert!(
                    live.state.get(name).map_or(rows.is_empty(), |told| told == rows),
                    "seed {seed}: {name}"
                );
            }
        })
        .unwrap();
        // A reader that begins now finds the same, in files.
        let mut late = Replica::default();
        late.follow(&mut world.binlog.reader(binlog::Start::Oldest).unwrap());
        live.follow(&mut reader);
        assert_eq!(
            (late.groups, late.last, &late.texts),
            (live.groups, live.last, &live.texts),
            "seed {seed}"
        );
        assert_eq!(late.state, live.state, "seed {seed}");
        assert!(live.rotations > 0 && live.groups > 10, "seed {seed}");
        drop(reader);
        world.shutdown();
    }
}
