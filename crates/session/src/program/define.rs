//! CREATE, ALTER and DROP of procedures and functions.
//!
//! A definition is one row of the dictionary; the statement's event and GTID commit with it. The metadata lock of the name is held
//! exclusively meanwhile. Running calls keep the definition they began with.

use catalog::mdl::MdlMode;
use catalog::program::{
    DataAccess, ParamDef, ParamMode, ProgramContext, ProgramDef, ProgramKind, RoutineDef,
};
use catalog::{CatalogChange, ColumnDef};
use charset::Collation;
use client_error::{ClientError, connection, program as error};
use sql_plan::error::SqlError;
use sql_syntax::ast::{self, Characteristic, RoutineBody, Statement};

use super::build::{self, CatalogTypes};
use super::compile::Types;
use crate::diagnostics::Level;
use crate::output::Output;
use crate::session::{Done, Session};
use crate::statement::Reply;

/// CREATE, ALTER, DROP PROCEDURE and FUNCTION.
pub(crate) fn define(
    session: &mut Session,
    out: &mut Output,
    statement: &Statement<'_>,
    text: &[u8],
    reply: Reply,
) -> Result<(), ClientError> {
    let outcome = crate::ddl::guarded(session, |session| match statement {
        Statement::CreateRoutine(c) => create(session, c),
        Statement::AlterRoutine(a) => alter(session, a, text),
        Statement::DropRoutine(d) => drop(session, d, text),
        _ => Ok(()),
    });
    outcome?;
    session.row_count = 0;
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

/// The database and name of a program as written.
pub(crate) fn name_of(
    session: &Session,
    name: &ast::ObjectName<'_>,
) -> Result<(String, String), ClientError> {
    let schema = match name.database {
        Some(schema) => schema.text().into_owned(),
        None if session.database.is_empty() => return Err(connection::no_database_selected()),
        None => session.database.to_string(),
    };
    let text = name.name.text().into_owned();
    if text.is_empty() || text.ends_with(' ') || text.chars().count() > 64 {
        return Err(if text.chars().count() > 64 {
            ClientError::from(&SqlError::IdentifierTooLong(text))
        } else {
            ClientError::new(1458, b"42000", format!("Incorrect routine name '{text}'"))
        });
    }
    Ok((schema, text))
}

/// Locks a program's name against other statements about it, and its database against being dropped.
pub(crate) fn lock(
    session: &Session,
    kind: ProgramKind,
    schema: &str,
    name: &str,
) -> Result<(), ClientError> {
    let locks = session.server().locks();
    let timeout = session.settings.exec.lock_wait_timeout;
    let failed = |e| ClientError::from(&sql_exec::mdl_error(e));
    let mdl = &session.transaction.mdl;
    mdl.lock(&locks.of(schema, ""), MdlMode::Shared, timeout).map_err(failed)?;
    let space = format!("\0{}", kind.word());
    let lock = locks.of(&space, &format!("{schema}.{}", kind.key(name)));
    mdl.lock(&lock, MdlMode::Exclusive, timeout).map_err(failed)?;
    match session.server().catalog().database(schema) {
        Some(_) => Ok(()),
        None => Err(ClientError::from(&SqlError::UnknownDatabase(schema.to_owned()))),
    }
}

/// What a program keeps of the session that makes it.
pub(crate) fn context_of(session: &Session, schema: &str, body: &[u8]) -> ProgramContext {
    let now = u64::try_from(session.now_micros() / 1_000_000).unwrap_or(0);
    let database = session.server().catalog().database(schema).map(|d| d.def.collation);
    ProgramContext {
        definer: (session.identity.user.clone(), session.identity.account_host.clone()),
        sql_mode: session.settings.sql_mode.0,
        client: Collation::default_of(session.settings.client),
        connection: session.settings.connection,
        database: database.unwrap_or(Collation::UTF8MB4_UCA1400_AI_CI),
        body: body.to_vec(),
        comment: String::new(),
        created: now,
        modified: now,
    }
}

/// DEFINER = account.
pub(crate) fn definer(session: &Session, account: Option<&ast::Account<'_>>) -> (String, String) {
    match account {
        Some(ast::Account::Name { user, host }) => (
            String::from_utf8_lossy(user).into_owned(),
            String::from_utf8_lossy(host.unwrap_or(b"%")).into_owned(),
        ),
        _ => (session.identity.user.clone(), session.identity.account_host.clone()),
    }
}

fn storage(e: storage::row::RowError) -> ClientError {
    connection::internal(&e.to_string())
}

/// Commits a change of the dictionary with the statement's event.
pub(crate) fn commit(
    session: &mut Session,
    text: &[u8],
    change: impl FnOnce(&mut CatalogChange) -> Result<(), storage::row::RowError>,
) -> Result<(), ClientError> {
    let mut catalog_change = session.server().dictionary().change();
    change(&mut catalog_change).map_err(storage)?;
    crate::ddl::commit_change(session, catalog_change, text)
}

fn create(session: &mut Session, c: &ast::CreateRoutine<'_>) -> Result<(), ClientError> {
    let RoutineBody::Sql { statement, text: body } = c.body else {
        return Err(connection::not_supported("loadable functions"));
    };
    let function = c.kind == ast::RoutineKind::Function;
    let kind = if function { ProgramKind::Function } else { ProgramKind::Procedure };
    let (schema, name) = name_of(session, &c.name)?;
    lock(session, kind, &schema, &name)?;
    let mut context = context_of(session, &schema, body);
    context.definer = definer(session, c.definer.as_ref());
    session.need_definer(&context.definer)?;
    let (params, returns) = build::with_types(session, &schema, &context, |types| signature(c, types))?;
    let mut def = RoutineDef {
        schema,
        name,
        kind,
        context,
        deterministic: false,
        invoker: false,
        aggregate: c.aggregate,
        access: DataAccess::ContainsSql,
        params_text: c.params_text.to_vec(),
        params,
        returns,
    };
    set_characteristics(&mut def, c.characteristics);
    build::with_types(session, &def.schema, &def.context, |types| {
        build::compile_routine(&def, &statement, body, types)
    })?;
    if session.server().catalog().routine(kind, &def.schema, &def.name).is_some() && !c.mode.or_replace {
        let exists = error::exists(kind.word(), &def.name);
        if !c.mode.if_not_exists {
            return Err(exists);
        }
        session.warn(Level::Note, exists);
        return Ok(());
    }
    session.note_missing_definer(&def.context.definer);
    let text = event_text(&def, c.mode);
    commit(session, &text, |change| change.put_program(ProgramDef::Routine(def)))
}

/// The statement as the binary log has it: with its definer.
fn event_text(def: &RoutineDef, mode: ast::CreateMode) -> Vec<u8> {
    let text = super::show::create_routine(def);
    let mut out = if mode.or_replace { b"CREATE OR REPLACE".to_vec() } else { b"CREATE".to_vec() };
    let text = &text[b"CREATE".len()..];
    let word = format!(" {} ", def.kind.word());
    let at = text.windows(word.len()).position(|w| w == word.as_bytes()).map(|at| at + word.len());
    match at.filter(|_| mode.if_not_exists) {
        Some(at) => {
            out.extend_from_slice(&text[..at]);
            out.extend_from_slice(b"IF NOT EXISTS ");
            out.extend_from_slice(&text[at..]);
        }
        None => out.extend_from_slice(text),
    }
    out
}

fn signature(
    c: &ast::CreateRoutine<'_>,
    types: &mut CatalogTypes<'_>,
) -> Result<(Vec<ParamDef>, Option<ColumnDef>), ClientError> {
    let mut params = Vec::with_capacity(c.params.len());
    for param in c.params {
        let mode = match param.mode {
            ast::ParamMode::In => ParamMode::In,
            ast::ParamMode::Out => ParamMode::Out,
            ast::ParamMode::InOut => ParamMode::InOut,
        };
        if param.default.is_some() {
            return Err(connection::not_supported("default values of parameters"));
        }
        let name = param.name.text();
        let column = match &param.data_type {
            ast::VariableType::Type(ty) => types.column(&name, ty)?,
            ast::VariableType::TypeOf(column) => types.type_of(&name, column)?,
            _ => return Err(connection::not_supported("ROW parameters")),
        };
        params.push(ParamDef { mode, column });
    }
    let returns = match &c.returns {
        Some(ty) => Some(types.column(&c.name.name.text(), ty)?),
        None => None,
    };
    Ok((params, returns))
}

fn set_characteristics(def: &mut RoutineDef, list: &[Characteristic<'_>]) {
    for characteristic in list {
        match characteristic {
            Characteristic::Comment(text) => {
                def.context.comment = String::from_utf8_lossy(text).into_owned();
            }
            Characteristic::LanguageSql => {}
            Characteristic::NoSql => def.access = DataAccess::NoSql,
            Characteristic::ContainsSql => def.access = DataAccess::ContainsSql,
            Characteristic::ReadsSqlData => def.access = DataAccess::ReadsSqlData,
            Characteristic::ModifiesSqlData => def.access = DataAccess::ModifiesSqlData,
            Characteristic::Deterministic(on) => def.deterministic = *on,
            Characteristic::Invoker(on) => def.invoker = *on,
        }
    }
}

fn alter(session: &mut Session, a: &ast::AlterRoutine<'_>, text: &[u8]) -> Result<(), ClientError> {
    let function = a.kind == ast::RoutineKind::Function;
    let kind = if function { ProgramKind::Function } else { ProgramKind::Procedure };
    let (schema, name) = name_of(session, &a.name)?;
    lock(session, kind, &schema, &name)?;
    let Some(found) = session.server().catalog().routine(kind, &schema, &name).cloned() else {
        return Err(error::missing(kind.word(), &format!("{schema}.{name}")));
    };
    let mut def = RoutineDef::clone(&found);
    set_characteristics(&mut def, a.characteristics);
    def.context.modified = u64::try_from(session.now_micros() / 1_000_000).unwrap_or(0);
    commit(session, text, |change| change.put_program(ProgramDef::Routine(def)))
}

fn drop(session: &mut Session, d: &ast::DropRoutine<'_>, text: &[u8]) -> Result<(), ClientError> {
    let kind = match d.kind {
        ast::DropRoutineKind::Procedure => ProgramKind::Procedure,
        ast::DropRoutineKind::Function => ProgramKind::Function,
        _ => return Err(connection::not_supported("packages")),
    };
    let (schema, name) = name_of(session, &d.name)?;
    let missing = |session: &mut Session, schema: &str| {
        let missing = error::missing(kind.word(), &format!("{schema}.{name}"));
        if !d.if_exists {
            return Err(missing);
        }
        session.warn(Level::Note, missing);
        Ok(())
    };
    if session.server().catalog().database(&schema).is_none() {
        return missing(session, &schema);
    }
    lock(session, kind, &schema, &name)?;
    if session.server().catalog().routine(kind, &schema, &name).is_none() {
        return missing(session, &schema);
    }
    commit(session, text, |change| change.remove_program(kind, &schema, &name))
}
