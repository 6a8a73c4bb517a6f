//! The session's side of replication: registration, GTID variables, the functions that replicas and tools call, and the settings of
//! semi-synchronous commits.

use std::sync::Arc;
use std::time::Duration;

use base::{Corruption, Gtid, Lsn};
use binlog_file::Files;
use client_error::{ClientError, connection as error, replication as refused};
use commit::{GtidPositions, Numbering};
use event_format::{Event, EventKind};
use replication::{
    GtidListError, Registered, SemiSyncConfig, WaitPoint, format_list, parse_position, parse_state,
};
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::expr::SessionValue;
use sql_plan::meta::{ColumnMeta, ExprType};
use storage::trx::Isolation;
use types::Value;
use wire::command::code;

use crate::diagnostics::Level;
use crate::error_log::Severity;
use crate::event_log::EventLog;
use crate::registry::{Entry, Kill};
use crate::server::Server;
use crate::session::Session;
use crate::show::Listing;
use crate::variables::{Setting, Var};

/// How often MASTER_GTID_WAIT looks at the position.
const WAIT_TICK: Duration = Duration::from_millis(20);

/// The error of a GTID text.
pub(crate) fn gtid_list_error(e: GtidListError) -> ClientError {
    match e {
        GtidListError::Syntax => refused::gtid_list_syntax(),
        GtidListError::SameDomain { second, first } => {
            refused::gtid_list_conflict(&second.to_string(), &first.to_string(), first.domain_id)
        }
    }
}

/// COM_REGISTER_SLAVE.
pub(crate) fn register(session: &Session, server_id: u32, host: &[u8], user: &[u8], port: u16) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    session.server().replicas.register(Registered {
        server_id,
        host: text(host),
        user: text(user),
        port,
        connection: session.entry.id,
    });
}

/// A replication command that does not decode: MariaDB has words of its own for them.
pub(crate) fn malformed(payload: &[u8], why: &Corruption) -> ClientError {
    match payload.first() {
        Some(&code::REGISTER_SLAVE) => match why.field {
            "user" => refused::report_too_long("report-user"),
            "password" => refused::report_password_too_long(),
            _ => refused::report_too_long("report-host"),
        },
        Some(&code::BINLOG_DUMP) => refused::fatal_reading(
            "Client requested master to start replication from impossible position; the first event '.' at 0, the last event \
             read from '.' at 4, the last byte read from '.' at 4.",
        ),
        _ => error::malformed_packet(),
    }
}

/// SHOW SLAVE HOSTS.
pub(crate) fn slave_hosts(server: &Server) -> Listing {
    let int = |name: &str, length| ColumnMeta::plain(name, ExprType::int(length).not_null());
    let mut host = ColumnMeta::text("Host", 20);
    host.ty.nullable = false;
    let mut list = Listing {
        like_column: 0,
        columns: vec![int("Server_id", 10), host, int("Port", 7), int("Master_id", 10)],
        rows: Vec::new(),
    };
    let own = server.variables.u64(Var::SERVER_ID);
    for replica in server.replicas.registered() {
        list.rows.push(vec![
            Value::Int(i64::from(replica.server_id)),
            Value::utf8(&replica.host),
            Value::Int(i64::from(replica.port)),
            Value::Int(own as i64),
        ]);
    }
    list
}

/// What SET must refuse, whatever the value, for where the session is.
pub(crate) fn check_moment(session: &Session, var: Var, global: bool) -> Result<(), ClientError> {
    let in_transaction = session.transaction.is_active();
    match var {
        Var::SQL_LOG_BIN if global => Err(error::variable_of_other_scope(var.name(), "SESSION")),
        Var::GTID_BINLOG_STATE | Var::GTID_SLAVE_POS if in_transaction => Err(error::not_in_transaction()),
        _ if global || !in_transaction => Ok(()),
        Var::GTID_DOMAIN_ID | Var::GTID_SEQ_NO => Err(refused::gtid_in_transaction()),
        Var::BINLOG_FORMAT => Err(refused::format_in_transaction()),
        Var::SQL_LOG_BIN => Err(refused::log_bin_in_transaction()),
        Var::SKIP_REPLICATION => Err(refused::skip_replication_in_transaction()),
        Var::BINLOG_DIRECT_NON_TRANSACTIONAL_UPDATES => Err(refused::direct_updates_in_transaction()),
        _ => Ok(()),
    }
}

