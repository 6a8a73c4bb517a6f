//! SET inside a program: local variables, fields of rows, NEW columns; the rest is the session's.

use catalog::program::TriggerEvent;
use client_error::{ClientError, program as error};
use sql_plan::meta::ExprType;
use sql_syntax::ast::{self, SetItem};
use sql_syntax::print_expr;

use super::super::code::{Op, Slot, UnitKind};
use super::super::names::Named;
use super::{Compiler, R};

impl Compiler<'_> {
    /// SET: variables of the program become operations, the rest stays a statement.
    pub(super) fn set(&mut self, items: &[SetItem<'_>], text: &[u8]) -> R<()> {
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
    pub(super) fn set_target(&self, item: &SetItem<'_>) -> Option<R<Named>> {
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
                    None if self.trigger.is_some() => {
                        Err(error::unknown_field(&name, &base.text().to_uppercase()))
                    }
                    None => Err(error::unknown_field(&name, &base.text())),
                })
            }
        }
    }

    /// Why a trigger cannot change this row.
    pub(super) fn fixed_row(&self, row: ast::Ident<'_>) -> Option<ClientError> {
        let (event, before) = self.trigger?;
        let word = super::super::show::event_word(event);
        match () {
            () if row.is("NEW") && event == TriggerEvent::Delete => Some(error::no_such_row(word, "NEW")),
            () if row.is("OLD") => Some(error::old_row_is_fixed()),
            () if row.is("NEW") && !before => Some(error::row_not_updatable("NEW", "after ")),
            () => None,
        }
    }

    pub(super) fn set_local(&mut self, target: Named, item: &SetItem<'_>) -> R<()> {
        let SetItem::System { value, .. } = item else { return Ok(()) };
        match (target, value) {
            (Named::Scalar { slot, .. }, Some(value)) => {
                let unit = self.expression(value)?;
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

    /// A value of another number of columns is an error when the statement runs, not when the program is made.
    pub(super) fn set_row(
        &mut self,
        fields: &[(String, Slot, ExprType)],
        value: Option<&ast::Expr<'_>>,
    ) -> R<()> {
        match value {
            Some(ast::Expr::Row(values)) if values.len() == fields.len() => {
                for ((_, slot, _), value) in fields.iter().zip(*values) {
                    let unit = self.expression(value)?;
                    self.emit(Op::Set { slot: *slot, unit });
                }
            }
            Some(ast::Expr::Column(ast::ColumnRef { table: None, name })) => {
                let Some(Named::Row(from)) = self.names.variable(&name.text()).cloned() else {
                    self.emit(Op::WrongColumns(fields.len()));
                    return Ok(());
                };
                if from.len() != fields.len() {
                    self.emit(Op::WrongColumns(fields.len()));
                    return Ok(());
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
            Some(_) => {
                self.emit(Op::WrongColumns(fields.len()));
            }
        }
        Ok(())
    }

    /// One item of a mixed SET as a statement.
    pub(super) fn print_set(&self, item: &SetItem<'_>) -> R<Vec<u8>> {
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
}
