//! Changes congestion control and pacing cap of running connections, and puts them back.
//!
//! [`Apply`] is used in this order:
//!
//! 1. [`Apply::open`] finds the target and loads the programs (`kernel_cc::ApplyPrograms`); nothing is
//!    changed.
//! 2. [`Apply::observe`], called again and again at any time, reads the sockets of the target;
//!    [`Apply::figures`] says what some of them did.
//! 3. [`Apply::start`] changes the connections that exist, and each new one from then on.
//! 4. [`Apply::observe`] also finds new connections where the kernel does not report them.
//! 5. [`Apply::undo`] puts all of them back. If this process ends without it, for whatever reason, another
//!    process ([`guard`]) does it.

mod figures;
mod guard;
mod place;
mod undo;

pub use figures::Figures;
pub use place::{ApplyPlace, NewConnections};
pub use undo::Undone;

use crate::filter::LiveFilter;
use figures::History;
use guard::Guard;
use kernel_cc::{ApplyConfig, ApplyPrograms, ChangedSocket, ControlError, Kernel, ListedSocket};
use linux::sock_diag::{Diag, Sock};
use linux::socket::{SocketOption, set_bytes, tcp_socket};
use place::{NamespaceFile, Scope};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::thread::sleep;
use std::time::{Duration, Instant};
use units::Time;

/// Time between two observations.
pub const INTERVAL: Duration = Duration::from_millis(250);
/// An observation takes at most one part in this of the time, unless that is longer than [`MAX_INTERVAL`].
const COST_SHARE: u32 = 8;
const MAX_INTERVAL: Duration = Duration::from_secs(2);

/// What to change.
#[derive(Clone, Debug)]
pub struct ApplyOptions {
    /// The target as the user named it, for messages.
    pub name: String,
    pub place: ApplyPlace,
    /// Congestion control to choose; `None` keeps each connection's own.
    pub control: Option<String>,
    /// Pacing cap, bytes per second; `None` keeps each connection's own.
    pub pacing: Option<u32>,
    /// Only connections that match.
    pub filter: LiveFilter,
    /// How long readings are kept for [`Apply::figures`].
    pub history: Duration,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The target does not exist, or cannot be told from others.
    #[error("{target}: {why}")]
    Target {
        /// As the user named it.
        target: String,
        /// The reason, and what would work.
        why: String,
    },
    /// The kernel has no such congestion control, or may not choose it.
    #[error("--cc {control}: {why}")]
    Control { control: String, why: String },
    /// The programs were not loaded or attached.
    #[error("{0}")]
    Programs(#[from] ControlError),
    /// This process lacks capabilities; CAP_SYS_ADMIN is enough.
    #[error("{what}: {source}; run as root, outside of user namespaces and most containers")]
    Permission {
        /// What it was for.
        what: String,
        source: io::Error,
    },
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What it was for.
        what: String,
        source: io::Error,
    },
}

fn system(what: &str) -> impl FnOnce(io::Error) -> ApplyError {
    let what = what.to_string();
    move |source| match source.kind() {
        io::ErrorKind::PermissionDenied => ApplyError::Permission { what, source },
        _ => ApplyError::System { what, source },
    }
}

/// A connection of the target.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Identifies the socket until reboot.
    pub cookie: u64,
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// Congestion control now.
    pub control: String,
    /// Pacing cap now, bytes per second.
    pub pacing: Option<u64>,
    /// Whether TCP or the queueing discipline spreads its packets over time.
    pub is_paced: bool,
}

/// A changed target. The order of calls is in the description of the module.
pub struct Apply {
    options: ApplyOptions,
    scope: Scope,
    programs: ApplyPrograms,
    begin: Instant,
    history: History,
    guard: Option<Guard>,
    link: Option<OwnedFd>,
    is_started: bool,
    has_company: bool,
    /// Duration of the last observation.
    cost: Duration,
    /// Cookies that are changed and were not seen at the last observation.
    unseen: BTreeSet<u64>,
    /// Number of changed connections that have been closed.
    closed: u64,
}

