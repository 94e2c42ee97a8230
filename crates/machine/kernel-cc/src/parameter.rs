//! Parameters of a program.

/// A parameter of a program: a global constant that the loader may replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The variable's name in the program.
    pub name: String,
    /// The default, or the value in use.
    pub value: u64,
    /// Largest possible value.
    pub max: u64,
    /// Offset and size among the constants, bytes.
    pub(crate) place: (usize, usize),
}

impl Parameter {
    /// Reads a parameter from the constants; `None` if the bytes are not a number.
    pub(crate) fn read(name: &str, start: usize, size: usize, constants: &[u8]) -> Option<Parameter> {
        let bytes = constants.get(start..start.checked_add(size)?)?;
        if !matches!(size, 1 | 2 | 4 | 8) {
            return None;
        }
        let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        Some(Parameter { name: name.into(), value, max: u64::MAX >> (64 - 8 * size), place: (start, size) })
    }

    /// Writes a value to the constants.
    pub(crate) fn write(&self, value: u64, constants: &mut [u8]) {
        let bytes = constants.iter_mut().skip(self.place.0).take(self.place.1);
        bytes.zip(value.to_le_bytes()).for_each(|(to, from)| *to = from);
    }
}
