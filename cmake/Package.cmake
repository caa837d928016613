# tickertape::tickertape is the engine as a library; tickertape::net adds Server and Client.
add_library(tickertape INTERFACE)
target_link_libraries(tickertape INTERFACE tickertape_actors tickertape_kernels tickertape_runtime)
add_library(tickertape::tickertape ALIAS tickertape)
add_library(tickertape::net ALIAS tickertape_net)
