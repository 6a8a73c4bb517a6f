//! Shapes of trees, allocation, overflow values, remembered positions.

use std::ops::Bound;

use super::*;
use crate::btree::overflow::{self, OverflowRef};
use crate::btree::{Allocation, free_page, is_allocated};
use crate::mtr::Change;
use crate::pool::AccessHint;
use env::Random;
use page_format::BITMAP_PAGES;

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

#[test]
fn a_load_in_key_order_fills_its_pages_and_moves_no_rows() {
    let world = World::new(4000);
    let tree = world.clustered();
    for n in 0..20_000 {
        insert_row(&world.store, &tree, &key(n), &[1; 180]);
    }
    let check = tree.check(&world.store).unwrap();
    assert!(check.leaf_bytes / check.leaf_pages > 16_000, "{check:?}");
    assert_eq!(check.inner_pages, 1);
    let logged: usize = world.records().iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(logged < 20_000 * 215, "{logged}");
}

#[test]
fn ascending_runs_in_the_middle_fill_pages_too_and_descending_ones_do_not_make_empty_pages() {
    let world = World::new(4000);
    let tree = world.clustered();
    insert_row(&world.store, &tree, &key(u32::MAX), b"the end");
    for group in [50_000, 10_000, 30_000] {
        for n in 0..5000 {
            insert_row(&world.store, &tree, &key(group + n), &[1; 180]);
        }
    }
    let check = tree.check(&world.store).unwrap();
    assert!(check.leaf_bytes / check.leaf_pages > 14_000, "{check:?}");
    for n in (0..5000).rev() {
        insert_row(&world.store, &tree, &key(n + 20_000), &[1; 180]);
    }
    let check = tree.check(&world.store).unwrap();
    assert!(check.leaf_bytes / check.leaf_pages > 9_000, "{check:?}");
}

#[test]
fn an_estimate_is_exact_on_two_leaves_and_near_on_many() {
    let world = World::new(4000);
    let tree = world.clustered();
    for n in 0..20_000 {
        insert_row(&world.store, &tree, &key(n), &[1; 180]);
    }
    let estimate = |low: u32, high: u32| {
        tree.estimate_range(&world.store, Bound::Included(&key(low)), Bound::Excluded(&key(high))).unwrap()
    };
    assert_eq!(estimate(100, 130), 30);
    assert_eq!(estimate(100, 100), 0);
    let many = estimate(1000, 11_000);
    assert!((9_800..10_200).contains(&many), "{many}");
    let all = tree.estimate_range(&world.store, Bound::Unbounded, Bound::Unbounded).unwrap();
    assert!((19_500..20_500).contains(&all), "{all}");
    let size = tree.size(&world.store).unwrap();
    assert!((19_000..21_000).contains(&size.records) && size.levels == 2, "{size:?}");
}

#[test]
fn removing_everything_in_any_order_gives_all_pages_back() {
    for seed in 0..3 {
        let world = World::new(4000);
        let tree = world.clustered();
        let mut keys: Vec<u32> = (0..6000).collect();
        for &n in &keys {
            insert_row(&world.store, &tree, &key(n), &[1; 180]);
        }
        let mut random = Random::seeded(seed);
        for at in (1..keys.len()).rev() {
            keys.swap(at, random.below(at as u64 + 1) as usize);
        }
        for (count, &n) in keys.iter().enumerate() {
            assert!(remove(&world.store, &tree, &key(n)));
            if count % 500 == 0 {
                tree.check(&world.store).unwrap();
            }
        }
        let check = tree.check(&world.store).unwrap();
        assert_eq!((check.records, check.levels, used_pages(&world.store)), (0, 1, 2));
    }
}

#[test]
fn pages_beyond_one_bitmap_come_from_the_next() {
    let world = World::new(1000);
    let first = PageId::new(SPACE, PageNo(0));
    {
        let mut bitmap = world.store.pool.write(first, AccessHint::Normal).unwrap();
        let all = PageOp::SetBits { first: 1, count: BITMAP_PAGES - 1, used: true };
        world.store.change_system(&mut [Change::new(&mut bitmap, first, vec![all])]).unwrap();
    }
    let tree = world.clustered();
    assert_eq!(tree.root(), PageNo(BITMAP_PAGES + 1));
    insert_row(&world.store, &tree, b"key", b"row");
    tree.check(&world.store).unwrap();
    free_page(&world.store, PageId::new(SPACE, PageNo(77))).unwrap();
    let lower = Allocation::begin(&world.store, SPACE).unwrap().id();
    assert_eq!(lower.no, PageNo(77));
    assert!(!is_allocated(&world.store, lower).unwrap(), "an allocation without a record takes nothing");
}

#[test]
fn long_values_are_read_from_pages_or_from_the_log_and_given_back() {
    let world = World::new(1000);
    let store = &world.store;
    for length in [0, 1, 16_000, page_format::OVERFLOW_CAPACITY, page_format::OVERFLOW_CAPACITY + 1, 300_000]
    {
        let before = used_pages(store);
        let mut value = vec![0; length];
        Random::seeded(length as u64).fill(&mut value);
        let mut last = Lsn::NONE;
        let at = overflow::write_value(store, SPACE, INDEX, TRX, &mut last, &value).unwrap();
        let read = |at: OverflowRef| {
            let mut out = b"x".to_vec();
            overflow::read_value(store, SPACE, at, &mut out).unwrap();
            out.split_off(1)
        };
        assert!(read(at) == value);
        overflow::free_value(store, SPACE, at).unwrap();
        assert_eq!(used_pages(store), before);
        // Its pages are used again; an old row version still reads the value, from the log.
        let at_new = overflow::write_value(store, SPACE, INDEX, TRX, &mut last, &value.repeat(2)).unwrap();
        assert!(read(at) == value && read(at_new) == value.repeat(2));
        overflow::free_value(store, SPACE, at).unwrap();
        assert!(read(at_new) == value.repeat(2));
        overflow::free_value(store, SPACE, at_new).unwrap();
    }
}

#[test]
fn a_remembered_position_is_good_until_the_leaf_changes() {
    let world = World::new(1000);
    let tree = world.clustered();
    for n in 0..1000 {
        insert_row(&world.store, &tree, &key(n), &[1; 180]);
    }
    let cursor = tree.seek(&world.store, Seek::AtLeast(&key(500))).unwrap();
    let position = cursor.position();
    drop(cursor);
    let resumed = tree.resume(&world.store, position, AccessHint::Normal).unwrap().unwrap();
    assert_eq!(resumed.key().unwrap(), key(500));
    drop(resumed);
    // All around it is removed and merged: the page is free, and its position is gone with it.
    for n in (0..1000).filter(|n| n % 100 != 0) {
        remove(&world.store, &tree, &key(n));
    }
    assert!(tree.resume(&world.store, position, AccessHint::Normal).unwrap().is_none());
}

#[test]
fn a_record_that_is_too_long_is_refused_and_nothing_is_logged() {
    let world = World::new(1000);
    let tree = world.clustered();
    let before = world.store.log.reserved_lsn();
    assert!(tree.make_room(&world.store, b"key", 8161).is_err());
    let mut leaf = tree.write(&world.store, b"key").unwrap();
    let body = vec![0; 9000];
    let op = PageOp::InsertRow { slot: 0, flags: 0, stamp: Stamp::Own(TRX), key: b"key", body: &body };
    assert!(leaf.log_system(op).is_err());
    drop(leaf);
    assert_eq!(world.store.log.reserved_lsn(), before);
}
