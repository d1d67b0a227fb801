//! The interface of VapourSynth, version 4, as far as it is used here. All `unsafe` code of the plugin is in this file and in
//! `filter.rs`, which receives the calls.
//!
//! VapourSynth hands out a table of functions. Its order is fixed for all versions 4.x; new functions are added at the end. What
//! is not used is left out as room of the same size.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

/// Version 4.0, which is all that is needed.
pub(crate) const VERSION: c_int = 4 << 16;

/// Things that only VapourSynth looks into.
macro_rules! opaque {
    ($($name:ident)*) => { $(#[repr(C)] pub(crate) struct $name { _inside: [u8; 0] })* };
}

opaque! { RawCore RawNode RawFrame RawMap RawPlugin RawContext }

/// The form of the samples of a clip.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawFormat {
    pub(crate) family: c_int,
    pub(crate) kind: c_int,
    pub(crate) bits: c_int,
    pub(crate) bytes: c_int,
    pub(crate) across: c_int,
    pub(crate) down: c_int,
    pub(crate) planes: c_int,
}

/// What is known of a clip.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawInfo {
    pub(crate) format: RawFormat,
    pub(crate) rate: [i64; 2],
    pub(crate) width: c_int,
    pub(crate) height: c_int,
    pub(crate) frames: c_int,
}

#[repr(C)]
pub(crate) struct Dependency {
    pub(crate) source: *mut RawNode,
    pub(crate) pattern: c_int,
}

/// Makes a frame of a filter.
pub(crate) type GetFrame = unsafe extern "system" fn(
    c_int,
    c_int,
    *mut c_void,
    *mut *mut c_void,
    *mut RawContext,
    *mut RawCore,
    &'static Table,
) -> *const RawFrame;

/// Frees a filter.
pub(crate) type Free = unsafe extern "system" fn(*mut c_void, *mut RawCore, &'static Table);

/// Makes a filter from arguments.
pub(crate) type Make = unsafe extern "system" fn(
    *const RawMap,
    *mut RawMap,
    *mut c_void,
    *mut RawCore,
    &'static Table,
);

/// What a plugin may do while it is loaded.
#[repr(C)]
pub struct PluginTable {
    _version: usize,
    configure: unsafe extern "system" fn(
        *const c_char,
        *const c_char,
        *const c_char,
        c_int,
        c_int,
        c_int,
        *mut RawPlugin,
    ) -> c_int,
    register: unsafe extern "system" fn(
        *const c_char,
        *const c_char,
        *const c_char,
        Make,
        *mut c_void,
        *mut RawPlugin,
    ) -> c_int,
}

/// The functions of VapourSynth.
#[repr(C)]
pub(crate) struct Table {
    create_filter: unsafe extern "system" fn(
        *mut RawMap,
        *const c_char,
        *const RawInfo,
        GetFrame,
        Free,
        c_int,
        *const Dependency,
        c_int,
        *mut c_void,
        *mut RawCore,
    ),
    _filters: [usize; 6],
    free_node: unsafe extern "system" fn(*mut RawNode),
    _nodes: [usize; 2],
    info: unsafe extern "system" fn(*mut RawNode) -> *const RawInfo,
    _audio: usize,
    new_frame: unsafe extern "system" fn(
        *const RawFormat,
        c_int,
        c_int,
        *const RawFrame,
        *mut RawCore,
    ) -> *mut RawFrame,
    _frames: [usize; 3],
    free_frame: unsafe extern "system" fn(*const RawFrame),
    _copies: [usize; 2],
    properties: unsafe extern "system" fn(*const RawFrame) -> *const RawMap,
    _properties: usize,
    stride: unsafe extern "system" fn(*const RawFrame, c_int) -> isize,
    read: unsafe extern "system" fn(*const RawFrame, c_int) -> *const u8,
    write: unsafe extern "system" fn(*mut RawFrame, c_int) -> *mut u8,
    _formats: [usize; 3],
    width: unsafe extern "system" fn(*const RawFrame, c_int) -> c_int,
    height: unsafe extern "system" fn(*const RawFrame, c_int) -> c_int,
    _names: [usize; 9],
    get: unsafe extern "system" fn(c_int, *mut RawNode, *mut RawContext) -> *const RawFrame,
    request: unsafe extern "system" fn(c_int, *mut RawNode, *mut RawContext),
    _caches: [usize; 2],
    frame_error: unsafe extern "system" fn(*const c_char, *mut RawContext),
    _functions: [usize; 8],
    error: unsafe extern "system" fn(*mut RawMap, *const c_char),
    _keys: [usize; 7],
    get_int: unsafe extern "system" fn(*const RawMap, *const c_char, c_int, *mut c_int) -> i64,
    _ints: [usize; 4],
    get_float: unsafe extern "system" fn(*const RawMap, *const c_char, c_int, *mut c_int) -> f64,
    _floats: [usize; 4],
    get_data:
        unsafe extern "system" fn(*const RawMap, *const c_char, c_int, *mut c_int) -> *const c_char,
    get_size: unsafe extern "system" fn(*const RawMap, *const c_char, c_int, *mut c_int) -> c_int,
    _data: [usize; 2],
    get_node:
        unsafe extern "system" fn(*const RawMap, *const c_char, c_int, *mut c_int) -> *mut RawNode,
}

/// Text for VapourSynth, which ends at the first NUL.
pub(crate) fn text(words: &str) -> CString {
    CString::new(words.replace('\0', " ")).unwrap_or_default()
}

/// Registers the functions of the plugin: names, arguments, and what makes them.
///
/// # Safety
///
/// VapourSynth calls it while it loads the plugin, with its own plugin and table.
pub(crate) unsafe fn register(
    plugin: *mut RawPlugin,
    table: &PluginTable,
    functions: [(&CStr, &CStr, Make); 2],
) {
    let (id, space) = (c"rs.limpid.film", c"limpid");
    let name = c"Limpid removes noise from films and pictures";
    // SAFETY: as the caller promises; the texts are copied.
    unsafe {
        let (id, space) = (id.as_ptr(), space.as_ptr());
        (table.configure)(id, space, name.as_ptr(), 1 << 16, VERSION, 0, plugin);
        for (name, arguments, make) in functions {
            let (name, arguments) = (name.as_ptr(), arguments.as_ptr());
            let result = c"clip:vnode;".as_ptr();
            (table.register)(name, arguments, result, make, ptr::null_mut(), plugin);
        }
    }
}

/// Arguments of a function, or properties of a frame: as long as the function runs, or the frame lives.
#[derive(Clone, Copy)]
pub(crate) struct Map<'a> {
    map: *const RawMap,
    table: &'a Table,
}

