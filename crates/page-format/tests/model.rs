//! A clustered leaf does what a sorted map does, in any order of operations, and its bytes depend on the operations alone.

use std::collections::BTreeMap;

use base::{IndexId, Lsn, PAGE_SIZE, PageId, PageNo, Reader, SpaceId, TrxId};
use page_format::{
    LeafRecord, OpContext, Page, PageKind, PageOp, PageView, SplicesBuf, Stamp, apply, check, clustered_size,
    validate,
};
use proptest::prelude::*;

const ID: PageId = PageId::new(SpaceId(1), PageNo(9));

#[derive(Debug, Clone)]
enum Step {
    Insert { key: Vec<u8>, body: usize, flags: u8 },
    Update { at: usize, body: usize, byte: u8 },
    Replace { at: usize, body: usize, restored: bool },
    Mark { at: usize, deleted: bool },
    Remove { at: usize, count: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let key = proptest::collection::vec(0u8..4, 0..150);
    let at = any::<usize>;
    prop_oneof![
        5 => (key, 0usize..1200, 0u8..4).prop_map(|(key, body, flags)| Step::Insert { key, body, flags }),
        2 => (at(), 0usize..1200, any::<u8>()).prop_map(|(at, body, byte)| Step::Update { at, body, byte }),
        2 => (at(), 0usize..1200, any::<bool>()).prop_map(|(at, body, restored)| Step::Replace { at, body, restored }),
        1 => (at(), any::<bool>()).prop_map(|(at, deleted)| Step::Mark { at, deleted }),
        2 => (at(), 1usize..4).prop_map(|(at, count)| Step::Remove { at, count }),
    ]
}

#[derive(Debug, Clone, PartialEq)]
struct Row {
    flags: u8,
    trx: TrxId,
    roll: Lsn,
    body: Vec<u8>,
}

struct Leaf {
    page: Box<Page>,
    rows: BTreeMap<Vec<u8>, Row>,
    lsn: Lsn,
}

impl Leaf {
    fn new() -> Self {
        let mut page = Box::new([0xaa; PAGE_SIZE]);
        let (index, none) = (IndexId(5), PageNo::NONE);
        let kind = PageKind::ClusteredLeaf;
        let format = PageOp::Format { page: ID, kind, level: 0, index, left: none, right: none };
        apply(&mut page, &format, Lsn(100)).unwrap();
        Self { page, rows: BTreeMap::new(), lsn: Lsn(100) }
    }

    /// Applies an operation after a trip through its bytes; false when there is no room, which changes nothing.
    fn apply(&mut self, op: &PageOp<'_>, trx: TrxId) -> bool {
        self.lsn = self.lsn + 10;
        let context = OpContext { lsn: self.lsn, trx, page: ID };
        let mut bytes = Vec::new();
        op.encode(&context, &mut bytes);
        let mut reader = Reader::new(&bytes);
        let decoded = PageOp::decode(&context, &mut reader).unwrap();
        assert!(reader.is_empty() && decoded == *op);
        let before = self.page.clone();
        assert_eq!(validate(&self.page, op).is_ok(), apply(&mut self.page, &decoded, self.lsn).is_ok());
        if page_format::header::page_lsn(&self.page) == self.lsn {
            return true;
        }
        assert!(self.page == before);
        false
    }

