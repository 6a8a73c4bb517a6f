//! What a statement runs in: the session's transaction, locks, settings and memory.

use crate::place::Place;
use std::time::Duration;

use base::Corruption;
use catalog::mdl::{MdlError, MdlHandle, MdlMode};
use catalog::program::{RoutineDef, TriggerEvent};
use catalog::{SessionCatalog, TableHandle};
use row_format::RowLayout;
use sql_plan::error::{SqlError, SqlResult, Warnings};
use sql_plan::expr::{RoutineCall, SessionValue};
use sql_plan::plan::Plan;
use std::sync::Arc;
use storage::row::RowBuf;
use storage::trx::Trx;
use types::{Context, Value};

/// What SHOW STATUS counts of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Rows that a statement looked at.
    RowsRead,
    SortScan,
    SortRange,
    SortRows,
    SortMergePasses,
    /// A sort that kept only the rows that its LIMIT wants.
    SortLimited,
    TemporaryTables,
    /// Those that did not fit into memory.
    TemporaryDiskTables,
    TemporaryFiles,
    /// Rows asked for: the first or last of an index, by a key, the ones beside.
    ReadFirst,
    ReadKey,
    ReadLast,
    ReadNext,
    ReadPrev,
    /// In the order of a sort.
    ReadSorted,
    /// Of a whole table.
    ReadScan,
    /// Rows that a statement has tried to write, to change, to delete.
    RowsWritten,
    RowsUpdated,
    RowsDeleted,
}

/// What expressions ask of the session.
pub trait SessionState {
    /// `@name`, by lower case name; NULL when it was never set.
    fn user_variable(&self, name: &str) -> Value;
    fn set_user_variable(&mut self, name: &str, value: &Value);
    fn system_variable(&self, name: &str, global: bool) -> Option<Value>;
    /// DATABASE(), LAST_INSERT_ID(n) and the like.
    fn session_value(
        &mut self,
        which: SessionValue,
        args: &[Value],
        warnings: &mut Warnings,
    ) -> SqlResult<Value>;
    /// Rows of a virtual table (information_schema, performance_schema), one `Vec` a row.
    fn virtual_rows(&mut self, table: &str) -> SqlResult<Vec<Vec<Value>>>;
    /// Runs a stored function inside the running statement: its value, and its parameters behind it.
    fn call_routine(
        &mut self,
        call: &RoutineCall,
        args: Vec<Value>,
        inside: Inside<'_>,
    ) -> SqlResult<(Value, Vec<Value>)>;
    /// Gives a stored aggregate function a row of its group, or says that there are no more: then its value is the group's.
    fn feed_routine(
        &mut self,
        _def: &Arc<RoutineDef>,
        _row: Option<Vec<Value>>,
        _state: &mut RoutineState,
        _inside: Inside<'_>,
    ) -> SqlResult<Value> {
        Err(SqlError::not_supported("stored aggregate functions here"))
    }
    /// Runs the triggers of one event and time for one row, which BEFORE triggers may change.
    fn fire(
        &mut self,
        _firing: &Firing<'_>,
        _old: &[Value],
        _new: &mut [Value],
        _inside: Inside<'_>,
    ) -> SqlResult<()> {
        Err(SqlError::not_supported("triggers here"))
    }
    /// A file to read: on the server's machine, or the one that the client sends.
    fn read_file(&mut self, _path: &[u8], _local: bool) -> SqlResult<Box<dyn std::io::Read>> {
        Err(SqlError::not_supported("files here"))
    }
    /// A new file on the server's machine.
    fn create_file(&mut self, _path: &[u8]) -> SqlResult<Box<dyn std::io::Write>> {
        Err(SqlError::not_supported("files here"))
    }
    /// Counts what SHOW STATUS tells of sorts and temporary results.
    fn count(&mut self, _work: Work, _n: u64) {}
    /// True when the session was killed or its statement interrupted.
    fn interrupted(&self) -> bool;
}

/// A stored aggregate function between two rows of its group; nothing before the first one.
#[derive(Debug, Default, Clone)]
pub struct RoutineState(pub Option<Box<dyn Suspended>>);

/// What the session keeps of it.
pub trait Suspended: std::any::Any + std::fmt::Debug + Send {
    fn copy(&self) -> Box<dyn Suspended>;
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any>;
}

impl Clone for Box<dyn Suspended> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

/// Which triggers run: those of a table for one event and time.
pub struct Firing<'a> {
    pub table: &'a Arc<TableHandle>,
    pub event: TriggerEvent,
    pub before: bool,
}

/// What a running statement lends to the programs that it runs: functions and triggers.
pub struct Inside<'a> {
    pub trx: &'a mut Trx,
    pub values: &'a mut Context,
    pub warnings: &'a mut Warnings,
    pub settings: ExecSettings,
}

