//! Names of files: any bytes, and names that methods have too.

use crate::command;
use std::error::Error;
use std::path::Path;

type Outcome = Result<(), Box<dyn Error>>;

/// A small image as a portable float map.
fn write(path: &Path) -> Outcome {
    let mut bytes = b"PF\n4 3\n-1\n".to_vec();
    bytes.extend((0..36).flat_map(|i| (0.1 * (i % 7) as f32).to_le_bytes()));
    Ok(std::fs::write(path, bytes)?)
}

#[test]
fn files_may_be_called_like_methods() -> Outcome {
    let folder = tempfile::tempdir()?;
    write(&folder.path().join("in.pfm"))?;
    std::fs::create_dir(folder.path().join("bilateral"))?;
    // The folder has the name of a filter that is listed before the one that is meant, and stands before it.
    let args = "filter -o bilateral tent --radius 1 in.pfm --device cpu";
    let out = command(folder.path()).args(args.split(' ')).output()?;
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert!(folder.path().join("bilateral/in.pfm").exists(), "{said}");
    let args = "filter bilateral -o tent.pfm bilateral/in.pfm --sigma-range 0.2 --device cpu";
    let out = command(folder.path()).args(args.split(' ')).output()?;
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    Ok(())
}

#[test]
fn a_file_with_a_hash_in_its_name_is_that_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("shots"))?;
    for name in ["IMG #2.pfm", "shots/IMG #3.pfm", "shots/100%d.pfm"] {
        write(&folder.path().join(name))?;
    }
    for (from, to, there) in [
        ("IMG #2.pfm", "plain.pfm", "plain.pfm"),
        ("IMG #2.pfm", "IMG #4.pfm", "IMG #4.pfm"),
        ("shots", "results", "results/IMG #3.pfm"),
    ] {
        let out = command(folder.path())
            .args(["denoise", from, "-o", to, "--method", "eaw"])
            .args(["--sigma", "0.1", "--device", "cpu"])
            .output()?;
        assert!(
            out.status.success(),
            "{from}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        assert!(folder.path().join(there).exists(), "{there}");
    }
    assert!(folder.path().join("results/100%d.pfm").exists());
    let args = ["compare", "IMG #2.pfm", "--reference", "IMG #2.pfm"];
    let out = command(folder.path()).args(args).output()?;
    assert!(out.status.success());
    Ok(())
}

#[cfg(unix)]
#[test]
fn names_need_not_be_utf8() -> Outcome {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir()?;
    let name = |bytes: &'static [u8]| OsStr::from_bytes(bytes);
    write(&folder.path().join(name(b"a\xff.pfm")))?;
    for t in [b"s\xff7.pfm", b"s\xff8.pfm"] {
        write(&folder.path().join(name(t)))?;
    }
    for (from, to, there) in [
        (&b"a\xff.pfm"[..], &b"b\xfe.pfm"[..], &b"b\xfe.pfm"[..]),
        (b"s\xff#.pfm", b"t\xff##.pfm", b"t\xff08.pfm"),
    ] {
        let out = command(folder.path())
            .arg("denoise")
            .arg(OsStr::from_bytes(from))
            .arg("-o")
            .arg(OsStr::from_bytes(to))
            .args(["--method", "eaw", "--sigma", "0.1", "--device", "cpu"])
            .arg("--json")
            .output()?;
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        for line in String::from_utf8(out.stdout)?.lines() {
            let fact: serde_json::Value = serde_json::from_str(line)?;
            let name = fact["input"].as_str().unwrap_or_default();
            assert!(name.contains('\u{fffd}'), "{line}");
        }
        assert!(folder.path().join(OsStr::from_bytes(there)).exists());
    }
    let out = command(folder.path())
        .arg("info")
        .arg(name(b"a\xff.pfm"))
        .arg("--json")
        .output()?;
    let fact: serde_json::Value = serde_json::from_slice(&out.stdout)?;
    assert_eq!(fact["file"], "a\u{fffd}.pfm");
    Ok(())
}
