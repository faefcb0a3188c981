//! The forms of what messages are made of: runs of numbers, buffers, and things in lists, pairs, options and results.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Bulk, Form, Number, Received, WireError, sparse};
use crate::id::VariableId;
use crate::values::{Buffer, Content, Element, Kind};

crate::bridge::form!(());
crate::bridge::form!(bool);
crate::bridge::form!(String);

/// Runs of numbers: all bulk.
macro_rules! runs {
    ($($number:ty),+) => {
        $(impl Form for Vec<$number> {
            type Head = ();
            fn strip(self, bulk: &mut Bulk) {
                bulk.put(self);
            }
            fn restore((): (), bulk: &mut Received) -> Result<Self, WireError> {
                bulk.take()
            }
        }

        impl Form for Arc<Vec<$number>> {
            type Head = ();
            fn strip(self, bulk: &mut Bulk) {
                bulk.put(self);
            }
            fn restore((): (), bulk: &mut Received) -> Result<Self, WireError> {
                bulk.take().map(Self::new)
            }
        })+
    };
}
runs!(u8, u32, u64, f32, f64, i32);

/// Runs of numbers that belong to variables.
macro_rules! runs_by_variable {
    ($($number:ty),+) => {
        $(impl Form for Vec<(VariableId, $number)> {
            type Head = ();
            fn strip(self, bulk: &mut Bulk) {
                let (variables, numbers): (Vec<u32>, Vec<$number>) = self.into_iter().map(|(v, x)| (v.0, x)).unzip();
                bulk.put(variables);
                bulk.put(numbers);
            }
            fn restore((): (), bulk: &mut Received) -> Result<Self, WireError> {
                let (variables, numbers) = (bulk.take::<u32>()?, bulk.take::<$number>()?);
                if variables.len() != numbers.len() {
                    return Err(WireError::new("there are not as many variables as numbers"));
                }
                Ok(variables.into_iter().map(VariableId).zip(numbers).collect())
            }
        })+
    };
}
runs_by_variable!(f32, f64);

impl Form for Vec<VariableId> {
    type Head = ();
    fn strip(self, bulk: &mut Bulk) {
        bulk.put(self.into_iter().map(|variable| variable.0).collect::<Vec<u32>>());
    }
    fn restore((): (), bulk: &mut Received) -> Result<Self, WireError> {
        Ok(bulk.take::<u32>()?.into_iter().map(VariableId).collect())
    }
}

impl<T: Form> Form for Vec<T> {
    type Head = Vec<T::Head>;
    fn strip(self, bulk: &mut Bulk) -> Self::Head {
        self.into_iter().map(|thing| thing.strip(bulk)).collect()
    }
    fn restore(head: Self::Head, bulk: &mut Received) -> Result<Self, WireError> {
        head.into_iter().map(|head| T::restore(head, bulk)).collect()
    }
}

impl<T: Form> Form for Option<T> {
    type Head = Option<T::Head>;
    fn strip(self, bulk: &mut Bulk) -> Self::Head {
        self.map(|thing| thing.strip(bulk))
    }
    fn restore(head: Self::Head, bulk: &mut Received) -> Result<Self, WireError> {
        head.map(|head| T::restore(head, bulk)).transpose()
    }
}

impl<T: Form, E: Serialize + DeserializeOwned + Send + 'static> Form for Result<T, E> {
    type Head = Result<T::Head, E>;
    fn strip(self, bulk: &mut Bulk) -> Self::Head {
        self.map(|thing| thing.strip(bulk))
    }
    fn restore(head: Self::Head, bulk: &mut Received) -> Result<Self, WireError> {
        match head {
            Ok(head) => T::restore(head, bulk).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }
}

/// A plain key and what belongs to it.
impl<K: Serialize + DeserializeOwned + Send + 'static, T: Form> Form for (K, T) {
    type Head = (K, T::Head);
    fn strip(self, bulk: &mut Bulk) -> Self::Head {
        (self.0, self.1.strip(bulk))
    }
    fn restore(head: Self::Head, bulk: &mut Received) -> Result<Self, WireError> {
        Ok((head.0, T::restore(head.1, bulk)?))
    }
}

/// What a buffer's segments hold.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Layout {
    #[serde(rename = "k")]
    kind: Kind,
    #[serde(rename = "s")]
    sparse: bool,
}

impl Form for Arc<Buffer> {
    type Head = Layout;
    fn strip(self, bulk: &mut Bulk) -> Layout {
        let (kind, sparse) = match &*self {
            Buffer::F32(content) => (Kind::F32, put_sparse(content, bulk)),
            Buffer::F64(content) => (Kind::F64, put_sparse(content, bulk)),
            Buffer::I32(content) => (Kind::I32, put_sparse(content, bulk)),
        };
        if !sparse {
            bulk.put_rows(self);
        }
        Layout { kind, sparse }
    }
    fn restore(head: Layout, bulk: &mut Received) -> Result<Self, WireError> {
        Buffer::restore(head, bulk).map(Self::new)
    }
}

impl Form for Buffer {
    type Head = Layout;
    fn strip(self, bulk: &mut Bulk) -> Layout {
        Arc::new(self).strip(bulk)
    }
    fn restore(head: Layout, bulk: &mut Received) -> Result<Self, WireError> {
        match head.kind {
            Kind::F32 => content::<f32>(head.sparse, bulk).map(f32::erase),
            Kind::F64 => content::<f64>(head.sparse, bulk).map(f64::erase),
            Kind::I32 => content::<i32>(head.sparse, bulk).map(i32::erase),
        }
    }
}

/// Hands sparse rows over; returns whether they are sparse.
fn put_sparse<T: Number>(content: &Content<T>, bulk: &mut Bulk) -> bool {
    match content {
        Content::Dense(_) => false,
        Content::Sparse(rows) => {
            let (places, values) = sparse::split(rows);
            bulk.put(places);
            bulk.put(values);
            true
        }
    }
}

fn content<T: Number>(is_sparse: bool, bulk: &mut Received) -> Result<Content<T>, WireError> {
    if !is_sparse {
        return bulk.take().map(Content::Dense);
    }
    let (places, values) = (bulk.take::<u8>()?, bulk.take::<T>()?);
    sparse::join(&places, &values).map(Content::Sparse)
}
