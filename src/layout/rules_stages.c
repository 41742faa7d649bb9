/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/rule.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "layout/split.h"

static void set_pp(weft_layout *l, int64_t x)
{
    l->pp = (int32_t)x;
}

static void set_vpp(weft_layout *l, int64_t x)
{
    l->vpp = (int32_t)x;
}

/* ---- a number of stages that suits the layers ------------------------------------ */

static int layers_hold(const weft_layout *l, const weft_arch *a)
{
    if (wf_stages_even(l)) return a->layers % wf_layout_stages(l) == 0;
    return !wf_stages_balanced(l) || wf_layout_stages(l) <= a->layers;
}

static const char *does_not(const weft_layout *l, const weft_arch *a)
{
    return wf_layout_stages(l) > a->layers ? "needs more than" : "does not divide";
}

/* "--pp 1 2 3 do", "--pp 1 does" or "no --pp does" */
static const char *ways(const char *values, const char *flag, char *buf, size_t size)
{
    if (*values)
        snprintf(buf, size, "%s %s %s", flag, values,
                 strchr(values, ' ') ? "do" : "does");
    else
        snprintf(buf, size, "no %s does", flag);
    return buf;
}

/* "; --stage-layers balanced does with 8,8,7,7", where each stage can have a layer */
static const char *uneven_way(const weft_layout *l, const weft_arch *a, char *buf,
                              size_t size)
{
    char counts[WF_BALANCED_TEXT];

    *buf = 0;
    if (wf_layout_stages(l) <= a->layers)
        snprintf(buf, size, "; --stage-layers balanced does with %s",
                 wf_balanced_text(l, a, counts));
    return buf;
}

/* " / 2" where two pipelines in opposite directions hold each stage twice */
static const char *halved(const weft_layout *l)
{
    return wf_layout_stages(l) < (int64_t)l->pp * l->vpp ? " / 2" : "";
}

/* The ways out: another pp with this vpp, another vpp with this pp, stages that differ. */
static weft_status layers_broken(const weft_layout *l, const weft_arch *a)
{
    char legal[WF_LEGAL], pp[WF_LEGAL + 16], vpp[WF_LEGAL + 16], uneven[192];
    wf_legal by_pp = {l, a, "pp-layers", set_pp, l->pp, 1, a->layers, 1, 6};
    wf_legal by_vpp = {l, a, "pp-layers", set_vpp, l->vpp, 1, 255, 1, 6};

    uneven_way(l, a, uneven, sizeof uneven);
    ways(wf_legal_text(&by_pp, legal), "--pp", pp, sizeof pp);
    if (l->vpp == 1)
        return WF_FAIL(WEFT_E_INVALID, "--pp %d %s %lld layers; %s%s", l->pp,
                       does_not(l, a), (long long)a->layers, pp, uneven);
    ways(wf_legal_text(&by_vpp, legal), "--vpp", vpp, sizeof vpp);
    return WF_FAIL(
        WEFT_E_INVALID,
        "--pp %d * --vpp %d%s = %lld stages: %s %lld layers; with --vpp %d, %s; with "
        "--pp %d, %s%s",
        l->pp, l->vpp, halved(l), (long long)wf_layout_stages(l), does_not(l, a),
        (long long)a->layers, l->vpp, pp, l->pp, vpp, uneven);
}

/* ---- layers per stage as written ------------------------------------------------- */

static int stages_hold(const weft_layout *l, const weft_arch *a)
{
    wf_stages s = {.stage = -1};

    if (wf_stages_even(l) || wf_stages_balanced(l)) return 1;
    return wf_stages_read(l->stage_layers, &s) == WEFT_OK &&
           s.n == wf_layout_stages(l) && s.layers == a->layers;
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static weft_status stages_broken(const weft_layout *l, const weft_arch *a)
{
    char why[256], uneven[192];
    wf_stages s = {.stage = -1};
    int64_t n = wf_layout_stages(l);

    weft_status st = wf_stages_read(l->stage_layers, &s);
    if (st != WEFT_OK) {
        snprintf(why, sizeof why, "%s", weft_status_message());
        return WF_FAIL(st, "--stage-layers %s: %s", l->stage_layers, why);
    }
    uneven_way(l, a, uneven, sizeof uneven);
    if (s.n != n)
        return WF_FAIL(WEFT_E_INVALID,
                       "--stage-layers %s has %lld stage%s, --pp %d * --vpp %d%s needs "
                       "%lld%s",
                       l->stage_layers, (long long)s.n, plural(s.n), l->pp, l->vpp,
                       halved(l), (long long)n, uneven);
    return WF_FAIL(WEFT_E_INVALID,
                   "--stage-layers %s has %lld layer%s, the model has %lld%s",
                   l->stage_layers, (long long)s.layers, plural(s.layers),
                   (long long)a->layers, uneven);
}

const wf_rule wf_rules_stages[] = {
    {"pp-layers", "pp * vpp divides layers, or with balanced stages is at most as many",
     layers_hold, layers_broken},
    {"stage-layers",
     "stage_layers states the layers of each of pp * vpp stages, and all of them",
     stages_hold, stages_broken},
    {NULL, NULL, NULL, NULL},
};
