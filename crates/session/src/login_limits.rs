//! Counts by account: wrong passwords in a row (max_password_errors), living connections (max_user_connections), and what the limits
//! an hour of an account are about.
//!
//! # Locking
//! A mutex for each map, for one operation; nothing else is locked meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accounts::Limits;
use client_error::{ClientError, account as error};

/// The length of an hour, in microseconds.
const HOUR_US: u64 = 3_600_000_000;

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

/// What the connections of one account have done.
#[derive(Debug, Default)]
pub(crate) struct Usage(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Living connections.
    living: u64,
    /// When the hour began, on the server's clock.
    hour_us: u64,
    connections: u64,
    queries: u64,
    updates: u64,
}

/// Usage by (user, host) of the account. An entry stays as long as the server.
#[derive(Debug, Default)]
pub(crate) struct UsageMap(Mutex<HashMap<(String, String), Arc<Usage>>>);

impl UsageMap {
    fn of(&self, user: &str, host: &str) -> Arc<Usage> {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.entry((user.to_owned(), host.to_owned())).or_default())
    }
    /// FLUSH USER_RESOURCES.
    pub(crate) fn forget_hours(&self) {
        for usage in self.0.lock().unwrap_or_else(PoisonError::into_inner).values() {
            usage.counts().hour_us = 0;
        }
    }

    /// Counts a connection in, unless a limit of the account is reached. `server_max` is max_user_connections; 0 = none,
    /// also for those who may pass it.
    pub(crate) fn enter(
        &self,
        (user, host): (&str, &str),
        limits: &Limits,
        server_max: i64,
        now_us: u64,
    ) -> Result<Place, ClientError> {
        let usage = self.of(user, host);
        {
            let mut counts = usage.counts_now(now_us);
            let living = i64::try_from(counts.living).unwrap_or(i64::MAX);
            let own_max = limits.user_connections;
            if own_max != 0 && living >= own_max.max(0) {
                return Err(error::resource_exceeded(user, "max_user_connections", own_max));
            }
            if own_max == 0 && server_max != 0 && living >= server_max.max(0) {
                return Err(error::too_many_user_connections(user));
            }
            if limits.connections != 0 && counts.connections >= limits.connections {
                let value = limits.connections as i64;
                return Err(error::resource_exceeded(user, "max_connections_per_hour", value));
            }
            counts.living += 1;
            counts.connections += 1;
        }
        let limits = limits.clone();
        let limited = limits.queries != 0 || limits.updates != 0;
        Ok(Place { usage, limits, limited, user: user.to_owned() })
    }
}

impl Usage {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn counts_now(&self, now_us: u64) -> MutexGuard<'_, Counts> {
        let mut counts = self.counts();
        if counts.hour_us == 0 || now_us.saturating_sub(counts.hour_us) >= HOUR_US {
            *counts = Counts { living: counts.living, hour_us: now_us.max(1), ..Counts::default() };
        }
        counts
    }
}

/// One connection's place among those of its account; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    usage: Arc<Usage>,
    limits: Limits,
    /// Statements are counted at all.
    limited: bool,
    user: String,
}

impl Place {
    /// A statement begins.
    pub(crate) fn count_query(&self, now_us: u64) -> Result<(), ClientError> {
        if !self.limited {
            return Ok(());
        }
        let mut counts = self.usage.counts_now(now_us);
        if self.limits.queries != 0 && counts.queries >= self.limits.queries {
            let value = self.limits.queries as i64;
            return Err(error::resource_exceeded(&self.user, "max_queries_per_hour", value));
        }
        counts.queries += 1;
        Ok(())
    }
    /// A statement that changes something begins.
    pub(crate) fn count_update(&self, now_us: u64) -> Result<(), ClientError> {
        if !self.limited || self.limits.updates == 0 {
            return Ok(());
        }
        let mut counts = self.usage.counts_now(now_us);
        if counts.updates >= self.limits.updates {
            let value = self.limits.updates as i64;
            return Err(error::resource_exceeded(&self.user, "max_updates_per_hour", value));
        }
        counts.updates += 1;
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.usage.counts().living -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_and_given_back() {
        let map = UsageMap::default();
        let limits = Limits { user_connections: 1, queries: 2, ..Limits::default() };
        let enter = |limits: &Limits, max| map.enter(("u", "%"), limits, max, 5).map_err(|e| e.errno);
        let place = enter(&limits, 0).unwrap();
        assert_eq!(enter(&limits, 0).err(), Some(1226));
        assert_eq!(enter(&Limits::default(), 1).err(), Some(1203));
        assert!(place.count_query(6).is_ok() && place.count_query(7).is_ok());
        assert_eq!(place.count_query(8).map_err(|e| e.errno), Err(1226));
        assert!(place.count_query(8 + HOUR_US).is_ok(), "a new hour");
        drop(place);
        assert!(enter(&limits, 0).is_ok());
        let hourly = Limits { connections: 1, ..Limits::default() };
        assert_eq!(enter(&hourly, 0).err(), Some(1226));
        map.forget_hours();
        assert!(enter(&hourly, 0).is_ok());
    }
}
