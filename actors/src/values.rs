//! The numbers that travel: typed buffers of dense or sparse rows, and how one buffer is folded into another.
//!
//! Inside the runtime the element type is erased ([`Buffer`]), since a message or a shard holds tables of several
//! types; an app gets it back as a slice of [`Element`]s.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// A number that a table can hold: `f32`, `f64` or `i32`.
pub trait Element: Copy + Default + PartialEq + AddAssign + Send + Sync + std::fmt::Debug + 'static {
    /// Its name in a [`Table`](crate::Table).
    const KIND: Kind;
    /// Hides the element type.
    fn erase(content: Content<Self>) -> Buffer;
    /// The content, if the buffer holds this element type.
    fn peek(buffer: &Buffer) -> Option<&Content<Self>>;
    /// The content to write, if the buffer holds this element type.
    fn peek_mut(buffer: &mut Buffer) -> Option<&mut Content<Self>>;
}

/// The element type of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Counts.
    I32,
}

/// The non-zeros of one sparse row: `(column, value)`, columns ascending.
pub type SparseRow<T> = Vec<(u32, T)>;

/// Rows of one element type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Content<T> {
    /// Rows one after the other, each as wide as its table.
    Dense(Vec<T>),
    /// One list of non-zeros a row.
    Sparse(Vec<SparseRow<T>>),
}

/// Rows of any element type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Buffer {
    /// Single precision.
    F32(Content<f32>),
    /// Double precision.
    F64(Content<f64>),
    /// Counts.
    I32(Content<i32>),
}

macro_rules! element {
    ($type:ty, $kind:ident) => {
        impl Element for $type {
            const KIND: Kind = Kind::$kind;
            fn erase(content: Content<Self>) -> Buffer {
                Buffer::$kind(content)
            }
            fn peek(buffer: &Buffer) -> Option<&Content<Self>> {
                match buffer {
                    Buffer::$kind(content) => Some(content),
                    _ => None,
                }
            }
            fn peek_mut(buffer: &mut Buffer) -> Option<&mut Content<Self>> {
                match buffer {
                    Buffer::$kind(content) => Some(content),
                    _ => None,
                }
            }
        }
    };
}
element!(f32, F32);
element!(f64, F64);
element!(i32, I32);

impl<T: Element> Content<T> {
    /// All rows zero.
    pub fn zero(sparse: bool, n_rows: usize, width: usize) -> Self {
        if sparse {
            Self::Sparse(vec![Vec::new(); n_rows])
        } else {
            Self::Dense(vec![T::default(); n_rows * width])
        }
    }

    /// The elements of dense rows, row after row.
    ///
    /// # Panics
    /// On sparse rows.
    pub fn dense(&self) -> &[T] {
        match self {
            Self::Dense(values) => values,
            Self::Sparse(_) => panic!("these rows are sparse: read them with `sparse_row`"),
        }
    }

    /// The elements of dense rows, to write.
    ///
    /// # Panics
    /// On sparse rows.
    pub fn dense_mut(&mut self) -> &mut Vec<T> {
        match self {
            Self::Dense(values) => values,
            Self::Sparse(_) => panic!("these rows are sparse: write them with `sparse_row_mut`"),
        }
    }

    /// The rows as lists of non-zeros.
    ///
    /// # Panics
    /// On dense rows.
    pub fn sparse(&self) -> &[SparseRow<T>] {
        match self {
            Self::Sparse(rows) => rows,
            Self::Dense(_) => panic!("these rows are dense: read them with `row`"),
        }
    }

    /// The rows as lists of non-zeros, to write.
    ///
    /// # Panics
    /// On dense rows.
    pub fn sparse_mut(&mut self) -> &mut Vec<SparseRow<T>> {
        match self {
            Self::Sparse(rows) => rows,
            Self::Dense(_) => panic!("these rows are dense: write them with `row_mut`"),
        }
    }

    /// Adds `delta`, element by element; non-zeros that become zero leave a sparse row.
    fn add(&mut self, delta: &Self) {
        match (self, delta) {
            (Self::Dense(values), Self::Dense(delta)) => add_dense(values, delta),
            (Self::Sparse(rows), Self::Sparse(delta)) => {
                assert_eq!(rows.len(), delta.len(), "a delta has as many rows as its page");
                for (row, delta) in rows.iter_mut().zip(delta).filter(|(_, delta)| !delta.is_empty()) {
                    *row = add_sparse(row, delta);
                }
            }
            _ => panic!("a delta has the layout of its table"),
        }
    }

