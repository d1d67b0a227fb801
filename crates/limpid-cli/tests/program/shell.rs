//! What surrounds the work: completions, manual pages, pages without a browser, the demonstration, the list of methods.

use crate::{limpid, said, works};
use limpid::io::{self, WriteOptions};
use limpid::{Frame, Image};
use std::path::Path;

#[test]
fn shells_and_manuals_know_every_subcommand() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = works(folder.path(), &format!("completions {shell}"));
        assert!(
            text.contains("denoise") && text.contains("quality") || text.contains("strength"),
            "{shell}"
        );
    }
    assert!(works(folder.path(), "man").contains(".TH limpid"));
    let got = limpid(folder.path(), "man -o pages");
    assert_eq!(said(&got), "manual pages written to pages\n");
    for page in [
        "limpid.1",
        "limpid-denoise.1",
        "limpid-compare.1",
        "limpid-view.1",
    ] {
        assert!(folder.path().join("pages").join(page).exists(), "{page}");
    }
}

/// On macOS and Windows a browser would open.
#[cfg(target_os = "linux")]
#[test]
fn without_a_browser_the_page_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let frame = Frame::new(Image::new(8, 6, 3)).unwrap();
    io::write(
        folder.path().join("a.exr"),
        &frame,
        None,
        &WriteOptions::default(),
    )
    .unwrap();
    let said = works(folder.path(), "view a.exr");
    assert!(Path::new(said.trim()).exists(), "{said}");
}

/// No option is so wide that the help beside it has no room.
#[test]
fn help_has_room_beside_the_options() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = vec!["dwt -h".to_owned(), "idwt -h".to_owned()];
    for entry in limpid::method::METHODS {
        if entry.used == limpid::method::Use::Denoise {
            lines.push(format!("denoise --method {} -h", entry.name));
        }
    }
    for line in lines {
        let text = works(folder.path(), &line);
        for option in text.lines().filter(|l| l.trim_start().starts_with("--")) {
            // Two spaces part an option from its help.
            let option = option.trim_start();
            let wide = option.split("  ").next().unwrap_or(option);
            assert!(wide.chars().count() < 56, "{line}: {option}");
        }
    }
    let text = works(folder.path(), "idwt --help");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("--boundary <BOUNDARY>"), "{text}");
    assert!(text.contains("mirror, symmetric, reflect"), "{text}");
}

#[test]
fn the_list_of_methods_is_short_and_complete() {
    let folder = tempfile::tempdir().unwrap();
    let text = works(folder.path(), "methods");
    for entry in limpid::method::METHODS {
        assert!(text.contains(entry.name), "{}", entry.name);
    }
    assert!(text.lines().count() <= 40, "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&works(folder.path(), "methods --json")).unwrap();
    assert!(json.as_array().unwrap().len() >= limpid::method::METHODS.len());
}

#[test]
fn the_demonstration_shows_what_methods_are_for() {
    let folder = tempfile::tempdir().unwrap();
    let text = works(folder.path(), "demo -o demo --device cpu");
    let psnr = |name: &str| -> Vec<f64> {
        let lines = text.lines().filter(|l| l.trim_start().starts_with(name));
        lines
            .map(|l| {
                l.split_once("PSNR ")
                    .unwrap()
                    .1
                    .split(' ')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap()
            })
            .collect()
    };
    let noisy = psnr("noisy");
    assert_eq!(noisy.len(), 3, "{text}");
    for (name, chapter) in [
        ("neural", 0),
        ("nfor", 0),
        ("atrous", 0),
        ("svgf", 1),
        ("eaw", 2),
        ("camera", 2),
    ] {
        let clean = psnr(name);
        assert!(clean[0] > noisy[chapter] + 5.0, "{name}: {text}");
    }
    assert!(psnr("neural")[1] > noisy[1] + 5.0, "{text}");
    for file in [
        "index.html",
        "render.html",
        "sequence.html",
        "photo.html",
        "render-neural.png",
        "photo-camera.png",
        "sequence-svgf.png",
    ] {
        assert!(folder.path().join("demo").join(file).exists(), "{file}");
    }
}
