//! The actions of one ALTER TABLE happen at once: each names the columns that the table has before the statement.
//!
//! `CHANGE a b ..., CHANGE b a ...` swaps names, `RENAME COLUMN a TO b, DROP COLUMN b` drops the old `b`. So columns that
//! get other names are first set aside under names that nobody uses; then columns go; then those set aside take their new names. What
//! follows (new columns, types, places, keys) sees the new names, as in MariaDB.

use catalog::TableDef;
use sql_plan::error::SqlResult;
use sql_syntax::ast::{self, AlterAction as A};

use super::{Altered, apply, change_column, find_column, rename_column};
use crate::ddl::DdlContext;

pub(super) fn apply_all<'a>(
    actions: &'a [A<'a>],
    new: &mut Altered<'a>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<()> {
    // Each with its place among the actions, and the name that it waits under.
    let mut aside = Vec::new();
    for (i, action) in actions.iter().enumerate() {
        let Some((if_exists, old, _)) = renames(action) else { continue };
        let Some(at) = find_column(&old.text(), if_exists, new, cx)? else { continue };
        let waiting = unused_name(&new.def, i);
        rename_column(at, waiting.clone(), new)?;
        aside.push((i, waiting));
    }
    let drops = |a: &&A<'_>| matches!(a, A::DropColumn { .. });
    for action in actions.iter().filter(drops) {
        apply(action, new, cx)?;
    }
    for (i, waiting) in &aside {
        let Some((_, _, name)) = renames(&actions[*i]) else { continue };
        if let Some(at) = new.def.column(waiting) {
            rename_column(at, name.text().into_owned(), new)?;
        }
    }
    for (i, action) in actions.iter().enumerate() {
        match action {
            A::DropColumn { .. } => {}
            A::ChangeColumn { column, position, if_exists, .. } if renames(action).is_some() => {
                if aside.iter().any(|(at, _)| *at == i) {
                    change_column(&column.name.text(), column, *position, *if_exists, new, cx)?;
                }
            }
            _ => apply(action, new, cx)?,
        }
    }
    Ok(())
}

/// IF EXISTS, the old name and the new one of an action that gives a column another name.
fn renames<'a>(action: &A<'a>) -> Option<(bool, ast::Ident<'a>, ast::Ident<'a>)> {
    match action {
        A::RenameColumn { if_exists, old, new } => Some((*if_exists, *old, *new)),
        A::ChangeColumn { if_exists, old, column, .. } if old.text() != column.name.text() => {
            Some((*if_exists, *old, column.name))
        }
        _ => None,
    }
}

fn unused_name(def: &TableDef, i: usize) -> String {
    let mut name = format!("renamed{i}");
    while def.column(&name).is_some() {
        name.push('_');
    }
    name
}
