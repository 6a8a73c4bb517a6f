//! A disk in memory that forgets, tears and fails, and small helpers around a log on it.
#![allow(dead_code, unreachable_pub)] // each test file uses its part

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use base::{Corruption, Lsn};
use env::{Caching, Disk, DiskError, DiskResult, File, OpenMode};
use log::{FrameStart, Log, LogConfig, LogError};

const SECTOR: usize = 512;

/// The first frame of a log that `Log::create` made, given its first segment header's CRC.
pub fn first_frame(disk: &MemDisk) -> FrameStart {
    let header = disk.bytes("log/000001.seg");
    let crc = u32::from_le_bytes(header[60..64].try_into().unwrap());
    FrameStart { lsn: Lsn(4096 + 64), previous_crc: crc }
}

pub fn config() -> LogConfig {
    LogConfig {
        ring_size: 64 << 10,
        segment_size: 1 << 20,
        pipeline: log::Pipeline::always(3),
        server_id: 1,
        server_uuid: [7; 16],
        clock: Arc::new(env::ManualClock::new(std::time::Duration::from_secs(1_796_000_000))),
    }
}

/// A record: length, type byte, and `body` bytes.
pub fn record(body: &[u8]) -> Vec<u8> {
    use base::Put;
    let mut out = Vec::new();
    out.put_varint(body.len() as u64 + 1);
    out.put_u8(0x55);
    out.put(body);
    out
}

pub fn append(log: &Log, body: &[u8]) -> log::Appended {
    log.append(|_, out| out.extend_from_slice(&record(body))).unwrap()
}

pub fn commit(log: &Log, body: &[u8]) -> log::Appended {
    let appended = append(log, body);
    log.wait_durable(appended.end).unwrap();
    appended
}

pub type Records = Vec<(Lsn, Vec<u8>)>;

/// Opens the log and gathers what the scan hands out.
pub fn open(disk: &Arc<MemDisk>, known: Lsn, config: LogConfig) -> Result<(Arc<Log>, Records), LogError> {
    let mut records = Vec::new();
    let mut visit = |lsn: Lsn, bytes: &[u8]| -> Result<(), Corruption> {
        records.push((lsn, bytes.to_vec()));
        Ok(())
    };
    let log = Log::open(disk.clone(), config, first_frame(disk), known, &mut visit)?;
    Ok((log, records))
}

#[derive(Clone, Default)]
struct Content {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Writes that no sync has covered, with their numbers.
    unsynced: Vec<(u64, u64, Vec<u8>)>,
    writes: u64,
    /// Failed syncs; every open file is told of each once, as by Linux.
    errors: u64,
}

/// Where a held sync stops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Before it has done anything; it covers the writes up to here.
    Before,
    /// With its result, on the way back.
    After,
}

/// Holds syncs until they are let go, each by its number: 1 is the first after [`MemDisk::hold_syncs`].
#[derive(Default)]
struct Gate {
    held: bool,
    begun: u64,
    /// Numbers that may pass the point, and numbers that reached the second one.
    released: Vec<(u64, bool)>,
    returning: Vec<u64>,
}

impl Gate {
    fn may_pass(&self, number: u64, hold: Hold) -> bool {
        !self.held || self.released.contains(&(number, hold == Hold::After))
    }
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, Arc<Mutex<Content>>>,
    writes: Vec<(String, u64, usize)>,
    syncs: u64,
    fail_write: Option<u64>,
    fail_sync: Option<u64>,
    fail_syncs: Vec<u64>,
    space: Option<u64>,
}

/// Files in memory; directory entries are durable at once (the log syncs them before use).
#[derive(Default)]
pub struct MemDisk {
    state: Arc<Mutex<State>>,
    gate: Arc<(Mutex<Gate>, Condvar)>,
}

struct MemFile {
    path: String,
    gate: Arc<(Mutex<Gate>, Condvar)>,
    /// Errors that this open file has been told of.
    told: AtomicU64,
    content: Arc<Mutex<Content>>,
    state: Arc<Mutex<State>>,
}

fn failed(operation: &'static str, path: &str, kind: std::io::ErrorKind) -> DiskError {
    DiskError { operation, path: path.to_owned(), source: kind.into() }
}

