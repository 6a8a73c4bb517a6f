//! Columns that come and go without rows being touched.

use row_format::{OldFormat, Source};

use super::*;
use crate::row::{Change, Direction, KeyRange, Modified};

/// `(id, key, long)` at first; `alter` gives the table other columns.
struct Story {
    world: World,
    table: Arc<Table>,
}

fn long(seed: u8) -> Value {
    Value::str(vec![seed; 40_000].as_slice(), Collation::BINARY)
}

fn short(text: &str) -> Value {
    Value::str(text.as_bytes(), Collation::BINARY)
}

impl Story {
    fn new() -> Self {
        let world = World::new();
        let table = world.table(1, vec![int(), int(), blob()], 1, &[(false, &[1])]);
        Self { world, table }
    }

    /// A definition whose columns come from `sources`; the index stays on the column at `key`.
    fn alter(&mut self, columns: Vec<Column>, sources: Vec<Source>, key: usize) {
        let mut spec = self.table.spec().clone();
        let now = self.world.kernel.store.log.reserved_lsn();
        let mut formats: Vec<_> = spec.formats.iter().map(|f| f.followed_by(&sources)).collect();
        formats.push(OldFormat::new(&spec.layout, now, sources));
        spec.formats = formats.into();
        spec.layout = Arc::new(RowLayout::new(columns));
        spec.indexes[1].parts = vec![KeyPart::ascending(key)];
        self.table = Table::new(spec);
        self.world.tables.0.lock().unwrap().insert(TableId(1), Arc::clone(&self.table));
    }

    /// One column more in front of `long`, then `long` alone is dropped.
    fn add_column(&mut self) {
        let value = Source::Value([9, 0, 0, 0].as_slice().into());
        let sources = vec![Source::Column(0), Source::Column(1), value, Source::Column(2)];
        self.alter(vec![int(), int(), int(), blob()], sources, 1);
    }

    fn insert(&self, values: &[Value]) {
        let mut trx = self.world.begin(Isolation::RepeatableRead);
        trx.insert(&self.table, &body(&self.table, values)).unwrap();
        self.world.commit(trx);
    }

    fn get(&self, trx: &mut Trx, id: i64) -> Option<Vec<Value>> {
        let mut row = RowBuf::new();
        let key = key_of(&self.table, 0, &[Value::Int(id)]);
        let found = trx.get(&self.table, 0, &key, ReadMode::Consistent, &mut row).unwrap();
        found.then(|| values(&self.table, &row))
    }

    fn now(&self, id: i64) -> Option<Vec<Value>> {
        self.get(&mut self.world.begin(Isolation::RepeatableRead), id)
    }

    fn modify(&self, trx: &mut Trx, id: i64, new: Option<&[Value]>) {
        let new = new.map(|values| body(&self.table, values));
        let mut decide = |_: &[u8], out: &mut Vec<u8>| match &new {
            Some(body) => {
                out.extend_from_slice(body);
                Change::Update
            }
            None => Change::Delete,
        };
        let key = key_of(&self.table, 0, &[Value::Int(id)]);
        assert_ne!(trx.modify(&self.table, &key, WaitMode::Wait, &mut decide).unwrap(), Modified::Missing);
    }
}

fn row(id: i64, key: i64, extra: i64, long: &Value) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(key), Value::Int(extra), long.clone()]
}

fn same(found: Option<Vec<Value>>, wanted: Option<Vec<Value>>) {
    assert_eq!(format!("{found:?}"), format!("{wanted:?}"));
}

#[test]
fn old_rows_have_the_default_of_the_time_and_new_ones_their_own_value() {
    let mut story = Story::new();
    story.insert(&[Value::Int(1), Value::Int(10), short("a")]);
    story.insert(&[Value::Int(2), Value::Int(20), long(2)]);
    story.add_column();
    story.insert(&row(3, 30, 5, &short("c")));
    same(story.now(1), Some(row(1, 10, 9, &short("a"))));
    same(story.now(2), Some(row(2, 20, 9, &long(2))));
    same(story.now(3), Some(row(3, 30, 5, &short("c"))));
    story.world.check(&story.table);
    // By the secondary index too.
    let mut trx = story.world.begin(Isolation::RepeatableRead);
    let mut scan = trx.scan(&story.table, 1, KeyRange::all(), Direction::Backward, ReadMode::Consistent);
    let (mut buf, mut extras) = (RowBuf::new(), Vec::new());
    while scan.next(&mut trx, &mut buf).unwrap() {
        extras.push(values(&story.table, &buf)[2].clone());
    }
    assert_eq!(format!("{extras:?}"), format!("{:?}", [Value::Int(5), Value::Int(9), Value::Int(9)]));
}

#[test]
fn old_rows_are_locked_by_the_secondary_index() {
    let mut story = Story::new();
    story.insert(&[Value::Int(1), Value::Int(10), short("a")]);
    story.insert(&[Value::Int(2), Value::Int(20), long(2)]);
    story.add_column();
    story.insert(&row(3, 30, 5, &short("c")));
    for strength in [Strength::Shared, Strength::Exclusive] {
        let mode = ReadMode::Locking { strength, wait: WaitMode::Wait };
        let mut trx = story.world.begin(Isolation::RepeatableRead);
        let mut scan = trx.scan(&story.table, 1, KeyRange::all(), Direction::Forward, mode);
        let (mut buf, mut extras) = (RowBuf::new(), Vec::new());
        while scan.next(&mut trx, &mut buf).unwrap() {
            extras.push(values(&story.table, &buf)[2].clone());
        }
        assert_eq!(format!("{extras:?}"), format!("{:?}", [Value::Int(9), Value::Int(9), Value::Int(5)]));
        drop(scan);
        let mut found = RowBuf::new();
        let key = key_of(&story.table, 1, &[Value::Int(20)]);
        assert!(trx.get(&story.table, 1, &key, mode, &mut found).unwrap());
        assert_eq!(format!("{:?}", values(&story.table, &found)), format!("{:?}", row(2, 20, 9, &long(2))));
        story.world.commit(trx);
    }
}

