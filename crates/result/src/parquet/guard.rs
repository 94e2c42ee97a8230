//! What stands between the crate `parquet` and files that came by mail: it trusts a page's claims, and panics on
//! some that are broken.

use bytes::{Bytes, buf::Reader};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

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
            sizes => Err(ParquetError::General(format!("a page claims sizes {sizes:?}"))),
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

/// A column's pages, none of which claims more values than its bytes hold or its group has rows.
pub struct Bounded<P> {
    /// The column's.
    pub pages: P,
    /// The group's.
    pub rows: usize,
}

impl<P: PageReader> Iterator for Bounded<P> {
    type Item = Result<Page>;
    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl<P: PageReader> PageReader for Bounded<P> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        let most = match &page {
            Some(Page::DictionaryPage { buf, .. }) => buf.len() / ENTRY,
            _ => self.rows,
        };
        match page {
            Some(page) if page.num_values() as usize > most => {
                Err(ParquetError::General(format!("a page claims {} values", page.num_values())))
            }
            page => Ok(page),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

thread_local! {
    /// Whether a panic of this thread is ours to report.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// What `read` yields; an error or a panic of it as a sentence's end.
pub fn unharmed<T>(read: impl FnOnce() -> Result<T>) -> std::result::Result<T, String> {
    static QUIET: Once = Once::new();
    // Where a panic ends the program, it had better say why.
    if cfg!(panic = "unwind") {
        QUIET.call_once(|| {
            let said = take_hook();
            set_hook(Box::new(move |info| {
                if !CAUGHT.get() {
                    said(info);
                }
            }));
        });
    }
    let before = CAUGHT.replace(true);
    // What is half read is thrown away.
    let done = catch_unwind(AssertUnwindSafe(read));
    CAUGHT.set(before);
    match done {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(e)) => Err(format!("cannot be read: {e}")),
        Err(_) => Err("is damaged".into()),
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

    #[test]
    fn a_panic_is_an_error_and_the_next_one_is_heard_again() {
        let read = |list: &[u8], i: usize| unharmed(|| Ok(list[i]));
        assert_eq!(read(&[7], 0), Ok(7));
        assert_eq!(read(&[7], 1), Err("is damaged".into()));
        assert!(!CAUGHT.get());
        assert_eq!(
            unharmed(|| Err::<(), _>(ParquetError::NYI("x".into()))),
            Err("cannot be read: NYI: x".into())
        );
    }
}
