//! The events of single statements and transactions, and what they cost in the log.

use binlog::{EmitOptions, GroupReader, Next, Start, Wait};
use event_format::{Checksum, Event, EventKind, Rows, RowsKind, rows_flags};
use storage::trx::LogOptions;

use crate::replica::{Group, Replica};
use crate::world::{NewRow, Setup, World};

fn group(reader: &mut GroupReader, options: &EmitOptions) -> Group {
    loop {
        match reader.next(Wait::No).expect("a stream") {
            Next::Group(head) => {
                let mut group = Group { head: Some(head), ..Group::default() };
                reader.emit(options, &mut group).expect("events");
                return group;
            }
            Next::Rotated { .. } => {}
            Next::Nothing => panic!("no group"),
        }
    }
}

fn shapes(group: &Group) -> Vec<String> {
    let shape = |bytes: &Vec<u8>| match event_format::read(bytes, Checksum::Crc32).expect("an event").1 {
        Event::Gtid(_) => "gtid".to_owned(),
        Event::Annotate(a) => String::from_utf8_lossy(a.text).into_owned(),
        Event::TableMap(map) => format!("map {}", String::from_utf8_lossy(map.table)),
        Event::Rows(rows) => describe(&rows),
        Event::Xid(_) => "xid".to_owned(),
        other => panic!("{other:?}"),
    };
    group.events.iter().map(shape).collect()
}

fn describe(rows: &Rows<'_>) -> String {
    let kind = match rows.change {
        RowsKind::Write => "write",
        RowsKind::Update => "update",
        RowsKind::Delete => "delete",
    };
    let end = if rows.flags & rows_flags::STATEMENT_END != 0 { " end" } else { "" };
    format!("{kind}{end}")
}

#[test]
fn statements_have_their_text_their_maps_and_their_end() {
    let (world, _, _) = World::new(Setup::default());
    let mut reader = world.binlog.reader(Start::Oldest).unwrap();
    let mut trx = world.begin();
    trx.start_statement();
    trx.set_statement_text(b"INSERT INTO t0 ...");
    world.insert(&mut trx, 0, &NewRow::small(1)).unwrap();
    world.insert(&mut trx, 0, &NewRow::small(2)).unwrap();
    trx.start_statement();
    trx.set_statement_text(b"UPDATE t0, t1 ...");
    world.update(&mut trx, 0, 1, &NewRow { id: 1, ..NewRow::small(7) }).unwrap();
    world.insert(&mut trx, 1, &NewRow::small(5)).unwrap();
    world.update(&mut trx, 0, 2, &NewRow::small(3)).unwrap();
    // Nothing changes: no text, no event.
    trx.start_statement();
    trx.set_statement_text(b"DELETE FROM t2 ...");
    trx.start_statement();
    world.delete(&mut trx, 1, 5).unwrap();
    world.commit(trx).unwrap();
    let all = group(&mut reader, &EmitOptions::default());
    assert_eq!(
        shapes(&all),
        [
            "gtid",
            "INSERT INTO t0 ...",
            "map t0",
            "write end",
            "UPDATE t0, t1 ...",
            "map t0",
            "map t1",
            "update",
            "write",
            "update end",
            "map t1",
            "delete end",
            "xid"
        ]
    );
    let mut again = world.binlog.reader(Start::Oldest).unwrap();
    let bare = group(&mut again, &EmitOptions { annotate: false, ..EmitOptions::default() });
    let kinds = |g: &Group| g.events.iter().map(|e| e[4]).filter(|k| *k == EventKind::ANNOTATE.0).count();
    assert_eq!((kinds(&all), kinds(&bare)), (2, 0));
}

#[test]
fn what_was_rolled_back_leaves_no_event_and_nothing_left_leaves_no_gtid() {
    let (world, _, _) = World::new(Setup::default());
    let mut trx = world.begin();
    trx.start_statement();
    trx.set_statement_text(b"lost");
    world.insert(&mut trx, 0, &NewRow::small(1)).unwrap();
    trx.rollback_statement().unwrap();
    let done = world.commit(trx).unwrap();
    assert_eq!(done.gtid, None);
    let mut trx = world.begin();
    trx.set_log_options(LogOptions::default());
    world.insert(&mut trx, 0, &NewRow::small(2)).unwrap();
    assert_eq!(world.commit(trx).unwrap().gtid, None, "sql_log_bin=0");
    let mut trx = world.begin();
    trx.start_statement();
    trx.set_statement_text(b"kept");
    let savepoint = trx.savepoint();
    world.insert(&mut trx, 0, &NewRow::small(3)).unwrap();
    trx.rollback_to(savepoint).unwrap();
    world.insert(&mut trx, 0, &NewRow::small(4)).unwrap();
    world.commit(trx).unwrap();
    let mut reader = world.binlog.reader(Start::Oldest).unwrap();
    assert_eq!(
        shapes(&group(&mut reader, &EmitOptions::default())),
        ["gtid", "kept", "map t0", "write end", "xid"]
    );
    assert_eq!(reader.next(Wait::No).unwrap(), Next::Nothing);
}

