//! The state of one connection between statements.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use accounts::Rights;
use base::{Gtid, TableId};
use catalog::{SessionCatalog, TableHandle};
use charset::{Charset, Collation};
use client_error::ClientError;
use sql_exec::Workspace;
use sql_syntax::Arena;
use types::{Context, Random, SqlMode, Value};
use wire::{Capabilities, OkPacket, Status};

use crate::connection::Incoming;
use crate::diagnostics::{Condition, Diagnostics, Level};
use crate::handshake::{Identity, Origin};
use crate::login_limits::Place;
use crate::output::Output;
use crate::prepared::PreparedStatements;
use crate::program::{Names, Program, Programs};
use crate::query_log::Accesses;
use crate::registry::Entry;
use crate::server::Server;
use crate::settings::{Fixed, Settings};
use crate::table_locks::TableLocks;
use crate::track::{self, Tracker};
use crate::transaction::Transaction;
use crate::transport::Transport;
use crate::user_locks::UserLocks;
use crate::variables::{SessionVariables, Setting, Var};

/// Query numbers a session takes from the server at once.
const QUERY_ID_BLOCK: u64 = 1024;

/// The server, behind a count of this connection's own: the server's is shared by all connections, and touching it in every
/// statement would cost them a cache line.
#[derive(Clone)]
pub(crate) struct ServerHandle(Arc<Shared>);

struct Shared(Arc<Server>);

impl std::ops::Deref for ServerHandle {
    type Target = Arc<Server>;
    fn deref(&self) -> &Arc<Server> {
        &self.0.0
    }
}

pub(crate) struct Session {
    server: ServerHandle,
    pub entry: Arc<Entry>,
    pub identity: Identity,
    pub origin: Origin,
    /// What it may do.
    pub(crate) rights: Arc<Rights>,
    /// Nothing but a change of the password is allowed.
    pub(crate) password_expired: bool,
    /// Among the connections of its account.
    pub(crate) place: Option<Place>,
    pub variables: SessionVariables,
    pub settings: Settings,
    /// The default database; empty when none is chosen.
    pub database: Arc<str>,
    /// `@name`, by lower case name.
    pub user_variables: HashMap<Box<str>, Value>,
    pub diagnostics: Diagnostics,
    pub tracker: Tracker,
    pub transaction: Transaction,
    /// The tables as this session sees them; behind `transaction`, which must have ended before temporary tables go.
    pub catalog: Arc<SessionCatalog>,
    pub prepared: PreparedStatements,
    /// What HANDLER has opened.
    pub(crate) handlers: Vec<crate::handler::Open>,
    pub user_locks: UserLocks,
    pub programs: Programs,
    /// Names of the stored program around the running statement; their values are `params`.
    pub locals: Option<Arc<Names>>,
    /// The stored program that runs.
    pub running: Option<Arc<Program>>,
    /// Rows that statements of the running CALL have changed.
    pub affected_in_call: u64,
    /// Values that CALL has for parameters of the prepared statement.
    pub out_params: Vec<(u16, Value)>,
    /// Conditions whose handlers run, outermost first.
    pub handled: Vec<Condition>,
    /// Tables of a statement that may run programs: those must not change them.
    pub in_use: Vec<Arc<TableHandle>>,
    /// The error on its way to the client stands among the conditions already.
    pub error_recorded: bool,
    /// The row that the statement was at when it failed.
    pub error_row: u64,
    /// A result set went out since this was false.
    pub sent_rows: bool,
    /// What the client has sent for LOAD DATA LOCAL.
    pub upload: Option<Vec<u8>>,
    pub table_locks: TableLocks,
    pub multi_statements: bool,
    /// What LASTVAL() says, by the sequence's table.
    pub last_values: HashMap<TableId, i128>,
    /// What LAST_INSERT_ID() says.
    pub last_insert_id: u64,
    /// `SET insert_id`: the next AUTO_INCREMENT value of one statement.
    pub next_insert_id: u64,
    pub found_rows: u64,
    pub row_count: i64,
    /// `SET timestamp`: NOW() in microseconds; None = the clock's.
    pub fixed_now_us: Option<i64>,
    /// The GTID of the last commit of this session.
    pub last_gtid: Option<Gtid>,
    /// Values of the running statement's parameters.
    pub params: Vec<Value>,
    /// What the value library works with.
    pub values: Context,
    pub workspace: Workspace,
    /// Text of the running statement, when its rows' events want it.
    pub(crate) annotation: Vec<u8>,
    /// How the running statement finds its rows, while the slow query log is on.
    pub(crate) accesses: Accesses,
    /// Statements that were slow, for log_slow_rate_limit.
    pub(crate) slow_seen: u64,
    /// The database of the last one that was logged.
    pub(crate) slow_database: Arc<str>,
    /// What BINLOG statements said of the events that follow.
    pub(crate) replay: crate::replay::Replay,
    /// Rows of a SHOW while its WHERE is evaluated.
    pub(crate) shown: Vec<Vec<Value>>,
    /// Grows when a setting changes that shapes plans.
    pub plan_generation: u64,
    pub(crate) arena: Option<Arena>,
    fixed: Fixed,
    /// For timeouts that statements change.
    pub(crate) transport: Option<Arc<dyn Transport>>,
    next_query_id: u64,
    last_query_id: u64,
    limits_changed: bool,
}

