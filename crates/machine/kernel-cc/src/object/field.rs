//! Members of the kernel's structs, found by name in the types of the running kernel: the part of CO-RE
//! ("compile once, run everywhere") that congestion controls need. Only reads and existence of members are
//! known here, not sizes and numbers of types and of enumerations: `bpf/kernel.h` has no use for them.

use super::btf::{ARRAY, Btf, STRUCT, Type, UNION, alike};

/// What may be asked of a member (`enum bpf_core_relo_kind`, linux/bpf.h).
const OFFSET: u32 = 0;
const SIZE: u32 = 1;
const EXISTS: u32 = 2;
const IS_SIGNED: u32 = 3;
const SHIFT_LEFT: u32 = 4;
const SHIFT_RIGHT: u32 = 5;

/// How deep anonymous structs may lie in each other.
const DEEPEST: usize = 8;

/// One step from a struct to a member.
enum MemberStep<'a> {
    Named(&'a str),
    Element(u32),
}

/// The way to a member, by names.
pub struct MemberPath<'a> {
    /// The struct's name.
    pub root: &'a str,
    kind: u8,
    /// Which of several structs that follow each other; 0 behind a pointer to one.
    first: u32,
    steps: Vec<MemberStep<'a>>,
    /// Where it leads in the object's own types.
    pub there: MemberPlace,
}

/// Where a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberPlace {
    /// From the start of the struct, bits.
    bits: u64,
    /// Of a bit field; else 0.
    width: u32,
    of: u32,
}

/// What an instruction gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub value: u64,
    pub load: Load,
}

/// What becomes of an instruction that loads or stores the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// It has the right size.
    AsIs,
    /// The member has so many bytes here.
    Resized(u64),
    /// The member is something else here.
    Impossible,
}

impl<'a> MemberPath<'a> {
    /// Reads a way of indices, `0:3:1`, in the object's types.
    pub fn read(types: &Btf<'a>, root: u32, path: &str) -> Option<MemberPath<'a>> {
        let mut numbers = path.split(':').map(|n| n.parse::<u32>().ok());
        let first = numbers.next()??;
        let (number, whole) = types.plain(root)?;
        let mut way = MemberPath {
            root: types.name(&whole).split("___").next()?,
            kind: whole.kind,
            first,
            steps: Vec::new(),
            there: MemberPlace { bits: start(types, number, first)?, width: 0, of: number },
        };
        for n in numbers {
            let (_, now) = types.plain(way.there.of)?;
            way.there = match now.kind {
                STRUCT | UNION => {
                    let member = types.members(&now).nth(n? as usize)?;
                    if !member.name.is_empty() {
                        way.steps.push(MemberStep::Named(member.name));
                    }
                    way.there.within(member.bits, member.width, member.of)?
                }
                _ => {
                    way.steps.push(MemberStep::Element(n?));
                    way.there.element(types, &now, n?)?
                }
            };
        }
        Some(way)
    }

    /// The structs of the kernel that this may be.
    pub fn candidates(&self, kernel: &Btf<'_>) -> Vec<u32> {
        kernel.all(self.root, self.kind).collect()
    }

    /// The same way in the kernel's types, from one of the candidates.
    pub fn follow(&self, types: &Btf<'_>, kernel: &Btf<'_>, root: u32) -> Option<MemberPlace> {
        let mut place = MemberPlace { bits: start(kernel, root, self.first)?, width: 0, of: root };
        for step in &self.steps {
            let (_, now) = kernel.plain(place.of)?;
            place = match step {
                MemberStep::Named(name) => {
                    let found = member(kernel, &now, name, DEEPEST)?;
                    place.within(found.bits, found.width, found.of)?
                }
                MemberStep::Element(n) => place.element(kernel, &now, *n)?,
            };
        }
        let kinds = (types.plain(self.there.of)?.1.kind, kernel.plain(place.of)?.1.kind);
        alike(kinds.0, kinds.1).then_some(place)
    }
}

/// For messages: `tcp_sock.rtt_min.s[0].v`.
impl std::fmt::Display for MemberPath<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.root)?;
        self.steps.iter().try_for_each(|step| match step {
            MemberStep::Named(name) => write!(f, ".{name}"),
            MemberStep::Element(n) => write!(f, "[{n}]"),
        })
    }
}

/// Bits before the `first`-th of several such types.
fn start(types: &Btf<'_>, of: u32, first: u32) -> Option<u64> {
    if first == 0 { Some(0) } else { types.size(of)?.checked_mul(8)?.checked_mul(first.into()) }
}

/// A member by its name, also where it lies in an anonymous struct or union.
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
        let (_, inner) = types.plain(m.of)?;
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

    /// The bytes to load for it: where and how many. A bit field may lie across its own type's bytes.
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

    /// What an instruction gets that asks for `what` of this member; `None` for questions not known here.
    pub fn tell(&self, types: &Btf<'_>, what: u32) -> Option<u64> {
        let (start, size) = self.bytes(types)?;
        let width = if self.width == 0 { size.checked_mul(8)? } else { self.width.into() };
        match what {
            OFFSET => Some(start),
            SIZE => Some(size),
            EXISTS => Some(1),
            IS_SIGNED => Some(u64::from(!types.is_unsigned(self.of))),
            // Of 64 bits that are loaded, little-endian.
            SHIFT_LEFT => 64u64.checked_sub((self.bits - start * 8).checked_add(width)?),
            SHIFT_RIGHT => 64u64.checked_sub(width),
            _ => None,
        }
    }
}

/// What an instruction gets of the running kernel; `None` if the kernel has no such member.
pub fn answer(
    way: &MemberPath<'_>,
    types: &Btf<'_>,
    kernel: &Btf<'_>,
    roots: &[u32],
    what: u32,
) -> Option<Answer> {
    let mut found = roots.iter().filter_map(|&root| {
        let place = way.follow(types, kernel, root)?;
        Some(Answer { value: place.tell(kernel, what)?, load: load(way, types, kernel, place) })
    });
    let first = found.next();
    if found.any(|other| Some(other) != first) {
        return None; // structs of one name that differ in this
    }
    let absent = Answer { value: 0, load: Load::AsIs };
    first.or((what == EXISTS).then_some(absent))
}

/// A bit field is loaded as the object asks. Numbers without a sign may have another size than the object's.
fn load(way: &MemberPath<'_>, types: &Btf<'_>, kernel: &Btf<'_>, place: MemberPlace) -> Load {
    let (ours, its) = (types.size(way.there.of), kernel.size(place.of));
    let is_bits = place.width > 0 || way.there.width > 0;
    match its {
        _ if is_bits || ours == its => Load::AsIs,
        Some(size) if types.is_unsigned(way.there.of) && kernel.is_unsigned(place.of) => Load::Resized(size),
        _ => Load::Impossible,
    }
}

/// The number that an instruction of the object has before, where it is known: an offset.
pub fn before(way: &MemberPath<'_>, types: &Btf<'_>, what: u32) -> Option<u64> {
    if what == OFFSET && way.there.width == 0 { way.there.tell(types, what) } else { None }
}
