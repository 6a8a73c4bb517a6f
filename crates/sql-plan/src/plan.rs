//! Plans: what the executor runs. Built once for a prepared statement, reused with other parameters.
//!
//! # Life of a plan
//! A plan holds `Arc`s of the table versions it was made for and the catalog version at that time. Before it runs, its
//! tables are locked (metadata lock, shared) and each handle is compared with the catalog; a plan of an older version is
//! thrown away and made again.
//!
//! # Invariants
//! 1. `SelectPlan::steps` is the join order; a step's `on` and key expressions read only slots of earlier steps, of its own,
//!    or of outer query blocks.
//! 2. Slots of a statement are numbered without gaps below `Plan::slots`; `SlotSet::CAPACITY` bounds them.

use std::sync::Arc;

use catalog::program::RoutineDef;
use catalog::{Snapshot, TableHandle, ViewDef};
use smallvec::SmallVec;
use types::Value;

use crate::expr::{ColumnRef, CompareAs, Expr, Slot, Typed};
use crate::meta::ColumnMeta;
use crate::partition::prune::Filter;
use crate::relations::TableRelations;

/// A statement that reads or changes rows.
#[derive(Debug)]
pub struct Plan {
    pub kind: PlanKind,
    /// Slots of the whole statement, subqueries included.
    pub slots: u16,
    /// Result caches of subqueries.
    pub subqueries: u16,
    pub params: u16,
    /// Every table that is read or written, to be locked and checked before running.
    pub tables: Vec<Arc<TableHandle>>,
    /// Every view that is named, directly or by another view.
    pub views: Vec<Arc<ViewDef>>,
    /// Foreign keys around the tables that are changed.
    pub relations: Arc<[TableRelations]>,
    pub relations_version: u64,
    /// Stored functions that it calls itself.
    pub routines: Vec<Arc<RoutineDef>>,
    /// Catalog version the plan was made for.
    pub catalog_version: u64,
}

#[derive(Debug)]
pub enum PlanKind {
    Query(QueryPlan),
    Insert(InsertPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    /// DO: evaluate and forget.
    Do(Vec<Expr>),
}

impl Plan {
    /// Result columns; empty for statements without a result set.
    pub fn columns(&self) -> &[ColumnMeta] {
        match &self.kind {
            PlanKind::Query(q) if matches!(q.into, Into::Client) => &q.columns,
            PlanKind::Insert(InsertPlan { returning: Some(r), .. })
            | PlanKind::Delete(DeletePlan { returning: Some(r), .. }) => &r.columns,
            _ => &[],
        }
    }
    /// Whether the statement changes rows of `table`.
    pub fn changes(&self, table: &Arc<TableHandle>) -> bool {
        match &self.kind {
            PlanKind::Insert(p) => Arc::ptr_eq(&p.table, table),
            PlanKind::Update(p) => p.targets.iter().any(|t| Arc::ptr_eq(&t.table, table)),
            PlanKind::Delete(p) => p.targets.iter().any(|(_, t)| Arc::ptr_eq(t, table)),
            PlanKind::Query(_) | PlanKind::Do(_) => false,
        }
    }
    /// Whether running it may run stored functions or triggers.
    pub fn runs_programs(&self) -> bool {
        !self.routines.is_empty() || self.tables.iter().any(|t| !t.triggers.is_empty() && self.changes(t))
    }
    /// Whether it is the same as when it was planned.
    pub fn is_current(&self, now: &Snapshot) -> bool {
        let same = |r: &Arc<RoutineDef>| {
            now.routine(r.kind, &r.schema, &r.name).is_some_and(|found| Arc::ptr_eq(found, r))
        };
        now.has_same_temporaries(self.catalog_version)
            && self.tables.iter().all(|t| now.is_current(t))
            && self.views.iter().all(|v| now.is_current_view(v))
            && (!self.writes() || self.relations_version == now.relations_version)
            && self.routines.iter().all(same)
    }
    /// Whether it changes tables that other sessions see, or may.
    pub fn writes_shared(&self) -> bool {
        self.writes()
            && (self.runs_programs() || self.tables.iter().any(|t| self.changes(t) && !t.def.temporary))
    }
    /// Whether it changes rows.
    pub fn writes(&self) -> bool {
        matches!(self.kind, PlanKind::Insert(_) | PlanKind::Update(_) | PlanKind::Delete(_))
    }
}

/// A query with the clauses that apply to its whole result.
#[derive(Debug, Clone)]
pub struct QueryPlan {
    pub body: QueryBody,
    pub columns: Vec<ColumnMeta>,
    pub into: Into,
}

/// Where SELECT ... INTO puts a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntoTarget {
    /// `@name`, in lower case.
    User(Box<str>),
    /// A variable of the stored program, by its parameter.
    Local(u16),
}

