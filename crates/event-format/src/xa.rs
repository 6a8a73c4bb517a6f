//! Names of XA transactions, and XA_PREPARE (38): the end of a prepared group.
//!
//! # Layouts
//! ```text
//! in GTID       format id u32 | gtrid length u8 | bqual length u8 | gtrid | bqual
//! XA_PREPARE    one phase u8 | format id u32 | gtrid length u32 | bqual length u32 | gtrid | bqual
//! ```

use base::{Corruption, Put, Reader};

/// The name of an XA transaction; each part has at most 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xa<'a> {
    pub format_id: u32,
    pub gtrid: &'a [u8],
    pub bqual: &'a [u8],
}

impl<'a> Xa<'a> {
    const PART_MAX: usize = 64;

    pub(crate) fn encode_short(&self, out: &mut Vec<u8>) {
        assert!(self.gtrid.len() <= Self::PART_MAX && self.bqual.len() <= Self::PART_MAX, "{self:?}");
        out.put_u32(self.format_id);
        out.put_u8(self.gtrid.len() as u8);
        out.put_u8(self.bqual.len() as u8);
        out.put(self.gtrid);
        out.put(self.bqual);
    }

    pub(crate) fn decode_short(r: &mut Reader<'a>) -> Result<Self, Corruption> {
        let format_id = r.u32("format id")?;
        let lengths = (r.u8("gtrid length")?.into(), r.u8("bqual length")?.into());
        Self::decode_parts(r, format_id, lengths)
    }

    fn decode_parts(
        r: &mut Reader<'a>,
        format_id: u32,
        (gtrid, bqual): (usize, usize),
    ) -> Result<Self, Corruption> {
        if gtrid > Self::PART_MAX || bqual > Self::PART_MAX {
            let found = format_args!("{gtrid} and {bqual}").to_string();
            return Err(Corruption::new(
                format_args!("offset {}", r.offset()),
                "lengths of an XA name",
                "at most 64 each",
                found,
            ));
        }
        Ok(Self { format_id, gtrid: r.bytes(gtrid, "gtrid")?, bqual: r.bytes(bqual, "bqual")? })
    }
}

/// The group before is prepared and waits for XA COMMIT or ROLLBACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XaPrepare<'a> {
    pub one_phase: bool,
    pub xa: Xa<'a>,
}

impl<'a> XaPrepare<'a> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(u8::from(self.one_phase));
        out.put_u32(self.xa.format_id);
        out.put_u32(self.xa.gtrid.len() as u32);
        out.put_u32(self.xa.bqual.len() as u32);
        out.put(self.xa.gtrid);
        out.put(self.xa.bqual);
    }
    pub(crate) fn decode(r: &mut Reader<'a>) -> Result<Self, Corruption> {
        let one_phase = r.u8("one phase")? != 0;
        let format_id = r.u32("format id")?;
        let lengths = (r.u32("gtrid length")? as usize, r.u32("bqual length")? as usize);
        Ok(Self { one_phase, xa: Xa::decode_parts(r, format_id, lengths)? })
    }
}
