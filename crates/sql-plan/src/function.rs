//! The seam to scalar functions: a function is a static entry with a typing rule and an evaluator.

use types::{Context, Value, ValueError};

use crate::error::SqlResult;
use crate::meta::ExprType;

/// One scalar function of the registry.
#[derive(Debug)]
pub struct FunctionDef {
    pub name: &'static str,
    pub args: std::ops::RangeInclusive<usize>,
    /// False for RAND(), UUID() and the like: evaluated anew for each row.
    pub deterministic: bool,
    pub ty: fn(&[ExprType]) -> SqlResult<ExprType>,
    pub eval: fn(&[Value], &mut Context) -> Result<Value, ValueError>,
}

/// A reference to a registered function.
#[derive(Debug, Clone, Copy)]
pub struct Function(pub &'static FunctionDef);

impl Function {
    pub fn is_deterministic(self) -> bool {
        self.0.deterministic
    }
}
