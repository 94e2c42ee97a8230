//! Tests objects against synthetic kernel BTFs: no privileges, no particular kernel version.

use super::btf::{self, Btf};
use super::bytes::u32;
use super::field::{self, Load, MemberPath};
use super::instruction::{CALL, Instruction, PSEUDO_CALL, SIZE};
use super::relocate::Code;
use super::{ParsedObject, interface, link, plan};
use crate::REGISTRY;
use units::Stream;

/// A BTF under construction: types are lists of words, texts are added as needed.
struct Writer {
    types: Vec<u8>,
    texts: Vec<u8>,
    count: u32,
}

impl Writer {
    fn new() -> Writer {
        Writer { types: Vec::new(), texts: vec![0], count: 0 }
    }

    /// Starts with an object's types, to add more.
    fn after(object: &ParsedObject<'_>) -> Writer {
        let blob = object.elf.data(".BTF").expect("valid BTF");
        let len = u32(blob, 12).expect("a header") as usize;
        let count = (1..).find(|n| object.types.get(*n).is_none()).expect("a last type") - 1;
        Writer { types: blob[24..24 + len].to_vec(), texts: object.types.texts.to_vec(), count }
    }

    fn text(&mut self, text: &str) -> u32 {
        let at = self.texts.len() as u32;
        self.texts.extend(text.bytes().chain([0]));
        if text.is_empty() { 0 } else { at }
    }

    fn add(&mut self, name: &str, info: u32, rest: &[u32]) -> u32 {
        let words = [&[self.text(name), info][..], rest].concat();
        self.types.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.count += 1;
        self.count
    }

    fn number(&mut self, name: &str, bytes: u32) -> u32 {
        self.add(name, u32::from(btf::INT) << 24, &[bytes, 8 * bytes])
    }

    /// Adds a struct; each member has a name, a type and an offset in bits, with the width of a bit field in
    /// the upper byte.
    fn record(&mut self, kind: u8, name: &str, bytes: u32, members: &[(&str, u32, u32)]) -> u32 {
        let mut rest = vec![bytes];
        for (name, of, place) in members {
            let name = self.text(name);
            rest.extend([name, *of, *place]);
        }
        self.add(name, 1 << 31 | u32::from(kind) << 24 | members.len() as u32, &rest)
    }

    fn bytes(&self) -> Vec<u8> {
        let (types, texts) = (self.types.len() as u32, self.texts.len() as u32);
        let head = [0x0001_eb9f, 24, 0, types, types, texts];
        let head = head.iter().flat_map(|word| word.to_le_bytes());
        head.chain(self.types.iter().copied()).chain(self.texts.iter().copied()).collect()
    }
}

/// Builds the BTF of a kernel with the object's own structs, and the one that wraps a control.
fn kernel_of(object: &ParsedObject<'_>) -> Vec<u8> {
    let mut writer = Writer::after(object);
    let control = object.types.find("tcp_congestion_ops", btf::STRUCT).expect("struct tcp_congestion_ops");
    let size = object.types.size(control).expect("a size") as u32;
    let count = writer.number("refcount", 4);
    let members = [("common", count, 0), ("data", control, 512)];
    writer.record(btf::STRUCT, "bpf_struct_ops_tcp_congestion_ops", 64 + size, &members);
    writer.bytes()
}

fn every_object(test: impl Fn(&str, &ParsedObject<'_>, &Btf<'_>)) {
    for entry in REGISTRY {
        let object = ParsedObject::new(entry.name, entry.object).expect(entry.name);
        let kernel = kernel_of(&object);
        test(entry.name, &object, &Btf::read(&kernel).expect("valid BTF"));
    }
}

#[test]
fn a_kernel_with_the_objects_own_structs_changes_no_instruction() {
    every_object(|name, object, kernel| {
        let code = Code::new(object, kernel, 7).expect(name);
        assert_eq!(code.missing_members, [""; 0], "{name}");
        let (mut same, mut reads) = (0, 0);
        for access in &object.ext.accesses {
            let before = &object.elf.sections[access.section].data[access.at..][..SIZE];
            same += usize::from(code.sections[access.section][access.at..][..SIZE] == *before);
            reads += 1;
        }
        assert!(same == reads && reads > 10, "{name}: {same} of {reads}");
    });
}

#[test]
fn every_operation_has_its_program_and_its_slot() {
    every_object(|name, object, kernel| {
        let plan = plan(object, kernel, "given_name").expect(name);
        let code = Code::new(object, kernel, 7).expect(name);
        assert!(plan.value[64..].starts_with(b"given_name\0\0\0\0\0\0\x01\0\0\0"), "{name}");
        let control = kernel.get(plan.control).expect("struct tcp_congestion_ops");
        for operation in &plan.operations {
            let member = kernel.members(&control).nth(operation.member as usize).expect("a member");
            assert_eq!(
                (member.name, operation.slot),
                (operation.name.as_str(), 64 + member.bits as usize / 8)
            );
            let mut program = link(object, &code, operation.function).expect(name);
            assert!(ends_function(program.code[program.code.len() - SIZE]), "{name}");
            assert_eq!(u32(&program.lines, 0), Some(0), "{name} has a line for its first instruction");
            check_calls(&mut program.code);
        }
    });
}

