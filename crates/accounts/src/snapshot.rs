//! Accounts as log-in and statements see them: the rows, and what look-ups need.
//!
//! # Who counts
//! A session's *holders* are its account, its active role with all that the role inherits, and PUBLIC with all that it inherits.
//! What any of them may do, the session may do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::account::{Account, PUBLIC};
use crate::host;
use crate::privilege::Privileges;
use crate::tables::{DbKey, RoutineKey, RoutineKind, TableGrant, TableKey, Tables};

/// One state of all accounts.
#[derive(Debug, Default)]
pub struct Accounts {
    pub generation: u64,
    pub tables: Tables,
    /// Hosts by user, the most specific first.
    hosts: BTreeMap<String, Vec<String>>,
    /// Privileges on databases by user, the most specific first.
    databases: BTreeMap<String, Vec<(DbKey, Privileges)>>,
    /// Grants on tables by (user, database, table).
    grants: BTreeMap<(String, String, String), Vec<TableKey>>,
}

impl Accounts {
    pub fn new(tables: Tables, generation: u64) -> Self {
        let mut hosts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for account in tables.accounts.values().filter(|a| !a.is_role) {
            hosts.entry(account.user.clone()).or_default().push(account.host.clone());
        }
        for list in hosts.values_mut() {
            // Of equals, names come before addresses: a client from 127.0.0.1 is at `localhost`.
            let is_address = |h: &str| h.starts_with(|c: char| c.is_ascii_digit() || c == ':');
            list.sort_by(|a, b| {
                host::rank(b)
                    .cmp(&host::rank(a))
                    .then_with(|| is_address(a).cmp(&is_address(b)))
                    .then_with(|| a.cmp(b))
            });
        }
        let mut databases: BTreeMap<String, Vec<(DbKey, Privileges)>> = BTreeMap::new();
        for (key, access) in &tables.databases {
            databases.entry(key.user.clone()).or_default().push((key.clone(), *access));
        }
        for list in databases.values_mut() {
            let rank = |k: &DbKey| (host::rank(&k.host), host::rank(&k.db));
            list.sort_by(|(a, _), (b, _)| rank(b).cmp(&rank(a)).then_with(|| a.cmp(b)));
        }
        let mut grants: BTreeMap<_, Vec<TableKey>> = BTreeMap::new();
        for key in tables.tables.keys() {
            let name = (key.user.clone(), key.db.clone(), key.table.clone());
            grants.entry(name).or_default().push(key.clone());
        }
        for list in grants.values_mut() {
            list.sort_by_key(|k| std::cmp::Reverse(host::rank(&k.host)));
        }
        Self { generation, tables, hosts, databases, grants }
    }

    /// Whether anybody may come from there.
    pub fn host_is_known(&self, host_name: &str, address: &str) -> bool {
        self.hosts.values().flatten().any(|h| host::matches(h, host_name, address))
    }

    /// The account that a log-in is for: by its name or the anonymous one, whichever has the more specific host.
    pub fn find(&self, user: &str, host_name: &str, address: &str) -> Option<&Account> {
        let best = |name: &str| {
            let hosts = self.hosts.get(name)?;
            let found = hosts.iter().find(|h| host::matches(h, host_name, address))?;
            self.tables.account(name, found)
        };
        let (named, anonymous) = (best(user), if user.is_empty() { None } else { best("") });
        match (named, anonymous) {
            (Some(n), Some(a)) if host::rank(&a.host) > host::rank(&n.host) => Some(a),
            (Some(n), _) => Some(n),
            (None, a) => a,
        }
    }

    /// `role` and every role that it has been granted, itself first.
    pub fn closure(&self, role: &str) -> Vec<String> {
        let mut found = vec![role.to_owned()];
        let mut next = 0;
        while next < found.len() {
            for granted in self.roles_of(&found[next].clone(), "") {
                if !found.contains(&granted) {
                    found.push(granted);
                }
            }
            next += 1;
        }
        found
    }

