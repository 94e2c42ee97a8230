//! What stands between the crate `parquet` and files that came by mail, for reports are made of others' files: it
//! trusts what a file claims, reserves memory by it and panics at some of what cannot be. One damaged file in some
//! 10,000 still makes it panic, which ends a release build; to unwind instead costs the simulator 4 %.

use bytes::{Bytes, buf::Reader};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

/// The fewest bytes of a value in a dictionary: a text's length.
const ENTRY: usize = 4;

/// Snappy makes at most 64 bytes of 3.
const MOST_UNPACKED: u64 = 24;

/// A file's bytes, to read pages from: none that claims to unpack to more than its bytes can.
pub struct Pages(pub Bytes);

impl Length for Pages {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

impl ChunkReader for Pages {
    type T = Reader<Bytes>;

    /// At a page's header.
    fn get_read(&self, start: u64) -> Result<Reader<Bytes>> {
        let read = self.0.get_read(start)?;
        match sizes(read.get_ref()) {
            Some([unpacked, packed]) if unpacked / MOST_UNPACKED <= packed => Ok(read),
            sizes => Err(wrong(format!("a page claims sizes {sizes:?}"))),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// How large a page is unpacked and packed: after its type, the first two numbers of its header
/// (apache/parquet-format, `parquet.thrift`, in Thrift's compact protocol).
fn sizes(mut header: &[u8]) -> Option<[u64; 2]> {
    /// A field's head: an i32, numbered one above the field before.
    const NEXT_I32: u8 = 0x15;
    let mut next = || {
        let (mut number, mut shift) = (0, 0);
        header = header.strip_prefix(&[NEXT_I32])?;
        loop {
            let (&byte, rest) = header.split_first()?;
            header = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                // Zigzag: the last bit is the sign.
                return (number & 1 == 0).then_some(number >> 1);
            }
            shift += 7;
            if shift > 28 {
                return None;
            }
        }
    };
    next()?;
    Some([next()?, next()?])
}

/// A column's pages: plain or by a dictionary that came before, none of which claims more values than its bytes hold
/// or its group has rows.
pub struct Bounded {
    pages: SerializedPageReader<Pages>,
    rows: usize,
    dictionary: bool,
}

impl Bounded {
    /// Of a column in a group of `rows` rows.
    ///
    /// # Errors
    /// A place that is no place.
    pub fn new(file: &Arc<Pages>, column: &ColumnChunkMetaData, rows: usize) -> Result<Bounded> {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        if start < 0 || column.compressed_size() < 0 {
            return Err(wrong(format!("its {} bytes begin at {start}", column.compressed_size())));
        }
        let pages = SerializedPageReader::new(file.clone(), column, rows, None)?;
        Ok(Bounded { pages, rows, dictionary: false })
    }

    /// Whether the page can be given on.
    fn check(&mut self, page: &Page) -> Result<()> {
        let most = match page {
            Page::DictionaryPage { buf, .. } => buf.len() / ENTRY,
            _ => self.rows,
        };
        if page.num_values() as usize > most {
            return Err(wrong(format!("a page claims {} values", page.num_values())));
        }
        match (page, page.encoding()) {
            (Page::DictionaryPage { .. }, _) => self.dictionary = true,
            (_, Encoding::PLAIN) => {}
            (_, Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY) if self.dictionary => {}
            (_, other) => return Err(wrong(format!("a page is encoded as {other} here"))),
        }
        Ok(())
    }
}

fn wrong(what: String) -> ParquetError {
    ParquetError::General(what)
}

impl Iterator for Bounded {
    type Item = Result<Page>;
    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Bounded {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        page.iter().try_for_each(|page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_a_page() {
        assert_eq!(sizes(&[0x15, 0, 0x15, 0x80, 2, 0x15, 6, 0x2c]), Some([128, 3]));
        assert_eq!(sizes(&[0x15, 4, 0x15, 2, 0x15, 0xfe, 0xff, 0xff, 0xff, 15]), Some([1, i32::MAX as u64]));
        let negative = [0x15, 4, 0x15, 1, 0x15, 2];
        for broken in [&[][..], &[0x15], &[0x15, 0, 0x15, 2], &[0x15, 0, 0x25, 2, 0x15, 2], &negative] {
            assert_eq!(sizes(broken), None);
        }
        assert_eq!(sizes(&[0x15, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0x15, 2, 0x15, 2]), None);
    }

    #[test]
    fn a_page_claims_what_its_bytes_can_hold() {
        let page = |unpacked: u8| Pages(Bytes::from(vec![0x15, 0, 0x15, unpacked, 0x15, 2, 0]));
        assert!(page(2 * 24).get_read(0).is_ok());
        assert!(page(2 * 48).get_read(0).is_err());
    }
}
