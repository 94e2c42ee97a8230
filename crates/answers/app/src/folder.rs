//! The folder of a run's results, replaced as one.
//!
//! Whoever writes to a folder holds a lock beside it, `.NAME.longfat-lock`, from before the run until all is written.
//! The results are written to `.NAME.longfat-new` beside it; when they are on the disk the two folders are exchanged at
//! once, and what of the old one is no part of a result (a user's own files, kept runs) is moved over. A process that
//! is killed leaves the old results or the new ones, never some of both, and what else it leaves the next one to get
//! the lock clears up.
//!
//! | where | what is done instead |
//! |---|---|
//! | the file system cannot exchange two folders | the old one is renamed to `.NAME.longfat-old` first: for a moment there is none |
//! | the folder is a mount point, the current folder or around it | files are renamed one by one out of a folder in it; a mix, which a kill within that moment leaves, is known by the files' run ids |
//! | nothing can be created beside it | the same, and the lock is in it too |

use crate::CommandError;
use crate::regular;
use crate::sys;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The files of a result. Whatever else is in the folder is somebody's own.
pub const NAMES: [&str; 9] = [
    "result.json",
    "flows.parquet",
    "states.parquet",
    "elements.parquet",
    "retransmissions.parquet",
    "responses.parquet",
    "scenario.toml",
    "report.html",
    "provenance.json",
];
/// Finished runs of unfinished work ([`crate::keep`]).
pub const KEPT: &str = "runs";

const LOCK: &str = "longfat-lock";
const NEW: &str = "longfat-new";
const OLD: &str = "longfat-old";

/// A result folder that nobody else writes to.
pub struct ResultFolder {
    /// As the user named it.
    named: PathBuf,
    /// Without links.
    path: PathBuf,
    lock: PathBuf,
    /// Closed, it is free.
    locked: Option<File>,
    new: PathBuf,
    old: PathBuf,
    /// Folders that were not there before, the innermost first.
    made: Vec<PathBuf>,
    /// `new` is beside it, and the two can be exchanged.
    beside: bool,
}

impl ResultFolder {
    /// Takes the folder, which need not be there yet; clears up what a killed process left of it.
    ///
    /// # Errors
    /// Another process has it, nothing can be written there, or it is a symbolic link or no folder.
    pub fn claim(named: &Path) -> Result<ResultFolder, CommandError> {
        let at = |e| CommandError::Io(named.display().to_string(), e);
        match fs::symlink_metadata(named) {
            Ok(there) if there.is_symlink() => {
                return Err(at(wrong("is a symbolic link, which is not followed: name the folder itself")));
            }
            Ok(there) if !there.is_dir() => return Err(at(wrong("is not a folder"))),
            _ => {}
        }
        let (path, made) = place(named).map_err(at)?;
        let hidden = |folder: &Path, name: &str, end: &str| folder.join(format!(".{name}{end}"));
        let parent = path.parent().filter(|_| path.file_name().is_some()).unwrap_or(&path).to_path_buf();
        let name = path.file_name().map_or(String::new(), |n| format!("{}.", n.to_string_lossy()));
        let mut lock = hidden(&parent, &name, LOCK);
        let mut locked = regular::lock(&lock);
        let shut =
            |e: &io::Error| matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem);
        let mut beside = exchangeable(&path, &parent);
        if locked.as_ref().is_err_and(shut) && path.is_dir() {
            (lock, beside) = (hidden(&path, "", LOCK), false);
            locked = regular::lock(&lock);
        }
        let Some(locked) = locked.map_err(|e| undo(&made, at(e)))? else {
            let text =
                format!("another run is writing to {}: wait for it, or take --out DIR", named.display());
            return Err(CommandError::Usage(text));
        };
        let (within, name) = if beside { (&parent, &*name) } else { (&path, "") };
        let folder = ResultFolder {
            named: named.into(),
            new: hidden(within, name, NEW),
            old: hidden(within, name, OLD),
            lock,
            locked: Some(locked),
            made,
            beside,
            path: path.clone(),
        };
        folder.clear_up().and_then(|()| fs::create_dir(&folder.new)).map_err(at)?;
        Ok(folder)
    }

    /// Refuses what is not going to fit.
    pub fn check_room(&self, bytes: u64) -> Result<(), CommandError> {
        match sys::free_bytes(&self.new) {
            Some(free) if free < bytes => {
                let mb = |bytes: u64| (bytes as f64 / 1e6).ceil();
                Err(CommandError::Usage(format!(
                    "{} has {} MB left and the results may take {} MB: nothing was run; --out DIR writes them \
                     elsewhere, a longer `sample` in the scenario makes them smaller",
                    self.named.display(),
                    mb(free),
                    mb(bytes),
                )))
            }
            _ => Ok(()),
        }
    }

    /// Has `write` fill an empty folder, then puts it in the place of the old one.
    pub fn publish(&self, write: impl FnOnce(&Path) -> Result<(), CommandError>) -> Result<(), CommandError> {
        write(&self.new)?;
        self.replace().map_err(|e| CommandError::Io(self.named.display().to_string(), e))
    }

    fn replace(&self) -> io::Result<()> {
        regular::sync_folder(&self.new);
        if !self.beside {
            return self.replace_files();
        }
        if let Ok(there) = fs::symlink_metadata(&self.path) {
            fs::set_permissions(&self.new, there.permissions())?;
            match sys::exchange(&self.new, &self.path) {
                Ok(()) => adopt(&self.new, &self.path)?,
                Err(e) if e.kind() == ErrorKind::Unsupported => {
                    fs::rename(&self.path, &self.old)?;
                    fs::rename(&self.new, &self.path)?;
                    adopt(&self.old, &self.path)?;
                }
                Err(e) => return Err(e),
            }
        } else {
            fs::rename(&self.new, &self.path)?;
        }
        self.path.parent().into_iter().for_each(regular::sync_folder);
        Ok(())
    }

    fn replace_files(&self) -> io::Result<()> {
        // What the new results lack must not be taken for theirs.
        let (there, gone): (Vec<&str>, Vec<&str>) =
            NAMES.into_iter().partition(|name| self.new.join(name).exists());
        gone.iter().for_each(|name| drop(fs::remove_file(self.path.join(name))));
        there.iter().try_for_each(|name| fs::rename(self.new.join(name), self.path.join(name)))?;
        regular::sync_folder(&self.path);
        Ok(())
    }

    /// What a killed process left.
    fn clear_up(&self) -> io::Result<()> {
        if self.old.exists() && !self.path.exists() {
            fs::rename(&self.old, &self.path)?;
        }
        for left in [&self.old, &self.new] {
            if fs::symlink_metadata(left).is_ok_and(|there| there.is_dir()) {
                adopt(left, &self.path)?;
            }
        }
        Ok(())
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        drop(adopt(&self.new, &self.path));
        drop(fs::remove_file(&self.lock));
        // On Windows a name is there until nobody has the file open any more, and the folder is not empty.
        drop(self.locked.take());
        self.made.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, what)
}

