//! The compressed protocol (`CLIENT_COMPRESS`): the stream of ordinary packets, cut anywhere, in packets of its own.
//!
//! # Layout
//! `length u24 | sequence u8 | length before compression u24 | body`. The second length is 0 when the body is as it was, else the body
//! is a zlib stream. Sequence numbers count these outer packets, from 0 with every command; those of the packets inside are not looked
//! at, because peers number them in different ways.
//!
//! # Invariants
//! K1. A body never inflates to more than its header says, and a header cannot say more than 16 MiB.
//! K2. A header that promises much costs nothing until the bytes come.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use base::{Corruption, Put};

const HEADER: usize = 7;
/// Most bytes before compression in one packet.
const PLAIN_MAX: usize = 0xff_ffff;
/// Shorter bodies are sent as they are.
const WORTH_IT: usize = 50;
/// zlib's level: most of the saving at a fraction of the time of the default.
const LEVEL: u8 = 3;

/// Undoes the compression of a stream.
#[derive(Debug, Default)]
pub struct Expander {
    raw: Vec<u8>,
    /// What of `raw` has been used.
    used: usize,
    plain: Vec<u8>,
    given: usize,
    sequence: u8,
}

impl Expander {
    /// Number of the packet that comes after the last one.
    pub fn next_sequence(&self) -> u8 {
        self.sequence
    }
    /// Bytes came from the peer.
    pub fn push(&mut self, bytes: &[u8]) {
        self.raw.drain(..self.used);
        self.used = 0;
        self.raw.extend_from_slice(bytes);
    }
    /// Gives out bytes of the stream inside; 0 when more are needed from the peer.
    pub fn take(&mut self, out: &mut [u8]) -> Result<usize, Corruption> {
        while self.given == self.plain.len() {
            if !self.open_packet()? {
                return Ok(0);
            }
        }
        let n = out.len().min(self.plain.len() - self.given);
        out[..n].copy_from_slice(&self.plain[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }

    /// The next whole packet becomes `plain`; false when it is not there yet.
    fn open_packet(&mut self) -> Result<bool, Corruption> {
        let raw = &self.raw[self.used..];
        let Some((h, rest)) = raw.split_at_checked(HEADER) else { return Ok(false) };
        let u24 = |b: &[u8]| usize::from(b[0]) | usize::from(b[1]) << 8 | usize::from(b[2]) << 16;
        let (length, before) = (u24(&h[..3]), u24(&h[4..]));
        let Some(body) = rest.get(..length) else { return Ok(false) };
        self.sequence = h[3].wrapping_add(1);
        self.given = 0;
        self.plain.clear();
        if before == 0 {
            self.plain.extend_from_slice(body);
        } else {
            self.plain = decompress_to_vec_zlib_with_limit(body, before)
                .map_err(|e| Corruption::new("compressed packet", "body", "a zlib stream", e))?;
            if self.plain.len() != before {
                let found = self.plain.len();
                return Err(Corruption::new("compressed packet", "length", before, found));
            }
        }
        self.used += HEADER + length;
        Ok(true)
    }
}

/// Packs `plain` into packets behind `out`. Returns the number of the packet after the last.
pub fn compress(plain: &[u8], mut sequence: u8, out: &mut Vec<u8>) -> u8 {
    for piece in plain.chunks(PLAIN_MAX) {
        let packed = (piece.len() >= WORTH_IT)
            .then(|| compress_to_vec_zlib(piece, LEVEL))
            .filter(|packed| packed.len() < piece.len());
        let (body, before) = packed.as_ref().map_or((piece, 0), |packed| (&packed[..], piece.len()));
        out.put(&(body.len() as u32).to_le_bytes()[..3]);
        out.put_u8(sequence);
        out.put(&(before as u32).to_le_bytes()[..3]);
        out.put(body);
        sequence = sequence.wrapping_add(1);
    }
    sequence
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(expander: &mut Expander, bytes: &[u8], step: usize) -> Vec<u8> {
        let (mut all, mut buf) = (Vec::new(), [0; 333]);
        for piece in bytes.chunks(step) {
            expander.push(piece);
            loop {
                let n = expander.take(&mut buf).unwrap();
                if n == 0 {
                    break;
                }
                all.extend_from_slice(&buf[..n]);
            }
        }
        all
    }

    #[test]
    fn a_stream_comes_back_whatever_its_pieces() {
        let short = b"select 1".to_vec();
        let long: Vec<u8> = (0..200_000u32).map(|i| (i / 100) as u8).collect();
        let noise: Vec<u8> = (0..5_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for step in [1, 7, 4096] {
            let mut packed = Vec::new();
            let mut sequence = 0;
            for part in [&short, &long, &noise] {
                sequence = compress(part, sequence, &mut packed);
            }
            assert_eq!(sequence, 3);
            assert!(packed.len() < 20_000, "{}", packed.len());
            let mut expander = Expander::default();
            assert!(expand(&mut expander, &packed, step) == [&short[..], &long, &noise].concat());
            assert_eq!(expander.next_sequence(), 3);
        }
    }

    #[test]
    fn more_than_a_packet_holds_is_cut() {
        let plain = vec![7; PLAIN_MAX + 100];
        let mut packed = Vec::new();
        assert_eq!(compress(&plain, 250, &mut packed), 252);
        assert!(expand(&mut Expander::default(), &packed, 1 << 16) == plain);
    }

    #[test]
    fn a_body_that_is_longer_than_it_says_is_refused() {
        let mut packed = Vec::new();
        compress(&[0; 1000], 0, &mut packed);
        packed[4..7].copy_from_slice(&[100, 0, 0]);
        let mut expander = Expander::default();
        expander.push(&packed);
        assert!(expander.take(&mut [0; 10]).is_err());
    }
}
