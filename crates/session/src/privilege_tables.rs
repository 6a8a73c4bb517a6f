//! information_schema's tables of privileges and roles, and `mysql.user`: the accounts in their old shape, for reading.
//!
//! Who may read the tables of privileges sees everybody's, others their own account's.

use accounts::account::Tls;
use accounts::tables::TableGrant;
use accounts::{Account, Privileges, Rights};
use types::Value;

use crate::information_schema::{Columns, Kind, Rows};
use crate::system_tables::MYSQL;
use Kind::{LongText, Number, Text};

/// The name of the virtual table `mysql.user`.
pub(crate) const USER: &str = "user";

const GRANTEE: (&str, Kind) = ("GRANTEE", Text(385));
const CATALOG: (&str, Kind) = ("TABLE_CATALOG", Text(512));
const SCHEMA: (&str, Kind) = ("TABLE_SCHEMA", Text(64));
const TABLE: (&str, Kind) = ("TABLE_NAME", Text(64));
const TYPE: (&str, Kind) = ("PRIVILEGE_TYPE", Text(64));
const GRANTABLE: (&str, Kind) = ("IS_GRANTABLE", Text(3));

pub(crate) const TABLES: [(&str, Columns); 6] = [
    ("APPLICABLE_ROLES", &[GRANTEE, ("ROLE_NAME", Text(128)), GRANTABLE, ("IS_DEFAULT", Text(3))]),
    ("COLUMN_PRIVILEGES", &[GRANTEE, CATALOG, SCHEMA, TABLE, ("COLUMN_NAME", Text(64)), TYPE, GRANTABLE]),
    ("ENABLED_ROLES", &[("ROLE_NAME", Text(128))]),
    ("SCHEMA_PRIVILEGES", &[GRANTEE, CATALOG, SCHEMA, TYPE, GRANTABLE]),
    ("TABLE_PRIVILEGES", &[GRANTEE, CATALOG, SCHEMA, TABLE, TYPE, GRANTABLE]),
    ("USER_PRIVILEGES", &[GRANTEE, CATALOG, TYPE, GRANTABLE]),
];

/// Columns of `mysql.user` that tell of a privilege.
const USER_FLAGS: [(&str, Privileges); 30] = {
    use Privileges as P;
    [
        ("Select_priv", P::SELECT),
        ("Insert_priv", P::INSERT),
        ("Update_priv", P::UPDATE),
        ("Delete_priv", P::DELETE),
        ("Create_priv", P::CREATE),
        ("Drop_priv", P::DROP),
        ("Reload_priv", P::RELOAD),
        ("Shutdown_priv", P::SHUTDOWN),
        ("Process_priv", P::PROCESS),
        ("File_priv", P::FILE),
        ("Grant_priv", P::GRANT),
        ("References_priv", P::REFERENCES),
        ("Index_priv", P::INDEX),
        ("Alter_priv", P::ALTER),
        ("Show_db_priv", P::SHOW_DATABASES),
        ("Super_priv", P::SUPER),
        ("Create_tmp_table_priv", P::CREATE_TEMPORARY),
        ("Lock_tables_priv", P::LOCK_TABLES),
        ("Execute_priv", P::EXECUTE),
        ("Repl_slave_priv", P::REPLICATION_SLAVE),
        ("Repl_client_priv", P::BINLOG_MONITOR),
        ("Create_view_priv", P::CREATE_VIEW),
        ("Show_view_priv", P::SHOW_VIEW),
        ("Create_routine_priv", P::CREATE_ROUTINE),
        ("Alter_routine_priv", P::ALTER_ROUTINE),
        ("Create_user_priv", P::CREATE_USER),
        ("Event_priv", P::EVENT),
        ("Trigger_priv", P::TRIGGER),
        ("Create_tablespace_priv", P::CREATE_TABLESPACE),
        ("Delete_history_priv", P::DELETE_HISTORY),
    ]
};

/// Columns of `mysql.user`.
pub(crate) fn user_columns() -> Vec<(&'static str, Kind)> {
    let mut out = vec![("Host", Text(255)), ("User", Text(128)), ("Password", LongText)];
    out.extend(USER_FLAGS.iter().map(|(name, _)| (*name, Text(1))));
    out.push(("ssl_type", Text(9)));
    out.extend(["ssl_cipher", "x509_issuer", "x509_subject"].map(|n| (n, LongText)));
    let limits = ["max_questions", "max_updates", "max_connections", "max_user_connections"];
    out.extend(limits.map(|n| (n, Number)));
    out.extend(["plugin", "authentication_string"].map(|n| (n, LongText)));
    out.extend(["password_expired", "is_role"].map(|n| (n, Text(1))));
    out.extend([("default_role", LongText), ("max_statement_time", Text(13))]);
    out
}

fn s(text: &str) -> Value {
    Value::utf8(text)
}
fn yes(on: bool) -> Value {
    s(if on { "YES" } else { "NO" })
}
fn flag(on: bool) -> Value {
    s(if on { "Y" } else { "N" })
}
fn grantee(user: &str, host: &str) -> Value {
    s(&format!("'{user}'@'{host}'"))
}

/// Rows of one of these tables; `None` when it is another one.
pub(crate) fn rows(rights: &Rights, table: &str) -> Option<Rows> {
    Some(match table {
        "USER_PRIVILEGES" => user_privileges(rights),
        "SCHEMA_PRIVILEGES" => schema_privileges(rights),
        "TABLE_PRIVILEGES" => table_privileges(rights),
        "COLUMN_PRIVILEGES" => column_privileges(rights),
        "APPLICABLE_ROLES" => applicable_roles(rights),
        "ENABLED_ROLES" => enabled_roles(rights),
        USER => rights.accounts().tables.accounts.values().map(user_row).collect(),
        _ => return None,
    })
}

