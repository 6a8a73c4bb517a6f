//! Texts of GTID positions as replicas and users write them: `domain-server-sequence`, separated by commas.
//!
//! MariaDB allows spaces and a plus sign before a number and nothing else: no space behind one, no empty item.

use base::Gtid;

/// Why a text names no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GtidListError {
    Syntax,
    /// A position has one GTID for each domain.
    SameDomain {
        second: Gtid,
        first: Gtid,
    },
}

/// A list in which domains may come again: `gtid_binlog_state`. The empty text is the empty list.
pub fn parse_state(text: &str) -> Result<Vec<Gtid>, GtidListError> {
    let mut out = Vec::new();
    if text.is_empty() {
        return Ok(out);
    }
    for item in text.split(',') {
        out.push(parse_gtid(item).ok_or(GtidListError::Syntax)?);
    }
    Ok(out)
}

/// A position: at most one GTID for each domain. In the order of the text.
pub fn parse_position(text: &str) -> Result<Vec<Gtid>, GtidListError> {
    let gtids = parse_state(text)?;
    for (i, second) in gtids.iter().enumerate() {
        if let Some(first) = gtids[..i].iter().find(|g| g.domain_id == second.domain_id) {
            return Err(GtidListError::SameDomain { second: *second, first: *first });
        }
    }
    Ok(gtids)
}

/// The text of a list.
pub fn format_list(gtids: &[Gtid]) -> String {
    gtids.iter().map(Gtid::to_string).collect::<Vec<_>>().join(",")
}

fn parse_gtid(item: &str) -> Option<Gtid> {
    let mut parts = item.split('-').map(number);
    let domain_id = u32::try_from(parts.next()??).ok()?;
    let server_id = u32::try_from(parts.next()??).ok()?;
    let seq_no = parts.next()??;
    parts.next().is_none().then_some(Gtid { domain_id, server_id, seq_no })
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim_start_matches([' ', '\t']);
    let digits = text.strip_prefix('+').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_real_server_takes_is_taken() {
        for (text, means) in [
            ("", ""),
            (" 0-1-5", "0-1-5"),
            ("0- 1-5", "0-1-5"),
            ("+0-1-5", "0-1-5"),
            ("4294967295-1-1", "4294967295-1-1"),
            ("0-1-18446744073709551615", "0-1-18446744073709551615"),
            ("0-1-1, 1-1-1", "0-1-1,1-1-1"),
            ("00-01-0005", "0-1-5"),
            ("0-0-0", "0-0-0"),
        ] {
            assert_eq!(parse_position(text).map(|l| format_list(&l)).as_deref(), Ok(means), "{text}");
        }
    }

    #[test]
    fn what_a_real_server_refuses_is_refused() {
        for text in [
            "0-1-5 ",
            "0-1-5,",
            "0 -1-5",
            "-1-1-1",
            "4294967296-1-1",
            "0-1-18446744073709551616",
            "0-4294967296-1",
            " ",
            "0-1-1 ,1-1-1",
            "0-1",
            "0-1-1-1",
            ",0-1-1",
            "0x1-1-1",
            "x",
        ] {
            assert_eq!(parse_position(text), Err(GtidListError::Syntax), "{text}");
        }
    }

    #[test]
    fn a_domain_stands_once_in_a_position_and_often_in_a_state() {
        let gtid = |server_id, seq_no| Gtid { domain_id: 0, server_id, seq_no };
        let same = GtidListError::SameDomain { second: gtid(2, 2), first: gtid(1, 1) };
        assert_eq!(parse_position("0-1-1,0-2-2"), Err(same));
        assert_eq!(parse_state("0-1-1,0-2-2"), Ok(vec![gtid(1, 1), gtid(2, 2)]));
    }
}
