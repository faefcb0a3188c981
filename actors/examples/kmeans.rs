//! Mini-batch k-means (Sculley 2010) as an app: centroids are shared rows, points stay with the worker.
//!
//! ```sh
//! cargo run --release -p slackline --example kmeans
//! ```

use actix::prelude::*;
use ndarray::{Array2, ArrayView1};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::prelude::*;

const CLUSTERS: usize = 5;
const DIMENSIONS: usize = 8;
const PARTS: usize = 64;

/// The points of every part.
struct KMeans {
    parts: Vec<Array2<f32>>,
}

impl Actor for KMeans {
    type Context = Context<Self>;
}

impl Handler<Step> for KMeans {
    type Result = Outcome;

    fn handle(&mut self, mut step: Step, _: &mut Self::Context) -> Outcome {
        // A row is a centroid followed by the number of points it has seen: at most s clocks old, no copy.
        let centroids = step.read::<f32>("centroids");
        let mut change = step.delta::<f32>("centroids");
        let mut cost = 0.0;
        for point in self.parts[step.part().index()].outer_iter() {
            let (nearest, distance) = nearest(&point, |k| centroids.row(k));
            let (row, update) = (centroids.row(nearest), change.row(nearest));
            update[DIMENSIONS] += 1.0;
            let rate = 1.0 / (row[DIMENSIONS] + update[DIMENSIONS]);
            for (d, x) in point.iter().enumerate() {
                update[d] += rate * (x - row[d] - update[d]);
            }
            cost += f64::from(distance);
        }
        step.add(change);
        step.done(cost)
    }
}

fn nearest<'a>(point: &ArrayView1<'_, f32>, centroid: impl Fn(usize) -> &'a [f32]) -> (usize, f32) {
    let distance = |k| point.iter().zip(centroid(k)).map(|(x, c)| (x - c).powi(2)).sum::<f32>();
    (0..CLUSTERS).map(|k| (k, distance(k))).min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are clusters")
}

/// Points around the corners `10 · k` of the diagonal, cut into parts.
fn parts() -> Vec<Array2<f32>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut part = || {
        Array2::from_shape_fn((100, DIMENSIONS), |(i, _)| (i % CLUSTERS * 10) as f32 + rng.random::<f32>())
    };
    (0..PARTS).map(|_| part()).collect()
}

fn main() -> Result<(), slackline::RunError> {
    let parts = parts();
    let first = parts[0].clone();
    let centroids = Table::dense("centroids", CLUSTERS, DIMENSIONS + 1)
        .starting(move |k, row: &mut [f32]| row[..DIMENSIONS].copy_from_slice(&first.row(k).to_vec()));
    let trained = Job::new("kmeans")
        .table(centroids)
        .schedule(Shuffled::new(PARTS, 10, 7))
        .consistency(Consistency::Ssp(2))
        .local(2)
        .watch(|event| println!("{event:?}"))
        .start(move |_| KMeans { parts: parts.clone() })?
        .wait()?;
    println!("{:.2}", trained.model.dense::<f32>("centroids"));
    Ok(())
}
