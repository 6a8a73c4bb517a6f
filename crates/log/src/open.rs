//! Creating a log, and opening one: the scan, the end of the log, the segment for new bytes (core.md 1.4).
//!
//! # The end
//! The first position where no frame verifies: neither in this segment nor as the first frame of a segment that starts right
//! there. The bytes past it were never acknowledged, unless someone testifies that they were durable:
//! - the caller (`known_durable`, from the control block or a page),
//! - a valid header of a later segment (W3),
//! - a valid header of a later frame in the same segment that states a durable LSN past the end.
//!
//! Then acknowledged bytes are damaged, and the log refuses to open and says where.
//!
//! # After it
//! A new segment begins at the end, its header is made durable, and the old file is cut. Frames past the end, whole or torn,
//! are out of the stream for good: a later scan leaves the old segment at the new one's start. A crash in between finds the same end.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Corruption, Lsn};
use env::{Caching, Disk, File, OpenMode};
use log_format::frame::{FRAME_HEADER_SIZE, FRAME_MAGIC, FrameHeader, FrameStart};
use log_format::segment::{SEGMENT_HEADER_SIZE, SegmentHeader, header_crc};

use crate::api::{LogConfig, LogError, Visit};
use crate::index::FrameIndex;
use crate::log::{Log, Tail};
use crate::reader::record_len;
use crate::segments::{DIR, Prepared, SegmentFile, Space, number_of, path_of};

/// First LSN of a new log; LSN 0 means none.
const FIRST_LSN: Lsn = Lsn(4096);

/// How far past the end a later frame is looked for: more than what a crash can leave unsynced.
const TESTIMONY_RANGE: u64 = 64 << 20;

/// Bytes read at once.
const WINDOW: usize = 1 << 20;

impl Log {
    /// Makes the first segment of a new log.
    pub fn create(disk: Arc<dyn Disk>, config: LogConfig) -> Result<Arc<Self>, LogError> {
        check(&config)?;
        if !disk.exists(DIR)? {
            disk.create_dir(DIR)?;
            disk.sync_dir("")?;
        }
        if disk.list(DIR)?.iter().any(|name| number_of(name).is_some()) {
            return Err(LogError::Config("the log directory already holds segments"));
        }
        let end = FrameStart { lsn: FIRST_LSN, previous_crc: 0 };
        begin(disk, config, Vec::new(), end, FrameIndex::default())
    }

    /// Scans frames from `from` (a frame start that a checkpoint stored), hands every whole record to `visit` in order,
    /// then is ready to append. Refuses when acknowledged bytes are damaged.
    pub fn open(
        disk: Arc<dyn Disk>,
        config: LogConfig,
        from: FrameStart,
        known_durable: Lsn,
        visit: Visit<'_>,
    ) -> Result<Arc<Self>, LogError> {
        Self::scan(disk, config, from, known_durable, visit)?.begin()
    }

    /// The reading half of [`Log::open`]: nothing has been changed on disk when it returns.
    pub fn scan(
        disk: Arc<dyn Disk>,
        config: LogConfig,
        from: FrameStart,
        known_durable: Lsn,
        visit: Visit<'_>,
    ) -> Result<ScannedLog, LogError> {
        check(&config)?;
        let found = Found::list(&disk)?;
        let mut scan = Scan { found: &found, known_durable, index: FrameIndex::default() };
        let (end, last) = scan.run(from, visit)?;
        let index = scan.index;
        Ok(ScannedLog { disk, config, found, end, last, index })
    }
}

/// A log that has been read to its end and not yet been touched.
pub struct ScannedLog {
    disk: Arc<dyn Disk>,
    config: LogConfig,
    found: Found,
    end: FrameStart,
    /// Number of the last segment.
    last: u64,
    index: FrameIndex,
}

impl ScannedLog {
    /// Where the log ends: everything that was handed out lies below.
    pub fn end(&self) -> Lsn {
        self.end.lsn
    }

    /// Begins a new segment at the end; from here on the log can be appended to.
    pub fn begin(self) -> Result<Arc<Log>, LogError> {
        self.found.remove_unstarted(&self.disk, self.last)?;
        let segments = self.found.contiguous(self.last);
        let ends = segments.iter().skip(1).map(|next| next.start).chain([self.end.lsn]);
        let longer =
            segments.iter().zip(ends).filter(|(segment, end)| segment.allocated() > *end - segment.start);
        let longer: Vec<_> = longer.map(|(segment, end)| (Arc::clone(segment), end)).collect();
        let log = begin(self.disk, self.config, segments, self.end, self.index)?;
        for (segment, end) in longer {
            segment.file.set_len(end - segment.start)?;
        }
        Ok(log)
    }
}