/// What SET must refuse for the value and the state that the log is in.
pub(crate) fn check_set(session: &mut Session, var: Var, setting: &Setting) -> Result<(), ClientError> {
    match var {
        Var::GTID_SEQ_NO => match session.numbering().filter(|_| setting.as_u64() != 0) {
            Some(numbering) => session.check_order(Numbering { seq_no: Some(setting.as_u64()), ..numbering }),
            None => Ok(()),
        },
        Var::GTID_SLAVE_POS if *setting == Setting::Null => Err(error::wrong_value(var.name(), "NULL")),
        Var::GTID_SLAVE_POS => check_slave_pos(session, setting.as_str()),
        Var::GTID_BINLOG_STATE => {
            if !session.server().log_bin() {
                return Err(error::no_binary_log());
            }
            if !session.server().gtid_state().is_empty() {
                return Err(refused::binlog_must_be_empty());
            }
            if *setting == Setting::Null {
                return Err(error::wrong_arguments("SET"));
            }
            parse_state(setting.as_str()).map(|_| ()).map_err(gtid_list_error)
        }
        _ => Ok(()),
    }
}

/// A replica's position that lies behind what this server has logged itself: refused with gtid_strict_mode, else warned of.
fn check_slave_pos(session: &mut Session, text: &str) -> Result<(), ClientError> {
    let position = parse_position(text).map_err(gtid_list_error)?;
    let server = Arc::clone(session.server());
    let own = server.variables.u64(Var::SERVER_ID) as u32;
    let strict = server.variables.u64(Var::GTID_STRICT_MODE) != 0;
    let logged = server.committer().positions();
    for logged in logged.last().filter(|g| g.server_id == own) {
        let said = position.iter().find(|g| g.domain_id == logged.domain_id);
        let conflict = match said {
            None => refused::slave_pos_lacks_domain(logged.domain_id, &logged.to_string()),
            Some(said) if said.seq_no < logged.seq_no => {
                refused::slave_pos_behind(&said.to_string(), &logged.to_string())
            }
            Some(_) => continue,
        };
        if strict {
            return Err(conflict);
        }
        session.warn(Level::Warning, conflict);
    }
    Ok(())
}

/// Whether `SET x = DEFAULT` means nothing for this variable.
pub(crate) fn has_no_default(var: Var) -> bool {
    matches!(var, Var::GTID_BINLOG_STATE | Var::GTID_SLAVE_POS)
}

/// A global value as it is kept: positions come sorted by domain.
pub(crate) fn normalised(var: Var, setting: Setting) -> Setting {
    if var != Var::GTID_SLAVE_POS {
        return setting;
    }
    let mut gtids = parse_position(setting.as_str()).unwrap_or_default();
    gtids.sort_unstable();
    Setting::Text(format_list(&gtids).into())
}

/// What a SET GLOBAL tells beside its effect.
pub(crate) fn note_set(session: &mut Session, var: Var) {
    let in_files = session.server().backend().binlog.is_in_files();
    if matches!(var, Var::BINLOG_CACHE_SIZE | Var::MAX_BINLOG_CACHE_SIZE | Var::BINLOG_LARGE_COMMIT_THRESHOLD)
        && !in_files
    {
        session.warn(Level::Note, error::no_effect(var.name()));
    }
    if var == Var::SYNC_BINLOG && !in_files {
        let text =
            "'sync_binlog' is not used: innodb_flush_log_at_trx_commit says when the one log is synced";
        session.server().log(Severity::Note, session.entry.id, text);
        session.warn(Level::Note, error::no_effect(var.name()));
    }
}

