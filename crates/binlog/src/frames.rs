//! Frames of the log, verified: how a reader gets at records that are no longer in memory.
//!
//! # How a record is found
//! The frame that holds it must be known, to check its CRC. Going forwards that is the frame after the one before. For a jump, the
//! bytes before the record are searched for a frame header, whose own CRC and LSN tell it from everything else; a second one before it
//! (or the segment's header) gives the chained CRC that the first one continues.
//!
//! # Invariants
//! V1. No byte of a file reaches a caller whose frame has not been verified, except with [`Frames::unverified`].
//! V2. Memory: one frame and one window, both of bounded size (a frame is smaller than the log's ring).

use std::sync::Arc;

use base::{Corruption, Lsn, Reader};
use log_format::frame::{FRAME_HEADER_SIZE, FRAME_MAGIC, FrameHeader, FrameStart};
use log_format::segment::{SEGMENT_HEADER_SIZE, SegmentHeader, header_crc};

use crate::api::ReadError;
use crate::source::{Segment, Source, within};

const HEADER: u64 = FRAME_HEADER_SIZE as u64;

/// Bytes read at once.
const WINDOW: usize = 256 << 10;
/// A window or frame above this is given back.
const KEPT_MAX: usize = 2 << 20;
/// A record further ahead than this is searched for instead of walked to.
const WALK_MAX: u64 = 4 << 20;

/// The frame that was read last.
#[derive(Default)]
struct Held {
    start: Lsn,
    end: Lsn,
    chained_crc: u32,
    payload: Vec<u8>,
}

/// What is at a place of the stream.
pub(crate) enum Step {
    /// A frame was read; see [`Frames::payload`].
    Frame,
    /// The segment ends here; this is the next one, and its first frame.
    Segment(Segment, FrameStart),
    /// Nothing durable.
    End,
}

/// See the module.
pub(crate) struct Frames {
    source: Arc<dyn Source>,
    held: Held,
    window: Vec<u8>,
    window_at: Lsn,
}

impl Frames {
    pub(crate) fn new(source: Arc<dyn Source>) -> Self {
        Self { source, held: Held::default(), window: Vec::new(), window_at: Lsn::NONE }
    }

    pub(crate) fn durable(&self) -> Lsn {
        self.source.durable()
    }

    /// The records of the frame that was read last, and the LSN of the first byte.
    pub(crate) fn payload(&self) -> (Lsn, &[u8]) {
        (self.held.start + HEADER, &self.held.payload)
    }

    /// Where the frame after the last one begins.
    pub(crate) fn next_start(&self) -> FrameStart {
        FrameStart { lsn: self.held.end, previous_crc: self.held.chained_crc }
    }

    /// Copies the record at `lsn`.
    pub(crate) fn record(&mut self, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), ReadError> {
        if self.source.recent(lsn, out) {
            return Ok(());
        }
        self.hold(lsn)?;
        let at = (lsn - self.held.start - HEADER) as usize;
        let rest = &self.held.payload[at..];
        let len = record_len(rest).map_err(|e| self.corrupt(lsn, e))?;
        out.clear();
        out.extend_from_slice(&rest[..len]);
        Ok(())
    }

    /// Whether a record begins at `lsn`, or the durable log ends there.
    pub(crate) fn begins_record(&mut self, lsn: Lsn) -> Result<bool, ReadError> {
        if lsn == self.source.durable() {
            return Ok(true);
        }
        if self.source.segment_of(lsn).is_none_or(|s| lsn < s.frames()) {
            return Ok(false);
        }
        let mut at = self.locate(lsn)?;
        loop {
            match self.step(at)? {
                Step::Frame if lsn < self.held.end => break,
                Step::Frame => at = self.next_start(),
                Step::Segment(_, first) => at = first,
                Step::End => return Ok(false),
            }
        }
        let mut record = self.held.start + HEADER;
        let mut rest = self.held.payload.as_slice();
        while record < lsn {
            let len = record_len(rest).map_err(|e| self.corrupt(record, e))?;
            record = record + len as u64;
            rest = &rest[len..];
        }
        // What a frame's header stands at is the end of the record before it.
        Ok(record == lsn || lsn == self.held.start)
    }

