//! Reading, writing, evicting, dropping: what a user of the pool sees.

use super::*;
use env::{Fault, Operation, Rule};

#[test]
fn a_page_is_read_once_and_found_in_memory_after_that() {
    let rig = Rig::new(1, config(64));
    rig.make(3, 33);
    rig.pool.flush_all().unwrap();
    assert!(rig.pool.discard(id(3)));
    let before = rig.pool.counters();
    assert_eq!((rig.value(3), rig.value(3)), (33, 33));
    let after = rig.pool.counters();
    assert_eq!(after.reads - before.reads, 1);
    assert_eq!(after.read_requests - before.read_requests, 2);
    assert_eq!((after.pages_data, after.pages_free, after.pages_misc), (1, 63, 0));
}

#[test]
fn many_more_pages_than_frames_go_through_the_pool() {
    let rig = Rig::new(2, config(32));
    for no in 0..500 {
        rig.make(no, u64::from(no) * 3);
    }
    for no in 0..500 {
        assert_eq!(rig.value(no), u64::from(no) * 3);
    }
    let counters = rig.pool.counters();
    assert!(counters.pages_evicted >= 468 && counters.reads >= 468, "{counters:?}");
    assert!(counters.wait_free > 0, "nobody else wrote the dirty pages: {counters:?}");
    rig.pool.flush_all().unwrap();
    assert_eq!(rig.pool.counters().pages_dirty, 0);
}

#[test]
fn the_cleaner_keeps_frames_free_so_that_nobody_waits() {
    let rig = Rig::new(3, config(256));
    for no in 0..2000 {
        rig.make(no, 1);
        if no % 8 == 0 {
            rig.pool.clean_once().unwrap();
        }
    }
    let counters = rig.pool.counters();
    assert_eq!(counters.wait_free, 0, "{counters:?}");
    assert!(counters.pages_free >= 8, "{counters:?}");
}

#[test]
fn a_page_that_was_never_written_is_missing() {
    let rig = Rig::new(4, config(32));
    assert!(matches!(rig.pool.read(id(2), AccessHint::Normal), Err(PoolError::Missing(p)) if p == id(2)));
    assert!(matches!(rig.pool.read(id(9999), AccessHint::Normal), Err(PoolError::Missing(_))));
    let other = PageId::new(SpaceId(77), PageNo(0));
    assert!(matches!(rig.pool.read(other, AccessHint::Normal), Err(PoolError::NoSpace(SpaceId(77)))));
    assert!(matches!(rig.pool.create(other), Err(PoolError::NoSpace(SpaceId(77)))));
    assert_eq!(rig.pool.counters().pages_free, 32, "the frames came back");
}

#[test]
fn a_flipped_bit_or_a_page_in_the_wrong_place_is_corruption() {
    let rig = Rig::new(5, config(32));
    for no in 0..4 {
        rig.make(no, 7);
    }
    rig.pool.flush_all().unwrap();
    for no in 0..4 {
        assert!(rig.pool.discard(id(no)));
    }
    rig.sim.flip_bit(&space::path(SPACE), (2 * PAGE_SIZE as u64 + 5000) * 8);
    let Err(PoolError::Corrupt(found)) = rig.pool.read(id(2), AccessHint::Normal) else {
        panic!("not found")
    };
    assert_eq!((found.field, found.place.as_str()), ("page checksum", "spaces/000001.morse, page 1:2"));
    assert_eq!(rig.value(1), 7);

    // The write of page 0 lands on page 3.
    let shift = Fault::Misdirected(3 * PAGE_SIZE as u64);
    let prefix = "spaces".to_owned();
    rig.set(0, 8);
    rig.sim.add_rule(Rule {
        operation: Operation::Write,
        path_prefix: prefix,
        skip: 0,
        times: 1,
        fault: shift,
    });
    rig.pool.flush_all().unwrap();
    let Err(PoolError::Corrupt(found)) = rig.pool.read(id(3), AccessHint::Normal) else {
        panic!("not found")
    };
    assert_eq!(
        (found.field, found.expected.as_str(), found.found.as_str()),
        ("page id", "page 1:3", "page 1:0")
    );
}

#[test]
fn try_latches_do_not_wait() {
    let rig = Rig::new(6, config(32));
    rig.make(1, 1);
    let reader = rig.pool.read(id(1), AccessHint::Normal).unwrap();
    assert!(rig.pool.try_write(id(1)).unwrap().is_none());
    assert!(rig.pool.try_read(id(1)).unwrap().is_some());
    drop(reader);
    let writer = rig.pool.try_write(id(1)).unwrap().unwrap();
    assert!(rig.pool.try_read(id(1)).unwrap().is_none());
    let reader = writer.downgrade();
    assert!(rig.pool.try_read(id(1)).unwrap().is_some());
    assert!(!rig.pool.discard(id(1)));
    drop(reader);
}

#[test]
fn when_every_frame_is_latched_a_request_fails_clearly() {
    let rig = Rig::new(7, config(4));
    let held: Vec<_> = (0..4).map(|no| rig.pool.create(id(no)).unwrap()).collect();
    let error = rig.pool.create(id(4)).unwrap_err();
    assert!(matches!(error, PoolError::NoFreeFrame), "{error}");
    drop(held);
    rig.make(4, 4);
    assert_eq!(rig.value(4), 4);
}

#[test]
fn a_dropped_space_takes_its_dirty_pages_with_it() {
    let rig = Rig::new(8, config(64));
    let other = SpaceId(2);
    rig.pool.create_space(other).unwrap();
    for no in 0..10 {
        rig.make(no, 1);
        rig.change(rig.pool.create(PageId::new(other, PageNo(no))).unwrap(), 2);
    }
    assert_eq!(rig.pool.resident_pages(other), 10);
    rig.pool.drop_space(other).unwrap();
    assert_eq!(rig.pool.resident_pages(other), 0);
    assert_eq!(rig.pool.counters().pages_dirty, 10);
    assert_eq!(rig.pool.spaces().unwrap(), [SPACE]);
    assert!(matches!(
        rig.pool.read(PageId::new(other, PageNo(0)), AccessHint::Normal),
        Err(PoolError::NoSpace(_))
    ));
    rig.pool.drop_space(other).unwrap();
    rig.pool.flush_all().unwrap();
    assert_eq!(rig.pool.counters().pages_flushed, 10);
}

#[test]
fn more_spaces_than_open_files() {
    let rig = Rig::new(9, PoolConfig { open_files: 4, ..config(64) });
    for space in 2..40 {
        rig.pool.create_space(SpaceId(space)).unwrap();
        rig.change(rig.pool.create(PageId::new(SpaceId(space), PageNo(0))).unwrap(), u64::from(space));
        if space % 5 == 0 {
            rig.pool.flush_all().unwrap();
        }
    }
    rig.pool.flush_all().unwrap();
    let rig = rig.crash();
    for space in 2..40 {
        let page = rig.pool.read(PageId::new(SpaceId(space), PageNo(0)), AccessHint::Normal).unwrap();
        assert_eq!(check(&page), u64::from(space));
    }
}
