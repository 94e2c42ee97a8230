//! The interface of the WebAssembly module: two exported functions, three imported ones and one memory,
//! without a binding generator.
//!
//! 1. `reserve(n)` returns the address of n bytes, where the page writes its question.
//! 2. `ask()` answers the question and returns the address of the answer, laid out by [`crate::framed`]. The
//!    answer stays valid until the next `ask`.
//! 3. The page provides `progress(done, total)`; `read(at, n)`, which writes up to n of the capture's next
//!    bytes at an address and returns their number, 0 at the end; and `panicked(at, n)`, which gets a panic's
//!    message in UTF-8 before the module aborts.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::io::{self, Read};
use std::ops::ControlFlow;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    fn progress(done: f64, total: f64);
    fn panicked(at: *const u8, len: usize);
    fn read(at: *mut u8, len: usize) -> usize;
}

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The capture of the page, read through `read`.
struct PageFile;

impl Read for PageFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the page writes at most `out.len()` bytes to `out`.
        let n = unsafe { read(out.as_mut_ptr(), out.len()) };
        if n > out.len() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(n) }
    }
}

/// Reserves memory for a question of `len` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(len: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        question.clear();
        question.resize(len, 0);
        question.as_mut_ptr()
    })
}

/// Answers the question in the memory returned by [`reserve`].
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> *const u8 {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        // SAFETY: the page reads the text during the call only, while it is alive.
        unsafe { panicked(text.as_ptr(), text.len()) }
    }));
    let question = QUESTION.take();
    let mut on_progress = |done, total| {
        // SAFETY: the function takes two numbers and no memory.
        unsafe { progress(done, total) };
        ControlFlow::Continue(())
    };
    let pieces = crate::answer(&question, &mut on_progress, Box::new(PageFile));
    ANSWER.with_borrow_mut(|answer| {
        *answer = crate::framed(&pieces);
        answer.as_ptr()
    })
}
