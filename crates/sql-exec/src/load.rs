//! LOAD DATA: a file of fields and lines into a table.
//!
//! The file is read through a window of bytes, so a line may be of any length and the file of any size. A line gives texts for the
//! columns and variables that are named, in their order; then the assignments of SET are made; then the row goes the way of an
//! INSERT's. Under IGNORE and LOCAL what does not fit becomes a warning.

use std::io::Read;

use sql_plan::error::{SqlError, SqlResult};
use sql_plan::eval::Env;
use sql_plan::plan::{AssignValue, FileFormat, InsertPlan, LoadPlan, LoadTarget};
use types::Value;

use crate::exec::Exec;
use crate::insert::Progress;
use crate::store::{self, StoreMode};

/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;

/// Bytes of a file, read as they are needed.
struct Window<'r> {
    source: &'r mut dyn Read,
    bytes: Vec<u8>,
    at: usize,
    ended: bool,
}

impl Window<'_> {
    /// Sees to it that `n` more bytes are there, unless the file ends before.
    fn want(&mut self, n: usize) -> SqlResult<()> {
        while self.bytes.len() - self.at < n && !self.ended {
            if self.at >= CHUNK {
                self.bytes.drain(..self.at);
                self.at = 0;
            }
            let len = self.bytes.len();
            self.bytes.resize(len + CHUNK, 0);
            let read = self.source.read(&mut self.bytes[len..]).map_err(|e| read_error(&e))?;
            self.bytes.truncate(len + read);
            self.ended = read == 0;
        }
        Ok(())
    }
    fn peek(&mut self) -> SqlResult<Option<u8>> {
        self.want(1)?;
        Ok(self.bytes.get(self.at).copied())
    }
    fn next(&mut self) -> SqlResult<Option<u8>> {
        let byte = self.peek()?;
        self.at += usize::from(byte.is_some());
        Ok(byte)
    }
    /// Takes the bytes that stand here up to the first one that is in `special`, as far as they have been read.
    fn run(&mut self, special: &[bool; 256], out: &mut Vec<u8>) -> SqlResult<()> {
        self.want(1)?;
        let rest = &self.bytes[self.at..];
        let plain = rest.iter().position(|b| special[usize::from(*b)]).unwrap_or(rest.len());
        out.extend_from_slice(&rest[..plain]);
        self.at += plain;
        Ok(())
    }
    /// Takes the bytes if they stand here.
    fn take(&mut self, word: &[u8]) -> SqlResult<bool> {
        if word.is_empty() {
            return Ok(false);
        }
        self.want(word.len())?;
        let found = self.bytes[self.at..].starts_with(word);
        if found {
            self.at += word.len();
        }
        Ok(found)
    }
}

fn read_error(e: &std::io::Error) -> SqlError {
    SqlError::Other { errno: 1085, state: *b"HY000", text: format!("The file must be readable by all ({e})") }
}

/// The fields of a line, `None` for NULL.
type Fields = Vec<Option<Vec<u8>>>;

/// What ended a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Field,
    Line,
    File,
}

/// Fields and lines of a file.
struct Reader<'r> {
    window: Window<'r>,
    format: &'r FileFormat,
    /// First bytes of what ends a field, and those with a meaning inside one.
    special: [bool; 256],
}

impl<'r> Reader<'r> {
    fn new(source: &'r mut dyn Read, format: &'r FileFormat) -> Self {
        let mut special = [false; 256];
        let ends = format.separator.first().into_iter().chain(format.line_end.first());
        for byte in ends.copied().chain(format.enclosure).chain(format.escape) {
            special[usize::from(byte)] = true;
        }
        Self { window: Window { source, bytes: Vec::new(), at: 0, ended: false }, format, special }
    }
}

