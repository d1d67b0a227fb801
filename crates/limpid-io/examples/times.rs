//! Reads and writes a picture on one thread, several times: `cargo run --release -p limpid-io --example times -- picture.exr 6`.
//! Prints the least processor times, and the size of the file that was written.

use limpid_io::{ReadOptions, WriteOptions, read, write};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which picture?")?;
    let times: usize = arguments.next().map_or(Ok(6), |n| n.parse())?;
    let folder = tempfile::tempdir()?;
    let name = std::path::Path::new(&path).file_name().ok_or("no name")?;
    let out = folder.path().join(name);
    let begin = Instant::now();
    let run = || -> limpid_core::Result<[f64; 2]> {
        let begun = processor(begin);
        let picture = read(&path, &ReadOptions::default())?;
        let middle = processor(begin);
        write(
            &out,
            &picture.frame,
            Some(&picture.origin),
            &WriteOptions::default(),
        )?;
        Ok([middle - begun, processor(begin) - middle])
    };
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut least = [f64::INFINITY; 2];
    for _ in 0..times {
        let taken = threads.install(run)?;
        least = [least[0].min(taken[0]), least[1].min(taken[1])];
    }
    let bytes = std::fs::metadata(&out)?.len();
    println!(
        "read {:.1} ms, written {:.1} ms, {bytes} bytes",
        1e3 * least[0],
        1e3 * least[1]
    );
    Ok(())
}

/// Seconds that this thread has run, where the system tells them; otherwise seconds.
fn processor(begin: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|line| line.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| begin.elapsed().as_secs_f64(), |n| 1e-9 * n)
}
