# smddp_layer(NAME): the .cpp files of the current folder as one layer of libsmddp (an object library smddp_NAME).
# The order in which lib/CMakeLists.txt adds the layers is the order in which they may include each other.
set_property(GLOBAL PROPERTY SMDDP_LAYERS "")
function(smddp_layer name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*/*.cpp)
  add_library(smddp_${name} OBJECT ${sources})
  target_link_libraries(smddp_${name} PUBLIC smddp_flags smddp_headers ${ARGN})
  target_include_directories(smddp_${name} PUBLIC ${PROJECT_SOURCE_DIR}/lib)
  set_target_properties(smddp_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_property(GLOBAL APPEND PROPERTY SMDDP_LAYERS ${name})
endfunction()
