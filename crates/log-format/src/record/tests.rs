//! Golden bytes, round trips and damage for every record type.

use super::*;
use base::{Gtid, IndexId, PageId, PageNo, SpaceId, TableId};
use page_format::{PageKind, PageOp, RawRecords, SplicesBuf, Stamp};
use proptest::prelude::*;

const LSN: Lsn = Lsn(100_000);
const TRX: TrxId = TrxId(1000);
const KEY: &[u8] = b"\x80\0\0\x01";

fn part(op: PageOp<'_>) -> PagePart<'_> {
    PagePart { page: PageId::new(SpaceId(5), PageNo(300)), previous: Lsn(99_000), op }
}

fn version() -> PreviousVersion {
    PreviousVersion { trx: TrxId(998), roll: Lsn(98_000) }
}

/// The head of row records: trx 1000, previous record 10 bytes before, table 7, version 1.
const HEAD: &[u8] = &[0xe8, 7, 10, 7, 1];
/// A part's page: space 5, page 300, previous LSN 1000 bytes before.
const PAGE: &[u8] = &[5, 0xac, 2, 0xe8, 7];
/// Two transactions before, 2000 bytes before.
const VERSION: &[u8] = &[4, 0xd0, 15];

fn bytes(code: u8, flags: u8, fields: &[&[u8]]) -> Vec<u8> {
    let body = fields.concat();
    let mut out = Vec::new();
    out.put_varint(body.len() as u64 + 2);
    out.extend_from_slice(&[code, flags]);
    out.extend_from_slice(&body);
    out
}

const KEY_FIELD: &[u8] = &[4, 0x80, 0, 0, 1];

fn insert_records() -> Vec<(Record<'static>, Vec<u8>)> {
    let (trx, previous, table, table_version) = (TRX, LSN_BEFORE, TableId(7), 1);
    let stamp = Stamp::Own(TRX);
    let insert = PageOp::InsertRow { slot: 9, flags: 0, stamp, key: KEY, body: b"body" };
    let replace = PageOp::ReplaceRow { slot: 9, flags: 2, stamp, body: b"body" };
    let over = OverDeleted { version: version(), key: KEY, body: Some(b"old") };
    vec![
        (
            Record::RowInsert(RowInsert {
                trx,
                previous,
                table,
                table_version,
                announce: None,
                flags: row_flags::REPLICATE,
                part: part(insert),
                over: None,
            }),
            bytes(1, 1, &[HEAD, PAGE, &[3, 9], KEY_FIELD, b"\x04body"]),
        ),
        (
            Record::RowInsert(RowInsert {
                trx,
                previous,
                table,
                table_version,
                announce: None,
                flags: row_flags::STARTS_STATEMENT,
                part: part(replace),
                over: Some(over),
            }),
            bytes(1, 0x32, &[HEAD, PAGE, &[0x86, 9], b"\x04body", VERSION, KEY_FIELD, b"\x03old"]),
        ),
    ]
}

fn change_records(splices: &SplicesBuf) -> Vec<(Record<'_>, Vec<u8>)> {
    let (trx, previous, table, table_version, key) = (TRX, LSN_BEFORE, TableId(7), 1, KEY);
    let stamp = Stamp::Own(TRX);
    let update = PageOp::UpdateRow { slot: 200, flags: 0, stamp, splices: splices.splices() };
    let mark = PageOp::MarkRow { slot: 9, deleted: true, stamp };
    vec![
        (
            Record::RowUpdate(RowUpdate {
                trx,
                previous,
                table,
                table_version,
                announce: None,
                flags: row_flags::REPLICATE,
                part: part(update),
                version: version(),
                key,
                before: Before::Full(b"old body"),
                context: None,
            }),
            bytes(
                2,
                0x21,
                &[HEAD, PAGE, &[4, 0xc8, 1], b"\x01\0\x03\x03new", VERSION, KEY_FIELD, b"\x08old body"],
            ),
        ),
        (
            Record::RowUpdate(RowUpdate {
                trx,
                previous,
                table,
                table_version,
                announce: None,
                flags: 0,
                part: part(update),
                version: version(),
                key,
                before: Before::Removed(b"old"),
                context: None,
            }),
            bytes(2, 0, &[HEAD, PAGE, &[4, 0xc8, 1], b"\x01\0\x03\x03new", VERSION, KEY_FIELD, b"\x03old"]),
        ),
        (
            Record::RowUpdate(RowUpdate {
                trx,
                previous,
                table,
                table_version,
                announce: Some(Announce { definition: Lsn(99_000), options: 0, written: b"\x05" }),
                flags: 0,
                part: part(update),
                version: version(),
                key,
                before: Before::Removed(b"old"),
                context: Some(b"\0\x01x"),
            }),
            bytes(
                2,
                0xd0,
                &[
                    HEAD,
                    &[0xe8, 7, 0],
                    b"\x01\x05",
                    PAGE,
                    &[4, 0xc8, 1],
                    b"\x01\0\x03\x03new",
                    VERSION,
                    KEY_FIELD,
                    b"\x03old",
                    b"\x03\0\x01x",
                ],
            ),
        ),
        (
            Record::RowDelete(RowDelete {
                trx,
                previous,
                table,
                table_version,
                announce: Some(Announce { definition: Lsn(99_000), options: 6, written: &[] }),
                flags: row_flags::KEY_UPDATE,
                part: part(mark),
                version: version(),
                key,
                before: Some(b"body"),
                context: None,
            }),
            bytes(3, 0x64, &[HEAD, &[0xe8, 7, 6], PAGE, &[0x45, 9], VERSION, KEY_FIELD, b"\x04body"]),
        ),
    ]
}

const LSN_BEFORE: Lsn = Lsn(99_990);

fn page_records() -> Vec<(Record<'static>, Vec<u8>)> {
    let (trx, previous, index) = (TRX, LSN_BEFORE, IndexId(3));
    let insert = PageOp::InsertKey { slot: 1, deleted: false, trx, key: b"entry" };
    let mark = PageOp::MarkKey { slot: 1, deleted: true, trx };
    let restored = Stamp::Restored { trx: TrxId(4), roll: Lsn(99_999) };
    let bits = PageOp::SetBits { first: 12, count: 1, used: true };
    let chunk = PageOp::FormatOverflow {
        page: part(bits).page,
        index,
        next: PageNo::NONE,
        next_lsn: Lsn::NONE,
        bytes: b"chunk",
    };
    let unmark = PageOp::MarkRow { slot: 2, deleted: false, stamp: restored };
    let trx_head: &[u8] = &[0xe8, 7, 10];
    vec![
        (
            Record::SecIndex(SecIndex { trx, previous, index, part: part(insert), key: b"entry" }),
            bytes(4, 0, &[trx_head, &[3], PAGE, b"\x07\x01\x05entry"]),
        ),
        (
            Record::SecIndex(SecIndex { trx, previous, index, part: part(mark), key: b"entry" }),
            bytes(4, 0x40, &[trx_head, &[3], PAGE, b"\x48\x01\x05entry"]),
        ),
        (
            Record::Overflow(Overflow { trx, previous, parts: [part(bits), part(chunk)] }),
            bytes(5, 0, &[trx_head, PAGE, &[0x4f, 12, 1], PAGE, &[2, 3, 0, 0], b"\x05chunk"]),
        ),
        (
            Record::RowUndo(RowUndo { trx, undone: LSN_BEFORE, undo_next: Lsn(99_900), part: part(unmark) }),
            bytes(6, 0, &[trx_head, &[100], PAGE, &[0x25, 2, 4, 1]]),
        ),
        (
            Record::System(System { parts: system_parts() }),
            bytes(
                7,
                0,
                &[
                    &[8],
                    PAGE,
                    &[1, 5, 1, 3, 8, 0],
                    PAGE,
                    &[9, 1],
                    PAGE,
                    &[10, 0, 2],
                    PAGE,
                    b"\x0b\x01\x08\x03sep",
                    PAGE,
                    &[12, 1, 9],
                    PAGE,
                    &[0xcd, 0, 8],
                    PAGE,
                    b"\x0e\x00\x09\x02\x07\x03\0ab\x02\0c",
                    PAGE,
                    &[16, 99],
                ],
            ),
        ),
    ]
}

fn system_parts() -> Vec<PagePart<'static>> {
    let page = PageId::new(SpaceId(5), PageNo(300));
    let records = RawRecords::new(2, b"\x03\0ab\x02\0c").unwrap();
    let (kind, left, right) = (PageKind::Inner, PageNo(7), PageNo::NONE);
    [
        PageOp::Format { page, kind, level: 1, index: IndexId(3), left, right },
        PageOp::Remove { slot: 1, count: 1 },
        PageOp::Remove { slot: 0, count: 2 },
        PageOp::InsertChild { slot: 1, child: PageNo(8), key: b"sep" },
        PageOp::SetChild { slot: 1, child: PageNo(9) },
        PageOp::SetLinks { left: Some(PageNo::NONE), right: Some(PageNo(7)) },
        PageOp::InsertRaw { slot: 0, max_trx: TrxId(9), records },
        PageOp::SetCounter { value: 99 },
    ]
    .map(part)
    .into()
}

