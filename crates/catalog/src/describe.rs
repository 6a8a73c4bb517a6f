//! Definitions as SQL text: SHOW CREATE TABLE, and the type of a column as SHOW COLUMNS names it.

use std::fmt::Write as _;

use charset::Collation;
use row_format::{ColumnType, IntSize, KeyPart};
use types::{Context, Value};

use crate::definition::{
    ColumnDef, DefaultValue, ForeignKeyDef, IndexDef, KEY_BYTES_MAX, PRIMARY, ReferenceAction, RowTime,
    TableDef,
};

/// `name` in backticks.
pub fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `text` in single quotes.
pub fn quote_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

impl ColumnDef {
    /// `int(10) unsigned zerofill`, `varchar(20)`, `enum('a','b')`.
    pub fn type_text(&self) -> String {
        let mut out = match &self.ty {
            ColumnType::Int { size, unsigned } => {
                format!("{}({})", size.name(), self.int_width(*size, *unsigned))
            }
            ColumnType::Float { .. } => self.real_text("float"),
            ColumnType::Double { .. } => self.real_text("double"),
            ColumnType::Decimal { precision, scale, .. } => format!("decimal({precision},{scale})"),
            ColumnType::Year => format!("year({})", self.width.unwrap_or(4)),
            ColumnType::Bit { bits } => format!("bit({bits})"),
            ColumnType::Date => "date".to_owned(),
            ColumnType::Time { fsp } => with_fsp("time", *fsp),
            ColumnType::DateTime { fsp } => with_fsp("datetime", *fsp),
            ColumnType::Timestamp { fsp } => with_fsp("timestamp", *fsp),
            ColumnType::Char { max_bytes, collation } => sized("char", "binary", *max_bytes, *collation),
            ColumnType::VarChar { max_bytes, collation } => {
                sized("varchar", "varbinary", *max_bytes, *collation)
            }
            ColumnType::Blob { length_bytes, collation } => {
                let size = ["tiny", "", "medium", "long"][usize::from(*length_bytes).clamp(1, 4) - 1];
                format!("{size}{}", if collation.is_binary() { "blob" } else { "text" })
            }
            ColumnType::Enum { members, .. } => members_text("enum", members),
            ColumnType::Set { members, .. } => members_text("set", members),
            ColumnType::Fixed(kind) => kind.name().to_owned(),
        };
        if self.is_unsigned() {
            out.push_str(" unsigned");
        }
        if self.zerofill {
            out.push_str(" zerofill");
        }
        out
    }

    fn is_unsigned(&self) -> bool {
        matches!(
            self.ty,
            ColumnType::Int { unsigned: true, .. }
                | ColumnType::Float { unsigned: true }
                | ColumnType::Double { unsigned: true }
                | ColumnType::Decimal { unsigned: true, .. }
        )
    }

    fn int_width(&self, size: IntSize, unsigned: bool) -> u32 {
        self.width.unwrap_or(match (size, unsigned) {
            (IntSize::Tiny, u) => 4 - u32::from(u),
            (IntSize::Small, u) => 6 - u32::from(u),
            (IntSize::Medium, u) => 9 - u32::from(u),
            (IntSize::Int, u) => 11 - u32::from(u),
            (IntSize::Big, _) => 20,
        })
    }

    fn real_text(&self, name: &str) -> String {
        match (self.width, self.decimals) {
            (Some(width), Some(decimals)) => format!("{name}({width},{decimals})"),
            _ => name.to_owned(),
        }
    }

    /// The default as a literal or function; `None` when there is none.
    pub fn default_text(&self) -> Option<String> {
        match &self.default {
            DefaultValue::None => None,
            DefaultValue::Null => Some("NULL".to_owned()),
            DefaultValue::CurrentTimestamp => Some(self.now_text()),
            DefaultValue::Expression(text) => Some(text.clone()),
            DefaultValue::Literal(literal) => Some(match (&literal.0, &self.ty) {
                (Value::Double(v), _) if self.decimals.is_some() => {
                    format!("{v:.*}", usize::from(self.decimals.unwrap_or(0)))
                }
                (Value::Float(v), _) if self.decimals.is_some() => {
                    format!("{v:.*}", usize::from(self.decimals.unwrap_or(0)))
                }
                (Value::Bit { value, .. }, _) => format!("b'{value:b}'"),
                (
                    value,
                    ColumnType::Int { .. }
                    | ColumnType::Float { .. }
                    | ColumnType::Double { .. }
                    | ColumnType::Decimal { .. }
                    | ColumnType::Year,
                ) => plain_text(value),
                (Value::Str(s), _) if s.collation().is_binary() && !s.bytes().is_empty() => {
                    s.bytes().iter().fold("x'".to_owned(), |text, b| text + &format!("{b:02x}")) + "'"
                }
                (value, _) => quote_text(&plain_text(value)),
            }),
        }
    }

