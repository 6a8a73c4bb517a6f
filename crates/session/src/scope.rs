//! What expressions see of a session: variables, identity, counts of the statement before.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use accounts::Rights;
use base::{Gtid, TableId};
use catalog::mdl::MdlHandle;
use catalog::program::RoutineDef;
use catalog::{SessionCatalog, TableHandle};
use sql_exec::{Firing, Inside, RoutineState, SessionState, Work};
use sql_plan::Variables;
use sql_plan::error::{SqlError, SqlResult, Warnings};
use sql_plan::expr::{RoutineCall, SessionValue};
use sql_plan::guard::Guard;
use storage::trx::TrxOptions;
use types::Value;

use crate::counters::Counter;
use crate::program::Programs;
use crate::registry::{Entry, Kill};
use crate::server::Server;
use crate::session::Session;
use crate::set::value_of;
use crate::user_locks::UserLocks;
use crate::variables::{Scope, SessionVariables, Setting, Var};

/// The virtual table of a SHOW with WHERE.
pub(crate) const SHOWN: &str = "SHOW";

/// The parts of a session that expressions read and write, borrowed apart from its transaction.
pub(crate) struct SessionScope<'a> {
    pub(crate) server: &'a Server,
    pub(crate) entry: &'a Entry,
    pub(crate) variables: &'a SessionVariables,
    pub(crate) computed: Computed<'a>,
    pub(crate) user_variables: &'a mut HashMap<Box<str>, Value>,
    pub(crate) last_insert_id: &'a mut u64,
    /// What LASTVAL() says.
    pub(crate) last_values: &'a mut HashMap<TableId, i128>,
    /// How a transaction of its own is begun and numbered.
    pub(crate) trx_options: TrxOptions,
    pub(crate) numbering: Option<commit::Numbering>,
    pub(crate) row_count: i64,
    pub(crate) found_rows: u64,
    pub(crate) user: &'a str,
    pub(crate) origin_host: &'a str,
    /// Those of the session; see [`Self::rights`].
    pub(crate) own_rights: &'a Arc<Rights>,
    /// Those of the definer whose function or trigger runs.
    pub(crate) acting: Option<Arc<Rights>>,
    pub(crate) tls: Option<&'a crate::tls::TlsFacts>,
    pub(crate) shown: &'a [Vec<Value>],
    pub(crate) user_locks: &'a mut UserLocks,
    /// What the client has sent for LOAD DATA LOCAL.
    pub(crate) upload: &'a mut Option<Vec<u8>>,
    pub(crate) programs: &'a mut Programs,
    /// Tables of the statements around, which programs must not change.
    pub(crate) in_use: &'a mut Vec<Arc<TableHandle>>,
    pub(crate) plan_generation: u64,
    pub(crate) read_only: bool,
    /// The database of the function or trigger that runs.
    pub(crate) database: Option<Arc<str>>,
    /// Its sql_mode.
    pub(crate) sql_mode: Option<u64>,
    pub(crate) mdl: &'a MdlHandle,
    pub(crate) catalog: &'a Arc<SessionCatalog>,
    /// The error on its way out stands among the statement's conditions already.
    pub(crate) error_recorded: &'a mut bool,
}

/// What a program's definer took the place of.
pub(crate) struct Acted {
    acting: Option<Arc<Rights>>,
    plan_generation: u64,
}

