//! What the programs read and write of their machine outside the data directory: option files, the files of tools, the machine's name.

use std::io;
use std::path::Path;

/// The whole of a text file, as option files are read.
pub fn read_text(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path)
}

/// Paths of the files in a directory outside the data directory, in no order.
pub fn files_in(directory: &Path) -> io::Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        paths.push(entry?.path().to_string_lossy().into_owned());
    }
    Ok(paths)
}

/// The machine's name; empty when the system does not say.
pub fn name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// The name of a system user, as `/etc/passwd` has it.
pub fn user_name(uid: u32) -> Option<String> {
    let text = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut lines = text.lines().map(|line| line.split(':'));
    lines.find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

/// A file outside the data directory for reading; it need not be writable.
pub fn open_for_reading(path: &Path) -> io::Result<impl io::Read + io::Seek + use<>> {
    std::fs::File::open(path)
}

/// A new, empty file outside the data directory; fails when the name is taken.
pub fn create_new(path: &Path) -> io::Result<impl io::Write + use<>> {
    std::fs::File::create_new(path)
}

/// A file outside the data directory for writing, emptied when it exists.
pub fn create(path: &Path) -> io::Result<impl io::Write + use<>> {
    std::fs::File::create(path)
}

/// An existing file outside the data directory, to write behind its end.
pub fn append_to(path: &Path) -> io::Result<impl io::Write + use<>> {
    std::fs::OpenOptions::new().append(true).open(path)
}

/// A file to write behind its end; made when there is none.
pub fn append_or_create(path: &Path) -> io::Result<impl io::Write + Send + use<>> {
    std::fs::OpenOptions::new().append(true).create(true).open(path)
}

/// A file for writing, emptied when it exists, that only this process's user may read.
pub fn create_private(path: &Path) -> io::Result<impl io::Write + use<>> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
