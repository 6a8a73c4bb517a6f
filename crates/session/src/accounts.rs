//! Who may log in.
//!
//! For now a table in memory with MariaDB's shape (user, host pattern, plugin data) and one entry per local form of `root`
//! without a password; CREATE USER and GRANT are not there yet. Every account here has all privileges.

use wire::auth::{Scramble, StoredHash};

/// One account.
#[derive(Debug, Clone)]
pub struct Account {
    pub user: String,
    /// An exact host name or address; `%` is every host.
    pub host: String,
    /// None: the empty password.
    pub password: Option<StoredHash>,
}

/// All accounts, most specific host first.
#[derive(Debug)]
pub struct Accounts(Vec<Account>);

impl Accounts {
    /// `root` from this machine.
    pub fn local_root() -> Self {
        let root = |host: &str| Account { user: "root".into(), host: host.into(), password: None };
        Self(vec![root("localhost"), root("127.0.0.1"), root("::1")])
    }

    pub fn new(accounts: Vec<Account>) -> Self {
        Self(accounts)
    }

    /// Whether anybody may come from `host`.
    pub fn host_is_known(&self, host: &str, address: &str) -> bool {
        self.0.iter().any(|a| a.matches_host(host, address))
    }

    pub fn find(&self, user: &str, host: &str, address: &str) -> Option<&Account> {
        self.0.iter().find(|a| a.user == user && a.matches_host(host, address))
    }
    pub fn all(&self) -> &[Account] {
        &self.0
    }
}

impl Account {
    fn matches_host(&self, host: &str, address: &str) -> bool {
        self.host == "%" || self.host == host || self.host == address
    }
    pub fn accepts(&self, scramble: &Scramble, response: &[u8]) -> bool {
        match &self.password {
            None => response.is_empty(),
            Some(stored) => stored.accepts(scramble, response),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_comes_from_here_only() {
        let accounts = Accounts::local_root();
        assert!(accounts.find("root", "localhost", "127.0.0.1").is_some());
        assert!(accounts.find("root", "example", "10.0.0.1").is_none());
        assert!(!accounts.host_is_known("example", "10.0.0.1"));
        assert!(accounts.find("other", "localhost", "").is_none());
        let root = accounts.find("root", "localhost", "").unwrap();
        assert!(root.accepts(&[1; 20], b""));
        assert!(!root.accepts(&[1; 20], b"xxxxxxxxxxxxxxxxxxxx"));
    }
}
