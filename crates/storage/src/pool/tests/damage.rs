//! Whatever happens to the bytes of the files, a page that is read is a page that was written, or an error says what is wrong.

use super::*;
use env::{OpenMode, RealClock};
use proptest::prelude::*;

const PAGE: u64 = PAGE_SIZE as u64;

/// Damage to one place of a file.
#[derive(Debug, Clone)]
enum Damage {
    Flip {
        bit: u64,
    },
    Zeros {
        sector: u64,
        count: u64,
    },
    Noise {
        at: u64,
        bytes: Vec<u8>,
    },
    /// A sector or a whole page lands where another belongs.
    Copy {
        from: u64,
        to: u64,
        sectors: u64,
    },
    Cut {
        len: u64,
    },
}

fn damage(len: u64) -> impl Strategy<Value = Damage> {
    let sectors = len / 512;
    prop_oneof![
        (0..len * 8).prop_map(|bit| Damage::Flip { bit }),
        (0..sectors - 40, 1..40u64).prop_map(|(sector, count)| Damage::Zeros { sector, count }),
        (0..len - 64, proptest::collection::vec(any::<u8>(), 1..64))
            .prop_map(|(at, bytes)| Damage::Noise { at, bytes }),
        (0..sectors, 0..sectors).prop_map(|(from, to)| Damage::Copy { from, to, sectors: 1 }),
        (0..len / PAGE, 0..len / PAGE).prop_map(|(from, to)| Damage::Copy {
            from: from * 32,
            to: to * 32,
            sectors: 32
        }),
        (0..len).prop_map(|len| Damage::Cut { len }),
    ]
}

fn inflict(sim: &SimDisk, path: &str, damage: &Damage) {
    let file = sim.disk().open(path, OpenMode::Existing, Caching::Buffered).unwrap();
    match damage {
        Damage::Flip { bit } => sim.flip_bit(path, *bit),
        Damage::Zeros { sector, count } => {
            file.write_at(&vec![0; *count as usize * 512], sector * 512).unwrap();
        }
        Damage::Noise { at, bytes } => file.write_at(bytes, *at).unwrap(),
        Damage::Copy { from, to, sectors } => {
            let mut bytes = vec![0; *sectors as usize * 512];
            file.read_at(&mut bytes, from * 512).unwrap();
            file.write_at(&bytes, to * 512).unwrap();
        }
        Damage::Cut { len } => file.set_len(*len).unwrap(),
    }
    file.sync_data().unwrap();
}

/// Pages 0 to 7 with value 1, then 2, flushed both times.
fn eight_pages(seed: u64) -> Rig {
    let rig = Rig::new(seed, config(32));
    for value in 1..=2 {
        for no in 0..8 {
            if value == 1 {
                rig.make(no, value)
            } else {
                rig.set(no, value)
            };
        }
        rig.pool.flush_all().unwrap();
    }
    rig
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_damaged_data_file_never_shows_as_a_page(all in proptest::collection::vec(damage(8 * PAGE), 1..4)) {
        let rig = eight_pages(41);
        // The copies in the doublewrite would heal it; here the file alone is under test.
        for no in 0..8 {
            prop_assert!(rig.pool.discard(id(no)));
        }
        let path = space::path(SPACE);
        for one in &all {
            if rig.sim.content(&path).is_some_and(|bytes| bytes.len() as u64 == 8 * PAGE) {
                inflict(&rig.sim, &path, one);
            }
        }
        for no in 0..8 {
            match rig.pool.read(id(no), AccessHint::Normal) {
                Ok(page) => prop_assert_eq!(check(&page), 2),
                // Cut off behind the pool's back: the file is shorter than it was.
                Err(PoolError::Corrupt(_) | PoolError::Missing(_) | PoolError::Disk(_)) => {}
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            }
        }
    }

    #[test]
    fn a_damaged_doublewrite_heals_a_page_or_leaves_it(
        copies in proptest::collection::vec(damage(40 * 4096), 1..3),
        torn in proptest::collection::vec(damage(8 * PAGE), 1..3),
    ) {
        let rig = eight_pages(42);
        let config = rig.pool.config().clone();
        drop(rig.pool);
        for one in &copies {
            // A cut would take the other regions as well; they are empty.
            inflict(&rig.sim, "doublewrite.morse", one);
            let file = rig.sim.disk().open("doublewrite.morse", OpenMode::Existing, Caching::Buffered).unwrap();
            file.allocate(0, 8 * 1_052_672).unwrap();
            file.sync_data().unwrap();
        }
        let path = space::path(SPACE);
        for one in torn.iter().filter(|one| !matches!(one, Damage::Cut { .. })) {
            inflict(&rig.sim, &path, one);
        }
        match Rig::on(rig.sim, config) {
            Ok(rig) => for no in 0..8 {
                match rig.pool.read(id(no), AccessHint::Normal) {
                    // The first batch's copies are older: redo brings such a page forward.
                    Ok(page) => prop_assert!((1..=2).contains(&check(&page))),
                    Err(PoolError::Corrupt(_) | PoolError::Missing(_)) => {}
                    Err(error) => return Err(TestCaseError::fail(error.to_string())),
                }
            },
            Err(PoolError::Corrupt(_)) => {}
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
    }
}

#[test]
fn without_damage_the_doublewrite_heals_every_page() {
    for no in 0..8 {
        let rig = eight_pages(43);
        let config = rig.pool.config().clone();
        drop(rig.pool);
        inflict(&rig.sim, &space::path(SPACE), &Damage::Zeros { sector: u64::from(no) * 32 + 3, count: 1 });
        let rig = Rig::on(rig.sim, config).unwrap();
        assert_eq!(rig.pool.repaired(), [id(no)]);
        assert_eq!(rig.value(no), 2);
    }
}

#[test]
fn the_same_on_a_real_disk() {
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        let disk = Arc::new(env::OsDisk::new(dir.path()));
        let log = Arc::new(FakeLog::default());
        log.reserved.store(1000, Ordering::Relaxed);
        (BufferPool::open(disk, config(32), log.clone(), Arc::new(RealClock::new())).unwrap(), log)
    };
    let (pool, log) = open();
    pool.create_space(SPACE).unwrap();
    for no in 0..100 {
        let mut page = pool.create(id(no)).unwrap();
        page.mark_dirty(log.reserved_lsn());
        fill(id(no), page.bytes_mut(), u64::from(no) + 5, log.append());
    }
    pool.flush_all().unwrap();
    drop(pool);
    let (pool, _) = open();
    for no in 0..100 {
        assert_eq!(check(&pool.read(id(no), AccessHint::Normal).unwrap()), u64::from(no) + 5);
    }
    pool.drop_space(SPACE).unwrap();
    assert!(matches!(pool.read(id(0), AccessHint::Normal), Err(PoolError::NoSpace(_))));
    assert_eq!(pool.spaces().unwrap(), []);
}
