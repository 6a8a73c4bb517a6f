//! Privileges of a statement's tables and columns, checked while it is planned.
//!
//! A plan is good for the privileges it was made under: the session makes it again when they have changed, so running it checks
//! nothing.
//!
//! # What needs what
//! A table in FROM needs SELECT, the target of a change INSERT, UPDATE or DELETE; some column's privilege lets the table be named.
//! Then each column that is read needs SELECT and each that is assigned INSERT or UPDATE, unless the whole table has it.

use std::sync::Arc;

use accounts::Privileges;
use sql_syntax::ast;

use crate::access::JoinInput;
use crate::error::{SqlError, SqlResult};
use crate::expr::Slot;
use crate::planner::Planner;

/// Somebody's privileges.
pub trait Guard {
    /// On the whole table, and on some column of it.
    fn on_table(&self, schema: &str, table: &str) -> (Privileges, Privileges);
    fn on_column(&self, schema: &str, table: &str, column: &str) -> Privileges;
    fn table_denied(&self, missing: Privileges, schema: &str, table: &str) -> SqlError;
    fn column_denied(&self, missing: Privileges, column: &str, table: &str) -> SqlError;
}

/// Why tables are named at the moment.
#[derive(Clone, Default)]
pub(crate) struct Guarded {
    pub(crate) guard: Option<Arc<dyn Guard>>,
    /// What the tables of the block at this depth are needed for; all others are needed for SELECT.
    targets: Option<Targets>,
    /// What the column that is resolved now is needed for; nothing said = SELECT.
    pub(crate) column_for: Option<Privileges>,
    /// Tables of which some columns may not be used.
    partial: Vec<Partial>,
}

#[derive(Clone, Copy)]
struct Targets {
    depth: usize,
    wanted: Privileges,
    /// Of several tables, some may be read only.
    several: bool,
}

#[derive(Clone)]
struct Partial {
    slot: Slot,
    schema: String,
    table: String,
    whole: Privileges,
    guard: Arc<dyn Guard>,
}

impl Guarded {
    /// The tables that a statement changes are being planned.
    pub(crate) fn changes_tables(&self) -> bool {
        self.targets.is_some()
    }

    pub(crate) fn by(guard: Option<Arc<dyn Guard>>) -> Self {
        Self { guard, ..Self::default() }
    }
}

impl<'a> Planner<'a> {
    /// Tables of an UPDATE or DELETE.
    pub(crate) fn add_targets(
        &mut self,
        list: &[ast::TableRef<'a>],
        wanted: Privileges,
        join: &mut JoinInput,
    ) -> SqlResult<()> {
        let several = !matches!(list, [ast::TableRef::Table(_)]);
        let before = self.guarded.targets.replace(Targets { depth: self.scopes.len(), wanted, several });
        let outcome = self.add_tables(list, join);
        self.guarded.targets = before;
        outcome
    }

    /// A table is named, by its real name. Comes before the question whether it exists.
    /// A temporary table is its session's to use.
    pub(crate) fn check_table(&self, schema: &str, table: &str, wanted: Privileges) -> SqlResult<()> {
        let Some(guard) = &self.guarded.guard else { return Ok(()) };
        if self.is_temporary(schema, table) {
            return Ok(());
        }
        let (whole, columns) = guard.on_table(schema, table);
        let missing = wanted.without(whole | columns);
        if missing.is_empty() { Ok(()) } else { Err(guard.table_denied(missing, schema, table)) }
    }

    /// Same, for what tables of FROM are needed for now.
    pub(crate) fn check_from(&self, schema: &str, table: &str) -> SqlResult<()> {
        match self.guarded.targets.filter(|t| t.depth == self.scopes.len()) {
            None => self.check_table(schema, table, Privileges::SELECT),
            Some(t) if t.several && self.check_table(schema, table, t.wanted).is_err() => {
                self.check_table(schema, table, Privileges::SELECT)
            }
            Some(t) => self.check_table(schema, table, t.wanted),
        }
    }

    /// The table has got its slot: from now on its columns are looked at, where that is needed.
    pub(crate) fn guard_slot(&mut self, slot: Slot, schema: &str, table: &str) {
        let Some(guard) = &self.guarded.guard else { return };
        if self.is_temporary(schema, table) {
            return;
        }
        let (whole, _) = guard.on_table(schema, table);
        let every = Privileges::SELECT | Privileges::INSERT | Privileges::UPDATE | Privileges::DELETE;
        if !whole.has(every) {
            self.guarded.partial.push(Partial {
                slot,
                schema: schema.to_owned(),
                table: table.to_owned(),
                whole,
                guard: Arc::clone(guard),
            });
        }
    }

    fn is_temporary(&self, schema: &str, table: &str) -> bool {
        self.snapshot().table(schema, table).is_some_and(|t| t.def.temporary)
    }

    /// A column of a slot is used.
    pub(crate) fn check_column(&self, slot: Slot, column: &str) -> SqlResult<()> {
        if self.guarded.partial.is_empty() {
            return Ok(());
        }
        self.check_column_for(slot, column, self.guarded.column_for.unwrap_or(Privileges::SELECT))
    }

    pub(crate) fn check_column_for(&self, slot: Slot, column: &str, wanted: Privileges) -> SqlResult<()> {
        let Some(found) = self.guarded.partial.iter().find(|p| p.slot == slot) else { return Ok(()) };
        let missing = wanted.without(found.whole);
        if missing.is_empty() || found.guard.on_column(&found.schema, &found.table, column).has(missing) {
            return Ok(());
        }
        // Where no column may be changed, the table is what is refused.
        if missing != Privileges::SELECT && !found.guard.on_table(&found.schema, &found.table).1.has(missing)
        {
            return Err(found.guard.table_denied(missing, &found.schema, &found.table));
        }
        Err(found.guard.column_denied(missing, column, &found.table))
    }

    /// `*` names a column: without the privilege the whole table is refused.
    pub(crate) fn check_star(&self, slot: Slot, column: &str) -> SqlResult<()> {
        let Some(found) = self.guarded.partial.iter().find(|p| p.slot == slot) else { return Ok(()) };
        if found.whole.has(Privileges::SELECT)
            || found.guard.on_column(&found.schema, &found.table, column).has(Privileges::SELECT)
        {
            return Ok(());
        }
        Err(found.guard.table_denied(Privileges::SELECT, &found.schema, &found.table))
    }

    /// Rows of a slot are changed: the whole table needs it.
    pub(crate) fn check_target(&self, slot: Slot, wanted: Privileges) -> SqlResult<()> {
        let Some(found) = self.guarded.partial.iter().find(|p| p.slot == slot) else {
            return Ok(());
        };
        let (whole, columns) = found.guard.on_table(&found.schema, &found.table);
        let missing = wanted.without(whole | columns);
        if missing.is_empty() {
            return Ok(());
        }
        Err(found.guard.table_denied(missing, &found.schema, &found.table))
    }
}
