//! Finished batches of a sweep, kept as files until all are finished, so that the sweep can be resumed after
//! a failure.
//!
//! A file is written under another name, synced and renamed, so it is either complete or absent. It is named
//! after the batch's first cell: running a batch again replaces the file by the same content. Several
//! machines may write to one folder.

use crate::sweep::batch::PartRow;
use crate::sweep::{pack, unpack};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Name of the folder of batches in the sweep's folder.
pub const PARTS: &str = "parts";
const EXTENSION: &str = "cells";

/// Suffix of the extension of files that are being written.
const UNFINISHED: &str = "-new";

/// The stored batches of a sweep.
#[derive(Clone, Debug)]
pub struct PartStore {
    sweep: PathBuf,
    folder: PathBuf,
}

impl PartStore {
    /// Looks into a sweep's folder, which may have no batches.
    pub fn new(sweep: &Path) -> PartStore {
        PartStore { sweep: sweep.into(), folder: sweep.join(PARTS) }
    }

    /// Loads the rows of all complete batches, in no particular order. Truncated files and files of other
    /// formats are ignored.
    pub fn load<R: PartRow>(&self) -> Vec<R> {
        let files = self.files();
        files.iter().filter_map(|path| unpack::<R>(&fs::read(path).ok()?)).flatten().collect()
    }

    /// Stores a batch.
    ///
    /// # Errors
    /// Fails when the batch cannot be written or is empty.
    pub fn keep<R: PartRow>(&self, rows: &[R]) -> io::Result<()> {
        let Some(first) = rows.first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "is an empty batch"));
        };
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(first.name()).with_extension(EXTENSION);
        write_whole(&path, |out| out.write_all(&pack(rows)))
    }

    /// Removes the batches, which are now in the dataset, and incomplete files that a killed process left.
    pub fn clear(&self) {
        let unfinished = [&self.sweep, &self.folder]
            .into_iter()
            .flat_map(|folder| files_with_extension(folder, |e| e.ends_with(UNFINISHED)));
        self.files().iter().for_each(|path| drop(fs::remove_file(path)));
        unfinished.for_each(|path| drop(fs::remove_file(path)));
        drop(fs::remove_dir(&self.folder));
    }

    fn files(&self) -> Vec<PathBuf> {
        files_with_extension(&self.folder, |e| e == EXTENSION)
    }
}

/// Returns the files of a folder whose extension is accepted by `wanted`.
fn files_with_extension(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    entries.filter(|p| p.extension().and_then(|e| e.to_str()).is_some_and(&wanted)).collect()
}

/// Writes a file under a temporary name next to its own, syncs it, and renames it.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let unfinished = path.with_extension(format!("{}{UNFINISHED}", std::process::id()));
    let written = File::create(&unfinished).and_then(|mut file| {
        write(&mut file)?;
        file.sync_all()
    });
    let done = written.and_then(|()| fs::rename(&unfinished, path));
    if done.is_err() {
        drop(fs::remove_file(&unfinished));
    }
    done
}
