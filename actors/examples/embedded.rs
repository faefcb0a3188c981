//! Slackline inside a service: it learns a line in the background and serves predictions from the live tables.
//!
//! ```sh
//! cargo run --release -p slackline --example embedded -- 127.0.0.1:8080     # port 0, a free one, unless told
//! curl '127.0.0.1:8080/predict?x=2'    # {"x":2.0,"y":4.0}
//! curl  127.0.0.1:8080/status          # {"clock":…,"objective":…,"training":true}
//! curl -X POST 127.0.0.1:8080/stop     # or Ctrl-C, or SIGTERM: stops the run at a clock, then the server
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix::prelude::*;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use rand::RngExt;
use serde_json::{Value, json};
use slackline::prelude::{Consistency, Fixed, Job, Model, Outcome, Step, Table};
use slackline::{Event, Handle, Progress, Trained};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, watch};

const PARTS: usize = 8;
const POINTS: usize = 20_000;
/// How long a request may take, and how long open connections may take once the service stops.
const DEADLINE: Duration = Duration::from_secs(2);

/// The app: one gradient step of y = slope · x + offset on points of y = 3x − 2, drawn anew in every step.
struct Line;

impl Actor for Line {
    type Context = Context<Self>;
}

impl Handler<Step> for Line {
    type Result = Outcome;

    fn handle(&mut self, mut step: Step, _: &mut Self::Context) -> Outcome {
        let line = step.read::<f64>("line");
        let (slope, offset) = (line.row(0)[0], line.row(0)[1]);
        let (mut rng, mut cost, mut gradient) = (step.rng(), 0.0, [0.0; 2]);
        for _ in 0..POINTS {
            let x: f64 = rng.random_range(-1.0..1.0);
            let error = slope * x + offset - (3.0 * x - 2.0);
            cost += error * error;
            gradient = [gradient[0] + error * x, gradient[1] + error];
        }
        let mut change = step.delta::<f64>("line");
        change.add_row(0, &gradient.map(|sum| -0.1 * sum / POINTS as f64));
        step.add(change);
        step.done(cost)
    }
}

/// What the service knows: a hand on the run, the run's news, and its model once it is over.
struct Service {
    run: Handle,
    progress: watch::Receiver<Progress>,
    trained: OnceLock<Model>,
    stop: Notify,
}

type Shared = State<Arc<Service>>;

async fn predict(State(service): Shared, Query(asked): Query<HashMap<String, f64>>) -> Response {
    let Some(x) = asked.get("x") else { return (StatusCode::BAD_REQUEST, "x is missing\n").into_response() };
    let live = service.run.model().await.ok(); // rows as they are now; none once the run is over
    let Some(model) = live.or_else(|| service.trained.get().cloned()) else {
        return (StatusCode::SERVICE_UNAVAILABLE, "the run failed\n").into_response();
    };
    let line = model.dense::<f64>("line");
    Json(json!({ "x": x, "y": line[[0, 0]] * x + line[[0, 1]] })).into_response()
}

async fn status(State(service): Shared) -> Json<Value> {
    let Progress { clock, mark, .. } = service.progress.borrow().clone();
    Json(
        json!({ "clock": clock.0, "objective": mark.objective, "training": service.trained.get().is_none() }),
    )
}

async fn deadline(request: Request, next: Next) -> Response {
    let late = |_| (StatusCode::GATEWAY_TIMEOUT, "too late\n").into_response();
    tokio::time::timeout(DEADLINE, next.run(request)).await.unwrap_or_else(late)
}

/// Ctrl-C, SIGTERM or `POST /stop`: then stops the run.
async fn stopped(service: Arc<Service>) {
    let mut terminate = signal(SignalKind::terminate()).expect("a process may listen to SIGTERM");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
        () = service.stop.notified() => {}
    }
    service.run.stop();
}

/// Trains and serves at `address` until told to stop; then the run has ended at a clock and the server is drained.
pub(crate) async fn serve(address: &str) -> Result<Trained, Box<dyn Error>> {
    let (told, progress) = watch::channel(Progress::default());
    let run = Job::new("line")
        .table(Table::dense("line", 1, 2).of::<f64>())
        .schedule(Fixed::new(PARTS, 1_000_000))
        .consistency(Consistency::Ssp(2))
        .local(2)
        .watch(move |event| {
            if let Event::Progress(progress) = event {
                told.send_replace(progress.clone());
            }
        })
        .start(|_| Line)?;
    let (trained, stop) = (OnceLock::new(), Notify::new());
    let service = Arc::new(Service { run: run.handle(), progress, trained, stop });
    let routes = Router::new()
        .route("/predict", get(predict))
        .route("/status", get(status))
        .route("/stop", post(|State(service): Shared| async move { service.stop.notify_one() }))
        .layer(from_fn(deadline))
        .with_state(Arc::clone(&service));
    let listener = TcpListener::bind(address).await?;
    println!("serving at http://{}", listener.local_addr()?);
    let (drain, drained) = tokio::sync::oneshot::channel::<()>();
    let server = axum::serve(listener, routes).with_graceful_shutdown(async { drop(drained.await) });
    let server = tokio::spawn(server.into_future());
    let waiting = tokio::spawn(stopped(Arc::clone(&service)));
    let trained = run.await?;
    service.trained.set(trained.model.clone()).expect("a run ends once");
    waiting.await?; // a run that ends by itself is served until somebody stops the service
    drop(drain);
    match tokio::time::timeout(DEADLINE, server).await {
        Ok(ended) => ended??,
        Err(_) => eprintln!("some clients never finished their requests: hanging up"),
    }
    Ok(trained)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let trained = serve(&address).await?;
    println!("stopped at clock {} after {:.1} s of training", trained.clocks, trained.seconds);
    Ok(())
}
