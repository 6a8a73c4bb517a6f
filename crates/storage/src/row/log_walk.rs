//! The log forwards from a place, frame by frame, verified: what happened to a table meanwhile.
//!
//! # Invariants
//! 1. What is read is durable, so it stands in files, and whoever reads keeps the log from there (a snapshot of its own does).

use base::{Corruption, Lsn, Reader, varint_len};
use log::Log;
use log_format::frame::{FRAME_HEADER_SIZE, FrameHeader, FrameStart};
use log_format::segment::{SEGMENT_HEADER_SIZE, SegmentHeader};

use super::RowError;

const FRAME_HEADER: u64 = FRAME_HEADER_SIZE as u64;
const SEGMENT_HEADER: u64 = SEGMENT_HEADER_SIZE as u64;

/// Takes one record: its LSN and its bytes.
type Visit<'v> = dyn FnMut(Lsn, &[u8]) -> Result<(), RowError> + 'v;

/// A place in the log.
pub(super) struct LogWalk {
    frame: FrameStart,
    /// Records below have been read.
    at: Lsn,
    payload: Vec<u8>,
}

impl LogWalk {
    /// A walk that begins with the first record at or behind `at`.
    pub(super) fn from(log: &Log, at: Lsn) -> Self {
        Self { frame: log.frame_start_before(at), at, payload: Vec::new() }
    }

    /// Shows every record up to `to`, which is made durable first.
    pub(super) fn read_to(&mut self, log: &Log, to: Lsn, each: &mut Visit<'_>) -> Result<(), RowError> {
        log.wait_durable(to)?;
        // A header is reserved before its frame has a record, and written with the frame.
        while self.frame.lsn + FRAME_HEADER < to {
            if log.segment_at(self.frame.lsn).is_some_and(|(_, start, ..)| start == self.frame.lsn) {
                if self.frame.lsn + SEGMENT_HEADER + FRAME_HEADER >= to {
                    break;
                }
                let bytes: [u8; SEGMENT_HEADER_SIZE] = read(log, self.frame.lsn)?;
                let (_, previous_crc) = SegmentHeader::decode(&bytes)?;
                self.frame = FrameStart { lsn: self.frame.lsn + SEGMENT_HEADER, previous_crc };
                continue;
            }
            let header = FrameHeader::decode(&read(log, self.frame.lsn)?)?;
            self.payload.resize(header.payload_len as usize, 0);
            let start = self.frame.lsn + FRAME_HEADER;
            read_all(log, start, &mut self.payload)?;
            header.verify(self.frame, &self.payload)?;
            self.show(start, to, each)?;
            if header.end_lsn() > to {
                // The rest of this frame comes with the next call.
                break;
            }
            self.frame = FrameStart { lsn: header.end_lsn(), previous_crc: header.chained_crc };
        }
        self.at = self.at.max(to);
        Ok(())
    }

    /// The records of the frame between what has been read and `to`.
    fn show(&self, mut lsn: Lsn, to: Lsn, each: &mut Visit<'_>) -> Result<(), RowError> {
        let mut rest = &self.payload[..];
        while !rest.is_empty() && lsn < to {
            let body = Reader::new(rest).varint("record length")?;
            let len = (body as usize).saturating_add(varint_len(body));
            if len > rest.len() {
                let place = format_args!("log record at {lsn}").to_string();
                return Err(Corruption::new(place, "record length", rest.len(), len).into());
            }
            if lsn >= self.at {
                each(lsn, &rest[..len])?;
            }
            rest = &rest[len..];
            lsn = lsn + len as u64;
        }
        Ok(())
    }
}

fn read<const N: usize>(log: &Log, lsn: Lsn) -> Result<[u8; N], RowError> {
    let mut bytes = [0; N];
    read_all(log, lsn, &mut bytes)?;
    Ok(bytes)
}

fn read_all(log: &Log, lsn: Lsn, out: &mut [u8]) -> Result<(), RowError> {
    let have = log.read_stream(lsn, out).map_err(|e| RowError::Storage(e.to_string()))?;
    if have < out.len() {
        let place = format_args!("log position {lsn}").to_string();
        return Err(Corruption::new(place, "durable bytes", out.len(), have).into());
    }
    Ok(())
}