/// Whether the grants of an account are shown to the reader.
fn shown(rights: &Rights, user: &str, host: &str) -> bool {
    rights.database(MYSQL).has(Privileges::SELECT) || (user == rights.user() && host == rights.account_host())
}

/// A row for each privilege; USAGE when there is none.
fn each_privilege(held: Privileges, out: &mut Rows, row: impl Fn(Value, Value) -> Vec<Value>) {
    let grantable = held.has(Privileges::GRANT);
    let named = held.without(Privileges::GRANT);
    if named.is_empty() {
        out.push(row(s("USAGE"), yes(grantable)));
    }
    out.extend(named.each().map(|p| row(s(p.name()), yes(grantable))));
}

fn user_privileges(rights: &Rights) -> Rows {
    let mut out = Vec::new();
    for a in rights.accounts().tables.accounts.values().filter(|a| !a.is_role) {
        if shown(rights, &a.user, &a.host) {
            each_privilege(a.access, &mut out, |privilege, grantable| {
                vec![grantee(&a.user, &a.host), s("def"), privilege, grantable]
            });
        }
    }
    out
}

fn schema_privileges(rights: &Rights) -> Rows {
    let mut out = Vec::new();
    for (k, access) in &rights.accounts().tables.databases {
        if shown(rights, &k.user, &k.host) {
            each_privilege(*access, &mut out, |privilege, grantable| {
                vec![grantee(&k.user, &k.host), s("def"), s(&k.db), privilege, grantable]
            });
        }
    }
    out
}

fn table_privileges(rights: &Rights) -> Rows {
    let mut out = Vec::new();
    for (k, grant) in &rights.accounts().tables.tables {
        // A grant on columns alone is told by COLUMN_PRIVILEGES.
        let only_columns =
            grant.access.without(Privileges::GRANT).is_empty() && !grant.on_columns().is_empty();
        if only_columns || !shown(rights, &k.user, &k.host) {
            continue;
        }
        each_privilege(grant.access, &mut out, |privilege, grantable| {
            vec![grantee(&k.user, &k.host), s("def"), s(&k.db), s(&k.table), privilege, grantable]
        });
    }
    out
}

fn column_privileges(rights: &Rights) -> Rows {
    let mut out = Vec::new();
    for (k, grant) in &rights.accounts().tables.tables {
        if !shown(rights, &k.user, &k.host) {
            continue;
        }
        let TableGrant { access, columns, .. } = grant;
        let grantable = access.has(Privileges::GRANT);
        for (column, held) in columns {
            out.extend(held.each().map(|p| {
                vec![
                    grantee(&k.user, &k.host),
                    s("def"),
                    s(&k.db),
                    s(&k.table),
                    s(column),
                    s(p.name()),
                    yes(grantable),
                ]
            }));
        }
    }
    out
}

/// The roles that the account could take, and what those inherit.
fn applicable_roles(rights: &Rights) -> Rows {
    let accounts = rights.accounts();
    let (user, host) = (rights.user(), rights.account_host());
    let default = accounts.tables.account(user, host).map_or("", |a| a.default_role.as_str());
    let mut out = Vec::new();
    let mut seen = Vec::new();
    for role in accounts.roles_of(user, host) {
        let admin = accounts.is_admin_of(user, host, &role);
        out.push(vec![s(&format!("{user}@{host}")), s(&role), yes(admin), yes(role == default)]);
        seen.push(role);
    }
    let mut next = 0;
    while let Some(holder) = seen.get(next).cloned() {
        for role in accounts.roles_of(&holder, "") {
            let admin = accounts.is_admin_of(&holder, "", &role);
            out.push(vec![s(&holder), s(&role), yes(admin), Value::Null]);
            if !seen.contains(&role) {
                seen.push(role);
            }
        }
        next += 1;
    }
    out
}

fn enabled_roles(rights: &Rights) -> Rows {
    if rights.role().is_empty() {
        return vec![vec![Value::Null]];
    }
    rights.accounts().closure(rights.role()).iter().map(|r| vec![s(r)]).collect()
}

fn user_row(a: &Account) -> Vec<Value> {
    let auth = a.auth.last();
    let (plugin, string) = auth.map_or(("", ""), |auth| (&auth.plugin, &auth.string));
    let native = plugin == accounts::account::NATIVE;
    let mut row = vec![s(&a.host), s(&a.user), s(if native { string } else { "" })];
    row.extend(USER_FLAGS.iter().map(|(_, p)| flag(a.access.has(*p))));
    let (kind, cipher, issuer, subject) = match &a.tls {
        Tls::None => ("", "", "", ""),
        Tls::Any => ("ANY", "", "", ""),
        Tls::X509 => ("X509", "", "", ""),
        Tls::Specific { cipher, issuer, subject } => ("SPECIFIED", &**cipher, &**issuer, &**subject),
    };
    row.extend([kind, cipher, issuer, subject].map(s));
    let l = &a.limits;
    row.extend([l.queries, l.updates, l.connections].map(|n| Value::Int(n as i64)));
    row.push(Value::Int(l.user_connections));
    row.extend([s(plugin), s(string), flag(a.password_changed == Some(0)), flag(a.is_role)]);
    row.push(s(&a.default_role));
    row.push(s(&format!("{:.6}", l.statement_time)));
    row
}
