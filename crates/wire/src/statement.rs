//! Prepared statements: the answer to a prepare, and the parameters of an execute.
//!
//! # Layout
//! - Prepare OK: `0x00 | statement id u32 | columns u16 | parameters u16 | 0 | warnings u16`, then the definitions of parameters
//!   and of columns, each list closed by EOF unless DEPRECATE_EOF.
//! - Execute: `statement id u32 | flags u8 (cursor type) | 1 u32 | null bitmap (n + 7) / 8 | types follow u8 | types n * (type u8,
//!   0x80 = unsigned u8)? | values`. The part from the bitmap on is there only when the statement has parameters. Types are sent
//!   with the first execute and remembered; parameters that came by COM_STMT_SEND_LONG_DATA have no value here.
//! - Bulk execute: `statement id u32 | flags u16 (64 = unit results, 128 = types follow) | types? | rows of (indicator u8, value)`.

use crate::ColumnType;
use crate::row::{BinaryValue, decode_binary_value};
use base::{Corruption, Put, Reader};

/// The first packet of the answer to COM_STMT_PREPARE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepareOk {
    pub statement_id: u32,
    pub columns: u16,
    pub parameters: u16,
    pub warnings: u16,
}

impl PrepareOk {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(0);
        out.put_u32(self.statement_id);
        out.put_u16(self.columns);
        out.put_u16(self.parameters);
        out.put_u8(0);
        out.put_u16(self.warnings);
    }
    pub fn decode(payload: &[u8]) -> Result<Self, Corruption> {
        let mut r = Reader::new(payload);
        let tag = r.u8("tag")?;
        if tag != 0 {
            return Err(Corruption::new("prepare ok", "tag", 0, tag));
        }
        let statement_id = r.u32("statement id")?;
        let columns = r.u16("columns")?;
        let parameters = r.u16("parameters")?;
        r.u8("filler")?;
        Ok(Self { statement_id, columns, parameters, warnings: r.u16("warnings")? })
    }
}

/// Type of one parameter as the client announced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterType {
    pub column_type: ColumnType,
    pub unsigned: bool,
}

impl ParameterType {
    pub fn new(column_type: ColumnType, unsigned: bool) -> Self {
        Self { column_type, unsigned }
    }
    pub fn encode(self, out: &mut Vec<u8>) {
        out.put_u8(self.column_type as u8);
        out.put_u8(if self.unsigned { 0x80 } else { 0 });
    }
    fn decode(r: &mut Reader<'_>) -> Result<Self, Corruption> {
        let at = r.offset();
        let code = r.u8("parameter type")?;
        let flags = r.u8("parameter flags")?;
        match ColumnType::from_u8(code) {
            Some(column_type) => Ok(Self { column_type, unsigned: flags & 0x80 != 0 }),
            None => Err(Corruption::new(format_args!("offset {at}"), "parameter type", "a known type", code)),
        }
    }
}

/// One decoded parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Parameter<'a> {
    Value(BinaryValue<'a>),
    /// Came before by COM_STMT_SEND_LONG_DATA.
    LongData,
    /// Bulk only: the column's default.
    Default,
    /// Bulk only: leave the column as it is.
    Ignore,
}

/// COM_STMT_EXECUTE after its command byte; the parameters are still encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute<'a> {
    pub statement_id: u32,
    /// 0 none, 1 read only, 2 for update, 4 scrollable.
    pub cursor: u8,
    body: &'a [u8],
}

impl<'a> Execute<'a> {
    /// The statement the client means when it has just prepared one.
    pub const LAST_PREPARED: u32 = u32::MAX;

    pub fn decode(body: &'a [u8]) -> Result<Self, Corruption> {
        let mut r = Reader::new(body);
        let statement_id = r.u32("statement id")?;
        let cursor = r.u8("cursor type")?;
        r.u32("iterations")?;
        Ok(Self { statement_id, cursor, body: r.rest() })
    }

