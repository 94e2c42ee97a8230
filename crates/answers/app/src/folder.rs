//! A result folder, replaced atomically.
//!
//! A writer holds the lock file `.NAME.longfat-lock` next to the folder from before the run until all is
//! written. The results are written to the folder `.NAME.longfat-new` next to it. Once they are on the disk,
//! the two folders are exchanged, and what does not belong to a result (the user's own files, kept runs) is
//! moved over. A process that is killed leaves either the old results or the new ones, never a mix; the next
//! process that gets the lock removes its leftovers.
//!
//! | where | what is done instead |
//! |---|---|
//! | the file system cannot exchange two folders | the old one is renamed to `.NAME.longfat-old` first, so for a moment there is none |
//! | the folder is a mount point, or is or contains the current folder | files are renamed one by one out of a folder in it; if the process is killed during that moment, the mix shows in the files' run ids |
//! | nothing can be created next to it | as in the row above, and the lock is in the folder too |

use crate::CommandError;
use crate::regular;
use crate::sys;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The files of a result. Any other file in the folder is the user's own.
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
/// Folder of finished runs of an unfinished experiment ([`crate::keep`]).
pub const KEPT: &str = "runs";

const LOCK: &str = "longfat-lock";
const NEW: &str = "longfat-new";
const OLD: &str = "longfat-old";

/// A locked result folder.
pub struct ResultFolder {
    /// The path as the user gave it.
    named: PathBuf,
    /// The path with links resolved.
    path: PathBuf,
    lock: PathBuf,
    /// The open lock file. Closing it releases the lock.
    locked: Option<File>,
    new: PathBuf,
    old: PathBuf,
    /// Parent folders that were created for this one, the innermost first.
    created: Vec<PathBuf>,
    /// Whether `new` is next to the folder and can be exchanged with it.
    can_exchange: bool,
}

