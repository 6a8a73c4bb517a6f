//! Compressed parts of QUERY_COMPRESSED and compressed rows events (`log_bin_compress`).
//!
//! # Layout
//! ```text
//! 0x80 | algorithm << 4 | n   (algorithm 0 = zlib) | length before compression, n bytes (1 to 4) big-endian | zlib stream, to the end
//! ```
//! The stated length is checked against what deflate can reach (1032 to 1) before anything is allocated for it.

use base::{Corruption, Put};
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// zlib's default.
const LEVEL: u8 = 6;
/// Deflate's best ratio.
const RATIO_MAX: usize = 1032;
const HEADER_MAX: usize = 5;

/// Appends `bytes` compressed.
pub fn compress(bytes: &[u8], out: &mut Vec<u8>) {
    let length = (bytes.len() as u64).to_be_bytes();
    let skipped = length.iter().take(7).take_while(|b| **b == 0).count();
    let count = length.len() - skipped;
    assert!(count <= 4, "{} bytes to compress", bytes.len());
    out.put_u8(0x80 | count as u8);
    out.put(&length[skipped..]);
    out.put(&compress_to_vec_zlib(bytes, LEVEL));
}

/// The bytes before compression.
pub fn decompress(bytes: &[u8]) -> Result<Vec<u8>, Corruption> {
    let head = *bytes.first().ok_or_else(|| Corruption::new("", "compression header", "1 byte", "none"))?;
    let count = usize::from(head & 0x0f);
    if head & 0xf0 != 0x80 || !(1..HEADER_MAX).contains(&count) {
        return Err(Corruption::new("", "compression header", "0x81 to 0x84", format_args!("{head:#04x}")));
    }
    let Some((length, stream)) = bytes[1..].split_at_checked(count) else {
        return Err(Corruption::new("", "length before compression", count, bytes.len() - 1));
    };
    let length = length.iter().fold(0usize, |n, b| n << 8 | usize::from(*b));
    if length > stream.len().saturating_mul(RATIO_MAX) {
        return Err(Corruption::new(
            "",
            "length before compression",
            format_args!("at most {}", stream.len().saturating_mul(RATIO_MAX)),
            length,
        ));
    }
    let plain = decompress_to_vec_zlib_with_limit(stream, length)
        .map_err(|e| Corruption::new("", "zlib stream", format_args!("{length} bytes"), e))?;
    if plain.len() != length {
        return Err(Corruption::new("", "length before compression", length, plain.len()));
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_comes_back() {
        for len in [0, 1, 255, 256, 70_000] {
            let plain: Vec<u8> = (0..len).map(|i: u64| (i * i % 251) as u8).collect();
            let mut out = Vec::new();
            compress(&plain, &mut out);
            assert_eq!(decompress(&out), Ok(plain), "{len}");
        }
    }

    #[test]
    fn a_length_that_deflate_cannot_reach_is_refused_before_it_is_allocated() {
        let found = decompress(&[0x84, 0xff, 0xff, 0xff, 0xff, 0x78, 0x9c, 3, 0]).unwrap_err();
        assert_eq!(found.field, "length before compression");
    }
}
