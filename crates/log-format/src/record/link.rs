//! Fields that several records share: LSN links, transaction ids, page parts.

use super::system::PagePart;
use base::{Corruption, Gtid, Lsn, PageId, PageNo, Put, Reader, SpaceId, TrxId};
use page_format::{OpContext, PageOp};

/// An earlier LSN as its distance from the record; 0 = none.
pub(super) fn put_link(out: &mut Vec<u8>, lsn: Lsn, to: Lsn) {
    debug_assert!(to < lsn, "a link must point backwards");
    out.put_varint(if to.is_none() { 0 } else { lsn - to });
}

pub(super) fn take_link(reader: &mut Reader<'_>, lsn: Lsn, field: &'static str) -> Result<Lsn, Corruption> {
    match reader.varint(field)? {
        0 => Ok(Lsn::NONE),
        distance if distance < lsn.0 => Ok(Lsn(lsn.0 - distance)),
        distance => Err(Corruption::new("", field, format_args!("below {lsn}"), distance)),
    }
}

pub(super) fn take_trx(reader: &mut Reader<'_>, field: &'static str) -> Result<TrxId, Corruption> {
    let trx = reader.varint(field)?;
    if trx < 1 << 48 { Ok(TrxId(trx)) } else { Err(Corruption::new("", field, "48 bits", trx)) }
}

pub(super) fn take_u32(reader: &mut Reader<'_>, field: &'static str) -> Result<u32, Corruption> {
    let v = reader.varint(field)?;
    u32::try_from(v).map_err(|_| Corruption::new("", field, "32 bits", v))
}

/// Fails on flags outside `known`.
pub(super) fn known_flags(flags: u8, known: u8) -> Result<u8, Corruption> {
    if flags & !known == 0 {
        return Ok(flags);
    }
    Err(Corruption::new("", "record flags", format_args!("of {known:#04x}"), format_args!("{flags:#04x}")))
}

/// `space varint | page no varint | distance to the page's previous LSN varint | operation`.
pub(super) fn put_part(out: &mut Vec<u8>, lsn: Lsn, trx: TrxId, part: &PagePart<'_>) {
    out.put_varint(u64::from(part.page.space.0));
    out.put_varint(u64::from(part.page.no.0));
    put_link(out, lsn, part.previous);
    part.op.encode(&OpContext { lsn, trx, page: part.page }, out);
}

pub(super) fn take_part<'a>(
    reader: &mut Reader<'a>,
    lsn: Lsn,
    trx: TrxId,
) -> Result<PagePart<'a>, Corruption> {
    let space = SpaceId(take_u32(reader, "space id")?);
    let page = PageId::new(space, PageNo(take_u32(reader, "page no")?));
    let previous = take_link(reader, lsn, "previous LSN of the page")?;
    let op = PageOp::decode(&OpContext { lsn, trx, page }, reader)?;
    Ok(PagePart { page, previous, op })
}

pub(super) fn put_gtid(out: &mut Vec<u8>, gtid: &Gtid) {
    out.put_varint(u64::from(gtid.domain_id));
    out.put_varint(u64::from(gtid.server_id));
    out.put_varint(gtid.seq_no);
}

pub(super) fn take_gtid(reader: &mut Reader<'_>) -> Result<Gtid, Corruption> {
    Ok(Gtid {
        domain_id: take_u32(reader, "GTID domain id")?,
        server_id: take_u32(reader, "GTID server id")?,
        seq_no: reader.varint("GTID sequence number")?,
    })
}
