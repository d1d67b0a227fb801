//! Adapters and devices.

use super::mapping::{Pending, WAITS};
use super::pipeline::Pipelines;
use super::timeout::{DriverThread, call_driver, timeout};
use super::values::{Spare, Transfers};
use limpid_core::{DeviceFault, Error, Result};
use limpid_plan::Target;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A GPU that can be opened.
#[derive(Debug, Clone)]
pub struct Adapter {
    /// The index in the list of adapters.
    pub index: usize,
    /// Name, driver, kind.
    pub info: wgpu::AdapterInfo,
    /// The features and limits that kernels may use.
    pub target: Target,
    /// Whether it is a software adapter: slower than the CPU plans, and never chosen by `auto`.
    pub software: bool,
    /// Whether passes can be timed on the device.
    pub timestamps: bool,
    inner: wgpu::Adapter,
}

impl Adapter {
    /// All adapters of this machine, real ones first. A driver that does not answer is an error.
    pub fn all() -> Result<Vec<Self>> {
        let found = || pollster::block_on(Self::found());
        call_driver("gpu", "looking for devices", found)
    }

    /// The same in a browser, which has one adapter at most. Elsewhere the call waits.
    pub async fn all_async() -> Result<Vec<Self>> {
        match WAITS {
            true => Self::all(),
            false => Ok(Self::found().await),
        }
    }

    async fn found() -> Vec<Self> {
        let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
        desc.backends = wgpu::Backends::PRIMARY;
        let instance = wgpu::Instance::new(desc);
        let mut found = instance.enumerate_adapters(wgpu::Backends::PRIMARY).await;
        found.sort_by_key(|a| match a.get_info().device_type {
            wgpu::DeviceType::DiscreteGpu => 0,
            wgpu::DeviceType::IntegratedGpu => 1,
            wgpu::DeviceType::VirtualGpu => 2,
            wgpu::DeviceType::Other => 3,
            wgpu::DeviceType::Cpu => 4,
        });
        found
            .into_iter()
            .enumerate()
            .map(|(index, inner)| {
                let mut info = inner.get_info();
                if info.name.is_empty() {
                    // Browsers keep it to themselves.
                    info.name = "WebGPU".to_owned();
                }
                Self {
                    index,
                    target: target(&inner, &inner.limits(), inner.features()),
                    software: info.device_type == wgpu::DeviceType::Cpu,
                    timestamps: inner.features().contains(wgpu::Features::TIMESTAMP_QUERY),
                    info,
                    inner,
                }
            })
            .collect()
    }

    /// Bytes of device-local memory, if the driver reports it: Vulkan does.
    #[cfg(not(any(target_vendor = "apple", target_family = "wasm")))]
    pub fn memory(&self) -> Option<u64> {
        /// `VK_MEMORY_HEAP_DEVICE_LOCAL_BIT`.
        const LOCAL: u32 = 1;
        // SAFETY: the adapter is only read, and the physical device belongs to the queried instance.
        let heaps = unsafe {
            let vulkan = self.inner.as_hal::<wgpu::hal::api::Vulkan>()?;
            let instance = vulkan.shared_instance().raw_instance();
            instance.get_physical_device_memory_properties(vulkan.raw_physical_device())
        };
        Some(
            heaps
                .memory_heaps_as_slice()
                .iter()
                .filter(|h| h.flags.as_raw() & LOCAL != 0)
                .map(|h| h.size)
                .sum(),
        )
    }

    /// Bytes of device-local memory, if the driver reports it: Metal shares the memory of the machine, and browsers do not say.
    #[cfg(any(target_vendor = "apple", target_family = "wasm"))]
    pub fn memory(&self) -> Option<u64> {
        None
    }

    /// Opens it with all its limits. `checked` keeps the runtime checks in shaders, for tests.
    pub fn open(&self, checked: bool) -> Result<Gpu> {
        let (adapter, desc) = (self.inner.clone(), self.descriptor());
        let opened = call_driver(&self.info.name, "opening the device", move || {
            pollster::block_on(adapter.request_device(&desc))
        })?;
        self.gpu(opened, checked)
    }

    /// The same in a browser. Elsewhere the call waits.
    pub async fn open_async(&self, checked: bool) -> Result<Gpu> {
        if WAITS {
            return self.open(checked);
        }
        let opened = self.inner.request_device(&self.descriptor()).await;
        self.gpu(opened, checked)
    }

