//! Indexes built beside writers.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::btree::create_space;
use crate::row::{Change, LoadError, Modified, OnlineBuild};

/// The table with one more index, in a space of its own, on the column `value`.
fn with_index(world: &World, old: &Pairs, unique: bool) -> Arc<Table> {
    let mut spec = old.0.spec().clone();
    let space = SpaceId(spec.space.0 + 100);
    world.kernel.store.pool.create_space(space).unwrap();
    create_space(&world.kernel.store, space).unwrap();
    let id = IndexId(7000);
    let tree = Tree::create(&world.kernel.store, space, id, TreeKind::Secondary).unwrap();
    let (space, root, parts) = (Some(space), tree.root(), vec![KeyPart::ascending(1)]);
    spec.indexes.push(IndexSpec { id, space, since: Lsn::NONE, root, unique, parts, name: "added".into() });
    Table::new(spec)
}

fn never() -> bool {
    false
}

fn put(world: &World, test: &Pairs, rows: impl IntoIterator<Item = (i64, i64)>) {
    let mut trx = world.begin(Isolation::RepeatableRead);
    rows.into_iter().for_each(|(id, value)| test.insert(&mut trx, id, value).unwrap());
    world.commit(trx);
}

#[test]
fn what_changed_meanwhile_is_caught_up_with() {
    let world = World::new();
    let test = world.pairs(1, false);
    put(&world, &test, (0..100).map(|id| (id, 1000 - id)));
    let new = with_index(&world, &test, false);
    let mut build = OnlineBuild::begin(&world.kernel, &new, vec![1]);
    // Before the rows are read, between rounds, and across two rounds.
    let mut trx = world.begin(Isolation::RepeatableRead);
    test.update(&mut trx, 1, 5).unwrap();
    test.delete(&mut trx, 2).unwrap();
    test.insert(&mut trx, 200, 7).unwrap();
    world.commit(trx);
    build.build(&mut never).unwrap();
    assert_eq!(world.records(&new, 1), 100);
    let mut open = world.begin(Isolation::RepeatableRead);
    test.update(&mut open, 3, 6).unwrap();
    test.delete(&mut open, 4).unwrap();
    let mut undone = world.begin(Isolation::RepeatableRead);
    test.update(&mut undone, 5, 6).unwrap();
    test.insert(&mut undone, 300, 6).unwrap();
    assert_eq!(build.catch_up(&mut never).unwrap(), 7);
    assert_eq!(world.records(&new, 1), 100, "one row went, one came");
    world.commit(open);
    undone.rollback().unwrap();
    put(&world, &test, [(2, 8)]);
    assert_eq!(build.catch_up(&mut never).unwrap(), 1);
    assert_eq!(build.catch_up(&mut never).unwrap(), 0);
    world.check(&new);
    assert_eq!(world.records(&new, 1), 100);
}

#[test]
fn a_read_view_older_than_the_index_must_not_use_it() {
    let world = World::new();
    let test = world.pairs(1, false);
    put(&world, &test, [(1, 10)]);
    let mut before = world.begin(Isolation::RepeatableRead);
    before.take_snapshot();
    put(&world, &test, [(2, 20)]);
    let new = with_index(&world, &test, false);
    let mut build = OnlineBuild::begin(&world.kernel, &new, vec![1]);
    build.build(&mut never).unwrap();
    build.catch_up(&mut never).unwrap();
    let mut spec = new.spec().clone();
    spec.indexes[1].since = build.since();
    let new = Table::new(spec);
    let count = |trx: &mut Trx, index| -> Result<u64, RowError> {
        let all = super::super::KeyRange::all();
        let mut scan = trx.scan(&new, index, all, super::super::Direction::Forward, ReadMode::Consistent);
        let (mut row, mut count) = (RowBuf::new(), 0);
        while scan.next(trx, &mut row)? {
            count += 1;
        }
        Ok(count)
    };
    assert!(matches!(count(&mut before, 1), Err(RowError::DefinitionChanged)));
    assert_eq!(count(&mut before, 0).unwrap(), 1);
    assert_eq!(count(&mut world.begin(Isolation::RepeatableRead), 1).unwrap(), 2);
}

