//! One transaction at a time: rows, keys, indexes, rollback, purge, counters.

use super::*;
use crate::row::{Change, Direction, KeyRange, Modified};
use std::ops::Bound;

#[test]
fn a_row_is_inserted_read_changed_and_deleted() {
    let world = World::new();
    let t = world.pairs(1, true);
    let mut trx = world.begin(Isolation::RepeatableRead);
    t.insert(&mut trx, 1, 10).unwrap();
    t.insert(&mut trx, 2, 20).unwrap();
    assert_eq!(t.all(&mut trx), [(1, 10), (2, 20)]);
    assert!(t.update(&mut trx, 1, 11).unwrap());
    assert!(t.delete(&mut trx, 2).unwrap());
    assert!(!t.delete(&mut trx, 3).unwrap());
    assert_eq!(t.all(&mut trx), [(1, 11)]);
    world.commit(trx);
    world.check(&t.0);
    let mut trx = world.begin(Isolation::RepeatableRead);
    assert_eq!(t.all(&mut trx), [(1, 11)]);
}

#[test]
fn a_duplicate_key_names_its_index_and_leaves_nothing() {
    let world = World::new();
    let t = world.table(1, vec![int(), int(), int()], 1, &[(false, &[1]), (true, &[2])]);
    let row = |a, b, c| body(&t, &[Value::Int(a), Value::Int(b), Value::Int(c)]);
    let mut trx = world.begin(Isolation::RepeatableRead);
    trx.insert(&t, &row(1, 1, 1)).unwrap();
    assert!(matches!(trx.insert(&t, &row(1, 2, 2)), Err(RowError::DuplicateKey { index: 0 })));
    assert!(matches!(trx.insert(&t, &row(2, 2, 1)), Err(RowError::DuplicateKey { index: 2 })));
    trx.insert(&t, &row(2, 2, 2)).unwrap();
    let mut found = RowBuf::new();
    assert!(trx.get(&t, 2, &key_of(&t, 2, &[Value::Int(2)]), EXCLUSIVE, &mut found).unwrap());
    assert!(matches!(trx.update(&t, &found, &row(2, 3, 1)), Err(RowError::DuplicateKey { index: 2 })));
    assert!(matches!(trx.update(&t, &found, &row(1, 3, 5)), Err(RowError::DuplicateKey { index: 0 })));
    assert!(trx.get(&t, 0, &key_of(&t, 0, &[Value::Int(2)]), ReadMode::Consistent, &mut found).unwrap());
    assert_eq!(found.body, row(2, 2, 2));
    world.commit(trx);
    world.check(&t);
}

#[test]
fn a_unique_key_may_hold_null_many_times() {
    let world = World::new();
    let t = world.table(1, vec![int(), nullable_int()], 1, &[(true, &[1])]);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..3 {
        trx.insert(&t, &body(&t, &[Value::Int(id), Value::Null])).unwrap();
    }
    trx.insert(&t, &body(&t, &[Value::Int(9), Value::Int(1)])).unwrap();
    let again = trx.insert(&t, &body(&t, &[Value::Int(10), Value::Int(1)]));
    assert!(matches!(again, Err(RowError::DuplicateKey { index: 1 })));
    world.commit(trx);
    world.check(&t);
}

#[test]
fn a_key_update_moves_the_row() {
    let world = World::new();
    let t = world.pairs(1, true);
    let mut trx = world.begin(Isolation::RepeatableRead);
    t.insert(&mut trx, 1, 10).unwrap();
    t.insert(&mut trx, 3, 30).unwrap();
    let mut row = RowBuf::new();
    assert!(trx.get(&t.0, 0, &t.key(1), EXCLUSIVE, &mut row).unwrap());
    trx.update(&t.0, &row, &t.body(2, 10)).unwrap();
    assert_eq!(t.all(&mut trx), [(2, 10), (3, 30)]);
    world.commit(trx);
    world.purge();
    world.check(&t.0);
    assert_eq!((world.records(&t.0, 0), world.records(&t.0, 1)), (2, 2));
}

