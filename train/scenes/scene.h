// A scene as the device reads it: primitives with frames, materials, lights, camera, sky.
#pragma once
#include "vec.h"
enum { SPHERE, ELLIPSOID, BOX, CYL, CAPSULE, TORUS, KNOT, ROUNDED, BUMPY, BLOB, VASE, QUAD, DISC, TRI }; // marched: TORUS to VASE; closed: < QUAD
enum { DIFFUSE, MIRROR, GLASS, METAL, PLASTIC, EMIT };
struct alignas(16) Prim {
    V c;
    int type;
    V u;
    int mat;
    V v;
    int light;
    V w;
    int group; // of those that move together; 0 stands still
    V h;
    int seed; // of a marched shape
};
struct alignas(16) Node {
    V lo;
    int skip;
    V hi;
    int prim;
};
struct Mat {
    int type, tex, map, bump, two;
    V c1, c2, c3, Le;
    float scale, cs, sn, alpha, ior, bamp, bscale, dirt, par;
    uint32_t seed;
};
struct Light {
    int kind, prim;
    float pick;
    int pad;
}; // kind 0 quad, 1 sphere, 2 sun
struct Cam {
    V o, r, u, f;
    float th, lens, focus;
};
// A rigid motion: x to the rows times x, plus a shift.
struct Pose {
    V rows[3], shift;
};
#define GROUPS 4
#define MAXP 6144
#define MAXM 96
struct Scene {
    Node nodes[2 * MAXP];
    Prim prims[MAXP];
    Mat mats[MAXM];
    Light lights[16];
    int nn, np, nm, nl, nobj1, kind, follow, mode, maxd, sunLight;
    uint32_t seed;
    Cam cam, last;                       // of this frame and of the one before
    Pose pose[GROUPS], before[GROUPS];   // of the groups, from where they were built: now, and in the frame before
    V skyH, skyZ, skyG;
    float skyPow, cloud, cloudScale, exposure;
    float filter; // width of the pixel filter in pixels, by which paths are drawn as Cycles does (Blackman-Harris); 0: a box of one pixel
    V sunDir, sunL;
    // What renderers write as albedo differs: of mirrors and glass (0 one, 1 tint, 2 nothing), of metal (0 tint, 1
    // nothing, 2 one), of emitters (0 nothing, 1 one, 2 emission), of the sky (0 nothing, 1 one).
    int albedoDelta, albedoMetal, albedoEmitter, albedoSky;
    int normalRaw; // normals of panels and leaves as they were modelled, not turned to the camera
    float sunCos, sun1mc;
};