    fn descriptor(&self) -> wgpu::DeviceDescriptor<'static> {
        let mut features = self.inner.features() & wanted();
        let mut experimental = wgpu::ExperimentalFeatures::disabled();
        if multiplies(&self.inner) {
            features |= wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX;
            // SAFETY: an experimental feature may have bugs. Only kernels of this crate use this one; wgpu validates them, and
            // the conformance test runs them on devices that have it.
            experimental = unsafe { wgpu::ExperimentalFeatures::enabled() };
        }
        wgpu::DeviceDescriptor {
            label: Some("limpid"),
            required_features: features,
            required_limits: self.inner.limits(),
            experimental_features: experimental,
            ..Default::default()
        }
    }

    fn gpu(&self, opened: Opened, checked: bool) -> Result<Gpu> {
        let (device, queue) = opened.map_err(|e| {
            Error::device(
                &self.info.name,
                DeviceFault::Rejected(format!("cannot be opened: {e}")),
            )
        })?;
        let mut gpu = Gpu::from_wgpu(&self.inner, device, queue);
        if let Some(inner) = Arc::get_mut(&mut gpu.0) {
            inner.checked = checked;
            inner.info = self.info.clone();
        }
        // By default wgpu panics on such errors; here they are collected and returned by the current call.
        let faults = gpu.0.faults.clone();
        gpu.0
            .device
            .on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
                locked(&faults).next.get_or_insert(fault(error));
            }));
        let faults = gpu.0.faults.clone();
        gpu.0.device.set_device_lost_callback(move |_, message| {
            let fault = DeviceFault::Lost(message);
            locked(&faults).lost.get_or_insert(fault);
        });
        Ok(gpu)
    }
}

/// What asking for a device gives.
type Opened = std::result::Result<(wgpu::Device, wgpu::Queue), wgpu::RequestDeviceError>;

/// Features that kernels use if a device has them.
fn wanted() -> wgpu::Features {
    if !WAITS {
        // Browsers measure time too coarsely, and want subgroups declared in a way that naga does not know.
        return wgpu::Features::SHADER_F16 | wgpu::Features::FLOAT32_FILTERABLE;
    }
    wgpu::Features::SUBGROUP
        | wgpu::Features::SHADER_F16
        | wgpu::Features::TIMESTAMP_QUERY
        | wgpu::Features::FLOAT32_FILTERABLE
}

/// Whether its subgroups, all of one size, multiply 16×16 matrices of half floats and accumulate in single precision.
fn multiplies(adapter: &wgpu::Adapter) -> bool {
    let info = adapter.get_info();
    let fits = |p: &wgpu::CooperativeMatrixProperties| {
        [p.m_size, p.n_size, p.k_size] == [16; 3]
            && p.ab_type == wgpu::CooperativeScalarType::F16
            && p.cr_type == wgpu::CooperativeScalarType::F32
    };
    let features = adapter.features();
    features.contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX | wgpu::Features::SHADER_F16)
        && info.subgroup_min_size == info.subgroup_max_size
        && adapter.cooperative_matrix_properties().iter().any(fits)
}

fn target(adapter: &wgpu::Adapter, limits: &wgpu::Limits, features: wgpu::Features) -> Target {
    let info = adapter.get_info();
    Target::with(|target| {
        target.invocations = limits.max_compute_invocations_per_workgroup;
        target.workgroup_bytes = limits.max_compute_workgroup_storage_size;
        target.groups = limits.max_compute_workgroups_per_dimension;
        target.binding_bytes = limits
            .max_storage_buffer_binding_size
            .min(limits.max_buffer_size);
        target.storage_buffers = limits.max_storage_buffers_per_shader_stage;
        target.texture_side = limits.max_texture_dimension_2d;
        target.subgroup = features
            .contains(wgpu::Features::SUBGROUP)
            .then_some((info.subgroup_min_size, info.subgroup_max_size));
        target.f16 = features.contains(wgpu::Features::SHADER_F16);
        target.matrices = (features.contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX)
            && multiplies(adapter))
        .then_some(info.subgroup_max_size);
        target.filter_f32 = features.contains(wgpu::Features::FLOAT32_FILTERABLE);
    })
}

/// An open GPU with its pipeline cache. Clones share both.
#[derive(Debug, Clone)]
pub struct Gpu(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) info: wgpu::AdapterInfo,
    pub(super) target: Target,
    pub(super) timestamps: bool,
    pub(super) checked: bool,
    pub(super) pipelines: Mutex<Pipelines>,
    pub(super) driver: DriverThread,
    pub(super) timeout: Mutex<Duration>,
    /// Limit of the memory that may be allocated.
    most: Mutex<Option<u64>>,
    faults: Arc<Mutex<Faults>>,
    pub(super) pending: Pending,
    pub(super) spare: Mutex<Spare>,
    pub(super) transfers: Transfers,
}

