//! Plans support everything that methods need: layouts that change from pass to pass, repetition until a sum is small, history
//! between frames, fragment passes next to compute passes. Each plan runs on every device.

use limpid::exec::Runner;
use limpid::exec::Watch;
use limpid::kernel::{Contract, Dispatch, Job, Kernel, PassSlots, WgslStruct, tiles};
use limpid::plan::{Backing, Element, Layout, Order, Phases, Plan, Role, Slot, Until};
use limpid::{Device, Frame, Image, Layer, Result, Size, params};

params! {
    struct Params { width: u32, height: u32, number: f32 }
}

/// A test kernel with both bodies given.
#[derive(Clone)]
struct Toy {
    name: &'static str,
    contract: Contract,
    number: f32,
    cpu: fn(f32, &mut Job<'_>),
    wgsl: &'static str,
    fragment: bool,
}

impl std::fmt::Debug for Toy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.number)
    }
}

impl Kernel for Toy {
    fn name(&self) -> &'static str {
        self.name
    }

    fn contract(&self) -> Contract {
        self.contract
    }

    fn cpu(&self, job: &mut Job<'_>) {
        (self.cpu)(self.number, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let size = pass.reads.first().unwrap_or(&pass.writes[0]).size;
        let params = Params {
            width: size.width as u32,
            height: size.height as u32,
            number: self.number,
        };
        let source = format!("{}{}", Params::WGSL, self.wgsl);
        Ok(if self.fragment {
            Dispatch::fragment(source, &params)
        } else {
            Dispatch::compute(source, &params, tiles(size, 8, 8))
        })
    }
}

/// A plan on a device, run on one image.
struct Toys(Box<dyn Runner>);

impl Toys {
    fn new(device: &Device, plan: &Plan) -> Self {
        Self(device.runner(plan.clone()).unwrap())
    }

    fn run(&mut self, input: &Image) -> Image {
        let frame = Frame::new(input.clone()).unwrap();
        let mut out = Frame::new(input.map(|_| f32::NAN)).unwrap();
        self.0.run(&frame, &mut out, &Watch::default()).unwrap();
        out.color().unwrap().clone()
    }

    fn reset(&mut self) {
        self.0.reset();
    }
}

fn picture(size: Size) -> Image {
    Image::from_fn(size.width, size.height, 1, |x, y, _| {
        ((x * 7 + y * 13) % 11) as f32 - 3.0
    })
}

fn close(a: &Image, b: &Image, tolerance: f32) {
    for (i, (a, b)) in a.data().iter().zip(b.data()).enumerate() {
        assert!((a - b).abs() <= tolerance, "{i}: {a} {b}");
    }
}

/// The sum of each pixel and its left neighbour, written with even pixels first, then odd ones: the neighbour two pixels away
/// is then adjacent.
fn split() -> Toy {
    Toy {
        name: "split",
        contract: Contract::gather(1, 1, Some(1)),
        number: 0.0,
        cpu: |level, job| {
            let width = job.reads[0].size().width;
            let parts = 1 << level as usize;
            for y in job.rows.clone() {
                let (src, dst) = (job.reads[0].row(0, y), job.writes[0].row(0, y));
                let part = width / parts;
                for x in 0..width {
                    let (o, i) = (x / part, x % part);
                    let left = if i == 0 { 0.0 } else { src[x - 1] };
                    dst[(o + parts * (i % 2)) * (part / 2) + i / 2] = src[x] + left;
                }
            }
        },
        wgsl: "
            @group(0) @binding(1) var<storage, read> src: array<f32>;
            @group(0) @binding(2) var<storage, read_write> dst: array<f32>;
            @compute @workgroup_size(64)
            fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
                let x = g.x * 8u + lane % 8u;
                let y = g.y * 8u + lane / 8u;
                if x >= p.width || y >= p.height { return; }
                let parts = 1u << u32(p.number);
                let part = p.width / parts;
                let o = x / part;
                let i = x % part;
                var v = src[y * p.width + x];
                if i > 0u { v += src[y * p.width + x - 1u]; }
                dst[y * p.width + (o + parts * (i % 2u)) * (part / 2u) + i / 2u] = v;
            }",
        fragment: false,
    }
}

