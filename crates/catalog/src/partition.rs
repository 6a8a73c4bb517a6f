//! How the rows of a table are divided, and where the parts lie.
//!
//! A partitioned table is one definition: one name, one row of the dictionary, one metadata lock. Each of its parts (a partition, or a
//! subpartition where there are such) has a table id, a space and trees of its own, so a part goes or comes by changing that one row.
//!
//! # Invariants
//! P1. [`Partitioning::parts`] is in order: partitions as they stand, in each its subpartitions. A part is named by its place there.
//! P2. All partitions have the same number of subpartitions. RANGE bounds grow.
//! P3. Every part has a tree for each index of the table, at the same position. The table's own space is 0 and its own roots are page 0.
//!
//! # Layout, behind the old formats of a definition (`codec`)
//! ```text
//! rule | sub u8 (0, 1) [rule] | counted u8 | subpartitions counted u8 | partitions varint, {partition}
//! rule: method u8 (0 range, 1 list, 2 hash, 3 linear hash, 4 key, 5 linear key) | algorithm u8 | columns u8 (0, 1)
//!       expression string, or columns varint, {name string}
//! partition: name string | values u8 (0 none, 1 less than, 2 in, 3 default) [rows varint, {values varint, {value string}}] |
//!            options | subpartitions varint, {name string | options | trees}, or trees when there are none
//! options: comment string | engine options: pairs varint, {name string | value string}
//! trees: table id varint | space varint | since varint | indexes varint, {index id varint | root u32}
//! ```
//! A value is the text of a literal, `MAXVALUE` or `NULL`.

use std::fmt::Write as _;

use base::{Corruption, IndexId, Lsn, PageNo, Put, Reader, SpaceId, TableId};
use storage::table::TableSpec;

use crate::codec::text;
use crate::definition::TableDef;
use crate::describe::{quote_name, quote_text};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionMethod {
    Range,
    List,
    Hash {
        linear: bool,
    },
    /// `algorithm` is 0 when none was written: 2.
    Key {
        linear: bool,
        algorithm: u8,
    },
}

/// What rows are divided by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionBy {
    /// The expression as SHOW CREATE TABLE prints it.
    Expr(String),
    /// By name, as written. KEY without columns means the primary key.
    Columns(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionRule {
    pub method: PartitionMethod,
    pub by: PartitionBy,
}

/// Which rows a RANGE or LIST partition has. Values are texts of literals; `MAXVALUE` and `NULL` are words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionValues {
    None,
    LessThan(Vec<String>),
    In(Vec<Vec<String>>),
    Default,
}

/// What was written behind a partition's name, without effect on its rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartitionOptions {
    pub comment: String,
    /// `MAX_ROWS` and the like, in the order in which SHOW CREATE TABLE prints them.
    pub others: Vec<(String, String)>,
}

/// Where a part lies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartTrees {
    pub id: TableId,
    pub space: SpaceId,
    /// Read views below this LSN cannot use the part.
    pub since: Lsn,
    pub indexes: Vec<(IndexId, PageNo)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubpartitionDef {
    pub name: String,
    pub options: PartitionOptions,
    pub trees: PartTrees,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionDef {
    pub name: String,
    pub values: PartitionValues,
    pub options: PartitionOptions,
    /// Of a partition without subpartitions.
    pub trees: PartTrees,
    pub subpartitions: Vec<SubpartitionDef>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partitioning {
    pub rule: PartitionRule,
    pub sub: Option<PartitionRule>,
    /// `PARTITIONS n` instead of names.
    pub counted: bool,
    /// `SUBPARTITIONS n` instead of names.
    pub sub_counted: bool,
    pub partitions: Vec<PartitionDef>,
}

impl PartitionMethod {
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "RANGE",
            Self::List => "LIST",
            Self::Hash { linear: false } => "HASH",
            Self::Hash { linear: true } => "LINEAR HASH",
            Self::Key { linear: false, .. } => "KEY",
            Self::Key { linear: true, .. } => "LINEAR KEY",
        }
    }

    /// HASH and KEY: rows are spread, and partitions have no values.
    pub fn spreads(self) -> bool {
        matches!(self, Self::Hash { .. } | Self::Key { .. })
    }
}

impl PartitionRule {
    /// As information_schema names it.
    pub fn method_name(&self) -> String {
        match (&self.by, self.method.spreads()) {
            (PartitionBy::Columns(_), false) => format!("{} COLUMNS", self.method.name()),
            _ => self.method.name().to_owned(),
        }
    }

