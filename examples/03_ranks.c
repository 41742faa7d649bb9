/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layout, checked against a model: where each rank sits, which layers it holds, and what
 * is said when a degree does not fit.
 *
 *     cc 03_ranks.c $(pkg-config --cflags --libs weft) && ./a.out
 */
#include <stdio.h>
#include <stdlib.h>
#include <weft.h>

static void check(weft_status st)
{
    if (st == WEFT_OK) return;
    fprintf(stderr, "%s\n", weft_status_message());
    exit(1);
}

static int64_t params_of(const weft_layout *l, const weft_arch *a, int pp)
{
    int64_t first, count, n = 0;

    weft_layout_stage_layers(l, a, pp, &first, &count);
    for (int i = 0; i < weft_arch_tensor_count(a); i++) {
        weft_tensor_info t;
        int64_t size[2];
        weft_arch_tensor(a, i, &t);
        int embedding = t.layer < 0, last = t.layer >= a->layers;
        int here = embedding ? pp == 0
                   : last    ? pp == l->pp - 1
                             : t.layer >= first && t.layer < first + count;
        /* a tied output layer is a second copy of the embedding on the last stage */
        int copy = t.role == WEFT_WTE && a->tied && l->pp > 1 && pp == l->pp - 1;
        weft_layout_shard_size(l, a, &t, size);
        if (here || copy) n += size[0] * size[1];
    }
    return n;
}

static void print_groups(const weft_mesh *mesh, weft_axis axis)
{
    int ranks[64], n;
    printf("%s groups:", weft_axis_name(axis));
    for (int g = 0; g < weft_mesh_group_count(mesh, 1u << axis); g++) {
        int first = weft_mesh_group_first(mesh, 1u << axis, g);
        check(weft_mesh_group(mesh, first, 1u << axis, &n, ranks));
        for (int i = 0; i < n; i++)
            printf("%s%d", i ? "," : " {", ranks[i]);
        printf("}");
    }
    printf("\n");
}

int main(void)
{
    const char *derived;
    weft_arch model;
    weft_layout l;
    weft_mesh mesh;

    check(weft_arch_parse("gpt2", &model));
    weft_layout_defaults(&l);
    check(weft_layout_set(&l, "tp", "2"));
    check(weft_layout_set(&l, "pp", "4"));
    check(weft_layout_set(&l, "global-batch", "64"));
    check(weft_layout_set(&l, "seq", "1024"));
    check(weft_layout_resolve(&l, 16, &derived));
    check(weft_layout_check(&l, &model));
    check(weft_layout_mesh(&l, &mesh));
    printf("%s = %d was derived\n", derived, l.dp);

    printf("rank tp pp dp  layers  parameters\n");
    for (int r = 0; r < weft_layout_world(&l); r++) {
        int64_t first, count;
        int pp = weft_mesh_coord_of(&mesh, r, WEFT_PP);
        weft_layout_stage_layers(&l, &model, pp, &first, &count);
        printf("%4d %2d %2d %2d  %2lld..%-2lld  %10lld\n", r,
               weft_mesh_coord_of(&mesh, r, WEFT_TP), pp,
               weft_mesh_coord_of(&mesh, r, WEFT_DP), (long long)first,
               (long long)(first + count - 1), (long long)params_of(&l, &model, pp));
    }
    print_groups(&mesh, WEFT_TP);
    print_groups(&mesh, WEFT_PP);
    print_groups(&mesh, WEFT_DP);

    check(weft_layout_set(&l, "tp", "8"));
    if (weft_layout_check(&l, &model)) printf("%s\n", weft_status_message());
    return 0;
}
