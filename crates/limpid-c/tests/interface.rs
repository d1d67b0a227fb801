//! The C interface from Rust, so that Miri can look at it (`cargo xtask miri`): pointers, strings, memory and their ends.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use limpid_c::*;
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

fn text(text: &str) -> CString {
    CString::new(text).unwrap()
}

/// The pointer stays valid: the arguments of a C function are evaluated in any order.
#[test]
fn messages_stay_where_they_are() {
    let (cpu, name) = (text("cpu"), text("thread"));
    let before = limpid_error();
    // SAFETY: all strings end with zero, the denoiser is freed once, and the message is read by the thread that it belongs to.
    unsafe {
        let denoiser = limpid_denoiser_new(cpu.as_ptr(), null());
        let set = limpid_denoiser_set(denoiser, name.as_ptr(), cpu.as_ptr());
        assert_eq!((set, limpid_error()), (LimpidStatus::Option, before));
        let message = CStr::from_ptr(before).to_str().unwrap();
        assert!(message.contains("unknown option 'thread'"), "{message}");
        assert!(message.ends_with("strength, threads, memory"), "{message}");
        limpid_denoiser_free(denoiser);
        let long = text(&"ä".repeat(2000));
        assert!(limpid_frame_read(long.as_ptr()).is_null());
        assert!((1020..1024).contains(&told().len()), "{}", told());
    }
}

fn told() -> String {
    // SAFETY: the text is valid until the next call of this thread.
    let text = unsafe { CStr::from_ptr(limpid_error()) };
    text.to_str().unwrap().to_owned()
}

#[test]
fn frames_and_denoisers_begin_and_end() {
    let [color, cpu, shrink, levels, one] = ["color", "cpu", "shrink", "levels", "1"].map(text);
    let pixels: Vec<f32> = (0..5 * 4 * 3).map(|i| (i % 7) as f32 / 7.0).collect();
    // SAFETY: all strings end with zero, all pointers are of live frames and arrays of the right length, and each is freed once.
    unsafe {
        let frame = limpid_frame_new(5, 4);
        assert_eq!(
            (limpid_frame_width(frame), limpid_frame_height(frame)),
            (5, 4)
        );
        let set = limpid_frame_set(frame, color.as_ptr(), pixels.as_ptr(), 3);
        assert_eq!(set, LimpidStatus::Ok);
        assert_eq!(limpid_frame_channels(frame, color.as_ptr()), 3);
        let mut out = vec![0.0; pixels.len()];
        let got = limpid_frame_get(frame, color.as_ptr(), out.as_mut_ptr(), 3);
        assert_eq!((got, &out), (LimpidStatus::Ok, &pixels));
        let denoiser = limpid_denoiser_new(cpu.as_ptr(), shrink.as_ptr());
        assert!(!denoiser.is_null(), "{}", told());
        let set = limpid_denoiser_set(denoiser, levels.as_ptr(), one.as_ptr());
        assert_eq!(set, LimpidStatus::Ok, "{}", told());
        let clean = limpid_denoiser_run(denoiser, frame);
        assert!(!clean.is_null(), "{}", told());
        // Results outlive what made them.
        limpid_denoiser_reset(denoiser);
        limpid_denoiser_free(denoiser);
        limpid_frame_free(frame);
        let got = limpid_frame_get(clean, color.as_ptr(), out.as_mut_ptr(), 3);
        assert_eq!(got, LimpidStatus::Ok);
        assert!(out.iter().all(|v| v.is_finite()) && out != pixels);
        limpid_frame_free(clean);
    }
}

#[test]
fn null_and_nonsense_are_errors() {
    let [color, nonsense] = ["color", "nonsense"].map(text);
    let wrong = c"\xff\xfe".as_ptr();
    // SAFETY: NULL and strings that are not UTF-8 are allowed everywhere; the rest is as above.
    unsafe {
        assert!(limpid_frame_new(0, 4).is_null() && !told().is_empty());
        assert!(limpid_frame_read(null()).is_null() && told().contains("NULL"));
        assert!(limpid_frame_read(wrong).is_null() && told().contains("UTF-8"));
        assert_eq!(
            limpid_frame_write(null(), color.as_ptr()),
            LimpidStatus::Input
        );
        assert_eq!(
            (limpid_frame_width(null()), limpid_frame_height(null())),
            (0, 0)
        );
        assert_eq!(limpid_frame_channels(null(), color.as_ptr()), 0);
        let frame = limpid_frame_new(2, 2);
        let set = limpid_frame_set(frame, color.as_ptr(), null(), 3);
        assert_eq!(set, LimpidStatus::Input);
        let set = limpid_frame_set(frame, nonsense.as_ptr(), [0.0; 12].as_ptr(), 3);
        assert_ne!(set, LimpidStatus::Ok);
        let set = limpid_frame_set(frame, color.as_ptr(), [0.0; 12].as_ptr(), 7);
        assert_eq!(set, LimpidStatus::Input);
        assert_eq!(
            limpid_frame_get(frame, color.as_ptr(), null_mut(), 3),
            LimpidStatus::Missing
        );
        assert!(limpid_denoiser_new(nonsense.as_ptr(), null()).is_null());
        assert!(limpid_denoiser_run(null_mut(), frame).is_null());
        limpid_denoiser_reset(null_mut());
        limpid_denoiser_free(null_mut());
        limpid_frame_free(null_mut());
        limpid_frame_free(frame);
    }
}

