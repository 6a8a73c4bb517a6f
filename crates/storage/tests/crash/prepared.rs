//! Prepared transactions (XA) through crashes: what was prepared comes back undecided with its rows locked, what was decided stays so.
//!
//! One history, one prepared transaction; the power goes at each disk call, and once more after the next start has decided.

use std::collections::BTreeMap;

use base::Lsn;
use env::SimDisk;
use log_format::record::{Commit, Prepare, Record, commit_flags};
use storage::recovery::OwnedXid;
use storage::row::{ReadMode, Strength, WaitMode};
use storage::row::{RowBuf, RowError};
use storage::trx::{CommitParts, Trx};

use crate::model::{History, Row, Text};
use crate::world::{Outcome, World, encode, key_of};

/// Rows of the first table.
type Rows = BTreeMap<i64, i64>;

/// How far the workload is known to have come, by what was durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Reached {
    #[default]
    Nothing,
    /// Rows 50 and 51 are there.
    Base,
    Prepared,
    /// Another transaction has committed row 60 since.
    Other,
    /// The decision may be in the log from here on.
    Deciding,
    Decided,
}

fn xid() -> OwnedXid {
    OwnedXid { format_id: 7, gtrid: b"global".to_vec(), bqual: b"branch".to_vec() }
}

fn row(number: i64) -> Row {
    Row { number: Some(number), word: Text::new(1, 900), long: Text::new(2, 30) }
}

fn insert(world: &World, trx: &mut Trx, id: i64, number: i64) -> Outcome<()> {
    let table = &world.tables[0];
    Ok(trx.insert(table, &encode(table, id, &row(number)))?)
}

fn commit_one(world: &World, id: i64) -> Outcome<()> {
    let mut trx = world.begin();
    insert(world, &mut trx, id, id)?;
    let record = trx.commit()?.expect("it has written");
    Ok(world.engine.log().wait_durable(record.end)?)
}

fn prepare(world: &World, trx: &mut Trx) -> Outcome<()> {
    let CommitParts { trx: id, first, last, .. } = trx.commit_parts().expect("it has written");
    let xid = xid();
    let record = trx.prepare_with(
        false,
        |lsn, out| {
            let prepare = Prepare {
                trx: id,
                first,
                last,
                extents: Lsn::NONE,
                time: 1,
                flags: 0,
                xid: xid.as_xid(),
                gtid: None,
                thread_id: 0,
            };
            Record::Prepare(prepare).encode(lsn, out);
        },
        |_| (),
    )?;
    Ok(world.engine.log().wait_durable(record.end)?)
}

/// Commits or rolls back a prepared transaction, durably.
fn decide(world: &World, mut trx: Trx, history: &History, commits: bool) -> Outcome<()> {
    assert!(trx.is_prepared());
    let log = world.engine.log();
    if commits {
        let record = trx.commit()?.expect("it has written");
        return Ok(log.wait_durable(record.end)?);
    }
    let last = trx.last_lsn();
    let record = trx.decide_rollback_with(
        |lsn, out| {
            let flags = commit_flags::XA;
            let decision = Commit {
                trx: base::TrxId(0),
                first: last,
                last,
                extents: Lsn::NONE,
                time: 1,
                flags,
                gtid: None,
                thread_id: 0,
            };
            Record::Commit(decision).encode(lsn, out);
        },
        |_| (),
    )?;
    log.wait_durable(record.end)?;
    let tables = crate::world::Tables::of(&world.engine, history);
    Ok(trx.rollback_with(&tables)?)
}

fn run(world: &mut World, seed: u64, history: &mut History, reached: &mut Reached) -> Outcome<()> {
    world.create_tables(history)?;
    world.start(history)?;
    commit_one(world, 50)?;
    commit_one(world, 51)?;
    *reached = Reached::Base;
    let mut trx = world.begin();
    for id in 1..4 {
        insert(world, &mut trx, id, id)?;
    }
    let table = &world.tables[0];
    let mode = ReadMode::Locking { strength: Strength::Exclusive, wait: WaitMode::NoWait };
    let mut found = RowBuf::new();
    assert!(trx.get(table, 0, &key_of(table, 50), mode, &mut found)?);
    trx.update(table, &found, &encode(table, 50, &row(500)))?;
    assert!(trx.get(table, 0, &key_of(table, 51), mode, &mut found)?);
    trx.delete(table, &found)?;
    if seed.is_multiple_of(2) {
        world.engine.checkpoint()?;
    }
    prepare(world, &mut trx)?;
    *reached = Reached::Prepared;
    if seed.is_multiple_of(3) {
        world.engine.log().rotate()?;
        world.engine.pool().flush_all()?;
        world.engine.checkpoint()?;
    }
    commit_one(world, 60)?;
    *reached = Reached::Other;
    // Purge and the pages are done: only the Prepare record keeps the scan of a start so far back.
    while world.engine.purge_some(100)? > 0 {}
    world.engine.pool().flush_all()?;
    world.engine.checkpoint()?;
    world.engine.checkpoint()?;
    *reached = Reached::Deciding;
    decide(world, trx, history, commits(seed))?;
    *reached = Reached::Decided;
    world.engine.pool().flush_all()?;
    world.engine.checkpoint()?;
    commit_one(world, 61)
}

