//! The stream of a dump over groups that the test makes.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::{Gtid, Lsn};
use binlog::{EmitError, EmitOptions, EventSink, GroupHead, Next, Position, ReadError, Start, Wait};
use event_format::{
    Checksum, Event, EventKind, GtidEvent, GtidList, Header, MetadataLevel, Stamp, gtid_flags, header_flags,
    read, write,
};
use replication::acks::Wanted;
use replication::{
    Begin, BinaryLog, Capability, DumpControl, DumpFacts, DumpRequest, DumpThread, Ended, Groups, GtidStart,
    Line, LogFile, Replicas, SemiSync, SemiSyncConfig, Stop, format_list, parse_position, parse_state,
};
use wire::{ErrPacket, PacketReader};

/// Bytes of a group in the log.
const STEP: u64 = 100;

/// Files of GTIDs.
struct Log {
    files: Vec<(Vec<Gtid>, u64)>,
    state_at_first: Vec<Gtid>,
}

impl Log {
    fn new(files: &[&str], before: &str) -> Self {
        let of = |text: &&str| (parse_state(text).unwrap(), 1_000_000);
        Self { files: files.iter().map(of).collect(), state_at_first: parse_state(before).unwrap() }
    }
    fn states(&self) -> Vec<Vec<Gtid>> {
        let mut out = vec![self.state_at_first.clone()];
        let mut state = self.state_at_first.clone();
        for (gtids, _) in &self.files {
            for gtid in gtids {
                state.retain(|g| (g.domain_id, g.server_id) != (gtid.domain_id, gtid.server_id));
                state.push(*gtid);
            }
            out.push(state.clone());
        }
        out
    }
}

impl BinaryLog for Log {
    fn files(&self) -> Vec<LogFile> {
        let file = |(at, (gtids, start)): (usize, &(Vec<Gtid>, u64))| LogFile {
            segment: at as u64 + 1,
            name: format!("{:06}.seg", at + 1),
            start: Lsn(start * (at as u64 + 1)),
            size: 64 + STEP * gtids.len() as u64,
            created: 1_700_000_000,
        };
        self.files.iter().enumerate().map(file).collect()
    }
    fn state(&self) -> Vec<Gtid> {
        self.states().pop().unwrap()
    }
    fn locate(&self, wanted: &dyn Fn(&[Gtid]) -> bool) -> Result<Option<(Position, Vec<Gtid>)>, ReadError> {
        let states = self.states();
        let found = (0..self.files.len()).rev().find(|at| wanted(&states[*at]));
        Ok(found.map(|at| (Position { segment: at as u64 + 1, offset: 0 }, states[at].clone())))
    }
    fn state_at_head(&self, segment: u64) -> Result<Vec<Gtid>, ReadError> {
        Ok(self.states()[segment as usize - 1].clone())
    }
    fn open(&self, start: Start) -> Result<Box<dyn Groups>, ReadError> {
        let Start::At(place) = start else { panic!("{start:?}") };
        let mut left = Vec::new();
        for (at, (gtids, _)) in self.files.iter().enumerate() {
            let segment = at as u64 + 1;
            if segment < place.segment {
                continue;
            }
            if segment > place.segment {
                left.push(Next::Rotated { segment });
            }
            for (i, gtid) in gtids.iter().enumerate() {
                let offset = 64 + STEP * i as u64;
                let (position, end) =
                    (Position { segment, offset }, Position { segment, offset: offset + STEP });
                if position >= place {
                    left.push(Next::Group(GroupHead {
                        gtid: *gtid,
                        flags: 0,
                        time: 1_700_000_000_000_000,
                        thread_id: 1,
                        commit_id: 0,
                        position,
                        end,
                        span: STEP,
                    }));
                }
            }
        }
        left.reverse();
        Ok(Box::new(Reader { left, current: None }))
    }
}

struct Reader {
    left: Vec<Next>,
    current: Option<GroupHead>,
}

