//! SHOW of what is not here: the empty lists and the errors that MariaDB answers with where it has none either.

use client_error::{ClientError, connection as error};
use sql_plan::meta::{ColumnMeta, ExprType};
use sql_syntax::ast::{Ident, ObjectName};

use super::{Listing, bigint, int, text};

/// SHOW PROFILE: nothing is profiled.
pub(super) fn profile() -> Listing {
    let duration = ExprType { length: 9, decimals: 6, ..ExprType::double().not_null() };
    Listing::new(vec![text("Status", 30), ColumnMeta::plain("Duration", duration)])
}

/// SHOW RELAYLOG EVENTS: this server follows nobody.
pub(super) fn relay_log_events() -> Listing {
    Listing::new(vec![
        text("Log_name", 20),
        bigint("Pos", 20),
        text("Event_type", 20),
        int("Server_id", 10),
        bigint("End_log_pos", 20),
        text("Info", 20),
    ])
}

/// SHOW USER_STATISTICS and its kin: a table of information_schema by its name.
pub(super) fn statistics(name: Ident<'_>) -> Result<Listing, ClientError> {
    let name = name.text();
    let table = crate::virtual_tables::describe("information_schema", &name)
        .filter(|t| t.name.ends_with("_STATISTICS"))
        .ok_or_else(|| error::not_supported(&format!("SHOW {}", name.to_uppercase())))?;
    let column = |name: &str| {
        let (first, rest) = name.split_at(1);
        text(&format!("{first}{}", rest.to_lowercase()), 64)
    };
    Ok(Listing::new(table.columns().iter().map(|c| column(c.name)).collect()))
}

/// SHOW CREATE SERVER: there are none.
pub(super) fn create_server(name: Ident<'_>) -> ClientError {
    let name = name.text();
    let text = format!(
        "The foreign server name you are trying to reference does not exist. Data source error:  {name}"
    );
    ClientError::new(1477, b"HY000", text)
}

/// SHOW PROCEDURE CODE and its kin.
pub(super) fn code() -> ClientError {
    let text = "The 'SHOW PROCEDURE|FUNCTION CODE' feature is disabled; you need MariaDB built with '--with-debug' to have it working";
    ClientError::new(1289, b"HY000", text)
}

/// SHOW CREATE PACKAGE and PACKAGE BODY: there are none yet.
pub(super) fn package(kind: &str, name: &ObjectName<'_>) -> ClientError {
    ClientError::new(1305, b"42000", format!("{kind} {} does not exist", name.name.text()))
}
