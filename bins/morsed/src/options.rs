//! Options of the server program: MariaDB's spelling on the command line and in configuration files.
//!
//! - `--name=value`, `--name value`, `--name` alone for ON; `-` and `_` are the same; sizes take K, M, G, T.
//! - `--skip-name`, `--disable-name` for OFF, `--enable-name` for ON, `--loose-name` to be ignored when unknown.
//! - `--defaults-file=FILE` (first on the line): groups `[mysqld]`, `[mariadb]`, `[mariadbd]`, `[server]`, `[morsed]`.
//! - Whatever is a system variable and MariaDB takes as an option is one here.

use std::fmt;

use session::variables::{Arg, GlobalVariables, Kind, Refusal, Setting, Var};

/// Groups that are read from a configuration file.
const GROUPS: [&str; 6] = ["mysqld", "mariadb", "mariadbd", "server", "morsed", "mariadb-11.8"];

/// Options that need no variable. The second says whether a value follows.
const ACCEPTED: [(&str, bool); 6] = [
    ("user", true),
    ("console", false),
    ("no_defaults", false),
    ("print_defaults", false),
    ("symbolic_links", true),
    ("skip_symbolic_links", false),
];

/// What the command line asks for beside variables.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) help: bool,
    pub(crate) version: bool,
    /// Variables that were set and do nothing here.
    pub(crate) without_effect: Vec<&'static str>,
    /// Loose options that are not known.
    pub(crate) ignored: Vec<String>,
}

/// Why the options cannot be used, with MariaDB's exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OptionError {
    pub(crate) text: String,
    pub(crate) exit_code: u8,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn fail<T>(exit_code: u8, text: String) -> Result<T, OptionError> {
    Err(OptionError { text, exit_code })
}

/// Reads the command line (without the program's name) into `variables`. `read_file` gives a configuration file's text.
pub(crate) fn parse(
    arguments: &[String],
    variables: &GlobalVariables,
    read_file: impl Fn(&str) -> Result<String, String>,
) -> Result<Options, OptionError> {
    let mut options = Options::default();
    let mut rest = arguments;
    if let Some(first) = arguments.first()
        && let Some(path) = first.strip_prefix("--defaults-file=")
    {
        let text = read_file(path)
            .or_else(|e| fail(1, format!("Could not open required defaults file: {path}: {e}")))?;
        for (name, value) in parse_file(&text)? {
            set(&name, value.as_deref(), variables, &mut options)?;
        }
        rest = &arguments[1..];
    }
    let mut i = 0;
    while let Some(argument) = rest.get(i) {
        i += 1;
        let (name, value) = match split(argument) {
            Some(pair) => pair,
            None => return fail(7, format!("Too many arguments (first extra is '{argument}').")),
        };
        let mut value = value;
        if value.is_none() && wants_value(&name) {
            value = rest.get(i).cloned();
            i += 1;
            if value.is_none() {
                return fail(5, format!("option '--{}' requires an argument", name.replace('_', "-")));
            }
        }
        set(&name, value.as_deref(), variables, &mut options)?;
    }
    Ok(options)
}

/// `--Some-Name=value` as (`some_name`, value); short options by their long names.
fn split(argument: &str) -> Option<(String, Option<String>)> {
    if let Some(long) = argument.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        return Some((name.replace('-', "_").to_ascii_lowercase(), value));
    }
    let short = argument.strip_prefix('-')?;
    let mut chars = short.chars();
    let name = match chars.next()? {
        'P' => "port",
        'h' => "datadir",
        'u' => "user",
        'V' => "version",
        '?' => "help",
        _ => return Some((argument.to_owned(), None)),
    };
    let value = chars.as_str();
    Some((name.to_owned(), (!value.is_empty()).then(|| value.to_owned())))
}

/// Whether the value may stand in the next argument.
fn wants_value(name: &str) -> bool {
    if matches!(name, "version" | "help" | "verbose" | "log_bin") {
        return false;
    }
    if let Some((_, wants)) = ACCEPTED.iter().find(|(n, _)| *n == name) {
        return *wants;
    }
    Var::by_name(name.as_bytes()).is_some_and(|v| v.def().arg == Arg::Required && v.def().kind != Kind::Bool)
}

