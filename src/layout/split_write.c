/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/layout.h>

/* Length of the run of equal counts from stage s on, that ends before `end`. */
static int run(const int64_t *count, int s, int end)
{
    int n = 1;
    while (s + n < end && count[s + n] == count[s])
        n++;
    return n;
}

void weft_stages_write_counts(int n_stages, const int64_t *count, weft_writer *out)
{
    for (int s = 0; s < n_stages;) {
        int n = run(count, s, n_stages), times = n < 3 ? 1 : n;
        weft_print(out, "%s%lld", s ? "," : "", (long long)count[s]);
        if (times > 1) weft_print(out, "*%d", times);
        s += times;
    }
}

static void put_layers(int64_t n, weft_writer *out)
{
    if (n == 1) weft_print(out, "t");
    if (n == 2) weft_print(out, "tt");
    if (n > 2) weft_print(out, "t*%lld", (long long)n);
}

void weft_stages_write_megatron(int n_stages, const int64_t *count, weft_writer *out)
{
    weft_print(out, "E");
    for (int s = 0; s < n_stages;) {
        int inner = s > 0 && s < n_stages - 1;
        int n = inner ? run(count, s, n_stages - 1) : 1;
        if (n > 1) weft_print(out, "(");
        put_layers(count[s], out);
        if (s < n_stages - 1) weft_print(out, "|");
        if (n > 1) weft_print(out, ")*%d", n);
        s += n;
    }
    weft_print(out, "L");
}
