//! Rotation, positions, purge, reset, damage.

use base::Gtid;
use binlog::{EmitError, EmitOptions, Next, PurgeError, ReadError, Start, StoppedBinlog, Wait};

use crate::replica::{Group, Replica};
use crate::world::{NewRow, Setup, World};

fn one(world: &World, id: i32) -> u64 {
    let mut trx = world.begin();
    trx.start_statement();
    world.insert(&mut trx, 0, &NewRow::small(id)).unwrap();
    world.commit(trx).unwrap().gtid.expect("an event group").seq_no
}

/// `n` groups, with a new file now and then.
fn filled(setup: Setup, n: i32) -> (World, env::SimDisk) {
    let (world, sim, _) = World::new(setup);
    fill(&world, n);
    (world, sim)
}

fn fill(world: &World, n: i32) {
    for id in 0..n {
        one(world, id);
        if id % 40 == 39 {
            world.binlog.rotate().unwrap();
        }
    }
}

/// Whether a stream that begins with this state has everything behind sequence number `have`.
fn covers(have: u64) -> impl Fn(&[Gtid]) -> bool {
    move |state: &[Gtid]| state.iter().all(|g| g.seq_no <= have)
}

#[test]
fn a_position_is_found_at_most_one_interval_before_what_is_wanted() {
    let setup = Setup { segment: 1 << 20, state_interval: 4 << 10, ..Setup::default() };
    let (world, _) = filled(setup, 400);
    for have in [0, 1, 17, 39, 40, 41, 79, 200, 333, 399, 400] {
        let found = world.binlog.lookup(&covers(have)).unwrap().expect("nothing was purged");
        let before = found.state.first().map_or(0, |g| g.seq_no);
        assert!(before <= have);
        let mut reader = world.binlog.reader(Start::At(found.position)).unwrap();
        let (mut passed, mut bytes) = (0, 0);
        let first = loop {
            match reader.next(Wait::No).unwrap() {
                Next::Group(head) if head.gtid.seq_no <= have => {
                    passed += 1;
                    bytes = head.end.offset.saturating_sub(found.position.offset);
                }
                Next::Group(head) => break Some(head.gtid.seq_no),
                Next::Rotated { .. } => {}
                Next::Nothing => break None,
            }
        };
        assert_eq!(first, (have < 400).then_some(have + 1));
        assert!(passed <= have && bytes <= 72 << 10, "{have}: {passed} groups, {bytes} bytes");
    }
}

#[test]
fn the_state_at_the_head_of_a_file_is_that_of_the_groups_before_it() {
    let (world, _) = filled(Setup { segment: 1 << 20, ..Setup::default() }, 130);
    let files = world.binlog.files();
    assert_eq!(files.len(), 4);
    for (i, file) in files.iter().enumerate() {
        let state = world.binlog.state_at(file.number).unwrap();
        assert_eq!(state.first().map_or(0, |g| g.seq_no), i as u64 * 40);
    }
    world.binlog.rotate().unwrap();
    let last = world.binlog.files().last().unwrap().number;
    assert_eq!(
        world.binlog.state_at(last).unwrap()[0].seq_no,
        130,
        "a file without a group has the newest state"
    );
}

#[test]
fn purge_moves_the_first_file_and_spares_readers() {
    let (world, sim) = filled(Setup { segment: 1 << 20, ..Setup::default() }, 130);
    let files = world.binlog.files();
    assert_eq!(world.binlog.purge_to(files[3].number + 1), Err(PurgeError::UnknownFile));
    let mut reader = world.binlog.reader(Start::Oldest).unwrap();
    assert!(matches!(reader.next(Wait::No).unwrap(), Next::Group(_)));
    assert_eq!(world.binlog.purge_to(files[2].number), Err(PurgeError::InUse { file: files[0].number }));
    assert_eq!(world.binlog.files().len(), 4);
    let mut rest =
        Replica { last: Some(Gtid { domain_id: 0, server_id: 1, seq_no: 1 }), ..Replica::default() };
    rest.follow(&mut reader);
    assert_eq!(rest.last.map(|g| g.seq_no), Some(130));
    assert_eq!(world.binlog.purge_to(files[2].number), Ok(2));
    assert_eq!(world.binlog.files().len(), 2);
    assert!(world.binlog.lookup(&covers(10)).unwrap().is_none(), "what it needs has been purged");
    assert!(world.binlog.lookup(&covers(80)).unwrap().is_some());
    let gone = world.binlog.reader(Start::At(binlog::Position { segment: files[0].number, offset: 64 }));
    assert!(matches!(gone, Err(ReadError::Gone { .. })));
    // The files go as soon as recovery does not need them, either.
    for _ in 0..2 {
        one(&world, 1000 + world.committer.positions().last().next().unwrap().seq_no as i32);
        world.engine.pool().flush_all().unwrap();
        while world.engine.purge_some(1000).unwrap() > 0 {}
        world.engine.checkpoint().unwrap();
    }
    world.engine.release_log();
    assert!(sim.content(&format!("log/{:06}.seg", files[0].number)).is_none());
    assert!(sim.content(&format!("log/{:06}.seg", files[2].number)).is_some());
}

