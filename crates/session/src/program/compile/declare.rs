//! Blocks: declared variables, conditions, cursors and handlers, and the statements that use cursors.

use std::sync::Arc;

use catalog::ColumnDef;
use client_error::program as error;
use sql_syntax::ast::{self, Declaration, ProgramStatement};
use sql_syntax::print_query;

use super::super::code::{At, Cursor, Handler, Matches, Op, Slot, UnitKind};
use super::super::names::{Named, Names};
use super::{Compiler, Label, R};

impl Compiler<'_> {
    pub(super) fn block(&mut self, block: &ast::Block<'_>) -> R<()> {
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

    pub(super) fn declarations(&mut self, list: &[Declaration<'_>], depth: u32) -> R<Vec<(usize, Vec<At>)>> {
        let (mut cursor_seen, mut handler_seen) = (false, false);
        let (mut handlers, mut handled) = (Vec::new(), Vec::new());
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
                    handlers.push(self.handler(*kind, conditions, statement, depth, &mut handled)?);
                }
            }
        }
        Ok(handlers)
    }

    /// The scope of the block that is being compiled. Units made before keep the scope as it was then.
    pub(super) fn own_names(&mut self) -> &mut Names {
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

    pub(super) fn variables(
        &mut self,
        names: &[ast::Ident<'_>],
        ty: &ast::VariableType<'_>,
        default: Option<&ast::Expr<'_>>,
    ) -> R<()> {
        // A default sees the variables declared before.
        let default_text = default.map(|e| self.expression(e)).transpose()?;
        for (i, name) in names.iter().enumerate() {
            let text = name.text().into_owned();
            if self.names.variables.iter().any(|(n, _)| catalog::same_name(n, &text)) {
                return Err(error::duplicate_variable(&text));
            }
            let named = self.declared(&text, ty)?;
            match &named {
                Named::Scalar { slot, .. } => {
                    let slot = *slot;
                    // The default is computed once: the others get the first one's value.
                    let first = ast::Expr::Column(ast::ColumnRef { table: None, name: names[0] });
                    let value = match default_text {
                        Some(_) if i > 0 => Some(self.expression(&first)?),
                        unit => unit,
                    };
                    match value {
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

    pub(super) fn declared(&mut self, name: &str, ty: &ast::VariableType<'_>) -> R<Named> {
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

    pub(super) fn declared_like(&mut self, name: &str, column: &ast::ColumnRef<'_>) -> R<Named> {
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

    pub(super) fn row_of(&mut self, columns: Vec<ColumnDef>) -> Named {
        let fields = columns.into_iter().map(|def| {
            let name = def.name.clone();
            let (slot, ty) = self.slot(def);
            (name, slot, ty)
        });
        Named::Row(fields.collect())
    }

    pub(super) fn row_of_cursor(&mut self, cursor: usize) -> R<Named> {
        let Ok(unit) = self.cursors[cursor].unit else {
            return Err(client_error::connection::not_supported(
                "ROW TYPE OF a cursor of a prepared statement",
            ));
        };
        let (text, names) = (self.units[unit].text.clone(), Arc::clone(&self.units[unit].names));
        let columns = self.types.columns_of_query(&text, &names);
        Ok(self.row_of(columns.into_iter().map(|(meta, def)| ColumnDef { name: meta.name, ..def }).collect()))
    }

    pub(super) fn declare_cursor(
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
    pub(super) fn new_cursor(
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

    pub(super) fn cursor(&self, name: ast::Ident<'_>) -> R<usize> {
        self.names.cursor(&name.text()).ok_or_else(|| error::undefined_cursor(&name.text()))
    }

    pub(super) fn open(&mut self, name: ast::Ident<'_>, args: &[ast::Expr<'_>]) -> R<()> {
        let cursor = self.cursor(name)?;
        let args = self.cursor_args(cursor, args)?;
        self.emit(Op::Open { cursor, args });
        Ok(())
    }

    pub(super) fn cursor_args(&mut self, cursor: usize, args: &[ast::Expr<'_>]) -> R<Vec<(Slot, usize)>> {
        let slots = self.cursors[cursor].params.clone();
        if slots.len() != args.len() {
            return Err(error::cursor_arguments(&self.cursors[cursor].name));
        }
        slots.into_iter().zip(args).map(|(slot, e)| Ok((slot, self.expression(e)?))).collect()
    }

    pub(super) fn fetch(&mut self, name: ast::Ident<'_>, into: &[ast::IntoTarget<'_>]) -> R<()> {
        let cursor = self.cursor(name)?;
        let mut targets = Vec::new();
        for target in into {
            targets.extend(self.target(target)?);
        }
        self.emit(Op::Fetch { cursor, into: targets });
        Ok(())
    }

    pub(super) fn matches(&self, value: &ast::ConditionValue<'_>) -> R<Matches> {
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

    pub(super) fn handler(
        &mut self,
        kind: ast::HandlerKind,
        conditions: &[ast::ConditionValue<'_>],
        body: &ProgramStatement<'_>,
        depth: u32,
        handled: &mut Vec<Matches>,
    ) -> R<(usize, Vec<At>)> {
        let mut list = Vec::with_capacity(conditions.len());
        for condition in conditions {
            let matches = self.matches(condition)?;
            if handled.contains(&matches) {
                return Err(error::duplicate_handler());
            }
            handled.push(matches.clone());
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
}
