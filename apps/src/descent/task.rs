//! What a task is told and what it answers: the words between the guide and those who compute.

use serde::{Deserialize, Serialize};

/// What the next tasks are to do, the same for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Orders {
    /// The L1 penalty; 0 in the very first sweep of a run whose penalty is a share of the largest useful one.
    pub lambda: f64,
    /// The L2 penalty.
    pub ridge: f64,
    /// The intercept that was best at the last sweep: where to start looking for the best one.
    pub intercept: f64,
    /// Sweep: most columns without a coefficient that a part may report.
    pub quota: usize,
    /// Focus: the violation of optimality, as a share of `lambda`, at which to stop.
    pub tolerance: f64,
    /// Focus: most epochs.
    pub max_epochs: usize,
    /// Focus: how much steeper than alone a task takes the loss to be, because others move at the same time
    /// (`σ'` of Smith et al. 2015): 1 when alone or among strangers, up to the number of tasks in flight.
    pub sigma: f64,
}

/// A column worth working on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The column within its part.
    pub column: u32,
    /// How much it matters: [`ACTIVE`] if it has a coefficient, else `|slope|` over its penalty.
    pub priority: f32,
    /// Its coefficient.
    pub value: f64,
}

/// The priority of a column that has a coefficient: always in the working set.
pub const ACTIVE: f32 = f32::MAX;

/// What a sweep over one part found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepReport {
    /// The part.
    pub part: usize,
    /// The loss at the snapshot (the same from every part).
    pub loss: f64,
    /// The intercept that is best at the snapshot (the same from every part).
    pub intercept: f64,
    /// Σ weight·|b| over the part.
    pub l1: f64,
    /// Σ b² over the part.
    pub square: f64,
    /// Largest |slope| over weight in the part; the penalty from which the part stays zero.
    pub steepest: f64,
    /// The factor that makes this part's dual point feasible.
    pub scale: f64,
    /// The dual objective at the dual point scaled by `scale`.
    pub dual: f64,
    /// What the dual objective loses by this part's columns when there is an L2 penalty.
    pub excess: f64,
    /// Largest violation of optimality in the part, as a share of `lambda`.
    pub violation: f64,
    /// Columns without a coefficient that should have one.
    pub violators: usize,
    /// Columns with a coefficient.
    pub nonzero: usize,
    /// Columns whose slope was computed; the others were proved not to matter.
    pub visited: usize,
    /// Columns with a coefficient, and the quota of the others with the highest priority.
    pub candidates: Vec<Candidate>,
}

/// What a focus did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct FocusReport {
    /// Largest violation on arrival, as a share of `lambda`.
    pub arrival: f64,
    /// Largest violation in the last epoch, as a share of `lambda`.
    pub departure: f64,
    /// Epochs of coordinate descent over its columns.
    pub epochs: usize,
    /// Products with the Hessian, each about the work of an epoch.
    pub products: usize,
    /// Its columns that have a coefficient now.
    pub nonzero: usize,
}

/// The columns of one part that a focus works on, with the part's coefficients, which it holds alone.
#[derive(Debug)]
pub struct Piece<'a> {
    /// The part.
    pub part: usize,
    /// The coefficients of the whole part.
    pub coefficients: &'a mut [f64],
    /// The columns within the part to work on.
    pub columns: &'a [u32],
}

/// The working columns of some pieces as one list, and where each one's coefficient is kept.
#[derive(Debug)]
pub struct Roster {
    /// (part, column within the part).
    pub names: Vec<(u32, u32)>,
    places: Vec<usize>,
}

impl Roster {
    /// The columns of the pieces, put in the order that `arrange` gives them.
    pub fn new(pieces: &[Piece<'_>], arrange: impl FnOnce(&mut [(u32, u32)])) -> Self {
        let mut names: Vec<(u32, u32)> =
            pieces.iter().flat_map(|p| p.columns.iter().map(|&j| (p.part as u32, j))).collect();
        arrange(&mut names);
        let place = |part: u32| pieces.iter().position(|p| p.part == part as usize).expect("a part of ours");
        let places = names.iter().map(|&(part, _)| place(part)).collect();
        Self { names, places }
    }

    /// The coefficients of the working columns.
    pub fn read(&self, pieces: &[Piece<'_>]) -> Vec<f64> {
        self.names.iter().zip(&self.places).map(|(n, &p)| pieces[p].coefficients[n.1 as usize]).collect()
    }

    /// Puts the coefficients of the working columns back.
    pub fn write(&self, values: &[f64], pieces: &mut [Piece<'_>]) {
        for ((name, &place), &value) in self.names.iter().zip(&self.places).zip(values) {
            pieces[place].coefficients[name.1 as usize] = value;
        }
    }

    /// Something of each working column, by its part and column.
    pub fn each<T>(&self, of: impl Fn(usize, usize) -> T) -> Vec<T> {
        self.names.iter().map(|&(part, j)| of(part as usize, j as usize)).collect()
    }
}

/// The `size` candidates with the highest priority, as columns per part. `reports` in any order of parts.
pub fn choose(reports: &[SweepReport], size: usize) -> Vec<(usize, Vec<u32>)> {
    let mut all: Vec<(f32, usize, u32)> =
        reports.iter().flat_map(|r| r.candidates.iter().map(|c| (c.priority, r.part, c.column))).collect();
    if all.len() > size && size > 0 {
        all.select_nth_unstable_by(size - 1, |a, b| {
            b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2))
        });
        all.truncate(size);
    }
    let mut chosen: Vec<(usize, Vec<u32>)> = reports.iter().map(|r| (r.part, Vec::new())).collect();
    for (_, part, column) in all {
        if let Some(piece) = chosen.iter_mut().find(|piece| piece.0 == part) {
            piece.1.push(column);
        }
    }
    chosen.retain(|piece| !piece.1.is_empty());
    chosen.sort_unstable_by_key(|piece| piece.0);
    for piece in &mut chosen {
        piece.1.sort_unstable();
    }
    chosen
}

/// Pieces of these parts and columns, over the coefficients of all parts. `chosen` as [`choose`] gives it.
pub fn pieces<'a>(coefficients: &'a mut [Vec<f64>], chosen: &'a [(usize, Vec<u32>)]) -> Vec<Piece<'a>> {
    let mut wanted = chosen.iter().peekable();
    let mut pieces = Vec::with_capacity(chosen.len());
    for (part, coefficients) in coefficients.iter_mut().enumerate() {
        if let Some((_, columns)) = wanted.next_if(|(wanted, _)| *wanted == part) {
            pieces.push(Piece { part, coefficients, columns });
        }
    }
    pieces
}
