//! The bytes of one simulated file: durable, current, and the changes between.

use crate::Random;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a torn write keeps or loses as one.
pub(super) const SECTOR: usize = 512;
const BLOCK: usize = 4096;

/// Sparse bytes. A copy shares everything until one of the two is written, so copies of a whole disk cost next to nothing.
#[derive(Default, Clone)]
struct Bytes {
    len: u64,
    blocks: Arc<BTreeMap<u64, Arc<[u8; BLOCK]>>>,
}

impl Bytes {
    fn read(&self, buf: &mut [u8], offset: u64) {
        for_blocks(offset, buf.len(), |block, inside, range| {
            let part = &mut buf[range];
            match self.blocks.get(&block) {
                Some(bytes) => part.copy_from_slice(&bytes[inside..inside + part.len()]),
                None => part.fill(0),
            }
        });
    }

    fn write(&mut self, buf: &[u8], offset: u64) {
        let blocks = Arc::make_mut(&mut self.blocks);
        for_blocks(offset, buf.len(), |block, inside, range| {
            let part = &buf[range];
            if let Ok(whole) = <[u8; BLOCK]>::try_from(part) {
                blocks.insert(block, Arc::new(whole));
                return;
            }
            let bytes = Arc::make_mut(blocks.entry(block).or_insert_with(|| Arc::new([0; BLOCK])));
            bytes[inside..inside + part.len()].copy_from_slice(part);
        });
        if !buf.is_empty() {
            self.len = self.len.max(offset + buf.len() as u64);
        }
    }

    fn set_len(&mut self, len: u64) {
        if len < self.len {
            let blocks = Arc::make_mut(&mut self.blocks);
            blocks.split_off(&len.div_ceil(BLOCK as u64));
            if let Some(last) = blocks.get_mut(&(len / BLOCK as u64)) {
                Arc::make_mut(last)[len as usize % BLOCK..].fill(0);
            }
        }
        self.len = len;
    }
}

/// Calls `f(block number, offset inside the block, range of the buffer)` for each block a range touches.
fn for_blocks(offset: u64, len: usize, mut f: impl FnMut(u64, usize, std::ops::Range<usize>)) {
    let mut done = 0;
    while done < len {
        let at = offset + done as u64;
        let inside = at as usize % BLOCK;
        let part = (BLOCK - inside).min(len - done);
        f(at / BLOCK as u64, inside, done..done + part);
        done += part;
    }
}

#[derive(Clone)]
enum Change {
    Write { offset: u64, bytes: Arc<[u8]> },
    SetLen(u64),
}

/// One file.
#[derive(Default, Clone)]
pub(super) struct FileState {
    durable: Bytes,
    current: Bytes,
    unsynced: Vec<Change>,
    /// Failed syncs so far.
    errors: u64,
}

impl FileState {
    pub(super) fn len(&self) -> u64 {
        self.current.len
    }

    pub(super) fn read(&self, buf: &mut [u8], offset: u64) {
        self.current.read(buf, offset);
    }

    pub(super) fn write(&mut self, buf: &[u8], offset: u64) {
        self.current.write(buf, offset);
        self.unsynced.push(Change::Write { offset, bytes: buf.into() });
    }

    pub(super) fn set_len(&mut self, len: u64) {
        self.current.set_len(len);
        self.unsynced.push(Change::SetLen(len));
    }

    pub(super) fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            match change {
                Change::Write { offset, bytes } => self.durable.write(&bytes, offset),
                Change::SetLen(len) => self.durable.set_len(len),
            }
        }
    }

    /// A failed sync: the cache forgets that these bytes are not on the device.
    pub(super) fn fail_sync(&mut self) {
        self.unsynced.clear();
        self.errors += 1;
    }

    pub(super) fn errors(&self) -> u64 {
        self.errors
    }

    pub(super) fn flip_bit(&mut self, bit: u64) {
        for bytes in [&mut self.durable, &mut self.current] {
            assert!(bit / 8 < bytes.len, "bit {bit} is past the end of the file");
            let mut byte = [0];
            bytes.read(&mut byte, bit / 8);
            byte[0] ^= 1 << (bit % 8);
            bytes.write(&byte, bit / 8);
        }
    }

    pub(super) fn crash(&mut self, random: &mut Random) {
        for change in std::mem::take(&mut self.unsynced) {
            match change {
                Change::SetLen(len) => {
                    if random.one_in(2) {
                        self.durable.set_len(len);
                    }
                }
                Change::Write { offset, bytes } => self.crash_write(random, &bytes, offset),
            }
        }
        self.current = self.durable.clone();
    }

    /// Lost, kept, or torn into sectors.
    fn crash_write(&mut self, random: &mut Random, bytes: &[u8], offset: u64) {
        let end = offset + bytes.len() as u64;
        match random.below(3) {
            0 => {
                if end > self.durable.len && random.one_in(4) {
                    self.durable.set_len(end);
                }
            }
            1 => self.durable.write(bytes, offset),
            _ => {
                let mut done = 0;
                while done < bytes.len() {
                    let part = (SECTOR - (offset as usize + done) % SECTOR).min(bytes.len() - done);
                    if random.one_in(2) {
                        self.durable.write(&bytes[done..done + part], offset + done as u64);
                    }
                    done += part;
                }
            }
        }
    }
}
