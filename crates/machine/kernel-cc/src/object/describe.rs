//! Builds the BTF of a program's constants and source lines for the kernel, because it cannot use the
//! object's own types. `parameters_of` reads it back.

use super::btf::{DATASEC, INT, MAGIC, VAR};
use crate::Parameter;

/// Name of the section of constants.
pub const CONSTANTS: &str = ".rodata";

/// Sizes of constants, by type id less one.
const SIZES: [usize; 4] = [1, 2, 4, 8];

/// BTF for the kernel.
pub struct Description {
    pub bytes: Vec<u8>,
    /// Type id of all constants together, if there are any.
    pub constants: Option<u32>,
}

/// Describes constants of `size` bytes in total. `texts` is the object's string table, to which source lines
/// refer.
pub fn describe(texts: &[u8], size: usize, parameters: &[Parameter]) -> Description {
    let mut texts = texts.to_vec();
    let mut text = |new: &str| {
        let at = texts.len() as u32;
        texts.extend_from_slice(new.as_bytes());
        texts.push(0);
        at
    };
    let info = |kind: u8, count: usize| u32::from(kind) << 24 | count as u32;
    let mut types = Vec::new();
    for size in SIZES {
        types.extend([text(&format!("u{}", 8 * size)), info(INT, 0), size as u32, 8 * size as u32]);
    }
    for parameter in parameters {
        let type_id = SIZES.iter().position(|size| *size == parameter.place.1).map_or(0, |n| n as u32 + 1);
        types.extend([text(&parameter.name), info(VAR, 0), type_id, 1]); // 1: global
    }
    let first = SIZES.len() as u32 + 1;
    let constants = (!parameters.is_empty()).then_some(first + parameters.len() as u32);
    if constants.is_some() {
        types.extend([text(CONSTANTS), info(DATASEC, parameters.len()), size as u32]);
        for (number, parameter) in (first..).zip(parameters) {
            types.extend([number, parameter.place.0 as u32, parameter.place.1 as u32]);
        }
    }
    let (types_len, texts_len) = (4 * types.len() as u32, texts.len() as u32);
    let head = [u32::from(MAGIC) | 1 << 16, 24, 0, types_len, types_len, texts_len];
    let mut bytes: Vec<u8> = head.iter().chain(&types).flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend_from_slice(&texts);
    Description { bytes, constants }
}
