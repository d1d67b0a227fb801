//! One image: `cargo run --release -p limpid --example still -- noisy.exr clean.exr`

use limpid::{Device, Options, Sequence, Watch, io};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(from), Some(to)) = (args.next(), args.next()) else {
        return Err("expected two files: IN OUT".into());
    };
    let picture = io::read(&from, &io::ReadOptions::default())?;
    for note in &picture.notes {
        eprintln!("{note}");
    }
    // The method follows from the layers of the file; `Options::new(Nfor::default())` would name one.
    let device = Device::open("auto")?;
    let mut denoiser = Sequence::new(&device, &Options::default());
    let clean = denoiser.run(&picture.frame, &Watch::default())?;
    // With the origin, everything that was not changed is written as it was: other layers, attributes, sample types.
    io::write(
        &to,
        &clean,
        Some(&picture.origin),
        &io::WriteOptions::default(),
    )?;
    println!("{} on {}", denoiser.method().name(), device.name());
    Ok(())
}
