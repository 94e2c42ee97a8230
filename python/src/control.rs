//! Congestion controls written in Python: [`PyControl`] forwards the transport's calls and applies the
//! changes.
//!
//! | Python | [`Controller`] |
//! |---|---|
//! | `init(socket, window)` | `init` |
//! | `on_ack(socket, window, ack)` | `cong_avoid`, or with `owns_window` `cong_control` |
//! | `on_loss(socket, window)` returns the slow-start threshold | `ssthresh` |
//! | `on_timeout(socket, window)` | `cwnd_event` of a timeout |
//! | `on_recovered(socket, window)` | `cwnd_event` of a reduction's end |
//!
//! Methods that a class does not define are not called. An exception ends the run: see [`ControlFault`].

use crate::view::{AckView, SocketView, WindowView};
use congestion::{Controller, Event, RateSample, Socket, Window};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use units::Span;

/// The first exception raised by a control.
#[derive(Clone, Default)]
pub struct ControlFault(Arc<Mutex<Option<PyErr>>>);

impl ControlFault {
    /// Stores the exception if it is the first.
    pub fn set(&self, e: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
    }

    /// Takes the exception.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Interns a control's name for the life of the program; there are as many names as classes.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into());
    names.insert(name);
    name
}

/// Which methods a class defines.
#[derive(Clone, Copy)]
struct Defined {
    init: bool,
    on_ack: bool,
    on_loss: bool,
    on_timeout: bool,
    on_recovered: bool,
}

/// A control: an object of the caller's class.
pub struct PyControl {
    object: Py<PyAny>,
    name: &'static str,
    owns_window: bool,
    defined: Defined,
    socket: Py<SocketView>,
    window: Py<WindowView>,
    ack: Py<AckView>,
    last_rtt: Option<Span>,
    fault: ControlFault,
    broken: bool,
}

impl PyControl {
    /// Creates the object by calling `factory` without arguments.
    pub fn make(py: Python<'_>, factory: &Py<PyAny>, fault: &ControlFault) -> PyResult<PyControl> {
        let object = factory.call0(py)?.into_bound(py);
        let defines = |name: &str| object.hasattr(name);
        let defined = Defined {
            init: defines("init")?,
            on_ack: defines("on_ack")?,
            on_loss: defines("on_loss")?,
            on_timeout: defines("on_timeout")?,
            on_recovered: defines("on_recovered")?,
        };
        let name = match object.getattr_opt("name")? {
            Some(name) => name.extract::<String>()?,
            None => object.get_type().name()?.to_string(),
        };
        let owns = object.getattr_opt("owns_window")?;
        Ok(PyControl {
            name: interned(&name),
            owns_window: owns.map_or(Ok(false), |owns| owns.extract())?,
            defined,
            socket: Py::new(py, SocketView(Socket::default()))?,
            window: Py::new(py, WindowView(Window::new(10)))?,
            ack: Py::new(py, AckView::default())?,
            last_rtt: None,
            fault: fault.clone(),
            broken: false,
            object: object.unbind(),
        })
    }

    /// Calls a method with the socket, the window and, if given, an ACK. Returns what `read` makes of its
    /// result.
    fn call<R>(
        &mut self,
        s: &Socket,
        w: &mut Window,
        ack: Option<AckView>,
        name: impl FnOnce(Python<'_>) -> &Bound<'_, PyString>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Option<R> {
        if self.broken {
            return None;
        }
        let done = Python::attach(|py| {
            self.socket.bind(py).borrow_mut().0.clone_from(s);
            self.window.bind(py).borrow_mut().0.clone_from(w);
            let (object, name) = (self.object.bind(py), name(py));
            let given = match ack {
                Some(ack) => {
                    *self.ack.bind(py).borrow_mut() = ack;
                    object.call_method1(name, (&self.socket, &self.window, &self.ack))?
                }
                None => object.call_method1(name, (&self.socket, &self.window))?,
            };
            self.window.bind(py).borrow().write_to(w);
            read(&given)
        });
        match done {
            Ok(given) => Some(given),
            Err(e) => {
                self.broken = true;
                self.fault.set(e);
                None
            }
        }
    }
}

impl Controller for PyControl {
    fn name(&self) -> &'static str {
        self.name
    }

    fn init(&mut self, s: &Socket, w: &mut Window) {
        if self.defined.init {
            self.call(s, w, None, |py| intern!(py, "init"), |_| Ok(()));
        }
    }

    fn ssthresh(&mut self, s: &Socket, w: &mut Window) -> u32 {
        let half = (w.cwnd / 2).max(2);
        if !self.defined.on_loss {
            return if self.owns_window { w.cwnd } else { half };
        }
        let read = |given: &Bound<'_, PyAny>| -> PyResult<Option<f64>> { given.extract() };
        let given = self.call(s, w, None, |py| intern!(py, "on_loss"), read);
        given.flatten().map_or(half, |packets| packets.clamp(2.0, f64::from(u32::MAX)) as u32)
    }

    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        if self.defined.on_ack {
            let ack = AckView { acked, rtt: self.last_rtt, ..AckView::default() };
            self.call(s, w, Some(ack), |py| intern!(py, "on_ack"), |_| Ok(()));
        }
    }

    fn owns_window(&self) -> bool {
        self.owns_window
    }

    fn cong_control(&mut self, s: &Socket, w: &mut Window, rs: &RateSample) {
        if self.defined.on_ack {
            let delivered = rs.delivered.filter(|_| !rs.interval.is_zero());
            let ack = AckView {
                acked: rs.acked_sacked,
                rtt: rs.rtt,
                lost: rs.losses,
                delivery: delivered.map(|packets| (packets, rs.interval)),
                ece: rs.ece,
            };
            self.call(s, w, Some(ack), |py| intern!(py, "on_ack"), |_| Ok(()));
        }
    }

    fn pkts_acked(&mut self, _: &Socket, _: &mut Window, rtt: Option<Span>, _: u32) {
        self.last_rtt = rtt;
    }

    fn cwnd_event(&mut self, s: &Socket, w: &mut Window, event: Event) {
        match event {
            Event::Loss if self.defined.on_timeout => {
                self.call(s, w, None, |py| intern!(py, "on_timeout"), |_| Ok(()));
            }
            Event::CompleteCwr if self.defined.on_recovered => {
                self.call(s, w, None, |py| intern!(py, "on_recovered"), |_| Ok(()));
            }
            _ => {}
        }
    }
}