impl Server {
    /// Lets a new global value of replication work.
    pub(crate) fn apply_replication_global(&self, var: Var, setting: &Setting) {
        match var {
            Var::RPL_SEMI_SYNC_MASTER_ENABLED
            | Var::RPL_SEMI_SYNC_MASTER_TIMEOUT
            | Var::RPL_SEMI_SYNC_MASTER_WAIT_NO_SLAVE
            | Var::RPL_SEMI_SYNC_MASTER_WAIT_POINT
            | Var::RPL_SEMI_SYNC_MASTER_WAIT_FOR_SLAVE_COUNT => self.configure_semi_sync(),
            Var::BINLOG_CHECKSUM if self.log_bin() => {
                self.configure_files();
                // Dumps begin the next file with the new checksum. A log that has stopped has no next file.
                match &self.backend().binlog {
                    EventLog::OneLog(log) => drop(log.rotate()),
                    EventLog::Files(_) => drop(self.committer().next_file(&[])),
                }
            }
            Var::SYNC_BINLOG
            | Var::BINLOG_CACHE_SIZE
            | Var::MAX_BINLOG_CACHE_SIZE
            | Var::BINLOG_LARGE_COMMIT_THRESHOLD
            | Var::BINLOG_ROW_METADATA
            | Var::BINLOG_GTID_INDEX
            | Var::BINLOG_GTID_INDEX_PAGE_SIZE
            | Var::BINLOG_GTID_INDEX_SPAN_MIN
            | Var::SERVER_ID => self.configure_files(),
            Var::MAX_BINLOG_TOTAL_SIZE => self.expire_logs(),
            Var::EXPIRE_LOGS_DAYS => {
                let seconds = (setting.as_f64() * 86400.0).round() as u64;
                self.variables.set(Var::BINLOG_EXPIRE_LOGS_SECONDS, Setting::UInt(seconds));
                self.expire_logs();
            }
            Var::BINLOG_EXPIRE_LOGS_SECONDS => {
                let days = setting.as_u64() as f64 / 86400.0;
                self.variables.set(Var::EXPIRE_LOGS_DAYS, Setting::Double(days));
                self.expire_logs();
            }
            _ => {}
        }
    }

    /// What replication needs when the server starts.
    pub(crate) fn start_replication(&self) {
        self.note_unused_options();
        for note in &self.backend().notes {
            self.log(Severity::Note, 0, note);
        }
        let days = self.variables.get(Var::EXPIRE_LOGS_DAYS);
        if days.as_f64() > 0.0 && self.variables.u64(Var::BINLOG_EXPIRE_LOGS_SECONDS) == 0 {
            self.apply_replication_global(Var::EXPIRE_LOGS_DAYS, &days);
        }
        self.semi_sync.set_ceiling(self.backend().kernel.trxs.ceiling());
        self.committer().set_gate(Arc::new(SemiSyncGate(Arc::clone(&self.semi_sync))));
        self.configure_semi_sync();
    }

    /// Semi-synchronous commits work as the variables say.
    pub(crate) fn configure_semi_sync(&self) {
        let v = &self.variables;
        self.semi_sync.configure(SemiSyncConfig {
            enabled: v.u64(Var::RPL_SEMI_SYNC_MASTER_ENABLED) != 0 && self.log_bin(),
            timeout: Duration::from_millis(v.u64(Var::RPL_SEMI_SYNC_MASTER_TIMEOUT)),
            wait_no_slave: v.u64(Var::RPL_SEMI_SYNC_MASTER_WAIT_NO_SLAVE) != 0,
            wait_point: match v.u64(Var::RPL_SEMI_SYNC_MASTER_WAIT_POINT) {
                0 => WaitPoint::AfterSync,
                _ => WaitPoint::AfterCommit,
            },
            slave_count: v.u64(Var::RPL_SEMI_SYNC_MASTER_WAIT_FOR_SLAVE_COUNT) as usize,
        });
    }

