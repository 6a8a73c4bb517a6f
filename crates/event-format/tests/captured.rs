//! Files of real servers: every event decodes, and encodes to the same bytes again.

use event_format::{Checksum, Event, EventKind, Header, MAGIC, read, write};

const FILES: [(&str, &[u8]); 2] = [
    ("10.11", include_bytes!("fixtures/mariadb-10.11.bin")),
    ("11.8", include_bytes!("fixtures/mariadb-11.8.bin")),
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
