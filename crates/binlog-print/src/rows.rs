//! Rows events: headers first, then one BINLOG statement for the whole statement, then its rows as comments.

use std::io::Write as _;
use std::rc::Rc;

use base::Corruption;
use event_format::base64;
use event_format::{
    Event, Header, Image, RowChange, Rows, RowsKind, TableMap, WireColumn, rows_flags, write,
};

use crate::printer::{PrintError, Printer};
use crate::query::DELIMITER;
use crate::session::quoted_name;
use crate::{Base64, values};

/// A table that rows events may name by its number.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) columns: Rc<[WireColumn]>,
    nullable: Rc<[bool]>,
    /// Name with backticks.
    shown: Vec<u8>,
    /// False: the rows are not shown.
    pub(crate) selected: bool,
}

/// The statement whose rows events are being read.
#[derive(Debug, Default)]
pub(crate) struct Statement {
    /// TABLE_MAPs that may still be followed by rows, as base64.
    pub(crate) maps: Vec<u8>,
    /// Header lines.
    head: Vec<u8>,
    /// BINLOG's text.
    body: Vec<u8>,
    /// Rows as comments.
    tail: Vec<u8>,
    rows: u64,
}

impl Printer {
    /// Remembers the table; nothing is shown of one that is not selected.
    pub(crate) fn table_map(
        &mut self,
        header: &Header,
        event: &[u8],
        map: &TableMap<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Corruption> {
        let database = self.rewritten(map.database).to_vec();
        let selected = self.selects_table(&database, map.table);
        let mut shown = Vec::new();
        quoted_name(&database, &mut shown);
        shown.push(b'.');
        quoted_name(map.table, &mut shown);
        let table = Table {
            columns: map.columns()?.into(),
            nullable: (0..map.width()).map(|i| map.nullable.get(i)).collect(),
            shown: shown.clone(),
            selected,
        };
        self.tables.insert(map.table_id, table);
        let annotate = self.annotate.take();
        if !selected {
            return Ok(());
        }
        if let Some((header, event, text)) = annotate {
            self.annotate(&header, &event, &text, out);
        }
        if !self.options.short_form {
            self.header(header, event, out);
            out.extend_from_slice(b"\tTable_map: ");
            out.extend_from_slice(&shown);
            drop(writeln!(out, " mapped to number {}", map.table_id));
        }
        if database == map.database {
            base64::write(event, &mut self.statement.maps);
        } else {
            let mut renamed = Vec::new();
            let event = Event::TableMap(TableMap { database: &database, ..*map });
            write(&mut renamed, &header.stamp(), &event, self.checksum);
            base64::write(&renamed, &mut self.statement.maps);
        }
        Ok(())
    }

    pub(crate) fn rows_event(
        &mut self,
        header: &Header,
        event: &[u8],
        rows: &Rows<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), PrintError> {
        // The TABLE_MAP may stand before the place where the reading began.
        let table = self.tables.get(&rows.table_id).cloned();
        let ends = rows.flags & rows_flags::STATEMENT_END != 0;
        if table.as_ref().is_none_or(|table| table.selected) {
            self.show_rows(header, event, rows, table.as_ref())?;
        }
        if ends {
            self.end_statement(out);
        }
        Ok(())
    }

    fn show_rows(
        &mut self,
        header: &Header,
        event: &[u8],
        rows: &Rows<'_>,
        table: Option<&Table>,
    ) -> Result<(), PrintError> {
        // A server runs compressed events only from its own log: they are written out plain.
        let mut plain = Vec::new();
        if rows.compressed {
            let rows = Rows { compressed: false, ..rows.clone() };
            write(&mut plain, &header.stamp(), &Event::Rows(rows), self.checksum);
        }
        let written = if rows.compressed { &plain } else { event };
        let mut head = std::mem::take(&mut self.statement.head);
        if !self.options.short_form {
            self.header_of(header, event, written, &mut head);
            let change = match rows.change {
                RowsKind::Write => "Write",
                RowsKind::Update => "Update",
                RowsKind::Delete => "Delete",
            };
            let compressed = if rows.compressed { "_compressed" } else { "" };
            drop(write!(head, "\t{change}{compressed}_rows: table id {}", rows.table_id));
            if rows.flags & rows_flags::STATEMENT_END != 0 {
                head.extend_from_slice(b" flags: STMT_END_F");
            }
            head.push(b'\n');
        }
        self.statement.head = head;
        if self.options.base64 == Base64::Auto && !self.options.short_form {
            let maps = std::mem::take(&mut self.statement.maps);
            self.statement.body.extend_from_slice(&maps);
            base64::write(written, &mut self.statement.body);
        }
        match table {
            Some(table) => self.row_comments(rows, table)?,
            None => drop(writeln!(self.statement.tail, "### Row event for unknown table #{}", rows.table_id)),
        }
        Ok(())
    }

    fn row_comments(&mut self, rows: &Rows<'_>, table: &Table) -> Result<(), Corruption> {
        let columns = Rc::clone(&table.columns);
        let mut count = 0;
        let verbose = if self.options.short_form { 0 } else { self.options.verbose };
        let tail = &mut self.statement.tail;
        for change in rows.changes(&columns)? {
            let change = change?;
            count += 1;
            if verbose > 0 {
                comment(&change, rows.change, table, verbose, tail);
            }
        }
        self.statement.rows += count;
        Ok(())
    }

    /// The statement's last rows event was read.
    pub(crate) fn end_statement(&mut self, out: &mut Vec<u8>) {
        let Statement { head, body, tail, rows, .. } = std::mem::take(&mut self.statement);
        out.extend_from_slice(&head);
        if !body.is_empty() {
            out.extend_from_slice(b"\nBINLOG '\n");
            out.extend_from_slice(&body);
            out.push(b'\'');
            out.extend_from_slice(DELIMITER);
        }
        out.extend_from_slice(&tail);
        let shown = rows > 0 && self.options.print_row_count && !self.options.short_form;
        if shown {
            drop(writeln!(out, "# Number of rows: {rows}"));
        }
    }
}

/// One row's change as commented SQL.
fn comment(change: &RowChange<'_>, kind: RowsKind, table: &Table, verbose: u8, out: &mut Vec<u8>) {
    let (verb, first, second) = match kind {
        RowsKind::Write => ("INSERT INTO", "SET", None),
        RowsKind::Update => ("UPDATE", "WHERE", Some("SET")),
        RowsKind::Delete => ("DELETE FROM", "WHERE", None),
    };
    drop(write!(out, "### {verb} "));
    out.extend_from_slice(&table.shown);
    out.push(b'\n');
    let images = [&change.before, &change.after];
    let clauses = std::iter::once(first).chain(second);
    for (clause, image) in clauses.zip(images.into_iter().flatten()) {
        drop(writeln!(out, "### {clause}"));
        columns(image, table, verbose, out);
    }
}

fn columns(image: &Image<'_>, table: &Table, verbose: u8, out: &mut Vec<u8>) {
    for (i, value) in image.columns.iter().enumerate() {
        let Some(value) = value else { continue };
        drop(write!(out, "###   @{}=", i + 1));
        values::write(table.columns[i], *value, out);
        if verbose > 1 {
            let (name, meta) = values::type_name(table.columns[i]);
            drop(write!(
                out,
                " /* {name} meta={meta} nullable={} is_null={} */",
                u8::from(table.nullable[i]),
                u8::from(value.is_none())
            ));
        }
        out.push(b'\n');
    }
}
