//! Tables as events describe them, made once for each `TableDef` record and shared by all readers.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base::{Corruption, Lsn};
use charset::Collation;
use event_format::{Bitmap, Key, MapColumn, MetadataLevel, TableDescription};
use hashbrown::HashMap;
use log_format::definition::{DefinedColumn, Definition, Shape};
use row_format::{ColumnType, IntSize};

/// Definitions that are kept at most.
const KEPT_MAX: usize = 4096;

/// One version of one table.
#[derive(Debug)]
pub(crate) struct TableInfo {
    pub(crate) definition: Definition,
    types: Vec<ColumnType>,
    descriptions: [OnceLock<TableDescription>; 3],
    /// Every column.
    pub(crate) all: Vec<u8>,
    /// What finds a row: the primary key's columns, or every column.
    pub(crate) key: Vec<u8>,
    /// Columns that NOBLOB leaves out of an image when it can.
    pub(crate) blobs: Vec<usize>,
    /// Columns that images of updates and deletes leave out.
    generated: Vec<usize>,
}

impl TableInfo {
    fn new(bytes: &[u8]) -> Result<Self, Corruption> {
        let definition = Definition::decode(bytes)?;
        let types = definition.columns.iter().map(column_type).collect::<Result<Vec<_>, _>>()?;
        let width = definition.columns.len();
        let in_key = |i: usize| definition.primary_key.iter().any(|(column, _)| *column as usize == i);
        let all = Bitmap::of(width, 0..width);
        let key = match definition.primary_key.is_empty() {
            true => all.clone(),
            false => Bitmap::of(width, (0..width).filter(|i| in_key(*i))),
        };
        let is_blob = |i: usize| matches!(types[i], ColumnType::Blob { .. });
        let blobs = match definition.primary_key.is_empty() {
            true => Vec::new(),
            false => (0..width).filter(|i| is_blob(*i) && !in_key(*i)).collect(),
        };
        let generated = (0..width).filter(|i| definition.columns[*i].generated && !in_key(*i)).collect();
        Ok(Self { types, descriptions: Default::default(), all, key, blobs, generated, definition })
    }

    pub(crate) fn is_generated(&self, column: usize) -> bool {
        self.generated.contains(&column)
    }

    pub(crate) fn has_key(&self) -> bool {
        !self.definition.primary_key.is_empty()
    }

    pub(crate) fn width(&self) -> usize {
        self.definition.columns.len()
    }

    /// The columns of a table map event.
    pub(crate) fn description(&self, level: MetadataLevel) -> &TableDescription {
        let slot = match level {
            MetadataLevel::NoLog => 0,
            MetadataLevel::Minimal => 1,
            MetadataLevel::Full => 2,
        };
        self.descriptions[slot].get_or_init(|| {
            let columns: Vec<_> = self
                .definition
                .columns
                .iter()
                .zip(&self.types)
                .map(|(c, ty)| MapColumn { ty, nullable: c.nullable, name: c.name.as_bytes() })
                .collect();
            let key =
                |(column, prefix): &(u32, u32)| Key { column: *column as usize, prefix: u64::from(*prefix) };
            let keys: Vec<Key> = self.definition.primary_key.iter().map(key).collect();
            TableDescription::new(&columns, &keys, level)
        })
    }
}

/// A column's type, from what its table map says.
fn column_type(c: &DefinedColumn) -> Result<ColumnType, Corruption> {
    let unsigned = c.unsigned;
    let meta = |i: usize| c.metadata.get(i).copied().unwrap_or(0);
    let collation = c.collation.and_then(Collation::by_id).unwrap_or(Collation::BINARY);
    let members = || c.members.iter().flatten().map(|m| m.clone().into_boxed_slice()).collect();
    Ok(match c.type_code {
        1 => ColumnType::int(IntSize::Tiny, unsigned),
        2 => ColumnType::int(IntSize::Small, unsigned),
        3 => ColumnType::int(IntSize::Int, unsigned),
        8 => ColumnType::int(IntSize::Big, unsigned),
        9 => ColumnType::int(IntSize::Medium, unsigned),
        4 => ColumnType::Float { unsigned },
        5 => ColumnType::Double { unsigned },
        10 => ColumnType::Date,
        13 => ColumnType::Year,
        15 => ColumnType::VarChar { max_bytes: u16::from_le_bytes([meta(0), meta(1)]), collation },
        16 => ColumnType::Bit { bits: meta(1).wrapping_mul(8).wrapping_add(meta(0)) },
        17 => ColumnType::Timestamp { fsp: meta(0) },
        18 => ColumnType::DateTime { fsp: meta(0) },
        19 => ColumnType::Time { fsp: meta(0) },
        246 => ColumnType::Decimal { precision: meta(0), scale: meta(1), unsigned },
        252 => ColumnType::Blob { length_bytes: length_bytes(c), collation },
        254 => match meta(0) {
            247 => ColumnType::Enum { members: members(), collation },
            248 => ColumnType::Set { members: members(), collation },
            real => {
                let high = u16::from(!real & 0x30) << 4;
                ColumnType::Char { max_bytes: high | u16::from(meta(1)), collation }
            }
        },
        other => {
            return Err(Corruption::new(
                format_args!("column {}", c.name),
                "type code",
                "a known one",
                other,
            ));
        }
    })
}

