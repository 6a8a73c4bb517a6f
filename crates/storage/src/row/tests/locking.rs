//! Two and three transactions: what they see, where they wait, who is refused. Waits are shown by a second thread.

use super::*;
use crate::lock::LockCounters;
use crate::row::{Change, Direction, KeyRange, Modified};
use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

const RR: Isolation = Isolation::RepeatableRead;
const RC: Isolation = Isolation::ReadCommitted;

fn seeded(world: &World, indexed: bool, rows: &[(i64, i64)]) -> Pairs {
    let t = world.pairs(1, indexed);
    let mut trx = world.begin(RR);
    for (id, value) in rows {
        t.insert(&mut trx, *id, *value).unwrap();
    }
    world.commit(trx);
    t
}

/// Does `work` wait for a lock? Starts it in a thread and returns once it waits.
fn waits<T: Send + 'static>(
    world: &World,
    mut trx: Trx,
    work: impl FnOnce(&mut Trx) -> T + Send + 'static,
) -> JoinHandle<(T, Trx)> {
    let LockCounters { current_waits, .. } = &world.kernel.locks.counters;
    let before = current_waits.load(Ordering::SeqCst);
    let thread = std::thread::spawn(move || {
        let result = work(&mut trx);
        (result, trx)
    });
    while current_waits.load(Ordering::SeqCst) == before {
        assert!(!thread.is_finished(), "it did not wait");
        std::thread::yield_now();
    }
    thread
}

/// A transaction that gives up at once when it has to wait.
fn impatient(world: &World, isolation: Isolation) -> Trx {
    world.begin_with(TrxOptions { isolation, lock_wait_timeout: Duration::ZERO, ..TrxOptions::default() })
}

fn is_timeout<T>(result: Result<T, RowError>) -> bool {
    matches!(result, Err(RowError::LockWaitTimeout))
}

#[test]
fn a_snapshot_does_not_move_and_read_committed_does() {
    let world = World::new();
    let t = seeded(&world, false, &[(1, 10)]);
    let (mut rr, mut rc, mut ru) =
        (world.begin(RR), world.begin(RC), world.begin(Isolation::ReadUncommitted));
    assert_eq!((t.get(&mut rr, 1), t.get(&mut rc, 1)), (Some(10), Some(10)));
    let mut writer = world.begin(RR);
    assert!(t.update(&mut writer, 1, 11).unwrap());
    t.insert(&mut writer, 2, 20).unwrap();
    rc.start_statement();
    ru.start_statement();
    assert_eq!((t.get(&mut rr, 1), t.get(&mut rc, 1), t.get(&mut ru, 1)), (Some(10), Some(10), Some(11)));
    world.commit(writer);
    assert_eq!(t.all(&mut rr), [(1, 10)]);
    assert_eq!(t.all(&mut rc), [(1, 10)], "the statement goes on with its view");
    rc.start_statement();
    assert_eq!(t.all(&mut rc), [(1, 11), (2, 20)]);
}

#[test]
fn a_snapshot_is_taken_at_the_first_read_and_sees_own_changes() {
    let world = World::new();
    let t = seeded(&world, false, &[(1, 10), (2, 20)]);
    let mut reader = world.begin(RR);
    let mut writer = world.begin(RR);
    t.update(&mut writer, 1, 11).unwrap();
    world.commit(writer);
    assert_eq!(t.get(&mut reader, 1), Some(11));
    let mut writer = world.begin(RR);
    t.update(&mut writer, 1, 12).unwrap();
    world.commit(writer);
    t.update(&mut reader, 2, 21).unwrap();
    assert_eq!(t.all(&mut reader), [(1, 11), (2, 21)]);
}

#[test]
fn a_long_chain_of_versions_is_walked_to_each_snapshot() {
    let world = World::new();
    let t = seeded(&world, true, &[(1, 0)]);
    let mut readers = Vec::new();
    for value in 1..=50 {
        let mut reader = world.begin(RR);
        reader.take_snapshot();
        readers.push((value - 1, reader));
        let mut writer = world.begin(RR);
        match value % 5 {
            4 => assert!(t.delete(&mut writer, 1).unwrap()),
            0 => t.insert(&mut writer, 1, value).unwrap(),
            _ => assert!(t.update(&mut writer, 1, value).unwrap()),
        }
        world.commit(writer);
        world.purge();
    }
    for (value, reader) in &mut readers {
        let expected = if *value % 5 == 4 { vec![] } else { vec![(1, *value)] };
        assert_eq!(t.all(reader), expected, "snapshot {value}");
        let mut scan = reader.scan(&t.0, 1, KeyRange::all(), Direction::Forward, ReadMode::Consistent);
        let (mut row, mut found) = (RowBuf::new(), Vec::new());
        while scan.next(reader, &mut row).unwrap() {
            found.push(t.pair(&row));
        }
        assert_eq!(found, expected, "snapshot {value} by index");
    }
    drop(readers);
    world.purge();
    world.check(&t.0);
}

