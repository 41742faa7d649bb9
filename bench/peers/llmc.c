/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times training steps of llm.c's CPU program (github.com/karpathy/llm.c, train_gpt2.c),
 * which is included from a checkout of it and is no part of this project.
 *
 *   cc -Ofast -march=native -fopenmp -DOMP -I LLMC llmc.c -lm -o llmc
 *   OMP_NUM_THREADS=2 ./llmc gpt2.bin tokens.bin B T STEPS
 *
 * A step is what its main() times: next batch, forward, zero, backward, update. The first
 * one also takes the memory and is left out when there are more. Prints one JSON line.
 */
#define TESTING /* leaves out its main() */
#include "train_gpt2.c"

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double step_s(GPT2 *model, DataLoader *loader, int B, int T, int step)
{
    double start = now_s();

    dataloader_next_batch(loader);
    gpt2_forward(model, loader->inputs, loader->targets, B, T);
    gpt2_zero_grad(model);
    gpt2_backward(model);
    gpt2_update(model, 1e-4f, 0.9f, 0.999f, 1e-8f, 0.0f, step + 1);
    double took = now_s() - start;
    fprintf(stderr, "step %d: loss %.4f, %.2f s\n", step, model->mean_loss, took);
    return took;
}

int main(int argc, char **argv)
{
    enum { MAX_STEPS = 64 };
    double took[MAX_STEPS];
    GPT2 model;
    DataLoader loader;

    int B = argc == 6 ? atoi(argv[3]) : 0, T = argc == 6 ? atoi(argv[4]) : 0;
    int steps = argc == 6 ? atoi(argv[5]) : 0;
    if (B < 1 || T < 1 || T > 1024 || steps < 1 || steps > MAX_STEPS) {
        fprintf(stderr, "usage: llmc MODEL TOKENS B T STEPS (up to %d)\n", MAX_STEPS);
        return 2;
    }
    gpt2_build_from_checkpoint(&model, argv[1]);
    dataloader_init(&loader, argv[2], B, T, 0, 1, 0);
    for (int i = 0; i < steps; i++)
        took[i] = step_s(&model, &loader, B, T, i);

    int skip = steps > 1, n = steps - skip;
    qsort(took + skip, n, sizeof *took, compare);
    double median = (took[skip + (n - 1) / 2] + took[skip + n / 2]) / 2;
    printf(
        "{\"peer\":\"llm.c\",\"dtype\":\"f32\",\"batch\":%d,\"seq\":%d,\"threads\":%d,"
        "\"steps\":%d,\"step_time_s\":%.3f,\"tokens_per_s\":%.2f}\n",
        B, T, omp_get_max_threads(), n, median, B * T / median);
    return 0;
}
