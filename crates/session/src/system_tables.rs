//! Tables of the database `mysql` that a server makes for itself, by ordinary DDL, when they are missing.
//!
//! A table of the list that is there stays as it is: whoever reads one goes by the names of its columns.
//!
//! # A crash
//! Each table is made by a statement of its own. A start that ended between two of them makes the rest at the next start.

use std::fmt::Write;
use std::time::Duration;

use catalog::SessionCatalog;
use charset::Collation;
use sql_exec::ddl::{DdlContext, execute_ddl};
use sql_exec::{ExecSettings, Inside, SessionState, Workspace};
use sql_plan::Variables;
use sql_plan::error::{SqlError, SqlResult, Warnings};
use sql_plan::expr::{RoutineCall, SessionValue};
use storage::row::RowError;
use storage::trx::Trx;
use types::{Context, Value};

use crate::backend::Backend;

/// The database of these tables.
pub(crate) const MYSQL: &str = "mysql";

const NAME: &str = "COLLATE utf8mb3_general_ci NOT NULL";

/// Columns of privileges in `mysql.db`, in the table's order, with the privilege each stands for.
pub(crate) const DB_PRIVILEGES: [(&str, accounts::Privileges); 21] = {
    use accounts::Privileges as P;
    [
        ("Select_priv", P::SELECT),
        ("Insert_priv", P::INSERT),
        ("Update_priv", P::UPDATE),
        ("Delete_priv", P::DELETE),
        ("Create_priv", P::CREATE),
        ("Drop_priv", P::DROP),
        ("Grant_priv", P::GRANT),
        ("References_priv", P::REFERENCES),
        ("Index_priv", P::INDEX),
        ("Alter_priv", P::ALTER),
        ("Create_tmp_table_priv", P::CREATE_TEMPORARY),
        ("Lock_tables_priv", P::LOCK_TABLES),
        ("Create_view_priv", P::CREATE_VIEW),
        ("Show_view_priv", P::SHOW_VIEW),
        ("Create_routine_priv", P::CREATE_ROUTINE),
        ("Alter_routine_priv", P::ALTER_ROUTINE),
        ("Execute_priv", P::EXECUTE),
        ("Event_priv", P::EVENT),
        ("Trigger_priv", P::TRIGGER),
        ("Delete_history_priv", P::DELETE_HISTORY),
        ("Show_create_routine_priv", P::SHOW_CREATE_ROUTINE),
    ]
};

/// Members of the sets in `tables_priv`, `columns_priv` and `procs_priv`.
pub(crate) const TABLE_SET: [(&str, accounts::Privileges); 14] = {
    use accounts::Privileges as P;
    [
        ("Select", P::SELECT),
        ("Insert", P::INSERT),
        ("Update", P::UPDATE),
        ("Delete", P::DELETE),
        ("Create", P::CREATE),
        ("Drop", P::DROP),
        ("Grant", P::GRANT),
        ("References", P::REFERENCES),
        ("Index", P::INDEX),
        ("Alter", P::ALTER),
        ("Create View", P::CREATE_VIEW),
        ("Show view", P::SHOW_VIEW),
        ("Trigger", P::TRIGGER),
        ("Delete versioning rows", P::DELETE_HISTORY),
    ]
};
pub(crate) const COLUMN_SET: [(&str, accounts::Privileges); 4] = {
    use accounts::Privileges as P;
    [("Select", P::SELECT), ("Insert", P::INSERT), ("Update", P::UPDATE), ("References", P::REFERENCES)]
};
pub(crate) const ROUTINE_SET: [(&str, accounts::Privileges); 4] = {
    use accounts::Privileges as P;
    [
        ("Execute", P::EXECUTE),
        ("Alter Routine", P::ALTER_ROUTINE),
        ("Grant", P::GRANT),
        ("Show Create Routine", P::SHOW_CREATE_ROUTINE),
    ]
};

fn set_of(members: &[(&str, accounts::Privileges)]) -> String {
    let names: Vec<_> = members.iter().map(|(name, _)| format!("'{name}'")).collect();
    format!("SET({}) {NAME} DEFAULT ''", names.join(","))
}

fn name_column(out: &mut String, name: &str, chars: u32) {
    let _ = write!(out, "{name} CHAR({chars}) NOT NULL DEFAULT '', ");
}

