//! Readers of event groups: at the log's end by the feed of commits, behind it by scanning the log's frames.
//!
//! # Two ways forward
//! *Hot*: the feed names the next commit record, it is waited for until it is durable, and its records are mostly in memory. *Cold*:
//! frames are read one after the other, verified, and searched for commit records. A cold reader that has come to what the feed still
//! holds becomes hot; a hot one that has fallen out of the feed becomes cold. Neither way costs writers anything.
//!
//! # Invariants
//! R1. Groups come in the order of their commit records, each once; only durable ones (L4, L5).
//! R2. A new file is told before the first group in it, and also when no group follows.
//! R3. A reader's error is its own: it names the place and ends this reader.
//! R4. Transactions have the same commit id only if all of them had written their last row, and so had all their row locks, before the
//!     first of them committed: the id is the LSN of that commit record. A replica may apply them side by side. Which of them get one
//!     depends on what is durable when the reader comes by; what an id means does not.
//! R5. Events of small groups at the log's end are made once for all readers ([`Tail`]).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use base::{Corruption, Lsn};
use log_format::frame::FrameStart;
use log_format::record::{Commit, Envelope, Prepare, Record, RecordType, commit_flags};

use crate::api::{EmitError, EmitOptions, EventSink, GroupHead, Next, Position, ReadError, Start, Wait};
use crate::feed::{Feed, Seat};
use crate::frames::{Frames, Step, record_len};
use crate::group;
use crate::source::{Segment, Source};
use crate::tables::Tables;
use crate::tail::{Events, Tail, TailGroup};
use crate::transaction::{Chain, Phase};

/// What all readers of one log share.
pub(crate) struct Shared {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) tables: Tables,
    pub(crate) tail: Tail,
    /// Number of the segment that each open reader is in, by the reader's number.
    pub(crate) readers: Mutex<hashbrown::HashMap<u64, u64>>,
    pub(crate) next_reader: AtomicU64,
}

impl Shared {
    pub(crate) fn new(source: Arc<dyn Source>) -> Arc<Self> {
        Arc::new(Self {
            source,
            tables: Tables::default(),
            tail: Tail::default(),
            readers: Mutex::default(),
            next_reader: AtomicU64::new(0),
        })
    }

    pub(crate) fn readers(&self) -> std::sync::MutexGuard<'_, hashbrown::HashMap<u64, u64>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Interrupts a reader's wait from another thread: KILL of a dump.
#[derive(Clone)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
    shared: Arc<Shared>,
}

impl Interrupt {
    /// The reader's waits end at once from now on.
    pub fn interrupt(&self) {
        self.flag.store(true, Ordering::SeqCst);
        if let Some(feed) = self.shared.source.feed() {
            feed.wake_all();
        }
    }
}

/// A reader's turn at the log's end (see [`Feed`]).
#[derive(Clone)]
pub struct Turn {
    seat: Arc<Seat>,
    shared: Arc<Shared>,
}

impl Turn {
    /// Before a wait for something else than the log, a slow peer above all: others go on.
    pub fn pass(&self) {
        self.shared.source.pass(&self.seat);
    }
    /// Somebody waits for what this reader's peer answers.
    pub fn hurry(&self) {
        self.seat.hurry();
    }
}

/// How the next group is found.
enum Course {
    /// The number of the next commit in the feed.
    Hot(u64),
    /// The frame that comes next, and how far the records of the one before it have been searched.
    Cold { next: FrameStart, searched: Option<usize> },
}

/// The group that `next` has given.
struct Current {
    head: GroupHead,
    chain: Chain,
    /// Its number in the feed, for one that was found there.
    number: Option<u64>,
    /// As another reader made it.
    made: Option<Arc<TailGroup>>,
}

/// What decides whether a group shares its commit id with others (R4).
#[derive(Clone, Copy)]
struct Member {
    domain_id: u32,
    /// Its transaction's last record before the commit.
    last: Lsn,
}

