//! SHOW of the server and its sessions: variables, status, processes, engines, character sets, conditions.

use charset::{Charset, Collation};
use client_error::{ClientError, connection as error};
use sql_plan::meta::{ColumnMeta, ExprType};
use sql_syntax::ast;
use types::Value;

use super::{Listing, bigint, bigint_or_null, int, nullable, s, text};
use crate::diagnostics::Level;
use crate::session::Session;
use crate::variables::{Scope, Var};

fn pairs() -> Listing {
    Listing::new(vec![text("Variable_name", 64), text("Value", 4096)])
}

pub(super) fn variables(session: &Session, scope: ast::Scope) -> Listing {
    let global = scope == ast::Scope::Global;
    let mut list = pairs();
    for var in Var::all() {
        if global && var.def().scope == Scope::Session {
            continue;
        }
        let setting = session.variable(var, global);
        let shown = setting.text(var.def()).unwrap_or_default();
        list.row([s(var.name()), s(&shown)]);
    }
    list
}

pub(super) fn status(session: &Session, scope: ast::Scope) -> Listing {
    let own = (scope != ast::Scope::Global).then_some(&session.entry.counters);
    let mut list = pairs();
    for (name, value) in session.server().all_status(own, session.origin.tls.as_ref()) {
        list.row([s(name), s(&value)]);
    }
    list
}

pub(super) fn process_list(session: &Session, full: bool) -> Listing {
    let mut list = Listing::new(vec![
        bigint("Id", 11),
        text("User", 128),
        text("Host", 64),
        nullable("db", 64),
        text("Command", 16),
        int("Time", 7),
        nullable("State", 30),
        nullable("Info", if full { 1024 } else { 100 }),
        ColumnMeta::plain("Progress", ExprType { length: 7, decimals: 3, ..ExprType::double().not_null() }),
    ]);
    let server = session.server();
    for p in server.connections.processes(server.now_us()) {
        let info = p.statement.map_or(Value::Null, |t| {
            let shown = String::from_utf8_lossy(&t);
            s(if full {
                &shown
            } else {
                shown.char_indices().nth(100).map_or(&*shown, |(at, _)| &shown[..at])
            })
        });
        list.row([
            Value::Int(p.id as i64),
            s(&p.user),
            s(&p.host),
            p.database.map_or(Value::Null, |d| s(&d)),
            s(p.command),
            Value::Int(p.seconds as i64),
            s(if info.is_null() { p.state } else { "starting" }),
            info,
            Value::Double(0.0),
        ]);
    }
    list
}

pub(crate) fn engines() -> Listing {
    let mut list = Listing::new(vec![
        text("Engine", 64),
        text("Support", 8),
        text("Comment", 160),
        nullable("Transactions", 3),
        nullable("XA", 3),
        nullable("Savepoints", 3),
    ]);
    let comment = "Row locks, versions and undo in the one log";
    list.row([s("InnoDB"), s("DEFAULT"), s(comment), s("YES"), s("NO"), s("YES")]);
    let comment = "Generated tables filled with sequential values";
    list.row([s("SEQUENCE"), s("YES"), s(comment), s("YES"), s("NO"), s("YES")]);
    list
}

pub(super) fn plugins() -> Listing {
    let mut list = Listing::new(vec![
        text("Name", 64),
        text("Status", 16),
        text("Type", 80),
        nullable("Library", 64),
        text("License", 80),
    ]);
    for plugin in crate::plugins::all() {
        list.row([s(plugin.name), s("ACTIVE"), s(plugin.kind), Value::Null, s("Apache-2.0")]);
    }
    list
}

pub(crate) fn character_sets() -> Listing {
    let mut list = Listing::new(vec![
        text("Charset", 32),
        text("Description", 60),
        text("Default collation", 64),
        bigint("Maxlen", 3),
    ]);
    for charset in Charset::ALL {
        list.row([
            s(charset.name()),
            s(charset.description()),
            s(Collation::default_of(*charset).name()),
            Value::Int(charset.max_len() as i64),
        ]);
    }
    list
}

/// The collations as MariaDB lists them: those that every Unicode character set has are named once, without one.
pub(crate) fn collations() -> Listing {
    let mut list = Listing::new(vec![
        text("Collation", 64),
        nullable("Charset", 32),
        bigint_or_null("Id", 11),
        nullable("Default", 3),
        text("Compiled", 3),
        bigint("Sortlen", 3),
    ]);
    for charset in Charset::ALL {
        for collation in collations_of(*charset) {
            let (short, listed) = (collation.contextual_name(), *charset == Charset::Utf8mb4);
            let length = Value::Int(sort_length(collation));
            match short {
                Some(_) if !listed => {}
                Some(name) => list.row([s(name), Value::Null, Value::Null, Value::Null, s("Yes"), length]),
                None => {
                    let default = s(if Collation::default_of(*charset) == collation { "Yes" } else { "" });
                    let id = Value::Int(i64::from(collation.id()));
                    list.row([s(collation.name()), s(charset.name()), id, default, s("Yes"), length]);
                }
            }
        }
    }
    list
}