fn course_records() -> Vec<(Record<'static>, Vec<u8>)> {
    let (trx, previous, last) = (TRX, LSN_BEFORE, LSN_BEFORE);
    let gtid = Gtid { domain_id: 0, server_id: 1, seq_no: 300 };
    let (first, extents) = (Lsn(99_900), Lsn::NONE);
    let trx_head: &[u8] = &[0xe8, 7, 10];
    let xid = Xid { format_id: -1, gtrid: b"g", bqual: b"" };
    let active = ActiveTrx { trx, first, last, state: TrxState::Prepared };
    let next = NextIds { trx: TrxId(1001), table: TableId(8), index: IndexId(9), space: SpaceId(6) };
    let gtids = GtidState { gtids: vec![gtid], ..GtidState::default() };
    let gtid_bytes: &[u8] = &[0, 1, 0xac, 2];
    vec![
        (
            Record::Commit(Commit {
                trx,
                first,
                last,
                extents,
                time: 5,
                flags: commit_flags::DDL,
                gtid: Some(gtid),
                thread_id: 9,
            }),
            bytes(8, 0x81, &[&[0xe8, 7, 100, 10, 0, 5], gtid_bytes, &[9]]),
        ),
        (
            Record::Commit(Commit {
                trx,
                first,
                last,
                extents,
                time: 300,
                flags: 0,
                gtid: None,
                thread_id: 0,
            }),
            bytes(8, 0, &[&[0xe8, 7, 100, 10, 0, 0xac, 2]]),
        ),
        (Record::Abort(Abort { trx, last }), bytes(9, 0, &[trx_head])),
        (Record::Savepoint(Savepoint { trx, previous, body: b"xy" }), bytes(10, 0, &[trx_head, &[2], b"xy"])),
        (Record::RollbackTo(RollbackTo { trx, undo_next: previous }), bytes(11, 0, &[trx_head])),
        (
            Record::Extents(Extents { trx, before: first, records: vec![previous, Lsn(99_980)] }),
            bytes(12, 0, &[&[0xe8, 7, 100, 2, 10, 10]]),
        ),
        (
            Record::Prepare(Prepare {
                trx,
                first,
                last,
                extents,
                time: 5,
                flags: commit_flags::WAITED,
                xid,
                gtid: Some(gtid),
                thread_id: 9,
            }),
            bytes(13, 0x88, &[&[0xe8, 7, 100, 10, 0, 5, 1], b"\x01g\0", gtid_bytes, &[9]]),
        ),
        (
            Record::Statement(Statement { trx, previous, base: previous, packed: b"DELETE" }),
            bytes(14, 0, &[trx_head, b"\x0a\x06DELETE"]),
        ),
        (
            Record::Event(Event { trx, previous, time: 300, event_type: 2, event_flags: 8, body: b"query" }),
            bytes(15, 0, &[trx_head, b"\xac\x02\x02\x08\x05query"]),
        ),
        (
            Record::TableDef(TableDef { table: TableId(7), version: 1, definition: b"def" }),
            bytes(16, 0, b"\x07\x01\x03def".chunks(6).collect::<Vec<_>>().as_slice()),
        ),
        (Record::GtidState(gtids.clone()), bytes(17, 0, &[&[0, 0, 1], gtid_bytes])),
        (
            Record::GtidState(GtidState { at: last, needs: first, replaces: true, ..gtids.clone() }),
            bytes(17, 1, &[&[10, 100, 1], gtid_bytes]),
        ),
        (
            Record::LongValue(LongValue { trx, previous, column: 3, bytes: b"piece" }),
            bytes(19, 0, &[trx_head, b"\x03\x05piece"]),
        ),
        (
            Record::Checkpoint(Checkpoint {
                redo_start: first,
                purge_position: previous,
                next,
                active: vec![active],
                gtids,
                extension: b"later",
            }),
            bytes(
                18,
                0,
                &[&[100, 10, 0xe9, 7, 8, 9, 6, 1, 0xe8, 7, 100, 10, 1], &[0, 0, 1], gtid_bytes, b"\x05later"],
            ),
        ),
    ]
}