impl<'a> Map<'a> {
    /// # Safety
    ///
    /// The map lives as long as the table is borrowed.
    pub(crate) unsafe fn new(map: *const RawMap, table: &'a Table) -> Self {
        Self { map, table }
    }

    pub(crate) fn int(&self, name: &CStr) -> Option<i64> {
        let mut missing = 0;
        // SAFETY: the map lives, as `new` was promised.
        let value = unsafe { (self.table.get_int)(self.map, name.as_ptr(), 0, &mut missing) };
        (missing == 0).then_some(value)
    }

    pub(crate) fn float(&self, name: &CStr) -> Option<f64> {
        let mut missing = 0;
        // SAFETY: as above.
        let value = unsafe { (self.table.get_float)(self.map, name.as_ptr(), 0, &mut missing) };
        (missing == 0).then_some(value)
    }

    pub(crate) fn data(&self, name: &CStr) -> Option<String> {
        let mut missing = 0;
        // SAFETY: as above; the bytes are copied before the map can change.
        unsafe {
            let from = (self.table.get_data)(self.map, name.as_ptr(), 0, &mut missing);
            let size = (self.table.get_size)(self.map, name.as_ptr(), 0, &mut missing);
            if missing != 0 || from.is_null() {
                return None;
            }
            let bytes = std::slice::from_raw_parts(from.cast::<u8>(), usize::try_from(size).ok()?);
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }

    pub(crate) fn node(&self, name: &CStr) -> Option<Node> {
        let mut missing = 0;
        // SAFETY: as above; the reference that is returned belongs to the caller.
        let node = unsafe { (self.table.get_node)(self.map, name.as_ptr(), 0, &mut missing) };
        // SAFETY: VapourSynth's table lives as long as the process.
        let table = unsafe { &*ptr::from_ref(self.table) };
        (missing == 0 && !node.is_null()).then_some(Node { node, table })
    }
}

/// A clip. It is released when it is dropped.
pub(crate) struct Node {
    node: *mut RawNode,
    table: &'static Table,
}

// SAFETY: VapourSynth's clips may be used from any thread.
unsafe impl Send for Node {}
// SAFETY: as above.
unsafe impl Sync for Node {}

impl Node {
    pub(crate) fn raw(&self) -> *mut RawNode {
        self.node
    }

    pub(crate) fn info(&self) -> RawInfo {
        // SAFETY: the clip lives, and its description as long.
        unsafe { *(self.table.info)(self.node) }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: the reference is this one's.
        unsafe { (self.table.free_node)(self.node) }
    }
}

/// The call in which a frame is asked for, or made.
pub(crate) struct Call {
    context: *mut RawContext,
    core: *mut RawCore,
    table: &'static Table,
}

impl Call {
    /// # Safety
    ///
    /// The arguments are those of the call that runs.
    pub(crate) unsafe fn new(
        context: *mut RawContext,
        core: *mut RawCore,
        table: &'static Table,
    ) -> Self {
        Self {
            context,
            core,
            table,
        }
    }

