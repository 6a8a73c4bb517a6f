//! A connection's bytes in the compressed protocol, over whatever carries them.
//!
//! The numbers of outer packets go on from what the client sent last. A dump answers nothing: each of its packets travels alone, under its
//! own number.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wire::compressed::{Expander, compress};
use wire::packet::{CHUNK_MAX, HEADER};

use crate::transport::Transport;

/// Bytes taken from below at once.
const PIECE: usize = 16 * 1024;

pub(crate) struct CompressedTransport {
    inner: Arc<dyn Transport>,
    expander: Mutex<Expander>,
    /// Number of the next packet to the client.
    sequence: AtomicU8,
    one_by_one: AtomicBool,
}

impl CompressedTransport {
    pub(crate) fn new(inner: Arc<dyn Transport>, first: &[u8]) -> Self {
        let mut expander = Expander::default();
        expander.push(first);
        Self {
            inner,
            expander: Mutex::new(expander),
            sequence: AtomicU8::new(0),
            one_by_one: AtomicBool::new(false),
        }
    }
    fn write_each(&self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut rest = bytes;
        while let Some(h) = rest.first_chunk::<HEADER>() {
            let length = usize::from(h[0]) | usize::from(h[1]) << 8 | usize::from(h[2]) << 16;
            debug_assert!(length <= CHUNK_MAX);
            let (packet, after) = rest.split_at((HEADER + length).min(rest.len()));
            compress(packet, h[3], out);
            rest = after;
        }
    }
}

impl Transport for CompressedTransport {
    fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        let mut expander = self.expander.lock().unwrap_or_else(PoisonError::into_inner);
        let mut piece = [0; PIECE];
        loop {
            let bad = |e| io::Error::new(io::ErrorKind::InvalidData, e);
            let n = expander.take(buf).map_err(bad)?;
            if n > 0 {
                self.sequence.store(expander.next_sequence(), Ordering::Relaxed);
                return Ok(n);
            }
            // Only one thread reads.
            let n = self.inner.read(&mut piece)?;
            if n == 0 {
                return Ok(0);
            }
            expander.push(&piece[..n]);
        }
    }
    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = Vec::with_capacity(bytes.len() / 2 + 64);
        if self.one_by_one.load(Ordering::Relaxed) {
            self.write_each(bytes, &mut out);
        } else {
            let next = compress(bytes, self.sequence.load(Ordering::Relaxed), &mut out);
            self.sequence.store(next, Ordering::Relaxed);
        }
        self.inner.write_all(&out)
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
    fn packets_one_by_one(&self) {
        self.one_by_one.store(true, Ordering::Relaxed);
    }
}
