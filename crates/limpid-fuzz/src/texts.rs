//! Texts from outside: films, scenes, wavelets, noise profiles, options of methods, command lines.

use limpid::io::y4m::{Colour, Reader};
use limpid::method::METHODS;
use limpid::noise::Profile;
use limpid::wavelet::Wavelet;
use limpid::{Denoiser, Device, Frame, Image, Kind, Options};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

/// A film: its header and up to three frames.
pub(crate) fn y4m(bytes: &[u8]) -> bool {
    let Ok(mut reader) = Reader::new(bytes, Colour::Encoded) else {
        return false;
    };
    (0..3).all(|_| reader.next_image().is_ok())
}

pub(crate) fn y4m_seeds() -> Vec<Vec<u8>> {
    let forms = [
        ("420jpeg", 96),
        ("422", 128),
        ("444", 192),
        ("mono", 64),
        ("420p10", 192),
        ("444p16", 384),
    ];
    forms
        .iter()
        .map(|(form, length)| {
            let mut film = format!("YUV4MPEG2 W8 H8 F25:1 Ip A1:1 C{form}\n").into_bytes();
            for _ in 0..2 {
                film.extend(b"FRAME\n");
                film.extend((0..*length).map(|i| (i * 7) as u8));
            }
            film
        })
        .collect()
}

pub(crate) fn y4m_words() -> Vec<String> {
    owned(&[
        "YUV4MPEG2",
        "FRAME\n",
        " W",
        " H",
        " C420jpeg",
        " C422p10",
        " C444p16",
        " Cmono",
        " C411",
        " XCOLORRANGE=FULL",
        "65535",
        "1000000000000",
        "0",
        "-1",
    ])
}

/// A scene: the object and its materials, apart by a line `---`.
pub(crate) fn obj(bytes: &[u8]) -> bool {
    // One for each thread: tests run side by side.
    thread_local! {
        static FOLDER: Option<tempfile::TempDir> = tempfile::tempdir().ok();
    }
    let cut = bytes.windows(5).position(|w| w == b"\n---\n");
    let (object, materials) = match cut {
        Some(at) => (&bytes[..=at], &bytes[at + 5..]),
        None => (bytes, &b""[..]),
    };
    FOLDER.with(|folder| {
        let Some(folder) = folder else { return false };
        let path = folder.path().join("a.obj");
        fs::write(&path, object).is_ok()
            && fs::write(folder.path().join("a.mtl"), materials).is_ok()
            && limpid_scenes::read_obj(&path, |_| Ok(Image::new(2, 2, 3))).is_ok()
    })
}

pub(crate) fn obj_seeds() -> Vec<Vec<u8>> {
    let triangle =
        "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0.5\nvt 0 0\nvt 1 1\nvn 0 0 1\nusemtl m\n";
    let material = "newmtl m\nKd 0.5 0.5 0.5\nKs 0.1 0.1 0.1\nNs 10\nd 1\nillum 2\n";
    [
        "f 1 2 3\n",
        "f 1/1 2/2 4/1 3/2\n",
        "f 1/1/1 2/2/1 3/1/1\nf -1//1 -2//1 -3//1\n",
    ]
    .iter()
    .flat_map(|faces| {
        let glass = "newmtl m\nKe 3 2 1\nd 0.3\nNi 1.5\nillum 5\nmap_Kd a.png\n";
        [material, glass].map(|m| format!("{triangle}{faces}\n---\n{m}").into_bytes())
    })
    .collect()
}

pub(crate) fn obj_words() -> Vec<String> {
    owned(&[
        "v ",
        "vn ",
        "vt ",
        "f ",
        "usemtl m\n",
        "o a\n",
        "g b\n",
        "s off\n",
        "nan",
        "inf",
        "1e39",
        "-1",
        "0",
        "99999999999",
        "/",
        "//",
        "map_Kd ",
        "illum 3\n",
        "Ke ",
        "\n---\n",
        "\\\n",
    ])
}