impl Groups for Reader {
    fn next(&mut self, _: Wait) -> Result<Next, ReadError> {
        let next = self.left.pop().unwrap_or(Next::Nothing);
        if let Next::Group(head) = next {
            self.current = Some(head);
        }
        Ok(next)
    }
    fn emit(&mut self, options: &EmitOptions, sink: &mut dyn EventSink) -> Result<(), EmitError> {
        let head = self.current.expect("a group");
        let stamp = Stamp { timestamp: 1, server_id: head.gtid.server_id, ..Stamp::default() };
        let gtid = GtidEvent {
            seq_no: head.gtid.seq_no,
            domain_id: head.gtid.domain_id,
            flags: gtid_flags::TRANSACTIONAL,
            ..GtidEvent::default()
        };
        let mut bytes = Vec::new();
        write(&mut bytes, &stamp, &Event::Gtid(gtid), options.checksum);
        sink.event(&bytes, false)?;
        bytes.clear();
        write(&mut bytes, &stamp, &Event::Xid(7), options.checksum);
        sink.event(&bytes, true)?;
        Ok(())
    }
    fn interrupt(&self) -> Box<dyn Fn() + Send + Sync> {
        Box::new(|| ())
    }
}

#[derive(Default)]
struct Memory(Mutex<Vec<u8>>);

impl Line for Memory {
    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }
    fn receive(&self, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }
}

/// Ends the stream after so many questions.
struct Control(AtomicUsize, Stop);

impl DumpControl for Control {
    fn facts(&self) -> DumpFacts {
        DumpFacts {
            server_id: 33,
            version: "11.8.9-MariaDB",
            checksum: Checksum::Crc32,
            metadata: MetadataLevel::NoLog,
            row_event_size_max: 8192,
        }
    }
    fn stopped(&self) -> Option<Stop> {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        (left == 0).then_some(self.1)
    }
    fn set_state(&self, _: &'static str) {}
    fn wall_seconds(&self) -> u32 {
        1_700_000_001
    }
}

fn by_gtid(position: &str) -> DumpRequest {
    DumpRequest {
        server_id: 9,
        flags: 1,
        file: String::new(),
        position: 4,
        gtid: Some(GtidStart { position: parse_position(position).unwrap(), strict: false, until: None }),
        capability: Capability::Gtid,
        checksum: Some(true),
        heartbeat: None,
        semi_sync: false,
    }
}

/// What the client reads, in short.
fn stream(log: &Log, request: &DumpRequest) -> Vec<String> {
    stream_with(log, request, &Control(AtomicUsize::new(1000), Stop::Connection), None)
}

fn stream_with(
    log: &Log,
    request: &DumpRequest,
    control: &Control,
    semi_sync: Option<(&SemiSync, &Mutex<Wanted>)>,
) -> Vec<String> {
    let memory = Memory::default();
    let begin = match Begin::new(log, request, true) {
        Ok(begin) => begin,
        Err(e) => return vec![e.to_string()],
    };
    let replicas = Replicas::default();
    let registered = replicas.begin(request.server_id, 1, begin.lsn(), || ()).unwrap();
    let dump = DumpThread { log, line: &memory, control, registered: &registered, semi_sync };
    let mut groups = begin.open(log).unwrap();
    let ended = dump.run(request, begin, &mut *groups);
    let mut out = packets(&memory.0.lock().unwrap(), semi_sync.is_some());
    if matches!(ended, Ended::Lost) {
        out.push("lost".into());
    }
    out
}

fn packets(bytes: &[u8], semi_sync: bool) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = bytes;
    let mut reader = PacketReader::new(1 << 30);
    while !rest.is_empty() {
        reader.set_sequence(rest[3]);
        let length = 4 + (usize::from(rest[0]) | usize::from(rest[1]) << 8);
        reader.spare()[..length].copy_from_slice(&rest[..length]);
        reader.filled(length);
        assert!(reader.poll().unwrap());
        out.push(shown(reader.payload(), semi_sync));
        rest = &rest[length..];
    }
    out
}

