//! From a definition to a compiled program: its body is parsed in the mode it was made in.

use std::sync::Arc;

use catalog::program::{EventDef, ProgramContext, ProgramKind, RoutineDef, TriggerDef};
use catalog::{ColumnDef, Snapshot, TableDef};
use charset::Collation;
use client_error::{ClientError, connection};
use sql_plan::error::SqlError;
use sql_plan::meta::ColumnMeta;
use sql_syntax::ast::{self, ProgramStatement, RoutineBody, Statement};
use sql_syntax::{Arena, ParseOptions, PrintStyle};
use types::{Context, SqlMode};

use super::code::Program;
use super::compile::{Compiler, Flavour, Types};
use super::names::Names;
use crate::scope::SessionScope;
use crate::session::Session;

/// How the grammar reads in a mode.
pub(super) fn parse_options(mode: SqlMode) -> ParseOptions {
    crate::settings::parse_options(mode)
}

fn print_style(mode: SqlMode) -> PrintStyle {
    PrintStyle {
        grouped: false,
        no_backslash_escapes: mode.has(SqlMode::NO_BACKSLASH_ESCAPES),
        ansi_quotes: mode.has(SqlMode::ANSI_QUOTES),
    }
}

/// Plans a query in a scope and says its columns; `None` when that cannot be done now.
type PlanColumns<'a> = dyn Fn(&[u8], &Names) -> Option<Vec<ColumnMeta>> + 'a;

/// Answers the compiler's questions about types and tables.
pub(super) struct CatalogTypes<'a> {
    pub snapshot: Arc<Snapshot>,
    pub schema: &'a str,
    pub collation: Collation,
    /// Columns of a query, `None` when it cannot be planned now.
    pub plan: &'a PlanColumns<'a>,
}

impl CatalogTypes<'_> {
    fn table(&self, name: &ast::ObjectName<'_>) -> Result<&Arc<catalog::TableHandle>, ClientError> {
        let schema = name.database.map_or_else(|| self.schema.to_owned(), |d| d.text().into_owned());
        let table = name.name.text().into_owned();
        self.snapshot
            .table(&schema, &table)
            .ok_or_else(|| ClientError::from(&SqlError::NoSuchTable { schema, name: table }))
    }
}

fn as_variable(def: &ColumnDef, name: &str) -> ColumnDef {
    ColumnDef { name: name.to_owned(), nullable: true, auto_increment: false, ..def.clone() }
}

impl Types for CatalogTypes<'_> {
    fn column(&mut self, name: &str, ty: &ast::DataType<'_>) -> Result<ColumnDef, ClientError> {
        sql_exec::ddl::variable(name, ty, self.collation).map_err(|e| ClientError::from(&e))
    }
    fn type_of(&mut self, name: &str, column: &ast::ColumnRef<'_>) -> Result<ColumnDef, ClientError> {
        let Some(table) = column.table else {
            return Err(client_error::program::undeclared_variable(&column.name.text()));
        };
        let table = self.table(table)?;
        let found = table
            .def
            .column(&column.name.text())
            .ok_or_else(|| client_error::program::unknown_field(&column.name.text(), &table.def.name))?;
        Ok(as_variable(&table.def.columns[found], name))
    }
    fn columns_of(&mut self, table: &ast::ObjectName<'_>) -> Result<Vec<ColumnDef>, ClientError> {
        Ok(self.table(table)?.def.columns.iter().map(|c| as_variable(c, &c.name)).collect())
    }
    fn columns_of_query(&mut self, query: &[u8], names: &Names) -> Vec<(ColumnMeta, ColumnDef)> {
        let columns = (self.plan)(query, names).unwrap_or_default();
        columns
            .into_iter()
            .map(|meta| (sql_exec::ddl::variable_of(&meta), meta))
            .map(|(d, m)| (m, d))
            .collect()
    }
}

/// The lines of SHOW CREATE before the body.
fn header_lines(def: &RoutineDef) -> u32 {
    super::show::characteristics(def).bytes().filter(|b| *b == b'\n').count() as u32 + 1
}