fn check(config: &LogConfig) -> Result<(), LogError> {
    if !config.ring_size.is_power_of_two() || !(4096..=1 << 30).contains(&config.ring_size) {
        return Err(LogError::Config("the log ring must be a power of two from 4 KiB to 1 GiB"));
    }
    if !(1..=16).contains(&config.pipeline.frames) {
        return Err(LogError::Config("the frames in flight must be 1 to 16"));
    }
    if config.segment_size < 4096 {
        return Err(LogError::Config("a log segment must be at least 4 KiB"));
    }
    Ok(())
}

/// Begins a new segment at `end` behind `segments` and makes its header durable.
fn begin(
    disk: Arc<dyn Disk>,
    config: LogConfig,
    mut segments: Vec<Arc<SegmentFile>>,
    end: FrameStart,
    index: FrameIndex,
) -> Result<Arc<Log>, LogError> {
    let space = Space::new(Arc::clone(&disk), config.segment_size, config.pipeline.frames);
    space.hold_reserve()?;
    let number = segments.last().map_or(1, |last| last.number + 1);
    let Prepared { segment, syncs } = space.prepare(number)?;
    let header = SegmentHeader {
        server_id: config.server_id,
        number,
        start_lsn: end.lsn,
        server_uuid: config.server_uuid,
        previous_crc: end.previous_crc,
        created: config.clock.wall().as_secs(),
    };
    let encoded = header.encode();
    segment.claim(SEGMENT_HEADER_SIZE as u64);
    segment.file.write_at(&encoded, 0)?;
    segment.file.sync_data()?;
    segments.push(Arc::new(segment.started(end.lsn, header.created)));
    let pending =
        FrameStart { lsn: end.lsn + SEGMENT_HEADER_SIZE as u64, previous_crc: header_crc(&encoded) };
    Ok(Log::assemble(config, Tail { segments, syncs, pending, index, space }))
}

/// A segment whose header is right.
struct FoundSegment {
    header: SegmentHeader,
    header_crc: u32,
    file: Arc<SegmentFile>,
    len: u64,
}

/// The segment files of the directory.
struct Found {
    segments: BTreeMap<u64, FoundSegment>,
    /// Numbers of files without a header of their own.
    unstarted: Vec<u64>,
}

impl Found {
    fn list(disk: &Arc<dyn Disk>) -> Result<Self, LogError> {
        let mut found = Self { segments: BTreeMap::new(), unstarted: Vec::new() };
        for number in disk.list(DIR)?.iter().filter_map(|name| number_of(name)) {
            let file = disk.open(&path_of(number), OpenMode::Existing, Caching::Buffered)?;
            match read_header(&*file, number)? {
                Some((header, header_crc)) => {
                    let len = file.len()?;
                    let file = SegmentFile::new(number, header.start_lsn, header.created, file, len, len);
                    let segment = FoundSegment { header, header_crc, file: Arc::new(file), len };
                    found.segments.insert(number, segment);
                }
                None => found.unstarted.push(number),
            }
        }
        Ok(found)
    }

    /// The segment that holds `lsn`.
    fn holding(&self, lsn: Lsn) -> Option<&FoundSegment> {
        self.segments.values().rev().find(|segment| segment.header.start_lsn < lsn)
    }

    /// The segments that lead up to number `last` without a gap; older ones were given up before.
    fn contiguous(self, last: u64) -> Vec<Arc<SegmentFile>> {
        let mut files: Vec<_> = self.segments.into_values().map(|segment| segment.file).collect();
        let count = files.iter().rev().zip(0..).take_while(|(file, back)| file.number + back == last).count();
        files.drain(..files.len() - count);
        files
    }

    /// Removes files that were prepared and never started; they come after the last segment.
    fn remove_unstarted(&self, disk: &Arc<dyn Disk>, last: u64) -> Result<(), LogError> {
        for &number in &self.unstarted {
            if number < last {
                return Err(damaged(number, 0, "segment header", "a valid header", "none").into());
            }
            disk.remove(&path_of(number))?;
        }
        Ok(())
    }
}

