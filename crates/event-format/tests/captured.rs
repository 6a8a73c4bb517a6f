//! Files of real servers: every event decodes, and encodes to the same bytes again.

use event_format::{
    Checksum, End, Event, EventKind, FormatDescription, GtidEvent, Header, MAGIC, Rows, RowsWriter, Stamp,
    StatusVariables, Xa, gtid_flags, gtid_flags_extra, header_flags, read, restamp, rows_flags, write,
};

const FILES: [(&str, &[u8]); 3] = [
    ("10.11", include_bytes!("fixtures/mariadb-10.11.bin")),
    ("11.8", include_bytes!("fixtures/mariadb-11.8.bin")),
    // SAVEPOINT, ROLLBACK TO, and the phases of ALTER TABLE.
    ("11.8", include_bytes!("fixtures/mariadb-11.8-phases.bin")),
];

/// Every event of a file with its offset.
fn events(file: &[u8]) -> Vec<(usize, &[u8])> {
    assert_eq!(file[..4], MAGIC);
    let mut out = Vec::new();
    let mut at = 4;
    while at < file.len() {
        let length = Header::read(&file[at..]).unwrap().length as usize;
        out.push((at, &file[at..at + length]));
        at += length;
    }
    out
}

#[test]
fn every_event_comes_back_byte_for_byte() {
    for (version, file) in FILES {
        for (at, bytes) in events(file) {
            let (header, event) =
                read(bytes, Checksum::Crc32).unwrap_or_else(|e| panic!("{version} at {at}: {e}"));
            assert!(!matches!(event, Event::Unknown(..)), "{version} at {at}: {event:?}");
            let mut again = Vec::new();
            write(&mut again, &header.stamp(), &event, Checksum::Crc32);
            let compressed = (EventKind::QUERY_COMPRESSED.0..=EventKind::DELETE_ROWS_COMPRESSED.0)
                .contains(&header.kind.0);
            if compressed {
                // Another deflate finds other bytes for the same content.
                assert_eq!(read(&again, Checksum::Crc32).unwrap().1, event, "{version} at {at}");
            } else {
                assert_eq!(again, bytes, "{version} at {at}: {event:?}");
            }
        }
    }
}

/// The decoded events of a kind.
fn of_kind(file: &'static [u8], kind: EventKind) -> Vec<(Header, Event<'static>)> {
    let decoded = events(file).into_iter().map(|(_, bytes)| read(bytes, Checksum::Crc32).unwrap());
    decoded.filter(|(header, _)| header.kind == kind).collect()
}

#[test]
fn our_format_description_is_the_servers() {
    for (version, file) in FILES {
        let bytes = events(file)[0].1;
        let (header, Event::FormatDescription(theirs)) = read(bytes, Checksum::None).unwrap() else {
            panic!("{version} does not begin with a format description")
        };
        assert_eq!((bytes.len(), theirs.checksum), (252, Some(Checksum::Crc32)), "{version}");
        let name = str::from_utf8(theirs.server_version).unwrap();
        assert!(name.starts_with(version), "{name}");
        let ours = FormatDescription::new(name, theirs.created, Checksum::Crc32);
        let mut again = Vec::new();
        let stamp = Stamp { end: End::Behind(4), ..header.stamp() };
        write(&mut again, &stamp, &Event::FormatDescription(ours), Checksum::None);
        assert_eq!(again, bytes, "{version}");
    }
}

#[test]
fn the_flag_of_an_open_file_is_not_in_its_checksum() {
    let mut open = events(FILES[1].1)[0].1.to_vec();
    open[17] |= header_flags::IN_USE as u8;
    assert!(read(&open, Checksum::None).is_ok());
    open[17] ^= header_flags::ARTIFICIAL as u8;
    assert_eq!(read(&open, Checksum::None).unwrap_err().field, "checksum");
    restamp(&mut open, 0, header_flags::ARTIFICIAL, Checksum::Crc32);
    assert_eq!(read(&open, Checksum::None).map(|(header, _)| header.flags), Ok(header_flags::ARTIFICIAL));
}

