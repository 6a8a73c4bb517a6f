//! The Hermitage cases (github.com/ept/hermitage) at engine level: `test(id, value)` with (1, 10), (2, 20).
//!
//! What each level allows is InnoDB's: READ COMMITTED prevents G0, G1; REPEATABLE READ reads from one snapshot, and with
//! innodb_snapshot_isolation on also prevents P4 and write skew on the rows it writes; SERIALIZABLE reads with shared locks.

use super::*;

struct Case {
    world: World,
    t: Pairs,
}

impl Case {
    fn new() -> Self {
        let world = World::new();
        let t = world.pairs(1, false);
        let mut trx = world.begin(Isolation::RepeatableRead);
        t.insert(&mut trx, 1, 10).unwrap();
        t.insert(&mut trx, 2, 20).unwrap();
        world.commit(trx);
        Self { world, t }
    }
    /// Waits that would block the story's only thread end at once.
    fn begin(&self, isolation: Isolation, snapshot_isolation: bool) -> Trx {
        self.world.begin_with(TrxOptions {
            isolation,
            snapshot_isolation,
            lock_wait_timeout: Duration::ZERO,
            ..TrxOptions::default()
        })
    }
    fn all(&self) -> Vec<(i64, i64)> {
        self.t.all(&mut self.world.begin(Isolation::RepeatableRead))
    }
    fn read_all(&self, trx: &mut Trx) -> Vec<(i64, i64)> {
        trx.start_statement();
        self.t.all(trx)
    }
}

fn blocked<T: std::fmt::Debug>(result: Result<T, RowError>) -> bool {
    matches!(result, Err(RowError::LockWaitTimeout))
}

const LEVELS: [Isolation; 4] = [
    Isolation::ReadUncommitted,
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Serializable,
];

#[test]
fn g0_dirty_writes_are_prevented_everywhere() {
    for level in LEVELS {
        let case = Case::new();
        let (mut one, mut two) = (case.begin(level, true), case.begin(level, true));
        assert!(case.t.update(&mut one, 1, 11).unwrap());
        assert!(blocked(case.t.update(&mut two, 1, 12)), "{level:?}");
        assert!(case.t.update(&mut one, 2, 21).unwrap());
        case.world.commit(one);
        assert_eq!(case.all(), [(1, 11), (2, 21)]);
        assert!(case.t.update(&mut two, 1, 12).unwrap());
        assert!(case.t.update(&mut two, 2, 22).unwrap());
        case.world.commit(two);
        assert_eq!(case.all(), [(1, 12), (2, 22)]);
    }
}

#[test]
fn g1a_aborted_reads() {
    for level in LEVELS {
        let case = Case::new();
        let (mut one, mut two) = (case.begin(level, true), case.begin(level, true));
        assert!(case.t.update(&mut one, 1, 101).unwrap());
        let dirty = case.read_all(&mut two)[0].1 == 101;
        assert_eq!(dirty, level == Isolation::ReadUncommitted, "{level:?}");
        one.rollback().unwrap();
        assert_eq!(case.read_all(&mut two), [(1, 10), (2, 20)]);
    }
}

#[test]
fn g1b_intermediate_reads() {
    for level in LEVELS {
        let case = Case::new();
        let (mut one, mut two) = (case.begin(level, true), case.begin(level, true));
        assert!(case.t.update(&mut one, 1, 101).unwrap());
        let dirty = case.read_all(&mut two)[0].1 == 101;
        assert_eq!(dirty, level == Isolation::ReadUncommitted);
        assert!(case.t.update(&mut one, 1, 11).unwrap());
        case.world.commit(one);
        let expected = if level >= Isolation::RepeatableRead { 10 } else { 11 };
        assert_eq!(case.read_all(&mut two)[0].1, expected, "{level:?}");
    }
}

#[test]
fn g1c_circular_information_flow() {
    for level in LEVELS {
        let case = Case::new();
        let (mut one, mut two) = (case.begin(level, true), case.begin(level, true));
        assert!(case.t.update(&mut one, 1, 11).unwrap());
        assert!(case.t.update(&mut two, 2, 22).unwrap());
        let circular = case.read_all(&mut one)[1].1 == 22 && case.read_all(&mut two)[0].1 == 11;
        assert_eq!(circular, level == Isolation::ReadUncommitted, "{level:?}");
    }
}

#[test]
fn otv_observed_transaction_vanishes() {
    for level in LEVELS {
        let case = Case::new();
        let (mut one, mut three) = (case.begin(level, true), case.begin(level, true));
        assert!(case.t.update(&mut one, 1, 11).unwrap());
        assert!(case.t.update(&mut one, 2, 19).unwrap());
        let mut two = case.begin(level, true);
        assert!(blocked(case.t.update(&mut two, 1, 12)));
        case.world.commit(one);
        assert!(case.t.update(&mut two, 1, 12).unwrap());
        let first = case.read_all(&mut three);
        assert!(case.t.update(&mut two, 2, 18).unwrap());
        let second = case.read_all(&mut three);
        case.world.commit(two);
        if level == Isolation::ReadUncommitted {
            assert_eq!((first[0].1, second[1].1), (12, 18));
        } else {
            assert_eq!((&first[..], &second[..]), (&[(1, 11), (2, 19)][..], &[(1, 11), (2, 19)][..]));
        }
    }
}

#[test]
fn pmp_predicate_many_preceders() {
    for level in LEVELS {
        let case = Case::new();
        let (mut one, mut two) = (case.begin(level, true), case.begin(level, true));
        assert_eq!(case.read_all(&mut one).iter().filter(|r| r.1 == 30).count(), 0);
        case.t.insert(&mut two, 3, 30).unwrap();
        case.world.commit(two);
        let thirds = case.read_all(&mut one).iter().filter(|r| r.1 % 3 == 0).count();
        assert_eq!(thirds == 1, level <= Isolation::ReadCommitted, "{level:?}");
    }
}

