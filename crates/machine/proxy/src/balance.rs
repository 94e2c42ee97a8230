//! Load balancing: chooses a connection's server.

use serde::Deserialize;
use std::net::IpAddr;
use units::fnv1a;

/// How connections are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// Round robin.
    #[default]
    RoundRobin,
    /// The server with the fewest connections; round robin among equals.
    LeastConnections,
    /// The same server for each client while that server is up: the highest random weight (Thaler and
    /// Ravishankar, 1998), so that adding or removing a server moves only its own clients.
    ClientAddress,
    /// The first server that is up, in the order of the file.
    FirstUp,
}

/// A server's properties for the choice.
#[derive(Clone, Copy, Debug)]
pub struct ServerChoice {
    /// Identifies the server, the same in every run.
    pub id: u64,
    pub connections: usize,
    /// Whether the server is up, or its suspension is over.
    pub usable: bool,
    /// Whether this connection has already tried the server.
    pub tried: bool,
}

impl Balance {
    /// Returns the index of the server that connection number `n` should try; `client` is its client's
    /// address. If no server is up, returns an untried one, because it may answer nevertheless. Returns
    /// `None` when all were tried.
    pub fn choose(self, servers: &[ServerChoice], n: usize, client: IpAddr) -> Option<usize> {
        let is_candidate =
            |usable: bool| move |i: &usize| !servers[*i].tried && (servers[*i].usable || !usable);
        let begin = n.checked_rem(servers.len())?;
        let in_turn = (begin..servers.len()).chain(0..begin);
        let pick = |usable: bool| {
            let mut candidates = in_turn.clone().filter(is_candidate(usable));
            match self {
                Balance::RoundRobin => candidates.next(),
                Balance::LeastConnections => candidates.min_by_key(|&i| servers[i].connections),
                Balance::ClientAddress => {
                    candidates.max_by_key(|&i| (weight(servers[i].id, client), servers[i].id))
                }
                Balance::FirstUp => candidates.min(),
            }
        };
        pick(true).or_else(|| pick(false))
    }
}

/// Returns a client's random weight of a server.
fn weight(server: u64, client: IpAddr) -> u64 {
    let mut h = match client.to_canonical() {
        IpAddr::V4(a) => fnv1a(&a.octets(), server),
        IpAddr::V6(a) => fnv1a(&a.octets(), server),
    };
    // The last bytes hardly affect FNV-1a's high bits; mix them with multiplications (the end of splitmix64).
    h = (h ^ h >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ h >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ h >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn servers(n: u64) -> Vec<ServerChoice> {
        (0..n).map(|id| ServerChoice { id, connections: 0, usable: true, tried: false }).collect()
    }

    fn client(n: u32) -> IpAddr {
        Ipv4Addr::from_bits(0x0a00_0000 + n).into()
    }

    #[test]
    fn round_robin_skips_servers_that_are_down_or_tried() {
        let mut s = servers(3);
        let order =
            |s: &[ServerChoice]| (0..6).map(|t| Balance::RoundRobin.choose(s, t, client(0))).collect();
        let all: Vec<_> = order(&s);
        assert_eq!(all, [0, 1, 2, 0, 1, 2].map(Some));
        s[1].usable = false;
        let all: Vec<_> = order(&s);
        assert_eq!(all, [0, 2, 2, 0, 2, 2].map(Some));
        (s[0].tried, s[2].tried) = (true, true);
        assert_eq!(Balance::RoundRobin.choose(&s, 0, client(0)), Some(1), "down, but the only one left");
        s[1].tried = true;
        for balance in
            [Balance::RoundRobin, Balance::LeastConnections, Balance::ClientAddress, Balance::FirstUp]
        {
            assert_eq!(balance.choose(&s, 0, client(0)), None);
            assert_eq!(balance.choose(&[], 7, client(0)), None);
        }
    }

    #[test]
    fn least_connections_and_first_up_choose_their_server() {
        let mut s = servers(3);
        (s[0].connections, s[1].connections, s[2].connections) = (5, 2, 3);
        assert_eq!(Balance::LeastConnections.choose(&s, 0, client(0)), Some(1));
        assert_eq!(Balance::FirstUp.choose(&s, 2, client(0)), Some(0));
        s[0].usable = false;
        assert_eq!(Balance::FirstUp.choose(&s, 2, client(0)), Some(1));
    }

    /// 10,000 clients on 4 servers: 2,500 each, standard deviation 43 (binomial). Only the clients of a
    /// server that goes down move.
    #[test]
    fn clients_are_spread_evenly_and_keep_their_server() {
        let mut s = servers(4);
        let before: Vec<_> = (0..10_000).map(|c| Balance::ClientAddress.choose(&s, 1, client(c))).collect();
        for server in 0..4 {
            let n = before.iter().filter(|b| **b == Some(server)).count();
            assert!((2300..2700).contains(&n), "{n}");
        }
        s[2].usable = false;
        for (c, before) in before.iter().enumerate() {
            let after = Balance::ClientAddress.choose(&s, 2, client(c as u32));
            assert!(*before == Some(2) && after != Some(2) || after == *before);
        }
    }
}
