//! What happens around the program: full and read-only disks, folders that vanish, signals, pipes that close.

use super::{command, limpid, said};
use limpid::io::{self, WriteOptions};
use limpid::{Frame, Image};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::tempdir;

/// A picture with noise.
fn picture(path: &Path, size: (usize, usize)) {
    let noise = |x: usize, y: usize, c: usize| ((x * 7919 + y * 104_729 + c * 31) % 101) as f32;
    let image = Image::from_fn(size.0, size.1, 3, |x, y, c| 0.3 + noise(x, y, c) / 300.0);
    let frame = Frame::new(image).unwrap();
    io::write(path, &frame, None, &WriteOptions::default()).unwrap();
}

/// The files of a folder, temporary ones too.
fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = names
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Waits for the end, but not for ever.
fn ended(mut child: Child, within: Duration) -> Output {
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > within {
            child.kill().unwrap();
            panic!("still running after {within:?}");
        }
        sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

fn start(folder: &Path, line: &str) -> Child {
    let mut command = command(folder);
    command.args(line.split(' ')).stdin(Stdio::piped());
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The program under a shell that sets something up first.
fn shell(folder: &Path, first: &str, line: &str) -> Output {
    let program = command(folder);
    let script = format!("{first}; exec \"$0\" {line}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).arg(program.get_program());
    shell
        .current_dir(folder)
        .env("TMPDIR", folder)
        .output()
        .unwrap()
}

/// A run that could not write: an error that names the file, the old file, and nothing beside it.
fn nothing_written(folder: &Path, run: &Output, name: &str, before: &[String]) {
    let error = said(run);
    assert_eq!(run.status.code(), Some(1), "{error}");
    assert!(
        error.contains(name) && !error.contains("panicked"),
        "{error}"
    );
    assert_eq!(files(folder), before, "{error}");
    if before.iter().any(|n| n == name) {
        assert_eq!(fs::read(folder.join(name)).unwrap(), b"old", "{name}");
    }
}

const LIMITED: &str = "trap '' XFSZ; ulimit -f 8";

/// A limit of the size of files fails like a full disk: while the file is written.
#[test]
fn a_full_disk_leaves_the_old_file() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    picture(&folder.join("in.exr"), (200, 160));
    film(&folder.join("in.y4m"), 30);
    let outputs = [
        "out.exr", "out.png", "out.tif", "out.jpg", "out.hdr", "out.pfm", "out.webp",
    ];
    for name in outputs.into_iter().chain(["film.y4m"]) {
        fs::write(folder.join(name), b"old").unwrap();
    }
    let before = files(folder);
    for name in outputs {
        // With half of the noise the file is larger than the limit in every format.
        let line = format!("denoise in.exr -o {name} --method shrink --strength 0.5 --device cpu");
        nothing_written(folder, &shell(folder, LIMITED, &line), name, &before);
    }
    let line = "denoise in.y4m -o film.y4m --method taa --device cpu";
    nothing_written(folder, &shell(folder, LIMITED, line), "film.y4m", &before);
    let line = "render cornell -o out.exr --spp 1 --size 200x160";
    nothing_written(folder, &shell(folder, LIMITED, line), "out.exr", &before);
    // Without the shell's help the system kills the program: the old file is there all the same.
    let killed = shell(
        folder,
        "ulimit -f 8",
        "denoise in.exr -o out.exr --method shrink",
    );
    assert!(!killed.status.success());
    assert_eq!(fs::read(folder.join("out.exr")).unwrap(), b"old");
    // Output to a device that is full.
    let line = "denoise in.y4m -o - --method taa --device cpu >/dev/full";
    let full = shell(folder, ":", line);
    assert_eq!(full.status.code(), Some(1), "{}", said(&full));
    assert!(said(&full).contains("No space left"), "{}", said(&full));
}

/// The same on a real file system that is full, and on one that is read-only, where this test may make them.
#[test]
fn a_small_file_system_fills_up() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    picture(&folder.join("in.exr"), (200, 160));
    fs::create_dir(folder.join("disk")).unwrap();
    let program = command(folder);
    let run = |how: &str, mount: &str, after: &str| {
        let script = format!(
            "mount -t tmpfs -o size=128k tmpfs disk || exit 77; echo old >disk/out.exr; {mount}
             \"$0\" denoise in.exr -o disk/out.exr --method shrink --device cpu; code=$?
             {after} ls -A disk; cat disk/out.exr; exit $code"
        );
        let mut inside = Command::new("unshare");
        inside
            .args([how, "sh", "-c", &script])
            .arg(program.get_program());
        inside.current_dir(folder).output().ok()
    };
    for (mount, reason) in [
        ("", "No space left"),
        ("mount -o remount,ro disk;", "ead-only"),
    ] {
        let tried = ["-m", "-rm"].map(|how| run(how, mount, ""));
        let made = tried
            .into_iter()
            .flatten()
            .find(|out| out.status.code() == Some(1));
        let Some(made) = made.filter(|out| !said(out).contains("unshare failed")) else {
            // No rights to mount: the limit above has shown the same.
            continue;
        };
        assert!(said(&made).contains(reason), "{}", said(&made));
        assert_eq!(
            String::from_utf8_lossy(&made.stdout),
            "out.exr\nold\n",
            "{reason}"
        );
    }
}

/// A film of grain.
fn film(path: &Path, frames: usize) {
    let mut bytes = b"YUV4MPEG2 W64 H48 F25:1 Ip A1:1 C444\n".to_vec();
    for t in 0..frames {
        bytes.extend(b"FRAME\n");
        bytes.extend((0..3 * 64 * 48).map(|i| 100 + ((i * 7919 + t * 31) % 50) as u8));
    }
    fs::write(path, bytes).unwrap();
}

/// Folders that are there when work begins, and not when it ends.
#[test]
fn folders_and_files_that_vanish_are_told() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    picture(&folder.join("real.pfm"), (64, 48));
    let pipe = folder.join("in.0001.pfm");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let out = folder.join("out");
    fs::create_dir(&out).unwrap();
    // The program waits for the pipe when the folder goes.
    let child = start(
        folder,
        "denoise in.0001.pfm -o out/a.pfm --method shrink --device cpu",
    );
    let mut writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    fs::remove_dir(&out).unwrap();
    writer
        .write_all(&fs::read(folder.join("real.pfm")).unwrap())
        .unwrap();
    drop(writer);
    let made = ended(child, Duration::from_secs(20));
    assert_eq!(made.status.code(), Some(1), "{}", said(&made));
    assert!(said(&made).contains("out/a.pfm"), "{}", said(&made));
    // A frame of a sequence goes: the others are made.
    for n in 2..=5 {
        fs::copy(
            folder.join("real.pfm"),
            folder.join(format!("in.{n:04}.pfm")),
        )
        .unwrap();
    }
    let child = start(
        folder,
        "denoise in.####.pfm -o made/ --method taa --device cpu",
    );
    let mut writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    fs::remove_file(folder.join("in.0004.pfm")).unwrap();
    writer
        .write_all(&fs::read(folder.join("real.pfm")).unwrap())
        .unwrap();
    drop(writer);
    let made = ended(child, Duration::from_secs(20));
    assert_eq!(made.status.code(), Some(1), "{}", said(&made));
    assert!(
        said(&made).contains("1 of 5 frames failed"),
        "{}",
        said(&made)
    );
    assert_eq!(files(&folder.join("made")).len(), 4);
}

