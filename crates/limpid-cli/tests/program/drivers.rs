//! GPU drivers that are not there, broken, or do not answer.

use super::{command, said};
use limpid::io::{self, WriteOptions};
use limpid::{Frame, Image};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::tempdir;

/// A Vulkan driver that does not take part, and one that never answers.
const SOURCE: &str = "
#include <unistd.h>
#include <stdint.h>
int vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
    (void)version;
#ifdef HANG
    for (;;) sleep(1000);
#endif
    return -9;
}
void *vk_icdGetInstanceProcAddr(void *instance, const char *name) {
    (void)instance; (void)name;
    return 0;
}
";

fn driver(folder: &Path, name: &str, more: &[&str]) -> PathBuf {
    let source = folder.join(format!("{name}.c"));
    let library = folder.join(format!("lib{name}.so"));
    fs::write(&source, SOURCE).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let built = Command::new(compiler)
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .args(more)
        .status();
    assert!(built.unwrap().success());
    library
}

/// The manifest of a driver.
fn manifest(folder: &Path, name: &str, library: &Path) -> PathBuf {
    let path = folder.join(format!("{name}.json"));
    let library = library.display();
    let text = format!(
        r#"{{ "file_format_version": "1.0.1", "ICD": {{ "library_path": "{library}", "api_version": "1.3.0" }} }}"#
    );
    fs::write(&path, text).unwrap();
    path
}

/// The program with no other driver than this one.
fn with(folder: &Path, driver: &Path, line: &str) -> Output {
    let mut command = command(folder);
    command
        .env("VK_DRIVER_FILES", driver)
        .env("VK_ICD_FILENAMES", driver);
    command.env("LIMPID_TIMEOUT", "1");
    command.args(line.split(' ')).output().unwrap()
}

fn setup() -> tempfile::TempDir {
    let folder = tempdir().unwrap();
    let frame = Frame::new(Image::from_fn(16, 12, 3, |x, y, _| (x * y % 7) as f32)).unwrap();
    io::write(
        folder.path().join("in.exr"),
        &frame,
        None,
        &WriteOptions::default(),
    )
    .unwrap();
    folder
}

#[test]
fn without_a_driver_the_cpu_works() {
    let folder = setup();
    let folder = folder.path();
    let text = folder.join("text.so");
    fs::write(&text, "this is no library").unwrap();
    let garbage = folder.join("garbage.json");
    fs::write(&garbage, "{ \"ICD\": [").unwrap();
    let drivers = [
        folder.join("missing.json"),
        garbage,
        manifest(folder, "nowhere", Path::new("/nowhere/libdriver.so")),
        manifest(folder, "text", &text),
        manifest(folder, "refuses", &driver(folder, "refuses", &[])),
    ];
    for driver in drivers {
        let name = driver.display();
        let asked = with(
            folder,
            &driver,
            "denoise in.exr -o a.exr --method shrink --device gpu",
        );
        assert_eq!(asked.status.code(), Some(1), "{name}: {}", said(&asked));
        assert!(
            said(&asked).contains("--device cpu"),
            "{name}: {}",
            said(&asked)
        );
        let auto = with(folder, &driver, "denoise in.exr -o b.exr --method shrink");
        assert!(auto.status.success(), "{name}: {}", said(&auto));
        assert!(with(folder, &driver, "info").status.success(), "{name}");
        fs::remove_file(folder.join("b.exr")).unwrap();
        assert!(!folder.join("a.exr").exists());
    }
}

#[test]
fn a_driver_that_does_not_answer_is_told() {
    let folder = setup();
    let folder = folder.path();
    let driver = manifest(folder, "hangs", &driver(folder, "hangs", &["-DHANG"]));
    let begin = Instant::now();
    let asked = with(
        folder,
        &driver,
        "denoise in.exr -o a.exr --method shrink --device gpu",
    );
    assert_eq!(asked.status.code(), Some(1), "{}", said(&asked));
    assert!(said(&asked).contains("no answer"), "{}", said(&asked));
    let auto = with(folder, &driver, "denoise in.exr -o b.exr --method shrink");
    assert!(auto.status.success(), "{}", said(&auto));
    assert!(said(&auto).contains("the CPU is used"), "{}", said(&auto));
    assert!(folder.join("b.exr").exists());
    let info = with(folder, &driver, "info");
    assert!(info.status.success(), "{}", said(&info));
    assert!(String::from_utf8_lossy(&info.stdout).contains("no answer"));
    assert!(begin.elapsed() < Duration::from_secs(30));
}