impl Member {
    /// None for what is not an ordinary transaction of rows.
    fn of(lsn: Lsn, record: &[u8]) -> Option<Self> {
        const OTHERS: u8 =
            commit_flags::DDL | commit_flags::NOT_TRANSACTIONAL | commit_flags::XA | commit_flags::IN_FILE;
        match Record::decode(lsn, record) {
            Ok(Record::Commit(commit)) if commit.flags & OTHERS == 0 => {
                commit.gtid.map(|gtid| Self { domain_id: gtid.domain_id, last: commit.last })
            }
            _ => None,
        }
    }
}

/// Follows the binary log group by group.
pub struct GroupReader {
    shared: Arc<Shared>,
    number: u64,
    /// For records of groups, and for the scan: each has its own frame.
    frames: Frames,
    scan: Frames,
    course: Course,
    /// Commit records below have been passed.
    passed: Lsn,
    segment: Segment,
    current: Option<Current>,
    /// The domain and the first commit record of the groups that share a commit id, the last group among them.
    together: Option<(u32, Lsn)>,
    interrupted: Arc<AtomicBool>,
    seat: Arc<Seat>,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for GroupReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupReader").field("passed", &self.passed).finish_non_exhaustive()
    }
}

impl Drop for GroupReader {
    fn drop(&mut self) {
        self.shared.source.pass(&self.seat);
        self.shared.readers().remove(&self.number);
    }
}

impl GroupReader {
    /// `first` is where the binary log begins.
    pub(crate) fn open(shared: &Arc<Shared>, first: Lsn, start: Start) -> Result<Self, ReadError> {
        let source = Arc::clone(&shared.source);
        let segments = source.segments();
        let mut kept = segments.iter().filter(|s| s.start >= first);
        let segment = match start {
            Start::Oldest => kept.next().copied(),
            Start::At(position) => kept.find(|s| s.number == position.segment).copied(),
            Start::Newest => segments.last().copied(),
        };
        let Some(segment) = segment else {
            let what = match start {
                Start::At(position) => position.to_string(),
                _ => "a file".to_owned(),
            };
            return Err(ReadError::Gone { what });
        };
        let from = match start {
            Start::Oldest => segment.start,
            Start::At(position) => segment.start + position.offset,
            Start::Newest => source.durable(),
        };
        let segment =
            if start == Start::Newest { source.segment_of(from).unwrap_or(segment) } else { segment };
        if from > segment.end.max(source.durable()) {
            return Err(ReadError::Gone { what: segment.position(from).to_string() });
        }
        // From here on the files from this one on stay.
        let number = shared.next_reader.fetch_add(1, Ordering::Relaxed);
        shared.readers().insert(number, segment.number);
        let mut reader = Self {
            shared: Arc::clone(shared),
            number,
            frames: Frames::new(Arc::clone(&source)),
            scan: Frames::new(source),
            course: Course::Hot(0),
            passed: from,
            segment,
            current: None,
            together: None,
            interrupted: Arc::new(AtomicBool::new(false)),
            seat: Arc::default(),
            buffer: Vec::new(),
        };
        if !reader.try_hot() {
            reader.go_cold()?;
        }
        Ok(reader)
    }

    pub fn interrupt(&self) -> Interrupt {
        Interrupt { flag: Arc::clone(&self.interrupted), shared: Arc::clone(&self.shared) }
    }

    /// For the one that sends what this reader gives.
    pub fn turn(&self) -> Turn {
        Turn { seat: Arc::clone(&self.seat), shared: Arc::clone(&self.shared) }
    }

    /// Where the reader stands: the end of the last group, or of the head of the file it has come to.
    pub fn position(&self) -> Position {
        self.segment.position(self.passed.max(self.segment.start))
    }

    /// The next group, or the next file.
    pub fn next(&mut self, wait: Wait) -> Result<Next, ReadError> {
        if let Some(current) = self.current.take() {
            self.passed = self.segment.start + current.head.end.offset;
        }
        loop {
            let found = match self.course {
                Course::Hot(number) => self.next_hot(number, wait)?,
                Course::Cold { .. } => self.next_cold()?,
            };
            match found {
                Found::Next(next) => return Ok(next),
                Found::Again => {}
            }
        }
    }

