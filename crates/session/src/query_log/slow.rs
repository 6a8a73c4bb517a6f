//! The slow query log: statements that took long, in the form that mariadb-dumpslow and pt-query-digest read.
//!
//! # Layout of a paragraph
//! ```text
//! # Time: 261130 16:22:56                      when the second is another than before
//! # User@Host: root[root] @ localhost []
//! # Thread_id: 99  Schema: db  QC_hit: No
//! # Query_time: 0.000396  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 2
//! # Rows_affected: 1  Bytes_sent: 52
//! # Full_scan: Yes  Full_join: No ...          with query_plan in log_slow_verbosity
//! use `db`;                                    when it is another than before
//! SET timestamp=1796055776;
//! update t set a=a+1 where a>5;
//! ```

use jiff::tz::TimeZone;
use sql_plan::plan::{Access, Plan, PlanKind, QueryBody, QueryPlan, Source};
use types::Value;

use super::{SLOW, TO_FILE, TO_TABLE, Which, stamp, table};
use crate::counters::Counter;
use crate::output::Output;
use crate::session::Session;
use crate::variables::{SessionVariables, Var};

/// `query_plan` in `log_slow_verbosity`.
const QUERY_PLAN: u64 = 1 << 1;
/// `warnings`.
const WARNINGS: u64 = 1 << 4;
/// `full`: all of them.
const FULL: u64 = 1 << 5;

/// What the log asks of statements.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct SlowSettings {
    pub(crate) on: bool,
    /// Microseconds from which a statement is slow.
    pub(crate) long_us: u64,
    /// From here on the rate limit does not count.
    always_us: u64,
    examined_min: u64,
    rate: u64,
    pub(crate) without_index: bool,
    verbosity: u64,
    filter: u64,
    warnings: usize,
}

impl SlowSettings {
    pub(crate) fn of(v: &SessionVariables) -> Self {
        let micros = |var| (v.get(var).as_f64() * 1e6) as u64;
        let mut verbosity = v.u64(Var::LOG_SLOW_VERBOSITY);
        if verbosity & FULL != 0 {
            verbosity = u64::MAX;
        }
        Self {
            on: v.bool(Var::LOG_SLOW_QUERY),
            long_us: micros(Var::LOG_SLOW_QUERY_TIME),
            always_us: micros(Var::LOG_SLOW_ALWAYS_QUERY_TIME),
            examined_min: v.u64(Var::LOG_SLOW_MIN_EXAMINED_ROW_LIMIT),
            rate: v.u64(Var::LOG_SLOW_RATE_LIMIT).max(1),
            without_index: v.bool(Var::LOG_QUERIES_NOT_USING_INDEXES),
            verbosity,
            filter: v.u64(Var::LOG_SLOW_FILTER),
            warnings: v.u64(Var::LOG_SLOW_MAX_WARNINGS) as usize,
        }
    }
}

/// How a statement's plan finds its rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Accesses {
    /// The first table of a query is read from end to end.
    pub(crate) full_scan: bool,
    /// One behind the first is.
    pub(crate) full_join: bool,
}

impl Accesses {
    fn of(plan: &Plan) -> Self {
        let mut found = Self::default();
        if let PlanKind::Query(query) = &plan.kind {
            found.look_into(query);
        }
        found
    }
    fn look_into(&mut self, query: &QueryPlan) {
        let QueryBody::Select(select) = &query.body else { return };
        for (at, step) in select.steps.iter().enumerate() {
            if let Source::Derived(inner) = &step.source {
                self.look_into(inner);
            }
            let is_table = matches!(step.source, Source::Table(_));
            if is_table && matches!(step.access, Access::Scan { .. } | Access::Hash { .. }) {
                if at == 0 { self.full_scan = true } else { self.full_join = true }
            }
        }
    }
}

/// Counters of which the log shows what a statement added.
const COUNTED: [Counter; 9] = [
    Counter::RowsSent,
    Counter::BytesSent,
    Counter::RowsRead,
    Counter::SortScan,
    Counter::SortRange,
    Counter::SortMergePasses,
    Counter::SortPriorityQueueSorts,
    Counter::CreatedTmpTables,
    Counter::CreatedTmpDiskTables,
];

/// What was so when a statement began.
pub(crate) struct SlowMark {
    now_us: u64,
    wall_us: i64,
    waiting: usize,
    counts: [u64; COUNTED.len()],
}

/// What the statement did.
struct Done {
    micros: u64,
    wall_us: i64,
    bytes: u64,
    counts: [u64; COUNTED.len()],
    affected: u64,
    accesses: Accesses,
}

impl Done {
    fn rows_sent(&self) -> u64 {
        self.counts[0]
    }
    fn examined(&self) -> u64 {
        self.counts[2]
    }
    fn sorts(&self) -> u64 {
        self.counts[3] + self.counts[4]
    }
    /// The bits of `log_slow_filter` that apply: see the names of the variable's members.
    fn kinds(&self) -> u64 {
        let bit = |on: bool, at: u32| u64::from(on) << at;
        bit(self.sorts() > 0, 1)
            | bit(self.counts[5] > 0, 2)
            | bit(self.counts[6] > 0, 3)
            | bit(self.accesses.full_join, 4)
            | bit(self.accesses.full_scan, 5)
            | bit(self.counts[7] > 0, 9)
            | bit(self.counts[8] > 0, 10)
    }
}

impl Session {
    /// A statement begins: what is needed to log it, when it may be.
    #[inline]
    pub(crate) fn slow_begin(&mut self, out: &Output) -> Option<SlowMark> {
        if !self.server().query_logs.slow_is_on() || !self.settings.slow.on {
            return None;
        }
        self.accesses = Accesses::default();
        Some(SlowMark {
            now_us: self.now_us(),
            wall_us: self.fixed_now_us.unwrap_or_else(|| self.server().wall_us()),
            waiting: out.waiting(),
            counts: COUNTED.map(|c| self.entry.counters.get(c)),
        })
    }

