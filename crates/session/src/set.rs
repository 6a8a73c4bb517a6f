//! SET: user variables, system variables, names, transaction characteristics.
//!
//! All values are evaluated and checked before the first assignment, as far as MariaDB does: a SET that fails on its second
//! item has not changed the first.

use std::borrow::Cow;

use charset::{Charset, Collation};
use client_error::{ClientError, connection as error};
use row_format::ColumnType;
use sql_syntax::Parsed;
use sql_syntax::ast::{self, Expr, Literal, SetItem};
use types::Value;

use crate::diagnostics::Level;
use crate::output::Output;
use crate::replicas;
use crate::session::Session;
use crate::settings::parse_time_zone;
use crate::statement::{self, Reply, Then};
use crate::variables::{Change, Given, Scope, Setting, Var};

/// A checked assignment.
enum Assign {
    User(Box<str>, Value),
    Session(Var, Setting),
    Global(Var, Setting),
    Names(Charset, Collation),
    /// SET CHARACTER SET: the connection takes the database's collation.
    CharacterSet(Charset),
    Transaction(ast::SetTransaction),
}

/// Runs SET.
pub(crate) fn run(session: &mut Session, items: &[SetItem<'_>], text: &[u8]) -> Result<(), ClientError> {
    match items {
        [SetItem::Password { account, value }] => {
            session.commit_for_ddl()?;
            return crate::account::set_password(session, account.as_ref(), value, text);
        }
        [SetItem::DefaultRole { role, account }] => {
            session.commit_for_ddl()?;
            return crate::account::set_default_role(session, role.as_ref(), account.as_ref(), text);
        }
        [SetItem::Role(role)] => return crate::account::set_role(session, role.as_ref()),
        _ => {}
    }
    let mut assigns = Vec::with_capacity(items.len());
    for item in items {
        assigns.push(check(session, item)?);
    }
    let mut variables_changed = false;
    for assign in assigns {
        variables_changed |= !matches!(assign, Assign::User(..));
        apply(session, assign)?;
    }
    if variables_changed {
        session.refresh_settings();
    }
    Ok(())
}

fn check(session: &mut Session, item: &SetItem<'_>) -> Result<Assign, ClientError> {
    match item {
        SetItem::User { name, value } => {
            let value = evaluate(session, value)?;
            Ok(Assign::User(name.text().to_lowercase().into(), value))
        }
        SetItem::System { variable, value } => check_system(session, variable, value.as_ref()),
        SetItem::Transaction(t) => {
            if t.scope.is_none() && session.transaction.is_active() {
                return Err(error::transaction_in_progress());
            }
            Ok(Assign::Transaction(*t))
        }
        SetItem::Names { charset, collation } => check_names(*charset, *collation),
        SetItem::CharacterSet(name) => {
            let charset = match name {
                Some(name) => client_charset(name.bytes())?,
                None => Charset::Utf8mb4,
            };
            Ok(Assign::CharacterSet(charset))
        }
        SetItem::Password { .. } | SetItem::Role(_) | SetItem::DefaultRole { .. } => {
            Err(error::not_supported("this item beside others in SET"))
        }
    }
}

fn client_charset(name: &[u8]) -> Result<Charset, ClientError> {
    let text = String::from_utf8_lossy(name);
    let charset = Charset::by_name(&text).ok_or_else(|| error::unknown_charset(&text))?;
    if charset.is_wide() {
        return Err(error::wrong_value("character_set_client", charset.name()));
    }
    Ok(charset)
}

fn check_names(
    charset: Option<ast::Ident<'_>>,
    collation: Option<ast::Ident<'_>>,
) -> Result<Assign, ClientError> {
    let charset = match charset {
        Some(name) => client_charset(name.bytes())?,
        None => Charset::Utf8mb4,
    };
    let collation = match collation {
        Some(name) => {
            let text = name.text();
            let found = Collation::by_name(&text).ok_or_else(|| error::unknown_collation(&text))?;
            if found.charset() != charset {
                return Err(error::collation_not_for_charset(&text, charset.name()));
            }
            found
        }
        None => Collation::default_of(charset),
    };
    Ok(Assign::Names(charset, collation))
}

fn check_system(
    session: &mut Session,
    variable: &ast::SystemVariable<'_>,
    value: Option<&Expr<'_>>,
) -> Result<Assign, ClientError> {
    let name = variable.name.text();
    let var = Var::by_name(variable.name.bytes()).ok_or_else(|| error::unknown_variable(&name))?;
    let def = var.def();
    if def.change == Change::Fixed {
        return Err(error::read_only_variable(def.name));
    }
    let global = variable.scope == Some(ast::Scope::Global);
    match def.scope {
        Scope::Session if global => return Err(error::session_only_variable(def.name)),
        Scope::Global if !global => return Err(error::global_only_variable(def.name)),
        _ => {}
    }
    session.need_variable(var, global)?;
    replicas::check_moment(session, var, global)?;
    if !global && matches!(var, Var::MAX_ALLOWED_PACKET) {
        return Err(error::read_only_session_variable(def.name));
    }
    if matches!(var, Var::TX_ISOLATION | Var::TX_READ_ONLY) {
        session.warn(Level::Warning, error::deprecated_variable(def.name, var.keeper().name()));
    }
    let Some(expr) = value else {
        if replicas::has_no_default(var) {
            return Err(error::no_default(def.name));
        }
        let setting = if global || def.scope == Scope::Session {
            Setting::parse_default(def).unwrap_or(Setting::Null)
        } else {
            session.server().variables.get(var)
        };
        return Ok(if global { Assign::Global(var, setting) } else { Assign::Session(var, setting) });
    };
    let value = evaluate_setting(session, expr)?;
    let value = if var == Var::SYSTEM_VERSIONING_ASOF { moment(session, value)? } else { value };
    let given = given_of(&value);
    let current =
        if global { session.server().variables.get(var) } else { session.variables.get(var).clone() };
    let (setting, moved) =
        Setting::convert(def, &given, Some(&current)).map_err(|refusal| refusal.into_error(def.name))?;
    if moved {
        // STRICT_ALL_TABLES makes it an error.
        if session.settings.sql_mode.has(types::SqlMode::STRICT_ALL_TABLES) {
            return Err(error::wrong_value(def.name, &given.text()));
        }
        session.warn(Level::Warning, error::truncated_variable(def.name, &given.text()));
    }
    check_meaning(var, &setting, &given)?;
    if var == Var::EVENT_SCHEDULER && current.as_u64() == 2 {
        return Err(client_error::program::scheduler_disabled());
    }
    replicas::check_set(session, var, &setting)?;
    Ok(if global { Assign::Global(var, setting) } else { Assign::Session(var, setting) })
}

/// A value for `system_versioning_asof`: DEFAULT, or a moment as text.
fn moment(session: &mut Session, value: Value) -> Result<Value, ClientError> {
    let name = Var::SYSTEM_VERSIONING_ASOF.name();
    match &value {
        Value::Null => return Err(error::wrong_value(name, "NULL")),
        Value::Str(text) if text.bytes().eq_ignore_ascii_case(b"default") => {
            return Ok(Value::utf8("DEFAULT"));
        }
        Value::Str(_) | Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) => {}
        _ => return Err(error::wrong_type(name)),
    }
    let stored = row_format::store(&ColumnType::Timestamp { fsp: 6 }, &value, &mut session.values);
    session.values.warnings.clear();
    session.values.warning_count = 0;
    let lost = stored.problem.is_some_and(|p| p.severity == row_format::Severity::Warning);
    match stored.value {
        Value::Timestamp(at) if !lost && at.seconds > 0 => {
            let mut text = Vec::new();
            stored.value.write_text(&session.values, &mut text);
            Ok(Value::utf8(&String::from_utf8_lossy(&text)))
        }
        _ => Err(error::wrong_value(name, &given_of(&value).text())),
    }
}

