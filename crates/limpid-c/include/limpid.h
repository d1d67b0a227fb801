/*
 * Limpid removes noise from images, on any GPU and on the CPU.
 *
 *     LimpidFrame *frame = limpid_frame_new(width, height);
 *     limpid_frame_set(frame, "color", pixels, 3);
 *     limpid_frame_set(frame, "albedo", albedo, 3);
 *     limpid_frame_set(frame, "normal", normal, 3);
 *     LimpidDenoiser *denoiser = limpid_denoiser_new("auto", NULL);
 *     LimpidFrame *clean = limpid_denoiser_run(denoiser, frame);
 *     if (!clean) fprintf(stderr, "%s\n", limpid_error());
 *     else limpid_frame_get(clean, "color", pixels, 3);
 *
 * Objects belong to the caller, who frees them. Different objects may be used on different threads at the same time.
 */

#ifndef LIMPID_H
#define LIMPID_H

/* Made by cbindgen from crates/limpid-c/src/lib.rs. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// What a call gives.
typedef enum {
  // It worked.
  LIMPID_STATUS_OK = 0,
  // An argument or the input is wrong.
  LIMPID_STATUS_INPUT = 1,
  // An option has a value that is not allowed.
  LIMPID_STATUS_OPTION = 2,
  // A layer that the method needs is missing.
  LIMPID_STATUS_MISSING = 3,
  // This build or device cannot do it.
  LIMPID_STATUS_UNSUPPORTED = 4,
  // The device failed or is not there.
  LIMPID_STATUS_DEVICE = 5,
  // A file could not be read or written.
  LIMPID_STATUS_IO = 6,
  // A fault of the library.
  LIMPID_STATUS_INTERNAL = 7,
} LimpidStatus;

// A method on a device. It keeps compiled shaders, memory and the history of sequences from frame to frame.
typedef struct LimpidDenoiser LimpidDenoiser;

// Named layers of one size.
typedef struct LimpidFrame LimpidFrame;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version, like "0.1.0".
const char *limpid_version(void);

// What went wrong in the last call of this thread; empty when it worked. Valid until the next call of this thread.
const char *limpid_error(void);

// A frame without layers; NULL when a side is 0.
LimpidFrame *limpid_frame_new(uint32_t width, uint32_t height);

// Reads a file with all layers that are recognised. NULL on errors.
//
// # Safety
//
// `path` is a string that ends with zero.
LimpidFrame *limpid_frame_read(const char *path);

// Writes the frame, in the format of the extension, whole or not at all.
//
// # Safety
//
// `frame` is a frame that was not freed, `path` a string that ends with zero.
LimpidStatus limpid_frame_write(const LimpidFrame *frame, const char *path);

// Frees a frame; NULL does nothing.
//
// # Safety
//
// `frame` is NULL or a frame that was not freed.
void limpid_frame_free(LimpidFrame *frame);

// Width in pixels; 0 for NULL.
//
// # Safety
//
// `frame` is NULL or a frame that was not freed.
uint32_t limpid_frame_width(const LimpidFrame *frame);

// Height in pixels; 0 for NULL.
//
// # Safety
//
// `frame` is NULL or a frame that was not freed.
uint32_t limpid_frame_height(const LimpidFrame *frame);

// The number of channels of a layer; 0 where the frame does not have it.
//
// # Safety
//
// `frame` is a frame that was not freed, `layer` a string that ends with zero.
uint32_t limpid_frame_channels(const LimpidFrame *frame, const char *layer);

// Sets a layer: "color", "albedo", "normal", "depth", "motion", "color.variance", "light:key", … The pixels are rows from top to
// bottom, the channels of a pixel side by side; they are copied.
//
// # Safety
//
// `frame` is a frame that was not freed, `layer` a string that ends with zero, `pixels` points to width × height × channels
// floats.
LimpidStatus limpid_frame_set(LimpidFrame *frame,
                              const char *layer,
                              const float *pixels,
                              uint32_t channels);

// Copies a layer out, in the order of `limpid_frame_set`.
//
// # Safety
//
// `frame` is a frame that was not freed, `layer` a string that ends with zero, `pixels` points to room for width × height ×
// channels floats.
LimpidStatus limpid_frame_get(const LimpidFrame *frame,
                              const char *layer,
                              float *pixels,
                              uint32_t channels);

// A denoiser on a device ("auto", "cpu", "gpu", "gpu:NAME"), with a method ("nfor", "svgf", …) or, for NULL, the method that
// the layers of each frame suggest. NULL on errors.
//
// # Safety
//
// `device` is a string that ends with zero, `method` is such a string or NULL.
LimpidDenoiser *limpid_denoiser_new(const char *device,
                                    const char *method);

// Sets an option of the method by its name on the command line ("quality", "sigma"), or "strength", 0 … 1. History is
// forgotten.
//
// # Safety
//
// `denoiser` is a denoiser that was not freed, `name` and `value` are strings that end with zero.
LimpidStatus limpid_denoiser_set(LimpidDenoiser *denoiser,
                                 const char *name,
                                 const char *value);

// Denoises a frame; the frames of a sequence in order. The result is a new frame. NULL on errors.
//
// # Safety
//
// `denoiser` and `frame` were not freed.
LimpidFrame *limpid_denoiser_run(LimpidDenoiser *denoiser, const LimpidFrame *frame);

// Forgets the history of a sequence, as after a cut.
//
// # Safety
//
// `denoiser` is NULL or a denoiser that was not freed.
void limpid_denoiser_reset(LimpidDenoiser *denoiser);

// Frees a denoiser; NULL does nothing.
//
// # Safety
//
// `denoiser` is NULL or a denoiser that was not freed.
void limpid_denoiser_free(LimpidDenoiser *denoiser);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LIMPID_H */