impl SessionScope<'_> {
    /// The privileges that count now.
    pub(crate) fn rights(&self) -> &Arc<Rights> {
        self.acting.as_ref().unwrap_or(self.own_rights)
    }

    /// Takes over the privileges of an account: a function's or trigger's definer. [`Self::work_again_as`] undoes it.
    ///
    /// # Errors
    /// There is no such account.
    pub(crate) fn work_as(&mut self, (user, host): &(String, String)) -> SqlResult<Acted> {
        let before = Acted { acting: self.acting.clone(), plan_generation: self.plan_generation };
        let rights = self.rights();
        if user == rights.user() && host == rights.account_host() {
            return Ok(before);
        }
        let definer = self.programs.definer(self.own_rights.accounts(), user, host)?;
        // Plans of a program that runs with its caller's rights are good for this caller alone.
        let mut mixed = std::hash::DefaultHasher::new();
        (user, host, self.plan_generation).hash(&mut mixed);
        self.plan_generation = mixed.finish() | 1 << 63;
        self.acting = Some(definer);
        Ok(before)
    }

    pub(crate) fn work_again_as(&mut self, before: Acted) {
        self.acting = before.acting;
        self.plan_generation = before.plan_generation;
    }

    /// Runs `body` with what the planner needs for a statement of a function or trigger.
    pub(crate) fn with_planner<R>(
        &self,
        schema: &str,
        values: &types::Context,
        names: Option<&crate::program::Names>,
        body: impl FnOnce(&sql_plan::PlanContext<'_>) -> R,
    ) -> R {
        let rights = self.rights();
        let account = format!("'{}'@'{}'", rights.user(), rights.account_host());
        let variables = PlanVariables { rights, ..PlanVariables::of(self) };
        body(&sql_plan::PlanContext {
            catalog: self.catalog.snapshot(),
            database: schema,
            sql_mode: values.sql_mode,
            connection_collation: values.collation,
            div_precision_increment: values.div_precision_increment,
            variables: &variables,
            user: &account,
            locked: None,
            locals: names.map(|n| n as &dyn sql_plan::Locals),
            virtual_table: &crate::information_schema::table,
        })
    }
}

/// Values of variables that are not stored but worked out.
#[derive(Clone, Copy)]
pub(crate) struct Computed<'a> {
    pub database: &'a str,
    pub warnings: u64,
    pub errors: u64,
    pub last_insert_id: u64,
    pub next_insert_id: u64,
    pub now_us: i64,
    pub in_transaction: bool,
    pub connection: u64,
    pub last_gtid: Option<Gtid>,
}

impl Computed<'_> {
    /// The value of `var` when it is one of those.
    pub(crate) fn setting(&self, server: &Server, var: Var) -> Option<Setting> {
        Some(match var {
            Var::WARNING_COUNT => Setting::UInt(self.warnings),
            Var::ERROR_COUNT => Setting::UInt(self.errors),
            Var::LAST_INSERT_ID | Var::IDENTITY => Setting::UInt(self.last_insert_id),
            Var::INSERT_ID => Setting::UInt(self.next_insert_id),
            Var::TIMESTAMP => Setting::Double(self.now_us as f64 / 1e6),
            Var::IN_TRANSACTION => Setting::UInt(u64::from(self.in_transaction)),
            Var::PSEUDO_THREAD_ID => Setting::UInt(self.connection),
            Var::LAST_GTID => Setting::Text(self.last_gtid.map(|g| g.to_string()).unwrap_or_default().into()),
            Var::GTID_BINLOG_POS => Setting::Text(server.gtid_position().into()),
            Var::GTID_CURRENT_POS => Setting::Text(server.gtid_current_position().into()),
            Var::GTID_BINLOG_STATE => Setting::Text(server.gtid_state().into()),
            _ => return None,
        })
    }
}

impl Session {
    pub(crate) fn computed(&self) -> Computed<'_> {
        Computed { database: &self.database, ..self.computed_without_database() }
    }

    pub(crate) fn computed_without_database(&self) -> Computed<'static> {
        Computed {
            database: "",
            warnings: self.diagnostics.warning_count(),
            errors: self.diagnostics.error_count(),
            last_insert_id: self.last_insert_id,
            next_insert_id: self.next_insert_id,
            now_us: self.now_micros(),
            in_transaction: self.transaction.is_active(),
            connection: self.entry.id,
            last_gtid: self.last_gtid,
        }
    }

    /// A system variable's value, computed ones included.
    pub(crate) fn variable(&self, var: Var, global: bool) -> Cow<'_, Setting> {
        if !global && let Some(setting) = self.computed().setting(self.server(), var) {
            return Cow::Owned(setting);
        }
        if global || var.def().scope == Scope::Global {
            if let Some(setting) = self.computed().setting(self.server(), var) {
                return Cow::Owned(setting);
            }
            return Cow::Owned(self.server().variables.get(var));
        }
        Cow::Borrowed(self.variables.get(var))
    }

    /// NOW() of the running statement, microseconds since 1970.
    pub(crate) fn now_micros(&self) -> i64 {
        self.fixed_now_us.unwrap_or_else(|| self.server().wall_us())
    }
}