impl Apply {
    /// Finds the target and loads the programs. Nothing is changed yet.
    ///
    /// # Errors
    /// Fails with an [`ApplyError`].
    pub fn open(options: ApplyOptions) -> Result<Apply, ApplyError> {
        let bad = |why| ApplyError::Target { target: options.name.clone(), why };
        let scope = Scope::find(&options.place, &options.filter).map_err(bad)?;
        let files = scope.namespaces();
        let file = files.first().ok_or_else(|| bad("it has no running process".into()))?;
        if let Some(control) = &options.control {
            let checked =
                file.enter(|| check_control(control)).map_err(system("entering its network namespace"))?;
            checked.map_err(|why| ApplyError::Control { control: control.clone(), why })?;
        }
        let namespace = match scope.new_connections() {
            NewConnections::Group { namespace, .. } => *namespace,
            NewConnections::Search => None,
        };
        let has_company = ApplyPrograms::are_others_loaded();
        let programs = ApplyPrograms::load(&ApplyConfig {
            control: options.control.clone(),
            pacing: options.pacing,
            namespace,
            hosts: options.filter.hosts().collect(),
            ports: options.filter.ports().to_vec(),
        })?;
        Ok(Apply {
            history: History::new(options.history),
            options,
            scope,
            programs,
            begin: Instant::now(),
            guard: None,
            link: None,
            is_started: false,
            has_company,
            cost: Duration::ZERO,
            unseen: BTreeSet::new(),
            closed: 0,
        })
    }

    /// Whether another longfat was changing connections when this one was opened.
    pub fn has_company(&self) -> bool {
        self.has_company
    }

    /// How new connections are found.
    pub fn new_connections(&self) -> &NewConnections {
        self.scope.new_connections()
    }

    /// Whether connections that were not paced before will not be afterwards (Linux 6.10).
    pub fn can_end_pacing(&self) -> bool {
        self.programs.can_end_pacing()
    }

    /// Whether a connection has the wanted values.
    pub fn is_as_wanted(&self, connection: &Connection) -> bool {
        self.options.control.as_ref().is_none_or(|control| *control == connection.control)
            && self.options.pacing.is_none_or(|pacing| connection.pacing == Some(pacing.into()))
    }

    /// Time since the target was opened.
    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Waits until the next observation: [`INTERVAL`], or longer where an observation takes long.
    pub fn pause(&self, at_most: Duration) {
        sleep((self.cost * COST_SHARE).clamp(INTERVAL, MAX_INTERVAL).min(at_most));
    }

    /// Reads the target's connections, and returns them in the order of their addresses. Changes new ones
    /// where the kernel does not do so itself. `None` once the target has gone.
    ///
    /// # Errors
    /// Fails with an [`ApplyError`].
    pub fn observe(&mut self) -> Result<Option<Vec<Connection>>, ApplyError> {
        let begin = Instant::now();
        let done = self.read();
        self.cost = begin.elapsed();
        done
    }

    fn read(&mut self) -> Result<Option<Vec<Connection>>, ApplyError> {
        // Before the sockets are listed: what is changed and still exists is then in the list.
        let changed = self.programs.changed().map_err(system("reading the changed sockets"))?;
        if !self.scope.update() {
            return Ok(None);
        }
        let (mut found, mut all, mut visited) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for file in self.scope.namespaces() {
            // A namespace may end at any moment.
            let Ok(Ok(sockets)) = file.enter(|| self.sockets()) else { continue };
            visited.insert(file.inode as u32);
            all.extend(sockets.iter().map(|(sock, _)| sock.cookie));
            let chosen: Vec<_> =
                sockets.into_iter().filter(|(sock, row)| self.is_chosen(sock, row)).collect();
            if self.is_started && *self.scope.new_connections() == NewConnections::Search {
                self.change(&file, chosen.iter().map(|(sock, _)| sock.cookie))?;
            }
            found.extend(chosen);
        }
        let now = Time::from_nanos(self.begin.elapsed().as_nanos() as u64);
        self.history.add(now, found.iter().map(|(sock, _)| sock));
        self.forget_closed(&changed, &visited, &all)?;
        let connection = |(sock, row): (Sock, ListedSocket)| Connection {
            cookie: sock.cookie,
            local: sock.local,
            remote: sock.remote,
            control: sock.cc,
            pacing: row.pacing,
            is_paced: row.is_paced,
        };
        let mut found: Vec<Connection> = found.into_iter().map(connection).collect();
        found.sort_by_key(|c| (c.local, c.remote));
        Ok(Some(found))
    }

    /// Lists the sockets of the calling thread's namespace that can still send.
    fn sockets(&self) -> io::Result<Vec<(Sock, ListedSocket)>> {
        let mut all = Vec::new();
        Diag::new()?.dump(&mut all)?;
        let mut rows: BTreeMap<u64, ListedSocket> =
            self.programs.list()?.into_iter().map(|row| (row.cookie, row)).collect();
        let sends = all.into_iter().filter(|sock| SENDING.contains(&sock.state));
        Ok(sends.filter_map(|sock| rows.remove(&sock.cookie).map(|row| (sock, row))).collect())
    }

    fn is_chosen(&self, sock: &Sock, row: &ListedSocket) -> bool {
        self.scope.has(sock.inode, row.group) && self.options.filter.matches(sock.local, sock.remote)
    }