/// Names and definitions (what stands between the parentheses), and comments.
fn definitions() -> Vec<(&'static str, String, &'static str)> {
    let columns = |list: &[(&str, u32)]| {
        let mut out = String::new();
        list.iter().for_each(|(name, chars)| name_column(&mut out, name, *chars));
        out
    };
    let stamp = "Timestamp TIMESTAMP NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(), ";
    let grantor = "Grantor VARCHAR(384) NOT NULL DEFAULT '', ";
    let (who, host, db) = (("User", 128), ("Host", 255), ("Db", 64));
    let mut db_columns = columns(&[host, db, who]);
    for (name, _) in DB_PRIVILEGES {
        let _ = write!(db_columns, "{name} ENUM('N','Y') {NAME} DEFAULT 'N', ");
    }
    vec![
        (
            "global_priv",
            columns(&[host, who])
                + "Priv LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '{}', \
                   PRIMARY KEY (Host,User)",
            "Users and global privileges",
        ),
        ("db", db_columns + "PRIMARY KEY (Host,Db,User), KEY User (User)", "Database privileges"),
        (
            "tables_priv",
            columns(&[host, db, who, ("Table_name", 64)])
                + grantor
                + stamp
                + &format!("Table_priv {}, Column_priv {}, ", set_of(&TABLE_SET), set_of(&COLUMN_SET))
                + "PRIMARY KEY (Host,Db,User,Table_name), KEY Grantor (Grantor)",
            "Table privileges",
        ),
        (
            "columns_priv",
            columns(&[host, db, who, ("Table_name", 64), ("Column_name", 64)])
                + stamp
                + &format!("Column_priv {}, ", set_of(&COLUMN_SET))
                + "PRIMARY KEY (Host,Db,User,Table_name,Column_name)",
            "Column privileges",
        ),
        (
            "procs_priv",
            columns(&[host, db, who])
                + &format!("Routine_name CHAR(64) {NAME} DEFAULT '', ")
                + "Routine_type ENUM('FUNCTION','PROCEDURE','PACKAGE','PACKAGE BODY') NOT NULL, "
                + grantor
                + &format!("Proc_priv {}, ", set_of(&ROUTINE_SET))
                + stamp
                + "PRIMARY KEY (Host,Db,User,Routine_name,Routine_type), KEY Grantor (Grantor)",
            "Procedure privileges",
        ),
        (
            "roles_mapping",
            columns(&[host, who, ("Role", 128)])
                + &format!("Admin_option ENUM('N','Y') {NAME} DEFAULT 'N', ")
                + "PRIMARY KEY (Host,User,Role)",
            "Granted roles",
        ),
        (
            "proxies_priv",
            columns(&[host, who, ("Proxied_host", 255), ("Proxied_user", 128)])
                + "With_grant TINYINT(1) NOT NULL DEFAULT 0, "
                + grantor
                + stamp
                + "PRIMARY KEY (Host,User,Proxied_host,Proxied_user), KEY Grantor (Grantor)",
            "User proxy privileges",
        ),
        ("general_log", GENERAL_LOG.to_owned(), "General log"),
        ("slow_log", SLOW_LOG.to_owned(), "Slow log"),
    ]
}

const GENERAL_LOG: &str = "event_time TIMESTAMP(6) NOT NULL DEFAULT current_timestamp(6) ON UPDATE current_timestamp(6), \
    user_host MEDIUMTEXT NOT NULL, thread_id BIGINT(21) UNSIGNED NOT NULL, server_id INT(10) UNSIGNED NOT NULL, \
    command_type VARCHAR(64) NOT NULL, argument MEDIUMTEXT NOT NULL";
const SLOW_LOG: &str = "start_time TIMESTAMP(6) NOT NULL DEFAULT current_timestamp(6) ON UPDATE current_timestamp(6), \
    user_host MEDIUMTEXT NOT NULL, query_time TIME(6) NOT NULL, lock_time TIME(6) NOT NULL, \
    rows_sent BIGINT(20) UNSIGNED NOT NULL, rows_examined BIGINT(20) UNSIGNED NOT NULL, db VARCHAR(512) NOT NULL, \
    last_insert_id INT(11) NOT NULL, insert_id INT(11) NOT NULL, server_id INT(10) UNSIGNED NOT NULL, \
    sql_text MEDIUMTEXT NOT NULL, thread_id BIGINT(21) UNSIGNED NOT NULL, rows_affected BIGINT(20) UNSIGNED NOT NULL";

