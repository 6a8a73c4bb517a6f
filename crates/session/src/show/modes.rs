//! What `sql_mode` leaves out of SHOW CREATE's texts, and how names are quoted in them.
//!
//! The texts come from the catalog in one form, with names in backticks. ANSI_QUOTES puts names in double quotes. NO_FIELD_OPTIONS,
//! NO_KEY_OPTIONS and NO_TABLE_OPTIONS leave out what only this family of servers understands; ANSI and the modes named after other
//! servers mean all three (but keep ON UPDATE).

use types::SqlMode;

const NO_KEY_OPTIONS: u64 = 1 << 13;
const NO_TABLE_OPTIONS: u64 = 1 << 14;
const NO_FIELD_OPTIONS: u64 = 1 << 15;
/// POSTGRESQL, ORACLE, MSSQL, DB2, MAXDB, ANSI.
const FOREIGN: u64 = 0b1_1111 << 8 | 1 << 18;

/// Modes that a text depends on.
const ALL: u64 = SqlMode::ANSI_QUOTES | NO_KEY_OPTIONS | NO_TABLE_OPTIONS | NO_FIELD_OPTIONS | FOREIGN;

/// A piece of a statement: a name without its quotes, or anything else as it stands.
enum Piece<'t> {
    Name(&'t str),
    Literal(&'t str),
    Text(&'t str),
}

/// Cuts a statement into names, literals and what is between them.
fn pieces(mut text: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    while let Some(first) = text.chars().next() {
        let len = match first {
            '`' => quoted(text, b'`'),
            '\'' => quoted(text, b'\''),
            _ => text.find(['`', '\'']).unwrap_or(text.len()),
        };
        let (piece, rest) = text.split_at(len);
        out.push(match first {
            '`' => Piece::Name(piece.get(1..len - 1).unwrap_or_default()),
            '\'' => Piece::Literal(piece),
            _ => Piece::Text(piece),
        });
        text = rest;
    }
    out
}

/// Length of what stands in quotes at the start of `text`, quotes included; a doubled quote is part of it.
fn quoted(text: &str, quote: u8) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quote == b'\'' => at += 2,
            b if b != quote => at += 1,
            _ if bytes.get(at + 1) == Some(&quote) => at += 2,
            _ => return at + 1,
        }
    }
    text.len()
}

/// The definition of a table or sequence in a session's mode.
pub(super) fn table(text: &str, mode: SqlMode) -> String {
    if !mode.has(ALL) {
        return text.to_owned();
    }
    let (no_fields, no_keys) = (mode.has(NO_FIELD_OPTIONS | FOREIGN), mode.has(NO_KEY_OPTIONS | FOREIGN));
    let no_options = mode.has(NO_TABLE_OPTIONS | FOREIGN);
    let mut out = String::with_capacity(text.len());
    let (mut is_key, mut ended, mut drops_literal) = (false, false, false);
    for piece in pieces(text) {
        match piece {
            _ if ended => {}
            Piece::Name(name) => put_name(name, mode, &mut out),
            Piece::Literal(literal) if !drops_literal => out.push_str(literal),
            Piece::Literal(_) => drops_literal = false,
            Piece::Text(between) => {
                let mut kept = between.to_owned();
                if let Some(line) = between.rfind('\n').map(|at| &between[at..]) {
                    is_key = line.contains("KEY") && !line.contains("FOREIGN");
                }
                if no_fields {
                    kept = kept.replace(" AUTO_INCREMENT", "").replace(" INVISIBLE", "");
                    if mode.has(NO_FIELD_OPTIONS) {
                        kept = without_on_update(&kept);
                    }
                }
                if no_keys && is_key {
                    kept = kept.replace(" USING BTREE", "").replace(" IGNORED", "");
                    if let Some(before) = kept.strip_suffix(" COMMENT ") {
                        (kept, drops_literal) = (before.to_owned(), true);
                    }
                }
                if no_options && let Some(end) = options_start(&kept) {
                    kept.truncate(end);
                    ended = true;
                }
                out.push_str(&kept);
            }
        }
    }
    out
}

/// Where the options behind the last bracket begin.
fn options_start(text: &str) -> Option<usize> {
    text.find("\n) ").map(|at| at + 2).or_else(|| text.find(" ENGINE="))
}

fn without_on_update(text: &str) -> String {
    const WORDS: &str = " ON UPDATE current_timestamp(";
    let Some((before, after)) = text.split_once(WORDS) else { return text.to_owned() };
    let end = after.find(')').map_or(after.len(), |at| at + 1);
    format!("{before}{}", &after[end..])
}

