//! SHOW GRANTS and SHOW CREATE USER, as text.

use std::fmt::Write;

use crate::account::{Account, NATIVE, PUBLIC, Tls};
use crate::privilege::Privileges;
use crate::snapshot::Accounts;
use crate::tables::Tables;

/// A name in backquotes.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn text(value: &str) -> String {
    let mut out = String::from("'");
    for c in value.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Who is granted to, as statements write it: a user with its host, a role without.
fn grantee(user: &str, host: &str, is_role: bool) -> String {
    match (is_role, user) {
        (true, PUBLIC) => PUBLIC.to_owned(),
        (true, _) => quoted(user),
        (false, _) => format!("{}@{}", quoted(user), quoted(host)),
    }
}

/// CREATE USER.
pub fn create_user(account: &Account) -> String {
    let mut out = format!("CREATE USER {}", grantee(&account.user, &account.host, account.is_role));
    put_identity(account, &mut out);
    put_tls(&account.tls, &mut out);
    put_limits(account, false, &mut out);
    if account.locked {
        out.push_str(" ACCOUNT LOCK");
    }
    if account.password_changed == Some(0) {
        out.push_str(" PASSWORD EXPIRE");
    } else {
        match account.password_lifetime {
            Some(0) => out.push_str(" PASSWORD EXPIRE NEVER"),
            Some(days) if days > 0 => {
                let _ = write!(out, " PASSWORD EXPIRE INTERVAL {days} DAY");
            }
            _ => {}
        }
    }
    out
}

fn put_identity(account: &Account, out: &mut String) {
    match account.auth.as_slice() {
        [] => {}
        [one] if one.plugin == NATIVE => {
            if !one.string.is_empty() {
                let _ = write!(out, " IDENTIFIED BY PASSWORD {}", text(&one.string));
            }
        }
        several => {
            out.push_str(" IDENTIFIED VIA ");
            for (i, auth) in several.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { " OR " });
                out.push_str(&auth.plugin);
                if !auth.string.is_empty() {
                    let _ = write!(out, " USING {}", text(&auth.string));
                }
            }
        }
    }
}

fn put_tls(tls: &Tls, out: &mut String) {
    match tls {
        Tls::None => {}
        Tls::Any => out.push_str(" REQUIRE SSL"),
        Tls::X509 => out.push_str(" REQUIRE X509"),
        Tls::Specific { cipher, issuer, subject } => {
            out.push_str(" REQUIRE");
            for (word, value) in [("ISSUER", issuer), ("SUBJECT", subject), ("CIPHER", cipher)] {
                if !value.is_empty() {
                    let _ = write!(out, " {word} {}", text(value));
                }
            }
        }
    }
}

fn put_limits(account: &Account, grant: bool, out: &mut String) {
    let l = &account.limits;
    if !grant && *l == crate::account::Limits::default() {
        return;
    }
    out.push_str(" WITH");
    if grant {
        out.push_str(" GRANT OPTION");
    }
    for (word, n) in [
        ("MAX_QUERIES_PER_HOUR", l.queries),
        ("MAX_UPDATES_PER_HOUR", l.updates),
        ("MAX_CONNECTIONS_PER_HOUR", l.connections),
    ] {
        if n != 0 {
            let _ = write!(out, " {word} {n}");
        }
    }
    if l.user_connections != 0 {
        let _ = write!(out, " MAX_USER_CONNECTIONS {}", l.user_connections);
    }
    if l.statement_time != 0.0 {
        let _ = write!(out, " MAX_STATEMENT_TIME {:.6}", l.statement_time);
    }
}

/// The statements that would give a user or role what it has.
pub fn grants(accounts: &Accounts, user: &str, host: &str, is_role: bool) -> Vec<String> {
    let mut out = Vec::new();
    if is_role {
        put_role(&accounts.tables, user, &mut Vec::new(), &mut out);
        return out;
    }
    put_roles(&accounts.tables, user, host, false, &mut out);
    put_grants(&accounts.tables, user, host, false, &mut out);
    if let Some(account) = accounts.tables.account(user, host)
        && !account.default_role.is_empty()
    {
        out.push(format!(
            "SET DEFAULT ROLE {} FOR {}",
            quoted(&account.default_role),
            grantee(user, host, false)
        ));
    }
    out
}

