//! What the user asked for.

use base::Gtid;
use jiff::tz::TimeZone;

/// `--base64-output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Base64 {
    /// BINLOG statements for rows and format descriptions.
    #[default]
    Auto,
    /// None: an error when rows come, unless the output is never run (`short_form`).
    Never,
    /// None; with `verbose` rows are shown as comments.
    DecodeRows,
}

/// `--start-position`, `--stop-position`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    Offset(u64),
    /// At most one of a domain.
    Gtids(Vec<Gtid>),
}

/// The options of the printing; those of the selection are in [`crate::Selection`].
#[derive(Debug, Clone)]
pub struct Options {
    pub base64: Base64,
    /// 0; 1 = rows as comments; 2 = with column types.
    pub verbose: u8,
    pub short_form: bool,
    pub hexdump: bool,
    pub skip_annotate: bool,
    pub print_row_count: bool,
    pub print_row_event_positions: bool,
    /// Run the output without logging it.
    pub disable_log_bin: bool,
    pub set_charset: Option<String>,
    /// `--rewrite-db`: from, to.
    pub rewrite: Vec<(Vec<u8>, Vec<u8>)>,
    /// Undo the changes instead, last first.
    pub flashback: bool,
    /// Where files of LOAD DATA are written; none: the temporary directory.
    pub load_dir: String,
    /// Of the times that are shown.
    pub time_zone: TimeZone,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            base64: Base64::Auto,
            verbose: 0,
            short_form: false,
            hexdump: false,
            skip_annotate: false,
            print_row_count: true,
            print_row_event_positions: true,
            disable_log_bin: false,
            set_charset: None,
            rewrite: Vec::new(),
            flashback: false,
            load_dir: "/tmp/".into(),
            time_zone: TimeZone::system(),
        }
    }
}
