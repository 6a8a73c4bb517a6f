//! Numbers and texts of what can go wrong with binary logs and replicas.
//!
//! Texts were compared with MariaDB 10.11 and 11.8; those of 4246 to 4249 are MariaDB 12.3's.

use crate::ClientError;

/// 1236: the replica stops and says the reason.
pub fn fatal_reading(reason: impl Into<String>) -> ClientError {
    ClientError::new(1236, b"HY000", reason.into())
}

macro_rules! conditions {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) = $errno:literal $text:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name($($arg: $ty),*) -> ClientError {
            ClientError::new($errno, b"HY000", format!($text))
        }
    )*};
}

/// PURGE BINARY LOGS BEFORE (SELECT ...).
pub fn purge_before_subquery() -> ClientError {
    ClientError::new(1970, b"42000", "PURGE..BEFORE does not support subqueries or stored functions")
}

conditions! {
    // Dumps.
    gtid_ahead(gtid: &str) = 1236
        "Error: connecting slave requested to start from GTID {gtid}, which is not in the master's binlog";
    gtid_diverged(gtid: &str) = 1236
        "Error: connecting slave requested to start from GTID {gtid}, which is not in the master's binlog. Since the master's \
         binlog contains GTIDs with higher sequence numbers, it probably means that the slave has diverged due to executing \
         extra erroneous transactions";
    gtid_hole(gtid: &str) = 1236
        "The binlog on the master is missing the GTID {gtid} requested by the slave (even though both a prior and a subsequent \
         sequence number does exist), and GTID strict mode is enabled";
    gtid_purged() = 1236
        "Could not find GTID state requested by slave in any binlog files. Probably the slave state is too old and required \
         binlog files have been purged.";
    no_such_log_for_dump() = 1236 "Could not find first log file name in binary log index file";
    /// The stream needs an event that a client without GTIDs cannot take.
    no_replacement() = 1236
        "Failed to replace GTID event with backwards-compatible event: corrupt event.";
    not_checksum_aware() = 1236
        "Slave can not handle replication events with the checksum that master is configured to log";
    same_server_id() = 4052 "A slave with the same server_id is already connected";
    binlog_not_open() = 1236 "Binary log is not open";
    gtid_start_required() = 4246 "GTID starting position is required on master with --binlog-storage-engine enabled";
    not_with_engine_binlog(what: &str) = 4247 "{what} is not available when --binlog-storage-engine is enabled";
    // Registering.
    report_too_long(what: &str) = 1105 "Failed to register slave: too long '{what}'";
    report_password_too_long() = 1105 "Failed to register slave; too long 'report-password'";
    // GTIDs.
    gtid_list_syntax() = 1941 "Could not parse GTID list";
    gtid_list_conflict(second: &str, first: &str, domain: u32) = 1943
        "GTID {second} and {first} conflict (duplicate domain id {domain})";
    gtid_out_of_order(gtid: &str, existing: &str) = 1950
        "An attempt was made to binlog GTID {gtid} which would create an out-of-order sequence number with existing GTID \
         {existing}, and gtid strict mode is enabled";
    gtid_in_transaction() = 1953
        "Cannot modify @@session.gtid_domain_id or @@session.gtid_seq_no inside a transaction";
    skip_replication_in_transaction() = 1929 "Cannot modify @@session.skip_replication inside a transaction";
    direct_updates_in_transaction() = 1685
        "Cannot modify @@session.binlog_direct_non_transactional_updates inside a transaction";
    /// For a new position of a replica: an error with gtid_strict_mode, else a warning.
    slave_pos_behind(gtid: &str, logged: &str) = 1947
        "Specified GTID {gtid} conflicts with the binary log which contains a more recent GTID {logged}. If \
         MASTER_GTID_POS=CURRENT_POS is used, the binlog position will override the new value of @@gtid_slave_pos";
    slave_pos_lacks_domain(domain: u32, logged: &str) = 1948
        "Specified value for @@gtid_slave_pos contains no value for replication domain {domain}. This conflicts with the binary \
         log which contains GTID {logged}. If MASTER_GTID_POS=CURRENT_POS is used, the binlog position will override the new \
         value of @@gtid_slave_pos";
    binlog_must_be_empty() = 1956
        "This operation is not allowed if any GTID has been logged to the binary log. Run RESET MASTER first to erase the log";
    format_in_transaction() = 1679 "Cannot modify @@session.binlog_format inside a transaction";
    log_bin_in_transaction() = 1694 "Cannot modify @@session.sql_log_bin inside a transaction";
    // Files.
    show_events_failed(reason: &str) = 1220 "Error when executing command SHOW BINLOG EVENTS: {reason}";
    unknown_target_log() = 1373 "Target log not found in binlog index";
    log_in_use() = 1378 "A purgeable log is in use, will not purge";
    /// A note.
    log_not_purged(log: &str, reason: &str) = 1375 "Binary log '{log}' is not purged because it {reason}";
    cannot_delete_domain(reason: &str) = 1076 "Could not delete gtid domain. Reason: {reason}.";
    domain_too_large(domain: u64) = 1076
        "The value of gtid domain being deleted ('{domain}') exceeds its maximum size of 32 bit unsigned integer";
    domain_not_in_state(domain: u64) = 1076 "The gtid domain being deleted ('{domain}') is not in the current binlog state";
    binlog_in_use() = 4243
        "Cannot execute RESET MASTER as the binlog is in use by a connected slave or other RESET MASTER or binlog reader. Check \
         SHOW PROCESSLIST for \"Binlog Dump\" commands and use KILL to stop such readers";
    binlog_in_use_by_transaction() = 4244
        "Cannot execute RESET MASTER as the binlog is in use by an active transaction";
    statement_format_unsafe() = 1665
        "Cannot execute statement: impossible to write to binary log since BINLOG_FORMAT = STATEMENT and at least one table uses \
         a storage engine limited to row-based logging. InnoDB is limited to row-logging when transaction isolation level is \
         READ COMMITTED or READ UNCOMMITTED.";
}
