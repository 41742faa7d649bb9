#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The pages list the options that the program has, in its own words. usage: options.sh
# SOURCE PROGRAM
set -euo pipefail
exec bash "$1/man/options.sh" "$2" --check
