/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of an axis set. A rank is a mixed-radix number; a group walks the digits
 * inside the set and keeps those outside it, so all of this is digit arithmetic. */
#include <weft/mesh.h>

#include "base/error.h"

static int in_set(const weft_mesh *mesh, unsigned axes, int a)
{
    return axes >> mesh->axis[a] & 1;
}

/* Put the digits of `number` on the axes inside (or outside) the set, 0 on the others.
 * Fastest axis first, so a larger number gives a larger rank. */
static int spread(const weft_mesh *mesh, unsigned axes, int inside, int number)
{
    int rank = 0, stride = 1;
    for (int a = 0; a < mesh->n_axes; a++) {
        if (in_set(mesh, axes, a) == inside) {
            rank += number % mesh->size[a] * stride;
            number /= mesh->size[a];
        }
        stride *= mesh->size[a];
    }
    return rank;
}

int weft_mesh_group_size(const weft_mesh *mesh, unsigned axes)
{
    int n = 1;
    for (int a = 0; a < mesh->n_axes; a++)
        if (in_set(mesh, axes, a)) n *= mesh->size[a];
    return n;
}

int weft_mesh_group_count(const weft_mesh *mesh, unsigned axes)
{
    return weft_mesh_world(mesh) / weft_mesh_group_size(mesh, axes);
}

int weft_mesh_group_first(const weft_mesh *mesh, unsigned axes, int i)
{
    return spread(mesh, axes, 0, i);
}

int weft_mesh_group_index(const weft_mesh *mesh, unsigned axes, int rank)
{
    int index = 0, weight = 1;
    for (int a = 0; a < mesh->n_axes; a++) {
        if (!in_set(mesh, axes, a)) {
            index += rank % mesh->size[a] * weight;
            weight *= mesh->size[a];
        }
        rank /= mesh->size[a];
    }
    return index;
}

weft_status weft_mesh_group(const weft_mesh *mesh, int rank, unsigned axes, int *n,
                            int *ranks)
{
    int world = weft_mesh_world(mesh), size = weft_mesh_group_size(mesh, axes);

    if (rank < 0 || rank >= world)
        return WF_FAIL(WEFT_E_INVALID, "rank %d is outside the mesh of %d ranks", rank,
                       world);
    int first =
        weft_mesh_group_first(mesh, axes, weft_mesh_group_index(mesh, axes, rank));
    if (n) *n = size;
    for (int i = 0; ranks && i < size; i++)
        ranks[i] = first + spread(mesh, axes, 1, i);
    return WEFT_OK;
}