/// Where the rows of a query go.
#[derive(Debug, Clone, Default)]
pub enum Into {
    #[default]
    Client,
    /// SELECT ... INTO @a, @b.
    Variables(Vec<IntoTarget>),
    OutFile(Box<FileTarget>),
    /// One row, its values one behind the other.
    DumpFile(Box<[u8]>),
}

/// SELECT ... INTO OUTFILE.
#[derive(Debug, Clone)]
pub struct FileTarget {
    pub path: Box<[u8]>,
    /// The character set of its texts; `None`: as they come.
    pub charset: Option<charset::Collation>,
    pub format: FileFormat,
}

/// FIELDS and LINES of LOAD DATA and SELECT ... INTO OUTFILE.
#[derive(Debug, Clone)]
pub struct FileFormat {
    pub separator: Box<[u8]>,
    pub enclosure: Option<u8>,
    pub optionally: bool,
    pub escape: Option<u8>,
    pub line_start: Box<[u8]>,
    pub line_end: Box<[u8]>,
}

impl FileFormat {
    /// Fields of fixed length: nothing stands between them or around them.
    pub fn is_fixed(&self) -> bool {
        self.separator.is_empty() && self.enclosure.is_none()
    }
}

/// LOAD DATA.
#[derive(Debug)]
pub struct LoadPlan {
    pub path: Box<[u8]>,
    /// The client sends the file.
    pub local: bool,
    /// Of the file's texts.
    pub collation: charset::Collation,
    pub format: FileFormat,
    pub skip_lines: u64,
    /// Bytes of each field of a file without separators; empty for others.
    pub widths: Vec<usize>,
    pub targets: Vec<LoadTarget>,
    pub sets: Vec<Assignment>,
}

#[derive(Debug, Clone)]
pub enum LoadTarget {
    Column(usize),
    Variable(Box<str>),
}

#[derive(Debug, Clone)]
pub enum QueryBody {
    Select(Box<SelectPlan>),
    Set(Box<SetPlan>),
    /// VALUES (..), (..)
    Values(Vec<Vec<Expr>>),
    /// A table of WITH RECURSIVE.
    Recursive(Box<RecursivePlan>),
    /// A table of the name `seq_A_to_B_step_C`: the numbers themselves.
    Series(Series),
}

/// Numbers from `from` to `to`, downwards when `to` is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Series {
    pub from: u64,
    pub to: u64,
    pub step: u64,
}

impl Series {
    /// The series that a table's name stands for, as MariaDB's SEQUENCE engine reads it.
    pub fn of_name(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("seq_")?;
        let (from, rest) = rest.split_once("_to_")?;
        let (to, step) = rest.split_once("_step_").unwrap_or((rest, "1"));
        let number = |t: &str| if t.bytes().all(|b| b.is_ascii_digit()) { t.parse().ok() } else { None };
        Some(Self { from: number(from)?, to: number(to)?, step: number(step).filter(|s| *s > 0)? })
    }

    pub fn len(self) -> u64 {
        (self.from.abs_diff(self.to) / self.step).saturating_add(1)
    }

    /// Never: a series has its first number at least.
    pub fn is_empty(self) -> bool {
        false
    }

    /// Counted from the lower end; a series that goes down is the same numbers backwards.
    pub fn numbers(self) -> impl Iterator<Item = u64> {
        let (low, last) = (self.from.min(self.to), self.len() - 1);
        (0..=last).map(move |i| low + self.step * if self.from <= self.to { i } else { last - i })
    }
}

