//! GET_LOCK and its kin: locks by a name of the user's choice, held until they are released or the session ends.
//!
//! A user lock is a metadata lock in a name space of its own, so a cycle through user locks and tables is found like any other.
//! Taken twice it must be released twice. Names compare by bytes.

use std::sync::Arc;
use std::time::Duration;

use catalog::mdl::{MdlError, MdlHandle, MdlLock, MdlMode};
use charset::Collation;
use sql_plan::error::{SqlError, SqlResult, Warnings};
use sql_plan::expr::SessionValue;
use sql_plan::ops;
use types::{Context, Value};

/// No schema has this name.
const NAME_SPACE: &str = "\0user";
/// Longest name, in characters.
const NAME_MAX: usize = 192;
/// A longer wait than a year is this one.
const WAIT_MAX: f64 = 31_536_000.0;

/// The user locks of a session.
#[derive(Debug)]
pub(crate) struct UserLocks {
    handle: MdlHandle,
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    name: String,
    lock: Arc<MdlLock>,
    times: u64,
}

impl UserLocks {
    pub(crate) fn new(handle: MdlHandle) -> Self {
        Self { handle, held: Vec::new() }
    }

    /// The value of one of the functions.
    pub(crate) fn call(
        &mut self,
        which: SessionValue,
        args: &[Value],
        warnings: &mut Warnings,
    ) -> SqlResult<Value> {
        if which == SessionValue::ReleaseAllLocks {
            return Ok(Value::UInt(self.release_all()));
        }
        let Some(name) = name_of(&args[0])? else { return Ok(Value::Null) };
        match which {
            SessionValue::GetLock => self.get(name, &args[1], warnings),
            SessionValue::ReleaseLock => Ok(self.release(&name)),
            SessionValue::IsFreeLock => Ok(Value::bool(self.owner(&name).is_none())),
            _ => Ok(self.owner(&name).map_or(Value::Null, |id| Value::Int(id as i64))),
        }
    }

    fn get(&mut self, name: String, timeout: &Value, warnings: &mut Warnings) -> SqlResult<Value> {
        let seconds = if timeout.is_null() { -1.0 } else { crate::text::as_f64(timeout) };
        if seconds < 0.0 {
            let shown = if timeout.is_null() { "NULL".into() } else { crate::text::to_string(timeout) };
            warnings.warn(SqlError::Other {
                errno: 1411,
                state: *b"HY000",
                text: format!("Incorrect timeout value: '{shown}' for function get_lock"),
            });
            return Ok(Value::Null);
        }
        if let Some(held) = self.held.iter_mut().find(|h| h.name == name) {
            held.times += 1;
            return Ok(Value::Int(1));
        }
        let lock = self.handle.locks().of(NAME_SPACE, &name);
        let timeout = Duration::from_secs_f64(seconds.min(WAIT_MAX));
        match self.handle.lock_explicit(&lock, MdlMode::Exclusive, timeout) {
            Ok(()) => {
                self.held.push(Held { name, lock, times: 1 });
                Ok(Value::Int(1))
            }
            Err(MdlError::Timeout) => Ok(Value::Int(0)),
            Err(MdlError::Interrupted) => Err(SqlError::Interrupted),
            // The transaction goes on: its own locks are not part of what is undone.
            Err(MdlError::Deadlock) => Err(SqlError::Other {
                errno: 1213,
                state: *b"40001",
                text: "Deadlock found when trying to get lock; try restarting transaction".into(),
            }),
        }
    }

    fn release(&mut self, name: &str) -> Value {
        let Some(at) = self.held.iter().position(|h| h.name == name) else {
            return if self.owner(name).is_some() { Value::Int(0) } else { Value::Null };
        };
        self.held[at].times -= 1;
        if self.held[at].times == 0 {
            let held = self.held.remove(at);
            self.handle.release_explicit(&held.lock);
        }
        Value::Int(1)
    }

    /// Gives everything back; how many times locks had been taken.
    pub(crate) fn release_all(&mut self) -> u64 {
        let mut times = 0;
        for held in self.held.drain(..) {
            times += held.times;
            self.handle.release_explicit(&held.lock);
        }
        times
    }

    /// The connection that has the lock.
    fn owner(&self, name: &str) -> Option<u64> {
        let locks = self.handle.locks();
        locks.owner_of(&locks.of(NAME_SPACE, name))
    }
}

/// A lock's name; `None` when it is NULL or empty.
fn name_of(value: &Value) -> SqlResult<Option<String>> {
    if value.is_null() {
        return Ok(None);
    }
    let text = ops::to_text(value, Collation::UTF8MB4_BIN, &Context::default()).to_utf8_lossy();
    if text.chars().count() > NAME_MAX {
        return Err(SqlError::IdentifierTooLong(text.to_string()));
    }
    Ok(Some(text.to_string()).filter(|t| !t.is_empty()))
}