fn system_value(
    server: &Server,
    variables: &SessionVariables,
    computed: &Computed<'_>,
    name: &str,
    global: bool,
) -> Option<Value> {
    let var = Var::by_name(name.as_bytes())?;
    if let Some(setting) = computed.setting(server, var) {
        return Some(value_of(var, &setting));
    }
    if global || var.def().scope == Scope::Global {
        return Some(value_of(var, &server.variables.get(var)));
    }
    Some(value_of(var, variables.get(var)))
}

impl SessionState for SessionScope<'_> {
    fn user_variable(&self, name: &str) -> Value {
        self.user_variables.get(name).cloned().unwrap_or_default()
    }
    fn set_user_variable(&mut self, name: &str, value: &Value) {
        self.user_variables.insert(name.into(), value.clone());
    }
    fn system_variable(&self, name: &str, global: bool) -> Option<Value> {
        if let Some(mode) = self.sql_mode.filter(|_| !global && name == Var::SQL_MODE.name()) {
            return Some(value_of(Var::SQL_MODE, &Setting::Bits(mode)));
        }
        system_value(self.server, self.variables, &self.computed, name, global)
    }
    fn session_value(
        &mut self,
        which: SessionValue,
        args: &[Value],
        warnings: &mut Warnings,
    ) -> SqlResult<Value> {
        Ok(match which {
            SessionValue::Database if self.database.is_some() => {
                Value::utf8(self.database.as_deref().unwrap_or_default())
            }
            SessionValue::Database if self.computed.database.is_empty() => Value::Null,
            SessionValue::Database => Value::utf8(self.computed.database),
            SessionValue::User => Value::utf8(&format!("{}@{}", self.user, self.origin_host)),
            SessionValue::CurrentUser => {
                let rights = self.rights();
                Value::utf8(&format!("{}@{}", rights.user(), rights.account_host()))
            }
            SessionValue::ConnectionId => Value::Int(self.entry.id as i64),
            SessionValue::LastInsertId => match args.first() {
                None => Value::UInt(*self.last_insert_id),
                Some(Value::Null) => {
                    *self.last_insert_id = 0;
                    Value::Null
                }
                Some(v) => {
                    *self.last_insert_id = crate::text::as_i64(v) as u64;
                    Value::UInt(*self.last_insert_id)
                }
            },
            SessionValue::RowCount => Value::Int(self.row_count),
            SessionValue::FoundRows => Value::Int(self.found_rows as i64),
            SessionValue::Version => Value::utf8(crate::handshake::VERSION),
            SessionValue::CurrentRole if self.rights().role().is_empty() => Value::Null,
            SessionValue::CurrentRole => Value::utf8(self.rights().role()),
            SessionValue::GetLock
            | SessionValue::ReleaseLock
            | SessionValue::ReleaseAllLocks
            | SessionValue::IsFreeLock
            | SessionValue::IsUsedLock => return self.user_locks.call(which, args, warnings),
            SessionValue::NextValue | SessionValue::PreviousValue | SessionValue::SetValue => {
                return crate::sequences::value(self, which, args);
            }
            SessionValue::BinlogGtidPos | SessionValue::MasterGtidWait | SessionValue::MasterPosWait => {
                return crate::replicas::function(self.server, self.entry, which, args);
            }
        })
    }
    fn virtual_rows(&mut self, table: &str) -> SqlResult<Vec<Vec<Value>>> {
        if table == SHOWN {
            return Ok(self.shown.to_vec());
        }
        let reader = crate::virtual_tables::Reader {
            server: self.server,
            entry: self.entry,
            variables: self.variables,
            rights: self.rights(),
            user: self.user,
            tls: self.tls,
            user_variables: self.user_variables,
        };
        crate::information_schema::rows(&reader, table)
            .unwrap_or_else(|| Err(SqlError::not_supported(format!("information_schema.{table}"))))
    }
    fn call_routine(
        &mut self,
        call: &RoutineCall,
        args: Vec<Value>,
        inside: Inside<'_>,
    ) -> SqlResult<(Value, Vec<Value>)> {
        crate::program::call_function(self, call, args, inside)
    }
    fn feed_routine(
        &mut self,
        def: &Arc<RoutineDef>,
        row: Option<Vec<Value>>,
        state: &mut RoutineState,
        inside: Inside<'_>,
    ) -> SqlResult<Value> {
        crate::program::feed_function(self, def, row, state, inside)
    }
    fn fire(
        &mut self,
        firing: &Firing<'_>,
        old: &[Value],
        new: &mut [Value],
        inside: Inside<'_>,
    ) -> SqlResult<()> {
        crate::program::fire(self, firing, old, new, inside)
    }
    fn count(&mut self, work: Work, n: u64) {
        let counter = match work {
            Work::RowsRead => Counter::RowsRead,
            Work::SortScan => Counter::SortScan,
            Work::SortRange => Counter::SortRange,
            Work::SortRows => Counter::SortRows,
            Work::SortMergePasses => Counter::SortMergePasses,
            Work::SortLimited => Counter::SortPriorityQueueSorts,
            Work::TemporaryTables => Counter::CreatedTmpTables,
            Work::TemporaryDiskTables => Counter::CreatedTmpDiskTables,
            Work::TemporaryFiles => Counter::CreatedTmpFiles,
            Work::ReadFirst => Counter::HandlerReadFirst,
            Work::ReadKey => Counter::HandlerReadKey,
            Work::ReadLast => Counter::HandlerReadLast,
            Work::ReadNext => Counter::HandlerReadNext,
            Work::ReadPrev => Counter::HandlerReadPrev,
            Work::ReadSorted => Counter::HandlerReadRnd,
            Work::ReadScan => Counter::HandlerReadRndNext,
            Work::RowsWritten => Counter::HandlerWrite,
            Work::RowsUpdated => Counter::HandlerUpdate,
            Work::RowsDeleted => Counter::HandlerDelete,
        };
        self.entry.counters.add(counter, n);
    }
    fn read_file(&mut self, path: &[u8], local: bool) -> SqlResult<Box<dyn std::io::Read>> {
        crate::files::read(self.server, self.upload, path, local)
    }
    fn create_file(&mut self, path: &[u8]) -> SqlResult<Box<dyn std::io::Write>> {
        crate::files::create(self.server, path)
    }
    fn interrupted(&self) -> bool {
        self.entry.killed() != Kill::No
    }
}