fn set(
    name: &str,
    value: Option<&str>,
    variables: &GlobalVariables,
    options: &mut Options,
) -> Result<(), OptionError> {
    match name {
        "help" | "verbose" => options.help = true,
        "version" => options.version = true,
        "log_bin" => {
            // A base name turns it on, too; the log's files have their own names here.
            let off = value.is_some_and(|v| matches!(v.to_ascii_lowercase().as_str(), "0" | "off" | "false"));
            variables.set(Var::LOG_BIN, Setting::Bool(!off));
        }
        "skip_log_bin" | "disable_log_bin" => variables.set(Var::LOG_BIN, Setting::Bool(false)),
        _ if ACCEPTED.iter().any(|(n, _)| *n == name) => {}
        _ => return set_variable(name, value, variables, options),
    }
    Ok(())
}

fn set_variable(
    name: &str,
    value: Option<&str>,
    variables: &GlobalVariables,
    options: &mut Options,
) -> Result<(), OptionError> {
    let (bare, loose) = name.strip_prefix("loose_").map_or((name, false), |n| (n, true));
    let Some((var, value)) = find(bare, value) else {
        if loose {
            options.ignored.push(bare.replace('_', "-"));
            return Ok(());
        }
        let shown = bare.replace('_', "-");
        return match value {
            Some(value) => fail(7, format!("unknown variable '{shown}={value}'")),
            None => fail(7, format!("unknown option '--{shown}'")),
        };
    };
    let def = var.def();
    if value.is_none() && def.arg == Arg::Required && def.kind != Kind::Bool {
        return fail(5, format!("option '--{}' requires an argument", bare.replace('_', "-")));
    }
    let text = value.as_deref().unwrap_or("");
    let setting = Setting::parse_option(def, text).or_else(|refusal| {
        let shown = match refusal {
            Refusal::Value(v) => v,
            Refusal::Type => text.to_owned(),
            Refusal::Other(e) => e.text.into_owned(),
        };
        fail(1, format!("Error while setting value '{shown}' to '{}'", def.name))
    })?;
    if def.effect == session::variables::Effect::Inert {
        options.without_effect.push(def.name);
    }
    variables.set(var, setting);
    Ok(())
}

/// The variable of an option, and its value when a prefix says it.
fn find(name: &str, value: Option<&str>) -> Option<(Var, Option<String>)> {
    let option = |name: &str| {
        let var = Var::by_name(name.as_bytes())?;
        // What MariaDB shows but takes from nowhere is no option, except what 11.8 spells so in files.
        (var.def().arg != Arg::No || ALSO.contains(&var)).then_some(var)
    };
    if let Some(var) = option(name) {
        return Some((var, value.map(str::to_owned)));
    }
    for (prefix, meaning) in [("skip_", "0"), ("disable_", "0"), ("enable_", "1")] {
        if let Some(var) = name.strip_prefix(prefix).and_then(option)
            && var.def().kind == Kind::Bool
        {
            return Some((var, Some(meaning.to_owned())));
        }
    }
    None
}

/// Options by nature whose variables are listed without one.
const ALSO: [Var; 6] = [
    Var::AUTOCOMMIT,
    Var::DEFAULT_STORAGE_ENGINE,
    Var::CHARACTER_SET_SERVER,
    Var::COLLATION_SERVER,
    Var::TRANSACTION_ISOLATION,
    Var::TIME_ZONE,
];

/// Options of the groups that concern the server, in order.
fn parse_file(text: &str) -> Result<Vec<(String, Option<String>)>, OptionError> {
    let mut ours = false;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with(';') {
            continue;
        }
        if let Some(group) = line.strip_prefix('[') {
            let Some(group) = group.strip_suffix(']') else {
                return fail(
                    1,
                    format!("Wrong group definition in the defaults file at line {}", number + 1),
                );
            };
            ours = GROUPS.contains(&group.trim());
        } else if line.starts_with('!') {
            return fail(
                1,
                format!("'{line}' in the defaults file is not supported: name the files one by one"),
            );
        } else if ours {
            let (name, value) = match line.split_once('=') {
                Some((name, value)) => (name.trim(), Some(unquote(value.trim()).to_owned())),
                None => (line, None),
            };
            found.push((name.replace('-', "_").to_ascii_lowercase(), value));
        }
    }
    Ok(found)
}

