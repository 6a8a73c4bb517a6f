//! What a replica asks for: COM_BINLOG_DUMP and the user variables that it set before.
//!
//! A MariaDB replica sets its variables in a fixed order before it registers; an old or foreign client sets fewer. Only a client that
//! set `@slave_connect_state` starts by GTID.

use std::time::Duration;

use base::Gtid;

use crate::gtid_list::{GtidListError, parse_position};

/// Bits of a dump's flags.
pub mod dump_flags {
    /// An EOF packet at the end of the log instead of waiting.
    pub const NON_BLOCK: u16 = 1;
    pub const SEND_ANNOTATE: u16 = 2;
}

/// What the client can take, `@mariadb_slave_capability`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Every event must be of a kind that MySQL 5.5 knows and of the length it has in the file.
    Unknown,
    /// Annotate events too.
    Annotate,
    /// Events may be left out.
    TolerateHoles,
    /// Checkpoints too.
    Checkpoint,
    Gtid,
}

impl Capability {
    fn of(value: Option<u64>) -> Self {
        match value {
            None | Some(0) => Self::Unknown,
            Some(1) => Self::Annotate,
            Some(2) => Self::TolerateHoles,
            Some(3) => Self::Checkpoint,
            Some(_) => Self::Gtid,
        }
    }
}

/// Start by GTID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GtidStart {
    pub position: Vec<Gtid>,
    pub strict: bool,
    /// START SLAVE UNTIL: the position, and whether to stop in front of it.
    pub until: Option<(Vec<Gtid>, bool)>,
}

/// One dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpRequest {
    pub server_id: u32,
    pub flags: u16,
    /// Without a GTID start: the file (empty = the first) and the position in it.
    pub file: String,
    pub position: u32,
    pub gtid: Option<GtidStart>,
    pub capability: Capability,
    /// `@master_binlog_checksum` was set: the client can take checksums; Some(true) = CRC of artificial events wanted.
    pub checksum: Option<bool>,
    pub heartbeat: Option<Duration>,
    pub semi_sync: bool,
}

/// The session's user variables, by lower-case name.
pub trait UserVariables {
    fn text(&self, name: &str) -> Option<String>;
    fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.trim().parse().ok()
    }
}

impl DumpRequest {
    /// Reads the request; a GTID text that cannot be read is an error of its own.
    pub fn new(
        position: u32,
        flags: u16,
        server_id: u32,
        file: &[u8],
        variables: &impl UserVariables,
    ) -> Result<Self, GtidListError> {
        let on = |name| variables.number(name).is_some_and(|v| v != 0);
        let gtid = match variables.text("slave_connect_state") {
            None => None,
            Some(state) => Some(GtidStart {
                position: parse_position(&state)?,
                strict: on("slave_gtid_strict_mode"),
                until: match variables.text("slave_until_gtid") {
                    None => None,
                    Some(until) => Some((parse_position(&until)?, on("slave_gtid_until_before_gtids"))),
                },
            }),
        };
        let nanos = variables.number("master_heartbeat_period").filter(|n| *n > 0);
        Ok(Self {
            server_id,
            flags,
            file: String::from_utf8_lossy(file).trim_end_matches('\0').to_owned(),
            position,
            gtid,
            capability: Capability::of(variables.number("mariadb_slave_capability")),
            checksum: variables.text("master_binlog_checksum").map(|c| !c.eq_ignore_ascii_case("NONE")),
            heartbeat: nanos.map(Duration::from_nanos),
            semi_sync: on("rpl_semi_sync_slave"),
        })
    }

    pub fn is_non_blocking(&self) -> bool {
        self.flags & dump_flags::NON_BLOCK != 0
    }

    /// Annotate events are wanted and can be taken.
    pub fn wants_annotate(&self) -> bool {
        self.flags & dump_flags::SEND_ANNOTATE != 0 || self.capability == Capability::Annotate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Set(&'static [(&'static str, &'static str)]);
    impl UserVariables for Set {
        fn text(&self, name: &str) -> Option<String> {
            self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned())
        }
    }

    #[test]
    fn a_mariadb_replica_is_understood() {
        let set = Set(&[
            ("master_heartbeat_period", "30000001024"),
            ("master_binlog_checksum", "CRC32"),
            ("mariadb_slave_capability", "4"),
            ("slave_connect_state", "5-11-1,0-11-105"),
            ("slave_gtid_strict_mode", "1"),
            ("slave_gtid_ignore_duplicates", "0"),
            ("slave_until_gtid", "0-11-200"),
            ("rpl_semi_sync_slave", "1"),
        ]);
        let request = DumpRequest::new(4, 2, 7, b"", &set).unwrap();
        let gtid = request.gtid.as_ref().unwrap();
        assert_eq!(gtid.position.len(), 2);
        assert!(gtid.strict && request.semi_sync && request.wants_annotate() && !request.is_non_blocking());
        assert_eq!(gtid.until, Some((parse_position("0-11-200").unwrap(), false)));
        assert_eq!((request.capability, request.checksum), (Capability::Gtid, Some(true)));
        assert_eq!(request.heartbeat, Some(Duration::from_nanos(30_000_001_024)));
    }

    #[test]
    fn a_client_that_says_nothing_gets_the_oldest_form() {
        let request = DumpRequest::new(4, 1, 0, b"000001.seg", &Set(&[])).unwrap();
        assert_eq!(request.gtid, None);
        assert_eq!(
            (request.capability, request.checksum, request.heartbeat),
            (Capability::Unknown, None, None)
        );
        assert!(request.is_non_blocking() && !request.wants_annotate() && !request.semi_sync);
    }

    #[test]
    fn gtid_texts_are_checked_at_the_dump() {
        let bad = |name: &'static str| {
            let variables: &'static [_] = Box::leak(Box::new([("slave_connect_state", ""), (name, "x")]));
            DumpRequest::new(4, 0, 1, b"", &Set(&variables[usize::from(name == "slave_connect_state")..]))
        };
        assert_eq!(bad("slave_connect_state"), Err(GtidListError::Syntax));
        assert_eq!(bad("slave_until_gtid"), Err(GtidListError::Syntax));
    }
}