    /// Roles granted directly to a user, or to a role (with an empty host).
    pub fn roles_of(&self, user: &str, account_host: &str) -> Vec<String> {
        let keys = self.tables.roles.keys();
        keys.filter(|k| k.user == user && k.host == account_host).map(|k| k.role.clone()).collect()
    }

    /// Whether a user may switch to `role`: granted to it, or to PUBLIC.
    pub fn may_take(&self, user: &str, account_host: &str, role: &str) -> bool {
        self.roles_of(user, account_host).iter().any(|r| r == role)
            || self.closure(PUBLIC).iter().skip(1).any(|r| r == role)
    }

    /// Whether the grants to a user (or to a role, with an empty host) let it pass `role` on.
    pub fn is_admin_of(&self, user: &str, account_host: &str, role: &str) -> bool {
        let keys = self.tables.roles.iter();
        keys.into_iter()
            .any(|(k, admin)| *admin && k.user == user && k.host == account_host && k.role == role)
    }
}

/// Who holds privileges of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Holder {
    name: String,
    is_role: bool,
}

/// What one session may do, under one state of the accounts.
#[derive(Debug, Clone)]
pub struct Rights {
    accounts: Arc<Accounts>,
    user: String,
    /// The host part of the account.
    account_host: String,
    host: String,
    address: String,
    role: String,
    holders: Vec<Holder>,
    global: Privileges,
    /// Everything without looking: a server without checks of privileges.
    unlimited: bool,
}

impl Rights {
    pub fn new(accounts: Arc<Accounts>, account: (&str, &str), from: (&str, &str), role: &str) -> Self {
        let mut holders = vec![Holder { name: account.0.to_owned(), is_role: false }];
        let mut seen = BTreeSet::new();
        let roles = if role.is_empty() { Vec::new() } else { accounts.closure(role) };
        for name in roles.into_iter().chain(accounts.closure(PUBLIC)) {
            if accounts.tables.role(&name).is_some() && seen.insert(name.clone()) {
                holders.push(Holder { name, is_role: true });
            }
        }
        let access = |h: &Holder| {
            let host = if h.is_role { "" } else { account.1 };
            accounts.tables.account(&h.name, host).map_or(Privileges::NONE, |a| a.access)
        };
        let global = holders.iter().map(access).collect();
        Self {
            user: account.0.to_owned(),
            account_host: account.1.to_owned(),
            host: from.0.to_owned(),
            address: from.1.to_owned(),
            role: role.to_owned(),
            holders,
            global,
            unlimited: false,
            accounts,
        }
    }

    /// With other privileges that hold everywhere: those of the log-in.
    #[must_use]
    pub fn with_global(self, global: Privileges) -> Self {
        Self { global, ..self }
    }