#[test]
fn a_writer_waits_for_a_writer_and_sees_what_it_committed() {
    let world = World::new();
    let t = seeded(&world, false, &[(1, 10)]);
    let mut first = world.begin(RR);
    t.update(&mut first, 1, 11).unwrap();
    let table = t.clone();
    let second = waits(&world, world.begin(RR), move |trx| {
        let mut seen = 0;
        let mut decide = |body: &[u8], out: &mut Vec<u8>| {
            seen = table.pair(&RowBuf { key: Vec::new(), body: body.to_vec() }).1;
            out.extend_from_slice(&table.body(1, seen + 100));
            Change::Update
        };
        trx.modify(&table.0, &table.key(1), WaitMode::Wait, &mut decide).unwrap()
    });
    world.commit(first);
    let (done, trx) = second.join().unwrap();
    assert_eq!(done, Modified::Updated);
    world.commit(trx);
    assert_eq!(t.all(&mut world.begin(RR)), [(1, 111)]);
}

#[test]
fn a_waiter_goes_on_when_the_insert_it_met_is_rolled_back() {
    let world = World::new();
    let t = seeded(&world, true, &[]);
    let mut first = world.begin(RR);
    t.insert(&mut first, 1, 10).unwrap();
    let table = t.clone();
    let second = waits(&world, world.begin(RR), move |trx| table.insert(trx, 1, 20));
    first.rollback().unwrap();
    let (done, trx) = second.join().unwrap();
    done.unwrap();
    world.commit(trx);
    assert_eq!(t.all(&mut world.begin(RR)), [(1, 20)]);
    world.check(&t.0);
}

#[test]
fn a_unique_key_waits_for_the_one_who_is_inserting_or_deleting_it() {
    let world = World::new();
    let t = Pairs(world.table(1, vec![int(), int()], 1, &[(true, &[1])]));
    let mut first = world.begin(RR);
    t.insert(&mut first, 1, 7).unwrap();
    let table = t.clone();
    let second = waits(&world, world.begin(RR), move |trx| table.insert(trx, 2, 7));
    world.commit(first);
    let (refused, _) = second.join().unwrap();
    assert!(matches!(refused, Err(RowError::DuplicateKey { index: 1 })));
    let mut first = world.begin(RR);
    t.delete(&mut first, 1).unwrap();
    let table = t.clone();
    let second = waits(&world, world.begin(RR), move |trx| table.insert(trx, 2, 7));
    world.commit(first);
    let (done, trx) = second.join().unwrap();
    done.unwrap();
    world.commit(trx);
    world.purge();
    assert_eq!(t.all(&mut world.begin(RR)), [(2, 7)]);
    world.check(&t.0);
}

fn three(table: &Table, id: i64, key: i64, value: i64) -> Vec<u8> {
    body(table, &[Value::Int(id), Value::Int(key), Value::Int(value)])
}

/// Row (1, 7, 0) of a table with a unique second column, and a transaction that has locked the row by its primary key and made it
/// (1, 7, 1): the entry is free.
fn updated_beside_its_unique_entry(world: &World) -> (Arc<Table>, Trx) {
    let t = world.table(1, vec![int(), int(), int()], 1, &[(true, &[1])]);
    let mut trx = world.begin(RR);
    trx.insert(&t, &three(&t, 1, 7, 0)).unwrap();
    world.commit(trx);
    let mut first = world.begin(RR);
    let mut found = RowBuf::new();
    assert!(first.get(&t, 0, &key_of(&t, 0, &[Value::Int(1)]), EXCLUSIVE, &mut found).unwrap());
    first.update(&t, &found, &three(&t, 1, 7, 1)).unwrap();
    (t, first)
}