/// Whether a function may end with this code: `exit`, or a jump within the function.
fn ends_function(code: u8) -> bool {
    matches!(code, 0x95 | 0x05)
}

/// Checks that calls within a program lead to the start of a function, directly after the end of another.
fn check_calls(program: &mut [u8]) {
    for at in (0..program.len()).step_by(SIZE) {
        let call = Instruction::at(program, at).expect("an instruction");
        if call.code() == CALL && call.source() == PSEUDO_CALL {
            let target = (at + SIZE).wrapping_add_signed(call.number() as i32 as isize * SIZE as isize);
            assert!(ends_function(program[target - SIZE]));
        }
    }
}

#[test]
fn called_functions_are_linked() {
    every_object(|name, object, kernel| {
        let code = Code::new(object, kernel, 7).expect(name);
        let operations = plan(object, kernel, name).expect(name).operations;
        let calling = operations.iter().filter(|o| code.calls.keys().any(|(s, _)| *s == o.function.0));
        let mut longer = 0;
        for operation in calling.clone() {
            let alone = object.elf.sections[operation.function.0].data.len();
            longer += usize::from(link(object, &code, operation.function).expect(name).code.len() > alone);
        }
        assert_eq!(longer, calling.count(), "{name}");
        assert_eq!(longer > 0, name == "bbr-hsr");
    });
}

#[test]
fn parameters_have_defaults_and_can_be_set() {
    let entry = crate::find("bbr-hsr").expect("the control is in the registry");
    let mut object = ParsedObject::new(entry.name, entry.object).expect("an object");
    let values =
        |o: &ParsedObject<'_>| o.parameters().iter().map(|p| (p.name.clone(), p.value)).collect::<Vec<_>>();
    let defaults = [128, 50_000, 1_000_000, 80_000, 0];
    let names = ["hsr_alpha", "hsr_T_us", "hsr_T1_us", "hsr_T2_us", "hsr_bw_rec"];
    assert_eq!(values(&object), names.map(String::from).into_iter().zip(defaults).collect::<Vec<_>>());
    object.set(&[("hsr_T_us", 60_000), ("hsr_bw_rec", u64::MAX)]).expect("parameters");
    assert_eq!(
        values(&object).iter().map(|(_, v)| *v).collect::<Vec<_>>(),
        [128, 60_000, 1_000_000, 80_000, u64::MAX]
    );
    // The BTF for the kernel describes the same parameters.
    let parameters = object.parameters();
    let info = super::describe(object.texts(), object.constants.len(), &parameters);
    assert_eq!(super::described(&Btf::read(&info.bytes).expect("valid BTF"), &object.constants), parameters);
}

/// Returns the value for instructions that access the member `path` of the struct `s` of `ours`.
fn value_of(ours: &Writer, kernel: &Writer, path: &str, what: u32) -> Option<(u64, Load)> {
    let (ours, kernel) = (ours.bytes(), kernel.bytes());
    let (ours, kernel) = (Btf::read(&ours).expect("valid BTF"), Btf::read(&kernel).expect("valid BTF"));
    let path =
        MemberPath::read(&ours, ours.find("s", btf::STRUCT).expect("a struct"), path).expect("a member path");
    let found = path.candidates(&kernel);
    field::field_value(&path, &ours, &kernel, &found, what).map(|value| (value.value, value.load))
}

const OFFSET: u32 = 0;
const EXISTS: u32 = 2;

#[test]
fn members_are_found_by_name_at_any_offset() {
    let (mut ours, mut kernel) = (Writer::new(), Writer::new());
    let u4 = ours.number("unsigned int", 4);
    let s4 = ours.add("int", u32::from(btf::INT) << 24, &[4, 1 << 24 | 32]);
    let all = ["moved", "inside", "grown", "gone", "other"];
    let members: Vec<_> = all.iter().zip(0..).map(|(name, n)| (*name, u4, 32 * n)).collect();
    ours.record(btf::STRUCT, "s", 24, &[&members[..], &[("signed", s4, 160)]].concat());

    let (k4, k8) = (kernel.number("unsigned int", 4), kernel.number("unsigned long", 8));
    let small = kernel.record(btf::STRUCT, "point", 8, &[("x", k4, 0), ("y", k4, 32)]);
    let inner = kernel.record(btf::STRUCT, "", 8, &[("a", k4, 0), ("inside", k4, 32)]);
    let union = kernel.record(btf::UNION, "", 8, &[("u", k8, 0), ("", inner, 0)]);
    let members =
        [("moved", k4, 96), ("", union, 128), ("grown", k8, 192), ("other", small, 256), ("signed", k8, 320)];
    kernel.record(btf::STRUCT, "s", 48, &members);

    assert_eq!(value_of(&ours, &kernel, "0:0", OFFSET), Some((12, Load::AsIs)));
    assert_eq!(value_of(&ours, &kernel, "0:1", OFFSET), Some((20, Load::AsIs)));
    assert_eq!(value_of(&ours, &kernel, "0:2", OFFSET), Some((24, Load::Resized(8))));
    assert_eq!(value_of(&ours, &kernel, "0:3", OFFSET), None);
    assert_eq!(value_of(&ours, &kernel, "0:3", EXISTS), Some((0, Load::AsIs)));
    assert_eq!(value_of(&ours, &kernel, "0:0", EXISTS), Some((1, Load::AsIs)));
    // A member of another kind with the same name does not match.
    assert_eq!(value_of(&ours, &kernel, "0:4", OFFSET), None);
    // Sign extension into more bytes is not supported.
    assert_eq!(value_of(&ours, &kernel, "0:5", OFFSET), Some((40, Load::Impossible)));
}

