//! What stands between the crate `parquet` and files that came by mail: it trusts a page's claims, and panics on
//! some that are broken.

use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

/// The fewest bytes of a value in a dictionary: a text's length.
const ENTRY: usize = 4;

/// A column's pages, none of which claims more values than its bytes hold or its group has rows.
pub struct Bounded {
    pages: Box<dyn PageReader>,
    rows: usize,
}

impl Bounded {
    /// Of a column in a group of `rows` rows.
    pub fn new(pages: Box<dyn PageReader>, rows: usize) -> Bounded {
        Bounded { pages, rows }
    }
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
