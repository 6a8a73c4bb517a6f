//! What a replica makes of the stream, and what it would refuse.

use std::collections::HashMap;

use base::Gtid;
use binlog::{EmitError, EmitOptions, EventSink, GroupHead, GroupReader, Next, ReadError, SinkClosed, Wait};
use binlog_file::FileGroups;
use event_format::{Checksum, Event, Image, Rows, WireColumn, gtid_flags, rows_flags};

use crate::world::{Row, State};

/// A reader of either kind of binary log.
pub(crate) trait Reads {
    fn next(&mut self, wait: Wait) -> Result<Next, ReadError>;
    fn emit(&mut self, options: &EmitOptions, sink: &mut dyn EventSink) -> Result<(), EmitError>;
}

impl Reads for GroupReader {
    fn next(&mut self, wait: Wait) -> Result<Next, ReadError> {
        Self::next(self, wait)
    }
    fn emit(&mut self, options: &EmitOptions, sink: &mut dyn EventSink) -> Result<(), EmitError> {
        Self::emit(self, options, sink)
    }
}

impl Reads for FileGroups {
    fn next(&mut self, wait: Wait) -> Result<Next, ReadError> {
        Self::next(self, wait)
    }
    fn emit(&mut self, options: &EmitOptions, sink: &mut dyn EventSink) -> Result<(), EmitError> {
        Self::emit(self, options, sink)
    }
}

/// One group as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    pub(crate) head: Option<GroupHead>,
    pub(crate) events: Vec<Vec<u8>>,
}

impl EventSink for Group {
    fn event(&mut self, bytes: &[u8], last: bool) -> Result<(), SinkClosed> {
        let terminator = match event_format::read(bytes, Checksum::Crc32).expect("an event").1 {
            Event::Query(query) => !query.sql.starts_with(b"SAVEPOINT"),
            event => matches!(event, Event::Xid(_)),
        };
        assert_eq!(last, terminator && !self.events.is_empty(), "the last event ends the group");
        self.events.push(bytes.to_vec());
        Ok(())
    }
}

/// Rows by applying groups.
#[derive(Debug, Default)]
pub(crate) struct Replica {
    pub(crate) state: State,
    pub(crate) groups: u64,
    pub(crate) last: Option<Gtid>,
    pub(crate) rotations: u64,
    pub(crate) texts: Vec<String>,
}

impl Replica {
    /// Everything that the reader has now.
    pub(crate) fn follow(&mut self, reader: &mut dyn Reads) {
        self.try_follow(reader).expect("a stream without damage");
    }

    pub(crate) fn try_follow(&mut self, reader: &mut dyn Reads) -> Result<(), EmitError> {
        loop {
            match reader.next(Wait::No)? {
                Next::Group(head) => {
                    let mut group = Group { head: Some(head), ..Group::default() };
                    reader.emit(&EmitOptions::default(), &mut group)?;
                    self.apply(&group);
                }
                Next::Rotated { .. } => self.rotations += 1,
                Next::Nothing => return Ok(()),
            }
        }
    }

    pub(crate) fn apply(&mut self, group: &Group) {
        let head = group.head.expect("a head");
        let mut tables: HashMap<u64, (String, Vec<WireColumn>)> = HashMap::new();
        let (mut ended, mut rows_seen) = (true, false);
        for (i, bytes) in group.events.iter().enumerate() {
            let (header, event) = event_format::read(bytes, Checksum::Crc32).expect("an event");
            assert_eq!((header.server_id, header.timestamp), (1, 1_800_000_000));
            let first = i == 0;
            assert_eq!(first, matches!(event, Event::Gtid(_)), "a group begins with its GTID: {event:?}");
            match event {
                Event::Gtid(gtid) => {
                    assert_eq!((gtid.seq_no, gtid.domain_id), (head.gtid.seq_no, head.gtid.domain_id));
                    assert_eq!(
                        gtid.flags & !gtid_flags::WAITED,
                        gtid_flags::TRANSACTIONAL | gtid_flags::ALLOW_PARALLEL
                    );
                    assert_eq!(gtid.thread_id, 9);
                    let next = self.last.map_or(1, |last| last.seq_no + 1);
                    assert_eq!(gtid.seq_no, next, "GTIDs without a gap");
                    self.last = Some(head.gtid);
                }
                Event::Annotate(a) => {
                    assert!(ended, "a text before its statement");
                    self.texts.push(String::from_utf8(a.text.to_vec()).expect("utf8"));
                }
                Event::TableMap(map) => {
                    if ended {
                        tables.clear();
                    }
                    assert!(ended || !rows_seen, "table maps come before the statement's rows");
                    (ended, rows_seen) = (false, false);
                    let name = String::from_utf8(map.table.to_vec()).expect("utf8");
                    tables.insert(map.table_id, (name, map.columns().expect("columns")));
                }
                Event::Rows(rows) => {
                    rows_seen = true;
                    ended = rows.flags & rows_flags::STATEMENT_END != 0;
                    let (name, columns) = tables.get(&rows.table_id).expect("a mapped table");
                    change(self.state.entry(name.clone()).or_default(), &rows, columns);
                }
                Event::Query(query) => {
                    assert!(ended, "a savepoint between statements");
                    self.texts.push(String::from_utf8(query.sql.to_vec()).expect("utf8"));
                }
                Event::Xid(_) => {
                    assert!(ended, "the last statement has ended");
                    assert_eq!(u64::from(header.next_position), head.end.offset);
                }
                other => panic!("not in a group of rows: {other:?}"),
            }
        }
        self.groups += 1;
    }
}

fn change(table: &mut std::collections::BTreeMap<i32, Row>, rows: &Rows<'_>, columns: &[WireColumn]) {
    let mut count = 0;
    for one in rows.changes(columns).expect("images") {
        let one = one.expect("an image");
        count += 1;
        let mut found = None;
        if let Some(before) = &one.before {
            let key = before.columns[0].flatten().expect("the key is in every image before");
            let row = table.remove(&i32::from_le_bytes(key.try_into().expect("4 bytes"))).expect("a row");
            for (told, is) in before.columns.iter().zip(&row) {
                assert!(told.is_none_or(|told| told == is.as_deref()), "the image before is the row");
            }
            found = Some(row);
        }
        if let Some(after) = &one.after {
            let row = match found {
                None => whole(after),
                Some(row) => changed(row, after),
            };
            assert_eq!(table.insert(id(&row), row), None, "a new row's key is free");
        }
    }
    assert!(count > 0, "no rows event is empty");
}

fn whole(image: &Image<'_>) -> Row {
    image.columns.iter().map(|c| c.expect("every column").map(<[u8]>::to_vec)).collect()
}

fn changed(mut row: Row, image: &Image<'_>) -> Row {
    for (column, told) in row.iter_mut().zip(&image.columns) {
        if let Some(value) = told {
            *column = value.map(<[u8]>::to_vec);
        }
    }
    row
}

fn id(row: &Row) -> i32 {
    i32::from_le_bytes(row[0].clone().expect("an id").try_into().expect("4 bytes"))
}