impl ResultFolder {
    /// Locks the folder, which need not exist yet, and removes what a killed process left in it.
    ///
    /// # Errors
    /// Fails when another process has locked the folder, when nothing can be written there, or when the path
    /// is a symbolic link or not a folder.
    pub fn claim(named: &Path) -> Result<ResultFolder, CommandError> {
        let at = |e| CommandError::Io(named.display().to_string(), e);
        match fs::symlink_metadata(named) {
            Ok(there) if there.is_symlink() => {
                return Err(at(invalid("is a symbolic link, which is not followed: name the folder itself")));
            }
            Ok(there) if !there.is_dir() => return Err(at(invalid("is not a folder"))),
            _ => {}
        }
        let (path, created) = resolve(named).map_err(at)?;
        let hidden = |folder: &Path, name: &str, end: &str| folder.join(format!(".{name}{end}"));
        let parent = path.parent().filter(|_| path.file_name().is_some()).unwrap_or(&path).to_path_buf();
        let name = path.file_name().map_or(String::new(), |n| format!("{}.", n.to_string_lossy()));
        let mut lock = hidden(&parent, &name, LOCK);
        let mut locked = regular::lock(&lock);
        let is_denied =
            |e: &io::Error| matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem);
        let mut can_exchange = can_rename(&path, &parent);
        if locked.as_ref().is_err_and(is_denied) && path.is_dir() {
            (lock, can_exchange) = (hidden(&path, "", LOCK), false);
            locked = regular::lock(&lock);
        }
        let Some(locked) = locked.map_err(|e| remove_created(&created, at(e)))? else {
            let text = format!(
                "another run is writing to {}: wait for it to end, or use --out DIR",
                named.display()
            );
            return Err(CommandError::Usage(text));
        };
        let (within, name) = if can_exchange { (&parent, &*name) } else { (&path, "") };
        let folder = ResultFolder {
            named: named.into(),
            new: hidden(within, name, NEW),
            old: hidden(within, name, OLD),
            lock,
            locked: Some(locked),
            created,
            can_exchange,
            path: path.clone(),
        };
        folder.remove_leftovers().and_then(|()| fs::create_dir(&folder.new)).map_err(at)?;
        Ok(folder)
    }

    /// Fails when fewer than `bytes` are free on the disk.
    pub fn check_room(&self, bytes: u64) -> Result<(), CommandError> {
        match sys::free_bytes(&self.new) {
            Some(free) if free < bytes => {
                let mb = |bytes: u64| (bytes as f64 / 1e6).ceil();
                Err(CommandError::Usage(format!(
                    "{} has {} MB left and the results may take {} MB; nothing was run. --out DIR writes them \
                     elsewhere; a longer `sample` in the scenario makes them smaller",
                    self.named.display(),
                    mb(free),
                    mb(bytes),
                )))
            }
            _ => Ok(()),
        }
    }

    /// Calls `write` to fill an empty folder, then replaces the old results by it.
    pub fn publish(&self, write: impl FnOnce(&Path) -> Result<(), CommandError>) -> Result<(), CommandError> {
        write(&self.new)?;
        self.replace().map_err(|e| CommandError::Io(self.named.display().to_string(), e))
    }

    fn replace(&self) -> io::Result<()> {
        regular::sync_folder(&self.new);
        if !self.can_exchange {
            return self.replace_files();
        }
        if let Ok(there) = fs::symlink_metadata(&self.path) {
            fs::set_permissions(&self.new, there.permissions())?;
            match sys::exchange(&self.new, &self.path) {
                Ok(()) => move_user_files(&self.new, &self.path)?,
                Err(e) if e.kind() == ErrorKind::Unsupported => {
                    fs::rename(&self.path, &self.old)?;
                    fs::rename(&self.new, &self.path)?;
                    move_user_files(&self.old, &self.path)?;
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
        // A file that the new results lack must not stay and be taken for one of them.
        let (there, gone): (Vec<&str>, Vec<&str>) =
            NAMES.into_iter().partition(|name| self.new.join(name).exists());
        gone.iter().for_each(|name| drop(fs::remove_file(self.path.join(name))));
        there.iter().try_for_each(|name| fs::rename(self.new.join(name), self.path.join(name)))?;
        regular::sync_folder(&self.path);
        Ok(())
    }

    /// Removes what a killed process left.
    fn remove_leftovers(&self) -> io::Result<()> {
        if self.old.exists() && !self.path.exists() {
            fs::rename(&self.old, &self.path)?;
        }
        for left in [&self.old, &self.new] {
            if fs::symlink_metadata(left).is_ok_and(|there| there.is_dir()) {
                move_user_files(left, &self.path)?;
            }
        }
        Ok(())
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        drop(move_user_files(&self.new, &self.path));
        drop(fs::remove_file(&self.lock));
        // On Windows a name exists, and its folder is not empty, until the last open handle of the file is
        // closed.
        drop(self.locked.take());
        self.created.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, what)
}

/// Returns the folder's path with links resolved, and the parent folders that were created for it, the
/// innermost first.
fn resolve(named: &Path) -> io::Result<(PathBuf, Vec<PathBuf>)> {
    if named.exists() {
        return Ok((fs::canonicalize(named)?, Vec::new()));
    }
    let whole = std::path::absolute(named)?;
    let (Some(parent), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Err(invalid("is not the name of a folder"));
    };
    let missing: Vec<PathBuf> =
        parent.ancestors().take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect();
    fs::create_dir_all(parent)?;
    Ok((fs::canonicalize(parent)?.join(name), missing))
}

/// Removes the created folders after a failure, and passes the error on.
fn remove_created(created: &[PathBuf], problem: CommandError) -> CommandError {
    created.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    problem
}

/// Whether the folder can be renamed: it has a name, is not a mount point, and the current folder is not
/// inside it.
fn can_rename(path: &Path, parent: &Path) -> bool {
    let here = std::env::current_dir().and_then(fs::canonicalize);
    path.file_name().is_some()
        && !here.is_ok_and(|here| here.starts_with(path))
        && !is_mount_point(path, parent)
}

#[cfg(unix)]
fn is_mount_point(path: &Path, parent: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path| fs::metadata(path).map(|m| m.dev()).ok();
    path.exists() && device(path) != device(parent)
}

#[cfg(not(unix))]
fn is_mount_point(_: &Path, _: &Path) -> bool {
    false
}

/// Moves what does not belong to a result from `left` to `to`, then removes `left` and the rest of it.
fn move_user_files(left: &Path, to: &Path) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(left) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        let is_result_file = name.to_str().is_some_and(|name| NAMES.contains(&name));
        let there = to.join(&name);
        if is_result_file && !entry.file_type()?.is_dir() {
            fs::remove_file(path)?;
        } else if fs::symlink_metadata(&there).is_err() {
            fs::create_dir_all(to)?;
            fs::rename(path, there)?;
        } else if name == KEPT && entry.file_type()?.is_dir() {
            fs::remove_dir_all(path)?;
        } else {
            let what = format!("{} and {} both exist: move one of them", path.display(), there.display());
            return Err(io::Error::new(ErrorKind::AlreadyExists, what));
        }
    }
    fs::remove_dir(left)
}
