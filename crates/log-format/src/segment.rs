//! The header of a log segment (core.md 1.2).
//!
//! # Layout: 64 bytes at the segment's first LSN, little-endian
//! ```text
//!  0  magic "MRSLOG1\0"       8
//!  8  format version u32      4
//! 12  server id u32           4
//! 16  segment number u64      8
//! 24  start LSN u64           8
//! 32  server uuid            16
//! 48  chained CRC of the previous segment's last frame u32  4   (0 for the first segment)
//! 52  created, unix seconds u64  8
//! 60  CRC-32C of bytes 0..60  4
//! ```
//! The CRC of a segment header is the seed of its first frame's chained CRC, so a frame cannot pass for one of
//! another incarnation of the same segment.

use base::{Corruption, Lsn, Put, Reader, crc32c};

/// Bytes of a segment header.
pub const SEGMENT_HEADER_SIZE: usize = 64;

/// Format version that this code writes; it reads no other.
pub const FORMAT_VERSION: u32 = 3;

const MAGIC: &[u8; 8] = b"MRSLOG1\0";

/// What a segment says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    pub server_id: u32,
    pub number: u64,
    pub start_lsn: Lsn,
    pub server_uuid: [u8; 16],
    /// Chained CRC of the last frame of the segment before.
    pub previous_crc: u32,
    /// Unix seconds.
    pub created: u64,
}

impl SegmentHeader {
    pub fn encode(&self) -> [u8; SEGMENT_HEADER_SIZE] {
        let mut out = Vec::with_capacity(SEGMENT_HEADER_SIZE);
        out.put(MAGIC);
        out.put_u32(FORMAT_VERSION);
        out.put_u32(self.server_id);
        out.put_u64(self.number);
        out.put_u64(self.start_lsn.0);
        out.put(&self.server_uuid);
        out.put_u32(self.previous_crc);
        out.put_u64(self.created);
        let crc = crc32c(&out);
        out.put_u32(crc);
        let mut bytes = [0; SEGMENT_HEADER_SIZE];
        bytes.copy_from_slice(&out);
        bytes
    }

    /// The header and its CRC, which seeds the chain of the segment's first frame.
    pub fn decode(bytes: &[u8; SEGMENT_HEADER_SIZE]) -> Result<(Self, u32), Corruption> {
        let mut r = Reader::new(bytes);
        let magic = r.bytes(8, "magic")?;
        if magic != MAGIC {
            return Err(corruption("magic", format_args!("{MAGIC:02x?}"), format_args!("{magic:02x?}")));
        }
        let version = r.u32("format version")?;
        let header = Self {
            server_id: r.u32("server id")?,
            number: r.u64("segment number")?,
            start_lsn: Lsn(r.u64("start LSN")?),
            server_uuid: r.bytes(16, "server uuid")?.try_into().expect("16 bytes were asked for"),
            previous_crc: r.u32("previous CRC")?,
            created: r.u64("created")?,
        };
        let stored = r.u32("CRC")?;
        let computed = crc32c(&bytes[..SEGMENT_HEADER_SIZE - 4]);
        if stored != computed {
            return Err(corruption("CRC", format_args!("{computed:#010x}"), format_args!("{stored:#010x}")));
        }
        if version != FORMAT_VERSION {
            return Err(corruption("format version", FORMAT_VERSION, version));
        }
        if header.start_lsn > Lsn::LAST {
            return Err(corruption("start LSN", format_args!("at most {}", Lsn::LAST), header.start_lsn));
        }
        Ok((header, stored))
    }
}

/// The CRC inside an encoded header.
pub fn header_crc(bytes: &[u8; SEGMENT_HEADER_SIZE]) -> u32 {
    u32::from_le_bytes([bytes[60], bytes[61], bytes[62], bytes[63]])
}

fn corruption(
    field: &'static str,
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> Corruption {
    Corruption::new("segment header", field, expected, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> SegmentHeader {
        SegmentHeader {
            server_id: 7,
            number: 3,
            start_lsn: Lsn(0x1_0000_1000),
            server_uuid: *b"0123456789abcdef",
            previous_crc: 0xdead_beef,
            created: 1_796_000_000,
        }
    }

    #[test]
    fn bytes_are_as_documented() {
        let bytes = header().encode();
        let mut golden = Vec::new();
        golden.extend_from_slice(b"MRSLOG1\0");
        golden.extend_from_slice(&[3, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        golden.extend_from_slice(&[0x00, 0x10, 0x00, 0x00, 0x01, 0, 0, 0]);
        golden.extend_from_slice(b"0123456789abcdef");
        golden.extend_from_slice(&[0xef, 0xbe, 0xad, 0xde]);
        golden.extend_from_slice(&[0x00, 0xc9, 0x0c, 0x6b, 0, 0, 0, 0]);
        assert_eq!(bytes[..60], golden[..]);
        assert_eq!(header_crc(&bytes), crc32c(&golden));
        assert_eq!(SegmentHeader::decode(&bytes), Ok((header(), header_crc(&bytes))));
    }

    #[test]
    fn a_segment_beyond_the_last_lsn_is_refused() {
        let bytes = SegmentHeader { start_lsn: Lsn(u64::MAX), ..header() }.encode();
        assert_eq!(SegmentHeader::decode(&bytes).unwrap_err().field, "start LSN");
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let good = header().encode();
        for bit in 0..SEGMENT_HEADER_SIZE * 8 {
            let mut bytes = good;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::decode(&bytes).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_newer_version_is_named() {
        let mut bytes = header().encode();
        bytes[8] = FORMAT_VERSION as u8 + 1;
        let crc = crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        let found = SegmentHeader::decode(&bytes).unwrap_err();
        assert_eq!((found.field, found.found), ("format version", (FORMAT_VERSION + 1).to_string()));
    }
}
