//! What a file begins with, and how events are completed that were made before their place was known.
//!
//! ```text
//! fe 62 69 6e | FORMAT_DESCRIPTION, in use | GTID_LIST: the state before the first group | BINLOG_CHECKPOINT: this file
//! ```
//! BINLOG_CHECKPOINT always names its own file: a file is begun only when the engine's log holds the commits of all groups in those
//! before, durable, so recovery needs the last file alone.

use crate::gtid_index::IndexOptions;
use base::Gtid;
use event_format::{
    BinlogCheckpoint, Checksum, End, Event, FormatDescription, GtidEvent, GtidList, Header, MAGIC, Stamp,
    gtid_flags, header_flags, restamp, write,
};

/// What the server says in the head of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadFacts {
    pub server_id: u32,
    pub version: &'static str,
    pub checksum: Checksum,
    /// Seconds since 1970.
    pub now: u32,
    /// The first file since the server's start.
    pub is_first: bool,
    /// The file gets an index.
    pub index: Option<IndexOptions>,
}

/// The head of the file called `name`.
pub(crate) fn head(facts: &HeadFacts, name: &str, state: Vec<Gtid>) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let stamp = |out: &Vec<u8>| Stamp {
        timestamp: facts.now,
        server_id: facts.server_id,
        end: End::Behind(out.len() as u64),
        flags: 0,
    };
    let created = if facts.is_first { facts.now } else { 0 };
    let format = FormatDescription::new(facts.version, created, facts.checksum);
    let at = Stamp { flags: header_flags::IN_USE, ..stamp(&out) };
    write(&mut out, &at, &Event::FormatDescription(format), facts.checksum);
    let at = stamp(&out);
    write(&mut out, &at, &Event::GtidList(GtidList { flags: 0, gtids: state }), facts.checksum);
    let at = stamp(&out);
    write(
        &mut out,
        &at,
        &Event::BinlogCheckpoint(BinlogCheckpoint { file: name.as_bytes() }),
        facts.checksum,
    );
    out
}

/// Bytes that the head of a file needs with so many GTIDs, a long name, and room for a group's GTID event.
pub(crate) fn reserve(gtids: usize) -> u64 {
    const PAGE: u64 = 4096;
    const FIXED: u64 = 1024;
    (FIXED + 16 * (gtids as u64 + 64)).next_multiple_of(PAGE)
}

/// Bytes before the checksum.
fn body_end(event: &[u8], checksum: Checksum) -> usize {
    event.len() - checksum.len()
}

/// Completes the GTID event of a group: its number, and where it stands. `length` is that of the whole event, zeros fill it.
pub(crate) fn complete_gtid(event: &mut Vec<u8>, seq_no: u64, at: u64, length: usize, checksum: Checksum) {
    event.truncate(body_end(event, checksum));
    event.resize(length, 0);
    event[9..13].copy_from_slice(&(length as u32).to_le_bytes());
    event[Header::LEN..Header::LEN + 8].copy_from_slice(&seq_no.to_le_bytes());
    place(event, at, checksum);
}

/// The GTID that a complete GTID event says.
pub(crate) fn gtid_of(event: &[u8]) -> Gtid {
    let u32_at = |at: usize| u32::from_le_bytes([event[at], event[at + 1], event[at + 2], event[at + 3]]);
    let low = u64::from(u32_at(Header::LEN));
    let seq_no = low | u64::from(u32_at(Header::LEN + 4)) << 32;
    Gtid { domain_id: u32_at(Header::LEN + 8), server_id: u32_at(5), seq_no }
}

/// Gives the GTID event of a group, which is whole otherwise, the commit id that it shares with others.
pub(crate) fn join(event: &mut Vec<u8>, commit_id: u64, checksum: Checksum) {
    let Ok((header, Event::Gtid(gtid))) = event_format::read(event, checksum) else { return };
    let flags = gtid.flags | gtid_flags::GROUP_COMMIT_ID;
    let joined = GtidEvent { flags, commit_id, tail: &[], ..gtid };
    let (timestamp, server_id, flags) = (header.timestamp, header.server_id, header.flags);
    let stamp = Stamp { timestamp, server_id, end: End::Unstated, flags };
    let mut out = Vec::new();
    write(&mut out, &stamp, &Event::Gtid(joined), checksum);
    *event = out;
}

/// Says where an event stands that begins at `at`.
pub(crate) fn place(event: &mut [u8], at: u64, checksum: Checksum) {
    let flags = u16::from_le_bytes([event[17], event[18]]);
    let end = at + event.len() as u64;
    restamp(event, end as u32, flags, checksum);
}
