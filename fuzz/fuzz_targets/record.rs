//! Any bytes as a log record, at any LSN: what decodes encodes to what decodes the same.
#![no_main]

use base::Lsn;
use libfuzzer_sys::fuzz_target;
use log_format::record::{Envelope, Record};

fuzz_target!(|data: &[u8]| {
    let Some((lsn, bytes)) = data.split_first_chunk() else { return };
    // No record starts at 0, which means none.
    let lsn = Lsn(u64::from_le_bytes(*lsn).max(1));
    let envelope = Envelope::decode(lsn, bytes);
    let Ok(record) = Record::decode(lsn, bytes) else { return };
    assert_eq!(envelope.map(|e| (e.record_type, e.size)), Ok((record.record_type(), bytes.len())));
    let mut again = Vec::new();
    record.encode(lsn, &mut again);
    assert_eq!(Record::decode(lsn, &again), Ok(record));
});
