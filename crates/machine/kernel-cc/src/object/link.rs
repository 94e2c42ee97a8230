//! A function and all that it calls, as one program: the kernel takes no others.

use super::Opened;
use super::elf::{FUNC, Symbol};
use super::instruction::{Instruction, SIZE};
use super::relocate::{At, Code};
use crate::ControlError;

/// What the kernel checks and runs.
#[derive(Debug)]
pub struct JoinedProgram {
    /// The instructions.
    pub code: Vec<u8>,
    /// The source line of each (`struct bpf_line_info`).
    pub lines: Vec<u8>,
}

/// A function in its place in the program.
struct PlacedSection<'o, 'a> {
    function: &'o Symbol<'a>,
    /// Bytes from the start of the program.
    start: usize,
}

/// The longest program that the kernel takes, in bytes (`BPF_COMPLEXITY_LIMIT_INSNS`).
const LONGEST: usize = 1_000_000 * SIZE;

/// Joins the function at this place with those that it calls, in the order of their calls.
///
/// # Errors
/// [`ControlError::Object`].
pub fn join(object: &Opened<'_>, code: &Code, first: At) -> Result<JoinedProgram, ControlError> {
    let mut placed = vec![PlacedSection { function: function(object, first)?, start: 0 }];
    let mut program = JoinedProgram { code: Vec::new(), lines: Vec::new() };
    let mut next = 0;
    while next < placed.len() {
        let PlacedSection { function, start } = placed[next];
        let (from, to) = (function.start, function.start.wrapping_add(function.size));
        let piece = code.sections.get(function.section).and_then(|s| s.get(from..to));
        let piece = piece.ok_or_else(|| ControlError::object("a function is not where its symbol says"))?;
        let end = start + piece.len();
        if piece.len() % SIZE != 0 || end > LONGEST {
            return Err(ControlError::object("a function is no list of instructions"));
        }
        program.code.extend_from_slice(piece);
        program.add_lines(object, function, start);
        for (_, &target) in code.calls.range((function.section, from)..(function.section, to)) {
            if !placed.iter().any(|p| (p.function.section, p.function.start) == target) {
                // Where it will be is known when all before it are there.
                placed.push(PlacedSection { function: self::function(object, target)?, start: usize::MAX });
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

fn function<'o, 'a>(object: &'o Opened<'a>, at: At) -> Result<&'o Symbol<'a>, ControlError> {
    let mut symbols = object.elf.symbols.iter();
    let found = symbols.find(|s| s.kind == FUNC && (s.section, s.start) == at);
    found
        .filter(|s| s.size > 0)
        .ok_or_else(|| ControlError::object("it calls a function that it does not have"))
}

impl JoinedProgram {
    fn add_lines(&mut self, object: &Opened<'_>, function: &Symbol<'_>, start: usize) {
        let within = |at: usize| at.checked_sub(function.start).filter(|n| *n < function.size);
        for line in object.ext.lines.iter().filter(|l| l.section == function.section) {
            let Some(offset) = within(line.at) else { continue };
            let instruction = ((start + offset) / SIZE) as u32;
            self.lines.extend_from_slice(&instruction.to_le_bytes());
            self.lines.extend_from_slice(line.source);
        }
    }

    /// Calls count instructions from the one behind them.
    fn fill_calls(&mut self, code: &Code, placed: &[PlacedSection<'_, '_>]) -> Result<(), ControlError> {
        for PlacedSection { function, start } in placed {
            let section = function.section;
            let calls =
                code.calls.range((section, function.start)..(section, function.start + function.size));
            for (&(_, at), &target) in calls {
                let at = start + (at - function.start);
                let to = placed.iter().find(|p| (p.function.section, p.function.start) == target);
                let to = to.map_or(0, |p| p.start);
                let distance = (to as i64 - (at + SIZE) as i64) / SIZE as i64;
                let mut call = Instruction::at(&mut self.code, at)
                    .ok_or_else(|| ControlError::object("a call is no instruction"))?;
                call.set_number(distance as i32 as u32);
            }
        }
        Ok(())
    }
}
