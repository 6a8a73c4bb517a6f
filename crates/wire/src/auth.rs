//! `mysql_native_password`: SHA-1 challenge and response.
//!
//! The server stores `SHA1(SHA1(password))`; the client answers `SHA1(password) XOR SHA1(scramble, SHA1(SHA1(password)))`.
//! The server undoes the XOR, hashes once more and compares with what it stores. An empty password answers with nothing.

use sha1::{Digest, Sha1};

/// Name of the plugin on the wire.
pub const NATIVE_PASSWORD: &[u8] = b"mysql_native_password";

/// The 20 random bytes of a greeting or an auth switch; none of them may be zero or `$`.
pub type Scramble = [u8; 20];

/// `SHA1(SHA1(password))`, what the server keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredHash(pub [u8; 20]);

impl StoredHash {
    pub fn of(password: &[u8]) -> Self {
        Self(sha1(&[&sha1(&[password])]))
    }

    /// From `*` and 40 hexadecimal digits, as in `mysql.global_priv`.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let [b'*', hex @ ..] = text else { return None };
        let mut out = [0; 20];
        if hex.len() != 40 {
            return None;
        }
        for (byte, pair) in out.iter_mut().zip(hex.chunks_exact(2)) {
            let digit = |c: u8| (c as char).to_digit(16);
            *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        }
        Some(Self(out))
    }

    /// Whether `response` proves knowledge of the password.
    pub fn accepts(&self, scramble: &Scramble, response: &[u8]) -> bool {
        let Ok(response) = <[u8; 20]>::try_from(response) else { return false };
        let once = xor(response, sha1(&[scramble, &self.0]));
        // Every byte is looked at, whatever the first difference is.
        sha1(&[&once]).iter().zip(&self.0).fold(0, |acc, (a, b)| acc | (a ^ b)) == 0
    }
}

impl std::fmt::Display for StoredHash {
    /// `*` and 40 hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("*")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}

/// The client's answer to a scramble.
pub fn respond(scramble: &Scramble, password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha1(&[password]);
    let twice = sha1(&[&once]);
    xor(once, sha1(&[scramble, &twice])).to_vec()
}

/// A scramble from random bytes: seven bits each, never zero or `$`.
pub fn scramble_from(random: [u8; 20]) -> Scramble {
    random.map(|b| match b & 0x7f {
        0 | b'$' => b'a',
        other => other,
    })
}

fn xor(a: [u8; 20], b: [u8; 20]) -> [u8; 20] {
    let mut out = a;
    for (x, y) in out.iter_mut().zip(b) {
        *x ^= y;
    }
    out
}

fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut h = Sha1::new();
    for p in parts {
        h.update(p);
    }
    h.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_password_is_accepted_and_no_other() {
        let scramble = scramble_from([200; 20]);
        let stored = StoredHash::of(b"secret");
        assert!(stored.accepts(&scramble, &respond(&scramble, b"secret")));
        assert!(!stored.accepts(&scramble, &respond(&scramble, b"Secret")));
        assert!(!stored.accepts(&scramble, b""));
        assert!(!stored.accepts(&scramble_from([1; 20]), &respond(&scramble, b"secret")));
    }

    #[test]
    fn the_stored_form_is_the_documented_one() {
        // SELECT PASSWORD('secret')
        assert_eq!(
            StoredHash::parse(b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7"),
            Some(StoredHash::of(b"secret"))
        );
        assert_eq!(StoredHash::of(b"secret").to_string(), "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7");
        assert_eq!(StoredHash::parse(b"*14E6"), None);
    }
}
