//! CREATE and DROP ROLE, SET ROLE, SET DEFAULT ROLE.

use accounts::Privileges;
use accounts::account::Account;
use accounts::tables::RoleKey;
use client_error::{ClientError, account as error};
use sql_syntax::ast;

use super::change;
use super::names::{Named, check_role_name, named, role_named, user_named};
use crate::diagnostics::Level;
use crate::session::Session;

fn role_text(account: &ast::Account<'_>) -> String {
    match account {
        // Names of roles end before their trailing spaces.
        ast::Account::Name { user, .. } => String::from_utf8_lossy(user).trim_end_matches(' ').to_owned(),
        ast::Account::Public => "PUBLIC".to_owned(),
        _ => String::new(),
    }
}

pub(super) fn create(session: &mut Session, s: &ast::CreateRole<'_>, sql: &[u8]) -> Result<(), ClientError> {
    session.need_create_user(Privileges::INSERT)?;
    if s.mode.or_replace && s.mode.if_not_exists {
        return Err(error::replace_and_if_not_exists());
    }
    change(session, sql, |session, _, tables| {
        let admin = match &s.admin {
            Some(account) => named(session, tables, account)?,
            None => session.own_account(),
        };
        if tables.account(&admin.user, &admin.host).is_none() {
            session.warn(Level::Note, error::no_such_definer(&admin.user, &admin.host));
        }
        let mut failed = Vec::new();
        for role in s.roles {
            let name = role_text(role);
            check_role_name(&name)?;
            let role = Named::role(&name);
            // A user of the same name without a host part would be the same row.
            let exists = tables.account(&name, "").is_some();
            if exists && !s.mode.or_replace {
                if s.mode.if_not_exists {
                    session.warn(Level::Note, error::role_exists(&role.shown()));
                } else {
                    failed.push(role.shown());
                }
                continue;
            }
            if exists {
                tables.drop_account(role.grantee(), true);
            }
            tables.put(Account::role(&name));
            // The admin need not exist yet.
            let key = RoleKey { host: admin.host.clone(), user: admin.user.clone(), role: name };
            tables.roles.insert(key, true);
        }
        Ok(told("CREATE ROLE", &failed))
    })
}

fn told(operation: &str, failed: &[String]) -> Result<(), ClientError> {
    if failed.is_empty() { Ok(()) } else { Err(error::operation_failed(operation, &failed.join(","))) }
}

pub(super) fn drop(session: &mut Session, s: &ast::DropUser<'_>, sql: &[u8]) -> Result<(), ClientError> {
    session.need_create_user(Privileges::DELETE)?;
    change(session, sql, |session, _, tables| {
        let mut failed = Vec::new();
        for role in s.accounts {
            let name = role_text(role);
            if name.eq_ignore_ascii_case("PUBLIC") {
                failed.push("PUBLIC".to_owned());
                continue;
            }
            let role = Named::role(&name);
            if tables.drop_account(role.grantee(), true) {
                continue;
            }
            if s.if_exists {
                session.warn(Level::Note, error::no_such_role_to_drop(&role.shown()));
            } else {
                failed.push(role.shown());
            }
        }
        Ok(told("DROP ROLE", &failed))
    })
}

/// SET ROLE: changes what the session may do from the next statement on.
pub(crate) fn set_role(session: &mut Session, role: Option<&ast::Account<'_>>) -> Result<(), ClientError> {
    let current = session.server().accounts.current();
    let name = match role {
        None => String::new(),
        Some(role) => {
            let role = role_named(session, &current.tables, role)?;
            let (user, host) = (session.rights.user(), session.rights.account_host());
            if !current.may_take(user, host, &role.user) {
                return Err(if current.tables.role(&role.user).is_some() && session.sees_accounts() {
                    error::role_not_granted(user, host, &role.user)
                } else {
                    error::invalid_role(&role.user)
                });
            }
            role.user
        }
    };
    session.take_role(&name);
    Ok(())
}

/// SET DEFAULT ROLE role [FOR user].
pub(crate) fn set_default_role(
    session: &mut Session,
    role: Option<&ast::Account<'_>>,
    account: Option<&ast::Account<'_>>,
    sql: &[u8],
) -> Result<(), ClientError> {
    let own = session.own_account();
    let user = match account {
        Some(account) => user_named(session, account)?,
        None => own.clone(),
    };
    if user != own {
        session.need_mysql(Privileges::UPDATE)?;
    }
    change(session, sql, |session, current, tables| {
        let name = match role {
            None => String::new(),
            Some(role) => {
                let role = role_named(session, tables, role)?.user;
                if !current.may_take(&user.user, &user.host, &role) {
                    return Err(error::role_not_granted(&user.user, &user.host, &role));
                }
                role
            }
        };
        let found = tables.account_mut(&user.user, &user.host).filter(|a| !a.is_role);
        found.ok_or_else(error::no_matching_user)?.default_role = name;
        Ok(Ok(()))
    })
}