    /// Writes the events of the group that [`Self::next`] has given last.
    pub fn emit(&mut self, options: &EmitOptions, sink: &mut dyn EventSink) -> Result<(), EmitError> {
        let Some(current) = &self.current else { return Ok(()) };
        // R5: all events, so that they serve readers with and without annotations.
        let options_of_all = EmitOptions { annotate: true, ..*options };
        if let Some(made) = &current.made
            && made.options == options_of_all
        {
            return Ok(made.events.replay(options.annotate, sink)?);
        }
        let (head, chain) = (current.head, current.chain);
        if let Some(number) = current.number
            && head.span <= Tail::GROUP_MAX
            && self.shared.readers().len() > 1
        {
            let (frames, shared) = (&mut self.frames, &self.shared);
            let mut events = Events::default();
            group::emit(frames, &shared.tables, &head, chain.into(), &options_of_all, &mut events)?;
            let made = Arc::new(TailGroup { number, head, chain, options: options_of_all, events });
            shared.tail.put(&made);
            return Ok(made.events.replay(options.annotate, sink)?);
        }
        self.shared.source.pass(&self.seat);
        group::emit(&mut self.frames, &self.shared.tables, &head, chain.into(), options, sink)
    }

    fn feed(&self) -> Option<&Feed> {
        self.shared.source.feed()
    }

    /// Goes on with the feed, if it still has every group from here on.
    fn try_hot(&mut self) -> bool {
        let found = self.feed().and_then(|feed| feed.find(self.passed));
        if let Some(number) = found {
            self.course = Course::Hot(number);
        }
        found.is_some()
    }

    fn go_cold(&mut self) -> Result<(), ReadError> {
        self.shared.source.pass(&self.seat);
        let next = if self.passed <= self.segment.frames() {
            self.scan.segment_head(&self.segment)?.1
        } else {
            // The byte before: at the end of a file that is still in it.
            self.scan.locate(Lsn(self.passed.0 - 1))?
        };
        self.course = Course::Cold { next, searched: None };
        Ok(())
    }

    /// Tells of the next file if the reader leaves this one before `lsn`.
    fn enter_segment_of(&mut self, lsn: Lsn) -> Option<Next> {
        if lsn < self.segment.end && self.segment.start <= lsn {
            return None;
        }
        let holding = self.shared.source.segment_of(lsn)?;
        if holding.number == self.segment.number {
            self.segment = holding;
            return None;
        }
        let next = self.shared.source.segments().into_iter().find(|s| s.number == self.segment.number + 1)?;
        Some(self.rotate(next))
    }

    fn rotate(&mut self, next: Segment) -> Next {
        self.segment = next;
        self.passed = self.passed.max(next.start);
        self.shared.readers().insert(self.number, next.number);
        Next::Rotated { segment: next.number }
    }

    fn next_hot(&mut self, number: u64, wait: Wait) -> Result<Found, ReadError> {
        let source = Arc::clone(&self.shared.source);
        let Some(feed) = source.feed() else { return Ok(Found::Next(Next::Nothing)) };
        let Some(commit) = feed.get(number) else {
            if number < feed.pushed() {
                self.go_cold()?;
                return Ok(Found::Again);
            }
            return self.next_idle(feed, number, wait);
        };
        if let Some(made) = self.shared.tail.get(number)
            && made.head.position.segment == self.segment.number
        {
            return Ok(Found::Next(Next::Group(self.take_made(made))));
        }
        if source.durable() <= commit {
            return self.pause(number, wait);
        }
        if let Some(rotated) = self.enter_segment_of(commit) {
            return Ok(Found::Next(rotated));
        }
        let mut record = std::mem::take(&mut self.buffer);
        let found = self
            .frames
            .record(commit, &mut record)
            .and_then(|()| self.group_at(commit, &record, Some(number)));
        let this = Member::of(commit, &record);
        let found = found.map(|head| {
            head.map(|head| {
                self.with_commit_id(head, commit, this, |reader| {
                    let next = feed.get(number + 1).filter(|next| source.durable() > *next)?;
                    reader.frames.record(next, &mut record).ok()?;
                    Member::of(next, &record)
                })
            })
        });
        self.buffer = record;
        self.course = Course::Hot(number + 1);
        match found? {
            Some(head) => Ok(Found::Next(Next::Group(head))),
            None => Err(self
                .frames
                .corrupt(commit, Corruption::new("", "record", "a commit with a GTID", "another"))),
        }
    }

