//! What `slackline render` writes: manifests whose parts fit together, and a batch script that runs.

#![allow(clippy::unwrap_used)] // the lint lets tests unwrap, but not the functions beside them

mod launched;
mod place;

use std::process::Command;

use launched::{free_port, path_with, program, stand_in};
use place::{Place, failure, slackline, stderr, stdout};
use yaml_rust2::{Yaml, YamlLoader};

const TOPOLOGY: &str = "app: mf\ndata: ratings.tsv\nout: run\nrank: 3\nreplicas: 1\n\
    checkpoint: {directory: ck, every: 5s}\nnodes:\n  - {name: a, workers: 2}\n  - name: b\n  - name: c\n  \
    - {name: d, workers: 4, shards: 0, env: {SLACKLINE_LOG: info}}\n";

fn manifests(options: &str) -> Vec<Yaml> {
    let place = Place::new();
    place.write("mf.yaml", TOPOLOGY);
    let file = place.path("mf.yaml");
    let output = slackline(&format!("render {} --for kubernetes {options}", file.display()));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    YamlLoader::load_from_str(&stdout(&output)).unwrap()
}

fn text<'a>(yaml: &'a Yaml, path: &[&str]) -> &'a str {
    at(yaml, path).as_str().unwrap_or_else(|| panic!("{path:?} is no text"))
}

fn at<'a>(yaml: &'a Yaml, path: &[&str]) -> &'a Yaml {
    path.iter()
        .fold(yaml, |yaml, key| key.parse::<usize>().map_or_else(|_| &yaml[*key], |index| &yaml[index]))
}

#[test]
fn kubernetes_gets_a_service_a_config_map_and_a_set_for_each_kind_of_node() {
    let manifests = manifests("--image registry/slackline:1 --memory 4Gi --claim data");
    let kinds: Vec<_> = manifests.iter().map(|manifest| text(manifest, &["kind"])).collect();
    assert_eq!(kinds, ["Service", "ConfigMap", "StatefulSet", "StatefulSet", "StatefulSet"]);
    let (service, sets) = (&manifests[0], &manifests[2..]);
    assert_eq!(text(service, &["spec", "clusterIP"]), "None");
    assert_eq!(at(service, &["spec", "publishNotReadyAddresses"]).as_bool(), Some(true));
    let port = at(service, &["spec", "ports", "0", "port"]).as_i64();
    let shape = |set: &Yaml| {
        let replicas = at(set, &["spec", "replicas"]).as_i64().unwrap();
        let container = ["spec", "template", "spec", "containers", "0"];
        let cpu = text(at(set, &container), &["resources", "requests", "cpu"]).to_owned();
        (text(set, &["metadata", "name"]).to_owned(), replicas, cpu)
    };
    let shapes: Vec<_> = sets.iter().map(shape).collect();
    let expected = [("mf-lead", 1, "3"), ("mf-nodes", 2, "2"), ("mf-nodes2", 1, "5")];
    assert_eq!(shapes, expected.map(|(name, n, cpu)| (name.to_owned(), n, cpu.to_owned())));
    for set in sets {
        assert_eq!(text(set, &["spec", "serviceName"]), text(service, &["metadata", "name"]));
        let labels = at(set, &["spec", "template", "metadata", "labels"]).as_hash().unwrap();
        for (key, value) in at(set, &["spec", "selector", "matchLabels"]).as_hash().unwrap() {
            assert_eq!(labels.get(key), Some(value), "the set finds its pods");
        }
        for (key, value) in at(service, &["spec", "selector"]).as_hash().unwrap() {
            assert_eq!(labels.get(key), Some(value), "the service finds the pods");
        }
        assert_eq!(text(set, &["spec", "template", "spec", "restartPolicy"]), "Always");
        let node = at(set, &["spec", "template", "spec", "containers", "0"]);
        assert_eq!(at(node, &["ports", "0", "containerPort"]).as_i64(), port);
        for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
            assert_eq!(text(node, &[probe, "tcpSocket", "port"]), text(node, &["ports", "0", "name"]));
        }
        let token = at(node, &["env", "2", "valueFrom", "secretKeyRef"]);
        assert_eq!((text(token, &["name"]), text(token, &["key"])), ("mf-token", "token"));
        let mounts = at(node, &["volumeMounts"]).as_vec().unwrap();
        let volumes = at(set, &["spec", "template", "spec", "volumes"]).as_vec().unwrap();
        let names =
            |list: &[Yaml]| list.iter().map(|item| text(item, &["name"]).to_owned()).collect::<Vec<_>>();
        assert_eq!(names(mounts), names(volumes));
    }
    assert_eq!(text(&sets[2], &["spec", "template", "spec", "containers", "0", "env", "3", "value"]), "info");
}

