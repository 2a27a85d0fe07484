# What an installation holds beside the programs: the library, its headers, pages, and what CMake and pkg-config need to find it.
# Every path in it is relative to the place of the file that holds it, so that the tree may be moved.
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/smddp)
install(TARGETS smddp EXPORT smddp-targets FILE_SET HEADERS)
install(TARGETS smddp_static EXPORT smddp-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT smddp-targets NAMESPACE smddp:: DESTINATION ${config_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/smddpConfig.cmake.in ${PROJECT_BINARY_DIR}/smddpConfig.cmake
  INSTALL_DESTINATION ${config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/smddpConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/smddpConfig.cmake ${PROJECT_BINARY_DIR}/smddpConfigVersion.cmake DESTINATION ${config_dir})

set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH SMDDP_PREFIX_FROM_PC /prefix/${pkgconfig_dir} /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/smddp.pc.in ${PROJECT_BINARY_DIR}/smddp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/smddp.pc DESTINATION ${pkgconfig_dir})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} FILES_MATCHING REGEX "/smddp[a-z_-]*\\.[137]$")
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/LICENSE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
