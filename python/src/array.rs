//! NumPy arrays ↔ images and frames.

use crate::error::{OrRaise, raise};
use crate::work::short;
use half::f16;
use limpid::{Frame, Image, Kind, Layer, Size};
use numpy::ndarray::{ArrayView3, Axis, Ix2, Ix3};
use numpy::{Element, PyArray1, PyArray3, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

/// A number of an array as an image holds it, and back.
pub(crate) trait Number: Element + Copy + Send + Sync {
    /// Whole numbers fill 0 … 1.
    fn into_image(self) -> f32;
    /// Back; integers are rounded and limited.
    fn from_image(value: f32) -> Self;
}

impl Number for f32 {
    #[inline(always)]
    fn into_image(self) -> f32 {
        self
    }
    #[inline(always)]
    fn from_image(value: f32) -> Self {
        value
    }
}

impl Number for f64 {
    #[inline(always)]
    fn into_image(self) -> f32 {
        self as f32
    }
    #[inline(always)]
    fn from_image(value: f32) -> Self {
        Self::from(value)
    }
}

impl Number for f16 {
    #[inline(always)]
    fn into_image(self) -> f32 {
        self.to_f32()
    }
    #[inline(always)]
    fn from_image(value: f32) -> Self {
        Self::from_f32(value)
    }
}

impl Number for u8 {
    #[inline(always)]
    fn into_image(self) -> f32 {
        f32::from(self) / 255.0
    }
    #[inline(always)]
    fn from_image(value: f32) -> Self {
        (value * 255.0).round() as Self
    }
}

impl Number for u16 {
    #[inline(always)]
    fn into_image(self) -> f32 {
        f32::from(self) / 65535.0
    }
    #[inline(always)]
    fn from_image(value: f32) -> Self {
        (value * 65535.0).round() as Self
    }
}

/// An image from an array of H×W or H×W×C.
pub(crate) fn image(name: &str, array: &Bound<'_, PyAny>) -> PyResult<Image> {
    // What came over a network may begin at any byte.
    let aligned = array.getattr("flags").and_then(|f| f.getattr("aligned"));
    if aligned.is_ok_and(|a| a.is_truthy().is_ok_and(|a| !a)) {
        return image(name, &array.call_method0("copy")?);
    }
    if let Ok(view) = array.extract::<PyReadonlyArrayDyn<'_, f32>>() {
        return from_view(name, array.py(), &view);
    }
    if let Ok(view) = array.extract::<PyReadonlyArrayDyn<'_, f64>>() {
        return from_view(name, array.py(), &view);
    }
    if let Ok(view) = array.extract::<PyReadonlyArrayDyn<'_, f16>>() {
        return from_view(name, array.py(), &view);
    }
    if let Ok(view) = array.extract::<PyReadonlyArrayDyn<'_, u8>>() {
        return from_view(name, array.py(), &view);
    }
    if let Ok(view) = array.extract::<PyReadonlyArrayDyn<'_, u16>>() {
        return from_view(name, array.py(), &view);
    }
    let kind = array.getattr("dtype").map(|d| d.to_string());
    let message = format!(
        "{name}: an array of {} cannot be an image; float16, float32, float64, uint8 and uint16 can",
        kind.unwrap_or_else(|_| array.get_type().to_string())
    );
    Err(raise(array.py(), "InputError", message))
}

fn from_view<T: Number>(
    name: &str,
    py: Python<'_>,
    array: &PyReadonlyArrayDyn<'_, T>,
) -> PyResult<Image> {
    let view = array.as_array();
    let shape = view.shape().to_vec();
    let view = match shape.len() {
        2 => view
            .into_dimensionality::<Ix2>()
            .map(|v| v.insert_axis(Axis(2))),
        _ => view.into_dimensionality::<Ix3>(),
    };
    match view {
        Ok(view) => short(py, || planes(&view)),
        Err(_) => {
            let message = format!(
                "{name}: an array of shape {shape:?} is not an image; expected (height, width) or (height, width, channels)"
            );
            Err(raise(py, "InputError", message))
        }
    }
}

fn planes<T: Number>(view: &ArrayView3<'_, T>) -> Image {
    let (height, width, channels) = view.dim();
    let mut image = Image::new(width, height, channels);
    if width == 0 || height == 0 {
        return image;
    }
    let rows = image.data_mut().par_chunks_mut(width).enumerate();
    rows.with_min_len(16).for_each(|(i, out)| {
        let row = view.index_axis(Axis(0), i % height);
        let row = row.index_axis(Axis(1), i / height);
        match row.as_slice() {
            Some(row) => {
                for (to, from) in out.iter_mut().zip(row) {
                    *to = from.into_image();
                }
            }
            None => {
                for (to, from) in out.iter_mut().zip(row) {
                    *to = from.into_image();
                }
            }
        }
    });
    image
}

