//! Regular files, read and written with care: no other kind is opened, no symbolic link is followed at the end of a
//! path, and a file is replaced as a whole or not at all.

use crate::sys;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The most that is read of a file of a result.
const MOST: u64 = 16 << 30;
/// What a name ends with while its file is being written.
const NEW: &str = "longfat-new";

fn other(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, what)
}

/// Options that neither follow a link nor wait for the other end of a pipe.
fn careful() -> OpenOptions {
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, {
        use rustix::fs::OFlags;
        (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32
    });
    options
}

/// Opens what is there, or is made; anything but a regular file is an error.
fn open_with(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // Before it is opened: to open a device may do something.
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => return Err(other("is a symbolic link, which is not followed")),
        Ok(there) if there.is_dir() => return Err(other("is a folder")),
        Ok(there) if !there.is_file() => return Err(other("is not a regular file")),
        _ => {}
    }
    let file = options.open(path)?;
    // And after: it may have become another in between.
    if file.metadata()?.is_file() { Ok(file) } else { Err(other("is not a regular file")) }
}

/// Reads a file of at most `most` bytes.
pub fn read_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_with(path, careful().read(true))?;
    let size = file.metadata()?.len();
    let too_large = || other(&format!("has more than {most} bytes"));
    if size > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(size as usize);
    // What grows meanwhile is not read to its end.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// Reads a file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_most(path, MOST)
}

/// Reads a text of at most `most` bytes.
pub fn read_text_most(path: &Path, most: u64) -> io::Result<String> {
    // The message of the standard library would show none of it either.
    String::from_utf8(read_most(path, most)?).map_err(|_| other("is not UTF-8 text"))
}

/// Reads a text.
pub fn read_text(path: &Path) -> io::Result<String> {
    read_text_most(path, MOST)
}

/// Creates and locks a file, until it is closed; `None` where another process has locked it.
pub fn lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = open_with(path, careful().write(true).create(true).truncate(false))?;
        if !sys::try_lock(&file)? {
            return Ok(None);
        }
        // Who had it may have removed or renamed it: then the name is another file's by now.
        if same(&file, path) {
            return Ok(Some(file));
        }
    }
}

#[cfg(unix)]
fn same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is = |m: &fs::Metadata| (m.dev(), m.ino());
    let there = fs::symlink_metadata(path);
    file.metadata().is_ok_and(|mine| there.is_ok_and(|there| is(&mine) == is(&there)))
}

#[cfg(not(unix))]
fn same(_: &File, _: &Path) -> bool {
    true
}

/// Has the system write a folder's list of names to the disk.
pub fn sync_folder(folder: &Path) {
    // Not every file system can; then its own order has to do.
    drop(File::open(folder).and_then(|folder| folder.sync_all()));
}

/// A file being written under another name beside its own. Until [`NewFile::commit`] what is there stays as it was.
pub struct NewFile {
    path: PathBuf,
    beside: PathBuf,
    out: Option<BufWriter<File>>,
}

impl NewFile {
    /// Begins; the folder must be there.
    pub fn create(path: &Path) -> io::Result<NewFile> {
        let name = path.file_name().ok_or_else(|| other("is not the name of a file"))?;
        let permissions = match fs::symlink_metadata(path) {
            Err(_) => None,
            Ok(there) if there.is_file() => Some(there.permissions()),
            Ok(there) if there.is_dir() => return Err(other("is a folder")),
            Ok(there) if there.is_symlink() => {
                return Err(other("is a symbolic link, which is not followed"));
            }
            Ok(_) => return Err(other("is not a regular file")),
        };
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(".");
        beside.push(NEW);
        let beside = path.with_file_name(beside);
        let busy = || io::Error::new(ErrorKind::WouldBlock, "is being written by another process");
        let file = lock(&beside)?.ok_or_else(busy)?;
        file.set_len(0)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        Ok(NewFile { path: path.into(), beside, out: Some(BufWriter::new(file)) })
    }

    /// The file itself, for who writes to it alone; [`NewFile::commit`] names it.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))] // the lab's captures
    pub fn file(&self) -> io::Result<File> {
        self.out.as_ref().map_or_else(|| Err(other("is written already")), |out| out.get_ref().try_clone())
    }

    /// All is written: it takes its name, and the place of what had it.
    pub fn commit(mut self) -> io::Result<()> {
        let Some(mut out) = self.out.take() else { return Ok(()) };
        let done = out.flush().and_then(|()| out.get_ref().sync_all());
        let done = done.and_then(|()| fs::rename(&self.beside, &self.path));
        if done.is_err() {
            drop(fs::remove_file(&self.beside));
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
            drop(fs::remove_file(&self.beside));
            // What is still to be written is for nobody.
            drop(out.into_parts());
        }
    }
}

/// Writes a file as a whole.
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
        assert!(NewFile::create(&path).is_err(), "one at a time");
        half.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(half);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        // What a killed process left is no obstacle.
        fs::write(dir.join(".a.longfat-new"), "what a killed one left").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        fs::remove_dir_all(&dir).unwrap();
    }
}
