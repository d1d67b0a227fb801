//! Results of a film in any order.

use limpid::noise::Profile;
use limpid::{Device, Frame, Image, Options, Result, Sequence, Watch};
use std::collections::{BTreeMap, VecDeque};

/// The noise is measured in every frame whose number is a multiple of this, and the next one.
pub(crate) const MEASURED: usize = 24;

/// Results that are kept, because VapourSynth asks for several frames at a time, in almost any order.
const KEPT: usize = 16;

/// The frames that are filtered one after the other, as long as they are asked for one after the other.
#[derive(Debug)]
pub(crate) struct Window {
    device: Device,
    options: Options,
    /// Whether the noise is measured.
    measured: bool,
    /// Frames before and after that a result depends on.
    radius: usize,
    /// Number of frames of the clip.
    count: usize,
    noise: BTreeMap<usize, String>,
    run: Option<Run>,
}

/// A sequence under way.
#[derive(Debug)]
struct Run {
    sequence: Sequence,
    /// The frame whose noise it knows.
    anchor: usize,
    /// The frame that it takes next.
    next: usize,
    /// The frame whose result comes next.
    result: usize,
    /// The first frame with all frames before it.
    whole: usize,
    ended: bool,
    made: VecDeque<(usize, Image)>,
}

impl Window {
    pub(crate) fn new(device: Device, options: Options, measured: bool, count: usize) -> Self {
        Self {
            device,
            radius: options.method.lookahead(),
            options,
            measured,
            count,
            noise: BTreeMap::new(),
            run: None,
        }
    }

    /// The frame whose noise holds for a frame.
    fn anchor(&self, n: usize) -> usize {
        if self.measured {
            n / MEASURED * MEASURED
        } else {
            0
        }
    }

    /// The frames that a result may need. The last one is for GPUs, which return a result when they have got the next frame.
    pub(crate) fn needs(radius: usize, count: usize, n: usize) -> Vec<usize> {
        let last = (n + radius + 1).min(count - 1);
        let mut all: Vec<usize> = (n.saturating_sub(radius)..=last).collect();
        let anchor = n / MEASURED * MEASURED;
        for n in [anchor, (anchor + 1).min(count - 1)] {
            if !all.contains(&n) {
                all.push(n);
            }
        }
        all
    }

    /// The result of a frame; `frame` gives those of [`Self::needs`].
    pub(crate) fn result(
        &mut self,
        n: usize,
        frame: impl Fn(usize) -> Result<Image>,
    ) -> Result<Image> {
        let kept = |run: &Run| {
            run.made
                .iter()
                .find(|(i, _)| *i == n)
                .map(|(_, m)| m.clone())
        };
        if let Some(made) = self.run.as_ref().and_then(kept) {
            return Ok(made);
        }
        let made = self.made(n, frame);
        if made.is_err() {
            // What a failed sequence holds is not known.
            self.run = None;
        }
        made
    }

    fn made(&mut self, n: usize, frame: impl Fn(usize) -> Result<Image>) -> Result<Image> {
        let first = n.saturating_sub(self.radius);
        let anchor = self.anchor(n);
        let goes_on = |run: &Run| {
            run.anchor == anchor
                && !run.ended
                && run.whole <= n
                && run.result <= n
                && run.next >= first
        };
        let run = match self.run.take().filter(goes_on) {
            Some(run) => run,
            None => Run {
                sequence: {
                    let options = self.known(anchor, &frame)?;
                    Sequence::new(&self.device, &options)
                },
                anchor,
                next: first,
                result: first,
                whole: if first == 0 { 0 } else { n },
                ended: false,
                made: VecDeque::new(),
            },
        };
        let run = self.run.insert(run);
        let watch = Watch::default();
        while run.result <= n {
            let made = match run.next < self.count {
                true => {
                    let next = Frame::new(frame(run.next)?)?;
                    run.next += 1;
                    run.sequence.push(&next, &watch)?
                }
                false => {
                    run.ended = true;
                    run.sequence.finish(&watch)?
                }
            };
            run.took(made)?;
        }
        let found = run.made.iter().find(|(i, _)| *i == n);
        let lost = || limpid::Error::input(format!("frame {n} was lost"));
        found.map(|(_, made)| made.clone()).ok_or_else(lost)
    }

    /// The options with the noise of a frame.
    fn known(&mut self, anchor: usize, frame: impl Fn(usize) -> Result<Image>) -> Result<Options> {
        let mut options = self.options.clone();
        if self.measured {
            let noise = match self.noise.get(&anchor) {
                Some(noise) => noise.clone(),
                None if anchor + 1 < self.count => {
                    Profile::estimate_moving(&frame(anchor)?, &frame(anchor + 1)?)
                        .0
                        .to_json()
                }
                None => Profile::estimate(&frame(anchor)?).to_json(),
            };
            options.method.set("noise", &noise)?;
            self.noise.insert(anchor, noise);
        }
        Ok(options)
    }
}

impl Run {
    fn took(&mut self, made: Vec<Frame>) -> Result<()> {
        for made in made {
            if self.result >= self.whole {
                self.made.push_back((self.result, made.color()?.clone()));
            }
            self.result += 1;
        }
        while self.made.len() > KEPT {
            self.made.pop_front();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid::method::Film;

    fn frame(n: usize) -> Image {
        let mut state = n as u32 * 7919 + 1;
        Image::from_fn(40, 32, 3, |x, y, c| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = (state >> 8) as f32 / (1 << 24) as f32 - 0.5;
            0.3 + 0.01 * ((x + n) / 4 + y + c) as f32 + 0.1 * noise
        })
    }

    #[test]
    fn results_do_not_depend_on_the_order() {
        let device = Device::open("cpu").unwrap();
        let count = 30;
        let new = || {
            let options = Options::new(Film::default());
            Window::new(device.clone(), options, true, count)
        };
        let given = |n: usize| {
            move |i: usize| {
                assert!(Window::needs(4, count, n).contains(&i), "{i} for {n}");
                Ok(frame(i))
            }
        };
        let mut window = new();
        let in_order: Vec<Image> = (0..count)
            .map(|n| window.result(n, given(n)).unwrap())
            .collect();
        let mut window = new();
        for n in [29, 3, 4, 6, 5, 23, 24, 25, 27, 26, 0, 12, 12, 11, 28] {
            assert!(window.result(n, given(n)).unwrap() == in_order[n], "{n}");
        }
        // It is one film: results are those of the whole, up to the next measurement of noise.
        let mut options = Options::new(Film::default());
        let noise = Profile::estimate_moving(&frame(0), &frame(1)).0.to_json();
        options.method.set("noise", &noise).unwrap();
        let mut sequence = Sequence::new(&device, &options);
        let mut whole = Vec::new();
        for n in 0..count {
            let next = Frame::new(frame(n)).unwrap();
            whole.extend(sequence.push(&next, &Watch::default()).unwrap());
        }
        for (n, made) in whole.iter().take(MEASURED).enumerate() {
            assert!(*made.color().unwrap() == in_order[n], "{n}");
        }
    }
}
