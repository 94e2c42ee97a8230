//! How a page calls: two functions and one memory, no binding generator.
//!
//! 1. `reserve(n)` gives room for n bytes; the page writes its question there.
//! 2. `ask()` answers it and gives the address of the answer, as [`crate::framed`] lays it out. It stays until the next `ask`.
//! 3. The page offers `told(seconds, all)`: how far a run is; `read(at, n)`: writes up to n of the capture's next bytes there
//!    and says how many, none at its end; and `trouble(at, n)`: UTF-8 that says what broke, before the module ends itself.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::io::{self, Read};
use std::ops::ControlFlow;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    fn told(seconds: f64, all: f64);
    fn trouble(at: *const u8, len: usize);
    fn read(at: *mut u8, len: usize) -> usize;
}

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The capture that the page holds.
struct PageFile;

impl Read for PageFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the page writes at most so many bytes, all of them within `out`.
        let n = unsafe { read(out.as_mut_ptr(), out.len()) };
        if n > out.len() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(n) }
    }
}

/// Room for a question of `len` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(len: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        question.clear();
        question.resize(len, 0);
        question.as_mut_ptr()
    })
}

/// Answers the question in the room that [`reserve`] gave.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> *const u8 {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        // SAFETY: the page reads the text while it is called, and it lives so long.
        unsafe { trouble(text.as_ptr(), text.len()) }
    }));
    let question = QUESTION.take();
    let mut watch = |seconds, all| {
        // SAFETY: two numbers; the page keeps nothing of this memory.
        unsafe { told(seconds, all) };
        ControlFlow::Continue(())
    };
    let pieces = crate::answer(&question, &mut watch, Box::new(PageFile));
    ANSWER.with_borrow_mut(|held| {
        *held = crate::framed(&pieces);
        held.as_ptr()
    })
}