/// Short name, character set, full name, id, whether it is the character set's default, of every collation.
pub(crate) fn applicable_collations() -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for charset in Charset::ALL {
        for collation in collations_of(*charset) {
            let default = s(if Collation::default_of(*charset) == collation { "Yes" } else { "" });
            rows.push(vec![
                s(collation.contextual_name().unwrap_or(collation.name())),
                s(charset.name()),
                s(collation.name()),
                Value::Int(i64::from(collation.id())),
                default,
            ]);
        }
    }
    rows
}

/// Those of a character set, by number.
fn collations_of(charset: Charset) -> Vec<Collation> {
    let mut found: Vec<_> = Collation::all().filter(|c| c.charset() == charset).collect();
    found.sort_by_key(|c| c.id());
    found
}

/// How many times longer than its text a sort key may be in MariaDB.
fn sort_length(collation: Collation) -> i64 {
    let name = collation.name();
    let simple = ["_bin", "_general_ci", "_general_nopad_ci"].iter().any(|end| name.ends_with(end));
    match collation.charset() {
        Charset::Tis620 if !simple => 4,
        charset if charset.is_unicode() && !simple => 8,
        _ => 1,
    }
}

pub(super) fn warnings(session: &Session, errors_only: bool, limit: Option<&ast::Limit<'_>>) -> Listing {
    let code = ColumnMeta::plain("Code", ExprType::int(4).not_null().unsigned());
    let mut list = Listing::new(vec![text("Level", 7), code, text("Message", 512)]);
    for c in session.diagnostics.conditions() {
        if !errors_only || c.level == Level::Error {
            list.row([s(c.level.name()), Value::Int(i64::from(c.error.errno)), s(&c.error.text)]);
        }
    }
    let literal = |e: Option<&ast::Expr<'_>>| match e {
        Some(ast::Expr::Literal(ast::Literal::Int(n))) => usize::try_from(*n).ok(),
        _ => None,
    };
    if let Some(limit) = limit {
        let skip = literal(limit.offset.as_ref()).unwrap_or(0).min(list.rows.len());
        list.rows.drain(..skip);
        list.rows.truncate(literal(limit.count.as_ref()).unwrap_or(usize::MAX));
    }
    list
}

pub(super) fn count(name: &str, value: u64) -> Listing {
    let mut list = Listing::new(vec![ColumnMeta::plain(name, ExprType::bigint().unsigned())]);
    list.row([Value::UInt(value)]);
    list
}

pub(super) fn profiles() -> Listing {
    let duration = ColumnMeta::plain("Duration", ExprType { length: 8, ..ExprType::double().not_null() });
    Listing::new(vec![int("Query_ID", 10), duration, text("Query", 40)])
}

fn binlog_on(session: &Session) -> bool {
    session.server().variables.u64(Var::LOG_BIN) != 0
}

pub(super) fn binary_logs(session: &Session) -> Result<Listing, ClientError> {
    if !binlog_on(session) {
        return Err(error::no_binary_log());
    }
    let size =
        ColumnMeta::plain("File_size", ExprType { length: 20, ..ExprType::bigint().not_null().unsigned() });
    let mut list = Listing::new(vec![text("Log_name", 255), size]);
    for (name, size) in session.server().log_files() {
        list.row([s(&name), Value::UInt(size)]);
    }
    Ok(list)
}

pub(super) fn binlog_status(session: &Session) -> Listing {
    let position =
        ColumnMeta::plain("Position", ExprType { length: 20, ..ExprType::bigint().not_null().unsigned() });
    let columns = vec![text("File", 512), position, text("Binlog_Do_DB", 255), text("Binlog_Ignore_DB", 255)];
    let mut list = Listing::new(columns);
    if binlog_on(session)
        && let Some((name, size)) = session.server().log_files().pop()
    {
        list.row([s(&name), Value::UInt(size), s(""), s("")]);
    }
    list
}

/// No replica runs here; the columns that tools look for are there.
pub(super) fn slave_status() -> Listing {
    Listing::new(vec![
        nullable("Slave_IO_State", 64),
        nullable("Master_Host", 255),
        nullable("Master_User", 384),
        int("Master_Port", 5),
        text("Master_Log_File", 512),
        bigint("Read_Master_Log_Pos", 20),
        text("Slave_IO_Running", 10),
        text("Slave_SQL_Running", 3),
        int("Last_Errno", 4),
        nullable("Last_Error", 1024),
        bigint("Exec_Master_Log_Pos", 20),
        bigint_or_null("Seconds_Behind_Master", 20),
        nullable("Using_Gtid", 11),
        text("Gtid_IO_Pos", 1024),
    ])
}
