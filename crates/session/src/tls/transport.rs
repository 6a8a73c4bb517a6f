//! A connection's bytes behind TLS.
//!
//! # Locking order
//! `writing`, then `state`. `state` is never held while the socket blocks, so a dump may send while another thread waits for
//! acknowledgements.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection};

use crate::transport::Transport;

/// Bytes taken from the socket at once, and packed into records at once.
const PIECE: usize = 16 * 1024;

struct State {
    tls: ServerConnection,
    /// Came from the socket and is not with `tls` yet.
    raw: Vec<u8>,
}

pub(crate) struct TlsTransport {
    inner: Arc<dyn Transport>,
    writing: Mutex<()>,
    state: Mutex<State>,
}

fn bad(e: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, e)
}

impl TlsTransport {
    /// Shakes hands with a client whose first bytes may have come already.
    pub(crate) fn accept(
        inner: Arc<dyn Transport>,
        config: Arc<ServerConfig>,
        first: Vec<u8>,
    ) -> io::Result<Self> {
        let mut tls = ServerConnection::new(config).map_err(bad)?;
        // What is written goes to the socket at once: see `write_all`.
        tls.set_buffer_limit(None);
        let this = Self { inner, writing: Mutex::default(), state: Mutex::new(State { tls, raw: first }) };
        while this.state().tls.is_handshaking() {
            if this.state().raw.is_empty() && !this.receive()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let fed = this.feed();
            this.send()?;
            fed?;
        }
        Ok(this)
    }
    /// What the two sides have agreed on.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&ServerConnection) -> T) -> T {
        look(&self.state().tls)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Waits for bytes from the socket; false at the end of the stream.
    fn receive(&self) -> io::Result<bool> {
        let mut piece = [0; PIECE];
        let n = self.inner.read(&mut piece)?;
        self.state().raw.extend_from_slice(&piece[..n]);
        Ok(n > 0)
    }
    /// Gives `tls` what has come, as much as it takes.
    fn feed(&self) -> io::Result<()> {
        let mut state = self.state();
        let State { tls, raw } = &mut *state;
        let taken = tls.read_tls(&mut raw.as_slice())?;
        raw.drain(..taken);
        tls.process_new_packets().map_err(bad)?;
        Ok(())
    }
    /// Sends what `tls` has to say of its own.
    fn send(&self) -> io::Result<()> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.send_records()
    }
    /// Under `writing`.
    fn send_records(&self) -> io::Result<()> {
        let mut out = Vec::new();
        {
            let mut state = self.state();
            while state.tls.wants_write() {
                state.tls.write_tls(&mut out)?;
            }
        }
        if out.is_empty() { Ok(()) } else { self.inner.write_all(&out) }
    }
}

impl Transport for TlsTransport {
    fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.state().tls.reader().read(buf) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                // A client that closes the socket without a word of goodbye.
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            if self.state().raw.is_empty() && !self.receive()? {
                return Ok(0);
            }
            self.feed()?;
            if self.state().tls.wants_write() {
                self.send()?;
            }
        }
    }
    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.chunks(4 * PIECE) {
            self.state().tls.writer().write_all(piece)?;
            self.send_records()?;
        }
        Ok(())
    }
    fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.inner.set_read_timeout(timeout)
    }
    fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.inner.set_write_timeout(timeout)
    }
    fn socket(&self) -> Option<&env::net::Stream> {
        self.inner.socket()
    }
    fn stop_reading(&self) {
        self.inner.stop_reading();
    }
}