impl MemDisk {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        self.state.lock().unwrap().files[path].lock().unwrap().now.clone()
    }
    pub fn damage(&self, path: &str, offset: usize) {
        let state = self.state.lock().unwrap();
        let mut content = state.files[path].lock().unwrap();
        content.now[offset] ^= 0x10;
        content.durable[offset] ^= 0x10;
    }
    /// Overwrites bytes behind the log's back.
    pub fn patch(&self, path: &str, offset: usize, bytes: &[u8]) {
        let state = self.state.lock().unwrap();
        let mut content = state.files[path].lock().unwrap();
        content.now[offset..offset + bytes.len()].copy_from_slice(bytes);
        content.durable = content.now.clone();
    }
    pub fn names(&self) -> Vec<String> {
        self.state.lock().unwrap().files.keys().cloned().collect()
    }
    pub fn copy(&self, from: &str, to: &str) {
        let mut state = self.state.lock().unwrap();
        let content = state.files[from].lock().unwrap().clone();
        state.files.insert(to.to_owned(), Arc::new(Mutex::new(content)));
    }
    pub fn syncs(&self) -> u64 {
        self.state.lock().unwrap().syncs
    }
    /// Writes of segments since the last call.
    pub fn take_writes(&self) -> Vec<(String, u64, usize)> {
        std::mem::take(&mut self.state.lock().unwrap().writes)
    }
    pub fn fail_write_after(&self, writes: u64) {
        self.state.lock().unwrap().fail_write = Some(writes);
    }
    pub fn fail_sync_after(&self, syncs: u64) {
        self.state.lock().unwrap().fail_sync = Some(syncs);
    }
    /// The syncs with these numbers after [`Self::hold_syncs`] fail, and what was not durable then is lost.
    pub fn fail_syncs(&self, numbers: &[u64]) {
        self.state.lock().unwrap().fail_syncs = numbers.to_vec();
    }
    /// From now on syncs wait to be released.
    pub fn hold_syncs(&self) {
        *self.gate.0.lock().unwrap() = Gate { held: true, ..Gate::default() };
    }
    /// Lets a sync pass a point.
    pub fn release(&self, number: u64, hold: Hold) {
        let mut gate = self.gate.0.lock().unwrap();
        gate.released.push((number, hold == Hold::After));
        self.gate.1.notify_all();
    }
    pub fn release_all(&self) {
        self.gate.0.lock().unwrap().held = false;
        self.gate.1.notify_all();
    }
    /// Returns when `count` syncs have begun.
    pub fn await_syncs(&self, count: u64) {
        let gate = self.gate.0.lock().unwrap();
        drop(self.gate.1.wait_while(gate, |gate| gate.begun < count).unwrap());
    }
    /// Returns when this sync has its result.
    pub fn await_result(&self, number: u64) {
        let gate = self.gate.0.lock().unwrap();
        drop(self.gate.1.wait_while(gate, |gate| !gate.returning.contains(&number)).unwrap());
    }
    pub fn syncs_begun(&self) -> u64 {
        self.gate.0.lock().unwrap().begun
    }
    /// Bytes that may still be allocated.
    pub fn set_space(&self, bytes: Option<u64>) {
        self.state.lock().unwrap().space = bytes;
    }

    /// What a crash leaves: synced bytes, and of the rest any sectors the seed picks.
    pub fn crash(&self, seed: u64) -> Arc<Self> {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut coin = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % 4
        };
        let state = self.state.lock().unwrap();
        let mut files = BTreeMap::new();
        for (path, content) in &state.files {
            let content = content.lock().unwrap();
            let mut survived = content.durable.clone();
            for (_, offset, bytes) in &content.unsynced {
                let mut at = 0;
                while at < bytes.len() {
                    let sector_end = (*offset as usize + at) / SECTOR * SECTOR + SECTOR - *offset as usize;
                    let piece = &bytes[at..sector_end.min(bytes.len())];
                    if coin() != 0 {
                        write_into(&mut survived, *offset + at as u64, piece);
                    }
                    at += piece.len();
                }
            }
            let content = Content { now: survived.clone(), durable: survived, ..Content::default() };
            files.insert(path.clone(), Arc::new(Mutex::new(content)));
        }
        let state = State { files, ..State::default() };
        Arc::new(Self { state: Arc::new(Mutex::new(state)), gate: Arc::default() })
    }
}

fn write_into(bytes: &mut Vec<u8>, offset: u64, piece: &[u8]) {
    let end = offset as usize + piece.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset as usize..end].copy_from_slice(piece);
}

impl Disk for MemDisk {
    fn open(&self, path: &str, mode: OpenMode, _caching: Caching) -> DiskResult<Arc<dyn File>> {
        let mut state = self.state.lock().unwrap();
        let exists = state.files.contains_key(path);
        match mode {
            OpenMode::Existing if !exists => return Err(failed("open", path, std::io::ErrorKind::NotFound)),
            OpenMode::CreateNew if exists => {
                return Err(failed("open", path, std::io::ErrorKind::AlreadyExists));
            }
            _ => {}
        }
        let content = Arc::clone(state.files.entry(path.to_owned()).or_default());
        let told = AtomicU64::new(content.lock().unwrap().errors);
        let (state, gate) = (Arc::clone(&self.state), Arc::clone(&self.gate));
        Ok(Arc::new(MemFile { path: path.to_owned(), gate, told, content, state }))
    }
    fn exists(&self, path: &str) -> DiskResult<bool> {
        let prefix = format!("{path}/");
        Ok(self.state.lock().unwrap().files.keys().any(|name| name == path || name.starts_with(&prefix)))
    }
    fn create_dir(&self, _path: &str) -> DiskResult<()> {
        Ok(())
    }
    fn list(&self, path: &str) -> DiskResult<Vec<String>> {
        let prefix = format!("{path}/");
        let state = self.state.lock().unwrap();
        Ok(state.files.keys().filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned).collect())
    }
    fn rename(&self, from: &str, to: &str) -> DiskResult<()> {
        let mut state = self.state.lock().unwrap();
        let content =
            state.files.remove(from).ok_or_else(|| failed("rename", from, std::io::ErrorKind::NotFound))?;
        state.files.insert(to.to_owned(), content);
        Ok(())
    }
    fn remove(&self, path: &str) -> DiskResult<()> {
        let mut state = self.state.lock().unwrap();
        let removed = state.files.remove(path);
        let freed = removed.as_ref().map_or(0, |content| content.lock().unwrap().now.len() as u64);
        state.space = state.space.map(|space| space + freed);
        removed.map(drop).ok_or_else(|| failed("remove", path, std::io::ErrorKind::NotFound))
    }
    fn sync_dir(&self, _path: &str) -> DiskResult<()> {
        Ok(())
    }
    fn lock(&self, _path: &str) -> DiskResult<Box<dyn Send + Sync>> {
        Ok(Box::new(()))
    }
    fn free_space(&self) -> DiskResult<u64> {
        Ok(self.state.lock().unwrap().space.unwrap_or(u64::MAX))
    }
}