    /// Decodes `count` parameters in order. `types` is what the statement remembers; new types replace it. `long_data(i)` says
    /// whether parameter `i` was sent before.
    pub fn parameters(
        &self,
        count: usize,
        types: &mut Vec<ParameterType>,
        long_data: impl Fn(usize) -> bool,
        mut take: impl FnMut(Parameter<'a>),
    ) -> Result<(), Corruption> {
        if count == 0 {
            return Ok(());
        }
        let mut r = Reader::new(self.body);
        let nulls = r.bytes(count.div_ceil(8), "null bitmap")?;
        if r.u8("types follow")? != 0 {
            types.clear();
            for _ in 0..count {
                types.push(ParameterType::decode(&mut r)?);
            }
        }
        if types.len() != count {
            return Err(Corruption::new("execute", "parameter types", count, types.len()));
        }
        for (i, t) in types.iter().enumerate() {
            take(if long_data(i) {
                Parameter::LongData
            } else if nulls[i / 8] >> (i % 8) & 1 == 1 {
                Parameter::Value(BinaryValue::Null)
            } else {
                Parameter::Value(decode_binary_value(&mut r, t.column_type, t.unsigned)?)
            });
        }
        Ok(())
    }

    /// The client's side: a whole COM_STMT_EXECUTE body.
    pub fn encode(
        out: &mut Vec<u8>,
        statement_id: u32,
        cursor: u8,
        types: Option<&[ParameterType]>,
        values: &[BinaryValue<'_>],
    ) {
        out.put_u32(statement_id);
        out.put_u8(cursor);
        out.put_u32(1);
        if values.is_empty() {
            return;
        }
        let bitmap = out.len();
        out.resize(bitmap + values.len().div_ceil(8), 0);
        for (i, v) in values.iter().enumerate() {
            if matches!(v, BinaryValue::Null) {
                out[bitmap + i / 8] |= 1 << (i % 8);
            }
        }
        out.put_u8(u8::from(types.is_some()));
        for t in types.unwrap_or_default() {
            t.encode(out);
        }
        for (i, v) in values.iter().enumerate() {
            encode_value(out, types.map(|t| t[i].column_type), v);
        }
    }
}

/// A value as a parameter; `column_type` gives the width of integers (8 bytes when it is not known).
fn encode_value(out: &mut Vec<u8>, column_type: Option<ColumnType>, value: &BinaryValue<'_>) {
    use crate::lenenc::PutWire;
    // The row writer has the layouts; its header and bitmap are not wanted here.
    let mut scratch = Vec::new();
    let mut row = crate::BinaryRow::new(&mut scratch, 1);
    let width = column_type.unwrap_or(ColumnType::LongLong);
    match value {
        BinaryValue::Null => return,
        BinaryValue::Int(v) => row.int(width, *v),
        BinaryValue::UInt(v) => row.int(width, *v as i64),
        BinaryValue::Float(v) => row.float(*v),
        BinaryValue::Double(v) => row.double(*v),
        BinaryValue::Bytes(b) => return out.put_lenenc_string(b),
        BinaryValue::Date(v) => row.date_time(v),
        BinaryValue::Time(v) => row.time(v),
    }
    out.put(&scratch[2..]);
}

/// COM_STMT_BULK_EXECUTE after its command byte; rows are still encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkExecute<'a> {
    pub statement_id: u32,
    pub unit_results: bool,
    types_follow: bool,
    body: &'a [u8],
}

impl<'a> BulkExecute<'a> {
    pub fn decode(body: &'a [u8]) -> Result<Self, Corruption> {
        let mut r = Reader::new(body);
        let statement_id = r.u32("statement id")?;
        let flags = r.u16("bulk flags")?;
        if flags & !(64 | 128) != 0 {
            return Err(Corruption::new("bulk execute", "bulk flags", "64 and 128", flags));
        }
        Ok(Self {
            statement_id,
            unit_results: flags & 64 != 0,
            types_follow: flags & 128 != 0,
            body: r.rest(),
        })
    }

    /// The rows, one call of [`BulkRows::next`] each.
    pub fn rows(&self, count: usize, types: &mut Vec<ParameterType>) -> Result<BulkRows<'a>, Corruption> {
        let mut r = Reader::new(self.body);
        if self.types_follow {
            types.clear();
            for _ in 0..count {
                types.push(ParameterType::decode(&mut r)?);
            }
        }
        if types.len() != count || count == 0 {
            return Err(Corruption::new("bulk execute", "parameter types", count, types.len()));
        }
        Ok(BulkRows { rest: r })
    }
}

/// Cursor over the rows of a bulk execute.
#[derive(Debug, Clone, Copy)]
pub struct BulkRows<'a> {
    rest: Reader<'a>,
}

