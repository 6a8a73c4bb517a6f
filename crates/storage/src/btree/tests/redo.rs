//! Redo of the log gives the pages that the live work made, byte by byte, and every prefix of the log is a whole tree.

use std::collections::{HashMap, HashSet};

use super::*;
use crate::btree::bulk::BulkBuild;
use crate::btree::overflow;
use crate::pool::AccessHint;
use crate::recovery::redo::{Redo, RedoError};
use env::Random;

/// Work that makes every kind of record of a tree: splits on all levels, merges, a root that grows and shrinks.
fn work(world: &World, seed: u64, steps: usize) -> (Tree, Tree) {
    let (rows, entries) = (world.clustered(), world.secondary());
    let mut random = Random::seeded(seed);
    let mut live: Vec<Vec<u8>> = Vec::new();
    for _ in 0..steps {
        if live.is_empty() || random.below(5) < 3 {
            let mut key = vec![b'k'; random.below(900) as usize];
            key.extend_from_slice(&(random.below(100_000) as u32).to_be_bytes());
            if insert_row(&world.store, &rows, &key, &vec![1; random.below(1500) as usize]) {
                insert_key(&world.store, &entries, &key);
                live.push(key);
            }
        } else {
            let key = live.swap_remove(random.below(live.len() as u64) as usize);
            mark_deleted(&world.store, &rows, &key);
            assert!(remove(&world.store, &rows, &key));
            assert!(remove(&world.store, &entries, &key));
        }
    }
    rows.raise_counter(&world.store, 77).unwrap();
    (rows, entries)
}

fn pages(store: &Store) -> HashMap<PageId, Vec<u8>> {
    let bitmap = store.pool.read(PageId::new(SPACE, PageNo(0)), AccessHint::Normal).unwrap();
    let used: Vec<u32> = (0..20_000).filter(|&bit| page_format::is_used(&bitmap, bit)).collect();
    drop(bitmap);
    let page = |no| {
        let id = PageId::new(SPACE, PageNo(no));
        (id, store.pool.read(id, AccessHint::Normal).unwrap()[4..].to_vec())
    };
    used.into_iter().map(page).collect()
}

fn redo(pool: &BufferPool, lsn: Lsn, record: &Record<'_>) -> Result<(), RedoError> {
    Redo::new(pool).record(lsn, record)
}

/// A world that begins as empty as the first one did, for redo.
fn fresh() -> World {
    World::without_space(4000)
}

#[test]
fn redo_from_an_empty_space_gives_the_same_bytes() {
    let world = World::new(4000);
    let (rows, entries) = work(&world, 1, 3000);
    let mut value = vec![0u8; 50_000];
    Random::seeded(5).fill(&mut value);
    let mut last = Lsn::NONE;
    overflow::write_value(&world.store, SPACE, INDEX, TRX, &mut last, &value).unwrap();
    assert!(rows.depth(&world.store).unwrap() >= 3 && entries.depth(&world.store).unwrap() >= 2);
    let expected = pages(&world.store);
    let again = fresh();
    let records = world.records();
    assert!(records.len() > 5000);
    for (lsn, bytes) in &records {
        redo(&again.store.pool, *lsn, &Record::decode(*lsn, bytes).unwrap()).unwrap();
    }
    assert!(pages(&again.store) == expected, "redo gave other pages");
    // Once more changes nothing: every page is newer than every record.
    for (lsn, bytes) in &records {
        let record = Record::decode(*lsn, bytes).unwrap();
        if !record.parts().iter().any(|part| part.op.is_format()) {
            redo(&again.store.pool, *lsn, &record).unwrap();
        }
    }
    assert!(pages(&again.store) == expected, "redo is not idempotent");
    assert_eq!(rows.check(&again.store).unwrap(), rows.check(&world.store).unwrap());
    assert_eq!(rows.counter(&again.store).unwrap(), 77);
}

#[test]
fn every_prefix_of_the_log_is_a_whole_tree() {
    let world = World::new(4000);
    let (rows, entries) = work(&world, 2, 900);
    let again = fresh();
    let mut roots = HashSet::new();
    let mut structure = 0;
    for (lsn, bytes) in world.records() {
        let record = Record::decode(lsn, &bytes).unwrap();
        redo(&again.store.pool, lsn, &record).unwrap();
        roots.extend(record.parts().iter().map(|part| part.page.no));
        if matches!(record, Record::System(_)) {
            structure += 1;
            for tree in [&rows, &entries] {
                if roots.contains(&tree.root()) {
                    tree.check(&again.store).unwrap();
                }
            }
        }
    }
    assert!(structure > 300, "{structure}");
}

#[test]
fn a_lost_page_change_stops_redo_with_its_place() {
    let world = World::new(1000);
    let tree = world.clustered();
    for n in 0u32..3 {
        insert_row(&world.store, &tree, &n.to_be_bytes(), b"row");
    }
    let again = fresh();
    let mut refused = None;
    for (count, (lsn, bytes)) in world.records().iter().enumerate() {
        // The record before the last one does not reach the page.
        if count != 3 && refused.is_none() {
            refused = redo(&again.store.pool, *lsn, &Record::decode(*lsn, bytes).unwrap()).err();
        }
    }
    assert!(format!("{:?}", refused.unwrap()).contains("page_lsn before redo"));
}

#[test]
fn a_bulk_build_fills_its_leaves_and_is_redone() {
    let world = World::new(4000);
    let (rows, entries) = (world.clustered(), world.secondary());
    let mut build = BulkBuild::new(&world.store, &rows);
    for n in 0u32..20_000 {
        build.push_row(0, TrxId(0), Lsn::NONE, &n.to_be_bytes(), &[3; 180]).unwrap();
    }
    assert!(build.push_row(0, TrxId(0), Lsn::NONE, &5u32.to_be_bytes(), b"").is_err());
    build.finish().unwrap();
    let mut build = BulkBuild::new(&world.store, &entries);
    for n in 0u32..20_000 {
        build.push_key(0, TrxId(9), &n.to_be_bytes()).unwrap();
    }
    build.finish().unwrap();
    let check = rows.check(&world.store).unwrap();
    assert_eq!((check.records, check.empty_leaves), (20_000, 0));
    assert!(check.leaf_bytes / check.leaf_pages > 15_000, "{check:?}");
    assert_eq!(entries.check(&world.store).unwrap().records, 20_000);
    assert_eq!(entries.seek(&world.store, Seek::First).unwrap().max_trx(), TrxId(9));
    let expected = pages(&world.store);
    let again = fresh();
    for (lsn, bytes) in world.records() {
        redo(&again.store.pool, lsn, &Record::decode(lsn, &bytes).unwrap()).unwrap();
    }
    assert!(pages(&again.store) == expected, "redo gave other pages");
}
