//! Expressions of a table's definition: computed defaults, generated columns, CHECK constraints.
//!
//! They are looked at when all columns are known, and kept as the text that SHOW CREATE TABLE prints.

use catalog::{CheckDef, DefaultValue, Generated, TableDef, same_name};
use sql_plan::error::{Clause, SqlError, SqlResult};
use sql_plan::program::{self, definition_expr};
use sql_syntax::ast;

use super::columns::ColumnRules;

/// Rules of a statement that are not in the definition yet.
#[derive(Default)]
pub(super) struct PendingRules<'a> {
    /// By the column's name.
    columns: Vec<(String, ColumnRules<'a>)>,
    checks: Vec<&'a ast::CheckDef<'a>>,
}

impl<'a> PendingRules<'a> {
    pub(super) fn of_column(&mut self, column: &str, rules: ColumnRules<'a>) {
        self.columns.retain(|(name, _)| !same_name(name, column));
        self.columns.push((column.to_owned(), rules));
    }

    pub(super) fn check(&mut self, check: &'a ast::CheckDef<'a>) {
        self.checks.push(check);
    }

    /// Whether a column will be a generated one.
    pub(super) fn generates(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, rules)| same_name(name, column) && rules.generated.is_some())
    }

    pub(super) fn forget(&mut self, column: &str) {
        self.columns.retain(|(name, _)| !same_name(name, column));
    }

    /// Puts the rules into a definition whose columns are complete.
    pub(super) fn finish(self, def: &mut TableDef) -> SqlResult<()> {
        for (name, rules) in &self.columns {
            let Some(at) = def.column(name) else { continue };
            if let Some(e) = &rules.default {
                let text = definition_expr(def, name, e, Clause::Default)?;
                def.columns[at].default = DefaultValue::Expression(text);
            }
            if let Some(g) = &rules.generated {
                let expr = definition_expr(def, name, &g.expr, Clause::Generated)?;
                if g.stored
                    && let Some(error) = program::reads_auto_increment(def, &expr)?
                {
                    return Err(error);
                }
                def.columns[at].generated = Some(Generated { expr, stored: g.stored });
                def.columns[at].default = DefaultValue::Null;
            }
            if let Some(check) = rules.check {
                let text = definition_expr(def, name, &check.expr, Clause::Check)?;
                match check.constraint {
                    Some(constraint) => add_check(def, Some(constraint.text().into_owned()), text)?,
                    None => def.columns[at].check = Some(text),
                }
            }
        }
        for check in self.checks {
            let name = check.constraint.map(|n| n.text().into_owned());
            let shown = name.clone().unwrap_or_default();
            let text = definition_expr(def, &shown, &check.expr, Clause::Check)?;
            if check.if_not_exists && name.as_ref().is_some_and(|n| find_check(def, n).is_some()) {
                continue;
            }
            add_check(def, name, text)?;
        }
        check_order(def)
    }
}

pub(super) fn find_check(def: &TableDef, name: &str) -> Option<usize> {
    // A period is a constraint that only DROP PERIOD knows.
    let period = def.period_check();
    (0..def.checks.len()).find(|i| Some(*i) != period && same_name(&def.checks[*i].name, name))
}

fn add_check(def: &mut TableDef, name: Option<String>, expr: String) -> SqlResult<()> {
    let name = match name {
        Some(name) if find_check(def, &name).is_some() => {
            return Err(SqlError::Other {
                errno: 1826,
                state: *b"HY000",
                text: format!("Duplicate CHECK constraint name '{name}'"),
            });
        }
        Some(name) => name,
        None => (1..)
            .map(|n| format!("CONSTRAINT_{n}"))
            .find(|n| find_check(def, n).is_none())
            .unwrap_or_default(),
    };
    def.checks.push(CheckDef { name, expr });
    Ok(())
}

/// All expressions of a definition again, over the columns that it has now; a generated column reads only computed columns before it.
fn check_order(def: &TableDef) -> SqlResult<()> {
    for (i, column) in def.columns.iter().enumerate() {
        let (text, clause) = match (&column.generated, &column.default) {
            (Some(generated), _) => (&generated.expr, Clause::Generated),
            (None, DefaultValue::Expression(text)) => (text, Clause::Default),
            _ => continue,
        };
        for read in program::columns_read(def, text, clause)? {
            let other = &def.columns[read];
            let late = other.generated.is_some()
                || clause == Clause::Default && matches!(other.default, DefaultValue::Expression(_));
            if read >= i && late || read == i {
                return Err(SqlError::Other {
                    errno: 4029,
                    state: *b"01000",
                    text: format!(
                        "Expression for field `{}` is referring to uninitialized field `{}`",
                        column.name, other.name
                    ),
                });
            }
        }
    }
    for check in def.checks.iter().map(|c| &c.expr).chain(def.columns.iter().filter_map(|c| c.check.as_ref()))
    {
        program::columns_read(def, check, Clause::Check)?;
    }
    Ok(())
}

/// A column got another name: the expressions that read it follow.
pub(super) fn rename_column(def: &mut TableDef, old: &str, new: &str) -> SqlResult<()> {
    let renamed = |text: &mut String| -> SqlResult<()> {
        *text = program::rename_column(text, old, new)?;
        Ok(())
    };
    for column in &mut def.columns {
        if let DefaultValue::Expression(text) = &mut column.default {
            // As an operand: the parentheses around it are part of the text.
            *text = program::rename_in_default(text, old, new)?;
        }
        column.generated.iter_mut().try_for_each(|g| renamed(&mut g.expr))?;
        column.check.iter_mut().try_for_each(renamed)?;
    }
    def.checks.iter_mut().try_for_each(|c| renamed(&mut c.expr))
}