    /// Asks for a frame of a clip that the filter depends on.
    pub(crate) fn request(&self, node: &Node, n: usize) {
        // SAFETY: the context is that of the running call.
        unsafe { (self.table.request)(n as c_int, node.node, self.context) }
    }

    /// A frame that was asked for.
    pub(crate) fn frame(&self, node: &Node, n: usize) -> Option<Frame> {
        // SAFETY: as above; the reference that is returned belongs to the caller.
        let frame = unsafe { (self.table.get)(n as c_int, node.node, self.context) };
        let table = self.table;
        (!frame.is_null()).then_some(Frame { frame, table })
    }

    /// Says why there is no frame.
    pub(crate) fn fail(&self, why: &str) {
        // SAFETY: as above; the text is copied.
        unsafe { (self.table.frame_error)(text(why).as_ptr(), self.context) }
    }

    /// A new frame with the size, the form and the properties of another, and these bytes in its planes: rows without gaps.
    pub(crate) fn made(
        &self,
        like: &Frame,
        format: &RawFormat,
        planes: &[Vec<u8>],
    ) -> *const RawFrame {
        let (width, height) = like.size(0);
        // SAFETY: the frame has the planes of the format, with rows of at least the bytes that are written.
        unsafe {
            let (w, h) = (width as c_int, height as c_int);
            let frame = (self.table.new_frame)(format, w, h, like.frame, self.core);
            for (c, bytes) in planes.iter().enumerate() {
                let rows = like.size(c).1.max(1);
                let length = bytes.len() / rows;
                let to = (self.table.write)(frame, c as c_int);
                let stride = (self.table.stride)(frame, c as c_int);
                for (y, row) in bytes.chunks_exact(length.max(1)).enumerate() {
                    ptr::copy_nonoverlapping(row.as_ptr(), to.offset(y as isize * stride), length);
                }
            }
            frame
        }
    }
}

/// A frame of a clip. It is released when it is dropped.
pub(crate) struct Frame {
    frame: *const RawFrame,
    table: &'static Table,
}

impl Frame {
    pub(crate) fn properties(&self) -> Map<'_> {
        // SAFETY: the properties live as long as the frame.
        unsafe { Map::new((self.table.properties)(self.frame), self.table) }
    }

    /// Width and height of a plane.
    pub(crate) fn size(&self, plane: usize) -> (usize, usize) {
        // SAFETY: the frame lives and has the plane.
        unsafe {
            let width = (self.table.width)(self.frame, plane as c_int);
            let height = (self.table.height)(self.frame, plane as c_int);
            (width as usize, height as usize)
        }
    }

    /// A row of a plane, with this many bytes per sample.
    pub(crate) fn row(&self, plane: usize, y: usize, bytes: usize) -> &[u8] {
        let (width, height) = self.size(plane);
        assert!(y < height, "row {y} of {height}");
        // SAFETY: the plane has that many rows, which are `stride` apart and have at least `width` samples.
        unsafe {
            let from = (self.table.read)(self.frame, plane as c_int);
            let stride = (self.table.stride)(self.frame, plane as c_int);
            std::slice::from_raw_parts(from.offset(y as isize * stride), width * bytes)
        }
    }
}

// SAFETY: frames that have been made do not change and may be read from any thread.
unsafe impl Sync for Frame {}

impl Drop for Frame {
    fn drop(&mut self) {
        // SAFETY: the reference is this one's.
        unsafe { (self.table.free_frame)(self.frame) }
    }
}

/// Adds a filter to the result of a function, or says why there is none.
///
/// # Safety
///
/// `out` and `core` are those of the running call; `inside` is what `free` frees.
pub(crate) unsafe fn add(
    (out, core, table): (*mut RawMap, *mut RawCore, &'static Table),
    name: &CStr,
    info: &RawInfo,
    (get, free, mode): (GetFrame, Free, c_int),
    (dependency, inside): (&Dependency, *mut c_void),
) {
    let name = name.as_ptr();
    // SAFETY: as the caller promises; texts, description and dependency are copied.
    unsafe {
        (table.create_filter)(
            out, name, info, get, free, mode, dependency, 1, inside, core,
        );
    }
}

/// Says why a function has no result.
///
/// # Safety
///
/// `out` is that of the running call.
pub(crate) unsafe fn fail(out: *mut RawMap, table: &Table, why: &str) {
    // SAFETY: as the caller promises; the text is copied.
    unsafe { (table.error)(out, text(why).as_ptr()) }
}
