//! The expressions of a table's definition, planned: computed columns and defaults, and the conditions that rows must meet.
//!
//! A definition keeps expressions as text. They are planned once for each version of a table, when a statement first writes to it,
//! and kept with the table's handle.
//!
//! # Invariants
//! 1. All columns that a program reads have the slot [`ROW_SLOT`]: the row that is being written.
//! 2. A program has no subqueries, parameters, variables of users or aggregates: `definition_expr` refuses them.
//! 3. Computed columns stand in the order in which they can be computed: each reads only columns before it.

use std::sync::Arc;

use catalog::{DefaultValue, Snapshot, TableDef, TableHandle};
use charset::Collation;
use sql_syntax::{Arena, ParseOptions, PrintStyle, ast};
use types::{SqlMode, Value};

use crate::error::{Clause, SqlError, SqlResult};
use crate::expr::{Expr, Slot, Typed};
use crate::planner::{PlanContext, Planner, Variables};
use crate::query::scope_table_of;
use crate::scope::Scope;

/// Where expressions of a definition find the row.
pub const ROW_SLOT: Slot = 0;

/// A condition on each row.
#[derive(Debug)]
pub struct Check {
    /// As error 4025 names it: of a table its own name, of a column `table.column`.
    pub name: String,
    pub expr: Expr,
}

/// What writing a row of a table computes and checks.
#[derive(Debug, Default)]
pub struct TableProgram {
    /// Columns whose default is computed, by position.
    pub defaults: Vec<(usize, Expr)>,
    pub generated: Vec<(usize, Expr)>,
    pub checks: Vec<Check>,
}

impl TableProgram {
    pub fn default_of(&self, column: usize) -> Option<&Expr> {
        self.defaults.iter().find(|(c, _)| *c == column).map(|(_, e)| e)
    }
}

/// The program of a table; `None` for a table whose rows are just their values.
pub fn of(handle: &TableHandle) -> SqlResult<Option<&TableProgram>> {
    if !handle.def.has_expressions() {
        return Ok(None);
    }
    if let Some(known) = handle.program.get() {
        return Ok(known.downcast_ref());
    }
    let program = compile(&handle.def)?;
    Ok(handle.program.get_or_init(|| Arc::new(program)).downcast_ref())
}

fn compile(def: &TableDef) -> SqlResult<TableProgram> {
    let mut out = TableProgram::default();
    for (i, column) in def.columns.iter().enumerate() {
        if let DefaultValue::Expression(text) = &column.default {
            out.defaults.push((i, expr_of_text(def, text, Clause::Default)?.expr));
        }
        if let Some(generated) = &column.generated {
            out.generated.push((i, expr_of_text(def, &generated.expr, Clause::Generated)?.expr));
        }
        if let Some(check) = &column.check {
            let name = format!("{}.{}", def.name, column.name);
            out.checks.push(Check { name, expr: expr_of_text(def, check, Clause::Check)?.expr });
        }
    }
    for check in &def.checks {
        let expr = expr_of_text(def, &check.expr, Clause::Check)?.expr;
        out.checks.push(Check { name: check.name.clone(), expr });
    }
    Ok(out)
}

/// Session values that planning an expression may ask for: a definition has none.
struct NoVariables;

impl Variables for NoVariables {
    fn system(&self, _: &str, _: bool) -> Option<Value> {
        None
    }
    fn in_definition(&self) -> bool {
        true
    }
}

/// An expression over a table's columns.
pub(crate) fn expr_of_text(def: &TableDef, text: &str, clause: Clause) -> SqlResult<Typed> {
    let arena = Arena::new();
    let statement = format!("DO ({text})");
    let options = ParseOptions::default();
    let parsed = sql_syntax::parse(&arena, statement.as_bytes(), options).map_err(|_| SqlError::Corrupt {
        table: def.full_name(),
        detail: format!("expression of the definition: {text}"),
    })?;
    let ast::Statement::Do([expr]) = parsed.statement else {
        return Err(SqlError::Corrupt {
            table: def.full_name(),
            detail: "expression of the definition".into(),
        });
    };
    over_columns(def, expr, clause)
}