    /// `@@gtid_current_pos`: what this server wrote itself, and for other domains what it replicated.
    pub(crate) fn gtid_current_position(&self) -> String {
        let own = self.variables.u64(Var::SERVER_ID) as u32;
        let written = self.committer().positions();
        let mut position =
            parse_position(self.variables.get(Var::GTID_SLAVE_POS).as_str()).unwrap_or_default();
        for gtid in written.last().filter(|g| g.server_id == own) {
            match position.iter_mut().find(|g| g.domain_id == gtid.domain_id) {
                Some(old) if old.seq_no < gtid.seq_no => *old = gtid,
                Some(_) => {}
                None => position.push(gtid),
            }
        }
        position.sort_unstable();
        format_list(&position)
    }
}

/// Tells semi-synchronous replication of commits in their order.
struct SemiSyncGate(Arc<replication::SemiSync>);

impl commit::CommitGate for SemiSyncGate {
    fn is_open(&self) -> bool {
        !self.0.is_enabled()
    }
    fn announce(&self, next: Lsn) {
        self.0.announce(next);
    }
    fn written(&self, written: Option<commit::Written>) {
        self.0.written(written.map(|w| (w.record.start, w.record.end, w.place)));
    }
    fn begins_anew(&self) {
        self.0.begins_anew();
    }
}

fn refused_here(e: ClientError) -> SqlError {
    SqlError::Other { errno: e.errno, state: e.state, text: e.text.into_owned() }
}

/// BINLOG_GTID_POS, MASTER_POS_WAIT, MASTER_GTID_WAIT.
pub(crate) fn function(
    server: &Server,
    entry: &Entry,
    which: SessionValue,
    args: &[Value],
) -> SqlResult<Value> {
    let unavailable = |what| Err(refused_here(refused::not_with_engine_binlog(what)));
    match (which, &server.backend().binlog) {
        (SessionValue::BinlogGtidPos, EventLog::Files(files)) => Ok(gtid_position_at(files, args)),
        // This server replicates from nobody.
        (SessionValue::MasterPosWait, EventLog::Files(_)) => Ok(Value::Null),
        (SessionValue::BinlogGtidPos, _) => unavailable("BINLOG_GTID_POS()"),
        (SessionValue::MasterPosWait, _) => unavailable("MASTER_POS_WAIT()"),
        _ => gtid_wait(server, entry, args),
    }
}

/// The GTID position at a place in a file; NULL when no event begins there.
fn gtid_position_at(files: &Files, args: &[Value]) -> Value {
    if args.iter().any(Value::is_null) {
        return Value::Null;
    }
    let (name, place) = (crate::text::to_string(&args[0]), crate::text::as_i64(&args[1]).max(4) as u64);
    let known = files.files();
    let named = known.iter().find(|f| name.is_empty() || files.names().file(f.number) == name);
    let position = named.and_then(|file| {
        let (start, state) = files.nearest(file.number, place).ok()?;
        let mut positions = GtidPositions::from_gtids(state);
        let mut events = files.events(file.number).ok()?;
        events.seek(events.at().max(start));
        let mut bytes = Vec::new();
        while events.at() < place {
            let header = events.peek().ok()??;
            if header.kind != EventKind::GTID {
                events.skip(&header);
                continue;
            }
            events.take(&header, &mut bytes).ok()?;
            if let Event::Gtid(e) = event_format::read(&bytes, events.checksum()).ok()?.1 {
                let (domain_id, seq_no) = (e.domain_id, e.seq_no);
                positions.advance(Gtid { domain_id, server_id: header.server_id, seq_no });
            }
        }
        (events.at() == place).then(|| format_list(&positions.last().collect::<Vec<_>>()))
    });
    position.map_or(Value::Null, |text| Value::utf8(&text))
}

