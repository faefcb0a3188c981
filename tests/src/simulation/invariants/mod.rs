//! The promises of the runtime, one file each. They are checked on every step of every simulated run.

pub(crate) mod audit;
pub(crate) mod bits;
pub(crate) mod checkpoint;
pub(crate) mod exactly_once;
pub(crate) mod freshness;
pub(crate) mod gate;
pub(crate) mod leases;
pub(crate) mod membership;
pub(crate) mod own_writes;
pub(crate) mod passes;
