//! The command line that starts a node: here, or on another machine through the system's `ssh`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::Error;
use crate::topology::{Node, Start};

/// Never asks for a password, gives up on a host that does not answer, notices a dead connection.
const SSH: [&str; 9] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
];

/// What a node is told on its command line: nothing secret.
#[derive(Debug, Clone, Default)]
pub(super) struct Arguments {
    /// Where the lead listens; absent for the lead itself.
    pub(super) lead: Option<String>,
    /// Where to listen, if not where the topology says.
    pub(super) listen: Option<String>,
    /// The run directory; only the lead writes one.
    pub(super) out: Option<PathBuf>,
    pub(super) force: bool,
    pub(super) resume: bool,
    pub(super) json_log: bool,
}

impl Arguments {
    fn words(&self, name: &str) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["node", "-", "--name", name, "--json"].map(OsString::from).into();
        let mut option = |key: &str, value: Option<OsString>| {
            if let Some(value) = value {
                words.extend([key.into(), value]);
            }
        };
        option("--lead", self.lead.clone().map(OsString::from));
        option("--listen", self.listen.clone().map(OsString::from));
        option("--out", self.out.clone().map(PathBuf::into_os_string));
        option("--log", self.json_log.then(|| "json".into()));
        words.extend(self.force.then(|| "--force".into()));
        words.extend(self.resume.then(|| "--resume".into()));
        words
    }
}

/// The command that starts `node`.
///
/// # Errors
/// This program's own file cannot be found.
pub(super) fn command(node: &Node, arguments: &Arguments) -> Result<Command, Error> {
    let words = arguments.words(&node.name);
    let mut command = match &node.start {
        Start::Ssh(target) => {
            let mut command = Command::new("ssh");
            command.args(SSH).arg("--").arg(target).arg(remote(node, &words));
            command
        }
        Start::Local | Start::Manual => {
            let mut command = Command::new(program(node)?);
            command.args(words).envs(node.env.iter().map(|(name, value)| (name, value)));
            command
        }
    };
    command.env_remove("SLACKLINE_TOKEN"); // it comes through the pipe
    command.process_group(0); // a Ctrl-C at the terminal is for the launcher alone
    Ok(command)
}

/// `slackline` on this machine: the one that is running, so that a program with apps of its own starts itself.
fn program(node: &Node) -> Result<PathBuf, Error> {
    match &node.command {
        Some(command) => Ok(command.clone()),
        None => std::env::current_exe().map_err(Error::file(Path::new("this program"))),
    }
}

/// One word for the remote shell.
fn remote(node: &Node, words: &[OsString]) -> String {
    let mut line = String::from("exec");
    if !node.env.is_empty() {
        line.push_str(" env");
        for (name, value) in &node.env {
            line = format!("{line} {name}={}", shell(value));
        }
    }
    let command = node.command.as_ref().map_or("slackline".into(), |command| command.to_string_lossy());
    line = format!("{line} {}", shell(&command));
    words.iter().for_each(|word| line = format!("{line} {}", shell(&word.to_string_lossy())));
    line
}

/// The command by which somebody starts a node by hand.
pub(super) fn by_hand(node: &Node, topology: &str, lead: &str, program: &str) -> String {
    let command = node.command.as_ref().map_or(program.into(), |command| command.to_string_lossy());
    let env: String = node.env.iter().map(|(name, value)| format!("{name}={} ", shell(value))).collect();
    format!("{env}{} node {} --name {} --lead {}", shell(&command), shell(topology), node.name, shell(lead))
}

/// A word as a shell reads it.
pub(crate) fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

    fn words(text: &str, node: &str, arguments: &Arguments) -> Vec<String> {
        let topology = Topology::from_text("t.yaml", &format!("app: mf\ndata: a\nnodes:\n{text}")).unwrap();
        let command = command(topology.node(node).unwrap(), arguments).unwrap();
        let command = command.as_std();
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_remote_node_is_one_quoted_line_and_nothing_secret() {
        let text = "  - {name: a, address: \"10.0.0.5:7077\"}\n  - name: b\n    ssh: me@10.0.0.7\n    \
                    command: /opt/my tools/slackline\n    env: {OMP: \"it's 1\"}\n";
        let arguments = Arguments { lead: Some("10.0.0.5:7077".into()), ..Arguments::default() };
        let words = words(text, "b", &arguments);
        assert_eq!(words[0], "ssh");
        assert_eq!(words[words.len() - 2], "me@10.0.0.7");
        let line =
            r"exec env OMP='it'\''s 1' '/opt/my tools/slackline' node - --name b --json --lead 10.0.0.5:7077";
        assert_eq!(words.last().unwrap(), line);
    }

    #[test]
    fn a_local_node_is_this_program() {
        let arguments = Arguments { resume: true, out: Some("runs/1".into()), ..Arguments::default() };
        let words = words("  - name: a\n", "a", &arguments);
        assert_eq!(words[0], std::env::current_exe().unwrap().to_string_lossy());
        assert_eq!(words[1..], ["node", "-", "--name", "a", "--json", "--out", "runs/1", "--resume"]);
    }
}
