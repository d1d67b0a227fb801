//! Wavelet transforms of files, forward and inverse.

use crate::command;
use limpid::io::{self, ReadOptions, Transfer, WriteOptions};
use limpid::{Frame, Image};
use std::error::Error;
use std::path::Path;
use std::process::Output;

type Outcome = Result<(), Box<dyn Error>>;

fn limpid(folder: &Path, args: &str) -> Result<Output, Box<dyn Error>> {
    Ok(command(folder)
        .args(args.split(' '))
        .arg("--quiet")
        .output()?)
}

fn done(folder: &Path, args: &str) -> Result<String, Box<dyn Error>> {
    let out = limpid(folder, args)?;
    if !out.status.success() {
        return Err(format!("{args}: {}", String::from_utf8_lossy(&out.stderr)).into());
    }
    Ok(String::from_utf8(out.stdout)?)
}

/// A folder with a photograph of 21 by 14 pixels.
fn folder() -> Result<tempfile::TempDir, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let photo = Image::from_fn(21, 14, 3, |x, y, c| {
        ((x * 31 + y * 17 + c * 5) % 101) as f32 / 100.0
    });
    let mut encoded = WriteOptions::default();
    encoded.transfer = Some(Transfer::Encoded);
    io::write(
        folder.path().join("photo.png"),
        &Frame::new(photo)?,
        None,
        &encoded,
    )?;
    Ok(folder)
}

fn read(folder: &Path, name: &str) -> Result<Image, Box<dyn Error>> {
    let picture = io::read(folder.join(name), &ReadOptions::default())?;
    Ok(picture.frame.color()?.clone())
}

#[test]
fn photographs_come_back() -> Outcome {
    let folder = folder()?;
    let folder = folder.path();
    let photo = read(folder, "photo.png")?;
    std::fs::write(
        folder.join("own.txt"),
        "# CDF 5/3\npredict 0: -0.5 -0.5\nupdate -1: 0.25 0.25\n",
    )?;
    for there in [
        "",
        "--wavelet own.txt --levels 2",
        "--wavelet db3 --boundary symmetric",
        "--layout interleaved --scale unit",
        "--undecimated --levels 1",
        "--wavelet cdf53 --reversible 8",
        "--frames 7 --levels 2",
        "--wavelet dmey --boundary zero --levels 2",
    ] {
        for file in ["there.exr", "there.tif"] {
            let forward = format!("dwt photo.png -o {file} --device cpu {there}");
            done(folder, forward.trim_end())?;
            // The file says how it was made.
            done(folder, &format!("idwt {file} -o back.png --device cpu"))?;
            assert_eq!(read(folder, "back.png")?, photo, "{there}");
        }
    }
    Ok(())
}

#[test]
fn contradictions_to_the_file_are_refused() -> Outcome {
    let folder = folder()?;
    let folder = folder.path();
    let made = "dwt photo.png -o c.exr --wavelet cdf53 --levels 2 --device cpu";
    done(folder, made)?;
    for (option, part) in [
        ("--wavelet cdf97", "made with --wavelet cdf53, not cdf97"),
        ("--levels 3", "made with --levels 2, not 3"),
        ("--size 20x14", "made with --size 21x14"),
    ] {
        let out = limpid(
            folder,
            &format!("idwt c.exr -o a.png --device cpu {option}"),
        )?;
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && said.contains(part), "{said}");
    }
    done(folder, "idwt c.exr -o a.png --wavelet cdf53 --device cpu")?;
    // A portable float map says nothing.
    done(folder, &made.replace(".exr", ".pfm"))?;
    done(
        folder,
        "idwt c.pfm -o b.png --wavelet cdf53 --levels 2 --device cpu",
    )?;
    assert_eq!(read(folder, "a.png")?, read(folder, "b.png")?);
    Ok(())
}

#[test]
fn reversible_coefficients_are_whole() -> Outcome {
    let folder = folder()?;
    done(
        folder.path(),
        "dwt photo.png -o there.exr --wavelet cdf53 --reversible 8 --device cpu",
    )?;
    let there = read(folder.path(), "there.exr")?;
    assert!(there.data().iter().all(|v| v.fract() == 0.0));
    assert!(there.data().iter().any(|v| *v < 0.0));
    Ok(())
}

#[test]
fn wrong_options_are_told() -> Outcome {
    let folder = folder()?;
    for (args, part) in [
        ("dwt photo.png -o a.exr --wavelet cdf79", "cdf97"),
        ("dwt photo.png -o a.exr --boundary mirorr", "mirror"),
        ("dwt photo.png -o a.exr --reversible 8", "cdf53"),
        (
            "idwt photo.png -o a.exr --boundary zero --wavelet db2 --levels 1",
            "--size",
        ),
        ("idwt photo.png -o a.exr", "--wavelet and --levels"),
        ("dwt photo.png -o a.exr --levels 0", "1 to 30"),
        ("dwt photo.png -o a.exr --frames 3", "3 frames"),
        (
            "dwt photo.png -o a.exr --frames 2 --undecimated",
            "undecimated",
        ),
        (
            "dwt photo.png -o a.exr --frames 2 --boundary zero",
            "mirror",
        ),
    ] {
        let out = limpid(folder.path(), &format!("{args} --device cpu"))?;
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(
            !out.status.success() && said.contains(part),
            "{args}: {said}"
        );
    }
    Ok(())
}

