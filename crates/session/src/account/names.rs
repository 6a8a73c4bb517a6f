//! Accounts and roles as statements name them.

use accounts::Tables;
use accounts::account::PUBLIC;
use accounts::change::Grantee;
use client_error::{ClientError, account as error};
use sql_syntax::ast::Account;

use crate::session::Session;

/// Longest names, in characters.
const USER_MAX: usize = 128;
const HOST_MAX: usize = 255;

/// A user or a role; a role has no host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub user: String,
    pub host: String,
    pub is_role: bool,
}

impl Named {
    pub(crate) fn user(user: &str, host: &str) -> Self {
        Self { user: user.to_owned(), host: host.to_owned(), is_role: false }
    }
    pub(crate) fn role(name: &str) -> Self {
        Self { user: name.to_owned(), host: String::new(), is_role: true }
    }
    pub(crate) fn grantee(&self) -> Grantee<'_> {
        Grantee { user: &self.user, host: &self.host }
    }
    /// As messages name it: `'u'@'h'`, `'r'`.
    pub(crate) fn shown(&self) -> String {
        if self.is_role { format!("'{}'", self.user) } else { quoted_account(&self.user, &self.host) }
    }
}

pub(crate) fn quoted_account(user: &str, host: &str) -> String {
    format!("'{user}'@'{host}'")
}

/// Whether a role may be called so.
pub(crate) fn check_role_name(name: &str) -> Result<(), ClientError> {
    if name.is_empty() || name.eq_ignore_ascii_case(PUBLIC) || name.eq_ignore_ascii_case("NONE") {
        return Err(error::invalid_role(&if name.is_empty() { String::new() } else { name.to_uppercase() }));
    }
    Ok(())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn check_length(name: &str, what: &str, max: usize) -> Result<(), ClientError> {
    if name.chars().count() <= max {
        return Ok(());
    }
    let shown: String = name.chars().take(67).collect();
    Err(error::name_too_long(&format!("{shown}..."), what, max))
}

impl Session {
    /// The account that the session works as.
    pub(crate) fn own_account(&self) -> Named {
        Named::user(self.rights.user(), self.rights.account_host())
    }
    /// As `grantor` columns note it.
    pub(super) fn grantor(&self) -> String {
        format!("{}@{}", self.rights.user(), self.rights.account_host())
    }
}

/// Whom a statement names. A name without a host is a role if there is one of that name, else a user at `%`.
pub(crate) fn named(session: &Session, tables: &Tables, account: &Account<'_>) -> Result<Named, ClientError> {
    match account {
        Account::Name { user, host: None } if tables.role(&text(user)).is_some() => {
            Ok(Named::role(&text(user)))
        }
        Account::Name { user, host: None } if text(user).eq_ignore_ascii_case(PUBLIC) => {
            Ok(Named::role(PUBLIC))
        }
        other => user_named(session, other),
    }
}

/// A user, whatever roles are called.
pub(super) fn user_named(session: &Session, account: &Account<'_>) -> Result<Named, ClientError> {
    match account {
        Account::CurrentUser => Ok(session.own_account()),
        Account::CurrentRole => current_role(session),
        Account::Public => Ok(Named::role(PUBLIC)),
        Account::Name { user, host } => {
            let user = text(user);
            let host = host.map_or_else(|| "%".to_owned(), |h| text(h).to_lowercase());
            check_length(&user, "user name", USER_MAX)?;
            check_length(&host, "host name", HOST_MAX)?;
            // An empty host is any.
            Ok(Named::user(&user, if host.is_empty() { "%" } else { &host }))
        }
    }
}

fn current_role(session: &Session) -> Result<Named, ClientError> {
    match session.rights.role() {
        "" => Err(error::invalid_current_role()),
        role => Ok(Named::role(role)),
    }
}

/// A role, which must exist unless it is PUBLIC.
pub(super) fn role_named(
    session: &Session,
    tables: &Tables,
    account: &Account<'_>,
) -> Result<Named, ClientError> {
    let named = match account {
        Account::CurrentRole => current_role(session)?,
        Account::Public => Named::role(PUBLIC),
        Account::CurrentUser => return Err(error::invalid_role("CURRENT_USER")),
        Account::Name { user, .. } => Named::role(&text(user)),
    };
    if tables.role(&named.user).is_none() && named.user != PUBLIC {
        return Err(error::invalid_role(&named.user));
    }
    Ok(named)
}
