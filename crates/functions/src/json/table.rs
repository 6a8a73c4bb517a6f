//! JSON_TABLE: a document as rows.
//!
//! Each value that the table's path names is a row. A nested path gives a row for each of its values, and one with NULLs when it
//! has none; nested paths beside each other follow one another, each with NULLs for the others.

use super::path::{self, Path};
use super::tree::{self, Json, unescape};

/// What becomes of a value that is missing or does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Otherwise {
    Null,
    Error,
    Default(Box<[u8]>),
}

#[derive(Debug, Clone)]
pub enum Column {
    Ordinality,
    Exists { path: JsonPath },
    Value { path: JsonPath, whole: bool, on_empty: Otherwise, on_error: Otherwise },
    Nested { path: JsonPath, columns: Vec<Column> },
}

/// A path that has been read.
#[derive(Debug, Clone)]
pub struct JsonPath(Path);

/// Something wrong, in the words of messages 4035 and up: number and text.
pub type Problem = (u16, String);

impl JsonPath {
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &[u8]) -> Result<Self, Problem> {
        path::read(text).map(Self).map_err(|fault| super::path_problem(fault, 2, "JSON_TABLE"))
    }
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    Null,
    Number(u64),
    Text(Vec<u8>),
}

/// How many columns of a row a list of columns gives.
pub fn width(columns: &[Column]) -> usize {
    columns.iter().map(|c| if let Column::Nested { columns, .. } = c { width(columns) } else { 1 }).sum()
}

/// The rows of a document.
///
/// # Errors
/// The document is no JSON, or a value is missing or wrong where the column says so: the column's number.
pub fn rows(document: &[u8], path: &JsonPath, columns: &[Column]) -> Result<Vec<Vec<Cell>>, Problem> {
    let json = tree::read(document).map_err(|fault| super::problem(fault, 1, "JSON_TABLE"))?;
    let mut out = Vec::new();
    expand(&json, path, columns, &mut out)?;
    Ok(out)
}

fn expand(
    json: &Json<'_>,
    path: &JsonPath,
    columns: &[Column],
    out: &mut Vec<Vec<Cell>>,
) -> Result<(), Problem> {
    let mut found = Vec::new();
    path::find(json, &path.0, &mut |v| {
        found.push(v);
        true
    });
    for (i, value) in found.into_iter().enumerate() {
        one(value, i as u64 + 1, columns, out)?;
    }
    Ok(())
}

/// The rows of one value.
fn one(json: &Json<'_>, number: u64, columns: &[Column], out: &mut Vec<Vec<Cell>>) -> Result<(), Problem> {
    let mut row = Vec::with_capacity(width(columns));
    let mut nested: Vec<(usize, Vec<Vec<Cell>>)> = Vec::new();
    for column in columns {
        match column {
            Column::Ordinality => row.push(Cell::Number(number)),
            Column::Exists { path } => {
                row.push(Cell::Number(u64::from(path::first(json, &path.0).is_some())));
            }
            Column::Value { path, whole, on_empty, on_error } => {
                row.push(cell(json, path, *whole, on_empty, on_error)?);
            }
            Column::Nested { path, columns } => {
                let mut rows = Vec::new();
                expand(json, path, columns, &mut rows)?;
                nested.push((row.len(), rows));
                row.resize(row.len() + width(columns), Cell::Null);
            }
        }
    }
    let before = out.len();
    for (at, rows) in nested {
        for inner in rows {
            let mut whole = row.clone();
            whole[at..at + inner.len()].clone_from_slice(&inner);
            out.push(whole);
        }
    }
    if out.len() == before {
        out.push(row);
    }
    Ok(())
}

fn cell(
    json: &Json<'_>,
    path: &JsonPath,
    whole: bool,
    on_empty: &Otherwise,
    on_error: &Otherwise,
) -> Result<Cell, Problem> {
    let mut found = Vec::new();
    path::find(json, &path.0, &mut |v| {
        found.push(v);
        found.len() < 2
    });
    let otherwise = |how: &Otherwise, error: Problem| match how {
        Otherwise::Null => Ok(Cell::Null),
        Otherwise::Default(text) => Ok(Cell::Text(text.to_vec())),
        Otherwise::Error => Err(error),
    };
    match found.as_slice() {
        [] => otherwise(on_empty, (4176, "Field can't be set for JSON_TABLE".into())),
        [one] if whole => Ok(Cell::Text(one.text(tree::Style::Loose))),
        [Json::Literal(b"null")] => Ok(Cell::Null),
        [Json::Literal(b"true")] => Ok(Cell::Text(b"1".to_vec())),
        [Json::Literal(b"false")] => Ok(Cell::Text(b"0".to_vec())),
        [Json::Literal(text)] => Ok(Cell::Text(text.to_vec())),
        [Json::String(text)] => Ok(Cell::Text(unescape(text))),
        [_] => otherwise(on_error, (4178, "Can't store a JSON value in the scalar column".into())),
        _ => otherwise(on_error, (4179, "Can't store multiple matches of the path in the column".into())),
    }
}