    /// The expression, or the columns between commas.
    pub fn expression(&self) -> String {
        match &self.by {
            PartitionBy::Expr(text) => text.clone(),
            PartitionBy::Columns(names) => names.iter().map(|n| quote_name(n)).collect::<Vec<_>>().join(","),
        }
    }

    fn write(&self, out: &mut String) {
        out.push_str(self.method.name());
        if let PartitionMethod::Key { algorithm, .. } = self.method {
            if algorithm == 1 {
                out.push_str(" ALGORITHM = 1");
            }
        } else if matches!(self.by, PartitionBy::Columns(_)) {
            let _infallible = write!(out, "  COLUMNS({})", self.expression());
            return;
        }
        let _infallible = write!(out, " ({})", self.expression());
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let (code, algorithm) = match self.method {
            PartitionMethod::Range => (0, 0),
            PartitionMethod::List => (1, 0),
            PartitionMethod::Hash { linear } => (2 + u8::from(linear), 0),
            PartitionMethod::Key { linear, algorithm } => (4 + u8::from(linear), algorithm),
        };
        out.put_u8(code);
        out.put_u8(algorithm);
        match &self.by {
            PartitionBy::Expr(text) => {
                out.put_u8(0);
                out.put_string(text.as_bytes());
            }
            PartitionBy::Columns(names) => {
                out.put_u8(1);
                out.put_varint(names.len() as u64);
                names.iter().for_each(|name| out.put_string(name.as_bytes()));
            }
        }
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, Corruption> {
        let (code, algorithm) = (r.u8("partition method")?, r.u8("partition algorithm")?);
        let method = match code {
            0 => PartitionMethod::Range,
            1 => PartitionMethod::List,
            2 | 3 => PartitionMethod::Hash { linear: code == 3 },
            4 | 5 => PartitionMethod::Key { linear: code == 5, algorithm },
            other => return Err(Corruption::new("definition", "partition method", "0 to 5", other)),
        };
        let by = match r.u8("partition columns")? {
            0 => PartitionBy::Expr(text(r, "partition expression")?),
            _ => PartitionBy::Columns(texts(r, "partition columns")?),
        };
        Ok(Self { method, by })
    }
}

fn texts(r: &mut Reader<'_>, what: &'static str) -> Result<Vec<String>, Corruption> {
    (0..r.varint(what)?).map(|_| text(r, what)).collect()
}

impl PartitionValues {
    /// As information_schema says it.
    pub fn description(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Default => Some("DEFAULT".to_owned()),
            Self::LessThan(values) => Some(values.join(",")),
            Self::In(rows) => Some(in_text(rows)),
        }
    }

    fn write(&self, out: &mut String, columns: bool) {
        let _infallible = match self {
            Self::None => Ok(()),
            Self::Default => write!(out, " DEFAULT"),
            Self::LessThan(values) if !columns && values[..] == ["MAXVALUE"] => {
                write!(out, " VALUES LESS THAN MAXVALUE")
            }
            Self::LessThan(values) => write!(out, " VALUES LESS THAN ({})", values.join(",")),
            Self::In(rows) => write!(out, " VALUES IN ({})", in_text(rows)),
        };
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let put_row = |row: &Vec<String>, out: &mut Vec<u8>| {
            out.put_varint(row.len() as u64);
            row.iter().for_each(|value| out.put_string(value.as_bytes()));
        };
        match self {
            Self::None => out.put_u8(0),
            Self::LessThan(values) => {
                out.put_u8(1);
                out.put_varint(1);
                put_row(values, out);
            }
            Self::In(rows) => {
                out.put_u8(2);
                out.put_varint(rows.len() as u64);
                rows.iter().for_each(|row| put_row(row, out));
            }
            Self::Default => out.put_u8(3),
        }
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, Corruption> {
        let code = r.u8("partition values")?;
        let mut rows = Vec::new();
        if matches!(code, 1 | 2) {
            for _ in 0..r.varint("partition values")? {
                rows.push(texts(r, "partition value")?);
            }
        }
        match code {
            0 => Ok(Self::None),
            1 => Ok(Self::LessThan(rows.pop().unwrap_or_default())),
            2 => Ok(Self::In(rows)),
            3 => Ok(Self::Default),
            other => Err(Corruption::new("definition", "partition values", "0 to 3", other)),
        }
    }
}

fn in_text(rows: &[Vec<String>]) -> String {
    let row = |row: &Vec<String>| match row.len() {
        1 => row[0].clone(),
        _ => format!("({})", row.join(",")),
    };
    rows.iter().map(row).collect::<Vec<_>>().join(",")
}

impl PartitionOptions {
    fn write(&self, out: &mut String) {
        for (name, value) in &self.others {
            let _infallible = write!(out, " {name} = {value}");
        }
        if !self.comment.is_empty() {
            let _infallible = write!(out, " COMMENT = {}", quote_text(&self.comment));
        }
        out.push_str(" ENGINE = InnoDB");
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_string(self.comment.as_bytes());
        out.put_varint(self.others.len() as u64);
        for (name, value) in &self.others {
            out.put_string(name.as_bytes());
            out.put_string(value.as_bytes());
        }
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, Corruption> {
        let comment = text(r, "partition comment")?;
        let pair = |r: &mut Reader<'_>| Ok((text(r, "partition option")?, text(r, "partition option")?));
        let others =
            (0..r.varint("partition options")?).map(|_| pair(r)).collect::<Result<_, Corruption>>()?;
        Ok(Self { comment, others })
    }
}

impl PartTrees {
    fn encode(&self, out: &mut Vec<u8>) {
        out.put_varint(self.id.0);
        out.put_varint(u64::from(self.space.0));
        out.put_varint(self.since.0);
        out.put_varint(self.indexes.len() as u64);
        for (id, root) in &self.indexes {
            out.put_varint(id.0);
            out.put_u32(root.0);
        }
    }

