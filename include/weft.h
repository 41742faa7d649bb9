/* SPDX-License-Identifier: Apache-2.0 */
/** @file weft.h  All of libweft. libweft-run's headers are in weft/run/. */
#ifndef WEFT_H
#define WEFT_H

#include <weft/alloc.h>
#include <weft/arch.h>
#include <weft/cost.h>
#include <weft/draw.h>
#include <weft/emit.h>
#include <weft/envelope.h>
#include <weft/layout.h>
#include <weft/machine.h>
#include <weft/mesh.h>
#include <weft/plan.h>
#include <weft/predict.h>
#include <weft/schedule.h>
#include <weft/score.h>
#include <weft/sim.h>
#include <weft/status.h>
#include <weft/trace.h>
#include <weft/version.h>
#include <weft/writer.h>

#endif
