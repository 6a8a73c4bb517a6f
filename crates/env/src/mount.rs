//! A disk with one directory of it elsewhere: `binlog_directory`.

use std::sync::Arc;

use crate::{Caching, Disk, DiskResult, File, OpenMode};

/// `name` and what is below it is the root of `inner`; everything else is `outer`.
pub struct MountedDisk {
    outer: Arc<dyn Disk>,
    name: String,
    inner: Arc<dyn Disk>,
}

impl std::fmt::Debug for MountedDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MountedDisk").field("name", &self.name).finish_non_exhaustive()
    }
}

impl MountedDisk {
    pub fn new(outer: Arc<dyn Disk>, name: &str, inner: Arc<dyn Disk>) -> Self {
        Self { outer, name: name.to_owned(), inner }
    }

    /// The disk that has the path, and the path there.
    fn at<'p>(&self, path: &'p str) -> (&dyn Disk, &'p str) {
        match path.strip_prefix(&self.name) {
            Some("") => (&*self.inner, ""),
            Some(below) if below.starts_with('/') => (&*self.inner, &below[1..]),
            _ => (&*self.outer, path),
        }
    }
}

impl Disk for MountedDisk {
    fn open(&self, path: &str, mode: OpenMode, caching: Caching) -> DiskResult<Arc<dyn File>> {
        let (disk, path) = self.at(path);
        disk.open(path, mode, caching)
    }
    fn exists(&self, path: &str) -> DiskResult<bool> {
        let (disk, path) = self.at(path);
        disk.exists(path)
    }
    fn create_dir(&self, path: &str) -> DiskResult<()> {
        match self.at(path) {
            // The root is there.
            (_, "") => Ok(()),
            (disk, path) => disk.create_dir(path),
        }
    }
    fn list(&self, path: &str) -> DiskResult<Vec<String>> {
        let (disk, path) = self.at(path);
        disk.list(path)
    }
    /// Within one of the two: nothing is moved between them.
    fn rename(&self, from: &str, to: &str) -> DiskResult<()> {
        let (disk, from) = self.at(from);
        disk.rename(from, self.at(to).1)
    }
    fn remove(&self, path: &str) -> DiskResult<()> {
        let (disk, path) = self.at(path);
        disk.remove(path)
    }
    fn sync_dir(&self, path: &str) -> DiskResult<()> {
        let (disk, path) = self.at(path);
        disk.sync_dir(path)
    }
    fn lock(&self, path: &str) -> DiskResult<Box<dyn Send + Sync>> {
        let (disk, path) = self.at(path);
        disk.lock(path)
    }
    /// Of the fuller one.
    fn free_space(&self) -> DiskResult<u64> {
        Ok(self.outer.free_space()?.min(self.inner.free_space()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimDisk;

    #[test]
    fn one_directory_is_elsewhere_and_the_rest_is_not() {
        let (outer, inner) = (SimDisk::new(1), SimDisk::new(2));
        let disk = MountedDisk::new(outer.disk(), "log", inner.disk());
        disk.create_dir("log").unwrap();
        for path in ["log/000001.seg", "logs", "data"] {
            disk.open(path, OpenMode::CreateNew, Caching::Buffered).unwrap();
        }
        disk.rename("log/000001.seg", "log/000002.seg").unwrap();
        disk.sync_dir("log").unwrap();
        assert_eq!(disk.list("log").unwrap(), ["000002.seg"]);
        assert_eq!(inner.disk().list("").unwrap(), ["000002.seg"]);
        assert_eq!(outer.disk().list("").unwrap(), ["data", "logs"]);
    }
}