#[test]
fn rollback_brings_everything_back() {
    let world = World::new();
    let t = world.pairs(1, true);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..300 {
        t.insert(&mut trx, id, id % 7).unwrap();
    }
    world.commit(trx);
    let before = t.all(&mut world.begin(Isolation::RepeatableRead));
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..300 {
        match id % 3 {
            0 => assert!(t.delete(&mut trx, id).unwrap()),
            1 => assert!(t.update(&mut trx, id, 1000 + id).unwrap()),
            _ => t.insert(&mut trx, 1000 + id, 5).unwrap(),
        }
        if id % 6 == 0 {
            t.insert(&mut trx, id, 77).unwrap();
        }
    }
    trx.rollback().unwrap();
    assert_eq!(t.all(&mut world.begin(Isolation::RepeatableRead)), before);
    world.check(&t.0);
    world.purge();
    assert_eq!((world.records(&t.0, 0), world.records(&t.0, 1)), (300, 300));
}

#[test]
fn a_dropped_transaction_is_rolled_back() {
    let world = World::new();
    let t = world.pairs(1, false);
    t.insert(&mut world.begin(Isolation::RepeatableRead), 1, 1).unwrap();
    assert_eq!(t.all(&mut world.begin(Isolation::RepeatableRead)), []);
    assert_eq!(world.records(&t.0, 0), 0);
}

#[test]
fn an_entry_that_a_savepoint_needs_outlives_changes_away_from_it_and_back() {
    let world = World::new();
    let t = world.pairs(1, true);
    let mut trx = world.begin(Isolation::RepeatableRead);
    t.insert(&mut trx, 1, 10).unwrap();
    let savepoint = trx.savepoint();
    assert!(t.update(&mut trx, 1, 20).unwrap());
    assert!(t.update(&mut trx, 1, 10).unwrap());
    trx.rollback_to(savepoint).unwrap();
    world.commit(trx);
    world.check(&t.0);
    world.purge();
    world.check(&t.0);
    assert_eq!((world.records(&t.0, 0), world.records(&t.0, 1)), (1, 1));
}

#[test]
fn savepoints_and_statements_undo_their_part() {
    let world = World::new();
    let t = world.pairs(1, true);
    let mut trx = world.begin(Isolation::RepeatableRead);
    t.insert(&mut trx, 1, 1).unwrap();
    let first = trx.savepoint();
    t.insert(&mut trx, 2, 2).unwrap();
    let second = trx.savepoint();
    assert!(t.update(&mut trx, 1, 100).unwrap());
    trx.rollback_to(second).unwrap();
    assert_eq!(t.all(&mut trx), [(1, 1), (2, 2)]);
    t.insert(&mut trx, 3, 3).unwrap();
    trx.rollback_to(second).unwrap();
    trx.rollback_to(first).unwrap();
    assert_eq!(t.all(&mut trx), [(1, 1)]);
    trx.start_statement();
    t.insert(&mut trx, 4, 4).unwrap();
    assert!(t.delete(&mut trx, 1).unwrap());
    trx.rollback_statement().unwrap();
    t.insert(&mut trx, 5, 5).unwrap();
    world.commit(trx);
    assert_eq!(t.all(&mut world.begin(Isolation::RepeatableRead)), [(1, 1), (5, 5)]);
    world.check(&t.0);
}

#[test]
fn purge_removes_what_no_snapshot_needs_and_keeps_the_rest() {
    let world = World::new();
    let t = world.pairs(1, true);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..10 {
        t.insert(&mut trx, id, id).unwrap();
    }
    world.commit(trx);
    let mut reader = world.begin(Isolation::RepeatableRead);
    assert_eq!(t.all(&mut reader).len(), 10);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..5 {
        assert!(t.delete(&mut trx, id).unwrap());
        assert!(t.update(&mut trx, id + 5, 50 + id).unwrap());
    }
    world.commit(trx);
    world.purge();
    assert_eq!((world.records(&t.0, 0), world.records(&t.0, 1)), (10, 15));
    let expected: Vec<_> = (0..10).map(|id| (id, id)).collect();
    assert_eq!(t.all(&mut reader), expected);
    let mut by_value = reader.scan(&t.0, 1, KeyRange::all(), Direction::Forward, ReadMode::Consistent);
    let (mut row, mut found) = (RowBuf::new(), Vec::new());
    while by_value.next(&mut reader, &mut row).unwrap() {
        found.push(t.pair(&row));
    }
    assert_eq!(found, expected);
    drop(reader);
    world.purge();
    assert_eq!((world.records(&t.0, 0), world.records(&t.0, 1)), (5, 5));
    world.check(&t.0);
}

