/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_BASE_NUM_H
#define WF_BASE_NUM_H
#include <stdint.h>
#include <weft/status.h>

/* What a number measures decides which suffixes it may carry:
 *   PLAIN    none            0.1  1e-8
 *   COUNT    k M G|B T P     7B  70e9  4k      (k is 1000)
 *            Ki Mi Gi Ti Pi  4Ki               (Ki is 1024)
 *   BYTES    B kB..PB KiB..PiB   80GiB  24GB   (k is 1000, Ki is 1024; a bare G is refused)
 *   BYTES_S  the same and /s     450GB/s
 *   FLOPS_S  FLOP/s or FLOPS     989TFLOP/s
 *   SECONDS  s ms us ns          2ms
 * A bare number is in the base unit. */
typedef enum wf_unit {
    WF_PLAIN,
    WF_COUNT,
    WF_BYTES,
    WF_BYTES_S,
    WF_FLOPS_S,
    WF_SECONDS
} wf_unit;

/* Parse the whole of `text`. `name` is what the user typed ("--lr", "layers") and begins
 * every message. Refused: empty text, trailing characters, NaN, infinities, values that do
 * not fit. The current locale does not matter; doubles are correctly rounded. */
WEFT_API WEFT_MUST_CHECK weft_status wf_num_f64(const char *name, const char *text,
                                                wf_unit unit, double *out);
/* As above, and "inf", "-inf", "nan" are taken. */
WEFT_API WEFT_MUST_CHECK weft_status wf_num_f64_any(const char *name, const char *text,
                                                    wf_unit unit, double *out);
/* Exact: 70e9 and 1.5k are whole numbers, 1.5 is not. */
WEFT_API WEFT_MUST_CHECK weft_status wf_num_i64(const char *name, const char *text,
                                                wf_unit unit, int64_t *out);
/* true|false, yes|no, on|off, 1|0. */
WEFT_API WEFT_MUST_CHECK weft_status wf_num_bool(const char *name, const char *text,
                                                 int32_t *out);

/* The SI prefix in which x has 1 to 3 digits before its point, for people: 1.2e7 is 12 times
 * {1e6, "M"}. Not above `largest`, a power of 1000; 0 and what is no number have that. */
typedef struct wf_scale {
    double unit;
    const char *prefix;
} wf_scale;
WEFT_API wf_scale wf_scale_of(double x, double largest);

/* Shortest decimal text that reads back as exactly x; "nan", "inf", "-inf" otherwise.
 * buf >= 32 bytes; returns buf. Always '.' as the decimal point. */
WEFT_API const char *wf_num_text(double x, char *buf);
#endif
