//! Options of the server program: MariaDB's spelling on the command line and in configuration files.
//!
//! - `--name=value`, `--name value`, `--name` alone for ON; `-` and `_` are the same; sizes take K, M, G, T.
//! - `--skip-name`, `--disable-name` for OFF, `--enable-name` for ON, `--loose-name` to be ignored when unknown.
//! - A name may be shortened as long as it stands for one variable.
//! - Option files come before the command line: see `option_files`.
//! - Whatever is a system variable and MariaDB takes as an option is one here.

use std::fmt;

use crate::option_files::{Files, Found, Head};
use session::variables::{Arg, GlobalVariables, Kind, Refusal, Setting, Var};

/// Options that need no variable. The second says whether a value follows.
const ACCEPTED: [(&str, bool); 5] = [
    ("user", true),
    ("console", false),
    ("ssl", false),
    ("symbolic_links", true),
    ("skip_symbolic_links", false),
];

/// What the command line asks for beside variables.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) help: bool,
    pub(crate) verbose: bool,
    /// `--print-defaults`: what the server would have been started with.
    pub(crate) print: Option<String>,
    pub(crate) version: bool,
    /// No TLS is offered.
    pub(crate) skip_ssl: bool,
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

pub(crate) fn fail<T>(exit_code: u8, text: String) -> Result<T, OptionError> {
    Err(OptionError { text, exit_code })
}

