/* The wavelet transforms of OpenJPEG as functions of an image: compiled with its sources by dwt.py. */
#include <string.h>
#include "opj_includes.h"

#define MOST 33

/* Transforms a plane in place, `back` or there; `real` is CDF 9/7 on floats, otherwise 5/3 on whole numbers. */
int limpid_peer_dwt(int *data, int width, int height, int levels, int threads, int real, int back)
{
    static opj_thread_pool_t *pool;
    static int pool_size = -1;
    opj_tcd_t tcd;
    opj_tcd_tilecomp_t tile;
    opj_tcd_resolution_t resolutions[MOST];
    if (pool_size != threads) {
        if (pool) opj_thread_pool_destroy(pool);
        pool = opj_thread_pool_create(threads > 1 ? threads : 0);
        pool_size = threads;
    }
    memset(&tcd, 0, sizeof tcd);
    memset(&tile, 0, sizeof tile);
    memset(resolutions, 0, sizeof resolutions);
    for (int r = levels; r >= 0; r--) {
        int step = levels - r, around = (1 << step) - 1;
        resolutions[r].x1 = (width + around) >> step;
        resolutions[r].y1 = (height + around) >> step;
        resolutions[r].win_x1 = (OPJ_UINT32)resolutions[r].x1;
        resolutions[r].win_y1 = (OPJ_UINT32)resolutions[r].y1;
    }
    tcd.thread_pool = pool;
    tcd.whole_tile_decoding = OPJ_TRUE;
    tile.x1 = width;
    tile.y1 = height;
    tile.numresolutions = tile.minimum_num_resolutions = (OPJ_UINT32)levels + 1;
    tile.resolutions = resolutions;
    tile.data = data;
    if (back) {
        return real ? opj_dwt_decode_real(&tcd, &tile, levels + 1) : opj_dwt_decode(&tcd, &tile, levels + 1);
    }
    return real ? opj_dwt_encode_real(&tcd, &tile) : opj_dwt_encode(&tcd, &tile);
}
