/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_DRAW_H
#define TEST_DRAW_H
void svg_is_well_formed_for_every_kind_of_trace(void **state);
void svg_boxes_have_ids_classes_and_tooltips(void **state);
void svg_boxes_lie_where_the_op_ran(void **state);
void svg_of_very_many_boxes_stays_small(void **state);
void svg_numbers_do_not_depend_on_their_digits(void **state);
void svg_pair_has_one_time_axis_and_says_the_difference(void **state);
void svg_curve_is_of_bytes_where_the_trace_has_them(void **state);
#endif
