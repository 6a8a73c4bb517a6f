//! A server in the test's own process: engine on a simulated disk, catalog, planner and executor, one connection.

use std::collections::HashMap;
use std::sync::Arc;

use base::{IndexId, PageNo, SpaceId, TableId};
use catalog::mdl::MdlContext;
use catalog::{Catalog, DictionaryEngine, SessionCatalog};
use charset::Collation;
use client_error::ClientError;
use row_format::{Column, ColumnType, RowLayout, RowView};
use sql_exec::ddl::{DdlContext, execute_ddl, is_ddl};
use sql_exec::{
    ExecContext, ExecSettings, ExplainColumns, Inside, Outcome, RowSink, SessionState, SinkClosed, Workspace,
    admin_of, explain, lock_tables, run, table_admin,
};
use sql_plan::error::{SqlError, SqlResult, Warnings};
use sql_plan::expr::{RoutineCall, SessionValue};
use sql_plan::meta::ColumnMeta;
use sql_plan::plan::Plan;
use sql_plan::{PlanContext, Variables};
use sql_syntax::{ParseOptions, ast};
use storage::btree::TreeKind;
use storage::engine::{Engine, EngineConfig};
use storage::kernel::Kernel;
use storage::row::{KeyRange, RowError};
use storage::table::{Table, TableSpec};
use storage::trx::{Trx, TrxOptions};
use types::{Context, Value};

struct Door {
    engine: Arc<Engine>,
    kernel: Arc<Kernel>,
}

fn refused(e: impl std::fmt::Display) -> RowError {
    RowError::Storage(e.to_string())
}

impl DictionaryEngine for Door {
    fn begin(&self) -> Trx {
        self.kernel.begin(TrxOptions::default())
    }
    fn commit(&self, trx: Trx) -> Result<(), RowError> {
        let appended = trx.commit().map_err(|e| refused(format!("{e:?}")))?;
        match appended {
            Some(a) => self.engine.log().wait_durable(a.end).map_err(|e| refused(format!("{e:?}"))),
            None => Ok(()),
        }
    }
    fn new_table_id(&self) -> TableId {
        self.engine.new_table_id()
    }
    fn create_space(&self) -> Result<SpaceId, RowError> {
        self.engine.create_space().map_err(refused)
    }
    fn create_tree(&self, space: SpaceId, clustered: bool) -> Result<(IndexId, PageNo), RowError> {
        let kind = if clustered { TreeKind::Clustered } else { TreeKind::Secondary };
        self.engine.create_tree(space, kind).map_err(refused)
    }
    fn drop_space(&self, space: SpaceId) -> Result<(), RowError> {
        self.engine.drop_space(space).map_err(refused)
    }
    fn drop_tree(&self, space: SpaceId, index: IndexId, root: PageNo) -> Result<(), RowError> {
        self.engine.drop_tree(space, index, root).map_err(refused)
    }
    fn open_table(&self, spec: TableSpec) -> Arc<Table> {
        self.engine.open_table(spec)
    }
    fn close_table(&self, id: TableId) {
        self.engine.close_table(id);
    }
    fn row_estimate(&self, table: &Table, refresh: bool) -> Option<u64> {
        self.kernel.row_estimate(table, refresh).ok()
    }
    fn records_in_range(&self, table: &Table, index: usize, range: &KeyRange) -> Option<u64> {
        self.kernel.records_in_range(table, index, range).ok()
    }
}

#[derive(Default)]
struct State {
    variables: HashMap<String, Value>,
    last_insert_id: u64,
}

impl SessionState for State {
    fn user_variable(&self, name: &str) -> Value {
        self.variables.get(name).cloned().unwrap_or_default()
    }
    fn set_user_variable(&mut self, name: &str, value: &Value) {
        self.variables.insert(name.to_owned(), value.clone());
    }
    fn system_variable(&self, _: &str, _: bool) -> Option<Value> {
        None
    }
    fn session_value(&mut self, which: SessionValue, _: &[Value], _: &mut Warnings) -> SqlResult<Value> {
        Ok(match which {
            SessionValue::LastInsertId => Value::UInt(self.last_insert_id),
            SessionValue::Database => Value::utf8("t"),
            _ => Value::Null,
        })
    }
    fn virtual_rows(&mut self, _: &str) -> SqlResult<Vec<Vec<Value>>> {
        Ok(Vec::new())
    }
    fn call_routine(
        &mut self,
        _: &RoutineCall,
        _: Vec<Value>,
        _: Inside<'_>,
    ) -> SqlResult<(Value, Vec<Value>)> {
        Err(SqlError::not_supported("functions in this harness"))
    }
    fn interrupted(&self) -> bool {
        false
    }
}

struct NoVariables;
impl Variables for NoVariables {
    fn system(&self, _: &str, _: bool) -> Option<Value> {
        None
    }
}

/// Rows as text, as the mariadb client shows them.
#[derive(Default)]
pub(crate) struct TextSink {
    pub(crate) columns: Vec<ColumnMeta>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
    cx: Context,
}

