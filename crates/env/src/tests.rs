//! Both disks keep the same promises; the simulated one also breaks where a real one may.

use super::*;

fn check_disk(disk: &dyn Disk) {
    disk.create_dir("d").unwrap();
    disk.create_dir("d").unwrap();
    let file = disk.open("d/a", OpenMode::CreateNew, Caching::Buffered).unwrap();
    assert!(file.is_empty().unwrap());
    assert!(disk.open("d/a", OpenMode::CreateNew, Caching::Buffered).is_err());
    assert!(disk.open("d/b", OpenMode::Existing, Caching::Buffered).err().unwrap().is_missing());
    file.write_at(b"hello", 3).unwrap();
    let mut buf = [9; 8];
    file.read_at(&mut buf, 0).unwrap();
    assert_eq!(&buf, b"\0\0\0hello");
    let error = file.read_at(&mut buf, 1).unwrap_err();
    assert_eq!(error.source.kind(), std::io::ErrorKind::UnexpectedEof);
    assert!(error.to_string().contains("'d/a'"), "{error}");
    file.allocate(0, 10_000).unwrap();
    assert_eq!(file.len().unwrap(), 10_000);
    file.allocate(0, 100).unwrap();
    assert_eq!(file.len().unwrap(), 10_000);
    file.set_len(5).unwrap();
    file.set_len(8).unwrap();
    file.read_at(&mut buf, 0).unwrap();
    assert_eq!(&buf, b"\0\0\0he\0\0\0");
    file.sync_data().unwrap();
    disk.rename("d/a", "d/c").unwrap();
    disk.sync_dir("d").unwrap();
    assert_eq!(disk.list("d").unwrap(), ["c"]);
    assert_eq!(disk.list("").unwrap(), ["d"]);
    assert!(disk.exists("d/c").unwrap() && !disk.exists("d/a").unwrap());
    assert!(disk.remove("d").is_err());
    disk.remove("d/c").unwrap();
    disk.remove("d").unwrap();
    assert!(disk.free_space().unwrap() > 0);
    let guard = disk.lock("lock").unwrap();
    assert!(disk.lock("lock").is_err());
    drop(guard);
    disk.lock("lock").unwrap();
}

#[test]
fn the_real_disk_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    check_disk(&OsDisk::new(dir.path()));
}

#[test]
fn the_simulated_disk_keeps_the_contract() {
    check_disk(&SimDisk::new(1));
}

#[test]
fn direct_files_take_any_buffer_and_refuse_odd_offsets() {
    let dir = tempfile::tempdir().unwrap();
    let disk = OsDisk::new(dir.path());
    let file = disk.open("a", OpenMode::Create, Caching::Direct).unwrap();
    let odd = vec![7u8; 4097];
    file.write_at(&odd[1..], 4096).unwrap();
    let mut aligned = AlignedBuf::zeroed(8192);
    file.read_at(&mut aligned, 0).unwrap();
    assert!(aligned[..4096].iter().all(|b| *b == 0) && aligned[4096..].iter().all(|b| *b == 7));
    assert_eq!(file.write_at(&odd[..4096], 1).unwrap_err().source.kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(file.write_at(&odd[..100], 0).unwrap_err().source.kind(), std::io::ErrorKind::InvalidInput);
}

/// A file "f" whose first 2 KiB are durable zeros, then overwritten with ones without a sync.
fn half_written(disk: &SimDisk) -> Arc<dyn File> {
    let file = disk.open("f", OpenMode::Create, Caching::Buffered).unwrap();
    file.write_at(&[0; 2048], 0).unwrap();
    file.sync_data().unwrap();
    disk.sync_dir("").unwrap();
    file.write_at(&[1; 2048], 0).unwrap();
    file
}

#[test]
fn a_crash_loses_keeps_or_tears_unsynced_writes_by_sector() {
    let (mut lost, mut kept, mut torn) = (0, 0, 0);
    for seed in 0..300 {
        let disk = SimDisk::new(seed);
        half_written(&disk);
        disk.crash();
        let bytes = disk.content("f").unwrap();
        for sector in bytes.chunks(512) {
            assert!(sector.iter().all(|b| *b == sector[0]), "a sector is never torn");
        }
        match bytes.iter().map(|b| usize::from(*b)).sum() {
            0 => lost += 1,
            2048 => kept += 1,
            _ => torn += 1,
        }
    }
    assert!(lost > 50 && kept > 50 && torn > 50, "lost {lost}, kept {kept}, torn {torn}");
}

#[test]
fn synced_bytes_and_names_survive_every_crash() {
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        half_written(&disk).sync_data().unwrap();
        let unsynced = disk.open("g", OpenMode::Create, Caching::Buffered).unwrap();
        unsynced.sync_data().unwrap();
        disk.crash();
        assert_eq!(disk.content("f").unwrap(), vec![1; 2048]);
        assert!(unsynced.len().is_err(), "handles die with the power");
    }
}

#[test]
fn names_live_only_after_the_directory_is_synced() {
    let survivors = |sync: bool| {
        (0..64)
            .filter(|seed| {
                let disk = SimDisk::new(*seed);
                disk.open("old", OpenMode::Create, Caching::Buffered).unwrap();
                disk.sync_dir("").unwrap();
                disk.rename("old", "new").unwrap();
                if sync {
                    disk.sync_dir("").unwrap();
                }
                disk.crash();
                assert!(disk.exists("old").unwrap() != disk.exists("new").unwrap(), "a rename is atomic");
                disk.exists("new").unwrap()
            })
            .count()
    };
    assert_eq!(survivors(true), 64);
    assert!((10..54).contains(&survivors(false)));
}