impl Session {
    pub(crate) fn new(server: Arc<Server>, entry: Arc<Entry>, identity: Identity, origin: Origin) -> Self {
        let variables = SessionVariables::new(&server.variables);
        let fixed = Fixed {
            log_bin: server.log_bin(),
            binlog_in_files: server.backend().binlog.is_in_files(),
            found_rows: identity.capabilities.contains(Capabilities::FOUND_ROWS),
        };
        let settings = Settings::of(&variables, fixed);
        let transaction = Transaction::new(&server, &entry);
        let catalog = SessionCatalog::new(server.dictionary());
        let mut session = Self {
            multi_statements: identity.capabilities.contains(Capabilities::MULTI_STATEMENTS),
            server: ServerHandle(Arc::new(Shared(server))),
            fixed,
            entry,
            identity,
            origin,
            rights: Arc::new(Rights::unlimited()),
            password_expired: false,
            place: None,
            variables,
            settings,
            database: Arc::from(""),
            user_variables: HashMap::new(),
            diagnostics: Diagnostics::default(),
            tracker: Tracker::default(),
            user_locks: UserLocks::new((*transaction.mdl).clone()),
            upload: None,
            table_locks: TableLocks::default(),
            programs: Programs::default(),
            locals: None,
            running: None,
            affected_in_call: 0,
            out_params: Vec::new(),
            handled: Vec::new(),
            in_use: Vec::new(),
            error_recorded: false,
            error_row: 0,
            sent_rows: false,
            transaction,
            catalog,
            prepared: PreparedStatements::default(),
            handlers: Vec::new(),
            last_values: HashMap::new(),
            last_insert_id: 0,
            next_insert_id: 0,
            found_rows: 0,
            row_count: 0,
            fixed_now_us: None,
            last_gtid: None,
            params: Vec::new(),
            values: Context { random: Random::seeded(env::random::seed() as u32), ..Context::default() },
            workspace: Workspace::default(),
            annotation: Vec::new(),
            accesses: Accesses::default(),
            slow_seen: 0,
            slow_database: Arc::from(""),
            replay: crate::replay::Replay::default(),
            shown: Vec::new(),
            plan_generation: 0,
            arena: None,
            transport: None,
            next_query_id: 0,
            last_query_id: 0,
            limits_changed: true,
        };
        session.refresh_values();
        session.start_tracking();
        session
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }
    /// For the length of a statement, apart from the session.
    pub(crate) fn server_handle(&self) -> ServerHandle {
        self.server.clone()
    }
    pub(crate) fn now_us(&self) -> u64 {
        self.server.now_us()
    }
    /// `'root'@'localhost'`, as messages name it.
    pub(crate) fn account(&self) -> String {
        format!("'{}'@'{}'", self.identity.account_user, self.identity.account_host)
    }

    /// What the client asked for when it logged in: character set and database.
    pub(crate) fn log_in(&mut self) -> Result<(), ClientError> {
        self.take_role(&self.default_role());
        self.password_expired = self.identity.password_expired;
        self.take_place()?;
        if self.identity.capabilities.contains(Capabilities::INTERACTIVE) {
            let timeout = self.variables.get(Var::INTERACTIVE_TIMEOUT).clone();
            self.variables.set(Var::WAIT_TIMEOUT, timeout);
        }
        let asked = Collation::by_id(self.identity.collation).map(Collation::charset);
        self.set_names(asked.unwrap_or(Charset::Utf8mb4), None);
        self.tracker.forget();
        let database = std::mem::take(&mut self.identity.database);
        if database.is_empty() { Ok(()) } else { self.use_database(&String::from_utf8_lossy(&database)) }
    }