#[test]
fn an_update_of_another_column_does_not_lock_the_unique_entry() {
    let world = World::new();
    let (t, _first) = updated_beside_its_unique_entry(&world);
    let mut second = impatient(&world, RR);
    let refused = second.insert(&t, &three(&t, 2, 7, 0));
    assert!(matches!(refused, Err(RowError::DuplicateKey { index: 1 })));
}

#[test]
fn skip_locked_by_a_unique_key_passes_a_row_that_is_locked_behind_a_free_entry() {
    let world = World::new();
    let (t, first) = updated_beside_its_unique_entry(&world);
    let mut found = RowBuf::new();
    let entry = key_of(&t, 1, &[Value::Int(7)]);
    let mode = |wait| ReadMode::Locking { strength: Strength::Exclusive, wait };
    let mut second = world.begin(RR);
    assert!(!second.get(&t, 1, &entry, mode(WaitMode::SkipLocked), &mut found).unwrap());
    let refused = second.get(&t, 1, &entry, mode(WaitMode::NoWait), &mut found);
    assert!(matches!(refused, Err(RowError::NoWait)));
    world.commit(first);
    assert!(second.get(&t, 1, &entry, mode(WaitMode::SkipLocked), &mut found).unwrap());
    assert_eq!(found.body, three(&t, 1, 7, 1));
}

#[test]
fn what_a_scan_copied_while_its_writer_was_active_is_not_handed_out_when_the_writer_has_rolled_back() {
    let world = World::new();
    let t = seeded(&world, false, &[(1, 10), (2, 20), (3, 30)]);
    let mut writer = world.begin(RR);
    for (id, value) in [(2, 21), (3, 31), (3, 32)] {
        t.update(&mut writer, id, value).unwrap();
    }
    let mut reader = world.begin(RR);
    let mut scan = reader.scan(&t.0, 0, KeyRange::all(), Direction::Forward, ReadMode::Consistent);
    let (mut row, mut found) = (RowBuf::new(), Vec::new());
    assert!(scan.next(&mut reader, &mut row).unwrap());
    assert_eq!(t.pair(&row), (1, 10));
    writer.rollback().unwrap();
    while scan.next(&mut reader, &mut row).unwrap() {
        found.push(t.pair(&row));
    }
    assert_eq!(found, [(2, 20), (3, 30)]);
}

#[test]
fn lost_updates_are_refused_with_snapshot_isolation_and_happen_without() {
    for (on, expected) in [(true, None), (false, Some(12))] {
        let world = World::new();
        let t = seeded(&world, false, &[(1, 10)]);
        let options = TrxOptions { snapshot_isolation: on, ..TrxOptions::default() };
        let mut late = world.begin_with(options);
        assert_eq!(t.get(&mut late, 1), Some(10));
        let mut early = world.begin(RR);
        t.update(&mut early, 1, 11).unwrap();
        world.commit(early);
        match (t.update(&mut late, 1, 12), expected) {
            (Err(RowError::SnapshotChanged), None) => late.rollback().unwrap(),
            (Ok(true), Some(_)) => world.commit(late),
            (other, _) => panic!("snapshot isolation {on}: {other:?}"),
        }
        assert_eq!(t.get(&mut world.begin(RR), 1), Some(expected.unwrap_or(11)));
    }
}

#[test]
fn snapshot_isolation_is_checked_after_a_wait_on_every_path() {
    type Path = fn(&Pairs, &mut Trx) -> Result<bool, RowError>;
    let by_key: Path = |t, trx| t.update(trx, 1, 99);
    let by_get: Path = |t, trx| t.read(trx, 1, EXCLUSIVE).map(|found| found.is_some());
    let by_scan: Path = |t, trx| t.select(trx, SHARED, |_, _| true).map(|rows| !rows.is_empty());
    let by_index: Path = |t, trx| {
        let mut scan = trx.scan(&t.0, 1, KeyRange::all(), Direction::Forward, EXCLUSIVE);
        scan.next(trx, &mut RowBuf::new())
    };
    let changes: [fn(&Pairs, &mut Trx); 2] =
        [|t, trx| assert!(t.update(trx, 1, 11).unwrap()), |t, trx| assert!(t.delete(trx, 1).unwrap())];
    for (way, change) in [by_key, by_get, by_scan, by_index].into_iter().flat_map(|w| changes.map(|c| (w, c)))
    {
        let world = World::new();
        let t = seeded(&world, true, &[(1, 10), (2, 20)]);
        let mut late = world.begin(RR);
        late.take_snapshot();
        let mut early = world.begin(RR);
        change(&t, &mut early);
        let table = t.clone();
        let waiting = waits(&world, late, move |trx| way(&table, trx));
        world.commit(early);
        let (result, _) = waiting.join().unwrap();
        assert!(matches!(result, Err(RowError::SnapshotChanged)), "{result:?}");
    }
}

