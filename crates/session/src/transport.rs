//! The bytes of one connection: a socket in production, a pair of queues in tests.

use std::io::{self, Read, Write};
use std::time::Duration;

use env::net::Stream;

/// A blocking byte stream. Called by the connection's own thread only, except [`Transport::stop_reading`].
pub trait Transport: Send + Sync {
    /// At least one byte, or 0 at the end of the stream; `WouldBlock` or `TimedOut` when the read timeout passed.
    fn read(&self, buf: &mut [u8]) -> io::Result<usize>;
    fn write_all(&self, bytes: &[u8]) -> io::Result<()>;
    /// Writes what goes without a wait for the peer; how much that was, 0 where it cannot be known.
    fn write_now(&self, _: &[u8]) -> io::Result<usize> {
        Ok(0)
    }
    fn set_read_timeout(&self, timeout: Duration) -> io::Result<()>;
    fn set_write_timeout(&self, timeout: Duration) -> io::Result<()>;
    /// Ends reading: the blocked and every later read returns 0. What is written still goes out.
    fn stop_reading(&self);
    /// The socket below, if there is one.
    fn socket(&self) -> Option<&Stream> {
        None
    }
    /// From now on each packet is sent by itself, where that makes a difference.
    fn packets_one_by_one(&self) {}
}

impl Transport for Stream {
    fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut stream = self;
            match Read::read(&mut stream, buf) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self;
        Write::write_all(&mut stream, bytes)
    }
    fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send_now(bytes)
    }
    fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        Self::set_read_timeout(self, Some(timeout.max(Duration::from_millis(1))))
    }
    fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        Self::set_write_timeout(self, Some(timeout.max(Duration::from_millis(1))))
    }
    fn socket(&self) -> Option<&Stream> {
        Some(self)
    }
    fn stop_reading(&self) {
        // The peer may have closed it already.
        let _ = self.shutdown_read();
    }
}

/// Where answers go that nobody reads.
pub(crate) struct Nowhere;

impl Transport for Nowhere {
    fn read(&self, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }
    fn write_all(&self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn set_read_timeout(&self, _: Duration) -> io::Result<()> {
        Ok(())
    }
    fn set_write_timeout(&self, _: Duration) -> io::Result<()> {
        Ok(())
    }
    fn stop_reading(&self) {}
}

#[cfg(test)]
pub(crate) mod memory {
    //! A connection without sockets.

    use super::*;
    use std::collections::VecDeque;
    use std::sync::{Condvar, Mutex};

    #[derive(Debug, Default)]
    struct Pipe {
        state: Mutex<(VecDeque<u8>, bool)>,
        changed: Condvar,
    }

    impl Pipe {
        fn read(&self, buf: &mut [u8]) -> usize {
            let mut state = self.state.lock().unwrap();
            while state.0.is_empty() && !state.1 {
                state = self.changed.wait(state).unwrap();
            }
            let n = buf.len().min(state.0.len());
            buf.iter_mut().zip(state.0.drain(..n)).for_each(|(to, from)| *to = from);
            n
        }
        fn write(&self, bytes: &[u8]) -> io::Result<()> {
            let mut state = self.state.lock().unwrap();
            if state.1 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            state.0.extend(bytes);
            self.changed.notify_all();
            Ok(())
        }
        fn close(&self) {
            self.state.lock().unwrap().1 = true;
            self.changed.notify_all();
        }
    }

    /// One end of a connection.
    #[derive(Debug, Clone)]
    pub(crate) struct End {
        incoming: std::sync::Arc<Pipe>,
        outgoing: std::sync::Arc<Pipe>,
    }

    /// Both ends.
    pub(crate) fn pair() -> (End, End) {
        let (a, b) = (std::sync::Arc::<Pipe>::default(), std::sync::Arc::<Pipe>::default());
        (End { incoming: a.clone(), outgoing: b.clone() }, End { incoming: b, outgoing: a })
    }

    impl End {
        pub(crate) fn hang_up(&self) {
            self.incoming.close();
            self.outgoing.close();
        }
    }

    impl Transport for End {
        fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
            Ok(self.incoming.read(buf))
        }
        fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
            self.outgoing.write(bytes)
        }
        fn set_read_timeout(&self, _: Duration) -> io::Result<()> {
            Ok(())
        }
        fn set_write_timeout(&self, _: Duration) -> io::Result<()> {
            Ok(())
        }
        fn stop_reading(&self) {
            self.incoming.close();
        }
    }
}
