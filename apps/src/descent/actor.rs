//! Coordinate descent as an actor, for every app that is a [`Descent`]: coefficients are leased by part, the vector over
//! the rows (residual, scores) is one shared row, columns stay with the worker.

use actix::prelude::*;
use slackline::prelude::*;

use super::serial::Descent;
use super::task::Piece;
use super::words::{self, Layout};

/// The shared row.
pub const SHARED: &str = "shared";
/// The leased coefficients, part after part.
pub const COEFFICIENTS: &str = "coefficients";

/// The app of one worker.
pub struct Descender<D> {
    descent: D,
    layout: Layout,
    snapshot: Vec<f64>,
    delta: Vec<f64>,
}

impl<D: Descent> Descender<D> {
    /// Works on `descent`, whose columns are laid out like this.
    pub fn new(descent: D, layout: Layout) -> Self {
        Self { descent, layout, snapshot: Vec::new(), delta: Vec::new() }
    }

    fn sweep(&mut self, mut step: Step) -> Outcome {
        let (part, orders) = (step.part().index(), words::read_orders(step.orders()));
        let [mut coefficients] = step.lease::<f64, 1>([COEFFICIENTS]);
        let report = self.descent.sweep(part, (&self.snapshot, coefficients.values()), &orders);
        step.found(words::write_sweep(&report, &self.layout))
    }

    fn focus(&mut self, mut step: Step) -> Outcome {
        let orders = words::read_orders(step.orders());
        let mut chosen: Vec<(usize, Vec<u32>)> = Vec::new();
        for variable in step.variables() {
            let (part, column) = self.layout.column(*variable);
            match chosen.last_mut() {
                Some((last, columns)) if *last == part => columns.push(column),
                _ => chosen.push((part, vec![column])),
            }
        }
        let arranged = step.orders().to_vec();
        let mut leases = step.leases::<f64>(COEFFICIENTS);
        let mut pieces: Vec<Piece<'_>> = leases
            .iter_mut()
            .zip(&chosen)
            .map(|(lease, (part, columns))| Piece { part: *part, coefficients: lease.values(), columns })
            .collect();
        assert_eq!(pieces.len(), chosen.len(), "a task leases the parts of its variables");
        let part = if let [(part, _)] = &chosen[..] { Some(*part) } else { None };
        self.descent.recall(part, words::read_arranged(&arranged, part, &self.layout));
        let report = self.descent.focus(&mut pieces, (&self.snapshot, &mut self.delta), &orders);
        let mut change = step.delta::<f64>(SHARED);
        change.add_row(0, &self.delta);
        step.add(change);
        let key = part.map_or(-1.0, |part| part as f64);
        let order = self.descent.order(part).iter();
        let values = order.map(|(part, column)| (self.layout.variable(*part as usize, *column), key));
        step.found(Findings { values: values.collect(), ..words::write_focus(&report) })
    }
}

impl<D: Descent + Unpin + 'static> Actor for Descender<D> {
    type Context = Context<Self>;
}

impl<D: Descent + Unpin + 'static> Handler<Step> for Descender<D> {
    type Result = Outcome;
    fn handle(&mut self, step: Step, _: &mut Self::Context) -> Outcome {
        let shared = step.read::<f64>(SHARED);
        self.snapshot.resize(shared.width(), 0.0);
        shared.copy_row(0, &mut self.snapshot);
        if step.variables().is_empty() { self.sweep(step) } else { self.focus(step) }
    }
}
