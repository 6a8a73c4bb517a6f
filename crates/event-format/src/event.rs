//! Every event by its kind, and the frame around it: header, body, checksum.

use base::{Corruption, Put, Reader};

use crate::header::{Checksum, Header, Stamp, crc32, header_flags};
use crate::{
    Annotate, BeginLoad, BinlogCheckpoint, DeleteFile, EventKind, ExecuteLoad, FormatDescription, GtidEvent,
    GtidList, Heartbeat, Incident, IntVar, LoadBlock, Query, Rand, Rotate, Rows, StartEncryption, TableMap,
    UserVar, XaPrepare,
};

/// An event's body. A compressed event decodes to what it holds, with `compressed` set there.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    FormatDescription(FormatDescription<'a>),
    Rotate(Rotate<'a>),
    Stop,
    GtidList(GtidList),
    BinlogCheckpoint(BinlogCheckpoint<'a>),
    Gtid(GtidEvent<'a>),
    Query(Query<'a>),
    Annotate(Annotate<'a>),
    TableMap(TableMap<'a>),
    Rows(Rows<'a>),
    /// The end of a transactional group: the number that the primary gave the transaction.
    Xid(u64),
    XaPrepare(XaPrepare<'a>),
    IntVar(IntVar),
    Rand(Rand),
    UserVar(UserVar<'a>),
    Heartbeat(Heartbeat<'a>),
    StartEncryption(StartEncryption<'a>),
    Incident(Incident<'a>),
    BeginLoad(BeginLoad<'a>),
    AppendBlock(LoadBlock<'a>),
    ExecuteLoad(ExecuteLoad<'a>),
    DeleteFile(DeleteFile),
    /// A kind that is not known here: its body.
    Unknown(EventKind, &'a [u8]),
}

impl<'a> Event<'a> {
    pub fn kind(&self) -> EventKind {
        match self {
            Self::FormatDescription(_) => EventKind::FORMAT_DESCRIPTION,
            Self::Rotate(_) => EventKind::ROTATE,
            Self::Stop => EventKind::STOP,
            Self::GtidList(_) => EventKind::GTID_LIST,
            Self::BinlogCheckpoint(_) => EventKind::BINLOG_CHECKPOINT,
            Self::Gtid(_) => EventKind::GTID,
            Self::Query(e) => e.kind(),
            Self::Annotate(_) => EventKind::ANNOTATE,
            Self::TableMap(_) => EventKind::TABLE_MAP,
            Self::Rows(e) => e.kind(),
            Self::Xid(_) => EventKind::XID,
            Self::XaPrepare(_) => EventKind::XA_PREPARE,
            Self::IntVar(_) => EventKind::INTVAR,
            Self::Rand(_) => EventKind::RAND,
            Self::UserVar(_) => EventKind::USER_VAR,
            Self::Heartbeat(_) => EventKind::HEARTBEAT,
            Self::StartEncryption(_) => EventKind::START_ENCRYPTION,
            Self::Incident(_) => EventKind::INCIDENT,
            Self::BeginLoad(_) => EventKind::BEGIN_LOAD_QUERY,
            Self::AppendBlock(_) => EventKind::APPEND_BLOCK,
            Self::ExecuteLoad(_) => EventKind::EXECUTE_LOAD_QUERY,
            Self::DeleteFile(_) => EventKind::DELETE_FILE,
            Self::Unknown(kind, _) => *kind,
        }
    }

    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::FormatDescription(e) => e.encode(out),
            Self::Rotate(e) => e.encode(out),
            Self::Stop => {}
            Self::GtidList(e) => e.encode(out),
            Self::BinlogCheckpoint(e) => e.encode(out),
            Self::Gtid(e) => e.encode(out),
            Self::Query(e) => e.encode(out),
            Self::Annotate(e) => out.put(e.text),
            Self::TableMap(e) => e.encode(out),
            Self::Rows(e) => e.encode(out),
            Self::Xid(xid) => out.put_u64(*xid),
            Self::XaPrepare(e) => e.encode(out),
            Self::IntVar(e) => e.encode(out),
            Self::Rand(e) => e.encode(out),
            Self::UserVar(e) => e.encode(out),
            Self::Heartbeat(e) => out.put(e.file),
            Self::StartEncryption(e) => e.encode(out),
            Self::Incident(e) => e.encode(out),
            Self::BeginLoad(e) => e.0.encode(out),
            Self::AppendBlock(e) => e.encode(out),
            Self::ExecuteLoad(e) => e.encode(out),
            Self::DeleteFile(e) => out.put_u32(e.file_id),
            Self::Unknown(_, body) => out.put(body),
        }
    }

    /// Reads a body of that kind, without header and checksum.
    pub fn decode(kind: EventKind, body: &'a [u8]) -> Result<Self, Corruption> {
        let mut reader = Reader::new(body);
        let r = &mut reader;
        let event = match kind {
            EventKind::FORMAT_DESCRIPTION => Self::FormatDescription(FormatDescription::decode(r)?),
            EventKind::ROTATE => Self::Rotate(Rotate::decode(r)?),
            EventKind::STOP => Self::Stop,
            EventKind::GTID_LIST => Self::GtidList(GtidList::decode(r)?),
            EventKind::BINLOG_CHECKPOINT => Self::BinlogCheckpoint(BinlogCheckpoint::decode(r)?),
            EventKind::GTID => Self::Gtid(GtidEvent::decode(r)?),
            EventKind::QUERY => Self::Query(Query::decode(r, false)?),
            EventKind::QUERY_COMPRESSED => Self::Query(Query::decode(r, true)?),
            EventKind::ANNOTATE => Self::Annotate(Annotate { text: take_rest(r) }),
            EventKind::TABLE_MAP => Self::TableMap(TableMap::decode(r)?),
            EventKind::XID => Self::Xid(r.u64("xid")?),
            EventKind::XA_PREPARE => Self::XaPrepare(XaPrepare::decode(r)?),
            EventKind::INTVAR => Self::IntVar(IntVar::decode(r)?),
            EventKind::RAND => Self::Rand(Rand::decode(r)?),
            EventKind::USER_VAR => Self::UserVar(UserVar::decode(r)?),
            EventKind::HEARTBEAT => Self::Heartbeat(Heartbeat { file: take_rest(r) }),
            EventKind::START_ENCRYPTION => Self::StartEncryption(StartEncryption::decode(r)?),
            EventKind::INCIDENT => Self::Incident(Incident::decode(r)?),
            EventKind::BEGIN_LOAD_QUERY => Self::BeginLoad(BeginLoad(LoadBlock::decode(r)?)),
            EventKind::APPEND_BLOCK => Self::AppendBlock(LoadBlock::decode(r)?),
            EventKind::EXECUTE_LOAD_QUERY => Self::ExecuteLoad(ExecuteLoad::decode(r)?),
            EventKind::DELETE_FILE => Self::DeleteFile(DeleteFile { file_id: r.u32("file id")? }),
            _ => match Rows::decode(kind, r)? {
                Some(rows) => Self::Rows(rows),
                None => Self::Unknown(kind, take_rest(r)),
            },
        };
        reader.finish("end of event")?;
        Ok(event)
    }
}

/// All that has not been read.
pub(crate) fn take_rest<'a>(r: &mut Reader<'a>) -> &'a [u8] {
    let rest = r.rest();
    *r = Reader::new(&rest[rest.len()..]);
    rest
}

/// Appends a whole event and returns its length. A FORMAT_DESCRIPTION always has a checksum; `checksum` is that of the others.
pub fn write(out: &mut Vec<u8>, stamp: &Stamp, event: &Event<'_>, checksum: Checksum) -> usize {
    let checksum = match event {
        Event::FormatDescription(format) => format.own_checksum(),
        _ => checksum,
    };
    write_with(out, stamp, event.kind(), checksum, |out| event.encode(out))
}

/// Appends an event whose body is there as bytes.
pub fn write_opaque(
    out: &mut Vec<u8>,
    stamp: &Stamp,
    kind: EventKind,
    body: &[u8],
    checksum: Checksum,
) -> usize {
    write_with(out, stamp, kind, checksum, |out| out.put(body))
}

fn write_with(
    out: &mut Vec<u8>,
    stamp: &Stamp,
    kind: EventKind,
    checksum: Checksum,
    body: impl FnOnce(&mut Vec<u8>),
) -> usize {
    let start = begin(out, stamp, kind);
    body(out);
    finish(out, start, stamp.end, checksum)
}

/// Appends the header of an event that [`finish`] will complete; returns where it starts.
pub(crate) fn begin(out: &mut Vec<u8>, stamp: &Stamp, kind: EventKind) -> usize {
    let start = out.len();
    let Stamp { timestamp, server_id, flags, .. } = *stamp;
    Header { timestamp, kind, server_id, length: 0, next_position: 0, flags }.encode(out);
    start
}

/// Fills length and position of the event that starts at `start` and ends with the buffer, and appends the checksum.
pub(crate) fn finish(out: &mut Vec<u8>, start: usize, end: crate::End, checksum: Checksum) -> usize {
    let length = out.len() - start + checksum.len();
    assert!(u32::try_from(length).is_ok(), "an event of {length} bytes");
    out[start + 9..start + 13].copy_from_slice(&(length as u32).to_le_bytes());
    out[start + 13..start + 17].copy_from_slice(&end.of(length).to_le_bytes());
    if checksum == Checksum::Crc32 {
        let crc = checksum_of(&out[start..]);
        out.put_u32(crc);
    }
    length
}

/// CRC-32 of header and body; the flag IN_USE of a FORMAT_DESCRIPTION counts as unset.
fn checksum_of(event: &[u8]) -> u32 {
    const FLAGS: usize = 17;
    let in_use = header_flags::IN_USE as u8;
    if event.get(4) != Some(&EventKind::FORMAT_DESCRIPTION.0)
        || event.get(FLAGS).is_none_or(|f| f & in_use == 0)
    {
        return crc32(event);
    }
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32IsoHdlc);
    digest.update(&event[..FLAGS]);
    digest.update(&[event[FLAGS] & !in_use]);
    digest.update(&event[FLAGS + 1..]);
    digest.finalize() as u32
}

/// Gives an event that stands in `event` another position and flags; its checksum follows.
pub fn restamp(event: &mut [u8], next_position: u32, flags: u16, checksum: Checksum) {
    event[13..17].copy_from_slice(&next_position.to_le_bytes());
    event[17..19].copy_from_slice(&flags.to_le_bytes());
    if checksum == Checksum::Crc32 {
        let body_end = event.len() - checksum.len();
        let crc = checksum_of(&event[..body_end]);
        event[body_end..].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Bytes of the event that starts with `bytes`; `None` when there is not even a header.
pub fn event_length(bytes: &[u8]) -> Result<Option<usize>, Corruption> {
    if bytes.len() < Header::LEN {
        return Ok(None);
    }
    Ok(Some(Header::read(bytes)?.length as usize))
}

/// Reads a whole event: `bytes` is exactly it. `checksum` is that of the FORMAT_DESCRIPTION before, which says its own.
pub fn read(bytes: &[u8], checksum: Checksum) -> Result<(Header, Event<'_>), Corruption> {
    let header = Header::read(bytes)?;
    let (kind, place) = (header.kind, format_args!("{} event", header.kind).to_string());
    if header.length as usize != bytes.len() {
        return Err(Corruption::new(place, "event length", bytes.len(), header.length));
    }
    let body = body(bytes, &header, checksum).map_err(|found| found.within(&place))?;
    Event::decode(kind, body).map(|event| (header, event)).map_err(|found| found.within(&place))
}

/// Reads a whole event whose checksum is not looked at: mariadb-binlog leaves the old one where it changes an event.
pub fn read_unverified(bytes: &[u8], checksum: Checksum) -> Result<(Header, Event<'_>), Corruption> {
    let header = Header::read(bytes)?;
    let place = format_args!("{} event", header.kind).to_string();
    if header.length as usize != bytes.len() {
        return Err(Corruption::new(place, "event length", bytes.len(), header.length));
    }
    let body = split(bytes, &header, checksum).map_err(|found| found.within(&place))?.0;
    Event::decode(header.kind, body).map(|event| (header, event)).map_err(|found| found.within(&place))
}

/// Body and checksum of a whole event.
fn split<'a>(
    bytes: &'a [u8],
    header: &Header,
    checksum: Checksum,
) -> Result<(&'a [u8], &'a [u8], Checksum), Corruption> {
    let body = &bytes[Header::LEN..];
    let checksum = match header.kind {
        EventKind::FORMAT_DESCRIPTION => FormatDescription::checksum_of_itself(body),
        _ => checksum,
    };
    let (body, stored) = body
        .split_at_checked(body.len().wrapping_sub(checksum.len()))
        .ok_or_else(|| Corruption::new("", "checksum", "4 bytes", body.len()))?;
    Ok((body, stored, checksum))
}

/// The body of a whole event, its checksum verified.
fn body<'a>(bytes: &'a [u8], header: &Header, checksum: Checksum) -> Result<&'a [u8], Corruption> {
    let (body, stored, checksum) = split(bytes, header, checksum)?;
    if checksum == Checksum::Crc32 {
        let expected = checksum_of(&bytes[..Header::LEN + body.len()]);
        if stored != expected.to_le_bytes() {
            return Err(Corruption::new(
                "",
                "checksum",
                format_args!("{expected:#010x}"),
                format_args!("{:#010x}", u32::from_le_bytes(stored.try_into().unwrap_or_default())),
            ));
        }
    }
    Ok(body)
}