    /// Replaces every dense row by `delta`'s, and of sparse rows those that `delta` names.
    fn assign(&mut self, delta: &Self) {
        match (self, delta) {
            (Self::Dense(values), Self::Dense(delta)) => values.copy_from_slice(delta),
            (Self::Sparse(rows), Self::Sparse(delta)) => {
                for (row, delta) in rows.iter_mut().zip(delta).filter(|(_, delta)| !delta.is_empty()) {
                    row.clone_from(delta);
                }
            }
            _ => panic!("a delta has the layout of its table"),
        }
    }
}

fn add_dense<T: Element>(values: &mut [T], delta: &[T]) {
    assert_eq!(values.len(), delta.len(), "a delta is as long as its page");
    for (value, delta) in values.iter_mut().zip(delta) {
        *value += *delta;
    }
}

fn add_sparse<T: Element>(row: &[(u32, T)], delta: &[(u32, T)]) -> SparseRow<T> {
    let mut sum = Vec::with_capacity(row.len() + delta.len());
    let (mut left, mut right) = (row.iter().peekable(), delta.iter().peekable());
    loop {
        let take_left = match (left.peek(), right.peek()) {
            (None, None) => return sum,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(l), Some(r)) if l.0 == r.0 => {
                let (column, mut value) = *left.next().expect("peeked");
                value += right.next().expect("peeked").1;
                if value != T::default() {
                    sum.push((column, value));
                }
                continue;
            }
            (Some(l), Some(r)) => l.0 < r.0,
        };
        let next = if take_left { left.next() } else { right.next() };
        sum.extend(next.filter(|entry| entry.1 != T::default()));
    }
}

/// Runs the same expression on the content of a buffer, or of two buffers of one type.
macro_rules! on_content {
    ($buffer:expr, $content:ident => $body:expr) => {
        match $buffer {
            Buffer::F32($content) => $body,
            Buffer::F64($content) => $body,
            Buffer::I32($content) => $body,
        }
    };
    ($left:expr, $right:expr, $a:ident, $b:ident => $body:expr) => {
        match ($left, $right) {
            (Buffer::F32($a), Buffer::F32($b)) => $body,
            (Buffer::F64($a), Buffer::F64($b)) => $body,
            (Buffer::I32($a), Buffer::I32($b)) => $body,
            _ => panic!("a delta has the element type of its table"),
        }
    };
}

impl Buffer {
    /// All rows zero.
    pub fn zero(kind: Kind, sparse: bool, n_rows: usize, width: usize) -> Self {
        match kind {
            Kind::F32 => Self::F32(Content::zero(sparse, n_rows, width)),
            Kind::F64 => Self::F64(Content::zero(sparse, n_rows, width)),
            Kind::I32 => Self::I32(Content::zero(sparse, n_rows, width)),
        }
    }

