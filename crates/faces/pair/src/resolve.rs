//! Names to addresses, in a thread of its own: the system's resolver waits.

use linux::epoll::wake;
use proxy::HostPort;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

/// Who wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameAsker {
    /// A peer that is to be called.
    Peer(String),
    /// The relay or flow of this number, which wants a server.
    Server(u64),
}

/// Questions to the thread, and its answers.
type Asked = (Sender<(NameAsker, Vec<HostPort>)>, Receiver<(NameAsker, Vec<SocketAddr>)>);

/// Asks for addresses; answers come by [`Resolver::answer`], and the wake counter says so. The thread begins with the first
/// question that needs it, so after whoever binds has given up its rights, and ends with the resolver.
pub struct Resolver {
    waker: Arc<OwnedFd>,
    thread: Option<Asked>,
}

impl Resolver {
    /// Without a thread yet.
    pub fn new(waker: Arc<OwnedFd>) -> Resolver {
        Resolver { waker, thread: None }
    }

    /// Asks; where all are addresses, the answer is there at once.
    pub fn ask(&mut self, asker: NameAsker, servers: &[HostPort]) -> Option<Vec<SocketAddr>> {
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

    /// The next answer, if there is one.
    pub fn answer(&self) -> Option<(NameAsker, Vec<SocketAddr>)> {
        self.thread.as_ref()?.1.try_recv().ok()
    }
}

fn begin(waker: Arc<OwnedFd>) -> Asked {
    let (ask, questions) = mpsc::channel::<(NameAsker, Vec<HostPort>)>();
    let (tell, answers) = mpsc::channel();
    std::thread::spawn(move || {
        for (asker, servers) in questions {
            let found = servers.iter().flat_map(|server| server.resolve().unwrap_or_default()).collect();
            if tell.send((asker, found)).is_err() {
                return;
            }
            wake(waker.as_fd());
        }
    });
    (ask, answers)
}
