//! Where values are kept: the server's, copied on write, and a session's differences to what they were when it began.

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use super::{Setting, VARIABLES, Var};

/// The server's values.
#[derive(Debug)]
pub struct GlobalVariables {
    values: ArcSwap<Box<[Setting]>>,
    /// One change at a time: held from reading a generation to publishing the next.
    change: Mutex<()>,
}

impl GlobalVariables {
    /// The defaults of the table.
    pub fn new() -> Self {
        let values = VARIABLES
            .iter()
            .map(|v| {
                Setting::parse_default(v).unwrap_or_else(|| panic!("default of {} does not fit", v.name))
            })
            .collect();
        Self { values: ArcSwap::from_pointee(values), change: Mutex::new(()) }
    }

    pub fn get(&self, var: Var) -> Setting {
        self.values.load()[usize::from(var.keeper().0)].clone()
    }
    pub fn u64(&self, var: Var) -> u64 {
        self.values.load()[usize::from(var.keeper().0)].as_u64()
    }
    pub fn set(&self, var: Var, value: Setting) {
        let _one = self.change.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut next = self.values.load().as_ref().clone();
        next[usize::from(var.keeper().0)] = value;
        self.values.store(Arc::new(next));
    }
    /// What a new session starts from.
    pub fn snapshot(&self) -> Arc<Box<[Setting]>> {
        self.values.load_full()
    }
}

impl Default for GlobalVariables {
    fn default() -> Self {
        Self::new()
    }
}

/// A session's values.
#[derive(Debug)]
pub struct SessionVariables {
    base: Arc<Box<[Setting]>>,
    /// What the session has set, sorted by variable.
    own: Vec<(Var, Setting)>,
}

impl SessionVariables {
    pub fn new(global: &GlobalVariables) -> Self {
        Self { base: global.snapshot(), own: Vec::new() }
    }
    pub fn get(&self, var: Var) -> &Setting {
        let var = var.keeper();
        match self.own.binary_search_by_key(&var, |(v, _)| *v) {
            Ok(at) => &self.own[at].1,
            Err(_) => &self.base[usize::from(var.0)],
        }
    }
    pub fn set(&mut self, var: Var, value: Setting) {
        let var = var.keeper();
        match self.own.binary_search_by_key(&var, |(v, _)| *v) {
            Ok(at) => self.own[at].1 = value,
            Err(at) => self.own.insert(at, (var, value)),
        }
    }
    pub fn u64(&self, var: Var) -> u64 {
        self.get(var).as_u64()
    }
    pub fn bool(&self, var: Var) -> bool {
        self.get(var).as_bool()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_the_globals_it_began_with() {
        let global = GlobalVariables::new();
        let mut session = SessionVariables::new(&global);
        global.set(Var::WAIT_TIMEOUT, Setting::UInt(5));
        assert_eq!(session.u64(Var::WAIT_TIMEOUT), 28800);
        session.set(Var::WAIT_TIMEOUT, Setting::UInt(7));
        assert_eq!(global.u64(Var::WAIT_TIMEOUT), 5);
        assert_eq!(session.u64(Var::WAIT_TIMEOUT), 7);
        assert_eq!(SessionVariables::new(&global).u64(Var::WAIT_TIMEOUT), 5);
    }

    #[test]
    fn two_names_of_one_variable_share_the_value() {
        let global = GlobalVariables::new();
        let mut session = SessionVariables::new(&global);
        session.set(Var::TX_ISOLATION, Setting::Enum(1));
        assert_eq!(session.get(Var::TRANSACTION_ISOLATION), &Setting::Enum(1));
    }
}
