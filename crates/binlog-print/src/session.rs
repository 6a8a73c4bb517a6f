//! The session that runs the text, as the statements printed so far leave it: a variable is set again only when it changes.

use std::io::Write as _;

use base::Corruption;
use event_format::{StatusVariable, StatusVariables, header_flags, query_flags};

use crate::names;

/// What has been set; `None` = nothing yet.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) database: Vec<u8>,
    pub(crate) thread_id: Option<u32>,
    flags2: Option<u32>,
    sql_mode: Option<u64>,
    auto_increment: Option<(u16, u16)>,
    charset: Option<(u16, u16, u16)>,
    charset_collations: Vec<u8>,
    time_zone: Vec<u8>,
    lc_time_names: Option<u16>,
    database_collation: Option<u16>,
    pub(crate) skip_replication: bool,
    pub(crate) allow_parallel: Option<bool>,
    pub(crate) domain_id: Option<u32>,
    pub(crate) server_id: Option<u32>,
}

/// What a statement wants of its session.
#[derive(Debug, Default, Clone)]
pub(crate) struct Wanted<'a> {
    flags2: Option<u32>,
    sql_mode: Option<u64>,
    auto_increment: Option<(u16, u16)>,
    charset: Option<(u16, u16, u16)>,
    charset_collations: &'a [u8],
    time_zone: &'a [u8],
    lc_time_names: Option<u16>,
    database_collation: Option<u16>,
    pub(crate) microseconds: u32,
    pub(crate) ddl_xid: u64,
    /// Of [`event_format::gtid_flags_extra`].
    pub(crate) alter_flags: u8,
}

impl<'a> Wanted<'a> {
    pub(crate) fn of(status: &'a [u8]) -> Result<Self, Corruption> {
        // A statement that does not say has increment 1.
        let mut wanted = Self { auto_increment: Some((1, 1)), ..Self::default() };
        for variable in StatusVariables::new(status) {
            match variable? {
                StatusVariable::Flags2(v) => wanted.flags2 = Some(v),
                StatusVariable::SqlMode(v) => wanted.sql_mode = Some(v),
                StatusVariable::AutoIncrement { increment, offset } => {
                    wanted.auto_increment = Some((increment, offset));
                }
                StatusVariable::Charset { client, connection, server } => {
                    wanted.charset = Some((client, connection, server));
                }
                StatusVariable::CharsetCollations(pairs) => wanted.charset_collations = pairs,
                StatusVariable::TimeZone(name) => wanted.time_zone = name,
                StatusVariable::LcTimeNames(v) => wanted.lc_time_names = Some(v),
                StatusVariable::DatabaseCollation(v) => wanted.database_collation = Some(v),
                StatusVariable::Microseconds(v) => wanted.microseconds = v,
                StatusVariable::DdlXid(v) => wanted.ddl_xid = v,
                StatusVariable::AlterFlags { flags, .. } => wanted.alter_flags = flags,
                _ => {}
            }
        }
        Ok(wanted)
    }
}

/// End of a SET statement.
const END: &[u8] = b"/*!*/;\n";

/// Switches of [`query_flags`] in the order in which they are shown: the variable, its bit, whether the set bit means 0.
const SWITCHES: [(&str, u32, bool); 8] = [
    ("foreign_key_checks", query_flags::NO_FOREIGN_KEY_CHECKS, true),
    ("sql_auto_is_null", query_flags::AUTO_IS_NULL, false),
    ("unique_checks", query_flags::RELAXED_UNIQUE_CHECKS, true),
    ("autocommit", query_flags::NOT_AUTOCOMMIT, true),
    ("check_constraint_checks", query_flags::NO_CHECK_CONSTRAINT_CHECKS, true),
    ("sql_if_exists", query_flags::IF_EXISTS, false),
    ("explicit_defaults_for_timestamp", query_flags::EXPLICIT_TIMESTAMPS, false),
    ("system_versioning_insert_history", query_flags::SYSTEM_VERSIONING_INSERT_HISTORY, false),
];

impl Session {
    /// `use` and the thread's id. `flags` are the event's.
    pub(crate) fn place(&mut self, database: &[u8], thread_id: u32, flags: u16, out: &mut Vec<u8>) -> bool {
        if flags & header_flags::SUPPRESS_USE == 0 && !database.is_empty() && self.database != database {
            self.database = database.to_vec();
            out.extend_from_slice(b"use ");
            quoted_name(database, out);
            out.extend_from_slice(END);
        }
        self.thread_id.is_none()
            || flags & header_flags::THREAD_SPECIFIC != 0 && self.thread_id != Some(thread_id)
    }