fn length_bytes(c: &DefinedColumn) -> u8 {
    match c.shape {
        Shape::Prefixed(bytes) => bytes,
        Shape::Fixed(_) => 1,
    }
}

/// Tables by the LSN of their `TableDef` record, which never changes.
#[derive(Default)]
pub(crate) struct Tables(Mutex<HashMap<Lsn, Arc<TableInfo>>>);

impl Tables {
    /// The table that the record at `lsn` defines; `read` gives the definition if it has to be read.
    pub(crate) fn get<E: From<Corruption>>(
        &self,
        lsn: Lsn,
        read: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Arc<TableInfo>, E> {
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&lsn) {
            return Ok(Arc::clone(known));
        }
        let info = Arc::new(TableInfo::new(&read()?)?);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEPT_MAX {
            all.clear();
        }
        all.insert(lsn, Arc::clone(&info));
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_type_survives_its_table_map() {
        let members: Arc<[Box<[u8]>]> =
            vec![b"x".to_vec().into_boxed_slice(), b"y".to_vec().into_boxed_slice()].into();
        let text = Collation::UTF8MB4_UCA1400_AI_CI;
        let mut types = vec![
            ColumnType::Float { unsigned: true },
            ColumnType::Double { unsigned: false },
            ColumnType::Decimal { precision: 30, scale: 7, unsigned: true },
            ColumnType::Year,
            ColumnType::Date,
            ColumnType::Enum { members: members.clone(), collation: text },
            ColumnType::Set { members, collation: text },
        ];
        for size in [IntSize::Tiny, IntSize::Small, IntSize::Medium, IntSize::Int, IntSize::Big] {
            types.push(ColumnType::int(size, size == IntSize::Medium));
        }
        types.extend([0, 3, 6].into_iter().flat_map(|fsp| {
            [ColumnType::Time { fsp }, ColumnType::DateTime { fsp }, ColumnType::Timestamp { fsp }]
        }));
        types.extend((1..=64).map(|bits| ColumnType::Bit { bits }));
        types.extend((0..=1020).map(|max_bytes| ColumnType::Char { max_bytes, collation: text }));
        types.extend(
            [0, 255, 256, 65_532].map(|max_bytes| ColumnType::VarChar { max_bytes, collation: text }),
        );
        types.extend(
            (1..=4).map(|length_bytes| ColumnType::Blob { length_bytes, collation: Collation::BINARY }),
        );
        for ty in types {
            let mut metadata = Vec::new();
            ty.binlog_metadata(&mut metadata);
            let defined = DefinedColumn {
                name: "c".into(),
                type_code: ty.binlog_type(),
                metadata,
                shape: match ty.fixed_len() {
                    Some(len) => Shape::Fixed(len as u32),
                    None => Shape::Prefixed(ty.length_bytes() as u8),
                },
                nullable: false,
                unsigned: matches!(
                    ty,
                    ColumnType::Int { unsigned: true, .. }
                        | ColumnType::Float { unsigned: true }
                        | ColumnType::Decimal { unsigned: true, .. }
                ),
                collation: ty.collation().map(Collation::id),
                members: match &ty {
                    ColumnType::Enum { members, .. } | ColumnType::Set { members, .. } => {
                        Some(members.iter().map(|m| m.to_vec()).collect())
                    }
                    _ => None,
                },
                generated: false,
            };
            assert_eq!(column_type(&defined).unwrap(), ty);
        }
    }
}