#[test]
fn an_entry_that_was_used_again_survives_purge() {
    let world = World::new();
    let t = world.pairs(1, true);
    for value in [1, 2, 1, 2, 1] {
        let mut trx = world.begin(Isolation::RepeatableRead);
        if !t.update(&mut trx, 7, value).unwrap() {
            t.insert(&mut trx, 7, value).unwrap();
        }
        world.commit(trx);
    }
    world.purge();
    world.check(&t.0);
    assert_eq!(world.records(&t.0, 1), 1);
}

#[test]
fn undoing_the_reuse_of_a_purged_row_leaves_nothing() {
    let world = World::new();
    let t = world.pairs(1, true);
    let mut trx = world.begin(Isolation::RepeatableRead);
    t.insert(&mut trx, 1, 1).unwrap();
    world.commit(trx);
    let mut trx = world.begin(Isolation::RepeatableRead);
    t.delete(&mut trx, 1).unwrap();
    world.commit(trx);
    // The row is taken over before purge comes, and given up after it has passed.
    let mut trx = world.begin(Isolation::RepeatableRead);
    t.insert(&mut trx, 1, 1).unwrap();
    world.purge();
    trx.rollback().unwrap();
    world.purge();
    assert_eq!((world.records(&t.0, 0), world.records(&t.0, 1)), (0, 0));
}

#[test]
fn scans_follow_bounds_in_both_directions() {
    let world = World::new();
    let t = world.pairs(1, true);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..2000 {
        t.insert(&mut trx, id, id % 10).unwrap();
    }
    world.commit(trx);
    let mut trx = world.begin(Isolation::RepeatableRead);
    let ids = |trx: &mut Trx, index: usize, range: KeyRange, direction, mode| {
        let mut scan = trx.scan(&t.0, index, range, direction, mode);
        let (mut row, mut found) = (RowBuf::new(), Vec::new());
        while scan.next(trx, &mut row).unwrap() {
            found.push(t.pair(&row).0);
        }
        found
    };
    let range = || KeyRange { lower: Bound::Excluded(t.key(100)), upper: Bound::Included(t.key(900)) };
    for mode in [ReadMode::Consistent, SHARED] {
        let up = ids(&mut trx, 0, range(), Direction::Forward, mode);
        assert_eq!(up, (101..=900).collect::<Vec<_>>());
        let down = ids(&mut trx, 0, range(), Direction::Backward, mode);
        assert_eq!(down, (101..=900).rev().collect::<Vec<_>>());
        let equal = KeyRange::prefix(&key_of(&t.0, 1, &[Value::Int(3)]));
        let threes: Vec<i64> = (0..2000).filter(|id| id % 10 == 3).collect();
        assert_eq!(ids(&mut trx, 1, equal.clone(), Direction::Forward, mode), threes);
        let down: Vec<i64> = threes.into_iter().rev().collect();
        assert_eq!(ids(&mut trx, 1, equal, Direction::Backward, mode), down);
    }
}

#[test]
fn a_covering_scan_makes_rows_of_entries() {
    let world = World::new();
    let t = world.table(1, vec![int(), nullable_int(), varchar(20), int()], 1, &[(false, &[2, 1])]);
    let text = |v: &str| Value::str(v.as_bytes(), Collation::BINARY);
    let rows = [(1, Value::Int(-5), text("b")), (2, Value::Null, text("")), (3, Value::Int(7), Value::Null)];
    let mut trx = world.begin(Isolation::RepeatableRead);
    for (id, number, name) in &rows {
        trx.insert(&t, &body(&t, &[Value::Int(*id), number.clone(), name.clone(), Value::Int(9)])).unwrap();
    }
    let scan_all = |trx: &mut Trx| {
        let mut scan =
            trx.scan(&t, 1, KeyRange::all(), Direction::Forward, ReadMode::Consistent).covering(true);
        let (mut row, mut found) = (RowBuf::new(), Vec::new());
        while scan.next(trx, &mut row).unwrap() {
            found.push(format!("{:?}", values(&t, &row)));
        }
        found
    };
    let rows_with = |last: Value| {
        let order = [2, 1, 0].map(|at: usize| &rows[at]);
        order.map(|(id, number, name)| {
            format!("{:?}", [Value::Int(*id), number.clone(), name.clone(), last.clone()])
        })
    };
    // Not settled: the rows themselves.
    assert_eq!(scan_all(&mut trx), rows_with(Value::Int(9)));
    world.commit(trx);
    world.kernel.trxs.advance();
    assert_eq!(scan_all(&mut world.begin(Isolation::RepeatableRead)), rows_with(Value::Null));
}

