//! What the report shows, and in which order.

use super::record;

record! {
    /// Set the sections.
    Publish {
        /// A JSON array of sections, as the contract describes it.
        sections: String,
    }
}