fn commits(seed: u64) -> bool {
    seed % 4 < 2
}

fn rows(world: &World, context: &str) -> Rows {
    let by_id = world.rows(&world.tables[0], 0, context);
    let by_number = world.rows(&world.tables[0], 1, context);
    assert_eq!(by_id, by_number, "{context}: the indexes disagree");
    by_id
        .into_iter()
        .filter(|(id, _)| *id < 60)
        .map(|(id, row)| (id, row.number.expect("a number")))
        .collect()
}

fn before() -> Rows {
    Rows::from([(50, 50), (51, 51)])
}
fn after() -> Rows {
    Rows::from([(1, 1), (2, 2), (3, 3), (50, 500)])
}

/// The start after a crash; returns what the rows must be from now on.
fn check(sim: &SimDisk, seed: u64, history: &History, reached: Reached, context: &str) -> Rows {
    let mut world = World::open(sim, seed).unwrap_or_else(|e| panic!("{context}: {e}"));
    world.open_tables(history);
    let mut prepared = world.engine.take_prepared();
    world.start(history).unwrap();
    let shown = rows(&world, context);
    if reached == Reached::Decided {
        assert!(prepared.is_empty(), "{context}: decided and still there");
        assert_eq!(shown, if commits(seed) { after() } else { before() }, "{context}");
        return shown;
    }
    let Some((name, trx)) = prepared.pop() else {
        assert!(
            reached < Reached::Prepared || reached == Reached::Deciding,
            "{context}: the prepared one is lost"
        );
        let decided = reached == Reached::Deciding && commits(seed);
        assert_eq!(shown, if decided { after() } else { before() }, "{context}");
        return shown;
    };
    assert!(prepared.is_empty() && name == xid(), "{context}: {name:?}");
    assert!(reached >= Reached::Base, "{context}");
    assert_eq!(shown, before(), "{context}: an undecided change is seen");
    assert_eq!(trx.tables_in_log().unwrap(), [world.tables[0].spec().id]);
    let mut other = world.begin();
    let refused = insert(&world, &mut other, 2, 2).expect_err("the row is locked");
    assert!(matches!(refused.downcast_ref(), Some(RowError::LockWaitTimeout)), "{context}: {refused}");
    drop(other);
    let commits = !seed.is_multiple_of(5);
    decide(&world, trx, history, commits).unwrap_or_else(|e| panic!("{context}: {e}"));
    let expected = if commits { after() } else { before() };
    assert_eq!(rows(&world, context), expected, "{context}: after the decision");
    expected
}

#[test]
fn prepared_transactions_survive_a_crash_at_any_disk_call() {
    for seed in 0..20_u64 {
        let calls = {
            let sim = SimDisk::new(seed);
            let mut world = World::open(&sim, seed).unwrap();
            run(&mut world, seed, &mut History::new(&sim), &mut Reached::default()).unwrap();
            sim.calls()
        };
        for call in 0..calls {
            let sim = SimDisk::new(seed << 32 | call);
            sim.crash_after(call);
            let (mut history, mut reached) = (History::new(&sim), Reached::default());
            // The error is the power cut.
            let _ = World::open(&sim, seed).and_then(|mut w| run(&mut w, seed, &mut history, &mut reached));
            sim.crash();
            if reached < Reached::Base {
                continue;
            }
            let context = format!("seed {seed}, call {call}, {reached:?}");
            let expected = check(&sim, seed, &history, reached, &context);
            sim.crash();
            let mut world = World::open(&sim, seed).unwrap_or_else(|e| panic!("{context}: {e}"));
            world.open_tables(&history);
            assert!(world.engine.take_prepared().is_empty(), "{context}: decided, and back after a crash");
            world.start(&history).unwrap();
            assert_eq!(rows(&world, &context), expected, "{context}: after the second crash");
        }
    }
}