/// Killed at any moment: the file is the old one or the new one.
#[test]
fn a_killed_program_leaves_the_old_file_or_the_new_one() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    picture(&folder.join("in.exr"), (200, 150));
    let line = "denoise in.exr -o out.exr --method nlm --device cpu";
    let begin = Instant::now();
    assert!(limpid(folder, line).status.success());
    let whole = begin.elapsed();
    let new = fs::read(folder.join("out.exr")).unwrap();
    let (mut olds, mut news) = (0, 0);
    for round in 0..72 {
        // On a busy machine it may take more rounds, and longer ones, to see both.
        if round >= 24 && olds > 0 && news > 0 {
            break;
        }
        let wait = whole * (round % 24) / 14 * (1 + 2 * (round / 24));
        fs::write(folder.join("out.exr"), b"old").unwrap();
        let mut child = start(folder, line);
        sleep(wait);
        // It may be over by now.
        let _ = child.kill();
        child.wait().unwrap();
        match fs::read(folder.join("out.exr")).unwrap() {
            bytes if bytes == b"old" => olds += 1,
            bytes if bytes == new => news += 1,
            bytes => panic!("{} bytes after {wait:?}", bytes.len()),
        }
    }
    assert!(olds > 0 && news > 0, "{olds} old, {news} new");
    let known = |name: &String| {
        ["in.exr", "out.exr"].contains(&name.as_str())
            || (name.starts_with(".limpid-") && name.ends_with(".tmp"))
    };
    assert!(files(folder).iter().all(known), "{:?}", files(folder));
}