/// `seed UNION [ALL] step`: the steps read the rows that the last round added, until a round adds none.
#[derive(Debug, Clone)]
pub struct RecursivePlan {
    /// Names the table; steps read it as `Source::Working` of the same number.
    pub id: Slot,
    pub seeds: Vec<QueryPlan>,
    pub steps: Vec<QueryPlan>,
    /// UNION ALL: rows that are there already count again.
    pub all: bool,
    /// Columns by which rows are the same (CYCLE ... RESTRICT); all of them otherwise.
    pub unique: Vec<usize>,
    pub columns: Vec<Typed>,
    pub names: Vec<String>,
    /// Slots and subqueries of the steps: what they remember is forgotten after each round.
    pub slots: std::ops::Range<Slot>,
    pub subqueries: std::ops::Range<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOp {
    Union,
    Except,
    Intersect,
}

/// `first op term op term ...`, from the left.
#[derive(Debug, Clone)]
pub struct SetPlan {
    pub first: QueryPlan,
    pub rest: Vec<SetTerm>,
    /// Holds the result's row while ORDER BY is evaluated.
    pub slot: Slot,
    pub order: Vec<SortKey>,
    pub limit: LimitPlan,
    /// The collation (for texts) by which rows are equal, a column each.
    pub columns: Vec<Typed>,
    /// Slots that the parts have in common, one part after the other, where they are many: what one part remembers by slot is
    /// nothing to the next.
    pub shared: Option<std::ops::Range<Slot>>,
}

#[derive(Debug, Clone)]
pub struct SetTerm {
    pub op: SetOp,
    pub all: bool,
    pub query: QueryPlan,
}

#[derive(Debug, Clone, Default)]
pub struct LimitPlan {
    pub count: Option<Expr>,
    pub offset: Option<Expr>,
    /// FETCH ... WITH TIES: rows equal to the last one by ORDER BY come too.
    pub with_ties: bool,
    /// LIMIT ROWS EXAMINED.
    pub examined: Option<Expr>,
}

#[derive(Debug, Clone)]
pub struct SortKey {
    pub expr: Expr,
    pub compare: CompareAs,
    pub descending: bool,
}

/// How the rows of a step are locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    Shared,
    Exclusive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWaitPolicy {
    Default,
    NoWait,
    Seconds(u64),
    SkipLocked,
}

#[derive(Debug, Clone)]
pub struct SelectPlan {
    pub steps: Vec<TableStep>,
    /// Conditions without any column of this block; false = no rows.
    pub gate: Option<Expr>,
    pub output: Vec<Typed>,
    pub group: Option<GroupPlan>,
    pub having: Option<Expr>,
    pub windows: Option<WindowPlan>,
    pub distinct: bool,
    /// Empty when the rows come in order.
    pub order: Vec<SortKey>,
    pub limit: LimitPlan,
    pub lock: Option<(LockMode, LockWaitPolicy)>,
    /// "Impossible WHERE" and the like: known when planning.
    pub never: Option<&'static str>,
    /// The access order already satisfies ORDER BY (for EXPLAIN).
    pub ordered_by_index: bool,
    pub found_rows: bool,
    /// The rows of an UPDATE: READ COMMITTED does not wait for a locked row whose committed version does not match.
    pub semi_consistent: bool,
    /// So many columns at the end of `output` are no part of the result: DISTINCT does not compare them.
    pub hidden: usize,
    /// For each key of `order` the column of `output` whose value it is, where computing that again could give another one.
    pub order_listed: Vec<Option<u16>>,
}

#[derive(Debug, Clone)]
pub struct GroupPlan {
    /// Empty = one group over everything (also over no row).
    pub keys: Vec<SortKey>,
    /// WITH ROLLUP: a group for each leading part of the keys too. The keys' values are columns behind the aggregates, NULL where
    /// the group stands for all of them.
    pub rollup: bool,
    /// The slot whose columns are: `carried`, then the aggregates.
    pub slot: Slot,
    /// Columns of the group's first row that are used after grouping.
    pub carried: Vec<ColumnRef>,
    pub aggregates: Vec<Aggregate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateKind {
    CountAll,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    StddevPop,
    StddevSamp,
    VarPop,
    VarSamp,
    GroupConcat,
    JsonArrayAgg,
    JsonObjectAgg,
    /// A stored aggregate function.
    Stored,
}

#[derive(Debug, Clone)]
pub struct Aggregate {
    pub kind: AggregateKind,
    pub distinct: bool,
    pub args: Vec<Typed>,
    pub order: Vec<SortKey>,
    pub separator: Option<Box<[u8]>>,
    /// LIMIT of GROUP_CONCAT and JSON_ARRAYAGG.
    pub limit: LimitPlan,
    pub ty: crate::meta::ExprType,
    /// How MIN, MAX and DISTINCT compare.
    pub compare: CompareAs,
    pub stored: Option<Arc<RoutineDef>>,
}

/// Window functions of a block: computed over its rows after grouping and HAVING.
#[derive(Debug, Clone)]
pub struct WindowPlan {
    /// The slot whose columns are the functions' values.
    pub slot: Slot,
    /// Columns of the rows that are used afterwards or by the functions.
    pub carried: Vec<ColumnRef>,
    pub windows: Vec<Window>,
    pub functions: Vec<WindowFunction>,
}

/// PARTITION BY and ORDER BY.
#[derive(Debug, Clone, Default)]
pub struct Window {
    pub partition: Vec<SortKey>,
    pub order: Vec<SortKey>,
}

#[derive(Debug, Clone)]
pub struct WindowFunction {
    /// Index of its window.
    pub window: usize,
    pub kind: WindowKind,
    pub args: Vec<Typed>,
    pub frame: Frame,
    pub ty: crate::meta::ExprType,
}

#[derive(Debug, Clone)]
pub enum WindowKind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    PercentileCont,
    PercentileDisc,
    Aggregate(Box<Aggregate>),
}

/// The rows around the current one that a function sees.
#[derive(Debug, Clone)]
pub struct Frame {
    /// RANGE: bounds are distances of the ORDER BY value; otherwise numbers of rows.
    pub range: bool,
    pub start: Bound,
    pub end: Bound,
}

#[derive(Debug, Clone)]
pub enum Bound {
    First,
    Preceding(Expr),
    Current,
    Following(Expr),
    Last,
}

/// Where a step's rows come from.
#[derive(Debug, Clone)]
pub enum Source {
    Table(Arc<TableHandle>),
    /// Run once and kept, or run for each outer row when it is lateral.
    Derived(Box<QueryPlan>),
    /// A virtual table; the executor knows it by name and fills its rows.
    Virtual(VirtualTable),
    /// The rows that the last round of a recursive table added.
    Working(Slot),
    /// JSON_TABLE: computed for each row of the tables before it.
    Json(Box<crate::json_table::JsonTablePlan>),
}

#[derive(Debug, Clone)]
pub struct VirtualTable {
    pub name: &'static str,
    pub columns: Arc<[ColumnMeta]>,
}

/// One table of a join, in join order.
#[derive(Debug, Clone)]
pub struct TableStep {
    pub slot: Slot,
    pub source: Source,
    pub alias: String,
    pub access: Access,
    /// Must hold for a row to match: for inner joins all conditions that can be checked here.
    pub on: Option<Expr>,
    /// Conditions that the access expresses; checked only when its values did not fit the columns' types.
    pub covered: Option<Expr>,
    /// This step starts the right side of a LEFT JOIN that ends with the step of this index.
    pub outer_end: Option<usize>,
    /// Right sides of outer joins that end here, the innermost first.
    pub ends: SmallVec<[OuterEnd; 1]>,
    /// Estimates and candidates, for EXPLAIN.
    pub info: StepInfo,
}

/// The end of the right side of an outer join.
#[derive(Debug, Clone)]
pub struct OuterEnd {
    /// The step it starts with.
    pub start: usize,
    /// Conditions from outside the right side, checked when it was matched or extended with NULLs.
    pub after: Option<Expr>,
}

#[derive(Debug, Clone, Default)]
pub struct StepInfo {
    /// Rows that match, about.
    pub rows: u64,
    /// Rows that are looked at.
    pub examined: u64,
    pub possible_keys: Vec<usize>,
    /// Columns that the statement reads of this table are all in the index.
    pub covering: bool,
    /// Of a partitioned table: the parts that the statement names, when it does.
    pub parts: Option<Arc<[usize]>>,
    /// What the conditions say of the parts that need be read.
    pub prune: Option<Arc<Filter>>,
    /// The parts that are read, as far as they are known when planning; `None` = all.
    pub known_parts: Option<Arc<[usize]>>,
    /// A column of this index sits in the key: how many parts.
    pub key_parts: usize,
}

/// How a step finds its rows.
#[derive(Debug, Clone)]
pub enum Access {
    /// The clustered index from end to end.
    Scan { descending: bool },
    /// An index from end to end, for its order.
    Index { index: usize, descending: bool },
    /// At most one row: every part of a unique index.
    Point { index: usize, key: Vec<Expr>, constant: bool },
    /// Leading parts of an index restricted to intervals.
    Range { index: usize, parts: Vec<PartRange>, descending: bool, constant: bool },
    /// The rows are read once by `inner`, those that `filter` takes are hashed by `build` and looked up by `probe`.
    Hash {
        inner: Box<Access>,
        filter: Option<Box<Expr>>,
        build: Vec<Expr>,
        probe: Vec<Expr>,
        compare: Vec<CompareAs>,
    },
    /// Derived and virtual tables: all rows.
    Rows,
}

/// The values that one index part may have: a union of intervals. All but the last part of a range are single points.
#[derive(Debug, Clone)]
pub struct PartRange {
    pub intervals: Vec<Interval>,
}

#[derive(Debug, Clone)]
pub enum Interval {
    /// `= expr`; never matches when the value is NULL.
    Eq(Expr),
    /// `IS NULL`, and `<=>` with NULL.
    Null,
    /// `<=> expr`
    NullSafeEq(Expr),
    /// Without a lower bound NULLs are left out.
    Between { low: Option<(Expr, bool)>, high: Option<(Expr, bool)> },
    /// `IS NOT NULL`
    NotNull,
    /// `LIKE 'abc%'`: the prefix before the first wildcard.
    Prefix(Expr),
}

impl Interval {
    pub fn is_point(&self) -> bool {
        matches!(self, Self::Eq(_) | Self::Null | Self::NullSafeEq(_))
    }
}

impl PartRange {
    pub fn is_points(&self) -> bool {
        self.intervals.iter().all(Interval::is_point)
    }
}

/// What an INSERT does on a duplicate key.
#[derive(Debug, Clone)]
pub enum OnDuplicate {
    Error,
    Ignore,
    Replace,
    /// Assignments; they read the existing row at `InsertPlan::slot` and the new one by `Expr::InsertValue`.
    Update(Vec<Assignment>),
}

/// A column's new value.
#[derive(Debug, Clone)]
pub struct Assignment {
    pub column: usize,
    pub value: AssignValue,
}

#[derive(Debug, Clone)]
pub enum AssignValue {
    Expr(Expr),
    Default,
}

#[derive(Debug)]
pub struct InsertPlan {
    /// Of a partitioned table: the parts that rows may be written into, when not all are.
    pub parts: Option<Arc<[usize]>>,
    pub table: Arc<TableHandle>,
    pub slot: Slot,
    /// Columns that get values, in the order of the values.
    pub columns: Vec<usize>,
    pub source: InsertSource,
    /// The source reads the table that it fills, or runs programs that may.
    pub reads_target: bool,
    pub on_duplicate: OnDuplicate,
    /// Where ON DUPLICATE KEY UPDATE finds the columns of the query that stand behind its select list.
    pub query_slot: Option<Slot>,
    pub ignore: bool,
    pub replace: bool,
    pub returning: Option<Returning>,
    /// Of the view that is inserted into.
    pub rules: Vec<ViewRule>,
}

/// RETURNING: a result row for each row that was inserted or deleted.
#[derive(Debug)]
pub struct Returning {
    pub output: Vec<Typed>,
    pub columns: Vec<ColumnMeta>,
}

#[derive(Debug)]
pub enum InsertSource {
    Rows(Vec<Vec<AssignValue>>),
    Query(QueryPlan),
    Load(Box<LoadPlan>),
}

#[derive(Debug)]
pub struct UpdatePlan {
    /// The rows to change are found like those of a SELECT without output.
    pub select: SelectPlan,
    /// Changed tables: step slot, table, assignments.
    pub targets: Vec<UpdateTarget>,
    pub ignore: bool,
    /// An index that finds the rows is itself changed, or rows are sorted, or tables are joined: collect first, then change.
    pub buffered: bool,
    /// FOR PORTION OF.
    pub portion: Option<PortionPlan>,
}

/// A condition that rows written through a view must meet: WITH CHECK OPTION.
#[derive(Debug, Clone)]
pub struct ViewRule {
    /// `schema`.`name`, for the message.
    pub view: String,
    /// Over the columns of the row's table.
    pub condition: Expr,
}

#[derive(Debug)]
pub struct UpdateTarget {
    pub slot: Slot,
    pub table: Arc<TableHandle>,
    /// Of a partitioned table: the parts that rows may be moved into, when not all are.
    pub parts: Option<Arc<[usize]>>,
    pub assignments: Vec<Assignment>,
    pub rules: Vec<ViewRule>,
}

#[derive(Debug)]
pub struct DeletePlan {
    pub select: SelectPlan,
    pub targets: Vec<(Slot, Arc<TableHandle>)>,
    pub ignore: bool,
    pub buffered: bool,
    pub returning: Option<Returning>,
    /// DELETE HISTORY: old versions go for good.
    pub history: bool,
    /// FOR PORTION OF.
    pub portion: Option<PortionPlan>,
}

/// What part of a row a statement changes.
#[derive(Debug)]
pub struct PortionPlan {
    /// The period's columns.
    pub start: usize,
    pub end: usize,
    pub from: Expr,
    pub to: Expr,
    /// Writes what is left of the row.
    pub rest: Arc<InsertPlan>,
}

impl QueryPlan {
    /// Visits the expressions of this query that may read columns of an outer block.
    pub fn outer_exprs<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match &self.body {
            QueryBody::Select(s) => s.exprs(visit),
            QueryBody::Set(s) => {
                s.first.outer_exprs(visit);
                s.rest.iter().for_each(|t| t.query.outer_exprs(visit));
            }
            QueryBody::Values(rows) => rows.iter().flatten().for_each(visit),
            QueryBody::Series(_) => {}
            QueryBody::Recursive(r) => {
                r.seeds.iter().chain(&r.steps).for_each(|q| q.outer_exprs(visit));
            }
        }
    }
}

