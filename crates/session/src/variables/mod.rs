//! System variables: the registry, values, and where they are kept.
//!
//! | module | what |
//! | --- | --- |
//! | `table` | every variable with type, range, default and effect |
//! | `setting` | one value, its text, and conversions from SQL values and option texts |
//! | `store` | global values (copied on write) and a session's differences to them |
//!
//! # Invariants
//! V2. A value in a store always fits its variable's kind: conversions happen before.
//! V3. A variable without effect says so: `Effect::Inert` rows are the list in docs/compatibility.md, kept equal by a test.

mod setting;
mod store;
mod table;

pub use setting::{Given, Refusal, Setting};
pub use store::{GlobalVariables, SessionVariables};
pub use table::VARIABLES;

/// A variable by its position in [`VARIABLES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub(crate) u16);

/// Where a variable has values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Global,
    Session,
    Both,
}

/// Whether SET may change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Dynamic,
    Fixed,
}

/// Whether it is an option of the server program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arg {
    No,
    Required,
    /// `--name` alone means ON.
    Optional,
}

/// What it does here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Works as MariaDB's.
    Wired,
    /// States a fact about this server.
    Fact,
    /// Is accepted and shown, and changes nothing.
    Inert,
}

/// Type and range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Bool,
    UInt {
        min: u64,
        max: u64,
        block: u64,
    },
    Int {
        min: i64,
        max: i64,
        block: u64,
    },
    Double {
        min: f64,
        max: f64,
    },
    Enum(&'static [&'static str]),
    Set(&'static [&'static str]),
    /// `name=on,name=off`.
    Flags(&'static [&'static str]),
    Text,
    Charset,
    Collation,
    TimeZone,
}

/// One row of the registry.
#[derive(Debug)]
pub struct Variable {
    pub name: &'static str,
    pub scope: Scope,
    pub kind: Kind,
    pub default: &'static str,
    pub change: Change,
    pub arg: Arg,
    pub effect: Effect,
}

/// Two names of one value: (other name, the name that keeps it).
const ALIASES: &[(Var, Var)] = &[
    (Var::TX_ISOLATION, Var::TRANSACTION_ISOLATION),
    (Var::TX_READ_ONLY, Var::TRANSACTION_READ_ONLY),
    (Var::IDENTITY, Var::LAST_INSERT_ID),
    (Var::STORAGE_ENGINE, Var::DEFAULT_STORAGE_ENGINE),
    (Var::BINLOG_SPACE_LIMIT, Var::MAX_BINLOG_TOTAL_SIZE),
    (Var::SLOW_QUERY_LOG, Var::LOG_SLOW_QUERY),
    (Var::SLOW_QUERY_LOG_FILE, Var::LOG_SLOW_QUERY_FILE),
    (Var::LONG_QUERY_TIME, Var::LOG_SLOW_QUERY_TIME),
    (Var::MIN_EXAMINED_ROW_LIMIT, Var::LOG_SLOW_MIN_EXAMINED_ROW_LIMIT),
];

impl Var {
    /// By name, any letter case.
    pub fn by_name(name: &[u8]) -> Option<Var> {
        let mut lower = [0u8; 64];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        let at = VARIABLES.binary_search_by(|v| v.name.as_bytes().cmp(lower)).ok()?;
        Some(Var(at as u16))
    }
    pub fn all() -> impl Iterator<Item = Var> {
        (0..VARIABLES.len() as u16).map(Var)
    }
    pub fn def(self) -> &'static Variable {
        &VARIABLES[usize::from(self.0)]
    }
    pub fn name(self) -> &'static str {
        self.def().name
    }
    /// The variable that keeps the value.
    pub fn keeper(self) -> Var {
        ALIASES.iter().find(|(other, _)| *other == self).map_or(self, |(_, keeper)| *keeper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_found_by_name() {
        assert!(VARIABLES.is_sorted_by(|a, b| a.name < b.name));
        for v in Var::all() {
            assert_eq!(Var::by_name(v.name().to_uppercase().as_bytes()), Some(v));
        }
        assert_eq!(Var::by_name(b"nosuch"), None);
        assert_eq!(Var::by_name(&[b'x'; 200]), None);
    }

    #[test]
    fn every_default_fits_its_kind() {
        let wrong: Vec<_> = VARIABLES
            .iter()
            .filter(|v| Setting::parse_default(v).is_none())
            .map(|v| format!("{}: {:?} {:?}", v.name, v.kind, v.default))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn the_documentation_lists_what_has_no_effect() {
        let text = include_str!("../../../../docs/compatibility.md");
        let (_, list) = text.split_once("## Variables without effect").expect("the section is there");
        let listed: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
        let inert: Vec<&str> =
            VARIABLES.iter().filter(|v| v.effect == Effect::Inert).map(|v| v.name).collect();
        assert_eq!(listed, inert);
    }
}
