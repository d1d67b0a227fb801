/* Denoises a grey wall with grain, reads what went wrong, and writes a file. */

#include "limpid.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 48, HEIGHT = 32, PIXELS = WIDTH * HEIGHT };

static void expect(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s: %s\n", what, limpid_error());
        exit(1);
    }
}

static double spread(const float *color) {
    double sum = 0.0;
    for (int i = 0; i < 3 * PIXELS; i++) sum += (color[i] - 0.5) * (color[i] - 0.5);
    return sqrt(sum / (3 * PIXELS));
}

int main(int argc, char **argv) {
    static float color[3 * PIXELS], normal[3 * PIXELS], albedo[3 * PIXELS];
    unsigned state = 1;
    for (int i = 0; i < 3 * PIXELS; i++) {
        state = state * 1664525u + 1013904223u;
        color[i] = 0.5f + 0.2f * ((float)(state >> 8) / (1 << 24) - 0.5f);
        normal[i] = i % 3 == 2 ? 1.0f : 0.0f;
        albedo[i] = 0.7f;
    }
    LimpidFrame *frame = limpid_frame_new(WIDTH, HEIGHT);
    expect(frame != NULL, "new frame");
    expect(limpid_frame_set(frame, "color", color, 3) == LIMPID_STATUS_OK, "set color");
    expect(limpid_frame_set(frame, "normal", normal, 3) == LIMPID_STATUS_OK, "set normal");
    expect(limpid_frame_set(frame, "albedo", albedo, 3) == LIMPID_STATUS_OK, "set albedo");
    expect(limpid_frame_channels(frame, "normal") == 3 && limpid_frame_channels(frame, "depth") == 0, "channels");
    expect(limpid_frame_width(frame) == WIDTH && limpid_frame_height(frame) == HEIGHT, "size");

    /* What is wrong is said in words. */
    expect(limpid_frame_set(frame, "normal", normal, 2) == LIMPID_STATUS_INPUT, "two channels");
    expect(strstr(limpid_error(), "normal") != NULL, "error text");
    expect(limpid_denoiser_new("cpu", "nfr") == NULL, "unknown method");
    expect(strstr(limpid_error(), "'nfor'") != NULL, "nearest name");
    expect(limpid_frame_read("no such file.exr") == NULL, "missing file");

    /* Looking for GPUs says nothing, whether there is one or not. */
    limpid_denoiser_free(limpid_denoiser_new("auto", NULL));

    LimpidDenoiser *denoiser = limpid_denoiser_new("cpu", NULL);
    expect(denoiser != NULL, "new denoiser");
    expect(limpid_denoiser_set(denoiser, "quality", "best") == LIMPID_STATUS_OK, "quality");
    expect(limpid_denoiser_set(denoiser, "strength", "2") == LIMPID_STATUS_OPTION, "strength");
    double before = spread(color);
    LimpidFrame *clean = limpid_denoiser_run(denoiser, frame);
    expect(clean != NULL, "run");
    expect(limpid_frame_get(clean, "color", color, 3) == LIMPID_STATUS_OK, "get color");
    double after = spread(color);
    expect(after < 0.3 * before, "less noise");
    if (argc > 1) expect(limpid_frame_write(clean, argv[1]) == LIMPID_STATUS_OK, "write");
    limpid_frame_free(clean);
    limpid_frame_free(frame);
    limpid_denoiser_free(denoiser);
    printf("limpid %s: deviation %.4f, was %.4f\n", limpid_version(), after, before);
    return 0;
}