#[test]
fn layouts_change_from_pass_to_pass() {
    let size = Size::new(32, 5);
    let mut plan = Plan::new("split", size);
    let mut from = plan.input(Layer::COLOR, 1);
    let output = plan.output(Layer::COLOR, 1);
    for level in 0..3u32 {
        let layout = Layout::Phases(Phases {
            level: level + 1,
            order: Order::Ascending,
            mirror: false,
        });
        let slot = Slot::new(format!("level {level}"), Role::Transient, size, 1).layout(layout);
        let to = if level == 2 { output } else { plan.slot(slot) };
        plan.pass(
            Toy {
                number: level as f32,
                ..split()
            },
            [from],
            [to],
        );
        from = to;
    }
    // Two transient slots that are never live at the same time as a third share at most two buffers.
    assert!(plan.memory().buffers.len() <= 2);
    assert_eq!(plan.reach(), Some(3));
    let input = picture(size);
    // The same with spacings 1, 2, 4 and no change of layout.
    let dilated = (0..3).fold(input.clone(), |image, level| {
        Image::from_fn(32, 5, 1, |x, y, _| {
            let left = x
                .checked_sub(1 << level)
                .map_or(0.0, |l| image.get(l, y, 0));
            image.get(x, y, 0) + left
        })
    });
    for device in Device::all_for_tests().unwrap() {
        let got = Toys::new(&device, &plan).run(&input);
        // After three splits, pixel x is in part x mod 8, of 4 pixels each.
        let restored = Image::from_fn(32, 5, 1, |x, y, _| got.get((x % 8) * 4 + x / 8, y, 0));
        close(&restored, &dilated, 0.0);
    }
}

/// One round of the Jacobi method for `x - mean of the four neighbours / 2 = b`.
fn jacobi() -> Toy {
    Toy {
        name: "jacobi",
        contract: Contract::rows(2, 1, 1),
        number: 0.0,
        cpu: |_, job| {
            let Size { width, height } = job.reads[0].size();
            for y in job.rows.clone() {
                for x in 0..width {
                    let at = |x: usize, y: usize| job.reads[0].row(0, y)[x];
                    let sides = at(x.saturating_sub(1), y) + at((x + 1).min(width - 1), y);
                    let ends = at(x, y.saturating_sub(1)) + at(x, (y + 1).min(height - 1));
                    let b = job.reads[1].row(0, y)[x];
                    job.writes[0].row(0, y)[x] = b + (sides + ends) / 8.0;
                }
            }
        },
        wgsl: "
            @group(0) @binding(1) var<storage, read> src: array<f32>;
            @group(0) @binding(2) var<storage, read> b: array<f32>;
            @group(0) @binding(3) var<storage, read_write> dst: array<f32>;
            @compute @workgroup_size(64)
            fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
                let x = g.x * 8u + lane % 8u;
                let y = g.y * 8u + lane / 8u;
                if x >= p.width || y >= p.height { return; }
                let w = p.width;
                let l = src[y * w + max(x, 1u) - 1u];
                let r = src[y * w + min(x + 1u, w - 1u)];
                let t = src[(max(y, 1u) - 1u) * w + x];
                let d = src[min(y + 1u, p.height - 1u) * w + x];
                dst[y * w + x] = b[y * w + x] + (l + r + t + d) / 8.0;
            }",
        fragment: false,
    }
}

/// The largest change between two images, in one number.
fn change() -> Toy {
    Toy {
        name: "change",
        contract: Contract::whole(2, 1),
        number: 0.0,
        cpu: |_, job| {
            let pairs = job.reads[0].plane(0).iter().zip(job.reads[1].plane(0));
            job.writes[0].row(0, 0)[0] = pairs.fold(0.0, |m: f32, (a, b)| m.max((a - b).abs()));
        },
        wgsl: "
            @group(0) @binding(1) var<storage, read> a: array<f32>;
            @group(0) @binding(2) var<storage, read> b: array<f32>;
            @group(0) @binding(3) var<storage, read_write> most: array<f32>;
            @compute @workgroup_size(1)
            fn main(@builtin(workgroup_id) g: vec3<u32>) {
                if g.x + g.y > 0u { return; }
                var m = 0.0;
                for (var i = 0u; i < p.width * p.height; i++) { m = max(m, abs(a[i] - b[i])); }
                most[0] = m;
            }",
        fragment: false,
    }
}

