/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "train/data.h"
#include "train/data_bytes.h"

typedef long long ll; /* for messages */

typedef enum kind { NONE, TEXT, U16, U32 } kind;

static const char *const kind_name[] = {"nothing", "text", "16-bit tokens",
                                        "32-bit tokens"};
static const int kind_bytes[] = {0, 1, 2, 4};

enum { LLMC_HEADER = 1024, N_BYTES = 256 };

/* Token files of llm.c: 256 i32 (magic, version, number of tokens), then the tokens. */
static const struct llmc {
    int64_t magic, version;
    kind kind;
} llmc[] = {{20240520, 1, U16}, {20240801, 7, U32}};
enum { N_LLMC = sizeof llmc / sizeof llmc[0] };

static uint32_t le32(const wf_bytes *b, int64_t at)
{
    const unsigned char *p = (const unsigned char *)b->p + at;
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static weft_status check_header(const wf_bytes *b, const struct llmc *f)
{
    if (b->n < LLMC_HEADER)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--data %s: begins as a token file of llm.c (magic %lld) but has %lld "
            "bytes; its header alone has %d",
            b->name, (ll)f->magic, (ll)b->n, LLMC_HEADER);
    int64_t version = (int32_t)le32(b, 4), n = (int32_t)le32(b, 8);
    if (version != f->version)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--data %s: token file of llm.c, magic %lld version %lld: version %lld is "
            "needed",
            b->name, (ll)f->magic, (ll)version, (ll)f->version);
    if (n < 1 || n * kind_bytes[f->kind] != b->n - LLMC_HEADER)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--data %s: the header counts %lld tokens of %d bytes, but %lld bytes "
            "follow it",
            b->name, (ll)n, kind_bytes[f->kind], (ll)(b->n - LLMC_HEADER));
    return WEFT_OK;
}

static int named_bin(const char *path)
{
    size_t n = strlen(path);
    return n >= 4 && !strcmp(path + n - 4, ".bin");
}

/* llm.c's magic numbers are dates. As two u16 tokens they would be past GPT-2's 50257, so
 * raw tokens are not taken for one by chance. */
static weft_status detect(const wf_bytes *b, kind *k, int64_t *offset)
{
    int64_t magic = b->n >= 4 ? le32(b, 0) : 0;

    for (int i = 0; i < N_LLMC; i++) {
        if (magic != llmc[i].magic) continue;
        WF_TRY(check_header(b, &llmc[i]));
        *k = llmc[i].kind;
        *offset = LLMC_HEADER;
        return WEFT_OK;
    }
    if (magic >= 20240101 && magic <= 20241231)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--data %s: a file of llm.c, but not of tokens: magic %lld; 20240520 or "
            "20240801 is needed",
            b->name, (ll)magic);
    *k = named_bin(b->name) ? U16 : TEXT;
    *offset = 0;
    if (b->n % kind_bytes[*k])
        return WF_FAIL(
            WEFT_E_INVALID,
            "--data %s: %lld bytes, an odd size; a .bin file without llm.c's header "
            "holds 16-bit tokens",
            b->name, (ll)b->n);
    return WEFT_OK;
}

/* flag: "--data ", or "" for text that was in no file. */
static weft_status check_text(const char *flag, const wf_bytes *b)
{
    const char *nul = memchr(b->p, 0, (size_t)b->n);

    if (!nul) return WEFT_OK;
    return WF_FAIL(
        WEFT_E_INVALID,
        "%s%s: a NUL byte at offset %lld: a binary file, where text or a .bin "
        "token file is needed",
        flag, b->name, (ll)(nul - (const char *)b->p));
}

static int64_t raw_token(const wf_bytes *b, kind k, int64_t at)
{
    const unsigned char *p = (const unsigned char *)b->p + at;

    switch (k) {
    case U32: return le32(b, at);
    case U16: return p[0] | p[1] << 8;
    default: return p[0];
    }
}

static weft_status out_of_range(const wf_bytes *b, int64_t token, int64_t i,
                                int64_t max, int64_t limit)
{
    if (token >= INT32_MAX)
        return WF_FAIL(WEFT_E_INVALID,
                       "--data %s: token %lld at position %lld is past %d", b->name,
                       (ll)token, (ll)i, INT32_MAX - 1);
    return WF_FAIL(
        WEFT_E_INVALID,
        "--data %s: token %lld at position %lld is not below --vocab %lld; the "
        "largest in it is %lld, so --vocab %lld or more is needed",
        b->name, (ll)token, (ll)i, (ll)limit, (ll)max, (ll)max + 1);
}

