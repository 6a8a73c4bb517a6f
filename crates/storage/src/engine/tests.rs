//! Opening, closing and refusing data directories.

use std::sync::Arc;
use std::time::Duration;

use base::{Gtid, SpaceId};
use env::{Clock, Disk, ManualClock, OsDisk, RealClock, SimDisk};
use log_format::record::GtidState;

use super::*;
use crate::btree::TreeKind;

fn config() -> EngineConfig {
    EngineConfig {
        log_ring_size: 64 << 10,
        log_segment_size: 256 << 10,
        background: false,
        ..EngineConfig::with_frames(64)
    }
}

fn open(sim: &SimDisk) -> Result<Arc<Engine>, EngineError> {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(Duration::from_secs(1_800_000_000)));
    Engine::open(config(), sim.disk(), clock)
}

#[test]
fn a_clean_shutdown_leaves_nothing_to_redo() {
    let sim = SimDisk::new(1);
    let engine = open(&sim).unwrap();
    assert!(engine.report().is_new);
    let uuid = engine.server_uuid();
    let space = engine.create_space().unwrap();
    let (index, root) = engine.create_tree(space, TreeKind::Clustered).unwrap();
    assert_eq!((space, index, root), (SpaceId(1), IndexId(FIRST_USER_ID), base::PageNo(1)));
    engine.start(engine.clone()).unwrap();
    engine.shutdown(Shutdown::Fast).unwrap();
    drop(engine);
    let engine = open(&sim).unwrap();
    let report = engine.report();
    assert!(report.was_clean && !report.is_new);
    assert_eq!(report.recovered.records, 1, "the Checkpoint record alone");
    assert_eq!(engine.server_uuid(), uuid);
    assert_eq!(engine.create_space().unwrap(), SpaceId(2));
    assert_eq!(engine.new_index_id(), IndexId(FIRST_USER_ID + 1));
}

#[test]
fn a_crash_before_the_first_checkpoint_after_a_clean_shutdown_is_not_clean() {
    for killed in [true, false] {
        let sim = SimDisk::new(1);
        let engine = open(&sim).unwrap();
        engine.start(engine.clone()).unwrap();
        engine.shutdown(Shutdown::Fast).unwrap();
        drop(engine);
        let engine = open(&sim).unwrap();
        assert!(engine.report().was_clean);
        engine.create_space().unwrap();
        engine.log().wait_durable(engine.log().ready_lsn()).unwrap();
        drop(engine);
        if killed {
            sim.kill()
        } else {
            sim.crash()
        }
        assert!(!open(&sim).unwrap().report().was_clean, "killed: {killed}");
    }
}

#[test]
fn a_shutdown_of_the_log_alone_recovers() {
    let sim = SimDisk::new(1);
    let engine = open(&sim).unwrap();
    let space = engine.create_space().unwrap();
    engine.shutdown(Shutdown::LogOnly).unwrap();
    drop(engine);
    sim.crash();
    let engine = open(&sim).unwrap();
    assert!(!engine.report().was_clean);
    assert!(engine.report().recovered.records > 1);
    let (_, root) = engine.create_tree(space, TreeKind::Secondary).unwrap();
    assert_eq!(root, base::PageNo(1));
}

#[test]
fn two_engines_cannot_have_one_directory() {
    let sim = SimDisk::new(1);
    let first = open(&sim).unwrap();
    assert!(matches!(open(&sim), Err(EngineError::Disk(_))));
    drop(first);
    open(&sim).unwrap();
}

#[test]
fn data_without_a_control_file_is_not_overwritten() {
    let sim = SimDisk::new(1);
    open(&sim).unwrap().shutdown(Shutdown::Fast).unwrap();
    sim.remove("morse.control").unwrap();
    let Err(EngineError::Directory(why)) = open(&sim) else { panic!("must be refused") };
    assert!(why.contains("no control file"), "{why}");
}

#[test]
fn an_interrupted_first_start_is_done_anew() {
    let calls = {
        let sim = SimDisk::new(1);
        drop(open(&sim).unwrap());
        sim.calls()
    };
    for call in 0..calls {
        let sim = SimDisk::new(call);
        sim.crash_after(call);
        assert!(open(&sim).is_err());
        sim.crash();
        let engine = open(&sim).unwrap_or_else(|e| panic!("crash after call {call}: {e}"));
        engine.create_tree(DICTIONARY_SPACE, TreeKind::Clustered).unwrap();
    }
}

#[test]
fn spaces_that_nobody_names_are_removed() {
    let sim = SimDisk::new(1);
    let engine = open(&sim).unwrap();
    let spaces: Vec<_> = (0..4).map(|_| engine.create_space().unwrap()).collect();
    engine.drop_space(spaces[0]).unwrap();
    engine.shutdown(Shutdown::LogOnly).unwrap();
    drop(engine);
    let engine = open(&sim).unwrap();
    assert_eq!(engine.remove_orphan_spaces(&[spaces[2]]).unwrap(), [spaces[1], spaces[3]]);
    assert_eq!(engine.pool().spaces().unwrap(), [DICTIONARY_SPACE, spaces[2]]);
    assert_eq!(engine.create_space().unwrap(), SpaceId(5), "numbers do not come back");
}