/// A statement that has the definition's body, and reads as it was written.
fn create_text(def: &RoutineDef) -> Vec<u8> {
    let mut text = format!("CREATE {} x(", def.kind.word()).into_bytes();
    text.extend_from_slice(&def.params_text);
    text.extend_from_slice(if def.kind == ProgramKind::Function { b") RETURNS INT\n" } else { b")\n" });
    text.extend_from_slice(&def.context.body);
    text
}

/// Compiles a routine.
pub(super) fn routine(def: &RoutineDef, types: &mut dyn Types) -> Result<Program, ClientError> {
    let mode = super::call::mode_of(&def.context);
    let text = create_text(def);
    let arena = Arena::new();
    let parsed = sql_syntax::parse(&arena, &text, parse_options(mode)).map_err(|e| connection::syntax(&e))?;
    let Statement::CreateRoutine(create) = parsed.statement else {
        return Err(connection::internal("the definition of a routine is no routine"));
    };
    let RoutineBody::Sql { statement, text } = create.body else {
        return Err(connection::not_supported("loadable functions"));
    };
    compile_routine(def, &statement, text, types)
}

/// Compiles a routine whose body is at hand.
pub(super) fn compile_routine(
    def: &RoutineDef,
    statement: &ProgramStatement<'_>,
    text: &[u8],
    types: &mut dyn Types,
) -> Result<Program, ClientError> {
    let function = def.kind == ProgramKind::Function;
    let flavour = if function { Flavour::Function } else { Flavour::Procedure };
    let style = print_style(super::call::mode_of(&def.context));
    let line = 1 + header_lines(def);
    let mut compiler = Compiler::new(flavour, &def.full_name(), text, line, style, types);
    compiler.aggregate = def.aggregate;
    compiler.parameters(def.params.iter().map(|p| &p.column))?;
    compiler.finish(statement)
}

/// Checks the body of an event that is made.
pub(crate) fn check_event(
    session: &Session,
    schema: &str,
    name: &str,
    context: &ProgramContext,
    body: &ProgramStatement<'_>,
) -> Result<(), ClientError> {
    let style = print_style(super::call::mode_of(context));
    with_types(session, schema, context, |types| {
        let full = format!("{schema}.{name}");
        Compiler::new(Flavour::Event, &full, &context.body, 1, style, types).finish(body).map(|_| ())
    })
}

/// Compiles the body of an event that runs.
pub(super) fn event(session: &Session, def: &EventDef) -> Result<Program, ClientError> {
    let mode = super::call::mode_of(&def.context);
    let mut text = b"CREATE PROCEDURE x()\n".to_vec();
    text.extend_from_slice(&def.context.body);
    let arena = Arena::new();
    let parsed = sql_syntax::parse(&arena, &text, parse_options(mode)).map_err(|e| connection::syntax(&e))?;
    let Statement::CreateRoutine(create) = parsed.statement else {
        return Err(connection::internal("the body of an event is no statement"));
    };
    let RoutineBody::Sql { statement, text } = create.body else {
        return Err(connection::internal("the body of an event is no statement"));
    };
    let name = format!("{}.{}", def.schema, def.name);
    with_types(session, &def.schema, &def.context, |types| {
        Compiler::new(Flavour::Event, &name, text, 1, print_style(mode), types).finish(&statement)
    })
}

/// Compiles a trigger whose body is at hand, for a version of its table.
pub(super) fn compile_trigger(
    def: &TriggerDef,
    table: &TableDef,
    statement: &ProgramStatement<'_>,
    text: &[u8],
    types: &mut dyn Types,
) -> Result<Program, ClientError> {
    let style = print_style(super::call::mode_of(&def.context));
    let line = 1 + def.header.iter().flatten().filter(|b| **b == b'\n').count() as u32;
    let name = format!("{}.{}", def.schema, def.name);
    let mut compiler = Compiler::new(Flavour::Trigger, &name, text, line, style, types);
    let columns: Vec<ColumnDef> = table.columns.iter().map(|c| as_variable(c, &c.name)).collect();
    compiler.rows(def.event, def.before, &columns);
    compiler.finish(statement)
}

