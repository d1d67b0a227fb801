// One level of the à-trous filter with learned guides, forward and backward, each as one kernel.
//
//   nvcc -O3 -arch=sm_90 -shared -Xcompiler -fPIC filter/level.cu -o build/liblevel.so
//   g++ -x c++ -O2 -fopenmp -DHOST -shared -fPIC filter/level.cu -o build/liblevel_host.so
//
// For pixel p and its 25 taps q at the distance `step`:
//
//   d(p,q) = sum over the guides (f(p) - f(q))^2
//   w(p,q) = h(p,q) exp(-a(p) d(p,q) - e(p) (v(p) - v(q))^2 + b(q))
//   out(p) = sum w(p,q) c(q) / sum w(p,q)
//
// c: 3 values to filter, f: 8 guides, v: one more guide (brightness of c), a, e >= 0: precisions at the pixel, b <=
// 0: log of the trust in the tap, h: the B3 spline. Taps outside the image do not count. v, e and b may be null,
// which means zero. All planes are float, ordered image, channel, row, column. The backward pass gathers: every pixel
// visits its taps once as their centre and once as theirs, so it needs no atomic operations and gives the same result
// in every run.
#include <cmath>
#include <cstddef>
#include <cstdint>
#ifdef HOST
#define HD static inline
#else
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#define HD static __host__ __device__ inline
#endif
#define GUIDES 8
#define EPSILON 1e-12f

struct Level {
    const float *c, *f, *v, *a, *e, *b;
    float *out, *inv; // result, and one over the sum of the weights
    int images, height, width, step;
};
struct Gradient {
    const float *c, *f, *v, *a, *e, *b, *out, *inv, *g; // g: gradient of the result
    float *dc, *df, *dv, *da, *de, *db;                 // each may be null where its input is
    int images, height, width, step;
};

HD float spline(int i) { return i == 0 ? 0.375f : (i == 1 || i == -1) ? 0.25f : 0.0625f; }

HD void forwardPixel(const Level& l, size_t pixel) {
    const size_t plane = (size_t)l.height * l.width, n = pixel / plane, p = pixel % plane;
    const int x = (int)(p % l.width), y = (int)(p / l.width);
    const float *f = l.f + n * GUIDES * plane, *c = l.c + n * 3 * plane;
    float fp[GUIDES], sum[3] = {0, 0, 0}, total = 0;
    for (int k = 0; k < GUIDES; k++) fp[k] = f[k * plane + p];
    const float a = l.a[pixel], e = l.e ? l.e[pixel] : 0, v = l.v ? l.v[pixel] : 0;
    for (int j = -2; j <= 2; j++) {
        const int yq = y + j * l.step;
        if (yq < 0 || yq >= l.height) continue;
        for (int i = -2; i <= 2; i++) {
            const int xq = x + i * l.step;
            if (xq < 0 || xq >= l.width) continue;
            const size_t q = (size_t)yq * l.width + xq;
            float d = 0;
            for (int k = 0; k < GUIDES; k++) {
                const float t = fp[k] - f[k * plane + q];
                d += t * t;
            }
            float exponent = -a * d;
            if (l.v) {
                const float t = v - l.v[n * plane + q];
                exponent -= e * t * t;
            }
            if (l.b) exponent += l.b[n * plane + q];
            const float w = spline(i) * spline(j) * expf(exponent);
            for (int k = 0; k < 3; k++) sum[k] += w * c[k * plane + q];
            total += w;
        }
    }
    const float inv = 1 / (total + EPSILON);
    for (int k = 0; k < 3; k++) l.out[(n * 3 + k) * plane + p] = sum[k] * inv;
    l.inv[pixel] = inv;
}

HD void backwardPixel(const Gradient& l, size_t pixel) {
    const size_t plane = (size_t)l.height * l.width, n = pixel / plane, p = pixel % plane;
    const int x = (int)(p % l.width), y = (int)(p / l.width);
    const float *f = l.f + n * GUIDES * plane, *c = l.c + n * 3 * plane, *o = l.out + n * 3 * plane,
                *g = l.g + n * 3 * plane;
    float fp[GUIDES], df[GUIDES], dc[3] = {0, 0, 0}, cp[3], op[3], gp[3], da = 0, de = 0, db = 0, dv = 0;
    for (int k = 0; k < GUIDES; k++) fp[k] = f[k * plane + p], df[k] = 0;
    for (int k = 0; k < 3; k++) cp[k] = c[k * plane + p], op[k] = o[k * plane + p], gp[k] = g[k * plane + p];
    const float ap = l.a[pixel], ep = l.e ? l.e[pixel] : 0, vp = l.v ? l.v[pixel] : 0, bp = l.b ? l.b[pixel] : 0,
                ip = l.inv[pixel];
    for (int j = -2; j <= 2; j++) {
        const int yq = y + j * l.step;
        if (yq < 0 || yq >= l.height) continue;
        for (int i = -2; i <= 2; i++) {
            const int xq = x + i * l.step;
            if (xq < 0 || xq >= l.width) continue;
            const size_t q = (size_t)yq * l.width + xq, nq = n * plane + q;
            float t[GUIDES], d = 0;
            for (int k = 0; k < GUIDES; k++) t[k] = fp[k] - f[k * plane + q], d += t[k] * t[k];
            const float aq = l.a[nq], eq = l.e ? l.e[nq] : 0, bq = l.b ? l.b[nq] : 0, tv = l.v ? vp - l.v[nq] : 0;
            const float h = spline(i) * spline(j);
            const float asCentre = h * expf(-ap * d - ep * tv * tv + bq) * ip;     // w(p,q) / sum
            const float asTap = h * expf(-aq * d - eq * tv * tv + bp) * l.inv[nq]; // w(q,p) / sum at q
            float sc = 0, st = 0;
            for (int k = 0; k < 3; k++) {
                const float gq = g[k * plane + q];
                sc += gp[k] * (c[k * plane + q] - op[k]);
                st += gq * (cp[k] - o[k * plane + q]);
                dc[k] += asTap * gq;
            }
            sc *= asCentre, st *= asTap;
            da -= sc * d, de -= sc * tv * tv, db += st;
            const float both = -2 * (ap * sc + aq * st);
            for (int k = 0; k < GUIDES; k++) df[k] += both * t[k];
            dv += -2 * (ep * sc + eq * st) * tv;
        }
    }
    if (l.dc)
        for (int k = 0; k < 3; k++) l.dc[(n * 3 + k) * plane + p] = dc[k];
    for (int k = 0; k < GUIDES; k++) l.df[(n * GUIDES + k) * plane + p] = df[k];
    l.da[pixel] = da;
    if (l.dv) l.dv[pixel] = dv;
    if (l.de) l.de[pixel] = de;
    if (l.db) l.db[pixel] = db;
}