    /// The connection ends: everything it holds is given back.
    pub(crate) fn end(&mut self) {
        self.release_all_locks();
        self.detach_branch();
        self.transaction.abandon();
        self.catalog.drop_temporaries();
        self.handlers.clear();
        self.server.forget_prepared(self.prepared.count() as u64);
    }

    /// As after a log-in by the same user: COM_RESET_CONNECTION and COM_CHANGE_USER.
    pub(crate) fn reset(&mut self) {
        self.release_all_locks();
        self.detach_branch();
        self.transaction.abandon();
        self.catalog.drop_temporaries();
        self.handlers.clear();
        self.entry.set_in_transaction(false);
        self.server.forget_prepared(self.prepared.count() as u64);
        self.prepared = PreparedStatements::default();
        let (client, results) = (self.settings.client, self.settings.results);
        let connection = self.settings.connection;
        self.variables = SessionVariables::new(&self.server.variables);
        self.variables.set(Var::CHARACTER_SET_CLIENT, Setting::Charset(client));
        self.variables.set(Var::CHARACTER_SET_RESULTS, results.map_or(Setting::Null, Setting::Charset));
        self.variables.set(Var::CHARACTER_SET_CONNECTION, Setting::Charset(connection.charset()));
        self.variables.set(Var::COLLATION_CONNECTION, Setting::Collation(connection));
        self.user_variables.clear();
        self.replay = crate::replay::Replay::default();
        self.locals = None;
        self.handled.clear();
        self.error_recorded = false;
        self.diagnostics.clear();
        self.last_values.clear();
        self.last_insert_id = 0;
        self.next_insert_id = 0;
        self.fixed_now_us = None;
        self.refresh_settings();
        self.start_tracking();
    }

    fn start_tracking(&mut self) {
        self.tracker.set_variables(self.variables.get(Var::SESSION_TRACK_SYSTEM_VARIABLES).as_str());
        self.tracker.schema = self.variables.bool(Var::SESSION_TRACK_SCHEMA);
        self.tracker.state_change = self.variables.bool(Var::SESSION_TRACK_STATE_CHANGE);
    }

    /// Renews what is derived from variables; call after any of them changed.
    pub(crate) fn refresh_settings(&mut self) {
        self.settings = Settings::of(&self.variables, self.fixed);
        self.plan_generation += 1;
        self.start_tracking();
        self.refresh_values();
        self.limits_changed = true;
    }

    fn refresh_values(&mut self) {
        let s = &self.settings;
        self.values = Context {
            sql_mode: s.sql_mode,
            div_precision_increment: self.variables.u64(Var::DIV_PRECISION_INCREMENT) as u8,
            time_zone: s.time_zone.clone(),
            max_allowed_packet: s.max_allowed_packet,
            collation: s.connection,
            max_warnings: s.max_error_count as usize,
            interrupted: Some(self.entry.interrupt_flag()),
            random: self.values.random,
            ..Context::default()
        };
    }

    /// What conversions of values need to know, for one that has no statement around it.
    pub(crate) fn context(&self) -> Context {
        Context { warnings: Vec::new(), ..self.values.clone() }
    }

    /// SET NAMES without its errors.
    pub(crate) fn set_names(&mut self, charset: Charset, collation: Option<Collation>) {
        let collation = collation.unwrap_or(Collation::default_of(charset));
        self.variables.set(Var::CHARACTER_SET_CLIENT, Setting::Charset(charset));
        self.variables.set(Var::CHARACTER_SET_RESULTS, Setting::Charset(charset));
        self.variables.set(Var::CHARACTER_SET_CONNECTION, Setting::Charset(charset));
        self.variables.set(Var::COLLATION_CONNECTION, Setting::Collation(collation));
        for var in [Var::CHARACTER_SET_CLIENT, Var::CHARACTER_SET_CONNECTION, Var::CHARACTER_SET_RESULTS] {
            self.tracker.variable_changed(var.name());
        }
        self.refresh_settings();
    }

    /// The client is silent: gives memory back that the next statement can have anew.
    pub(crate) fn rest(&mut self) {
        self.arena = None;
        self.workspace = Workspace::default();
        self.annotation = Vec::new();
        self.upload = None;
        self.params.shrink_to_fit();
        self.shown = Vec::new();
    }

    /// Tells the receiving half what the variables say, when they changed.
    pub(crate) fn apply_limits(&mut self, incoming: &mut Incoming) {
        if !std::mem::take(&mut self.limits_changed) {
            return;
        }
        let seconds = |var| Duration::from_secs(self.variables.u64(var));
        let max = self.settings.max_allowed_packet as usize;
        incoming.set_limits(max, seconds(Var::WAIT_TIMEOUT), seconds(Var::NET_READ_TIMEOUT));
        if let Some(transport) = &self.transport {
            // A socket that takes no timeout any more fails at its next use.
            let _ = transport.set_write_timeout(seconds(Var::NET_WRITE_TIMEOUT));
        }
    }