    /// The next group as another reader made it, with the commit id that it found (R4).
    fn take_made(&mut self, made: Arc<TailGroup>) -> GroupHead {
        let head = made.head;
        self.together = (head.commit_id != 0).then_some((head.gtid.domain_id, Lsn(head.commit_id)));
        self.course = Course::Hot(made.number + 1);
        self.current = Some(Current { head, chain: made.chain, number: Some(made.number), made: Some(made) });
        head
    }

    /// Nothing is in the feed: a new file may have begun; else sleeps.
    fn next_idle(&mut self, feed: &Feed, number: u64, wait: Wait) -> Result<Found, ReadError> {
        let source = Arc::clone(&self.shared.source);
        let durable = source.durable();
        // The file that follows begins with a durable header, and every group before it has been told.
        if let Some(here) = source.segment_of(self.segment.start)
            && here.end <= durable
            && feed.pushed() <= number
            && let Some(next) = source.segments().into_iter().find(|s| s.number == here.number + 1)
            && next.frames() <= durable
        {
            return Ok(Found::Next(self.rotate(next)));
        }
        self.pause(number, wait)
    }

    /// Sleeps until the group with this number may be read.
    fn pause(&self, number: u64, wait: Wait) -> Result<Found, ReadError> {
        let Wait::For(time) = wait else { return Ok(Found::Next(Next::Nothing)) };
        if time.is_zero() || self.interrupted.load(Ordering::SeqCst) {
            return Ok(Found::Next(Next::Nothing));
        }
        let (source, segment) = (&self.shared.source, self.segment.number);
        let changed = || {
            self.interrupted.load(Ordering::SeqCst)
                || source.segments().last().is_some_and(|last| last.number > segment + 1)
        };
        source.sleep(&self.seat, number, &changed, time)?;
        if source.is_ready(number) { Ok(Found::Again) } else { Ok(Found::Next(Next::Nothing)) }
    }

    fn next_cold(&mut self) -> Result<Found, ReadError> {
        let Course::Cold { next, searched } = self.course else { return Ok(Found::Again) };
        if let Some(at) = searched {
            return self.search(next, at);
        }
        if next.lsn >= self.passed && self.catches_up(next.lsn) {
            return Ok(Found::Again);
        }
        match self.scan.step(next)? {
            Step::Frame => {
                self.course = Course::Cold { next: self.scan.next_start(), searched: Some(0) };
                Ok(Found::Again)
            }
            Step::Segment(segment, first) => {
                self.course = Course::Cold { next: first, searched: None };
                Ok(Found::Next(self.rotate(segment)))
            }
            Step::End => {
                if self.feed().is_some() {
                    self.passed = self.passed.max(next.lsn);
                    if self.try_hot() {
                        return Ok(Found::Again);
                    }
                }
                Ok(Found::Next(Next::Nothing))
            }
        }
    }

    /// Everything below `lsn` has been searched: the feed may take over.
    fn catches_up(&mut self, lsn: Lsn) -> bool {
        let Some(number) = self.feed().and_then(|feed| feed.find(lsn)) else { return false };
        self.passed = lsn;
        self.course = Course::Hot(number);
        true
    }

    /// Looks for the next commit record in the frame that was read last, from offset `at` of its payload.
    fn search(&mut self, next: FrameStart, mut at: usize) -> Result<Found, ReadError> {
        loop {
            let (start, payload) = self.scan.payload();
            let lsn = start + at as u64;
            let Some(rest) = payload.get(at..).filter(|rest| !rest.is_empty()) else {
                self.course = Course::Cold { next, searched: None };
                return Ok(Found::Again);
            };
            let envelope = record_len(rest).and_then(|len| Envelope::decode(lsn, &rest[..len]));
            let envelope = envelope.map_err(|e| self.scan.corrupt(lsn, e))?;
            at += envelope.size;
            if !matches!(envelope.record_type, RecordType::Commit | RecordType::Prepare) || lsn < self.passed
            {
                continue;
            }
            let mut record = std::mem::take(&mut self.buffer);
            record.clear();
            record.extend_from_slice(&rest[..envelope.size]);
            let found = self.group_at(lsn, &record, None);
            let this = Member::of(lsn, &record);
            self.buffer = record;
            if let Some(head) = found? {
                let head = self.with_commit_id(head, lsn, this, |reader| reader.next_in_frame(at));
                self.course = Course::Cold { next, searched: Some(at) };
                return Ok(Found::Next(Next::Group(head)));
            }
        }
    }

