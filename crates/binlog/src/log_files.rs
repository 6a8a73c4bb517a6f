//! The binary log as files: which segments belong to it, what may go, where a replica's position is.
//!
//! # Which segments
//! The log's segments from `first` on are the binary log's files; older ones are kept by recovery, purge or snapshots alone and are not
//! listed. PURGE and expiry move `first`; the log's own retention removes what nobody needs.
//!
//! # Invariants
//! B1. A file that is listed can be read: the log is kept from `first` on, and further back as far as a group in a listed file refers
//!     to (a transaction may have begun files before its commit). Each file's head says so for the file before it.
//! B2. `first` moves only forwards, never past a file that an open reader is in, nor past the current one.
//!
//! # Crash
//! `first` is in the checkpoint. A crash before the next one forgets a PURGE; the files are gone or are listed again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use base::{Gtid, Lsn, Put, Reader};
use env::Disk;
use hashbrown::HashMap;
use log::{Log, RotateError};
use log_format::frame::FrameStart;
use log_format::record::{Envelope, GtidState, Record, RecordType};

use crate::api::{Position, ReadError, Start};
use crate::feed::Feed;
use crate::frames::{Frames, Step, record_len};
use crate::reader::{GroupReader, Shared};
use crate::source::{Live, Segment, Stopped};

/// How far into a file its first state is looked for: a file whose first group comes later has none that matters.
const HEAD_MAX: u64 = 4 << 20;

/// One file of the binary log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinlogFile {
    /// Its number: file names are made of it.
    pub number: u64,
    /// Bytes; of the current file those that are durable.
    pub size: u64,
    /// When it was begun, in seconds since 1970.
    pub created: u64,
}

/// Where to begin for a replica, and what the binary log held there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    pub position: Position,
    /// The newest GTID of every server in every domain, the newest of a domain last.
    pub state: Vec<Gtid>,
}

/// Why files were not purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurgeError {
    /// There is no such file.
    UnknownFile,
    /// A reader is in this file: what is before it has gone, if anything was.
    InUse { file: u64 },
}

/// The binary log of a running server.
pub struct Binlog {
    log: Arc<Log>,
    feed: Arc<Feed>,
    shared: Arc<Shared>,
    /// First LSN of the first file.
    first: AtomicU64,
    /// The lowest LSN that groups of the files before a file refer to, by the file's number, once it has been read.
    heads: Mutex<HashMap<u64, Lsn>>,
}

impl std::fmt::Debug for Binlog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Binlog").field("first", &self.first()).finish_non_exhaustive()
    }
}

impl Binlog {
    /// `extension` is what [`Self::extension`] gave at the last checkpoint, `replaced` the record of a later RESET MASTER, if any.
    pub fn new(log: Arc<Log>, feed: Arc<Feed>, extension: &[u8], replaced: Lsn) -> Self {
        let saved = Reader::new(extension).u64("binlog start").unwrap_or(0);
        let oldest = log.segments().first().map_or(Lsn::NONE, |s| s.start);
        let reset = if replaced.is_none() { Lsn::NONE } else { start_of(&log, replaced) };
        let first = Lsn(saved).max(oldest).max(reset);
        let shared = Shared::new(Arc::new(Live { log: Arc::clone(&log), feed: Arc::clone(&feed) }));
        Self { log, feed, shared, first: AtomicU64::new(first.0), heads: Mutex::default() }
    }

    /// What a checkpoint keeps.
    pub fn extension(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_u64(self.first().0);
        out
    }

    pub(crate) fn source(&self) -> Arc<dyn crate::source::Source> {
        Arc::clone(&self.shared.source)
    }
    pub(crate) fn tables(&self) -> &crate::tables::Tables {
        &self.shared.tables
    }

    fn first(&self) -> Lsn {
        Lsn(self.first.load(Ordering::Acquire))
    }

    fn segments(&self) -> Vec<Segment> {
        let first = self.first();
        self.shared.source.segments().into_iter().filter(|s| s.start >= first).collect()
    }

    /// Oldest first; the last is the current one.
    pub fn files(&self) -> Vec<BinlogFile> {
        let durable = self.shared.source.durable();
        let file = |s: Segment| BinlogFile {
            number: s.number,
            size: s.end.min(durable.max(s.start)) - s.start,
            created: s.created,
        };
        self.segments().into_iter().map(file).collect()
    }

