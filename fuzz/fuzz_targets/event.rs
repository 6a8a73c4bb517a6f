//! Any bytes as a binlog event: what decodes encodes to what decodes the same, and all of it can be read.
//! `cargo xtask fuzz` gives it the files of real servers in crates/event-format/tests/fixtures, cut into events.
#![no_main]

use event_format::{Checksum, Event, StatusVariables, WireColumn, compressed, read, semi_sync, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = compressed::decompress(data);
    let _ = semi_sync::Ack::decode(data);
    for checksum in [Checksum::None, Checksum::Crc32] {
        let Ok((header, event)) = read(data, checksum) else { continue };
        let mut again = Vec::new();
        write(&mut again, &header.stamp(), &event, checksum);
        if !matches!(event, Event::FormatDescription(_)) {
            assert_eq!(read(&again, checksum).map(|(_, event)| event), Ok(event.clone()));
        }
        match event {
            Event::Query(query) => drop(StatusVariables::new(query.status).count()),
            Event::TableMap(map) => drop(map.optional_metadata()),
            Event::Rows(rows) => {
                let code = |i: usize| data.get(i).copied().unwrap_or(3);
                let columns: Vec<_> =
                    (0..rows.width).map(|i| WireColumn { code: code(i), meta: u16::from(code(i + 1)) }).collect();
                if let Ok(changes) = rows.changes(&columns) {
                    let _ = changes.count();
                }
            }
            _ => {}
        }
    }
});