    fn run(&mut self, step: Step) {
        let trx = TrxId(self.lsn.0 % 7 + 1);
        let own = Row { flags: 0, trx, roll: self.lsn + 10, body: Vec::new() };
        match step {
            Step::Insert { key, body, flags } => {
                let (slot, exact) = PageView::new(&self.page).unwrap().lower_bound(&key).unwrap();
                assert_eq!(exact, self.rows.contains_key(&key));
                if exact {
                    return;
                }
                let body = vec![b'i'; body];
                let room = PageView::new(&self.page).unwrap().has_room(clustered_size(key.len(), body.len()));
                let op = PageOp::InsertRow {
                    slot: slot as u16,
                    flags,
                    stamp: Stamp::Own(trx),
                    key: &key,
                    body: &body,
                };
                assert_eq!(self.apply(&op, trx), room);
                if room {
                    self.rows.insert(key, Row { flags, body, ..own });
                }
            }
            Step::Update { at, body, byte } => {
                let Some((slot, key, old)) = self.row_at(at) else { return };
                let mut new = vec![byte; body];
                let shared = old.body.len().min(body) / 2;
                new[..shared].copy_from_slice(&old.body[..shared]);
                let mut splices = SplicesBuf::new();
                splices.diff(&old.body, &new);
                let stamp = Stamp::Own(trx);
                let op = PageOp::UpdateRow { slot, flags: old.flags, stamp, splices: splices.splices() };
                if self.apply(&op, trx) {
                    self.rows.insert(key, Row { flags: old.flags, body: new, ..own });
                }
            }
            Step::Replace { at, body, restored } => {
                let Some((slot, key, _)) = self.row_at(at) else { return };
                let body = vec![b'r'; body];
                let old_stamp = Stamp::Restored { trx: TrxId(3), roll: Lsn(7) };
                let stamp = if restored { old_stamp } else { Stamp::Own(trx) };
                let op = PageOp::ReplaceRow { slot, flags: 1, stamp, body: &body };
                if self.apply(&op, trx) {
                    let row = if restored { Row { trx: TrxId(3), roll: Lsn(7), ..own } } else { own };
                    self.rows.insert(key, Row { flags: 1, body, ..row });
                }
            }
            Step::Mark { at, deleted } => {
                let Some((slot, key, old)) = self.row_at(at) else { return };
                assert!(self.apply(&PageOp::MarkRow { slot, deleted, stamp: Stamp::Own(trx) }, trx));
                let flags = old.flags & !1 | u8::from(deleted);
                self.rows.insert(key, Row { flags, body: old.body, ..own });
            }
            Step::Remove { at, count } => {
                let Some((slot, _, _)) = self.row_at(at) else { return };
                let count = count.min(self.rows.len() - usize::from(slot));
                assert!(self.apply(&PageOp::Remove { slot, count: count as u16 }, TrxId(0)));
                for _ in 0..count {
                    let key = self.rows.keys().nth(usize::from(slot)).unwrap().clone();
                    self.rows.remove(&key);
                }
            }
        }
    }

    fn row_at(&self, at: usize) -> Option<(u16, Vec<u8>, Row)> {
        let slot = at.checked_rem(self.rows.len())?;
        let (key, row) = self.rows.iter().nth(slot)?;
        Some((slot as u16, key.clone(), row.clone()))
    }

    fn compare(&self) {
        check(&self.page).unwrap();
        let view = PageView::new(&self.page).unwrap();
        assert_eq!(view.slots(), self.rows.len());
        for (slot, (key, row)) in self.rows.iter().enumerate() {
            let Row { flags, trx, roll, ref body } = *row;
            assert_eq!(view.record(slot), Ok(LeafRecord { flags, trx, roll, key, body }));
            assert_eq!(view.lower_bound(key), Ok((slot, true)));
            assert_eq!(view.upper_bound(key), Ok(slot + 1));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_leaf_is_a_sorted_map(steps in proptest::collection::vec(step(), 1..150)) {
        let mut leaf = Leaf::new();
        for step in steps {
            leaf.run(step);
            leaf.compare();
        }
    }

    #[test]
    fn operations_on_garbage_change_all_or_nothing(
        header in proptest::collection::vec(any::<u16>(), 32), tail in proptest::collection::vec(any::<u16>(), 64),
        kind in 0u16..8,
        ops in proptest::collection::vec((0u8..18, 0u8..8, proptest::collection::vec(0u8..9, 1..9)), 1..20),
    ) {
        let mut bytes = Vec::new();
        for (code, flags, operands) in ops {
            bytes.push(code | flags << 5);
            bytes.extend(operands);
        }
        let mut page = [0u8; PAGE_SIZE];
        for (chunk, v) in page.chunks_exact_mut(2).zip(header) {
            chunk.copy_from_slice(&v.to_le_bytes());
        }
        page[12..14].copy_from_slice(&kind.to_le_bytes());
        // Plausible counts, so that the garbage gets further.
        (page[40], page[41]) = (page[40] & 15, 0);
        page[43] &= 0x3f;
        page[45] &= 0x1f;
        for (chunk, v) in page[PAGE_SIZE - 128..].chunks_exact_mut(2).zip(tail) {
            chunk.copy_from_slice(&(v & 0x3fff).to_le_bytes());
        }
        page_format::fuzz_page(&mut page, &bytes);
    }
}

#[test]
fn a_leaf_that_is_full_of_holes_is_compacted_the_same_way_each_time() {
    let build = || {
        let mut leaf = Leaf::new();
        for n in 0..30u8 {
            leaf.run(Step::Insert { key: vec![n], body: 500, flags: 0 });
        }
        for n in 0..14 {
            leaf.run(Step::Remove { at: n, count: 1 });
        }
        leaf.run(Step::Insert { key: vec![100], body: 6000, flags: 0 });
        leaf.compare();
        leaf
    };
    let leaf = build();
    assert_eq!(leaf.rows.len(), 17);
    assert!(leaf.page == build().page);
}
