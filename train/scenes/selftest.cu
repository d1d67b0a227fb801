// Checks of the path tracer against closed forms: furnace, direct light, integrating sphere, and multiple importance
// sampling against sampling of materials alone.
//
//   nvcc -O3 -arch=sm_90 --use_fast_math scenes/selftest.cu -o build/selftest && build/selftest
//   g++ -x c++ -O2 -fopenmp -DHOST scenes/selftest.cu -o build/selftest_host
#include "library.cu"

static std::vector<float> renderMean(Worker& w, int S, int spp, int stream) { // RGB means, planar
    size_t n = (size_t)3 * S * S;
    w.upload();
    w.clear(n);
    w.render({w.device, S, spp, stream, 1, 0, w.raw});
    std::vector<float> v(n);
    w.download(v.data(), n);
    for (auto& x : v) x /= spp;
    return v;
}
static int tests(Worker& w) {
    Scene& s = w.scene;
    const int S = 32, N = S * S;
    int bad = 0;
    auto reset = [&](V sky) {
        memset(&s, 0, sizeof s);
        s.seed = 5;
        s.sunLight = -1;
        s.exposure = 1;
        s.maxd = 100;
        s.skyPow = 1;
        s.skyH = s.skyZ = s.skyG = sky;
        s.cam.o = mk(0, 0, 5);
        s.cam.f = mk(0, 0, -1);
        s.cam.r = mk(1, 0, 0);
        s.cam.u = mk(0, 1, 0);
        s.cam.th = .05f;
    };
    auto mean = [&](int spp) {
        auto v = renderMean(w, S, spp, 1);
        double t = 0;
        for (int i = 0; i < N; i++) t += v[i];
        return t / N;
    };
    auto say = [&](const char* n, double x, double want, double tol) {
        bool ok = fabs(x - want) <= tol * want;
        bad += !ok;
        printf("%-44s %.5f  expected %.5f  %s\n", n, x, want, ok ? "ok" : "BAD");
    };
    auto matl = [&](int type, float c, float al) {
        Mat m;
        memset(&m, 0, sizeof m);
        m.type = type;
        m.c1 = mk1(c);
        m.alpha = al;
        m.ior = 1.5f;
        s.mats[s.nm] = m;
        return s.nm++;
    };
    const char* tn[] = {"sphere", "ellipsoid", "box", "cylinder", "capsule", "torus", "knot", "rounded", "bumpy", "blob", "vase", "quad", "disc", "tri"};
    for (int ty = 0; ty <= TRI; ty++)
        for (int mt = 0; mt < 3; mt++) {
            reset(mk1(1));
            Gen g(s, 3);
            Frame f = ty >= QUAD ? g.fdir(mk(.3f, .2f, 1)) : g.frand();
            s.nm = 0;
            g.add(ty, mk1(0), f, mk(1, 1, ty == TORUS || ty == KNOT ? .35f : 1), matl(mt, 1, 0));
            if (ty == 0) s.prims[0].h = mk1(1);
            g.picks();
            build(s);
            char b[80];
            sprintf(b, "furnace %s %s", tn[ty], mt == 0 ? "diffuse" : mt == 1 ? "mirror" : "glass");
            say(b, mean(64), 1, 2e-3);
        }
    for (int k = 0; k < 5; k++) {
        reset(mk1(1));
        Gen g(s, 3);
        s.nm = 0;
        float al[5] = {.05f, .2f, .6f, 0, .3f};
        g.add(SPHERE, mk1(0), g.frand(), mk1(1), matl(k < 3 ? METAL : PLASTIC, 1, al[k]));
        s.cam.th = .2f;
        build(s);
        char b[80];
        sprintf(b, "furnace %s alpha %.2f (<= 1, single scatter)", k < 3 ? "metal" : "plastic", al[k]);
        double x = mean(256);
        const double want[5] = {.9925, .9318, .7005, .93, .91};
        say(b, x, want[k], k < 3 ? .004 : .02);
    }
    for (int md = 0; md < 2; md++)
        for (int k = 0; k < 3;
             k++) { // irradiance on a diffuse plane: quad, sphere, sun; then with BSDF sampling only
            reset(mk1(0));
            Gen g(s, 3);
            s.nm = 0;
            s.mode = md;
            int w = matl(DIFFUSE, .5f, 0);
            g.add(QUAD, mk1(0), g.fdir(mk(0, 0, 1)), mk(9, 9, 0), w);
            s.cam.th = .001f;
            s.cam.o = mk(0, 0, 1);
            int e = matl(EMIT, 0, 0);
            s.mats[e].Le = mk1(10);
            double E = 0;
            if (k == 0) {
                Frame f;
                f.w = unit(mk(-.5f, -.2f, -1));
                f.u = unit(cross(mk(0, 1, 0), f.w));
                f.v = cross(f.w, f.u);
                V c = mk(1, .5f, 1.5f);
                g.add(QUAD, c, f, mk(.6f, .4f, 0), e);
                const int M = 600;
                for (int i = 0; i < M * M; i++) {
                    V q = c + f.u * (.6f * (2 * (i % M + .5f) / M - 1)) + f.v * (.4f * (2 * (i / M + .5f) / M - 1));
                    double d2 = dot(q, q), d = sqrt(d2);
                    E += 10 * (q.z / d) * (-dot(q, f.w) / d) / d2 * (4 * .6 * .4) / ((double)M * M);
                }
            }
            if (k == 1) {
                V c = mk(1, .5f, 1.5f);
                g.add(SPHERE, c, g.frand(), mk1(.5f), e);
                double d2 = dot(c, c);
                E = PI * 10 * .25 / d2 * c.z / sqrt(d2);
            }
            if (k == 2) {
                s.sunDir = unit(mk(1, 0, 1));
                double an = .2;
                s.sunCos = cos(an);
                s.sun1mc = 1 - cos(an);
                s.sunL = mk1(10);
                s.sunLight = 0;
                s.nl = 1;
                s.lights[0].kind = 2;
                E = PI * 10 * sin(an) * sin(an) * s.sunDir.z;
            }
            g.picks();
            build(s);
            char b[80];
            sprintf(b, "direct %s %s", k == 0 ? "quad" : k == 1 ? "sphere" : "sun", md ? "BSDF only" : "MIS");
            say(b, mean(md ? 4096 : 1024), E * .5 / PI, md ? .02 : 4e-3);
        }
    {
        reset(mk1(0));
        Gen g(s, 3);
        s.nm = 0;
        g.add(SPHERE, mk1(0), g.frand(), mk1(5.5f), matl(DIFFUSE, .8f, 0));
        int e = matl(EMIT, 0, 0);
        s.mats[e].Le = mk1(100);
        g.add(SPHERE, mk1(0), g.frand(), mk1(.05f), e);
        g.picks();
        build(s);
        s.cam.f = mk(0, 0, 1);
        s.maxd = 400;
        double q = .05 / 5.5;
        q *= q;
        say("integrating sphere, albedo 0.8, all bounces", mean(1024), .8 * 100 * q / (1 - .8 * (1 - q)), 6e-3);
    }
    for (int k = 0; k < 4; k++) { // MIS against BSDF sampling, glossy materials and bump, big lights in a room
        double m[2];
        for (int md = 0; md < 2; md++) {
            reset(mk1(.1f));
            Gen g(s, 3);
            s.nm = 0;
            s.mode = md;
            s.maxd = 6;
            int a = matl(k < 2 ? METAL : PLASTIC, .7f, k == 0 ? .1f : k == 1 ? .5f : k == 2 ? 0 : .3f);
            s.mats[a].bump = 1;
            s.mats[a].bamp = .3f;
            s.mats[a].bscale = 4;
            int e = matl(EMIT, 0, 0);
            s.mats[e].Le = mk1(3);
            s.mats[e].two = 1;
            g.add(QUAD, mk(0, -1, 0), g.fdir(mk(0, 1, 0)), mk(4, 4, 0), a);
            g.add(SPHERE, mk(0, 0, 0), g.frand(), mk1(1), a);
            g.add(QUAD, mk(1.5f, 2, 1), g.fdir(mk(-.3f, -1, .2f)), mk(1, 1, 0), e);
            g.add(SPHERE, mk(-2, 1, 1), g.frand(), mk1(.7f), e);
            s.cam.th = .35f;
            g.picks();
            build(s);
            m[md] = mean(2048);
        }
        char b[80];
        sprintf(b, "MIS = BSDF only, material %d", k);
        say(b, m[0], m[1], 6e-3);
    }
    printf("%d bad\n", bad);
    return bad;
}

int main() {
    static Worker w(3 * PILOT * PILOT, 1);
    return tests(w) ? 1 : 0;
}
