//! The file that is written. One thread at a time has the writer; it orders groups, readers never wait for it.
//!
//! # Crash
//! A new file is durable with its head before the old one is closed, and becomes part of the binary log when the index names it (W1): the
//! last step. Up to there nothing in it has happened, also when it is the renamed cache of a large transaction.

use std::sync::Arc;

use base::{Gtid, Lsn};
use env::{Caching, DiskError, DiskResult, File, OpenMode};
use event_format::{Checksum, Event, Header, Rotate, Stamp, header_flags, write};

use crate::cache::{Cache, CacheLimits};
use crate::files::Files;
use crate::gtid_index::{self, IndexWriter};
use crate::head::{self, HeadFacts};

/// Bytes that are copied at once.
const COPY: usize = 1 << 20;
/// Offset of the flags of the FORMAT_DESCRIPTION in a file.
const FLAGS: u64 = 4 + 17;

/// Where a group stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub number: u64,
    pub start: u64,
    pub end: u64,
}

/// A place to go back to when a write fails.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    number: u64,
    at: u64,
}

/// Groups that are not in the file.
#[derive(Debug)]
pub struct WriteError {
    pub reason: String,
    /// Nobody knows what is on disk: no commit is taken any more (L7).
    pub is_final: bool,
    /// The file that the disk has no room for; nothing was lost.
    pub no_room: Option<String>,
}

impl From<DiskError> for WriteError {
    fn from(e: DiskError) -> Self {
        Self { reason: e.to_string(), is_final: false, no_room: e.is_full().then(|| e.path.clone()) }
    }
}

/// See the module.
pub struct Writer {
    files: Arc<Files>,
    file: Arc<dyn File>,
    number: u64,
    /// Bytes in the file.
    at: u64,
    /// Of the file's events.
    checksum: Checksum,
    server_id: u32,
    /// Groups that go into the file with the next write.
    buffer: Vec<u8>,
    index: Option<IndexWriter>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("number", &self.number).field("at", &self.at).finish_non_exhaustive()
    }
}

impl Writer {
    /// Begins the next file, the first of this start.
    pub fn begin(files: Arc<Files>, number: u64, facts: &HeadFacts, state: Vec<Gtid>) -> DiskResult<Self> {
        let (file, head) = new_file(&files, number, facts, state.clone())?;
        let index = new_index(&files, number, &head, facts, state);
        let at = head.len() as u64;
        files.add(number, Arc::clone(&file), at)?;
        let (checksum, server_id) = (facts.checksum, facts.server_id);
        Ok(Self { files, file, number, at, checksum, server_id, buffer: Vec::new(), index })
    }

    pub fn number(&self) -> u64 {
        self.number
    }
    /// Bytes of the file with what is gathered for it.
    pub fn len(&self) -> u64 {
        self.at + self.buffer.len() as u64
    }
    pub fn is_empty(&self) -> bool {
        false
    }
    pub fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// A cache for a transaction's group.
    pub fn cache(files: &Files, limits: CacheLimits, checksum: Checksum) -> Cache {
        Cache::new(Arc::clone(files.disk()), limits, checksum)
    }

    pub fn mark(&self) -> Mark {
        Mark { number: self.number, at: self.at }
    }

    /// Takes back what was gathered or written since the mark.
    pub fn undo(&mut self, mark: Mark) -> Result<(), WriteError> {
        assert_eq!(mark.number, self.number, "a mark in the file that is written");
        self.buffer.clear();
        self.at = mark.at;
        if let Some(index) = &mut self.index {
            index.forget();
        }
        self.file.set_len(mark.at).map_err(|e| self.fail(&e))
    }

    /// Gathers a group for the file; only a large one is written at once. `commit_id` is that of the groups that were written with it,
    /// 0 = none.
    pub fn append(&mut self, cache: &mut Cache, seq_no: u64, commit_id: u64) -> Result<Place, WriteError> {
        if cache.checksum != self.checksum {
            self.convert(cache)?;
        }
        if commit_id != 0 {
            head::join(&mut cache.first, commit_id, self.checksum);
        }
        let start = self.len();
        let length = cache.first.len();
        head::complete_gtid(&mut cache.first, seq_no, start, length, self.checksum);
        if let Some(index) = &mut self.index {
            index.gathered(start, head::gtid_of(&cache.first));
        }
        self.buffer.extend_from_slice(&cache.first);
        if let Some(spill) = &cache.spill {
            self.write_gathered()?;
            let (mut from, end) = (spill.reserved, spill.reserved + spill.len);
            let mut piece = Vec::new();
            while from < end {
                piece.resize(COPY.min((end - from) as usize), 0);
                spill.file.read_at(&mut piece, from)?;
                self.file.write_at(&piece, self.at)?;
                self.at += piece.len() as u64;
                from += piece.len() as u64;
            }
        }
        self.buffer.extend_from_slice(&cache.memory);
        let at = self.len();
        head::place(&mut cache.last, at, self.checksum);
        self.buffer.extend_from_slice(&cache.last);
        Ok(Place { number: self.number, start, end: self.len() })
    }

