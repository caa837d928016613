# tickertape::tickertape is the engine as a library; tickertape::net adds Server.
# `cmake --install` puts both where find_package(tickertape CONFIG) finds them.
add_library(tickertape INTERFACE)
target_link_libraries(tickertape INTERFACE tickertape_actors tickertape_kernels tickertape_runtime)
add_library(tickertape::tickertape ALIAS tickertape)
add_library(tickertape::net ALIAS tickertape_net)
set_target_properties(tickertape_net PROPERTIES EXPORT_NAME net)

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tickertape)
install(TARGETS tickertape tickertape_net tickertape_actors tickertape_values tickertape_kernels
                tickertape_runtime tickertape_headers tickertape_boost
        EXPORT tickertape-targets)
install(EXPORT tickertape-targets NAMESPACE tickertape:: DESTINATION ${config_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tickertape TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp")
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tickertape-config.cmake.in
  ${CMAKE_BINARY_DIR}/tickertape-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tickertape-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tickertape-config.cmake
              ${CMAKE_BINARY_DIR}/tickertape-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/Dependencies.cmake DESTINATION ${config_dir})