/// What the type alone does not show.
fn check_meaning(var: Var, setting: &Setting, given: &Given<'_>) -> Result<(), ClientError> {
    match var {
        Var::TIME_ZONE if parse_time_zone(setting.as_str()).is_none() => {
            Err(error::unknown_time_zone(setting.as_str()))
        }
        // Only an option says that there is no scheduler.
        Var::EVENT_SCHEDULER if setting.as_u64() > 1 => Err(error::wrong_value(var.name(), &given.text())),
        Var::DEFAULT_STORAGE_ENGINE
        | Var::STORAGE_ENGINE
        | Var::DEFAULT_TMP_STORAGE_ENGINE
        | Var::ENFORCE_STORAGE_ENGINE => match setting {
            Setting::Null => Ok(()),
            name if name.as_str().eq_ignore_ascii_case("InnoDB") => Ok(()),
            name => Err(error::unknown_engine(name.as_str())),
        },
        Var::CHARACTER_SET_CLIENT | Var::CHARACTER_SET_CONNECTION if *setting == Setting::Null => {
            Err(error::wrong_value(var.name(), &given.text()))
        }
        _ => Ok(()),
    }
}

fn apply(session: &mut Session, assign: Assign) -> Result<(), ClientError> {
    match assign {
        Assign::User(name, value) => {
            session.user_variables.insert(name, value);
        }
        Assign::Global(Var::GTID_BINLOG_STATE, setting) => {
            session.server().set_binlog_state(setting.as_str())?
        }
        Assign::Global(var, setting) => {
            session.server().set_global(var, replicas::normalised(var, setting));
            replicas::note_set(session, var);
        }
        Assign::Session(var, setting) => apply_session(session, var, setting)?,
        Assign::Names(charset, collation) => session.set_names(charset, Some(collation)),
        Assign::CharacterSet(charset) => {
            let database = session.variables.get(Var::COLLATION_DATABASE).as_collation();
            session.set_names(charset, None);
            let collation = database.unwrap_or(Collation::default_of(charset));
            session.variables.set(Var::CHARACTER_SET_CONNECTION, Setting::Charset(collation.charset()));
            session.variables.set(Var::COLLATION_CONNECTION, Setting::Collation(collation));
        }
        Assign::Transaction(t) => set_transaction(session, &t),
    }
    Ok(())
}

