//! OK, EOF and ERR packets, and the session state that an OK may carry.
//!
//! # Layout
//! - OK: `0x00 (0xfe when it ends a result set) | affected lenenc | insert id lenenc | status u16 | warnings u16 | info`.
//!   The info is a lenenc string when it is not empty or session state follows; the state is one more lenenc string, present
//!   when `Status::SESSION_STATE_CHANGED` is set.
//! - EOF: `0xfe | warnings u16 | status u16`, shorter than nine bytes.
//! - ERR: `0xff | code u16 | '#' | SQLSTATE | message`; before the login the five bytes of state are left out.
//! - Session state: `type u8 | lenenc string` each.

use crate::Capabilities;
use crate::lenenc::{self, PutWire};
use base::{Corruption, Put, Reader};

/// Server status flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status(pub u16);

impl Status {
    pub const IN_TRANS: Self = Self(1);
    pub const AUTOCOMMIT: Self = Self(2);
    pub const MORE_RESULTS: Self = Self(8);
    pub const NO_GOOD_INDEX_USED: Self = Self(16);
    pub const NO_INDEX_USED: Self = Self(32);
    pub const CURSOR_EXISTS: Self = Self(64);
    pub const LAST_ROW_SENT: Self = Self(128);
    pub const DB_DROPPED: Self = Self(256);
    pub const NO_BACKSLASH_ESCAPES: Self = Self(512);
    pub const METADATA_CHANGED: Self = Self(1024);
    pub const QUERY_WAS_SLOW: Self = Self(2048);
    pub const PS_OUT_PARAMS: Self = Self(4096);
    pub const IN_TRANS_READONLY: Self = Self(8192);
    pub const SESSION_STATE_CHANGED: Self = Self(16384);

    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// `flag` on or off.
    #[must_use]
    pub const fn set(self, flag: Self, on: bool) -> Self {
        if on { self.with(flag) } else { self.without(flag) }
    }
}

/// One item of session state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChange<'a> {
    Variable {
        name: &'a [u8],
        value: &'a [u8],
    },
    Schema(&'a [u8]),
    /// Something of the session changed: `1`.
    StateChanged,
    /// Eight characters, MariaDB's `session_track_transaction_info`.
    TransactionState(&'a [u8]),
    TransactionCharacteristics(&'a [u8]),
}

impl<'a> SessionChange<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let wrap = |out: &mut Vec<u8>, tag: u8, s: &[u8]| {
            out.put_u8(tag);
            let mut body = Vec::with_capacity(s.len() + 9);
            body.put_lenenc_string(s);
            out.put_lenenc_string(&body);
        };
        match self {
            Self::Variable { name, value } => {
                let mut body = Vec::with_capacity(name.len() + value.len() + 18);
                body.put_lenenc_string(name);
                body.put_lenenc_string(value);
                out.put_u8(0);
                out.put_lenenc_string(&body);
            }
            Self::Schema(s) => wrap(out, 1, s),
            Self::StateChanged => wrap(out, 2, b"1"),
            Self::TransactionCharacteristics(s) => wrap(out, 4, s),
            Self::TransactionState(s) => wrap(out, 5, s),
        }
    }

    /// The next item, or None for a type that is not known here (it is skipped).
    pub fn decode(r: &mut Reader<'a>) -> Result<Option<Self>, Corruption> {
        let tag = r.u8("state type")?;
        let mut body = Reader::new(lenenc::string(r, "state")?);
        Ok(match tag {
            0 => Some(Self::Variable {
                name: lenenc::string(&mut body, "variable")?,
                value: lenenc::string(&mut body, "value")?,
            }),
            1 => Some(Self::Schema(lenenc::string(&mut body, "schema")?)),
            2 => Some(Self::StateChanged),
            4 => Some(Self::TransactionCharacteristics(lenenc::string(&mut body, "characteristics")?)),
            5 => Some(Self::TransactionState(lenenc::string(&mut body, "state")?)),
            _ => None,
        })
    }
}

/// Success without rows, or the end of rows under DEPRECATE_EOF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OkPacket<'a> {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: Status,
    pub warnings: u16,
    pub info: &'a [u8],
    /// Encoded [`SessionChange`]s; sent when the client tracks state and it is not empty.
    pub session_state: &'a [u8],
}

impl<'a> OkPacket<'a> {
    pub const TAG: u8 = 0;
    /// First byte of an OK that ends a result set.
    pub const END_TAG: u8 = 0xfe;

    pub fn encode(&self, out: &mut Vec<u8>, caps: Capabilities) {
        self.encode_tagged(out, caps, Self::TAG);
    }
    /// As the last packet of a result set (DEPRECATE_EOF).
    pub fn encode_end(&self, out: &mut Vec<u8>, caps: Capabilities) {
        self.encode_tagged(out, caps, Self::END_TAG);
    }

    fn encode_tagged(&self, out: &mut Vec<u8>, caps: Capabilities, tag: u8) {
        let tracked = caps.contains(Capabilities::SESSION_TRACK) && !self.session_state.is_empty();
        let status = self.status.set(Status::SESSION_STATE_CHANGED, tracked);
        out.put_u8(tag);
        out.put_lenenc(self.affected_rows);
        out.put_lenenc(self.last_insert_id);
        out.put_u16(status.0);
        out.put_u16(self.warnings);
        if tracked || !self.info.is_empty() {
            out.put_lenenc_string(self.info);
        }
        if tracked {
            out.put_lenenc_string(self.session_state);
        }
    }

