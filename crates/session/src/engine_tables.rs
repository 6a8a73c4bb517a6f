//! The engine's tables of information_schema: transactions, locks, counters, pages in memory, and the dictionary as InnoDB has it.
//!
//! # Locks
//! A row that a transaction has changed is locked by its transaction id alone; a lock object is made when somebody waits. INNODB_LOCKS
//! lists, as MariaDB does, the locks that are waited for and those that wait. A lock's number is `transaction:index:key`.

use std::sync::Arc;

use catalog::{TableDef, TableHandle};
use storage::lock::report::LockInfo;
use types::Value;

use crate::information_schema::{Rows, s};
use crate::server::Server;
use crate::virtual_tables::Defined;

fn number(n: u64) -> Value {
    Value::UInt(n)
}
fn int(n: i64) -> Value {
    Value::Int(n)
}

/// Rows of one of these tables; None when it is empty here.
pub(crate) fn rows(server: &Server, table: &Defined) -> Option<Rows> {
    Some(match table.name {
        "INNODB_TRX" => transactions(server, table),
        "INNODB_LOCKS" => locks(server, table),
        "INNODB_LOCK_WAITS" => lock_waits(server, table),
        "INNODB_METRICS" => metrics(server, table),
        "INNODB_BUFFER_POOL_STATS" => vec![pool(server, table)],
        "INNODB_BUFFER_PAGE" | "INNODB_BUFFER_PAGE_LRU" => pages(server, table),
        "INNODB_SYS_TABLES" => each(server, |t| vec![sys_table(table, &t.def)]),
        "INNODB_SYS_TABLESPACES" => each(server, |t| vec![sys_space(server, table, t)]),
        "INNODB_SYS_TABLESTATS" => each(server, |t| vec![sys_statistics(server, table, t)]),
        "INNODB_SYS_INDEXES" => each(server, |t| sys_indexes(table, &t.def)),
        "INNODB_SYS_COLUMNS" => each(server, |t| sys_columns(table, &t.def)),
        "INNODB_SYS_FIELDS" => each(server, |t| sys_fields(table, &t.def)),
        "INNODB_SYS_FOREIGN" => each(server, |t| sys_foreign(table, &t.def)),
        "INNODB_SYS_FOREIGN_COLS" => each(server, |t| sys_foreign_columns(table, &t.def)),
        _ => return None,
    })
}

fn each(server: &Server, row: impl Fn(&Arc<TableHandle>) -> Rows) -> Rows {
    server.catalog().databases.values().flat_map(|d| d.tables.values()).flat_map(row).collect()
}

/// Transactions that have written, or that hold or wait for locks.
fn transactions(server: &Server, table: &Defined) -> Rows {
    let kernel = &server.backend().kernel;
    let processes = server.connections.processes(server.now_us());
    let waiting = kernel.locks.list(true);
    let mut out = Vec::new();
    for slot in kernel.trxs.slots().in_use() {
        let owner = slot.owner();
        let process = processes.iter().find(|p| p.id == owner.connection());
        let (id, waits) = (owner.trx_id().0, owner.is_waiting());
        // A transaction without a number has changed nothing: it counts when it has locks or its session says BEGIN.
        let holds = waits || owner.lock_count() > 0;
        if id == 0 && !holds && !process.is_some_and(|p| p.in_transaction) {
            continue;
        }
        let requested =
            waiting.iter().find(|l| l.slot == slot.number()).map_or(Value::Null, |l| s(&lock_id(l)));
        let began = process.map_or(0, |p| p.micros);
        let now = u64::try_from(server.wall_us() / 1_000_000).unwrap_or(0);
        let moment = crate::virtual_tables::date_time(now.saturating_sub(began / 1_000_000));
        let text = process.and_then(|p| p.statement.as_deref()).map(String::from_utf8_lossy);
        out.push(table.row(vec![
            ("trx_id", number(id)),
            ("trx_state", s(if waits { "LOCK WAIT" } else { "RUNNING" })),
            ("trx_started", moment.clone()),
            ("trx_requested_lock_id", requested),
            ("trx_wait_started", if waits { moment } else { Value::Null }),
            ("trx_weight", number(owner.weight() + owner.lock_count() as u64)),
            ("trx_mysql_thread_id", number(owner.connection())),
            ("trx_query", text.map_or(Value::Null, |t| s(&t))),
            ("trx_operation_state", s("")),
            ("trx_tables_in_use", number(0)),
            ("trx_tables_locked", number(0)),
            ("trx_lock_structs", number(owner.lock_count() as u64)),
            ("trx_lock_memory_bytes", number(0)),
            ("trx_rows_locked", number(owner.lock_count() as u64)),
            ("trx_rows_modified", number(u64::from(id != 0))),
            ("trx_concurrency_tickets", number(0)),
            ("trx_isolation_level", s("REPEATABLE READ")),
            ("trx_unique_checks", int(1)),
            ("trx_foreign_key_checks", int(1)),
            ("trx_is_read_only", int(i64::from(id == 0))),
            ("trx_autocommit_non_locking", int(0)),
        ]));
    }
    out
}