/// A role: the roles that it has, what it may do itself, then each of those roles that has not been told yet.
fn put_role(tables: &Tables, role: &str, told: &mut Vec<String>, out: &mut Vec<String>) {
    told.push(role.to_owned());
    put_roles(tables, role, "", true, out);
    put_grants(tables, role, "", true, out);
    for (key, _) in tables.roles.iter().filter(|(k, _)| k.user == role && k.host.is_empty()) {
        if !told.contains(&key.role) {
            put_role(tables, &key.role, told, out);
        }
    }
}

fn put_roles(tables: &Tables, user: &str, host: &str, is_role: bool, out: &mut Vec<String>) {
    for (key, admin) in tables.roles.iter().filter(|(k, _)| k.user == user && k.host == host) {
        let mut line = format!("GRANT {} TO {}", quoted(&key.role), grantee(user, host, is_role));
        if *admin {
            line.push_str(" WITH ADMIN OPTION");
        }
        out.push(line);
    }
}

fn with_option(access: Privileges) -> &'static str {
    if access.has(Privileges::GRANT) { " WITH GRANT OPTION" } else { "" }
}

/// Names of `access` out of what a level knows.
fn names(access: Privileges, level: Privileges) -> String {
    let shown = access.without(Privileges::GRANT) & level;
    if shown.is_empty() {
        "USAGE".to_owned()
    } else if shown == level.without(Privileges::GRANT) {
        "ALL PRIVILEGES".to_owned()
    } else {
        shown.names()
    }
}

fn put_grants(tables: &Tables, user: &str, host: &str, is_role: bool, out: &mut Vec<String>) {
    let who = grantee(user, host, is_role);
    if let Some(account) = tables.account(user, host)
        && !(is_role && user == PUBLIC && account.access.is_empty())
    {
        let mut line = format!("GRANT {} ON *.* TO {who}", names(account.access, Privileges::ALL_GLOBAL));
        put_identity(account, &mut line);
        put_tls(&account.tls, &mut line);
        put_limits(account, account.access.has(Privileges::GRANT), &mut line);
        out.push(line);
    }
    let mut databases: Vec<_> =
        tables.databases.iter().filter(|(k, _)| k.user == user && k.host == host).collect();
    databases.sort_by_key(|(k, _)| std::cmp::Reverse(crate::host::rank(&k.db)));
    for (key, access) in databases {
        out.push(format!(
            "GRANT {} ON {}.* TO {who}{}",
            names(*access, Privileges::DATABASE),
            quoted(&key.db),
            with_option(*access)
        ));
    }
    for (key, grant) in tables.tables.iter().filter(|(k, _)| k.user == user && k.host == host) {
        out.push(format!(
            "GRANT {} ON {}.{} TO {who}{}",
            table_names(grant),
            quoted(&key.db),
            quoted(&key.table),
            with_option(grant.access)
        ));
    }
    for (key, grant) in tables.routines.iter().filter(|(k, _)| k.user == user && k.host == host) {
        let shown = grant.access.without(Privileges::GRANT);
        out.push(format!(
            "GRANT {} ON {} {}.{} TO {who}{}",
            if shown.is_empty() { "USAGE".to_owned() } else { shown.names() },
            key.kind.name(),
            quoted(&key.db),
            quoted(&key.name),
            with_option(grant.access)
        ));
    }
    for (key, grant) in tables.proxies.iter().filter(|(k, _)| k.user == user && k.host == host && !is_role) {
        let proxied_host = if key.proxied_host.is_empty() { "%" } else { &key.proxied_host };
        out.push(format!(
            "GRANT PROXY ON {} TO {who}{}",
            grantee(&key.proxied_user, proxied_host, false),
            if grant.with_grant { " WITH GRANT OPTION" } else { "" }
        ));
    }
}