#[test]
fn checkpoints_carry_gtids_and_the_callers_bytes() {
    let sim = SimDisk::new(1);
    let engine = open(&sim).unwrap();
    let gtid = Gtid { domain_id: 0, server_id: 1, seq_no: 42 };
    engine.set_gtid_source(move || GtidState { gtids: vec![gtid], ..GtidState::default() });
    engine.set_checkpoint_extension(|| b"dictionary version 3".to_vec());
    engine.create_space().unwrap();
    engine.checkpoint().unwrap();
    drop(engine);
    sim.crash();
    let engine = open(&sim).unwrap();
    assert_eq!(engine.report().recovered.gtids, [gtid]);
    assert_eq!(engine.report().recovered.extension, b"dictionary version 3");
    // Without new sources the facts of the start are carried on.
    engine.create_space().unwrap();
    engine.checkpoint().unwrap();
    drop(engine);
    let engine = open(&sim).unwrap();
    assert_eq!(engine.report().recovered.gtids, [gtid]);
}

#[test]
fn checkpoints_let_go_of_old_segments_and_do_nothing_when_nothing_happened() {
    let sim = SimDisk::new(1);
    let engine = open(&sim).unwrap();
    engine.start(engine.clone()).unwrap();
    for _ in 0..4 {
        engine.log().rotate().unwrap();
        engine.create_space().unwrap();
        engine.pool().flush_all().unwrap();
        engine.purge_some(1).unwrap();
        engine.checkpoint().unwrap();
    }
    let taken = engine.checkpoint_state().0;
    engine.checkpoint().unwrap();
    assert_eq!(engine.checkpoint_state().0, taken);
    let kept = engine.log().segments();
    assert!(kept.len() <= 3 && kept[0].number > 1, "{kept:?}");
}

#[test]
fn a_segment_that_the_older_block_alone_needs_goes_soon() {
    let sim = SimDisk::new(1);
    let engine = open(&sim).unwrap();
    engine.start(engine.clone()).unwrap();
    let settle = |engine: &Engine| {
        engine.pool().flush_all().unwrap();
        engine.purge_some(1).unwrap();
    };
    let space = engine.create_space().unwrap();
    settle(&engine);
    engine.checkpoint().unwrap();
    engine.checkpoint().unwrap();
    // More than a segment, then one checkpoint: the older block still needs all of it.
    while engine.log().segments().len() < 4 {
        engine.create_tree(space, TreeKind::Secondary).unwrap();
    }
    settle(&engine);
    engine.checkpoint().unwrap();
    assert!(engine.log().segments().len() >= 4);
    let taken = engine.checkpoint_state().0;
    engine.create_tree(space, TreeKind::Secondary).unwrap();
    settle(&engine);
    engine.checkpoint_if_due().unwrap();
    assert_eq!(engine.checkpoint_state().0, taken + 1, "the log written since is far below what is due");
    assert!(engine.log().segments().len() <= 2, "{:?}", engine.log().segments());
    engine.create_tree(space, TreeKind::Secondary).unwrap();
    engine.checkpoint_if_due().unwrap();
    assert_eq!(engine.checkpoint_state().0, taken + 1, "nothing waits any more");
}

#[test]
fn the_older_control_block_will_do_as_well() {
    let sim = SimDisk::new(1);
    let engine = open(&sim).unwrap();
    engine.start(engine.clone()).unwrap();
    let mut spaces = vec![DICTIONARY_SPACE];
    for _ in 0..5 {
        spaces.push(engine.create_space().unwrap());
        engine.log().rotate().unwrap();
        engine.purge_some(1).unwrap();
        engine.pool().flush_all().unwrap();
        engine.checkpoint().unwrap();
    }
    let newest = engine.checkpoint_state().0;
    drop(engine);
    sim.kill();
    // The first block and five checkpoints: the newest has sequence 6, in the first half of the file.
    assert_eq!(newest, 5);
    sim.flip_bit("morse.control", 8 * 100);
    let engine = open(&sim).unwrap();
    assert_eq!(engine.pool().spaces().unwrap(), spaces);
    for space in &spaces[1..] {
        engine.create_tree(*space, TreeKind::Secondary).unwrap();
    }
}

#[test]
fn a_real_directory_starts_with_its_threads_and_stops() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(RealClock::new());
    let config = EngineConfig { background: true, ..EngineConfig::with_frames(256) };
    let disk = || Arc::new(OsDisk::new(directory.path())) as Arc<dyn Disk>;
    let engine = Engine::open(config.clone(), disk(), clock.clone()).unwrap();
    engine.start(Arc::clone(&engine) as Arc<dyn TableSource>).unwrap();
    engine.create_space().unwrap();
    engine.shutdown(Shutdown::Fast).unwrap();
    assert_eq!(engine.take_background_errors(), Vec::<String>::new());
    drop(engine);
    let engine = Engine::open(config, disk(), clock).unwrap();
    assert!(engine.report().was_clean);
}
