//! The client's answer to the greeting, COM_CHANGE_USER, and the auth switch between them.
//!
//! # Layout of a login
//! `capabilities u32 | packet max u32 | collation u8 | 19 zeros | MariaDB capabilities u32 (if MYSQL is not set) |
//! user NUL | auth (lenenc, or u8 length, or NUL-terminated) | database NUL? | auth plugin NUL? | attributes lenenc?`

use crate::Capabilities;
use crate::auth::{NATIVE_PASSWORD, Scramble};
use crate::lenenc::{self, PutWire, nul_string};
use base::{Corruption, Put, Reader};

/// The handshake response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login<'a> {
    pub capabilities: Capabilities,
    pub packet_max: u32,
    pub collation: u8,
    pub user: &'a [u8],
    pub auth: &'a [u8],
    /// Empty when none was asked for.
    pub database: &'a [u8],
    /// Empty when the client did not say.
    pub auth_plugin: &'a [u8],
    pub attributes: &'a [u8],
}

/// Bytes of a login before the user: a client that asks for TLS sends no more in the clear.
const TLS_REQUEST: usize = 32;

/// Whether the answer to the greeting only asks for TLS: the login itself follows behind it.
pub fn wants_tls(payload: &[u8]) -> bool {
    let low = payload.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
    payload.len() == TLS_REQUEST && low & Capabilities::SSL.low() != 0
}

impl<'a> Login<'a> {
    pub fn decode(payload: &'a [u8]) -> Result<Self, Corruption> {
        let mut r = Reader::new(payload);
        let low = r.u32("capabilities")?;
        let caps = Capabilities::from_halves(low, 0);
        if !caps.contains(Capabilities::PROTOCOL_41) {
            return Err(Corruption::new("login", "capabilities", "protocol 4.1", format_args!("{low:#x}")));
        }
        let packet_max = r.u32("packet max")?;
        let collation = r.u8("collation")?;
        r.bytes(19, "filler")?;
        let high = r.u32("MariaDB capabilities")?;
        let high = if caps.contains(Capabilities::MYSQL) { 0 } else { high };
        // A TLS request stops here: see `wants_tls`.
        let user = nul_string(&mut r, "user")?;
        let auth = auth_field(&mut r, caps)?;
        let database = if caps.contains(Capabilities::CONNECT_WITH_DB) && !r.is_empty() {
            nul_string(&mut r, "database")?
        } else {
            b""
        };
        let auth_plugin = if caps.contains(Capabilities::PLUGIN_AUTH) && !r.is_empty() {
            tail_string(&mut r)?
        } else {
            b""
        };
        let attributes = if caps.contains(Capabilities::CONNECT_ATTRS) && !r.is_empty() {
            lenenc::string(&mut r, "attributes")?
        } else {
            b""
        };
        let capabilities = Capabilities::from_halves(low, high);
        Ok(Self { capabilities, packet_max, collation, user, auth, database, auth_plugin, attributes })
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        let caps = self.capabilities;
        out.put_u32(caps.low());
        out.put_u32(self.packet_max);
        out.put_u8(self.collation);
        out.put(&[0; 19]);
        out.put_u32(if caps.contains(Capabilities::MYSQL) { 0 } else { caps.high() });
        out.put_nul_string(self.user);
        if caps.contains(Capabilities::PLUGIN_AUTH_LENENC) {
            out.put_lenenc_string(self.auth);
        } else if caps.contains(Capabilities::SECURE_CONNECTION) {
            out.put_u8(self.auth.len() as u8);
            out.put(self.auth);
        } else {
            out.put_nul_string(self.auth);
        }
        if caps.contains(Capabilities::CONNECT_WITH_DB) {
            out.put_nul_string(self.database);
        }
        if caps.contains(Capabilities::PLUGIN_AUTH) {
            out.put_nul_string(self.auth_plugin);
        }
        if caps.contains(Capabilities::CONNECT_ATTRS) {
            out.put_lenenc_string(self.attributes);
        }
    }

    /// Connection attributes as (name, value) pairs.
    pub fn attribute_pairs(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut r = Reader::new(self.attributes);
        std::iter::from_fn(move || {
            let name = lenenc::string(&mut r, "attribute").ok()?;
            Some((name, lenenc::string(&mut r, "attribute").ok()?))
        })
    }
}

fn auth_field<'a>(r: &mut Reader<'a>, caps: Capabilities) -> Result<&'a [u8], Corruption> {
    if caps.contains(Capabilities::PLUGIN_AUTH_LENENC) {
        lenenc::string(r, "auth")
    } else if caps.contains(Capabilities::SECURE_CONNECTION) {
        let len = usize::from(r.u8("auth length")?);
        r.bytes(len, "auth")
    } else {
        nul_string(r, "auth")
    }
}

/// A NUL-terminated string whose NUL some clients leave out at the end of the packet.
fn tail_string<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Corruption> {
    if r.rest().contains(&0) { nul_string(r, "string") } else { r.bytes(r.remaining(), "string") }
}

/// Asks the client to answer again, by another plugin or with another scramble.
///
/// Layout: `0xfe | plugin NUL | scramble | 0`. The answer is the auth data alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthSwitch<'a> {
    pub plugin: &'a [u8],
    pub scramble: Scramble,
}