/// A wavelet's filters or lifting steps.
pub(crate) fn wavelet(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    Wavelet::parse("fuzz", &text).is_ok()
}

pub(crate) fn wavelet_seeds() -> Vec<Vec<u8>> {
    [
        "# CDF 5/3\npredict 0: -0.5 -0.5\nupdate -1: 0.25 0.25\n",
        "update 0: 0.5\npredict 0: -1\nlow 1\nhigh 1\n",
        "dec_lo: -0.12940952255126037, 0.2241438680420134 0.8365163037378079 0.48296291314453416\n",
    ]
    .iter()
    .map(|t| t.as_bytes().to_vec())
    .collect()
}

pub(crate) fn wavelet_words() -> Vec<String> {
    owned(&[
        "predict ",
        "update ",
        "low ",
        "high ",
        "dec_lo: ",
        "dec_hi: ",
        "rec_lo: ",
        "rec_hi: ",
        "-1:",
        "0:",
        "2147483647:",
        "-2147483648:",
        "nan",
        "inf",
        "1e308",
        "1e-320",
        "0",
        "\n",
        " ",
        "#",
    ])
}

/// A noise profile, and what is done with it.
pub(crate) fn noise(bytes: &[u8]) -> bool {
    let Ok(profile) = Profile::from_json(&String::from_utf8_lossy(bytes)) else {
        return false;
    };
    let again = Profile::from_json(&profile.to_json());
    assert!(again.is_ok(), "a profile does not come back");
    profile.fit(3).deviation(0, 0.5);
    true
}

pub(crate) fn noise_seeds() -> Vec<Vec<u8>> {
    [Profile::white(0.1, 3), Profile::poisson(0.01, 0.02, 1)]
        .iter()
        .map(|p| p.to_json().into_bytes())
        .collect()
}

pub(crate) fn noise_words() -> Vec<String> {
    owned(&[
        "1e39",
        "-1",
        "0",
        "1e-45",
        "null",
        "[]",
        "[",
        "]",
        "{",
        "}",
        "\"spectrum\":",
        "\"range\":",
        ",",
        "2",
        "\"deviations\":",
        "\"components\":",
    ])
}

/// A method and its options, a line each: `nlm`, then `radius=3`. Options that are accepted are planned, and run if the plan is
/// small.
pub(crate) fn options(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let path = lines.next().unwrap_or_default();
    let Ok(entry) = limpid::method::entry(path) else {
        return false;
    };
    let mut method = (entry.make)();
    let mut accepted = true;
    for line in lines {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        accepted &= method.set(name, value).is_ok();
    }
    let Ok(frame) = small() else { return false };
    let Ok(device) = Device::open("cpu") else {
        return false;
    };
    let options = Options::of(method);
    let Ok(mut denoiser) = Denoiser::new(&device, &frame.shape(), &options) else {
        return accepted;
    };
    let _ = denoiser.run(&frame);
    accepted
}

/// A frame with all layers, 12 by 9 pixels.
fn small() -> limpid::Result<Frame> {
    let plane = |channels: usize| {
        Image::from_fn(12, 9, channels, |x, y, c| {
            ((x * 31 + y * 17 + c * 7) % 64) as f32 / 64.0
        })
    };
    let mut frame = Frame::new(plane(3))?;
    for kind in [Kind::Albedo, Kind::Normal, Kind::Position] {
        frame.insert(kind, plane(3))?;
    }
    frame.insert(Kind::Depth, plane(1))?;
    frame.insert(Kind::Motion, Image::new(12, 9, 2))?;
    for kind in [Kind::Dx, Kind::Dy] {
        frame.insert(kind, plane(3))?;
    }
    Ok(frame)
}

