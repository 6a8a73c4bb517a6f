//! Statements about the session: SET, SHOW, EXPLAIN, transactions, locks, prepared statements, KILL, diagnostics.

use super::{Account, Expr, Ident, ObjectName, Statement};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    Global,
    /// `SESSION`, `LOCAL`, and no word at all where the grammar has a default.
    Session,
}

/// `@@[scope.][base.]name`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemVariable<'a> {
    pub scope: Option<Scope>,
    /// `hot_cache` of `hot_cache.key_buffer_size`; the connection of a multi-source variable.
    pub base: Option<Ident<'a>>,
    pub name: Ident<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SetItem<'a> {
    /// `@name = value`
    User {
        name: Ident<'a>,
        value: Expr<'a>,
    },
    /// `[scope] name = value`, `@@scope.name = value`. Without a scope the name may be a variable of the stored
    /// program; then `base` may be `NEW` or a row variable. `None`: DEFAULT. A bare word (`SET x = on`) is a `Column`;
    /// `BINARY` and `ROW` are columns of that name, `ALL` and `ON` too.
    System {
        variable: SystemVariable<'a>,
        value: Option<Expr<'a>>,
    },
    Transaction(SetTransaction),
    /// `NAMES charset [COLLATE collation]`; `None`: DEFAULT.
    Names {
        charset: Option<Ident<'a>>,
        collation: Option<Ident<'a>>,
    },
    /// `CHARACTER SET charset`
    CharacterSet(Option<Ident<'a>>),
    Password {
        account: Option<Account<'a>>,
        value: PasswordValue<'a>,
    },
    /// `ROLE name`; `None`: NONE.
    Role(Option<Account<'a>>),
    DefaultRole {
        role: Option<Account<'a>>,
        account: Option<Account<'a>>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PasswordValue<'a> {
    /// `PASSWORD('text')`, `OLD_PASSWORD('text')`
    Plain(&'a [u8]),
    Hash(&'a [u8]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetTransaction {
    /// `None`: the next transaction only.
    pub scope: Option<Scope>,
    pub isolation: Option<IsolationLevel>,
    pub access: Option<AccessMode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessMode {
    ReadWrite,
    ReadOnly,
}

/// `SET STATEMENT a = 1, ... FOR statement`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetStatement<'a> {
    pub items: &'a [SetItem<'a>],
    pub statement: Statement<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatement<'a> {
    /// `BEGIN [WORK]`, `START TRANSACTION ...`
    Begin {
        consistent_snapshot: bool,
        access: Option<AccessMode>,
    },
    Commit(Completion),
    Rollback(Completion),
    RollbackTo(Ident<'a>),
    Savepoint(Ident<'a>),
    Release(Ident<'a>),
}

/// `None`: as `completion_type` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Completion {
    pub chain: Option<bool>,
    pub release: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockTables<'a> {
    pub tables: &'a [LockTable<'a>],
    pub wait: super::LockWait,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockTable<'a> {
    pub name: ObjectName<'a>,
    pub alias: Option<Ident<'a>>,
    pub kind: TableLock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableLock {
    Read,
    ReadLocal,
    Write,
    WriteConcurrent,
    LowPriorityWrite,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prepare<'a> {
    pub name: Ident<'a>,
    pub source: Expr<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Execute<'a> {
    pub source: ExecuteSource<'a>,
    /// `USING a, b`; values may be `Expr::Default` and `Expr::Ignore`.
    pub params: &'a [Expr<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExecuteSource<'a> {
    Name(Ident<'a>),
    /// `EXECUTE IMMEDIATE expr`
    Immediate(Expr<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kill<'a> {
    /// `QUERY`: the statement only.
    pub query: bool,
    /// `SOFT`; otherwise HARD.
    pub soft: bool,
    pub target: KillTarget<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KillTarget<'a> {
    Connection(Expr<'a>),
    QueryId(Expr<'a>),
    User(Account<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Explain<'a> {
    pub kind: ExplainKind,
    pub format: ExplainFormat,
    pub target: ExplainTarget<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExplainKind {
    Plain,
    Extended,
    Partitions,
    /// `ANALYZE statement`: runs it.
    Analyze,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExplainFormat {
    Table,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExplainTarget<'a> {
    Statement(Statement<'a>),
    Connection(Expr<'a>),
}

/// `DESCRIBE table [column | 'pattern']`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Describe<'a> {
    pub table: ObjectName<'a>,
    pub column: Option<&'a [u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Show<'a> {
    pub kind: ShowKind<'a>,
    pub filter: Option<ShowFilter<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShowFilter<'a> {
    Like(&'a [u8]),
    Where(Expr<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShowKind<'a> {
    Databases,
    Tables {
        full: bool,
        database: Option<Ident<'a>>,
    },
    TableStatus {
        database: Option<Ident<'a>>,
    },
    OpenTables {
        database: Option<Ident<'a>>,
    },
    Triggers {
        full: bool,
        database: Option<Ident<'a>>,
    },
    Events {
        database: Option<Ident<'a>>,
    },
    Columns {
        full: bool,
        table: ObjectName<'a>,
    },
    Index {
        table: ObjectName<'a>,
    },
    Variables(Scope),
    Status(Scope),
    CreateDatabase {
        if_not_exists: bool,
        name: Ident<'a>,
    },
    CreateTable(ObjectName<'a>),
    CreateView(ObjectName<'a>),
    CreateSequence(ObjectName<'a>),
    CreateProcedure(ObjectName<'a>),
    CreateFunction(ObjectName<'a>),
    CreatePackage(ObjectName<'a>),
    CreatePackageBody(ObjectName<'a>),
    CreateTrigger(ObjectName<'a>),
    CreateEvent(ObjectName<'a>),
    CreateUser(Option<Account<'a>>),
    CreateServer(Ident<'a>),
    ProcedureStatus,
    FunctionStatus,
    PackageStatus,
    PackageBodyStatus,
    ProcedureCode(ObjectName<'a>),
    FunctionCode(ObjectName<'a>),
    PackageBodyCode(ObjectName<'a>),
    ProcessList {
        full: bool,
    },
    Engines,
    /// `SHOW ENGINE name what`; name `None`: ALL.
    Engine {
        name: Option<Ident<'a>>,
        what: EngineReport,
    },
    CharacterSets,
    Collations,
    Privileges,
    Grants(Option<Account<'a>>),
    Warnings {
        limit: Option<super::Limit<'a>>,
    },
    Errors {
        limit: Option<super::Limit<'a>>,
    },
    WarningCount,
    ErrorCount,
    Plugins,
    PluginsSoname(Option<&'a [u8]>),
    Profiles,
    Profile {
        kinds: &'a [Ident<'a>],
        query: Option<u64>,
        limit: Option<super::Limit<'a>>,
    },
    Authors,
    Contributors,
    BinaryLogs,
    BinlogEvents {
        connection: Option<&'a [u8]>,
        log: Option<&'a [u8]>,
        from: Option<u64>,
        limit: Option<super::Limit<'a>>,
        relay: bool,
    },
    BinlogStatus,
    SlaveHosts,
    SlaveStatus {
        connection: Option<&'a [u8]>,
        all: bool,
    },
    Locales,
    ExplainFor(Expr<'a>),
    AnalyzeFor {
        format: ExplainFormat,
        connection: Expr<'a>,
    },
    /// A table of an INFORMATION_SCHEMA plugin by its name: INDEX_STATISTICS, CLIENT_STATISTICS, ...
    Plugin(Ident<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineReport {
    Status,
    Mutex,
    Logs,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal<'a> {
    /// `RESIGNAL`
    pub resignal: bool,
    pub condition: Option<SignalCondition<'a>>,
    pub items: &'a [(Ident<'a>, Expr<'a>)],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SignalCondition<'a> {
    SqlState(&'a [u8]),
    Name(Ident<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GetDiagnostics<'a> {
    /// `CONDITION n`; `None`: the statement information.
    pub condition: Option<Expr<'a>>,
    /// target = item name
    pub items: &'a [(super::IntoTarget<'a>, Ident<'a>)],
}
