//! Building a tree from sorted input: CREATE INDEX, ALTER TABLE that copies.
//!
//! Records are gathered until a leaf is full and then go to the right end of the tree in one record; the next leaf is made by an
//! ordinary split that moves nothing. The tree is whole at any time, so a build that fails is freed as any tree
//! ([`Tree::free`]), and a crash in the middle leaves nothing that is not reachable from the root.

use base::{Corruption, Lsn, Put, TrxId};
use page_format::{HEADER_SIZE, PageOp, RawRecords, SLOT_SIZE};

use super::{Tree, TreeKind};
use crate::mtr::{Store, StoreResult};

/// Bytes of a leaf that a build fills: a sixteenth stays free for later changes.
const FILL: usize = (base::PAGE_SIZE - HEADER_SIZE) / 16 * 15;

/// Appends sorted records to a tree that nobody else uses.
pub struct BulkBuild<'s> {
    store: &'s Store,
    tree: &'s Tree,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    records: Vec<u8>,
    record: Vec<u8>,
    count: usize,
    bytes: usize,
    max_trx: TrxId,
}

impl<'s> BulkBuild<'s> {
    pub fn new(store: &'s Store, tree: &'s Tree) -> Self {
        Self {
            store,
            tree,
            first_key: Vec::new(),
            last_key: Vec::new(),
            records: Vec::new(),
            record: Vec::new(),
            count: 0,
            bytes: 0,
            max_trx: TrxId(0),
        }
    }

    /// Adds a row; keys must ascend.
    pub fn push_row(&mut self, flags: u8, trx: TrxId, roll: Lsn, key: &[u8], body: &[u8]) -> StoreResult<()> {
        self.expect(TreeKind::Clustered)?;
        self.record.clear();
        self.record.put_u8(flags);
        self.record.put_u48(trx.0);
        self.record.put_u64(roll.0);
        self.record.put_string(key);
        self.record.put(body);
        self.push(key)
    }

    /// Adds an entry of a secondary index; keys must ascend. `trx` is the newest transaction that readers of this entry must look
    /// behind.
    pub fn push_key(&mut self, flags: u8, trx: TrxId, key: &[u8]) -> StoreResult<()> {
        self.expect(TreeKind::Secondary)?;
        self.record.clear();
        self.record.put_u8(flags);
        self.record.put(key);
        self.max_trx = self.max_trx.max(trx);
        self.push(key)
    }

    /// Writes what is still gathered.
    pub fn finish(mut self) -> StoreResult<()> {
        self.flush()
    }

    fn expect(&self, kind: TreeKind) -> Result<(), Corruption> {
        if self.tree.kind() == kind {
            return Ok(());
        }
        Err(Corruption::new(
            self.tree.page_id(self.tree.root()),
            "kind of tree",
            format_args!("{kind:?}"),
            "the other",
        ))
    }

    fn push(&mut self, key: &[u8]) -> StoreResult<()> {
        let size = self.record.len() + SLOT_SIZE;
        if self.count > 0 && self.bytes + size > FILL {
            self.flush()?;
        }
        if !self.last_key.is_empty() && self.last_key.as_slice() >= key {
            let place = self.tree.page_id(self.tree.root());
            return Err(Corruption::new(
                place,
                "order of built keys",
                "ascending",
                format_args!("{key:02x?}"),
            )
            .into());
        }
        if self.count == 0 {
            self.first_key.clear();
            self.first_key.extend_from_slice(key);
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        RawRecords::push(&mut self.records, &self.record);
        self.count += 1;
        self.bytes += size;
        Ok(())
    }

    fn flush(&mut self) -> StoreResult<()> {
        if self.count == 0 {
            return Ok(());
        }
        let mut leaf = self.tree.append_room(self.store, &self.first_key, self.bytes)?;
        let records = RawRecords::new(self.count, &self.records)?;
        leaf.log_system(PageOp::InsertRaw { slot: leaf.slot(), max_trx: self.max_trx, records })?;
        self.records.clear();
        (self.count, self.bytes) = (0, 0);
        Ok(())
    }
}
