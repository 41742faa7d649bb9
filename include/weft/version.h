/* SPDX-License-Identifier: Apache-2.0 */
/** @file weft/version.h  The one place that names the version; CMake reads it here. */
#ifndef WEFT_VERSION_H
#define WEFT_VERSION_H

#include <weft/export.h>

WEFT_BEGIN

#define WEFT_VERSION "0.1.0"

/** Version of the library that runs, which may differ from the header's. */
WEFT_API const char *weft_version(void);

WEFT_END
#endif
