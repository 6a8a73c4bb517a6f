//! Listeners and byte streams over TCP and Unix sockets: thin wrappers, so that the rooms above name no `std::net`.

use std::io::{self, IoSlice, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A bound socket that gives out [`Stream`]s.
#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener),
    Unix { listener: UnixListener, path: PathBuf },
}

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Tcp(SocketAddr),
    Unix,
}

/// One connection.
#[derive(Debug)]
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Listener {
    /// On 127.0.0.1 alone.
    pub fn loopback(port: u16) -> io::Result<Self> {
        Self::tcp(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), port)
    }
    /// Port 0 lets the system choose; see [`Listener::port`].
    pub fn tcp(address: IpAddr, port: u16) -> io::Result<Self> {
        TcpListener::bind(SocketAddr::new(address, port)).map(Self::Tcp)
    }

    /// Binds a socket file; one that nobody listens on any more is replaced, a live one is an error.
    pub fn unix(path: &Path) -> io::Result<Self> {
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                if UnixStream::connect(path).is_ok() {
                    return Err(error);
                }
                std::fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            other => other?,
        };
        Ok(Self::Unix { listener, path: path.to_owned() })
    }

    /// The bound TCP port; `None` for a Unix socket.
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok().map(|a| a.port()),
            Self::Unix { .. } => None,
        }
    }

    /// Waits for the next connection. TCP streams come without Nagle's delay.
    pub fn accept(&self) -> io::Result<(Stream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok((Stream::Tcp(stream), Peer::Tcp(address)))
            }
            Self::Unix { listener, .. } => Ok((Stream::Unix(listener.accept()?.0), Peer::Unix)),
        }
    }

    /// As [`Listener::accept`], `None` when nobody came within `timeout`.
    pub fn accept_within(&self, timeout: Duration) -> io::Result<Option<(Stream, Peer)>> {
        if readable(self.as_raw_fd(), timeout)? { self.accept().map(Some) } else { Ok(None) }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix { path, .. } = self {
            // The file is only a name by now; the next start replaces it if this fails.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Tcp(listener) => listener.as_raw_fd(),
            Self::Unix { listener, .. } => listener.as_raw_fd(),
        }
    }
}