/// Where the folder is or will be, and the folders around it that were made for it, the innermost first.
fn place(named: &Path) -> io::Result<(PathBuf, Vec<PathBuf>)> {
    if named.exists() {
        return Ok((fs::canonicalize(named)?, Vec::new()));
    }
    let whole = std::path::absolute(named)?;
    let (Some(parent), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Err(wrong("is not the name of a folder"));
    };
    let missing: Vec<PathBuf> =
        parent.ancestors().take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect();
    fs::create_dir_all(parent)?;
    Ok((fs::canonicalize(parent)?.join(name), missing))
}

/// Takes folders away that were made for nothing.
fn undo(made: &[PathBuf], problem: CommandError) -> CommandError {
    made.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    problem
}

/// Whether the folder can be renamed, and nobody is in it whom that would lead astray.
fn exchangeable(path: &Path, parent: &Path) -> bool {
    let here = std::env::current_dir().and_then(fs::canonicalize);
    path.file_name().is_some() && !here.is_ok_and(|here| here.starts_with(path)) && !mounted(path, parent)
}

#[cfg(unix)]
fn mounted(path: &Path, parent: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path| fs::metadata(path).map(|m| m.dev()).ok();
    path.exists() && device(path) != device(parent)
}

#[cfg(not(unix))]
fn mounted(_: &Path, _: &Path) -> bool {
    false
}

/// Moves what is no part of a result from `left` to `to`, and removes `left` with the rest.
fn adopt(left: &Path, to: &Path) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(left) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        let ours = name.to_str().is_some_and(|name| NAMES.contains(&name));
        let there = to.join(&name);
        if ours && !entry.file_type()?.is_dir() {
            fs::remove_file(path)?;
        } else if fs::symlink_metadata(&there).is_err() {
            fs::create_dir_all(to)?;
            fs::rename(path, there)?;
        } else if name == KEPT && entry.file_type()?.is_dir() {
            fs::remove_dir_all(path)?;
        } else {
            let what = format!("{} and {} are both there: move one of them", path.display(), there.display());
            return Err(io::Error::new(ErrorKind::AlreadyExists, what));
        }
    }
    fs::remove_dir(left)
}
