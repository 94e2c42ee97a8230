//! Names to addresses, in a thread of its own: the system's resolver waits.

use proxy::{HostPort, wake};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

/// Who wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A peer that is to be called.
    Peer(String),
    /// The relay or flow of this number, which wants a server.
    Server(u64),
}

/// Asks for addresses; answers come by [`Resolver::answers`], and the wake counter says so.
pub struct Resolver {
    ask: Sender<(Asker, Vec<HostPort>)>,
    answers: Receiver<(Asker, Vec<SocketAddr>)>,
}

impl Resolver {
    /// Starts the thread; it ends with the resolver.
    pub fn start(waker: Arc<OwnedFd>) -> Resolver {
        let (ask, questions) = mpsc::channel::<(Asker, Vec<HostPort>)>();
        let (tell, answers) = mpsc::channel();
        std::thread::spawn(move || {
            for (asker, servers) in questions {
                let found = servers.iter().flat_map(addresses).collect();
                if tell.send((asker, found)).is_err() {
                    return;
                }
                wake(waker.as_fd());
            }
        });
        Resolver { ask, answers }
    }

    /// Asks; where all are addresses, the answer is there at once.
    pub fn ask(&self, asker: Asker, servers: &[HostPort]) -> Option<Vec<SocketAddr>> {
        let plain = servers.iter().map(|server| match server {
            HostPort::Address(address) => Some(*address),
            HostPort::Name(..) => None,
        });
        let plain: Option<Vec<SocketAddr>> = plain.collect();
        if plain.is_none() {
            let _ = self.ask.send((asker, servers.to_vec()));
        }
        plain
    }

    /// The next answer, if there is one.
    pub fn answers(&self) -> Option<(Asker, Vec<SocketAddr>)> {
        self.answers.try_recv().ok()
    }
}

fn addresses(server: &HostPort) -> Vec<SocketAddr> {
    match server {
        HostPort::Address(address) => vec![*address],
        HostPort::Name(name, port) => {
            (name.as_str(), *port).to_socket_addrs().map(Iterator::collect).unwrap_or_default()
        }
    }
}