fn lock_id(lock: &LockInfo) -> String {
    let mut out = format!("{}:{}:", lock.trx_id.0, lock.index.0);
    match &lock.key {
        None => out.push_str("supremum"),
        Some(key) => out.extend(key.iter().take(24).map(|b| format!("{b:02x}"))),
    }
    out
}

/// Locks that wait, each with those on the same place.
fn contended(server: &Server) -> Vec<LockInfo> {
    let mut all = server.backend().kernel.locks.list(false);
    let waits: Vec<_> = all.iter().filter(|l| l.waiting).map(|l| (l.index, l.key.clone())).collect();
    all.retain(|l| waits.iter().any(|(index, key)| *index == l.index && *key == l.key));
    all
}

fn locks(server: &Server, table: &Defined) -> Rows {
    let catalog = server.catalog();
    let place = |lock: &LockInfo| {
        let tables = catalog.databases.values().flat_map(|d| d.tables.values());
        tables.flat_map(|t| t.def.indexes.iter().map(move |i| (t, i))).find(|(_, i)| i.id == lock.index)
    };
    let row = |lock: LockInfo| {
        let found = place(&lock);
        let name = found.map(|(t, _)| format!("`{}`.`{}`", t.def.schema, t.def.name));
        table.row(vec![
            ("lock_id", s(&lock_id(&lock))),
            ("lock_trx_id", number(lock.trx_id.0)),
            ("lock_mode", s(&lock.mode.to_string())),
            ("lock_type", s("RECORD")),
            ("lock_table", s(&name.unwrap_or_default())),
            ("lock_index", found.map_or(Value::Null, |(_, i)| s(&i.name))),
            ("lock_space", found.map_or(Value::Null, |(t, _)| number(u64::from(t.def.space.0)))),
            ("lock_data", s(lock_id(&lock).rsplit(':').next().unwrap_or_default())),
        ])
    };
    contended(server).into_iter().map(row).collect()
}

fn lock_waits(server: &Server, table: &Defined) -> Rows {
    let all = contended(server);
    let mut out = Vec::new();
    for waiting in all.iter().filter(|l| l.waiting) {
        let same = |l: &&LockInfo| l.index == waiting.index && l.key == waiting.key && l.slot != waiting.slot;
        for holder in all.iter().filter(same).filter(|l| !l.waiting) {
            out.push(table.row(vec![
                ("requesting_trx_id", number(waiting.trx_id.0)),
                ("requested_lock_id", s(&lock_id(waiting))),
                ("blocking_trx_id", number(holder.trx_id.0)),
                ("blocking_lock_id", s(&lock_id(holder))),
            ]));
        }
    }
    out
}