#[test]
fn nowait_and_skip_locked_do_not_wait() {
    let world = World::new();
    let t = seeded(&world, true, &[(1, 10), (2, 20), (3, 30)]);
    let mut holder = world.begin(RC);
    assert_eq!(t.read(&mut holder, 2, EXCLUSIVE).unwrap(), Some(20));
    let mut trx = world.begin(RC);
    let mode = |wait| ReadMode::Locking { strength: Strength::Exclusive, wait };
    assert!(matches!(t.read(&mut trx, 2, mode(WaitMode::NoWait)), Err(RowError::NoWait)));
    assert_eq!(t.read(&mut trx, 2, mode(WaitMode::SkipLocked)).unwrap(), None);
    let rows = t.select(&mut trx, mode(WaitMode::SkipLocked), |_, _| true).unwrap();
    assert_eq!(rows, [(1, 10), (3, 30)]);
    let mut scan = trx.scan(&t.0, 1, KeyRange::all(), Direction::Forward, mode(WaitMode::SkipLocked));
    let (mut row, mut found) = (RowBuf::new(), Vec::new());
    while scan.next(&mut trx, &mut row).unwrap() {
        found.push(t.pair(&row).0);
    }
    assert_eq!(found, [1, 3]);
}

#[test]
fn an_interrupted_wait_ends() {
    let world = World::new();
    let t = seeded(&world, false, &[(1, 10)]);
    let mut holder = world.begin(RR);
    t.update(&mut holder, 1, 11).unwrap();
    let trx = world.begin(RR);
    let owner = Arc::clone(trx.owner());
    let table = t.clone();
    let waiter = waits(&world, trx, move |trx| table.update(trx, 1, 12));
    owner.interrupt();
    let (result, trx) = waiter.join().unwrap();
    assert!(matches!(result, Err(RowError::Interrupted)));
    owner.clear_interrupt();
    drop(trx);
    world.commit(holder);
}

#[test]
fn a_range_read_for_update_keeps_phantoms_out_and_its_ends_too() {
    let world = World::new();
    let t = seeded(&world, true, &[(10, 1), (20, 2), (30, 3), (40, 4)]);
    let scan_ids = |trx: &mut Trx, direction| {
        let range = KeyRange { lower: Bound::Excluded(t.key(10)), upper: Bound::Excluded(t.key(35)) };
        let mut scan = trx.scan(&t.0, 0, range, direction, EXCLUSIVE);
        let (mut row, mut found) = (RowBuf::new(), Vec::new());
        while scan.next(trx, &mut row).unwrap() {
            found.push(t.pair(&row).0);
        }
        found
    };
    for direction in [Direction::Forward, Direction::Backward] {
        let mut reader = world.begin(RR);
        assert_eq!(scan_ids(&mut reader, direction).len(), 2);
        for id in [11, 25, 34, 36] {
            let mut trx = impatient(&world, RR);
            assert!(is_timeout(t.insert(&mut trx, id, 0)), "{direction:?} {id}");
        }
        for id in [5, 45] {
            let mut trx = impatient(&world, RR);
            t.insert(&mut trx, id, 0).unwrap();
            trx.rollback().unwrap();
        }
        // The reader itself may insert, and what it has inserted splits the locked gap.
        t.insert(&mut reader, 25, 0).unwrap();
        assert!(is_timeout(t.insert(&mut impatient(&world, RR), 24, 0)));
        assert!(is_timeout(t.insert(&mut impatient(&world, RR), 26, 0)));
        reader.rollback().unwrap();
        assert!(world.kernel.locks.list(false).is_empty());
    }
}

#[test]
fn read_committed_locks_no_gap_and_gives_rows_back() {
    let world = World::new();
    let t = seeded(&world, true, &[(10, 1), (20, 2), (30, 3)]);
    let mut reader = world.begin(RC);
    assert_eq!(t.select(&mut reader, EXCLUSIVE, |id, _| id == 20).unwrap(), [(20, 2)]);
    let mut other = impatient(&world, RC);
    t.insert(&mut other, 15, 0).unwrap();
    assert!(t.update(&mut other, 10, 0).unwrap());
    assert!(is_timeout(t.update(&mut other, 20, 0)));
}

