//! Output files are written completely or not at all.
//!
//! Bytes are written to a temporary file in the folder of the target and flushed to disk, and the temporary file is renamed
//! onto the target. A reader sees the old file or the new one, never a part; if anything fails (no space, no permission, the
//! program is killed) the old file is untouched.
//!
//! A program that is killed leaves its temporary file behind. Files being written are locked; the next program that writes to
//! the folder removes unlocked ones.

use limpid_core::{Error, Result};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Prefix and suffix of the names of temporary files.
const TEMPORARY: [&str; 2] = [".limpid-", ".tmp"];

/// A file written within this time is left alone: its lock may be about to be taken.
const YOUNG: Duration = Duration::from_secs(60);

/// Writes a file completely or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    // Devices and pipes (/dev/stdout, a named pipe) cannot be replaced by renaming.
    if path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        let mut device = std::fs::OpenOptions::new()
            .write(true)
            .open(path)
            .map_err(|e| Error::io(path, e))?;
        return device
            .write_all(bytes)
            .and_then(|()| device.flush())
            .map_err(|e| Error::io(path, e));
    }
    if path.is_dir() {
        return Err(Error::input(format!(
            "{}: is a folder; name a file to write",
            path.display()
        )));
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Err(Error::input(format!(
            "{}: the folder {} does not exist",
            path.display(),
            folder.display()
        )));
    }
    // Follows a link, so that it stays a link to the new content.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => folder,
    };
    replace(folder, &target, bytes).map_err(|e| Error::io(path, e))
}

fn replace(folder: &Path, target: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // A file without write permission may not be replaced either, though the folder would permit it.
    let before = target.metadata().ok().map(|m| m.permissions());
    if before.as_ref().is_some_and(std::fs::Permissions::readonly) {
        return Err(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            "the file is read-only",
        ));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY[0]).suffix(TEMPORARY[1]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Like any new file: readable and writable by all, minus the user's mask.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // Errors do not mention the temporary file: its name means nothing to the user.
    let mut file = builder
        .tempfile_in(folder)
        .map_err(|e| std::io::Error::from(e.kind()))?;
    // On a file system without locks, nothing is ever removed.
    let _ = file.as_file().try_lock();
    sweep_once(folder);
    file.as_file_mut().write_all(bytes)?;
    file.as_file().sync_all()?;
    if let Some(before) = before {
        file.as_file().set_permissions(before)?;
    }
    file.persist(target).map_err(|e| e.error)?;
    Ok(())
}

/// Removes leftover files in a folder, the first time that it is written to.
fn sweep_once(folder: &Path) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if swept.len() < 1000 && swept.insert(folder.to_owned()) {
        drop(swept);
        sweep(folder, YOUNG);
    }
}

/// Removes temporary files that are older than this and not locked.
fn sweep(folder: &Path, young: Duration) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name
            .to_str()
            .is_some_and(|n| n.starts_with(TEMPORARY[0]) && n.ends_with(TEMPORARY[1]));
        if !ours || !entry.metadata().is_ok_and(|m| is_old(&m, young)) {
            continue;
        }
        let path = entry.path();
        let file = std::fs::OpenOptions::new().write(true).open(&path);
        if file.is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// Whether a file was last written longer ago than this. A time in the future counts as young.
fn is_old(file: &std::fs::Metadata, young: Duration) -> bool {
    let age = file.modified().ok().and_then(|m| m.elapsed().ok());
    file.is_file() && age.is_some_and(|age| age >= young)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn replaces_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(names(folder.path()), ["a.bin"]);
    }

    #[test]
    fn what_was_left_behind_is_removed_unless_it_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [".limpid-dead.tmp", ".limpid-live.tmp", ".other-dead.tmp"] {
            std::fs::write(at(name), b"part").unwrap();
        }
        let live = std::fs::File::open(at(".limpid-live.tmp")).unwrap();
        live.lock().unwrap();
        sweep(folder.path(), Duration::from_secs(3600));
        assert_eq!(names(folder.path()).len(), 3);
        sweep(folder.path(), Duration::ZERO);
        let mut left = names(folder.path());
        left.sort();
        assert_eq!(left, [".limpid-live.tmp", ".other-dead.tmp"]);
    }

    #[test]
    fn read_only_files_and_missing_folders_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write(&path, b"one").unwrap();
        let mut permissions = path.metadata().unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).unwrap();
        let error = write(&path, b"two").unwrap_err().to_string();
        assert!(error.contains("read-only"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        assert_eq!(names(folder.path()), ["a.bin"]);

        let error = write(&folder.path().join("no/a.bin"), b"x")
            .unwrap_err()
            .to_string();
        assert!(error.contains("does not exist"), "{error}");
        let error = write(folder.path(), b"x").unwrap_err().to_string();
        assert!(error.contains("folder"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_told() {
        let error = write(Path::new("/dev/full"), &[0; 4096]).unwrap_err();
        assert!(matches!(&error, Error::Io { cause, .. }
            if cause.kind() == std::io::ErrorKind::StorageFull));
        assert!(error.to_string().contains("/dev/full"), "{error}");
    }
}