    /// A number for a new statement.
    pub(crate) fn new_query_id(&mut self) {
        if self.next_query_id == self.last_query_id {
            self.next_query_id = self.server.take_query_ids(QUERY_ID_BLOCK);
            self.last_query_id = self.next_query_id + QUERY_ID_BLOCK;
        }
        self.entry.set_query_id(self.next_query_id);
        self.next_query_id += 1;
    }

    /// A database is gone: if it was the chosen one, none is.
    pub(crate) fn forget_database(&mut self, name: &str) {
        if *self.database != *name {
            return;
        }
        self.database = Arc::from("");
        let of_server = [
            (Var::CHARACTER_SET_DATABASE, self.variables.get(Var::CHARACTER_SET_SERVER).clone()),
            (Var::COLLATION_DATABASE, self.variables.get(Var::COLLATION_SERVER).clone()),
        ];
        of_server.into_iter().for_each(|(var, setting)| self.variables.set(var, setting));
        self.entry.set_database(None);
        self.tracker.schema_changed();
    }

    /// USE.
    pub(crate) fn use_database(&mut self, name: &str) -> Result<(), ClientError> {
        if name.is_empty() {
            return Err(client_error::connection::no_database_selected());
        }
        self.need_visible(name)?;
        let found = self.server.find_database(name)?;
        self.database = Arc::from(found.name.as_str());
        self.variables.set(Var::CHARACTER_SET_DATABASE, Setting::Charset(found.collation.charset()));
        self.variables.set(Var::COLLATION_DATABASE, Setting::Collation(found.collation));
        self.entry.set_database(Some(Arc::clone(&self.database)));
        self.tracker.schema_changed();
        Ok(())
    }

    pub(crate) fn warn(&mut self, level: Level, error: ClientError) {
        self.warn_at(level, error, 0);
    }
    /// A condition of the statement's row number `row`.
    pub(crate) fn warn_at(&mut self, level: Level, error: ClientError, row: u64) {
        if level == Level::Note && !self.settings.sql_notes {
            return;
        }
        self.diagnostics.add_condition(Condition::at_row(level, error, row), self.settings.max_error_count);
    }

    /// Status flags of the next OK or EOF packet.
    pub(crate) fn status(&self) -> Status {
        track::status(
            self.settings.autocommit,
            self.transaction.is_active(),
            self.transaction.is_read_only(),
            self.settings.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES),
        )
    }

    /// The OK packet of the log-in, with the state that is tracked.
    pub(crate) fn first_ok(&mut self, out: &mut Output) {
        for name in self.tracker.tracked().to_vec() {
            if let Some(var) = Var::by_name(name.as_bytes()) {
                self.tracker.variable_changed(var.name());
            }
        }
        if !self.database.is_empty() {
            self.tracker.schema_changed();
        }
        let info = std::mem::take(&mut self.identity.proof);
        self.send_ok(out, &Done { info, ..Done::default() }, false);
    }

    /// Encoded session state since the last OK packet; empty when the client does not want it.
    pub(crate) fn take_state(&mut self, caps: Capabilities) -> Vec<u8> {
        let mut state = Vec::new();
        if self.tracker.is_empty() {
            return state;
        }
        if !caps.contains(Capabilities::SESSION_TRACK) {
            self.tracker.forget();
            return state;
        }
        let variables = &self.variables;
        let text = |name: &str| match Var::by_name(name.as_bytes()) {
            Some(var) => variables.get(var).text(var.def()).unwrap_or_default(),
            None => Cow::Borrowed(""),
        };
        self.tracker.take(&mut state, text, &self.database);
        state
    }

    /// An OK packet for a statement without rows.
    pub(crate) fn send_ok(&mut self, out: &mut Output, done: &Done, more: bool) {
        let state = self.take_state(out.capabilities);
        out.ok(&OkPacket {
            affected_rows: done.affected_rows,
            last_insert_id: done.insert_id,
            status: self.status().set(Status::MORE_RESULTS, more),
            warnings: self.diagnostics.wire_count(),
            info: done.info.as_bytes(),
            session_state: &state,
        });
    }
}

/// What a statement without rows did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub affected_rows: u64,
    pub insert_id: u64,
    pub info: String,
}