    /// The next commit of the frame that was read last, from offset `at` of its payload.
    fn next_in_frame(&self, mut at: usize) -> Option<Member> {
        let (start, payload) = self.scan.payload();
        loop {
            let (lsn, rest) = (start + at as u64, payload.get(at..).filter(|rest| !rest.is_empty())?);
            let envelope = record_len(rest).and_then(|len| Envelope::decode(lsn, &rest[..len])).ok()?;
            match envelope.record_type {
                RecordType::Commit => return Member::of(lsn, &rest[..envelope.size]),
                RecordType::Prepare => return None,
                _ => at += envelope.size,
            }
        }
    }

    /// R4: the group joins those before it, or is the first of some if the next one joins it.
    fn with_commit_id(
        &mut self,
        mut head: GroupHead,
        lsn: Lsn,
        this: Option<Member>,
        next: impl FnOnce(&mut Self) -> Option<Member>,
    ) -> GroupHead {
        let joins = |m: &Member, domain_id: u32, first: Lsn| m.domain_id == domain_id && m.last < first;
        self.together = match (this, self.together) {
            (Some(this), Some((domain_id, first))) if joins(&this, domain_id, first) => self.together,
            (Some(this), _) => {
                next(self).filter(|m| joins(m, this.domain_id, lsn)).map(|_| (this.domain_id, lsn))
            }
            (None, _) => None,
        };
        head.commit_id = self.together.map_or(0, |(_, first)| first.0);
        if let Some(current) = &mut self.current {
            current.head.commit_id = head.commit_id;
        }
        head
    }

    /// The head of the group whose Commit or Prepare record this is, if it is one.
    fn group_at(
        &mut self,
        lsn: Lsn,
        record: &[u8],
        number: Option<u64>,
    ) -> Result<Option<GroupHead>, ReadError> {
        let (commit, phase) = match Record::decode(lsn, record) {
            // Its group stands in a file.
            Ok(Record::Commit(commit)) if commit.flags & commit_flags::IN_FILE != 0 => return Ok(None),
            Ok(Record::Commit(commit)) if commit.flags & commit_flags::XA != 0 => {
                (commit, Phase::Decision { commits: commit.trx.0 != 0 })
            }
            Ok(Record::Commit(commit)) => (commit, Phase::Commit),
            Ok(Record::Prepare(prepare)) if prepare.flags & commit_flags::IN_FILE != 0 => return Ok(None),
            Ok(Record::Prepare(prepare)) => {
                let Prepare { trx, first, last, extents, time, flags, gtid, thread_id, .. } = prepare;
                (Commit { trx, first, last, extents, time, flags, gtid, thread_id }, Phase::Prepare(lsn))
            }
            Ok(_) => return Ok(None),
            Err(e) => return Err(self.frames.corrupt(lsn, e)),
        };
        let Commit { trx, first, last, extents, time, flags, gtid: Some(gtid), thread_id } = commit else {
            return Ok(None);
        };
        let end = lsn + record.len() as u64;
        let head = GroupHead {
            gtid,
            flags,
            time,
            thread_id,
            commit_id: 0,
            position: self.segment.position(lsn),
            end: self.segment.position(end),
            span: end.0 - first.0.min(end.0),
        };
        self.current = Some(Current {
            head,
            chain: Chain { trx, last, extents, phase, decides: false },
            number,
            made: None,
        });
        Ok(Some(head))
    }
}

/// One step of `next`.
enum Found {
    Next(Next),
    Again,
}