    fn decode(r: &mut Reader<'_>, indexes: usize) -> Result<Self, Corruption> {
        let mut trees = Self {
            id: TableId(r.varint("part id")?),
            space: SpaceId(r.varint("part space")? as u32),
            since: Lsn(r.varint("part since")?),
            indexes: Vec::new(),
        };
        for _ in 0..r.varint("part indexes")? {
            trees.indexes.push((IndexId(r.varint("index id")?), PageNo(r.u32("index root")?)));
        }
        if trees.indexes.len() != indexes {
            return Err(Corruption::new("definition", "part indexes", indexes, trees.indexes.len()));
        }
        Ok(trees)
    }
}

impl Partitioning {
    /// The parts in order (P1): their trees.
    pub fn parts(&self) -> impl Iterator<Item = &PartTrees> {
        self.partitions.iter().flat_map(|p| {
            let own = p.subpartitions.is_empty().then_some(&p.trees);
            own.into_iter().chain(p.subpartitions.iter().map(|s| &s.trees))
        })
    }

    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut PartTrees> {
        self.partitions.iter_mut().flat_map(|p| {
            let own = p.subpartitions.is_empty().then_some(&mut p.trees);
            own.into_iter().chain(p.subpartitions.iter_mut().map(|s| &mut s.trees))
        })
    }

    /// Subpartitions of each partition; 1 when there are none.
    pub fn parts_per_partition(&self) -> usize {
        self.partitions.first().map_or(1, |p| p.subpartitions.len().max(1))
    }

    pub fn part_count(&self) -> usize {
        self.partitions.len() * self.parts_per_partition()
    }

    /// The parts of a partition or the one part of a subpartition; names compare without case.
    pub fn parts_of(&self, name: &str) -> Option<std::ops::Range<usize>> {
        let each = self.parts_per_partition();
        for (at, partition) in self.partitions.iter().enumerate() {
            if crate::same_name(&partition.name, name) {
                return Some(at * each..(at + 1) * each);
            }
            if let Some(sub) = partition.subpartitions.iter().position(|s| crate::same_name(&s.name, name)) {
                return Some(at * each + sub..at * each + sub + 1);
            }
        }
        None
    }

    /// As MariaDB names a part in messages and plans: `p0`, `p0_p0sp1`.
    pub fn part_name(&self, part: usize) -> String {
        let each = self.parts_per_partition();
        let partition = &self.partitions[part / each];
        match partition.subpartitions.get(part % each) {
            Some(sub) => format!("{}_{}", partition.name, sub.name),
            None => partition.name.clone(),
        }
    }

