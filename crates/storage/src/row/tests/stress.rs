//! Many threads at random work on one table with two secondary indexes, with savepoints, rollbacks and purge beside them.
//! In the end every index agrees with the rows, and nothing that nobody needs is left.

use super::*;
use crate::row::{Direction, KeyRange};
use env::Random;
use std::sync::atomic::{AtomicBool, Ordering};

const THREADS: u64 = 8;
const TRANSACTIONS: usize = 500;

/// How much there is.
#[derive(Clone, Copy)]
struct Size {
    ids: u64,
    /// Distinct values of the indexed column.
    values: u64,
    /// Rows there in the beginning.
    loaded: u64,
    frames: usize,
}

/// All threads meet at the same rows.
const SMALL: Size = Size { ids: 120, values: 20, loaded: 0, frames: 256 };
/// Every index has many leaves, which split and merge, and the pool holds a part of them.
const LARGE: Size = Size { ids: 6000, values: 600, loaded: 3000, frames: 64 };

/// `(id, value, tag)`: an index on value, a unique one on tag, which may be NULL.
fn table(world: &World) -> Arc<Table> {
    world.table(1, vec![int(), int(), nullable_int(), varchar(400)], 1, &[(false, &[1]), (true, &[2])])
}

fn row(t: &Table, random: &mut Random, size: Size, id: i64) -> Vec<u8> {
    let tag = if random.one_in(3) { Value::Null } else { Value::Int(random.below(size.ids * 2) as i64) };
    let pad = vec![b'p'; random.below(300) as usize];
    let pad = Value::str(pad.as_slice(), Collation::BINARY);
    body(t, &[Value::Int(id), Value::Int(random.below(size.values) as i64), tag, pad])
}

/// True when the transaction has to be rolled back.
fn settle(result: Result<(), RowError>) -> bool {
    match result {
        Ok(()) | Err(RowError::DuplicateKey { .. } | RowError::LockWaitTimeout) => false,
        Err(RowError::Deadlock | RowError::SnapshotChanged) => true,
        Err(other) => panic!("{other:?}"),
    }
}

fn step(t: &Arc<Table>, trx: &mut Trx, random: &mut Random, size: Size) -> Result<(), RowError> {
    let id = random.below(size.ids) as i64;
    let key = key_of(t, 0, &[Value::Int(id)]);
    let mut found = RowBuf::new();
    match random.below(10) {
        0..=3 => trx.insert(t, &row(t, random, size, id)),
        4..=6 => {
            if trx.get(t, 0, &key, EXCLUSIVE, &mut found)? {
                let id = if random.one_in(5) { random.below(size.ids) as i64 } else { id };
                trx.update(t, &found, &row(t, random, size, id))?;
            }
            Ok(())
        }
        7 => {
            if trx.get(t, 0, &key, EXCLUSIVE, &mut found)? {
                trx.delete(t, &found)?;
            }
            Ok(())
        }
        8 => {
            let range = KeyRange::prefix(&key_of(t, 1, &[Value::Int(random.below(size.values) as i64)]));
            let direction = if random.one_in(2) { Direction::Forward } else { Direction::Backward };
            let mut scan = trx.scan(t, 1, range, direction, EXCLUSIVE);
            if scan.next(trx, &mut found)? {
                trx.delete(t, &found)?;
            }
            Ok(())
        }
        _ => {
            let mut scan = trx.scan(t, 2, KeyRange::all(), Direction::Forward, ReadMode::Consistent);
            for _ in 0..20 {
                if !scan.next(trx, &mut found)? {
                    break;
                }
            }
            Ok(())
        }
    }
}

fn transact(world: &World, t: &Arc<Table>, random: &mut Random, size: Size) {
    let levels = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
    let mut trx = world.begin_with(TrxOptions {
        isolation: levels[random.below(3) as usize],
        lock_wait_timeout: Duration::from_millis(200),
        snapshot_isolation: random.one_in(2),
        ..TrxOptions::default()
    });
    let mut savepoint = trx.savepoint();
    for _ in 0..1 + random.below(6) {
        trx.start_statement();
        if settle(step(t, &mut trx, random, size)) {
            return trx.rollback().unwrap();
        }
        match random.below(8) {
            0 => savepoint = trx.savepoint(),
            1 => {
                trx.rollback_to(savepoint).unwrap();
                savepoint = trx.savepoint();
            }
            2 => {
                trx.rollback_statement().unwrap();
                savepoint = trx.savepoint();
            }
            _ => {}
        }
    }
    if random.one_in(4) { trx.rollback().unwrap() } else { world.commit(trx) }
}

fn load(world: &World, t: &Arc<Table>, size: Size) {
    let mut trx = world.begin(Isolation::RepeatableRead);
    let mut random = Random::seeded(99);
    for id in 0..size.loaded {
        assert!(!settle(trx.insert(t, &row(t, &mut random, size, id as i64 * 2))));
    }
    world.commit(trx);
}

#[test]
fn random_work_on_few_rows_leaves_indexes_that_agree_and_no_garbage() {
    work(SMALL);
}

#[test]
fn random_work_on_many_leaves_leaves_indexes_that_agree_and_no_garbage() {
    work(LARGE);
}

fn work(size: Size) {
    let world = World::with_frames(size.frames);
    let t = table(&world);
    load(&world, &t, size);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let purge = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                world.purge.lock().unwrap().run(10).unwrap();
                std::thread::yield_now();
            }
        });
        let workers: Vec<_> = (0..THREADS)
            .map(|seed| {
                let (world, t) = (&world, &t);
                scope.spawn(move || {
                    let mut random = Random::seeded(seed + 1);
                    (0..TRANSACTIONS).for_each(|_| transact(world, t, &mut random, size));
                })
            })
            .collect();
        let results: Vec<_> = workers.into_iter().map(|w| w.join()).collect();
        done.store(true, Ordering::Relaxed);
        purge.join().unwrap();
        results.into_iter().for_each(|r| r.unwrap());
    });
    assert!(world.kernel.locks.list(false).is_empty(), "every lock was released");
    world.check(&t);
    world.purge();
    world.check(&t);
    let rows = world.records(&t, 0);
    assert_eq!((world.records(&t, 1), world.records(&t, 2)), (rows, rows), "nothing is left to purge");
}
