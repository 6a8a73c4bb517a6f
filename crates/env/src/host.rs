//! What the server reads of its machine outside the data directory: option files and the machine's name.

use std::io;
use std::path::Path;

/// The whole of a text file, as option files are read.
pub fn read_text(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path)
}

/// The machine's name; empty when the system does not say.
pub fn name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}