    /// The end of what is durable.
    pub fn end(&self) -> Position {
        let durable = self.shared.source.durable();
        match self.shared.source.segment_of(durable) {
            Some(segment) => segment.position(durable),
            None => Position::default(),
        }
    }

    /// A reader of event groups. Many of them may be open; each is cheap while it waits.
    pub fn reader(&self, start: Start) -> Result<GroupReader, ReadError> {
        GroupReader::open(&self.shared, self.first(), start)
    }

    /// Begins the next file (FLUSH BINARY LOGS); its number.
    pub fn rotate(&self) -> Result<u64, RotateError> {
        let number = self.log.rotate()?;
        self.feed.wake_all();
        Ok(number)
    }

    /// RESET MASTER has begun the binary log anew with the record at `lsn`.
    pub fn begins_at(&self, lsn: Lsn) {
        self.first.fetch_max(start_of(&self.log, lsn).0, Ordering::AcqRel);
        self.feed.wake_all();
    }

    /// The lowest LSN that the binary log needs: give it to the engine's log keeper.
    pub fn needed(&self) -> Lsn {
        let first = self.first();
        let mut needed = first;
        let mut lower = |lsn: Lsn| {
            if !lsn.is_none() && lsn < needed {
                needed = lsn;
            }
        };
        lower(self.feed.needs());
        for segment in self.segments().iter().filter(|s| s.start > first) {
            lower(self.head_needs(segment));
        }
        needed
    }

    /// B1: what the head of a file says of the groups before it. A head that cannot be read keeps what it may speak of.
    fn head_needs(&self, segment: &Segment) -> Lsn {
        let known = self.heads.lock().unwrap_or_else(PoisonError::into_inner).get(&segment.number).copied();
        if let Some(known) = known {
            return known;
        }
        let (needs, settled) = match self.head_state(segment) {
            Ok(Some((_, state))) => (state.needs, true),
            // The current file's head may still come.
            Ok(None) => (Lsn::NONE, segment.end <= self.shared.source.durable()),
            Err(_) => (Lsn(1), false),
        };
        if settled {
            self.heads.lock().unwrap_or_else(PoisonError::into_inner).insert(segment.number, needs);
        }
        needs
    }

    /// The first state record of a file, with its LSN; none when no group comes soon.
    fn head_state(&self, segment: &Segment) -> Result<Option<(Lsn, GtidState)>, ReadError> {
        let mut frames = Frames::new(Arc::clone(&self.shared.source));
        next_state(&mut frames, Beginning::Of(segment), segment.start + HEAD_MAX)
    }

    /// The state at the beginning of a file: what its GTID_LIST event says. Reads on until the first group when the file has no state.
    pub fn state_at(&self, file: u64) -> Result<Vec<Gtid>, ReadError> {
        let segments = self.segments();
        let gone = || ReadError::Gone { what: format!("file {file}") };
        let segment = segments.iter().find(|s| s.number == file).ok_or_else(gone)?;
        let mut frames = Frames::new(Arc::clone(&self.shared.source));
        match next_state(&mut frames, Beginning::Of(segment), Lsn::MAX)? {
            Some((_, state)) => Ok(state.gtids),
            // No group in it nor behind it: the newest state before.
            None => self.newest_state(segment.start),
        }
    }

    /// Whether a record begins at this place, or the log ends there: what a client may name as a position.
    pub fn is_boundary(&self, position: Position) -> Result<bool, ReadError> {
        let segments = self.segments();
        let Some(segment) = segments.iter().find(|s| s.number == position.segment) else { return Ok(false) };
        Frames::new(Arc::clone(&self.shared.source)).begins_record(segment.start + position.offset)
    }

    /// The state behind all durable groups below `end`.
    fn newest_state(&self, end: Lsn) -> Result<Vec<Gtid>, ReadError> {
        let mut state: Vec<Gtid> = Vec::new();
        let Some(found) = self.lookup_below(end, &|_| true)? else { return Ok(state) };
        state.extend(&found.state);
        let mut reader = self.reader(Start::At(found.position))?;
        loop {
            match reader.next(crate::api::Wait::No)? {
                crate::api::Next::Group(head) => {
                    let at =
                        self.shared.source.segments().into_iter().find(|s| s.number == head.position.segment);
                    if at.is_none_or(|s| s.start + head.position.offset >= end) {
                        return Ok(state);
                    }
                    advance(&mut state, head.gtid);
                }
                crate::api::Next::Rotated { .. } => {}
                crate::api::Next::Nothing => return Ok(state),
            }
        }
    }

