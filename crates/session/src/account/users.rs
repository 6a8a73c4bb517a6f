//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD.

use accounts::account::{Account, Auth, Limits, NATIVE, Tls};
use accounts::{Privileges, Tables};
use client_error::{ClientError, account as error};
use sql_syntax::ast::{self, PasswordExpire, PasswordValue, ResourceLimit, Secret};

use super::names::{Named, user_named};
use super::{Told, change};
use crate::authentication::{Plugin, check_hash, hash_password};
use crate::diagnostics::Level;
use crate::session::Session;

/// Names what could not be done.
fn told(operation: &str, failed: &[String]) -> Told {
    if failed.is_empty() { Ok(()) } else { Err(error::operation_failed(operation, &failed.join(","))) }
}

/// What a statement says of how a user proves itself; empty: nothing.
pub(super) fn auth_of(list: &[ast::Authentication<'_>]) -> Result<Vec<Auth>, ClientError> {
    list.iter()
        .map(|a| {
            let name = a.plugin.map_or_else(|| NATIVE.to_owned(), |p| p.text().into_owned());
            let plugin = Plugin::by_name(&name).ok_or_else(|| error::plugin_not_loaded(&name))?;
            let string = match a.secret {
                Secret::None => String::new(),
                Secret::Plain(password) => hash_password(plugin, password)?,
                Secret::Hash(hash) => {
                    let hash = String::from_utf8_lossy(hash).into_owned();
                    check_hash(plugin, &hash)?;
                    hash
                }
            };
            Ok(Auth { plugin: plugin.name().to_owned(), string })
        })
        .collect()
}

fn text(bytes: Option<&[u8]>) -> String {
    bytes.map(|b| String::from_utf8_lossy(b).into_owned()).unwrap_or_default()
}

/// Puts the options of a statement into an account.
pub(super) fn apply_options(account: &mut Account, options: &ast::UserOptions<'_>) {
    match options.tls {
        None => {}
        Some(ast::Tls::None) => account.tls = Tls::None,
        Some(ast::Tls::Any) => account.tls = Tls::Any,
        Some(ast::Tls::X509) => account.tls = Tls::X509,
        Some(ast::Tls::Specific { cipher, issuer, subject }) => {
            account.tls =
                Tls::Specific { cipher: text(cipher), issuer: text(issuer), subject: text(subject) };
        }
    }
    let Limits { queries, updates, connections, user_connections, statement_time } = &mut account.limits;
    for (limit, value) in options.limits {
        match limit {
            ResourceLimit::QueriesPerHour => *queries = *value,
            ResourceLimit::UpdatesPerHour => *updates = *value,
            ResourceLimit::ConnectionsPerHour => *connections = *value,
            ResourceLimit::UserConnections => *user_connections = *value as i64,
        }
    }
    if let Some(seconds) = options.max_statement_time {
        *statement_time = text(Some(seconds)).parse().unwrap_or(0.0);
    }
    if let Some(locked) = options.locked {
        account.locked = locked;
    }
    match options.expire {
        None => {}
        Some(PasswordExpire::Now) => account.password_changed = Some(0),
        Some(PasswordExpire::Never) => account.password_lifetime = Some(0),
        Some(PasswordExpire::Default) => account.password_lifetime = Some(-1),
        Some(PasswordExpire::Days(days)) => account.password_lifetime = Some(days as i64),
    }
}

/// A new account as a statement describes it.
pub(super) fn new_account(
    session: &Session,
    named: &Named,
    auth: Vec<Auth>,
    options: &ast::UserOptions<'_>,
) -> Account {
    let mut account = Account::user(&named.user, &named.host);
    if !auth.is_empty() {
        account.auth = auth;
    }
    account.password_changed = Some(session.now_seconds());
    apply_options(&mut account, options);
    if account.password_changed == Some(0) && account.password_lifetime.is_none() {
        account.password_lifetime = Some(-1);
    }
    account
}

pub(super) fn create(session: &mut Session, s: &ast::CreateUser<'_>, sql: &[u8]) -> Result<(), ClientError> {
    session.need_create_user(Privileges::INSERT)?;
    if s.mode.or_replace && s.mode.if_not_exists {
        return Err(error::replace_and_if_not_exists());
    }
    if s.mode.or_replace {
        session.need_create_user(Privileges::DELETE)?;
    }
    change(session, sql, |session, _, tables| {
        let mut failed = Vec::new();
        for spec in s.users {
            let named = user_named(session, &spec.account)?;
            let auth = auth_of(spec.auth)?;
            let exists = tables.account(&named.user, &named.host).is_some();
            if named.is_role || exists && !s.mode.or_replace {
                if s.mode.if_not_exists && exists {
                    session.warn(Level::Note, error::user_exists(&named.shown()));
                } else {
                    failed.push(named.shown());
                }
                continue;
            }
            if exists {
                tables.drop_account(named.grantee(), false);
            }
            tables.put(new_account(session, &named, auth, &s.options));
        }
        Ok(told("CREATE USER", &failed))
    })
}

/// Only its own password, and nothing else, is what everybody may change.
fn changes_own_password_only(session: &Session, s: &ast::AlterUser<'_>) -> bool {
    let own = session.own_account();
    s.options == ast::UserOptions::default()
        && s.users.iter().all(|spec| {
            !spec.auth.is_empty() && user_named(session, &spec.account).is_ok_and(|named| named == own)
        })
}

pub(super) fn alter(session: &mut Session, s: &ast::AlterUser<'_>, sql: &[u8]) -> Result<(), ClientError> {
    if !changes_own_password_only(session, s) {
        session.need_create_user(Privileges::UPDATE)?;
    }
    let own = session.own_account();
    let mut own_password = false;
    let outcome = change(session, sql, |session, _, tables| {
        let mut failed = Vec::new();
        for spec in s.users {
            let named = user_named(session, &spec.account)?;
            let auth = auth_of(spec.auth)?;
            let now = session.now_seconds();
            match tables.account_mut(&named.user, &named.host) {
                Some(account) if !account.is_role => {
                    if !auth.is_empty() {
                        account.auth = auth;
                        account.password_changed = Some(now);
                        own_password |= named == own;
                    }
                    apply_options(account, &s.options);
                }
                _ if s.if_exists => {
                    session.warn(Level::Error, error::cannot_create_with_grant());
                    let text = error::operation_failed("ALTER USER", &named.shown());
                    session.warn(Level::Note, text);
                }
                _ => failed.push(named.shown()),
            }
        }
        Ok(told("ALTER USER", &failed))
    });
    session.password_expired &= !own_password;
    outcome
}

pub(super) fn drop(session: &mut Session, s: &ast::DropUser<'_>, sql: &[u8]) -> Result<(), ClientError> {
    session.need_create_user(Privileges::DELETE)?;
    change(session, sql, |session, _, tables| {
        let mut failed = Vec::new();
        for account in s.accounts {
            let named = user_named(session, account)?;
            if tables.drop_account(named.grantee(), false) {
                continue;
            }
            if s.if_exists {
                session.warn(Level::Note, error::no_such_user_to_drop(&named.shown()));
            } else {
                failed.push(named.shown());
            }
        }
        Ok(told("DROP USER", &failed))
    })
}

pub(super) fn rename(
    session: &mut Session,
    pairs: &[(ast::Account<'_>, ast::Account<'_>)],
    sql: &[u8],
) -> Result<(), ClientError> {
    session.need_create_user(Privileges::UPDATE)?;
    change(session, sql, |session, _, tables| {
        let mut failed = Vec::new();
        for (from, to) in pairs {
            let (from, to) = (user_named(session, from)?, user_named(session, to)?);
            if !tables.rename_account(from.grantee(), to.grantee()) {
                failed.push(from.shown());
            }
        }
        Ok(told("RENAME USER", &failed))
    })
}

/// SET PASSWORD [FOR account].
pub(crate) fn set_password(
    session: &mut Session,
    account: Option<&ast::Account<'_>>,
    value: &PasswordValue<'_>,
    sql: &[u8],
) -> Result<(), ClientError> {
    let own = session.own_account();
    let named = match account {
        Some(account) => user_named(session, account)?,
        None => own.clone(),
    };
    if named != own {
        session.need_mysql(Privileges::UPDATE)?;
    } else if named.user.is_empty() {
        return Err(error::password_anonymous());
    }
    change(session, sql, |session, _, tables| {
        let now = session.now_seconds();
        let account = existing(tables, &named)?;
        let Some(auth) = account.auth.first_mut() else { return Err(error::no_matching_user()) };
        let plugin = Plugin::by_name(&auth.plugin).filter(|p| p.has_password());
        let plugin = plugin.ok_or_else(|| error::set_password_not_applicable(&auth.plugin))?;
        auth.string = match value {
            PasswordValue::Plain(password) => hash_password(plugin, password)?,
            PasswordValue::Hash(hash) => {
                let hash = String::from_utf8_lossy(hash).into_owned();
                check_hash(plugin, &hash)?;
                hash
            }
        };
        account.password_changed = Some(now);
        Ok(Ok(()))
    })?;
    session.password_expired &= named != own;
    Ok(())
}

fn existing<'a>(tables: &'a mut Tables, named: &Named) -> Result<&'a mut Account, ClientError> {
    tables.account_mut(&named.user, &named.host).filter(|a| !a.is_role).ok_or_else(error::no_matching_user)
}