/// `SELECT (a, b), UPDATE`
fn table_names(grant: &crate::tables::TableGrant) -> String {
    let own = grant.access.without(Privileges::GRANT);
    let on_columns = grant.on_columns();
    if own == Privileges::TABLE.without(Privileges::GRANT) {
        return "ALL PRIVILEGES".to_owned();
    }
    if (own | on_columns).is_empty() {
        return "USAGE".to_owned();
    }
    let mut parts = Vec::new();
    for privilege in (own | on_columns).each() {
        if own.has(privilege) {
            parts.push(privilege.name().to_owned());
        }
        if on_columns.has(privilege) {
            let columns: Vec<_> =
                grant.columns.iter().filter(|(_, p)| p.has(privilege)).map(|(c, _)| quoted(c)).collect();
            if own.has(privilege) {
                // Both are stored; both are shown.
                parts.pop();
            }
            parts.push(format!("{} ({})", privilege.name(), columns.join(", ")));
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Auth;
    use crate::tables::{DbKey, RoleKey, TableGrant, TableKey};

    /// What a MariaDB 11.8 server answered to the same grants.
    #[test]
    fn grants_as_a_server_shows_them() {
        let mut t = Tables::default();
        let mut account = Account::user("u2", "192.168.%");
        account.auth = vec![
            Auth { plugin: "ed25519".into(), string: "Gv2".into() },
            Auth { plugin: "unix_socket".into(), string: String::new() },
        ];
        account.tls = Tls::Any;
        account.limits.user_connections = 3;
        account.limits.statement_time = 1.5;
        account.default_role = "r1".into();
        t.put(account);
        t.put(Account::role("r1"));
        t.put(Account::role("r2"));
        let role = |host: &str, user: &str, role: &str| RoleKey {
            host: host.into(),
            user: user.into(),
            role: role.into(),
        };
        t.roles.insert(role("192.168.%", "u2", "r1"), true);
        t.roles.insert(role("", "r2", "r1"), false);
        let key =
            TableKey { host: "192.168.%".into(), db: "test".into(), user: "u2".into(), table: "t".into() };
        let mut grant = TableGrant {
            access: Privileges::UPDATE | Privileges::DELETE | Privileges::GRANT,
            ..TableGrant::default()
        };
        grant.columns.insert("a".into(), Privileges::SELECT | Privileges::INSERT);
        grant.columns.insert("b".into(), Privileges::SELECT);
        t.tables.insert(key, grant);
        t.databases.insert(
            DbKey { host: String::new(), db: "test".into(), user: "r1".into() },
            Privileges::DATABASE.without(Privileges::GRANT),
        );
        let accounts = Accounts::new(t, 1);
        assert_eq!(
            grants(&accounts, "u2", "192.168.%", false),
            [
                "GRANT `r1` TO `u2`@`192.168.%` WITH ADMIN OPTION",
                "GRANT USAGE ON *.* TO `u2`@`192.168.%` IDENTIFIED VIA ed25519 USING 'Gv2' OR unix_socket \
                 REQUIRE SSL WITH MAX_USER_CONNECTIONS 3 MAX_STATEMENT_TIME 1.500000",
                "GRANT SELECT (`a`, `b`), INSERT (`a`), UPDATE, DELETE ON `test`.`t` TO `u2`@`192.168.%` \
                 WITH GRANT OPTION",
                "SET DEFAULT ROLE `r1` FOR `u2`@`192.168.%`",
            ]
        );
        assert_eq!(
            grants(&accounts, "r2", "", true),
            [
                "GRANT `r1` TO `r2`",
                "GRANT USAGE ON *.* TO `r2`",
                "GRANT USAGE ON *.* TO `r1`",
                "GRANT ALL PRIVILEGES ON `test`.* TO `r1`",
            ]
        );
    }
}