unsafe extern "C" fn count(share: f32, data: *mut std::ffi::c_void) -> bool {
    assert!((0.0..=1.0).contains(&share));
    // SAFETY: the data is a live counter, which only this function uses meanwhile.
    let calls = unsafe { &*data.cast::<std::sync::atomic::AtomicUsize>() };
    calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 1
}

#[test]
fn progress_is_told_and_work_can_be_stopped() {
    let [color, cpu, nlm, sigma, tenth, threads, memory, one, none] = [
        "color", "cpu", "nlm", "sigma", "0.1", "threads", "memory", "1", "0",
    ]
    .map(text);
    // SAFETY: all strings end with zero, all pointers are of live objects and arrays of the right length, and each is freed once.
    unsafe {
        let frame = limpid_frame_new(256, 256);
        // Three half floats of four, in rows of 260 pixels.
        let pixels: Vec<u16> = vec![half::f16::from_f32(0.5).to_bits(); 260 * 256 * 4];
        let set = |bytes| {
            let pixels = pixels.as_ptr().cast();
            limpid_frame_set_strided(frame, color.as_ptr(), pixels, 3, bytes, 8, 8 * 260)
        };
        assert_eq!(set(3), LimpidStatus::Option);
        assert_eq!(set(2), LimpidStatus::Ok, "{}", told());
        let mut out = vec![0.0; 256 * 256 * 3];
        limpid_frame_get(frame, color.as_ptr(), out.as_mut_ptr(), 3);
        assert!(out.iter().all(|v| *v == 0.5));
        let denoiser = limpid_denoiser_new(cpu.as_ptr(), nlm.as_ptr());
        let option = |name: &CString, value: &CString| {
            limpid_denoiser_set(denoiser, name.as_ptr(), value.as_ptr())
        };
        assert_eq!(option(&sigma, &tenth), LimpidStatus::Ok);
        assert_eq!(option(&threads, &one), LimpidStatus::Ok);
        assert_eq!(option(&threads, &none), LimpidStatus::Option);
        assert_eq!(option(&memory, &none), LimpidStatus::Option);
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let data = std::ptr::from_ref(&calls).cast_mut().cast();
        limpid_denoiser_watch(denoiser, Some(count), data);
        assert!(limpid_denoiser_run(denoiser, frame).is_null());
        assert!(calls.into_inner() > 0);
        limpid_denoiser_watch(denoiser, None, null_mut());
        let clean = limpid_denoiser_run(denoiser, frame);
        assert!(!clean.is_null(), "{}", told());
        limpid_frame_free(clean);
        limpid_frame_free(frame);
        limpid_denoiser_free(denoiser);
    }
}

fn chosen(denoiser: *const LimpidDenoiser) -> String {
    // SAFETY: the denoiser is alive, and the text is valid until its next run.
    let text = unsafe { CStr::from_ptr(limpid_denoiser_method(denoiser)) };
    text.to_str().unwrap().to_owned()
}

/// Without features, light is a render's and display values are a photograph's, as in the program.
#[test]
fn what_colour_is_decides_on_the_method() {
    let [color, cpu] = ["color", "cpu"].map(text);
    let pixels: Vec<f32> = (0..16 * 16 * 3).map(|i| (i % 7) as f32 / 7.0).collect();
    // SAFETY: all strings end with zero, all pointers are of live objects and arrays of the right length, and each is freed once.
    unsafe {
        let denoiser = limpid_denoiser_new(cpu.as_ptr(), null());
        assert_eq!(chosen(denoiser), "");
        let frame = limpid_frame_new(16, 16);
        limpid_frame_set(frame, color.as_ptr(), pixels.as_ptr(), 3);
        for (encoded, method) in [(false, "neural"), (true, "camera"), (false, "neural")] {
            assert_eq!(limpid_frame_set_encoded(frame, encoded), LimpidStatus::Ok);
            let clean = limpid_denoiser_run(denoiser, frame);
            assert!(!clean.is_null(), "{}", told());
            assert_eq!(chosen(denoiser), method);
            limpid_frame_free(clean);
        }
        assert_eq!(chosen(null()), "");
        limpid_frame_free(frame);
        limpid_denoiser_free(denoiser);
    }
}