/// The header, unless the file is too short or holds no header of this number.
fn read_header(file: &dyn File, number: u64) -> Result<Option<(SegmentHeader, u32)>, LogError> {
    if file.len()? < SEGMENT_HEADER_SIZE as u64 {
        return Ok(None);
    }
    let mut bytes = [0; SEGMENT_HEADER_SIZE];
    file.read_at(&mut bytes, 0)?;
    match SegmentHeader::decode(&bytes) {
        Ok((header, crc)) => Ok((header.number == number).then_some((header, crc))),
        Err(e) if e.field == "format version" => Err(e.within(path_of(number)).into()),
        Err(_) => Ok(None),
    }
}

fn damaged(
    number: u64,
    offset: u64,
    field: &'static str,
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> Corruption {
    Corruption::new(format_args!("{} at offset {offset}", path_of(number)), field, expected, found)
}

struct Scan<'a> {
    found: &'a Found,
    known_durable: Lsn,
    index: FrameIndex,
}

impl Scan<'_> {
    /// Visits every record from `from` on; the end of the log and the number of the segment it lies in.
    fn run(&mut self, from: FrameStart, visit: Visit<'_>) -> Result<(FrameStart, u64), LogError> {
        let Some(mut segment) = self.found.holding(from.lsn) else {
            let place = format_args!("the log directory").to_string();
            let expected = format_args!("a segment that holds LSN {}", from.lsn).to_string();
            return Err(Corruption::new(place, "segments", expected, self.listing()).into());
        };
        let mut at = from;
        let mut window = Window::new(segment)?;
        loop {
            let failure = match window.frame(at)? {
                Ok((header, payload)) => {
                    visit_records(header, payload, segment.header.number, visit)?;
                    self.index.push(at);
                    at = FrameStart { lsn: header.end_lsn(), previous_crc: header.chained_crc };
                    continue;
                }
                Err(failure) => failure,
            };
            let number = segment.header.number;
            let later = self.found.segments.range(number + 1..).next().map(|(_, segment)| segment);
            match later {
                Some(next) if follows(next, number, at) => {
                    segment = next;
                    window = Window::new(segment)?;
                    let lsn = at.lsn + SEGMENT_HEADER_SIZE as u64;
                    at = FrameStart { lsn, previous_crc: next.header_crc };
                    self.index.push_first(at);
                }
                _ => {
                    self.refuse_if_durable(segment, at, later, &mut window, failure)?;
                    return Ok((at, number));
                }
            }
        }
    }

    fn listing(&self) -> String {
        let bounds =
            |segment: &FoundSegment| format!("{} from {}", segment.header.number, segment.header.start_lsn);
        let list: Vec<_> = self.found.segments.values().map(bounds).collect();
        if list.is_empty() { "no segment".into() } else { list.join(", ") }
    }

    /// The log ends at `at`: fails if anyone knows that it was durable further.
    fn refuse_if_durable(
        &self,
        segment: &FoundSegment,
        at: FrameStart,
        later: Option<&FoundSegment>,
        window: &mut Window<'_>,
        failure: Corruption,
    ) -> Result<(), LogError> {
        let testimony = if let Some(later) = later {
            Some((later.header.start_lsn.max(at.lsn + 1), format!("segment {} follows", later.header.number)))
        } else if self.known_durable > at.lsn {
            Some((self.known_durable, "the control file".to_owned()))
        } else {
            let frame = window.later_frame(at.lsn)?;
            frame.map(|frame| (frame.durable_lsn, format!("the frame at {}", frame.start_lsn)))
        };
        let Some((durable, witness)) = testimony else { return Ok(()) };
        let offset = at.lsn - segment.header.start_lsn;
        let expected = format!("{} (durable up to LSN {durable}: {witness})", failure.expected);
        Err(damaged(segment.header.number, offset, failure.field, expected, failure.found).into())
    }
}

/// Whether segment `next` begins where the frame chain of segment `number` has arrived.
fn follows(next: &FoundSegment, number: u64, at: FrameStart) -> bool {
    next.header.number == number + 1
        && next.header.start_lsn == at.lsn
        && next.header.previous_crc == at.previous_crc
}

