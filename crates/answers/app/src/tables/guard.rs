//! Checks Parquet files from others before the crate `parquet` decodes them. The crate trusts what a file
//! claims, allocates memory accordingly, and panics on some invalid input. Still, about one damaged file in
//! 10,000 makes it panic, which ends a release build; unwinding instead would slow the simulator down by 4 %.

use bytes::{Bytes, buf::Reader};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

/// Minimum size of a dictionary entry in bytes: the length of a text.
const MIN_ENTRY_BYTES: usize = 4;

/// Largest compression ratio: Snappy encodes at most 64 bytes in 3.
const MAX_COMPRESSION: u64 = 24;

/// The bytes of a file. A page whose header claims an impossible compression ratio is refused.
pub struct CheckedBytes(pub Bytes);

impl Length for CheckedBytes {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

impl ChunkReader for CheckedBytes {
    type T = Reader<Bytes>;

    /// Called with the offset of a page's header.
    fn get_read(&self, start: u64) -> Result<Reader<Bytes>> {
        let read = self.0.get_read(start)?;
        match sizes(read.get_ref()) {
            Some([unpacked, packed]) if unpacked / MAX_COMPRESSION <= packed => Ok(read),
            sizes => Err(invalid(format!("a page claims invalid sizes {sizes:?}"))),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// Returns the uncompressed and the compressed size of a page: the two numbers after the type in its header
/// (apache/parquet-format, `parquet.thrift`, in Thrift's compact protocol).
fn sizes(mut header: &[u8]) -> Option<[u64; 2]> {
    /// Field header in the compact protocol: an i32 whose field id is one above the previous one.
    const NEXT_I32: u8 = 0x15;
    let mut next = || {
        let (mut number, mut shift) = (0, 0);
        header = header.strip_prefix(&[NEXT_I32])?;
        loop {
            let (&byte, rest) = header.split_first()?;
            header = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                // Zigzag encoding: the last bit is the sign.
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

/// The pages of a column, plain or with a preceding dictionary. A page that claims more values than its bytes
/// can hold, or than its row group has rows, is refused.
pub struct CheckedPages {
    pages: SerializedPageReader<CheckedBytes>,
    rows: usize,
    dictionary: bool,
}

impl CheckedPages {
    /// Reads a column in a group of `rows` rows.
    ///
    /// # Errors
    /// Fails when the column's offset or size is negative.
    pub fn new(file: &Arc<CheckedBytes>, column: &ColumnChunkMetaData, rows: usize) -> Result<CheckedPages> {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        if start < 0 || column.compressed_size() < 0 {
            return Err(invalid(format!("its size is {} bytes at offset {start}", column.compressed_size())));
        }
        let pages = SerializedPageReader::new(file.clone(), column, rows, None)?;
        Ok(CheckedPages { pages, rows, dictionary: false })
    }

    /// Checks a page, and notes a dictionary.
    fn check(&mut self, page: &Page) -> Result<()> {
        let max_values = match page {
            Page::DictionaryPage { buf, .. } => buf.len() / MIN_ENTRY_BYTES,
            _ => self.rows,
        };
        if page.num_values() as usize > max_values {
            return Err(invalid(format!("a page claims {} values, more than fit", page.num_values())));
        }
        match (page, page.encoding()) {
            (Page::DictionaryPage { .. }, _) => self.dictionary = true,
            (_, Encoding::PLAIN) => {}
            (_, Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY) if self.dictionary => {}
            (_, other) => return Err(invalid(format!("a page has the unsupported encoding {other}"))),
        }
        Ok(())
    }
}

fn invalid(what: String) -> ParquetError {
    ParquetError::General(what)
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;
    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
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
    fn a_pages_sizes_are_parsed_from_its_header() {
        assert_eq!(sizes(&[0x15, 0, 0x15, 0x80, 2, 0x15, 6, 0x2c]), Some([128, 3]));
        assert_eq!(sizes(&[0x15, 4, 0x15, 2, 0x15, 0xfe, 0xff, 0xff, 0xff, 15]), Some([1, i32::MAX as u64]));
        let negative = [0x15, 4, 0x15, 1, 0x15, 2];
        for broken in [&[][..], &[0x15], &[0x15, 0, 0x15, 2], &[0x15, 0, 0x25, 2, 0x15, 2], &negative] {
            assert_eq!(sizes(broken), None);
        }
        assert_eq!(sizes(&[0x15, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0x15, 2, 0x15, 2]), None);
    }

    #[test]
    fn a_page_with_an_impossible_compression_ratio_is_refused() {
        let page = |unpacked: u8| CheckedBytes(Bytes::from(vec![0x15, 0, 0x15, unpacked, 0x15, 2, 0]));
        assert!(page(2 * 24).get_read(0).is_ok());
        assert!(page(2 * 48).get_read(0).is_err());
    }
}
