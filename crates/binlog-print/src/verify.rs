//! `--verify`: reads everything and says what is there, and exactly where something is wrong.
//!
//! Of a classic file every event with its checksum is read; of a segment also every record that a group is made of, whatever segment it
//! stands in. Damage in one file does not keep the others from being read.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use event_format::{Checksum, Event, Header, read};

use crate::run::Failure;
use crate::source::segments::{SegmentError, SegmentLog};
use crate::source::{self, Source};

/// What a file holds.
#[derive(Debug, Default)]
struct Seen {
    checksum: Checksum,
    events: u64,
    groups: u64,
    rows: u64,
    /// First and last sequence number of a domain.
    domains: BTreeMap<u32, (u64, u64)>,
}

impl Seen {
    fn event(&mut self, bytes: &[u8]) -> Result<(), String> {
        let (header, event): (Header, Event<'_>) = read(bytes, self.checksum).map_err(|c| c.to_string())?;
        self.events += 1;
        match event {
            Event::FormatDescription(format) => self.checksum = format.events_checksum(),
            Event::Gtid(gtid) => {
                self.groups += 1;
                let place = self.domains.entry(gtid.domain_id).or_insert((gtid.seq_no, gtid.seq_no));
                if gtid.seq_no <= place.1 && gtid.seq_no != place.0 {
                    return Err(format!(
                        "GTID {}-{}-{} comes behind {}-x-{}",
                        gtid.domain_id, header.server_id, gtid.seq_no, gtid.domain_id, place.1
                    ));
                }
                place.1 = gtid.seq_no;
            }
            Event::Rows(_) => self.rows += 1,
            _ => {}
        }
        Ok(())
    }

    fn line(&self) -> String {
        let domains: Vec<String> = self
            .domains
            .iter()
            .map(|(domain, (first, last))| format!("domain {domain}: {first} to {last}"))
            .collect();
        let domains = if domains.is_empty() { "no groups".to_owned() } else { domains.join(", ") };
        format!("{} groups in {} events, {domains}", self.groups, self.events)
    }
}

/// Verifies a classic file; false when it is damaged.
pub(crate) fn file(path: &Path, out: &mut dyn Write) -> Result<bool, Failure> {
    let mut seen = Seen::default();
    let found = (|| -> Result<(), String> {
        let mut source = source::open(path, None).map_err(|e| e.to_string())?;
        let mut event = Vec::new();
        while let Some(at) = source.next(&mut event).map_err(|e| e.to_string())? {
            seen.event(&event).map_err(|e| format!("at {at}: {e}"))?;
        }
        Ok(())
    })();
    report(&path.display().to_string(), &seen, found.err(), out)
}

/// Verifies the segments of a directory, or one of them; false when one is damaged.
pub(crate) fn segments(directory: &str, only: Option<u64>, out: &mut dyn Write) -> Result<bool, Failure> {
    let log = match SegmentLog::open(directory) {
        Ok(log) => log,
        Err(error) => return report(directory, &Seen::default(), Some(error.to_string()), out),
    };
    let mut sound = true;
    for file in log.files().into_iter().filter(|f| only.is_none_or(|only| f.number == only)) {
        let mut seen = Seen::default();
        let read = log.each(file, 0, &mut |at, bytes| {
            seen.event(bytes).map(|()| true).map_err(|e| format!("offset {at}: {e}"))
        });
        let found = read.err().map(|e| match e {
            SegmentError::Read(error) => error.to_string(),
            SegmentError::Taker(text) => text,
        });
        sound &= report(&source::segments::name(file.number), &seen, found, out)?;
    }
    Ok(sound)
}

fn report(name: &str, seen: &Seen, found: Option<String>, out: &mut dyn Write) -> Result<bool, Failure> {
    match &found {
        None => writeln!(out, "{name}: ok, {}", seen.line())?,
        Some(what) => writeln!(out, "{name}: DAMAGED behind {}: {what}", seen.line())?,
    }
    Ok(found.is_none())
}