    fn now_text(&self) -> String {
        match self.ty {
            ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } if fsp > 0 => {
                format!("current_timestamp({fsp})")
            }
            _ => "current_timestamp()".to_owned(),
        }
    }

    fn write(&self, table: Collation, out: &mut String) {
        // Writing to a String cannot fail.
        let _infallible = write!(out, "  {} {}", quote_name(&self.name), self.type_text());
        if let Some(collation) = self.ty.collation()
            && !collation.is_binary()
            && collation != table
        {
            let _infallible =
                write!(out, " CHARACTER SET {} COLLATE {}", collation.charset().name(), collation.name());
        }
        self.write_value(out);
        if self.unversioned {
            out.push_str(" WITHOUT SYSTEM VERSIONING");
        }
        if !self.comment.is_empty() {
            let _infallible = write!(out, " COMMENT {}", quote_text(&self.comment));
        }
        if let Some(check) = &self.check {
            let _infallible = write!(out, " CHECK ({check})");
        }
    }

    /// Where the column's value comes from, and what it may be.
    fn write_value(&self, out: &mut String) {
        if let Some(generated) = &self.generated {
            let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
            let _infallible = write!(out, " GENERATED ALWAYS AS ({}) {kind}", generated.expr);
            if self.invisible {
                out.push_str(" INVISIBLE");
            }
            return;
        }
        if let Some(row_time) = self.row_time {
            let end = match row_time {
                RowTime::Start => "START",
                RowTime::End => "END",
            };
            let _infallible = write!(out, " GENERATED ALWAYS AS ROW {end}");
            if self.invisible {
                out.push_str(" INVISIBLE");
            }
            return;
        }
        if !self.nullable {
            out.push_str(" NOT NULL");
        } else if matches!(self.ty, ColumnType::Timestamp { .. }) {
            out.push_str(" NULL");
        }
        if let Some(default) = self.default_text() {
            let _infallible = write!(out, " DEFAULT {default}");
        }
        if self.on_update_now {
            let _infallible = write!(out, " ON UPDATE {}", self.now_text());
        }
        if self.auto_increment {
            out.push_str(" AUTO_INCREMENT");
        }
        if self.invisible {
            out.push_str(" INVISIBLE");
        }
    }
}

fn write_period(name: &str, start: &str, end: &str, out: &mut String) {
    let _infallible = write!(out, ",\n  PERIOD FOR {name} ({}, {})", quote_name(start), quote_name(end));
}

fn plain_text(value: &Value) -> String {
    let mut out = Vec::new();
    value.write_text(&Context::default(), &mut out);
    match value.as_str() {
        Some(s) => s.to_utf8_lossy(),
        None => String::from_utf8_lossy(&out).into_owned(),
    }
}

fn with_fsp(name: &str, fsp: u8) -> String {
    if fsp == 0 { name.to_owned() } else { format!("{name}({fsp})") }
}

fn sized(text: &str, bytes: &str, max_bytes: u16, collation: Collation) -> String {
    let name = if collation.is_binary() { bytes } else { text };
    format!("{name}({})", usize::from(max_bytes) / collation.charset().max_len())
}

fn members_text(name: &str, members: &[Box<[u8]>]) -> String {
    let members: Vec<String> = members.iter().map(|m| quote_text(&String::from_utf8_lossy(m))).collect();
    format!("{name}({})", members.join(","))
}