/// 0 when the replicated position has what is asked for, -1 when the time is over first.
fn gtid_wait(server: &Server, entry: &Entry, args: &[Value]) -> SqlResult<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let wanted =
        parse_state(&crate::text::to_string(&args[0])).map_err(|e| refused_here(gtid_list_error(e)))?;
    let seconds = args.get(1).filter(|v| !v.is_null()).map(crate::text::as_f64);
    let limit = seconds.filter(|s| *s >= 0.0).map(|s| server.now_us().saturating_add((s * 1e6) as u64));
    loop {
        let position = parse_position(server.variables.get(Var::GTID_SLAVE_POS).as_str()).unwrap_or_default();
        let has = |w: &Gtid| position.iter().any(|p| p.domain_id == w.domain_id && p.seq_no >= w.seq_no);
        if wanted.iter().all(has) {
            return Ok(Value::Int(0));
        }
        if entry.killed() != Kill::No {
            return Err(SqlError::Interrupted);
        }
        let left = limit.map(|l| l.saturating_sub(server.now_us()));
        if left == Some(0) {
            return Ok(Value::Int(-1));
        }
        let left = Duration::from_micros(left.unwrap_or(u64::MAX));
        server.clock().sleep(left.min(WAIT_TICK));
    }
}

impl Session {
    /// binlog_format=STATEMENT: the log has rows whatever the format; what MariaDB refuses to log as a statement is refused.
    pub(crate) fn check_binlog_format(&self) -> Result<(), ClientError> {
        let logged = self.settings.numbering.is_some();
        if logged && self.settings.statement_format && self.isolation() < Isolation::RepeatableRead {
            return Err(refused::statement_format_unsafe());
        }
        Ok(())
    }

    /// Whether a commit may have its number: gtid_strict_mode refuses a chosen one that goes back. The number is used up either way.
    pub(crate) fn check_numbering(&mut self, numbering: Option<Numbering>) -> Result<(), ClientError> {
        let refused = numbering.map_or(Ok(()), |numbering| self.check_order(numbering));
        if refused.is_err() {
            self.forget_seq_no();
        }
        refused
    }

    fn check_order(&self, numbering: Numbering) -> Result<(), ClientError> {
        let Numbering { domain_id, server_id, seq_no: Some(seq_no), .. } = numbering else {
            return Ok(());
        };
        if self.server().variables.u64(Var::GTID_STRICT_MODE) == 0 {
            return Ok(());
        }
        let state = self.server().committer().positions().state();
        let newest = state.iter().filter(|g| g.domain_id == domain_id).max_by_key(|g| g.seq_no);
        match newest {
            Some(last) if last.seq_no >= seq_no => {
                let gtid = Gtid { domain_id, server_id, seq_no };
                Err(refused::gtid_out_of_order(&gtid.to_string(), &last.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// What follows a commit: its GTID becomes the session's last, and with semi-synchronous commits the session waits for replicas.
    pub(crate) fn after_commit(&mut self, done: &commit::Done) {
        if done.gtid.is_some() {
            self.last_gtid = done.gtid;
            self.forget_seq_no();
        }
        let server = Arc::clone(self.server());
        let (true, Some(end)) = (server.semi_sync.is_enabled(), done.end) else { return };
        if done.gtid.is_none() {
            return server.semi_sync.wait_visible(end);
        }
        let killed = || self.entry.killed() != Kill::No && !server.is_stopping();
        if let Some(place) = done.place {
            // Dump threads make durable what they send of a file.
            server.semi_sync.wait(place, &killed);
        } else if server.backend().engine.log().wait_durable(end).is_ok() {
            // Only what is durable is sent. A log that has stopped ends the server, and nobody acknowledges any more.
            server.semi_sync.wait(end, &killed);
        }
    }

    /// `SET gtid_seq_no` is for one commit.
    fn forget_seq_no(&mut self) {
        if self.variables.u64(Var::GTID_SEQ_NO) != 0 {
            self.variables.set(Var::GTID_SEQ_NO, Setting::UInt(0));
            self.refresh_settings();
        }
    }
}