#[test]
fn rows_without_a_primary_key_keep_their_order() {
    let world = World::new();
    let t = world.table(1, vec![int()], 0, &[(false, &[0])]);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for value in [5, 3, 5, 1] {
        trx.insert(&t, &body(&t, &[Value::Int(value)])).unwrap();
    }
    world.commit(trx);
    let mut trx = world.begin(Isolation::RepeatableRead);
    let mut scan = trx.scan(&t, 0, KeyRange::all(), Direction::Forward, EXCLUSIVE);
    let (mut row, mut found) = (RowBuf::new(), Vec::new());
    while scan.next(&mut trx, &mut row).unwrap() {
        found.push(format!("{:?}", values(&t, &row)[0]));
        if found.len() == 1 {
            trx.delete(&t, &row).unwrap();
        }
    }
    assert_eq!(found, [5, 3, 5, 1].map(|v| format!("{:?}", Value::Int(v))));
    world.commit(trx);
    world.purge();
    world.check(&t);
    assert_eq!(world.records(&t, 0), 3);
}

#[test]
fn modify_decides_in_place() {
    let world = World::new();
    let t = world.table(1, vec![int(), varchar(2000)], 1, &[]);
    let text = |n: usize| Value::str(vec![b'x'; n].as_slice(), Collation::BINARY);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..20 {
        trx.insert(&t, &body(&t, &[Value::Int(id), text(700)])).unwrap();
    }
    // Growing rows push others to new leaves.
    for id in 0..20 {
        let new = body(&t, &[Value::Int(id), text(1900)]);
        let mut grow = |_: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(&new);
            Change::Update
        };
        let key = key_of(&t, 0, &[Value::Int(id)]);
        assert_eq!(trx.modify(&t, &key, WaitMode::Wait, &mut grow).unwrap(), Modified::Updated);
        let mut keep = |_: &[u8], _: &mut Vec<u8>| Change::Keep;
        assert_eq!(trx.modify(&t, &key, WaitMode::Wait, &mut keep).unwrap(), Modified::Kept);
    }
    let mut none = |_: &[u8], _: &mut Vec<u8>| Change::Delete;
    let key = key_of(&t, 0, &[Value::Int(99)]);
    assert_eq!(trx.modify(&t, &key, WaitMode::Wait, &mut none).unwrap(), Modified::Missing);
    trx.rollback().unwrap();
    world.check(&t);
    assert_eq!(world.records(&t, 0), 0);
}

#[test]
fn auto_increment_never_goes_back() {
    let world = World::new();
    let t = world.pairs(1, false);
    let spec = TableSpec { auto_increment: Some(0), ..t.0.spec().clone() };
    let open = || {
        let table = Table::new(spec.clone());
        world.tables.0.lock().unwrap().insert(spec.id, Arc::clone(&table));
        Pairs(table)
    };
    let t = open();
    let mut trx = world.begin(Isolation::RepeatableRead);
    for expected in 1..=5 {
        let id = trx.reserve_auto_increment(&t.0, 1, 1, 1).unwrap();
        assert_eq!(id, expected);
        t.insert(&mut trx, id as i64, 0).unwrap();
    }
    assert_eq!(trx.reserve_auto_increment(&t.0, 2, 10, 3).unwrap(), 13);
    world.commit(trx);
    // Opened again, the table goes on behind its largest row.
    let t = open();
    let mut trx = world.begin(Isolation::RepeatableRead);
    assert_eq!(trx.reserve_auto_increment(&t.0, 1, 1, 1).unwrap(), 6);
    t.insert(&mut trx, 6, 0).unwrap();
    t.delete(&mut trx, 6).unwrap();
    t.delete(&mut trx, 5).unwrap();
    world.commit(trx);
    world.purge();
    let t = open();
    let mut trx = world.begin(Isolation::RepeatableRead);
    assert_eq!(trx.reserve_auto_increment(&t.0, 1, 1, 1).unwrap(), 7);
    t.insert(&mut trx, 7, 0).unwrap();
    trx.rollback().unwrap();
    let t = open();
    let trx = world.begin(Isolation::RepeatableRead);
    assert_eq!(trx.next_auto_increment(&t.0).unwrap(), 8);
    trx.note_auto_increment(&t.0, i32::MAX as u64 - 1).unwrap();
    assert_eq!(trx.reserve_auto_increment(&t.0, 1, 1, 1).unwrap(), i32::MAX as u64);
    assert!(matches!(trx.reserve_auto_increment(&t.0, 1, 1, 1), Err(RowError::AutoIncrementExhausted)));
}

