//! Where a reader's bytes come from: the log of this server, or the segment files of one that does not run.

use std::sync::Arc;
use std::time::Duration;

use base::{Corruption, Lsn};
use env::{Caching, Disk, File, OpenMode};
use log::{Log, LogReadError};
use log_format::frame::{FRAME_HEADER_SIZE, FrameHeader, FrameStart};
use log_format::segment::{SEGMENT_HEADER_SIZE, SegmentHeader, header_crc};

use crate::api::{Position, ReadError};
use crate::feed::{Feed, Progress, Seat};

/// One segment: the stream from `start` to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) start: Lsn,
    pub(crate) end: Lsn,
    /// Unix seconds.
    pub(crate) created: u64,
}

impl Segment {
    pub(crate) fn path(&self) -> String {
        format!("log/{:06}.seg", self.number)
    }
    /// Where the first frame begins.
    pub(crate) fn frames(&self) -> Lsn {
        self.start + SEGMENT_HEADER_SIZE as u64
    }
    pub(crate) fn position(&self, lsn: Lsn) -> Position {
        Position { segment: self.number, offset: lsn - self.start }
    }
}

/// See the module.
pub(crate) trait Source: Send + Sync {
    /// Oldest first; the last is the current one.
    fn segments(&self) -> Vec<Segment>;
    /// The segment that holds `lsn`, its `end` as far as it is known.
    fn segment_of(&self, lsn: Lsn) -> Option<Segment>;
    /// Everything below is durable: a reader sees no more (L5).
    fn durable(&self) -> Lsn;
    /// The record at `lsn`, if it is in memory.
    fn recent(&self, lsn: Lsn, out: &mut Vec<u8>) -> bool;
    /// Bytes from `lsn` on, within one segment; how many there were.
    fn read(&self, lsn: Lsn, out: &mut [u8]) -> Result<usize, ReadError>;
    /// The newest groups; none when the log does not grow.
    fn feed(&self) -> Option<&Feed>;
    /// Sleeps until the feed's group with this number may be read; see [`Feed::sleep`].
    fn sleep(
        &self,
        seat: &Arc<Seat>,
        number: u64,
        changed: &dyn Fn() -> bool,
        time: Duration,
    ) -> Result<(), ReadError>;
    /// Ends the turn that a sleep gave.
    fn pass(&self, seat: &Seat);
    /// Whether it may be read.
    fn is_ready(&self, number: u64) -> bool;
}

/// The log of this server.
pub(crate) struct Live {
    pub(crate) log: Arc<Log>,
    pub(crate) feed: Arc<Feed>,
}

impl Source for Live {
    fn segments(&self) -> Vec<Segment> {
        let one = |s: log::SegmentInfo| Segment {
            number: s.number,
            start: s.start,
            end: s.end,
            created: s.created,
        };
        self.log.segments().into_iter().map(one).collect()
    }
    fn segment_of(&self, lsn: Lsn) -> Option<Segment> {
        let (number, start, end, created) = self.log.segment_at(lsn)?;
        Some(Segment { number, start, end, created })
    }
    fn durable(&self) -> Lsn {
        self.log.durable_lsn()
    }
    fn recent(&self, lsn: Lsn, out: &mut Vec<u8>) -> bool {
        self.log.read_recent(lsn, out)
    }
    fn read(&self, lsn: Lsn, out: &mut [u8]) -> Result<usize, ReadError> {
        self.log.read_stream(lsn, out).map_err(|e| match e {
            LogReadError::OutOfRange { .. } => ReadError::Gone { what: e.to_string() },
            LogReadError::Corrupt(e) => ReadError::Corrupt(e),
            LogReadError::Disk(e) => ReadError::Disk(e),
        })
    }
    fn feed(&self) -> Option<&Feed> {
        Some(&self.feed)
    }
    fn sleep(
        &self,
        seat: &Arc<Seat>,
        number: u64,
        changed: &dyn Fn() -> bool,
        time: Duration,
    ) -> Result<(), ReadError> {
        self.feed.sleep(seat, number, &*self.log, changed, time)
    }
    fn pass(&self, seat: &Seat) {
        self.feed.pass(seat, &*self.log);
    }
    fn is_ready(&self, number: u64) -> bool {
        self.feed.is_ready(number, &*self.log)
    }
}

impl Progress for Log {
    fn durable(&self) -> Lsn {
        self.durable_lsn()
    }
    fn wait_durable(&self, lsn: Lsn) -> Result<(), ReadError> {
        Self::wait_durable(self, lsn + 1).map_err(|e| ReadError::Stopped(e.to_string()))
    }
}

/// The segments of a server that does not run, as they stand in its data directory. Nothing is changed there.
pub(crate) struct Stopped {
    segments: Vec<(Segment, Arc<dyn File>)>,
    end: Lsn,
}