#[test]
fn rows_are_split_at_the_size_that_is_asked_for() {
    let (world, _, _) = World::new(Setup::default());
    let mut trx = world.begin();
    trx.start_statement();
    for id in 0..200 {
        world.insert(&mut trx, 0, &NewRow { word: vec![b'x'; 100], ..NewRow::small(id) }).unwrap();
    }
    world.commit(trx).unwrap();
    for size in [256, 1024, 8192, 1 << 20] {
        let mut reader = world.binlog.reader(Start::Oldest).unwrap();
        let options = EmitOptions { row_event_size_max: size, ..EmitOptions::default() };
        let all = group(&mut reader, &options);
        let rows: Vec<_> = all.events.iter().filter(|e| e[4] == EventKind::WRITE_ROWS_V1.0).collect();
        // A row takes 1 + 4 + 4 + 2 + 100 + 4 bytes, the head of the event 10.
        let each = ((size - 10) / 115).max(1);
        assert_eq!(rows.len(), 200usize.div_ceil(each), "{size}");
        assert!(rows.iter().all(|e| e.len() <= size + 23));
    }
}

#[test]
fn images_have_the_columns_that_binlog_row_image_wants() {
    // MINIMAL, NOBLOB, FULL, FULL_NODUP: columns of the images of an UPDATE of `number`, and of a DELETE.
    let expected: [(&[usize], &[usize], &[usize]); 4] = [
        (&[0], &[1], &[0]),
        (&[0, 1, 2], &[0, 1, 2], &[0, 1, 2]),
        (&[0, 1, 2, 3], &[0, 1, 2, 3], &[0, 1, 2, 3]),
        (&[0, 1, 2, 3], &[1], &[0, 1, 2, 3]),
    ];
    for (image, (before, after, deleted)) in expected.into_iter().enumerate() {
        let (world, _, _) = World::new(Setup { image: image as u8, ..Setup::default() });
        let long = vec![7; 30_000];
        let mut trx = world.begin();
        trx.start_statement();
        world.insert(&mut trx, 0, &NewRow { long: long.clone(), ..NewRow::small(1) }).unwrap();
        world.commit(trx).unwrap();
        let mut trx = world.begin();
        trx.start_statement();
        world.update(&mut trx, 0, 1, &NewRow { number: Some(99), long, ..NewRow::small(1) }).unwrap();
        trx.start_statement();
        world.delete(&mut trx, 0, 1).unwrap();
        world.commit(trx).unwrap();
        let mut reader = world.binlog.reader(Start::Oldest).unwrap();
        group(&mut reader, &EmitOptions::default());
        let group = group(&mut reader, &EmitOptions::default());
        let mut columns = Vec::new();
        for bytes in &group.events {
            if let Event::Rows(rows) = event_format::read(bytes, Checksum::Crc32).unwrap().1 {
                let of = |b: event_format::Bitmap<'_>| (0..4).filter(|i| b.get(*i)).collect::<Vec<_>>();
                columns.push(of(rows.present));
                columns.extend(rows.present_after.map(of));
            }
        }
        assert_eq!(columns, [before, after, deleted], "image {image}");
    }
}

#[test]
fn a_transaction_of_many_megabytes_is_read_forwards_and_commits_in_a_few_bytes() {
    let setup = Setup { ring: 1 << 20, segment: 4 << 20, state_interval: 1 << 20, ..Setup::default() };
    let (world, sim, mut specs) = World::new(setup);
    let mut trx = world.begin();
    let word = vec![b'w'; 900];
    for round in 0..8 {
        trx.start_statement();
        trx.set_statement_text(format!("round {round}").as_bytes());
        let savepoint = trx.savepoint();
        for id in 0..1000 {
            world
                .insert(&mut trx, 0, &NewRow { word: word.clone(), ..NewRow::small(round * 1000 + id) })
                .unwrap();
        }
        if round % 3 == 2 {
            trx.rollback_to(savepoint).unwrap();
        }
    }
    let before = world.engine.log().reserved_lsn();
    world.commit(trx).unwrap();
    let bytes = world.engine.log().reserved_lsn() - before;
    assert!(bytes < 300, "{bytes} bytes for commit, GTID state and frame header");
    let state = world.state();
    assert_eq!(state["t0"].len(), 6000);
    let mut live = Replica::default();
    live.follow(&mut world.binlog.reader(Start::Oldest).unwrap());
    assert_eq!((live.texts.len(), &live.state["t0"]), (6, &state["t0"]));
    world.shutdown();
    drop(world);
    sim.kill();
    let world = World::open(&sim, setup, &mut specs).unwrap();
    let mut late = Replica::default();
    late.follow(&mut world.binlog.reader(Start::Oldest).unwrap());
    assert_eq!((late.texts, late.state), (live.texts, live.state));
}

