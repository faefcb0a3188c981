//! Sparse rows: how many entries each row has and the steps between their columns, as varints in one segment; their
//! values in another. About half the bytes of pairs, and no MessagePack.

use super::{Number, WireError};
use crate::values::SparseRow;

/// Appends seven bits a byte, the lowest first; the top bit says that more follow.
fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Result<u32, WireError> {
    let (mut value, mut shift) = (0u32, 0);
    loop {
        let (byte, rest) =
            bytes.split_first().ok_or_else(|| WireError::new("sparse rows end in the middle"))?;
        *bytes = rest;
        let bits = u32::from(byte & 0x7f);
        if shift > 28 || (shift == 28 && bits > 0x0f) {
            return Err(WireError::new("a number of a sparse row has more than 32 bits"));
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
        shift += 7;
    }
}

/// Rows as a segment of places and one of values. Columns ascend as a rule; others take more bytes and come back too.
pub(super) fn split<T: Number>(rows: &[SparseRow<T>]) -> (Vec<u8>, Vec<T>) {
    let n_values = rows.iter().map(Vec::len).sum();
    let (mut places, mut values) = (Vec::with_capacity(n_values + rows.len()), Vec::with_capacity(n_values));
    for row in rows {
        put_varint(&mut places, u32::try_from(row.len()).expect("a row has fewer than 2³² columns"));
        let mut last = 0u32;
        for (column, value) in row {
            put_varint(&mut places, column.wrapping_sub(last));
            last = *column;
            values.push(*value);
        }
    }
    (places, values)
}

/// The rows that [`split`] took apart.
///
/// # Errors
/// When the two segments do not belong together.
pub(super) fn join<T: Number>(mut places: &[u8], values: &[T]) -> Result<Vec<SparseRow<T>>, WireError> {
    let mut values = values.iter();
    let mut rows = Vec::new();
    while !places.is_empty() {
        let length = take_varint(&mut places)? as usize;
        if length > values.len() {
            return Err(WireError::new("sparse rows have more columns than values"));
        }
        let mut row = Vec::with_capacity(length);
        let mut column = 0u32;
        for value in values.by_ref().take(length) {
            column = column.wrapping_add(take_varint(&mut places)?);
            row.push((column, *value));
        }
        rows.push(row);
    }
    match values.len() {
        0 => Ok(rows),
        left => Err(WireError(format!("sparse rows have {left} values too many"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sparse_rows_come_back_as_they_were(
            rows in proptest::collection::vec(proptest::collection::vec((any::<u32>(), any::<i32>()), 0..6), 0..6)
        ) {
            let (places, values) = split(&rows);
            prop_assert_eq!(join(&places, &values).unwrap(), rows);
        }

        #[test]
        fn any_bytes_are_rows_or_an_error(places: Vec<u8>, values: Vec<i32>) {
            if let Ok(rows) = join(&places, &values) {
                prop_assert_eq!(rows.iter().map(Vec::len).sum::<usize>(), values.len());
            }
        }
    }

    #[test]
    fn neighbouring_columns_take_a_byte_each() {
        let row: SparseRow<f32> = (0..100).map(|i| (1000 + i, 1.0)).collect();
        assert_eq!(split(&[row]).0.len(), 1 + 2 + 99);
    }
}
