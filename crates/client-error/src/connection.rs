//! Numbers and texts of what connections, variables, transactions and prepared statements can do wrong.
//!
//! Texts were compared with a MariaDB 11.8 server.

use crate::ClientError;
use sql_syntax::ParseError;

/// Longest text that message 1064 repeats.
const NEAR_MAX: usize = 80;

/// What the parser refused.
pub fn syntax(error: &ParseError) -> ClientError {
    let state = match error.code() {
        1064 | 1065 => b"42000",
        _ => b"HY000",
    };
    ClientError::new(error.code(), state, error.to_string())
}

/// 1064 at `rest`, the end of `text`: a second statement where one is allowed.
pub fn syntax_near(rest: &[u8], text: &[u8]) -> ClientError {
    let before = &text[..text.len() - rest.len()];
    let line = 1 + before.iter().filter(|b| **b == b'\n').count() as u32;
    let near = rest.trim_ascii_start();
    syntax(&ParseError::Syntax { near: near[..near.len().min(NEAR_MAX)].to_vec(), line })
}

conditions! {
    // Connecting.
    too_many_connections() = 1040 b"08004" "Too many connections";
    bad_handshake() = 1043 b"08S01" "Bad handshake";
    access_denied(user: &str, host: &str, with_password: &str) = 1045 b"28000"
        "Access denied for user '{user}'@'{host}' (using password: {with_password})";
    host_not_allowed(host: &str) = 1130 b"HY000" "Host '{host}' is not allowed to connect to this MariaDB server";
    unknown_command() = 1047 b"08S01" "Unknown command";
    server_shutdown() = 1053 b"08S01" "Server shutdown in progress";
    packet_too_large() = 1153 b"08S01" "Got a packet bigger than 'max_allowed_packet' bytes";
    packets_out_of_order() = 1156 b"08S01" "Got packets out of order";
    malformed_packet() = 1835 b"HY000" "Malformed communication packet";
    read_timeout() = 1159 b"08S01" "Got timeout reading communication packets";
    write_error() = 1160 b"08S01" "Got an error writing communication packets";
    // Killing.
    no_such_thread(id: u64) = 1094 b"HY000" "Unknown thread id: {id}";
    no_such_query(id: u64) = 1957 b"HY000" "Unknown query id: {id}";
    query_interrupted() = 1317 b"70100" "Query execution was interrupted";
    statement_timeout() = 1969 b"70100" "Query execution was interrupted (max_statement_time exceeded)";
    connection_killed() = 1927 b"70100" "Connection was killed";
    // Names.
    no_database_selected() = 1046 b"3D000" "No database selected";
    unknown_database(name: &str) = 1049 b"42000" "Unknown database '{name}'";
    no_such_table(schema: &str, name: &str) = 1146 b"42S02" "Table '{schema}.{name}' doesn't exist";
    wrong_object(schema: &str, name: &str, wanted: &str) = 1347 b"HY000" "'{schema}.{name}' is not of type '{wanted}'";
    unknown_engine(name: &str) = 1286 b"42000" "Unknown storage engine '{name}'";
    unknown_charset(name: &str) = 1115 b"42000" "Unknown character set: '{name}'";
    unknown_collation(name: &str) = 1273 b"HY000" "Unknown collation: '{name}'";
    collation_not_for_charset(collation: &str, charset: &str) = 1253 b"42000"
        "COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'";
    unknown_time_zone(name: &str) = 1298 b"HY000" "Unknown or incorrect time zone: '{name}'";
    // Variables.
    unknown_variable(name: &str) = 1193 b"HY000" "Unknown system variable '{name}'";
    session_only_variable(name: &str) = 1228 b"HY000"
        "Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL";
    global_only_variable(name: &str) = 1229 b"HY000"
        "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL";
    no_default(name: &str) = 1230 b"42000" "Variable '{name}' doesn't have a default value";
    wrong_value(name: &str, value: &str) = 1231 b"42000" "Variable '{name}' can't be set to the value of '{value}'";
    wrong_type(name: &str) = 1232 b"42000" "Incorrect argument type to variable '{name}'";
    read_only_variable(name: &str) = 1238 b"HY000" "Variable '{name}' is a read only variable";
    /// `@@session.x` of a variable that has only a global value, or the reverse; `scope` is `GLOBAL` or `SESSION`.
    variable_of_other_scope(name: &str, scope: &str) = 1238 b"HY000" "Variable '{name}' is a {scope} variable";
    read_only_session_variable(name: &str) = 1621 b"HY000"
        "SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value";
    /// A warning: the variable has a newer name.
    deprecated_variable(name: &str, newer: &str) = 1287 b"HY000"
        "'@@{name}' is deprecated and will be removed in a future release. Please use '@@{newer}' instead";
    /// A note: an assignment was moved into its range.
    truncated_variable(name: &str, value: &str) = 1292 b"22007" "Truncated incorrect {name} value: '{value}'";
    /// A note: what was asked for has no effect in this server.
    no_effect(name: &str) = 1105 b"HY000" "Variable '{name}' has no effect in this server";
    // Transactions.
    transaction_in_progress() = 1568 b"25001"
        "Transaction characteristics can't be changed while a transaction is in progress";
    option_prevents(option: &str) = 1290 b"HY000"
        "The MariaDB server is running with the {option} option so it cannot execute this statement";
    read_only_transaction() = 1792 b"25006" "Cannot execute statement in a READ ONLY transaction";
    no_such_savepoint(name: &str) = 1305 b"42000" "SAVEPOINT {name} does not exist";
    // XA.
    xa_unknown() = 1397 b"XAE04" "XAER_NOTA: Unknown XID";
    xa_invalid() = 1398 b"XAE05" "XAER_INVAL: Invalid arguments (or unsupported command)";
    xa_wrong_state(state: &str) = 1399 b"XAE07"
        "XAER_RMFAIL: The command cannot be executed when global transaction is in the  {state} state";
    xa_outside() = 1400 b"XAE09" "XAER_OUTSIDE: Some work is done outside global transaction";
    xa_duplicate() = 1440 b"XAE08" "XAER_DUPID: The XID already exists";
    xa_rolled_back_by_deadlock() = 1614 b"XA102"
        "XA_RBDEADLOCK: Transaction branch was rolled back: deadlock was detected";
    cache_full() = 1197 b"HY000" "Multi-statement transaction required more than 'max_binlog_cache_size' bytes of storage; increase this mariadbd variable and try again";
    /// The log refuses to take or keep a commit; nobody knows yet whether it is on disk.
    commit_failed(reason: &str) = 1180 b"HY000" "Got error 5 \"{reason}\" during COMMIT";
    /// The disk has no room for a file of the binary log.
    no_room(file: &str) = 1026 b"HY000" "Error writing file '{file}' (errno: 28 \"No space left on device\")";
    // BINLOG.
    base64_failed() = 1575 b"HY000" "Decoding of base64 string failed";
    no_whole_event() = 1149 b"42000"
        "You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server version for the right syntax to use";
    no_format_description(kind: &str) = 1609 b"HY000"
        "The BINLOG statement of type {kind} was not preceded by a format description BINLOG statement";
    corrupt_event(what: &str) = 1610 b"HY000" "Corrupted replication event was detected: {what}";
    event_not_allowed(kind: &str) = 1730 b"HY000"
        "Only Format_description_log_event and row events are allowed in BINLOG statements (but {kind} was provided)";
    // Backup.
    backup_not_running() = 4146 b"HY000" "You must start backup with \"BACKUP STAGE START\"";
    wrong_backup_stage(stage: &str, current: &str) = 4147 b"HY000"
        "Backup stage '{stage}' is same or before current backup stage '{current}'";
    unknown_backup_stage(stage: &str) = 4149 b"HY000"
        "Unknown backup stage: '{stage}'. Stage should be one of START, FLUSH, BLOCK_DDL, BLOCK_COMMIT or END";
    // Prepared statements.
    unknown_handler(name: &str, command: &str) = 1243 b"HY000"
        "Unknown prepared statement handler ({name}) given to {command}";
    wrong_arguments(what: &str) = 1210 b"HY000" "Incorrect arguments to {what}";
    long_data_too_long() = 1105 b"HY000"
        "Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes";
    not_preparable() = 1295 b"HY000" "This command is not supported in the prepared statement protocol yet";
    too_many_prepared(max: u64) = 1461 b"42000"
        "Can't create more than max_prepared_stmt_count statements (current value: {max})";
    needs_reprepare() = 1615 b"HY000" "Prepared statement needs to be re-prepared";
    too_many_placeholders() = 1390 b"HY000" "Prepared statement contains too many placeholders";
    statement_has_no_cursor(id: u32) = 1421 b"HY000" "The statement ({id}) has no open cursor";
    empty_query() = 1065 b"42000" "Query was empty";
    // What is not there.
    not_supported(what: &str) = 1235 b"42000" "This version of MorseDB doesn't yet support '{what}'";
    not_in_transaction() = 1179 b"25000" "You are not allowed to execute this command in a transaction";
    no_binary_log() = 1381 b"HY000" "You are not using binary logging";
    no_grants(user: &str, host: &str) = 1141 b"42000" "There is no such grant defined for user '{user}' on host '{host}'";
    internal(text: &str) = 1105 b"HY000" "{text}";
}
