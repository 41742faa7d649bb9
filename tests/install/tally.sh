#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cmake/tally.awk counts cmocka cases one by one, ranks of one job once, crashes and time
# limits as failures, and keeps the reason of a skip.
set -euo pipefail
awk -v build=b -f "$1/cmake/tally.awk" >"${TMPDIR:-/tmp}/tally.$$" <<'EOF'
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)"
	tests="7"
	>
	<testcase name="cases" classname="cases" time="0.002" status="fail">
		<failure message=""/>
		<system-out>[==========] Running 5 test(s).
[ RUN      ] good
a &lt; b
[       OK ] good
[ RUN      ] skipped
SKIP: no &lt;recorded&gt; data; needs: shared
[  SKIPPED ] skipped
[ RUN      ] wrong
[  ERROR   ] --- 0x1 != 0x2
[   LINE   ] --- a.c:8: error: Failure!
[  FAILED  ] wrong
[ RUN      ] no_setup
Could not run test: Test setup failed
[  ERROR   ] no_setup
[==========] 4 test(s) run.
[  PASSED  ] 1 test(s).
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] skipped

 1 SKIPPED TEST(S)
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] wrong

 2 FAILED TEST(S)
</system-out>
	</testcase>
	<testcase name="ranks" classname="ranks" time="0.002" status="run">
		<system-out>[ RUN      ] same
[ RUN      ] same
[       OK ] same
[       OK ] same
</system-out>
	</testcase>
	<testcase name="leak" classname="leak" time="0.002" status="fail">
		<failure message=""/>
		<system-out>[ RUN      ] fine
[       OK ] fine
==1==ERROR: LeakSanitizer: detected memory leaks
</system-out>
	</testcase>
	<testcase name="script_skip" classname="s" time="0.001" status="notrun">
		<skipped message="SKIP_RETURN_CODE=77"/>
		<system-out>SKIP: no namespaces; needs: netns
</system-out>
	</testcase>
	<testcase name="script_bad" classname="s" time="0.001" status="fail">
		<failure message=""/>
		<system-out></system-out>
	</testcase>
	<testcase name="gone" classname="s" time="0" status="notrun">
		<skipped message="Unable to find executable"/>
		<system-out>Unable to find executable: gone</system-out>
	</testcase>
	<testcase name="script_good" classname="s" time="0.001" status="run">
		<system-out></system-out>
	</testcase>
</testsuite>
EOF
status=0
diff - "${TMPDIR:-/tmp}/tally.$$" <<'EOF' || status=1
pass	b	cases: good	
skip	b	cases: skipped	SKIP: no <recorded> data; needs: shared
fail	b	cases: wrong	
fail	b	cases: no_setup	
pass	b	ranks: same	
pass	b	leak: fine	
fail	b	leak: (the program)	
skip	b	script_skip	SKIP: no namespaces; needs: netns
fail	b	script_bad	
fail	b	gone	
pass	b	script_good	
EOF
rm -f "${TMPDIR:-/tmp}/tally.$$"
exit $status
