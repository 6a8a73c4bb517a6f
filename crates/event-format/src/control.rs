//! Events about files and streams.
//!
//! # Layouts
//! ```text
//! ROTATE (4)               position u64 | next file's name, to the end
//! GTID_LIST (163)          count u32 (bits 28 and 29 are flags) | {domain u32, server u32, sequence number u64}... | zeros up to 6 bytes
//! BINLOG_CHECKPOINT (161)  name length u32 | oldest file that recovery needs
//! HEARTBEAT (27)           file name, to the end; the position is the header's next position
//! START_ENCRYPTION (164)   scheme u8 = 1 | key version u32 | nonce 12 bytes
//! INCIDENT (26)            number u16 | message length u8 | message
//! ```

use base::{Corruption, Gtid, Put, Reader};

use crate::event::take_rest;
use crate::lenenc::{long_string, put_long_string, put_short_string, short_string};

/// The log goes on in another file. Artificial at the start of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotate<'a> {
    pub position: u64,
    pub file: &'a [u8],
}

impl<'a> Rotate<'a> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u64(self.position);
        out.put(self.file);
    }
    pub(crate) fn decode(r: &mut Reader<'a>) -> Result<Self, Corruption> {
        Ok(Self { position: r.u64("position")?, file: take_rest(r) })
    }
}

/// Bits of [`GtidList::flags`].
pub mod gtid_list_flags {
    /// The replica's UNTIL position is reached.
    pub const UNTIL_REACHED: u8 = 1;
    /// A relay log's list that only moves the position.
    pub const IGNORE_GTIDS: u8 = 2;
}

/// The GTID state at this place: for each pair of domain and server the last one, the domain's newest as the domain's last entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GtidList {
    /// Of [`gtid_list_flags`].
    pub flags: u8,
    pub gtids: Vec<Gtid>,
}

impl GtidList {
    const COUNT_BITS: u32 = 28;
    /// MariaDB's event is never shorter: old readers want to replace it.
    const BODY_MIN: usize = 6;

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(self.gtids.len() < 1 << Self::COUNT_BITS && self.flags < 16);
        out.put_u32(self.gtids.len() as u32 | u32::from(self.flags) << Self::COUNT_BITS);
        for gtid in &self.gtids {
            out.put_u32(gtid.domain_id);
            out.put_u32(gtid.server_id);
            out.put_u64(gtid.seq_no);
        }
        out.resize(out.len().max(start + Self::BODY_MIN), 0);
    }

    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, Corruption> {
        let word = r.u32("gtid count")?;
        let (count, flags) = (word & ((1 << Self::COUNT_BITS) - 1), (word >> Self::COUNT_BITS) as u8);
        if count as usize > r.remaining() / 16 {
            return Err(Corruption::new(
                "offset 0",
                "gtid count",
                format_args!("at most {}", r.remaining() / 16),
                count,
            ));
        }
        let mut gtids = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let domain_id = r.u32("domain id")?;
            let server_id = r.u32("server id")?;
            gtids.push(Gtid { domain_id, server_id, seq_no: r.u64("sequence number")? });
        }
        take_rest(r);
        Ok(Self { flags, gtids })
    }
}

/// Files before this one are not needed to recover prepared transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinlogCheckpoint<'a> {
    pub file: &'a [u8],
}

impl<'a> BinlogCheckpoint<'a> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_long_string(out, self.file);
    }
    pub(crate) fn decode(r: &mut Reader<'a>) -> Result<Self, Corruption> {
        Ok(Self { file: long_string(r, "file name")? })
    }
}

/// Sign of life of a primary that has nothing to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat<'a> {
    pub file: &'a [u8],
}

/// The rest of the file is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartEncryption<'a> {
    pub scheme: u8,
    pub key_version: u32,
    pub nonce: &'a [u8],
}

impl<'a> StartEncryption<'a> {
    const NONCE_LEN: usize = 12;

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        assert_eq!(self.nonce.len(), Self::NONCE_LEN, "bytes of a nonce");
        out.put_u8(self.scheme);
        out.put_u32(self.key_version);
        out.put(self.nonce);
    }
    pub(crate) fn decode(r: &mut Reader<'a>) -> Result<Self, Corruption> {
        Ok(Self {
            scheme: r.u8("encryption scheme")?,
            key_version: r.u32("key version")?,
            nonce: r.bytes(Self::NONCE_LEN, "nonce")?,
        })
    }
}

/// The log may miss events; a replica stops here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incident<'a> {
    /// 1 = lost events.
    pub number: u16,
    pub message: &'a [u8],
}

impl<'a> Incident<'a> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(self.number);
        put_short_string(out, self.message);
    }
    pub(crate) fn decode(r: &mut Reader<'a>) -> Result<Self, Corruption> {
        Ok(Self { number: r.u16("incident")?, message: short_string(r, "message")? })
    }
}
