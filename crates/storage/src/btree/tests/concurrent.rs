//! Many threads on one tree: nothing is lost, nothing deadlocks, scans see order.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use env::Random;

const THREADS: u32 = 4;

fn key(thread: u32, n: u32, long: bool) -> Vec<u8> {
    let mut key = (n * THREADS + thread).to_be_bytes().to_vec();
    if long {
        key.resize(200, b'x');
    }
    key
}

/// Each thread inserts and removes keys of its own all over the tree; what it left must be there.
fn write_own_keys(store: &Store, tree: &Tree, thread: u32, steps: u32, long: bool) -> Vec<Vec<u8>> {
    let mut random = Random::seeded(u64::from(thread));
    let mut live = std::collections::BTreeSet::new();
    for step in 0..steps {
        // Grow in the first half, shrink in the second, so that splits and merges meet.
        let grow = if step < steps / 2 { 8 } else { 2 };
        let n = random.below(600) as u32;
        if random.below(10) < grow {
            assert_eq!(insert_row(store, tree, &key(thread, n, long), &[5; 300]), live.insert(n));
        } else {
            assert_eq!(remove(store, tree, &key(thread, n, long)), live.remove(&n));
        }
    }
    live.into_iter().map(|n| key(thread, n, long)).collect()
}

fn scan(store: &Store, tree: &Tree, back: bool) {
    let mut cursor = tree.seek(store, if back { Seek::Last } else { Seek::First }).unwrap();
    let mut previous: Option<Vec<u8>> = None;
    while cursor.is_valid() {
        let key = cursor.key().unwrap().to_vec();
        if let Some(previous) = previous {
            assert!(if back { key < previous } else { key > previous });
        }
        previous = Some(key);
        let _ = if back { cursor.move_prev().unwrap() } else { cursor.move_next().unwrap() };
    }
}

fn stress(long: bool, steps: u32) {
    // A pool that holds less than the tree, so that pages come and go meanwhile.
    let world = World::new(256);
    let tree = world.clustered();
    let done = AtomicBool::new(false);
    let mut expected: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let (store, tree, done) = (&world.store, &tree, &done);
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || write_own_keys(store, tree, thread, steps, long)))
            .collect();
        let readers: Vec<_> = [false, true]
            .into_iter()
            .map(|back| {
                scope.spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        scan(store, tree, back);
                    }
                })
            })
            .collect();
        let checker = scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                tree.check(store).unwrap();
            }
        });
        let left = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        checker.join().unwrap();
        left
    });
    expected.sort();
    tree.check(&world.store).unwrap();
    assert_eq!(keys(&world.store, &tree), expected);
    let mut backwards = keys_backwards(&world.store, &tree);
    backwards.reverse();
    assert_eq!(backwards, expected);
}

#[test]
fn writers_scans_in_both_directions_and_the_verifier_run_together() {
    stress(false, 6000);
}

#[test]
fn long_keys_make_deep_trees_that_grow_and_shrink_under_load() {
    stress(true, 6000);
}

/// The way left when the neighbour is latched: the cursor lets go, waits, and sees what came in below it meanwhile.
#[test]
fn a_scan_to_the_left_that_had_to_wait_misses_nothing() {
    let world = World::new(256);
    let (store, tree) = (&world.store, world.clustered());
    for n in 0..1000u32 {
        insert_row(store, &tree, &(n * 10).to_be_bytes(), &[5; 300]);
    }
    // The first key of a leaf in the middle, which is the separator, and its predecessor on the leaf before.
    let mut cursor = tree.seek(store, Seek::AtLeast(&5000u32.to_be_bytes())).unwrap();
    while cursor.slot() != 0 {
        cursor.move_next().unwrap();
    }
    let first = u32::from_be_bytes(cursor.key().unwrap().try_into().unwrap());
    drop(cursor);
    let before = first - 10;
    // Without that key, one that is above it and below the leaf's next belongs at the front of the right leaf.
    remove(store, &tree, &first.to_be_bytes());
    let (first, between) = (first + 10, first + 1);
    let left = tree.write(store, &before.to_be_bytes()).unwrap();
    let (go, begun) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let scan = scope.spawn(|| {
            let mut cursor = tree.seek(store, Seek::AtLeast(&first.to_be_bytes())).unwrap();
            assert_eq!(cursor.slot(), 0);
            go.send(()).unwrap();
            cursor.move_prev().unwrap();
            cursor.key().unwrap().to_vec()
        });
        begun.recv().unwrap();
        // This latches the right leaf, which the scan gives up only when it waits for the left one.
        insert_row(store, &tree, &between.to_be_bytes(), b"between");
        drop(left);
        assert_eq!(scan.join().unwrap(), between.to_be_bytes());
    });
}