impl Stream {
    /// The system user at the other end of a Unix socket; `None` for TCP.
    pub fn peer_uid(&self) -> Option<u32> {
        let Self::Unix(socket) = self else { return None };
        let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: the pointers are to a live value and its own size, which the call does not exceed.
        let outcome = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut found).cast(),
                &raw mut len,
            )
        };
        (outcome == 0).then_some(found.uid)
    }

    /// Has the system probe an idle peer: after `time` seconds, every `interval`, `probes` times; 0 leaves the system's own figure.
    pub fn keep_alive(&self, time: u32, interval: u32, probes: u32) -> io::Result<()> {
        let Self::Tcp(socket) = self else { return Ok(()) };
        let set = |level, option, value: libc::c_int| {
            // SAFETY: the pointer is to a live value and its own size.
            let outcome = unsafe {
                libc::setsockopt(
                    socket.as_raw_fd(),
                    level,
                    option,
                    (&raw const value).cast(),
                    size_of::<libc::c_int>() as libc::socklen_t,
                )
            };
            if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
        for (option, value) in
            [(libc::TCP_KEEPIDLE, time), (libc::TCP_KEEPINTVL, interval), (libc::TCP_KEEPCNT, probes)]
        {
            if value != 0 {
                set(libc::IPPROTO_TCP, option, value as libc::c_int)?;
            }
        }
        Ok(())
    }

    pub fn connect_tcp(address: SocketAddr, timeout: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Resolves `host` and connects to the first address that answers.
    pub fn connect_host(host: &str, port: u16, timeout: Duration) -> io::Result<Self> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, format!("host '{host}' has no address"));
        for address in std::net::ToSocketAddrs::to_socket_addrs(&(host, port))? {
            match Self::connect_tcp(address, timeout) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    pub fn connect_unix(path: &Path) -> io::Result<Self> {
        UnixStream::connect(path).map(Self::Unix)
    }

    /// A second handle of the same connection.
    pub fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(s) => s.try_clone().map(Self::Tcp),
            Self::Unix(s) => s.try_clone().map(Self::Unix),
        }
    }

    /// Ends both directions; blocked readers and writers of every handle return.
    pub fn shutdown(&self) -> io::Result<()> {
        match self {
            Self::Tcp(s) => s.shutdown(Shutdown::Both),
            Self::Unix(s) => s.shutdown(Shutdown::Both),
        }
    }

    /// Ends reading only: blocked and later reads see the end of the stream, what is written still goes out.
    pub fn shutdown_read(&self) -> io::Result<()> {
        match self {
            Self::Tcp(s) => s.shutdown(Shutdown::Read),
            Self::Unix(s) => s.shutdown(Shutdown::Read),
        }
    }

    /// Sends as much of `bytes` as the system takes without a wait, perhaps nothing; how much that was.
    pub fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
            // SAFETY: the pointer and the length are those of a live slice, which is read only.
            let sent = unsafe { libc::send(self.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
            if sent >= 0 {
                return Ok(sent as usize);
            }
            match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                error => return Err(error),
            }
        }
    }

    /// `None` waits for ever. A read that ran out gives `WouldBlock`.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(s) => s.set_read_timeout(timeout),
            Self::Unix(s) => s.set_read_timeout(timeout),
        }
    }

    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(s) => s.set_write_timeout(timeout),
            Self::Unix(s) => s.set_write_timeout(timeout),
        }
    }

    /// Whether a read would return now (bytes or end of stream) or within `timeout`.
    pub fn readable_within(&self, timeout: Duration) -> io::Result<bool> {
        readable(self.as_raw_fd(), timeout)
    }

    /// Looks without sleep whether a read would return, for `limit` and as long as `go_on` says so.
    pub fn readable_soon(&self, limit: Duration, go_on: impl Fn() -> bool) -> bool {
        let begin = std::time::Instant::now();
        loop {
            // An error is the read's to report.
            if readable(self.as_raw_fd(), Duration::ZERO).unwrap_or(true) {
                return true;
            }
            if begin.elapsed() >= limit || !go_on() {
                return false;
            }
            std::hint::spin_loop();
        }
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Tcp(s) => s.as_raw_fd(),
            Self::Unix(s) => s.as_raw_fd(),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(s) => (&mut &*s).read(buf),
            Stream::Unix(s) => (&mut &*s).read(buf),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(s) => (&mut &*s).write(buf),
            Stream::Unix(s) => (&mut &*s).write(buf),
        }
    }
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Tcp(s) => (&mut &*s).write_vectored(bufs),
            Stream::Unix(s) => (&mut &*s).write_vectored(bufs),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&mut &*self).read(buf)
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&mut &*self).write(buf)
    }
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (&mut &*self).write_vectored(bufs)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits until `fd` can be read or accepted from.
fn readable(fd: RawFd, timeout: Duration) -> io::Result<bool> {
    let millis = timeout.as_millis().min(i32::MAX as u128) as i32;
    let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: `entry` is one live pollfd.
    match unsafe { libc::poll(&raw mut entry, 1, millis) } {
        0 => Ok(false),
        n if n > 0 => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn tcp_carries_bytes_both_ways() {
        let listener = Listener::tcp(IpAddr::V4(Ipv4Addr::LOCALHOST), 0).unwrap();
        assert!(listener.accept_within(Duration::ZERO).unwrap().is_none());
        let port = listener.port().unwrap();
        let mut client = Stream::connect_host("127.0.0.1", port, Duration::from_secs(5)).unwrap();
        let (mut server, peer) = listener.accept_within(Duration::from_secs(5)).unwrap().unwrap();
        assert!(matches!(peer, Peer::Tcp(_)));
        client.write_all(b"ping").unwrap();
        let mut buf = [0; 4];
        server.read_exact(&mut buf).unwrap();
        assert_eq!(&buf, b"ping");
        server.shutdown().unwrap();
        assert_eq!(client.read(&mut buf).unwrap(), 0);
    }

    #[test]
    fn a_dead_unix_socket_is_replaced_and_a_live_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let listener = Listener::unix(&path).unwrap();
        assert_eq!(Listener::unix(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let mut client = Stream::connect_unix(&path).unwrap();
        // The first connection in the queue is the probe above, already closed.
        let _probe = listener.accept().unwrap();
        let (server, peer) = listener.accept().unwrap();
        assert_eq!(peer, Peer::Unix);
        client.write_all(b"x").unwrap();
        assert!(server.readable_within(Duration::from_secs(5)).unwrap());
        drop(listener);
        assert!(!path.exists());
    }
}