impl File for MemFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> DiskResult<()> {
        let content = self.content.lock().unwrap();
        let from = offset as usize;
        let piece = content.now.get(from..from + buf.len());
        buf.copy_from_slice(
            piece.ok_or_else(|| failed("read", &self.path, std::io::ErrorKind::UnexpectedEof))?,
        );
        Ok(())
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> DiskResult<()> {
        let mut state = self.state.lock().unwrap();
        if let Some(left) = state.fail_write.as_mut() {
            if *left == 0 {
                return Err(failed("write", &self.path, std::io::ErrorKind::Other));
            }
            *left -= 1;
        }
        state.writes.push((self.path.clone(), offset, buf.len()));
        let mut content = self.content.lock().unwrap();
        write_into(&mut content.now, offset, buf);
        content.writes += 1;
        let number = content.writes;
        content.unsynced.push((number, offset, buf.to_vec()));
        Ok(())
    }
    fn sync_data(&self) -> DiskResult<()> {
        let covers = self.content.lock().unwrap().writes;
        let number = {
            let mut gate = self.gate.0.lock().unwrap();
            gate.begun += 1;
            gate.begun
        };
        self.stop(number, Hold::Before);
        let result = self.sync_up_to(covers, number);
        self.stop(number, Hold::After);
        result
    }
    fn len(&self) -> DiskResult<u64> {
        Ok(self.content.lock().unwrap().now.len() as u64)
    }
    fn set_len(&self, len: u64) -> DiskResult<()> {
        let mut content = self.content.lock().unwrap();
        content.now.resize(len as usize, 0);
        content.durable.resize(len as usize, 0);
        Ok(())
    }
    fn allocate(&self, offset: u64, len: u64) -> DiskResult<()> {
        let mut state = self.state.lock().unwrap();
        if let Some(space) = state.space.as_mut() {
            if *space < len {
                return Err(failed("allocate", &self.path, std::io::ErrorKind::StorageFull));
            }
            *space -= len;
        }
        let mut content = self.content.lock().unwrap();
        let end = (offset + len) as usize;
        if content.now.len() < end {
            content.now.resize(end, 0);
            content.durable.resize(end, 0);
        }
        Ok(())
    }
}

impl MemFile {
    fn stop(&self, number: u64, hold: Hold) {
        #[cfg(feature = "shuttle")]
        shuttle::thread::yield_now();
        let mut gate = self.gate.0.lock().unwrap();
        if hold == Hold::After {
            gate.returning.push(number);
        }
        self.gate.1.notify_all();
        drop(self.gate.1.wait_while(gate, |gate| !gate.may_pass(number, hold)).unwrap());
    }

    /// Makes the writes up to number `covers` durable, or loses all that are not and counts an error.
    fn sync_up_to(&self, covers: u64, number: u64) -> DiskResult<()> {
        let mut state = self.state.lock().unwrap();
        state.syncs += 1;
        let mut content = self.content.lock().unwrap();
        let counted = state.fail_sync.as_mut().is_some_and(|left| {
            let fails = *left == 0;
            *left = left.saturating_sub(1);
            fails
        });
        if counted || state.fail_syncs.contains(&number) {
            content.errors += 1;
            content.unsynced.clear();
        }
        if self.told.swap(content.errors, Ordering::Relaxed) != content.errors {
            return Err(failed("fdatasync", &self.path, std::io::ErrorKind::Other));
        }
        let all = std::mem::take(&mut content.unsynced);
        let (covered, rest) = all.into_iter().partition(|(number, ..)| *number <= covers);
        content.unsynced = rest;
        let covered: Vec<_> = covered;
        for (_, offset, bytes) in covered {
            write_into(&mut content.durable, offset, &bytes);
        }
        Ok(())
    }
}