#[test]
fn estimates_are_near() {
    let world = World::new();
    let t = world.pairs(1, true);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..5000 {
        t.insert(&mut trx, id, id % 100).unwrap();
    }
    world.commit(trx);
    let rows = world.kernel.row_estimate(&t.0, true).unwrap();
    assert!((3000..8000).contains(&rows), "{rows}");
    let range = KeyRange { lower: Bound::Included(t.key(10)), upper: Bound::Excluded(t.key(20)) };
    assert_eq!(world.kernel.records_in_range(&t.0, 0, &range).unwrap(), 10);
    let equal = KeyRange::prefix(&key_of(&t.0, 1, &[Value::Int(42)]));
    let fifty = world.kernel.records_in_range(&t.0, 1, &equal).unwrap();
    assert!((40..=60).contains(&fifty), "{fifty}");
}

#[test]
fn a_check_finds_a_lost_and_a_foreign_entry() {
    let world = World::new();
    let t = world.pairs(1, true);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..5 {
        t.insert(&mut trx, id, id).unwrap();
    }
    world.commit(trx);
    let mut entry = Vec::new();
    crate::row::secondary_key(t.0.spec(), 1, &t.body(3, 3), &t.key(3), &mut entry).unwrap();
    let mut leaf = t.0.tree(1).write(&world.kernel.store, &entry).unwrap();
    let slot = leaf.slot();
    leaf.log_system(page_format::PageOp::Remove { slot, count: 1 }).unwrap();
    entry[3] = 200;
    leaf.find(&entry).unwrap();
    let slot = leaf.slot();
    leaf.log_system(page_format::PageOp::InsertKey { slot, deleted: false, trx: TrxId(0), key: &entry })
        .unwrap();
    drop(leaf);
    let report = world.begin(Isolation::RepeatableRead).check_table(&t.0, &mut || false).unwrap();
    assert_eq!(report.problem_count, 3, "{:?}", report.problems);
}

/// Entries that do not fit in memory are built in several passes; a row out of order goes the ordinary way.
#[test]
fn a_load_sorts_entries_in_bounded_memory() {
    let world = World::new();
    let t = world.pairs(1, true);
    let kernel = Arc::clone(&world.kernel);
    let mut load = super::super::BulkLoad::new(&kernel, &t.0).sort_bytes(4096);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..3000 {
        load.push(&mut trx, &t.body(id, id * 7919 % 1000)).unwrap();
    }
    load.push(&mut trx, &t.body(-1, 5)).unwrap();
    load.finish(&mut || false).unwrap();
    assert!(t.delete(&mut trx, 17).unwrap());
    world.commit(trx);
    world.check(&t.0);
    let mut trx = world.begin(Isolation::RepeatableRead);
    let seven = KeyRange::prefix(&key_of(&t.0, 1, &[Value::Int(5)]));
    let mut scan = trx.scan(&t.0, 1, seven, Direction::Forward, ReadMode::Consistent);
    let (mut row, mut count) = (RowBuf::new(), 0);
    while scan.next(&mut trx, &mut row).unwrap() {
        count += 1;
    }
    assert_eq!(count, 4);
}

/// Wherever it is asked to, a check ends, with an error and not with a report.
#[test]
fn a_check_and_a_build_end_when_they_are_told_to() {
    let world = World::new();
    let t = world.pairs(1, true);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..5000 {
        t.insert(&mut trx, id, id).unwrap();
    }
    world.commit(trx);
    let mut asked = 0;
    let check =
        |stop: &mut dyn FnMut() -> bool| world.begin(Isolation::RepeatableRead).check_table(&t.0, stop);
    check(&mut || {
        asked += 1;
        false
    })
    .unwrap();
    assert!(asked > 20, "leaves, rows, entries: {asked}");
    for last in 0..asked {
        let mut left = last;
        let result = check(&mut || {
            left -= 1;
            left < 0
        });
        assert!(matches!(result, Err(RowError::Interrupted)), "asked {last} times");
    }
    let kernel = Arc::clone(&world.kernel);
    let u = world.pairs(2, true);
    let mut load = super::super::BulkLoad::new(&kernel, &u.0);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..5000 {
        load.push(&mut trx, &u.body(id, id)).unwrap();
    }
    let ended = load.finish(&mut || true);
    assert!(matches!(ended, Err(super::super::LoadError::Row(RowError::Interrupted))));
}
