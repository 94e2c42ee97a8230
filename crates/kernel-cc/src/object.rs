//! One eBPF object: its parameters set, its name set, loaded and registered.

use crate::names::LONGEST;
use crate::{Error, Parameter, capabilities, diagnose};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Linkage, Var};
use libbpf_rs::{
    AsRawLibbpf, ErrorKind, Link, MapCore, MapType, Object, ObjectBuilder, OpenObject, PrintLevel,
};
use std::cell::RefCell;
use std::io;

/// What unprivileged programs may choose (net/tcp.h).
const TCP_CONG_NON_RESTRICTED: u32 = 1;

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

/// The same as an error of std: libbpf-rs does not hand out the system's own.
pub fn os(e: &libbpf_rs::Error) -> io::Error {
    let kind = match e.kind() {
        ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
        ErrorKind::AlreadyExists => io::ErrorKind::AlreadyExists,
        ErrorKind::NotFound => io::ErrorKind::NotFound,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, format!("{e:#}"))
}

/// An opened object, nothing of it in the kernel yet.
pub struct Opened {
    open: OpenObject,
    name: String,
}

/// A control in the kernel's list, for as long as the link or a pin of it is there.
#[derive(Debug)]
pub struct Registered {
    pub link: Link,
    pub object: Object,
}

/// A checked program in the kernel, not registered yet.
pub struct Ready {
    object: Object,
    name: String,
    kernel_name: String,
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
    ///
    /// # Errors
    /// [`Error::Parameter`].
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
            let (offset, size) = found.place;
            if let Some(place) = bytes.get_mut(offset..offset + size) {
                place.copy_from_slice(&truncated(value, size));
            }
        }
        Ok(())
    }

    /// Has the kernel check it. The control is going to be called `kernel_name`, which is the
    /// caller's to choose; any program may then choose it, without privileges too.
    ///
    /// # Errors
    /// What is missing or was refused.
    pub fn load(mut self, kernel_name: &str) -> Result<Ready, Error> {
        capabilities::check()?;
        self.call(kernel_name);
        listen();
        let Opened { open, name } = self;
        let object = open.load().map_err(|e| diagnose::why(rejected(&name, &e)))?;
        Ok(Ready { object, name, kernel_name: kernel_name.into() })
    }

    /// `name` and `flags` are the first members of `struct tcp_congestion_ops` in `bpf/kernel.h`.
    fn call(&mut self, kernel_name: &str) {
        let mut name = [0; LONGEST + 1];
        name.iter_mut().zip(kernel_name.bytes().take(LONGEST)).for_each(|(to, from)| *to = from);
        let control = self.open.maps_mut().find(|m| m.map_type() == MapType::StructOps);
        if let Some(mut control) = control
            && let Some((place, rest)) = control.initial_value_mut().and_then(|v| v.split_first_chunk_mut())
            && let Some(bits) = rest.first_chunk_mut()
        {
            *place = name;
            *bits = TCP_CONG_NON_RESTRICTED.to_ne_bytes();
        }
    }
}

impl Ready {
    /// Enters it into the kernel's list.
    ///
    /// # Errors
    /// [`Error::Taken`] when the list has that name.
    pub fn register(mut self) -> Result<Registered, Error> {
        listen();
        let name = &self.name;
        let mut maps = self.object.maps_mut();
        let none = || Error::Kernel { why: format!("{name}: its object has no congestion control") };
        let mut map = maps.find(|m| m.map_type() == MapType::StructOps).ok_or_else(none)?;
        let link = map.attach_struct_ops().map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => Error::Taken { name: self.kernel_name.clone() },
            _ => diagnose::why(rejected(name, &e)),
        })?;
        drop((map, maps));
        Ok(Registered { link, object: self.object })
    }
}

/// The last part of an internal map's name, after the start of the object's: `steady.rodata`.
pub fn is_constants(map: &str) -> bool {
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
            all.push(Parameter { name, value, most: u64::MAX >> (64 - 8 * size), place: (offset, size) });
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
