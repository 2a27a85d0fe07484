# smddp_unit_test(NAME [LAYERS a b …]): tests/unit/…/NAME.cpp, CMocka, linked with the objects of the named layers and those below,
# or with the whole static library. Label core.
function(smddp_unit_test name)
  cmake_parse_arguments(t "" "SOURCE;TIMEOUT" "LABELS;LIBRARIES" ${ARGN})
  if(NOT t_SOURCE)
    set(t_SOURCE ${name}.cpp)
  endif()
  add_executable(${name} ${t_SOURCE})
  target_link_libraries(${name} PRIVATE smddp_flags smddp_static PkgConfig::CMOCKA ${t_LIBRARIES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "core;${t_LABELS}" TIMEOUT $<IF:$<BOOL:${t_TIMEOUT}>,${t_TIMEOUT},120> SKIP_RETURN_CODE 77)
endfunction()

# smddp_script_test(NAME COMMAND … [LABELS …] [TIMEOUT s]): a script as a test. Exit status 77 is a skip; its reason is the last line
# that begins with "SKIP:". Environment: SMDDP_BUILD_DIR, SMDDP_SOURCE_DIR.
function(smddp_script_test name)
  cmake_parse_arguments(t "" "TIMEOUT" "COMMAND;LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND ${t_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "${t_LABELS}" SKIP_RETURN_CODE 77
    TIMEOUT $<IF:$<BOOL:${t_TIMEOUT}>,${t_TIMEOUT},300>
    ENVIRONMENT "SMDDP_BUILD_DIR=${PROJECT_BINARY_DIR};SMDDP_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
endfunction()
