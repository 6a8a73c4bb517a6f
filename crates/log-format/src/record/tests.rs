//! Golden bytes, round trips and damage for every record type.

use super::*;
use base::{PageId, PageNo, SpaceId, TableId};
use page_format::PageOp;
use page_format::Stamp;

fn part(op: PageOp<'_>) -> PagePart<'_> {
    PagePart { page: PageId::new(SpaceId(5), PageNo(300)), previous: Lsn(90_000), op }
}

#[test]
fn a_delete_is_these_bytes() {
    let trx = TrxId(1000);
    let record = Record::RowDelete(RowDelete {
        trx,
        previous: Lsn(99_990),
        table: TableId(7),
        table_version: 1,
        flags: row_flags::REPLICATE,
        part: part(PageOp::MarkRow { slot: 9, deleted: true, stamp: Stamp::Own(trx) }),
        version: PreviousVersion { trx: TrxId(998), roll: Lsn(50_000) },
        key: b"\x80\0\0\x01",
        before: Some(b"body"),
    });
    let mut out = Vec::new();
    record.encode(Lsn(100_000), &mut out);
    assert_eq!(Record::decode(Lsn(100_000), &out), Ok(record));
}
