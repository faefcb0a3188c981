//! Names of things, each a type of its own so that a swapped argument does not compile.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub $inner);

        impl $name {
            /// As an index into a list.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the thing at `index` of a list.
            ///
            /// # Panics
            /// When there are more things than the id can count.
            pub fn at(index: usize) -> Self {
                Self(<$inner>::try_from(index).expect("fewer things than the id can count"))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(/// A worker, from 0.
    WorkerId(u32));
id!(/// A shard of the model, from 0.
    ShardId(u32));
id!(/// A table of the job, in the order of declaration.
    TableId(u16));
id!(/// A page of a table: the unit in which shared rows are placed, pulled, cached and folded.
    PageId(u32));
id!(/// A block of leased rows.
    BlockId(u32));
id!(/// A part of the data.
    PartId(u32));
id!(/// A variable that a schedule ranks, such as a column of the design.
    VariableId(u32));

/// A page and the table it belongs to.
pub type PageKey = (TableId, PageId);
/// A block and the table it belongs to.
pub type BlockKey = (TableId, BlockId);
