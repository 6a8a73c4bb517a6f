//! Rows of tables that may have parts: where a row is written, and reads that go through several parts as through one table.
//!
//! A row belongs into the part that its own values say, so who has a row's body knows its part; nothing else is kept with a row that was
//! read. An update whose new values belong elsewhere deletes the row in one part and inserts it in the other.
//!
//! # Order
//! A scan goes through the parts one after the other, as MariaDB's does. Where the statement relies on the index's order the parts are read
//! beside each other and their rows merged by key; ties go to the earlier part.

use std::sync::Arc;

use catalog::TableHandle;
use row_format::{RowView, key};
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::partition::{self, Router};
use storage::row::{Direction, KeyRange, ReadMode, RowBuf, RowError, Scan, Strength};
use storage::table::Table;
use storage::trx::Trx;
use types::Value;

use crate::errors::corrupt;

/// The trees that a row with this body belongs into.
///
/// # Errors
/// 1526.
pub(crate) fn part_of<'t>(handle: &'t TableHandle, body: &[u8]) -> SqlResult<&'t Arc<Table>> {
    match partition::router(handle)? {
        None => Ok(&handle.table),
        Some(router) => {
            let part = router.part_of(&handle.table.spec().layout, body)?;
            Ok(&handle.table.partitions()[part])
        }
    }
}

/// Every tree set of a table: its parts, or itself.
pub(crate) fn all_parts(table: &Arc<Table>) -> &[Arc<Table>] {
    match table.partitions() {
        [] => std::slice::from_ref(table),
        parts => parts,
    }
}

/// True for 1526 and 1748: the row has no partition, or none that the statement names.
pub(crate) fn is_without_partition(error: &SqlError) -> bool {
    matches!(error, SqlError::Other { errno: 1526 | 1748, .. })
}

/// Inserts a row where it belongs, or locks the one in its way.
pub(crate) fn insert_or_lock(
    trx: &mut Trx,
    handle: &TableHandle,
    body: &[u8],
    strength: Strength,
    parts: &Parts,
) -> SqlResult<Result<(), RowError>> {
    let table = part_of(handle, body)?;
    refuse_other(handle, table, parts)?;
    Ok(trx.insert_or_lock(table, body, strength))
}

/// 1748 for a part that is not among those that the statement names.
fn refuse_other(handle: &TableHandle, part: &Arc<Table>, named: &Parts) -> SqlResult<()> {
    let Some(list) = named else { return Ok(()) };
    if list.iter().any(|named| Arc::ptr_eq(&handle.table.partitions()[*named], part)) {
        return Ok(());
    }
    let text = "Found a row not matching the given partition set".to_owned();
    Err(SqlError::Other { errno: 1748, state: *b"HY000", text })
}

pub(crate) fn insert(trx: &mut Trx, handle: &TableHandle, body: &[u8]) -> SqlResult<Result<(), RowError>> {
    Ok(trx.insert(part_of(handle, body)?, body))
}

/// Changes a row that was read; it moves when its new values belong into another part, which must be one of `parts`.
pub(crate) fn update(
    trx: &mut Trx,
    handle: &TableHandle,
    row: &RowBuf,
    body: &[u8],
    parts: &Parts,
) -> SqlResult<Result<(), RowError>> {
    let old = part_of(handle, &row.body)?;
    let new = part_of(handle, body)?;
    if Arc::ptr_eq(old, new) {
        return Ok(trx.update(old, row, body));
    }
    refuse_other(handle, new, parts)?;
    // The row that may be in the way is met before anything is changed.
    Ok(trx.insert_or_lock(new, body, Strength::Shared).and_then(|()| trx.delete(old, row)))
}

pub(crate) fn delete(trx: &mut Trx, handle: &TableHandle, row: &RowBuf) -> SqlResult<Result<(), RowError>> {
    Ok(trx.delete(part_of(handle, &row.body)?, row))
}

/// Which parts a read goes through; `None` = all.
pub(crate) type Parts = Option<Arc<[usize]>>;

