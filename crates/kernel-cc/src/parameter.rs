//! Parameters of a program.

/// A parameter of a program: a global constant that the loader may replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The variable's name in the program.
    pub name: String,
    /// Its value: the default, or what is in force.
    pub value: u64,
    /// The largest value it can have.
    pub most: u64,
    /// Where it stands among the constants, and its bytes.
    pub(crate) place: (usize, usize),
}