    /// Removes changed sockets that no longer exist: those that two observations did not find.
    fn forget_closed(
        &mut self,
        changed: &[ChangedSocket],
        visited: &BTreeSet<u32>,
        all: &BTreeSet<u64>,
    ) -> Result<(), ApplyError> {
        let missing = changed.iter().filter(|c| visited.contains(&c.namespace) && !all.contains(&c.cookie));
        let missing: BTreeSet<u64> = missing.map(|c| c.cookie).collect();
        for cookie in missing.intersection(&self.unseen) {
            self.programs.forget(*cookie).map_err(system("forgetting a closed socket"))?;
            self.closed += 1;
        }
        self.unseen = missing;
        Ok(())
    }

    fn change(
        &self,
        file: &NamespaceFile,
        cookies: impl Iterator<Item = u64> + Send,
    ) -> Result<(), ApplyError> {
        match file.enter(|| self.programs.change(cookies)) {
            Ok(done) => done.map_err(system("changing connections")),
            // The namespace has ended, and its connections with it.
            Err(_) => Ok(()),
        }
    }

    /// Changes the connections that exist, and each new one from now on. Returns the changed ones.
    ///
    /// Must be called on the only thread of the process: it starts the process that undoes the changes if
    /// this one is killed.
    ///
    /// # Errors
    /// Fails with an [`ApplyError`].
    pub fn start(&mut self) -> Result<Vec<ChangedSocket>, ApplyError> {
        self.guard = Some(
            Guard::start(&self.programs).map_err(system("starting the process that undoes the changes"))?,
        );
        self.is_started = true;
        // New ones first: none can be missed in between.
        if let NewConnections::Group { path, .. } = self.scope.new_connections() {
            let group = File::open(path).map_err(system(&path.display().to_string()))?;
            let link = self.programs.attach(group.as_fd());
            let link = link.map_err(system(&format!("attaching to the control group {}", path.display())))?;
            self.link = Some(link);
        }
        for file in self.scope.namespaces() {
            let Ok(Ok(sockets)) = file.enter(|| self.sockets()) else { continue };
            let chosen = sockets.iter().filter(|(sock, row)| self.is_chosen(sock, row));
            self.change(&file, chosen.map(|(sock, _)| sock.cookie).collect::<Vec<_>>().into_iter())?;
        }
        self.changed()
    }

    /// Returns the connections that are changed now. Some may have been closed a moment ago.
    ///
    /// # Errors
    /// Fails with an [`ApplyError`].
    pub fn changed(&self) -> Result<Vec<ChangedSocket>, ApplyError> {
        self.programs.changed().map_err(system("reading the changed sockets"))
    }

    /// Returns the number of changes that the kernel refused, and of connections that were left because too
    /// many are changed.
    ///
    /// # Errors
    /// Fails with an [`ApplyError`].
    pub fn failures(&self) -> Result<[u64; 2], ApplyError> {
        self.programs.failures().map_err(system("reading the counters"))
    }

    /// Returns what connections did between two moments (times since [`Apply::open`]), as far as it was
    /// observed.
    pub fn figures(&self, from: Duration, until: Duration, cookies: &BTreeSet<u64>) -> Option<Figures> {
        let time = |at: Duration| Time::from_nanos(at.as_nanos() as u64);
        self.history.figures(time(from), time(until), cookies)
    }

    /// Puts every changed connection back.
    ///
    /// # Errors
    /// Fails with an [`ApplyError`]; the other process then tries it again when this one ends.
    pub fn undo(mut self) -> Result<Undone, ApplyError> {
        // From here on new connections keep what they have.
        self.link = None;
        let mut undone = undo::undo(&self.programs, &self.scope.namespaces())
            .map_err(system("putting the connections back"))?;
        undone.closed += self.closed;
        if let Some(guard) = self.guard.take() {
            guard.release();
        }
        Ok(undone)
    }
}

/// TCP states in which data can be sent or is outstanding (net/tcp_states.h): ESTABLISHED, FIN-WAIT-1,
/// CLOSE-WAIT, LAST-ACK and CLOSING.
const SENDING: [u8; 5] = [1, 4, 8, 9, 11];

/// Checks that a socket of the calling thread's namespace can choose this congestion control. This also loads
/// its module, which the programs cannot.
fn check_control(name: &str) -> Result<(), String> {
    let tried =
        tcp_socket(false).and_then(|s| set_bytes(s.as_fd(), SocketOption::TCP_CONGESTION, name.as_bytes()));
    let Err(e) = tried else { return Ok(()) };
    let available = Kernel::now().available.join(", ");
    Err(match kernel_cc::find(name) {
        Some(_) => format!("not loaded; `longfat cc load {name}` loads it into this kernel"),
        None if e.kind() == io::ErrorKind::NotFound => {
            format!("this kernel has no such congestion control; it has {available}")
        }
        None => format!("{e}; this kernel has {available}"),
    })
}
