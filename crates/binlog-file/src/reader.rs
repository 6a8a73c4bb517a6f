//! Groups of the files, one after the other: what dump threads and SHOW read.
//!
//! # Invariants
//! R1. Groups come whole and in the order of the files; only what may be read (W2).
//! R2. A new file is told before the first group in it, and also when no group follows.
//! R3. Memory: one event.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Gtid;
use binlog::{EmitError, EmitOptions, EventSink, GroupHead, Next, Position, ReadError, Wait};
use event_format::{Event, EventKind, Header, gtid_flags};

use crate::events::Events;
use crate::files::Files;
use crate::recover::{ends_group, is_statement};
use crate::writer::convert;

/// A query event that ends a group is shorter.
const COMMIT_MAX: u32 = 512;

/// See the module.
pub struct FileGroups {
    files: Arc<Files>,
    reader: u64,
    number: u64,
    events: Events,
    /// Of a file that does not grow any more: its length, and the next one.
    sealed: Option<(u64, Option<u64>)>,
    /// Start and end of the group that was given last.
    current: Option<(u64, u64)>,
    interrupted: Arc<AtomicBool>,
    bytes: Vec<u8>,
    converted: Vec<u8>,
}

impl std::fmt::Debug for FileGroups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileGroups").field("events", &self.events).finish_non_exhaustive()
    }
}

impl Drop for FileGroups {
    fn drop(&mut self) {
        self.files.end_reader(self.reader);
    }
}

/// Interrupts a reader's wait from another thread.
#[derive(Debug, Clone)]
pub struct FileInterrupt {
    flag: Arc<AtomicBool>,
    files: Arc<Files>,
}

impl FileInterrupt {
    /// The reader's waits end at once from now on.
    pub fn interrupt(&self) {
        self.flag.store(true, Ordering::SeqCst);
        self.files.wake_all();
    }
}

impl FileGroups {
    /// `offset` is the start of an event, or at most 4: the head.
    pub(crate) fn open(files: Arc<Files>, number: u64, offset: u64) -> Result<Self, ReadError> {
        let reader = files.new_reader(number);
        let events = files.events(number);
        let mut events = match events {
            Ok(events) => events,
            Err(e) => {
                files.end_reader(reader);
                return Err(e);
            }
        };
        let start = events.at();
        events.seek(offset.max(start));
        Ok(Self {
            files,
            reader,
            number,
            events,
            sealed: None,
            current: None,
            interrupted: Arc::default(),
            bytes: Vec::new(),
            converted: Vec::new(),
        })
    }

    pub fn interrupt(&self) -> FileInterrupt {
        FileInterrupt { flag: Arc::clone(&self.interrupted), files: Arc::clone(&self.files) }
    }

    fn position(&self, offset: u64) -> Position {
        Position { segment: self.number, offset }
    }

    /// How far the file may be read, and the next one.
    fn limit(&mut self) -> Result<(u64, Option<u64>), ReadError> {
        if let Some(sealed) = self.sealed {
            return Ok(sealed);
        }
        let found = self.files.limit(self.number)?;
        self.sealed = found.1.is_some().then_some(found);
        Ok(found)
    }

    /// The next group, or the next file.
    pub fn next(&mut self, wait: Wait) -> Result<Next, ReadError> {
        if let Some((_, end)) = self.current.take() {
            self.events.seek(end);
        }
        loop {
            let (limit, next) = self.limit()?;
            self.events.set_end(limit);
            while let Some(header) = self.events.peek()? {
                if header.kind == EventKind::GTID {
                    return self.group(&header).map(Next::Group);
                }
                self.events.skip(&header);
            }
            if let Some(next) = next {
                self.events = self.files.events(next)?;
                (self.number, self.sealed) = (next, None);
                self.files.reader_is_in(self.reader, next);
                return Ok(Next::Rotated { segment: next });
            }
            let Wait::For(time) = wait else { return Ok(Next::Nothing) };
            let flag = Arc::clone(&self.interrupted);
            if time.is_zero() || flag.load(Ordering::SeqCst) {
                return Ok(Next::Nothing);
            }
            if let Some(why) = self.files.failure() {
                return Err(ReadError::Stopped(why.to_owned()));
            }
            self.files.sleep(self.number, limit, &|| flag.load(Ordering::SeqCst), time);
            if self.files.limit(self.number)? == (limit, None) {
                return Ok(Next::Nothing);
            }
        }
    }

    /// The group that begins with the GTID event that was peeked at.
    fn group(&mut self, header: &Header) -> Result<GroupHead, ReadError> {
        let start = self.events.at();
        self.events.take(header, &mut self.bytes)?;
        let checksum = self.events.checksum();
        let read = event_format::read(&self.bytes, checksum).map_err(|e| self.events.corrupt(start, e))?;
        let (gtid, flags, thread_id) = match read.1 {
            Event::Gtid(e) => {
                let gtid = Gtid { domain_id: e.domain_id, server_id: header.server_id, seq_no: e.seq_no };
                (gtid, e.flags, e.thread_id)
            }
            _ => (Gtid::default(), 0, 0),
        };
        let end = self.find_end(flags & gtid_flags::STANDALONE != 0)?;
        self.current = Some((start, end));
        Ok(GroupHead {
            gtid,
            flags: 0,
            time: u64::from(header.timestamp) * 1_000_000,
            thread_id,
            commit_id: 0,
            position: self.position(start),
            end: self.position(end),
            span: end - start,
        })
    }

    /// Where the group ends whose GTID event was passed.
    fn find_end(&mut self, standalone: bool) -> Result<u64, ReadError> {
        loop {
            let at = self.events.at();
            let Some(header) = self.events.peek()? else {
                let found = base::Corruption::new("", "group", "its end", "the end of the file");
                return Err(self.events.corrupt(at, found));
            };
            let ends = match header.kind {
                EventKind::XID | EventKind::XA_PREPARE => true,
                EventKind::QUERY if standalone => true,
                EventKind::QUERY if header.length < COMMIT_MAX => {
                    self.events.take(&header, &mut self.bytes)?;
                    self.events.seek(at);
                    let read = event_format::read(&self.bytes, self.events.checksum());
                    match read.map_err(|e| self.events.corrupt(at, e))?.1 {
                        Event::Query(query) => ends_group(&query.sql),
                        _ => false,
                    }
                }
                kind => standalone && is_statement(kind),
            };
            self.events.skip(&header);
            if ends {
                return Ok(self.events.at());
            }
        }
    }

    /// Gives the events of the group that [`Self::next`] has given last, with the checksum that is asked for.
    pub fn emit(&mut self, options: &EmitOptions, sink: &mut dyn EventSink) -> Result<(), EmitError> {
        let Some((start, end)) = self.current else { return Ok(()) };
        self.events.seek(start);
        let checksum = self.events.checksum();
        while self.events.at() < end {
            let at = self.events.at();
            let Some(header) = self.events.peek()? else { break };
            self.events.take(&header, &mut self.bytes)?;
            if header.kind == EventKind::ANNOTATE && !options.annotate {
                continue;
            }
            // What is damaged on disk must not go out with a fresh checksum, nor at all.
            event_format::read(&self.bytes, checksum).map_err(|e| self.events.corrupt(at, e))?;
            let last = self.events.at() >= end;
            if checksum == options.checksum {
                sink.event(&self.bytes, last)?;
            } else {
                convert(&self.bytes, checksum, options.checksum, &mut self.converted);
                sink.event(&self.converted, last)?;
            }
        }
        Ok(())
    }
}
