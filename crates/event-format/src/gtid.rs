//! GTID (162): head of every event group. The server id of the GTID is the header's.
//!
//! # Layout
//! ```text
//! sequence number u64 | domain u32 | flags u8
//! | GROUP_COMMIT_ID: commit id u64
//! | PREPARED_XA or COMPLETED_XA: format id u32, gtrid length u8, bqual length u8, gtrid, bqual
//! | flags_extra u8, absent = 0: MULTI_ENGINE: engines u8 | COMMIT_ALTER or ROLLBACK_ALTER: sequence number of START_ALTER u64
//!                               | THREAD_ID: thread id u32
//! | tail: zeros up to six bytes behind `flags`, and whatever a later version or a reserved place adds
//! ```

use base::{Corruption, Put, Reader};

use crate::Xa;
use crate::event::take_rest;

/// Bits of the flags of a GTID event.
pub mod gtid_flags {
    /// One statement, no terminator.
    pub const STANDALONE: u8 = 0x01;
    /// A commit id follows: transactions with the same one committed together.
    pub const GROUP_COMMIT_ID: u8 = 0x02;
    /// The group can be rolled back.
    pub const TRANSACTIONAL: u8 = 0x04;
    /// `skip_parallel_replication` was off.
    pub const ALLOW_PARALLEL: u8 = 0x08;
    /// The transaction waited for a row lock.
    pub const WAITED: u8 = 0x10;
    pub const DDL: u8 = 0x20;
    pub const PREPARED_XA: u8 = 0x40;
    pub const COMPLETED_XA: u8 = 0x80;
}

/// Bits of the second flags byte.
pub mod gtid_flags_extra {
    pub const MULTI_ENGINE: u8 = 0x01;
    pub const START_ALTER: u8 = 0x02;
    pub const COMMIT_ALTER: u8 = 0x04;
    pub const ROLLBACK_ALTER: u8 = 0x08;
    /// 11.8 and later.
    pub const THREAD_ID: u8 = 0x10;
    pub(super) const KNOWN: u8 = 0x1f;
}

/// Head of a group. The flags that say that a field follows are in step with the fields: `encode` asserts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GtidEvent<'a> {
    pub seq_no: u64,
    pub domain_id: u32,
    /// Of [`gtid_flags`].
    pub flags: u8,
    /// With GROUP_COMMIT_ID.
    pub commit_id: u64,
    /// With PREPARED_XA or COMPLETED_XA.
    pub xa: Option<Xa<'a>>,
    /// Of [`gtid_flags_extra`].
    pub flags_extra: u8,
    /// With MULTI_ENGINE: storage engines beside the first; 0xff for XA PREPARE.
    pub extra_engines: u8,
    /// With COMMIT_ALTER or ROLLBACK_ALTER.
    pub start_alter: u64,
    /// With THREAD_ID.
    pub thread_id: u32,
    /// Bytes behind the fields, the zeros up to the shortest event among them.
    pub tail: &'a [u8],
}

impl<'a> GtidEvent<'a> {
    const XA: u8 = gtid_flags::PREPARED_XA | gtid_flags::COMPLETED_XA;
    const ENDS_ALTER: u8 = gtid_flags_extra::COMMIT_ALTER | gtid_flags_extra::ROLLBACK_ALTER;
    /// The shortest body.
    const BODY_MIN: usize = 8 + 4 + 1 + 6;

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_u64(self.seq_no);
        out.put_u32(self.domain_id);
        out.put_u8(self.flags);
        if self.flags & gtid_flags::GROUP_COMMIT_ID != 0 {
            out.put_u64(self.commit_id);
        }
        assert_eq!(self.flags & Self::XA != 0, self.xa.is_some(), "XA flags and XA name");
        if let Some(xa) = &self.xa {
            xa.encode_short(out);
        }
        if self.flags_extra != 0 {
            out.put_u8(self.flags_extra);
            self.encode_extra(out);
        }
        out.put(self.tail);
        out.resize(out.len().max(start + Self::BODY_MIN), 0);
    }

    fn encode_extra(&self, out: &mut Vec<u8>) {
        if self.flags_extra & gtid_flags_extra::MULTI_ENGINE != 0 {
            out.put_u8(self.extra_engines);
        }
        if self.flags_extra & Self::ENDS_ALTER != 0 {
            out.put_u64(self.start_alter);
        }
        if self.flags_extra & gtid_flags_extra::THREAD_ID != 0 {
            out.put_u32(self.thread_id);
        }
    }

    pub(crate) fn decode(r: &mut Reader<'a>) -> Result<Self, Corruption> {
        if r.remaining() < Self::BODY_MIN {
            return Err(Corruption::new(
                "",
                "body",
                format_args!("at least {} bytes", Self::BODY_MIN),
                r.remaining(),
            ));
        }
        let mut event = Self {
            seq_no: r.u64("sequence number")?,
            domain_id: r.u32("domain id")?,
            flags: r.u8("gtid flags")?,
            ..Self::default()
        };
        if event.flags & gtid_flags::GROUP_COMMIT_ID != 0 {
            event.commit_id = r.u64("commit id")?;
        }
        if event.flags & Self::XA != 0 {
            event.xa = Some(Xa::decode_short(r)?);
        }
        // A zero here is padding: the byte is written only when it says something.
        if r.rest().first().is_some_and(|b| *b != 0) {
            event.flags_extra = r.u8("extra flags")?;
            event.decode_extra(r)?;
        }
        event.tail = take_rest(r);
        Ok(event)
    }

    /// Flags that are not known here come with bytes that stay in the tail.
    fn decode_extra(&mut self, r: &mut Reader<'a>) -> Result<(), Corruption> {
        let known = self.flags_extra & gtid_flags_extra::KNOWN;
        if known & gtid_flags_extra::MULTI_ENGINE != 0 {
            self.extra_engines = r.u8("extra engines")?;
        }
        if known & Self::ENDS_ALTER != 0 {
            self.start_alter = r.u64("sequence number of START ALTER")?;
        }
        if known & gtid_flags_extra::THREAD_ID != 0 {
            self.thread_id = r.u32("thread id")?;
        }
        Ok(())
    }
}