    /// Copies the record at `lsn` without looking at its frame: for lists of places whose records are verified.
    pub(crate) fn unverified(&mut self, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), ReadError> {
        if self.source.recent(lsn, out) {
            return Ok(());
        }
        let mut head = [0; 10];
        let have = self.source.read(lsn, &mut head)?;
        let body = Reader::new(&head[..have]).varint("record length").map_err(|e| self.corrupt(lsn, e))?;
        let len = (body as usize).saturating_add(base::varint_len(body));
        if body > 1 << 30 {
            return Err(self.corrupt(lsn, Corruption::new("", "record length", "at most 1 GiB", body)));
        }
        out.clear();
        out.resize(len, 0);
        let have = self.source.read(lsn, out)?;
        if have < len {
            return Err(self.corrupt(lsn, Corruption::new("", "record length", have, len)));
        }
        Ok(())
    }

    pub(crate) fn corrupt(&self, lsn: Lsn, found: Corruption) -> ReadError {
        match self.source.segment_of(lsn) {
            Some(segment) => within(&segment, lsn, found),
            None => ReadError::Corrupt(found.within(format_args!("log position {lsn}"))),
        }
    }

    /// Makes the frame that holds the record at `lsn` the last one read.
    fn hold(&mut self, lsn: Lsn) -> Result<(), ReadError> {
        if self.held.start + HEADER <= lsn && lsn < self.held.end {
            return Ok(());
        }
        let near = !self.held.end.is_none() && self.held.end <= lsn && lsn - self.held.end < WALK_MAX;
        let mut at = if near { self.next_start() } else { self.locate(lsn)? };
        loop {
            match self.step(at)? {
                Step::Frame if lsn < self.held.end => {
                    if lsn < self.held.start + HEADER {
                        return Err(
                            self.corrupt(lsn, Corruption::new("", "record", "a record", "a frame header"))
                        );
                    }
                    return Ok(());
                }
                Step::Frame => at = self.next_start(),
                Step::Segment(_, first) => at = first,
                Step::End => return Err(ReadError::Gone { what: format!("log position {lsn}") }),
            }
        }
    }

    /// Reads and verifies the frame at `at`.
    pub(crate) fn step(&mut self, at: FrameStart) -> Result<Step, ReadError> {
        let durable = self.source.durable();
        let Some(segment) = self.source.segment_of(at.lsn) else {
            return Err(ReadError::Gone { what: format!("log position {}", at.lsn) });
        };
        if segment.start == at.lsn {
            // What came before ended here.
            if segment.frames() > durable {
                return Ok(Step::End);
            }
            return self.enter(&segment, at);
        }
        if at.lsn + HEADER > durable {
            return Ok(Step::End);
        }
        let header = self.header(&segment, at.lsn)?.map_err(|e| within(&segment, at.lsn, e))?;
        if header.end_lsn() > durable.min(segment.end) {
            let found = Corruption::new("", "payload length", "the durable log", header.payload_len);
            return Err(within(&segment, at.lsn, found));
        }
        let len = header.payload_len as usize;
        // All of it: what cannot be read or verified leaves no frame without its payload.
        let mut payload = std::mem::take(&mut self.held).payload;
        if payload.capacity() > KEPT_MAX && len < KEPT_MAX / 2 {
            payload = Vec::new();
        }
        payload.clear();
        self.copy(at.lsn + HEADER, len, &mut payload).map_err(|e| self.named(&segment, at.lsn, e))?;
        header.verify(at, &payload).map_err(|e| within(&segment, at.lsn, e))?;
        self.held = Held { start: at.lsn, end: header.end_lsn(), chained_crc: header.chained_crc, payload };
        Ok(Step::Frame)
    }

    fn named(&self, segment: &Segment, lsn: Lsn, e: ReadError) -> ReadError {
        match e {
            ReadError::Corrupt(found) => within(segment, lsn, found),
            other => other,
        }
    }

    /// The first frame of a segment that continues the chain at `at`.
    fn enter(&mut self, segment: &Segment, at: FrameStart) -> Result<Step, ReadError> {
        let (header, first) = self.segment_head(segment)?;
        if header.previous_crc != at.previous_crc {
            let expected = format_args!("{:#010x}", at.previous_crc).to_string();
            let found = format_args!("{:#010x}", header.previous_crc).to_string();
            return Err(within(segment, segment.start, Corruption::new("", "previous CRC", expected, found)));
        }
        Ok(Step::Segment(*segment, first))
    }

    /// A segment's header, and its first frame.
    pub(crate) fn segment_head(
        &mut self,
        segment: &Segment,
    ) -> Result<(SegmentHeader, FrameStart), ReadError> {
        let mut bytes = [0; SEGMENT_HEADER_SIZE];
        let have = self.source.read(segment.start, &mut bytes)?;
        if have < SEGMENT_HEADER_SIZE {
            return Err(within(segment, segment.start, Corruption::new("", "segment header", 64, have)));
        }
        let (header, _) = SegmentHeader::decode(&bytes).map_err(|e| within(segment, segment.start, e))?;
        Ok((header, FrameStart { lsn: segment.frames(), previous_crc: header_crc(&bytes) }))
    }

