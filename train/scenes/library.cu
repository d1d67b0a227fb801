// Training images, made where they are used: random scenes are path traced straight into the memory of the trainer.
//
//   nvcc -O3 -arch=sm_90 --use_fast_math -shared -Xcompiler -fPIC scenes/library.cu -o build/libscenes.so
//   g++ -x c++ -O2 -fopenmp -DHOST -shared -fPIC scenes/library.cu -o build/libscenes_host.so       (slow, for
//   checks)
//
// One image is size x size pixels of 24 values of 16 bits: input A (colour 3, albedo 3, normal 3, depth 1), input B
// (the same, of other paths and mostly of more samples), reference colour 3, and log2 of the samples of A plus 16
// times that of B plus 256 times the kind of scene (0 room, 1 outdoor, 2 studio, 3 garden). The same seed gives the same scene, samples and noise.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include "motion.h"
#ifndef HOST
#define CK(x)                                                                                                        \
    do {                                                                                                             \
        cudaError_t e_ = (x);                                                                                        \
        if (e_ != cudaSuccess) {                                                                                     \
            fprintf(stderr, "CUDA: %s, %s:%d\n", cudaGetErrorString(e_), __FILE__, __LINE__);                        \
            exit(1);                                                                                                 \
        }                                                                                                            \
    } while (0)
#endif
#define NCH 24
#define INPUT 10
#define PILOT 64

HD uint16_t toHalf(float f) { // round to nearest even, clamp to the largest finite values
    f = clampf(f, -65504.f, 65504.f);
    union {
        float f;
        uint32_t u;
    } a;
    a.f = f;
    uint32_t s = a.u >> 16 & 0x8000, m = a.u & 0x7fffffff;
    if (m < 0x38800000u) {
        a.u = m;
        return (uint16_t)(s | (uint32_t)(int)rintf(a.f * 16777216.f));
    }
    m += 0xfff + (m >> 13 & 1);
    return (uint16_t)(s | ((m - 0x38000000u) >> 13));
}

// Planes of means and sums, as the renders leave them, to one image of the pool.
struct PackArgs {
    const float* raw;
    uint16_t* out;
    int pixels, slices;
    float perReference, counts;
};
HD void packThread(int i, const PackArgs& p) {
    uint16_t* o = p.out + (size_t)i * NCH;
    for (int c = 0; c < 2 * INPUT; c++) o[c] = toHalf(p.raw[i + (size_t)c * p.pixels]);
    for (int c = 0; c < 3; c++) {
        float t = 0;
        for (int k = 0; k < p.slices; k++) t += p.raw[i + (size_t)(2 * INPUT + 3 * k + c) * p.pixels];
        o[2 * INPUT + c] = toHalf(t * p.perReference);
    }
    o[2 * INPUT + 3] = toHalf(p.counts);
}

// A sequence: for each frame colour 3, albedo 3, normal 3, depth 1, motion 2; then the reference of the middle one, and log2
// of the samples of a frame plus 16 times the kind of scene.
#define FRAMES (2 * AROUND + 1)
#define FRAME (INPUT + 2)
#define SEQUENCE (FRAMES * FRAME + 4)
struct PackFrames {
    const float* raw;
    uint16_t* out;
    int pixels, slices;
    float perReference, counts;
};
HD void packFramesThread(int i, const PackFrames& p) {
    uint16_t* o = p.out + (size_t)i * SEQUENCE;
    for (int c = 0; c < FRAMES * FRAME; c++) o[c] = toHalf(p.raw[i + (size_t)c * p.pixels]);
    for (int c = 0; c < 3; c++) {
        float t = 0;
        for (int k = 0; k < p.slices; k++) t += p.raw[i + (size_t)(FRAMES * FRAME + 3 * k + c) * p.pixels];
        o[FRAMES * FRAME + c] = toHalf(t * p.perReference);
    }
    o[FRAMES * FRAME + 3] = toHalf(p.counts);
}