#[test]
fn schemes_are_explained() -> Outcome {
    let folder = folder()?;
    let text = done(
        folder.path(),
        "dwt --explain --wavelet cdf53 --scheme polyconvolution",
    )?;
    // Kula 2021: 25 + 15 + 15 + 8.
    assert!(
        text.contains("63 operations") && text.contains("@compute"),
        "{text}"
    );
    Ok(())
}

/// What `dwt --explain` says of a scheme, from where the passes begin.
fn passes(folder: &Path, more: &str) -> Result<String, Box<dyn Error>> {
    let text = done(folder, &format!("dwt --explain --levels 1 {more}"))?;
    let start = text.find("\n// 1. ").ok_or("no passes")?;
    Ok(text[start..].to_owned())
}

#[test]
fn what_is_explained_is_what_runs() -> Outcome {
    let folder = folder()?;
    let folder = folder.path();
    // Schedules differ in where samples of other quads come from, so their kernels do.
    let kernels = |scheme: &str| passes(folder, &format!("--device gpu --scheme {scheme}"));
    let (plain, double) = (kernels("lifting*")?, kernels("lifting*:double")?);
    let (texture, fragment) = (kernels("lifting*:texture")?, kernels("lifting#:fragment")?);
    assert!(
        plain.contains("var<workgroup>") && !plain.contains("texture_2d"),
        "{plain}"
    );
    assert_ne!(plain, double);
    assert!(texture.contains("texture_2d"), "{texture}");
    assert!(fragment.contains("@fragment"), "{fragment}");
    // Sub-groups are used where the device has them in one size.
    let shuffle = kernels("lifting*:shuffle")?;
    if shuffle != plain {
        assert!(shuffle.contains("subgroupShuffle"), "{shuffle}");
    }
    // `plan --kernels` prints the same kernels, and none that do not run.
    let listed = done(
        folder,
        "plan filter:dwt --device gpu --schedule lifting*:shuffle --levels 1 --size 512x512 --layers color --kernels",
    )?;
    assert_eq!(
        listed.contains("subgroupShuffle"),
        shuffle.contains("subgroupShuffle")
    );
    let compiled = done(folder, "dwt --explain --device cpu")?;
    assert!(
        compiled.contains("compiled, on the CPU") && !compiled.contains("@compute"),
        "{compiled}"
    );
    Ok(())
}

#[test]
fn approximate_wavelets_say_so() -> Outcome {
    let folder = folder()?;
    let said = |wavelet: &str| -> Result<String, Box<dyn Error>> {
        let args = format!(
            "dwt photo.png -o c.exr --device cpu --boundary periodization --levels 1 --wavelet {wavelet}"
        );
        Ok(String::from_utf8(limpid(folder.path(), &args)?.stderr)?)
    };
    assert!(said("dmey")?.contains("approximate"), "{}", said("dmey")?);
    assert_eq!(said("db4")?, "");
    Ok(())
}

/// Coefficients for NumPy are those of the other formats; changed ones are transformed back with the options said.
#[test]
fn coefficients_can_be_arrays() -> Outcome {
    let folder = folder()?;
    let folder = folder.path();
    done(folder, "dwt photo.png -o c.npy --wavelet cdf97 --levels 2")?;
    done(folder, "dwt photo.png -o c.pfm --wavelet cdf97 --levels 2")?;
    let bytes = std::fs::read(folder.join("c.npy"))?;
    assert!(bytes.starts_with(b"\x93NUMPY"));
    let head = String::from_utf8_lossy(&bytes[..128]).into_owned();
    assert!(head.contains("'shape': (14, 21, 3)"), "{head}");
    let coefficients = read(folder, "c.pfm")?;
    let first = f32::from_le_bytes(bytes[128..132].try_into()?);
    assert_eq!(first, coefficients.get(0, 0, 0));
    let refused = limpid(folder, "idwt c.npy -o back.png")?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("--wavelet and --levels"), "{said}");
    done(folder, "idwt c.npy -o back.png --wavelet cdf97 --levels 2")?;
    assert_eq!(read(folder, "back.png")?, read(folder, "photo.png")?);
    Ok(())
}

/// The last part of a method's name is enough.
#[test]
fn schedules_of_wavelet_transforms_are_listed() -> Outcome {
    let folder = tempfile::tempdir()?;
    let text = done(folder.path(), "info --schedules dwt")?;
    assert!(text.contains("filter:dwt"), "{text}");
    assert!(text.contains("separable-convolution:strips"), "{text}");
    Ok(())
}
