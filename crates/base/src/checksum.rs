//! CRC-32C (Castagnoli), the checksum of pages, log frames and control blocks.

use crc_fast::{CrcAlgorithm, Digest};

/// CRC-32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// CRC-32C of `seed` (little-endian) followed by the parts: how log frames chain to the frame before.
pub fn crc32c_append(seed: u32, parts: &[&[u8]]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&seed.to_le_bytes());
    for part in parts {
        digest.update(part);
    }
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_check_value() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn parts_and_seed_are_one_stream() {
        assert_eq!(crc32c_append(7, &[b"ab", b"c"]), crc32c(b"\x07\0\0\0abc"));
    }
}
