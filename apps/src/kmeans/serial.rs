//! Plain loops in double precision, without products of matrices and without bounds: the oracle of tests.

use ndarray::{Array2, ArrayView1};
use slackline::prelude::*;

use super::actor::Setup;

/// Rows and centres of a run in one place.
pub struct Serial {
    rows: Array2<f64>,
    centres: Array2<f64>,
    sums: Array2<f64>,
    counts: Vec<f64>,
    seeds: Array2<f64>,
}

impl Serial {
    /// Centres at their seeds.
    pub fn new(setup: &Setup) -> Self {
        let seeds = setup.seeds().mapv(f64::from);
        let rows = setup.rows().features.to_dense().mapv(f64::from);
        let (sums, counts) = (Array2::zeros(seeds.dim()), vec![0.0; seeds.nrows()]);
        Self { rows, centres: seeds.clone(), sums, counts, seeds }
    }

    fn nearest(&self, row: &ArrayView1<'_, f64>) -> (usize, f64) {
        let distance = |centre: ArrayView1<'_, f64>| -> f64 {
            row.iter().zip(centre).map(|(x, c)| (x - c).powi(2)).sum()
        };
        let all = self.centres.outer_iter().map(distance).enumerate();
        all.min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are centres")
    }

    fn add(&mut self, row: usize, centre: usize) {
        let x = self.rows.row(row);
        self.sums.row_mut(centre).iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
        self.counts[centre] += 1.0;
    }

    fn take_means(&mut self) {
        for (j, count) in self.counts.iter().enumerate() {
            let mean = if *count > 0.0 { &self.sums.row(j) / *count } else { self.seeds.row(j).to_owned() };
            self.centres.row_mut(j).assign(&mean);
        }
    }

    /// One iteration of Lloyd's: every row to its nearest centre, every centre to the mean of its rows. Returns
    /// Σ |c - c before|².
    pub fn iteration(&mut self) -> f64 {
        self.sums.fill(0.0);
        self.counts.fill(0.0);
        for row in 0..self.rows.nrows() {
            let nearest = self.nearest(&self.rows.row(row)).0;
            self.add(row, nearest);
        }
        let before = self.centres.clone();
        self.take_means();
        (&self.centres - &before).iter().map(|change| change * change).sum()
    }

    /// Iterations until the centres move by `least` or less.
    pub fn full(&mut self, epochs: usize, least: f64) {
        for _ in 0..epochs {
            if self.iteration() <= least {
                break;
            }
        }
    }

    /// Passes over mini-batches in the order of a run from `seed`.
    pub fn batches(&mut self, setup: &Setup, epochs: usize, seed: u64) {
        let batches: Vec<&[u32]> = setup.batches().collect();
        let mut order = Shuffled::new(batches.len(), epochs as u64, seed);
        while let Next::Task(task) = order.next(WorkerId(0)) {
            let of_batch = batches[task.part.index()].iter().map(|row| *row as usize);
            let nearest: Vec<(usize, usize)> =
                of_batch.map(|row| (row, self.nearest(&self.rows.row(row)).0)).collect();
            nearest.into_iter().for_each(|(row, centre)| self.add(row, centre));
            self.take_means();
            order.finished(&task, &Findings::default());
        }
    }

    /// The centres, of rows whose mean was taken off.
    pub fn centres(&self) -> &Array2<f64> {
        &self.centres
    }

    /// Σ over rows of the squared distance to the nearest centre.
    pub fn inertia(&self) -> f64 {
        self.rows.outer_iter().map(|row| self.nearest(&row).1).sum()
    }
}
