//! What semi-synchronous replication adds to the stream and the replica's answer.
//!
//! # Layouts
//! ```text
//! in every event packet, between the 0x00 and the event   0xef | acknowledgement wanted u8
//! acknowledgement, a packet of its own, sequence number 0   0xef | end position u64 | file name, to the end (no NUL, no checksum)
//! ```

use base::{Corruption, Put, Reader};

const MAGIC: u8 = 0xef;

/// The two bytes before an event.
pub const fn prefix(wants_ack: bool) -> [u8; 2] {
    [MAGIC, wants_ack as u8]
}

/// Takes the prefix off an event packet's body: whether an acknowledgement is wanted, and the event.
pub fn split_prefix(bytes: &[u8]) -> Result<(bool, &[u8]), Corruption> {
    match bytes {
        [MAGIC, wants_ack, event @ ..] => Ok((wants_ack & 1 != 0, event)),
        _ => Err(Corruption::new(
            "semi-sync event packet",
            "magic",
            "0xef",
            format_args!("{:02x?}", bytes.first()),
        )),
    }
}

/// The replica has everything up to here in its relay log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack<'a> {
    pub position: u64,
    pub file: &'a [u8],
}

impl<'a> Ack<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(MAGIC);
        out.put_u64(self.position);
        out.put(self.file);
    }

    pub fn decode(packet: &'a [u8]) -> Result<Self, Corruption> {
        let mut r = Reader::new(packet);
        match r.u8("magic")? {
            MAGIC => Ok(Self { position: r.u64("position")?, file: r.rest() }),
            other => Err(Corruption::new("semi-sync reply", "magic", "0xef", format_args!("{other:#04x}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_comes_back() {
        let mut out = Vec::new();
        Ack { position: 0x0102, file: b"binlog.000001" }.encode(&mut out);
        assert_eq!(out[..9], [0xef, 2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Ack::decode(&out), Ok(Ack { position: 0x0102, file: b"binlog.000001" }));
        assert!(Ack::decode(&out[..8]).is_err() && Ack::decode(b"\x01").is_err());
    }

    #[test]
    fn the_prefix_says_whether_an_answer_is_wanted() {
        assert_eq!(split_prefix(&[0xef, 1, 7]), Ok((true, &[7][..])));
        assert_eq!(split_prefix(&[0xef, 0]), Ok((false, &[][..])));
        assert!(split_prefix(&[0, 0]).is_err());
    }
}
