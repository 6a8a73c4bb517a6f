//! Changes of accounts, roles and grants. Who may ask for them is checked before; here only what does not fit is refused.

use crate::account::{Account, PUBLIC};
use crate::privilege::Privileges;
use crate::tables::{DbKey, ProxyGrant, ProxyKey, RoleKey, RoutineGrant, RoutineKey, TableKey, Tables};

/// Why a change is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    NoSuchAccount,
    NoSuchGrant,
    NoSuchTableGrant,
    NoSuchRoutineGrant,
    /// The role would inherit itself.
    RoleCycle,
    RoleNotGranted,
}

type Outcome = Result<(), Refused>;

/// A user, or a role when the host is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grantee<'a> {
    pub user: &'a str,
    pub host: &'a str,
}

impl Grantee<'_> {
    fn db(self, db: &str) -> DbKey {
        DbKey { host: self.host.to_owned(), db: db.to_owned(), user: self.user.to_owned() }
    }
}

impl Tables {
    /// Takes an account or role away with all that it was granted and, of a role, all that it was granted to.
    pub fn drop_account(&mut self, who: Grantee<'_>, is_role: bool) -> bool {
        let key = (who.host.to_owned(), who.user.to_owned());
        if self.accounts.get(&key).is_none_or(|a| a.is_role != is_role) {
            return false;
        }
        self.accounts.remove(&key);
        self.drop_grants(who);
        self.roles.retain(|k, _| !(k.user == who.user && k.host == who.host));
        if is_role {
            self.roles.retain(|k, _| k.role != who.user);
        } else {
            self.proxies.retain(|k, _| {
                let user = k.user == who.user && k.host == who.host;
                let proxied = k.proxied_user == who.user && k.proxied_host == who.host;
                !user && !proxied
            });
        }
        true
    }

    fn drop_grants(&mut self, who: Grantee<'_>) {
        self.databases.retain(|k, _| !(k.user == who.user && k.host == who.host));
        self.tables.retain(|k, _| !(k.user == who.user && k.host == who.host));
        self.routines.retain(|k, _| !(k.user == who.user && k.host == who.host));
    }

    /// Gives an account another name; its grants follow. False: there is none, or the new name is taken.
    pub fn rename_account(&mut self, from: Grantee<'_>, to: Grantee<'_>) -> bool {
        let (old, new) =
            ((from.host.to_owned(), from.user.to_owned()), (to.host.to_owned(), to.user.to_owned()));
        if self.accounts.contains_key(&new) || self.accounts.get(&old).is_none_or(|a| a.is_role) {
            return false;
        }
        if let Some(mut account) = self.accounts.remove(&old) {
            account.user.clone_from(&new.1);
            account.host.clone_from(&new.0);
            self.accounts.insert(new, account);
        }
        macro_rules! rename {
            ($map:ident, $user:ident, $host:ident) => {
                self.$map = std::mem::take(&mut self.$map)
                    .into_iter()
                    .map(|(mut k, v)| {
                        if k.$user == from.user && k.$host == from.host {
                            k.$user = to.user.to_owned();
                            k.$host = to.host.to_owned();
                        }
                        (k, v)
                    })
                    .collect();
            };
        }
        rename!(databases, user, host);
        rename!(tables, user, host);
        rename!(routines, user, host);
        rename!(roles, user, host);
        rename!(proxies, user, host);
        rename!(proxies, proxied_user, proxied_host);
        true
    }

    /// PUBLIC is there when it is first granted something.
    pub fn ensure_public(&mut self) {
        if self.role(PUBLIC).is_none() {
            self.put(Account::role(PUBLIC));
        }
    }

    fn holder(&mut self, who: Grantee<'_>) -> Result<&mut Account, Refused> {
        self.account_mut(who.user, who.host).ok_or(Refused::NoSuchAccount)
    }

    pub fn grant_global(&mut self, who: Grantee<'_>, access: Privileges) -> Outcome {
        self.holder(who)?.access |= access;
        Ok(())
    }
    pub fn revoke_global(&mut self, who: Grantee<'_>, access: Privileges) -> Outcome {
        let account = self.account_mut(who.user, who.host).ok_or(Refused::NoSuchGrant)?;
        account.access = account.access.without(access);
        Ok(())
    }