#[test]
fn solvers_repeat_until_a_number_is_small() {
    let size = Size::new(9, 6);
    let mut plan = Plan::new("jacobi", size);
    let b = plan.input(Layer::COLOR, 1);
    let x = plan.output(Layer::COLOR, 1);
    let y = plan.transient("next", 1);
    let number = plan.slot(Slot::new("change", Role::Transient, Size::new(1, 1), 1));
    plan.pass(jacobi(), [b, b], [x]);
    // This many rounds would run for hours: the plan must stop early.
    let until = Some(Until {
        slot: number,
        at_most: 1e-6,
        every: 4,
    });
    plan.repeat(1_000_000_000, until, |plan| {
        plan.pass(jacobi(), [x, b], [y]);
        plan.pass(jacobi(), [y, b], [x]);
        plan.pass(change(), [x, y], [number]);
    });
    assert_eq!(plan.reach(), None);
    let b = picture(size);
    for device in Device::all_for_tests().unwrap() {
        let x = Toys::new(&device, &plan).run(&b);
        // The solution solves the equation.
        let residual = Image::from_fn(9, 6, 1, |i, j, _| {
            let sides = x.get(i.saturating_sub(1), j, 0) + x.get((i + 1).min(8), j, 0);
            let ends = x.get(i, j.saturating_sub(1), 0) + x.get(i, (j + 1).min(5), 0);
            x.get(i, j, 0) - (sides + ends) / 8.0
        });
        close(&residual, &b, 1e-4);
    }
}

/// `history = history + number * (in - history)`, in place; the result is a copy of it.
fn blend() -> Toy {
    Toy {
        name: "blend",
        contract: Contract::rows(1, 2, 0),
        number: 0.25,
        cpu: |number, job| {
            for y in job.rows.clone() {
                for x in 0..job.reads[0].size().width {
                    let new = job.reads[0].row(0, y)[x];
                    let old = job.writes[0].row(0, y)[x];
                    job.writes[0].row(0, y)[x] = old + number * (new - old);
                    job.writes[1].row(0, y)[x] = old + number * (new - old);
                }
            }
        },
        wgsl: "
            @group(0) @binding(1) var<storage, read> src: array<f32>;
            @group(0) @binding(2) var<storage, read_write> history: array<f32>;
            @group(0) @binding(3) var<storage, read_write> dst: array<f32>;
            @compute @workgroup_size(64)
            fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
                let x = g.x * 8u + lane % 8u;
                let y = g.y * 8u + lane / 8u;
                if x >= p.width || y >= p.height { return; }
                let i = y * p.width + x;
                history[i] += p.number * (src[i] - history[i]);
                dst[i] = history[i];
            }",
        fragment: false,
    }
}

#[test]
fn history_lives_from_frame_to_frame() {
    let size = Size::new(13, 7);
    let mut plan = Plan::new("blend", size);
    let input = plan.input(Layer::COLOR, 1);
    let history = plan.history("mean", 1);
    let output = plan.output(Layer::COLOR, 1);
    plan.pass(blend(), [input], [history, output]);
    let image = picture(size);
    for device in Device::all_for_tests().unwrap() {
        let mut runner = Toys::new(&device, &plan);
        for weight in [0.25, 0.4375, 0.578_125] {
            close(&runner.run(&image), &image.map(|v| weight * v), 1e-5);
        }
        runner.reset();
        close(&runner.run(&image), &image.map(|v| 0.25 * v), 1e-5);
    }
}

/// Planar to four channels.
fn import() -> Toy {
    Toy {
        name: "import",
        contract: Contract::rows(1, 1, 0),
        number: 0.0,
        cpu: |_, job| {
            for y in job.rows.clone() {
                let src = job.reads[0].row(0, y);
                for (texel, v) in job.writes[0].row_as::<[f32; 4]>(0, y).iter_mut().zip(src) {
                    *texel = [*v, 0.0, 0.0, 1.0];
                }
            }
        },
        wgsl: "
            @group(0) @binding(1) var<storage, read> src: array<f32>;
            @group(0) @binding(2) var dst: texture_storage_2d<rgba32float, write>;
            @compute @workgroup_size(64)
            fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
                let x = g.x * 8u + lane % 8u;
                let y = g.y * 8u + lane / 8u;
                if x >= p.width || y >= p.height { return; }
                textureStore(dst, vec2(x, y), vec4(src[y * p.width + x], 0.0, 0.0, 1.0));
            }",
        fragment: false,
    }
}