#ifdef HOST
extern "C" void level_forward(Level l, void*) {
    const size_t n = (size_t)l.images * l.height * l.width;
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) forwardPixel(l, i);
}
extern "C" void level_backward(Gradient l, void*) {
    const size_t n = (size_t)l.images * l.height * l.width;
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) backwardPixel(l, i);
}
#else
__global__ void forwardKernel(Level l) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (size_t)l.images * l.height * l.width) forwardPixel(l, i);
}
__global__ void __launch_bounds__(128) backwardKernel(Gradient l) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (size_t)l.images * l.height * l.width) backwardPixel(l, i);
}
extern "C" void level_forward(Level l, void* stream) {
    const size_t n = (size_t)l.images * l.height * l.width;
    forwardKernel<<<(unsigned)((n + 127) / 128), 128, 0, (cudaStream_t)stream>>>(l);
}
extern "C" void level_backward(Gradient l, void* stream) {
    const size_t n = (size_t)l.images * l.height * l.width;
    backwardKernel<<<(unsigned)((n + 127) / 128), 128, 0, (cudaStream_t)stream>>>(l);
}

// The level as a product would run it, to measure its time: 16-bit storage, 32-bit sums. Pixels hold eight guides in
// 16 bytes, and colour and trust in 8; `precision` holds a and e of this level.
struct HalfLevel {
    const uint4* guides;
    const uint2* colour;
    const __half *brightness, *precision, *nextTrust;
    uint2* out;
    __half* outBrightness;
    int height, width, step;
};
__global__ void __launch_bounds__(256) halfKernel(HalfLevel l) {
    const int x = blockIdx.x * 32 + threadIdx.x % 32, y = blockIdx.y * 8 + threadIdx.x / 32;
    if (x >= l.width || y >= l.height) return;
    const int p = y * l.width + x;
    const uint4 gp = l.guides[p];
    const __half2 *fp = (const __half2*)&gp, ae = ((const __half2*)l.precision)[p];
    const float v = __half2float(l.brightness[p]), log2e = 1.44269504f, a = __low2float(ae) * log2e,
                e = __high2float(ae) * log2e;
    float r = 0, g = 0, b = 0, total = 0;
#pragma unroll
    for (int j = -2; j <= 2; j++) {
        const int yq = y + j * l.step;
        if (yq < 0 || yq >= l.height) continue;
#pragma unroll
        for (int i = -2; i <= 2; i++) {
            const int xq = x + i * l.step;
            if (xq < 0 || xq >= l.width) continue;
            const int q = yq * l.width + xq;
            const uint4 gq = l.guides[q];
            const uint2 cq = l.colour[q];
            const __half2* fq = (const __half2*)&gq;
            __half2 s0 = __hsub2(fp[0], fq[0]), s1 = __hsub2(fp[1], fq[1]), s2 = __hsub2(fp[2], fq[2]),
                    s3 = __hsub2(fp[3], fq[3]);
            s0 = __hfma2(s1, s1, __hmul2(s0, s0));
            s2 = __hfma2(s3, s3, __hmul2(s2, s2));
            const float2 both = __half22float2(__hadd2(s0, s2));
            const float d = fminf(both.x + both.y, 6e4f);
            const float t = v - __half2float(l.brightness[q]);
            const float2 rg = __half22float2(*(const __half2*)&cq.x), bt = __half22float2(*(const __half2*)&cq.y);
            const float w = spline(i) * spline(j) * exp2f(-a * d - e * t * t + bt.y * log2e);
            r += w * rg.x, g += w * rg.y, b += w * bt.x, total += w;
        }
    }
    const float inv = 1 / (total + EPSILON);
    r *= inv, g *= inv, b *= inv;
    uint2 o;
    *(__half2*)&o.x = __floats2half2_rn(r, g);
    *(__half2*)&o.y = __halves2half2(__float2half(b), l.nextTrust[p]);
    l.out[p] = o;
    l.outBrightness[p] = __float2half(__logf(.05f + .2126f * r + .7152f * g + .0722f * b));
}
extern "C" void level_half(HalfLevel l, void* stream) {
    halfKernel<<<dim3((l.width + 31) / 32, (l.height + 7) / 8), 256, 0, (cudaStream_t)stream>>>(l);
}
#endif
