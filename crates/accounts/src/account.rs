//! A user or a role, and the JSON that `mysql.global_priv` keeps of it.
//!
//! # Layout
//! ```text
//! {"access":bits, "version_id":110809, "plugin":"p", "authentication_string":"s", "auth_or":[{"plugin":..},{}],
//!  "ssl_type":0 none | 1 any | 2 X509 | 3 specific, "ssl_cipher", "x509_issuer", "x509_subject",
//!  "max_questions", "max_updates", "max_connections", "max_user_connections", "max_statement_time",
//!  "account_locked":true, "password_last_changed":seconds (0 expired), "password_lifetime":days (-1 default, 0 never),
//!  "default_role":"r", "is_role":true}
//! ```
//! Of several plugins the last stands in the object itself; `auth_or` lists the others, with `{}` in its place. Keys that are not
//! known here are kept.

use crate::json::Json;
use crate::privilege::Privileges;

/// What `version_id` says: the server whose numbers of privileges these are.
pub const VERSION_ID: u64 = 110_809;

/// The name of the role that everybody has.
pub const PUBLIC: &str = "PUBLIC";

pub const NATIVE: &str = "mysql_native_password";

/// One way to prove who one is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auth {
    pub plugin: String,
    /// What the plugin keeps: a hash, or the name of a system user.
    pub string: String,
}

/// What the connection must be like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Tls {
    #[default]
    None,
    Any,
    X509,
    Specific {
        cipher: String,
        issuer: String,
        subject: String,
    },
}

/// Limits of resources; 0 = none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limits {
    pub queries: u64,
    pub updates: u64,
    pub connections: u64,
    pub user_connections: i64,
    /// Seconds.
    pub statement_time: f64,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Account {
    pub user: String,
    /// Empty for roles.
    pub host: String,
    pub is_role: bool,
    pub access: Privileges,
    /// Tried in order.
    pub auth: Vec<Auth>,
    pub tls: Tls,
    pub limits: Limits,
    pub locked: bool,
    /// Seconds since 1970; 0 = expired, `None` = never noted.
    pub password_changed: Option<u64>,
    /// Days; -1 as the server's default, 0 never.
    pub password_lifetime: Option<i64>,
    pub default_role: String,
    /// Keys of the JSON that are not known here.
    pub others: Vec<(String, Json)>,
}

impl Auth {
    pub fn native(hash: &str) -> Self {
        Self { plugin: NATIVE.to_owned(), string: hash.to_owned() }
    }
}

/// Keys that the fields of an account stand for.
const KNOWN: [&str; 19] = [
    "access",
    "version_id",
    "plugin",
    "authentication_string",
    "auth_or",
    "ssl_type",
    "ssl_cipher",
    "x509_issuer",
    "x509_subject",
    "max_questions",
    "max_updates",
    "max_connections",
    "max_user_connections",
    "max_statement_time",
    "account_locked",
    "password_last_changed",
    "password_lifetime",
    "default_role",
    "is_role",
];

impl Account {
    /// A user without privileges.
    pub fn user(user: &str, host: &str) -> Self {
        Self { user: user.to_owned(), host: host.to_owned(), auth: vec![Auth::native("")], ..Self::default() }
    }
    pub fn role(name: &str) -> Self {
        Self { user: name.to_owned(), is_role: true, ..Self::default() }
    }

    /// From a row. Text that is not JSON gives an account that nobody can log in to.
    pub fn from_row(user: &str, host: &str, text: &str) -> Self {
        let mut account = Self { user: user.to_owned(), host: host.to_owned(), ..Self::default() };
        let Some(json @ Json::Object(_)) = Json::parse(text) else {
            account.locked = true;
            return account;
        };
        let text = |key: &str| json.get(key).and_then(Json::text).unwrap_or("").to_owned();
        let number = |key: &str| json.get(key).and_then(Json::number::<u64>).unwrap_or(0);
        account.is_role = json.get("is_role").is_some_and(Json::is_true);
        account.access = Privileges::from_stored(number("access"));
        if !account.is_role {
            account.auth = auth_of(&json);
        }
        account.tls = match number("ssl_type") {
            0 => Tls::None,
            1 => Tls::Any,
            2 => Tls::X509,
            _ => Tls::Specific {
                cipher: text("ssl_cipher"),
                issuer: text("x509_issuer"),
                subject: text("x509_subject"),
            },
        };
        account.limits = Limits {
            queries: number("max_questions"),
            updates: number("max_updates"),
            connections: number("max_connections"),
            user_connections: json.get("max_user_connections").and_then(Json::number).unwrap_or(0),
            statement_time: json.get("max_statement_time").and_then(Json::number).unwrap_or(0.0),
        };
        account.locked = json.get("account_locked").is_some_and(Json::is_true);
        account.password_changed = json.get("password_last_changed").and_then(Json::number);
        account.password_lifetime = json.get("password_lifetime").and_then(Json::number);
        account.default_role = text("default_role");
        if let Json::Object(members) = json {
            account.others = members.into_iter().filter(|(k, _)| !KNOWN.contains(&k.as_str())).collect();
        }
        account
    }