fn apply_session(session: &mut Session, var: Var, setting: Setting) -> Result<(), ClientError> {
    match var {
        Var::AUTOCOMMIT if setting.as_bool() && !session.settings.autocommit => {
            session.transaction_commit()?;
        }
        Var::LAST_INSERT_ID | Var::IDENTITY => session.last_insert_id = setting.as_u64(),
        Var::INSERT_ID => session.next_insert_id = setting.as_u64(),
        Var::RAND_SEED1 => session.values.random.seed1 = setting.as_u64() as u32,
        Var::RAND_SEED2 => session.values.random.seed2 = setting.as_u64() as u32,
        Var::TIMESTAMP => {
            let seconds = setting.as_f64();
            session.fixed_now_us = (seconds != 0.0).then_some((seconds * 1e6) as i64);
        }
        Var::CHARACTER_SET_CONNECTION => {
            if let Some(charset) = setting.as_charset() {
                let collation = Collation::default_of(charset);
                session.variables.set(Var::COLLATION_CONNECTION, Setting::Collation(collation));
            }
        }
        Var::COLLATION_CONNECTION => {
            if let Some(collation) = setting.as_collation() {
                session.variables.set(Var::CHARACTER_SET_CONNECTION, Setting::Charset(collation.charset()));
            }
        }
        Var::CHARACTER_SET_SERVER => {
            if let Some(charset) = setting.as_charset() {
                let collation = Collation::default_of(charset);
                session.variables.set(Var::COLLATION_SERVER, Setting::Collation(collation));
            }
        }
        Var::COLLATION_SERVER => {
            if let Some(collation) = setting.as_collation() {
                session.variables.set(Var::CHARACTER_SET_SERVER, Setting::Charset(collation.charset()));
            }
        }
        Var::TX_ISOLATION | Var::TRANSACTION_ISOLATION | Var::TX_READ_ONLY | Var::TRANSACTION_READ_ONLY => {
            session.transaction.forget_next();
        }
        _ => {}
    }
    session.variables.set(var, setting);
    session.tracker.variable_changed(var.keeper().name());
    Ok(())
}