// A thread of the host with what it needs on the device.
struct Worker {
    Scene scene, base; // what is rendered; the middle of a sequence
    Scene* device;
    float* raw;
    int slices;
#ifdef HOST
    Worker(size_t rawFloats, int slices_) : slices(slices_) { device = &scene, raw = (float*)malloc(rawFloats * 4); }
    ~Worker() { free(raw); }
    void upload() {}
    void clear(size_t floats) { memset(raw, 0, floats * 4); }
    void render(const Args& a) {
        int n = a.S * a.S * a.slices;
#pragma omp parallel for schedule(dynamic, 64)
        for (int i = 0; i < n; i++) renderThread(i, a);
    }
    void pack(const PackArgs& a) {
        for (int i = 0; i < a.pixels; i++) packThread(i, a);
    }
    void pack(const PackFrames& a) {
        for (int i = 0; i < a.pixels; i++) packFramesThread(i, a);
    }
    void download(float* to, size_t floats) { memcpy(to, raw, floats * 4); }
    void wait() {}
#else
    cudaStream_t stream;
    Worker(size_t rawFloats, int slices_);
    ~Worker();
    void upload();
    void clear(size_t floats);
    void render(const Args& a);
    void pack(const PackArgs& a);
    void pack(const PackFrames& a);
    void download(float* to, size_t floats);
    void wait();
#endif
};
#ifndef HOST
__global__ void __launch_bounds__(128, 4) renderKernel(Args a) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < a.S * a.S * a.slices) renderThread(i, a);
}
__global__ void packKernel(PackArgs a) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < a.pixels) packThread(i, a);
}
__global__ void packFramesKernel(PackFrames a) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < a.pixels) packFramesThread(i, a);
}
Worker::Worker(size_t rawFloats, int slices_) : slices(slices_) {
    CK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CK(cudaMalloc(&device, sizeof(Scene)));
    CK(cudaMalloc(&raw, rawFloats * 4));
}
Worker::~Worker() {
    cudaStreamDestroy(stream);
    cudaFree(device);
    cudaFree(raw);
}
void Worker::upload() { CK(cudaMemcpyAsync(device, &scene, sizeof scene, cudaMemcpyHostToDevice, stream)); }
void Worker::clear(size_t floats) { CK(cudaMemsetAsync(raw, 0, floats * 4, stream)); }
void Worker::render(const Args& a) {
    renderKernel<<<(a.S * a.S * a.slices + 127) / 128, 128, 0, stream>>>(a);
    CK(cudaGetLastError());
}
void Worker::pack(const PackArgs& a) {
    packKernel<<<(a.pixels + 127) / 128, 128, 0, stream>>>(a);
    CK(cudaGetLastError());
}
void Worker::pack(const PackFrames& a) {
    packFramesKernel<<<(a.pixels + 127) / 128, 128, 0, stream>>>(a);
    CK(cudaGetLastError());
}
void Worker::download(float* to, size_t floats) {
    CK(cudaMemcpyAsync(to, raw, floats * 4, cudaMemcpyDeviceToHost, stream));
    wait();
}
void Worker::wait() { CK(cudaStreamSynchronize(stream)); }
#endif

// Sets the exposure from a small render; false where the picture is too dark to learn from.
static bool expose(Worker& w, uint32_t hash) {
    const int n = PILOT * PILOT;
    static thread_local std::vector<float> p(3 * n), l(n);
    w.upload();
    w.clear(3 * n);
    w.render({w.device, PILOT, 32, 3, 1, 0, w.raw});
    w.download(p.data(), 3 * n);
    int zero = 0;
    double clipped = 0, mean = 0;
    for (int i = 0; i < n; i++) {
        l[i] = (.2126f * p[i] + .7152f * p[i + n] + .0722f * p[i + 2 * n]) / 32;
        zero += l[i] <= 0;
        mean += l[i] / n;
    }
    std::vector<float> sorted(l);
    std::nth_element(sorted.begin(), sorted.begin() + n / 2, sorted.end());
    float median = sorted[n / 2];
    for (float x : l) clipped += std::min(x, 8 * median) / n;
    if (zero > .25f * n || median < 1e-5f || mean < 2e-4) return false;
    w.scene.exposure = (float)(.05 * pow(60., u01(hsh(hash + 9))) / std::max(clipped, .7 * mean));
    return true;
}