/// InnoDB's counters by their names there: (name, subsystem, status variable, is a gauge).
const METRICS: [(&str, &str, &str, bool); 30] = [
    ("buffer_pool_reads", "buffer", "Innodb_buffer_pool_reads", false),
    ("buffer_pool_read_requests", "buffer", "Innodb_buffer_pool_read_requests", false),
    ("buffer_pool_write_requests", "buffer", "Innodb_buffer_pool_write_requests", false),
    ("buffer_pool_wait_free", "buffer", "Innodb_buffer_pool_wait_free", false),
    ("buffer_pool_pages_total", "buffer", "Innodb_buffer_pool_pages_total", true),
    ("buffer_pool_pages_misc", "buffer", "Innodb_buffer_pool_pages_misc", true),
    ("buffer_pool_pages_data", "buffer", "Innodb_buffer_pool_pages_data", true),
    ("buffer_pool_pages_dirty", "buffer", "Innodb_buffer_pool_pages_dirty", true),
    ("buffer_pool_pages_free", "buffer", "Innodb_buffer_pool_pages_free", true),
    ("buffer_pool_bytes_data", "buffer", "Innodb_buffer_pool_bytes_data", true),
    ("buffer_pool_bytes_dirty", "buffer", "Innodb_buffer_pool_bytes_dirty", true),
    ("buffer_pages_created", "buffer", "Innodb_pages_created", false),
    ("buffer_pages_written", "buffer", "Innodb_pages_written", false),
    ("buffer_pages_read", "buffer", "Innodb_pages_read", false),
    ("buffer_data_reads", "buffer", "Innodb_data_read", false),
    ("buffer_data_written", "buffer", "Innodb_data_written", false),
    ("os_data_reads", "os", "Innodb_data_reads", false),
    ("os_data_fsyncs", "os", "Innodb_data_fsyncs", false),
    ("os_log_bytes_written", "os", "Innodb_os_log_written", false),
    ("lock_deadlocks", "lock", "Innodb_deadlocks", false),
    ("lock_row_lock_current_waits", "lock", "Innodb_row_lock_current_waits", true),
    ("lock_row_lock_time", "lock", "Innodb_row_lock_time", false),
    ("lock_row_lock_time_max", "lock", "Innodb_row_lock_time_max", true),
    ("lock_row_lock_waits", "lock", "Innodb_row_lock_waits", false),
    ("lock_row_lock_time_avg", "lock", "Innodb_row_lock_time_avg", true),
    ("log_checkpoints", "log", "Innodb_checkpoints", false),
    ("log_lsn_checkpoint_age", "log", "Innodb_checkpoint_age", true),
    ("log_lsn_current", "log", "Innodb_lsn_current", true),
    ("log_lsn_last_flush", "log", "Innodb_lsn_flushed", true),
    ("log_waits", "log", "Innodb_log_waits", false),
];

fn metrics(server: &Server, table: &Defined) -> Rows {
    let status = server.status_values();
    let started =
        u64::try_from(server.wall_us() / 1_000_000).unwrap_or(0).saturating_sub(server.uptime_seconds());
    let row = |(name, subsystem, variable, gauge): (&str, &str, &str, bool)| {
        let value =
            status.iter().find(|(n, _)| *n == variable).and_then(|(_, v)| v.parse().ok()).unwrap_or(0);
        table.row(vec![
            ("NAME", s(name)),
            ("SUBSYSTEM", s(subsystem)),
            ("COUNT", int(value)),
            ("COUNT_RESET", int(value)),
            ("TIME_ENABLED", crate::virtual_tables::date_time(started)),
            ("TIME_ELAPSED", int(server.uptime_seconds() as i64)),
            ("ENABLED", int(1)),
            ("TYPE", s(if gauge { "value" } else { "status_counter" })),
            ("COMMENT", s(variable)),
        ])
    };
    METRICS.into_iter().map(row).collect()
}