#[test]
fn a_failed_sync_drops_the_data_for_good() {
    let disk = SimDisk::new(3);
    let file = half_written(&disk);
    let other = disk.open("f", OpenMode::Existing, Caching::Buffered).unwrap();
    disk.add_rule(Rule {
        operation: Operation::Sync,
        path_prefix: "f".into(),
        skip: 0,
        times: 1,
        fault: Fault::Io,
    });
    assert!(file.sync_data().is_err());
    file.sync_data().unwrap();
    assert!(other.sync_data().is_err(), "each handle is told once");
    other.sync_data().unwrap();
    disk.open("f", OpenMode::Existing, Caching::Buffered).unwrap().sync_data().unwrap();
    assert_eq!(disk.content("f").unwrap(), vec![1; 2048], "still readable from the cache");
    disk.crash();
    assert_eq!(disk.content("f").unwrap(), vec![0; 2048], "but never on the device");
}

#[test]
fn the_power_goes_off_at_a_chosen_call() {
    let disk = SimDisk::new(4);
    let file = half_written(&disk);
    let calls = disk.calls();
    disk.crash_after(calls + 1);
    file.write_at(b"x", 0).unwrap();
    assert!(file.write_at(b"y", 0).unwrap_err().to_string().contains("simulated crash"));
    assert!(disk.open("f", OpenMode::Existing, Caching::Buffered).is_err());
    disk.crash();
    disk.open("f", OpenMode::Existing, Caching::Buffered).unwrap();
}

#[test]
fn a_kill_keeps_what_was_written() {
    let disk = SimDisk::new(5);
    half_written(&disk);
    let _guard = disk.lock("lock").unwrap();
    disk.kill();
    disk.lock("lock").unwrap();
    assert_eq!(disk.content("f").unwrap(), vec![1; 2048]);
}

#[test]
fn recorded_copies_are_what_a_power_cut_would_leave() {
    let run = |disk: &SimDisk| {
        let file = disk.open("f", OpenMode::Create, Caching::Buffered)?;
        for at in 0..20 {
            file.write_at(&[at; 700], u64::from(at) * 600)?;
            if at % 4 == 3 {
                file.sync_data()?;
                disk.sync_dir("")?;
            }
        }
        file.set_len(5000)
    };
    let disk = SimDisk::new(1);
    disk.record_at(2, 3);
    run(&disk).unwrap();
    let whole = disk.content("f");
    let copies = disk.take_recorded();
    let calls: Vec<u64> = copies.iter().map(|(calls, _)| *calls).collect();
    assert_eq!(calls, [2, 5, 8, 11, 14, 17, 20, 23, 26, 29]);
    for (calls, copy) in copies {
        for seed in 0..20 {
            let cut = SimDisk::new(seed);
            cut.crash_after(calls);
            run(&cut).unwrap_err();
            let copy = copy.fork(seed);
            assert_eq!(copy.content("f"), cut.content("f"));
            cut.crash();
            copy.crash();
            assert_eq!(copy.content("f"), cut.content("f"), "call {calls}, seed {seed}");
        }
    }
    assert_eq!(disk.content("f"), whole, "the original goes on by itself");
}

#[test]
fn rules_hit_the_chosen_calls_only() {
    let disk = SimDisk::new(6);
    let file = disk.open("data", OpenMode::Create, Caching::Buffered).unwrap();
    let rule =
        |skip, fault| Rule { operation: Operation::Write, path_prefix: "da".into(), skip, times: 1, fault };
    disk.add_rule(rule(1, Fault::Full));
    file.write_at(&[1; 1024], 0).unwrap();
    assert!(file.write_at(&[2; 1024], 0).unwrap_err().is_full());
    file.write_at(&[3; 1024], 0).unwrap();
    disk.add_rule(rule(0, Fault::HalfWrite));
    assert!(file.write_at(&[4; 1024], 0).is_err());
    disk.add_rule(rule(0, Fault::LostWrite));
    file.write_at(&[5; 1024], 0).unwrap();
    disk.add_rule(rule(0, Fault::Misdirected(1024)));
    file.write_at(&[6; 512], 0).unwrap();
    let bytes = disk.content("data").unwrap();
    assert_eq!((bytes[0], bytes[511], bytes[512], bytes[1024], bytes.len()), (4, 4, 3, 6, 1536));
}

#[test]
fn a_full_volume_refuses_growth_and_takes_overwrites() {
    let disk = SimDisk::new(7);
    disk.set_capacity(4096);
    let file = disk.open("f", OpenMode::Create, Caching::Buffered).unwrap();
    file.write_at(&[1; 4096], 0).unwrap();
    assert!(file.write_at(&[1; 1], 4096).unwrap_err().is_full());
    assert!(file.allocate(0, 8192).unwrap_err().is_full());
    file.write_at(&[2; 4096], 0).unwrap();
    assert_eq!(disk.free_space().unwrap(), 0);
}

#[test]
fn a_flipped_bit_stays() {
    let disk = SimDisk::new(8);
    half_written(&disk).sync_data().unwrap();
    disk.flip_bit("f", 8 * 100 + 7);
    disk.crash();
    assert_eq!(disk.content("f").unwrap()[100], 0x81);
}

#[test]
fn a_directory_stays_locked_when_the_lock_file_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (OsDisk::new(dir.path()), OsDisk::new(dir.path()));
    let held = first.lock("lock").unwrap();
    first.remove("lock").unwrap();
    assert!(second.lock("lock").is_err(), "somebody tidied up");
    drop(held);
    second.lock("lock").unwrap();
}