    /// The `Priv` column.
    pub fn to_json(&self) -> String {
        let mut out: Vec<(String, Json)> = Vec::new();
        let mut put = |key: &str, value: Json| out.push((key.to_owned(), value));
        let number = |n: &dyn std::fmt::Display| Json::Number(n.to_string());
        let text = |t: &str| Json::Text(t.to_owned());
        put("access", number(&self.access.0));
        put("version_id", number(&VERSION_ID));
        if !self.is_role {
            put_auth(&self.auth, &mut put);
        }
        match &self.tls {
            Tls::None => {}
            tls => {
                let (kind, cipher, issuer, subject) = match tls {
                    Tls::Specific { cipher, issuer, subject } => (3, &**cipher, &**issuer, &**subject),
                    Tls::X509 => (2, "", "", ""),
                    _ => (1, "", "", ""),
                };
                put("ssl_type", number(&kind));
                put("ssl_cipher", text(cipher));
                put("x509_issuer", text(issuer));
                put("x509_subject", text(subject));
            }
        }
        let limits = &self.limits;
        for (key, n) in [
            ("max_questions", limits.queries),
            ("max_updates", limits.updates),
            ("max_connections", limits.connections),
        ] {
            if n != 0 {
                put(key, number(&n));
            }
        }
        if limits.user_connections != 0 {
            put("max_user_connections", number(&limits.user_connections));
        }
        if limits.statement_time != 0.0 {
            put("max_statement_time", Json::Number(format!("{:.6}", limits.statement_time)));
        }
        if self.locked {
            put("account_locked", Json::Bool(true));
        }
        if let Some(at) = self.password_changed {
            put("password_last_changed", number(&at));
        }
        if let Some(days) = self.password_lifetime {
            put("password_lifetime", number(&days));
        }
        if !self.default_role.is_empty() {
            put("default_role", text(&self.default_role));
        }
        if self.is_role {
            put("is_role", Json::Bool(true));
        }
        out.extend(self.others.iter().cloned());
        Json::Object(out).to_string()
    }

    /// When the password runs out, in seconds since 1970; 0 has run out, None never does.
    pub fn password_expires(&self, lifetime: u64) -> Option<u64> {
        let changed = self.password_changed?;
        let days = match self.password_lifetime {
            None | Some(-1) => lifetime,
            Some(days) => days.unsigned_abs(),
        };
        if changed == 0 { Some(0) } else { (days != 0).then(|| changed + days * 86_400) }
    }
    /// Whether the password has to be changed before anything else; `lifetime` is default_password_lifetime, in days.
    pub fn password_expired(&self, now: u64, lifetime: u64) -> bool {
        self.password_expires(lifetime).is_some_and(|end| end <= now)
    }
}

fn auth_of(json: &Json) -> Vec<Auth> {
    let one = |json: &Json| {
        let text = |key: &str| json.get(key).and_then(Json::text).unwrap_or("").to_owned();
        let plugin = text("plugin");
        Auth {
            plugin: if plugin.is_empty() { NATIVE.to_owned() } else { plugin },
            string: text("authentication_string"),
        }
    };
    match json.get("auth_or") {
        Some(Json::List(list)) if !list.is_empty() => list
            .iter()
            .map(|item| if matches!(item, Json::Object(m) if m.is_empty()) { one(json) } else { one(item) })
            .collect(),
        _ => vec![one(json)],
    }
}

fn put_auth(auth: &[Auth], put: &mut impl FnMut(&str, Json)) {
    let Some((last, others)) = auth.split_last() else { return };
    put("plugin", Json::Text(last.plugin.clone()));
    put("authentication_string", Json::Text(last.string.clone()));
    if others.is_empty() {
        return;
    }
    let mut list: Vec<Json> = others
        .iter()
        .map(|a| {
            let mut members = vec![("plugin".to_owned(), Json::Text(a.plugin.clone()))];
            if !a.string.is_empty() {
                members.push(("authentication_string".to_owned(), Json::Text(a.string.clone())));
            }
            Json::Object(members)
        })
        .collect();
    list.push(Json::Object(Vec::new()));
    put("auth_or", Json::List(list));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_real_server_is_read_and_written_as_it_was() {
        let row = concat!(
            r#"{"access":0,"version_id":110809,"plugin":"unix_socket","authentication_string":"","#,
            r#""auth_or":[{"plugin":"ed25519","authentication_string":"Gv2JI8Env2fd5YGonZ082tX3UAW+yJYldOlj4R1bfK4"},{}],"#,
            r#""ssl_type":1,"ssl_cipher":"","x509_issuer":"","x509_subject":"","max_user_connections":3,"#,
            r#""max_statement_time":1.500000,"account_locked":true,"password_last_changed":1796044006,"password_lifetime":10}"#
        );
        let account = Account::from_row("u2", "192.168.%", row);
        assert_eq!(account.auth.len(), 2);
        assert_eq!(account.auth[0].plugin, "ed25519");
        assert_eq!(account.limits.statement_time, 1.5);
        assert!(account.locked);
        assert_eq!(account.to_json(), row);
    }

    #[test]
    fn what_is_not_known_is_kept_and_what_is_no_json_locks() {
        let row = r#"{"access":1,"version_id":110809,"plugin":"mysql_native_password","authentication_string":"","x":[1]}"#;
        assert_eq!(Account::from_row("u", "%", row).to_json(), row);
        assert!(Account::from_row("u", "%", "oops").locked);
    }

    #[test]
    fn passwords_expire() {
        let mut account = Account::user("u", "%");
        assert!(!account.password_expired(1000, 1));
        account.password_changed = Some(0);
        assert!(account.password_expired(1000, 0));
        account.password_changed = Some(1000);
        assert!(!account.password_expired(1000 + 86_399, 1));
        assert!(account.password_expired(1000 + 86_400, 1));
        account.password_lifetime = Some(0);
        assert!(!account.password_expired(1_000_000, 1));
    }
}
