//! Which columns the images of rows have: `binlog_row_image`, as MariaDB does it.
//!
//! ```text
//!              INSERT              UPDATE before        UPDATE after         DELETE
//! FULL         all                 all                  all                  all
//! FULL_NODUP   all                 all                  written              all
//! NOBLOB       no blobs, written   no blobs             no blobs, written    no blobs
//! MINIMAL      written             primary key          written              primary key
//! ```
//! Without a primary key every image has all columns. Updates and deletes leave generated columns out. A blob of the primary key is none
//! here. Where it was not said which columns a statement wrote, INSERT has all of them, and UPDATE those that changed.

use base::Corruption;
use event_format::Bitmap;

use crate::image;
use crate::tables::TableInfo;

/// Values of binlog_row_image.
const MINIMAL: u8 = 0;
const NOBLOB: u8 = 1;
const FULL_NODUP: u8 = 3;

/// Columns of a table's images in the events of one statement, as bitmaps.
#[derive(Debug, Clone)]
pub(crate) struct Images {
    pub(crate) insert: Vec<u8>,
    pub(crate) delete: Vec<u8>,
    pub(crate) update_before: Vec<u8>,
    update_after: After,
}

#[derive(Debug, Clone)]
enum After {
    Known(Vec<u8>),
    /// These, and those that changed.
    Changed(Vec<u8>),
}

impl Images {
    /// `image` is of binlog_row_image, `written` the columns that the statement writes, empty when it is not known.
    pub(crate) fn new(table: &TableInfo, image: u8, written: &[u8]) -> Self {
        let image = if table.has_key() { image } else { u8::MAX };
        let known = written.len() == Bitmap::bytes(table.width());
        let is_written = |i: usize| known && Bitmap(written).get(i);
        let in_key = |i: usize| Bitmap(&table.key).get(i);
        let is_blob = |i: usize| table.blobs.contains(&i);
        let of = |has: &dyn Fn(usize) -> bool| image::without(table, |i| !has(i));
        let kept = |i: usize| !table.is_generated(i);
        let before = match image {
            MINIMAL => of(&in_key),
            NOBLOB => of(&|i| kept(i) && !is_blob(i)),
            _ => of(&kept),
        };
        let insert = match image {
            MINIMAL if known => of(&is_written),
            NOBLOB if known => of(&|i| !is_blob(i) || is_written(i)),
            _ => table.all.clone(),
        };
        let after = match image {
            MINIMAL | FULL_NODUP => of(&|i| kept(i) && is_written(i)),
            NOBLOB => of(&|i| kept(i) && (!is_blob(i) || is_written(i))),
            _ => of(&kept),
        };
        let depends = matches!(image, MINIMAL | NOBLOB | FULL_NODUP);
        let update_after = if depends && !known { After::Changed(after) } else { After::Known(after) };
        Self { insert, delete: before.clone(), update_before: before, update_after }
    }

    /// Columns after an update, when they do not depend on its row.
    pub(crate) fn update_after(&self) -> Option<&[u8]> {
        match &self.update_after {
            After::Known(columns) => Some(columns),
            After::Changed(_) => None,
        }
    }

    /// Columns after an update of a row; both images are of all columns if that decides.
    pub(crate) fn after_update(
        &self,
        table: &TableInfo,
        before: &[u8],
        after: &[u8],
    ) -> Result<Vec<u8>, Corruption> {
        match &self.update_after {
            After::Known(columns) => Ok(columns.clone()),
            After::Changed(always) => {
                let changed = image::changed(table, before, after)?;
                let has =
                    |i: usize| Bitmap(always).get(i) || Bitmap(&changed).get(i) && !table.is_generated(i);
                Ok(image::without(table, |i| !has(i)))
            }
        }
    }
}
