//! Events: statements that run by the clock.
//!
//! | module | what |
//! | --- | --- |
//! | `define` | CREATE, ALTER, DROP EVENT |
//! | `schedule` | when an event is due next; how its interval is shown: pure |
//! | `scheduler` | the thread that waits for them, `event_scheduler` |
//! | `worker` | one execution |
//!
//! # What lasts
//! A definition is one row of the dictionary, with the time of its last execution. An execution first writes that time (or drops an
//! event that is over), then runs the body: a crash in between loses an execution, it never runs one twice.

mod define;
mod schedule;
mod scheduler;
mod worker;

pub(crate) use define::define;
pub(crate) use schedule::{local_time, show_create};
pub(crate) use scheduler::{Scheduler, serve};
