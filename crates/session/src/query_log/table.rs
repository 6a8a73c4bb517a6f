//! Rows of `mysql.general_log` and `mysql.slow_log`: written by the server and not replicated.

use std::time::Duration;

use catalog::mdl::MdlMode;
use charset::Collation;
use row_format::encode_row;
use types::{Time, Timestamp, Value};

use crate::server::Server;
use crate::system_tables::MYSQL;

/// Microseconds since 1970 as a value of TIMESTAMP(6).
pub(super) fn moment(wall_us: i64) -> Value {
    let micros = wall_us.rem_euclid(1_000_000) as u32;
    Value::Timestamp(Timestamp {
        seconds: u64::try_from(wall_us.div_euclid(1_000_000)).unwrap_or(0),
        micros,
        fsp: 6,
    })
}

/// A length of time as a value of TIME(6), which ends at 838 hours.
pub(super) fn duration(micros: u64) -> Value {
    Value::Time(Time { micros: micros.min(3_020_399_999_999) as i64, fsp: 6 })
}

/// A text as it came; what is no utf8 becomes readable.
pub(super) fn text(bytes: &[u8]) -> Value {
    Value::str(String::from_utf8_lossy(bytes).as_bytes(), Collation::UTF8MB3_GENERAL_CI)
}

/// Appends a row. One that finds no table, or somebody who changes it at this moment, is lost, as on MariaDB.
pub(super) fn append(server: &Server, name: &str, values: &[(&str, Value)]) {
    let snapshot = server.catalog();
    let Some(handle) = snapshot.table(MYSQL, name) else { return };
    let mdl = server.locks().context(0);
    if mdl.lock(&handle.lock, MdlMode::Write, Duration::ZERO).is_err() || !server.catalog().is_current(handle)
    {
        return;
    }
    let given = |column: &str| values.iter().find(|(n, _)| *n == column).map(|(_, v)| v.clone());
    let row: Vec<Value> = handle.def.columns.iter().map(|c| given(&c.name).unwrap_or_default()).collect();
    let mut body = Vec::new();
    if encode_row(&handle.table.spec().layout, &row, &mut body).is_ok() {
        let engine = server.dictionary().engine();
        let mut trx = engine.begin();
        // What fails here is rolled back when it is dropped. A commit that is not waited for would not be seen.
        if trx.insert(&handle.table, &body).is_ok() {
            let _ = engine.commit(trx);
        }
    }
    drop(mdl);
}
