//! The examples run and produce the documented output. `cargo test` builds them; for this test alone: `cargo build --workspace
//! --examples`.

#![cfg(all(feature = "gpu", feature = "io"))]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use limpid::{Frame, Image, io};
use std::path::PathBuf;
use std::process::Command;

/// The program of an example, built with this test.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let folder: PathBuf = test.ancestors().nth(2).unwrap().join("examples");
    let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "{}: cargo build --workspace --examples",
        program.display()
    );
    Command::new(program)
}

fn said(mut command: Command) -> String {
    let out = command.output().unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn a_still_is_denoised() {
    let folder = tempfile::tempdir().unwrap();
    let grain = |x: usize, y: usize, c: usize| ((x * 31 + y * 57 + c * 91) % 23) as f32 / 230.0;
    let image = Image::from_fn(32, 24, 3, |x, y, c| 0.4 + grain(x, y, c));
    let (from, to) = (folder.path().join("in.exr"), folder.path().join("out.exr"));
    io::write(
        &from,
        &Frame::new(image).unwrap(),
        None,
        &io::WriteOptions::default(),
    )
    .unwrap();
    let mut command = example("still");
    command.args([&from, &to]);
    assert!(said(command).starts_with("camera on "));
    assert!(to.exists());
}

#[test]
fn a_sequence_gets_calmer() {
    let text = said(example("sequence"));
    let error = |line: &str| -> f32 {
        let (_, rest) = line.split_once("error ").unwrap();
        rest.split(',').next().unwrap().parse().unwrap()
    };
    let errors: Vec<f32> = text.lines().map(error).collect();
    assert_eq!(errors.len(), 8);
    // The first frame has no history.
    assert!(errors[7] < 0.7 * errors[0], "{text}");
}

#[test]
fn an_engine_records() {
    let text = said(example("recorder"));
    assert!(text.starts_with("four frames of 320x180"), "{text}");
}

#[test]
fn wavelets_keep_few_coefficients() {
    let text = said(example("wavelets"));
    let kept: usize = text.split(' ').next().unwrap().parse().unwrap();
    assert!(kept < 65536 / 10, "{text}");
}