#[test]
fn files_stay_until_they_are_purged_whatever_recovery_needs() {
    let (world, _) = filled(Setup { segment: 1 << 20, ..Setup::default() }, 130);
    for id in 2000..2003 {
        one(&world, id);
        world.engine.pool().flush_all().unwrap();
        while world.engine.purge_some(1000).unwrap() > 0 {}
        world.engine.checkpoint().unwrap();
    }
    let mut all = Replica::default();
    all.follow(&mut world.binlog.reader(Start::Oldest).unwrap());
    assert_eq!(all.last.map(|g| g.seq_no), Some(133));
}

#[test]
fn a_transaction_that_began_files_ago_keeps_them() {
    let (world, _, _) = World::new(Setup { segment: 1 << 20, ..Setup::default() });
    let mut long = world.begin();
    long.start_statement();
    world.insert(&mut long, 1, &NewRow::small(1)).unwrap();
    for id in 0..3 {
        one(&world, id);
        world.binlog.rotate().unwrap();
    }
    world.insert(&mut long, 1, &NewRow::small(2)).unwrap();
    world.commit(long).unwrap();
    world.binlog.rotate().unwrap();
    one(&world, 7);
    let files = world.binlog.files();
    world.binlog.purge_to(files[3].number).unwrap();
    for id in 2000..2003 {
        one(&world, id);
        world.engine.pool().flush_all().unwrap();
        while world.engine.purge_some(1000).unwrap() > 0 {}
        world.engine.checkpoint().unwrap();
    }
    let mut rest =
        Replica { last: Some(Gtid { domain_id: 0, server_id: 1, seq_no: 3 }), ..Replica::default() };
    rest.follow(&mut world.binlog.reader(Start::Oldest).unwrap());
    assert_eq!(rest.state["t1"].len(), 2);
}

/// A transaction fills the log's memory up to `left` bytes, then changes its first row for replicas: in between the segment may end.
/// After a crash all files before that of its commit are purged. Whether the segment ended at that row.
fn purged_behind_a_definition(left: usize) -> bool {
    const RING: usize = 128 << 10;
    let setup = Setup { ring: RING, segment: 32 << 10, ..Setup::default() };
    let (world, sim, mut specs) = World::new(setup);
    let log = world.engine.log();
    world.durable().unwrap();
    let mut trx = world.begin();
    trx.set_log_options(storage::trx::LogOptions::default());
    let (start, mut id) = (log.reserved_lsn(), 0);
    while log.reserved_lsn() - start + 300 + (left as u64) < RING as u64 {
        id += 1;
        world.insert(&mut trx, 0, &NewRow { word: vec![b'w'; 100], ..NewRow::small(id) }).unwrap();
    }
    trx.set_log_options(storage::trx::LogOptions {
        replicate: true,
        full_image: true,
        event_options: 2,
        texts_in_memory: false,
    });
    trx.start_statement();
    let before = log.reserved_lsn();
    world.insert(&mut trx, 1, &NewRow { word: vec![b'w'; 1900], ..NewRow::small(1) }).unwrap();
    let apart = log.segment_from() > before;
    world.commit(trx).unwrap();
    drop(world);
    sim.crash();
    let world = World::open(&sim, setup, &mut specs).unwrap();
    let mut reader = world.binlog.reader(Start::Oldest).unwrap();
    let file = loop {
        match reader.next(Wait::No).unwrap() {
            Next::Group(head) => break head.position.segment,
            Next::Rotated { .. } => {}
            Next::Nothing => panic!("no group"),
        }
    };
    drop(reader);
    world.binlog.purge_to(file).unwrap();
    for id in 2000..2003 {
        one(&world, id);
        world.binlog.rotate().unwrap();
        world.engine.pool().flush_all().unwrap();
        while world.engine.purge_some(1000).unwrap() > 0 {}
        world.engine.checkpoint().unwrap();
        world.engine.release_log();
    }
    let mut all = Replica::default();
    all.follow(&mut world.binlog.reader(Start::Oldest).unwrap());
    assert_eq!((all.groups, all.state["t1"].len()), (4, 1));
    apart
}

