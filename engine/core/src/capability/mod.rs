//! The requests and answers of the contract's functions, one module for each package of `sdk/wit`.
//!
//! Field names are those of the contract. A request holds a function's arguments by name; where the answer is more than
//! a number or a text, it stands beside it.

pub mod cloud;
pub mod cluster;
pub mod cql;
pub mod histogram;
pub mod load;
pub mod observe;
pub mod operation;
pub mod report;
pub mod step;

/// Declares request and answer types with the contract's field names.
macro_rules! record {
    ($( $(#[$meta:meta])* $name:ident { $( $(#[$fmeta:meta])* $field:ident : $type:ty ),* $(,)? } )*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
            #[serde(rename_all = "kebab-case")]
            pub struct $name { $( $(#[$fmeta])* pub $field: $type, )* }
        )*
    };
}
pub(crate) use record;