    pub fn decode(payload: &'a [u8]) -> Result<Self, Corruption> {
        let mut r = Reader::new(payload);
        let tag = r.u8("tag")?;
        if tag != Self::TAG && tag != Self::END_TAG {
            return Err(Corruption::new("ok packet", "tag", "0x00 or 0xfe", format_args!("{tag:#x}")));
        }
        let affected_rows = lenenc::integer(&mut r, "affected rows")?;
        let last_insert_id = lenenc::integer(&mut r, "insert id")?;
        let status = Status(r.u16("status")?);
        let warnings = r.u16("warnings")?;
        let info = if r.is_empty() { b"" } else { lenenc::string(&mut r, "info")? };
        let session_state = if status.contains(Status::SESSION_STATE_CHANGED) && !r.is_empty() {
            lenenc::string(&mut r, "session state")?
        } else {
            b""
        };
        Ok(Self { affected_rows, last_insert_id, status, warnings, info, session_state })
    }
}

/// The end of column definitions or rows for clients without DEPRECATE_EOF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Eof {
    pub warnings: u16,
    pub status: Status,
}

impl Eof {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(0xfe);
        out.put_u16(self.warnings);
        out.put_u16(self.status.0);
    }
    pub fn decode(payload: &[u8]) -> Result<Self, Corruption> {
        let mut r = Reader::new(payload);
        let tag = r.u8("tag")?;
        if tag != 0xfe || payload.len() >= 9 {
            return Err(Corruption::new("eof packet", "tag", "0xfe", format_args!("{tag:#x}")));
        }
        Ok(Self { warnings: r.u16("warnings")?, status: Status(r.u16("status")?) })
    }
}

/// Failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrPacket<'a> {
    pub code: u16,
    /// None only before the login.
    pub sqlstate: Option<[u8; 5]>,
    pub message: &'a [u8],
}

impl<'a> ErrPacket<'a> {
    pub const TAG: u8 = 0xff;
    /// MariaDB cuts messages at this length.
    pub const MESSAGE_MAX: usize = 512;

    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(Self::TAG);
        out.put_u16(self.code);
        if let Some(state) = self.sqlstate {
            out.put_u8(b'#');
            out.put(&state);
        }
        out.put(&self.message[..self.message.len().min(Self::MESSAGE_MAX)]);
    }
    pub fn decode(payload: &'a [u8]) -> Result<Self, Corruption> {
        let mut r = Reader::new(payload);
        let tag = r.u8("tag")?;
        if tag != Self::TAG {
            return Err(Corruption::new("err packet", "tag", "0xff", format_args!("{tag:#x}")));
        }
        let code = r.u16("code")?;
        let sqlstate = match r.rest() {
            [b'#', state @ ..] if state.len() >= 5 => {
                let state = [state[0], state[1], state[2], state[3], state[4]];
                r.bytes(6, "sqlstate")?;
                Some(state)
            }
            _ => None,
        };
        Ok(Self { code, sqlstate, message: r.rest() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ok_carries_info_and_session_state_only_when_there_are_some() {
        let caps = Capabilities::SERVER;
        let mut out = Vec::new();
        let plain = OkPacket { affected_rows: 3, status: Status::AUTOCOMMIT, ..OkPacket::default() };
        plain.encode(&mut out, caps);
        assert_eq!(out, [0, 3, 0, 2, 0, 0, 0]);
        let mut state = Vec::new();
        SessionChange::Schema(b"test").encode(&mut state);
        SessionChange::Variable { name: b"autocommit", value: b"OFF" }.encode(&mut state);
        let full = OkPacket { info: b"Rows matched: 1", session_state: &state, ..plain };
        out.clear();
        full.encode(&mut out, caps);
        let back = OkPacket::decode(&out).unwrap();
        assert_eq!((back.info, back.session_state), (full.info, full.session_state));
        let mut r = Reader::new(back.session_state);
        assert_eq!(SessionChange::decode(&mut r), Ok(Some(SessionChange::Schema(b"test"))));
        assert!(matches!(SessionChange::decode(&mut r), Ok(Some(SessionChange::Variable { .. }))));
        out.clear();
        full.encode(&mut out, caps.without(Capabilities::SESSION_TRACK));
        let back = OkPacket::decode(&out).unwrap();
        assert_eq!((back.session_state, back.status), (b"".as_slice(), Status::AUTOCOMMIT));
    }

    #[test]
    fn errors_round_trip_with_and_without_a_state() {
        for sqlstate in [Some(*b"42000"), None] {
            let e = ErrPacket { code: 1064, sqlstate, message: b"You have an error" };
            let mut out = Vec::new();
            e.encode(&mut out);
            assert_eq!(ErrPacket::decode(&out), Ok(e));
        }
    }

    #[test]
    fn eof_and_a_row_that_starts_with_its_tag_are_told_apart() {
        let mut out = Vec::new();
        Eof { warnings: 1, status: Status::AUTOCOMMIT }.encode(&mut out);
        assert_eq!(Eof::decode(&out), Ok(Eof { warnings: 1, status: Status::AUTOCOMMIT }));
        assert!(Eof::decode(&[0xfe; 9]).is_err());
    }
}