    /// binlog_checksum has changed since the group was made.
    fn convert(&mut self, cache: &mut Cache) -> Result<(), WriteError> {
        let (from, to) = (cache.checksum, self.checksum);
        let mut made = Cache::new(Arc::clone(self.files.disk()), CacheLimits::unbounded(), to);
        cache.events(&mut |event, last| {
            let mut out = Vec::new();
            convert(event, from, to, &mut out);
            // An unbounded cache meets errors of the disk alone, and keeps them.
            let _ = binlog::EventSink::event(&mut made, &out, last);
        })?;
        if let Some(e) = made.take_error() {
            return Err(e.into());
        }
        *cache = made;
        Ok(())
    }

    /// Writes what is gathered.
    pub fn write_gathered(&mut self) -> Result<(), WriteError> {
        if !self.buffer.is_empty() {
            self.file.write_at(&self.buffer, self.at)?;
            self.at += self.buffer.len() as u64;
            self.buffer.clear();
            self.buffer.shrink_to(COPY);
        }
        Ok(())
    }

    /// A failure is final.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        self.file.sync_data().map_err(|e| self.fail(&e))
    }

    fn fail(&self, e: &DiskError) -> WriteError {
        WriteError { reason: self.files.fail(&e.to_string()), is_final: true, no_room: None }
    }

    /// What is written counts: readers may have it once it is durable, and the engine's log up to `decided`.
    pub fn publish(&mut self, decided: Lsn, is_durable: bool) {
        self.files.written(self.number, self.at, decided, is_durable);
        self.index_published();
    }

    fn index_published(&mut self) {
        if self.index.as_mut().is_some_and(|index| !index.publish()) {
            self.index = None;
        }
    }

    /// Goes on in the next file. Everything in this one must be decided in the engine's log, durable.
    pub fn rotate(&mut self, facts: &HeadFacts, state: Vec<Gtid>) -> Result<(), WriteError> {
        let next = self.number + 1;
        let (file, head) = new_file(&self.files, next, facts, state.clone())?;
        let index = new_index(&self.files, next, &head, facts, state);
        self.switch(next, file, head.len() as u64, facts)?;
        self.index = index;
        Ok(())
    }

    /// A large group's cache file becomes the next file. False when it cannot; it is appended as any other then.
    pub fn adopt(
        &mut self,
        cache: &mut Cache,
        seq_no: u64,
        facts: &HeadFacts,
        state: Vec<Gtid>,
    ) -> Result<Option<Place>, WriteError> {
        let number = self.number + 1;
        let name = self.files.names().file(number);
        let mut bytes = head::head(facts, &name, state.clone());
        let Some(spill) = &mut cache.spill else { return Ok(None) };
        let start = bytes.len() as u64;
        let room = spill.reserved.saturating_sub(start) as usize;
        if room < cache.first.len() || cache.checksum != facts.checksum || !cache.memory.is_empty() {
            return Ok(None);
        }
        head::complete_gtid(&mut cache.first, seq_no, start, room, cache.checksum);
        let index = new_index(&self.files, number, &bytes, facts, state);
        bytes.extend_from_slice(&cache.first);
        let file = Arc::clone(&spill.file);
        file.write_at(&bytes, 0)?;
        file.sync_data().map_err(|e| self.fail(&e))?;
        let disk = self.files.disk();
        disk.rename(&spill.path, &name)?;
        spill.is_adopted = true;
        disk.sync_dir(crate::names::CACHE_DIRECTORY)?;
        disk.sync_dir("")?;
        let end = spill.reserved + spill.len + cache.last.len() as u64;
        self.switch(number, file, end, facts)?;
        self.index = index;
        if let Some(index) = &mut self.index {
            index.gathered(start, head::gtid_of(&cache.first));
        }
        self.index_published();
        Ok(Some(Place { number, start, end }))
    }

    fn switch(
        &mut self,
        number: u64,
        file: Arc<dyn File>,
        at: u64,
        facts: &HeadFacts,
    ) -> Result<(), WriteError> {
        let name = self.files.names().file(number);
        let rotate = Event::Rotate(Rotate { position: 4, file: name.as_bytes() });
        let before = self.at;
        let ended = self.close_with(&rotate, facts.now);
        if let Err(e) = ended.and_then(|()| self.files.add(number, Arc::clone(&file), at)) {
            return Err(self.not_switched(&e, before, &name));
        }
        (self.number, self.file, self.at) = (number, file, at);
        (self.checksum, self.server_id) = (facts.checksum, facts.server_id);
        Ok(())
    }

    /// The end of this file, or the name of the next one in the index, had no room: this file goes on where it was. Any other failure
    /// is final.
    fn not_switched(&mut self, e: &DiskError, before: u64, next: &str) -> WriteError {
        if !e.is_full() {
            return self.fail(e);
        }
        self.at = before;
        let reopened = self.file.write_at(&IN_USE, FLAGS).and_then(|()| self.file.set_len(before));
        if let Err(e) = reopened {
            return self.fail(&e);
        }
        // One that stays is not in the index, and is made anew by the next attempt.
        let _ = self.files.disk().remove(next);
        let _ = self.files.disk().remove(&gtid_index::name_of(next));
        WriteError { reason: e.to_string(), is_final: false, no_room: Some(e.path.clone()) }
    }

    /// Ends the file: the server stops.
    pub fn close(&mut self, now: u32) -> Result<(), WriteError> {
        self.close_with(&Event::Stop, now).map_err(|e| self.fail(&e))?;
        self.files.written(self.number, self.at, Lsn::NONE, true);
        Ok(())
    }

    fn close_with(&mut self, event: &Event<'_>, now: u32) -> DiskResult<()> {
        let end = event_format::End::Behind(self.at);
        let stamp = Stamp { timestamp: now, server_id: self.server_id, end, flags: 0 };
        let mut bytes = Vec::new();
        write(&mut bytes, &stamp, event, self.checksum);
        self.file.write_at(&bytes, self.at)?;
        self.at += bytes.len() as u64;
        set_closed(&*self.file)?;
        self.file.sync_data()
    }
}

