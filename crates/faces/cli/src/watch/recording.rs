//! A capture file that the view of `longfat watch` begins and ends by a key.

use crate::regular::NewFile;
use report::{Lang, say};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest number that a file name gets.
const MAX_NUMBER: u32 = 9_999;

/// Takes the packets of the watch, whose first bytes are the head of a pcap file, and writes those that come
/// while a recording runs.
#[derive(Clone, Default)]
pub struct Recording(Arc<Mutex<State>>);

type RecordedFile = (PathBuf, NewFile, BufWriter<std::fs::File>);

#[derive(Default)]
struct State {
    /// The head of a pcap file; absent without packets.
    head: Option<Vec<u8>>,
    file: Option<RecordedFile>,
    /// A file that could not be written, and is removed when this is dropped.
    failed: Option<RecordedFile>,
    /// What the view shows.
    message: String,
    lang: Lang,
}

impl Recording {
    /// A recording that has not begun; its messages are in this language.
    pub fn new(lang: Lang) -> Recording {
        Recording(Arc::new(Mutex::new(State { lang, ..State::default() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has happened last, for the view; empty before the first recording.
    pub fn message(&self) -> String {
        self.state().message.clone()
    }

    /// Begins a recording in a folder, or ends the one that runs.
    pub fn toggle(&self, folder: &Path) {
        let mut state = self.state();
        state.failed = None;
        if state.file.is_some() {
            return state.end();
        }
        state.message = match state.begin(folder) {
            Ok(path) => say(state.lang, "watch.recording.writing", &[("path", &path.display().to_string())]),
            Err(why) => say(state.lang, "watch.recording.failed", &[("why", &why)]),
        };
    }

    /// Forgets the head: no packets will come.
    pub fn without_packets(&self) {
        self.state().head = None;
    }

    /// Ends a recording that runs.
    pub fn end(&self) {
        let mut state = self.state();
        state.failed = None;
        state.end();
    }
}

impl State {
    fn begin(&mut self, folder: &Path) -> Result<PathBuf, String> {
        if self.head.is_none() {
            return Err(say(self.lang, "watch.recording.no-packets", &[]));
        }
        self.create(folder).map_err(|e| e.to_string())
    }

    fn create(&mut self, folder: &Path) -> io::Result<PathBuf> {
        let head = self.head.as_deref().unwrap_or_default();
        let names = (1..=MAX_NUMBER).map(|n| folder.join(format!("longfat-watch-{n}.pcap")));
        let path = { names }.find(|path| !path.exists()).ok_or(io::ErrorKind::AlreadyExists)?;
        let file = NewFile::create(&path)?;
        let mut out = BufWriter::new(file.file()?);
        out.write_all(head)?;
        self.file = Some((path.clone(), file, out));
        Ok(path)
    }

    fn end(&mut self) {
        let Some((path, file, mut out)) = self.file.take() else { return };
        self.message = match out.flush().and_then(|()| file.commit()) {
            Ok(()) => say(self.lang, "watch.recording.wrote", &[("path", &path.display().to_string())]),
            Err(e) => format!("{}: {e}", path.display()),
        };
    }
}

impl Write for Recording {
    /// Takes whole packets, or at first the file's head. An error ends the recording and not the watch.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state();
        if state.head.is_none() {
            state.head = Some(bytes.to_vec());
        } else if let Some((path, _, out)) = &mut state.file
            && let Err(e) = out.write_all(bytes)
        {
            state.message = format!("{}: {e}", path.display());
            // The thread that takes packets may not remove files.
            state.failed = state.file.take();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_has_the_packets_between_two_keys() {
        let folder = std::env::temp_dir().join(format!("longfat-recording-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut recording = Recording::default();
        recording.toggle(&folder);
        assert!(recording.message().contains("CAP_NET_RAW"), "{}", recording.message());
        for bytes in ["head", "lost"] {
            recording.write_all(bytes.as_bytes()).expect("always");
        }
        recording.toggle(&folder);
        recording.write_all(b"+one+two").expect("always");
        recording.toggle(&folder);
        recording.write_all(b"lost too").expect("always");
        recording.toggle(&folder);
        recording.end();
        let read = |n| std::fs::read(folder.join(format!("longfat-watch-{n}.pcap"))).expect("a file");
        assert_eq!((read(1), read(2)), (b"head+one+two".to_vec(), b"head".to_vec()));
        assert!(recording.message().ends_with("longfat-watch-2.pcap"), "{}", recording.message());
        std::fs::remove_dir_all(&folder).expect("it was there");
        recording.toggle(&folder.join("missing"));
        assert!(recording.message().starts_with("cannot write: "), "{}", recording.message());
    }
}
