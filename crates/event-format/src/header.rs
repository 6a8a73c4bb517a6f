//! The header of every event, and the checksum behind it.
//!
//! # Layout
//! ```text
//! timestamp u32 (seconds since 1970) | kind u8 | server id u32 | length u32 (header, body, checksum)
//! | next position u32 (where the next event starts; 0 = not stated) | flags u16
//! ```
//! The CRC-32 is zlib's, over header and body. In a file that is being written the FORMAT_DESCRIPTION has the flag IN_USE, which is
//! not in its checksum.

use base::{Corruption, Put, Reader};
use crc_fast::CrcAlgorithm;

use crate::EventKind;

/// First bytes of a binlog file.
pub const MAGIC: [u8; 4] = [0xfe, b'b', b'i', b'n'];

/// Bits of [`Header::flags`].
pub mod header_flags {
    /// A FORMAT_DESCRIPTION: the file was not closed. Not covered by the checksum.
    pub const IN_USE: u16 = 0x0001;
    /// The statement needs the session of its own thread (temporary tables).
    pub const THREAD_SPECIFIC: u16 = 0x0004;
    /// The statement does not depend on the default database.
    pub const SUPPRESS_USE: u16 = 0x0008;
    /// Made for one reader, in no file.
    pub const ARTIFICIAL: u16 = 0x0020;
    /// Written by a replica into its relay log.
    pub const RELAY_LOG: u16 = 0x0040;
    /// A reader that does not know the kind may pass over it.
    pub const IGNORABLE: u16 = 0x0080;
    /// `SET skip_replication=1`.
    pub const SKIP_REPLICATION: u16 = 0x8000;
}

/// How events are protected; the codes of FORMAT_DESCRIPTION.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Checksum {
    #[default]
    None,
    Crc32,
}

impl Checksum {
    /// Bytes behind the body.
    pub const fn len(self) -> usize {
        match self {
            Self::None => 0,
            Self::Crc32 => 4,
        }
    }
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
    pub const fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Crc32 => 1,
        }
    }
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::None),
            1 => Some(Self::Crc32),
            _ => None,
        }
    }
}

/// zlib's CRC-32.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc_fast::checksum(CrcAlgorithm::Crc32IsoHdlc, bytes) as u32
}

/// The header as it stands in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Seconds since 1970; 0 in artificial events.
    pub timestamp: u32,
    pub kind: EventKind,
    pub server_id: u32,
    /// Bytes of the whole event.
    pub length: u32,
    /// Where the next event starts; 0 = not stated.
    pub next_position: u32,
    /// Of [`header_flags`].
    pub flags: u16,
}

impl Header {
    pub const LEN: usize = 19;

    /// Reads the header at the start of `bytes`, which may hold less than the event.
    pub fn read(bytes: &[u8]) -> Result<Self, Corruption> {
        let mut r = Reader::new(bytes);
        let header = Self {
            timestamp: r.u32("timestamp")?,
            kind: EventKind(r.u8("event kind")?),
            server_id: r.u32("server id")?,
            length: r.u32("event length")?,
            next_position: r.u32("next position")?,
            flags: r.u16("event flags")?,
        };
        if (header.length as usize) < Self::LEN {
            return Err(Corruption::new("offset 9", "event length", "at least 19", header.length));
        }
        Ok(header)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u32(self.timestamp);
        out.put_u8(self.kind.0);
        out.put_u32(self.server_id);
        out.put_u32(self.length);
        out.put_u32(self.next_position);
        out.put_u16(self.flags);
    }

    /// What a writer says of the event again.
    pub fn stamp(&self) -> Stamp {
        Stamp {
            timestamp: self.timestamp,
            server_id: self.server_id,
            end: End::At(self.next_position),
            flags: self.flags,
        }
    }
}

/// What the writer of an event knows of its header: the rest follows from the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    pub timestamp: u32,
    pub server_id: u32,
    pub end: End,
    pub flags: u16,
}

impl Stamp {
    /// The stamp of an artificial event: no time, no position.
    pub const fn artificial(server_id: u32) -> Self {
        Self { timestamp: 0, server_id, end: End::Unstated, flags: header_flags::ARTIFICIAL }
    }
}

/// How [`Header::next_position`] is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum End {
    /// 0: inside a group of an 11.8 server, and in artificial events.
    #[default]
    Unstated,
    At(u32),
    /// The event starts here: its end is this and its length. Positions wrap at 4 GiB, as MariaDB's do.
    Behind(u64),
}

impl End {
    pub(crate) fn of(self, length: usize) -> u32 {
        match self {
            Self::Unstated => 0,
            Self::At(position) => position,
            Self::Behind(start) => (start + length as u64) as u32,
        }
    }
}
