//! Numbers and texts of what stored programs can do wrong.
//!
//! Texts were compared with a MariaDB 11.8 server.

use crate::ClientError;

conditions! {
    // Making them.
    exists(kind: &str, name: &str) = 1304 b"42000" "{kind} {name} already exists";
    missing(kind: &str, name: &str) = 1305 b"42000" "{kind} {name} does not exist";
    no_recursive_create(kind: &str) = 1303 b"2F003" "Can't create a {kind} from within another stored routine";
    no_drop_inside(kind: &str) = 1357 b"HY000" "Can't drop or alter a {kind} from within another stored routine";
    no_label(what: &str, label: &str) = 1308 b"42000" "{what} with no matching label: {label}";
    label_redefined(label: &str) = 1309 b"42000" "Redefining label {label}";
    bad_return() = 1313 b"42000" "RETURN is only allowed in a FUNCTION";
    not_in_procedures(what: &str) = 1314 b"0A000" "{what} is not allowed in stored procedures";
    undefined_condition(name: &str) = 1319 b"42000" "Undefined CONDITION: {name}";
    no_return(name: &str) = 1320 b"42000" "No RETURN found in FUNCTION {name}";
    cursor_select_into() = 1323 b"42000" "Cursor SELECT must not have INTO";
    undefined_cursor(name: &str) = 1324 b"42000" "Undefined CURSOR: {name}";
    undeclared_variable(name: &str) = 1327 b"42000" "Undeclared variable: {name}";
    duplicate_parameter(name: &str) = 1330 b"42000" "Duplicate parameter: {name}";
    duplicate_variable(name: &str) = 1331 b"42000" "Duplicate variable: {name}";
    duplicate_condition(name: &str) = 1332 b"42000" "Duplicate condition: {name}";
    duplicate_cursor(name: &str) = 1333 b"42000" "Duplicate cursor: {name}";
    not_inside(what: &str) = 1336 b"0A000" "{what} is not allowed in stored function or trigger";
    variable_after_handler() = 1337 b"42000"
        "Variable or condition declaration after cursor or handler declaration";
    cursor_after_handler() = 1338 b"42000" "Cursor declaration after handler declaration";
    bad_sqlstate(state: &str) = 1407 b"42000" "Bad SQLSTATE: '{state}'";
    duplicate_handler() = 1413 b"42000" "Duplicate handler declared in the same block";
    result_set_from(what: &str) = 1415 b"0A000" "Not allowed to return a result set from a {what}";
    commit_inside() = 1422 b"HY000" "Explicit or implicit commit is not allowed in stored function or trigger";
    bad_condition_value() = 1480 b"HY000" "Incorrect CONDITION value: '0'";
    signal_without_state() = 1646 b"HY000" "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE";
    fetch_group_outside() = 4105 b"HY000"
        "Aggregate specific instruction (FETCH GROUP NEXT ROW) used in a wrong context";
    no_fetch_group() = 4106 b"HY000"
        "Aggregate specific instruction(FETCH GROUP NEXT ROW) missing from the aggregate function";
    cursor_arguments(name: &str) = 4107 b"42000" "Incorrect parameter count to cursor '{name}'";
    operand_columns(count: usize) = 1241 b"21000" "Operand should contain {count} column(s)";
    unknown_field(field: &str, row: &str) = 1054 b"42S22" "Unknown column '{field}' in '{row}'";
    no_such_user_warning(user: &str, host: &str) = 1449 b"HY000"
        "The user specified as a definer ('{user}'@'{host}') does not exist";
    // Running them.
    arguments(kind: &str, name: &str, expected: usize, got: usize) = 1318 b"42000"
        "Incorrect number of arguments for {kind} {name}; expected {expected}, got {got}";
    cursor_open() = 1325 b"24000" "Cursor is already open";
    cursor_closed() = 1326 b"24000" "Cursor is not open";
    fetch_variables() = 1328 b"HY000" "Incorrect number of FETCH variables";
    no_data() = 1329 b"02000" "No data - zero rows fetched, selected, or processed";
    case_not_found() = 1339 b"20000" "Case not found for CASE statement";
    no_return_end(name: &str) = 1321 b"2F005" "FUNCTION {name} ended without RETURN";
    out_argument(n: usize, name: &str) = 1414 b"42000"
        "OUT or INOUT argument {n} for routine {name} is not a variable or NEW pseudo-variable in BEFORE trigger";
    recursion_inside() = 1424 b"HY000" "Recursive stored functions and triggers are not allowed";
    table_in_use(table: &str) = 1442 b"HY000"
        "Can't update table '{table}' in stored function/trigger because it is already used by statement which invoked this stored function/trigger";
    recursion_limit(limit: u64, name: &str) = 1456 b"HY000"
        "Recursive limit {limit} (as set by the max_sp_recursion_depth variable) was exceeded for routine {name}";
    stack_overrun() = 1436 b"HY000" "Thread stack overrun: the stored programs call one another too deeply";
    resignal_without_handler() = 1645 b"0K000" "RESIGNAL when handler not active";
    unhandled_warning() = 1642 b"01000" "Unhandled user-defined warning condition";
    unhandled_not_found() = 1643 b"02000" "Unhandled user-defined not found condition";
    unhandled_exception() = 1644 b"45000" "Unhandled user-defined exception condition";
    duplicate_item(item: &str) = 1641 b"42000" "Duplicate condition information item '{item}'";
    item_value(item: &str, value: &str) = 1231 b"42000" "Variable '{item}' can't be set to the value of '{value}'";
    item_too_long(item: &str) = 1648 b"HY000" "Data too long for condition item '{item}'";
    invalid_condition_number() = 1758 b"35000" "Invalid condition number";
    stack_trace(line: u32, name: &str) = 4094 b"HY000" "At line {line} in {name}";
    // Triggers.
    trigger_exists(name: &str) = 1359 b"HY000" "Trigger '{name}' already exists";
    trigger_missing() = 1360 b"HY000" "Trigger does not exist";
    trigger_on_view(name: &str) = 1361 b"HY000" "Trigger's '{name}' is a view, temporary table or sequence";
    no_such_row(event: &str, row: &str) = 1363 b"HY000" "There is no {row} row in on {event} trigger";
    row_not_updatable(row: &str, when: &str) = 1362 b"HY000" "Updating of {row} row is not allowed in {when}trigger";
    referenced_trigger(name: &str) = 4031 b"HY000" "Referenced trigger '{name}' for the given action time and event type does not exist";
    trigger_on_system_table() = 1465 b"HY000" "Triggers can not be created on system tables";
    trigger_in_wrong_schema() = 1435 b"HY000" "Trigger in wrong schema";
    // Sequences.
    no_sequence(schema: &str, name: &str) = 4089 b"42S02" "'{schema}.{name}' is not a SEQUENCE";
    sequence_run_out(schema: &str, name: &str) = 4084 b"HY000" "Sequence '{schema}.{name}' has run out";
    // Events.
    event_exists(name: &str) = 1537 b"HY000" "Event '{name}' already exists";
    event_missing(name: &str) = 1539 b"HY000" "Unknown event '{name}'";
    event_interval_bad() = 1542 b"HY000" "INTERVAL is either not positive or too big";
    event_ends_before_starts() = 1543 b"HY000" "ENDS is either invalid or before STARTS";
    event_in_the_past() = 1544 b"HY000"
        "Event execution time is in the past. Event has been disabled";
    event_same_name() = 1551 b"HY000" "Same old and new event name";
    event_removed() = 1588 b"HY000"
        "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. The event was dropped immediately after creation";
    event_not_changed() = 1589 b"HY000"
        "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. The event was not changed. Specify a time in the future";
    scheduler_disabled() = 1290 b"HY000"
        "The MariaDB server is running with the --event-scheduler=DISABLED or --skip-grant-tables option so it cannot execute this statement";
    scheduler_off() = 1105 b"HY000"
        "Event scheduler is switched off, use SET GLOBAL event_scheduler=ON to enable it.";
    incorrect_at(kind: &str, value: &str) = 1525 b"HY000" "Incorrect {kind} value: '{value}'";
}

/// A result set of a function or trigger.
pub fn result_set_inside(trigger: bool) -> ClientError {
    result_set_from(if trigger { "trigger" } else { "function" })
}

pub fn dynamic_sql_inside() -> ClientError {
    not_inside("Dynamic SQL")
}

pub fn old_row_is_fixed() -> ClientError {
    row_not_updatable("OLD", "")
}
