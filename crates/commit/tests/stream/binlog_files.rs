//! Commits with a binary log in files of its own: syncs, failures of the disk, the way to the one log and back.

use base::Gtid;
use binlog::{Next, Start, Wait};
use binlog_file::IndexOptions;
use env::{Fault, Operation, Rule, SimDisk};
use log::FlushPolicy;

use crate::crash::in_files;
use crate::replica::Replica;
use crate::world::{NewRow, Outcome, Setup, World};

fn new_world(setup: Setup) -> (World, SimDisk, Vec<storage::table::TableSpec>) {
    World::new(setup)
}

fn commit_one(world: &World, id: i32) -> Outcome<commit::Done> {
    let mut trx = world.begin();
    world.insert(&mut trx, 0, &NewRow::small(id))?;
    world.commit(trx)
}

#[test]
fn a_commit_costs_two_syncs_and_with_sync_binlog_0_one() {
    for (sync_every, expected) in [(1, 2), (0, 1), (10, 1)] {
        let mut setup = in_files(1, FlushPolicy::Sync);
        setup.files.as_mut().unwrap().sync_every = sync_every;
        setup.files.as_mut().unwrap().size_max = 1 << 30;
        let (world, sim, _) = new_world(setup);
        commit_one(&world, 0).unwrap();
        let before = sim.syncs();
        for id in 1..=5 {
            commit_one(&world, id).unwrap();
        }
        assert_eq!(sim.syncs() - before, 5 * expected, "sync_binlog={sync_every}");
    }
}

#[test]
fn a_session_sees_its_commit_although_the_record_is_not_synced() {
    let (world, _, _) = new_world(in_files(1, FlushPolicy::Sync));
    commit_one(&world, 1).unwrap();
    assert_eq!(world.state()["t0"].len(), 1);
}

#[test]
fn a_failed_sync_of_the_file_is_final_and_the_next_start_decides() {
    let setup = in_files(1, FlushPolicy::Sync);
    let (world, sim, mut specs) = new_world(setup);
    commit_one(&world, 1).unwrap();
    let rule =
        |operation, fault| Rule { operation, path_prefix: "binlog.0".to_owned(), skip: 0, times: 1, fault };
    sim.add_rule(rule(Operation::Sync, Fault::Io));
    let failed = commit_one(&world, 2).unwrap_err().to_string();
    assert!(failed.contains("No commit is taken until the server is started again"), "{failed}");
    let calls = sim.calls();
    let again = commit_one(&world, 3).unwrap_err().to_string();
    assert!(again.contains("No commit is taken"), "{again}");
    assert!(world.next_file().is_err());
    assert_eq!(sim.calls(), calls, "nothing was tried again");
    drop(world);
    sim.crash();
    let world = World::open(&sim, setup, &mut specs).unwrap();
    assert!(world.notes.iter().any(|note| note.contains("prepared transaction")), "{:?}", world.notes);
    let mut replica = Replica::default();
    replica.follow(&mut *world.reader(Start::Oldest).unwrap());
    assert_eq!(world.state()["t0"], replica.state["t0"]);
    commit_one(&world, 4).unwrap();
}

#[test]
fn a_full_disk_fails_the_commit_alone() {
    let (world, sim, _) = new_world(in_files(1, FlushPolicy::Sync));
    commit_one(&world, 1).unwrap();
    sim.add_rule(Rule {
        operation: Operation::Write,
        path_prefix: "binlog.0".to_owned(),
        skip: 0,
        times: 1,
        fault: Fault::Full,
    });
    assert!(commit_one(&world, 2).is_err());
    commit_one(&world, 3).unwrap();
    let mut replica = Replica::default();
    replica.follow(&mut *world.reader(Start::Oldest).unwrap());
    let ids: Vec<i32> = replica.state["t0"].keys().copied().collect();
    assert_eq!(ids, [1, 3]);
    assert_eq!(world.state()["t0"], replica.state["t0"]);
    assert_eq!(replica.last.map(|gtid| gtid.seq_no), Some(2), "the number was given again");
}