    /// The clause of SHOW CREATE TABLE.
    pub fn write(&self, out: &mut String) {
        out.push_str("\n PARTITION BY ");
        self.rule.write(out);
        if let Some(sub) = &self.sub {
            out.push_str("\nSUBPARTITION BY ");
            sub.write(out);
            if self.sub_counted {
                let _infallible = write!(out, "\nSUBPARTITIONS {}", self.parts_per_partition());
            }
        }
        if self.counted {
            let _infallible = write!(out, "\nPARTITIONS {}", self.partitions.len());
            return;
        }
        let columns = matches!(self.rule.by, PartitionBy::Columns(_));
        for (i, partition) in self.partitions.iter().enumerate() {
            out.push_str(if i == 0 { "\n(" } else { ",\n " });
            self.write_partition(partition, columns, out);
        }
        out.push(')');
    }

    fn write_partition(&self, partition: &PartitionDef, columns: bool, out: &mut String) {
        let _infallible = write!(out, "PARTITION {}", quote_name(&partition.name));
        partition.values.write(out, columns);
        if partition.subpartitions.is_empty() || self.sub_counted {
            return partition.options.write(out);
        }
        for (i, sub) in partition.subpartitions.iter().enumerate() {
            out.push_str(if i == 0 { "\n (" } else { ",\n  " });
            let _infallible = write!(out, "SUBPARTITION {}", quote_name(&sub.name));
            sub.options.write(out);
        }
        out.push(')');
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.rule.encode(out);
        out.put_u8(u8::from(self.sub.is_some()));
        if let Some(sub) = &self.sub {
            sub.encode(out);
        }
        out.put_u8(u8::from(self.counted));
        out.put_u8(u8::from(self.sub_counted));
        out.put_varint(self.partitions.len() as u64);
        for partition in &self.partitions {
            out.put_string(partition.name.as_bytes());
            partition.values.encode(out);
            partition.options.encode(out);
            out.put_varint(partition.subpartitions.len() as u64);
            for sub in &partition.subpartitions {
                out.put_string(sub.name.as_bytes());
                sub.options.encode(out);
                sub.trees.encode(out);
            }
            if partition.subpartitions.is_empty() {
                partition.trees.encode(out);
            }
        }
    }

    pub(crate) fn decode(r: &mut Reader<'_>, indexes: usize) -> Result<Self, Corruption> {
        let rule = PartitionRule::decode(r)?;
        let sub = if r.u8("subpartitions")? == 0 { None } else { Some(PartitionRule::decode(r)?) };
        let (counted, sub_counted) = (r.u8("counted")? != 0, r.u8("counted")? != 0);
        let mut partitions = Vec::new();
        for _ in 0..r.varint("partitions")? {
            partitions.push(decode_partition(r, indexes)?);
        }
        let each = partitions.first().map_or(0, |p: &PartitionDef| p.subpartitions.len());
        if partitions.is_empty() || partitions.iter().any(|p| p.subpartitions.len() != each) {
            return Err(Corruption::new("definition", "partitions", "some, all alike", partitions.len()));
        }
        Ok(Self { rule, sub, counted, sub_counted, partitions })
    }
}

fn decode_partition(r: &mut Reader<'_>, indexes: usize) -> Result<PartitionDef, Corruption> {
    let mut partition = PartitionDef {
        name: text(r, "partition name")?,
        values: PartitionValues::decode(r)?,
        options: PartitionOptions::decode(r)?,
        trees: PartTrees::default(),
        subpartitions: Vec::new(),
    };
    for _ in 0..r.varint("subpartitions")? {
        partition.subpartitions.push(SubpartitionDef {
            name: text(r, "subpartition name")?,
            options: PartitionOptions::decode(r)?,
            trees: PartTrees::decode(r, indexes)?,
        });
    }
    if partition.subpartitions.is_empty() {
        partition.trees = PartTrees::decode(r, indexes)?;
    }
    Ok(partition)
}

impl TableDef {
    /// What storage needs to open the parts.
    pub(crate) fn part_specs(&self, whole: &TableSpec) -> Vec<TableSpec> {
        let Some(partitioning) = &self.partitioning else { return Vec::new() };
        let part = |(at, trees): (usize, &PartTrees)| {
            let mut spec = whole.clone();
            (spec.id, spec.space) = (trees.id, trees.space);
            spec.name = format!("{}#P#{}", whole.name, partitioning.part_name(at));
            for (index, (id, root)) in spec.indexes.iter_mut().zip(&trees.indexes) {
                (index.id, index.root, index.space, index.since) = (*id, *root, None, trees.since);
            }
            spec
        };
        partitioning.parts().enumerate().map(part).collect()
    }
}
