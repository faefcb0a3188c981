//! `slackline render`: a topology for Kubernetes or Slurm.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command};
use slackline_apps::catalog::App;

use super::launch::{path, topology};
use super::start_log;
use crate::Error;
use crate::console::{self, Screen};
use crate::render::{Kubernetes, Slurm, kubernetes, slurm};
use crate::topology::Topology;

pub(super) const NAME: &str = "render";

const HELP: &str = "Examples:
  slackline render topology.yaml --for kubernetes --image registry/slackline:1 > mf.yaml; kubectl apply -f mf.yaml
  slackline render topology.yaml --for slurm --time 2:00:00 > mf.sbatch; sbatch mf.sbatch

Kubernetes: a headless Service, the topology as a ConfigMap, a StatefulSet for the lead and one for each group of equal
nodes; the token comes from a Secret (its head says how to make it). Paths in the topology are relative to /work, which
is the volume of --claim.
Slurm: a batch script with an srun for the lead and one for each group of equal nodes; the token is made for the job.
Exit codes: 0 done, 1 error, 2 wrong usage or settings.";

pub(super) fn command() -> Command {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let target = Arg::new("for")
        .long("for")
        .value_name("SYSTEM")
        .required(true)
        .value_parser(["kubernetes", "slurm"])
        .help("For which system");
    Command::new(NAME)
        .about("Writes a topology as Kubernetes manifests or a Slurm batch script, to stdout")
        .arg(topology())
        .arg(target)
        .arg(text(
            "image",
            "IMAGE",
            "Kubernetes: the image with slackline in it [default: slackline:VERSION]",
        ))
        .arg(text("claim", "NAME", "Kubernetes: a claim on a volume that all pods share, mounted on /work"))
        .arg(text(
            "memory",
            "SIZE",
            "Memory of each node [default: 2Gi for Kubernetes, Slurm's own for Slurm]",
        ))
        .arg(text("time", "TIME", "Slurm: the longest that the job may take, such as 2:00:00"))
        .arg(text("partition", "NAME", "Slurm: the partition"))
        .after_help(HELP)
}

pub(super) fn run(apps: &[&dyn App], matches: &ArgMatches) -> Result<u8, Error> {
    start_log(matches, &Screen::new(false))?;
    let file: PathBuf = path(matches, "topology").expect("clap asks for it");
    let topology = Topology::read(&file)?;
    let (_, mut settings) = topology.job(apps, std::env::vars_os())?; // what a node would refuse is refused here
    settings.place_audit()?;
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let rendered = match text("for").as_deref() {
        Some("slurm") => {
            let wish = Slurm { memory: text("memory"), time: text("time"), partition: text("partition") };
            slurm(&topology, &file, &wish)?
        }
        _ => {
            let image =
                text("image").unwrap_or_else(|| concat!("slackline:", env!("CARGO_PKG_VERSION")).into());
            let memory = text("memory").unwrap_or_else(|| "2Gi".into());
            kubernetes(&topology, &Kubernetes { image, memory, claim: text("claim") })?
        }
    };
    console::result(rendered.trim_end());
    Ok(0)
}