/// What the planner asks while it types `@@x`.
pub(crate) struct PlanVariables<'a> {
    pub(crate) server: &'a Server,
    pub(crate) variables: &'a SessionVariables,
    pub(crate) computed: Computed<'a>,
    pub(crate) rights: &'a Arc<Rights>,
    pub(crate) entry: &'a Entry,
}

impl<'a> PlanVariables<'a> {
    pub(crate) fn of(scope: &SessionScope<'a>) -> Self {
        Self {
            server: scope.server,
            variables: scope.variables,
            computed: scope.computed,
            rights: scope.own_rights,
            entry: scope.entry,
        }
    }
}

impl Variables for PlanVariables<'_> {
    fn interrupted(&self) -> Option<Arc<AtomicBool>> {
        Some(self.entry.interrupt_flag())
    }
    fn guard(&self) -> Option<Arc<dyn Guard>> {
        crate::rights::guard(self.rights)
    }
    fn guard_of(&self, user: &str, host: &str) -> SqlResult<Option<Arc<dyn Guard>>> {
        if user == self.rights.user() && host == self.rights.account_host() {
            return Ok(self.guard());
        }
        let definer = crate::rights::of_definer(self.rights.accounts(), user, host)?;
        Ok(crate::rights::guard(&definer))
    }
    fn scope_error(&self, name: &str, global: bool) -> Option<SqlError> {
        let var = Var::by_name(name.as_bytes())?;
        let only = match var.def().scope {
            Scope::Global if !global => "GLOBAL",
            Scope::Session if global => "SESSION",
            _ => return None,
        };
        let error = client_error::connection::variable_of_other_scope(var.name(), only);
        Some(SqlError::Other { errno: error.errno, state: error.state, text: error.text.into_owned() })
    }
    fn system(&self, name: &str, global: bool) -> Option<Value> {
        system_value(self.server, self.variables, &self.computed, name, global)
    }
}