pub(crate) fn option_seeds() -> Vec<Vec<u8>> {
    let with_options = METHODS.iter().map(|entry| {
        let mut text = entry.path() + "\n";
        for option in (entry.make)().named_options() {
            if dwt_has_many(entry.name) && text.len() > 40 {
                break;
            }
            text += &format!("{}={}\n", option.name, option.value);
        }
        text
    });
    let bare = METHODS.iter().map(|entry| entry.path() + "\n");
    with_options
        .chain(bare)
        .map(String::into_bytes)
        .filter(|seed| options(seed))
        .collect()
}

/// Methods whose options exclude one another.
fn dwt_has_many(name: &str) -> bool {
    name.ends_with("dwt")
}

pub(crate) fn option_words() -> Vec<String> {
    let mut words = owned(&[
        "0",
        "1",
        "2",
        "-1",
        "0.5",
        "1e-30",
        "1e30",
        "nan",
        "inf",
        "-inf",
        "1000000",
        "99999999999999999999",
        "true",
        "false",
        "auto",
        "none",
        "fast",
        "good",
        "best",
        "\n",
        "=",
        ",",
        "l1",
        "l2",
    ]);
    for entry in METHODS {
        words.push(entry.path());
        for option in (entry.make)().named_options() {
            words.push(format!("{}=", option.name));
            words.push(option.value.to_string());
        }
    }
    words
}

/// A command line of the program that `LIMPID_PROGRAM` names, in an empty folder. It must end with one of its exit codes, and an
/// error must be a sentence, not a panic.
pub(crate) fn command(bytes: &[u8]) -> bool {
    let Some(program) = std::env::var_os("LIMPID_PROGRAM").map(PathBuf::from) else {
        return false;
    };
    let Ok(folder) = tempfile::tempdir() else {
        return false;
    };
    let text = String::from_utf8_lossy(bytes);
    // No option may stop the run, name other files or start a program.
    let words = text
        .split_whitespace()
        .filter(|w| !w.contains(['\0', '/', '~']));
    let words: Vec<&str> = words.collect();
    if words.first().is_some_and(|w| ["demo", "view"].contains(w)) {
        return false;
    }
    if let Ok(frame) = small()
        && let Ok(png) = limpid::io::encode(limpid::io::Format::Png, &frame, &Default::default())
    {
        let _ = fs::write(folder.path().join("a.png"), png);
    }
    let out = Command::new(program)
        .args(&words)
        .current_dir(folder.path())
        .env("XDG_CACHE_HOME", folder.path())
        .stdin(std::process::Stdio::null())
        .output();
    let Ok(out) = out else { return false };
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        matches!(out.status.code(), Some(0..=2)) && !said.contains("panicked"),
        "{words:?}: {}: {said}",
        out.status
    );
    assert!(
        out.status.success() || !said.trim().is_empty(),
        "{words:?}: failed without a word"
    );
    out.status.success()
}

pub(crate) fn command_seeds() -> Vec<Vec<u8>> {
    [
        "denoise a.png -o b.png --method nlm --sigma 0.1 --device cpu",
        "denoise a.png -o b.png --quality fast --device cpu --threads 1",
        "filter gaussian a.png -o b.png --radius 2 --device cpu",
        "dwt a.png -o b.exr --levels 2 --device cpu",
        "compare a.png --reference a.png --json",
        "plan nlm --size 64x48 --device cpu",
        "info a.png --json",
        "methods --json",
        "render cornell --size 8x8 --spp 1 -o r.exr --threads 1",
        "completions bash",
    ]
    .iter()
    .map(|line| line.as_bytes().to_vec())
    .collect()
}

pub(crate) fn command_words() -> Vec<String> {
    let mut words = option_words();
    words.extend(owned(&[
        " --method ",
        " --device ",
        " --threads ",
        " --size ",
        " --tile ",
        " --layer ",
        " --layers ",
        " --json",
        " --quiet",
        " -o ",
        " --overwrite",
        " --jobs ",
        " --resume",
        " --help",
        " --schedule ",
        " a.png",
        " b.exr",
        " --memory ",
        " 16x16",
        " color=",
        " --",
        " -",
        " --svg ",
        " --runs 1",
    ]));
    words
}