    /// The last place with a recorded state that `covers` accepts: a replica's stream begins there, and what it has already is skipped.
    /// `covers` must not accept a state behind one that it refused. `None` when it refuses the oldest: what the replica needs has been
    /// purged. Reads a few heads of files; in the file found each halving reads on from its middle to the next state, up to one interval.
    /// Behind the place found at most one interval lies before what is wanted.
    pub fn lookup(&self, covers: &dyn Fn(&[Gtid]) -> bool) -> Result<Option<Lookup>, ReadError> {
        self.lookup_below(Lsn::MAX, covers)
    }

    fn lookup_below(&self, end: Lsn, covers: &dyn Fn(&[Gtid]) -> bool) -> Result<Option<Lookup>, ReadError> {
        let segments: Vec<Segment> = self.segments().into_iter().filter(|s| s.start < end).collect();
        let mut frames = Frames::new(Arc::clone(&self.shared.source));
        for (i, segment) in segments.iter().enumerate().rev() {
            let head = next_state(&mut frames, Beginning::Of(segment), segment.end.min(end))?;
            let Some((at, state)) = head else {
                // No group in this file. The oldest one begins with whatever was before: nothing that is known.
                if i == 0 && covers(&[]) {
                    return Ok(Some(Lookup { position: segment.position(segment.start), state: Vec::new() }));
                }
                continue;
            };
            if covers(&state.gtids) {
                let from = state.as_of(at);
                let state = GtidState { at: from, ..state };
                let found = self.within(&mut frames, segment, (from, state), end, covers)?;
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Halves the part of a file behind a state that is accepted until it is one interval long.
    fn within(
        &self,
        frames: &mut Frames,
        segment: &Segment,
        accepted: (Lsn, GtidState),
        end: Lsn,
        covers: &dyn Fn(&[Gtid]) -> bool,
    ) -> Result<Lookup, ReadError> {
        /// Nearer than this it is read from the state before.
        const NEAR: u64 = 64 << 10;
        let (mut from, mut best) = accepted;
        let mut to = segment.end.min(self.shared.source.durable()).min(end);
        while to.0.saturating_sub(from.0) > NEAR {
            let middle = Lsn(from.0 + (to - from) / 2);
            let start = frames.locate(middle)?;
            match next_state(frames, Beginning::At(start), to)? {
                Some((at, state)) if at > from && covers(&state.gtids) => {
                    from = state.as_of(at).max(middle);
                    best = GtidState { at: state.as_of(at), ..state };
                }
                _ => to = middle,
            }
        }
        let position = segment.position(best.at.max(segment.start));
        Ok(Lookup { position, state: best.gtids })
    }

    /// PURGE BINARY LOGS TO: the file with this number becomes the first one. Answers how many went out of the list.
    pub fn purge_to(&self, number: u64) -> Result<usize, PurgeError> {
        let segments = self.segments();
        let Some(target) = segments.iter().find(|s| s.number == number) else {
            return Err(PurgeError::UnknownFile);
        };
        // B2. A reader that opens now looks at `first` before it is in the list; it meets an error, not a gap.
        let lowest = self.shared.readers().values().copied().min().unwrap_or(u64::MAX);
        let allowed = segments.iter().rfind(|s| s.number <= lowest.min(number));
        if let Some(allowed) = allowed {
            self.first.fetch_max(allowed.start.0, Ordering::AcqRel);
        }
        let gone = segments.iter().filter(|s| s.start < self.first()).count();
        if lowest < target.number { Err(PurgeError::InUse { file: lowest }) } else { Ok(gone) }
    }

    /// The file that PURGE BINARY LOGS BEFORE a time, or expiry, lets become the first: the oldest that was still written at `seconds`.
    pub fn first_file_at(&self, seconds: u64) -> Option<u64> {
        let segments = self.segments();
        let ended = |i: usize| segments.get(i + 1).map_or(u64::MAX, |next| next.created);
        (0..segments.len()).find(|i| ended(*i) >= seconds).map(|i| segments[i].number)
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

    /// The lowest file that an open reader is in.
    pub fn lowest_read(&self) -> Option<u64> {
        self.shared.readers().values().copied().min()
    }
}

fn start_of(log: &Log, lsn: Lsn) -> Lsn {
    log.segment_at(lsn).map_or(Lsn::NONE, |(_, start, ..)| start)
}

/// A group with this GTID has been passed.
fn advance(state: &mut Vec<Gtid>, gtid: Gtid) {
    state.retain(|g| (g.domain_id, g.server_id) != (gtid.domain_id, gtid.server_id));
    let at = state.iter().rposition(|g| g.domain_id <= gtid.domain_id).map_or(0, |i| i + 1);
    state.insert(at, gtid);
}

/// Where a search begins.
enum Beginning<'s> {
    At(FrameStart),
    /// With the first frame of a segment, if it is durable.
    Of(&'s Segment),
}

impl Beginning<'_> {
    fn or_first(self, frames: &mut Frames) -> Result<Option<FrameStart>, ReadError> {
        match self {
            Self::At(start) => Ok(Some(start)),
            Self::Of(segment) if segment.frames() >= frames.durable() => Ok(None),
            Self::Of(segment) => Ok(Some(frames.segment_head(segment)?.1)),
        }
    }
}

/// The first state record from `start` on, below `end`, which may lie in later segments.
fn next_state(
    frames: &mut Frames,
    start: Beginning<'_>,
    end: Lsn,
) -> Result<Option<(Lsn, GtidState)>, ReadError> {
    let Some(mut at) = start.or_first(frames)? else { return Ok(None) };
    while at.lsn < end {
        match frames.step(at)? {
            Step::End => return Ok(None),
            Step::Segment(_, first) => {
                at = first;
                continue;
            }
            Step::Frame => {}
        }
        let (first, payload) = frames.payload();
        let mut offset = 0;
        while offset < payload.len() {
            let lsn = first + offset as u64;
            let rest = &payload[offset..];
            let found = record_len(rest).and_then(|len| Envelope::decode(lsn, &rest[..len]));
            let envelope = found.map_err(|e| frames.corrupt(lsn, e))?;
            if envelope.record_type == RecordType::GtidState && lsn < end {
                return match Record::decode(lsn, &rest[..envelope.size]) {
                    Ok(Record::GtidState(state)) => Ok(Some((lsn, state))),
                    Ok(_) => Ok(None),
                    Err(e) => Err(frames.corrupt(lsn, e)),
                };
            }
            offset += envelope.size;
        }
        at = frames.next_start();
    }
    Ok(None)
}

/// The binary log of a server that does not run, or has crashed: its segments, read and not changed.
pub struct StoppedBinlog {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for StoppedBinlog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoppedBinlog").finish_non_exhaustive()
    }
}

impl StoppedBinlog {
    /// `directory` is where the segments are, `log` in a data directory.
    pub fn open(disk: &dyn Disk, directory: &str) -> Result<Self, ReadError> {
        Ok(Self { shared: Shared::new(Arc::new(Stopped::open(disk, directory)?)) })
    }

    pub fn files(&self) -> Vec<BinlogFile> {
        let file = |s: Segment| BinlogFile { number: s.number, size: s.end - s.start, created: s.created };
        self.shared.source.segments().into_iter().map(file).collect()
    }

    /// The state at the beginning of a file, as the first state record from there on says; empty when no group comes.
    pub fn state_at(&self, file: u64) -> Result<Vec<Gtid>, ReadError> {
        let segments = self.shared.source.segments();
        let gone = || ReadError::Gone { what: format!("file {file}") };
        let segment = segments.iter().find(|s| s.number == file).ok_or_else(gone)?;
        let mut frames = Frames::new(Arc::clone(&self.shared.source));
        let found = next_state(&mut frames, Beginning::Of(segment), Lsn::MAX)?;
        Ok(found.map_or_else(Vec::new, |(_, state)| state.gtids))
    }

    /// `next` never waits; it answers `Nothing` at the end.
    pub fn reader(&self, start: Start) -> Result<GroupReader, ReadError> {
        GroupReader::open(&self.shared, Lsn::NONE, start)
    }
}
