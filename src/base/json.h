/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_BASE_JSON_H
#define WF_BASE_JSON_H
#include <stdint.h>
#include <weft/writer.h>

/* Streaming JSON text into a writer. Commas are placed by the writer; the caller
 * places keys and nests properly (at most 60 deep; deeper fails the writer). Doubles
 * read back exactly; NaN and infinities, which JSON lacks, become null. Strings come out
 * as valid UTF-8 (bytes that are not become U+FFFD). */
typedef struct wf_json {
    weft_writer *out;
    int depth;
    int after_key;   /* a key was written, its value comes next    */
    uint64_t filled; /* bit d: the container at depth d has a member */
} wf_json;

WEFT_API wf_json wf_json_begin(weft_writer *out);
WEFT_API void wf_json_object(wf_json *j);
WEFT_API void wf_json_end_object(wf_json *j);
WEFT_API void wf_json_array(wf_json *j);
WEFT_API void wf_json_end_array(wf_json *j);
WEFT_API void wf_json_key(wf_json *j, const char *key);

WEFT_API void wf_json_i64(wf_json *j, int64_t x);
WEFT_API void wf_json_f64(wf_json *j, double x);
WEFT_API void wf_json_bool(wf_json *j, int x);
WEFT_API void wf_json_string(wf_json *j, const char *s); /* NULL becomes null */
WEFT_API void wf_json_null(wf_json *j);

/* key and value */
WEFT_API void wf_json_put_i64(wf_json *j, const char *key, int64_t x);
WEFT_API void wf_json_put_f64(wf_json *j, const char *key, double x);
WEFT_API void wf_json_put_bool(wf_json *j, const char *key, int x);
WEFT_API void wf_json_put_string(wf_json *j, const char *key, const char *s);
#endif
