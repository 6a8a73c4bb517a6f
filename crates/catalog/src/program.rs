//! What the dictionary knows of stored programs: routines, triggers, events. Their bodies are kept as text.
//!
//! # Layout, format 1
//! ```text
//! format u8 = 1 | schema, name: string | context | then by kind
//! context: definer user, definer host: string | sql_mode u64 | client, connection, database: collation u16 |
//!          body, comment: string | created, modified: seconds since 1970, varint
//! routine: kind u8 (0 procedure, 1 function) | flags u8 (1 deterministic, 2 invoker, 4 aggregate) | access u8 |
//!          parameter text string | parameters varint, {mode u8, column} | returns u8, [column]
//! trigger: table string | event u8 | before u8 | header: three strings | order varint | created microseconds varint
//! event:   schedule u8 (0 at, 1 every) | at or (amount text string, unit string, starts, ends: i64 seconds, MIN = none) |
//!          preserve u8 | status u8 | time zone string | last executed i64 (MIN = never) | originator u32
//! ```
//! A column is that of a table definition.

use base::{Corruption, Put, Reader};
use charset::Collation;

use crate::codec::{self, collation, decode_column_def, encode_column_def, text};
use crate::definition::ColumnDef;

/// Kinds of dictionary rows that are programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ProgramKind {
    Procedure = 16,
    Function = 17,
    Trigger = 18,
    Event = 19,
}

impl ProgramKind {
    pub(crate) fn of(code: u8) -> Option<Self> {
        [Self::Procedure, Self::Function, Self::Trigger, Self::Event].into_iter().find(|k| *k as u8 == code)
    }
    /// The name under which a program is found: those of triggers are case sensitive, as file names are.
    pub fn key(self, name: &str) -> String {
        if self == Self::Trigger { name.to_owned() } else { name.to_lowercase() }
    }
    pub fn word(self) -> &'static str {
        match self {
            Self::Procedure => "PROCEDURE",
            Self::Function => "FUNCTION",
            Self::Trigger => "TRIGGER",
            Self::Event => "EVENT",
        }
    }
}

