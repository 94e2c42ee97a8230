//! Lossless binary encoding of an outcome: how a run in its own process returns its results, and how finished
//! runs are stored until all are done. Only the same version of this program can decode it, as the columns
//! are not described.

use crate::{
    Cells, CellsMut, Columns, ElementSeries, FlowSeries, Outcome, Resent, Response, Run, read_json, to_json,
};

/// Writer of a buffer of lists of numbers and texts, each preceded by its length.
#[derive(Default)]
pub struct Packer(pub Vec<u8>);

impl Packer {
    /// Appends a list of numbers.
    pub fn numbers<const N: usize, T: Copy>(&mut self, all: &[T], bytes: impl Fn(T) -> [u8; N]) {
        self.0.extend_from_slice(&(all.len() as u64).to_le_bytes());
        all.iter().for_each(|&n| self.0.extend_from_slice(&bytes(n)));
    }

    /// Appends one number.
    pub fn count(&mut self, n: u64) {
        self.numbers(&[n], u64::to_le_bytes);
    }

    /// Appends a text.
    pub fn text(&mut self, text: &str) {
        self.numbers(text.as_bytes(), |b| [b]);
    }

    /// Appends a list of texts.
    pub fn texts<S: AsRef<str>>(&mut self, texts: &[S]) {
        self.count(texts.len() as u64);
        texts.iter().for_each(|t| self.text(t.as_ref()));
    }

    /// Appends the summary and series of an outcome.
    pub fn outcome(&mut self, outcome: &Outcome) {
        // Destructured in full, so that a new field of `Outcome` cannot be forgotten here.
        let Outcome { variant, flow_series, element_series } = outcome;
        self.text(&to_json(&Run { variants: vec![variant.clone()], ..Run::default() }));
        self.count(flow_series.len() as u64);
        for s in flow_series {
            self.text(&s.name);
            s.cells().for_each(|(_, cells)| self.cells(cells));
            self.numbers(&s.state, |b| [b]);
            self.texts(&s.states);
            self.numbers(&s.resent.iter().map(|r| r.time_s).collect::<Vec<_>>(), f64::to_le_bytes);
            self.numbers(&s.resent.iter().map(|r| r.byte).collect::<Vec<_>>(), u64::to_le_bytes);
            self.numbers(&s.resent.iter().map(|r| r.len).collect::<Vec<_>>(), u32::to_le_bytes);
            self.numbers(&s.resent.iter().map(|r| r.sender).collect::<Vec<_>>(), u32::to_le_bytes);
            self.numbers(&s.responses.iter().map(|r| r.start_s).collect::<Vec<_>>(), f64::to_le_bytes);
            self.numbers(&s.responses.iter().map(|r| r.seconds).collect::<Vec<_>>(), f64::to_le_bytes);
            self.texts(&s.responses.iter().map(|r| &r.what).collect::<Vec<_>>());
        }
        self.count(element_series.len() as u64);
        for s in element_series {
            self.text(&s.name);
            s.cells().for_each(|(_, cells)| self.cells(cells));
        }
    }

    fn cells(&mut self, cells: Cells) {
        match cells {
            Cells::Int(all) => self.numbers(all, u64::to_le_bytes),
            Cells::IntOrNull(all) => self.numbers(all, |n| encode_option(n.map(u64::to_le_bytes))),
            Cells::Real(all) => self.numbers(all, f64::to_le_bytes),
            Cells::RealOrNull(all) => self.numbers(all, |x| encode_option(x.map(f64::to_le_bytes))),
        }
    }
}

/// Encodes an optional number: its bytes, followed by a flag that is 1 if it is known.
fn encode_option(number: Option<[u8; 8]>) -> [u8; 9] {
    let mut bytes = [0; 9];
    if let Some(number) = number {
        bytes[..8].copy_from_slice(&number);
        bytes[8] = 1;
    }
    bytes
}

/// Decodes what [`encode_option`] encoded.
fn decode_option(bytes: [u8; 9]) -> Option<[u8; 8]> {
    bytes.first_chunk().copied().filter(|_| bytes[8] == 1)
}

/// Reader of what a [`Packer`] wrote, in the same order; `None` where the bytes end early or do not match.
pub struct Unpacker<'a>(pub &'a [u8]);

impl Unpacker<'_> {
    /// Reads a list of numbers.
    pub fn numbers<const N: usize, T>(&mut self, number: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
        let (count, rest) = self.0.split_first_chunk()?;
        let len = usize::try_from(u64::from_le_bytes(*count)).ok()?.checked_mul(N)?;
        let (mine, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some(mine.chunks_exact(N).filter_map(|c| c.first_chunk()).map(|c| number(*c)).collect())
    }

    /// Reads one number.
    pub fn count(&mut self) -> Option<u64> {
        self.numbers(u64::from_le_bytes)?.first().copied()
    }

    /// Reads a text.
    pub fn text(&mut self) -> Option<String> {
        String::from_utf8(self.numbers(|[b]| b)?).ok()
    }

    /// Reads a list of texts.
    pub fn texts(&mut self) -> Option<Vec<String>> {
        (0..self.count()?).map(|_| self.text()).collect()
    }

    /// Reads the summary and series of an outcome.
    pub fn outcome(&mut self) -> Option<Outcome> {
        let variant = read_json(&self.text()?).ok()?.variants.pop()?;
        let mut o = Outcome { variant, ..Outcome::default() };
        for _ in 0..self.count()? {
            let mut s = FlowSeries::new(&self.text()?);
            s.cells_mut().try_for_each(|(_, cells)| self.cells(cells))?;
            s.state = self.numbers(|[b]| b)?;
            s.states = self.texts()?;
            let times = self.numbers(f64::from_le_bytes)?;
            let bytes = self.numbers(u64::from_le_bytes)?;
            let (lens, senders) = (self.numbers(u32::from_le_bytes)?, self.numbers(u32::from_le_bytes)?);
            let places = times.into_iter().zip(bytes).zip(lens).zip(senders);
            s.resent =
                places.map(|(((time_s, byte), len), sender)| Resent { time_s, byte, len, sender }).collect();
            let (starts, took) = (self.numbers(f64::from_le_bytes)?, self.numbers(f64::from_le_bytes)?);
            let rows = starts.into_iter().zip(took).zip(self.texts()?);
            s.responses =
                rows.map(|((start_s, seconds), what)| Response { start_s, seconds, what }).collect();
            o.flow_series.push(s);
        }
        for _ in 0..self.count()? {
            let mut s = ElementSeries { name: self.text()?, ..ElementSeries::default() };
            s.cells_mut().try_for_each(|(_, cells)| self.cells(cells))?;
            o.element_series.push(s);
        }
        Some(o)
    }

    fn cells(&mut self, cells: CellsMut) -> Option<()> {
        match cells {
            CellsMut::Int(to) => *to = self.numbers(u64::from_le_bytes)?,
            CellsMut::IntOrNull(to) => *to = self.numbers(|b| decode_option(b).map(u64::from_le_bytes))?,
            CellsMut::Real(to) => *to = self.numbers(f64::from_le_bytes)?,
            CellsMut::RealOrNull(to) => *to = self.numbers(|b| decode_option(b).map(f64::from_le_bytes))?,
        }
        Some(())
    }
}