impl Reader<'_> {
    /// Goes to the start of the next line's fields; false at the end of the file.
    fn start_line(&mut self) -> SqlResult<bool> {
        if self.format.line_start.is_empty() {
            return Ok(self.window.peek()?.is_some());
        }
        while !self.window.take(&self.format.line_start)? {
            if self.window.next()?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn skip_line(&mut self) -> SqlResult<()> {
        while !self.window.take(&self.format.line_end)? {
            if self.window.next()?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn end_here(&mut self) -> SqlResult<Option<End>> {
        if self.window.take(&self.format.separator)? {
            return Ok(Some(End::Field));
        }
        if self.window.take(&self.format.line_end)? {
            return Ok(Some(End::Line));
        }
        Ok(if self.window.peek()?.is_none() { Some(End::File) } else { None })
    }

    /// The next field, `None` for NULL, and what ended it.
    fn field(&mut self) -> SqlResult<(Option<Vec<u8>>, End)> {
        let enclosed = match self.format.enclosure {
            Some(quote) => self.window.take(&[quote])?,
            None => false,
        };
        let quote = self.format.enclosure.filter(|_| enclosed);
        let mut out = Vec::new();
        // Backslash N alone is NULL, and so is the bare word where fields may be enclosed.
        let (mut null, mut escaped) = (false, false);
        loop {
            self.window.run(&self.special, &mut out)?;
            if let Some(quote) = quote {
                if self.window.take(&[quote, quote])? {
                    out.push(quote);
                    continue;
                }
                if self.window.take(&[quote])? {
                    if let Some(end) = self.end_here()? {
                        return Ok((Some(out), end));
                    }
                    out.push(quote);
                    continue;
                }
                if self.window.peek()?.is_none() {
                    return Ok((Some(out), End::File));
                }
            } else if let Some(end) = self.end_here()? {
                let bare = self.format.enclosure.is_some() && !escaped && out == b"NULL";
                let null = null && out.len() == 1 || bare;
                return Ok((if null { None } else { Some(out) }, end));
            }
            let Some(byte) = self.window.next()? else { continue };
            if Some(byte) != self.format.escape {
                out.push(byte);
                continue;
            }
            escaped = true;
            match self.window.next()? {
                None => out.push(byte),
                Some(b'N') if out.is_empty() && !enclosed => {
                    null = true;
                    out.push(b'N');
                }
                Some(other) => out.push(unescaped(other)),
            }
        }
    }

    /// The `wanted` fields of a line, and whether it has more; reads up to its end.
    fn line(&mut self, wanted: usize) -> SqlResult<(Fields, bool)> {
        let mut fields = Vec::with_capacity(wanted);
        let mut end = End::Field;
        while end == End::Field && fields.len() < wanted {
            let (field, ended) = self.field()?;
            fields.push(field);
            end = ended;
        }
        let mut more = false;
        while end == End::Field {
            let (field, ended) = self.field()?;
            more |= ended == End::Field || field.is_none_or(|f| !f.is_empty());
            end = ended;
        }
        Ok((fields, more))
    }

    /// The fields of a line without separators, each of its width, and whether the line has more; reads up to its end.
    fn fixed_line(&mut self, widths: &[usize]) -> SqlResult<(Fields, bool)> {
        let total = widths.iter().sum::<usize>().max(1);
        let mut line = Vec::with_capacity(total);
        let (mut ended, mut more) = (false, false);
        while !ended && line.len() < total {
            if self.window.take(&self.format.line_end)? {
                ended = true;
                continue;
            }
            match self.window.next()? {
                None => ended = true,
                Some(byte) if Some(byte) == self.format.escape => {
                    line.push(self.window.next()?.map_or(byte, unescaped));
                }
                Some(byte) => line.push(byte),
            }
        }
        while !ended && !self.format.line_end.is_empty() {
            ended = self.window.take(&self.format.line_end)? || self.window.next()?.is_none();
            more |= !ended;
        }
        let mut rest = &line[..];
        let mut fields = Vec::with_capacity(widths.len());
        for width in widths {
            if rest.is_empty() {
                break;
            }
            let (field, behind) = rest.split_at(rest.len().min(*width));
            fields.push(Some(field.to_vec()));
            rest = behind;
        }
        Ok((fields, more))
    }
}

/// What a byte behind the escape character stands for.
fn unescaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

impl Exec<'_, '_> {
    pub(crate) fn load(
        &mut self,
        plan: &InsertPlan,
        load: &LoadPlan,
        progress: &mut Progress,
    ) -> SqlResult<()> {
        let mut source = self.cx.session.read_file(&load.path, load.local)?;
        let mut reader = Reader::new(&mut *source, &load.format);
        for _ in 0..load.skip_lines {
            reader.skip_line()?;
        }
        while reader.start_line()? {
            self.count_row()?;
            progress.records += 1;
            self.cx.warnings.at_row(progress.records);
            let (fields, more) = if load.widths.is_empty() {
                reader.line(load.targets.len())?
            } else {
                reader.fixed_line(&load.widths)?
            };
            if more {
                self.row_shape(plan, load, 1262, progress.records)?;
            }
            self.load_row(plan, load, fields, progress)?;
        }
        Ok(())
    }

    /// Too few fields (1261) or too many (1262).
    fn row_shape(&mut self, plan: &InsertPlan, load: &LoadPlan, errno: u16, row: u64) -> SqlResult<()> {
        let text = if errno == 1261 {
            format!("Row {row} doesn't contain data for all columns")
        } else {
            format!("Row {row} was truncated; it contained more data than there were input columns")
        };
        let condition = SqlError::Other { errno, state: *b"01000", text };
        if self.cx.values.sql_mode.strict() && !plan.ignore && !load.local {
            return Err(condition);
        }
        self.cx.warnings.warn(condition);
        Ok(())
    }

    fn load_row(
        &mut self,
        plan: &InsertPlan,
        load: &LoadPlan,
        fields: Vec<Option<Vec<u8>>>,
        progress: &mut Progress,
    ) -> SqlResult<()> {
        let strict = self.cx.values.sql_mode.strict() && !plan.ignore && !load.local;
        let mode = StoreMode { strict, row: progress.records, nulls: crate::insert::insert_nulls(plan) };
        let mut values = self.defaults(plan, StoreMode { strict: false, ..mode })?;
        let missing = load.targets.len().saturating_sub(fields.len());
        // Without separators each missing field is told, and is zero or empty.
        let fixed = !load.widths.is_empty();
        for _ in 0..if fixed { missing } else { missing.min(1) } {
            self.row_shape(plan, load, 1261, progress.records)?;
        }
        let mut fields = fields.into_iter();
        for target in &load.targets {
            let field = fields.next();
            match target {
                LoadTarget::Variable(name) => {
                    let value = field.flatten().map_or(Value::Null, |f| Value::str(&f, load.collation));
                    self.set_user_variable(name, &value);
                }
                LoadTarget::Column(column) => {
                    let def = &plan.table.def.columns[*column];
                    values[*column] = match field {
                        Some(Some(bytes)) => {
                            let value = Value::str(&bytes, load.collation);
                            self.store_insert(plan, *column, value, mode)?
                        }
                        Some(None) => self.store_insert(plan, *column, Value::Null, mode)?,
                        None if def.auto_increment => Value::Null,
                        None if def.nullable && !fixed => Value::Null,
                        None if store::is_now_for_null(def) => store::now_for(&def.ty, self.cx.values),
                        None => store::implicit_default(&def.ty),
                    };
                }
            }
        }
        for set in &load.sets {
            self.set_values(plan.slot, values.clone());
            let value = match &set.value {
                AssignValue::Expr(e) => e.eval(self)?,
                AssignValue::Default => Value::Null,
            };
            values[set.column] = self.store_insert(plan, set.column, value, mode)?;
        }
        let late = self.late_defaults(plan);
        self.fill_defaults(plan, late, &mut values, mode)?;
        self.insert_row(plan, values, mode, progress)
    }
}
