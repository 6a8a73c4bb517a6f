//! The rows of the tables of privileges, by their primary keys, and the difference of two states.

use std::collections::BTreeMap;

use crate::account::Account;
use crate::privilege::Privileges;

/// (host, user): the key of `global_priv`. A role's host is empty.
pub type AccountKey = (String, String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoutineKind {
    Function,
    Procedure,
    Package,
    PackageBody,
}

impl RoutineKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Function => "FUNCTION",
            Self::Procedure => "PROCEDURE",
            Self::Package => "PACKAGE",
            Self::PackageBody => "PACKAGE BODY",
        }
    }
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Function, Self::Procedure, Self::Package, Self::PackageBody]
            .into_iter()
            .find(|k| k.name() == name)
    }
}

/// Key of a privilege on a database; `db` may be a pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DbKey {
    pub host: String,
    pub db: String,
    pub user: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableKey {
    pub host: String,
    pub db: String,
    pub user: String,
    pub table: String,
}

/// A row of `tables_priv` with its rows of `columns_priv`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableGrant {
    pub grantor: String,
    pub access: Privileges,
    /// By column name, in the order of names.
    pub columns: BTreeMap<String, Privileges>,
}

impl TableGrant {
    /// What is granted on some column.
    pub fn on_columns(&self) -> Privileges {
        self.columns.values().copied().collect()
    }
    pub fn is_empty(&self) -> bool {
        self.access.is_empty() && self.on_columns().is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoutineKey {
    pub host: String,
    pub db: String,
    pub user: String,
    /// In lower case: names of routines compare without case.
    pub name: String,
    pub kind: RoutineKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoutineGrant {
    pub grantor: String,
    pub access: Privileges,
}

/// `role` is granted to `user`@`host`, or to the role `user` when the host is empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoleKey {
    pub host: String,
    pub user: String,
    pub role: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProxyKey {
    pub host: String,
    pub user: String,
    pub proxied_host: String,
    pub proxied_user: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProxyGrant {
    pub with_grant: bool,
    pub grantor: String,
}

/// All rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tables {
    pub accounts: BTreeMap<AccountKey, Account>,
    pub databases: BTreeMap<DbKey, Privileges>,
    pub tables: BTreeMap<TableKey, TableGrant>,
    pub routines: BTreeMap<RoutineKey, RoutineGrant>,
    /// True: with admin option.
    pub roles: BTreeMap<RoleKey, bool>,
    pub proxies: BTreeMap<ProxyKey, ProxyGrant>,
}

/// What became of one key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Edit<'a, K, V> {
    Put(&'a K, &'a V),
    Remove(&'a K),
}

/// The edits that make `new` of `old`.
pub fn difference<'a, K: Ord, V: PartialEq>(
    old: &'a BTreeMap<K, V>,
    new: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = Edit<'a, K, V>> {
    let gone = old.keys().filter(|k| !new.contains_key(k)).map(Edit::Remove);
    let put = new.iter().filter(|(k, v)| old.get(k) != Some(v)).map(|(k, v)| Edit::Put(k, v));
    gone.chain(put)
}

impl Tables {
    /// What a new server has: `root` from this machine, without a password, with all privileges; and the owner of the server's
    /// own views, who cannot log in.
    pub fn of_new_server() -> Self {
        let mut tables = Self::default();
        for host in ["localhost", "127.0.0.1", "::1"] {
            let root = Account { access: Privileges::ALL_GLOBAL, ..Account::user("root", host) };
            tables.put(root);
            let key = ProxyKey {
                host: host.to_owned(),
                user: "root".to_owned(),
                proxied_host: String::new(),
                proxied_user: String::new(),
            };
            tables.proxies.insert(key, ProxyGrant { with_grant: true, grantor: String::new() });
        }
        let system =
            Account { locked: true, password_changed: Some(0), ..Account::user("mariadb.sys", "localhost") };
        tables.put(system);
        tables
    }

    pub fn put(&mut self, account: Account) {
        self.accounts.insert((account.host.clone(), account.user.clone()), account);
    }
    pub fn account(&self, user: &str, host: &str) -> Option<&Account> {
        self.accounts.get(&(host.to_owned(), user.to_owned()))
    }
    pub fn account_mut(&mut self, user: &str, host: &str) -> Option<&mut Account> {
        self.accounts.get_mut(&(host.to_owned(), user.to_owned()))
    }
    pub fn role(&self, name: &str) -> Option<&Account> {
        self.account(name, "").filter(|a| a.is_role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_makes_one_state_of_the_other() {
        let old = BTreeMap::from([(1, "a"), (2, "b"), (3, "c")]);
        let new = BTreeMap::from([(2, "b"), (3, "x"), (4, "d")]);
        let edits: Vec<_> = difference(&old, &new).collect();
        assert_eq!(edits, [Edit::Remove(&1), Edit::Put(&3, &"x"), Edit::Put(&4, &"d")]);
    }
}
