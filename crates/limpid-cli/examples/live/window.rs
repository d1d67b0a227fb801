//! The window: the engine's frames, denoised, as they are rendered.

use crate::stage::{self, Stage};
use anyhow::{Context, Result, anyhow};
use limpid::Size;
use limpid::exec::gpu::Gpu;
use limpid::method::{Backend, Method, Schedule, Svgf};
use std::sync::Arc;
use winit::application::ApplicationHandler;
use winit::event::{ElementState, KeyEvent, WindowEvent};
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::keyboard::{Key, NamedKey};
use winit::window::{Window, WindowId};

/// Opens a window and shows `count` frames, or until it is closed.
pub(crate) fn run(size: Size, count: u32) -> Result<()> {
    let events = EventLoop::new()?;
    let method = Svgf::default();
    let mut app = App {
        size,
        count,
        schedules: method.schedules(Backend::Gpu),
        method,
        chosen: 0,
        noisy: false,
        number: 0,
        screen: None,
        stage: None,
        failed: None,
    };
    events.run_app(&mut app)?;
    app.failed.map_or(Ok(()), Err)
}

struct App {
    size: Size,
    count: u32,
    method: Svgf,
    schedules: Vec<Schedule>,
    chosen: usize,
    noisy: bool,
    number: u32,
    screen: Option<Screen>,
    stage: Option<Stage>,
    failed: Option<anyhow::Error>,
}

impl ApplicationHandler for App {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        match Screen::new(events, self.size) {
            Ok(screen) => {
                println!("{}", screen.gpu.name());
                for (i, schedule) in self.schedules.iter().enumerate() {
                    println!("{i}: {schedule}");
                }
                self.screen = Some(screen);
            }
            Err(error) => self.fail(events, error),
        }
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        match event {
            WindowEvent::CloseRequested => events.exit(),
            WindowEvent::Resized(_) => {
                if let Some(screen) = &mut self.screen {
                    screen.configure();
                }
            }
            WindowEvent::KeyboardInput { event, .. } => self.key(events, &event),
            WindowEvent::RedrawRequested => {
                if let Err(error) = self.draw() {
                    self.fail(events, error);
                }
                self.number += 1;
                if self.number >= self.count {
                    events.exit();
                }
            }
            _ => {}
        }
    }

    fn about_to_wait(&mut self, _: &ActiveEventLoop) {
        if let Some(screen) = &self.screen {
            screen.window.request_redraw();
        }
    }
}

impl App {
    fn fail(&mut self, events: &ActiveEventLoop, error: anyhow::Error) {
        self.failed = Some(error);
        events.exit();
    }

    fn key(&mut self, events: &ActiveEventLoop, event: &KeyEvent) {
        if event.state != ElementState::Pressed {
            return;
        }
        match event.logical_key.as_ref() {
            Key::Named(NamedKey::Escape) => events.exit(),
            Key::Character("n" | "N") => self.noisy = !self.noisy,
            Key::Character("r" | "R") => {
                if let (Some(stage), Some(screen)) = (&self.stage, &self.screen) {
                    stage.reset(&screen.gpu);
                }
            }
            Key::Character(digit) => {
                if let Some(k) = digit.parse().ok().filter(|k| *k < self.schedules.len()) {
                    self.chosen = k;
                    self.stage = None;
                }
            }
            _ => {}
        }
    }

    /// One frame, from the path tracer to the screen.
    fn draw(&mut self) -> Result<()> {
        let Some(screen) = &mut self.screen else {
            return Ok(());
        };
        let frame = crate::engine_frame(self.size, self.number)?;
        let schedule = &self.schedules[self.chosen];
        let stage = match &mut self.stage {
            Some(stage) => stage,
            none => none.insert(Stage::new(&screen.gpu, &self.method, &frame, schedule)?),
        };
        let shown = stage.shown(self.noisy).context("nothing to show")?;
        let (bound, target) = (screen.bind(shown), screen.target()?);
        let times = stage.frame(&screen.gpu, &frame, |encoder| {
            if let Some(target) = &target {
                screen.show(encoder, &bound, target);
            }
        })?;
        if let Some(target) = target {
            screen.gpu.queue().present(target);
        }
        let line = stage::line(self.number, &times);
        screen
            .window
            .set_title(&format!("limpid, {schedule}, {line}"));
        println!("{line}");
        Ok(())
    }
}

/// The window, its surface, and the pass that draws a texture on it.
struct Screen {
    window: Arc<Window>,
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    gpu: Gpu,
    pipeline: wgpu::RenderPipeline,
}

