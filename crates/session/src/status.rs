//! SHOW STATUS beyond the connections' counters, and the sections of SHOW ENGINE INNODB STATUS.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::counters::{Counters, NAMES};
use crate::server::Server;
use crate::tls::TlsFacts;
use crate::variables::Var;

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Counters of connections that only the server as a whole has.
const GLOBAL_ONLY: [&str; 2] = ["Aborted_clients", "Aborted_connects"];

/// Counters of MariaDB's of features that no statement can use here.
const ABSENT_FEATURES: [&str; 8] = [
    "Feature_application_time_periods",
    "Feature_custom_aggregate_functions",
    "Feature_delay_key_write",
    "Feature_dynamic_columns",
    "Feature_fulltext",
    "Feature_gis",
    "Feature_system_versioning",
    "Feature_xml",
];

impl Server {
    /// SHOW STATUS: with a connection's own counts, or everybody's. Sorted by name.
    pub(crate) fn all_status(
        &self,
        own: Option<&Counters>,
        tls: Option<&TlsFacts>,
    ) -> Vec<(&'static str, String)> {
        let totals = self.connections.totals();
        let mine = own.unwrap_or(&totals);
        let mut rows: Vec<(&'static str, String)> = Vec::with_capacity(240);
        for ((name, total), mine) in NAMES.iter().zip(totals.values()).zip(mine.values()) {
            // Connections come from the registry.
            if *name != "Connections" {
                rows.push((name, if GLOBAL_ONLY.contains(name) { total } else { mine }.to_string()));
            }
        }
        rows.extend(self.status_values());
        rows.extend(self.tls_counters.values(self.tls.load().as_deref(), tls));
        rows.sort_unstable();
        rows
    }

    /// Status variables of the server as a whole: (name, value), in no order.
    pub(crate) fn status_values(&self) -> Vec<(&'static str, String)> {
        let mut out = Vec::with_capacity(80);
        let connections = &self.connections;
        let mut put = |name, value: u64| out.push((name, value.to_string()));
        put("Connections", connections.opened());
        put("Max_used_connections", connections.most());
        put("Threads_connected", connections.len() as u64);
        put("Threads_running", connections.running());
        put("Threads_created", connections.opened());
        put("Threads_cached", 0);
        put("Uptime", self.uptime_seconds());
        put("Uptime_since_flush_status", self.uptime_seconds());
        put("Prepared_stmt_count", self.prepared_count());
        self.pool_values(&mut put);
        self.log_values(&mut put);
        self.lock_values(&mut put);
        let (hits, misses) = self.backend().binlog.index_use();
        put("Binlog_gtid_index_hit", hits);
        put("Binlog_gtid_index_miss", misses);
        out.extend(self.semi_sync.status_values());
        let text = |name, value: &str| (name, value.to_owned());
        out.extend([
            text("Rpl_status", "AUTH_MASTER"),
            text("Slave_running", "OFF"),
            text("wsrep_ready", "OFF"),
        ]);
        // Uses of features that are not here: none.
        out.extend(ABSENT_FEATURES.map(|name| (name, "0".to_owned())));
        out
    }

    fn pool_values(&self, put: &mut impl FnMut(&'static str, u64)) {
        let c = self.backend().engine.pool().counters();
        put("Innodb_buffer_pool_read_requests", c.read_requests);
        put("Innodb_buffer_pool_reads", c.reads);
        put("Innodb_buffer_pool_write_requests", c.write_requests);
        put("Innodb_buffer_pool_pages_flushed", c.pages_flushed);
        put("Innodb_buffer_pool_wait_free", c.wait_free);
        put("Innodb_buffer_pool_pages_total", c.pages_total);
        put("Innodb_buffer_pool_pages_free", c.pages_free);
        put("Innodb_buffer_pool_pages_data", c.pages_data);
        put("Innodb_buffer_pool_pages_dirty", c.pages_dirty);
        put("Innodb_buffer_pool_pages_old", c.pages_old);
        put("Innodb_buffer_pool_pages_misc", c.pages_misc);
        put("Innodb_buffer_pool_pages_made_young", c.pages_made_young);
        put("Innodb_buffer_pool_pages_made_not_young", c.pages_made_not_young);
        put("Innodb_buffer_pool_pages_lru_freed", c.pages_evicted);
        put("Innodb_buffer_pool_bytes_data", c.pages_data * base::PAGE_SIZE as u64);
        put("Innodb_buffer_pool_bytes_dirty", c.pages_dirty * base::PAGE_SIZE as u64);
        put("Innodb_pages_created", c.pages_created);
        put("Innodb_pages_read", c.reads);
        put("Innodb_pages_written", c.pages_flushed);
        put("Innodb_data_reads", c.reads);
        put("Innodb_data_read", c.reads * base::PAGE_SIZE as u64);
        put("Innodb_data_written", c.pages_flushed * base::PAGE_SIZE as u64 + c.doublewrite_bytes);
        put("Innodb_data_fsyncs", c.file_syncs);
        put("Innodb_dblwr_writes", c.doublewrite_batches);
        put("Innodb_dblwr_pages_written", c.pages_flushed);
        put("Innodb_page_size", base::PAGE_SIZE as u64);
    }

    fn log_values(&self, put: &mut impl FnMut(&'static str, u64)) {
        let engine = &self.backend().engine;
        let log = engine.log();
        let c = log.counters();
        put("Innodb_os_log_written", load(&c.bytes_written));
        put("Innodb_log_writes", load(&c.writes));
        put("Innodb_os_log_fsyncs", load(&c.syncs));
        put("Innodb_log_waits", load(&c.waits));
        put("Innodb_log_write_requests", log.appends());
        put("Innodb_lsn_current", log.reserved_lsn().0);
        put("Innodb_lsn_flushed", log.durable_lsn().0);
        let (checkpoints, age) = engine.checkpoint_state();
        put("Innodb_checkpoint_age", age);
        put("Innodb_checkpoint_max_age", self.variables.u64(Var::INNODB_LOG_FILE_SIZE));
        put("Innodb_checkpoints", checkpoints);
    }

    fn lock_values(&self, put: &mut impl FnMut(&'static str, u64)) {
        let c = &self.backend().kernel.locks.counters;
        let waits = load(&c.waits);
        let millis = load(&c.wait_micros) / 1000;
        put("Innodb_row_lock_waits", waits);
        put("Innodb_row_lock_current_waits", load(&c.current_waits));
        put("Innodb_row_lock_time", millis);
        put("Innodb_row_lock_time_avg", millis.checked_div(waits).unwrap_or(0));
        put("Innodb_row_lock_time_max", load(&c.wait_micros_max) / 1000);
        put("Innodb_deadlocks", load(&c.deadlocks));
    }

    /// (title, body) of each section of SHOW ENGINE INNODB STATUS.
    pub(crate) fn engine_report(&self) -> Vec<(&'static str, String)> {
        let engine = &self.backend().engine;
        let log = engine.log();
        let pool = engine.pool().counters();
        let (checkpoints, age) = engine.checkpoint_state();
        let mut sections = Vec::new();
        if let Some(deadlock) = self.backend().kernel.locks.latest_deadlock() {
            sections.push(("LATEST DETECTED DEADLOCK", format!("{deadlock}\n")));
        }
        let kernel = &self.backend().kernel;
        let mut transactions = format!("Purge done for trx's up to LSN {}\n", kernel.purge_position());
        for t in kernel.trxs.active_transactions() {
            transactions.push_str(&format!("---TRANSACTION {}, first record at LSN {}\n", t.id, t.first));
        }
        sections.push(("TRANSACTIONS", transactions));
        sections.push((
            "LOG",
            format!(
                "Log sequence number {}\nLog flushed up to   {}\nCheckpoint age      {age}\n{checkpoints} checkpoints\n",
                log.reserved_lsn(),
                log.durable_lsn()
            ),
        ));
        sections.push((
            "BUFFER POOL AND MEMORY",
            format!(
                "Buffer pool size   {}\nFree buffers       {}\nDatabase pages     {}\nOld database pages {}\n\
                 Modified db pages  {}\nPages made young {}, not young {}\nPages read {}, created {}, written {}\n",
                pool.pages_total,
                pool.pages_free,
                pool.pages_data,
                pool.pages_old,
                pool.pages_dirty,
                pool.pages_made_young,
                pool.pages_made_not_young,
                pool.reads,
                pool.pages_created,
                pool.pages_flushed
            ),
        ));
        sections
    }
}