impl RowSink for TextSink {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<(), SinkClosed> {
        self.columns = columns.to_vec();
        Ok(())
    }
    fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }
    fn packed(&mut self, ty: &ColumnType, bytes: Option<&[u8]>) {
        let layout = RowLayout::new(vec![Column { ty: ty.clone(), nullable: true }]);
        let mut body = vec![if bytes.is_some() { 0xfe } else { 0xff }];
        if let Some(bytes) = bytes {
            body.extend_from_slice(&(bytes.len() as u32).to_le_bytes()[..ty.length_bytes()]);
            body.extend_from_slice(bytes);
        }
        let value = RowView::new(&layout, &body).and_then(|v| v.value(0)).unwrap();
        self.value(&value);
    }
    fn value(&mut self, value: &Value) {
        let mut text = Vec::new();
        let decimals = {
            let at = self.rows.last().map_or(0, Vec::len);
            self.columns.get(at).map(|c| c.ty.decimals)
        };
        let shown = match (value, decimals) {
            (Value::Null, _) => None,
            (Value::Double(v), Some(d)) if d < 31 => {
                types::number::write_f64_fixed(*v, d, &mut text);
                Some(text)
            }
            _ => value.write_text(&self.cx, &mut text).then_some(text),
        };
        self.rows.last_mut().unwrap().push(shown.map(|t| String::from_utf8_lossy(&t).into_owned()));
    }
    fn end_row(&mut self) -> Result<(), SinkClosed> {
        Ok(())
    }
}

/// What a statement answered.
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) sink: TextSink,
}

/// One server with one connection.
pub(crate) struct Server {
    door: Arc<Door>,
    pub(crate) catalog: Arc<SessionCatalog>,
    mdl: MdlContext,
    values: Context,
    pub(crate) warnings: Warnings,
    state: State,
    workspace: Workspace,
    trx: Option<Trx>,
    in_transaction: bool,
}

impl Server {
    pub(crate) fn new() -> Self {
        let sim = env::SimDisk::new(1);
        Self::open(sim.disk())
    }

    pub(crate) fn open(disk: Arc<dyn env::Disk>) -> Self {
        let clock: Arc<dyn env::Clock> = Arc::new(env::RealClock::new());
        let mut config = EngineConfig::with_frames(2048);
        config.log_segment_size = 64 << 20;
        config.background = false;
        let engine = Engine::open(config, disk, clock.clone()).unwrap();
        let store = storage::mtr::Store::new(Arc::clone(engine.pool()), Arc::clone(engine.log()));
        let (kernel, _queue) = Kernel::new(store, clock.clone(), engine.report().recovered.next.trx);
        let door = Arc::new(Door { engine, kernel });
        let catalog = Catalog::open(door.clone(), clock.clone()).unwrap();
        let catalog = SessionCatalog::new(&catalog);
        let mdl = catalog.locks().context(1);
        let values = Context { now_micros: clock.wall().as_micros() as i64, ..Context::default() };
        Self {
            door,
            catalog,
            mdl,
            values,
            warnings: Warnings::new(),
            state: State::default(),
            workspace: Workspace::default(),
            trx: None,
            in_transaction: false,
        }
    }

    /// Plans a statement with parameters, to be run many times.
    pub(crate) fn prepare(&self, sql: &str) -> Plan {
        let arena = sql_syntax::Arena::new();
        let options = ParseOptions { params: true, ..ParseOptions::default() };
        let parsed = sql_syntax::parse(&arena, sql.as_bytes(), options).unwrap();
        let virtual_table = |_: &str, _: &str| None;
        let cx = PlanContext {
            catalog: self.catalog.snapshot(),
            database: "t",
            sql_mode: self.values.sql_mode,
            connection_collation: Collation::UTF8MB4_UCA1400_AI_CI,
            div_precision_increment: 4,
            variables: &NoVariables,
            user: "'root'@'localhost'",
            locked: None,
            locals: None,
            virtual_table: &virtual_table,
        };
        sql_plan::plan(&parsed.statement, parsed.params, &cx).unwrap().unwrap()
    }

    pub(crate) fn execute(
        &mut self,
        plan: &Plan,
        params: &[Value],
        sink: &mut dyn RowSink,
    ) -> SqlResult<Outcome> {
        let catalog = self.catalog.clone();
        lock_tables(plan, &catalog, &self.mdl, std::time::Duration::from_secs(5))?;
        let trx = self.trx.get_or_insert_with(|| self.door.kernel.begin(TrxOptions::default()));
        trx.start_statement();
        let mut cx = ExecContext {
            trx,
            values: &mut self.values,
            warnings: &mut self.warnings,
            session: &mut self.state,
            settings: ExecSettings::default(),
            workspace: &mut self.workspace,
        };
        let outcome = run(plan, params, &mut cx, sink);
        if outcome.is_err()
            && let Some(trx) = &mut self.trx
        {
            trx.rollback_statement().unwrap();
        }
        if !self.in_transaction {
            self.end(true);
        }
        outcome
    }

    fn end(&mut self, commit: bool) {
        if let Some(trx) = self.trx.take() {
            if commit { self.door.commit(trx).unwrap() } else { trx.rollback().unwrap() }
        }
        self.in_transaction = false;
        self.mdl.release_all();
    }

