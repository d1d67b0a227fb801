//! Deep images that the OpenEXR library 3.5 wrote: nine by seven pixels of none to three samples, which are not in the order of their depths.

use crate::*;

#[test]
fn samples_are_composited_front_to_back() {
    for name in ["deep-lines", "deep-tiles"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/files/{name}.exr"));
        let mut options = ReadOptions::default();
        let refused = io::read(&path, &options).unwrap_err().to_string();
        assert!(refused.contains("'flatten'"), "{refused}");
        options.flatten = true;
        let picture = io::read(&path, &options).unwrap();
        let frame = &picture.frame;
        assert_eq!((frame.size().width, frame.size().height), (9, 7));
        let at = |x, y| {
            let color = frame.color().unwrap();
            let [alpha, depth] =
                [Kind::Alpha, Kind::Depth].map(|kind| frame.get(kind).unwrap().get(x, y, 0));
            let [r, g, b] = [0, 1, 2].map(|c| color.get(x, y, c));
            [r, g, b, alpha, depth]
        };
        // Sums by hand, exact in half floats.
        assert_eq!(at(4, 3), [0.25, 0.125, 0.125, 1.0, 5.0]);
        let made = at(8, 6);
        assert_eq!(made[..4], [0.515_625, 0.3125, 0.414_062_5, 0.9375]);
        assert!((made[4] - 29.0 / 3.0).abs() < 1e-5, "{made:?}");
        assert_eq!(at(1, 5), [0.0; 5]);
        let (_folder, out) = scratch("out.exr");
        io::write(&out, frame, Some(&picture.origin), &WriteOptions::default()).unwrap();
        assert_eq!(&read(&out).frame, frame);
    }
}
