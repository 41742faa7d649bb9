/* SPDX-License-Identifier: Apache-2.0 */
/* A mesh as text, and an order of axes: weft_mesh_parse(), weft_mesh_make(). */
#include <weft/mesh.h>

#include "fuzz.h"

static void sound(const weft_mesh *m)
{
    int world = weft_mesh_world(m);
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    weft_mesh back;

    PROMISE(world >= 1 && weft_mesh_check(m) == WEFT_OK);
    weft_mesh_write_text(m, &out);
    PROMISE(weft_mesh_parse(text.s, &back) == WEFT_OK);
    PROMISE(back.n_axes == m->n_axes && weft_mesh_world(&back) == world);
    for (int64_t rank = 0; rank < world; rank += 1 + world / 16) {
        int at[WEFT_MAX_AXES] = {0};
        for (int axis = 0; axis < WEFT_N_AXES; axis++)
            at[axis] = weft_mesh_coord_of(m, (int)rank, (weft_axis)axis);
        PROMISE(weft_mesh_rank(m, at) == rank);
    }
    weft_text_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    const int degree[WEFT_MAX_AXES] = {2, 1, 3, 2, 1};
    weft_mesh m;

    if (weft_mesh_parse(text, &m) == WEFT_OK)
        sound(&m);
    else
        REFUSED();
    if (weft_mesh_make(degree, text, &m) == WEFT_OK) {
        PROMISE(weft_mesh_world(&m) == 12);
        sound(&m);
    } else {
        REFUSED();
    }
    free(text);
    return 0;
}