/* Tokens of b into d from *total on; the largest seen is kept in *max. */
static weft_status append(weft_data *d, const wf_bytes *b, kind k, int64_t offset,
                          int64_t limit, int64_t *total, int64_t *max)
{
    int64_t n = (b->n - offset) / kind_bytes[k], bad = -1, largest = 0;

    WF_TRY(wf_grow(&d->token, &d->cap, *total + n, d->wide ? 4 : 2));
    for (int64_t i = 0; i < n; i++) {
        int64_t t = raw_token(b, k, offset + i * kind_bytes[k]);
        if (t > largest) largest = t;
        if (t >= limit && bad < 0) bad = i;
        if (d->wide)
            ((int32_t *)d->token)[*total + i] = (int32_t)t;
        else
            ((uint16_t *)d->token)[*total + i] = (uint16_t)t;
    }
    if (bad >= 0)
        return out_of_range(b, raw_token(b, k, offset + bad * kind_bytes[k]), bad,
                            largest, limit);
    if (largest > *max) *max = largest;
    *total += n;
    return WEFT_OK;
}

/* What has been joined so far. */
typedef struct joined {
    kind kind;
    const char *first; /* file that set the kind */
    int64_t total, max;
} joined;

static weft_status join(weft_data *d, const wf_bytes *b, int64_t vocab, joined *j)
{
    kind k;
    int64_t offset;

    if (b->n == 0) return WF_FAIL(WEFT_E_INVALID, "--data %s: empty", b->name);
    WF_TRY(detect(b, &k, &offset));
    if (k == TEXT) WF_TRY(check_text("--data ", b));
    if (k == TEXT && vocab && vocab < N_BYTES)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--data %s is text, whose tokens are bytes: --vocab %d or more is "
            "needed, found %lld",
            b->name, N_BYTES, (ll)vocab);
    if (j->kind != NONE && j->kind != k)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--data %s holds %s and %s holds %s: all files of one kind are needed",
            j->first, kind_name[j->kind], b->name, kind_name[k]);
    if (j->kind == NONE) j->first = b->name;
    j->kind = k;
    d->wide = k == U32;
    return append(d, b, k, offset, vocab ? vocab : INT32_MAX, &j->total, &j->max);
}

static weft_status join_file(weft_data *d, const char *path, int64_t vocab, joined *j)
{
    wf_bytes b = {.name = path};
    weft_status st = wf_bytes_read(path, &b);

    if (st == WEFT_OK) st = join(d, &b, vocab, j);
    wf_free(b.p);
    return st;
}

static weft_status finish(weft_data *d, int64_t vocab, const joined *j,
                          const char *flag, const char *what)
{
    d->vocab = vocab ? vocab : j->kind == TEXT ? N_BYTES : j->max + 1;
    return wf_data_cut(d, j->total, flag, what);
}

static weft_status read_files(weft_data *d, int n, const char *const *path,
                              int64_t vocab)
{
    joined j = {0};
    char what[32];

    for (int i = 0; i < n; i++)
        WF_TRY(join_file(d, path[i], vocab, &j));
    snprintf(what, sizeof what, "(%d files)", n);
    return finish(d, vocab, &j, "--data ", n == 1 ? path[0] : what);
}

weft_status weft_data_read(int n_files, const char *const *path, int64_t seq,
                           int64_t vocab, uint64_t seed, weft_data **out)
{
    weft_data *d;

    if (n_files < 1)
        return WF_FAIL(WEFT_E_INVALID, "--data names no file: one or more are needed");
    if (vocab < 0 || vocab > INT32_MAX)
        return WF_FAIL(WEFT_E_INVALID,
                       "--vocab %lld: 1 to %d, or 0 to derive it from the tokens",
                       (ll)vocab, INT32_MAX);
    WF_TRY(wf_data_new(seq, seed, &d));
    weft_status st = read_files(d, n_files, path, vocab);
    if (st == WEFT_OK)
        *out = d;
    else
        weft_data_destroy(d);
    return st;
}

static weft_status from_text(weft_data *d, const char *text, int64_t n)
{
    /* the cast drops const only: join reads */
    wf_bytes b = {.p = (void *)text, .n = n, .name = "the text"};
    joined j = {0};

    if (n < 1) return WF_FAIL(WEFT_E_INVALID, "%s: empty", b.name);
    WF_TRY(check_text("", &b));
    j.kind = TEXT;
    WF_TRY(append(d, &b, TEXT, 0, N_BYTES, &j.total, &j.max));
    return finish(d, 0, &j, "", b.name);
}

weft_status weft_data_from_text(const char *text, int64_t n, int64_t seq, uint64_t seed,
                                weft_data **out)
{
    weft_data *d;

    WF_TRY(wf_data_new(seq, seed, &d));
    weft_status st = from_text(d, text, n);
    if (st == WEFT_OK)
        *out = d;
    else
        weft_data_destroy(d);
    return st;
}
