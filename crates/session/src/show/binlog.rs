//! SHOW BINLOG EVENTS: the events of a file as a dump would send them, in words.

use binlog::{EmitError, EmitOptions, GroupHead, Next, Position, ReadError, SinkClosed, Start, Wait};
use binlog_file::Files;
use client_error::{ClientError, replication as refused};
use event_format::{
    Checksum, Event, FormatDescription, GtidList, Header, IntVarKind, Query, gtid_flags, header_flags,
    rows_flags,
};
use sql_plan::meta::{ColumnMeta, ExprType};
use sql_syntax::ast;
use types::Value;

use super::{Listing, int, s, text};
use crate::event_log::EventLog;
use crate::session::Session;
use crate::variables::Var;

/// Which rows are wanted.
struct Page {
    skip: u64,
    count: u64,
}

fn literal(session: &mut Session, e: Option<&ast::Expr<'_>>, default: u64) -> Result<u64, ClientError> {
    match e {
        None => Ok(default),
        Some(e) => {
            let value = crate::statement::evaluate(session, e)?;
            Ok(u64::try_from(crate::text::as_i64(&value)).unwrap_or(0))
        }
    }
}

pub(super) fn events(
    session: &mut Session,
    log: Option<&[u8]>,
    from: Option<u64>,
    limit: Option<&ast::Limit<'_>>,
) -> Result<Listing, ClientError> {
    let big = |name: &str| {
        ColumnMeta::plain(name, ExprType { length: 20, ..ExprType::bigint().not_null().unsigned() })
    };
    let columns = vec![
        text("Log_name", 20),
        big("Pos"),
        text("Event_type", 20),
        int("Server_id", 10),
        big("End_log_pos"),
        text("Info", 20),
    ];
    let mut page = Page {
        skip: literal(session, limit.and_then(|l| l.offset.as_ref()), 0)?,
        count: literal(session, limit.and_then(|l| l.count.as_ref()), u64::MAX)?,
    };
    if page.count == 0 {
        // MariaDB shows the first event then.
        (page.skip, page.count) = (0, 1);
    }
    let mut list = Listing { columns, rows: Vec::new(), like_column: 0 };
    let server = std::sync::Arc::clone(session.server());
    if !server.log_bin() {
        return Ok(list);
    }
    let files = server.backend().binlog.files();
    let number = match log {
        // A name with a directory is none of the index.
        Some(name) => server.backend().binlog.number(name).filter(|_| !name.contains(&b'/')),
        None => files.first().map(|f| f.number),
    };
    let failed = |reason: &str| refused::show_events_failed(reason);
    let number = number.ok_or_else(|| failed("Could not find target log"))?;
    let size = files.iter().find(|f| f.number == number).map_or(0, |f| f.size);
    let from = from.unwrap_or(4);
    if from > size {
        let text = format!(
            "Invalid pos specified. Requested from pos:{from} is greater than actual file size:{size}"
        );
        return Err(failed(&text));
    }
    let read = |e: ReadError| failed(&e.to_string());
    let name = server.backend().binlog.name(number);
    let begins = match &server.backend().binlog {
        EventLog::OneLog(log) => {
            from <= 4 || log.is_boundary(Position { segment: number, offset: from }).map_err(read)?
        }
        EventLog::Files(files) => begins_event(files, number, from).map_err(read)?,
    };
    if !begins {
        return Err(failed("Wrong offset or I/O error"));
    }
    if let EventLog::Files(files) = &server.backend().binlog {
        let shown = of_file(&mut list, &mut page, &name, files, (number, from));
        return shown.map(|()| list).map_err(|e| failed(&e.to_string()));
    }
    if from <= 4 {
        let state = server.backend().binlog.state_at(number).map_err(read)?;
        head(&mut list, &mut page, &name, server.variables.u64(Var::SERVER_ID), state);
    }
    let offset = if from <= 4 { 0 } else { from };
    let mut reader =
        server.backend().binlog.open(Start::At(Position { segment: number, offset })).map_err(read)?;
    while page.count > 0
        && let Next::Group(group) = reader.next(Wait::No).map_err(read)?
        && group.position.segment == number
    {
        let options = EmitOptions { checksum: Checksum::None, ..EmitOptions::default() };
        let mut position = group.position.offset;
        let mut sink = |bytes: &[u8], _: bool| row(&mut list, &mut page, &name, &group, &mut position, bytes);
        match reader.emit(&options, &mut sink) {
            Ok(()) | Err(EmitError::Sink(_)) => {}
            Err(EmitError::Read(e)) => return Err(read(e)),
        }
        if session.entry.killed() != crate::registry::Kill::No {
            return Err(crate::statement::killed_error(session));
        }
    }
    Ok(list)
}

/// Whether an event of a file begins at this place, or the file ends there.
fn begins_event(files: &Files, number: u64, from: u64) -> Result<bool, ReadError> {
    let mut events = files.events(number)?;
    events.seek(4);
    while events.at() < from
        && let Some(header) = events.peek()?
    {
        events.skip(&header);
    }
    Ok(from <= 4 || events.at() == from)
}

