//! Threads with names and chosen stack sizes.

use std::io;
pub use std::thread::JoinHandle;

/// Starts a thread. The name shows in `top`, in profiles and in panics (Linux keeps 15 bytes of it).
pub fn spawn<T: Send + 'static>(
    name: &str,
    stack_size: usize,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name.to_owned()).stack_size(stack_size).spawn(body)
}

/// Lets other threads that are ready run first.
pub fn give_way() {
    std::thread::yield_now();
}

/// Threads the machine runs at once; at least 1.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Stack size that suffices for background threads.
pub const SMALL_STACK: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_name() {
        let handle = spawn("cleaner", SMALL_STACK, || std::thread::current().name().map(str::to_owned));
        assert_eq!(handle.unwrap().join().unwrap().as_deref(), Some("cleaner"));
        assert!(cores() >= 1);
    }
}
