//! The `ed25519` plugin: the password is the seed of a key, the server keeps the public key.
//!
//! The expanded secret is SHA-512 of the password, whatever its length; the public key is stored in base64 without padding, 43
//! characters. The server sends 32 random bytes, the client signs them.

use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha512};

pub const PLUGIN: &[u8] = b"client_ed25519";
/// Bytes of a challenge.
pub const NONCE_LEN: usize = 32;
/// Characters of a stored key.
pub const STORED_LEN: usize = 43;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn secret(password: &[u8]) -> ExpandedSecretKey {
    let hash: [u8; 64] = Sha512::digest(password).into();
    ExpandedSecretKey::from_bytes(&hash)
}

/// What the server keeps of a password.
pub fn stored(password: &[u8]) -> String {
    base64(VerifyingKey::from(&secret(password)).as_bytes())
}

/// Whether `text` is a stored key.
pub fn is_stored(text: &[u8]) -> bool {
    key_of(text).is_some()
}

fn key_of(text: &[u8]) -> Option<VerifyingKey> {
    let bytes: [u8; 32] = decode(text)?.try_into().ok()?;
    VerifyingKey::from_bytes(&bytes).ok()
}

/// The stored key as bytes.
pub fn public_key(stored: &[u8]) -> Option<[u8; 32]> {
    key_of(stored).map(|key| key.to_bytes())
}

/// Whether `response` signs `nonce` with the key of the stored password.
pub fn accepts(stored: &[u8], nonce: &[u8], response: &[u8]) -> bool {
    let Some(key) = key_of(stored) else { return false };
    Signature::from_slice(response).is_ok_and(|s| key.verify_strict(nonce, &s).is_ok())
}

/// The client's answer.
pub fn respond(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let secret = secret(password);
    let key = VerifyingKey::from(&secret);
    raw_sign::<Sha512>(&secret, nonce, &key).to_bytes().to_vec()
}

fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=chunk.len()].copy_from_slice(chunk);
        let word = u32::from_be_bytes(word);
        for i in 0..=chunk.len() {
            out.push(char::from(ALPHABET[(word >> (18 - 6 * i) & 63) as usize]));
        }
    }
    out
}

fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for chunk in text.chunks(4) {
        let mut word = 0u32;
        for (i, c) in chunk.iter().enumerate() {
            let digit = ALPHABET.iter().position(|a| a == c)?;
            word |= (digit as u32) << (18 - 6 * i);
        }
        out.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_is_that_of_a_server() {
        // CREATE USER ... IDENTIFIED VIA ed25519 USING PASSWORD('x')
        assert_eq!(stored(b"x"), "Gv2JI8Env2fd5YGonZ082tX3UAW+yJYldOlj4R1bfK4");
        assert!(is_stored(stored(b"x").as_bytes()) && !is_stored(b"abc"));
    }

    #[test]
    fn the_right_password_is_accepted_and_no_other() {
        let (nonce, stored) = ([7; NONCE_LEN], stored(b"secret"));
        assert!(accepts(stored.as_bytes(), &nonce, &respond(b"secret", &nonce)));
        assert!(!accepts(stored.as_bytes(), &nonce, &respond(b"Secret", &nonce)));
        assert!(!accepts(stored.as_bytes(), &[8; NONCE_LEN], &respond(b"secret", &nonce)));
        assert!(!accepts(stored.as_bytes(), &nonce, b""));
        assert!(!accepts(b"junk", &nonce, &respond(b"secret", &nonce)));
    }
}