pub(crate) fn over_columns<'a>(def: &TableDef, expr: &ast::Expr<'a>, clause: Clause) -> SqlResult<Typed> {
    let cx = PlanContext {
        catalog: Arc::new(Snapshot::default()),
        database: &def.schema,
        sql_mode: SqlMode::default(),
        connection_collation: Collation::UTF8MB4_UCA1400_AI_CI,
        div_precision_increment: 4,
        variables: &NoVariables,
        user: "",
        locked: None,
        locals: None,
        virtual_table: &|_, _| None,
    };
    let mut planner = Planner::new(&cx);
    let slot = planner.new_slot()?;
    debug_assert_eq!(slot, ROW_SLOT);
    let mut scope = Scope::default();
    scope.add(scope_table_of(slot, def.name.clone(), def, None))?;
    planner.scopes.push(scope);
    planner.expr(expr, clause)
}

/// An expression as written in a definition, checked; answers its text as the definition keeps it.
///
/// # Errors
/// Unknown columns; what a definition must not depend on.
pub fn definition_expr(
    def: &TableDef,
    column: &str,
    expr: &ast::Expr<'_>,
    clause: Clause,
) -> SqlResult<String> {
    let arena = Arena::new();
    if let Some(what) = forbidden(&arena, expr, clause) {
        return Err(what.error(column, clause));
    }
    let mut qualify = Qualify { arena: &arena, schema: arena.alloc_slice_copy(def.schema.as_bytes()) };
    let expr = match sql_syntax::rewrite::expr(&mut qualify, expr) {
        Ok(expr) => expr,
        Err(never) => match never {},
    };
    let typed = over_columns(def, &expr, clause)?;
    if let Expr::Row(_) = typed.expr {
        return Err(SqlError::OperandColumns(1));
    }
    Ok(text_of(&expr, clause == Clause::Default))
}

/// The text of an expression; of a DEFAULT with parentheses around operators.
pub fn text_of(expr: &ast::Expr<'_>, operand: bool) -> String {
    let mut out = Vec::new();
    if operand {
        sql_syntax::print_operand(&mut out, expr, PrintStyle::default());
    } else {
        sql_syntax::print_expr(&mut out, expr, PrintStyle::default());
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The type of an expression of a definition.
pub fn type_of(def: &TableDef, text: &str, clause: Clause) -> SqlResult<crate::meta::ExprType> {
    Ok(expr_of_text(def, text, clause)?.ty)
}

/// Columns that an expression of a definition reads.
pub fn columns_read(def: &TableDef, text: &str, clause: Clause) -> SqlResult<Vec<usize>> {
    let mut out = Vec::new();
    expr_of_text(def, text, clause)?.expr.columns(&mut |c| out.push(usize::from(c.column)));
    Ok(out)
}

/// The text of an expression with one column under another name.
pub fn rename_column(text: &str, old: &str, new: &str) -> SqlResult<String> {
    renamed(text, old, new, false)
}

/// Same, of a DEFAULT's text.
pub fn rename_in_default(text: &str, old: &str, new: &str) -> SqlResult<String> {
    renamed(text, old, new, true)
}

fn renamed(text: &str, old: &str, new: &str, operand: bool) -> SqlResult<String> {
    let arena = Arena::new();
    let statement = format!("DO ({text})");
    let unreadable = || SqlError::Corrupt { table: String::new(), detail: format!("expression {text}") };
    let parsed = sql_syntax::parse(&arena, statement.as_bytes(), ParseOptions::default());
    let ast::Statement::Do([expr]) = parsed.map_err(|_| unreadable())?.statement else {
        return Err(unreadable());
    };
    let mut rename = Rename { arena: &arena, old, new: ast::Ident(new.as_bytes()) };
    match sql_syntax::rewrite::expr(&mut rename, expr) {
        Ok(expr) => Ok(text_of(&expr, operand)),
        Err(never) => match never {},
    }
}

/// Sequences of a definition are named with their database.
struct Qualify<'q> {
    arena: &'q Arena,
    schema: &'q [u8],
}

impl<'q> sql_syntax::rewrite::Rewrite<'q> for Qualify<'q> {
    type Error = std::convert::Infallible;

    fn arena(&self) -> &'q Arena {
        self.arena
    }

    fn enter(&mut self, e: &ast::Expr<'q>) -> Result<Option<ast::Expr<'q>>, Self::Error> {
        use ast::Special as S;
        let full = |name: &ast::ObjectName<'q>| ast::ObjectName {
            database: Some(name.database.unwrap_or(ast::Ident(self.schema))),
            name: name.name,
        };
        let ast::Expr::Special(special) = e else { return Ok(None) };
        let made = match special {
            S::NextValue(name) => S::NextValue(full(name)),
            S::PreviousValue(name) => S::PreviousValue(full(name)),
            _ => return Ok(None),
        };
        Ok(Some(ast::Expr::Special(self.arena.alloc(made))))
    }
}

