//! A tree does what a sorted map does, for any sequence of changes and any keys.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Insert(Vec<u8>, usize),
    Remove(usize),
    RemoveRange(usize, usize),
    Mark(usize),
    Seek(Vec<u8>),
    Estimate(Vec<u8>, Vec<u8>),
}

/// Few short keys that collide, and long ones that share a prefix.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => any::<u32>().prop_map(|n| n.to_be_bytes().to_vec()),
        2 => proptest::collection::vec(0u8..3, 1..6),
        2 => (any::<u16>(), 1usize..3000).prop_map(|(n, len)| {
            let mut key = vec![b'p'; len];
            key.extend_from_slice(&n.to_be_bytes());
            key
        }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (key(), 0usize..2500).prop_map(|(key, body)| Step::Insert(key, body)),
        3 => any::<usize>().prop_map(Step::Remove),
        1 => (any::<usize>(), 1usize..80).prop_map(|(from, count)| Step::RemoveRange(from, count)),
        1 => any::<usize>().prop_map(Step::Mark),
        2 => key().prop_map(Step::Seek),
        1 => (key(), key()).prop_map(|(a, b)| Step::Estimate(a, b)),
    ]
}

fn key_at(model: &BTreeMap<Vec<u8>, usize>, at: usize) -> Option<Vec<u8>> {
    model.keys().nth(at.checked_rem(model.len())?).cloned()
}

fn run(world: &World, tree: &Tree, model: &mut BTreeMap<Vec<u8>, usize>, step: Step) {
    let store = &world.store;
    match step {
        Step::Insert(key, body) => {
            let inserted = insert_row(store, tree, &key, &vec![7; body]);
            assert_eq!(inserted, !model.contains_key(&key));
            model.entry(key).or_insert(body);
        }
        Step::Remove(at) => {
            let Some(key) = key_at(model, at) else { return };
            assert!(remove(store, tree, &key));
            assert!(!remove(store, tree, &key));
            model.remove(&key);
        }
        Step::RemoveRange(from, count) => {
            let Some(start) = key_at(model, from) else { return };
            let gone: Vec<_> = model.range(start..).take(count).map(|(key, _)| key.clone()).collect();
            for key in gone {
                assert!(remove(store, tree, &key));
                model.remove(&key);
            }
        }
        Step::Mark(at) => {
            let Some(key) = key_at(model, at) else { return };
            mark_deleted(store, tree, &key);
            assert!(tree.write(store, &key).unwrap().record().unwrap().is_deleted());
        }
        Step::Seek(key) => check_seeks(store, tree, model, &key),
        Step::Estimate(a, b) => {
            let estimate = tree.estimate_range(store, Bound::Included(&a), Bound::Excluded(&b)).unwrap();
            if a >= b {
                assert_eq!(estimate, 0);
            } else {
                // Marked records count, and the guess is by the mean of two leaves.
                let exact = model.range(a..b).count() as u64;
                assert!(estimate <= exact * 20 + 400, "{estimate} for {exact}");
            }
        }
    }
}

fn check_seeks(store: &Store, tree: &Tree, model: &BTreeMap<Vec<u8>, usize>, key: &[u8]) {
    let found = |seek: Seek<'_>| {
        let cursor = tree.seek(store, seek).unwrap();
        cursor.is_valid().then(|| cursor.key().unwrap().to_vec())
    };
    let expected = |low: Bound<&[u8]>, high: Bound<&[u8]>, back: bool| {
        let mut range = model.range::<[u8], _>((low, high));
        let entry = if back { range.next_back() } else { range.next() };
        entry.map(|(key, _)| key.clone())
    };
    assert_eq!(found(Seek::AtLeast(key)), expected(Bound::Included(key), Bound::Unbounded, false));
    assert_eq!(found(Seek::Above(key)), expected(Bound::Excluded(key), Bound::Unbounded, false));
    assert_eq!(found(Seek::AtMost(key)), expected(Bound::Unbounded, Bound::Included(key), true));
    assert_eq!(found(Seek::Below(key)), expected(Bound::Unbounded, Bound::Excluded(key), true));
    let mut next = Vec::new();
    let leaf = tree.write(store, key).unwrap();
    let there_is = leaf.next_key(&mut next).unwrap();
    assert_eq!(there_is.then_some(next), expected(Bound::Excluded(key), Bound::Unbounded, false));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_is_a_sorted_map(steps in proptest::collection::vec(step(), 1..500)) {
        let world = World::new(2000);
        let tree = world.clustered();
        let mut model = BTreeMap::new();
        for step in steps {
            run(&world, &tree, &mut model, step);
        }
        let check = tree.check(&world.store).unwrap();
        prop_assert_eq!(check.records, model.len() as u64);
        let expected: Vec<_> = model.keys().cloned().collect();
        prop_assert_eq!(&keys(&world.store, &tree), &expected);
        let mut backwards = keys_backwards(&world.store, &tree);
        backwards.reverse();
        prop_assert_eq!(&backwards, &expected);
        // Every page in use is the bitmap's or the tree's; emptied and freed, only the bitmap's is left.
        prop_assert_eq!(u64::from(used_pages(&world.store)), 1 + check.leaf_pages + check.inner_pages);
        for key in &expected {
            prop_assert!(remove(&world.store, &tree, key));
        }
        let check = tree.check(&world.store).unwrap();
        prop_assert_eq!((check.records, check.levels), (0, 1));
        tree.free(&world.store).unwrap();
        prop_assert_eq!(used_pages(&world.store), 1);
    }
}