impl<'a> BulkRows<'a> {
    /// Hands the parameters of the next row to `take`; false at the end.
    pub fn next(
        &mut self,
        types: &[ParameterType],
        mut take: impl FnMut(Parameter<'a>),
    ) -> Result<bool, Corruption> {
        if self.rest.is_empty() {
            return Ok(false);
        }
        for t in types {
            let at = self.rest.offset();
            take(match self.rest.u8("indicator")? {
                0 => Parameter::Value(decode_binary_value(&mut self.rest, t.column_type, t.unsigned)?),
                1 => Parameter::Value(BinaryValue::Null),
                2 => Parameter::Default,
                3 => Parameter::Ignore,
                other => {
                    return Err(Corruption::new(format_args!("offset {at}"), "indicator", "0 to 3", other));
                }
            });
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::TemporalValue;

    #[test]
    fn parameters_round_trip_and_types_are_remembered() {
        let t = |c, u| ParameterType::new(c, u);
        let types = [
            t(ColumnType::LongLong, false),
            t(ColumnType::Long, true),
            t(ColumnType::VarString, false),
            t(ColumnType::Double, false),
            t(ColumnType::DateTime, false),
            t(ColumnType::Null, false),
        ];
        let day = TemporalValue { year: 2026, month: 1, day: 2, ..Default::default() };
        let values = [
            BinaryValue::Int(-5),
            BinaryValue::UInt(7),
            BinaryValue::Bytes(b"x"),
            BinaryValue::Double(0.5),
            BinaryValue::Date(day),
            BinaryValue::Null,
        ];
        let mut remembered = Vec::new();
        for with_types in [true, false] {
            let mut out = Vec::new();
            Execute::encode(&mut out, 9, 1, Some(&types), &values);
            if !with_types {
                // The same bytes without the types.
                out[10] = 0;
                out.drain(11..11 + 2 * types.len());
            }
            let e = Execute::decode(&out).unwrap();
            assert_eq!((e.statement_id, e.cursor), (9, 1));
            let mut got = Vec::new();
            e.parameters(6, &mut remembered, |_| false, |p| got.push(p)).unwrap();
            assert_eq!(got, values.map(Parameter::Value));
        }
        assert_eq!(remembered, types);
    }

    #[test]
    fn long_data_has_no_value_in_the_packet() {
        let types =
            [ParameterType::new(ColumnType::Blob, false), ParameterType::new(ColumnType::Tiny, false)];
        let mut out = Vec::new();
        Execute::encode(&mut out, 1, 0, Some(&types), &[BinaryValue::Null, BinaryValue::Int(3)]);
        let mut got = Vec::new();
        Execute::decode(&out).unwrap().parameters(2, &mut Vec::new(), |i| i == 0, |p| got.push(p)).unwrap();
        assert_eq!(got, [Parameter::LongData, Parameter::Value(BinaryValue::Int(3))]);
    }

    #[test]
    fn an_execute_without_known_types_is_refused() {
        let mut out = Vec::new();
        Execute::encode(&mut out, 1, 0, None, &[BinaryValue::Int(3)]);
        let e = Execute::decode(&out).unwrap();
        assert!(e.parameters(1, &mut Vec::new(), |_| false, |_| ()).is_err());
    }

    #[test]
    fn bulk_rows_carry_indicators() {
        let mut body = Vec::new();
        body.put_u32(4);
        body.put_u16(128);
        let mut types = vec![
            ParameterType::new(ColumnType::Tiny, false),
            ParameterType::new(ColumnType::VarString, false),
        ];
        types.iter().for_each(|t| t.encode(&mut body));
        body.put(&[0, 1, 0, 1, b'a']);
        body.put(&[1, 2]);
        let bulk = BulkExecute::decode(&body).unwrap();
        let mut rows = bulk.rows(2, &mut types).unwrap();
        let mut got = Vec::new();
        while rows.next(&types, |p| got.push(p)).unwrap() {}
        assert_eq!(
            got,
            [
                Parameter::Value(BinaryValue::Int(1)),
                Parameter::Value(BinaryValue::Bytes(b"a")),
                Parameter::Value(BinaryValue::Null),
                Parameter::Default,
            ]
        );
    }
}
