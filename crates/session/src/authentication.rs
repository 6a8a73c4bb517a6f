//! Authentication plugins: what each keeps of a password and how a client proves that it knows it.
//!
//! # Exchange
//! The greeting offers `mysql_native_password` with a scramble. When the account's plugin is another one, or the client answered with
//! another one, it is asked again (auth switch). An account may have several plugins: they are tried in order until one accepts.

use accounts::account::NATIVE;
use client_error::{ClientError, account as error};
use wire::auth::StoredHash;

use crate::handshake::{Refused, Talk};

/// A plugin that is built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plugin {
    Native,
}

impl Plugin {
    const ALL: [Self; 1] = [Self::Native];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Native => NATIVE,
        }
    }
    /// By the name in a statement or a row.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.name().eq_ignore_ascii_case(name))
    }
    /// What the client must run.
    pub(crate) const fn client_name(self) -> &'static [u8] {
        match self {
            Self::Native => wire::auth::NATIVE_PASSWORD,
        }
    }
    /// Whether the client proves that it knows what is behind `stored`.
    pub(crate) fn accepts(self, talk: &mut Talk<'_>, _user: &str, stored: &str) -> Result<bool, Refused> {
        talk.answer_by(self.client_name())?;
        let response = &talk.proof.response;
        Ok(match self {
            _ if stored.is_empty() => response.is_empty(),
            Self::Native => StoredHash::parse(stored.as_bytes())
                .is_some_and(|hash| hash.accepts(&talk.proof.scramble, response)),
        })
    }
    /// Whether SET PASSWORD makes sense.
    pub(crate) const fn has_password(self) -> bool {
        match self {
            Self::Native => true,
        }
    }
}

/// What a plugin keeps of a password. The empty password is kept as nothing.
pub(crate) fn hash_password(plugin: Plugin, password: &[u8]) -> Result<String, ClientError> {
    Ok(match plugin {
        _ if password.is_empty() => String::new(),
        Plugin::Native => StoredHash::of(password).to_string(),
    })
}

/// Whether `hash` can be what the plugin keeps.
pub(crate) fn check_hash(plugin: Plugin, hash: &str) -> Result<(), ClientError> {
    match plugin {
        _ if hash.is_empty() => Ok(()),
        Plugin::Native => {
            StoredHash::parse(hash.as_bytes()).map(|_| ()).ok_or_else(|| error::bad_password_hash(41))
        }
    }
}
