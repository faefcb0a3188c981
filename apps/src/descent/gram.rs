//! The inner problem kept as a Gram matrix of the working columns: once built, a step costs one row of it,
//! however long the columns are.
//!
//! Products are kept in single precision. They are exact where all values are 1 (counts below 2²⁴); elsewhere
//! the rounding is repaired by the next focus, which starts from the true residual.

use std::collections::{HashMap, HashSet};

use super::columns::Column;
use super::quadratic::Space;
use super::residual::Geometry;
use crate::kernel;

/// Most working columns a Gram matrix is built for: 64 MiB.
pub const MAX_COLUMNS: usize = 4096;

/// Inner products of the working columns, kept from one focus to the next as columns come and go.
#[derive(Debug, Default)]
pub struct Gram {
    /// Which column sits in each slot: (part, column).
    slots: Vec<(u32, u32)>,
    stride: usize,
    products: Vec<f32>,
    /// What is to be taken as known in place of what is in the slots, until they are arranged.
    recalled: Option<Vec<(u32, u32)>>,
}

/// The working columns by rows: the slots that have an entry in each row.
struct ByRow {
    starts: Vec<u32>,
    slots: Vec<u16>,
    values: Vec<f32>,
}

impl Gram {
    /// Takes these columns as known, in this order, whatever the slots hold: what the last focus left, wherever that
    /// was. Where to work first, and what is worth building, then does not depend on who remembers what.
    pub fn recall(&mut self, columns: Vec<(u32, u32)>) {
        self.recalled = Some(columns);
    }

    /// The columns that are known, in their order.
    pub fn known(&self) -> &[(u32, u32)] {
        self.recalled.as_deref().unwrap_or(&self.slots)
    }

