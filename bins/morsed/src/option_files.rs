//! Option files: which are read, and what their groups say.
//!
//! # Which files
//! `--no-defaults`: none. `--defaults-file=F`: F alone. Else `/etc/morsed.cnf` and `~/.morsed.cnf`, those that exist, with
//! `--defaults-extra-file=F` between them. Files of a MariaDB server are not read by themselves: their `datadir` is that server's.
//!
//! # Lines
//! `[group]`, `name`, `name=value`, `# comment`, `; comment`, `!include FILE`, `!includedir DIRECTORY` (its `*.cnf` and `*.ini`, by
//! name). Values may be quoted; `\n`, `\t`, `\s`, `\\` and their kin are one character.

use crate::options::{OptionError, fail};

/// Groups that concern the server; with `--defaults-group-suffix=S` also each with S behind it.
const GROUPS: [&str; 6] = ["mysqld", "mariadb", "mariadbd", "server", "morsed", "mariadb-11.8"];

/// Files inside one another.
const DEPTH_MAX: usize = 10;

/// What option files are read from.
pub(crate) trait Files {
    fn read(&self, path: &str) -> Result<String, String>;
    /// Paths of a directory's files, in no order.
    fn list(&self, directory: &str) -> Result<Vec<String>, String>;
    /// The home directory, when there is one.
    fn home(&self) -> Option<String>;
}

/// One option of a file: its name in the command line's spelling, and its value.
pub(crate) type Found = (String, Option<String>);

/// What the head of the command line says of option files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) no_defaults: bool,
    pub(crate) print: bool,
    file: Option<String>,
    extra: Option<String>,
    suffix: String,
}

impl Head {
    /// Takes the options that must come first; answers how many there were.
    pub(crate) fn take(arguments: &[String]) -> (Self, usize) {
        let mut head = Self::default();
        for (i, argument) in arguments.iter().enumerate() {
            if argument == "--no-defaults" {
                head.no_defaults = true;
            } else if argument == "--print-defaults" {
                head.print = true;
            } else if let Some(path) = argument.strip_prefix("--defaults-file=") {
                head.file = Some(path.to_owned());
            } else if let Some(path) = argument.strip_prefix("--defaults-extra-file=") {
                head.extra = Some(path.to_owned());
            } else if let Some(suffix) = argument.strip_prefix("--defaults-group-suffix=") {
                head.suffix = suffix.to_owned();
            } else {
                return (head, i);
            }
        }
        (head, arguments.len())
    }

    /// The options of all files, in order.
    pub(crate) fn options(&self, files: &dyn Files) -> Result<Vec<Found>, OptionError> {
        let mut out = Vec::new();
        if self.no_defaults {
            return Ok(out);
        }
        let required = |path: &str, out: &mut Vec<Found>| {
            let text = files
                .read(path)
                .or_else(|e| fail(1, format!("Could not open required defaults file: {path}: {e}")))?;
            self.parse(path, &text, files, 0, out)
        };
        if let Some(path) = &self.file {
            required(path, &mut out)?;
            return Ok(out);
        }
        let optional = |path: &str, out: &mut Vec<Found>| match files.read(path) {
            Ok(text) => self.parse(path, &text, files, 0, out),
            Err(_) => Ok(()),
        };
        optional("/etc/morsed.cnf", &mut out)?;
        if let Some(path) = &self.extra {
            required(path, &mut out)?;
        }
        if let Some(home) = files.home() {
            optional(&format!("{home}/.morsed.cnf"), &mut out)?;
        }
        Ok(out)
    }

    fn is_ours(&self, group: &str) -> bool {
        GROUPS.contains(&group)
            || (!self.suffix.is_empty()
                && group.strip_suffix(&*self.suffix).is_some_and(|g| GROUPS.contains(&g)))
    }

    fn parse(
        &self,
        path: &str,
        text: &str,
        files: &dyn Files,
        depth: usize,
        out: &mut Vec<Found>,
    ) -> Result<(), OptionError> {
        let mut ours = false;
        let mut any_group = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let at = number + 1;
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(directive) = line.strip_prefix('!') {
                self.include(directive, path, at, files, depth, out)?;
            } else if let Some(group) = line.strip_prefix('[') {
                let Some((group, _)) = group.split_once(']') else {
                    return fail(1, format!("Wrong group definition in config file {path} at line {at}"));
                };
                any_group = true;
                ours = self.is_ours(group.trim());
            } else if !any_group {
                return fail(
                    1,
                    format!("Found option without preceding group in config file {path} at line {at}"),
                );
            } else if ours {
                let (name, value) = match line.split_once('=') {
                    Some((name, value)) => (name.trim(), Some(value_of(value.trim()))),
                    None => (without_comment(line), None),
                };
                out.push((name.replace('-', "_").to_ascii_lowercase(), value));
            }
        }
        Ok(())
    }

    fn include(
        &self,
        directive: &str,
        path: &str,
        at: usize,
        files: &dyn Files,
        depth: usize,
        out: &mut Vec<Found>,
    ) -> Result<(), OptionError> {
        let wrong = || format!("Wrong '!{directive}' directive in config file {path} at line {at}");
        let (word, target) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        let target = target.trim();
        if target.is_empty() || depth >= DEPTH_MAX {
            return fail(1, wrong());
        }
        let mut paths = match word {
            "include" => vec![target.to_owned()],
            "includedir" => {
                let all =
                    files.list(target).or_else(|e| fail(1, format!("Can't read dir of '{target}': {e}")))?;
                all.into_iter().filter(|p| p.ends_with(".cnf") || p.ends_with(".ini")).collect()
            }
            _ => return fail(1, wrong()),
        };
        paths.sort();
        for included in paths {
            // As MariaDB: a file that is not there says nothing.
            if let Ok(text) = files.read(&included) {
                self.parse(&included, &text, files, depth + 1, out)?;
            }
        }
        Ok(())
    }
}