/// How arrays that are given back look.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a> {
    /// NumPy's letter and size: `f4`, `f8`, `f2`, `u1` or `u2`.
    pub(crate) kind: &'a str,
    /// One plane after the other in memory, or the channels of a pixel side by side.
    pub(crate) planar: bool,
}

impl Form<'_> {
    /// What the library has: `float32`, channels side by side.
    pub(crate) const PLAIN: Self = Form {
        kind: "f4",
        planar: false,
    };
}

/// An array of H×W×C from an image.
pub(crate) fn array<'py>(
    py: Python<'py>,
    image: Image,
    form: Form<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    match form.kind {
        "f4" if form.planar || image.channels() == 1 => {
            let Size { width, height } = image.size();
            let shape = [image.channels(), height, width];
            // The memory itself, given away.
            let planes = PyArray1::from_vec(py, image.into_data()).reshape(shape)?;
            planes.permute(Some([1, 2, 0])).map(Bound::into_any)
        }
        "f4" => filled::<f32>(py, &image, form.planar),
        "f8" => filled::<f64>(py, &image, form.planar),
        "f2" => filled::<f16>(py, &image, form.planar),
        "u1" => filled::<u8>(py, &image, form.planar),
        "u2" => filled::<u16>(py, &image, form.planar),
        other => Err(raise(
            py,
            "InputError",
            format!("arrays of '{other}' are not supported"),
        )),
    }
}

fn filled<'py, T: Number>(
    py: Python<'py>,
    image: &Image,
    planar: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let Size { width, height } = image.size();
    let channels = image.channels();
    if planar {
        let array = PyArray3::<T>::zeros(py, [channels, height, width], false);
        {
            let mut out = array.readwrite();
            let out = out.as_slice_mut()?;
            short(py, || {
                let pairs = out.par_iter_mut().zip(image.data());
                pairs.for_each(|(to, from)| *to = T::from_image(*from));
            })?;
        }
        return array.permute(Some([1, 2, 0])).map(Bound::into_any);
    }
    let array = PyArray3::<T>::zeros(py, [height, width, channels], false);
    {
        let mut out = array.readwrite();
        let out = out.as_slice_mut()?;
        short(py, || {
            let rows = out.par_chunks_mut((width * channels).max(1)).enumerate();
            rows.with_min_len(8).for_each(|(y, out)| {
                for c in 0..channels {
                    let to = out[c..].iter_mut().step_by(channels);
                    for (to, from) in to.zip(image.row(c, y)) {
                        *to = T::from_image(*from);
                    }
                }
            });
        })?;
    }
    Ok(array.into_any())
}

/// A frame from layers by name.
pub(crate) fn frame(layers: &Bound<'_, PyDict>, every: usize) -> PyResult<Frame> {
    let py = layers.py();
    let mut frame: Option<Frame> = None;
    for (name, array) in layers {
        let name: String = name.extract()?;
        let layer: Layer = name.parse().or_raise(py)?;
        let image = image(&name, &array)?;
        let into = match &mut frame {
            Some(frame) => frame,
            None => frame.insert(Frame::empty(image.size()).or_raise(py)?),
        };
        into.insert(layer, image).or_raise(py)?;
    }
    let Some(mut frame) = frame else {
        return Err(raise(
            py,
            "InputError",
            "the frame has no layers".to_owned(),
        ));
    };
    frame.set_sample_spacing(every);
    Ok(frame)
}

/// Layers by name from a frame. Colour and what adds up to it have the given form.
pub(crate) fn layers<'py>(
    py: Python<'py>,
    mut frame: Frame,
    form: Form<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let names: Vec<Layer> = frame.layers().map(|(layer, _)| layer.clone()).collect();
    for layer in names {
        let like_color = matches!(layer.kind, Kind::Color | Kind::Alpha | Kind::Light(_))
            && layer.part == limpid::Part::Mean;
        let form = if like_color { form } else { Form::PLAIN };
        if let Some(image) = frame.remove(layer.clone()) {
            dict.set_item(layer.to_string(), array(py, image, form)?)?;
        }
    }
    Ok(dict)
}
