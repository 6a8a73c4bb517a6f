//! The `caching_sha2_password` plugin.
//!
//! # What is stored
//! `$A$RRR$` + 20 bytes of salt + 43 characters: SHA-crypt with SHA-256 and `RRR` (hexadecimal) times 1000 rounds.
//!
//! # Exchange
//! 1. fast: the client sends `SHA256(p) XOR SHA256(SHA256(SHA256(p)), nonce)`. The server can check it when it remembers
//!    `SHA256(SHA256(p))` from an earlier log-in: it says [`FAST_OK`].
//! 2. full: else it says [`FULL`], and the client sends the password, with a NUL, over a safe connection as it is, or [`ASK_KEY`] to
//!    get the server's RSA key, and the password XOR the nonce under that key.

use sha2::{Digest, Sha256};

pub const PLUGIN: &[u8] = b"caching_sha2_password";
/// After the byte 1: the remembered hash fits.
pub const FAST_OK: u8 = 3;
/// After the byte 1: send the password.
pub const FULL: u8 = 4;
/// From the client: send the public key.
pub const ASK_KEY: u8 = 2;
/// First byte of a packet between the two.
pub const MORE_DATA: u8 = 1;

const SALT_LEN: usize = 20;
const DIGEST_LEN: usize = 43;
/// Rounds of new passwords, in thousands.
const ROUNDS: usize = 5;

type Hash = [u8; 32];

fn sha256(parts: &[&[u8]]) -> Hash {
    let mut h = Sha256::new();
    parts.iter().for_each(|p| h.update(p));
    h.finalize().into()
}

fn xor(a: &[u8], b: &Hash) -> Hash {
    let mut out = *b;
    out.iter_mut().zip(a).for_each(|(x, y)| *x ^= y);
    out
}

/// `SHA256(SHA256(password))`, which the server remembers.
pub fn remembered(password: &[u8]) -> Hash {
    sha256(&[&sha256(&[password])])
}

/// The client's fast answer.
pub fn respond(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    xor(&sha256(&[password]), &sha256(&[&remembered(password), nonce])).to_vec()
}

/// Whether a fast answer fits what is remembered.
pub fn accepts(remembered: &Hash, nonce: &[u8], response: &[u8]) -> bool {
    if response.len() != remembered.len() {
        return false;
    }
    let once = xor(response, &sha256(&[remembered, nonce]));
    same(&sha256(&[&once]), remembered)
}

/// Compares all bytes, whatever the first difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}

/// What the server keeps of a password; `random` becomes the salt.
pub fn stored(password: &[u8], random: [u8; SALT_LEN]) -> Vec<u8> {
    let salt = crate::auth::scramble_from(random);
    let mut out = format!("$A${ROUNDS:03X}$").into_bytes();
    out.extend_from_slice(&salt);
    out.extend_from_slice(crypt(password, &salt, ROUNDS * 1000).as_bytes());
    out
}

fn parse(stored: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let rest = stored.strip_prefix(b"$A$")?;
    let (rounds, rest) = rest.split_at_checked(3)?;
    let rest = rest.strip_prefix(b"$")?;
    let (salt, digest) = rest.split_at_checked(SALT_LEN)?;
    let rounds = usize::from_str_radix(std::str::from_utf8(rounds).ok()?, 16).ok()?;
    (digest.len() == DIGEST_LEN && rounds > 0).then_some((rounds * 1000, salt, digest))
}

/// Whether `text` is a stored password.
pub fn is_stored(text: &[u8]) -> bool {
    parse(text).is_some()
}

/// Whether the password is the stored one. Takes some milliseconds, on purpose.
pub fn is_password(stored: &[u8], password: &[u8]) -> bool {
    parse(stored).is_some_and(|(rounds, salt, digest)| same(crypt(password, salt, rounds).as_bytes(), digest))
}

/// SHA-crypt with SHA-256, as its specification has it (step numbers are the specification's), without its limit of 16 bytes of salt.
fn crypt(password: &[u8], salt: &[u8], rounds: usize) -> String {
    // 4-8: the alternate sum.
    let alternate = sha256(&[password, salt, password]);
    // 1-3, 9-12
    let mut sum = Sha256::new();
    sum.update(password);
    sum.update(salt);
    sum.update(repeated(&alternate, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 != 0 {
            sum.update(alternate)
        } else {
            sum.update(password)
        }
        bits >>= 1;
    }
    let mut result: Hash = sum.finalize().into();
    // 13-16: the sequence of the password; 17-20: of the salt.
    let mut p_sum = Sha256::new();
    password.iter().for_each(|_| p_sum.update(password));
    let p = repeated(&p_sum.finalize(), password.len());
    let mut s_sum = Sha256::new();
    (0..16 + usize::from(result[0])).for_each(|_| s_sum.update(salt));
    let s = repeated(&s_sum.finalize(), salt.len());
    // 21
    for round in 0..rounds {
        let mut sum = Sha256::new();
        if round % 2 != 0 {
            sum.update(&p)
        } else {
            sum.update(result)
        }
        if round % 3 != 0 {
            sum.update(&s);
        }
        if round % 7 != 0 {
            sum.update(&p);
        }
        if round % 2 != 0 {
            sum.update(result)
        } else {
            sum.update(&p)
        }
        result = sum.finalize().into();
    }
    encode(&result)
}

fn repeated(bytes: &[u8], len: usize) -> Vec<u8> {
    bytes.iter().copied().cycle().take(len).collect()
}

/// 22: the bytes in their order, six bits a character.
fn encode(hash: &Hash) -> String {
    const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut out = String::with_capacity(DIGEST_LEN);
    let mut put = |word: u32, chars: usize| {
        for i in 0..chars {
            out.push(char::from(ALPHABET[(word >> (6 * i) & 63) as usize]));
        }
    };
    let (mut a, mut b, mut c) = (0, 10, 20);
    for _ in 0..10 {
        put(u32::from(hash[a]) << 16 | u32::from(hash[b]) << 8 | u32::from(hash[c]), 4);
        (a, b, c) = (c + 1, a + 1, b + 1);
    }
    put(u32::from(hash[31]) << 8 | u32::from(hash[30]), 3);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the C library answers.
    #[test]
    fn sha_crypt_is_the_specified_one() {
        assert_eq!(
            crypt(b"Hello world!", b"saltstring", 5000),
            "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"
        );
        assert_eq!(
            crypt(b"This is just a test", b"toolongsaltstrin", 5000),
            "Un/5jzAHMgOGZ5.mWJpuVolil07guHPvOW8mGRcvxa5"
        );
    }

    #[test]
    fn a_password_is_stored_and_found_again() {
        let stored = stored(b"secret", [9; 20]);
        assert!(is_stored(&stored) && stored.len() == 70);
        assert!(is_password(&stored, b"secret") && !is_password(&stored, b"Secret"));
        assert!(!is_password(b"$A$005$x", b"secret"));
    }

    #[test]
    fn the_fast_answer_fits_what_is_remembered() {
        let (nonce, hash) = ([7; 20], remembered(b"secret"));
        assert!(accepts(&hash, &nonce, &respond(b"secret", &nonce)));
        assert!(!accepts(&hash, &nonce, &respond(b"other", &nonce)));
        assert!(!accepts(&hash, &[8; 20], &respond(b"secret", &nonce)));
        assert!(!accepts(&hash, &nonce, b""));
    }
}