/// Reads one row by the full key of a unique index.
pub(crate) fn get(
    trx: &mut Trx,
    handle: &TableHandle,
    index: usize,
    wanted: &[u8],
    mode: ReadMode,
    out: &mut RowBuf,
    parts: &Parts,
) -> SqlResult<Result<bool, RowError>> {
    let Some(router) = partition::router(handle)? else {
        return Ok(trx.get(&handle.table, index, wanted, mode, out));
    };
    let all = handle.table.partitions();
    let allowed = |part: usize| parts.as_ref().is_none_or(|list| list.contains(&part));
    if let Some(part) = part_of_key(router, handle, index, wanted)? {
        return Ok(match part.filter(|part| allowed(*part)) {
            Some(part) => trx.get(&all[part], index, wanted, mode, out),
            None => Ok(false),
        });
    }
    for (_, part) in all.iter().enumerate().filter(|(at, _)| allowed(*at)) {
        match trx.get(part, index, wanted, mode, out) {
            Ok(false) => {}
            other => return Ok(other),
        }
    }
    Ok(Ok(false))
}

/// The part of a row with this key: `None` when the key does not tell, `Some(None)` when no part takes such a row.
fn part_of_key(
    router: &Router,
    handle: &TableHandle,
    index: usize,
    wanted: &[u8],
) -> SqlResult<Option<Option<usize>>> {
    let spec = handle.table.spec();
    let parts = &spec.indexes[index].parts;
    let tells = |column: &usize| {
        let part = parts.iter().find(|p| p.column == *column && p.prefix.is_none());
        part.is_some_and(|p| key::is_reversible(&spec.layout, p))
    };
    let readable = parts.iter().all(|p| key::is_reversible(&spec.layout, p));
    if !readable || !router.columns().iter().all(tells) {
        return Ok(None);
    }
    let found = key::decode(&spec.layout, parts, wanted).map_err(|c| corrupt(&c))?;
    let mut values = vec![Value::Null; spec.layout.columns().len()];
    for (part, value) in parts.iter().zip(found) {
        values[part.column] = value;
    }
    let mut body = Vec::new();
    crate::row::body_of(&spec.layout, &values, &mut body)?;
    match router.part_of(&spec.layout, &body) {
        Ok(part) => Ok(Some(Some(part))),
        Err(e) if is_without_partition(&e) => Ok(Some(None)),
        Err(e) => Err(e),
    }
}

/// A scan of a table, whether it has parts or not.
pub(crate) enum TableScan {
    One(Box<Scan>),
    Many(Box<PartsScan>),
}

/// How the scans of parts are opened.
#[derive(Debug, Clone)]
struct Opening {
    index: usize,
    range: KeyRange,
    direction: Direction,
    mode: ReadMode,
    large: bool,
    covering: bool,
    expect: Option<u64>,
    semi_consistent: bool,
}

impl Opening {
    fn open(&self, trx: &mut Trx, part: &Arc<Table>) -> Scan {
        let mut scan = trx.scan(part, self.index, self.range.clone(), self.direction, self.mode);
        if self.large {
            scan = scan.large();
        }
        if self.covering {
            scan = scan.covering(true);
        }
        if let Some(rows) = self.expect {
            scan = scan.expect_rows(rows);
        }
        if self.semi_consistent {
            scan = scan.semi_consistent();
        }
        scan
    }
}

/// One part of a merged scan and its next row.
struct Head {
    scan: Scan,
    row: RowBuf,
    key: Vec<u8>,
    waits: bool,
}

pub(crate) struct PartsScan {
    table: Arc<Table>,
    opening: Opening,
    /// Those not begun, the next one last.
    todo: Vec<usize>,
    ordered: bool,
    /// Of an unordered scan the one that is being read, of an ordered one all.
    heads: Vec<Head>,
    /// Where the row handed out last came from.
    last: usize,
}

/// Opens a scan. `ordered`: rows must come in the order of the index.
#[expect(clippy::too_many_arguments, reason = "one scan's whole description")]
pub(crate) fn scan(
    trx: &mut Trx,
    handle: &TableHandle,
    index: usize,
    range: KeyRange,
    direction: Direction,
    mode: ReadMode,
    parts: &Parts,
    ordered: bool,
) -> TableScan {
    let table = &handle.table;
    if table.partitions().is_empty() {
        return TableScan::One(Box::new(trx.scan(table, index, range, direction, mode)));
    }
    let mut todo: Vec<usize> = match parts {
        Some(list) => list.to_vec(),
        None => (0..table.partitions().len()).collect(),
    };
    todo.reverse();
    // Hidden row ids of two parts have no common order.
    let ordered = ordered && todo.len() > 1 && (index > 0 || !table.spec().has_hidden_key());
    let opening = Opening {
        index,
        range,
        direction,
        mode,
        large: false,
        covering: false,
        expect: None,
        semi_consistent: false,
    };
    TableScan::Many(Box::new(PartsScan {
        table: table.clone(),
        opening,
        todo,
        ordered,
        heads: Vec::new(),
        last: 0,
    }))
}

