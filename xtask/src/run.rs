//! Starting a command, saying so, and turning its failure into an error text.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a task answers: nothing, or why it failed.
pub(crate) type Outcome = Result<(), String>;

/// The workspace's folder.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs `command` in the workspace's folder; fails when it does.
pub(crate) fn run(command: &mut Command) -> Outcome {
    eprintln!("+ {}", shown(command));
    let status = command
        .current_dir(root())
        .status()
        .map_err(|e| format!("cannot start `{}`: {e}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed: {status}", shown(command))) }
}

/// Standard output of `command`, which must succeed.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let out = command
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot start `{}`: {e}", shown(command)))?;
    if !out.status.success() {
        return Err(format!("`{}` failed: {}", shown(command), out.status));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    command.args(args);
    command
}

/// Whether a program of that name is on the PATH.
pub(crate) fn has(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}