#[test]
fn a_new_read_view_is_not_older_than_an_index_that_no_commit_follows() {
    let world = World::new();
    let log = &world.kernel.store.log;
    let test = world.pairs(1, false);
    put(&world, &test, [(1, 10)]);
    for rotated in [false, true] {
        if rotated {
            log.rotate().unwrap();
        }
        let build = OnlineBuild::begin(&world.kernel, &test.0, Vec::new());
        log.wait_durable(log.ready_lsn()).unwrap();
        let view = world.begin(Isolation::RepeatableRead).take_snapshot();
        assert!(build.since() <= view, "since {}, a view at {view}, rotated: {rotated}", build.since());
    }
}

#[test]
fn what_was_read_stays_visible_when_commits_begin_to_wait_for_their_sync() {
    let world = World::new();
    let test = world.pairs(1, false);
    put(&world, &test, [(1, 10)]);
    world.kernel.trxs.set_flush_policy(log::FlushPolicy::Lazy);
    let mut trx = world.begin(Isolation::RepeatableRead);
    test.update(&mut trx, 1, 20).unwrap();
    trx.commit().unwrap();
    assert_eq!(test.get(&mut world.begin(Isolation::RepeatableRead), 1), Some(20));
    world.kernel.trxs.set_flush_policy(log::FlushPolicy::Sync);
    assert_eq!(test.get(&mut world.begin(Isolation::RepeatableRead), 1), Some(20));
    let mut trx = world.begin(Isolation::RepeatableRead);
    test.update(&mut trx, 1, 30).unwrap();
    let record = trx.commit().unwrap().expect("it has written");
    assert_eq!(test.get(&mut world.begin(Isolation::RepeatableRead), 1), Some(20), "it could be lost");
    world.kernel.store.log.wait_commit(record.end).unwrap();
    assert_eq!(test.get(&mut world.begin(Isolation::RepeatableRead), 1), Some(30));
}

#[test]
fn a_duplicate_is_found_wherever_it_comes_from_and_one_that_is_gone_is_none() {
    let world = World::new();
    let test = world.pairs(1, false);
    put(&world, &test, [(1, 10), (2, 20), (3, 30)]);
    let new = with_index(&world, &test, true);
    let mut build = OnlineBuild::begin(&world.kernel, &new, vec![1]);
    build.build(&mut never).unwrap();
    // Values change places: equal for a moment only.
    let mut trx = world.begin(Isolation::RepeatableRead);
    test.update(&mut trx, 3, 99).unwrap();
    test.update(&mut trx, 1, 30).unwrap();
    test.update(&mut trx, 3, 10).unwrap();
    world.commit(trx);
    build.catch_up(&mut never).unwrap();
    world.check(&new);
    put(&world, &test, [(4, 20)]);
    let found = build.catch_up(&mut never);
    assert!(matches!(&found, Err(LoadError::Duplicate { index: 1, .. })), "{found:?}");
}

#[test]
fn an_index_built_beside_many_writers_is_the_tables() {
    let world = World::new();
    let test = world.pairs(1, true);
    put(&world, &test, (0..2000).map(|id| (id, id % 50)));
    let new = with_index(&world, &test, false);
    let mut build = OnlineBuild::begin(&world.kernel, &new, vec![2]);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..4i64 {
            let (world, test, stop) = (&world, &test, &stop);
            scope.spawn(move || {
                let mut step = thread;
                while !stop.load(Ordering::Relaxed) {
                    let mut trx = world.begin(Isolation::ReadCommitted);
                    for _ in 0..3 {
                        step += 1;
                        let id = step * 7919 % 500 * 4 + thread;
                        if !test.update(&mut trx, id, step % 70).unwrap() {
                            test.insert(&mut trx, id, step % 70).unwrap();
                        }
                        if step % 3 == 0 {
                            test.delete(&mut trx, id).unwrap();
                        }
                    }
                    if step % 5 == 0 {
                        trx.rollback().unwrap()
                    } else {
                        world.commit(trx)
                    }
                    world.purge();
                }
            });
        }
        build.build(&mut never).unwrap();
        for _ in 0..20 {
            build.catch_up(&mut never).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    build.catch_up(&mut never).unwrap();
    drop(build);
    world.check(&new);
    let mut rows = 0;
    let mut trx = world.begin(Isolation::RepeatableRead);
    rows += test.all(&mut trx).len() as u64;
    assert_eq!(world.records(&new, 2), rows);
    let mut decide = |_: &[u8], _: &mut Vec<u8>| Change::Delete;
    let mut trx = world.begin(Isolation::RepeatableRead);
    let id = test.all(&mut trx)[0].0;
    assert_eq!(trx.modify(&new, &test.key(id), WaitMode::Wait, &mut decide).unwrap(), Modified::Deleted);
}