/// Flags of a file that is written.
const IN_USE: [u8; 2] = header_flags::IN_USE.to_le_bytes();

/// The file is whole: it is not in use any more.
pub(crate) fn set_closed(file: &dyn File) -> DiskResult<()> {
    file.write_at(&[0, 0], FLAGS)
}

/// The index of a file, when it has one.
fn new_index(
    files: &Files,
    number: u64,
    head: &[u8],
    facts: &HeadFacts,
    state: Vec<Gtid>,
) -> Option<IndexWriter> {
    let name = files.names().file(number);
    let disk = &**files.disk();
    match facts.index {
        Some(options) => IndexWriter::begin(disk, &name, head, state, options),
        None => {
            // One that a crash has left there is of another file.
            let _ = disk.remove(&gtid_index::name_of(&name));
            None
        }
    }
}

/// A file with its head, durable; the head.
fn new_file(
    files: &Files,
    number: u64,
    facts: &HeadFacts,
    state: Vec<Gtid>,
) -> DiskResult<(Arc<dyn File>, Vec<u8>)> {
    let name = files.names().file(number);
    let bytes = head::head(facts, &name, state);
    let disk = files.disk();
    // One that a crash has left there is not in the index.
    let file = disk.open(&name, OpenMode::Create, Caching::Buffered)?;
    file.set_len(0)?;
    file.write_at(&bytes, 0)?;
    file.sync_data()?;
    disk.sync_dir("")?;
    Ok((file, bytes))
}

/// The event with another checksum.
pub(crate) fn convert(event: &[u8], from: Checksum, to: Checksum, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&event[..event.len() - from.len()]);
    out.resize(out.len() + to.len(), 0);
    let length = out.len() as u32;
    out[9..13].copy_from_slice(&length.to_le_bytes());
    let read = |at: usize| u32::from_le_bytes([event[at], event[at + 1], event[at + 2], event[at + 3]]);
    let flags = u16::from_le_bytes([event[17], event[18]]);
    debug_assert!(event.len() >= Header::LEN);
    event_format::restamp(out, read(13), flags, to);
}