/// Sysbench's oltp_write_only on rows of its shape: an indexed column, a plain column, a delete and an insert of one key. The texts
/// are sysbench's.
fn write_only_sizes(setup: Setup, annotated: bool) -> Vec<u64> {
    let (world, _, _) = World::new(Setup { ring: 4 << 20, segment: 64 << 20, ..setup });
    let mut random = env::Random::seeded(3);
    let mut digits = |n: usize| -> Vec<u8> {
        (0..n).map(|i| if i % 12 == 11 { b'-' } else { b'0' + random.below(10) as u8 }).collect()
    };
    let mut row =
        |id: i32, number: i32| NewRow { id, number: Some(number), word: digits(119), long: digits(59) };
    let mut trx = world.begin();
    trx.start_statement();
    let mut rows: Vec<NewRow> = (0..1000).map(|id| row(id, id)).collect();
    for row in &rows {
        world.insert(&mut trx, 0, row).unwrap();
    }
    world.commit(trx).unwrap();
    world.durable().unwrap();
    let mut sizes = Vec::new();
    let annotate = |trx: &mut storage::trx::Trx, text: String| {
        trx.start_statement();
        if annotated {
            trx.set_statement_text(text.as_bytes());
        }
    };
    for n in 0..20 {
        let before = world.engine.log().reserved_lsn();
        let mut trx = world.begin();
        let (a, b, c) = (n * 7 + 3, n * 11 + 5, n * 13 + 9);
        let text = |new: &[u8]| String::from_utf8_lossy(new).into_owned();
        annotate(&mut trx, format!("UPDATE sbtest1 SET k=k+1 WHERE id={a}"));
        rows[a as usize].number = Some(a + 1);
        world.update(&mut trx, 0, a, &rows[a as usize]).unwrap();
        rows[b as usize].word = row(b, b).word;
        let changed = &rows[b as usize];
        annotate(&mut trx, format!("UPDATE sbtest1 SET c='{}' WHERE id={b}", text(&changed.word)));
        world.update(&mut trx, 0, b, changed).unwrap();
        annotate(&mut trx, format!("DELETE FROM sbtest1 WHERE id={c}"));
        world.delete(&mut trx, 0, c).unwrap();
        let new = row(c, c + 1);
        let values = format!("({c}, {}, '{}', '{}')", c + 1, text(&new.word), text(&new.long));
        annotate(&mut trx, format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES {values}"));
        world.insert(&mut trx, 0, &new).unwrap();
        rows[c as usize] = new;
        world.commit(trx).unwrap();
        sizes.push(world.engine.log().reserved_lsn() - before);
    }
    sizes
}

#[test]
fn a_write_only_transaction_costs_the_log_what_it_did() {
    let sizes = write_only_sizes(Setup::default(), true);
    // The first one also moves the table's definition and a state record into the segment, or splits a page.
    assert_eq!(sizes[1..7], [1361; 6], "a frame header of 32 bytes included");
    assert!(sizes[7..].iter().all(|bytes| *bytes < 1500), "{sizes:?}");
}

/// L2: what an image leaves out is not in the log. The second transaction is one of those that split no page.
#[test]
fn a_row_image_that_leaves_columns_out_saves_their_bytes() {
    let bytes = |setup, annotated| write_only_sizes(setup, annotated)[1];
    let off = bytes(Setup { binlog: false, ..Setup::default() }, false);
    let image = |image, annotated| bytes(Setup { image, ..Setup::default() }, annotated);
    // MINIMAL, NOBLOB, FULL, FULL_NODUP, without and with the statements' texts.
    let rows = [0, 1, 2, 3].map(|n| image(n, false));
    let texts = [0, 1, 2, 3].map(|n| image(n, true));
    assert_eq!((off, rows, texts), (866, [920, 1045, 1150, 1164], [1131, 1256, 1361, 1375]));
    assert!(rows[0] * 10 <= off * 11, "the row events of MINIMAL cost a tenth at most");
}
