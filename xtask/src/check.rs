//! `cargo xtask check`: format, lints, docs, licences of dependencies, and the house rules a machine can read.

use crate::run::{Outcome, cargo, output, root, run};
use std::path::{Path, PathBuf};

/// Licences a dependency may have; one of an `OR` is enough, all of an `AND` are needed.
const LICENCES: &[&str] = &[
    "Apache-2.0",
    "MIT",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Zlib",
    "Unlicense",
    "CC0-1.0",
    "0BSD",
    "MIT-0",
    "BSL-1.0",
    "Apache-2.0 WITH LLVM-exception",
];

/// Lines of a source file at which the check refuses; 500 is the aim, 800 the place to look for a seam.
const FILE_LINES_MAX: usize = 1200;

pub(crate) fn check() -> Outcome {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    // Private items are documented too, so a public page may link to one.
    run(cargo(&["doc", "--workspace", "--no-deps", "--quiet", "--document-private-items"])
        .env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links"))?;
    licences()?;
    house()
}

fn licences() -> Outcome {
    let tree = output(&mut cargo(&[
        "tree",
        "--workspace",
        "--prefix",
        "none",
        "--edges",
        "normal,build",
        "--format",
        "{p} | {l}",
    ]))?;
    let bad: Vec<&str> = tree
        .lines()
        .filter(|line| {
            line.split_once(" | ").is_some_and(|(_, licence)| !allowed(licence.trim_end_matches(" (*)")))
        })
        .collect();
    if bad.is_empty() {
        Ok(())
    } else {
        Err(format!("dependencies with a licence not on the list:\n{}", bad.join("\n")))
    }
}

/// Whether a licence expression can be met from [`LICENCES`].
fn allowed(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    plain.split(" AND ").all(|part| part.split(" OR ").any(|one| LICENCES.contains(&one.trim())))
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(dir).map_err(|e| format!("cannot read {}: {e}", dir.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// What of the outside world a line reaches past the `env` crate. IP addresses are values, not sockets.
fn outside(line: &str) -> Option<&'static str> {
    let plain = line.replace("env::thread::spawn", "").replace("std::net::Ip", "");
    ["std::fs::", "std::net::", "std::os::unix::net", "Instant::now", "SystemTime::now", "thread::spawn"]
        .into_iter()
        .find(|door| plain.contains(door))
}

/// Every source file says what it is, stays readable, and keeps to the one door (E1).
fn house() -> Outcome {
    let mut files = Vec::new();
    for dir in ["crates", "bins", "xtask"] {
        sources(&root().join(dir), &mut files)?;
    }
    let mut found = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        let test = name.contains("/tests/")
            || ["/examples/", "/benches/"].iter().any(|d| name.contains(d))
            || name.ends_with("/tests.rs");
        if !text.starts_with("//!") && !test {
            found.push(format!("{name}: does not open with what it is (//!)"));
        }
        if text.lines().count() > FILE_LINES_MAX && !test {
            found.push(format!("{name}: more than {FILE_LINES_MAX} lines"));
        }
        if ["/utils", "/common", "/helpers"].iter().any(|bad| name.contains(bad)) {
            found.push(format!("{name}: a name that says nothing"));
        }
        let inside = name.starts_with("crates/env/") || name.starts_with("xtask/") || test;
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        if !inside {
            let doors = code.lines().filter(|l| !l.trim_start().starts_with("//")).filter_map(outside);
            found.extend(doors.map(|door| format!("{name}: {door} outside the env crate")));
        }
    }
    if found.is_empty() { Ok(()) } else { Err(format!("house rules:\n{}", found.join("\n"))) }
}

#[cfg(test)]
mod tests {
    use super::{allowed, outside};

    #[test]
    fn the_outside_is_reached_through_env_only() {
        assert_eq!(outside("let t = std::thread::spawn(work);"), Some("thread::spawn"));
        assert_eq!(outside("let t = env::thread::spawn(NAME, STACK, work);"), None);
        assert_eq!(outside("use std::net::TcpStream;"), Some("std::net::"));
        assert_eq!(outside("use std::net::IpAddr;"), None);
    }

    #[test]
    fn one_side_of_an_or_is_enough_and_both_of_an_and_are_needed() {
        assert!(allowed("MIT OR GPL-3.0"));
        assert!(allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(!allowed("MIT AND GPL-3.0"));
        assert!(!allowed("GPL-3.0-only"));
    }
}
