//! Who passes the log's messages on to whom.

/// How many a server of the tree passes messages on to.
pub const FAN_OUT: usize = 10;
/// How many servers keep the log.
const HUBS: usize = 3;

/// How the engine's servers and the cluster's are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Every server is connected to one of the three that keep the log.
    Star,
    /// Every server passes messages on to [`FAN_OUT`] others (the engine's leaf nodes).
    Tree,
    /// Every server passes messages on to its neighbour, from the leader both ways round.
    Ring,
    /// Every server has an engine's server beside it, and all of these are connected.
    Mesh,
}

impl Topology {
    /// All of them.
    pub const ALL: [Topology; 4] = [Topology::Star, Topology::Tree, Topology::Ring, Topology::Mesh];

    /// Its name in cases and tables.
    pub fn name(self) -> &'static str {
        match self {
            Topology::Star => "star",
            Topology::Tree => "tree",
            Topology::Ring => "ring",
            Topology::Mesh => "mesh",
        }
    }

    /// How many connections there are between `servers` of the cluster and the engine.
    pub fn links(self, servers: usize) -> usize {
        match self {
            Topology::Star => servers + HUBS,
            Topology::Tree => servers,
            Topology::Ring => servers + 1,
            Topology::Mesh => servers * (servers + 1) / 2,
        }
    }
}

/// The way of every message: a tree of nodes, of which the first are the cluster's servers and the
/// rest the engine's.
#[derive(Clone, Debug)]
pub struct Network {
    /// Whom a node passes messages on to, in this order.
    pub children: Vec<Vec<usize>>,
    /// How many hops it is from the leader.
    pub hops: Vec<u32>,
    /// Where messages begin: the engine's server that leads the log.
    pub leader: usize,
}

impl Network {
    /// That of so many servers.
    pub fn new(topology: Topology, servers: usize) -> Network {
        let leader = servers;
        let hubs = if topology == Topology::Star { HUBS - 1 } else { 0 };
        let parent = |server: usize| match topology {
            // The leader is one of the hubs.
            Topology::Star => leader + server % HUBS,
            Topology::Tree if server < FAN_OUT => leader,
            Topology::Tree => server / FAN_OUT - 1,
            Topology::Ring if server == 0 || server + 1 == servers => leader,
            Topology::Ring if server < servers.div_ceil(2) => server - 1,
            Topology::Ring => server + 1,
            Topology::Mesh => leader,
        };
        let mut children = vec![Vec::new(); servers + 1 + hubs];
        children[leader].extend(leader + 1..=leader + hubs);
        for server in 0..servers {
            children[parent(server)].push(server);
        }
        let mut hops = vec![0; children.len()];
        let mut reached = vec![leader];
        while let Some(node) = reached.pop() {
            for child in &children[node] {
                hops[*child] = hops[node] + 1;
                reached.push(*child);
            }
        }
        Network { children, hops, leader }
    }
}

#[cfg(test)]
mod tests {
    use super::{FAN_OUT, Network, Topology};

    #[test]
    fn every_server_is_reached_once() {
        for topology in Topology::ALL {
            for servers in [1, 2, 3, 10, 11, 12, 110, 111, 1000] {
                let network = Network::new(topology, servers);
                let mut reached: Vec<usize> = network.children.concat();
                reached.sort_unstable();
                let mut all: Vec<usize> = (0..network.children.len()).collect();
                all.retain(|node| *node != network.leader);
                assert_eq!(reached, all, "{topology:?} of {servers}");
                assert!(network.hops[..servers].iter().all(|hops| *hops > 0));
            }
        }
    }

    #[test]
    fn the_shapes_are_what_they_are_called() {
        let most = |topology, servers: usize| {
            *Network::new(topology, servers).hops[..servers].iter().max().unwrap()
        };
        assert_eq!((most(Topology::Star, 1000), most(Topology::Mesh, 1000)), (2, 1));
        assert_eq!((most(Topology::Tree, 10), most(Topology::Tree, 11)), (1, 2));
        assert_eq!((most(Topology::Tree, 110), most(Topology::Tree, 1000)), (2, 3));
        assert_eq!((most(Topology::Ring, 1000), most(Topology::Ring, 7)), (500, 4));
        let tree = Network::new(Topology::Tree, 1000);
        assert!(tree.children.iter().all(|children| children.len() <= FAN_OUT));
        assert_eq!(Network::new(Topology::Ring, 2).hops[..2], [1, 1]);
    }
}
