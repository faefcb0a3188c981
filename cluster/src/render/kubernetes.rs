//! Kubernetes: a headless Service, the topology as a ConfigMap, a StatefulSet for the lead and one for each group of
//! equal nodes. The token comes from a Secret that the user makes.

use std::fmt::Write;

use super::{Group, PORT, cores, groups, plain_name};
use crate::Error;
use crate::topology::{Address, Node, Renamed, Topology, quoted, rewritten};

/// What the manifests need that no topology says.
pub(crate) struct Kubernetes {
    /// The image with `slackline` in it.
    pub(crate) image: String,
    /// The memory that each node asks for, such as `4Gi`.
    pub(crate) memory: String,
    /// A claim on a volume that all pods share, for the data, the run directory and checkpoints.
    pub(crate) claim: Option<String>,
}

/// A StatefulSet to be: the stem of its pods' names and its nodes.
struct Set<'a> {
    name: String,
    nodes: Vec<&'a Node>,
    leads: bool,
}

/// The manifests.
///
/// # Errors
/// The cluster's name cannot be that of a service.
pub(crate) fn kubernetes(topology: &Topology, wish: &Kubernetes) -> Result<String, Error> {
    let name = plain_name(topology, 40)?;
    let port = match topology.lead().address.port {
        0 => PORT,
        port => port,
    };
    let sets = sets(topology, &name);
    let pods = pods(&sets, &name, port);
    let mut text = head(topology, &name);
    text.push_str(&service(&name, port));
    text.push_str(&config(topology, &name, &pods));
    for set in &sets {
        text.push_str(&stateful_set(topology, &name, set, port, wish));
    }
    Ok(text)
}

fn sets<'a>(topology: &'a Topology, name: &str) -> Vec<Set<'a>> {
    let lead = Set { name: format!("{name}-lead"), nodes: vec![topology.lead()], leads: true };
    let follow = |(index, Group { nodes }): (usize, Group<'a>)| Set {
        name: format!("{name}-nodes{}", if index == 0 { String::new() } else { (index + 1).to_string() }),
        nodes,
        leads: false,
    };
    std::iter::once(lead).chain(groups(topology).into_iter().enumerate().map(follow)).collect()
}

/// Every node under the name of its pod, which the Service makes the name of a host.
fn pods<'a>(sets: &[Set<'a>], service: &str, port: u16) -> Vec<Renamed<'a>> {
    let of_set = |set: &Set<'a>| {
        let pod = |(index, node): (usize, &&'a Node)| {
            let name = format!("{}-{index}", set.name);
            Renamed { node, address: Address { host: format!("{name}.{service}"), port }, name }
        };
        set.nodes.iter().enumerate().map(pod).collect::<Vec<_>>()
    };
    sets.iter().flat_map(of_set).collect()
}

fn head(topology: &Topology, name: &str) -> String {
    format!(
        "# {} for Kubernetes, written by `slackline render`. Once, for the token that the nodes share:\n\
         #   kubectl create secret generic {name}-token --from-literal=token=\"$(head -c 32 /dev/urandom | base64)\"\n\
         # Then, with this file:\n\
         #   kubectl apply -f FILE; kubectl logs -f {name}-lead-0\n\
         # When the run is done the pods stay (the lead's log has the summary) until they are deleted:\n\
         #   kubectl delete -f FILE\n",
        topology.cluster
    )
}

fn labels(name: &str, indent: usize) -> String {
    format!(
        "{0:indent$}app.kubernetes.io/name: slackline\n{0:indent$}app.kubernetes.io/instance: {name}\n",
        ""
    )
}

fn service(name: &str, port: u16) -> String {
    let labels = labels(name, 4);
    format!(
        "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n  labels:\n{labels}spec:\n  clusterIP: None\n  \
         publishNotReadyAddresses: true # nodes look for the lead before it is ready\n  selector:\n{labels}  ports:\n    \
         - name: slackline\n      port: {port}\n      targetPort: {port}\n"
    )
}

fn config(topology: &Topology, name: &str, pods: &[Renamed<'_>]) -> String {
    let mut text = format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels:\n{}data:\n  topology.yaml: |\n",
        labels(name, 4)
    );
    for line in rewritten(topology, pods).lines() {
        let _ = writeln!(text, "    {line}");
    }
    text
}