/// A file of display values comes out as it came in, and not brighter.
#[test]
#[cfg_attr(miri, ignore = "reads and writes files")]
fn files_keep_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] = ["from.png", "to.png"].map(|name| folder.path().join(name));
    let image = limpid::Image::from_fn(8, 8, 3, |x, y, c| ((x + y + c) * 8) as f32 / 255.0);
    let mut write = limpid::io::WriteOptions::default();
    write.transfer = Some(limpid::io::Transfer::Encoded);
    let made = limpid::Frame::new(image.clone()).unwrap();
    limpid::io::write(&from, &made, None, &write).unwrap();
    let [color, first, second] = ["color", from.to_str().unwrap(), to.to_str().unwrap()].map(text);
    // SAFETY: as above.
    unsafe {
        let frame = limpid_frame_read(first.as_ptr());
        assert!(!frame.is_null(), "{}", told());
        assert_eq!(limpid_frame_set_encoded(frame, false), LimpidStatus::Input);
        let written = limpid_frame_write(frame, second.as_ptr());
        assert_eq!(written, LimpidStatus::Ok, "{}", told());
        // Three half floats in pixels of 8 bytes; what lies between stays.
        let mut pixels = vec![[7u16; 4]; 64];
        let place = pixels.as_mut_ptr().cast();
        let get = |bytes| limpid_frame_get_strided(frame, color.as_ptr(), place, 3, bytes, 8, 64);
        assert_eq!(get(3), LimpidStatus::Option);
        assert_eq!(get(2), LimpidStatus::Ok, "{}", told());
        let second = half::f16::from_f32(image.get(1, 0, 2)).to_bits();
        assert_eq!((pixels[1][2], pixels[1][3]), (second, 7));
        // Rows from bottom to top, as OpenGL reads them.
        let mut turned = vec![0.0f32; 64 * 3];
        let top = turned.as_mut_ptr().add(7 * 8 * 3).cast();
        let got = limpid_frame_get_strided(frame, color.as_ptr(), top, 3, 4, 12, -96);
        assert_eq!(got, LimpidStatus::Ok, "{}", told());
        assert_eq!(turned[7 * 24 + 3 + 2], image.get(1, 0, 2));
        assert_eq!(turned[2], image.get(0, 7, 2));
        let top = turned.as_ptr().add(7 * 8 * 3).cast();
        let set = limpid_frame_set_strided(frame, color.as_ptr(), top, 3, 4, 12, -96);
        assert_eq!(set, LimpidStatus::Ok, "{}", told());
        let mut back = vec![0.0f32; 64 * 3];
        limpid_frame_get(frame, color.as_ptr(), back.as_mut_ptr(), 3);
        assert_eq!(back[24 + 3 + 1], image.get(1, 1, 1));
        limpid_frame_free(frame);
    }
    let again = limpid::io::read(&to, &limpid::io::ReadOptions::default()).unwrap();
    assert_eq!(again.frame.color().unwrap(), &image);
}

#[test]
fn files_are_compressed_and_flattened_by_name() {
    let folder = std::env::temp_dir().join(format!("limpid-c-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let out = text(folder.join("out.exr").to_str().unwrap());
    let deep = text(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../limpid-io/tests/files/deep-lines.exr"
    ));
    let [piz, wrong] = ["piz", "jpeg"].map(text);
    // SAFETY: all strings end with zero, and each frame is freed once.
    unsafe {
        assert!(limpid_frame_read(deep.as_ptr()).is_null());
        assert!(told().contains("'flatten'"), "{}", told());
        let frame = limpid_frame_read_flattened(deep.as_ptr());
        assert!(!frame.is_null(), "{}", told());
        let made = limpid_frame_write_compressed(frame, out.as_ptr(), wrong.as_ptr());
        assert_ne!(made, LimpidStatus::Ok);
        assert!(told().contains("none, rle, zips, zip, piz"), "{}", told());
        let made = limpid_frame_write_compressed(frame, out.as_ptr(), piz.as_ptr());
        assert_eq!(made, LimpidStatus::Ok, "{}", told());
        let again = limpid_frame_read(out.as_ptr());
        assert_eq!(limpid_frame_width(again), 9);
        limpid_frame_free(frame);
        limpid_frame_free(again);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