struct Rename<'r> {
    arena: &'r Arena,
    old: &'r str,
    new: ast::Ident<'r>,
}

impl<'r> sql_syntax::rewrite::Rewrite<'r> for Rename<'r> {
    type Error = std::convert::Infallible;

    fn arena(&self) -> &'r Arena {
        self.arena
    }

    fn enter(&mut self, e: &ast::Expr<'r>) -> Result<Option<ast::Expr<'r>>, Self::Error> {
        Ok(match e {
            ast::Expr::Column(c) if catalog::same_name(&c.name.text(), self.old) => {
                Some(ast::Expr::Column(ast::ColumnRef { table: c.table, name: self.new }))
            }
            _ => None,
        })
    }
}

/// A stored column must not read the AUTO_INCREMENT one: its value comes later.
pub fn reads_auto_increment(def: &TableDef, generated: &str) -> SqlResult<Option<SqlError>> {
    let typed = expr_of_text(def, generated, Clause::Generated)?;
    let mut found = None;
    typed.expr.columns(&mut |c| {
        if let Some(column) = def.columns.get(usize::from(c.column)).filter(|c| c.auto_increment) {
            let what = Forbidden::Other("AUTO_INCREMENT".to_owned());
            found = Some(what.error(&column.name, Clause::Generated));
        }
    });
    Ok(found)
}

/// What an expression of a definition must not have.
enum Forbidden {
    Query,
    Other(String),
}

impl Forbidden {
    fn error(self, column: &str, clause: Clause) -> SqlError {
        let (errno, text) = match self {
            Self::Query => (1970, format!("{clause} does not support subqueries or stored functions")),
            Self::Other(what) => (
                1901,
                format!(
                    "Function or expression '{what}' cannot be used in the {clause} clause of `{column}`"
                ),
            ),
        };
        let state = if errno == 1970 { *b"42000" } else { *b"HY000" };
        SqlError::Other { errno, state, text }
    }
}

/// Looks for what a definition must not have.
struct Search<'s> {
    arena: &'s Arena,
    clause: Clause,
}

impl<'s> sql_syntax::rewrite::Rewrite<'s> for Search<'s> {
    type Error = Forbidden;

    fn arena(&self) -> &'s Arena {
        self.arena
    }

    fn enter(&mut self, e: &ast::Expr<'s>) -> Result<Option<ast::Expr<'s>>, Forbidden> {
        use ast::Expr as E;
        match e {
            E::Subquery(_) | E::Exists(_) | E::InQuery { .. } | E::Quantified(_) => Err(Forbidden::Query),
            E::Aggregate(_) | E::Window(_) | E::UserVariable(_) | E::AssignVariable { .. } => {
                Err(Forbidden::Other(text_of(e, false)))
            }
            E::Call(call) if self.clause == Clause::Generated && reads_clock(call) => {
                Err(Forbidden::Other(text_of(e, false)))
            }
            _ => Ok(None),
        }
    }
}

fn forbidden<'e>(arena: &'e Arena, expr: &ast::Expr<'e>, clause: Clause) -> Option<Forbidden> {
    sql_syntax::rewrite::expr(&mut Search { arena, clause }, expr).err()
}

/// Functions whose value is another one at the next look.
fn reads_clock(call: &ast::Call<'_>) -> bool {
    ["now", "current_timestamp", "localtime", "localtimestamp", "curdate", "current_date", "curtime"]
        .iter()
        .chain(&["current_time", "sysdate", "utc_date", "utc_time", "utc_timestamp", "rand", "uuid"])
        .chain(&["uuid_short", "sleep", "connection_id", "last_insert_id", "row_count", "found_rows"])
        .any(|n| call.name.is(n))
}