    pub fn grant_database(&mut self, who: Grantee<'_>, db: &str, access: Privileges) -> Outcome {
        self.holder(who)?;
        if !access.is_empty() {
            *self.databases.entry(who.db(db)).or_default() |= access;
        }
        Ok(())
    }
    pub fn revoke_database(&mut self, who: Grantee<'_>, db: &str, access: Privileges) -> Outcome {
        let key = who.db(db);
        let held = self.databases.get_mut(&key).ok_or(Refused::NoSuchGrant)?;
        *held = held.without(access);
        if held.is_empty() {
            self.databases.remove(&key);
        }
        Ok(())
    }

    /// Grants `whole` on the table and each of `columns` on its column.
    pub fn grant_table(
        &mut self,
        who: Grantee<'_>,
        (db, table): (&str, &str),
        whole: Privileges,
        columns: &[(String, Privileges)],
        grantor: &str,
    ) -> Outcome {
        self.holder(who)?;
        if whole.is_empty() && columns.is_empty() {
            return Ok(());
        }
        let grant = self.tables.entry(table_key(who, db, table)).or_default();
        grant.grantor = grantor.to_owned();
        grant.access |= whole;
        for (column, access) in columns {
            *grant.columns.entry(column.clone()).or_default() |= *access;
        }
        Ok(())
    }
    /// What is revoked of the table is revoked of its columns, too.
    pub fn revoke_table(
        &mut self,
        who: Grantee<'_>,
        (db, table): (&str, &str),
        whole: Privileges,
        columns: &[(String, Privileges)],
    ) -> Outcome {
        let key = table_key(who, db, table);
        let grant = self.tables.get_mut(&key).ok_or(Refused::NoSuchTableGrant)?;
        grant.access = grant.access.without(whole);
        grant.columns.values_mut().for_each(|p| *p = p.without(whole));
        for (column, access) in columns {
            let Some(held) = grant.columns.get_mut(column) else { return Err(Refused::NoSuchTableGrant) };
            *held = held.without(*access);
        }
        grant.columns.retain(|_, p| !p.is_empty());
        if grant.is_empty() {
            self.tables.remove(&key);
        }
        Ok(())
    }

    pub fn grant_routine(&mut self, key: RoutineKey, access: Privileges, grantor: &str) -> Outcome {
        self.holder(Grantee { user: &key.user, host: &key.host })?;
        if !access.is_empty() {
            let grant = self.routines.entry(key).or_default();
            *grant = RoutineGrant { grantor: grantor.to_owned(), access: grant.access | access };
        }
        Ok(())
    }
    pub fn revoke_routine(&mut self, key: &RoutineKey, access: Privileges) -> Outcome {
        let grant = self.routines.get_mut(key).ok_or(Refused::NoSuchRoutineGrant)?;
        grant.access = grant.access.without(access);
        if grant.access.is_empty() {
            self.routines.remove(key);
        }
        Ok(())
    }

    pub fn grant_role(&mut self, role: &str, who: Grantee<'_>, admin: bool) -> Outcome {
        let account = self.account(who.user, who.host).ok_or(Refused::NoSuchAccount)?;
        if account.is_role && self.inherits(role, who.user) {
            return Err(Refused::RoleCycle);
        }
        *self.roles.entry(role_key(role, who)).or_default() |= admin;
        Ok(())
    }
    pub fn revoke_role(&mut self, role: &str, who: Grantee<'_>, admin_only: bool) -> Outcome {
        let key = role_key(role, who);
        let held = self.roles.get_mut(&key).ok_or(Refused::RoleNotGranted)?;
        if admin_only {
            *held = false;
        } else {
            self.roles.remove(&key);
        }
        Ok(())
    }

    /// Whether `role` is `other`, or has been granted it in any way.
    fn inherits(&self, role: &str, other: &str) -> bool {
        let mut found = vec![role];
        let mut next = 0;
        while let Some(at) = found.get(next).copied() {
            if at == other {
                return true;
            }
            for key in self.roles.keys().filter(|k| k.host.is_empty() && k.user == at) {
                if !found.contains(&key.role.as_str()) {
                    found.push(&key.role);
                }
            }
            next += 1;
        }
        false
    }

    /// REVOKE ALL PRIVILEGES, GRANT OPTION: also the roles.
    pub fn revoke_all(&mut self, who: Grantee<'_>) -> Outcome {
        self.holder(who)?.access = Privileges::NONE;
        self.drop_grants(who);
        self.roles.retain(|k, _| !(k.user == who.user && k.host == who.host));
        Ok(())
    }

