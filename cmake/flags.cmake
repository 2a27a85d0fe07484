# Compiler flags of everything that is ours: interface target smddp_flags.
add_library(smddp_flags INTERFACE)
target_compile_options(smddp_flags INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off -fno-math-errno
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
target_compile_definitions(smddp_flags INTERFACE _GNU_SOURCE)

if(SMDDP_SANITIZER)
  set(sanitize -fsanitize=${SMDDP_SANITIZER} -fno-omit-frame-pointer)
  if(SMDDP_SANITIZER STREQUAL "undefined")
    list(APPEND sanitize -fno-sanitize-recover=all)
  elseif(SMDDP_SANITIZER STREQUAL "thread")
    # A copy that GCC expands in place is invisible to ThreadSanitizer; a call is intercepted.
    list(APPEND sanitize -fno-builtin-memcpy -fno-builtin-memset)
  endif()
  add_compile_options(${sanitize} -g -O1)
  add_link_options(${sanitize})
endif()