fn shown(payload: &[u8], semi_sync: bool) -> String {
    match payload[0] {
        0 => {}
        0xff => return String::from_utf8_lossy(ErrPacket::decode(payload).unwrap().message).into_owned(),
        _ => return "end".into(),
    }
    let event = if semi_sync { &payload[3..] } else { &payload[1..] };
    let header = Header::read(event).unwrap();
    let bare = header.kind == EventKind::ROTATE && event.len() == 19 + 8 + 10;
    let checksum = if bare { Checksum::None } else { Checksum::Crc32 };
    let (_, body) = read(event, checksum).unwrap();
    let artificial = if header.flags & header_flags::ARTIFICIAL != 0 { "*" } else { "" };
    let ack = if semi_sync && payload[2] == 1 { "!" } else { "" };
    match body {
        Event::Rotate(r) => format!("rotate{artificial} {} {}", String::from_utf8_lossy(r.file), r.position),
        Event::FormatDescription(f) => format!("format {}", if f.created == 0 { "old" } else { "new" }),
        Event::GtidList(GtidList { flags, gtids }) => {
            format!("list{artificial} {flags} {} at {}", format_list(&gtids), header.next_position)
        }
        Event::BinlogCheckpoint(c) => format!("checkpoint {}", String::from_utf8_lossy(c.file)),
        Event::Gtid(g) => format!("{}-{}-{}", g.domain_id, header.server_id, g.seq_no),
        Event::Xid(_) => format!("xid{ack}"),
        Event::Heartbeat(_) => format!("heartbeat {}", header.next_position),
        other => format!("{:?}", EventKind(other.kind().0)),
    }
}

const HEAD_1: [&str; 2] = ["rotate* 000001.seg 4", "format new"];

#[test]
fn a_fresh_replica_gets_everything_from_the_first_file_on() {
    let log = Log::new(&["0-1-1,0-1-2", "0-1-3"], "");
    let got = stream(&log, &by_gtid(""));
    let expected = [
        "list 0  at 33",
        "checkpoint 000001.seg",
        "0-1-1",
        "xid",
        "0-1-2",
        "xid",
        "rotate 000002.seg 4",
        "rotate* 000002.seg 4",
        "format old",
        "list 0 0-1-2 at 47",
        "checkpoint 000002.seg",
        "0-1-3",
        "xid",
        "end",
    ];
    assert_eq!(got, [&HEAD_1[..], &expected].concat());
}

#[test]
fn what_a_replica_has_is_passed_over_and_told() {
    let log = Log::new(&["0-1-1,0-1-2,0-1-3"], "");
    let got = stream(&log, &by_gtid("0-1-2"));
    assert_eq!(
        got[2..],
        ["list 0  at 33", "checkpoint 000001.seg", "list* 0 0-1-2 at 264", "0-1-3", "xid", "end"]
    );
    // It has all: told at once, so that its position moves.
    let got = stream(&log, &by_gtid("0-1-3"));
    assert_eq!(got[4..], ["list* 0 0-1-3 at 364", "end"]);
}

#[test]
fn refusals_have_mariadbs_words() {
    let log = Log::new(&["0-1-5,0-1-10"], "0-1-4");
    let first = |position: &str| stream(&log, &by_gtid(position)).pop().unwrap();
    assert!(first("0-1-100").contains("GTID 0-1-100, which is not in the master's binlog"));
    assert!(first("0-2-3").contains("the slave has diverged"));
    assert!(first("").contains("Could not find GTID state requested by slave in any binlog files."));
    let mut strict = by_gtid("0-1-7");
    strict.gtid.as_mut().unwrap().strict = true;
    let got = stream(&log, &strict);
    assert!(got.last().unwrap().starts_with("The binlog on the master is missing the GTID 0-1-7"), "{got:?}");
    assert_eq!(stream(&log, &by_gtid("0-1-7"))[5..], ["0-1-10", "xid", "end"]);
}

