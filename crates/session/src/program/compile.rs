//! From the syntax tree of a body to a [`Program`].
//!
//! Checks what MariaDB checks when a program is made: labels, names of variables, conditions and cursors, what a function or trigger may
//! not contain. Tables and columns are looked up when a statement first runs.

mod assign;
mod declare;
mod flow;

use std::sync::Arc;

use catalog::ColumnDef;
use catalog::program::TriggerEvent;
use client_error::{ClientError, program as error};
use sql_plan::meta::{ColumnMeta, ExprType};
use sql_plan::typing::of_column;
use sql_syntax::ast::{self, ProgramStatement, Statement};
use sql_syntax::rewrite::{self, Rewrite};
use sql_syntax::{Arena, PrintStyle, print_expr};

use super::code::{At, Cursor, Handler, Matches, Op, Program, Slot, Target, Unit, UnitKind, Variable};
use super::names::{Named, Names};

/// What kind of program it is: what it may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    Procedure,
    Function,
    Trigger,
    Event,
}

impl Flavour {
    /// Functions and triggers run inside a statement.
    pub(crate) fn is_nested(self) -> bool {
        matches!(self, Self::Function | Self::Trigger)
    }
}

/// What the compiler asks of the session.
pub(crate) trait Types {
    /// A declared type.
    fn column(&mut self, name: &str, ty: &ast::DataType<'_>) -> Result<ColumnDef, ClientError>;
    /// `TYPE OF table.column`.
    fn type_of(&mut self, name: &str, column: &ast::ColumnRef<'_>) -> Result<ColumnDef, ClientError>;
    /// `ROW TYPE OF table`.
    fn columns_of(&mut self, table: &ast::ObjectName<'_>) -> Result<Vec<ColumnDef>, ClientError>;
    /// The columns of a query, as far as they are known now.
    fn columns_of_query(&mut self, query: &[u8], names: &Names) -> Vec<(ColumnMeta, ColumnDef)>;
}

/// The expression type of a variable.
pub(crate) fn type_of(def: &ColumnDef) -> ExprType {
    of_column(&def.ty, true, def.width)
}

struct Label {
    name: Option<String>,
    /// Depth of the blocks that stay open when it is left.
    depth: u32,
    /// Where ITERATE goes; `None` for a block.
    start: Option<At>,
    /// Jumps to its end, to be filled in.
    exits: Vec<At>,
    /// A handler's body does not see labels around it.
    barrier: bool,
}

pub(crate) struct Compiler<'t> {
    flavour: Flavour,
    /// The database that names without one mean, for messages.
    name: String,
    types: &'t mut dyn Types,
    body: &'t [u8],
    first_line: u32,
    line: u32,
    style: PrintStyle,
    names: Arc<Names>,
    depth: u32,
    labels: Vec<Label>,
    ops: Vec<Op>,
    lines: Vec<u32>,
    units: Vec<Unit>,
    variables: Vec<Variable>,
    cursors: Vec<Cursor>,
    handlers: Vec<Handler>,
    returns: bool,
    /// An aggregate function; whether it fetches its rows.
    pub(crate) aggregate: bool,
    fetches: bool,
    trigger: Option<(TriggerEvent, bool)>,
}

/// The hidden variable of a FOR loop.
const LIMIT: &str = "[limit]";

type R<T> = Result<T, ClientError>;

impl<'t> Compiler<'t> {
    /// `first_line`: the number that messages give the first line of `body`.
    pub(crate) fn new(
        flavour: Flavour,
        name: &str,
        body: &'t [u8],
        first_line: u32,
        style: PrintStyle,
        types: &'t mut dyn Types,
    ) -> Self {
        Self {
            flavour,
            name: name.to_owned(),
            types,
            body,
            first_line,
            line: first_line,
            style,
            names: Arc::default(),
            depth: 0,
            labels: Vec::new(),
            ops: Vec::new(),
            lines: Vec::new(),
            units: Vec::new(),
            variables: Vec::new(),
            cursors: Vec::new(),
            handlers: Vec::new(),
            returns: false,
            aggregate: false,
            fetches: false,
            trigger: None,
        }
    }

    /// A parameter, or a column of NEW or OLD.
    fn slot(&mut self, def: ColumnDef) -> (Slot, ExprType) {
        let ty = type_of(&def);
        self.variables.push(Variable { def });
        (self.variables.len() as Slot - 1, ty)
    }

    /// Parameters, in order.
    pub(crate) fn parameters<'d>(&mut self, params: impl Iterator<Item = &'d ColumnDef>) -> R<()> {
        let mut names = Names::default();
        for def in params {
            if names.variables.iter().any(|(n, _)| catalog::same_name(n, &def.name)) {
                return Err(error::duplicate_parameter(&def.name));
            }
            let (slot, ty) = self.slot(def.clone());
            names.variables.push((def.name.clone(), Named::Scalar { slot, ty }));
        }
        self.names = Arc::new(names);
        Ok(())
    }

    /// The rows of a trigger: its first variables are the columns of OLD, then those of NEW, as far as the event has them.
    pub(crate) fn rows(&mut self, event: TriggerEvent, before: bool, columns: &[ColumnDef]) {
        self.trigger = Some((event, before));
        let mut names = Names::default();
        for row in [
            (event != TriggerEvent::Insert).then_some("OLD"),
            (event != TriggerEvent::Delete).then_some("NEW"),
        ]
        .into_iter()
        .flatten()
        {
            let mut fields = Vec::with_capacity(columns.len());
            for def in columns {
                let (slot, ty) = self.slot(def.clone());
                fields.push((def.name.clone(), slot, ty));
            }
            names.variables.push((row.to_owned(), Named::Row(fields)));
        }
        self.names = Arc::new(names);
    }

    pub(crate) fn finish(mut self, body: &ProgramStatement<'_>) -> R<Program> {
        self.statement(body)?;
        if self.flavour == Flavour::Function && !self.returns {
            return Err(error::no_return(&self.name));
        }
        if self.aggregate && !self.fetches {
            return Err(error::no_fetch_group());
        }
        Ok(Program {
            name: self.name,
            ops: self.ops,
            lines: self.lines,
            units: self.units,
            variables: self.variables,
            cursors: self.cursors,
            handlers: self.handlers,
        })
    }

    fn emit(&mut self, op: Op) -> At {
        self.ops.push(op);
        self.lines.push(self.line);
        self.ops.len() - 1
    }

    fn here(&self) -> At {
        self.ops.len()
    }

    fn unit(&mut self, text: &[u8], kind: UnitKind) -> usize {
        self.units.push(Unit::new(text, Arc::clone(&self.names), kind));
        self.units.len() - 1
    }

    /// # Errors
    /// A name that stands outside of queries and is none of the program's variables.
    fn expression(&mut self, e: &ast::Expr<'_>) -> R<usize> {
        if let Some(name) = self.undeclared(e) {
            return Err(error::undeclared_variable(&name));
        }
        let mut text = b"DO ".to_vec();
        print_expr(&mut text, e, self.style);
        Ok(self.unit(&text, UnitKind::Expression))
    }

    fn undeclared(&self, e: &ast::Expr<'_>) -> Option<String> {
        struct Search<'s, 'n>(&'s Arena, &'n Names);
        impl<'s> Rewrite<'s> for Search<'s, '_> {
            type Error = String;
            fn arena(&self) -> &'s Arena {
                self.0
            }
            fn enter(&mut self, e: &ast::Expr<'s>) -> Result<Option<ast::Expr<'s>>, String> {
                use ast::Expr as E;
                match e {
                    E::Column(c) if c.table.is_none() && self.1.variable(&c.name.text()).is_none() => {
                        Err(c.name.text().into_owned())
                    }
                    E::Subquery(_) | E::Exists(_) | E::InQuery { .. } | E::Quantified(_) => Ok(Some(*e)),
                    _ => Ok(None),
                }
            }
        }
        let arena = Arena::new();
        rewrite::expr(&mut Search(&arena, &self.names), e).err()
    }

    /// Remembers the line of a statement's text.
    fn at(&mut self, text: &[u8]) {
        let offset = (text.as_ptr() as usize).wrapping_sub(self.body.as_ptr() as usize);
        if let Some(before) = self.body.get(..offset) {
            self.line = self.first_line + before.iter().filter(|b| **b == b'\n').count() as u32;
        }
    }

    fn statements(&mut self, list: &[ProgramStatement<'_>]) -> R<()> {
        list.iter().try_for_each(|s| self.statement(s))
    }

    fn statement(&mut self, s: &ProgramStatement<'_>) -> R<()> {
        match s {
            ProgramStatement::Sql { statement, text } => self.sql(statement, text),
            ProgramStatement::Block(block) => self.block(block),
            ProgramStatement::If { branches, otherwise } => self.branches(branches, otherwise),
            ProgramStatement::Case(case) => self.case(case),
            ProgramStatement::Loop(l) => self.loop_statement(l),
            ProgramStatement::Leave(label) => self.leave(*label),
            ProgramStatement::Iterate(label) => self.iterate(*label),
            ProgramStatement::Return(e) => {
                if self.flavour != Flavour::Function {
                    return Err(error::bad_return());
                }
                self.returns = true;
                let unit = self.expression(e)?;
                self.emit(Op::Return(unit));
                Ok(())
            }
            ProgramStatement::Open { cursor, args } => self.open(*cursor, args),
            ProgramStatement::Fetch { cursor, into } => self.fetch(*cursor, into),
            ProgramStatement::FetchGroupNextRow => {
                if !self.aggregate {
                    return Err(error::fetch_group_outside());
                }
                self.fetches = true;
                self.emit(Op::NextRow);
                Ok(())
            }
            ProgramStatement::Close(cursor) => {
                let cursor = self.cursor(*cursor)?;
                self.emit(Op::Close { cursor, quiet: false });
                Ok(())
            }
        }
    }

    fn sql(&mut self, statement: &Statement<'_>, text: &[u8]) -> R<()> {
        self.at(text);
        super::allowed::check(self.flavour, statement)?;
        match statement {
            Statement::Set(items) => self.set(items, text),
            Statement::Compound(body) => self.statement(body),
            Statement::Signal(s) => {
                if let Some(ast::SignalCondition::Name(name)) = s.condition {
                    let Some(found) = self.names.condition(&name.text()) else {
                        return Err(error::undefined_condition(&name.text()));
                    };
                    if !matches!(found, Matches::State(_)) {
                        return Err(error::signal_without_state());
                    }
                }
                self.routed(text)
            }
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Do(_) => {
                if let Statement::Query(q) = statement {
                    self.check_into(q)?;
                }
                let unit = self.unit(text, UnitKind::Planned);
                self.emit(Op::Run(unit));
                Ok(())
            }
            _ => self.routed(text),
        }
    }

    fn routed(&mut self, text: &[u8]) -> R<()> {
        let unit = self.unit(text, UnitKind::Routed);
        self.emit(Op::Run(unit));
        Ok(())
    }

    fn check_into(&self, query: &ast::Query<'_>) -> R<()> {
        let Some(ast::SelectInto::Variables(targets)) = query.into else {
            if self.flavour.is_nested() && query.into.is_none() {
                return Err(error::result_set_inside(self.flavour == Flavour::Trigger));
            }
            return Ok(());
        };
        for target in *targets {
            self.target(target)?;
        }
        Ok(())
    }

    fn target(&self, target: &ast::IntoTarget<'_>) -> R<Vec<Target>> {
        match target {
            ast::IntoTarget::User(name) => Ok(vec![Target::User(name.text().to_lowercase().into())]),
            ast::IntoTarget::Local { name, field: None } => match self.names.variable(&name.text()) {
                Some(Named::Scalar { slot, .. }) => Ok(vec![Target::Slot(*slot)]),
                Some(Named::Row(fields)) => Ok(fields.iter().map(|(_, s, _)| Target::Slot(*s)).collect()),
                None => Err(error::undeclared_variable(&name.text())),
            },
            ast::IntoTarget::Local { name, field: Some(field) } => {
                let found = self.names.field(&name.text(), &field.text());
                let (slot, _) = found.ok_or_else(|| error::undeclared_variable(&name.text()))?;
                Ok(vec![Target::Slot(slot)])
            }
        }
    }
}
