/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cmd/test_cmd.h"

/* cmocka's macro needs one array: gather those of the files. */
int main(void)
{
    struct CMUnitTest all[128];
    const struct {
        const struct CMUnitTest *test;
        int n;
    } file[] = {{option_tests, n_option_tests},
                {schedule_tests, n_schedule_tests},
                {schedule_sim_tests, n_schedule_sim_tests},
                {schedule_draw_tests, n_schedule_draw_tests},
                {mesh_tests, n_mesh_tests},
                {compare_tests, n_compare_tests},
#ifdef WEFT_HAVE_RUN
                {train_tests, n_train_tests},
#endif
                {doctor_tests, n_doctor_tests}};
    size_t n = 0;

    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        memcpy(all + n, file[i].test, (size_t)file[i].n * sizeof *all);
        n += (size_t)file[i].n;
    }
    return _cmocka_run_group_tests("cmd", all, n, make_folder, remove_folder);
}