#[test]
fn equality_on_an_index_locks_the_matches_and_the_gaps_beside_them() {
    let world = World::new();
    let t = seeded(&world, true, &[(1, 10), (2, 20), (3, 20), (4, 30)]);
    let mut reader = world.begin(RR);
    let equal = KeyRange::prefix(&key_of(&t.0, 1, &[Value::Int(20)]));
    let mut scan = reader.scan(&t.0, 1, equal, Direction::Forward, EXCLUSIVE);
    let mut row = RowBuf::new();
    while scan.next(&mut reader, &mut row).unwrap() {}
    for (id, value, waits) in [(5, 15, true), (6, 20, true), (7, 25, true), (8, 5, false), (9, 35, false)] {
        let mut trx = impatient(&world, RR);
        assert_eq!(is_timeout(t.insert(&mut trx, id, value)), waits, "{value}");
    }
    // The first record behind the equality is not locked itself, only its gap.
    assert!(t.update(&mut impatient(&world, RR), 4, 31).unwrap());
    assert!(is_timeout(t.update(&mut impatient(&world, RR), 3, 20)));
}

#[test]
fn a_missing_key_locks_its_gap_and_a_found_one_only_itself() {
    let world = World::new();
    let t = seeded(&world, false, &[(10, 1), (20, 2)]);
    let mut reader = world.begin(RR);
    assert_eq!(t.read(&mut reader, 15, EXCLUSIVE).unwrap(), None);
    assert!(is_timeout(t.insert(&mut impatient(&world, RR), 14, 0)));
    assert!(t.update(&mut impatient(&world, RR), 20, 5).unwrap());
    drop(reader);
    let mut reader = world.begin(RR);
    assert_eq!(t.read(&mut reader, 20, EXCLUSIVE).unwrap(), Some(2));
    t.insert(&mut impatient(&world, RR), 14, 0).unwrap();
    t.insert(&mut impatient(&world, RR), 24, 0).unwrap();
}

#[test]
fn a_gap_stays_locked_when_the_record_at_its_end_goes() {
    let world = World::new();
    let t = seeded(&world, false, &[(10, 1), (20, 2), (30, 3)]);
    let mut trx = world.begin(RR);
    t.insert(&mut trx, 17, 0).unwrap();
    let mut reader = world.begin(RR);
    assert_eq!(t.read(&mut reader, 15, EXCLUSIVE).unwrap(), None);
    // The gap lock names 17, whose insert is undone: it moves to 20.
    trx.rollback().unwrap();
    assert!(is_timeout(t.insert(&mut impatient(&world, RR), 14, 0)));
    assert!(is_timeout(t.insert(&mut impatient(&world, RR), 18, 0)));
    t.insert(&mut impatient(&world, RR), 21, 0).unwrap();
    // The same with purge: 20 is deleted, its gap lock moves to 30.
    let mut trx = impatient(&world, RR);
    assert!(t.delete(&mut trx, 20).unwrap());
    world.commit(trx);
    drop(reader);
    let mut reader = world.begin(RR);
    assert_eq!(t.read(&mut reader, 19, EXCLUSIVE).unwrap(), None);
    world.purge();
    assert_eq!(world.records(&t.0, 0), 2);
    assert!(is_timeout(t.insert(&mut impatient(&world, RR), 14, 0)));
}

#[test]
fn two_transactions_that_want_each_others_row_deadlock() {
    let world = World::new();
    let t = seeded(&world, false, &[(1, 10), (2, 20)]);
    let (mut first, mut second) = (world.begin(RR), world.begin(RR));
    t.update(&mut first, 1, 11).unwrap();
    t.update(&mut second, 2, 21).unwrap();
    t.update(&mut second, 2, 22).unwrap();
    let table = t.clone();
    let waiter = waits(&world, first, move |trx| table.update(trx, 2, 12));
    let table = t.clone();
    let other = std::thread::spawn(move || {
        let result = table.update(&mut second, 1, 23);
        (result, second)
    });
    // The cheaper one is the victim; its rollback lets the other go on.
    let (result, first) = waiter.join().unwrap();
    assert!(matches!(result, Err(RowError::Deadlock)));
    drop(first);
    let (result, second) = other.join().unwrap();
    assert!(result.unwrap());
    world.commit(second);
    assert_eq!(t.all(&mut world.begin(RR)), [(1, 23), (2, 22)]);
}