/// What every program keeps of the session that made it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramContext {
    pub definer: (String, String),
    pub sql_mode: u64,
    /// character_set_client, by its default collation.
    pub client: Collation,
    pub connection: Collation,
    pub database: Collation,
    pub body: Vec<u8>,
    pub comment: String,
    /// Seconds since 1970.
    pub created: u64,
    pub modified: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum DataAccess {
    ContainsSql,
    NoSql,
    ReadsSqlData,
    ModifiesSqlData,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ParamMode {
    In,
    Out,
    InOut,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ParamDef {
    pub mode: ParamMode,
    pub column: ColumnDef,
}

/// A procedure or function.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineDef {
    pub schema: String,
    pub name: String,
    /// `Procedure` or `Function`.
    pub kind: ProgramKind,
    pub context: ProgramContext,
    pub deterministic: bool,
    pub invoker: bool,
    pub aggregate: bool,
    pub access: DataAccess,
    /// Between the parentheses, as written.
    pub params_text: Vec<u8>,
    pub params: Vec<ParamDef>,
    pub returns: Option<ColumnDef>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TriggerDef {
    pub schema: String,
    pub name: String,
    pub context: ProgramContext,
    pub table: String,
    pub event: TriggerEvent,
    pub before: bool,
    /// The statement before the body, as written: from TRIGGER, from ON, from FOR on, each with the space behind it.
    pub header: [Vec<u8>; 3],
    /// Among those of the same event and time, from 1.
    pub order: u32,
    /// Microseconds since 1970.
    pub created_us: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EventStatus {
    Enabled,
    Disabled,
    SlaveSideDisabled,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EventSchedule {
    /// Seconds since 1970.
    At(i64),
    Every {
        /// As SHOW EVENTS shows it.
        amount: String,
        unit: String,
        starts: Option<i64>,
        ends: Option<i64>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct EventDef {
    pub schema: String,
    pub name: String,
    pub context: ProgramContext,
    pub schedule: EventSchedule,
    pub preserve: bool,
    pub status: EventStatus,
    pub time_zone: String,
    pub last_executed: Option<i64>,
    pub originator: u32,
}

/// Any of them: one row of the dictionary.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramDef {
    Routine(RoutineDef),
    Trigger(TriggerDef),
    Event(EventDef),
}

impl ProgramDef {
    pub fn kind(&self) -> ProgramKind {
        match self {
            Self::Routine(r) => r.kind,
            Self::Trigger(_) => ProgramKind::Trigger,
            Self::Event(_) => ProgramKind::Event,
        }
    }
    pub fn schema(&self) -> &str {
        match self {
            Self::Routine(r) => &r.schema,
            Self::Trigger(t) => &t.schema,
            Self::Event(e) => &e.schema,
        }
    }
    pub fn name(&self) -> &str {
        match self {
            Self::Routine(r) => &r.name,
            Self::Trigger(t) => &t.name,
            Self::Event(e) => &e.name,
        }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(codec::FORMAT);
        out.put_string(self.schema().as_bytes());
        out.put_string(self.name().as_bytes());
        match self {
            Self::Routine(r) => r.encode(out),
            Self::Trigger(t) => t.encode(out),
            Self::Event(e) => e.encode(out),
        }
    }

    pub fn decode(kind: ProgramKind, bytes: &[u8]) -> Result<Self, Corruption> {
        let r = &mut Reader::new(bytes);
        codec::check_format(r)?;
        let (schema, name) = (text(r, "schema")?, text(r, "name")?);
        let context = ProgramContext::decode(r)?;
        let def = match kind {
            ProgramKind::Procedure | ProgramKind::Function => {
                Self::Routine(RoutineDef::decode(kind, schema, name, context, r)?)
            }
            ProgramKind::Trigger => Self::Trigger(TriggerDef::decode(schema, name, context, r)?),
            ProgramKind::Event => Self::Event(EventDef::decode(schema, name, context, r)?),
        };
        r.finish("program definition")?;
        Ok(def)
    }
}

impl ProgramContext {
    fn encode(&self, out: &mut Vec<u8>) {
        out.put_string(self.definer.0.as_bytes());
        out.put_string(self.definer.1.as_bytes());
        out.put_u64(self.sql_mode);
        for collation in [self.client, self.connection, self.database] {
            out.put_u16(collation.id());
        }
        out.put_string(&self.body);
        out.put_string(self.comment.as_bytes());
        out.put_varint(self.created);
        out.put_varint(self.modified);
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, Corruption> {
        Ok(Self {
            definer: (text(r, "definer user")?, text(r, "definer host")?),
            sql_mode: r.u64("sql_mode")?,
            client: collation(r)?,
            connection: collation(r)?,
            database: collation(r)?,
            body: r.string("body")?.to_vec(),
            comment: text(r, "comment")?,
            created: r.varint("created")?,
            modified: r.varint("modified")?,
        })
    }
}

/// A one-byte code as one of `all`, which stand in the order of their codes.
fn one_of<T: Copy>(r: &mut Reader<'_>, field: &'static str, all: &[T]) -> Result<T, Corruption> {
    let code = r.u8(field)?;
    all.get(usize::from(code))
        .copied()
        .ok_or_else(|| Corruption::new("program definition", field, "a known code", code))
}

const BOOLS: [bool; 2] = [false, true];
const MODES: [ParamMode; 3] = [ParamMode::In, ParamMode::Out, ParamMode::InOut];
const ACCESSES: [DataAccess; 4] =
    [DataAccess::ContainsSql, DataAccess::NoSql, DataAccess::ReadsSqlData, DataAccess::ModifiesSqlData];
const EVENTS: [TriggerEvent; 3] = [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete];
const STATUSES: [EventStatus; 3] =
    [EventStatus::Enabled, EventStatus::Disabled, EventStatus::SlaveSideDisabled];

impl RoutineDef {
    fn encode(&self, out: &mut Vec<u8>) {
        self.context.encode(out);
        let bits = [self.deterministic, self.invoker, self.aggregate];
        out.put_u8(bits.iter().enumerate().fold(0, |flags, (i, on)| flags | u8::from(*on) << i));
        out.put_u8(self.access as u8);
        out.put_string(&self.params_text);
        out.put_varint(self.params.len() as u64);
        for param in &self.params {
            out.put_u8(param.mode as u8);
            encode_column_def(&param.column, out);
        }
        out.put_u8(u8::from(self.returns.is_some()));
        if let Some(column) = &self.returns {
            encode_column_def(column, out);
        }
    }

    fn decode(
        kind: ProgramKind,
        schema: String,
        name: String,
        context: ProgramContext,
        r: &mut Reader<'_>,
    ) -> Result<Self, Corruption> {
        let flags = r.u8("flags")?;
        let on = |bit: u8| flags >> bit & 1 != 0;
        let access = one_of(r, "data access", &ACCESSES)?;
        let params_text = r.string("parameter text")?.to_vec();
        let mut params = Vec::new();
        for _ in 0..r.varint("parameters")? {
            params.push(ParamDef { mode: one_of(r, "mode", &MODES)?, column: decode_column_def(r)? });
        }
        let returns = if one_of(r, "returns", &BOOLS)? { Some(decode_column_def(r)?) } else { None };
        Ok(Self {
            schema,
            name,
            kind,
            context,
            deterministic: on(0),
            invoker: on(1),
            aggregate: on(2),
            access,
            params_text,
            params,
            returns,
        })
    }

    /// `schema.name`, for messages.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }
}

impl TriggerDef {
    fn encode(&self, out: &mut Vec<u8>) {
        self.context.encode(out);
        out.put_string(self.table.as_bytes());
        out.put_u8(self.event as u8);
        out.put_u8(u8::from(self.before));
        for part in &self.header {
            out.put_string(part);
        }
        out.put_varint(u64::from(self.order));
        out.put_varint(self.created_us);
    }

    fn decode(
        schema: String,
        name: String,
        context: ProgramContext,
        r: &mut Reader<'_>,
    ) -> Result<Self, Corruption> {
        Ok(Self {
            schema,
            name,
            context,
            table: text(r, "table")?,
            event: one_of(r, "event", &EVENTS)?,
            before: one_of(r, "before", &BOOLS)?,
            header: [
                r.string("header")?.to_vec(),
                r.string("header's table")?.to_vec(),
                r.string("header's end")?.to_vec(),
            ],
            order: r.varint("order")? as u32,
            created_us: r.varint("created")?,
        })
    }
}

fn put_time(time: Option<i64>, out: &mut Vec<u8>) {
    out.put_u64(time.unwrap_or(i64::MIN) as u64);
}

fn time(r: &mut Reader<'_>, field: &'static str) -> Result<Option<i64>, Corruption> {
    Ok(Some(r.u64(field)? as i64).filter(|t| *t != i64::MIN))
}

impl EventDef {
    fn encode(&self, out: &mut Vec<u8>) {
        self.context.encode(out);
        match &self.schedule {
            EventSchedule::At(at) => {
                out.put_u8(0);
                put_time(Some(*at), out);
            }
            EventSchedule::Every { amount, unit, starts, ends } => {
                out.put_u8(1);
                out.put_string(amount.as_bytes());
                out.put_string(unit.as_bytes());
                put_time(*starts, out);
                put_time(*ends, out);
            }
        }
        out.put_u8(u8::from(self.preserve));
        out.put_u8(self.status as u8);
        out.put_string(self.time_zone.as_bytes());
        put_time(self.last_executed, out);
        out.put_u32(self.originator);
    }

    fn decode(
        schema: String,
        name: String,
        context: ProgramContext,
        r: &mut Reader<'_>,
    ) -> Result<Self, Corruption> {
        let schedule = if one_of(r, "schedule", &BOOLS)? {
            EventSchedule::Every {
                amount: text(r, "amount")?,
                unit: text(r, "unit")?,
                starts: time(r, "starts")?,
                ends: time(r, "ends")?,
            }
        } else {
            EventSchedule::At(time(r, "at")?.unwrap_or_default())
        };
        Ok(Self {
            schema,
            name,
            context,
            schedule,
            preserve: one_of(r, "preserve", &BOOLS)?,
            status: one_of(r, "status", &STATUSES)?,
            time_zone: text(r, "time zone")?,
            last_executed: time(r, "last executed")?,
            originator: r.u32("originator")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use row_format::{ColumnType, IntSize};

    fn context() -> ProgramContext {
        ProgramContext {
            definer: ("root".into(), "localhost".into()),
            sql_mode: 1 << 40,
            client: Collation::UTF8MB4_UCA1400_AI_CI,
            connection: Collation::LATIN1_SWEDISH_CI,
            database: Collation::BINARY,
            body: b"SELECT '\xff'".to_vec(),
            comment: "why".into(),
            created: 7,
            modified: 8,
        }
    }

    fn column(name: &str) -> ColumnDef {
        ColumnDef::new(name, ColumnType::int(IntSize::Int, false))
    }

    #[test]
    fn programs_come_back_as_they_went() {
        let routine = RoutineDef {
            schema: "d".into(),
            name: "F".into(),
            kind: ProgramKind::Function,
            context: context(),
            deterministic: true,
            invoker: false,
            aggregate: true,
            access: DataAccess::ReadsSqlData,
            params_text: b"a INT".to_vec(),
            params: vec![ParamDef { mode: ParamMode::InOut, column: column("a") }],
            returns: Some(column("")),
        };
        let trigger = TriggerDef {
            schema: "d".into(),
            name: "t".into(),
            context: context(),
            table: "x".into(),
            event: TriggerEvent::Update,
            before: true,
            header: [b"TRIGGER t BEFORE UPDATE ".to_vec(), b"ON x ".to_vec(), b"FOR EACH ROW ".to_vec()],
            order: 3,
            created_us: 1,
        };
        let every = EventSchedule::Every {
            amount: "'1:30'".into(),
            unit: "MINUTE_SECOND".into(),
            starts: Some(-5),
            ends: None,
        };
        let event = EventDef {
            schema: "d".into(),
            name: "e".into(),
            context: context(),
            schedule: every,
            preserve: true,
            status: EventStatus::SlaveSideDisabled,
            time_zone: "SYSTEM".into(),
            last_executed: None,
            originator: 9,
        };
        let once = EventDef { schedule: EventSchedule::At(99), ..event.clone() };
        for def in [
            ProgramDef::Routine(routine),
            ProgramDef::Trigger(trigger),
            ProgramDef::Event(event),
            ProgramDef::Event(once),
        ] {
            let mut bytes = Vec::new();
            def.encode(&mut bytes);
            assert_eq!(ProgramDef::decode(def.kind(), &bytes).unwrap(), def);
            for cut in 0..bytes.len() {
                assert!(ProgramDef::decode(def.kind(), &bytes[..cut]).is_err(), "cut at {cut}");
            }
        }
    }
}