fn set_transaction(session: &mut Session, t: &ast::SetTransaction) {
    let level = t.isolation.map(|i| match i {
        ast::IsolationLevel::ReadUncommitted => 0,
        ast::IsolationLevel::ReadCommitted => 1,
        ast::IsolationLevel::RepeatableRead => 2,
        ast::IsolationLevel::Serializable => 3,
    });
    let read_only = t.access.map(|a| a == ast::AccessMode::ReadOnly);
    match t.scope {
        None => session.transaction.set_next(level, read_only),
        Some(scope) => {
            let pairs = [
                (Var::TRANSACTION_ISOLATION, level.map(Setting::Enum)),
                (Var::TRANSACTION_READ_ONLY, read_only.map(Setting::Bool)),
            ];
            for (var, setting) in pairs {
                let Some(setting) = setting else { continue };
                match scope {
                    ast::Scope::Global => session.server().variables.set(var, setting),
                    ast::Scope::Session => session.variables.set(var, setting),
                }
            }
        }
    }
}

/// A value for a system variable: bare words are texts (`SET x = on`), TRUE and FALSE numbers.
fn evaluate_setting(session: &mut Session, expr: &Expr<'_>) -> Result<Value, ClientError> {
    match expr {
        Expr::Column(column) if column.table.is_none() => Ok(Value::utf8(&column.name.text())),
        other => evaluate(session, other),
    }
}

/// A value; the commonest forms need no plan.
fn evaluate(session: &mut Session, expr: &Expr<'_>) -> Result<Value, ClientError> {
    match expr {
        Expr::Literal(Literal::Null) => Ok(Value::Null),
        Expr::Literal(Literal::True) => Ok(Value::Int(1)),
        Expr::Literal(Literal::False) => Ok(Value::Int(0)),
        Expr::Literal(Literal::Int(v)) => Ok(i64::try_from(*v).map_or(Value::UInt(*v), Value::Int)),
        Expr::Literal(Literal::String(s)) => Ok(Value::str(s, session.settings.connection)),
        other => statement::evaluate(session, other),
    }
}

/// A SQL value as an assignment to a system variable sees it.
pub(crate) fn given_of(value: &Value) -> Given<'_> {
    match value {
        Value::Null => Given::Null,
        Value::Int(v) => Given::Int(*v),
        Value::UInt(v) => Given::UInt(*v),
        Value::Year(y) => Given::Int(i64::from(*y)),
        Value::Float(_) | Value::Double(_) | Value::Decimal(_) => Given::Real(crate::text::as_f64(value)),
        Value::Str(s) => Given::Text(Cow::Owned(s.to_utf8_lossy())),
        other => Given::Text(Cow::Owned(crate::text::to_string(other))),
    }
}

/// The SQL value of a setting: `SELECT @@x`.
pub(crate) fn value_of(var: Var, setting: &Setting) -> Value {
    match setting {
        Setting::Null => Value::Null,
        Setting::Bool(on) => Value::Int(i64::from(*on)),
        Setting::UInt(v) => Value::UInt(*v),
        Setting::Int(v) => Value::Int(*v),
        Setting::Double(v) => Value::Double(*v),
        other => other.text(var.def()).map_or(Value::Null, |t| Value::utf8(&t)),
    }
}

/// SET STATEMENT ... FOR: the variables have their old values again after the statement, whatever became of it.
pub(crate) fn for_statement(
    session: &mut Session,
    out: &mut Output,
    s: &ast::SetStatement<'_>,
    text: &[u8],
    reply: Reply,
) -> Result<Then, ClientError> {
    let mut before = Vec::new();
    for item in s.items {
        let SetItem::System { variable, .. } = item else {
            return Err(error::not_supported("this item of SET STATEMENT"));
        };
        if variable.scope == Some(ast::Scope::Global) {
            return Err(error::not_supported("GLOBAL in SET STATEMENT"));
        }
        let name = variable.name.text();
        let var = Var::by_name(variable.name.bytes()).ok_or_else(|| error::unknown_variable(&name))?;
        before.push((var, session.variables.get(var).clone()));
    }
    let fixed_now = session.fixed_now_us;
    let outcome = run(session, s.items, text).and_then(|()| {
        let parsed = Parsed { statement: s.statement, params: 0, end: text.len(), next: None };
        statement::run_one(session, out, &parsed, text, reply)
    });
    for (var, setting) in before {
        session.variables.set(var, setting);
    }
    session.fixed_now_us = fixed_now;
    session.refresh_settings();
    session.tracker.forget();
    outcome
}
