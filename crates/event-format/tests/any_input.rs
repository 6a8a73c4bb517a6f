//! No input panics a decoder (E1), and what decodes encodes to what decodes the same (E3).

use event_format::{
    Checksum, Event, EventKind, Header, StatusVariables, crc32, metadata, read, semi_sync, write,
};
use proptest::prelude::*;

/// Everything that can be read of an event.
fn read_everything(bytes: &[u8], checksum: Checksum) {
    let Ok((header, event)) = read(bytes, checksum) else { return };
    let mut again = Vec::new();
    write(&mut again, &header.stamp(), &event, checksum);
    if !matches!(event, Event::FormatDescription(_)) {
        // NaN seeds and the like do not exist: events compare by their bytes.
        assert_eq!(read(&again, checksum).map(|(_, e)| e), Ok(event.clone()));
    }
    match event {
        Event::Query(query) => {
            let _ = StatusVariables::new(query.status).count();
        }
        Event::TableMap(map) => {
            let _ = map.optional_metadata();
        }
        _ => {}
    }
}

/// A whole event of that kind around a body.
fn whole(kind: u8, body: &[u8], checksum: Checksum) -> Vec<u8> {
    let mut out = Vec::new();
    event_format::write_opaque(&mut out, &event_format::Stamp::default(), EventKind(kind), body, checksum);
    out
}

const KINDS: [u8; 31] = [
    2, 3, 4, 5, 9, 11, 13, 14, 15, 16, 17, 18, 19, 23, 24, 25, 26, 27, 30, 31, 32, 38, 160, 161, 162, 163,
    164, 165, 166, 167, 171,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_everything(&bytes, Checksum::None);
        read_everything(&bytes, Checksum::Crc32);
        let _ = Header::read(&bytes);
        let _ = semi_sync::split_prefix(&bytes);
        let _ = semi_sync::Ack::decode(&bytes);
        let _ = event_format::compressed::decompress(&bytes);
    }

    #[test]
    fn any_body_of_every_kind(kind in prop::sample::select(&KINDS[..]), body in prop::collection::vec(any::<u8>(), 0..120)) {
        read_everything(&whole(kind, &body, Checksum::Crc32), Checksum::Crc32);
    }

    /// Bodies of small numbers get further into the decoders.
    #[test]
    fn small_numbers(kind in prop::sample::select(&KINDS[..]), body in prop::collection::vec(0u8..8, 0..120)) {
        read_everything(&whole(kind, &body, Checksum::None), Checksum::None);
    }

    /// A captured event with bytes changed, its checksum made right again.
    #[test]
    fn captured_events_with_changed_bytes(pick in any::<prop::sample::Index>(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let file = &include_bytes!("fixtures/mariadb-11.8.bin")[4..];
        let mut starts = vec![0];
        while let Some(at) = starts.last().filter(|at| **at < file.len()) {
            starts.push(at + Header::read(&file[*at..]).unwrap().length as usize);
        }
        let i = pick.index(starts.len() - 1);
        let mut event = file[starts[i]..starts[i + 1]].to_vec();
        for (at, byte) in changes {
            let at = Header::LEN + at.index(event.len() - Header::LEN);
            event[at] = byte;
        }
        let body_end = event.len() - 4;
        let crc = crc32(&event[..body_end]);
        event[body_end..].copy_from_slice(&crc.to_le_bytes());
        read_everything(&event, Checksum::Crc32);
        rows_of(&event[Header::LEN..body_end]);
    }
}

/// The bytes as a rows event's body over columns of every type.
fn rows_of(body: &[u8]) {
    let codes: Vec<u8> = (0..=255).collect();
    for kind in [EventKind::WRITE_ROWS_V1, EventKind::UPDATE_ROWS_V1, EventKind::DELETE_ROWS_V1] {
        let Ok(Event::Rows(rows)) = Event::decode(kind, body) else { continue };
        let columns: Vec<_> = codes
            .iter()
            .cycle()
            .take(rows.width)
            .map(|code| event_format::WireColumn { code: *code, meta: u16::from(*code) })
            .collect();
        if let Ok(changes) = rows.changes(&columns) {
            let _ = changes.count();
        }
    }
}

#[test]
fn a_list_that_claims_more_than_its_event_is_refused() {
    let found =
        read(&whole(163, &[0xff, 0xff, 0xff, 0x0f, 0, 0], Checksum::None), Checksum::None).unwrap_err();
    assert_eq!(found.field, "gtid count");
    assert_eq!(metadata::MetadataLevel::default(), metadata::MetadataLevel::NoLog);
}
