//! Finds members of the kernel's structs by name in the running kernel's BTF: the part of CO-RE ("compile
//! once, run everywhere") that congestion controls need. Only member accesses and existence checks are
//! supported, not sizes and ids of types or enumerations, which `bpf/kernel.h` does not use.

use super::btf::{ARRAY, Btf, STRUCT, Type, UNION, is_equivalent};

/// Properties of a member (`enum bpf_core_relo_kind`, linux/bpf.h).
const OFFSET: u32 = 0;
const SIZE: u32 = 1;
const EXISTS: u32 = 2;
const IS_SIGNED: u32 = 3;
const SHIFT_LEFT: u32 = 4;
const SHIFT_RIGHT: u32 = 5;

/// Maximum nesting of anonymous structs.
const MAX_NESTING: usize = 8;

/// One step of the path from a struct to a member.
enum MemberStep<'a> {
    Named(&'a str),
    Element(u32),
}

/// The path to a member, by names.
pub struct MemberPath<'a> {
    /// The struct's name.
    pub root: &'a str,
    kind: u8,
    /// Index of the struct in an array of structs; 0 for a pointer to one.
    first: u32,
    steps: Vec<MemberStep<'a>>,
    /// The member in the object's own types.
    pub own_place: MemberPlace,
}

/// Position of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberPlace {
    /// Offset in the struct, bits.
    bits: u64,
    /// Width of a bit field, otherwise 0.
    width: u32,
    of: u32,
}

/// The value for an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldValue {
    pub value: u64,
    pub load: Load,
}

/// How an instruction that loads or stores the member must change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// No change: the sizes agree.
    AsIs,
    /// The member has this many bytes in the kernel.
    Resized(u64),
    /// The member has an incompatible type in the kernel.
    Impossible,
}

impl<'a> MemberPath<'a> {
    /// Parses a path of indices, `0:3:1`, in the object's types.
    pub fn read(types: &Btf<'a>, root: u32, path: &str) -> Option<MemberPath<'a>> {
        let mut numbers = path.split(':').map(|n| n.parse::<u32>().ok());
        let first = numbers.next()??;
        let (number, whole) = types.resolved(root)?;
        let mut path = MemberPath {
            root: types.name(&whole).split("___").next()?,
            kind: whole.kind,
            first,
            steps: Vec::new(),
            own_place: MemberPlace { bits: start(types, number, first)?, width: 0, of: number },
        };
        for n in numbers {
            let (_, now) = types.resolved(path.own_place.of)?;
            path.own_place = match now.kind {
                STRUCT | UNION => {
                    let member = types.members(&now).nth(n? as usize)?;
                    if !member.name.is_empty() {
                        path.steps.push(MemberStep::Named(member.name));
                    }
                    path.own_place.within(member.bits, member.width, member.of)?
                }
                _ => {
                    path.steps.push(MemberStep::Element(n?));
                    path.own_place.element(types, &now, n?)?
                }
            };
        }
        Some(path)
    }

    /// Returns the kernel's structs that may match.
    pub fn candidates(&self, kernel: &Btf<'_>) -> Vec<u32> {
        kernel.all(self.root, self.kind).collect()
    }

    /// Follows the path in the kernel's types, from one of the candidates.
    pub fn follow(&self, types: &Btf<'_>, kernel: &Btf<'_>, root: u32) -> Option<MemberPlace> {
        let mut place = MemberPlace { bits: start(kernel, root, self.first)?, width: 0, of: root };
        for step in &self.steps {
            let (_, now) = kernel.resolved(place.of)?;
            place = match step {
                MemberStep::Named(name) => {
                    let found = member(kernel, &now, name, MAX_NESTING)?;
                    place.within(found.bits, found.width, found.of)?
                }
                MemberStep::Element(n) => place.element(kernel, &now, *n)?,
            };
        }
        let kinds = (types.resolved(self.own_place.of)?.1.kind, kernel.resolved(place.of)?.1.kind);
        is_equivalent(kinds.0, kinds.1).then_some(place)
    }
}

/// Displayed in messages as `tcp_sock.rtt_min.s[0].v`.
impl std::fmt::Display for MemberPath<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.root)?;
        self.steps.iter().try_for_each(|step| match step {
            MemberStep::Named(name) => write!(f, ".{name}"),
            MemberStep::Element(n) => write!(f, "[{n}]"),
        })
    }
}

