//! A disk in memory that loses power: a seed replays every crash.
//!
//! # Model
//! A file has *durable* content and a list of changes since its last sync. Programs read the current content (durable plus
//! all changes). [`SimDisk::crash`] decides the fate of each unsynced change: lost, kept, or torn (each 512-byte sector
//! lost or kept by itself), so a later write may survive an earlier one. A lost write that made the file longer may leave
//! the length behind, with zeros. Creations, renames and removals since the last `sync_dir` of their directory are lost or
//! kept one by one.
//!
//! # Many crashes of one run
//! [`SimDisk::record_at`] keeps copies of the disk at chosen calls while a program runs on undisturbed; each copy is a disk
//! whose power goes there. Copies share their blocks until they are written.
//!
//! # Invariants
//! S1. What a successful sync covered survives every crash.
//! S2. After a failed sync the unsynced data stays readable but will never become durable by a later sync (as on Linux). Each open
//!     handle is told of it once, by its next sync, as each open file description is there.
//! S3. Handles opened before a crash are dead: each call answers "simulated crash".
//! S4. The same seed and the same sequence of calls give the same outcomes.

mod content;
mod namespace;

use crate::{Caching, Disk, DiskError, DiskResult, File, OpenMode, Random};
use content::FileState;
use namespace::{Namespace, Node};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Kinds of disk calls, for rules and counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Open,
    Read,
    Write,
    Sync,
    SetLen,
    Allocate,
    CreateDir,
    Rename,
    Remove,
    SyncDir,
}

/// What an injected fault does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// EIO, nothing done. A sync drops what it should have made durable (S2).
    Io,
    /// ENOSPC, nothing done.
    Full,
    /// A write does its first half (cut at a sector), then EIO.
    HalfWrite,
    /// A write is acknowledged and never happens.
    LostWrite,
    /// A write is acknowledged and lands this many bytes further on.
    Misdirected(u64),
}

/// Makes some calls fail.
#[derive(Debug, Clone)]
pub struct Rule {
    pub operation: Operation,
    /// Files and directories whose path starts with this; empty = all.
    pub path_prefix: String,
    /// Lets this many matching calls pass first.
    pub skip: u64,
    /// Then hits this many, `u64::MAX` = all.
    pub times: u64,
    pub fault: Fault,
}

/// The simulated disk; clones share it.
#[derive(Clone)]
pub struct SimDisk {
    shared: Arc<Mutex<State>>,
}

#[derive(Clone)]
struct State {
    random: Random,
    names: Namespace,
    files: Vec<FileState>,
    /// Counts crashes; handles of an older life are dead.
    life: u64,
    calls: u64,
    syncs: u64,
    read_bytes: u64,
    /// Calls beyond this number fail.
    crash_after: u64,
    capacity: u64,
    locked: bool,
    rules: Vec<Rule>,
    recording: Recording,
}

/// Copies that are to be made, and those that have been.
#[derive(Default)]
struct Recording {
    /// Next call count to copy at, and the distance to the one after.
    next: Option<(u64, u64)>,
    copies: Vec<(u64, SimDisk)>,
}

impl Clone for Recording {
    /// A copy of a disk records nothing.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl SimDisk {
    pub fn new(seed: u64) -> Self {
        let state = State {
            random: Random::seeded(seed),
            names: Namespace::default(),
            files: Vec::new(),
            life: 0,
            calls: 0,
            syncs: 0,
            read_bytes: 0,
            crash_after: u64::MAX,
            capacity: 1 << 40,
            locked: false,
            rules: Vec::new(),
            recording: Recording::default(),
        };
        Self { shared: Arc::new(Mutex::new(state)) }
    }

