/* SPDX-License-Identifier: Apache-2.0 */
/** @file weft/weft.h  All of libweft; the headers of libweft-run are in weft/run/. */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/alloc.h>
#include <weft/arch.h>
#include <weft/cost.h>
#include <weft/draw.h>
#include <weft/layout.h>
#include <weft/mesh.h>
#include <weft/schedule.h>
#include <weft/sim.h>
#include <weft/status.h>
#include <weft/trace.h>
#include <weft/writer.h>

#endif