    /// A plan is about to run: how it finds its rows, when the log may want to know.
    #[inline]
    pub(crate) fn note_accesses(&mut self, plan: &Plan) {
        if self.settings.slow.on && self.server().query_logs.slow_is_on() {
            self.accesses = Accesses::of(plan);
        }
    }

    /// It has ended: goes into the log if it was slow.
    pub(crate) fn slow_end(&mut self, mark: Option<SlowMark>, out: &Output, text: &[u8]) {
        let Some(mark) = mark else { return };
        let settings = self.settings.slow;
        let mut counts = COUNTED.map(|c| self.entry.counters.get(c));
        counts.iter_mut().zip(mark.counts).for_each(|(now, before)| *now = now.saturating_sub(before));
        let done = Done {
            micros: self.now_us() - mark.now_us,
            wall_us: mark.wall_us,
            bytes: counts[1] + (out.waiting() as u64).saturating_sub(mark.waiting as u64),
            counts,
            affected: u64::try_from(self.row_count).unwrap_or(0),
            accesses: self.accesses,
        };
        let without_index = settings.without_index && (done.accesses.full_scan || done.accesses.full_join);
        let slow = done.micros >= settings.long_us || without_index;
        if !slow || done.examined() < settings.examined_min {
            return;
        }
        // A filter that names nothing that can be seen of this statement lets only plain ones of the default pass.
        if settings.filter != 0 && settings.filter != default_filter() && settings.filter & done.kinds() == 0
        {
            return;
        }
        if settings.rate > 1 && done.micros < settings.always_us {
            self.slow_seen += 1;
            if !self.slow_seen.is_multiple_of(settings.rate) {
                return;
            }
        }
        self.write_slow(&done, text);
    }

    #[cold]
    fn write_slow(&mut self, done: &Done, text: &[u8]) {
        let server = self.server_handle();
        let user_host = self.log_client().user_host();
        if server.query_logs.has(SLOW | TO_FILE) {
            let body = self.paragraph(done, &user_host, text);
            server.append(Which::Slow, server.wall_us(), |out, new_second| {
                if new_second {
                    let now = stamp(server.wall_us(), &TimeZone::system());
                    out.extend_from_slice(format!("# Time: {now}\n").as_bytes());
                }
                out.extend_from_slice(&body);
            });
        }
        if server.query_logs.has(SLOW | TO_TABLE) {
            let number = |n: u64| Value::UInt(n);
            let values = vec![
                ("start_time", table::moment(done.wall_us)),
                ("user_host", Value::utf8(&user_host)),
                ("query_time", table::duration(done.micros)),
                ("lock_time", table::duration(0)),
                ("rows_sent", number(done.rows_sent())),
                ("rows_examined", number(done.examined())),
                ("db", Value::utf8(&self.database)),
                ("last_insert_id", Value::Int(i64::from(self.last_insert_id as i32))),
                ("insert_id", Value::Int(0)),
                ("server_id", number(self.variables.u64(Var::SERVER_ID))),
                ("sql_text", table::text(text)),
                ("thread_id", number(self.entry.id)),
                ("rows_affected", number(done.affected)),
            ];
            table::append(&server, "slow_log", &values);
        }
    }

    fn paragraph(&mut self, done: &Done, user_host: &str, text: &[u8]) -> Vec<u8> {
        let yes = |on: bool| if on { "Yes" } else { "No" };
        let seconds = done.micros as f64 / 1e6;
        let mut head = format!(
            "# User@Host: {user_host}\n# Thread_id: {}  Schema: {}  QC_hit: No\n\
             # Query_time: {seconds:.6}  Lock_time: 0.000000  Rows_sent: {}  Rows_examined: {}\n\
             # Rows_affected: {}  Bytes_sent: {}\n",
            self.entry.id,
            self.database,
            done.rows_sent(),
            done.examined(),
            done.affected,
            done.bytes,
        );
        let verbosity = self.settings.slow.verbosity;
        if verbosity & QUERY_PLAN != 0 {
            head.push_str(&format!(
                "# Full_scan: {}  Full_join: {}  Tmp_table: {}  Tmp_table_on_disk: {}\n\
                 # Filesort: {}  Filesort_on_disk: {}  Merge_passes: {}  Priority_queue: {}\n",
                yes(done.accesses.full_scan),
                yes(done.accesses.full_join),
                yes(done.counts[7] > 0),
                yes(done.counts[8] > 0),
                yes(done.sorts() > 0),
                yes(done.counts[5] > 0),
                done.counts[5],
                yes(done.counts[6] > 0),
            ));
        }
        if verbosity & WARNINGS != 0 && self.diagnostics.warning_count() > 0 {
            head.push_str("# Warnings\n");
            for c in self.diagnostics.conditions().iter().take(self.settings.slow.warnings) {
                head.push_str(&format!("# {} {} {}\n", c.level.name(), c.error.errno, c.error.text));
            }
        }
        if !self.database.is_empty() && self.slow_database != self.database {
            head.push_str(&format!("use `{}`;\n", self.database.replace('`', "``")));
            self.slow_database = std::sync::Arc::clone(&self.database);
        }
        head.push_str(&format!("SET timestamp={};\n", done.wall_us.div_euclid(1_000_000)));
        let mut out = head.into_bytes();
        out.extend_from_slice(text);
        out.extend_from_slice(b";\n");
        out
    }
}

/// The members that `log_slow_filter` has by default.
fn default_filter() -> u64 {
    // All of the eleven but `not_using_index`.
    0x7ff & !(1 << 6)
}
