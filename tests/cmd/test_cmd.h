/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_CMD_H
#define TEST_CMD_H
#include "cmd/run.h"

extern const struct CMUnitTest option_tests[], schedule_tests[], schedule_sim_tests[],
    schedule_draw_tests[], mesh_tests[], compare_tests[], doctor_tests[], train_tests[];
extern const int n_option_tests, n_schedule_tests, n_schedule_sim_tests,
    n_schedule_draw_tests, n_mesh_tests, n_compare_tests, n_doctor_tests, n_train_tests;
#endif
