//! CQL statements.

use super::record;

record! {
    /// A statement that only reads; answers a JSON array of rows, as text.
    Query {
        /// The statement.
        statement: String,
        /// A JSON array for its markers.
        values: String,
    }
    /// A statement that changes something.
    Execute {
        /// The statement.
        statement: String,
        /// A JSON array for its markers.
        values: String,
    }
}
