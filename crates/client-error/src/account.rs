//! Numbers and texts of log-in, accounts, roles and privileges.
//!
//! Texts were compared with a MariaDB 11.8 server.

use crate::ClientError;

macro_rules! conditions {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) = $errno:literal $state:literal $text:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name($($arg: $ty),*) -> ClientError {
            ClientError::new($errno, $state, format!($text))
        }
    )*};
}

conditions! {
    // Logging in.
    /// Of a log-in that used no password at all, and of grants that the user may not make.
    access_denied_plain(user: &str, host: &str) = 1698 b"28000" "Access denied for user '{user}'@'{host}'";
    account_locked() = 4151 b"HY000" "Access denied, this account is locked";
    user_blocked() = 4150 b"HY000"
        "User is blocked because of too many credential errors; unblock with 'FLUSH PRIVILEGES'";
    /// The client cannot be let into the state in which it may only change its password.
    password_expired() = 1862 b"HY000"
        "Your password has expired. To log in you must change it using a client that supports expired passwords";
    must_change_password() = 1820 b"HY000" "You must SET PASSWORD before executing this statement";
    plugin_not_loaded(name: &str) = 1524 b"HY000" "Plugin '{name}' is not loaded";
    too_many_user_connections(user: &str) = 1203 b"42000"
        "User {user} already has more than 'max_user_connections' active connections";
    resource_exceeded(user: &str, resource: &str, value: i64) = 1226 b"42000"
        "User '{user}' has exceeded the '{resource}' resource (current value: {value})";
    insecure_transport() = 3159 b"08004"
        "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    // Privileges.
    database_denied(user: &str, host: &str, database: &str) = 1044 b"42000"
        "Access denied for user '{user}'@'{host}' to database '{database}'";
    table_denied(privileges: &str, user: &str, host: &str, database: &str, table: &str) = 1142 b"42000"
        "{privileges} command denied to user '{user}'@'{host}' for table `{database}`.`{table}`";
    column_denied(privileges: &str, user: &str, host: &str, column: &str, table: &str) = 1143 b"42000"
        "{privileges} command denied to user '{user}'@'{host}' for column '{column}' in table '{table}'";
    routine_denied(privilege: &str, user: &str, host: &str, routine: &str) = 1370 b"42000"
        "{privilege} command denied to user '{user}'@'{host}' for routine '{routine}'";
    privilege_needed(names: &str) = 1227 b"42000"
        "Access denied; you need (at least one of) the {names} privilege(s) for this operation";
    no_such_definer(user: &str, host: &str) = 1449 b"HY000"
        "The user specified as a definer ('{user}'@'{host}') does not exist";
    not_owner_of_thread(id: u64) = 1095 b"HY000" "You are not owner of thread {id}";
    // Statements about accounts.
    operation_failed(operation: &str, accounts: &str) = 1396 b"HY000" "Operation {operation} failed for {accounts}";
    user_exists(account: &str) = 1973 b"HY000" "Can't create user {account}; it already exists";
    no_such_user_to_drop(account: &str) = 1974 b"HY000" "Can't drop user {account}; it doesn't exist";
    role_exists(role: &str) = 1975 b"HY000" "Can't create role {role}; it already exists";
    no_such_role_to_drop(role: &str) = 1976 b"HY000" "Can't drop role {role}; it doesn't exist";
    no_matching_user() = 1133 b"28000" "Can't find any matching row in the user table";
    cannot_create_with_grant() = 1410 b"42000" "You are not allowed to create a user with GRANT";
    no_table_grant(user: &str, host: &str, table: &str) = 1147 b"42000"
        "There is no such grant defined for user '{user}' on host '{host}' on table '{table}'";
    no_routine_grant(user: &str, host: &str, routine: &str) = 1403 b"42000"
        "There is no such grant defined for user '{user}' on host '{host}' on routine '{routine}'";
    illegal_grant() = 1144 b"42000"
        "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
    replace_and_if_not_exists() = 1221 b"HY000" "Incorrect usage of OR REPLACE and IF NOT EXISTS";
    global_privileges_in_database() = 1221 b"HY000" "Incorrect usage of DB GRANT and GLOBAL PRIVILEGES";
    cannot_revoke_all() = 1269 b"HY000" "Can't revoke all privileges for one or more of the requested users";
    bad_password_hash(digits: u32) = 1372 b"HY000" "Password hash should be a {digits}-digit hexadecimal number";
    set_password_not_applicable(plugin: &str) = 1699 b"HY000"
        "SET PASSWORD is not applicable for users authenticating via {plugin} plugin";
    password_anonymous() = 1131 b"42000"
        "You are using MariaDB as an anonymous user and anonymous users are not allowed to modify user settings";
    name_too_long(text: &str, what: &str, max: usize) = 1470 b"HY000"
        "String '{text}' is too long for {what} (should be no longer than {max})";
    invalid_role(role: &str) = 1959 b"OP000" "Invalid role specification `{role}`";
    invalid_current_role() = 1960 b"0L000" "Current role not found";
    role_not_granted(user: &str, host: &str, role: &str) = 1959 b"OP000"
        "User `{user}`@`{host}` has not been granted role `{role}`";
    cannot_grant_role(role: &str, to: &str) = 1961 b"HY000" "Cannot grant role '{role}' to: {to}";
    cannot_revoke_role(role: &str, from: &str) = 1962 b"HY000" "Cannot revoke role '{role}' from: {from}";
    no_such_routine(kind: &str, name: &str) = 1305 b"42000" "{kind} {name} does not exist";
    unknown_column(column: &str, table: &str) = 1054 b"42S22" "Unknown column '{column}' in '{table}'";
}