/// Reads option files and the command line (without the program's name) into `variables`.
pub(crate) fn parse(
    arguments: &[String],
    variables: &GlobalVariables,
    files: &dyn Files,
) -> Result<Options, OptionError> {
    let mut options = Options::default();
    let (head, taken) = Head::take(arguments);
    let rest = &arguments[taken..];
    let found = head.options(files)?;
    if head.print {
        let shown = |(name, value): &Found| match value {
            Some(value) => format!("--{}={value}", name.replace('_', "-")),
            None => format!("--{}", name.replace('_', "-")),
        };
        let all: Vec<String> = found.iter().map(shown).chain(rest.iter().cloned()).collect();
        options.print = Some(all.join(" "));
        return Ok(options);
    }
    for (name, value) in found {
        set(&name, value.as_deref(), variables, &mut options)?;
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
        "help" => options.help = true,
        "verbose" => options.verbose = true,
        "version" => options.version = true,
        "log_bin" => {
            // A base name turns it on, too; the one log's files have their own names.
            let switch = |v: &str| {
                matches!(&*v.to_ascii_lowercase(), "" | "0" | "off" | "false" | "1" | "on" | "true")
            };
            let off = value.is_some_and(|v| matches!(&*v.to_ascii_lowercase(), "0" | "off" | "false"));
            variables.set(Var::LOG_BIN, Setting::Bool(!off));
            if let Some(base) = value.filter(|v| !switch(v)) {
                variables.set(Var::LOG_BIN_BASENAME, Setting::Text(base.into()));
            }
        }
        "ssl" => {
            let off = value.is_some_and(|v| matches!(v.to_ascii_lowercase().as_str(), "0" | "off" | "false"));
            options.skip_ssl = off;
        }
        "skip_ssl" | "disable_ssl" => options.skip_ssl = true,
        "skip_log_bin" | "disable_log_bin" => variables.set(Var::LOG_BIN, Setting::Bool(false)),
        "log_bin_index" => {
            let Some(index) = value else {
                return fail(5, "option '--log-bin-index' requires an argument".into());
            };
            variables.set(Var::LOG_BIN_INDEX, Setting::Text(index.into()));
        }
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
    let Some((var, value)) = find(bare, value).map_or_else(|| shortened(bare, value), |v| Ok(Some(v)))?
    else {
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
    if var == Var::BINLOG_ALTER_TWO_PHASE && setting.as_bool() {
        return fail(1, format!("'{}' is not supported", def.name));
    }
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

/// The variable that a shortened name stands for.
fn shortened(name: &str, value: Option<&str>) -> Result<Option<(Var, Option<String>)>, OptionError> {
    let options = Var::all().filter(|v| v.def().arg != Arg::No || ALSO.contains(v));
    let fits: Vec<Var> = options.filter(|v| v.name().starts_with(name)).collect();
    match fits.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some((*one, value.map(str::to_owned)))),
        several => {
            let names = several.iter().map(|v| v.name().replace('_', "-")).collect::<Vec<_>>().join(", ");
            fail(3, format!("ambiguous option '--{}' ({names})", name.replace('_', "-")))
        }
    }
}

/// Every variable that is an option, with its value: the end of `--help --verbose`.
pub(crate) fn listing(variables: &GlobalVariables) -> String {
    let mut lines: Vec<String> = Var::all()
        .filter(|v| v.def().arg != Arg::No || ALSO.contains(v))
        .map(|v| {
            let value = variables.get(v);
            let shown =
                value.text(v.def()).map_or_else(|| "(No default value)".to_owned(), |t| t.into_owned());
            let shown = match &value {
                Setting::Bool(on) => if *on { "TRUE" } else { "FALSE" }.to_owned(),
                _ if shown.is_empty() => "(No default value)".to_owned(),
                _ => shown,
            };
            format!("{:<57} {shown}", v.name().replace('_', "-"))
        })
        .collect();
    lines.sort();
    format!(
        "Variables (--variable-name=value)\nand boolean options {{FALSE|TRUE}}{:<24}Value (after reading options)\n\
         {:-<57} {:-<30}\n{}",
        "",
        "",
        "",
        lines.join("\n")
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `my.cnf` and nothing else.
    struct One(&'static str);

    impl Files for One {
        fn read(&self, path: &str) -> Result<String, String> {
            if path == "my.cnf" { Ok(self.0.to_owned()) } else { Err("no such file".to_owned()) }
        }
        fn list(&self, _: &str) -> Result<Vec<String>, String> {
            Err("no such directory".to_owned())
        }
        fn home(&self) -> Option<String> {
            None
        }
    }

    fn run(arguments: &[&str]) -> Result<(GlobalVariables, Options), OptionError> {
        let variables = GlobalVariables::new();
        let arguments: Vec<_> = arguments.iter().map(|a| (*a).to_owned()).collect();
        let file =
            "[client]\nport=1\n[mysqld]\nport = 3333 # ours\ninnodb-buffer-pool-size=\"64M\"\nskip-log-bin\n";
        let options = parse(&arguments, &variables, &One(file))?;
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
    fn names_may_be_shortened_while_they_are_clear() {
        assert_eq!(run(&["--max-connecti=77"]).unwrap().0.u64(Var::MAX_CONNECTIONS), 77);
        let e = run(&["--max-conn=77"]).unwrap_err();
        assert_eq!(e.exit_code, 3);
        assert!(
            e.text.contains("ambiguous option '--max-conn' (max-connect-errors, max-connections)"),
            "{e}"
        );
    }

    #[test]
    fn what_files_say_can_be_printed() {
        let (_, options) = run(&["--defaults-file=my.cnf", "--print-defaults", "--port=1"]).unwrap();
        assert_eq!(
            options.print.as_deref(),
            Some("--port=3333 --innodb-buffer-pool-size=64M --skip-log-bin --port=1")
        );
        let (variables, options) = run(&["--help", "--verbose", "--port=4"]).unwrap();
        assert!(options.help && options.verbose);
        assert!(listing(&variables).lines().any(|l| l.starts_with("port ") && l.ends_with(" 4")));
    }

    #[test]
    fn options_without_effect_are_named() {
        let (_, options) = run(&["--key-buffer-size=16M", "--skip-name-resolve"]).unwrap();
        assert_eq!(options.without_effect, ["key_buffer_size", "skip_name_resolve"]);
    }
}