    pub(crate) fn sql(&mut self, sql: &str) -> Result<Answer, ClientError> {
        self.warnings.clear();
        let arena = sql_syntax::Arena::new();
        let parsed = sql_syntax::parse(&arena, sql.as_bytes(), ParseOptions::default())
            .map_err(|e| ClientError::new(e.code(), b"42000", e.to_string()))?;
        let mut sink = TextSink::default();
        let outcome = self.statement(&parsed.statement, &mut sink).map_err(|e| ClientError::from(&e))?;
        if outcome.last_insert_id != 0 {
            self.state.last_insert_id = outcome.last_insert_id;
        }
        Ok(Answer { outcome, sink })
    }

    fn statement(&mut self, statement: &ast::Statement<'_>, sink: &mut TextSink) -> SqlResult<Outcome> {
        use ast::Statement as S;
        match statement {
            S::Transaction(ast::TransactionStatement::Begin { .. }) => {
                self.end(true);
                self.in_transaction = true;
                Ok(Outcome::default())
            }
            S::Transaction(ast::TransactionStatement::Commit(_)) => {
                self.end(true);
                Ok(Outcome::default())
            }
            S::Transaction(ast::TransactionStatement::Rollback(_)) => {
                self.end(false);
                Ok(Outcome::default())
            }
            S::Show(ast::Show { kind: ast::ShowKind::CreateTable(name), .. }) => {
                let snapshot = self.catalog.snapshot();
                let name = name.name.text();
                let table = snapshot
                    .table("t", &name)
                    .ok_or(SqlError::NoSuchTable { schema: "t".into(), name: name.to_string() })?;
                let trx = self.door.begin();
                let next = trx.next_auto_increment(&table.table).ok();
                sink.begin_row();
                sink.value(&Value::utf8(&name));
                sink.value(&Value::utf8(
                    &table.def.create_statement(next.filter(|_| table.def.auto_increment().is_some())),
                ));
                Ok(Outcome { has_rows: true, ..Outcome::default() })
            }
            S::Show(ast::Show { kind: ast::ShowKind::Warnings { .. }, .. }) => {
                Ok(Outcome { has_rows: true, ..Outcome::default() })
            }
            S::Explain(ast::Explain { target: ast::ExplainTarget::Statement(inner), kind, .. }) => {
                let plan = self.plan(inner)?;
                let with = match kind {
                    ast::ExplainKind::Partitions => ExplainColumns::Partitions,
                    _ => ExplainColumns::Usual,
                };
                explain(&plan, with, sink).map_err(|_| SqlError::Interrupted)?;
                Ok(Outcome { has_rows: true, ..Outcome::default() })
            }
            other if admin_of(other).is_some() => {
                self.end(true);
                let admin = admin_of(other).expect("looked at above");
                self.with_ddl(|cx| table_admin(&admin, cx, sink))
            }
            other if is_ddl(other) => {
                self.end(true);
                self.with_ddl(|cx| execute_ddl(other, cx))
            }
            other => {
                let plan = self.plan(other)?;
                self.execute(&plan, &[], sink)
            }
        }
    }

    fn plan(&self, statement: &ast::Statement<'_>) -> SqlResult<Plan> {
        let virtual_table = |_: &str, _: &str| None;
        let cx = PlanContext {
            catalog: self.catalog.snapshot(),
            database: "t",
            sql_mode: self.values.sql_mode,
            connection_collation: Collation::UTF8MB4_UCA1400_AI_CI,
            div_precision_increment: 4,
            variables: &NoVariables,
            user: "'root'@'localhost'",
            locked: None,
            locals: None,
            virtual_table: &virtual_table,
        };
        sql_plan::plan(statement, 0, &cx)?
            .ok_or_else(|| SqlError::not_supported("this statement in this harness"))
    }

    fn with_ddl(
        &mut self,
        run: impl FnOnce(&mut DdlContext<'_>) -> SqlResult<Outcome>,
    ) -> SqlResult<Outcome> {
        let door = self.door.clone();
        let virtual_table = |_: &str, _: &str| None;
        let mut commit = |trx: Trx, _: Option<&str>| door.commit(trx);
        let mut cx = DdlContext {
            catalog: &self.catalog,
            reader: None,
            mdl: &mut self.mdl,
            values: &mut self.values,
            warnings: &mut self.warnings,
            session: &mut self.state,
            workspace: &mut self.workspace,
            variables: &NoVariables,
            virtual_table: &virtual_table,
            settings: ExecSettings::default(),
            database: "t",
            user: "'root'@'localhost'",
            connection_collation: Collation::UTF8MB4_UCA1400_AI_CI,
            client_charset: charset::Charset::Utf8mb4,
            server_collation: Collation::UTF8MB4_UCA1400_AI_CI,
            commit: &mut commit,
            begins: &mut || Ok(()),
            log: storage::trx::LogOptions::default(),
            annotation: b"",
            locals: None,
            params: &[],
        };
        run(&mut cx)
    }
}