/// Tables whose texts compare without case; in those of privileges names do not.
const WITHOUT_CASE: [&str; 2] = ["general_log", "slow_log"];

/// Makes the tables that are missing. True: `global_priv` was among them, so the server is new.
pub(crate) fn create_missing(backend: &Backend) -> SqlResult<bool> {
    let mut new = false;
    if backend.catalog.snapshot().database(MYSQL).is_none() {
        run(backend, "CREATE DATABASE mysql")?;
    }
    for (name, definition, comment) in definitions() {
        if backend.catalog.snapshot().table(MYSQL, name).is_some() {
            continue;
        }
        new |= name == "global_priv";
        let collation = if WITHOUT_CASE.contains(&name) { "utf8mb3_general_ci" } else { "utf8mb3_bin" };
        run(
            backend,
            &format!(
                "CREATE TABLE mysql.{name} ({definition}) DEFAULT CHARSET=utf8mb3 COLLATE={collation} \
                 COMMENT='{comment}'"
            ),
        )?;
    }
    Ok(new)
}

/// Runs a statement about definitions for the server itself: it is not logged for replicas, which make their own tables.
fn run(backend: &Backend, text: &str) -> SqlResult<()> {
    let arena = sql_syntax::Arena::new();
    let parsed = sql_syntax::parse(&arena, text.as_bytes(), sql_syntax::ParseOptions::default())
        .map_err(|e| SqlError::not_supported(format!("{text}: {e}")))?;
    let engine = backend.catalog.engine().clone();
    let mut commit = |trx: Trx, _: Option<&str>| -> Result<(), RowError> { engine.commit(trx) };
    let mut mdl = backend.catalog.locks().context(0);
    let mut warnings = Warnings::new();
    let mut nobody = Nobody;
    execute_ddl(
        &parsed.statement,
        &mut DdlContext {
            catalog: &SessionCatalog::new(&backend.catalog),
            reader: None,
            mdl: &mut mdl,
            values: &mut Context::default(),
            warnings: &mut warnings,
            session: &mut nobody,
            workspace: &mut Workspace::default(),
            variables: &Nobody,
            virtual_table: &|_, _| None,
            settings: ExecSettings { lock_wait_timeout: Duration::from_secs(60), ..ExecSettings::default() },
            database: MYSQL,
            user: "",
            connection_collation: Collation::UTF8MB4_GENERAL_CI,
            client_charset: charset::Charset::Utf8mb4,
            server_collation: Collation::UTF8MB4_UCA1400_AI_CI,
            begins: &mut || Ok(()),
            commit: &mut commit,
            log: storage::trx::LogOptions::default(),
            annotation: b"",
            locals: None,
            params: &[],
        },
    )
    .map(|_| ())
}

/// Who runs the server's own statements: nobody's variables, nobody's values.
struct Nobody;

impl Variables for Nobody {
    fn system(&self, _: &str, _: bool) -> Option<Value> {
        None
    }
}

impl SessionState for Nobody {
    fn user_variable(&self, _: &str) -> Value {
        Value::Null
    }
    fn set_user_variable(&mut self, _: &str, _: &Value) {}
    fn system_variable(&self, _: &str, _: bool) -> Option<Value> {
        None
    }
    fn session_value(&mut self, _: SessionValue, _: &[Value], _: &mut Warnings) -> SqlResult<Value> {
        Ok(Value::Null)
    }
    fn virtual_rows(&mut self, table: &str) -> SqlResult<Vec<Vec<Value>>> {
        Err(SqlError::not_supported(format!("information_schema.{table} at the start")))
    }
    fn call_routine(
        &mut self,
        call: &RoutineCall,
        _: Vec<Value>,
        _: Inside<'_>,
    ) -> SqlResult<(Value, Vec<Value>)> {
        Err(SqlError::not_supported(format!("the function {} at the start", call.def.full_name())))
    }
    fn interrupted(&self) -> bool {
        false
    }
}
