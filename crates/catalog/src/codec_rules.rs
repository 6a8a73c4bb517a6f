//! The end of a table definition: what its rows must keep to, and what makes it a sequence.
//!
//! ```text
//! checks varint, {name string | expression string}
//! foreign keys varint, {name string | columns varint, {column varint} | schema string | table string |
//!                       columns varint, {name string} | on delete u8 | on update u8}
//! flags u8 (1 sequence, 2 period)
//! [sequence: start, minimum, maximum, increment i128 LE | cache varint | cycle u8]
//! [period: name, start column, end column string]
//! ```

use base::{Corruption, Put, Reader};

use crate::codec::text;
use crate::definition::{CheckDef, ForeignKeyDef, PeriodDef, ReferenceAction, SequenceDef, TableDef};

pub(crate) fn encode(def: &TableDef, out: &mut Vec<u8>) {
    out.put_varint(def.checks.len() as u64);
    for check in &def.checks {
        out.put_string(check.name.as_bytes());
        out.put_string(check.expr.as_bytes());
    }
    out.put_varint(def.foreign_keys.len() as u64);
    def.foreign_keys.iter().for_each(|key| encode_foreign_key(key, out));
    out.put_u8(u8::from(def.sequence.is_some()) | u8::from(def.period.is_some()) << 1);
    if let Some(s) = &def.sequence {
        for number in [s.start, s.minimum, s.maximum, s.increment] {
            out.put(&number.to_le_bytes());
        }
        out.put_varint(s.cache);
        out.put_u8(u8::from(s.cycle));
    }
    if let Some(period) = &def.period {
        for part in [&period.name, &period.start, &period.end] {
            out.put_string(part.as_bytes());
        }
    }
}

pub(crate) fn decode(def: &mut TableDef, r: &mut Reader<'_>) -> Result<(), Corruption> {
    for _ in 0..r.varint("checks")? {
        def.checks.push(CheckDef { name: text(r, "check name")?, expr: text(r, "check")? });
    }
    for _ in 0..r.varint("foreign keys")? {
        def.foreign_keys.push(decode_foreign_key(r, def.columns.len())?);
    }
    let flags = r.u8("flags")?;
    if flags > 3 {
        return Err(Corruption::new("definition", "flags", "0 to 3", flags));
    }
    if flags & 1 != 0 {
        def.sequence = Some(SequenceDef {
            start: wide(r)?,
            minimum: wide(r)?,
            maximum: wide(r)?,
            increment: wide(r)?,
            cache: r.varint("cache")?,
            cycle: r.u8("cycle")? != 0,
        });
    }
    if flags & 2 != 0 {
        let (name, start) = (text(r, "period")?, text(r, "period start")?);
        def.period = Some(PeriodDef { name, start, end: text(r, "period end")? });
    }
    Ok(())
}

fn wide(r: &mut Reader<'_>) -> Result<i128, Corruption> {
    let low = u128::from(r.u64("sequence")?);
    let high = u128::from(r.u64("sequence")?);
    Ok((high << 64 | low) as i128)
}

fn encode_foreign_key(key: &ForeignKeyDef, out: &mut Vec<u8>) {
    out.put_string(key.name.as_bytes());
    out.put_varint(key.columns.len() as u64);
    key.columns.iter().for_each(|c| out.put_varint(*c as u64));
    out.put_string(key.parent_schema.as_bytes());
    out.put_string(key.parent_table.as_bytes());
    out.put_varint(key.parent_columns.len() as u64);
    key.parent_columns.iter().for_each(|c| out.put_string(c.as_bytes()));
    out.put_u8(code(key.on_delete));
    out.put_u8(code(key.on_update));
}

fn decode_foreign_key(r: &mut Reader<'_>, columns: usize) -> Result<ForeignKeyDef, Corruption> {
    let name = text(r, "foreign key")?;
    let mut own = Vec::new();
    for _ in 0..r.varint("foreign key columns")? {
        let column = r.varint("foreign key column")? as usize;
        if column >= columns {
            let wanted = format_args!("below {columns}");
            return Err(Corruption::new("definition", "foreign key column", wanted, column));
        }
        own.push(column);
    }
    let (parent_schema, parent_table) = (text(r, "parent schema")?, text(r, "parent table")?);
    let mut parent_columns = Vec::new();
    for _ in 0..r.varint("parent columns")? {
        parent_columns.push(text(r, "parent column")?);
    }
    let (on_delete, on_update) = (action(r)?, action(r)?);
    Ok(ForeignKeyDef {
        name,
        columns: own,
        parent_schema,
        parent_table,
        parent_columns,
        on_delete,
        on_update,
    })
}

const fn code(action: ReferenceAction) -> u8 {
    match action {
        ReferenceAction::Restrict => 0,
        ReferenceAction::Cascade => 1,
        ReferenceAction::SetNull => 2,
        ReferenceAction::NoAction => 3,
    }
}

fn action(r: &mut Reader<'_>) -> Result<ReferenceAction, Corruption> {
    Ok(match r.u8("reference action")? {
        0 => ReferenceAction::Restrict,
        1 => ReferenceAction::Cascade,
        2 => ReferenceAction::SetNull,
        3 => ReferenceAction::NoAction,
        other => return Err(Corruption::new("definition", "reference action", "0 to 3", other)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_keys_and_sequences_round_trip() {
        let key = ForeignKeyDef {
            name: "f".into(),
            columns: vec![1, 0],
            parent_schema: "d".into(),
            parent_table: "p".into(),
            parent_columns: vec!["x".into(), "y".into()],
            on_delete: ReferenceAction::SetNull,
            on_update: ReferenceAction::NoAction,
        };
        let mut bytes = Vec::new();
        encode_foreign_key(&key, &mut bytes);
        assert_eq!(decode_foreign_key(&mut Reader::new(&bytes), 2).unwrap(), key);
        assert!(decode_foreign_key(&mut Reader::new(&bytes), 1).is_err());
        let mut bytes = Vec::new();
        bytes.put(&(-5i128).to_le_bytes());
        assert_eq!(wide(&mut Reader::new(&bytes)).unwrap(), -5);
    }
}
