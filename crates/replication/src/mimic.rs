//! Events for clients that do not know MariaDB's: each is replaced by one that they know, of the same length, or left out.
//!
//! # Rules (observed on MariaDB 10.11 and 11.8, `@mariadb_slave_capability`)
//! ```text
//!                        0         1         2         3        4
//! GTID, transactional    BEGIN     BEGIN     BEGIN     BEGIN    as it is
//! GTID, standalone       comment   comment   left out  left out as it is
//! GTID_LIST, CHECKPOINT  user var  user var  left out  CHECKPOINT as it is
//! ANNOTATE               comment   as it is when asked for
//! ```
//! A comment is a QUERY whose text is the start of `# Dummy event replacing event type N that slave cannot handle.`, a user variable
//! an unset `!dummyvar` or the start of that name. Both are marked so that they change no default database.

use base::{Corruption, Put};
use event_format::{Checksum, Event, EventKind, GtidEvent, Header, crc32, gtid_flags, header_flags};

use crate::request::Capability;

/// What is sent instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    AsItIs,
    /// Another event stands in `out`.
    Instead,
    Nothing,
    /// The event cannot be replaced.
    Impossible,
}

/// Looks at one event for a client of `capability`; `out` receives a replacement.
pub fn mimic(
    event: &[u8],
    checksum: Checksum,
    capability: Capability,
    annotate: bool,
    out: &mut Vec<u8>,
) -> Result<Sent, Corruption> {
    let header = Header::read(event)?;
    let with_holes = capability >= Capability::TolerateHoles;
    Ok(match header.kind {
        EventKind::ANNOTATE if annotate => Sent::AsItIs,
        EventKind::ANNOTATE if capability == Capability::Unknown => comment(event, &header, checksum, out),
        EventKind::ANNOTATE => Sent::Nothing,
        EventKind::GTID if capability < Capability::Gtid => {
            replace_gtid(event, &header, checksum, with_holes, out)?
        }
        EventKind::BINLOG_CHECKPOINT if capability >= Capability::Checkpoint => Sent::AsItIs,
        EventKind::GTID_LIST | EventKind::BINLOG_CHECKPOINT if capability < Capability::Gtid => {
            if with_holes { Sent::Nothing } else { user_variable(event, &header, checksum, out) }
        }
        _ => Sent::AsItIs,
    })
}

fn replace_gtid(
    event: &[u8],
    header: &Header,
    checksum: Checksum,
    with_holes: bool,
    out: &mut Vec<u8>,
) -> Result<Sent, Corruption> {
    let (_, decoded) = event_format::read(event, checksum)?;
    let Event::Gtid(GtidEvent { flags, xa, .. }) = decoded else { return Ok(Sent::AsItIs) };
    if xa.is_some() {
        return Ok(Sent::Impossible);
    }
    if flags & gtid_flags::STANDALONE == 0 {
        return Ok(query(event, header, checksum, b"BEGIN", out));
    }
    Ok(if with_holes { Sent::Nothing } else { comment(event, header, checksum, out) })
}

/// A comment fills any room.
fn comment(event: &[u8], header: &Header, checksum: Checksum, out: &mut Vec<u8>) -> Sent {
    let room = event.len() - Header::LEN - checksum.len();
    let Some(room) = room.checked_sub(QUERY_FIXED) else { return Sent::Impossible };
    let mut text = format!("# Dummy event replacing event type {} that slave cannot handle.", header.kind.0)
        .into_bytes();
    text.resize(room, b' ');
    query(event, header, checksum, &text, out)
}

/// Bytes of a query event's body beside status, database and text.
const QUERY_FIXED: usize = 14;

/// A query event of the length of `event`: `thread u32 | seconds u32 | database length u8 | error u16 | status length u16 |
/// status | database NUL | text`. What a short text leaves is filled by a catalog name (status code 6), or, one byte, by a database
/// that the event's flags say not to use.
fn query(event: &[u8], header: &Header, checksum: Checksum, text: &[u8], out: &mut Vec<u8>) -> Sent {
    let room = event.len() - Header::LEN - checksum.len();
    let Some(spare) = room.checked_sub(QUERY_FIXED + text.len()) else { return Sent::Impossible };
    let (status, database) = match spare {
        0 => (0, 0),
        1 => (0, 1),
        2..=257 => (spare, 0),
        _ => return Sent::Impossible,
    };
    begin(event, EventKind::QUERY, header.flags | header_flags::SUPPRESS_USE, out);
    out.put_u32(0);
    out.put_u32(0);
    out.put_u8(database);
    out.put_u16(0);
    out.put_u16(status as u16);
    if status > 0 {
        out.put_u8(6);
        out.put_u8((status - 2) as u8);
        out.resize(out.len() + status - 2, b' ');
    }
    out.resize(out.len() + usize::from(database), b' ');
    out.put_u8(0);
    out.put(text);
    finish(out, checksum);
    Sent::Instead
}