#[test]
fn half_a_line_in_the_index_is_no_file() {
    let setup = in_files(1, FlushPolicy::Sync);
    let (world, sim, mut specs) = new_world(setup);
    commit_one(&world, 1).unwrap();
    world.next_file().unwrap();
    commit_one(&world, 2).unwrap();
    world.shutdown();
    drop(world);
    let disk = sim.disk();
    let index = disk.open("binlog.index", env::OpenMode::Existing, env::Caching::Buffered).unwrap();
    index.write_at(b"./binlog.00", index.len().unwrap()).unwrap();
    let world = World::open(&sim, setup, &mut specs).unwrap();
    let numbers: Vec<u64> = world.files.as_ref().unwrap().files().iter().map(|f| f.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    commit_one(&world, 3).unwrap();
    let mut replica = Replica::default();
    replica.follow(&mut *world.reader(Start::Oldest).unwrap());
    assert_eq!((replica.groups, replica.rotations), (3, 2));
}

#[test]
fn a_full_disk_at_any_write_of_a_new_file_leaves_the_old_one_in_use() {
    let setup = in_files(1, FlushPolicy::Sync);
    for skip in 0..8 {
        let (world, sim, mut specs) = new_world(setup);
        commit_one(&world, 1).unwrap();
        sim.add_rule(Rule {
            operation: Operation::Write,
            path_prefix: "binlog.".to_owned(),
            skip,
            times: 1,
            fault: Fault::Full,
        });
        let begun = world.next_file();
        sim.clear_rules();
        if let Err(e) = &begun {
            assert!(e.to_string().contains("the disk has no room for"), "{e}");
        }
        commit_one(&world, 2).unwrap();
        world.next_file().unwrap();
        commit_one(&world, 3).unwrap();
        let files = world.files.as_ref().unwrap().files().len();
        assert_eq!(files, if begun.is_ok() { 3 } else { 2 }, "write {skip}");
        drop(world);
        sim.crash();
        let world = World::open(&sim, setup, &mut specs).unwrap();
        let mut replica = Replica::default();
        replica.follow(&mut *world.reader(Start::Oldest).unwrap());
        assert_eq!(replica.groups, 3, "write {skip}");
        assert_eq!(world.state()["t0"], replica.state["t0"]);
        if skip == 0 {
            assert!(begun.is_err(), "the rule hits");
        }
    }
}

/// Bytes that are read to find the group behind the one with number `have`, and to come to it.
fn read_for_a_start(index: Option<IndexOptions>, have: u64) -> u64 {
    let mut setup = Setup { ring: 1 << 20, segment: 64 << 20, ..in_files(1, FlushPolicy::Lazy) };
    let options = setup.files.as_mut().unwrap();
    (options.size_max, options.index, options.sync_every) = (1 << 30, index, 0);
    let (world, sim, _) = new_world(setup);
    for id in 0..800 {
        let mut trx = world.begin();
        world.insert(&mut trx, 0, &NewRow { word: vec![b'w'; 1900], ..NewRow::small(id) }).unwrap();
        world.commit(trx).unwrap();
    }
    let files = world.files.as_ref().unwrap();
    let before = sim.read_bytes();
    let covers = |state: &[Gtid]| state.iter().all(|g| g.seq_no <= have);
    let found = files.lookup(&covers).unwrap().expect("a place");
    let mut reader = files.reader(Start::At(found.position)).unwrap();
    loop {
        match reader.next(Wait::No).unwrap() {
            Next::Group(head) if head.gtid.seq_no <= have => {}
            Next::Group(head) => break assert_eq!(head.gtid.seq_no, have + 1),
            other => panic!("{other:?}"),
        }
    }
    let (hits, misses) = files.index_use();
    assert_eq!((hits, misses), if index.is_some() { (1, 0) } else { (0, 1) });
    // By its place in the file the same group is found, with what comes before it.
    let head = files.nearest(found.position.segment, found.position.offset + 1).unwrap();
    assert!(head.0 <= found.position.offset && covers(&head.1));
    sim.read_bytes() - before
}

#[test]
fn a_start_far_back_reads_little_of_the_file() {
    const WINDOWS: u64 = 6 * (64 << 10);
    let index = IndexOptions { page_size: 4096, span_min: 16 << 10 };
    for have in [100, 399, 777] {
        let bytes = read_for_a_start(Some(index), have);
        assert!(bytes < WINDOWS, "{have}: {bytes} bytes");
    }
    assert!(read_for_a_start(None, 777) > 777 * 1900, "without an index all of it is read");
}

#[test]
fn texts_of_statements_are_in_the_file_and_not_in_the_log() {
    let text = "INSERT INTO t0 VALUES (1)".repeat(40);
    let run = |annotated: bool| {
        let (world, _, _) = new_world(in_files(1, FlushPolicy::Sync));
        commit_one(&world, 0).unwrap();
        let before = world.engine.log().reserved_lsn();
        let mut trx = world.begin();
        trx.start_statement();
        if annotated {
            trx.set_statement_text(text.as_bytes());
        }
        world.insert(&mut trx, 0, &NewRow::small(1)).unwrap();
        world.commit(trx).unwrap();
        let bytes = world.engine.log().reserved_lsn() - before;
        let mut replica = Replica::default();
        replica.follow(&mut *world.reader(Start::Oldest).unwrap());
        (bytes, replica.texts)
    };
    let (plain, none) = run(false);
    let (annotated, texts) = run(true);
    assert!(none.is_empty());
    assert_eq!(texts.concat(), text);
    assert_eq!(annotated, plain, "the log has what recovery needs");
}
