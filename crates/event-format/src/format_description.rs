//! FORMAT_DESCRIPTION (15): first event of a file, and what shapes the events after it.
//!
//! # Layout
//! ```text
//! binlog version u16 = 4 | server version 50 bytes, NUL padded | created u32 | header length u8 = 19
//! | post-header length of kind 1, 2, ...: a byte each | checksum code u8
//! ```
//! Behind it always stand four bytes of checksum (right also when the events that follow have none); servers before 5.3 (MySQL: 5.6.1) wrote neither the
//! code nor these. With 171 kinds that is the event of 252 bytes of MariaDB 10.11 and 11.8.

use base::{Corruption, Put, Reader};

use crate::header::Checksum;

const VERSION_LEN: usize = 50;
const FIXED_LEN: usize = 2 + VERSION_LEN + 4 + 1;

/// Post-header lengths of the kinds 1 to 171, as MariaDB 10.11 and 11.8 state them.
pub const POST_HEADER_LENGTHS: [u8; 171] = {
    let mut lengths = [0; 171];
    let known: [(usize, u8); 32] = [
        (1, 56),
        (2, 13),
        (4, 8),
        (6, 18),
        (8, 4),
        (9, 4),
        (10, 4),
        (11, 4),
        (12, 18),
        (15, FIXED_LEN as u8 + 171),
        (17, 4),
        (18, 26),
        (19, 8),
        (23, 8),
        (24, 8),
        (25, 8),
        (26, 2),
        (30, 10),
        (31, 10),
        (32, 10),
        (39, 10),
        (40, 10),
        (41, 10),
        (161, 4),
        (162, 19),
        (163, 4),
        (165, 13),
        (166, 8),
        (167, 8),
        (168, 8),
        (169, 10),
        (170, 10),
    ];
    let mut i = 0;
    while i < known.len() {
        lengths[known[i].0 - 1] = known[i].1;
        i += 1;
    }
    lengths[170] = 10;
    lengths
};

/// What a file or stream is written like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatDescription<'a> {
    pub binlog_version: u16,
    /// At most 50 bytes, without the padding.
    pub server_version: &'a [u8],
    /// When the server started, seconds since 1970; 0 for a file that a rotation began.
    pub created: u32,
    pub header_length: u8,
    /// Of kind 1, 2, ...
    pub post_header_lengths: &'a [u8],
    /// Of the events that follow; `None` when the server is too old to have checksums.
    pub checksum: Option<Checksum>,
}

impl<'a> FormatDescription<'a> {
    /// As this server writes it.
    pub fn new(server_version: &'a str, created: u32, checksum: Checksum) -> Self {
        Self {
            binlog_version: 4,
            server_version: server_version.as_bytes(),
            created,
            header_length: 19,
            post_header_lengths: &POST_HEADER_LENGTHS,
            checksum: Some(checksum),
        }
    }

    /// The checksum of the events that follow.
    pub fn events_checksum(&self) -> Checksum {
        self.checksum.unwrap_or_default()
    }

    /// The checksum behind this event itself.
    pub(crate) fn own_checksum(&self) -> Checksum {
        if self.checksum.is_some() { Checksum::Crc32 } else { Checksum::None }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let version = &self.server_version[..self.server_version.len().min(VERSION_LEN)];
        out.put_u16(self.binlog_version);
        out.put(version);
        out.resize(out.len() + VERSION_LEN - version.len(), 0);
        out.put_u32(self.created);
        out.put_u8(self.header_length);
        out.put(self.post_header_lengths);
        if let Some(checksum) = self.checksum {
            out.put_u8(checksum.code());
        }
    }

    pub(crate) fn decode(r: &mut Reader<'a>) -> Result<Self, Corruption> {
        let binlog_version = r.u16("binlog version")?;
        if binlog_version != 4 {
            return Err(Corruption::new("", "binlog version", 4, binlog_version));
        }
        let padded = r.bytes(VERSION_LEN, "server version")?;
        let server_version = &padded[..padded.iter().position(|b| *b == 0).unwrap_or(VERSION_LEN)];
        let created = r.u32("created")?;
        let header_length = r.u8("header length")?;
        if header_length != 19 {
            return Err(Corruption::new("", "header length", 19, header_length));
        }
        let mut post_header_lengths = crate::event::take_rest(r);
        let mut checksum = None;
        if knows_checksums(server_version) {
            let Some((code, lengths)) = post_header_lengths.split_last() else {
                return Err(Corruption::new("", "checksum code", "1 byte", "0 bytes"));
            };
            post_header_lengths = lengths;
            checksum = Some(
                Checksum::from_code(*code)
                    .ok_or_else(|| Corruption::new("", "checksum code", "0 or 1", code))?,
            );
        }
        Ok(Self { binlog_version, server_version, created, header_length, post_header_lengths, checksum })
    }

    /// The checksum behind a FORMAT_DESCRIPTION whose body and checksum are `bytes`: there is one whatever the others have.
    pub(crate) fn checksum_of_itself(bytes: &[u8]) -> Checksum {
        let version = bytes.get(2..2 + VERSION_LEN).unwrap_or_default();
        if knows_checksums(version) { Checksum::Crc32 } else { Checksum::None }
    }
}

/// MariaDB knows checksums since 5.3, MySQL since 5.6.1.
fn knows_checksums(version: &[u8]) -> bool {
    let mut numbers = version
        .split(|b| !b.is_ascii_digit())
        .map(|n| n.iter().fold(0u32, |v, d| v.saturating_mul(10).saturating_add(u32::from(d - b'0'))));
    let mut next = || numbers.next().unwrap_or(0);
    let parts = (next(), next(), next());
    let maria = version.windows(7).any(|w| w.eq_ignore_ascii_case(b"mariadb"));
    parts >= if maria { (5, 3, 0) } else { (5, 6, 1) }
}
