//! Counts of log-ins: wrong passwords in a row (max_password_errors).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Wrong passwords in a row by (user, host) of the account.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<HashMap<(String, String), u64>>);

impl Failures {
    fn counts(&self) -> MutexGuard<'_, HashMap<(String, String), u64>> {
        // Every change is one map operation.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn key(user: &str, host: &str) -> (String, String) {
        (user.to_owned(), host.to_owned())
    }
    pub(crate) fn of(&self, user: &str, host: &str) -> u64 {
        let counts = self.counts();
        if counts.is_empty() { 0 } else { counts.get(&Self::key(user, host)).copied().unwrap_or(0) }
    }
    pub(crate) fn count(&self, user: &str, host: &str) {
        *self.counts().entry(Self::key(user, host)).or_default() += 1;
    }
    /// The right password.
    pub(crate) fn forget(&self, user: &str, host: &str) {
        let mut counts = self.counts();
        if !counts.is_empty() {
            counts.remove(&Self::key(user, host));
        }
    }
    /// FLUSH PRIVILEGES.
    pub(crate) fn clear(&self) {
        self.counts().clear();
    }
}