fn stateful_set(topology: &Topology, service: &str, set: &Set<'_>, port: u16, wish: &Kubernetes) -> String {
    let (name, node, replicas) = (&set.name, set.nodes[0], set.nodes.len());
    let part = if set.leads { "lead" } else { name.as_str() };
    let (labels4, labels8) = (labels(service, 4), labels(service, 8));
    format!(
        "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: {name}\n  labels:\n{labels4}    \
         app.kubernetes.io/component: {part}\nspec:\n  serviceName: {service}\n  replicas: {replicas}\n  \
         podManagementPolicy: Parallel\n  selector:\n    matchLabels:\n      app.kubernetes.io/instance: {service}\n      \
         app.kubernetes.io/component: {part}\n  template:\n    metadata:\n      labels:\n{labels8}        \
         app.kubernetes.io/component: {part}\n    spec:\n      restartPolicy: Always\n      \
         terminationGracePeriodSeconds: 60 # to stop at a clock and write it down\n      containers:\n        \
         - name: node\n          image: {}\n{}          env:\n{}          ports:\n            - name: slackline\n              \
         containerPort: {port}\n{}{}{}",
        quoted(&wish.image),
        arguments(node, port),
        environment(node, service),
        probes(),
        resources(node, wish),
        volumes(topology, service, wish),
    )
}

/// A node that is started again goes on; one that is done stays, since a StatefulSet restarts whatever ends.
fn arguments(node: &Node, port: u16) -> String {
    let program = node.command.as_ref().map_or("slackline".into(), |command| command.to_string_lossy());
    let listen = format!("$(POD_IP):{port}");
    let words: [&str; 9] = [
        &program,
        "node",
        "/etc/slackline/topology.yaml",
        "--name",
        "$(POD_NAME)",
        "--listen",
        &listen,
        "--resume",
        "--stay",
    ];
    let words: Vec<_> = words.into_iter().map(quoted).collect();
    format!("          command: [{}]\n          workingDir: /work\n", words.join(", "))
}

fn environment(node: &Node, service: &str) -> String {
    let field = |name: &str, path: &str| {
        format!(
            "            - name: {name}\n              valueFrom:\n                fieldRef:\n                  fieldPath: {path}\n"
        )
    };
    let mut text = field("POD_NAME", "metadata.name") + &field("POD_IP", "status.podIP");
    let _ = write!(
        text,
        "            - name: SLACKLINE_TOKEN\n              valueFrom:\n                secretKeyRef:\n                  \
         name: {service}-token\n                  key: token\n"
    );
    for (name, value) in &node.env {
        let _ = writeln!(text, "            - name: {name}\n              value: {}", quoted(value));
    }
    text
}

/// A node listens as long as it is well, also when it is done.
fn probes() -> String {
    let probe = |name: &str, period: u32, failures: u32| {
        format!(
            "          {name}:\n            tcpSocket:\n              port: slackline\n            \
             periodSeconds: {period}\n            failureThreshold: {failures}\n"
        )
    };
    probe("startupProbe", 2, 60) + &probe("readinessProbe", 10, 3) + &probe("livenessProbe", 10, 6)
}

fn resources(node: &Node, wish: &Kubernetes) -> String {
    let memory = quoted(&wish.memory);
    format!(
        "          resources:\n            requests:\n              cpu: \"{}\"\n              memory: {memory}\n            \
         limits:\n              memory: {memory}\n",
        cores(node)
    )
}

fn volumes(topology: &Topology, service: &str, wish: &Kubernetes) -> String {
    let work = match &wish.claim {
        Some(claim) => format!("persistentVolumeClaim:\n            claimName: {claim}"),
        None => "emptyDir: {} # give `render --claim NAME` for a volume that outlives the pod".to_owned(),
    };
    let mut mounts = "          volumeMounts:\n            - name: topology\n              mountPath: /etc/slackline\n              \
                      readOnly: true\n            - name: work\n              mountPath: /work\n"
        .to_owned();
    let mut volumes = format!(
        "      volumes:\n        - name: topology\n          configMap:\n            name: {service}\n        \
         - name: work\n          {work}\n"
    );
    if let Some(folder) = topology.tls.as_ref().and_then(|tls| tls.certificate.parent()) {
        let folder = quoted(&folder.to_string_lossy());
        let _ = write!(
            mounts,
            "            - name: tls\n              mountPath: {folder}\n              readOnly: true\n"
        );
        let _ = write!(
            volumes,
            "        - name: tls\n          secret:\n            secretName: {service}-tls\n"
        );
    }
    mounts + &volumes
}
