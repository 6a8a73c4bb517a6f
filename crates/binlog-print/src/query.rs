//! Statements and what they need: QUERY, INTVAR, RAND, USER_VAR, LOAD DATA.

use std::io::Write as _;

use base::Corruption;
use event_format::base64;
use event_format::{
    ExecuteLoad, Header, IntVar, IntVarKind, Query, QueryHead, Rand, UserValue, UserVar, gtid_flags_extra,
    header_flags,
};
use types::Decimal;

use crate::printer::{Printer, shapes_transaction};
use crate::session::{Wanted, quoted_name};
use crate::{Base64, names};

/// The end of a statement: the delimiter cannot stand in a statement by accident.
pub(crate) const DELIMITER: &[u8] = b"/*!*/;\n";

impl Printer {
    /// Appends QUERY. `event` are its bytes.
    pub(crate) fn query(
        &mut self,
        header: &Header,
        event: &[u8],
        query: &Query<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Corruption> {
        let name = if query.compressed { "Query_compressed" } else { "Query" };
        let wanted = self.statement(header, event, name, (&query.head, query.database, query.status), out)?;
        if header.flags & header_flags::SUPPRESS_USE != 0 && !shapes_transaction(&query.sql) {
            // It may have made or dropped the database, as mariadb-binlog sees it: the next statement names its own again.
            self.session.database.clear();
        }
        const ENDS: u8 = gtid_flags_extra::COMMIT_ALTER | gtid_flags_extra::ROLLBACK_ALTER;
        if wanted.alter_flags & (gtid_flags_extra::START_ALTER | ENDS) == 0 {
            out.extend_from_slice(&query.sql);
            out.push(b'\n');
            out.extend_from_slice(DELIMITER);
            return Ok(());
        }
        if self.options.base64 == Base64::Auto && !self.options.short_form {
            // A phase of ALTER is more than its text: servers that do not know phases run the last one.
            let starts = wanted.alter_flags & gtid_flags_extra::START_ALTER != 0;
            out.extend_from_slice(if starts { b"/*!100600 BINLOG '\n" } else { b"BINLOG '\n" });
            base64::write(event, out);
            out.extend_from_slice(if starts { b"' */" } else { b"'" });
            out.extend_from_slice(DELIMITER);
        }
        if self.options.verbose > 0 && !self.options.short_form {
            for line in query.sql.split(|b| *b == b'\n') {
                out.extend_from_slice(b"### ");
                out.extend_from_slice(line);
                out.push(b'\n');
            }
        }
        Ok(())
    }

    /// Header line and the session of a statement.
    fn statement<'a>(
        &mut self,
        header: &Header,
        event: &[u8],
        name: &str,
        (head, database, status): (&QueryHead, &[u8], &'a [u8]),
        out: &mut Vec<u8>,
    ) -> Result<Wanted<'a>, Corruption> {
        let wanted = Wanted::of(status)?;
        self.header(header, event, out);
        if !self.options.short_form {
            drop(writeln!(
                out,
                "\t{name}\tthread_id={}\texec_time={}\terror_code={}\txid={}",
                head.thread_id, head.exec_time, head.error_code, wanted.ddl_xid
            ));
        }
        let database = self.rewritten(database).to_vec();
        let sets_thread = self.session.place(&database, head.thread_id, header.flags, out);
        drop(write!(out, "SET TIMESTAMP={}", header.timestamp));
        if wanted.microseconds != 0 {
            drop(write!(out, ".{:06}", wanted.microseconds));
        }
        out.extend_from_slice(DELIMITER);
        if sets_thread {
            self.session.thread_id = Some(head.thread_id);
            // Short form is for comparing: the number differs from run to run.
            let id = if self.options.short_form { 999_999_999 } else { head.thread_id };
            drop(write!(out, "SET @@session.pseudo_thread_id={id}"));
            out.extend_from_slice(DELIMITER);
        }
        self.session.change(&wanted, out);
        Ok(wanted)
    }