#[test]
fn the_topology_of_the_pods_is_one_that_a_node_accepts() {
    let manifests = manifests("");
    let place = Place::new();
    place.write("topology.yaml", text(&manifests[1], &["data", "topology.yaml"]));
    let file = place.path("topology.yaml").display().to_string();
    let (code, said) = failure(&slackline(&format!("node {file} --name nobody")));
    assert_eq!(code, 2);
    assert!(said.ends_with("its nodes are mf-lead-0, mf-nodes-0, mf-nodes-1, mf-nodes2-0"), "{said}");
    assert!(place.read("topology.yaml").contains("address: \"mf-nodes-1.mf:7077\""));
    for name in ["mf-lead-0", "mf-nodes-1"] {
        let open = failure(&slackline(&format!("node {file} --name {name} --listen 10.0.0.9:7077")));
        assert!(open.1.contains("off loopback, without a token"), "{}", open.1);
    }
}

#[test]
fn what_cannot_be_rendered_is_refused() {
    let place = Place::new();
    place.write("mf.yaml", TOPOLOGY);
    let file = place.path("mf.yaml").display().to_string();
    assert_eq!(failure(&slackline(&format!("render {file} --for swarm"))).0, 2);
    place.write("2.yaml", TOPOLOGY);
    let named = place.path("2.yaml").display().to_string();
    let (code, said) = failure(&slackline(&format!("render {named} --for kubernetes")));
    assert!(code == 2 && said.contains("cluster is 2, must have at most 40 letters"), "{said}");
}

/// Runs `--ntasks` copies of the command behind its options, as Slurm does on as many machines.
const SRUN: &str = r#"#!/bin/bash
while [ "${1#-}" != "$1" ]; do
  case $1 in --ntasks=*) n=${1#*=};; esac
  shift
done
for ((i = 0; i < n; i++)); do SLURM_PROCID=$i SLURMD_NODENAME=127.0.0.1 "$@" & done
trap 'kill -TERM $(jobs -p)' TERM
code=0
for job in $(jobs -p); do wait "$job" || code=$?; done
exit $code
"#;

#[test]
fn the_batch_script_runs_every_node_and_ends_with_the_leads_code() {
    let place = Place::new();
    stand_in(&place, "srun", SRUN);
    stand_in(&place, "scontrol", "#!/bin/sh\necho \"$@\" >> requeued\necho 127.0.0.1\n");
    let node = |name: &str| format!("  - {{name: {name}, command: {}}}\n", program());
    let nodes = ["a", "b", "c"].map(node).concat();
    let run = |steps: &str| {
        place.write("t.yaml", &format!("app: mean\ndata: numbers.txt\nout: run\n{steps}\nnodes:\n{nodes}"));
        let script = place.run("render t.yaml --for slurm --time 1:00:00 --memory 1G");
        assert_eq!(script.status.code(), Some(0), "{}", stderr(&script));
        place.write("job.sh", &stdout(&script));
        let mut bash = Command::new("bash");
        bash.arg("job.sh").current_dir(place.path("")).env("PATH", path_with(&place));
        let job = free_port().to_string();
        bash.env("SLURM_JOB_ID", job).env("SLURM_JOB_NODELIST", "m[1-3]").env("SLURM_JOB_NUM_NODES", "3");
        (stdout(&script), bash.output().unwrap())
    };
    let (script, output) = run("steps: 20");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for line in
        ["#SBATCH --nodes=3\n", "#SBATCH --mem=1G\n", "#SBATCH --time=1:00:00\n", "--kill-on-bad-exit=1"]
    {
        assert!(script.contains(line), "{line} is not in {script}");
    }
    assert!(script.contains("srun --nodes=2 --ntasks=2 --relative=1"), "{script}");
    assert_eq!(place.json("run/summary.json")["config"]["workers"].as_u64(), Some(3));
    for name in ["a", "b", "c"] {
        assert!(
            stderr(&output).contains(&format!("node {name} of t listens on 127.0.0.1:")),
            "{}",
            stderr(&output)
        );
    }
    let (_, output) = run("rate: fast");
    assert_eq!(output.status.code(), Some(1), "the run is there already: {}", stderr(&output));
}