    pub fn grant_proxy(&mut self, on: Grantee<'_>, to: Grantee<'_>, grant: ProxyGrant) -> Outcome {
        self.holder(to)?;
        let held = self.proxies.entry(proxy_key(on, to)).or_default();
        *held = ProxyGrant { with_grant: grant.with_grant || held.with_grant, ..grant };
        Ok(())
    }
    pub fn revoke_proxy(&mut self, on: Grantee<'_>, from: Grantee<'_>) -> Outcome {
        self.proxies.remove(&proxy_key(on, from)).map(|_| ()).ok_or(Refused::NoSuchGrant)
    }

    /// What was granted on a routine goes with it.
    pub fn drop_routine(&mut self, db: &str, name: &str, kind: crate::tables::RoutineKind) {
        let name = name.to_lowercase();
        self.routines.retain(|k, _| !(k.db == db && k.name == name && k.kind == kind));
    }
}

fn table_key(who: Grantee<'_>, db: &str, table: &str) -> TableKey {
    TableKey {
        host: who.host.to_owned(),
        db: db.to_owned(),
        user: who.user.to_owned(),
        table: table.to_owned(),
    }
}

fn role_key(role: &str, who: Grantee<'_>) -> RoleKey {
    RoleKey { host: who.host.to_owned(), user: who.user.to_owned(), role: role.to_owned() }
}

/// `%` and no host are one here, as MariaDB stores it.
fn proxy_key(on: Grantee<'_>, to: Grantee<'_>) -> ProxyKey {
    ProxyKey {
        host: to.host.to_owned(),
        user: to.user.to_owned(),
        proxied_host: if on.user.is_empty() && on.host == "%" { String::new() } else { on.host.to_owned() },
        proxied_user: on.user.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const U: Grantee<'static> = Grantee { user: "u", host: "%" };

    fn tables() -> Tables {
        let mut t = Tables::default();
        t.put(Account::user("u", "%"));
        t.put(Account::role("a"));
        t.put(Account::role("b"));
        t
    }

    #[test]
    fn what_is_revoked_leaves_no_row() {
        let mut t = tables();
        let before = t.clone();
        t.grant_database(U, "d", Privileges::SELECT).unwrap();
        t.grant_table(U, ("d", "t"), Privileges::UPDATE, &[("c".into(), Privileges::SELECT)], "g").unwrap();
        t.revoke_database(U, "d", Privileges::SELECT).unwrap();
        t.revoke_table(U, ("d", "t"), Privileges::UPDATE | Privileges::SELECT, &[]).unwrap();
        assert_eq!(t, before);
        assert_eq!(t.revoke_database(U, "d", Privileges::SELECT), Err(Refused::NoSuchGrant));
        let nobody = Grantee { user: "x", host: "%" };
        assert_eq!(t.grant_global(nobody, Privileges::SELECT), Err(Refused::NoSuchAccount));
    }

    #[test]
    fn roles_do_not_inherit_themselves() {
        let mut t = tables();
        let (a, b) = (Grantee { user: "a", host: "" }, Grantee { user: "b", host: "" });
        t.grant_role("a", b, false).unwrap();
        assert_eq!(t.grant_role("b", a, false), Err(Refused::RoleCycle));
        assert_eq!(t.grant_role("a", a, false), Err(Refused::RoleCycle));
        assert_eq!(t.revoke_role("b", a, false), Err(Refused::RoleNotGranted));
    }

    #[test]
    fn grants_follow_a_name_and_go_with_it() {
        let mut t = tables();
        t.grant_database(U, "d", Privileges::SELECT).unwrap();
        t.grant_role("a", U, false).unwrap();
        let v = Grantee { user: "v", host: "h" };
        assert!(t.rename_account(U, v) && !t.rename_account(U, v));
        assert!(t.databases.keys().all(|k| k.user == "v") && t.roles.keys().all(|k| k.user == "v"));
        assert!(!t.drop_account(v, true) && t.drop_account(v, false));
        assert!(t.databases.is_empty() && t.roles.is_empty());
        t.grant_role("a", Grantee { user: "b", host: "" }, false).unwrap();
        assert!(t.drop_account(Grantee { user: "a", host: "" }, true));
        assert!(t.roles.is_empty());
    }
}
