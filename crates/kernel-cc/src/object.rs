//! One eBPF object: its parameters set, its name set, loaded and registered.

use crate::{Error, capabilities, diagnose};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Linkage, Var};
use libbpf_rs::{AsRawLibbpf, Link, MapCore, MapType, Object, ObjectBuilder, OpenObject, PrintLevel};
use std::cell::RefCell;
use std::io;

/// A parameter of a program: a global constant that the loader may replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The variable's name in the program.
    pub name: String,
    /// Its value: the default, or what is in force.
    pub value: u64,
    /// The largest value it can have.
    pub most: u64,
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

thread_local! {
    /// What libbpf told this thread since [`listen`].
    static TOLD: RefCell<String> = const { RefCell::new(String::new()) };
}

fn tell(_: PrintLevel, text: String) {
    TOLD.with_borrow_mut(|told| told.push_str(&text));
}

/// From here on libbpf's words are kept instead of printed.
fn listen() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, tell)));
    TOLD.with_borrow_mut(String::clear);
}

fn os(e: &libbpf_rs::Error) -> io::Error {
    // Its chain ends in the system's error, if there is one.
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(e);
    while let Some(s) = source {
        if let Some(code) = s.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return io::Error::from_raw_os_error(code);
        }
        source = s.source();
    }
    io::Error::other(e.to_string())
}

/// An opened object, nothing of it in the kernel yet.
pub struct Opened {
    open: OpenObject,
    name: String,
}

/// A registered control: it stays as long as this or what it was pinned to.
#[derive(Debug)]
pub struct Registered {
    link: Link,
    object: Object,
}

impl Opened {
    /// Reads an object file. `name` is for messages.
    pub fn new(name: &str, bytes: &[u8]) -> Result<Opened, Error> {
        listen();
        let open = ObjectBuilder::default().open_memory(bytes).map_err(|e| rejected(name, &e))?;
        Ok(Opened { open, name: name.into() })
    }

    /// What can be set before it is loaded.
    pub fn parameters(&self) -> Vec<Parameter> {
        let pointer = self.open.as_libbpf_object();
        // SAFETY: the object is open as long as `self` is, and nothing changes it meanwhile.
        #[allow(unsafe_code)]
        let btf = Btf::from_bpf_object(unsafe { pointer.as_ref() });
        let constants = self.open.maps().find(|m| is_constants(&m.name().to_string_lossy()));
        let bytes = constants.as_ref().and_then(|m| m.initial_value()).unwrap_or(&[]);
        btf.ok().flatten().map_or(Vec::new(), |btf| layout(&btf, bytes))
    }

    /// Sets parameters by name.
    pub fn set(&mut self, values: &[(&str, u64)]) -> Result<(), Error> {
        let all = self.parameters();
        let wrong = |why: String| Error::Parameter { why };
        let mut map = self.open.maps_mut().find(|m| is_constants(&m.name().to_string_lossy()));
        for &(name, value) in values {
            let found = all.iter().find(|p| p.name == name).ok_or_else(|| {
                let known: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                wrong(format!("{} has no parameter `{name}`; it has: {known}", self.name))
            })?;
            if value > found.most {
                return Err(wrong(format!("{}: `{name}` is at most {}, not {value}", self.name, found.most)));
            }
            let bytes = map.as_mut().and_then(|m| m.initial_value_mut()).unwrap_or(&mut []);
            if let Some(place) = bytes.get_mut(found.offset..found.offset + found.size) {
                place.copy_from_slice(&truncated(value, found.size));
            }
        }
        Ok(())
    }

    /// Loads it and registers the control as `kernel_name`, which is the caller's to choose.
    ///
    /// # Errors
    /// [`Error::Taken`] when the kernel has that name; else what is missing or was refused.
    pub fn register(mut self, kernel_name: &str) -> Result<Registered, Error> {
        capabilities::check()?;
        self.rename(kernel_name);
        listen();
        let name = self.name;
        let mut object = self.open.load().map_err(|e| diagnose::why(rejected(&name, &e)))?;
        let link = object
            .maps_mut()
            .find(|m| m.map_type() == MapType::StructOps)
            .ok_or_else(|| Error::Kernel { why: format!("{name}: its object has no congestion control") })?
            .attach_struct_ops()
            .map_err(|e| match os(&e) {
                e if e.raw_os_error() == Some(libc::EEXIST) => Error::Taken { name: kernel_name.into() },
                _ => diagnose::why(rejected(&name, &e)),
            })?;
        Ok(Registered { link, object })
    }

    /// `name` is the first member of `struct tcp_congestion_ops` in `bpf/kernel.h`.
    fn rename(&mut self, kernel_name: &str) {
        let mut name = [0; crate::names::LONGEST + 1];
        name.iter_mut()
            .zip(kernel_name.bytes().take(crate::names::LONGEST))
            .for_each(|(to, from)| *to = from);
        let control = self.open.maps_mut().find(|m| m.map_type() == MapType::StructOps);
        if let Some(mut control) = control
            && let Some(place) = control.initial_value_mut().and_then(|v| v.first_chunk_mut())
        {
            *place = name;
        }
    }
}

/// The last part of an internal map's name, after the start of the object's: `steady.rodata`.
fn is_constants(map: &str) -> bool {
    map.ends_with(".rodata")
}

fn truncated(value: u64, size: usize) -> Vec<u8> {
    match size {
        1 => (value as u8).to_ne_bytes().to_vec(),
        2 => (value as u16).to_ne_bytes().to_vec(),
        4 => (value as u32).to_ne_bytes().to_vec(),
        _ => value.to_ne_bytes().to_vec(),
    }
}

/// The parameters that a section's types describe, with their values in `bytes`.
pub fn layout(btf: &Btf<'_>, bytes: &[u8]) -> Vec<Parameter> {
    let Some(section) = btf.type_by_name::<DataSec<'_>>(".rodata") else { return Vec::new() };
    let mut all = Vec::new();
    for entry in section.iter() {
        let Some(variable) = btf.type_by_id::<Var<'_>>(entry.ty) else { continue };
        let name = variable.name().map(|n| n.to_string_lossy().into_owned());
        let (offset, size) = (entry.offset as usize, entry.size);
        let number = matches!(size, 1 | 2 | 4 | 8);
        if let (Some(name), Linkage::Global, true) = (name, variable.linkage(), number) {
            let value = bytes.get(offset..offset + size).map_or(0, number_of);
            all.push(Parameter { name, value, most: u64::MAX >> (64 - 8 * size), offset, size });
        }
    }
    all
}

fn number_of(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        _ => bytes.first_chunk().map_or(0, |c| u64::from_ne_bytes(*c)),
    }
}

fn rejected(name: &str, e: &libbpf_rs::Error) -> Error {
    let log = TOLD.with_borrow(|told| told.trim_end().to_string());
    Error::Rejected { name: name.into(), why: os(e).to_string(), log }
}
