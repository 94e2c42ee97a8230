//! Resolves host names in a separate thread, as the system's resolver blocks.

use linux::epoll::wake;
use proxy::HostPort;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

/// Why addresses are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveRequest {
    /// To connect to the peer with this name.
    Peer(String),
    /// To connect the relay or flow with this number to a server.
    Server(u64),
}

/// The channels to and from the thread.
type ResolverThread = (Sender<(ResolveRequest, Vec<HostPort>)>, Receiver<(ResolveRequest, Vec<SocketAddr>)>);

/// Resolves host names. Results are returned by [`Resolver::answer`], after the wake counter was raised. The
/// thread starts with the first request that needs it, so after the process has dropped its privileges, and
/// ends with the resolver.
pub struct Resolver {
    waker: Arc<OwnedFd>,
    thread: Option<ResolverThread>,
}

impl Resolver {
    /// A resolver without a thread yet.
    pub fn new(waker: Arc<OwnedFd>) -> Resolver {
        Resolver { waker, thread: None }
    }

    /// Resolves servers. If all of them are addresses, returns them at once.
    pub fn ask(&mut self, asker: ResolveRequest, servers: &[HostPort]) -> Option<Vec<SocketAddr>> {
        let plain = servers.iter().map(|server| match server {
            HostPort::Address(address) => Some(*address),
            HostPort::Name(..) => None,
        });
        let plain: Option<Vec<SocketAddr>> = plain.collect();
        if plain.is_none() {
            let (questions, _) = self.thread.get_or_insert_with(|| begin(self.waker.clone()));
            let _ = questions.send((asker, servers.to_vec()));
        }
        plain
    }

    /// The next result, if there is one.
    pub fn answer(&self) -> Option<(ResolveRequest, Vec<SocketAddr>)> {
        self.thread.as_ref()?.1.try_recv().ok()
    }
}

fn begin(waker: Arc<OwnedFd>) -> ResolverThread {
    let (ask, questions) = mpsc::channel::<(ResolveRequest, Vec<HostPort>)>();
    let (reply, answers) = mpsc::channel();
    std::thread::spawn(move || {
        for (asker, servers) in questions {
            let found = servers.iter().flat_map(|server| server.resolve().unwrap_or_default()).collect();
            if reply.send((asker, found)).is_err() {
                return;
            }
            wake(waker.as_fd());
        }
    });
    (ask, answers)
}