fn pool(server: &Server, table: &Defined) -> Vec<Value> {
    let c = server.backend().engine.pool().counters();
    let hit_rate = 1000u64.saturating_sub((c.reads * 1000).checked_div(c.read_requests).unwrap_or(0));
    let mut row = table.row(vec![
        ("POOL_SIZE", number(c.pages_total)),
        ("FREE_BUFFERS", number(c.pages_free)),
        ("DATABASE_PAGES", number(c.pages_data)),
        ("OLD_DATABASE_PAGES", number(c.pages_old)),
        ("MODIFIED_DATABASE_PAGES", number(c.pages_dirty)),
        ("PAGES_MADE_YOUNG", number(c.pages_made_young)),
        ("PAGES_NOT_MADE_YOUNG", number(c.pages_made_not_young)),
        ("NUMBER_PAGES_READ", number(c.reads)),
        ("NUMBER_PAGES_CREATED", number(c.pages_created)),
        ("NUMBER_PAGES_WRITTEN", number(c.pages_flushed)),
        ("NUMBER_PAGES_GET", number(c.read_requests)),
        ("HIT_RATE", number(hit_rate)),
    ]);
    row.iter_mut().filter(|v| v.is_null()).for_each(|v| *v = number(0));
    row
}

fn pages(server: &Server, table: &Defined) -> Rows {
    let catalog = server.catalog();
    let lru = table.name.ends_with("LRU");
    let row = |(at, page): (usize, storage::pool::ResidentPage)| {
        let owner = catalog
            .databases
            .values()
            .flat_map(|d| d.tables.values())
            .find(|t| t.def.spaces().any(|s| s == page.id.space));
        let name = owner.map(|t| format!("`{}`.`{}`", t.def.schema, t.def.name));
        let mut cells = vec![
            ("POOL_ID", number(0)),
            ("SPACE", number(u64::from(page.id.space.0))),
            ("PAGE_NUMBER", number(u64::from(page.id.no.0))),
            ("PAGE_TYPE", s(if owner.is_some() { "INDEX" } else { "SYSTEM" })),
            ("FLUSH_TYPE", number(0)),
            ("FIX_COUNT", number(0)),
            ("IS_HASHED", int(0)),
            ("NEWEST_MODIFICATION", number(0)),
            ("OLDEST_MODIFICATION", number(page.rec_lsn.map_or(0, |lsn| lsn.0))),
            ("ACCESS_TIME", number(0)),
            ("TABLE_NAME", name.map_or(Value::Null, |n| s(&n))),
            ("NUMBER_RECORDS", number(0)),
            ("DATA_SIZE", number(base::PAGE_SIZE as u64)),
            ("COMPRESSED_SIZE", number(0)),
            ("IO_FIX", s("IO_NONE")),
            ("IS_OLD", int(0)),
            ("FREE_PAGE_CLOCK", number(0)),
        ];
        if lru {
            cells.extend([("LRU_POSITION", number(at as u64)), ("COMPRESSED", int(0))]);
        } else {
            cells.extend([("BLOCK_ID", number(at as u64)), ("PAGE_STATE", s("FILE_PAGE"))]);
        }
        table.row(cells)
    };
    server.backend().engine.pool().list_pages().into_iter().enumerate().map(row).collect()
}

fn path(def: &TableDef) -> String {
    format!("{}/{}", def.schema, def.name)
}

fn sys_table(table: &Defined, def: &TableDef) -> Vec<Value> {
    table.row(vec![
        ("TABLE_ID", number(def.id.0)),
        ("NAME", s(&path(def))),
        ("FLAG", int(33)),
        // Transaction id, roll pointer and row id are counted there.
        ("N_COLS", number(def.columns.len() as u64 + 3)),
        ("SPACE", number(u64::from(def.space.0))),
        ("ROW_FORMAT", s("Dynamic")),
        ("ZIP_PAGE_SIZE", number(0)),
        ("SPACE_TYPE", s("Single")),
    ])
}

fn sys_space(server: &Server, table: &Defined, handle: &Arc<TableHandle>) -> Vec<Value> {
    let def = &handle.def;
    let bytes = server.table_bytes(handle);
    table.row(vec![
        ("SPACE", number(u64::from(def.space.0))),
        ("NAME", s(&path(def))),
        ("FLAG", number(21)),
        ("ROW_FORMAT", s("Dynamic")),
        ("PAGE_SIZE", number(base::PAGE_SIZE as u64)),
        ("FILENAME", s(&format!("./{}", path(def)))),
        ("FS_BLOCK_SIZE", number(4096)),
        ("FILE_SIZE", number(bytes)),
        ("ALLOCATED_SIZE", number(bytes)),
    ])
}