    /// This disk as the engine sees it.
    pub fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(self.clone())
    }

    /// Calls so far that touched the disk (reads too); lengths, listings and free space do not count.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Bytes that were read so far.
    pub fn read_bytes(&self) -> u64 {
        self.state().read_bytes
    }

    /// Successful syncs of files so far.
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// Lets calls pass until [`SimDisk::calls`] is `n`; then the power is off and every call fails until [`SimDisk::crash`].
    pub fn crash_after(&self, n: u64) {
        self.state().crash_after = n;
    }

    /// A disk with the same content and history, whose crashes are decided by its own seed. Handles stay with the original.
    pub fn fork(&self, seed: u64) -> Self {
        let mut state = self.state().clone();
        state.random = Random::seeded(seed);
        Self { shared: Arc::new(Mutex::new(state)) }
    }

    /// Keeps copies of the disk as [`SimDisk::crash_after`] would leave it to [`SimDisk::crash`]: when [`SimDisk::calls`] is
    /// `first` and one more call comes, and again every `distance` calls.
    pub fn record_at(&self, first: u64, distance: u64) {
        assert!(distance > 0, "copies are apart");
        self.state().recording.next = Some((first, distance));
    }

    /// Ends recording: the copies, each with the calls that had passed.
    pub fn take_recorded(&self) -> Vec<(u64, Self)> {
        std::mem::take(&mut self.state().recording).copies
    }

    /// Power loss and restart: decides what survived. Old handles and locks die, rules and limits are gone.
    pub fn crash(&self) {
        let state = &mut *self.state();
        state.life += 1;
        state.crash_after = u64::MAX;
        state.locked = false;
        state.rules.clear();
        for file in &mut state.files {
            file.crash(&mut state.random);
        }
        state.names.crash(&mut state.random);
    }

    /// The process dies (kill -9) and the machine lives: unsynced data stays, handles and locks die.
    pub fn kill(&self) {
        let mut state = self.state();
        state.life += 1;
        state.crash_after = u64::MAX;
        state.locked = false;
        state.rules.clear();
    }

    pub fn add_rule(&self, rule: Rule) {
        self.state().rules.push(rule);
    }

    pub fn clear_rules(&self) {
        self.state().rules.clear();
    }

    /// Bytes the volume holds; growth beyond gives ENOSPC. Files count with their lengths.
    pub fn set_capacity(&self, bytes: u64) {
        self.state().capacity = bytes;
    }

    /// Flips one bit in the current and the durable content of a file: damage at rest.
    pub fn flip_bit(&self, path: &str, bit: u64) {
        let mut state = self.state();
        let Some(Node::File(index)) = state.names.get(path) else { panic!("no file '{path}'") };
        state.files[index].flip_bit(bit);
    }

    /// The current content of a file.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.state();
        let Some(Node::File(index)) = state.names.get(path) else { return None };
        let file = &state.files[index];
        let mut bytes = vec![0; file.len() as usize];
        file.read(&mut bytes, 0);
        Some(bytes)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A test that panicked elsewhere shall report its own failure, not a poisoned disk.
        self.shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl State {
    /// Counts one call and answers whether it fails, or how it misbehaves.
    fn enter(&mut self, life: u64, operation: Operation, path: &str) -> io::Result<Option<Fault>> {
        if life != self.life || self.calls >= self.crash_after {
            return Err(crashed());
        }
        if let Some((next, distance)) = self.recording.next
            && self.calls >= next
        {
            let copy = SimDisk { shared: Arc::new(Mutex::new(self.clone())) };
            self.recording.copies.push((self.calls, copy));
            self.recording.next = Some((next.saturating_add(distance), distance));
        }
        self.calls += 1;
        for rule in &mut self.rules {
            if rule.operation != operation || !path.starts_with(&rule.path_prefix) {
                continue;
            }
            if rule.skip > 0 {
                rule.skip -= 1;
            } else if rule.times > 0 {
                rule.times -= 1;
                return match rule.fault {
                    Fault::Io if operation != Operation::Sync => Err(io::Error::from_raw_os_error(libc::EIO)),
                    Fault::Full => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
                    fault => Ok(Some(fault)),
                };
            }
        }
        Ok(None)
    }

    fn used(&self) -> u64 {
        self.names.files().map(|index| self.files[index].len()).sum()
    }

    fn grow(&self, index: usize, end: u64) -> io::Result<()> {
        let growth = end.saturating_sub(self.files[index].len());
        if growth > 0 && self.used() + growth > self.capacity {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        Ok(())
    }

    fn write(&mut self, index: usize, buf: &[u8], offset: u64, fault: Option<Fault>) -> io::Result<()> {
        match fault {
            Some(Fault::LostWrite) => return Ok(()),
            Some(Fault::HalfWrite) => {
                let half = buf.len() / 2 / content::SECTOR * content::SECTOR;
                self.files[index].write(&buf[..half], offset);
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
            _ => {}
        }
        let offset = if let Some(Fault::Misdirected(by)) = fault { offset + by } else { offset };
        self.grow(index, offset + buf.len() as u64)?;
        self.files[index].write(buf, offset);
        Ok(())
    }
}

fn crashed() -> io::Error {
    io::Error::other("simulated crash")
}

impl Disk for SimDisk {
    fn open(&self, path: &str, mode: OpenMode, _: Caching) -> DiskResult<Arc<dyn File>> {
        let mut state = self.state();
        let state = &mut *state;
        let life = state.life;
        let mut open = || -> io::Result<usize> {
            state.enter(life, Operation::Open, path)?;
            match (state.names.get(path), mode) {
                (Some(Node::Dir), _) => Err(io::ErrorKind::IsADirectory.into()),
                (Some(Node::File(_)), OpenMode::CreateNew) => Err(io::ErrorKind::AlreadyExists.into()),
                (Some(Node::File(index)), _) => Ok(index),
                (None, OpenMode::Existing) => Err(io::ErrorKind::NotFound.into()),
                (None, _) => {
                    let index = state.files.len();
                    state.names.create(path, Node::File(index))?;
                    state.files.push(FileState::default());
                    Ok(index)
                }
            }
        };
        let index = open().map_err(|e| DiskError::new("open", path, e))?;
        let told = AtomicU64::new(state.files[index].errors());
        Ok(Arc::new(SimFile { disk: self.clone(), index, life, path: path.to_owned(), told }))
    }

    fn exists(&self, path: &str) -> DiskResult<bool> {
        Ok(self.state().names.get(path).is_some())
    }

    fn create_dir(&self, path: &str) -> DiskResult<()> {
        self.change_names("create_dir", Operation::CreateDir, path, |names| match names.get(path) {
            Some(Node::Dir) => Ok(()),
            _ => names.create(path, Node::Dir),
        })
    }

    fn list(&self, path: &str) -> DiskResult<Vec<String>> {
        self.state().names.list(path).map_err(|e| DiskError::new("list", path, e))
    }

    fn rename(&self, from: &str, to: &str) -> DiskResult<()> {
        self.change_names("rename", Operation::Rename, from, |names| names.rename(from, to))
    }

    fn remove(&self, path: &str) -> DiskResult<()> {
        self.change_names("remove", Operation::Remove, path, |names| names.remove(path))
    }

    fn sync_dir(&self, path: &str) -> DiskResult<()> {
        self.change_names("sync_dir", Operation::SyncDir, path, |names| names.sync(path))
    }

    fn lock(&self, path: &str) -> DiskResult<Box<dyn Send + Sync>> {
        let mut state = self.state();
        if state.locked {
            return Err(DiskError::new("lock", path, io::ErrorKind::WouldBlock.into()));
        }
        state.locked = true;
        Ok(Box::new(SimLock { disk: self.clone(), life: state.life }))
    }

    fn free_space(&self) -> DiskResult<u64> {
        let state = self.state();
        Ok(state.capacity.saturating_sub(state.used()))
    }
}

impl SimDisk {
    fn change_names(
        &self,
        name: &'static str,
        operation: Operation,
        path: &str,
        change: impl FnOnce(&mut Namespace) -> io::Result<()>,
    ) -> DiskResult<()> {
        let mut state = self.state();
        let life = state.life;
        state
            .enter(life, operation, path)
            .and_then(|_| change(&mut state.names))
            .map_err(|e| DiskError::new(name, path, e))
    }
}

struct SimLock {
    disk: SimDisk,
    life: u64,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if state.life == self.life {
            state.locked = false;
        }
    }
}

struct SimFile {
    disk: SimDisk,
    index: usize,
    life: u64,
    path: String,
    /// Failed syncs of the file that this handle has been told of.
    told: AtomicU64,
}

impl SimFile {
    fn call<T>(
        &self,
        name: &'static str,
        operation: Operation,
        body: impl FnOnce(&mut State, Option<Fault>) -> io::Result<T>,
    ) -> DiskResult<T> {
        let mut state = self.disk.state();
        state
            .enter(self.life, operation, &self.path)
            .and_then(|fault| body(&mut state, fault))
            .map_err(|e| DiskError::new(name, &self.path, e))
    }
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> DiskResult<()> {
        self.call("read", Operation::Read, |state, _| {
            let file = &state.files[self.index];
            if offset + buf.len() as u64 > file.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            file.read(buf, offset);
            state.read_bytes += buf.len() as u64;
            Ok(())
        })
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> DiskResult<()> {
        self.call("write", Operation::Write, |state, fault| state.write(self.index, buf, offset, fault))
    }

    fn sync_data(&self) -> DiskResult<()> {
        // Other threads may write and sync meanwhile: the sync of a frame of the log is overtaken, or meets a crash.
        std::thread::yield_now();
        self.call("fdatasync", Operation::Sync, |state, fault| {
            if fault.is_some() {
                state.files[self.index].fail_sync();
            }
            let errors = state.files[self.index].errors();
            if self.told.swap(errors, Ordering::Relaxed) != errors {
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
            state.files[self.index].sync();
            state.syncs += 1;
            Ok(())
        })
    }

    fn len(&self) -> DiskResult<u64> {
        let state = self.disk.state();
        if state.life != self.life {
            return Err(DiskError::new("fstat", &self.path, crashed()));
        }
        Ok(state.files[self.index].len())
    }

    fn set_len(&self, len: u64) -> DiskResult<()> {
        self.call("ftruncate", Operation::SetLen, |state, _| {
            state.grow(self.index, len)?;
            state.files[self.index].set_len(len);
            Ok(())
        })
    }

    fn allocate(&self, offset: u64, len: u64) -> DiskResult<()> {
        self.call("fallocate", Operation::Allocate, |state, _| {
            let end = offset + len;
            state.grow(self.index, end)?;
            if state.files[self.index].len() < end {
                state.files[self.index].set_len(end);
            }
            Ok(())
        })
    }
}
