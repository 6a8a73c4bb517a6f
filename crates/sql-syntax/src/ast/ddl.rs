//! Definitions of databases, tables, indexes, views, sequences and servers.

use super::{Account, CreateMode, DataType, Expr, Ident, NameValue, ObjectName, Query};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateDatabase<'a> {
    pub mode: CreateMode,
    pub name: Ident<'a>,
    pub options: DatabaseOptions<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterDatabase<'a> {
    /// `None`: the current database.
    pub name: Option<Ident<'a>>,
    pub options: DatabaseOptions<'a>,
    /// `UPGRADE DATA DIRECTORY NAME`
    pub upgrade_name: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct DatabaseOptions<'a> {
    pub charset: Option<DefaultOr<'a>>,
    pub collation: Option<DefaultOr<'a>>,
    pub comment: Option<&'a [u8]>,
}

/// A character set or collation, or the word DEFAULT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultOr<'a> {
    Default,
    Name(Ident<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateTable<'a> {
    pub mode: CreateMode,
    pub temporary: bool,
    pub name: ObjectName<'a>,
    pub content: TableContent<'a>,
    pub options: &'a [TableOption<'a>],
    pub partitioning: Option<&'a Partitioning<'a>>,
    /// Rows that the select would duplicate: `[IGNORE | REPLACE] [AS] SELECT ...`
    pub on_duplicate: super::OnDuplicate,
    pub query: Option<&'a Query<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TableContent<'a> {
    /// `LIKE other`
    Like(ObjectName<'a>),
    /// Empty with `CREATE TABLE t SELECT ...` and with engines that discover their columns.
    Elements(&'a [TableElement<'a>]),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TableElement<'a> {
    Column(&'a ColumnDef<'a>),
    Index(&'a IndexDef<'a>),
    ForeignKey(&'a ForeignKey<'a>),
    Check(&'a CheckDef<'a>),
    /// `PERIOD FOR name (start, end)`; the name SYSTEM_TIME is system versioning.
    Period {
        name: Ident<'a>,
        start: Ident<'a>,
        end: Ident<'a>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnDef<'a> {
    pub name: Ident<'a>,
    pub data_type: DataType<'a>,
    /// In the order written. A repeated attribute counts as its last occurrence.
    pub attributes: &'a [ColumnAttribute<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnAttribute<'a> {
    Null,
    NotNull,
    /// A literal, `CURRENT_TIMESTAMP` or any expression.
    Default(Expr<'a>),
    OnUpdate(Expr<'a>),
    AutoIncrement,
    PrimaryKey,
    Unique,
    /// `KEY` alone
    Key,
    Comment(&'a [u8]),
    Collate(DefaultOr<'a>),
    Check(&'a CheckDef<'a>),
    References(&'a References<'a>),
    Generated(Generated<'a>),
    /// `GENERATED ALWAYS AS ROW START | END`
    RowStart,
    RowEnd,
    Invisible,
    /// Written between the type and its character set.
    Compressed {
        method: Option<Ident<'a>>,
    },
    WithSystemVersioning,
    WithoutSystemVersioning,
    /// `REF_SYSTEM_ID = n`
    ReferenceSystem(u64),
    ColumnFormat(Ident<'a>),
    Storage(Ident<'a>),
    /// Of the engine: `name = value`
    Engine(NameValue<'a>),
    /// `SERIAL DEFAULT VALUE`
    SerialDefault,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generated<'a> {
    pub expr: Expr<'a>,
    /// `STORED` or `PERSISTENT`; otherwise virtual.
    pub stored: bool,
    /// The expression as written.
    pub text: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexDef<'a> {
    pub kind: IndexKind,
    /// `CONSTRAINT name` in front.
    pub constraint: Option<Ident<'a>>,
    pub if_not_exists: bool,
    pub name: Option<Ident<'a>>,
    pub parts: &'a [IndexPart<'a>],
    /// `period WITHOUT OVERLAPS` at the end of the parts.
    pub without_overlaps: Option<Ident<'a>>,
    pub options: &'a [IndexOption<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
    Fulltext,
    Spatial,
    Vector,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexPart<'a> {
    pub column: Ident<'a>,
    pub length: Option<u64>,
    pub descending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IndexOption<'a> {
    /// `USING BTREE`; the word as written.
    Using(Ident<'a>),
    KeyBlockSize(u64),
    Comment(&'a [u8]),
    Parser(Ident<'a>),
    Ignored(bool),
    Clustering(bool),
    Engine(NameValue<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForeignKey<'a> {
    pub constraint: Option<Ident<'a>>,
    pub if_not_exists: bool,
    pub name: Option<Ident<'a>>,
    pub columns: &'a [IndexPart<'a>],
    pub references: References<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct References<'a> {
    pub table: ObjectName<'a>,
    pub columns: &'a [Ident<'a>],
    /// `MATCH FULL | PARTIAL | SIMPLE`
    pub matching: Option<Ident<'a>>,
    pub on_delete: Option<ReferenceAction>,
    pub on_update: Option<ReferenceAction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckDef<'a> {
    pub constraint: Option<Ident<'a>>,
    pub if_not_exists: bool,
    pub expr: Expr<'a>,
    pub text: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TableOption<'a> {
    Engine(Ident<'a>),
    Charset(DefaultOr<'a>),
    Collate(DefaultOr<'a>),
    Comment(&'a [u8]),
    AutoIncrement(u64),
    RowFormat(Ident<'a>),
    AvgRowLength(u64),
    MaxRows(u64),
    MinRows(u64),
    KeyBlockSize(u64),
    Checksum(u64),
    DelayKeyWrite(u64),
    /// `None` is DEFAULT.
    PackKeys(Option<u64>),
    StatsPersistent(Option<u64>),
    StatsAutoRecalc(Option<u64>),
    StatsSamplePages(Option<u64>),
    PageChecksum(u64),
    Transactional(Option<u64>),
    Password(&'a [u8]),
    DataDirectory(&'a [u8]),
    IndexDirectory(&'a [u8]),
    Tablespace(Ident<'a>),
    Storage(Ident<'a>),
    Union(&'a [ObjectName<'a>]),
    InsertMethod(Ident<'a>),
    Connection(&'a [u8]),
    Sequence(u64),
    WithSystemVersioning,
    /// Of the engine: `name = value`
    Other(NameValue<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Partitioning<'a> {
    pub method: PartitionMethod<'a>,
    pub count: Option<u64>,
    pub subpartition: Option<PartitionMethod<'a>>,
    pub subpartition_count: Option<u64>,
    pub partitions: &'a [PartitionDef<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PartitionMethod<'a> {
    Range(Expr<'a>),
    RangeColumns(&'a [Ident<'a>]),
    List(Expr<'a>),
    ListColumns(&'a [Ident<'a>]),
    Hash {
        linear: bool,
        expr: Expr<'a>,
    },
    Key {
        linear: bool,
        algorithm: Option<u64>,
        columns: &'a [Ident<'a>],
    },
    SystemTime {
        interval: Option<(Expr<'a>, super::IntervalUnit)>,
        starts: Option<Expr<'a>>,
        limit: Option<u64>,
        auto: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionDef<'a> {
    pub name: Ident<'a>,
    pub values: PartitionValues<'a>,
    pub options: &'a [TableOption<'a>],
    pub nodegroup: Option<u64>,
    pub subpartitions: &'a [PartitionDef<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PartitionValues<'a> {
    None,
    /// `LESS THAN (...)`; `None` inside is MAXVALUE.
    LessThan(&'a [Option<Expr<'a>>]),
    /// `IN (...)`: each value is a row of one or more.
    In(&'a [&'a [Option<Expr<'a>>]]),
    /// `DEFAULT` list partition
    Default,
    /// System versioning
    History,
    Current,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterTable<'a> {
    pub online: bool,
    pub ignore: bool,
    pub if_exists: bool,
    pub name: ObjectName<'a>,
    pub wait: super::LockWait,
    pub actions: &'a [AlterAction<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AlterAction<'a> {
    AddColumn { if_not_exists: bool, column: &'a ColumnDef<'a>, position: ColumnPosition<'a> },
    AddIndex(&'a IndexDef<'a>),
    AddForeignKey(&'a ForeignKey<'a>),
    AddCheck(&'a CheckDef<'a>),
    AddPeriod { if_not_exists: bool, name: Ident<'a>, start: Ident<'a>, end: Ident<'a> },
    AddSystemVersioning,
    DropColumn { if_exists: bool, name: Ident<'a>, cascade: bool },
    DropIndex { if_exists: bool, name: Ident<'a> },
    DropPrimaryKey { if_exists: bool },
    DropForeignKey { if_exists: bool, name: Ident<'a> },
    DropConstraint { if_exists: bool, name: Ident<'a> },
    DropPeriod { if_exists: bool, name: Ident<'a> },
    DropSystemVersioning,
    ModifyColumn { if_exists: bool, column: &'a ColumnDef<'a>, position: ColumnPosition<'a> },
    ChangeColumn { if_exists: bool, old: Ident<'a>, column: &'a ColumnDef<'a>, position: ColumnPosition<'a> },
    RenameColumn { if_exists: bool, old: Ident<'a>, new: Ident<'a> },
    RenameIndex { if_exists: bool, old: Ident<'a>, new: Ident<'a> },
    Rename { if_exists: bool, new: ObjectName<'a> },
    SetDefault { if_exists: bool, column: Ident<'a>, value: Expr<'a> },
    DropDefault { if_exists: bool, column: Ident<'a> },
    IndexIgnored { if_exists: bool, name: Ident<'a>, ignored: bool },
    DisableKeys,
    EnableKeys,
    DiscardTablespace,
    ImportTablespace,
    OrderBy(&'a [super::OrderItem<'a>]),
    ConvertCharset { charset: DefaultOr<'a>, collation: Option<Ident<'a>> },
    Force,
    Algorithm(Ident<'a>),
    Lock(Ident<'a>),
    Option(TableOption<'a>),
    Partition(PartitionAction<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnPosition<'a> {
    Last,
    First,
    After(Ident<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PartitionAction<'a> {
    /// `PARTITION BY ...`
    By(&'a Partitioning<'a>),
    Remove,
    Add {
        if_not_exists: bool,
        count: Option<u64>,
        partitions: &'a [PartitionDef<'a>],
    },
    Drop {
        if_exists: bool,
        names: &'a [Ident<'a>],
    },
    Truncate(PartitionNames<'a>),
    Coalesce(u64),
    Reorganize {
        names: &'a [Ident<'a>],
        into: &'a [PartitionDef<'a>],
    },
    Exchange {
        name: Ident<'a>,
        table: ObjectName<'a>,
        validate: bool,
    },
    ConvertToTable {
        name: Ident<'a>,
        table: ObjectName<'a>,
    },
    ConvertFromTable {
        table: ObjectName<'a>,
        partition: PartitionDef<'a>,
    },
    Rebuild(PartitionNames<'a>),
    Optimize(PartitionNames<'a>),
    Analyze(PartitionNames<'a>),
    Check(PartitionNames<'a>),
    Repair(PartitionNames<'a>),
    DiscardTablespace(PartitionNames<'a>),
    ImportTablespace(PartitionNames<'a>),
}

/// Empty: ALL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionNames<'a>(pub &'a [Ident<'a>]);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropTable<'a> {
    pub temporary: bool,
    pub if_exists: bool,
    pub names: &'a [ObjectName<'a>],
    pub wait: super::LockWait,
}

/// DROP VIEW, DROP SEQUENCE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropObjects<'a> {
    pub temporary: bool,
    pub if_exists: bool,
    pub names: &'a [ObjectName<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncateTable<'a> {
    pub name: ObjectName<'a>,
    pub wait: super::LockWait,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenameTable<'a> {
    pub if_exists: bool,
    pub wait: super::LockWait,
    pub renames: &'a [(ObjectName<'a>, ObjectName<'a>)],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateIndex<'a> {
    pub mode: CreateMode,
    pub table: ObjectName<'a>,
    pub index: IndexDef<'a>,
    pub wait: super::LockWait,
    pub algorithm: Option<Ident<'a>>,
    pub lock: Option<Ident<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropIndex<'a> {
    pub if_exists: bool,
    /// `PRIMARY` is the primary key.
    pub name: Ident<'a>,
    pub table: ObjectName<'a>,
    pub wait: super::LockWait,
    pub algorithm: Option<Ident<'a>>,
    pub lock: Option<Ident<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateView<'a> {
    pub mode: CreateMode,
    /// `ALTER VIEW`
    pub alter: bool,
    /// MERGE, TEMPTABLE or UNDEFINED, as written.
    pub algorithm: Option<Ident<'a>>,
    pub definer: Option<Account<'a>>,
    /// `Some(true)`: SQL SECURITY INVOKER.
    pub invoker: Option<bool>,
    pub name: ObjectName<'a>,
    pub columns: &'a [Ident<'a>],
    pub query: &'a Query<'a>,
    /// The query as written.
    pub text: &'a [u8],
    pub check: Option<ViewCheck>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViewCheck {
    Local,
    Cascaded,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateSequence<'a> {
    pub mode: CreateMode,
    pub temporary: bool,
    pub name: ObjectName<'a>,
    pub data_type: Option<DataType<'a>>,
    pub sequence: &'a [SequenceOption],
    pub options: &'a [TableOption<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterSequence<'a> {
    pub if_exists: bool,
    pub name: ObjectName<'a>,
    pub data_type: Option<DataType<'a>>,
    pub sequence: &'a [SequenceOption],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceOption {
    Start(i128),
    Increment(i128),
    /// `None`: NO MINVALUE
    MinValue(Option<i128>),
    MaxValue(Option<i128>),
    /// 0: NOCACHE
    Cache(i128),
    Cycle(bool),
    /// `RESTART [WITH n]`
    Restart(Option<i128>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateServer<'a> {
    pub mode: CreateMode,
    pub name: Ident<'a>,
    pub wrapper: Ident<'a>,
    pub options: &'a [NameValue<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterServer<'a> {
    pub name: Ident<'a>,
    pub options: &'a [NameValue<'a>],
}
