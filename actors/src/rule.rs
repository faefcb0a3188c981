//! How a shard folds updates into the rows of a shared table.

use std::sync::Arc;

use crate::values::Buffer;

/// How a shard folds an update into a page.
#[derive(Clone)]
pub enum Rule {
    /// Adds it: associative and commutative.
    Add,
    /// Puts it in the place of the old values; of several in one clock the last worker's stays. A table that is
    /// assigned to has a page for every row.
    Assign,
    /// A rule of one's own, run by the shard.
    Custom(Arc<dyn UpdateRule>),
}

/// A server-side update rule, such as an optimiser or a blend.
///
/// It must not depend on the order of updates beyond what the app tolerates: only under `bsp` is that order fixed.
///
/// A rule may have numbers of its own beside a page, such as the moments of an optimiser: the shard keeps them, they are
/// part of checkpoints and of what a backup holds, and no reader is sent them. Only tables of dense rows that are read by
/// page can have them.
///
/// ```
/// use slackline::values::{Buffer, Content};
/// use slackline::{Beside, UpdateRule};
///
/// /// Gradient descent with momentum: `v ← 0.9 v + g`, `w ← w − 0.1 v`.
/// struct Momentum;
///
/// impl UpdateRule for Momentum {
///     fn n_kept(&self, n: usize) -> usize {
///         n
///     }
///     fn fold(&self, page: &mut Buffer, delta: &Buffer, beside: Beside<'_>) {
///         let (Buffer::F32(page), Buffer::F32(gradient), Buffer::F32(kept)) = (page, delta, beside.kept) else {
///             panic!("a table of f32");
///         };
///         let moved = kept.dense_mut().iter_mut().zip(gradient.dense());
///         for (weight, (velocity, gradient)) in page.dense_mut().iter_mut().zip(moved) {
///             *velocity = 0.9 * *velocity + gradient;
///             *weight -= 0.1 * *velocity;
///         }
///     }
/// }
/// ```
pub trait UpdateRule: Send + Sync {
    /// How many numbers it keeps beside a page of `n` numbers; all are zero at first.
    fn n_kept(&self, n: usize) -> usize {
        let _ = n;
        0
    }

    /// Whether it wants to know what was folded in between the reading that an update was computed from and the update
    /// ([`Beside::since`]), as rules for delayed gradients do.
    fn looks_back(&self) -> bool {
        false
    }

    /// Folds `delta` into `page`; both cover the same rows of the table.
    fn fold(&self, page: &mut Buffer, delta: &Buffer, beside: Beside<'_>);
}

/// What a rule has beside a page and an update of it.
#[derive(Debug)]
pub struct Beside<'a> {
    /// The rule's own numbers, dense and of the table's element type.
    pub kept: &'a mut Buffer,
    /// Where the rule looks back: the updates of this page that were folded in since the maker of this one read it, the
    /// oldest first. The shard has the last [`Beside::FARTHEST`] of them at most.
    pub since: &'a [Arc<Buffer>],
}

impl Beside<'_> {
    /// How many updates of a page a shard keeps at most for a rule that looks back.
    pub const FARTHEST: usize = 256;
}

impl Rule {
    /// Folds `delta` into `page` by a rule that everyone knows.
    ///
    /// # Panics
    /// When only the shard can.
    pub(crate) fn fold(&self, page: &mut Buffer, delta: &Buffer) {
        match self {
            Self::Add => page.add(delta),
            Self::Assign => page.assign(delta),
            Self::Custom(_) => panic!("only a shard folds updates in by a rule of one's own"),
        }
    }

    /// Whether several updates can be sent as one.
    pub(crate) fn is_additive(&self) -> bool {
        matches!(self, Self::Add)
    }

    /// Whether a worker can fold its own updates into rows it holds: not where the shard decides.
    pub(crate) fn is_known_to_workers(&self) -> bool {
        !matches!(self, Self::Custom(_))
    }

    /// Whether a shard has to keep something beside each page.
    pub(crate) fn remembers(&self) -> bool {
        matches!(self, Self::Custom(rule) if rule.looks_back() || rule.n_kept(1) > 0)
    }
}
