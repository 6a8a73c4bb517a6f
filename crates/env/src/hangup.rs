//! Tells when the other end of a connection has gone, while its thread is busy with something else.
//!
//! One epoll instance for all connections, asked for hang-ups only: a connection that sends and receives costs nothing here,
//! and each hang-up is told once.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A set of watched connections, each with a number of the caller's.
#[derive(Debug)]
pub struct HangupWatcher {
    epoll: OwnedFd,
}

/// Hang-ups taken from the system at once.
const BATCH: usize = 64;

impl HangupWatcher {
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor is checked before it is owned.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just opened and nobody else has it.
        Ok(Self { epoll: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Watches `connection` until it is closed or it hangs up.
    pub fn add(&self, connection: &impl AsRawFd, number: u64) -> io::Result<()> {
        let events = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR | libc::EPOLLONESHOT) as u32;
        self.control(libc::EPOLL_CTL_ADD, connection, events, number)
    }

    fn control(
        &self,
        operation: libc::c_int,
        connection: &impl AsRawFd,
        events: u32,
        number: u64,
    ) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: number };
        // SAFETY: both descriptors are open for the call, and `event` is live.
        let outcome = unsafe {
            libc::epoll_ctl(self.epoll.as_raw_fd(), operation, connection.as_raw_fd(), &raw mut event)
        };
        if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits up to `timeout` and appends the numbers of connections that hung up.
    pub fn wait(&self, timeout: Duration, out: &mut Vec<u64>) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
        let millis = timeout.as_millis().min(i32::MAX as u128) as i32;
        // SAFETY: `events` is live and `BATCH` long.
        let n =
            unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), BATCH as i32, millis) };
        if n < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        out.extend(events[..n as usize].iter().map(|e| e.u64));
        Ok(())
    }
}

/// A set of silent connections: tells when one of them can be read, once for each [`ReadyWatcher::add`].
#[derive(Debug)]
pub struct ReadyWatcher(HangupWatcher);

impl ReadyWatcher {
    pub fn new() -> io::Result<Self> {
        HangupWatcher::new().map(Self)
    }
    /// Watches `connection` until it has bytes, ends or is closed.
    pub fn add(&self, connection: &impl AsRawFd, number: u64) -> io::Result<()> {
        let events = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLONESHOT) as u32;
        // One that was watched before is still listed, with nothing to watch for.
        match self.0.control(libc::EPOLL_CTL_MOD, connection, events, number) {
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => {
                self.0.control(libc::EPOLL_CTL_ADD, connection, events, number)
            }
            other => other,
        }
    }
    /// Waits up to `timeout` and appends the numbers of connections that can be read.
    pub fn wait(&self, timeout: Duration, out: &mut Vec<u64>) -> io::Result<()> {
        self.0.wait(timeout, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn bytes_are_told_once_for_each_watch() {
        let watcher = ReadyWatcher::new().unwrap();
        let (server, mut client) = UnixStream::pair().unwrap();
        let mut ready = Vec::new();
        watcher.add(&server, 9).unwrap();
        watcher.wait(Duration::ZERO, &mut ready).unwrap();
        assert!(ready.is_empty());
        client.write_all(b"x").unwrap();
        watcher.wait(Duration::from_secs(10), &mut ready).unwrap();
        watcher.wait(Duration::ZERO, &mut ready).unwrap();
        assert_eq!(ready, [9]);
        // What has not been read is told to the next watch at once.
        watcher.add(&server, 9).unwrap();
        watcher.wait(Duration::from_secs(10), &mut ready).unwrap();
        assert_eq!(ready, [9, 9]);
    }

    #[test]
    fn a_hang_up_is_told_once_and_traffic_is_not() {
        let watcher = HangupWatcher::new().unwrap();
        let (server, mut client) = UnixStream::pair().unwrap();
        watcher.add(&server, 7).unwrap();
        client.write_all(b"x").unwrap();
        let mut gone = Vec::new();
        watcher.wait(Duration::ZERO, &mut gone).unwrap();
        assert!(gone.is_empty());
        drop(client);
        watcher.wait(Duration::from_secs(10), &mut gone).unwrap();
        assert_eq!(gone, [7]);
        watcher.wait(Duration::ZERO, &mut gone).unwrap();
        assert_eq!(gone, [7]);
    }
}
