//! Privileges as a set of bits: MariaDB's numbers, which `mysql.global_priv` stores, and their names.

use std::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Privileges(pub u64);

macro_rules! privileges {
    ($($name:ident = $bit:literal $text:literal;)*) => {
        impl Privileges {
            $(pub const $name: Self = Self(1 << $bit);)*
            /// Names by bit, as SHOW GRANTS writes them.
            pub const NAMES: [&'static str; 40] = [$($text),*];
        }
    };
}

privileges! {
    SELECT = 0 "SELECT";
    INSERT = 1 "INSERT";
    UPDATE = 2 "UPDATE";
    DELETE = 3 "DELETE";
    CREATE = 4 "CREATE";
    DROP = 5 "DROP";
    RELOAD = 6 "RELOAD";
    SHUTDOWN = 7 "SHUTDOWN";
    PROCESS = 8 "PROCESS";
    FILE = 9 "FILE";
    GRANT = 10 "GRANT OPTION";
    REFERENCES = 11 "REFERENCES";
    INDEX = 12 "INDEX";
    ALTER = 13 "ALTER";
    SHOW_DATABASES = 14 "SHOW DATABASES";
    SUPER = 15 "SUPER";
    CREATE_TEMPORARY = 16 "CREATE TEMPORARY TABLES";
    LOCK_TABLES = 17 "LOCK TABLES";
    EXECUTE = 18 "EXECUTE";
    REPLICATION_SLAVE = 19 "REPLICATION SLAVE";
    BINLOG_MONITOR = 20 "BINLOG MONITOR";
    CREATE_VIEW = 21 "CREATE VIEW";
    SHOW_VIEW = 22 "SHOW VIEW";
    CREATE_ROUTINE = 23 "CREATE ROUTINE";
    ALTER_ROUTINE = 24 "ALTER ROUTINE";
    CREATE_USER = 25 "CREATE USER";
    EVENT = 26 "EVENT";
    TRIGGER = 27 "TRIGGER";
    CREATE_TABLESPACE = 28 "CREATE TABLESPACE";
    DELETE_HISTORY = 29 "DELETE HISTORY";
    SET_USER = 30 "SET USER";
    FEDERATED_ADMIN = 31 "FEDERATED ADMIN";
    CONNECTION_ADMIN = 32 "CONNECTION ADMIN";
    READ_ONLY_ADMIN = 33 "READ_ONLY ADMIN";
    REPLICATION_SLAVE_ADMIN = 34 "REPLICATION SLAVE ADMIN";
    REPLICATION_MASTER_ADMIN = 35 "REPLICATION MASTER ADMIN";
    BINLOG_ADMIN = 36 "BINLOG ADMIN";
    BINLOG_REPLAY = 37 "BINLOG REPLAY";
    SLAVE_MONITOR = 38 "SLAVE MONITOR";
    SHOW_CREATE_ROUTINE = 39 "SHOW CREATE ROUTINE";
}

const fn all_of(list: &[Privileges]) -> Privileges {
    let mut bits = 0;
    let mut i = 0;
    while i < list.len() {
        bits |= list[i].0;
        i += 1;
    }
    Privileges(bits)
}

impl Privileges {
    pub const NONE: Self = Self(0);
    pub const ALL_GLOBAL: Self = Self((1 << 40) - 1);
    pub const COLUMN: Self = all_of(&[Self::SELECT, Self::INSERT, Self::UPDATE, Self::REFERENCES]);
    pub const TABLE: Self = all_of(&[
        Self::COLUMN,
        Self::DELETE,
        Self::CREATE,
        Self::DROP,
        Self::GRANT,
        Self::INDEX,
        Self::ALTER,
        Self::CREATE_VIEW,
        Self::SHOW_VIEW,
        Self::TRIGGER,
        Self::DELETE_HISTORY,
    ]);
    pub const ROUTINE: Self =
        all_of(&[Self::EXECUTE, Self::ALTER_ROUTINE, Self::GRANT, Self::SHOW_CREATE_ROUTINE]);
    pub const DATABASE: Self = all_of(&[
        Self::TABLE,
        Self::ROUTINE,
        Self::CREATE_TEMPORARY,
        Self::LOCK_TABLES,
        Self::CREATE_ROUTINE,
        Self::EVENT,
    ]);

    /// Every privilege of `of` is here.
    pub const fn has(self, of: Self) -> bool {
        self.0 & of.0 == of.0
    }
    /// Some privilege of `of` is here.
    pub const fn has_any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// Each privilege of the set, by bit.
    pub fn each(self) -> impl Iterator<Item = Self> {
        (0..40).map(|bit| Self(1 << bit)).filter(move |p| self.has(*p))
    }
    /// The name of the first privilege of the set.
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self.0.trailing_zeros() as usize).copied().unwrap_or("USAGE")
    }
    /// `SELECT, INSERT`
    pub fn names(self) -> String {
        self.each().map(Self::name).collect::<Vec<_>>().join(", ")
    }
    /// What was stored as `access` by `version_id`: the numbers of servers older than 10.5 know less, and "everything" of an
    /// old server is everything now.
    pub fn from_stored(access: u64) -> Self {
        Self(access & Self::ALL_GLOBAL.0)
    }
}

impl BitOr for Privileges {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
impl BitOrAssign for Privileges {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
impl BitAnd for Privileges {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}
impl FromIterator<Self> for Privileges {
    fn from_iter<I: IntoIterator<Item = Self>>(list: I) -> Self {
        list.into_iter().fold(Self::NONE, |all, p| all | p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_that_a_server_stored() {
        // GRANT SELECT, INSERT, BINLOG MONITOR, READ_ONLY ADMIN, REPLICATION SLAVE ADMIN, SHOW CREATE ROUTINE.
        let stored = Privileges::from_stored(575_526_666_243);
        assert_eq!(
            stored.names(),
            "SELECT, INSERT, BINLOG MONITOR, READ_ONLY ADMIN, REPLICATION SLAVE ADMIN, SHOW CREATE ROUTINE"
        );
        assert_eq!(Privileges::from_stored(u64::MAX), Privileges::ALL_GLOBAL);
        assert_eq!(Privileges::ALL_GLOBAL.0, 1_099_511_627_775);
    }
}