/// As [`AuthSwitch`], with a challenge of a plugin's own form and no NUL behind it.
pub fn put_auth_switch(plugin: &[u8], challenge: &[u8], out: &mut Vec<u8>) {
    out.put_u8(0xfe);
    out.put_nul_string(plugin);
    out.put(challenge);
}

impl<'a> AuthSwitch<'a> {
    pub fn native(scramble: Scramble) -> Self {
        Self { plugin: NATIVE_PASSWORD, scramble }
    }
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(0xfe);
        out.put_nul_string(self.plugin);
        out.put(&self.scramble);
        out.put_u8(0);
    }
    pub fn decode(payload: &'a [u8]) -> Result<Self, Corruption> {
        let mut r = Reader::new(payload);
        let tag = r.u8("tag")?;
        if tag != 0xfe {
            return Err(Corruption::new("auth switch", "tag", 0xfe, tag));
        }
        let plugin = nul_string(&mut r, "plugin")?;
        let mut scramble = Scramble::default();
        scramble.copy_from_slice(r.bytes(20, "scramble")?);
        Ok(Self { plugin, scramble })
    }
}

/// COM_CHANGE_USER after its command byte.
///
/// Layout: `user NUL | auth (u8 length) | database NUL | collation u16 | auth plugin NUL? | attributes lenenc?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    pub user: &'a [u8],
    pub auth: &'a [u8],
    pub database: &'a [u8],
    /// 0 = not said.
    pub collation: u16,
    pub auth_plugin: &'a [u8],
    pub attributes: &'a [u8],
}

impl<'a> ChangeUser<'a> {
    pub fn decode(body: &'a [u8], caps: Capabilities) -> Result<Self, Corruption> {
        let mut r = Reader::new(body);
        let user = nul_string(&mut r, "user")?;
        let auth = if caps.contains(Capabilities::SECURE_CONNECTION) {
            let len = usize::from(r.u8("auth length")?);
            r.bytes(len, "auth")?
        } else {
            nul_string(&mut r, "auth")?
        };
        let database = tail_string(&mut r)?;
        let collation = if r.remaining() >= 2 { r.u16("collation")? } else { 0 };
        let auth_plugin = if caps.contains(Capabilities::PLUGIN_AUTH) && !r.is_empty() {
            tail_string(&mut r)?
        } else {
            b""
        };
        let attributes = if caps.contains(Capabilities::CONNECT_ATTRS) && !r.is_empty() {
            lenenc::string(&mut r, "attributes")?
        } else {
            b""
        };
        Ok(Self { user, auth, database, collation, auth_plugin, attributes })
    }

    pub fn encode(&self, out: &mut Vec<u8>, caps: Capabilities) {
        out.put_nul_string(self.user);
        if caps.contains(Capabilities::SECURE_CONNECTION) {
            out.put_u8(self.auth.len() as u8);
            out.put(self.auth);
        } else {
            out.put_nul_string(self.auth);
        }
        out.put_nul_string(self.database);
        out.put_u16(self.collation);
        if caps.contains(Capabilities::PLUGIN_AUTH) {
            out.put_nul_string(self.auth_plugin);
        }
        if caps.contains(Capabilities::CONNECT_ATTRS) {
            out.put_lenenc_string(self.attributes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(capabilities: Capabilities) -> Login<'static> {
        let given = |c, s: &'static [u8]| if capabilities.contains(c) { s } else { b"" };
        Login {
            capabilities,
            packet_max: 1 << 24,
            collation: 45,
            user: b"root",
            auth: b"12345678901234567890",
            database: given(Capabilities::CONNECT_WITH_DB, b"test"),
            auth_plugin: given(Capabilities::PLUGIN_AUTH, b"mysql_native_password"),
            attributes: given(Capabilities::CONNECT_ATTRS, b"\x03_os\x05Linux"),
        }
    }

    #[test]
    fn logins_of_old_and_new_clients_round_trip() {
        let old = Capabilities::MYSQL | Capabilities::PROTOCOL_41;
        for caps in [
            old,
            old | Capabilities::SECURE_CONNECTION | Capabilities::CONNECT_WITH_DB,
            Capabilities::SERVER,
            Capabilities::SERVER | Capabilities::MYSQL,
        ] {
            let mut l = login(caps);
            if caps.contains(Capabilities::MYSQL) {
                l.capabilities = Capabilities::from_halves(caps.low(), 0);
            }
            let mut out = Vec::new();
            l.encode(&mut out);
            assert_eq!(Login::decode(&out), Ok(l));
        }
    }

    #[test]
    fn attributes_come_in_pairs() {
        let l = login(Capabilities::SERVER);
        assert_eq!(l.attribute_pairs().collect::<Vec<_>>(), [(b"_os".as_slice(), b"Linux".as_slice())]);
    }

    #[test]
    fn a_client_older_than_4_1_is_refused() {
        assert!(Login::decode(&[0; 64]).is_err());
    }

    #[test]
    fn change_user_round_trips() {
        let c = ChangeUser {
            user: b"u",
            auth: b"12345678901234567890",
            database: b"d",
            collation: 45,
            auth_plugin: b"mysql_native_password",
            attributes: b"",
        };
        let mut out = Vec::new();
        c.encode(&mut out, Capabilities::SERVER);
        assert_eq!(ChangeUser::decode(&out, Capabilities::SERVER), Ok(c));
    }
}