#[test]
fn a_change_of_an_old_row_is_undone_to_the_old_row() {
    let mut story = Story::new();
    story.insert(&[Value::Int(1), Value::Int(10), short("a")]);
    story.insert(&[Value::Int(2), Value::Int(20), long(2)]);
    story.add_column();
    for (id, old) in [(1, row(1, 10, 9, &short("a"))), (2, row(2, 20, 9, &long(2)))] {
        let mut trx = story.world.begin(Isolation::RepeatableRead);
        story.modify(&mut trx, id, Some(&row(id, 11, 6, &old[3])));
        same(story.get(&mut trx, id), Some(row(id, 11, 6, &old[3])));
        trx.rollback().unwrap();
        same(story.now(id), Some(old.clone()));
        let mut trx = story.world.begin(Isolation::RepeatableRead);
        story.modify(&mut trx, id, None);
        trx.rollback().unwrap();
        same(story.now(id), Some(old));
    }
    story.world.check(&story.table);
}

#[test]
fn snapshots_see_old_versions_across_layouts() {
    let mut story = Story::new();
    story.insert(&[Value::Int(1), Value::Int(10), short("a")]);
    story.insert(&[Value::Int(2), Value::Int(20), long(2)]);
    let mut before = story.world.begin(Isolation::RepeatableRead);
    before.take_snapshot();
    story.add_column();
    let mut trx = story.world.begin(Isolation::RepeatableRead);
    story.modify(&mut trx, 1, Some(&row(1, 11, 6, &short("b"))));
    story.modify(&mut trx, 2, None);
    story.world.commit(trx);
    story.world.purge();
    same(story.get(&mut before, 1), Some(row(1, 10, 9, &short("a"))));
    same(story.get(&mut before, 2), Some(row(2, 20, 9, &long(2))));
    same(story.now(1), Some(row(1, 11, 6, &short("b"))));
    same(story.now(2), None);
    drop(before);
    story.world.purge();
    assert_eq!((story.world.records(&story.table, 0), story.world.records(&story.table, 1)), (1, 1));
}

#[test]
fn a_dropped_long_column_gives_its_pages_back_with_the_next_change_of_the_row() {
    let mut story = Story::new();
    let id = base::PageId::new(story.table.spec().space, base::PageNo(0));
    let pages = |story: &Story| {
        let page = story.world.kernel.store.pool.read(id, crate::pool::AccessHint::Normal).unwrap();
        page_format::used_count(&page)
    };
    story.insert(&[Value::Int(1), Value::Int(10), short("a")]);
    story.insert(&[Value::Int(2), Value::Int(20), short("a")]);
    let empty = pages(&story);
    let mut trx = story.world.begin(Isolation::RepeatableRead);
    for id in [1, 2] {
        story.modify(&mut trx, id, Some(&[Value::Int(id), Value::Int(10), long(1)]));
    }
    story.world.commit(trx);
    assert!(pages(&story) > empty);
    // Two changes: the long column moves to the front, then it goes.
    story.alter(vec![blob(), int(), int()], vec![Source::Column(2), Source::Column(0), Source::Column(1)], 2);
    story.table = {
        let mut spec = story.table.spec().clone();
        spec.indexes[0].parts = vec![KeyPart::ascending(1)];
        Table::new(spec)
    };
    story.alter(vec![int(), int()], vec![Source::Column(1), Source::Column(2)], 1);
    story.table = {
        let mut spec = story.table.spec().clone();
        spec.indexes[0].parts = vec![KeyPart::ascending(0)];
        Table::new(spec)
    };
    story.world.tables.0.lock().unwrap().insert(TableId(1), Arc::clone(&story.table));
    same(story.now(1), Some(vec![Value::Int(1), Value::Int(10)]));
    let mut trx = story.world.begin(Isolation::RepeatableRead);
    story.modify(&mut trx, 1, Some(&[Value::Int(1), Value::Int(12)]));
    story.modify(&mut trx, 2, None);
    story.world.commit(trx);
    story.world.purge();
    assert_eq!(pages(&story), empty);
    same(story.now(1), Some(vec![Value::Int(1), Value::Int(12)]));
    story.world.check(&story.table);
}

#[test]
fn a_row_deleted_in_the_old_layout_is_inserted_again_in_the_new_one() {
    let mut story = Story::new();
    for id in [1, 2] {
        story.insert(&[Value::Int(id), Value::Int(10), long(1)]);
    }
    let mut before = story.world.begin(Isolation::RepeatableRead);
    before.take_snapshot();
    let mut trx = story.world.begin(Isolation::RepeatableRead);
    story.modify(&mut trx, 1, None);
    story.modify(&mut trx, 2, None);
    story.world.commit(trx);
    story.add_column();
    story.insert(&row(1, 10, 1, &long(3)));
    let mut trx = story.world.begin(Isolation::RepeatableRead);
    trx.insert(&story.table, &body(&story.table, &row(2, 10, 1, &short("x")))).unwrap();
    trx.rollback().unwrap();
    same(story.get(&mut before, 1), Some(row(1, 10, 9, &long(1))));
    same(story.get(&mut before, 2), Some(row(2, 10, 9, &long(1))));
    drop(before);
    story.world.purge();
    same(story.now(1), Some(row(1, 10, 1, &long(3))));
    same(story.now(2), None);
    assert_eq!(story.world.records(&story.table, 0), 1);
    story.world.check(&story.table);
}