    /// What making the matrix that of these columns costs, in epochs on the residual; infinite for too many columns.
    pub fn cost(&self, wanted: &[(u32, u32)], columns: &[Column<'_>], n_rows: usize) -> f64 {
        if wanted.len() > MAX_COLUMNS {
            return f64::INFINITY;
        }
        let known: HashSet<&(u32, u32)> = self.known().iter().collect();
        let (mut all, mut new) = (0.0, 0.0);
        for (name, column) in wanted.iter().zip(columns) {
            let length = column.len() as f64;
            all += length;
            if !known.contains(name) {
                new += length;
            }
        }
        let per_row = all / n_rows.max(1) as f64;
        let square = (wanted.len() * wanted.len()) as f64;
        if new > 0.0 { (new * (per_row / 2.0 + 2.0) + square / 2.0) / (2.0 * all) } else { 0.0 }
    }

    /// These columns in the order in which the matrix would keep them: those it has first.
    pub fn order(&self, wanted: &mut [(u32, u32)]) {
        let known: HashMap<(u32, u32), usize> =
            self.known().iter().enumerate().map(|(at, &name)| (name, at)).collect();
        wanted.sort_by_cached_key(|name| (known.get(name).copied().unwrap_or(usize::MAX), *name));
    }

    /// Makes the matrix that of these columns, in the order of [`Gram::order`], computing only what is new.
    pub fn arrange(&mut self, wanted: &[(u32, u32)], columns: &[Column<'_>], n_rows: usize) {
        self.recalled = None;
        if self.slots == wanted {
            return;
        }
        let place: HashMap<(u32, u32), usize> =
            self.slots.iter().enumerate().map(|(at, &name)| (name, at)).collect();
        let kept: Vec<usize> = wanted.iter().map_while(|name| place.get(name).copied()).collect();
        let (m, n_kept) = (wanted.len(), kept.len());
        let mut products = vec![0.0f32; m * m];
        for (row, &old) in products.chunks_exact_mut(m.max(1)).zip(&kept) {
            let old_row = self.row(old);
            for (out, &other) in row.iter_mut().zip(&kept) {
                *out = old_row[other];
            }
        }
        let mut touched = vec![false; n_rows];
        for column in &columns[n_kept..] {
            column.each(|i, _| touched[i] = true);
        }
        let by_row = ByRow::new(columns, &touched);
        for a in n_kept..m {
            by_row.products_with(a, columns[a], &mut products[a * m..(a + 1) * m]);
        }
        mirror(&mut products, m, n_kept);
        self.slots = wanted.to_vec();
        self.stride = m;
        self.products = products;
    }

    /// The products of the column in this slot with all others.
    #[inline]
    fn row(&self, slot: usize) -> &[f32] {
        &self.products[slot * self.stride..(slot + 1) * self.stride]
    }
}

impl ByRow {
    /// The working columns by rows, but only the rows that are `touched`.
    fn new(columns: &[Column<'_>], touched: &[bool]) -> Self {
        let n_rows = touched.len();
        let mut starts = vec![0u32; n_rows + 1];
        let valued = columns.iter().any(|c| !matches!(c, Column::Ones(_)));
        for column in columns {
            column.each(|i, _| starts[i + 1] += u32::from(touched[i]));
        }
        for i in 0..n_rows {
            starts[i + 1] += starts[i];
        }
        let n_entries = starts[n_rows] as usize;
        let mut next = starts.clone();
        let mut slots = vec![0u16; n_entries];
        let mut values = vec![0.0f32; if valued { n_entries } else { 0 }];
        for (slot, column) in columns.iter().enumerate() {
            column.each(|i, value| {
                if touched[i] {
                    let at = next[i] as usize;
                    slots[at] = slot as u16;
                    if valued {
                        values[at] = value as f32;
                    }
                    next[i] += 1;
                }
            });
        }
        Self { starts, slots, values }
    }

    /// The products of the column in `slot` with itself and those before it.
    fn products_with(&self, slot: usize, column: Column<'_>, out: &mut [f32]) {
        column.each(|i, value| self.add_row(i, slot as u16, value as f32, out));
    }

    #[inline]
    fn add_row(&self, i: usize, last: u16, x: f32, out: &mut [f32]) {
        let range = self.starts[i] as usize..self.starts[i + 1] as usize;
        if self.values.is_empty() {
            for &slot in self.slots[range].iter().take_while(|&&slot| slot <= last) {
                out[slot as usize] += x;
            }
        } else {
            let entries = self.slots[range.clone()].iter().zip(&self.values[range]);
            for (&slot, &value) in entries.take_while(|(slot, _)| **slot <= last) {
                out[slot as usize] += x * value;
            }
        }
    }
}

/// Copies the rows from `first` on, known up to the diagonal, to the other side of it; tile by tile, so that both sides
/// stay in cache.
fn mirror(products: &mut [f32], m: usize, first: usize) {
    const TILE: usize = 32;
    for row_tile in (first..m).step_by(TILE) {
        for column_tile in (0..m).step_by(TILE) {
            for a in row_tile..(row_tile + TILE).min(m) {
                for b in column_tile..(column_tile + TILE).min(a) {
                    products[b * m + a] = products[a * m + b];
                }
            }
        }
    }
}

/// The slopes of the working columns, kept up to date by rows of the Gram matrix.
pub struct GramSpace<'a> {
    gram: &'a Gram,
    geometry: &'a Geometry<'a>,
    /// The product of each column with the residual, and the residual's mean.
    raw: Vec<f64>,
    mean: f64,
    pending: Vec<f64>,
    pending_mean: f64,
}

impl<'a> GramSpace<'a> {
    /// Goes on from where a residual stands: `raw` are its products with the columns.
    pub fn new(gram: &'a Gram, geometry: &'a Geometry<'a>, raw: Vec<f64>, mean: f64) -> Self {
        let pending = vec![0.0; raw.len()];
        Self { gram, geometry, raw, mean, pending, pending_mean: 0.0 }
    }
}

impl Space for GramSpace<'_> {
    #[inline]
    fn slope(&self, k: usize) -> f64 {
        (self.raw[k] - self.geometry.sums[k] * self.mean) / self.geometry.n
    }

    #[inline]
    fn curvature(&self, k: usize) -> f64 {
        self.geometry.sigma * self.geometry.curvatures[k]
    }

    #[inline]
    fn shift(&mut self, k: usize, change: f64) {
        let change = self.geometry.sigma * change;
        kernel::axpy_single(-change, self.gram.row(k), &mut self.raw);
        if self.geometry.centre {
            self.mean -= change * self.geometry.sums[k] / self.geometry.total;
        }
    }

    /// Reads only the half of the matrix below the diagonal: what limits it is memory.
    fn multiply(&mut self, v: &[f64], support: &[usize], out: &mut [f64]) {
        let Geometry { sums, n, total, centre, sigma, .. } = self.geometry;
        let mean = if *centre { kernel::dot(sums, v) / total } else { 0.0 };
        out.fill(0.0);
        for &k in support {
            let row = self.gram.row(k);
            let across = kernel::dot_and_axpy(&row[..k], v, v[k], out);
            out[k] += across + f64::from(row[k]) * v[k];
        }
        for &k in support {
            out[k] = sigma * (out[k] - sums[k] * mean) / n;
        }
    }

    fn prepare(&mut self, changes: &[f64]) -> f64 {
        self.pending.fill(0.0);
        for (k, &a) in changes.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            kernel::axpy_single(self.geometry.sigma * a, self.gram.row(k), &mut self.pending);
        }
        self.pending_mean = if self.geometry.centre {
            self.geometry.sigma * kernel::dot(&self.geometry.sums, changes) / self.geometry.total
        } else {
            0.0
        };
        changes
            .iter()
            .enumerate()
            .map(|(k, a)| {
                let image = (self.pending[k] - self.geometry.sums[k] * self.pending_mean) / self.geometry.n;
                a * (image / 2.0 - self.slope(k))
            })
            .sum()
    }

    fn commit(&mut self) {
        kernel::axpy(-1.0, &self.pending, &mut self.raw);
        self.mean -= self.pending_mean;
    }
}

/// What a change of coefficients adds to the residual.
pub fn add_change(columns: &[Column<'_>], old: &[f64], new: &[f64], residual: &mut [f64]) {
    for ((column, old), new) in columns.iter().zip(old).zip(new) {
        if old != new {
            column.add_to(old - new, residual);
        }
    }
}