/// Returns the offset in bits of element `first` in an array of this type.
fn start(types: &Btf<'_>, of: u32, first: u32) -> Option<u64> {
    if first == 0 { Some(0) } else { types.size(of)?.checked_mul(8)?.checked_mul(first.into()) }
}

/// Finds a member by name, also inside anonymous structs and unions.
fn member(types: &Btf<'_>, of: &Type<'_>, name: &str, deepest: usize) -> Option<MemberPlace> {
    let deeper = deepest.checked_sub(1)?;
    types.members(of).find_map(|m| {
        let here = MemberPlace { bits: m.bits, width: m.width, of: m.of };
        if m.name == name {
            return Some(here);
        }
        if !m.name.is_empty() {
            return None;
        }
        let (_, inner) = types.resolved(m.of)?;
        let found = member(types, &inner, name, deeper)?;
        here.within(found.bits, found.width, found.of)
    })
}

impl MemberPlace {
    fn within(self, bits: u64, width: u32, of: u32) -> Option<MemberPlace> {
        Some(MemberPlace { bits: self.bits.checked_add(bits)?, width, of })
    }

    fn element(self, types: &Btf<'_>, array: &Type<'_>, n: u32) -> Option<MemberPlace> {
        let (of, count) = types.elements(array)?;
        if array.kind != ARRAY || n >= count {
            return None;
        }
        self.within(types.size(of)?.checked_mul(8)?.checked_mul(n.into())?, 0, of)
    }

    /// Returns offset and number of the bytes to load. A bit field may cross its own type's bytes.
    fn bytes(&self, types: &Btf<'_>) -> Option<(u64, u64)> {
        let size = types.size(self.of)?;
        if self.width == 0 {
            return Some((self.bits / 8, size));
        }
        let end = self.bits.checked_add(self.width.into())?;
        let fits = |size: u64| (self.bits / 8 / size * size, size);
        let mut sizes = [1, 2, 4, 8].into_iter().filter(|s| *s >= size).map(fits);
        sizes.find(|(start, size)| end <= (start + size) * 8)
    }

    /// Returns the property `what` of this member; `None` for unsupported properties.
    pub fn property(&self, types: &Btf<'_>, what: u32) -> Option<u64> {
        let (start, size) = self.bytes(types)?;
        let width = if self.width == 0 { size.checked_mul(8)? } else { self.width.into() };
        match what {
            OFFSET => Some(start),
            SIZE => Some(size),
            EXISTS => Some(1),
            IS_SIGNED => Some(u64::from(!types.is_unsigned(self.of))),
            // Shifts within a 64-bit register, little-endian.
            SHIFT_LEFT => 64u64.checked_sub((self.bits - start * 8).checked_add(width)?),
            SHIFT_RIGHT => 64u64.checked_sub(width),
            _ => None,
        }
    }
}

/// Returns the value for an instruction on the running kernel; `None` if the kernel has no such member.
pub fn field_value(
    path: &MemberPath<'_>,
    types: &Btf<'_>,
    kernel: &Btf<'_>,
    roots: &[u32],
    what: u32,
) -> Option<FieldValue> {
    let mut found = roots.iter().filter_map(|&root| {
        let place = path.follow(types, kernel, root)?;
        Some(FieldValue { value: place.property(kernel, what)?, load: load(path, types, kernel, place) })
    });
    let first = found.next();
    if found.any(|other| Some(other) != first) {
        return None; // structs of the same name disagree
    }
    let absent = FieldValue { value: 0, load: Load::AsIs };
    first.or((what == EXISTS).then_some(absent))
}

/// Decides how an access must change. Bit fields keep the object's access size; unsigned integers may have
/// another size in the kernel.
fn load(path: &MemberPath<'_>, types: &Btf<'_>, kernel: &Btf<'_>, place: MemberPlace) -> Load {
    let (own_size, kernel_size) = (types.size(path.own_place.of), kernel.size(place.of));
    let is_bits = place.width > 0 || path.own_place.width > 0;
    match kernel_size {
        _ if is_bits || own_size == kernel_size => Load::AsIs,
        Some(size) if types.is_unsigned(path.own_place.of) && kernel.is_unsigned(place.of) => {
            Load::Resized(size)
        }
        _ => Load::Impossible,
    }
}

/// Returns the value that an instruction of the object must contain, if it is known: an offset.
pub fn expected_value(path: &MemberPath<'_>, types: &Btf<'_>, what: u32) -> Option<u64> {
    if what == OFFSET && path.own_place.width == 0 { path.own_place.property(types, what) } else { None }
}
