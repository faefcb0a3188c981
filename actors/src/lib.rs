//! An actor runtime that trains machine-learning models by passing messages.
//!
//! ```text
//!              Assign                 Pull, Push
//!  scheduler ─────────▶ worker ─────────────────▶ shard
//!      ▲                │    ▲                      │
//!      │     Report     │    │    Rows, Applied     │
//!      └────────────────┘    └──────────────────────┘
//!                 Step ▼ ▲ Outcome
//!                     app (yours)
//! ```
//!
//! A model is a set of [`Table`]s of rows. *Shared* rows are read by any worker, at most `s` clocks old, and added
//! to; *leased* rows belong to one worker at a time, who writes them in place. A [`Schedule`] says who does what,
//! and the scheduler's mailbox holds the clocks and the gate that keep everyone within the [`Consistency`] asked for.
//!
//! An app is an actor that handles [`Step`]s:
//!
//! ```
//! use actix::prelude::*;
//! use slackline::prelude::*;
//!
//! /// Averages numbers: each part adds its own to the one shared row.
//! struct Mean { parts: Vec<Vec<f32>> }
//!
//! impl Actor for Mean { type Context = Context<Self>; }
//!
//! impl Handler<Step> for Mean {
//!     type Result = Outcome;
//!     fn handle(&mut self, mut step: Step, _: &mut Context<Self>) -> Outcome {
//!         let mut change = step.delta::<f32>("sum");
//!         for x in &self.parts[step.part().index()] {
//!             change.row(0)[0] += x;
//!             change.row(0)[1] += 1.0;
//!         }
//!         step.add(change);
//!         step.done(0.0)
//!     }
//! }
//!
//! let run = Job::new("mean")
//!     .table(Table::dense("sum", 1, 2))
//!     .schedule(Fixed::new(2, 1))
//!     .local(2)
//!     .start(|_| Mean { parts: vec![vec![1.0, 2.0], vec![6.0]] })?;
//! let sum = run.wait()?.model.dense::<f32>("sum");
//! assert_eq!(sum[[0, 0]] / sum[[0, 1]], 3.0);
//! # Ok::<(), slackline::RunError>(())
//! ```
//!
//! A [`Job`] puts these together and starts a [`Run`]; its [`Handle`] stops it or reads its tables while it goes on, and
//! its end is a [`Trained`] model or a [`RunError`].
//!
//! Modules in reading order: [`app`] (what you write), [`table`], [`clock`], [`message`] (the arrows above),
//! [`scheduler`] and its schedules in [`scheduler::policy`], [`worker`], [`shard`], [`job`].

pub mod app;
pub mod audit;
pub mod bridge;
pub mod budget;
pub mod checkpoint;
pub mod clock;
pub mod cluster;
mod gathered;
pub mod id;
pub mod job;
pub mod message;
pub mod model;
pub mod monitor;
mod node;
pub mod placement;
mod rule;
pub mod scheduler;
pub mod shard;
pub mod table;
pub mod traffic;
pub mod values;
pub mod view;
pub mod worker;

pub use app::{App, Leased, Outcome, Step};
pub use clock::{Clock, Consistency, Gate};
pub use id::{BlockId, PartId, VariableId, WorkerId};
pub use job::{Handle, Job, Run, RunError, Trained};
pub use message::{Findings, Phase, Task};
pub use model::Model;
pub use monitor::{Event, Progress};
pub use node::Lifeline;
pub use rule::{Beside, Rule, UpdateRule};
pub use scheduler::PriorityQueue;
pub use scheduler::policy::{Mark, Next, Schedule};
pub use table::{Block, Table};
pub use values::{Buffer, Element};
pub use view::{Delta, Tile, View};

/// What an app needs, in one line: `use slackline::prelude::*;`.
pub mod prelude {
    pub use crate::scheduler::policy::{
        Dependency, Evaluated, Fixed, Guide, Phases, Priority, Rotation, Rounds, Shuffled, Verdict,
    };
    pub use crate::{
        Clock, Consistency, Findings, Job, Mark, Model, Next, Outcome, PartId, Phase, Rule, Schedule, Step,
        Table, Task, VariableId, WorkerId,
    };
}

/// The programs of the README, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
