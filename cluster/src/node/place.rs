//! From a topology to what one process is told about its place in the cluster.

use std::net::{SocketAddr, UdpSocket};

use slackline::cluster::{Expected, Place, Role, Settings, Token};

use super::Order;
use crate::Error;
use crate::topology::{Address, Topology, check_open};

/// Who a node is, before its seat is taken; whether a lead was there before is not known yet.
pub(super) fn place(order: &Order) -> Result<Place, Error> {
    let topology = &order.topology;
    let (role, workers, shards) = match order.late {
        Some(workers) => (follow(order, true)?, workers, 0),
        None => {
            let node = topology.node(&order.name)?;
            let role = if leads(order) { lead(order) } else { follow(order, false)? };
            (role, node.workers, node.shards)
        }
    };
    let address = listen(order, &role)?;
    check_open(&topology.file, &order.name, &address, order.token.is_some())?;
    let settings = Settings {
        cluster: topology.cluster.clone(),
        node: order.name.clone(),
        listen: address.resolve()?,
        token: order.token.clone(),
        tls: topology.tls.clone(),
        timing: topology.timing,
    };
    Ok(Place { settings, workers, shards, role })
}

/// Whether the node leads.
pub(super) fn leads(order: &Order) -> bool {
    order.late.is_none() && order.topology.lead().name == order.name
}

fn lead(order: &Order) -> Role {
    let expected = order.topology.others().map(|node| Expected {
        name: node.name.clone(),
        workers: node.workers,
        shards: node.shards,
    });
    Role::Lead { others: expected.collect(), replicas: order.topology.replicas, again: false }
}

fn follow(order: &Order, late: bool) -> Result<Role, Error> {
    let lead = order.topology.lead();
    let address = order.lead.as_ref().unwrap_or(&lead.address);
    if address.port == 0 {
        let problem = format!("the lead {} listens on a port that the system chooses", lead.name);
        return Err(Error::Usage(format!("{}: {problem}: give --lead HOST:PORT", order.topology.file)));
    }
    Ok(Role::Follow { lead: lead.name.clone(), address: address.to_string(), late })
}

/// Where to listen: as the command line says, as the topology says, or (who joins late) on the way to the lead.
fn listen(order: &Order, role: &Role) -> Result<Address, Error> {
    if let Some(address) = &order.listen {
        return Ok(address.clone());
    }
    match role {
        Role::Follow { address, late: true, .. } => own_address(address),
        _ => Ok(order.topology.node(&order.name)?.address.clone()),
    }
}

/// This machine's address on the way to `lead`: a datagram socket knows it without sending anything.
fn own_address(lead: &str) -> Result<Address, Error> {
    let problem =
        |error: std::io::Error| Error::cluster(format!("the lead {lead} cannot be reached: {error}"));
    let found = || {
        let target = Address::parse(lead).ok().and_then(|address| address.resolve().ok());
        let target = target.ok_or(std::io::ErrorKind::NotFound)?;
        let any: SocketAddr = if target.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0; 8], 0).into() };
        let socket = UdpSocket::bind(any)?;
        socket.connect(target)?;
        socket.local_addr()
    };
    let own = found().map_err(problem)?;
    Ok(Address { host: own.ip().to_string(), port: 0 })
}

/// What a client such as `slackline status` is told about the cluster.
pub(crate) fn client(topology: &Topology, token: Option<Token>) -> Settings {
    Settings {
        cluster: topology.cluster.clone(),
        node: format!("client-{}", std::process::id()),
        listen: ([127, 0, 0, 1], 0).into(),
        token,
        tls: topology.tls.clone(),
        timing: topology.timing,
    }
}
