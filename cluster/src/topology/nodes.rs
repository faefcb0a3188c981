//! The nodes of a topology: what each is called, where it is, what it hosts and who starts it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use super::fields::{self, Fields};
use super::tree::Tree;
use crate::Error;

const KEYS: [&str; 11] =
    ["name", "address", "workers", "shards", "lead", "scheduler", "start", "ssh", "data", "command", "env"];

/// More workers or shards than this on one node are a typo.
pub(super) const MOST: u64 = 1024;

/// One process of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// What it is called.
    pub(crate) name: String,
    /// Where the others reach it.
    pub(crate) address: Address,
    /// How many workers compute on it.
    pub(crate) workers: usize,
    /// How many shards of the model it hosts.
    pub(crate) shards: usize,
    /// Who starts it.
    pub(crate) start: Start,
    /// Its training data, where it lies elsewhere than on the other nodes.
    pub(crate) data: Option<PathBuf>,
    /// The `slackline` to run there.
    pub(crate) command: Option<PathBuf>,
    /// Variables of its environment.
    pub(crate) env: Vec<(String, String)>,
    /// Its line in the file.
    pub(crate) line: usize,
}

/// Who starts a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Start {
    /// The launcher, on its own machine.
    Local,
    /// The launcher, through the system's `ssh` to this user and host.
    Ssh(String),
    /// Somebody else: a person, systemd, Kubernetes.
    Manual,
}

/// A host and a port; port 0 is one that the system chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    /// This machine, any port.
    fn loopback() -> Self {
        Self { host: Ipv4Addr::LOCALHOST.to_string(), port: 0 }
    }

    /// `host`, `host:port`, `[v6]:port` or a bare IPv6 address.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        const RULE: &str =
            "a host or host:port that others can reach, such as 10.0.0.5:7077 or [fe80::1]:7077";
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Self { host: ip.to_string(), port: 0 }.reachable(RULE);
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Self { host: address.ip().to_string(), port: address.port() }.reachable(RULE);
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| RULE)?),
            None => (text, 0),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let digits = host.chars().all(|c| c.is_ascii_digit() || c == '.'); // an IPv4 address with a slip
        let good =
            host.starts_with(|c: char| c.is_ascii_alphanumeric()) && host.chars().all(plain) && !digits;
        if good { Ok(Self { host: host.to_owned(), port }) } else { Err(RULE) }
    }

    fn reachable(self, rule: &'static str) -> Result<Self, &'static str> {
        let everywhere = self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified());
        if everywhere { Err(rule) } else { Ok(self) }
    }

    /// Whether only this machine can reach it.
    pub(crate) fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// The socket address to listen on.
    ///
    /// # Errors
    /// The host's name is not known here.
    pub(crate) fn resolve(&self) -> Result<SocketAddr, Error> {
        let name = self.host.trim_matches(['[', ']']);
        let found = (name, self.port).to_socket_addrs();
        let problem =
            |problem: String| Error::Usage(format!("{self} is no address of this machine: {problem}"));
        let mut found: Vec<_> = found.map_err(|error| problem(error.to_string()))?.collect();
        found.sort_by_key(SocketAddr::is_ipv6); // `localhost` is 127.0.0.1 to everyone
        found.first().copied().ok_or_else(|| problem("its name is not known".into()))
    }

    /// The same host with another port.
    pub(crate) fn at(&self, port: u16) -> Self {
        Self { host: self.host.clone(), port }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// All nodes, and which of them leads.
pub(super) fn read(file: &str, list: &[Tree], workers: usize) -> Result<(Vec<Node>, usize), Error> {
    let mut lead = None;
    let mut nodes = Vec::new();
    for tree in list {
        let fields = Fields::new(file, "a node", tree, &KEYS)?;
        for key in ["lead", "scheduler"] {
            if fields.flag(key)? == Some(true)
                && lead.replace(nodes.len()).is_some_and(|led| led != nodes.len())
            {
                return Err(fields
                    .problem(key, "a second node leads; only one can: take `lead: true` from the others"));
            }
        }
        nodes.push(node(&fields, workers)?);
    }
    Ok((nodes, lead.unwrap_or(0)))
}

fn node(fields: &Fields<'_>, workers: usize) -> Result<Node, Error> {
    let Some(name) = fields.name("name")? else {
        return Err(fields.problem("name", "a node has no name: add `name: NAME`"));
    };
    let start = start(fields, &name)?;
    Ok(Node {
        address: address(fields, &start, &name)?,
        workers: fields.whole("workers", 0, MOST)?.unwrap_or(workers),
        shards: fields.whole("shards", 0, MOST)?.unwrap_or(1),
        data: fields.path("data")?,
        command: fields.path("command")?,
        env: env(fields)?,
        line: fields.line,
        start,
        name,
    })
}

/// `ssh: user@host` says by itself that the node is started over it.
fn start(fields: &Fields<'_>, name: &str) -> Result<Start, Error> {
    let target = fields.text("ssh")?;
    if let Some(target) = target
        && (target.starts_with('-') || target.contains(|c: char| c.is_whitespace() || c.is_control()))
    {
        return Err(fields.refuse("ssh", target, "user@host, or a host of the ssh configuration"));
    }
    match (fields.text("start")?, target) {
        (None | Some("ssh"), Some(target)) => Ok(Start::Ssh(target.to_owned())),
        (Some("ssh"), None) => {
            Err(fields.problem("start", &format!("node {name} is started over ssh: add `ssh: user@host`")))
        }
        (Some("local" | "manual"), Some(_)) => {
            Err(fields
                .problem("ssh", &format!("node {name} has ssh, but is not started over it: take one away")))
        }
        (None | Some("local"), None) => Ok(Start::Local),
        (Some("manual"), None) => Ok(Start::Manual),
        (Some(other), _) => Err(fields.refuse("start", other, "local, ssh or manual")),
    }
}

/// As written; a node over ssh is where its host is.
fn address(fields: &Fields<'_>, start: &Start, name: &str) -> Result<Address, Error> {
    match (fields.text("address")?, start) {
        (Some(text), _) => Address::parse(text).map_err(|rule| fields.refuse("address", text, rule)),
        (None, Start::Ssh(target)) => {
            let host = target.rsplit_once('@').map_or(target.as_str(), |(_, host)| host);
            let unknown =
                format!("node {name} has no address: add `address: HOST`, where the others reach it");
            Address::parse(host).map_err(|_| fields.problem("ssh", &unknown))
        }
        (None, _) => Ok(Address::loopback()),
    }
}

fn env(fields: &Fields<'_>) -> Result<Vec<(String, String)>, Error> {
    let pairs = fields.pairs("env")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for (name, value) in &pairs {
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(plain) {
            return Err(fields.problem("env", &format!("{name} is not the name of a variable")));
        }
        if name == super::secret::VARIABLE {
            let problem = format!("the token must not be in the file: put it into {name} or a token-file");
            return Err(fields.problem("env", &problem));
        }
        if value.contains('\0') {
            return Err(fields.problem("env", &format!("the value of {name} holds a zero byte")));
        }
    }
    Ok(pairs)
}

/// A node that breaks a rule which concerns several.
pub(super) fn refuse(file: &str, node: &Node, problem: &str) -> Error {
    fields::at(file, node.line, &format!("node {} {problem}", node.name))
}