fn visit_records(header: FrameHeader, payload: &[u8], number: u64, visit: Visit<'_>) -> Result<(), LogError> {
    let mut at = 0;
    while at < payload.len() {
        let lsn = header.start_lsn + (FRAME_HEADER_SIZE + at) as u64;
        let place = || format!("segment {number}, record at LSN {lsn}");
        let len = record_len(&payload[at..]).map_err(|e| e.within(place()))?;
        let rest = payload.len() - at;
        if len > rest as u64 {
            return Err(Corruption::new(place(), "record length", format_args!("at most {rest}"), len).into());
        }
        visit(lsn, &payload[at..at + len as usize]).map_err(|e| e.within(place()))?;
        at += len as usize;
    }
    Ok(())
}

/// Reads a segment front to back in large pieces.
struct Window<'a> {
    segment: &'a FoundSegment,
    start: u64,
    bytes: Vec<u8>,
}

impl<'a> Window<'a> {
    /// Syncs first: after a kill the frames may stand in the operating system's cache alone, and from now on pages will be
    /// written and segment headers will testify as if they were durable (L6, W3).
    fn new(segment: &'a FoundSegment) -> Result<Self, LogError> {
        segment.file.file.sync_data()?;
        Ok(Self { segment, start: 0, bytes: Vec::new() })
    }

    /// `len` bytes at `offset`, or `None` if the file ends before.
    fn slice(&mut self, offset: u64, len: usize) -> Result<Option<&[u8]>, LogError> {
        let end = offset + len as u64;
        if end > self.segment.len {
            return Ok(None);
        }
        if offset < self.start || end > self.start + self.bytes.len() as u64 {
            let read = (self.segment.len - offset).min(len.max(WINDOW) as u64);
            self.bytes.resize(read as usize, 0);
            self.start = offset;
            self.segment.file.file.read_at(&mut self.bytes, offset)?;
        }
        let from = (offset - self.start) as usize;
        Ok(Some(&self.bytes[from..from + len]))
    }

    /// The frame that must begin at `at`, or why there is none.
    fn frame(&mut self, at: FrameStart) -> Result<Result<(FrameHeader, &[u8]), Corruption>, LogError> {
        let offset = at.lsn - self.segment.header.start_lsn;
        let Some(head) = self.slice(offset, FRAME_HEADER_SIZE)? else {
            return Ok(Err(Corruption::new("frame header", "frame", "a frame header", "end of file")));
        };
        let head: [u8; FRAME_HEADER_SIZE] = head.try_into().expect("a header was asked for");
        let header = match FrameHeader::decode(&head) {
            Ok(header) => header,
            Err(e) => return Ok(Err(e)),
        };
        let len = header.payload_len as usize;
        let Some(payload) = self.slice(offset + FRAME_HEADER_SIZE as u64, len)? else {
            return Ok(Err(Corruption::new("frame", "payload", format_args!("{len} bytes"), "end of file")));
        };
        Ok(header.verify(at, payload).map(|()| (header, payload)))
    }

    /// A valid header after `end` that stands in its own place and states that more than `end` was durable.
    fn later_frame(&mut self, end: Lsn) -> Result<Option<FrameHeader>, LogError> {
        let start = self.segment.header.start_lsn;
        let mut offset = end - start;
        let stop = self.segment.len.min(offset + TESTIMONY_RANGE);
        while offset + FRAME_HEADER_SIZE as u64 <= stop {
            let len = (stop - offset).min(WINDOW as u64) as usize;
            let Some(bytes) = self.slice(offset, len)? else { return Ok(None) };
            for at in magics(bytes) {
                let head: [u8; FRAME_HEADER_SIZE] =
                    bytes[at..at + FRAME_HEADER_SIZE].try_into().expect("32 bytes");
                let Ok(header) = FrameHeader::decode(&head) else { continue };
                if header.start_lsn == start + offset + at as u64 && header.durable_lsn > end {
                    return Ok(Some(header));
                }
            }
            offset += (len - FRAME_HEADER_SIZE + 1) as u64;
        }
        Ok(None)
    }
}

/// Positions of the frame magic that leave room for a header. Runs of zeros, the usual case, are skipped fast.
fn magics(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    const STRIDE: usize = 512;
    let last = (bytes.len() + 1).saturating_sub(FRAME_HEADER_SIZE);
    (0..last).step_by(STRIDE).flat_map(move |from| {
        let stride = &bytes[from..(from + STRIDE).min(bytes.len())];
        let zero = stride.iter().fold(0u8, |all, b| all | b) == 0;
        let to = if zero { from } else { (from + STRIDE).min(last) };
        (from..to).filter(move |&at| bytes[at..at + 4] == FRAME_MAGIC)
    })
}