/// Compiles a trigger that a running statement fires.
pub(super) fn trigger_for_scope(
    scope: &SessionScope<'_>,
    def: &TriggerDef,
    table: &TableDef,
    values: &Context,
) -> Result<Program, ClientError> {
    let mut text = b"CREATE ".to_vec();
    def.header.iter().for_each(|part| text.extend_from_slice(part));
    text.extend_from_slice(&def.context.body);
    let arena = Arena::new();
    let options = parse_options(super::call::mode_of(&def.context));
    let parsed = sql_syntax::parse(&arena, &text, options).map_err(|e| connection::syntax(&e))?;
    let Statement::CreateTrigger(create) = parsed.statement else {
        return Err(connection::internal("the definition of a trigger is no trigger"));
    };
    scope_types(scope, &def.schema, &def.context, values, |types| {
        compile_trigger(def, table, &create.body, create.text, types)
    })
}

/// The compiled form of a routine that the session's own statements run.
pub(super) fn for_session(session: &mut Session, def: &Arc<RoutineDef>) -> Result<Arc<Program>, ClientError> {
    if let Some(found) = session.programs.find(def) {
        return Ok(found);
    }
    let program = Arc::new(with_types(session, &def.schema, &def.context, |types| routine(def, types))?);
    session.programs.keep(def, &program);
    Ok(program)
}

/// Hands `body` the answers that a session has for the compiler.
pub(super) fn with_types<R>(
    session: &Session,
    schema: &str,
    context: &ProgramContext,
    body: impl FnOnce(&mut CatalogTypes<'_>) -> R,
) -> R {
    let options = parse_options(super::call::mode_of(context));
    let plan = |text: &[u8], names: &Names| {
        let arena = Arena::new();
        let parsed = sql_syntax::parse(&arena, text, options).ok()?;
        let plan = session.plan_for(&parsed.statement, schema, names).ok()??;
        Some(plan.columns().to_vec())
    };
    let snapshot = session.catalog.snapshot();
    body(&mut CatalogTypes { snapshot, schema, collation: context.database, plan: &plan })
}

/// The compiled form of a function that a running statement calls.
pub(super) fn for_scope(
    scope: &mut SessionScope<'_>,
    def: &Arc<RoutineDef>,
    values: &Context,
) -> Result<Arc<Program>, ClientError> {
    if let Some(found) = scope.programs.find(def) {
        return Ok(found);
    }
    let program = {
        let scope = &*scope;
        scope_types(scope, &def.schema, &def.context, values, |types| routine(def, types))?
    };
    let program = Arc::new(program);
    scope.programs.keep(def, &program);
    Ok(program)
}

fn scope_types<R>(
    scope: &SessionScope<'_>,
    schema: &str,
    context: &ProgramContext,
    values: &Context,
    body: impl FnOnce(&mut CatalogTypes<'_>) -> R,
) -> R {
    let options = parse_options(super::call::mode_of(context));
    let plan = |text: &[u8], names: &Names| {
        let arena = Arena::new();
        let parsed = sql_syntax::parse(&arena, text, options).ok()?;
        let plan = scope.with_planner(schema, values, Some(names), |cx| {
            sql_plan::plan(&parsed.statement, 0, cx).ok().flatten()
        })?;
        Some(plan.columns().to_vec())
    };
    let snapshot = scope.catalog.snapshot();
    body(&mut CatalogTypes { snapshot, schema, collation: context.database, plan: &plan })
}

/// A compound statement outside of any routine.
pub(super) fn compound(
    session: &Session,
    body: &ProgramStatement<'_>,
    text: &[u8],
) -> Result<Program, ClientError> {
    let schema = session.database.to_string();
    let context = super::define::context_of(session, &schema, b"");
    let style = print_style(session.settings.sql_mode);
    with_types(session, &schema, &context, |types| {
        Compiler::new(Flavour::Procedure, "", text, 1, style, types).finish(body)
    })
}
