//! Labels, IF and CASE, loops.

use std::sync::Arc;

use client_error::program as error;
use sql_syntax::ast::{self, LoopKind, ProgramStatement};
use sql_syntax::print_expr;

use super::super::code::{At, Op, Slot, UnitKind};
use super::super::names::{Named, Names};
use super::{Compiler, LIMIT, Label, R};

impl Compiler<'_> {
    pub(super) fn push_label(&mut self, label: Option<ast::Ident<'_>>, start: Option<At>) -> R<()> {
        let name = label.map(|l| l.text().into_owned());
        if let Some(name) = &name
            && self.find_label(name).is_some()
        {
            return Err(error::label_redefined(name));
        }
        self.labels.push(Label { name, depth: self.depth, start, exits: Vec::new(), barrier: false });
        Ok(())
    }

    pub(super) fn find_label(&self, name: &str) -> Option<usize> {
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

    pub(super) fn pop_label(&mut self) {
        let end = self.here();
        for at in self.labels.pop().map(|l| l.exits).unwrap_or_default() {
            match &mut self.ops[at] {
                Op::Unwind { to, .. } | Op::Jump(to) | Op::FetchOr { to, .. } => *to = end,
                Op::JumpIfNot { to, after, .. } => (*to, *after) = (end, end),
                _ => {}
            }
        }
    }

    pub(super) fn leave(&mut self, label: ast::Ident<'_>) -> R<()> {
        let name = label.text();
        let found = self.find_label(&name).ok_or_else(|| error::no_label("LEAVE", &name))?;
        let depth = self.labels[found].depth;
        let at = self.emit(Op::Unwind { depth, to: 0 });
        self.labels[found].exits.push(at);
        Ok(())
    }

    pub(super) fn iterate(&mut self, label: ast::Ident<'_>) -> R<()> {
        let name = label.text();
        let found = self.find_label(&name).filter(|i| self.labels[*i].start.is_some());
        let found = found.ok_or_else(|| error::no_label("ITERATE", &name))?;
        let (depth, start) = (self.labels[found].depth, self.labels[found].start.unwrap_or_default());
        self.emit(Op::Unwind { depth, to: start });
        Ok(())
    }

    // Branches and loops.

    pub(super) fn branches(
        &mut self,
        branches: &[(ast::Expr<'_>, &[ProgramStatement<'_>])],
        otherwise: &[ProgramStatement<'_>],
    ) -> R<()> {
        let mut ends = Vec::new();
        let mut tests = Vec::new();
        for (condition, statements) in branches {
            let unit = self.expression(condition)?;
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
    pub(super) fn end_branches(&mut self, ends: &[At], tests: &[At]) {
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

    pub(super) fn case(&mut self, case: &ast::CaseStatement<'_>) -> R<()> {
        let (mut ends, mut tests) = (Vec::new(), Vec::new());
        for (value, statements) in case.whens {
            let unit = match case.operand {
                None => self.expression(value)?,
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

    pub(super) fn loop_statement(&mut self, l: &ast::LoopStatement<'_>) -> R<()> {
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
                let unit = self.expression(condition)?;
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
                let unit = self.expression(condition)?;
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
    pub(super) fn exit_here(&mut self, at: At) {
        if let Some(label) = self.labels.last_mut() {
            label.exits.push(at);
        }
    }

    pub(super) fn for_range(
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
        let (from, to) = (self.expression(from)?, self.expression(to)?);
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

    pub(super) fn for_cursor(
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
