//! Termination signals as an ordinary wait: no code runs inside a signal handler.

use std::io;
use std::mem::MaybeUninit;

/// Why the process is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Termination {
    /// SIGTERM
    Terminate,
    /// SIGINT: Control-C.
    Interrupt,
}

fn termination_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set, `sigaddset` changes an initialised one.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
        set.assume_init()
    }
}

/// Keeps termination signals for [`wait_termination`]. Call it in the main thread before any other thread starts: threads inherit it.
pub fn hold_termination() -> io::Result<()> {
    let set = termination_set();
    // SAFETY: `set` is live; the old mask is not asked for.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Waits for a termination signal.
pub fn wait_termination() -> io::Result<Termination> {
    let set = termination_set();
    let mut signal = 0;
    // SAFETY: both pointers are live.
    match unsafe { libc::sigwait(&raw const set, &raw mut signal) } {
        0 if signal == libc::SIGINT => Ok(Termination::Interrupt),
        0 => Ok(Termination::Terminate),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}
