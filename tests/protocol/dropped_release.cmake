# Runs the program whose entry word is stored without release and expects ThreadSanitizer to report the race on the payload.
if(NOT SANITIZER STREQUAL "thread")
  message("SKIP: needs a build with ThreadSanitizer (./dev test tsan)")
  return()
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E env TSAN_OPTIONS=halt_on_error=1:exitcode=66 ${PROGRAM} RESULT_VARIABLE code ERROR_VARIABLE text OUTPUT_VARIABLE out)
if(NOT code EQUAL 66 OR NOT text MATCHES "data race")
  message(FATAL_ERROR "ThreadSanitizer did not report the dropped release store (exit ${code})\n${out}${text}")
endif()
