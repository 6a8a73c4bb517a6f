//! The server's first packet.
//!
//! # Layout
//! `10 u8 | version NUL | connection id u32 | scramble[0..8] | 0 | capabilities low u16 | collation u8 | status u16 |
//! capabilities u16 (bits 16-31) | scramble length + 1 u8 | 6 zeros | MariaDB capabilities u32 (zero if MYSQL is set) |
//! scramble[8..20] | 0 | auth plugin NUL`.

use crate::Capabilities;
use crate::auth::Scramble;
use crate::lenenc::{PutWire, nul_string};
use base::{Corruption, Put, Reader};

const PROTOCOL_VERSION: u8 = 10;

/// What the server says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting<'a> {
    pub version: &'a [u8],
    pub connection_id: u32,
    pub scramble: Scramble,
    pub capabilities: Capabilities,
    pub collation: u8,
    pub status: u16,
    pub auth_plugin: &'a [u8],
}

impl<'a> Greeting<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(PROTOCOL_VERSION);
        out.put_nul_string(self.version);
        out.put_u32(self.connection_id);
        out.put(&self.scramble[..8]);
        out.put_u8(0);
        let low = self.capabilities.low();
        out.put_u16(low as u16);
        out.put_u8(self.collation);
        out.put_u16(self.status);
        out.put_u16((low >> 16) as u16);
        out.put_u8(self.scramble.len() as u8 + 1);
        out.put(&[0; 6]);
        let mysql_only = self.capabilities.contains(Capabilities::MYSQL);
        out.put_u32(if mysql_only { 0 } else { self.capabilities.high() });
        out.put(&self.scramble[8..]);
        out.put_u8(0);
        out.put_nul_string(self.auth_plugin);
    }

    pub fn decode(payload: &'a [u8]) -> Result<Self, Corruption> {
        let mut r = Reader::new(payload);
        let protocol = r.u8("protocol version")?;
        if protocol != PROTOCOL_VERSION {
            return Err(Corruption::new("greeting", "protocol version", PROTOCOL_VERSION, protocol));
        }
        let version = nul_string(&mut r, "server version")?;
        let connection_id = r.u32("connection id")?;
        let mut scramble = Scramble::default();
        scramble[..8].copy_from_slice(r.bytes(8, "scramble")?);
        r.u8("filler")?;
        let low = u32::from(r.u16("capabilities")?);
        let collation = r.u8("collation")?;
        let status = r.u16("status")?;
        let low = low | u32::from(r.u16("capabilities")?) << 16;
        r.u8("scramble length")?;
        r.bytes(6, "filler")?;
        let high = r.u32("MariaDB capabilities")?;
        let high = if low & Capabilities::MYSQL.low() != 0 { 0 } else { high };
        scramble[8..].copy_from_slice(r.bytes(12, "scramble")?);
        r.u8("filler")?;
        let auth_plugin = if r.is_empty() {
            b"mysql_native_password".as_slice()
        } else {
            nul_string(&mut r, "auth plugin")?
        };
        let capabilities = Capabilities::from_halves(low, high);
        Ok(Self { version, connection_id, scramble, capabilities, collation, status, auth_plugin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let g = Greeting {
            version: b"11.8.9-MariaDB",
            connection_id: 77,
            scramble: *b"12345678abcdefghijkl",
            capabilities: Capabilities::SERVER,
            collation: 45,
            status: 2,
            auth_plugin: b"mysql_native_password",
        };
        let mut out = Vec::new();
        g.encode(&mut out);
        assert_eq!(Greeting::decode(&out), Ok(g));
        for cut in 0..out.len() - 22 {
            assert!(Greeting::decode(&out[..cut]).is_err(), "cut at {cut}");
        }
    }
}
