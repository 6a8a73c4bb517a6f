//! `--flashback`: the changes of rows undone, last first.
//!
//! INSERT becomes DELETE, DELETE becomes INSERT, UPDATE changes the rows back; groups, the events of a group and the rows of an event
//! come in opposite order. Only rows can be undone: they need images of all columns, and definitions that have not changed since.
//! The inverted events of all that is selected are held until the file's end.

use std::borrow::Cow;
use std::rc::Rc;

use base::Corruption;
use event_format::{Bitmap, Event, Header, Rows, RowsKind, WireColumn, rows_flags, write};

use crate::printer::{PrintError, Printer};
use crate::query::DELIMITER;

/// A rows event turned around.
#[derive(Debug)]
struct Change {
    header: Header,
    table_map: Rc<[u8]>,
    rows: Vec<u8>,
}

/// The changes of a transaction.
#[derive(Debug)]
struct Group {
    /// Line of the event that ended it.
    end: Vec<u8>,
    changes: Vec<Change>,
}

/// What has been read of a file.
#[derive(Debug, Default)]
pub(crate) struct Flashback {
    groups: Vec<Group>,
    changes: Vec<Change>,
    table_map: Option<Rc<[u8]>>,
}

impl Printer {
    /// Takes an event instead of printing it.
    pub(crate) fn turn_around(
        &mut self,
        header: &Header,
        bytes: &[u8],
        event: &Event<'_>,
    ) -> Result<(), PrintError> {
        match event {
            Event::Gtid(_) => self.flashback.changes.clear(),
            Event::TableMap(map) => {
                let mut shown_later = Vec::new();
                self.table_map(header, bytes, map, &mut shown_later)?;
                self.statement.maps.clear();
                self.flashback.table_map = Some(bytes.into());
            }
            Event::Rows(rows) => self.turn_rows(header, rows)?,
            Event::Xid(xid) => self.end_group(header, bytes, format_args!("\tXid = {xid}\n")),
            Event::Query(query) if query.sql.eq_ignore_ascii_case(b"COMMIT") => {
                self.end_group(header, bytes, format_args!("\tQuery\n"));
            }
            _ => {}
        }
        Ok(())
    }

    fn end_group(&mut self, header: &Header, bytes: &[u8], rest: std::fmt::Arguments<'_>) {
        let changes = std::mem::take(&mut self.flashback.changes);
        if changes.is_empty() {
            return;
        }
        let mut end = Vec::new();
        self.line(header, bytes, rest, &mut end);
        self.flashback.groups.push(Group { end, changes });
    }

    fn turn_rows(&mut self, header: &Header, rows: &Rows<'_>) -> Result<(), PrintError> {
        let (Some(table), Some(table_map)) =
            (self.tables.get(&rows.table_id).cloned(), self.flashback.table_map.clone())
        else {
            return Err(Corruption::new("rows event", "table id", "one of a TABLE_MAP", rows.table_id).into());
        };
        if !table.selected {
            return Ok(());
        }
        let inverted = inverted(rows, &table.columns)?;
        let mut bytes = Vec::new();
        let event = Event::Rows(inverted);
        write(&mut bytes, &header.stamp(), &event, self.checksum);
        let header = Header { kind: event.kind(), length: bytes.len() as u32, ..*header };
        self.flashback.changes.push(Change { header, table_map, rows: bytes });
        Ok(())
    }

    /// Everything that was read, last first.
    pub(crate) fn print_turned(&mut self, out: &mut dyn std::io::Write) -> Result<(), PrintError> {
        let groups = std::mem::take(&mut self.flashback).groups;
        for group in groups.into_iter().rev() {
            let mut text = group.end;
            text.extend_from_slice(b"START TRANSACTION");
            text.extend_from_slice(DELIMITER);
            for change in group.changes.into_iter().rev() {
                self.print_change(&change, &mut text)?;
            }
            text.extend_from_slice(b"COMMIT\n");
            text.extend_from_slice(DELIMITER);
            out.write_all(&text)?;
        }
        Ok(())
    }

    /// The table's number means what it meant when the rows were written.
    fn print_change(&mut self, change: &Change, out: &mut Vec<u8>) -> Result<(), PrintError> {
        let (header, event) = event_format::read(&change.table_map, self.checksum)?;
        if let Event::TableMap(map) = &event {
            let mut shown_before = Vec::new();
            self.table_map(&header, &change.table_map, map, &mut shown_before)?;
        }
        let (_, event) = event_format::read(&change.rows, self.checksum)?;
        match &event {
            Event::Rows(rows) => self.rows_event(&change.header, &change.rows, rows, out),
            _ => Ok(()),
        }
    }
}

/// The event that undoes this one.
fn inverted<'a>(rows: &Rows<'a>, columns: &[WireColumn]) -> Result<Rows<'a>, Corruption> {
    let all = columns.len();
    let full = |bitmap: Bitmap<'_>| bitmap.count(all) == all;
    if !full(rows.present) || !rows.present_after.is_none_or(full) {
        return Err(Corruption::new("rows event", "columns of an image", "all, to be undone", "some"));
    }
    let mut changes = rows.changes(columns)?.collect::<Result<Vec<_>, _>>()?;
    changes.reverse();
    let mut images = Vec::with_capacity(rows.images.len());
    for change in &changes {
        for image in change.after.iter().chain(&change.before) {
            images.extend_from_slice(image.bytes);
        }
    }
    let change = match rows.change {
        RowsKind::Write => RowsKind::Delete,
        RowsKind::Update => RowsKind::Update,
        RowsKind::Delete => RowsKind::Write,
    };
    Ok(Rows {
        change,
        flags: rows.flags | rows_flags::STATEMENT_END,
        images: Cow::Owned(images),
        compressed: false,
        ..rows.clone()
    })
}