    /// Becomes equal to `other`, in the memory it has.
    ///
    /// # Panics
    /// When the two differ in element type or layout: a broken invariant of the runtime.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        on_content!(self, other, values, other => match (values, other) {
            (Content::Dense(values), Content::Dense(other)) => values.clone_from(other),
            (Content::Sparse(rows), Content::Sparse(other)) => rows.clone_from(other),
            _ => panic!("two versions of a page have one layout"),
        });
    }

    /// Adds `delta` in place.
    ///
    /// # Panics
    /// When the two differ in element type, layout or size: a broken invariant of the runtime.
    pub fn add(&mut self, delta: &Self) {
        on_content!(self, delta, values, delta => values.add(delta));
    }

    /// Replaces the values by `delta`'s.
    ///
    /// # Panics
    /// As [`Buffer::add`].
    pub fn assign(&mut self, delta: &Self) {
        on_content!(self, delta, values, delta => values.assign(delta));
    }

    /// Numbers held: elements of dense rows, non-zeros of sparse ones.
    pub fn n_values(&self) -> usize {
        on_content!(self, content => match content {
            Content::Dense(values) => values.len(),
            Content::Sparse(rows) => rows.iter().map(Vec::len).sum(),
        })
    }

    /// The element type.
    pub fn kind(&self) -> Kind {
        match self {
            Self::F32(_) => Kind::F32,
            Self::F64(_) => Kind::F64,
            Self::I32(_) => Kind::I32,
        }
    }

    /// Whether some number is none (NaN).
    pub(crate) fn has_nan(&self) -> bool {
        // Without a branch per number this runs at the speed of memory.
        match self {
            Self::F32(Content::Dense(values)) => {
                values.chunks(4096).any(|chunk| chunk.iter().fold(false, |nan, v| nan | v.is_nan()))
            }
            Self::F64(Content::Dense(values)) => {
                values.chunks(4096).any(|chunk| chunk.iter().fold(false, |nan, v| nan | v.is_nan()))
            }
            Self::F32(Content::Sparse(rows)) => rows.iter().flatten().any(|(_, v)| v.is_nan()),
            Self::F64(Content::Sparse(rows)) => rows.iter().flatten().any(|(_, v)| v.is_nan()),
            Self::I32(_) => false,
        }
    }

    /// The largest absolute value, 0 where there is none.
    pub(crate) fn largest(&self) -> f64 {
        fn of<'a, T: Copy + 'a>(values: impl Iterator<Item = &'a T>, size: impl Fn(T) -> f64) -> f64 {
            values.fold(0.0, |largest, value| size(*value).max(largest))
        }
        macro_rules! largest {
            ($content:expr, $size:expr) => {
                match $content {
                    Content::Dense(values) => of(values.iter(), $size),
                    Content::Sparse(rows) => of(rows.iter().flatten().map(|(_, value)| value), $size),
                }
            };
        }
        match self {
            Self::F32(content) => largest!(content, |v: f32| f64::from(v.abs())),
            Self::F64(content) => largest!(content, f64::abs),
            Self::I32(content) => largest!(content, |v: i32| f64::from(v.unsigned_abs())),
        }
    }

    /// Bytes that the numbers take: 4 or 8 each, and 4 for the column of a non-zero.
    pub(crate) fn n_bytes(&self) -> u64 {
        let each = match self {
            Self::F32(_) | Self::I32(_) => 4,
            Self::F64(_) => 8,
        };
        let column = on_content!(self, content => if matches!(content, Content::Sparse(_)) { 4 } else { 0 });
        self.n_values() as u64 * (each + column)
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        match self {
            Self::F32(Content::Dense(values)) => values.iter().all(|v| v.is_finite()),
            Self::F64(Content::Dense(values)) => values.iter().all(|v| v.is_finite()),
            Self::F32(Content::Sparse(rows)) => rows.iter().flatten().all(|(_, v)| v.is_finite()),
            Self::F64(Content::Sparse(rows)) => rows.iter().flatten().all(|(_, v)| v.is_finite()),
            Self::I32(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dense_of(row: &[(u32, i32)], width: usize) -> Vec<i32> {
        let mut dense = vec![0; width];
        row.iter().for_each(|(column, value)| dense[*column as usize] = *value);
        dense
    }

    fn sparse_row() -> impl Strategy<Value = SparseRow<i32>> {
        proptest::collection::btree_map(0u32..12, prop_oneof![-3i32..0, 1i32..4], 0..8)
            .prop_map(|row| row.into_iter().collect())
    }

    proptest! {
        #[test]
        fn sparse_rows_add_as_dense_ones_do(a in sparse_row(), b in sparse_row()) {
            let sum = add_sparse(&a, &b);
            let expected: Vec<i32> = dense_of(&a, 12).iter().zip(dense_of(&b, 12)).map(|(x, y)| x + y).collect();
            prop_assert_eq!(dense_of(&sum, 12), expected);
            prop_assert!(sum.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert!(sum.iter().all(|(_, value)| *value != 0));
        }
    }

    #[test]
    #[should_panic(expected = "element type of its table")]
    fn a_delta_of_another_type_is_a_broken_invariant() {
        Buffer::zero(Kind::F32, false, 1, 2).add(&Buffer::zero(Kind::F64, false, 1, 2));
    }

    #[test]
    fn a_buffer_with_a_nan_is_not_finite() {
        assert!(Buffer::F64(Content::Dense(vec![1.0, -2.0])).is_finite());
        assert!(!Buffer::F64(Content::Dense(vec![1.0, f64::NAN])).is_finite());
        assert!(!Buffer::F32(Content::Sparse(vec![vec![(3, f32::INFINITY)]])).is_finite());
    }
}
