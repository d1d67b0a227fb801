//! The filters, as VapourSynth calls them. No panic leaves them.

use crate::api::{
    Call, Dependency, Map, Node, RawContext, RawCore, RawFrame, RawMap, Table, add, fail,
};
use crate::form::{Colours, Form};
use crate::options;
use crate::picture::Pool;
use crate::window::Window;
use limpid::{Error, Result, Size};
use std::ffi::{CStr, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Mutex;

/// Why a frame is asked for: to be requested, or to be made.
const FIRST: c_int = 0;
const READY: c_int = 1;

/// Frames are made at the same time, or one by one while others are requested.
const PARALLEL: c_int = 0;
const ONE_BY_ONE: c_int = 1;

/// How often frames of the source are requested: generally, or each once.
const GENERAL: c_int = 0;
const EACH: c_int = 2;

/// A filter of a clip.
struct Filter {
    node: Node,
    form: Form,
    count: usize,
    radius: usize,
    kind: Kind,
}

enum Kind {
    Film(Box<Mutex<Window>>),
    Denoise(Pool),
}

impl Filter {
    /// The clip of the arguments, and its form.
    fn clip(arguments: Map<'_>) -> Result<(Node, Form, usize)> {
        let node = arguments.node(c"clip");
        let node = node.ok_or_else(|| Error::input("there is no clip"))?;
        let info = node.info();
        let size = Size::new(info.width.max(0) as usize, info.height.max(0) as usize);
        let form = Form::of(info.format, size)?;
        Ok((node, form, info.frames.max(1) as usize))
    }

    fn film(arguments: Map<'_>) -> Result<Self> {
        let (node, form, count) = Self::clip(arguments)?;
        let options = options::film(arguments)?;
        let radius = options.method.lookahead();
        let device = options::device(arguments)?;
        options::check(&device, &options)?;
        let measured = options::is_measured(arguments);
        let window = Window::new(device, options, measured, count);
        Ok(Self {
            node,
            form,
            count,
            radius,
            kind: Kind::Film(Box::new(Mutex::new(window))),
        })
    }

    fn denoise(arguments: Map<'_>) -> Result<Self> {
        let (node, form, count) = Self::clip(arguments)?;
        let options = options::denoise(arguments)?;
        let device = options::device(arguments)?;
        options::check(&device, &options)?;
        let pool = Pool::new(device, options);
        Ok(Self {
            node,
            form,
            count,
            radius: 0,
            kind: Kind::Denoise(pool),
        })
    }

    fn request(&self, n: usize, call: &Call) {
        match self.kind {
            Kind::Film(_) => {
                for i in Window::needs(self.radius, self.count, n) {
                    call.request(&self.node, i);
                }
            }
            Kind::Denoise(_) => call.request(&self.node, n),
        }
    }

    fn make(&self, n: usize, call: &Call) -> Result<*const RawFrame> {
        let missing = || Error::input(format!("frame {n} of the clip is missing"));
        let like = call.frame(&self.node, n).ok_or_else(missing)?;
        let colours = Colours::of(like.properties())?;
        let image = |i: usize| {
            let missing = || Error::input(format!("frame {i} of the clip is missing"));
            let frame = call.frame(&self.node, i).ok_or_else(missing)?;
            let colours = Colours::of(frame.properties())?;
            self.form.image(&frame, colours)
        };
        let made = match &self.kind {
            Kind::Film(window) => {
                let mut window = window.lock().unwrap_or_else(|e| e.into_inner());
                window.result(n, image)?
            }
            Kind::Denoise(pool) => pool.result(image(n)?)?,
        };
        let planes = self.form.planes_of(&made, colours)?;
        Ok(call.made(&like, &self.form.raw, &planes))
    }
}

/// Makes `limpid.Film`.
///
/// # Safety
///
/// VapourSynth calls it with the arguments of the function.
pub(crate) unsafe extern "system" fn make_film(
    from: *const RawMap,
    out: *mut RawMap,
    _: *mut c_void,
    core: *mut RawCore,
    table: &'static Table,
) {
    // SAFETY: as VapourSynth promises.
    unsafe { make((from, out, core, table), c"Film", Filter::film) }
}

/// Makes `limpid.Denoise`.
///
/// # Safety
///
/// VapourSynth calls it with the arguments of the function.
pub(crate) unsafe extern "system" fn make_denoise(
    from: *const RawMap,
    out: *mut RawMap,
    _: *mut c_void,
    core: *mut RawCore,
    table: &'static Table,
) {
    // SAFETY: as VapourSynth promises.
    unsafe { make((from, out, core, table), c"Denoise", Filter::denoise) }
}

/// # Safety
///
/// The first argument is that of the running call.
unsafe fn make(
    (from, out, core, table): (*const RawMap, *mut RawMap, *mut RawCore, &'static Table),
    name: &CStr,
    new: impl FnOnce(Map<'_>) -> Result<Filter>,
) {
    // SAFETY: the arguments live as long as the call.
    let arguments = unsafe { Map::new(from, table) };
    let said = |why: &str| format!("limpid.{}: {why}", name.to_string_lossy());
    match catch_unwind(AssertUnwindSafe(|| new(arguments))) {
        Ok(Ok(filter)) => {
            let (mode, pattern) = match filter.kind {
                Kind::Film(_) => (ONE_BY_ONE, GENERAL),
                Kind::Denoise(_) => (PARALLEL, EACH),
            };
            let (info, source) = (filter.node.info(), filter.node.raw());
            let dependency = Dependency { source, pattern };
            let inside = Box::into_raw(Box::new(filter)).cast::<c_void>();
            // SAFETY: `free` frees what is inside.
            unsafe {
                let functions = (get as _, free as _, mode);
                add(
                    (out, core, table),
                    name,
                    &info,
                    functions,
                    (&dependency, inside),
                );
            }
        }
        // SAFETY: `out` is that of this call.
        Ok(Err(error)) => unsafe { fail(out, table, &said(&error.to_string())) },
        // SAFETY: as above.
        Err(_) => unsafe { fail(out, table, &said("internal error; please report it")) },
    }
}

/// Requests the frames that a result needs, or makes it.
///
/// # Safety
///
/// VapourSynth calls it with what `make` put inside.
unsafe extern "system" fn get(
    n: c_int,
    reason: c_int,
    inside: *mut c_void,
    _: *mut *mut c_void,
    context: *mut RawContext,
    core: *mut RawCore,
    table: &'static Table,
) -> *const RawFrame {
    // SAFETY: `make` put a filter inside, which is freed after the last frame; the call is this one.
    let (filter, call) = unsafe {
        let filter = &*inside.cast::<Filter>();
        (filter, Call::new(context, core, table))
    };
    let n = n.max(0) as usize;
    let work = AssertUnwindSafe(|| match reason {
        FIRST => {
            filter.request(n, &call);
            Ok(ptr::null())
        }
        READY => filter.make(n, &call),
        _ => Ok(ptr::null()),
    });
    let why = match catch_unwind(work) {
        Ok(Ok(frame)) => return frame,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "internal error; please report it".to_owned(),
    };
    call.fail(&format!("limpid: frame {n}: {why}"));
    ptr::null()
}

/// Frees a filter.
///
/// # Safety
///
/// VapourSynth calls it once, after the last frame.
unsafe extern "system" fn free(inside: *mut c_void, _: *mut RawCore, _: &'static Table) {
    // SAFETY: `make` put it there, and nobody uses it any more.
    drop(unsafe { Box::from_raw(inside.cast::<Filter>()) });
}