    fn header(&mut self, segment: &Segment, lsn: Lsn) -> Result<Result<FrameHeader, Corruption>, ReadError> {
        let mut bytes = Vec::with_capacity(FRAME_HEADER_SIZE);
        self.copy(lsn, FRAME_HEADER_SIZE, &mut bytes).map_err(|e| self.named(segment, lsn, e))?;
        let head: [u8; FRAME_HEADER_SIZE] = bytes.try_into().expect("a header was asked for");
        Ok(FrameHeader::decode(&head))
    }

    /// Appends bytes of one segment by way of the window.
    fn copy(&mut self, lsn: Lsn, len: usize, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let mut at = lsn;
        let end = lsn + len as u64;
        while at < end {
            let inside = at.0.checked_sub(self.window_at.0).map(|n| n as usize);
            if let Some(have) = inside.and_then(|from| self.window.get(from..))
                && !have.is_empty()
            {
                let take = have.len().min((end - at) as usize);
                out.extend_from_slice(&have[..take]);
                at = at + take as u64;
                continue;
            }
            self.window.resize(WINDOW, 0);
            let have = self.source.read(at, &mut self.window);
            self.window.truncate(*have.as_ref().unwrap_or(&0));
            self.window_at = at;
            if have? == 0 {
                return Err(ReadError::Corrupt(Corruption::new(
                    "",
                    "frame",
                    format_args!("{len} bytes"),
                    "the end",
                )));
            }
            // What is not durable now will be read again then: it may not be complete.
            let durable = self.source.durable().0.saturating_sub(at.0) as usize;
            if self.window.len() > durable {
                self.window.truncate(durable.max((end - at) as usize).min(self.window.len()));
            }
        }
        Ok(())
    }

    /// A frame at or before the one that holds `lsn`, in its segment, with the CRC that it continues.
    pub(crate) fn locate(&mut self, lsn: Lsn) -> Result<FrameStart, ReadError> {
        let Some(segment) = self.source.segment_of(lsn) else {
            return Err(ReadError::Gone { what: format!("log position {lsn}") });
        };
        let mut upper = lsn;
        let mut size = WINDOW as u64 / 4;
        let mut last: Option<FrameHeader> = None;
        loop {
            let lower = Lsn(upper.0.saturating_sub(size)).max(segment.frames());
            let mut bytes = vec![0; (upper - lower) as usize + FRAME_HEADER_SIZE];
            let have = self.source.read(lower, &mut bytes)?;
            bytes.truncate(have);
            for header in headers_backwards(&bytes, lower, upper) {
                match last {
                    // The later one continues this one: the chain can begin behind it.
                    Some(later) if header.end_lsn() == later.start_lsn => {
                        return Ok(FrameStart { lsn: later.start_lsn, previous_crc: header.chained_crc });
                    }
                    Some(_) => {}
                    None => last = Some(header),
                }
            }
            if lower == segment.frames() {
                return Ok(self.segment_head(&segment)?.1);
            }
            upper = lower;
            size = (size * 2).min(8 << 20);
        }
    }
}

/// Frame headers that begin in `[lower, upper)`, last first; `bytes` begins at `lower`.
fn headers_backwards(bytes: &[u8], lower: Lsn, upper: Lsn) -> Vec<FrameHeader> {
    let count = ((upper - lower) as usize).min((bytes.len() + 1).saturating_sub(FRAME_HEADER_SIZE));
    let mut found = Vec::new();
    for at in (0..count).rev() {
        if bytes[at] != FRAME_MAGIC[0] || bytes[at..at + 4] != FRAME_MAGIC {
            continue;
        }
        let head: [u8; FRAME_HEADER_SIZE] = bytes[at..at + FRAME_HEADER_SIZE].try_into().expect("32 bytes");
        if let Ok(header) = FrameHeader::decode(&head)
            && header.start_lsn == lower + at as u64
        {
            found.push(header);
        }
    }
    found
}

/// Bytes of the record at the start of `bytes`.
pub(crate) fn record_len(bytes: &[u8]) -> Result<usize, Corruption> {
    let mut reader = Reader::new(bytes);
    let body = reader.length("record length")?;
    Ok(reader.offset() + body)
}