#[test]
fn heads_of_groups_say_what_follows() {
    let groups: Vec<GtidEvent<'_>> = of_kind(FILES[1].1, EventKind::GTID)
        .into_iter()
        .map(|(_, event)| match event {
            Event::Gtid(gtid) => gtid,
            other => panic!("{other:?}"),
        })
        .collect();
    let xa = Xa { format_id: 7, gtrid: b"x1", bqual: b"b1" };
    let prepared = groups.iter().find(|g| g.flags == 0x4c).unwrap();
    assert_eq!((prepared.xa, prepared.flags_extra, prepared.extra_engines), (Some(xa), 0x11, 0xff));
    let committed = groups.iter().find(|g| g.flags & gtid_flags::COMPLETED_XA != 0).unwrap();
    assert_eq!((committed.xa, committed.flags, committed.thread_id), (Some(xa), 0x8d, prepared.thread_id));
    let alter = groups.iter().find(|g| g.flags_extra & gtid_flags_extra::COMMIT_ALTER != 0).unwrap();
    let start = groups.iter().find(|g| g.flags_extra & gtid_flags_extra::START_ALTER != 0).unwrap();
    assert_eq!(alter.start_alter, start.seq_no);
    assert!(groups.iter().any(|g| g.domain_id == 3 && g.seq_no == 1));
}

#[test]
fn status_variables_come_back_in_the_order_in_which_they_stand() {
    for (version, file) in FILES.into_iter().take(2) {
        let mut kinds = std::collections::BTreeSet::new();
        for (_, event) in of_kind(file, EventKind::QUERY) {
            let Event::Query(query) = event else { panic!("{event:?}") };
            let mut again = Vec::new();
            for variable in StatusVariables::new(query.status) {
                let variable = variable.unwrap();
                kinds.insert(query.status[again.len()]);
                variable.encode(&mut again);
            }
            assert_eq!(again, query.status, "{version}: {}", String::from_utf8_lossy(&query.sql));
        }
        for kind in [0, 1, 3, 4, 6, 7, 11, 129, 130] {
            assert!(kinds.contains(&kind), "{version} wrote no status variable {kind}: {kinds:?}");
        }
    }
}

#[test]
fn images_hold_the_columns_that_binlog_row_image_asks_for() {
    let mut maps = std::collections::HashMap::new();
    let mut seen = Vec::new();
    for (_, bytes) in events(FILES[1].1) {
        match read(bytes, Checksum::Crc32).unwrap().1 {
            Event::TableMap(map) => {
                maps.insert(map.table_id, map.columns().unwrap());
            }
            Event::Rows(rows) => {
                for change in rows.changes(&maps[&rows.table_id]).unwrap() {
                    let change = change.unwrap();
                    let columns = |image: &Option<event_format::Image<'_>>| {
                        image.as_ref().map(|i| i.columns.iter().filter(|c| c.is_some()).count())
                    };
                    seen.push((rows.width, columns(&change.before), columns(&change.after)));
                }
            }
            _ => {}
        }
    }
    for wanted in [
        (30, None, Some(30)),
        (30, Some(30), Some(30)),
        (30, Some(1), Some(1)),
        (30, Some(1), None),
        (30, None, Some(2)),
        (30, Some(26), Some(26)),
        (31, Some(31), Some(31)),
        (31, Some(31), None),
    ] {
        assert!(seen.contains(&wanted), "{wanted:?} in {seen:?}");
    }
}

#[test]
fn rows_written_image_by_image_are_the_servers_event() {
    for (header, event) in of_kind(FILES[1].1, EventKind::WRITE_ROWS_V1) {
        let Event::Rows(rows) = event else { panic!("{event:?}") };
        let mut out = vec![1, 2, 3];
        let head = Rows {
            images: Default::default(),
            flags: rows.flags & !rows_flags::STATEMENT_END,
            ..rows.clone()
        };
        let writer = RowsWriter::begin(&mut out, &header.stamp(), &head);
        out.extend_from_slice(&rows.images);
        assert_eq!(writer.images_len(&out), rows.images.len());
        let length = writer.finish(&mut out, rows.flags & rows_flags::STATEMENT_END != 0, Checksum::Crc32);
        let mut whole = Vec::new();
        write(&mut whole, &header.stamp(), &Event::Rows(rows), Checksum::Crc32);
        assert_eq!((&out[3..], length), (&whole[..], whole.len()));
    }
}