/// A view's definition in a session's mode.
pub(super) fn view(text: &str, mode: SqlMode) -> String {
    let quoted = names(text, mode);
    // The words between CREATE and VIEW are names' neighbours only: ALGORITHM, DEFINER, SQL SECURITY.
    match quoted.find(" VIEW ").filter(|_| mode.has(FOREIGN)) {
        Some(at) => format!("CREATE{}", &quoted[at..]),
        None => quoted,
    }
}

/// The text with its names quoted as the mode has it.
pub(super) fn names(text: &str, mode: SqlMode) -> String {
    if !mode.has(SqlMode::ANSI_QUOTES) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Name(name) => put_name(name, mode, &mut out),
            Piece::Literal(kept) | Piece::Text(kept) => out.push_str(kept),
        }
    }
    out
}

fn put_name(name: &str, mode: SqlMode, out: &mut String) {
    let (quote, name) = if mode.has(SqlMode::ANSI_QUOTES) {
        ('"', name.replace("``", "`").replace('"', "\"\""))
    } else {
        ('`', name.to_owned())
    };
    out.push(quote);
    out.push_str(&name);
    out.push(quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "CREATE TABLE `t` (\n  `id` int(11) NOT NULL AUTO_INCREMENT COMMENT 'it''s AUTO_INCREMENT `x`',\n  \
        `q``\"x` int(11) DEFAULT 3 INVISIBLE,\n  `ts` timestamp NOT NULL ON UPDATE current_timestamp(),\n  \
        PRIMARY KEY (`id`) USING BTREE,\n  KEY `k` (`id`) USING BTREE COMMENT 'of `k`',\n  \
        CONSTRAINT `f` FOREIGN KEY (`id`) REFERENCES `u` (`id`) ON UPDATE CASCADE\n) ENGINE=InnoDB COMMENT='tab'";

    #[test]
    fn without_a_mode_the_text_stays() {
        assert_eq!(table(TABLE, SqlMode::DEFAULT), TABLE);
        assert_eq!(names(TABLE, SqlMode::DEFAULT), TABLE);
    }

    #[test]
    fn names_are_quoted_and_literals_are_not_touched() {
        let text = table(TABLE, SqlMode(SqlMode::ANSI_QUOTES));
        assert!(text.starts_with("CREATE TABLE \"t\" (\n  \"id\" int(11) NOT NULL AUTO_INCREMENT COMMENT 'it''s AUTO_INCREMENT `x`',"));
        assert!(text.contains("\"q`\"\"x\" int(11)") && text.ends_with(") ENGINE=InnoDB COMMENT='tab'"));
    }

    #[test]
    fn each_mode_leaves_its_options_out() {
        let ansi = table(TABLE, SqlMode(SqlMode::ANSI_QUOTES | 1 << 18));
        assert_eq!(
            ansi,
            "CREATE TABLE \"t\" (\n  \"id\" int(11) NOT NULL COMMENT 'it''s AUTO_INCREMENT `x`',\n  \"q`\"\"x\" int(11) DEFAULT 3,\n  \
             \"ts\" timestamp NOT NULL ON UPDATE current_timestamp(),\n  PRIMARY KEY (\"id\"),\n  KEY \"k\" (\"id\"),\n  \
             CONSTRAINT \"f\" FOREIGN KEY (\"id\") REFERENCES \"u\" (\"id\") ON UPDATE CASCADE\n)"
        );
        let fields = table(TABLE, SqlMode(NO_FIELD_OPTIONS));
        assert!(!fields.contains("ON UPDATE current") && fields.contains("ON UPDATE CASCADE"));
        assert!(fields.contains("USING BTREE COMMENT 'of `k`'") && !fields.contains("INVISIBLE"));
        let keys = table(TABLE, SqlMode(NO_KEY_OPTIONS));
        assert!(keys.contains("  KEY `k` (`id`),\n") && keys.contains("NULL AUTO_INCREMENT"));
        assert!(table(TABLE, SqlMode(NO_TABLE_OPTIONS)).ends_with("CASCADE\n)"));
        let sequence = "CREATE SEQUENCE `s` start with 1 nocycle ENGINE=InnoDB";
        assert_eq!(table(sequence, SqlMode(NO_TABLE_OPTIONS)), "CREATE SEQUENCE `s` start with 1 nocycle");
    }

    #[test]
    fn a_view_for_another_server_is_a_plain_one() {
        let text = "CREATE ALGORITHM=MERGE DEFINER=`root`@`localhost` SQL SECURITY DEFINER VIEW `v` AS select 'a`b' AS `VIEW `";
        assert_eq!(
            view(text, SqlMode(SqlMode::ANSI_QUOTES | 1 << 18)),
            "CREATE VIEW \"v\" AS select 'a`b' AS \"VIEW \""
        );
        assert!(view(text, SqlMode(SqlMode::ANSI_QUOTES)).contains("DEFINER=\"root\"@\"localhost\""));
    }
}
