//! Reading records back: from the ring while it holds them, else from a segment through a small block cache (core.md 1.7).
//!
//! # Invariants
//! D1. A copy out of the ring counts only if, after it, the reserved LSN is still within one ring size of the record (R3).
//! D2. A block is cached only when all of it had been written when it was read; bytes of the stream never change (W2).
//! D3. Bytes of a segment count only if, after the read, the segment is still kept: a retired file may be used again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{Corruption, Lsn, Reader, varint_len};

use crate::api::LogReadError;
use crate::counters::add;
use crate::log::Log;
use crate::segments::SegmentFile;
use crate::sync::{Mutex, lock};

const BLOCK: u64 = 32 << 10;
const SHARDS: usize = 8;
const BLOCKS_PER_SHARD: usize = 16;

/// Longest length prefix of a record.
const LENGTH_MAX: usize = 10;

struct Block {
    key: (u64, u64),
    used: u64,
    bytes: Arc<[u8]>,
}

#[derive(Default)]
struct Shard {
    clock: u64,
    blocks: Vec<Block>,
}

impl Shard {
    fn get(&mut self, key: (u64, u64)) -> Option<Arc<[u8]>> {
        self.clock += 1;
        let block = self.blocks.iter_mut().find(|block| block.key == key)?;
        block.used = self.clock;
        Some(Arc::clone(&block.bytes))
    }

    fn put(&mut self, key: (u64, u64), bytes: Arc<[u8]>) {
        self.clock += 1;
        let block = Block { key, used: self.clock, bytes };
        if self.blocks.len() < BLOCKS_PER_SHARD {
            return self.blocks.push(block);
        }
        if let Some(oldest) = self.blocks.iter_mut().min_by_key(|block| block.used) {
            *oldest = block;
        }
    }
}

/// Recently read blocks of segments: 4 MiB at most.
pub(crate) struct BlockCache {
    shards: [Mutex<Shard>; SHARDS],
}

impl BlockCache {
    pub(crate) fn new() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::new(Shard::default())) }
    }

    fn shard(&self, key: (u64, u64)) -> &Mutex<Shard> {
        &self.shards[(key.0.wrapping_mul(31).wrapping_add(key.1)) as usize % SHARDS]
    }
}

/// Total bytes of the record that begins with `head`.
pub(crate) fn record_len(head: &[u8]) -> Result<u64, Corruption> {
    let body = Reader::new(head).varint("record length")?;
    body.checked_add(varint_len(body) as u64)
        .ok_or_else(|| Corruption::new("record", "record length", "a length of at most 63 bits", body))
}

impl Log {
    /// Reads the record at `lsn`, envelope included, into `out` (cleared first).
    pub fn read(&self, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), LogReadError> {
        out.clear();
        // One look at the ready LSN: an error that names a later one would not say why.
        let (first, end) = (Lsn(self.first.load(Ordering::Acquire)), self.ready_lsn());
        if lsn < first || lsn >= end {
            return Err(LogReadError::OutOfRange { lsn, first, end });
        }
        if self.read_ring(lsn.0, out) {
            add(&self.counters.ring_reads, 1);
            return Ok(());
        }
        add(&self.counters.file_reads, 1);
        let mut head = [0; LENGTH_MAX];
        let have = self.read_file(lsn, &mut head)?;
        let len = record_len(&head[..have]).map_err(|e| self.corrupt(lsn, e))?;
        if lsn.0.saturating_add(len) > self.written_lsn().0 {
            let place = format_args!("record at {lsn}").to_string();
            let limit = format_args!("at most {}", self.written_lsn().0 - lsn.0).to_string();
            return Err(LogReadError::Corrupt(Corruption::new(place, "record length", limit, len)));
        }
        out.resize(len as usize, 0);
        self.read_file(lsn, out)?;
        Ok(())
    }

    /// The record at `lsn` as [`Log::read`] gives it, if it is still in memory; false if it is not, or not below the ready LSN.
    pub fn read_recent(&self, lsn: Lsn, out: &mut Vec<u8>) -> bool {
        out.clear();
        lsn < self.ready_lsn() && self.read_ring(lsn.0, out)
    }