impl TableScan {
    pub(crate) fn large(self) -> Self {
        match self {
            Self::One(scan) => Self::One(Box::new(scan.large())),
            Self::Many(mut scan) => {
                scan.opening.large = true;
                Self::Many(scan)
            }
        }
    }

    pub(crate) fn covering(self, covering: bool) -> Self {
        match self {
            Self::One(scan) => Self::One(Box::new(scan.covering(covering))),
            Self::Many(mut scan) => {
                scan.opening.covering = covering;
                Self::Many(scan)
            }
        }
    }

    pub(crate) fn expect_rows(self, rows: u64) -> Self {
        match self {
            Self::One(scan) => Self::One(Box::new(scan.expect_rows(rows))),
            Self::Many(mut scan) => {
                scan.opening.expect = Some(rows);
                Self::Many(scan)
            }
        }
    }

    pub(crate) fn semi_consistent(self) -> Self {
        match self {
            Self::One(scan) => Self::One(Box::new(scan.semi_consistent())),
            Self::Many(mut scan) => {
                scan.opening.semi_consistent = true;
                Self::Many(scan)
            }
        }
    }

    pub(crate) fn row_is_locked(&self) -> bool {
        match self {
            Self::One(scan) => scan.row_is_locked(),
            Self::Many(scan) => scan.heads.get(scan.last).is_none_or(|head| head.scan.row_is_locked()),
        }
    }

    pub(crate) fn lock_current(&mut self, trx: &mut Trx, row: &mut RowBuf) -> Result<bool, RowError> {
        match self {
            Self::One(scan) => scan.lock_current(trx, row),
            Self::Many(scan) => match scan.heads.get_mut(scan.last) {
                Some(head) => head.scan.lock_current(trx, row),
                None => Ok(true),
            },
        }
    }

    /// The next row, false at the end.
    pub(crate) fn next(&mut self, trx: &mut Trx, out: &mut RowBuf) -> Result<bool, RowError> {
        match self {
            Self::One(scan) => scan.next(trx, out),
            Self::Many(scan) if scan.ordered => scan.next_merged(trx, out),
            Self::Many(scan) => scan.next_in_turn(trx, out),
        }
    }
}

impl PartsScan {
    fn begin(&mut self, trx: &mut Trx, part: usize) {
        let scan = self.opening.open(trx, &self.table.partitions()[part]);
        self.heads.push(Head { scan, row: RowBuf::new(), key: Vec::new(), waits: false });
    }

    fn next_in_turn(&mut self, trx: &mut Trx, out: &mut RowBuf) -> Result<bool, RowError> {
        loop {
            if let Some(head) = self.heads.first_mut() {
                if head.scan.next(trx, out)? {
                    return Ok(true);
                }
                self.heads.clear();
            }
            match self.todo.pop() {
                Some(part) => self.begin(trx, part),
                None => return Ok(false),
            }
        }
    }

    fn next_merged(&mut self, trx: &mut Trx, out: &mut RowBuf) -> Result<bool, RowError> {
        if self.heads.is_empty() {
            while let Some(part) = self.todo.pop() {
                self.begin(trx, part);
            }
            for at in 0..self.heads.len() {
                self.advance(trx, at)?;
            }
        } else {
            self.advance(trx, self.last)?;
        }
        let forward = self.opening.direction == Direction::Forward;
        let mut best: Option<usize> = None;
        for (at, head) in self.heads.iter().enumerate().filter(|(_, head)| head.waits) {
            let better = best.is_none_or(|b| {
                let known = &self.heads[b].key;
                if forward { head.key < *known } else { head.key > *known }
            });
            if better {
                best = Some(at);
            }
        }
        let Some(best) = best else { return Ok(false) };
        self.last = best;
        std::mem::swap(out, &mut self.heads[best].row);
        Ok(true)
    }

    /// Reads the next row of one part.
    fn advance(&mut self, trx: &mut Trx, at: usize) -> Result<(), RowError> {
        let head = &mut self.heads[at];
        head.waits = head.scan.next(trx, &mut head.row)?;
        if !head.waits {
            return Ok(());
        }
        head.key.clear();
        if self.opening.index > 0 {
            let spec = self.table.spec();
            let view = RowView::new(&spec.layout, &head.row.body)?;
            key::encode(&spec.layout, &spec.indexes[self.opening.index].parts, &view, &mut head.key)?;
        }
        head.key.extend_from_slice(&head.row.key);
        Ok(())
    }
}