/// Errors that occurred outside of any call.
#[derive(Debug, Default)]
struct Faults {
    /// Reported by the next call.
    next: Option<DeviceFault>,
    /// Reported by every later call.
    lost: Option<DeviceFault>,
}

impl Gpu {
    /// A device that was opened elsewhere, by an engine for instance. Its features and limits are used unchanged.
    pub fn from_wgpu(adapter: &wgpu::Adapter, device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let (limits, features) = (device.limits(), device.features());
        Self(Arc::new(Inner {
            info: adapter.get_info(),
            target: target(adapter, &limits, features),
            timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
            checked: false,
            pipelines: Mutex::default(),
            driver: DriverThread::new(),
            timeout: Mutex::new(timeout()),
            most: Mutex::new(None),
            faults: Arc::default(),
            pending: Pending::default(),
            spare: Mutex::default(),
            transfers: Transfers::default(),
            device,
            queue,
        }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.info.name
    }

    /// The features and limits that kernels may use.
    pub fn target(&self) -> Target {
        self.0.target
    }

    /// The wgpu device.
    pub fn device(&self) -> &wgpu::Device {
        &self.0.device
    }

    /// The wgpu queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.0.queue
    }

    /// Whether passes can be timed on the device.
    pub fn timestamps(&self) -> bool {
        self.0.timestamps
    }

    /// How many clones of it there are.
    pub(crate) fn users(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Number of pipelines built so far.
    #[doc(hidden)]
    pub fn pipelines_built(&self) -> usize {
        locked(&self.0.pipelines).built()
    }

    /// Limits the device memory that all denoisers together allocate, as reported by the driver's allocator. Requests beyond it
    /// fail with [`DeviceFault::OutOfMemory`].
    #[doc(hidden)]
    pub fn limit_memory(&self, most: Option<u64>) {
        *locked(&self.0.most) = most;
    }

    /// Whether this many more bytes may be allocated.
    pub(super) fn may_take(&self, bytes: usize) -> Result<()> {
        let Some(most) = *locked(&self.0.most) else {
            return Ok(());
        };
        let fits = || {
            let report = self.0.device.generate_allocator_report();
            let taken = report.map_or(0, |r| r.total_allocated_bytes);
            taken.saturating_add(bytes as u64) <= most
        };
        // Memory that was dropped is released when the device is done with it.
        if fits()
            || (self
                .0
                .device
                .poll(wgpu::PollType::wait_indefinitely())
                .is_ok()
                && fits())
        {
            return Ok(());
        }
        Err(Error::device(self.name(), out_of_memory()))
    }

    /// Runs `work` and turns the driver's errors into typed ones.
    pub(super) fn guarded<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.check()?;
        let scopes = [
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Internal,
            wgpu::ErrorFilter::Validation,
        ];
        let scopes = scopes.map(|filter| self.0.device.push_error_scope(filter));
        let result = work();
        let found = self.found(scopes);
        // A lost device refuses every call; polling makes it report the loss.
        if found.is_some() {
            let _ = self.0.device.poll(wgpu::PollType::Poll);
        }
        self.check()?;
        match found {
            Some(fault) => Err(Error::device(self.name(), fault)),
            None => result,
        }
    }

    /// Returns errors since the last call: a lost device, or an error that has not been reported yet.
    pub(super) fn check(&self) -> Result<()> {
        let mut faults = locked(&self.0.faults);
        match faults.lost.clone().or_else(|| faults.next.take()) {
            Some(fault) => Err(Error::device(self.name(), fault)),
            None => Ok(()),
        }
    }

    /// Lets the next call return an error.
    #[cfg(target_family = "wasm")]
    pub(super) fn report(&self, fault: DeviceFault) {
        locked(&self.0.faults).next.get_or_insert(fault);
    }

    /// Marks the device as lost: every later call reports it.
    pub(super) fn set_lost(&self, fault: DeviceFault) {
        locked(&self.0.faults).lost.get_or_insert(fault);
    }
}

pub(super) fn fault(error: wgpu::Error) -> DeviceFault {
    match error {
        wgpu::Error::OutOfMemory { .. } => out_of_memory(),
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            DeviceFault::Rejected(description)
        }
    }
}

fn out_of_memory() -> DeviceFault {
    DeviceFault::OutOfMemory("Smaller tiles or the CPU need less memory".into())
}

/// Locks a mutex even if another thread panicked while holding it: its contents are always valid.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
