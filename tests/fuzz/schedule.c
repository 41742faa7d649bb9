/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules that users give, as ops or as CSV: weft_schedule_read(). The first byte is the
 * placement. */
#include <weft/schedule.h>

#include "fuzz.h"

/* Written and read again, it has the same ops. */
static void again(const weft_schedule *s,
                  void (*put)(const weft_schedule *, weft_writer *),
                  weft_placement_kind placement)
{
    weft_text text = {0}, twice = {0};
    weft_writer out = weft_text_writer(&text), other = weft_text_writer(&twice);
    weft_schedule t;

    put(s, &out);
    PROMISE(weft_schedule_read(text.s, (int64_t)text.n, placement, &t) == WEFT_OK);
    put(&t, &other);
    PROMISE(!strcmp(text.s, twice.s));
    weft_schedule_clear(&t);
    weft_text_clear(&text);
    weft_text_clear(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    weft_schedule s;
    weft_placement_kind placement =
        (weft_placement_kind)(n ? data[0] % (WEFT_PLACE_BIDIRV + 1) : 0);

    if (!n ||
        weft_schedule_read((const char *)data + 1, (int64_t)n - 1, placement, &s)) {
        if (n) REFUSED();
        return 0;
    }
    if (weft_schedule_check(&s, 0, NULL) == WEFT_OK) {
        again(&s, weft_schedule_write_ops, placement);
        again(&s, weft_schedule_write_csv, placement);
    } else {
        REFUSED();
    }
    weft_schedule_clear(&s);
    return 0;
}
