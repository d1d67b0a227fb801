//! Mistakes on the command line: one sentence that says what to do, and the same exit code in every subcommand.

use crate::{limpid, said, works};
use limpid::io::{self, WriteOptions};
use limpid::{Frame, Image};
use std::path::Path;

fn write(path: &Path) {
    let image = Image::from_fn(16, 12, 3, |x, y, c| {
        0.5 + 0.05 * ((x * 7 + y * 13 + c * 5) % 11) as f32 / 11.0
    });
    let frame = Frame::new(image).unwrap();
    io::write(path, &frame, None, &WriteOptions::default()).unwrap();
}

/// Each line fails with this code, in one line that begins like this.
fn fails(folder: &Path, cases: &[(&str, i32, &str)]) {
    for (line, code, words) in cases {
        let got = limpid(folder, line);
        assert_eq!(got.status.code(), Some(*code), "{line}: {}", said(&got));
        let text = said(&got);
        assert!(
            text.starts_with(&format!("limpid: {words}")),
            "{line}: {text}"
        );
        assert_eq!(text.lines().count(), 1, "{line}: {text}");
        assert!(!text.contains("os error"), "{line}: {text}");
        assert!(got.stdout.is_empty(), "{line}");
    }
}

#[test]
fn what_cannot_be_parsed_is_told_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.png"));
    fails(
        folder.path(),
        &[
            (
                "denois a.png",
                2,
                "unknown subcommand 'denois'. Did you mean denoise?",
            ),
            (
                "sharpen a.png",
                2,
                "unknown subcommand 'sharpen'; `limpid --help` lists the subcommands",
            ),
            (
                "denoise a.png",
                2,
                "--output <OUT> is missing; `limpid denoise --help` shows how",
            ),
            ("compare", 2, "<IMAGE>... is missing"),
            ("denoise -q", 2, "--output <OUT> and <IN>... are missing"),
            ("denoise a.png -o", 2, "--output needs a value"),
            (
                "denoise a.png -o b.png --jobs 0",
                2,
                "--jobs 0: 0 is not in 1..=256",
            ),
            (
                "view a.png --layr x",
                2,
                "unknown option --layr. Did you mean --layer?",
            ),
            (
                "info --threads many",
                2,
                "--threads many: expected a whole number, such as 3",
            ),
            (
                "info --memory lots",
                2,
                "--memory lots: expected a size such as 500M or 8G",
            ),
            (
                "--device cpu denoise a.png -o b.png",
                2,
                "--device goes after the subcommand: limpid denoise … --device",
            ),
            (
                "filter gaussian a.png -o b.png --quality fast",
                2,
                "unknown option --quality. `limpid filter gaussian --help` lists the options",
            ),
            ("methods a.png", 2, "'a.png' is one argument too many"),
            (
                "bench nlm --size 8x8 --file a.png",
                2,
                "--size cannot be used together with --file",
            ),
            (
                "render cornell -o a.exr --layers some",
                2,
                "--layers some: expected all, means, color",
            ),
            (
                "filter gaussian a.png -o b.png --radius x",
                2,
                "--radius x: expected a whole number, such as 3",
            ),
            (
                "denoise a.png a.png -o b.png",
                2,
                "b.png: several inputs need an output folder; name one, such as results/",
            ),
        ],
    );
    // Help and version are no mistakes.
    assert!(works(folder.path(), "denoise --help").contains("Usage"));
    let version = format!("limpid {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(works(folder.path(), "-V").trim_end(), version);
    let long = works(folder.path(), "--version");
    assert!(
        long.starts_with(&version) && long.contains("features gpu io"),
        "{long}"
    );
}

#[test]
fn methods_of_other_subcommands_name_theirs() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.png"));
    fails(
        folder.path(),
        &[
            (
                "denoise a.png -o b.png --method poisson",
                2,
                "poisson belongs to `limpid reconstruct`",
            ),
            (
                "denoise a.png -o b.png --method gaussian",
                2,
                "gaussian belongs to `limpid filter gaussian`",
            ),
            (
                "denoise a.png -o b.png --method dwt",
                2,
                "dwt belongs to `limpid dwt`",
            ),
            (
                "filter nlm a.png -o b.png",
                2,
                "nlm belongs to `limpid denoise --method nlm`",
            ),
        ],
    );
}

#[test]
fn the_same_mistake_has_the_same_code_in_every_subcommand() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    write(&place.join("a.png"));
    let folder_is_missing: Vec<(String, i32, &str)> = [
        "denoise a.png -o no/b.png",
        "filter gaussian a.png -o no/b.png",
        "dwt a.png -o no/b.exr",
        "render cornell -o no/b.exr --spp 1 --size 8x8",
        "view a.png -o no/b.html",
        "compare a.png --html no/b.html",
        "info a.png --noise --svg no/b.svg",
        "bench nlm --size 8x8 --svg no/b.svg",
    ]
    .into_iter()
    .map(|line| (line.to_owned(), 2, "no/b."))
    .collect();
    for (line, code, words) in &folder_is_missing {
        fails(place, &[(line, *code, words)]);
        let got = limpid(place, line);
        assert!(
            said(&got).contains("the folder no does not exist; create it first"),
            "{}",
            said(&got)
        );
    }
    let device = "unknown device 'gup'";
    fails(
        place,
        &[
            ("denoise a.png -o b.png --device gup", 2, device),
            ("dwt a.png -o b.exr --device gup", 2, device),
            ("demo -o demo --device gup", 2, device),
            ("bench nlm --size 8x8 --device gup", 2, device),
            ("plan nlm --device gup", 2, device),
            ("render castle -o b.exr", 2, "unknown scene 'castle'"),
            (
                "view a.mp4",
                2,
                "a.mp4: films are played by `limpid compare",
            ),
            ("info --schedules nml", 2, "unknown method 'nml'"),
            ("bench nothere", 2, "unknown method 'nothere'. Known: "),
            (
                "bench gausian",
                2,
                "unknown method 'gausian'. Did you mean 'filter:gaussian'?",
            ),
        ],
    );
    assert!(!place.join("demo").exists());
    let text = said(&limpid(place, "bench nothere"));
    let hint = "and 12 more; `limpid methods` says which to use when\n";
    assert!(text.ends_with(hint), "{text}");
}

/// What the system says is told in words.
#[test]
fn errors_of_the_system_are_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    write(&place.join("a.png"));
    fails(
        place,
        &[
            (
                "demo -o a.png --device cpu",
                2,
                "a.png: there is a file of this name; name a folder",
            ),
            (
                "denoise a.png -o b.png --noise none.json",
                1,
                "none.json: no such file or directory",
            ),
            (
                "render none.obj -o b.exr",
                1,
                "none.obj: no such file or directory",
            ),
            ("info none.y4m", 1, "none.y4m: no such file or directory"),
            (
                "man -o a.png",
                2,
                "a.png: there is a file of this name; name a folder",
            ),
        ],
    );
}

/// The limit of memory that a file exceeds, with what to do.
#[test]
fn a_file_over_the_limit_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.exr"));
    let got = limpid(folder.path(), "info a.exr");
    assert!(got.status.success());
    fails(
        folder.path(),
        &[(
            "denoise a.exr -o b.exr --memory 100 --device cpu",
            1,
            "a.exr: 3 channels of 16x12 are more than the limit of 0 MiB; raise the limit, or store fewer layers",
        )],
    );
}