fn without_comment(text: &str) -> &str {
    text.split(" #").next().unwrap_or(text).trim_end()
}

/// A value without its quotes and comment, escapes undone.
fn value_of(text: &str) -> String {
    let inner = ['"', '\''].iter().find_map(|quote| {
        let rest = text.strip_prefix(*quote)?;
        rest.rfind(*quote).map(|end| &rest[..end])
    });
    let text = inner.unwrap_or_else(|| without_comment(text));
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('s') => out.push(' '),
            Some(c @ ('"' | '\'' | '\\')) => out.push(c),
            // Whatever else: the backslash stays.
            other => {
                out.push('\\');
                out.extend(other);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    struct Given(HashMap<&'static str, &'static str>);

    impl Files for Given {
        fn read(&self, path: &str) -> Result<String, String> {
            self.0.get(path).map(|t| (*t).to_owned()).ok_or_else(|| "no such file".to_owned())
        }
        fn list(&self, directory: &str) -> Result<Vec<String>, String> {
            let inside = self.0.keys().filter(|p| p.starts_with(directory));
            Ok(inside.map(|p| (*p).to_owned()).collect())
        }
        fn home(&self) -> Option<String> {
            Some("/home/u".to_owned())
        }
    }

    fn read(arguments: &[&str], files: &[(&'static str, &'static str)]) -> Result<Vec<Found>, OptionError> {
        let arguments: Vec<_> = arguments.iter().map(|a| (*a).to_owned()).collect();
        Head::take(&arguments).0.options(&Given(files.iter().copied().collect()))
    }

    fn option(name: &str, value: &str) -> Found {
        (name.to_owned(), Some(value.to_owned()))
    }

    #[test]
    fn files_are_read_in_their_order() {
        let files = [
            ("/etc/morsed.cnf", "[mysqld]\nport=1\n[client]\nport=9\n"),
            ("/extra", "[morsed]\nport=2"),
            ("/home/u/.morsed.cnf", "[server]\nport=3"),
            ("/own", "[mysqld]\nport=4\n[mysqld2]\nport=5"),
        ];
        let port = |v| option("port", v);
        assert_eq!(read(&[], &files).unwrap(), [port("1"), port("3")]);
        assert_eq!(
            read(&["--defaults-extra-file=/extra"], &files).unwrap(),
            [port("1"), port("2"), port("3")]
        );
        assert_eq!(read(&["--defaults-file=/own"], &files).unwrap(), [port("4")]);
        assert_eq!(
            read(&["--defaults-file=/own", "--defaults-group-suffix=2"], &files).unwrap(),
            [port("4"), port("5")]
        );
        assert_eq!(read(&["--no-defaults"], &files).unwrap(), []);
        assert!(read(&["--defaults-file=/none"], &files).unwrap_err().text.contains("/none"));
    }

    #[test]
    fn files_include_others() {
        let files = [
            ("/own", "!includedir /d/\n[mysqld]\na=1\n!include /one\nb=2"),
            ("/one", "[mysqld]\nc=3"),
            ("/d/2.cnf", "[mysqld]\ne=5"),
            ("/d/1.cnf", "[mysqld]\nd=4"),
            ("/d/readme", "nothing"),
            ("/loop", "!include /loop"),
        ];
        let all = ["d", "e", "a", "c", "b"].map(str::to_owned);
        let names: Vec<_> =
            read(&["--defaults-file=/own"], &files).unwrap().into_iter().map(|(n, _)| n).collect();
        assert_eq!(names, all);
        assert!(read(&["--defaults-file=/loop"], &files).is_err());
    }

    #[test]
    fn values_lose_quotes_comments_and_escapes() {
        for (text, value) in [
            ("\"a b\" # c", "a b"),
            ("x # c", "x"),
            ("a\\tb", "a\tb"),
            ("c:\\q", "c:\\q"),
            ("'it''s'", "it''s"),
        ] {
            assert_eq!(value_of(text), value, "{text}");
        }
        assert!(read(&["--defaults-file=/f"], &[("/f", "port=1")]).is_err());
        assert!(read(&["--defaults-file=/f"], &[("/f", "[mysqld")]).is_err());
    }
}