#[test]
fn until_ends_the_stream_with_its_list() {
    let log = Log::new(&["0-1-1,2-1-1,0-1-2,0-1-3"], "");
    let mut request = by_gtid("");
    request.gtid.as_mut().unwrap().until = Some((parse_position("0-1-2").unwrap(), false));
    let got = stream(&log, &request);
    assert_eq!(got[4..], ["0-1-1", "xid", "0-1-2", "xid", "list* 1 0-1-2 at 364", "end"]);
    request.gtid.as_mut().unwrap().until = Some((Vec::new(), false));
    assert_eq!(stream(&log, &request)[4..], ["list* 1  at 70", "end"]);
}

#[test]
fn positions_are_taken_where_groups_end() {
    let log = Log::new(&["0-1-1,0-1-2", "0-1-3"], "");
    let at = |file: &str, position: u32| {
        let request = DumpRequest { gtid: None, file: file.into(), position, ..by_gtid("") };
        let tool = DumpRequest { capability: Capability::TolerateHoles, ..request.clone() };
        (stream(&log, &tool), stream(&log, &request))
    };
    let (tool, replica) = at("000002.seg", 4);
    assert_eq!(replica[5..], ["xid", "end"]);
    assert_eq!(tool.len(), 5, "{tool:?}");
    let (tool, replica) = at("000001.seg", 164);
    assert_eq!(tool[0], "rotate* 000001.seg 164");
    assert_eq!(tool.iter().filter(|e| *e == "xid").count(), 2);
    assert!(replica[0].contains("GTID starting position is required"));
    assert!(at("000001.seg", 165).0[0].contains("binlog truncated in the middle of event"));
    assert!(at("000001.seg", 3).0[0].contains("impossible position; the first event '000001.seg' at 3,"));
    assert!(at("000001.seg", 99_999).0[0].contains("impossible position"));
    assert!(at("nosuch", 4).0[0].contains("Could not find first log file name"));
    assert_eq!(at("", 4).1[..2], HEAD_1);
}

#[test]
fn a_client_that_knows_no_checksums_is_refused_behind_the_first_rotate() {
    let log = Log::new(&["0-1-1"], "");
    let got = stream(&log, &DumpRequest { checksum: None, ..by_gtid("") });
    assert_eq!(got[0], "rotate* 000001.seg 4");
    assert!(got[1].starts_with("Slave can not handle replication events with the checksum"), "{got:?}");
    assert_eq!(got.len(), 2);
}

#[test]
fn silence_is_filled_with_heartbeats_that_never_go_back() {
    let log = Log::new(&["0-1-1"], "");
    let request = DumpRequest { flags: 0, heartbeat: Some(Duration::from_nanos(1)), ..by_gtid("") };
    let got = stream_with(&log, &request, &Control(AtomicUsize::new(8), Stop::Connection), None);
    // The replica counts 4 + 29 + 37 + 42 + 31 bytes, the log is at 164: the larger one.
    assert!(got.iter().filter(|e| *e == "heartbeat 164").count() > 2, "{got:?}");
    assert_eq!(got.last().map(String::as_str), Some("lost"));
    let got = stream_with(&log, &request, &Control(AtomicUsize::new(8), Stop::Query), None);
    assert_eq!(got.last().map(String::as_str), Some("end"));
}

#[test]
fn the_last_event_of_a_group_is_to_be_acknowledged() {
    let log = Log::new(&["0-1-1,0-1-2,0-1-3"], "");
    let semi_sync = SemiSync::default();
    semi_sync.configure(SemiSyncConfig { enabled: true, ..SemiSyncConfig::default() });
    let wanted = Mutex::new(Wanted::default());
    let control = Control(AtomicUsize::new(100), Stop::Connection);
    let got = stream_with(&log, &by_gtid("0-1-1"), &control, Some((&semi_sync, &wanted)));
    assert_eq!(got[4..], ["list* 0 0-1-1 at 164", "0-1-2", "xid!", "0-1-3", "xid!", "end"]);
    let mut wanted = wanted.lock().unwrap();
    // As the replica counts: the list moved it to 164.
    assert_eq!(wanted.cover("000001.seg", 164 + 42 + 31), Some(Lsn(1_000_264)));
    assert_eq!(wanted.cover("000001.seg", 164 + 2 * (42 + 31)), Some(Lsn(1_000_364)));
}
