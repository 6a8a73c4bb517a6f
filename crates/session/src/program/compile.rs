//! From the syntax tree of a body to a [`Program`].
//!
//! Checks what MariaDB checks when a program is made: labels, names of variables, conditions and cursors, what a function or trigger may
//! not contain. Tables and columns are looked up when a statement first runs.

use std::sync::Arc;

use catalog::ColumnDef;
use catalog::program::TriggerEvent;
use client_error::{ClientError, program as error};
use sql_plan::meta::{ColumnMeta, ExprType};
use sql_plan::typing::of_column;
use sql_syntax::ast::{self, Declaration, LoopKind, ProgramStatement, SetItem, Statement};
use sql_syntax::{PrintStyle, print_expr, print_query};

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

    pub(crate) fn finish(mut self, body: &ProgramStatement<'_>) -> R<Program> {
        self.statement(body)?;
        if self.flavour == Flavour::Function && !self.returns {
            return Err(error::no_return(&self.name));
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

    fn expression(&mut self, e: &ast::Expr<'_>) -> usize {
        let mut text = b"DO ".to_vec();
        print_expr(&mut text, e, self.style);
        self.unit(&text, UnitKind::Expression)
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
                let unit = self.expression(e);
                self.emit(Op::Return(unit));
                Ok(())
            }
            ProgramStatement::Open { cursor, args } => self.open(*cursor, args),
            ProgramStatement::Fetch { cursor, into } => self.fetch(*cursor, into),
            ProgramStatement::FetchGroupNextRow => {
                Err(client_error::connection::not_supported("FETCH GROUP NEXT ROW"))
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

    /// SET: variables of the program become operations, the rest stays a statement.
    fn set(&mut self, items: &[SetItem<'_>], text: &[u8]) -> R<()> {
        for item in items {
            if let SetItem::System { variable, .. } = item
                && variable.scope.is_none()
                && variable.base.is_none()
                && self.set_target(item).is_none()
                && crate::variables::Var::by_name(variable.name.bytes()).is_none()
            {
                return Err(client_error::connection::unknown_variable(&variable.name.text()));
            }
        }
        if items.iter().all(|i| self.set_target(i).is_none()) {
            return self.routed(text);
        }
        for item in items {
            match self.set_target(item) {
                Some(target) => self.set_local(target?, item)?,
                None => {
                    let text = self.print_set(item)?;
                    self.routed(&text)?;
                }
            }
        }
        Ok(())
    }

    /// The program's variable that an item assigns, `None` when it is none of the program's.
    fn set_target(&self, item: &SetItem<'_>) -> Option<R<Named>> {
        let SetItem::System { variable, .. } = item else { return None };
        if variable.scope.is_some() {
            return None;
        }
        let name = variable.name.text();
        match variable.base {
            None => self.names.variable(&name).cloned().map(Ok),
            Some(base) => {
                if let Some(refused) = self.fixed_row(base) {
                    return Some(Err(refused));
                }
                self.names.variable(&base.text())?;
                Some(match self.names.field(&base.text(), &name) {
                    Some((slot, ty)) => Ok(Named::Scalar { slot, ty }),
                    None => Err(error::unknown_field(&name, &base.text())),
                })
            }
        }
    }

    /// Why a trigger cannot change this row.
    fn fixed_row(&self, row: ast::Ident<'_>) -> Option<ClientError> {
        let (event, before) = self.trigger?;
        let word = super::show::event_word(event);
        match () {
            () if row.is("OLD") && event == TriggerEvent::Insert => Some(error::no_such_row(word, "OLD")),
            () if row.is("NEW") && event == TriggerEvent::Delete => Some(error::no_such_row(word, "NEW")),
            () if row.is("OLD") => Some(error::old_row_is_fixed()),
            () if row.is("NEW") && !before => Some(error::row_not_updatable("NEW", "after ")),
            () => None,
        }
    }

    fn set_local(&mut self, target: Named, item: &SetItem<'_>) -> R<()> {
        let SetItem::System { value, .. } = item else { return Ok(()) };
        match (target, value) {
            (Named::Scalar { slot, .. }, Some(value)) => {
                let unit = self.expression(value);
                self.emit(Op::Set { slot, unit });
                Ok(())
            }
            (Named::Scalar { slot, .. }, None) => {
                self.emit(Op::SetNull(slot));
                Ok(())
            }
            (Named::Row(fields), value) => self.set_row(&fields, value.as_ref()),
        }
    }

    fn set_row(&mut self, fields: &[(String, Slot, ExprType)], value: Option<&ast::Expr<'_>>) -> R<()> {
        match value {
            Some(ast::Expr::Row(values)) if values.len() == fields.len() => {
                for ((_, slot, _), value) in fields.iter().zip(*values) {
                    let unit = self.expression(value);
                    self.emit(Op::Set { slot: *slot, unit });
                }
            }
            Some(ast::Expr::Column(ast::ColumnRef { table: None, name })) => {
                let Some(Named::Row(from)) = self.names.variable(&name.text()).cloned() else {
                    return Err(error::operand_columns(fields.len()));
                };
                if from.len() != fields.len() {
                    return Err(error::operand_columns(fields.len()));
                }
                for ((_, slot, _), (field, _, _)) in fields.iter().zip(&from) {
                    let text = format!("DO `{}`.`{field}`", name.text());
                    let unit = self.unit(text.as_bytes(), UnitKind::Expression);
                    self.emit(Op::Set { slot: *slot, unit });
                }
            }
            None | Some(ast::Expr::Literal(ast::Literal::Null)) => {
                for (_, slot, _) in fields {
                    self.emit(Op::SetNull(*slot));
                }
            }
            Some(_) => return Err(error::operand_columns(fields.len())),
        }
        Ok(())
    }

    /// One item of a mixed SET as a statement.
    fn print_set(&self, item: &SetItem<'_>) -> R<Vec<u8>> {
        let mut out = b"SET ".to_vec();
        match item {
            SetItem::User { name, value } => {
                out.push(b'@');
                sql_syntax::print_ident(&mut out, name.bytes(), self.style);
                out.extend_from_slice(b" = ");
                print_expr(&mut out, value, self.style);
            }
            SetItem::System { variable, value } => {
                out.extend_from_slice(match variable.scope {
                    Some(ast::Scope::Global) => b"GLOBAL ".as_slice(),
                    _ => b"SESSION ",
                });
                out.extend_from_slice(variable.name.bytes());
                out.extend_from_slice(b" = ");
                match value {
                    Some(value) => print_expr(&mut out, value, self.style),
                    None => out.extend_from_slice(b"DEFAULT"),
                }
            }
            _ => {
                return Err(client_error::connection::not_supported(
                    "SET of program variables and names together",
                ));
            }
        }
        Ok(out)
    }

    // Blocks and their declarations.

    fn block(&mut self, block: &ast::Block<'_>) -> R<()> {
        self.push_label(block.label, None)?;
        let outer = Arc::clone(&self.names);
        self.depth += 1;
        let depth = self.depth;
        let first_cursor = self.cursors.len();
        let enter = self.emit(Op::Enter { depth, cursors: 0..0 });
        self.names = Arc::new(Names { outer: Some(Arc::clone(&outer)), ..Names::default() });
        let handlers = self.declarations(block.declarations, depth)?;
        if let Op::Enter { cursors, .. } = &mut self.ops[enter] {
            *cursors = first_cursor..self.cursors.len();
        }
        if !handlers.is_empty() {
            self.emit(Op::Handle(handlers.iter().map(|(h, _)| *h).collect()));
        }
        self.statements(block.statements)?;
        self.emit(Op::Leave);
        let end = self.here();
        for (_, ends) in handlers {
            for at in ends {
                if let Op::EndHandler { exit: Some((_, to)) } = &mut self.ops[at] {
                    *to = end;
                }
            }
        }
        self.depth -= 1;
        self.names = outer;
        self.pop_label();
        Ok(())
    }

    fn declarations(&mut self, list: &[Declaration<'_>], depth: u32) -> R<Vec<(usize, Vec<At>)>> {
        let (mut cursor_seen, mut handler_seen) = (false, false);
        let mut handlers = Vec::new();
        for declaration in list {
            match declaration {
                Declaration::Variables { names, data_type, default } => {
                    if cursor_seen || handler_seen {
                        return Err(error::variable_after_handler());
                    }
                    self.variables(names, data_type, default.as_ref())?;
                }
                Declaration::Condition { name, value } => {
                    if cursor_seen || handler_seen {
                        return Err(error::variable_after_handler());
                    }
                    let matches = self.matches(value)?;
                    if self.names.conditions.iter().any(|(n, _)| catalog::same_name(n, &name.text())) {
                        return Err(error::duplicate_condition(&name.text()));
                    }
                    let name = name.text().into_owned();
                    self.own_names().conditions.push((name, matches));
                }
                Declaration::Cursor { name, params, query } => {
                    if handler_seen {
                        return Err(error::cursor_after_handler());
                    }
                    cursor_seen = true;
                    self.declare_cursor(*name, params, query)?;
                }
                Declaration::Handler { kind, conditions, statement } => {
                    handler_seen = true;
                    handlers.push(self.handler(*kind, conditions, statement, depth)?);
                }
            }
        }
        Ok(handlers)
    }

    /// The scope of the block that is being compiled. Units made before keep the scope as it was then.
    fn own_names(&mut self) -> &mut Names {
        if Arc::get_mut(&mut self.names).is_none() {
            let now = &self.names;
            self.names = Arc::new(Names {
                outer: now.outer.clone(),
                variables: now.variables.clone(),
                conditions: now.conditions.clone(),
                cursors: now.cursors.clone(),
            });
        }
        Arc::get_mut(&mut self.names).expect("it was just made")
    }

    fn variables(
        &mut self,
        names: &[ast::Ident<'_>],
        ty: &ast::VariableType<'_>,
        default: Option<&ast::Expr<'_>>,
    ) -> R<()> {
        // A default sees the variables declared before.
        let default_text = default.map(|e| self.expression(e));
        for name in names {
            let text = name.text().into_owned();
            if self.names.variables.iter().any(|(n, _)| catalog::same_name(n, &text)) {
                return Err(error::duplicate_variable(&text));
            }
            let named = self.declared(&text, ty)?;
            match &named {
                Named::Scalar { slot, .. } => {
                    let slot = *slot;
                    match default_text {
                        Some(unit) => self.emit(Op::Set { slot, unit }),
                        None => self.emit(Op::SetNull(slot)),
                    };
                }
                Named::Row(fields) => {
                    let fields = fields.clone();
                    self.set_row(&fields, default)?;
                }
            }
            self.own_names().variables.push((text, named));
        }
        Ok(())
    }

    fn declared(&mut self, name: &str, ty: &ast::VariableType<'_>) -> R<Named> {
        match ty {
            ast::VariableType::Type(ty) => {
                let def = self.types.column(name, ty)?;
                let (slot, ty) = self.slot(def);
                Ok(Named::Scalar { slot, ty })
            }
            ast::VariableType::TypeOf(column) => self.declared_like(name, column),
            ast::VariableType::RowTypeOf(table) => {
                if table.database.is_none()
                    && let Some(cursor) = self.names.cursor(&table.name.text())
                {
                    return self.row_of_cursor(cursor);
                }
                let columns = self.types.columns_of(table)?;
                Ok(self.row_of(columns))
            }
            ast::VariableType::Row(fields) => {
                let mut columns = Vec::with_capacity(fields.len());
                for (field, ty) in *fields {
                    columns.push(self.types.column(&field.text(), ty)?);
                }
                Ok(self.row_of(columns))
            }
        }
    }

    fn declared_like(&mut self, name: &str, column: &ast::ColumnRef<'_>) -> R<Named> {
        if column.table.is_none() {
            let like = column.name.text();
            return match self.names.variable(&like).cloned() {
                Some(Named::Scalar { slot, .. }) => {
                    let def = self.variables[usize::from(slot)].def.clone();
                    let (slot, ty) = self.slot(ColumnDef { name: name.to_owned(), ..def });
                    Ok(Named::Scalar { slot, ty })
                }
                Some(Named::Row(fields)) => {
                    let columns = fields.iter().map(|(_, s, _)| self.variables[usize::from(*s)].def.clone());
                    let columns = columns.collect();
                    Ok(self.row_of(columns))
                }
                None => Err(error::undeclared_variable(&like)),
            };
        }
        let def = self.types.type_of(name, column)?;
        let (slot, ty) = self.slot(def);
        Ok(Named::Scalar { slot, ty })
    }

    fn row_of(&mut self, columns: Vec<ColumnDef>) -> Named {
        let fields = columns.into_iter().map(|def| {
            let name = def.name.clone();
            let (slot, ty) = self.slot(def);
            (name, slot, ty)
        });
        Named::Row(fields.collect())
    }

    fn row_of_cursor(&mut self, cursor: usize) -> R<Named> {
        let Ok(unit) = self.cursors[cursor].unit else {
            return Err(client_error::connection::not_supported(
                "ROW TYPE OF a cursor of a prepared statement",
            ));
        };
        let (text, names) = (self.units[unit].text.clone(), Arc::clone(&self.units[unit].names));
        let columns = self.types.columns_of_query(&text, &names);
        Ok(self.row_of(columns.into_iter().map(|(meta, def)| ColumnDef { name: meta.name, ..def }).collect()))
    }

    fn declare_cursor(
        &mut self,
        name: ast::Ident<'_>,
        params: &[ast::Param<'_>],
        query: &ast::CursorQuery<'_>,
    ) -> R<()> {
        let text = name.text().into_owned();
        if self.names.cursors.iter().any(|(n, _)| catalog::same_name(n, &text)) {
            return Err(error::duplicate_cursor(&text));
        }
        let cursor = self.new_cursor(&text, params, query)?;
        self.own_names().cursors.push((text, cursor));
        Ok(())
    }

    /// The cursor's parameters are variables that only its query sees.
    fn new_cursor(
        &mut self,
        name: &str,
        params: &[ast::Param<'_>],
        query: &ast::CursorQuery<'_>,
    ) -> R<usize> {
        let mut slots = Vec::with_capacity(params.len());
        let unit = match query {
            ast::CursorQuery::Prepared(name) => {
                if self.flavour.is_nested() {
                    return Err(error::dynamic_sql_inside());
                }
                Err(name.text().into_owned())
            }
            ast::CursorQuery::Query(query) => {
                if query.into.is_some() {
                    return Err(error::cursor_select_into());
                }
                let outer = Arc::clone(&self.names);
                if !params.is_empty() {
                    let mut names = Names { outer: Some(Arc::clone(&outer)), ..Names::default() };
                    for param in params {
                        let named = self.declared(&param.name.text(), &param.data_type)?;
                        if let Named::Scalar { slot, .. } = named {
                            slots.push(slot);
                        }
                        names.variables.push((param.name.text().into_owned(), named));
                    }
                    self.names = Arc::new(names);
                }
                let mut text = Vec::new();
                print_query(&mut text, query, self.style);
                let unit = self.unit(&text, UnitKind::Query);
                self.names = outer;
                Ok(unit)
            }
        };
        self.cursors.push(Cursor { name: name.to_owned(), unit, params: slots });
        Ok(self.cursors.len() - 1)
    }

    fn cursor(&self, name: ast::Ident<'_>) -> R<usize> {
        self.names.cursor(&name.text()).ok_or_else(|| error::undefined_cursor(&name.text()))
    }

    fn open(&mut self, name: ast::Ident<'_>, args: &[ast::Expr<'_>]) -> R<()> {
        let cursor = self.cursor(name)?;
        let args = self.cursor_args(cursor, args)?;
        self.emit(Op::Open { cursor, args });
        Ok(())
    }

    fn cursor_args(&mut self, cursor: usize, args: &[ast::Expr<'_>]) -> R<Vec<(Slot, usize)>> {
        let slots = self.cursors[cursor].params.clone();
        if slots.len() != args.len() {
            return Err(error::cursor_arguments(&self.cursors[cursor].name));
        }
        Ok(slots.into_iter().zip(args).map(|(slot, e)| (slot, self.expression(e))).collect())
    }

    fn fetch(&mut self, name: ast::Ident<'_>, into: &[ast::IntoTarget<'_>]) -> R<()> {
        let cursor = self.cursor(name)?;
        let mut targets = Vec::new();
        for target in into {
            targets.extend(self.target(target)?);
        }
        self.emit(Op::Fetch { cursor, into: targets });
        Ok(())
    }

    fn matches(&self, value: &ast::ConditionValue<'_>) -> R<Matches> {
        Ok(match value {
            ast::ConditionValue::SqlState(state) => {
                let state = <[u8; 5]>::try_from(*state).ok().filter(|s| s[..2] != *b"00");
                Matches::State(state.ok_or_else(|| match value {
                    ast::ConditionValue::SqlState(s) => error::bad_sqlstate(&String::from_utf8_lossy(s)),
                    _ => error::bad_sqlstate(""),
                })?)
            }
            ast::ConditionValue::ErrorCode(0) => return Err(error::bad_condition_value()),
            ast::ConditionValue::ErrorCode(code) => Matches::Errno(u16::try_from(*code).unwrap_or(u16::MAX)),
            ast::ConditionValue::Name(name) => {
                let found = self.names.condition(&name.text()).cloned();
                found.ok_or_else(|| error::undefined_condition(&name.text()))?
            }
            ast::ConditionValue::SqlWarning => Matches::Warning,
            ast::ConditionValue::NotFound => Matches::NotFound,
            ast::ConditionValue::SqlException => Matches::Exception,
        })
    }

    fn handler(
        &mut self,
        kind: ast::HandlerKind,
        conditions: &[ast::ConditionValue<'_>],
        body: &ProgramStatement<'_>,
        depth: u32,
    ) -> R<(usize, Vec<At>)> {
        let mut list = Vec::with_capacity(conditions.len());
        for condition in conditions {
            let matches = self.matches(condition)?;
            if list.contains(&matches) {
                return Err(error::duplicate_handler());
            }
            list.push(matches);
        }
        let jump = self.emit(Op::Jump(0));
        let start = self.here();
        self.labels.push(Label { name: None, depth, start: None, exits: Vec::new(), barrier: true });
        self.depth += 1;
        self.statement(body)?;
        self.depth -= 1;
        self.labels.pop();
        let resumes = kind == ast::HandlerKind::Continue;
        let exit = (!resumes).then_some((depth - 1, 0));
        let end = self.emit(Op::EndHandler { exit });
        let next = self.here();
        self.ops[jump] = Op::Jump(next);
        self.handlers.push(Handler { conditions: list, start });
        Ok((self.handlers.len() - 1, vec![end]))
    }

    // Labels.

    fn push_label(&mut self, label: Option<ast::Ident<'_>>, start: Option<At>) -> R<()> {
        let name = label.map(|l| l.text().into_owned());
        if let Some(name) = &name
            && self.find_label(name).is_some()
        {
            return Err(error::label_redefined(name));
        }
        self.labels.push(Label { name, depth: self.depth, start, exits: Vec::new(), barrier: false });
        Ok(())
    }

    fn find_label(&self, name: &str) -> Option<usize> {
        for (i, label) in self.labels.iter().enumerate().rev() {
            if label.barrier {
                return None;
            }
            if label.name.as_deref().is_some_and(|l| catalog::same_name(l, name)) {
                return Some(i);
            }
        }
        None
    }

    fn pop_label(&mut self) {
        let end = self.here();
        for at in self.labels.pop().map(|l| l.exits).unwrap_or_default() {
            match &mut self.ops[at] {
                Op::Unwind { to, .. } | Op::Jump(to) | Op::FetchOr { to, .. } => *to = end,
                Op::JumpIfNot { to, after, .. } => (*to, *after) = (end, end),
                _ => {}
            }
        }
    }

    fn leave(&mut self, label: ast::Ident<'_>) -> R<()> {
        let name = label.text();
        let found = self.find_label(&name).ok_or_else(|| error::no_label("LEAVE", &name))?;
        let depth = self.labels[found].depth;
        let at = self.emit(Op::Unwind { depth, to: 0 });
        self.labels[found].exits.push(at);
        Ok(())
    }

    fn iterate(&mut self, label: ast::Ident<'_>) -> R<()> {
        let name = label.text();
        let found = self.find_label(&name).filter(|i| self.labels[*i].start.is_some());
        let found = found.ok_or_else(|| error::no_label("ITERATE", &name))?;
        let (depth, start) = (self.labels[found].depth, self.labels[found].start.unwrap_or_default());
        self.emit(Op::Unwind { depth, to: start });
        Ok(())
    }

    // Branches and loops.

    fn branches(
        &mut self,
        branches: &[(ast::Expr<'_>, &[ProgramStatement<'_>])],
        otherwise: &[ProgramStatement<'_>],
    ) -> R<()> {
        let mut ends = Vec::new();
        let mut tests = Vec::new();
        for (condition, statements) in branches {
            let unit = self.expression(condition);
            let test = self.emit(Op::JumpIfNot { unit, to: 0, after: 0 });
            self.statements(statements)?;
            ends.push(self.emit(Op::Jump(0)));
            let next = self.here();
            if let Op::JumpIfNot { to, .. } = &mut self.ops[test] {
                *to = next;
            }
            tests.push(test);
        }
        self.statements(otherwise)?;
        self.end_branches(&ends, &tests);
        Ok(())
    }

    /// All ends of branches lead here; a CONTINUE handler of a condition goes on here, too.
    fn end_branches(&mut self, ends: &[At], tests: &[At]) {
        let end = self.here();
        for at in ends {
            self.ops[*at] = Op::Jump(end);
        }
        for at in tests {
            if let Op::JumpIfNot { after, .. } = &mut self.ops[*at] {
                *after = end;
            }
        }
    }

    fn case(&mut self, case: &ast::CaseStatement<'_>) -> R<()> {
        let (mut ends, mut tests) = (Vec::new(), Vec::new());
        for (value, statements) in case.whens {
            let unit = match case.operand {
                None => self.expression(value),
                Some(operand) => {
                    let mut text = b"DO (".to_vec();
                    print_expr(&mut text, &operand, self.style);
                    text.extend_from_slice(b") = (");
                    print_expr(&mut text, value, self.style);
                    text.push(b')');
                    self.unit(&text, UnitKind::Expression)
                }
            };
            let test = self.emit(Op::JumpIfNot { unit, to: 0, after: 0 });
            self.statements(statements)?;
            ends.push(self.emit(Op::Jump(0)));
            let next = self.here();
            if let Op::JumpIfNot { to, .. } = &mut self.ops[test] {
                *to = next;
            }
            tests.push(test);
        }
        match case.otherwise {
            Some(statements) => self.statements(statements)?,
            None => {
                self.emit(Op::CaseNotFound);
            }
        }
        self.end_branches(&ends, &tests);
        Ok(())
    }

    fn loop_statement(&mut self, l: &ast::LoopStatement<'_>) -> R<()> {
        match &l.kind {
            LoopKind::Loop => {
                let start = self.here();
                self.push_label(l.label, Some(start))?;
                self.statements(l.statements)?;
                self.emit(Op::Jump(start));
                self.pop_label();
                Ok(())
            }
            LoopKind::While(condition) => {
                let start = self.here();
                self.push_label(l.label, Some(start))?;
                let unit = self.expression(condition);
                let test = self.emit(Op::JumpIfNot { unit, to: 0, after: 0 });
                self.exit_here(test);
                self.statements(l.statements)?;
                self.emit(Op::Jump(start));
                self.pop_label();
                Ok(())
            }
            LoopKind::Repeat(condition) => {
                let start = self.here();
                self.push_label(l.label, Some(start))?;
                self.statements(l.statements)?;
                let unit = self.expression(condition);
                let at = self.here();
                self.emit(Op::JumpIfNot { unit, to: start, after: at + 1 });
                self.pop_label();
                Ok(())
            }
            LoopKind::ForRange { variable, reverse, low, high } => {
                self.for_range(l, *variable, *reverse, low, high)
            }
            LoopKind::ForCursor { variable, cursor, args } => {
                let cursor = self.cursor(*cursor)?;
                let args = self.cursor_args(cursor, args)?;
                self.for_cursor(l, *variable, cursor, args)
            }
            LoopKind::ForQuery { variable, query } => {
                let cursor = self.new_cursor("", &[], &ast::CursorQuery::Query(query))?;
                self.for_cursor(l, *variable, cursor, Vec::new())
            }
        }
    }

    /// The innermost loop ends where the jump at `at` goes.
    fn exit_here(&mut self, at: At) {
        if let Some(label) = self.labels.last_mut() {
            label.exits.push(at);
        }
    }

    fn for_range(
        &mut self,
        l: &ast::LoopStatement<'_>,
        variable: ast::Ident<'_>,
        reverse: bool,
        low: &ast::Expr<'_>,
        high: &ast::Expr<'_>,
    ) -> R<()> {
        let big = ast::DataType::Int { size: ast::IntSize::Big, width: None, sign: ast::Sign::default() };
        let name = variable.text().into_owned();
        let (from, to) = if reverse { (high, low) } else { (low, high) };
        let (from, to) = (self.expression(from), self.expression(to));
        let outer = Arc::clone(&self.names);
        let def = self.types.column(&name, &big)?;
        let (slot, ty) = self.slot(def.clone());
        let (limit, _) = self.slot(def);
        let mut names = Names { outer: Some(Arc::clone(&outer)), ..Names::default() };
        names.variables.push((name.clone(), Named::Scalar { slot, ty }));
        names.variables.push((LIMIT.into(), Named::Scalar { slot: limit, ty }));
        self.names = Arc::new(names);
        self.emit(Op::Set { slot, unit: from });
        self.emit(Op::Set { slot: limit, unit: to });
        let mut quoted = Vec::new();
        sql_syntax::print_ident(&mut quoted, name.as_bytes(), self.style);
        let quoted = String::from_utf8_lossy(&quoted).into_owned();
        let first = self.emit(Op::Jump(0));
        // ITERATE goes on with the step.
        let start = self.here();
        self.push_label(l.label, Some(start))?;
        let step = format!("DO {quoted} {} 1", if reverse { "-" } else { "+" });
        let unit = self.unit(step.as_bytes(), UnitKind::Expression);
        self.emit(Op::Set { slot, unit });
        let test_at = self.here();
        self.ops[first] = Op::Jump(test_at);
        let test = format!("DO {quoted} {} `{LIMIT}`", if reverse { ">=" } else { "<=" });
        let unit = self.unit(test.as_bytes(), UnitKind::Expression);
        let test = self.emit(Op::JumpIfNot { unit, to: 0, after: 0 });
        self.exit_here(test);
        self.statements(l.statements)?;
        self.emit(Op::Jump(start));
        self.pop_label();
        self.names = outer;
        Ok(())
    }

    fn for_cursor(
        &mut self,
        l: &ast::LoopStatement<'_>,
        variable: ast::Ident<'_>,
        cursor: usize,
        args: Vec<(Slot, usize)>,
    ) -> R<()> {
        let outer = Arc::clone(&self.names);
        let row = self.row_of_cursor(cursor)?;
        let into = match &row {
            Named::Row(fields) => fields.iter().map(|(_, slot, _)| *slot).collect(),
            Named::Scalar { slot, .. } => vec![*slot],
        };
        let variables = vec![(variable.text().into_owned(), row)];
        self.names = Arc::new(Names { outer: Some(Arc::clone(&outer)), variables, ..Names::default() });
        self.emit(Op::Open { cursor, args });
        let start = self.here();
        self.push_label(l.label, Some(start))?;
        let fetch = self.emit(Op::FetchOr { cursor, into, to: 0 });
        self.exit_here(fetch);
        self.statements(l.statements)?;
        self.emit(Op::Jump(start));
        self.pop_label();
        self.emit(Op::Close { cursor, quiet: true });
        self.names = outer;
        Ok(())
    }
}