/// Each pixel of the window takes the nearest pixel of the picture, tone mapped; a surface that does not encode sRGB gets it
/// encoded.
const SHADER: &str = "
@group(0) @binding(0) var picture: texture_2d<f32>;
override encodes: bool;

struct Corner {
    @builtin(position) at: vec4<f32>,
    @location(0) place: vec2<f32>,
}

@vertex
fn corner(@builtin(vertex_index) i: u32) -> Corner {
    let place = vec2(f32(i & 1u), f32(i >> 1u)) * 2.0;
    return Corner(vec4(place.x * 2.0 - 1.0, 1.0 - place.y * 2.0, 0.0, 1.0), place);
}

@fragment
fn color(in: Corner) -> @location(0) vec4<f32> {
    let at = vec2<u32>(in.place * vec2<f32>(textureDimensions(picture)));
    let c = max(textureLoad(picture, at, 0).rgb, vec3(0.0));
    let mapped = c / (1.0 + c);
    return vec4(select(pow(mapped, vec3(1.0 / 2.2)), mapped, encodes), 1.0);
}
";

impl Screen {
    fn new(events: &ActiveEventLoop, size: Size) -> Result<Self> {
        let shown = winit::dpi::PhysicalSize::new(size.width as u32, size.height as u32);
        let attributes = Window::default_attributes().with_inner_size(shown);
        let window = Arc::new(events.create_window(attributes)?);
        let display = Box::new(events.owned_display_handle());
        let instance =
            wgpu::Instance::new(wgpu::InstanceDescriptor::new_with_display_handle(display));
        let surface = instance.create_surface(window.clone())?;
        let wanted = wgpu::RequestAdapterOptions {
            compatible_surface: Some(&surface),
            ..Default::default()
        };
        let adapter = pollster::block_on(instance.request_adapter(&wanted))?;
        let config = surface
            .get_default_config(&adapter, shown.width, shown.height)
            .ok_or_else(|| anyhow!("the device cannot draw on this display"))?;
        let gpu = crate::engine_device(&adapter)?;
        let pipeline = pipeline(gpu.device(), config.format);
        let mut made = Self {
            window,
            surface,
            config,
            gpu,
            pipeline,
        };
        made.configure();
        Ok(made)
    }

    /// Makes the surface as large as the window.
    fn configure(&mut self) {
        let size = self.window.inner_size();
        self.config.width = size.width.max(1);
        self.config.height = size.height.max(1);
        self.surface.configure(self.gpu.device(), &self.config);
    }

    /// The next picture of the window; none when it cannot be seen.
    fn target(&mut self) -> Result<Option<wgpu::SurfaceTexture>> {
        use wgpu::CurrentSurfaceTexture as Current;
        match self.surface.get_current_texture() {
            Current::Success(texture) | Current::Suboptimal(texture) => Ok(Some(texture)),
            Current::Outdated => {
                self.configure();
                Ok(None)
            }
            Current::Timeout | Current::Occluded => Ok(None),
            lost => Err(anyhow!("the window's surface is gone: {lost:?}")),
        }
    }

    fn bind(&self, texture: &wgpu::Texture) -> wgpu::BindGroup {
        let view = texture.create_view(&Default::default());
        let entries = [wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::TextureView(&view),
        }];
        let desc = wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &entries,
        };
        self.gpu.device().create_bind_group(&desc)
    }

    fn show(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        picture: &wgpu::BindGroup,
        target: &wgpu::SurfaceTexture,
    ) {
        let view = target.texture.create_view(&Default::default());
        let attachment = wgpu::RenderPassColorAttachment {
            view: &view,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations::default(),
        };
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(attachment)],
            ..Default::default()
        });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, picture, &[]);
        pass.draw(0..3, 0..1);
    }
}

fn pipeline(device: &wgpu::Device, format: wgpu::TextureFormat) -> wgpu::RenderPipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(SHADER.into()),
    });
    let sampled = wgpu::BindGroupLayoutEntry {
        binding: 0,
        visibility: wgpu::ShaderStages::FRAGMENT,
        ty: wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Float { filterable: false },
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        },
        count: None,
    };
    let group = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: None,
        entries: &[sampled],
    });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        bind_group_layouts: &[Some(&group)],
        ..Default::default()
    });
    let constants = [("encodes", f64::from(u8::from(format.is_srgb())))];
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: None,
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("corner"),
            compilation_options: Default::default(),
            buffers: &[],
        },
        primitive: Default::default(),
        depth_stencil: None,
        multisample: Default::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("color"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &constants,
                ..Default::default()
            },
            targets: &[Some(format.into())],
        }),
        multiview_mask: None,
        cache: None,
    })
}