    /// The server itself: may do everything.
    pub fn unlimited() -> Self {
        let mut rights = Self::new(Arc::new(Accounts::default()), ("", ""), ("", ""), "");
        rights.global = Privileges::ALL_GLOBAL;
        rights.unlimited = true;
        rights
    }

    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }
    pub fn user(&self) -> &str {
        &self.user
    }
    pub fn account_host(&self) -> &str {
        &self.account_host
    }
    /// Where the client is.
    pub fn client_host(&self) -> &str {
        &self.host
    }
    pub fn role(&self) -> &str {
        &self.role
    }
    pub fn generation(&self) -> u64 {
        self.accounts.generation
    }
    pub fn global(&self) -> Privileges {
        self.global
    }
    pub fn is_unlimited(&self) -> bool {
        self.unlimited
    }

    /// Granted on the whole of a database, without what holds everywhere.
    pub fn database_only(&self, db: &str) -> Privileges {
        self.holders.iter().map(|h| self.on_database(h, db)).collect()
    }
    /// Granted on the whole of a database, also by what holds everywhere.
    pub fn database(&self, db: &str) -> Privileges {
        if self.global.has(Privileges::DATABASE) {
            return self.global;
        }
        self.global | self.database_only(db)
    }

    fn on_database(&self, holder: &Holder, db: &str) -> Privileges {
        let fits = |k: &DbKey| {
            let from = if holder.is_role {
                k.host.is_empty()
            } else {
                k.host == self.account_host || host::matches(&k.host, &self.host, &self.address)
            };
            from && host::like(k.db.as_bytes(), db.as_bytes(), false)
        };
        let first = |user: &str| self.accounts.databases.get(user)?.iter().find(|(k, _)| fits(k));
        let named = first(&holder.name);
        // Privileges of the anonymous user are everybody's.
        let anonymous = if holder.is_role || holder.name.is_empty() { None } else { first("") };
        let rank = |k: &DbKey| (host::rank(&k.host), host::rank(&k.db));
        match (named, anonymous) {
            (Some((n, _)), Some((a, access))) if rank(a) > rank(n) => *access,
            (Some((_, access)), _) | (None, Some((_, access))) => *access,
            (None, None) => Privileges::NONE,
        }
    }

    fn on_table(&self, holder: &Holder, db: &str, table: &str) -> Option<&TableGrant> {
        let name = (holder.name.clone(), db.to_owned(), table.to_owned());
        let keys = self.accounts.grants.get(&name)?;
        let fits = |k: &&TableKey| {
            if holder.is_role {
                k.host.is_empty()
            } else {
                k.host == self.account_host || host::matches(&k.host, &self.host, &self.address)
            }
        };
        self.accounts.tables.tables.get(keys.iter().find(fits)?)
    }

    fn grants_on(&self, db: &str, table: &str) -> impl Iterator<Item = &TableGrant> {
        self.holders.iter().filter_map(move |h| self.on_table(h, db, table))
    }

    /// Granted on the whole of a table, also by its database and by what holds everywhere.
    pub fn table(&self, db: &str, table: &str) -> Privileges {
        let above = self.database(db);
        if above.has(Privileges::TABLE) || self.accounts.grants.is_empty() {
            return above;
        }
        self.grants_on(db, table).fold(above, |all, g| all | g.access)
    }

    /// Granted on some column of a table, and on nothing more.
    pub fn some_column(&self, db: &str, table: &str) -> Privileges {
        self.grants_on(db, table).map(TableGrant::on_columns).collect()
    }

    /// Granted on a column itself.
    pub fn column(&self, db: &str, table: &str, column: &str) -> Privileges {
        let of = |g: &TableGrant| {
            let same = |name: &str| name == column || name.to_lowercase() == column.to_lowercase();
            g.columns.iter().filter(|(name, _)| same(name)).map(|(_, p)| *p).collect::<Privileges>()
        };
        self.grants_on(db, table).map(of).collect()
    }

    /// Granted on a routine, also by its database and by what holds everywhere.
    pub fn routine(&self, db: &str, name: &str, kind: RoutineKind) -> Privileges {
        let above = self.database(db);
        if above.has(Privileges::ROUTINE) || self.accounts.tables.routines.is_empty() {
            return above;
        }
        let name = name.to_lowercase();
        let fits = |h: &Holder, k: &RoutineKey| {
            k.user == h.name
                && k.db == db
                && k.name == name
                && k.kind == kind
                && if h.is_role {
                    k.host.is_empty()
                } else {
                    k.host == self.account_host || host::matches(&k.host, &self.host, &self.address)
                }
        };
        let of = |h: &Holder| {
            let mut keys = self.accounts.tables.routines.iter();
            keys.find(|(k, _)| fits(h, k)).map_or(Privileges::NONE, |(_, g)| g.access)
        };
        self.holders.iter().fold(above, |all, h| all | of(h))
    }

    /// Whether a database is seen at all: something in it, or all of it, is granted.
    pub fn sees_database(&self, db: &str) -> bool {
        if self.global.has_any(Privileges::DATABASE) || self.database_only(db).has_any(Privileges::DATABASE) {
            return true;
        }
        let tables = &self.accounts.tables;
        let mine = |user: &str, key_host: &str| {
            self.holders.iter().any(|h| {
                h.name == user
                    && if h.is_role {
                        key_host.is_empty()
                    } else {
                        key_host == self.account_host || host::matches(key_host, &self.host, &self.address)
                    }
            })
        };
        tables.tables.keys().any(|k| k.db == db && mine(&k.user, &k.host))
            || tables.routines.keys().any(|k| k.db == db && mine(&k.user, &k.host))
    }

    /// Whether a table is listed: something on it or on a column of it is granted.
    pub fn sees_table(&self, db: &str, table: &str) -> bool {
        self.table(db, table).has_any(Privileges::TABLE) || !self.some_column(db, table).is_empty()
    }

    /// Names of the roles that are in force, the active one first.
    pub fn enabled_roles(&self) -> Vec<&str> {
        self.holders.iter().filter(|h| h.is_role).map(|h| h.name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::RoleKey;

    fn db(host: &str, db: &str, user: &str) -> DbKey {
        DbKey { host: host.into(), db: db.into(), user: user.into() }
    }

    fn sample() -> Arc<Accounts> {
        let mut t = Tables::of_new_server();
        t.put(Account::user("u", "%"));
        t.put(Account::user("u", "192.168.%"));
        t.put(Account::user("", "localhost"));
        t.put(Account::role("r1"));
        t.put(Account { access: Privileges::PROCESS, ..Account::role("r2") });
        t.roles.insert(RoleKey { host: "%".into(), user: "u".into(), role: "r1".into() }, false);
        t.roles.insert(RoleKey { host: "".into(), user: "r1".into(), role: "r2".into() }, true);
        t.databases.insert(db("%", "te%", "u"), Privileges::SELECT);
        t.databases.insert(db("%", "test", "u"), Privileges::INSERT);
        t.databases.insert(db("", "other", "r2"), Privileges::DELETE);
        let key = TableKey { host: "%".into(), db: "d".into(), user: "u".into(), table: "t".into() };
        let columns = BTreeMap::from([("a".to_owned(), Privileges::SELECT)]);
        t.tables.insert(key, TableGrant { access: Privileges::UPDATE, columns, ..TableGrant::default() });
        Arc::new(Accounts::new(t, 1))
    }

    #[test]
    fn the_most_specific_host_logs_in() {
        let a = sample();
        assert_eq!(a.find("u", "db", "192.168.0.1").unwrap().host, "192.168.%");
        assert_eq!(a.find("u", "db", "10.0.0.1").unwrap().host, "%");
        // The anonymous account of localhost is more specific than u@%.
        assert_eq!(a.find("u", "localhost", "127.0.0.1").unwrap().user, "");
        assert_eq!(a.find("root", "localhost", "127.0.0.1").unwrap().host, "localhost");
        assert!(a.find("root", "db", "10.0.0.1").is_none());
    }

    #[test]
    fn privileges_of_the_best_pattern_count() {
        let r = Rights::new(sample(), ("u", "%"), ("h", "10.0.0.1"), "");
        assert_eq!(r.database("test"), Privileges::INSERT);
        assert_eq!(r.database("tes"), Privileges::SELECT);
        assert_eq!(r.database("other"), Privileges::NONE);
        assert_eq!(r.table("d", "t"), Privileges::UPDATE);
        assert_eq!(r.column("d", "t", "A"), Privileges::SELECT);
        assert!(r.sees_table("d", "t") && !r.sees_table("d", "x") && r.sees_database("d"));
        assert!(!r.sees_database("mysql"));
    }

    #[test]
    fn roles_bring_what_they_inherit() {
        let a = sample();
        assert_eq!(a.closure("r1"), ["r1", "r2"]);
        assert!(a.may_take("u", "%", "r1") && !a.may_take("u", "%", "r2"));
        let r = Rights::new(a, ("u", "%"), ("h", "10.0.0.1"), "r1");
        assert_eq!(r.global(), Privileges::PROCESS);
        assert_eq!(r.database("other"), Privileges::PROCESS | Privileges::DELETE);
        assert_eq!(r.enabled_roles(), ["r1", "r2"]);
    }
}
