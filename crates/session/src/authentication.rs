//! Authentication plugins: what each keeps of a password and how a client proves that it knows it.
//!
//! # Exchange
//! The greeting offers `mysql_native_password` with a scramble. When the account's plugin is another one, or the client answered with
//! another one, it is asked again (auth switch). An account may have several plugins: they are tried in order until one accepts.
//!
//! A password in clear is read over TLS and Unix sockets only; elsewhere it comes encrypted for [`crate::rsa_key`].

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use accounts::account::{Auth, NATIVE};
use client_error::{ClientError, account as error};
use wire::auth::StoredHash;
use wire::{caching_sha2, ed25519};

use crate::handshake::{Origin, Refused, Talk};
use crate::server::Server;

/// A plugin that is built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plugin {
    Native,
    Ed25519,
    CachingSha2,
    UnixSocket,
}

/// Who is being let in.
pub(crate) struct Candidate<'a> {
    pub user: &'a str,
    pub origin: &'a Origin,
    pub server: &'a Server,
}

impl Plugin {
    const ALL: [Self; 4] = [Self::Native, Self::Ed25519, Self::CachingSha2, Self::UnixSocket];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Native => NATIVE,
            Self::Ed25519 => "ed25519",
            Self::CachingSha2 => "caching_sha2_password",
            Self::UnixSocket => "unix_socket",
        }
    }
    /// By the name in a statement or a row.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.name().eq_ignore_ascii_case(name))
    }
    /// Whether SET PASSWORD makes sense.
    pub(crate) const fn has_password(self) -> bool {
        !matches!(self, Self::UnixSocket)
    }

    /// What a client derives from the password, too: the stored hash as bytes, where the client knows how.
    pub(crate) fn binary_hash(self, stored: &str) -> Option<Vec<u8>> {
        match self {
            Self::Native => StoredHash::parse(stored.as_bytes()).map(|h| h.0.to_vec()),
            Self::Ed25519 => ed25519::public_key(stored.as_bytes()).map(|key| key.to_vec()),
            Self::CachingSha2 | Self::UnixSocket => None,
        }
    }

    /// Whether the client proves that it is whom the account is for.
    pub(crate) fn accepts(
        self,
        talk: &mut Talk<'_>,
        who: &Candidate<'_>,
        auth: &Auth,
    ) -> Result<bool, Refused> {
        let stored = auth.string.as_str();
        match self {
            Self::Native => {
                talk.answer_by(wire::auth::NATIVE_PASSWORD)?;
                let (scramble, response) = (&talk.proof.scramble, &talk.proof.response);
                Ok(if stored.is_empty() {
                    response.is_empty()
                } else {
                    StoredHash::parse(stored.as_bytes()).is_some_and(|h| h.accepts(scramble, response))
                })
            }
            Self::Ed25519 => {
                let mut nonce = [0; ed25519::NONCE_LEN];
                env::random::entropy(&mut nonce);
                talk.challenge(ed25519::PLUGIN, &nonce)?;
                let response = &talk.proof.response;
                // An account without a password takes the signature of the empty one.
                let empty;
                let stored = if stored.is_empty() {
                    empty = ed25519::stored(b"");
                    empty.as_str()
                } else {
                    stored
                };
                Ok(ed25519::accepts(stored.as_bytes(), &nonce, response))
            }
            Self::CachingSha2 => sha2(talk, who, stored),
            Self::UnixSocket => {
                let name = who.origin.uid.and_then(env::host::user_name);
                let wanted = if stored.is_empty() { who.user } else { stored };
                Ok(name.is_some_and(|n| n == wanted))
            }
        }
    }
}

