//! Session state that OK packets carry: changed variables and the default database (`session_track_*`).

use wire::{SessionChange, Status};

/// Changes since the last OK packet.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    /// Names in `session_track_system_variables`; `*` is all.
    variables: Vec<String>,
    all_variables: bool,
    pub schema: bool,
    pub state_change: bool,
    changed_variables: Vec<&'static str>,
    schema_changed: bool,
    any_change: bool,
}

impl Tracker {
    /// From the text of `session_track_system_variables`.
    pub(crate) fn set_variables(&mut self, list: &str) {
        self.variables =
            list.split(',').map(|n| n.trim().to_ascii_lowercase()).filter(|n| !n.is_empty()).collect();
        self.all_variables = self.variables.iter().any(|n| n == "*");
    }
    /// Names that are tracked, for the first OK of a connection.
    pub(crate) fn tracked(&self) -> &[String] {
        &self.variables
    }
    pub(crate) fn variable_changed(&mut self, name: &'static str) {
        self.any_change |= self.state_change;
        let tracked = self.all_variables || self.variables.iter().any(|n| n == name);
        if tracked && !self.changed_variables.contains(&name) {
            self.changed_variables.push(name);
        }
    }
    pub(crate) fn schema_changed(&mut self) {
        self.any_change |= self.state_change;
        self.schema_changed |= self.schema;
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.changed_variables.is_empty() && !self.schema_changed && !self.any_change
    }

    /// Encodes the changes and forgets them. `value` gives a variable's text.
    pub(crate) fn take<'v>(
        &mut self,
        out: &mut Vec<u8>,
        value: impl Fn(&str) -> std::borrow::Cow<'v, str>,
        schema: &str,
    ) {
        for name in self.changed_variables.drain(..) {
            SessionChange::Variable { name: name.as_bytes(), value: value(name).as_bytes() }.encode(out);
        }
        if std::mem::take(&mut self.schema_changed) {
            SessionChange::Schema(schema.as_bytes()).encode(out);
        }
        if std::mem::take(&mut self.any_change) {
            SessionChange::StateChanged.encode(out);
        }
    }
    pub(crate) fn forget(&mut self) {
        self.changed_variables.clear();
        self.schema_changed = false;
        self.any_change = false;
    }
}

/// The flags of [`Status`] that a session derives from its state.
pub(crate) fn status(
    autocommit: bool,
    in_transaction: bool,
    read_only: bool,
    no_backslash_escapes: bool,
) -> Status {
    Status::default()
        .set(Status::AUTOCOMMIT, autocommit)
        .set(Status::IN_TRANS, in_transaction)
        .set(Status::IN_TRANS_READONLY, in_transaction && read_only)
        .set(Status::NO_BACKSLASH_ESCAPES, no_backslash_escapes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Reader;

    #[test]
    fn only_tracked_changes_are_told_and_only_once() {
        let mut t = Tracker { schema: true, ..Tracker::default() };
        t.set_variables("autocommit, time_zone");
        t.variable_changed("autocommit");
        t.variable_changed("autocommit");
        t.variable_changed("sql_mode");
        t.schema_changed();
        let mut out = Vec::new();
        t.take(&mut out, |_| "OFF".into(), "test");
        assert!(t.is_empty());
        let mut r = Reader::new(&out);
        let first = SessionChange::decode(&mut r).unwrap();
        assert_eq!(first, Some(SessionChange::Variable { name: b"autocommit", value: b"OFF" }));
        assert_eq!(SessionChange::decode(&mut r), Ok(Some(SessionChange::Schema(b"test"))));
        assert!(r.is_empty());
    }
}