    pub(crate) fn int_var(&mut self, header: &Header, event: &[u8], var: &IntVar, out: &mut Vec<u8>) {
        self.header(header, event, out);
        if !self.options.short_form {
            out.extend_from_slice(b"\tIntvar\n");
        }
        let name = match var.kind {
            IntVarKind::LastInsertId => "LAST_INSERT_ID",
            IntVarKind::InsertId => "INSERT_ID",
        };
        drop(write!(out, "SET {name}={}", var.value));
        out.extend_from_slice(DELIMITER);
    }

    pub(crate) fn rand(&mut self, header: &Header, event: &[u8], rand: &Rand, out: &mut Vec<u8>) {
        self.header(header, event, out);
        if !self.options.short_form {
            out.extend_from_slice(b"\tRand\n");
        }
        drop(write!(out, "SET @@RAND_SEED1={}, @@RAND_SEED2={}", rand.seed1, rand.seed2));
        out.extend_from_slice(DELIMITER);
    }

    pub(crate) fn user_var(&mut self, header: &Header, event: &[u8], var: &UserVar<'_>, out: &mut Vec<u8>) {
        self.header(header, event, out);
        if !self.options.short_form {
            out.extend_from_slice(b"\tUser_var\n");
        }
        out.extend_from_slice(b"SET @");
        quoted_name(var.name, out);
        out.extend_from_slice(b":=");
        match &var.value {
            None => out.extend_from_slice(b"NULL"),
            Some(value) => user_value(value, out),
        }
        out.extend_from_slice(DELIMITER);
    }

    /// LOAD DATA names the file that [`Printer`]'s user wrote the blocks to.
    pub(crate) fn execute_load(
        &mut self,
        header: &Header,
        event: &[u8],
        load: &ExecuteLoad<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Corruption> {
        let parts = (&load.head, load.database, load.status);
        self.statement(header, event, "Execute_load_query", parts, out)?;
        let file = self.load_files.get(&load.file_id).cloned().unwrap_or_default();
        out.extend_from_slice(&load.sql[..load.name_start as usize]);
        out.extend_from_slice(b" LOCAL INFILE '");
        out.extend_from_slice(file.as_bytes());
        out.push(b'\'');
        // LOCAL ignores duplicates by itself.
        out.extend_from_slice(if load.duplicates == 2 { b" REPLACE" } else { b"" });
        out.extend_from_slice(b" INTO");
        out.extend_from_slice(&load.sql[load.name_end as usize..]);
        out.push(b'\n');
        out.extend_from_slice(DELIMITER);
        if !self.options.short_form {
            drop(writeln!(out, "# file_id: {} ", load.file_id));
        }
        Ok(())
    }
}

fn user_value(value: &UserValue<'_>, out: &mut Vec<u8>) {
    let le = |bytes: &[u8]| bytes.iter().take(8).rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
    match value.kind {
        UserValue::REAL => types::number::write_f64(f64::from_bits(le(value.bytes)), out),
        UserValue::INT if value.is_unsigned() => drop(write!(out, "{}", le(value.bytes))),
        UserValue::INT => drop(write!(out, "{}", le(value.bytes) as i64)),
        UserValue::DECIMAL => match value.bytes {
            [precision, scale, packed @ ..] if decimal_fits(*precision, *scale, packed) => {
                match Decimal::unpack(packed, *precision, *scale) {
                    Some(decimal) => drop(write!(out, "{decimal}")),
                    None => out.extend_from_slice(b"???"),
                }
            }
            _ => out.extend_from_slice(b"???"),
        },
        UserValue::STRING => {
            let collation = u64::from(value.collation);
            match (names::charset(collation), names::collation(collation)) {
                (Some(charset), Some(collation)) => {
                    drop(write!(out, "_{charset} X'"));
                    value.bytes.iter().for_each(|b| drop(write!(out, "{b:02X}")));
                    drop(write!(out, "' COLLATE `{collation}`"));
                }
                // The statement fails instead of using another text.
                _ => out.extend_from_slice(b"???"),
            }
        }
        _ => out.extend_from_slice(b"???"),
    }
}

fn decimal_fits(precision: u8, scale: u8, packed: &[u8]) -> bool {
    let meta = u16::from_le_bytes([precision, scale]);
    let column = event_format::WireColumn { code: event_format::type_code::NEWDECIMAL, meta };
    precision <= 65 && scale <= precision && column.take(&mut base::Reader::new(packed)).is_ok()
}
