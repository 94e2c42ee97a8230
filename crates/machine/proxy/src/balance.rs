//! Which of several servers a connection goes to.

use serde::Deserialize;
use std::net::IpAddr;
use units::fnv1a;

/// How connections are shared out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// In turn.
    #[default]
    RoundRobin,
    /// To the server with the fewest connections; in turn among equals.
    LeastConnections,
    /// A client's always to the same server, as long as that is up: by the highest random weight (Thaler and Ravishankar,
    /// 1998), so that a server that comes or goes moves only its own clients.
    ClientAddress,
    /// The first that is up, in the order of the file.
    FirstUp,
}

/// A server as the choice sees it.
#[derive(Clone, Copy, Debug)]
pub struct ServerChoice {
    /// What tells it from others, the same in every run.
    pub id: u64,
    /// Connections it has now.
    pub connections: usize,
    /// Whether it is up, or its rest is over.
    pub usable: bool,
    /// Whether this connection has tried it already.
    pub tried: bool,
}

impl Balance {
    /// The index of the server that connection number `turn` of a client is to try; where none is up, one of those not tried
    /// yet all the same, since one that answers is better than none. `None` when all were tried.
    pub fn choose(self, servers: &[ServerChoice], turn: usize, client: IpAddr) -> Option<usize> {
        let fresh = |usable: bool| move |i: &usize| !servers[*i].tried && (servers[*i].usable || !usable);
        let begin = turn.checked_rem(servers.len())?;
        let in_turn = (begin..servers.len()).chain(0..begin);
        let pick = |usable: bool| {
            let mut open = in_turn.clone().filter(fresh(usable));
            match self {
                Balance::RoundRobin => open.next(),
                Balance::LeastConnections => open.min_by_key(|&i| servers[i].connections),
                Balance::ClientAddress => {
                    open.max_by_key(|&i| (weight(servers[i].id, client), servers[i].id))
                }
                Balance::FirstUp => open.min(),
            }
        };
        pick(true).or_else(|| pick(false))
    }
}

/// A client's random weight of a server.
fn weight(server: u64, client: IpAddr) -> u64 {
    let mut h = match client.to_canonical() {
        IpAddr::V4(a) => fnv1a(&a.octets(), server),
        IpAddr::V6(a) => fnv1a(&a.octets(), server),
    };
    // FNV-1a's high bits hardly know the last bytes; multiplications that fold mix them (as splitmix64 ends).
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
    fn turns_go_round_and_pass_over_those_that_are_down_or_tried() {
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
    fn the_emptiest_and_the_first() {
        let mut s = servers(3);
        (s[0].connections, s[1].connections, s[2].connections) = (5, 2, 3);
        assert_eq!(Balance::LeastConnections.choose(&s, 0, client(0)), Some(1));
        assert_eq!(Balance::FirstUp.choose(&s, 2, client(0)), Some(0));
        s[0].usable = false;
        assert_eq!(Balance::FirstUp.choose(&s, 2, client(0)), Some(1));
    }

    /// 10,000 clients on 4 servers: 2,500 each, standard deviation 43 (binomial); and none moves but those of a server
    /// that goes down.
    #[test]
    fn clients_spread_evenly_and_stay() {
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