/// The events of a file of its own, as they stand there.
fn of_file(
    list: &mut Listing,
    page: &mut Page,
    name: &str,
    files: &Files,
    (number, from): (u64, u64),
) -> Result<(), ReadError> {
    let mut events = files.events(number)?;
    let mut bytes = Vec::new();
    events.seek(from.max(4));
    let wrong = |_| ReadError::Stopped("Wrong offset or I/O error".to_owned());
    events.peek().map_err(wrong)?;
    while page.count > 0
        && let Some(header) = events.peek()?
    {
        let at = events.at();
        events.take(&header, &mut bytes)?;
        if page.skip > 0 {
            page.skip -= 1;
            continue;
        }
        let read = event_format::read(&bytes, events.checksum()).map_err(|e| events.corrupt(at, e))?;
        let text = match read {
            (header, Event::Query(q)) => query(&q, header.flags),
            (header, event) => with_server(&event, &header),
        };
        let kind = header.kind.name().unwrap_or("Unknown");
        let (server, end) =
            (Value::Int(i64::from(header.server_id)), Value::UInt(header.next_position.into()));
        put(list, page, [s(name), Value::UInt(at), s(kind), server, end, s(&text)]);
    }
    Ok(())
}

/// The events that a stream of the file begins with.
fn head(list: &mut Listing, page: &mut Page, name: &str, server_id: u64, gtids: Vec<base::Gtid>) {
    let format = FormatDescription::new(crate::handshake::VERSION, 0, Checksum::Crc32);
    let events = [Event::FormatDescription(format), Event::GtidList(GtidList { flags: 0, gtids })];
    for event in events {
        let kind = event.kind().name().unwrap_or_default();
        put(
            list,
            page,
            [
                s(name),
                Value::UInt(4),
                s(kind),
                Value::Int(server_id as i64),
                Value::UInt(0),
                s(&info(&event)),
            ],
        );
    }
}

fn put(list: &mut Listing, page: &mut Page, row: [Value; 6]) {
    if page.skip > 0 {
        page.skip -= 1;
    } else if page.count > 0 {
        page.count -= 1;
        list.row(row);
    }
}

/// One event; positions go on where an event states its own.
fn row(
    list: &mut Listing,
    page: &mut Page,
    name: &str,
    group: &GroupHead,
    position: &mut u64,
    bytes: &[u8],
) -> Result<(), SinkClosed> {
    if page.count == 0 {
        return Err(SinkClosed);
    }
    // The events were made a moment ago; one that cannot be read shows what its header says.
    let (header, text) = match event_format::read(bytes, Checksum::None) {
        Ok((header, Event::Query(q))) => (header, query(&q, header.flags)),
        Ok((header, event)) => (header, with_server(&event, &header)),
        Err(e) => match Header::read(bytes) {
            Ok(header) => (header, e.to_string()),
            Err(_) => return Err(SinkClosed),
        },
    };
    let kind = header.kind.name().unwrap_or("Unknown");
    let end = u64::from(header.next_position);
    let columns = [
        s(name),
        Value::UInt(*position),
        s(kind),
        Value::Int(i64::from(header.server_id)),
        Value::UInt(end),
        s(&text),
    ];
    put(list, page, columns);
    *position = if end > 0 { end } else { group.position.offset };
    Ok(())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn query(q: &Query<'_>, flags: u16) -> String {
    let text = lossy(&q.sql);
    if q.database.is_empty() || flags & header_flags::SUPPRESS_USE != 0 {
        return text;
    }
    format!("use `{}`; {text}", lossy(q.database).replace('`', "``"))
}

fn with_server(event: &Event<'_>, header: &Header) -> String {
    let Event::Gtid(gtid) = event else { return info(event) };
    let begin = if gtid.flags & gtid_flags::STANDALONE == 0 { "BEGIN " } else { "" };
    format!("{begin}GTID {}-{}-{}", gtid.domain_id, header.server_id, gtid.seq_no)
}

fn info(event: &Event<'_>) -> String {
    match event {
        Event::FormatDescription(f) => {
            format!("Server ver: {}, Binlog ver: {}", lossy(f.server_version), f.binlog_version)
        }
        Event::GtidList(list) => {
            let gtids: Vec<_> = list.gtids.iter().map(base::Gtid::to_string).collect();
            format!("[{}]", gtids.join(","))
        }
        Event::Annotate(a) => lossy(a.text),
        Event::TableMap(t) => format!("table_id: {} ({}.{})", t.table_id, lossy(t.database), lossy(t.table)),
        Event::Rows(r) if r.flags & rows_flags::STATEMENT_END != 0 => {
            format!("table_id: {} flags: STMT_END_F", r.table_id)
        }
        Event::Rows(r) => format!("table_id: {}", r.table_id),
        Event::Xid(xid) => format!("COMMIT /* xid={xid} */"),
        Event::IntVar(v) => {
            let name = if v.kind == IntVarKind::InsertId { "INSERT_ID" } else { "LAST_INSERT_ID" };
            format!("{name}={}", v.value)
        }
        Event::BinlogCheckpoint(c) => lossy(c.file),
        Event::Rotate(r) => format!("{};pos={}", lossy(r.file), r.position),
        _ => String::new(),
    }
}
