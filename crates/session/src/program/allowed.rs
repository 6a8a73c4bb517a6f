//! Which statements a stored program may contain.

use client_error::{ClientError, program as error};
use sql_syntax::ast::{self, Statement as S};

use super::compile::Flavour;

/// Refuses what has no place in a program of this kind.
pub(super) fn check(flavour: Flavour, statement: &S<'_>) -> Result<(), ClientError> {
    match statement {
        S::LockTables(_) => return Err(error::not_in_procedures("LOCK")),
        S::UnlockTables => return Err(error::not_in_procedures("UNLOCK")),
        S::Help(_) => return Err(error::not_in_procedures("HELP")),
        S::Handler(_) => return Err(error::not_in_procedures("HANDLER")),
        S::TableAdmin(a) if matches!(a.action, ast::AdminAction::Check(_)) => {
            return Err(error::not_in_procedures("CHECK"));
        }
        S::Use(_) => return Err(error::not_in_procedures("USE")),
        S::LoadData(_) => return Err(error::not_in_procedures("LOAD DATA")),
        S::Backup(_) => return Err(error::not_in_procedures("BACKUP")),
        S::CreateRoutine(r) => return Err(error::no_recursive_create(word(r.kind))),
        S::CreateTrigger(_) => return Err(error::no_recursive_create("TRIGGER")),
        S::CreateEvent(_) | S::AlterEvent(_) | S::DropEvent(_) if flavour == Flavour::Event => {
            return Err(recursive_event());
        }
        S::AlterRoutine(r) => return Err(error::no_drop_inside(word(r.kind))),
        S::DropRoutine(r) => {
            let function = r.kind == ast::DropRoutineKind::Function;
            return Err(error::no_drop_inside(if function { "FUNCTION" } else { "PROCEDURE" }));
        }
        _ => {}
    }
    if flavour.is_nested() { check_nested(flavour, statement) } else { Ok(()) }
}

fn word(kind: ast::RoutineKind) -> &'static str {
    match kind {
        ast::RoutineKind::Procedure => "PROCEDURE",
        ast::RoutineKind::Function => "FUNCTION",
    }
}

fn recursive_event() -> ClientError {
    ClientError::new(1576, b"HY000", "Recursion of EVENT DDL statements is forbidden when body is present")
}

fn check_nested(flavour: Flavour, statement: &S<'_>) -> Result<(), ClientError> {
    match statement {
        S::Prepare(_) | S::Execute(_) | S::Deallocate(_) => Err(error::dynamic_sql_inside()),
        S::Show(_) | S::Explain(_) | S::Describe(_) | S::TableAdmin(_) | S::Help(_) => {
            Err(error::result_set_inside(flavour == Flavour::Trigger))
        }
        S::Flush(_) => Err(error::not_inside("FLUSH")),
        S::Reset(_) => Err(error::not_inside("RESET")),
        S::Transaction(ast::TransactionStatement::Savepoint(_))
        | S::Transaction(ast::TransactionStatement::RollbackTo(_))
        | S::Transaction(ast::TransactionStatement::Release(_)) => Ok(()),
        S::Transaction(_) => Err(error::commit_inside()),
        S::CreateTable(c) if c.temporary => Ok(()),
        S::DropTable(d) if d.temporary => Ok(()),
        other if crate::statement::commits_implicitly(other) => Err(error::commit_inside()),
        _ => Ok(()),
    }
}
