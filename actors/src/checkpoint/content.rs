//! Rows as bytes: little-endian numbers one after the other; of sparse rows the lengths, then columns and values.

use crate::values::{Buffer, Content, Element, Kind, SparseRow};

/// A number as it is stored.
trait Number: Element {
    const BYTES: usize;
    fn put(self, to: &mut [u8]);
    fn get(from: &[u8]) -> Self;
}

macro_rules! number {
    ($type:ty) => {
        impl Number for $type {
            const BYTES: usize = size_of::<$type>();
            fn put(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }
            fn get(from: &[u8]) -> Self {
                Self::from_le_bytes(from.try_into().expect("cut to the size of a number"))
            }
        }
    };
}
number!(f32);
number!(f64);
number!(i32);

/// Bytes before the numbers: element type, layout, rows.
const HEAD: usize = 10;
const DENSE: u8 = 0;
const SPARSE: u8 = 1;

/// Adds rows to `out`.
pub(super) fn put(buffer: &Buffer, out: &mut Vec<u8>) {
    match buffer {
        Buffer::F32(content) => put_content(0, content, out),
        Buffer::F64(content) => put_content(1, content, out),
        Buffer::I32(content) => put_content(2, content, out),
    }
}

fn put_content<T: Number>(kind: u8, content: &Content<T>, out: &mut Vec<u8>) {
    match content {
        Content::Dense(values) => {
            head(kind, DENSE, values.len(), out);
            put_numbers(values, out);
        }
        Content::Sparse(rows) => {
            head(kind, SPARSE, rows.len(), out);
            let lengths = rows.iter().map(|row| i32::try_from(row.len()).expect("columns are u32"));
            put_numbers(&lengths.collect::<Vec<i32>>(), out);
            for (column, value) in rows.iter().flatten() {
                out.extend_from_slice(&column.to_le_bytes());
                put_numbers(&[*value], out);
            }
        }
    }
}

fn head(kind: u8, layout: u8, n: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&[kind, layout]);
    out.extend_from_slice(&(n as u64).to_le_bytes());
}

fn put_numbers<T: Number>(values: &[T], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + values.len() * T::BYTES, 0);
    out[start..].chunks_exact_mut(T::BYTES).zip(values).for_each(|(to, value)| value.put(to));
}

/// Rows from exactly these bytes; `None` where they are none.
pub(super) fn get(bytes: &[u8]) -> Option<Buffer> {
    let (head, body) = bytes.split_at_checked(HEAD)?;
    let n = u64::from_le_bytes(head[2..].try_into().expect("cut to eight"));
    let n = usize::try_from(n).ok()?;
    let kind = [Kind::F32, Kind::F64, Kind::I32].get(usize::from(head[0])).copied()?;
    match kind {
        Kind::F32 => get_content::<f32>(head[1], n, body).map(Buffer::F32),
        Kind::F64 => get_content::<f64>(head[1], n, body).map(Buffer::F64),
        Kind::I32 => get_content::<i32>(head[1], n, body).map(Buffer::I32),
    }
}

fn get_content<T: Number>(layout: u8, n: usize, body: &[u8]) -> Option<Content<T>> {
    match layout {
        DENSE => {
            let whole = n.checked_mul(T::BYTES)? == body.len();
            whole.then(|| Content::Dense(body.chunks_exact(T::BYTES).map(T::get).collect()))
        }
        SPARSE => {
            let (lengths, mut entries) = body.split_at_checked(n.checked_mul(4)?)?;
            let mut rows = Vec::with_capacity(n);
            for length in lengths.chunks_exact(4).map(i32::get) {
                let bytes = usize::try_from(length).ok()?.checked_mul(4 + T::BYTES)?;
                let (row, rest) = entries.split_at_checked(bytes)?;
                rows.push(get_row(row));
                entries = rest;
            }
            entries.is_empty().then_some(Content::Sparse(rows))
        }
        _ => None,
    }
}

fn get_row<T: Number>(bytes: &[u8]) -> SparseRow<T> {
    let entry = |bytes: &[u8]| {
        let (column, value) = bytes.split_at(4);
        (u32::from_le_bytes(column.try_into().expect("cut to four")), T::get(value))
    };
    bytes.chunks_exact(4 + T::BYTES).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn buffer() -> impl Strategy<Value = Buffer> {
        let row = |_| proptest::collection::vec((any::<u32>(), any::<i32>()), 0..4);
        let sparse = proptest::collection::vec(Just(()).prop_flat_map(row), 0..5);
        prop_oneof![
            proptest::collection::vec(any::<f32>(), 0..20).prop_map(|v| Buffer::F32(Content::Dense(v))),
            proptest::collection::vec(any::<f64>(), 0..20).prop_map(|v| Buffer::F64(Content::Dense(v))),
            proptest::collection::vec(any::<i32>(), 0..20).prop_map(|v| Buffer::I32(Content::Dense(v))),
            sparse.prop_map(|rows| Buffer::I32(Content::Sparse(rows))),
        ]
    }

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_written_and_no_other_length(buffer in buffer(), cut in any::<prop::sample::Index>()) {
            let mut bytes = Vec::new();
            put(&buffer, &mut bytes);
            let read = get(&bytes).expect("whole rows");
            prop_assert_eq!(format!("{read:?}"), format!("{buffer:?}")); // NaN differs from itself
            prop_assert_eq!(get(&bytes[..cut.index(bytes.len())]), None);
        }
    }
}