// One image of a seed; false where no acceptable scene was found.
static bool image(Worker& w, uint32_t seed, int size, int reference, uint16_t* out) {
    const uint32_t hash = hsh(seed ^ 0x51ed270bu);
    const int few[8] = {0, 0, 0, 1, 1, 2, 2, 3}; // log2 of the samples
    const int many[16] = {0, 1, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 8}, longer[9] = {1, 1, 1, 1, 2, 2, 4, 6, 8};
    const int a = few[hash % 8], b = many[hash / 8 % 16], pixels = size * size;
    for (int attempt = 0; attempt < 500; attempt++) {
        if (!makeScene(w.scene, seed, attempt) || !expose(w, hash)) continue;
        w.upload();
        w.clear((size_t)(2 * INPUT + 3 * w.slices) * pixels);
        w.render({w.device, size, 1 << a, 0, 1, 1, w.raw});
        w.render({w.device, size, 1 << b, 1, 1, 1, w.raw + (size_t)INPUT * pixels});
        const int per = reference * longer[b] / w.slices;
        for (int done = 0, chunk = 0; done < per; done += 32, chunk++)
            w.render({w.device, size, std::min(32, per - done), 8 + chunk, w.slices, 0,
                      w.raw + (size_t)2 * INPUT * pixels});
        w.pack(PackArgs{w.raw, out, pixels, w.slices, 1.f / (per * w.slices), (float)(a + 16 * b + 256 * w.scene.kind)});
        w.wait();
        return true;
    }
    return false;
}

// One sequence of a seed; false where no acceptable scene was found.
static bool sequence(Worker& w, uint32_t seed, int size, int reference, uint16_t* out) {
    const uint32_t hash = hsh(seed ^ 0x3c6ef372u);
    const int samples[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5}, longer[6] = {1, 1, 1, 2, 3, 4}; // log2; times the reference
    const int a = samples[hash % 16], pixels = size * size;
    for (int attempt = 0; attempt < 500; attempt++) {
        if (!makeScene(w.scene, seed, attempt) || !expose(w, hash)) continue;
        Motion motion(w.scene, hash);
        w.base = w.scene;
        w.clear((size_t)(FRAMES * FRAME + 3 * w.slices) * pixels);
        for (int k = 0; k < FRAMES; k++) {
            const int t = k == FRAMES - 1 ? 0 : k < AROUND ? k - AROUND : k - AROUND + 1; // the middle one last
            motion.at(w.base, w.scene, (float)t);
            w.upload();
            w.render({w.device, size, 1 << a, 40 + t, 1, 2, w.raw + (size_t)(t + AROUND) * FRAME * pixels});
        }
        const int per = reference * longer[a] / w.slices;
        for (int done = 0, chunk = 0; done < per; done += 32, chunk++)
            w.render({w.device, size, std::min(32, per - done), 64 + chunk, w.slices, 0,
                      w.raw + (size_t)FRAMES * FRAME * pixels});
        w.pack(PackFrames{w.raw, out, pixels, w.slices, 1.f / (per * w.slices), (float)(a + 16 * w.scene.kind)});
        w.wait();
        return true;
    }
    return false;
}

typedef bool Make(Worker&, uint32_t, int, int, uint16_t*);
static int fill(Make make, uint16_t* pool, uint32_t seed, int count, int size, int reference, int threads, int inputs, int channels) {
    std::atomic<int> next(0), made(0);
    auto work = [&] {
        const int slices = reference >= 32 ? 4 : 1;
        const size_t pixels = std::max((size_t)size * size, (size_t)PILOT * PILOT);
        Worker* w = new Worker((inputs + 3 * slices) * pixels, slices);
        for (int i; (i = next++) < count;)
            made += make(*w, seed + i, size, reference, pool + (size_t)i * size * size * channels);
        delete w;
    };
    std::vector<std::thread> all;
    for (int i = 1; i < threads; i++) all.emplace_back(work);
    work();
    for (auto& t : all) t.join();
    return made;
}
// Fills `count` images of the pool from `seed` on; returns how many were made (the others are left as they were).
// References have `reference` samples, and 2 to 8 times as many where input B has 16 to 256.
extern "C" int scenes_fill(uint16_t* pool, uint32_t seed, int count, int size, int reference, int threads) {
    return fill(image, pool, seed, count, size, reference, threads, 2 * INPUT, NCH);
}
// The same for sequences.
extern "C" int sequences_fill(uint16_t* pool, uint32_t seed, int count, int size, int reference, int threads) {
    return fill(sequence, pool, seed, count, size, reference, threads, FRAMES * FRAME, SEQUENCE);
}
