//! A message in parts: its head as bytes, its bulk as typed segments. Out: shared memory, not copied. In: each segment
//! in a vector of its own type, so that it is aligned and need not be copied again.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Form, WireError};
use crate::values::{Buffer, Content};

#[cfg(target_endian = "big")]
compile_error!("segments are little-endian in memory as on the wire");

/// The element type of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Grain {
    Bytes = 0,
    U32 = 1,
    U64 = 2,
    F32 = 3,
    F64 = 4,
    I32 = 5,
}

impl Grain {
    pub(crate) fn of(code: u8) -> Option<Self> {
        [Self::Bytes, Self::U32, Self::U64, Self::F32, Self::F64, Self::I32].get(usize::from(code)).copied()
    }

    /// Bytes of one element.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::Bytes => 1,
            Self::U32 | Self::F32 | Self::I32 => 4,
            Self::U64 | Self::F64 => 8,
        }
    }
}

/// A number that segments can hold: `u8`, `u32`, `u64`, `f32`, `f64`, `i32`.
pub trait Number: bytemuck::Pod + Send + Sync {
    #[doc(hidden)]
    fn shared(values: Arc<Vec<Self>>) -> Segment;
    #[doc(hidden)]
    fn taken(segment: Filled) -> Option<Vec<Self>>;
}

macro_rules! numbers {
    ($($type:ty, $grain:ident;)+) => {
        /// One run of numbers on its way out: shared memory.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum Segment {
            /// The dense rows of a page or block.
            Rows(Arc<Buffer>),
            $(
                #[doc = concat!("`", stringify!($type), "`s.")]
                $grain(Arc<Vec<$type>>),
            )+
        }

        impl Segment {
            pub(crate) fn grain(&self) -> Grain {
                match self {
                    Self::Rows(rows) => match **rows {
                        Buffer::F32(_) => Grain::F32,
                        Buffer::F64(_) => Grain::F64,
                        Buffer::I32(_) => Grain::I32,
                    },
                    $(Self::$grain(_) => Grain::$grain,)+
                }
            }

            /// Its bytes as they travel.
            pub(crate) fn bytes(&self) -> &[u8] {
                match self {
                    Self::Rows(rows) => dense_bytes(rows),
                    $(Self::$grain(values) => bytemuck::cast_slice(values),)+
                }
            }
        }

        /// One run of numbers as it came in.
        #[derive(Debug)]
        pub enum Filled {
            $(
                #[doc = concat!("`", stringify!($type), "`s.")]
                $grain(Vec<$type>),
            )+
        }

        impl Filled {
            /// Room for so many bytes, a multiple of the grain's width.
            pub(crate) fn room(grain: Grain, bytes: usize) -> Self {
                match grain {
                    $(Grain::$grain => Self::$grain(vec![<$type>::default(); bytes / grain.width()]),)+
                }
            }

            /// Where to receive to.
            pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
                match self {
                    $(Self::$grain(values) => bytemuck::cast_slice_mut(values),)+
                }
            }
        }

        $(impl Number for $type {
            fn shared(values: Arc<Vec<Self>>) -> Segment {
                Segment::$grain(values)
            }
            fn taken(segment: Filled) -> Option<Vec<Self>> {
                match segment {
                    Filled::$grain(values) => Some(values),
                    _ => None,
                }
            }
        })+
    };
}
numbers! { u8, Bytes; u32, U32; u64, U64; f32, F32; f64, F64; i32, I32; }

fn dense_bytes(rows: &Buffer) -> &[u8] {
    match rows {
        Buffer::F32(Content::Dense(values)) => bytemuck::cast_slice(values),
        Buffer::F64(Content::Dense(values)) => bytemuck::cast_slice(values),
        Buffer::I32(Content::Dense(values)) => bytemuck::cast_slice(values),
        _ => unreachable!("sparse rows leave as two segments"),
    }
}

/// Where a message leaves its bulk.
#[derive(Debug, Default)]
pub struct Bulk {
    segments: Vec<Segment>,
}

impl Bulk {
    /// A run of numbers, to be taken in the same order.
    pub fn put<T: Number>(&mut self, values: impl Into<Arc<Vec<T>>>) {
        self.segments.push(T::shared(values.into()));
    }

    pub(super) fn put_rows(&mut self, rows: Arc<Buffer>) {
        self.segments.push(Segment::Rows(rows));
    }
}

/// A message ready to be written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts {
    pub(crate) head: Vec<u8>,
    pub(crate) segments: Vec<Segment>,
}

impl Parts {
    pub(crate) fn of<T: Form>(value: T) -> Self {
        let mut bulk = Bulk::default();
        let head = value.strip(&mut bulk);
        let mut bytes = Vec::with_capacity(64);
        rmp_serde::encode::write_named(&mut bytes, &head).expect("a head is plain values, written to memory");
        Self { head: bytes, segments: bulk.segments }
    }

    /// Bytes of the bulk.
    pub(crate) fn bulk_bytes(&self) -> usize {
        self.segments.iter().map(|segment| segment.bytes().len()).sum()
    }

    /// As the other side would have it, without a wire between.
    pub(crate) fn received(&self) -> Received {
        let copy = |segment: &Segment| {
            let mut filled = Filled::room(segment.grain(), segment.bytes().len());
            filled.bytes_mut().copy_from_slice(segment.bytes());
            filled
        };
        Received::new(self.head.clone(), self.segments.iter().map(copy).collect())
    }
}

/// A message as it came in: its bulk is taken in the order in which it was put.
#[derive(Debug)]
pub struct Received {
    head: Vec<u8>,
    segments: std::vec::IntoIter<Filled>,
}

impl Received {
    pub(crate) fn new(head: Vec<u8>, segments: Vec<Filled>) -> Self {
        Self { head, segments: segments.into_iter() }
    }

    #[cfg(test)]
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The next run of numbers.
    ///
    /// # Errors
    /// When there is none, or it is of another type.
    pub fn take<T: Number>(&mut self) -> Result<Vec<T>, WireError> {
        T::taken(self.next()?)
            .ok_or_else(|| WireError::new("a segment holds another type of number than its head says"))
    }

    pub(super) fn next(&mut self) -> Result<Filled, WireError> {
        self.segments.next().ok_or_else(|| WireError::new("a segment is missing"))
    }

    /// The whole value; nothing may be left over.
    pub(crate) fn read<T: Form>(mut self) -> Result<T, WireError> {
        let head = read_head(&self.head)?;
        let value = T::restore(head, &mut self)?;
        match self.segments.len() {
            0 => Ok(value),
            left => Err(WireError(format!("{left} segments are left over"))),
        }
    }
}

/// Reads a head; bytes that are left over are an error.
pub(crate) fn read_head<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, WireError> {
    let mut rest = bytes;
    let value = rmp_serde::from_read(&mut rest).map_err(|error| WireError(format!("its head is {error}")))?;
    match rest.len() {
        0 => Ok(value),
        left => Err(WireError(format!("its head has {left} bytes too many"))),
    }
}

/// Writes a head that stands for itself.
pub(crate) fn write_head<T: Serialize>(value: &T) -> Vec<u8> {
    rmp_serde::to_vec_named(value).expect("a head is plain values, written to memory")
}
