//! One eBPF instruction of eight bytes (RFC 9669 section 3): code, registers, offset, immediate.

use super::bytes::{u16, u32};

/// Size of an instruction, bytes.
pub const SIZE: usize = 8;

/// `call`.
pub const CALL: u8 = 0x85;
/// `lddw`: loads a 64-bit immediate, in two instructions.
pub const LOAD_64: u8 = 0x18;

/// Source register of a call to another function of the program (linux/bpf.h).
pub const PSEUDO_CALL: u8 = 1;
/// Source register of a call to a kernel function.
pub const PSEUDO_KFUNC_CALL: u8 = 2;
/// Source register of a `lddw` of a map.
pub const PSEUDO_MAP_FD: u8 = 1;
/// Source register of a `lddw` of an address in a map's value.
pub const PSEUDO_MAP_VALUE: u8 = 2;

/// Instruction classes, the lowest three bits of the code.
const LDX: u8 = 1;
const ST: u8 = 2;
const STX: u8 = 3;
const ALU: u8 = 4;
const ALU64: u8 = 7;
/// Flag: the second operand is a register.
const BY_REGISTER: u8 = 8;

/// Number of a helper that no kernel has, for code that must be unreachable. libbpf uses the same number,
/// which tools recognise.
const NO_HELPER: u32 = 0x0bad_2310;

/// An instruction inside its code.
pub struct Instruction<'a>(&'a mut [u8]);

impl<'a> Instruction<'a> {
    /// Returns the instruction at an offset, with the code after it.
    pub fn at(code: &'a mut [u8], at: usize) -> Option<Instruction<'a>> {
        let is_whole = at % SIZE == 0 && at.checked_add(SIZE)? <= code.len();
        is_whole.then(|| Instruction(&mut code[at..]))
    }

    pub fn code(&self) -> u8 {
        self.0[0]
    }

    pub fn source(&self) -> u8 {
        self.0[1] >> 4
    }

    pub fn set_source(&mut self, register: u8) {
        self.0[1] = self.0[1] & 15 | register << 4;
    }

    pub fn number(&self) -> u32 {
        u32(self.0, 4).unwrap_or(0)
    }

    pub fn set_number(&mut self, number: u32) {
        self.0[4..8].copy_from_slice(&number.to_le_bytes());
    }

    /// Sets both halves of a `lddw`. Returns false if the second is missing.
    pub fn set_numbers(&mut self, low: u32, high: u32) -> bool {
        self.set_number(low);
        let second = self.0.get_mut(12..16).map(|bytes| bytes.copy_from_slice(&high.to_le_bytes()));
        second.is_some()
    }

    /// Returns the number of bytes that it loads or stores.
    pub fn access_size(&self) -> Option<u64> {
        let is_access = matches!(self.code() & 7, LDX | ST | STX);
        is_access.then(|| match self.code() >> 3 & 3 {
            0 => 4,
            1 => 2,
            2 => 1,
            _ => 8,
        })
    }

    /// Sets the number of bytes that it loads or stores.
    pub fn set_access_size(&mut self, bytes: u64) -> bool {
        let bits = match bytes {
            4 => 0,
            2 => 1,
            1 => 2,
            8 => 3,
            _ => return false,
        };
        self.0[0] = self.0[0] & !0x18 | bits << 3;
        true
    }

    /// Writes a value to the instruction: the offset of an access, the second operand of an addition, or the
    /// loaded immediate. Returns false if the instruction has none or the value does not fit.
    pub fn fill(&mut self, value: u64) -> bool {
        match (self.code() & 7, self.code()) {
            (LDX | ST | STX, _) => {
                let Ok(offset) = i16::try_from(value) else { return false };
                self.0[2..4].copy_from_slice(&offset.to_le_bytes());
                true
            }
            (ALU | ALU64, code) if code & BY_REGISTER == 0 => {
                let Ok(number) = i32::try_from(value) else { return false };
                self.set_number(number as u32);
                true
            }
            (_, LOAD_64) => self.set_numbers(value as u32, (value >> 32) as u32),
            _ => false,
        }
    }

    /// Returns the value that [`Self::fill`] would replace.
    pub fn filled(&self) -> Option<u64> {
        match (self.code() & 7, self.code()) {
            (LDX | ST | STX, _) => Some(u16(self.0, 2)?.into()),
            (ALU | ALU64, code) if code & BY_REGISTER == 0 => Some(self.number().into()),
            (_, LOAD_64) => Some(u64::from(self.number()) | u64::from(u32(self.0, 12)?) << 32),
            _ => None,
        }
    }

    /// Replaces the instruction by one that the verifier rejects if it is reachable.
    pub fn forbid(&mut self) {
        let count = if self.code() == LOAD_64 { 2 } else { 1 };
        for place in self.0.chunks_exact_mut(SIZE).take(count) {
            place.fill(0);
            place[0] = CALL;
            place[4..8].copy_from_slice(&NO_HELPER.to_le_bytes());
        }
    }
}
