//! Stored functions inside a running statement, and aggregate functions row by row.
//!
//! An aggregate function runs from its start to the FETCH GROUP NEXT ROW that wants a second row, and pauses there: its variables, open
//! blocks and cursors are kept with the group (`sql_exec::RoutineState`). The next row becomes its parameters and it goes on. When the
//! group has ended, that FETCH raises NOT FOUND. A function that returns before its group has ended begins anew with the next row, and
//! the group's value is that of the last RETURN.

use std::any::Any;
use std::sync::Arc;

use catalog::program::RoutineDef;
use client_error::{ClientError, program as error};
use sql_exec::{Inside, RoutineState, Suspended};
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::expr::RoutineCall;
use types::Value;

use super::build;
use super::call::identity;
use super::code::{Program, Variable};
use super::nested_host::NestedHost;
use super::run::{self, End, GroupRow, Host, Paused, Raised};
use crate::scope::SessionScope;

fn other(e: ClientError) -> SqlError {
    SqlError::Other { errno: e.errno, state: e.state, text: e.text.into_owned() }
}

/// The value of a stored function, and its variables, parameters first.
pub(crate) fn call_function(
    scope: &mut SessionScope<'_>,
    call: &RoutineCall,
    args: Vec<Value>,
    inside: Inside<'_>,
) -> SqlResult<(Value, Vec<Value>)> {
    let def = &call.def;
    let program = admitted(scope, def, &inside)?;
    let mut variables = vec![Value::Null; program.variables.len()];
    for (i, arg) in args.into_iter().enumerate() {
        if def.params[i].mode != catalog::program::ParamMode::Out {
            let variable = &program.variables[i].def;
            variables[i] = sql_exec::store_variable(variable, arg, inside.values, inside.warnings)?;
        }
    }
    let name = def.full_name();
    as_definer(scope, def, inside, variables, |host| match run::run(host, &program)? {
        Some(value) => returned(host, def, value),
        None => Err(Raised::from(error::no_return_end(&name))),
    })
}

/// An aggregate function in the middle of its group.
#[derive(Debug, Clone, Default)]
struct Group {
    /// Where it goes on, with its variables; nothing when it has returned.
    paused: Option<(Paused, Vec<Value>)>,
    value: Value,
}

impl Suspended for Group {
    fn copy(&self) -> Box<dyn Suspended> {
        Box::new(self.clone())
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Gives an aggregate function a row of its group, or tells it that there are no more; the value that it has returned so far.
pub(crate) fn feed_function(
    scope: &mut SessionScope<'_>,
    def: &Arc<RoutineDef>,
    row: Option<Vec<Value>>,
    state: &mut RoutineState,
    inside: Inside<'_>,
) -> SqlResult<Value> {
    let kept = state.0.take().and_then(|kept| kept.into_any().downcast::<Group>().ok());
    let mut group = kept.map_or_else(Group::default, |kept| *kept);
    let next = if row.is_some() { GroupRow::New } else { GroupRow::None };
    let (paused, mut variables) = match group.paused.take() {
        Some((paused, variables)) => (Some(paused), variables),
        None if row.is_none() && scope.programs.running(identity(def)) > 0 => {
            return Err(other(error::recursion_inside()));
        }
        None if row.is_none() => return Ok(group.value),
        None => (None, Vec::new()),
    };
    let program = admitted(scope, def, &inside)?;
    variables.resize(program.variables.len(), Value::Null);
    for (i, arg) in row.into_iter().flatten().enumerate() {
        let variable = &program.variables[i].def;
        variables[i] = sql_exec::store_variable(variable, arg, inside.values, inside.warnings)?;
    }
    let (end, variables) = as_definer(scope, def, inside, variables, |host| {
        match run::run_group(host, &program, paused, next)? {
            End::Returned(value) => returned(host, def, value).map(End::Returned),
            End::Fell => Err(Raised::from(error::no_return_end(&def.name))),
            paused @ End::Paused(_) => Ok(paused),
        }
    })?;
    match end {
        End::Paused(paused) => group.paused = Some((paused, variables)),
        End::Returned(value) => group.value = value,
        End::Fell => {}
    }
    let value = group.value.clone();
    state.0 = Some(Box::new(group));
    Ok(value)
}

/// The compiled function, if the caller may run it and it does not run already.
fn admitted(
    scope: &mut SessionScope<'_>,
    def: &Arc<RoutineDef>,
    inside: &Inside<'_>,
) -> SqlResult<Arc<Program>> {
    if scope.programs.running(identity(def)) > 0 {
        return Err(other(error::recursion_inside()));
    }
    crate::rights::need_execute(scope.rights(), &def.schema, &def.name).map_err(other)?;
    build::for_scope(scope, def, inside.values).map_err(other)
}

/// Runs `body` with a function's variables, in its database and mode, with its definer's privileges unless it says otherwise.
fn as_definer<'s, 'a, T>(
    scope: &'s mut SessionScope<'a>,
    def: &Arc<RoutineDef>,
    inside: Inside<'s>,
    variables: Vec<Value>,
    body: impl FnOnce(&mut NestedHost<'_, 'a>) -> Result<T, Raised>,
) -> SqlResult<(T, Vec<Value>)> {
    let caller = if def.invoker { None } else { Some(scope.work_as(&def.context.definer)?) };
    // The definer must be allowed to run it, too.
    let admitted = crate::rights::need_execute(scope.rights(), &def.schema, &def.name)
        .and_then(|()| scope.programs.push(identity(def)));
    if let Err(e) = admitted {
        caller.into_iter().for_each(|c| scope.work_again_as(c));
        return Err(other(e));
    }
    let mut host = NestedHost::enter(&mut *scope, inside, variables, &def.schema, &def.context);
    let outcome = body(&mut host);
    let outcome = host.leave_with(outcome);
    scope.programs.pop();
    caller.into_iter().for_each(|c| scope.work_again_as(c));
    outcome
}

/// A value as the function's type has it.
fn returned(host: &mut NestedHost<'_, '_>, def: &RoutineDef, value: Value) -> Result<Value, Raised> {
    match &def.returns {
        Some(column) => host.convert(&Variable { def: column.clone() }, value),
        None => Ok(value),
    }
}
