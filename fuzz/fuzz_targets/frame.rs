//! Any bytes as a frame or a segment header, with right checksums so that the fields behind them are reached.
#![no_main]

use base::crc32c;
use libfuzzer_sys::fuzz_target;
use log_format::frame::{FRAME_HEADER_SIZE, FrameHeader, FrameStart};
use log_format::segment::{SEGMENT_HEADER_SIZE, SegmentHeader};

fuzz_target!(|data: &[u8]| {
    if let Some((header, payload)) = data.split_first_chunk::<FRAME_HEADER_SIZE>() {
        let mut header = *header;
        let _ = FrameHeader::decode(&header);
        header[..4].copy_from_slice(b"MFR1");
        let crc = crc32c(&header[..FRAME_HEADER_SIZE - 4]);
        header[FRAME_HEADER_SIZE - 4..].copy_from_slice(&crc.to_le_bytes());
        if let Ok(decoded) = FrameHeader::decode(&header) {
            assert_eq!(decoded.encode(), header);
            let _ = decoded.verify(FrameStart { lsn: decoded.start_lsn, previous_crc: crc }, payload);
            assert!(decoded.end_lsn() > decoded.start_lsn);
        }
    }
    if let Some((header, _)) = data.split_first_chunk::<SEGMENT_HEADER_SIZE>() {
        let mut header = *header;
        let _ = SegmentHeader::decode(&header);
        header[..12].copy_from_slice(b"MRSLOG1\0\x01\0\0\0");
        let crc = crc32c(&header[..SEGMENT_HEADER_SIZE - 4]);
        header[SEGMENT_HEADER_SIZE - 4..].copy_from_slice(&crc.to_le_bytes());
        if let Ok((decoded, seed)) = SegmentHeader::decode(&header) {
            assert_eq!((decoded.encode(), seed), (header, crc));
        }
    }
});