/// Settings of the session that executing needs.
#[derive(Debug, Clone, Copy)]
pub struct ExecSettings {
    /// lock_wait_timeout, for metadata locks.
    pub lock_wait_timeout: Duration,
    /// Plain reads lock shared: SERIALIZABLE inside a transaction.
    pub locking_reads: bool,
    /// CLIENT_FOUND_ROWS: UPDATE counts the rows it found.
    pub found_rows: bool,
    pub auto_increment_increment: u64,
    pub auto_increment_offset: u64,
    /// `SET insert_id`; 0 = none.
    pub next_insert_id: u64,
    pub group_concat_max_len: u64,
    /// sql_select_limit.
    pub select_limit: u64,
    pub no_auto_value_on_zero: bool,
    /// check_constraint_checks.
    pub check_constraints: bool,
    /// foreign_key_checks.
    pub foreign_keys: bool,
    /// system_versioning_insert_history.
    pub insert_history: bool,
    /// system_versioning_alter_history = KEEP.
    pub alter_history: bool,
}

impl Default for ExecSettings {
    fn default() -> Self {
        Self {
            lock_wait_timeout: Duration::from_secs(86_400),
            locking_reads: false,
            found_rows: false,
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            next_insert_id: 0,
            group_concat_max_len: 1 << 20,
            select_limit: u64::MAX,
            no_auto_value_on_zero: false,
            check_constraints: true,
            foreign_keys: true,
            insert_history: false,
            alter_history: false,
        }
    }
}

/// Everything a plan needs to run.
pub struct ExecContext<'a> {
    pub trx: &'a mut Trx,
    /// sql_mode, time zone, NOW(), and the value library's warnings.
    pub values: &'a mut Context,
    pub warnings: &'a mut Warnings,
    pub session: &'a mut dyn SessionState,
    pub settings: ExecSettings,
    pub workspace: &'a mut Workspace,
}

/// Memory that is kept between statements of a session.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(crate) slots: Vec<SlotRow>,
    pub(crate) key: Vec<u8>,
    pub(crate) body: Vec<u8>,
    pub(crate) into: Vec<(u16, Value)>,
    /// OUT parameters of functions, for variables of the program around: they hold for the rest of the expression, too.
    pub(crate) outs: Vec<(u16, Value)>,
    /// What a HANDLER reads.
    pub(crate) place: Option<Place>,
}

impl Workspace {
    /// The next statement scans indexes from a place on.
    pub fn read_from(&mut self, place: Place) {
        self.place = Some(place);
    }
    /// What became of it.
    pub fn take_place(&mut self) -> Option<Place> {
        self.place.take()
    }

    /// What the last SELECT ... INTO has for variables of the program, by parameter.
    pub fn take_into(&mut self) -> Vec<(u16, Value)> {
        std::mem::take(&mut self.into)
    }

    /// What functions have written to variables of the program by OUT parameters.
    pub fn take_outs(&mut self) -> Vec<(u16, Value)> {
        std::mem::take(&mut self.outs)
    }
}

/// The current row of a slot.
#[derive(Debug, Default)]
pub(crate) struct SlotRow {
    pub(crate) state: SlotState,
    /// Row buffers are kept when the slot is reused.
    pub(crate) buf: RowBuf,
    pub(crate) layout: Option<Arc<RowLayout>>,
    pub(crate) values: Vec<Value>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotState {
    /// All columns are NULL: no row, or the NULL row of an outer join.
    #[default]
    Null,
    /// `buf.body` under `layout`.
    Packed,
    Values,
}

impl SlotRow {
    pub(crate) fn column(&self, i: usize) -> Result<Value, Corruption> {
        match self.state {
            SlotState::Null => Ok(Value::Null),
            SlotState::Values => Ok(self.values.get(i).cloned().unwrap_or_default()),
            SlotState::Packed => match &self.layout {
                Some(layout) => row_format::RowView::new(layout, &self.buf.body)?.value(i),
                None => Ok(Value::Null),
            },
        }
    }
}

/// Takes the shared metadata locks of a plan's tables and checks that the plan is still good for them.
///
/// # Errors
/// `StalePlan`: a table has changed since planning; plan again. The locks stay until the transaction's end.
pub fn lock_tables(
    plan: &Plan,
    catalog: &SessionCatalog,
    mdl: &MdlHandle,
    timeout: Duration,
) -> SqlResult<()> {
    for table in &plan.tables {
        let mode = if plan.changes(table) { MdlMode::Write } else { MdlMode::Shared };
        mdl.lock(&table.lock, mode, timeout).map_err(mdl_error)?;
    }
    for view in &plan.views {
        let lock = catalog.locks().of(&view.schema, &view.name);
        mdl.lock(&lock, MdlMode::Shared, timeout).map_err(mdl_error)?;
    }
    // The usual case counts no reference to the snapshot, which all connections share.
    if catalog.version() != plan.catalog_version {
        let now = catalog.snapshot();
        if !plan.is_current(&now) {
            return Err(SqlError::StalePlan);
        }
    }
    Ok(())
}

/// A metadata lock that was not given, as a statement's error.
pub fn mdl_error(error: MdlError) -> SqlError {
    match error {
        MdlError::Deadlock => SqlError::Deadlock,
        MdlError::Timeout => SqlError::LockWaitTimeout,
        MdlError::Interrupted => SqlError::Interrupted,
    }
}