/// `caching_sha2_password`: by what is remembered, else by the password itself.
fn sha2(talk: &mut Talk<'_>, who: &Candidate<'_>, stored: &str) -> Result<bool, Refused> {
    talk.answer_by(caching_sha2::PLUGIN)?;
    if stored.is_empty() || talk.proof.response.is_empty() {
        return Ok(stored.is_empty() && talk.proof.response.is_empty());
    }
    if let Some(hash) = who.server.remembered.get(who.user, stored)
        && caching_sha2::accepts(&hash, &talk.proof.scramble, &talk.proof.response)
    {
        talk.put_more_data(&[caching_sha2::FAST_OK]);
        return Ok(true);
    }
    talk.put_more_data(&[caching_sha2::FULL]);
    let answer = talk.exchange()?;
    let Some(answer) = (if who.origin.is_secure() { Some(answer) } else { unveiled(talk, who, answer)? })
    else {
        return Ok(false);
    };
    let password = answer.strip_suffix(&[0]).unwrap_or(&answer);
    let right = caching_sha2::is_password(stored.as_bytes(), password);
    if right {
        who.server.remembered.put(who.user, stored, caching_sha2::remembered(password));
    }
    Ok(right)
}

/// The password that a client has encrypted for the server's key, which it may ask for first; None when it has done neither.
fn unveiled(
    talk: &mut Talk<'_>,
    who: &Candidate<'_>,
    mut answer: Vec<u8>,
) -> Result<Option<Vec<u8>>, Refused> {
    if answer == [caching_sha2::ASK_KEY] {
        let Some(key) = who.server.rsa_key.public_pem(who.server) else { return Ok(None) };
        talk.put_more_data(key.as_bytes());
        answer = talk.exchange()?;
    }
    let Some(mut password) = who.server.rsa_key.decrypt(who.server, &answer) else { return Ok(None) };
    password.iter_mut().zip(talk.proof.scramble.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    Ok(Some(password))
}

/// `SHA256(SHA256(password))` of those who have logged in, by user and what is stored of the password.
#[derive(Debug, Default)]
pub(crate) struct Remembered(Mutex<HashMap<(String, String), [u8; 32]>>);

impl Remembered {
    /// More than that are forgotten all at once: each costs its user one slower log-in.
    const MAX: usize = 100_000;

    fn get(&self, user: &str, stored: &str) -> Option<[u8; 32]> {
        let map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.get(&(user.to_owned(), stored.to_owned())).copied()
    }
    fn put(&self, user: &str, stored: &str, hash: [u8; 32]) {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if map.len() >= Self::MAX {
            map.clear();
        }
        map.insert((user.to_owned(), stored.to_owned()), hash);
    }
    /// FLUSH PRIVILEGES.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// What a plugin keeps of a password. The empty password is kept as nothing.
pub(crate) fn hash_password(plugin: Plugin, password: &[u8]) -> Result<String, ClientError> {
    Ok(match plugin {
        _ if password.is_empty() => String::new(),
        Plugin::Native => StoredHash::of(password).to_string(),
        Plugin::Ed25519 => ed25519::stored(password),
        Plugin::CachingSha2 => {
            let mut salt = [0; 20];
            env::random::entropy(&mut salt);
            String::from_utf8_lossy(&caching_sha2::stored(password, salt)).into_owned()
        }
        Plugin::UnixSocket => return Err(error::set_password_not_applicable(plugin.name())),
    })
}

/// Whether `hash` can be what the plugin keeps.
pub(crate) fn check_hash(plugin: Plugin, hash: &str) -> Result<(), ClientError> {
    let bytes = hash.as_bytes();
    let fits = match plugin {
        _ if hash.is_empty() => true,
        Plugin::Native => StoredHash::parse(bytes).is_some(),
        Plugin::Ed25519 => ed25519::is_stored(bytes),
        Plugin::CachingSha2 => caching_sha2::is_stored(bytes),
        // The name of a system user.
        Plugin::UnixSocket => true,
    };
    match plugin {
        _ if fits => Ok(()),
        Plugin::Ed25519 => Err(error::bad_password_hash(ed25519::STORED_LEN as u32)),
        Plugin::CachingSha2 => Err(error::bad_password_hash(70)),
        _ => Err(error::bad_password_hash(41)),
    }
}
