//! Names of XA branches, as the log has them and as events say them.

use base::{Corruption, Lsn, Reader};
use event_format::Xa;
use log_format::record::{Record, RecordType};

use crate::api::ReadError;
use crate::frames::Frames;

/// An XA branch's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Branch {
    format_id: u32,
    gtrid: Vec<u8>,
    bqual: Vec<u8>,
}

impl Branch {
    /// An event has room for parts of 64 bytes.
    fn checked(self) -> Result<Self, Corruption> {
        match self.gtrid.len().max(self.bqual.len()) {
            0..=64 => Ok(self),
            longer => Err(Corruption::new("", "part of an XA name", "at most 64 bytes", longer)),
        }
    }
    pub(crate) fn name(&self) -> Xa<'_> {
        Xa { format_id: self.format_id, gtrid: &self.gtrid, bqual: &self.bqual }
    }
    /// `X'gtrid',X'bqual',format`
    pub(crate) fn text(&self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        format!("X'{}',X'{}',{}", hex(&self.gtrid), hex(&self.bqual), self.format_id)
    }
}

/// Of the Prepare record at `at`.
pub(crate) fn prepared(frames: &mut Frames, at: Lsn) -> Result<Branch, ReadError> {
    let mut bytes = Vec::new();
    frames.record(at, &mut bytes)?;
    match Record::decode(at, &bytes).map_err(|e| frames.corrupt(at, e))? {
        Record::Prepare(prepare) => {
            let xid = prepare.xid;
            let (gtrid, bqual) = (xid.gtrid.to_vec(), xid.bqual.to_vec());
            let branch = Branch { format_id: xid.format_id as u32, gtrid, bqual };
            branch.checked().map_err(|e| frames.corrupt(at, e))
        }
        other => Err(frames.corrupt(at, wrong(RecordType::Prepare, &other))),
    }
}

/// Of the Event record at `at`, which a decision stands behind.
pub(crate) fn decided(frames: &mut Frames, at: Lsn) -> Result<Branch, ReadError> {
    let mut bytes = Vec::new();
    frames.record(at, &mut bytes)?;
    match Record::decode(at, &bytes).map_err(|e| frames.corrupt(at, e))? {
        Record::Event(event) => parse(event.body).map_err(|e| frames.corrupt(at, e)),
        other => Err(frames.corrupt(at, wrong(RecordType::Event, &other))),
    }
}

fn wrong(wanted: RecordType, found: &Record<'_>) -> Corruption {
    Corruption::new("", "record type", format_args!("{wanted:?}"), format_args!("{:?}", found.record_type()))
}

/// `one phase u8 | format id u32 | gtrid length u32 | bqual length u32 | gtrid | bqual`
fn parse(body: &[u8]) -> Result<Branch, Corruption> {
    let mut reader = Reader::new(body);
    reader.u8("one phase")?;
    let format_id = reader.u32("XID format id")?;
    let (gtrid, bqual) = (reader.u32("gtrid length")? as usize, reader.u32("bqual length")? as usize);
    let branch = Branch {
        format_id,
        gtrid: reader.bytes(gtrid, "gtrid")?.to_vec(),
        bqual: reader.bytes(bqual, "bqual")?.to_vec(),
    };
    reader.finish("end of the name")?;
    branch.checked()
}