fn with_all(mut visit: impl FnMut(&Record<'_>, &[u8])) {
    let mut splices = SplicesBuf::new();
    splices.diff(b"old body", b"new body");
    let all = [insert_records(), change_records(&splices), page_records(), course_records()].concat();
    let types: std::collections::HashSet<_> = all.iter().map(|(record, _)| record.record_type()).collect();
    assert_eq!(types.len(), RecordType::ALL.len());
    all.iter().for_each(|(record, bytes)| visit(record, bytes));
}

#[test]
fn every_record_is_these_bytes() {
    with_all(|record, expected| {
        let mut out = b"before".to_vec();
        record.encode(LSN, &mut out);
        assert_eq!(&out[6..], expected, "{record:?}");
        assert_eq!(Record::decode(LSN, expected).as_ref(), Ok(record));
        let envelope = Envelope::decode(LSN, expected).unwrap();
        assert_eq!((envelope.record_type, envelope.size), (record.record_type(), expected.len()));
    });
}

#[test]
fn a_cut_or_lengthened_record_is_corruption() {
    with_all(|record, bytes| {
        for end in 0..bytes.len() {
            assert!(Record::decode(LSN, &bytes[..end]).is_err(), "{record:?} cut at {end}");
        }
        let longer = [bytes, &[0]].concat();
        assert!(Record::decode(LSN, &longer).is_err(), "{record:?}");
    });
}

#[test]
fn lengths_of_one_two_and_three_bytes_round_trip() {
    for size in
        [0, 100, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 16_000, 16_380, 16_390]
    {
        let text = vec![b'x'; size];
        let record =
            Record::Statement(Statement { trx: TRX, previous: LSN_BEFORE, base: Lsn::NONE, packed: &text });
        let mut out = Vec::new();
        record.encode(LSN, &mut out);
        assert_eq!(Record::decode(LSN, &out), Ok(record), "{size}");
        assert_eq!(
            out.len() - base::varint_len(out.len() as u64 - 2),
            size + 6 + base::varint_len(size as u64)
        );
    }
}

#[test]
fn an_update_gives_its_old_body_back() {
    let mut splices = SplicesBuf::new();
    splices.diff(b"old body", b"new body");
    for (record, _) in change_records(&splices) {
        if let Record::RowUpdate(update) = record {
            let mut old = Vec::new();
            update.old_body(b"new body", &mut old).unwrap();
            assert_eq!(old, b"old body");
        }
    }
}

/// Must show 2: a transaction of oltp_write_only with full row images.
#[test]
fn a_sysbench_write_transaction_is_about_1200_bytes() {
    // Millions of transactions and gigabytes of log behind us; pages changed some 100 KB ago.
    let (lsn, trx) = (Lsn(5 << 30), TrxId(3_000_000));
    let page = |no: u32, op| PagePart {
        page: PageId::new(SpaceId(9), PageNo(no)),
        previous: lsn_minus(lsn, 90_000),
        op,
    };
    let stamp = Stamp::Own(trx);
    let version = PreviousVersion { trx: TrxId(2_900_000), roll: lsn_minus(lsn, 100_000_000) };
    let (table, table_version, index, key) = (TableId(21), 1, IndexId(44), KEY);
    let previous = lsn_minus(lsn, 250);
    let old = vec![b'c'; 190];
    let (update_k, update_c) = (filled(&old, 5..9), filled(&old, 9..129));
    let update = |splices| {
        let op = PageOp::UpdateRow { slot: 50, flags: 0, stamp, splices };
        let (part, before) = (page(900, op), Before::Full(&old));
        Record::RowUpdate(RowUpdate {
            trx,
            previous,
            table,
            table_version,
            announce: None,
            flags: 1,
            part,
            version,
            key,
            before,
            context: None,
        })
    };
    let delete = |before| {
        let part = page(800, PageOp::MarkRow { slot: 50, deleted: true, stamp });
        Record::RowDelete(RowDelete {
            trx,
            previous,
            table,
            table_version,
            announce: None,
            flags: 1,
            part,
            version,
            key,
            before,
            context: None,
        })
    };
    let over = Some(OverDeleted { version: PreviousVersion { trx, roll: previous }, key, body: None });
    let part = page(800, PageOp::ReplaceRow { slot: 50, flags: 0, stamp, body: &old });
    let insert = Record::RowInsert(RowInsert {
        trx,
        previous,
        table,
        table_version,
        announce: None,
        flags: 1,
        part,
        over,
    });
    let entry = b"12345678";
    let enter = PageOp::InsertKey { slot: 500, deleted: false, trx, key: entry };
    let leave = PageOp::MarkKey { slot: 500, deleted: true, trx };
    let secondary =
        |op| Record::SecIndex(SecIndex { trx, previous, index, part: page(1200, op), key: entry });
    let purge = Record::System(System { parts: vec![page(1200, PageOp::Remove { slot: 500, count: 1 })] });
    let records = [
        update(update_k.splices()),
        secondary(leave),
        secondary(enter),
        update(update_c.splices()),
        delete(Some(&old)),
        secondary(leave),
        insert,
        secondary(enter),
        commit(lsn, trx),
        purge.clone(),
        purge,
    ];
    let sizes: Vec<usize> = records.iter().map(|record| encoded(record, lsn).len()).collect();
    let total: usize = sizes.iter().sum();
    assert!((1000..1300).contains(&total), "{total}: {sizes:?}");
}

fn filled(old: &[u8], range: std::ops::Range<usize>) -> SplicesBuf {
    let (mut new, mut splices) = (old.to_vec(), SplicesBuf::new());
    new[range].fill(b'd');
    splices.diff(old, &new);
    splices
}

fn commit(lsn: Lsn, trx: TrxId) -> Record<'static> {
    let gtid = Some(Gtid { domain_id: 0, server_id: 1, seq_no: 3_000_000 });
    let (first, last, extents) = (lsn_minus(lsn, 1200), lsn_minus(lsn, 30), Lsn::NONE);
    Record::Commit(Commit {
        trx,
        first,
        last,
        extents,
        time: 1_800_000_000_000_000,
        flags: 0,
        gtid,
        thread_id: 0,
    })
}

fn lsn_minus(lsn: Lsn, bytes: u64) -> Lsn {
    Lsn(lsn.0 - bytes)
}

fn encoded(record: &Record<'_>, lsn: Lsn) -> Vec<u8> {
    let mut out = Vec::new();
    record.encode(lsn, &mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_never_panic_and_what_decodes_encodes_again(
        which in 0usize..25, at in any::<usize>(), byte in any::<u8>(), more in proptest::collection::vec(any::<u8>(), 0..3),
    ) {
        let mut damaged = Vec::new();
        let mut count = 0;
        with_all(|_, bytes| {
            if count == which {
                damaged = bytes.to_vec();
            }
            count += 1;
        });
        prop_assert_eq!(count, 25);
        let at = at % damaged.len();
        damaged[at] = byte;
        damaged.splice(at..at, more);
        if let Ok(record) = Record::decode(LSN, &damaged) {
            let again = encoded(&record, LSN);
            prop_assert_eq!(Record::decode(LSN, &again), Ok(record));
        }
    }
}