#[test]
fn bit_fields_are_loaded_and_shifted_by_the_kernels_layout() {
    let (mut ours, mut kernel) = (Writer::new(), Writer::new());
    let u1 = ours.number("unsigned char", 1);
    ours.record(btf::STRUCT, "s", 1, &[("bit", u1, 1 << 24)]);
    let (k1, k4) = (kernel.number("unsigned char", 1), kernel.number("unsigned int", 4));
    kernel.record(btf::STRUCT, "s", 16, &[("x", k4, 0), ("bit", k1, 2 << 24 | 77)]);
    // Bits 77 and 78 are bits 5 and 6 of byte 9: shift left by 57, then right by 62.
    let values = [0, 4, 5].map(|what| value_of(&ours, &kernel, "0:0", what).map(|(value, _)| value));
    assert_eq!(values, [Some(9), Some(57), Some(62)]);
    // A field of 30 bits at bit 30 fits in 64 bits only.
    let mut kernel = Writer::new();
    let k4 = kernel.number("unsigned int", 4);
    kernel.record(btf::STRUCT, "s", 16, &[("bit", k4, 30 << 24 | 30)]);
    let values = [0, 1, 4, 5].map(|what| value_of(&ours, &kernel, "0:0", what).map(|(value, _)| value));
    assert_eq!(values, [Some(0), Some(8), Some(4), Some(34)]);
}

#[test]
fn missing_kernel_members_are_named_and_made_unreachable() {
    let entry = crate::find("westwood").expect("the control is in the registry");
    let object = ParsedObject::new(entry.name, entry.object).expect("an object");
    let mut bytes = kernel_of(&object);
    let at = bytes.windows(10).position(|w| w == b"mss_cache\0").expect("a name");
    bytes[at] = b'M';
    let kernel = Btf::read(&bytes).expect("valid BTF");
    let code = Code::new(&object, &kernel, 7).expect("the kernel has every other type");
    assert_eq!(code.missing_members, ["tcp_sock.mss_cache"]);
    let forbidden = object.ext.accesses.iter().filter(|access| {
        let instruction = &code.sections[access.section][access.at..][..SIZE];
        instruction == [CALL, 0, 0, 0, 0x10, 0x23, 0xad, 0x0b]
    });
    assert!(forbidden.count() > 0);

    let at = bytes.windows(18).position(|w| w == b"tcp_reno_ssthresh\0").expect("a name");
    bytes[at] = b'T';
    let e =
        Code::new(&object, &Btf::read(&bytes).expect("valid BTF"), 7).err().expect("an error").to_string();
    assert!(e.contains("no function tcp_reno_"), "{e}");
}

/// Damaged objects are rejected or parsed as something else; nothing panics.
#[test]
fn damaged_objects_cause_errors() {
    let mut refused = 0;
    for entry in REGISTRY {
        let whole = ParsedObject::new(entry.name, entry.object).expect(entry.name);
        let kernel = kernel_of(&whole);
        let kernel = Btf::read(&kernel).expect("valid BTF");
        let mut stream = Stream::new(1, entry.name);
        for round in 0..400 {
            let mut bytes = entry.object.to_vec();
            for _ in 0..=round % 8 {
                let at = stream.below(bytes.len() as u64) as usize;
                bytes[at] = stream.bits() as u8;
            }
            if round % 16 == 0 {
                bytes.truncate(stream.below(bytes.len() as u64) as usize);
            }
            refused += usize::from(load_damaged(&bytes, &kernel).is_none());
        }
    }
    assert!(refused > 100, "{refused}");
}

fn load_damaged(bytes: &[u8], kernel: &Btf<'_>) -> Option<()> {
    let mut object = ParsedObject::new("damaged", bytes).ok()?;
    let names: Vec<String> = object.parameters().into_iter().map(|p| p.name).collect();
    names.iter().for_each(|name| drop(object.set(&[(name, 1)])));
    let info = super::describe(object.texts(), object.constants.len(), &object.parameters());
    super::described(&Btf::read(&info.bytes)?, &object.constants);
    interface(&object);
    let plan = plan(&object, kernel, "damaged").ok()?;
    let code = Code::new(&object, kernel, 7).ok()?;
    plan.operations.iter().try_for_each(|o| link(&object, &code, o.function).map(drop)).ok()
}
