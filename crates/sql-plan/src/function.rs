//! The seam to scalar functions: a function is a static entry with a typing rule and an evaluator.

use std::ops::RangeInclusive;

use types::{Context, Value, ValueError};

use crate::error::SqlResult;
use crate::meta::ExprType;
use crate::planner::PlanContext;

/// One scalar function of the registry.
#[derive(Debug)]
pub struct FunctionDef {
    pub name: &'static str,
    pub args: RangeInclusive<usize>,
    /// False for RAND(), UUID() and the like: evaluated anew for each row.
    pub deterministic: bool,
    pub ty: fn(&[ExprType]) -> ExprType,
    pub eval: fn(&[Value], &mut Context) -> Result<Value, ValueError>,
}

/// A reference to a registered function.
#[derive(Debug, Clone, Copy)]
pub struct Function(pub &'static FunctionDef);

impl Function {
    pub fn is_deterministic(self) -> bool {
        self.0.deterministic
    }
    pub fn accepts(self, args: usize) -> bool {
        self.0.args.contains(&args)
    }
    pub(crate) fn result_type(self, args: &[ExprType], _cx: &PlanContext<'_>) -> SqlResult<ExprType> {
        Ok((self.0.ty)(args))
    }
}

/// Functions that need nothing but their arguments and are needed before the function library.
static BUILT_IN: &[FunctionDef] = &[];

/// Finds a function by its lower case name.
pub fn find(name: &str) -> Option<Function> {
    BUILT_IN.iter().find(|f| f.name == name).map(Function)
}