impl SelectPlan {
    /// Every expression of the block.
    pub fn exprs<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        for step in &self.steps {
            if let Source::Derived(query) = &step.source {
                query.outer_exprs(visit);
            }
        }
        self.own_exprs(visit);
    }

    /// Every expression of the block, without those of its derived tables.
    pub fn own_exprs<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        for step in &self.steps {
            step.exprs(visit);
        }
        self.gate.iter().for_each(&mut *visit);
        self.output.iter().for_each(|t| visit(&t.expr));
        if let Some(group) = &self.group {
            group.keys.iter().for_each(|k| visit(&k.expr));
            group.aggregates.iter().for_each(|a| a.exprs(visit));
        }
        if let Some(windows) = &self.windows {
            windows.exprs(visit);
        }
        self.having.iter().for_each(&mut *visit);
        self.order.iter().for_each(|k| visit(&k.expr));
        self.limit.count.iter().for_each(&mut *visit);
        self.limit.offset.iter().for_each(visit);
    }
}

impl Aggregate {
    fn exprs<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        self.args.iter().for_each(|t| visit(&t.expr));
        self.order.iter().for_each(|k| visit(&k.expr));
    }
}

impl WindowPlan {
    /// Every expression of the windows and their functions.
    pub fn exprs<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        for window in &self.windows {
            window.partition.iter().chain(&window.order).for_each(|k| visit(&k.expr));
        }
        for function in &self.functions {
            function.args.iter().for_each(|t| visit(&t.expr));
            for bound in [&function.frame.start, &function.frame.end] {
                if let Bound::Preceding(e) | Bound::Following(e) = bound {
                    visit(e);
                }
            }
        }
    }
}

