//! `limpid denoise --target` from the outside.

use crate::limpid;
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_estimate_is_told_and_its_layers_are_kept_only_when_asked_for() -> Outcome {
    let folder = tempfile::tempdir()?;
    let here = folder.path();
    limpid(here, "render cornell --spp 4 --size 48x32 -o noisy.exr");
    let denoise = "denoise noisy.exr -o clean.exr --quality good --device cpu";
    for (target, expected) in [("1e-9", "above"), ("100", "below 100")] {
        let out = limpid(here, &format!("{denoise} --target {target}"));
        let said = text(&out.stdout);
        assert!(out.status.success(), "{}", text(&out.stderr));
        assert!(said.contains("estimated relative error 0.0"), "{said}");
        assert!(said.contains(expected), "{said}");
        let layers = text(&limpid(here, "info clean.exr").stdout);
        assert!(!layers.contains("excess"), "{layers}");
    }
    limpid(here, &format!("{denoise} --target 0.01 --layers all"));
    let layers = text(&limpid(here, "info clean.exr").stdout);
    assert!(layers.contains("excess"), "{layers}");
    Ok(())
}

#[test]
fn what_has_no_estimate_is_refused_before_work() -> Outcome {
    let folder = tempfile::tempdir()?;
    let here = folder.path();
    limpid(here, "render cornell --spp 1 --size 16x16 -o noisy.exr");
    for (args, expected) in [
        (
            "noisy.exr -o o.exr --method rdfc --target 0.1",
            "rdfc does not",
        ),
        ("noisy.exr -o o.exr --target -1", "a number above 0"),
        ("n.####.exr -o o.####.exr --target 0.1", "single images"),
    ] {
        let out = limpid(here, &format!("denoise {args}"));
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args}: {said}");
        assert!(said.contains(expected), "{args}: {said}");
        assert!(!here.join("o.exr").exists(), "{args}");
    }
    Ok(())
}