    /// The variables that differ from what was set before.
    pub(crate) fn change(&mut self, wanted: &Wanted<'_>, out: &mut Vec<u8>) {
        self.switches(wanted, out);
        if wanted.sql_mode.is_some() && self.sql_mode != wanted.sql_mode {
            self.sql_mode = wanted.sql_mode;
            drop(write!(out, "SET @@session.sql_mode={}", wanted.sql_mode.unwrap_or_default()));
            out.extend_from_slice(END);
        }
        if self.auto_increment != wanted.auto_increment {
            self.auto_increment = wanted.auto_increment;
            let (increment, offset) = wanted.auto_increment.unwrap_or((1, 1));
            drop(write!(
                out,
                "SET @@session.auto_increment_increment={increment}, @@session.auto_increment_offset={offset}"
            ));
            out.extend_from_slice(END);
        }
        self.charset(wanted, out);
        if !wanted.time_zone.is_empty() && self.time_zone != wanted.time_zone {
            self.time_zone = wanted.time_zone.to_vec();
            out.extend_from_slice(b"SET @@session.time_zone='");
            out.extend_from_slice(wanted.time_zone);
            out.push(b'\'');
            out.extend_from_slice(END);
        }
        // A statement that does not say has 0, en_US; one whose database has the server's collation says nothing either.
        let lc_time_names = wanted.lc_time_names.unwrap_or(0);
        if self.lc_time_names != Some(lc_time_names) {
            self.lc_time_names = Some(lc_time_names);
            drop(write!(out, "SET @@session.lc_time_names={lc_time_names}"));
            out.extend_from_slice(END);
        }
        let collation = wanted.database_collation.unwrap_or(0);
        if self.database_collation != Some(collation) {
            self.database_collation = Some(collation);
            match collation {
                0 => out.extend_from_slice(b"SET @@session.collation_database=DEFAULT"),
                id => drop(write!(out, "SET @@session.collation_database={id}")),
            }
            out.extend_from_slice(END);
        }
    }

    fn switches(&mut self, wanted: &Wanted<'_>, out: &mut Vec<u8>) {
        let Some(flags) = wanted.flags2 else { return };
        let changed = self.flags2.map_or(u32::MAX, |before| before ^ flags);
        let mut separator = "SET ";
        for (name, bit, set_means_off) in SWITCHES.iter().filter(|(_, bit, _)| changed & bit != 0) {
            let on = (flags & bit != 0) != *set_means_off;
            drop(write!(out, "{separator}@@session.{name}={}", u8::from(on)));
            separator = ", ";
        }
        if separator == ", " {
            out.extend_from_slice(END);
        }
        self.flags2 = Some(flags);
    }

    fn charset(&mut self, wanted: &Wanted<'_>, out: &mut Vec<u8>) {
        if wanted.charset.is_some() && self.charset != wanted.charset {
            self.charset = wanted.charset;
            let (client, connection, server) = wanted.charset.unwrap_or_default();
            let name = names::charset(client.into()).map_or_else(|| client.to_string(), str::to_owned);
            if names::charset(client.into()).is_some() {
                drop(write!(out, "/*!\\C {name} */"));
                out.extend_from_slice(END);
            }
            drop(write!(
                out,
                "SET @@session.character_set_client={name},@@session.collation_connection={connection},\
                 @@session.collation_server={server}"
            ));
            out.extend_from_slice(END);
        }
        if !wanted.charset_collations.is_empty() && self.charset_collations != wanted.charset_collations {
            self.charset_collations = wanted.charset_collations.to_vec();
            let id = |bytes: &[u8]| u64::from(u16::from_le_bytes([bytes[0], bytes[1]]));
            let pairs = wanted.charset_collations.chunks_exact(4).map(|pair| {
                let charset = names::charset(id(pair)).unwrap_or("?");
                format!("{charset}={}", names::collation(id(&pair[2..])).unwrap_or("?"))
            });
            let text = pairs.collect::<Vec<_>>().join(",");
            drop(write!(out, "SET @@session.character_set_collations='{text}'"));
            out.extend_from_slice(END);
        }
    }
}

/// Appends a name in backticks.
pub(crate) fn quoted_name(name: &[u8], out: &mut Vec<u8>) {
    out.push(b'`');
    for b in name {
        if *b == b'`' {
            out.push(b'`');
        }
        out.push(*b);
    }
    out.push(b'`');
}