impl Stopped {
    /// The end is where frames stop to verify in the last segment; what was not durable at a crash may be there too.
    pub(crate) fn open(disk: &dyn Disk, directory: &str) -> Result<Self, ReadError> {
        let mut found = Vec::new();
        for name in disk.list(directory)? {
            let digits = name.strip_suffix(".seg").unwrap_or_default();
            let Ok(number) = digits.parse::<u64>() else { continue };
            let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            let file = disk.open(&path, OpenMode::Existing, Caching::Buffered)?;
            let len = file.len()?;
            if len < SEGMENT_HEADER_SIZE as u64 {
                continue;
            }
            let mut bytes = [0; SEGMENT_HEADER_SIZE];
            file.read_at(&mut bytes, 0)?;
            match SegmentHeader::decode(&bytes) {
                Ok((header, _)) if header.number == number => {
                    let (start, end) = (header.start_lsn, header.start_lsn + len);
                    found.push((Segment { number, start, end, created: header.created }, file));
                }
                // Prepared and not yet begun.
                Ok(_) => {}
                Err(e) if e.field == "format version" => return Err(e.within(path).into()),
                Err(_) => {}
            }
        }
        found.sort_by_key(|(segment, _)| segment.number);
        for at in 1..found.len() {
            found[at - 1].0.end = found[at].0.start;
        }
        let end = match found.last_mut() {
            None => return Err(ReadError::Gone { what: format!("a segment in '{directory}'") }),
            Some((segment, file)) => {
                segment.end = end_of(segment, &**file)?;
                segment.end
            }
        };
        Ok(Self { segments: found, end })
    }
}

/// Where the frames of the last segment end.
fn end_of(segment: &Segment, file: &dyn File) -> Result<Lsn, ReadError> {
    let len = segment.end - segment.start;
    let mut bytes = [0; SEGMENT_HEADER_SIZE];
    file.read_at(&mut bytes, 0)?;
    let mut at = FrameStart { lsn: segment.frames(), previous_crc: header_crc(&bytes) };
    let mut payload = Vec::new();
    loop {
        let offset = at.lsn - segment.start;
        if offset + FRAME_HEADER_SIZE as u64 > len {
            return Ok(at.lsn);
        }
        let mut head = [0; FRAME_HEADER_SIZE];
        file.read_at(&mut head, offset)?;
        let Ok(header) = FrameHeader::decode(&head) else { return Ok(at.lsn) };
        let size = u64::from(header.payload_len);
        if offset + FRAME_HEADER_SIZE as u64 + size > len {
            return Ok(at.lsn);
        }
        payload.resize(size as usize, 0);
        file.read_at(&mut payload, offset + FRAME_HEADER_SIZE as u64)?;
        if header.verify(at, &payload).is_err() {
            return Ok(at.lsn);
        }
        at = FrameStart { lsn: header.end_lsn(), previous_crc: header.chained_crc };
    }
}

impl Source for Stopped {
    fn segments(&self) -> Vec<Segment> {
        self.segments.iter().map(|(segment, _)| *segment).collect()
    }
    fn segment_of(&self, lsn: Lsn) -> Option<Segment> {
        self.segments.iter().rfind(|(segment, _)| segment.start <= lsn).map(|(segment, _)| *segment)
    }
    fn durable(&self) -> Lsn {
        self.end
    }
    fn recent(&self, _: Lsn, _: &mut Vec<u8>) -> bool {
        false
    }
    fn read(&self, lsn: Lsn, out: &mut [u8]) -> Result<usize, ReadError> {
        let found = self.segments.iter().rfind(|(segment, _)| segment.start <= lsn);
        let Some((segment, file)) = found else {
            return Err(ReadError::Gone { what: format!("log position {lsn}") });
        };
        let have = (segment.end.0.saturating_sub(lsn.0)).min(file.len()?.saturating_sub(lsn - segment.start));
        let len = have.min(out.len() as u64) as usize;
        file.read_at(&mut out[..len], lsn - segment.start)?;
        Ok(len)
    }
    fn feed(&self) -> Option<&Feed> {
        None
    }
    fn sleep(&self, _: &Arc<Seat>, _: u64, _: &dyn Fn() -> bool, _: Duration) -> Result<(), ReadError> {
        Ok(())
    }
    fn pass(&self, _: &Seat) {}
    fn is_ready(&self, _: u64) -> bool {
        false
    }
}

/// A corruption named by file and offset.
pub(crate) fn within(segment: &Segment, lsn: Lsn, found: Corruption) -> ReadError {
    ReadError::Corrupt(found.within(format_args!("{} at offset {}", segment.path(), lsn - segment.start)))
}