#[test]
fn pmp_for_write_predicates() {
    // One multiplies every value; two then deletes where the value is 20 and must see what one has left.
    for (level, snapshot_isolation) in [
        (Isolation::ReadCommitted, true),
        (Isolation::RepeatableRead, false),
        (Isolation::RepeatableRead, true),
    ] {
        let case = Case::new();
        let (mut one, mut two) =
            (case.begin(level, snapshot_isolation), case.begin(level, snapshot_isolation));
        assert_eq!(case.read_all(&mut two).len(), 2);
        assert_eq!(case.t.update_where(&mut one, |_, _| true, |v| v + 10).unwrap(), 2);
        assert!(blocked(case.t.select(&mut two, EXCLUSIVE, |_, v| v == 20)));
        case.world.commit(one);
        two.start_statement();
        let found = case.t.select(&mut two, EXCLUSIVE, |_, v| v == 20);
        if snapshot_isolation && level == Isolation::RepeatableRead {
            assert!(matches!(found, Err(RowError::SnapshotChanged)), "{found:?}");
        } else {
            // The current read does not agree with the snapshot: InnoDB's classic REPEATABLE READ.
            assert_eq!(found.unwrap(), [(1, 20)], "{level:?}");
        }
    }
}

#[test]
fn p4_lost_updates() {
    for (level, snapshot_isolation, lost) in [
        (Isolation::ReadCommitted, true, true),
        (Isolation::RepeatableRead, false, true),
        (Isolation::RepeatableRead, true, false),
    ] {
        let case = Case::new();
        let (mut one, mut two) =
            (case.begin(level, snapshot_isolation), case.begin(level, snapshot_isolation));
        let (a, b) = (case.read_all(&mut one)[0].1, case.read_all(&mut two)[0].1);
        assert!(case.t.update(&mut one, 1, a + 1).unwrap());
        assert!(blocked(case.t.update(&mut two, 1, b + 2)));
        case.world.commit(one);
        match case.t.update(&mut two, 1, b + 2) {
            Ok(done) => assert!(done && lost, "{level:?}"),
            Err(RowError::SnapshotChanged) => assert!(!lost, "{level:?}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn p4_is_a_deadlock_when_reads_lock() {
    let case = Case::new();
    let mut one = case.begin(Isolation::Serializable, true);
    let mut two = case.begin(Isolation::Serializable, true);
    assert_eq!(case.t.read(&mut one, 1, SHARED).unwrap(), Some(10));
    assert_eq!(case.t.read(&mut two, 1, SHARED).unwrap(), Some(10));
    assert!(blocked(case.t.update(&mut one, 1, 11)));
    assert!(blocked(case.t.update(&mut two, 1, 12)));
}

#[test]
fn g_single_read_skew() {
    for level in LEVELS {
        let case = Case::new();
        let (mut one, mut two) = (case.begin(level, true), case.begin(level, true));
        one.start_statement();
        assert_eq!(case.t.get(&mut one, 1), Some(10));
        assert!(case.t.update(&mut two, 1, 12).unwrap());
        assert!(case.t.update(&mut two, 2, 18).unwrap());
        case.world.commit(two);
        one.start_statement();
        let skewed = case.t.get(&mut one, 2) == Some(18);
        assert_eq!(skewed, level <= Isolation::ReadCommitted, "{level:?}");
    }
}

#[test]
fn g_single_with_a_write_that_depends_on_the_skew() {
    for snapshot_isolation in [false, true] {
        let case = Case::new();
        let level = Isolation::RepeatableRead;
        let (mut one, mut two) =
            (case.begin(level, snapshot_isolation), case.begin(level, snapshot_isolation));
        assert_eq!(case.read_all(&mut one).len(), 2);
        assert!(case.t.update(&mut two, 1, 12).unwrap());
        assert!(case.t.update(&mut two, 2, 18).unwrap());
        case.world.commit(two);
        // DELETE WHERE value = 20: in the snapshot there is one, in the newest version none.
        let found = case.t.select(&mut one, EXCLUSIVE, |_, v| v == 20);
        match found {
            Ok(rows) => assert!(rows.is_empty() && !snapshot_isolation),
            Err(error) => assert!(matches!(error, RowError::SnapshotChanged) && snapshot_isolation),
        }
    }
}

#[test]
fn g2_item_write_skew_happens_unless_reads_lock() {
    for level in LEVELS {
        let case = Case::new();
        let (mut one, mut two) = (case.begin(level, true), case.begin(level, true));
        let reads = if level == Isolation::Serializable { SHARED } else { ReadMode::Consistent };
        for trx in [&mut one, &mut two] {
            assert_eq!(case.t.select(trx, reads, |_, _| true).unwrap().len(), 2);
        }
        let first = case.t.update(&mut one, 1, 11);
        if level == Isolation::Serializable {
            assert!(blocked(first));
        } else {
            assert!(first.unwrap() && case.t.update(&mut two, 2, 21).unwrap());
        }
    }
}

#[test]
fn g2_anti_dependencies_by_insert_are_stopped_by_gap_locks() {
    let case = Case::new();
    let level = Isolation::Serializable;
    let (mut one, mut two) = (case.begin(level, true), case.begin(level, true));
    for trx in [&mut one, &mut two] {
        assert_eq!(case.t.select(trx, SHARED, |_, v| v % 3 == 0).unwrap(), []);
    }
    assert!(blocked(case.t.insert(&mut one, 3, 30)));
    assert!(blocked(case.t.insert(&mut two, 4, 42)));
}
