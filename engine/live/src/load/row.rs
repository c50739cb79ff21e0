//! What is in a row: a pure function of its key, and bytes that do not compress.

use scylla::errors::SerializationError;
use scylla::serialize::row::{RowSerializationContext, SerializeRow};
use scylla::serialize::writers::RowWriter;

use crate::load::keys::mix;

/// The shape of a table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Columns beside the key.
    pub columns: u32,
    /// Bytes of one column.
    pub column_bytes: u32,
}

impl Shape {
    /// The table for such rows; rows of another shape are in another table.
    pub fn table(&self) -> String {
        format!("rows_{}x{}", self.columns, self.column_bytes)
    }

    /// The columns with `text` made of each number, with commas between.
    pub fn list(&self, text: impl Fn(u32) -> String) -> String {
        (0..self.columns).map(text).collect::<Vec<_>>().join(", ")
    }
}

/// The row of a key, written into a request without a copy in between.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its key.
    pub key: i64,
    /// Its shape.
    pub shape: Shape,
}

impl Row {
    fn fill(&self, column: u32, bytes: &mut [u8]) {
        let start = mix(mix(self.key as u64) ^ u64::from(column));
        for (n, chunk) in bytes.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&mix(start.wrapping_add(n as u64)).to_le_bytes()[..chunk.len()]);
        }
    }
}

impl SerializeRow for Row {
    fn serialize(&self, _: &RowSerializationContext<'_>, writer: &mut RowWriter) -> Result<(), SerializationError> {
        writer.make_cell_writer().set_value(&self.key.to_be_bytes()).map_err(SerializationError::new)?;
        let mut bytes = [0; 4_096];
        for column in 0..self.shape.columns {
            let mut cell = writer.make_cell_writer().into_value_builder();
            let mut left = self.shape.column_bytes as usize;
            let mut part = 0u32;
            while left > 0 {
                let piece = &mut bytes[..left.min(4_096)];
                self.fill(column ^ (part << 16), piece);
                cell.append_bytes(piece);
                left -= piece.len();
                part += 1;
            }
            cell.finish().map_err(SerializationError::new)?;
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SHAPE: Shape = Shape { columns: 2, column_bytes: 5_000 };

    fn bytes(key: i64) -> Vec<u8> {
        let mut buffer = Vec::new();
        let mut writer = RowWriter::new(&mut buffer);
        Row { key, shape: SHAPE }.serialize(&RowSerializationContext::empty(), &mut writer).unwrap();
        buffer
    }

    #[test]
    fn a_row_has_its_key_and_all_columns() {
        // A length of four bytes stands before each value.
        assert_eq!(bytes(7).len(), 4 + 8 + 2 * (4 + 5_000));
    }

    #[test]
    fn bytes_look_random() {
        let mut counts = [0u32; 256];
        bytes(1).iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        assert!(counts.iter().all(|count| *count < 90), "{counts:?}");
    }

    proptest! {
        #[test]
        fn a_row_is_the_same_again_and_another_key_has_another(key: i64, other: i64) {
            prop_assert_eq!(bytes(key), bytes(key));
            prop_assume!(key != other);
            prop_assert_ne!(&bytes(key)[12..], &bytes(other)[12..]);
        }
    }
}
