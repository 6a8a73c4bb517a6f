//! All files of the binary log, as those see them who do not write: dump threads, SHOW, PURGE.
//!
//! # What may be read
//! The last file up to `readable`: synced, and decided in the engine's log. With sync_binlog=1 and innodb_flush_log_at_trx_commit=1 that
//! is all that was written; otherwise a reader that has come to the end makes it so itself ([`Files::settle`]).
//!
//! # Locking
//! The writer's lock (above), then `state`. A reader syncs with neither.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use base::{Gtid, Lsn};
use binlog::{BinlogFile, Lookup, Position, PurgeError, ReadError, Start};
use env::{Caching, Disk, DiskError, DiskResult, File, OpenMode};

use crate::cache;
use crate::events::Events;
use crate::gtid_index::{self, Entry, IndexReader};
use crate::index::Index;
use crate::names::Names;
use crate::reader::FileGroups;
use crate::recover::LastFile;
use crate::writer::set_closed;

/// A place in the files as one number that grows, for what counts places in LSNs.
pub fn virtual_lsn(number: u64, offset: u64) -> Lsn {
    const OFFSET_BITS: u32 = 40;
    Lsn((number << OFFSET_BITS) + offset)
}

/// The engine's log: makes it durable up to an LSN.
pub type EngineLog = Box<dyn Fn(Lsn) -> Result<(), String> + Send + Sync>;

/// The last file.
struct Current {
    number: u64,
    file: Arc<dyn File>,
    written: u64,
    readable: u64,
    /// End of the records that decide about what is written.
    decided: Lsn,
}

struct State {
    index: Index,
    current: Option<Current>,
}

/// See the module.
pub struct Files {
    disk: Arc<dyn Disk>,
    names: Names,
    state: Mutex<State>,
    grown: Condvar,
    settling: Mutex<()>,
    engine: OnceLock<EngineLog>,
    failed: OnceLock<String>,
    /// Number of the file that each open reader is in, by the reader's number.
    readers: Mutex<BTreeMap<u64, u64>>,
    next_reader: AtomicU64,
    /// When files were begun, once it has been read.
    created: Mutex<BTreeMap<u64, u64>>,
    /// Places that an index had, or had not.
    index_hits: AtomicU64,
    index_misses: AtomicU64,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").field("names", &self.names).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    /// `disk` is the directory of the binary log.
    pub fn open(disk: Arc<dyn Disk>, names: Names) -> DiskResult<Arc<Self>> {
        cache::clean(&*disk)?;
        let index = Index::open(Arc::clone(&disk), names.clone())?;
        Ok(Arc::new(Self {
            disk,
            names,
            state: Mutex::new(State { index, current: None }),
            grown: Condvar::new(),
            settling: Mutex::default(),
            engine: OnceLock::new(),
            failed: OnceLock::new(),
            readers: Mutex::default(),
            next_reader: AtomicU64::new(0),
            created: Mutex::default(),
            index_hits: AtomicU64::new(0),
            index_misses: AtomicU64::new(0),
        }))
    }

