//! The header of a log frame: one device write of whole records (core.md 1.3).
//!
//! # Layout: 32 bytes, little-endian; the payload follows
//! ```text
//!  0  magic "MFR1"        4
//!  4  payload length u32  4
//!  8  start LSN u64       8   of this header
//! 16  durable LSN u64     8   known when the frame was sealed
//! 24  chained CRC u32     4   over the previous chained CRC, bytes 0..24 and the payload
//! 28  header CRC u32      4   over bytes 0..28
//! ```
//!
//! # Why two CRCs
//! The chained CRC proves that this frame follows that one. The header CRC can be checked without the frames before and without
//! the payload: at start-up the header of a torn last frame can still testify that the bytes before it had been durable.

use base::{Corruption, Lsn, Put, Reader, crc32c, crc32c_append};

/// Bytes of a frame header.
pub const FRAME_HEADER_SIZE: usize = 32;

/// First four bytes of every frame.
pub const FRAME_MAGIC: [u8; 4] = *b"MFR1";

/// Where a frame begins and what its chained CRC continues: enough to start a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameStart {
    /// LSN of the frame's header.
    pub lsn: Lsn,
    /// Chained CRC of the frame before, or the CRC of the segment header for a segment's first frame.
    pub previous_crc: u32,
}

/// A frame header whose own CRC is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    pub payload_len: u32,
    pub start_lsn: Lsn,
    pub durable_lsn: Lsn,
    pub chained_crc: u32,
}

impl FrameHeader {
    /// Seals a frame: the header for a payload given in parts, chained to `previous_crc`.
    pub fn seal(start: FrameStart, durable_lsn: Lsn, payload: &[&[u8]]) -> Self {
        let payload_len = payload.iter().map(|part| part.len()).sum::<usize>();
        let payload_len =
            u32::try_from(payload_len).expect("a frame is smaller than the ring, which is below 4 GiB");
        let mut header = Self { payload_len, start_lsn: start.lsn, durable_lsn, chained_crc: 0 };
        header.chained_crc = header.chain(start.previous_crc, payload);
        header
    }

    /// The chained CRC that this header and payload must have after `previous_crc`.
    pub fn chain(&self, previous_crc: u32, payload: &[&[u8]]) -> u32 {
        let encoded = self.encode();
        match payload {
            [one] => crc32c_append(previous_crc, &[&encoded[..24], one]),
            [one, two] => crc32c_append(previous_crc, &[&encoded[..24], one, two]),
            parts => {
                let mut all = vec![&encoded[..24]];
                all.extend_from_slice(parts);
                crc32c_append(previous_crc, &all)
            }
        }
    }

    pub fn encode(&self) -> [u8; FRAME_HEADER_SIZE] {
        let mut out = Vec::with_capacity(FRAME_HEADER_SIZE);
        out.put(&FRAME_MAGIC);
        out.put_u32(self.payload_len);
        out.put_u64(self.start_lsn.0);
        out.put_u64(self.durable_lsn.0);
        out.put_u32(self.chained_crc);
        let crc = crc32c(&out);
        out.put_u32(crc);
        let mut bytes = [0; FRAME_HEADER_SIZE];
        bytes.copy_from_slice(&out);
        bytes
    }

    pub fn decode(bytes: &[u8; FRAME_HEADER_SIZE]) -> Result<Self, Corruption> {
        let mut r = Reader::new(bytes);
        let magic = r.bytes(4, "magic")?;
        if magic != FRAME_MAGIC {
            return Err(corruption(
                "magic",
                format_args!("{FRAME_MAGIC:02x?}"),
                format_args!("{magic:02x?}"),
            ));
        }
        let header = Self {
            payload_len: r.u32("payload length")?,
            start_lsn: Lsn(r.u64("start LSN")?),
            durable_lsn: Lsn(r.u64("durable LSN")?),
            chained_crc: r.u32("chained CRC")?,
        };
        let stored = r.u32("header CRC")?;
        let computed = crc32c(&bytes[..28]);
        if stored != computed {
            return Err(corruption(
                "header CRC",
                format_args!("{computed:#010x}"),
                format_args!("{stored:#010x}"),
            ));
        }
        if header.start_lsn > Lsn::LAST {
            return Err(corruption("start LSN", format_args!("at most {}", Lsn::LAST), header.start_lsn));
        }
        Ok(header)
    }