/// The difference to the right neighbour, drawn.
fn draw() -> Toy {
    Toy {
        name: "draw",
        contract: Contract::rows(1, 1, 0),
        number: 0.0,
        cpu: |_, job| {
            for y in job.rows.clone() {
                let src = job.reads[0].row_as::<[f32; 4]>(0, y);
                let dst = job.writes[0].row_as::<[f32; 4]>(0, y);
                for x in 0..src.len() {
                    dst[x] = [
                        src[(x + 1).min(src.len() - 1)][0] - src[x][0],
                        0.0,
                        0.0,
                        1.0,
                    ];
                }
            }
        },
        wgsl: "
            @group(0) @binding(1) var src: texture_2d<f32>;
            @fragment
            fn main(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
                let i = vec2<i32>(at.xy);
                let right = min(i.x + 1, i32(p.width) - 1);
                let d = textureLoad(src, vec2(right, i.y), 0).x - textureLoad(src, i, 0).x;
                return vec4(d, 0.0, 0.0, 1.0);
            }",
        fragment: true,
    }
}

/// Four channels to planar.
fn export() -> Toy {
    Toy {
        name: "export",
        contract: Contract::rows(1, 1, 0),
        number: 0.0,
        cpu: |_, job| {
            for y in job.rows.clone() {
                let src = job.reads[0].row_as::<[f32; 4]>(0, y);
                for (v, texel) in job.writes[0].row(0, y).iter_mut().zip(src) {
                    *v = texel[0];
                }
            }
        },
        wgsl: "
            @group(0) @binding(1) var src: texture_2d<f32>;
            @group(0) @binding(2) var<storage, read_write> dst: array<f32>;
            @compute @workgroup_size(64)
            fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
                let x = g.x * 8u + lane % 8u;
                let y = g.y * 8u + lane / 8u;
                if x >= p.width || y >= p.height { return; }
                dst[y * p.width + x] = textureLoad(src, vec2(x, y), 0).x;
            }",
        fragment: false,
    }
}

#[test]
fn fragment_passes_stand_beside_compute_passes() {
    let size = Size::new(21, 10);
    let mut plan = Plan::new("draw", size);
    let input = plan.input(Layer::COLOR, 1);
    let output = plan.output(Layer::COLOR, 1);
    let texture = |name: &str| {
        Slot::new(name, Role::Transient, size, 1)
            .element(Element::F32x4)
            .backing(Backing::Texture)
    };
    let from = plan.slot(texture("from"));
    let to = plan.slot(texture("to"));
    plan.pass(import(), [input], [from]);
    plan.pass(draw(), [from], [to]);
    plan.pass(export(), [to], [output]);
    let image = picture(size);
    let expected = Image::from_fn(21, 10, 1, |x, y, _| {
        image.get((x + 1).min(20), y, 0) - image.get(x, y, 0)
    });
    for device in Device::all_for_tests().unwrap() {
        close(&Toys::new(&device, &plan).run(&image), &expected, 0.0);
    }
}

#[test]
fn wrong_plans_are_refused() {
    let refused = |plan: &Plan, why: &str| {
        let error = plan.check().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    let mut plan = Plan::new("wrong", Size::new(4, 4));
    let input = plan.input(Layer::COLOR, 1);
    let output = plan.output(Layer::COLOR, 1);
    refused(&plan, "never written");
    for (kernel, read, write, why) in [
        (export(), output, output, "twice"),
        (jacobi(), input, output, "reads 2"),
        (export(), output, input, "writes input"),
    ] {
        let mut plan = plan.clone();
        plan.pass(kernel, [read], [write]);
        refused(&plan, why);
    }
    plan.pass(export(), [input], [output]);
    plan.check().unwrap();
    let (now, last) = (plan.history("now", 1), plan.history("last", 2));
    for (one, other, why) in [
        (now, output, "not history"),
        (now, now, "swapped twice"),
        (now, last, "differ in form"),
    ] {
        let mut plan = plan.clone();
        plan.swap(one, other);
        refused(&plan, why);
    }
    let drawn = Slot::new("drawn", Role::History, Size::new(4, 4), 1).backing(Backing::Texture);
    plan.slot(drawn);
    refused(&plan, "'drawn' is history");
}