fn sys_statistics(server: &Server, table: &Defined, handle: &Arc<TableHandle>) -> Vec<Value> {
    let def = &handle.def;
    let pages = server.table_bytes(handle) / base::PAGE_SIZE as u64;
    table.row(vec![
        ("TABLE_ID", number(def.id.0)),
        ("NAME", s(&path(def))),
        ("STATS_INITIALIZED", int(i64::from(handle.row_estimate().is_some()))),
        ("NUM_ROWS", number(handle.row_estimate().unwrap_or(0))),
        ("CLUST_INDEX_SIZE", number(pages)),
        ("OTHER_INDEX_SIZE", number(0)),
        ("MODIFIED_COUNTER", number(0)),
        ("AUTOINC", number(server.auto_increment(handle).unwrap_or(0))),
        ("REF_COUNT", int(1)),
    ])
}

fn sys_indexes(table: &Defined, def: &TableDef) -> Rows {
    let row = |(at, index): (usize, &catalog::IndexDef)| {
        // 1 clustered, 2 unique.
        let kind = i64::from(at == 0) | i64::from(index.unique) << 1;
        let name = if index.parts.is_empty() { "GEN_CLUST_INDEX" } else { &index.name };
        table.row(vec![
            ("INDEX_ID", number(index.id.0)),
            ("NAME", s(name)),
            ("TABLE_ID", number(def.id.0)),
            ("TYPE", int(kind)),
            ("N_FIELDS", int(index.parts.len() as i64)),
            ("PAGE_NO", int(i64::from(index.root.0))),
            ("SPACE", int(i64::from(index.space.unwrap_or(def.space).0))),
            ("MERGE_THRESHOLD", int(50)),
        ])
    };
    def.indexes.iter().enumerate().map(row).collect()
}

fn sys_columns(table: &Defined, def: &TableDef) -> Rows {
    let row = |(at, column): (usize, &catalog::ColumnDef)| {
        table.row(vec![
            ("TABLE_ID", number(def.id.0)),
            ("NAME", s(&column.name)),
            ("POS", number(at as u64)),
            ("MTYPE", int(0)),
            ("PRTYPE", int(i64::from(!column.nullable) << 8)),
            ("LEN", int(0)),
        ])
    };
    def.columns.iter().enumerate().map(row).collect()
}

fn sys_fields(table: &Defined, def: &TableDef) -> Rows {
    let of = |index: &catalog::IndexDef| -> Rows {
        let id = number(index.id.0);
        let field = |(at, part): (usize, &row_format::KeyPart)| {
            let name = s(&def.columns[part.column].name);
            table.row(vec![("INDEX_ID", id.clone()), ("NAME", name), ("POS", number(at as u64))])
        };
        index.parts.iter().enumerate().map(field).collect()
    };
    def.indexes.iter().flat_map(of).collect()
}

fn foreign_id(def: &TableDef, key: &catalog::ForeignKeyDef) -> Value {
    s(&format!("{}/{}", def.schema, key.name))
}

fn sys_foreign(table: &Defined, def: &TableDef) -> Rows {
    let row = |key: &catalog::ForeignKeyDef| {
        table.row(vec![
            ("ID", foreign_id(def, key)),
            ("FOR_NAME", s(&path(def))),
            ("REF_NAME", s(&format!("{}/{}", key.parent_schema, key.parent_table))),
            ("N_COLS", number(key.columns.len() as u64)),
            ("TYPE", number(0)),
        ])
    };
    def.foreign_keys.iter().map(row).collect()
}

fn sys_foreign_columns(table: &Defined, def: &TableDef) -> Rows {
    let of = |key: &catalog::ForeignKeyDef| -> Rows {
        let pair = |(at, column): (usize, &usize)| {
            table.row(vec![
                ("ID", foreign_id(def, key)),
                ("FOR_COL_NAME", s(&def.columns[*column].name)),
                ("REF_COL_NAME", s(&key.parent_columns[at])),
                ("POS", number(at as u64)),
            ])
        };
        key.columns.iter().enumerate().map(pair).collect()
    };
    def.foreign_keys.iter().flat_map(of).collect()
}