    /// LSN of the first byte after the frame.
    pub fn end_lsn(&self) -> Lsn {
        self.start_lsn + FRAME_HEADER_SIZE as u64 + u64::from(self.payload_len)
    }

    /// Fails unless header and payload continue `start`.
    pub fn verify(&self, start: FrameStart, payload: &[u8]) -> Result<(), Corruption> {
        if self.start_lsn != start.lsn {
            return Err(corruption("start LSN", start.lsn, self.start_lsn));
        }
        let computed = self.chain(start.previous_crc, &[payload]);
        if computed != self.chained_crc {
            let found = format_args!("{:#010x}", self.chained_crc).to_string();
            return Err(corruption("chained CRC", format_args!("{computed:#010x}"), found));
        }
        Ok(())
    }
}

fn corruption(
    field: &'static str,
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> Corruption {
    Corruption::new("frame header", field, expected, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: FrameStart = FrameStart { lsn: Lsn(0x1040), previous_crc: 0x0102_0304 };

    #[test]
    fn bytes_are_as_documented() {
        let header = FrameHeader::seal(START, Lsn(0x1000), &[b"abc", b"de"]);
        let mut golden = Vec::new();
        golden.extend_from_slice(b"MFR1");
        golden.extend_from_slice(&[5, 0, 0, 0]);
        golden.extend_from_slice(&[0x40, 0x10, 0, 0, 0, 0, 0, 0]);
        golden.extend_from_slice(&[0x00, 0x10, 0, 0, 0, 0, 0, 0]);
        let chained = crc32c(&[&[4, 3, 2, 1], &golden[..], b"abcde"].concat());
        golden.extend_from_slice(&chained.to_le_bytes());
        golden.extend_from_slice(&crc32c(&golden).to_le_bytes());
        assert_eq!(header.encode()[..], golden[..]);
        let decoded = FrameHeader::decode(&header.encode()).unwrap();
        assert_eq!(decoded, header);
        assert_eq!(decoded.end_lsn(), Lsn(0x1040 + 32 + 5));
        decoded.verify(START, b"abcde").unwrap();
    }

    #[test]
    fn every_flipped_bit_of_header_and_payload_is_found() {
        let header = FrameHeader::seal(START, Lsn(0x1000), &[b"payload"]);
        for bit in 0..FRAME_HEADER_SIZE * 8 {
            let mut bytes = header.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(FrameHeader::decode(&bytes).is_err(), "bit {bit}");
        }
        for bit in 0..7 * 8 {
            let mut payload = *b"payload";
            payload[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(header.verify(START, &payload).unwrap_err().field, "chained CRC");
        }
    }

    #[test]
    fn a_frame_beyond_the_last_lsn_is_refused() {
        let start = FrameStart { lsn: Lsn(u64::MAX - 8), ..START };
        let header =
            FrameHeader { payload_len: 9, start_lsn: start.lsn, durable_lsn: start.lsn, chained_crc: 0 };
        assert_eq!(FrameHeader::decode(&header.encode()).unwrap_err().field, "start LSN");
    }

    #[test]
    fn a_frame_of_another_place_or_chain_is_refused() {
        let header = FrameHeader::seal(START, Lsn(0x1000), &[b"payload"]);
        let moved = FrameStart { lsn: Lsn(0x2040), ..START };
        assert_eq!(header.verify(moved, b"payload").unwrap_err().field, "start LSN");
        let other = FrameStart { previous_crc: 1, ..START };
        assert_eq!(header.verify(other, b"payload").unwrap_err().field, "chained CRC");
    }
}
