//! Slurm: a batch script with one `srun` for the lead and one for each group of equal nodes.

use std::fmt::Write;
use std::path::Path;

use super::{Group, cores, groups, plain_name};
use crate::Error;
use crate::launch::shell;
use crate::topology::{Node, Topology};

/// What the script needs that no topology says.
pub(crate) struct Slurm {
    /// The memory that each node asks for, such as `4G`; Slurm's own default without.
    pub(crate) memory: Option<String>,
    /// The longest that the job may take, such as `2:00:00`.
    pub(crate) time: Option<String>,
    pub(crate) partition: Option<String>,
}

/// The script.
///
/// # Errors
/// The cluster's name cannot be that of a job.
pub(crate) fn slurm(topology: &Topology, path: &Path, wish: &Slurm) -> Result<String, Error> {
    let name = plain_name(topology, 60)?;
    let path = std::path::absolute(path).map_err(Error::file(path))?;
    let file = shell(&path.to_string_lossy());
    let mut text = head(topology, &name, wish);
    text.push_str(&step(&Step { file: &file, nodes: &[topology.lead()], offset: 0, lead: None }));
    text.push_str("lead=$!\n");
    let mut offset = 1;
    for Group { nodes } in groups(topology) {
        text.push_str(&step(&Step { file: &file, nodes: &nodes, offset, lead: Some(topology.lead()) }));
        offset += nodes.len();
    }
    text.push_str(TAIL);
    Ok(text)
}

/// One `srun`.
struct Step<'a> {
    file: &'a str,
    nodes: &'a [&'a Node],
    /// Which of the allocation's machines is its first.
    offset: usize,
    /// The lead, for those that follow it.
    lead: Option<&'a Node>,
}

fn head(topology: &Topology, name: &str, wish: &Slurm) -> String {
    let n_nodes = topology.nodes.len();
    let most = topology.nodes.iter().map(cores).max().unwrap_or(1);
    let mut text = format!(
        "#!/bin/bash\n# {} for Slurm, written by `slackline render`; the topology, the data and the run directory must lie\n\
         # where every machine sees them. Submit it with `sbatch FILE`.\n#SBATCH --job-name={name}\n\
         #SBATCH --nodes={n_nodes}\n#SBATCH --ntasks={n_nodes}\n#SBATCH --ntasks-per-node=1\n#SBATCH --cpus-per-task={most}\n\
         #SBATCH --signal=B:TERM@120\n#SBATCH --requeue\n",
        topology.cluster
    );
    for (option, value) in [("mem", &wish.memory), ("time", &wish.time), ("partition", &wish.partition)] {
        if let Some(value) = value {
            let _ = writeln!(text, "#SBATCH --{option}={value}");
        }
    }
    text.push_str(HEAD);
    text
}

/// The lead is on the first machine, at a port of the job's own; the token is in the environment alone.
const HEAD: &str = r#"
export SLACKLINE_TOKEN="${SLACKLINE_TOKEN:-$(head -c 32 /dev/urandom | base64)}"
export SLACKLINE_LEAD="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1):$((20000 + SLURM_JOB_ID % 20000))"

"#;

/// The run ends with its lead: nodes that it lost are not waited for. 75: stopped where it can be resumed.
const TAIL: &str = r#"
trap 'signalled=yes; kill -TERM "$lead"' TERM INT
wait "$lead"; code=$?
while [ -n "$signalled" ]; do signalled=; wait "$lead"; code=$?; done # a signal cuts a wait short
followers=$(jobs -pr)
[ -z "$followers" ] || { sleep 5; kill $(jobs -pr) 2>/dev/null; wait; }
[ "$code" = 75 ] && scontrol requeue "$SLURM_JOB_ID"
exit "$code"
"#;

/// The name of a task is the word at its place; where it listens is the machine that Slurm put it on.
fn step(step: &Step<'_>) -> String {
    let Step { file, nodes, offset, lead } = step;
    let (node, n) = (nodes[0], nodes.len());
    let names: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
    let program = node.command.as_ref().map_or("slackline".into(), |command| command.to_string_lossy());
    let env: String = node.env.iter().map(|(name, value)| format!("{name}={} ", shell(value))).collect();
    let place = match lead {
        Some(_) => r#"--listen "$SLURMD_NODENAME:0" --lead "$SLACKLINE_LEAD""#,
        None => r#"--listen "$SLACKLINE_LEAD""#,
    };
    let line = format!(
        "shift \"$SLURM_PROCID\"; {env}exec {} node {file} --name \"$1\" {place} --resume",
        shell(&program)
    );
    format!(
        "srun --nodes={n} --ntasks={n} --relative={offset} --cpus-per-task={} --exact --kill-on-bad-exit={} \\\n  \
         bash -c {} slackline {} &\n",
        cores(node),
        u8::from(lead.is_none()), // a follower that dies is the run's business, not its group's
        shell(&line),
        names.join(" ")
    )
}
