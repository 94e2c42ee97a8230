//! Reads and writes regular files with care: no other kind of file is opened, a symbolic link at the end of a
//! path is not followed, and a file is replaced as a whole or not at all.

use crate::sys;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Size limit for reading a file of a result, in bytes.
const MAX_BYTES: u64 = 16 << 30;
/// Extension of a file while it is being written.
const NEW_EXTENSION: &str = "longfat-new";

fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, what)
}

/// Options that neither follow a link nor block on a pipe.
fn safe_options() -> OpenOptions {
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, {
        use rustix::fs::OFlags;
        (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32
    });
    options
}

/// Opens or creates a file. Anything but a regular file is an error.
fn open_with(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // Check before opening: opening a device may have side effects.
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => return Err(invalid("is a symbolic link, which is not followed")),
        Ok(there) if there.is_dir() => return Err(invalid("is a folder")),
        Ok(there) if !there.is_file() => return Err(invalid("is not a regular file")),
        _ => {}
    }
    let file = options.open(path)?;
    // Check again after opening: the file may have been replaced in between.
    if file.metadata()?.is_file() { Ok(file) } else { Err(invalid("is not a regular file")) }
}

/// Reads a file of at most `max_bytes` bytes.
pub fn read_most(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_with(path, safe_options().read(true))?;
    let size = file.metadata()?.len();
    let too_large = || invalid(&format!("has more than {max_bytes} bytes"));
    if size > max_bytes {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(size as usize);
    // The file may grow while it is read; it is read no further than the limit.
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes { Err(too_large()) } else { Ok(bytes) }
}

/// Reads a file of a result.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_most(path, MAX_BYTES)
}

/// Reads a text of at most `max_bytes` bytes.
pub fn read_text_most(path: &Path, max_bytes: u64) -> io::Result<String> {
    // The standard library's error does not show the text either.
    String::from_utf8(read_most(path, max_bytes)?).map_err(|_| invalid("is not UTF-8 text"))
}

/// Reads a text of a result.
pub fn read_text(path: &Path) -> io::Result<String> {
    read_text_most(path, MAX_BYTES)
}

/// Creates and locks a file; closing it releases the lock. `None` where another process has locked it.
pub fn lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = open_with(path, safe_options().write(true).create(true).truncate(false))?;
        if !sys::try_lock(&file)? {
            return Ok(None);
        }
        // The previous owner may have removed or renamed the file, so that the name now belongs to another
        // file.
        if is_same_file(&file, path) {
            return Ok(Some(file));
        }
    }
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is = |m: &fs::Metadata| (m.dev(), m.ino());
    let there = fs::symlink_metadata(path);
    file.metadata().is_ok_and(|mine| there.is_ok_and(|there| is(&mine) == is(&there)))
}

#[cfg(not(unix))]
fn is_same_file(_: &File, _: &Path) -> bool {
    true
}

/// Syncs a folder's directory entries to the disk.
pub fn sync_folder(folder: &Path) {
    // Some file systems cannot do that; their own write order has to suffice.
    drop(File::open(folder).and_then(|folder| folder.sync_all()));
}

/// A file that is written under another name next to its final one. An existing file stays as it is until
/// [`NewFile::commit`].
pub struct NewFile {
    path: PathBuf,
    unfinished: PathBuf,
    out: Option<BufWriter<File>>,
}

impl NewFile {
    /// Creates the file; its folder must exist.
    pub fn create(path: &Path) -> io::Result<NewFile> {
        let name = path.file_name().ok_or_else(|| invalid("is not the name of a file"))?;
        let permissions = match fs::symlink_metadata(path) {
            Err(_) => None,
            Ok(there) if there.is_file() => Some(there.permissions()),
            Ok(there) if there.is_dir() => return Err(invalid("is a folder")),
            Ok(there) if there.is_symlink() => {
                return Err(invalid("is a symbolic link, which is not followed"));
            }
            Ok(_) => return Err(invalid("is not a regular file")),
        };
        let mut unfinished = std::ffi::OsString::from(".");
        unfinished.push(name);
        unfinished.push(".");
        unfinished.push(NEW_EXTENSION);
        let unfinished = path.with_file_name(unfinished);
        let busy = || io::Error::new(ErrorKind::WouldBlock, "is being written by another process");
        let file = lock(&unfinished)?.ok_or_else(busy)?;
        file.set_len(0)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        Ok(NewFile { path: path.into(), unfinished, out: Some(BufWriter::new(file)) })
    }

    /// Returns a handle of the file itself, for a caller that writes to it directly; [`NewFile::commit`]
    /// renames it.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))] // the lab's captures
    pub fn file(&self) -> io::Result<File> {
        self.out.as_ref().map_or_else(|| Err(invalid("is written already")), |out| out.get_ref().try_clone())
    }

    /// Syncs the file and renames it to its final name, replacing an existing file.
    pub fn commit(mut self) -> io::Result<()> {
        let Some(mut out) = self.out.take() else { return Ok(()) };
        let done = out.flush().and_then(|()| out.get_ref().sync_all());
        let done = done.and_then(|()| fs::rename(&self.unfinished, &self.path));
        if done.is_err() {
            drop(fs::remove_file(&self.unfinished));
        }
        done
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(out) = self.out.take() {
            drop(fs::remove_file(&self.unfinished));
            // Drop what is still buffered without writing it.
            drop(out.into_parts());
        }
    }
}

/// Writes a file atomically.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("longfat-regular-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&dir));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn only_regular_files_are_opened() {
        let dir = folder("kinds");
        fs::write(dir.join("victim"), "mine").unwrap();
        symlink(dir.join("victim"), dir.join("link")).unwrap();
        symlink(dir.join("nowhere"), dir.join("dangling")).unwrap();
        assert!(Command::new("mkfifo").arg(dir.join("fifo")).status().unwrap().success());
        fs::create_dir(dir.join("folder")).unwrap();
        for (name, why) in [
            ("link", "symbolic link"),
            ("dangling", "symbolic link"),
            ("fifo", "not a regular file"),
            ("folder", "is a folder"),
        ] {
            let path = dir.join(name);
            let errors = [
                read(&path).map(drop).unwrap_err(),
                NewFile::create(&path).map(drop).unwrap_err(),
                write(&path, b"theirs").unwrap_err(),
                lock(&path).map(drop).unwrap_err(),
            ];
            errors.iter().for_each(|e| assert!(e.to_string().contains(why), "{name}: {e}"));
        }
        assert_eq!(fs::read(dir.join("victim")).unwrap(), b"mine");
        assert!(!dir.join("nowhere").exists());
        assert!(read_most(&dir.join("victim"), 3).unwrap_err().to_string().contains("more than 3 bytes"));
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let dir = folder("whole");
        let path = dir.join("a");
        write(&path, b"old").unwrap();
        let mut half = NewFile::create(&path).unwrap();
        half.write_all(b"half of the n").unwrap();
        assert!(NewFile::create(&path).is_err(), "only one writer at a time");
        half.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(half);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        // A killed process's leftover does not block the next writer.
        fs::write(dir.join(".a.longfat-new"), "what a killed one left").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        fs::remove_dir_all(&dir).unwrap();
    }
}
