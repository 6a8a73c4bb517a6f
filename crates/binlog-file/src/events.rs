//! A file of the binary log, event by event.

use std::sync::Arc;

use base::Corruption;
use binlog::ReadError;
use env::File;
use event_format::{Checksum, Event, EventKind, Header, MAGIC};

/// Bytes read at once.
const WINDOW: usize = 64 << 10;

/// The longest event: the most that a packet carries.
const EVENT_MAX: u32 = 1 << 30;

/// Reads a file from front to back.
pub struct Events {
    file: Arc<dyn File>,
    name: String,
    /// Where the next event begins.
    at: u64,
    /// Nothing is read from here on.
    end: u64,
    checksum: Checksum,
    window: Vec<u8>,
    window_at: u64,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("name", &self.name).field("at", &self.at).finish_non_exhaustive()
    }
}

impl Events {
    /// `end` is how far the file may be read. Reads the FORMAT_DESCRIPTION, which says how the others are protected.
    pub fn open(file: Arc<dyn File>, name: &str, end: u64) -> Result<Self, ReadError> {
        let at = MAGIC.len() as u64;
        let mut events = Self {
            file,
            name: name.to_owned(),
            at,
            end,
            checksum: Checksum::None,
            window: Vec::new(),
            window_at: 0,
        };
        events.need(0, MAGIC.len())?;
        if events.window[..MAGIC.len()] != MAGIC {
            return Err(events.corrupt(0, Corruption::new("", "magic", "fe 62 69 6e", "other bytes")));
        }
        let mut bytes = Vec::new();
        let Some(header) = events.peek()? else {
            return Err(events.corrupt(at, Corruption::new("", "event", "FORMAT_DESCRIPTION", "none")));
        };
        events.bytes(&header, &mut bytes)?;
        let read = event_format::read(&bytes, Checksum::None).map_err(|e| events.corrupt(at, e))?;
        match read.1 {
            Event::FormatDescription(format) => events.checksum = format.events_checksum(),
            other => {
                let found = Corruption::new("", "event", "FORMAT_DESCRIPTION", other.kind());
                return Err(events.corrupt(at, found));
            }
        }
        Ok(events)
    }

    /// Of the file's events.
    pub fn checksum(&self) -> Checksum {
        self.checksum
    }
    /// Where the next event begins.
    pub fn at(&self) -> u64 {
        self.at
    }
    pub fn seek(&mut self, at: u64) {
        self.at = at;
    }
    pub fn set_end(&mut self, end: u64) {
        self.end = end;
    }

    /// The header of the next event; none at the end.
    pub fn peek(&mut self) -> Result<Option<Header>, ReadError> {
        if self.at >= self.end {
            return Ok(None);
        }
        let at = self.at;
        self.need(at, Header::LEN)?;
        let from = (at - self.window_at) as usize;
        let header = Header::read(&self.window[from..]).map_err(|e| self.corrupt(at, e))?;
        if header.length > EVENT_MAX || at + u64::from(header.length) > self.end {
            let left = self.end - at;
            return Err(self.corrupt(at, Corruption::new("", "event length", left, header.length)));
        }
        Ok(Some(header))
    }

    /// Passes over the event that was peeked at.
    pub fn skip(&mut self, header: &Header) {
        self.at += u64::from(header.length);
    }

    /// Copies the event that was peeked at, and passes over it.
    pub fn take(&mut self, header: &Header, out: &mut Vec<u8>) -> Result<(), ReadError> {
        self.bytes(header, out)?;
        self.skip(header);
        Ok(())
    }

    fn bytes(&mut self, header: &Header, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let len = header.length as usize;
        out.clear();
        if len <= WINDOW {
            self.need(self.at, len)?;
            let from = (self.at - self.window_at) as usize;
            out.extend_from_slice(&self.window[from..from + len]);
        } else {
            out.resize(len, 0);
            self.file.read_at(out, self.at)?;
        }
        Ok(())
    }

    /// The window holds `len` bytes from `at` on.
    fn need(&mut self, at: u64, len: usize) -> Result<(), ReadError> {
        let have = self.window_at <= at && at + len as u64 <= self.window_at + self.window.len() as u64;
        if have {
            return Ok(());
        }
        if at + len as u64 > self.end {
            let left = self.end.saturating_sub(at);
            return Err(self.corrupt(at, Corruption::new("", "bytes of an event", len, left)));
        }
        self.window.resize(WINDOW.min((self.end - at) as usize), 0);
        self.window_at = at;
        let read = self.file.read_at(&mut self.window, at);
        if read.is_err() {
            self.window.clear();
        }
        Ok(read?)
    }

    /// The next event of this kind in the head of the file, with its bytes.
    pub(crate) fn find_in_head(&mut self, kind: EventKind, out: &mut Vec<u8>) -> Result<bool, ReadError> {
        while let Some(header) = self.peek()? {
            self.take(&header, out)?;
            if header.kind == kind {
                return Ok(true);
            }
            if header.kind == EventKind::GTID {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// The state before the first group: what the file's GTID_LIST says. The next event is then the one behind it.
    pub fn state(&mut self) -> Result<Vec<base::Gtid>, ReadError> {
        let mut bytes = Vec::new();
        if !self.find_in_head(EventKind::GTID_LIST, &mut bytes)? {
            return Ok(Vec::new());
        }
        let at = self.at - bytes.len() as u64;
        match event_format::read(&bytes, self.checksum).map_err(|e| self.corrupt(at, e))?.1 {
            Event::GtidList(list) => Ok(list.gtids),
            _ => Ok(Vec::new()),
        }
    }

    /// A damaged place, named.
    pub fn corrupt(&self, at: u64, found: Corruption) -> ReadError {
        ReadError::Corrupt(found.within(format_args!("{} at offset {at}", self.name)))
    }
}
