//! What a statement did, for the OK packet.

/// What a statement did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// A result set went to the sink.
    pub has_rows: bool,
    /// Rows of the result set (what FOUND_ROWS() says without SQL_CALC_FOUND_ROWS).
    pub found_rows: u64,
    /// Changed rows; for UPDATE the found ones when the client asked for those (CLIENT_FOUND_ROWS).
    pub affected_rows: u64,
    /// First AUTO_INCREMENT value that was generated, or the explicit one of the last row: goes into the OK packet.
    pub insert_id: u64,
    /// First AUTO_INCREMENT value that was generated: what LAST_INSERT_ID() says from now on; 0 = unchanged.
    pub last_insert_id: u64,
    /// `Records: 3  Duplicates: 0  Warnings: 0`
    pub info: String,
}