impl TableStep {
    fn exprs<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        if let Source::Json(table) = &self.source {
            visit(&table.document);
        }
        self.access.exprs(visit);
        self.on.iter().for_each(&mut *visit);
        self.covered.iter().for_each(&mut *visit);
        self.ends.iter().filter_map(|e| e.after.as_ref()).for_each(visit);
    }
}

impl Access {
    fn exprs<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match self {
            Self::Point { key, .. } => key.iter().for_each(visit),
            Self::Range { parts, .. } => parts.iter().flat_map(|p| &p.intervals).for_each(|i| match i {
                Interval::Eq(e) | Interval::NullSafeEq(e) | Interval::Prefix(e) => visit(e),
                Interval::Between { low, high } => low.iter().chain(high).for_each(|(e, _)| visit(e)),
                Interval::Null | Interval::NotNull => {}
            }),
            Self::Hash { inner, filter, build, probe, .. } => {
                inner.exprs(visit);
                filter.iter().for_each(|e| visit(e));
                build.iter().chain(probe).for_each(visit);
            }
            Self::Scan { .. } | Self::Index { .. } | Self::Rows => {}
        }
    }

    /// The index that is read, `0` for the clustered one.
    pub fn index(&self) -> Option<usize> {
        match self {
            Self::Scan { .. } => Some(0),
            Self::Index { index, .. } | Self::Point { index, .. } | Self::Range { index, .. } => Some(*index),
            Self::Hash { inner, .. } => inner.index(),
            Self::Rows => None,
        }
    }
}

/// A constant as an expression's value, when it is one.
pub fn as_const(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Const(value) => Some(value),
        _ => None,
    }
}