fn unquote(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|v| v.strip_suffix(quote)) {
            return inner;
        }
    }
    // A comment may follow an unquoted value.
    value.split(" #").next().unwrap_or(value).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(arguments: &[&str]) -> Result<(GlobalVariables, Options), OptionError> {
        let variables = GlobalVariables::new();
        let arguments: Vec<_> = arguments.iter().map(|a| (*a).to_owned()).collect();
        let file =
            "[client]\nport=1\n[mysqld]\nport = 3333 # ours\ninnodb-buffer-pool-size=\"64M\"\nskip-log-bin\n";
        let options = parse(&arguments, &variables, |path| {
            if path == "my.cnf" { Ok(file.to_owned()) } else { Err("no such file".to_owned()) }
        })?;
        Ok((variables, options))
    }

    #[test]
    fn sizes_dashes_and_underscores() {
        let (v, _) =
            run(&["--innodb-buffer-pool-size=2G", "--max_connections=500", "-P3307", "--server-id", "7"])
                .unwrap();
        assert_eq!(v.u64(Var::INNODB_BUFFER_POOL_SIZE), 2 << 30);
        assert_eq!(v.u64(Var::MAX_CONNECTIONS), 500);
        assert_eq!(v.u64(Var::PORT), 3307);
        assert_eq!(v.u64(Var::SERVER_ID), 7);
    }

    #[test]
    fn the_binary_log_is_on_until_it_is_skipped() {
        assert_eq!(run(&[]).unwrap().0.u64(Var::LOG_BIN), 1);
        assert_eq!(run(&["--log-bin"]).unwrap().0.u64(Var::LOG_BIN), 1);
        assert_eq!(run(&["--log-bin=base"]).unwrap().0.u64(Var::LOG_BIN), 1);
        assert_eq!(run(&["--skip-log-bin"]).unwrap().0.u64(Var::LOG_BIN), 0);
        assert_eq!(run(&["--log-bin=OFF"]).unwrap().0.u64(Var::LOG_BIN), 0);
    }

    #[test]
    fn unknown_options_are_errors_unless_loose() {
        let e = run(&["--no-such-thing"]).unwrap_err();
        assert_eq!((e.exit_code, e.text.as_str()), (7, "unknown option '--no-such-thing'"));
        assert_eq!(run(&["--no-such-thing=1"]).unwrap_err().text, "unknown variable 'no-such-thing=1'");
        let (_, options) = run(&["--loose-no-such-thing=1"]).unwrap();
        assert_eq!(options.ignored, ["no-such-thing"]);
        assert_eq!(run(&["--port"]).unwrap_err().exit_code, 5);
        assert_eq!(run(&["stray"]).unwrap_err().exit_code, 7);
        assert_eq!(run(&["--max-connections=many"]).unwrap_err().exit_code, 1);
    }

    #[test]
    fn a_file_is_read_before_the_command_line() {
        let (v, _) = run(&["--defaults-file=my.cnf", "--port=4444"]).unwrap();
        assert_eq!(v.u64(Var::PORT), 4444);
        assert_eq!(v.u64(Var::INNODB_BUFFER_POOL_SIZE), 64 << 20);
        assert_eq!(v.u64(Var::LOG_BIN), 0);
        assert!(run(&["--defaults-file=other.cnf"]).unwrap_err().text.contains("other.cnf"));
    }

    #[test]
    fn options_without_effect_are_named() {
        let (_, options) = run(&["--key-buffer-size=16M", "--skip-name-resolve"]).unwrap();
        assert_eq!(options.without_effect, ["key_buffer_size", "skip_name_resolve"]);
    }
}
