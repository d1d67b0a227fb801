//! `limpid bench` from the outside: tables and plots.

use crate::{limpid, said, works};

#[test]
fn every_bench_writes_a_plot_that_says_what_it_shows() {
    let folder = tempfile::tempdir().unwrap();
    let common = "--device cpu --runs 1 --threads 1";
    for (line, words) in [
        (
            "bench dwt --size 64x64 --schedule fused",
            &["64x64", "cdf97", "forward", "inverse", "one plane"][..],
        ),
        (
            "bench nlm --size 64x48 --sigma 0.1 --layers color",
            &["nlm at 64x48", "color"],
        ),
        (
            "bench filters --size 64x48",
            &["64x48", "gaussian 3x3", "milliseconds"],
        ),
    ] {
        works(folder.path(), &format!("{line} {common} --svg plot.svg"));
        let plot = std::fs::read_to_string(folder.path().join("plot.svg")).unwrap();
        for word in words.iter().chain(&["cpu (1 thread"]) {
            assert!(plot.contains(word), "{line}: {word}");
        }
        std::fs::remove_file(folder.path().join("plot.svg")).unwrap();
    }
}

/// A plot that cannot be written is told before the measurement, which would take hours here.
#[cfg(target_os = "linux")]
#[test]
fn a_plot_that_cannot_be_written_is_told_first() {
    let folder = tempfile::tempdir().unwrap();
    let line = "bench ddid --size 16000x16000 --device cpu --svg /sys/plot.svg";
    let got = limpid(folder.path(), line);
    assert_eq!(got.status.code(), Some(1), "{}", said(&got));
    let text = said(&got);
    assert!(text.starts_with("limpid: /sys/plot.svg: "), "{text}");
    assert!(!text.contains("os error"), "{text}");
}

/// The plot shows a few bars, with the device of each.
#[test]
fn the_plot_of_wavelets_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let line = "bench dwt --size 32x32 --device cpu --runs 1 --svg plot.svg";
    works(folder.path(), line);
    let plot = std::fs::read_to_string(folder.path().join("plot.svg")).unwrap();
    assert!(plot.contains("forward, cpu (1 thread"), "{plot}");
    let bars = plot.matches("forward").count() + plot.matches("inverse").count();
    assert!(bars <= 62, "{bars} bars");
}

#[test]
fn columns_have_different_names() {
    let folder = tempfile::tempdir().unwrap();
    let text = works(
        folder.path(),
        "bench dwt --size 32x32 --device cpu --runs 1 --threads 1 --schedule fused",
    );
    let heading = text.lines().find(|l| l.starts_with("size")).unwrap();
    let mut names: Vec<&str> = heading.split_whitespace().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "{heading}");
}
