//! `limpid info FILE`: facts as text and as JSON, plain answers to bad files.

use crate::command;
use limpid::{Frame, Image, Kind, io};
use std::path::Path;

/// Exit code, standard output and standard error.
fn info(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command(&std::env::temp_dir())
        .arg("info")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn sample(path: &Path) {
    let mut frame = Frame::new(Image::new(5, 3, 3)).unwrap();
    frame.insert(Kind::Normal, Image::new(5, 3, 3)).unwrap();
    frame.insert(Kind::Alpha, Image::new(5, 3, 1)).unwrap();
    io::write(path, &frame, None, &io::WriteOptions::default()).unwrap();
}

#[test]
fn layers_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.exr");
    sample(&path);
    let path = path.to_str().unwrap();
    let (code, text, errors) = info(&[path]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let expected = format!(
        "{path}: OpenEXR
  size         5x3
  compression  zip block
  kept         software
          R,G,B,A  float  color, alpha
  normal  X,Y,Z    float  normal
"
    );
    assert_eq!(text, expected);

    let (_, text, _) = info(&[path, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let part = &json["parts"][0];
    assert_eq!(part["width"], 5);
    assert_eq!(part["layers"][1]["name"], "normal");
    assert_eq!(part["layers"][1]["recognised"][0], "normal");
    assert_eq!(part["layers"][1]["channels"][2]["type"], "float");

    let (_, text, _) = info(&[path, "--layer", "position=normal"]);
    assert!(text.contains("X,Y,Z    float  position"), "{text}");
}

#[test]
fn bad_files_are_answered() {
    let (code, _, errors) = info(&["no such file.exr"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        errors.matches("no such file or directory").count(),
        1,
        "{errors}"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.exr");
    sample(&path);
    let (code, _, errors) = info(&[path.to_str().unwrap(), "--layer", "depth=norml"]);
    assert_eq!(code, Some(1));
    assert!(errors.contains("Did you mean 'normal'?"), "{errors}");
}

#[test]
fn schedules_are_all_there() {
    let (code, text, _) = info(&["--schedules", "reconstruct:poisson"]);
    assert_eq!(code, Some(0));
    assert!(
        text.contains("dct") && text.contains("with --norm l2"),
        "{text}"
    );
    let (_, text, _) = info(&["--schedules", "filter:dwt"]);
    assert!(
        text.contains("lifting*:shuffle") && text.contains("  tables"),
        "{text}"
    );
    let (_, json, _) = info(&["--schedules", "filter:dwt", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["schedules"]["gpu"].as_array().unwrap().len() > 20);

    let (_, text, _) = info(&[]);
    for name in ["devices", "cpu", "limpid methods"] {
        assert!(text.contains(name), "{name} is not in {text}");
    }
    assert!(text.lines().count() <= 24, "{text}");

    let (code, _, errors) = info(&["--schedules", "poison"]);
    assert_eq!(code, Some(2), "{errors}");
}