#[test]
fn a_definition_in_the_segment_before_its_row_is_kept_with_it() {
    let apart = (0..12).filter(|n| purged_behind_a_definition(n * 200)).count();
    assert!(apart > 2, "{apart} times the segment ended between a definition and its row, or behind it");
}

#[test]
fn a_reset_begins_anew_and_survives_a_crash() {
    let (world, sim, mut specs) = World::new(Setup::default());
    for id in 0..5 {
        one(&world, id);
    }
    let at = world.committer.replace_positions(commit::GtidPositions::default()).unwrap();
    world.binlog.begins_at(at);
    assert_eq!(world.binlog.files().len(), 1);
    assert_eq!(one(&world, 10), 1, "numbers begin again");
    drop(world);
    sim.crash();
    let world = World::open(&sim, Setup::default(), &mut specs).unwrap();
    assert_eq!(world.committer.positions().position_text(), "0-1-1");
    let mut all = Replica::default();
    all.follow(&mut world.binlog.reader(Start::Oldest).unwrap());
    assert_eq!(all.groups, 1);
}

#[test]
fn damage_is_told_with_its_file_and_place_and_others_go_on() {
    let setup = Setup { segment: 1 << 20, ..Setup::default() };
    let (world, sim, mut specs) = World::new(setup);
    fill(&world, 200);
    // What a new process reads of it is in files.
    world.shutdown();
    drop(world);
    sim.kill();
    let world = World::open(&sim, setup, &mut specs).unwrap();
    let files = world.binlog.files();
    let path = format!("log/{:06}.seg", files[1].number);
    let middle = sim.content(&path).unwrap().len() / 2;
    sim.flip_bit(&path, middle as u64 * 8);
    let mut reader = world.binlog.reader(Start::Oldest).unwrap();
    let mut groups = 0;
    let error = loop {
        match reader.next(Wait::No) {
            Ok(Next::Group(_)) => {
                groups += 1;
                match reader.emit(&EmitOptions::default(), &mut Group::default()) {
                    Ok(()) => {}
                    Err(EmitError::Read(e)) => break e,
                    Err(e) => panic!("{e}"),
                }
            }
            Ok(Next::Rotated { .. }) => {}
            Ok(Next::Nothing) => panic!("the damage was passed over"),
            Err(e) => break e,
        }
    };
    assert!((40..80).contains(&groups), "{groups} groups");
    assert!(error.to_string().contains(&path) && error.to_string().contains("offset"), "{error}");
    one(&world, 5000);
    let third = binlog::Position { segment: files[2].number, offset: 0 };
    let mut others =
        Replica { last: Some(Gtid { domain_id: 0, server_id: 1, seq_no: 80 }), ..Replica::default() };
    others.follow(&mut world.binlog.reader(Start::At(third)).unwrap());
    assert_eq!(others.last.map(|g| g.seq_no), Some(201));
}

#[test]
fn a_stopped_servers_files_are_read_as_they_are() {
    let (world, sim) = filled(Setup { segment: 1 << 20, ..Setup::default() }, 100);
    let state = world.state();
    drop(world);
    sim.kill();
    let stopped = StoppedBinlog::open(&*sim.disk(), "log").unwrap();
    assert_eq!(stopped.files().len(), 3);
    let mut all = Replica::default();
    all.follow(&mut stopped.reader(Start::Oldest).unwrap());
    assert_eq!((all.groups, &all.state["t0"]), (100, &state["t0"]));
    assert_eq!(all.rotations, 2);
}

#[test]
fn a_reader_from_now_on_sees_what_comes_and_waits_for_what_is_not_durable() {
    let (world, _, _) = World::new(Setup { policy: log::FlushPolicy::Lazy, ..Setup::default() });
    one(&world, 1);
    world.durable().unwrap();
    let mut reader = world.binlog.reader(Start::Newest).unwrap();
    assert_eq!(reader.next(Wait::No).unwrap(), Next::Nothing);
    one(&world, 2);
    assert_eq!(reader.next(Wait::No).unwrap(), Next::Nothing, "it is not durable");
    let Next::Group(head) = reader.next(Wait::For(std::time::Duration::from_secs(60))).unwrap() else {
        panic!("a group")
    };
    assert_eq!(head.gtid.seq_no, 2);
    reader.interrupt().interrupt();
    assert_eq!(reader.next(Wait::For(std::time::Duration::from_secs(60))).unwrap(), Next::Nothing);
}
