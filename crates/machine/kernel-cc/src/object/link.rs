//! Links a function and its callees into one program, the only form that the kernel loads.

use super::ParsedObject;
use super::elf::{FUNC, Symbol};
use super::instruction::{Instruction, SIZE};
use super::relocate::{Code, CodeOffset};
use crate::ControlError;

/// A program for the kernel.
#[derive(Debug)]
pub struct LinkedProgram {
    pub code: Vec<u8>,
    /// Source lines of the instructions (`struct bpf_line_info`).
    pub lines: Vec<u8>,
}

/// A function and its position in the program.
struct PlacedFunction<'o, 'a> {
    function: &'o Symbol<'a>,
    /// Offset in the program, bytes.
    start: usize,
}

/// Longest program that the kernel accepts, bytes (`BPF_COMPLEXITY_LIMIT_INSNS`).
const MAX_PROGRAM_BYTES: usize = 1_000_000 * SIZE;

/// Links the function at an offset with its callees, in the order of their calls.
///
/// # Errors
/// Fails with [`ControlError::Object`].
pub fn link(
    object: &ParsedObject<'_>,
    code: &Code,
    first: CodeOffset,
) -> Result<LinkedProgram, ControlError> {
    let mut placed = vec![PlacedFunction { function: function(object, first)?, start: 0 }];
    let mut program = LinkedProgram { code: Vec::new(), lines: Vec::new() };
    let mut next = 0;
    while next < placed.len() {
        let PlacedFunction { function, start } = placed[next];
        let (from, to) = (function.start, function.start.wrapping_add(function.size));
        let code_bytes = code.sections.get(function.section).and_then(|s| s.get(from..to));
        let code_bytes = code_bytes
            .ok_or_else(|| ControlError::object("the symbol of a function points outside its section"))?;
        let end = start + code_bytes.len();
        if code_bytes.len() % SIZE != 0 || end > MAX_PROGRAM_BYTES {
            return Err(ControlError::object("a function is not a sequence of instructions"));
        }
        program.code.extend_from_slice(code_bytes);
        program.add_lines(object, function, start);
        for (_, &target) in code.calls.range((function.section, from)..(function.section, to)) {
            if !placed.iter().any(|p| (p.function.section, p.function.start) == target) {
                // A callee's offset is known once all functions before it are placed.
                placed.push(PlacedFunction { function: self::function(object, target)?, start: usize::MAX });
            }
        }
        next += 1;
        if let Some(following) = placed.get_mut(next) {
            following.start = end;
        }
    }
    program.fill_calls(code, &placed)?;
    Ok(program)
}

fn function<'o, 'a>(object: &'o ParsedObject<'a>, at: CodeOffset) -> Result<&'o Symbol<'a>, ControlError> {
    let mut symbols = object.elf.symbols.iter();
    let found = symbols.find(|s| s.kind == FUNC && (s.section, s.start) == at);
    found.filter(|s| s.size > 0).ok_or_else(|| ControlError::object("it calls an undefined function"))
}

impl LinkedProgram {
    fn add_lines(&mut self, object: &ParsedObject<'_>, function: &Symbol<'_>, start: usize) {
        let within = |at: usize| at.checked_sub(function.start).filter(|n| *n < function.size);
        for line in object.ext.lines.iter().filter(|l| l.section == function.section) {
            let Some(offset) = within(line.at) else { continue };
            let instruction = ((start + offset) / SIZE) as u32;
            self.lines.extend_from_slice(&instruction.to_le_bytes());
            self.lines.extend_from_slice(line.source);
        }
    }

    /// Fills in the distances of calls, in instructions after the call.
    fn fill_calls(&mut self, code: &Code, placed: &[PlacedFunction<'_, '_>]) -> Result<(), ControlError> {
        for PlacedFunction { function, start } in placed {
            let section = function.section;
            let calls =
                code.calls.range((section, function.start)..(section, function.start + function.size));
            for (&(_, at), &target) in calls {
                let at = start + (at - function.start);
                let to = placed.iter().find(|p| (p.function.section, p.function.start) == target);
                let to = to.map_or(0, |p| p.start);
                let distance = (to as i64 - (at + SIZE) as i64) / SIZE as i64;
                let mut call = Instruction::at(&mut self.code, at)
                    .ok_or_else(|| ControlError::object("a call is not an instruction"))?;
                call.set_number(distance as i32 as u32);
            }
        }
        Ok(())
    }
}