    /// Once, before anything is written.
    pub fn set_engine(&self, engine: EngineLog) {
        let _ = self.engine.set(engine);
    }

    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }
    pub fn names(&self) -> &Names {
        &self.names
    }
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
    fn numbers(&self) -> Vec<u64> {
        self.state().index.numbers().to_vec()
    }

    /// No commit is taken from now on; the reason in whole.
    pub fn fail(&self, reason: &str) -> String {
        let text = format!(
            "the binary log cannot be synced: {reason}. No commit is taken until the server is started again"
        );
        self.grown.notify_all();
        self.failed.get_or_init(|| text).clone()
    }
    /// Why no commit is taken any more.
    pub fn failure(&self) -> Option<&str> {
        self.failed.get().map(String::as_str)
    }

    /// The last file of before the start: what it says, for recovery.
    pub fn last_file(&self) -> Result<Option<LastFile>, ReadError> {
        let Some(number) = self.numbers().last().copied() else { return Ok(None) };
        let name = self.names.file(number);
        let file = self.open_file(number)?;
        LastFile::read(file, &name, number).map(Some)
    }

    /// Ends the last file of before the start at `end`; durable when it returns.
    pub fn cut(&self, number: u64, end: u64) -> DiskResult<()> {
        let file = self.open_file(number)?;
        if file.len()? > end {
            file.set_len(end)?;
        }
        set_closed(&*file)?;
        file.sync_data()
    }

    /// The number for the first file of this start: behind all that are in the index, or that lie around when the index is empty.
    pub fn next_number(&self) -> DiskResult<u64> {
        if let Some(last) = self.numbers().last() {
            return Ok(last + 1);
        }
        let found = self.disk.list("")?;
        Ok(found.iter().filter_map(|name| self.names.number(name)).max().unwrap_or(0) + 1)
    }

    /// The index forgets all files; they stay where they are. Durable when it returns.
    pub fn set_aside(&self) -> DiskResult<()> {
        self.state().index.replace(Vec::new())
    }

    /// A new last file, with `len` bytes that count (W1).
    pub(crate) fn add(&self, number: u64, file: Arc<dyn File>, len: u64) -> DiskResult<()> {
        let mut state = self.state();
        state.index.append(number)?;
        let decided = Lsn::NONE;
        state.current = Some(Current { number, file, written: len, readable: len, decided });
        drop(state);
        self.grown.notify_all();
        Ok(())
    }

    pub(crate) fn written(&self, number: u64, len: u64, decided: Lsn, is_durable: bool) {
        let mut state = self.state();
        let Some(current) = state.current.as_mut().filter(|c| c.number == number) else { return };
        current.written = len;
        current.decided = current.decided.max(decided);
        if is_durable {
            current.readable = len;
        }
        drop(state);
        self.grown.notify_all();
    }

    /// Makes what is written readable.
    fn settle(&self) -> Result<(), ReadError> {
        let _one_at_a_time = lock(&self.settling);
        let stopped = |reason: String| ReadError::Stopped(reason);
        let (number, file, written, decided) = {
            let state = self.state();
            match &state.current {
                Some(c) if c.readable < c.written => (c.number, Arc::clone(&c.file), c.written, c.decided),
                _ => return Ok(()),
            }
        };
        file.sync_data().map_err(|e| stopped(self.fail(&e.to_string())))?;
        if let Some(engine) = self.engine.get() {
            engine(decided).map_err(stopped)?;
        }
        let mut state = self.state();
        if let Some(current) = state.current.as_mut().filter(|c| c.number == number) {
            current.readable = current.readable.max(written);
        }
        Ok(())
    }

    /// How far a file may be read, and the number of the next one.
    pub(crate) fn limit(&self, number: u64) -> Result<(u64, Option<u64>), ReadError> {
        let state = self.state();
        if let Some(current) = &state.current
            && current.number == number
        {
            let (readable, written) = (current.readable, current.written);
            drop(state);
            if readable < written {
                self.settle()?;
                return self.limit_now(number);
            }
            return Ok((readable, None));
        }
        drop(state);
        self.limit_now(number)
    }

    fn limit_now(&self, number: u64) -> Result<(u64, Option<u64>), ReadError> {
        let state = self.state();
        if let Some(current) = &state.current
            && current.number == number
        {
            return Ok((current.readable, None));
        }
        let next = state.index.numbers().iter().copied().find(|n| *n > number);
        drop(state);
        Ok((self.open_file(number)?.len()?, next))
    }

    /// Sleeps until the last file is longer than `len`, or another one, or the time has passed.
    pub(crate) fn sleep(&self, number: u64, len: u64, interrupted: &dyn Fn() -> bool, time: Duration) {
        let state = self.state();
        let same = state.current.as_ref().is_some_and(|c| c.number == number && c.written <= len);
        if same && !interrupted() {
            drop(self.grown.wait_timeout(state, time));
        }
    }

    /// Ends sleeps of readers now.
    pub fn wake_all(&self) {
        let _state = self.state();
        self.grown.notify_all();
    }

    pub(crate) fn open_file(&self, number: u64) -> DiskResult<Arc<dyn File>> {
        self.disk.open(&self.names.file(number), OpenMode::Existing, Caching::Buffered)
    }

    fn gone(e: DiskError, name: &str) -> ReadError {
        if e.is_missing() { ReadError::Gone { what: format!("file {name}") } } else { e.into() }
    }

    /// A file's events, as far as they may be read.
    pub fn events(&self, number: u64) -> Result<Events, ReadError> {
        let name = self.names.file(number);
        let (end, _) = self.limit(number)?;
        let file = self.open_file(number).map_err(|e| Self::gone(e, &name))?;
        Events::open(file, &name, end)
    }

    /// Oldest first; the last is the current one.
    pub fn files(&self) -> Vec<BinlogFile> {
        let (numbers, current) = {
            let state = self.state();
            let current = state.current.as_ref().map(|c| (c.number, c.written));
            (state.index.numbers().to_vec(), current)
        };
        let one = |number: u64| {
            let size = match current {
                Some((last, written)) if last == number => written,
                // One that cannot be opened is shown as empty, as MariaDB shows it.
                _ => self.open_file(number).and_then(|f| f.len()).unwrap_or(0),
            };
            BinlogFile { number, size, created: self.created(number) }
        };
        numbers.into_iter().map(one).collect()
    }

    /// When a file was begun: its first event says so.
    fn created(&self, number: u64) -> u64 {
        if let Some(known) = lock(&self.created).get(&number) {
            return *known;
        }
        let mut stamp = [0; 4];
        let read = self.open_file(number).and_then(|f| f.read_at(&mut stamp, 4));
        let created = u64::from(u32::from_le_bytes(stamp));
        if read.is_ok() {
            lock(&self.created).insert(number, created);
        }
        created
    }

    /// The end of what is written.
    pub fn end(&self) -> Position {
        let state = self.state();
        state
            .current
            .as_ref()
            .map_or_else(Position::default, |c| Position { segment: c.number, offset: c.written })
    }

    /// The state at the beginning of a file.
    pub fn state_at(&self, number: u64) -> Result<Vec<Gtid>, ReadError> {
        if !self.numbers().contains(&number) {
            return Err(ReadError::Gone { what: format!("file {}", self.names.file(number)) });
        }
        self.events(number)?.state()
    }

    /// The newest place of a file at which a group begins that is indexed and wanted; `wanted` says yes up to some place.
    fn indexed(&self, number: u64, wanted: &dyn Fn(&Entry) -> bool) -> Result<Option<Entry>, ReadError> {
        let (end, _) = self.limit(number)?;
        let name = self.names.file(number);
        let index = self.open_file(number).ok().and_then(|f| IndexReader::open(&*self.disk, &name, &*f));
        let found = index.and_then(|index| index.last(&|entry| entry.offset <= end && wanted(entry)));
        let counter = if found.is_some() { &self.index_hits } else { &self.index_misses };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(found)
    }

    /// The nearest known place at or before an offset, 0 = the head, and the state there.
    pub fn nearest(&self, number: u64, offset: u64) -> Result<(u64, Vec<Gtid>), ReadError> {
        match self.indexed(number, &|entry| entry.offset <= offset)? {
            Some(entry) => Ok((entry.offset, entry.state)),
            None => Ok((0, self.state_at(number)?)),
        }
    }

    /// Binlog_gtid_index_hit and Binlog_gtid_index_miss.
    pub fn index_use(&self) -> (u64, u64) {
        (self.index_hits.load(Ordering::Relaxed), self.index_misses.load(Ordering::Relaxed))
    }

    /// The newest known place whose state is covered; see `binlog::Binlog::lookup`.
    pub fn lookup(&self, covers: &dyn Fn(&[Gtid]) -> bool) -> Result<Option<Lookup>, ReadError> {
        for number in self.numbers().into_iter().rev() {
            let state = self.state_at(number)?;
            if covers(&state) {
                let indexed = self.indexed(number, &|entry| covers(&entry.state))?;
                let (offset, state) = indexed.map_or((0, state), |entry| (entry.offset, entry.state));
                return Ok(Some(Lookup { position: Position { segment: number, offset }, state }));
            }
        }
        Ok(None)
    }

    /// A reader of groups.
    pub fn reader(self: &Arc<Self>, start: Start) -> Result<FileGroups, ReadError> {
        let numbers = self.numbers();
        let (number, offset) = match start {
            Start::Oldest => (numbers.first().copied(), 0),
            Start::At(p) => (numbers.iter().copied().find(|n| *n == p.segment), p.offset),
            Start::Newest => {
                let end = self.end();
                (Some(end.segment), end.offset)
            }
        };
        let gone = || ReadError::Gone { what: "the file".to_owned() };
        FileGroups::open(Arc::clone(self), number.ok_or_else(gone)?, offset)
    }

    pub(crate) fn new_reader(&self, number: u64) -> u64 {
        let reader = self.next_reader.fetch_add(1, Ordering::Relaxed);
        lock(&self.readers).insert(reader, number);
        reader
    }
    pub(crate) fn reader_is_in(&self, reader: u64, number: u64) {
        lock(&self.readers).insert(reader, number);
    }
    pub(crate) fn end_reader(&self, reader: u64) {
        lock(&self.readers).remove(&reader);
    }

    /// The lowest file that an open reader is in.
    pub fn lowest_read(&self) -> Option<u64> {
        lock(&self.readers).values().copied().min()
    }

    /// PURGE BINARY LOGS TO: the file with this number becomes the first one. Answers how many went.
    pub fn purge_to(&self, number: u64) -> Result<Result<usize, PurgeError>, DiskError> {
        let lowest = self.lowest_read().unwrap_or(u64::MAX);
        let gone = {
            let mut state = self.state();
            if !state.index.numbers().contains(&number) {
                return Ok(Err(PurgeError::UnknownFile));
            }
            let first = number.min(lowest);
            let (gone, kept): (Vec<u64>, Vec<u64>) = state.index.numbers().iter().partition(|n| **n < first);
            if !gone.is_empty() {
                state.index.replace(kept)?;
            }
            gone
        };
        self.remove(&gone);
        Ok(if lowest < number { Err(PurgeError::InUse { file: lowest }) } else { Ok(gone.len()) })
    }

    /// RESET MASTER: all files go, the index is empty. The writer begins a new file next.
    pub fn remove_all(&self) -> DiskResult<()> {
        let gone = {
            let mut state = self.state();
            let gone = state.index.numbers().to_vec();
            state.index.replace(Vec::new())?;
            state.current = None;
            gone
        };
        self.remove(&gone);
        lock(&self.created).clear();
        Ok(())
    }

    /// They are not in the index any more: what cannot be removed only takes room.
    fn remove(&self, gone: &[u64]) {
        for number in gone {
            let name = self.names.file(*number);
            let _ = self.disk.remove(&name);
            let _ = self.disk.remove(&gtid_index::name_of(&name));
            lock(&self.created).remove(number);
        }
        let _ = self.disk.sync_dir("");
    }

    /// The file that PURGE BINARY LOGS BEFORE a time, or expiry, lets become the first: the oldest that was still written at `seconds`.
    pub fn first_file_at(&self, seconds: u64) -> Option<u64> {
        let files = self.files();
        let ended = |i: usize| files.get(i + 1).map_or(u64::MAX, |next| next.created);
        (0..files.len()).find(|i| ended(*i) >= seconds).map(|i| files[i].number)
    }

    /// The file that becomes the first so that all together have at most `bytes`; the current one always stays.
    pub fn first_file_within(&self, bytes: u64) -> Option<u64> {
        let files = self.files();
        let mut total = 0;
        let mut first = files.last()?.number;
        for file in files.iter().rev() {
            total += file.size;
            if total > bytes {
                break;
            }
            first = file.number;
        }
        Some(first)
    }
}