#[test]
fn semi_consistent_reads_pass_locked_rows_that_do_not_match() {
    let world = World::new();
    let t = seeded(&world, false, &[(1, 10), (2, 20), (3, 30)]);
    let mut holder = world.begin(RC);
    assert!(t.update(&mut holder, 1, 20).unwrap());
    let mut trx = impatient(&world, RC);
    let mut scan = trx.scan(&t.0, 0, KeyRange::all(), Direction::Forward, EXCLUSIVE).semi_consistent();
    let (mut row, mut changed) = (RowBuf::new(), Vec::new());
    while scan.next(&mut trx, &mut row).unwrap() {
        let (id, value) = t.pair(&row);
        if value == 20 {
            assert!(scan.row_is_locked() || scan.lock_current(&mut trx, &mut row).unwrap());
            trx.update(&t.0, &row, &t.body(id, 21)).unwrap();
            changed.push(id);
        } else {
            assert_eq!(scan.row_is_locked(), id != 1);
            trx.unlock_row(&t.0, &row);
        }
    }
    assert_eq!(changed, [2]);
    let again = trx.scan(&t.0, 0, KeyRange::all(), Direction::Forward, EXCLUSIVE).semi_consistent();
    let mut scan = again;
    assert!(scan.next(&mut trx, &mut row).unwrap());
    assert!(is_timeout(scan.lock_current(&mut trx, &mut row)));
}

#[test]
fn an_insert_on_a_duplicate_key_locks_the_row_as_asked() {
    let world = World::new();
    let t = seeded(&world, false, &[(1, 10)]);
    let mut first = world.begin(RR);
    let refused = first.insert_or_lock(&t.0, &t.body(1, 11), Strength::Shared);
    assert!(matches!(refused, Err(RowError::DuplicateKey { index: 0 })));
    let mut second = impatient(&world, RR);
    assert_eq!(t.read(&mut second, 1, SHARED).unwrap(), Some(10));
    assert!(is_timeout(t.read(&mut second, 1, EXCLUSIVE)));
}

#[test]
fn a_loser_of_a_crash_holds_its_rows_until_it_is_rolled_back() {
    let world = World::new();
    let t = seeded(&world, true, &[(1, 10), (2, 20)]);
    let mut trx = world.begin(RR);
    t.update(&mut trx, 1, 11).unwrap();
    t.insert(&mut trx, 3, 30).unwrap();
    t.delete(&mut trx, 2).unwrap();
    let (id, first, last) = (trx.id().unwrap(), trx.commit_parts().unwrap().first, trx.last_lsn());
    // As if the server had gone: nobody undoes it, and a new kernel finds its id in the rows.
    trx.abandon();
    let (kernel, queue) = Kernel::new(
        Store::new(Arc::clone(&world.kernel.store.pool), Arc::clone(&world.kernel.store.log)),
        Arc::clone(&world.kernel.clock),
        TrxId(id.0 + 1),
    );
    let loser = kernel.adopt(id, first, last);
    assert_eq!(kernel.trxs.active_transactions().len(), 1);
    let mut reader = kernel.begin(TrxOptions::default());
    assert_eq!(t.all(&mut reader), [(1, 10), (2, 20)]);
    let options = TrxOptions { lock_wait_timeout: Duration::ZERO, ..TrxOptions::default() };
    let mut writer = kernel.begin(options);
    assert!(is_timeout(t.update(&mut writer, 1, 12)));
    loser.rollback_with(&*world.tables).unwrap();
    assert!(t.update(&mut writer, 1, 12).unwrap());
    let end = writer.commit().unwrap().unwrap().end;
    kernel.store.log.wait_durable(end).unwrap();
    drop(reader);
    assert_eq!(t.all(&mut kernel.begin(TrxOptions::default())), [(1, 12), (2, 20)]);
    let tables = Arc::clone(&world.tables) as Arc<dyn TableSource>;
    Purge::new(Arc::clone(&kernel), tables, queue).run(100).unwrap();
    let report = kernel.begin(TrxOptions::default()).check_table(&t.0, &mut || false).unwrap();
    assert!(report.is_sound(), "{report:?}");
}