/// `name length u32 | name | is NULL u8`.
fn user_variable(event: &[u8], header: &Header, checksum: Checksum, out: &mut Vec<u8>) -> Sent {
    let room = event.len() - Header::LEN - checksum.len();
    let Some(length) = room.checked_sub(5) else { return Sent::Impossible };
    begin(event, EventKind::USER_VAR, header.flags | header_flags::SUPPRESS_USE, out);
    out.put_u32(length as u32);
    let name = b"!dummyvar";
    out.extend((0..length).map(|i| name.get(i).copied().unwrap_or(b'r')));
    out.put_u8(1);
    finish(out, checksum);
    Sent::Instead
}

fn begin(event: &[u8], kind: EventKind, flags: u16, out: &mut Vec<u8>) {
    out.clear();
    out.put(&event[..Header::LEN]);
    out[4] = kind.0;
    out[17..19].copy_from_slice(&flags.to_le_bytes());
}

fn finish(out: &mut Vec<u8>, checksum: Checksum) {
    if !checksum.is_empty() {
        let crc = crc32(out);
        out.put_u32(crc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Gtid;
    use event_format::{Annotate, BinlogCheckpoint, GtidList, Query, Stamp, Xa, write};

    fn stamp() -> Stamp {
        Stamp { timestamp: 9, server_id: 1, ..Stamp::default() }
    }
    fn written(event: &Event<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, &stamp(), event, Checksum::Crc32);
        out
    }
    fn gtid(flags: u8) -> Vec<u8> {
        let commit_id = u64::from(flags & gtid_flags::GROUP_COMMIT_ID != 0) * 5;
        written(&Event::Gtid(GtidEvent { seq_no: 4, flags, commit_id, ..GtidEvent::default() }))
    }
    fn sent(event: &[u8], capability: Capability, annotate: bool) -> (Sent, Vec<u8>) {
        let mut out = Vec::new();
        (mimic(event, Checksum::Crc32, capability, annotate, &mut out).unwrap(), out)
    }

    #[test]
    fn old_clients_see_begin_and_comments_of_the_same_length() {
        for flags in [gtid_flags::TRANSACTIONAL, gtid_flags::TRANSACTIONAL | gtid_flags::GROUP_COMMIT_ID] {
            let event = gtid(flags);
            let (what, instead) = sent(&event, Capability::Unknown, false);
            assert_eq!((what, instead.len()), (Sent::Instead, event.len()));
            let (header, read) = event_format::read(&instead, Checksum::Crc32).unwrap();
            assert_eq!(header.flags, header_flags::SUPPRESS_USE);
            let Event::Query(Query { sql, .. }) = read else { panic!("{read:?}") };
            assert_eq!(&*sql, b"BEGIN");
        }
        let event = gtid(gtid_flags::STANDALONE);
        let (what, instead) = sent(&event, Capability::Unknown, false);
        assert_eq!((what, instead.len()), (Sent::Instead, event.len()));
        assert!(instead.windows(5).any(|w| w == b"# Dum"));
        let annotate = written(&Event::Annotate(Annotate { text: &[b'x'; 700] }));
        let (what, instead) = sent(&annotate, Capability::Unknown, false);
        assert_eq!((what, instead.len()), (Sent::Instead, annotate.len()));
        assert_eq!(sent(&annotate, Capability::Annotate, true).0, Sent::AsItIs);
    }

    #[test]
    fn lists_become_user_variables_as_a_real_server_writes_them() {
        let list = written(&Event::GtidList(GtidList::default()));
        let (what, instead) = sent(&list, Capability::Unknown, false);
        assert_eq!(what, Sent::Instead);
        assert_eq!(instead[Header::LEN..instead.len() - 4], [1, 0, 0, 0, b'!', 1]);
        let checkpoint = written(&Event::BinlogCheckpoint(BinlogCheckpoint { file: b"bin.000001" }));
        let (what, instead) = sent(&checkpoint, Capability::Annotate, false);
        assert_eq!(what, Sent::Instead);
        assert_eq!(instead[Header::LEN..instead.len() - 4], *b"\x09\0\0\0!dummyvar\x01");
        assert_eq!(sent(&checkpoint, Capability::Checkpoint, false).0, Sent::AsItIs);
        assert_eq!(sent(&checkpoint, Capability::TolerateHoles, false).0, Sent::Nothing);
    }

    #[test]
    fn clients_that_bear_holes_get_less_and_new_ones_everything() {
        let list = written(&Event::GtidList(GtidList { flags: 0, gtids: vec![Gtid::default()] }));
        assert_eq!(sent(&list, Capability::TolerateHoles, false).0, Sent::Nothing);
        assert_eq!(sent(&list, Capability::Gtid, false).0, Sent::AsItIs);
        assert_eq!(sent(&gtid(gtid_flags::STANDALONE), Capability::Checkpoint, false).0, Sent::Nothing);
        assert_eq!(sent(&gtid(gtid_flags::TRANSACTIONAL), Capability::Gtid, false).0, Sent::AsItIs);
    }

    #[test]
    fn a_prepared_transaction_cannot_be_replaced() {
        let xa = Some(Xa { format_id: 1, gtrid: b"a", bqual: b"" });
        let event =
            written(&Event::Gtid(GtidEvent { flags: gtid_flags::PREPARED_XA, xa, ..GtidEvent::default() }));
        assert_eq!(sent(&event, Capability::Unknown, false).0, Sent::Impossible);
    }
}
