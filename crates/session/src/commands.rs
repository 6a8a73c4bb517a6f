//! Commands other than COM_QUIT: routing, and those that are one line long. Statements are in [`crate::statement`],
//! COM_STMT_* in [`crate::binary`].

use accounts::Privileges;
use client_error::{ClientError, account as denied, connection as error};
use wire::{ChangeUser, Command};

use crate::binary;
use crate::connection::Incoming;
use crate::counters::Counter;
use crate::dump::{self, DumpCommand};
use crate::handshake::{self, Proof, Refused};
use crate::output::Output;
use crate::registry::{Doing, Kill};
use crate::replicas;
use crate::session::{Done, Session};
use crate::statement;

/// Runs one command; the reply is in `out`. True ends the connection.
pub(crate) fn run(session: &mut Session, out: &mut Output, command: Command<'_>) -> bool {
    session.entry.clear_query_kill();
    let (doing, text): (Doing, &[u8]) = match &command {
        Command::Query(sql) => (Doing::Query, sql),
        Command::StmtExecute(_) | Command::StmtBulkExecute(_) => (Doing::Execute, b""),
        Command::StmtPrepare(sql) => (Doing::Prepare, sql),
        Command::StmtClose(_) => (Doing::CloseStmt, b""),
        Command::StmtReset(_) => (Doing::ResetStmt, b""),
        Command::StmtFetch { .. } => (Doing::Fetch, b""),
        Command::StmtSendLongData { .. } => (Doing::LongData, b""),
        Command::InitDb(_) => (Doing::InitDb, b""),
        Command::FieldList { .. } => (Doing::FieldList, b""),
        Command::Statistics => (Doing::Statistics, b""),
        Command::ResetConnection => (Doing::ResetConnection, b""),
        Command::SetOption(_) => (Doing::SetOption, b""),
        _ => (Doing::Ping, b""),
    };
    let now = session.now_us();
    session.entry.begin(doing, text, now);
    session.entry.set_deadline(session.settings.statement_time_us.map_or(0, |t| now + t));
    session.new_query_id();
    session.renew_rights();
    session.entry.counters.count(Counter::Queries);
    if matches!(command, Command::Query(_) | Command::StmtExecute(_) | Command::StmtBulkExecute(_))
        && let Some(place) = &session.place
        && let Err(e) = place.count_query(now)
    {
        session.fail(out, e);
        return false;
    }
    match command {
        Command::Query(sql) => {
            session.entry.counters.count(Counter::Questions);
            return statement::run_text(session, out, sql);
        }
        Command::StmtExecute(execute) => {
            session.entry.counters.count(Counter::Questions);
            return binary::execute(session, out, &execute);
        }
        Command::StmtPrepare(sql) => binary::prepare(session, out, sql),
        Command::StmtBulkExecute(bulk) => return binary::bulk_execute(session, out, &bulk),
        Command::StmtSendLongData { statement_id, parameter, data } => {
            binary::long_data(session, statement_id, parameter, data);
        }
        Command::StmtClose(id) => binary::close(session, id),
        Command::StmtReset(id) => reply(session, out, |s| binary::reset(s, id)),
        Command::StmtFetch { statement_id, rows } => binary::fetch(session, out, statement_id, rows),
        Command::Refresh(what) => {
            return match flush_text(what) {
                Some(text) => statement::run_text(session, out, text.as_bytes()),
                None => {
                    out.error(&error::not_supported("this kind of COM_REFRESH"));
                    false
                }
            };
        }
        other => return run_simple(session, out, other),
    }
    false
}

/// The FLUSH statement that a COM_REFRESH asks for. Tables and idle threads are not kept, so there is nothing to close:
/// FLUSH TABLES stands alone or goes unsaid.
fn flush_text(what: u8) -> Option<String> {
    const TABLES_AND_THREADS: u8 = 4 | 32;
    const ITEMS: [(u8, &str); 4] = [(1, "PRIVILEGES"), (2, "LOGS"), (8, "HOSTS"), (16, "STATUS")];
    let known = ITEMS.iter().fold(TABLES_AND_THREADS, |all, (bit, _)| all | bit);
    let items: Vec<&str> = ITEMS.iter().filter(|(bit, _)| what & bit != 0).map(|(_, word)| *word).collect();
    match what {
        _ if what & !known != 0 => None,
        _ if items.is_empty() => Some("FLUSH TABLES".to_owned()),
        _ => Some(format!("FLUSH {}", items.join(", "))),
    }
}