impl TableDef {
    /// What SHOW calls the index: HASH for a unique key that MariaDB keeps as the hash of its values, whose declared length is beyond
    /// what a key may have.
    pub fn index_method(&self, index: &IndexDef) -> &'static str {
        let bytes = |part: &KeyPart| {
            let ty = &self.columns[part.column].ty;
            let widest = ty.collation().map_or(1, |c| c.charset().max_len() as u64);
            match (part.prefix, ty) {
                (Some(chars), _) => u64::from(chars) * widest,
                (None, ColumnType::Blob { .. }) => KEY_BYTES_MAX + 1,
                (None, ty) => ty.max_bytes(),
            }
        };
        let long = index.unique && index.parts.iter().map(bytes).sum::<u64>() > KEY_BYTES_MAX;
        if long { "HASH" } else { "BTREE" }
    }

    /// The statement that makes this table. `next` is the next AUTO_INCREMENT value, shown when it is above 1.
    pub fn create_statement(&self, next: Option<u64>) -> String {
        let temporary = if self.temporary { "TEMPORARY " } else { "" };
        let mut out = format!("CREATE {temporary}TABLE {} (\n", quote_name(&self.name));
        for (i, (_, column)) in self.shown_columns().enumerate() {
            if i > 0 {
                out.push_str(",\n");
            }
            column.write(self.collation, &mut out);
        }
        if let Some(own) = &self.period {
            write_period(&quote_name(&own.name), &own.start, &own.end, &mut out);
        }
        for index in self.indexes.iter().filter(|i| !i.parts.is_empty()) {
            out.push_str(",\n  ");
            if index.name == PRIMARY {
                out.push_str("PRIMARY KEY");
            } else {
                let unique = if index.unique { "UNIQUE " } else { "" };
                let _infallible = write!(out, "{unique}KEY {}", quote_name(&index.name));
            }
            let own = index.parts.len() - if index.without_overlaps { 2 } else { 0 };
            let mut parts: Vec<String> = index.parts[..own]
                .iter()
                .filter(|p| !self.columns[p.column].hidden)
                .map(|p| {
                    let length = p.prefix.map(|n| format!("({n})")).unwrap_or_default();
                    let order = if p.descending { " DESC" } else { "" };
                    format!("{}{length}{order}", quote_name(&self.columns[p.column].name))
                })
                .collect();
            if let Some(period) = self.period.as_ref().filter(|_| index.without_overlaps) {
                parts.push(format!("{} WITHOUT OVERLAPS", quote_name(&period.name)));
            }
            let _infallible = write!(out, " ({})", parts.join(","));
            if index.using_btree {
                out.push_str(" USING BTREE");
            } else if self.index_method(index) == "HASH" {
                out.push_str(" USING HASH");
            }
            if !index.comment.is_empty() {
                let _infallible = write!(out, " COMMENT {}", quote_text(&index.comment));
            }
            if index.ignored {
                out.push_str(" IGNORED");
            }
        }
        if let Some((start, end)) = self.versioning().filter(|(_, end)| !self.columns[*end].hidden) {
            write_period("SYSTEM_TIME", &self.columns[start].name, &self.columns[end].name, &mut out);
        }
        self.write_constraints(&mut out);
        out.push_str("\n) ENGINE=InnoDB");
        if let Some(next) = next.filter(|n| *n > 1) {
            let _infallible = write!(out, " AUTO_INCREMENT={next}");
        }
        if self.sequence.is_some() {
            out.push_str(" SEQUENCE=1");
            return out;
        }
        let _infallible = write!(
            out,
            " DEFAULT CHARSET={} COLLATE={}{}",
            self.collation.charset().name(),
            self.collation.name(),
            self.options
        );
        if !self.comment.is_empty() {
            let _infallible = write!(out, " COMMENT={}", quote_text(&self.comment));
        }
        if self.versioning().is_some() {
            out.push_str(" WITH SYSTEM VERSIONING");
        }
        if let Some(partitioning) = &self.partitioning {
            partitioning.write(&mut out);
        }
        out
    }

    /// CREATE SEQUENCE, when the table is one.
    pub fn create_sequence_statement(&self) -> Option<String> {
        let s = self.sequence.as_ref()?;
        let ty = self.columns[0].type_text();
        let ty = match ty.split_once('(') {
            Some(("bigint", rest)) if !rest.ends_with("unsigned") => String::new(),
            Some((name, rest)) => {
                format!("as {name}{} ", if rest.ends_with("unsigned") { " unsigned" } else { "" })
            }
            None => format!("as {ty} "),
        };
        let cache = if s.cache == 0 { "nocache".to_owned() } else { format!("cache {}", s.cache) };
        let mut out = format!(
            "CREATE SEQUENCE {} {ty}start with {} minvalue {} maxvalue {} increment by {} {cache} {} ENGINE=InnoDB",
            quote_name(&self.name),
            s.start,
            s.minimum,
            s.maximum,
            s.increment,
            if s.cycle { "cycle" } else { "nocycle" }
        );
        if !self.comment.is_empty() {
            let _infallible = write!(out, " COMMENT={}", quote_text(&self.comment));
        }
        Some(out)
    }

    /// A foreign key as SHOW CREATE TABLE shows it.
    pub fn foreign_key_text(&self, key: &ForeignKeyDef) -> String {
        let own: Vec<String> = key.columns.iter().map(|c| quote_name(&self.columns[*c].name)).collect();
        let theirs: Vec<String> = key.parent_columns.iter().map(|c| quote_name(c)).collect();
        let schema = if key.parent_schema == self.schema {
            String::new()
        } else {
            format!("{}.", quote_name(&key.parent_schema))
        };
        let mut out = format!(
            "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {schema}{} ({})",
            quote_name(&key.name),
            own.join(", "),
            quote_name(&key.parent_table),
            theirs.join(", "),
        );
        for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
            if action != ReferenceAction::Restrict {
                let _infallible = write!(out, " ON {event} {}", action.text());
            }
        }
        out
    }

    fn write_constraints(&self, out: &mut String) {
        for key in &self.foreign_keys {
            out.push_str(",\n  ");
            out.push_str(&self.foreign_key_text(key));
        }
        // A period is its own constraint.
        let period = self.period_check();
        let others = self.checks.iter().enumerate().filter(|(i, _)| Some(*i) != period);
        for (_, check) in others {
            let _infallible =
                write!(out, ",\n  CONSTRAINT {} CHECK ({})", quote_name(&check.name), check.expr);
        }
    }
}

impl ReferenceAction {
    /// As information_schema names it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Restrict => "RESTRICT",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
            Self::NoAction => "NO ACTION",
        }
    }
}
