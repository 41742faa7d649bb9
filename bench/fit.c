/* SPDX-License-Identifier: Apache-2.0 */
/* Fits the constants of a device family to measured runs: coordinate descent on the mean
 * absolute error of log step time over the rows of the fit half (even hash of the id) whose
 * machine has one of the presets, each source weighing the same. Prints what each step found and
 * the errors of both halves; presets are changed by hand afterwards.
 *
 *     bench_fit RUNS.csv a100-40,a100-80 gemm_efficiency gemm_half_k memory_efficiency ...
 *
 * A field may be followed by =VALUE to start there; =VALUE! holds it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/score.h>

enum { MAX_FIELDS = 12 };

typedef struct field {
    char name[64];
    double value;
    int held;
} field;

typedef struct fit {
    weft_runs all, rows; /* rows: those of the family */
    const char *family;
    int n;
    field f[MAX_FIELDS];
} fit;

static void must(weft_status st, const char *what)
{
    if (st == WEFT_OK) return;
    fprintf(stderr, "fit: %s: %s\n", what, weft_status_message());
    exit(2);
}

static char *read_file(const char *path, long *n)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END)) {
        perror(path);
        exit(2);
    }
    *n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)*n + 1);
    if (!text || fread(text, 1, (size_t)*n, f) != (size_t)*n) exit(2);
    fclose(f);
    return text;
}

/* Is the run's preset one of "a100-40,a100-80"? */
static int of_family(const weft_run *r, const char *family)
{
    size_t n = strlen(r->machine.name);
    if (*r->skip) return 0;
    for (const char *at = family; *at; at += strcspn(at, ","), at += *at == ',')
        if (!strncmp(at, r->machine.name, n) && (!at[n] || at[n] == ',')) return 1;
    return 0;
}

static void set_all(fit *q, int i, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    for (int64_t r = 0; r < q->rows.n; r++)
        must(weft_machine_set(&q->rows.run[r].machine, q->f[i].name, text),
             q->f[i].name);
}

/* Mean over sources of the mean |log(predicted / measured)|. */
static double loss(fit *q)
{
    double sum = 0;
    int sources = 0;

    must(weft_runs_predict(&q->rows), "predict");
    for (int64_t i = 0; i < q->rows.n; i++) {
        double e = 0;
        int n = 0, first = 1;
        for (int64_t j = 0; j < i; j++)
            first &= strcmp(q->rows.run[j].source, q->rows.run[i].source) != 0;
        if (!first) continue;
        for (int64_t j = i; j < q->rows.n; j++) {
            const weft_run *r = &q->rows.run[j];
            if (*r->skip || strcmp(r->source, q->rows.run[i].source) ||
                !weft_run_in_fit_half(r->id))
                continue;
            /* a run that was disturbed must not bend the rest */
            e += fmin(fabs(log(r->predicted_s / r->measured_s)), 0.3);
            n++;
        }
        if (!n) continue;
        sum += e / n;
        sources++;
    }
    return sources ? sum / sources : 0;
}

static double try_at(fit *q, int i, double value)
{
    set_all(q, i, value);
    return loss(q);
}

/* One field: scaled up and down while that helps. */
static double improve(fit *q, int i, double step, double best)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int tries = 0; tries < 8; tries++) {
            double next = q->f[i].value * (1 + sign * step);
            if (strstr(q->f[i].name, "efficiency") && next > 1) break;
            double e = try_at(q, i, next);
            if (e >= best - 1e-6) break;
            best = e;
            q->f[i].value = next;
        }
        set_all(q, i, q->f[i].value);
    }
    return best;
}

static void run(fit *q)
{
    double best = loss(q);
    for (double step = 0.16; step > 0.005; step /= 2)
        for (int round = 0; round < 3; round++)
            for (int i = 0; i < q->n; i++)
                if (!q->f[i].held) best = improve(q, i, step, best);
    must(weft_runs_predict(&q->rows), "predict");
    printf("mean over sources of |log error|, fit half: %.4f\n", best);
    for (int i = 0; i < q->n; i++)
        printf("  %-24s %.6g%s\n", q->f[i].name, q->f[i].value,
               q->f[i].held ? " (held)" : "");
}

/* The value that the family's first preset has. */
static double preset_value(const weft_machine *m, const char *name)
{
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    char key[80];
    double x = 0;

    weft_machine_write_json(m, &out);
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(text.s, key);
    if (at) x = strtod(at + strlen(key), NULL);
    weft_text_clear(&text);
    if (!strcmp(name, "scaleup_efficiency")) return m->tier[0].efficiency;
    if (!strcmp(name, "scaleup_alpha")) return m->tier[0].alpha_s;
    if (!strcmp(name, "network_efficiency")) return m->tier[m->n_tiers - 1].efficiency;
    if (!strcmp(name, "network_alpha")) return m->tier[m->n_tiers - 1].alpha_s;
    if (!at) {
        fprintf(stderr, "fit: no field %s\n", name);
        exit(2);
    }
    return x;
}

static void add_field(fit *q, const char *word)
{
    field *f = &q->f[q->n++];
    const char *value = strchr(word, '=');
    size_t n = value ? (size_t)(value - word) : strlen(word);

    if (n >= sizeof f->name) n = sizeof f->name - 1;
    memcpy(f->name, word, n);
    f->name[n] = 0;
    f->value = preset_value(&q->rows.run[0].machine, f->name);
    if (value) f->value = strtod(value + 1, NULL);
    f->held = value && value[strlen(value) - 1] == '!';
    if (value) set_all(q, q->n - 1, f->value);
}

static void report(const fit *q)
{
    static const char *const names[] = {"all", "fit half", "other half"};
    for (int half = 0; half < 3; half++) {
        weft_text text = {0};
        weft_writer out = weft_text_writer(&text);
        weft_score_write_text(&q->rows, (weft_half)half, half == 0, &out);
        char *skipped = strstr(text.s, "\nskipped");
        if (skipped) *skipped = 0;
        printf("\n%s\n%s", names[half], text.s);
        weft_text_clear(&text);
    }
}

int main(int argc, char **argv)
{
    fit q = {0};
    long n;

    if (argc < 3) {
        fprintf(stderr, "usage: bench_fit RUNS.csv PRESETS FIELD[=VALUE[!]] ...\n");
        return 2;
    }
    char *text = read_file(argv[1], &n);
    must(weft_runs_read(text, n, &q.all), argv[1]);
    q.rows = q.all;
    q.rows.n = 0;
    for (int64_t i = 0; i < q.all.n; i++)
        if (of_family(&q.all.run[i], argv[2])) q.rows.run[q.rows.n++] = q.all.run[i];
    if (!q.rows.n) {
        fprintf(stderr, "fit: no rows of %s\n", argv[2]);
        return 2;
    }
    for (int i = 3; i < argc && q.n < MAX_FIELDS; i++)
        add_field(&q, argv[i]);
    run(&q);
    report(&q);
    weft_runs_clear(&q.all);
    free(text);
    return 0;
}