/// Killed again and again, a sequence that is resumed ends as one that was left alone.
#[test]
fn a_sequence_that_is_killed_resumes() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    for n in 0..12 {
        picture(&folder.join(format!("in.{n:02}.png")), (120, 90));
    }
    let line = |to: &str| format!("denoise in.##.png -o {to}/ --resume --device cpu");
    let begin = Instant::now();
    assert!(limpid(folder, &line("whole")).status.success());
    let whole = begin.elapsed();
    let mut rounds = 0;
    loop {
        let mut child = start(folder, &line("made"));
        sleep(whole.mul_f64(0.3 + 0.1 * f64::from(rounds)));
        let over = child
            .try_wait()
            .unwrap()
            .is_some_and(|status| status.success());
        let _ = child.kill();
        child.wait().unwrap();
        rounds += 1;
        if over {
            break;
        }
        assert!(rounds < 40);
    }
    assert!(rounds > 1, "it was never killed");
    for n in 0..12 {
        let read = |to: &str| fs::read(folder.join(format!("{to}/in.{n:02}.png"))).unwrap();
        assert!(read("whole") == read("made"), "frame {n}");
    }
}

/// Ctrl-C stops the work, without a result; a second one ends what does not stop.
#[test]
fn ctrl_c_stops_and_twice_ends() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    picture(&folder.join("in.exr"), (900, 700));
    let child = start(
        folder,
        "denoise in.exr -o out.exr --method ddid --device cpu",
    );
    sleep(Duration::from_millis(700));
    signal(&child, "-INT");
    let made = ended(child, Duration::from_secs(9));
    assert_eq!(made.status.code(), Some(130), "{}", said(&made));
    assert!(said(&made).contains("stopped"), "{}", said(&made));
    assert_eq!(files(folder), ["in.exr"]);
    // The film never comes; the program waits for its pipe.
    let child = start(folder, "denoise - -o - --method taa --device cpu");
    sleep(Duration::from_millis(300));
    signal(&child, "-INT");
    sleep(Duration::from_millis(200));
    signal(&child, "-INT");
    let made = ended(child, Duration::from_secs(2));
    assert_eq!(made.status.code(), Some(130), "{}", said(&made));
}

/// Nobody reads what the program prints: that is not its fault, and it does its work.
#[test]
fn closed_pipes_are_no_error() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    picture(&folder.join("in.exr"), (32, 24));
    for line in ["methods", "info in.exr", "info", "denoise --help", "man"] {
        let mut child = start(folder, line);
        drop(child.stdout.take());
        let made = ended(child, Duration::from_secs(60));
        assert!(made.status.success(), "{line}: {}", said(&made));
        assert!(!said(&made).contains("panicked"), "{line}: {}", said(&made));
    }
    for (line, file) in [
        (
            "denoise in.exr -o a.exr --method shrink --device cpu",
            "a.exr",
        ),
        ("render cornell -o b.exr --spp 1 --size 16x16", "b.exr"),
        (
            "denoise in.exr -o c.png --method shrink --device cpu --json",
            "c.png",
        ),
    ] {
        let mut child = start(folder, line);
        drop((child.stderr.take(), child.stdout.take()));
        let made = ended(child, Duration::from_secs(60));
        assert!(made.status.success(), "{line}");
        assert!(folder.join(file).exists(), "{line}");
    }
    // An error that nobody reads is still told by the exit code.
    let mut child = start(folder, "denoise no.exr -o d.exr");
    drop(child.stderr.take());
    assert_eq!(ended(child, Duration::from_secs(60)).status.code(), Some(1));
}

/// `-q` and its like may stand before the subcommand, with the options of a method behind it.
#[test]
fn global_options_stand_anywhere() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    picture(&folder.join("in.exr"), (32, 24));
    for line in [
        "-q denoise in.exr -o a.exr --method shrink --levels 2",
        "--threads 2 --memory 1G denoise in.exr -o b.exr --method shrink --levels 2",
        "--threads=2 denoise -q in.exr -o c.exr --method shrink --levels 2",
        "-q filter gaussian in.exr -o d.exr --radius 2",
        "-q dwt in.exr -o e.exr --levels 1",
    ] {
        let made = limpid(folder, line);
        assert!(made.status.success(), "{line}: {}", said(&made));
    }
    let mut text = String::new();
    let mut child = start(folder, "-q denoise in.exr -o a.exr --method shrink");
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(child.wait().unwrap().success() && text.is_empty(), "{text}");
}
