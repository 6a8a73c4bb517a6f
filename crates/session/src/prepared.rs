//! Prepared statements of one session: by number (COM_STMT_*) and by name (PREPARE).
//!
//! # Life
//! prepare: text kept, parameters counted, plan made if the statement has one -> execute, any number of times: the plan is
//! reused while the catalog and the session's settings that shape plans stay as they were, else made again -> close.
//! Bytes that came by COM_STMT_SEND_LONG_DATA live until the next execute or reset. What was wrong with them is the answer of every
//! execute until the reset.

use std::collections::HashMap;
use std::sync::Arc;

use client_error::ClientError;
use sql_plan::plan::Plan;
use wire::ParameterType;

use crate::results::StoredRows;

/// A statement that can run again and again.
#[derive(Debug)]
pub(crate) struct PreparedStatement {
    pub id: u32,
    pub text: Arc<[u8]>,
    /// The chosen database when it was prepared: it is that of its names whenever it runs.
    pub database: Arc<str>,
    pub params: u16,
    /// Where the parameters stand in the text, once that was asked.
    pub places: Option<Box<[usize]>>,
    /// The plan and what it was made under; None for statements that are routed anew each time.
    pub plan: Option<PreparedPlan>,
    /// Types of the last execute that sent some.
    pub types: Vec<ParameterType>,
    /// Long data by parameter; empty when none came.
    pub long_data: HashMap<u16, Vec<u8>>,
    /// Long data that could not be taken: COM_STMT_SEND_LONG_DATA has no reply to say so.
    pub long_data_error: Option<ClientError>,
    /// The client has these column definitions already.
    pub told_columns: bool,
    pub cursor: Option<StoredRows>,
}

/// A plan with the settings that shaped it.
#[derive(Debug)]
pub(crate) struct PreparedPlan {
    pub plan: Arc<Plan>,
    pub database: Arc<str>,
    pub generation: u64,
}

/// All of a session.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    by_id: HashMap<u32, PreparedStatement>,
    by_name: HashMap<String, PreparedStatement>,
    next_id: u32,
    /// The one executed last: most clients run one statement many times.
    last: Option<PreparedStatement>,
}

impl PreparedStatements {
    /// How many count against max_prepared_stmt_count.
    pub(crate) fn count(&self) -> usize {
        self.by_id.len() + self.by_name.len() + usize::from(self.last.is_some())
    }
    pub(crate) fn add(
        &mut self,
        text: &[u8],
        database: &Arc<str>,
        params: u16,
        plan: Option<PreparedPlan>,
    ) -> u32 {
        self.next_id += 1;
        let id = self.next_id;
        self.by_id.insert(id, PreparedStatement::new(id, text, database, params, plan));
        id
    }
    /// The number that an execute means by "the last prepared one".
    pub(crate) fn last_id(&self) -> u32 {
        self.next_id
    }
    /// Takes a statement out to run it; give it back with [`Self::put`].
    pub(crate) fn take(&mut self, id: u32) -> Option<PreparedStatement> {
        if self.last.as_ref().is_some_and(|s| s.id == id) {
            return self.last.take();
        }
        self.by_id.remove(&id)
    }
    pub(crate) fn put(&mut self, statement: PreparedStatement) {
        if let Some(before) = self.last.replace(statement) {
            self.by_id.insert(before.id, before);
        }
    }
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut PreparedStatement> {
        match &mut self.last {
            Some(s) if s.id == id => self.last.as_mut(),
            _ => self.by_id.get_mut(&id),
        }
    }
    /// True when there was one.
    pub(crate) fn close(&mut self, id: u32) -> bool {
        self.take(id).is_some()
    }
    pub(crate) fn set_named(&mut self, name: &str, statement: PreparedStatement) {
        self.by_name.insert(name.to_lowercase(), statement);
    }
    pub(crate) fn take_named(&mut self, name: &str) -> Option<PreparedStatement> {
        self.by_name.remove(&name.to_lowercase())
    }
    pub(crate) fn put_named(&mut self, name: &str, statement: PreparedStatement) {
        self.by_name.insert(name.to_lowercase(), statement);
    }
}

impl PreparedStatement {
    pub(crate) fn new(
        id: u32,
        text: &[u8],
        database: &Arc<str>,
        params: u16,
        plan: Option<PreparedPlan>,
    ) -> Self {
        Self {
            id,
            text: Arc::from(text),
            database: Arc::clone(database),
            params,
            places: None,
            plan,
            types: Vec::new(),
            long_data: HashMap::new(),
            long_data_error: None,
            told_columns: false,
            cursor: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_found_wherever_they_rest() {
        let mut all = PreparedStatements::default();
        let none = Arc::from("");
        let (a, b) = (all.add(b"SELECT 1", &none, 0, None), all.add(b"SELECT ?", &none, 1, None));
        for id in [a, b, a, a, b] {
            let s = all.take(id).unwrap();
            assert!(all.take(id).is_none(), "taken out");
            all.put(s);
            assert_eq!(all.get_mut(id).unwrap().id, id);
        }
        assert_eq!(all.count(), 2);
        assert!(all.close(b) && !all.close(b));
        assert_eq!(all.count(), 1);
        all.set_named("Stmt", PreparedStatement::new(0, b"DO 1", &none, 0, None));
        assert!(all.take_named("STMT").is_some());
    }
}