fn run_simple(session: &mut Session, out: &mut Output, command: Command<'_>) -> bool {
    session.entry.counters.count(Counter::ComAdminCommands);
    match command {
        Command::InitDb(name) => {
            session.log_general("Init DB", name);
            let name = String::from_utf8_lossy(name);
            reply(session, out, |s| s.use_database(&name));
        }
        Command::Ping => {
            session.log_general("Ping", b"");
            reply(session, out, |_| Ok(()));
        }
        Command::Statistics => {
            session.log_general("Statistics", b"");
            let text = statistics(session);
            out.writer().packet(|p| p.extend_from_slice(text.as_bytes()));
        }
        Command::ProcessKill(id) => {
            reply(session, out, |s| statement::kill_connection(s, u64::from(id), Kill::Connection))
        }
        Command::Debug => {
            let status = session.status();
            out.eof(status, 0);
        }
        Command::SetOption(option @ (0 | 1)) => {
            session.multi_statements = option == 0;
            let status = session.status();
            out.eof(status, 0);
        }
        Command::ResetConnection => {
            session.reset();
            reply(session, out, |_| Ok(()));
        }
        Command::FieldList { table, wild } => statement::field_list(session, out, table, wild),
        Command::Shutdown if !session.rights.global().has(Privileges::SHUTDOWN) => {
            out.error(&denied::privilege_needed(Privileges::SHUTDOWN.name()));
        }
        Command::Shutdown => {
            let status = session.status();
            out.eof(status, 0);
            session.server().request_stop();
        }
        Command::ProcessInfo => out.error(&error::not_supported("COM_PROCESS_INFO")),
        Command::RegisterSlave { server_id, host, user, port, .. } => {
            reply(session, out, |s| {
                s.need_global(Privileges::REPLICATION_SLAVE)?;
                replicas::register(s, server_id, host, user, port);
                Ok(())
            });
        }
        Command::BinlogDump { .. } if !session.rights.global().has(Privileges::REPLICATION_SLAVE) => {
            out.error(&denied::privilege_needed(Privileges::REPLICATION_SLAVE.name()));
        }
        Command::BinlogDump { position, flags, server_id, file } => {
            let command = DumpCommand { position, flags, server_id, file: file.to_vec() };
            let server = std::sync::Arc::clone(session.server());
            server.awake.asleep(|| dump::run(session, &command));
            return true;
        }
        _ => out.error(&error::unknown_command()),
    }
    false
}

/// Runs `body` and answers OK or its error.
fn reply(
    session: &mut Session,
    out: &mut Output,
    body: impl FnOnce(&mut Session) -> Result<(), ClientError>,
) {
    session.diagnostics.clear();
    match body(session) {
        Ok(()) => session.send_ok(out, &Done::default(), false),
        Err(e) => session.fail(out, e),
    }
}

/// The one line of COM_STATISTICS.
fn statistics(session: &Session) -> String {
    let server = session.server();
    let total = server.connections.totals();
    let uptime = server.uptime_seconds();
    let questions = total.get(Counter::Questions);
    format!(
        "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: 0  Open tables: 0  \
         Queries per second avg: {:.3}",
        server.connections.len(),
        total.get(Counter::SlowQueries),
        questions as f64 / uptime.max(1) as f64
    )
}

/// COM_CHANGE_USER, kept beyond the packet because an auth switch reads another one.
#[derive(Debug)]
pub(crate) struct OwnedChangeUser {
    user: String,
    auth: Vec<u8>,
    database: String,
    collation: u16,
    plugin: Vec<u8>,
}

impl OwnedChangeUser {
    pub(crate) fn of(c: &ChangeUser<'_>) -> Self {
        Self {
            user: String::from_utf8_lossy(c.user).into_owned(),
            auth: c.auth.to_vec(),
            database: String::from_utf8_lossy(c.database).into_owned(),
            collation: c.collation,
            // Whatever was answered, it was not to a scramble that counts; only no password needs none.
            plugin: if c.auth.is_empty() { c.auth_plugin.to_vec() } else { Vec::new() },
        }
    }
}

/// Logs in again on the same connection. The scramble of the greeting is used up, so unless the answer needs none
/// (an empty password) the client is asked again. True ends the connection: a refused change does.
pub(crate) fn change_user(
    session: &mut Session,
    incoming: &mut Incoming,
    out: &mut Output,
    change: &OwnedChangeUser,
) -> bool {
    let now = session.now_us();
    session.entry.begin(Doing::ChangeUser, b"", now);
    session.entry.counters.count(Counter::ComAdminCommands);
    let server = session.server().clone();
    let proof = Proof { scramble: [0; 20], response: change.auth.clone(), plugin: change.plugin.clone() };
    let outcome = handshake::authenticate(incoming, out, &server, &session.origin, &change.user, proof);
    out.go_on(incoming.sequence());
    match outcome {
        Ok(accepted) => {
            session.identity.user.clone_from(&change.user);
            session.identity.take(accepted);
            if change.collation != 0 {
                session.identity.collation = change.collation;
            }
            session.identity.database = change.database.clone().into_bytes();
            session.database = std::sync::Arc::from("");
            session.entry.set_database(None);
            session.reset();
            session.entry.set_identity(&change.user, &session.origin.shown());
            match session.log_in() {
                Ok(()) => {
                    session.first_ok(out);
                    false
                }
                Err(e) => {
                    out.error(&e);
                    true
                }
            }
        }
        Err(Refused::Error(e)) => {
            out.error(&e);
            true
        }
        Err(Refused::Gone) => true,
    }
}
