//! Batches that are done, as files in a folder, until all are: what a kill or a failure ends goes on from them.
//!
//! A file is written under another name, brought to the disk and renamed: it is there as a whole or not at all. It is
//! called as the batch's first cell, so that who runs a batch again replaces it by the same. Several machines may write to
//! one folder.

use crate::sweep::batch::PartRow;
use crate::sweep::{pack, unpack};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The folder of batches within the sweep's.
pub const PARTS: &str = "parts";
const EXTENSION: &str = "cells";

/// How the names of files end that are being written.
const NEW: &str = "-new";

/// The batches of a sweep's folder.
#[derive(Clone, Debug)]
pub struct PartStore {
    sweep: PathBuf,
    folder: PathBuf,
}

impl PartStore {
    /// Those in a sweep's folder, be there any or none.
    pub fn new(sweep: &Path) -> PartStore {
        PartStore { sweep: sweep.into(), folder: sweep.join(PARTS) }
    }

    /// All rows of whole batches, in no order; what is no batch of ours, or cut short, is passed over.
    pub fn load<R: PartRow>(&self) -> Vec<R> {
        let files = self.files();
        files.iter().filter_map(|path| unpack::<R>(&fs::read(path).ok()?)).flatten().collect()
    }

    /// Keeps a batch.
    ///
    /// # Errors
    /// It cannot be written, or holds no row.
    pub fn keep<R: PartRow>(&self, rows: &[R]) -> io::Result<()> {
        let Some(first) = rows.first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "is an empty batch"));
        };
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(first.name()).with_extension(EXTENSION);
        write_whole(&path, |out| out.write_all(&pack(rows)))
    }

    /// All are in the dataset: they go, and what a killed process left half written.
    pub fn clear(&self) {
        let half =
            [&self.sweep, &self.folder].into_iter().flat_map(|folder| with(folder, |e| e.ends_with(NEW)));
        self.files().iter().for_each(|path| drop(fs::remove_file(path)));
        half.for_each(|path| drop(fs::remove_file(path)));
        drop(fs::remove_dir(&self.folder));
    }

    fn files(&self) -> Vec<PathBuf> {
        with(&self.folder, |e| e == EXTENSION)
    }
}

/// The files of a folder with such an extension.
fn with(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    entries.filter(|p| p.extension().and_then(|e| e.to_str()).is_some_and(&wanted)).collect()
}

/// Writes a file under a name of this process beside its own, and renames it when it is on the disk.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let beside = path.with_extension(format!("{}{NEW}", std::process::id()));
    let written = File::create(&beside).and_then(|mut file| {
        write(&mut file)?;
        file.sync_all()
    });
    let done = written.and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        drop(fs::remove_file(&beside));
    }
    done
}
