//! Long values.

use super::*;
use crate::row::{Direction, KeyRange};

fn text(seed: u8, len: usize) -> Value {
    let bytes: Vec<u8> = (0..len).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect();
    Value::str(bytes.as_slice(), Collation::BINARY)
}

struct Long {
    world: World,
    table: Arc<Table>,
}

impl Long {
    fn new() -> Self {
        let world = World::new();
        let table = world.table(1, vec![int(), int(), blob(), blob()], 1, &[(false, &[1])]);
        Self { world, table }
    }
    fn row(&self, id: i64, key: i64, a: &Value, b: &Value) -> Vec<u8> {
        body(&self.table, &[Value::Int(id), Value::Int(key), a.clone(), b.clone()])
    }
    fn get(&self, trx: &mut Trx, id: i64, mode: ReadMode, out: &mut RowBuf) -> bool {
        trx.get(&self.table, 0, &key_of(&self.table, 0, &[Value::Int(id)]), mode, out).unwrap()
    }
    /// Pages in use, the bitmap's included.
    fn pages(&self) -> u32 {
        let id = base::PageId::new(self.table.spec().space, base::PageNo(0));
        let page = self.world.kernel.store.pool.read(id, crate::pool::AccessHint::Normal).unwrap();
        page_format::used_count(&page)
    }
}

#[test]
fn long_values_come_back_whole_and_their_pages_too() {
    let long = Long::new();
    let start = long.pages();
    let (a, b) = (text(1, 100_000), text(2, 20_000));
    let mut trx = long.world.begin(Isolation::RepeatableRead);
    trx.insert(&long.table, &long.row(1, 5, &a, &b)).unwrap();
    let mut row = RowBuf::new();
    assert!(long.get(&mut trx, 1, ReadMode::Consistent, &mut row));
    assert_eq!(row.body, long.row(1, 5, &a, &b));
    assert!(long.pages() >= start + 8);
    trx.rollback().unwrap();
    assert_eq!(long.pages(), start);
}

#[test]
fn an_old_version_keeps_its_long_values_until_purge() {
    let long = Long::new();
    let (a, b, c) = (text(1, 50_000), text(2, 30_000), text(3, 40_000));
    let mut trx = long.world.begin(Isolation::RepeatableRead);
    trx.insert(&long.table, &long.row(1, 5, &a, &b)).unwrap();
    long.world.commit(trx);
    let with_both = long.pages();
    let mut reader = long.world.begin(Isolation::RepeatableRead);
    reader.take_snapshot();
    let mut row = RowBuf::new();
    let mut trx = long.world.begin(Isolation::RepeatableRead);
    assert!(long.get(&mut trx, 1, EXCLUSIVE, &mut row));
    trx.update(&long.table, &row, &long.row(1, 6, &c, &b)).unwrap();
    long.world.commit(trx);
    // The unchanged value's chain is shared by both versions.
    assert!(long.pages() <= with_both + 4);
    long.world.purge();
    assert!(long.get(&mut reader, 1, ReadMode::Consistent, &mut row));
    assert_eq!(row.body, long.row(1, 5, &a, &b));
    drop(reader);
    long.world.purge();
    assert!(long.pages() < with_both);
    let mut trx = long.world.begin(Isolation::RepeatableRead);
    assert!(long.get(&mut trx, 1, ReadMode::Consistent, &mut row));
    assert_eq!(row.body, long.row(1, 6, &c, &b));
    drop(trx);
    long.world.check(&long.table);
}

#[test]
fn deleted_rows_give_their_chains_back_even_when_taken_over() {
    let long = Long::new();
    let start = long.pages();
    let (a, null) = (text(1, 60_000), Value::Null);
    for _ in 0..3 {
        let mut trx = long.world.begin(Isolation::RepeatableRead);
        trx.insert(&long.table, &long.row(1, 5, &a, &null)).unwrap();
        long.world.commit(trx);
        let mut trx = long.world.begin(Isolation::RepeatableRead);
        let mut row = RowBuf::new();
        assert!(long.get(&mut trx, 1, EXCLUSIVE, &mut row));
        trx.delete(&long.table, &row).unwrap();
        long.world.commit(trx);
    }
    long.world.purge();
    assert_eq!(long.world.records(&long.table, 0), 0);
    assert_eq!(long.pages(), start);
}

#[test]
fn a_statement_that_replaces_long_values_is_undone() {
    let long = Long::new();
    let (a, b) = (text(1, 60_000), text(2, 9_000));
    let mut trx = long.world.begin(Isolation::RepeatableRead);
    for id in 0..4 {
        trx.insert(&long.table, &long.row(id, id, &a, &Value::Null)).unwrap();
    }
    long.world.commit(trx);
    let pages = long.pages();
    let mut trx = long.world.begin(Isolation::RepeatableRead);
    trx.start_statement();
    let mut scan = trx.scan(&long.table, 1, KeyRange::all(), Direction::Forward, EXCLUSIVE);
    let mut row = RowBuf::new();
    let mut id = 0;
    while scan.next(&mut trx, &mut row).unwrap() {
        match id {
            0 => trx.delete(&long.table, &row).unwrap(),
            1 => trx.update(&long.table, &row, &long.row(id, id, &b, &a)).unwrap(),
            _ => trx.update(&long.table, &row, &long.row(id, id, &Value::Null, &Value::Null)).unwrap(),
        }
        id += 1;
    }
    trx.rollback_statement().unwrap();
    world_equals(&long, &mut trx, &a);
    long.world.commit(trx);
    long.world.purge();
    assert_eq!(long.pages(), pages);
    world_equals(&long, &mut long.world.begin(Isolation::RepeatableRead), &a);
}

fn world_equals(long: &Long, trx: &mut Trx, a: &Value) {
    let mut row = RowBuf::new();
    for id in 0..4 {
        assert!(long.get(trx, id, ReadMode::Consistent, &mut row));
        assert_eq!(row.body, long.row(id, id, a, &Value::Null));
    }
}

#[test]
fn a_row_of_fixed_columns_that_is_too_large_is_refused() {
    let world = World::new();
    let wide = |_| Column { ty: ColumnType::char(250, Collation::BINARY), nullable: false };
    let table = world.table(1, (0..40).map(wide).collect(), 1, &[]);
    let value = Value::str(vec![b'a'; 30].as_slice(), Collation::BINARY);
    let long = Value::str(vec![b'a'; 250].as_slice(), Collation::BINARY);
    let mut trx = world.begin(Isolation::RepeatableRead);
    trx.insert(&table, &body(&table, &vec![value; 40])).unwrap();
    // Forty values of 250 bytes fit a page as references.
    trx.insert(&table, &body(&table, &vec![long; 40])).unwrap();
    world.commit(trx);
    let world = World::new();
    let table = world.table(1, vec![int(); 2500], 1, &[]);
    let mut trx = world.begin(Isolation::RepeatableRead);
    let refused = trx.insert(&table, &body(&table, &vec![Value::Int(1); 2500]));
    assert!(matches!(refused, Err(RowError::RowTooLarge { .. })));
}
