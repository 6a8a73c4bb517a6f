//! Names of a stored program: which variables, cursors, conditions and labels a place in its text sees.
//!
//! Scopes are a chain from the innermost block outwards. They are kept beyond compiling: a statement that is planned again looks its
//! variables up in the scope it stands in.

use std::sync::Arc;

use catalog::same_name;
use sql_plan::meta::ExprType;
use sql_plan::{Local, Locals};

use super::code::{Matches, Slot};

/// A variable by name.
#[derive(Debug, Clone)]
pub(crate) enum Named {
    Scalar { slot: Slot, ty: ExprType },
    Row(Vec<(String, Slot, ExprType)>),
}

/// The names of one block and those around it.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub outer: Option<Arc<Names>>,
    pub variables: Vec<(String, Named)>,
    pub conditions: Vec<(String, Matches)>,
    pub cursors: Vec<(String, usize)>,
}

impl Names {
    fn chain(&self) -> impl Iterator<Item = &Names> {
        std::iter::successors(Some(self), |n| n.outer.as_deref())
    }
    pub(crate) fn variable(&self, name: &str) -> Option<&Named> {
        self.chain().find_map(|n| n.variables.iter().rev().find(|(v, _)| same_name(v, name)).map(|(_, v)| v))
    }
    pub(crate) fn condition(&self, name: &str) -> Option<&Matches> {
        self.chain().find_map(|n| n.conditions.iter().find(|(c, _)| same_name(c, name)).map(|(_, m)| m))
    }
    pub(crate) fn cursor(&self, name: &str) -> Option<usize> {
        self.chain().find_map(|n| n.cursors.iter().find(|(c, _)| same_name(c, name)).map(|(_, i)| *i))
    }
    /// A field of a row variable.
    pub(crate) fn field(&self, row: &str, name: &str) -> Option<(Slot, ExprType)> {
        match self.variable(row)? {
            Named::Row(fields) => {
                fields.iter().find(|(f, _, _)| same_name(f, name)).map(|(_, slot, ty)| (*slot, *ty))
            }
            Named::Scalar { .. } => None,
        }
    }
}

impl Locals for Names {
    fn find(&self, row: Option<&str>, name: &str) -> Option<Local> {
        let (index, ty) = match row {
            Some(row) => self.field(row, name)?,
            None => match self.variable(name)? {
                Named::Scalar { slot, ty } => (*slot, *ty),
                Named::Row(_) => return None,
            },
        };
        Some(Local { index, ty })
    }
    fn row(&self, name: &str) -> Option<Vec<Local>> {
        match self.variable(name)? {
            Named::Row(fields) => {
                Some(fields.iter().map(|(_, slot, ty)| Local { index: *slot, ty: *ty }).collect())
            }
            Named::Scalar { .. } => None,
        }
    }
}
