//! The directory tree of the simulated disk: current names, durable names, and the operations between.

use crate::Random;
use std::collections::BTreeMap;
use std::io;

/// What a name stands for. Files are numbers in the disk's table and outlive their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    Dir,
    File(usize),
}

type Names = BTreeMap<String, Node>;

#[derive(Clone)]
enum Change {
    Create { path: String, node: Node },
    Rename { from: String, to: String, node: Node },
    Remove { path: String },
}

impl Change {
    fn apply(self, names: &mut Names) {
        match self {
            Self::Create { path, node } => {
                names.insert(path, node);
            }
            Self::Rename { from, to, node } => {
                names.remove(&from);
                names.insert(to, node);
            }
            Self::Remove { path } => {
                names.remove(&path);
            }
        }
    }

    fn is_inside(&self, dir: &str) -> bool {
        match self {
            Self::Create { path, .. } | Self::Remove { path } => parent(path) == dir,
            Self::Rename { from, to, .. } => parent(from) == dir || parent(to) == dir,
        }
    }
}

#[derive(Default, Clone)]
pub(super) struct Namespace {
    current: Names,
    durable: Names,
    unsynced: Vec<Change>,
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

fn is_root(path: &str) -> bool {
    path.is_empty() || path == "."
}

impl Namespace {
    pub(super) fn get(&self, path: &str) -> Option<Node> {
        if is_root(path) { Some(Node::Dir) } else { self.current.get(path).copied() }
    }

    /// Indexes of the files that have a name.
    pub(super) fn files(&self) -> impl Iterator<Item = usize> + '_ {
        self.current
            .values()
            .filter_map(|node| if let Node::File(index) = node { Some(*index) } else { None })
    }

    pub(super) fn create(&mut self, path: &str, node: Node) -> io::Result<()> {
        debug_assert!(crate::is_clean(path), "'{path}' is not a clean relative path");
        self.check_dir(parent(path))?;
        if self.get(path).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.current.insert(path.to_owned(), node);
        self.unsynced.push(Change::Create { path: path.to_owned(), node });
        Ok(())
    }

    /// Files only: a directory would have to move its children.
    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.check_dir(parent(to))?;
        let node = match self.get(from) {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(Node::Dir) => return Err(io::ErrorKind::Unsupported.into()),
            Some(node) => node,
        };
        if self.get(to) == Some(Node::Dir) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        self.current.remove(from);
        self.current.insert(to.to_owned(), node);
        self.unsynced.push(Change::Rename { from: from.to_owned(), to: to.to_owned(), node });
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &str) -> io::Result<()> {
        match self.get(path) {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(Node::Dir) if self.current.keys().any(|name| parent(name) == path) => {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            Some(_) => {}
        }
        self.current.remove(path);
        self.unsynced.push(Change::Remove { path: path.to_owned() });
        Ok(())
    }

    pub(super) fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.check_dir(path)?;
        let dir = if is_root(path) { "" } else { path };
        let names = self.current.keys().filter(|name| parent(name) == dir);
        Ok(names
            .map(|name| name.rsplit_once('/').map_or(name.as_str(), |(_, last)| last).to_owned())
            .collect())
    }

    pub(super) fn sync(&mut self, path: &str) -> io::Result<()> {
        self.check_dir(path)?;
        let dir = if is_root(path) { "" } else { path };
        for change in self.unsynced.extract_if(.., |change| change.is_inside(dir)) {
            change.apply(&mut self.durable);
        }
        Ok(())
    }

    pub(super) fn crash(&mut self, random: &mut Random) {
        for change in std::mem::take(&mut self.unsynced) {
            if random.one_in(2) {
                change.apply(&mut self.durable);
            }
        }
        // What lies in a directory that did not survive is unreachable.
        let dirs = self.durable.clone();
        self.durable.retain(|name, _| {
            let mut dir = parent(name);
            while !dir.is_empty() {
                if dirs.get(dir) != Some(&Node::Dir) {
                    return false;
                }
                dir = parent(dir);
            }
            true
        });
        self.current = self.durable.clone();
    }

    fn check_dir(&self, path: &str) -> io::Result<()> {
        match self.get(path) {
            Some(Node::Dir) => Ok(()),
            Some(Node::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}