    /// Bytes of the stream as they stand in a segment's file, headers included, from `lsn` to the end of the segment or of what has
    /// been written; returns how many there were. Nothing is cached and nothing verified: for readers that go through
    /// whole frames and check them.
    pub fn read_stream(&self, lsn: Lsn, out: &mut [u8]) -> Result<usize, LogReadError> {
        let (segment, end) = self.segment_holding(lsn)?;
        let len = (end.0.saturating_sub(lsn.0)).min(out.len() as u64) as usize;
        segment.file.read_at(&mut out[..len], lsn - segment.start).map_err(LogReadError::Disk)?;
        if lsn.0 < self.first.load(Ordering::Acquire) {
            return Err(self.out_of_range(lsn)); // D3
        }
        Ok(len)
    }

    /// The segment that holds `lsn`, and the end of what can be read of it.
    fn segment_holding(&self, lsn: Lsn) -> Result<(Arc<SegmentFile>, Lsn), LogReadError> {
        let segments = self.segments.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let after = segments.partition_point(|segment| segment.start <= lsn);
        let Some(segment) = after.checked_sub(1).map(|i| Arc::clone(&segments[i])) else {
            return Err(self.out_of_range(lsn));
        };
        let end = segments.get(after).map_or(self.written_lsn(), |next| next.start);
        Ok((segment, end))
    }

    fn corrupt(&self, lsn: Lsn, e: Corruption) -> LogReadError {
        LogReadError::Corrupt(e.within(format_args!("log record at {lsn}")))
    }

    fn out_of_range(&self, lsn: Lsn) -> LogReadError {
        LogReadError::OutOfRange {
            lsn,
            first: Lsn(self.first.load(Ordering::Acquire)),
            end: self.ready_lsn(),
        }
    }

    /// Copies the record out of the ring; false if the ring does not hold it (any more).
    fn read_ring(&self, lsn: u64, out: &mut Vec<u8>) -> bool {
        let held = || self.reserved.0.load(Ordering::Acquire) <= lsn + self.ring.size();
        if lsn < self.ring_from || !held() {
            return false;
        }
        let mut head = [0; LENGTH_MAX];
        self.ring.copy_racing(lsn, &mut head);
        if !held() {
            return false;
        }
        let Ok(len) = record_len(&head) else { return false };
        if len > self.record_size_max() as u64 {
            return false;
        }
        out.resize(len as usize, 0);
        self.ring.copy_racing(lsn, out);
        held() // D1
    }

    /// Fills `out` with written bytes from `lsn` on, within one segment; returns how many there were.
    pub(crate) fn read_file(&self, lsn: Lsn, out: &mut [u8]) -> Result<usize, LogReadError> {
        let (segment, end) = self.segment_holding(lsn)?;
        let offset = lsn - segment.start;
        let len = (end.0.saturating_sub(lsn.0)).min(out.len() as u64) as usize;
        let mut done = 0;
        while done < len {
            let at = offset + done as u64;
            let wanted = ((BLOCK - at % BLOCK) as usize).min(len - done);
            let part = &mut out[done..done + wanted];
            self.read_block(&segment, end - segment.start, at, part).map_err(LogReadError::Disk)?;
            done += wanted;
        }
        if lsn.0 < self.first.load(Ordering::Acquire) {
            return Err(self.out_of_range(lsn)); // D3
        }
        Ok(len)
    }

    /// Bytes at `at` of one block of a segment whose stream ends at offset `end`.
    fn read_block(&self, segment: &SegmentFile, end: u64, at: u64, out: &mut [u8]) -> env::DiskResult<()> {
        let block = at / BLOCK * BLOCK;
        if block + BLOCK > end {
            return segment.file.read_at(out, at); // D2
        }
        let key = (segment.number, block);
        let cached = lock(self.blocks.shard(key)).get(key);
        let bytes = match cached {
            Some(bytes) => bytes,
            None => {
                let mut bytes = vec![0; BLOCK as usize];
                segment.file.read_at(&mut bytes, block)?;
                let bytes: Arc<[u8]> = bytes.into();
                lock(self.blocks.shard(key)).put(key, Arc::clone(&bytes));
                bytes
            }
        };
        let from = (at - block) as usize;
        out.copy_from_slice(&bytes[from..from + out.len()]);
        Ok(())
    }
}
